/* Implements hist.h, except the methods and kernels: the table of methods, the checks of calls, the
 * timing and choice of methods, the layout of codes, and the resources for codes in host memory
 * (struct rw_hist_far). */

#include <math.h>

#include "gpu/device/cu_check.h"
#include "gpu/device/tuning.h"
#include "gpu/hist/hist.h"

#define RW_HIST_METHOD(name) &rw_hist_##name,
static const struct rw_hist_method *const methods[] = {
#include "gpu/hist/methods.def"
};
#undef RW_HIST_METHOD

const struct rw_hist_method *rw_hist_method_at(int i)
{
    const int n = (int)(sizeof(methods) / sizeof(methods[0]));
    return i >= 0 && i < n ? methods[i] : NULL;
}

/* Returns the reason why no method can take the call, or NULL. */
static const char *misuse(const struct rw_hist_call *call)
{
    const struct rw_hist_matrix *matrix = call->matrix;
    const int weighted = call->sums == RW_HIST_MART || call->sums == RW_HIST_NEWTON;
    if (matrix->n_bins < 1 || matrix->n_bins > 1u << matrix->bits ||
        matrix->n_bins > RW_HIST_MOST_BINS)
        return "the bins do not fit the codes";
    if (call->n_nodes > RW_HIST_MAX_NODES)
        return "too many nodes";
    for (uint32_t i = 0; i < call->n_nodes; i++) {
        if (!call->d_list && !call->most_docs &&
            (call->node[i].first > matrix->n_docs ||
             call->node[i].n > matrix->n_docs - call->node[i].first))
            return "a node's documents are out of range";
        if (call->node[i].n > (uint64_t)1 << 31)
            return "a node has more than 2^31 documents";
        if (call->d_list && call->node[i].first > UINT32_MAX - call->node[i].n + 1)
            return "a list has more than 2^32 places";
        const uint64_t most = call->most_docs ? call->most_docs : call->node[i].n;
        if (weighted && call->narrow && !rw_hist_is_narrow(most, call->largest))
            return "a node's sums may pass 32 bits";
    }
    return NULL;
}

int rw_hist_check(struct rw_ctx *ctx, const struct rw_hist_method *method,
                  const struct rw_hist_call *call)
{
    const char *wrong = misuse(call);
    if (wrong)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "histogram: %s", wrong);
    const struct rw_hist_matrix *matrix = call->matrix;
    if (matrix->n_bins > method->most_bins)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "histogram method '%s' takes at most %u bins, not %u", method->name,
                       method->most_bins, matrix->n_bins);
    const int tiles = method->reads_tiles, listed = call->d_list && call->by_position;
    const int there = !matrix->n_features || !matrix->n_docs ||
                      (tiles ? matrix->n_tiles > 0 : matrix->d_column != NULL);
    int has_far_codes = 0;
    for (uint32_t t = 0; t < matrix->n_tiles; t++)
        has_far_codes |= matrix->tile[t].far_word != NULL;
    const char *refused = NULL;
    if (!(method->sums >> call->sums & 1u))
        refused = "does not have these sums";
    else if (listed && !tiles)
        refused = "takes no lambdas by position in the list";
    else if (listed && call->far)
        refused = "takes no lambdas by position where codes are in the host's memory";
    else if (call->zero_skip && tiles)
        refused = "cannot skip the frequent code";
    else if (call->most_docs && (!tiles || call->far))
        refused = "needs the exact sizes of nodes";
    else if (!there)
        refused = tiles ? "needs codes by tiles" : "needs codes by columns";
    else if (!tiles && has_far_codes)
        refused = "needs all codes in the GPU's memory";
    else if (!call->far && has_far_codes)
        refused = "was given nothing to read the host's memory with";
    if (refused)
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "histogram method '%s' %s", method->name, refused);
    if (method->scratch_bytes(call) > 0 && !call->d_scratch)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "histogram: scratch is missing");
    return RW_OK;
}

int rw_hist_run(struct rw_ctx *ctx, const struct rw_hist_method *method,
                const struct rw_hist_call *call, void *stream)
{
    RW_TRY(rw_hist_check(ctx, method, call));
    RW_CU(ctx, method->run(call, stream));
    return RW_OK;
}

