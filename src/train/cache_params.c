/* Data as codes, for the settings that decide them: as a cache, or for training at once. */
#include "base/fpenv.h"
#include "base/mem.h"
#include "binning/table_codes.h"
#include "comm/comm.h"
#include "io/cache/cache.h"
#include "io/columns.h"
#include "io/data_format.h"
#include "io/source.h"
#include "params/params.h"
#include "tree/engine.h"

/* min_docs 1: so that the codes serve any --min-docs. */
static struct rw_cut_rule cache_rule(const struct rw_params *params)
{
    return (struct rw_cut_rule){
        .bins = params->bins, .absent_missing = params->absent == 1, .min_docs = 1};
}

int rw_dataset_write_cache(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                           const struct rw_params *params, const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = cache_rule(params);
    struct rw_bins *bins;
    if (rw_cache_has_words(dataset)) /* which become codes when a training gives them some */
        return rw_cache_write(ctx, dataset, NULL, path);
    RW_TRY(rw_bins_make_training(ctx, dataset, &rule, &bins));
    const int status = rw_cache_write(ctx, dataset, bins, path);
    rw_bins_free(bins);
    return status;
}

/* A cache to be made. */
struct cache_to {
    const char *path;
    const struct rw_cut_rule *rule;
};

/* A path that cannot be written is told when the data is read. */
static int opens_values(struct rw_ctx *ctx, struct rw_read_goal *goal)
{
    const struct cache_to *to = goal->user;
    if (goal->values)
        return 1;
    if (rw_cache_values_open(ctx, to->path, &goal->values) < 0 || !goal->values)
        return 0;
    goal->rule = to->rule;
    return 1;
}

int rw_dataset_cache_files(struct rw_ctx *ctx, const struct rw_params *params,
                           const char *const *paths, int n_paths, const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = cache_rule(params);
    const struct cache_to to = {path, &rule};
    struct rw_read_goal goal = {.bins_text = params->categorical[0] ? NULL : opens_values,
                                .user = &to};
    struct rw_binned binned = {.documents = NULL};
    const int n_before = rw_ctx_n_tables(ctx);
    int status;
    if (rw_n_ranks(ctx) > 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a cache is made by one rank, not by %d",
                       rw_n_ranks(ctx));
    RW_TRY(rw_params_check_apart(ctx, params, path));
    for (int i = 0; i < n_paths; i++)
        RW_TRY(rw_check_apart(ctx, path, paths[i]));
    RW_TRY_OUT(rw_files_read(ctx, paths, n_paths, &goal, &binned));
    RW_TRY_OUT(rw_params_check_columns(ctx, params, rw_ctx_n_tables(ctx) > n_before));
    RW_TRY_OUT(rw_columns_check_categorical(ctx, binned.documents));
    if (params->labels[0])
        RW_TRY_OUT(rw_dataset_read_side_column(ctx, binned.documents, "labels", params->labels));
    if (binned.bins) {
        status = rw_cache_values_finish(ctx, goal.values, &binned);
        goto out;
    }
    rw_cache_values_close(goal.values); /* room for the whole file may be needed */
    goal.values = NULL;
    RW_TRY_OUT(rw_dataset_write_cache(ctx, binned.documents, params, path));
out:
    rw_binned_release(&binned);
    rw_cache_values_close(goal.values);
    return status;
}

int rw_params_trains_on_host(struct rw_ctx *ctx, const struct rw_params *params)
{
    const struct rw_engine_rules rules = {.cut = {.bins = params->bins, .min_docs = 1},
                                          .lambda = {.sigma = 1.0f},
                                          .min_docs = 1,
                                          .bits = 8,
                                          .max_slots = 1};
    struct rw_engine *gpu = NULL;
    if (strncmp(params->device, "cuda", 4) == 0)
        return 0;
    if (params->categorical[0])
        return 1;
    if (strcmp(params->device, "auto") == 0 && rw_engine_open(ctx, "cuda", &rules, &gpu) >= 0) {
        rw_engine_close(gpu);
        return 0;
    }
    return 1;
}

static int bins_text(struct rw_ctx *ctx, struct rw_read_goal *goal)
{
    return rw_params_trains_on_host(ctx, goal->user);
}

int rw_binned_read(struct rw_ctx *ctx, const struct rw_params *params, const char *const *paths,
                   int n_paths, struct rw_binned **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = rw_params_cut_rule(params);
    struct rw_read_goal goal = {.rule = &rule, .bins_text = bins_text, .user = params};
    if (params->categorical[0]) /* words become codes when all are known */
        goal = (struct rw_read_goal){.rule = NULL};
    struct rw_binned *binned = NULL;
    int status;
    *out = NULL;
    RW_TRY_OUT(rw_comm_agree(ctx, rw_device_check(ctx, params->device)));
    RW_TRY_OUT(rw_comm_agree(ctx, RW_NEW(ctx, binned, 1)));
    RW_TRY_OUT(rw_files_read(ctx, paths, n_paths, &goal, binned));
    RW_TRY_OUT(rw_comm_agree(ctx, RW_NEW(ctx, binned->keep, 1)));
    *out = binned;
    return RW_OK;
out:
    rw_binned_free(binned);
    return status;
}

/* Many ranks find boundaries together, by way of the values. */
static int table_of_ranks(struct rw_ctx *ctx, const struct rw_table *table,
                          const struct rw_cut_rule *rule, struct rw_binned *out)
{
    struct rw_dataset *values = NULL;
    int status = rw_comm_agree(ctx, rw_dataset_from_table(ctx, table, &values));
    if (status < 0) {
        rw_dataset_free(values);
        return status;
    }
    status = rw_dataset_codes(ctx, values, rule, out);
    rw_dataset_drop_values(values);
    out->documents = values;
    return status;
}

int rw_binned_from_table(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_table *table, struct rw_binned **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = rw_params_cut_rule(params);
    struct rw_binned *binned;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, binned, 1));
    if (params->categorical[0])
        RW_TRY_OUT(rw_dataset_from_table(ctx, table, &binned->documents));
    else if (rw_n_ranks(ctx) > 1)
        RW_TRY_OUT(table_of_ranks(ctx, table, &rule, binned));
    else
        RW_TRY_OUT(rw_params_trains_on_host(ctx, params)
                       ? rw_table_codes(ctx, table, &rule, binned)
                       : rw_dataset_from_table(ctx, table, &binned->documents));
    RW_TRY_OUT(RW_NEW(ctx, binned->keep, 1));
    *out = binned;
    return RW_OK;
out:
    rw_binned_free(binned);
    return status;
}

int rw_binned_from_batches(struct rw_ctx *ctx, const struct rw_params *params,
                           const struct rw_table *table, const struct rw_batches *batches,
                           struct rw_binned **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = rw_params_cut_rule(params);
    struct rw_binned *binned;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, binned, 1));
    if (params->categorical[0])
        RW_TRY_OUT(rw_dataset_from_batches(ctx, table, batches, &binned->documents));
    else
        RW_TRY_OUT(rw_batch_codes(ctx, table, batches, &rule, RW_BATCH_CHUNK_DOCS, binned));
    RW_TRY_OUT(RW_NEW(ctx, binned->keep, 1));
    *out = binned;
    return RW_OK;
out:
    rw_binned_free(binned);
    return status;
}
