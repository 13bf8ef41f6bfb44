/* Splits by sets of categories: the penalty for choosing among many sets. */
#include <criterion/criterion.h>
#include <math.h>

#include "tree/category_split.h"
#include "tree/engine.h"

/* Counts as weights, a gain as it is, one unit of cost a bit. */
static struct rw_split_rule rule_at(double cost)
{
    const struct rw_split_rule rule = {.gain_scale = 1.0, .min_docs = 1, .category_cost = cost};
    return rule;
}

static double entropy(double p)
{
    return -p * log2(p) - (1.0 - p) * log2(1.0 - p);
}

Test(category_split, cost_is_the_bits_of_a_set)
{
    const struct rw_split_rule rule = rule_at(1.0);
    for (uint32_t all = 3; all <= RW_MAX_CATEGORY_CODES; all++) {
        cr_assert_eq(rw_category_cost(&rule, all, 0), 0.0);
        for (uint32_t size = 1; size < all; size++) {
            const double cost = rw_category_cost(&rule, all, size), free = (double)all - 2.0;
            const double bits = free * entropy((double)size / (double)all);
            cr_assert_eq(cost, rw_category_cost(&rule, all, all - size), "%u of %u", size, all);
            cr_assert_lt(fabs(cost - bits), 0.0081 * free, "%u of %u", size, all);
        }
    }
    cr_assert_eq(rw_category_cost(&rule, 8, 4), 6.0);
    cr_assert_eq(rw_category_cost(&rule, 2, 1), 0.0, "two are split in one way");
    cr_assert_eq(rw_category_cost(&rule, 1, 1), 0.0);
}

Test(category_split, candidates_have_sizes)
{
    cr_assert_eq(rw_category_size(RW_CANDIDATE_MISSING), 0);
    cr_assert_eq(rw_category_size(RW_CANDIDATE_ONE), 1);
    cr_assert_eq(rw_category_size(RW_CANDIDATE_FIRST - 1), 1);
    cr_assert_eq(rw_category_size(RW_CANDIDATE_FIRST), 1);
    cr_assert_eq(rw_category_size(RW_CANDIDATE_FIRST + 1), 2);
    for (uint32_t k = 0; k < 3; k++) {
        const struct rw_category_found found = {.candidate = RW_CANDIDATE_FIRST + k, .n_left = 1};
        for (uint32_t place = 0; place < 5; place++)
            cr_assert_eq(rw_category_goes_left(&found, 10, 1000, 1, place), place <= k);
    }
}

/* Eight categories of ten documents: one is far lower than the others, three more are lower. */
static const struct rw_cell cells[8] = {{10, 0, 20},  {10, 0, -60}, {10, 0, 20},  {10, 0, -20},
                                        {10, 0, -20}, {10, 0, 40},  {10, 0, -20}, {10, 0, 40}};

static struct rw_category_split split_at(double cost, const struct rw_cell *missing)
{
    const struct rw_split_rule rule = rule_at(cost);
    struct rw_category_split split;
    rw_category_split(&rule, 0.0, cells, 8, missing, &split);
    return split;
}

Test(category_split, a_larger_set_has_to_gain_more)
{
    const struct rw_cell none = {0, 0, 0};
    const double half = 120.0 * 120.0 / 40.0 * 2.0;             /* of 1, 3, 4 and 6 */
    const double one = 60.0 * 60.0 / 10.0 + 60.0 * 60.0 / 70.0; /* of 1 */
    const struct rw_split_rule unit = rule_at(1.0);
    const double cost_of_one = rw_category_cost(&unit, 8, 1);
    cr_assert_eq(unit.category_cost, 1.0);
    struct rw_category_split split = split_at(0.0, &none);
    cr_assert_eq(split.gain, half);
    cr_assert_eq(split.left.word[0], 1u << 1 | 1u << 3 | 1u << 4 | 1u << 6);
    split = split_at(20.0, &none); /* half of them: 6 bits */
    cr_assert_eq(split.gain, half - 120.0);
    cr_assert_eq(split.n_left, 40);
    split = split_at(115.0, &none);
    cr_assert_eq(split.left.word[0], 1u << 1);
    cr_assert_eq(split.n_left, 10);
    cr_assert_eq(split.gain, one - 115.0 * cost_of_one, "%.17g", split.gain);
    split = split_at(300.0, &none);
    cr_assert_eq(split.gain, 0.0);
}

