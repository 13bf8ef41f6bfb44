#include "base/fpenv.h"
#include "io/model_text.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/number.h"

struct writer {
    struct rw_ctx *ctx;
    char *text; /* [n]; owned until taken */
    size_t n, room;
    int status; /* the first failure: nothing is added after it */
};

static char *reserve(struct writer *w, size_t n)
{
    if (w->status == RW_OK)
        w->status = RW_GROW(w->ctx, w->text, w->room, w->n + n);
    return w->status == RW_OK ? w->text + w->n : NULL;
}

static void put(struct writer *w, const char *text)
{
    const size_t n = strlen(text);
    char *to = reserve(w, n);
    if (!to)
        return;
    memcpy(to, text, n);
    w->n += n;
}

static void put_count(struct writer *w, const char *before, uint64_t count)
{
    char digits[24];
    size_t at = sizeof(digits);
    digits[--at] = 0;
    do
        digits[--at] = (char)('0' + count % 10);
    while (count /= 10);
    put(w, before);
    put(w, digits + at);
}

static void put_float(struct writer *w, const char *before, float value)
{
    put(w, before);
    char *to = reserve(w, 32);
    if (to)
        w->n += (size_t)rw_number_write(value == 0.0f ? 0.0f : value, to);
}

/* A metric need not be finite: a query set may have none that counts. */
static void put_double(struct writer *w, const char *before, double value)
{
    put(w, before);
    if (isnan(value)) {
        put(w, "nan");
    } else if (isinf(value)) {
        put(w, value > 0 ? "inf" : "-inf");
    } else {
        char *to = reserve(w, 40);
        if (to)
            w->n += (size_t)rw_number_write_double(value == 0.0 ? 0.0 : value, to);
    }
}

static void put_text(struct writer *w, const char *text)
{
    static const char hex[] = "0123456789abcdef";
    for (; *text; text++) {
        const unsigned char c = (unsigned char)*text;
        char *to = reserve(w, 4);
        if (!to)
            return;
        if (c == '\\') {
            memcpy(to, "\\\\", 2);
            w->n += 2;
        } else if (c < 32 || c == 127) {
            memcpy(to, "\\x", 2);
            to[2] = hex[c >> 4];
            to[3] = hex[c & 15];
            w->n += 4;
        } else {
            *to = (char)c;
            w->n += 1;
        }
    }
}

static void put_features(struct writer *w, const struct rw_model *model)
{
    put_count(w, "\n\nfeatures ", model->n_features);
    for (uint32_t i = 0; i < model->n_features;) {
        uint32_t end = i + 1;
        while (end < model->n_features && model->feature[end] == model->feature[end - 1] + 1)
            end++;
        put_count(w, "\n", model->feature[i]);
        if (end - i > 1)
            put_count(w, "-", model->feature[end - 1]);
        i = end;
    }
    put_count(w, "\n\nnames ", (uint64_t)model->n_names);
    for (int32_t i = 0; i < model->n_names; i++) {
        put_count(w, "\n", model->name[i].feature);
        put(w, " ");
        put_text(w, model->name[i].name);
    }
}

static void put_metrics(struct writer *w, const struct rw_model *model)
{
    put_count(w, "\n\nmetrics ", (uint64_t)model->n_metrics);
    put_count(w, " rounds ", (uint64_t)model->n_rounds_run);
    for (int32_t i = 0; i < model->n_metrics; i++) {
        put(w, "\nmetric ");
        put_text(w, model->metric_name[i]);
    }
    const double *value = model->metric_value;
    for (int32_t r = 0; r < model->n_rounds_run; r++) {
        put_count(w, "\n", (uint64_t)r + 1);
        for (int32_t i = 0; i < model->n_metrics; i++)
            put_double(w, " ", *value++);
    }
}

static void put_child(struct writer *w, const char *side, int32_t child)
{
    put(w, side);
    put_count(w, child < 0 ? " leaf " : " node ", (uint64_t)(child < 0 ? ~child : child));
}

