#include "train/resident.h"

#include "base/mem.h"
#include "binning/binned.h"
#include "params/params.h"

struct rw_resident {
    struct rw_binned train;  /* parts are borrowed, but for those below */
    struct rw_bins *made;    /* train.bins, where the set came with values; owned */
    uint32_t *feature;       /* train.feature, the same */
    struct rw_dataset valid; /* all borrowed, but codes */
    struct rw_bins *codes;   /* valid.codes; owned */
};

static int bin_training(struct rw_ctx *ctx, const struct rw_params *params, struct rw_resident *r)
{
    const struct rw_dataset *values = r->train.documents;
    const struct rw_cut_rule rule = rw_params_cut_rule(params);
    RW_TRY(rw_bins_make_training(ctx, values, &rule, &r->made));
    RW_TRY(RW_NEW_RAW(ctx, r->feature, values->n_columns));
    for (uint32_t c = 0; c < values->n_columns; c++)
        r->feature[c] = values->column[c].feature;
    r->train.bins = r->made;
    r->train.feature = r->feature;
    r->train.n_features = values->n_columns;
    r->train.keep = NULL; /* it is for codes of the values */
    return RW_OK;
}

int rw_resident_new(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_binned *train, const struct rw_dataset *valid,
                    struct rw_resident **out)
{
    struct rw_resident *r = NULL;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, r, 1));
    r->train = *train;
    r->valid = *valid;
    if (!train->bins)
        RW_TRY_OUT(bin_training(ctx, params, r));
    if (rw_params_trains_on_host(ctx, params)) {
        const struct rw_bins *bins = r->train.bins;
        RW_TRY_OUT(rw_bins_make(ctx, valid, bins->cuts, &bins->rule, 0, &r->codes));
        r->valid.codes = r->codes;
        r->valid.codes_free = NULL;
    }
    *out = r;
    return RW_OK;
out:
    rw_resident_free(r);
    return status;
}

void rw_resident_free(struct rw_resident *resident)
{
    if (!resident)
        return;
    rw_bins_free(resident->codes);
    rw_bins_free(resident->made);
    rw_mem_free(resident->feature);
    rw_mem_free(resident);
}

const struct rw_binned *rw_resident_train(const struct rw_resident *resident)
{
    return &resident->train;
}

const struct rw_dataset *rw_resident_valid(const struct rw_resident *resident)
{
    return &resident->valid;
}
