/* Rankwood: gradient-boosted trees that rank (LambdaMART). The whole public interface, with
 * rankwood_score.h, which has errors, contexts, the reading of models and the scoring of rows, and
 * the rules that hold everywhere.
 *
 * It is built in stairs. The first stair is all that a program needs to load, train, save, load
 * and score; the second opens what was loaded; the third is for programs that want everything.
 *
 * Rules beside those:
 * - A query's documents are adjacent.
 * - Thread-safety: what was made with a context belongs to one thread at a time, as the context
 *   does. Datasets and models do not change after they are made and may be read by several threads.
 *   A context has threads of its own, which sleep while they have nothing to do; in a child made by
 *   fork the contexts of the thread that forked work as before.
 * - The default floating-point environment of functions that compute holds in callbacks, too.
 */
#ifndef RANKWOOD_H
#define RANKWOOD_H

#include <stdio.h>

#include "rankwood_score.h" /* errors, contexts, models read, rows scored */

#ifdef __cplusplus
extern "C" {
#endif

/* Limits, beside those of rankwood_score.h. */
#define RW_MAX_BINS    1024  /* value bins of a feature */
#define RW_MAX_LEAVES  65536 /* of a tree */
#define RW_MAX_WEIGHT  65536 /* of a document */
#define RW_MAX_START_SCORE 1e30 /* of a document, and its negative */
#define RW_MAX_POSITION 65535 /* at which a document was shown */
#define RW_MAX_LABELS  16    /* of a document */
#define RW_MAX_DEVICE  255 /* N of "cuda:N" */
#define RW_MAX_WORKERS   65536

/* ------------------------------------------------------------------ first stair: load, train, save */

struct rw_dataset; /* documents, labels, queries, values; immutable once read, but for weights, start scores, positions and further labels */
struct rw_params;  /* parameters, by name */

/* Reads the files in order as one set: LETOR text, a cache, told by content, or CSV and TSV, told by the
 * name (rw_ctx_set_columns), or gzip of text; "-" is standard input. */
RW_API int rw_dataset_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                           struct rw_dataset **out);
RW_API void rw_dataset_free(struct rw_dataset *dataset);

/* Parameters start at their defaults. Names and values are the command line's ("leaves", "31");
 * "auto" is a number that training chooses. */
RW_API int rw_params_new(struct rw_ctx *ctx, struct rw_params **out);
RW_API int rw_params_set(struct rw_ctx *ctx, struct rw_params *params, const char *name,
                         const char *value);
/* The same values, with the same origins. */
RW_API int rw_params_copy(struct rw_ctx *ctx, const struct rw_params *params,
                          struct rw_params **out);
RW_API void rw_params_free(struct rw_params *params);

struct rw_train_hooks;
/* Trains on `train`. Of params, `threads` is set in the context, if it was given; `weights`,
 * `query-weights`, `start-scores` and `positions` only say that the training set must have them (rw_dataset_read_side_column).
 * With early-stop above 0, the first metric on the first of the `n_valid` sets that is not the training set (the same
 * documents, labels, queries and values) stops training, and the model kept ends at its best round. With 0, or where all
 * of them are the training set (a warning says so), all trees are kept, but for those at the end that could split
 * nothing. `hooks` may be NULL. RW_ERR_DATA: no tree could be split; or that metric cannot stop training, for no query
 * counts or the metric is the same for every ranking. Warns, through the log, of names of features that are not there. */
RW_API int rw_train(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_dataset *train, const struct rw_dataset *const *valid,
                    int n_valid, const struct rw_train_hooks *hooks, struct rw_model **out);
/* Which validation set, from 1, stops the training that last began in this context (from on_start on); 0: none. */
RW_API int rw_ctx_stop_set(const struct rw_ctx *ctx);

/* What a training is of; members that are left out are NULL or 0. */
struct rw_training {
    const struct rw_dataset *train;        /* the training set; or, in its place, */
    const struct rw_binned *binned;        /* one that is binned: the same model, byte for byte */
    const struct rw_dataset *const *valid; /* [n_valid] */
    int n_valid;
    const struct rw_model *init; /* the model to go on from, ours or an imported one */
    const struct rw_train_hooks *hooks;
};
/* rw_train of such a set, from such a model.
 * With `init` up to `rounds` more trees stand behind its own, none of which is dropped. With the data and parameters
 * that it was trained with, and early-stop 0, the outcome is that of one training of so many rounds, byte for byte.
 * Features that it splits by categories are so without being named, and keep its words; those of the training
 * set that it lacks get codes as far as there are some left, and go the way of unknown ones in its trees.
 * Warns where the model asks for features that the training set lacks. RW_ERR_ARGUMENT: the model takes
 * absent features otherwise, or compares a categorical one with thresholds.
 * A binned set was read for these params and this `init`, else RW_ERR_ARGUMENT; validation sets beside it have values
 * (rw_dataset_read) or are rw_binned_read_valid's. On a GPU its codes stay there until the set is freed, so that the
 * next training on it starts at once; they go where other work finds too little memory on the GPU. Several threads may
 * train on one set at a time, each with a context of its own. */
RW_API int rw_train_on(struct rw_ctx *ctx, const struct rw_params *params,
                       const struct rw_training *training, struct rw_model **out);

/* The same trees with new values in their leaves: documents go down them by the model's own thresholds, tree
 * after tree, with gradients from the scores of the new values so far. A leaf becomes refit-decay times its old
 * value and 1 - refit-decay times the one that training would give it; without documents it keeps its value, as a tree
 * of one leaf does. What leaf values depend on and is not set in params is as it was when the model was trained;
 * without that (an imported model), the default. On the training data, with refit-decay 0 and nothing sampled, the
 * leaves are the model's own, to the bit. The host does the work, whatever `device` says; sets have values. Validation
 * sets are measured and change nothing: all trees are kept. hooks may end it, as RW_ERR_INTERRUPTED; there are no
 * checkpoints. RW_ERR_ARGUMENT: a parameter that has no effect, or the model has no tree with a split;
 * RW_ERR_DATA: the data has none of the model's features. */
RW_API int rw_refit(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_model *model,
                    const struct rw_dataset *train, const struct rw_dataset *const *valid,
                    int n_valid, const struct rw_train_hooks *hooks, struct rw_model **out);
/* Gives what rw_refit would take of the model these values, so that others see them. They do not count as set. */
RW_API int rw_refit_params(struct rw_ctx *ctx, struct rw_params *params,
                           const struct rw_model *model);

/* Written whole or not at all: to a temporary file beside it, then renamed. */
RW_API int rw_model_write(struct rw_ctx *ctx, const struct rw_model *model, const char *path);
/* The same bytes into an open file, which is left open; `name` is the file's for messages. RW_ERR_IO,
 * RW_ERR_MACHINE: they could not be written. */
RW_API int rw_model_write_file(struct rw_ctx *ctx, const struct rw_model *model, FILE *out,
                               const char *name);
/* The same bytes in memory: *out is [*n_bytes], followed by 0, and freed with rw_free. */
RW_API int rw_model_write_memory(struct rw_ctx *ctx, const struct rw_model *model, char **out,
                                 size_t *n_bytes);
/* Frees what a call gave the caller, but for what has a function of its own: model texts, and the results of
 * rw_evaluate, rw_audit_new, rw_compare, rw_qrels_read, rw_prune, rw_select, rw_cross_validate, rw_check_new and
 * rw_explainer_new. */
RW_API void rw_free(void *result);

/* scores: [n_docs], written. The first `n_trees` trees; 0 takes all. */
RW_API int rw_predict(struct rw_ctx *ctx, const struct rw_model *model,
                      const struct rw_dataset *dataset, int n_trees, double *scores);

/* ------------------------------------------------------------------ second stair: look inside */

/* --- datasets --- */
RW_API uint32_t rw_dataset_n_docs(const struct rw_dataset *dataset);
RW_API uint32_t rw_dataset_n_queries(const struct rw_dataset *dataset);
/* Features that appear at least once. */
RW_API uint32_t rw_dataset_n_features(const struct rw_dataset *dataset);
RW_API const float *rw_dataset_labels(const struct rw_dataset *dataset);          /* [n_docs] */
/* First document of each query, and n_docs at the end. */
RW_API const uint32_t *rw_dataset_query_offsets(const struct rw_dataset *dataset); /* [n_queries + 1] */
RW_API const char *rw_dataset_query_id(const struct rw_dataset *dataset, uint32_t query);
/* The name of a feature's column in the header of CSV or TSV; "" without one. */
RW_API const char *rw_dataset_feature_name(const struct rw_dataset *dataset, uint32_t feature);
/* The document's id: in the comment, the word after "docid =" or "docid:", else "". Copied into
 * `buffer`, cut to fit, always ended by 0. */
RW_API void rw_dataset_doc_id(const struct rw_dataset *dataset, uint32_t doc, char *buffer,
                              size_t size);
/* values: [n_docs], written; NaN where missing; what is absent becomes `absent` (0 or NaN).
 * A feature that never appears is absent everywhere. */
RW_API void rw_dataset_feature(const struct rw_dataset *dataset, uint32_t feature, float absent,
                               float *values);

/* Makes a feature's values categories (parameter 'categorical'): value i, a whole number from 0 on, stands for
 * words[i], [n_words], as the codes of a data frame's column do; an empty word is a missing value. Data sets
 * then agree by word, whatever numbers they had, and training need not be told that the feature is categorical. Without it a category is the value itself, a whole number up to
 * 16777216. RW_ERR_DATA: a value is no such number; RW_ERR_ARGUMENT: the feature has words already. */
RW_API int rw_dataset_set_categories(struct rw_ctx *ctx, struct rw_dataset *dataset, uint32_t feature,
                                     const char *const *words, uint32_t n_words);

/* Side columns: what a data set has beside features and labels, by the name of the parameter for its file. Those set
 * last count. A file has a line per document (or query, or pair) of all workers' documents.
 *
 *   weights        One per document, from 0 to 65536. They multiply lambdas and metrics; a metric weighs a query by
 *                  the mean of its documents' weights.
 *   query-weights  The same, one per query.
 *   start-scores   One per document, from -1e30 to 1e30: where scores begin while a model is trained on the set, or
 *                  measured on it as a validation set (LightGBM's init_score, XGBoost's base_margin). The model does
 *                  not contain them: add them to what rw_predict returns. Trees of rw_train_on are added to them.
 *   positions      One per document, a whole number from 0 to 65535: where the document of a training set was
 *                  displayed when it was clicked or not, for `debias`.
 *   labels         Further labels, 0 or more, at most RW_MAX_LABELS - 1 per document, for `label-weights`: a
 *                  document's lambda is the sum over its labels of the label's weight times the lambda of a training
 *                  on that label alone. Metrics see the first label only. A line has all of a document's.
 *   pairs-file     Pairs, from a file only (rw_dataset_set_pairs sets them from memory). A line has the query's id,
 *                  the numbers of the better and the worse document in the query, from 1, and a weight (1 if it is
 *                  missing); '#' begins a comment. */
