/* Training sets generated as codes, and the suites "far" and "workers", which train on them. The
 * values of sets of this size would not fit in memory. */
#include <float.h>

#include "bench/bench.h"
#include "gpu/device/device.h"

/* Each of the eight bytes of a random 64-bit word makes the code of one feature. Every
 * INFORMATIVE_STEP-th feature depends on the document's quality, and so does the label. A thread
 * takes CHUNK_DOCS documents at a time. */
enum { FEATURES_PER_WORD = 8, INFORMATIVE_STEP = 4, CHUNK_DOCS = 4096, LABELS = 5 };

struct make {
    struct rw_binned *binned;
    uint64_t seed, first; /* first: number of the first document in the whole set */
    uint32_t n_words;     /* random words per document, each for FEATURES_PER_WORD features */
};

/* Returns eight random bytes, which depend only on `seed` and on the number `item` (Steele, Lea and
 * Flood, "Fast splittable pseudorandom number generators"). */
static uint64_t bytes_of(uint64_t seed, uint64_t item)
{
    uint64_t z = seed + (item + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* Returns a document's quality, 0 to 255, from which its label is drawn. */
static uint32_t quality_of(uint64_t seed, uint64_t doc)
{
    return (uint32_t)(bytes_of(~seed, doc) >> 56);
}

/* Returns a document's label, 0 to LABELS - 1. About half of the labels are 0. noise: 0 to 255. */
static float label_of(uint32_t quality, uint32_t noise)
{
    static const uint32_t from[LABELS - 1] = {128, 200, 235, 250};
    const uint32_t seen = (3 * quality + noise) / 4;
    float label = 0.0f;
    for (int l = 0; l < LABELS - 1; l++)
        label += (float)(seen >= from[l]);
    return label;
}

static int fill(void *user, struct rw_share *share)
{
    const struct make *make = user;
    const struct rw_bins *bins = make->binned->bins;
    /* Random numbers depend on the document's number in the whole set. */
    const uint64_t first = make->first;
    float *label = make->binned->documents->label;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (uint64_t d = doc; d < end; d++)
            label[d] = label_of(quality_of(make->seed, first + d),
                                (uint32_t)(bytes_of(~make->seed, first + d) & 255));
        for (uint32_t f = 0; f < make->binned->n_features; f += FEATURES_PER_WORD) {
            const uint32_t left = make->binned->n_features - f;
            for (uint64_t d = doc; d < end; d++) {
                uint64_t bytes =
                    bytes_of(make->seed, (first + d) * make->n_words + f / FEATURES_PER_WORD);
                const uint32_t quality = quality_of(make->seed, first + d);
                for (uint32_t k = 0; k < FEATURES_PER_WORD && k < left; k++, bytes >>= 8) {
                    uint32_t byte = (uint32_t)(bytes & 255);
                    if ((f + k) % INFORMATIVE_STEP == 0)
                        byte = (quality + (f + k + 1) * byte) / (f + k + 2);
                    const uint32_t n_bins = rw_cuts_n_bins(bins->cuts, f + k);
                    ((uint8_t *)bins->codes[f + k].code)[d] = (uint8_t)(byte * n_bins / 256);
                }
            }
        }
    }
    return RW_OK;
}

static int make_documents(struct rw_ctx *ctx, uint32_t n_docs, struct rw_dataset **out)
{
    const uint32_t n_queries = (n_docs + RW_BENCH_CODES_DOCS - 1) / RW_BENCH_CODES_DOCS;
    RW_TRY(RW_NEW(ctx, *out, 1));
    struct rw_dataset *set = *out;
    RW_TRY(RW_NEW_RAW(ctx, set->label, n_docs));
    RW_TRY(RW_NEW(ctx, set->query_offset, (size_t)n_queries + 1));
    RW_TRY(RW_NEW(ctx, set->query_id.offset, (size_t)n_queries + 1));
    RW_TRY(RW_NEW(ctx, set->query_id.text, (size_t)n_queries + 1)); /* ids are empty */
    for (uint32_t q = 0; q <= n_queries; q++) {
        set->query_offset[q] = q < n_queries ? q * RW_BENCH_CODES_DOCS : n_docs;
        set->query_id.offset[q] = q;
    }
    set->n_docs = n_docs;
    set->n_queries = n_queries;
    return RW_OK;
}

static int make_cuts(struct rw_ctx *ctx, uint32_t n, uint32_t n_bins, struct rw_cuts **out)
{
    RW_TRY(RW_NEW(ctx, *out, 1));
    struct rw_cuts *cuts = *out;
    RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->feature, n));
    RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->offset, n + 1));
    RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->cut, (size_t)n * n_bins));
    RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->has_missing, n));
    cuts->n_features = n;
    for (uint32_t f = 0; f < n; f++) {
        cuts->feature[f] = f + 1;
        cuts->offset[f + 1] = cuts->offset[f] + n_bins;
        for (uint32_t b = 0; b < n_bins; b++)
            cuts->cut[cuts->offset[f] + b] = b + 1 < n_bins ? (float)b + 0.5f : FLT_MAX;
    }
    return RW_OK;
}

