/* The cache file. It stores the arrays of a data set and, optionally, its bins (boundaries and
 * codes) as they are in memory, so most of them can be used where they were loaded.
 *
 * The file has a header and the sections of cache_sections.def, each aligned to 64 bytes. Section
 * sizes follow from counts in the header. Writing, reading, checking and dividing a cache are loops
 * over that table. Columns and codes are handled separately: their sections consist of blocks, one
 * per feature, which have different lengths. A block has entries: values or codes of one feature
 * with the rows of their documents.
 *
 * If a categorical feature is given as texts, the cache stores the texts, here called words, and
 * the feature's values are positions in its list of words.
 *
 * The last 4 bytes are the CRC-32 of all bytes before them. Numbers have the byte order of the
 * machine that wrote them, which the header records. */
#pragma once

#include "binning/bins.h"
#include "io/input.h"

enum {
    RW_CACHE_VERSION = 7,
    RW_CACHE_BYTE_ORDER = 0x01020304,
    RW_CACHE_ALIGN = 64,
    RW_CACHE_CRC_BYTES = 4
};
/* Whether there are weights, and whether they were given per document or per query. */
enum rw_cache_weights { RW_CACHE_UNWEIGHTED, RW_CACHE_OF_DOCUMENTS, RW_CACHE_OF_QUERIES };

struct rw_cache_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t file_bytes; /* size of the file, with the checksum */
    uint32_t n_docs, n_queries, n_columns;
    uint32_t has_comments, has_bins;
    uint32_t n_cut_features; /* number of features with codes */
    /* value_bytes, query_id_bytes, comment_bytes, code_bytes, name_bytes and word_bytes are the
     * lengths of the sections VALUE, QUERY_ID_TEXT, COMMENT_TEXT, CODE, NAME_TEXT and WORD_TEXT */
    uint64_t value_bytes;
    uint64_t query_id_bytes, comment_bytes, n_clamped; /* n_clamped: as in struct rw_dataset */
    uint64_t n_cuts, code_bytes; /* n_cuts: number of bin boundaries of all features */
    int32_t bins; /* with absent_missing, min_docs: the rule of the codes, see struct rw_cut_rule */
    uint32_t absent_missing, min_docs;
    uint32_t n_constant, n_few, n_ignored; /* see struct rw_cuts */
    uint32_t n_names, n_word_features; /* a cache with words has no codes, since training assigns
                                          codes to words */
    uint64_t name_bytes, word_bytes;
    uint32_t weights; /* enum rw_cache_weights */
    uint32_t n_more_labels;
    uint32_t width; /* rw_dataset.width if there are no names; otherwise 0 */
    uint32_t zero;  /* must be 0 */
};

enum rw_cache_section {
#define RW_CACHE_SECTION(name, ...) RW_CACHE_##name,
#include "io/cache/cache_sections.def"
#undef RW_CACHE_SECTION
    RW_CACHE_N_SECTIONS
};
/* An axis counts one kind of thing: documents, queries, bytes of ids and so on. The elements of an
 * array follow an axis, so the elements of a shard are a range. */
enum rw_cache_axis {
    RW_CACHE_AXIS_ALL, /* no axis: a shard needs all elements */
    RW_CACHE_AXIS_DOCS,
    RW_CACHE_AXIS_QUERIES,
    RW_CACHE_AXIS_QUERY_ID, /* bytes of the texts of all query ids */
    RW_CACHE_AXIS_COMMENT,  /* bytes of all comments */
    RW_CACHE_AXIS_CUTS,     /* bin boundaries of all features */
    RW_CACHE_AXIS_BLOCKS,   /* no axis: the section has blocks, and a shard some entries of each */
    RW_CACHE_N_AXES
};
enum rw_cache_invariant {
    RW_CACHE_ANY,     /* checked separately */
    RW_CACHE_IDS,     /* feature ids, strictly ascending */
    RW_CACHE_FLAGS,   /* 0 or 1 */
    RW_CACHE_LABELS,  /* finite, at least 0, not -0 */
    RW_CACHE_WEIGHTS, /* like labels, up to RW_MAX_WEIGHT */
    RW_CACHE_OFFSETS  /* strictly ascending, from 0 to the length of the axis `of` */
};
/* A row of cache_sections.def, which explains the members. */
struct rw_cache_row {
    size_t size;                 /* bytes per element */
    enum rw_cache_axis axis, of; /* of: ALL: the elements are not positions */
    enum rw_cache_invariant invariant;
    const char *wrong;
};
extern const struct rw_cache_row rw_cache_row[RW_CACHE_N_SECTIONS];

