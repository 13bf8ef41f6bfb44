/* check_lambda [--seed N] [--stage NAME] [--quick] [--bench]
 *
 * Compares gradients and metrics of the device with the host's functions, by ==. Covers queries
 * around every size at which the kernel changes, and every kind of label, gain and score;
 * truncations, norm, sigma, weights and samples. Outputs are poisoned and fenced. Needs a GPU;
 * skips without one. */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/rng.h"
#include "check_lambda.h"
#include "gpu/objective/lambda_cuda.h"
#include "gpu/device/device.h"
#include "metric/metric.h"

enum { FENCE = 256, POISON = 0xA5, MOST_LISTED = 20, SKIPPED = 77 };

void lambda_failed(struct lambda_run *run, const char *what, const char *text)
{
    if (run->n_failed++ < MOST_LISTED)
        printf("not ok %s: %s: %s\n", run->stage, what, text);
    fflush(stdout);
}

void lambda_device_failed(struct lambda_run *run, const char *what)
{
    lambda_failed(run, what, rw_last_error(run->ctx));
    run->dead = 1;
}

static void *host_room(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        abort();
    return p;
}

/* ---- fenced memory of the device ---- */

struct fenced {
    unsigned char *d;
    size_t bytes;
};

static void *fenced_at(const struct fenced *f)
{
    return f->d + FENCE;
}

/* Waits: the device's stream does not wait for the one that this is set on. */
static int fenced_poison(struct fenced *f)
{
    return cudaMemset(f->d, POISON, f->bytes + 2 * FENCE) == cudaSuccess &&
                   cudaDeviceSynchronize() == cudaSuccess
               ? 0
               : -1;
}

static int fenced_make(struct lambda_run *run, struct fenced *f, size_t bytes)
{
    f->bytes = bytes;
    if (rw_device_alloc(run->ctx, (void **)&f->d, bytes + 2 * FENCE) < 0)
        return -1;
    return fenced_poison(f);
}

/* out: [bytes]. 1 if the fences stand, 0 if not, -1 if the device failed. */
static int fenced_read(struct lambda_run *run, const struct fenced *f, void *out)
{
    unsigned char *all = host_room(f->bytes + 2 * FENCE, 1);
    int good = 1;
    if (rw_transfer_read(run->device, all, f->d, f->bytes + 2 * FENCE) < 0)
        good = -1;
    for (int i = 0; good > 0 && i < FENCE; i++)
        good = all[i] == POISON && all[FENCE + f->bytes + (size_t)i] == POISON;
    memcpy(out, all + FENCE, f->bytes);
    free(all);
    return good;
}

/* ---- expected results ---- */

struct integers {
    int64_t *lambda, *weight; /* [n_docs] */
    struct rw_cuda_lambda_info info;
};

static void largest_of(const struct lambda_set *set, struct integers *out)
{
    for (uint32_t i = 0; i < set->data.n_docs; i++) {
        if (!set->sampled[i])
            continue;
        const uint64_t lambda = (uint64_t)llabs(out->lambda[i]);
        const uint64_t weight = (uint64_t)llabs(out->weight[i]);
        if (lambda > out->info.largest_lambda)
            out->info.largest_lambda = lambda;
        if (weight > out->info.largest_hessian)
            out->info.largest_hessian = weight;
    }
}

struct expect_job {
    const struct lambda_set *set;
    const struct rw_lambda_rule *rule;
    const double *discount;
    struct integers *out;
};

static int expect_queries(void *user, struct rw_share *share)
{
    const struct expect_job *job = user;
    const struct lambda_set *set = job->set;
    const struct rw_dataset *data = &set->data;
    uint32_t *order = host_room(set->longest, sizeof(*order));
    double *scratch = host_room(set->longest, sizeof(*scratch));
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        const uint32_t first = data->query_offset[q], n = data->query_offset[q + 1] - first;
        if (n == 0 || !set->sampled[first])
            continue;
        const double ideal =
            rw_ideal_dcg(set->gain + first, n, job->rule->truncation, job->discount, scratch);
        rw_rank_query(set->score + first, n, 0, order);
        const struct rw_objective_query query = {.n = n,
                                                 .scores = set->score + first,
                                                 .gains = set->gain + first,
                                                 .weights =
                                                     data->weight ? data->weight + first : NULL,
                                                 .order = order,
                                                 .discounts = job->discount,
                                                 .ideal = ideal,
                                                 .lambda = job->out->lambda + first,
                                                 .hess = job->out->weight + first};
        rw_lambda_query(job->rule, &query);
    }
    free(order);
    free(scratch);
    return RW_OK;
}

