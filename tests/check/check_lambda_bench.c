/* check_lambda --bench: what gradients and metrics cost, by events on the stream. */
#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "check_lambda.h"
#include "synth/synth.h"
#include "gpu/objective/lambda_cuda.h"
#include "gpu/metric/metric_cuda.h"
#include "gpu/device/device.h"

enum { RUNS = 30 };

struct bench {
    struct rw_device *device;
    struct rw_device_tables tables; /* the rank's */
    struct rw_cuda_rank rank;
    struct rw_cuda_lambda *lambda;
    struct rw_cuda_metrics *metrics;
    double *d_score;
    struct rw_lambda_pair *d_pair;
    struct rw_cuda_lambda_info *d_info;
    int quick; /* the public sets' shapes, without metrics */
};

static int run_ranks(void *user)
{
    struct bench *b = user;
    return rw_cuda_rank_run(&b->rank, b->d_score, NULL, b->device->stream) == 0 ? 0 : -1;
}

static int run_lambdas(void *user)
{
    struct bench *b = user;
    const struct rw_cuda_lambda_run run = {
        .d_scores = b->d_score, .d_pair = b->d_pair, .d_info = b->d_info};
    return rw_cuda_lambdas_run(b->lambda, &run, 0, 0, b->device->stream);
}

static int run_metrics(void *user)
{
    struct bench *b = user;
    return rw_cuda_metrics_run(b->metrics, b->d_score, b->device->stream);
}

static int row(struct bench *b, const char *what, int (*run)(void *))
{
    double all[1 + RUNS], *ms = all + 1; /* the first is a warm-up */
    for (int i = 0; i < 1 + RUNS; i++)
        RW_TRY(rw_device_time_once(b->device, run, b, &all[i]));
    rw_sort_doubles(ms, RUNS);
    printf("    %-44s %8.4f ms (%.4f to %.4f)\n", what, ms[RUNS / 2], ms[0], ms[RUNS - 1]);
    fflush(stdout);
    return RW_OK;
}

/* Pairs with the rule, and of those the ones of different gains. */
static void count_pairs(const struct lambda_set *set, uint32_t truncation, double *visits)
{
    *visits = 0.0;
    for (uint32_t q = 0; q < set->data.n_queries; q++) {
        const double n = set->data.query_offset[q + 1] - set->data.query_offset[q];
        const double top = truncation && truncation < n ? truncation : n;
        *visits += top * n - top * (top + 1.0) / 2.0;
    }
}

static int bench_metrics(struct rw_ctx *ctx, struct bench *b, const struct lambda_set *set)
{
    static const char *const names[] = {"ndcg@10", "ndcg", "map", "err", "rmse"};
    const struct rw_gain_rule gains = {.kind = RW_GAIN_EXP};
    struct rw_judgments judgments;
    int status = RW_OK;
    RW_TRY(rw_judgments_init(ctx, &judgments, &set->data, &gains, 1));
    for (int m = 0; m < 5 && status >= 0; m++) {
        struct rw_metric metric;
        const struct rw_metric_plan plan = {&judgments, &metric, 1, RW_EMPTY_SKIP, RW_TIES_FILE, 0};
        RW_TRY_OUT(rw_metric_parse(ctx, names[m], 1.0, &metric));
        RW_TRY_OUT(rw_cuda_metrics_new(ctx, b->device, &plan, &b->metrics));
        status = row(b, names[m], run_metrics);
        rw_cuda_metrics_free(b->metrics);
        b->metrics = NULL;
    }
out:
    rw_judgments_release(&judgments);
    return status;
}

