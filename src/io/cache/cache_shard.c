/* Reads a range of a cache's documents, here called the part. The result in memory has the format
 * of a cache with just these documents, so rw_cache_view checks and uses it like a cache that was
 * read as a whole. `whole` is the file, `own` the resulting cache. Also implements
 * rw_cache_divided: finds query boundaries, and checks the checksum of a cache that several workers
 * read. */
#include <zlib.h>

#include "base/system.h"
#include "comm/comm.h"
#include "io/cache/cache.h"
#include "io/data_format.h"

static int changed(const struct rw_cache_file *whole)
{
    return rw_fail(whole->ctx, RW_ERR_DATA, "'%s' is damaged or changed while it was being read",
                   whole->name);
}

/* Reads exactly n_bytes of the file. */
static int get(const struct rw_cache_file *whole, uint64_t at, void *to, size_t n_bytes)
{
    size_t got;
    const int why = rw_input_read_at(whole->input, at, to, n_bytes, &got);
    if (why)
        return rw_fail_io(whole->ctx, why, "cannot read '%s'", whole->name);
    return got < n_bytes ? changed(whole) : RW_OK;
}

/* Reads n elements of a section, from `first` on. */
static int get_some(const struct rw_cache_file *whole, enum rw_cache_section section,
                    uint64_t first, uint64_t n, void *to)
{
    const size_t size = rw_cache_row[section].size;
    return get(whole, whole->layout.offset[section] + first * size, to, n * size);
}

/* Counts how many of the n ascending numbers from byte `at` on are below `value`. */
static int count_under(const struct rw_cache_file *whole, uint64_t at, uint32_t n, uint32_t value,
                       uint32_t *out)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        uint32_t one;
        RW_TRY(get(whole, at + (uint64_t)middle * sizeof(one), &one, sizeof(one)));
        if (one < value)
            low = middle + 1;
        else
            high = middle;
    }
    *out = low;
    return RW_OK;
}

/* ---- where queries begin ---- */

/* Reads the header without checking its counts. */
static int take_header(struct rw_ctx *ctx, struct rw_input *input, struct rw_cache_file *whole)
{
    size_t n_bytes;
    uint64_t file_bytes = 0;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    *whole = (struct rw_cache_file){.ctx = ctx, .name = rw_input_name(input), .input = input};
    rw_input_is_seekable(input, &file_bytes);
    return rw_cache_take_header(whole, head, n_bytes, file_bytes);
}

/* Counts the queries that begin before a document. */
static int queries_under(const struct rw_cache_file *whole, uint32_t doc, uint32_t *q)
{
    return count_under(whole, whole->layout.offset[RW_CACHE_QUERY_OFFSET], whole->h.n_queries, doc,
                       q);
}

/* Reads the id of query q. The caller frees *query. */
static int query_text(const struct rw_cache_file *whole, uint32_t q, char **query)
{
    uint64_t offset[2];
    RW_TRY(get_some(whole, RW_CACHE_QUERY_ID_OFFSET, q, 2, offset));
    if (offset[0] >= offset[1] || offset[1] > whole->h.query_id_bytes)
        return changed(whole);
    const size_t n = (size_t)(offset[1] - offset[0]) - 1; /* without the terminating 0 */
    RW_TRY(RW_NEW(whole->ctx, *query, n + 1));
    return get_some(whole, RW_CACHE_QUERY_ID_TEXT, offset[0], n, *query);
}

/* Implements rw_divided.next_query. Files are divided by bytes, so `at` is converted to a
 * proportional document number; the first query that begins there or later, but after document 0,
 * is found. If *query is an id, finds the first query of the file with a different id. */
static int next_query(struct rw_ctx *ctx, struct rw_input *input, uint64_t at, char **query,
                      uint64_t *place)
{
    struct rw_cache_file whole;
    uint32_t q, doc;
    *place = UINT64_MAX;
    RW_TRY(take_header(ctx, input, &whole));
    RW_TRY(rw_cache_check_counts(&whole));
    const struct rw_cache_header *h = &whole.h;
    if (*query) { /* the previous file may have ended within this query */
        char *first RW_FREED = NULL;
        RW_TRY(query_text(&whole, 0, &first));
        q = strcmp(*query, first) == 0;
    } else {
        doc = at < h->file_bytes ? (uint32_t)((double)at / (double)h->file_bytes * h->n_docs)
                                 : h->n_docs;
        RW_TRY(queries_under(&whole, doc ? doc : 1, &q));
    }
    if (q == h->n_queries)
        return *query ? RW_OK : query_text(&whole, q - 1, query);
    RW_TRY(get_some(&whole, RW_CACHE_QUERY_OFFSET, q, 1, &doc));
    *place = doc;
    return RW_OK;
}

