/* The model's equations, as numbered in Henriksen et al. */
#include "lab/kernels/multi_plan.h"

#include "lab/kernels/lab_tuning.h"

/* Chosen by experiment in the document (sections III-D and V-A); for this device's own see
 * tuning.h. */
static const double race_share = 0.75; /* k_RF */
static const double l2_share = 0.4;    /* F_L2 */
static const double least_share = 2.0; /* k_min^ct */

static uint64_t at_least(uint64_t v, uint64_t least)
{
    return v > least ? v : least;
}

static uint64_t at_most(uint64_t v, uint64_t most)
{
    return v < most ? v : most;
}

static uint64_t divide_up(uint64_t a, uint64_t b)
{
    return a / b + (a % b != 0);
}

/* ceil of a positive real, at least 1. */
static uint64_t up(double v)
{
    const uint64_t whole = v < 1e18 ? (uint64_t)v : (uint64_t)1e18;
    return at_least(whole + ((double)whole < v), 1);
}

/* Passes and bins of a pass in shared memory for m sub-histograms: equation 3. */
static void shared_passes(const struct rw_multi_figures *device, const struct rw_multi_work *work,
                          struct rw_multi_choice *choice)
{
    const uint64_t room = device->shared_bytes / work->cell_bytes / choice->m; /* len */
    choice->s = room ? at_least(divide_up(work->n_bins, room), 1) : 0;
    choice->n_bins = room ? divide_up(work->n_bins, choice->s) : 0;
}

struct rw_multi_choice rw_multi_shared(const struct rw_multi_figures *device,
                                       const struct rw_multi_work *work)
{
    struct rw_multi_choice choice;
    const uint64_t b = device->block_threads;
    const uint64_t threads = at_most(device->n_multiprocessors * b, at_least(work->n, 1));
    const uint64_t blocks = divide_up(threads, b);
    const uint64_t cells =
        at_most(device->shared_bytes / work->cell_bytes, divide_up(work->n, blocks));
    choice.m = at_least(at_most(cells / at_least(work->n_bins, 1), b), 1);
    choice.c = divide_up(b, choice.m);
    shared_passes(device, work, &choice);
    return choice;
}

/* Equations 4 to 6 with a k_RF and with the cells that elements are worth clearing and merging for
 * (the document: N). */
static struct rw_multi_choice global_choice(const struct rw_multi_figures *device,
                                            const struct rw_multi_work *work, double k_race,
                                            double most_cells)
{
    struct rw_multi_choice choice;
    const double threads = (double)at_most(device->n_threads, at_least(work->n, 1));
    const double n_bins = (double)at_least(work->n_bins, 1);
    const double a_line = (double)device->l2_line / work->mean_bytes;
    const double wider = k_race * work->race / (a_line > 1.0 ? a_line : 1.0);
    const double l2 = l2_share * (double)device->l2_bytes * (wider > 1.0 ? wider : 1.0);
    double c = n_bins / least_share;
    c = c < threads ? c : threads;
    const double least_m = (double)up(threads / c);
    choice.s = up(least_m * n_bins * work->mean_bytes / l2);
    choice.n_bins = divide_up(work->n_bins, choice.s);
    const double u = work->strategy == RW_MULTI_HARDWARE ? 2.0 : 1.0;
    double cells = l2 / (double)work->cell_bytes;
    cells = cells < most_cells ? cells : most_cells;
    /* C = u H_chk / k_max with k_max = cells / T; without elements, all threads share one */
    c = cells > 0.0 ? u * (double)choice.n_bins * threads / cells : threads;
    c = c < threads ? c : threads;
    choice.m = c > 0.0 ? at_least((uint64_t)(threads / c), 1) : 1;
    choice.c = up(c);
    return choice;
}

struct rw_multi_choice rw_multi_global(const struct rw_multi_figures *device,
                                       const struct rw_multi_work *work)
{
    return global_choice(device, work, race_share, (double)work->n);
}

int rw_multi_prefers_shared(enum rw_multi_strategy strategy, uint64_t s)
{
    static const uint64_t most[RW_MULTI_STRATEGIES] = {3, 4, 6};
    return s >= 1 && s <= most[strategy];
}

uint64_t rw_multi_blocks(uint64_t slots, uint64_t threads, uint64_t n, uint64_t n_out)
{
    const uint64_t all = n_out && n > UINT64_MAX / n_out ? UINT64_MAX : n * n_out;
    const uint64_t blocks = at_most(slots, divide_up(all, threads)); /* T / B, T = min(T_hw, N) */
    return at_least(divide_up(blocks, at_least(n_out, 1)), 1);
}

uint64_t rw_multi_copies(enum rw_multi_strategy strategy, uint64_t m)
{
    enum { LANES = 32 };
    if (strategy == RW_MULTI_HARDWARE)
        m = at_most(m, RW_TUNE_MULTI_MOST_COPIES);
    uint64_t suits = 1;
    while (suits < LANES && suits * 2 <= m)
        suits *= 2;
    if (m >= LANES)
        suits = m / LANES * LANES;
    return strategy == RW_MULTI_HARDWARE || suits >= m - m / 4 ? suits : m;
}

