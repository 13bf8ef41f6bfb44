/* Training that is ended after each of its rounds and resumed: the bytes of one that never was. */
#include <math.h>
#include <sys/stat.h>

#include "boost/checkpoint.h"
#include "scratch_file.h"
#include "train_fixture.h"

enum { MOST = 64 }; /* rounds */

static struct rw_params *params;
static struct rw_dataset *train, *valid;

static void setup(void)
{
    scratch_begin();
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    train = fixture_data(scratch_ctx, 1, 30, 12, 5);
    valid = fixture_data(scratch_ctx, 2, 12, 12, 5);
}

static void teardown(void)
{
    rw_dataset_free(train);
    rw_dataset_free(valid);
    rw_params_free(params);
    scratch_end();
}

TestSuite(checkpoint, .init = setup, .fini = teardown, .timeout = 120);

/* "leaves 6 rounds 8": names and values. */
static void set(const char *text)
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
    int rounds, resumed_round; /* seen */
    char note[64];
    char metric_name[64];   /* the first one */
    double value[MOST + 1]; /* of it, by round */
};

static int on_round(void *user, const struct rw_round *round)
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

static int should_stop(void *user)
{
    const struct run *run = user;
    return run->rounds == run->stop_after;
}

static const char *note(void *user)
{
    struct run *run = user;
    snprintf(run->note, sizeof(run->note), "after %d", run->rounds);
    return run->note;
}

static void on_resume(void *user, const struct rw_resumed *resumed)
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

static int gradients(void *user, const struct rw_dataset *dataset, const double *scores,
                     double *gradient, double *hessian)
{
    const struct run *run = user;
    for (uint32_t i = 0; i < dataset->n_docs; i++) {
        gradient[i] = (double)dataset->label[i] - scores[i];
        hessian[i] = 1.0;
    }
    return run->fail_after > 0 && run->rounds == run->fail_after;
}

static int metric(void *user, const struct rw_dataset *dataset, const double *scores, double *value)
{
    (void)user;
    *value = 0.0;
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        *value -= fabs((double)dataset->label[i] - scores[i]);
    return 0;
}

static int try_run(struct run *run, struct rw_model **out)
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
    return rw_train_from(scratch_ctx, params, run->init, run->train ? run->train : train, sets,
                         run->n_valid, &hooks, out);
}

static struct rw_model *done(struct run *run)
{
    struct rw_model *model;
    cr_assert_eq(try_run(run, &model), RW_OK, "%s", rw_last_error(scratch_ctx));
    return model;
}

static void assert_same_bytes(struct rw_model *a, struct rw_model *b, const char *format, ...)
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
    rw_text_free(text[0]);
    rw_text_free(text[1]);
}

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
        cr_assert(!rw_model_is_finished(part));
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

Test(checkpoint, own_gradients_and_metric)
{
    set("leaves 6 min-docs 5 rounds 6");
    const struct run run = {.n_valid = 1, .custom = 1};
    resume_everywhere(&run, "custom objective");
}

/* Of a few features a sample often has none that can be split. */
Test(checkpoint, empty_trees)
{
    set("leaves 6 min-docs 20 rounds 30 sample-queries 0.15 early-stop 0");
    struct run run = {.n_valid = 1};
    struct rw_model *model = done(&run);
    int n_empty = 0;
    for (int t = 0; t < rw_model_n_trees(model); t++)
        n_empty += rw_model_n_leaves(model, t) == 1;
    cr_assert_gt(n_empty, 0);
    rw_model_free(model);
    run = (struct run){.n_valid = 1};
    resume_everywhere(&run, "empty trees");
}

Test(checkpoint, weights)
{
    double *weights = malloc(train->n_docs * sizeof(*weights));
    for (uint32_t i = 0; i < train->n_docs; i++)
        weights[i] = 0.5 + fixture_unit(9, i);
    cr_assert_eq(rw_dataset_set_weights(scratch_ctx, train, weights, train->n_docs), RW_OK);
    free(weights);
    set("leaves 6 min-docs 5 rounds 5");
    const struct run run = {.n_valid = 1};
    resume_everywhere(&run, "weights");
}

