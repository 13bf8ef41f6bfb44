/* Scores of data sets: by the CPU, down the trees or by the packed model, or on a device. */
#include "model/device_scorer.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/search.h"
#include "base/thread.h"
#include "dataset/dataset.h"
#include "model/packed.h"
#include "model/predict.h"
#include "model/scorer.h"

/* One thread of a server of 2023: a node that a document passes takes 1.3 to 3 ns, more in a model
 * that is larger than the caches or splits what is hard to foresee; and a value that is gathered.
 */
#define WALK_STEP_NS  2.0
#define WALK_VALUE_NS 1.0

/* Threads beyond the first count for less. */
#define CPU_THREAD 0.8
/* Milliseconds in which a GPU's driver is up and memory is there. */
#define GPU_OPEN_MS 500.0

static const struct {
    const char *name;
    int (*open)(struct rw_ctx *, const struct rw_flat *, int, struct rw_device_scorer **);
} devices[] = {
    {"cuda", rw_device_scorer_open_cuda},
};

/* ---- the CPU ---- */

static double walk_doc_ns(const struct rw_flat *flat)
{
    return WALK_STEP_NS * rw_flat_steps(flat) + WALK_VALUE_NS * (double)flat->n_used;
}

static int settle(struct rw_ctx *ctx, struct rw_scorer *scorer, uint32_t n_docs)
{
    const struct rw_flat *flat = &scorer->flat;
    const double walk_ns = walk_doc_ns(flat);
    /* Documents are shared by threads, packing is not. */
    scorer->walked_ns += n_docs * walk_ns / ctx->n_threads;
    if (scorer->walked_ns < rw_packed_make_ns(flat))
        return RW_OK;
    const struct rw_packed_ops *ops = rw_packed_ops(rw_isa());
    const double packed_ns = rw_packed_doc_ns(flat, ops);
    scorer->settled = 1;
    if (packed_ns >= walk_ns)
        return RW_OK;
    RW_TRY(rw_packed_new(ctx, flat, ops, &scorer->packed));
    rw_log(ctx, RW_LOG_DEBUG,
           "scores by %s: %.3g us a document expected of a thread, %.3g us down the trees",
           scorer->packed ? ops->name : "walking", packed_ns / 1e3, walk_ns / 1e3);
    return RW_OK;
}

static int score_on_cpu(struct rw_ctx *ctx, struct rw_scorer *scorer,
                        const struct rw_dataset *dataset, double *scores)
{
    if (!scorer->settled)
        RW_TRY(settle(ctx, scorer, dataset->n_docs));
    return scorer->packed ? rw_packed_scores(ctx, scorer->packed, dataset, scores)
                          : rw_flat_scores(ctx, &scorer->flat, dataset, scores);
}

int rw_predict(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_dataset *dataset,
               int n_trees, double *scores)
{
    RW_DEFAULT_FPENV;
    struct rw_scorer scorer = {0};
    if (dataset->codes)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the data set was binned for a training, and has no values");
    RW_TRY(rw_flat_init(ctx, &scorer.flat, model, n_trees));
    const int status = score_on_cpu(ctx, &scorer, dataset, scores);
    rw_packed_free(scorer.packed);
    rw_flat_release(&scorer.flat);
    return status;
}

/* ---- a device ---- */

/* *out is NULL if it is the CPU. */
static int open_device(struct rw_ctx *ctx, const struct rw_scorer *scorer, const char *device,
                       struct rw_device_scorer **out)
{
    size_t length;
    const int number = rw_device_number(device, &length);
    *out = NULL;
    if (strcmp(device, "cpu") == 0)
        return RW_OK;
    for (size_t i = 0; number >= 0 && i < sizeof(devices) / sizeof(devices[0]); i++) {
        if (strlen(devices[i].name) == length && strncmp(devices[i].name, device, length) == 0)
            return devices[i].open(ctx, &scorer->flat, number, out);
    }
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "device '%s' makes no scores; expected auto, cpu, cuda or cuda:N", device);
}

