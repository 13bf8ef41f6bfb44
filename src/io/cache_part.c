/* A part of a cache: a range of its documents, read to memory as a cache of those alone would
 * stand there, so that it is checked and used like one. */
#include <sys/mman.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/system.h"
#include "comm/comm.h"
#include "io/cache.h"
#include "io/data_format.h"

static int changed(struct rw_ctx *ctx, const struct rw_input *input)
{
    return rw_fail(ctx, RW_ERR_DATA, "'%s' changed while it was read, or is damaged",
                   rw_input_name(input));
}

/* n_bytes of the file, all of them. */
static int get(struct rw_ctx *ctx, const struct rw_input *input, uint64_t at, void *to,
               size_t n_bytes)
{
    size_t got;
    const int why = rw_input_read_at(input, at, to, n_bytes, &got);
    if (why)
        return rw_fail_io(ctx, why, "cannot read '%s'", rw_input_name(input));
    return got < n_bytes ? changed(ctx, input) : RW_OK;
}

/* How many of the n ascending numbers from byte `at` on are under `value`. */
static int count_under(struct rw_ctx *ctx, const struct rw_input *input, uint64_t at, uint32_t n,
                       uint32_t value, uint32_t *out)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        uint32_t one;
        RW_TRY(get(ctx, input, at + (uint64_t)middle * sizeof(one), &one, sizeof(one)));
        if (one < value)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    return RW_OK;
}

/* ---- where queries begin ---- */

/* A cache that is looked at. */
struct whole {
    const struct rw_input *input; /* borrowed */
    struct rw_cache_header h;
    struct rw_cache_layout layout;
};

static int whole_open(struct rw_ctx *ctx, const struct rw_input *input, struct whole *whole)
{
    const char *name = rw_input_name(input);
    size_t n_bytes;
    uint64_t file_bytes = 0;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    whole->input = input;
    rw_input_is_seekable(input, &file_bytes);
    RW_TRY(rw_cache_header_of(ctx, name, head, n_bytes, file_bytes, &whole->h));
    return rw_cache_check_counts(ctx, name, &whole->h, &whole->layout);
}

/* The document that a byte of the file stands for: bytes are shared out, but documents divided. */
static uint32_t document_at(const struct whole *whole, uint64_t at)
{
    const uint64_t n_bytes = whole->h.file_bytes;
    return at < n_bytes ? (uint32_t)((double)at / (double)n_bytes * whole->h.n_docs)
                        : whole->h.n_docs;
}

static int query_offset(struct rw_ctx *ctx, const struct whole *whole, uint32_t q, uint32_t *out)
{
    return get(ctx, whole->input,
               whole->layout.offset[RW_CACHE_QUERY_OFFSET] + (uint64_t)q * sizeof(*out), out,
               sizeof(*out));
}

/* Queries that begin before a document. */
static int queries_under(struct rw_ctx *ctx, const struct whole *whole, uint32_t doc, uint32_t *q)
{
    return count_under(ctx, whole->input, whole->layout.offset[RW_CACHE_QUERY_OFFSET],
                       whole->h.n_queries, doc, q);
}

static int query_text(struct rw_ctx *ctx, const struct whole *whole, uint32_t q,
                      struct rw_query_text *query)
{
    const uint64_t *at = whole->layout.offset;
    uint64_t offset[2];
    RW_TRY(get(ctx, whole->input, at[RW_CACHE_QUERY_ID_OFFSET] + q * sizeof(offset[0]), offset,
               sizeof(offset)));
    if (offset[0] >= offset[1] || offset[1] > whole->h.query_id_bytes)
        return changed(ctx, whole->input);
    const size_t n = (size_t)(offset[1] - offset[0]) - 1; /* without the 0 */
    RW_TRY(RW_GROW(ctx, query->text, query->room, n));
    query->n = n;
    query->is_known = 1;
    return get(ctx, whole->input, at[RW_CACHE_QUERY_ID_TEXT] + offset[0], query->text, n);
}

int rw_cache_can_divide(struct rw_input *input)
{
    uint64_t n_bytes;
    return rw_input_is_seekable(input, &n_bytes);
}

int rw_cache_query_before(struct rw_ctx *ctx, struct rw_input *input, uint64_t at,
                          struct rw_query_text *query)
{
    struct whole whole;
    uint32_t q;
    query->is_known = 0;
    RW_TRY(whole_open(ctx, input, &whole));
    RW_TRY(queries_under(ctx, &whole, document_at(&whole, at), &q));
    return q ? query_text(ctx, &whole, q - 1, query) : RW_OK;
}

