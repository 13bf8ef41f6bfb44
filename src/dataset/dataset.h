/* A data set: documents with labels, queries and ids, and one column per feature that occurs. */
#pragma once

#include <math.h>

#include "base/bits.h"
#include "base/mem.h"
#include "dataset/names.h"

/* The value in a dense column if a line did not contain the feature. It is a special NaN, so data
 * can be read once and used with either meaning of absent (0 or missing). NaN in the data becomes
 * RW_MISSING_BITS. Values are never any other NaN, infinity or -0. */
#define RW_ABSENT_BITS  0x7fc0ab5eu
#define RW_MISSING_BITS 0x7fc00000u

/* The score of a document that a run does not rank. */
#define RW_UNRANKED (-(double)INFINITY)

static inline int rw_is_absent(float value)
{
    return rw_bits_of_float(value) == RW_ABSENT_BITS;
}

struct rw_column {
    uint32_t feature; /* feature id in the data */
    uint32_t n;       /* number of entries; n_docs when dense */
    uint32_t *row;    /* [n] documents, ascending; NULL: dense; owned by the data set (or a view
                         of its mapping) */
    float *value;     /* [n]; owned in the same way */
};

/* Where documents were read: those from `doc` on, up to the next location, are the lines of a file
 * from `line` on. */
struct rw_location {
    uint32_t doc;
    uint32_t file;
    uint64_t line; /* from 1 */
};

/* Memory of rw_mem_new_large, or a mapping. p NULL: empty. */
struct rw_block {
    void *p;
    size_t n_bytes;
};

/* Texts in one buffer, each terminated by 0. The i-th begins at offset[i]. Only a builder uses the
 * capacities. */
struct rw_texts {
    uint64_t *offset, n_bytes;
    char *text;
    size_t offset_room, text_room;
};

struct rw_dataset {
    uint32_t n_docs, n_queries, n_columns;
    /* Number of columns of an array or a table, whose features are 0 to width - 1. 0: features have
     * ids, as in LETOR text, or the ids of other data, by their names. */
    uint32_t width;
    int by_name; /* 1: ids follow from the names in a model or in other data; width is 0 */
    struct rw_column *column;     /* [n_columns] ascending by feature id; owned */
    struct rw_block column_block; /* memory of all columns, if in one block; owned */
    struct rw_block early_block;  /* the same for columns that were filled early; owned */
    float *label;                 /* [n_docs]; owned */
    uint32_t *query_offset;       /* [n_queries + 1]; owned */
    struct rw_texts query_id;     /* offset: [n_queries + 1]; owned */
    struct rw_texts comment;      /* offset: [n_docs + 1]; NULL: no document has a comment; owned */
    double *weight;               /* [n_docs]; NULL: all 1; owned */
    int weight_by_query; /* 1: weights were given per query (metrics weight queries by them) */
    double *start_score; /* [n_docs] scores with which training starts; NULL: all 0; owned */
    uint16_t *position;  /* [n_docs] displayed positions; NULL: unknown; owned */
    int n_more_labels;   /* number of labels per document in addition to `label` */
    float *more_label;   /* [n_more_labels][n_docs]; NULL: no further labels; owned */
    struct {
        struct rw_given_pair *item; /* ordered by query, then as given; NULL: no pairs; owned */
        size_t *offset;             /* [n_queries + 1] offset of each query's in `item`; NULL: no
                                       pairs; owned */
    } pairs;
    int32_t n_names;
    struct rw_feature_name *name; /* [n_names] ascending by id, as in the table's header; owned */
    /* The mapping of a cache, which contains all arrays above except `weight`, `name` and `column`;
     * owned. */
    struct rw_block cache;
    struct {
        struct rw_location *location; /* [n_locations] ascending by document; owned */
        uint32_t n_locations;         /* 0: not read from text */
        char **file;                  /* [n_files] file names as given; array and names are owned */
        uint32_t n_files;
    } origin;
    uint64_t first_doc;               /* in a worker's shard: number of documents of the workers
                                         before it */
    uint64_t n_clamped;               /* number of decimals beyond float's range, read as the
                                         largest float */
    struct rw_vocabulary *vocabulary; /* NULL, or the words of categories; some columns hold their
                                         numbers instead of values (dataset/names.h); shared */
    int is_qrels; /* 1: judgments and runs (rw_qrels_read); a ranking may lack documents, and
                     those of a query are in descending order of id */
    /* Codes in place of values, for a validation set. They use the boundaries of a training set,
     * whose thresholds are needed as well (binning/bins.h). */
    struct {
        struct rw_bins *bins; /* NULL: there are values; owned, and freed by `free` */
        uint32_t n_ids;       /* largest feature id that was read plus 1, or 0 */
        void (*free)(struct rw_bins *bins);
    } codes;
};
struct rw_bins;
struct rw_vocabulary;