static void expect_lambdas(struct rw_ctx *ctx, const struct lambda_set *set,
                           const struct rw_lambda_rule *rule, struct integers *out)
{
    double *discount = host_room(set->longest, sizeof(*discount));
    for (uint32_t r = 0; r < set->longest; r++)
        discount[r] = rw_discount(r);
    struct expect_job job = {set, rule, discount, out};
    rw_parallel(ctx, ctx->n_threads, set->data.n_queries, 1, expect_queries, &job);
    free(discount);
    memset(&out->info, 0, sizeof(out->info));
    largest_of(set, out);
    out->info.lambda_exponent = out->info.hessian_exponent = RW_LAMBDA_EXPONENT;
}

/* Written apart from the engines. */
static int exponent_for(double largest)
{
    if (largest == 0.0)
        return RW_LAMBDA_EXPONENT;
    int e;
    frexp(largest, &e); /* largest is in [2^(e-1), 2^e) */
    if (largest < 2.2250738585072014e-308)
        e = -1022;
    return 61 - e > 400 ? 400 : 61 - e;
}

static void expect_reals(const struct lambda_set *set, const double *gradient,
                         const double *hessian, struct integers *out)
{
    double most = 0.0, heaviest = 0.0;
    const uint32_t n = set->data.n_docs;
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < n; i++) {
            const double by = set->data.weight ? set->data.weight[i] : 1.0;
            const double g =
                (gradient ? gradient[i] : (double)set->data.label[i] - set->score[i]) * by;
            const double h = (hessian ? hessian[i] : 1.0) * by;
            if (!set->sampled[i])
                continue;
            if (pass == 0) {
                most = fmax(most, fabs(g));
                heaviest = fmax(heaviest, fabs(h));
                continue;
            }
            out->lambda[i] = llrint(ldexp(g, exponent_for(most)));
            out->weight[i] = llrint(ldexp(h, exponent_for(heaviest)));
        }
    memset(&out->info, 0, sizeof(out->info));
    largest_of(set, out);
    out->info.lambda_exponent = exponent_for(most);
    out->info.hessian_exponent = exponent_for(heaviest);
}

/* ---- one case of gradients ---- */

struct lambda_case {
    struct lambda_run *run;
    struct lambda_set *set;
    const struct rw_engine_rules *rules;
    const double *gradient, *hessian; /* custom */
    struct rw_cuda_lambda *lambda;
    struct fenced d_score, d_sampled, d_pair, d_info;
    char what[200];
};

static int differs(const struct lambda_set *set, const struct integers *want,
                   const struct rw_lambda_pair *got, uint32_t *doc)
{
    for (uint32_t i = 0; i < set->data.n_docs; i++)
        if (set->sampled[i] &&
            (want->lambda[i] != got[i].lambda || want->weight[i] != got[i].hessian)) {
            *doc = i;
            return 1;
        }
    return 0;
}

static void compare_pairs(struct lambda_case *c, const struct integers *want)
{
    char text[200];
    uint32_t doc = 0;
    struct rw_lambda_pair *got = host_room(c->set->data.n_docs, sizeof(*got));
    const int fences = fenced_read(c->run, &c->d_pair, got);
    if (fences < 0) {
        lambda_device_failed(c->run, c->what);
    } else if (fences == 0) {
        lambda_failed(c->run, c->what, "a fence was written");
    } else if (differs(c->set, want, got, &doc)) {
        snprintf(text, sizeof(text),
                 "lambda, weight of document %u are %lld, %lld, expected %lld, %lld", doc,
                 (long long)got[doc].lambda, (long long)got[doc].hessian,
                 (long long)want->lambda[doc], (long long)want->weight[doc]);
        lambda_failed(c->run, c->what, text);
    } else {
        c->run->n_equal++;
    }
    free(got);
}

