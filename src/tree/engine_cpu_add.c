/* Adds documents to histogram cells: what most of a tree's time goes to. A pass over some documents
 * adds to a few columns only, whose cells then stay in the nearest cache, and whose addresses stay
 * in registers. */
#include "tree/engine_cpu.h"

#define INLINE static inline __attribute__((always_inline))

INLINE void add_eight(const struct rw_cpu_add *add, size_t n_words)
{
    int64_t *const c0 = add->cell[0], *const c1 = add->cell[1], *const c2 = add->cell[2],
                   *const c3 = add->cell[3], *const c4 = add->cell[4], *const c5 = add->cell[5],
                   *const c6 = add->cell[6], *const c7 = add->cell[7];
    const uint32_t n = add->n;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t codes = add->codes[i];
        for (size_t k = 0; k < n_words; k++) {
            const int64_t w = add->word[i * n_words + k];
            c0[(codes & 255) * n_words + k] += w;
            c1[(codes >> 8 & 255) * n_words + k] += w;
            c2[(codes >> 16 & 255) * n_words + k] += w;
            c3[(codes >> 24 & 255) * n_words + k] += w;
            c4[(codes >> 32 & 255) * n_words + k] += w;
            c5[(codes >> 40 & 255) * n_words + k] += w;
            c6[(codes >> 48 & 255) * n_words + k] += w;
            c7[(codes >> 56) * n_words + k] += w;
        }
    }
}

/* Fewer columns, or wide codes. */
INLINE void add_some(const struct rw_cpu_add *add, size_t n_words, int bytes)
{
    for (uint32_t i = 0; i < add->n; i++) {
        const uint64_t codes = bytes == 1 ? add->codes[i] : 0;
        const uint16_t *row =
            bytes == 1 ? NULL : (const void *)(add->row + add->doc[i] * add->stride);
        for (uint32_t c = 0; c < add->n_columns; c++) {
            const uint64_t code = bytes == 1 ? codes >> (8 * c) & 255 : row[add->place[c]];
            for (size_t k = 0; k < n_words; k++)
                add->cell[c][code * n_words + k] += add->word[i * n_words + k];
        }
    }
}

INLINE void add_words(const struct rw_cpu_add *add, size_t n_words)
{
    if (add->bytes == 2)
        add_some(add, n_words, 2);
    else if (add->n_columns == RW_CPU_COLUMNS)
        add_eight(add, n_words);
    else
        add_some(add, n_words, 1);
}

void rw_cpu_add_docs(const struct rw_cpu_add *add)
{
    if (add->n_words == 1)
        add_words(add, 1);
    else if (add->n_words == 2)
        add_words(add, 2);
    else
        add_words(add, 3);
}