static int make_bins(struct rw_ctx *ctx, const struct rw_cut_rule *rule, uint32_t n_docs,
                     uint32_t n_features, struct rw_bins **out)
{
    const uint32_t most = 255, n_bins = (uint32_t)rule->bins < most ? (uint32_t)rule->bins : most;
    RW_TRY(RW_NEW(ctx, *out, 1));
    struct rw_bins *bins = *out;
    bins->rule = *rule;
    bins->n_docs = n_docs;
    bins->owns_cuts = 1;
    RW_TRY(make_cuts(ctx, n_features, n_bins, &bins->cuts));
    RW_TRY(RW_NEW(ctx, bins->codes, n_features));
    for (uint32_t f = 0; f < n_features; f++) {
        bins->codes[f].n = n_docs;
        RW_TRY(rw_mem_new_raw(ctx, &bins->codes[f].code, n_docs, 1));
    }
    return RW_OK;
}

/* Describes the queries [first, end) of a set with RW_BENCH_CODES_FEATURES features. */
static struct rw_bench_codes codes_of_queries(uint32_t first, uint32_t end, uint64_t seed)
{
    return (struct rw_bench_codes){.first = first,
                                   .n_docs = (uint64_t)(end - first) * RW_BENCH_CODES_DOCS,
                                   .n_features = RW_BENCH_CODES_FEATURES,
                                   .seed = seed};
}

int rw_bench_codes_make(struct rw_ctx *ctx, const struct rw_bench_codes *codes,
                        const struct rw_cut_rule *rule, struct rw_binned **out)
{
    const uint32_t n_docs = (uint32_t)codes->n_docs, n_features = codes->n_features;
    RW_SCOPED(rw_binned_free) struct rw_binned *binned = NULL;
    *out = NULL;
    if (codes->n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%llu documents; expected at most %u",
                       (unsigned long long)codes->n_docs, RW_MAX_DOCS);
    RW_TRY(RW_NEW(ctx, binned, 1));
    struct make make = {binned, codes->seed, (uint64_t)codes->first * RW_BENCH_CODES_DOCS,
                        (n_features + FEATURES_PER_WORD - 1) / FEATURES_PER_WORD};
    RW_TRY(make_documents(ctx, n_docs, &binned->documents));
    RW_TRY(make_bins(ctx, rule, n_docs, n_features, &binned->bins));
    RW_TRY(RW_NEW(ctx, binned->feature, n_features));
    binned->n_features = n_features;
    for (uint32_t f = 0; f < n_features; f++)
        binned->feature[f] = f + 1;
    RW_TRY(rw_parallel(ctx, ctx->n_threads, n_docs, CHUNK_DOCS, fill, &make));
    *out = RW_TAKE(binned);
    return RW_OK;
}

/* ---- the parameters of both suites ---- */

