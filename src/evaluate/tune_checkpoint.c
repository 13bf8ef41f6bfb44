/* The checkpoint of a tuning: the file with the results of all trials so far. It has these lines:
 *
 *   rankwood tuning 1
 *   program 0.2.0                     the version that wrote the file;
 *   search HEX space HEX data HEX     fingerprints of parameters and folds, space, and data;
 *
 * Records follow, a line for each (`record` in tune.c). The last line is "checksum 0badcafe", as in
 * a model. Each write replaces the file as a whole, so it never ends in the middle of a record. The
 * form of the first two lines never changes. */
#include <errno.h>
#include <unistd.h>

#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "train/train.h"

uint64_t rw_tune_print_data(const struct rw_dataset *dataset)
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
    for (int32_t i = 0; i < dataset->n_names; i++) { /* parameters may have names of features */
        const char *name = dataset->name[i].name;
        sum = rw_mix_item(sum, (uint64_t)dataset->name[i].feature << 32 |
                                   rw_checksum(0, name, strlen(name)));
    }
    return sum;
}

static int first_line(struct rw_words *w)
{
    RW_TRY(rw_words_number(w, "rankwood tuning ", 1));
    return rw_words_newline(w);
}

/* Reads or writes the lines before the records. Those that are read must have these fingerprints.
 */
static int head(struct rw_words *w, const uint64_t print[RW_TUNE_PRINTS])
{
    static const char *const name[RW_TUNE_PRINTS][2] = {
        {"\nsearch ", "parameters or the folds have"},
        {" space ", "space has"},
        {" data ", "data has"}};
    RW_TRY(first_line(w));
    RW_TRY(rw_words_text_is(w, "program ", "version " RW_VERSION " of the program", RW_VERSION));
    for (int i = 0; i < RW_TUNE_PRINTS; i++) {
        uint64_t one = print[i];
        RW_TRY(rw_words_hex(w, name[i][0], "a hexadecimal number", &one));
        if (one != print[i])
            return rw_fail(w->ctx, i == RW_TUNE_DATA ? RW_ERR_DATA : RW_ERR_ARGUMENT,
                           "cannot resume from '%s': the %s changed", w->path, name[i][1]);
    }
    return rw_words_newline(w);
}

int rw_tune_checkpoint_open(struct rw_tune_checkpoint *out, struct rw_ctx *ctx,
                            const struct rw_checkpoints *how, const uint64_t print[RW_TUNE_PRINTS])
{
    size_t n;
    out->path = how->path;
    out->record = (struct rw_words){.ctx = ctx, .is_writing = 1};
    RW_TRY(head(&out->record, print));
    if (how->path && strcmp(how->path, "-") == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a checkpoint cannot go to standard output");
    if (how->path)
        RW_TRY(rw_out_file_open(ctx, NULL, how->path));
    if (!how->resume || (how->or_start && access(how->resume, F_OK) != 0 && errno == ENOENT))
        return RW_OK;
    RW_TRY(rw_model_file_read(ctx, how->resume, "the checkpoint of a search", first_line,
                              &out->resumed, &n));
    RW_TRY(rw_model_checksum_check(ctx, how->resume, out->resumed, n));
    out->first = rw_words_of(ctx, how->resume, out->resumed, n - RW_CHECKSUM_LINE_BYTES);
    RW_TRY(head(&out->first, print));
    out->resumed[n - RW_CHECKSUM_LINE_BYTES] = 0; /* all records stay in the file */
    RW_TRY(rw_words_take(&out->record, out->first.at));
    rw_log(ctx, RW_LOG_NOTE, "the search resumes from '%s'", how->resume);
    return RW_OK;
}

int rw_tune_checkpoint_find(struct rw_tune_checkpoint *checkpoint, const char *begin)
{
    struct rw_words *w = &checkpoint->resume;
    const size_t n = strlen(begin);
    *w = checkpoint->first;
    while (w->at < w->end) { /* a line */
        const size_t left = (size_t)(w->end - w->at);
        if (left > n && memcmp(w->at, begin, n) == 0) {
            w->at += n;
            return 1;
        }
        w->at = w->line_begin = (const char *)memchr(w->at, '\n', left) + 1;
        w->line++;
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
