/* Trainings by several workers, threads of one process: the model is identical to that of one
 * worker with all documents. */
#include <criterion/criterion.h>

#include "base/mem.h"
#include "base/rng.h"
#include "binning/bins.h"
#include "dataset/dataset.h"
#include "each.h"
#include "tree/engine.h"

enum { MOST_RANKS = 8 };

/* How queries are shared among ranks. */
enum share { EVEN, FIRST_HAS_NONE, ONE_EACH, LAST_HAS_ALL, BY_CHANCE, N_SHARES };

struct training {
    const struct rw_dataset *set[2]; /* of one worker: all of the training and validation set */
    struct rw_dataset *part[2][MOST_RANKS];
    struct rw_params *params;
    char *text[MOST_RANKS]; /* models */
    size_t n_bytes[MOST_RANKS];
};

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

/* ---- shares ---- */

static uint32_t end_of_share(enum share share, uint32_t n, uint32_t rank, uint32_t n_workers)
{
    if (rank + 1 == n_workers)
        return n;
    switch (share) {
    case EVEN:
        return n * (rank + 1) / n_workers;
    case FIRST_HAS_NONE:
        return n * rank / (n_workers - 1);
    case ONE_EACH:
        return rank + 1 < n ? rank + 1 : n;
    case LAST_HAS_ALL:
        return 0;
    default:
        return 0;
    }
}

static struct rw_dataset *no_documents(void)
{
    struct rw_dataset *none;
    cr_assert_eq(RW_NEW(ctx, none, 1), RW_OK);
    cr_assert_eq(RW_NEW(ctx, none->query_offset, 1), RW_OK);
    cr_assert_eq(RW_NEW(ctx, none->query_id.offset, 1), RW_OK);
    cr_assert_eq(RW_NEW(ctx, none->label, 0), RW_OK);
    return none;
}

static void divide(struct training *t, int set, enum share share, uint32_t n_workers, uint64_t seed)
{
    const struct rw_dataset *all = t->set[set];
    uint8_t *keep = calloc(all->n_queries, 1);
    uint32_t begin = 0;
    for (uint32_t r = 0; r < n_workers; r++) {
        uint32_t end = end_of_share(share, all->n_queries, r, n_workers);
        if (share == BY_CHANCE && r + 1 < n_workers)
            end = begin + rw_random(seed, r, 0, 1) % (all->n_queries - begin + 1);
        memset(keep, 0, all->n_queries);
        memset(keep + begin, 1, end - begin);
        if (begin == end)
            t->part[set][r] = no_documents();
        else
            cr_assert_eq(rw_dataset_select(ctx, all, keep, &t->part[set][r]), RW_OK);
        begin = end;
    }
    free(keep);
}

/* ---- training ---- */

static int train_worker(void *user, struct rw_ctx *own, int rank)
{
    struct training *t = user;
    const struct rw_dataset *valid = t->part[1][rank];
    struct rw_model *model;
    RW_TRY(rw_train(own, t->params, t->part[0][rank], &valid, 1, NULL, &model));
    const int status = rw_model_write_memory(own, model, &t->text[rank], &t->n_bytes[rank]);
    rw_model_free(model);
    return status;
}

static void assert_same_model(struct training *t, const char *whole, size_t n_bytes, int n_workers,
                              enum share share, const char *what)
{
    for (int set = 0; set < 2; set++)
        divide(t, set, set ? (share + 1) % N_SHARES : share, (uint32_t)n_workers, 7);
    cr_assert_eq(rw_workers_run(ctx, n_workers, train_worker, t), RW_OK, "%s: %s", what,
                 rw_last_error(ctx));
    for (int r = 0; r < n_workers; r++) {
        cr_expect_eq(t->n_bytes[r], n_bytes, "%s: rank %d of %d, share %d: %zu bytes, not %zu",
                     what, r, n_workers, (int)share, t->n_bytes[r], n_bytes);
        cr_assert_eq(memcmp(t->text[r], whole, n_bytes), 0, "%s: rank %d of %d, share %d", what, r,
                     n_workers, (int)share);
        rw_free(t->text[r]);
        for (int set = 0; set < 2; set++)
            rw_dataset_free(t->part[set][r]);
    }
}

