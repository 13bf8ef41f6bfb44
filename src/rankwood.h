/* Rankwood: gradient-boosted trees for ranking (LambdaMART). This header and rankwood_score.h,
 * which it includes, are the whole C interface. rankwood_score.h has contexts, errors, model
 * reading and row scoring, and the rules for both headers. The functions are in three parts:
 *
 * - First model: read data, train, save and score.
 * - Looking inside: data sets, GPU scoring, parameters, metrics, comparisons, pruning, feature
 *   selection, cross-validation, data checks.
 * - Everything: callbacks, checkpoints, workers, tree structure, SHAP values, calibration, reports,
 *   other formats, output files, benchmarks.
 *
 * LambdaMART: Burges, "From RankNet to LambdaRank to LambdaMART: An Overview", MSR-TR-2010-82.
 *
 * Further rules:
 * - The documents of a query are adjacent.
 * - A data set holds documents in order, their queries, labels and feature values. A model holds
 *   trees. Several threads may use the same data set or model at once, except while a call sets
 *   categories, side columns or pairs. Unless a comment says otherwise, other objects belong to one
 *   thread at a time, as their context does.
 * - A context has its own threads, which sleep while there is no work. In a child process after
 *   fork(), the contexts of the forking thread still work.
 * - Callbacks run in the default floating-point environment.
 * - A worker is one of several processes or threads that train one model together. A bin is a range
 *   of a feature's values. Training replaces each value by a code, the small number of its bin.
 * - A value is absent if the document does not list the feature, as in LETOR text and sparse
 *   arrays. It is missing if it is NaN.
 * - A query counts for a metric if the metric is defined for it (most metrics need a relevant
 *   document), or if enum rw_empty gives it a value. */
#ifndef RANKWOOD_H
#define RANKWOOD_H

#include <stdio.h>

#include "rankwood_score.h" /* contexts, errors, model reading, row scoring */

#ifdef __cplusplus
extern "C" {
#endif

/* Further limits. */
#define RW_MAX_BINS        1024  /* value bins per feature */
#define RW_MAX_LEAVES      65536 /* leaves per tree */
#define RW_MAX_WEIGHT      65536 /* weight of a document */
#define RW_MAX_START_SCORE 1e30  /* absolute start score of a document */
#define RW_MAX_POSITION    65535 /* displayed position of a document */
#define RW_MAX_LABELS      16    /* labels per document */
#define RW_MAX_DEVICE      255   /* N in "cuda:N" */
#define RW_MAX_WORKERS     65536 /* workers that train one model */

/* ---- first model: read, train, save, score ----
 *
 *     struct rw_dataset *train = NULL;
 *     struct rw_params *params = NULL;
 *     struct rw_model *model = NULL;
 *     const char *path = "train.txt";
 *     int failed = rw_dataset_read(ctx, &path, 1, &train) || rw_params_new(ctx, &params);
 *     failed = failed || rw_params_set(ctx, params, "rounds", "100");
 *     failed = failed || rw_train(ctx, params, train, NULL, 0, NULL, &model);
 *     failed = failed || rw_model_write(ctx, model, "model.txt");
 *     if (failed)
 *         fprintf(stderr, "%s\n", rw_last_error(ctx)); */

struct rw_dataset; /* documents, queries, labels, values, side columns */
struct rw_params;  /* parameters by name */

/* Reads paths: [n_paths] in order, as one data set. The contents identify LETOR text and
 * binned-data caches. The file name identifies CSV and TSV (rw_ctx_set_columns). Text may be
 * compressed with gzip. "-" is standard input. The caller frees *out with rw_dataset_free.
 * RW_ERR_IO: a file cannot be read. RW_ERR_PARSE: malformed text. RW_ERR_FORMAT: a damaged cache or
 * gzip file. RW_ERR_DATA: no documents, too many, or a query that reappears after other queries.
 * RW_ERR_ARGUMENT: no paths, or "-" twice. */
RW_API int rw_dataset_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                           struct rw_dataset **out);
RW_API void rw_dataset_free(struct rw_dataset *dataset);

/* Parameters have the names and values of the command line, such as "leaves" and "31". They start
 * at their defaults. "auto" lets Rankwood choose the value. The caller frees them with
 * rw_params_free. RW_ERR_ARGUMENT: unknown name, or invalid value. */
RW_API int rw_params_new(struct rw_ctx *ctx, struct rw_params **out);
RW_API int rw_params_set(struct rw_ctx *ctx, struct rw_params *params, const char *name,
                         const char *value);
/* Copies values and their origins (enum rw_param_origin). */
RW_API int rw_params_copy(struct rw_ctx *ctx, const struct rw_params *params,
                          struct rw_params **out);
RW_API void rw_params_free(struct rw_params *params);

struct rw_train_hooks;
/* Trains a model on `train`. valid: [n_valid] validation sets, or NULL if n_valid is 0. hooks: NULL
 * for no callbacks. The caller frees *out with rw_model_free.
 *
 * Early stopping: with `early-stop` above 0, the first metric on the first validation set stops
 * training, and the model ends at the round that `early-stop-rule` keeps. A validation set with the
 * same documents, labels, queries and values as the training set is skipped for this. If all
 * validation sets are skipped, training logs a warning. If `early-stop` is 0, or if no set stops
 * training, the model keeps all trees except trailing trees without a split.
 *
 * Parameters: `early-stop-rule` folds is refused here; rw_tune with one trial and folds chooses the
 * number of rounds and trains on all data. `threads`, if set, is applied to the context. rw_train
 * does not read the files of side columns, which `weights`, `query-weights`, `start-scores`,
 * `positions`, `labels` and `pairs-file` name (rw_dataset_read_side_column reads them). Features in
 * the file of `names` that the training set lacks cause a warning. So does `ignore` if it lists
 * only features that the training set lacks.
 *
 * RW_ERR_ARGUMENT: parameters contradict each other (rw_params_check), need a side column that the
 * training set lacks, or name features that the training set lacks. `ignore` and `names` may list
 * features that the training set lacks. `features` may too, if it also lists one that the training
 * set has. RW_ERR_DATA: no documents, an invalid label, a validation set that does not fit the
 * training set (by the rules of rw_model_check_data), or no tree could be split. Also if early
 * stopping cannot use the metric, because no query counts, or because the metric has the same value
 * for every ranking. */
RW_API int rw_train(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_dataset *train, const struct rw_dataset *const *valid,
                    int n_valid, const struct rw_train_hooks *hooks, struct rw_model **out);
/* Returns the number, from 1, of the validation set used for early stopping in the most recent
 * training run of this context; 0 if none was used. The value is set before on_start is called. */
RW_API int rw_ctx_stopping_valid_set(const struct rw_ctx *ctx);

/* The input of a training run. Unused members are NULL or 0. */
struct rw_training {
    const struct rw_dataset *train;        /* the training set, or NULL with `binned` */
    const struct rw_binned *binned;        /* the training set, binned (rw_binned_read), or NULL */
    const struct rw_dataset *const *valid; /* [n_valid] */
    int n_valid;
    const struct rw_model *init; /* a model to continue, trained here or imported */
    const struct rw_train_hooks *hooks;
};
/* Trains as rw_train does, also on a binned set or from an existing model. A binned set and a data
 * set with the same documents give identical models.
 *
 * Continuing: with `init`, training adds up to `rounds` trees and drops none of the existing ones.
 * With the same data and parameters and `early-stop` 0, the result is identical to that of one
 * longer training run. Features that `init` splits by category stay categorical and keep its
 * vocabulary. New categories of the training set get codes as long as unused codes remain. The
 * trees of `init` treat them as unknown. Important features of `init` that the training set lacks
 * cause a warning (rw_model_warn_lacking). RW_ERR_ARGUMENT: `init` treats absent features
 * differently, compares a categorical feature with thresholds, or violates `monotone` or
 * `interactions`. RW_ERR_DATA: `init` was continued too many times, or the training set does not
 * fit it (rw_model_check_data).
 *
 * Binned sets: `binned` must have been read for these params and this `init`, else RW_ERR_ARGUMENT.
 * Its validation sets come from rw_binned_read_valid, or have values (rw_dataset_read). On a GPU
 * the codes stay in GPU memory for the next training run, until the set is freed or other work
 * needs the memory. Several threads may train on one set at once, each with its own context. */
RW_API int rw_train_on(struct rw_ctx *ctx, const struct rw_params *params,
                       const struct rw_training *training, struct rw_model **out);

/* Recomputes the leaf values of a model on new data, and keeps its trees. Tree by tree, documents
 * follow the model's thresholds. Gradients are computed from the scores of the trees already
 * refitted. A leaf becomes refit-decay times its old value plus (1 - refit-decay) times the value
 * that training would give it. A leaf without documents keeps its value, but within the bounds of
 * monotone constraints. A tree of one leaf keeps its value.
 *
 * Parameters that affect leaf values and have origin RW_PARAM_DEFAULT get the values with which the
 * model was trained. An imported model does not record them, so they keep their defaults. On the
 * training data, with refit-decay 0 and without sampling, the leaves are identical to the model's.
 * The CPU does the work, whatever `device` is, and data sets must have values. Validation sets are
 * measured but never stop the refit, which keeps all trees. If on_round or should_stop returns
 * nonzero before the last tree, the refit returns RW_ERR_INTERRUPTED and no model. There are no
 * checkpoints.
 *
 * Parameters without effect in a refit are reported (enum rw_no_effect). RW_ERR_ARGUMENT: no tree
 * of the model has a split, a data set has codes instead of values, or `absent` is set and differs
 * from the model's value. Also if the model was trained with user gradients and neither hooks nor
 * `objective` replace them. RW_ERR_DATA: the trees use no feature of the data, or the data does not
 * fit the model (rw_model_check_data). Other errors are those of rw_train. */
RW_API int rw_refit(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_model *model, const struct rw_dataset *train,
                    const struct rw_dataset *const *valid, int n_valid,
                    const struct rw_train_hooks *hooks, struct rw_model **out);
/* Fills in the values that rw_refit would take from the model, so that the caller can read them.
 * The origin of these parameters remains RW_PARAM_DEFAULT. RW_ERR_ARGUMENT: the model was trained
 * with user gradients, and `objective` is not set. */
RW_API int rw_refit_params(struct rw_ctx *ctx, struct rw_params *params,
                           const struct rw_model *model);

/* Writes a model file. It writes a temporary file in the same folder and renames it, so that
 * readers see the whole file or the old one. */
RW_API int rw_model_write(struct rw_ctx *ctx, const struct rw_model *model, const char *path);
/* Writes a model to an open file and leaves it open. `name` is for messages. RW_ERR_IO,
 * RW_ERR_MACHINE: the write failed. */
RW_API int rw_model_write_file(struct rw_ctx *ctx, const struct rw_model *model, FILE *out,
                               const char *name);
/* Writes a model to memory. *out: [*n_bytes], followed by a zero byte. The caller frees it with
 * rw_free. */
RW_API int rw_model_write_memory(struct rw_ctx *ctx, const struct rw_model *model, char **out,
                                 size_t *n_bytes);
/* Frees a result whose type has no free function. These are model texts, and the results of
 * rw_evaluate, rw_audit_new, rw_compare, rw_qrels_read, rw_prune, rw_select, rw_cross_validate,
 * rw_check_new, rw_judge_new and rw_explainer_new. NULL is allowed. */
RW_API void rw_free(void *result);

/* Scores a data set with the first `n_trees` trees; 0 means all. scores: [n_docs], written.
 * RW_ERR_ARGUMENT: the model has fewer trees, or the data set has codes instead of values.
 * RW_ERR_DATA: the data does not fit the model (rw_model_check_data). */
RW_API int rw_predict(struct rw_ctx *ctx, const struct rw_model *model,
                      const struct rw_dataset *dataset, int n_trees, double *scores);
/* Scores a data set with each bag of a model alone (parameter `bags`). A bag's scores are those of
 * an independent training with the bag's seed, apart from rounding; their mean over the bags is the
 * score of the model. scores: [rw_model_n_bags][n_docs], written. RW_ERR_ARGUMENT: the model has
 * one bag, or an earlier training of it had another number of bags. Other errors are those of
 * rw_predict. */
RW_API int rw_predict_bags(struct rw_ctx *ctx, const struct rw_model *model,
                           const struct rw_dataset *dataset, double *scores);

/* ---- looking inside: data, parameters, metrics, selection ----
 *
 *     struct rw_eval_params how = RW_EVAL_DEFAULTS;
 *     struct rw_eval *eval = NULL;
 *     if (rw_evaluate(ctx, &how, dataset, scores, &eval) == RW_OK)
 *         printf("%s %.6f\n", eval->metrics[0].name, eval->metrics[0].mean);
 *     rw_free(eval); */

/* ---- data sets ---- */
RW_API uint32_t rw_dataset_n_docs(const struct rw_dataset *dataset);
RW_API uint32_t rw_dataset_n_queries(const struct rw_dataset *dataset);
/* Returns the number of features that appear at least once. */
RW_API uint32_t rw_dataset_n_features(const struct rw_dataset *dataset);
RW_API const float *rw_dataset_labels(const struct rw_dataset *dataset); /* [n_docs] */
/* Returns the first document of each query, then n_docs: [n_queries + 1]. */
RW_API const uint32_t *rw_dataset_query_offsets(const struct rw_dataset *dataset);
/* Returns the id of a query. query: its number, from 0. The data set owns the text. */
RW_API const char *rw_dataset_query_id(const struct rw_dataset *dataset, uint32_t query);
/* Returns the name of a feature, or "" if it has no name. Names come from the header of a CSV or
 * TSV file. Caches store them. */
RW_API const char *rw_dataset_feature_name(const struct rw_dataset *dataset, uint32_t feature);
/* Replaces the names: feature i is names[i]. names: [n], which is copied; n 0: no names.
 * RW_ERR_ARGUMENT: more names than features can have ids. */
RW_API int rw_dataset_set_names(struct rw_ctx *ctx, struct rw_dataset *dataset,
                                const char *const *names, uint32_t n);
/* Copies the document id to buffer: [size], truncated to fit and always terminated. The id is the
 * word after "docid =" or "docid:" in the comment at the end of the document's LETOR line, or
 * "". */
RW_API void rw_dataset_doc_id(const struct rw_dataset *dataset, uint32_t doc, char *buffer,
                              size_t size);
/* Copies the values of a feature. values: [n_docs], written. Missing values are NaN. Absent values,
 * and features that never appear, become `absent` (0 or NaN). */
RW_API void rw_dataset_feature(const struct rw_dataset *dataset, uint32_t feature, float absent,
                               float *values);

/* Makes a feature categorical, with a vocabulary (parameter `categorical`). Value i, a whole number
 * from 0, means words[i]. words: [n_words]; an empty word means missing. Data sets with
 * vocabularies match categories by word, even if their numbers differ. Training then treats the
 * feature as categorical without the parameter. A categorical feature without a vocabulary has
 * whole numbers from 0 to 16777216 as categories. Text files may have greater ones
 * (rw_columns.categorical). RW_ERR_DATA: a value is not a whole number below n_words.
 * RW_ERR_ARGUMENT: the feature has a vocabulary already, or the data set was read from a cache or
 * has no values. */
RW_API int rw_dataset_set_categories(struct rw_ctx *ctx, struct rw_dataset *dataset,
                                     uint32_t feature, const char *const *words, uint32_t n_words);

/* ---- side columns ----
 *
 * Side columns hold further data per document, query or pair. Each has the name of the parameter
 * that reads it from a file. Setting one again replaces it; `weights` and `query-weights` replace
 * each other, too. A file has one line per document (or query, or pair), for the documents of all
 * workers.
 *
 *   weights        One per document, 0 to 65536. They multiply lambdas. Metrics weight a query by
 *                  the mean weight of its documents.
 *   query-weights  One per query, 0 to 65536: the weight of each of its documents.
 *   start-scores   One per document, -1e30 to 1e30. Training starts from these scores, and so do
 *                  metrics of validation sets. LightGBM calls them init_score, XGBoost
 *                  base_margin. The model does not contain them. Add them to the scores of
 *                  rw_predict.
 *   positions      One per document, a whole number from 0 to 65535: the position at which a
 *                  document of the training set was displayed, clicked or not (for `debias`).
 *   labels         Further labels, 0 or more, at most RW_MAX_LABELS - 1 per document. With
 *                  `label-weights`, the lambda of a document is the weighted sum of its lambdas for
 *                  each label alone. Metrics use the first label only. A line has all further
 *                  labels of a document, the same number as the other lines.
 *   pairs-file     Pairs, from a file only (rw_dataset_set_pairs sets them from memory). A line has
 *                  the query id, the numbers of the better and the worse document in the query,
 *                  from 1, and a weight, 1 if it is omitted. '#' starts a comment.
 *
 * rw_dataset_set_side_column copies values: [n][n_columns]. n is the number of documents or
 * queries, and n_columns is 1 except for `labels`. RW_ERR_DATA: n or n_columns is wrong, or a value
 * is out of range. RW_ERR_ARGUMENT: unknown name, or `pairs-file`.
 *
 * rw_dataset_read_side_column reads any side column from the file `path`. RW_ERR_PARSE: a malformed
 * line, or a number out of range. RW_ERR_DATA: the number of lines is wrong, or the data lacks a
 * query of `pairs-file`. RW_ERR_ARGUMENT: unknown name. */