int rw_cache_next_query(struct rw_ctx *ctx, struct rw_input *input, uint64_t at,
                        const struct rw_query_text *before, uint64_t *place)
{
    struct whole whole;
    struct rw_query_text query = {.text = NULL};
    uint32_t q, doc;
    int status;
    *place = UINT64_MAX;
    RW_TRY(whole_open(ctx, input, &whole));
    RW_TRY(queries_under(ctx, &whole, document_at(&whole, at), &q));
    if (q == 0 && before->is_known) { /* the file before may have ended inside of it */
        RW_TRY_OUT(query_text(ctx, &whole, 0, &query));
        q += (uint32_t)rw_query_text_is(before, query.text, query.n);
    }
    status = q < whole.h.n_queries ? query_offset(ctx, &whole, q, &doc) : RW_OK;
    if (status >= 0 && q < whole.h.n_queries)
        *place = doc;
out:
    rw_mem_free(query.text);
    return status;
}

/* ---- the checksum: each rank reads its part of the bytes ---- */

int rw_cache_check_together(struct rw_ctx *ctx, struct rw_input *input)
{
    const char *name = rw_input_name(input);
    const uint64_t n_ranks = (uint64_t)rw_n_ranks(ctx), rank = (uint64_t)rw_rank(ctx);
    struct rw_cache_header h;
    uint64_t file_bytes = 0;
    size_t n_bytes;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    uint32_t *sums = NULL, own = 0, all = 0, written;
    rw_input_is_seekable(input, &file_bytes);
    const uint64_t each = file_bytes / n_ranks;
    const uint64_t begin = rank * each, end = rank + 1 < n_ranks ? begin + each : file_bytes;
    int status = rw_cache_header_of(ctx, name, head, n_bytes, file_bytes, &h);
    status = status < 0 ? status : RW_NEW(ctx, sums, n_ranks);
    status = status < 0 ? status : rw_input_sum(ctx, input, begin, end, &own);
    status = status < 0 ? status
                        : get(ctx, input, file_bytes - sizeof(written), &written, sizeof(written));
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_comm_all_gather(ctx, &own, sums, sizeof(own)));
    for (uint64_t r = 0; r < n_ranks; r++) {
        const uint64_t n = r + 1 < n_ranks ? each : file_bytes - r * each;
        all = (uint32_t)crc32_combine(all, sums[r], (z_off_t)n);
    }
    status = rw_comm_agree(ctx, rw_cache_check_sum(ctx, name, all, written));
out:
    rw_mem_free(sums);
    return status;
}

/* ---- what is read, and where it goes ---- */

/* Bytes of the file to memory; of each number of `width` bytes (0: they are no numbers) `minus` is
 * subtracted. */
struct copy {
    uint64_t from, n_bytes, minus;
    char *to;
    int width;
};

struct part {
    struct rw_ctx *ctx; /* borrowed */
    struct whole whole;
    uint32_t begin, end;             /* documents */
    uint32_t first_query, end_query; /* theirs */
    uint64_t id_begin, id_end;       /* their ids, in the file's text of ids */
    uint64_t comment_begin, comment_end;
    /* what its own cache would have */
    struct rw_cache_header h;
    struct rw_cache_layout layout;
    char *map;
    /* of the file: [n_columns]; owned */
    uint32_t *feature, *column_n;
    uint8_t *sparse;
    uint32_t *part_n, *part_first; /* the part's entries, from which one on; owned */
    uint64_t *cut_offset;          /* [n_cut_features + 1] owned */
    uint8_t *has_missing;          /* [n_cut_features] owned */
    struct code_block *block;      /* [n_cut_features] owned */
    struct rw_cache_table_parts table;
    struct copy *copy; /* [n_copies] owned */
    size_t n_copies, copy_room;
};

/* A feature's codes. */
struct code_block {
    uint64_t at;       /* in the file */
    uint32_t head[2];  /* n, rest */
    uint32_t first, n; /* the part's entries */
    size_t width;
};

static void part_release(struct part *p)
{
    void *const owned[] = {p->feature,    p->column_n,    p->sparse, p->part_n, p->part_first,
                           p->cut_offset, p->has_missing, p->block,  p->copy};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
}

static int add(struct part *p, uint64_t from, char *to, uint64_t n_bytes, uint64_t minus, int width)
{
    RW_TRY(RW_GROW(p->ctx, p->copy, p->copy_room, p->n_copies + 1));
    p->copy[p->n_copies++] =
        (struct copy){.from = from, .to = to, .n_bytes = n_bytes, .minus = minus, .width = width};
    return RW_OK;
}

