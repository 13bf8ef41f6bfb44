/* A part of a cache: a range of its documents, read to memory as a cache of those alone would
 * stand there, so that it is checked and used like one. */
#include <sys/mman.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/system.h"
#include "comm/comm.h"
#include "io/cache/cache.h"
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
    uint64_t first[RW_CACHE_N_AXES]; /* of the file's, the part's own first one */
    /* what its own cache would have */
    struct rw_cache_header h;
    struct rw_cache_layout layout;
    char *map;
    uint64_t *cut_offset;  /* of the file: [n_cut_features + 1] owned */
    uint8_t *has_missing;  /* [n_cut_features] owned */
    struct entries *entry; /* [n_entries] of columns, or of features with cuts; owned */
    uint32_t n_entries;
    struct copy *copy; /* [n_copies] owned */
    size_t n_copies, copy_room;
};

/* What the part has of a block. */
struct entries {
    struct rw_cache_block block; /* in the file */
    size_t width;
    uint32_t first, n; /* the part's entries, from which one on */
};

static void part_release(struct part *p)
{
    void *const owned[] = {p->cut_offset, p->has_missing, p->entry, p->copy};
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

/* Where the part's stretch of a text begins and how long it is; from, end: its elements of the
 * offsets' section. */
static int measure_text(struct part *p, enum rw_cache_section section, uint32_t from, uint32_t end,
                        uint64_t n_bytes, uint64_t *n)
{
    const uint64_t at = p->whole.layout.offset[section];
    uint64_t begin, stop;
    if (p->whole.layout.n[section] == 0)
        return RW_OK;
    RW_TRY(get(p->ctx, p->whole.input, at + from * sizeof(begin), &begin, sizeof(begin)));
    RW_TRY(get(p->ctx, p->whole.input, at + end * sizeof(stop), &stop, sizeof(stop)));
    if (begin > stop || stop > n_bytes)
        return changed(p->ctx, p->whole.input);
    p->first[rw_cache_row[section].of] = begin;
    *n = stop - begin;
    return RW_OK;
}

static int measure_lines(struct part *p)
{
    const struct rw_cache_header *from = &p->whole.h;
    uint32_t doc, first, end;
    RW_TRY(queries_under(p->ctx, &p->whole, p->begin, &first));
    RW_TRY(queries_under(p->ctx, &p->whole, p->end, &end));
    RW_TRY(query_offset(p->ctx, &p->whole, first, &doc));
    if (doc != p->begin)
        return changed(p->ctx, p->whole.input);
    p->first[RW_CACHE_AXIS_DOCS] = p->begin;
    p->first[RW_CACHE_AXIS_QUERIES] = first;
    p->h.n_docs = p->end - p->begin;
    p->h.n_queries = end - first;
    p->h.n_clamped = p->begin == 0 ? from->n_clamped : 0;
    RW_TRY(measure_text(p, RW_CACHE_QUERY_ID_OFFSET, first, end, from->query_id_bytes,
                        &p->h.query_id_bytes));
    return measure_text(p, RW_CACHE_COMMENT_OFFSET, p->begin, p->end, from->comment_bytes,
                        &p->h.comment_bytes);
}

/* at: of the block in the file; afterwards, of the next one. */
static int measure_block(struct part *p, uint64_t *at, uint64_t end, struct entries *e)
{
    const struct rw_cache_block *block = &e->block;
    uint32_t head[2], stop = p->end;
    if (end - *at < RW_CACHE_ALIGN)
        return changed(p->ctx, p->whole.input);
    RW_TRY(get(p->ctx, p->whole.input, *at, head, sizeof(head)));
    if (rw_cache_block(head, p->whole.h.n_docs, e->width, *at, end, &e->block) < 0)
        return changed(p->ctx, p->whole.input);
    e->first = p->begin;
    if (block->rows) {
        RW_TRY(count_under(p->ctx, p->whole.input, block->rows, block->n, p->begin, &e->first));
        RW_TRY(count_under(p->ctx, p->whole.input, block->rows, block->n, p->end, &stop));
    }
    if (stop < e->first) /* rows that do not ascend */
        return changed(p->ctx, p->whole.input);
    e->n = stop - e->first;
    *at = block->end;
    return RW_OK;
}

/* n_bytes: of the part's blocks. */
static int measure_blocks(struct part *p, int with_codes, uint64_t *n_bytes)
{
    const struct rw_cache_layout *layout = &p->whole.layout;
    const enum rw_cache_section section = with_codes ? RW_CACHE_CODE : RW_CACHE_VALUE;
    uint64_t at = layout->offset[section];
    const uint64_t end = at + layout->n[section];
    p->n_entries = with_codes ? p->whole.h.n_cut_features : p->whole.h.n_columns;
    RW_TRY(RW_NEW(p->ctx, p->entry, p->n_entries));
    if (with_codes) {
        const uint64_t n = p->n_entries;
        RW_TRY(get_new(p, (void **)&p->cut_offset, RW_CACHE_CUT_OFFSET, n + 1,
                       sizeof(*p->cut_offset)));
        RW_TRY(get_new(p, (void **)&p->has_missing, RW_CACHE_HAS_MISSING, n, 1));
    }
    for (uint32_t i = 0; i < p->n_entries; i++) {
        struct entries *e = &p->entry[i];
        e->width = sizeof(float);
        if (with_codes)
            e->width = p->cut_offset[i + 1] - p->cut_offset[i] + p->has_missing[i] > 256 ? 2 : 1;
        RW_TRY(measure_block(p, &at, end, e));
        *n_bytes += rw_cache_block_bytes(e->n, p->h.n_docs, e->width);
    }
    return RW_OK;
}

static int measure(struct part *p, int with_codes)
{
    p->h = p->whole.h;
    RW_TRY(measure_lines(p));
    p->h.value_bytes = p->h.code_bytes = 0;
    if (!with_codes)
        p->h.has_bins = p->h.n_cut_features = 0, p->h.n_cuts = 0;
    RW_TRY(measure_blocks(p, with_codes, with_codes ? &p->h.code_bytes : &p->h.value_bytes));
    RW_TRY(rw_cache_layout(&p->h, UINT64_MAX / 2, &p->layout));
    p->h.file_bytes = p->layout.file_bytes;
    return RW_OK;
}

/* ---- copies ---- */

/* All sections but those of blocks. */
static int add_sections(struct part *p)
{
    for (int i = 0; i < RW_CACHE_N_SECTIONS; i++) {
        const struct rw_cache_row *row = &rw_cache_row[i];
        const uint64_t n = p->layout.n[i], n_whole = p->whole.layout.n[i];
        if (row->axis == RW_CACHE_AXIS_BLOCKS)
            continue;
        for (uint64_t k = 0; n && k < p->layout.n_arrays[i]; k++)
            RW_TRY(add(p,
                       p->whole.layout.offset[i] + (k * n_whole + p->first[row->axis]) * row->size,
                       p->map + p->layout.offset[i] + k * n * row->size, n * row->size,
                       p->first[row->of], row->of ? (int)row->size : 0));
    }
    return RW_OK;
}

static int add_blocks(struct part *p, int with_codes)
{
    char *to = p->map + p->layout.offset[with_codes ? RW_CACHE_CODE : RW_CACHE_VALUE];
    const uint64_t row = sizeof(uint32_t);
    for (uint32_t i = 0; i < p->n_entries; i++) {
        const struct entries *e = &p->entry[i];
        const uint32_t head[2] = {e->n, e->block.rest};
        memcpy(to, head, sizeof(head));
        if (e->n < p->h.n_docs)
            RW_TRY(add(p, e->block.rows + e->first * row, to + RW_CACHE_ALIGN, e->n * row, p->begin,
                       (int)row));
        to += rw_cache_block_bytes(e->n, p->h.n_docs, e->width);
        RW_TRY(add(p, e->block.data + e->first * e->width,
                   to - rw_cache_aligned((uint64_t)e->n * e->width), e->n * e->width, 0, 0));
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
    RW_TRY(add_sections(p));
    RW_TRY(add_blocks(p, with_codes));
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
