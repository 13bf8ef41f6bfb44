/* Solr's MultipleAdditiveTreesModel: features by name, numbers as texts, floats. A value goes left
 * when it is at most threshold + 1e-6 (in float), so the threshold written is the float that gives
 * our cut when the slack is added. What a document has no value of is 0, unless isNullSameAsZero is
 * false (since Solr 9.2), when each node's `missing` says where it goes: written only where some
 * node needs it, so that the others load in every version. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "convert/nested_json.h"

#define SOLR_CLASS "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
#define SOLR_SLACK 1e-6f

/* ------------------------------------------------------------------ out */

static void put_number(struct rw_put *put, double value)
{
    rw_put_text(put, "\"");
    rw_put_float(put, (float)value);
    rw_put_text(put, "\"");
}

static void put_node(struct rw_put *put, const struct rw_ensemble *ensemble,
                     const struct rw_ens_node *node, int with_missing)
{
    if (node->left < 0) {
        rw_put_text(put, "{\"value\":");
        put_number(put, node->value);
        rw_put_text(put, "}");
        return;
    }
    rw_put_text(put, "{\"feature\":");
    rw_put_json_text(put, ensemble->column_name[node->column]);
    rw_put_text(put, ",\"threshold\":");
    put_number(put, node->threshold);
    if (with_missing)
        rw_put_format(put, ",\"missing\":\"%s\"", node->nan == RW_NAN_LEFT ? "left" : "right");
    rw_put_text(put, ",\"left\":");
}

static void begin_plain(struct rw_put *put, const struct rw_ensemble *ensemble,
                        const struct rw_ens_node *node, int32_t number, int32_t depth,
                        const int32_t child[2])
{
    (void)number;
    (void)depth;
    (void)child;
    put_node(put, ensemble, node, 0);
}

static void begin_missing(struct rw_put *put, const struct rw_ensemble *ensemble,
                          const struct rw_ens_node *node, int32_t number, int32_t depth,
                          const int32_t child[2])
{
    (void)number;
    (void)depth;
    (void)child;
    put_node(put, ensemble, node, 1);
}

static void middle_node(struct rw_put *put)
{
    rw_put_text(put, ",\"right\":");
}

static void end_node(struct rw_put *put)
{
    rw_put_text(put, "}");
}

/* Does a missing value anywhere go another way than 0? */
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

static int write_solr(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    /* Solr's reader and its trees recurse; Java's stack takes some thousand levels. */
    static const struct rw_nested plain = {begin_plain, middle_node, end_node, 1000};
    static const struct rw_nested missing = {begin_missing, middle_node, end_node, 1000};
    const int with_missing = needs_missing(ensemble);
    rw_put_text(put, "{\"class\":\"" SOLR_CLASS "\",\"name\":\"rankwood\",\n\"features\":[");
    for (uint32_t i = 0; i < ensemble->n_columns; i++) {
        rw_put_text(put, i ? ",{\"name\":" : "{\"name\":");
        rw_put_json_text(put, ensemble->column_name[i]);
        rw_put_text(put, "}");
    }
    rw_put_text(put, "],\n\"params\":{");
    rw_put_text(put, with_missing ? "\"isNullSameAsZero\":\"false\"," : "");
    rw_put_text(put, "\"trees\":[\n");
    for (int32_t t = 0; t < ensemble->n_trees; t++) {
        rw_put_text(put, "{\"weight\":\"1\",\"root\":");
        RW_TRY(rw_nested_write(ctx, ensemble, t, with_missing ? &missing : &plain, put));
        rw_put_text(put, t + 1 < ensemble->n_trees ? "},\n" : "}\n");
    }
    rw_put_text(put, "]}}\n");
    return put->status;
}

/* ------------------------------------------------------------------ in */

/* The source, and what its nodes are read with. */
struct reading {
    struct rw_source source;
    json_t *column; /* name -> place in "features" */
    int null_is_zero;
};

/* A float, as a number or as a text, which may end in Java's f. */
static int read_float(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                      const char *name, double *out)
{
    const json_t *value = json_object_get(object, name);
    const char *text = json_string_value(value);
    float read = 0;
    int clamped = 0;
    if (!text) {
        RW_TRY(rw_json_number(ctx, source, object, name, out));
        *out = (double)rw_json_float(*out);
        return RW_OK;
    }
    size_t n = strlen(text);
    if (n > 1 && (text[n - 1] == 'f' || text[n - 1] == 'F'))
        n--;
    if (rw_number_parse(text, text + n, &read, &clamped) != text + n || clamped || isnan(read))
        return rw_refuse(ctx, source, "'%s': expected a number, found '%.60s'", name, text);
    *out = (double)read;
    return RW_OK;
}

static int read_missing(struct rw_ctx *ctx, const struct reading *r, const json_t *from,
                        struct rw_ens_node *node)
{
    const char *missing;
    node->nan = RW_NAN_ZERO;
    if (r->null_is_zero)
        return RW_OK;
    RW_TRY(rw_json_text(ctx, &r->source, from, "missing", &missing));
    if (strcmp(missing, "left") != 0 && strcmp(missing, "right") != 0)
        return rw_refuse(ctx, &r->source, "'missing' is '%.40s'; expected left or right", missing);
    node->nan = strcmp(missing, "left") == 0 ? RW_NAN_LEFT : RW_NAN_RIGHT;
    return RW_OK;
}