static void compare_info(struct lambda_case *c, const struct rw_cuda_lambda_info *want)
{
    struct rw_cuda_lambda_info got;
    char text[200];
    if (fenced_read(c->run, &c->d_info, &got) < 0) {
        lambda_device_failed(c->run, c->what);
        return;
    }
    if (got.largest_lambda == want->largest_lambda &&
        got.largest_hessian == want->largest_hessian &&
        got.lambda_exponent == want->lambda_exponent &&
        got.hessian_exponent == want->hessian_exponent) {
        c->run->n_equal++;
        return;
    }
    snprintf(
        text, sizeof(text), "largest %llu, %llu; exponents %d, %d; expected %llu, %llu; %d, %d",
        (unsigned long long)got.largest_lambda, (unsigned long long)got.largest_hessian,
        got.lambda_exponent, got.hessian_exponent, (unsigned long long)want->largest_lambda,
        (unsigned long long)want->largest_hessian, want->lambda_exponent, want->hessian_exponent);
    lambda_failed(c->run, c->what, text);
}

static void expect_neighbours(const struct lambda_case *c, struct integers *want)
{
    if (lambda_expect_neighbours(c->run->ctx, c->set, c->rules, want->lambda, want->weight) < 0)
        lambda_failed(c->run, c->what, rw_last_error(c->run->ctx));
    largest_of(c->set, want);
    want->info.lambda_exponent = want->info.hessian_exponent = RW_LAMBDA_EXPONENT;
}

/* Gradients of the host. If they are beyond the limits, the device's integers are 0, and
 * rw_cuda_lambda_check fails with the host's message. */
static void expect_reals_of_host(struct lambda_case *c, struct integers *want)
{
    const struct lambda_set *set = c->set;
    const uint32_t n = set->data.n_docs;
    struct rw_ctx *ctx = c->run->ctx;
    struct rw_cuda_lambda_info info;
    char text[300] = "";
    double *reals = host_room(2 * (size_t)n, sizeof(*reals));
    const int host = lambda_expect_reals(ctx, set, c->rules, reals, reals + n);
    if (host < 0) {
        snprintf(text, sizeof(text), "%s", rw_last_error(ctx));
        memset(reals, 0, 2 * (size_t)n * sizeof(*reals));
    }
    expect_reals(set, reals, reals + n, want);
    free(reals);
    if (fenced_read(c->run, &c->d_info, &info) < 0) {
        lambda_device_failed(c->run, c->what);
        return;
    }
    const int device = rw_cuda_lambda_check(c->lambda, &info);
    if (device != host || (host < 0 && strcmp(text, rw_last_error(ctx)) != 0))
        lambda_failed(c->run, c->what, host < 0 ? text : "the device refuses the gradients");
    c->run->n_refused += host < 0;
}

static int enqueue(struct lambda_case *c)
{
    const struct rw_cuda_lambda_run run = {.d_scores = fenced_at(&c->d_score),
                                           .d_sampled =
                                               c->d_sampled.d ? fenced_at(&c->d_sampled) : NULL,
                                           .d_pair = fenced_at(&c->d_pair),
                                           .d_info = fenced_at(&c->d_info)};
    return rw_cuda_lambdas_run(c->lambda, &run, LAMBDA_TREE, LAMBDA_FIRST_DOC,
                               c->run->device->stream);
}

/* Runs with the set's scores as they are; captured: into a graph, launched twice. */
static void run_lambdas(struct lambda_case *c, int captured)
{
    struct lambda_run *run = c->run;
    struct rw_dataset *data = &c->set->data;
    cudaStream_t stream = run->device->stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    int good = fenced_poison(&c->d_pair) == 0 && fenced_poison(&c->d_info) == 0 &&
               rw_transfer_write(run->device, fenced_at(&c->d_score), c->set->score,
                                 data->n_docs * sizeof(double)) >= 0;
    if (good && captured) {
        good = cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess;
        good = enqueue(c) >= 0 && good;
        good = cudaStreamEndCapture(stream, &graph) == cudaSuccess && good;
        good = good && cudaGraphInstantiate(&exec, graph, 0) == cudaSuccess &&
               cudaGraphLaunch(exec, stream) == cudaSuccess &&
               cudaGraphLaunch(exec, stream) == cudaSuccess;
    } else if (good) {
        good = enqueue(c) >= 0;
    }
    if (!good || rw_transfer_wait(run->device) < 0) {
        lambda_device_failed(run, c->what);
    } else {
        struct integers want = {host_room(data->n_docs, sizeof(int64_t)),
                                host_room(data->n_docs, sizeof(int64_t)),
                                {0}};
        if (c->rules->rule && c->rules->objective->is_fixed)
            expect_neighbours(c, &want);
        else if (c->rules->rule)
            expect_reals_of_host(c, &want);
        else if (rw_rules_rank(c->rules))
            expect_lambdas(c->run->ctx, c->set, &c->rules->lambda, &want);
        else
            expect_reals(c->set, c->gradient, c->hessian, &want);
        compare_pairs(c, &want);
        compare_info(c, &want.info);
        free(want.lambda);
        free(want.weight);
    }
    if (exec)
        (void)cudaGraphExecDestroy(exec);
    if (graph)
        (void)cudaGraphDestroy(graph);
}

