#include "model/model_text.h"

#include <errno.h>
#include <stdio.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/other_formats.h"
#include "model/model_words.h"

static int print(struct rw_words *w, const struct rw_model *model)
{
    char line[RW_CHECKSUM_LINE_BYTES + 1];
    struct rw_model written = *model; /* whose arrays stay as they are */
    RW_TRY(rw_words_number(w, RW_MODEL_HEADER, w->version));
    RW_TRY(rw_words_newline(w));
    RW_TRY(rw_model_grammar(w, &written));
    rw_model_checksum_line(w->text, w->n_bytes, line);
    return rw_words_take(w, line);
}

int rw_model_print(struct rw_ctx *ctx, const struct rw_model *model, char **out, size_t *n)
{
    struct rw_words words = {.ctx = ctx, .is_writing = 1, .version = RW_MODEL_VERSION};
    *out = NULL;
    *n = 0;
    RW_TRY(rw_model_check(ctx, model));
    const int status = print(&words, model);
    if (status < 0) {
        rw_mem_free(words.text);
        return status;
    }
    *out = words.text;
    *n = words.n_bytes;
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
    struct rw_out_file file = {0};
    int status = RW_OK;
    RW_TRY_OUT(rw_out_file_open(ctx, &file, path));
    RW_TRY_OUT(rw_model_write_file(ctx, model, file.file, path));
    RW_TRY_OUT(rw_out_file_commit(ctx, &file));
out:
    rw_out_file_abandon(&file);
    return status;
}

int rw_model_write_memory(struct rw_ctx *ctx, const struct rw_model *model, char **out,
                          size_t *n_bytes)
{
    RW_DEFAULT_FPENV;
    return rw_model_print(ctx, model, out, n_bytes);
}

void rw_text_free(char *text)
{
    rw_mem_free(text);
}