static int bench_set(struct rw_ctx *ctx, struct bench *b, struct lambda_set *set, const char *name,
                     uint32_t truncation, int metrics)
{
    const struct rw_engine_rules rules = {.objective = &rw_objective_lambdarank,
                                          .lambda = {1.0f, truncation, 1}};
    const uint32_t n = set->data.n_docs;
    double visits;
    int status = RW_OK;
    count_pairs(set, truncation, &visits);
    printf("%s: %u queries, %u documents, the longest %u; truncation %u, %.1f M pairs\n", name,
           set->data.n_queries, n, set->longest, truncation, visits / 1e6);
    RW_TRY_OUT(rw_device_alloc(ctx, (void **)&b->d_score, n * sizeof(double)));
    RW_TRY_OUT(rw_device_alloc(ctx, (void **)&b->d_pair, n * sizeof(*b->d_pair)));
    RW_TRY_OUT(rw_device_alloc(ctx, (void **)&b->d_info, sizeof(*b->d_info)));
    b->tables = (struct rw_device_tables){.ctx = ctx, .device = b->device};
    RW_TRY_OUT(
        rw_cuda_rank_init(&b->tables, n, set->data.n_queries, set->data.query_offset, &b->rank));
    RW_TRY_OUT(rw_cuda_lambda_new(ctx, b->device, &rules, &set->data, set->gain, &b->lambda));
    struct rw_cuda_lambda *planned;
    RW_TRY_OUT(rw_cuda_lambda_new(ctx, NULL, &rules, &set->data, NULL, &planned));
    printf("    holds %.1f MB (planned %.1f)\n", (double)rw_cuda_lambda_bytes(b->lambda) / 1e6,
           (double)rw_cuda_lambda_bytes(planned) / 1e6);
    rw_cuda_lambda_free(planned);
    for (int first = 0; first < 2; first++) {
        lambda_set_scores(set, first ? SCORES_SAME : SCORES_NORMAL, 3);
        RW_TRY_OUT(rw_transfer_write(b->device, b->d_score, set->score, n * sizeof(double)));
        RW_TRY_OUT(row(b, first ? "ranks, equal scores" : "ranks", run_ranks));
        RW_TRY_OUT(
            row(b, first ? "lambdas with ranks, equal scores" : "lambdas with ranks", run_lambdas));
    }
    if (metrics && !b->quick)
        RW_TRY_OUT(bench_metrics(ctx, b, set));
out:
    rw_cuda_lambda_free(b->lambda);
    b->lambda = NULL;
    rw_arena_free(&b->tables.arena);
    rw_device_free(b->d_score);
    rw_device_free(b->d_pair);
    rw_device_free(b->d_info);
    return status;
}

/* The sizes of a made set's queries; labels and scores are drawn here, which is quicker. */
static int bench_shape(struct rw_ctx *ctx, struct bench *b, const char *shape_name,
                       const char *title, uint32_t n_queries, uint32_t truncation)
{
    struct rw_synth_shape *shape;
    struct lambda_set set;
    RW_TRY(rw_synth_shape_new(ctx, shape_name, &shape));
    uint32_t *sizes = calloc(n_queries, sizeof(*sizes));
    for (uint32_t q = 0; q < n_queries; q++)
        sizes[q] = rw_synth_query_docs(shape, 1, q);
    lambda_set_init(&set, sizes, n_queries);
    lambda_set_labels(&set, LABELS_SKEWED, GAINS_EXP, 1);
    free(sizes);
    rw_mem_free(shape);
    const int status = bench_set(ctx, b, &set, title, truncation, 1);
    lambda_set_release(&set);
    return status;
}

static int bench_giant(struct rw_ctx *ctx, struct bench *b, uint32_t n, uint32_t truncation)
{
    struct lambda_set set;
    lambda_set_init(&set, &n, 1);
    lambda_set_labels(&set, LABELS_SKEWED, GAINS_EXP, 1);
    const int status = bench_set(ctx, b, &set, "one query", truncation, 1);
    lambda_set_release(&set);
    return status;
}

int lambda_bench(struct rw_ctx *ctx, struct rw_device *device, int quick)
{
    struct bench b = {.device = device, .quick = quick};
    int status = RW_OK;
    RW_TRY_OUT(bench_shape(ctx, &b, "mslr30k", "mslr30k", 31531, 30));
    RW_TRY_OUT(bench_shape(ctx, &b, "mslr30k", "mslr30k, a fifth", 6306, 30));
    RW_TRY_OUT(bench_shape(ctx, &b, "mslr30k", "mslr30k, all pairs", 31531, 0));
    RW_TRY_OUT(bench_shape(ctx, &b, "yahoo", "yahoo", 19944, 30));
    RW_TRY_OUT(bench_shape(ctx, &b, "letor", "letor", 500, 30));
    if (!quick) {
        RW_TRY_OUT(bench_giant(ctx, &b, 200000, 30));
        RW_TRY_OUT(bench_giant(ctx, &b, 200000, 0));
        RW_TRY_OUT(bench_giant(ctx, &b, 2048, 0));
    }
out:
    if (status < 0)
        printf("bench: %s\n", rw_last_error(ctx));
    return status < 0;
}