/* values: [n][n_columns], where n is the number of documents or queries, and n_columns is 1 but for `labels`.
 * RW_ERR_DATA: n differs from that number, or a value is out of range; RW_ERR_ARGUMENT: unknown name. */
RW_API int rw_dataset_set_side_column(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *name,
                                      const double *values, size_t n, int n_columns);
RW_API int rw_dataset_read_side_column(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *name,
                                       const char *path);
/* The columns' names, i from 0; NULL past the end. */
RW_API const char *rw_side_column_name(int i);
/* Pairs that training is to rank right, in place of those that labels make (parameter 'pairs', given): of two
 * documents of one query the better and the worse one, by number in the data set, from 0, and the pair's weight, from 0
 * to 65536. RW_ERR_DATA: other documents or weights. */
struct rw_given_pair {
    uint32_t better, worse;
    double weight;
};
RW_API int rw_dataset_set_pairs(struct rw_ctx *ctx, struct rw_dataset *dataset,
                                const struct rw_given_pair *pairs, size_t n);

/* What a file is, as its first bytes (unpacked) tell: data, a model of ours, or one of other programs. */
struct rw_file_kind {
    const char *what; /* "LETOR text", "a model of LightGBM"; static; NULL: not known */
    const char *from; /* the format by which rw_model_import reads it; static; NULL: it does not */
    int is_model;     /* 1: a model of ours */
    int is_data;      /* 1: data, though some of it needs another form first */
};
/* Returns 1 if the file is recognised, and 0 (out: zeroed) if it is not, is not a plain file, or cannot be
 * read. */
RW_API int rw_file_recognise(struct rw_ctx *ctx, const char *path, struct rw_file_kind *out);

/* --- CSV and TSV: files whose names end in .csv or .tsv, also with .gz --- */
/* Which columns are what. A column is called by its name in the header, else by its number, from 1. All
 * columns but these are features: 0, 1, ... as they stand, or by name as `model` or `like` has them.
 * A model that is trained on such data has the header's names. */
struct rw_columns {
    const char *label; /* NULL: "label", if there is one */
    const char *qid;   /* the query's id; NULL: "qid", if there is one */
    const char *weight; /* a document's weight; NULL: all weigh 1 */
    const char *const *more_label; /* [n_more_labels] further labels (the side column `labels`), of training
                                      sets: where features are found by name, these columns are left out */
    int n_more_labels;
    const char *const *ignore; /* [n_ignore] left out: each a column, or a range of numbers, "3-7" */
    int n_ignore;
    int no_label; /* 1: labels are not read, but are 0 */
    int no_qid;   /* 1: without a column of query ids, all documents are of one query */
    const struct rw_model *model; /* NULL, or what will score the data: if its features have names, they
                                     are found by them, wherever they stand, and no others are read */
    int keep_others; /* 1: those that the model does not know are read, too, with ids behind its own */
    const struct rw_dataset *like; /* NULL, or data from a table, whose features are found by name */
    /* [n_features] in place of a model: feature i is the column feature[i]; "": there is no such feature */
    const char *const *feature;
    int n_features;
    const unsigned char *needed; /* [n_features] 1: a table without it is RW_ERR_DATA; NULL: all are 1 */
    /* NULL, or features whose values are categories, as parameter 'categorical' lists them; also of LETOR text, where
     * they are whole numbers from 0 to 2147483647. Those of `model` are read so in any case. */
    const char *categorical;
    const char *names; /* NULL, or the file of parameter 'names': what `categorical` may call LETOR's features */
};
/* How this context reads CSV and TSV, and categories, from now on; all is copied. NULL: as at first, which is all NULL and 0.
 * Where label, qid, weight or ignore are given, files of other names, and standard input, are read as tables,
 * too, if their first line has commas or tabs and no "qid:". */
RW_API int rw_ctx_set_columns(struct rw_ctx *ctx, const struct rw_columns *columns);
/* How many tables this context has opened. */
RW_API int rw_ctx_n_tables(const struct rw_ctx *ctx);

/* --- data that stands in memory: arrays, columns of data frames, sparse matrices --- */
enum rw_value_type {
    RW_VALUE_F32,
    RW_VALUE_F64,
    RW_VALUE_I8,
    RW_VALUE_I16,
    RW_VALUE_I32,
    RW_VALUE_I64,
    RW_VALUE_U8,
    RW_VALUE_U16,
    RW_VALUE_U32,
    RW_VALUE_U64,
    RW_VALUE_F16, /* IEEE 754's binary16 */
    RW_VALUE_BITS /* 0 or 1, a bit each, from the lowest bit of a byte on (Arrow's booleans) */
};
/* The values of one feature; they need not be aligned. */
struct rw_array {
    const void *data; /* the first value; RW_VALUE_BITS: the byte of bit 0 */
    enum rw_value_type type;
    ptrdiff_t stride;     /* bytes from one value to the next; negative and 0 are fine; not of bits */
    size_t bit;           /* RW_VALUE_BITS: the first value's bit, from `data` on */
    const uint8_t *valid; /* validity bits, packed as RW_VALUE_BITS are: where one is 0 the value is
                             missing, whatever it is; NULL: all are 1 */
    size_t valid_bit;     /* the first value's bit, from `valid` on */
    /* NULL: dense, [n_docs] values. Else sparse: value k is that of row index[k] of the table, and the
     * other rows' are absent. index: [n], in [0, n_docs), strictly ascending */
    const int32_t *index;
    uint32_t n; /* values of a sparse array */
};
/* The values of a table that come in batches, from files or a generator: the same documents in the same order
 * in every pass, however many in each batch. */
struct rw_batches {
    void *user; /* handed to both functions; a result other than 0 ends the call */
    /* Begins a pass, with the first document. */
    int (*rewind)(void *user);
    /* The next documents: *n_docs and their values, column: [n_columns], dense, of any type in any batch, and
     * borrowed until the next call. At the end *n_docs stays 0. */
    int (*next)(void *user, struct rw_array *column, uint32_t *n_docs);
};
/* Documents whose features are arrays: rows of a matrix or a data frame. */
struct rw_table {
    uint32_t n_docs, n_columns;
    const struct rw_array *column; /* [n_columns], or [n_chunks][n_columns] */
    const uint32_t *feature;       /* [n_columns] ids, strictly ascending; NULL: 0, 1, ... */
    /* 1: the ids are those that a model has for the columns of these names; columns that it does not have
     * take ids beyond its own. */
    int by_name;
    /* One more value that means missing, compared after rounding to float32; NaN: none. If it is 0, a
     * sparse column's absent values are missing, too, and take memory as a dense one's do. */
    float missing;
    const float *label; /* [n_docs], 0 or more; NULL: all are 0 */
    uint32_t n_queries;
    const uint32_t *query_offset; /* [n_queries + 1] first document of each query, and n_docs */
    /* The id of query q, ended by 0, is at query_id_text + query_id_offset[q]; all are different.
     * query_id_offset: [n_queries]. NULL: "0", "1", ... */
    const char *query_id_text;
    const uint64_t *query_id_offset;
    /* [n_docs]: document i is row order[i] of the table, each row once; NULL: row i. Labels, queries and
     * weights are by document. */
    const uint32_t *order;
    /* [n_columns], written unless the call fails: 1 where a whole number has no exact float32 (it is beyond
     * 2^24), so that different values may have become equal. NULL: the log gets a warning instead, which
     * names the first such feature. */
    uint8_t *inexact;
    /* More than 1: each column is in several arrays, of the same type and all dense, one for each chunk of
     * documents (Arrow's record batches). Chunk k's are documents chunk_offset[k] to chunk_offset[k + 1],
     * without the last; elements and validity bits count from the chunk's first document. */
    uint32_t n_chunks;
    const uint32_t *chunk_offset; /* [n_chunks + 1] ascending strictly, from 0 to n_docs; else not used */
    /* NULL, or what gives the values: `column` and chunks are not looked at then. */
    const struct rw_batches *batches;
};
/* A dataset of a table, of which nothing is borrowed afterwards. Values are rounded to float32; NaN is
 * missing, and -0 becomes 0. A dense column is a feature that all documents have; a sparse column without
 * any value does not appear.
 * RW_ERR_DATA: there are no documents or too many; feature ids, query or chunk offsets, labels, indices
 * or the order are not as above; a query id comes back (the message names it); a value is infinite, or too large
 * for float32 (the message has the first such row, from 0, and its feature). RW_ERR_ARGUMENT: there is no
 * such type, chunks of several types, a sparse column in chunks, or a NULL that must not be.
 * Batches are read in one pass: beside the values of the dataset, only a batch is in memory. RW_ERR_INTERRUPTED: a
 * function of `batches` ended it; RW_ERR_DATA: also where the batches do not have n_docs documents; RW_ERR_ARGUMENT: a
 * column is sparse, or the table has an order. */
RW_API int rw_dataset_from_table(struct rw_ctx *ctx, const struct rw_table *table,
                                 struct rw_dataset **out);
/* The same of one array. values: [n_docs][n_features], NaN = missing; labels: [n_docs]; query_offsets:
 * [n_queries + 1]. All copied. Feature ids are first_feature + column (from 0 on they are columns, rw_dataset_width),
 * query ids "1", "2", ... */
RW_API int rw_dataset_from_memory(struct rw_ctx *ctx, const float *values, const float *labels,
                                  const uint32_t *query_offsets, uint32_t n_docs,
                                  uint32_t n_features, uint32_t n_queries, uint32_t first_feature,
                                  struct rw_dataset **out);

/* --- tables of other programs, by Arrow's C data interface --- */
struct ArrowArrayStream; /* https://arrow.apache.org/docs/format/CStreamInterface.html */
struct ArrowSchema;      /* https://arrow.apache.org/docs/format/CDataInterface.html */
struct ArrowArray;
/* The record batches of a table. Columns stay where their producer put them; nothing is copied. */
struct rw_arrow {
    uint32_t n_docs, n_columns, n_chunks; /* n_chunks: batches that have documents, rw_table's */
    const char *const *name;              /* [n_columns] "" where a column has none */
    const uint32_t *chunk_offset;         /* [n_chunks + 1] rw_table's */
};
/* Reads all batches of a stream, or, if that is NULL, one batch with its schema. They are moved out of *stream,
 * or *schema and *batch, and released, also after a failure; what *out has of them, by rw_arrow_free. RW_ERR_DATA:
 * the stream fails (the message has its text), is not a table's or has a damaged batch; there are too many
 * documents. */
RW_API int rw_arrow_read(struct rw_ctx *ctx, struct ArrowArrayStream *stream,
                         struct ArrowSchema *schema, struct ArrowArray *batch,
                         struct rw_arrow **out);
RW_API void rw_arrow_free(struct rw_arrow *arrow);
/* The arrays of a column of numbers or booleans, in which nulls are not valid: chunk k's is written to
 * array[k * stride]. With a stride of rw_table.n_columns, array is a column of rw_table.column. The arrays
 * borrow from `arrow`. RW_ERR_DATA: the column has another type (the message names it) or is damaged. */
RW_API int rw_arrow_column(struct rw_ctx *ctx, const struct rw_arrow *arrow, uint32_t column,
                           struct rw_array *array, size_t stride);
