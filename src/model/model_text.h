/* The model's own format, which rw_model_write and rw_model_read (rankwood.h) put in a file.
 *
 * The grammar, one line each; sections are parted by an empty line:
 *
 *   rankwood model 6
 *   absent zero|missing
 *   columns KIND                      numbered W, named W, letor or unknown: enum rw_columns_kind
 *   best-round N
 *   finished yes|no                   no: ended from outside
 *   empty-rounds N                    after the last tree; no tree could be split in them
 *
 *   params N                          then N lines:   name = value, or name = auto value where it
 *                                     was chosen by the size of the training set
 *   earlier N                         trainings before the last, each: run 1 trees 30 params N,
 *                                     and its parameters
 *   features N                        then ranges:    1-136        of ids, N in all
 *   names N                           then N lines:   id name
 *   categories N                      only with features by categories, see below
 *   metrics N rounds R                then N lines:   metric name  and R lines:  round value ...
 *   trees N                           then N trees:
 *
 *   tree 1 leaves 3                  trees count from 1, as rounds do
 *   node 0 feature 12 <= 0.5 left node 1 right leaf 2 missing left gain 34.5 # name
 *   leaf 0 0.01 docs 123 hessian 4.5  docs and hessian: the leaf's covers (model/model.h), in all
 *                                     leaves of a tree or in none of them
 *
 *   calibration ...                   only with a map of scores to probabilities, see below
 *
 *   checksum 0badcafe                 zlib's crc32 of every byte above
 *
 * Numbers are the shortest decimals that read back as the same float or double. Texts run to the
 * end of the line; in them a backslash is \\ and a control character \xHH. A model has one
 * text, so equal models are equal files. Models are written in version 6 and read in all versions.
 *
 * A later version may add a line to the head, a word to a tree's or a leaf's line, or a section. A
 * reader refuses a word that it does not know, and says that a newer program may have written it.
 *
 * The map of scores to probabilities is one of
 *
 *   calibration isotonic relevant 1 knots N       then N lines, score and probability:
 *   knot -0.5 0.125
 *   calibration logistic relevant 1 slope 2.5 intercept -0.75
 *
 * A model with features by categories has one more section after the names,
 *
 *   categories N                      then N features, each:
 *   feature 7 words 2                 and its words, which have codes 0, 1, ... in this order; all
 *   category shoes                    other words share the next code
 *   category socks
 *
 * and nodes that ask for those features have, in place of <= and a threshold, the codes that go
 * left:
 *
 *   node 0 feature 7 in 0,2-5 left node 1 right leaf 2 missing left gain 34.5
 *   node 1 feature 7 in none left ...
 *
 * Versions 1 to 5 are read for ever. They have neither covers nor the line `columns`, whose kind is
 * unknown then. Version 5 always has the section of categories, of up to 1023 words a feature;
 * version 4 has up to 255. Version 3 has a map and no categories, version 2 neither. Version 1 has
 * neither the lines finished and empty-rounds nor the section `earlier`, and it calls min-hessian
 * min-weight. */
#pragma once

#include "model/model.h"

/* The words of a model's text, read or written: each function here does both, so that the grammar
 * (model/model_text.c) stands once. Reading takes what stands at the reader's position, or refuses
 * it with file, line, column and what was expected (RW_ERR_FORMAT). Writing appends the value that
 * is given and changes nothing else. before: the text that comes first. */
enum {
    RW_MODEL_VERSION = 6, /* of what is written */
    /* Older ones that are read. */
    RW_MODEL_VERSION_WITH_MAP = 3,
    RW_MODEL_VERSION_WITH_CATEGORIES = 4, /* and with a map, or without */
    RW_MODEL_VERSION_WITH_MANY = 5,       /* the same, and features may have more words than: */
    RW_MODEL_FEW_CATEGORIES = 255,
    RW_CHECKSUM_DIGITS = 8,
    RW_CHECKSUM_LINE_BYTES = 18
};

/* A number's digits, at the end of the room, and a 0. */
enum { RW_DIGITS_ROOM = 11 };
const char *rw_digits_of(uint32_t number, char room[RW_DIGITS_ROOM]);

