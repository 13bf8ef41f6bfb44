/* Models in the formats of other programs.
 *
 * A consumer is a program that reads a format. An ensemble represents a model in a consumer's
 * terms, with the consumer's thresholds, comparison and column ids. Lowering a model makes an
 * ensemble by the consumer's rules (lower.c). Raising an ensemble makes a model (ensemble.c). To
 * verify an exported file, exchange.c compares the scores of its ensemble with the model's. The
 * source file of a format only prints and parses ensembles. It decides nothing about scores.
 *
 * To add a format, write convert/to_<name>.c, which defines rw_to_<name>, a struct rw_model_format.
 * This struct has the rules of the format's consumers, a `write` function, and a `parse` function
 * if files can be imported or verified. Then add a row to formats.def. The build, the command line,
 * the help, the property tests (tests/unit/test_exchange.c) and the fuzz target read formats.def.
 *
 * A `parse` function must withstand hostile files. It checks counts against the bytes that are
 * left. Its callers check the trees by rw_ensemble_check. `parse` refuses any property of the file
 * that a model cannot represent exactly, and names the property (RW_ERR_FORMAT). Leaf values are
 * the exception: rw_raise rounds them to float. */
#pragma once

#include <jansson.h>
#include <stdlib.h>

#include "model/model.h"

/* The type of a number: float or double. */
enum rw_width { RW_F32, RW_F64 };

/* Where NaN goes at a node. */
enum rw_nan {
    RW_NAN_FALSE, /* the comparison with NaN is false, so it goes right */
    RW_NAN_ZERO,  /* NaN is read as 0 */
    RW_NAN_LEFT,  /* NaN goes left */
    RW_NAN_RIGHT, /* NaN goes right */
    /* NaN and values within RW_ZERO_BAND of 0 go left, or right (LightGBM's missing type Zero). */
    RW_NAN_ZERO_LEFT,
    RW_NAN_ZERO_RIGHT
};
#define RW_ZERO_BAND 1e-35f /* LightGBM's kZeroThreshold, also a float */

/* The value of a feature that is absent from a document. */
enum rw_absent_rule {
    RW_ABSENT_ZERO,
    RW_ABSENT_NAN,
    RW_ABSENT_AS_MODEL /* the caller passes all values, so absent ones are as in the model */
};

/* The rules by which another program scores a document. They are data, so that one function lowers
 * models for all programs, one converts all ensembles to models, and one verifies all files. If all
 * members are 0, all numbers are floats, `value <= threshold` goes left, a comparison with NaN is
 * false, and an absent feature is 0. */
struct rw_rules {
    enum rw_width value;     /* of a feature in a comparison; data are floats */
    enum rw_width threshold; /* as it is stored */
    enum rw_width sum;       /* of the sum over trees, in their order */
    int less;                /* 1: left when value < threshold; 0: <= */
    float slack;             /* > 0: values are compared with threshold + slack, added in float */
    int nan_by_node;         /* 1: each node has a rule for NaN; 0: `nan` applies */
    enum rw_nan nan;         /* RW_NAN_FALSE or RW_NAN_ZERO; unused if nan_by_node is 1 */
    enum rw_absent_rule absent;
    int band_is_zero;     /* 1: values within RW_ZERO_BAND of 0 are read as 0 (LightGBM's rows) */
    int listed_right;     /* 1: listed categories go right, 0: left */
    int missing_unlisted; /* 1: missing values go to the side of unlisted categories */
    int unknown_missing; /* 1: in a column of words, a word that the file lacks is read as a missing
                            value; 0: as an unlisted category */
    int lists_none;      /* 1: a split may list no category; 0: it then gets a threshold */
    int base_ignored;    /* 1: the program ignores the file's base score */
    uint32_t first_column; /* the lowest possible column id: 0 or 1 */
};
/* The rules of programs that read values and add leaves in double, and whose nodes have a side for
 * missing values. */
#define RW_DOUBLE_RULES .value = RW_F64, .sum = RW_F64, .nan_by_node = 1

RW_SCOPED_BY(json_decref)

