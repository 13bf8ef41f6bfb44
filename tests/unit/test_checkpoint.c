/* Training interrupted after each round and resumed: the model is identical to that of an
 * uninterrupted training. */
#include <sys/stat.h>

#include "model_looks.h"
#include "base/mem.h"
#include "resumed_run.h"

TestSuite(checkpoint, .init = setup, .fini = teardown, .timeout = 120);

/* As `whole` says, ended after each round, and resumed on another device. */
static void resume_everywhere(const struct run *whole, const char *what)
{
    static const char *const devices[] = {"cpu", "ref", "sim"};
    struct run run = *whole;
    struct rw_model *expected = done(&run);
    const int first = whole->init ? rw_model_n_trees(whole->init) : 0, n_rounds = run.rounds;
    cr_assert_geq(n_rounds, first + 2, "%s: nothing to be ended", what);
    for (int round = first + 1; round < n_rounds; round++) {
        struct rw_model *part, *model;
        run = *whole;
        run.stop_after = round;
        run.checkpoints.path = "ck";
        set("device cpu threads 2");
        part = done(&run);
        cr_assert(!is_finished(part));
        run.checkpoints = (struct rw_checkpoints){.resume = "ck"};
        run.stop_after = 0;
        rw_params_set(scratch_ctx, params, "device", devices[round % 3]);
        set("threads 1");
        model = done(&run);
        cr_assert_eq(run.resumed_round, round);
        cr_assert_eq(run.rounds, n_rounds);
        assert_same_bytes(model, expected, "%s, resumed after round %d", what, round);
        rw_model_free(part);
        rw_model_free(model);
    }
    rw_model_free(expected);
}

Test(checkpoint, early_stopping)
{
    set("leaves 6 min-docs 5 rounds 40 early-stop 3");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "early stopping");
}

Test(checkpoint, all_rounds_are_kept)
{
    set("leaves 6 min-docs 5 rounds 8 early-stop 0 metric rmse,map,ndcg@3 train-metric on");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "early-stop 0");
}

Test(checkpoint, nothing_measured)
{
    set("leaves 6 min-docs 5 rounds 6");
    const struct run run = {0};
    resume_everywhere(&run, "no validation set");
}

Test(checkpoint, samples_newton)
{
    set("leaves 6 min-docs 5 rounds 8 sample-queries 0.4 sample-features 0.5 split newton");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "samples");
}

Test(checkpoint, whole_levels)
{
    set("grow levels depth 3 min-docs 5 rounds 6");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "levels");
}

Test(checkpoint, symmetric)
{
    set("grow symmetric depth 4 min-docs 5 rounds 6 sample-features-node 0.5");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "symmetric");
}

Test(checkpoint, yetirank)
{
    set("objective yetirank leaves 6 min-docs 5 rounds 6");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "yetirank");
}

Test(checkpoint, regression)
{
    set("objective regression metric rmse leaves 6 min-docs 5 rounds 6");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "regression");
}

Test(checkpoint, xendcg)
{
    set("objective xendcg split newton leaves 6 min-docs 5 rounds 6");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "xendcg");
}

Test(checkpoint, own_gradients_and_metric)
{
    set("leaves 6 min-docs 5 rounds 6");
    const struct run run = {.n_valid = 1, .custom = 1};
    resume_everywhere(&run, "custom objective");
}

/* A sample of few features often has no feature that can be split. */
Test(checkpoint, empty_trees)
{
    set("leaves 6 min-docs 20 rounds 30 sample-queries 0.15 early-stop 0");
    struct run run = {.n_valid = 1};
    struct rw_model *model = done(&run);
    int n_empty = 0;
    for (int t = 0; t < rw_model_n_trees(model); t++)
        n_empty += n_leaves_of(model, t) == 1;
    cr_assert_gt(n_empty, 0);
    rw_model_free(model);
    run = (struct run){.n_valid = 1};
    resume_everywhere(&run, "empty trees");
}

