/* Solr's MultipleAdditiveTreesModel. Features are identified by name in a store. With a feature
 * set, the model lists only the features that trees use, because Solr computes all listed ones.
 * Numbers are floats, written as JSON strings. A value goes left if it is at most threshold + 1e-6
 * (in float), so the written threshold is the float that gives the model's threshold in this sum. A
 * feature without a value is 0, unless isNullSameAsZero is false (since Solr 9.2). Each node's
 * `missing` then says where a missing value goes. isNullSameAsZero and `missing` are written only
 * if some node sends a missing value and 0 to different children, so that other models load in
 * every version. */

#include "convert/convert.h"

#define SOLR_CLASS "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
#define SOLR_SLACK 1e-6f

/* ---- writing ---- */

/* Writes a leaf, or a split up to its left child. user: NULL if nodes need no `missing`. */
static void begin_node(struct rw_put *put, const struct rw_visit *at, const void *user)
{
    const struct rw_ens_node *node = at->node;
    if (node->left < 0) {
        rw_put_format(put, "{\"value\":\"%f\"}", node->value);
        return;
    }
    rw_put_format(put, "{\"feature\":%1s,\"threshold\":\"%f\"%s,\"left\":",
                  at->ensemble->column_name[node->column], node->threshold,
                  !user                      ? ""
                  : node->nan == RW_NAN_LEFT ? ",\"missing\":\"left\""
                                             : ",\"missing\":\"right\"");
}

/* Returns 1 if some node sends a missing value and 0 to different children. */
static int needs_missing(const struct rw_ensemble *ensemble)
{
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        const struct rw_ens_tree *tree = &ensemble->tree[t];
        for (int32_t i = 0; i < tree->n_nodes; i++) {
            const struct rw_ens_node *node = &tree->node[i];
            const int zero_left = 0.0f <= (float)node->threshold + SOLR_SLACK;
            if (node->left >= 0 && (node->nan == RW_NAN_LEFT) != zero_left)
                return 1;
        }
    }
    return 0;
}

static int write_solr(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* Solr's reader and its trees recurse. Java's stack allows a few thousand levels. */
    static const struct rw_walk walk = {begin_node, ",\"right\":", "}", .deepest = 1000};
    const char *missing = needs_missing(ensemble) ? "\"isNullSameAsZero\":\"false\"," : NULL;
    const char *name = ensemble->model_name ? ensemble->model_name : "rankwood";
    if (strcmp(name, "_OriginalRanking_") == 0)
        return rw_put_refuse(put, "the name '%s' has another meaning in Solr", name);
    rw_put_format(put, "{\"class\":\"" SOLR_CLASS "\",\"name\":%1s,", name);
    if (ensemble->store)
        rw_put_format(put, "\"store\":%1s,", ensemble->store);
    rw_put_text(put, "\n\"features\":[");
    rw_put_names(put, ensemble, "{\"name\":", "}");
    rw_put_format(put, "],\n\"params\":{%s\"trees\":[\n", missing ? missing : "");
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        rw_put_text(put, "{\"weight\":\"1\",\"root\":");
        RW_TRY(rw_walk_tree(&walk, ensemble, t, missing, put));
        rw_put_text(put, t + 1 < ensemble->n_trees ? "},\n" : "}\n");
    }
    rw_put_text(put, "]}}\n");
    return put->status;
}

/* ---- reading ---- */

/* The state of reading nodes. */
struct reading {
    struct rw_query_ids name; /* feature names, in the order of "features" */
    uint32_t *column;         /* [n_features] their columns */
    int null_is_zero;         /* isNullSameAsZero; 0: each node must have `missing` */
};

/* Reads a float, written as a number or as a text, which may end in Java's f. */
static double read_float(struct rw_source *source, const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    float read = 0;
    int clamped = 0;
    if (!text)
        return (double)rw_json_float(rw_json_number(source, object, name));
    size_t n = strlen(text);
    if (n > 1 && (text[n - 1] == 'f' || text[n - 1] == 'F'))
        n--;
    if (rw_number_parse(text, text + n, &read, &clamped) != text + n || clamped || isnan(read))
        rw_refuse(source, "'%s': expected a number, found '%.60s'", name, text);
    return (double)read;
}

