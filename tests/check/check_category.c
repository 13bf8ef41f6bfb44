/* check_category [--seed N]
 *
 * Compares the best category sets found by a GPU block (gpu/split/category_block.h) with those
 * of rw_category_split, whose rule tests/oracle follows, on made nodes. The block runs on the
 * host, each phase thread by thread, first to last and last to first, in poisoned memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "gpu/split/category_block.h"
#include "tree/category_split.h"

enum { N_NODES = 4000, MOST = RW_MAX_CATEGORY_CODES };

struct random {
    uint64_t seed, next;
};

static uint32_t below(struct random *random, uint32_t n)
{
    return rw_random(random->seed, random->next++, 0, 1003) % n;
}

struct node {
    struct rw_split_rule rule;
    double penalty;
    struct rw_cell cell[MOST], missing;
    uint32_t n_codes;
};

/* Few different sums, so that many codes tie, or all kinds of them. */
static struct rw_cell make_cell(struct random *random, int kind, int newton)
{
    struct rw_cell cell = {0, 0, 0};
    if (below(random, 4) == 0)
        return cell;
    cell.n = 1 + below(random, kind == 0 ? 2 : kind == 1 ? 50 : 1u << 31);
    const int64_t most = kind == 0 ? 3 : kind == 1 ? 1000 : INT64_C(1) << 40;
    cell.lambda = (int64_t)((uint64_t)below(random, UINT32_MAX) << 16) % (2 * most + 1) - most;
    if (newton)
        cell.hess = kind == 0 ? (int64_t)below(random, 2) : (int64_t)(cell.n * below(random, 100));
    return cell;
}

static void make_node(struct random *random, struct node *node)
{
    const int kind = (int)below(random, 3), newton = (int)below(random, 2);
    memset(node, 0, sizeof(*node));
    const uint32_t most = below(random, 16) ? CATEGORY_FEW_THREADS : MOST;
    node->n_codes = below(random, 4) ? 1 + below(random, most) : 1 + below(random, 5);
    if (below(random, 64) == 0)
        node->n_codes = most;
    node->rule = (struct rw_split_rule){.newton = newton,
                                        .l2 = below(random, 2) ? 0.0 : 7.5,
                                        .gain_scale = 0x1p-8,
                                        .hess_unit = 0x1p-4,
                                        .min_docs = 1 + below(random, kind == 2 ? 1000000 : 4),
                                        .given = {.min_hessian = below(random, 2) ? 0.0 : 0.3,
                                                  .min_gain = below(random, 4) ? 0.0 : 0.01},
                                        .category_prior = below(random, 3) ? 10.0 : 0.0};
    node->penalty = below(random, 3) ? 0.0 : 0.05;
    for (uint32_t code = 0; code < node->n_codes; code++)
        node->cell[code] = make_cell(random, kind, newton);
    if (below(random, 2))
        node->missing = make_cell(random, kind, newton);
}

/* phase 3 goes from sum[from]; step: of 3 and 5. */
static void run_phase(const struct category_block *b, const struct node *node, int phase, int from,
                      uint32_t step, int backward)
{
    const struct rw_cell none = {0, 0, 0};
    for (uint32_t i = 0; i < b->n_threads; i++) {
        const uint32_t thread = backward ? b->n_threads - 1 - i : i;
        const struct rw_cell *own = thread < node->n_codes ? &node->cell[thread] : &none;
        if (phase == 1)
            category_load(b, &node->rule, own, thread == 0 ? &node->missing : &none, thread);
        if (phase == 2)
            category_place(b, node->n_codes, thread);
        if (phase == 3)
            category_add_up(b, from, step, thread);
        if (phase == 4)
            category_try(b, &node->rule, node->penalty, own, from, thread);
        if (phase == 5)
            category_pick(b, step, thread);
        if (phase == 6)
            category_mark(b, node->n_codes, from, thread);
    }
}

static struct rw_category_split run_block(const struct node *node, unsigned char *shared,
                                          int backward)
{
    const uint32_t n_threads =
        node->n_codes <= CATEGORY_FEW_THREADS ? CATEGORY_FEW_THREADS : CATEGORY_THREADS;
    const struct category_block b = category_block_of(shared, n_threads);
    int from = 0;
    memset(shared, backward ? 0xb5 : 0x3c, CATEGORY_BYTES(n_threads));
    run_phase(&b, node, 1, from, 0, backward);
    run_phase(&b, node, 2, from, 0, backward);
    for (uint32_t step = 1; step < n_threads; step *= 2, from = !from)
        run_phase(&b, node, 3, from, step, backward);
    run_phase(&b, node, 4, from, 0, backward);
    for (uint32_t step = n_threads / 2; step > 0; step /= 2)
        run_phase(&b, node, 5, from, step, backward);
    run_phase(&b, node, 6, from, 0, backward);
    return category_result(&b, node->n_codes);
}

static int same(const struct rw_category_split *a, const struct rw_category_split *b)
{
    return a->gain == b->gain && a->missing_left == b->missing_left && a->n_left == b->n_left &&
           memcmp(&a->left, &b->left, sizeof(a->left)) == 0;
}

int main(int argc, char **argv)
{
    struct random random = {.seed = 1};
    static struct node node;
    unsigned char *shared = malloc(CATEGORY_BYTES(CATEGORY_THREADS));
    int n_failed = 0, n_found = 0, n_wide = 0;
    if (argc == 3 && strcmp(argv[1], "--seed") == 0) {
        random.seed = strtoull(argv[2], NULL, 0);
    } else if (argc != 1) {
        fprintf(stderr, "usage: %s [--seed N]\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < N_NODES; i++) {
        struct rw_category_split wanted;
        make_node(&random, &node);
        rw_category_split(&node.rule, node.penalty, node.cell, node.n_codes, &node.missing,
                          &wanted);
        n_found += wanted.gain > 0.0;
        n_wide += node.n_codes > CATEGORY_FEW_THREADS;
        for (int backward = 0; backward < 2; backward++) {
            const struct rw_category_split found = run_block(&node, shared, backward);
            if (same(&wanted, &found))
                continue;
            if (n_failed++ == 0)
                printf("not ok node %d of %u codes: gain %.17g of %llu documents, not %.17g of "
                       "%llu, or another set\n",
                       i, node.n_codes, found.gain, (unsigned long long)found.n_left, wanted.gain,
                       (unsigned long long)wanted.n_left);
        }
    }
    if (n_found < N_NODES / 2 && ++n_failed)
        printf("not ok: only %d nodes have a split\n", n_found);
    printf("%d nodes, %d with a split, %d of over %d codes, %d failed\n", N_NODES, n_found, n_wide,
           CATEGORY_FEW_THREADS, n_failed);
    free(shared);
    return n_failed > 0;
}
