/* The public functions for files of other programs: export, import, verification, and the check
 * before training whether a format will be able to represent the model. */
#include "convert/convert.h"
#include "io/input.h"
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
    return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown format '%s'%s%s%s", name,
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
    out->by_set = format->names == RW_NAMES_SET && !format->has_store;
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
    const int by_set = format->names == RW_NAMES_SET && !format->has_store;
    if (format->has_store && how->name && !*how->name)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "the name of the model is empty");
    if (!by_set && !format->has_store && (how->featureset || how->name))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'--%s' has no effect with '%s'",
                       how->featureset ? "featureset" : "name", format->name);
    if (by_set && !how->featureset)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "'%s' needs a feature set\nhint: pass %s by --featureset FILE",
                       format->name,
                       format->has_queries ? "{\"feature_extractors\":[...]}"
                                           : "the answer of GET _ltr/_featureset/NAME");
    if (by_set && (!how->name || !*how->name))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "'%s' needs a name for the model\nhint: pass it by --name", format->name);
    return RW_OK;
}

/* ---- export ---- */

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

/* Sets *base for struct rw_lowering, and logs it if how->feature_base is RW_FEATURE_BASE_AUTO. If
 * features are found by name in a feature set, their ids do not matter, and the base is 0, which
 * excludes no id. */
static int export_base(struct rw_ctx *ctx, const struct rw_model *model,
                       const struct rw_exchange *how, const struct rw_model_format *format,
                       int *base)
{
    const int by_name = format->names == RW_NAMES_SET && how->featureset && model->n_names > 0;
    *base = how->feature_base;
    if (by_name && how->feature_base >= 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "'--feature-base' has no effect: the model has feature names, and the "
                       "feature set is searched by name");
    if (by_name)
        *base = 0;
    else if (how->feature_base == RW_FEATURE_BASE_AUTO)
        *base = !has_feature_0(model);
    else if (how->featureset && *base < 0)
        *base = 1;
    if (how->feature_base != RW_FEATURE_BASE_AUTO)
        return RW_OK;
    if (by_name)
        rw_log(ctx, RW_LOG_NOTE, "feature base: not used; features are found by name");
    else
        rw_log(ctx, RW_LOG_NOTE, "feature base %d: feature %d of the model is %u in '%s'", *base,
               *base, format->consumer[0].rules.first_column, format->name);
    return RW_OK;
}

/* Lowers the model to the format. The ensemble borrows only how->name, and copies names of the
 * feature set. */
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

/* Returns 1 if a score may depend on whether an absent feature is 0 or missing: a split sends the
 * two to different children, or is categorical, whichever way category 0 goes. */
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

/* Logs a note if the model reads absent features as missing, the format cannot represent this, and
 * a score may depend on it. */
