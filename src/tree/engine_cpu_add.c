/* Adds documents to histogram cells: what most of a tree's time goes to. A pass over some documents
 * adds to a few columns only, whose cells then stay in the nearest cache, and whose addresses stay
 * in registers; rows that come next are asked for meanwhile. */
#include <string.h>

#include "tree/engine_cpu.h"

#define INLINE static inline __attribute__((always_inline))

/* All columns of a pass, neighbours in the row: its codes come in one load. */
INLINE void add_neighbours(const struct rw_cpu_add *add, int n_words, int fetches)
{
    const uint8_t *const row = add->row + add->place[0];
    const uint8_t *const next = add->row + add->fetch;
    int64_t *const c0 = add->cell[0], *const c1 = add->cell[1], *const c2 = add->cell[2],
                   *const c3 = add->cell[3], *const c4 = add->cell[4], *const c5 = add->cell[5],
                   *const c6 = add->cell[6], *const c7 = add->cell[7];
    const size_t stride = add->stride;
    const uint32_t *const doc = add->doc, *const ahead = add->ahead, n = add->n;
    const int64_t *const word = add->word;
    for (uint32_t i = 0; i < n; i++) {
        uint64_t codes;
        memcpy(&codes, row + doc[i] * stride, sizeof(codes));
        if (fetches)
            __builtin_prefetch(next + ahead[i] * stride);
        for (size_t k = 0; k < (size_t)n_words; k++) {
            const int64_t w = word[(size_t)i * (size_t)n_words + k];
            c0[(codes & 255) * (size_t)n_words + k] += w;
            c1[(codes >> 8 & 255) * (size_t)n_words + k] += w;
            c2[(codes >> 16 & 255) * (size_t)n_words + k] += w;
            c3[(codes >> 24 & 255) * (size_t)n_words + k] += w;
            c4[(codes >> 32 & 255) * (size_t)n_words + k] += w;
            c5[(codes >> 40 & 255) * (size_t)n_words + k] += w;
            c6[(codes >> 48 & 255) * (size_t)n_words + k] += w;
            c7[(codes >> 56) * (size_t)n_words + k] += w;
        }
    }
}

/* Any columns. */
INLINE void add_some(const struct rw_cpu_add *add, int n_words, int bytes)
{
    for (uint32_t i = 0; i < add->n; i++) {
        const uint8_t *row8 = add->row + add->doc[i] * add->stride;
        const uint16_t *row16 = (const uint16_t *)(const void *)row8;
        const int64_t *w = add->word + (size_t)i * (size_t)n_words;
        for (uint32_t c = 0; c < add->n_columns; c++) {
            const uint32_t code = bytes == 1 ? row8[add->place[c]] : row16[add->place[c]];
            int64_t *cell = add->cell[c] + (size_t)code * (size_t)n_words;
            for (int k = 0; k < n_words; k++)
                cell[k] += w[k];
        }
    }
}

INLINE void add_words(const struct rw_cpu_add *add, int n_words)
{
    if (add->bytes == 2)
        add_some(add, n_words, 2);
    else if (add->n_columns == RW_CPU_COLUMNS &&
             add->place[RW_CPU_COLUMNS - 1] == add->place[0] + RW_CPU_COLUMNS - 1)
        add->ahead ? add_neighbours(add, n_words, 1) : add_neighbours(add, n_words, 0);
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
