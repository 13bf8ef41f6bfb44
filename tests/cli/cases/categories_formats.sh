# room: convert
# Splits by categories in other programs' formats: numbers everywhere, words where a format has some.
awk 'function unit() { s = (s * 16807) % 2147483647; return s / 2147483647 }
    BEGIN { s = 7; for (q = 1; q <= 120; q++) for (d = 0; d < 12; d++) {
        shop = int(40 * unit()); x = unit()
        print int((shop * 17 % 40) / 10) " qid:" q " 1:" (unit() < 0.1 ? "nan" : shop) sprintf(" 2:%.3f", x) } }' >train.txt
words() { # text for missing values
    echo 'label,qid,shop,x'
    awk -v none="$1" '{ for (i = 2; i <= 4; i++) sub(/.*:/, "", $i)
        print $1 "," $2 "," ($3 == "nan" ? none : "\"shop " $3 "\"") "," $4 }' train.txt
}
words '' >train.csv
words none >whole.csv
{ tail -n 200 train.txt && printf '1 qid:999 1:999 2:0.5\n0 qid:999 1:1000000 2:0.5\n'; } >test.txt
{ head -n 200 train.csv && printf '1,999,unseen,0.5\n0,999,,0.5\n'; } >test.csv
train() {
    "$RANKWOOD" train --leaves 15 --min-docs 3 --rounds 12 --early-stop 0 --quiet "$@"
}
train train.txt --categorical 1 -o numbers
for format in lightgbm xgboost xgboost-ubj onnx onnx5 pmml c; do
    say "$format, numbers" verified numbers $format test.txt
done
come_back numbers test.txt lightgbm xgboost xgboost-ubj onnx onnx5
train train.csv --categorical shop -o words
for format in pmml c; do
    say "$format, words" verified words $format test.csv
done
# LightGBM cannot tell unseen words from missing ones; a model that saw none of these needs not.
try export words --to lightgbm -o no | sed 's/tree [0-9]*, node [0-9]*/tree N, node N/'
train whole.csv --categorical shop -o no_missing
say 'lightgbm, words' verified no_missing lightgbm test.csv
say 'lightgbm has the words' grep -q '^pandas_categorical:\[\["none", "shop 0", "shop 1", "shop 10"' out.lightgbm
try export no_missing --to xgboost -o no | sed 's/tree [0-9]*, node [0-9]*/tree N, node N/'
# The same is reported before training.
try train train.csv --categorical shop --for lightgbm --quiet -o no
try train train.csv --categorical shop --for onnx --quiet -o no
try train train.csv --categorical shop --for vespa --quiet -o no
# Only the second of two workers has a missing value.
{ sed '$d' whole.csv && echo 1,120,,0.4; } >last.csv
"$RANKWOOD" bin last.csv --categorical shop --quiet -o last.rwb
try train last.rwb --for lightgbm --ranks 2 --quiet -o no
say 'no matter if ignored' train last.rwb --ignore 0 --for vespa -o again
say 'for lightgbm' train whole.csv --categorical shop --for lightgbm -o again
say 'the same model' cmp no_missing again
"$RANKWOOD" train whole.csv --init no_missing --for lightgbm --rounds 2 --quiet -o more
say 'the model goes on' test -s more
try train train.txt --init no_missing --for onnx --quiet -o no
# C is compiled, and every score is predict's: by numbers (features 1 and 2), and by words (0 and 1).
cat >main.c <<'END'
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double score(const float *x);
float category(unsigned feature, const char *word);

/* < "predicted,category,x", by words if WORDS: how many scores are not the predicted ones. */
int main(void)
{
    char line[200];
    int n = 0, differ = 0;
    while (fgets(line, sizeof(line), stdin)) {
        float x[3] = {0, 0, 0};
        char *first = strchr(line, ',') + 1, *second = strrchr(line, ',');
        *second = 0;
#ifdef WORDS
        x[0] = *first ? category(0, first) : NAN;
        x[1] = strtof(second + 1, NULL);
#else
        x[1] = strtof(first, NULL);
        x[2] = strtof(second + 1, NULL);
#endif
        n++;
        differ += score(x) != strtod(line, NULL);
    }
    printf("%d of %d differ\n", differ, n);
    return 0;
}
END
compiled() { # model data options < "category,x"
    "$RANKWOOD" export "$1" --to c -o model.c && "$RANKWOOD" predict "$1" "$2" --quiet -o scores &&
        cc -std=c99 -Wall -Wextra -Wpedantic -Werror -c model.c && cc $3 main.c model.o -o main -lm &&
        paste -d , scores - | ./main
}
awk '{ sub(/.*:/, "", $3); sub(/.*:/, "", $4); print $3 "," $4 }' test.txt | compiled numbers test.txt
sed '1d; s/^[^,]*,[^,]*,//; s/"//g' test.csv | compiled words test.csv -DWORDS
