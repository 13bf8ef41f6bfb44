/* A manifest describes a training as JSON, so that it can be repeated and compared. It has the
 * version and build, checksums of the data, the parameters as given and as used, the choices about
 * stopping and metrics, and the checksum of the model. It has no date, path of a model, or name of
 * a machine, and no parameter of the role RW_ROLE_MACHINE. So the same training has the same
 * manifest on other devices and with other numbers of threads and workers. Callers add the names of
 * files, which comparisons skip. */
#include <jansson.h>

#include "evaluate/evaluate.h"
#include "train/train.h"

enum { MANIFEST_VERSION = 1 };

static int parse(struct rw_ctx *ctx, const char *text, json_t **out)
{
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const json_t *version = json_object_get(document, "manifest");
    *out = NULL;
    if (json_integer_value(version) == MANIFEST_VERSION)
        *out = document;
    else if (!document)
        rw_fail(ctx, RW_ERR_FORMAT, "manifest, line %d: %s", error.line, error.text);
    else if (!version)
        rw_fail(ctx, RW_ERR_FORMAT, "not a manifest: the member 'manifest' is missing");
    else
        rw_fail(ctx, RW_ERR_FORMAT, "a manifest of another version; expected version %d",
                MANIFEST_VERSION);
    if (!*out)
        json_decref(document);
    return *out ? RW_OK : RW_ERR_FORMAT;
}

/* ---- writing ---- */

/* Sets a member. Returns 1 if memory has run out, or if the value was not made. */
static int set(json_t *object, const char *key, json_t *value)
{
    return json_object_set_new(object, key, value) != 0;
}

static json_t *hex(uint64_t number)
{
    char text[20];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)number);
    return json_string(text);
}

/* Copies a document as text, with a line per member, and frees it. bad: 1 if it is incomplete.
 * json_dumps would leave out a member's key, without an error, if it got no memory for it. */
static int take_text(struct rw_ctx *ctx, json_t *document, int bad, char **out)
{
    RW_SCOPED(rw_free) char *text = NULL;
    const size_t n = bad ? 0 : json_dumpb(document, NULL, 0, JSON_INDENT(2));
    int status = rw_result_new(ctx, (void **)&text, n + 2);
    if (status >= 0 && (n == 0 || json_dumpb(document, text, n, JSON_INDENT(2)) != n))
        status = rw_fail(ctx, RW_ERR_MEMORY, "out of memory for the manifest");
    json_decref(document);
    RW_TRY(status);
    memcpy(text + n, "\n", 2);
    *out = RW_TAKE(text);
    return RW_OK;
}

/* Adds the parameters that the caller set, or those of a model with the values in use. */
static int set_params(struct rw_ctx *ctx, json_t *object, struct rw_params *params, int is_given)
{
    int bad = 0;
    for (int at = 0; at < RW_N_PARAMS; at++) {
        const struct rw_param_info *info = &rw_param_rows[at].info;
        if ((info->roles & RW_ROLE_MACHINE) || !(is_given ? params->is_set[at] : info->model))
            continue;
        const char *value = rw_params_get(params, info->name);
        json_t *text = json_string(value);
        if (!text)
            return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                           "a manifest cannot represent parameter '%s', which is not valid UTF-8",
                           info->name);
        bad |= set(object, info->name, text);
    }
    return bad ? rw_fail(ctx, RW_ERR_MEMORY, "out of memory for the manifest") : RW_OK;
}

/* Returns the checksums of all sets: "train", "valid1" and so on. */
static json_t *data_json(const struct rw_data_record *record)
{
    json_t *data = json_object();
    int bad = 0;
    for (int k = 0; k < record->n_sets; k++) {
        char name[32] = "train";
        json_t *set_json = json_object();
        const uint64_t *part = record->set[k].part;
        if (k > 0)
            snprintf(name, sizeof(name), "valid%d", k);
        bad |= set(set_json, rw_print_name(0), json_integer((json_int_t)part[0]));
        for (int i = 1; i < RW_PRINTS; i++)
            bad |= (i < RW_PRINT_SIDES || part[i]) && set(set_json, rw_print_name(i), hex(part[i]));
        if (k == 0)
            bad |= set(set_json, "boundaries", hex(record->boundaries));
        bad |= set(data, name, set_json);
    }
    if (!bad)
        return data;
    json_decref(data);
    return NULL;
}

/* Returns the identity of a model: the checksum in its last line, its size and its trees. */
static int model_json(struct rw_ctx *ctx, const struct rw_model *model, json_t **out)
{
    char *text RW_FREED = NULL, line[RW_CHECKSUM_LINE_BYTES + 1] = "";
    size_t n = 0;
    RW_TRY(rw_model_print(ctx, model, &text, &n));
    memcpy(line, text + n - RW_CHECKSUM_LINE_BYTES, RW_CHECKSUM_LINE_BYTES - 1);
    *out =
        json_pack("{s:s, s:I, s:i, s:i}", "checksum", strchr(line, ' ') + 1, "bytes", (json_int_t)n,
                  "trees", (int)model->n_trees, "kept_round", (int)model->best_round);
    return *out ? RW_OK : rw_fail(ctx, RW_ERR_MEMORY, "out of memory for the manifest");
}

void rw_ctx_record_data(struct rw_ctx *ctx, int records)
{
    ctx->records_data = records;
}

