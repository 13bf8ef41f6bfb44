/* Validation sets that are read as codes: the models and scores of values. */
#include "base/mem.h"
#include "base/rng.h"
#include "binning/bins.h"
#include "params/params.h"
#include "dataset/dataset.h"
#include "each.h"
#include "scratch_file.h"

TestSuite(valid_codes, .init = scratch_begin, .fini = scratch_end, .timeout = 300);

enum { N_TRAIN = 900, N_VALID = 700 };

static uint32_t random_of(uint32_t seed, uint32_t doc, uint32_t feature)
{
    return rw_random(seed, doc, feature, RW_STREAM_CUT_SAMPLE);
}

/* Unlike the training set, a validation set has missing values of feature 2, values beyond all
 * others, and feature 9; it lacks feature 5. */
static void write_docs(FILE *file, uint32_t seed, uint32_t n, int is_valid)
{
    for (uint32_t doc = 0; doc < n; doc++) {
        const uint32_t a = random_of(seed, doc, 1), b = random_of(seed, doc, 2);
        fprintf(file, "%u qid:q%u 1:%.6g", (a >> 28) / 4, doc / 9,
                ((double)a - 2e9) / (is_valid ? 1e6 : 1e7));
        if (is_valid && b % 5 == 0)
            fprintf(file, " 2:nan");
        else
            fprintf(file, " 2:%u", b % 9);
        if (a % 10 == 3) /* seldom there: a list, of codes on both sides of 0 */
            fprintf(file, " 3:%d", (int)(b % 50) - 25);
        if (a % 11)
            fprintf(file, b % 3 ? " 4:%.3g" : " 4:nan", (double)b / 1e8);
        if (!is_valid)
            fprintf(file, " 5:%u", (a >> 20) % 100);
        if (is_valid && b % 2)
            fprintf(file, " 9:1");
        fprintf(file, doc % 4 ? "\n" : " # doc %u\n", doc);
    }
}

static void write_file(const char *path, uint32_t seed, uint32_t n, int is_valid)
{
    FILE *file = fopen(path, "w");
    write_docs(file, seed, n, is_valid);
    cr_assert_eq(fclose(file), 0);
}

static void pack(const char *from, const char *to)
{
    size_t n;
    char *text = scratch_read(from, &n);
    scratch_gzip(to, "wb", text);
    free(text);
}

static struct rw_params *make_params(const char *device, const char *absent, const char *ignore)
{
    const char *const value[][2] = {{"device", device},      {"absent", absent}, {"ignore", ignore},
                                    {"rounds", "6"},         {"leaves", "15"},   {"min-docs", "5"},
                                    {"early-stop", "3"},     {"bins", "60"},     {"rate", "0.3"},
                                    {"metric", "ndcg@5,map"}};
    struct rw_params *params;
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    for (size_t i = 0; i < sizeof(value) / sizeof(value[0]); i++)
        cr_assert_eq(rw_params_set(scratch_ctx, params, value[i][0], value[i][1]), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
    return params;
}

struct text {
    char *bytes; /* rw_free */
    size_t n;
};

static void assert_same_text(struct text *a, struct text *b)
{
    cr_assert_eq(a->n, b->n);
    cr_assert_eq(memcmp(a->bytes, b->bytes, a->n), 0);
}

static struct text train(const struct rw_params *params, const struct rw_binned *binned,
                         const struct rw_dataset *valid, struct rw_model **model)
{
    struct text text;
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.binned = binned, .valid = &valid, .n_valid = 1},
                             model),
                 RW_OK, "%s", rw_last_error(scratch_ctx));
    cr_assert_eq(rw_model_write_memory(scratch_ctx, *model, &text.bytes, &text.n), RW_OK);
    return text;
}

