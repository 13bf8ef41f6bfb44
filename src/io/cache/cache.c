/* Reads a cache (io/cache/cache.h): checks all sections that are used, and makes a data set.
 * Labels, queries, comments, columns and codes of the data set are views of the bytes in memory.
 * Feature names, words, bin boundaries, weights and further labels are copies. */
#include "io/cache/cache.h"

#include <float.h>
#include <sys/mman.h>
#include <zlib.h>

#include "dataset/categories.h"
#include "io/data_format.h"
#include "io/text.h"

const struct rw_cache_row rw_cache_row[RW_CACHE_N_SECTIONS] = {
#define RW_CACHE_SECTION(name, type, n_arrays, n, axis, of, invariant, wrong, ...) \
    [RW_CACHE_##name] = {sizeof(type), RW_CACHE_AXIS_##axis, RW_CACHE_AXIS_##of,   \
                         RW_CACHE_##invariant, wrong},
#include "io/cache/cache_sections.def"
#undef RW_CACHE_SECTION
};

int rw_cache_layout(const struct rw_cache_header *h, uint64_t most_bytes,
                    struct rw_cache_layout *layout)
{
    const uint64_t count[RW_CACHE_N_SECTIONS][2] = {
#define RW_CACHE_SECTION(name, type, n_arrays, n, ...) [RW_CACHE_##name] = {n_arrays, n},
#include "io/cache/cache_sections.def"
#undef RW_CACHE_SECTION
    };
    uint64_t at = rw_cache_aligned(sizeof(*h));
    for (int i = 0; i < RW_CACHE_N_SECTIONS; i++) {
        const uint64_t n_arrays = count[i][0], n = n_arrays ? count[i][1] : 0;
        if (at > most_bytes || (n && n_arrays > (most_bytes - at) / rw_cache_row[i].size / n))
            return RW_ERR_FORMAT;
        layout->offset[i] = at;
        layout->n_arrays[i] = n_arrays;
        layout->n[i] = n;
        at = rw_cache_aligned(at + n_arrays * n * rw_cache_row[i].size);
    }
    layout->file_bytes = at + RW_CACHE_CRC_BYTES;
    return layout->file_bytes <= most_bytes ? RW_OK : RW_ERR_FORMAT;
}

/* ---- reading the header ---- */

/* Fails with RW_ERR_FORMAT. `what` names the damaged part. */
static int damaged(const struct rw_cache_file *f, const char *what)
{
    return rw_fail(f->ctx, RW_ERR_FORMAT, "'%s' is damaged: %s", f->name, what);
}

int rw_cache_take_header(struct rw_cache_file *f, const void *head, size_t n_bytes,
                         uint64_t file_bytes)
{
    struct rw_cache_header *h = &f->h;
    if (n_bytes < sizeof(*h) || file_bytes < sizeof(*h) + RW_CACHE_CRC_BYTES)
        return rw_fail(f->ctx, RW_ERR_FORMAT,
                       "'%s' is truncated: a cache has at least %zu bytes, this file has %llu",
                       f->name, sizeof(*h) + RW_CACHE_CRC_BYTES, (unsigned long long)file_bytes);
    memcpy(h, head, sizeof(*h));
    if (memcmp(h->magic, RW_CACHE_MAGIC, sizeof(h->magic)) != 0)
        return damaged(f, "it does not begin like a cache");
    if (h->byte_order != RW_CACHE_BYTE_ORDER)
        return rw_fail(f->ctx, RW_ERR_FORMAT,
                       "'%s' is damaged, or was made on a machine with a different byte "
                       "order\nhint: make it again with 'rankwood bin'",
                       f->name);
    if (h->version != RW_CACHE_VERSION)
        return rw_fail(f->ctx, RW_ERR_FORMAT,
                       "'%s' is a cache of version %u, made by %s version of Rankwood; expected "
                       "version %d\nhint: make it again with 'rankwood bin'",
                       f->name, h->version,
                       h->version < RW_CACHE_VERSION ? "an earlier" : "a later", RW_CACHE_VERSION);
    if (h->file_bytes != file_bytes)
        return rw_fail(f->ctx, RW_ERR_FORMAT, "'%s' is %s: expected %llu bytes, found %llu",
                       f->name, file_bytes < h->file_bytes ? "truncated" : "too long",
                       (unsigned long long)h->file_bytes, (unsigned long long)file_bytes);
    return RW_OK;
}

int rw_cache_check_sum(const struct rw_cache_file *f, uint32_t crc, uint32_t written)
{
    return crc == crc32_combine(written, rw_checksum(0, &written, sizeof(written)), sizeof(written))
               ? RW_OK
               : damaged(f, "its checksum does not match");
}

/* The checksum was checked before, for a range by all workers together, so only a file made with
 * intent has wrong counts. */
int rw_cache_check_counts(struct rw_cache_file *f)
{
    const struct rw_cache_header *h = &f->h;
    if (rw_cache_layout(h, h->file_bytes, &f->layout) < 0 || f->layout.file_bytes != h->file_bytes)
        return damaged(f, "its counts do not fit its size");
    if (h->has_bins > 1 || h->has_comments > 1 || h->n_docs == 0 || h->n_docs > RW_MAX_DOCS ||
        h->n_queries == 0 || h->n_queries > h->n_docs || h->weights > RW_CACHE_OF_QUERIES ||
        h->n_more_labels >= RW_MAX_LABELS || h->width > RW_FEATURE_IDS ||
        (h->width && h->n_names) || h->zero)
        return damaged(f, "a count is out of range");
    if (!h->has_comments && h->comment_bytes)
        return damaged(f, "text without a comment");
    if (!h->has_bins && (h->n_cut_features || h->n_cuts || h->code_bytes))
        return damaged(f, "bin boundaries without parameters");
    if (h->n_word_features && h->has_bins)
        return damaged(f, "both codes and categories are present");
    if (h->n_columns > RW_FEATURE_IDS || h->n_names > RW_FEATURE_IDS ||
        h->n_word_features > RW_FEATURE_IDS)
        return damaged(f, "too many features");
    return RW_OK;
}

int rw_cache_block(const uint32_t head[2], uint32_t n_docs, size_t width, uint64_t at, uint64_t end,
                   struct rw_cache_block *block)
{
    const uint32_t n = head[0];
    if (n > n_docs || rw_cache_block_bytes(n, n_docs, width) > end - at)
        return RW_ERR_FORMAT;
    block->n = n;
    block->rest = head[1];
    block->rows = n < n_docs ? at + RW_CACHE_ALIGN : 0;
    block->end = at + rw_cache_block_bytes(n, n_docs, width);
    block->data = block->end - rw_cache_aligned((uint64_t)n * width);
    return RW_OK;
}

/* ---- checking array elements: a hostile file may have a correct checksum ---- */

/* Returns 1 if the number is finite and not -0. */
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

/* Returns 1 if a section satisfies its invariant. end: length of the axis on which its elements are
 * positions. */
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

static int check_sections(const struct rw_cache_file *f)
{
    const struct rw_cache_header *h = &f->h;
    const struct rw_cache_layout *layout = &f->layout;
    const uint64_t end[RW_CACHE_N_AXES] = {[RW_CACHE_AXIS_DOCS] = h->n_docs,
                                           [RW_CACHE_AXIS_QUERY_ID] = h->query_id_bytes,
                                           [RW_CACHE_AXIS_COMMENT] = h->comment_bytes,
                                           [RW_CACHE_AXIS_CUTS] = h->n_cuts};
    for (int i = 0; i < RW_CACHE_N_SECTIONS; i++) {
        const struct rw_cache_row *row = &rw_cache_row[i];
        if (row->invariant != RW_CACHE_ANY &&
            !section_is_good(row, f->map + layout->offset[i], layout->n_arrays[i] * layout->n[i],
                             end[row->of]))
            return damaged(f, row->wrong);
    }
    return RW_OK;
}

/* ---- columns and codes ---- */

/* Returns 1 if the list of documents is ascending and below n_docs. row NULL: all documents. */
static int rows_are_good(const uint32_t *row, uint32_t n, uint32_t n_docs)
{
    for (uint32_t k = 0; row && k < n; k++) {
        if (row[k] >= n_docs || (k && row[k] <= row[k - 1]))
            return 0;
    }
    return 1;
}

/* Returns 1 if values and rows are valid and, unless may_be_empty, a document has a value. Only
 * dense columns may contain RW_ABSENT_BITS. */
static int column_is_good(const struct rw_column *column, uint32_t n_docs, int may_be_empty)
{
    /* without a branch, so it runs at memory speed */
    const uint32_t absent = column->row ? RW_MISSING_BITS : RW_ABSENT_BITS;
    uint32_t n_absent = 0, n_bad = 0;
    for (uint32_t k = 0; k < column->n; k++) {
        const uint32_t bits = rw_bits_of_float(column->value[k]);
        const uint32_t is_nan = (bits == absent) | (bits == RW_MISSING_BITS);
        n_absent += bits == RW_ABSENT_BITS;
        n_bad += ((bits & 0x7f800000u) == 0x7f800000u && !is_nan) | (bits == 0x80000000u);
    }
    return n_bad == 0 && rows_are_good(column->row, column->n, n_docs) &&
           (column->n > n_absent || may_be_empty);
}

static uint32_t most_of_bytes(const uint8_t *byte, uint32_t n)
{
    uint8_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = byte[i] > most ? byte[i] : most;
    return most;
}

static uint32_t most_of_words(const uint16_t *word, uint32_t n)
{
    uint16_t most = 0;
    for (uint32_t i = 0; i < n; i++)
        most = word[i] > most ? word[i] : most;
    return most;
}

static int codes_are_good(const struct rw_bins *bins, uint32_t f)
{
    const struct rw_codes *codes = &bins->codes[f];
    const uint32_t n_codes = rw_cuts_n_codes(bins->cuts, f);
    const uint32_t most = rw_cuts_code_bytes(bins->cuts, f) == 1
                              ? most_of_bytes(codes->code, codes->n)
                              : most_of_words(codes->code, codes->n);
    return most < n_codes && (!codes->row || codes->rest < n_codes) &&
           rows_are_good(codes->row, codes->n, bins->n_docs);
}

/* Checks all columns, or all codes of bins. */
struct checking {
    const struct rw_cache_file *file;
    const struct rw_bins *bins; /* NULL: check columns */
    uint64_t n_bad;
};

static int count_bad(void *user, struct rw_share *share)
{
    struct checking *job = user;
    const struct rw_dataset *dataset = job->file->out->documents;
    uint64_t n_bad = 0;
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        n_bad += !(job->bins ? codes_are_good(job->bins, (uint32_t)i)
                             : column_is_good(&dataset->column[i], dataset->n_docs,
                                              job->file->view == RW_CACHE_PART));
    rw_share_add(share, &job->n_bad, n_bad);
    return RW_OK;
}

static int check_all(const struct rw_cache_file *f, const struct rw_bins *bins, uint32_t n,
                     const char *wrong)
{
    struct checking job = {.file = f, .bins = bins};
    RW_TRY(rw_parallel(f->ctx, f->ctx->n_threads, n, 1, count_bad, &job));
    return job.n_bad ? damaged(f, wrong) : RW_OK;
}

/* Checks bin boundaries and codes. view_bins has checked the number of boundaries of each feature.
 */
static int check_bins(const struct rw_cache_file *f)
{
    const struct rw_cuts *cuts = f->out->bins->cuts;
    for (uint32_t i = 0; i < cuts->n_features; i++) {
        if (!rw_dataset_column(f->out->documents, cuts->feature[i]))
            return damaged(f, rw_cache_row[RW_CACHE_CUT_FEATURE].wrong);
        const float *cut = cuts->cut + cuts->offset[i];
        const uint32_t n = rw_cuts_n_bins(cuts, i);
        for (uint32_t b = 0; b < n; b++) {
            if (!is_clean(cut[b]) || (b && !(cut[b] > cut[b - 1])))
                return damaged(f, "bin boundaries do not ascend");
        }
        if (cut[n - 1] != FLT_MAX)
            return damaged(f, "a feature's last bin boundary is missing");
    }
    return check_all(f, f->out->bins, cuts->n_features, "a code or its document is out of range");
}

/* ---- texts ---- */

/* Checks n concatenated texts, each terminated by 0. offset: [n + 1]. No byte of `never` may occur.
 */
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

static int check_texts(const struct rw_cache_file *f)
{
    const struct rw_dataset *dataset = f->out->documents;
    if (!texts_are_good(dataset->query_id.offset, dataset->n_queries, dataset->query_id.text, 0,
                        "\t\r\n"))
        return damaged(f, rw_cache_row[RW_CACHE_QUERY_ID_OFFSET].wrong);
    if (dataset->comment.offset &&
        !texts_are_good(dataset->comment.offset, dataset->n_docs, dataset->comment.text, 1, "\n"))
        return damaged(f, rw_cache_row[RW_CACHE_COMMENT_OFFSET].wrong);
    return RW_OK;
}

/* Checks that each query has a different id. */
static int check_ids(const struct rw_cache_file *f)
{
    const struct rw_dataset *dataset = f->out->documents;
    RW_SCOPED(rw_seen_free) struct rw_seen *seen = NULL;
    int status = RW_OK;
    RW_TRY(rw_seen_new(f->ctx, &seen));
    for (uint32_t q = 0; q < dataset->n_queries && status >= 0; q++) {
        const char *id = rw_dataset_query_id(dataset, q);
        status = q && strcmp(id, rw_dataset_query_id(dataset, q - 1)) == 0
                     ? damaged(f, "a query is repeated")
                     : rw_seen_add(f->ctx, seen, id, f->name, 0, 0);
    }
    return status;
}

/* ---- using a cache in memory ---- */

static void *section_at(const struct rw_cache_file *f, enum rw_cache_section section)
{
    return f->map + f->layout.offset[section];
}

/* Finds a section's block at byte *at, and advances *at to the next block. */
static int next_block(const struct rw_cache_file *f, enum rw_cache_section section, size_t width,
                      uint64_t *at, struct rw_cache_block *block)
{
    const uint64_t begin = f->layout.offset[section], end = begin + f->layout.n[section];
    const uint64_t from = begin + *at;
    if (end - from < RW_CACHE_ALIGN ||
        rw_cache_block((const void *)(f->map + from), f->h.n_docs, width, from, end, block) < 0)
        return damaged(f, rw_cache_row[section].wrong);
    *at = block->end - begin;
    return RW_OK;
}

/* Checks that the last block ends the section. */
static int end_blocks(const struct rw_cache_file *f, enum rw_cache_section section, uint64_t at)
{
    return at == f->layout.n[section] ? RW_OK : damaged(f, rw_cache_row[section].wrong);
}

static int view_columns(const struct rw_cache_file *f)
{
    struct rw_dataset *dataset = f->out->documents;
    const uint32_t *feature = section_at(f, RW_CACHE_COLUMN_FEATURE);
    uint64_t at = 0;
    RW_TRY(RW_NEW(f->ctx, dataset->column, f->h.n_columns));
    for (uint32_t c = 0; c < f->h.n_columns; c++) {
        struct rw_column *column = &dataset->column[c];
        struct rw_cache_block block = {0};
        column->feature = feature[c];
        if (f->view == RW_CACHE_CODES)
            continue;
        RW_TRY(next_block(f, RW_CACHE_VALUE, sizeof(float), &at, &block));
        column->n = block.n;
        column->row = block.rows ? (void *)(f->map + block.rows) : NULL;
        column->value = (void *)(f->map + block.data);
    }
    dataset->n_columns = f->h.n_columns;
    return f->view == RW_CACHE_CODES ? RW_OK : end_blocks(f, RW_CACHE_VALUE, at);
}

static int view_codes(const struct rw_cache_file *f, struct rw_bins *bins)
{
    uint64_t at = 0;
    RW_TRY(RW_NEW(f->ctx, bins->codes, bins->cuts->n_features));
    for (uint32_t i = 0; i < bins->cuts->n_features; i++) {
        struct rw_cache_block block = {0};
        RW_TRY(next_block(f, RW_CACHE_CODE, rw_cuts_code_bytes(bins->cuts, i), &at, &block));
        bins->codes[i] = (struct rw_codes){.n = block.n,
                                           .rest = block.rest,
                                           .row = block.rows ? (void *)(f->map + block.rows) : NULL,
                                           .code = f->map + block.data};
    }
    return end_blocks(f, RW_CACHE_CODE, at);
}

/* Copies a section's elements to a new array: of the arena or, if `arena` is NULL, one to be freed
 * with rw_mem_free. */
static int copy_section(const struct rw_cache_file *f, enum rw_cache_section section,
                        struct rw_arena *arena, void **out)
{
    const uint64_t n = f->layout.n_arrays[section] * f->layout.n[section];
    const size_t size = rw_cache_row[section].size;
    RW_TRY(arena ? rw_arena_new(f->ctx, arena, out, n, size)
                 : rw_mem_new_raw(f->ctx, out, n, size));
    if (n)
        memcpy(*out, section_at(f, section), n * size);
    return RW_OK;
}

static struct rw_cut_rule rule_of(const struct rw_cache_header *h)
{
    return (struct rw_cut_rule){
        .bins = h->bins, .absent_missing = (int)h->absent_missing, .min_docs = h->min_docs};
}

int rw_cache_serves(const struct rw_cache_header *h, const struct rw_cut_rule *rule)
{
    const struct rw_cut_rule has = rule_of(h);
    return rule && h->has_bins && rw_cut_rule_serves(&has, rule);
}

/* Makes the bins. Boundaries are copies; codes are views of the bytes in memory. */
static int view_bins(const struct rw_cache_file *f)
{
    const struct rw_cache_header *h = &f->h;
    RW_TRY(RW_NEW(f->ctx, f->out->bins, 1));
    struct rw_bins *bins = f->out->bins;
    *bins = (struct rw_bins){
        .rule = rule_of(h), .n_docs = h->n_docs, .codes_are_views = 1, .owns_cuts = 1};
    RW_TRY(RW_NEW(f->ctx, bins->cuts, 1));
    struct rw_cuts *cuts = bins->cuts;
    RW_TRY(copy_section(f, RW_CACHE_CUT_FEATURE, &cuts->arena, (void **)&cuts->feature));
    RW_TRY(copy_section(f, RW_CACHE_CUT_OFFSET, &cuts->arena, (void **)&cuts->offset));
    RW_TRY(copy_section(f, RW_CACHE_CUT, &cuts->arena, (void **)&cuts->cut));
    RW_TRY(copy_section(f, RW_CACHE_HAS_MISSING, &cuts->arena, (void **)&cuts->has_missing));
    if (h->bins < 2 || h->bins > RW_MAX_BINS || h->absent_missing > 1)
        return damaged(f, "its parameters are out of range");
    cuts->n_constant = h->n_constant;
    cuts->n_few = h->n_few;
    cuts->n_ignored = h->n_ignored;
    for (uint32_t i = 0; i < h->n_cut_features; i++) {
        if (cuts->offset[i + 1] - cuts->offset[i] > (uint64_t)h->bins)
            return damaged(f, "a feature's number of bin boundaries is wrong");
    }
    cuts->n_features = h->n_cut_features;
    return view_codes(f, bins);
}

static int take_side_columns(const struct rw_cache_file *f)
{
    const struct rw_cache_header *h = &f->h;
    struct rw_dataset *dataset = f->out->documents;
    dataset->weight_by_query = h->weights == RW_CACHE_OF_QUERIES;
    dataset->width = h->width;
    for (uint32_t c = 0; c < dataset->n_columns && h->width; c++) {
        if (dataset->column[c].feature >= h->width)
            return damaged(f, "a feature is outside its columns");
    }
    if (h->weights)
        RW_TRY(copy_section(f, RW_CACHE_WEIGHT, NULL, (void **)&dataset->weight));
    for (uint32_t q = 0; dataset->weight_by_query && q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q];
        for (uint32_t i = begin; i < dataset->query_offset[q + 1]; i++) {
            if (dataset->weight[i] != dataset->weight[begin])
                return damaged(f, rw_cache_row[RW_CACHE_WEIGHT].wrong);
        }
    }
    if (h->n_more_labels)
        RW_TRY(copy_section(f, RW_CACHE_MORE_LABEL, NULL, (void **)&dataset->more_label));
    dataset->n_more_labels = (int)h->n_more_labels;
    return RW_OK;
}

