/* Finds the best split of a node by a categorical feature (tree/category_split.h), with a block of
 * one thread per code. A function is a phase: the work of a thread between two barriers, in which
 * no thread reads data that another one writes. tests/check/check_category.c calls them on the host
 * for each thread in turn.
 *
 * A code's place is the number of codes that come before it in the order of rw_category_key, then
 * code; the thread of the code counts them. Sums are added up along this order. Thread t tries two
 * candidates: code t alone, and the codes at places 0 to t. Thread 0 also tries missing values
 * alone. */
#pragma once

#include "tree/category_split.h"
#include "tree/numbers.h"

/* Threads of a block: a power of four, at least the codes of its feature. */
enum { CATEGORY_FEW_THREADS = 256, CATEGORY_THREADS = RW_MAX_CATEGORY_CODES };

/* Data of a block that exists once, rather than once per thread. */
struct category_alone {
    struct rw_cell missing;
    struct rw_code_set left;
    uint32_t n_seen; /* codes that the node's documents have */
};
/* A block's shared memory. Sums reuse the memory of cells, and the best candidates that of sums,
 * since small devices have no more. A thread keeps the cell of its own code in registers. */
struct category_block {
    uint32_t n_threads;
    struct category_alone *alone;
    struct rw_cell *cell;   /* [n_threads] by code, until all have a place */
    struct rw_cell *sum[2]; /* [n_threads] both: sums up to each place; one is read, one written */
    struct rw_category_found *found; /* [n_threads] best of each thread, once the sums are made */
    double *key;                     /* [n_threads] by code */
    uint16_t *place;                 /* [n_threads] by code */
};
#define CATEGORY_BYTES(n_threads)    \
    (sizeof(struct category_alone) + \
     (n_threads) * (2 * sizeof(struct rw_cell) + sizeof(double) + sizeof(uint16_t)))

/* Divides a block's shared memory: CATEGORY_BYTES(n_threads) bytes, aligned as double is. */
RW_HD struct category_block category_block_of(unsigned char *shared, uint32_t n_threads)
{
    struct category_block b;
    b.n_threads = n_threads;
    b.alone = (struct category_alone *)(void *)shared;
    b.cell = b.sum[1] = (struct rw_cell *)(void *)(b.alone + 1);
    b.sum[0] = b.cell + n_threads;
    b.found = (struct rw_category_found *)(void *)b.cell; /* since the last sums are sum[0] */
    b.key = (double *)(void *)(b.sum[0] + n_threads);
    b.place = (uint16_t *)(void *)(b.key + n_threads);
    return b;
}

/* Phase 1: loads the cells. cell: that of the thread's code, {0} from n_codes on. missing: used by
 * thread 0. */
RW_HD void category_load(const struct category_block *b, const struct rw_split_rule *rule,
                         const struct rw_cell *cell, const struct rw_cell *missing, uint32_t thread)
{
    b->cell[thread] = *cell;
    b->key[thread] = cell->n ? rw_category_key(rule, cell) : 0.0;
    if (thread == 0)
        b->alone->missing = *missing;
}

/* Phase 2: finds the places of codes. Codes without documents come last. */
RW_HD void category_place(const struct category_block *b, uint32_t n_codes, uint32_t thread)
{
    const int is_seen = b->cell[thread].n > 0;
    const double own = b->key[thread];
    uint32_t n_seen = 0, n_unseen = 0, n_before = 0; /* n_unseen: lower codes without documents */
    for (uint32_t code = 0; code < n_codes; code++) {
        const double key = b->key[code];
        if (b->cell[code].n == 0) {
            n_unseen += code < thread;
            continue;
        }
        n_seen++;
        n_before += key < own || (key == own && code < thread);
    }
    const uint32_t place = thread >= n_codes ? thread : is_seen ? n_before : n_seen + n_unseen;
    b->place[thread] = (uint16_t)place;
    b->sum[0][place] = b->cell[thread];
    if (thread == 0)
        b->alone->n_seen = n_seen;
}

/* Phase 3: adds up sums along the order of places. Call it for step = 1, 2, 4, ... below n_threads,
 * with a barrier after each. It reads sum[from] and writes the other array. from: 0 for the first
 * call, then the array that the call before has written. */
RW_HD void category_add_up(const struct category_block *b, int from, uint32_t step, uint32_t thread)
{
    struct rw_cell sum = b->sum[from][thread];
    if (thread >= step)
        rw_cell_add(&sum, &b->sum[from][thread - step]);
    b->sum[!from][thread] = sum;
}

/* Phase 4: tries a thread's candidates. cell: as in phase 1. from: the array of sums that phase 3
 * has written last. */
RW_HD void category_try(const struct category_block *b, const struct rw_split_rule *rule,
                        double penalty, const struct rw_cell *cell, int from, uint32_t thread)
{
    struct rw_category_node node = {
        rule, b->sum[from][b->n_threads - 1], b->alone->missing, 0.0, penalty, b->alone->n_seen};
    struct rw_category_found best = {0.0, 0, UINT32_MAX, 0};
    const struct rw_cell none = {0, 0, 0};
    rw_cell_add(&node.all, &b->alone->missing);
    node.parent_gain = rw_side_gain(rule, &node.all);
    if (thread == 0 && b->alone->missing.n > 0)
        rw_category_try(&node, RW_CANDIDATE_MISSING, &none, &best);
    if (cell->n > 0)
        rw_category_try(&node, RW_CANDIDATE_ONE + thread, cell, &best);
    if (thread > 0 && thread + 2 < b->alone->n_seen)
        rw_category_try(&node, RW_CANDIDATE_FIRST + thread, &b->sum[from][thread], &best);
    b->found[thread] = best;
}

/* Phase 5: finds the best candidate, found[0]. Call it for step = n_threads / 2, ..., 2, 1, with a
 * barrier after each. */
RW_HD void category_pick(const struct category_block *b, uint32_t step, uint32_t thread)
{
    if (thread < step && rw_category_beats(&b->found[thread + step], &b->found[thread]))
        b->found[thread] = b->found[thread + step];
}

/* Phase 6: writes the set of the best candidate, one word per thread. from: as in phase 4. */
RW_HD void category_mark(const struct category_block *b, uint32_t n_codes, int from,
                         uint32_t thread)
{
    const uint64_t n_all = b->sum[from][b->n_threads - 1].n + b->alone->missing.n;
    if (thread >= RW_SET_WORDS)
        return;
    b->alone->left.word[thread] = 0;
    for (uint32_t code = 32 * thread; code < n_codes && code < 32 * (thread + 1); code++) {
        if (b->found[0].gain > 0.0 &&
            rw_category_goes_left(&b->found[0], n_all, code, b->place[code] < b->alone->n_seen,
                                  b->place[code]))
            rw_set_add(&b->alone->left, code);
    }
}

/* Phase 7: returns the result. Any thread may call it. */
RW_HD struct rw_category_split category_result(const struct category_block *b, uint32_t n_codes)
{
    struct rw_category_split split = {{{0}}, 0, 0.0, 0};
    const struct rw_category_found best = b->found[0];
    if (!(best.gain > 0.0))
        return split;
    split.left = b->alone->left;
    split.missing_left =
        b->alone->missing.n > 0 ? best.missing_left : rw_set_has(&b->alone->left, n_codes - 1);
    split.gain = best.gain;
    split.n_left = best.n_left;
    return split;
}