int rw_scorer_open(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                   const char *device, struct rw_scorer **out)
{
    RW_DEFAULT_FPENV;
    RW_TRY(rw_scorer_make(ctx, model, n_trees, out));
    struct rw_scorer *scorer = *out;
    scorer->is_auto = scorer->undecided = strcmp(device, "auto") == 0;
    const int status = scorer->is_auto ? RW_OK : open_device(ctx, scorer, device, &scorer->device);
    if (status < 0) {
        rw_scorer_free(scorer);
        *out = NULL;
    }
    return status;
}

const char *rw_scorer_device(const struct rw_scorer *scorer)
{
    return scorer->device ? scorer->device->ops->name : "cpu";
}

/* Expected nanoseconds of one of very many documents, by one thread. */
static double cpu_doc_ns(const struct rw_flat *flat)
{
    const double walk_ns = walk_doc_ns(flat), ns = rw_packed_doc_ns(flat, rw_packed_ops(rw_isa()));
    return ns < walk_ns ? ns : walk_ns;
}

/* How much is still to come is not known: data may be read in pieces. So a GPU is opened once the
 * CPU, this run included, will have had as much to do as opening one takes: whatever comes, the
 * choice costs at most twice the better one's time. */
static void choose(struct rw_ctx *ctx, struct rw_scorer *scorer, uint32_t n_docs)
{
    struct rw_device_scorer *gpu;
    const int n_threads = ctx->n_threads;
    const double cpu_ms =
        n_docs * cpu_doc_ns(&scorer->flat) / 1e6 / (1.0 + CPU_THREAD * (n_threads - 1));
    scorer->cpu_ms += cpu_ms;
    if (scorer->cpu_ms <= GPU_OPEN_MS)
        return;
    scorer->undecided = 0;
    if (open_device(ctx, scorer, "cuda", &gpu) < 0) {
        rw_log(ctx, RW_LOG_DEBUG, "scores on device cpu: %s", rw_last_error(ctx));
        return;
    }
    const double gpu_ms = gpu->ops->run_ms(gpu, n_docs);
    const int pays = gpu_ms < cpu_ms;
    rw_log(ctx, RW_LOG_DEBUG,
           "scores on device %s: %u documents are expected to take %.3g ms on the GPU and %.3g ms "
           "on %d thread%s",
           pays ? "cuda" : "cpu", n_docs, gpu_ms, cpu_ms, n_threads, n_threads == 1 ? "" : "s");
    if (pays)
        scorer->device = gpu;
    else
        gpu->ops->close(gpu);
}

int rw_scorer_run(struct rw_ctx *ctx, struct rw_scorer *scorer, const struct rw_dataset *dataset,
                  double *scores)
{
    RW_DEFAULT_FPENV;
    if (scorer->undecided)
        choose(ctx, scorer, dataset->n_docs);
    struct rw_device_scorer *device = scorer->device;
    if (device) {
        const int status = device->ops->run(device, dataset, scores);
        if (status != RW_ERR_MEMORY || !scorer->is_auto)
            return status;
        rw_log(ctx, RW_LOG_DEBUG, "scores on device cpu: the GPU has too little free memory");
        device->ops->close(device);
        scorer->device = NULL;
    }
    return score_on_cpu(ctx, scorer, dataset, scores);
}

const struct rw_packed *rw_scorer_packed(struct rw_ctx *ctx, struct rw_scorer *scorer,
                                         uint32_t n_docs)
{
    if (scorer->undecided)
        choose(ctx, scorer, n_docs);
    return scorer->device || scorer->flat.set_of ? NULL : scorer->packed;
}

/* ---- rows ---- */

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

/* Scores of a data set, or of lines that are none yet, by a packed model. */
/* A column of all the blocks at a time, for memory is read best in order. Documents past `end` are
 * like others before them: what they are does not matter. */
