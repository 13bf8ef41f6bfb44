/* Words: how near two are, for messages that suggest the right one (see rankwood.h for the others),
 * and their order. */
#ifndef RW_BASE_WORDS_H
#define RW_BASE_WORDS_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

/* Letters to insert, delete, replace or swap with their neighbour to make `b` of `a` (Damerau's
 * distance, each letter touched once); for words over 48 letters the longer one's length. */
size_t rw_word_distance(const char *a, const char *b);
/* The first of the words at the least distance from a mistaken one, whose case, and '_' for '-', do
 * not count, however far it is; n_words: at least 1. */
const char *rw_word_nearest_always(const char *mistaken, const char *const *words, int n_words);
/* The order of two texts by their bytes, for qsort and bsearch; a, b: of type const char *const *.
 */
int rw_words_by_bytes(const void *a, const void *b);
/* Copies a name in lower case, with '-' for '_', as far as it fits into [size]; returns how many
 * bytes. */
size_t rw_word_plain(const char *word, char *plain, size_t size);

/* Characters of UTF-8, for texts that people see. */
/* Bytes of the well-formed UTF-8 character that `c` begins with (RFC 3629: shortest form, no
 * surrogates, up to U+10FFFF); 0: none. */
static inline int rw_utf8_bytes(const unsigned char *c)
{
    if (c[0] < 0x80)
        return 1;
    const int n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4)
        return 0;
    for (int i = 1; i < n; i++) { /* the 0 at the end is no such byte */
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return n;
}

/* Control characters, of which some move a terminal's cursor. */
static inline int rw_utf8_is_control(const unsigned char *c)
{
    return c[0] < 32 || c[0] == 127 || (c[0] == 0xc2 && c[1] < 0xa0);
}

/* Lines of text that all threads make side by side, written in order. */
/* Writes line i to `to`, with its newline; returns its bytes. */
typedef size_t rw_line_fn(const void *user, uint64_t i, char *to);
/* Lines [0, n), each of at most line_bytes. Memory does not grow with n. */
struct rw_out_file;
int rw_lines_write(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n, size_t line_bytes,
                   rw_line_fn *line, const void *user);

#endif