static void note_absent_out(struct rw_ctx *ctx, const struct rw_model *model,
                            const struct rw_model_format *format)
{
    const enum rw_absent_rule absent = format->consumer[0].rules.absent;
    if (!model->absent_missing || absent == RW_ABSENT_NAN || !absent_matters(model))
        return;
    rw_log(ctx, RW_LOG_NOTE,
           absent == RW_ABSENT_ZERO
               ? "absent missing: '%s' reads an absent feature as 0, the model reads it as missing"
               : "absent missing: '%s' cannot represent this; pass NaN for an absent feature",
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
    RW_TRY(rw_check_not_input(ctx, path, how->featureset));
    RW_TRY(lower(ctx, model, how, format, &base, &ensemble));
    RW_TRY(format->write(&ensemble, &put));
    RW_TRY(rw_out_file_open(ctx, &file, path));
    RW_TRY(rw_out_file_write(ctx, &file, put.text, put.n));
    RW_TRY(rw_out_file_commit(ctx, &file));
    note_absent_out(ctx, model, format);
    if (model->map.kind != RW_SCORE_MAP_NONE)
        rw_log(ctx, RW_LOG_WARNING, "'%s' returns scores: the model's calibration was dropped",
               format->name);
    return RW_OK;
}

/* ---- import ---- */

/* After a failure to parse, reports the kind of the file instead if its first bytes are those of
 * another kind. */
static int other_format(struct rw_ctx *ctx, const struct rw_model_format *format,
                        const struct rw_source *source, int status)
{
    struct rw_recognised kind = rw_recognise_head(source->text, source->text + source->n);
    char expected[64];
    if (!kind.what || (kind.from && strcmp(kind.from, format->name) == 0))
        return status;
    if (kind.is_model || kind.is_data)
        kind.hint = kind.is_model ? "it needs no import; pass it as MODEL" : NULL;
    kind.is_data = 0;
    snprintf(expected, sizeof(expected), "a model in format '%s'", format->name);
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
    if (status == RW_ERR_FORMAT && !names) /* an exported file has the format for certain */
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

/* Sets how the training set of the model identified its features (model->columns and width). If
 * this function assumes columns from 0 without names, and the caller chose no base, not even auto,
 * a note states this assumption. LETOR text counts from 1, and the file of a model that was trained
 * on such text may look the same. */
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
               "'%s' has no feature names, and its columns count from 0: read as columns 0 to %u "
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
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'%s' models can be exported, but not imported",
                       format->name);
    if (!path)
        return RW_OK;
    RW_TRY(parse(ctx, format, path, NULL, &ensemble));
    /* The first column becomes feature 1, as in LETOR text, even if the format counts from 0.
     * Columns with names keep their numbers from 0, as tables have them here. */
    const uint32_t first = format->consumer[0].rules.first_column;
    const int is_auto = how->feature_base == RW_FEATURE_BASE_AUTO;
    const int base = !is_auto ? how->feature_base : first == 1 || !has_names(&ensemble, format);
    if (is_auto)
        rw_log(ctx, RW_LOG_NOTE, "feature base %d: %u in '%s' is feature %d of the model", base,
               first, format->name, base);
    RW_TRY(rw_raise(ctx, &ensemble, format, base, path, out));
    set_columns(ctx, &ensemble, format, how, base, *out);
    if (format->consumer[0].rules.absent == RW_ABSENT_AS_MODEL && absent_matters(*out))
        rw_log(ctx, RW_LOG_NOTE, "absent zero: '%s' does not store how an absent feature is read",
               format->name);
    return RW_OK;
}

/* ---- verification: both sides score the same data ---- */

enum { BLOCK = 256 }; /* documents whose values are loaded together */

/* The two scores of a document. */
struct two {
    double ours, theirs;
};

struct verifying {
    struct rw_ctx *ctx;
    const struct rw_model *model, *written; /* equal, except trees rewritten by rw_part_missing */
    const struct rw_ensemble *theirs; /* parsed from the file, or lowered if it cannot be parsed */
    const struct rw_rules *rules;     /* of the consumer, which comments call the other side */
    int base;                         /* as in struct rw_lowering */
    float absent;                     /* value of absent features for the other side */
    const struct rw_dataset *dataset;
    struct rw_verify_by *by; /* the result; in a thread, that of its documents */
    struct rw_dataset coded; /* the data with the codes of the model's trees */
    /* [n_used] a categorical feature's values for the other side: [n_docs]; NULL for a numerical
     * feature */
    float **given_as;
    uint32_t n_used;
    uint32_t *used; /* [n_used] features that either side uses */
    /* Buffers with a slice per thread. In a thread, the pointers are to its slice. */
    float *block[2];        /* [n_threads][n_used][BLOCK] for the model, and for the other side */
    float *ours, *given;    /* [n_threads][RW_FEATURE_IDS] one document's values: `ours` for the
                               model, `given` for the other side */
    struct two *score;      /* [n_docs]; finally sorted within each query */
    struct rw_arena *arena; /* owns all arrays */
};

/* ---- comparing leaves ---- */

struct pair {
    int32_t ours, theirs;
};

/* Checks that both trees have splits and leaves at the same places, except that the other side may
 * have swapped the children of categorical splits. stack: [2 * leaves]. */
static int match_tree(struct verifying *v, int32_t t, struct pair *stack)
{
    const struct rw_tree *tree = &v->written->tree[t];
    const struct rw_ens_tree *other = &v->theirs->tree[t];
    int32_t n = 1;
    stack[0] = (struct pair){tree->n_leaves == 1 ? ~0 : 0, 0};
    while (n > 0) {
        const struct pair at = stack[--n];
        const struct rw_ens_node *node = &other->node[at.theirs];
        if ((at.ours < 0) != (node->left < 0))
            return rw_fail(v->ctx, RW_ERR_FORMAT,
                           "tree %d: the model has %s %d where the file has a %s", t + 1,
                           at.ours < 0 ? "leaf" : "node", at.ours < 0 ? ~at.ours : at.ours,
                           node->left < 0 ? "leaf" : "split");
        if (at.ours < 0)
            continue;
        const int turned = rw_is_swapped(v->written, tree, at.ours, v->rules, node->by_category);
        stack[n++] = (struct pair){tree->left[at.ours], turned ? node->right : node->left};
        stack[n++] = (struct pair){tree->right[at.ours], turned ? node->left : node->right};
    }
    return RW_OK;
}

