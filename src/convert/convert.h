/* Models in the formats of other programs.
 *
 * Between our trees and a file stands an ensemble in the other program's own terms: its thresholds,
 * its comparison, its column ids. lower.c makes one of a model by the consumer's rules, ensemble.c
 * a model of one, exchange.c scores one; a format only prints and parses it, and decides nothing.
 *
 * To add a format: (1) write convert/to_<name>.c, which defines rw_to_<name>, a struct
 * rw_model_format with its consumers' rules, its `write` and (to be read or verified) its `parse`;
 * (2) give it a row in formats.def. The build, the command line, the help and the property tests
 * (tests/unit/test_exchange.c, the fuzz target) read the table. A `parse` meets hostile files:
 * counts are checked against the bytes there are, children by rw_ensemble_check (which the callers
 * run), and what cannot be carried exactly is refused by name (RW_ERR_FORMAT). */
#pragma once

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/model.h"

/* How another program scores a document: as data, so that one function lowers our trees to it, one
 * takes its trees in, and one checks both. */
enum rw_width { RW_F32, RW_F64 };

/* Where NaN goes at a node. */
enum rw_nan {
    RW_NAN_FALSE, /* it is compared, which is false: right */
    RW_NAN_ZERO,  /* it is read as 0 */
    RW_NAN_LEFT,
    RW_NAN_RIGHT,
    RW_NAN_ZERO_LEFT, /* left, and so does a value within RW_ZERO_BAND of 0 (LightGBM's Zero) */
    RW_NAN_ZERO_RIGHT
};
#define RW_ZERO_BAND 1e-35f /* LightGBM's kZeroThreshold, a float there too */

/* What a feature is that a document does not mention. */
enum rw_absent_rule {
    RW_ABSENT_ZERO,
    RW_ABSENT_NAN,
    RW_ABSENT_AS_MODEL /* the caller hands over all values, and so decides: as in our model */
};

/* All zero: floats everywhere, `value <= threshold` left, NaN compared, absent is 0. */
struct rw_rules {
    enum rw_width value;     /* of a feature when it is compared; data are floats */
    enum rw_width threshold; /* as it is kept */
    enum rw_width sum;       /* leaves are added in, one tree after the other */
    int less;                /* 1: left when value < threshold; 0: <= */
    float slack;             /* > 0: the threshold is threshold + slack, in f32 */
    int nan_by_node;         /* 1: each node says where NaN goes; 0: `nan` does */
    enum rw_nan nan;         /* RW_NAN_FALSE or RW_NAN_ZERO */
    enum rw_absent_rule absent;
    int band_is_zero;      /* 1: a value within RW_ZERO_BAND of 0 is read as 0 (LightGBM's rows) */
    int listed_right;      /* 1: listed categories go right, 0: left */
    int missing_unlisted;  /* 1: missing goes where the categories go that are not listed */
    int unknown_missing;   /* 1: a word that the file does not have is missing */
    int lists_none;        /* 1: a split may list no category; 0: a threshold stands for it */
    int base_ignored;      /* 1: a base score in the file is not added */
    uint32_t first_column; /* the first id that a feature can have: 0 or 1 */
};

RW_SCOPED_BY(json_decref)

/* A split, or a leaf (left < 0). */
struct rw_ens_node {
    int32_t left, right; /* indexes of the tree's nodes; left is taken when the comparison holds */
    uint32_t column;     /* of a split, in the program's numbering */
    uint8_t less;        /* 1: value < threshold; 0: <= */
    uint8_t nan;         /* enum rw_nan */
    uint8_t by_category; /* 1: the comparison is whether the category is one of `listed` */
    double threshold;    /* as it is written */
    double value;        /* of a leaf */
    double gain;         /* of a split; 0: not known */
    double docs;       /* the node's cover: documents, or what the program counts for SHAP values */
    double hessian;    /* sum of their hessians; what has one number for both has it twice */
    uint8_t has_cover; /* 0: these two are not known */
    uint32_t n_listed; /* categories */
    uint32_t *listed;  /* [n_listed] ascending; NULL: none */
};
/* Node 0 is the root. A node may have no parent (XGBoost's deleted ones). A lowered tree has its
 * splits first, then its leaves. */
