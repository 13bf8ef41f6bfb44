/* The table of methods, and what a call may ask of one. */
#include <cuda_runtime_api.h>
#include <string.h>

#include "gpu/device/cu_check.h"
#include "gpu/hist/hist.h"

#define RW_HIST_METHOD(name) &rw_hist_##name,
static const struct rw_hist_method *const methods[] = {
#include "gpu/hist/methods.def"
};
#undef RW_HIST_METHOD

const struct rw_hist_method *rw_hist_method_at(int i)
{
    const int n = (int)(sizeof(methods) / sizeof(methods[0]));
    return i >= 0 && i < n ? methods[i] : NULL;
}

const struct rw_hist_method *rw_hist_method_find(const char *name)
{
    for (int i = 0; rw_hist_method_at(i); i++) {
        if (strcmp(methods[i]->name, name) == 0)
            return methods[i];
    }
    return NULL;
}

/* A call that no method could take. */
static const char *misuse(const struct rw_hist_call *call)
{
    const struct rw_hist_matrix *matrix = call->matrix;
    const int weighted = call->sums == RW_HIST_MART || call->sums == RW_HIST_NEWTON;
    const int is_moved = call->d_list && call->by_position;
    if (!matrix || (matrix->bits != 4 && matrix->bits != 8 && matrix->bits != 16))
        return "codes of 4, 8 or 16 bits are expected";
    if (matrix->n_bins < 1 || matrix->n_bins > 1u << matrix->bits ||
        matrix->n_bins > RW_HIST_MOST_BINS)
        return "the bins do not fit the codes";
    if (call->sums < RW_HIST_COUNT || call->sums > RW_HIST_FLOAT)
        return "unknown sums";
    if (call->n_nodes > RW_HIST_MAX_NODES || (call->n_nodes && (!call->node || !call->d_node)))
        return "nodes are missing or too many";
    if (weighted && (call->largest < 1 || call->largest > 32767 || !call->d_lambda_sum ||
                     !(is_moved ? call->d_moved : call->d_lambda)))
        return "lambdas are missing or out of range";
    if (call->sums == RW_HIST_NEWTON && (!(is_moved || call->d_hess) || !call->d_hess_sum))
        return "hessians are missing";
    if (call->sums == RW_HIST_FLOAT && (!call->d_float || !call->d_float_sum))
        return "floats are missing";
    if (!call->d_count || (call->zero_skip && !call->d_frequent))
        return "counts or frequent codes are missing";
    if (call->d_parent && (call->sums == RW_HIST_FLOAT || !call->parents.d_count ||
                           (weighted && !call->parents.d_lambda_sum) ||
                           (call->sums == RW_HIST_NEWTON && !call->parents.d_hess_sum)))
        return "the parents' histograms are missing, or floats";
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        if (!call->d_list && (call->node[i].first > matrix->n_docs ||
                              call->node[i].n > matrix->n_docs - call->node[i].first))
            return "a node's documents are out of range";
        if (call->node[i].n > (uint64_t)1 << 31)
            return "a node has more than 2^31 documents";
        if (call->d_list && call->node[i].first > UINT32_MAX - call->node[i].n + 1)
            return "a list has more than 2^32 places";
        if (weighted && call->narrow && !rw_hist_is_narrow(call->node[i].n, call->largest))
            return "a node's sums may pass 32 bits";
    }
    return NULL;
}

static int has_far_codes(const struct rw_hist_matrix *matrix)
{
    int far = 0;
    for (uint32_t t = 0; t < matrix->n_tiles; t++)
        far |= matrix->tile[t].far_word != NULL;
    return far;
}

int rw_hist_check(struct rw_ctx *ctx, const struct rw_hist_method *method,
                  const struct rw_hist_call *call)
{
    const char *wrong = misuse(call);
    if (wrong)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "histogram: %s", wrong);
    const struct rw_hist_matrix *matrix = call->matrix;
    if (method->bits && !(method->bits & (unsigned)matrix->bits))
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "histogram method '%s' takes no codes of %d bits",
                       method->name, matrix->bits);
    if (matrix->n_bins > method->most_bins)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "histogram method '%s' takes at most %u bins, not %u", method->name,
                       method->most_bins, matrix->n_bins);
    const int there = !matrix->n_features || !matrix->n_docs ||
                      (method->reads_tiles ? matrix->n_tiles > 0 : matrix->d_column != NULL);
    const char *refused = NULL;
    if (!(method->sums >> call->sums & 1u))
        refused = "does not have these sums";
    else if (call->d_list && call->by_position && !method->by_position)
        refused = "takes no lambdas by position in the list";
    else if (call->d_list && call->by_position && call->far)
        refused = "takes no lambdas by position where codes are in the host's memory";
    else if (call->zero_skip && !method->zero_skip)
        refused = "cannot skip the frequent code";
    else if (!there)
        refused = method->reads_tiles ? "needs codes by tiles" : "needs codes by columns";
    else if (!method->reads_far && has_far_codes(matrix))
        refused = "needs all codes in the GPU's memory";
    else if (!call->far && has_far_codes(matrix))
        refused = "was given nothing to read the host's memory with";
    if (refused)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "histogram method '%s' %s", method->name, refused);
    if (method->scratch_bytes(call) > 0 && !call->d_scratch)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "histogram: scratch is missing");
    return RW_OK;
}

int rw_hist_run(struct rw_ctx *ctx, const struct rw_hist_method *method,
                const struct rw_hist_call *call, void *stream)
{
    RW_TRY(rw_hist_check(ctx, method, call));
    RW_CU(ctx, (cudaError_t)method->run(call, stream));
    if (call->d_parent && !method->subtracts)
        RW_CU(ctx, (cudaError_t)rw_cuda_hist_subtract(call, stream));
    return RW_OK;
}
