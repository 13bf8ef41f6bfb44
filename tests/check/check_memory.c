/* check_memory [--times N]
 *
 * Trains and predicts repeatedly on the GPU in one process. Device memory, page-locked memory,
 * streams and events must all be freed after trainings that succeed, that are stopped, and in
 * which the n-th allocation fails, for every n. The linker's --wrap counts allocations;
 * cudaMemGetInfo must report the same free memory, by ==. Needs a GPU that no other program
 * uses; skips without one. */
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/device.h"
#include "gpu/hist/hist.h"
#include "rankwood.h"

enum { SKIPPED = 77, MOST_LIVE = 4096, MOST_LISTED = 20 };

/* ---- counts of allocations ---- */

struct live {
    const void *p;
    size_t bytes;
};
struct kind {
    struct live live[MOST_LIVE];
    int n;
};
static struct kind device_memory, host_memory;
static int n_streams, n_events;
static uint64_t n_asked, fail_at; /* allocations so far; that which fails, 0: none */

static int denied(void)
{
    return ++n_asked == fail_at;
}

static void add(struct kind *kind, const void *p, size_t bytes)
{
    if (kind->n == MOST_LIVE)
        abort();
    kind->live[kind->n++] = (struct live){p, bytes};
}

static void drop(struct kind *kind, const void *p)
{
    for (int i = 0; i < kind->n; i++) {
        if (kind->live[i].p == p) {
            kind->live[i] = kind->live[--kind->n];
            return;
        }
    }
    if (p) {
        printf("not ok: %p is freed, which was never made, or freed before\n", p);
        fflush(stdout);
        abort();
    }
}

static size_t bytes_of(const struct kind *kind)
{
    size_t bytes = 0;
    for (int i = 0; i < kind->n; i++)
        bytes += kind->live[i].bytes;
    return bytes;
}

/* clang-format off */
cudaError_t __real_cudaMalloc(void **p, size_t bytes);
cudaError_t __wrap_cudaMalloc(void **p, size_t bytes);
cudaError_t __real_cudaFree(void *p);
cudaError_t __wrap_cudaFree(void *p);
cudaError_t __real_cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t __wrap_cudaHostAlloc(void **p, size_t bytes, unsigned flags);
cudaError_t __real_cudaFreeHost(void *p);
cudaError_t __wrap_cudaFreeHost(void *p);
cudaError_t __real_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t __wrap_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority);
cudaError_t __real_cudaStreamDestroy(cudaStream_t stream);
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream);
cudaError_t __real_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags);
cudaError_t __real_cudaEventDestroy(cudaEvent_t event);
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t event);
/* clang-format on */

cudaError_t __wrap_cudaMalloc(void **p, size_t bytes)
{
    const cudaError_t error = denied() ? cudaErrorMemoryAllocation : __real_cudaMalloc(p, bytes);
    if (error == cudaSuccess)
        add(&device_memory, *p, bytes);
    return error;
}

cudaError_t __wrap_cudaFree(void *p)
{
    drop(&device_memory, p);
    return __real_cudaFree(p);
}

cudaError_t __wrap_cudaHostAlloc(void **p, size_t bytes, unsigned flags)
{
    const cudaError_t error =
        denied() ? cudaErrorMemoryAllocation : __real_cudaHostAlloc(p, bytes, flags);
    if (error == cudaSuccess)
        add(&host_memory, *p, bytes);
    return error;
}

cudaError_t __wrap_cudaFreeHost(void *p)
{
    drop(&host_memory, p);
    return __real_cudaFreeHost(p);
}

cudaError_t __wrap_cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority)
{
    const cudaError_t error = denied()
                                  ? cudaErrorMemoryAllocation
                                  : __real_cudaStreamCreateWithPriority(stream, flags, priority);
    n_streams += error == cudaSuccess;
    return error;
}

cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream)
{
    n_streams--;
    return __real_cudaStreamDestroy(stream);
}

cudaError_t __wrap_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
    const cudaError_t error =
        denied() ? cudaErrorMemoryAllocation : __real_cudaEventCreateWithFlags(event, flags);
    n_events += error == cudaSuccess;
    return error;
}

cudaError_t __wrap_cudaEventDestroy(cudaEvent_t event)
{
    n_events--;
    return __real_cudaEventDestroy(event);
}

/* ---- trainings ---- */

