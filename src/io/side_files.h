/* Files that are read line by line, and are in memory as a whole: side columns, names of features,
 * scores, and TREC's judgments and runs. */
#pragma once

#include "dataset/names.h"
#include "io/input.h"

struct rw_line_reader {
    struct rw_input *input; /* owned; open for its name */
    const char *name;       /* of the file, for messages */
    char *text, *text_end;  /* without the blank lines at its end; owned */
    char *next;             /* the line after the one at hand */
    uint64_t number;        /* of the line at hand, from 1; 0: none yet */
    char *begin, *end;      /* the line at hand, without its newline; a 0 is at `end` */
};
/* Reads all of the file. Closed also after a failure. */
int rw_line_reader_open(struct rw_ctx *ctx, const char *path, struct rw_line_reader *lines);
/* Goes on to the next line. 0: there are no more. */
int rw_line_reader_next(struct rw_line_reader *lines);
void rw_line_reader_close(struct rw_line_reader *lines);

/* A part of a line. */
struct rw_word {
    char *text;
    size_t n;
};
/* The first `most` words of [at, end), blanks or tabs between them; returns how many there are. */
int rw_line_words(char *at, const char *end, struct rw_word *words, int most);
/* RW_ERR_PARSE: what was expected in place of a word of the line at hand. */
int rw_line_wrong(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                  const struct rw_word *found, const char *expected);

/* The lines of TREC's two files: "query iteration document label", whose iteration is not looked
 * at, and "query Q0 document rank score tag", of which Q0, rank and what follows are not. */
enum rw_trec_file { RW_TREC_QRELS, RW_TREC_RUN };
struct rw_trec_line {
    struct rw_word query, document;
    double value; /* a label, at least 0: others count as 0; or a score, finite */
};
/* Reads the line at hand. 1; 0 if it is empty; RW_ERR_PARSE. */
int rw_trec_line_of(struct rw_ctx *ctx, const struct rw_line_reader *lines, enum rw_trec_file file,
                    struct rw_trec_line *out);

/* A score a line, of n documents. */
int rw_scores_of_lines(struct rw_ctx *ctx, struct rw_line_reader *lines, uint32_t n,
                       double *scores);

/* Compares names, for qsort. */
int rw_names_by_name(const void *a, const void *b);
/* Lines "ID NAME", '#' comments; by ascending id in *out, owned by the caller (rw_names_free). */
int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n);