RW_API int rw_dataset_set_side_column(struct rw_ctx *ctx, struct rw_dataset *dataset,
                                      const char *name, const double *values, size_t n,
                                      int n_columns);
RW_API int rw_dataset_read_side_column(struct rw_ctx *ctx, struct rw_dataset *dataset,
                                       const char *name, const char *path);
/* Returns the number of numbers per document of a side column: 0 if the data set lacks it, or for
 * an unknown name or `pairs-file`. values: [n_docs][this number], written; NULL: not written.
 * `weights` and `query-weights` both have the weights of documents. */
RW_API int rw_dataset_side_column(const struct rw_dataset *dataset, const char *name,
                                  double *values);
/* Returns the name of the i-th side column, from 0; NULL past the end. */
RW_API const char *rw_side_column_name(int i);
/* A preference between two different documents of one query. */
struct rw_given_pair {
    uint32_t better, worse; /* document numbers in the data set, from 0 */
    double weight;          /* 0 to 65536 */
};
/* Sets pairs: [n], which are copied. If parameter `pairs` is "given", training uses them instead of
 * the pairs that labels imply. RW_ERR_DATA: a document or weight is invalid. */
RW_API int rw_dataset_set_pairs(struct rw_ctx *ctx, struct rw_dataset *dataset,
                                const struct rw_given_pair *pairs, size_t n);

/* The kind of a file, which its first 4096 bytes determine (of a gzip file, after unpacking). */
struct rw_file_kind {
    const char *what; /* "LETOR text", "a model of LightGBM", ...; static; NULL: not recognised */
    /* the format with which rw_model_import reads it; static; NULL: cannot import it */
    const char *from;
    int is_model; /* 1: a Rankwood model */
    int is_data;  /* 1: data, perhaps in a form that needs conversion first */
};
/* Returns 1 if the file is recognised. Returns 0 and zeroes *out if it is not, is no regular file,
 * or cannot be read. */
RW_API int rw_file_recognise(struct rw_ctx *ctx, const char *path, struct rw_file_kind *out);

/* ---- CSV and TSV: file names that end in .csv, .tsv, .csv.gz or .tsv.gz ----
 *
 *     struct rw_columns columns = {.label = "grade", .qid = "query"};
 *     int status = rw_ctx_set_columns(ctx, &columns);
 *     const char *path = "train.csv";
 *     status = status ? status : rw_dataset_read(ctx, &path, 1, &train); */
/* The role of each column. A column is given by its name in the header, or by its number from 1. A
 * table has a header, unless columns are given, all of them by number, and a field of the first
 * line is a number. Columns without a role are features. They get the ids 0, 1, ... in file order
 * or, by their names, the ids that `like`, `feature` or `model` defines. If several of these three
 * are set, the first in this order is used. A model trained on such data keeps the names of the
 * header. Unused members are NULL or 0. */
struct rw_columns {
    /* the labels; NULL: the column "label". RW_ERR_PARSE: no such column, unless no_label is 1 */
    const char *label;
    /* the query ids; NULL: the column "qid". RW_ERR_PARSE: no such column, unless no_qid is 1 */
    const char *qid;
    const char *weight; /* document weight; NULL: all weights are 1 */
    /* [n_more_labels] further labels of training sets (side column `labels`). If features are found
     * by name and keep_others is 0, these columns are skipped. */
    const char *const *more_label;
    int n_more_labels;
    /* [n_ignore] columns to skip, each a column or a range of numbers such as "3-7"; unused if
     * features are found by name and keep_others is 0 */
    const char *const *ignore;
    int n_ignore;
    int no_label; /* 1: read no labels (all are 0), no weights and no further labels */
    int no_qid;   /* 1: without a column of query ids, all documents form one query */
    /* The model that will score the data, or NULL. If all features that its trees use have names,
     * only columns with names of the model are read, in any order. RW_ERR_DATA: the table lacks a
     * feature that the trees use. */
    const struct rw_model *model;
    int keep_others; /* 1: also read columns unknown to the model, with ids after its own */
    /* A data set read from a table, or NULL. Its features are found by name. RW_ERR_DATA: the table
     * lacks one of them. */
    const struct rw_dataset *like;
    /* [n_features] Feature i is the column with the name feature[i]. "": feature i is not read.
     * NULL: `model` or the file order defines the ids. */
    const char *const *feature;
    int n_features;
    /* [n_features] 1: RW_ERR_DATA if the table lacks column feature[i]; NULL: all are 1 */
    const unsigned char *needed;
    /* Categorical features, in the form of parameter `categorical`, or NULL. In LETOR text their
     * values are whole numbers from 0 to 2147483647. Categorical features of `model` are always
     * read as such. */
    const char *categorical;
    const char *names; /* the file of parameter `names`, for names in `categorical`; or NULL */
    /* A column with a text for each query, such as its words or its time, or NULL. Tables may lack
     * it. rw_dataset_query_groups and rw_dataset_split_time use it. */
    const char *query_text;
};
/* Sets how this context reads tables and categories; copies its argument. NULL restores the
 * default, in which every member is NULL or 0. If label, qid, weight, more_label or ignore is set,
 * files with other names, and standard input, may be tables, too. They are if their first line has
 * commas or tabs, does not start with '#' and has no "qid:". */
RW_API int rw_ctx_set_columns(struct rw_ctx *ctx, const struct rw_columns *columns);
/* Returns the number of tables that this context has opened. */
RW_API int rw_ctx_n_tables(const struct rw_ctx *ctx);

/* ---- data in memory: arrays, data-frame columns, sparse matrices ----
 *
 * Two queries, of two documents and one, with two features:
 *
 *     const float values[3][2] = {{1, 20}, {0, NAN}, {1, 5}};
 *     const float labels[3] = {2, 0, 1};
 *     const uint32_t offsets[3] = {0, 2, 3};
 *     int status = rw_dataset_from_memory(ctx, values[0], labels, offsets, 3, 2, 2, 0, &train); */
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
    RW_VALUE_F16, /* IEEE 754 binary16 */
    RW_VALUE_BITS /* 0 or 1, one bit each, lowest bit of a byte first (Arrow booleans) */
};
/* The values of one feature, in memory of any alignment. */
struct rw_array {
    const void *data; /* the first value; RW_VALUE_BITS: the byte with bit 0 */
    enum rw_value_type type;
    ptrdiff_t stride; /* bytes from one value to the next, may be 0 or negative; unused for bits */
    size_t bit;       /* RW_VALUE_BITS: the bit of the first value, counted from `data` */
    /* Validity bits, packed as RW_VALUE_BITS. A value with bit 0 is missing. NULL: all are
     * valid. */
    const uint8_t *valid;
    size_t valid_bit; /* the validity bit of the first value, counted from `valid` */
    /* NULL: dense, [n_docs] values. Otherwise sparse: value k is in row index[k] of the table, and
     * other rows are absent. index: [n], strictly ascending, each in [0, n_docs). */
    const int32_t *index;
    uint32_t n; /* number of values of a sparse array */
};
/* A source that delivers a table's values in batches, for example from files or a generator. Every
 * pass must return the same documents in the same order. Batch sizes may vary. */
struct rw_batches {
    void *user; /* passed to both functions, which return nonzero to end the call */
    /* Starts a pass at the first document. */
    int (*rewind)(void *user);
    /* Returns the next *n_docs documents. column: [n_columns], dense, of any type in each batch,
     * borrowed until the next call. At the end, *n_docs stays 0. */
    int (*next)(void *user, struct rw_array *column, uint32_t *n_docs);
};
/* Documents whose features are arrays: rows of a matrix or a data frame. */
struct rw_table {
    uint32_t n_docs, n_columns;
    const struct rw_array *column; /* [n_columns], or [n_chunks][n_columns] */
    const uint32_t *feature; /* [n_columns] feature ids, strictly ascending; NULL: 0, 1, ... */
    /* 1: the caller found the columns by the names of a model, so the ids are the model's; columns
     * unknown to the model have ids after its own */
    int by_name;
    /* A further value that means missing, compared after rounding to float32. NaN: no such value.
     * With 0, absent values of sparse columns are missing too, and the column takes as much memory
     * as a dense one. */
    float missing;
    const float *label; /* [n_docs], 0 or more; NULL: all are 0 */
    uint32_t n_queries;
    const uint32_t *query_offset; /* [n_queries + 1] first document of each query, then n_docs */
    /* Query ids, all different. Id q is the zero-terminated text at query_id_text +
     * query_id_offset[q]. query_id_offset: [n_queries]; if it is NULL, the ids are "0", "1", ... */
    const char *query_id_text;
    const uint64_t *query_id_offset;
    /* [n_docs] Document i is row order[i] of the table, each row once. NULL: row i. Labels, queries
     * and weights are in document order. */
    const uint32_t *order;
    /* [n_columns], written on success. 1: the column has a whole number beyond 2^24 that float32
     * cannot represent exactly, so different values may have become equal. NULL: the call logs a
     * warning with the first such feature. */
    uint8_t *inexact;
    /* Above 1: each column consists of several dense arrays of one type, one per chunk of documents
     * (as Arrow record batches do). Chunk k starts at document chunk_offset[k] and ends before
     * chunk_offset[k + 1]. Values and validity bits count from the first document of the chunk. */
    uint32_t n_chunks;
    /* [n_chunks + 1] strictly ascending from 0 to n_docs; unused for one chunk */
    const uint32_t *chunk_offset;
    /* the source of the values, in place of `column` and chunks; or NULL */
    const struct rw_batches *batches;
};
/* Makes a data set from a table, and copies everything. Values are rounded to float32. NaN means
 * missing, and -0 becomes 0. A dense column has no absent values. The feature of a sparse column
 * without values does not appear. Batches are read in one pass, and only one of them is in memory
 * next to the data set.
 *
 * RW_ERR_DATA: the table has no documents (unless there are several workers) or too many; feature
 * ids, offsets, labels, indices or the order break the rules of struct rw_table; a query id is
 * repeated (the message names it); a value is infinite or too large for float32 (the message names
 * the first row, from 0, and its feature); or the batches do not have n_docs documents.
 * RW_ERR_ARGUMENT: an unknown type, chunks of several types, a sparse column in chunks or batches,
 * an order with batches, or an invalid NULL. RW_ERR_INTERRUPTED: a function of `batches` ended the
 * call. */
RW_API int rw_dataset_from_table(struct rw_ctx *ctx, const struct rw_table *table,
                                 struct rw_dataset **out);
/* Makes a data set from one array, and copies everything. values: [n_docs][n_features], NaN is
 * missing. labels: [n_docs]. query_offsets: [n_queries + 1]. Column i is feature first_feature + i.
 * When the data set is matched with a model (rw_model_check_data), it counts as an array of
 * n_features columns if first_feature is 0, else as data with explicit ids. Query ids are "1", "2",
 * ...
 * Errors are those of rw_dataset_from_table. RW_ERR_DATA: also for an id above RW_MAX_FEATURE. */
RW_API int rw_dataset_from_memory(struct rw_ctx *ctx, const float *values, const float *labels,
                                  const uint32_t *query_offsets, uint32_t n_docs,
                                  uint32_t n_features, uint32_t n_queries, uint32_t first_feature,
                                  struct rw_dataset **out);

/* ---- tables of other programs, through Arrow's C data interface ---- */
struct ArrowArrayStream; /* https://arrow.apache.org/docs/format/CStreamInterface.html */
struct ArrowSchema;      /* https://arrow.apache.org/docs/format/CDataInterface.html */
struct ArrowArray;
/* The record batches of a table. Columns stay in the producer's memory and are not copied. */
struct rw_arrow {
    uint32_t n_docs, n_columns, n_chunks; /* n_chunks: batches that have documents */
    const char *const *name;              /* [n_columns] "" for a column without a name */
    const uint32_t *chunk_offset;         /* [n_chunks + 1] as in rw_table */
};
/* Reads all batches of `stream` or, if it is NULL, the single `batch` with its `schema`. Takes
 * ownership of these three, also on failure; rw_arrow_free releases the memory. RW_ERR_DATA: the
 * stream fails (the message includes its error text) or is not a table, a batch is damaged, or
 * there are too many documents. */
RW_API int rw_arrow_read(struct rw_ctx *ctx, struct ArrowArrayStream *stream,
                         struct ArrowSchema *schema, struct ArrowArray *batch,
                         struct rw_arrow **out);
RW_API void rw_arrow_free(struct rw_arrow *arrow);
/* Returns the arrays of a column of numbers or booleans; nulls are marked as not valid. Chunk k is
 * written to array[k * stride]. To fill column i of a table, pass &rw_table.column[i] and stride
 * rw_table.n_columns. The arrays borrow from `arrow`. RW_ERR_DATA: the column is damaged or has
 * another type (the message names it). */
RW_API int rw_arrow_column(struct rw_ctx *ctx, const struct rw_arrow *arrow, uint32_t column,
                           struct rw_array *array, size_t stride);
/* Query ids, one per run of documents with the same id. They can be the query ids of a rw_table if
 * each id forms a single run. */
struct rw_arrow_ids {
    uint32_t n;
    uint32_t *offset;      /* [n + 1] first document of each run, then n_docs */
    char *text;            /* ids, zero-terminated: decimal numbers, or the bytes of strings */
    uint64_t *text_offset; /* [n] */
};
/* Reads the ids of a column of integers or strings, also dictionary-encoded. The arrays belong to
 * `arrow` and are valid until its next ids are read. RW_ERR_DATA: another type, a null (the message
 * names its document), a zero character in an id, no documents, or a damaged column. */
RW_API int rw_arrow_ids_read(struct rw_ctx *ctx, struct rw_arrow *arrow, uint32_t column,
                             struct rw_arrow_ids *out);

/* A training set with bin codes, or with values that training bins. */
struct rw_binned;
/* Reads files as rw_dataset_read does, and bins them for rw_train_on with these `params` (bins,
 * absent, min-docs, device, categorical) and this `init` (or NULL). The first rule that applies
 * decides whether the set has codes or values:
 *
 * - With `categorical`, it has values, because training makes codes of categories. With
 *   `early-stop-rule` folds, it has values, because rw_tune needs them.
 * - With `init`, it has values if `train-metric` is on, if training may run on a GPU, if
 *   `start-scores` names a file, if `init` has categorical features, or if a cache comes from a
 *   pipe. Training may run on a GPU if `device` is a GPU, or is "auto" and there is one.
 * - From a single cache that has codes for these params, it has only these codes.
 * - LETOR text with more than about 270,000 documents is binned in several passes, unless training
 *   may run on a GPU. With several workers, all LETOR text is binned in this way. The set has only
 *   codes, and the values are never in memory as a whole. A pipe is saved to a temporary file
 *   (TMPDIR) first.
 * - Otherwise it has values.
 *
 * With `init` and only codes, one more pass over the files computes the scores of `init`. The
 * caller frees *out with rw_binned_free. */
RW_API int rw_binned_read(struct rw_ctx *ctx, const struct rw_params *params,
                          const struct rw_model *init, const char *const *paths, int n_paths,
                          struct rw_binned **out);
/* Bins a table for rw_train_on with these `params`. Errors are those of rw_dataset_from_table. The
 * first rule that applies decides whether the set has codes or values:
 *
 * - With `categorical`, it has the values as float32, because training makes codes of categories.
 * - Batches are binned on the CPU, for every device. The set has only labels, query ids and codes,
 *   and the values are never in memory as a whole. Up to 262,144 documents take one pass and more
 *   take two. The first pass keeps the values of about 262,144 documents, which decide the bin
 *   boundaries. In addition, each thread holds the values of 16,384 documents. All threads together
 *   hold at most 128 MiB of these, or one thread's values if those are larger.
 * - With several workers, a copy of the values exists until they are binned. The set then has only
 *   labels, query ids and codes.
 * - If training may run on a GPU, it has the values as float32.
 * - Otherwise it has only labels, query ids and codes: 1 byte per value of a dense column for up to
 *   255 bins. The work takes up to 12 MB per thread, plus 8 bytes per value while a sparse column
 *   is read. */