/* A new array of the first `n` elements of a section. */
static int get_new(struct part *p, void **out, enum rw_cache_section section, uint64_t n,
                   size_t size)
{
    RW_TRY(rw_mem_new_raw(p->ctx, out, n, size));
    return get(p->ctx, p->whole.input, p->whole.layout.offset[section], *out, n * size);
}

/* ---- sizes ---- */

static int get_u64(const struct part *p, enum rw_cache_section section, uint64_t i, uint64_t *out)
{
    return get(p->ctx, p->whole.input, p->whole.layout.offset[section] + i * sizeof(*out), out,
               sizeof(*out));
}

static int measure_lines(struct part *p)
{
    const struct rw_cache_header *from = &p->whole.h;
    uint32_t doc;
    RW_TRY(queries_under(p->ctx, &p->whole, p->begin, &p->first_query));
    RW_TRY(queries_under(p->ctx, &p->whole, p->end, &p->end_query));
    RW_TRY(query_offset(p->ctx, &p->whole, p->first_query, &doc));
    RW_TRY(get_u64(p, RW_CACHE_QUERY_ID_OFFSET, p->first_query, &p->id_begin));
    RW_TRY(get_u64(p, RW_CACHE_QUERY_ID_OFFSET, p->end_query, &p->id_end));
    if (from->has_comments) {
        RW_TRY(get_u64(p, RW_CACHE_COMMENT_OFFSET, p->begin, &p->comment_begin));
        RW_TRY(get_u64(p, RW_CACHE_COMMENT_OFFSET, p->end, &p->comment_end));
    }
    if (doc != p->begin || p->id_begin > p->id_end || p->id_end > from->query_id_bytes ||
        p->comment_begin > p->comment_end || p->comment_end > from->comment_bytes)
        return changed(p->ctx, p->whole.input);
    p->h.n_docs = p->end - p->begin;
    p->h.n_queries = p->end_query - p->first_query;
    p->h.query_id_bytes = p->id_end - p->id_begin;
    p->h.comment_bytes = p->comment_end - p->comment_begin;
    p->h.n_clamped = p->begin == 0 ? from->n_clamped : 0;
    return RW_OK;
}

/* The part of each column; with_values: else only which features there are is of use. */
static int measure_columns(struct part *p, int with_values)
{
    const struct rw_cache_header *from = &p->whole.h;
    const uint64_t n = from->n_columns, rows = p->whole.layout.offset[RW_CACHE_ROW];
    uint64_t row_at = 0;
    RW_TRY(get_new(p, (void **)&p->feature, RW_CACHE_COLUMN_FEATURE, n, sizeof(*p->feature)));
    RW_TRY(get_new(p, (void **)&p->column_n, RW_CACHE_COLUMN_N, n, sizeof(*p->column_n)));
    RW_TRY(get_new(p, (void **)&p->sparse, RW_CACHE_COLUMN_SPARSE, n, 1));
    RW_TRY(rw_cache_check_columns(p->ctx, rw_input_name(p->whole.input), from, p->column_n,
                                  p->sparse));
    RW_TRY(RW_NEW(p->ctx, p->part_n, n));
    RW_TRY(RW_NEW(p->ctx, p->part_first, n));
    p->h.n_rows = p->h.n_values = 0;
    for (uint32_t c = 0; with_values && c < n; c++) {
        uint32_t end = p->end;
        p->part_first[c] = p->begin;
        if (p->sparse[c]) {
            const uint64_t at = rows + row_at * sizeof(uint32_t);
            RW_TRY(count_under(p->ctx, p->whole.input, at, p->column_n[c], p->begin,
                               &p->part_first[c]));
            RW_TRY(count_under(p->ctx, p->whole.input, at, p->column_n[c], p->end, &end));
            row_at += p->column_n[c];
        }
        if (end < p->part_first[c]) /* rows that do not ascend */
            return changed(p->ctx, p->whole.input);
        p->part_n[c] = end - p->part_first[c];
        p->h.n_values += p->part_n[c];
        p->h.n_rows += p->sparse[c] ? p->part_n[c] : 0;
    }
    return RW_OK;
}