/* Verifies the checksum together: each worker reads a part of the bytes. */
static int check_together(struct rw_ctx *ctx, struct rw_input *input)
{
    const uint64_t n_workers = (uint64_t)rw_n_workers(ctx), worker = (uint64_t)rw_worker(ctx);
    struct rw_cache_file whole;
    uint64_t file_bytes = 0;
    RW_FREED uint32_t *sums = NULL;
    uint32_t own = 0, all = 0, written;
    rw_input_is_seekable(input, &file_bytes);
    const uint64_t each = file_bytes / n_workers;
    const uint64_t begin = worker * each, end = worker + 1 < n_workers ? begin + each : file_bytes;
    int status = take_header(ctx, input, &whole);
    status = status < 0 ? status : RW_NEW(ctx, sums, n_workers);
    status = status < 0 ? status : rw_input_sum(ctx, input, begin, end, &own);
    status =
        status < 0 ? status : get(&whole, file_bytes - sizeof(written), &written, sizeof(written));
    RW_TRY(rw_comm_agree(ctx, status));
    RW_TRY(rw_comm_all_gather(ctx, &own, sums, sizeof(own)));
    for (uint64_t r = 0; r < n_workers; r++) {
        const uint64_t n = r + 1 < n_workers ? each : file_bytes - r * each;
        all = (uint32_t)crc32_combine(all, sums[r], (z_off_t)n);
    }
    return rw_comm_agree(ctx, rw_cache_check_sum(&whole, all, written));
}

const struct rw_divided rw_cache_divided = {.check = check_together, .next_query = next_query};

/* ---- measuring the parts to read ---- */

/* The entries (values or codes, with rows) of a block that belong to the part. */
struct entries {
    struct rw_cache_block block; /* as in the file */
    size_t width;
    uint32_t first, n; /* first: index in the block of the part's first entry; n: number of the
                          part's entries in the block */
    uint64_t to;       /* offset of the new block in its section of `own` */
};

struct part {
    struct rw_cache_file whole;
    struct rw_cache_file *own;       /* the resulting cache; borrowed */
    uint32_t begin, end;             /* range of documents */
    uint64_t first[RW_CACHE_N_AXES]; /* the part's first element on each axis of the file */
    struct rw_arena arena;           /* owns `entry` */
    struct entries *entry;           /* [n_entries] one per column, or per feature with codes */
    uint32_t n_entries;
    int read_errno; /* errno of any failed read; 0 after RW_ERR_IO: the file is too short */
};

/* Finds the first byte and the length of the part's range of ids or comments. section: their
 * offsets; from, end: indices in it of the part's first text and of the first one after the part.
 * n_bytes: length of all texts. *n: length of the part's texts, unchanged if the section is empty.
 */
static int measure_text(struct part *p, enum rw_cache_section section, uint32_t from, uint32_t end,
                        uint64_t n_bytes, uint64_t *n)
{
    uint64_t begin, stop;
    if (p->whole.layout.n[section] == 0)
        return RW_OK;
    RW_TRY(get_some(&p->whole, section, from, 1, &begin));
    RW_TRY(get_some(&p->whole, section, end, 1, &stop));
    if (begin > stop || stop > n_bytes)
        return changed(&p->whole);
    p->first[rw_cache_row[section].of] = begin;
    *n = stop - begin;
    return RW_OK;
}

/* Finds the range of queries, ids and comments, and sets the counts in the header of `own`. */
static int measure_lines(struct part *p)
{
    struct rw_cache_header *h = &p->own->h; /* still has the counts of the whole file */
    uint32_t doc, first, end;
    RW_TRY(queries_under(&p->whole, p->begin, &first));
    RW_TRY(queries_under(&p->whole, p->end, &end));
    RW_TRY(get_some(&p->whole, RW_CACHE_QUERY_OFFSET, first, 1, &doc));
    if (doc != p->begin)
        return changed(&p->whole);
    p->first[RW_CACHE_AXIS_DOCS] = p->begin;
    p->first[RW_CACHE_AXIS_QUERIES] = first;
    h->n_docs = p->end - p->begin;
    h->n_queries = end - first;
    h->n_clamped = p->begin == 0 ? h->n_clamped : 0;
    RW_TRY(measure_text(p, RW_CACHE_QUERY_ID_OFFSET, first, end, h->query_id_bytes,
                        &h->query_id_bytes));
    return measure_text(p, RW_CACHE_COMMENT_OFFSET, p->begin, p->end, h->comment_bytes,
                        &h->comment_bytes);
}

