#include "boost/category_sets.h"

#include "base/mem.h"
#include "boost/features.h"
#include "comm/comm.h"
#include "dataset/feature_list.h"

/* What there is no way for yet, by name. */
static int check(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_binned *train,
                 const struct rw_model *init)
{
    if (init && (init->categories.n || params->categorical[0]))
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "categorical: training cannot go on from a model with such features, or "
                       "with more of them");
    if (params->categorical[0] && train->bins)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "categorical: expected a training set with values, and found codes of "
                       "another training");
    return RW_OK;
}

/* wanted: [RW_FEATURE_IDS], written. */
static int parse(struct rw_ctx *ctx, const struct rw_params *params,
                 const struct rw_dataset *documents, uint8_t *wanted)
{
    struct rw_feature_name *names;
    int32_t n_names;
    RW_TRY(rw_names_take(ctx, params->names, documents, &names, &n_names));
    const int status =
        rw_list_parse(ctx, "categorical", params->categorical, names, n_names, wanted);
    rw_names_free(names, n_names);
    return status;
}

int rw_category_sets_make(struct rw_ctx *ctx, const struct rw_params *params,
                          const struct rw_binned *train, const struct rw_dataset *documents,
                          const struct rw_model *init, struct rw_category_sets *sets)
{
    uint8_t *wanted = NULL;
    int status = check(ctx, params, train, init);
    if (status < 0 || !params->categorical[0])
        return rw_comm_agree(ctx, status);
    sets->absent_missing = params->absent == 1;
    status = RW_NEW(ctx, wanted, RW_FEATURE_IDS);
    status = status < 0 ? status : parse(ctx, params, documents, wanted);
    status = status < 0 ? status : RW_NEW(ctx, sets->codes, RW_FEATURE_IDS);
    status = status < 0 ? status : rw_ignore_text(ctx, wanted, &sets->text);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_categories_make(ctx, wanted, documents, (uint32_t)params->bins,
                                  sets->absent_missing, &sets->categories));
    for (uint32_t i = 0; i < sets->categories.n; i++)
        sets->codes[sets->categories.of[i].feature] = (uint16_t)(sets->categories.of[i].n + 1);
out:
    rw_mem_free(wanted);
    return status;
}

int rw_category_sets_take(struct rw_ctx *ctx, struct rw_category_sets *sets, int set,
                          const struct rw_dataset *dataset, const struct rw_dataset **out)
{
    *out = dataset;
    if (!sets->codes)
        return RW_OK;
    if (dataset->codes)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "categorical: expected validation sets with values, and found codes");
    RW_TRY(RW_NEW(ctx, sets->recoded[set], 1));
    RW_TRY(rw_categories_recode(ctx, &sets->categories, dataset, sets->absent_missing,
                                sets->recoded[set]));
    *out = &sets->recoded[set]->dataset;
    return RW_OK;
}

int rw_category_sets_finish(struct rw_ctx *ctx, const struct rw_category_sets *sets,
                            struct rw_model *model)
{
    return rw_categories_copy(ctx, &sets->categories, &model->categories);
}

void rw_category_sets_release(struct rw_category_sets *sets)
{
    for (int set = 0; set < RW_MAX_SETS; set++) {
        if (sets->recoded[set])
            rw_recoded_release(sets->recoded[set]);
        rw_mem_free(sets->recoded[set]);
    }
    rw_categories_release(&sets->categories);
    rw_mem_free(sets->codes);
    rw_mem_free(sets->text);
}
