/* Prints docs/reference/parameters.md from the library's table of parameters. */
#include <stdio.h>
#include <string.h>

#include "rankwood.h"

/* A '|' would end the cell. */
static void print_cell(const char *text)
{
    for (; *text; text++)
        printf(*text == '|' ? "\\|" : "%c", *text);
}

int main(void)
{
    const struct rw_param_info *info;
    puts("# Parameters\n\n"
         "Names are those of the command line (`--leaves 31`), of `--config` files (`leaves = "
         "31`), of\n"
         "`rw_params_set` and of model files. `auto` is the word for what the program chooses: by "
         "the size of the\n"
         "training set or by the machine. Those marked * shape the trees and stand in the model "
         "file.\n\n"
         "A parameter that has no effect under the others, such as `--truncation 5` with `--pairs "
         "all`, is one\n"
         "warning, and is at its default in the model. Defaults and values from `--config` are not "
         "reported;\n"
         "`--strict` makes it an error. What cannot happen is always an error: `--early-stop 5` "
         "without a\n"
         "validation set, or parameters that contradict one another.\n\n"
         "`build/docs/make_parameters` prints this page from `src/params/params.def`.\n\n"
         "| parameter | value | range | default | meaning |\n|---|---|---|---|---|");
    for (int i = 0; (info = rw_param_info(i)) != NULL; i++) {
        const int is_number = info->type == RW_PARAM_INT || info->type == RW_PARAM_REAL;
        printf("| `%s`%s | ", info->name, info->model ? " *" : "");
        print_cell(info->type == RW_PARAM_CHOICE ? info->range : info->argument);
        printf(" | %s | %s | ", is_number ? info->range : "", info->default_value);
        print_cell(info->help);
        puts(" |");
    }
    return fflush(stdout) || ferror(stdout) ? 1 : 0;
}
