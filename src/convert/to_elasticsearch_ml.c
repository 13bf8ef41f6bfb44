/* The trained models of Elasticsearch's own learning to rank, from 8.15 on: the body of a request
 * PUT _ml/trained_models/NAME. It has the configuration `learning_to_rank`, with a query for each
 * feature that trees use, and the ensemble of trees. The learning-to-rank plugin for Elasticsearch
 * is a different program, whose formats are in to_xgboost.c.
 *
 * A feature's value is the score of its query, a float that the server compares as a double. If the
 * query does not match the document, the value is missing, and `default_left` decides.
 * `default_score` does not replace it. This score is for a query whose template lacks a parameter,
 * and all documents then have it. The server compares by Java's Double.compare, for which -0 is
 * less than 0, so thresholds are never written as -0. A tree is an array of nodes, in which
 * children are indexes. Splits refer to feature_names of their tree, from 0. Leaves are added in
 * double. */

#include "convert/convert.h"

/* ---- writing ---- */

/* Checks the name by the server's rules for ids of models. */
static int check_id(struct rw_put *put, const char *id)
{
    static const char ends[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    const size_t n = strlen(id), n_plain = strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_-.");
    if (n >= 1 && n <= 64 && n_plain == n && strchr(ends, id[0]) && strchr(ends, id[n - 1]))
        return put->status;
    put->status = rw_fail(put->ctx, RW_ERR_ARGUMENT,
                          "invalid name '%.80s': expected 1 to 64 of a-z, 0-9, '_', '-' and '.', "
                          "with a letter or digit at both ends",
                          id);
    return put->status;
}

static void put_node(struct rw_put *put, const struct rw_ens_node *node, int32_t i,
                     const uint32_t *place)
{
    if (node->left < 0)
        rw_put_format(put, "{\"node_index\":%d,\"leaf_value\":%lf}", i, node->value);
    else
        rw_put_format(put,
                      "{\"node_index\":%d,\"decision_type\":\"lte\",\"left_child\":%d,"
                      "\"right_child\":%d,\"split_feature\":%u,\"threshold\":%lf,"
                      "\"default_left\":%s}",
                      i, node->left, node->right, place[node->column], node->threshold + 0.0,
                      node->nan == RW_NAN_LEFT ? "true" : "false");
}

/* Writes the members that the ensemble and each tree have. */
static void put_inputs(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    rw_put_text(put, "\"feature_names\":[");
    rw_put_names(put, ensemble, "", "");
    rw_put_text(put, "],\"target_type\":\"regression\"");
}

static void skip(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    (void)put;
    (void)at;
    (void)user;
}

static int put_trees(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* The server's reader recurses to find the depth. Java's stack allows a few thousand levels. */
    static const struct rw_walk depth = {skip, "", "", .deepest = 1000};
    RW_FREED uint32_t *place = NULL; /* of a column in feature_names */
    const uint32_t n_ids = ensemble->first_column + ensemble->n_columns;
    RW_TRY(RW_NEW(put->ctx, place, n_ids));
    for (uint32_t i = 0, n = 0; i < ensemble->n_columns; i++)
        place[i + ensemble->first_column] = ensemble->column_name[i] ? n++ : 0;
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &ensemble->tree[t];
        RW_TRY(rw_walk_tree(&depth, ensemble, t, NULL, put));
        rw_put_text(put, t ? ",\n{\"tree\":{" : "\n{\"tree\":{");
        put_inputs(ensemble, put);
        rw_put_text(put, ",\"tree_structure\":[");
        for (int32_t i = 0; i < tree->n_nodes; i++) {
            rw_put_text(put, i ? "," : "");
            put_node(put, &tree->node[i], i, place);
        }
        rw_put_text(put, "]}}");
    }
    return put->status;
}

/* Called by jansson, which ignores the result for a member's key. */
static int put_part(const char *text, size_t n, void *put)
{
    rw_put_bytes(put, text, n);
    return 0;
}

static int write_ml(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    const char *id = ensemble->model_name ? ensemble->model_name : "rankwood";
    if (ensemble->n_trees == 0)
        return rw_put_refuse(put, "the model has no trees; Elasticsearch rejects such a model");
    RW_TRY(check_id(put, id));
    rw_put_format(put, "{\"model_id\":%1s,\n\"inference_config\":{\"learning_to_rank\":", id);
    if (!ensemble->config)
        rw_put_text(put, "{}");
    else if (json_dump_callback(ensemble->config, put_part, put, JSON_COMPACT) != 0)
        return rw_fail(put->ctx, RW_ERR_MEMORY, "out of memory: the features of the model");
    rw_put_text(put, "},\n\"definition\":{\"trained_model\":{\"ensemble\":{");
    put_inputs(ensemble, put);
    rw_put_text(put, ",\"aggregate_output\":{\"weighted_sum\":{}},\n\"trained_models\":[");
    RW_TRY(put_trees(ensemble, put));
    rw_put_text(put, "\n]}}}}\n");
    return put->status;
}