static int measure_block(struct part *p, uint32_t f, uint64_t *at)
{
    const struct rw_cache_header *from = &p->whole.h;
    struct code_block *block = &p->block[f];
    const uint64_t section = p->whole.layout.offset[RW_CACHE_CODE];
    const uint64_t n_codes = p->cut_offset[f + 1] - p->cut_offset[f] + p->has_missing[f];
    block->width = n_codes > 256 ? 2 : 1;
    block->at = section + *at;
    if (from->code_bytes - *at < RW_CACHE_ALIGN)
        return changed(p->ctx, p->whole.input);
    RW_TRY(get(p->ctx, p->whole.input, block->at, block->head, sizeof(block->head)));
    const uint32_t n = block->head[0];
    const uint64_t n_bytes =
        n <= from->n_docs ? rw_cache_block_bytes(n, from->n_docs, block->width) : UINT64_MAX;
    if (n_bytes > from->code_bytes - *at)
        return changed(p->ctx, p->whole.input);
    uint32_t end = p->end;
    block->first = p->begin;
    if (n < from->n_docs) {
        const uint64_t rows = block->at + RW_CACHE_ALIGN;
        RW_TRY(count_under(p->ctx, p->whole.input, rows, n, p->begin, &block->first));
        RW_TRY(count_under(p->ctx, p->whole.input, rows, n, p->end, &end));
    }
    if (end < block->first)
        return changed(p->ctx, p->whole.input);
    block->n = end - block->first;
    *at += n_bytes;
    p->h.code_bytes += rw_cache_block_bytes(block->n, p->h.n_docs, block->width);
    return RW_OK;
}

static int measure_codes(struct part *p)
{
    const uint64_t n = p->whole.h.n_cut_features;
    uint64_t at = 0;
    p->h.code_bytes = 0;
    RW_TRY(get_new(p, (void **)&p->cut_offset, RW_CACHE_CUT_OFFSET, n + 1, sizeof(*p->cut_offset)));
    RW_TRY(get_new(p, (void **)&p->has_missing, RW_CACHE_HAS_MISSING, n, 1));
    RW_TRY(RW_NEW(p->ctx, p->block, n));
    for (uint32_t f = 0; f < n; f++)
        RW_TRY(measure_block(p, f, &at));
    return RW_OK;
}

static void without_codes(struct rw_cache_header *h)
{
    h->has_bins = h->n_cut_features = 0;
    h->n_cuts = h->code_bytes = 0;
}

/* Names, words, weights and further labels; the bytes that the part has of them. */
static int measure_table(struct part *p, uint64_t *n_bytes)
{
    const struct rw_cache_layout *layout = &p->whole.layout;
    char head[RW_CACHE_TABLE_HEAD];
    *n_bytes = 0;
    if (layout->table_bytes == 0)
        return RW_OK;
    RW_TRY(get(p->ctx, p->whole.input, layout->table, head,
               layout->table_bytes < sizeof(head) ? layout->table_bytes : sizeof(head)));
    if (rw_cache_table_divide(&p->whole.h, head, layout->table_bytes, &p->table) < 0)
        return changed(p->ctx, p->whole.input);
    *n_bytes = p->table.names_bytes;
    for (uint32_t i = 0; i < p->table.n_arrays; i++)
        *n_bytes += p->table.doc_bytes[i] * p->h.n_docs;
    return RW_OK;
}

static int measure(struct part *p, int with_codes)
{
    uint64_t table_bytes;
    p->h = p->whole.h;
    RW_TRY(measure_lines(p));
    RW_TRY(measure_columns(p, !with_codes));
    if (with_codes)
        RW_TRY(measure_codes(p));
    else
        without_codes(&p->h);
    RW_TRY(measure_table(p, &table_bytes));
    p->h.version = RW_CACHE_VERSION;
    RW_TRY(rw_cache_layout(&p->h, UINT64_MAX / 2, &p->layout));
    p->h.version = p->whole.h.version;
    p->h.file_bytes = p->layout.file_bytes + table_bytes;
    return rw_cache_layout(&p->h, UINT64_MAX / 2, &p->layout);
}

/* ---- copies ---- */

/* Elements [first, first + n) of a section. */
static int add_section(struct part *p, enum rw_cache_section section, uint64_t first, uint64_t n,
                       size_t size, uint64_t minus, int width)
{
    return add(p, p->whole.layout.offset[section] + first * size,
               p->map + p->layout.offset[section], n * size, minus, width);
}