/* So many in a row end a training, also if some of them were before it was resumed. */
Test(checkpoint, only_empty_trees)
{
    set("leaves 6 min-docs 5 rounds 100");
    struct run run = {.custom = 1, .tires = 1};
    struct rw_model *model = done(&run);
    cr_assert_gt(rw_model_n_trees(model), 0);
    cr_assert_eq(run.rounds, rw_model_n_trees(model) + 49);
    rw_model_free(model);
    run = (struct run){.custom = 1, .tires = 1};
    resume_everywhere(&run, "only empty trees");
}

Test(checkpoint, weights)
{
    double *weights = malloc(train->n_docs * sizeof(*weights));
    for (uint32_t i = 0; i < train->n_docs; i++)
        weights[i] = 0.5 + fixture_unit(9, i);
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "weights", weights, train->n_docs, 1),
        RW_OK);
    free(weights);
    set("leaves 6 min-docs 5 rounds 5");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "weights");
}

static void set_starts(struct rw_dataset *dataset, uint32_t seed)
{
    double *starts = malloc(dataset->n_docs * sizeof(*starts));
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        starts[i] = 4.0 * fixture_unit(seed, i) - 2.0;
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, dataset, "start-scores", starts,
                                            dataset->n_docs, 1),
                 RW_OK);
    free(starts);
}

Test(checkpoint, start_scores_and_a_schedule)
{
    set_starts(train, 9);
    set_starts(valid, 10);
    set("leaves 6 min-docs 5 rounds 5 rate 0.5:0.1:3");
    struct rw_model *init = made_init();
    resume_everywhere(&(struct run){.n_valid = 1}, "start scores");
    resume_everywhere(&(struct run){.n_valid = 1, .init = init}, "start scores and init");
    rw_model_free(init);
}

static void set_positions(void)
{
    double *positions = malloc(train->n_docs * sizeof(*positions));
    for (uint32_t i = 0; i < train->n_docs; i++)
        positions[i] = 1 + i * 5 % 12 % 8;
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "positions", positions, train->n_docs, 1),
        RW_OK);
    free(positions);
}

/* The biases continue from their values, also if training ends between two trees. */
Test(checkpoint, bias_of_positions)
{
    set_positions();
    struct rw_model *init = made_init();
    set("leaves 6 min-docs 5 rounds 6 rate 0.5:0.1:3 debias additive");
    resume_everywhere(&(struct run){.n_valid = 1}, "additive");
    resume_everywhere(&(struct run){.n_valid = 1, .init = init}, "additive and init");
    set("debias ipw");
    resume_everywhere(&(struct run){.n_valid = 1}, "ipw");
    set("leaves 6 min-docs 20 rounds 30 sample-queries 0.15 early-stop 0 debias additive");
    resume_everywhere(&(struct run){.n_valid = 1}, "empty trees");
    rw_model_free(init);
}

Test(checkpoint, other_propensities)
{
    struct rw_model *model;
    char text[2][128] = {"", ""};
    set_positions();
    for (int p = 1; p <= 8; p++) {
        snprintf(text[0] + strlen(text[0]), 16, "%d 0.%d\n", p, p);
        snprintf(text[1] + strlen(text[1]), 16, "%d 0.%d\n", p, p == 4 ? 9 : p);
    }
    scratch_text("a", text[0]);
    scratch_text("b", text[1]);
    set("leaves 6 min-docs 5 rounds 4 debias ipw propensities a");
    leave("4", (struct run){.n_valid = 1});
    struct run run = {.n_valid = 1, .checkpoints = {.resume = "ck"}};
    set("rounds 6 propensities b");
    cr_assert_eq(try_run(&run, &model), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "cannot resume from 'ck': its propensities differ: position 4 had '4 0.4 1'");
    set("propensities a");
    run = (struct run){.n_valid = 1, .checkpoints = {.resume = "ck"}};
    rw_model_free(done(&run));
}

