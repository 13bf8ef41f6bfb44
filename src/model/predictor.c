#include "model/predictor.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/thread.h"
#include "dataset/dataset.h"
#include "model/predict.h"
#include "model/single.h"

/* Threads beyond the first count for less. */
#define CPU_THREAD 0.8
/* Milliseconds in which a GPU's driver is up and memory is there. */
#define GPU_OPEN_MS 500.0

struct rw_predictor {
    struct rw_ctx *ctx; /* borrowed */
    struct rw_flat flat;
    struct rw_single *single;        /* owned; NULL: the model is not of the kind */
    struct rw_strategy strategy;     /* the CPU's, of data sets and rows */
    struct rw_device_scorer *scorer; /* of data sets; owned; NULL: the CPU scores them, too */
    int is_auto;                     /* nobody chose the device */
    int undecided;                   /* auto: whether a GPU pays is yet to be seen */
    double cpu_ms;                   /* auto: what all runs so far should have taken on the CPU */
};

static const struct {
    const char *name;
    int (*open)(struct rw_ctx *, const struct rw_flat *, int, struct rw_device_scorer **);
} devices[] = {
    {"cuda", rw_device_scorer_open_cuda},
};

/* *out is NULL if it is the CPU. */
static int open_scorer(struct rw_predictor *predictor, const char *device,
                       struct rw_device_scorer **out)
{
    size_t length;
    const int number = rw_device_number(device, &length);
    *out = NULL;
    if (strcmp(device, "cpu") == 0)
        return RW_OK;
    for (size_t i = 0; number >= 0 && i < sizeof(devices) / sizeof(devices[0]); i++) {
        if (strlen(devices[i].name) == length && strncmp(devices[i].name, device, length) == 0)
            return devices[i].open(predictor->ctx, &predictor->flat, number, out);
    }
    return rw_fail(predictor->ctx, RW_ERR_ARGUMENT,
                   "device '%s' makes no scores; expected auto, cpu, cuda or cuda:N", device);
}

static void close_scorer(struct rw_device_scorer *scorer)
{
    if (scorer)
        scorer->ops->close(scorer);
}

int rw_predictor_open(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                      const char *device, struct rw_predictor **out)
{
    RW_DEFAULT_FPENV;
    struct rw_predictor *predictor;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, predictor, 1));
    predictor->ctx = ctx;
    predictor->is_auto = strcmp(device, "auto") == 0;
    predictor->undecided = predictor->is_auto;
    int status = rw_flat_init(ctx, &predictor->flat, model, n_trees);
    if (status >= 0)
        status = rw_single_new(ctx, &predictor->flat, rw_isa(), &predictor->single);
    if (status >= 0)
        status = open_scorer(predictor, predictor->is_auto ? "cpu" : device, &predictor->scorer);
    if (status < 0) {
        rw_predictor_close(predictor);
        return status;
    }
    *out = predictor;
    return RW_OK;
}

void rw_predictor_close(struct rw_predictor *predictor)
{
    if (!predictor)
        return;
    close_scorer(predictor->scorer);
    rw_strategy_release(&predictor->strategy);
    rw_single_free(predictor->single);
    rw_flat_release(&predictor->flat);
    rw_mem_free(predictor);
}

const char *rw_predictor_device(const struct rw_predictor *predictor)
{
    return predictor->scorer ? predictor->scorer->ops->name : "cpu";
}

/* How much is still to come is not known: data may be read in pieces. So a GPU is opened once the
 * CPU, this run included, will have had as much to do as opening one takes: whatever comes, the
 * choice costs at most twice the better one's time. */
static void choose(struct rw_predictor *predictor, uint32_t n_docs)
{
    struct rw_device_scorer *gpu;
    const int n_threads = predictor->ctx->n_threads;
    const double cpu_ms =
        n_docs * rw_strategy_doc_ns(&predictor->flat) / 1e6 / (1.0 + CPU_THREAD * (n_threads - 1));
    predictor->cpu_ms += cpu_ms;
    if (predictor->cpu_ms <= GPU_OPEN_MS)
        return;
    predictor->undecided = 0;
    if (open_scorer(predictor, "cuda", &gpu) < 0) {
        rw_log(predictor->ctx, RW_LOG_DEBUG, "scores on device cpu: %s",
               rw_last_error(predictor->ctx));
        return;
    }
    const double gpu_ms = gpu->ops->run_ms(gpu, n_docs);
    const int pays = gpu_ms < cpu_ms;
    rw_log(predictor->ctx, RW_LOG_DEBUG,
           "scores on device %s: %u documents are expected to take %.3g ms on the GPU and %.3g ms "
           "on %d thread%s",
           pays ? "cuda" : "cpu", n_docs, gpu_ms, cpu_ms, n_threads, n_threads == 1 ? "" : "s");
    if (pays)
        predictor->scorer = gpu;
    else
        close_scorer(gpu);
}

