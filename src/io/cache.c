#include "io/cache.h"

#include <zlib.h>

#include "base/mem.h"
#include "io/checksum.h"
#include "io/data_format.h"
#include "io/input.h"
#include "io/letor.h"

#include <sys/mman.h>

enum { CRC_BYTES = 4, CRC_PIECE = 1 << 23, SLICE_VALUES = 1 << 23, MOST_SLICE_DOCS = 1 << 16 };

static uint64_t aligned(uint64_t n_bytes)
{
    return (n_bytes + RW_CACHE_ALIGN - 1) / RW_CACHE_ALIGN * RW_CACHE_ALIGN;
}

int rw_cache_layout(const struct rw_cache_header *h, uint64_t most_bytes,
                    struct rw_cache_layout *layout)
{
    const uint64_t cuts_plus = h->has_bins ? (uint64_t)h->n_cut_features + 1 : 0;
    const struct {
        uint64_t n, size;
    } section[RW_CACHE_N_SECTIONS] = {
        [RW_CACHE_COLUMN_FEATURE] = {h->n_columns, sizeof(uint32_t)},
        [RW_CACHE_COLUMN_N] = {h->n_columns, sizeof(uint32_t)},
        [RW_CACHE_COLUMN_SPARSE] = {h->n_columns, 1},
        [RW_CACHE_ROW] = {h->n_rows, sizeof(uint32_t)},
        [RW_CACHE_VALUE] = {h->n_values, sizeof(float)},
        [RW_CACHE_LABEL] = {h->n_docs, sizeof(float)},
        [RW_CACHE_QUERY_OFFSET] = {(uint64_t)h->n_queries + 1, sizeof(uint32_t)},
        [RW_CACHE_QUERY_ID_OFFSET] = {(uint64_t)h->n_queries + 1, sizeof(uint64_t)},
        [RW_CACHE_QUERY_ID_TEXT] = {h->query_id_bytes, 1},
        [RW_CACHE_COMMENT_OFFSET] = {h->has_comments ? (uint64_t)h->n_docs + 1 : 0,
                                     sizeof(uint64_t)},
        [RW_CACHE_COMMENT_TEXT] = {h->comment_bytes, 1},
        [RW_CACHE_CUT_FEATURE] = {h->n_cut_features, sizeof(uint32_t)},
        [RW_CACHE_CUT_OFFSET] = {cuts_plus, sizeof(uint64_t)},
        [RW_CACHE_CUT] = {h->n_cuts, sizeof(float)},
        [RW_CACHE_HAS_MISSING] = {h->n_cut_features, 1},
        [RW_CACHE_CODE] = {h->code_bytes, 1},
    };
    uint64_t at = aligned(sizeof(*h));
    for (int i = 0; i < RW_CACHE_N_SECTIONS; i++) {
        if (at > most_bytes || section[i].n > (most_bytes - at) / section[i].size)
            return RW_ERR_FORMAT;
        layout->offset[i] = at;
        at = aligned(at + section[i].n * section[i].size);
    }
    layout->table = at;
    layout->table_bytes = 0;
    if (h->version == RW_CACHE_TABLE) { /* the rest */
        if (h->file_bytes > most_bytes || h->file_bytes < at + CRC_BYTES)
            return RW_ERR_FORMAT;
        layout->table_bytes = h->file_bytes - at - CRC_BYTES;
    }
    layout->file_bytes = at + layout->table_bytes + CRC_BYTES;
    return layout->file_bytes <= most_bytes ? RW_OK : RW_ERR_FORMAT;
}

/* --- writing --- */

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
    put(out, zeros, aligned(out->at) - out->at);
}

/* What begins at a multiple of 64 bytes, and what follows does. */
static void put_part(struct cache_out *out, const void *data, uint64_t n_bytes)
{
    put(out, data, n_bytes);
    pad(out);
}

