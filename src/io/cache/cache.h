/* The cache file: a data set's arrays as they stand in memory, so that they are used where they
 * were read to.
 *
 * A header, then the sections of cache_sections.def, each beginning at a multiple of 64 bytes;
 * their sizes follow from the header's counts. To write, read, check and divide a cache is a loop
 * over that table; columns and codes, whose parts are found by their lengths, have code of their
 * own. The last 4 bytes are the CRC-32 of all bytes before them. Numbers are in the byte order of
 * the machine that wrote them, which the header tells. */
#pragma once

#include "base/mem.h"
#include "base/ctx.h"
#include "binning/bins.h"
#include "io/input.h"

enum {
    RW_CACHE_VERSION = 7,
    RW_CACHE_BYTE_ORDER = 0x01020304,
    RW_CACHE_ALIGN = 64,
    RW_CACHE_CRC_BYTES = 4
};
enum rw_cache_weights { RW_CACHE_UNWEIGHTED, RW_CACHE_OF_DOCUMENTS, RW_CACHE_OF_QUERIES };

struct rw_cache_header {
    char magic[8];
    uint32_t version, byte_order;
    uint64_t file_bytes;
    uint32_t n_docs, n_queries, n_columns;
    uint32_t has_comments, has_bins;
    uint32_t n_cut_features; /* features with codes */
    uint64_t value_bytes;
    uint64_t query_id_bytes, comment_bytes, n_clamped;
    uint64_t n_cuts, code_bytes;
    int32_t bins; /* the rule of the codes: struct rw_cut_rule */
    uint32_t absent_missing, min_docs;
    uint32_t n_constant, n_few, n_ignored;
    uint32_t n_names, n_word_features; /* words: without codes, for training gives them to words */
    uint64_t name_bytes, word_bytes;
    uint32_t weights; /* enum rw_cache_weights */
    uint32_t n_more_labels;
    uint32_t width; /* 0, or columns of an array, which have no names */
    uint32_t zero;
};

enum rw_cache_section {
#define RW_CACHE_SECTION(name, ...) RW_CACHE_##name,
#include "io/cache/cache_sections.def"
#undef RW_CACHE_SECTION
    RW_CACHE_N_SECTIONS
};
enum rw_cache_axis {
    RW_CACHE_AXIS_ALL,
    RW_CACHE_AXIS_DOCS,
    RW_CACHE_AXIS_QUERIES,
    RW_CACHE_AXIS_QUERY_ID, /* bytes */
    RW_CACHE_AXIS_COMMENT,  /* bytes */
    RW_CACHE_AXIS_CUTS,
    RW_CACHE_AXIS_BLOCKS, /* entries of each block */
    RW_CACHE_N_AXES
};
enum rw_cache_invariant {
    RW_CACHE_ANY,     /* see blocks and texts */
    RW_CACHE_IDS,     /* of features; they ascend */
    RW_CACHE_FLAGS,   /* 0 or 1 */
    RW_CACHE_LABELS,  /* finite, 0 or more, not -0 */
    RW_CACHE_WEIGHTS, /* the same, to RW_MAX_WEIGHT */
    RW_CACHE_OFFSETS  /* from 0 to the length of an axis; they ascend */
};
struct rw_cache_row {
    size_t size;
    enum rw_cache_axis axis, of;
    enum rw_cache_invariant invariant;
    const char *wrong;
};
extern const struct rw_cache_row rw_cache_row[RW_CACHE_N_SECTIONS];

struct rw_cache_layout {
    uint64_t offset[RW_CACHE_N_SECTIONS];
    uint64_t n_arrays[RW_CACHE_N_SECTIONS], n[RW_CACHE_N_SECTIONS];
    uint64_t file_bytes; /* with the checksum */
};
/* RW_ERR_FORMAT if the sections cannot fit into `most_bytes`. */
int rw_cache_layout(const struct rw_cache_header *header, uint64_t most_bytes,
                    struct rw_cache_layout *layout);

static inline uint64_t rw_cache_aligned(uint64_t n_bytes)
{
    return (n_bytes + RW_CACHE_ALIGN - 1) / RW_CACHE_ALIGN * RW_CACHE_ALIGN;
}
/* A column's values or a feature's codes: n and rest, rows if sparse (n under n_docs), the values
 * or codes; each aligned. */