static int add_lines(struct part *p)
{
    const uint64_t n_docs = p->h.n_docs, n_queries = p->h.n_queries;
    enum { OFFSET = sizeof(uint64_t), ROW = sizeof(uint32_t) };
    RW_TRY(add_section(p, RW_CACHE_LABEL, p->begin, n_docs, sizeof(float), 0, 0));
    RW_TRY(
        add_section(p, RW_CACHE_QUERY_OFFSET, p->first_query, n_queries + 1, ROW, p->begin, ROW));
    RW_TRY(add_section(p, RW_CACHE_QUERY_ID_OFFSET, p->first_query, n_queries + 1, OFFSET,
                       p->id_begin, OFFSET));
    RW_TRY(add_section(p, RW_CACHE_QUERY_ID_TEXT, p->id_begin, p->h.query_id_bytes, 1, 0, 0));
    if (!p->h.has_comments)
        return RW_OK;
    RW_TRY(add_section(p, RW_CACHE_COMMENT_OFFSET, p->begin, n_docs + 1, OFFSET, p->comment_begin,
                       OFFSET));
    return add_section(p, RW_CACHE_COMMENT_TEXT, p->comment_begin, p->h.comment_bytes, 1, 0, 0);
}

static int add_columns(struct part *p, int with_codes)
{
    uint32_t *n = (void *)(p->map + p->layout.offset[RW_CACHE_COLUMN_N]);
    uint8_t *sparse = (void *)(p->map + p->layout.offset[RW_CACHE_COLUMN_SPARSE]);
    uint64_t row = 0, value = 0, from_row = 0, from_value = 0; /* so far */
    const size_t size = sizeof(uint32_t);
    if (p->h.n_columns)
        memcpy(p->map + p->layout.offset[RW_CACHE_COLUMN_FEATURE], p->feature,
               p->h.n_columns * sizeof(*p->feature));
    for (uint32_t c = 0; c < p->h.n_columns; c++) {
        const uint64_t first = p->part_first[c], bytes = p->part_n[c] * size;
        n[c] = p->part_n[c];
        sparse[c] = with_codes || p->sparse[c];
        if (with_codes)
            continue;
        if (sparse[c])
            RW_TRY(add(p, p->whole.layout.offset[RW_CACHE_ROW] + (from_row + first) * size,
                       p->map + p->layout.offset[RW_CACHE_ROW] + row * size, bytes, p->begin,
                       (int)size));
        RW_TRY(add(p, p->whole.layout.offset[RW_CACHE_VALUE] + (from_value + first) * size,
                   p->map + p->layout.offset[RW_CACHE_VALUE] + value * size, bytes, 0, 0));
        row += sparse[c] ? n[c] : 0;
        value += n[c];
        from_row += sparse[c] ? p->column_n[c] : 0;
        from_value += p->column_n[c];
    }
    return RW_OK;
}

static int add_codes(struct part *p)
{
    const uint64_t n = p->h.n_cut_features;
    char *to = p->map + p->layout.offset[RW_CACHE_CODE];
    RW_TRY(add_section(p, RW_CACHE_CUT_FEATURE, 0, n, sizeof(uint32_t), 0, 0));
    RW_TRY(add_section(p, RW_CACHE_CUT_OFFSET, 0, n + 1, sizeof(uint64_t), 0, 0));
    RW_TRY(add_section(p, RW_CACHE_CUT, 0, p->h.n_cuts, sizeof(float), 0, 0));
    RW_TRY(add_section(p, RW_CACHE_HAS_MISSING, 0, n, 1, 0, 0));
    for (uint32_t f = 0; f < n; f++) {
        const struct code_block *block = &p->block[f];
        const uint32_t from_n = block->head[0], head[2] = {block->n, block->head[1]};
        const int is_sparse = block->n < p->h.n_docs;
        const uint64_t from_codes = block->at +
                                    rw_cache_block_bytes(from_n, p->whole.h.n_docs, block->width) -
                                    rw_cache_aligned((uint64_t)from_n * block->width);
        const uint64_t row = sizeof(uint32_t);
        memcpy(to, head, sizeof(head));
        to += RW_CACHE_ALIGN;
        if (is_sparse) {
            RW_TRY(add(p, block->at + RW_CACHE_ALIGN + block->first * row, to, block->n * row,
                       p->begin, (int)row));
            to += rw_cache_aligned(block->n * row);
        }
        RW_TRY(add(p, from_codes + block->first * block->width, to, block->n * block->width, 0, 0));
        to += rw_cache_aligned(block->n * block->width);
    }
    return RW_OK;
}

