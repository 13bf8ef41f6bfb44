/* Fuzzes the reader of checkpoints. An accepted checkpoint must be written back as text that is
 * read and written as the same text. Each input is also tried with a valid checksum appended,
 * since mutation would never find one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz_input.h"
#include "train/train.h"

static void print(struct rw_ctx *ctx, const struct rw_checkpoint *checkpoint, char **text,
                  size_t *n)
{
    if (rw_checkpoint_print(ctx, checkpoint, text, n) < 0)
        abort();
}

/* One line, and perhaps a hint. */
static int is_one_line(const char *message)
{
    const char *end = strchr(message, '\n');
    return !end || (strncmp(end, "\nhint: ", 7) == 0 && !strchr(end + 1, '\n'));
}

static int try_text(struct rw_ctx *ctx, const char *text, size_t n)
{
    struct rw_checkpoint checkpoint, again;
    const int status = rw_checkpoint_parse(ctx, "input", text, n, &checkpoint);
    if (status < 0) {
        const char *message = rw_last_error(ctx);
        if (status != RW_ERR_FORMAT || checkpoint.model || strncmp(message, "input:", 6) != 0 ||
            !is_one_line(message))
            abort();
        return 0;
    }
    char *first, *second;
    size_t n_first, n_second;
    print(ctx, &checkpoint, &first, &n_first);
    if (rw_checkpoint_parse(ctx, "input", first, n_first, &again) < 0)
        abort();
    print(ctx, &again, &second, &n_second);
    if (n_first != n_second || memcmp(first, second, n_first) != 0)
        abort();
    rw_mem_free(first);
    rw_mem_free(second);
    rw_checkpoint_release(&checkpoint);
    rw_checkpoint_release(&again);
    return 1;
}

const char *const fuzz_words[] = {
    "node 0 feature 1 <= 0.5 left leaf 0 right leaf 1 missing left gain 1",
    "node",
    "leaf",
    "left",
    "right",
    "missing",
    "gain",
    "feature",
    "tree",
    "leaves",
    "trees",
    "names",
    "features",
    "metrics",
    "rounds",
    "metric",
    "params",
    "absent",
    "zero",
    "missing",
    "best-round",
    "finished no",
    "finished",
    "earlier",
    "run",
    "nan",
    "inf",
    "-inf",
    "1e39",
    "1e-46",
    "-0",
    "4294967295",
    "2147483648",
    "65535",
    "65536",
    "-1",
    "0",
    "1",
    "2",
    "auto 1",
    "categories",
    "category",
    "in",
    "not in",
    "calibration",
    "logistic",
    "isotonic",
    "knots",
    "checksum",
    "#",
    "=",
    "checkpoint",
    "model",
    "rankwood model 1",
    "0x1",
    "1e308",
    "\t",
    "program 0.1.0",
    "ended no",
    "ended yes",
    "init none",
    "note",
    "sets 2 boundaries aac4757ceb4f8524",
    "documents",
    "queries",
    "query-ids",
    "labels",
    "weights",
    "values",
    "state lambdarank version 0 lines 0",
    "state",
    "lines",
    NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    return fuzz_with_checksum(data, size, try_text);
}
