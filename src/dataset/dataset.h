/* A data set: documents with labels, queries and query ids, and one column per feature that occurs.
 *
 * After struct rw_dataset and its functions, this header declares how data sets are made from text
 * (struct rw_builder, struct rw_early) and from arrays in memory (struct rw_table_reader), and the
 * table of side columns. */
#pragma once

#include <math.h>

#include "base/bits.h"
#include "base/mem.h"
#include "dataset/names.h"

/* A dense column stores RW_ABSENT_BITS for a document without the feature. It is a special
 * NaN, so data can be read once and used with either meaning of absent (0 or missing). NaN in the
 * data becomes RW_MISSING_BITS. Values are never any other NaN, infinity or -0. */
#define RW_ABSENT_BITS  0x7fc0ab5eu
#define RW_MISSING_BITS 0x7fc00000u

/* For data sets with is_qrels: the score of a document that has a judgment, but is not in the
 * ranking (the "run", in the words of TREC) that is evaluated. */
#define RW_UNRANKED (-(double)INFINITY)

static inline int rw_is_absent(float value)
{
    return rw_bits_of_float(value) == RW_ABSENT_BITS;
}

/* The values of a feature. An entry is a document and its value. A dense column has an entry for
 * each document. A sparse column has entries only for documents with the feature. Both arrays are
 * owned by the data set, or are views of its blocks or of its cache's mapping. */
struct rw_column {
    uint32_t feature; /* feature id in the data */
    uint32_t n;       /* number of entries; n_docs when dense */
    uint32_t *row;    /* [n] the entries' documents, ascending; NULL: dense */
    float *value;     /* [n] the entries' values */
};

/* Where documents were read: those from `doc` on, up to the `doc` of the next location, are
 * consecutive lines of a file, from `line` on. */
struct rw_location {
    uint32_t doc;
    uint32_t file; /* index in rw_dataset.origin.file */
    uint64_t line; /* from 1 */
};

/* Memory from rw_mem_new_large, or a mapped file. p NULL: empty. */
struct rw_block {
    void *p;
    size_t n_bytes;
};

/* n texts in one buffer, each terminated by 0. Only a builder sets n_bytes and the capacities. */
struct rw_texts {
    /* offset: [n + 1] where each text begins in `text`, and where the last one ends; n_bytes:
     * number of bytes of `text` in use */
    uint64_t *offset, n_bytes;
    char *text;
    size_t offset_room, text_room; /* capacities */
};

struct rw_dataset {
    uint32_t n_docs, n_queries, n_columns;
    /* Number of columns of an array or a table whose features are numbered from 0 to width - 1. 0:
     * the data names each feature by its id, as LETOR text does, or by_name is 1. */
    uint32_t width;
    int by_name; /* 1: a feature has the id that its name has in a model or in other data */
    struct rw_column *column;     /* [n_columns] ascending by feature id; owned */
    struct rw_block column_block; /* memory of the columns' arrays, if in one block; owned */
    struct rw_block early_block;  /* memory of the columns filled early (struct rw_early); owned */
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
        size_t *offset;             /* [n_queries + 1] index in `item` of each query's first pair;
                                       NULL: no pairs; owned */
    } pairs;
    int32_t n_names;
    struct rw_feature_name *name; /* [n_names] ascending by id, as in the table's header; owned */
    /* The mapping of a cache. It contains labels, query offsets, query ids, comments and the
     * columns' rows and values; other arrays are allocated. Owned. */
    struct rw_block cache;
    struct {
        struct rw_location *location; /* [n_locations] ascending by document; owned */
        uint32_t n_locations;         /* 0: not read from text */
        char **file;                  /* [n_files] file names as given; array and names are owned */
        uint32_t n_files;
    } origin;
    uint64_t first_doc;               /* number of documents in the shards of the workers before
                                         this one; 0 if the data was not divided among workers */
    uint64_t n_clamped;               /* number of decimals beyond float's range, read as the
                                         largest float */
    struct rw_vocabulary *vocabulary; /* NULL, or the words of categories; in the columns of the
                                         features that it marks, values are the numbers of words
                                         (dataset/names.h); shared */
    int is_qrels; /* 1: judgments with rankings (rw_qrels_read); a ranking may lack documents, and
                     a query's documents are in descending order of their ids */
    /* Codes in place of values, for a validation set. They use the bin boundaries of a training
     * set, whose thresholds are needed as well to read them (binning/bins.h). */
    struct {
        struct rw_bins *bins;               /* NULL: there are values; owned, and freed by `free` */
        uint32_t n_ids;                     /* largest feature id that was read plus 1, or 0 */
        void (*free)(struct rw_bins *bins); /* set if bins is */
    } codes;
};
struct rw_bins;
struct rw_vocabulary;

