/* The public functions: files in other programs' formats out, in, and checked. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/other_formats.h"
#include "convert/convert.h"
#include "dataset/dataset.h"
#include "io/input.h"

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

int rw_exchange_check(struct rw_ctx *ctx, const struct rw_exchange *how, int imports)
{
    const struct rw_model_format *format;
    RW_TRY(begin(ctx, how, &format));
    if (imports && !format->imports)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'%s' is written only, not read", format->name);
    return imports ? RW_OK : check_set(ctx, how, format);
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
    struct rw_feature_set set = {0};
    struct rw_lowering lowering = {.lossy = how->lossy, .model_name = how->name};
    int status;
    memset(out, 0, sizeof(*out));
    RW_TRY_OUT(check_set(ctx, how, format));
    RW_TRY_OUT(export_base(ctx, model, how, format, base));
    if (how->featureset)
        RW_TRY_OUT(rw_feature_set_read(ctx, how->featureset, &set));
    lowering.base = *base;
    lowering.set = how->featureset ? &set : NULL;
    RW_TRY_OUT(rw_lower(ctx, model, format, &lowering, out));
out:
    rw_feature_set_release(&set);
    return status;
}

static int write_text(struct rw_ctx *ctx, const struct rw_put *put, const char *path)
{
    struct rw_out_file file;
    int status;
    RW_TRY(rw_out_file_open(ctx, &file, path));
    RW_TRY_OUT(rw_out_file_write(ctx, &file, put->text, put->n));
    return rw_out_file_commit(ctx, &file);
out:
    rw_out_file_abandon(&file);
    return status;
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

static void note_absent_in(struct rw_ctx *ctx, const struct rw_model *model,
                           const struct rw_model_format *format)
{
    if (format->consumer[0].rules.absent == RW_ABSENT_AS_MODEL && absent_matters(model))
        rw_log(ctx, RW_LOG_NOTE,
               "absent zero: '%s' does not say what a feature is that a document lacks",
               format->name);
}

int rw_model_export(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_exchange *how,
                    const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    struct rw_ensemble ensemble = {0};
    struct rw_put put = {.ctx = ctx};
    int status, base;
    RW_TRY(begin(ctx, how, &format));
    RW_TRY(rw_check_apart(ctx, path, how->featureset));
    RW_TRY_OUT(lower(ctx, model, how, format, &base, &ensemble));
    RW_TRY_OUT(format->write(&ensemble, &put));
    RW_TRY_OUT(write_text(ctx, &put, path));
    note_absent_out(ctx, model, format);
    if (model->map.kind != RW_SCORE_MAP_NONE)
        rw_log(ctx, RW_LOG_WARNING,
               "'%s' gives scores: the model's map of scores to probabilities is left out",
               format->name);
out:
    rw_mem_free(put.text);
    rw_ensemble_release(&ensemble);
    return status;
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
    struct rw_input *input = NULL;
    char *text = NULL;
    size_t n;
    int status;
    memset(out, 0, sizeof(*out));
    RW_TRY_OUT(rw_input_open(ctx, path, &input));
    RW_TRY_OUT(rw_input_read_all(ctx, input, &text, &n));
    struct rw_source source = {ctx, rw_input_name(input), text, n, names, RW_OK};
    status = format->parse(&source, out);
    if (status == RW_ERR_FORMAT && !names) /* of an export, which is in the format, not asked */
        status = other_format(ctx, format, &source, status);
    RW_TRY_OUT(status);
    RW_TRY_OUT(rw_ensemble_check(ctx, out, source.path));
out:
    rw_mem_free(text);
    rw_input_close(input);
    if (status < 0)
        rw_ensemble_release(out);
    return status;
}

static int has_names(const struct rw_ensemble *ensemble, const struct rw_model_format *format)
{
    for (uint32_t i = 0; ensemble->column_name && i < ensemble->n_columns; i++) {
        const char *name = ensemble->column_name[i];
        char made[64];
        rw_made_up_name(format, i + format->consumer[0].rules.first_column, made, sizeof(made));
        if (name && *name && strcmp(name, made) != 0)
            return 1;
    }
    return 0;
}

/* The first column is feature 1, as LETOR text counts, also where a format counts from 0, but not
 * where columns have names: those of a table are numbered from 0 here, too. */
static int import_base(struct rw_ctx *ctx, const struct rw_ensemble *ensemble,
                       const struct rw_model_format *format)
{
    const uint32_t first = format->consumer[0].rules.first_column;
    const int base = first == 1 || !has_names(ensemble, format);
    rw_log(ctx, RW_LOG_NOTE, "feature base %d: %u in '%s' is feature %d of the model", base, first,
           format->name, base);
    return base;
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
    struct rw_ensemble ensemble;
    *out = NULL;
    RW_TRY(rw_exchange_check(ctx, how, 1));
    RW_TRY(begin(ctx, how, &format));
    RW_TRY(parse(ctx, format, path, NULL, &ensemble));
    const int base = how->feature_base == RW_FEATURE_BASE_AUTO ? import_base(ctx, &ensemble, format)
                                                               : how->feature_base;
    const int status = rw_raise(ctx, &ensemble, format, base, path, out);
    if (status >= 0) {
        set_columns(ctx, &ensemble, format, how, base, *out);
        note_absent_in(ctx, *out, format);
    }
    rw_ensemble_release(&ensemble);
    return status;
}

int rw_model_verify(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_exchange *how,
                    const char *path, const struct rw_dataset *dataset, struct rw_verify *out)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    struct rw_exchange lossy = *how;
    struct rw_ensemble made = {0}, read_back = {0};
    struct rw_model *parted = NULL;
    int status, base;
    memset(out, 0, sizeof(*out));
    RW_TRY(begin(ctx, how, &format));
    lossy.lossy = 1;
    const rw_log_fn log = ctx->log;
    ctx->log = NULL; /* what is lost, and shifted, was reported when the file was written */
    status = lower(ctx, model, &lossy, format, &base, &made);
    ctx->log = log;
    if (status < 0)
        goto out;
    if (format->parse)
        RW_TRY_OUT(parse(ctx, format, path, &made, &read_back));
    RW_TRY_OUT(rw_part_missing(ctx, model, format, &parted));
    out->read_back = format->parse != NULL;
    for (const struct rw_consumer *c = format->consumer; c->name; c++, out->n++)
        RW_TRY_OUT(rw_verify_ensemble(ctx, model, parted ? parted : model,
                                      format->parse ? &read_back : &made, c, base, dataset,
                                      &out->by[out->n]));
out:
    rw_model_free(parted);
    rw_ensemble_release(&made);
    rw_ensemble_release(&read_back);
    return status;
}
