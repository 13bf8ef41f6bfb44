/* Words that categories are called by, and their numbers, in the order in which they came: values
 * of a feature by categories are such numbers in a data set that has a lexicon. Data sets that are
 * read together share one, and several threads may add to it; so numbers mean nothing but "the same
 * word or not", and what is made of them must not depend on their order. */
#ifndef RW_DATASET_LEXICON_H
#define RW_DATASET_LEXICON_H

#include "base/ctx.h"

/* Numbers are floats in a column: up to here they are whole. */
enum { RW_MAX_WORDS = 1 << 24, RW_MAX_WORD_BYTES = 65535 };

struct rw_lexicon;
int rw_lexicon_new(struct rw_ctx *ctx, struct rw_lexicon **out);
/* One more owner. NULL gives NULL. */
struct rw_lexicon *rw_lexicon_share(struct rw_lexicon *lexicon);
/* One less; the last one frees it. */
void rw_lexicon_free(struct rw_lexicon *lexicon);

/* word: `n` bytes, none of them 0. Never touches a context. RW_ERR_DATA: there are too many. */
int rw_lexicon_add(struct rw_lexicon *lexicon, const char *word, size_t n, uint32_t *number);
uint32_t rw_lexicon_n(struct rw_lexicon *lexicon);
/* Ended by 0; stays where it is. */
const char *rw_lexicon_word(struct rw_lexicon *lexicon, uint32_t number);

/* The feature's values are words. */
void rw_lexicon_mark(struct rw_lexicon *lexicon, uint32_t feature);
/* lexicon: may be NULL. */
int rw_lexicon_has(const struct rw_lexicon *lexicon, uint32_t feature);
#endif
