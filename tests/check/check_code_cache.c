/* check_code_cache
 *
 * Tests the cache of codes on the GPU between trainings on one binned set (rw_binned), and between
 * the bags of one training. Each
 * model must be identical to that of a training on the values, whether its codes were cached or
 * not. Freeing the set must return its device memory, and unused codes must be evicted when
 * memory is short. The linker's --wrap counts allocations. Needs a GPU that no other program
 * uses; skips without one. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu/device/device.h"
#include "rankwood.h"

enum { SKIPPED = 77, N_DOCS = 400000, N_FEATURES = 40, QUERY = 80, FEW_DOCS = 400 };
enum { N_QUERIES = N_DOCS / QUERY, CODE_BYTES = N_DOCS * N_FEATURES / 2, N_THREADS = 3 };

/* ---- counts of allocations ---- */

/* clang-format off */
cudaError_t __real_cudaMalloc(void **p, size_t bytes);
cudaError_t __wrap_cudaMalloc(void **p, size_t bytes);
/* clang-format on */

static uint64_t asked_bytes; /* while one thread trains */

cudaError_t __wrap_cudaMalloc(void **p, size_t bytes)
{
    const cudaError_t error = __real_cudaMalloc(p, bytes);
    if (error == cudaSuccess)
        __atomic_fetch_add(&asked_bytes, bytes, __ATOMIC_RELAXED);
    return error;
}

static size_t free_bytes(void)
{
    size_t bytes = 0, all;
    return cudaMemGetInfo(&bytes, &all) == cudaSuccess ? bytes : 0;
}

/* ---- data ---- */

static float values[N_FEATURES][N_DOCS], labels[N_DOCS];
static uint32_t offsets[N_QUERIES + 1];
static struct rw_array columns[N_FEATURES];

/* Many values, few values, mostly 0, missing ones; feature 5 has only so many documents that are
 * not 0 that a larger min-docs leaves it out. */
static float value_of(uint32_t doc, int f, uint32_t random)
{
    if (f == 5)
        return doc % (N_DOCS / FEW_DOCS) == 0 ? 1.0f : 0.0f;
    if (f % 4 == 1)
        return (float)(random % 7);
    if (f % 4 == 2)
        return random % 5 ? 0.0f : (float)(random >> 8);
    return f % 4 == 3 && random % 11 == 0 ? NAN : (float)(random >> 4) * 1e-3f;
}

static void make_data(void)
{
    uint64_t state = 12345;
    for (int f = 0; f < N_FEATURES; f++) {
        for (uint32_t doc = 0; doc < N_DOCS; doc++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            values[f][doc] = value_of(doc, f, (uint32_t)(state >> 33));
        }
        columns[f] = (struct rw_array){
            .data = values[f], .type = RW_VALUE_F32, .stride = sizeof(values[f][0])};
    }
    for (uint32_t doc = 0; doc < N_DOCS; doc++)
        labels[doc] = fminf(4.0f, floorf(values[0][doc] / 3e4f) + values[1][doc] / 4.0f);
    for (uint32_t q = 0; q <= N_QUERIES; q++)
        offsets[q] = q * QUERY;
}

static struct rw_table table_of(uint32_t n_queries)
{
    return (struct rw_table){.n_docs = n_queries * QUERY,
                             .n_columns = N_FEATURES,
                             .column = columns,
                             .missing = NAN,
                             .label = labels,
                             .n_queries = n_queries,
                             .query_offset = offsets};
}

/* ---- trainings ---- */

struct check {
    struct rw_ctx *ctx;
    struct rw_dataset *dataset;
    int passed, failed;
};

static void see(struct check *check, int good, const char *what, const char *text)
{
    check->passed += good;
    check->failed += !good;
    if (!good)
        printf("not ok %s: %s\n", what, text);
    fflush(stdout);
}

struct model {
    char *text;
    size_t n_bytes;
    uint64_t asked;
};