/* The model and its scores, to the bit. */
static void compare(const struct rw_params *params, const struct rw_binned *binned,
                    const char *const *paths, int n_paths)
{
    struct rw_dataset *values, *codes;
    struct rw_model *of_values, *of_codes;
    struct rw_eval *eval;
    static double scores[N_VALID];
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, n_paths, &values), RW_OK);
    cr_assert_eq(rw_binned_read_valid(scratch_ctx, params, binned, paths, n_paths, &codes), RW_OK,
                 "%s", rw_last_error(scratch_ctx));
    cr_assert_not_null(codes->codes.bins);
    cr_assert_eq(codes->n_columns, 0);
    cr_assert(rw_dataset_same_judgments(values, codes));
    for (uint32_t i = 0; i < values->n_docs; i++)
        cr_assert_str_eq(rw_dataset_comment(values, i), rw_dataset_comment(codes, i));
    cr_assert_eq(values->weight == NULL, codes->weight == NULL);
    cr_assert_eq(values->weight_by_query, codes->weight_by_query);
    cr_assert_eq(values->n_names, codes->n_names);
    struct text expected = train(params, binned, values, &of_values);
    struct text found = train(params, binned, codes, &of_codes);
    assert_same_text(&expected, &found);
    for (int i = 0; i < 2; i++) { /* measured by codes, as by values */
        double of_round = 0;
        cr_assert_eq(rw_predict(scratch_ctx, of_codes, values, 0, scores), RW_OK);
        cr_assert_eq(rw_evaluate(scratch_ctx, rw_params_eval((struct rw_params *)params), values,
                                 scores, &eval),
                     RW_OK);
        cr_assert_not_null(rw_model_metric_at(of_codes, i, &of_round));
        cr_assert_eq(of_round, eval->metrics[i].mean);
        rw_free(eval);
    }
    cr_assert_null(rw_model_metric_at(of_codes, 2, scores));
    cr_assert_eq(rw_predict(scratch_ctx, of_codes, codes, 0, scores), RW_ERR_ARGUMENT);
    rw_free(expected.bytes);
    rw_free(found.bytes);
    rw_model_free(of_values);
    rw_model_free(of_codes);
    rw_dataset_free(values);
    rw_dataset_free(codes);
}

static struct rw_binned *read_training(const struct rw_params *params)
{
    const char *const path = "train.txt";
    struct rw_binned *binned;
    rw_cut_sample_docs = 300; /* so that these are many documents */
    write_file(path, 1, N_TRAIN, 0);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &path, 1, &binned), RW_OK);
    cr_assert_not_null(binned->bins);
    return binned;
}

/* All engines of the host, all kinds of files. */
Test(valid_codes, same)
{
    static const char *const device[] = {"cpu", "ref", "sim"};
    const char *const text[] = {"v.txt", "w.txt"}, *const packed[] = {"v.gz"};
    const char *const cache[] = {"v.rwb"}, *const both[] = {"v.gz", "w.txt"};
    for (int i = 0; i < 6; i++) {
        struct rw_dataset *values;
        struct rw_params *params =
            make_params(device[i % 3], i % 2 ? "missing" : "zero", i > 3 ? "2" : "");
        struct rw_binned *binned = read_training(params);
        write_file("v.txt", 2, N_VALID / 2, 1);
        FILE *file = fopen("w.txt", "w");
        fprintf(file, "1 qid:z%d 1:3\n0 qid:z%d\n", i, i);
        fclose(file);
        pack("v.txt", "v.gz");
        cr_assert_eq(rw_dataset_read(scratch_ctx, text, 1, &values), RW_OK);
        cr_assert_eq(rw_dataset_write_cache(scratch_ctx, values, params, "v.rwb"), RW_OK);
        rw_dataset_free(values);
        compare(params, binned, text, 1);
        compare(params, binned, text, 2);
        compare(params, binned, packed, 1);
        compare(params, binned, cache, 1);
        compare(params, binned, both, 2);
        rw_binned_free(binned);
        rw_params_free(params);
    }
}

/* A table has names and weights; of few documents values are kept. */
Test(valid_codes, tables)
{
    const char *const train_path = "t.csv", *const path = "v.csv";
    struct rw_params *params = make_params("cpu", "zero", "");
    const struct rw_columns columns = {.weight = "w"};
    struct rw_binned *binned;
    struct rw_dataset *valid;
    for (int k = 0; k < 2; k++) {
        FILE *file = fopen(k ? path : train_path, "w");
        fprintf(file, "label,qid,w,x,y,a,b,c,d\n"); /* features 0 to 5, as the training set has */
        for (int i = 0; i < 400; i++)
            fprintf(file, "%d,%d,1.5,%d,%d,0,1,2,3\n", i % 3, i / 8, i * 7 % 50 + k, -i);
        fclose(file);
    }
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, NULL, &train_path, 1, &binned), RW_OK);
    cr_assert_eq(rw_binned_read_valid(scratch_ctx, params, binned, &path, 1, &valid), RW_OK);
    cr_assert_eq(valid->codes.bins == NULL, binned->bins == NULL);
    rw_dataset_free(valid);
    rw_binned_free(binned);
    binned = read_training(params);
    compare(params, binned, &path, 1);
    rw_binned_free(binned);
    rw_params_free(params);
}