enum { RESERVED_BYTES = 1024 }; /* of shared memory, that the device keeps of each block */

/* Blocks of RW_TUNE_MULTI_THREADS that fit a multiprocessor, of those that are wanted: the more
 * rigorous treatment of the document's footnote 7. */
static uint64_t blocks_at_once(const struct rw_multi_figures *device, uint64_t bytes)
{
    const uint64_t memory = (device->shared_bytes + RESERVED_BYTES) / (bytes + RESERVED_BYTES);
    const uint64_t threads = device->n_threads / device->n_multiprocessors / RW_TUNE_MULTI_THREADS;
    return at_least(at_most(RW_TUNE_MULTI_BLOCKS, at_most(memory, threads)), 1);
}

/* Elements of a block where `blocks` of a multiprocessor run at once. */
static uint64_t elements_of_block(const struct rw_multi_figures *device,
                                  const struct rw_multi_work *work, uint64_t n_out, uint64_t blocks)
{
    const uint64_t threads = at_most(device->block_threads, RW_TUNE_MULTI_THREADS);
    return work->n / rw_multi_blocks(device->n_multiprocessors * blocks, threads, work->n, n_out);
}

/* Blocks a multiprocessor, by their work: each writes its bins, and all are merged. Where that is
 * much beside the few instructions of a hardware's atomic, half as many blocks are faster; loops
 * and locks wait, and want all the warps that there can be. */
static uint64_t blocks_wanted(const struct rw_multi_figures *device,
                              const struct rw_multi_work *work, uint64_t n_out, uint64_t n_bins)
{
    const uint64_t each = elements_of_block(device, work, n_out, RW_TUNE_MULTI_BLOCKS);
    return work->strategy == RW_MULTI_HARDWARE && n_bins > each / RW_TUNE_MULTI_BIN_ELEMENTS
               ? 1
               : RW_TUNE_MULTI_BLOCKS;
}

/* Of the bins, as the race factor tells. */
static double bins_in_use(const struct rw_multi_work *work)
{
    const double active = (double)work->n_bins / (work->race > 1.0 ? work->race : 1.0);
    return active > 1.0 ? active : 1.0;
}

/* M in shared memory on this device, of the `most` that the model finds room for; tuning.h has the
 * reasons. */
static uint64_t shared_m(const struct rw_multi_figures *device, const struct rw_multi_work *work,
                         uint64_t n_out, uint64_t most)
{
    const uint64_t n_bins = at_least(work->n_bins, 1);
    if (work->strategy == RW_MULTI_HARDWARE) {
        const uint64_t each =
            elements_of_block(device, work, n_out, blocks_wanted(device, work, n_out, n_bins));
        const uint64_t m = each / RW_TUNE_MULTI_COPY_ELEMENTS / n_bins;
        return rw_multi_copies(work->strategy, at_least(at_most(m, most), 1));
    }
    const uint64_t part = (device->shared_bytes + RESERVED_BYTES) / RW_TUNE_MULTI_BLOCKS;
    const uint64_t bytes = part > RESERVED_BYTES ? part - RESERVED_BYTES : 0;
    const uint64_t room = at_most(bytes / work->cell_bytes / n_bins, most);
    const uint64_t m = room ? room : most;
    const double active = bins_in_use(work);
    if (work->strategy == RW_MULTI_LOCK && (double)m * active < RW_TUNE_MULTI_LOCK_CELLS)
        return 1;
    if (most >= RW_TUNE_MULTI_THREADS && m < RW_TUNE_MULTI_THREADS) {
        /* with a copy for each thread there is nothing to wait for; in a single bin whole warps
         * meet or none of their lanes, and two threads a copy seldom do */
        return active < 2.0 && m >= RW_TUNE_MULTI_THREADS / 2
                   ? RW_TUNE_MULTI_THREADS / 2
                   : rw_multi_copies(work->strategy, most);
    }
    return rw_multi_copies(work->strategy, m);
}

/* M in global memory on this device, of the `most` that the model finds room for. */
static uint64_t global_m(const struct rw_multi_figures *device, const struct rw_multi_work *work,
                         uint64_t most)
{
    const double threads = (double)at_most(device->n_threads, at_least(work->n, 1));
    const double race = work->race > 1.0 ? work->race : 1.0;
    double m = (double)most;
    if (work->strategy == RW_MULTI_HARDWARE) {
        /* active lines of one copy: all of them, or one for each active bin */
        const double a_line = RW_TUNE_MULTI_LINE_BYTES / (double)work->cell_bytes;
        const double lines = (double)work->n_bins / (a_line > race ? a_line : race);
        m = threads / RW_TUNE_MULTI_LINE_THREADS / (lines > 1.0 ? lines : 1.0);
        m = (double)up(m);
    } else if (work->strategy == RW_MULTI_LOCK) {
        m = threads / RW_TUNE_MULTI_LOCK_THREADS / bins_in_use(work) + 0.5;
        if (race > RW_TUNE_MULTI_LOCK_SPARSE && m > RW_TUNE_MULTI_LOCK_COPIES)
            m = RW_TUNE_MULTI_LOCK_COPIES;
    }
    return at_least(m < (double)most ? (uint64_t)m : most, 1);
}