/* Query ids, one for each run of documents with the same id: rw_table's, if no query comes back after
 * another. */
struct rw_arrow_ids {
    uint32_t n;
    uint32_t *offset;      /* [n + 1] first document of each run, and n_docs */
    char *text;            /* ids, each ended by 0: decimal, or a string's bytes */
    uint64_t *text_offset; /* [n] */
};
/* Of a column of integers or strings, dictionary-encoded or not; the arrays are arrow's until its next ids are
 * read. RW_ERR_DATA: another type, a null (the message has its document), an id with a character 0, no
 * documents, or a damaged column. */
RW_API int rw_arrow_ids_read(struct rw_ctx *ctx, struct rw_arrow *arrow, uint32_t column,
                             struct rw_arrow_ids *out);

/* A training set as training sees it: binned, with small codes in place of values. */
struct rw_binned;
/* Reads one, for rw_train_on with these `params` (their bins, absent, min-docs and device) and this `init`, or NULL. As
 * rw_dataset_read; but of one cache that has codes for these params nothing but those is kept, and LETOR
 * text with more than 262,144 documents is binned while it is read, from several passes over the files,
 * for training on the CPU: values are never in memory as a whole. A pipe is kept in a temporary file
 * (TMPDIR) for that. Of other input the values are kept until training bins them. With `init`, where nothing but codes
 * would be left, the model's scores are computed from the values in one more pass over the files; and with train-metric
 * on, or where training will be on a GPU, values are kept. */
RW_API int rw_binned_read(struct rw_ctx *ctx, const struct rw_params *params,
                          const struct rw_model *init, const char *const *paths, int n_paths,
                          struct rw_binned **out);
/* Bins a table for rw_train_on with these `params`; fails as rw_dataset_from_table does. Of the table
 * it keeps labels, query ids and codes: for up to 255 bins, a byte for each value of a dense column. Besides,
 * the work takes up to 12 MB a thread and, while a sparse column is read, 8 bytes for each of its values. But
 * for training on a GPU the values are kept, as float32.
 * Values that come in batches never are in memory as a whole, whatever the device: codes are made on the CPU. Up to 262,144 documents are read in
 * one pass, more in two: the values of about 262,144 documents, which decide the boundaries, are kept from the first
 * one. Besides, each thread has the values of 16,384 documents, in all at most 128 MB or one thread's. */
RW_API int rw_binned_from_table(struct rw_ctx *ctx, const struct rw_params *params,
                                const struct rw_table *table, struct rw_binned **out);
/* The documents: labels, queries, ids, comments, and weights, which may be set; but features only where
 * the values were kept. They are freed with the set. */
RW_API struct rw_dataset *rw_binned_documents(struct rw_binned *binned);
/* Features that appear at least once. */
RW_API uint32_t rw_binned_n_features(const struct rw_binned *binned);
RW_API void rw_binned_free(struct rw_binned *binned);
/* Reads a validation set for training on `train` with these `params`, as rw_dataset_read does; but where
 * training will be on a processor, and `train` has codes, the values are binned by its boundaries while they are
 * read, and not kept: such a set is for rw_train_on with `train`, which must outlive it. */
RW_API int rw_binned_read_valid(struct rw_ctx *ctx, const struct rw_params *params,
                                const struct rw_binned *train, const char *const *paths,
                                int n_paths, struct rw_dataset **out);
/* Cache of a dataset: everything that was read, weights and further labels that were set, and cuts and codes
 * for params' `bins` and `absent`, or, if some features have words, these; accepted wherever text is. Written
 * atomically. */
RW_API int rw_dataset_write_cache(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                  const struct rw_params *params, const char *path);

/* rw_dataset_read and rw_dataset_write_cache in one, to the same bytes; but of LETOR text with more than
 * 262,144 documents, with features that at least half of them have, the values go straight into the cache.
 * Further labels are read from the params' `labels`, if they name a file. Notes as when reading. */
RW_API int rw_dataset_cache_files(struct rw_ctx *ctx, const struct rw_params *params,
                                  const char *const *paths, int n_paths, const char *path);

/* --- made data --- */
struct rw_synth_options {
    const char *shape;  /* "mslr30k", "yahoo", "istella", "letor" */
    uint32_t n_queries; /* [1, 10^7] */
    uint64_t seed;
};
/* The set in memory, *out; or with `path` straight to a file, query by query, without holding the set: text, text.gz
 * (name ends in .gz) or cache (name ends in .rwb). The one that is not wanted is NULL. */
RW_API int rw_synth(struct rw_ctx *ctx, const struct rw_synth_options *options, const char *path,
                    struct rw_dataset **out);

/* --- scoring on a device --- */
/* A scorer (rankwood_score.h) for data sets on a device: "cpu", "cuda", "cuda:N" (GPUs count from 0), or
 * "auto", which goes to a GPU once the CPU is expected to need longer than opening one takes, and stays on
 * the CPU where there is none. Every device gives the same scores, to the bit. Opening a GPU takes a good
 * part of a second, so data in chunks is scored by one scorer. The first `n_trees` trees; 0 takes all. The
 * context stays borrowed until rw_scorer_free, the model only for the call. RW_ERR_ARGUMENT: no such device
 * is known, or the model has not so many trees; RW_ERR_UNSUPPORTED: the device is not there, or CUDA is not
 * built in. */
RW_API int rw_scorer_open(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                          const char *device, struct rw_scorer **out);
/* scores: [n_docs], written, the doubles of rw_predict; by any scorer, for one caller at a time. One that was
 * opened on a GPU uses the context of that call. RW_ERR_MEMORY: also where the GPU has too little (not under "auto"). */
RW_API int rw_scorer_run(struct rw_ctx *ctx, struct rw_scorer *scorer,
                         const struct rw_dataset *dataset, double *scores);
/* Is a value of rows that are to be scored infinite, which rw_dataset_from_table refuses? 1, and
 * where the first one is, by document; else 0. */
RW_API int rw_rows_infinite(struct rw_ctx *ctx, const float *values, uint32_t n_docs,
                            uint32_t n_features, uint32_t *doc, uint32_t *feature);
/* Takes some documents, as a data set of their own, and their scores, [n_docs]; both are borrowed for the
 * call. A result other than 0 ends the reading. */
typedef int rw_chunk_fn(void *user, const struct rw_dataset *chunk, const double *scores);
/* Reads files of any length in chunks: a bounded number of documents, or all of a cache, which is in memory at
 * once. A query may go on in the next chunk; one that comes back later is not noticed. Returns what `take`
 * returned last. scorer: NULL: there are no scores. Once the CPU is known to score, each thread does so with
 * the lines of text that it has read, and the chunk has no features. seen: [RW_FEATURE_IDS] 1 is written for
 * each feature that appears; NULL without a scorer. */
RW_API int rw_dataset_read_each(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                                struct rw_scorer *scorer, unsigned char *seen, rw_chunk_fn *take,
                                void *user);
/* --- parameters --- */
enum rw_param_type { RW_PARAM_INT, RW_PARAM_REAL, RW_PARAM_CHOICE, RW_PARAM_TEXT, RW_PARAM_SEED };
enum rw_param_role {
    RW_ROLE_TREES = 1,       /* growing trees alone reads it: it has no effect on a refit */
    RW_ROLE_LEAVES = 2,      /* leaf values depend on it, those of a refit, too */
    RW_ROLE_DATA = 4,        /* it names, or needs, a file, a column or a model besides features and labels */
    RW_ROLE_WEIGHTS = 8,     /* it names weights of documents or queries */
    RW_ROLE_TABLE = 16,      /* it is about the columns of CSV and TSV, and has no effect on other data */
    RW_ROLE_EVALUATION = 32, /* metrics depend on it */
    RW_ROLE_VALIDATION = 64, /* it is about metrics by round */
    RW_ROLE_MACHINE = 128    /* it changes no byte of a model */
};
struct rw_param_info {
    const char *name;     /* "leaves" */
    enum rw_param_type type;
    const char *default_value; /* as rw_params_set takes it */
    const char *range;    /* for a person: "2 to 65536"; for a choice its words: "exp|linear|FILE" */
    const char *help;     /* one line */
    const char *argument; /* "N", "X", "FILE", ... */
    int model; /* 1: shapes trees, stands in the model file; 2: the same, there if not the default */
    int roles; /* a sum of enum rw_param_role */
};
/* The i-th parameter; NULL past the end. */
RW_API const struct rw_param_info *rw_param_info(int i);
/* The file that the value of the i-th parameter names, which is read and so must not be written; NULL if
 * it names none. Valid until the next call on `params`. */
RW_API const char *rw_params_file(struct rw_params *params, int i);
/* The current value as text; NULL for an unknown name. Valid until the next call on `params`. */
RW_API const char *rw_params_get(struct rw_params *params, const char *name);
/* By whom was it set? */
enum rw_param_origin {
    RW_PARAM_DEFAULT, /* not set, or an unknown name */
    RW_PARAM_READ,    /* by rw_params_read, and not by rw_params_set after it */
    RW_PARAM_SET,     /* by rw_params_set, to its default */
    RW_PARAM_CHANGED  /* by rw_params_set, to another value: having no effect is reported */
};
RW_API enum rw_param_origin rw_params_origin(const struct rw_params *params, const char *name);
/* `name = value` lines, # comments. One file may serve several trainings: what has no effect in one
 * of them is not reported. */
RW_API int rw_params_read(struct rw_ctx *ctx, struct rw_params *params, const char *path);
/* Gives what is `auto` and shapes trees the value that a training takes on n_docs documents with n_features
 * features (those that appear) and n_valid validation sets, and says so in a note. rw_train does it by
 * itself: this is for several trainings that are to take the same. Models tell what was chosen from what
 * was set, as ever. RW_ERR_ARGUMENT: too great a depth for whole levels. */
RW_API int rw_params_resolve(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                             uint32_t n_features, int n_valid);
/* Writes what rw_params_read takes: all parameters but those that change no byte of a model (threads,
 * device, hist, batch). After rw_params_resolve, `rate = auto 0.05` is a rate that was chosen.
 * RW_ERR_ARGUMENT: a file's name that such a line cannot hold; RW_ERR_IO, RW_ERR_MACHINE: `out` could not be
 * written. */
RW_API int rw_params_write(struct rw_ctx *ctx, struct rw_params *params, FILE *out);
/* What parameters are for. */
enum rw_params_use {
    RW_PARAMS_TRAIN,
    RW_PARAMS_TRAIN_ALONE, /* a training without validation sets: asking for early stopping is an error, too */
    RW_PARAMS_MEASURE,     /* nothing is trained: those that measure are checked */
    RW_PARAMS_NO_TABLE     /* nothing is trained, and no data was CSV or TSV: those that name columns are reported */
};
/* Checks that the parameters do not contradict one another: RW_ERR_ARGUMENT. rw_train does it too. */
RW_API int rw_params_check(struct rw_ctx *ctx, const struct rw_params *params, enum rw_params_use use);
/* A parameter that has no effect under the others ("truncation" with pairs all) is a warning, once per parameter and
 * process, if rw_params_set gave it a value other than the default. It is at its default in the model. Trainings judge
 * their parameters when `auto` has become a value; rw_params_check judges those that measure. */
