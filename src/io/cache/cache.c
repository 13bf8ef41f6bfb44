#include "io/cache/cache.h"

#include <float.h>
#include <sys/mman.h>
#include <zlib.h>

#include "base/checksum.h"
#include "base/mem.h"
#include "io/data_format.h"
#include "io/input.h"
#include "io/text.h"

enum { SLICE_VALUES = 1 << 23, MOST_SLICE_DOCS = 1 << 16 };

const struct rw_cache_row rw_cache_row[RW_CACHE_N_SECTIONS] = {
#define RW_CACHE_SECTION(name, type, n_arrays, n, axis, of, invariant, wrong)    \
    [RW_CACHE_##name] = {sizeof(type), RW_CACHE_AXIS_##axis, RW_CACHE_AXIS_##of, \
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

/* --- reading --- */

int rw_cache_damaged(struct rw_ctx *ctx, const char *name, const char *what)
{
    return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is damaged: %s", name, what);
}

int rw_cache_header_of(struct rw_ctx *ctx, const char *name, const void *head, size_t n_bytes,
                       uint64_t file_bytes, struct rw_cache_header *h)
{
    if (n_bytes < sizeof(*h) || file_bytes < sizeof(*h) + RW_CACHE_CRC_BYTES)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "'%s' is cut short: a cache has at least %zu bytes, this "
                       "has %llu",
                       name, sizeof(*h) + RW_CACHE_CRC_BYTES, (unsigned long long)file_bytes);
    memcpy(h, head, sizeof(*h));
    if (memcmp(h->magic, RW_CACHE_MAGIC, sizeof(h->magic)) != 0)
        return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is damaged: it does not begin as a cache", name);
    if (h->byte_order != RW_CACHE_BYTE_ORDER)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "'%s' is damaged, or was made on a machine of another "
                       "byte order\nhint: make it again with 'rankwood bin'",
                       name);
    if (h->version != RW_CACHE_VERSION)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "'%s' is a cache of version %u, made by %s Rankwood; expected version %d\n"
                       "hint: make it again with 'rankwood bin'",
                       name, h->version, h->version < RW_CACHE_VERSION ? "an earlier" : "a later",
                       RW_CACHE_VERSION);
    if (h->file_bytes != file_bytes)
        return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is %s: expected %llu bytes, found %llu", name,
                       file_bytes < h->file_bytes ? "cut short" : "too long",
                       (unsigned long long)h->file_bytes, (unsigned long long)file_bytes);
    return RW_OK;
}

int rw_cache_check_sum(struct rw_ctx *ctx, const char *name, uint32_t crc, uint32_t written)
{
    if (crc != crc32_combine(written, rw_checksum(0, &written, sizeof(written)), sizeof(written)))
        return rw_cache_damaged(ctx, name, "its checksum does not match");
    return RW_OK;
}

