/* rankwood show: one tree. */
#include <stddef.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/talk.h"

int rw_cmd_show(int argc, char **argv)
{
    const char *tree = NULL;
    int dot = 0;
    const struct rw_option options[] = {
        {"tree", 0, "N", "which tree, from 1 (needed)", RW_OPTION_TEXT, &tree},
        {"dot", 0, NULL, "in the dot language of Graphviz", RW_OPTION_FLAG, &dot},
        {0},
    };
    const struct rw_usage usage = {
        .command = "show",
        .operands = "MODEL --tree N",
        .about = "Prints a tree of a model.",
        .least = 1,
        .most = 1,
        .options = options,
    };
    struct rw_said said;
    struct rw_model *model = NULL;
    unsigned long long number = 0;
    int status, code = rw_options_parse(&usage, argc, argv, &said);
    if (code >= 0)
        goto out;
    code = tree ? rw_options_number(&usage, "--tree", tree, 1, 2147483647, &number)
                : rw_options_wrong(&usage, "'show' needs --tree N");
    if (code != 0)
        goto out;
    status = rw_model_read(said.ctx, said.operands.text[0], &model);
    if (status >= 0 && (int)number > rw_model_n_trees(model)) {
        code = rw_options_wrong(&usage, "there is no tree %llu: the model has %d", number,
                                rw_model_n_trees(model));
        goto out;
    }
    if (status >= 0)
        status = rw_model_show(said.ctx, model, (int)number - 1, dot, stdout);
    code = status < 0 ? rw_talk_failed(said.ctx, status, "show") : RW_EXIT_OK;
out:
    rw_model_free(model);
    rw_options_release(&usage, &said);
    return code;
}
