/* rankwood show: one tree. */
#include "cli/options.h"

static unsigned long long tree;
static int dot;
static const struct rw_option options[] = {
    {"tree", 0, "N", "which tree, from 1 (needed)", RW_OPTION_NUMBER, .value = &tree, .least = 1,
     .most = 2147483647, .needed = 1},
    {"dot", 0, NULL, "in the dot language of Graphviz", RW_OPTION_FLAG, .value = &dot},
    {0},
};

static int run(struct rw_cli *cli)
{
    RW_STEP(rw_model_read(cli->ctx, cli->operands.text[0], &cli->model));
    const int n_trees = rw_model_n_trees(cli->model);
    if ((int)tree > n_trees)
        return rw_wrong(cli, "there is no tree %llu: the model has %d", tree, n_trees);
    return rw_model_show(cli->ctx, cli->model, (int)tree - 1, dot, stdout);
}

const struct rw_command rw_cmd_show = {
    .name = "show",
    .brief = "print a tree",
    .operands = "MODEL --tree N",
    .about = "Prints a tree of a model.",
    .least = 1,
    .most = 1,
    .options = options,
    .run = run,
};