/* Two runs of one object: the second on other scores. */
void lambda_check_gradients(struct lambda_run *run, struct lambda_set *set,
                            const struct rw_engine_rules *rules, enum lambda_scores scores,
                            const char *what)
{
    struct lambda_case c = {.run = run, .set = set, .rules = rules};
    const uint32_t n = set->data.n_docs;
    if (run->dead)
        return;
    snprintf(c.what, sizeof(c.what),
             "%s, %u queries, %u documents, truncation %u, sigma %g, norm %d", what,
             set->data.n_queries, n, rules->lambda.truncation, (double)rules->lambda.sigma,
             rules->lambda.norm);
    const struct rw_objective_rule of_pair = {.pair = rules->lambda};
    const int allowed = !rules->objective || !rules->objective->check ||
                        rules->objective->check(run->ctx, rules->rule ? rules->rule : &of_pair,
                                                set->longest, set->max_weight) >= 0;
    const int status = rw_cuda_lambda_new(run->ctx, run->device, rules, &set->data,
                                          rw_rules_rank(rules) ? set->gain : NULL, &c.lambda);
    if (!allowed || status < 0) {
        if (!allowed && status == RW_ERR_DATA)
            run->n_refused++;
        else
            lambda_failed(run, c.what, allowed ? rw_last_error(run->ctx) : "it should be refused");
        rw_cuda_lambda_free(c.lambda);
        return;
    }
    double *reals = host_room(2 * (size_t)n, sizeof(*reals));
    int sampled = 0;
    for (uint32_t i = 0; i < n; i++) {
        sampled |= !set->sampled[i];
        reals[i] = (lambda_unit(run->seed + 5, i) - 0.5) * (i % 7 ? 1.0 : 1e9);
        reals[n + i] = lambda_unit(run->seed + 6, i);
    }
    int good = fenced_make(run, &c.d_score, n * sizeof(double)) == 0 &&
               fenced_make(run, &c.d_pair, n * sizeof(struct rw_lambda_pair)) == 0 &&
               fenced_make(run, &c.d_info, sizeof(struct rw_cuda_lambda_info)) == 0;
    if (good && sampled)
        good = fenced_make(run, &c.d_sampled, n) == 0 &&
               rw_transfer_write(run->device, fenced_at(&c.d_sampled), set->sampled, n) >= 0;
    if (good && !rules->objective) {
        c.gradient = reals;
        c.hessian = reals + n;
        good = rw_cuda_lambda_set_gradients(c.lambda, c.gradient, c.hessian, 0) >= 0;
    }
    if (!good) {
        lambda_device_failed(run, c.what);
    } else {
        RW_SCOPED(rw_cuda_lambda_free) struct rw_cuda_lambda *planned = NULL;
        if (rw_cuda_lambda_new(run->ctx, NULL, rules, &set->data, NULL, &planned) < 0 ||
            rw_cuda_lambda_bytes(c.lambda) > rw_cuda_lambda_bytes(planned))
            lambda_failed(run, c.what, "it holds more bytes than were planned");
        lambda_set_scores(set, scores, run->seed);
        run_lambdas(&c, 0);
        lambda_set_scores(set, (enum lambda_scores)((scores + 1) % N_SCORES), run->seed + 9);
        if (!run->dead)
            run_lambdas(&c, 1);
    }
    const struct fenced *const all[] = {&c.d_score, &c.d_sampled, &c.d_pair, &c.d_info};
    for (int i = 0; i < LENGTH(all); i++)
        rw_device_free(all[i]->d);
    rw_cuda_lambda_free(c.lambda);
    free(reals);
}

