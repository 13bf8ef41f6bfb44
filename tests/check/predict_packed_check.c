/* Packed models (model/scorer.h) against the plain walk, by ==. */
#include <stdio.h>
#include <string.h>

#include "base/machine.h"
#include "base/mem.h"
#include "model/scorer.h"
#include "predict_made.h"

/* Whether the packed model matches the specification. */
static int is_as_expected(const struct spec *spec, const struct rw_packed *packed)
{
    const int refused = spec->distinct > 65535 || spec->n_features > 16384;
    if (!packed || refused)
        return !packed && refused;
    return packed->code_bytes == (spec->distinct > 255 ? 2 : 1);
}

/* Documents as rows of some of the features, with their expected scores. */
struct cut_out {
    const struct rw_model *model;
    int n_trees;
    float *all; /* [RW_FEATURE_IDS] absent except the selected features */
    float *value;
    uint32_t n_features, first;
    uint32_t *n_docs;
};

static double cut_out_one(const void *user, const float *values, size_t n_values)
{
    const struct cut_out *cut = user;
    const size_t bytes = cut->n_features * sizeof(float);
    memcpy(cut->all + cut->first, values + cut->first, bytes);
    memcpy(cut->value + (size_t)(*cut->n_docs)++ * cut->n_features, values + cut->first, bytes);
    struct rw_model some = *cut->model;
    some.n_trees = cut->n_trees;
    return rw_predict_one(&some, cut->all, n_values);
}

static int check_part(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                      const struct rw_dataset *data, uint32_t first, uint32_t n_features,
                      struct totals *totals)
{
    struct cut_out cut = {.model = model, .n_features = n_features, .first = first};
    const uint32_t n = data->n_docs;
    struct rw_scorer *scorer = NULL;
    double *want = NULL, *got = NULL;
    uint32_t n_docs = 0;
    char what[80];
    int status = RW_OK;
    cut.n_trees = spec->use ? spec->use : model->n_trees;
    cut.n_docs = &n_docs;
    RW_TRY_OUT(RW_NEW(ctx, cut.all, RW_FEATURE_IDS));
    RW_TRY_OUT(RW_NEW(ctx, cut.value, (size_t)data->n_docs * n_features));
    RW_TRY_OUT(RW_NEW(ctx, want, (size_t)data->n_docs + FENCE));
    RW_TRY_OUT(RW_NEW(ctx, got, (size_t)data->n_docs + FENCE));
    for (uint32_t f = 0; f <= RW_MAX_FEATURE; f++)
        cut.all[f] = model->absent_missing ? rw_float_of_bits(RW_MISSING_BITS) : 0.0f;
    RW_TRY_OUT(score_one_by_one(ctx, model, data, cut_out_one, &cut, want));
    RW_TRY_OUT(rw_scorer_new(ctx, model, spec->use, &scorer));
    /* Again and again: at first by one document at a time, then by the packed model. */
    for (int i = 0; i < 4; i++) {
        snprintf(what, sizeof(what), "rows of features %u to %u, time %d", first,
                 first + n_features, i);
        poison(got, n);
        RW_TRY_OUT(rw_scorer_rows(ctx, scorer, cut.value, n, n_features, first, got));
        compare(totals, spec, what, want, got, n);
    }
    struct rw_flat flat;
    RW_TRY_OUT(rw_flat_init(ctx, &flat, model, spec->use));
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
        struct rw_packed *packed;
        const struct rw_rows rows = {cut.value, n, n_features, first};
        status = rw_packed_new(ctx, &flat, rw_packed_ops((enum rw_isa)isa), &packed);
        poison(got, n);
        if (status >= 0 && packed)
            status = rw_packed_rows(ctx, packed, &rows, got);
        if (status >= 0 && packed)
            compare(totals, spec, "packed rows", want, got, n);
        rw_result_free(packed);
    }
    rw_flat_release(&flat);
out:
    rw_scorer_free(scorer);
    rw_mem_free(cut.all);
    rw_mem_free(cut.value);
    rw_mem_free(want);
    rw_mem_free(got);
    return status;
}

/* Rows of all features, and of some in the middle. */
static void check_rows(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                       const struct rw_dataset *data, struct totals *totals)
{
    const uint32_t most = (spec->n_features - 1) * spec->gap + 2;
    if ((uint64_t)data->n_docs * most > 10000000)
        return;
    if (check_part(ctx, spec, model, data, 0, most, totals) < 0 ||
        check_part(ctx, spec, model, data, 2, most / 2, totals) < 0)
        fail(totals, spec, "rows", rw_last_error(ctx));
}

static void check_ops(struct rw_ctx *ctx, const struct spec *spec, const struct rw_flat *flat,
                      const struct rw_packed_ops *ops, const struct rw_dataset *data,
                      const double *want, double *got, struct totals *totals)
{
    static const int n_threads[] = {1, 3};
    struct rw_packed *packed = NULL;
    char what[80];
    snprintf(what, sizeof(what), "packed, %s, up to %u leaves", ops->name, ops->most[0]);
    if (rw_packed_new(ctx, flat, ops, &packed) < 0) {
        fail(totals, spec, what, rw_last_error(ctx));
        return;
    }
    if (!is_as_expected(spec, packed))
        fail(totals, spec, what, packed ? "codes of the wrong size" : "cannot be packed");
    for (size_t i = 0; packed && i < sizeof(n_threads) / sizeof(n_threads[0]); i++) {
        poison(got, data->n_docs);
        if (rw_ctx_set_threads(ctx, n_threads[i]) < 0 ||
            rw_packed_scores(ctx, packed, data, got) < 0)
            fail(totals, spec, what, rw_last_error(ctx));
        else
            compare(totals, spec, what, want, got, data->n_docs);
    }
    if (rw_ctx_set_threads(ctx, 0) < 0)
        fail(totals, spec, "threads", rw_last_error(ctx));
    rw_result_free(packed);
}

void check_packed(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                  const struct rw_dataset *data, const double *want, double *got,
                  struct totals *totals)
{
    /* 0: as it is; otherwise, trees of more leaves are walked. 65536 leaves have numbers of two
     * bytes. */
    static const uint32_t most[][2] = {{0, 0}, {1, 1}, {256, 65536}};
    struct rw_flat flat;
    check_rows(ctx, spec, model, data, totals);
    if (rw_flat_init(ctx, &flat, model, spec->use) < 0) {
        fail(totals, spec, "packed", rw_last_error(ctx));
        return;
    }
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
        for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
            struct rw_packed_ops ops = *rw_packed_ops((enum rw_isa)isa);
            if (i > 0)
                memcpy(ops.most, most[i], sizeof(ops.most));
            if (i == 0 || data->n_docs < 100000)
                check_ops(ctx, spec, &flat, &ops, data, want, got, totals);
        }
    }
    rw_flat_release(&flat);
}
