/* Calls that tell how far they are, and end when the caller wants no more. */
#include <pthread.h>

#include "model_looks.h"
#include "base/ctx.h"
#include "scratch_file.h"

TestSuite(poll, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

/* ---- loops ---- */

enum { ITEMS = 800 };

struct items {
    _Atomic int n_done;
    struct rw_ctx *ctx;
    int n_polls, n_before; /* number of polls that let the loop continue */
    pthread_t caller;
    struct rw_progress last;
};

static int do_some(void *user, struct rw_share *share)
{
    struct items *items = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        usleep(2000);
        items->n_done++;
        rw_share_poll(share, 3);
    }
    return RW_OK;
}

static int poll_some(void *user, const struct rw_progress *progress)
{
    struct items *items = user;
    cr_assert(pthread_equal(items->caller, pthread_self()), "only the calling thread asks");
    items->last = *progress;
    return ++items->n_polls > items->n_before;
}

static struct items items_of(int n_before)
{
    struct items items = {.n_before = n_before, .caller = pthread_self()};
    return items;
}

Test(poll, long_loops_end_and_others_are_completed)
{
    for (int n_threads = 1; n_threads <= 4; n_threads += 3) {
        struct items items = items_of(0);
        cr_assert_eq(rw_ctx_set_poll(scratch_ctx, poll_some, &items), RW_OK);
        cr_assert_eq(rw_parallel(scratch_ctx, n_threads, ITEMS, 1, do_some, &items),
                     RW_ERR_INTERRUPTED);
        cr_assert_str_eq(rw_last_error(scratch_ctx), "interrupted");
        cr_assert_eq(items.n_done, ITEMS, "all is done, then the status says it");
        /* and so is all that follows */
        cr_assert_eq(rw_poll(scratch_ctx), RW_ERR_INTERRUPTED);
        items.n_done = 0;
        cr_assert_eq(rw_parallel_long(scratch_ctx, n_threads, ITEMS, 1, do_some, &items),
                     RW_ERR_INTERRUPTED);
        cr_assert_eq(items.n_done, 0);
        /* until it is set again */
        items = items_of(1);
        cr_assert_eq(rw_ctx_set_poll(scratch_ctx, poll_some, &items), RW_OK);
        const int counts = rw_stage_begin(scratch_ctx, "items", 3 * ITEMS, 1);
        cr_assert_eq(rw_stage_begin(scratch_ctx, "a part", 1, 1), 0);
        cr_assert_eq(rw_parallel_long(scratch_ctx, n_threads, ITEMS, 1, do_some, &items),
                     RW_ERR_INTERRUPTED);
        rw_stage_end(scratch_ctx, counts);
        cr_assert_gt(items.n_done, 0);
        cr_assert_lt(items.n_done, ITEMS);
        cr_assert_str_eq(items.last.stage, "items");
        cr_assert_eq(items.last.total, 3 * ITEMS);
        cr_assert(items.last.done > 0 && items.last.done <= 3 * (uint64_t)items.n_done);
    }
    cr_assert_eq(rw_ctx_set_poll(scratch_ctx, NULL, NULL), RW_OK);
    struct items all = items_of(0);
    cr_assert_eq(rw_parallel_long(scratch_ctx, 4, 8, 1, do_some, &all), RW_OK);
}

static int always(void *user)
{
    (void)user;
    return 1;
}

Test(poll, held_loops)
{
    struct items items = items_of(0);
    cr_assert_eq(rw_ctx_set_poll(scratch_ctx, poll_some, &items), RW_OK);
    cr_assert_eq(rw_poll_hold(scratch_ctx, NULL, NULL), RW_OK); /* nothing ends early */
    cr_assert_eq(rw_parallel_long(scratch_ctx, 2, ITEMS, 1, do_some, &items), RW_OK);
    cr_assert_eq(items.n_done, ITEMS);
    cr_assert(rw_poll_is_stopped(scratch_ctx), "but it is known");
    cr_assert_eq(rw_poll(scratch_ctx), RW_OK);
    rw_poll_release(scratch_ctx);
    cr_assert_eq(rw_ctx_set_poll(scratch_ctx, NULL, NULL), RW_OK);
    cr_assert_eq(rw_poll_hold(scratch_ctx, always, NULL), RW_OK);
    items.n_done = 0;
    cr_assert_eq(rw_parallel(scratch_ctx, 2, ITEMS, 1, do_some, &items), RW_OK);
    cr_assert_eq(items.n_done, ITEMS);
    cr_assert_eq(rw_parallel_long(scratch_ctx, 2, ITEMS, 1, do_some, &items), RW_ERR_INTERRUPTED);
    rw_poll_release(scratch_ctx);
    items.n_done = 0;
    cr_assert_eq(rw_parallel_long(scratch_ctx, 2, 8, 1, do_some, &items), RW_OK);
}

/* ---- trainings ---- */