struct rw_ens_tree {
    int32_t n_nodes;          /* >= 1 */
    struct rw_ens_node *node; /* [n_nodes] */
    size_t room;
    double weight; /* its leaves are multiplied by it */
};
/* What is known of a column whose values are categories. In nodes a category is a number: the one
 * that stands in the data, or, of a column by words, the index of its word. */
struct rw_ens_categories {
    uint8_t is_one;    /* 0: the column's values are compared with thresholds */
    uint32_t n;        /* categories that are known */
    uint32_t *number;  /* [n] ascending */
    const char **word; /* [n] NULL: a column by numbers */
};
/* All that it points at is in its arena, but for model_name. */
struct rw_ensemble {
    int32_t n_trees;
    struct rw_ens_tree *tree; /* [n_trees] */
    size_t room;
    struct rw_arena arena;
    double base;        /* added to every score */
    uint32_t n_columns; /* ids from the format's first on; 0: the format does not count them */
    uint32_t first_column;
    const char **column_name;  /* [n_columns] NULL: no names; of a column: it has none */
    unsigned char *column_had; /* [n_columns] 1: the training set had it; NULL: not known */
    struct rw_ens_categories *categories; /* [n_columns] NULL: no column is one */
    const char *model_name;               /* NULL: none was given; borrowed */
    const struct rw_model_format *format; /* that it was lowered for; NULL: it was read */
};
/* NULL: the column's values are no categories. */
static inline const struct rw_ens_categories *rw_ens_categories_of(const struct rw_ensemble *e,
                                                                   uint32_t column)
{
    return e->categories && column - e->first_column < e->n_columns &&
                   e->categories[column - e->first_column].is_one
               ? &e->categories[column - e->first_column]
               : NULL;
}
static inline int rw_ens_lists(const struct rw_ens_node *node, uint32_t category)
{
    const uint32_t at = rw_numbers_under(node->listed, node->n_listed, category);
    return at < node->n_listed && node->listed[at] == category;
}
static inline int32_t rw_ens_n_splits(const struct rw_ens_tree *tree)
{
    return tree->n_nodes / 2;
}

/* A file that is parsed. After the first failure, which stays in `status`, whatever reads from it
 * gives 0, NULL or "", and reports nothing more; loops must end by themselves. */
struct rw_source {
    struct rw_ctx *ctx;
    const char *path; /* for messages, which begin with it */
    const char *text; /* [n], and a 0 behind it */
    size_t n;
    /* NULL, or what the file was written from: its names are for formats that know a column by its
     * name only */
    const struct rw_ensemble *names;
    int status;                           /* the first failure */
    const struct rw_model_format *format; /* that the file should have; NULL: of no model */
    struct rw_ensemble *out;              /* what is read; its arena has what readers allocate */
};

/* Text, or bytes, that grows. Zero-initialise; after a failure nothing is added any more. */
struct rw_put {
    struct rw_ctx *ctx;
    char *text; /* [n] owned */
    size_t n, room;
    int status; /* the first failure */
};

/* Who reads files of a format, and how. */
struct rw_consumer {
    const char *name; /* "XGBoost" */
    struct rw_rules rules;
    int earlier; /* 1: a version with a known fault, reported, but no reason to fail */
};

/* What a format can say of a split by categories. */
enum rw_says_categories {
    RW_SAYS_NO_CATEGORIES,
    RW_SAYS_NUMBERS, /* those that stand in the data: features whose words are all whole numbers */
    RW_SAYS_WORDS    /* the same, and words of other features */
};

enum rw_names {
    RW_NAMES_NONE,  /* the format has no names */
    RW_NAMES_GIVEN, /* names travel if the model has some */
    RW_NAMES_ALL,   /* every column has a name, made up if need be */
    RW_NAMES_SET    /* columns have the names of a feature set, if they are asked for */
};