static struct rw_model *made_init(void)
{
    set("leaves 4 min-docs 5 rounds 3 early-stop 0 seed 5");
    struct run run = {.n_valid = 1};
    struct rw_model *init = done(&run);
    set("leaves 6 rounds 5 early-stop 100 seed 1");
    return init;
}

Test(checkpoint, continued_from_a_model)
{
    struct rw_model *init = made_init();
    const struct run run = {.n_valid = 1, .init = init};
    resume_everywhere(&run, "init");
    rw_model_free(init);
}

/* ---- rounds, and how training ended ---- */

/* A checkpoint of a training of `rounds` rounds. */
static void leave(const char *rounds, struct run run)
{
    run.checkpoints.path = "ck";
    rw_params_set(scratch_ctx, params, "rounds", rounds);
    rw_model_free(done(&run));
}

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
                     "cannot resume from 'ck': 4 rounds were run, and rounds is 3");
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
    cr_assert(rw_model_is_finished(expected));
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
    cr_assert_str_eq(rw_last_error(scratch_ctx), "the custom objective gave up");
    run = (struct run){.custom = 1, .checkpoints.resume = "ck"};
    model = done(&run);
    cr_assert_eq(run.resumed_round, 4);
    assert_same_bytes(model, expected, "after a failure");
    rw_model_free(model);
    rw_model_free(expected);
}

Test(checkpoint, starts_where_there_is_none)
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
    const char *said = strstr(scratch_log, " checkpoints: training stopped");
    cr_assert_not_null(said, "%s", scratch_log);
    while (said > scratch_log && said[-1] != '\n')
        said--;
    cr_assert_geq(atoi(said), 2, "%s", said); /* as many as there was time for */
}

