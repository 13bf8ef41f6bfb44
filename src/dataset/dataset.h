/* Documents as they were read: one column per feature that appears, labels, queries, ids. */
#pragma once

#include <math.h>

#include "base/bits.h"
#include "base/mem.h"
#include "dataset/names.h"

/* What stands in a dense column where a line did not mention the feature: a NaN of its own, so that
 * the data can be read once and used under either meaning of absent (0 or missing). A NaN that the
 * data states is RW_MISSING_BITS. Values never hold any other NaN, infinity or -0. */
#define RW_ABSENT_BITS  0x7fc0ab5eu
#define RW_MISSING_BITS 0x7fc00000u

/* The score of a document that a run leaves out. */
#define RW_UNRANKED (-(double)INFINITY)

static inline int rw_is_absent(float value)
{
    return rw_bits_of_float(value) == RW_ABSENT_BITS;
}

struct rw_column {
    uint32_t feature; /* id in the data */
    uint32_t n;       /* entries: n_docs when dense */
    uint32_t *row;    /* [n] ascending; NULL: dense; owned by the dataset (or a view of its map) */
    float *value;     /* [n]; the same */
};

/* Documents from `doc` on, up to the next location, stand on the lines from `line` on of one file.
 */
struct rw_location {
    uint32_t doc;
    uint32_t file;
    uint64_t line; /* from 1 */
};

/* Memory of rw_mem_new_large, or a mapping; p NULL: there is none. */
struct rw_block {
    void *p;
    size_t n_bytes;
};

/* Texts end to end, each ended by 0: the i-th from offset[i] on. The rooms are a builder's. */
struct rw_texts {
    uint64_t *offset, n_bytes;
    char *text;
    size_t offset_room, text_room;
};

struct rw_dataset {
    uint32_t n_docs, n_queries, n_columns;
    /* Of an array or a table: the number of its columns, which are features 0 to width - 1. 0: the
     * features have ids of their own, as in LETOR text, or those of other data by their names. */
    uint32_t width;
    int by_name; /* 1: they were found by the names of a model or of other data; width is 0 */
    struct rw_column *column;     /* [n_columns] by ascending feature id; owned */
    struct rw_block column_block; /* all columns' arrays are parts of it, if there is one; owned */
    struct rw_block early_block;  /* the same of columns that were filled early; owned */
    float *label;                 /* [n_docs]; owned */
    uint32_t *query_offset;       /* [n_queries + 1]; owned */
    struct rw_texts query_id;     /* offset: [n_queries + 1]; owned */
    struct rw_texts comment;      /* offset: [n_docs + 1], NULL: no comments at all; owned */
    double *weight;               /* [n_docs]; NULL: all 1; owned */
    int weight_by_query; /* the weights came one a query (metrics weight queries by them) */
    double *start_score; /* [n_docs] where training starts; NULL: all 0; owned */
    uint16_t *position;  /* [n_docs] at which they were shown; NULL: not known; owned */
    int n_more_labels;   /* labels a document has beside `label` */
    float *more_label;   /* [n_more_labels][n_docs]; NULL: none; owned */
    struct {
        struct rw_given_pair *item; /* query by query, in the order given; NULL: none are; owned */
        size_t *offset;             /* [n_queries + 1] into `item`; NULL likewise; owned */
    } pairs;
    int32_t n_names;
    struct rw_feature_name
        *name; /* [n_names] by ascending id, as the table's header has them; owned */
    /* Of a cache: all arrays above but `weight`, `name` and `column` are views of its mapping;
     * owned */
    struct rw_block cache;
    struct {
        struct rw_location *location; /* [n_locations] by document; owned */
        uint32_t n_locations;         /* 0: not read from text */
        char **file;                  /* [n_files] names as they were given; each owned */
        uint32_t n_files;
    } origin;
    uint64_t first_doc;               /* of a worker's shard: documents of the workers before it */
    uint64_t n_clamped;               /* decimals beyond float's range, read as the largest float */
    struct rw_vocabulary *vocabulary; /* NULL, or words by the numbers that some columns have in
                                   place of values (dataset/names.h); shared */
    int is_qrels; /* of judgments and runs (rw_qrels_read): a ranking need not have all of its
                    documents, of which those of a query are by falling id */
    /* Codes in place of values: of a validation set, by the boundaries of a training set, whose
     * cuts they need (binning/bins.h). */
    struct {
        struct rw_bins *bins; /* NULL: it has values; owned, and freed by `free` */
        uint32_t n_ids;       /* one more than the greatest feature id that was read; else 0 */
        void (*free)(struct rw_bins *bins);
    } codes;
};
struct rw_bins;
struct rw_vocabulary;

