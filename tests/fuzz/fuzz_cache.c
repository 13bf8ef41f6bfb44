/* The cache reader: any bytes give a data set that keeps its promises, or an error. Random bytes
 * would never pass the checksum, so the input is read with a header, size and checksum that are
 * right, as a hostile file has them; and, one size in sixteen, as it is. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "fuzz_input.h"
#include "io/cache/cache.h"
#include "io/data_format.h"

static void use_columns(const struct rw_dataset *dataset)
{
    float *values = malloc(dataset->n_docs * sizeof(float));
    fuzz_check(values != NULL);
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        fuzz_check(dataset->column[c].feature <= RW_MAX_FEATURE);
        rw_dataset_feature(dataset, dataset->column[c].feature, 0.0f, values);
        for (uint32_t doc = 0; doc < dataset->n_docs; doc++)
            fuzz_check(!isinf(values[doc]));
    }
    free(values);
}

static void use_bins(const struct rw_bins *bins)
{
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        const uint32_t n_codes = rw_cuts_n_codes(bins->cuts, f);
        fuzz_check(n_codes >= 1 && n_codes <= 1025);
        for (uint32_t doc = 0; doc < bins->n_docs; doc++)
            fuzz_check(rw_bins_code(bins, f, doc) < n_codes);
    }
}

static void use(const struct rw_dataset *dataset)
{
    const uint32_t n_docs = dataset->n_docs, n_queries = dataset->n_queries;
    const uint32_t *offsets = rw_dataset_query_offsets(dataset);
    char id[24];
    fuzz_check(n_docs > 0 && n_queries > 0 && n_queries <= n_docs);
    fuzz_check(offsets[0] == 0 && offsets[n_queries] == n_docs);
    for (uint32_t query = 0; query < n_queries; query++) {
        fuzz_check(offsets[query] < offsets[query + 1]);
        fuzz_check(rw_dataset_query_id(dataset, query)[0] != 0);
    }
    for (uint32_t doc = 0; doc < n_docs; doc++) {
        for (int k = 0; k <= dataset->n_more_labels; k++) {
            const float label = rw_dataset_labels_of(dataset, k)[doc];
            fuzz_check(label >= 0 && isfinite(label));
        }
        (void)strlen(rw_dataset_comment(dataset, doc));
        rw_dataset_doc_id(dataset, doc, id, sizeof(id));
    }
    use_columns(dataset);
}

/* The codes, for a training by the rule that the header names. */
static void read_codes(struct rw_ctx *ctx, const char *path, const struct rw_cache_header *header)
{
    const struct rw_cut_rule rule = {.bins = header->bins,
                                     .absent_missing = (int)header->absent_missing,
                                     .min_docs = header->min_docs};
    struct rw_read_goal goal = {.rule = &rule};
    struct rw_binned binned = {.documents = NULL};
    if (rw_files_read(ctx, &path, 1, &goal, &binned) < 0) {
        fuzz_check(binned.documents == NULL && rw_last_error(ctx)[0] != 0);
        return;
    }
    use(binned.documents);
    if (binned.bins)
        use_bins(binned.bins);
    for (uint32_t f = 0; f < binned.n_features; f++)
        fuzz_check(binned.feature[f] <= RW_MAX_FEATURE);
    rw_binned_release(&binned);
}

static int count_chunk(void *user, const struct rw_dataset *chunk, const double *scores)
{
    (void)scores;
    *(uint32_t *)user += chunk->n_docs;
    return RW_OK;
}

static uint32_t read_chunks(struct rw_ctx *ctx, const char *path)
{
    uint32_t n_docs = 0;
    rw_dataset_read_each(ctx, &path, 1, NULL, NULL, count_chunk, &n_docs);
    return n_docs;
}

/* The queries after the middle, as the last worker reads them. */
static void read_part(struct rw_ctx *ctx, const char *path, const struct rw_dataset *whole)
{
    const struct rw_range range = {.begin = whole->query_offset[whole->n_queries / 2],
                                   .end = whole->n_docs};
    struct rw_binned part = {.documents = NULL};
    struct rw_input *input;
    fuzz_check(rw_input_open(ctx, path, &input) == RW_OK);
    fuzz_check(rw_cache_read(ctx, input, &range, NULL, &part) == RW_OK);
    rw_input_close(input);
    use(part.documents);
    fuzz_check(part.documents->n_docs == range.end - range.begin);
    fuzz_check(part.documents->n_more_labels == whole->n_more_labels);
    rw_binned_release(&part);
}

static int read_bytes(struct rw_ctx *ctx, const uint8_t *data, size_t size)
{
    struct fuzz_file file;
    struct rw_dataset *dataset;
    struct rw_cache_header header;
    fuzz_file_open(&file, data, size);
    const char *path = file.path;
    if (size >= sizeof(header)) {
        memcpy(&header, data, sizeof(header));
        read_codes(ctx, path, &header);
    }
    const int status = rw_dataset_read(ctx, &path, 1, &dataset);
    if (status == RW_OK) {
        use(dataset);
        fuzz_check(read_chunks(ctx, path) == dataset->n_docs);
        if (size >= sizeof(header) && memcmp(data, RW_CACHE_MAGIC, sizeof(header.magic)) == 0)
            read_part(ctx, path, dataset);
        rw_dataset_free(dataset);
    } else {
        fuzz_check(dataset == NULL && rw_last_error(ctx)[0] != 0);
    }
    fuzz_file_close(&file);
    return status == RW_OK;
}

const char *const fuzz_words[] = {"qid", "A", "B", NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct rw_cache_header header;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_check(rw_ctx_set_threads(ctx, 1) == RW_OK);
    int taken = size % 16 == 1 || size < sizeof(header) ? read_bytes(ctx, data, size) : 0;
    if (size >= sizeof(header) + sizeof(uint32_t)) {
        uint8_t *sealed = malloc(size);
        fuzz_check(sealed != NULL);
        memcpy(sealed, data, size);
        memcpy(&header, data, sizeof(header));
        memcpy(header.magic, RW_CACHE_MAGIC, sizeof(header.magic));
        header.version = RW_CACHE_VERSION;
        header.byte_order = RW_CACHE_BYTE_ORDER;
        header.file_bytes = size;
        memcpy(sealed, &header, sizeof(header));
        const uint32_t crc = rw_checksum(0, sealed, size - sizeof(crc));
        memcpy(sealed + size - sizeof(crc), &crc, sizeof(crc));
        taken |= read_bytes(ctx, sealed, size);
        free(sealed);
    }
    rw_ctx_free(ctx);
    return taken;
}