static void put_tree(struct writer *w, const struct rw_model *model, int32_t number)
{
    const struct rw_tree *tree = &model->tree[number];
    put_count(w, "\n\ntree ", (uint64_t)number + 1);
    put_count(w, " leaves ", (uint64_t)tree->n_leaves);
    for (int32_t i = 0; i < tree->n_leaves - 1; i++) {
        put_count(w, "\nnode ", (uint64_t)i);
        put_count(w, " feature ", tree->feature[i]);
        put_float(w, " <= ", tree->cut[i]);
        put_child(w, " left", tree->left[i]);
        put_child(w, " right", tree->right[i]);
        put(w, tree->missing_left[i] ? " missing left" : " missing right");
        put_double(w, " gain ", tree->gain[i]);
        const char *name = rw_model_feature_name(model, tree->feature[i]);
        if (*name) {
            put(w, " # ");
            put_text(w, name);
        }
    }
    for (int32_t i = 0; i < tree->n_leaves; i++) {
        put_count(w, "\nleaf ", (uint64_t)i);
        put_float(w, " ", tree->leaf[i]);
    }
}

void rw_model_checksum_line(const char *text, size_t n, char line[RW_CHECKSUM_LINE_BYTES + 1])
{
    const uint32_t sum = (uint32_t)crc32_z(crc32_z(0, NULL, 0), (const unsigned char *)text, n);
    snprintf(line, RW_CHECKSUM_LINE_BYTES + 1, "checksum %08x\n", (unsigned)sum);
}

static void put_params(struct writer *w, const char *before, const struct rw_model_params *params)
{
    put_count(w, before, (uint64_t)params->n);
    for (int32_t i = 0; i < params->n; i++) {
        const struct rw_param_value *param = &params->param[i];
        put(w, "\n");
        put(w, param->name);
        put(w, param->is_auto ? " = auto " : *param->value ? " = " : " =");
        put_text(w, param->value);
    }
}

static void put_earlier(struct writer *w, const struct rw_model *model)
{
    put_count(w, "\n\nearlier ", (uint64_t)model->n_earlier);
    for (int32_t k = 0; k < model->n_earlier; k++) {
        put_count(w, "\nrun ", (uint64_t)k + 1);
        put_count(w, " trees ", (uint64_t)model->earlier[k].n_trees);
        put_params(w, " params ", &model->earlier[k].params);
    }
}

int rw_model_print(struct rw_ctx *ctx, const struct rw_model *model, char **out, size_t *n)
{
    *out = NULL;
    *n = 0;
    RW_TRY(rw_model_check(ctx, model));
    struct writer w = {.ctx = ctx};
    put_count(&w, RW_MODEL_HEADER, RW_MODEL_VERSION);
    put(&w, model->absent_missing ? "\nabsent missing" : "\nabsent zero");
    put_count(&w, "\nbest-round ", (uint64_t)model->best_round);
    put(&w, model->is_interrupted ? "\nfinished no" : "\nfinished yes");
    put_count(&w, "\nempty-rounds ", (uint64_t)model->empty_rounds);
    put_params(&w, "\n\nparams ", &model->params);
    put_earlier(&w, model);
    put_features(&w, model);
    put_metrics(&w, model);
    put_count(&w, "\n\ntrees ", (uint64_t)model->n_trees);
    for (int32_t i = 0; i < model->n_trees; i++)
        put_tree(&w, model, i);
    put(&w, "\n\n");
    if (w.status == RW_OK) {
        char line[RW_CHECKSUM_LINE_BYTES + 1];
        rw_model_checksum_line(w.text, w.n, line);
        put(&w, line);
    }
    if (w.status < 0) {
        rw_mem_free(w.text);
        return w.status;
    }
    *out = w.text;
    *n = w.n;
    return RW_OK;
}

int rw_model_write_file(struct rw_ctx *ctx, const struct rw_model *model, FILE *out,
                        const char *name)
{
    RW_DEFAULT_FPENV;
    char *text;
    size_t n;
    RW_TRY(rw_model_print(ctx, model, &text, &n));
    const int failed = fwrite(text, 1, n, out) != n || fflush(out) != 0;
    const int why = errno;
    rw_mem_free(text);
    return failed ? rw_fail_io(ctx, why, "cannot write '%s'", name) : RW_OK;
}

int rw_model_write(struct rw_ctx *ctx, const struct rw_model *model, const char *path)
{
    RW_DEFAULT_FPENV;
    struct rw_out_file file = {0};
    char *text;
    size_t n;
    int status = RW_OK;
    RW_TRY(rw_model_print(ctx, model, &text, &n));
    RW_TRY_OUT(rw_out_file_open(ctx, &file, path));
    if (fwrite(text, 1, n, file.file) != n) {
        status = rw_fail_io(ctx, errno, "cannot write '%s'", path);
        goto out;
    }
    RW_TRY_OUT(rw_out_file_commit(ctx, &file));
out:
    rw_out_file_abandon(&file);
    rw_mem_free(text);
    return status;
}