RW_API int rw_binned_from_table(struct rw_ctx *ctx, const struct rw_params *params,
                                const struct rw_table *table, struct rw_binned **out);
/* Returns the documents: labels, queries and their ids, comments, and side columns, which the
 * caller may set. They have features only if the set has values. The binned set owns the result. */
RW_API struct rw_dataset *rw_binned_documents(struct rw_binned *binned);
/* Returns the number of features that appear at least once. */
RW_API uint32_t rw_binned_n_features(const struct rw_binned *binned);
RW_API void rw_binned_free(struct rw_binned *binned);
/* Reads a validation set for training on `train` with these `params`, as rw_dataset_read does. If
 * `train` has codes and training cannot run on a GPU, the values are binned while they are read,
 * and not kept. Such a set works only in rw_train_on with `train`, which must outlive it. */
RW_API int rw_binned_read_valid(struct rw_ctx *ctx, const struct rw_params *params,
                                const struct rw_binned *train, const char *const *paths,
                                int n_paths, struct rw_dataset **out);
/* Writes a binned-data cache, which every command and function accepts in place of text. It has the
 * data, and of the side columns only weights and further labels. It also has bin boundaries and
 * codes for `bins` and `absent` of params. If features have vocabularies, it has these in place of
 * boundaries and codes. The file is written as a whole or not at all. */
RW_API int rw_dataset_write_cache(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                  const struct rw_params *params, const char *path);

/* Does rw_dataset_read and rw_dataset_write_cache in one call, with an identical result. Values of
 * LETOR text with more than about 270,000 documents go directly to the file, if `categorical` is
 * not set and at least half of the documents have each feature. Further labels come from the file
 * of parameter `labels`, if set. Logs the same notes as rw_dataset_read. RW_ERR_ARGUMENT: several
 * workers, `path` is an input file, or the data lacks a feature of rw_columns.categorical. */
RW_API int rw_dataset_cache_files(struct rw_ctx *ctx, const struct rw_params *params,
                                  const char *const *paths, int n_paths, const char *path);

/* ---- generated data ---- */
struct rw_synth_options {
    const char *shape;  /* "mslr30k", "yahoo", "istella" or "letor" */
    uint32_t n_queries; /* 1 to 10^7 */
    uint64_t seed;
};
/* Generates a data set in memory, *out. Or, with `path`, writes it to a file. Text and gzip text
 * (.gz) are written query by query; a cache (.rwb) is made in memory first. Either `path` or `out`
 * is NULL. RW_ERR_ARGUMENT: unknown shape, n_queries out of range, or more than RW_MAX_DOCS
 * documents. */
RW_API int rw_synth(struct rw_ctx *ctx, const struct rw_synth_options *options, const char *path,
                    struct rw_dataset **out);

/* ---- scoring on a device ---- */
/* Opens a scorer (rankwood_score.h) for data sets on a device: "cpu", "cuda", "cuda:N" (from 0) or
 * "auto". A scorer on "auto" starts on the CPU. It adds up the estimated CPU time of its runs. When
 * a run brings the sum above the time to open a GPU, the scorer opens one, if there is one. If the
 * GPU is expected to be faster for this run, it is used from this run on, until its memory does not
 * suffice for a run. Otherwise the scorer stays on the CPU. Every device gives identical scores.
 * Opening a GPU can take most of a second, so use one scorer for all chunks. The first `n_trees`
 * trees are used; 0 means all. The context is borrowed until rw_scorer_free, the model only for the
 * call. RW_ERR_ARGUMENT: unknown device, or the model has fewer trees. RW_ERR_UNSUPPORTED: the
 * device does not exist, or CUDA is not built in. */
RW_API int rw_scorer_open(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                          const char *device, struct rw_scorer **out);
/* Scores a data set with a scorer of rw_scorer_open or rw_scorer_new. Run a scorer of
 * rw_scorer_open in one thread at a time. scores: [n_docs], written; the same doubles as
 * rw_predict. A scorer on a GPU uses the context of rw_scorer_open. RW_ERR_MEMORY: out of host
 * memory, or out of GPU memory (not with "auto"). RW_ERR_DATA: the data does not fit the model
 * (rw_model_check_data). */
RW_API int rw_scorer_run(struct rw_ctx *ctx, struct rw_scorer *scorer,
                         const struct rw_dataset *dataset, double *scores);
/* Returns 1 if a value is infinite, which rw_dataset_from_table rejects; otherwise 0. values:
 * [n_docs][n_features]. *doc and *feature: written if the result is 1, the position of the first
 * infinite value, in the order of documents. */
RW_API int rw_rows_infinite(struct rw_ctx *ctx, const float *values, uint32_t n_docs,
                            uint32_t n_features, uint32_t *doc, uint32_t *feature);
/* Receives a chunk of documents as a data set, and their scores: [n_docs]. Both are borrowed for
 * the call. Returns nonzero to stop reading. */
typedef int rw_chunk_fn(void *user, const struct rw_dataset *chunk, const double *scores);
/* Reads files of any length in chunks, until `take` returns nonzero. Returns the last result of
 * `take`, or an error of reading or scoring. A chunk has a limited number of documents, except that
 * a cache is one chunk in memory. A query may continue in the next chunk. A query that reappears
 * later is not detected.
 *
 * - scorer: NULL for no scores. On the CPU, threads may score lines while they read them. Such
 *   chunks have no features.
 * - seen: [RW_FEATURE_IDS], set to 1 for each feature that appears. Without a scorer it is not
 *   used, and may be NULL. */
RW_API int rw_dataset_read_each(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                                struct rw_scorer *scorer, unsigned char *seen, rw_chunk_fn *take,
                                void *user);

/* ---- parameters ---- */
enum rw_param_type { RW_PARAM_INT, RW_PARAM_REAL, RW_PARAM_CHOICE, RW_PARAM_TEXT, RW_PARAM_SEED };
enum rw_param_role {
    RW_ROLE_TREES = 1,  /* tree growth reads it; setting it has no effect in a refit */
    RW_ROLE_LEAVES = 2, /* leaf values depend on it, also in a refit */
    /* it names or needs a file, column or model in addition to features and labels */
    RW_ROLE_DATA = 4,
    RW_ROLE_WEIGHTS = 8,     /* it names weights of documents or queries */
    RW_ROLE_TABLE = 16,      /* for CSV and TSV columns; no effect on other data */
    RW_ROLE_EVALUATION = 32, /* metrics depend on it */
    RW_ROLE_VALIDATION = 64, /* for metrics of each round */
    RW_ROLE_MACHINE = 128    /* it never changes a model */
};
struct rw_param_info {
    const char *name; /* "leaves" */
    enum rw_param_type type;
    const char *default_value; /* in the form that rw_params_set accepts */
    const char *range;    /* for people: "2 to 65536"; for a choice its values: "exp|linear|FILE" */
    const char *help;     /* one line */
    const char *argument; /* "N", "X", "FILE", ... */
    /* 1: the model file records it; 2: the model file records it if it is not the default; 0: the
     * model file omits it */
    int model;
    int roles; /* a sum of enum rw_param_role */
};
/* Returns the i-th parameter, from 0; NULL past the end. */
RW_API const struct rw_param_info *rw_param_info(int i);
/* Returns the input file that the i-th parameter names, so that callers do not overwrite it; NULL
 * if it names no file. Valid until the next call on `params`. */
RW_API const char *rw_params_file(struct rw_params *params, int i);
/* Returns the value as text; NULL for an unknown name. Valid until the next call on `params`. */
RW_API const char *rw_params_get(struct rw_params *params, const char *name);
/* How a parameter got its value. */
enum rw_param_origin {
    RW_PARAM_DEFAULT, /* not set, or an unknown name */
    RW_PARAM_READ,    /* by rw_params_read, without a later rw_params_set */
    RW_PARAM_SET,     /* by rw_params_set, to the default */
    RW_PARAM_CHANGED  /* by rw_params_set, to another value; reported if it has no effect */
};
RW_API enum rw_param_origin rw_params_origin(const struct rw_params *params, const char *name);
/* Reads `name = value` lines; '#' starts a comment. Several training runs may share a file, so
 * parameters without effect in one of them are not reported. RW_ERR_IO: the file cannot be read.
 * RW_ERR_ARGUMENT, RW_ERR_PARSE: an invalid line. */
RW_API int rw_params_read(struct rw_ctx *ctx, struct rw_params *params, const char *path);
/* Replaces each `auto` that affects the model by the value that training would choose, and logs a
 * note. The values depend on other parameters and on the numbers of documents, of features that
 * appear and of validation sets. Without a validation set, `early-stop` becomes 0. rw_train does
 * this itself. Call it if several training runs must use the same values. Models still record which
 * values were chosen automatically. `early-stop-rule` stays `auto`, because its value depends on
 * the validation set. RW_ERR_ARGUMENT: too great a depth for level-wise growth. */
RW_API int rw_params_resolve(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                             uint32_t n_features, int n_valid);
/* Like rw_params_resolve. Also replaces `auto` in `early-stop-rule`, by the value for a first
 * validation set of n_valid_queries queries on all workers. 0: it stays `auto`. */
RW_API int rw_params_resolve_valid(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                                   uint32_t n_features, int n_valid, uint64_t n_valid_queries);
/* Writes a file for rw_params_read. It has all parameters except those that never change a model
 * (threads, device, hist, gpu-memory and batch), empty texts, and defaults that model files omit.
 * `rate = auto 0.05` records a value that rw_params_resolve chose. RW_ERR_ARGUMENT: the file cannot
 * represent a file name. RW_ERR_IO, RW_ERR_MACHINE: the write failed. */
RW_API int rw_params_write(struct rw_ctx *ctx, struct rw_params *params, FILE *out);
/* The purpose of parameters that are checked. */
enum rw_params_use {
    RW_PARAMS_TRAIN, /* training, perhaps with validation sets */
    /* training without validation sets; `early-stop` above 0 of origin RW_PARAM_CHANGED is an
     * error */
    RW_PARAMS_TRAIN_ALONE,
    RW_PARAMS_MEASURE, /* measuring only; checks the parameters of metrics */
    /* only reports parameters for CSV and TSV columns, because the data has another form */
    RW_PARAMS_NO_TABLE
};
/* Checks that the parameters do not contradict each other, as rw_train does. RW_ERR_ARGUMENT: they
 * do; the message explains how. */
RW_API int rw_params_check(struct rw_ctx *ctx, const struct rw_params *params,
                           enum rw_params_use use);
/* How to report a parameter that the other parameters make ineffective, such as `truncation` with
 * `pairs=all`. By default it causes a warning, once per parameter and process, if its origin is
 * RW_PARAM_CHANGED. The model then records the default. Training reports these parameters after
 * `auto` is resolved. rw_params_check reports only those that it knows before training, and only
 * with RW_PARAMS_MEASURE, RW_PARAMS_NO_TABLE or RW_NO_EFFECT_ERROR. */
enum rw_no_effect {
    RW_NO_EFFECT_WARN,
    RW_NO_EFFECT_SILENT, /* for parameters shared by several training runs */
    RW_NO_EFFECT_ERROR   /* RW_ERR_ARGUMENT in place of a warning */
};
/* Sets how parameters without effect are reported. The default is RW_NO_EFFECT_WARN. */
RW_API void rw_params_on_no_effect(struct rw_params *params, enum rw_no_effect how);
/* Reports a parameter without effect for a reason that only the caller knows, such as "without a
 * model". Only parameters of origin RW_PARAM_CHANGED are reported. Returns RW_OK or
 * RW_ERR_ARGUMENT. */
RW_API int rw_params_no_effect(struct rw_ctx *ctx, const struct rw_params *params, const char *name,
                               const char *why);
/* Forgets which parameters without effect were reported in this process, so that warnings about
 * them appear again. */
RW_API void rw_no_effect_reset(void);
/* Returns the parameter of the current warning, while the log function receives a warning of a
 * parameter without effect; else NULL. */
RW_API const char *rw_log_parameter(const struct rw_ctx *ctx);
/* Returns the known parameter nearest to an unknown name; NULL if no name is near. For a parameter
 * of another trainer, returns its counterpart, such as "leaves" for "num_leaves", or NULL without
 * a counterpart. */
RW_API const char *rw_params_nearest(const char *name);
/* The Rankwood counterpart of a parameter or value of LightGBM, XGBoost, CatBoost, RankLib,
 * QuickRank, YDF or scikit-learn. */
struct rw_alias {
    /* NULL: `names` has names of parameters or options. Otherwise it has values of this Rankwood
     * parameter. */
    const char *parameter;
    /* The names or values, in lower case, with '-' for '_' and a blank on both sides. A word of '@'
     * and letters tells which programs have the names up to the next such word: LightGBM (l),
     * XGBoost (x), CatBoost (c). Names before the first such word, and after '@' alone, come from
     * other programs. Example: in " max-num-nodes @lx max-leaves @ tree-depth ", max-leaves is a
     * name of LightGBM and XGBoost, and the other two names come from other programs. */
    const char *names;
    const char *ours; /* a parameter, option or value; NULL: no counterpart */
    const char *note; /* how it differs, or why it has no counterpart; NULL: no hint */
};
/* Returns the next row of the table after `row` that matches; NULL past the end. row: NULL to start
 * with the first row of the table.
 *
 * - word NULL: every row matches, whatever `parameter` is.
 * - parameter NULL: `word` is a name of a parameter or option.
 * - Otherwise `word` is a value of the Rankwood parameter `parameter`.
 *
 * Case does not matter, and '_' equals '-'. A name may match several rows. Use the row whose `ours`
 * is one of the caller's options; otherwise the row whose `ours` is NULL. Pass metric names without
 * a cutoff: "ndcg", not "ndcg@10". */
RW_API const struct rw_alias *rw_alias_next(const struct rw_alias *row, const char *parameter,
                                            const char *word);
/* Returns the nearest of words: [n_words] to a mistaken one; NULL if none is near. `words` must be
 * in lower case, with '-' instead of '_'. `mistaken` may have upper case and '_'. */
RW_API const char *rw_word_nearest(const char *mistaken, const char *const *words, int n_words);

/* ---- metrics ---- */
/* How to treat a query without a relevant document: value 0, value 1, or skip it. */
enum rw_empty { RW_EMPTY_ZERO, RW_EMPTY_ONE, RW_EMPTY_SKIP };
/* How to rank documents with equal scores: in input order, or by the mean over all orders. */
enum rw_ties { RW_TIES_FILE, RW_TIES_MEAN };
/* How to measure rankings: `struct rw_eval_params how = RW_EVAL_DEFAULTS; how.metric =
 * "ndcg@5,map";` */
struct rw_eval_params {
    const char *metric; /* one to 16 metrics, separated by commas */
    enum rw_empty empty;
    enum rw_ties ties;
    const char *label_gain; /* "exp", "linear" or a file; NULL: exp, or the gain of `like` */
    double relevant;        /* lowest label of a relevant document, 0 to 1e9 */
    uint64_t seed;          /* for resampled queries, permuted features, and halves of rw_prune */
    /* NULL, or another program, such as "lightgbm", whose conventions rw_evaluate and rw_compare
     * follow. The conventions cover gain, cutoffs, ties, weights, queries without a relevant
     * document and valid labels. With `like`, `empty`, `ties` and `relevant` must be valid but are
     * not used, and `label_gain` is used only if that program has such an option. Leave it NULL for
     * functions that do not mention it. */
    const char *like;
};
#define RW_EVAL_DEFAULTS                                           \
    {                                                              \
        "ndcg@10", RW_EMPTY_SKIP, RW_TIES_FILE, NULL, 1.0, 1, NULL \
    }
/* Returns the metrics and conventions of these parameters. `label_gain` is NULL unless it was set.
 * Valid until the next call on `params`. */
RW_API const struct rw_eval_params *rw_params_eval(struct rw_params *params);
/* Writes one line with Rankwood's conventions for these metrics to buffer: [size], truncated to
 * fit. `like` must be NULL or a known program, but is not used: rw_eval.conventions has the
 * conventions of other programs. RW_ERR_ARGUMENT: unknown metric or program, or an invalid member
 * of `how`. */