/* A split, or a leaf if left < 0. */
struct rw_ens_node {
    /* Node indexes in the tree. A value goes left if the comparison with the threshold holds. For
     * categories, listed_right of the rules decides. */
    int32_t left, right;
    uint32_t column;     /* of a split, by the program's column ids */
    uint8_t less;        /* 1: value < threshold; 0: <= */
    uint8_t nan;         /* enum rw_nan */
    uint8_t by_category; /* 1: `listed` decides; 0: `threshold` */
    double threshold;    /* of a split; as written in the file */
    double value;        /* of a leaf, before it is multiplied by the tree's weight */
    double gain;         /* of a split; 0: unknown */
    double docs;         /* the node's cover: documents, or the program's weight for SHAP values */
    double hessian;    /* sum of the documents' hessians; equal to docs in formats with one cover */
    uint8_t has_cover; /* 0: docs and hessian are unknown */
    uint32_t n_listed; /* number of listed categories */
    uint32_t *listed;  /* [n_listed] ascending; NULL if empty */
};
/* A tree. Node 0 is the root. Nodes without a parent are allowed (XGBoost's deleted ones). A
 * lowered tree has its splits first, then its leaves. */
struct rw_ens_tree {
    int32_t n_nodes;          /* >= 1 */
    struct rw_ens_node *node; /* [n_nodes] */
    size_t room;              /* allocated nodes */
    double weight;            /* a factor for all leaves */
};
/* The categories of a column. In a column of words, categories are texts, and nodes store the index
 * of a word. In a column of numbers, nodes store the category's number in the data. */
struct rw_ens_categories {
    uint8_t is_one;    /* 0: the column is numerical */
    uint32_t n;        /* number of known categories; 0 if the file does not list them */
    uint32_t *number;  /* [n] ascending; in a column of words: 0, 1, ... */
    const char **word; /* [n] NULL: a column of numbers */
};
/* A model in another program's terms. Its arena owns everything except model_name and config. */
struct rw_ensemble {
    int32_t n_trees;
    struct rw_ens_tree *tree; /* [n_trees] */
    size_t room;              /* allocated trees */
    struct rw_arena arena;
    double base;        /* a term of every score */
    uint32_t n_columns; /* columns first_column, first_column + 1, ...; 0: unknown number */
    uint32_t first_column;
    const char **column_name; /* [n_columns] NULL: no names; an element is NULL for a column without
                                 a name */
    /* [n_columns] 1: the training set had the column, or a lowered tree uses it; NULL: unknown */
    unsigned char *column_had;
    struct rw_ens_categories *categories; /* [n_columns] NULL: all columns are numerical */
    const char *model_name;               /* NULL if not given; borrowed */
    const char *store; /* the feature set's store, for formats with `has_store`, or NULL */
    json_t *config;    /* the used features for formats with `has_queries`, or NULL; owned */
    const struct rw_model_format *format; /* the target of lowering; NULL: it was read */
};
/* Returns the categories of a column, or NULL for a numerical column. */
static inline const struct rw_ens_categories *rw_ens_categories_of(const struct rw_ensemble *e,
                                                                   uint32_t column)
{
    return e->categories && column - e->first_column < e->n_columns &&
                   e->categories[column - e->first_column].is_one
               ? &e->categories[column - e->first_column]
               : NULL;
}
/* Returns 1 if the node lists the category. */
static inline int rw_ens_lists(const struct rw_ens_node *node, uint32_t category)
{
    const uint32_t at = rw_numbers_under(node->listed, node->n_listed, category);
    return at < node->n_listed && node->listed[at] == category;
}
/* Returns the number of splits of a tree whose root reaches all nodes, such as a lowered tree. */
static inline int32_t rw_ens_n_splits(const struct rw_ens_tree *tree)
{
    return tree->n_nodes / 2;
}

/* An ensemble that is being made, from a file or from a model. `status` is the first failure; later
 * failures are not reported. Functions that add to the ensemble do nothing after a failure. Other
 * reading functions may still return values, so loops must check `status`. */
struct rw_source {
    struct rw_ctx *ctx;
    const char *path; /* begins each message; NULL, as is `text`, for a model */
    const char *text; /* [n], followed by a 0 */
    size_t n;
    /* When a file is verified, the ensemble from which it was written; else NULL. It has the
     * columns for formats that identify a column by name alone. */
    const struct rw_ensemble *names;
    int status; /* RW_OK, or the first failure */
    /* the expected format; NULL for files that are not models, such as feature sets */
    const struct rw_model_format *format;
    struct rw_ensemble *out; /* the result; its arena owns what parsers allocate */
};