struct rw_words {
    struct rw_ctx *ctx;
    /* reading */
    const char *path;
    const char *at, *line_begin, *end; /* end: before the checksum's line */
    const char *after;                 /* what stands at `end`, in words */
    uint32_t line;                     /* from 1 */
    int version;                       /* of the format */
    /* writing */
    int is_writing;
    char *text; /* [n_bytes] owned by the caller */
    size_t n_bytes, room;
};

/* Reading: text [n], from its first byte on. */
struct rw_words rw_words_of(struct rw_ctx *ctx, const char *path, const char *text, size_t n);
int rw_words_fail(struct rw_words *w, const char *expected);
/* In place of what stands from `at` on, in the line at hand. */
int rw_words_fail_at(struct rw_words *w, const char *at, const char *expected);
/* Exactly this text of one line. */
int rw_words_take(struct rw_words *w, const char *text);
/* This text if *is_there. */
int rw_words_option(struct rw_words *w, const char *text, int *is_there);
/* One of two texts: `yes` if *is_yes. */
int rw_words_choice(struct rw_words *w, const char *before, const char *yes, const char *no,
                    int *is_yes);
int rw_words_newline(struct rw_words *w);
/* A whole number without leading zeros, at most `most`. */
int rw_words_count(struct rw_words *w, const char *before, const char *what, int32_t most,
                   int32_t *value);
/* The id of a feature. */
int rw_words_id(struct rw_words *w, const char *before, uint32_t *id);
/* A count of things that take at least `bytes` bytes each: a file cannot ask for more memory than
 * its own size warrants. */
int rw_words_count_of(struct rw_words *w, const char *before, const char *what, size_t bytes,
                      int32_t *value);
/* In hexadecimal, without leading zeros, in lower case. */
int rw_words_hex(struct rw_words *w, const char *before, const char *what, uint64_t *value);
/* The number that must stand here: rows are numbered. */
int rw_words_number(struct rw_words *w, const char *before, int32_t number);
int rw_words_real(struct rw_words *w, const char *before, const char *what, double *value);
/* The same, but nan, inf and -inf are numbers, too. */
int rw_words_any_real(struct rw_words *w, const char *before, const char *what, double *value);
int rw_words_float(struct rw_words *w, const char *before, const char *what, float *value);
/* The rest of the line, at least one byte of it, escapes undone; read, it is the caller's
 * (rw_mem_free). */
int rw_words_text(struct rw_words *w, const char *before, const char *what, char **value);
/* The text that must be the rest of the line. */
int rw_words_text_is(struct rw_words *w, const char *before, const char *what, const char *text);

/* All between the first line and the checksum, read or written (model/model_text.h). */
int rw_model_grammar(struct rw_words *w, struct rw_model *model);

/* Reads a model from memory. text: [n], not changed; `path` is for messages. Anything that
 * rw_model_write would not have written is RW_ERR_FORMAT. */
int rw_model_parse(struct rw_ctx *ctx, const char *path, const char *text, size_t n,
                   struct rw_model **out);

/* The model's text, not followed by 0; *out is owned by the caller (rw_mem_free). */
int rw_model_print(struct rw_ctx *ctx, const struct rw_model *model, char **out, size_t *n);

/* At most so many bytes are a node's line and a leaf's without the feature's name, and a metric's
 * value: for space that is reserved before there is a model. */
enum { RW_MODEL_NODE_BYTES = 160, RW_MODEL_LEAF_BYTES = 96, RW_MODEL_VALUE_BYTES = 40 };

/* A whole file, *out the caller's (rw_mem_free). header: refuses another kind's first line, as soon
 * as that is read; what: for messages. */
int rw_model_file_read(struct rw_ctx *ctx, const char *path, const char *what,
                       int (*header)(struct rw_words *w), char **out, size_t *n_bytes);
/* Is the last line the checksum of those above? RW_ERR_FORMAT: the file is cut or damaged. */
int rw_model_checksum_check(struct rw_ctx *ctx, const char *path, const char *text, size_t n);
/* The last line of a model whose text so far is `text`: [n]; a 0 follows it. */
void rw_model_checksum_line(const char *text, size_t n, char line[RW_CHECKSUM_LINE_BYTES + 1]);