Test(checkpoint, continued_from_a_model)
{
    struct rw_model *init = made_init();
    const struct run run = {.n_valid = 1, .init = init};
    resume_everywhere(&run, "init");
    rw_model_free(init);
}

/* ---- rounds, and how training ended ---- */

Test(checkpoint, rounds_may_grow)
{
    set("leaves 6 min-docs 5 early-stop 0");
    struct run run = {.n_valid = 1};
    leave("4", run);
    set("rounds 7");
    struct rw_model *expected = done(&run), *model;
    run.checkpoints.resume = "ck";
    model = done(&run);
    cr_assert_eq(run.resumed_round, 4);
    assert_same_bytes(model, expected, "more rounds");
    rw_model_free(model);
    rw_model_free(expected);
    set("rounds 3");
    cr_assert_eq(try_run(&run, &model), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "cannot resume from 'ck': it has 4 rounds, more than rounds = 3");
}

Test(checkpoint, a_finished_training_gives_its_model_again)
{
    set("leaves 6 min-docs 5 rounds 40 early-stop 3");
    struct run run = {.n_valid = 1, .checkpoints.path = "ck"};
    struct rw_model *expected = done(&run), *model;
    const int n_rounds = run.rounds;
    struct stat before, after;
    stat("ck", &before);
    run.checkpoints.resume = "ck";
    model = done(&run);
    cr_assert_eq(run.resumed_round, n_rounds);
    cr_assert_eq(run.rounds, n_rounds, "it went on");
    assert_same_bytes(model, expected, "finished");
    stat("ck", &after);
    cr_assert_eq(before.st_ino, after.st_ino, "written again for nothing");
    rw_model_free(model);
    rw_model_free(expected);
}

/* Whoever trains says that it is enough: so it is after resuming, unless more rounds are wanted. */
Test(checkpoint, ended_by_the_caller)
{
    set("leaves 6 min-docs 5 rounds 8 early-stop 0");
    struct run run = {.n_valid = 1, .end_after = 3, .checkpoints.path = "ck"};
    struct rw_model *expected = done(&run), *model;
    cr_assert(is_finished(expected));
    run.checkpoints.resume = "ck";
    model = done(&run);
    cr_assert_eq(run.rounds, 3);
    assert_same_bytes(model, expected, "ended by on_round");
    rw_model_free(model);
    set("rounds 9");
    model = done(&run);
    cr_assert_eq(run.rounds, 9);
    rw_model_free(model);
    rw_model_free(expected);
}

/* A training that fails in a round keeps those before it, and its error. */
Test(checkpoint, a_failure_leaves_a_checkpoint)
{
    set("leaves 6 min-docs 5 rounds 6");
    struct run run = {.custom = 1}, whole = {.custom = 1};
    struct rw_model *expected = done(&whole), *model;
    run.fail_after = 4;
    run.checkpoints.path = "ck";
    cr_assert_eq(try_run(&run, &model), RW_ERR_INTERRUPTED);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "the custom objective failed");
    run = (struct run){.custom = 1, .checkpoints.resume = "ck"};
    model = done(&run);
    cr_assert_eq(run.resumed_round, 4);
    assert_same_bytes(model, expected, "after a failure");
    rw_model_free(model);
    rw_model_free(expected);
}

Test(checkpoint, starts_without_a_checkpoint)
{
    set("leaves 6 min-docs 5 rounds 3");
    struct run run = {.checkpoints = {.path = "ck", .resume = "ck", .or_start = 1}};
    struct rw_model *first = done(&run), *second;
    cr_assert_eq(run.resumed_round, 0);
    second = done(&run);
    cr_assert_eq(run.resumed_round, 3);
    assert_same_bytes(first, second, "auto");
    rw_model_free(first);
    rw_model_free(second);
    run = (struct run){.checkpoints = {.resume = "nothing"}};
    cr_assert_eq(try_run(&run, &first), RW_ERR_IO);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "cannot open 'nothing': No such file or directory");
}

/* ---- writing ---- */

