#include "model/scorer.h"

#include "base/fpenv.h"
#include "base/mem.h"
#include "model/device_scorer.h"
#include "model/packed.h"
#include "model/single.h"

/* What half a block takes, of a whole one: much of a node's work is the same for any documents. */
#define HALF_BLOCK 0.6

/* How many of the documents the packed form takes, the first ones; the others are scored one at a
 * time. It takes whole blocks, and of what is left nothing, half a block or all, as expected. */
static uint32_t packed_docs(const struct rw_scorer *scorer, uint32_t n_docs)
{
    const uint32_t rest = n_docs % RW_PACKED_DOCS;
    const uint32_t half = rest < RW_PACKED_HALF ? rest : RW_PACKED_HALF;
    if (!scorer->packed || !scorer->single)
        return scorer->packed ? n_docs : 0;
    const double one_ns = scorer->single->doc_ns;
    const double block_ns = scorer->packed->doc_ns * RW_PACKED_DOCS;
    const double none_ns = rest * one_ns;
    const double half_ns = HALF_BLOCK * block_ns + (rest - half) * one_ns;
    if (block_ns < none_ns && block_ns < half_ns)
        return n_docs;
    return n_docs - rest + (half_ns < none_ns ? half : 0);
}

struct rows_job {
    const struct rw_scorer *scorer;
    const struct rw_rows *rows;
    double *scores;
};

static int score_one_by_one(void *user, struct rw_share *share)
{
    const struct rows_job *job = user;
    const struct rw_rows *rows = job->rows;
    const struct rw_single *single = job->scorer->single;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++) {
            const float *row = rows->value + doc * rows->n_features;
            job->scores[doc] =
                single ? rw_single_score(single, row, rows->n_features, rows->first)
                       : rw_flat_score(&job->scorer->flat, row, rows->n_features, rows->first);
        }
    }
    return RW_OK;
}

/* ---- a scorer ---- */

int rw_scorer_make(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                   struct rw_scorer **out)
{
    struct rw_scorer *scorer;
    int status;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, scorer, 1));
    RW_TRY_OUT(rw_flat_init(ctx, &scorer->flat, model, n_trees));
    RW_TRY_OUT(rw_single_new(ctx, &scorer->flat, rw_isa(), &scorer->single));
    if (n_trees == 0 || n_trees == model->n_trees)
        RW_TRY_OUT(rw_score_map_copy(ctx, &model->map, &scorer->map));
    *out = scorer;
    return RW_OK;
out:
    rw_scorer_free(scorer);
    return status;
}

int rw_scorer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                  struct rw_scorer **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_packed_ops *ops = rw_packed_ops(rw_isa());
    RW_TRY(rw_scorer_make(ctx, model, n_trees, out));
    struct rw_scorer *scorer = *out;
    int status = RW_OK;
    scorer->settled = 1;
    if (!scorer->single || rw_packed_doc_ns(&scorer->flat, ops) < scorer->single->doc_ns)
        status = rw_packed_new(ctx, &scorer->flat, ops, &scorer->packed);
    if (status >= 0)
        return RW_OK;
    rw_scorer_free(scorer);
    *out = NULL;
    return status;
}

void rw_scorer_free(struct rw_scorer *scorer)
{
    if (!scorer)
        return;
    if (scorer->device)
        scorer->device->ops->close(scorer->device);
    rw_packed_free(scorer->packed);
    rw_single_free(scorer->single);
    rw_flat_release(&scorer->flat);
    rw_score_map_release(&scorer->map);
    rw_mem_free(scorer);
}

int rw_scorer_rows(struct rw_ctx *ctx, const struct rw_scorer *scorer, const float *values,
                   uint32_t n_docs, uint32_t n_features, uint32_t first_feature, double *scores)
{
    RW_DEFAULT_FPENV;
    struct rw_rows part = {values, n_docs, n_features, first_feature};
    if (first_feature > RW_MAX_FEATURE || n_features > RW_FEATURE_IDS - first_feature)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u features from %u on; expected ids of at most %d",
                       n_features, first_feature, RW_MAX_FEATURE);
    if (n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u documents; expected at most %u", n_docs,
                       RW_MAX_DOCS);
    const struct rw_column_view view = rw_column_view_rows(n_features, first_feature);
    RW_TRY(rw_column_rule_check(ctx, &scorer->flat.columns, &view));
    part.n_docs = packed_docs(scorer, n_docs);
    if (part.n_docs > 0)
        RW_TRY(rw_packed_rows(ctx, scorer->packed, &part, scores));
    part.value += (size_t)part.n_docs * n_features;
    scores += part.n_docs;
    part.n_docs = n_docs - part.n_docs;
    struct rows_job job = {scorer, &part, scores};
    return rw_parallel(ctx, ctx ? ctx->n_threads : 1, part.n_docs, 0, score_one_by_one, &job);
}

double rw_scorer_one(const struct rw_scorer *scorer, const float *values, size_t n_values,
                     uint32_t first_feature)
{
    RW_DEFAULT_FPENV;
    return scorer->single ? rw_single_score(scorer->single, values, n_values, first_feature)
                          : rw_flat_score(&scorer->flat, values, n_values, first_feature);
}

double rw_scorer_probability(const struct rw_scorer *scorer, double score)
{
    RW_DEFAULT_FPENV;
    return rw_score_map_of(&scorer->map, score);
}