/* A feature's block of codes: n and rest, rows if sparse (n under n_docs), codes; each aligned. */
static uint64_t block_bytes(uint32_t n, uint32_t n_docs, size_t code_bytes)
{
    const uint64_t rows = n < n_docs ? aligned((uint64_t)n * sizeof(uint32_t)) : 0;
    return aligned(2 * sizeof(uint32_t)) + rows + aligned((uint64_t)n * code_bytes);
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
            block_bytes(bins->codes[f].n, bins->n_docs, rw_cuts_code_bytes(bins->cuts, f));
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
        out->written = fopen(out->file.temporary, "rbe");
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

int rw_cache_write_file(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                        const struct rw_bins *bins, struct rw_out_file *file)
{
    struct cache_out out = {.file = *file};
    struct rw_cache_header header;
    struct rw_cache_layout layout;
    char *table;
    memset(&header, 0, sizeof(header));
    fill_header(dataset, bins, &header);
    RW_TRY(rw_cache_layout(&header, UINT64_MAX / 2, &layout));
    layout.table_bytes = rw_cache_table_bytes(dataset);
    layout.file_bytes += layout.table_bytes;
    RW_TRY(RW_NEW(ctx, table, layout.table_bytes));
    rw_cache_table_fill(dataset, table);
    header.version = layout.table_bytes ? RW_CACHE_TABLE : RW_CACHE_VERSION;
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

int rw_cache_write(struct rw_ctx *ctx, const struct rw_dataset *dataset, const struct rw_bins *bins,
                   const char *path)
{
    struct rw_out_file file;
    RW_TRY(rw_out_file_open(ctx, &file, path));
    const int status = rw_cache_write_file(ctx, dataset, bins, &file);
    rw_out_file_abandon(&file);
    return status;
}

/* --- reading --- */

/* Of a whole file, its last bytes included: is its checksum right? */
static int checksum_is_right(const struct rw_loaded *loaded)
{
    uint32_t crc;
    memcpy(&crc, (const char *)loaded->data + loaded->n_bytes - CRC_BYTES, CRC_BYTES);
    return loaded->crc == crc32_combine(crc, rw_checksum(0, &crc, CRC_BYTES), CRC_BYTES);
}

static int check_header(struct rw_ctx *ctx, const char *name, const struct rw_loaded *loaded,
                        struct rw_cache_header *h, struct rw_cache_layout *layout)
{
    const size_t size = loaded->file_bytes;
    if (size < sizeof(*h) + CRC_BYTES)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "'%s' is cut short: a cache has at least %zu bytes, this "
                       "has %zu",
                       name, sizeof(*h) + CRC_BYTES, size);
    memcpy(h, loaded->data, sizeof(*h));
    if (memcmp(h->magic, RW_CACHE_MAGIC, sizeof(h->magic)) != 0)
        return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is damaged: it does not begin as a cache", name);
    if (h->byte_order != RW_CACHE_BYTE_ORDER)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "'%s' is damaged, or was made on a machine of another "
                       "byte order\nhint: make it again with 'rankwood bin'",
                       name);
    if (h->version != RW_CACHE_VERSION && h->version != RW_CACHE_TABLE)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "'%s' is a cache of version %u; expected version %d or %d\n"
                       "hint: make it again with 'rankwood bin'",
                       name, h->version, RW_CACHE_VERSION, RW_CACHE_TABLE);
    if (h->file_bytes != size)
        return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is %s: expected %llu bytes, found %llu", name,
                       size < h->file_bytes ? "cut short" : "too long",
                       (unsigned long long)h->file_bytes, (unsigned long long)size);
    if (!checksum_is_right(loaded))
        return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is damaged: its checksum does not match", name);
    if (rw_cache_layout(h, size, layout) < 0 || layout->file_bytes != size)
        return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is damaged: its counts do not fit its size", name);
    return RW_OK;
}

static int damaged(struct rw_ctx *ctx, const char *name, const char *what)
{
    return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is damaged: %s", name, what);
}

