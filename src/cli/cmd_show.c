/* rankwood show: one tree. */
#include <math.h>
#include <stdlib.h>

#include "cli/cli.h"

static unsigned long long tree;
static int dot, calibration;
static const struct rw_option options[] = {
    {"tree", 0, "N", "which tree, from 1", RW_OPTION_NUMBER, .value = &tree, .least = 1,
     .most = 2147483647},
    {"dot", 0, NULL, "in the dot language of Graphviz", RW_OPTION_FLAG, .value = &dot,
     .idle_with = " calibration "},
    {"calibration", 0, NULL,
     "the map of scores to probabilities that 'calibrate' made, in place of a tree", RW_OPTION_FLAG,
     .value = &calibration},
    {0},
};

/* A knot a line; in other formats a table. */
static int show_calibration(const struct rw_cli *cli)
{
    struct rw_calibration map;
    struct rw_result result = {0};
    if (!rw_model_calibration(cli->model, &map)) {
        rw_msg_error("the model has no map of scores to probabilities");
        rw_msg_hint("'rankwood calibrate' makes a model with one");
        return RW_EXIT_FAILURE;
    }
    json_t *knots = json_array();
    result.document = rw_load_json_calibration(&map);
    rw_load_calibration_line(&result, &map);
    for (int i = 0; i < map.n_knots; i++) {
        char text[2][RW_EXACT_ROOM];
        rw_exact_text(map.score[i], text[0]);
        rw_exact_text(map.probability[i], text[1]);
        rw_result_add(knots, "score:n probability:n", map.score[i], map.probability[i]);
        if (cli->format == RW_FORMAT_TEXT)
            rw_result_line(&result, "%s %s", text[0], text[1]);
    }
    if (cli->format != RW_FORMAT_TEXT)
        rw_result_rows(&result, NULL, json_incref(knots), "score==x;probability==x");
    json_decref(knots);
    rw_result_print(cli, &result, stdout);
    return 0;
}

/* "node 3", or "leaf 0". */
static const char *child(int at, char text[32])
{
    snprintf(text, 32, at < 0 ? "leaf %d" : "node %d", at < 0 ? ~at : at);
    return text;
}

static json_t *node_row(const struct rw_model *model, const struct rw_tree_view *of, int node)
{
    const int at = (int)tree - 1;
    const size_t n = rw_model_condition(model, at, node, NULL, 0);
    char *condition = rw_need(n, 1), place[3][32];
    rw_model_condition(model, at, node, condition, n + 1);
    json_t *row = rw_result_row(
        "place:s feature:u name:s condition:s missing:s gain:n left:s right:s",
        child(node, place[0]), of->feature[node], rw_model_feature_name(model, of->feature[node]),
        condition, of->missing_left[node] ? "left" : "right", of->gain[node],
        child(of->left[node], place[1]), child(of->right[node], place[2]));
    return row;
}

/* A table of the tree's nodes and leaves. */
static void show_tree(const struct rw_cli *cli)
{
    static const char columns[] =
        "place;feature;name;condition;missing;gain;left;right;value;documents==%.12g";
    const struct rw_tree_view of = rw_model_tree(cli->model, (int)tree - 1);
    struct rw_result result = {0};
    json_t *nodes = json_array(), *leaves = json_array();
    char place[32];
    for (int node = 0; node < of.n_leaves - 1; node++)
        json_array_append_new(nodes, node_row(cli->model, &of, node));
    for (int leaf = 0; leaf < of.n_leaves; leaf++)
        rw_result_add(leaves, "place:s value:n documents:n", child(~leaf, place),
                      (double)of.leaf[leaf], of.docs ? of.docs[leaf] : (double)NAN);
    result.document = rw_result_row("tree:i nodes:O leaves:O", (int)tree, nodes, leaves);
    rw_result_rows(&result, NULL, nodes, columns);
    rw_result_rows(&result, NULL, leaves, columns);
    rw_result_print(cli, &result, stdout);
}

static int check(struct rw_cli *cli)
{
    if (!rw_is_given(cli, "tree") == !calibration)
        return rw_wrong(cli, "'show' needs one of --tree N and --calibration");
    if (dot && cli->format != RW_FORMAT_TEXT)
        return rw_wrong(cli, "'--dot' and '--format' both say how to print: give one of them");
    return 0;
}

static int run(struct rw_cli *cli)
{
    RW_STEP(rw_model_read(cli->ctx, cli->operands.text[0], &cli->model));
    if (calibration)
        return show_calibration(cli);
    const int n_trees = rw_model_n_trees(cli->model);
    if ((int)tree > n_trees)
        return rw_wrong(cli, "there is no tree %llu: the model has %d", tree, n_trees);
    if (cli->format != RW_FORMAT_TEXT) {
        show_tree(cli);
        return 0;
    }
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
    .has_results = 1,
    .options = options,
    .check = check,
    .run = run,
};
