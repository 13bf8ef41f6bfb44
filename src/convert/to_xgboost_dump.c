/* XGBoost's dump_model(dump_format="json"): an array of trees, features by name, no base score.
 * Taken by Elasticsearch and OpenSearch LTR ("model/xgboost+json") and by Vespa, which rounds
 * thresholds to float but compares and adds in double. */
#include <string.h>

#include "convert/nested_json.h"
#include "convert/xgboost_model.h"

static void begin_node(struct rw_put *put, const struct rw_ensemble *ensemble,
                       const struct rw_ens_node *node, int32_t number, int32_t depth,
                       const int32_t child[2])
{
    rw_put_format(put, "{\"nodeid\":%d,", number);
    if (node->left < 0) {
        rw_put_text(put, "\"leaf\":");
        rw_put_double(put, node->value);
        rw_put_text(put, "}");
        return;
    }
    rw_put_format(put, "\"depth\":%d,\"split\":", depth);
    rw_put_json_text(put, ensemble->column_name[node->column]);
    rw_put_text(put, ",\"split_condition\":");
    rw_put_float(put, (float)node->threshold);
    rw_put_format(put, ",\"yes\":%d,\"no\":%d,\"missing\":%d,\"children\":[", child[0], child[1],
                  node->nan == RW_NAN_LEFT ? child[0] : child[1]);
}

static void middle_node(struct rw_put *put)
{
    rw_put_text(put, ",");
}

static void end_node(struct rw_put *put)
{
    rw_put_text(put, "]}");
}

static int write_dump(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* Jackson, which both readers use, takes 1,000 levels; a node is two. */
    static const struct rw_nested how = {begin_node, middle_node, end_node, 480};
    if (ensemble->n_trees == 0)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "a model without trees: no reader takes an empty dump");
    rw_put_text(put, "[\n");
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        RW_TRY(rw_nested_write(ctx, ensemble, t, &how, put));
        rw_put_text(put, t + 1 < ensemble->n_trees ? ",\n" : "\n]\n");
    }
    return put->status;
}

static int find_column(struct rw_ctx *ctx, const struct rw_source *source, const char *name,
                       uint32_t *out)
{
    const struct rw_ensemble *names = source->names;
    for (uint32_t i = 0; i < names->n_columns; i++) {
        if (strcmp(names->column_name[i], name) == 0) {
            *out = i;
            return RW_OK;
        }
    }
    return rw_refuse(ctx, source, "there is no feature '%.60s'", name);
}

static int read_node(struct rw_ctx *ctx, const struct rw_source *source, const json_t *from,
                     struct rw_ens_node *node, const json_t *child[2])
{
    int64_t yes, no, missing, id[2];
    const char *name;
    json_t *children;
    if (json_object_get(from, "leaf"))
        return rw_json_number(ctx, source, from, "leaf", &node->value);
    RW_TRY(rw_json_text(ctx, source, from, "split", &name));
    RW_TRY(find_column(ctx, source, name, &node->column));
    RW_TRY(rw_json_number(ctx, source, from, "split_condition", &node->threshold));
    node->threshold = (double)rw_json_float(node->threshold);
    RW_TRY(rw_json_integer(ctx, source, from, "yes", 0, INT32_MAX, &yes));
    RW_TRY(rw_json_integer(ctx, source, from, "no", 0, INT32_MAX, &no));
    RW_TRY(rw_json_integer(ctx, source, from, "missing", 0, INT32_MAX, &missing));
    RW_TRY(rw_json_array(ctx, source, from, "children", 2, &children));
    for (size_t i = 0; i < 2; i++)
        RW_TRY(rw_json_integer(ctx, source, json_array_get(children, i), "nodeid", 0, INT32_MAX,
                               &id[i]));
    if (id[0] == id[1] || (yes != id[0] && yes != id[1]) || no != (yes == id[0] ? id[1] : id[0]) ||
        (missing != yes && missing != no))
        return rw_refuse(ctx, source, "'yes', 'no' and 'missing' are not the children's ids");
    child[0] = json_array_get(children, yes == id[1]);
    child[1] = json_array_get(children, yes == id[0]);
    node->less = 1;
    node->nan = missing == yes ? RW_NAN_LEFT : RW_NAN_RIGHT;
    return RW_OK;
}

static int parse_dump(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    json_t *root;
    RW_TRY(rw_json_load(ctx, source, &root));
    int status = json_is_array(root) ? RW_OK : rw_refuse(ctx, source, "expected an array of trees");
    for (size_t i = 0; status == RW_OK && i < json_array_size(root); i++)
        status = rw_nested_parse(ctx, source, json_array_get(root, i), read_node, out);
    json_decref(root);
    return status;
}

static const struct rw_consumer consumers[] = {
    {.name = "Elasticsearch and OpenSearch LTR", .rules = {RW_XGBOOST_RULES}},
    {.name = "Vespa",
     .rules = {.value = RW_F64,
               .threshold = RW_F32,
               .sum = RW_F64,
               .less = 1,
               .nan_by_node = 1,
               .absent = RW_ABSENT_NAN}},
    {.name = RW_OPENSEARCH_OLD_NAME, .rules = {RW_OPENSEARCH_OLD_RULES}, .earlier = 1},
    {0},
};

const struct rw_model_format rw_to_xgboost_dump = {
    .name = "xgboost-dump",
    .about = "XGBoost's JSON dump: Elasticsearch and OpenSearch LTR, Vespa",
    .consumer = consumers,
    .names = RW_NAMES_ALL,
    .name_prefix = "f",
    .name_forbids = "",
    .write = write_dump,
    .parse = parse_dump,
};