int rw_predictor_run(struct rw_predictor *predictor, const struct rw_dataset *dataset,
                     double *scores)
{
    RW_DEFAULT_FPENV;
    if (predictor->undecided)
        choose(predictor, dataset->n_docs);
    struct rw_device_scorer *scorer = predictor->scorer;
    if (scorer) {
        const int status = scorer->ops->run(scorer, dataset, scores);
        if (status != RW_ERR_MEMORY || !predictor->is_auto)
            return status;
        rw_log(predictor->ctx, RW_LOG_DEBUG,
               "scores on device cpu: the GPU has too little free memory");
        close_scorer(scorer);
        predictor->scorer = NULL;
    }
    return rw_strategy_scores(predictor->ctx, &predictor->strategy, &predictor->flat, dataset,
                              scores);
}

const struct rw_packed *rw_predictor_packed(struct rw_predictor *predictor, uint32_t n_docs)
{
    if (predictor->undecided)
        choose(predictor, n_docs);
    return predictor->scorer || predictor->flat.set_of ? NULL : predictor->strategy.packed;
}

double rw_predictor_one(const struct rw_predictor *predictor, const float *values, size_t n_values)
{
    RW_DEFAULT_FPENV;
    return predictor->single ? rw_single_score(predictor->single, values, n_values, 0)
                             : rw_flat_score(&predictor->flat, values, n_values, 0);
}

int rw_predictor_rows(struct rw_predictor *predictor, const float *values, uint32_t n_docs,
                      uint32_t n_features, uint32_t first_feature, double *scores)
{
    RW_DEFAULT_FPENV;
    const struct rw_rows rows = {values, n_docs, n_features, first_feature};
    return rw_strategy_rows(predictor->ctx, &predictor->strategy, &predictor->flat,
                            predictor->single, &rows, scores);
}

struct infinite_job {
    const float *value;
    uint32_t n_features;
    uint64_t first; /* the first infinite value's index, or UINT64_MAX */
};

static int find_infinite(void *user, struct rw_share *share)
{
    struct infinite_job *job = user;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        const uint64_t last = end * job->n_features;
        uint64_t at = doc * job->n_features;
        uint32_t found = 0;
        for (uint64_t i = at; i < last; i++)
            found |= (rw_bits_of_float(job->value[i]) & 0x7fffffff) == 0x7f800000;
        if (!found)
            continue;
        while ((rw_bits_of_float(job->value[at]) & 0x7fffffff) != 0x7f800000)
            at++;
        rw_share_lock(share);
        job->first = at < job->first ? at : job->first;
        rw_share_unlock(share);
    }
    return RW_OK;
}

int rw_rows_infinite(struct rw_ctx *ctx, const float *values, uint32_t n_docs, uint32_t n_features,
                     uint32_t *doc, uint32_t *feature)
{
    RW_DEFAULT_FPENV;
    enum { FEW = 1 << 17 }; /* values that are looked at before other threads have come */
    struct infinite_job job = {values, n_features, UINT64_MAX};
    const int n_threads = (uint64_t)n_docs * n_features < FEW ? 1 : ctx->n_threads;
    (void)rw_parallel(ctx, n_threads, n_docs, 0, find_infinite, &job);
    if (job.first == UINT64_MAX)
        return 0;
    *doc = (uint32_t)(job.first / n_features);
    *feature = (uint32_t)(job.first % n_features);
    return 1;
}

int rw_predict_on(struct rw_ctx *ctx, const struct rw_model *model,
                  const struct rw_dataset *dataset, int n_trees, const char *device, double *scores)
{
    RW_DEFAULT_FPENV;
    struct rw_predictor *predictor;
    RW_TRY(rw_predictor_open(ctx, model, n_trees, device, &predictor));
    const int status = rw_predictor_run(predictor, dataset, scores);
    rw_predictor_close(predictor);
    return status;
}