struct rw_model_format {
    const char *name;  /* "ranklib" */
    const char *about; /* one line */
    /* The first one's rules shape the file; a NULL name ends them. */
    struct rw_consumer consumer[RW_VERIFY_MOST + 1];
    enum rw_names names;
    /* of made-up names: "v" makes v0, v1, ..., which import does not take for names; NULL: "f" */
    const char *name_prefix;
    /* characters that no name may have, besides control characters; NULL: none */
    const char *name_forbids;
    int imports; /* 1: rankwood import takes it */
    int covers;  /* 1: readers compute SHAP values from the covers of nodes that files have */
    enum rw_says_categories categories;
    uint32_t most_category; /* of numbers */
    int (*write)(const struct rw_ensemble *ensemble, struct rw_put *put);
    /* NULL: only what would be written can be verified, not what was */
    int (*parse)(struct rw_source *source);
};
#define RW_MODEL_FORMAT(name, file) extern const struct rw_model_format rw_to_##name;
#include "convert/formats.def"
#undef RW_MODEL_FORMAT
/* exchange.c: the i-th, NULL past the end; by name, or an error that says the nearest. */
const struct rw_model_format *rw_model_format_at_index(int i);
int rw_model_format_find(struct rw_ctx *ctx, const char *name, const struct rw_model_format **out);

/* --- ensembles (ensemble.c) --- */
/* Zero-initialised ensembles are empty; release in any state. */
void rw_ensemble_release(struct rw_ensemble *ensemble);
/* Adds a tree of n_nodes zeroed leaves and of weight 1; *out stays valid until the next one is
 * added. */
int rw_ensemble_add_tree(struct rw_ctx *ctx, struct rw_ensemble *ensemble, int32_t n_nodes,
                         struct rw_ens_tree **out);
/* Gives the leaf at an index two children, zeroed leaves. */
int rw_ensemble_split(struct rw_ctx *ctx, struct rw_ensemble *ensemble, struct rw_ens_tree *tree,
                      int32_t at);
/* Copies n numbers, ascending, to where a node lists its categories. */
int rw_ensemble_list(struct rw_ctx *ctx, struct rw_ensemble *ensemble, struct rw_ens_node *node,
                     const uint32_t *category, uint32_t n);
/* The categories of a column, made where it has none yet: numbers [n] ascending, or (NULL) words,
 * which are copied. The columns are there. */
int rw_ensemble_categories(struct rw_ctx *ctx, struct rw_ensemble *ensemble, uint32_t column,
                           const uint32_t *number, const char *const *word, uint32_t n);
/* The word of a category; decimal: room for that of a number. of: NULL: by numbers. */
const char *rw_ens_word(const struct rw_ens_categories *of, uint32_t category, char decimal[16]);
/* Room for the names and flags of n columns. */
int rw_ensemble_set_columns(struct rw_ctx *ctx, struct rw_ensemble *ensemble, uint32_t n);
int rw_ensemble_name(struct rw_ctx *ctx, struct rw_ensemble *ensemble, uint32_t column,
                     const char *name);
/* Are they trees: children there, each reached once from the root; thresholds and leaves numbers?
 * RW_ERR_FORMAT: "PATH: tree 3, node 4: ...". */
int rw_ensemble_check(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, const char *path);

/* --- rules (ensemble.c) --- */
/* Does a value (NaN: missing) go left at a split? */
int rw_rules_left(const struct rw_rules *rules, const struct rw_ens_node *node, float value);

/* The threshold of the consumer that splits values where `value <= cut` does; 0 if there is none,
 * and then the nearest. */
int rw_rules_threshold(const struct rw_rules *rules, float cut, double *threshold);

/* The largest float at or below (strictly: below) a number; -INFINITY if there is none. -0 is 0. */
float rw_float_below(double t, int strictly);

/* The threshold of ours that splits floats where a node of theirs does, and where NaN goes. NULL,
 * or what the node does that none of ours can do. */
const char *rw_rules_cut(const struct rw_rules *rules, const struct rw_ens_node *node, float *cut,
                         uint8_t *missing_left);

