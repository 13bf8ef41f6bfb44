/* The public functions: files in other programs' formats out, in, and checked. */
#include "binning/bins.h"
#include "convert/convert.h"
#include "io/input.h"
#include "params/params.h"
#include "train/train.h"

static const struct rw_model_format *const formats[] = {
#define RW_MODEL_FORMAT(name, file) &rw_to_##name,
#include "convert/formats.def"
#undef RW_MODEL_FORMAT
};
enum { N_FORMATS = sizeof(formats) / sizeof(formats[0]) };

const struct rw_model_format *rw_model_format_at_index(int i)
{
    return i >= 0 && i < N_FORMATS ? formats[i] : NULL;
}

int rw_model_format_find(struct rw_ctx *ctx, const char *name, const struct rw_model_format **out)
{
    const char *names[N_FORMATS];
    *out = NULL;
    for (int i = 0; i < N_FORMATS; i++) {
        names[i] = formats[i]->name;
        if (strcmp(name, names[i]) == 0)
            *out = formats[i];
    }
    if (*out)
        return RW_OK;
    const char *nearest = rw_word_nearest(name, names, N_FORMATS);
    return rw_fail(ctx, RW_ERR_ARGUMENT, "there is no format '%s'%s%s%s", name,
                   nearest ? "\nhint: did you mean '" : "", nearest ? nearest : "",
                   nearest ? "'?" : "");
}

int rw_model_format_at(int i, struct rw_model_format_info *out)
{
    const struct rw_model_format *format = rw_model_format_at_index(i);
    memset(out, 0, sizeof(*out));
    if (!format)
        return 0;
    out->name = format->name;
    out->about = format->about;
    out->imports = format->imports;
    out->by_set = format->names == RW_NAMES_SET;
    return 1;
}

static int begin(struct rw_ctx *ctx, const struct rw_exchange *how,
                 const struct rw_model_format **format)
{
    if (how->feature_base < RW_FEATURE_BASE_AUTO || how->feature_base > 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "feature base %d; expected 0 or 1", how->feature_base);
    return rw_model_format_find(ctx, how->format, format);
}

static int check_set(struct rw_ctx *ctx, const struct rw_exchange *how,
                     const struct rw_model_format *format)
{
    const int by_set = format->names == RW_NAMES_SET;
    if (!by_set && (how->featureset || how->name))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'--%s' has no effect with '%s'",
                       how->featureset ? "featureset" : "name", format->name);
    if (by_set && !how->featureset)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "'%s' needs a feature set\nhint: --featureset takes a file with the answer "
                       "of GET _ltr/_featureset/NAME",
                       format->name);
    if (by_set && (!how->name || !*how->name))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "'%s' needs a name for the model\nhint: --name gives it one", format->name);
    return RW_OK;
}

/* ------------------------------------------------------------------ out */

static int has_feature_0(const struct rw_model *model)
{
    if (model->n_features > 0 && model->feature[0] == 0)
        return 1;
    for (int32_t t = 0; t < model->n_trees; t++) {
        for (int32_t i = 0; i < model->tree[t].n_leaves - 1; i++) {
            if (model->tree[t].feature[i] == 0)
                return 1;
        }
    }
    return 0;
}

/* The base for rw_lowering. By names a feature's id decides nothing, so that none is left out. */
static int export_base(struct rw_ctx *ctx, const struct rw_model *model,
                       const struct rw_exchange *how, const struct rw_model_format *format,
                       int *base)
{
    const int by_name = format->names == RW_NAMES_SET && how->featureset && model->n_names > 0;
    *base = how->feature_base;
    if (by_name && how->feature_base >= 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "'--feature-base' has no effect: the model's features have names, by which "
                       "the feature set has them");
    if (by_name)
        *base = 0;
    else if (how->feature_base == RW_FEATURE_BASE_AUTO)
        *base = !has_feature_0(model);
    if (how->feature_base != RW_FEATURE_BASE_AUTO)
        return RW_OK;
    if (by_name)
        rw_log(ctx, RW_LOG_NOTE, "feature base: none, features go by their names");
    else
        rw_log(ctx, RW_LOG_NOTE, "feature base %d: feature %d of the model is %u in '%s'", *base,
               *base, format->consumer[0].rules.first_column, format->name);
    return RW_OK;
}