/* A growing text, or bytes. Initialise it with zeros. After a failure nothing more is appended. */
struct rw_put {
    struct rw_ctx *ctx;
    char *text; /* [n] owned */
    size_t n, room;
    int status; /* the first failure */
};

/* A consumer: a program that reads files of a format, and its rules. */
struct rw_consumer {
    const char *name; /* "XGBoost" */
    struct rw_rules rules;
    int earlier; /* 1: an older version with a known bug; a difference is reported but is not a
                    failure */
};

/* How a format can represent a categorical split. */
enum rw_says_categories {
    RW_SAYS_NO_CATEGORIES, /* not at all */
    /* by numbers, if all words of the feature are whole numbers up to most_category; else not */
    RW_SAYS_NUMBERS,
    RW_SAYS_WORDS /* by numbers for such features, and by words for all others */
};

/* The names of columns in a file. */
enum rw_names {
    RW_NAMES_NONE,  /* the format has no names */
    RW_NAMES_GIVEN, /* if the model has names, as RW_NAMES_ALL; else no names are written */
    RW_NAMES_ALL,   /* every column has the model's name for it, or else a generated name */
    RW_NAMES_SET    /* used columns have names of a feature set; without a set, as RW_NAMES_ALL, but
                       without the column 0 that LETOR text lacks */
};

struct rw_model_format {
    const char *name;  /* "ranklib" */
    const char *about; /* a description in one line */
    /* The rules of the first consumer determine the file. A NULL name ends the list. */
    struct rw_consumer consumer[RW_VERIFY_MOST + 1];
    enum rw_names names;
    int has_queries; /* 1: with RW_NAMES_SET, the file contains the queries of the features */
    /* 1: with RW_NAMES_SET, the set has features of Solr, and may be missing, like the model's
     * name */
    int has_store;
    /* Prefix of generated names: "v" gives v0, v1, ..., and import ignores such names. NULL:
     * "f". */
    const char *name_prefix;
    /* Characters that names must not contain, in addition to control characters, or NULL. */
    const char *name_forbids;
    int imports; /* 1: `rankwood import` reads the format */
    int covers;  /* 1: the format's readers compute SHAP values from the covers in the file */
    enum rw_says_categories categories;
    uint32_t most_category; /* highest category number */
    /* Appends the file to *put. Returns put->status. */
    int (*write)(const struct rw_ensemble *ensemble, struct rw_put *put);
    /* Reads a file into source->out, and returns source->status. NULL: only the lowered
     * ensemble can be verified, not the file. */
    int (*parse)(struct rw_source *source);
};
#define RW_MODEL_FORMAT(name, file) extern const struct rw_model_format rw_to_##name;
#include "convert/formats.def"
#undef RW_MODEL_FORMAT
/* Returns the i-th format, from 0, or NULL after the last. (exchange.c) */
const struct rw_model_format *rw_model_format_at_index(int i);
/* Finds a format by name. RW_ERR_ARGUMENT: the name is unknown; a hint has a similar name, if there
 * is one. (exchange.c) */
int rw_model_format_find(struct rw_ctx *ctx, const char *name, const struct rw_model_format **out);

/* ---- ensembles (ensemble.c) ---- */
/* Releases an ensemble in any state. One that is initialised with zeros is empty. */
void rw_ensemble_release(struct rw_ensemble *ensemble);
/* Returns a category's word, or its number as text. of: the column's categories, or NULL for a
 * number. decimal: room for the text of a number. */
const char *rw_ens_word(const struct rw_ens_categories *of, uint32_t category, char decimal[16]);
/* Checks that the trees are valid. Each must have a node and a finite weight. All children must
 * exist, and the root must reach each node at most once. No threshold may be NaN, and leaf values
 * times the tree's weight must fit a float. Listed categories must ascend, and have words in
 * columns of words. The base score must be finite. RW_ERR_FORMAT: the ensemble is invalid; the
 * message begins with `path` and names the tree and the node, such as "PATH: tree 3, node 4: ...".
 */
int rw_ensemble_check(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, const char *path);

/* ---- rules (ensemble.c) ---- */
/* Returns 1 if a value (NaN: missing) goes left at a split. */
int rw_rules_left(const struct rw_rules *rules, const struct rw_ens_node *node, float value);

/* Finds the consumer's threshold that splits values exactly as `value <= cut` does, and returns 1.
 * If there is no such finite threshold, returns 0, and *threshold is near the exact one, perhaps
 * infinite. */
