/* What a cache's arrays promise, checked element by element: a file may be hostile and carry a
 * checksum that is right. */
#include <float.h>

#include "base/mem.h"
#include "io/cache/cache.h"
#include "io/text.h"

/* A finite number other than -0. */
static int is_clean(float value)
{
    const uint32_t bits = rw_bits_of_float(value);
    return (bits & 0x7f800000u) != 0x7f800000u && bits != 0x80000000u;
}

/* ---- sections ---- */

static uint64_t offset_of(const void *data, size_t size, uint64_t i)
{
    return size == sizeof(uint32_t) ? ((const uint32_t *)data)[i] : ((const uint64_t *)data)[i];
}

/* end: the length of the axis that the elements are positions on. */
static int section_is_good(const struct rw_cache_row *row, const void *data, uint64_t n,
                           uint64_t end)
{
    const uint32_t *id = data;
    const uint8_t *flag = data;
    const float *label = data;
    const double *weight = data;
    int good = 1;
    for (uint64_t i = 0; i < n && row->invariant == RW_CACHE_IDS; i++)
        good &= id[i] <= RW_MAX_FEATURE && (i == 0 || id[i] > id[i - 1]);
    for (uint64_t i = 0; i < n && row->invariant == RW_CACHE_FLAGS; i++)
        good &= flag[i] <= 1;
    for (uint64_t i = 0; i < n && row->invariant == RW_CACHE_LABELS; i++)
        good &= is_clean(label[i]) && label[i] >= 0;
    for (uint64_t i = 0; i < n && row->invariant == RW_CACHE_WEIGHTS; i++)
        good &= weight[i] >= 0 && weight[i] <= RW_MAX_WEIGHT && !signbit(weight[i]);
    if (row->invariant != RW_CACHE_OFFSETS || n == 0)
        return good;
    for (uint64_t i = 1; i < n; i++)
        good &= offset_of(data, row->size, i) > offset_of(data, row->size, i - 1);
    return good && offset_of(data, row->size, 0) == 0 && offset_of(data, row->size, n - 1) == end;
}

int rw_cache_check_sections(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                            const struct rw_cache_layout *layout, const char *map)
{
    const uint64_t end[RW_CACHE_N_AXES] = {[RW_CACHE_AXIS_DOCS] = h->n_docs,
                                           [RW_CACHE_AXIS_QUERY_ID] = h->query_id_bytes,
                                           [RW_CACHE_AXIS_COMMENT] = h->comment_bytes,
                                           [RW_CACHE_AXIS_CUTS] = h->n_cuts};
    for (int i = 0; i < RW_CACHE_N_SECTIONS; i++) {
        const struct rw_cache_row *row = &rw_cache_row[i];
        if (row->invariant != RW_CACHE_ANY &&
            !section_is_good(row, map + layout->offset[i], layout->n_arrays[i] * layout->n[i],
                             end[row->of]))
            return rw_cache_damaged(ctx, name, row->wrong);
    }
    return RW_OK;
}

/* ---- columns and codes ---- */

static int column_is_good(const struct rw_column *column, uint32_t n_docs, int may_be_empty)
{
    /* without a branch, so that it is done at the memory's pace */
    const uint32_t absent = column->row ? RW_MISSING_BITS : RW_ABSENT_BITS;
    uint32_t n_absent = 0, n_bad = 0;
    for (uint32_t k = 0; k < column->n; k++) {
        const uint32_t bits = rw_bits_of_float(column->value[k]);
        const uint32_t is_nan = (bits == absent) | (bits == RW_MISSING_BITS);
        n_absent += bits == RW_ABSENT_BITS;
        n_bad += ((bits & 0x7f800000u) == 0x7f800000u && !is_nan) | (bits == 0x80000000u);
    }
    if (n_bad)
        return 0;
    const uint32_t n_present = column->n - n_absent;
    for (uint32_t k = 0; column->row && k < column->n; k++) {
        if (column->row[k] >= n_docs || (k && column->row[k] <= column->row[k - 1]))
            return 0;
    }
    return n_present > 0 || may_be_empty;
}

static uint8_t most_of_bytes(const uint8_t *byte, uint32_t n)
{
    uint8_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = byte[i] > most ? byte[i] : most;
    return most;
}

static int codes_are_good(const struct rw_bins *bins, uint32_t f)
{
    const uint32_t n_codes = rw_cuts_n_codes(bins->cuts, f);
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    const struct rw_codes *codes = &bins->codes[f];
    uint32_t most = codes->row ? codes->rest : 0;
    if (bytes == 1) {
        const uint32_t of_entries = most_of_bytes(codes->code, codes->n);
        most = of_entries > most ? of_entries : most;
    }
    for (uint32_t i = 0; bytes == 2 && i < codes->n; i++) {
        const uint32_t code = ((const uint16_t *)codes->code)[i];
        most = code > most ? code : most;
    }
    for (uint32_t i = 0; codes->row && i < codes->n; i++) {
        if (codes->row[i] >= bins->n_docs || (i && codes->row[i] <= codes->row[i - 1]))
            return 0;
    }
    return most < n_codes;
}