Test(checkpoint, every_round_has_one)
{
    set("leaves 6 min-docs 5 rounds 30 early-stop 0");
    struct run run = {.n_valid = 1, .checkpoints = {.path = "ck", .every_rounds = 1}};
    rw_model_free(done(&run));
    const char *said = strstr(scratch_log, " checkpoints: training paused");
    cr_assert_not_null(said, "%s", scratch_log);
    while (said > scratch_log && said[-1] != '\n')
        said--;
    cr_assert_geq(atoi(said), 2, "%s", said); /* as many as there was time for */
}

/* A checkpoint that cannot be written is reported, and training continues. */
Test(checkpoint, one_that_cannot_be_written)
{
    set("leaves 6 min-docs 5 rounds 4");
    struct run run = {.checkpoints = {.path = "no/ck"}};
    struct rw_model *model, *expected;
    cr_assert_eq(try_run(&run, &model), RW_ERR_IO);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "cannot write 'no/ck': No such file or directory");
    run = (struct run){0};
    expected = done(&run);
    run.checkpoints.path = "/dev/full";
    model = done(&run);
    cr_assert_not_null(
        strstr(scratch_log, "cannot write the checkpoint of round 4: cannot write '/dev/full': No "
                            "space left on device"),
        "%s", scratch_log);
    assert_same_bytes(model, expected, "without a checkpoint");
    rw_model_free(model);
    rw_model_free(expected);
}

Test(checkpoint, intervals)
{
    static const struct {
        const char *text;
        int rounds;
        double seconds;
    } good[] = {{"1", 1, 0},     {"50", 50, 0},   {"1000000", 1000000, 0}, {"30s", 0, 30},
                {"10m", 0, 600}, {"2h", 0, 7200}, {"007s", 0, 7}};
    static const char *const bad[] = {"",        "0",           "0s",  "s",  "-1",  "1.5s",
                                      "1000001", "12345678901", "5 s", "1d", "5ms", "s5"};
    struct rw_checkpoints c;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        cr_assert_eq(rw_checkpoints_set_every(scratch_ctx, &c, good[i].text), RW_OK);
        cr_assert_eq(c.every_rounds, good[i].rounds, "%s", good[i].text);
        cr_assert_float_eq(c.every_seconds, good[i].seconds, 0.0, "%s", good[i].text);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        cr_assert_eq(rw_checkpoints_set_every(scratch_ctx, &c, bad[i]), RW_ERR_ARGUMENT, "%s",
                     bad[i]);
}

/* If any allocation fails: an error, or no checkpoint. Existing checkpoints are complete. */
Test(checkpoint, too_little_memory)
{
    set("leaves 6 min-docs 5 rounds 3 threads 1 device cpu");
    struct run whole = {.n_valid = 1};
    struct rw_model *expected = done(&whole), *model;
    for (int resumes = 0; resumes < 2; resumes++) {
        struct run run = {.n_valid = 1, .checkpoints.path = "ck"};
        run.checkpoints.resume = resumes ? "part" : NULL;
        struct run part = {.n_valid = 1, .stop_after = 1, .checkpoints.path = "part"};
        rw_model_free(done(&part));
        int status = RW_ERR_MEMORY, n_failed = 0;
        for (long n = 1; status == RW_ERR_MEMORY; n += 1 + n / 40) {
            struct run one = run;
            struct rw_checkpoint left;
            rw_mem_fail_from(n);
            status = try_run(&one, &model);
            rw_mem_fail_from(0);
            n_failed += status == RW_ERR_MEMORY;
            if (access("ck", F_OK) == 0) {
                cr_assert_eq(rw_checkpoint_read(scratch_ctx, "ck", &left), RW_OK, "%s",
                             rw_last_error(scratch_ctx));
                rw_checkpoint_release(&left);
            }
        }
        cr_assert_eq(status, RW_OK);
        cr_assert_gt(n_failed, 20);
        assert_same_bytes(model, expected, "once there is enough, resumes %d", resumes);
        rw_model_free(model);
    }
    rw_model_free(expected);
}
