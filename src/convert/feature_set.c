/* Reads the feature set of a learning-to-rank plugin. */
#include <string.h>

#include "base/mem.h"
#include "convert/json_in.h"
#include "dataset/dataset.h"
#include "io/input.h"

void rw_feature_set_release(struct rw_feature_set *set)
{
    json_decref(set->body);
    json_decref(set->index);
    rw_mem_free(set->name);
    memset(set, 0, sizeof(*set));
}

const char *rw_feature_set_find(const struct rw_feature_set *set, const char *name)
{
    const json_t *at = json_object_get(set->index, name);
    return at ? set->name[json_integer_value(at)] : NULL;
}

/* From what the plugin answers down to the set: the hit of a search, the document, the set. */
static const json_t *unwrap(struct rw_source *source, const json_t *at)
{
    const json_t *found = json_object_get(at, "found");
    if (json_is_false(found))
        rw_refuse(source, "the answer says \"found\": false: there is no such feature set");
    if (json_object_get(at, "hits")) {
        const json_t *hits = rw_json_array(source, json_object_get(at, "hits"), "hits", -1);
        if (json_is_array(hits) && json_array_size(hits) != 1)
            rw_refuse(source, "%zu hits; expected one, the feature set", json_array_size(hits));
        at = json_array_get(hits, 0);
    }
    if (json_object_get(at, "_source"))
        at = rw_json_object(source, at, "_source");
    if (json_object_get(at, "featureset"))
        at = rw_json_object(source, at, "featureset");
    return at;
}

static int put_index(struct rw_source *source, struct rw_feature_set *set, const char *name,
                     uint32_t place)
{
    const int status = json_object_set_new(set->index, name, json_integer((json_int_t)place));
    return status < 0 ? rw_source_no_memory(source) : source->status;
}

/* A table's names lose blanks and commas in a model (dataset/names.h), not so in a set. */
static int put_model_names(struct rw_source *source, struct rw_feature_set *set)
{
    for (uint32_t i = 0; i < set->n && source->status == RW_OK; i++) {
        char *name = NULL;
        if (rw_keep(source, rw_name_for_model(source->ctx, set->name[i], &name)) == RW_OK) {
            const char *other = rw_feature_set_find(set, name);
            if (!other)
                put_index(source, set, name, i);
            else if (other != set->name[i])
                rw_refuse(source, "features '%.64s' and '%.64s' are both '%.64s' in a model", other,
                          set->name[i], name);
        }
        rw_mem_free(name);
    }
    return source->status;
}

static int take_names(struct rw_source *source, const json_t *features, struct rw_feature_set *set)
{
    const size_t n = json_array_size(features);
    if (n == 0 || n > RW_FEATURE_IDS)
        return rw_refuse(source, "'features' has %zu elements; expected 1 to %d", n,
                         RW_FEATURE_IDS);
    if (rw_keep(source, RW_NEW(source->ctx, set->name, n)) < 0)
        return source->status;
    for (; set->n < n; set->n++) {
        const char *name =
            json_string_value(json_object_get(json_array_get(features, set->n), "name"));
        if (!name || !*name)
            return rw_refuse(source, "feature %u of the set has no 'name'; expected a text",
                             set->n + 1);
        if (json_object_get(set->index, name))
            return rw_refuse(source, "two features have the name '%s'", name);
        set->name[set->n] = name;
        if (put_index(source, set, name, set->n) < 0)
            return source->status;
    }
    return put_model_names(source, set);
}

static int parse(struct rw_source *source, struct rw_feature_set *set)
{
    set->body = rw_json_load(source, 0);
    set->index = json_object();
    if (source->status == RW_OK && !set->index)
        rw_source_no_memory(source);
    if (source->status == RW_OK && !json_is_object(set->body))
        rw_refuse(source, "expected an object, the feature set");
    if (source->status < 0)
        return source->status;
    const json_t *at = unwrap(source, set->body);
    const json_t *features =
        source->status == RW_OK ? rw_json_array(source, at, "features", -1) : NULL;
    return source->status == RW_OK ? take_names(source, features, set) : source->status;
}

int rw_feature_set_read(struct rw_ctx *ctx, const char *path, struct rw_feature_set *out)
{
    struct rw_input *input = NULL;
    char *text = NULL;
    size_t n;
    int status;
    memset(out, 0, sizeof(*out));
    out->path = path;
    RW_TRY_OUT(rw_input_open(ctx, path, &input));
    RW_TRY_OUT(rw_input_read_all(ctx, input, &text, &n));
    struct rw_source source = {ctx, path, text, n, NULL, RW_OK};
    RW_TRY_OUT(parse(&source, out));
out:
    rw_mem_free(text);
    rw_input_close(input);
    if (status < 0)
        rw_feature_set_release(out);
    return status;
}