static inline uint64_t rw_cache_block_bytes(uint32_t n, uint32_t n_docs, size_t width)
{
    const uint64_t rows = n < n_docs ? rw_cache_aligned((uint64_t)n * sizeof(uint32_t)) : 0;
    return rw_cache_aligned(2 * sizeof(uint32_t)) + rows + rw_cache_aligned((uint64_t)n * width);
}
struct rw_cache_block {
    uint32_t n, rest;         /* rest: the code of documents that are not listed */
    uint64_t rows, data, end; /* where they are; rows 0: there are none */
};
/* The block that begins at `at` with `head`, RW_CACHE_ALIGN bytes or more before `end`.
 * RW_ERR_FORMAT if it does not fit. */
int rw_cache_block(const uint32_t head[2], uint32_t n_docs, size_t width, uint64_t at, uint64_t end,
                   struct rw_cache_block *block);

struct rw_range;
/* Reads and checks a cache, or, of `range`, its documents, which are whole queries, and nothing
 * else; then the checksum is not looked at. The documents keep the bytes, not the file, which may
 * change. rule: NULL, or of a training: if the codes serve it, they are kept in place of the
 * values, which are read for the checksum only. Else the values are kept, and no bins. out: empty;
 * after a failure, too. */
int rw_cache_read(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                  const struct rw_cut_rule *rule, struct rw_binned *out);

/* --- between cache.c, which reads, and cache_shard.c, which reads a part --- */

/* VALUES of all documents or of a PART of them, where some features may have none; CODES: in place
 * of values, which are not there. */
enum rw_cache_view { RW_CACHE_VALUES, RW_CACHE_CODES, RW_CACHE_PART };
/* A cache that is read. */
struct rw_cache_file {
    struct rw_ctx *ctx;     /* borrowed */
    struct rw_input *input; /* borrowed */
    const char *name;       /* of the input */
    struct rw_cache_header h;
    struct rw_cache_layout layout;
    enum rw_cache_view view;
    char *map;             /* what stands at `layout`; out->documents->cache.p, too; borrowed */
    struct rw_binned *out; /* borrowed */
};

/* The header, of a file of file_bytes that begins with `head`, without its counts. */
int rw_cache_take_header(struct rw_cache_file *file, const void *head, size_t n_bytes,
                         uint64_t file_bytes);
/* crc: of all bytes, the last four, `written`, among them. */
int rw_cache_check_sum(const struct rw_cache_file *file, uint32_t crc, uint32_t written);
/* The counts; writes the layout. */
int rw_cache_check_counts(struct rw_cache_file *file);
/* Has it codes that serve this rule? */
int rw_cache_serves(const struct rw_cache_header *header, const struct rw_cut_rule *rule);
/* Checks every count, order and range of what came from outside, so that nothing later can be led
 * astray, and takes it. After a failure the caller releases `out`. */
int rw_cache_view(const struct rw_cache_file *file);
/* Reads the range, to file->map. */
int rw_cache_read_part(struct rw_cache_file *file, const struct rw_range *range,
                       const struct rw_cut_rule *rule);
/* struct rw_divided of data_format.h */
extern const struct rw_divided rw_cache_divided;

/* --- writing --- */

int rw_cache_has_words(const struct rw_dataset *dataset);
int rw_cache_write(struct rw_ctx *ctx, const struct rw_dataset *dataset, const struct rw_bins *bins,
                   const char *path);

/* --- values first: a cache of dense columns whose values are nowhere but there --- */

struct rw_cache_values;
/* *out is NULL if there is no ordinary file to be made. */
int rw_cache_values_open(struct rw_ctx *ctx, const char *path, struct rw_cache_values **out);
/* Gives up what was not finished. */
void rw_cache_values_close(struct rw_cache_values *values);
RW_SCOPED_BY(rw_cache_values_close)
/* Says why rw_cache_values_take failed. */
int rw_cache_values_fail(struct rw_ctx *ctx, const struct rw_cache_values *values);
/* feature: [n_columns] ascending, those that are expected. */
int rw_cache_values_begin(struct rw_ctx *ctx, struct rw_cache_values *values,
                          const uint16_t *feature, uint32_t n_columns, uint32_t n_docs);
/* Values of documents doc .. doc + n - 1, each of them once; user: the rw_cache_values. Threads may
 * do so side by side. RW_ERR_IO; a feature that was not expected is not written. */
int rw_cache_values_take(void *user, uint32_t feature, uint32_t doc, const float *value,
                         uint32_t n);
/* 1 if the values are those of all documents and of n_features features, as many as there are. */
int rw_cache_values_are_whole(const struct rw_cache_values *values, uint32_t n_features);
/* The rest of the file; only if they are, and all columns would be dense. */
int rw_cache_values_finish(struct rw_ctx *ctx, struct rw_cache_values *values,
                           const struct rw_binned *binned);