/* Removes all features. The mapping of a cache remains. */
void rw_dataset_drop_values(struct rw_dataset *dataset);

/* Writes the location of a document: "a.txt:12:1", or "document 12" if it was not read from text.
 * If only this worker's documents are counted, " of worker 2's shard" follows. ctx may be NULL. */
void rw_dataset_where(const struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t doc,
                      char *buffer, size_t size);

/* Returns the text after '#' on the document's line, without surrounding blanks, or "". */
const char *rw_dataset_comment(const struct rw_dataset *dataset, uint32_t doc);

/* Returns 1 if each of several documents, or nearly each, is a separate query, and writes a text
 * for a message. */
int rw_dataset_has_own_queries(const struct rw_dataset *dataset, char *text, size_t size);

/* Returns the labels of one kind: 0 is `label`, the next ones are the further labels. */
static inline const float *rw_dataset_labels_of(const struct rw_dataset *dataset, int kind)
{
    return kind == 0 ? dataset->label : dataset->more_label + (size_t)(kind - 1) * dataset->n_docs;
}

/* Adds the ids of the data set's queries, by their numbers (dataset/names.h). */
struct rw_query_ids;
int rw_dataset_query_ids(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                         struct rw_query_ids *ids);

/* Returns 1 if both data sets have the same query ids in the same order, and the same labels. */
int rw_dataset_same_judgments(const struct rw_dataset *a, const struct rw_dataset *b);

/* Copies some queries to a new data set. keep: [n_queries], 1: copy. Order, ids, comments and side
 * columns are preserved; line numbers and a cache's codes are not. Fails with RW_ERR_DATA if no
 * query is selected. */
int rw_dataset_select(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint8_t *keep,
                      struct rw_dataset **out);

/* Returns 1 if a feature with values in n of n_docs documents has a dense column, which stores a
 * value for each document. */
static inline int rw_column_is_dense(uint32_t n, uint32_t n_docs)
{
    return (uint64_t)n * 2 >= n_docs;
}

/* Returns the column of a feature id, or NULL. */
const struct rw_column *rw_dataset_column(const struct rw_dataset *dataset, uint32_t feature);

/* Writes the values of documents [begin, end). values: [end - begin]; `absent` is 0 or NaN. All
 * values of a column that the data lacks (NULL) are absent. */
void rw_column_values(const struct rw_column *column, uint32_t begin, uint32_t end, float absent,
                      float *values);

/* A run of documents with the same `n` features, from `doc` to the next run's. The features are in
 * entry_feature from `feature` on, and the values, line by line, in entry_value from `value` on. */
struct rw_run {
    uint32_t doc, n;
    uint64_t feature, value;
};

/* Collects documents line by line, and then becomes a data set. Readers and generators use it (for
 * arrays in memory see struct rw_table_reader). Initialise with zeros; it may be released in any
 * state. It owns all arrays. */
