/* Small trainings on everything there is, and the model's bytes against those of `ref`. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/ctx.h"
#include "base/isa.h"
#include "bench/doctor.h"

/* Some thousand documents: all stages of an engine, with several batches of nodes, in a moment. */
static const struct rw_synth_options made = {.shape = "mslr30k", .n_queries = 20, .seed = 1};

struct checks {
    struct rw_bench *bench; /* whose context is the doctor's own */
    struct rw_dataset *data;
    char *expected[2]; /* of `ref`, by rule of splits; owned */
    size_t n_expected[2];
    int n_wrong;
};

void rw_doctor_difference(const char *expected, size_t n_expected, const char *given,
                          size_t n_given, char text[RW_DOCTOR_TEXT])
{
    enum { MOST_SHOWN = 100 };
    size_t at = 0, begin = 0;
    int line = 1;
    while (at < n_expected && at < n_given && expected[at] == given[at]) {
        if (expected[at++] == '\n') {
            line++;
            begin = at;
        }
    }
    const char *const body[2] = {expected + begin, given + begin};
    const size_t left[2] = {n_expected - begin, n_given - begin};
    int length[2];
    for (int i = 0; i < 2; i++) {
        const char *end = memchr(body[i], '\n', left[i]);
        const size_t n = end ? (size_t)(end - body[i]) : left[i];
        length[i] = n < MOST_SHOWN ? (int)n : MOST_SHOWN;
    }
    snprintf(text, RW_DOCTOR_TEXT, "line %d of the model is '%.*s', not '%.*s'", line, length[1],
             body[1], length[0], body[0]);
}

/* The model of two trees, the second of which sees the scores of the first. */
static int train(struct checks *c, const char *device, const char *split, char **text, size_t *n)
{
    const char *const settings[][2] = {
        {"device", device}, {"split", split}, {"rounds", "2"},          {"leaves", "31"},
        {"min-docs", "5"},  {"rate", "0.1"},  {"sample-features", "1"}, {"early-stop", "0"}};
    struct rw_params *params = NULL;
    struct rw_model *model = NULL;
    int status;
    RW_TRY_OUT(rw_params_new(c->bench->ctx, &params));
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        RW_TRY_OUT(rw_params_set(c->bench->ctx, params, settings[i][0], settings[i][1]));
    RW_TRY_OUT(rw_train(c->bench->ctx, params, c->data, NULL, 0, NULL, &model));
    RW_TRY_OUT(rw_model_write_memory(c->bench->ctx, model, text, n));
out:
    rw_model_free(model);
    rw_params_free(params);
    return status;
}

static const char *const splits[2] = {"mart", "newton"};

/* Both rules of splits, until one is not as it should be. */
static int compare(struct checks *c, const char *device, char result[2 * RW_DOCTOR_TEXT])
{
    char what[RW_DOCTOR_TEXT];
    snprintf(result, 2 * RW_DOCTOR_TEXT, "ok");
    for (int i = 0; i < 2; i++) {
        char *text = NULL;
        size_t n = 0;
        const int status = train(c, device, splits[i], &text, &n);
        if (status < 0) {
            snprintf(result, 2 * RW_DOCTOR_TEXT, "%s: %.*s",
                     status == RW_ERR_UNSUPPORTED ? "not used" : "failed", RW_DOCTOR_TEXT,
                     rw_last_error(c->bench->ctx));
            return status != RW_ERR_UNSUPPORTED;
        }
        const int same = n == c->n_expected[i] && memcmp(text, c->expected[i], n) == 0;
        if (!same)
            rw_doctor_difference(c->expected[i], c->n_expected[i], text, n, what);
        rw_text_free(text);
        if (!same) {
            snprintf(result, 2 * RW_DOCTOR_TEXT, "differs: split %s, %s", splits[i], what);
            return 1;
        }
    }
    return 0;
}

/* isa: -1: the processor has no part in it. */
static int check(struct checks *c, const char *device, int isa)
{
    char result[2 * RW_DOCTOR_TEXT];
    struct rw_bench_line line = {.n = 0};
    const double start = rw_clock_ms();
    rw_isa_force(isa);
    c->n_wrong += compare(c, device, result);
    rw_isa_force(-1);
    rw_bench_add_text(&line, "device", device);
    if (isa >= 0)
        rw_bench_add_text(&line, "instructions", rw_isa_name((enum rw_isa)isa));
    else
        rw_bench_add_none(&line, "instructions");
    rw_bench_add_real(&line, "ms", rw_clock_ms() - start, 1);
    rw_bench_add_text(&line, "result", result);
    return rw_bench_send(c->bench, "check", &line);
}

static int check_all(struct checks *c, int n_gpus)
{
    for (int i = 0; i < 2; i++)
        RW_TRY(train(c, "ref", splits[i], &c->expected[i], &c->n_expected[i]));
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa_most(); isa++)
        RW_TRY(check(c, "cpu", isa));
    for (int gpu = 0; gpu < n_gpus && gpu <= RW_MAX_DEVICE; gpu++) {
        char device[16];
        snprintf(device, sizeof(device), "cuda:%d", gpu);
        RW_TRY(check(c, device, -1));
    }
    return RW_OK;
}

int rw_doctor_check(struct rw_bench *bench, int n_gpus, int *n_wrong)
{
    struct checks c = {.bench = bench};
    int status = rw_synth(bench->ctx, &made, &c.data);
    if (status >= 0)
        status = check_all(&c, n_gpus);
    *n_wrong = c.n_wrong;
    rw_text_free(c.expected[0]);
    rw_text_free(c.expected[1]);
    rw_dataset_free(c.data);
    return status;
}