/* One of binned and dataset is NULL. */
static int train(struct rw_ctx *ctx, const struct rw_binned *binned,
                 const struct rw_dataset *dataset, const char *const set[2], struct model *out)
{
    struct rw_params *params;
    struct rw_model *model = NULL;
    *out = (struct model){.text = NULL};
    int status = rw_params_new(ctx, &params);
    if (status >= 0)
        status = rw_params_set(ctx, params, "device", "cuda:0");
    if (status >= 0)
        status = rw_params_set(ctx, params, "rounds", "3");
    if (status >= 0)
        status = rw_params_set(ctx, params, set[0], set[1]);
    if (status >= 0 && strcmp(set[0], "bags") == 0)
        status = rw_params_set(ctx, params, "hist", "lanes");
    const uint64_t before = asked_bytes;
    if (status >= 0)
        status = binned ? rw_train_on(ctx, params, &(struct rw_training){.binned = binned}, &model)
                        : rw_train(ctx, params, dataset, NULL, 0, NULL, &model);
    out->asked = asked_bytes - before;
    if (status >= 0)
        status = rw_model_write_memory(ctx, model, &out->text, &out->n_bytes);
    rw_model_free(model);
    rw_params_free(params);
    return status;
}

static int are_equal(const struct model *a, const struct model *b)
{
    return a->text && b->text && a->n_bytes == b->n_bytes &&
           memcmp(a->text, b->text, a->n_bytes) == 0;
}

/* In this order. */
static const struct variant {
    const char *set[2];
    int is_served; /* its codes are those of the training before */
} variants[] = {{{"leaves", "31"}, 0},          {{"leaves", "100"}, 1},
                {{"split", "newton"}, 1},       {{"sample-features", "0.5"}, 1},
                {{"sample-queries", "0.7"}, 1}, {{"min-docs", "100"}, 1},
                {{"min-docs", "1000"}, 0},      {{"min-docs", "900"}, 0},
                {{"min-docs", "100"}, 0},       {{"ignore", "3"}, 0},
                {{"hist", "lanes"}, 0},         {{"seed", "7"}, 0},
                {{"rate", "0.3"}, 1},           {{"objective", "regression"}, 1}};
enum { N_VARIANTS = (int)(sizeof(variants) / sizeof(variants[0])) };

static int make_binned(struct check *check, const char *device, struct rw_binned **out)
{
    struct rw_params *params;
    const struct rw_table table = table_of(N_QUERIES);
    *out = NULL;
    int status = rw_params_new(check->ctx, &params);
    if (status >= 0)
        status = rw_params_set(check->ctx, params, "device", device);
    if (status >= 0)
        status = rw_params_set(check->ctx, params, "min-docs", "1");
    if (status >= 0)
        status = rw_binned_from_table(check->ctx, params, &table, out);
    rw_params_free(params);
    see(check, status >= 0, "binning", rw_last_error(check->ctx));
    return status;
}

/* ---- stages ---- */

/* device: where the set is binned for; cpu: it has codes, cuda: values. */
static void stage_variants(struct check *check, const char *device)
{
    struct rw_binned *binned;
    const size_t before = free_bytes();
    if (make_binned(check, device, &binned) < 0)
        return;
    for (int v = 0; v < N_VARIANTS; v++) {
        const struct variant *variant = &variants[v];
        struct model fresh, kept, alone = {.text = NULL};
        struct rw_binned *other;
        char what[128], text[256];
        snprintf(what, sizeof(what), "binned for %s, training %d, %s %s", device, v,
                 variant->set[0], variant->set[1]);
        const int made = train(check->ctx, NULL, check->dataset, variant->set, &fresh);
        see(check, made >= 0, what, rw_last_error(check->ctx));
        const int again = train(check->ctx, binned, NULL, variant->set, &kept);
        see(check, again >= 0, what, rw_last_error(check->ctx));
        see(check, are_equal(&fresh, &kept), what, "another model");
        if (make_binned(check, device, &other) >= 0)
            (void)train(check->ctx, other, NULL, variant->set, &alone);
        rw_binned_free(other);
        see(check, are_equal(&fresh, &alone), what, "another model of a set of its own");
        snprintf(text, sizeof(text), "%llu bytes of device memory were asked for, %llu alone",
                 (unsigned long long)kept.asked, (unsigned long long)alone.asked);
        see(check, (kept.asked + CODE_BYTES <= alone.asked) == variant->is_served, what, text);
        rw_free(alone.text);
        rw_free(fresh.text);
        rw_free(kept.text);
    }
    see(check, free_bytes() + CODE_BYTES <= before, device, "nothing is kept");
    rw_binned_free(binned);
    char text[128];
    snprintf(text, sizeof(text), "%zu bytes free, %zu before", free_bytes(), before);
    see(check, free_bytes() >= before, device, text);
}

