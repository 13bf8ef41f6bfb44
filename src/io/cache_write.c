/* A data set, with bins or without, as a cache file. */
#include "base/checksum.h"
#include "base/mem.h"
#include "base/system.h"
#include "io/cache.h"

enum { CRC_PIECE = 1 << 23 };

struct cache_out {
    struct rw_out_file file;
    uint32_t crc;
    uint64_t at;
    FILE *written; /* NULL, or the same file to read */
    int status;
};

static void put(struct cache_out *out, const void *data, uint64_t n_bytes)
{
    const unsigned char *from = data;
    out->at += n_bytes;
    while (n_bytes) { /* failures stay in the FILE: commit sees them */
        const size_t n = n_bytes < CRC_PIECE ? (size_t)n_bytes : CRC_PIECE;
        fwrite(from, 1, n, out->file.file);
        out->crc = rw_checksum(out->crc, from, n);
        from += n;
        n_bytes -= n;
    }
}

static void pad(struct cache_out *out)
{
    static const char zeros[RW_CACHE_ALIGN];
    put(out, zeros, rw_cache_aligned(out->at) - out->at);
}

/* What begins at a multiple of 64 bytes, and what follows does. */
static void put_part(struct cache_out *out, const void *data, uint64_t n_bytes)
{
    put(out, data, n_bytes);
    pad(out);
}

static void fill_header(const struct rw_dataset *dataset, const struct rw_bins *bins,
                        struct rw_cache_header *h)
{
    memcpy(h->magic, RW_CACHE_MAGIC, sizeof(h->magic));
    h->version = RW_CACHE_VERSION;
    h->byte_order = RW_CACHE_BYTE_ORDER;
    h->n_docs = dataset->n_docs;
    h->n_queries = dataset->n_queries;
    h->n_columns = dataset->n_columns;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        h->n_values += dataset->column[c].n;
        h->n_rows += dataset->column[c].row ? dataset->column[c].n : 0;
    }
    h->query_id_bytes = dataset->query_id_offset[dataset->n_queries];
    h->has_comments = dataset->comment_offset != NULL;
    h->comment_bytes = h->has_comments ? dataset->comment_offset[dataset->n_docs] : 0;
    h->n_clamped = dataset->n_clamped;
    if (!bins)
        return;
    h->has_bins = 1;
    h->n_cut_features = bins->cuts->n_features;
    h->n_cuts = bins->cuts->offset[bins->cuts->n_features];
    for (uint32_t f = 0; f < bins->cuts->n_features; f++)
        h->code_bytes +=
            rw_cache_block_bytes(bins->codes[f].n, bins->n_docs, rw_cuts_code_bytes(bins->cuts, f));
    h->bins = bins->rule.bins;
    h->absent_missing = bins->rule.absent_missing != 0;
    h->min_docs = bins->rule.min_docs;
    h->n_constant = bins->cuts->n_constant;
    h->n_few = bins->cuts->n_few;
    h->n_ignored = bins->cuts->n_ignored;
}

/* Bytes that are in the file already (cache_values.c). */
static void pass_over(struct cache_out *out, uint64_t n_bytes)
{
    FILE *file = out->file.file;
    char *text = NULL;
    size_t got = 1;
    if (!out->written) { /* what is written cannot be read through the same descriptor */
        out->written = rw_system_fopen(out->file.temporary, "rbe");
        out->status = out->written ? RW_OK : RW_ERR_MACHINE;
    }
    if (out->status < 0 || fseeko(file, (off_t)n_bytes, SEEK_CUR) != 0 ||
        fseeko(out->written, (off_t)out->at, SEEK_SET) != 0 ||
        RW_NEW_RAW(NULL, text, CRC_PIECE) < 0)
        out->status = RW_ERR_MACHINE;
    out->at += n_bytes;
    while (out->status == RW_OK && n_bytes) {
        got = fread(text, 1, n_bytes < CRC_PIECE ? (size_t)n_bytes : CRC_PIECE, out->written);
        out->crc = rw_checksum(out->crc, text, got);
        n_bytes -= got;
        out->status = got ? RW_OK : RW_ERR_MACHINE;
    }
    rw_mem_free(text);
}

