/* A packed model's documents in plain C, with the compiler's vectors; and what all instruction sets
 * have in common. */
#include "model/packed.h"

enum {
    CHAINS = 8, /* documents that go down a tree side by side */
    VECTOR_BYTES = 16
};
typedef uint8_t vector8 __attribute__((vector_size(VECTOR_BYTES), may_alias));
typedef uint16_t vector16 __attribute__((vector_size(VECTOR_BYTES), may_alias));

/* How many of the row's cuts are below the value; 0 of a NaN. */
static uint32_t rank_of(const float *pivot, uint32_t rest, float value)
{
    const float *cut = pivot + RW_PACKED_PIVOTS;
    uint32_t at = 0;
    for (uint32_t step = RW_PACKED_PIVOTS / 2; step > 0; step /= 2)
        at += pivot[at + step] < value ? step : 0;
    at <<= rest;
    for (uint32_t step = (1u << rest) / 2; step > 0; step /= 2)
        at += cut[at + step - 1] < value ? step : 0;
    return at;
}

#define DEFINE_PLAIN(code_type, bits)                                                         \
    static void encode##bits(const struct rw_packed *packed, const struct rw_packed_row *row, \
                             const float *values, void *codes)                                \
    {                                                                                         \
        const float *pivot = packed->cut + row->first_cut;                                    \
        const uint32_t rest = row->levels - RW_PACKED_TOP;                                    \
        code_type *code = codes;                                                              \
        for (uint32_t i = 0; i < RW_PACKED_DOCS; i++) {                                       \
            const uint32_t rank = rank_of(pivot, rest, values[i]);                            \
            code[i] = (code_type)(values[i] != values[i] ? row->missing : rank);              \
        }                                                                                     \
    }                                                                                         \
    static void look_at_nodes##bits(const struct rw_packed_node *node, uint32_t n,            \
                                    const char *codes, char *places)                          \
    {                                                                                         \
        for (uint32_t i = 0; i < n; i++, node++) {                                            \
            const vector##bits *code = (const vector##bits *)(codes + node->row);             \
            const vector##bits *left = (const vector##bits *)(places + node->left);           \
            const vector##bits *right = (const vector##bits *)(places + node->right);         \
            vector##bits *to = (vector##bits *)(places + node->to);                           \
            const code_type cut = (code_type)node->cut, skip = (code_type)node->skip;         \
            for (uint32_t v = 0; v < RW_PACKED_DOCS * bits / 8 / VECTOR_BYTES; v++) {         \
                const vector##bits goes_left = (vector##bits)(code[v] <= cut);                \
                const vector##bits below_left = left[v] & goes_left;                          \
                to[v] = below_left | ((right[v] + skip) & ~goes_left);                        \
            }                                                                                 \
        }                                                                                     \
    }                                                                                         \
    static void add##bits(const struct rw_packed *packed, int32_t first, int32_t end,         \
                          const void *codes, void *places, double *score)                     \
    {                                                                                         \
        for (int32_t i = first; i < end; i++) {                                               \
            const struct rw_packed_tree *tree = &packed->tree[i];                             \
            if (tree->walked) {                                                               \
                rw_packed_walk(packed, tree, codes, score);                                   \
                continue;                                                                     \
            }                                                                                 \
            const uint32_t n = tree->n_leaves - 1;                                            \
            const code_type *number = (code_type *)places + (n > 0 ? RW_PACKED_DOCS : 0);     \
            const float *leaf = packed->leaf + tree->first_leaf;                              \
            look_at_nodes##bits(packed->node + tree->first, n, codes, places);                \
            for (uint32_t d = 0; d < RW_PACKED_DOCS; d++)                                     \
                score[d] += (double)leaf[number[d]];                                          \
        }                                                                                     \
    }                                                                                         \
    static void walk##bits(const struct rw_packed_step *step, const float *leaf,              \
                           const char *codes, double *score)                                  \
    {                                                                                         \
        for (uint32_t d = 0; d < RW_PACKED_DOCS; d += CHAINS) {                               \
            uint32_t at[CHAINS] = {0}, moved;                                                 \
            do {                                                                              \
                moved = 0;                                                                    \
                for (uint32_t c = 0; c < CHAINS; c++) {                                       \
                    const struct rw_packed_step *s = &step[at[c]];                            \
                    const uint32_t code = ((const code_type *)(codes + s->row))[d + c];       \
                    const uint32_t next = s->left + (code > s->cut);                          \
                    moved |= next ^ at[c];                                                    \
                    at[c] = next;                                                             \
                }                                                                             \
            } while (moved);                                                                  \
            for (uint32_t c = 0; c < CHAINS; c++)                                             \
                score[d + c] += (double)leaf[step[at[c]].leaf];                               \
        }                                                                                     \
    }

DEFINE_PLAIN(uint8_t, 8)
DEFINE_PLAIN(uint16_t, 16)

void rw_packed_walk(const struct rw_packed *packed, const struct rw_packed_tree *tree,
                    const void *codes, double *score)
{
    const struct rw_packed_step *step = packed->step + tree->first;
    const float *leaf = packed->leaf + tree->first_leaf;
    if (packed->code_bytes == 1)
        walk8(step, leaf, codes, score);
    else
        walk16(step, leaf, codes, score);
}

const struct rw_packed_ops *rw_packed_ops(enum rw_isa isa)
{
    static const struct rw_packed_ops plain = {.name = "plain",
                                               .most = {256, 128},
                                               .row_ns = 5.0,
                                               .node_ns = 0.043,
                                               .encode = {encode8, encode16},
                                               .add = {add8, add16}};
    if (isa == RW_ISA_AVX512 && rw_packed_avx512)
        return rw_packed_avx512;
    return isa >= RW_ISA_AVX2 && rw_packed_avx2 ? rw_packed_avx2 : &plain;
}