/* The largest number of codes, in an order in which no code is at its own index, and ties.
 */
Test(category_split, of_1024_codes)
{
    static struct rw_cell many[RW_MAX_CATEGORY_CODES];
    const struct rw_cell none = {0, 0, 0};
    const struct rw_split_rule rule = rule_at(0.0);
    struct rw_category_split split;
    for (uint32_t code = 0; code < RW_MAX_CATEGORY_CODES; code++)
        many[code] = (struct rw_cell){10, 0, code % 3 == 1 ? -40 : 20 + (int64_t)(code * 7 % 5)};
    rw_category_split(&rule, 0.0, many, RW_MAX_CATEGORY_CODES, &none, &split);
    cr_assert_eq(split.n_left, 10 * (RW_MAX_CATEGORY_CODES / 3));
    for (uint32_t code = 0; code < RW_MAX_CATEGORY_CODES; code++)
        cr_assert_eq(rw_set_has(&split.left, code), code % 3 == 1, "%u", code);
    cr_assert_eq(rw_set_has(&split.left, RW_MAX_CATEGORY_CODES), 0);
    const double left = 40.0 * 341.0;
    double all = -left, gain;
    for (uint32_t code = 0; code < RW_MAX_CATEGORY_CODES; code++)
        all += code % 3 == 1 ? 0.0 : 20.0 + code * 7 % 5;
    gain = left * left / 3410.0 + (all + left) * (all + left) / 6830.0 - all * all / 10240.0;
    cr_assert_eq(split.gain, gain, "%.17g, not %.17g", split.gain, gain);
    /* all alike but the last two: the first of equal sets is the lowest codes' */
    for (uint32_t code = 0; code < RW_MAX_CATEGORY_CODES; code++)
        many[code] = (struct rw_cell){1, 0, code < 1022 ? -1 : 511};
    rw_category_split(&rule, 0.0, many, RW_MAX_CATEGORY_CODES, &none, &split);
    cr_assert_eq(split.n_left, 1022);
    cr_assert_eq(split.left.word[31], 0x3fffffff);
}

Test(category_split, missing_values_against_all_others_are_free)
{
    const struct rw_cell missing = {10, 0, 30}, none = {0, 0, 0};
    const double whole = 30.0 * 30.0 / 90.0;
    const struct rw_category_split split = split_at(1e9, &missing);
    cr_assert_eq(split.gain, 30.0 * 30.0 / 10.0 + 0.0 - whole);
    cr_assert_eq(split.missing_left, 1);
    cr_assert_eq(split.n_left, 10);
    cr_assert_eq(split_at(1e9, &none).gain, 0.0);
}

Test(category_split, chance_is_the_mean_square_of_a_document)
{
    struct rw_engine engine = {.rules.split = {.category_penalty = 0.5, .category_smoothing = 3.0}};
    const struct rw_root root = {.sum = {.n = 10}, .lambda_shift = 3, .lambda_exponent = 4};
    const struct rw_quantised_sums sums = {.hess = 40, .lambda_squares = 80};
    rw_engine_set_split_rule(&engine, &root, &sums);
    cr_assert_eq(engine.split_rule.category_cost, 0.5 * 8.0 * engine.split_rule.gain_scale);
    cr_assert_eq(engine.split_rule.category_prior, 3.0);
    engine.rules.newton = 1;
    rw_engine_set_split_rule(&engine, &root, &sums);
    cr_assert_eq(engine.split_rule.category_cost, 0.5 * 2.0 * engine.split_rule.gain_scale);
    cr_assert_eq(engine.split_rule.category_prior, 12.0);
    rw_engine_set_split_rule(&engine, &(struct rw_root){.lambda_shift = 3},
                             &(struct rw_quantised_sums){.hess = 0});
    cr_assert_eq(engine.split_rule.category_cost, 0.0, "a tree without documents");
}