/* One line for people: "float32, value < threshold, ...". */
void rw_rules_text(const struct rw_rules *rules, char *text, size_t size);

/* --- the feature set of a learning-to-rank plugin: the names by which models there ask for
 * features (exchange.c) --- */
/* Zero-initialise; release in any state. */
struct rw_feature_set {
    const char *path;       /* for messages; borrowed */
    json_t *body;           /* the file's value; owned */
    const json_t *features; /* [n] in `body`, each with a name of its own */
    uint32_t n;
    json_t *index; /* name, also as a model's file holds it -> its place; owned */
};
/* A file as the plugin gives it: the answer of GET _ltr/_featureset/NAME, its `_source`, the answer
 * of a search that found it alone, or the body that it was made with. RW_ERR_FORMAT: "PATH: ...".
 */
int rw_feature_set_read(struct rw_ctx *ctx, const char *path, struct rw_feature_set *out);
void rw_feature_set_release(struct rw_feature_set *set);
const char *rw_feature_set_name(const struct rw_feature_set *set, uint32_t i);
/* The set's name of a feature that a model calls `name`; NULL: it lacks it. */
const char *rw_feature_set_find(const struct rw_feature_set *set, const char *name);

/* --- between models and ensembles --- */
/* base: the feature that has the format's first id; -1: ids stay as they are. lossy: what cannot be
 * carried is left out, with a note each kind. */
struct rw_lowering {
    int base, lossy;
    const struct rw_feature_set *set; /* for RW_NAMES_SET; NULL: names as for RW_NAMES_ALL */
    const char *model_name;           /* for formats that have one; NULL: none */
    /* 1: the model stands for all that training may make of its features, and what is refused is
     * said of the feature */
    int of_features;
    const char *lossy_by; /* what hints say that `lossy` is had by; NULL: "--lossy" */
};
/* out: to be released, also after a failure. */
int rw_lower(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_model_format *format,
             const struct rw_lowering *how, struct rw_ensemble *out);
/* A model of trees that score alike and can be written where the format's readers send missing
 * values where unlisted categories go; NULL: this model's can. */
int rw_part_missing(struct rw_ctx *ctx, const struct rw_model *model,
                    const struct rw_model_format *format, struct rw_model **out);
/* Do the children of their node, by_category or with a threshold for want of categories, stand the
 * other way round than ours? */
int rw_is_turned(const struct rw_model *model, const struct rw_tree *tree, int32_t node,
                 const struct rw_rules *rules, int by_category);
/* The name of a column that has none. */
void rw_made_up_name(const struct rw_model_format *format, uint32_t column, char *name,
                     size_t size);
/* What the file calls its i-th column; NULL: nothing, or the name of one that has none. */
const char *rw_ens_own_name(const struct rw_ensemble *ensemble,
                            const struct rw_model_format *format, uint32_t i);
/* The ensemble has been checked. */
int rw_raise(struct rw_ctx *ctx, const struct rw_ensemble *ensemble,
             const struct rw_model_format *format, int base, const char *path,
             struct rw_model **out);
/* The feature of a column; -1: it has none. */
int64_t rw_column_feature(const struct rw_rules *rules, int base, uint32_t column);

/* --- out (source.c) --- */
void rw_put_bytes(struct rw_put *put, const void *bytes, size_t n);
void rw_put_text(struct rw_put *put, const char *text);
void rw_put_release(struct rw_put *put);
/* %s, %c, %d, %u, %zu, %x as printf has them; %1s: a JSON string, where what is not UTF-8 is
 * refused (put->status); %-s: an attribute of XML. %f: a float, and %lf: a double, as the shortest
 * decimals that read back as the same one, always with a point or an exponent, so that no reader
 * takes them for whole numbers. Finite. */