/* It has no features any more. A cache's stay mapped. */
void rw_dataset_drop_values(struct rw_dataset *dataset);

/* Where a document stands: "a.txt:12:1", or "document 12" if it was not read from text: of all, or,
 * where only this worker's documents are counted, "of worker 2's shard". ctx may be NULL. */
void rw_dataset_where(const struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t doc,
                      char *buffer, size_t size);

/* What followed '#' on the document's line, without surrounding blanks; "" if nothing did. */
const char *rw_dataset_comment(const struct rw_dataset *dataset, uint32_t doc);

/* 1 if each of several documents, or nearly each, is a query by itself: says so, for a message. */
int rw_dataset_has_own_queries(const struct rw_dataset *dataset, char *text, size_t size);

/* The labels of one kind: 0 is `label`, those behind it are the further ones. */
static inline const float *rw_dataset_labels_of(const struct rw_dataset *dataset, int kind)
{
    return kind == 0 ? dataset->label : dataset->more_label + (size_t)(kind - 1) * dataset->n_docs;
}

/* Adds the ids of its queries, by their numbers (dataset/names.h). */
struct rw_query_ids;
int rw_dataset_query_ids(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                         struct rw_query_ids *ids);

/* Have they the same queries, by id and in this order, and the same labels? */
int rw_dataset_same_judgments(const struct rw_dataset *a, const struct rw_dataset *b);

/* Some queries of a data set, as a data set of their own. keep: [n_queries], 1: this one. Their
 * order, ids, comments and side columns stay; line numbers and a cache's codes do not. RW_ERR_DATA:
 * none is kept. */
int rw_dataset_select(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                      struct rw_dataset **out);

/* Is a feature that n documents have held as a value for each of all n_docs? */
static inline int rw_column_is_dense(uint32_t n, uint32_t n_docs)
{
    return (uint64_t)n * 2 >= n_docs;
}

/* The column of a feature id, or NULL. */
const struct rw_column *rw_dataset_column(const struct rw_dataset *dataset, uint32_t feature);

/* values: [end - begin], written, of documents [begin, end); `absent` is 0 or NaN. */
void rw_column_values(const struct rw_column *column, uint32_t begin, uint32_t end, float absent,
                      float *values);

/* Documents from `doc` on, up to the next run's, have the same `n` features: entry_feature from
 * `feature` on. Their values stand line by line, entry_value from `value` on. */
struct rw_run {
    uint32_t doc, n;
    uint64_t feature, value;
};

/* Collects documents line by line, then makes the dataset of them; readers and generators build
 * through it (arrays in memory: struct rw_table_reader). Zero-initialise, release in any state. All
 * arrays are owned. */
