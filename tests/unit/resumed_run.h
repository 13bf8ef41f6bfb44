/* Trainings that leave checkpoints and resume from them, for their tests. */
#pragma once

#include <math.h>
#include <sys/stat.h>

#include "train/train.h"
#include "scratch_file.h"
#include "train_fixture.h"

enum { MOST = 64 }; /* rounds */

static struct rw_params *params;
static struct rw_dataset *train, *valid;

static inline void setup(void)
{
    scratch_begin();
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    train = fixture_data(scratch_ctx, 1, 30, 12, 5);
    valid = fixture_data(scratch_ctx, 2, 12, 12, 5);
}

static inline void teardown(void)
{
    rw_dataset_free(train);
    rw_dataset_free(valid);
    rw_params_free(params);
    scratch_end();
}

/* "leaves 6 rounds 8": names and values. */
static inline void set(const char *text)
{
    char copy[512], *rest;
    snprintf(copy, sizeof(copy), "%s", text);
    for (char *name = strtok_r(copy, " ", &rest); name; name = strtok_r(NULL, " ", &rest))
        cr_assert_eq(rw_params_set(scratch_ctx, params, name, strtok_r(NULL, " ", &rest)), RW_OK,
                     "%s", rw_last_error(scratch_ctx));
}

/* One training of a test. */
struct run {
    struct rw_checkpoints checkpoints;
    const struct rw_model *init;
    const struct rw_dataset *train; /* NULL: the fixture's */
    int n_valid;
    int stop_after, end_after, fail_after; /* a round; 0: never */
    int custom;
    int tires;                 /* custom: learns nothing more once a score is far enough from 0 */
    int rounds, resumed_round; /* seen */
    char note[64];
    char metric_name[64];   /* the first one */
    double value[MOST + 1]; /* of it, by round */
};

static inline int on_round(void *user, const struct rw_round *round)
{
    struct run *run = user;
    cr_assert_eq(round->round, run->rounds + 1, "a round is missing, or there twice");
    run->rounds = round->round;
    if (round->n_metrics > 0) {
        snprintf(run->metric_name, sizeof(run->metric_name), "%s", round->metrics[0].name);
        run->value[round->round] = round->metrics[0].value;
    }
    return round->round == run->end_after;
}

static inline int should_stop(void *user)
{
    const struct run *run = user;
    return run->rounds == run->stop_after;
}

static inline const char *note(void *user)
{
    struct run *run = user;
    snprintf(run->note, sizeof(run->note), "after %d", run->rounds);
    return run->note;
}

static inline void on_resume(void *user, const struct rw_resumed *resumed)
{
    struct run *run = user;
    char expected[64];
    run->rounds = run->resumed_round = resumed->round;
    snprintf(expected, sizeof(expected), "after %d", resumed->round);
    cr_assert_str_eq(resumed->note, expected);
    if (resumed->n_metrics > 0 && *run->metric_name) { /* it was measured here */
        const double last = resumed->values[(resumed->round - 1) * resumed->n_metrics];
        cr_assert_str_eq(resumed->metrics[0].name, run->metric_name);
        cr_assert_float_eq(last, run->value[resumed->round], 0.0);
    }
}

static inline int gradients(void *user, const struct rw_dataset *dataset, const double *scores,
                            double *gradient, double *hessian)
{
    const struct run *run = user;
    for (uint32_t i = 0; i < dataset->n_docs; i++) {
        gradient[i] = (double)dataset->label[i] - scores[i];
        hessian[i] = 1.0;
    }
    for (uint32_t i = 0; run->tires && i < dataset->n_docs && gradient[0] != 0.0; i++) {
        if (fabs(scores[i]) > 0.25)
            memset(gradient, 0, dataset->n_docs * sizeof(*gradient));
    }
    return run->fail_after > 0 && run->rounds == run->fail_after;
}

static inline int metric(void *user, const struct rw_dataset *dataset, const double *scores,
                         double *value)
{
    (void)user;
    *value = 0.0;
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        *value -= fabs((double)dataset->label[i] - scores[i]);
    return 0;
}

static inline int try_run(struct run *run, struct rw_model **out)
{
    const struct rw_dataset *sets[] = {valid};
    const struct rw_train_hooks hooks = {.user = run,
                                         .on_round = on_round,
                                         .should_stop = should_stop,
                                         .gradients = run->custom ? gradients : NULL,
                                         .metric = run->custom ? metric : NULL,
                                         .metric_name = "own",
                                         .checkpoints = &run->checkpoints};
    run->checkpoints.note = note;
    run->checkpoints.on_resume = on_resume;
    run->rounds = run->init ? rw_model_n_trees(run->init) : 0;
    scratch_log[0] = 0;
    return rw_train_on(scratch_ctx, params,
                       &(struct rw_training){.train = run->train ? run->train : train,
                                             .init = run->init,
                                             .valid = sets,
                                             .n_valid = run->n_valid,
                                             .hooks = &hooks},
                       out);
}

static inline struct rw_model *done(struct run *run)
{
    struct rw_model *model;
    cr_assert_eq(try_run(run, &model), RW_OK, "%s", rw_last_error(scratch_ctx));
    return model;
}

static inline void assert_same_bytes(struct rw_model *a, struct rw_model *b, const char *format,
                                     ...)
{
    char *text[2], what[256];
    size_t n[2];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    cr_assert_eq(rw_model_write_memory(scratch_ctx, a, &text[0], &n[0]), RW_OK);
    cr_assert_eq(rw_model_write_memory(scratch_ctx, b, &text[1], &n[1]), RW_OK);
    cr_assert(n[0] == n[1] && memcmp(text[0], text[1], n[0]) == 0, "%s: another model", what);
    rw_free(text[0]);
    rw_free(text[1]);
}

/* A checkpoint of a training of `rounds` rounds. */
static inline void leave(const char *rounds, struct run run)
{
    run.checkpoints.path = "ck";
    rw_params_set(scratch_ctx, params, "rounds", rounds);
    rw_model_free(done(&run));
}

static inline struct rw_model *made_init(void)
{
    set("leaves 4 min-docs 5 rounds 3 early-stop 0 seed 5");
    struct run run = {.n_valid = 1};
    struct rw_model *init = done(&run);
    set("leaves 6 rounds 5 early-stop 100 seed 1");
    return init;
}
