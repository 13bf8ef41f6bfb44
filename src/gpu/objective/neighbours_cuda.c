#include "gpu/objective/neighbours_cuda.h"

#include <string.h>

#include "base/mem.h"
#include "gpu/device/cu_check.h"
#include "metric/dcg.h"

/* What the host makes of a training set. */
struct made {
    uint32_t longest;
    double *grade;  /* [n_docs] */
    double *over;   /* [n_queries] */
    double *weight; /* [longest] */
};

static int make(struct rw_ctx *ctx, const struct rw_engine_rules *rules,
                const struct rw_neighbours_rule *own, const struct rw_dataset *dataset,
                const double *gains, struct made *made)
{
    int status = RW_OK;
    double *discount = NULL;
    RW_TRY_OUT(RW_NEW_RAW(ctx, made->grade, dataset->n_docs));
    RW_TRY_OUT(RW_NEW_RAW(ctx, made->over, dataset->n_queries));
    RW_TRY_OUT(RW_NEW_RAW(ctx, made->weight, made->longest));
    RW_TRY_OUT(RW_NEW_RAW(ctx, discount, made->longest));
    rules->objective->positions(rules->rule, made->weight, made->longest);
    rw_neighbours_grades(own, gains, dataset->label, dataset->n_docs, made->grade);
    rw_discounts(discount, made->longest);
    RW_TRY_OUT(rw_ideal_dcgs(ctx, gains, dataset->query_offset, dataset->n_queries, own->truncation,
                             discount, made->over));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t first = dataset->query_offset[q];
        made->over[q] = rw_neighbours_over(own, made->grade + first,
                                           dataset->query_offset[q + 1] - first, made->over[q]);
    }
out:
    rw_mem_free(discount);
    return status;
}

static void made_release(struct made *made)
{
    rw_mem_free(made->grade);
    rw_mem_free(made->over);
    rw_mem_free(made->weight);
}

/* made: of tables without a device its longest query alone. */
static int make_tables(struct rw_device_tables *tables, const struct rw_dataset *dataset,
                       const struct made *made, struct rw_cuda_neighbours *neighbours)
{
    struct rw_neighbours_args *args = &neighbours->args;
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_grade, made->grade, dataset->n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_over, made->over, dataset->n_queries));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_weight, made->weight, made->longest));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_power, NULL, dataset->n_docs));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_key, NULL, dataset->n_docs));
    return rw_cuda_rank_init(tables, dataset->n_docs, dataset->n_queries, dataset->query_offset,
                             &neighbours->rank);
}

int rw_cuda_neighbours_init(struct rw_device_tables *tables, const struct rw_engine_rules *rules,
                            const struct rw_dataset *dataset, const double *gains,
                            struct rw_cuda_neighbours *neighbours)
{
    struct rw_neighbours_args *args = &neighbours->args;
    struct made made = {.longest = rw_longest_query(dataset->query_offset, dataset->n_queries)};
    rw_neighbours_rule_init(&args->rule, rules->rule);
    args->seed = rules->rule->seed;
    args->n_docs = dataset->n_docs;
    args->n_queries = dataset->n_queries;
    int status = make(tables->ctx, rules, &args->rule, dataset, gains, &made);
    if (status >= 0)
        status = make_tables(tables, dataset, &made, neighbours);
    args->n_large = neighbours->rank.large.n;
    args->d_offset = neighbours->rank.d_offset;
    args->d_query = neighbours->rank.d_by_size;
    args->d_order = neighbours->rank.d_order;
    made_release(&made);
    return status;
}

uint64_t rw_cuda_neighbours_plan_bytes(const struct rw_dataset *dataset)
{
    struct rw_device_tables none = {.device = NULL};
    struct rw_cuda_neighbours neighbours;
    const struct made made = {.longest =
                                  rw_longest_query(dataset->query_offset, dataset->n_queries)};
    (void)make_tables(&none, dataset, &made, &neighbours);
    return none.bytes;
}

int rw_cuda_neighbours_run(struct rw_ctx *ctx, const struct rw_cuda_neighbours *neighbours,
                           const struct rw_neighbours_args *args, int n_multiprocessors,
                           void *stream)
{
    RW_CU(ctx, (cudaError_t)rw_cuda_neighbours_begin(args, stream));
    for (uint32_t p = 0; p < args->rule.permutations; p++) {
        RW_CU(ctx, (cudaError_t)rw_cuda_neighbours_keys(args, p, stream));
        RW_CU(ctx, (cudaError_t)rw_cuda_rank_run(&neighbours->rank, args->d_key, args->d_sampled,
                                                 stream));
        RW_CU(ctx, (cudaError_t)rw_cuda_neighbours_add(args, stream));
    }
    RW_CU(ctx, (cudaError_t)rw_cuda_neighbours_finish(args, n_multiprocessors, stream));
    return RW_OK;
}

uint32_t rw_cuda_neighbours_launches(const struct rw_cuda_neighbours *neighbours)
{
    const struct rw_neighbours_args *args = &neighbours->args;
    const uint32_t adds = (args->n_large > 0) + (args->n_queries > args->n_large);
    return 4 + args->rule.permutations * (1 + rw_cuda_rank_launches(&neighbours->rank) + adds);
}
