/* Fuzzes files of scores or TREC runs, and of groups of queries. Any bytes give every document a
 * finite score and every query an existing group, or an error of one line. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "fuzz_input.h"
#include "evaluate/evaluate.h"

enum { DOCS = 5, QUERIES = 3 };

static struct rw_dataset *make(struct rw_ctx *ctx)
{
    static const float values[DOCS] = {1, 2, 3, 4, 5}, labels[DOCS] = {0, 1, 0, 2, 1};
    static const uint32_t offsets[QUERIES + 1] = {0, 2, 4, 5};
    struct rw_dataset *dataset;
    fuzz_check(rw_dataset_from_memory(ctx, values, labels, offsets, DOCS, 1, QUERIES, 1,
                                      &dataset) == RW_OK);
    return dataset;
}

static void check_error(const struct rw_ctx *ctx)
{
    const char *hint = strchr(rw_last_error(ctx), '\n');
    fuzz_check(rw_last_error(ctx)[0] != 0);
    fuzz_check(!hint || strncmp(hint, "\nhint: ", 7) == 0);
}

const char *const fuzz_words[] = {
    "1",    "2",  "3",   "Q0",    "1-1", "1-2", "2-1", "2-2",    "3-1",   "1 Q0 1-1 1 0.5 t",
    "0",    "-1", "0.5", "1e308", "nan", "inf", "-0",  "1e-320", "group", "\t",
    "\r\n", "  ", "#",   NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct fuzz_file file;
    struct rw_run_match match;
    struct rw_arena arena = {0};
    const char **groups;
    double scores[DOCS];
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    struct rw_dataset *dataset = make(ctx);
    fuzz_file_open(&file, data, size);
    int taken = rw_dataset_read_scores(ctx, dataset, file.path, scores, &match) == RW_OK;
    if (taken) {
        for (int i = 0; i < DOCS; i++)
            fuzz_check(isfinite(scores[i]));
        fuzz_check(match.n_unranked < DOCS && (match.is_run || match.n_unranked == 0));
    } else {
        check_error(ctx);
    }
    if (rw_query_groups_read(ctx, dataset, file.path, &arena, &groups) == RW_OK) {
        taken = 1;
        for (uint32_t q = 0; q < QUERIES; q++)
            fuzz_check(!groups[q] || groups[q][0] != 0);
    } else {
        check_error(ctx);
    }
    rw_arena_free(&arena);
    fuzz_file_close(&file);
    rw_dataset_free(dataset);
    rw_ctx_free(ctx);
    return taken;
}
