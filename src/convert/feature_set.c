/* Feature sets: the features that a search engine computes, and their names. The learning-to-rank
 * plugins of OpenSearch and Elasticsearch store a set {"features":[{"name","template"}]}, to whose
 * names a model refers. Elasticsearch's own learning to rank has no such store. There each model
 * contains its features, {"feature_extractors":[{"query_extractor":{"feature_name","query",
 * "default_score"}}]}. Solr stores features of the form {"name","class","params","store"}, each in
 * a store. A model of Solr uses features of one store. All three forms can be read. */
#include "convert/convert.h"
#include "io/input.h"

void rw_feature_set_release(struct rw_feature_set *set)
{
    json_decref(set->body);
    json_decref(set->index);
    memset(set, 0, sizeof(*set));
}

/* Returns the object with the members of feature i. */
static const json_t *feature_at(const struct rw_feature_set *set, uint32_t i)
{
    const json_t *feature = json_array_get(set->features, i);
    return set->is_config ? json_object_get(feature, "query_extractor") : feature;
}

static const char *name_key(const struct rw_feature_set *set)
{
    return set->is_config ? "feature_name" : "name";
}

const char *rw_feature_set_name(const struct rw_feature_set *set, uint32_t i)
{
    return json_string_value(json_object_get(feature_at(set, i), name_key(set)));
}

const char *rw_feature_set_find(const struct rw_feature_set *set, const char *name)
{
    const json_t *at = json_object_get(set->index, name);
    return at ? rw_feature_set_name(set, (uint32_t)json_integer_value(at)) : NULL;
}

/* Unwraps the only element of an array, if the object has this array. */
static const json_t *only(struct rw_source *source, const json_t *at, const char *name,
                          const char *elements)
{
    const json_t *array = json_object_get(at, name);
    if (!array)
        return at;
    array = rw_json_array(source, at, name, -1);
    if (json_is_array(array) && json_array_size(array) != 1)
        rw_refuse(source, "%zu %s; expected one feature set", json_array_size(array), elements);
    return json_array_get(array, 0);
}

/* Unwraps a response of the plugin: the hit of a search, then the document, then the set. For
 * Elasticsearch's own models: the model, then its configuration. */
static const json_t *unwrap(struct rw_source *source, const json_t *at)
{
    static const char *const inner[] = {"_source", "featureset", "inference_config",
                                        "learning_to_rank"};
    const json_t *found = json_object_get(at, "found");
    if (json_is_false(found))
        rw_refuse(source, "the answer has \"found\": false: the feature set does not exist");
    if (json_object_get(at, "hits")) {
        const json_t *hits = json_object_get(at, "hits");
        rw_json_array(source, hits, "hits", -1);
        at = only(source, hits, "hits", "hits");
    }
    at = only(source, at, "trained_model_configs", "models");
    for (size_t i = 0; i < sizeof(inner) / sizeof(inner[0]); i++) {
        if (json_object_get(at, inner[i]))
            at = rw_json_object(source, at, inner[i]);
    }
    return at;
}

static void put_index(struct rw_source *source, struct rw_feature_set *set, const char *name,
                      uint32_t place)
{
    if (json_object_set_new(set->index, name, json_integer((json_int_t)place)) < 0)
        rw_source_no_memory(source);
}

/* Also maps the name as a model stores it to feature i. Names of a table lose blanks and commas in
 * a model (dataset/names.h), but not in a feature set. */
static void put_model_name(struct rw_source *source, struct rw_feature_set *set, uint32_t i)
{
    const char *known = rw_feature_set_name(set, i);
    RW_FREED char *name = NULL;
    if (rw_keep(source, rw_name_for_model(source->ctx, known, &name)) < 0)
        return;
    const char *other = rw_feature_set_find(set, name);
    if (!other)
        put_index(source, set, name, i);
    else if (other != known)
        rw_refuse(source, "features '%.64s' and '%.64s' both become '%.64s' in a model", other,
                  known, name);
}

/* Finds the store of features of Solr, which must be the same for all. */
static void find_store(struct rw_source *source, struct rw_feature_set *set)
{
    for (size_t i = 0; i < json_array_size(set->features) && source->status == RW_OK; i++) {
        const json_t *feature = json_array_get(set->features, i);
        const char *store = json_string_value(json_object_get(feature, "store"));
        if (!json_string_value(json_object_get(feature, "class")))
            rw_refuse(source, "feature %zu lacks 'class': expected a string", i + 1);
        else if (i > 0 && strcmp(store ? store : "", set->store ? set->store : "") != 0)
            rw_refuse(source, "features of the stores '%.64s' and '%.64s'; expected one store",
                      set->store ? set->store : "_DEFAULT_", store ? store : "_DEFAULT_");
        set->store = store;
    }
}