/* ---- stages ---- */

/* objective: NULL for user gradients. */
static struct rw_engine_rules rules_of(const struct rw_objective *objective, float sigma,
                                       uint32_t truncation, int norm)
{
    return (struct rw_engine_rules){.objective = objective, .lambda = {sigma, truncation, norm}};
}

/* Every kind of labels, gains and scores; truncation, sigma, norm, weights and samples in turn. */
static void stage_lambdas(struct lambda_run *run)
{
    static const uint32_t truncations[] = {30, 1, 10, 4096, 2, 31, 100};
    static const float sigmas[] = {1.0f, 1.0f, 0.001f, 2.5f, 1.0f, 100.0f};
    uint32_t turn = 0;
    for (int shape = 0; shape < LAMBDA_SHAPES; shape++)
        for (int labels = 0; labels < N_LABELS; labels++)
            for (int gains = 0; gains < N_GAINS; gains++)
                for (int scores = 0; scores < N_SCORES; scores++, turn++) {
                    if ((shape >= 3 && turn % 9) || (run->quick && turn % 5))
                        continue;
                    struct lambda_set set;
                    uint32_t t = truncations[turn % LENGTH(truncations)];
                    t = shape >= 3 && t > 100 ? 30 : t; /* the host's sake */
                    const struct rw_engine_rules rules =
                        rules_of(&rw_objective_lambdarank, sigmas[turn / 2 % LENGTH(sigmas)], t,
                                 turn / 3 % 3 != 0);
                    lambda_make_turn(run, &set, shape, labels, gains, turn, turn % 4 == 3);
                    char what[100];
                    snprintf(what, sizeof(what), "shape %d, labels %d, gains %d, scores %d", shape,
                             labels, gains, scores);
                    lambda_check_gradients(run, &set, &rules, scores, what);
                    lambda_set_release(&set);
                }
}

/* All pairs, and truncations at a query's own size. */
static void stage_all_pairs(struct lambda_run *run)
{
    static const uint32_t sizes[] = {1,   2,   31,  32,   33,   128,  256,  257,
                                     511, 513, 600, 1536, 1537, 2048, 2049, 6000};
    for (int s = 0; s < LENGTH(sizes); s++)
        for (int t = -1; t < 3; t++) {
            struct lambda_set set;
            const uint32_t pair[] = {sizes[s], 40, sizes[s]};
            const struct rw_engine_rules rules =
                rules_of(&rw_objective_lambdarank, 1.0f, t < 0 ? 0 : sizes[s] + (uint32_t)t - 1, 1);
            if (run->quick && sizes[s] > 3000)
                continue;
            lambda_set_init(&set, pair, 3);
            lambda_set_labels(&set, LABELS_SKEWED, GAINS_EXP, run->seed);
            lambda_check_gradients(run, &set, &rules, s % N_SCORES, "all pairs");
            lambda_set_release(&set);
        }
}

static void stage_gradients(struct lambda_run *run)
{
    for (int shape = 0; shape < LAMBDA_SHAPES; shape++)
        for (int scores = 0; scores < N_SCORES; scores++)
            for (int custom = 0; custom < 2; custom++) {
                struct lambda_set set;
                const struct rw_engine_rules rules =
                    rules_of(custom ? NULL : &rw_objective_regression, 1.0f, 30, 1);
                if (scores == SCORES_HUGE && !custom)
                    continue; /* a label less 1e308 overflows: no training comes to that */
                lambda_make_set(run, &set, shape);
                lambda_set_labels(&set, scores % 2 ? LABELS_FRACTIONS : LABELS_NONE, GAINS_EXP,
                                  run->seed);
                lambda_set_weights(&set, scores % 4, run->seed);
                if (scores % 3 == 1)
                    lambda_set_sample(&set, 0.5, run->seed);
                lambda_check_gradients(run, &set, &rules,
                                       scores == SCORES_ZEROS && !custom ? SCORES_SAME : scores,
                                       custom ? "custom" : "residuals");
                lambda_set_release(&set);
            }
}

