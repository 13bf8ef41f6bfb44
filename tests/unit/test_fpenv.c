/* Whatever rounding mode the caller has set, and whether or not its subnormal numbers are
 * flushed to zero: identical results of every public function that computes, and the caller's
 * settings afterwards. */
#include <fenv.h>
#include <math.h>

#include "base/ctx.h"
#include "model/model.h"
#include "params/params.h"
#include "scratch_file.h"

#if defined(__SSE2__)
enum { FLUSH = 0x8040 }; /* flush to zero, and subnormal operands taken for zero */
#endif

/* The settings of a floating-point environment that a caller can change. */
static unsigned settings(void)
{
#if defined(__SSE2__)
    return _mm_getcsr() & ~0x3fu; /* without the exception flags */
#else
    return (unsigned)fegetround();
#endif
}

static unsigned char *trace; /* all results, one after the other */
static size_t trace_bytes, trace_room;
static unsigned expected_settings;
static const char *step;

static void keep(const void *data, size_t n)
{
    if (trace_bytes + n > trace_room) {
        trace_room = 2 * (trace_bytes + n);
        trace = realloc(trace, trace_room);
    }
    memcpy(trace + trace_bytes, data, n);
    trace_bytes += n;
}

static void keep_file(const char *path)
{
    char buffer[4096];
    FILE *file = fopen(path, "rb");
    cr_assert(file, "%s", path);
    for (size_t n; (n = fread(buffer, 1, sizeof(buffer), file)) > 0;)
        keep(buffer, n);
    fclose(file);
}

/* A call of the library, named by its text. */
#define CALL(call)                                                               \
    do {                                                                         \
        step = #call;                                                            \
        const int call_status = (call);                                          \
        cr_assert(call_status >= 0, "%s: %s", step, rw_last_error(scratch_ctx)); \
        cr_assert_eq(settings(), expected_settings, "%s leaves others", step);   \
    } while (0)

static void write_data(const char *path)
{
    FILE *file = fopen(path, "wb");
    for (int q = 1; q <= 40; q++) {
        for (int d = 0; d < 12; d++) {
            const int k = q * 12 + d;
            /* values that need rounding, some of them subnormal as floats */
            fprintf(file, "%d qid:%d 1:%d.%07d 2:0.%09de-3%d 3:%d.1e-40 4:0.1%d # docid = d%d\n",
                    k * 7919 % 5, q, k % 13, k * 104729 % 10000000, k * 7919 % 1000000007, d % 10,
                    k % 17, k * 31 % 1000, k);
        }
    }
    fclose(file);
}