struct rw_cache_layout {
    uint64_t offset[RW_CACHE_N_SECTIONS]; /* in the file */
    /* number of arrays, and number of elements per array */
    uint64_t n_arrays[RW_CACHE_N_SECTIONS], n[RW_CACHE_N_SECTIONS];
    uint64_t file_bytes; /* includes the checksum */
};
/* Computes the layout. Returns RW_ERR_FORMAT, without a message, if the sections do not fit into
 * `most_bytes`. */
int rw_cache_layout(const struct rw_cache_header *header, uint64_t most_bytes,
                    struct rw_cache_layout *layout);

static inline uint64_t rw_cache_aligned(uint64_t n_bytes)
{
    return (n_bytes + RW_CACHE_ALIGN - 1) / RW_CACHE_ALIGN * RW_CACHE_ALIGN;
}
/* Returns the number of bytes of a block: a column's values or a feature's codes. A block stores n
 * and rest (struct rw_cache_block), then the rows of its n entries if n is below n_docs, then their
 * values or codes. Each of the three is aligned. width: bytes per value or code. */
static inline uint64_t rw_cache_block_bytes(uint32_t n, uint32_t n_docs, size_t width)
{
    const uint64_t rows = n < n_docs ? rw_cache_aligned((uint64_t)n * sizeof(uint32_t)) : 0;
    return rw_cache_aligned(2 * sizeof(uint32_t)) + rows + rw_cache_aligned((uint64_t)n * width);
}
struct rw_cache_block {
    uint32_t n, rest; /* number of entries; code of documents without an entry, 0 for values */
    /* offsets in the file of the rows (0: the block has no rows), of the values or codes, and of
     * the block's end */
    uint64_t rows, data, end;
};
/* Locates the block at offset `at`, whose first numbers, n and rest, are `head`. end: the section's
 * end, at least RW_CACHE_ALIGN bytes after `at`. Returns RW_ERR_FORMAT, without a message, if the
 * block exceeds the section. */
int rw_cache_block(const uint32_t head[2], uint32_t n_docs, size_t width, uint64_t at, uint64_t end,
                   struct rw_cache_block *block);

struct rw_range;
/* Reads and checks a cache. With a `range`, reads only its documents, which are whole queries, and
 * does not check the checksum. The documents own the bytes, so the file may change afterwards.
 * rule: NULL, or the rule of a training. If the cache's codes satisfy the rule, out->bins has them,
 * and the values are not kept, although without a range they are read for the checksum. If the rule
 * is NULL or not satisfied, `out` has values, without bins. out: must be empty, and is empty after
 * a failure. */
int rw_cache_read(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                  const struct rw_cut_rule *rule, struct rw_binned *out);

/* ---- shared by cache.c, which reads caches, and cache_shard.c, which reads a range ---- */

/* The content to make of a cache. VALUES: the values of all documents. PART: the values of a range
 * of documents, so a feature may have no value. CODES: the codes of all documents or of a range;
 * values are not kept. */
