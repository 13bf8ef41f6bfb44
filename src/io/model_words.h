/* The words of a model's text: what stands at the reader's place is taken, or refused with file,
 * line, column and what was expected (RW_ERR_FORMAT). */
#ifndef RW_IO_MODEL_WORDS_H
#define RW_IO_MODEL_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

struct rw_words {
    struct rw_ctx *ctx;
    const char *path;
    const char *at, *line_begin, *end; /* end: before the checksum's line */
    const char *after;                 /* what stands at `end`, in words */
    uint32_t line;                     /* from 1 */
    int version;                       /* of the format */
};

int rw_words_fail(struct rw_words *r, const char *expected);
/* 1: it stood there, and is behind now. */
int rw_words_accept(struct rw_words *r, const char *text);
/* Exactly these words of one line. */
int rw_words_take(struct rw_words *r, const char *text);
int rw_words_newline(struct rw_words *r);
/* A whole number without leading zeros, at most `most` < 2^60. */
int rw_words_count(struct rw_words *r, const char *what, uint64_t most, uint64_t *out);
/* A count of things that take at least `bytes` bytes each: a file cannot ask for more memory than
 * its own size warrants. */
int rw_words_count_of(struct rw_words *r, const char *what, size_t bytes, int32_t *out);
/* The number that must stand here: rows are numbered. */
int rw_words_number_is(struct rw_words *r, uint64_t number);
int rw_words_real(struct rw_words *r, const char *what, double *out);
int rw_words_float(struct rw_words *r, const char *what, float *out);
/* The rest of the line, at least one byte of it, escapes undone; *out is the caller's
 * (rw_mem_free). */
int rw_words_text(struct rw_words *r, const char *what, char **out);
/* 0 to 15, or -1. */
int rw_words_hex_digit(char c);

#endif