static void train_and_use(const struct rw_dataset *data, const char *objective)
{
    struct rw_params *params;
    struct rw_model *model, *read, *more;
    struct rw_eval *eval;
    const uint32_t n = rw_dataset_n_docs(data);
    double *scores = calloc(n, sizeof(double));
    CALL(rw_params_new(scratch_ctx, &params));
    CALL(rw_params_set(scratch_ctx, params, "objective", objective));
    CALL(rw_params_set(scratch_ctx, params, "rounds", "6"));
    CALL(rw_params_set(scratch_ctx, params, "leaves", "5"));
    CALL(rw_params_set(scratch_ctx, params, "rate", "0.1000000000000000055"));
    CALL(rw_params_set(scratch_ctx, params, "l2", "0.3"));
    CALL(rw_params_set(scratch_ctx, params, "split", "newton"));
    CALL(rw_params_set(scratch_ctx, params, "min-docs", "3"));
    CALL(rw_train(scratch_ctx, params, data, &data, 1, NULL, &model));
    CALL(rw_model_write(scratch_ctx, model, "model"));
    keep_file("model");
    CALL(rw_model_read(scratch_ctx, "model", &read));
    CALL(rw_train_on(scratch_ctx, params, &(struct rw_training){.train = data, .init = read},
                     &more));
    CALL(rw_model_write(scratch_ctx, more, "more"));
    keep_file("more");
    struct rw_params *refit;
    rw_model_free(more);
    CALL(rw_params_new(scratch_ctx, &refit));
    CALL(rw_refit_params(scratch_ctx, refit, read));
    keep(&refit->l2, sizeof(refit->l2));
    CALL(rw_refit(scratch_ctx, refit, read, data, NULL, 0, NULL, &more));
    CALL(rw_model_write(scratch_ctx, more, "refitted"));
    keep_file("refitted");
    rw_params_free(refit);
    CALL(rw_predict(scratch_ctx, read, data, 0, scores));
    keep(scores, n * sizeof(*scores));
    CALL(rw_evaluate(scratch_ctx, rw_params_eval(params), data, scores, &eval));
    keep(&eval->metrics[0].mean, sizeof(double));
    rw_free(eval);
    const struct rw_exchange how = {.format = "xgboost", .feature_base = -1};
    CALL(rw_model_export(scratch_ctx, model, &how, "exported"));
    keep_file("exported");
    rw_model_free(more);
    CALL(rw_model_import(scratch_ctx, "exported", &how, &more));
    CALL(rw_model_write(scratch_ctx, more, "imported"));
    keep_file("imported");
    struct rw_scorer *scorer;
    CALL(rw_scorer_open(scratch_ctx, model, 0, "cpu", &scorer));
    CALL(rw_scorer_run(scratch_ctx, scorer, data, scores));
    keep(scores, n * sizeof(*scores));
    const float row[] = {0, 3.25f, 0x1p-140f, 0x1.8p-130f, 0.1f};
    double one;
    CALL((one = rw_scorer_one(scorer, row, 5, 0), 0));
    keep(&one, sizeof(one));
    CALL(rw_scorer_rows(scratch_ctx, scorer, row, 1, 5, 0, &one));
    keep(&one, sizeof(one));
    CALL((one = rw_predict_one(model, row, 5), 0));
    keep(&one, sizeof(one));
    struct rw_explainer *explainer;
    CALL(rw_explainer_new(scratch_ctx, model, 0, data, &explainer));
    const uint32_t n_used = explainer->n_features;
    double *values = calloc((size_t)n * n_used + 1, sizeof(double));
    CALL(rw_explainer_run(scratch_ctx, explainer, data, 0, n, values, NULL));
    keep(values, (size_t)n * n_used * sizeof(*values));
    free(values);
    rw_free(explainer);
    struct rw_comparison *comparison;
    double *others = calloc(n, sizeof(double));
    for (uint32_t i = 0; i < n; i++)
        others[i] = scores[n - 1 - i];
    CALL(rw_compare(scratch_ctx, rw_params_eval(params), data, scores, others, NULL, &comparison));
    keep(&comparison->all.low, sizeof(double));
    rw_free(comparison);
    free(others);
    rw_scorer_free(scorer);
    rw_model_free(model);
    rw_model_free(read);
    rw_model_free(more);
    rw_params_free(params);
    free(scores);
}

