/* LightGBM's dump_model JSON, as Vespa's importer reads it: the importer makes `feature <
 * threshold` of every numerical split (and `!(feature >= threshold)` where missing goes left),
 * although LightGBM means
 * `<=`; so thresholds are the next float up, and the file is for Vespa only. pandas_categorical
 * must be there. */
#include <string.h>

#include "convert/nested_json.h"

static void begin_node(struct rw_put *put, const struct rw_ensemble *ensemble,
                       const struct rw_ens_node *node, int32_t number, int32_t depth,
                       const int32_t child[2])
{
    (void)ensemble;
    (void)depth;
    (void)child;
    if (node->left < 0) {
        rw_put_format(put, "{\"leaf_index\":%d,\"leaf_value\":", number);
        rw_put_double(put, node->value);
        rw_put_text(put, "}");
        return;
    }
    rw_put_format(put, "{\"split_index\":%d,\"split_feature\":%u,\"split_gain\":", number,
                  node->column);
    rw_put_double(put, node->gain);
    rw_put_text(put, ",\"threshold\":");
    rw_put_double(put, node->threshold);
    rw_put_format(put,
                  ",\"decision_type\":\"<=\",\"default_left\":%s,\"missing_type\":\"NaN\","
                  "\"left_child\":",
                  node->nan == RW_NAN_LEFT ? "true" : "false");
}

static void middle_node(struct rw_put *put)
{
    rw_put_text(put, ",\"right_child\":");
}

static void end_node(struct rw_put *put)
{
    rw_put_text(put, "}");
}

static int write_vespa(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* Jackson takes 1,000 levels, of which the trees' own start at the fourth. */
    static const struct rw_nested how = {begin_node, middle_node, end_node, 980};
    if (ensemble->n_trees == 0)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "a model without trees is no expression in Vespa");
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
        RW_TRY(rw_nested_write(ctx, ensemble, t, &how, put));
        rw_put_text(put, t + 1 < ensemble->n_trees ? "},\n" : "}\n");
    }
    rw_put_text(put, "],\"pandas_categorical\":[]}\n");
    return put->status;
}

static int read_node(struct rw_ctx *ctx, const struct rw_source *source, const json_t *from,
                     struct rw_ens_node *node, const json_t *child[2])
{
    int64_t column, left;
    const char *decision;
    json_t *object;
    if (!json_object_get(from, "left_child"))
        return rw_json_number(ctx, source, from, "leaf_value", &node->value);
    RW_TRY(rw_json_integer(ctx, source, from, "split_feature", 0, RW_MAX_FEATURE, &column));
    RW_TRY(rw_json_text(ctx, source, from, "decision_type", &decision));
    if (strcmp(decision, "<=") != 0)
        return rw_refuse(ctx, source, "decision_type '%.20s': a categorical split", decision);
    RW_TRY(rw_json_number(ctx, source, from, "threshold", &node->threshold));
    RW_TRY(rw_json_integer(ctx, source, from, "default_left", 0, 1, &left));
    RW_TRY(rw_json_object(ctx, source, from, "left_child", &object));
    child[0] = object;
    RW_TRY(rw_json_object(ctx, source, from, "right_child", &object));
    child[1] = object;
    node->column = (uint32_t)column;
    node->less = 1;
    node->nan = left ? RW_NAN_LEFT : RW_NAN_RIGHT;
    return RW_OK;
}

static int parse_vespa(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    json_t *root, *trees, *tree;
    RW_TRY(rw_json_load(ctx, source, &root));
    int status = rw_json_array(ctx, source, root, "tree_info", -1, &trees);
    for (size_t i = 0; status == RW_OK && i < json_array_size(trees); i++) {
        status = rw_json_object(ctx, source, json_array_get(trees, i), "tree_structure", &tree);
        if (status == RW_OK)
            status = rw_nested_parse(ctx, source, tree, read_node, out);
    }
    json_decref(root);
    return status;
}

static const struct rw_consumer consumers[] = {
    {.name = "Vespa",
     .rules = {.value = RW_F64,
               .threshold = RW_F64,
               .sum = RW_F64,
               .less = 1,
               .nan_by_node = 1,
               .absent = RW_ABSENT_NAN}},
    {0},
};

const struct rw_model_format rw_to_vespa = {
    .name = "vespa",
    .about = "LightGBM's JSON as Vespa's importer reads it; for Vespa only",
    .consumer = consumers,
    .names = RW_NAMES_ALL,
    .name_prefix = "f",
    .name_forbids = "",
    .write = write_vespa,
    .parse = parse_vespa,
};
