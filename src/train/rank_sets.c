#include "train/rank_sets.h"

#include "comm/comm.h"
#include "io/source.h"
#include "model/model.h"
#include "train/fingerprint.h"

int rw_rank_sets_take(struct rw_ctx *ctx, const struct rw_params *params,
                      const struct rw_dataset *documents, const struct rw_bins *bins,
                      const uint16_t *categories, struct rw_binned *made, uint32_t *all_docs)
{
    uint64_t n_docs = documents->n_docs, kinds[2] = {bins != NULL, bins == NULL};
    RW_TRY(rw_comm_sum(ctx, &n_docs, 1));
    if (n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_DATA, "%llu documents on all ranks; expected at most %u",
                       (unsigned long long)n_docs, RW_MAX_DOCS);
    *all_docs = (uint32_t)n_docs;
    if (rw_n_ranks(ctx) == 1)
        return RW_OK;
    RW_TRY(rw_comm_max(ctx, kinds, 2));
    if (kinds[0] && kinds[1])
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "some ranks' training sets are binned, and others' are not");
    RW_TRY(rw_comm_agree(ctx, rw_params_check(ctx, params)));
    if (kinds[0])
        return RW_OK;
    struct rw_cut_rule rule = rw_params_cut_rule(params);
    rule.categories = categories;
    return rw_dataset_codes(ctx, documents, &rule, made);
}

int rw_rank_sets_find_train(struct rw_engine *engine, const struct rw_dataset *const *sets,
                            int n_sets, unsigned char *is_train)
{
    struct rw_fingerprint train, other;
    uint64_t size[2 * RW_MAX_SETS];
    int has_train = 0;
    for (int set = 0; set < n_sets; set++) {
        size[2 * set] = sets[set]->n_docs;
        size[2 * set + 1] = sets[set]->n_queries;
    }
    RW_TRY(rw_comm_sum(engine->ctx, size, 2 * (size_t)n_sets));
    for (int set = 1; set < n_sets; set++) {
        is_train[set] = 0;
        if (size[2 * set] != size[0] || size[2 * set + 1] != size[1])
            continue;
        if (!has_train)
            RW_TRY(rw_fingerprint_of_all(engine, 0, sets[0], &train));
        has_train = 1;
        RW_TRY(rw_fingerprint_of_all(engine, set, sets[set], &other));
        is_train[set] = (unsigned char)rw_fingerprint_same_documents(&train, &other);
    }
    return RW_OK;
}

/* To go on from a model, values are needed, or its scores; metrics of each of its rounds, and
 * start scores, to which its trees are added one by one, need values. */
static int check_init(struct rw_ctx *ctx, const struct rw_binned *train,
                      const struct rw_binned *made, const struct rw_dataset *documents,
                      const struct rw_model *init, int measures_training, int on_gpu)
{
    if (!init || documents->n_columns || !train->bins || made->bins)
        return RW_OK;
    if (train->scored == init && !measures_training && !documents->start_score && !on_gpu)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "the training set has neither values nor the scores of the model to go on "
                   "from: rw_binned_read_init reads it");
}

int rw_rank_sets_check(struct rw_ctx *ctx, const struct rw_binned *train,
                       const struct rw_binned *made, const struct rw_dataset *const *sets,
                       int n_sets, const struct rw_model *init, int measures_training, int on_gpu)
{
    const struct rw_cuts *cuts = train->bins ? train->bins->cuts : NULL;
    RW_TRY(check_init(ctx, train, made, sets[0], init, measures_training, on_gpu));
    for (int set = 1; set < n_sets; set++) {
        if (sets[set]->codes && (sets[set]->codes->cuts != cuts || init))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "validation set %d was binned for another training set", set);
        if (sets[set]->codes && on_gpu)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "validation set %d was binned for training on a processor", set);
    }
    return RW_OK;
}

int rw_rank_sets_check_plan(struct rw_ctx *ctx, const struct rw_dataset *const *valid, int n_valid)
{
    for (int v = 0; v < n_valid; v++) {
        if (valid[v]->codes)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "a plan needs validation sets with values: rw_dataset_read");
    }
    return RW_OK;
}

/* Of all ranks: a rank's shard of a sparse matrix may be narrower, or it may have no documents. */
static int view_of_all(struct rw_ctx *ctx, const struct rw_dataset *set, uint32_t n_ids,
                       struct rw_column_view *out)
{
    struct rw_column_view view = rw_column_view_of(set);
    uint64_t told[3] = {view.width, view.n_ids > n_ids ? view.n_ids : n_ids,
                        (uint64_t)view.by_name};
    RW_TRY(rw_comm_max(ctx, told, 3));
    *out = (struct rw_column_view){
        .width = (uint32_t)told[0], .n_ids = (uint32_t)told[1], .by_name = told[2] != 0};
    return RW_OK;
}

int rw_rank_sets_columns(struct rw_ctx *ctx, const struct rw_dataset *const *sets, int n_sets,
                         const uint32_t *feature, uint32_t n_features, const struct rw_model *init,
                         struct rw_column_rule *out)
{
    const uint32_t n_ids = n_features ? feature[n_features - 1] + 1 : 0;
    struct rw_column_rule own = {.of = "the training set"};
    struct rw_column_view view;
    RW_TRY(view_of_all(ctx, sets[0], n_ids, &view));
    own.kind = view.width     ? RW_COLUMNS_NUMBERED
               : view.by_name ? RW_COLUMNS_NAMED
                              : RW_COLUMNS_LETOR;
    own.width = view.by_name ? view.n_ids : view.width;
    own.n_ids = view.n_ids;
    *out = own;
    if (init) {
        view.what = "the training set";
        RW_TRY(rw_model_check_view(ctx, init, &view));
        if (init->columns != RW_COLUMNS_UNKNOWN)
            out->kind = init->columns;
        if (init->width && init->width > out->width)
            out->width = init->width;
        if (out->kind == RW_COLUMNS_LETOR)
            out->width = 0;
    }
    for (int set = 1; set < n_sets; set++) {
        char what[40];
        snprintf(what, sizeof(what), "validation set %d", set);
        RW_TRY(view_of_all(ctx, sets[set], 0, &view));
        view.what = what;
        RW_TRY(rw_column_rule_check(ctx, &own, &view));
    }
    return RW_OK;
}
