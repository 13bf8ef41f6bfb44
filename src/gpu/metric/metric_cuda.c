/* Makes the tables of a set's metrics and of the ranking on the device, and reads the results. */
#include "gpu/metric/metric_cuda.h"

#include "gpu/device/cu_check.h"

struct rw_cuda_metrics {
    struct rw_device_tables tables; /* without a device, only counts their bytes */
    struct rw_cuda_metric_args args;
    struct rw_cuda_metric *metric;    /* [n_metrics] in the tables' arena, as is `part` */
    struct rw_cuda_metric_part *part; /* [n_metrics] receives the results */
};

static int upload_documents(struct rw_cuda_metrics *metrics, const struct rw_metric_plan *plan)
{
    struct rw_device_tables *tables = &metrics->tables;
    const struct rw_judgments *judgments = plan->judgments;
    struct rw_cuda_metric_args *args = &metrics->args;
    const size_t n = judgments->n_docs;
    int gain = 0, label = 0, score = plan->ties == RW_TIES_MEAN, weight = 0;
    for (int m = 0; m < plan->n_metrics; m++) {
        const struct rw_metric_kind *kind = plan->metric[m].kind;
        gain |= kind->uses_gain;
        label |= !kind->uses_gain;
        score |= kind->by_document;
        weight |= kind->by_document && judgments->doc_weight;
    }
    if (gain) {
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_gain, judgments->gain, n));
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_ideal, judgments->ideal, n));
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_ranked_gain, NULL, n));
    }
    if (label) {
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_label, judgments->label, n));
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_ranked_label, NULL, n));
    }
    if (weight) {
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_doc_weight, judgments->doc_weight, n));
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_ranked_weight, NULL, n));
    }
    if (score)
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_ranked_score, NULL, n));
    if (plan->ties == RW_TIES_MEAN)
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_tie_end, NULL, n));
    return RW_DEVICE_TABLE(tables, args->d_discount, judgments->discount, judgments->longest);
}

/* Makes a table of query weights, unless an earlier metric has made it or all weights are 1. */
static int upload_weights(struct rw_device_tables *tables, const struct rw_judgments *judgments,
                          const struct rw_metric_kind *kind, const int64_t **d_weight)
{
    RW_FREED int64_t *weight = NULL;
    if (*d_weight || (!judgments->weight && !kind->by_document))
        return RW_OK;
    RW_TRY(RW_NEW_RAW(tables->ctx, weight, judgments->n_queries));
    rw_metric_weights(kind, judgments, weight);
    return RW_DEVICE_TABLE(tables, *d_weight, weight, judgments->n_queries);
}

static int upload_metrics(struct rw_cuda_metrics *metrics, const struct rw_metric_plan *plan)
{
    struct rw_device_tables *tables = &metrics->tables;
    const struct rw_judgments *judgments = plan->judgments;
    const size_t n_metrics = (size_t)plan->n_metrics;
    const size_t scratch = (size_t)judgments->n_docs + judgments->n_queries;
    const int64_t *d_weight[2] = {NULL, NULL};
    RW_TRY(RW_ARENA_NEW(tables->ctx, &tables->arena, metrics->metric, n_metrics));
    struct rw_cuda_metric *metric = metrics->metric;
    for (size_t m = 0; m < n_metrics; m++) {
        const struct rw_metric_kind *kind = plan->metric[m].kind;
        RW_TRY(upload_weights(tables, judgments, kind, &d_weight[!!kind->by_document]));
        metric[m].kind = kind->device;
        metric[m].metric = plan->metric[m];
        metric[m].by_document = kind->by_document;
        metric[m].d_weight = d_weight[!!kind->by_document];
        if (kind->ties_scratch && plan->ties == RW_TIES_MEAN)
            RW_TRY(RW_DEVICE_TABLE(tables, metric[m].d_scratch, NULL, scratch));
    }
    return RW_DEVICE_TABLE(tables, metrics->args.d_metric, metric, n_metrics);
}

int rw_cuda_metrics_new(struct rw_ctx *ctx, struct rw_device *device,
                        const struct rw_metric_plan *plan, struct rw_cuda_metrics **out)
{
    RW_SCOPED(rw_cuda_metrics_free) struct rw_cuda_metrics *metrics = NULL;
    const struct rw_judgments *judgments = plan->judgments;
    const size_t n_metrics = (size_t)plan->n_metrics;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, metrics, 1));
    struct rw_device_tables *tables = &metrics->tables;
    struct rw_cuda_metric_args *args = &metrics->args;
    *tables = (struct rw_device_tables){.ctx = ctx, .device = device};
    args->n_metrics = (uint32_t)n_metrics;
    args->n_parts = (judgments->n_queries + RW_METRIC_QUERIES - 1) / RW_METRIC_QUERIES;
    args->empty = plan->empty;
    args->max_gain = judgments->max_gain;
    RW_TRY(RW_ARENA_NEW(ctx, &tables->arena, metrics->part, n_metrics));
    RW_TRY(rw_cuda_rank_init(tables, judgments->n_docs, judgments->n_queries,
                             judgments->query_offset, &args->rank));
    RW_TRY(upload_documents(metrics, plan));
    RW_TRY(upload_metrics(metrics, plan));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_part, NULL, n_metrics * args->n_parts));
    if (plan->by_query)
        RW_TRY(RW_DEVICE_TABLE(tables, args->d_per_query, NULL, judgments->n_queries));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_result, NULL, n_metrics));
    *out = RW_TAKE(metrics);
    return RW_OK;
}