static int view_columns(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                        const struct rw_cache_layout *layout, int has_values,
                        struct rw_dataset *dataset)
{
    char *map = dataset->cache;
    const uint32_t *feature = (const void *)(map + layout->offset[RW_CACHE_COLUMN_FEATURE]);
    const uint32_t *n = (const void *)(map + layout->offset[RW_CACHE_COLUMN_N]);
    const uint8_t *sparse = (const void *)(map + layout->offset[RW_CACHE_COLUMN_SPARSE]);
    uint32_t *row = (void *)(map + layout->offset[RW_CACHE_ROW]);
    float *value = (void *)(map + layout->offset[RW_CACHE_VALUE]);
    uint64_t n_rows = 0, n_values = 0;
    if (h->n_columns > RW_FEATURE_IDS)
        return damaged(ctx, name, "too many features");
    RW_TRY(RW_NEW(ctx, dataset->column, h->n_columns));
    dataset->n_columns = h->n_columns;
    for (uint32_t c = 0; c < h->n_columns; c++) {
        struct rw_column *column = &dataset->column[c];
        if (sparse[c] > 1 || n[c] > h->n_docs || (!sparse[c] && n[c] != h->n_docs) ||
            n[c] > h->n_values - n_values || (sparse[c] && n[c] > h->n_rows - n_rows))
            return damaged(ctx, name, "a column's length is wrong");
        column->feature = feature[c];
        column->n = n[c];
        if (has_values)
            column->value = value + n_values;
        if (has_values && sparse[c])
            column->row = row + n_rows;
        n_values += n[c];
        n_rows += sparse[c] ? n[c] : 0;
    }
    if (n_rows != h->n_rows || n_values != h->n_values)
        return damaged(ctx, name, "the columns' lengths do not add up");
    return RW_OK;
}

static int copy(struct rw_ctx *ctx, void **out, const void *from, uint64_t n, size_t size)
{
    RW_TRY(rw_mem_new_raw(ctx, out, n, size));
    if (n)
        memcpy(*out, from, n * size);
    return RW_OK;
}

static int view_codes(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                      char *section, struct rw_bins *bins)
{
    uint64_t at = 0;
    for (uint32_t f = 0; f < h->n_cut_features; f++) {
        struct rw_codes *codes = &bins->codes[f];
        const size_t code_bytes = rw_cuts_code_bytes(bins->cuts, f);
        if (h->code_bytes - at < RW_CACHE_ALIGN)
            return damaged(ctx, name, "codes are missing");
        const uint32_t *head = (const void *)(section + at);
        codes->n = head[0];
        codes->rest = head[1];
        if (codes->n > h->n_docs ||
            block_bytes(codes->n, h->n_docs, code_bytes) > h->code_bytes - at)
            return damaged(ctx, name, "codes are missing");
        const uint64_t end = at + block_bytes(codes->n, h->n_docs, code_bytes);
        if (codes->n < h->n_docs)
            codes->row = (void *)(section + at + RW_CACHE_ALIGN);
        codes->code = section + end - aligned((uint64_t)codes->n * code_bytes);
        at = end;
    }
    return at == h->code_bytes ? RW_OK : damaged(ctx, name, "there are codes too many");
}

static struct rw_cut_rule rule_of(const struct rw_cache_header *h)
{
    return (struct rw_cut_rule){
        .bins = h->bins, .absent_missing = (int)h->absent_missing, .min_docs = h->min_docs};
}

/* Cuts are copied, for they are freed like any other; codes stay in the file's bytes. */
static int view_bins(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                     const struct rw_cache_layout *layout, char *map, struct rw_bins **out)
{
    struct rw_bins *bins;
    RW_TRY(RW_NEW(ctx, *out, 1));
    bins = *out;
    bins->codes_are_views = 1;
    bins->owns_cuts = 1;
    RW_TRY(RW_NEW(ctx, bins->cuts, 1));
    struct rw_cuts *cuts = bins->cuts;
    const uint64_t n = h->n_cut_features;
    RW_TRY(copy(ctx, (void **)&cuts->feature, map + layout->offset[RW_CACHE_CUT_FEATURE], n,
                sizeof(*cuts->feature)));
    RW_TRY(copy(ctx, (void **)&cuts->offset, map + layout->offset[RW_CACHE_CUT_OFFSET], n + 1,
                sizeof(*cuts->offset)));
    RW_TRY(copy(ctx, (void **)&cuts->cut, map + layout->offset[RW_CACHE_CUT], h->n_cuts,
                sizeof(*cuts->cut)));
    RW_TRY(
        copy(ctx, (void **)&cuts->has_missing, map + layout->offset[RW_CACHE_HAS_MISSING], n, 1));
    if (h->bins < 2 || h->bins > RW_MAX_BINS || h->absent_missing > 1)
        return damaged(ctx, name, "its parameters are out of range");
    bins->rule = rule_of(h);
    bins->n_docs = h->n_docs;
    cuts->n_constant = h->n_constant;
    cuts->n_few = h->n_few;
    cuts->n_ignored = h->n_ignored;
    if (cuts->offset[0] != 0 || cuts->offset[n] != h->n_cuts)
        return damaged(ctx, name, "the cuts' counts do not add up");
    for (uint64_t f = 0; f < n; f++) {
        if (cuts->offset[f + 1] <= cuts->offset[f] || cuts->offset[f + 1] > h->n_cuts ||
            cuts->offset[f + 1] - cuts->offset[f] > (uint64_t)h->bins || cuts->has_missing[f] > 1)
            return damaged(ctx, name, "a feature's number of cuts is wrong");
    }
    RW_TRY(RW_NEW(ctx, bins->codes, n));
    cuts->n_features = h->n_cut_features;
    return view_codes(ctx, name, h, map + layout->offset[RW_CACHE_CODE], bins);
}