int rw_rules_threshold(const struct rw_rules *rules, float cut, double *threshold);

/* Returns the largest float at or below t (strictly: below t), or -INFINITY if there is no such
 * float. -0 counts as 0. */
float rw_float_below(double t, int strictly);

/* Finds the model's threshold that splits floats as the consumer's numerical node does, and whether
 * missing values go left. The threshold is -INFINITY if no float goes left. Returns NULL if a model
 * can represent the node, else a description of the node's behaviour for the message. */
const char *rw_rules_cut(const struct rw_rules *rules, const struct rw_ens_node *node, float *cut,
                         uint8_t *missing_left);

/* Describes the rules in one line: "float value < float threshold goes left, ...". */
void rw_rules_text(const struct rw_rules *rules, char *text, size_t size);

/* ---- feature sets (feature_set.c) ---- */
/* A feature set: a named list of features that the learning-to-rank plugins of OpenSearch and
 * Elasticsearch store, and to whose names a model there refers. Or a `learning_to_rank`
 * configuration of Elasticsearch itself, which has such a list. Initialise it with zeros. It can be
 * released in any state. */
struct rw_feature_set {
    const char *path;       /* for messages; borrowed */
    json_t *body;           /* the file's JSON; owned */
    const json_t *features; /* [n] in `body`, with unique names */
    uint32_t n;
    json_t *index;          /* maps a name, also in the form of a model file, to its index; owned */
    int is_config;          /* 1: a `learning_to_rank` configuration */
    const json_t *defaults; /* its `default_params`, in `body`; NULL if missing */
    int is_solr;            /* 1: features of Solr, which have a class */
    const char *store;      /* their store, in `body`; NULL: the default one */
};
/* Reads a feature set in any form that the plugin returns or accepts: the response to GET
 * _ltr/_featureset/NAME, the response's member `_source`, a search response with a single hit, or
 * the request body that created the set. Reads a configuration from the response to GET
 * _ml/trained_models/NAME, from the request body that created the model, or alone. Reads features
 * of Solr from the response to GET schema/feature-store/NAME, or as the array that was uploaded.
 * RW_ERR_FORMAT: the file has a different form, or a name is missing or repeated; the message
 * begins with the path. */
int rw_feature_set_read(struct rw_ctx *ctx, const char *path, struct rw_feature_set *out);
void rw_feature_set_release(struct rw_feature_set *set);
const char *rw_feature_set_name(const struct rw_feature_set *set, uint32_t i);
/* Finds the feature that a model calls `name`, and returns the set's name of it, or NULL. */
const char *rw_feature_set_find(const struct rw_feature_set *set, const char *name);
/* Fails if the file's form is not one of those that the format needs. */
int rw_feature_set_check_form(struct rw_ctx *ctx, const struct rw_feature_set *set,
                              const struct rw_model_format *format);
/* Appends the set's feature `name` to the configuration *config, which is made if it is NULL. The
 * caller owns *config. RW_ERR_FORMAT: the feature has no query, or an invalid `default_score`. */
int rw_feature_set_extract(struct rw_ctx *ctx, const struct rw_feature_set *set, const char *name,
                           json_t **config);

/* ---- between models and ensembles (lower.c, ensemble.c) ---- */
/* How to lower a model. base is the feature that gets the format's first id; -1: all ids stay.
 * lossy matters if the format cannot represent directions of missing values, feature names or
 * thresholds of the model. If lossy is 1, these directions and names are dropped, and these
 * thresholds become the nearest possible ones. Each of the three causes a warning. If lossy is 0,
 * the model is refused. Models with other properties that the format cannot represent are always
 * refused. */
struct rw_lowering {
    int base, lossy;
    const struct rw_feature_set *set; /* for RW_NAMES_SET; NULL: names as for RW_NAMES_ALL */
    const char *model_name;           /* for formats that have one, or NULL */
    /* 1: the model has one tree for each kind of split that training may produce
     * (rw_exchange_check), so that messages name a feature instead of a node */
    int of_features;
    const char *lossy_by; /* the name of `lossy` in hints; NULL: "--lossy" */
};
/* Lowers a model. The caller releases *out (rw_ensemble_release), even on failure. */
int rw_lower(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_model_format *format,
             const struct rw_lowering *how, struct rw_ensemble *out);
/* Rewrites a model for a format whose readers send missing values where unlisted categories go.
 * *out is a model with equal scores, which the caller frees, or NULL if no tree must be rewritten.
 */
