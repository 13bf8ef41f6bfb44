/* Plain on purpose: the device's kernels are compared with it. */
#include "lab/kernels/generalized_serial.h"

#include <string.h>

static void clear(enum rw_gen_op op, void *out, uint64_t cell)
{
    if (op == RW_GEN_MIN)
        ((int32_t *)out)[cell] = INT32_MAX;
    else if (op == RW_GEN_MAX)
        ((int32_t *)out)[cell] = INT32_MIN;
    else if (op == RW_GEN_ADD64 || op == RW_GEN_ARGMAX)
        ((uint64_t *)out)[cell] = 0;
    else
        ((uint32_t *)out)[cell] = 0;
}

/* at: of the value; place: of the element in its histogram. */
static void update(const struct rw_gen_serial *job, uint64_t cell, uint64_t at, uint64_t place)
{
    uint32_t *const narrow = job->out;
    int32_t *const number = job->out;
    uint64_t *const wide = job->out;
    switch (job->op) {
    case RW_GEN_ADD32:
        narrow[cell] += job->value ? ((const uint32_t *)job->value)[at] : 1;
        break;
    case RW_GEN_ADD64:
        wide[cell] += job->value ? ((const uint64_t *)job->value)[at] : 1;
        break;
    case RW_GEN_SAT24: {
        const uint64_t v = job->value ? ((const uint32_t *)job->value)[at] : 1;
        narrow[cell] = v + narrow[cell] > RW_GEN_SAT24_MOST ? (uint32_t)RW_GEN_SAT24_MOST
                                                            : (uint32_t)(v + narrow[cell]);
        break;
    }
    case RW_GEN_MIN:
        if (((const int32_t *)job->value)[at] < number[cell])
            number[cell] = ((const int32_t *)job->value)[at];
        break;
    case RW_GEN_MAX:
        if (((const int32_t *)job->value)[at] > number[cell])
            number[cell] = ((const int32_t *)job->value)[at];
        break;
    case RW_GEN_ARGMAX: {
        const int32_t v = ((const int32_t *)job->value)[at];
        /* the first element takes the cell; later ones only with a larger value */
        if (wide[cell] == 0 || v > rw_gen_pair_value(wide[cell]))
            wide[cell] = rw_gen_pair(v, (uint32_t)place);
        break;
    }
    case RW_GEN_OPS:
        break;
    }
}

void rw_gen_serial_run(const struct rw_gen_serial *job)
{
    const uint64_t width = job->width;
    for (uint64_t c = 0; c < (uint64_t)job->n_out * job->n_bins * width; c++)
        clear(job->op, job->out, c);
    for (uint64_t h = 0; h < job->n_out; h++) {
        for (uint64_t i = 0; i < job->n; i++) {
            const uint64_t element = h * job->n + i;
            if (job->index[element] >= job->n_bins)
                continue;
            const uint64_t cell = (h * job->n_bins + job->index[element]) * width;
            for (uint64_t j = 0; j < width; j++)
                update(job, cell + j, element * width + j, i);
        }
    }
}

uint64_t rw_gen_serial_touched(const uint32_t *index, uint32_t n_bins,
                               const struct rw_multi_sample *sample, unsigned char *mark)
{
    uint64_t touched = 0;
    for (uint64_t g = 0; g < sample->n_groups; g++) {
        memset(mark, 0, n_bins);
        for (uint64_t i = g * sample->step; i < g * sample->step + sample->length; i++) {
            if (index[i] < n_bins)
                mark[index[i]] = 1;
        }
        for (uint32_t b = 0; b < n_bins; b++)
            touched += mark[b];
    }
    return touched;
}