/* Values, and the documents that they are of, if training by `rule` needs only codes, and the cache
 * has them. h: what its header is before it is read. */
static void leave_out_values(const struct rw_input *input, const struct rw_cut_rule *rule,
                             struct rw_cache_header *h, struct rw_loaded *loaded)
{
    struct rw_cache_layout layout;
    size_t n_bytes;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    _Static_assert(sizeof(*h) <= RW_INPUT_HEAD, "the header is in the head");
    if (n_bytes < sizeof(*h))
        return;
    memcpy(h, head, sizeof(*h));
    const struct rw_cut_rule has = rule_of(h);
    if (!h->has_bins || !rw_cut_rule_serves(&has, rule) ||
        rw_cache_layout(h, UINT64_MAX / 2, &layout) < 0 || layout.file_bytes != h->file_bytes)
        return;
    loaded->left_out = layout.offset[RW_CACHE_ROW];
    loaded->left_out_end = layout.offset[RW_CACHE_LABEL];
}

/* Columns whose values are left out are their features. */
static int take_features(struct rw_ctx *ctx, struct rw_binned *binned)
{
    struct rw_dataset *dataset = binned->documents;
    RW_TRY(RW_NEW(ctx, binned->feature, dataset->n_columns));
    for (; binned->n_features < dataset->n_columns; binned->n_features++)
        binned->feature[binned->n_features] = dataset->column[binned->n_features].feature;
    dataset->n_columns = 0;
    return RW_OK;
}

int rw_cache_read(struct rw_ctx *ctx, struct rw_input *input, const struct rw_cut_rule *rule,
                  struct rw_binned *out)
{
    const char *name = rw_input_name(input);
    struct rw_cache_header header, before;
    struct rw_cache_layout layout;
    struct rw_loaded loaded = {.data = NULL};
    int status;
    RW_TRY(rw_dataset_new(ctx, &out->documents));
    struct rw_dataset *dataset = out->documents;
    if (rule)
        leave_out_values(input, rule, &before, &loaded);
    RW_TRY_OUT(rw_input_load(ctx, input, &loaded));
    dataset->cache = loaded.data;
    dataset->cache_bytes = loaded.n_bytes;
    char *map = loaded.data;
    RW_TRY_OUT(check_header(ctx, name, &loaded, &header, &layout));
    if (loaded.left_out_end && memcmp(&before, &header, sizeof(header)) != 0) {
        status = rw_fail(ctx, RW_ERR_DATA, "'%s' changed while it was read", name);
        goto out;
    }
    for (int i = RW_CACHE_LABEL; i < RW_CACHE_N_SECTIONS; i++)
        layout.offset[i] -= loaded.left_out_end - loaded.left_out;
    if (header.has_bins > 1 || header.has_comments > 1 || header.n_docs == 0 ||
        header.n_docs > RW_MAX_DOCS || header.n_queries == 0 || header.n_queries > header.n_docs) {
        status = damaged(ctx, name, "a count is out of range");
        goto out;
    }
    dataset->n_docs = header.n_docs;
    dataset->n_queries = header.n_queries;
    dataset->n_clamped = header.n_clamped;
    dataset->label = (void *)(map + layout.offset[RW_CACHE_LABEL]);
    dataset->query_offset = (void *)(map + layout.offset[RW_CACHE_QUERY_OFFSET]);
    dataset->query_id_offset = (void *)(map + layout.offset[RW_CACHE_QUERY_ID_OFFSET]);
    dataset->query_id_text = map + layout.offset[RW_CACHE_QUERY_ID_TEXT];
    if (header.has_comments) {
        dataset->comment_offset = (void *)(map + layout.offset[RW_CACHE_COMMENT_OFFSET]);
        dataset->comment_text = map + layout.offset[RW_CACHE_COMMENT_TEXT];
    }
    RW_TRY_OUT(view_columns(ctx, name, &header, &layout, !loaded.left_out_end, dataset));
    if (header.has_bins)
        RW_TRY_OUT(view_bins(ctx, name, &header, &layout, map, &out->bins));
    RW_TRY_OUT(rw_cache_check(ctx, name, dataset, out->bins, &header));
    layout.table -= loaded.left_out_end - loaded.left_out;
    RW_TRY_OUT(rw_cache_table_read(ctx, name, map + layout.table, layout.table_bytes, dataset));
    if (loaded.left_out_end)
        RW_TRY_OUT(take_features(ctx, out));
    else {
        rw_bins_free(out->bins);
        out->bins = NULL;
    }
    return RW_OK;
out:
    rw_binned_release(out);
    return status;
}