enum { QUERIES = 250000 }; /* the suites' default number of queries */

static int make_params(struct rw_bench *bench, struct rw_params **out)
{
    const struct rw_bench_setting setting[] = {{"rounds", bench->options->quick ? "3" : "12"},
                                               {"leaves", "255"},
                                               {"bins", "255"},
                                               {"split", "mart"}};
    return rw_bench_params_new(bench, setting, 4, 1, out);
}

#define MEDIAN(grown, figure) rw_bench_median(grown, offsetof(struct rw_bench_tree, figure))

/* ---- suite "far" ----
 * Trains on host-resident codes: the GPU reads them from host memory. Measures the rate of these
 * reads as a fraction of the rate at which the link between host and GPU copies. At most a quarter
 * of the codes is in GPU memory or, if the user sets --gpu-memory, as many as fit in it. */

struct far {
    struct rw_bench *bench;
    struct rw_binned *binned; /* borrowed */
    struct rw_params *params; /* borrowed */
    struct rw_plan plan;
    /* bytes of all codes: as the GPU stores them or, if they do not fit in its memory, a byte per
     * document and feature */
    double code_bytes;
    double copied; /* bytes per second of the link, by copies */
};

/* Plans the training with `bytes` bytes of GPU memory. *fits: 0 if training needs more, else 1. */
static int plan_with(struct far *s, uint64_t bytes, int *fits)
{
    char text[32];
    snprintf(text, sizeof(text), "%llu", (unsigned long long)bytes);
    RW_TRY(rw_params_set(s->bench->ctx, s->params, "gpu-memory", text));
    const int status = rw_train_plan(s->bench->ctx, s->params,
                                     &(struct rw_training){.binned = s->binned}, &s->plan);
    *fits = status >= 0;
    return status == RW_ERR_MEMORY ? RW_OK : status;
}

/* Finds by bisection the largest --gpu-memory that keeps at most a quarter of the codes on the
 * GPU. */
static int find_memory(struct far *s)
{
    uint64_t low = 1, high = s->plan.most_bytes;
    enum { STEPS = 24 };
    int fits = 0;
    for (int i = 0; i < STEPS || !fits; i++) {
        const uint64_t middle = low + (high - low) / 2;
        RW_TRY(plan_with(s, middle, &fits));
        if (fits && rw_bench_code_bytes(&s->plan) > s->code_bytes / 4)
            high = middle;
        else
            low = middle;
        if (i > 2 * STEPS)
            return rw_fail(s->bench->ctx, RW_ERR_MEMORY,
                           "training does not fit with at most a quarter of the codes on the GPU");
    }
    return RW_OK;
}

static int send(struct far *s, struct rw_bench_grown *grown)
{
    const uint32_t n_docs = rw_dataset_n_docs(rw_binned_documents(s->binned));
    const double ms = MEDIAN(grown, ms), hist_ms = MEDIAN(grown, far_hist_ms);
    const double hist_bytes = MEDIAN(grown, far_hist_bytes);
    const double rate = hist_bytes / (hist_ms / 1e3);
    const double least_ms = hist_bytes / s->copied * 1e3; /* the lower bound set by the link */
    RW_TRY(rw_bench_send_row(
        s->bench, "far",
        "device:s documents:u features:i mean_leaves:1 gpu_memory:s code_bytes:n share_on_gpu:3 "
        "host_bytes:n copy_gb_s:1 hist_bytes:n read_bytes:n hist_ms:2 hist_gb_s:1 "
        "hist_share:3 tree_ms:2 tree_share:3 planned_ms:2 first_tree_ms:1 load_s:2",
        s->plan.device, n_docs, RW_BENCH_CODES_FEATURES, rw_bench_mean_leaves(grown),
        rw_params_get(s->params, "gpu-memory"), s->code_bytes,
        rw_bench_code_bytes(&s->plan) / s->code_bytes, (double)s->plan.far_bytes, s->copied / 1e9,
        hist_bytes, MEDIAN(grown, far_bytes), hist_ms, rate / 1e9, rate / s->copied, ms,
        least_ms / ms, s->plan.tree_ms, grown->tree[0].ms, grown->load_ms / 1e3));
    if (s->bench->options->quick)
        return RW_OK;
    const struct rw_bench_bar bar[2] = {
        {"histograms: fraction of the copy bandwidth", rate / s->copied, 0.75, 0.9, 0},
        {"time per tree: error of the plan", fabs(s->plan.tree_ms / ms - 1.0), 0.3, NAN, 1}};
    RW_TRY(rw_bench_bar(s->bench, &bar[0]));
    return rw_bench_bar(s->bench, &bar[1]);
}