struct job {
    const struct rw_binned *binned;
    struct model model[N_VARIANTS];
    int first, n_failed;
};

static void *train_all(void *user)
{
    struct job *job = user;
    struct rw_ctx *ctx;
    if (rw_ctx_new(&ctx) < 0) {
        job->n_failed = N_VARIANTS;
        return NULL;
    }
    for (int i = 0; i < N_VARIANTS; i++) {
        const int v = (i + job->first) % N_VARIANTS;
        job->n_failed += train(ctx, job->binned, NULL, variants[v].set, &job->model[v]) < 0;
    }
    rw_ctx_free(ctx);
    return NULL;
}

/* Several threads train on one set; each begins with another training. */
static void stage_threads(struct check *check)
{
    static struct job job[N_THREADS];
    pthread_t thread[N_THREADS];
    struct rw_binned *binned;
    if (make_binned(check, "cuda:0", &binned) < 0)
        return;
    for (int i = 0; i < N_THREADS; i++) {
        job[i] = (struct job){.binned = binned, .first = i * 3};
        if (pthread_create(&thread[i], NULL, train_all, &job[i]) != 0)
            abort();
    }
    for (int i = 0; i < N_THREADS; i++)
        pthread_join(thread[i], NULL);
    for (int v = 0; v < N_VARIANTS; v++) {
        struct model fresh;
        see(check, train(check->ctx, NULL, check->dataset, variants[v].set, &fresh) >= 0, "threads",
            rw_last_error(check->ctx));
        for (int i = 0; i < N_THREADS; i++) {
            see(check, are_equal(&fresh, &job[i].model[v]), "threads", variants[v].set[0]);
            rw_free(job[i].model[v].text);
        }
        rw_free(fresh.text);
    }
    for (int i = 0; i < N_THREADS; i++)
        see(check, job[i].n_failed == 0, "threads", "a training failed");
    rw_binned_free(binned);
}

/* The bags of a training share its codes, with and without a cache, and free them. With a forced
 * method, all other memory of three bags is three times that of one. */
static void stage_bags(struct check *check)
{
    static const char *const sets[2][2] = {{"bags", "1"}, {"bags", "3"}};
    struct model fresh[2], cached[2];
    struct rw_binned *binned;
    char text[128];
    if (make_binned(check, "cuda:0", &binned) < 0)
        return;
    for (int i = 0; i < 2; i++) {
        const size_t before = free_bytes();
        see(check, train(check->ctx, NULL, check->dataset, sets[i], &fresh[i]) >= 0, sets[i][1],
            rw_last_error(check->ctx));
        see(check, train(check->ctx, binned, NULL, sets[i], &cached[i]) >= 0, sets[i][1],
            rw_last_error(check->ctx));
        snprintf(text, sizeof(text), "%zu bytes free, %zu before", free_bytes(), before);
        see(check, free_bytes() >= before, sets[i][1], text);
        see(check, are_equal(&fresh[i], &cached[i]), sets[i][1], "another model");
        snprintf(text, sizeof(text), "%llu bytes of device memory were asked for, %llu by one bag",
                 (unsigned long long)fresh[i].asked, (unsigned long long)fresh[0].asked);
        see(check, i == 0 || fresh[1].asked + 2 * (uint64_t)CODE_BYTES <= 3 * fresh[0].asked,
            "bags", text);
    }
    for (int i = 0; i < 2; i++) {
        rw_free(fresh[i].text);
        rw_free(cached[i].text);
    }
    rw_binned_free(binned);
}

