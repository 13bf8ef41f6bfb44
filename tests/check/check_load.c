/* load: each engine has its own boundaries and codes. The numbers that it reports must agree
 * with ref's, and so must the checksums of the data. */
#include <string.h>

#include "check.h"

/* Lists of work of the largest queries are planned before it is known which have an ideal. */
static int has_large_query(const struct rw_dataset *dataset)
{
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        if (dataset->query_offset[q + 1] - dataset->query_offset[q] > 256)
            return 1;
    return 0;
}

/* What only the choice of a method needs is given back by then. */
void check_plan(struct check_run *run)
{
    const struct check_case *c = run->c;
    const struct rw_plan *plan = &run->plan;
    const uint64_t bytes = run->engine->info.bytes;
    if (!run->has_plan)
        return;
    /* a method that was found faster may keep columns that the plan's does not */
    const int at_most =
        plan->on_gpu &&
        ((rw_rules_rank(&c->rules) && has_large_query(c->set[0]) && plan->bytes > bytes) ||
         (!c->rules.hist && bytes <= plan->most_bytes));
    check_that(run, OP_LOAD, plan->bytes == bytes || at_most,
               "%llu bytes, %llu were planned, %llu at most", (unsigned long long)bytes,
               (unsigned long long)plan->bytes, (unsigned long long)plan->most_bytes);
    if (c->far && run->engine->rules.device_bytes)
        check_that(run, OP_LOAD, bytes <= run->engine->rules.device_bytes,
                   "%llu bytes, %llu are allowed", (unsigned long long)bytes,
                   (unsigned long long)run->engine->rules.device_bytes);
    check_that(run, OP_LOAD, plan->tree_ms > 0.0 && plan->tree_ms < 1e9, "a tree in %g ms",
               plan->tree_ms);
}

/* So little memory that codes stay in the host's: what everything else needs, and some of the
 * codes. */
static void limit_memory(struct check_run *run, const struct rw_plan_data *data)
{
    struct rw_engine_rules *rules = &run->engine->rules, none = run->c->rules;
    struct rw_engine *other;
    struct rw_plan plan;
    if (!run->engine->ops->plan.make || strcmp(run->engine->ops->name, "cuda") != 0)
        return;
    for (int s = 1; s < data->n_sets; s++)
        none.other_docs += data->set[s]->n_docs;
    none.n_other_sets = (uint32_t)data->n_sets - 1;
    none.device_bytes = 1;
    if (!check_that(run, OP_LOAD, rw_engine_open(run->ctx, "cuda", &none, &other) >= 0,
                    "another engine: %s", rw_last_error(run->ctx)))
        return;
    const int status = rw_engine_plan(other, data, &plan);
    check_that(run, OP_LOAD, status == RW_ERR_MEMORY && plan.most_bytes > 1,
               "status %d of a plan without memory", status);
    rw_engine_close(other);
    rules->other_docs = none.other_docs;
    rules->n_other_sets = none.n_other_sets;
    rules->device_bytes =
        plan.most_bytes +
        check_below(&run->random, 1 + data->set[0]->n_docs * data->set[0]->n_columns / 2);
}

static void compare_sums(struct check_run *run, int set)
{
    const size_t n = run->ref->info.n_features;
    uint64_t *sums[2] = {check_buffer(n, sizeof(uint64_t), 0),
                         check_buffer(n, sizeof(uint64_t), 1)};
    const uint64_t first_doc = (uint64_t)check_bits(&run->random) << check_below(&run->random, 3);
    check_status(run, OP_LOAD, run->ref->ops->code_sums(run->ref, set, first_doc, sums[0]),
                 run->engine->ops->code_sums(run->engine, set, first_doc, sums[1]));
    check_same_bytes(run, OP_LOAD, sums[0], sums[1], n, sizeof(uint64_t),
                     set ? "sum of a validation set's codes" : "sum of the training set's codes");
}

void check_load(struct check_run *run)
{
    const struct check_case *c = run->c;
    const struct rw_dataset *set[RW_MAX_SETS];
    for (int s = 0; s < c->n_sets; s++)
        set[s] = c->set[s];
    const struct rw_plan_data data = {
        .set = set, .n_sets = c->n_sets, .bins = c->bins, .n_features = c->set[0]->n_columns};
    if (c->far)
        limit_memory(run, &data);
    const int planned = run->engine->ops->plan.make ? rw_engine_plan(run->engine, &data, &run->plan)
                                                    : RW_ERR_UNSUPPORTED;
    for (int s = 0; s < c->n_sets; s++) {
        const double *gains = s == 0 && rw_rules_rank(&c->rules) ? c->gains : NULL;
        const int ref_status = rw_engine_load(run->ref, s, c->set[s], NULL, gains);
        const int status =
            rw_engine_load(run->engine, s, c->set[s], s == 0 ? c->bins : NULL, gains);
        if (c->rules.hist && status == RW_ERR_UNSUPPORTED) /* more codes than the method allows */
            return;
        if (!check_status(run, OP_LOAD, ref_status, status) || status < 0)
            return;
    }
    run->was_far = planned >= 0 && run->plan.far_bytes > 0;
    run->has_plan =
        run->engine->ops->plan.make &&
        check_that(run, OP_LOAD, planned >= 0, "no plan: %s", rw_last_error(run->engine->ctx));
    const struct rw_engine_info *a = &run->ref->info, *b = &run->engine->info;
    check_that(run, OP_LOAD, a->n_features == b->n_features, "%u features, ref has %u",
               b->n_features, a->n_features);
    check_that(run, OP_LOAD, a->n_bins == b->n_bins, "%llu bins, ref has %llu",
               (unsigned long long)b->n_bins, (unsigned long long)a->n_bins);
    /* the reasons for excluding a feature: a cache detects constant features before the rules
     * exclude ignored ones and those with too few documents */
    check_that(
        run, OP_LOAD,
        a->n_constant + a->n_ignored + a->n_few == b->n_constant + b->n_ignored + b->n_few &&
            (c->spec.cached || (a->n_constant == b->n_constant && a->n_few == b->n_few)),
        "%u constant, %u ignored and %u features of too few documents; ref has %u, %u and %u",
        b->n_constant, b->n_ignored, b->n_few, a->n_constant, a->n_ignored, a->n_few);
    for (int s = 0; s < c->n_sets && a->n_features == b->n_features; s++)
        compare_sums(run, s);
}