enum rw_cache_view { RW_CACHE_VALUES, RW_CACHE_CODES, RW_CACHE_PART };
/* A cache that is being read. */
struct rw_cache_file {
    struct rw_ctx *ctx;     /* borrowed */
    struct rw_input *input; /* borrowed */
    const char *name;       /* the input's name */
    struct rw_cache_header h;
    struct rw_cache_layout layout;
    enum rw_cache_view view;
    char *map; /* a cache in memory, with the layout `layout`; owned by out->documents (cache.p) */
    struct rw_binned *out; /* borrowed */
};

/* Reads the header of a file of file_bytes bytes. Checks magic, byte order, version and size, but
 * not the counts. head: [n_bytes] the beginning of the file. */
int rw_cache_take_header(struct rw_cache_file *file, const void *head, size_t n_bytes,
                         uint64_t file_bytes);
/* Checks the checksum. crc: CRC-32 of the whole file, including its last four bytes. written: the
 * number in these four bytes, which must be the CRC-32 of all bytes before them. */
int rw_cache_check_sum(const struct rw_cache_file *file, uint32_t crc, uint32_t written);
/* Checks the counts of the header and computes the layout. */
int rw_cache_check_counts(struct rw_cache_file *file);
/* Returns 1 if the cache's codes satisfy this rule. */
int rw_cache_serves(const struct rw_cache_header *header, const struct rw_cut_rule *rule);
/* Checks every order and range in the sections, so later code can rely on them, and makes the data
 * set, or the documents and bins if the view is CODES. The counts of the header must have been
 * checked. After a failure the caller releases `out`. */
int rw_cache_view(const struct rw_cache_file *file);
/* Reads the documents of a range like rw_cache_read, but the caller releases file->out after a
 * failure. */
int rw_cache_read_part(struct rw_cache_file *file, const struct rw_range *range,
                       const struct rw_cut_rule *rule);
/* How caches are divided among workers (struct rw_divided in data_format.h). */
extern const struct rw_divided rw_cache_divided;

/* ---- writing ---- */

/* Returns 1 if the values of any column are words. */
int rw_cache_has_words(const struct rw_dataset *dataset);
/* Writes a data set as a cache, with bins unless `bins` is NULL or a column has words. */
int rw_cache_write(struct rw_ctx *ctx, const struct rw_dataset *dataset, const struct rw_bins *bins,
                   const char *path);

/* ---- writing values first: a cache of dense columns, whose values are never all in memory ---- */

struct rw_cache_values;
/* Opens a new cache. *out is NULL if the path is a pipe or device, which cannot be written in any
 * order. */
int rw_cache_values_open(struct rw_ctx *ctx, const char *path, struct rw_cache_values **out);
/* Discards a file that is not finished. */
void rw_cache_values_close(struct rw_cache_values *values);
RW_SCOPED_BY(rw_cache_values_close)
/* Fails with the reason why rw_cache_values_take failed. If it did not fail, the message is that
 * the data cannot be read. */
int rw_cache_values_fail(struct rw_ctx *ctx, const struct rw_cache_values *values);
/* Fixes the layout of the values. feature: [n_columns] features that are expected, ascending. Call
 * it before rw_cache_values_take. */
int rw_cache_values_begin(struct rw_ctx *ctx, struct rw_cache_values *values,
                          const uint16_t *feature, uint32_t n_columns, uint32_t n_docs);
/* Writes a feature's values of documents doc .. doc + n - 1. Each value must be written only once.
 * user: the rw_cache_values. Threads may call it in parallel. Returns RW_ERR_IO, without a message,
 * on failure. Values of features not passed to rw_cache_values_begin are ignored. */
int rw_cache_values_take(void *user, uint32_t feature, uint32_t doc, const float *value,
                         uint32_t n);
/* Returns 1 if the values of all documents and of n_features features, no fewer and no more, were
 * written. */
int rw_cache_values_are_whole(const struct rw_cache_values *values, uint32_t n_features);
/* Writes the rest of the file. Requires that all values were written, and that all columns would be
 * dense. */
int rw_cache_values_finish(struct rw_ctx *ctx, struct rw_cache_values *values,
                           const struct rw_binned *binned);