enum rw_no_effect {
    RW_NO_EFFECT_WARN,
    RW_NO_EFFECT_SILENT, /* for parameters that several trainings share */
    RW_NO_EFFECT_ERROR   /* RW_ERR_ARGUMENT in place of a warning */
};
/* What such a parameter is; RW_NO_EFFECT_WARN unless this was called. */
RW_API void rw_params_on_no_effect(struct rw_params *params, enum rw_no_effect how);
/* Reports that a parameter has no effect where only the caller knows it, for a reason such as "without a model", as
 * above: RW_OK, or RW_ERR_ARGUMENT. Other values than those that rw_params_set gave are not reported. */
RW_API int rw_params_no_effect(struct rw_ctx *ctx, const struct rw_params *params, const char *name,
                               const char *why);
/* Forgets which parameters were warned of: the next warnings of this process are given again. */
RW_API void rw_no_effect_again(void);
/* While the log function gets a warning of a parameter without effect: that parameter's name; else NULL. */
RW_API const char *rw_log_parameter(const struct rw_ctx *ctx);
/* The nearest known parameter to an unknown name (other trainers' names included: "num_leaves" gives
 * "leaves"); NULL if nothing is near. */
RW_API const char *rw_params_nearest(const char *name);
/* What a word of LightGBM, XGBoost, CatBoost, RankLib, QuickRank, YDF or scikit-learn is here. */
struct rw_alias {
    const char *parameter; /* NULL: the words are names; else values of this parameter of ours */
    const char *names;     /* the words, " num-leaves @lx max-leaves ": lower case, '-' for '_'; "@lxc": who lists
                            * the names behind it as parameters: LightGBM, XGBoost, CatBoost */
    const char *ours; /* a parameter or an option of the program; a value; NULL: there is none */
    const char *note; /* what is different, or why there is none: a hint; NULL: nothing to say */
};
/* The next row of the one table of them after `row` (NULL: the first one); NULL past the end. word: NULL for every row,
 * or one that the row has, in any case, with '_' or '-', as a name (`parameter` is NULL) or as a value of a parameter of
 * ours. A word may be in several rows of names: the one whose `ours` the caller knows is meant, else the one without
 * `ours`. A metric stands without its cutoff. */
RW_API const struct rw_alias *rw_alias_next(const struct rw_alias *row, const char *parameter, const char *word);
/* The nearest of `words` to a mistaken one, whose case, and '_' for '-', do not count; NULL if none
 * is near. */
RW_API const char *rw_word_nearest(const char *mistaken, const char *const *words, int n_words);

/* --- measuring --- */
enum rw_empty {
    RW_EMPTY_ZERO,
    RW_EMPTY_ONE,
    RW_EMPTY_SKIP
};                                           /* a query without a relevant document */
enum rw_ties { RW_TIES_FILE, RW_TIES_MEAN }; /* order of the input; mean over orders */
/* How rankings are measured: struct rw_eval_params how = RW_EVAL_DEFAULTS; how.metric =
 * "ndcg@5,map"; */
struct rw_eval_params {
    const char *metric; /* one or, with commas between them, at most 16 */
    enum rw_empty empty;
    enum rw_ties ties;
    const char *label_gain; /* "exp", "linear" or a file; NULL: exp, or what another program has */
    double relevant;        /* label from which a document is relevant */
    uint64_t seed;          /* of resampled queries and permuted features */
    /* NULL, or for rw_evaluate and rw_compare: another program, "lightgbm", that prints these metrics by its own
     * conventions: which gain, cutoffs, ties, weights, queries without a relevant document and labels it knows. Of
     * the members above only the metric and, where the program lets its user choose, `label_gain` matter then. */
    const char *like;
};
#define RW_EVAL_DEFAULTS                                           \
    {                                                              \
        "ndcg@10", RW_EMPTY_SKIP, RW_TIES_FILE, NULL, 1.0, 1, NULL \
    }
/* As these parameters measure; valid until the next call on `params`. `label_gain` is NULL unless
 * it was set. */
RW_API const struct rw_eval_params *rw_params_eval(struct rw_params *params);
/* The line that says what the metrics count by these parameters, into `buffer`, cut to `size`. RW_ERR_ARGUMENT:
 * rw_evaluate would refuse them, whatever the data. */
RW_API int rw_eval_conventions(struct rw_ctx *ctx, const struct rw_eval_params *how, char *buffer,
                               size_t size);
struct rw_eval_metric {
    const char *name;  /* "ndcg@10" */
    double mean;       /* over the queries that count, weighted */
    double ties_moved; /* mean with the other order of ties (reversed input order) minus `mean` */
    uint32_t n_counted; /* queries that count */
    const double *per_query; /* [n_queries], NaN where a query does not count */
};
struct rw_eval {
    int n_metrics;
    const struct rw_eval_metric *metrics; /* [n_metrics] */
    uint32_t n_queries, n_docs;
    uint32_t n_empty; /* queries in which nothing is relevant: the ideal is 0 */
    uint32_t n_single; /* queries of one document */
    const char *conventions; /* gain, discount, empty queries, ties: one line, as another program one a metric */
};
/* scores: [n_docs]. Freed by the caller. RW_ERR_ARGUMENT: no such metric, or `like` is no program or has no such
 * metric; RW_ERR_DATA: a label that it refuses. */
RW_API int rw_evaluate(struct rw_ctx *ctx, const struct rw_eval_params *how,
                       const struct rw_dataset *dataset, const double *scores,
                       struct rw_eval **out);
/* All of them side by side. */
struct rw_audit_row {
    const char *like;    /* "lightgbm"; "rankwood": by the parameters */
    const char *program; /* "LightGBM" */
    const char *metric;  /* "ndcg@10" */
    double mean;         /* NaN if no query counts, or if `refused` */
    uint32_t n_counted;
    const char *conventions; /* what it counts; "" if `refused` */
    const char *refused;     /* why there is no figure; NULL: there is one */
};
struct rw_audit {
    int n_rows;
    const struct rw_audit_row *rows; /* [n_rows] */
    uint32_t n_docs, n_queries;
    uint32_t n_empty;  /* no label over 0: nothing that any program would call relevant */
    uint32_t n_single; /* of one document */
    uint32_t n_tied;   /* documents of different labels have equal scores: the order of ties matters */
    /* Labels of at least two kinds that only fall, or only rise, in the order of the input: where a
     * program leaves ties in input order, constant scores measure best, or worst, there. */
    uint32_t n_falling, n_rising;
};
/* Fails where rw_evaluate fails; what only one program refuses is in its row. */
RW_API int rw_audit_new(struct rw_ctx *ctx, const struct rw_eval_params *how,
                        const struct rw_dataset *dataset, const double *scores,
                        struct rw_audit **out);
/* Scores of a file: one number a line, as many as there are documents; or those of a TREC run ("query Q0 document rank score tag" lines, the rank not looked at), told
 * by the first line. A run's documents are matched by query id and document id, as `predict --trec` writes
 * them: what the comment says, else the query's id, '-' and the position in the query from 1. RW_ERR_DATA:
 * a query of the data is not in the run, a document of the run not in the data's query, or there twice. */
struct rw_run_match {
    int is_run;
    uint32_t n_unranked; /* documents that the run leaves out: they stand behind all others, tied */
    uint32_t n_unknown;  /* lines of queries that the data has not: left out */
};
/* scores: [n_docs], written. match: written; may be NULL. */
RW_API int rw_dataset_read_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                  const char *path, double *scores, struct rw_run_match *match);

/* --- judgments and runs, of TREC files --- */
/* One run's documents. */
struct rw_qrels_run {
    const double *scores;  /* [n_docs] of the data set of it; -INFINITY: the run leaves the document out */
    uint64_t n_ranked;     /* documents of the judgments' queries */
    uint64_t n_unjudged;   /* of these, without a judgment */
    uint64_t n_unknown;    /* lines of queries without judgments: left out */
    uint32_t n_unanswered; /* queries with judgments of which the run has no document */
};
struct rw_qrels {
    /* Queries in the order of the judgments. Each has the documents that are judged, or that a run has, by
     * falling id; those without a judgment have label 0. There are no features. */
    const struct rw_dataset *dataset;
    uint64_t n_judged; /* documents with a judgment */
    int n_runs;
    const struct rw_qrels_run *runs; /* [n_runs] */
};
/* qrels: a file of "query iteration document label" lines; a label below 0 counts as 0. runs: [n_runs]
 * files of "query Q0 document rank score tag" lines. Blanks or tabs are between words; iteration, Q0, rank
 * and tag are not looked at, and lines come in any order. A document's id has at most 511 bytes.
 *
 * rw_evaluate, rw_compare and their kin take the data set with a run's scores: ideals and relevant documents
 * are of all documents, ranked or not; all else is of those that the run has. Documents of the same score
 * rank by falling id. A query of which the run has nothing counts as any other, and has 0 (`trec_eval -c`).
 *
 * RW_ERR_PARSE, RW_ERR_DATA: a line that is none, a document that is judged or ranked twice, no judgments, or a
 * run without any of their queries. Freed by the caller. */
RW_API int rw_qrels_read(struct rw_ctx *ctx, const char *qrels, const char *const *runs, int n_runs,
                        struct rw_qrels **out);

/* --- comparing --- */
/* Two rankings, a and b, of the same queries. */
struct rw_compared {
    const char *name; /* of the group; "" for all queries */
    uint32_t n_queries; /* that count; the rest of the fields is of these */
    double mean_a, mean_b, difference; /* b - a; NaN if no query counts */
    double low, high; /* 95 % bootstrap interval of the difference over queries; NaN under 2 queries */
    double p;         /* two-sided, of the paired randomisation test; 1 if no query differs */
    uint32_t n_wins, n_ties, n_losses; /* queries in which b is better, equal, worse */
};
struct rw_moved_query {
    uint32_t query;
    double a, b;
};
struct rw_comparison {
    const char *metric, *conventions;
    int lower_is_better;
    int n_samples; /* resamples, and patterns of signs (all 2^n of them up to 16 queries that differ) */
    double ties_moved_a, ties_moved_b; /* as in struct rw_eval_metric */
    struct rw_compared all;
    int n_groups;
    const struct rw_compared *groups; /* [n_groups] by name; queries without a group last, as "-" */
    int n_moved;
    const struct rw_moved_query *moved; /* [n_moved] queries that differ, most first, at most 1000 */
};
/* By one metric; the same seed gives the same figures
 * for any number of threads. groups: a file of "QUERY GROUP" lines, or NULL. Groups' p are not
 * corrected for there being several. RW_ERR_ARGUMENT, too, where the data is weighted and `like` is given: programs
 * differ in what weights do. */
RW_API int rw_compare(struct rw_ctx *ctx, const struct rw_eval_params *how,
                      const struct rw_dataset *dataset, const double *scores_a,
                      const double *scores_b, const char *groups, struct rw_comparison **out);