/* ---- reading ---- */

static void read_split(struct rw_source *source, const json_t *from, const json_t *names,
                       const json_t *extracted, struct rw_ens_node *node, int64_t n_nodes)
{
    const int64_t most = (int64_t)json_array_size(names) - 1;
    const int64_t place = rw_json_integer(source, from, "split_feature", 0, most);
    const char *name = rw_json_plain(json_array_get(names, (size_t)place));
    const char *type = rw_json_text(source, from, "decision_type");
    node->left = (int32_t)rw_json_integer(source, from, "left_child", 0, n_nodes - 1);
    node->right = (int32_t)rw_json_integer(source, from, "right_child", 0, n_nodes - 1);
    node->threshold = rw_json_number(source, from, "threshold");
    const json_t *left = json_object_get(from, "default_left");
    node->nan = rw_json_whole(source, left, "default_left", 0, 1) ? RW_NAN_LEFT : RW_NAN_RIGHT;
    if (source->status == RW_OK && strcmp(type, "lte") != 0)
        rw_refuse(source, "unsupported 'decision_type' '%.20s': expected lte", type);
    else if (source->status == RW_OK && !name)
        rw_refuse(source, "'feature_names': element %lld is not a string", (long long)place);
    else if (source->status == RW_OK && !json_object_get(extracted, name))
        rw_refuse(source, "no 'query_extractor' for feature '%.60s'", name);
    if (source->status == RW_OK)
        node->column = rw_named_column(source, name);
}

static void read_tree(struct rw_source *source, const json_t *tree, const json_t *extracted)
{
    const json_t *names = rw_json_array(source, tree, "feature_names", -1);
    const json_t *nodes = rw_json_array(source, tree, "tree_structure", -1);
    const size_t n = json_array_size(nodes);
    if (n == 0 || n > INT32_MAX)
        rw_refuse(source, "'tree_structure' has %zu nodes", n);
    struct rw_ens_tree *to = source->status == RW_OK ? rw_add_tree(source, (int32_t)n) : NULL;
    for (size_t i = 0; to && i < n && source->status == RW_OK; i++) {
        const json_t *from = json_array_get(nodes, i);
        if (json_object_get(from, "leaf_value"))
            to->node[i].value = rw_json_number(source, from, "leaf_value");
        else
            read_split(source, from, names, extracted, &to->node[i], (int64_t)n);
    }
}

/* Returns the extractors by the names of their features; the caller owns the object. */
static json_t *read_extractors(struct rw_source *source, const json_t *root)
{
    const json_t *inference = rw_json_object(source, root, "inference_config");
    const json_t *config = rw_json_object(source, inference, "learning_to_rank");
    const json_t *array = json_object_get(config, "feature_extractors");
    json_t *out = json_object();
    if (!out)
        rw_source_no_memory(source);
    for (size_t i = 0; i < json_array_size(array) && source->status == RW_OK; i++) {
        const json_t *of = rw_json_object(source, json_array_get(array, i), "query_extractor");
        const char *name = rw_json_text(source, of, "feature_name");
        json_t *query = rw_json_object(source, of, "query");
        if (source->status == RW_OK && json_object_set(out, name, query) < 0)
            rw_source_no_memory(source);
    }
    return out;
}

static int parse_ml(struct rw_source *source)
{
    RW_SCOPED(json_decref) json_t *root = rw_json_load(source, 0);
    rw_json_text(source, root, "model_id");
    RW_SCOPED(json_decref) json_t *extracted = read_extractors(source, root);
    const json_t *definition = rw_json_object(source, root, "definition");
    const json_t *model = rw_json_object(source, definition, "trained_model");
    const json_t *ensemble = rw_json_object(source, model, "ensemble");
    const json_t *trees = rw_json_array(source, ensemble, "trained_models", -1);
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(trees); i++)
        read_tree(source, rw_json_object(source, json_array_get(trees, i), "tree"), extracted);
    return source->status;
}

const struct rw_model_format rw_to_elasticsearch_ml = {
    .name = "elasticsearch-ml",
    .about = "complete request for Elasticsearch without a plugin (--featureset, --name)",
    .consumer = {{.name = "Elasticsearch",
                  .rules = {RW_DOUBLE_RULES, .threshold = RW_F64, .absent = RW_ABSENT_NAN,
                            .first_column = 1}}},
    .names = RW_NAMES_SET,
    .has_queries = 1,
    .write = write_ml,
    .parse = parse_ml,
};