static int match_trees(struct verifying *v)
{
    if (v->theirs->n_trees != v->model->n_trees)
        return rw_fail(v->ctx, RW_ERR_FORMAT, "the file has %d trees, the model has %d",
                       v->theirs->n_trees, v->model->n_trees);
    for (int32_t t = 0; t < v->model->n_trees; t++) {
        RW_FREED struct pair *stack = NULL;
        RW_TRY(RW_NEW_RAW(v->ctx, stack, 2 * (size_t)v->written->tree[t].n_leaves));
        RW_TRY(match_tree(v, t, stack));
    }
    return RW_OK;
}

/* ---- documents ---- */

static int find_used(struct verifying *v)
{
    uint8_t *is_used;
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, is_used, RW_FEATURE_IDS));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->used, RW_FEATURE_IDS));
    for (int32_t t = 0; t < v->model->n_trees; t++) {
        const struct rw_ens_tree *other = &v->theirs->tree[t];
        for (int32_t i = 0; i < v->model->tree[t].n_leaves - 1; i++)
            is_used[v->model->tree[t].feature[i]] = 1;
        for (int32_t i = 0; i < other->n_nodes; i++) {
            const int64_t f = rw_column_feature(v->rules, v->base, other->node[i].column);
            if (other->node[i].left >= 0 && f >= 0)
                is_used[f] = 1;
        }
    }
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++) {
        if (is_used[f])
            v->used[v->n_used++] = f;
    }
    return RW_OK;
}

static void load_block(struct verifying *v, uint32_t begin, uint32_t end)
{
    for (uint32_t i = 0; i < v->n_used; i++) {
        float *ours = v->block[0] + (size_t)i * BLOCK, *given = v->block[1] + (size_t)i * BLOCK;
        rw_column_values(rw_dataset_column(&v->coded, v->used[i]), begin, end,
                         rw_model_absent(v->model), ours);
        if (v->given_as[i])
            memcpy(given, v->given_as[i] + begin, (end - begin) * sizeof(*given));
        else
            rw_column_values(rw_dataset_column(v->dataset, v->used[i]), begin, end, v->absent,
                             given);
    }
}

/* Converts a category for the other side: to an index of the column's words, or to a number.
 * Returns NaN for a missing value, and for a word that the file lacks if the other side reads it as
 * missing. Returns -1 for any other category that the file cannot list. vocabulary: of the data, or
 * NULL if `value` is the category's number. */
static float given_category(const struct verifying *v, const struct rw_ens_categories *of,
                            struct rw_vocabulary *vocabulary, float value)
{
    char decimal[16];
    const char *word = decimal;
    uint64_t number;
    if (isnan(value) || (!vocabulary && !of->word))
        return value;
    if (vocabulary)
        word = rw_vocabulary_word(vocabulary, (uint32_t)value);
    else
        snprintf(decimal, sizeof(decimal), "%.0f", (double)value);
    for (uint32_t i = 0; of->word && i < of->n; i++) {
        if (strcmp(of->word[i], word) == 0)
            return (float)i;
    }
    if (of->word)
        return v->rules->unknown_missing ? NAN : -1.0f;
    const int is_number =
        rw_number_whole(word, RW_MAX_CATEGORY_ID, &number) && (word[0] != '0' || !word[1]);
    return is_number ? (float)number : -1.0f;
}

/* Computes the other side's values of categorical features, and the data with the model's codes. */
static int give_categories(struct verifying *v)
{
    const uint32_t n = v->dataset->n_docs;
    RW_TRY(rw_categories_recode(v->ctx, v->arena, &v->model->categories, v->dataset,
                                v->model->absent_missing, &v->coded));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->given_as, v->n_used));
    for (uint32_t i = 0; i < v->n_used; i++) {
        const int64_t shift = v->base < 0 ? 0 : (int64_t)v->rules->first_column - v->base;
        const int64_t column = (int64_t)v->used[i] + shift;
        const struct rw_ens_categories *of =
            column < 0 ? NULL : rw_ens_categories_of(v->theirs, (uint32_t)column);
        if (!of)
            continue;
        struct rw_vocabulary *vocabulary =
            rw_vocabulary_has(v->dataset->vocabulary, v->used[i]) ? v->dataset->vocabulary : NULL;
        RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->given_as[i], n));
        rw_dataset_feature(v->dataset, v->used[i], rw_float_of_bits(RW_ABSENT_BITS),
                           v->given_as[i]);
        for (uint32_t d = 0; d < n; d++) {
            const int is_absent = rw_is_absent(v->given_as[i][d]);
            const float value = is_absent ? v->absent : v->given_as[i][d];
            v->given_as[i][d] = given_category(v, of, is_absent ? NULL : vocabulary, value);
        }
    }
    return RW_OK;
}