/* Are all columns, or all codes (of bins), good? */
struct checking {
    const struct rw_dataset *dataset;
    const struct rw_bins *bins; /* NULL: columns */
    int may_be_empty;           /* a column may have no value */
    int n_bad;
};

static int count_bad(void *user, struct rw_share *share)
{
    struct checking *job = user;
    int n_bad = 0;
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        n_bad += !(job->bins ? codes_are_good(job->bins, (uint32_t)i)
                             : column_is_good(&job->dataset->column[i], job->dataset->n_docs,
                                              job->may_be_empty));
    rw_share_lock(share);
    job->n_bad += n_bad;
    rw_share_unlock(share);
    return RW_OK;
}

static int check_columns(struct rw_ctx *ctx, const char *name, const struct rw_dataset *dataset,
                         int is_part)
{
    struct checking job = {.dataset = dataset, .may_be_empty = is_part};
    if (dataset->n_columns && dataset->column[0].value)
        RW_TRY(rw_parallel(ctx, ctx->n_threads, dataset->n_columns, 1, count_bad, &job));
    return job.n_bad ? rw_cache_damaged(ctx, name, "a feature's values or rows are wrong") : RW_OK;
}

/* ---- texts ---- */

/* n texts end to end, each ended by 0; offsets: [n + 1]. Bytes of `never` may not occur. */
static int texts_are_good(const uint64_t *offset, uint64_t n, const char *text, int may_be_empty,
                          const char *never)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t length = offset[i + 1] - offset[i] - 1;
        const char *begin = text + offset[i];
        if (begin[length] != 0 || memchr(begin, 0, length) || (!may_be_empty && length == 0) ||
            strcspn(begin, never) != length)
            return 0;
    }
    return 1;
}

static int check_texts(struct rw_ctx *ctx, const char *name, const struct rw_dataset *dataset)
{
    if (!texts_are_good(dataset->query_id_offset, dataset->n_queries, dataset->query_id_text, 0,
                        "\t\r\n"))
        return rw_cache_damaged(ctx, name, rw_cache_row[RW_CACHE_QUERY_ID_OFFSET].wrong);
    if (dataset->comment_offset &&
        !texts_are_good(dataset->comment_offset, dataset->n_docs, dataset->comment_text, 1, "\n"))
        return rw_cache_damaged(ctx, name, rw_cache_row[RW_CACHE_COMMENT_OFFSET].wrong);
    return RW_OK;
}

static int check_ids(struct rw_ctx *ctx, const char *name, const struct rw_dataset *dataset)
{
    struct rw_seen *seen;
    int status = RW_OK;
    RW_TRY(rw_seen_new(ctx, &seen));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const char *id = rw_dataset_query_id(dataset, q);
        if (q && strcmp(id, rw_dataset_query_id(dataset, q - 1)) == 0) {
            status = rw_cache_damaged(ctx, name, "a query stands twice");
            goto out;
        }
        RW_TRY_OUT(rw_seen_add(ctx, seen, id, name, 0, 0));
    }
out:
    rw_seen_free(seen);
    return status;
}

/* Numbers of cuts have been checked when the codes' places were found. */
static int check_bins(struct rw_ctx *ctx, const char *name, const struct rw_dataset *dataset,
                      const struct rw_bins *bins)
{
    const struct rw_cuts *cuts = bins->cuts;
    struct checking job = {.dataset = dataset, .bins = bins};
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (!rw_dataset_column(dataset, cuts->feature[f]))
            return rw_cache_damaged(ctx, name, rw_cache_row[RW_CACHE_CUT_FEATURE].wrong);
        const float *cut = cuts->cut + cuts->offset[f];
        const uint32_t n = rw_cuts_n_bins(cuts, f);
        for (uint32_t b = 0; b < n; b++) {
            if (!is_clean(cut[b]) || (b && !(cut[b] > cut[b - 1])))
                return rw_cache_damaged(ctx, name, "cuts do not ascend");
        }
        if (cut[n - 1] != FLT_MAX)
            return rw_cache_damaged(ctx, name, "a feature's last cut is missing");
    }
    RW_TRY(rw_parallel(ctx, ctx->n_threads, cuts->n_features, 1, count_bad, &job));
    return job.n_bad ? rw_cache_damaged(ctx, name, "a code or its document is out of range")
                     : RW_OK;
}

int rw_cache_check(struct rw_ctx *ctx, const char *name, const struct rw_dataset *dataset,
                   const struct rw_bins *bins, int is_part)
{
    RW_TRY(check_texts(ctx, name, dataset));
    RW_TRY(check_columns(ctx, name, dataset, is_part));
    RW_TRY(check_ids(ctx, name, dataset));
    return bins ? check_bins(ctx, name, dataset, bins) : RW_OK;
}