int rw_hist_method_named(struct rw_ctx *ctx, const char *name, const struct rw_hist_method **out)
{
    static const char *const in_lab[] = {"collision-free", "collision-reduced", "privatized",
                                         "sort-search"};
    const char *names[RW_HIST_MOST_CANDIDATES];
    int n = 0;
    *out = NULL;
    if (!name)
        return RW_OK;
    for (size_t i = 0; i < sizeof(in_lab) / sizeof(in_lab[0]); i++) {
        if (strcmp(name, in_lab[i]) == 0)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "histogram method '%s' is measured in the laboratory and not used for "
                           "training; auto chooses one",
                           name);
    }
    for (; n < RW_HIST_MOST_CANDIDATES && rw_hist_method_at(n); n++) {
        names[n] = methods[n]->name;
        if (strcmp(name, names[n]) == 0) {
            *out = methods[n];
            return RW_OK;
        }
    }
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "unknown histogram method '%.100s'; the nearest is '%s'; auto chooses one", name,
                   rw_word_nearest_always(name, names, n));
}

/* A call to be timed, with the method that runs it. */
struct timed {
    const struct rw_device *device;
    const struct rw_hist_method *method;
    struct rw_hist_call call;
};

static int run_timed(void *user)
{
    struct timed *timed = user;
    return rw_hist_run(timed->device->ctx, timed->method, &timed->call, timed->device->stream);
}

/* Fills the times of the contestants. They run in turns, since other programs or a profiler may use
 * the GPU at the same time. */
static int time_in_turns(const struct rw_device *device, const struct rw_hist_call *call,
                         struct rw_hist_timing *timing, int n)
{
    for (int run = 0; run < RW_TUNE_HYBRID_TURNS * n; run++) {
        struct rw_hist_timing *contestant = &timing[run % n];
        struct timed timed = {device, contestant->method, *call};
        double ms;
        timed.call.zero_skip = contestant->zero_skip;
        RW_TRY(rw_device_time_once(device, run_timed, &timed, &ms));
        contestant->ms = fmin(contestant->ms, ms);
    }
    return RW_OK;
}

/* Times all contestants that can take the call, and chooses one of them. */
static int time_all(const struct rw_device *device, const struct rw_hist_call *call,
                    const struct rw_hist_candidates *candidates, struct rw_hist_choice *out)
{
    int refused = RW_OK;
    out->how = RW_HIST_BY_TIMING;
    for (int i = 0; i < candidates->n; i++) {
        const struct rw_hist_method *method = candidates->method[i];
        const int can_skip = !method->reads_tiles && call->d_frequent;
        for (int skip = 0; skip <= can_skip; skip++) {
            struct rw_hist_call one = *call;
            one.zero_skip = skip;
            const int status = rw_hist_check(device->ctx, method, &one);
            if (status < 0)
                refused = status;
            else
                out->timing[out->n_timings++] =
                    (struct rw_hist_timing){method, skip, .ms = INFINITY};
        }
    }
    if (out->n_timings == 0)
        return refused;
    RW_TRY(time_in_turns(device, call, out->timing, out->n_timings));
    const struct rw_hist_timing *pick =
        rw_hist_pick(out->timing, out->n_timings, candidates->favourite,
                     rw_hist_expected_ms(call, rw_device_bandwidth(device)));
    out->method = pick->method;
    out->zero_skip = pick->zero_skip;
    return RW_OK;
}

int rw_hist_choose(const struct rw_device *device, const struct rw_hist_call *call,
                   const struct rw_hist_candidates *candidates, struct rw_hist_choice *out)
{
    const double start = rw_clock_ms();
    memset(out, 0, sizeof(*out));
    struct rw_hist_call plain = *call;
    plain.zero_skip = 0;
    /* `lanes` is first in the table, so it is the first candidate if it is one at all */
    const int by_rule =
        candidates->method[0] == &rw_hist_lanes && call->matrix->n_bins <= RW_TUNE_HYBRID_FEW_LANES;
    if (by_rule && rw_hist_check(device->ctx, &rw_hist_lanes, &plain) >= 0) {
        out->method = &rw_hist_lanes;
        out->how = RW_HIST_BY_RULE;
        RW_TRY(rw_hist_run(device->ctx, out->method, &plain, device->stream));
    } else {
        RW_TRY(time_all(device, call, candidates, out));
    }
    out->choosing_ms = rw_clock_ms() - start;
    return RW_OK;
}