/* Removes all columns. Names, vocabulary and the mapping of a cache remain. */
void rw_dataset_drop_values(struct rw_dataset *dataset);

/* Writes the location of a document: "a.txt:12:1", or "document 12" (from 1) if it was not read
 * from text. If the number counts only the documents of this worker, which is not worker 0, the
 * text is "document 12 of worker 2's shard". ctx may be NULL. */
void rw_dataset_where(const struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t doc,
                      char *buffer, size_t size);

/* Returns the text after '#' on the document's line, without surrounding blanks, or "". */
const char *rw_dataset_comment(const struct rw_dataset *dataset, uint32_t doc);

/* Returns 1 if there are several documents and each one, or nearly each (n_queries is at least 90 %
 * of n_docs), is a separate query. It then also writes a text for a message. */
int rw_dataset_has_own_queries(const struct rw_dataset *dataset, char *text, size_t size);

/* Returns an array of n_docs labels of one kind: `label` for kind 0, and the k-th further label of
 * each document for kind k > 0. */
static inline const float *rw_dataset_labels_of(const struct rw_dataset *dataset, int kind)
{
    return kind == 0 ? dataset->label : dataset->more_label + (size_t)(kind - 1) * dataset->n_docs;
}

/* Adds the ids of the data set's queries in order (dataset/names.h): in an empty *ids, the id of
 * query q gets the number q. */
struct rw_query_ids;
int rw_dataset_query_ids(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                         struct rw_query_ids *ids);

/* Returns 1 if both data sets have the same queries in the same order: equal ids, numbers of
 * documents and labels. Further labels are not compared. */
int rw_dataset_same_judgments(const struct rw_dataset *a, const struct rw_dataset *b);

/* Copies some queries with their values to a new data set. keep: [n_queries], 1: copy. Order, ids,
 * comments, names, vocabulary and side columns are preserved; locations, is_qrels, first_doc and
 * codes are not. Fails
 * with RW_ERR_DATA if no query is selected. */
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

/* Writes the values of documents [begin, end) to values: [end - begin]. `absent`, 0 or NaN,
 * replaces absent values. column: NULL if the data lacks it, so all its values are absent. */
void rw_column_values(const struct rw_column *column, uint32_t begin, uint32_t end, float absent,
                      float *values);

/* In a builder, a run of consecutive documents with the same features. Its arrays are
 * entry_feature and entry_value of struct rw_builder. */
struct rw_run {
    /* doc: first document; the run ends before the next run's first. n: number of features */
    uint32_t doc, n;
    /* feature: index in entry_feature of the first of the n features. value: index in entry_value
     * of the first document's n values; those of the other documents follow */
    uint64_t feature, value;
};

/* Collects documents line by line, and then becomes a data set. Readers and generators use it (for
 * arrays in memory see struct rw_table_reader). Initialise with zeros; it may be released in any
 * state. It owns all arrays. */
