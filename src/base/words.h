/* How near two words are, for messages that suggest the right one; see rankwood.h for the others.
 */
#ifndef RW_BASE_WORDS_H
#define RW_BASE_WORDS_H

/* The first of the words at the least distance from a mistaken one, whose case, and '_' for '-', do
 * not count, however far it is; n_words: at least 1. */
const char *rw_word_nearest_always(const char *mistaken, const char *const *words, int n_words);
#endif