struct rw_builder {
    uint32_t n_docs, n_queries, n_runs, n_locations;
    uint32_t n_ids; /* largest feature id plus 1 */
    uint64_t n_features, n_entries, n_clamped;
    float *label;
    struct rw_run *run;      /* [n_runs] */
    uint16_t *entry_feature; /* [n_features] ascending within a run */
    float
        *entry_value; /* [n_entries] from rw_mem_new_large, so the system gets freed memory back */
    int is_placed;    /* 1: the values from document `placed` on are in early columns instead */
    uint32_t placed;
    double *score; /* [n_docs] scores that replaced the values; NULL: the values are here */
    uint32_t *query_offset;       /* [n_queries + 1] */
    struct rw_texts query_id;     /* [n_queries] */
    struct rw_texts comment;      /* [n_docs] if any_comment */
    struct rw_location *location; /* [n_locations]; their `file` is unused */
    double *weight;               /* [n_docs] if has_weight */
    float *more_label;            /* [n_docs][n_more_labels] */
    int any_comment, has_weight, n_more_labels;
    struct {
        size_t label, run, entry_feature, entry_value, query_offset, location, weight, more_label;
    } room;                       /* capacities of those arrays */
    char *file;                   /* file of all documents, or NULL */
    struct rw_feature_name *name; /* [n_names] ascending by id: names for the data set, if any */
    int32_t n_names;
    uint32_t width; /* as in struct rw_dataset */
    int by_name;
    struct rw_vocabulary *vocabulary; /* as in struct rw_dataset */
};
static inline const char *rw_builder_query_id(const struct rw_builder *builder, uint32_t query)
{
    return builder->query_id.text + builder->query_id.offset[query];
}
/* Returns the number of documents of a run. */
static inline uint32_t rw_builder_run_docs(const struct rw_builder *builder, uint32_t r)
{
    const uint32_t end = r + 1 < builder->n_runs ? builder->run[r + 1].doc : builder->n_docs;
    return end - builder->run[r].doc;
}
/* Adds the number of documents with each feature to counts: [n_ids]. */
void rw_builder_count(const struct rw_builder *builder, uint32_t *counts);
void rw_builder_release(struct rw_builder *builder);
/* Starts a query and copies its id of n bytes. */
int rw_builder_query(struct rw_ctx *ctx, struct rw_builder *builder, const char *id, size_t n);
/* Sets the line of builder->file that contains the next document. */
int rw_builder_line(struct rw_ctx *ctx, struct rw_builder *builder, uint64_t line);
/* Adds a document to the current query. Feature ids must strictly ascend, and values must be clean
 * (no -0, no infinity, NaN only as RW_MISSING_BITS). comment may be NULL. */
int rw_builder_doc(struct rw_ctx *ctx, struct rw_builder *builder, float label,
                   const uint16_t *features, const float *values, size_t n, const char *comment,
                   size_t comment_bytes);
/* Sets the weight of the next document. Either all documents have one, or no document does. */
int rw_builder_weight(struct rw_ctx *ctx, struct rw_builder *builder, double weight);
/* Sets n further labels of the next document. All documents must have the same number of them. */
int rw_builder_more_labels(struct rw_ctx *ctx, struct rw_builder *builder, const float *labels,
                           int n);
/* Adds documents [begin, end) of a data set, with queries, comments, weights and further labels. */
int rw_builder_copy(struct rw_ctx *ctx, struct rw_builder *builder,
                    const struct rw_dataset *dataset, uint32_t begin, uint32_t end);
/* Moves the values to `to`, which must be empty, as documents of one query. The rest remains, as
 * documents without features. The caller releases both, even on failure. */
int rw_builder_split(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to);
/* Takes the values of a builder that a thread has just filled, and stores their scores instead.
 * Threads may call it in parallel. */
typedef int rw_take_lines_fn(void *user, struct rw_builder *lines);
/* Removes all features, but keeps the capacity for values. */
void rw_builder_drop_values(struct rw_builder *builder);
/* Removes all documents, but keeps the capacity. */
void rw_builder_empty(struct rw_builder *builder);
/* Moves the content of `from` to arrays of exactly its size. `from` becomes empty and keeps its
 * capacity. After a failure both are empty. */
int rw_builder_pack(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to);
/* Makes one data set of several builders in order. If a query ends one builder and the next begins
 * with the same id, it is one query. The builders are emptied one by one as the columns fill, in
 * parallel. A column is dense if that needs no more memory. Names are those of the first builder
 * that has some; RW_ERR_DATA if a later one has different names. If only some builders have
 * weights, other documents have weight 1. RW_ERR_DATA if builders differ in the number of labels.
 */
