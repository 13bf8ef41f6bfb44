/* The checkpoint of a tuning: the file with the results of all trials so far. It has these lines:
 *
 *   rankwood tuning 1
 *   program 0.2.0                     the version that wrote the file;
 *   search TEXT                       folds, parameters and space of the search;
 *   data HEX                          fingerprint of the data;
 *
 *   Records follow, a line for each (`record` in tune.c). The last line is
 *   "checksum 0badcafe", as in a model. Each write replaces the file as a whole, so it never ends
 * in the middle of a record. The form of the first two lines never changes. */
#include <errno.h>
#include <unistd.h>

#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "train/train.h"

enum { VERSION = 1 };

/* Returns a fingerprint of labels, queries, side columns and values. */
static uint64_t print_of(const struct rw_dataset *dataset)
{
    struct rw_fingerprint print;
    uint64_t sum = 0;
    rw_fingerprint_sides(dataset, 0, 0, &print);
    for (uint32_t k = 0; k < dataset->n_columns; k++) {
        const struct rw_column *column = &dataset->column[k];
        for (uint32_t i = 0; i < column->n; i++) {
            const uint64_t doc = column->row ? column->row[i] : i;
            if (!rw_is_absent(column->value[i])) /* a sparse column has no such entries */
                print.part[RW_PRINT_VALUES] += rw_mix_item((uint64_t)column->feature << 32 | doc,
                                                           rw_bits_of_float(column->value[i]));
        }
    }
    for (int i = 0; i < RW_PRINTS; i++)
        sum = rw_mix_item(sum, print.part[i]);
    return sum;
}

static int first_line(struct rw_words *w)
{
    RW_TRY(rw_words_number(w, "rankwood tuning ", VERSION));
    return rw_words_newline(w);
}

/* Reads the head of the resumed file up to its records, and compares it with that of this search.
 */
static int check_head(struct rw_words *w, const char *search, uint64_t data)
{
    char *program RW_FREED = NULL, *theirs RW_FREED = NULL;
    uint64_t their_data;
    RW_TRY(first_line(w));
    RW_TRY(rw_words_text(w, "program ", "a version", &program));
    if (strcmp(program, RW_VERSION) != 0)
        return rw_fail(
            w->ctx, RW_ERR_FORMAT,
            "%s:2: checkpoint written by rankwood %.40s; rankwood %s might continue it to "
            "a different result",
            w->path, program, RW_VERSION);
    RW_TRY(rw_words_text(w, "\nsearch ", "the parameters", &theirs));
    RW_TRY(rw_words_hex(w, "\ndata ", "a hexadecimal number", &their_data));
    RW_TRY(rw_words_newline(w));
    if (strcmp(theirs, search) != 0)
        return rw_fail(w->ctx, RW_ERR_ARGUMENT,
                       "cannot resume from '%s': that search had '%s', this one has '%s'", w->path,
                       theirs, search);
    return their_data == data ? RW_OK
                              : rw_fail(w->ctx, RW_ERR_DATA,
                                        "cannot resume from '%s': the data has changed", w->path);
}

int rw_tune_checkpoint_open(struct rw_tune_checkpoint *out, struct rw_ctx *ctx,
                            const struct rw_checkpoints *how, const char *search,
                            const struct rw_dataset *train, const struct rw_dataset *valid)
{
    static char program[] = RW_VERSION;
    char *version = program, *line = (char *)(uintptr_t)search;
    struct rw_words *w = &out->record;
    size_t n;
    uint64_t data = rw_mix_item(print_of(train), valid ? print_of(valid) : 0);
    out->path = how->path;
    if (how->path && strcmp(how->path, "-") == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a checkpoint cannot go to standard output");
    if (how->path)
        RW_TRY(rw_out_file_open(ctx, NULL, how->path));
    *w = (struct rw_words){.ctx = ctx, .is_writing = 1};
    RW_TRY(first_line(w));
    RW_TRY(rw_words_text(w, "program ", "", &version));
    RW_TRY(rw_words_text(w, "\nsearch ", "", &line));
    RW_TRY(rw_words_hex(w, "\ndata ", "", &data));
    RW_TRY(rw_words_newline(w));
    if (!how->resume || (how->or_start && access(how->resume, F_OK) != 0 && errno == ENOENT))
        return RW_OK;
    RW_TRY(rw_model_file_read(ctx, how->resume, "the checkpoint of a search", first_line,
                              &out->resumed, &n));
    RW_TRY(rw_model_checksum_check(ctx, how->resume, out->resumed, n));
    out->resume = rw_words_of(ctx, how->resume, out->resumed, n - RW_CHECKSUM_LINE_BYTES);
    RW_TRY(check_head(&out->resume, search, data));
    out->first = out->resume;
    return RW_OK;
}

int rw_tune_checkpoint_find(struct rw_tune_checkpoint *checkpoint, const char *head)
{
    struct rw_words *w = &checkpoint->resume;
    const size_t n = strlen(head);
    for (int pass = 0; pass < 2 && checkpoint->resumed;
         pass++) { /* the next record is the likeliest */
        while (w->at < w->end) {
            const size_t left = (size_t)(w->end - w->at);
            if (left > n && memcmp(w->at, head, n) == 0) {
                w->line_begin = w->at;
                w->at += n;
                return 1;
            }
            const char *end = memchr(w->at, '\n', left);
            w->at = end ? end + 1 : w->end;
            w->line++;
        }
        *w = checkpoint->first;
    }
    return 0;
}

int rw_tune_checkpoint_write(const struct rw_tune_checkpoint *checkpoint, struct rw_ctx *ctx)
{
    struct rw_out_file file RW_RELEASED(rw_out_file_abandon) = {0};
    const struct rw_words *w = &checkpoint->record;
    char last[RW_CHECKSUM_LINE_BYTES + 1];
    rw_model_checksum_line(w->text, w->n_bytes, last);
    RW_TRY(rw_out_file_open(ctx, &file, checkpoint->path));
    if (fwrite(w->text, 1, w->n_bytes, file.file) != w->n_bytes || fputs(last, file.file) < 0)
        return rw_fail_io(ctx, errno, "cannot write '%s'", checkpoint->path);
    return rw_out_file_commit(ctx, &file);
}

void rw_tune_checkpoint_release(struct rw_tune_checkpoint *checkpoint)
{
    rw_mem_free(checkpoint->record.text);
    rw_mem_free(checkpoint->resumed);
}