void rw_hist_choice_text(const struct rw_hist_choice *choice, const struct rw_hist_matrix *matrix,
                         char *buffer, size_t size)
{
    static const char *const how[] = {"by rule", "timed", "as asked"};
    size_t at = (size_t)snprintf(buffer, size, "histograms: %u features of %d-bit codes: %s%s (%s",
                                 matrix->n_features, matrix->bits, choice->method->name,
                                 choice->zero_skip ? " zero-skip" : "", how[choice->how]);
    if (choice->n_timings && at < size)
        at += (size_t)snprintf(buffer + at, size - at, " in %.1f ms; ms:", choice->choosing_ms);
    for (int i = 0; i < choice->n_timings && at < size; i++)
        at += (size_t)snprintf(
            buffer + at, size - at, "%s %s%s %.3f", i ? "," : "", choice->timing[i].method->name,
            choice->timing[i].zero_skip ? " zero-skip" : "", choice->timing[i].ms);
    if (at < size)
        snprintf(buffer + at, size - at, ")");
}

double rw_hist_expected_ms(const struct rw_hist_call *call, double bandwidth)
{
    const struct rw_hist_matrix *matrix = call->matrix;
    const int newton = call->sums == RW_HIST_NEWTON;
    double doc_bytes = newton ? 8.0 : 4.0;
    if (call->d_list && call->by_position)
        doc_bytes = (double)rw_moved_bytes(rw_moved_of(newton, call->largest));
    if (call->d_list)
        doc_bytes += 4.0;
    const double cell_bytes = newton ? 20.0 : 12.0;
    const double bytes =
        (double)rw_hist_docs(call) * (doc_bytes + matrix->n_features * matrix->bits / 8.0) +
        (double)rw_hist_matrix_cells(matrix) * call->n_nodes * cell_bytes;
    return bytes / bandwidth * 1e3 + RW_TUNE_HYBRID_LAUNCH_MS;
}

const struct rw_hist_timing *rw_hist_pick(const struct rw_hist_timing *timing, int n,
                                          const struct rw_hist_method *favourite,
                                          double expected_ms)
{
    const struct rw_hist_timing *best = timing, *favoured = NULL;
    for (int i = 0; i < n; i++) {
        if (timing[i].ms < best->ms)
            best = &timing[i];
        if (timing[i].method == favourite && (!favoured || timing[i].ms < favoured->ms))
            favoured = &timing[i];
    }
    if (!favoured)
        return best;
    return favoured->ms <= RW_TUNE_HYBRID_BELIEVED * expected_ms &&
                   best->ms <= RW_TUNE_HYBRID_FAVOUR * favoured->ms
               ? best
               : favoured;
}

/* Adds tiles of `bits` for features [*first, n). If the last tile has room, it also gets features
 * from n on. *first becomes the first feature without a tile. */
static int add_tiles(struct rw_ctx *ctx, struct rw_hist_matrix *m, int bits, uint32_t *first,
                     uint32_t n)
{
    const uint32_t n_codes = bits == 16 ? 1 : 32 / (uint32_t)bits, most = bits == m->bits ? 32 : 16;
    while (*first < n) {
        const uint32_t left = (n - *first + n_codes - 1) / n_codes, rest = m->n_features - *first;
        uint32_t lanes = most;
        while (lanes > left)
            lanes /= 2;
        /* A tile with up to a quarter of its lanes empty is better than two tiles, since each tile
         * has a separate row to read for every document. */
        if (lanes < most && left > lanes && left >= lanes + (lanes + 1) / 2)
            lanes *= 2;
        if (m->n_tiles == RW_HIST_MAX_TILES)
            return rw_fail(ctx, RW_ERR_UNSUPPORTED, "%u features of %d bits; expected at most %u",
                           m->n_features, m->bits,
                           RW_HIST_MAX_TILES * 32 * (m->bits == 16 ? 1 : 32 / (uint32_t)m->bits));
        struct rw_hist_tile *tile = &m->tile[m->n_tiles++];
        tile->bits = bits;
        tile->first_feature = *first;
        tile->lanes = lanes;
        tile->n_features = rest < lanes * n_codes ? rest : lanes * n_codes;
        *first += tile->n_features;
    }
    return RW_OK;
}