/* Returns the model's node for a node of the written tree. If trees were rewritten, this is the
 * first node on the document's path with the same feature, or 0. */
static int32_t node_of_ours(const struct verifying *v, int32_t t, int32_t written)
{
    const struct rw_tree *tree = &v->model->tree[t];
    const uint32_t feature = v->written->tree[t].feature[written];
    int32_t at = 0;
    if (v->written == v->model)
        return written;
    while (at >= 0 && tree->feature[at] != feature)
        at = rw_tree_goes_left(tree, at, v->ours[tree->feature[at]]) ? tree->left[at]
                                                                     : tree->right[at];
    return at < 0 ? 0 : at;
}

/* Walks down both trees t with the current document, and returns the leaf of the other side. *at:
 * the first written node at which the two sides go to different children, or ~ the leaf that both
 * reach. */
static const struct rw_ens_node *walk_both(const struct verifying *v, int32_t t, int32_t *at)
{
    const struct rw_tree *tree = &v->written->tree[t];
    const struct rw_ens_tree *other = &v->theirs->tree[t];
    const struct rw_ens_node *node = other->node;
    int has_parted = 0;
    *at = tree->n_leaves == 1 ? ~0 : 0;
    while (node->left >= 0) {
        const int64_t f = rw_column_feature(v->rules, v->base, node->column);
        const int expected = rw_rules_left(v->rules, node, f < 0 ? NAN : v->given[f]);
        const int32_t ours = *at;
        if (!has_parted) {
            const int left = rw_tree_goes_left(tree, ours, v->ours[tree->feature[ours]]);
            has_parted = (left != rw_is_swapped(v->written, tree, ours, v->rules,
                                                node->by_category)) != expected;
            if (!has_parted)
                *at = left ? tree->left[ours] : tree->right[ours];
        }
        node = &other->node[expected ? node->left : node->right];
    }
    return node;
}

static void score_doc(struct verifying *v, uint32_t doc)
{
    const int in_float = v->rules->sum == RW_F32;
    double ours = 0, magnitude = 0;
    double theirs = v->rules->base_ignored ? 0 : v->theirs->base;
    float theirs_float = (float)theirs;
    int32_t differs = -1, node = 0;
    for (int32_t t = 0; t < v->model->n_trees; t++) {
        int32_t at;
        const double value = v->theirs->tree[t].weight * walk_both(v, t, &at)->value;
        const int32_t leaf = at < 0 && v->written == v->model
                                 ? ~at
                                 : rw_tree_leaf(&v->model->tree[t], v->ours, RW_FEATURE_IDS, 0.0f);
        if (differs < 0 && at >= 0) {
            differs = t;
            node = at;
        }
        ours += (double)v->model->tree[t].leaf[leaf];
        magnitude += fabs((double)v->model->tree[t].leaf[leaf]);
        theirs_float += (float)value;
        theirs += value;
    }
    if (in_float)
        theirs = (double)theirs_float;
    const double bound = v->model->n_trees * ldexp(magnitude, in_float ? -24 : -53);
    const double distance = fabs(theirs - ours);
    if (distance > v->by->most)
        v->by->most = distance;
    v->score[doc] = (struct two){ours, theirs};
    if (differs < 0 && distance <= bound)
        return;
    if (v->by->n_differ++ == 0) {
        v->by->doc = doc;
        v->by->tree = differs + 1;
        v->by->node = differs >= 0 ? node_of_ours(v, differs, node) : 0;
    }
}

/* ---- pairs that change order ---- */

/* Orders by the model's score, and documents with equal scores of the model by falling score of the
 * other side, so that `rising` counts no pair of them. */
