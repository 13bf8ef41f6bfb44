#include "base/mem.h"
#include "evaluate/calibrate.h"

/* Groups first to last, whose probability is one. */
struct block {
    size_t first, last;
    rw_uint128 weight, relevant;
};

/* a / b against c / d, as whole numbers; b, d > 0: below 0, 0 or above. Each turn compares the
 * whole parts, then 1 over what is left of both. */
static int compare_fractions(rw_uint128 a, rw_uint128 b, rw_uint128 c, rw_uint128 d)
{
    for (;;) {
        const rw_uint128 whole_a = a / b, whole_c = c / d;
        if (whole_a != whole_c)
            return whole_a < whole_c ? -1 : 1;
        const rw_uint128 rest_a = a - whole_a * b, rest_c = c - whole_c * d;
        if (rest_a == 0 || rest_c == 0)
            return (rest_a != 0) - (rest_c != 0);
        a = d;
        c = b;
        b = rest_c;
        d = rest_a;
    }
}

/* block: [n], written; how many there are. Their shares of relevant weight ascend strictly. */
static size_t pool(const struct rw_score_group *group, size_t n, struct block *block)
{
    size_t n_blocks = 0;
    for (size_t i = 0; i < n; i++) {
        struct block last = {i, i, group[i].weight, group[i].relevant};
        while (n_blocks > 0 &&
               compare_fractions(block[n_blocks - 1].relevant, block[n_blocks - 1].weight,
                                 last.relevant, last.weight) >= 0) {
            n_blocks--;
            last.first = block[n_blocks].first;
            last.weight += block[n_blocks].weight;
            last.relevant += block[n_blocks].relevant;
        }
        block[n_blocks++] = last;
    }
    return n_blocks;
}

static void add_knot(struct rw_score_map *map, double score, double probability)
{
    map->score[map->n_knots] = score;
    map->probability[map->n_knots++] = probability;
}

int rw_isotonic_fit(struct rw_ctx *ctx, const struct rw_score_group *group, size_t n,
                    struct rw_score_map *out)
{
    struct block *block = NULL;
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW_RAW(ctx, block, n));
    const size_t n_blocks = pool(group, n, block);
    if (n_blocks > INT32_MAX / 2) {
        status =
            rw_fail(ctx, RW_ERR_UNSUPPORTED, "%zu blocks of equal probability; expected at most %d",
                    n_blocks, INT32_MAX / 2);
        goto out;
    }
    RW_TRY_OUT(RW_NEW_RAW(ctx, out->score, 2 * n_blocks));
    RW_TRY_OUT(RW_NEW_RAW(ctx, out->probability, 2 * n_blocks));
    out->kind = RW_SCORE_MAP_ISOTONIC;
    double probability = 0.0;
    for (size_t i = 0; i < n_blocks; i++) {
        const double share = (double)block[i].relevant / (double)block[i].weight;
        probability = share > probability ? share : probability; /* where both are rounded to one */
        add_knot(out, group[block[i].first].score, probability);
        if (block[i].last > block[i].first)
            add_knot(out, group[block[i].last].score, probability);
    }
out:
    rw_mem_free(block);
    return status;
}
