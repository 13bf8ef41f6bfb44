/* Models in the formats of other programs.
 *
 * Between our trees and a file stands an ensemble in the other program's own terms: its thresholds,
 * its comparison, its column ids. lower.c makes one of a model by the consumer's rules, raise.c a
 * model of one, verify.c scores one; a format only prints and parses it, and decides nothing.
 *
 * To add a format: (1) write convert/to_<name>.c, which defines rw_to_<name>, a struct
 * rw_model_format with its consumers' rules, its `write` and (to be read or verified) its `parse`;
 * (2) give it a row in formats.def. The build, the command line, the help and the property tests
 * (tests/unit/test_exchange.c, the fuzz target) read the table. A `parse` meets hostile files:
 * counts are checked against the bytes there are, children by rw_ensemble_check (which the callers
 * run), and what cannot be carried exactly is refused by name (RW_ERR_FORMAT). */
#ifndef RW_CONVERT_CONVERT_H
#define RW_CONVERT_CONVERT_H

#include "convert/rules.h"
#include "model/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A split, or a leaf (left < 0). */
struct rw_ens_node {
    int32_t left, right; /* places in the tree's nodes; left is taken when the comparison holds */
    uint32_t column;     /* of a split, in the program's numbering */
    uint8_t less;        /* 1: value < threshold; 0: <= */
    uint8_t nan;         /* enum rw_nan */
    double threshold;    /* as it is written */
    double value;        /* of a leaf */
    double gain;         /* of a split; 0: not known */
};
/* Node 0 is the root. A node may be reached from no other (XGBoost's deleted ones). */
struct rw_ens_tree {
    int32_t n_nodes;          /* >= 1 */
    struct rw_ens_node *node; /* [n_nodes] owned */
    size_t room;
    double weight; /* its leaves are multiplied by it */
};
struct rw_ensemble {
    int32_t n_trees;
    struct rw_ens_tree *tree; /* [n_trees] owned */
    size_t room;
    double base;        /* added to every score */
    uint32_t n_columns; /* ids from the format's first on; 0: the format does not count them */
    char **column_name; /* [n_columns] NULL: no names; each owned, or NULL for none */
    unsigned char *column_had; /* [n_columns] 1: the training set had it; NULL: not known; owned */
};

/* What a format's parser is given. */
struct rw_source {
    const char *path; /* for messages, which begin with it */
    const char *text; /* [n], and a 0 behind it */
    size_t n;
    /* NULL, or what the file was made of: whose column names are for a format that has names only
     */
    const struct rw_ensemble *names;
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
    const char *name; /* "XGBoost"; NULL ends a list */
    struct rw_rules rules;
    int earlier; /* 1: a version with a known fault, told of, but no reason to fail */
};

enum rw_names {
    RW_NAMES_NONE,  /* the format has no names */
    RW_NAMES_GIVEN, /* names travel if the model has some */
    RW_NAMES_ALL    /* every column has a name, made up if need be */
};

struct rw_model_format {
    const char *name;  /* "ranklib" */
    const char *about; /* one line */
    const struct rw_consumer
        *consumer; /* the first one's rules shape the file; ended by a NULL name */
    enum rw_names names;
    const char *name_prefix; /* of made-up names: "f" makes f0, f1, ...; also not taken for names */
    const char *name_forbids; /* characters that no name may have, besides control characters */
    int imports;              /* 1: rankwood import takes it */
    int (*write)(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put);
    /* NULL: only what would be written can be verified, not what was */
    int (*parse)(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *ensemble);
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
/* Adds a tree of n_nodes zeroed nodes (0: they are added one by one) of weight 1; *out stays valid
 * until the next one is added. */
int rw_ensemble_add_tree(struct rw_ctx *ctx, struct rw_ensemble *ensemble, int32_t n_nodes,
                         struct rw_ens_tree **out);
/* Adds a zeroed leaf; *out is its place. */
int rw_ens_tree_add(struct rw_ctx *ctx, struct rw_ens_tree *tree, int32_t *out);
/* Gives the leaf at a place two children, zeroed leaves. */
int rw_ens_tree_split(struct rw_ctx *ctx, struct rw_ens_tree *tree, int32_t at);
/* Room for the names and flags of n columns, at most RW_MAX_FEATURE + 2. */
int rw_ensemble_set_columns(struct rw_ctx *ctx, struct rw_ensemble *ensemble, uint64_t n);
int rw_ensemble_name(struct rw_ctx *ctx, struct rw_ensemble *ensemble, uint32_t column,
                     const char *name);
/* Are they trees: children there, each reached once from the root; thresholds and leaves numbers?
 * RW_ERR_FORMAT: "PATH: tree 3, node 4: ...". */
int rw_ensemble_check(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, const char *path);

/* --- between models and ensembles --- */
/* base: the feature that has the format's first id; -1: ids stay as they are. lossy: what cannot be
 * carried is left out, with a note each kind. */
struct rw_lowering {
    int base, lossy;
};
int rw_lower(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_model_format *format,
             const struct rw_lowering *how, struct rw_ensemble *out);
/* The ensemble has been checked. */
int rw_raise(struct rw_ctx *ctx, const struct rw_ensemble *ensemble,
             const struct rw_model_format *format, int base, const char *path,
             struct rw_model **out);
/* The feature of a column; -1: it has none. */
int64_t rw_column_feature(const struct rw_rules *rules, int base, uint32_t column);

/* --- verifying (verify.c) --- */
/* Scores the data by our trees and by theirs under one consumer's rules. `into`: n_docs and all
 * below. */
struct rw_verify_by;
int rw_verify_ensemble(struct rw_ctx *ctx, const struct rw_model *model,
                       const struct rw_ensemble *ensemble, const struct rw_consumer *consumer,
                       int base, const struct rw_dataset *dataset, struct rw_verify_by *into);

/* --- text out (put.c) --- */
void rw_put_bytes(struct rw_put *put, const void *bytes, size_t n);
void rw_put_text(struct rw_put *put, const char *text);
void rw_put_format(struct rw_put *put, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The shortest decimals that read back as the same float or double, always with a point or an
 * exponent, so that no reader takes them for whole numbers. Finite. */
void rw_put_float(struct rw_put *put, float value);
void rw_put_double(struct rw_put *put, double value);
/* A JSON string; what is not UTF-8 is refused (put->status). */
void rw_put_json_text(struct rw_put *put, const char *text);
/* The text of a file that cannot be what its format says: RW_ERR_FORMAT, "PATH: ...". */
int rw_refuse(struct rw_ctx *ctx, const struct rw_source *source, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