void rw_cuda_metrics_free(struct rw_cuda_metrics *metrics)
{
    if (metrics)
        rw_arena_free(&metrics->tables.arena);
    rw_mem_free(metrics);
}

uint64_t rw_cuda_metrics_bytes(const struct rw_cuda_metrics *metrics)
{
    return metrics->tables.bytes;
}

int rw_cuda_metrics_run(struct rw_cuda_metrics *metrics, const double *d_scores, void *stream)
{
    metrics->args.d_scores = d_scores;
    RW_CU(metrics->tables.ctx, rw_cuda_metric_launch(&metrics->args, stream));
    return RW_OK;
}

int rw_cuda_metrics_read(struct rw_cuda_metrics *metrics, struct rw_metric_result *out)
{
    const uint32_t n = metrics->args.n_metrics;
    RW_TRY(rw_transfer_read(metrics->tables.device, metrics->part, metrics->args.d_result,
                            n * sizeof(*metrics->part)));
    for (uint32_t m = 0; m < n; m++) {
        const struct rw_metric_sums *sums = &metrics->part[m].sums;
        if (metrics->part[m].too_large)
            return 0;
        out[m] =
            (struct rw_metric_result){.mean = rw_metric_mean(metrics->metric[m].metric.kind, sums),
                                      .n_counted = sums->n_counted,
                                      .n_empty = sums->n_empty};
    }
    return 1;
}

int rw_cuda_metrics_read_queries(const struct rw_cuda_metrics *metrics, double *per_query)
{
    return rw_transfer_read(metrics->tables.device, per_query, metrics->args.d_per_query,
                            metrics->args.rank.n_queries * sizeof(*per_query));
}

/* Sorts queries by falling size, large ones first in input order, to `query`, [n_queries]. Counts
 * the queries of each kind in *rank. */
static void sort_by_size(const uint32_t *query_offset, uint32_t n_queries,
                         struct rw_cuda_rank *rank, uint32_t *query)
{
    /* begin of the large queries, then of each size from the largest to 0 */
    uint32_t position[RW_RANK_BLOCK_DOCS + 3] = {0};
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = rw_query_range(query_offset, q).n;
        position[n > RW_RANK_BLOCK_DOCS ? 1 : RW_RANK_BLOCK_DOCS - n + 2]++;
        rank->n_block += n > RW_RANK_WARP_DOCS && n <= RW_RANK_BLOCK_DOCS;
        rank->n_warp += n >= 1 && n <= RW_RANK_WARP_DOCS;
        rank->large.n += n > RW_RANK_BLOCK_DOCS;
        rank->large.n_docs += n > RW_RANK_BLOCK_DOCS ? n : 0;
    }
    for (uint32_t i = 1; i <= RW_RANK_BLOCK_DOCS + 1; i++)
        position[i] += position[i - 1];
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = rw_query_range(query_offset, q).n;
        query[position[n > RW_RANK_BLOCK_DOCS ? 0 : RW_RANK_BLOCK_DOCS - n + 1]++] = q;
    }
}

int rw_cuda_rank_init(struct rw_device_tables *tables, uint32_t n_docs, uint32_t n_queries,
                      const uint32_t *query_offset, struct rw_cuda_rank *rank)
{
    struct rw_cuda_rank_large *large = &rank->large;
    RW_FREED uint32_t *query = NULL, *begin = NULL;
    *rank = (struct rw_cuda_rank){.n_docs = n_docs, .n_queries = n_queries};
    RW_TRY(RW_NEW(tables->ctx, query, n_queries));
    sort_by_size(query_offset, n_queries, rank, query);
    RW_TRY(RW_DEVICE_TABLE(tables, rank->d_offset, query_offset, (size_t)n_queries + 1));
    RW_TRY(RW_DEVICE_TABLE(tables, rank->d_by_size, query, n_queries));
    RW_TRY(RW_DEVICE_TABLE(tables, rank->d_order, NULL, n_docs));
    if (large->n == 0)
        return RW_OK;
    RW_TRY(RW_NEW(tables->ctx, begin, (size_t)large->n + 1));
    for (uint32_t k = 0; k < large->n; k++)
        begin[k + 1] = begin[k] + rw_query_range(query_offset, query[k]).n;
    RW_TRY(RW_DEVICE_TABLE(tables, large->d_begin, begin, (size_t)large->n + 1));
    for (int i = 0; i < 2; i++) {
        RW_TRY(RW_DEVICE_TABLE(tables, large->d_key[i], NULL, (size_t)large->n_docs));
        RW_TRY(RW_DEVICE_TABLE(tables, large->d_doc[i], NULL, (size_t)large->n_docs));
        if (large->n > 1)
            RW_TRY(RW_DEVICE_TABLE(tables, large->d_part[i], NULL, (size_t)large->n_docs));
    }
    large->scratch_bytes = rw_cuda_rank_scratch_bytes(large->n_docs, large->n);
    return rw_device_table(tables, &large->d_scratch, NULL, large->scratch_bytes);
}