static int plan(struct far *s)
{
    int number = 0, fits = 0;
    RW_TRY(plan_with(s, (uint64_t)1 << 60, &fits));
    s->code_bytes = s->plan.far_bytes ? (double)RW_BENCH_CODES_FEATURES *
                                            rw_dataset_n_docs(rw_binned_documents(s->binned))
                                      : rw_bench_code_bytes(&s->plan);
    sscanf(s->plan.device, "cuda:%d", &number);
    RW_TRY(rw_device_link(s->bench->ctx, number, &s->copied));
    if (!rw_bench_is_given(s->bench, "gpu-memory"))
        return find_memory(s);
    RW_TRY(rw_params_set(s->bench->ctx, s->params, "gpu-memory",
                         rw_params_get(s->bench->options->params, "gpu-memory")));
    return rw_train_plan(s->bench->ctx, s->params, &(struct rw_training){.binned = s->binned},
                         &s->plan);
}

int rw_bench_far(struct rw_bench *bench)
{
    enum { QUICK_QUERIES = 2000 };
    const uint32_t n = rw_bench_number(bench, bench->options->n_queries, QUERIES, QUICK_QUERIES);
    const struct rw_bench_codes codes = codes_of_queries(0, n, bench->options->seed);
    struct far s = {.bench = bench};
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    RW_SCOPED(rw_binned_free) struct rw_binned *binned = NULL;
    RW_RELEASED(rw_bench_grown_release) struct rw_bench_grown grown = {.gpu = -1};
    RW_TRY(make_params(bench, &s.params));
    if (strncmp(s.params->device, "cuda", 4) != 0)
        return rw_fail(bench->ctx, RW_ERR_UNSUPPORTED,
                       "suite 'far' needs a GPU\nhint: pass --device cuda");
    RW_TRY(rw_bench_send_params(bench, &s.params, 1));
    const struct rw_cut_rule rule = rw_params_cut_rule(s.params);
    rw_log(bench->ctx, RW_LOG_NOTE, "generating codes of %u queries", n);
    RW_TRY(rw_bench_codes_make(bench->ctx, &codes, &rule, &binned));
    s.binned = binned;
    RW_TRY(plan(&s));
    rw_log(bench->ctx, RW_LOG_NOTE, "%d trees on %s, --gpu-memory %s", s.params->rounds,
           s.plan.device, rw_params_get(s.params, "gpu-memory"));
    RW_TRY(rw_bench_grow(bench->ctx, s.params, (struct rw_training){.binned = binned}, &grown,
                         &model));
    return send(&s, &grown);
}

/* ---- suite "workers": the same training by one worker and by several ---- */

enum { WORKERS = 2 };

/* A training by n_workers workers. Each worker generates the codes of its shard. */
struct by_workers {
    struct rw_bench *bench;
    const struct rw_params *params;
    uint32_t n_queries;
    int n_workers;
    /* figures of worker 0 */
    struct rw_bench_grown grown;
    double make_ms;
    char *model; /* freed with rw_free */
    size_t size;
};

/* Returns the first query of a worker's shard. */
static uint32_t shard_begin(const struct by_workers *t, int worker)
{
    return (uint32_t)((uint64_t)t->n_queries * (uint32_t)worker / (uint32_t)t->n_workers);
}