static struct rw_dataset *made(const char *shape, uint32_t n_queries, uint64_t seed)
{
    struct rw_dataset *data;
    const struct rw_synth_options options = {shape, n_queries, seed};
    cr_assert_eq(rw_synth(ctx, &options, NULL, &data), RW_OK, "%s", rw_last_error(ctx));
    return data;
}

static void give_weights(struct rw_dataset *data)
{
    double *weight = calloc(data->n_queries, sizeof(*weight));
    for (uint32_t q = 0; q < data->n_queries; q++)
        weight[q] = 0.25 * (q % 7);
    cr_assert_eq(rw_dataset_set_side_column(ctx, data, "query-weights", weight, data->n_queries, 1),
                 RW_OK);
    free(weight);
}

/* line: a shape, then names and values of parameters; turn: the workers and shards, and whether
 * queries have weights. */
static void check_line(const char *line, int turn, uint32_t n_queries)
{
    char words[512], *save, *shape, *name;
    struct training t = {0};
    char *whole;
    size_t n_bytes;
    snprintf(words, sizeof(words), "%s", line);
    shape = strtok_r(words, " ", &save);
    struct rw_dataset *train = made(shape, n_queries, 1), *valid = made(shape, 11, 2);
    if (turn % 3 == 1) {
        give_weights(train);
        give_weights(valid);
    }
    t.set[0] = train;
    t.set[1] = valid;
    cr_assert_eq(rw_params_new(ctx, &t.params), RW_OK);
    while ((name = strtok_r(NULL, " ", &save)))
        cr_assert_eq(rw_params_set(ctx, t.params, name, strtok_r(NULL, " ", &save)), RW_OK, "%s",
                     rw_last_error(ctx));
    struct rw_model *model;
    const struct rw_dataset *const all_valid = valid;
    cr_assert_eq(rw_train(ctx, t.params, train, &all_valid, 1, NULL, &model), RW_OK, "%s: %s", line,
                 rw_last_error(ctx));
    cr_assert_eq(rw_model_write_memory(ctx, model, &whole, &n_bytes), RW_OK);
    for (int i = 0; i < 4; i += EACH(2)) {
        const int n_workers[] = {2, 3, 1 + turn % MOST_RANKS, 2 + turn % 5};
        assert_same_model(&t, whole, n_bytes, n_workers[i], (enum share)((turn + i) % N_SHARES),
                          line);
    }
    rw_free(whole);
    rw_model_free(model);
    rw_params_free(t.params);
    rw_dataset_free(train);
    rw_dataset_free(valid);
}

static const char *const lines[] = {
    "mslr30k rounds 3 leaves 15 min-docs 3 split mart device cpu",
    "mslr30k rounds 3 leaves 15 min-docs 3 split newton device cpu",
    "mslr30k rounds 3 leaves 15 min-docs 3 split newton device ref",
    "mslr30k rounds 2 leaves 9 min-docs 1 split mart device sim",
    "yahoo rounds 3 leaves 31 min-docs 1 split mart device cpu bins 1023",
    "yahoo rounds 3 leaves 15 min-docs 2 split newton absent missing device cpu bins 15",
    "letor rounds 4 grow levels depth 4 min-docs 2 device cpu split newton bits 16",
    "letor rounds 4 grow symmetric min-docs 2 device cpu split newton bits 16",
    "mslr30k rounds 3 grow symmetric depth 4 device ref sample-features-node 0.5 monotone 1-60:+",
    "yahoo rounds 3 grow symmetric depth 8 min-docs 1 device cpu absent missing",
    "letor rounds 5 leaves 15 sample-queries 0.3 sample-features 0.4 min-docs 1 device cpu",
    "letor rounds 5 leaves 7 sample-queries 0.001 sample-features 0.001 min-docs 1 device cpu",
    "letor rounds 4 leaves 15 objective yetirank min-docs 2 device cpu train-metric on",
    "letor rounds 4 leaves 15 objective regression metric rmse,ndcg@5 min-docs 2 device cpu",
    "letor rounds 4 leaves 15 objective queryrmse min-docs 2 device cpu",
    "letor rounds 4 leaves 15 objective listnet min-docs 2 device ref split newton",
    "letor rounds 4 leaves 15 objective xendcg min-docs 2 device cpu split newton",
    "letor rounds 4 leaves 15 objective logistic relevant 2 min-docs 2 device cpu split newton",
    "mslr30k rounds 3 leaves 15 categorical 1-3 min-docs 2 device cpu",
    "letor rounds 30 early-stop 3 rate 0.5 metric err@10,map leaves 15 min-docs 2 device cpu",
};