int rw_part_missing(struct rw_ctx *ctx, const struct rw_model *model,
                    const struct rw_model_format *format, struct rw_model **out);
/* Returns 1 if the lowered node has the children of the tree's node in reverse order. If `value <
 * threshold` goes left, no finite threshold sends all floats left. A split of missing values from
 * all others then has the lowest float as its threshold, and exchanges its children. by_category: 1
 * if the lowered node lists categories, 0 if it has a threshold. */
int rw_is_swapped(const struct rw_model *model, const struct rw_tree *tree, int32_t node,
                  const struct rw_rules *rules, int by_category);
/* Writes the generated name of a column without a name, such as "f7", to `name`: [size]. */
void rw_made_up_name(const struct rw_model_format *format, uint32_t column, char *name,
                     size_t size);
/* Returns the name of the i-th column, from 0, or NULL if it has no name or a generated one. */
const char *rw_ens_own_name(const struct rw_ensemble *ensemble,
                            const struct rw_model_format *format, uint32_t i);
/* Raises an ensemble that rw_ensemble_check has checked: makes a model. base: as in struct
 * rw_lowering; path: for messages. Leaves and the base score are rounded to float; a note reports
 * how many changed. A base score that is not 0 becomes a first tree of one leaf, unless the
 * consumer ignores base scores. */
int rw_raise(struct rw_ctx *ctx, const struct rw_ensemble *ensemble,
             const struct rw_model_format *format, int base, const char *path,
             struct rw_model **out);
/* Returns the model's feature of a column, or -1 if its id would be out of range. base: as in
 * struct rw_lowering. */
int64_t rw_column_feature(const struct rw_rules *rules, int base, uint32_t column);

/* ---- writing (source.c) ---- */
void rw_put_bytes(struct rw_put *put, const void *bytes, size_t n);
void rw_put_text(struct rw_put *put, const char *text);
void rw_put_release(struct rw_put *put);
/* Appends formatted text, with these conversions, without further flags, widths or precisions:
 *   %s, %c, %d, %u, %zu and %x are as in printf.
 *   Use %1s for a JSON string. Invalid UTF-8 is refused (put->status).
 *   Use %-s for an XML attribute. U+FFFE and U+FFFF are refused.
 *   Use %f for a float and %lf for a double, which must be finite. Each is written with the fewest
 *   digits that read back as the same number. It always has a point or an exponent, so that
 *   readers do not take it for an integer. */