static int run_worker(void *user, struct rw_ctx *ctx, int number)
{
    struct by_workers *t = user;
    const struct rw_cut_rule rule = rw_params_cut_rule(t->params);
    const struct rw_bench_codes codes = codes_of_queries(
        shard_begin(t, number), shard_begin(t, number + 1), t->bench->options->seed);
    const double begun = rw_clock_ms();
    RW_SCOPED(rw_binned_free) struct rw_binned *binned = NULL;
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    RW_RELEASED(rw_bench_grown_release) struct rw_bench_grown other = {.gpu = -1};
    RW_TRY(rw_comm_agree(ctx, rw_bench_codes_make(ctx, &codes, &rule, &binned)));
    if (number == 0)
        t->make_ms = rw_clock_ms() - begun;
    RW_TRY(rw_bench_grow(ctx, t->params, (struct rw_training){.binned = binned},
                         number == 0 ? &t->grown : &other, &model));
    return number == 0 ? rw_model_write_memory(ctx, model, &t->model, &t->size) : RW_OK;
}

static int train(struct by_workers *t)
{
    rw_log(t->bench->ctx, RW_LOG_NOTE, "%d trees by %d worker%s", t->params->rounds, t->n_workers,
           t->n_workers == 1 ? "" : "s");
    RW_TRY(rw_workers_run(t->bench->ctx, t->n_workers, run_worker, t));
    return rw_bench_send_row(
        t->bench, "ranks",
        "ranks:i device:s documents:n features:i mean_leaves:1 tree_ms:2 histograms:2 splits:2 "
        "partition:2 other:2 first_tree_ms:1 sent_bytes:n make_s:2",
        t->n_workers, t->params->device, (double)t->n_queries * RW_BENCH_CODES_DOCS,
        RW_BENCH_CODES_FEATURES, rw_bench_mean_leaves(&t->grown), MEDIAN(&t->grown, ms),
        MEDIAN(&t->grown, histograms_ms), MEDIAN(&t->grown, splits_ms),
        MEDIAN(&t->grown, partition_ms), MEDIAN(&t->grown, other_ms), t->grown.tree[0].ms,
        MEDIAN(&t->grown, sent_bytes), t->make_ms / 1e3);
}

/* Trains with one worker (t[0]) and several (t[1]), and compares the models. */
static int train_both(struct rw_bench *bench, struct by_workers t[2])
{
    enum { QUICK_QUERIES = 200 };
    const struct rw_bench_options *o = bench->options;
    struct rw_params *params;
    RW_TRY(make_params(bench, &params));
    RW_TRY(rw_bench_send_params(bench, &params, 1));
    for (int i = 0; i < 2; i++) {
        t[i].bench = bench;
        t[i].params = params;
        t[i].n_queries = rw_bench_number(bench, o->n_queries, QUERIES, QUICK_QUERIES);
        t[i].n_workers = i == 0 ? 1 : o->n_workers ? (int)o->n_workers : WORKERS;
        RW_TRY(train(&t[i]));
    }
    if (t[0].size != t[1].size || memcmp(t[0].model, t[1].model, t[0].size) != 0)
        return rw_fail(bench->ctx, RW_ERR_INTERNAL,
                       "the models of one and of several workers differ");
    if (o->quick || o->n_queries || t[1].n_workers != WORKERS)
        return RW_OK;
    const double ratio = MEDIAN(&t[0].grown, ms) / MEDIAN(&t[1].grown, ms);
    return rw_bench_bar(
        bench, &(struct rw_bench_bar){"speedup of two workers over one", ratio, 1.6, 1.85, 0});
}

int rw_bench_workers(struct rw_bench *bench)
{
    struct by_workers t[2] = {{.grown = {.gpu = -1}}, {.grown = {.gpu = -1}}};
    const int status = train_both(bench, t);
    for (int i = 0; i < 2; i++) {
        rw_bench_grown_release(&t[i].grown);
        rw_free(t[i].model);
    }
    return status;
}