int rw_builder_finish(struct rw_ctx *ctx, struct rw_builder *builders, int n_builders,
                      struct rw_dataset **out);

/* ---- columns that fill while text is still being read ----
 *
 * Values then need not be stored twice, and are transposed while they are in the cache. The text's
 * builders are numbered in order. Once a builder and all before it are complete, the place of its
 * documents is known. Its values are then copied to the columns, if it has the features of the
 * first builder. Otherwise it is packed. */
struct rw_early;
/* room: capacity in documents. Pages that are never written cost nothing. */
int rw_early_new(struct rw_ctx *ctx, uint64_t n_builders, uint64_t room, struct rw_early **out);
void rw_early_free(struct rw_early *early);
RW_SCOPED_BY(rw_early_free)
/* Packs the i-th builder like rw_builder_pack; threads may call it in parallel. `to` must not move
 * until all threads are done, since its values may be copied later, when the builders before it are
 * complete. */
int rw_early_pack(struct rw_early *early, uint64_t i, struct rw_builder *from,
                  struct rw_builder *to);
/* Like rw_builder_finish, for builders packed by rw_early_pack. early may be NULL. */
int rw_early_finish(struct rw_ctx *ctx, struct rw_early *early, struct rw_builder *builders,
                    int n_builders, struct rw_dataset **out);
/* Returns the column of a feature, or NULL. */
float *rw_early_values(const struct rw_early *early, uint32_t feature);
/* Returns 1 if there are columns, with room for this many documents. early may be NULL. */
int rw_early_has_room(const struct rw_early *early, uint64_t n_docs);
/* Passes the block of all columns to the caller. */
void *rw_early_take(struct rw_early *early, size_t *n_bytes);

/* ---- side columns ----
 *
 * They are data in addition to features and first labels, from separate files or arrays: weights,
 * start scores, positions, further labels, pairs.
 *
 * To add one, add a member to struct rw_dataset, a row in dataset.c, and a row in params.def with
 * the name of its file. Reading (io/side_files.c), division among workers, selection of queries,
 * fingerprints, parameter checks and the program are loops over the table. */
struct rw_side_column {
    const char *name;         /* name of the parameter for its file: "start-scores" */
    const char *one, *plural; /* name of its numbers in messages: "start score" */
    double least, most;       /* range of a number */
    int is_whole;             /* numbers are integers */
    int by_query;             /* 1: a number per query; 0: a number per document */
    int has_several;          /* several numbers per document */
    int is_pairs;             /* lines of pairs instead of numbers */
    const char *expected;     /* description of a number in a file: "a weight from 0 to 65536" */
    size_t member;            /* offset of its array in struct rw_dataset; owned; NULL: not set */
    size_t size;              /* bytes per number in the array: double, float or uint16_t; 0:
                                 pairs */
    double neutral;           /* for doubles: documents with this value do not change the
                                 fingerprint */
    const char *print;        /* name of its part of a fingerprint; NULL: weights, or no part */
};

/* Columns from RW_SIDE_PRINTED on have separate parts of a fingerprint. */
enum { RW_SIDE_PRINTED = 3, RW_SIDE_COLUMNS = 6 };
extern const struct rw_side_column rw_side_columns[RW_SIDE_COLUMNS];

/* Returns NULL if there is no such column. */
const struct rw_side_column *rw_side_column_find(const char *name);
/* Returns its array, or NULL if the data set lacks the column. */
const void *rw_side_column_of(const struct rw_side_column *column,
                              const struct rw_dataset *dataset);
/* Returns a document's term in the column's part of a fingerprint. The column must have numbers,
 * and the data set must have the column. */
uint64_t rw_side_column_item(const struct rw_side_column *column, const struct rw_dataset *dataset,
                             uint32_t doc, uint64_t number);
/* Fails with RW_ERR_DATA if n is not the number of documents or queries. file: source of the
 * numbers, or NULL. */
int rw_side_column_check(struct rw_ctx *ctx, const struct rw_side_column *column,
                         const struct rw_dataset *dataset, const char *file, size_t n);