struct rw_builder {
    uint32_t n_docs, n_queries, n_runs, n_locations;
    uint32_t n_ids;          /* largest feature id plus 1 */
    uint64_t n_features;     /* sum of the runs' numbers of features */
    uint64_t n_entries;      /* number of values */
    uint64_t n_clamped;      /* as in struct rw_dataset */
    float *label;            /* [n_docs] */
    struct rw_run *run;      /* [n_runs] */
    uint16_t *entry_feature; /* [n_features] ascending within a run */
    /* [n_entries] from rw_mem_new_large, so the system gets freed memory back */
    float *entry_value;
    int is_placed;   /* 1: the values are in early columns instead (struct rw_early) */
    uint32_t placed; /* if is_placed: row of the first document in those columns */
    double *score;   /* [n_docs] scores that a rw_take_lines_fn stored in place of the values; NULL:
                        no scores */
    uint32_t *query_offset;                     /* [n_queries + 1] */
    struct rw_texts query_id;                   /* [n_queries] */
    struct rw_texts comment;                    /* [n_docs] if any_comment */
    struct rw_location *location;               /* [n_locations]; their `file` is unused */
    double *weight;                             /* [n_docs] if has_weight */
    float *more_label;                          /* [n_docs][n_more_labels] */
    int any_comment, has_weight, n_more_labels; /* any_comment, has_weight: 0 or 1 */
    struct {
        size_t label, run, entry_feature, entry_value, query_offset, location, weight, more_label;
    } room;                       /* capacities of the arrays with these names */
    char *file;                   /* file of all documents, or NULL */
    struct rw_feature_name *name; /* [n_names] ascending by id: names for the data set; or NULL */
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
/* Sets the number of the line that contains the next document, in the file `file` of the builder.
 */
int rw_builder_line(struct rw_ctx *ctx, struct rw_builder *builder, uint64_t line);
/* Adds a document to the current query. Feature ids must strictly ascend, and values must be clean
 * (no -0, no infinity, NaN only as RW_MISSING_BITS). comment may be NULL. */
int rw_builder_doc(struct rw_ctx *ctx, struct rw_builder *builder, float label,
                   const uint16_t *features, const float *values, size_t n, const char *comment,
                   size_t comment_bytes);
/* Sets the weight of the next document. Either all documents of a builder have one, or none of
 * them. */
int rw_builder_weight(struct rw_ctx *ctx, struct rw_builder *builder, double weight);
/* Sets n further labels of the next document. All documents must have the same number of them. */
int rw_builder_more_labels(struct rw_ctx *ctx, struct rw_builder *builder, const float *labels,
                           int n);
/* Adds documents [begin, end) of a data set, with their values, queries, comments, weights and
 * further labels, but without other side columns, names and locations. */
int rw_builder_copy(struct rw_ctx *ctx, struct rw_builder *builder,
                    const struct rw_dataset *dataset, uint32_t begin, uint32_t end);
/* Moves the values and the vocabulary to `to`, which must be empty. Its documents have copies of
 * the labels and belong to one query. `from` keeps everything else, as documents without features.
 * The caller releases both, even on failure. */
int rw_builder_split(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to);
/* Type of a function that scores the documents of a builder that a thread has just filled, stores
 * the scores in lines->score and removes the values. Threads may call it in parallel. */
typedef int rw_take_lines_fn(void *user, struct rw_builder *lines);
/* Removes all features and values, but keeps the capacity. */
void rw_builder_drop_values(struct rw_builder *builder);
/* Removes all documents, but keeps the capacity. */
void rw_builder_empty(struct rw_builder *builder);
/* Copies the content of `from` to `to`, in arrays of exactly the size needed. File, names, width,
 * by_name and vocabulary are not copied; nor are values that are in early columns. `from` becomes
 * empty and keeps its capacity. After a failure both are empty. */
int rw_builder_pack(struct rw_ctx *ctx, struct rw_builder *from, struct rw_builder *to);
/* Makes one data set of several builders in order. If the last query of a builder and the first of
 * the next one have the same id, they become one query. Queries without documents are dropped.
 * Threads fill the columns and release each builder once it is copied. All builders are released,
 * even on failure. A column is dense if that needs no more memory. Names are those of the first
 * builder that has some. If only some builders have weights, other documents have weight 1. Fails
 * with RW_ERR_DATA if builders differ in names (of those that have some), in width, vocabulary or
 * number of labels (of those that have documents), or if there are too many documents. */
int rw_builder_finish(struct rw_ctx *ctx, struct rw_builder *builders, int n_builders,
                      struct rw_dataset **out);

/* ---- columns that fill while text is still being read ----
 *
 * Such columns are called early. With them values need not be stored twice, and are transposed
 * while they are in the processor's cache. The text's builders are numbered in order. Once all
 * builders before a builder are complete, the rows of its documents are known. Its values are then
 * copied to the columns if all its documents have exactly the features of the columns, which are
 * those of the first builder that could be copied. Otherwise its values stay in the builder. */
struct rw_early;
/* room: capacity of a column in documents. Pages that are never written need no memory. */
int rw_early_new(struct rw_ctx *ctx, uint64_t n_builders, uint64_t room, struct rw_early **out);
void rw_early_free(struct rw_early *early);
RW_SCOPED_BY(rw_early_free)
/* Packs the i-th builder like rw_builder_pack, and copies its values to the early columns if they
 * fit. Threads may call it in parallel. `to` must not move until all threads are done, since its
 * values may be copied later, when the builders before it are complete. */
int rw_early_pack(struct rw_early *early, uint64_t i, struct rw_builder *from,
                  struct rw_builder *to);
/* Like rw_builder_finish, for builders packed by rw_early_pack. early may be NULL. */
int rw_early_finish(struct rw_ctx *ctx, struct rw_early *early, struct rw_builder *builders,
                    int n_builders, struct rw_dataset **out);
/* Returns the values of a feature's early column: [room]; or NULL if there is no such column. */
float *rw_early_values(const struct rw_early *early, uint32_t feature);
/* Returns 1 if there are columns, with room for this many documents. early may be NULL. */
int rw_early_has_room(const struct rw_early *early, uint64_t n_docs);
/* Passes the block of all early columns, *n_bytes long, to the caller, who owns it from then on. */
void *rw_early_take(struct rw_early *early, size_t *n_bytes);

/* ---- side columns ----
 *
 * Side columns are data in addition to features and first labels, from separate files or arrays:
 * weights, start scores, positions, further labels, pairs.
 *
 * To add one, add a member to struct rw_dataset, a row to rw_side_columns in dataset.c, and the
 * parameter with the name of its file to params.def. Reading (io/side_files.c), division among
 * workers, selection of queries, fingerprints (train/sets.c), parameter checks and the program are
 * loops over rw_side_columns. */
struct rw_side_column {
    const char *name;         /* name of the parameter for its file: "start-scores" */
    const char *one, *plural; /* what messages call its numbers: "start score", "start scores" */
    double least, most;       /* range of a number */
    int is_whole;             /* numbers are integers */
    int by_query;             /* 1: a number per query; 0: a number per document */
    int has_several;          /* several numbers per document */
    int is_pairs;             /* lines of pairs instead of numbers */
    const char *expected;     /* description of a number in a file: "a weight from 0 to 65536" */
    size_t member;            /* offset in struct rw_dataset of the pointer to its array, which the
                                 data set owns; the pointer is NULL if the column is not set */
    size_t size;              /* bytes per number in the array: 8 for double, 4 for float, 2 for
                                 uint16_t; 0: pairs */
    double neutral;           /* for doubles: documents with this value do not change the
                                 fingerprint */
    const char *print;        /* name of its part of a fingerprint; NULL: weights or pairs, which
                                 share the part "weights" */
};

/* The columns from index RW_SIDE_PRINTED on have a part of a fingerprint each. */
enum { RW_SIDE_PRINTED = 3, RW_SIDE_COLUMNS = 6 };
extern const struct rw_side_column rw_side_columns[RW_SIDE_COLUMNS];

/* Returns the side column with this parameter name, or NULL. */
const struct rw_side_column *rw_side_column_find(const char *name);
/* Returns the column's array in the data set, or NULL if the data set lacks the column. */
const void *rw_side_column_of(const struct rw_side_column *column,
                              const struct rw_dataset *dataset);
/* Returns a document's term in the column's part of a fingerprint. number: the document's number
 * among those of all workers. The column must have numbers, not pairs, and the data set must have
 * the column. */
uint64_t rw_side_column_item(const struct rw_side_column *column, const struct rw_dataset *dataset,
                             uint32_t doc, uint64_t number);
/* Fails with RW_ERR_DATA if n is not the number of documents, or of queries if column->by_query is
 * 1. file: name of the file with the numbers, for the message, or NULL. */
int rw_side_column_check(struct rw_ctx *ctx, const struct rw_side_column *column,
                         const struct rw_dataset *dataset, const char *file, size_t n);
/* Copies side columns to `out`, which has only the queries q with keep[q] 1. Columns of numbers
 * that `out` already has are left as they are. keep: [n_queries]. */
int rw_side_columns_select(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                           const uint8_t *keep, struct rw_dataset *out);

/* ---- tables in memory (struct rw_table) ----
 *
 * Values are read as data sets store them: float32 without infinity and -0, NaN only as
 * RW_MISSING_BITS. Where a column has no value, a dense column gets RW_ABSENT_BITS, or
 * RW_MISSING_BITS if the table's `missing` is 0. Infinite values are recorded while reading, and
 * rw_table_check reports them. */
struct rw_table_column {
    uint32_t feature;
    uint32_t index;    /* index in rw_table.column */
    uint32_t n;        /* if is_sparse, number of documents with the feature; otherwise of all */
    uint8_t is_sparse; /* 1: the data set's column is sparse; rw_table_entries reads it. 0: it is
                          dense; rw_table_values reads it */
    uint8_t found; /* FOUND_... of table.c for the values read so far; any thread may add to it */
};

/* Type of the function that reads the next documents of a pass over a streamed table, after `done`
 * documents; 0 begins a pass. Sets *n to their number, 0 at the end, and the columns with their
 * values. array: [n_columns], zeroed before the call. */
typedef int rw_table_next_fn(struct rw_ctx *ctx, const struct rw_table *table, uint32_t done,
                             struct rw_array *array, uint32_t *n);
struct rw_table_reader {
    const struct rw_table *table;   /* borrowed */
    struct rw_arena arena;          /* owns column, dense, sparse and document */
    uint32_t n_columns;             /* number of the table's columns, without those that have an
                                       index, but no entries */
    struct rw_table_column *column; /* [n_columns] ascending by feature */
    uint32_t *dense, *sparse; /* dense: [n_dense], sparse: [n_sparse]; the indices in `column` of
                                 the columns with is_sparse 0 and 1, ascending */
    uint32_t n_dense, n_sparse;
    uint32_t *document; /* [n_docs] document of each row of the arrays; NULL: row i is document i */
    uint32_t missing;   /* bits of a value that means missing */
    uint32_t hole;      /* bits that a dense column gets where the table has no value */
    /* for a streamed table: */
    const struct rw_table *whole; /* the caller's table; NULL: not streamed; borrowed */
    rw_table_next_fn *next;
    struct rw_table some;   /* the current documents; `table` points to it */
    struct rw_array *array; /* [n_columns] columns of `some`; owned */
    uint32_t first_doc;     /* number in `whole` of the first current document; 0 if not streamed */
};
/* Opens a table. next: NULL if the values are in memory. Checks query offsets and feature ids and,
 * if the values are in memory, chunks, columns and order. rw_table_documents checks labels and
 * query ids. The reader must not be moved. Close it even on failure. */
int rw_table_open(struct rw_ctx *ctx, struct rw_table_reader *reader, const struct rw_table *table,
                  rw_table_next_fn *next);
void rw_table_close(struct rw_table_reader *reader);
/* Makes a data set of the table's documents without features. Fails with RW_ERR_DATA if a label is
 * invalid or a query id occurs twice. */
int rw_table_documents(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset **out);
/* Makes a data set of the table, with its values. */
int rw_table_read(struct rw_ctx *ctx, struct rw_table_reader *reader, struct rw_dataset **out);

/* Reads the values of n_columns dense columns for n documents. column: [n_columns] indices in
 * reader->column. The documents are doc[0] to doc[n - 1], or first to first + n - 1 if doc is NULL.
 * The n values of the k-th of these columns are written from values + k * stride on. Several
 * threads may call it in parallel. */
void rw_table_values(struct rw_table_reader *reader, const uint32_t *column, uint32_t n_columns,
                     const uint32_t *doc, uint32_t first, uint32_t n, float *values, size_t stride);
/* Reads the entries of a sparse column, reader->column[c]: the documents to `row`, ascending, and
 * their values to `value`, [n] each. Never uses a context. Fails if memory is short. */
int rw_table_entries(struct rw_table_reader *reader, uint32_t c, uint32_t *row, float *value);
/* Fails with RW_ERR_DATA if an infinite value was read. Call it once all values are read; for a
 * streamed table, those of the current documents. */
int rw_table_check(struct rw_ctx *ctx, const struct rw_table_reader *reader);
/* Reports integers that float32 cannot represent: marks their columns in table->inexact or, if that
 * is NULL, logs a warning. Call it once all values are read. */
void rw_table_warn_inexact(struct rw_ctx *ctx, const struct rw_table_reader *reader);

/* Reads the next documents of a pass over a streamed table, after `done` documents; 0 begins a
 * pass. They become the reader's table, numbered from 0. *n: their number; 0 at the end. */
int rw_table_next(struct rw_ctx *ctx, struct rw_table_reader *reader, uint32_t done, uint32_t *n);

/* Number of columns to pass to rw_table_values at once: a cache line of 64 bytes of a row-major
 * float32 array has this many values. */
enum { RW_TABLE_COLUMNS = 16 };
