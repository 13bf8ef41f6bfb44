/* LightGBM's dump_model JSON, as Vespa's importer reads it: the importer makes `feature <
 * threshold` of every numerical split (and `!(feature >= threshold)` where missing goes left),
 * although LightGBM means
 * `<=`; so thresholds are the next float up, and the file is for Vespa only. pandas_categorical
 * must be there. */
#include <string.h>

#include "convert/json_in.h"

static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const struct rw_ens_node *node = at->node;
    (void)user;
    if (node->left < 0)
        rw_put_format(put, "{\"leaf_index\":%d,\"leaf_value\":%lf}", at->number, node->value);
    else
        rw_put_format(put,
                      "{\"split_index\":%d,\"split_feature\":%u,\"split_gain\":%lf,"
                      "\"threshold\":%lf,\"decision_type\":\"<=\",\"default_left\":%s,"
                      "\"missing_type\":\"NaN\",\"left_child\":",
                      at->number, node->column, node->gain, node->threshold,
                      node->nan == RW_NAN_LEFT ? "true" : "false");
}

static int write_vespa(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* Jackson takes 1,000 levels, of which the trees' own start at the fourth. */
    static const struct rw_walk walk = {begin_node, ",\"right_child\":", "}", .deepest = 980};
    if (ensemble->n_trees == 0)
        return rw_put_refuse(put, "a model without trees is no expression in Vespa");
    rw_put_format(put,
                  "{\"name\":\"tree\",\"version\":\"v4\",\"num_class\":1,"
                  "\"num_tree_per_iteration\":1,\"label_index\":0,\"max_feature_idx\":%d,"
                  "\"objective\":\"lambdarank\",\"average_output\":false,\"feature_names\":[",
                  (int)ensemble->n_columns - 1);
    for (uint32_t i = 0; i < ensemble->n_columns; i++) {
        rw_put_text(put, i ? "," : "");
        rw_put_json_text(put, ensemble->column_name[i]);
    }
    rw_put_text(put, "],\"monotone_constraints\":[],\"feature_infos\":{},\"tree_info\":[\n");
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        rw_put_format(put,
                      "{\"tree_index\":%d,\"num_leaves\":%d,\"num_cat\":0,\"shrinkage\":1,"
                      "\"tree_structure\":",
                      t, (ensemble->tree[t].n_nodes + 1) / 2);
        RW_TRY(rw_walk_tree(&walk, ensemble, t, NULL, put));
        rw_put_text(put, t + 1 < ensemble->n_trees ? "},\n" : "}\n");
    }
    rw_put_text(put, "],\"pandas_categorical\":[]}\n");
    return put->status;
}

static void read_node(struct rw_source *source, const void *from, struct rw_ens_node *node,
                      const void *child[2], void *user)
{
    (void)user;
    if (!json_object_get(from, "left_child")) {
        node->value = rw_json_number(source, from, "leaf_value");
        return;
    }
    node->column = (uint32_t)rw_json_integer(source, from, "split_feature", 0, RW_MAX_FEATURE);
    const char *decision = rw_json_text(source, from, "decision_type");
    if (strcmp(decision, "<=") != 0)
        rw_refuse(source, "decision_type '%.20s': a categorical split", decision);
    node->threshold = rw_json_number(source, from, "threshold");
    node->nan = rw_json_integer(source, from, "default_left", 0, 1) ? RW_NAN_LEFT : RW_NAN_RIGHT;
    node->less = 1;
    rw_json_children(source, from, "left_child", "right_child", child);
}

static int parse_vespa(struct rw_source *source, struct rw_ensemble *out)
{
    json_t *root = rw_json_load(source, 0);
    const json_t *trees = rw_json_array(source, root, "tree_info", -1);
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(trees); i++) {
        const json_t *tree = rw_json_object(source, json_array_get(trees, i), "tree_structure");
        rw_read_tree(source, tree, read_node, NULL, out);
    }
    json_decref(root);
    return source->status;
}

const struct rw_model_format rw_to_vespa = {
    .name = "vespa",
    .about = "LightGBM's JSON as Vespa's importer reads it; for Vespa only",
    .consumer = {{.name = "Vespa",
                  .rules = {.value = RW_F64,
                            .threshold = RW_F64,
                            .sum = RW_F64,
                            .less = 1,
                            .nan_by_node = 1,
                            .absent = RW_ABSENT_NAN}}},
    .names = RW_NAMES_ALL,
    .write = write_vespa,
    .parse = parse_vespa,
};