/* What cannot be written is said, and costs nothing else. */
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
    cr_assert_not_null(strstr(scratch_log, "no checkpoint of round 4: cannot write '/dev/full': No "
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

/* ---- what differs is named ---- */

static void refused(struct run run, int status, const char *message)
{
    struct rw_model *model;
    run.checkpoints.resume = "ck";
    cr_assert_eq(try_run(&run, &model), status, "%s: not refused", message);
    const char *error = rw_last_error(scratch_ctx);
    cr_assert(strncmp(error, message, strlen(message)) == 0, "%s\nexpected %s", error, message);
    cr_assert_null(model);
}

Test(checkpoint, other_parameters)
{
    set("leaves 6 min-docs 5");
    leave("4", (struct run){.n_valid = 1});
    set("leaves 7 seed 2 rate 0.1");
    refused((struct run){.n_valid = 1}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck' with other parameters: rate was auto 0.1, and is 0.1; leaves "
            "was 6, and is 7; seed was 1, and is 2\nhint: ");
    set("leaves 6 seed 1 rate auto");
    refused((struct run){0}, RW_ERR_DATA,
            "cannot resume from 'ck': its training had 1 validation set, and this one has 0");
    set("train-metric on");
    refused((struct run){.n_valid = 1}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck': its training measured 'nothing' where this one measures "
            "'train ndcg@10'");
    set("train-metric off");
    refused((struct run){.n_valid = 1, .custom = 1}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck' with other parameters: objective was lambdarank, and is "
            "custom");
    struct rw_model *init = made_init();
    set("early-stop 100");
    refused((struct run){.n_valid = 1, .init = init}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck': its training continued from no model, and this one from one");
    leave("4", (struct run){.n_valid = 1, .init = init});
    refused((struct run){.n_valid = 1}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck': its training continued from a model, and this one from none");
    struct rw_model *other = made_init();
    ((struct rw_model *)other)->tree[0].leaf[0] += 1.0f;
    set("rounds 4");
    refused((struct run){.n_valid = 1, .init = other}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck': its training continued from a model, and this one from "
            "another");
    rw_model_free(init);
    rw_model_free(other);
    set("device ref threads 1 batch 3 rounds 9");
    leave("4", (struct run){.n_valid = 1});
    set("device cpu threads 2 batch 1");
    struct run may = {.n_valid = 1, .checkpoints.resume = "ck"};
    rw_model_free(done(&may));
    cr_assert_eq(may.resumed_round, 4);
}

/* The value of document `doc` of the i-th column. */
static float *value(struct rw_dataset *dataset, uint32_t column, uint32_t doc)
{
    cr_assert_null(dataset->column[column].row);
    return &dataset->column[column].value[doc];
}

Test(checkpoint, other_data)
{
    const struct run run = {.n_valid = 1};
    set("leaves 6 min-docs 5");
    leave("4", run);
    const float label = train->label[7], was = *value(train, 2, 11);
    train->label[7] = label == 1.0f ? 2.0f : 1.0f;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': its training had other data: the training "
            "set's labels");
    train->label[7] = label;
    *value(train, 2, 11) = -100.0f;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': its training had other data: the training "
            "set's values");
    *value(train, 2, 11) = was;
    *value(valid, 0, 3) = 100.0f;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': its training had other data: validation "
            "set 1's values");
    train->query_id_text[train->query_id_offset[4]]++;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': its training had other data: the training "
            "set's query-ids; validation set 1's values");
    train->query_id_text[train->query_id_offset[4]]--;
    rw_dataset_free(valid);
    valid = fixture_data(scratch_ctx, 2, 11, 12, 5);
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': its training had other data: validation "
            "set 1's documents");
    rw_dataset_free(valid);
    valid = fixture_data(scratch_ctx, 2, 12, 12, 5);
    train->query_offset[3]--;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': its training had other data: the training "
            "set's queries");
    train->query_offset[3]++;
    double *weights = malloc(train->n_docs * sizeof(*weights));
    for (uint32_t i = 0; i < train->n_docs; i++)
        weights[i] = 1.0;
    cr_assert_eq(rw_dataset_set_weights(scratch_ctx, train, weights, train->n_docs), RW_OK);
    struct run same = {.n_valid = 1, .checkpoints.resume = "ck"}; /* each weighs 1 anyway */
    rw_model_free(done(&same));
    weights[5] = 2.0;
    cr_assert_eq(rw_dataset_set_weights(scratch_ctx, train, weights, train->n_docs), RW_OK);
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': its training had other data: the training "
            "set's weights");
    free(weights);
}

/* Every value twice as large: the codes are the same, the boundaries are not. */
Test(checkpoint, other_boundaries)
{
    const struct run run = {.n_valid = 1};
    set("leaves 6 min-docs 5");
    leave("4", run);
    for (uint32_t doc = 0; doc < train->n_docs; doc++)
        *value(train, 0, doc) *= 2.0f;
    for (uint32_t doc = 0; doc < valid->n_docs; doc++)
        *value(valid, 0, doc) *= 2.0f;
    refused(run, RW_ERR_DATA, "cannot resume from 'ck': its training had other data: ");
}

/* ---- one training set, whichever way it was read ---- */

static void write_text(const char *name, const struct rw_dataset *dataset)
{
    FILE *file = fopen(name, "w");
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        for (uint32_t doc = dataset->query_offset[q]; doc < dataset->query_offset[q + 1]; doc++) {
            fprintf(file, "%g qid:%u", (double)dataset->label[doc], q + 1);
            for (uint32_t c = 0; c < dataset->n_columns; c++)
                fprintf(file, " %u:%.9g", dataset->column[c].feature,
                        (double)dataset->column[c].value[doc]);
            fputc('\n', file);
        }
    }
    fclose(file);
}

