/* Rankwood's format of models, which rw_model_write and rw_model_read (rankwood.h) use for
 * files.
 *
 * The lines of a file, with notes to the right. An empty line separates two sections:
 *
 *   rankwood model 6
 *   absent zero|missing
 *   columns KIND                      "numbered W", "named W", letor or unknown (rw_columns_kind);
 *   best-round N                      0 if early stopping did not choose the trees;
 *   finished yes|no                   no: the caller ended training early;
 *   empty-rounds N                    rounds after the last tree in which no split was found;
 *
 *   params N                          then N lines: "name = value", or "name = auto value" if
 *                                     Rankwood chose the value for the training set;
 *   earlier N                         earlier trainings, each "run 1 trees 30 params N" with its
 *                                     parameters;
 *   features N                        then ranges of ids such as 1-136, N ids in all;
 *   names N                           then N lines "id name";
 *   categories N                      only in models with categorical features, see below;
 *   metrics N rounds R                then N lines "metric NAME" and R lines: a round and N values;
 *   trees N                           then N trees:
 *
 *   tree 1 leaves 3                   trees are numbered from 1, as rounds are;
 *   node 0 feature 12 <= 0.5 left node 1 right leaf 2 missing left gain 34.5 # name
 *   leaf 0 0.01 docs 123 hessian 4.5  docs and hessian are covers (model/model.h). Either all
 *                                     leaves of a tree have them or no leaf has them;
 *
 *   calibration ...                   only with a map of scores to probabilities, see below;
 *
 *   checksum 0badcafe                 zlib's crc32 of all bytes above.
 *
 * Numbers are the shortest decimals that read back as the same float or double. Texts run to the
 * end of the line. In them, a backslash is \\ and a control character \xHH. A model has only one
 * text in a version, so equal models give equal files. Models are written in version 6 and read in
 * all versions.
 *
 * A later version may add a line to the head, a word to a tree's or a leaf's line, or a section.
 * A reader refuses unknown words and says that a newer program may have written the file.
 *
 * The map of scores to probabilities has one of these forms:
 *
 *   calibration isotonic relevant 1 knots N       then N lines with a score and a probability;
 *   knot -0.5 0.125
 *   calibration logistic relevant 1 slope 2.5 intercept -0.75
 *
 * A model with categorical features has this section after the names:
 *
 *   categories N                      then N features, each with its vocabulary;
 *   feature 7 words 2                 then the 2 categories, with codes 0, 1, ... in this order;
 *   category shoes                    all other categories share the next code.
 *   category socks
 *
 * Nodes that split such features list the codes that go left. The codes replace <= and a threshold:
 *
 *   node 0 feature 7 in 0,2-5 left node 1 right leaf 2 missing left gain 34.5
 *   node 1 feature 7 in none left ...
 *
 * Versions 1 to 5 will always be readable. They lack covers and the line `columns`, whose kind
 * is then unknown. Versions 4 and 5 always have the section of categories, even if it is empty.
 * Version 5 allows up to 1023 categories per feature, version 4 up to 255. Version 3 always has a
 * map and no categories, and version 2 lacks both. Version 1 also lacks the lines finished and
 * empty-rounds and the section `earlier`. In it, the parameter min-hessian is called min-weight. */
#pragma once

#include "model/model.h"

enum {
    RW_MODEL_VERSION = 6, /* the version that is written */
    /* Older versions that are read. */
    RW_MODEL_VERSION_WITH_MAP = 3,
    RW_MODEL_VERSION_WITH_CATEGORIES = 4, /* with or without a map */
    RW_MODEL_VERSION_WITH_MANY = 5,       /* as version 4, with more categories per feature */
    RW_MODEL_FEW_CATEGORIES = 255,        /* most categories per feature before version 5 */
    RW_CHECKSUM_DIGITS = 8,               /* hexadecimal digits of the checksum */
    RW_CHECKSUM_LINE_BYTES = 18           /* bytes of the last line, with its end */
};

enum { RW_DIGITS_ROOM = 11 }; /* most digits of a uint32_t, and a terminating 0 */
/* Writes a number's digits to the end of `room`, with a terminating 0. Returns the first digit. */
const char *rw_digits_of(uint32_t number, char room[RW_DIGITS_ROOM]);

/* The text of a model that is being read or written. A word is a piece of the text: a number, a
 * name or a fixed text. (The line "feature 7 words 2" of the format counts categories.)
 *
 * The functions rw_words_take to rw_words_text_is both read and write a word, so that the grammar
 * (model/model_text.c) is written once. When reading, a function consumes the text at the reader's
 * position. If the text does not match, all of them except rw_words_option fail with RW_ERR_FORMAT,
 * and the message has file, line, column and the expected text. When writing, a function appends
 * the value and changes nothing else. before: text that precedes the value. what: describes the
 * value in messages. */
