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
         "All parameters of training and evaluation. Use them on the command line (`--leaves 31`), "
         "in `--config` files (`leaves = "
         "31`), in Python (`{\"leaves\": 31}`, with `_` for `-`) and in C (`rw_params_set`).\n\n"
         "- `auto` values are chosen by the size of the training set, or by the machine. "
         "`--print-config` prints them.\n"
         "- Parameters marked * shape the trees and are stored in the model.\n"
         "- A parameter without effect, such as `--truncation 5` with `--pairs all`, gives one "
         "warning; `--strict` makes it an error. Impossible combinations are always errors.\n"
         "- [Parameters of other programs](migrating.md) lists the counterparts in LightGBM, "
         "XGBoost and "
         "CatBoost, with notes.\n\n"
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
