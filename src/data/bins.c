#include "data/bins.h"

#include "base/mem.h"

static void write_code(void *codes, int wide, uint32_t doc, uint32_t code)
{
    if (wide)
        ((uint16_t *)codes)[doc] = (uint16_t)code;
    else
        ((uint8_t *)codes)[doc] = (uint8_t)code;
}

/* One feature's codes; column may be NULL (absent everywhere). */
static void code_column(const struct rw_column *column, uint32_t n_docs, const struct rw_cuts *cuts,
                        uint32_t f, int absent_missing, void *codes)
{
    const float *cut = cuts->cut + cuts->offset[f];
    const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
    const int wide = rw_cuts_n_codes(cuts, f) > 256;
    const uint32_t zero = rw_bin_of(cut, n_bins, 0.0f);
    const uint32_t missing = cuts->has_missing[f] ? n_bins : zero;
    const uint32_t absent = absent_missing ? missing : zero;
    if (!column || column->row) {
        for (uint32_t doc = 0; doc < n_docs; doc++)
            write_code(codes, wide, doc, absent);
    }
    const uint32_t n = column ? column->n : 0;
    for (uint32_t i = 0; i < n; i++) {
        const float value = column->value[i];
        uint32_t code;
        if (value == value)
            code = rw_bin_of(cut, n_bins, value);
        else
            code = rw_is_absent(value) ? absent : missing;
        write_code(codes, wide, column->row ? column->row[i] : i, code);
    }
}

int rw_bins_make(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_cuts *cuts,
                 const struct rw_cut_rule *rule, int owns_cuts, struct rw_bins **out)
{
    int status = RW_OK;
    struct rw_bins *bins = NULL;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, bins, 1));
    bins->rule = *rule;
    bins->rule.ignore = NULL;
    bins->n_docs = dataset->n_docs;
    bins->cuts = cuts;
    RW_TRY_OUT(RW_NEW(ctx, bins->code, cuts->n_features));
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const size_t bytes = rw_cuts_n_codes(cuts, f) > 256 ? 2 : 1;
        RW_TRY_OUT(rw_mem_new_raw(ctx, &bins->code[f], dataset->n_docs, bytes));
    }
#pragma omp parallel for num_threads(ctx->n_threads) schedule(dynamic, 1)
    for (uint32_t f = 0; f < cuts->n_features; f++)
        code_column(rw_dataset_column(dataset, cuts->feature[f]), dataset->n_docs, cuts, f,
                    rule->absent_missing, bins->code[f]);
    bins->owns_cuts = owns_cuts; /* only now: a failure leaves the cuts to the caller */
    *out = bins;
    return RW_OK;
out:
    rw_bins_free(bins);
    return status;
}

void rw_bins_free(struct rw_bins *bins)
{
    if (!bins)
        return;
    if (!bins->codes_are_views) {
        for (uint32_t f = 0; bins->code && f < bins->cuts->n_features; f++)
            rw_mem_free(bins->code[f]);
    }
    rw_mem_free(bins->code);
    if (bins->owns_cuts)
        rw_cuts_free(bins->cuts);
    rw_mem_free(bins);
}