struct rw_words {
    struct rw_ctx *ctx;
    /* ---- for reading ---- */

    const char *path; /* for messages */
    /* at: the reader's position. end: the end of the text, or the line of the checksum after it. */
    const char *at, *line_begin, *end;
    const char *after; /* description of the text at `end` */
    uint32_t line;     /* from 1 */
    int version;       /* version of the format, also for writing */
    /* ---- for writing ---- */

    int is_writing;
    char *text; /* [n_bytes] owned by the caller */
    size_t n_bytes, room;
};

/* Returns a reader of text [n]. path: for messages. */
struct rw_words rw_words_of(struct rw_ctx *ctx, const char *path, const char *text, size_t n);
/* Fails with RW_ERR_FORMAT: `expected` was expected at the reader's position. */
int rw_words_fail(struct rw_words *w, const char *expected);
/* Fails in the same way for a position `at` in the current line. */
int rw_words_fail_at(struct rw_words *w, const char *at, const char *expected);
/* Reads or writes exactly this text. It may begin with line ends, but not contain others. */
int rw_words_take(struct rw_words *w, const char *text);
/* When writing, writes this text if *is_there. When reading, sets *is_there to whether it follows,
 * and consumes it if so. */
int rw_words_option(struct rw_words *w, const char *text, int *is_there);
/* Reads or writes one of two texts: `yes` if *is_yes, else `no`. */
int rw_words_choice(struct rw_words *w, const char *before, const char *yes, const char *no,
                    int *is_yes);
int rw_words_newline(struct rw_words *w);
/* Reads or writes a whole number without leading zeros, up to `most`. */
int rw_words_count(struct rw_words *w, const char *before, const char *what, int32_t most,
                   int32_t *value);
/* Reads or writes a feature id. */
int rw_words_id(struct rw_words *w, const char *before, uint32_t *id);
/* Reads or writes a count of lines or groups of lines that follow, each of at least `bytes` bytes.
 * A count that is too large for the rest of the file is refused, so memory stays in proportion to
 * the file's size. */
int rw_words_count_of(struct rw_words *w, const char *before, const char *what, size_t bytes,
                      int32_t *value);
/* Reads or writes a hexadecimal number in lower case without leading zeros. */
int rw_words_hex(struct rw_words *w, const char *before, const char *what, uint64_t *value);
/* Reads or writes a number that must be `number`. */
int rw_words_number(struct rw_words *w, const char *before, int32_t number);
/* Reads or writes a finite number. */
int rw_words_real(struct rw_words *w, const char *before, const char *what, double *value);
/* Reads or writes a number; nan, inf and -inf are allowed. */
int rw_words_any_real(struct rw_words *w, const char *before, const char *what, double *value);
int rw_words_float(struct rw_words *w, const char *before, const char *what, float *value);
/* Reads or writes the rest of the line, at least one byte, with escapes. The caller owns a text
 * that was read (rw_mem_free). */
int rw_words_text(struct rw_words *w, const char *before, const char *what, char **value);
/* Reads or writes the rest of the line, which must be `text`, with escapes. */
int rw_words_text_is(struct rw_words *w, const char *before, const char *what, const char *text);

/* Reads or writes everything between the first line and the checksum. */
int rw_model_grammar(struct rw_words *w, struct rw_model *model);

/* Reads a model from memory. text: [n], not changed; path: for messages. RW_ERR_FORMAT: the text is
 * not a valid model of any version. */
int rw_model_parse(struct rw_ctx *ctx, const char *path, const char *text, size_t n,
                   struct rw_model **out);

/* Returns in *out the model's text without a terminating 0. The caller owns it (rw_mem_free). */
int rw_model_print(struct rw_ctx *ctx, const struct rw_model *model, char **out, size_t *n);

/* Maximum bytes of a node's line without categories and the feature's name, of a leaf's line, and
 * of a metric's value. They serve to estimate the size of a file before the model exists. */
enum { RW_MODEL_NODE_BYTES = 160, RW_MODEL_LEAF_BYTES = 96, RW_MODEL_VALUE_BYTES = 40 };

/* Reads a whole file. *out: [*n_bytes], which the caller owns (rw_mem_free). header: reads the
 * first line; if it fails, so does this function, before it reads the rest. what: the kind of file,
 * for messages. */
int rw_model_file_read(struct rw_ctx *ctx, const char *path, const char *what,
                       int (*header)(struct rw_words *w), char **out, size_t *n_bytes);
/* Checks that the last line is the checksum of the lines above. RW_ERR_FORMAT: the file is
 * truncated or damaged. */
int rw_model_checksum_check(struct rw_ctx *ctx, const char *path, const char *text, size_t n);
/* Writes the last line of a model whose text so far is `text`: [n]. A terminating 0 follows it. */
void rw_model_checksum_line(const char *text, size_t n, char line[RW_CHECKSUM_LINE_BYTES + 1]);
