/* The public functions: files in other programs' formats out, in, and checked. */
#include <errno.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
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
    return 1;
}

static int begin(struct rw_ctx *ctx, const struct rw_exchange *how,
                 const struct rw_model_format **format)
{
    if (how->feature_base < -1 || how->feature_base > 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "feature base %d; expected 0 or 1", how->feature_base);
    return rw_model_format_find(ctx, how->format, format);
}

int rw_exchange_check(struct rw_ctx *ctx, const struct rw_exchange *how, int imports)
{
    const struct rw_model_format *format;
    RW_TRY(begin(ctx, how, &format));
    if (imports && !format->imports)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'%s' is written only, not read", format->name);
    return RW_OK;
}

static int write_text(struct rw_ctx *ctx, const struct rw_put *put, const char *path)
{
    struct rw_out_file file;
    RW_TRY(rw_out_file_open(ctx, &file, path));
    errno = 0;
    /* said here: once a write has failed, commit cannot tell why */
    if (put->n > 0 && fwrite(put->text, 1, put->n, file.file) != put->n) {
        const int status = rw_fail_io(ctx, errno ? errno : EIO, "cannot write '%s'", file.path);
        rw_out_file_abandon(&file);
        return status;
    }
    return rw_out_file_commit(ctx, &file);
}

int rw_model_export(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_exchange *how,
                    const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    const struct rw_lowering lowering = {how->feature_base, how->lossy};
    struct rw_ensemble ensemble = {0};
    struct rw_put put = {.ctx = ctx};
    int status;
    RW_TRY(begin(ctx, how, &format));
    RW_TRY_OUT(rw_lower(ctx, model, format, &lowering, &ensemble));
    RW_TRY_OUT(format->write(&ensemble, &put));
    RW_TRY_OUT(write_text(ctx, &put, path));
out:
    rw_mem_free(put.text);
    rw_ensemble_release(&ensemble);
    return status;
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
    RW_TRY_OUT(format->parse(&source, out));
    RW_TRY_OUT(rw_ensemble_check(ctx, out, source.path));
out:
    rw_mem_free(text);
    rw_input_close(input);
    if (status < 0)
        rw_ensemble_release(out);
    return status;
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
    const int status = rw_raise(ctx, &ensemble, format, how->feature_base, path, out);
    rw_ensemble_release(&ensemble);
    return status;
}

int rw_model_verify(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_exchange *how,
                    const char *path, const struct rw_dataset *dataset, struct rw_verify *out)
{
    RW_DEFAULT_FPENV;
    const struct rw_model_format *format;
    const struct rw_lowering lowering = {how->feature_base, 1};
    struct rw_ensemble made = {0}, read_back = {0};
    int status;
    memset(out, 0, sizeof(*out));
    RW_TRY(begin(ctx, how, &format));
    const rw_log_fn log = ctx->log;
    ctx->log = NULL; /* what is lost was reported when the file was written */
    status = rw_lower(ctx, model, format, &lowering, &made);
    ctx->log = log;
    if (status < 0)
        goto out;
    if (format->parse)
        RW_TRY_OUT(parse(ctx, format, path, &made, &read_back));
    out->read_back = format->parse != NULL;
    for (const struct rw_consumer *c = format->consumer; c->name; c++, out->n++)
        RW_TRY_OUT(rw_verify_ensemble(ctx, model, format->parse ? &read_back : &made, c,
                                      how->feature_base, dataset, &out->by[out->n]));
out:
    rw_ensemble_release(&made);
    rw_ensemble_release(&read_back);
    return status;
}