RW_API int rw_eval_conventions(struct rw_ctx *ctx, const struct rw_eval_params *how, char *buffer,
                               size_t size);
struct rw_eval_metric {
    const char *name; /* "ndcg@10" */
    double mean;      /* weighted, over the queries that count; NaN if no query counts */
    /* mean with ties in reversed input order, minus `mean`; 0 with RW_TIES_MEAN */
    double ties_moved;
    uint32_t n_counted;      /* queries that count */
    const double *per_query; /* [n_queries] NaN: the query does not count */
};
struct rw_eval {
    int n_metrics;
    const struct rw_eval_metric *metrics; /* [n_metrics] */
    uint32_t n_queries, n_docs;
    /* queries without a relevant document, by the first ranking metric (with `like`, by the first
     * metric) */
    uint32_t n_empty;
    uint32_t n_single; /* queries with one document */
    /* one line: gain, discount, empty queries, ties; with `like`, one line per metric */
    const char *conventions;
};
/* Measures a ranking. scores: [n_docs], finite, or those of struct rw_qrels_run. The caller frees
 * *out with rw_free. RW_ERR_ARGUMENT: unknown metric or program, an invalid member of `how`, or a
 * metric that the program lacks. Also, with data of rw_qrels_read, a metric that uses more than the
 * order of documents. RW_ERR_DATA: a score is not finite, or the metric or program rejects a
 * label. */
RW_API int rw_evaluate(struct rw_ctx *ctx, const struct rw_eval_params *how,
                       const struct rw_dataset *dataset, const double *scores,
                       struct rw_eval **out);
/* A metric by the conventions of each program, side by side. */
struct rw_audit_row {
    const char *like;    /* "lightgbm"; "rankwood": by the parameters */
    const char *program; /* "LightGBM" */
    const char *metric;  /* "ndcg@10" */
    double mean;         /* NaN if no query counts, or if `refused` */
    uint32_t n_counted;
    const char *conventions; /* the conventions of `program`; "" if `refused` */
    const char *refused;     /* why there is no value; NULL: there is one */
};
struct rw_audit {
    int n_rows;
    const struct rw_audit_row *rows; /* [n_rows] */
    uint32_t n_docs, n_queries;
    /* queries without a label above 0, so without a relevant document for every program */
    uint32_t n_empty;
    uint32_t n_single; /* queries with one document */
    /* queries where documents with different labels have equal scores, so that tie order matters */
    uint32_t n_tied;
    /* Queries with at least two distinct labels whose documents are in descending (ascending) label
     * order. If ties keep the input order, constant scores have the best (worst) value there. */
    uint32_t n_falling, n_rising;
};
/* Measures each metric of `how` by Rankwood's conventions and by those of each program. Fails where
 * rw_evaluate fails. If a program rejects the data, its row has the reason instead of a value.
 * scores: [n_docs]. The caller frees *out with rw_free. */
RW_API int rw_audit_new(struct rw_ctx *ctx, const struct rw_eval_params *how,
                        const struct rw_dataset *dataset, const double *scores,
                        struct rw_audit **out);
/* The match of a TREC run with the data. */
struct rw_run_match {
    int is_run;          /* 1: the file is a TREC run; 0: it has one number per line */
    uint32_t n_unranked; /* documents missing from the run; ranked last, tied */
    uint32_t n_unknown;  /* lines of queries that the data lacks; ignored */
};
/* Reads scores from a file. scores: [n_docs], written. match: written, or NULL. The first line
 * decides the format:
 *
 * - One number per line and document.
 * - A TREC run: "query Q0 document rank score tag" lines. The rank is ignored. Documents match by
 *   query id and document id, as `predict --trec` writes them. The document id comes from the
 *   comment. Without one it is the query id, '-' and the position in the query from 1.
 *
 * RW_ERR_PARSE: a malformed line. RW_ERR_DATA: the number of scores is not n_docs; the run lacks a
 * query of the data, has a document that is not in the query, or has a document twice; or two
 * documents of a query have the same id. */
RW_API int rw_dataset_read_scores(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                  const char *path, double *scores, struct rw_run_match *match);

/* ---- judgments and runs from TREC files ---- */
/* The scores and match counts of one TREC run. */
struct rw_qrels_run {
    const double *scores;  /* [n_docs] of the data set; -INFINITY: not in the run */
    uint64_t n_ranked;     /* documents in the run, of judged queries */
    uint64_t n_unjudged;   /* documents without a judgment, among n_ranked */
    uint64_t n_unknown;    /* lines of queries without judgments; ignored */
    uint32_t n_unanswered; /* judged queries that the run lacks */
};
struct rw_qrels {
    /* Queries in the order of the judgments. A query has all documents that are judged or in a run,
     * by descending id. Unjudged documents have label 0. There are no features. */
    const struct rw_dataset *dataset;
    uint64_t n_judged; /* documents with a judgment */
    int n_runs;
    const struct rw_qrels_run *runs; /* [n_runs] */
};
/* Reads judgments and runs in TREC format. qrels: a file of "query iteration document label" lines;
 * labels below 0 count as 0. runs: [n_runs] files of "query Q0 document rank score tag" lines.
 * Fields are separated by blanks or tabs, and lines may have any order. Iteration, Q0, rank and tag
 * are ignored. A document id has at most 511 bytes. The caller frees *out with rw_free.
 *
 * Pass the data set with the scores of a run to rw_evaluate or rw_compare. The ideal ranking and
 * the number of relevant documents include unranked documents. Everything else uses only documents
 * of the run. Equal scores rank by descending id. A query that the run lacks counts as 0
 * (`trec_eval -c`).
 *
 * RW_ERR_PARSE, RW_ERR_DATA: a malformed line, a document judged or ranked twice, no judgments, or
 * a run without any judged query. */
RW_API int rw_qrels_read(struct rw_ctx *ctx, const char *qrels, const char *const *runs, int n_runs,
                         struct rw_qrels **out);

/* ---- comparing two rankings ---- */
/* The comparison of rankings a and b over all queries or a group of them. */
struct rw_compared {
    const char *name;   /* name of the group; "" for all queries */
    uint32_t n_queries; /* queries that count; all other members use only these */
    /* difference: mean_b - mean_a; all three NaN if the queries that count have no weight */
    double mean_a, mean_b, difference;
    /* 95 % bootstrap interval of the difference over queries; NaN below 2 queries */
    double low, high;
    double p; /* two-sided p of the paired randomisation test; 1 if no query differs */
    uint32_t n_wins, n_ties, n_losses; /* queries where b is better, equal, worse */
};
/* A query whose metric differs between rankings a and b. */
struct rw_moved_query {
    uint32_t query;
    double a, b; /* the metric of this query in each ranking */
};
struct rw_comparison {
    const char *metric, *conventions;
    int lower_is_better;
    /* number of resamples for the interval, and of sign patterns for the test; if n queries differ
     * and n is at most 16, the test uses all 2^n patterns */
    int n_samples;
    double ties_moved_a, ties_moved_b; /* as in struct rw_eval_metric */
    struct rw_compared all;
    int n_groups;
    /* [n_groups] by name; if queries have no group, they form the last one, "-" */
    const struct rw_compared *groups;
    int n_moved;
    /* [n_moved] queries that differ, largest difference first, at most 1000 */
    const struct rw_moved_query *moved;
    /* Churn: how many results change from a to b, over all queries alike, with or without a
     * relevant document. Equal scores rank in input order, whatever `ties` and `like` are; of TREC
     * runs, by descending id. */
    double changed_first; /* fraction of queries whose first document differs */
    double changed_ten;   /* fraction of queries whose set of first 10 documents differs */
    /* mean over queries: the documents in both sets of first 10, divided by the size of the larger
     * set; 1 if both are empty */
    double overlap_ten;
};
/* Compares two rankings by one metric. scores_a, scores_b: [n_docs]. groups: a file of "QUERY
 * GROUP" lines, or NULL. The p-values of groups are not corrected for multiple tests. Results
 * depend on the seed, not on the number of threads. The caller frees *out with rw_free.
 * RW_ERR_ARGUMENT: `how` is invalid or has several metrics, or the data has weights and `like` is
 * set, because programs differ in the effect of weights. RW_ERR_PARSE: a malformed line of
 * `groups`, or a query with two groups. RW_ERR_DATA: as in rw_evaluate. */
RW_API int rw_compare(struct rw_ctx *ctx, const struct rw_eval_params *how,
                      const struct rw_dataset *dataset, const double *scores_a,
                      const double *scores_b, const char *groups, struct rw_comparison **out);
/* Corrects p: [n] for multiple tests by Holm's step-down method, in place. At any level, the
 * probability of one or more false positives among the n tests is at most that level. (Holm, "A
 * Simple Sequentially Rejective Multiple Test Procedure", 1979.) */
RW_API int rw_holm(struct rw_ctx *ctx, double *p, int n);

/* ---- smaller models ---- */
enum rw_prune_order {
    RW_PRUNE_ANY, /* first the trees that matter least for the metric */
    RW_PRUNE_LAST /* from the last tree backwards, so that a prefix of the model stays */
};
struct rw_prune_row {
    int n_trees;
    uint64_t n_leaves, n_bytes;  /* leaves of these trees; size of the model file */
    struct rw_compared compared; /* a: the whole model; b: these trees */
    /* RW_PRUNE_ANY: cross-fitted difference. Each half of the queries in turn chooses the trees to
     * remove, and the other half measures the difference; this is the mean of the two. 0 in the
     * first row. RW_PRUNE_LAST: NaN. */
    double held_out;
};
struct rw_pruned {
    const char *metric, *conventions;
    int lower_is_better;
    int n_samples;      /* bootstrap resamples for the interval */
    int n_rows, chosen; /* chosen: the row of `model`, from 0 */
    /* [n_rows] the whole model first, then fewer and fewer trees */
    const struct rw_prune_row *rows;
    struct rw_model *model;
};
/* Removes trees one after the other, and measures the remaining model each time. *out has the
 * smallest of these models whose loss is at most most_loss. It also has a table of this model, the
 * whole model, and models with about 90 %, 80 %, ... and 1 % of the trees. The loss is measured
 * against the whole model, in units of the metric; most_loss is 0 or more. In either order, a tree
 * of one non-zero leaf, a base score, stays. The caller frees *out with rw_free.
 *
 * RW_PRUNE_ANY works in rounds. A round leaves out each tree in turn, measures the rest, and
 * removes the quarter of the trees that matter least, or one tree if at most seven are left. Of
 * trees that matter equally, the later one is removed first. With RW_PRUNE_ANY, most_loss limits
 * both the loss on all queries and the loss by `held_out`. The seed of `how` draws the halves.
 *
 * RW_ERR_DATA: no query counts or, with RW_PRUNE_ANY, there is one query only, or no query of one
 * half counts. RW_ERR_ARGUMENT: the model has no trees, most_loss is invalid, or `how` is invalid
 * or has several metrics. */
RW_API int rw_prune(struct rw_ctx *ctx, const struct rw_eval_params *how,
                    const struct rw_model *model, const struct rw_dataset *dataset,
                    double most_loss, enum rw_prune_order order, struct rw_pruned **out);

/* ---- feature selection ---- */
/* Permutation importance: the loss of a metric when one feature's values, including absent and
 * missing values, are shuffled among all documents. */
struct rw_permuted {
    uint32_t feature;
    /* mean over the repeats; positive: the feature improves the metric */
    double loss;
    double deviation; /* standard deviation over the repeats; NaN for one repeat */
};
struct rw_select_row {
    uint32_t n_features; /* number of features used for training */
    int n_trees;         /* 0: no tree could be split */
    /* on half of the validation set; a: all features, b: these; with n_trees 0, mean_b, difference,
     * low and high are NaN */
    struct rw_compared compared;
    int is_within; /* 1: the loss is within the tolerance; 0: it is not, or is NaN */
};
struct rw_select_options {
    double most_loss; /* tolerance in units of the metric, 0 or more */
    /* 0: the mean difference must be within the tolerance; 1: the whole 95 % interval */
    int is_sure;
    int n_repeats;                 /* permutations per feature, 1 to 1000 */
    /* [n_queries] of the validation set: groups that the halves keep together, as in rw_cv_options
     */
    const uint32_t *groups;
    const struct rw_dataset *test; /* measured once, after the selection; NULL: no test set */
    void *user;
    /* Called with each new row of the table, numbered from 0. Nonzero ends the call with
     * RW_ERR_INTERRUPTED. NULL: no callback. */
    int (*on_row)(void *user, int number, const struct rw_select_row *row);
};
struct rw_selected {
    const char *metric, *conventions;
    int lower_is_better;
    int n_samples;                    /* for intervals */
    int n_rows, chosen;               /* chosen: the row of `model`, from 0 */
    const struct rw_select_row *rows; /* [n_rows] all features first, then the trials in order */
    uint32_t n_features;
    /* [n_features] the selected features. First those that the trees of `model` use, by falling
     * permutation loss on the half of the validation set that ranks features. Then the others by
     * id, with loss 0. */
    const struct rw_permuted *features;
    /* value for parameter `features`: names if the data has them and parameter `names` is not set,
     * otherwise ids */
    const char *list;
    const struct rw_compared *test; /* the result on the test set, as in a row; NULL without one */
    struct rw_model *model;
};
/* Searches for the smallest feature set within a tolerance of the metric. The parameters must name
 * one metric. valid: a set with values (rw_dataset_read). The caller frees *out with rw_free.
 *
 * Features are ranked by permutation importance. The search drops the lower half and trains on the
 * rest. Features that no tree uses are dropped at once. While the loss is within most_loss, it
 * ranks and halves again. Then it tries sizes between the last success and the first failure. The
 * loss is relative to a training run on all features with the same parameters.
 *
 * Early stopping uses the whole validation set. One half of its queries, drawn by `seed`, ranks the
 * features. The other half measures the loss, so the loss is not measured on the queries that
 * ranked the features. The measuring half still chooses the size, so use `test` for an independent
 * result.
 *
 * All training runs share one set of codes. The model is identical to that of a training run with
 * `features` set to the list. Results do not depend on the number of threads.
 *
 * RW_ERR_DATA: `valid` has one query only, or no query of one half counts. RW_ERR_ARGUMENT: several
 * metrics, an invalid option, or `valid` has codes instead of values. RW_ERR_UNSUPPORTED: several
 * workers, or start scores. Other errors are those of rw_train. */
RW_API int rw_select(struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_binned *train, const struct rw_dataset *valid,
                     const struct rw_select_options *options, struct rw_selected **out);

/* ---- cross-validation by query ---- */
struct rw_cv_fold {
    struct rw_model *model;     /* trained without the fold */
    const struct rw_eval *eval; /* measured on the fold */
    /* queries of the training set, of the validation set (0 without early stopping) and of the
     * fold */
    uint32_t n_train, n_valid, n_test;
};
struct rw_cv {
    int n_folds;
    const struct rw_cv_fold *folds; /* [n_folds] */
    /* [n_queries] the first fold that measures the query; UINT32_MAX: none does */
    const uint32_t *fold_of;
    /* [n_docs] each from the model of the query's fold, plus the document's start score; NaN: no
     * fold measures the query */
    const double *scores;
    const struct rw_eval *pooled; /* the metrics of `scores`, over the queries that have some */
};
/* The use of a query in a fold. */
enum rw_cv_part { RW_CV_UNUSED, RW_CV_TRAIN, RW_CV_VALID, RW_CV_TEST };
struct rw_cv_options {
    int n_folds;
    int shares_bins; /* 1: find bin boundaries once, from the whole data set. It saves time and
                        memory, and the values of the documents that measure and stop a model
                        influence its thresholds. Their labels do not. */
    int is_serial;   /* 1: train folds one after the other, on the calling thread */
    int has_metric;  /* 1: on_fold sets a metric, which `auto` of early-stop-rule depends on */
    /* [n_queries] Group of each query, below n_queries. The queries of a group are in one fold.
     * NULL: each query is a group. */
    const uint32_t *groups;
    /* [n_folds][n_queries] Use of each query in each fold (enum rw_cv_part), with
     * RW_CV_VALID for early stopping. NULL: `seed` draws the folds. */
    const uint8_t *parts;
    void *user;
    /* Called before each fold is trained. sets[RW_CV_TRAIN], sets[RW_CV_VALID] (NULL without early
     * stopping) and sets[RW_CV_TEST] are valid until the fold ends. The function may set these
     * members of *hooks: user, on_round, should_stop, gradients, and metric with its name and
     * direction. Rounds then also measure the test set, which is the last validation set and
     * never stops training. Without is_serial, several threads may call at once. Nonzero ends the
     * call with RW_ERR_INTERRUPTED, and so does should_stop. NULL: no callback. */
    int (*on_fold)(void *user, int fold, const struct rw_dataset *const *sets,
                   struct rw_train_hooks *hooks);
};
/* Trains one model per fold, on the other folds. With early stopping, the next fold, cyclically, is
 * held out as the validation set, so the test fold has no influence on its model. All parameters
 * apply. `auto` is resolved once, for the whole data set and a validation set of one fold
 * (rw_params_resolve_valid). `seed` draws the folds. Small data sets train folds in parallel,
 * without effect on results. The caller frees *out with rw_free. RW_ERR_ARGUMENT: n_folds is below
 * 2 (below 3 with early stopping), or exceeds the number of queries. RW_ERR_UNSUPPORTED: several
 * workers. */
