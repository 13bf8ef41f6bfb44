#include "lab/kernels/values_serial.h"

#include <string.h>

#include "base/mem.h"

/* Adds values [begin, end) to count and sum: the last bin whose lower edge is not over x. One
 * function a type, so that the compiler sees plain comparisons. */
#define DEFINE_ADD(NAME, VALUE, EDGE, FIELD)                                                       \
    static void NAME(const struct rw_values_job *job, uint64_t begin, uint64_t end,                \
                     uint64_t *count, int64_t *sum)                                                \
    {                                                                                              \
        const VALUE *const value = job->value;                                                     \
        const EDGE *const edge = job->edge;                                                        \
        const EDGE first = edge[0], last = edge[job->n_bins];                                      \
        for (uint64_t i = begin; i < end; i++) {                                                   \
            const EDGE x = (EDGE)value[i];                                                         \
            if (job->mask && !job->mask[i])                                                        \
                continue;                                                                          \
            if (job->has_range && !(x >= job->lo.FIELD && x < job->hi.FIELD))                      \
                continue;                                                                          \
            if (!(x >= first) || !(x < last || (job->last_closed && x == last)))                   \
                continue;                                                                          \
            uint32_t low = 0, high = job->n_bins; /* edge[low] <= x; edge[high] > x or the last */ \
            while (high - low > 1) {                                                               \
                const uint32_t middle = low + (high - low) / 2;                                    \
                if (edge[middle] <= x)                                                             \
                    low = middle;                                                                  \
                else                                                                               \
                    high = middle;                                                                 \
            }                                                                                      \
            count[low]++;                                                                          \
            if (sum)                                                                               \
                sum[low] += job->weight[i];                                                        \
        }                                                                                          \
    }

DEFINE_ADD(add_u8, uint8_t, int32_t, i)
DEFINE_ADD(add_u16, uint16_t, int32_t, i)
DEFINE_ADD(add_i32, int32_t, int32_t, i)
DEFINE_ADD(add_f32, float, float, f)
DEFINE_ADD(add_f64, double, double, d)

typedef void (*add_fn)(const struct rw_values_job *job, uint64_t begin, uint64_t end,
                       uint64_t *count, int64_t *sum);
static const add_fn add[RW_VALUES_N_TYPES] = {add_u8, add_u16, add_i32, add_f32, add_f64};

void rw_values_serial_run(const struct rw_values_job *job)
{
    int64_t *const sum = job->weight ? job->sum : NULL;
    memset(job->count, 0, job->n_bins * sizeof(*job->count));
    if (sum)
        memset(sum, 0, job->n_bins * sizeof(*sum));
    add[job->type](job, 0, job->n, job->count, sum);
}

/* Each part of the values has a histogram of its own. */
struct cpu_job {
    const struct rw_values_job *job;
    size_t n_parts;
    uint64_t *count; /* [n_parts][n_bins] */
    int64_t *sum;    /* [n_parts][n_bins] with weights */
};

static int count_parts(void *user, struct rw_share *share)
{
    const struct cpu_job *cpu = user;
    const struct rw_values_job *job = cpu->job;
    const size_t n_bins = job->n_bins;
    for (uint64_t part, end; rw_share_next(share, &part, &end);) {
        for (; part < end; part++) {
            uint64_t *const own = cpu->count + part * n_bins;
            int64_t *const own_sum = job->weight ? cpu->sum + part * n_bins : NULL;
            memset(own, 0, n_bins * sizeof(*own));
            if (own_sum)
                memset(own_sum, 0, n_bins * sizeof(*own_sum));
            const uint64_t step = job->n / cpu->n_parts;
            add[job->type](job, step * part, part + 1 == cpu->n_parts ? job->n : step * (part + 1),
                           own, own_sum);
        }
    }
    return RW_OK;
}

static int merge_parts(void *user, struct rw_share *share)
{
    const struct cpu_job *cpu = user;
    const struct rw_values_job *job = cpu->job;
    const size_t n_bins = job->n_bins;
    for (uint64_t b, end; rw_share_next(share, &b, &end);) {
        for (; b < end; b++) {
            uint64_t documents = 0;
            int64_t weights = 0;
            for (size_t k = 0; k < cpu->n_parts; k++) {
                documents += cpu->count[k * n_bins + b];
                weights += job->weight ? cpu->sum[k * n_bins + b] : 0;
            }
            job->count[b] = documents;
            if (job->weight)
                job->sum[b] = weights;
        }
    }
    return RW_OK;
}

int rw_values_cpu_run(struct rw_ctx *ctx, const struct rw_values_job *job, int n_threads)
{
    int status = RW_OK;
    struct cpu_job cpu = {.job = job, .n_parts = n_threads > 1 ? (size_t)n_threads : 1};
    RW_TRY_OUT(RW_NEW_RAW(ctx, cpu.count, cpu.n_parts * job->n_bins));
    RW_TRY_OUT(RW_NEW_RAW(ctx, cpu.sum, job->weight ? cpu.n_parts * job->n_bins : 0));
    rw_parallel(ctx, (int)cpu.n_parts, cpu.n_parts, 0, count_parts, &cpu);
    rw_parallel(ctx, (int)cpu.n_parts, job->n_bins, 0, merge_parts, &cpu);
out:
    rw_mem_free(cpu.count);
    rw_mem_free(cpu.sum);
    return status;
}