static int add_table(struct part *p)
{
    uint64_t from = p->whole.layout.table + p->table.names_bytes;
    char *to = p->map + p->layout.table;
    if (p->layout.table_bytes == 0)
        return RW_OK;
    RW_TRY(add(p, p->whole.layout.table, to, p->table.names_bytes, 0, 0));
    to += p->table.names_bytes;
    for (uint32_t i = 0; i < p->table.n_arrays; i++) {
        const uint64_t width = p->table.doc_bytes[i];
        RW_TRY(add(p, from + p->begin * width, to, p->h.n_docs * width, 0, 0));
        from += p->whole.h.n_docs * width;
        to += p->h.n_docs * width;
    }
    return RW_OK;
}

struct copying {
    const struct part *p;
    int read_errno;
};

static void subtract(const struct copy *one)
{
    for (uint64_t i = 0; one->width == 4 && i < one->n_bytes / 4; i++)
        ((uint32_t *)(void *)one->to)[i] -= (uint32_t)one->minus;
    for (uint64_t i = 0; one->width == 8 && i < one->n_bytes / 8; i++)
        ((uint64_t *)(void *)one->to)[i] -= one->minus;
}

static int copy_some(void *user, struct rw_share *share)
{
    struct copying *job = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        const struct copy *one = &job->p->copy[i];
        size_t got;
        const int why =
            rw_input_read_at(job->p->whole.input, one->from, one->to, one->n_bytes, &got);
        if (why || got < one->n_bytes) {
            rw_share_lock(share);
            job->read_errno = why;
            rw_share_unlock(share);
            return RW_ERR_IO;
        }
        subtract(one);
    }
    return RW_OK;
}

static int copy_all(struct part *p)
{
    struct copying job = {.p = p};
    if (rw_parallel(p->ctx, p->ctx->n_threads, p->n_copies, 1, copy_some, &job) >= 0)
        return RW_OK;
    return job.read_errno ? rw_fail_io(p->ctx, job.read_errno, "cannot read '%s'",
                                       rw_input_name(p->whole.input))
                          : changed(p->ctx, p->whole.input);
}

/* ---- all ---- */

static int fill(struct part *p, int with_codes, struct rw_binned *out)
{
    const size_t n_bytes = p->layout.file_bytes;
    RW_TRY(rw_input_check_room(p->ctx, p->whole.input, n_bytes));
    p->map = rw_system_map(n_bytes, 0);
    if (p->map == MAP_FAILED)
        return rw_fail(p->ctx, RW_ERR_MEMORY, "out of memory: a part of '%s' does not fit",
                       rw_input_name(p->whole.input));
    out->documents->cache = p->map;
    out->documents->cache_bytes = n_bytes;
    rw_system_large_pages(p->map, n_bytes);
    RW_TRY(add_lines(p));
    RW_TRY(add_columns(p, with_codes));
    if (with_codes)
        RW_TRY(add_codes(p));
    RW_TRY(add_table(p));
    return copy_all(p);
}

/* Has any document a value? */
static int has_values(const struct rw_column *column)
{
    for (uint32_t i = 0; i < column->n; i++) {
        if (!rw_is_absent(column->value[i]))
            return 1;
    }
    return 0;
}

static void drop_empty_columns(struct rw_dataset *dataset)
{
    uint32_t n = 0;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (has_values(&dataset->column[c]))
            dataset->column[n++] = dataset->column[c];
    }
    dataset->n_columns = n;
}

int rw_cache_read_part(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                       const struct rw_cut_rule *rule, struct rw_binned *out)
{
    struct part p = {.ctx = ctx};
    int status;
    RW_TRY_OUT(whole_open(ctx, input, &p.whole));
    const struct rw_cut_rule has = rw_cache_rule_of(&p.whole.h);
    const int with_codes = rule && p.whole.h.has_bins && rw_cut_rule_serves(&has, rule);
    p.begin = range->begin < p.whole.h.n_docs ? (uint32_t)range->begin : p.whole.h.n_docs;
    p.end = range->end < p.whole.h.n_docs ? (uint32_t)range->end : p.whole.h.n_docs;
    RW_TRY_OUT(rw_dataset_new(ctx, &out->documents));
    RW_TRY_OUT(measure(&p, with_codes));
    RW_TRY_OUT(fill(&p, with_codes, out));
    RW_TRY_OUT(rw_cache_view(ctx, rw_input_name(input), &p.h, &p.layout,
                             with_codes ? RW_CACHE_CODES : RW_CACHE_PART, out));
    if (!with_codes)
        drop_empty_columns(out->documents);
out:
    part_release(&p);
    if (status < 0)
        rw_binned_release(out);
    return status;
}