RW_API int rw_cross_validate(struct rw_ctx *ctx, const struct rw_params *params,
                             const struct rw_dataset *dataset, int n_folds, struct rw_cv **out);
/* Like rw_cross_validate, with options. RW_ERR_ARGUMENT: shares_bins with categorical features,
 * a fold lacks a part that it needs, or as in rw_cross_validate. RW_ERR_DATA: there are fewer groups
 * than folds. */
RW_API int rw_cross_validate_with(struct rw_ctx *ctx, const struct rw_params *params,
                                  const struct rw_dataset *dataset,
                                  const struct rw_cv_options *options, struct rw_cv **out);

/* ---- queries that belong together, and their times ----
 *
 * Both functions use a text of each query from `source`: the column query_text, if the tables that
 * were read since rw_ctx_set_columns have it, otherwise a file. The file has a line for each query:
 * its id, blanks, and the text up to the line's end. RW_ERR_DATA: a query has no text, or several.
 * RW_ERR_PARSE: a malformed file. RW_ERR_ARGUMENT: neither a column nor a file has the name. */
/* Numbers the texts from 0, in their order in the data, so that queries with equal texts have one
 * number. groups: [n_queries], written; *n_groups: number of different texts */
RW_API int rw_dataset_query_groups(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                   const char *source, uint32_t *groups, uint32_t *n_groups);
/* Divides the queries into earlier ones (part[0]) and the latest fifth (part[1]), which the caller
 * frees. Queries of one time stay together. The texts are numbers, or dates of one form such as
 * 2024-01-31 or 2024-01-31T12:00:00Z. from: [size] receives the first time of the later part.
 * RW_ERR_DATA: a text is not a time, or all times are equal. */
RW_API int rw_dataset_split_time(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                                 const char *source, struct rw_dataset *part[2], char *from,
                                 size_t size);

/* ---- tuning: a search for parameters ----
 *
 *     struct rw_tune_options how = {.n_trials = 30};
 *     struct rw_tuned *tuned = NULL;
 *     int status = rw_tune(ctx, params, train, valid, &how, &tuned);
 *     status = status ? status : rw_model_write(ctx, tuned->model, "model.txt");
 *     rw_free(tuned); */
/* A trial: the caller's parameters with other values of the searched ones. */
struct rw_tune_trial {
    int number;                /* from 0; trial 0 has the caller's parameters, without a change */
    const char *const *values; /* [n_names] the values in use; `auto` is resolved */
    uint64_t seed;             /* value of the parameter `seed`; that of trial 0 is the caller's */
    /* 1: trained until early stopping or all rounds, so that it could be chosen; 0: dropped after a
     * shorter training */
    int is_whole;
    int rounds;    /* number of rounds with the best mean; 0 if the trial failed */
    double leaves; /* `rounds` times `bags` times the maximum number of leaves per tree */
    double mean;   /* metric after `rounds`; NaN if the trial failed */
    /* mean minus that of the best whole trial, and the standard error of the difference, paired by
     * query; NaN for trials that are not whole */
    double difference, error;
    int is_level;        /* 1: whole, and worse than the best by at most one standard error */
    const char *failure; /* message of a failed trial, else NULL */
};
struct rw_tune_options {
    int n_trials;   /* number of trials with trial 0, 1 or more; 0: until `seconds` */
    double seconds; /* without n_trials: end at the first rung after this time */
    int n_folds;    /* without a validation set: number of folds, 2 or more */
    /* [n_queries] of the set that measures trials: groups that folds and halves keep together, as
     * in rw_cv_options */
    const uint32_t *groups;
    /* Lines "NAME LEAST MOST", "NAME LEAST MOST log" or "NAME VALUE|VALUE|...". '#' starts a
     * comment. NULL: the default space, without parameters that are set. */
    const char *space;
    const char *space_name; /* name of the space in messages, such as its file; NULL: "space"; "":
                             * messages do not name the line */
    int without_model;      /* 1: do not train the final model */
    /* Checkpoints of the search, written after each rung. Of the members, `path`, `resume` and
     * `or_start` apply. NULL: no checkpoints. */
    const struct rw_checkpoints *checkpoints;
    void *user;
    /* Called with the trials of each rung, in the order of their numbers. Nonzero ends the search
     * like an interruption. NULL: no callback. */
    int (*on_trial)(void *user, const struct rw_tune_trial *trial);
    /* Called before the final training, as in struct rw_train_hooks. NULL: no callback. */
    void (*on_start)(void *user, struct rw_params *used);
};
struct rw_tuned {
    const char *metric, *conventions;
    int n_names;
    const char *const *names; /* [n_names] the searched parameters */
    int n_trials, chosen;     /* chosen: index in `trials` */
    /* [n_trials] all finished trials; those of an unfinished bracket are left out */
    const struct rw_tune_trial *trials;
    /* Tuned parameters (b) compared with the caller's (a), on queries that did not choose them.
     * Each half of the queries is measured with the setting and the number of rounds that the other
     * half chose. */
    struct rw_compared estimate;
    int n_samples;      /* of the estimate's interval */
    int is_interrupted; /* 1: the caller ended the search; there is no model */
    /* The chosen parameters. `rounds` is the best number of rounds, and `early-stop` is 0. */
    struct rw_params *params;
    struct rw_model *model; /* trained with `params`; NULL if not wanted or interrupted */
};
/* Searches for parameters by successive halving, and trains a model with them. The parameters must
 * name one metric that has a value for each query. valid: the validation set, with values; NULL:
 * n_folds folds of the training set. The caller frees *out with rw_free.
 *
 * Trial 0 is trained first, until early stopping. The others follow in brackets of nine. A rung is
 * a number of rounds, in inverse proportion to the learning rate. In the first rung all trials of a
 * bracket train a third as long as trial 0 needed. In the second, the best third of them train as
 * long as trial 0 needed. In the last, the best third of these train until early stopping.
 *
 * The values of a trial and its seed depend only on the space, `seed` and the number of the trial.
 * Numbers have three significant digits. With the default space, a trial keeps each parameter as
 * given with a probability of 1/2, because the defaults suit most data.
 *
 * Ties count as the mean over all orders, whatever `ties` is. With folds, a query's value comes
 * from the model that was trained without it, and the number of rounds is the best one for all
 * folds together. Whole trials are compared by the differences of their queries. A trial is a
 * candidate if it is better than trial 0 by more than two standard errors, and worse than the best
 * by at most one. The candidate with the fewest leaves is chosen, and of equal ones the first.
 * Without a candidate it is trial 0. The estimate repeats all decisions for each half of the
 * queries.
 *
 * `early-stop-rule` folds is trial 0 with folds: it is allowed without a validation set and has no
 * further effect, except that of several metrics the first one counts.
 *
 * With n_trials, the result depends only on data, parameters, space and n_trials, and not on the
 * machine. With `seconds`, a bracket that is not finished in time is left out, so the result is
 * that of n_trials = rw_tuned.n_trials. A failed trial is repeated once, and if it fails again, it
 * is left out of the choice.
 *
 * A checkpoint has the results of all trials so far, but not their trees. A search that resumes
 * from one has the result of an uninterrupted search. It may have more trials, and other values of
 * `threads`, `device`, `gpu-memory`, `hist` and `batch`. It repeats at most the interrupted rung,
 * and later rungs train its trials from the first round. on_trial reports all trials again. A
 * failed write is a warning.
 *
 * RW_ERR_ARGUMENT: an invalid option; several metrics, or one without values of queries. Or the
 * space has an invalid line, or a parameter that is set or cannot be searched. RW_ERR_DATA: fewer
 * queries than folds; a single query; no query of one half counts; the data differs from the
 * checkpoint's. RW_ERR_FORMAT: the file to resume from is not the checkpoint of a search, is
 * damaged, or is of another version. RW_ERR_UNSUPPORTED: several workers. Other errors are those of
 * trial 0 and of rw_train. */
RW_API int rw_tune(struct rw_ctx *ctx, const struct rw_params *params,
                   const struct rw_dataset *train, const struct rw_dataset *valid,
                   const struct rw_tune_options *options, struct rw_tuned **out);

/* ---- data checks ---- */
enum rw_identifies {
    RW_IDENTIFIES_NOTHING, /* also with missing values, and in data of fewer than 50 documents */
    /* whole numbers or words; at least 0.9 distinct values per document */
    RW_IDENTIFIES_DOCUMENT,
    /* whole numbers or words, constant within a query; at least 25 queries, and at least 0.9
     * distinct values per query */
    RW_IDENTIFIES_QUERY,
    /* numbers as in RW_IDENTIFIES_DOCUMENT that only ascend or only descend in the file */
    RW_IDENTIFIES_LINE
};
/* A feature that appears in the data. Absent values count as 0 or, with a vocabulary, as a category
 * of their own. (`moved` names this category "0".) */
struct rw_feature_check {
    uint32_t feature;
    double absent, missing; /* fractions of the documents */
    float least, most;      /* range of the values that are not missing; NaN if all are missing */
    uint32_t n_distinct;
    int constant;         /* 1: all values are missing, or all are equal and no value is missing */
    int32_t duplicate_of; /* the first feature with the same values; -1: none, or constant */
    int identifies;       /* enum rw_identifies */
    /* 1: sorting by it sorts the labels of every query, all in the same direction; at least 10
     * queries must have documents with different labels */
    int orders_labels;
    /* 1: categorical with a vocabulary; `least` and `most` are NaN because order has no meaning */
    int has_vocabulary;
};
/* Drift: how differently something is distributed in the data and in the reference. Missing values
 * are a bin of their own. */
struct rw_drift {
    const char *of;   /* "labels", "query lengths", "scores" (of the model) or "feature" */
    const char *name; /* of a feature: its name, or its id as text; else NULL */
    uint32_t feature; /* its id */
    int only_in;      /* of a feature: 1 only in the data, 2 only in the reference; else 0 */
    /* Population stability index, 0 or more: the sum of (p - q) ln(p / q) over bins, where p and q
     * are the fractions in data and reference. The reference defines the bins: at most ten values,
     * or else deciles; its categories, and one bin for others. A query counts as one independent
     * document if all are equally long. Fractions below half an independent document count as
     * that. Below 0.1 is small by convention. NaN: one set has words and the other numbers. */
    double psi;
    /* Kolmogorov-Smirnov distance, 0 to 1: the largest difference between the distribution
     * functions. NaN for categories, which have no order. */
    double ks;
    /* 1: above one of these limits. They are 0.25 and 0.2, or the values that chance exceeds in one
     * of 1,000 comparisons of sets with these queries, if those are larger. */
    int is_large;
    double psi_limit, ks_limit;
    double missing, missing_reference; /* fractions of the documents with a missing value */
    /* The category whose fraction differs most, and its fractions in the reference and in the data.
     * NULL and NaN: no category differs, or numbers were compared. */
    const char *moved;
    double moved_from, moved_to;
};
struct rw_finding {
    const char *kind; /* "split-queries" */
    const char *text; /* one line */
    int is_warning;   /* 0: for information */
};
enum { RW_CHECK_LABELS = 64 };
struct rw_check {
    uint32_t n_docs, n_queries, n_features;
    uint32_t shortest, median, longest; /* documents per query */
    uint32_t longest_query;
    uint32_t n_split;  /* query ids that reappear after other queries */
    uint32_t n_empty;  /* queries without a label above 0 */
    uint32_t n_single; /* queries with one document */
    uint32_t n_alike;  /* queries with several documents, all with the same label above 0 */
    uint32_t n_mixed;  /* queries that have documents with different labels */
    /* of n_mixed, queries whose labels never rise (n_falling) or never fall (n_rising) in input
     * order */
    uint32_t n_falling, n_rising;
    double falling_by_chance; /* expected n_falling, and also n_rising, in random order */
    /* NDCG@10 of constant scores, with ties in input order (constant_file) and averaged over all
     * orders (constant_mean). The gain is linear if a label exceeds 31. NaN: no query counts, or a
     * label is negative. */
    double constant_file, constant_mean;
    /* documents with the same values as an earlier document of the query, except documents in which
     * every value is 0 or absent */
    uint32_t n_twins;
    /* distinct labels minus 1, added up over all sets of documents with the same values in a
     * query */
    uint32_t n_contradictions;
    float least_label, most_label;
    uint32_t n_labels;                    /* distinct labels; the first RW_CHECK_LABELS follow */
    float label[RW_CHECK_LABELS];         /* ascending */
    uint32_t label_docs[RW_CHECK_LABELS]; /* documents with each of these labels */
    /* Comparison with the reference. Without one, the numbers are 0. */
    uint32_t n_other_docs, n_other_queries; /* documents and queries of the reference */
    uint32_t n_shared_queries;              /* query ids that the reference also has */
    /* documents with the same values as a document of the reference, except documents in which
     * every value is 0 or absent */
    uint32_t n_shared_docs;
    uint32_t n_drift;
    /* [n_drift] labels, query lengths, scores, then features by falling PSI */
    const struct rw_drift *drift;
    const struct rw_feature_check *features; /* [n_features] by id */
    int n_findings;
    const struct rw_finding *findings; /* [n_findings] at most 64, warnings first */
};
/* Reads files as rw_dataset_read does and reports problems. Queries that reappear are counted
 * instead of being rejected. against: [n_against] files of the reference, such as the training set;
 * n_against 0: no reference. model: compares its scores, too; NULL: no model.
 * Columns of tables are found by its names if struct rw_columns has it, best with keep_others. The
 * caller frees *out with rw_free. */
RW_API int rw_check_new(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                        const char *const *against, int n_against, const struct rw_model *model,
                        struct rw_check **out);
/* Returns the id of the longest query. */
RW_API const char *rw_check_longest(const struct rw_check *check);

/* ---- everything: callbacks, checkpoints, workers, tree structure, SHAP, formats ----
 *
 * A callback that prints the progress of training:
 *
 *     static int print_round(void *user, const struct rw_round *round)
 *     {
 *         (void)user;
 *         for (int i = 0; i < round->n_metrics; i++)
 *             printf("%s %.6f\n", round->metrics[i].name, round->metrics[i].value);
 *         return 0;
 *     }
 *     struct rw_train_hooks hooks = {.on_round = print_round}; */

struct rw_metric_value {
    int set;          /* 0: training set; 1, ...: validation sets */
    const char *name; /* "ndcg@10" */
    double value;
};
struct rw_round {
    int round;    /* from 1; with `init`, its rounds count, too */
    int n_rounds; /* the maximum of `round` */
    /* the best round so far, by the first metric on the first validation set that differs from the
     * training set; 0 without such a set */
    int best_round;
    double best_value; /* this metric at best_round */
    int n_leaves;      /* leaves of this round's tree */
    double ms;         /* total time of this round */
    /* time within `ms` for lambdas, histograms, finding splits, partitioning documents, adding the
     * tree to scores, and metrics */
    double ms_lambdas, ms_histograms, ms_splits, ms_partition, ms_scores, ms_metrics;
    uint32_t n_docs; /* documents of the training set, over all workers */
    /* Host-resident (out-of-core) codes, which do not fit in GPU memory. The GPU read far_bytes of
     * them for this tree, of which far_hist_bytes for histograms. Those histograms took
     * far_hist_ms. */
    uint64_t far_bytes, far_hist_bytes;
    double far_hist_ms;
    /* estimate for this worker and round, as if transports sent the fewest bytes possible */
    uint64_t bytes_sent;
    /* The largest possible size of the model file if training ends with this round, and with the
     * next. */
    uint64_t model_bytes, next_model_bytes;
    int n_metrics;
    const struct rw_metric_value *metrics; /* [n_metrics] */
};
/* A custom objective. Writes gradients: [n_docs], the direction in which each score should move
 * (the negative derivative of the loss). Writes hessians: [n_docs], second derivatives of 0 or
 * more. scores: [n_docs]. Nonzero ends training with RW_ERR_INTERRUPTED. */
