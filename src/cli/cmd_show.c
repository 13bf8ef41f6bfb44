/* `rankwood show` prints one tree of a model, or its calibration. */
#include "cli/cli.h"

static unsigned long long tree;
static int dot, calibration;
static const struct rw_option options[] = {
    {"tree", "N", "number of the tree, from 1", RW_OPTION_NUMBER, .value = &tree,
     .range = {1, 2147483647}},
    {"dot", NULL, "print the tree in Graphviz's dot language", RW_OPTION_FLAG, .value = &dot,
     .idle_with = " calibration "},
    {"calibration", NULL, "print the calibration that 'calibrate' added, instead of a tree",
     RW_OPTION_FLAG, .value = &calibration},
    {0},
};

/* Prints the calibration: text has a line about it and a line per knot, other formats have the
 * knots as a table. */
static int show_calibration(const struct rw_cli *cli)
{
    struct rw_calibration map;
    if (!rw_model_calibration(cli->model, &map)) {
        rw_msg_error("the model has no calibration");
        rw_msg_hint("'rankwood calibrate' adds one");
        return RW_EXIT_FAILURE;
    }
    json_t *document = rw_load_calibration(&map), *knots = NULL;
    if (cli->format != RW_FORMAT_TEXT)
        rw_result_rows(NULL, knots = json_array(), "score==x;probability==x");
    for (int i = 0; i < map.n_knots; i++) {
        if (cli->format == RW_FORMAT_TEXT)
            rw_result_line("%s %s", rw_exact(map.score[i]), rw_exact(map.probability[i]));
        else
            rw_result_add(knots, "score:n probability:n", map.score[i], map.probability[i]);
    }
    rw_result_print(cli, document);
    return 0;
}

/* Formats a child as "node 3" or "leaf 0". at: as in rw_tree_view, the node, or ~leaf. */
static const char *child(int at)
{
    return rw_text(at < 0 ? "leaf %d" : "node %d", at < 0 ? ~at : at);
}

/* Adds a table of the tree's nodes and leaves. */
static void show_tree(const struct rw_cli *cli)
{
    static const char columns[] =
        "place=node;feature;name;condition;missing;gain;left;right;value;documents==%.12g";
    const struct rw_model *model = cli->model;
    const int at = (int)tree - 1;
    const struct rw_tree_view of = rw_model_tree(model, at);
    json_t *nodes = json_array(), *leaves = json_array();
    for (int node = 0; node < of.n_leaves - 1; node++) {
        const size_t n = rw_model_condition(model, at, node, NULL, 0);
        char *condition = rw_need(n, 1);
        rw_model_condition(model, at, node, condition, n + 1);
        rw_result_add(nodes, "place:s feature:u name:s condition:s missing:s gain:n left:s right:s",
                      child(node), of.feature[node], rw_model_feature_name(model, of.feature[node]),
                      condition, of.missing_left[node] ? "left" : "right", of.gain[node],
                      child(of.left[node]), child(of.right[node]));
    }
    for (int leaf = 0; leaf < of.n_leaves; leaf++)
        rw_result_add(leaves, "place:s value:n documents:n", child(~leaf), (double)of.leaf[leaf],
                      of.docs ? of.docs[leaf] : (double)NAN);
    rw_result_rows(NULL, nodes, columns);
    rw_result_rows(NULL, leaves, columns);
    rw_result_print(cli, rw_result_row("tree:i nodes:O leaves:O", (int)tree, nodes, leaves));
}

static int check(struct rw_cli *cli)
{
    if (!rw_is_given(cli, "tree") == !calibration)
        return rw_wrong(cli, "'show' needs one of --tree N and --calibration");
    if (dot && cli->format != RW_FORMAT_TEXT)
        return rw_wrong(cli,
                        "'--dot' and '--format' both choose the output format: pass one of them");
    return 0;
}

static int run(struct rw_cli *cli)
{
    RW_STEP(rw_model_read(cli->ctx, cli->operands.text[0], &cli->model));
    if (calibration)
        return show_calibration(cli);
    const int n_trees = rw_model_n_trees(cli->model);
    if ((int)tree > n_trees)
        return rw_wrong(cli, "no tree %llu; the model has %d trees", tree, n_trees);
    if (cli->format != RW_FORMAT_TEXT) {
        show_tree(cli);
        return 0;
    }
    return rw_model_show(cli->ctx, cli->model, (int)tree - 1, dot, stdout);
}

const struct rw_command rw_cmd_show = {
    .name = "show",
    .brief = "print a tree or the calibration of a model",
    .operands = "MODEL (--tree N | --calibration)",
    .about =
        "Prints a tree of a model, or its calibration: the score and the probability at each knot.",
    .has_results = 1,
    .options = options,
    .check = check,
    .run = run,
};