/* Finds the part's entries of a block. at: offset of the block in the file; advanced to the next
 * block. end: end of the section. */
static int measure_block(const struct part *p, uint64_t *at, uint64_t end, struct entries *e)
{
    const struct rw_cache_block *block = &e->block;
    uint32_t head[2], stop = p->end;
    if (end - *at < RW_CACHE_ALIGN)
        return changed(&p->whole);
    RW_TRY(get(&p->whole, *at, head, sizeof(head)));
    if (rw_cache_block(head, p->whole.h.n_docs, e->width, *at, end, &e->block) < 0)
        return changed(&p->whole);
    e->first = p->begin;
    if (block->rows) {
        RW_TRY(count_under(&p->whole, block->rows, block->n, p->begin, &e->first));
        RW_TRY(count_under(&p->whole, block->rows, block->n, p->end, &stop));
    }
    if (stop < e->first) /* the rows do not ascend */
        return changed(&p->whole);
    e->n = stop - e->first;
    *at = block->end;
    return RW_OK;
}

/* Computes the bytes per code of each feature with codes. */
static int code_widths(struct part *p)
{
    const uint32_t n = p->n_entries;
    RW_FREED uint64_t *offset = NULL;
    RW_FREED uint8_t *has_missing = NULL;
    RW_TRY(RW_NEW_RAW(p->own->ctx, offset, (size_t)n + 1));
    RW_TRY(RW_NEW_RAW(p->own->ctx, has_missing, n));
    RW_TRY(get_some(&p->whole, RW_CACHE_CUT_OFFSET, 0, (uint64_t)n + 1, offset));
    RW_TRY(get_some(&p->whole, RW_CACHE_HAS_MISSING, 0, n, has_missing));
    for (uint32_t i = 0; i < n; i++)
        p->entry[i].width = offset[i + 1] - offset[i] + has_missing[i] > 256 ? 2 : 1;
    return RW_OK;
}

/* Returns the section whose blocks the part needs. */
static enum rw_cache_section blocks_of(const struct part *p)
{
    return p->own->view == RW_CACHE_CODES ? RW_CACHE_CODE : RW_CACHE_VALUE;
}

/* Measures all blocks of the part, and adds their size to *n_bytes. */
static int measure_blocks(struct part *p, uint64_t *n_bytes)
{
    const struct rw_cache_layout *layout = &p->whole.layout;
    const int has_codes = blocks_of(p) == RW_CACHE_CODE;
    uint64_t at = layout->offset[blocks_of(p)];
    const uint64_t end = at + layout->n[blocks_of(p)];
    p->n_entries = has_codes ? p->whole.h.n_cut_features : p->whole.h.n_columns;
    RW_TRY(RW_ARENA_NEW(p->own->ctx, &p->arena, p->entry, p->n_entries));
    if (has_codes)
        RW_TRY(code_widths(p));
    for (uint32_t i = 0; i < p->n_entries; i++) {
        struct entries *e = &p->entry[i];
        e->width = has_codes ? e->width : sizeof(float);
        RW_TRY(measure_block(p, &at, end, e));
        e->to = *n_bytes;
        *n_bytes += rw_cache_block_bytes(e->n, p->own->h.n_docs, e->width);
    }
    return RW_OK;
}

static int measure(struct part *p)
{
    struct rw_cache_header *h = &p->own->h;
    *h = p->whole.h;
    RW_TRY(measure_lines(p));
    h->value_bytes = h->code_bytes = 0;
    if (p->own->view != RW_CACHE_CODES)
        h->has_bins = h->n_cut_features = 0, h->n_cuts = 0;
    RW_TRY(measure_blocks(p, blocks_of(p) == RW_CACHE_CODE ? &h->code_bytes : &h->value_bytes));
    RW_TRY(rw_cache_layout(h, UINT64_MAX / 2, &p->own->layout));
    h->file_bytes = p->own->layout.file_bytes;
    return RW_OK;
}

/* ---- copying ---- */

/* Copies bytes of the file to memory. width: 4 or 8: they are numbers of that many bytes, and
 * `minus` is subtracted from each; other: they are copied as they are. */