Test(valid_codes, errors)
{
    const char *const path = "v.txt", *const bad = "bad.txt";
    struct rw_params *params = make_params("cpu", "zero", "");
    struct rw_binned *binned = read_training(params), *other = read_training(params);
    struct rw_dataset *valid, *wrong;
    struct rw_model *model;
    struct rw_plan plan;
    write_file(path, 2, N_VALID, 1);
    cr_assert_eq(rw_binned_read_valid(scratch_ctx, params, binned, &path, 1, &valid), RW_OK);
    const struct rw_dataset *const one = valid;
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.binned = other, .valid = &one, .n_valid = 1},
                             &model),
                 RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(scratch_ctx),
                     "validation set 1 was binned for a different training set");
    cr_assert_eq(rw_train_plan(scratch_ctx, params,
                               &(struct rw_training){.binned = binned, .valid = &one, .n_valid = 1},
                               &plan),
                 RW_ERR_ARGUMENT);
    scratch_text(bad, "1 qid:1 1:1\n1 qid:1 1:x\n");
    cr_assert_eq(rw_binned_read_valid(scratch_ctx, params, binned, &bad, 1, &wrong), RW_ERR_PARSE);
    cr_assert_null(wrong);
    cr_assert_not_null(strstr(rw_last_error(scratch_ctx), "bad.txt:2:"));
    scratch_text(bad, "1 qid:1 1:1\n1 qid:2 1:3\n1 qid:1 1:5\n");
    cr_assert_eq(rw_binned_read_valid(scratch_ctx, params, binned, &bad, 1, &wrong), RW_ERR_PARSE);
    cr_assert_not_null(strstr(rw_last_error(scratch_ctx), "query '1' appears again"));
    rw_dataset_free(valid);
    rw_binned_free(binned);
    rw_binned_free(other);
    rw_params_free(params);
}

Test(valid_codes, memory)
{
    const char *const path = "v.txt";
    struct rw_params *params = make_params("cpu", "zero", "");
    struct rw_binned *binned = read_training(params);
    struct rw_dataset *valid = NULL;
    write_file(path, 2, N_VALID, 1);
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 2), RW_OK);
    long n = 1;
    for (; !valid && n < 100000; n += (1 + n / 16) * EACH(3)) {
        rw_mem_fail_from(n);
        const int status = rw_binned_read_valid(scratch_ctx, params, binned, &path, 1, &valid);
        rw_mem_fail_from(0);
        cr_assert(status == RW_ERR_MEMORY || status == RW_OK, "allocation %ld: %d", n, status);
    }
    cr_assert_not_null(valid);
    cr_assert_gt(n, 20);
    rw_dataset_free(valid);
    rw_binned_free(binned);
    rw_params_free(params);
}

/* ---- continuing a model ---- */

/* A model of other data: its thresholds differ from these boundaries, and missing values go to
 * other sides.
 */
static struct rw_model *make_init(const char *absent)
{
    const char *const path = "other.txt";
    struct rw_params *params = make_params("cpu", absent, "");
    struct rw_dataset *values;
    struct rw_model *init;
    write_file(path, 9, 800, 1);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "early-stop", "0"), RW_OK);
    cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &values), RW_OK);
    cr_assert_eq(rw_train(scratch_ctx, params, values, NULL, 0, NULL, &init), RW_OK);
    rw_dataset_free(values);
    rw_params_free(params);
    return init;
}

struct resumed {
    const struct rw_params *params;
    const struct rw_model *init;
    const char *path, *valid; /* valid: NULL: none */
    struct text text;         /* rank 0's model; owned */
};

static int train_from_values(void *user, struct rw_ctx *ctx, int rank)
{
    struct resumed *run = user;
    struct rw_dataset *values = NULL, *valid = NULL;
    struct rw_model *model = NULL;
    int status;
    RW_TRY_OUT(rw_dataset_read(ctx, &run->path, 1, &values));
    if (run->valid)
        RW_TRY_OUT(rw_dataset_read(ctx, &run->valid, 1, &valid));
    const struct rw_dataset *const one = valid;
    RW_TRY_OUT(rw_train_on(
        ctx, run->params,
        &(struct rw_training){
            .train = values, .init = run->init, .valid = &one, .n_valid = valid != NULL},
        &model));
    if (rank == 0)
        status = rw_model_write_memory(ctx, model, &run->text.bytes, &run->text.n);
out:
    rw_model_free(model);
    rw_dataset_free(values);
    rw_dataset_free(valid);
    return status;
}