typedef int (*rw_gradient_fn)(void *user, const struct rw_dataset *train, const double *scores,
                              double *gradients, double *hessians);
/* A custom metric of one data set. scores: [n_docs]. Writes *value. Nonzero ends training with
 * RW_ERR_INTERRUPTED. With several workers, training with such a metric returns
 * RW_ERR_UNSUPPORTED. */
typedef int (*rw_metric_fn)(void *user, const struct rw_dataset *dataset, const double *scores,
                            double *value);
/* The state from which a training run resumes. Valid during the call. */
struct rw_resumed {
    const char *path;  /* the checkpoint file */
    int round;         /* the last completed round */
    int best_round;    /* as in struct rw_round */
    double best_value; /* as in struct rw_round */
    const char *note;  /* note of struct rw_checkpoints, or "" */
    int n_metrics;
    const struct rw_metric_value *metrics; /* [n_metrics] with `value` unset */
    const double *values;                  /* [round][n_metrics] */
};
/* Checkpoints. A checkpoint file has the trees, metrics and best round so far, and fingerprints of
 * parameters and data. Resuming with the same parameters and data gives a model identical to that
 * of an uninterrupted training run. Device and thread count may differ, and `rounds` may be higher.
 * Scores are recomputed from the trees, so user gradients and metrics must depend on scores and
 * data alone.
 *
 * A separate thread writes checkpoints during training. A failed write causes a warning. The last
 * checkpoint is written when training ends, also by should_stop or an error. Resuming a finished
 * training run returns its model at once. RW_ERR_FORMAT: another version of the library wrote the
 * file; the message names the version. */
struct rw_checkpoints {
    const char *path; /* each checkpoint replaces the previous one; NULL: do not write */
    /* write after this many rounds, or once a write in progress ends; 0: use time */
    int every_rounds;
    /* write after this time; 0: 60 s, or 100 times the duration of the last write if longer */
    double every_seconds;
    const char *resume; /* file to resume from; NULL: start a new training run */
    int or_start;       /* 1: start a new training run if the file does not exist */
    /* Called between rounds. Returns a text without newline, stored in the checkpoint. NULL: no
     * note. */
    const char *(*note)(void *user);
    /* Called once before on_start when a training run resumes. NULL: no callback. */
    void (*on_resume)(void *user, const struct rw_resumed *resumed);
};
/* Sets every_rounds or every_seconds from "50" (rounds), "30s", "10m" or "2h". RW_ERR_ARGUMENT:
 * invalid interval. */
RW_API int rw_checkpoints_set_every(struct rw_ctx *ctx, struct rw_checkpoints *checkpoints,
                                    const char *every);
/* The position bias that a training run with `debias` used, estimated or given, as it was after
 * the last round. The best round of the model may be earlier. */
struct rw_positions {
    int round;    /* the last round, as in struct rw_round */
    int is_given; /* 1: propensities were given */
    int n;
    const uint32_t *position; /* [n] displayed positions that have documents, ascending */
    const uint64_t *n_docs;   /* [n] documents of the training set, over all workers */
    /* [n] additive: addition to the score at this position; else NULL */
    const double *bias;
    /* [n] Probability of a click relative to the first position, 1/1024 to 1024. ipw: t+ of
     * Unbiased LambdaMART. additive: exp(sigma * (bias - bias of the first position)). */
    const double *propensity;
    const double *unclicked; /* [n] ipw: t-, the same for documents without a click; else NULL */
};
struct rw_train_hooks {
    void *user; /* passed to every callback */
    /* Called once before the first round, with the parameters in use. `auto` is resolved, except
     * for `hist`, whose methods are timed during training, and for parameters without effect. Valid
     * during the call. NULL: no callback. */
    void (*on_start)(void *user, struct rw_params *used);
    /* Called after each round. Nonzero stops training, and the model counts as finished. NULL: no
     * callback. */
    int (*on_round)(void *user, const struct rw_round *round);
    /* Called after each stage of training, such as "cuts and codes", with its duration and the peak
     * memory of the process so far. Engines also report their choices of methods in this way. NULL:
     * no callback. */
    void (*on_stage)(void *user, const char *stage, double ms, size_t peak_bytes);
    /* Called between rounds, and with one worker also within rounds that have very many pairs.
     * Nonzero interrupts training. The model is then the best so far and is marked as unfinished
     * (rw_model_info). RW_ERR_INTERRUPTED: the first round was interrupted. NULL: no callback. */
    int (*should_stop)(void *user);
    rw_gradient_fn gradients; /* NULL: the objective of params */
    /* NULL: only the metrics of params; otherwise this is the first metric, which early stopping
     * uses */
    rw_metric_fn metric;
    const char *metric_name; /* NULL: "custom" */
    int metric_lower_is_better;
    /* NULL: no checkpoints. On resuming, RW_ERR_ARGUMENT: parameters have changed. RW_ERR_DATA:
     * data has changed. The messages describe the difference. RW_ERR_FORMAT: the file is truncated
     * or damaged. */
    const struct rw_checkpoints *checkpoints;
    /* Called once after the last round of a training run with `debias`. Valid during the call.
     * NULL: no callback. */
    void (*on_positions)(void *user, const struct rw_positions *found);
    /* 1: if no tree can be split, training makes a model without trees, which scores every document
     * 0, in place of RW_ERR_DATA. rw_last_error then has the reason, which the caller reports. */
    int allow_no_trees;
};
/* Manifests. A manifest describes a training run as JSON, so that it can be repeated and compared.
 * It has the version and build of the library, checksums of each data set, the parameters as given
 * and as used, the choices about stopping and metrics, and the checksum of the model. It is the
 * same for other devices and other numbers of threads and workers.
 *
 *     rw_ctx_record_data(ctx, 1);
 *     hooks.on_start = start;                        calls rw_manifest_new
 *     rw_train(ctx, params, ..., &hooks, &model);
 *     rw_manifest_finish(ctx, begun, model, &manifest); */
/* Sets whether training runs of this context compute checksums of their data, for rw_manifest_new
 * (0 or 1; default 0). They read the codes of each set once. With several workers, all of them must
 * set it. */
RW_API void rw_ctx_record_data(struct rw_ctx *ctx, int records);
/* Begins a manifest, within on_start. given: the parameters as the caller set them. used: the
 * argument of on_start. init: the model that training continues, or NULL. The caller frees *out
 * with rw_free. RW_ERR_ARGUMENT: data is not recorded. RW_ERR_UNSUPPORTED: a parameter is not valid
 * UTF-8. */
RW_API int rw_manifest_new(struct rw_ctx *ctx, const struct rw_params *given,
                           struct rw_params *used, const struct rw_model *init, char **out);
/* Adds the identity of the model to a manifest. The caller frees *out with rw_free. RW_ERR_FORMAT:
 * `manifest` is not one. */
RW_API int rw_manifest_finish(struct rw_ctx *ctx, const char *manifest,
                              const struct rw_model *model, char **out);
/* Compares two manifests. *out: NULL if data and model are equal, otherwise a line about the first
 * difference of data, version, parameters and model, in this order; the caller frees it with
 * rw_free. Compares only the data if `found` has no model. Names of files are not compared.
 * RW_ERR_FORMAT: a text is not a manifest. */
RW_API int rw_manifest_compare(struct rw_ctx *ctx, const char *expected, const char *found,
                               char **out);
/* A part of the memory that a training run uses. */
struct rw_plan_part {
    const char *name; /* "codes"; static */
    uint64_t bytes;
};
/* The expected memory and time of a training run. */
struct rw_plan {
    char device[160]; /* "cpu", or "cuda:0, " and the GPU's name */
    int on_gpu;       /* 1: bytes are GPU memory; 0: host memory */
    int n_threads;    /* threads for the work on the host */
    int n_parts;
    struct rw_plan_part part[12]; /* [n_parts] */
    uint64_t bytes;               /* sum of the parts: memory in use while training */
    /* peak, with temporary memory of loading and the first tree; 0 on the host */
    uint64_t most_bytes;
    uint64_t free_bytes; /* free GPU memory within `gpu-memory`; 0 on the host */
    /* Host memory that this process could still get, also under its control groups' limits. 0:
     * unknown. */
    uint64_t host_free_bytes;
    /* page-locked host memory for host-resident codes, which do not fit in GPU memory */
    uint64_t far_bytes;
    /* typical transfer rate to the GPU in bytes/s; 0 if no codes are transferred during training */
    double link_rate;
    double tree_ms; /* expected time per round: the trees of all bags */
    /* Estimates for more GPUs in one host, whether present or not: time per tree, and its part for
     * exchanging histograms. 0 on the host. */
    struct rw_plan_many {
        int n_gpus;
        double tree_ms, exchange_ms;
    } many[3];
};
/* Estimates the memory and time of rw_train_on with these arguments, on the device it would choose.
 * Computes bin boundaries but allocates no GPU memory. `init` and `hooks` are ignored.
 * RW_ERR_MEMORY: too little GPU memory; *out is filled. RW_ERR_ARGUMENT: a validation set has codes
 * instead of values. Other errors are those of rw_train_on. */
RW_API int rw_train_plan(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_training *training, struct rw_plan *out);

/* ---- workers: distributed training in threads, processes or machines ----
 *
 * One process under mpirun or srun:
 *
 *     struct rw_comm *comm = NULL;
 *     int status = rw_comm_open(ctx, "mpi", &comm);
 *     status = status ? status : rw_ctx_set_comm(ctx, comm);
 *     status = status ? status : rw_dataset_read(ctx, &path, 1, &shard);
 *     status = status ? status : rw_train(ctx, params, shard, NULL, 0, NULL, &model);
 *     if (status && rw_workers_should_print(ctx))
 *         fprintf(stderr, "%s\n", rw_last_error(ctx));
 *     rw_comm_free(comm); */
/* Each of n_workers workers makes the same calls, with its own context and its own shard of the
 * data. Every worker gets the same model. It is identical to the model of one worker with all
 * documents.
 *
 * - Shards follow each other in worker order. A shard may be empty. No query is in two shards.
 * - Reading files gives each worker its shard, except that rw_dataset_read_each reads whole files.
 *   Plain text and caches are split at query boundaries. One worker reads a gzip, CSV or TSV file
 *   as a whole. Pipes are not supported. Files of side columns have the documents of all workers.
 * - With data in memory, each worker passes its shard.
 *
 * All workers must call these functions, in the same order:
 *
 * - rw_dataset_read, rw_dataset_read_side_column, rw_check_new.
 * - rw_binned_read, rw_binned_read_valid, rw_binned_from_table.
 * - rw_train, rw_train_on, rw_train_plan, rw_refit, rw_exchange_check with params.
 * - rw_workers_sum, rw_workers_agree.
 *
 * If one worker fails, all do, and the message names the worker. Other functions concern one worker
 * only. With several workers, rw_dataset_cache_files, rw_cross_validate, rw_select, rw_tune and
 * rw_bench return an error. */
struct rw_comm;
/* Sums wrap, so they hold for signed integers, too. */
enum rw_comm_type { RW_COMM_U32, RW_COMM_U64 };
enum rw_comm_op { RW_COMM_SUM, RW_COMM_MIN, RW_COMM_MAX };
/* A transport between workers. All workers make the same calls in the same order, from one
 * thread. Functions return 0 for success. After a failure they are not called again. Sizes may
 * exceed 2^31. */
struct rw_comm_functions {
    const char *name; /* for messages */
    /* 1: GPU buffers, with calls enqueued on `stream`; 0: host buffers, and stream is NULL */
    int device;
    /* Replaces buffer: [n] by the reduction over all workers. */
    int (*all_reduce)(void *user, void *buffer, size_t n, enum rw_comm_type type,
                      enum rw_comm_op op, void *stream);
    /* send: [n_workers][n_each]. recv: [n_each], the sum over all workers of their row send[i],
     * where i is this worker. */
    int (*reduce_scatter)(void *user, const void *send, void *recv, size_t n_each,
                          enum rw_comm_type type, void *stream);
    /* send: [bytes]. recv: [n_workers][bytes]. Host memory only. */
    int (*all_gather)(void *user, const void *send, void *recv, size_t bytes, void *stream);
    /* Sends n_send[i] bytes to each worker i, and receives n_recv[i] bytes from it. Both buffers
     * are in worker order, without gaps. n_send, n_recv: [n_workers]. Host memory only. */
    int (*all_to_all)(void *user, const void *send, const size_t *n_send, void *recv,
                      const size_t *n_recv);
    /* Called when this worker has failed. Workers that wait for it should fail too. NULL: they
     * detect it themselves. */
    void (*abort)(void *user);
    /* Returns 1 if another worker has failed. Must return at once; called while a worker waits, for
     * example for its GPU. NULL: unknown. */
    int (*has_failed)(void *user);
};
/* Makes a communicator for one worker. worker: in [0, n_workers). `functions` is copied. Its
 * members and `user` are used until rw_comm_free. */
RW_API int rw_comm_new(struct rw_ctx *ctx, const struct rw_comm_functions *functions, void *user,
                       int worker, int n_workers, struct rw_comm **out);
/* Opens a communicator of the library by name. "mpi" is MPI_COMM_WORLD of a process started by
 * mpirun or srun. NULL: "mpi" if the environment shows a launcher with several processes, else *out
 * is NULL. RW_ERR_ARGUMENT: unknown name. RW_ERR_UNSUPPORTED: not installed (the message names the
 * missing part), or MPI does not connect the processes. RW_ERR_MACHINE: MPI failed. */
RW_API int rw_comm_open(struct rw_ctx *ctx, const char *name, struct rw_comm **out);
/* Frees a communicator; accepts NULL. If this worker failed and no call reported that to the
 * others, "mpi" calls MPI_Abort, which also ends this process. Print messages first. */
RW_API void rw_comm_free(struct rw_comm *comm);
/* Makes the context a worker of this communicator, which is borrowed until the next call or the end
 * of the context. NULL: one worker, the default. RW_ERR_ARGUMENT: the communicator works on GPU
 * buffers (rw_comm_functions.device). */
RW_API int rw_ctx_set_comm(struct rw_ctx *ctx, struct rw_comm *comm);
/* The work of one worker, with its context. Returns RW_OK or an error. */
typedef int (*rw_worker_fn)(void *user, struct rw_ctx *ctx, int worker);
/* Runs `body` once per worker, in n_workers threads of this process. Worker 0 runs on the calling
 * thread with `ctx`. The others have contexts that log nothing. The threads of `ctx` are divided
 * equally among the workers, at least one each. Returns the status of the lowest worker that knows
 * the cause of a failure; its message is in `ctx`. */
RW_API int rw_workers_run(struct rw_ctx *ctx, int n_workers, rw_worker_fn body, void *user);
/* Return the number of workers and this worker's number; 1 and 0 without a communicator. */
RW_API int rw_workers_count(const struct rw_ctx *ctx);
RW_API int rw_workers_number(const struct rw_ctx *ctx);
/* Replaces numbers: [n] by their sums over all workers. */
RW_API int rw_workers_sum(struct rw_ctx *ctx, uint64_t *numbers, size_t n);
/* Agrees on the result of work that each worker did alone. All workers call it. If one failed, all
 * return its status and message. Otherwise returns `status`. */
RW_API int rw_workers_agree(struct rw_ctx *ctx, int status);
/* Ends this worker alone. Calls of the other workers then fail. This has no effect if all workers
 * know of a failure. */
RW_API void rw_workers_end(struct rw_ctx *ctx);
/* Checks that a GPU such as "cuda:1" exists, before data is read. With device "cuda", each of
 * several workers takes a separate GPU where the machine has enough. rw_binned_read makes the same
 * check. RW_ERR_UNSUPPORTED: no such GPU, or CUDA is not built in or has no driver. Names that do
 * not begin with "cuda" are not checked. */
RW_API int rw_device_check(struct rw_ctx *ctx, const char *device);
/* Returns 1 if this worker should print the last failure. Worker 0 should if all workers know of
 * the failure, or if it happened in a function that concerns one worker only. Otherwise the worker
 * that knows the cause should. */
RW_API int rw_workers_should_print(const struct rw_ctx *ctx);