/* The model in the format's terms; the set stays, since the ensemble borrows of `how` only. */
static int lower(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_exchange *how,
                 const struct rw_model_format *format, int *base, struct rw_ensemble *out)
{
    RW_RELEASED(rw_feature_set_release) struct rw_feature_set set = {0};
    struct rw_lowering lowering = {.lossy = how->lossy, .model_name = how->name};
    memset(out, 0, sizeof(*out));
    RW_TRY(check_set(ctx, how, format));
    RW_TRY(export_base(ctx, model, how, format, base));
    if (how->featureset)
        RW_TRY(rw_feature_set_read(ctx, how->featureset, &set));
    lowering.base = *base;
    lowering.set = how->featureset ? &set : NULL;
    return rw_lower(ctx, model, format, &lowering, out);
}

/* May it matter whether a feature that a document lacks is 0 or missing? Of categorical splits, it
 * is not asked where category 0 goes. */
static int absent_matters(const struct rw_model *model)
{
    for (int32_t t = 0; t < model->n_trees; t++) {
        const struct rw_tree *tree = &model->tree[t];
        for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
            if (rw_tree_by_set(tree, i) ||
                rw_tree_goes_left(tree, i, NAN) != rw_tree_goes_left(tree, i, 0.0f))
                return 1;
        }
    }
    return 0;
}

/* What a model reads where a document lacks a feature, if the file cannot keep that. */
static void note_absent_out(struct rw_ctx *ctx, const struct rw_model *model,
                            const struct rw_model_format *format)
{
    const enum rw_absent_rule absent = format->consumer[0].rules.absent;
    if (!model->absent_missing || absent == RW_ABSENT_NAN || !absent_matters(model))
        return;
    rw_log(
        ctx, RW_LOG_NOTE,
        absent == RW_ABSENT_ZERO
            ? "absent missing: '%s' reads a feature that a document lacks as 0, and the model as "
              "missing"
            : "absent missing: '%s' cannot represent it; give NaN for a feature that a document "
              "lacks",
        format->name);
}

int rw_model_export(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_exchange *how,
                    const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    RW_RELEASED(rw_ensemble_release) struct rw_ensemble ensemble = {0};
    RW_RELEASED(rw_put_release) struct rw_put put = {.ctx = ctx};
    RW_RELEASED(rw_out_file_abandon) struct rw_out_file file = {0};
    int base;
    RW_TRY(begin(ctx, how, &format));
    RW_TRY(rw_check_apart(ctx, path, how->featureset));
    RW_TRY(lower(ctx, model, how, format, &base, &ensemble));
    RW_TRY(format->write(&ensemble, &put));
    RW_TRY(rw_out_file_open(ctx, &file, path));
    RW_TRY(rw_out_file_write(ctx, &file, put.text, put.n));
    RW_TRY(rw_out_file_commit(ctx, &file));
    note_absent_out(ctx, model, format);
    if (model->map.kind != RW_SCORE_MAP_NONE)
        rw_log(ctx, RW_LOG_WARNING,
               "'%s' gives scores: the model's map of scores to probabilities is left out",
               format->name);
    return RW_OK;
}

/* ------------------------------------------------------------------ in */

/* After a failure: what the file is, if that is known and is another format. */
static int other_format(struct rw_ctx *ctx, const struct rw_model_format *format,
                        const struct rw_source *source, int status)
{
    struct rw_recognised kind = rw_recognise_head(source->text, source->text + source->n);
    char expected[64];
    if (!kind.what || (kind.from && strcmp(kind.from, format->name) == 0))
        return status;
    if (kind.is_model || kind.is_data)
        kind.hint = kind.is_model ? "it needs no import: commands read it as MODEL" : NULL;
    kind.is_data = 0;
    snprintf(expected, sizeof(expected), "a model in the format '%s'", format->name);
    return rw_fail_not_a_model(ctx, &kind, source->path, expected);
}

static int parse(struct rw_ctx *ctx, const struct rw_model_format *format, const char *path,
                 const struct rw_ensemble *names, struct rw_ensemble *out)
{
    RW_SCOPED(rw_input_close) struct rw_input *input = NULL;
    RW_FREED char *text = NULL;
    size_t n;
    RW_TRY(rw_input_open(ctx, path, &input));
    RW_TRY(rw_input_read_all(ctx, input, &text, &n));
    struct rw_source source = {ctx, rw_input_name(input), text, n, names, RW_OK, format, out};
    const int status = format->parse(&source);
    if (status == RW_ERR_FORMAT && !names) /* of an export, which is in the format, not asked */
        return other_format(ctx, format, &source, status);
    RW_TRY(status);
    return rw_ensemble_check(ctx, out, source.path);
}