/* Finds the array of features, and whose it is. Returns the array's name. */
static const char *find_features(struct rw_source *source, struct rw_feature_set *set)
{
    const json_t *inner = set->body;
    const int is_array = json_is_array(inner);
    if (is_array) {
        set->features = inner;
    } else {
        if (!json_is_object(inner))
            rw_refuse(source, "expected the feature set, an object");
        inner = unwrap(source, inner);
        set->is_config = json_object_get(inner, "feature_extractors") != NULL;
        set->features =
            rw_json_array(source, inner, set->is_config ? "feature_extractors" : "features", -1);
        set->defaults = set->is_config ? json_object_get(inner, "default_params") : NULL;
    }
    set->is_solr = json_object_get(json_array_get(set->features, 0), "class") != NULL;
    if (is_array && !set->is_solr)
        rw_refuse(source, "expected the feature set, an object");
    if (set->is_solr)
        find_store(source, set);
    return set->is_config ? "feature_extractors" : "features";
}

static void read_set(struct rw_source *source, struct rw_feature_set *set)
{
    set->body = rw_json_load(source, 0);
    set->index = json_object();
    if (!set->index)
        rw_source_no_memory(source);
    const char *key = find_features(source, set);
    const size_t n = json_array_size(set->features);
    if (n == 0 || n > RW_FEATURE_IDS)
        rw_refuse(source, "'%s' has %zu elements; expected 1 to %d", key, n, RW_FEATURE_IDS);
    for (; source->status == RW_OK && set->n < n; set->n++) {
        const char *name = rw_feature_set_name(set, set->n);
        if (!name || !*name)
            rw_refuse(source, "feature %u of the set lacks '%s': expected a string", set->n + 1,
                      name_key(set));
        else if (json_object_get(set->index, name))
            rw_refuse(source, "two features have the name '%s'", name);
        else
            put_index(source, set, name, set->n);
    }
    for (uint32_t i = 0; source->status == RW_OK && i < set->n; i++)
        put_model_name(source, set, i);
}

int rw_feature_set_read(struct rw_ctx *ctx, const char *path, struct rw_feature_set *out)
{
    RW_SCOPED(rw_input_close) struct rw_input *input = NULL;
    RW_FREED char *text = NULL;
    size_t n;
    *out = (struct rw_feature_set){.path = path};
    RW_TRY(rw_input_open(ctx, path, &input));
    RW_TRY(rw_input_read_all(ctx, input, &text, &n));
    struct rw_source source = {.ctx = ctx, .path = path, .text = text, .n = n};
    read_set(&source, out);
    if (source.status < 0)
        rw_feature_set_release(out);
    return source.status;
}

int rw_feature_set_check_form(struct rw_ctx *ctx, const struct rw_feature_set *set,
                              const struct rw_model_format *format)
{
    if (set->is_config && !format->has_queries)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "%s: 'feature_extractors' are for 'elasticsearch-ml'; '%s' needs a feature "
                       "set of the plugin, with 'features'",
                       set->path, format->name);
    if (set->is_solr != format->has_store)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       set->is_solr
                           ? "%s: these are features of Solr, with 'class'; '%s' needs a feature "
                             "set of Elasticsearch or OpenSearch"
                           : "%s: '%s' needs features of Solr, with 'class', as GET "
                             "schema/feature-store/NAME returns them",
                       set->path, format->name);
    return RW_OK;
}

/* ---- the features of a model in Elasticsearch ---- */

/* Returns the query of a feature, or NULL after a failure. */
static json_t *query_of(struct rw_ctx *ctx, const struct rw_feature_set *set, const json_t *feature,
                        const char *name)
{
    const char *key = set->is_config ? "query" : "template";
    const char *language = json_string_value(json_object_get(feature, "template_language"));
    const json_t *score = set->is_config ? json_object_get(feature, "default_score") : NULL;
    json_t *query = json_object_get(feature, key);
    if (language && !set->is_config && strcmp(language, "mustache") != 0)
        rw_fail(ctx, RW_ERR_FORMAT,
                "%s: feature '%s' has the language '%.40s'; Elasticsearch needs a query", set->path,
                name, language);
    else if (!json_is_object(query) || json_object_size(query) == 0)
        rw_fail(ctx, RW_ERR_FORMAT, "%s: feature '%s' has no query: expected an object in '%s'",
                set->path, name, key);
    else if (score && !(json_is_number(score) && json_number_value(score) >= 0))
        rw_fail(ctx, RW_ERR_FORMAT,
                "%s: feature '%s' has an invalid 'default_score': expected a number, 0 or more",
                set->path, name);
    else
        return query;
    return NULL;
}

int rw_feature_set_extract(struct rw_ctx *ctx, const struct rw_feature_set *set, const char *name,
                           json_t **config)
{
    const json_int_t i = json_integer_value(json_object_get(set->index, name));
    const json_t *feature = feature_at(set, (uint32_t)i);
    json_t *query = query_of(ctx, set, feature, name), *extractors;
    if (!query)
        return RW_ERR_FORMAT;
    if (!*config) {
        *config = json_pack("{s:[]}", "feature_extractors");
        if (!*config || (set->defaults &&
                         json_object_set(*config, "default_params", (json_t *)set->defaults) < 0))
            return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: the features of the model");
    }
    extractors = json_object_get(*config, "feature_extractors");
    json_t *extractor = set->is_config ? json_incref(json_array_get(set->features, (size_t)i))
                                       : json_pack("{s:{s:s,s:O}}", "query_extractor",
                                                   "feature_name", name, "query", query);
    if (!extractor || json_array_append_new(extractors, extractor) < 0)
        return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: the features of the model");
    return RW_OK;
}