/* ---- names and words ---- */

/* Fails with the section's message if `status` is RW_ERR_FORMAT. Otherwise returns `status`. */
static int name_damage(const struct rw_cache_file *f, enum rw_cache_section section, int status)
{
    return status == RW_ERR_FORMAT ? damaged(f, rw_cache_row[section].wrong) : status;
}

/* Finds the n texts of a section, which must fill it; each is terminated by 0 and not empty.
 * Otherwise returns RW_ERR_FORMAT without a message. The caller frees *out. */
static int find_texts(const struct rw_cache_file *f, enum rw_cache_section section, uint64_t n,
                      const char ***out)
{
    const char *text = section_at(f, section), *end = text + f->layout.n[section];
    if (n > f->layout.n[section])
        return RW_ERR_FORMAT;
    RW_TRY(RW_NEW(f->ctx, *out, n + 1));
    for (uint64_t i = 0; i < n; i++) {
        const char *stop = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
        if (!stop || stop == text)
            return RW_ERR_FORMAT;
        (*out)[i] = text;
        text = stop + 1;
    }
    return text == end ? RW_OK : RW_ERR_FORMAT;
}

static int take_names(const struct rw_cache_file *f)
{
    RW_FREED const char **text = NULL;
    const uint32_t *feature = section_at(f, RW_CACHE_NAME_FEATURE), n = f->h.n_names;
    struct rw_dataset *dataset = f->out->documents;
    RW_TRY(find_texts(f, RW_CACHE_NAME_TEXT, n, &text));
    if (n == 0)
        return RW_OK;
    RW_TRY(RW_NEW(f->ctx, dataset->name, n));
    dataset->width = feature[n - 1] + 1;
    for (uint32_t i = 0; i < n; i++) {
        dataset->name[i].feature = feature[i];
        dataset->n_names++;
        RW_TRY(rw_mem_copy_text(f->ctx, &dataset->name[i].name, text[i]));
    }
    return RW_OK;
}