struct rw_builder {
    uint32_t n_docs, n_queries, n_runs, n_locations;
    uint64_t n_features, n_entries, n_clamped;
    float *label;
    struct rw_run *run;      /* [n_runs] */
    uint16_t *entry_feature; /* [n_features] ascending within a run */
    float
        *entry_value; /* [n_entries] of rw_mem_new_large: freed, they are not kept by the process */
    int is_placed;    /* the values are not here, but in early columns, from document `placed` on */
    uint32_t placed;
    double *score; /* [n_docs] of the values, which are not here any more; NULL: they are */
    uint32_t *query_offset;       /* [n_queries + 1] */
    struct rw_texts query_id;     /* [n_queries] */
    struct rw_texts comment;      /* [n_docs] if any_comment */
    struct rw_location *location; /* [n_locations]; their `file` means nothing here */
    double *weight;               /* [n_docs] if has_weight */
    float *more_label;            /* [n_docs][n_more_labels] */
    int any_comment, has_weight, n_more_labels;
    struct {
        size_t label, run, entry_feature, entry_value, query_offset, location, weight, more_label;
    } room;                       /* of those arrays */
    char *file;                   /* that all is of; NULL: none */
    struct rw_feature_name *name; /* [n_names] by ascending id: those of the dataset, if any */
    int32_t n_names;
    uint32_t width; /* as of the dataset, as is */
    int by_name;
    struct rw_vocabulary *vocabulary; /* as of the dataset */
};
static inline const char *rw_builder_query_id(const struct rw_builder *builder, uint32_t query)
{
    return builder->query_id.text + builder->query_id.offset[query];
}
/* The documents of a run. */
static inline uint32_t rw_builder_run_docs(const struct rw_builder *builder, uint32_t r)
{
    const uint32_t end = r + 1 < builder->n_runs ? builder->run[r + 1].doc : builder->n_docs;
    return end - builder->run[r].doc;
}
/* One more than the largest feature id. */
uint32_t rw_builder_n_ids(const struct rw_builder *builder);
/* Adds to counts [rw_builder_n_ids] how many documents have each feature. */
void rw_builder_count(const struct rw_builder *builder, uint32_t *counts);
void rw_builder_release(struct rw_builder *builder);
/* Begins a query; its id, of n bytes, is copied. */
int rw_builder_query(struct rw_ctx *ctx, struct rw_builder *builder, const char *id, size_t n);
/* The line, of builder->file, on which the next document stands. */
int rw_builder_line(struct rw_ctx *ctx, struct rw_builder *builder, uint64_t line);
/* Adds a document to the query begun last. feature ids ascend strictly; values are cleaned
 * already (no -0, no infinity, NaN only as RW_MISSING_BITS). comment may be NULL. */
int rw_builder_doc(struct rw_ctx *ctx, struct rw_builder *builder, float label,
                   const uint16_t *features, const float *values, size_t n, const char *comment,
                   size_t comment_bytes);
/* The weight of the next document. Each document has one, or none has. */
int rw_builder_weight(struct rw_ctx *ctx, struct rw_builder *builder, double weight);
/* Further labels of the next document, [n]: as many of each, or of none. */
int rw_builder_more_labels(struct rw_ctx *ctx, struct rw_builder *builder, const float *labels,
                           int n);
/* Adds documents [begin, end) of a data set, with their queries, comments, weights and further
 * labels. */
int rw_builder_copy(struct rw_ctx *ctx, struct rw_builder *builder,
                    const struct rw_dataset *dataset, uint32_t begin, uint32_t end);
/* Moves the values to `to`, which is empty, as documents of one query; the rest stays, as documents
 * without features. After a failure both are to be released. */
int rw_builder_split(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to);
/* Takes the values of a builder that a thread has just filled, and leaves their scores in their
 * place; threads may call it side by side. */
typedef int rw_take_lines_fn(void *user, struct rw_builder *lines);
/* Without features; room for values is kept. */
void rw_builder_drop_values(struct rw_builder *builder);
/* Without documents again; its room is kept. */
void rw_builder_empty(struct rw_builder *builder);
/* What `from` holds, in arrays of just its size; `from` is empty then and keeps its room. After a
 * failure both are empty. */