/* Takes all memory of the device but so much. Returns the number of chunks. */
static int fill(void **chunk, int most, size_t but)
{
    int n = 0;
    for (size_t bytes = free_bytes(); bytes >= 1 << 16 && n < most;) {
        const size_t left = free_bytes();
        if (left <= but)
            break;
        bytes = bytes > left - but ? left - but : bytes;
        if (__real_cudaMalloc(&chunk[n], bytes) == cudaSuccess)
            n++;
        else
            bytes /= 2;
    }
    (void)cudaGetLastError();
    return n;
}

/* Trainings with less and less free device memory. Each succeeds, because the cache is evicted,
 * and refilled when needed. */
static void stage_full(struct check *check)
{
    enum { MOST = 256 };
    static const char *const set[2] = {"leaves", "4"};
    void *chunk[MOST];
    int is_gone = 0;
    struct rw_binned *binned;
    struct rw_dataset *small = NULL;
    struct model first, again, other;
    const struct rw_table table = table_of(4);
    if (make_binned(check, "cuda:0", &binned) < 0)
        return;
    see(check, rw_dataset_from_table(check->ctx, &table, &small) >= 0, "full",
        rw_last_error(check->ctx));
    see(check, train(check->ctx, binned, NULL, set, &first) >= 0, "full",
        rw_last_error(check->ctx));
    for (size_t but = (size_t)64 << 20; but >= 1 << 20 && !is_gone && !check->failed; but /= 2) {
        int n = fill(chunk, MOST, but);
        const size_t before = free_bytes();
        see(check, train(check->ctx, NULL, small, set, &other) >= 0, "full: the other training",
            rw_last_error(check->ctx));
        is_gone = free_bytes() >= before + CODE_BYTES;
        printf("full: %zu bytes free before the other training, %zu after it\n", before,
               free_bytes());
        while (n > 0)
            (void)cudaFree(chunk[--n]);
        rw_free(other.text);
    }
    see(check, is_gone, "full", "what was kept did not go");
    see(check, train(check->ctx, binned, NULL, set, &again) >= 0, "full",
        rw_last_error(check->ctx));
    see(check, are_equal(&first, &again), "full", "another model");
    see(check, again.asked == first.asked, "full", "it was not made anew");
    rw_free(first.text);
    rw_free(again.text);
    rw_dataset_free(small);
    rw_binned_free(binned);
}

int main(void)
{
    struct check check = {.ctx = NULL};
    struct rw_device *device;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); /* or else kernels take memory when they first run */
    if (rw_ctx_new(&check.ctx) < 0)
        return 1;
    if (rw_device_open(check.ctx, 0, &device) < 0) {
        printf("skip: %s\n0 passed, 0 failed, 1 skipped\n", rw_last_error(check.ctx));
        rw_ctx_free(check.ctx);
        return SKIPPED;
    }
    rw_device_close(device);
    make_data();
    const struct rw_table table = table_of(N_QUERIES);
    struct model warm;
    see(&check, rw_dataset_from_table(check.ctx, &table, &check.dataset) >= 0, "making the data",
        rw_last_error(check.ctx));
    /* Whatever the driver keeps for good. It keeps more for several bags. */
    static const char *const bags[2] = {"bags", "3"};
    for (int v = 0; v <= N_VARIANTS && !check.failed; v++) {
        const char *const *set = v < N_VARIANTS ? variants[v].set : bags;
        see(&check, train(check.ctx, NULL, check.dataset, set, &warm) >= 0, "warm",
            rw_last_error(check.ctx));
        rw_free(warm.text);
    }
    if (!check.failed) {
        stage_variants(&check, "cuda:0");
        stage_variants(&check, "cpu");
        stage_bags(&check);
        stage_threads(&check);
        stage_full(&check);
    }
    rw_dataset_free(check.dataset);
    rw_ctx_free(check.ctx);
    printf("%d passed, %d failed, 0 skipped\n", check.passed, check.failed);
    return check.failed > 0;
}