/* A level of one node whose sides are all allowed is searched as the node is. */
Test(category_split, a_level_of_one_node)
{
    const struct rw_split_rule rule = rule_at(3.0);
    const struct rw_cell none = {0, 0, 0}, some = {7, 0, 35};
    struct rw_category_level *level = malloc(sizeof(*level));
    for (int missing = 0; missing < 2; missing++) {
        struct rw_category_split node, found;
        rw_category_split(&rule, 0.5, cells, 8, missing ? &some : &none, &node);
        rw_category_level_start(level, &rule, cells, 8, missing ? &some : &none);
        rw_category_level_add(level, cells, missing ? &some : &none);
        rw_category_level_end(level, 0.5, &found);
        cr_assert_gt(node.gain, 0.0);
        cr_assert_eq(memcmp(&node, &found, sizeof(node)), 0);
    }
    free(level);
}

/* Two nodes with the same categories: the order is that of their totals, and no other candidate of
 * that order gains more. Sides with too few documents add nothing. */
Test(category_split, a_level_of_two_nodes)
{
    struct rw_split_rule rule = rule_at(0.0);
    rule.min_docs = 12;
    const struct rw_cell none = {0, 0, 0};
    struct rw_cell node[2][6] = {
        {{10, 0, 40}, {9, 0, -30}, {0, 0, 0}, {8, 0, 3}, {5, 0, 50}, {7, 0, -9}},
        {{3, 0, -5}, {11, 0, -44}, {6, 0, 21}, {9, 0, 5}, {2, 0, 9}, {4, 0, 8}}};
    struct rw_cell total[6];
    struct rw_category_level *level = malloc(sizeof(*level));
    struct rw_category_split found;
    double best = 0.0;
    for (int code = 0; code < 6; code++) {
        total[code] = node[0][code];
        rw_cell_add(&total[code], &node[1][code]);
    }
    rw_category_level_start(level, &rule, total, 6, &none);
    for (int k = 0; k < 2; k++)
        rw_category_level_add(level, node[k], &none);
    rw_category_level_end(level, 0.0, &found);
    free(level);
    for (uint32_t set = 1; set < 63;
         set++) { /* sets that the order of keys allows, and single codes */
        double gain = 0.0, most_left = -1e9, least_right = 1e9;
        uint64_t n_left = 0;
        for (uint32_t code = 0; code < 6; code++) {
            const double key = rw_category_key(&rule, &total[code]);
            if (set >> code & 1)
                most_left = key > most_left ? key : most_left;
            else
                least_right = key < least_right ? key : least_right;
        }
        if (most_left > least_right && __builtin_popcount(set) > 1)
            continue;
        for (int k = 0; k < 2; k++) {
            struct rw_cell side[2] = {none, none}, all = none;
            for (uint32_t code = 0; code < 6; code++)
                rw_cell_add(&side[set >> code & 1], &node[k][code]);
            rw_cell_add(&all, &side[0]);
            rw_cell_add(&all, &side[1]);
            n_left += side[1].n;
            for (int s = 0; s < 2; s++)
                gain += side[s].n < 12 ? 0.0 : rw_side_gain(&rule, &side[s]);
            gain -= rw_side_gain(&rule, &all);
        }
        if (found.left.word[0] == set) {
            cr_assert_float_eq(found.gain, gain, 1e-9);
            cr_assert_eq(found.n_left, n_left);
        }
        best = gain > best ? gain : best;
    }
    cr_assert_float_eq(found.gain, best, 1e-9);
}