static const struct setup {
    const char *name, *shape;
    uint32_t n_queries;
    const char *set[8][2]; /* parameters */
} setups[] = {
    {"letor", "letor", 60, {{"min-docs", "3"}}},
    {"wide codes, newton, samples",
     "mslr30k",
     16,
     {{"bins", "1023"},
      {"split", "newton"},
      {"sample-queries", "0.7"},
      {"sample-features", "0.5"}}},
    {"missing values, levels",
     "yahoo",
     20,
     {{"absent", "missing"}, {"grow", "levels"}, {"metric", "ndcg@5,map"}, {"train-metric", "on"}}},
    {"regression", "mslr30k", 16, {{"objective", "regression"}, {"metric", "rmse"}}}};
enum { N_SETUPS = (int)(sizeof(setups) / sizeof(setups[0])), ROUNDS = 4 };

struct check {
    struct rw_ctx *ctx;
    struct rw_dataset *train[N_SETUPS], *valid[N_SETUPS];
    size_t free_bytes; /* of the device when all is given back */
    int passed, failed;
};

static void see(struct check *check, int good, const char *what, const char *text)
{
    if (good) {
        check->passed++;
    } else if (check->failed++ < MOST_LISTED) {
        printf("not ok %s: %s\n", what, text);
        fflush(stdout);
    }
}

static int make_sets(struct check *check)
{
    for (int s = 0; s < N_SETUPS; s++) {
        struct rw_synth_options options = {
            .shape = setups[s].shape, .n_queries = setups[s].n_queries, .seed = 1};
        RW_TRY(rw_synth(check->ctx, &options, NULL, &check->train[s]));
        options = (struct rw_synth_options){options.shape, 5, 2};
        RW_TRY(rw_synth(check->ctx, &options, NULL, &check->valid[s]));
    }
    return RW_OK;
}

static int set_params(struct rw_ctx *ctx, const struct setup *setup, const char *hist,
                      struct rw_params *params)
{
    char rounds[16];
    snprintf(rounds, sizeof(rounds), "%d", ROUNDS);
    RW_TRY(rw_params_set(ctx, params, "device", "cuda:0"));
    RW_TRY(rw_params_set(ctx, params, "rounds", rounds));
    if (hist)
        RW_TRY(rw_params_set(ctx, params, "hist", hist));
    for (int i = 0; i < 8 && setup->set[i][0]; i++)
        RW_TRY(rw_params_set(ctx, params, setup->set[i][0], setup->set[i][1]));
    return RW_OK;
}

/* The status of a training with validation. */
static int make_model(struct check *check, int s, const char *hist,
                      const struct rw_train_hooks *hooks, struct rw_model **model)
{
    struct rw_params *params;
    const struct rw_dataset *const valid[] = {check->valid[s]};
    *model = NULL;
    RW_TRY(rw_params_new(check->ctx, &params));
    int status = set_params(check->ctx, &setups[s], hist, params);
    if (status >= 0)
        status = rw_train(check->ctx, params, check->train[s], valid, 1, hooks, model);
    rw_params_free(params);
    return status;
}

/* The same; *n_trees of its model. */
static int train(struct check *check, int s, const char *hist, const struct rw_train_hooks *hooks,
                 int *n_trees)
{
    struct rw_model *model;
    const int status = make_model(check, s, hist, hooks, &model);
    *n_trees = status >= 0 ? rw_model_n_trees(model) : 0;
    rw_model_free(model);
    return status;
}

/* Everything is back. ask_driver: of cudaMemGetInfo too. */
static void see_back(struct check *check, const char *what, int ask_driver)
{
    char text[256];
    size_t free_bytes = check->free_bytes, all = 0;
    cudaError_t error = cudaDeviceSynchronize();
    if (ask_driver && error == cudaSuccess)
        error = cudaMemGetInfo(&free_bytes, &all);
    snprintf(text, sizeof(text),
             "%zu bytes free, %zu before; held: %zu bytes in %d pieces, %zu page-locked in %d, %d "
             "streams, %d events; %s",
             free_bytes, check->free_bytes, bytes_of(&device_memory), device_memory.n,
             bytes_of(&host_memory), host_memory.n, n_streams, n_events, cudaGetErrorString(error));
    see(check,
        error == cudaSuccess && free_bytes >= check->free_bytes && device_memory.n == 0 &&
            host_memory.n == 0 && n_streams == 0 && n_events == 0,
        what, text);
    if (ask_driver)
        printf("%s: %s\n", what, text);
}

/* ---- stages ---- */