static int train_from_codes(void *user, struct rw_ctx *ctx, int rank)
{
    struct resumed *run = user;
    struct rw_binned *binned = NULL;
    struct rw_dataset *valid = NULL;
    struct rw_model *model = NULL;
    int status;
    RW_TRY_OUT(rw_binned_read(ctx, run->params, run->init, &run->path, 1, &binned));
    if (!binned->bins) {
        status = rw_fail(ctx, RW_ERR_INTERNAL, "values were kept");
        goto out;
    }
    if (run->valid)
        RW_TRY_OUT(rw_dataset_read(ctx, &run->valid, 1, &valid));
    const struct rw_dataset *const one = valid;
    RW_TRY_OUT(rw_train_on(
        ctx, run->params,
        &(struct rw_training){
            .binned = binned, .init = run->init, .valid = &one, .n_valid = valid != NULL},
        &model));
    if (rank == 0)
        status = rw_model_write_memory(ctx, model, &run->text.bytes, &run->text.n);
out:
    rw_model_free(model);
    rw_binned_free(binned);
    rw_dataset_free(valid);
    return status;
}

Test(valid_codes, goes_on)
{
    static const char *const device[] = {"cpu", "ref", "sim"};
    rw_cut_sample_docs = 300;
    write_file("train.txt", 1, N_TRAIN, 0);
    write_file("v.txt", 2, N_VALID, 1);
    pack("train.txt", "train.gz");
    for (int i = 0; i < 6; i++) {
        const char *const absent = i % 2 ? "missing" : "zero";
        struct rw_params *params = make_params(device[i % 3], absent, i > 3 ? "3" : "");
        struct rw_model *init = make_init(absent);
        if (i < 3)
            cr_assert_eq(rw_params_set(scratch_ctx, params, "early-stop", "0"), RW_OK);
        struct resumed expected = {
            .params = params, .init = init, .path = "train.txt", .valid = i < 3 ? NULL : "v.txt"};
        cr_assert_eq(train_from_values(&expected, scratch_ctx, 0), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        struct resumed found = expected;
        for (int n_workers = 1; n_workers < 4; n_workers++) {
            found.path = n_workers == 2 ? "train.gz" : "train.txt";
            cr_assert_eq(rw_workers_run(scratch_ctx, n_workers, train_from_codes, &found), RW_OK,
                         "%s", rw_last_error(scratch_ctx));
            assert_same_text(&expected.text, &found.text);
            rw_free(found.text.bytes);
        }
        rw_free(expected.text.bytes);
        rw_model_free(init);
        rw_params_free(params);
    }
}

Test(valid_codes, cannot_go_on)
{
    const char *const path = "train.txt", *const valid_path = "v.txt";
    struct rw_params *params = make_params("cpu", "zero", "");
    struct rw_model *init = make_init("zero"), *other = make_init("zero"), *model;
    struct rw_binned *binned = read_training(params), *scored;
    struct rw_dataset *valid;
    write_file(valid_path, 2, N_VALID, 1);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "early-stop", "0"), RW_OK);
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.binned = binned, .init = init}, &model),
                 RW_ERR_ARGUMENT);
    cr_assert_not_null(
        strstr(rw_last_error(scratch_ctx), "rw_binned_read with that model reads it"));
    cr_assert_eq(rw_binned_read(scratch_ctx, params, init, &path, 1, &scored), RW_OK);
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.binned = scored, .init = other}, &model),
                 RW_ERR_ARGUMENT);
    cr_assert_eq(rw_binned_read_valid(scratch_ctx, params, scored, &valid_path, 1, &valid), RW_OK);
    const struct rw_dataset *const one = valid; /* the model's rounds need its values */
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){
                                 .binned = scored, .init = init, .valid = &one, .n_valid = 1},
                             &model),
                 RW_ERR_ARGUMENT);
    rw_dataset_free(valid);
    struct rw_dataset *documents = rw_binned_documents(scored); /* and so do start scores */
    double *starts = calloc(documents->n_docs, sizeof(*starts));
    cr_assert_eq(rw_dataset_set_side_column(scratch_ctx, documents, "start-scores", starts,
                                            documents->n_docs, 1),
                 RW_OK);
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.binned = scored, .init = init}, &model),
                 RW_ERR_ARGUMENT);
    free(starts);
    rw_binned_free(scored);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "start-scores", "s"), RW_OK);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, init, &path, 1, &scored), RW_OK);
    cr_assert_null(scored->bins);
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.binned = scored, .init = init}, &model),
                 RW_ERR_ARGUMENT); /* there are no values */
    rw_binned_free(scored);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "start-scores", ""), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "train-metric", "on"), RW_OK);
    cr_assert_eq(rw_binned_read(scratch_ctx, params, init, &path, 1, &scored), RW_OK);
    cr_assert_null(scored->bins);
    cr_assert_eq(rw_train_on(scratch_ctx, params,
                             &(struct rw_training){.binned = scored, .init = init}, &model),
                 RW_OK, "%s", rw_last_error(scratch_ctx));
    rw_model_free(model);
    rw_binned_free(scored);
    rw_binned_free(binned);
    rw_model_free(init);
    rw_model_free(other);
    rw_params_free(params);
}

