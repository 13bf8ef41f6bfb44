/* Writes a data set, with or without bins, as a cache file. If all columns are dense, their values
 * can also be written first, directly and in any order (struct rw_cache_values). The other sections
 * are then written around them. A word is a value of a categorical feature, given as text. */
#include <stdlib.h>

#include "base/system.h"
#include "dataset/categories.h"
#include "io/cache/cache.h"

enum { CRC_PIECE = 1 << 23 }; /* bytes that are written or read at a time */

struct cache_out {
    struct rw_out_file file;
    uint32_t crc;  /* CRC-32 of all bytes so far */
    uint64_t at;   /* number of bytes so far */
    FILE *written; /* NULL, or the same file opened for reading */
    int status;    /* RW_OK, or the failure to read values back from `written` */
};

static void put(struct cache_out *out, const void *data, uint64_t n_bytes)
{
    const unsigned char *from = data;
    out->at += n_bytes;
    while (n_bytes) { /* errors are recorded in the FILE, and the commit checks them */
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

/* Writes data that begins at a multiple of 64 bytes, and pads it to the next one. */
static void put_part(struct cache_out *out, const void *data, uint64_t n_bytes)
{
    put(out, data, n_bytes);
    pad(out);
}

/* ---- words ---- */

/* A word, and its number in the data set's vocabulary. */
struct used_word {
    const char *text; /* owned by the vocabulary */
    uint32_t number;
};

/* The content to write. If a feature's values are words, the file has only the words that its
 * documents have, sorted by their bytes, and the values are the positions of the words in that
 * order, from 0. The file thus depends on the data alone, not on the words' numbers in the
 * vocabulary. */
struct content {
    struct rw_dataset dataset;  /* borrowed, except `column` and values that are words */
    const struct rw_bins *bins; /* NULL: no bins */
    struct rw_arena arena; /* owns column, values that are words, word_feature, n_words, word */
    uint32_t n_word_features;
    /* word_feature: [n_word_features] ids of the features with words, ascending; n_words:
     * [n_word_features] number of words of each */
    uint32_t *word_feature, *n_words;
    size_t n_all_words, word_room;
    struct used_word *word; /* [n_all_words] sorted within each feature, feature by feature */
};

/* Collects the words of a column, and replaces its values by positions of words. number:
 * [n_vocabulary] scratch. */
static int renumber(struct rw_ctx *ctx, struct rw_column *column, uint32_t n_vocabulary,
                    uint32_t *number, struct content *content)
{
    struct rw_vocabulary *vocabulary = content->dataset.vocabulary;
    uint32_t n = 0;
    float *value;
    if (n_vocabulary)
        memset(number, 0, n_vocabulary * sizeof(*number));
    for (uint32_t i = 0; i < column->n; i++) {
        if (column->value[i] == column->value[i])
            n += number[(uint32_t)column->value[i]]++ == 0;
    }
    RW_TRY(RW_ARENA_GROW(ctx, &content->arena, content->word, content->word_room,
                         content->n_all_words + n + 1));
    RW_TRY(RW_ARENA_NEW(ctx, &content->arena, value, column->n));
    struct used_word *own = content->word + content->n_all_words;
    for (uint32_t k = 0, at = 0; k < n_vocabulary; k++) {
        if (number[k])
            own[at++] = (struct used_word){rw_vocabulary_word(vocabulary, k), k};
    }
    RW_SORT(own, n, rw_by_text);
    for (uint32_t k = 0; k < n; k++)
        number[own[k].number] = k;
    for (uint32_t i = 0; i < column->n; i++) {
        const float v = column->value[i];
        value[i] = v == v ? (float)number[(uint32_t)v] : v;
    }
    content->word_feature[content->n_word_features] = column->feature;
    content->n_words[content->n_word_features] = n;
    content->n_word_features++;
    column->value = value;
    content->n_all_words += n;
    return RW_OK;
}

/* Collects the words of all columns that have words, and replaces the values of these columns. */
static int take_words(struct rw_ctx *ctx, struct content *content)
{
    struct rw_dataset *dataset = &content->dataset;
    const struct rw_column *from = dataset->column;
    const uint32_t n_vocabulary = rw_vocabulary_n(dataset->vocabulary),
                   n_columns = dataset->n_columns;
    RW_FREED uint32_t *number = NULL;
    RW_TRY(RW_ARENA_NEW(ctx, &content->arena, content->word_feature, n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, &content->arena, content->n_words, n_columns));
    RW_TRY(RW_ARENA_NEW(ctx, &content->arena, dataset->column, n_columns));
    memcpy(dataset->column, from, n_columns * sizeof(*from));
    RW_TRY(RW_NEW_RAW(ctx, number, n_vocabulary));
    for (uint32_t c = 0; c < n_columns; c++) {
        if (rw_vocabulary_has(dataset->vocabulary, dataset->column[c].feature))
            RW_TRY(renumber(ctx, &dataset->column[c], n_vocabulary, number, content));
    }
    return RW_OK;
}

int rw_cache_has_words(const struct rw_dataset *dataset)
{
    for (uint32_t c = 0; dataset->vocabulary && c < dataset->n_columns; c++) {
        if (rw_vocabulary_has(dataset->vocabulary, dataset->column[c].feature))
            return 1;
    }
    return 0;
}

/* ---- the whole file ---- */

static void fill_header(const struct content *content, struct rw_cache_header *h)
{
    const struct rw_dataset *dataset = &content->dataset;
    const struct rw_bins *bins = content->bins;
    memcpy(h->magic, RW_CACHE_MAGIC, sizeof(h->magic));
    h->version = RW_CACHE_VERSION;
    h->byte_order = RW_CACHE_BYTE_ORDER;
    h->n_docs = dataset->n_docs;
    h->n_queries = dataset->n_queries;
    h->n_columns = dataset->n_columns;
    for (uint32_t c = 0; c < dataset->n_columns; c++)
        h->value_bytes += rw_cache_block_bytes(dataset->column[c].n, h->n_docs, sizeof(float));
    h->query_id_bytes = dataset->query_id.offset[dataset->n_queries];
    h->has_comments = dataset->comment.offset != NULL;
    h->comment_bytes = h->has_comments ? dataset->comment.offset[dataset->n_docs] : 0;
    h->n_clamped = dataset->n_clamped;
    h->n_names = (uint32_t)dataset->n_names;
    for (int32_t i = 0; i < dataset->n_names; i++)
        h->name_bytes += strlen(dataset->name[i].name) + 1;
    h->n_word_features = content->n_word_features;
    for (size_t i = 0; i < content->n_all_words; i++)
        h->word_bytes += strlen(content->word[i].text) + 1;
    if (dataset->weight)
        h->weights = dataset->weight_by_query ? RW_CACHE_OF_QUERIES : RW_CACHE_OF_DOCUMENTS;
    h->n_more_labels = (uint32_t)dataset->n_more_labels;
    h->width = dataset->n_names ? 0 : dataset->width; /* with names, the largest id implies it */
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

/* Skips bytes that are already in the file (struct rw_cache_values), and adds them to the checksum.
 */
static void pass_over(struct cache_out *out, uint64_t n_bytes)
{
    FILE *file = out->file.file;
    char *text = NULL;
    size_t got = 1;
    if (!out->written) { /* the descriptor for writing cannot read */
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

static void put_text(struct cache_out *out, const char *text)
{
    put(out, text, strlen(text) + 1);
}

/* Writes a block of n entries. row: [n], or NULL if n is n_docs. data: [n] values or codes of
 * `width` bytes; NULL: they are already in the file. */
static void put_block(struct cache_out *out, uint32_t n, uint32_t rest, uint32_t n_docs,
                      const uint32_t *row, const void *data, size_t width)
{
    const uint32_t head[2] = {n, rest};
    put_part(out, head, sizeof(head));
    if (n < n_docs)
        put_part(out, row, n * sizeof(*row));
    if (data)
        put(out, data, n * width);
    else
        pass_over(out, n * width);
    pad(out);
}

/* Writes a section that is not an array in memory: feature ids, columns, codes, names, or words. */
static void put_made(struct cache_out *out, const struct content *content,
                     enum rw_cache_section section)
{
    const struct rw_dataset *dataset = &content->dataset;
    const struct rw_bins *bins = content->bins;
    const uint32_t n_docs = dataset->n_docs;
    for (uint32_t c = 0; section == RW_CACHE_COLUMN_FEATURE && c < dataset->n_columns; c++)
        put(out, &dataset->column[c].feature, sizeof(dataset->column[c].feature));
    for (uint32_t c = 0; section == RW_CACHE_VALUE && c < dataset->n_columns; c++) {
        const struct rw_column *column = &dataset->column[c];
        put_block(out, column->n, 0, n_docs, column->row, column->value, sizeof(*column->value));
    }
    for (uint32_t f = 0; section == RW_CACHE_CODE && bins && f < bins->cuts->n_features; f++) {
        const struct rw_codes *codes = &bins->codes[f];
        put_block(out, codes->n, codes->rest, n_docs, codes->row, codes->code,
                  rw_cuts_code_bytes(bins->cuts, f));
    }
    for (int32_t i = 0; section == RW_CACHE_NAME_FEATURE && i < dataset->n_names; i++)
        put(out, &dataset->name[i].feature, sizeof(dataset->name[i].feature));
    for (int32_t i = 0; section == RW_CACHE_NAME_TEXT && i < dataset->n_names; i++)
        put_text(out, dataset->name[i].name);
    for (size_t i = 0; section == RW_CACHE_WORD_TEXT && i < content->n_all_words; i++)
        put_text(out, content->word[i].text);
}

static void put_sections(struct cache_out *out, const struct content *content,
                         const struct rw_cache_layout *layout)
{
    static const struct rw_cuts no_cuts;
    const struct rw_dataset *dataset = &content->dataset;
    const struct rw_cuts *cuts = content->bins ? content->bins->cuts : &no_cuts;
    const void *const array[RW_CACHE_N_SECTIONS] = {
#define RW_CACHE_SECTION(name, type, n_arrays, n, axis, of, invariant, wrong, array) \
    [RW_CACHE_##name] = (array),
#include "io/cache/cache_sections.def"
#undef RW_CACHE_SECTION
    };
    for (int i = 0; i < RW_CACHE_N_SECTIONS; i++) {
        if (array[i])
            put(out, array[i], layout->n_arrays[i] * layout->n[i] * rw_cache_row[i].size);
        else
            put_made(out, content, (enum rw_cache_section)i);
        pad(out);
    }
}

static int write_file(struct rw_ctx *ctx, const struct content *content, struct rw_out_file *file)
{
    struct cache_out out = {.file = *file};
    struct rw_cache_header header;
    struct rw_cache_layout layout;
    memset(&header, 0, sizeof(header));
    fill_header(content, &header);
    RW_TRY(rw_cache_layout(&header, UINT64_MAX / 2, &layout));
    header.file_bytes = layout.file_bytes;
    put_part(&out, &header, sizeof(header));
    put_sections(&out, content, &layout);
    const uint32_t crc = out.crc;
    put(&out, &crc, sizeof(crc));
    if (out.written)
        fclose(out.written);
    if (out.status < 0)
        return rw_fail(ctx, out.status, "cannot write '%s': reading it back failed", file->path);
    if (out.at != layout.file_bytes)
        return rw_fail(ctx, RW_ERR_INTERNAL, "the cache has %llu bytes instead of %llu",
                       (unsigned long long)out.at, (unsigned long long)layout.file_bytes);
    return rw_out_file_commit(ctx, file);
}

/* Writes the file. Columns without values in memory have them in the file already. */
static int write_content(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                         const struct rw_bins *bins, struct rw_out_file *file)
{
    const int has_words = rw_cache_has_words(dataset);
    struct content content = {.dataset = *dataset, .bins = has_words ? NULL : bins};
    int status = has_words ? take_words(ctx, &content) : RW_OK;
    if (status >= 0)
        status = write_file(ctx, &content, file);
    rw_arena_free(&content.arena);
    return status;
}

int rw_cache_write(struct rw_ctx *ctx, const struct rw_dataset *dataset, const struct rw_bins *bins,
                   const char *path)
{
    struct rw_out_file file;
    RW_TRY(rw_out_file_open(ctx, &file, path));
    const int status = write_content(ctx, dataset, bins, &file);
    rw_out_file_abandon(&file);
    return status;
}

/* ---- writing values first ---- */

struct rw_cache_values {
    struct rw_out_file file;
    uint32_t n_docs, n_columns;
    uint64_t at;         /* offset of the values in the file */
    uint32_t *column_of; /* [RW_FEATURE_IDS] column of a feature; UINT32_MAX: not expected; owned */
    uint64_t n_taken;    /* number of values written by all threads */
    int write_errno;     /* errno of a failed write */
};

int rw_cache_values_open(struct rw_ctx *ctx, const char *path, struct rw_cache_values **out)
{
    RW_SCOPED(rw_cache_values_close) struct rw_cache_values *values = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, values, 1));
    RW_TRY(rw_out_file_open(ctx, &values->file, path));
    if (!values->file.temporary)
        return RW_OK;
    *out = RW_TAKE(values);
    return RW_OK;
}

int rw_cache_values_fail(struct rw_ctx *ctx, const struct rw_cache_values *values)
{
    if (!values->write_errno)
        return rw_fail(ctx, RW_ERR_MACHINE, "cannot read the data for '%s'", values->file.path);
    return rw_fail_io(ctx, values->write_errno, "cannot write '%s'", values->file.path);
}

void rw_cache_values_close(struct rw_cache_values *values)
{
    if (!values)
        return;
    rw_out_file_abandon(&values->file);
    rw_mem_free(values->column_of);
    rw_mem_free(values);
}

int rw_cache_values_begin(struct rw_ctx *ctx, struct rw_cache_values *values,
                          const uint16_t *feature, uint32_t n_columns, uint32_t n_docs)
{
    const struct rw_cache_header header = {.n_docs = n_docs, .n_columns = n_columns};
    struct rw_cache_layout layout;
    RW_TRY(rw_cache_layout(&header, UINT64_MAX / 2, &layout));
    values->at = layout.offset[RW_CACHE_VALUE];
    values->n_docs = n_docs;
    values->n_columns = n_columns;
    RW_TRY(RW_NEW_RAW(ctx, values->column_of, RW_FEATURE_IDS));
    memset(values->column_of, 0xff, (RW_FEATURE_IDS) * sizeof(*values->column_of));
    for (uint32_t c = 0; c < n_columns; c++)
        values->column_of[feature[c]] = c;
    return RW_OK;
}

int rw_cache_values_take(void *user, uint32_t feature, uint32_t doc, const float *value, uint32_t n)
{
    struct rw_cache_values *values = user;
    const uint32_t column = values->column_of[feature];
    const char *from = (const char *)value;
    size_t left = n * sizeof(*value);
    if (column == UINT32_MAX)
        return RW_OK;
    uint64_t at = values->at + RW_CACHE_ALIGN + doc * sizeof(*value) +
                  column * rw_cache_block_bytes(values->n_docs, values->n_docs, sizeof(*value));
    while (left) {
        const ssize_t done = pwrite(fileno(values->file.file), from, left, (off_t)at);
        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            __atomic_store_n(&values->write_errno, done < 0 ? errno : EIO, __ATOMIC_RELAXED);
            return RW_ERR_IO;
        }
        from += done;
        at += (uint64_t)done;
        left -= (size_t)done;
    }
    __atomic_fetch_add(&values->n_taken, n, __ATOMIC_RELAXED);
    return RW_OK;
}

int rw_cache_values_are_whole(const struct rw_cache_values *values, uint32_t n_features)
{
    return values->n_columns == n_features &&
           values->n_taken == (uint64_t)values->n_columns * values->n_docs;
}

int rw_cache_values_finish(struct rw_ctx *ctx, struct rw_cache_values *values,
                           const struct rw_binned *binned)
{
    struct rw_dataset dataset = *binned->documents;
    RW_TRY(RW_NEW(ctx, dataset.column, binned->n_features));
    for (; dataset.n_columns < binned->n_features; dataset.n_columns++)
        dataset.column[dataset.n_columns] =
            (struct rw_column){.feature = binned->feature[dataset.n_columns], .n = dataset.n_docs};
    const int status = write_content(ctx, &dataset, binned->bins, &values->file);
    rw_mem_free(dataset.column);
    return status;
}