/* Behind a checksum that is right, counts that are wrong are no accident. */
int rw_cache_check_counts(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                          struct rw_cache_layout *layout)
{
    if (rw_cache_layout(h, h->file_bytes, layout) < 0 || layout->file_bytes != h->file_bytes)
        return rw_cache_damaged(ctx, name, "its counts do not fit its size");
    if (h->has_bins > 1 || h->has_comments > 1 || h->n_docs == 0 || h->n_docs > RW_MAX_DOCS ||
        h->n_queries == 0 || h->n_queries > h->n_docs || h->weights > RW_CACHE_OF_QUERIES ||
        h->n_more_labels >= RW_MAX_LABELS || h->width > RW_FEATURE_IDS ||
        (h->width && h->n_names) || h->zero)
        return rw_cache_damaged(ctx, name, "a count is out of range");
    if (!h->has_comments && h->comment_bytes)
        return rw_cache_damaged(ctx, name, "there is text that belongs to no comment");
    if (!h->has_bins && (h->n_cut_features || h->n_cuts || h->code_bytes))
        return rw_cache_damaged(ctx, name, "there are cuts without a rule");
    if (h->n_word_features && h->has_bins)
        return rw_cache_damaged(ctx, name, "there are codes beside words");
    return h->n_columns > RW_FEATURE_IDS || h->n_names > RW_FEATURE_IDS ||
                   h->n_word_features > RW_FEATURE_IDS
               ? rw_cache_damaged(ctx, name, "too many features")
               : RW_OK;
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

/* The n blocks of a section. cuts: of codes; NULL: of values. block: [n] */
static int view_blocks(struct rw_ctx *ctx, const char *name, const struct rw_cache_layout *layout,
                       enum rw_cache_section section, uint32_t n, const struct rw_cuts *cuts,
                       const char *map, uint32_t n_docs, struct rw_cache_block *block)
{
    uint64_t at = layout->offset[section];
    const uint64_t end = at + layout->n[section];
    for (uint32_t i = 0; i < n; i++) {
        const size_t width = cuts ? rw_cuts_code_bytes(cuts, i) : sizeof(float);
        if (end - at < RW_CACHE_ALIGN ||
            rw_cache_block((const void *)(map + at), n_docs, width, at, end, &block[i]) < 0)
            return rw_cache_damaged(ctx, name, rw_cache_row[section].wrong);
        at = block[i].end;
    }
    return at == end ? RW_OK : rw_cache_damaged(ctx, name, rw_cache_row[section].wrong);
}

static int view_columns(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                        const struct rw_cache_layout *layout, int has_values,
                        struct rw_dataset *dataset)
{
    char *map = dataset->cache;
    const uint32_t *feature = (const void *)(map + layout->offset[RW_CACHE_COLUMN_FEATURE]);
    struct rw_cache_block *block;
    int status;
    RW_TRY(RW_NEW(ctx, dataset->column, h->n_columns));
    RW_TRY(RW_NEW(ctx, block, h->n_columns));
    if (has_values)
        RW_TRY_OUT(view_blocks(ctx, name, layout, RW_CACHE_VALUE, h->n_columns, NULL, map,
                               h->n_docs, block));
    for (uint32_t c = 0; c < h->n_columns; c++)
        dataset->column[c] =
            (struct rw_column){.feature = feature[c],
                               .n = block[c].n,
                               .row = block[c].rows ? (void *)(map + block[c].rows) : NULL,
                               .value = has_values ? (void *)(map + block[c].data) : NULL};
    dataset->n_columns = h->n_columns;
    status = RW_OK;
out:
    rw_mem_free(block);
    return status;
}

static int copy(struct rw_ctx *ctx, void **out, const struct rw_cache_layout *layout,
                enum rw_cache_section section, const char *map)
{
    const uint64_t n = layout->n_arrays[section] * layout->n[section];
    const size_t size = rw_cache_row[section].size;
    RW_TRY(rw_mem_new_raw(ctx, out, n, size));
    if (n)
        memcpy(*out, map + layout->offset[section], n * size);
    return RW_OK;
}

static int view_codes(struct rw_ctx *ctx, const char *name, const struct rw_cache_layout *layout,
                      char *map, struct rw_bins *bins)
{
    const uint32_t n = bins->cuts->n_features;
    struct rw_cache_block *block;
    RW_TRY(RW_NEW(ctx, bins->codes, n));
    RW_TRY(RW_NEW(ctx, block, n));
    const int status =
        view_blocks(ctx, name, layout, RW_CACHE_CODE, n, bins->cuts, map, bins->n_docs, block);
    for (uint32_t f = 0; status >= 0 && f < n; f++)
        bins->codes[f] =
            (struct rw_codes){.n = block[f].n,
                              .rest = block[f].rest,
                              .row = block[f].rows ? (void *)(map + block[f].rows) : NULL,
                              .code = map + block[f].data};
    rw_mem_free(block);
    return status;
}

struct rw_cut_rule rw_cache_rule_of(const struct rw_cache_header *h)
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
    const struct {
        enum rw_cache_section section;
        void **to;
    } copied[] = {{RW_CACHE_CUT_FEATURE, (void **)&cuts->feature},
                  {RW_CACHE_CUT_OFFSET, (void **)&cuts->offset},
                  {RW_CACHE_CUT, (void **)&cuts->cut},
                  {RW_CACHE_HAS_MISSING, (void **)&cuts->has_missing}};
    for (size_t i = 0; i < sizeof(copied) / sizeof(copied[0]); i++)
        RW_TRY(copy(ctx, copied[i].to, layout, copied[i].section, map));
    if (h->bins < 2 || h->bins > RW_MAX_BINS || h->absent_missing > 1)
        return rw_cache_damaged(ctx, name, "its parameters are out of range");
    bins->rule = rw_cache_rule_of(h);
    bins->n_docs = h->n_docs;
    cuts->n_constant = h->n_constant;
    cuts->n_few = h->n_few;
    cuts->n_ignored = h->n_ignored;
    for (uint32_t f = 0; f < h->n_cut_features; f++) {
        if (cuts->offset[f + 1] - cuts->offset[f] > (uint64_t)h->bins)
            return rw_cache_damaged(ctx, name, "a feature's number of cuts is wrong");
    }
    cuts->n_features = h->n_cut_features;
    return view_codes(ctx, name, layout, map, bins);
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
    const struct rw_cut_rule has = rw_cache_rule_of(h);
    if (!h->has_bins || !rw_cut_rule_serves(&has, rule) ||
        rw_cache_layout(h, UINT64_MAX / 2, &layout) < 0 || layout.file_bytes != h->file_bytes)
        return;
    loaded->left_out = layout.offset[RW_CACHE_VALUE];
    loaded->left_out_end = layout.offset[RW_CACHE_LABEL];
}

