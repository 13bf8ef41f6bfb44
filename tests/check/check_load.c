/* load: cuts and codes are the engine's own; what it tells of them must agree. */
#include "check.h"

void check_load(struct check_run *run)
{
    const struct check_case *c = run->c;
    for (int s = 0; s < c->n_sets; s++) {
        const double *gains = s == 0 && c->rules.gradient == RW_GRADIENT_LAMBDA ? c->gains : NULL;
        struct rw_dataset cached = *c->set[s]; /* the same data, as a cache brings it */
        cached.bins = s == 0 ? c->bins : NULL;
        const int ref_status = rw_engine_load(run->ref, s, c->set[s], gains);
        const int status = rw_engine_load(run->engine, s, &cached, gains);
        if (c->rules.hist && status == RW_ERR_UNSUPPORTED) /* what the method cannot hold */
            return;
        if (!check_status(run, OP_LOAD, ref_status, status) || status < 0)
            return;
    }
    const struct rw_engine_info *a = &run->ref->info, *b = &run->engine->info;
    check_that(run, OP_LOAD, a->n_features == b->n_features, "%u features, ref has %u",
               b->n_features, a->n_features);
    check_that(run, OP_LOAD, a->n_bins == b->n_bins, "%llu bins, ref has %llu",
               (unsigned long long)b->n_bins, (unsigned long long)a->n_bins);
    /* why a feature is left out: a cache knows constant ones before what the rules ignore or find
     * too few documents of */
    check_that(
        run, OP_LOAD,
        a->n_constant + a->n_ignored + a->n_few == b->n_constant + b->n_ignored + b->n_few &&
            (c->spec.cached || (a->n_constant == b->n_constant && a->n_few == b->n_few)),
        "%u constant, %u ignored and %u features of too few documents; ref has %u, %u and %u",
        b->n_constant, b->n_ignored, b->n_few, a->n_constant, a->n_ignored, a->n_few);
}