/* Doubles, whole numbers and subnormal floats that are rounded as they are taken in. */
static void use_table(struct rw_params *params)
{
    enum { N_DOCS = 400 };
    static double x[N_DOCS], tiny[N_DOCS];
    static int64_t whole[N_DOCS];
    static float label[N_DOCS], values[N_DOCS];
    const uint32_t offset[] = {0, 100, 250, N_DOCS};
    const struct rw_array column[] = {
        {.data = x, .type = RW_VALUE_F64, .stride = sizeof(double)},
        {.data = whole, .type = RW_VALUE_I64, .stride = sizeof(int64_t)},
        {.data = tiny, .type = RW_VALUE_F64, .stride = sizeof(double)},
    };
    uint8_t inexact[3];
    const struct rw_table table = {.n_docs = N_DOCS,
                                   .n_columns = 3,
                                   .column = column,
                                   .missing = NAN,
                                   .label = label,
                                   .n_queries = 3,
                                   .query_offset = offset,
                                   .inexact = inexact};
    for (int i = 0; i < N_DOCS; i++) {
        x[i] = (i * 7919 % 1000003) / 7.0;
        whole[i] = (i * INT64_C(104729) - 5000000) * 1000003;
        tiny[i] = (i * 31 % 97 - 48) / 3.0 * 1e-40;
        label[i] = (float)(i * 7 % 5);
    }
    struct rw_dataset *data;
    struct rw_binned *binned;
    struct rw_model *model, *read;
    char *text;
    size_t n_bytes;
    CALL(rw_dataset_from_table(scratch_ctx, &table, &data));
    for (uint32_t feature = 0; feature < 3; feature++) {
        CALL((rw_dataset_feature(data, feature, 0, values), 0));
        keep(values, sizeof(values));
    }
    CALL(rw_binned_from_table(scratch_ctx, params, &table, &binned));
    CALL(rw_train_on(scratch_ctx, params, &(struct rw_training){.binned = binned}, &model));
    CALL(rw_model_write_memory(scratch_ctx, model, &text, &n_bytes));
    keep(text, n_bytes);
    CALL(rw_model_read_memory(scratch_ctx, "text", text, n_bytes, &read));
    rw_free(text);
    CALL(rw_model_write_memory(scratch_ctx, read, &text, &n_bytes));
    keep(text, n_bytes);
    rw_free(text);
    rw_model_free(read);
    rw_model_free(model);
    rw_binned_free(binned);
    rw_dataset_free(data);
}

/* Runs all of it; the results are in `trace`. */
static void use_everything(void)
{
    const char *paths[] = {"data.txt"}, *cached[] = {"data.rwb"};
    struct rw_dataset *data, *again;
    struct rw_params *params;
    trace_bytes = 0;
    expected_settings = settings();
    CALL(rw_dataset_read(scratch_ctx, paths, 1, &data));
    CALL(rw_params_new(scratch_ctx, &params));
    CALL(rw_dataset_write_cache(scratch_ctx, data, params, "data.rwb"));
    keep_file("data.rwb");
    CALL(rw_dataset_read(scratch_ctx, cached, 1, &again));
    const struct rw_synth_options made = {.shape = "letor", .n_queries = 5, .seed = 3};
    CALL(rw_synth(scratch_ctx, &made, "made.txt", NULL));
    keep_file("made.txt");
    const char *objectives[] = {"lambdarank", "yetirank", "regression", "queryrmse",
                                "listnet",    "xendcg",   "logistic"};
    for (int i = 0; i < 7; i++)
        train_and_use(i == 0 ? again : data, objectives[i]);
    CALL(rw_params_set(scratch_ctx, params, "device", "cpu"));
    CALL(rw_params_set(scratch_ctx, params, "rounds", "3"));
    use_table(params);
    rw_params_free(params);
    rw_dataset_free(data);
    rw_dataset_free(again);
}

Test(fpenv, same_bytes_under_any_environment, .init = scratch_begin, .fini = scratch_end)
{
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO};
    write_data("data.txt");
    rw_ctx_set_threads(scratch_ctx, 2);
    use_everything();
    unsigned char *expected = trace;
    const size_t bytes = trace_bytes;
    cr_assert(bytes > 10000);
    trace = NULL;
    trace_room = 0;
    for (int i = 0; i < 3; i++) {
        cr_assert_eq(fesetround(modes[i]), 0);
        use_everything();
        fesetround(FE_TONEAREST);
        cr_expect(trace_bytes == bytes && memcmp(trace, expected, bytes) == 0, "rounding mode %d",
                  modes[i]);
    }
#if defined(__SSE2__)
    const unsigned was = _mm_getcsr();
    _mm_setcsr(was | FLUSH);
    use_everything();
    _mm_setcsr(was);
    cr_expect(trace_bytes == bytes && memcmp(trace, expected, bytes) == 0, "flushed to zero");
#endif
    free(trace);
    free(expected);
}