/* Runs every method once, so that the driver allocates its permanent memory here. */
static void stage_warm(struct check *check)
{
    int n_trees;
    for (int s = 0; s < N_SETUPS; s++) {
        see(check, train(check, s, NULL, NULL, &n_trees) >= 0 && n_trees > 0, setups[s].name,
            rw_last_error(check->ctx));
        for (int m = 0; rw_hist_method_at(m); m++)
            (void)train(check, s, rw_hist_method_at(m)->name, NULL, &n_trees);
    }
    size_t all = 0;
    see(check, cudaMemGetInfo(&check->free_bytes, &all) == cudaSuccess, "warm", "cudaMemGetInfo");
    printf("warm: %zu of %zu bytes are free\n", check->free_bytes, all);
    see_back(check, "warm", 1);
}

static void stage_again(struct check *check, int times)
{
    int n_trees;
    for (int s = 0; s < N_SETUPS; s++) {
        for (int i = 0; i < times; i++) {
            see(check, train(check, s, NULL, NULL, &n_trees) >= 0 && n_trees > 0, setups[s].name,
                rw_last_error(check->ctx));
            see_back(check, setups[s].name, i + 1 == times);
        }
    }
}

/* Every allocation in turn is refused. */
static void stage_denied(struct check *check)
{
    for (int s = 0; s < N_SETUPS; s++) {
        uint64_t n_failed = 0, n = 0;
        do {
            int n_trees;
            n_asked = 0;
            fail_at = ++n;
            const int status = train(check, s, NULL, NULL, &n_trees);
            n_failed += status < 0;
            if (n_asked >= n) /* or else nothing was refused */
                see(check, status >= 0 || rw_last_error(check->ctx)[0], setups[s].name,
                    "a failure without a text");
            else
                see(check, status >= 0 && n_trees > 0, setups[s].name, rw_last_error(check->ctx));
            see_back(check, "an allocation refused", 0);
        } while (n_asked >= n && n < 10000);
        fail_at = 0;
        see(check, n_failed >= 10, setups[s].name, "too few allocations were refused");
        printf("%s: %llu trainings of %llu failed\n", setups[s].name, (unsigned long long)n_failed,
               (unsigned long long)n);
        see_back(check, setups[s].name, 1);
    }
}

/* The device is really full. */
static void stage_full(struct check *check)
{
    enum { MOST = 256 };
    const size_t least = (size_t)1 << 21;
    void *piece[MOST];
    int n = 0, n_trees;
    for (size_t bytes = check->free_bytes; bytes >= least && n < MOST;) {
        if (__real_cudaMalloc(&piece[n], bytes) == cudaSuccess)
            n++;
        else
            bytes /= 2;
    }
    (void)cudaGetLastError();
    for (int s = 0; s < N_SETUPS; s++) {
        const int status = train(check, s, NULL, NULL, &n_trees);
        see(check, status == RW_ERR_MEMORY, "a full device",
            status < 0 ? rw_last_error(check->ctx) : "it trained");
    }
    printf("full: %s\n", rw_last_error(check->ctx));
    while (n > 0)
        (void)__real_cudaFree(piece[--n]);
    see_back(check, "a full device", 1);
}

struct stop {
    int n_calls;
};

static int stop_after_two(void *user)
{
    return ++((struct stop *)user)->n_calls == 2;
}

static int stop_round(void *user, const struct rw_round *round)
{
    (void)user;
    return round->round == 2;
}

static int give_up(void *user, const struct rw_dataset *train, const double *scores,
                   double *gradients, double *hessians)
{
    const float *label = rw_dataset_labels(train);
    for (uint32_t i = 0; i < rw_dataset_n_docs(train); i++) {
        gradients[i] = (double)label[i] - scores[i];
        hessians[i] = 1.0;
    }
    return stop_after_two(user);
}

static int no_metric(void *user, const struct rw_dataset *dataset, const double *scores,
                     double *value)
{
    (void)dataset;
    *value = scores[0];
    return stop_after_two(user);
}

/* Stopped by each callback; the last two give up. */
static void stage_stopped(struct check *check)
{
    for (int i = 0; i < 4; i++) {
        struct stop stop = {0};
        const struct rw_train_hooks hooks = {.user = &stop,
                                             .should_stop = i == 0 ? stop_after_two : NULL,
                                             .on_round = i == 1 ? stop_round : NULL,
                                             .gradients = i == 2 ? give_up : NULL,
                                             .metric = i == 3 ? no_metric : NULL,
                                             .metric_name = "own"};
        int n_trees;
        const int status = train(check, 0, NULL, &hooks, &n_trees);
        see(check,
            i < 2 ? status >= 0 && n_trees >= 1 && n_trees <= 2 : status == RW_ERR_INTERRUPTED,
            "stopped", status < 0 ? rw_last_error(check->ctx) : "it went on");
        see_back(check, "stopped by a callback", 1);
    }
}