/* Of n tests' p, [n], those that Holm's step-down makes of them, in place: below a level, whichever,
 * they are wrong at all with at most that probability, however many tests there are (Holm 1979). */
RW_API int rw_holm(struct rw_ctx *ctx, double *p, int n);

/* --- smaller models --- */
enum rw_prune_order {
    RW_PRUNE_ANY, /* those that the metric misses least, wherever they stand */
    RW_PRUNE_LAST /* from the last one on: what is left is a beginning of the model */
};
struct rw_prune_row {
    int n_trees;
    uint64_t n_leaves, n_bytes;   /* of these trees; of the model's file */
    struct rw_compared compared; /* a: the whole model; b: what is left of it */
    /* RW_PRUNE_ANY: the difference that so few trees make in a half of the queries if those of the other half choose
     * them, in the mean of both halves; else NaN */
    double held_out;
};
struct rw_pruned {
    const char *metric, *conventions;
    int lower_is_better;
    int n_samples; /* of the interval */
    int n_rows, chosen; /* chosen: the row of `model`, from 0 */
    const struct rw_prune_row *rows; /* [n_rows] the whole model, then fewer and fewer trees */
    struct rw_model *model;
};
/* Drops trees, one after the other: by `order`, with RW_PRUNE_ANY in rounds, each of which measures the model
 * without each tree and drops the quarter that is missed least (of equals, the later tree). *out has the model
 * of the fewest trees by which the first metric of `how`, as rw_evaluate gives it, is worse by at most most_loss, 0 or
 * more; with RW_PRUNE_ANY not only on all queries, which chose the trees, but also held out (how's seed draws the
 * halves); and a table of some of the others. A tree of one leaf that is not 0, a base score, stays. RW_ERR_DATA: no
 * query counts, or with RW_PRUNE_ANY none of a half; RW_ERR_ARGUMENT: the model has no trees, or `how` several
 * metrics. */
RW_API int rw_prune(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_model *model, const struct rw_dataset *dataset,
                    double most_loss, enum rw_prune_order order, struct rw_pruned **out);

/* --- fewer features --- */
/* What a metric loses when one feature's values are shuffled among all documents (what is absent or
 * missing with them). */
struct rw_permuted {
    uint32_t feature;
    double loss;      /* mean over the repeats; positive: the feature helps, whichever way is better */
    double deviation; /* standard deviation over the repeats; NaN for one */
};
struct rw_select_row {
    uint32_t n_features;         /* that a model was trained on */
    int n_trees;                 /* 0: no tree could be made of them */
    struct rw_compared compared; /* on half of the validation set; a: of all features; b: of these */
    int is_within;               /* the loss is small enough */
};
struct rw_select_options {
    double most_loss; /* of the metric, 0 or more */
    int is_sure;      /* what may be so large is: 0: the difference; 1: the far end of its interval */
    int n_repeats;    /* permutations of each feature, 1 to 1000 */
    const struct rw_dataset *test; /* measured once, when all is chosen; NULL: none */
    void *user;
    /* Called with each row of the table once it is there, from 0; nonzero gives up (RW_ERR_INTERRUPTED). NULL: none */
    int (*on_row)(void *user, int number, const struct rw_select_row *row);
};
struct rw_selected {
    const char *metric, *conventions;
    int lower_is_better;
    int n_samples; /* of intervals */
    int n_rows, chosen; /* chosen: the row of `model`, from 0 */
    const struct rw_select_row *rows; /* [n_rows] all features, then what was tried, in that order */
    uint32_t n_features;
    /* [n_features] the chosen ones, those first that the model needs most: what the half of the validation set that
     * ranks loses with their values shuffled */
    const struct rw_permuted *features;
    const char *list; /* as the parameter `features` takes them: by names where the data has some, else ids */
    const struct rw_compared *test; /* as in a row, of the options' test set; NULL: there was none */
    struct rw_model *model;
};
/* The fewest features, of those found by trying, on which a training with the same parameters is worse by at
 * most most_loss than one on all, by the metric (one). Features are ranked by permutation, half of them are left out, and
 * a model is trained on the others; while the loss is small enough, the new model's features are ranked and halved
 * again, and then numbers between the last that was enough and the first that was not are tried. All of the
 * validation set stops trainings; one half of its queries, drawn by `seed`, ranks, the other tells what is lost, so that
 * nothing looks better for having been ranked by what measures it. It still chooses the number; `test` chooses nothing.
 * Trainings share codes that are made once. The model is that of a training with `features` set to the list, byte for
 * byte; results are the same for any number of threads. valid: with values (rw_dataset_read).
 * RW_ERR_DATA: no query of a half counts; RW_ERR_UNSUPPORTED: many workers, or a set has start scores; else fails as
 * rw_train does. */
RW_API int rw_select(struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_binned *train, const struct rw_dataset *valid,
                     const struct rw_select_options *options, struct rw_selected **out);

/* --- cross-validation by query --- */
struct rw_cv_fold {
    struct rw_model *model; /* never saw the fold */
    const struct rw_eval *eval; /* of the fold */
    uint32_t n_train, n_valid, n_test; /* queries */
};
struct rw_cv {
    int n_folds;
    const struct rw_cv_fold *folds; /* [n_folds] */
    const uint32_t *fold_of;        /* [n_queries] */
    const double *scores;           /* [n_docs] each by the model that never saw its query */
    const struct rw_eval *pooled;   /* of these scores, over all queries */
};
/* Trains a model a fold, on the other folds. Under early-stop the fold after it (the first after the last)
 * is left out of them and stops training: what is measured never decides. Uses all of params; what is
 * `auto` is chosen once, for the whole set (rw_params_resolve); folds are by `seed`. Small sets' folds are trained side by side; results do not depend on it. */
RW_API int rw_cross_validate(struct rw_ctx *ctx, const struct rw_params *params,
                             const struct rw_dataset *dataset, int n_folds, struct rw_cv **out);

/* --- what is wrong with data --- */
enum rw_identifies {
    RW_IDENTIFIES_NOTHING,
    RW_IDENTIFIES_DOCUMENT, /* whole numbers, nearly each document its own */
    RW_IDENTIFIES_QUERY,    /* whole numbers, the same in a query, nearly each query its own */
    RW_IDENTIFIES_LINE      /* as of documents, and only rising or only falling down the file */
};
/* A feature that appears. Absent ones count 0 here. */
struct rw_feature_check {
    uint32_t feature;
    double absent, missing; /* shares of the documents */
    float least, most;      /* of what is not missing; NaN if all is */
    uint32_t n_distinct;
    int constant;
    int32_t duplicate_of; /* the first feature with the same values; -1: none, or constant */
    int identifies;       /* enum rw_identifies */
    int orders_labels;    /* 1: sorted by it, labels are in order in every query (10 or more of them) */
    int by_words;         /* 1: of categories by words: `least` and `most` are NaN, their order means nothing */
    double drift; /* 0 to 1: largest difference of the distribution functions of the two sets, by words of a
                     category's shares of the documents, or of the shares missing; NaN without a second set,
                     or if one has words and the other numbers */
    /* Of categories, the one whose share differs most, and its shares in the first set and the second;
     * NULL: none does. */
    const char *moved;
    double moved_from, moved_to;
};
struct rw_finding {
    const char *kind; /* "split-queries" */
    const char *text; /* one line */
    int is_warning;   /* 0: good to know */
};
enum { RW_CHECK_LABELS = 64 };
struct rw_check {
    uint32_t n_docs, n_queries, n_features;
    uint32_t shortest, median, longest; /* documents of a query */
    uint32_t longest_query;
    uint32_t n_split;  /* query ids that come back after other queries */
    uint32_t n_empty;  /* queries without a label over 0 */
    uint32_t n_single; /* of one document */
    uint32_t n_alike;  /* of several documents, all with the same label over 0 */
    uint32_t n_mixed;  /* with different labels */
    uint32_t n_falling, n_rising; /* of these, sorted by label in the input */
    double falling_by_chance;     /* how many would be, each way, if their order were random */
    double constant_file, constant_mean; /* NDCG@10 of constant scores: ties in input order; averaged. NaN: no
                                            query counts */
    uint32_t n_twins;          /* documents with the values of one before it in the query */
    uint32_t n_contradictions; /* of these, with another label */
    float least_label, most_label;
    uint32_t n_labels;                   /* different ones; the first RW_CHECK_LABELS stand below */
    float label[RW_CHECK_LABELS];        /* rising */
    uint32_t label_docs[RW_CHECK_LABELS];
    /* of the second set; 0 without one */
    uint32_t n_other_docs, n_other_queries;
    uint32_t n_shared_queries; /* ids that both have */
    uint32_t n_shared_docs;    /* documents whose values both have */
    double label_drift;        /* NaN without a second set */
    const struct rw_feature_check *features; /* [n_features] by id */
    int n_findings;
    const struct rw_finding *findings; /* [n_findings] warnings first */
};
/* Reads the files as rw_dataset_read does, but for queries that come back, which are counted. against: a
 * second set, such as what the first one is tested on; n_against 0: none. */
RW_API int rw_check_new(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                        const char *const *against, int n_against, struct rw_check **out);
/* The longest query's id. */
RW_API const char *rw_check_longest(const struct rw_check *check);

/* ------------------------------------------------------------------ third stair: everything */

struct rw_metric_value {
    int set;          /* 0: training set, 1..: validation sets */
    const char *name; /* "ndcg@10" */
    double value;
};
struct rw_round {
    int round;        /* from 1 */
    int n_rounds;     /* the most there may be */
    int best_round;   /* 0 without a validation set */
    double best_value;
    int n_leaves;     /* of this round's tree */
    double ms;        /* this round, in all */
    double ms_lambdas, ms_histograms, ms_splits, ms_partition, ms_scores, ms_metrics;
    uint32_t n_docs;  /* of the training set */
    /* Bytes of codes that a GPU read of the host's memory for this tree, where they do not all fit its
     * own; those that histograms read, and the GPU's time for these. */
    uint64_t far_bytes, far_hist_bytes;
    double far_hist_ms;
    uint64_t bytes_sent; /* to other workers, by this one */
    /* The size that the model's file has at most if training ends with this round, and with the next. */
    uint64_t model_bytes, next_model_bytes;
    int n_metrics;
    const struct rw_metric_value *metrics; /* [n_metrics] */
};
/* A custom objective. gradients, hessians: [n_docs], to be written: the direction in which each score
 * should move (the negative derivative of the loss) and its weight >= 0. Nonzero gives up. */
typedef int (*rw_gradient_fn)(void *user, const struct rw_dataset *train, const double *scores,
                              double *gradients, double *hessians);
/* A custom metric of one set; nonzero gives up. */
typedef int (*rw_metric_fn)(void *user, const struct rw_dataset *dataset, const double *scores,
                            double *value);
