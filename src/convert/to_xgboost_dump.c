/* XGBoost's dump_model(dump_format="json"): an array of trees, features by name, no base score.
 * Taken by Elasticsearch and OpenSearch LTR ("model/xgboost+json") and by Vespa, which rounds
 * thresholds to float but compares and adds in double. */
#include <string.h>

#include "convert/json_in.h"
#include "convert/xgboost_dump.h"
#include "convert/xgboost_rules.h"

static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const struct rw_ens_node *node = at->node;
    (void)user;
    if (node->left < 0) {
        rw_put_format(put, "{\"nodeid\":%d,\"leaf\":%lf}", at->number, node->value);
        return;
    }
    rw_put_format(put, "{\"nodeid\":%d,\"depth\":%d,\"split\":", at->number, at->depth);
    rw_put_json_text(put, rw_ens_column_name(at->ensemble, node->column));
    rw_put_format(put, ",\"split_condition\":%f,\"yes\":%d,\"no\":%d,\"missing\":%d,\"children\":[",
                  node->threshold, at->child[0], at->child[1], at->child[node->nan != RW_NAN_LEFT]);
}

int rw_xgboost_dump_put(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* Jackson, which both readers use, takes 1,000 levels; a node is two. */
    static const struct rw_walk walk = {begin_node, ",", "]}", .deepest = 480};
    if (ensemble->n_trees == 0)
        return rw_put_refuse(put, "a model without trees: no reader takes an empty dump");
    rw_put_text(put, "[\n");
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        RW_TRY(rw_walk_tree(&walk, ensemble, t, NULL, put));
        rw_put_text(put, t + 1 < ensemble->n_trees ? ",\n" : "\n]\n");
    }
    return put->status;
}

static uint32_t find_column(struct rw_source *source, const char *name)
{
    for (uint32_t i = 0; i < source->names->n_columns; i++) {
        const char *known = source->names->column_name[i];
        if (known && strcmp(known, name) == 0)
            return i + source->names->first_column;
    }
    rw_refuse(source, "there is no feature '%.60s'", name);
    return 0;
}

static void read_node(struct rw_source *source, const void *from, struct rw_ens_node *node,
                      const void *child[2], void *user)
{
    int64_t id[2];
    (void)user;
    if (json_object_get(from, "leaf")) {
        node->value = rw_json_number(source, from, "leaf");
        return;
    }
    node->column = find_column(source, rw_json_text(source, from, "split"));
    node->threshold = (double)rw_json_float(rw_json_number(source, from, "split_condition"));
    const int64_t yes = rw_json_integer(source, from, "yes", 0, INT32_MAX);
    const int64_t no = rw_json_integer(source, from, "no", 0, INT32_MAX);
    const int64_t missing = rw_json_integer(source, from, "missing", 0, INT32_MAX);
    const json_t *children = rw_json_array(source, from, "children", 2);
    for (size_t i = 0; i < 2; i++)
        id[i] = rw_json_integer(source, json_array_get(children, i), "nodeid", 0, INT32_MAX);
    if (id[0] == id[1] || (yes != id[0] && yes != id[1]) || no != (yes == id[0] ? id[1] : id[0]) ||
        (missing != yes && missing != no))
        rw_refuse(source, "'yes', 'no' and 'missing' are not the children's ids");
    child[0] = json_array_get(children, yes == id[1]);
    child[1] = json_array_get(children, yes == id[0]);
    node->less = 1;
    node->nan = missing == yes ? RW_NAN_LEFT : RW_NAN_RIGHT;
}

int rw_xgboost_dump_parse(struct rw_source *source, struct rw_ensemble *out)
{
    json_t *root = rw_json_load(source, 0);
    if (!json_is_array(root))
        rw_refuse(source, "expected an array of trees");
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(root); i++)
        rw_read_tree(source, json_array_get(root, i), read_node, NULL, out);
    json_decref(root);
    return source->status;
}

const struct rw_model_format rw_to_xgboost_dump = {
    .name = "xgboost-dump",
    .about = "XGBoost's JSON dump: Elasticsearch and OpenSearch LTR, Vespa",
    .consumer = {{.name = "Elasticsearch and OpenSearch LTR", .rules = {RW_XGBOOST_RULES}},
                 {.name = "Vespa",
                  .rules = {.value = RW_F64,
                            .sum = RW_F64,
                            .less = 1,
                            .nan_by_node = 1,
                            .absent = RW_ABSENT_NAN}},
                 {.name = RW_OPENSEARCH_OLD_NAME,
                  .rules = {RW_OPENSEARCH_OLD_RULES},
                  .earlier = 1}},
    .names = RW_NAMES_ALL,
    .write = rw_xgboost_dump_put,
    .parse = rw_xgboost_dump_parse,
};