static int score_on(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_dataset *set,
                    double *scores)
{
    struct rw_scorer *scorer;
    int status = rw_scorer_open(ctx, model, 0, "cuda:0", &scorer);
    if (status >= 0)
        status = rw_scorer_run(ctx, scorer, set, scores);
    rw_scorer_free(scorer);
    return status;
}

/* Scores of the training set, `times` times, and with every allocation refused in turn; then by a
 * scorer that is kept. want, got: [n_docs]. */
static void predict(struct check *check, int s, const struct rw_model *model, int times,
                    double *want, double *got)
{
    const struct rw_dataset *set = check->train[s];
    const size_t bytes = rw_dataset_n_docs(set) * sizeof(*got);
    struct rw_scorer *scorer;
    see(check, rw_predict(check->ctx, model, set, 0, want) >= 0, "predict",
        rw_last_error(check->ctx));
    for (int i = -1; i < times; i++) { /* -1: kernels run for the first time */
        memset(got, 0xA5, bytes);
        const int status = score_on(check->ctx, model, set, got);
        see(check, status >= 0 && memcmp(want, got, bytes) == 0, "predict",
            status < 0 ? rw_last_error(check->ctx) : "other scores");
        size_t all;
        if (s == 0 && i < 0 && cudaMemGetInfo(&check->free_bytes, &all) != cudaSuccess)
            see(check, 0, "predict", "cudaMemGetInfo");
        see_back(check, "predict", i + 1 == times);
    }
    uint64_t n = 0;
    int status;
    do {
        n_asked = 0;
        fail_at = ++n;
        status = score_on(check->ctx, model, set, got);
        see_back(check, "predict, an allocation refused", 0);
    } while (n_asked >= n && n < 1000);
    fail_at = 0;
    printf("predict: %llu allocations refused\n", (unsigned long long)n - 1);
    see(check, status >= 0 && n > 3, "predict", "too few allocations were refused");
    see(check, rw_scorer_open(check->ctx, model, 0, "cuda:0", &scorer) >= 0, "scorer",
        rw_last_error(check->ctx));
    for (int i = 0, pieces = 0; scorer && i < times; i++) {
        status = rw_scorer_run(check->ctx, scorer, set, got);
        see(check, status >= 0 && memcmp(want, got, bytes) == 0, "scorer",
            status < 0 ? rw_last_error(check->ctx) : "other scores");
        see(check, i == 0 || pieces == device_memory.n, "scorer", "a run keeps memory");
        pieces = device_memory.n;
    }
    rw_scorer_free(scorer);
    see_back(check, "scorer", 1);
}

static void stage_predict(struct check *check, int times)
{
    for (int s = 0; s < N_SETUPS; s++) {
        struct rw_model *model;
        const uint32_t n = rw_dataset_n_docs(check->train[s]);
        double *scores = calloc(2 * (size_t)n, sizeof(*scores));
        if (!scores)
            abort();
        const int status = make_model(check, s, NULL, NULL, &model);
        see(check, status >= 0, "predict", rw_last_error(check->ctx));
        if (status >= 0)
            predict(check, s, model, times, scores, scores + n);
        rw_model_free(model);
        free(scores);
    }
}

/* ---- the program ---- */

int main(int argc, char **argv)
{
    struct check check = {.ctx = NULL};
    struct rw_device *device;
    int times = 20;
    if (argc == 3 && strcmp(argv[1], "--times") == 0)
        times = atoi(argv[2]);
    if (times < 1 || (argc != 1 && argc != 3)) {
        fprintf(stderr, "usage: %s [--times N]\n", argv[0]);
        return 2;
    }
    /* or else a kernel is loaded, and takes memory for good, when it first runs */
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    if (rw_ctx_new(&check.ctx) < 0)
        return 1;
    if (rw_device_open(check.ctx, 0, &device) < 0) {
        printf("skip: %s\n0 passed, 0 failed, 1 skipped\n", rw_last_error(check.ctx));
        rw_ctx_free(check.ctx);
        return SKIPPED;
    }
    printf("%s\n", device->name);
    rw_device_close(device);
    see(&check, make_sets(&check) >= 0, "making the data", rw_last_error(check.ctx));
    if (!check.failed) {
        stage_warm(&check);
        stage_again(&check, times);
        stage_denied(&check);
        stage_full(&check);
        stage_stopped(&check);
        stage_predict(&check, times);
    }
    for (int s = 0; s < N_SETUPS; s++) {
        rw_dataset_free(check.train[s]);
        rw_dataset_free(check.valid[s]);
    }
    rw_ctx_free(check.ctx);
    printf("%d passed, %d failed, 0 skipped\n", check.passed, check.failed);
    return check.failed > 0;
}