int rw_builder_pack(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to);
/* One dataset of several builders in order. A query that ends one builder and begins the next under
 * the same id is one query. The builders are emptied, one after the other, while the columns fill.
 * Columns are made in parallel; a column is dense when that takes no more memory. Names are those
 * of the first builder that has some; RW_ERR_DATA: a later one has others. If some builders have
 * weights, the documents of the others weigh 1. RW_ERR_DATA: not all have as many labels. */
int rw_builder_finish(struct rw_ctx *ctx, struct rw_builder *builders, int n_builders,
                      struct rw_dataset **out);

/* Columns that fill while text is still read, so that values need not be kept twice, and are
 * turned while they are in the cache. The text's builders are numbered in order; where a thread has
 * made one and all before it are made, too, it is known where its documents go. Their values are
 * placed if all have the features of the first one's; what cannot be placed is packed. */
struct rw_early;
/* room: documents for which there is room; pages that are never written cost nothing. */
int rw_early_new(struct rw_ctx *ctx, uint64_t n_builders, uint64_t room, struct rw_early **out);
void rw_early_free(struct rw_early *early);
RW_SCOPED_BY(rw_early_free)
/* As rw_builder_pack, of the i-th builder; threads may do so side by side. `to` stays where it is
 * until all threads are done: its values may be placed later, when those before it are made. */
int rw_early_pack(struct rw_early *early, uint64_t i, struct rw_builder *from,
                  struct rw_builder *to);
/* rw_builder_finish of builders packed so; early may be NULL. */
int rw_early_finish(struct rw_ctx *ctx, struct rw_early *early, struct rw_builder *builders,
                    int n_builders, struct rw_dataset **out);
/* The column of a feature; NULL: it has none. */
float *rw_early_values(const struct rw_early *early, uint32_t feature);
/* Are there columns, with room for so many documents? early: may be NULL. */
int rw_early_has_room(const struct rw_early *early, uint64_t n_docs);
/* The block of all columns, from now on the caller's. */
void *rw_early_take(struct rw_early *early, size_t *n_bytes);

/* Side columns: what a data set has beside its features and first labels, and what comes from files
 * or arrays of their own: weights, start scores, positions, further labels, pairs.
 *
 * To add one: its member in struct rw_dataset, a row in dataset.c, and a row in params.def
 * with the name of its file. Reading (io/side_files.c), division among workers, selection of
 * queries, fingerprints, the checks of parameters and the program are loops over the table. */
struct rw_side_column {
    const char *name;         /* of the parameter that names its file: "start-scores" */
    const char *one, *plural; /* what its numbers are, in messages: "start score" */
    double least, most;       /* of a number */
    int is_whole;             /* numbers are whole */
    int by_query;             /* a number per query; else one per document */
    int has_several;          /* several numbers per document */
    int is_pairs;             /* lines of pairs in place of numbers */
    const char *expected;     /* of a number in a file: "a weight from 0 to 65536" */
    size_t member;            /* of struct rw_dataset: its array, owned; NULL: the set has none */
    size_t size;              /* of a number in the array: double, float or uint16_t; 0: of pairs */
    double neutral;           /* of doubles: documents with it add nothing to a fingerprint */
    const char *print;        /* the name of its part of a fingerprint; NULL: weights, or none */
};

/* Those from RW_SIDE_PRINTED on have parts of a fingerprint of their own. */
enum { RW_SIDE_PRINTED = 3, RW_SIDE_COLUMNS = 6 };
extern const struct rw_side_column rw_side_columns[RW_SIDE_COLUMNS];

/* NULL: there is no such column. */
const struct rw_side_column *rw_side_column_find(const char *name);
/* Its array; NULL: the set has none. */
const void *rw_side_column_of(const struct rw_side_column *column,
                              const struct rw_dataset *dataset);
/* What a document adds to the column's part of a fingerprint; of columns of numbers that the set
 * has.
 */
uint64_t rw_side_column_item(const struct rw_side_column *column, const struct rw_dataset *dataset,
                             uint32_t doc, uint64_t number);
