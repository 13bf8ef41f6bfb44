#include "gpu/hist/hist_hybrid.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/words.h"
#include "gpu/device/tuning.h"
#include "rankwood.h"

int rw_hist_method_named(struct rw_ctx *ctx, const char *name, const struct rw_hist_method **out)
{
    const char *names[RW_HIST_MOST_CANDIDATES];
    int n = 0;
    *out = rw_hist_method_find(name);
    if (*out)
        return RW_OK;
    for (; n < RW_HIST_MOST_CANDIDATES && rw_hist_method_at(n); n++)
        names[n] = rw_hist_method_at(n)->name;
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "unknown histogram method '%.100s'; the nearest is '%s'; auto chooses one", name,
                   rw_word_nearest_always(name, names, n));
}

void rw_hist_candidates_of_training(struct rw_hist_candidates *out)
{
    out->n = 0;
    out->favourite = &rw_hist_lanes;
    for (int i = 0; rw_hist_method_at(i) && out->n < RW_HIST_MOST_CANDIDATES; i++) {
        const struct rw_hist_method *method = rw_hist_method_at(i);
        const unsigned sums = 1u << RW_HIST_MART | 1u << RW_HIST_NEWTON;
        if ((method->sums & sums) && !method->is_baseline)
            out->method[out->n++] = method;
    }
}

static const struct rw_hist_method *among(const struct rw_hist_candidates *candidates,
                                          const struct rw_hist_method *method)
{
    for (int i = 0; i < candidates->n; i++) {
        if (candidates->method[i] == method)
            return method;
    }
    return NULL;
}

const struct rw_hist_method *rw_hist_rule(const struct rw_hist_candidates *candidates,
                                          uint32_t n_bins)
{
    if (among(candidates, &rw_hist_lanes))
        return n_bins <= RW_TUNE_HYBRID_FEW_LANES ? &rw_hist_lanes : NULL;
    return n_bins <= RW_TUNE_HYBRID_FEW_FREE ? among(candidates, &rw_hist_collision_free) : NULL;
}

/* The call with zero-skip on or off. */
static struct rw_hist_call with_skip(const struct rw_hist_call *call, int zero_skip)
{
    struct rw_hist_call out = *call;
    out.zero_skip = zero_skip;
    return out;
}

static int can_skip(const struct rw_hist_method *method, const struct rw_hist_call *call)
{
    return method->zero_skip && call->d_frequent;
}

struct timed {
    struct rw_ctx *ctx;
    const struct rw_device *device;
    const struct rw_hist_method *method;
    struct rw_hist_call call;
};

static int run_timed(void *user)
{
    struct timed *timed = user;
    return rw_hist_run(timed->ctx, timed->method, &timed->call, timed->device->stream);
}

static int time_once(void *user, const struct rw_hist_timing *contestant, double *ms)
{
    struct timed *timed = user, one = *timed;
    one.method = contestant->method;
    one.call.zero_skip = contestant->zero_skip;
    return rw_device_time_once(one.ctx, one.device, run_timed, &one, ms);
}

/* By times of the choice's contestants. */
static int choose_among(struct rw_ctx *ctx, const struct rw_device *device,
                        const struct rw_hist_call *call, const struct rw_hist_method *favourite,
                        struct rw_hist_choice *out)
{
    struct timed timed = {ctx, device, NULL, *call};
    const double expected_ms = rw_hist_expected_ms(call, rw_device_bandwidth(device));
    RW_TRY(rw_hist_time_in_turns(out->timing, out->n_timings, favourite, time_once, &timed));
    const struct rw_hist_timing *pick =
        rw_hist_pick(out->timing, out->n_timings, favourite, expected_ms);
    out->method = pick->method;
    out->zero_skip = pick->zero_skip;
    return RW_OK;
}

static int time_all(struct rw_ctx *ctx, const struct rw_device *device,
                    const struct rw_hist_call *call, const struct rw_hist_candidates *candidates,
                    struct rw_hist_choice *out)
{
    int refused = RW_OK;
    out->how = RW_HIST_BY_TIMING;
    for (int i = 0; i < candidates->n; i++) {
        const struct rw_hist_method *method = candidates->method[i];
        for (int skip = 0; skip <= can_skip(method, call); skip++) {
            const struct rw_hist_call one = with_skip(call, skip);
            const int status = rw_hist_check(ctx, method, &one);
            if (status < 0)
                refused = status;
            else
                out->timing[out->n_timings++] =
                    (struct rw_hist_timing){.method = method, .zero_skip = skip};
        }
    }
    if (out->n_timings == 0)
        return refused < 0 ? refused
                           : rw_fail(ctx, RW_ERR_ARGUMENT, "no histogram method to choose from");
    return choose_among(ctx, device, call, candidates->favourite, out);
}

int rw_hist_choose_again(struct rw_ctx *ctx, const struct rw_device *device,
                         const struct rw_hist_call *call,
                         const struct rw_hist_candidates *candidates, struct rw_hist_choice *choice)
{
    const double start = rw_clock_ms();
    const struct rw_hist_method *before = choice->method, *favourite = candidates->favourite;
    const int before_skip = choice->zero_skip;
    int n = 0;
    if (choice->how != RW_HIST_BY_TIMING || before == favourite)
        return 0;
    for (int i = 0; i < choice->n_timings; i++) {
        const struct rw_hist_timing *timing = &choice->timing[i];
        if (timing->method == favourite ||
            (timing->method == before && timing->zero_skip == before_skip))
            choice->timing[n++] = *timing;
    }
    choice->n_timings = n;
    RW_TRY(choose_among(ctx, device, call, favourite, choice));
    choice->choosing_ms = rw_clock_ms() - start;
    return choice->method != before;
}

int rw_hist_choose(struct rw_ctx *ctx, const struct rw_device *device,
                   const struct rw_hist_call *call, const struct rw_hist_candidates *candidates,
                   struct rw_hist_choice *out)
{
    const double start = rw_clock_ms();
    memset(out, 0, sizeof(*out));
    const struct rw_hist_method *rule = rw_hist_rule(candidates, call->matrix->n_bins);
    const struct rw_hist_call plain = with_skip(call, 0);
    if (rule && rw_hist_check(ctx, rule, &plain) >= 0) {
        out->method = rule;
        out->how = RW_HIST_BY_RULE;
        RW_TRY(rw_hist_run(ctx, rule, &plain, device->stream));
    } else {
        RW_TRY(time_all(ctx, device, call, candidates, out));
    }
    out->choosing_ms = rw_clock_ms() - start;
    return RW_OK;
}

int rw_hist_force(struct rw_ctx *ctx, const struct rw_hist_call *call,
                  const struct rw_hist_method *method, struct rw_hist_choice *out)
{
    const struct rw_hist_call plain = with_skip(call, 0);
    memset(out, 0, sizeof(*out));
    RW_TRY(rw_hist_check(ctx, method, &plain));
    out->method = method;
    out->how = RW_HIST_FORCED;
    return RW_OK;
}

void rw_hist_choice_text(const struct rw_hist_choice *choice, const struct rw_hist_matrix *matrix,
                         char *buffer, size_t size)
{
    static const char *const how[] = {"by rule", "timed", "as asked"};
    size_t at = (size_t)snprintf(buffer, size, "%u features of %d-bit codes: %s%s (%s",
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
