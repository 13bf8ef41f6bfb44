#include "model/scorer.h"

#include "base/fpenv.h"
#include "base/mem.h"
#include "model/model.h"
#include "model/packed.h"
#include "model/single.h"

/* What half a block takes, of a whole one: much of a node's work is the same for any documents. */
#define HALF_BLOCK 0.6

/* ---- by forms ---- */

/* How many of the documents the packed form takes, the first ones; the others are scored one at a
 * time. It takes whole blocks, and of what is left nothing, half a block or all, as expected. */
static uint32_t packed_docs(const struct rw_forms *forms, uint32_t n_docs)
{
    const uint32_t rest = n_docs % RW_PACKED_DOCS;
    const uint32_t half = rest < RW_PACKED_HALF ? rest : RW_PACKED_HALF;
    if (!forms->packed || !forms->single)
        return forms->packed ? n_docs : 0;
    const double one_ns = forms->single->doc_ns;
    const double block_ns = forms->packed->doc_ns * RW_PACKED_DOCS;
    const double none_ns = rest * one_ns;
    const double half_ns = HALF_BLOCK * block_ns + (rest - half) * one_ns;
    if (block_ns < none_ns && block_ns < half_ns)
        return n_docs;
    return n_docs - rest + (half_ns < none_ns ? half : 0);
}

struct rows_job {
    const struct rw_forms *forms;
    const struct rw_rows *rows;
    double *scores;
};

static int score_one_by_one(void *user, struct rw_share *share)
{
    const struct rows_job *job = user;
    const struct rw_rows *rows = job->rows;
    const struct rw_single *single = job->forms->single;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++) {
            const float *row = rows->value + doc * rows->n_features;
            job->scores[doc] =
                single ? rw_single_score(single, row, rows->n_features, rows->first)
                       : rw_flat_score(job->forms->flat, row, rows->n_features, rows->first);
        }
    }
    return RW_OK;
}

int rw_forms_rows(struct rw_ctx *ctx, const struct rw_forms *forms, const struct rw_rows *rows,
                  double *scores)
{
    struct rw_rows part = *rows;
    if (rows->first > RW_MAX_FEATURE || rows->n_features > RW_FEATURE_IDS - rows->first)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u features from %u on; expected ids of at most %d",
                       rows->n_features, rows->first, RW_MAX_FEATURE);
    if (rows->n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u documents; expected at most %u", rows->n_docs,
                       RW_MAX_DOCS);
    const struct rw_column_view view = rw_column_view_rows(rows->n_features, rows->first);
    RW_TRY(rw_column_rule_check(ctx, &forms->flat->columns, &view));
    part.n_docs = packed_docs(forms, rows->n_docs);
    if (part.n_docs > 0)
        RW_TRY(rw_packed_rows(ctx, forms->packed, &part, scores));
    part.value += (size_t)part.n_docs * part.n_features;
    scores += part.n_docs;
    part.n_docs = rows->n_docs - part.n_docs;
    struct rows_job job = {forms, &part, scores};
    return rw_parallel(ctx, ctx ? ctx->n_threads : 1, part.n_docs, 0, score_one_by_one, &job);
}

/* ---- a scorer ---- */

struct rw_scorer {
    struct rw_flat flat;
    struct rw_single *single; /* owned, as is */
    struct rw_packed *packed;
    struct rw_forms forms;   /* these */
    struct rw_score_map map; /* of all trees; NONE where the scorer has fewer */
};

static int make(struct rw_ctx *ctx, struct rw_scorer *scorer, const struct rw_model *model,
                int n_trees)
{
    const struct rw_packed_ops *ops = rw_packed_ops(rw_isa());
    RW_TRY(rw_flat_init(ctx, &scorer->flat, model, n_trees));
    RW_TRY(rw_single_new(ctx, &scorer->flat, rw_isa(), &scorer->single));
    if (!scorer->single || rw_packed_doc_ns(&scorer->flat, ops) < scorer->single->doc_ns)
        RW_TRY(rw_packed_new(ctx, &scorer->flat, ops, &scorer->packed));
    scorer->forms = (struct rw_forms){&scorer->flat, scorer->single, scorer->packed};
    if (n_trees == 0 || n_trees == model->n_trees)
        RW_TRY(rw_score_map_copy(ctx, &model->map, &scorer->map));
    return RW_OK;
}

int rw_scorer_new(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                  struct rw_scorer **out)
{
    RW_DEFAULT_FPENV;
    struct rw_scorer *scorer;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, scorer, 1));
    const int status = make(ctx, scorer, model, n_trees);
    if (status < 0)
        rw_scorer_free(scorer);
    else
        *out = scorer;
    return status;
}

void rw_scorer_free(struct rw_scorer *scorer)
{
    if (!scorer)
        return;
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
    const struct rw_rows rows = {values, n_docs, n_features, first_feature};
    return rw_forms_rows(ctx, &scorer->forms, &rows, scores);
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