/* Queries of 20 documents, and one of n. */
static struct rw_dataset *one_long_query(uint32_t n)
{
    struct rw_dataset *dataset;
    FILE *file = fopen("data", "w");
    cr_assert_not_null(file);
    for (uint32_t i = 0; i < 400 + n; i++)
        fprintf(file, "%u qid:%u 1:%u 2:%u\n", i * 7 % 5, i < 400 ? i / 20 : 20, i * 37 % 101,
                i * 11 % 83);
    fclose(file);
    const char *const paths[] = {"data"};
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &dataset), RW_OK);
    return dataset;
}

static void set(struct rw_params *params, const char *name, const char *value)
{
    cr_assert_eq(rw_params_set(scratch_ctx, params, name, value), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
}

struct rounds {
    int n_rounds, n_asked_in, stop_in; /* the round in which it stops */
};

static int on_round(void *user, const struct rw_round *round)
{
    struct rounds *rounds = user;
    rounds->n_rounds = round->round;
    rounds->n_asked_in = 0;
    return 0;
}

/* At the end of a round, and then within the next one. */
static int should_stop(void *user)
{
    struct rounds *rounds = user;
    return rounds->n_asked_in++ > 0 && rounds->n_rounds == rounds->stop_in;
}

Test(poll, a_round_of_many_pairs)
{
    struct rw_params *params;
    struct rw_model *model, *expected;
    struct rw_dataset *dataset = one_long_query(20000);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    set(params, "pairs", "all");
    set(params, "rounds", "3");
    set(params, "leaves", "4");
    set(params, "threads", "2");
    for (int stop_in = 0; stop_in < 2; stop_in++) {
        struct rounds rounds = {.stop_in = stop_in, .n_asked_in = 0};
        const struct rw_train_hooks hooks = {
            .user = &rounds, .on_round = on_round, .should_stop = should_stop};
        scratch_log[0] = 0;
        const int status = rw_train(scratch_ctx, params, dataset, NULL, 0, &hooks, &model);
        cr_assert_not_null(strstr(scratch_log,
                                  "a round has 200.0 million pairs of documents, 100 % "
                                  "of them in the query of 20000 documents: about "),
                           "%s", scratch_log);
        cr_assert_eq(rounds.n_rounds, stop_in, "ended within the round after it");
        if (stop_in == 0) {
            cr_assert_eq(status, RW_ERR_INTERRUPTED);
            cr_assert_str_eq(rw_last_error(scratch_ctx),
                             "interrupted in the first round: there is no model");
            continue;
        }
        cr_assert_eq(status, RW_OK);
        cr_assert_eq(rw_model_n_trees(model), 1);
        cr_assert_not(is_finished(model));
    }
    /* what there is until then is the same */
    set(params, "rounds", "1");
    cr_assert_eq(rw_train(scratch_ctx, params, dataset, NULL, 0, NULL, &expected), RW_OK);
    double *scores = calloc(2 * 20400, sizeof(*scores));
    cr_assert_eq(rw_predict(scratch_ctx, model, dataset, 0, scores), RW_OK);
    cr_assert_eq(rw_predict(scratch_ctx, expected, dataset, 0, scores + 20400), RW_OK);
    cr_assert_eq(memcmp(scores, scores + 20400, 20400 * sizeof(*scores)), 0);
    free(scores);
    rw_model_free(model);
    rw_model_free(expected);
    rw_params_free(params);
    rw_dataset_free(dataset);
}

/* ---- cross-validation ---- */

struct seen {
    uint64_t done, total;
    int n_polls, n_before;
};

static int watch(void *user, const struct rw_progress *progress)
{
    struct seen *seen = user;
    if (progress->stage && strcmp(progress->stage, "cross-validation") == 0) {
        cr_assert_geq(progress->done, seen->done);
        cr_assert_leq(progress->done, progress->total);
        seen->done = progress->done;
        seen->total = progress->total;
        seen->n_polls++;
    }
    return seen->n_polls > seen->n_before;
}

Test(poll, cross_validation)
{
    struct rw_params *params;
    struct rw_cv *cv;
    struct rw_dataset *dataset = one_long_query(20);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    set(params, "rounds", "1000000");
    set(params, "early-stop", "0");
    set(params, "leaves", "4");
    for (int n_threads = 1; n_threads <= 3; n_threads += 2) {
        struct seen seen = {.n_before = 3};
        char number[8];
        snprintf(number, sizeof(number), "%d", n_threads);
        set(params, "threads", number);
        cr_assert_eq(rw_ctx_set_poll(scratch_ctx, watch, &seen), RW_OK);
        cr_assert_eq(rw_cross_validate(scratch_ctx, params, dataset, 3, &cv), RW_ERR_INTERRUPTED);
        cr_assert_str_eq(rw_last_error(scratch_ctx), "interrupted");
        cr_assert_null(cv);
        cr_assert(seen.done > 0 && seen.total == 3000000);
    }
    rw_params_free(params);
    rw_dataset_free(dataset);
}
