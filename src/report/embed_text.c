/* Writes an ASCII file as a C array that ends with 0. The build runs it:

 *   embed_text NAME FILE >array.c */
#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    int c, n = 0;
    if (!file) {
        fprintf(stderr, "usage: embed_text NAME FILE\n");
        return 2;
    }
    printf("extern const char %s[];\nconst char %s[] = {", argv[1], argv[1]);
    while ((c = getc(file)) != EOF && c < 127)
        printf("%s%d,", n++ % 20 ? "" : "\n", c);
    printf("\n0};\n");
    fclose(file);
    return c != EOF || ferror(stdout) || fflush(stdout) != 0;
}
