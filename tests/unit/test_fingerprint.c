/* What differs between a training and the one that it resumes is named; which way the data came
 * does not matter. */
#include "resumed_run.h"

#include "base/mem.h"

TestSuite(fingerprint, .init = setup, .fini = teardown, .timeout = 120);

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

Test(fingerprint, other_parameters)
{
    set("leaves 6 min-docs 5");
    leave("4", (struct run){.n_valid = 1});
    set("leaves 7 seed 2 rate 0.1");
    refused((struct run){.n_valid = 1}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck' with different parameters: rate was auto 0.1 and is now 0.1; "
            "leaves was 6 and is now 7; seed was 1 and is now 2\nhint: ");
    set("leaves 6 seed 1 rate auto");
    refused((struct run){0}, RW_ERR_DATA,
            "cannot resume from 'ck': that training had 1 validation set, this one has 0");
    set("train-metric on");
    refused((struct run){.n_valid = 1}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck': the metrics have changed: 'nothing' was measured, now 'train "
            "ndcg@10'");
    set("train-metric off");
    refused((struct run){.n_valid = 1, .custom = 1}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck' with different parameters: objective was lambdarank and is "
            "now custom");
    struct rw_model *init = made_init();
    set("early-stop 100");
    refused((struct run){.n_valid = 1, .init = init}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck': that training continued from no model, this one from one");
    leave("4", (struct run){.n_valid = 1, .init = init});
    refused((struct run){.n_valid = 1}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck': that training continued from a model, this one from none");
    struct rw_model *other = made_init();
    ((struct rw_model *)other)->tree[0].leaf[0] += 1.0f;
    set("rounds 4");
    refused((struct run){.n_valid = 1, .init = other}, RW_ERR_ARGUMENT,
            "cannot resume from 'ck': that training continued from a model, this one from "
            "another");
    rw_model_free(init);
    rw_model_free(other);
    set("early-stop-delta 0.5");
    refused(
        (struct run){.n_valid = 1, .init = NULL}, RW_ERR_ARGUMENT,
        "cannot resume from 'ck' with different parameters: early-stop-delta was 0 and is now 0.5");
    leave("4", (struct run){.n_valid = 1});
    set("early-stop-delta 0");
    refused(
        (struct run){.n_valid = 1}, RW_ERR_ARGUMENT,
        "cannot resume from 'ck' with different parameters: early-stop-delta was 0.5 and is now 0");
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

Test(fingerprint, other_data)
{
    const struct run run = {.n_valid = 1};
    set("leaves 6 min-docs 5");
    leave("4", run);
    const float label = train->label[7], was = *value(train, 2, 11);
    train->label[7] = label == 1.0f ? 2.0f : 1.0f;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: the training "
            "set's labels");
    train->label[7] = label;
    *value(train, 2, 11) = -100.0f;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: the training "
            "set's values");
    *value(train, 2, 11) = was;
    *value(valid, 0, 3) = 100.0f;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: validation "
            "set 1's values");
    train->query_id.text[train->query_id.offset[4]]++;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: the training "
            "set's query-ids; validation set 1's values");
    train->query_id.text[train->query_id.offset[4]]--;
    rw_dataset_free(valid);
    valid = fixture_data(scratch_ctx, 2, 11, 12, 5);
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: validation "
            "set 1's documents");
    rw_dataset_free(valid);
    valid = fixture_data(scratch_ctx, 2, 12, 12, 5);
    train->query_offset[3]--;
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: the training "
            "set's queries");
    train->query_offset[3]++;
    double *weights = malloc(train->n_docs * sizeof(*weights));
    for (uint32_t i = 0; i < train->n_docs; i++)
        weights[i] = 1.0;
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "weights", weights, train->n_docs, 1),
        RW_OK);
    struct run same = {.n_valid = 1, .checkpoints.resume = "ck"}; /* each weighs 1 anyway */
    rw_model_free(done(&same));
    weights[5] = 2.0;
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "weights", weights, train->n_docs, 1),
        RW_OK);
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: the training "
            "set's weights");
    weights[5] = 1.0;
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "weights", weights, train->n_docs, 1),
        RW_OK);
    memset(weights, 0, train->n_docs * sizeof(*weights));
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "start-scores", weights, train->n_docs, 1),
        RW_OK);
    same = (struct run){.n_valid = 1, .checkpoints.resume = "ck"}; /* each starts at 0 anyway */
    rw_model_free(done(&same));
    weights[5] = 2.0;
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "start-scores", weights, train->n_docs, 1),
        RW_OK);
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: the training "
            "set's start-scores");
    weights[5] = 0.0;
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "start-scores", weights, train->n_docs, 1),
        RW_OK);
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "positions", weights, train->n_docs, 1),
        RW_OK);
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: the training "
            "set's positions");
    rw_mem_free(train->position);
    train->position = NULL;
    cr_assert_eq(
        rw_dataset_set_side_column(scratch_ctx, train, "labels", weights, train->n_docs, 1), RW_OK);
    refused(run, RW_ERR_DATA,
            "cannot resume from 'ck': the data has changed: the training "
            "set's more-labels");
    free(weights);
}

/* Every value twice as large: the codes are the same, the boundaries are not. */
Test(fingerprint, other_boundaries)
{
    const struct run run = {.n_valid = 1};
    set("leaves 6 min-docs 5");
    leave("4", run);
    for (uint32_t doc = 0; doc < train->n_docs; doc++)
        *value(train, 0, doc) *= 2.0f;
    for (uint32_t doc = 0; doc < valid->n_docs; doc++)
        *value(valid, 0, doc) *= 2.0f;
    refused(run, RW_ERR_DATA, "cannot resume from 'ck': the data has changed: ");
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
    cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &path, 1, &binned), RW_OK);
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.binned = binned, .hooks = &hooks}, &model),
                 RW_OK, "%s, %s: %s", path, device, rw_last_error(scratch_ctx));
    assert_same_bytes(model, expected, "%s, %s", path, device);
    rw_model_free(model);
    rw_binned_free(binned);
}

Test(fingerprint, text_cache_and_memory)
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

/* The fingerprints of three shards (one query, an empty one, the rest) add up to that of the
 * whole. */
Test(fingerprint, fingerprints_add_up)
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
        share.query_id.offset += q;
        cr_assert_eq(rw_engine_load(engine, s + 1, &share, NULL, NULL), RW_OK);
        cr_assert_eq(rw_fingerprint_make(engine, s + 1, &share, doc, q, &part), RW_OK);
        for (int i = 0; i < RW_PRINTS; i++)
            sum.part[i] += part.part[i];
    }
    for (int i = 0; i < RW_PRINTS; i++)
        cr_assert_eq(sum.part[i], whole.part[i], "%s", rw_print_name(i));
    rw_engine_close(engine);
}
