/* `hybrid`: which method builds the histograms of a feature group (Xu et al., "Efficient weighted
 * histogramming on GPUs with CUDA", section 4.5).
 *
 * Few bins by rule; otherwise the methods that can take the call are timed on it, with and without
 * zero-skip where they declare it, and the fastest is kept (hist_trial.h); one that is not the
 * favourite is looked at again later. All methods give the same integers, so the choice never
 * changes a model.
 *
 * The rule: a group of at most RW_TUNE_HYBRID_FEW_LANES codes takes `lanes`; without `lanes` among
 * the candidates, one of at most RW_TUNE_HYBRID_FEW_FREE codes takes `collision-free`, as the
 * document does. */
#ifndef RW_GPU_HIST_HYBRID_H
#define RW_GPU_HIST_HYBRID_H

#include "gpu/device/device.h"
#include "gpu/hist/hist_trial.h"

enum { RW_HIST_MOST_CANDIDATES = 32 };

struct rw_hist_candidates {
    int n;
    const struct rw_hist_method *method[RW_HIST_MOST_CANDIDATES];
    /* Of many small nodes, of which a timed root says little, it is the best known: another must
     * take less than RW_TUNE_HYBRID_FAVOUR of its time. NULL: none. */
    const struct rw_hist_method *favourite;
};

struct rw_hist_choice {
    const struct rw_hist_method *method;
    int zero_skip;
    enum rw_hist_chosen { RW_HIST_BY_RULE, RW_HIST_BY_TIMING, RW_HIST_FORCED } how;
    double choosing_ms; /* what the choice cost */
    int n_timings;
    struct rw_hist_timing timing[2 * RW_HIST_MOST_CANDIDATES]; /* [n_timings] as they were run */
};

/* The method of that name; RW_ERR_ARGUMENT with the nearest name if there is none. */
int rw_hist_method_named(struct rw_ctx *ctx, const char *name, const struct rw_hist_method **out);

/* Which methods of the table training chooses from: all that have a word to say in it. */
void rw_hist_candidates_of_training(struct rw_hist_candidates *out);

/* The candidate that the rule gives a group of n_bins codes; NULL: they are to be timed. Timing is
 * also what happens to a call that the rule's method cannot take. */
const struct rw_hist_method *rw_hist_rule(const struct rw_hist_candidates *candidates,
                                          uint32_t n_bins);

/* Chooses for calls like this one, which is run, so that its results are written. Zero-skip is
 * tried where the call has d_frequent; the call's own zero_skip is not looked at. Waits for the
 * device. RW_ERR_UNSUPPORTED if no candidate can take the call, with the last one's reason. */
int rw_hist_choose(struct rw_ctx *ctx, const struct rw_device *device,
                   const struct rw_hist_call *call, const struct rw_hist_candidates *candidates,
                   struct rw_hist_choice *out);
/* Chooses again, between what was chosen and the favourite. Returns 1 if the choice is another one
 * then, 0 if it stays. The call is run as by rw_hist_choose. */
int rw_hist_choose_again(struct rw_ctx *ctx, const struct rw_device *device,
                         const struct rw_hist_call *call,
                         const struct rw_hist_candidates *candidates,
                         struct rw_hist_choice *choice);
/* The choice that the user made. RW_ERR_UNSUPPORTED with the method's limit if it cannot take the
 * call. */
int rw_hist_force(struct rw_ctx *ctx, const struct rw_hist_call *call,
                  const struct rw_hist_method *method, struct rw_hist_choice *out);

/* One line: "136 features of 8-bit codes: lanes (timed in 12.1 ms; ms: lanes 0.213, collision 3.2,
 * collision zero-skip 2.1)". Cut to `size`. */
void rw_hist_choice_text(const struct rw_hist_choice *choice, const struct rw_hist_matrix *matrix,
                         char *buffer, size_t size);
#endif
