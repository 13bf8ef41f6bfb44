#include "gpu/values_serial.h"

#include <omp.h>
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

int rw_values_cpu_run(struct rw_ctx *ctx, const struct rw_values_job *job, int n_threads)
{
    int status = RW_OK;
    const size_t n_bins = job->n_bins, n = n_threads > 1 ? (size_t)n_threads : 1;
    uint64_t *count = NULL;
    int64_t *sum = NULL;
    RW_TRY_OUT(RW_NEW_RAW(ctx, count, n * n_bins));
    RW_TRY_OUT(RW_NEW_RAW(ctx, sum, job->weight ? n * n_bins : 0));
#pragma omp parallel num_threads((int)n)
    {
        const size_t t = (size_t)omp_get_thread_num(), all = (size_t)omp_get_num_threads();
        uint64_t *const own = count + t * n_bins;
        int64_t *const own_sum = job->weight ? sum + t * n_bins : NULL;
        memset(own, 0, n_bins * sizeof(*own));
        if (own_sum)
            memset(own_sum, 0, n_bins * sizeof(*own_sum));
        add[job->type](job, job->n / all * t, t + 1 == all ? job->n : job->n / all * (t + 1), own,
                       own_sum);
#pragma omp barrier
#pragma omp for schedule(static)
        for (size_t b = 0; b < n_bins; b++) {
            uint64_t documents = 0;
            int64_t weights = 0;
            for (size_t k = 0; k < all; k++) {
                documents += count[k * n_bins + b];
                weights += job->weight ? sum[k * n_bins + b] : 0;
            }
            job->count[b] = documents;
            if (job->weight)
                job->sum[b] = weights;
        }
    }
out:
    rw_mem_free(count);
    rw_mem_free(sum);
    return status;
}
