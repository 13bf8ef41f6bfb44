/* Prints the man page: the file given, with the line @PARAMETERS@ replaced by the library's table
 * of parameters and @VERSION@ by its version. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "rankwood.h"

/* roff reads a '-' as a hyphen and a leading '.' or ''' as a command. */
static void print_roff(const char *text)
{
    for (; *text; text++) {
        if (*text == '-' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
}

static void print_parameter(const struct rw_param_info *info)
{
    printf(".TP\n.BI ");
    print_roff("--");
    print_roff(info->name);
    printf(" \" ");
    print_roff(info->type == RW_PARAM_CHOICE ? info->range : info->argument);
    printf("\"\n");
    putchar(toupper((unsigned char)info->help[0]));
    print_roff(info->help + 1);
    printf(".\n");
    if (info->type == RW_PARAM_INT || info->type == RW_PARAM_REAL) {
        printf("Range ");
        print_roff(info->range);
        printf(".\n");
    }
    if (info->default_value[0]) {
        printf("Default ");
        print_roff(info->default_value);
        printf(".\n");
    }
}

int main(int argc, char **argv)
{
    FILE *page = argc == 2 ? fopen(argv[1], "r") : NULL;
    char line[1024];

    if (!page) {
        fprintf(stderr, "usage: make_man rankwood.1.in >rankwood.1\n");
        return 2;
    }
    while (fgets(line, sizeof(line), page)) {
        char *version = strstr(line, "@VERSION@");
        if (strcmp(line, "@PARAMETERS@\n") == 0) {
            const struct rw_param_info *info;
            for (int i = 0; (info = rw_param_info(i)) != NULL; i++)
                print_parameter(info);
        } else if (version) {
            printf("%.*s%s%s", (int)(version - line), line, RW_VERSION,
                   version + strlen("@VERSION@"));
        } else {
            fputs(line, stdout);
        }
    }
    fclose(page);
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