/* --- as a format: pieces of a cache --- */

struct cache_reader {
    struct rw_dataset *dataset; /* owned */
    struct rw_seen *seen;       /* borrowed */
    char *name;                 /* owned */
    uint32_t next_doc;
};

/* A cache whose first bytes are damaged is still no text. */
static int probe(const unsigned char *head, size_t n_bytes)
{
    int n_same = 0;
    for (size_t i = 0; i < 8 && i < n_bytes; i++)
        n_same += head[i] == (unsigned char)RW_CACHE_MAGIC[i];
    return n_same >= 6;
}

static void format_close(void *state)
{
    struct cache_reader *reader = state;
    if (!reader)
        return;
    rw_dataset_free(reader->dataset);
    rw_mem_free(reader->name);
    rw_mem_free(reader);
}

static int format_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                       void **state)
{
    struct cache_reader *reader;
    struct rw_binned read = {.documents = NULL};
    int status;
    *state = NULL;
    RW_TRY(RW_NEW(ctx, reader, 1));
    reader->seen = seen;
    RW_TRY_OUT(rw_mem_copy_text(ctx, &reader->name, rw_input_name(input)));
    RW_TRY_OUT(rw_cache_read(ctx, input, NULL, &read));
    reader->dataset = read.documents;
    *state = reader;
    return RW_OK;
out:
    format_close(reader);
    return status;
}

static int format_next(struct rw_ctx *ctx, void *state, struct rw_builder_list *list, int *more)
{
    struct cache_reader *reader = state;
    const struct rw_dataset *dataset = reader->dataset;
    uint32_t n = SLICE_VALUES / (dataset->n_columns + 1) + 1;
    if (n > MOST_SLICE_DOCS)
        n = MOST_SLICE_DOCS;
    if (n > dataset->n_docs - reader->next_doc)
        n = dataset->n_docs - reader->next_doc;
    RW_TRY(RW_GROW(ctx, list->builder, list->room, list->n + 1));
    struct rw_builder *builder = &list->builder[list->n++];
    memset(builder, 0, sizeof(*builder));
    RW_TRY(rw_builder_copy(ctx, builder, dataset, reader->next_doc, reader->next_doc + n));
    builder->n_clamped = reader->next_doc == 0 ? dataset->n_clamped : 0;
    if (reader->next_doc == 0) {
        RW_TRY(rw_names_copy(ctx, dataset->name, dataset->n_names, &builder->name));
        builder->n_names = dataset->n_names;
    }
    for (uint32_t q = 0; reader->seen && q < builder->n_queries; q++)
        RW_TRY(rw_seen_add(ctx, reader->seen, builder->query_id_text + builder->query_id_offset[q],
                           reader->name, 0, 0));
    reader->next_doc += n;
    *more = reader->next_doc < dataset->n_docs;
    return RW_OK;
}

const struct rw_data_format rw_data_format_cache = {.name = "cache",
                                                    .probe = probe,
                                                    .open = format_open,
                                                    .next = format_next,
                                                    .close = format_close,
                                                    .whole = rw_cache_read};
