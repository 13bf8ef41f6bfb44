/* Scores from a file that is open. */
#ifndef RW_IO_SIDE_FILES_H
#define RW_IO_SIDE_FILES_H

#include "dataset/names.h"
#include "io/input.h"
#include "base/ctx.h"

/* rw_scores_read of an input, which is taken. */
int rw_scores_read_input(struct rw_ctx *ctx, struct rw_input *input, uint32_t n, double *scores);

/* Files of feature names. */
/* Lines "ID NAME", '#' comments; by ascending id in *out, owned by the caller (rw_names_free). */
int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n);

/* Lines of TREC's files, judgments and runs: words with blanks or tabs between them. */
struct rw_trec_line {
    const char *file; /* its name, for messages */
    uint64_t number;  /* from 1 */
    const char *begin, *end;
};
/* A part of the line. */
struct rw_trec_word {
    const char *text;
    size_t n;
};

int rw_trec_is_blank(char c);
/* The first `most` words of [at, end); returns how many there are. */
int rw_trec_words(const char *at, const char *end, struct rw_trec_word *words, int most);
/* RW_ERR_PARSE: what was expected in place of a word. */
int rw_trec_wrong(struct rw_ctx *ctx, const struct rw_trec_line *line,
                  const struct rw_trec_word *found, const char *expected);

/* "query Q0 document rank score tag"; what follows is not looked at, nor are Q0 and the rank. */
struct rw_trec_run_line {
    struct rw_trec_word query, document;
    double score; /* finite */
};
/* "query iteration document label"; the iteration is not looked at. */
struct rw_trec_qrels_line {
    struct rw_trec_word query, document;
    float label; /* at least 0: others count as 0 */
};
/* 1; 0 if the line is empty; RW_ERR_PARSE. */
int rw_trec_run_line(struct rw_ctx *ctx, const struct rw_trec_line *line,
                     struct rw_trec_run_line *out);
int rw_trec_qrels_line(struct rw_ctx *ctx, const struct rw_trec_line *line,
                       struct rw_trec_qrels_line *out);

#endif