/* ---- inside models ----
 *
 * The functions that return a struct, such as rw_model_tree, return a zeroed one if an index is out
 * of range. The model owns the arrays of the struct. */

/* How the training data of a model numbers its features. */
enum rw_columns_kind {
    RW_COLUMNS_UNKNOWN,  /* unknown: model files before version 6 */
    RW_COLUMNS_NUMBERED, /* columns of an array: features 0 to width - 1 */
    RW_COLUMNS_NAMED,    /* the same, with names */
    RW_COLUMNS_LETOR     /* explicit ids, as in LETOR text, usually from 1 */
};
struct rw_model_info {
    int best_round;  /* 0 without early stopping */
    int is_finished; /* 0: should_stop ended training, and the model is the best up to that round */
    /* Number of training runs that produced the model: more than one if it was continued
     * (rw_train_on). A completed run and its continuation with the same parameters count as one. */
    int n_runs;
    uint32_t n_categorical; /* number of categorical features */
    enum rw_columns_kind columns;
    /* number of columns; for explicit ids, the greatest id of the training set plus 1; 0 if
     * unknown */
    uint32_t width;
};
RW_API struct rw_model_info rw_model_info(const struct rw_model *model);
/* Returns the number of trees per round of the last training (parameter `bags`). */
RW_API int rw_model_n_bags(const struct rw_model *model);
/* Returns the name of the i-th metric measured in training, such as "valid1 ndcg@10", and its value
 * for the trees of the model: that of the kept round, or of the last one. NULL past the end. */
RW_API const char *rw_model_metric_at(const struct rw_model *model, int i, double *value);
/* A parameter recorded in the model. */
struct rw_run_param {
    char *name, *value;
    int is_auto; /* 1: chosen from the size of the training set */
};
struct rw_run_view {
    int n_trees; /* trees that this training run added */
    int n_params;
    const struct rw_run_param *params; /* [n_params] recorded parameters */
};
/* Returns a training run of the model, oldest first. run: in [0, n_runs). */
RW_API struct rw_run_view rw_model_run(const struct rw_model *model, int run);
struct rw_tree_view {
    int n_leaves;
    /* Arrays over nodes, [n_leaves - 1]. Node 0 is the root. */
    const int32_t *left, *right; /* >= 0: a node; < 0: the leaf with index ~value */
    const uint32_t *feature;
    const float *cut; /* threshold of the split: values <= cut go left; 0 if by_category */
    const uint8_t *missing_left; /* 1: missing values go left */
    const double *gain;
    /* 1: a set of categories goes left (rw_model_condition); NULL: no node has such a split */
    const uint8_t *by_category;
    /* Arrays over leaves, [n_leaves]. */
    const float *leaf;
    /* Documents of each leaf; NULL: unknown. An imported tree has the counts of its program, which
     * may be weighted. */
    const double *docs;
};
/* Returns a view of a tree. tree: in [0, n_trees). */
RW_API struct rw_tree_view rw_model_tree(const struct rw_model *model, int tree);
/* Writes the condition for the left child in readable form: "<= 0.5", "in {shoes, socks}" or
 * "not in {shoes}". buffer: [size], truncated to fit; with size 0 it is unused. Returns the full
 * length. */
RW_API size_t rw_model_condition(const struct rw_model *model, int tree, int node, char *buffer,
                                 size_t size);
struct rw_categorical {
    uint32_t feature, n_words;
    /* [n_words] categories to which training gave a separate code, in byte order */
    char *const *words;
};
/* Returns the vocabulary of a categorical feature. i: in [0, n_categorical). */
RW_API struct rw_categorical rw_model_categorical(const struct rw_model *model, uint32_t i);
/* Makes a model of the trees t for which keep[t] is not 0. keep: [n_trees]; NULL: all trees. The
 * model has no metrics, no best round and no map to probabilities. The caller frees *out with
 * rw_model_free. */
RW_API int rw_model_select(struct rw_ctx *ctx, const struct rw_model *from,
                           const unsigned char *keep, struct rw_model **out);
/* Prints a tree as indented text, or with `dot` in the DOT language. tree: in [0, n_trees). The
 * output numbers the trees from 1. RW_ERR_ARGUMENT: no such tree.
 * RW_ERR_IO, RW_ERR_MACHINE: writing failed. */
RW_API int rw_model_show(struct rw_ctx *ctx, const struct rw_model *model, int tree, int dot,
                         FILE *out);
/* Returns the leaf of each document in the first n_trees trees; 0 means all. leaves:
 * [n_docs][n_trees], written. */
RW_API int rw_predict_leaves(struct rw_ctx *ctx, const struct rw_model *model,
                             const struct rw_dataset *dataset, int n_trees, int32_t *leaves);
enum { RW_EXACT_ROOM = 32 }; /* bytes of the buffer of rw_exact_text */
/* Writes the shortest of %.15g, %.16g and %.17g that reads back as the same number, in any locale.
 * Returns its length. */
RW_API int rw_exact_text(double value, char buffer[RW_EXACT_ROOM]);
struct rw_out_file;
/* Writes one line per document, using all threads. scores: [n_docs], printed as by rw_exact_text.
 * NULL: prints the leaves in the first n_trees trees (0: all), separated by blanks. n_trees is used
 * for leaves only. */
RW_API int rw_score_lines(struct rw_ctx *ctx, const struct rw_model *model,
                          const struct rw_dataset *dataset, int n_trees, const double *scores,
                          struct rw_out_file *out);
/* Returns 1 if a feature appears in the data, else 0. */
RW_API int rw_dataset_has_feature(const struct rw_dataset *dataset, uint32_t feature);
/* Sets seen: [RW_FEATURE_IDS] to 1 for each feature that appears. */
RW_API void rw_dataset_note_features(const struct rw_dataset *dataset, unsigned char *seen);

/* ---- does the data fit the model? ---- */
/* Returns the number of columns of an array or a table, whose features are 0 to width - 1. Returns
 * 0 for LETOR text, for tables with explicit ids (rw_table.feature), and for columns found by the
 * names of a model or data set. */
RW_API uint32_t rw_dataset_width(const struct rw_dataset *dataset);
/* Checks that data fits a model. RW_ERR_DATA: one of these rules is broken.
 *
 * - Model trained on columns: an array or table (rw_dataset_width above 0) must have as many
 *   columns as the training set. Data with explicit ids must not have an id beyond these columns.
 * - Model trained on explicit ids, 0 to m, as in LETOR text: an array or table must have m + 1
 *   columns. To pass an array of fewer columns, state their ids (rw_table.feature or
 *   first_feature).
 * - RW_COLUMNS_UNKNOWN: an array or table must have all features that the trees use.
 * - If data and model both name a feature that the trees use, the names must be equal.
 *
 * Columns found by the names of a model or data set need to satisfy only the last rule. Functions
 * that score, explain, refit or continue check all rules except the last: they do not compare
 * names. Training checks validation sets in the same way, against the training set. Only
 * rw_model_check_data also compares names; call it first to have all rules checked before any
 * work. */
RW_API int rw_model_check_data(struct rw_ctx *ctx, const struct rw_model *model,
                               const struct rw_dataset *dataset);
/* Checks whether rows with features first_feature to first_feature + n_features - 1 fit a model, as
 * rw_scorer_rows does for a scorer of the model. With first_feature 0 the rules for arrays in
 * rw_model_check_data apply, otherwise the rules for data with explicit ids. RW_ERR_DATA: the rows
 * do not fit. */
RW_API int rw_model_check_rows(struct rw_ctx *ctx, const struct rw_model *model,
                               uint32_t n_features, uint32_t first_feature);
/* Logs a warning if important features never appear in the data. A feature is important if it has
 * at least 1% of the model's gain, or of its splits if the model has no gains. seen:
 * [RW_FEATURE_IDS], marked for all n_docs documents. Below 1,000 documents there is no warning. */
RW_API void rw_model_warn_lacking(struct rw_ctx *ctx, const struct rw_model *model, uint64_t n_docs,
                                  const unsigned char *seen);

/* ---- explanations: SHAP values and importance ----
 *
 *     struct rw_explainer *explainer = NULL;
 *     double *values = NULL;
 *     int status = rw_explainer_new(ctx, model, 0, NULL, &explainer);
 *     if (status == RW_OK)
 *         values = malloc(n_docs * explainer->n_features * sizeof(*values));
 *     if (values)
 *         status = rw_explainer_run(ctx, explainer, dataset, 0, n_docs, values, NULL);
 *     free(values);
 *     rw_free(explainer); */
/* SHAP values: the contribution of each feature to the score of a document, so that base + values =
 * score. Source: Lundberg, Erion and Lee, "Consistent Individualized Feature Attribution for Tree
 * Ensembles", 2018, the path-dependent variant. A coalition is a set of features whose values are
 * known. Where the feature of a split is not in the coalition, both branches are followed, weighted
 * by the fractions of training documents in each.
 *
 * Training and refitting count the sampled documents of each leaf, and model files store the
 * counts. They are missing in models of older versions and in imports from formats without counts,
 * and these trees still lack counts if training continues from such a model. If all counts of an
 * imported tree are 0, they are treated as missing, too. At a split without documents, each branch
 * weighs one half. */
struct rw_explainer {
    uint32_t n_features;      /* features that the trees use */
    const uint32_t *features; /* [n_features] ids, ascending */
    /* The mean score of the documents of `cover`. Without `cover`: the sum over the trees of each
     * tree's mean leaf value, weighted by its counts of training documents. */
    double base;
    /* The largest rounding error of base + values: 2^-51 * (trees + (greatest depth + 4)^2) * the
     * sum over trees of the largest |leaf|. */
    double bound;
};
/* Returns 1 if the first n_trees trees (0: all) have counts. A tree of one leaf needs no counts. */
RW_API int rw_model_has_covers(const struct rw_model *model, int n_trees);
/* Prepares SHAP values of the first n_trees trees; 0 means all. Keeps no reference to model or
 * data. The caller frees *out with rw_free. cover: documents whose counts replace those of the
 * trees, or NULL. RW_ERR_DATA: `cover` has no documents or does not fit the model.
 * RW_ERR_UNSUPPORTED: `cover` is NULL and a tree has no counts, or a path has thousands of splits
 * on different features. */
RW_API int rw_explainer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                            const struct rw_dataset *cover, struct rw_explainer **out);
/* Explains documents begin to begin + n - 1. values: [n][n_features], written; identical for any
 * number of threads. leaves: [n][n_trees], written with the leaf of each tree; or NULL.
 * RW_ERR_ARGUMENT: documents out of range. RW_ERR_DATA: the data does not fit the model. */
RW_API int rw_explainer_run(struct rw_ctx *ctx, const struct rw_explainer *explainer,
                            const struct rw_dataset *dataset, uint32_t begin, uint32_t n,
                            double *values, int32_t *leaves);

/* Computes permutation importance by the first metric, for the features that the first n_trees
 * trees (0: all) use. Writes the first `room` of them by id, or all if there are fewer, to `out`.
 * Returns the number of features that the trees use, which may exceed `room`, or an error. *value
 * is the metric of the unchanged data. n_repeats: 1 to 1000. Metric and losses are NaN if no query
 * counts. */
RW_API int rw_permutation_importance(struct rw_ctx *ctx, const struct rw_eval_params *how,
                                     const struct rw_model *model, int n_trees,
                                     const struct rw_dataset *dataset, int n_repeats, double *value,
                                     struct rw_permuted *out, int room);

/* ---- calibration ---- */
/* How to fit a calibration: `struct rw_calibrate how = RW_CALIBRATE_DEFAULTS;` */
struct rw_calibrate {
    const char *method; /* "isotonic" (pool adjacent violators) or "logistic" (Platt scaling) */
    double relevant;    /* lowest label of a relevant document, 0 to 1e9 */
    const char *device; /* device for scoring: "cpu", "cuda", "cuda:N", "auto"; NULL: "cpu" */
};
#define RW_CALIBRATE_DEFAULTS  \
    {                          \
        "isotonic", 1.0, "cpu" \
    }
/* Error measures of probabilities p. y is 1 if a label is at least `relevant`, else 0. w are
 * document weights. NaN: unknown. */
struct rw_calibration_figures {
    /* sum of -w log(max(q, 2^-50)) / sum of w, where q is p if y = 1, else 1 - p */
    double log_loss;
    double brier; /* Brier score: sum of w (p - y)^2 / sum of w */
    /* Expected calibration error: sum over 10 bins of p, [0, .1) to [.9, 1], of |sum of w (y - p)|
     * / sum of w. */
    double error;
};
struct rw_calibrated {
    struct rw_calibration_figures before; /* of 1 / (1 + exp(-score)) */
    struct rw_calibration_figures fitted; /* of the calibration, on the documents of the fit */
    /* The values of cross-fitted calibrations, each measured on queries outside its fit. Query q
     * (from 0) is in fold q modulo n_folds. NaN for one query. */
    struct rw_calibration_figures held_out;
    int n_folds; /* 5, or the number of queries if smaller; 0 for one query */
    uint32_t n_docs, n_queries, n_relevant; /* of the data set; n_relevant: relevant documents */
};
/* Checks `how`, as rw_model_calibrate does. RW_ERR_ARGUMENT: unknown method, or `relevant` is out
 * of range. */
RW_API int rw_calibrate_check(struct rw_ctx *ctx, const struct rw_calibrate *how);
/* Copies a model and adds a calibration (rw_model_calibration), fitted to the labels and weights of
 * the data set. Use documents outside the training set, because a model scores its training
 * documents too well. Replacing a calibration is noted in the log, and a constant one causes a
 * warning. The result is identical for any number of threads. figures: receives the error measures
 * of the probabilities, or NULL. The caller frees *out with rw_model_free. RW_ERR_DATA: no document
 * of positive weight is relevant, or all are. Other errors are those of rw_scorer_open and
 * rw_scorer_run. */
RW_API int rw_model_calibrate(struct rw_ctx *ctx, const struct rw_model *model,
                              const struct rw_dataset *dataset, const struct rw_calibrate *how,
                              struct rw_calibrated *figures, struct rw_model **out);

/* ---- report ---- */
struct rw_report_options {
    const char *title;                  /* NULL: "Ranking report" */
    const char *model_name, *data_name; /* text to show, such as paths; NULL: omit */
    const char *like; /* use this program's conventions; NULL: those of the parameters */
    int n_trees;      /* number of trees to draw, from the first, 0 to 100 */
    int n_repeats;    /* permutations per feature, 0 (omit) to 1000 */
    const struct rw_dataset *against; /* reference, such as the training set, for drift; or NULL */
    const char *against_name;         /* text to show for it; NULL: omit */
};
/* Writes an HTML page about a model and its ranking of `dataset`. The page is one file without
 * scripts or network access, and escapes all names. The first metric is shown per query. The same
 * arguments give an identical page for any number of threads. Logs a warning if metrics depend on
 * the order of ties. RW_ERR_ARGUMENT: n_trees or n_repeats is out of range. RW_ERR_DATA: no
 * documents. RW_ERR_IO, RW_ERR_MACHINE: writing to `out` failed. */
RW_API int rw_report(struct rw_ctx *ctx, const struct rw_eval_params *how,
                     const struct rw_model *model, const struct rw_dataset *dataset,
                     const struct rw_report_options *options, FILE *out);

/* ---- models of other programs ----
 *
 *     struct rw_exchange how = {.format = "xgboost", .feature_base = RW_FEATURE_BASE_AUTO};
 *     int status = rw_model_export(ctx, model, &how, "model.json"); */