static int read_node(struct rw_ctx *ctx, const struct rw_source *source, const json_t *from,
                     struct rw_ens_node *node, const json_t *child[2])
{
    const struct reading *r = (const struct reading *)(const void *)source; /* its first member */
    const char *name;
    json_t *object;
    if (!json_object_get(from, "feature")) {
        if (json_object_get(from, "left") || json_object_get(from, "right"))
            return rw_refuse(ctx, source, "a node without 'feature' that has children");
        return read_float(ctx, source, from, "value", &node->value);
    }
    RW_TRY(rw_json_text(ctx, source, from, "feature", &name));
    const json_t *column = json_object_get(r->column, name);
    if (!column)
        return rw_refuse(ctx, source,
                         "feature '%.60s' is not among 'features': Solr would end the tree there",
                         name);
    node->column = (uint32_t)json_integer_value(column);
    RW_TRY(read_float(ctx, source, from, "threshold", &node->threshold));
    RW_TRY(read_missing(ctx, r, from, node));
    RW_TRY(rw_json_object(ctx, source, from, "left", &object));
    child[0] = object;
    RW_TRY(rw_json_object(ctx, source, from, "right", &object));
    child[1] = object;
    return RW_OK;
}

static int read_features(struct rw_ctx *ctx, struct reading *r, const json_t *root,
                         struct rw_ensemble *out)
{
    const struct rw_source *source = &r->source;
    json_t *features, *norm;
    const char *name, *class;
    RW_TRY(rw_json_array(ctx, source, root, "features", -1, &features));
    if (json_array_size(features) > 65537)
        return rw_refuse(ctx, source, "%zu features", json_array_size(features));
    RW_TRY(rw_ensemble_set_columns(ctx, out, json_array_size(features)));
    for (uint32_t i = 0; i < out->n_columns; i++) {
        const json_t *feature = json_array_get(features, i);
        RW_TRY(rw_json_text(ctx, source, feature, "name", &name));
        if (json_object_get(feature, "norm")) {
            RW_TRY(rw_json_object(ctx, source, feature, "norm", &norm));
            RW_TRY(rw_json_text(ctx, source, norm, "class", &class));
            if (strcmp(class, "org.apache.solr.ltr.norm.IdentityNormalizer") != 0)
                return rw_refuse(ctx, source, "feature '%.60s' has a normalizer, '%.60s'", name,
                                 class);
        }
        if (json_object_get(r->column, name))
            return rw_refuse(ctx, source, "two features '%.60s'", name);
        if (json_object_set_new(r->column, name, json_integer(i)) < 0)
            return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", source->path);
        RW_TRY(rw_ensemble_name(ctx, out, i, name));
        out->column_had[i] = 1;
    }
    return RW_OK;
}

static int read_null(struct rw_ctx *ctx, struct reading *r, const json_t *params)
{
    const json_t *value = json_object_get(params, "isNullSameAsZero");
    const char *text = json_string_value(value);
    const int yes = !value || json_is_true(value) || (text && strcmp(text, "true") == 0);
    const int no = json_is_false(value) || (text && strcmp(text, "false") == 0);
    if (!yes && !no)
        return rw_refuse(ctx, &r->source, "'isNullSameAsZero': expected true or false");
    r->null_is_zero = yes;
    return RW_OK;
}

static int read_model(struct rw_ctx *ctx, struct reading *r, const json_t *root,
                      struct rw_ensemble *out)
{
    const struct rw_source *source = &r->source;
    json_t *params, *trees, *tree;
    const char *class;
    RW_TRY(rw_json_text(ctx, source, root, "class", &class));
    if (strcmp(class, SOLR_CLASS) != 0)
        return rw_refuse(ctx, source, "class '%.80s'; expected %s", class, SOLR_CLASS);
    RW_TRY(read_features(ctx, r, root, out));
    RW_TRY(rw_json_object(ctx, source, root, "params", &params));
    RW_TRY(read_null(ctx, r, params));
    RW_TRY(rw_json_array(ctx, source, params, "trees", -1, &trees));
    for (size_t i = 0; i < json_array_size(trees); i++) {
        double weight;
        RW_TRY(read_float(ctx, source, json_array_get(trees, i), "weight", &weight));
        RW_TRY(rw_json_object(ctx, source, json_array_get(trees, i), "root", &tree));
        RW_TRY(rw_nested_parse(ctx, source, tree, read_node, out));
        out->tree[i].weight = weight;
    }
    return RW_OK;
}

static int parse_solr(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    struct reading r = {.source = *source, .column = json_object()};
    json_t *root = NULL;
    int status = r.column
                     ? rw_json_load(ctx, source, &root)
                     : rw_fail(ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", source->path);
    if (status == RW_OK)
        status = read_model(ctx, &r, root, out);
    json_decref(root);
    json_decref(r.column);
    return status;
}

static const struct rw_consumer consumers[] = {
    {.name = "Solr",
     .rules = {.value = RW_F32,
               .threshold = RW_F32,
               .sum = RW_F32,
               .slack = SOLR_SLACK,
               .nan_by_node = 1,
               .absent = RW_ABSENT_NAN}},
    {0},
};

const struct rw_model_format rw_to_solr = {
    .name = "solr",
    .about = "Solr's MultipleAdditiveTreesModel, JSON",
    .consumer = consumers,
    .names = RW_NAMES_ALL,
    .name_prefix = "f",
    .name_forbids = "",
    .imports = 1,
    .write = write_solr,
    .parse = parse_solr,
};
