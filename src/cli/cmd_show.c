/* rankwood show: one tree. */
#include "cli/load.h"
#include "cli/messages.h"

static unsigned long long tree;
static int dot, calibration;
static const struct rw_option options[] = {
    {"tree", 0, "N", "which tree, from 1", RW_OPTION_NUMBER, .value = &tree, .least = 1,
     .most = 2147483647},
    {"dot", 0, NULL, "in the dot language of Graphviz", RW_OPTION_FLAG, .value = &dot},
    {"calibration", 0, NULL,
     "the map of scores to probabilities that 'calibrate' made, in place of a tree", RW_OPTION_FLAG,
     .value = &calibration},
    {0},
};

/* A knot a line: score and probability. */
static int show_calibration(const struct rw_model *model)
{
    struct rw_calibration map;
    char score[RW_FIGURE_ROOM], probability[RW_FIGURE_ROOM];
    if (!rw_model_calibration(model, &map)) {
        rw_msg_error("the model has no map of scores to probabilities");
        rw_msg_hint("'rankwood calibrate' makes a model with one");
        return RW_EXIT_FAILURE;
    }
    rw_load_print_calibration(&map);
    for (int i = 0; i < map.n_knots; i++) {
        rw_exact_text(map.score[i], score);
        rw_exact_text(map.probability[i], probability);
        printf("%s %s\n", score, probability);
    }
    return 0;
}

static int check(struct rw_cli *cli)
{
    if (!rw_is_given(cli, "tree") == !calibration)
        return rw_wrong(cli, "'show' needs one of --tree N and --calibration");
    return calibration && dot ? rw_wrong(cli, "'--dot' has no effect with '--calibration'") : 0;
}

static int run(struct rw_cli *cli)
{
    RW_STEP(rw_model_read(cli->ctx, cli->operands.text[0], &cli->model));
    if (calibration)
        return show_calibration(cli->model);
    const int n_trees = rw_model_n_trees(cli->model);
    if ((int)tree > n_trees)
        return rw_wrong(cli, "there is no tree %llu: the model has %d", tree, n_trees);
    return rw_model_show(cli->ctx, cli->model, (int)tree - 1, dot, stdout);
}

const struct rw_command rw_cmd_show = {
    .name = "show",
    .brief = "print a tree, or the map to probabilities",
    .operands = "MODEL (--tree N | --calibration)",
    .about = "Prints a tree of a model, or the map of its scores to probabilities: for each knot "
             "the score and the probability.",
    .least = 1,
    .most = 1,
    .options = options,
    .check = check,
    .run = run,
};
