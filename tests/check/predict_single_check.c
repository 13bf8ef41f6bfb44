/* Models for one document at a time (model/scorer.h) against the plain walk, by ==. */
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "model/scorer.h"
#include "predict_made.h"

static double lanes_one(const void *user, const float *values, size_t n_values)
{
    const struct rw_lanes *lanes = user;
    return lanes->score(lanes, values, n_values, 0);
}

static double single_one(const void *user, const float *values, size_t n_values)
{
    return rw_single_score(user, values, n_values, 0);
}

/* From the smallest feature's value on, so that the first one is not feature 0; and the last ones
 * are not there if they are absent. */
static double part_one(const void *user, const float *values, size_t n_values)
{
    const struct rw_lanes *lanes = user;
    const uint32_t first = lanes->n_columns ? lanes->feature[0] : 0;
    const int absent_missing = lanes->absent != lanes->absent;
    while (n_values > first && (absent_missing ? values[n_values - 1] != values[n_values - 1]
                                               : values[n_values - 1] == 0.0f))
        n_values--;
    return lanes->score(lanes, values + first, n_values - first, first);
}

static int32_t most_leaves(const struct rw_flat *flat)
{
    uint64_t most = 1;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const uint64_t n = flat->first_leaf[i + 1] - flat->first_leaf[i];
        most = n > most ? n : most;
    }
    return (int32_t)most;
}

/* Whether the model matches its specification. */
static int is_as_expected(const struct spec *spec, const struct rw_flat *flat,
                          const struct rw_lanes *lanes, enum rw_isa isa)
{
    const int32_t most = most_leaves(flat);
    if (isa == RW_ISA_PLAIN || most < 2 || most > 256 || flat->n_used > 256 ||
        spec->distinct > 254 * 256)
        return !lanes;
    if (!lanes)
        return (uint64_t)flat->n_used * (1 + spec->distinct / 254) > 256;
    return !spec->distinct || lanes->any_order;
}

static void check_fn(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                     const struct rw_dataset *data, const char *what, one_fn one, const void *user,
                     const double *want, double *got, struct totals *totals)
{
    poison(got, data->n_docs);
    if (score_one_by_one(ctx, model, data, one, user, got) < 0)
        fail(totals, spec, what, rw_last_error(ctx));
    else
        compare(totals, spec, what, want, got, data->n_docs);
}

static void check_isa(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                      const struct rw_dataset *data, const struct rw_flat *flat, enum rw_isa isa,
                      const double *want, double *got, struct totals *totals)
{
    struct rw_lanes *lanes = NULL;
    struct rw_single *single = NULL;
    char what[80];
    if (rw_lanes_new(ctx, flat, isa, &lanes) < 0 || rw_single_new(ctx, flat, isa, &single) < 0) {
        fail(totals, spec, "single", rw_last_error(ctx));
    } else {
        snprintf(what, sizeof(what), "all nodes, %s", rw_isa_name(isa));
        if (!is_as_expected(spec, flat, lanes, isa))
            fail(totals, spec, what, lanes ? "looked at or in order" : "refused");
        if (lanes) {
            check_fn(ctx, spec, model, data, what, lanes_one, lanes, want, got, totals);
            check_fn(ctx, spec, model, data, what, part_one, lanes, want, got, totals);
        }
        snprintf(what, sizeof(what), "single, %s", rw_isa_name(isa));
        if (single)
            check_fn(ctx, spec, model, data, what, single_one, single, want, got, totals);
    }
    rw_result_free(lanes);
    rw_result_free(single);
}

void check_single(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                  const struct rw_dataset *data, const double *want, double *got,
                  struct totals *totals)
{
    struct rw_flat flat;
    if (data->n_docs > 100000)
        return;
    if (rw_flat_init(ctx, &flat, model, spec->use) < 0) {
        fail(totals, spec, "single", rw_last_error(ctx));
        return;
    }
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++)
        check_isa(ctx, spec, model, data, &flat, (enum rw_isa)isa, want, got, totals);
    rw_flat_release(&flat);
}