int rw_hist_matrix_plan(struct rw_ctx *ctx, const struct rw_hist_matrix_spec *spec,
                        struct rw_hist_matrix **out)
{
    const uint64_t words = ((uint64_t)spec->n_docs * (uint32_t)spec->bits + 31) / 32;
    const uint32_t n_narrow = spec->bits == 8 ? spec->n_narrow : 0;
    uint32_t first = 0;
    RW_TRY(RW_NEW(ctx, *out, 1));
    struct rw_hist_matrix *matrix = *out;
    matrix->bits = spec->bits;
    matrix->n_features = spec->n_features;
    matrix->n_docs = spec->n_docs;
    matrix->n_bins = spec->n_bins;
    if (spec->layouts & RW_HIST_COLUMNS)
        matrix->column_words = (words + 31) / 32 * 32;
    if (!(spec->layouts & RW_HIST_TILES))
        return RW_OK;
    RW_TRY(add_tiles(ctx, matrix, spec->bits, &first, spec->n_features - n_narrow));
    return add_tiles(ctx, matrix, 4, &first, spec->n_features);
}

void rw_hist_matrix_free(struct rw_hist_matrix *matrix)
{
    if (!matrix)
        return;
    for (uint32_t t = 0; t < matrix->n_tiles; t++) {
        rw_device_free((void *)(uintptr_t)matrix->tile[t].d_word);
        rw_transfer_pinned_free((void *)(uintptr_t)matrix->tile[t].far_word);
    }
    rw_device_free((void *)(uintptr_t)matrix->d_column);
    rw_mem_free(matrix);
}

/* ---- codes in host memory ---- */
static uint32_t windows_of(uint32_t n_docs, int log_window)
{
    return (uint32_t)((n_docs + ((uint64_t)1 << log_window) - 1) >> log_window);
}

/* Returns the words of far->table (rw_lanes_order): three for each run of struct lanes_order, five
 * for each node, and one at the end of `start`. The documents on the device are one more window. */
static uint64_t table_words(uint32_t n_windows)
{
    return (3 * ((uint64_t)n_windows + 1) + 5) * RW_HIST_MAX_NODES + 1;
}

uint64_t rw_hist_far_bytes(uint64_t piece_bytes, uint32_t n_docs, int log_window)
{
    return 2 * rw_hist_round_up(piece_bytes) +
           rw_hist_round_up((uint64_t)n_docs * sizeof(uint32_t)) +
           rw_hist_round_up(table_words(windows_of(n_docs, log_window)) * sizeof(uint32_t));
}

/* The stream has priority over others, since histograms wait for the pieces that it fills. */
int rw_hist_far_open(struct rw_ctx *ctx, void *d_memory, uint64_t piece_bytes, uint32_t n_docs,
                     int log_window, uint64_t *bytes, struct rw_hist_far *out)
{
    const uint64_t piece = rw_hist_round_up(piece_bytes);
    const uint64_t order = rw_hist_round_up((uint64_t)n_docs * sizeof(uint32_t));
    const uint32_t n_windows = windows_of(n_docs, log_window);
    char *const d = d_memory;
    *out = (struct rw_hist_far){.d_piece = {d, d + piece},
                                .piece_bytes = piece_bytes,
                                .log_window = log_window,
                                .n_windows = n_windows,
                                .d_order = (uint32_t *)(void *)(d + 2 * piece),
                                .d_table = (uint32_t *)(void *)(d + 2 * piece + order),
                                .table_words = table_words(n_windows),
                                .bytes = bytes};
    RW_TRY(
        rw_transfer_pinned_in(ctx, &out->arena, &out->table, out->table_words * sizeof(uint32_t)));
    RW_TRY(rw_device_stream(ctx, &out->arena, 1, &out->stream));
    for (size_t i = 0; i < sizeof(out->event) / sizeof(out->event[0]); i++)
        RW_TRY(rw_device_event(ctx, &out->arena, 0, &out->event[i]));
    return RW_OK;
}

void rw_hist_far_close(struct rw_hist_far *far)
{
    if (far->stream)
        RW_CU_MAY_FAIL(cudaStreamSynchronize(far->stream));
    rw_arena_free(&far->arena);
    memset(far, 0, sizeof(*far));
}