/* Shares the context's vocabulary if the features with words in this file are exactly those that
 * the context reads as words. Words then have the same numbers in all files of a call. Otherwise
 * the data set gets a vocabulary of its own. */
static int take_vocabulary(const struct rw_cache_file *f)
{
    struct rw_dataset *dataset = f->out->documents;
    const uint32_t *feature = section_at(f, RW_CACHE_WORD_FEATURE), n = f->h.n_word_features;
    struct rw_vocabulary *shared;
    uint32_t n_marked = 0, n_both = 0;
    RW_TRY(rw_columns_vocabulary(f->ctx, dataset->name, dataset->n_names, &shared));
    for (uint32_t c = 0; shared && c < dataset->n_columns; c++) {
        const uint32_t id = dataset->column[c].feature, at = rw_numbers_under(feature, n, id);
        const int is_marked = rw_vocabulary_has(shared, id);
        n_marked += (uint32_t)is_marked;
        n_both += is_marked && at < n && feature[at] == id;
    }
    if (shared && n_marked == n_both && n_both == n)
        dataset->vocabulary = rw_vocabulary_share(shared);
    return RW_OK;
}

/* Sets the words of features. */
static int take_words(const struct rw_cache_file *f)
{
    RW_FREED const char **text = NULL;
    const uint32_t *feature = section_at(f, RW_CACHE_WORD_FEATURE), n = f->h.n_word_features;
    const uint32_t *n_words = section_at(f, RW_CACHE_WORD_N);
    struct rw_dataset *dataset = f->out->documents;
    uint64_t n_all = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (n_words[i] > RW_MAX_WORDS)
            return RW_ERR_FORMAT;
        n_all += n_words[i];
    }
    RW_TRY(find_texts(f, RW_CACHE_WORD_TEXT, n_all, &text));
    const char **own = text;
    for (uint32_t i = 0; i < n; own += n_words[i++]) {
        for (uint32_t k = 0; k < n_words[i]; k++) {
            if (strlen(own[k]) > RW_MAX_WORD_BYTES || (k && strcmp(own[k - 1], own[k]) >= 0))
                return RW_ERR_FORMAT;
        }
    }
    if (n)
        RW_TRY(take_vocabulary(f));
    own = text;
    for (uint32_t i = 0; i < n; own += n_words[i++]) {
        if (!rw_dataset_column(dataset, feature[i]))
            return RW_ERR_FORMAT;
        const int status = rw_categories_set_words(f->ctx, dataset, feature[i], own, n_words[i]);
        RW_TRY(status == RW_ERR_DATA ? RW_ERR_FORMAT : status); /* a value is not a word's number */
    }
    return RW_OK;
}