static int by_ours_then_falling(const void *a, const void *b)
{
    const struct two *x = a, *y = b;
    if (x->ours != y->ours)
        return x->ours < y->ours ? -1 : 1;
    return x->theirs > y->theirs ? -1 : x->theirs < y->theirs;
}

/* Sorts by the other side's score. A pair rises if its first document, before the sort,
 * has the lower score of the other side. Returns the number of rising pairs. */
static uint64_t rising(struct two *all, struct two *scratch, size_t n)
{
    if (n < 2)
        return 0;
    const size_t half = n / 2;
    uint64_t count = rising(all, scratch, half) + rising(all + half, scratch, n - half);
    for (size_t i = 0, j = half, k = 0; k < n; k++) {
        if (i < half && (j == n || all[i].theirs < all[j].theirs)) {
            scratch[k] = all[i++];
        } else {
            count += i;
            scratch[k] = all[j++];
        }
    }
    memcpy(all, scratch, n * sizeof(*all));
    return count;
}

static uint64_t pairs_of(uint64_t n)
{
    return n * (n - 1) / 2;
}

/* Returns the number of pairs whose order differs: they are inverted, or tie on one side only. All
 * other pairs have one order on both sides, or tie on both. */
static uint64_t moved(struct two *all, struct two *scratch, size_t n)
{
    uint64_t ties = 0;
    RW_SORT(all, n, by_ours_then_falling);
    for (size_t i = 0, same = 1; i < n; i++, same++) {
        if (i + 1 == n || by_ours_then_falling(&all[i], &all[i + 1]) != 0) {
            ties += pairs_of(same);
            same = 0;
        }
    }
    return pairs_of(n) - rising(all, scratch, n) - ties;
}

static int score_blocks(void *job, struct rw_share *share)
{
    const struct verifying *all = job;
    const size_t thread = (size_t)share->thread;
    const uint32_t n = all->dataset->n_docs;
    struct rw_verify_by part = {0};
    struct verifying v = *all;
    v.by = &part;
    v.block[0] += thread * v.n_used * BLOCK;
    v.block[1] += thread * v.n_used * BLOCK;
    v.ours += thread * RW_FEATURE_IDS;
    v.given += thread * RW_FEATURE_IDS;
    for (uint64_t block, end; rw_share_next(share, &block, &end);) {
        const uint32_t begin = (uint32_t)block * BLOCK;
        const uint32_t stop = n - begin < BLOCK ? n : begin + BLOCK;
        load_block(&v, begin, stop);
        for (uint32_t doc = begin; doc < stop; doc++) {
            for (uint32_t i = 0; i < v.n_used; i++) {
                v.ours[v.used[i]] = v.block[0][(size_t)i * BLOCK + doc - begin];
                v.given[v.used[i]] = v.block[1][(size_t)i * BLOCK + doc - begin];
            }
            score_doc(&v, doc);
        }
    }
    rw_share_lock(share);
    struct rw_verify_by *into = all->by;
    if (part.n_differ > 0 && (into->n_differ == 0 || part.doc < into->doc)) {
        into->doc = part.doc;
        into->tree = part.tree;
        into->node = part.node;
    }
    into->n_differ += part.n_differ;
    into->most = part.most > into->most ? part.most : into->most;
    rw_share_unlock(share);
    return RW_OK;
}

/* Scores all documents. The result does not depend on the number of threads. */
static int score_docs(struct verifying *v)
{
    const uint32_t n_blocks = (v->dataset->n_docs + BLOCK - 1) / BLOCK;
    const uint32_t most = (uint32_t)v->ctx->n_threads;
    const size_t n_threads = n_blocks < most ? n_blocks : most;
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->block[0], n_threads * v->n_used * BLOCK));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->block[1], n_threads * v->n_used * BLOCK));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->ours, n_threads * RW_FEATURE_IDS));
    RW_TRY(RW_ARENA_NEW(v->ctx, v->arena, v->given, n_threads * RW_FEATURE_IDS));
    return rw_parallel(v->ctx, (int)n_threads, n_blocks, 1, score_blocks, v);
}