/* What a training that was ended, in whatever way, is resumed from. Valid during the call. */
struct rw_resumed {
    const char *path;
    int round;      /* the last one that was run, as in struct rw_round, as are the two below */
    int best_round;
    double best_value;
    const char *note; /* of struct rw_checkpoints; "": none */
    int n_metrics;
    const struct rw_metric_value *metrics; /* [n_metrics] of which `value` is not set */
    const double *values;                  /* [round][n_metrics] */
};
/* A checkpoint is a file with the trees, the metrics and the best round until then, and what tells parameters
 * and data from others. A training that resumes from it, with the same parameters and data, ends with the model
 * of one that was never ended, byte for byte; its device and number of threads may be others, and `rounds`
 * may be more. Scores are made again from the trees, so gradients and metrics of the caller's must depend on
 * scores and data alone. RW_ERR_FORMAT: another version of the library wrote it, which the message names.
 * They are written beside training, by a thread of their own; one that cannot be written is a warning. The
 * last one is written when training ends: by itself, by should_stop, or by an error. A training that had ended
 * by itself gives its model again at once. */
struct rw_checkpoints {
    const char *path;     /* each replaces the one before it; NULL: none are written */
    int every_rounds;     /* one after so many rounds, or as soon as the last one is written; 0: by time */
    double every_seconds; /* the same by time; 0: 60, but 100 times what the last one took, if that is longer */
    const char *resume;   /* the file to resume from; NULL: training starts */
    int or_start;         /* 1: where there is no such file, training starts */
    /* Asked between rounds: a text, without a line's end, that the checkpoint keeps. NULL: none */
    const char *(*note)(void *user);
    /* Called once, before on_start, by a training that resumes. NULL: none */
    void (*on_resume)(void *user, const struct rw_resumed *resumed);
};
/* Sets every_rounds or every_seconds: "50" rounds, "30s", "10m" or "2h". RW_ERR_ARGUMENT: something else. */
RW_API int rw_checkpoints_set_every(struct rw_ctx *ctx, struct rw_checkpoints *checkpoints,
                                    const char *every);
/* What training with `debias` found of the positions at which documents were shown, or was given; after its last
 * round, which need not be the model's best one. */
struct rw_positions {
    int round; /* that many there were */
    int is_given; /* the propensities were */
    int n;
    const uint32_t *position; /* [n] those that have documents, ascending */
    const uint64_t *n_docs;   /* [n] documents of the training set, on all workers */
    /* [n] additive: what a document's score had on top of it; else NULL */
    const double *bias;
    /* [n] how likely a click is there, as a multiple of the first position's, from 1/1024 to 1024. ipw: t+ of
     * Unbiased LambdaMART; additive: exp(sigma (bias - the first one's)) */
    const double *propensity;
    const double *unclicked; /* [n] ipw: t-, the same of documents that were not clicked; else NULL */
};
struct rw_train_hooks {
    void *user; /* handed to every callback */
    /* Called once, before the first round, with the parameters that training takes: what was auto
     * has a value, but where it has no effect, and but for `hist`, whose methods are timed as
     * training goes on. Valid during the call. NULL: none */
    void (*on_start)(void *user, struct rw_params *used);
    /* 0 go on; else stop after it: the model counts as finished. NULL: none */
    int (*on_round)(void *user, const struct rw_round *round);
    void (*on_stage)(void *user, const char *stage, double ms, size_t peak_bytes); /* NULL: none */
    /* Asked between rounds: nonzero interrupts training, which keeps the best so far and says so in the
     * model (rw_model_info). NULL: never. */
    int (*should_stop)(void *user);
    rw_gradient_fn gradients; /* NULL: params' objective */
    rw_metric_fn metric;      /* NULL: params' metrics; else it stands first and stops training */
    const char *metric_name;
    int metric_lower_is_better;
    /* NULL: none. Where a training resumes, RW_ERR_ARGUMENT: its parameters are others; RW_ERR_DATA: its data
     * are; the message says which. RW_ERR_FORMAT: the file is cut or damaged. */
    const struct rw_checkpoints *checkpoints;
    /* Called once, after the last round of a training with `debias`. Valid during the call. NULL: none */
    void (*on_positions)(void *user, const struct rw_positions *found);
};
/* What training would take. */
struct rw_plan_part {
    const char *name; /* "codes"; static */
    uint64_t bytes;
};
struct rw_plan {
    char device[160];  /* "cpu", or "cuda:0, " and the GPU's name */
    int on_gpu;        /* bytes are the GPU's; else the host's */
    int n_threads;     /* that the host's part of the work would take */
    int n_parts;
    struct rw_plan_part part[12]; /* [n_parts] */
    uint64_t bytes;      /* their sum: what the engine holds while it trains */
    uint64_t most_bytes; /* the most at a time, with what loading and the first tree give back; 0 on the host */
    uint64_t free_bytes; /* of the GPU, or as many of them as `gpu-memory` allows; 0 on the host */
    uint64_t host_free_bytes; /* of the host that this process could get now, beside what it has, under its control
                                 groups' limits, too; 0: not known */
    uint64_t far_bytes;  /* page-locked memory of the host, for codes that do not fit the GPU */
    double link_rate;    /* bytes a second that cross to the GPU, as a rule measured; 0: no codes do */
    double tree_ms;      /* expected of a tree */
    /* By a model, of as many GPUs of one host, whether they are there or not: a tree, and what of that the GPUs
     * take to exchange histograms. 0 on the host. */
    struct rw_plan_many {
        int n_gpus;
        double tree_ms, exchange_ms;
    } many[3];
};
/* What rw_train_on of the same would take on the device that it would choose. Makes cuts, but allocates nothing on a
 * GPU. `init` and `hooks` are not looked at. RW_ERR_MEMORY: the GPU has too little memory (*out is filled). */
RW_API int rw_train_plan(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_training *training, struct rw_plan *out);

/* --- many workers: training on parts of the data, in several threads, processes or machines --- */
/* Each of n_workers workers makes the same calls with a context of its own and a part of the data of its own: the
 * documents of worker r follow those of worker r - 1, a part may be empty, and no query is in two of them. Reading
 * files gives a worker its part: plain text and caches are divided where queries begin; gzip, CSV and TSV are read
 * whole, each file by one worker; pipes cannot be read. A file of weights is for all workers' documents. Data in
 * memory is what the worker brings. The model, which every worker gets, is that of one worker with all the documents,
 * byte for byte.
 *
 * rw_binned_read, rw_binned_from_table, rw_train and its like are such calls, and so are
 * rw_dataset_read and rw_dataset_read_side_column: what fails on one worker fails on all of them, with one message
 * that names the worker. Everything else is a worker's own affair. */
struct rw_comm;
enum rw_comm_type { RW_COMM_U32, RW_COMM_U64 }; /* sums of signed integers wrap as two's complement */
enum rw_comm_op { RW_COMM_SUM, RW_COMM_MIN, RW_COMM_MAX };
/* What carries the bytes between the workers. All workers make the same calls in the same order, from one thread.
 * 0 is success; after anything else no more calls are made. Sizes may be beyond 2^31. */
struct rw_comm_functions {
    const char *name; /* for messages */
    int device; /* 1: buffers are a GPU's, and calls are enqueued on `stream`; 0: the host's, stream is NULL */
    /* buffer: [n], replaced by what all workers have together */
    int (*all_reduce)(void *user, void *buffer, size_t n, enum rw_comm_type type, enum rw_comm_op op,
                      void *stream);
    /* send: [n_workers][n_each]; recv: [n_each], the sums of this worker's part */
    int (*reduce_scatter)(void *user, const void *send, void *recv, size_t n_each,
                          enum rw_comm_type type, void *stream);
    /* send: [bytes]; recv: [n_workers][bytes] */
    int (*all_gather)(void *user, const void *send, void *recv, size_t bytes, void *stream);
    /* Bytes for each worker, worker after worker; n_send, n_recv: [n_workers]. The host's only. */
    int (*all_to_all)(void *user, const void *send, const size_t *n_send, void *recv,
                      const size_t *n_recv);
    /* This worker has failed: others that wait for it should fail, too. NULL: they will find out. */
    void (*abort)(void *user);
    /* 1: another worker has failed, and calls would fail. At once; asked by a worker that waits for something else, for
     * its GPU, say. NULL: not known. */
    int (*has_failed)(void *user);
};
/* `functions` is copied; its members and `user` are used until rw_comm_free. */
RW_API int rw_comm_new(struct rw_ctx *ctx, const struct rw_comm_functions *functions, void *user,
                       int worker, int n_workers, struct rw_comm **out);
/* One of those that come with the library, by name: "mpi", MPI_COMM_WORLD of a process that mpirun or srun has
 * started. RW_ERR_UNSUPPORTED: it is not installed (the message says what is missing). NULL: "mpi" where the
 * environment says that a launcher means this process to be one of several; else *out is NULL. */
RW_API int rw_comm_open(struct rw_ctx *ctx, const char *name, struct rw_comm **out);
/* After a failure that other workers may not know of (no call said that all of them do), those of "mpi" are ended, and
 * this process, too, by MPI_Abort: messages are to be printed before. */
RW_API void rw_comm_free(struct rw_comm *comm);
/* The context is this worker's from now on. comm: borrowed as long; NULL: one worker, as at first. */
RW_API int rw_ctx_set_comm(struct rw_ctx *ctx, struct rw_comm *comm);
/* Runs `body` once for each of n_workers workers, threads of this process, worker 0 on the calling thread and with `ctx`
 * itself; the others have contexts of their own, which log nothing, and all of them an equal share of the
 * threads. Returns the status of the lowest worker that failed, with its message in ctx. */
typedef int (*rw_worker_fn)(void *user, struct rw_ctx *ctx, int worker);
RW_API int rw_workers_run(struct rw_ctx *ctx, int n_workers, rw_worker_fn body, void *user);
/* Of the context's communicator; 1 and 0 without one. */
RW_API int rw_workers_count(const struct rw_ctx *ctx);
RW_API int rw_workers_number(const struct rw_ctx *ctx);
/* numbers: [n], replaced by their sums over all workers. */
RW_API int rw_workers_sum(struct rw_ctx *ctx, uint64_t *numbers, size_t n);
/* All workers come here with what became of something that each did by itself. If one failed, all of them do, with
 * its status and message; else returns `status`. */
RW_API int rw_workers_agree(struct rw_ctx *ctx, int status);
/* This worker ends without the others: their calls fail. Nothing happens if all of them know of a failure. */
RW_API void rw_workers_end(struct rw_ctx *ctx);
/* Is this device there, "cuda:1" for one? A worker of several whose device is "cuda" takes a GPU of its own, where
 * there are as many on its machine. Before data are read, which may take long; rw_binned_read asks, too.
 * RW_ERR_UNSUPPORTED: it is not, or CUDA is not built in or has no driver, which the message says. */
RW_API int rw_device_check(struct rw_ctx *ctx, const char *device);
/* Should this worker print the last failure? 1: it is this worker's own, which others cannot tell, or all know of it
 * and this is worker 0, or there is no other. */
RW_API int rw_workers_tells(const struct rw_ctx *ctx);

