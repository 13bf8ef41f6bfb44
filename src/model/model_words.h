/* The words of a model's text, read or written: each function here does both, so that the grammar
 * (model/model_text.c) stands once. Reading takes what stands at the reader's position, or refuses
 * it with file, line, column and what was expected (RW_ERR_FORMAT). Writing appends the value that
 * is given and changes nothing else. before: the text that comes first. */
#ifndef RW_MODEL_WORDS_H
#define RW_MODEL_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

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

#endif