static void put_columns(struct cache_out *out, const struct rw_dataset *dataset)
{
    for (uint32_t c = 0; c < dataset->n_columns; c++)
        put(out, &dataset->column[c].feature, sizeof(uint32_t));
    pad(out);
    for (uint32_t c = 0; c < dataset->n_columns; c++)
        put(out, &dataset->column[c].n, sizeof(uint32_t));
    pad(out);
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        const uint8_t sparse = dataset->column[c].row != NULL;
        put(out, &sparse, 1);
    }
    pad(out);
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (dataset->column[c].row)
            put(out, dataset->column[c].row, dataset->column[c].n * sizeof(uint32_t));
    }
    pad(out);
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (dataset->column[c].value)
            put(out, dataset->column[c].value, dataset->column[c].n * sizeof(float));
        else
            pass_over(out, dataset->column[c].n * sizeof(float));
    }
    pad(out);
}

static void put_bins(struct cache_out *out, const struct rw_bins *bins)
{
    const struct rw_cuts *cuts = bins->cuts;
    put_part(out, cuts->feature, cuts->n_features * sizeof(uint32_t));
    put_part(out, cuts->offset, ((uint64_t)cuts->n_features + 1) * sizeof(uint64_t));
    put_part(out, cuts->cut, cuts->offset[cuts->n_features] * sizeof(float));
    put_part(out, cuts->has_missing, cuts->n_features);
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const struct rw_codes *codes = &bins->codes[f];
        const uint32_t head[2] = {codes->n, codes->rest};
        put_part(out, head, sizeof(head));
        if (codes->row)
            put_part(out, codes->row, codes->n * sizeof(uint32_t));
        put_part(out, codes->code, codes->n * rw_cuts_code_bytes(cuts, f));
    }
}

static void put_lines(struct cache_out *out, const struct rw_dataset *dataset,
                      const struct rw_cache_header *header)
{
    put_part(out, dataset->label, dataset->n_docs * sizeof(float));
    put_part(out, dataset->query_offset, ((uint64_t)header->n_queries + 1) * sizeof(uint32_t));
    put_part(out, dataset->query_id_offset, ((uint64_t)header->n_queries + 1) * sizeof(uint64_t));
    put_part(out, dataset->query_id_text, header->query_id_bytes);
    if (header->has_comments) {
        put_part(out, dataset->comment_offset, ((uint64_t)header->n_docs + 1) * sizeof(uint64_t));
        put_part(out, dataset->comment_text, header->comment_bytes);
    }
}

static int write_file(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                      const struct rw_cache_words *words, const struct rw_bins *bins,
                      struct rw_out_file *file)
{
    struct cache_out out = {.file = *file};
    struct rw_cache_header header;
    struct rw_cache_layout layout;
    char *table;
    memset(&header, 0, sizeof(header));
    fill_header(dataset, bins, &header);
    RW_TRY(rw_cache_layout(&header, UINT64_MAX / 2, &layout));
    layout.table_bytes = rw_cache_table_bytes(dataset, words);
    layout.file_bytes += layout.table_bytes;
    RW_TRY(RW_NEW(ctx, table, layout.table_bytes));
    rw_cache_table_fill(dataset, words, table);
    header.version = rw_cache_version(dataset, words);
    header.file_bytes = layout.file_bytes;
    put_part(&out, &header, sizeof(header));
    put_columns(&out, dataset);
    put_lines(&out, dataset, &header);
    if (bins)
        put_bins(&out, bins);
    put(&out, table, layout.table_bytes);
    rw_mem_free(table);
    const uint32_t crc = out.crc;
    put(&out, &crc, sizeof(crc));
    if (out.written)
        fclose(out.written);
    if (out.status < 0)
        return rw_fail(ctx, out.status, "cannot write '%s': what was written cannot be read again",
                       file->path);
    if (out.at != layout.file_bytes)
        return rw_fail(ctx, RW_ERR_INTERNAL, "the cache has %llu bytes instead of %llu",
                       (unsigned long long)out.at, (unsigned long long)layout.file_bytes);
    return rw_out_file_commit(ctx, file);
}

int rw_cache_write_file(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                        const struct rw_bins *bins, struct rw_out_file *file)
{
    struct rw_cache_words words;
    RW_TRY(rw_cache_words_make(ctx, dataset, &words));
    const int status = words.n_features ? write_file(ctx, &words.view, &words, NULL, file)
                                        : write_file(ctx, dataset, &words, bins, file);
    rw_cache_words_release(&words);
    return status;
}

int rw_cache_write(struct rw_ctx *ctx, const struct rw_dataset *dataset, const struct rw_bins *bins,
                   const char *path)
{
    struct rw_out_file file;
    RW_TRY(rw_out_file_open(ctx, &file, path));
    const int status = rw_cache_write_file(ctx, dataset, bins, &file);
    rw_out_file_abandon(&file);
    return status;
}