void rw_put_format(struct rw_put *put, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Writes the names of columns as JSON strings, with commas between them. Each has the text `before`
 * and the text `after` around it. */
void rw_put_names(struct rw_put *put, const struct rw_ensemble *ensemble, const char *before,
                  const char *after);
/* Refuses a property that the format cannot represent: RW_ERR_UNSUPPORTED. Returns put->status. */
int rw_put_refuse(struct rw_put *put, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A node during a walk. */
struct rw_visit {
    const struct rw_ensemble *ensemble;
    const struct rw_ens_tree *tree;
    const struct rw_ens_node *node;
    int32_t at, parent; /* node indexes in the tree; parent: -1 for the root */
    int32_t depth;      /* 0 for the root */
    /* Numbers of the node and of its children. The root is 0. Each split gives its children the
     * next two numbers when `begin` is called for it. child is unused in a leaf. */
    int32_t number, child[2];
};
/* How to write a tree as nested texts. */
struct rw_walk {
    /* Writes a leaf, or the text before the first child of a split. */
    void (*begin)(struct rw_put *put, const struct rw_visit *visit, const void *user);
    const char *middle, *end; /* texts between the children, and after the second child */
    /* Writes text after the second child, in place of `end`; NULL to write `end`. */
    void (*finish)(struct rw_put *put, const struct rw_visit *visit, const void *user);
    int32_t deepest; /* depth limit of the format's readers; 0: unlimited */
};
/* Walks a tree, left children first. Returns put->status. */
int rw_walk_tree(const struct rw_walk *walk, const struct rw_ensemble *ensemble, int32_t tree,
                 const void *user, struct rw_put *put);

/* ---- reading (source.c) ---- */
/* Returns n bytes as a number, the lowest byte first. */
static inline uint64_t rw_bits_at(const char *at, size_t n)
{
    uint64_t bits = 0;
    while (n > 0)
        bits = bits << 8 | (unsigned char)at[--n];
    return bits;
}
/* Refuses content that violates the format: RW_ERR_FORMAT with "PATH: ...", and "line 3: " if line
 * > 0. Returns source->status. */
int rw_refuse_line(struct rw_source *source, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define rw_refuse(source, ...) rw_refuse_line((source), 0, __VA_ARGS__)
/* Stores the status of a call in source->status if it is the first failure. Returns
 * source->status. */
int rw_keep(struct rw_source *source, int status);
/* Fails with RW_ERR_MEMORY. Returns source->status. */
int rw_source_no_memory(struct rw_source *source);
/* Parses a number and returns 1; returns 0 if the text is not one number in the range of a double.
 * text: [n]. */
int rw_is_number(const char *text, size_t n, double *out);

/* RW_READ_NEW allocates an array in the ensemble's arena, for parsers, and RW_READ_GROW grows one.
 * Both return the status, which the source stores. */
#define RW_READ_NEW(source, pointer, n) \
    rw_keep((source), RW_ARENA_NEW((source)->ctx, &(source)->out->arena, pointer, n))
#define RW_READ_GROW(source, pointer, room, n) \
    rw_keep((source), RW_ARENA_GROW((source)->ctx, &(source)->out->arena, pointer, room, n))

/* ---- ensembles that are being made (source.c) ---- */
/* Adds a tree of n_nodes leaves, all zero, with weight 1. The result is valid until the next tree
 * is added, and NULL after a failure. */
struct rw_ens_tree *rw_add_tree(struct rw_source *source, int32_t n_nodes);
/* Turns the leaf at index `at` into a split with two zeroed leaves. Returns source->status, as do
 * rw_set_columns, rw_add_name, rw_add_categories and rw_add_list. */
int rw_add_split(struct rw_source *source, struct rw_ens_tree *tree, int32_t at);
/* Makes room for the names and flags of n columns, at most RW_MAX_FEATURE + 2. */
int rw_set_columns(struct rw_source *source, uint64_t n);
int rw_add_name(struct rw_source *source, uint32_t column, const char *name);
/* Makes a column categorical, unless it is already. Its categories are either numbers or words,
 * which are copied; the other argument is NULL. number: [n], ascending; word: [n]. rw_set_columns
 * must precede this call. */
int rw_add_categories(struct rw_source *source, uint32_t column, const uint32_t *number,
                      const char *const *word, size_t n);
/* Copies n ascending numbers to a node's list of categories. */
int rw_add_list(struct rw_source *source, struct rw_ens_node *node, const uint32_t *category,
                size_t n);
/* Makes a node a split by n ascending categories. A column that is not yet categorical becomes a
 * column of numbers whose categories are not known. */
void rw_add_set(struct rw_source *source, struct rw_ens_node *node, const uint32_t *category,
                size_t n);
/* Sorts n records of `size` bytes and removes duplicates. Returns the number of records that
 * remain. */
size_t rw_sort_unique(void *all, size_t n, size_t size, int (*compare)(const void *, const void *));
/* Returns the column with the name in source->names, or fails and returns 0. */
uint32_t rw_named_column(struct rw_source *source, const char *name);
/* Reads a node from `from`, its JSON value or XML element, into `node`, which is zeroed except for
 * children of -1. Sets child to the values or elements of the children; both stay NULL for a
 * leaf. */
typedef void (*rw_read_node_fn)(struct rw_source *source, const void *from,
                                struct rw_ens_node *node, const void *child[2], void *user);
/* Adds the tree below `root`, and reads all children that `read` returns. Returns NULL after a
 * failure. */
struct rw_ens_tree *rw_read_tree(struct rw_source *source, const void *root, rw_read_node_fn read,
                                 void *user);

/* ---- JSON from untrusted files ---- */
/* Parses the file as an object or an array without repeated keys. The caller owns it (json_decref).
 * Returns NULL after a failure. flags: further flags of jansson. */
json_t *rw_json_load(struct rw_source *source, size_t flags);
/* Parses a part of the file. If it is not JSON, fills *error and returns NULL, but source->status
 * stays RW_OK. text: [n]; error: may be NULL. */
json_t *rw_json_load_part(struct rw_source *source, const char *text, size_t n, size_t flags,
                          json_error_t *error);
/* Parses Universal Binary JSON, in the subset that XGBoost writes and a little more. */
json_t *rw_ubjson_load(struct rw_source *source);

/* Return members of an object, borrowed. `object` may be NULL or any value. RW_ERR_FORMAT in
 * source->status: the member is missing or has another type. The result is then NULL or a value of
 * another type, both of which jansson's functions accept, or "" or 0. */
json_t *rw_json_object(struct rw_source *source, const json_t *object, const char *name);
/* n: the expected length of the array; < 0: any length. */
json_t *rw_json_array(struct rw_source *source, const json_t *object, const char *name, int64_t n);
const char *rw_json_text(struct rw_source *source, const json_t *object, const char *name);
int64_t rw_json_integer(struct rw_source *source, const json_t *object, const char *name,
                        int64_t least, int64_t most);
double rw_json_number(struct rw_source *source, const json_t *object, const char *name);
/* Returns a text without 0 bytes, or NULL if the value is not such a text. */
const char *rw_json_plain(const json_t *value);
/* Returns a whole number from least to most, which may be written as a real up to 1e15 or as true
 * (1) or false (0). Otherwise fails and returns 0. name: of the value or its array, for the
 * message. */
int64_t rw_json_whole(struct rw_source *source, const json_t *value, const char *name,
                      int64_t least, int64_t most);
/* Returns element i of an array, a number. name: of the array, for the message. */
double rw_json_number_at(struct rw_source *source, const json_t *array, const char *name, size_t i);
/* Returns 1 if the text is one of `words`, which are separated by single blanks. text: [n]. */
int rw_is_among(const char *text, size_t n, const char *words);

/* Returns the float from which a JSON number was written. value: the double that jansson read, the
 * nearest to the text. If this double is halfway between two floats, although the text was not, the
 * result is the float whose shortest decimal reads as this double. */
float rw_json_float(double value);

/* An XML element, parsed by expat. A DOCTYPE is refused, so a file cannot define entities. */
struct rw_xml {
    /* name: ends with a 0; then follow each attribute and its value, and an empty text. text:
     * [n_text] before the first child, without blanks around it; may be NULL. */
    char *name, *text;
    size_t n_text, room;
    /* child, last: the first and the last child. next: the next sibling. */
    struct rw_xml *parent, *child, *last, *next;
    uint64_t line; /* at which the element begins, from 1 */
};

/* Parses XML. text: [n], whose first line is line `line` of the file. Returns the root, which the
 * ensemble's arena owns, or NULL after a failure. */
struct rw_xml *rw_xml_parse(struct rw_source *source, const char *text, size_t n, uint64_t line);
/* Parses the number in an element's text or attribute. */
double rw_xml_number(struct rw_source *source, const struct rw_xml *element, const char *text);
/* Returns an element's text without surrounding blanks, or "" if it is empty or has child
 * elements. */
const char *rw_xml_text(const struct rw_xml *element);
/* Returns an attribute, or NULL if it is missing. */
const char *rw_xml_attribute(const struct rw_xml *element, const char *name);
/* Returns the first child with this name, or NULL. The element may be NULL. */
struct rw_xml *rw_xml_child(const struct rw_xml *element, const char *name);

/* ---- CatBoost's numbers (to_catboost.c, whose head explains the words) and reader
 * (catboost_read.c) ---- */
/* RW_CATBOOST_CLASSES: most sets in the statistic of an entry, as Rankwood writes it.
 * RW_CATBOOST_A_BUCKET: most borders or values in one of CatBoost's buckets. */
enum { RW_CATBOOST_CLASSES = 32, RW_CATBOOST_A_BUCKET = 254 };
/* Returns the hash of a category's word. CatBoost treats a whole number as the word that is its
 * decimal. */
uint32_t rw_catboost_hash(const char *word);
/* Writes the identifier of an entry's statistic table, which is JSON and a key of ctr_data. */
void rw_catboost_identifier(int64_t entry, char text[128]);
/* Returns the key of the category with this hash in the table of a statistic of one feature. */
uint64_t rw_catboost_key(uint32_t hash);
/* Finds the hash of which this is the key. Returns 0 if the key is invalid. */
int rw_catboost_hash_of_key(uint64_t key, uint32_t *hash);
/* Writes a finite double as a decimal that CatBoost's reader and correct readers both parse as that
 * double. If the search finds no such decimal, writes the shortest that correct readers parse. */
void rw_catboost_put_double(struct rw_put *put, double value);
/* The `parse` of the format catboost. */
int rw_catboost_parse(struct rw_source *source);