/* ---- the whole cache ---- */

int rw_cache_view(const struct rw_cache_file *f)
{
    struct rw_dataset *dataset = f->out->documents;
    dataset->n_docs = f->h.n_docs;
    dataset->n_queries = f->h.n_queries;
    dataset->n_clamped = f->h.n_clamped;
    dataset->label = section_at(f, RW_CACHE_LABEL);
    dataset->query_offset = section_at(f, RW_CACHE_QUERY_OFFSET);
    dataset->query_id.offset = section_at(f, RW_CACHE_QUERY_ID_OFFSET);
    dataset->query_id.text = section_at(f, RW_CACHE_QUERY_ID_TEXT);
    if (f->h.has_comments) {
        dataset->comment.offset = section_at(f, RW_CACHE_COMMENT_OFFSET);
        dataset->comment.text = section_at(f, RW_CACHE_COMMENT_TEXT);
    }
    RW_TRY(check_sections(f));
    RW_TRY(view_columns(f));
    if (f->h.has_bins)
        RW_TRY(view_bins(f));
    RW_TRY(check_texts(f));
    if (f->view != RW_CACHE_CODES)
        RW_TRY(check_all(f, NULL, dataset->n_columns, "a feature's values or rows are wrong"));
    RW_TRY(check_ids(f));
    if (f->h.has_bins)
        RW_TRY(check_bins(f));
    RW_TRY(take_side_columns(f));
    RW_TRY(name_damage(f, RW_CACHE_NAME_FEATURE, take_names(f)));
    RW_TRY(name_damage(f, RW_CACHE_WORD_FEATURE, take_words(f)));
    RW_TRY(rw_columns_agree(f->ctx, f->name, dataset));
    if (f->view == RW_CACHE_CODES) { /* columns whose values are left out provide the features */
        RW_TRY(rw_binned_take_features(f->ctx, dataset->column, dataset->n_columns, f->out));
        dataset->n_columns = 0;
        return RW_OK;
    }
    rw_bins_free(f->out->bins);
    f->out->bins = NULL;
    return RW_OK;
}