static int plan_shared(const struct rw_multi_figures *device, const struct rw_multi_work *work,
                       uint64_t n_out, uint64_t s, struct rw_multi_plan *plan)
{
    struct rw_multi_choice choice = {.m = plan->m};
    shared_passes(device, work, &choice);
    if (choice.s == 0)
        return -1;
    plan->memory = RW_MULTI_SHARED;
    /* More passes than bins would leave some without work. */
    plan->s = at_most(at_least(s, choice.s), at_least(work->n_bins, 1));
    plan->n_bins = divide_up(work->n_bins, plan->s);
    plan->s = at_least(plan->n_bins ? divide_up(work->n_bins, plan->n_bins) : 1, 1);
    plan->threads = at_most(device->block_threads, RW_TUNE_MULTI_THREADS);
    const uint64_t slots =
        device->n_multiprocessors *
        at_most(blocks_at_once(device, plan->m * plan->n_bins * work->cell_bytes),
                blocks_wanted(device, work, n_out, plan->n_bins));
    /* The passes' blocks run side by side, so that the later ones find the elements in L2: they
     * share what would be the blocks of one pass, rounded down, or a second wave would follow. */
    plan->blocks = plan->s == 1
                       ? rw_multi_blocks(slots, plan->threads, work->n, n_out)
                       : rw_multi_blocks(at_least(slots / (plan->s * at_least(n_out, 1)), 1),
                                         plan->threads, work->n, 1);
    return 0;
}

static int wants_shared(const struct rw_multi_work *work, uint64_t s)
{
    static const uint64_t most[RW_MULTI_STRATEGIES] = {
        RW_TUNE_MULTI_PASSES_HARDWARE, RW_TUNE_MULTI_PASSES_CAS, RW_TUNE_MULTI_PASSES_LOCK};
    return s >= 1 && s <= most[work->strategy];
}

int rw_multi_plan_make(const struct rw_multi_figures *device, const struct rw_multi_work *work,
                       uint64_t n_out, enum rw_multi_memory memory, uint64_t m, uint64_t s,
                       struct rw_multi_plan *plan)
{
    const struct rw_multi_choice shared = rw_multi_shared(device, work);
    if (memory == RW_MULTI_AUTO)
        memory = wants_shared(work, shared.s) ? RW_MULTI_SHARED : RW_MULTI_GLOBAL;
    if (memory == RW_MULTI_SHARED) {
        plan->m = m ? m : shared_m(device, work, n_out, shared.m);
        return plan_shared(device, work, n_out, s, plan);
    }
    /* Histograms side by side are one of n_out * n_bins bins. */
    struct rw_multi_work all = *work;
    all.n *= n_out;
    all.n_bins *= n_out;
    const double cells_of_one = work->strategy == RW_MULTI_CAS ? RW_TUNE_MULTI_CAS_CELLS : 1.0;
    const struct rw_multi_choice global =
        global_choice(device, &all, RW_TUNE_MULTI_RACE_SHARE, cells_of_one * (double)all.n);
    plan->memory = RW_MULTI_GLOBAL;
    plan->m = m ? m : global_m(device, &all, global.m);
    plan->s = at_most(s ? s : global.s, at_least(work->n_bins, 1));
    plan->n_bins = divide_up(work->n_bins, plan->s);
    plan->s = at_least(plan->n_bins ? divide_up(work->n_bins, plan->n_bins) : 1, 1);
    plan->threads = at_most(device->block_threads, RW_TUNE_MULTI_GLOBAL_THREADS);
    plan->blocks =
        rw_multi_blocks(device->n_threads / plan->threads, plan->threads, work->n, n_out);
    return 0;
}

struct rw_multi_sample rw_multi_sample_of(uint64_t n, uint64_t n_bins)
{
    struct rw_multi_sample sample;
    sample.length = at_most(n_bins, n);
    const uint64_t there = sample.length ? n / sample.length : 0;
    const uint64_t wanted = sample.length ? at_least(RW_TUNE_MULTI_SAMPLE / sample.length, 1) : 0;
    sample.n_groups = at_most(at_most(there, wanted), RW_TUNE_MULTI_SAMPLE_GROUPS);
    sample.step = sample.n_groups ? there / sample.n_groups * sample.length : 0;
    return sample;
}

double rw_multi_race(const struct rw_multi_sample *sample, uint64_t touched)
{
    const double looked = (double)sample->n_groups * (double)sample->length;
    return touched && looked > (double)touched ? looked / (double)touched : 1.0;
}