/* --- models --- */
/* How the data that a model was trained on counts its features. */
enum rw_columns_kind {
    RW_COLUMNS_UNKNOWN,  /* of a file before version 6 */
    RW_COLUMNS_NUMBERED, /* the columns of an array: features 0 to width - 1 */
    RW_COLUMNS_NAMED,    /* the same, and they have names */
    RW_COLUMNS_LETOR     /* ids of their own, as LETOR text has them, most often from 1 on */
};
struct rw_model_info {
    int best_round;  /* 0 if training had no validation set */
    int is_finished; /* 0: training was ended from outside (should_stop), and the model is the best until then */
    /* The trainings that the model comes from: one, or more where it went on from another model (rw_train_on). One
     * that went on with the same parameters, from a model whose rounds had all been run, is one training with it. */
    int n_runs;
    uint32_t n_categorical; /* features whose values are categories */
    enum rw_columns_kind columns;
    uint32_t width; /* columns; of ids one more than the greatest that training had; 0 of an unknown kind */
};
RW_API struct rw_model_info rw_model_info(const struct rw_model *model);
/* The i-th metric that was measured in training, "valid1 ndcg@10", and its value for the trees that were kept: of the
 * best round, else of the last one. NULL past the end. */
RW_API const char *rw_model_metric_at(const struct rw_model *model, int i, double *value);
/* What these functions return is a view of the model: zeroed if there is no such part. */
struct rw_run_param {
    char *name, *value;
    int is_auto; /* 1: the value was chosen by the size of the training set */
};
struct rw_run_view {
    int n_trees; /* that the training added */
    int n_params;
    const struct rw_run_param *params; /* [n_params] those that shape trees */
};
/* A training, the oldest first. run: in [0, n_runs). */
RW_API struct rw_run_view rw_model_run(const struct rw_model *model, int run);
struct rw_tree_view {
    int n_leaves;
    /* of nodes, [n_leaves - 1]; node 0 is the root */
    const int32_t *left, *right; /* >= 0: node; < 0: ~leaf */
    const uint32_t *feature;
    const float *cut; /* left when value <= cut; 0 if by_category */
    const uint8_t *missing_left; /* 1: a missing value goes left */
    const double *gain;
    /* 1: some of the feature's categories go left: rw_model_condition; NULL: of no node */
    const uint8_t *by_category;
    /* of leaves, [n_leaves] */
    const float *leaf;
    /* Documents; of an imported tree, what the other program counts, which may be weighted; NULL: not known */
    const double *docs;
};
/* tree: in [0, n_trees). */
RW_API struct rw_tree_view rw_model_tree(const struct rw_model *model, int tree);
/* What the node asks of its feature, for a person: "<= 0.5", "in {shoes, socks}" or "not in {shoes}", which
 * is so on the left. Into `buffer`, cut to `size`, of which 0 asks for the length alone. Returns the length. */
RW_API size_t rw_model_condition(const struct rw_model *model, int tree, int node, char *buffer,
                                 size_t size);
struct rw_categorical {
    uint32_t feature, n_words;
    char *const *words; /* [n_words] those that training gave a code of their own, by their bytes */
};
/* i: in [0, n_categorical). */
RW_API struct rw_categorical rw_model_categorical(const struct rw_model *model, uint32_t i);
/* A tree as indented text, or in the dot language. tree: in [0, n_trees); what is printed calls it by
 * its round, which is one more. */
RW_API int rw_model_show(struct rw_ctx *ctx, const struct rw_model *model, int tree, int dot,
                         FILE *out);
/* leaves: [n_docs][n_trees], written. */
RW_API int rw_predict_leaves(struct rw_ctx *ctx, const struct rw_model *model,
                             const struct rw_dataset *dataset, int n_trees, int32_t *leaves);
/* The text of a number, the shortest of what C's %.15g, %.16g and %.17g print that reads back as the same,
 * whatever the locale; returns its length. */
enum { RW_EXACT_ROOM = 32 };
RW_API int rw_exact_text(double value, char buffer[RW_EXACT_ROOM]);
/* A line of text for each document, made by all threads: its score, as rw_exact_text has it; scores: [n_docs]. NULL:
 * its leaves in the first n_trees trees, with a blank between them. */
struct rw_out_file;
RW_API int rw_score_lines(struct rw_ctx *ctx, const struct rw_model *model,
                          const struct rw_dataset *dataset, int n_trees, const double *scores,
                          struct rw_out_file *out);
/* Does a feature appear in the data? 1, 0. */
RW_API int rw_dataset_has_feature(const struct rw_dataset *dataset, uint32_t feature);
/* seen: [RW_FEATURE_IDS] 1 is written for each feature that appears. */
RW_API void rw_dataset_note_features(const struct rw_dataset *dataset, unsigned char *seen);

/* --- which data fits a model --- */
/* The columns of an array or a table, which are features 0 to width - 1; 0 of LETOR text, of a table that names ids
 * (rw_table.feature), and of columns that were found by the names of a model or another data set. */
RW_API uint32_t rw_dataset_width(const struct rw_dataset *dataset);
/* Does data fit a model? All that score, explain, measure, refit or continue a model ask this, and training asks it
 * of validation sets; calling it first gives the error before any work. RW_ERR_DATA:
 * - an array has another number of columns than the one that the model was trained on;
 * - an array is used with a model of ids 1 to m, unless it has m + 1 columns, which are ids 0 to m: give the ids
 *   (rw_table.feature, or first_feature);
 * - data of ids has one that is beyond the model's columns;
 * - both have names, and a feature that a tree asks for is called otherwise;
 * - the kind is not known, and a tree asks for a feature beyond the array. */
RW_API int rw_model_check_data(struct rw_ctx *ctx, const struct rw_model *model,
                               const struct rw_dataset *dataset);
/* The same of rows, as rw_scorer_rows takes them. */
RW_API int rw_model_check_rows(struct rw_ctx *ctx, const struct rw_model *model, uint32_t n_features,
                               uint32_t first_feature);
/* Warns of data that has been read to its end, n_docs documents with the features that seen, [RW_FEATURE_IDS], marks:
 * of 1,000 documents or more, if features that have 1 % or more of the model's gain each are in none of them. */
RW_API void rw_model_warn_lacking(struct rw_ctx *ctx, const struct rw_model *model,
                                  uint64_t n_docs, const unsigned char *seen);

/* --- why a score is what it is --- */
/* SHAP values: how much each feature moves a document's score away from the mean score, such that base
 * + values = score (Lundberg, Erion and Lee 2018, "path-dependent": where a split's feature is not
 * known, a document goes both ways, in the shares in which the documents do that the tree was trained
 * on).
 *
 * A tree counts the sampled documents of each of its leaves when it is trained or refitted, and a model
 * file keeps the counts. Models that an older version wrote, and imports from formats without counts,
 * have trees without them, also after --init; so do imported trees in which all counts are 0. Where no
 * document reached a split, each of its sides gets half. */
struct rw_explainer {
    uint32_t n_features;     /* that its trees ask for */
    const uint32_t *features; /* [n_features] their ids, rising */
    double base; /* the mean score by the counts: of the cover's documents, or of those that each tree was trained on */
    /* base + values differ from a score by no more than this: 2^-51 x (trees + (greatest depth + 4)^2) x the sum
     * over trees of the largest |leaf| */
    double bound;
};
/* Can the first n_trees trees (0: all) be explained by their own counts? A tree of one leaf always can. */
RW_API int rw_model_has_covers(const struct rw_model *model, int n_trees);
/* The first n_trees trees; 0: all. Needs neither model nor data afterwards; freed with rw_free. cover: NULL, for the
 * trees' own counts; or documents whose counts take their place. RW_ERR_DATA: `cover` has no documents;
 * RW_ERR_UNSUPPORTED: `cover` is NULL and a tree has no counts, or a tree is thousands of splits on different
 * features deep. */
RW_API int rw_explainer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                            const struct rw_dataset *cover, struct rw_explainer **out);
/* Of documents [begin, begin + n). values: [n][n_features], written; the same for any threads. leaves: NULL, or
 * [n][n_trees], written: the leaf of each tree. */
RW_API int rw_explainer_run(struct rw_ctx *ctx, const struct rw_explainer *explainer,
                            const struct rw_dataset *dataset, uint32_t begin, uint32_t n,
                            double *values, int32_t *leaves);

/* Features that the first n_trees trees (0: all) ask for, by id: returns how many there are; writes
 * at most `room`. By the first metric. *value: the metric of the data as it is. n_repeats: 1 to
 * 1000. Both are NaN if no query counts. */
RW_API int rw_permutation_importance(struct rw_ctx *ctx, const struct rw_eval_params *how,
                                     const struct rw_model *model, int n_trees,
                                     const struct rw_dataset *dataset, int n_repeats, double *value,
                                     struct rw_permuted *out, int room);

/* --- probabilities --- */
/* How rw_model_calibrate fits a map: struct rw_calibrate how = RW_CALIBRATE_DEFAULTS. */
struct rw_calibrate {
    const char *method; /* "isotonic" (pool adjacent violators) or "logistic" (Platt's) */
    double relevant;    /* for the probability that a label is at least this, [0, 1e9] */
    const char *device; /* that scores: "cpu", "cuda", "cuda:N", "auto"; NULL: "cpu" */
};
#define RW_CALIBRATE_DEFAULTS  \
    {                          \
        "isotonic", 1.0, "cpu" \
    }
/* How far probabilities p are from the truth y, which is 1 where a label is at least `relevant`, else 0; w are
 * the documents' weights. NaN: there is no figure. */
struct rw_calibration_figures {
    double log_loss; /* sum of -w log(p of what is so, at least 2^-50) / sum of w */
    double brier;    /* sum of w (p - y)^2 / sum of w */
    double error;    /* expected calibration error: sum over 10 bins [0, .1) ... [.9, 1] of p of |sum of w (y - p)|
                        / sum of w */
};
struct rw_calibrated {
    struct rw_calibration_figures before; /* of 1 / (1 + exp(-score)) */
    struct rw_calibration_figures fitted; /* of the map, on the documents that it was fitted to */
    /* Of maps fitted without the query that they are measured on: query q (from 0) is in part q modulo 5, and
     * measured by the map of the other parts. NaN for one query. */
    struct rw_calibration_figures held_out;
    int n_folds; /* the parts: 5, or fewer queries */
    uint32_t n_docs, n_queries, n_relevant;
};
/* RW_ERR_ARGUMENT: there is no such method, or label. rw_model_calibrate checks it too. */
RW_API int rw_calibrate_check(struct rw_ctx *ctx, const struct rw_calibrate *how);
/* A copy of a model with a map of its scores to probabilities (rw_model_calibration), fitted to the dataset's
 * labels: documents should not be those that it was trained on, whose scores are too good. Weights count. A map
 * that the model had is replaced, and a note says so; a map that is constant is warned of. The same bytes for any
 * number of threads. figures: NULL, or what the map is worth. RW_ERR_DATA: no document of weight is relevant, or all
 * are; fails as rw_scorer_open and rw_scorer_run do. */
RW_API int rw_model_calibrate(struct rw_ctx *ctx, const struct rw_model *model,
                              const struct rw_dataset *dataset, const struct rw_calibrate *how,
                              struct rw_calibrated *figures, struct rw_model **out);