static void encode_blocks(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                          const struct rw_packed_room *room)
{
    const struct rw_packed *p = job->packed;
    const struct rw_packed_width *width = p->ops->width[p->code_bytes - 1];
    const size_t column_bytes = (size_t)RW_PACKED_DOCS * p->code_bytes;
    const size_t codes_bytes = rw_packed_codes_bytes(p);
    for (uint32_t i = 0; i < p->n_columns; i++) {
        const struct rw_packed_column *to = &p->column[i];
        const struct rw_column *column = job->column[to->slot];
        if (i > 0 && to->slot == to[-1].slot)
            ; /* its values are there */
        else if (column)
            rw_column_values(column, begin, end, p->flat->absent, room->value);
        else
            for (uint32_t d = 0; d < end - begin; d++)
                room->value[d] = p->flat->absent;
        if (p->flat->set_of && !(i > 0 && to->slot == to[-1].slot))
            for (uint32_t d = 0; d < end - begin; d++)
                room->value[d] = rw_flat_of_code(p->flat, to->slot, room->value[d]);
        for (uint32_t d = 0, b = 0; d < end - begin; d += RW_PACKED_DOCS, b++)
            width->encode(p, to, room->value + d, room->codes + b * codes_bytes + i * column_bytes);
    }
}

int rw_packed_scores(struct rw_ctx *ctx, const struct rw_packed *packed,
                     const struct rw_dataset *dataset, double *scores)
{
    struct rw_packed_job job = {.packed = packed, .encode = encode_blocks};
    RW_TRY(rw_flat_columns(ctx, packed->flat, dataset, &job.column));
    const int status = rw_packed_run(ctx, &job, dataset->n_docs, scores);
    rw_mem_free(job.column);
    return status;
}

/* Some lines of a run; all their features in turn, so that the lines stay in the first-level cache.
 * Features ascend in both, and no slot is for a set of categories. */
static void turn_run(const struct rw_flat *flat, const uint16_t *feature, uint32_t n,
                     const float *line, uint32_t n_docs, float *value)
{
    for (uint32_t k = 0, slot = 0; k < n && slot < flat->n_used;) {
        if (feature[k] < flat->feature[slot]) {
            k++;
        } else if (feature[k] > flat->feature[slot]) {
            slot++;
        } else {
            float *to = value + (size_t)slot++ * RW_PACKED_DOCS;
            for (uint32_t d = 0; d < n_docs; d++)
                to[d] = line[(size_t)d * n + k];
            k++;
        }
    }
}

static void turn_lines(const struct rw_packed_job *job, uint32_t begin, uint32_t end, float *value)
{
    enum { DOCS = 16 };
    const struct rw_flat *flat = job->packed->flat;
    const struct rw_builder *lines = job->lines;
    for (size_t i = 0; i < (size_t)flat->n_used * RW_PACKED_DOCS; i++)
        value[i] = flat->absent;
    uint32_t r = rw_records_under(lines->run, sizeof(*lines->run), lines->n_runs, begin + 1) - 1;
    for (uint32_t doc = begin; doc < end; r++) {
        const struct rw_run *run = &lines->run[r];
        const uint32_t run_end = run->doc + rw_builder_run_docs(lines, r);
        const uint32_t last = run_end < end ? run_end : end;
        for (uint32_t n; doc < last; doc += n) {
            n = last - doc < DOCS ? last - doc : DOCS;
            turn_run(flat, lines->entry_feature + run->feature, run->n,
                     lines->entry_value + run->value + (size_t)(doc - run->doc) * run->n, n,
                     value + (doc - begin));
        }
    }
}

int rw_packed_lines(const struct rw_packed *packed, const struct rw_builder *lines, double *scores)
{
    struct rw_packed_job job = {.packed = packed,
                                .encode = rw_packed_encode_turned,
                                .turn = turn_lines,
                                .lines = lines,
                                .more_values = (size_t)packed->flat->n_used * RW_PACKED_DOCS};
    return rw_packed_run(NULL, &job, lines->n_docs, scores);
}