/* ---- several workers ---- */

struct run {
    const struct rw_params *params;
    int as_codes;
    struct text text; /* rank 0's model; owned */
};

static int train_worker(void *user, struct rw_ctx *ctx, int rank)
{
    struct run *run = user;
    const char *const train_path = "train.txt", *const path = "v.txt";
    struct rw_binned *binned = NULL;
    struct rw_dataset *valid = NULL;
    struct rw_model *model = NULL;
    int status;
    RW_TRY_OUT(rw_binned_read(ctx, run->params, NULL, &train_path, 1, &binned));
    RW_TRY_OUT(run->as_codes ? rw_binned_read_valid(ctx, run->params, binned, &path, 1, &valid)
                             : rw_dataset_read(ctx, &path, 1, &valid));
    const struct rw_dataset *const one = valid;
    RW_TRY_OUT(rw_train_on(ctx, run->params,
                           &(struct rw_training){.binned = binned, .valid = &one, .n_valid = 1},
                           &model));
    if (rank == 0)
        status = rw_model_write_memory(ctx, model, &run->text.bytes, &run->text.n);
out:
    rw_model_free(model);
    rw_dataset_free(valid);
    rw_binned_free(binned);
    return status;
}

Test(valid_codes, ranks)
{
    struct rw_params *params = make_params("cpu", "zero", "");
    struct run one = {.params = params};
    rw_cut_sample_docs = 300;
    write_file("train.txt", 1, N_TRAIN, 0);
    write_file("v.txt", 2, N_VALID, 1);
    cr_assert_eq(rw_workers_run(scratch_ctx, 1, train_worker, &one), RW_OK);
    for (int n_workers = 1; n_workers <= 8; n_workers += n_workers < 3 ? 1 : 5) {
        for (int as_codes = 0; as_codes < 2; as_codes++) {
            struct run run = {.params = params, .as_codes = as_codes};
            cr_assert_eq(rw_workers_run(scratch_ctx, n_workers, train_worker, &run), RW_OK, "%s",
                         rw_last_error(scratch_ctx));
            assert_same_text(&run.text, &one.text);
            rw_free(run.text.bytes);
        }
    }
    rw_free(one.text.bytes);
    rw_params_free(params);
}

/* An engine with memory of its own copies the codes of both sets: each allocation fails once. */
Test(valid_codes, memory_of_training)
{
    const char *const path = "v.txt";
    struct rw_params *params = make_params("sim", "zero", "");
    struct rw_binned *binned = read_training(params);
    struct rw_dataset *valid;
    struct rw_model *model = NULL;
    write_file(path, 2, 9, 1);
    cr_assert_eq(rw_binned_read_valid(scratch_ctx, params, binned, &path, 1, &valid), RW_OK);
    cr_assert_eq(rw_params_set(scratch_ctx, params, "rounds", "1"), RW_OK);
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1), RW_OK);
    const struct rw_dataset *const one = valid;
    for (long n = 1; !model && n < 2000; n += EACH(7)) {
        rw_mem_fail_once(n);
        const int status = rw_train_on(
            scratch_ctx, params,
            &(struct rw_training){.binned = binned, .valid = &one, .n_valid = 1}, &model);
        rw_mem_fail_once(0);
        cr_assert(status == RW_ERR_MEMORY || status == RW_OK, "allocation %ld: %d", n, status);
        cr_assert_eq(model != NULL, status == RW_OK);
    }
    cr_assert_not_null(model);
    rw_model_free(model);
    rw_dataset_free(valid);
    rw_binned_free(binned);
    rw_params_free(params);
}
