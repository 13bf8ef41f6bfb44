/* What a file seems to be that is not what was wanted: LETOR text or another form of data, or a
 * model. To add a kind: a row in other_formats.c, and a file with its message in tests/golden/bad.
 */
#pragma once

#include "base/ctx.h"

/* The first bytes of Rankwood's own files; the version follows. */
#define RW_MODEL_HEADER      "rankwood model "
#define RW_CHECKPOINT_HEADER "rankwood checkpoint "
#define RW_CACHE_MAGIC       "\x89RWcache"

struct rw_recognised {
    const char *what;        /* "a Parquet file"; NULL: nothing that is known */
    const char *hint;        /* another line for the message; NULL: none */
    const char *pipe;        /* a command that makes text of a file ("xz -dc"); NULL: none */
    const char *filter;      /* the same from standard input; NULL: none */
    int is_text;             /* the line that is wrong says something, too */
    unsigned columns;        /* of a table; 0: it is none */
    int has_header;          /* the table's first line names the columns */
    const char *packed_hint; /* in place of hint, where it was inside gzip; NULL: hint */
    const char *from;        /* the name by which `import` reads it; NULL: it does not */
    int is_model;            /* one of Rankwood's */
    int is_data;             /* what commands take as DATA, or nearly */
};

/* [line, end): the file's first line that is no comment, which is not a document: all up to the
 * first newline, whatever it is. Nothing else is looked at, so that the answer does not depend on
 * the chunks in which the file is read. */
struct rw_recognised rw_recognise(const char *line, const char *end);

/* [head, end): the first bytes of a file, as many as there are at hand; a line that is cut counts
 * as one. */
struct rw_recognised rw_recognise_head(const char *head, const char *end);

/* The message of a file called `name`. wrong: what was said of its line. */
void rw_recognised_message(const struct rw_recognised *kind, const char *name, int is_packed,
                           const char *wrong, char *message, size_t size);
/* RW_ERR_FORMAT, with the message of a file that is recognised and is no model. expected: "a model
 * of Rankwood". */
int rw_fail_not_a_model(struct rw_ctx *ctx, const struct rw_recognised *kind, const char *name,
                        const char *expected);
