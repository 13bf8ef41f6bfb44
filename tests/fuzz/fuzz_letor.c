/* The LETOR reader, gzip included: any bytes give a data set that keeps its promises, or an error.
 * Chunks of every size say the same, error included. The public calls, whose chunks are megabytes
 * and slow to make, are tried on some inputs: there the chunks have as many documents as the whole.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dataset/dataset.h"
#include "fuzz_input.h"
#include "io/input.h"
#include "io/text.h"

static void use(const struct rw_dataset *dataset)
{
    const uint32_t n_docs = rw_dataset_n_docs(dataset), n_queries = rw_dataset_n_queries(dataset);
    const uint32_t *offsets = rw_dataset_query_offsets(dataset);
    const float *labels = rw_dataset_labels(dataset);
    float *values = malloc(n_docs * sizeof(float));
    char id[24];

    fuzz_check(values && n_docs > 0 && n_queries > 0 && n_queries <= n_docs);
    fuzz_check(offsets[0] == 0 && offsets[n_queries] == n_docs);
    for (uint32_t query = 0; query < n_queries; query++) {
        fuzz_check(offsets[query] < offsets[query + 1]);
        fuzz_check(rw_dataset_query_id(dataset, query)[0] != 0);
    }
    for (uint32_t doc = 0; doc < n_docs; doc++) {
        fuzz_check(isfinite(labels[doc]));
        (void)strlen(rw_dataset_comment(dataset, doc));
        rw_dataset_doc_id(dataset, doc, id, sizeof(id));
        fuzz_check(strlen(id) < sizeof(id));
    }
    for (uint32_t feature = 0; feature < 8; feature++) {
        rw_dataset_feature(dataset, feature, 0.0f, values);
        for (uint32_t doc = 0; doc < n_docs; doc++)
            fuzz_check(!isinf(values[doc]));
    }
    free(values);
}

static int count_chunk(void *user, const struct rw_dataset *chunk, const double *scores)
{
    (void)scores;
    *(long *)user += (long)rw_dataset_n_docs(chunk);
    return RW_OK;
}

/* Documents of all chunks; -1 if one is refused. */
static long read_each(struct rw_ctx *ctx, const char *path)
{
    long n_docs = 0;
    const int status = rw_dataset_read_each(ctx, &path, 1, NULL, NULL, count_chunk, &n_docs);
    return status == RW_OK ? n_docs : -1;
}

/* As rw_dataset_read, in chunks of about `chunk_bytes`. */
static int read_chunks(struct rw_ctx *ctx, const uint8_t *data, size_t size, size_t chunk_bytes,
                       struct rw_dataset **out)
{
    struct rw_builder_list list = {0};
    struct rw_input *input = NULL;
    struct rw_seen *seen = NULL;
    struct rw_text *letor = NULL;
    int status, more = 1;
    *out = NULL;
    RW_TRY_OUT(rw_seen_new(ctx, &seen));
    RW_TRY_OUT(rw_input_open_memory(ctx, "input", data, size, &input));
    RW_TRY_OUT(rw_text_open(ctx, &rw_letor_text, input, NULL, seen, chunk_bytes, &letor));
    while (more)
        RW_TRY_OUT(rw_text_next(ctx, letor, &list, &more));
    RW_TRY_OUT(rw_builder_finish(ctx, list.builder, (int)list.n, out));
out:
    rw_text_close(letor);
    rw_input_close(input);
    rw_seen_free(seen);
    rw_builder_list_release(&list);
    return status;
}

static void read_file(struct rw_ctx *ctx, const uint8_t *data, size_t size)
{
    struct fuzz_file file;
    struct rw_dataset *dataset;
    fuzz_file_open(&file, data, size);
    const char *path = file.path;
    if (rw_dataset_read(ctx, &path, 1, &dataset) == RW_OK) {
        use(dataset);
        fuzz_check(read_each(ctx, path) == (long)rw_dataset_n_docs(dataset));
        rw_dataset_free(dataset);
    } else {
        fuzz_check(dataset == NULL && rw_last_error(ctx)[0] != 0);
        read_each(ctx, path);
    }
    fuzz_file_close(&file);
}

const char *const fuzz_words[] = {
    "qid:1",     "qid:2", "qid:q7", "1:0",     "2:1.5",   "3:-0",        "4:1e-45",
    "5:3.5e38",  "6:nan", "7:1e39", "65535:1", "65536:1", "#",           "# docid = A",
    "# docid:B", "0",     "2",      "0.5",     "-1",      "31",          "1e9",
    "nan",       "inf",   "+1",     "0x1p3",   "NA",      "00001:00.50", "8:1e999",
    "\t",        "  ",    "\r\n",   ":",       NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct rw_dataset *one, *other;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_check(rw_ctx_set_threads(ctx, 1) == RW_OK);
    const int status = read_chunks(ctx, data, size, 4096, &one);
    char error[sizeof(ctx->error)];
    memcpy(error, ctx->error, sizeof(error));
    fuzz_check(status == read_chunks(ctx, data, size, 1 + size % 37 + size / 32, &other));
    if (status == RW_OK) {
        use(one);
        fuzz_check(one->n_docs == other->n_docs && one->n_queries == other->n_queries);
        fuzz_check(memcmp(one->label, other->label, one->n_docs * sizeof(float)) == 0);
    } else {
        fuzz_check(!one && !other && strstr(error, "input") != NULL);
        fuzz_check(strcmp(error, ctx->error) == 0);
    }
    rw_dataset_free(one);
    rw_dataset_free(other);
    if (size % 64 == 0)
        read_file(ctx, data, size);
    rw_ctx_free(ctx);
    return status == RW_OK;
}