static int has_names(const struct rw_ensemble *ensemble, const struct rw_model_format *format)
{
    for (uint32_t i = 0; i < ensemble->n_columns; i++) {
        if (rw_ens_own_name(ensemble, format, i))
            return 1;
    }
    return 0;
}

/* How the model counts its features, and, of columns without names that count from 0, what that was
 * taken for: LETOR text counts from 1, and a model that was trained on it may look just so. */
static void set_columns(struct rw_ctx *ctx, const struct rw_ensemble *ensemble,
                        const struct rw_model_format *format, const struct rw_exchange *how,
                        int base, struct rw_model *model)
{
    const struct rw_rules *rules = &format->consumer[0].rules;
    const int is_named = has_names(ensemble, format);
    model->columns = RW_COLUMNS_LETOR;
    if (rw_column_feature(rules, base, rules->first_column) != 0 || rules->first_column != 0 ||
        ensemble->n_columns == 0)
        return;
    model->columns = is_named ? RW_COLUMNS_NAMED : RW_COLUMNS_NUMBERED;
    model->width = ensemble->n_columns;
    if (!is_named && how->feature_base < 0 && how->feature_base != RW_FEATURE_BASE_AUTO)
        rw_log(ctx, RW_LOG_NOTE,
               "'%s' numbers its columns from 0, and they have no names: taken for columns 0 to %u "
               "of an array; --feature-base 1 makes them features 1 to %u of LETOR text",
               format->name, model->width - 1, model->width);
}

int rw_model_import(struct rw_ctx *ctx, const char *path, const struct rw_exchange *how,
                    struct rw_model **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    RW_RELEASED(rw_ensemble_release) struct rw_ensemble ensemble = {0};
    *out = NULL;
    RW_TRY(begin(ctx, how, &format));
    if (!format->imports)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'%s' is written only, not read", format->name);
    if (!path)
        return RW_OK;
    RW_TRY(parse(ctx, format, path, NULL, &ensemble));
    /* The first column is feature 1, as LETOR text counts, also where a format counts from 0, but
     * not where columns have names: those of a table are numbered from 0 here, too. */
    const uint32_t first = format->consumer[0].rules.first_column;
    const int is_auto = how->feature_base == RW_FEATURE_BASE_AUTO;
    const int base = !is_auto ? how->feature_base : first == 1 || !has_names(&ensemble, format);
    if (is_auto)
        rw_log(ctx, RW_LOG_NOTE, "feature base %d: %u in '%s' is feature %d of the model", base,
               first, format->name, base);
    RW_TRY(rw_raise(ctx, &ensemble, format, base, path, out));
    set_columns(ctx, &ensemble, format, how, base, *out);
    if (format->consumer[0].rules.absent == RW_ABSENT_AS_MODEL && absent_matters(*out))
        rw_log(ctx, RW_LOG_NOTE,
               "absent zero: '%s' does not say what a feature is that a document lacks",
               format->name);
    return RW_OK;
}

int rw_model_verify(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_exchange *how,
                    const char *path, const struct rw_dataset *dataset, struct rw_verify *out)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    struct rw_exchange lossy = *how;
    RW_RELEASED(rw_ensemble_release) struct rw_ensemble made = {0};
    RW_RELEASED(rw_ensemble_release) struct rw_ensemble read_back = {0};
    RW_SCOPED(rw_model_free) struct rw_model *parted = NULL;
    int base;
    memset(out, 0, sizeof(*out));
    RW_TRY(begin(ctx, how, &format));
    lossy.lossy = 1;
    const rw_log_fn log = ctx->log;
    ctx->log = NULL; /* what is lost, and shifted, was reported when the file was written */
    const int status = lower(ctx, model, &lossy, format, &base, &made);
    ctx->log = log;
    RW_TRY(status);
    if (format->parse)
        RW_TRY(parse(ctx, format, path, &made, &read_back));
    RW_TRY(rw_part_missing(ctx, model, format, &parted));
    out->read_back = format->parse != NULL;
    for (const struct rw_consumer *c = format->consumer; c->name; c++, out->n++)
        RW_TRY(rw_verify_ensemble(ctx, model, parted ? parted : model,
                                  format->parse ? &read_back : &made, c, base, dataset,
                                  &out->by[out->n]));
    return RW_OK;
}

/* ------------------------------------------------------------------ feature sets */

void rw_feature_set_release(struct rw_feature_set *set)
{
    json_decref(set->body);
    json_decref(set->index);
    memset(set, 0, sizeof(*set));
}

const char *rw_feature_set_name(const struct rw_feature_set *set, uint32_t i)
{
    return json_string_value(json_object_get(json_array_get(set->features, i), "name"));
}