static void stage_metrics(struct lambda_run *run)
{
    static const double relevants[] = {1.0, 0.0, 2.0, 100.0};
    uint32_t turn = 0;
    for (int shape = 0; shape < LAMBDA_SHAPES; shape++)
        for (int labels = 0; labels < N_LABELS; labels++)
            for (int scores = 0; scores < N_SCORES; scores += 2, turn++) {
                struct lambda_set set;
                if ((shape >= 3 && turn % 3) || (run->quick && turn % 2))
                    continue;
                lambda_make_set(run, &set, shape);
                lambda_set_labels(&set, labels, GAINS_EXP, run->seed);
                lambda_set_weights(&set, (int)(turn % 4), run->seed);
                for (int ties = 0; ties < 2; ties++)
                    lambda_check_metrics(run, &set, scores, (enum rw_empty)(turn % 3),
                                         (enum rw_ties)ties, relevants[turn / 2 % 4]);
                lambda_set_release(&set);
            }
}

/* The device's short cuts on all floats. */
static void stage_bounded(struct lambda_run *run)
{
    static const char *const names[] = {"reciprocals", "quotients", "roundings", "exp"};
    unsigned long long wrong[LENGTH(names)] = {0}, *d_wrong = NULL;
    const size_t bytes = sizeof(wrong);
    if (run->dead)
        return;
    if (rw_device_alloc(run->ctx, (void **)&d_wrong, bytes) < 0 ||
        rw_transfer_write(run->device, d_wrong, wrong, bytes) < 0 ||
        lambda_bounded_check_run(d_wrong, run->device->stream) != 0 ||
        rw_transfer_read(run->device, wrong, d_wrong, bytes) < 0) {
        lambda_device_failed(run, "short cuts");
    } else {
        for (int i = 0; i < LENGTH(names); i++) {
            char text[80];
            snprintf(text, sizeof(text), "%llu are wrong", wrong[i]);
            if (wrong[i])
                lambda_failed(run, names[i], text);
            else
                run->n_equal++;
        }
    }
    rw_device_free(d_wrong);
}

/* ---- the program ---- */

static const struct stage {
    const char *name;
    void (*run)(struct lambda_run *run);
} stages[] = {{"bounded", stage_bounded},
              {"lambdas", stage_lambdas},
              {"all-pairs", stage_all_pairs},
              {"gradients", stage_gradients},
              {"neighbours", lambda_stage_neighbours},
              {"queries", lambda_stage_queries},
              {"deltas", lambda_stage_deltas},
              {"metrics", stage_metrics}};

int main(int argc, char **argv)
{
    struct lambda_run run = {.seed = 1};
    const char *only = NULL;
    int bench = 0, failed;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--quick") == 0)
            run.quick = 1;
        else if (strcmp(argv[i], "--bench") == 0)
            bench = 1;
        else if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc)
            run.seed = strtoull(argv[++i], NULL, 0);
        else if (strcmp(argv[i], "--stage") == 0 && i + 1 < argc)
            only = argv[++i];
        else
            return fprintf(stderr, "usage: %s [--seed N] [--stage NAME] [--quick] [--bench]\n",
                           argv[0]),
                   2;
    }
    if (rw_ctx_new(&run.ctx) < 0)
        return 1;
    printf("seed %llu\n", (unsigned long long)run.seed);
    if (rw_device_open(run.ctx, 0, &run.device) < 0) {
        printf("skip: %s\n0 passed, 0 failed, 1 skipped\n", rw_last_error(run.ctx));
        rw_ctx_free(run.ctx);
        return SKIPPED;
    }
    printf("%s\n", run.device->name);
    if (bench) {
        failed = lambda_bench(run.ctx, run.device, run.quick);
    } else {
        for (int s = 0; s < LENGTH(stages); s++) {
            if (only && strcmp(only, stages[s].name) != 0)
                continue;
            const uint64_t equal = run.n_equal, wrong = run.n_failed;
            run.stage = stages[s].name;
            stages[s].run(&run);
            printf("%-12s %8llu equal %6llu failed\n", run.stage,
                   (unsigned long long)(run.n_equal - equal),
                   (unsigned long long)(run.n_failed - wrong));
            fflush(stdout);
        }
        printf("%llu passed, %llu failed, %llu refused as they should be\n",
               (unsigned long long)run.n_equal, (unsigned long long)run.n_failed,
               (unsigned long long)run.n_refused);
        failed = run.n_failed > 0 || run.n_equal == 0 || run.dead;
    }
    rw_device_close(run.device);
    rw_ctx_free(run.ctx);
    return failed;
}