static void read_node(struct rw_source *source, const void *from, struct rw_ens_node *node,
                      const void *child[2], void *user)
{
    const struct reading *r = user;
    if (!json_object_get(from, "feature")) {
        if (json_object_get(from, "left") || json_object_get(from, "right"))
            rw_refuse(source, "a node with children, but without 'feature'");
        node->value = read_float(source, from, "value");
        return;
    }
    const char *name = rw_json_text(source, from, "feature");
    size_t at = 0;
    if (!rw_query_ids_find(&r->name, name, strlen(name), &at))
        rw_refuse(source, "feature '%.60s' is missing in 'features': Solr would end the tree there",
                  name);
    node->column = r->column[at];
    node->threshold = read_float(source, from, "threshold");
    node->nan = RW_NAN_ZERO;
    if (!r->null_is_zero) {
        const char *missing = rw_json_text(source, from, "missing");
        if (!rw_is_among(missing, strlen(missing), "left right"))
            rw_refuse(source, "'missing' is '%.40s'; expected left or right", missing);
        node->nan = strcmp(missing, "left") == 0 ? RW_NAN_LEFT : RW_NAN_RIGHT;
    }
    child[0] = rw_json_object(source, from, "left");
    child[1] = rw_json_object(source, from, "right");
}

/* Reads the i-th feature. In verification, the columns are those of the written model. */
static void read_feature(struct rw_source *source, struct reading *r, const json_t *feature,
                         uint32_t i)
{
    const char *name = rw_json_text(source, feature, "name");
    const uint32_t column = source->names ? rw_named_column(source, name) : i;
    if (json_object_get(feature, "norm")) {
        const char *class = rw_json_text(source, rw_json_object(source, feature, "norm"), "class");
        if (strcmp(class, "org.apache.solr.ltr.norm.IdentityNormalizer") != 0)
            rw_refuse(source, "feature '%.60s' has an unsupported normalizer, '%.60s'", name,
                      class);
    }
    size_t index;
    const int is_known = rw_query_ids_add(source->ctx, &r->name, name, &index);
    if (is_known == 1)
        rw_refuse(source, "feature '%.60s' appears twice", name);
    if (rw_keep(source, is_known) < 0)
        return;
    rw_add_name(source, column, name);
    r->column[i] = column;
    source->out->column_had[column] = 1;
}

static int read_null(struct rw_source *source, const json_t *params)
{
    const json_t *value = json_object_get(params, "isNullSameAsZero");
    const char *text = json_string_value(value);
    const int yes = !value || json_is_true(value) || (text && strcmp(text, "true") == 0);
    if (!yes && !json_is_false(value) && !(text && strcmp(text, "false") == 0))
        rw_refuse(source, "'isNullSameAsZero': expected true or false");
    return yes;
}

static int parse_solr(struct rw_source *source)
{
    RW_SCOPED(json_decref) json_t *root = rw_json_load(source, 0);
    const char *class = rw_json_text(source, root, "class");
    if (strcmp(class, SOLR_CLASS) != 0)
        rw_refuse(source, "unsupported class '%.80s': expected %s", class, SOLR_CLASS);
    const json_t *features = rw_json_array(source, root, "features", -1);
    struct reading r = {.null_is_zero = 0};
    const size_t n = json_array_size(features);
    if (rw_set_columns(source, source->names ? source->names->n_columns : n) < 0 ||
        RW_READ_NEW(source, r.column, n) < 0)
        return source->status;
    for (uint32_t i = 0; i < n && source->status == RW_OK; i++)
        read_feature(source, &r, json_array_get(features, i), i);
    const json_t *params = rw_json_object(source, root, "params");
    r.null_is_zero = read_null(source, params);
    const json_t *trees = rw_json_array(source, params, "trees", -1);
    for (size_t i = 0; source->status == RW_OK && i < json_array_size(trees); i++) {
        const json_t *tree = json_array_get(trees, i);
        const double weight = read_float(source, tree, "weight");
        struct rw_ens_tree *to =
            rw_read_tree(source, rw_json_object(source, tree, "root"), read_node, &r);
        if (to)
            to->weight = weight;
    }
    rw_query_ids_release(&r.name);
    return source->status;
}

const struct rw_model_format rw_to_solr = {
    .name = "solr",
    .about = "Solr's MultipleAdditiveTreesModel, JSON",
    .consumer = {{.name = "Solr",
                  .rules = {.slack = SOLR_SLACK, .nan_by_node = 1, .absent = RW_ABSENT_NAN}}},
    .names = RW_NAMES_SET,
    .has_store = 1,
    .imports = 1,
    .write = write_solr,
    .parse = parse_solr,
};
