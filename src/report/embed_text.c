/* Makes C of a text file. The build runs it:
 *
 *   embed_text NAME FILE >array.c      an array of an ASCII file, which ends with 0
 *   embed_text --rows FILE >rows.h     ROW(...) of each line of a table: four fields, separated by
 *                                      tabs; '-' and missing ones are NULL; '#' begins a comment */
#include <stdio.h>
#include <string.h>

static int put_array(FILE *file, const char *name)
{
    int c, n = 0;
    printf("extern const char %s[];\nconst char %s[] = {", name, name);
    while ((c = getc(file)) != EOF && c < 127)
        printf("%s%d,", n++ % 20 ? "" : "\n", c);
    printf("\n0};\n");
    return c != EOF;
}

static void put_rows(FILE *file)
{
    char line[4096];
    while (fgets(line, sizeof(line), file)) {
        const char *field = line;
        for (int i = 0; i < 4 && *line != '#'; i++) {
            const size_t n = strcspn(field, "\t\n");
            const int is_null = n == 0 || (n == 1 && *field == '-');
            printf(is_null ? "%sNULL" : "%s\"%.*s\"", i ? ", " : "ROW(", (int)n, field);
            field += n + (field[n] == '\t');
        }
        fputs(*line == '#' ? "" : ")\n", stdout);
    }
}

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    int failed = 0;
    if (!file) {
        fprintf(stderr, "usage: embed_text NAME|--rows FILE\n");
        return 2;
    }
    if (strcmp(argv[1], "--rows") == 0)
        put_rows(file);
    else
        failed = put_array(file, argv[1]);
    fclose(file);
    return failed || ferror(stdout) || fflush(stdout) != 0;
}