/* --- all of it on one page --- */
struct rw_report_options {
    const char *title; /* NULL: "Ranking report" */
    const char *model_name, *data_name; /* shown as they are: paths, for example; NULL: not shown */
    const char *like; /* measure as this program does; NULL: by the parameters */
    int n_trees;      /* how many are drawn: the first ones, 0 to 100 */
    int n_repeats;    /* permutations of each feature, 0 (not asked) to 1000 */
};
/* Writes a web page on a model and how it ranks `dataset`: HTML that needs no other file and no
 * network, and runs no script. Whatever comes of names and files is shown as text. The first metric
 * is shown query by query; the same arguments give the same bytes for any number of threads. Warns,
 * through the log, of metrics that the order of ties moves. RW_ERR_DATA: the data has no documents;
 * RW_ERR_IO: `out` could not be written. */
RW_API int rw_report(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_model *model, const struct rw_dataset *dataset,
                     const struct rw_report_options *options, FILE *out);

/* --- models of other programs --- */
struct rw_model_format_info {
    const char *name;  /* "ranklib" */
    const char *about; /* one line */
    int imports;       /* 1: rw_model_import takes it */
    int by_set;        /* 1: features go by a feature set: rw_exchange's `featureset` and `name` are needed */
};
/* The i-th format; returns 0 past the end, else 1. */
RW_API int rw_model_format_at(int i, struct rw_model_format_info *out);
enum { RW_FEATURE_BASE_AUTO = -2 };
struct rw_exchange {
    const char *format; /* the nearest is named where there is none such */
    /* Which of our features has the format's first id: 0 or 1; -1: ids stay as they are, and a feature 0
     * cannot go where ids begin at 1; RW_FEATURE_BASE_AUTO: chosen, which a note says. Then, in export, it is 0
     * for a model that has a feature 0, else 1; in import, 0 where the format's ids begin at 0 and its columns
     * have names, as those of a table, else 1, as LETOR text counts. */
    int feature_base;
    int lossy; /* export: 1 leaves out, with a warning, what the format cannot say; 0 refuses it */
    /* Of formats by_set, else NULL. A file with the plugin's answer to GET _ltr/_featureset/NAME, and what the
     * model will be called there. A model with names of features finds them in the set; else feature_base is
     * the set's first, -1 being 1. RW_ERR_FORMAT: it is no feature set; RW_ERR_UNSUPPORTED: it lacks a feature
     * that trees ask for, which is named. */
    const char *featureset, *name;
};
/* Before a model is made: RW_ERR_ARGUMENT as rw_model_export would say of `how`. With `params`: could the model that
 * they train on `train`, from `init` (NULL: from nothing), be refused by rw_model_export, with RW_FEATURE_BASE_AUTO
 * and nothing left out? RW_ERR_UNSUPPORTED, in its words: some boundary of some feature, a direction of missing
 * values, a name, the trees of `init`. Then, of how, only `format` and `featureset` (NULL: names are not looked up)
 * are looked at. Not foreseen: trees deeper than the format's readers take, and cuts that part missing values from
 * all others. params NULL: so are `train` and `init`. */
RW_API int rw_exchange_check(struct rw_ctx *ctx, const struct rw_exchange *how,
                             const struct rw_params *params, const struct rw_binned *train,
                             const struct rw_model *init);
/* Writes a model for another program, so that each document goes to the same leaf of every tree there.
 * RW_ERR_UNSUPPORTED: the format cannot say so (tree, node and what are named): of categories, most formats say none,
 * some no words. Written whole or not at all. */
RW_API int rw_model_export(struct rw_ctx *ctx, const struct rw_model *model,
                           const struct rw_exchange *how, const char *path);
/* Takes in another program's model, which then scores floats as that program does: the same leaves; a
 * leaf that is no float is rounded to one, a base score becomes a first tree of one leaf, categories become words.
 * RW_ERR_FORMAT: damaged, or something (which is named) that our trees cannot do; RW_ERR_ARGUMENT: the format
 * is not there, or not read. path NULL: only this is checked. */
RW_API int rw_model_import(struct rw_ctx *ctx, const char *path, const struct rw_exchange *how,
                           struct rw_model **out);
struct rw_verify_by {
    const char *consumer; /* whose rules: "XGBoost"; static */
    char rules[192];      /* them, in words */
    int earlier;          /* 1: a version with a fault that has been mended since */
    uint32_t n_docs;
    /* Documents that go to another leaf in any tree, or whose score is further away than sums in the
     * consumer's width can be: trees x 2^-24 (double: 2^-53) x sum of |leaf|. */
    uint32_t n_differ;
    uint32_t doc;         /* the first of them */
    int tree, node;       /* from 1, from 0: where it parts; tree 0: in its score only */
    double most;          /* the largest difference of scores */
    uint64_t n_pairs;     /* pairs of documents of a query */
    uint64_t n_pairs_moved; /* that are in another order, or tied on one side only */
};
enum { RW_VERIFY_MOST = 4 };
struct rw_verify {
    int n;
    struct rw_verify_by by[RW_VERIFY_MOST]; /* [n] */
    int read_back; /* 1: what was scored was read from the file; 0: it is what was to be written */
};
/* Reads an exported file back and scores the data under the rules of those who will read it. */
RW_API int rw_model_verify(struct rw_ctx *ctx, const struct rw_model *model,
                           const struct rw_exchange *how, const char *path,
                           const struct rw_dataset *dataset, struct rw_verify *out);

/* --- files written whole or not at all, as those that the library writes --- */
/* 1: the two paths lead to one file, or would make one: neither exists, and folder and name are the same.
 * "-", devices and pipes are never the same file. */
RW_API int rw_same_file(const char *a, const char *b);
struct rw_out_file {
    FILE *file;             /* to write to */
    char *path, *temporary; /* owned; temporary NULL: written straight, a pipe or a device */
    uint64_t n_reserved;    /* bytes of the disk */
};
/* Opens PATH.tmp-PID beside `path`, or beside what a link there leads to; "-" is standard output. Such files that
 * killed processes left behind are removed first, but none that is being written, here or, where the file system
 * knows of locks, on another machine. A directory, a missing folder etc. is RW_ERR_IO now, before work is done.
 * out: NULL only asks whether it could be opened. */
RW_API int rw_out_file_open(struct rw_ctx *ctx, struct rw_out_file *out, const char *path);
/* Takes space on the disk for a file of so many bytes, where the file system can do it.
 * RW_ERR_MACHINE, RW_ERR_IO: there is none. */
RW_API int rw_out_file_reserve(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n_bytes);
/* It will be PATH with this suffix. */
RW_API int rw_out_file_rename(struct rw_ctx *ctx, struct rw_out_file *out, const char *suffix);
/* Flushes, syncs, renames; any failure (full disk) removes the temporary file. */
RW_API int rw_out_file_commit(struct rw_ctx *ctx, struct rw_out_file *out);
/* Removes what was written; fine after commit and on a zeroed struct. NULL: removes all temporary files of this
 * process and does nothing else, for the handler of a signal that ends it. */
RW_API void rw_out_file_abandon(struct rw_out_file *out);

/* --- measuring this machine --- */
enum rw_bench_kind {
    RW_BENCH_TEXT,
    RW_BENCH_INTEGER,
    RW_BENCH_REAL,
    RW_BENCH_NONE /* does not apply here: null */
};
struct rw_bench_field {
    const char *name; /* "median_ms" */
    enum rw_bench_kind kind;
    const char *text; /* RW_BENCH_TEXT */
    double number;    /* RW_BENCH_INTEGER, RW_BENCH_REAL */
    int decimals;     /* RW_BENCH_REAL: as many as are worth showing */
};
/* The rows of one table have the same fields. The first row is the only one of the table "device";
 * the last ones, of "bars", say which figures had to be reached, and were. */
struct rw_bench_row {
    const char *suite, *table;
    int n_fields;
    const struct rw_bench_field *field; /* [n_fields] */
};
/* Texts are valid during the call. 0: go on; else stop. */
typedef int (*rw_bench_row_fn)(void *user, const struct rw_bench_row *row);
/* One that is set, but changes nothing in the suite, is RW_ERR_ARGUMENT. */
struct rw_bench_options {
    const char *suite;  /* of "train": trees, grow, text, far or workers; NULL: the first */
    uint64_t seed;      /* of the made inputs */
    int quick;          /* 1: small inputs and few runs, to see that it works */
    const char *shape;  /* of all made data, as rw_synth has it; NULL: the suite's */
    uint32_t n_queries; /* of all made data, [1, 10^7]; 0: the suite's */
    uint32_t n_workers;   /* suite "workers": by how many besides one; 0: 2 */
    /* Those that were set replace the suite's; NULL: none. load: bins, threads; predict: threads. */
    struct rw_params *params;
};
/* Runs one suite of a bench, on made data. "train": trainings, on the device that params' `device` names. "load":
 * text and its cache, on the CPU, by one thread and by all that the context has, which keeps as many. "predict":
 * scores of dense documents in memory. RW_ERR_ARGUMENT: no such suite, the nearest is named; RW_ERR_INTERRUPTED:
 * `row` asked to stop; else fails as rw_train does. */
RW_API int rw_bench(struct rw_ctx *ctx, const char *bench, const struct rw_bench_options *options,
                    rw_bench_row_fn row, void *user);
/* What this machine is and has, and whether the engines agree on it, in a second or two and what opening each GPU
 * takes. A table has one row, but `gpu`, `check` and `auto`, which have as many as there are; a field that is not
 * known, or does not apply, is RW_BENCH_NONE.
 *   program    version, how it was built, and the system that it runs on
 *   cpu        its name, processors, what limits them (affinity, the control group's quota and its file, Slurm),
 *              threads of 'auto' and what decides them, instruction sets and the one that is taken
 *   memory     of the system; the control group's limit and its file; available to this process now
 *   cuda       the CUDA version of the build, and the oldest driver that serves it; the driver, and the newest CUDA
 *              version that it serves; CUDA_VISIBLE_DEVICES and RANKWOOD_TUNING; GPUs that are seen, and why there
 *              are none
 *   gpu        each of them: name, compute capability, memory, multiprocessors, shared memory that a block may ask
 *              for, the row of constants that is taken, and whether it was measured, clocks, whether it is a part (MIG)
 *   libraries  files of MPI's part and of NCCL, or why they are not there
 *   check      two trees each of made data on each instruction set and GPU: result is "ok" if the model's bytes are
 *              those of the reference, "differs: ..." or "failed: ...", or "not used: ..." of a GPU that is too old
 *   auto       for some sizes of data: milliseconds that a tree should take on the CPU and on a GPU, and the device
 *              that `auto` would take for it
 * *n_wrong: how many checks differ or failed. RW_ERR_INTERRUPTED: `row` asked to stop. */
RW_API int rw_doctor(struct rw_ctx *ctx, rw_bench_row_fn row, void *user, int *n_wrong);
/* How the library was built, in three lines for people: kind of build, compiler and processor; CUDA version and
 * architectures; the instruction sets of this processor, and the one that is taken. At most size - 1 bytes of it. */
RW_API void rw_build_text(char *text, size_t size);
#ifdef __cplusplus
}
#endif
#endif