Test(workers, one_model, .init = setup, .fini = teardown, .timeout = 100)
{
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i += SLOW_HERE ? EACH(7) : EACH(3))
        check_line(lines[i], (int)i, 24);
}

/* Sums of 16-bit lambdas fit a packed word for each worker's documents, but not for those of
 * all. */
Test(workers, sums_beyond_one_packed_word, .init = setup, .fini = teardown, .timeout = 100)
{
    if (!SLOW_HERE)
        check_line("letor rounds 1 leaves 5 bits 16 split mart device cpu", 0, 4600);
    check_line("letor rounds 1 leaves 5 bits 16 split newton device cpu", 0, 4600);
}

/* Boundaries from some of the documents. */
Test(workers, one_model_of_a_sample, .init = setup, .fini = teardown, .timeout = 100)
{
    rw_cut_sample_docs = 300;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i += 2 * EACH(SLOW_HERE ? 7 : 2))
        check_line(lines[i], (int)i, 24);
}

/* The splits of three workers for each of N_TIES slots: gain, and column; -1: none. */
enum { N_TIES = 6 };
static const struct {
    double gain[3];
    int32_t column[3], best;
} ties[N_TIES] = {
    {{1, 2, 1}, {0, 4, 5}, 4},   {{2, 2, 2}, {3, 1, 2}, 1},     {{2, 2, 1}, {1, 3, 0}, 1},
    {{9, 0, 9}, {-1, 7, -1}, 7}, {{0, 0, 0}, {-1, -1, -1}, -1}, {{1, 9, 3}, {2, -1, 8}, 8},
};

static int best_of_rank(void *user, struct rw_ctx *own, int rank)
{
    struct rw_split split[N_TIES] = {{0}};
    int *n_wrong = user;
    for (int i = 0; i < N_TIES; i++) {
        split[i].column = ties[i].column[rank];
        split[i].gain = ties[i].gain[rank];
    }
    RW_TRY(rw_workers_best(own, split, N_TIES));
    for (int i = 0; i < N_TIES; i++)
        n_wrong[rank] += split[i].column != ties[i].best;
    return RW_OK;
}

Test(workers, the_best_of_all, .init = setup, .fini = teardown)
{
    int n_wrong[3] = {0};
    cr_assert_eq(rw_workers_run(ctx, 3, best_of_rank, n_wrong), RW_OK, "%s", rw_last_error(ctx));
    for (int r = 0; r < 3; r++)
        cr_assert_eq(n_wrong[r], 0, "rank %d", r);
}

/* Calls that train by themselves are refused. */
static int refused_calls(void *user, struct rw_ctx *own, int rank)
{
    const struct rw_dataset *data = user;
    struct rw_params *params;
    struct rw_cv *cv;
    RW_TRY(rw_params_new(own, &params));
    const int status = rw_cross_validate(own, params, data, 2, &cv);
    cr_expect_eq(status, RW_ERR_UNSUPPORTED, "rank %d", rank);
    cr_expect_str_eq(rw_last_error(own), "cross-validation works with one worker only, not with 2");
    rw_params_free(params);
    const struct rw_bench_options options = {.quick = 1};
    cr_expect_eq(rw_bench(own, "load", &options, NULL, NULL), RW_ERR_UNSUPPORTED);
    cr_expect_str_eq(rw_last_error(own), "bench works with one worker only, not with 2");
    return RW_OK;
}

Test(workers, refused_calls, .init = setup, .fini = teardown)
{
    const struct rw_synth_options made = {.shape = "letor", .n_queries = 4, .seed = 1};
    struct rw_dataset *data;
    cr_assert_eq(rw_synth(ctx, &made, NULL, &data), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rw_workers_run(ctx, 2, refused_calls, data), RW_OK, "%s", rw_last_error(ctx));
    rw_dataset_free(data);
}