static int copy(struct part *p, uint64_t from, char *to, uint64_t n_bytes, uint64_t minus,
                size_t width)
{
    size_t got;
    const int why = rw_input_read_at(p->whole.input, from, to, n_bytes, &got);
    if (why || got < n_bytes) {
        __atomic_store_n(&p->read_errno, why, __ATOMIC_RELAXED);
        return RW_ERR_IO;
    }
    for (uint64_t i = 0; width == 4 && i < n_bytes / 4; i++)
        ((uint32_t *)(void *)to)[i] -= (uint32_t)minus;
    for (uint64_t i = 0; width == 8 && i < n_bytes / 8; i++)
        ((uint64_t *)(void *)to)[i] -= minus;
    return RW_OK;
}

/* Copies the part's range of a section. Sections of blocks are skipped. */
static int copy_section(struct part *p, enum rw_cache_section section)
{
    const struct rw_cache_row *row = &rw_cache_row[section];
    const struct rw_cache_layout *own = &p->own->layout, *whole = &p->whole.layout;
    const uint64_t n = row->axis == RW_CACHE_AXIS_BLOCKS ? 0 : own->n[section];
    for (uint64_t k = 0; n && k < own->n_arrays[section]; k++)
        RW_TRY(copy(
            p, whole->offset[section] + (k * whole->n[section] + p->first[row->axis]) * row->size,
            p->own->map + own->offset[section] + k * n * row->size, n * row->size,
            p->first[row->of], row->of ? row->size : 0));
    return RW_OK;
}

/* Copies the entries of a block as a new block. Rows count from the first document of the part. */
static int copy_block(struct part *p, const struct entries *e)
{
    const uint32_t n_docs = p->own->h.n_docs, head[2] = {e->n, e->block.rest};
    const uint64_t row = sizeof(uint32_t), n_bytes = e->n * e->width;
    char *to = p->own->map + p->own->layout.offset[blocks_of(p)] + e->to;
    memcpy(to, head, sizeof(head));
    if (e->n < n_docs)
        RW_TRY(copy(p, e->block.rows + e->first * row, to + RW_CACHE_ALIGN, e->n * row, p->begin,
                    row));
    to += rw_cache_block_bytes(e->n, n_docs, e->width) - rw_cache_aligned(n_bytes);
    return copy(p, e->block.data + e->first * e->width, to, n_bytes, 0, 0);
}

/* Copies the sections, numbered from 0, and the blocks, numbered after them. */
static int copy_some(void *user, struct rw_share *share)
{
    struct part *p = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        RW_TRY(i < RW_CACHE_N_SECTIONS ? copy_section(p, (enum rw_cache_section)i)
                                       : copy_block(p, &p->entry[i - RW_CACHE_N_SECTIONS]));
    return RW_OK;
}

static int copy_all(struct part *p)
{
    struct rw_cache_file *own = p->own;
    const size_t n_bytes = own->layout.file_bytes;
    RW_TRY(rw_input_check_room(own->ctx, p->whole.input, n_bytes));
    own->map = rw_system_map(n_bytes, 0);
    if (own->map == MAP_FAILED)
        return rw_fail(own->ctx, RW_ERR_MEMORY, "out of memory: the shard of '%s' does not fit",
                       own->name);
    own->out->documents->cache.p = own->map;
    own->out->documents->cache.n_bytes = n_bytes;
    rw_system_large_pages(own->map, n_bytes);
    const int status = rw_parallel(own->ctx, own->ctx->n_threads,
                                   RW_CACHE_N_SECTIONS + (uint64_t)p->n_entries, 1, copy_some, p);
    if (status != RW_ERR_IO)
        return status;
    return p->read_errno ? rw_fail_io(own->ctx, p->read_errno, "cannot read '%s'", own->name)
                         : changed(&p->whole);
}

/* ---- the whole part ---- */

/* Returns 1 if a document has a value. */
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

int rw_cache_read_part(struct rw_cache_file *own, const struct rw_range *range,
                       const struct rw_cut_rule *rule)
{
    struct part p = {.own = own};
    RW_TRY(take_header(own->ctx, own->input, &p.whole));
    RW_TRY(rw_cache_check_counts(&p.whole));
    const uint32_t n_docs = p.whole.h.n_docs;
    own->view = rw_cache_serves(&p.whole.h, rule) ? RW_CACHE_CODES : RW_CACHE_PART;
    p.begin = range->begin < n_docs ? (uint32_t)range->begin : n_docs;
    p.end = range->end < n_docs ? (uint32_t)range->end : n_docs;
    int status = measure(&p);
    if (status >= 0)
        status = copy_all(&p);
    rw_arena_free(&p.arena);
    RW_TRY(status);
    RW_TRY(rw_cache_view(own));
    if (own->view == RW_CACHE_PART)
        drop_empty_columns(own->out->documents);
    return RW_OK;
}