static void resume_binned(const char *path, const char *device, struct rw_model *expected)
{
    struct rw_binned *binned;
    struct rw_model *model;
    struct run run = {.checkpoints.resume = "ck"};
    const struct rw_train_hooks hooks = {
        .user = &run, .on_round = on_round, .checkpoints = &run.checkpoints};
    run.checkpoints.on_resume = on_resume;
    rw_params_set(scratch_ctx, params, "device", device);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, &path, 1, &binned), RW_OK);
    cr_assert_eq(rw_train_binned(scratch_ctx, params, binned, NULL, 0, &hooks, &model), RW_OK,
                 "%s, %s: %s", path, device, rw_last_error(scratch_ctx));
    assert_same_bytes(model, expected, "%s, %s", path, device);
    rw_model_free(model);
    rw_binned_free(binned);
}

Test(checkpoint, text_cache_and_memory)
{
    set("leaves 6 min-docs 5");
    leave("3", (struct run){0});
    write_text("train.txt", train);
    cr_assert_eq(rw_dataset_write_cache(scratch_ctx, train, params, "train.rwb"), RW_OK);
    set("rounds 6");
    struct run run = {0};
    struct rw_model *expected = done(&run);
    rw_cut_sample_docs = 50; /* text becomes codes while it is read */
    set("device cpu");
    struct rw_model *sampled;
    leave("3", (struct run){0});
    set("rounds 6");
    run = (struct run){0};
    sampled = done(&run);
    resume_binned("train.txt", "cpu", sampled);
    resume_binned("train.txt", "sim", sampled);
    rw_cut_sample_docs = RW_CUT_SAMPLE_DOCS;
    leave("3", (struct run){0});
    set("rounds 6");
    resume_binned("train.txt", "cpu", expected);
    resume_binned("train.rwb", "ref", expected);
    rw_model_free(expected);
    rw_model_free(sampled);
}

/* ---- shares of a set ---- */

/* The parts of three shares, a query, none and the rest, are those of the whole. */
Test(checkpoint, fingerprints_add_up)
{
    const uint32_t first_query[] = {0, 1, 1, train->n_queries};
    const struct rw_engine_rules rules = {.cut = {.bins = 16, .min_docs = 1},
                                          .objective = &rw_objective_regression,
                                          .lambda = {.sigma = 1.0f},
                                          .min_docs = 1,
                                          .bits = 8,
                                          .query_threshold = (uint64_t)1 << 32,
                                          .feature_threshold = (uint64_t)1 << 32,
                                          .max_slots = 1};
    struct rw_engine *engine;
    struct rw_fingerprint whole, sum = {{0}}, part;
    cr_assert_eq(rw_engine_open(scratch_ctx, "cpu", &rules, &engine), RW_OK);
    cr_assert_eq(rw_engine_load(engine, 0, train, NULL, NULL), RW_OK);
    cr_assert_eq(rw_fingerprint_make(engine, 0, train, 0, 0, &whole), RW_OK);
    for (int s = 0; s < 3; s++) { /* as validation sets, which have the same boundaries */
        struct rw_dataset share = *train;
        struct rw_column column[5];
        const uint32_t q = first_query[s], doc = train->query_offset[q];
        uint32_t offset[64];
        share.n_queries = first_query[s + 1] - q;
        share.n_docs = train->query_offset[first_query[s + 1]] - doc;
        for (uint32_t i = 0; i <= share.n_queries; i++)
            offset[i] = train->query_offset[q + i] - doc;
        for (uint32_t c = 0; c < 5; c++) {
            column[c] = train->column[c];
            column[c].n = share.n_docs;
            column[c].value += doc;
        }
        share.column = column;
        share.label += doc;
        share.query_offset = offset;
        share.query_id_offset += q;
        cr_assert_eq(rw_engine_load(engine, s + 1, &share, NULL, NULL), RW_OK);
        cr_assert_eq(rw_fingerprint_make(engine, s + 1, &share, doc, q, &part), RW_OK);
        for (int i = 0; i < RW_PRINTS; i++)
            sum.part[i] += part.part[i];
    }
    for (int i = 0; i < RW_PRINTS; i++)
        cr_assert_eq(sum.part[i], whole.part[i], "%s", rw_print_name[i]);
    rw_engine_close(engine);
}