const char *rw_feature_set_find(const struct rw_feature_set *set, const char *name)
{
    const json_t *at = json_object_get(set->index, name);
    return at ? rw_feature_set_name(set, (uint32_t)json_integer_value(at)) : NULL;
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

static void put_index(struct rw_source *source, struct rw_feature_set *set, const char *name,
                      uint32_t place)
{
    if (json_object_set_new(set->index, name, json_integer((json_int_t)place)) < 0)
        rw_source_no_memory(source);
}

/* A table's names lose blanks and commas in a model (dataset/names.h), not so in a set. */
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
        rw_refuse(source, "features '%.64s' and '%.64s' are both '%.64s' in a model", other, known,
                  name);
}

static void read_set(struct rw_source *source, struct rw_feature_set *set)
{
    set->body = rw_json_load(source, 0);
    set->index = json_object();
    if (!set->index)
        rw_source_no_memory(source);
    if (!json_is_object(set->body))
        rw_refuse(source, "expected an object, the feature set");
    set->features = rw_json_array(source, unwrap(source, set->body), "features", -1);
    const size_t n = json_array_size(set->features);
    if (n == 0 || n > RW_FEATURE_IDS)
        rw_refuse(source, "'features' has %zu elements; expected 1 to %d", n, RW_FEATURE_IDS);
    for (; source->status == RW_OK && set->n < n; set->n++) {
        const char *name = rw_feature_set_name(set, set->n);
        if (!name || !*name)
            rw_refuse(source, "feature %u of the set has no 'name'; expected a text", set->n + 1);
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

/* What a format would refuse of the model that a training is about to make: a model of stumps, one
 * for each kind of split that trees may have, is given to the exporter, which says so in its own
 * words. */
struct stumps {
    struct rw_ctx *ctx;
    const struct rw_params *params;
    const struct rw_binned *train;
    const struct rw_rules *rules;
    struct rw_model *model;
    size_t room; /* for its trees */
};

static int add_stump(struct stumps *s, uint32_t feature, float cut, int missing_left)
{
    struct rw_model *model = s->model;
    RW_TRY(RW_GROW(s->ctx, model->tree, s->room, (size_t)model->n_trees + 1));
    struct rw_tree *tree = &model->tree[model->n_trees];
    RW_TRY(rw_tree_init(s->ctx, tree, 2));
    model->n_trees++;
    tree->left[0] = ~0;
    tree->right[0] = ~1;
    tree->feature[0] = feature;
    tree->cut[0] = cut;
    tree->missing_left[0] = (uint8_t)missing_left;
    return RW_OK;
}

/* Of a feature's cuts one on each side of 0, and those that the format has no threshold for. The
 * last one, which parts missing values from all others, only where there is no other. A missing
 * value goes where 0 does, unless training sees some: then either way. */
static int add_feature(struct stumps *s, const struct rw_cuts *cuts, uint32_t f)
{
    const float *cut = cuts->cut + cuts->offset[f];
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f), n = n_bins > 1 ? n_bins - 1 : 1;
    int has[2] = {0, 0};
    for (uint32_t i = 0; i < n; i++) {
        const int zero_left = 0.0f <= cut[i];
        double threshold;
        if (has[zero_left] && rw_rules_threshold(s->rules, cut[i], &threshold))
            continue;
        has[zero_left] = 1;
        if (cuts->has_missing[f])
            RW_TRY(add_stump(s, cuts->feature[f], cut[i], !zero_left));
        RW_TRY(add_stump(s, cuts->feature[f], cut[i], zero_left));
    }
    return RW_OK;
}

/* The features that training has, and what they are called. */
static int take_features(struct stumps *s)
{
    const struct rw_dataset *data = s->train->documents;
    const uint32_t *feature = s->train->feature;
    const uint32_t n = feature ? s->train->n_features : data->n_columns;
    struct rw_model *model = s->model;
    RW_TRY(RW_NEW(s->ctx, model->feature, n));
    for (uint32_t i = 0; i < n; i++)
        model->feature[i] = feature ? feature[i] : data->column[i].feature;
    model->n_features = n;
    model->absent_missing = s->params->absent == 1;
    return rw_names_take(s->ctx, s->params->names, data, &model->name, &model->n_names);
}

/* Of each feature by categories a word against all others, a missing value with the others or, if
 * training sees some, with the word. All workers call it. */
static int add_categories(struct stumps *s, const uint8_t *categorical,
                          const struct rw_categories *kept)
{
    struct rw_model *model = s->model;
    const struct rw_dataset *data = s->train->documents;
    struct rw_shared_codes shared;
    RW_TRY(rw_categories_make(s->ctx, categorical, data, (uint32_t)s->params->bins,
                              model->absent_missing, kept, &model->categories, &shared));
    for (uint32_t i = 0; i < model->categories.n; i++) {
        const struct rw_feature_categories *of = &model->categories.of[i];
        int missing;
        if (!categorical[of->feature]) /* of the model to go on from, and ignored now */
            continue;
        RW_TRY(rw_category_has_missing(s->ctx, of, data, model->absent_missing, &missing));
        for (int left = 0; left <= missing && of->n > 0; left++) {
            RW_TRY(add_stump(s, of->feature, 0, left));
            struct rw_tree *tree = &model->tree[model->n_trees - 1];
            RW_TRY(rw_tree_add_sets(s->ctx, tree));
            tree->by_set[0] = 1;
            rw_set_add(&tree->set[0], 0);
        }
    }
    return RW_OK;
}

/* A model that asks for whatever training may ask for. */
static int make_stumps(struct stumps *s, const struct rw_model *init)
{
    struct rw_ctx *ctx = s->ctx;
    const struct rw_dataset *data = s->train->documents;
    struct rw_model *model = s->model;
    RW_SCOPED(rw_cuts_free) struct rw_cuts *made = NULL;
    RW_FREED uint8_t *ignore = NULL, *categorical = NULL;
    int any = 0;
    RW_TRY(take_features(s));
    RW_TRY(RW_NEW(ctx, ignore, RW_FEATURE_IDS));
    RW_TRY(rw_list_parse(ctx, "ignore", s->params->ignore, model->name, model->n_names, ignore));
    RW_TRY(RW_NEW(ctx, categorical, RW_FEATURE_IDS));
    RW_TRY(rw_category_features(ctx, s->params, data, init, categorical, &any));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint8_t ignored = ignore[f];
        ignore[f] |= categorical[f];
        categorical[f] &= !ignored;
    }
    struct rw_cut_rule rule = rw_params_cut_rule(s->params);
    rule.ignore = ignore;
    if (!s->train->bins) /* the values are not binned yet */
        RW_TRY(rw_cuts_make(ctx, data, &rule, &made));
    const struct rw_cuts *cuts = made ? made : s->train->bins->cuts;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (!ignore[cuts->feature[f]])
            RW_TRY(add_feature(s, cuts, f));
    }
    if (any && !s->train->bins) /* else training says why it cannot begin */
        RW_TRY(add_categories(s, categorical, init ? &init->categories : NULL));
    return RW_OK;
}

