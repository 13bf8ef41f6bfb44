/* Words: how near two are, for messages that suggest the right one (see rankwood.h for the others),
 * and their order. */
#ifndef RW_BASE_WORDS_H
#define RW_BASE_WORDS_H

#include <stddef.h>

/* The first of the words at the least distance from a mistaken one, whose case, and '_' for '-', do
 * not count, however far it is; n_words: at least 1. */
const char *rw_word_nearest_always(const char *mistaken, const char *const *words, int n_words);
/* The order of two texts by their bytes, for qsort and bsearch; a, b: of type const char *const *.
 */
int rw_words_by_bytes(const void *a, const void *b);
/* Copies a name in lower case, with '-' for '_', as far as it fits into [size]; returns how many
 * bytes. */
size_t rw_word_plain(const char *word, char *plain, size_t size);

#endif