int rw_manifest_new(struct rw_ctx *ctx, const struct rw_params *given, struct rw_params *used,
                    const struct rw_model *init, char **out)
{
    struct rw_params *copy RW_SCOPED(rw_params_free) = NULL;
    char dialect[512], stops_on[32];
    json_t *as_given = json_object(), *in_use = json_object(), *start = NULL;
    *out = NULL;
    int status = ctx->data_record ? rw_params_copy(ctx, given, &copy)
                                  : rw_fail(ctx, RW_ERR_ARGUMENT,
                                            "no training has recorded its data "
                                            "(rw_ctx_record_data)");
    status = status < 0 ? status : set_params(ctx, as_given, copy, 1);
    status = status < 0 ? status : set_params(ctx, in_use, used, 0);
    status = status < 0 ? status
                        : rw_eval_conventions(ctx, rw_params_eval(used), dialect, sizeof(dialect));
    if (status >= 0 && init)
        status = model_json(ctx, init, &start);
    if (status < 0) {
        json_decref(as_given);
        json_decref(in_use);
        return status;
    }
    json_t *document = json_object();
    int bad = set(document, "manifest", json_integer(MANIFEST_VERSION));
    bad |= set(document, "version", json_string(RW_VERSION));
    bad |= set(document, "build", json_string(RW_BUILD));
    bad |= set(document, "data", data_json(ctx->data_record));
    bad |= start && set(document, "init", start);
    bad |= set(document, "given", as_given);
    bad |= set(document, "parameters", in_use);
    snprintf(stops_on, sizeof(stops_on), "valid%d", ctx->stop_set);
    bad |= set(document, "stops_on", ctx->stop_set ? json_string(stops_on) : json_null());
    bad |= set(document, "metrics", json_string(dialect));
    return take_text(ctx, document, bad, out);
}

int rw_manifest_finish(struct rw_ctx *ctx, const char *manifest, const struct rw_model *model,
                       char **out)
{
    json_t *document = NULL, *of_model = NULL;
    *out = NULL;
    RW_TRY(parse(ctx, manifest, &document));
    const int status = model_json(ctx, model, &of_model);
    if (status >= 0)
        return take_text(ctx, document, set(document, "model", of_model), out);
    json_decref(document);
    return status;
}

/* ---- comparing ---- */

/* Finds the first member whose values differ, in the order of `expected`. Names of files are not
 * compared. path: [size] receives the keys of the member. Returns 1 if there is one. */
static int find_difference(const json_t *expected, const json_t *found, char *path, size_t size,
                           const json_t **a, const json_t **b)
{
    const size_t n = strlen(path);
    const char *key;
    json_t *value;
    *a = expected;
    *b = found;
    if (!json_is_object(expected) || !json_is_object(found))
        return (expected || found) && !json_equal(expected, found);
    json_object_foreach((json_t *)(uintptr_t)expected, key, value)
    {
        snprintf(path + n, size - n, "%s%s", n ? " " : "", key);
        if (strcmp(key, "files") != 0 &&
            find_difference(value, json_object_get(found, key), path, size, a, b))
            return 1;
    }
    json_object_foreach((json_t *)(uintptr_t)found, key, value)
    {
        snprintf(path + n, size - n, "%s%s", n ? " " : "", key);
        *a = json_object_get(expected, key);
        *b = value;
        if (strcmp(key, "files") != 0 && !*a)
            return 1;
    }
    path[n] = 0;
    return 0;
}

/* Writes a value to text: [size]. */
static void value_text(const json_t *value, char *text, size_t size)
{
    char *all = value ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    snprintf(text, size, "%.100s", all ? all : "nothing");
    free(all);
}

static int compare(struct rw_ctx *ctx, const json_t *expected, const json_t *found, char **out)
{
    static const char *const parts[] = {"data",     "init",    "version", "parameters",
                                        "stops_on", "metrics", "model"};
    const json_t *a, *b;
    char path[256] = "data", of_a[128], of_b[128], text[640];
    int differs = find_difference(json_object_get(expected, "data"), json_object_get(found, "data"),
                                  path, sizeof(path), &a, &b);
    if (!differs &&
        (!json_object_get(found, "model") ||
         json_equal(json_object_get(expected, "model"), json_object_get(found, "model"))))
        return RW_OK;
    for (size_t i = 1; !differs && i < sizeof(parts) / sizeof(*parts); i++) {
        snprintf(path, sizeof(path), "%s", parts[i]);
        differs = find_difference(json_object_get(expected, path), json_object_get(found, path),
                                  path, sizeof(path), &a, &b);
    }
    value_text(a, of_a, sizeof(of_a));
    value_text(b, of_b, sizeof(of_b));
    snprintf(text, sizeof(text), "%s: expected %s, found %s", path, of_a, of_b);
    RW_TRY(rw_result_new(ctx, (void **)out, strlen(text) + 1));
    memcpy(*out, text, strlen(text) + 1);
    return RW_OK;
}

int rw_manifest_compare(struct rw_ctx *ctx, const char *expected, const char *found, char **out)
{
    json_t *a = NULL, *b = NULL;
    *out = NULL;
    int status = parse(ctx, expected, &a);
    status = status < 0 ? status : parse(ctx, found, &b);
    status = status < 0 ? status : compare(ctx, a, b, out);
    json_decref(a);
    json_decref(b);
    return status;
}
