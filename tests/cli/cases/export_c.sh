# room: convert
# A model as C: compiled by whatever compilers there are, every document's score is predict's.
small_model --absent missing
"$RANKWOOD" synth --shape letor --queries 30 --seed 7 -o docs.txt
# Some values are missing.
awk '{ for (i = 3; i <= NF; i++) if ((NR * 7 + i * 13) % 41 == 0) sub(/:.*/, ":nan", $i); print }' \
    docs.txt >missing.txt
try export model.txt --to c --verify missing.txt -o model.c
sed -n '/^double score(const float \*x)$/,$p' model.c
cat >main.c <<'END'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double score(const float *x);

/* main ABSENT < "predicted label qid:q id:value ...": how many scores are not the predicted ones. */
int main(int argc, char **argv)
{
    static char line[1 << 20];
    static float x[65536];
    int n = 0, differ = 0;
    while (argc == 2 && fgets(line, sizeof(line), stdin)) {
        for (int i = 0; i < 65536; i++)
            x[i] = strtof(argv[1], NULL);
        double predicted = strtod(strtok(line, " \n"), NULL);
        strtok(NULL, " \n");
        strtok(NULL, " \n");
        for (char *word; (word = strtok(NULL, " \n")) != NULL;)
            x[atoi(word)] = strtof(strchr(word, ':') + 1, NULL);
        n++;
        differ += score(x) != predicted;
    }
    printf("%d of %d differ\n", differ, n);
    return 0;
}
END
"$RANKWOOD" predict model.txt missing.txt -o scores
sed 's/#.*//' missing.txt | paste -d ' ' scores - >both
for compiler in gcc clang; do
    # If one compiler is missing, cc replaces it.
    command -v $compiler >/dev/null || compiler=cc
    $compiler -std=c99 -Wall -Wextra -Wpedantic -Werror -c model.c && $compiler main.c model.o -o main -lm &&
        ./main nan <both
done