/* RW_ERR_DATA if n is not the number of documents or queries. file: of the numbers, or NULL. */
int rw_side_column_check(struct rw_ctx *ctx, const struct rw_side_column *column,
                         const struct rw_dataset *dataset, const char *file, size_t n);
/* Of the queries with `keep`, to a set that has these queries: the columns that it lacks. */
int rw_side_columns_select(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                           const uint8_t *keep, struct rw_dataset *out);

/* Tables in memory (struct rw_table), read as data sets hold values: float32 without infinity and
 * -0, NaN only as RW_MISSING_BITS, and RW_ABSENT_BITS where a column has no value. What is wrong
 * with a value is noted while it is read, and said once all were. */
struct rw_table_column {
    uint32_t feature;
    uint32_t index; /* in rw_table.column */
    uint8_t
        is_sparse; /* few documents have it: read by rw_table_entries; else by rw_table_values */
    uint8_t found; /* of values read so far; any thread adds to it */
};

struct rw_table_reader {
    const struct rw_table *table;   /* borrowed */
    struct rw_arena arena;          /* of the arrays here */
    uint32_t n_columns;             /* those that appear */
    struct rw_table_column *column; /* [n_columns] by ascending feature */
    uint32_t *dense, *sparse;       /* [n_dense], [n_sparse] of the columns */
    uint32_t n_dense, n_sparse;
    uint32_t *document; /* [n_docs] of each row of the arrays; NULL: their order is kept */
    uint32_t missing;   /* bits of the value that means missing */
    uint32_t hole;      /* bits of what stands where a dense column has no value */
    /* of a streamed table: */
    const struct rw_table *whole; /* borrowed */
    struct rw_table some;         /* the documents at hand, which are `table` then */
    struct rw_array *array;       /* [n_columns] of them; owned */
    uint32_t first_doc;           /* the first of them; else 0 */
};
/* Checks all but the values. The reader may not be moved; closed also after a failure. */
int rw_table_open(struct rw_ctx *ctx, struct rw_table_reader *reader, const struct rw_table *table);
void rw_table_close(struct rw_table_reader *reader);
/* A data set without features of the table's documents, whose labels and ids are checked, too. */
int rw_table_documents(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset **out);
/* Entries of a sparse column. */
uint32_t rw_table_n_entries(const struct rw_table_reader *reader, uint32_t c);

/* Values of n_columns dense columns, column: [n_columns]; those of the k-th go to values + k *
 * stride: [n], of the documents doc[i], or first + i if doc is NULL. Several threads may read. */
void rw_table_values(struct rw_table_reader *reader, const uint32_t *column, uint32_t n_columns,
                     const uint32_t *doc, uint32_t first, uint32_t n, float *values, size_t stride);
/* Of a sparse column the documents, ascending, and their values: [rw_table_n_entries]. Never
 * touches a context. */
int rw_table_entries(struct rw_table_reader *reader, uint32_t c, uint32_t *row, float *value);
/* When all values, or those of the documents at hand, were read: RW_ERR_DATA if one is infinite. */
int rw_table_check(struct rw_ctx *ctx, const struct rw_table_reader *reader);
/* When all were: tells of whole numbers that are no float32 numbers. */
void rw_table_tell(struct rw_ctx *ctx, const struct rw_table_reader *reader);

/* 1: the table's values are not in memory, but come some documents at a time, again in each pass.
 */
int rw_table_is_streamed(const struct rw_table *table);
/* The next documents of a pass over a streamed table, of which `done` were read; 0 begins a pass:
 * they are the reader's table from here on, and numbered from 0. *n: how many they are; 0: all are
 * done. */
int rw_table_next(struct rw_ctx *ctx, struct rw_table_reader *reader, uint32_t done, uint32_t *n);

/* Columns that are read together: a cache line of a row-major array holds so many values. */
enum { RW_TABLE_COLUMNS = 16 };