/* Scores the data by the model and by one consumer's rules. v: the shared inputs, copied. */
static int verify_by(struct verifying v, const struct rw_consumer *consumer,
                     struct rw_verify_by *into)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    const enum rw_absent_rule absent = consumer->rules.absent;
    struct two *scratch;
    v.arena = &arena;
    v.rules = &consumer->rules;
    v.absent = absent == RW_ABSENT_NAN    ? NAN
               : absent == RW_ABSENT_ZERO ? 0.0f
                                          : rw_model_absent(v.model);
    v.by = into;
    into->consumer = consumer->name;
    into->earlier = consumer->earlier;
    into->n_docs = v.dataset->n_docs;
    rw_rules_text(&consumer->rules, into->rules, sizeof(into->rules));
    RW_TRY(match_trees(&v));
    RW_TRY(find_used(&v));
    RW_TRY(give_categories(&v));
    RW_TRY(RW_ARENA_NEW(v.ctx, v.arena, v.score, v.dataset->n_docs));
    RW_TRY(score_docs(&v));
    RW_TRY(RW_ARENA_NEW(v.ctx, v.arena, scratch, v.dataset->n_docs));
    for (uint32_t q = 0; q < v.dataset->n_queries; q++) {
        const uint32_t begin = v.dataset->query_offset[q], end = v.dataset->query_offset[q + 1];
        into->n_pairs += pairs_of(end - begin);
        into->n_pairs_moved += moved(v.score + begin, scratch, end - begin);
    }
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
    ctx->log = NULL; /* the export has reported losses and shifted ids already */
    const int status = lower(ctx, model, &lossy, format, &base, &made);
    ctx->log = log;
    RW_TRY(status);
    if (format->parse)
        RW_TRY(parse(ctx, format, path, &made, &read_back));
    RW_TRY(rw_part_missing(ctx, model, format, &parted));
    out->read_back = format->parse != NULL;
    const struct verifying v = {.ctx = ctx,
                                .model = model,
                                .written = parted ? parted : model,
                                .theirs = format->parse ? &read_back : &made,
                                .base = base,
                                .dataset = dataset};
    for (const struct rw_consumer *c = format->consumer; c->name; c++, out->n++)
        RW_TRY(verify_by(v, c, &out->by[out->n]));
    return RW_OK;
}

/* ---- the check before training ---- */

/* rw_exchange_check predicts whether a format would refuse the model of a training. It makes a
 * model of stumps, which are trees of two leaves, one for each kind of split that training may
 * produce. It then exports this model, so that the exporter reports the reason. */
struct stumps {
    struct rw_ctx *ctx;
    const struct rw_params *params;
    const struct rw_binned *train;
    const struct rw_rules *rules;
    struct rw_model *model;
    size_t room; /* allocated trees */
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

/* Adds stumps of numerical feature f of the bins: one whose threshold sends 0 left, one whose
 * threshold sends it right, and all thresholds that the format cannot represent. The last
 * threshold, which separates missing values from all others, is used only if it is the only one. A
 * missing value goes where 0 goes. If the training set has missing values of the feature, a further
 * stump per threshold sends them the other way. */
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

/* Sets the features of the training and their names. */
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

/* Adds stumps of categorical features: one category against all others, with missing values among
 * the others. If the training set has missing values, a second stump sends them with the category.
 * All workers must call this function. */
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
        if (!categorical[of->feature]) /* of the initial model, and ignored now */
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

/* Makes a model with all kinds of splits that training may produce. */
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
    if (any && !s->train->bins) /* otherwise training reports the reason */
        RW_TRY(add_categories(s, categorical, init ? &init->categories : NULL));
    return RW_OK;
}

/* Lowers and writes the model, and discards the result. */
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
                                   .lossy_by = "train without --for, and export with --lossy"};
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    RW_TRY(begin(ctx, how, &format));
    if (!params)
        return check_set(ctx, how, format);
    RW_TRY(rw_model_new(ctx, &model));
    struct stumps stumps = {ctx, params, train, &format->consumer[0].rules, model, 0};
    RW_TRY(make_stumps(&stumps, init));
    const int from_1 = !has_feature_0(model) && !(init && has_feature_0(init)); /* as with AUTO */
    if (how->featureset) {
        RW_TRY(rw_feature_set_read(ctx, how->featureset, &set));
        lowering.set = &set;
    }
    lowering.base = from_1 && !(lowering.set && model->n_names > 0);
    if (model->n_trees > 0) /* otherwise training reports the reason */
        RW_TRY(try_export(ctx, model, format, &lowering));
    lowering.of_features = 0;
    lowering.set = NULL; /* checked above; the initial model may have other feature names */
    lowering.base = from_1;
    if (init && init->n_trees > 0)
        RW_TRY(try_export(ctx, init, format, &lowering));
    return RW_OK;
}