/* Weights and further labels are copied, for they are freed like any other. */
static int take_side_columns(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                             const struct rw_cache_layout *layout, const char *map,
                             struct rw_dataset *dataset)
{
    dataset->weight_by_query = h->weights == RW_CACHE_OF_QUERIES;
    dataset->width = h->width;
    for (uint32_t c = 0; c < dataset->n_columns && h->width; c++) {
        if (dataset->column[c].feature >= h->width)
            return rw_cache_damaged(ctx, name, "a feature is beyond its columns");
    }
    if (h->weights)
        RW_TRY(copy(ctx, (void **)&dataset->weight, layout, RW_CACHE_WEIGHT, map));
    for (uint32_t q = 0; dataset->weight_by_query && q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q];
        for (uint32_t i = begin; i < dataset->query_offset[q + 1]; i++) {
            if (dataset->weight[i] != dataset->weight[begin])
                return rw_cache_damaged(ctx, name, "a weight is wrong");
        }
    }
    if (h->n_more_labels)
        RW_TRY(copy(ctx, (void **)&dataset->more_label, layout, RW_CACHE_MORE_LABEL, map));
    dataset->n_more_labels = (int)h->n_more_labels;
    return RW_OK;
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

int rw_cache_view(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                  const struct rw_cache_layout *layout, enum rw_cache_view view,
                  struct rw_binned *out)
{
    struct rw_dataset *dataset = out->documents;
    char *map = dataset->cache;
    dataset->n_docs = h->n_docs;
    dataset->n_queries = h->n_queries;
    dataset->n_clamped = h->n_clamped;
    dataset->label = (void *)(map + layout->offset[RW_CACHE_LABEL]);
    dataset->query_offset = (void *)(map + layout->offset[RW_CACHE_QUERY_OFFSET]);
    dataset->query_id_offset = (void *)(map + layout->offset[RW_CACHE_QUERY_ID_OFFSET]);
    dataset->query_id_text = map + layout->offset[RW_CACHE_QUERY_ID_TEXT];
    if (h->has_comments) {
        dataset->comment_offset = (void *)(map + layout->offset[RW_CACHE_COMMENT_OFFSET]);
        dataset->comment_text = map + layout->offset[RW_CACHE_COMMENT_TEXT];
    }
    RW_TRY(rw_cache_check_sections(ctx, name, h, layout, map));
    RW_TRY(view_columns(ctx, name, h, layout, view != RW_CACHE_CODES, dataset));
    if (h->has_bins)
        RW_TRY(view_bins(ctx, name, h, layout, map, &out->bins));
    RW_TRY(rw_cache_check(ctx, name, dataset, out->bins, view == RW_CACHE_PART));
    RW_TRY(take_side_columns(ctx, name, h, layout, map, dataset));
    RW_TRY(rw_cache_take_names(ctx, name, h, layout, map, dataset));
    RW_TRY(rw_cache_take_words(ctx, name, h, layout, map, dataset));
    RW_TRY(rw_columns_agree(ctx, name, dataset));
    if (view == RW_CACHE_CODES)
        return take_features(ctx, out);
    rw_bins_free(out->bins);
    out->bins = NULL;
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
    if (rule)
        leave_out_values(input, rule, &before, &loaded);
    RW_TRY_OUT(rw_input_load(ctx, input, &loaded));
    out->documents->cache = loaded.data;
    out->documents->cache_bytes = loaded.n_bytes;
    const char *end = (const char *)loaded.data + loaded.n_bytes;
    uint32_t written;
    RW_TRY_OUT(
        rw_cache_header_of(ctx, name, loaded.data, loaded.n_bytes, loaded.file_bytes, &header));
    memcpy(&written, end - sizeof(written), sizeof(written));
    RW_TRY_OUT(rw_cache_check_sum(ctx, name, loaded.crc, written));
    RW_TRY_OUT(rw_cache_check_counts(ctx, name, &header, &layout));
    if (loaded.left_out_end && memcmp(&before, &header, sizeof(header)) != 0) {
        status = rw_fail(ctx, RW_ERR_DATA, "'%s' changed while it was read", name);
        goto out;
    }
    for (int i = RW_CACHE_LABEL; i < RW_CACHE_N_SECTIONS; i++)
        layout.offset[i] -= loaded.left_out_end - loaded.left_out;
    status = rw_cache_view(ctx, name, &header, &layout,
                           loaded.left_out_end ? RW_CACHE_CODES : RW_CACHE_VALUES, out);
out:
    if (status < 0)
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

/* range: NULL, or of its documents. */
static int read_whole(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                      const struct rw_cut_rule *rule, struct rw_binned *out)
{
    return range ? rw_cache_read_part(ctx, input, range, rule, out)
                 : rw_cache_read(ctx, input, rule, out);
}

static int format_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                       struct rw_seen *seen, void **state)
{
    struct cache_reader *reader;
    struct rw_binned read = {.documents = NULL};
    int status;
    *state = NULL;
    RW_TRY(RW_NEW(ctx, reader, 1));
    reader->seen = seen;
    RW_TRY_OUT(rw_mem_copy_text(ctx, &reader->name, rw_input_name(input)));
    RW_TRY_OUT(read_whole(ctx, input, range, NULL, &read));
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
    RW_TRY(rw_mem_copy_text(ctx, &builder->file, reader->name));
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

static const struct rw_divided divided = {.can_divide = rw_cache_can_divide,
                                          .check = rw_cache_check_together,
                                          .query_before = rw_cache_query_before,
                                          .next_query = rw_cache_next_query};
const struct rw_data_format rw_data_format_cache = {.name = "cache",
                                                    .probe = probe,
                                                    .open = format_open,
                                                    .next = format_next,
                                                    .close = format_close,
                                                    .whole = read_whole,
                                                    .divided = &divided};

/* What a cache's arrays promise, checked element by element: a file may be hostile and carry a
 * checksum that is right. */
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