/* Returns 1 if the cache has codes that satisfy `rule`. Then sets the range of bytes to leave out,
 * the section of values. h: written, the header as it is before the file is loaded. */
static int leave_out_values(const struct rw_input *input, const struct rw_cut_rule *rule,
                            struct rw_cache_header *h, struct rw_loaded *loaded)
{
    struct rw_cache_layout layout;
    size_t n_bytes;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    _Static_assert(sizeof(*h) <= RW_INPUT_HEAD, "the header is in the head");
    if (n_bytes < sizeof(*h))
        return 0;
    memcpy(h, head, sizeof(*h));
    if (!rw_cache_serves(h, rule) || rw_cache_layout(h, UINT64_MAX / 2, &layout) < 0 ||
        layout.file_bytes != h->file_bytes)
        return 0;
    loaded->left_out = layout.offset[RW_CACHE_VALUE];
    loaded->left_out_end = layout.offset[RW_CACHE_LABEL];
    return 1;
}

static int read_whole(struct rw_cache_file *f, const struct rw_cut_rule *rule)
{
    struct rw_cache_header before;
    struct rw_loaded loaded = {.data = NULL};
    uint32_t written;
    const int only_codes = leave_out_values(f->input, rule, &before, &loaded);
    RW_TRY(rw_input_load(f->ctx, f->input, &loaded));
    f->map = f->out->documents->cache.p = loaded.data;
    f->out->documents->cache.n_bytes = loaded.n_bytes;
    RW_TRY(rw_cache_take_header(f, loaded.data, loaded.n_bytes, loaded.n_bytes));
    if (only_codes && memcmp(&before, &f->h, sizeof(before)) != 0)
        return rw_fail(f->ctx, RW_ERR_DATA, "'%s' changed while it was being read", f->name);
    memcpy(&written, f->map + loaded.n_bytes - sizeof(written), sizeof(written));
    RW_TRY(rw_cache_check_sum(f, loaded.crc, written));
    RW_TRY(rw_cache_check_counts(f));
    f->view = only_codes ? RW_CACHE_CODES : RW_CACHE_VALUES;
    return rw_cache_view(f);
}

int rw_cache_read(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                  const struct rw_cut_rule *rule, struct rw_binned *out)
{
    struct rw_cache_file file = {
        .ctx = ctx, .input = input, .name = rw_input_name(input), .out = out};
    int status;
    RW_TRY_OUT(RW_NEW(ctx, out->documents, 1));
    status = range ? rw_cache_read_part(&file, range, rule) : read_whole(&file, rule);
out:
    if (status < 0)
        rw_binned_release(out);
    return status;
}

/* ---- the data format ---- */

/* Recognises a cache if at least 6 of its 8 first bytes are right: even if some are damaged, it
 * must not be read as text. */
static int probe(const unsigned char *head, size_t n_bytes)
{
    int n_same = 0;
    for (size_t i = 0; i < 8 && i < n_bytes; i++)
        n_same += head[i] == (unsigned char)RW_CACHE_MAGIC[i];
    return n_same >= 6;
}

const struct rw_data_format rw_data_format_cache = {.name = "cache",
                                                    .probe = probe,
                                                    .whole = rw_cache_read,
                                                    .notices_queries = 1,
                                                    .divided = &rw_cache_divided};