/* Copies the columns that `out` lacks, for the queries with `keep`, which `out` has. */
int rw_side_columns_select(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                           const uint8_t *keep, struct rw_dataset *out);

/* ---- tables in memory (struct rw_table) ----
 *
 * Values are read as data sets store them: float32 without infinity and -0, NaN only as
 * RW_MISSING_BITS, and RW_ABSENT_BITS where a column has no value. Errors in values are recorded
 * while reading, and reported once all values are read. */
struct rw_table_column {
    uint32_t feature;
    uint32_t index; /* index in rw_table.column */
    uint32_t n;     /* documents with it, if is_sparse, otherwise all */
    uint8_t
        is_sparse; /* few documents have it: read by rw_table_entries instead of rw_table_values */
    uint8_t found; /* properties of the values read so far; any thread may add to it */
};

/* Reads the next n documents of a pass over a table, after `done` documents; 0 begins a pass. Fills
 * `array`, which is zeroed. */
typedef int rw_table_next_fn(struct rw_ctx *ctx, const struct rw_table *table, uint32_t done,
                             struct rw_array *array, uint32_t *n);
struct rw_table_reader {
    const struct rw_table *table;   /* borrowed */
    struct rw_arena arena;          /* owns these arrays */
    uint32_t n_columns;             /* number of columns that occur */
    struct rw_table_column *column; /* [n_columns] ascending by feature */
    uint32_t *dense, *sparse;       /* [n_dense], [n_sparse] indices of columns */
    uint32_t n_dense, n_sparse;
    uint32_t *document; /* [n_docs] document of each row of the arrays; NULL: same order */
    uint32_t missing;   /* bits of a value that means missing */
    uint32_t hole;      /* bits for a dense column without a value */
    /* for a streamed table: */
    const struct rw_table *whole; /* borrowed */
    rw_table_next_fn *next;
    struct rw_table some;   /* the current documents; `table` points to it */
    struct rw_array *array; /* [n_columns] its arrays; owned */
    uint32_t first_doc;     /* the first of them, or 0 */
};
/* Opens a table and checks everything except the values. next: NULL if the values are in memory.
 * The reader must not be moved. Close it even on failure. */
int rw_table_open(struct rw_ctx *ctx, struct rw_table_reader *reader, const struct rw_table *table,
                  rw_table_next_fn *next);
void rw_table_close(struct rw_table_reader *reader);
/* Makes a data set of the table's documents without features. Labels and ids are checked, too. */
int rw_table_documents(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset **out);
/* Makes a data set of the table. */
int rw_table_read(struct rw_ctx *ctx, struct rw_table_reader *reader, struct rw_dataset **out);

/* Reads the values of n_columns dense columns. column: [n_columns]. Those of the k-th are written
 * from values + k * stride on: [n], for the documents doc[i], or first + i if doc is NULL. Several
 * threads may read at once. */
void rw_table_values(struct rw_table_reader *reader, const uint32_t *column, uint32_t n_columns,
                     const uint32_t *doc, uint32_t first, uint32_t n, float *values, size_t stride);
/* Reads the documents of a sparse column, ascending, and their values: [n]. Never
 * uses a context. */
int rw_table_entries(struct rw_table_reader *reader, uint32_t c, uint32_t *row, float *value);
/* Checks for infinite values (RW_ERR_DATA), once all values, or those of the current documents, are
 * read. */
int rw_table_check(struct rw_ctx *ctx, const struct rw_table_reader *reader);
/* Warns of integers that float32 cannot represent, once all values are read. */
void rw_table_warn_inexact(struct rw_ctx *ctx, const struct rw_table_reader *reader);

/* Reads the next documents of a pass over a streamed table, after `done` documents; 0 begins a
 * pass. They become the reader's table, numbered from 0. *n: their number; 0 at the end. */
int rw_table_next(struct rw_ctx *ctx, struct rw_table_reader *reader, uint32_t done, uint32_t *n);

/* Number of columns that are read together: a cache line of a row-major array has this many values.
 */
enum { RW_TABLE_COLUMNS = 16 };
