/* histograms and best_splits: histograms never leave an engine, so the splits they lead
 * to are compared, over many partitions of the documents. */
#include <stdlib.h>
#include <string.h>

#include "check.h"

int check_same_split(const struct rw_split *a, const struct rw_split *b)
{
    if (a->slot != b->slot || (a->column < 0) != (b->column < 0))
        return 0;
    return a->column < 0 ||
           (a->feature == b->feature && a->column == b->column && a->bin == b->bin &&
            memcmp(&a->cut, &b->cut, sizeof(a->cut)) == 0 && a->missing_left == b->missing_left &&
            a->is_set == b->is_set &&
            (!a->is_set || memcmp(&a->set, &b->set, sizeof(a->set)) == 0) &&
            memcmp(&a->gain, &b->gain, sizeof(a->gain)) == 0 && a->n_left == b->n_left);
}

static void shuffle(struct check_random *random, int32_t *slots, int n)
{
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)check_below(random, (uint32_t)i + 1);
        const int32_t moved = slots[i];
        slots[i] = slots[j];
        slots[j] = moved;
    }
}

/* Where nodes may be split by other features each: those of the slots to be searched, at random,
 * none in some. */
static void allow(struct check_run *run, const int32_t *slots, int n)
{
    const size_t words = rw_node_words(run->ref);
    if (!rw_rules_by_node(&run->ref->rules))
        return;
    uint32_t *features = calloc((size_t)n * words + 1, sizeof(*features));
    if (!features)
        abort();
    for (int i = 0; i < n; i++) {
        const uint32_t kind = check_below(&run->random, 8); /* 0: none; 1: all */
        uint32_t *of_node = features + (size_t)i * words;
        for (size_t w = 0; w < rw_feature_words(run->ref) && kind > 0; w++)
            of_node[w] = kind == 1 ? ~0u : check_bits(&run->random);
        for (uint32_t f = 0; words > rw_feature_words(run->ref) && f < run->ref->info.n_features;
             f++) {
            const double unit = sqrt(run->ref->split_rule.random_gain);
            const double noise = unit * (1 + check_below(&run->random, 1000)) / 100.0;
            memcpy(of_node + rw_noise_word(run->ref) + 2 * (size_t)f, &noise, sizeof(noise));
        }
    }
    check_status(run, OP_SPLITS, run->ref->ops->allow(run->ref, slots, n, features),
                 run->engine->ops->allow(run->engine, slots, n, features));
    free(features);
}

void check_splits(struct check_run *run, const struct rw_sibling *siblings, int n_siblings,
                  int32_t *slots, int n_slots)
{
    allow(run, slots, n_slots);
    check_status(run, OP_SPLITS, run->ref->ops->histograms(run->ref, siblings, n_siblings),
                 run->engine->ops->histograms(run->engine, siblings, n_siblings));
    shuffle(&run->random, slots, n_slots);
    struct rw_split *split[2];
    int status[2];
    const size_t n = (size_t)n_slots;
    for (int side = 0; side < 2; side++) {
        split[side] = check_buffer(n, sizeof(**split), side);
        struct rw_engine *engine = side ? run->engine : run->ref;
        status[side] = rw_engine_best_splits(engine, slots, n_slots, split[side]);
    }
    check_status(run, OP_SPLITS, status[0], status[1]);
    for (size_t i = 0; i < n && status[0] >= 0 && status[1] >= 0; i++) {
        const struct rw_split *a = &split[0][i], *b = &split[1][i];
        check_that(
            run, OP_SPLITS, check_same_split(a, b),
            "slot %d of %u documents: feature %u bin %u cut %.9g missing %d gain %.17g left %u, "
            "ref has %d:%u %u %.9g %d %.17g %u",
            slots[i], run->node[slots[i]].n, b->column < 0 ? 0 : b->feature, b->bin, (double)b->cut,
            b->missing_left, b->gain, b->n_left, a->column, a->feature, a->bin, (double)a->cut,
            a->missing_left, a->gain, a->n_left);
        run->node[slots[i]].best = *a;
    }
    check_that(run, OP_SPLITS, check_fences(split[1], n, sizeof(**split)),
               "splits: written past their end");
    check_free(split[0]);
    check_free(split[1]);
}