void rw_put_format(struct rw_put *put, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* What the format cannot say: RW_ERR_UNSUPPORTED. Returns put->status. */
int rw_put_refuse(struct rw_put *put, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A node on a walk. */
struct rw_visit {
    const struct rw_ensemble *ensemble;
    const struct rw_ens_tree *tree;
    const struct rw_ens_node *node;
    int32_t at, parent;       /* indexes of the tree's nodes; -1: the root has no parent */
    int32_t depth;            /* of the root: 0 */
    int32_t number, child[2]; /* in the order of the walk: its own, its children's */
};
/* How a tree is written whose nodes stand inside one another. */
struct rw_walk {
    /* Puts a leaf whole, and what stands before the first child of a split. */
    void (*begin)(struct rw_put *put, const struct rw_visit *visit, const void *user);
    const char *middle, *end; /* what stands between the children, and after the second */
    /* NULL, or puts what stands after the second. */
    void (*finish)(struct rw_put *put, const struct rw_visit *visit, const void *user);
    int32_t deepest; /* levels below the root that the format's readers take; 0: any number */
};
/* Left first. Returns put->status. */
int rw_walk_tree(const struct rw_walk *walk, const struct rw_ensemble *ensemble, int32_t tree,
                 const void *user, struct rw_put *put);

/* --- in (source.c) --- */
/* n bytes as a number, the lowest first. */
static inline uint64_t rw_bits_at(const char *at, size_t n)
{
    uint64_t bits = 0;
    while (n > 0)
        bits = bits << 8 | (unsigned char)at[--n];
    return bits;
}
/* What cannot be what its format says: RW_ERR_FORMAT, "PATH: ...", with "line 3: " if line > 0.
 * Returns source->status. */
int rw_refuse_line(struct rw_source *source, uint64_t line, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define rw_refuse(source, ...) rw_refuse_line((source), 0, __VA_ARGS__)
/* Notes the status of a call. Returns source->status. */
int rw_keep(struct rw_source *source, int status);
int rw_source_no_memory(struct rw_source *source);
/* Text that is one finite number; 0: it is not. */
int rw_is_number(const char *text, size_t n, double *out);

/* An array of the ensemble's arena, for parsers. A status, which the source keeps. */
#define RW_READ_NEW(source, pointer, n) \
    rw_keep((source), RW_ARENA_NEW((source)->ctx, &(source)->out->arena, pointer, n))
#define RW_READ_GROW(source, pointer, room, n) \
    rw_keep((source), RW_ARENA_GROW((source)->ctx, &(source)->out->arena, pointer, room, n))

/* Makes a node a split by n categories, ascending; its column gets categories by numbers if it has
 * none yet. */
void rw_read_set(struct rw_source *source, struct rw_ens_node *node, const uint32_t *category,
                 size_t n);
/* The column's values are these words, which are copied; NULL: they are numbers. */
void rw_read_words(struct rw_source *source, uint32_t column, const char *const *word, size_t n);
void rw_read_name(struct rw_source *source, uint32_t column, const char *name);
void rw_sort_numbers(uint32_t *number, size_t n);
int rw_by_number(const void *a, const void *b);
/* Sorts records and keeps one of those that compare as equal. Returns how many there are then. */
size_t rw_sort_unique(void *all, size_t n, size_t size, int (*compare)(const void *, const void *));
/* Reads a node: `node` is zeroed but for children of -1; child: both NULL for a leaf. */
typedef void (*rw_read_node_fn)(struct rw_source *source, const void *from,
                                struct rw_ens_node *node, const void *child[2], void *user);
/* Adds the tree below `root`, and goes down to children as far as `read` gives some. NULL after a
 * failure. */
struct rw_ens_tree *rw_read_tree(struct rw_source *source, const void *root, rw_read_node_fn read,
                                 void *user);
/* rw_ensemble_add_tree, and rw_ensemble_set_columns of at most RW_MAX_FEATURE + 2, for parsers;
 * NULL and a status after a failure. */
struct rw_ens_tree *rw_add_tree(struct rw_source *source, int32_t n_nodes);
int rw_set_columns(struct rw_source *source, uint64_t n);

/* JSON from files that nobody vouches for: every look-up says what was expected, and keeps it in
 * the source's status. */
/* The file's value: an object or an array, owned by the caller (json_decref); NULL after a failure.
 * flags: jansson's. */
json_t *rw_json_load(struct rw_source *source, size_t flags);
/* The same of a part of the file; NULL without a failure: it is not JSON, as *error says. */
json_t *rw_json_load_part(struct rw_source *source, const char *text, size_t n, size_t flags,
                          json_error_t *error);
/* The same of Universal Binary JSON, as much of it as XGBoost writes and a little more. */
json_t *rw_ubjson_load(struct rw_source *source);

/* Members of an object; `object` may be anything. RW_ERR_FORMAT: not there, or of another type. All
 * that comes out is borrowed. */
json_t *rw_json_object(struct rw_source *source, const json_t *object, const char *name);
/* n < 0: of any length. */
json_t *rw_json_array(struct rw_source *source, const json_t *object, const char *name, int64_t n);
const char *rw_json_text(struct rw_source *source, const json_t *object, const char *name);
int64_t rw_json_integer(struct rw_source *source, const json_t *object, const char *name,
                        int64_t least, int64_t most);
double rw_json_number(struct rw_source *source, const json_t *object, const char *name);
/* A text without a 0 byte; NULL: it is none. */
const char *rw_json_plain(const json_t *value);
/* An element: `name` is the array's, for the message. */
int64_t rw_json_integer_at(struct rw_source *source, const json_t *array, const char *name,
                           size_t i, int64_t least, int64_t most);
double rw_json_number_at(struct rw_source *source, const json_t *array, const char *name, size_t i);
/* Is the text, [n], one of `words`, between which are blanks? */
int rw_is_among(const char *text, size_t n, const char *words);

/* The float that a JSON number was written from. jansson gives the nearest double, which may lie
 * just between two floats where the text did not: then it is the one whose shortest decimal that
 * double is. */
float rw_json_float(double value);

/* XML as elements inside one another. Read by expat; a DOCTYPE, and with it every entity of the
 * file's own, is refused. */
struct rw_xml {
    char *name, *text; /* text: NULL: none */
    size_t n_text, room;
    struct rw_xml *parent, *child, *last,
        *next;     /* its first child and its last, the next beside it */
    uint64_t line; /* where it begins, from 1 */
};

/* Parses text, [n], whose first line is the file's line `line`. Returns the root, which is in the
 * ensemble's arena; NULL after a failure. */
struct rw_xml *rw_xml_parse(struct rw_source *source, const char *text, size_t n, uint64_t line);
/* What an element has for a number, in its text or an attribute. */
double rw_xml_number(struct rw_source *source, const struct rw_xml *element, const char *text);
/* Without blanks around it; "" if it has none, or elements inside. */
const char *rw_xml_text(const struct rw_xml *element);
/* NULL: it does not have it. */
const char *rw_xml_attribute(const struct rw_xml *element, const char *name);
/* The first child of that name; NULL: none, also of NULL. */
struct rw_xml *rw_xml_child(const struct rw_xml *element, const char *name);

/* --- CatBoost's numbers (to_catboost.c) and reader (catboost_read.c) --- */
enum { RW_CATBOOST_CLASSES = 32, RW_CATBOOST_A_BUCKET = 254 /* borders or values of an entry */ };
/* Of a category's word; whole numbers are words there, too: their decimals. */
uint32_t rw_catboost_hash(const char *word);
/* How the table of a statistic of an entry is known: JSON, a key of ctr_data. */
void rw_catboost_identifier(int64_t entry, char text[128]);
/* The key of a category in the table of a statistic of its feature alone; and back: 0 if it is no
 * such key. */
uint64_t rw_catboost_key(uint32_t hash);
int rw_catboost_hash_of_key(uint64_t key, uint32_t *hash);
/* A decimal that CatBoost's reader takes for the same double, as does any other; the shortest if
 * there is none. Finite. */
void rw_catboost_put_double(struct rw_put *put, double value);
/* The format's `parse`. */
int rw_catboost_parse(struct rw_source *source);
