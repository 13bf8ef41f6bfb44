/* Algorithm 1 of Xu et al., "Efficient weighted histogramming on GPUs with CUDA": adds the numbers
 * of each document to the bin of its code. It is simple on purpose, because the tests compare all
 * methods with it. */
#include "hist_serial.h"

#include <string.h>

/* Number of bins whose double sums are on the stack at once. */
enum { SECTION = 1024 };

static uint64_t document(const struct rw_hist_serial *job, uint64_t place)
{
    return job->list ? job->list[place] : place;
}

static void add_integers(const struct rw_hist_serial *job, const struct rw_hist_node *node,
                         const uint16_t *codes, uint64_t cell)
{
    for (uint64_t i = node->first; i < node->first + node->n; i++) {
        const uint64_t d = document(job, i);
        const uint64_t at = cell + codes[d];
        if (job->count)
            job->count[at]++;
        if (job->lambda_sum)
            job->lambda_sum[at] += job->lambda[d];
        if (job->hess_sum)
            job->hess_sum[at] += job->hess[d];
    }
}

static void add_floats(const struct rw_hist_serial *job, const struct rw_hist_node *node,
                       const uint16_t *codes, uint64_t cell)
{
    for (uint32_t from = 0; from < job->n_bins; from += SECTION) {
        const uint32_t n = job->n_bins - from < SECTION ? job->n_bins - from : SECTION;
        double sum[SECTION] = {0};
        for (uint64_t i = node->first; i < node->first + node->n; i++) {
            const uint64_t d = document(job, i);
            if (codes[d] >= from && codes[d] - from < n)
                sum[codes[d] - from] += (double)job->value[d];
        }
        for (uint32_t b = 0; b < n; b++)
            job->float_sum[cell + from + b] = (float)sum[b];
    }
}

void rw_hist_serial_run(const struct rw_hist_serial *job)
{
    const uint64_t n_cells = (uint64_t)job->n_nodes * job->n_features * job->n_bins;
    if (job->count)
        memset(job->count, 0, n_cells * sizeof(*job->count));
    if (job->lambda_sum)
        memset(job->lambda_sum, 0, n_cells * sizeof(*job->lambda_sum));
    if (job->hess_sum)
        memset(job->hess_sum, 0, n_cells * sizeof(*job->hess_sum));
    for (uint32_t k = 0; k < job->n_nodes; k++) {
        for (uint32_t f = 0; f < job->n_features; f++) {
            const uint64_t cell = ((uint64_t)k * job->n_features + f) * job->n_bins;
            if (job->count || job->lambda_sum || job->hess_sum)
                add_integers(job, &job->node[k], job->codes[f], cell);
            if (job->float_sum)
                add_floats(job, &job->node[k], job->codes[f], cell);
        }
    }
}