/* Lowers and writes, and keeps nothing. */
static int try_export(struct rw_ctx *ctx, const struct rw_model *model,
                      const struct rw_model_format *format, const struct rw_lowering *how)
{
    RW_RELEASED(rw_ensemble_release) struct rw_ensemble ensemble = {0};
    RW_RELEASED(rw_put_release) struct rw_put put = {.ctx = ctx};
    RW_TRY(rw_lower(ctx, model, format, how, &ensemble));
    return format->write(&ensemble, &put);
}

int rw_exchange_check(struct rw_ctx *ctx, const struct rw_exchange *how,
                      const struct rw_params *params, const struct rw_binned *train,
                      const struct rw_model *init)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    RW_RELEASED(rw_feature_set_release) struct rw_feature_set set = {0};
    struct rw_lowering lowering = {.of_features = 1,
                                   .lossy_by = "without --for, export with --lossy"};
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    RW_TRY(begin(ctx, how, &format));
    if (!params)
        return check_set(ctx, how, format);
    RW_TRY(rw_model_new(ctx, &model));
    struct stumps stumps = {ctx, params, train, &format->consumer[0].rules, model, 0};
    RW_TRY(make_stumps(&stumps, init));
    const int from_1 = !has_feature_0(model) && !(init && has_feature_0(init)); /* as AUTO */
    if (how->featureset) {
        RW_TRY(rw_feature_set_read(ctx, how->featureset, &set));
        lowering.set = &set;
    }
    lowering.base = from_1 && !(lowering.set && model->n_names > 0);
    if (model->n_trees > 0) /* else training says why it cannot begin */
        RW_TRY(try_export(ctx, model, format, &lowering));
    lowering.of_features = 0;
    lowering.set = NULL; /* the data's features were found there; these may have other names */
    lowering.base = from_1;
    if (init && init->n_trees > 0)
        RW_TRY(try_export(ctx, init, format, &lowering));
    return RW_OK;
}