struct rw_model_format_info {
    const char *name;  /* "ranklib" */
    const char *about; /* one line */
    int imports;       /* 1: rw_model_import reads it */
    int by_set; /* 1: it needs a feature set, members `featureset` and `name` of rw_exchange */
};
/* Writes the i-th format, from 0, to *out. Returns 1, or 0 past the end. */
RW_API int rw_model_format_at(int i, struct rw_model_format_info *out);
enum { RW_FEATURE_BASE_AUTO = -2 };
struct rw_exchange {
    const char *format; /* an unknown name causes an error whose message suggests the nearest */
    /* The Rankwood feature that corresponds to the format's first id: 0 or 1. -1: ids stay the
     * same, and feature 0 is rejected if ids of the format begin at 1. RW_FEATURE_BASE_AUTO chooses
     * and logs a note. Export then uses 0 for a model with feature 0, else 1. Import uses 0 if ids
     * begin at 0 and columns have names, as in a table, else 1, as in LETOR text. */
    int feature_base;
    /* For export. 1: drops, with a warning, anything that the format cannot represent. 0: returns
     * an error. */
    int lossy;
    /* For formats with by_set and for solr, else NULL. `featureset` is a file with the plugin's
     * answer to GET _ltr/_featureset/NAME. For elasticsearch-ml it has the features and their
     * queries, {"feature_extractors": [...]}. For solr it has the answer to GET
     * schema/feature-store/NAME, or the array of features, and NULL writes the model's names.
     * `name` is the name of the model there; for solr, NULL means "rankwood". Named features are
     * found in the set by name. Otherwise feature_base is the first feature of the set, and -1
     * means 1. RW_ERR_FORMAT: not a feature set. RW_ERR_UNSUPPORTED: it lacks a feature that the
     * trees use (the message names it). */
    const char *featureset, *name;
};
/* Checks an export before training. If `params` is NULL, pass NULL for `train` and `init`, too;
 * then only `how` is checked. Otherwise checks if rw_model_export could reject a model trained with
 * `params` on `train`. init: the model to continue, or NULL. This check assumes that feature_base
 * is RW_FEATURE_BASE_AUTO and lossy is 0, whatever `how` says, and does not use `name`. If
 * `featureset` is NULL, feature names are not looked up in a feature set.
 *
 * RW_ERR_ARGUMENT: unknown format or invalid feature_base. Without `params`, also if `featureset`
 * or `name` is set for a format that does not use it, or missing for a format with by_set.
 * RW_ERR_UNSUPPORTED: the format cannot represent a bin boundary, the direction of missing values,
 * a name or a tree of `init`. Two problems are not predicted. Trees may be too deep for readers of
 * the format, and a threshold may separate missing values from all others. */
RW_API int rw_exchange_check(struct rw_ctx *ctx, const struct rw_exchange *how,
                             const struct rw_params *params, const struct rw_binned *train,
                             const struct rw_model *init);
/* Writes a model for another program. In that program, every document reaches the same leaf of
 * every tree, unless `lossy` drops a part of the model. The file is written as a whole or not at
 * all. A calibration is dropped with a warning. RW_ERR_ARGUMENT: unknown format, invalid
 * feature_base, or `featureset` and `name` are set for a format that does not use them or missing
 * for a format with by_set. RW_ERR_UNSUPPORTED: the format cannot represent the model; the message names the
 * tree, the node and the reason. Most formats lack categorical splits, and some lack
 * vocabularies. */
RW_API int rw_model_export(struct rw_ctx *ctx, const struct rw_model *model,
                           const struct rw_exchange *how, const char *path);
/* Reads a model of another program. Float values reach the same leaves as in that program. Leaf
 * values are rounded to float. A base score becomes a first tree of one leaf. Categories become a
 * vocabulary. The caller frees *out with rw_model_free. path NULL: only checks `how`.
 * RW_ERR_FORMAT: damaged, or not representable by Rankwood trees (the message explains why).
 * RW_ERR_ARGUMENT: unknown format, or one that cannot be imported. */
RW_API int rw_model_import(struct rw_ctx *ctx, const char *path, const struct rw_exchange *how,
                           struct rw_model **out);
struct rw_verify_by {
    const char *consumer; /* program whose rules were used, such as "XGBoost"; static */
    char rules[192];      /* the rules in words */
    int earlier;          /* 1: an earlier version of that program, with a bug that is now fixed */
    uint32_t n_docs;
    /* Documents that reach another leaf in any tree, or whose score differs by more than rounding
     * in the program's number format: trees * 2^-24 (double: 2^-53) * sum of |leaf|. */
    uint32_t n_differ;
    uint32_t doc;     /* the first such document */
    int tree, node;   /* where it differs: tree from 1, node from 0; tree 0: only in the score */
    double most;      /* the largest difference of scores */
    uint64_t n_pairs; /* pairs of documents of a query */
    /* pairs whose order changed: reversed, or tied in only one of the two rankings */
    uint64_t n_pairs_moved;
};
enum { RW_VERIFY_MOST = 4 };
struct rw_verify {
    int n;
    struct rw_verify_by by[RW_VERIFY_MOST]; /* [n] */
    int read_back; /* 1: scored the exported file; 0: scored the converted trees in memory */
};
/* Reads an exported file and scores the data by the rules of each program that reads the format.
 * Compares with the scores of `model`. RW_ERR_FORMAT: the trees of the file have other splits and
 * leaves than those of the model. */
RW_API int rw_model_verify(struct rw_ctx *ctx, const struct rw_model *model,
                           const struct rw_exchange *how, const char *path,
                           const struct rw_dataset *dataset, struct rw_verify *out);

/* ---- output files, written as a whole or not at all ---- */
/* Returns 1 if two paths are the same file, or would create the same: neither exists, and folder
 * and name are equal. "-", devices and pipes are never the same file. */
RW_API int rw_same_file(const char *a, const char *b);
struct rw_out_file {
    FILE *file; /* write here */
    /* owned; temporary is NULL for standard output, a pipe or a device, which are written
     * directly */
    char *path, *temporary;
    uint64_t n_reserved; /* reserved bytes of disk space */
};
/* Opens PATH.tmp-PID in the folder of `path`, or of its target if it is a link. "-" is standard
 * output. First removes such files that killed processes left. Files in use stay, also those of
 * processes on other machines if the file system supports locks. RW_ERR_IO: a directory, a missing
 * folder and so on. out NULL: only checks that `path` could be opened. */
RW_API int rw_out_file_open(struct rw_ctx *ctx, struct rw_out_file *out, const char *path);
/* Reserves disk space for n_bytes, if the file system supports it. RW_ERR_MACHINE, RW_ERR_IO: not
 * enough space. */
RW_API int rw_out_file_reserve(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n_bytes);
/* Changes the final name to PATH with this suffix. */
RW_API int rw_out_file_rename(struct rw_ctx *ctx, struct rw_out_file *out, const char *suffix);
/* Flushes, syncs and renames the file. Any failure, such as a full disk, removes the temporary
 * file. */
RW_API int rw_out_file_commit(struct rw_ctx *ctx, struct rw_out_file *out);
/* Removes the temporary file; no effect after commit and on a zeroed struct. NULL: removes the
 * temporary files of this process, at most 16, and does nothing else. This is safe in the handler
 * of a fatal signal. */
RW_API void rw_out_file_abandon(struct rw_out_file *out);

/* ---- click logs: labels and propensities ----
 *
 * A click log has a line for each document that was displayed in a session: session, query,
 * document, displayed position from 1, and click (0 or 1). It is CSV or TSV, plain or gzip, with or
 * without a header. Fields may be quoted (RFC 4180). */

/* How to judge a log: `struct rw_judge how = RW_JUDGE_DEFAULTS;` */
struct rw_judge {
    const char *model;        /* "pbm" (positions), "dbn" (cascade) or "ctr" (no correction) */
    const char *columns;      /* names or numbers (from 1) of session, query, document, position and
                                 click, with commas between them; the last four if the log has no
                                 sessions, which "dbn" needs */
    const char *thresholds;   /* smallest rates of the grades 1, 2, ..., rising, with commas between
                                 them; NULL: chosen from the rates (rw_judged.threshold) */
    uint64_t min_impressions; /* documents with fewer impressions in a query get no label, from 1 */
    double prior;             /* strength of the mean rate, in examined impressions, 0 to 1e6 */
    int use_satisfaction;     /* "dbn": 1: a rate is that of clicks that end the search, with a
                                 probability of its own for each document */
};
#define RW_JUDGE_COLUMNS "session,query,document,position,click"
#define RW_JUDGE_DEFAULTS                         \
    {                                             \
        "pbm", RW_JUDGE_COLUMNS, NULL, 10, 1.0, 0 \
    }
enum { RW_JUDGE_MAX_GRADE = 31, RW_JUDGE_GRADES = 4, RW_JUDGE_MAX_POSITIONS = 256 };
/* A displayed position. low, high: the 95 % interval of the propensity. */
struct rw_judged_position {
    uint32_t position;
    uint64_t n_impressions, n_clicks;
    double propensity; /* examinations, relative to those of the first position */
    double low, high;
};
/* A document of a query. low, high: the 95 % interval of the rate, for given propensities. */
struct rw_judged_label {
    const char *query, *document;
    int grade; /* number of thresholds that are at most `rate` */
    uint64_t n_impressions, n_clicks;
    double n_examined; /* expected number of examined impressions */
    double rate;       /* clicks, or those that end the search, per examined impression */
    double low, high;
};
struct rw_judged {
    uint64_t n_impressions, n_clicks;
    uint32_t n_sessions; /* 0: the log has no sessions */
    uint32_t n_queries, n_positions, n_labels;
    uint32_t n_left_out; /* documents of queries with fewer impressions than min_impressions */
    int n_thresholds;
    double threshold[RW_JUDGE_MAX_GRADE]; /* [n_thresholds] smallest rate of the grades from 1 */
    int n_passes;                         /* passes of the estimation over the log */
    double mean_rate;                     /* mean over all impressions, which the prior has */
    double continuation; /* "dbn": probability to continue without satisfaction; else NaN */
    const struct rw_judged_position *position; /* [n_positions] rising */
    const struct rw_judged_label *label; /* [n_labels] by query and document, by their bytes */
};
/* Checks `how`, as rw_judge_new does. */
RW_API int rw_judge_check(struct rw_ctx *ctx, const struct rw_judge *how);
/* Estimates, from a click log, how often each document of a query would be clicked if it were
 * examined, and how often each position is examined. The result is identical for any number of
 * threads. The caller frees *out with rw_free. RW_ERR_ARGUMENT: a member of `how` is out of range.
 * RW_ERR_PARSE: a malformed line. RW_ERR_DATA: the log does not determine the estimates, as it has
 * no clicks, only clicks, a session twice, or the same documents always at the same positions. */
RW_API int rw_judge_new(struct rw_ctx *ctx, const struct rw_judge *how, const char *const *paths,
                        int n_paths, struct rw_judged **out);
/* Writes the labels as TSV with a header: query, document, grade, rate, low, high, impressions,
 * clicks. A query or document that begins with a quote is quoted. */
RW_API int rw_judged_write_labels(struct rw_ctx *ctx, const struct rw_judged *judged,
                                  struct rw_out_file *out);
/* Writes lines "POSITION PROPENSITY" for the parameter `propensities`, which limits them to 1/1024
 * to 1024. */
RW_API int rw_judged_write_propensities(struct rw_ctx *ctx, const struct rw_judged *judged,
                                        struct rw_out_file *out);

/* An estimate with its 95 % interval over queries; the interval is NaN for one query. */
struct rw_click_estimate {
    double mean, low, high;
};
/* What clicks at displayed positions say about a ranking. A clicked document counts 1 / log2(1 +
 * its rank), up to rank k. */
struct rw_click_eval {
    uint32_t k, n_queries;
    double clip; /* largest weight of a click */
    uint64_t n_clicks, n_clipped;
    uint64_t n_uncovered;            /* documents whose displayed position has no propensity */
    uint64_t n_top, n_top_uncovered; /* documents of ranks 1 to k; those of them without one */
    double effective;                /* clicks of equal weight with the same variance */
    struct rw_click_estimate plain;  /* DCG@k of clicks per query, without weights */
    struct rw_click_estimate ips;    /* each click has the weight min(1 / propensity, clip) */
    struct rw_click_estimate snips;  /* weighted mean of the discount of a click, 0 to 1 */
};
/* Estimates DCG@k from clicks: documents with a label above 0. The data set must have displayed
 * positions; users saw no document at a position without propensity. propensities: a file as the
 * parameter of that name has. scores: [n_docs]. k: at least 1. RW_ERR_DATA: there are no clicks, or
 * one is at a position without propensity. */
RW_API int rw_evaluate_clicks(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                              const double *scores, const char *propensities, uint32_t k,
                              double clip, struct rw_click_eval *out);

/* ---- benchmarks and machine checks ---- */
enum rw_bench_kind {
    RW_BENCH_TEXT,
    RW_BENCH_INTEGER,
    RW_BENCH_REAL,
    RW_BENCH_NONE /* does not apply: null */
};
struct rw_bench_field {
    const char *name; /* "median_ms" */
    enum rw_bench_kind kind;
    const char *text; /* RW_BENCH_TEXT */
    double number;    /* RW_BENCH_INTEGER, RW_BENCH_REAL */
    int decimals;     /* RW_BENCH_REAL: decimals worth printing */
};
/* A row of a table. All rows of a table have the same fields. The first row of a benchmark is the
 * only row of table "device". The last rows may be a table "bars", which compares results with
 * required values. Quick runs lack this table, and most suites send it only for their default
 * inputs. */
struct rw_bench_row {
    const char *suite, *table;
    int n_fields;
    const struct rw_bench_field *field; /* [n_fields] */
};
/* Receives a row; texts are valid during the call. Nonzero stops the benchmark. */
typedef int (*rw_bench_row_fn)(void *user, const struct rw_bench_row *row);
/* Options of rw_bench. In suites "far" and "workers", `shape` has no effect. */
struct rw_bench_options {
    /* for "train": trees (NULL), grow, text, far or workers; for "load" and "predict": NULL */
    const char *suite;
    uint64_t seed;      /* for generated inputs */
    int quick;          /* 1: small inputs and few runs, as a functional test */
    const char *shape;  /* of generated data, as in rw_synth; NULL: the suite's default */
    uint32_t n_queries; /* queries of generated data, 1 to 10^7; 0: the suite's default */
    /* suite "workers": number of workers to compare with one; 0: 2; other suites: must be 0 */
    uint32_t n_workers;
    /* Parameters that replace those of the suite, or NULL. "load" uses only bins and threads,
     * "predict" only threads. Others are reported (enum rw_no_effect). */
    struct rw_params *params;
};
/* Runs a suite of a benchmark on generated data. RW_ERR_ARGUMENT: unknown benchmark or suite, or an
 * invalid option. RW_ERR_UNSUPPORTED: several workers. RW_ERR_INTERRUPTED: `row` stopped it. For
 * other errors, see rw_train. The benchmarks:
 *
 *   train    Trains on the device of parameter `device`.
 *   load     Reads text and its cache on the CPU, with one thread and with all threads of the
 *            context.
 *   predict  Scores dense documents in memory. */
RW_API int rw_bench(struct rw_ctx *ctx, const char *bench, const struct rw_bench_options *options,
                    rw_bench_row_fn row, void *user);
/* Describes this machine. Checks that the CPU, with each instruction set, and each GPU train models
 * that are identical to those of a reference engine. Takes 1 to 2 seconds plus the time to open
 * each GPU. *n_wrong: number of rows of table `check` with the result "differs" or "failed".
 * RW_ERR_INTERRUPTED: `row` stopped it. Tables have one row, except `gpu`, `check` and `auto`.
 * Unknown fields are RW_BENCH_NONE. These are the tables.
 *
 *   program    Version, build and operating system.
 *   cpu        Name, processors and their limits (affinity, control group and its file, Slurm).
 *              Threads of 'auto' and the reason. Instruction sets and the one in use.
 *              RANKWOOD_ISA.
 *   memory     System memory, the control group's limit and its file. Memory that this
 *              process can still get, and what limits it.
 *   cuda       CUDA version of the build and the oldest driver for it. The driver and the newest
 *              CUDA version it supports. CUDA_VISIBLE_DEVICES and RANKWOOD_TUNING. Number of
 *              visible GPUs, or the reason why no GPU is visible.
 *   gpu        Per GPU: name, compute capability, memory, multiprocessors, clocks and shared memory
 *              per block. The tuning constants in use and whether they were measured. Whether it is
 *              a MIG instance.
 *   libraries  Files of the MPI module and NCCL, unknown if missing. Why NCCL is missing.
 *   check      Per instruction set and GPU: trains two models of two trees on generated data, one
 *              with `split` mart and one with newton. "ok" means that both are identical to the
 *              models of the reference engine (device "ref"). Other results are "differs: ...",
 *              "failed: ...", and "not used: ..." for a GPU that is too old.
 *   auto       For some data sizes: expected ms per tree on CPU and GPU, and the choice of `auto`
 *              with the reason. */
RW_API int rw_doctor(struct rw_ctx *ctx, rw_bench_row_fn row, void *user, int *n_wrong);
/* Writes three lines about the build to text: [size], truncated to fit. They are the kind of build
 * with compiler and processor; CUDA version and architectures; and instruction sets with the one in
 * use. */
RW_API void rw_build_text(char *text, size_t size);
#ifdef __cplusplus
}
#endif
#endif
