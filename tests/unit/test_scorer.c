/* Rows in memory by a scorer: the doubles of rw_predict, whatever form a document is scored by, and
 * by many threads at once. */
#include <pthread.h>

#include "base/mem.h"
#include "model/scorer.h"
#include "model_fixture.h"

enum { N_DOCS = 400, N_FEATURES = 9, N_TREES = 70, N_THREADS = 8 };

static struct rw_ctx *ctx;
static struct rw_model *model;
static struct rw_scorer *scorer;
static float values[N_DOCS][N_FEATURES];
static double want[N_DOCS];

static void setup(void)
{
    ctx = fixture_ctx();
    model = fixture_random_model(ctx, N_TREES, 200, N_FEATURES, 3);
    model->columns = RW_COLUMNS_LETOR; /* of no ids that it knows, so that rows of any width fit */
    model->n_features = 0;
    for (uint32_t doc = 0; doc < N_DOCS; doc++) {
        for (uint32_t f = 0; f < N_FEATURES; f++)
            values[doc][f] = fixture_value(7, doc, f);
        want[doc] = rw_predict_one(model, values[doc], N_FEATURES);
    }
    cr_assert_eq(rw_scorer_new(ctx, model, 0, &scorer), RW_OK);
}

static void teardown(void)
{
    rw_scorer_free(scorer);
    rw_model_free(model);
    rw_ctx_free(ctx);
}

TestSuite(scorer, .init = setup, .fini = teardown);

static void check_rows(struct rw_ctx *with, uint32_t first, uint32_t n)
{
    double got[N_DOCS + 1];
    memset(got, 0xff, sizeof(got));
    cr_assert_eq(rw_scorer_rows(with, scorer, values[first], n, N_FEATURES, 0, got), RW_OK);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(got[i], want[first + i], "document %u of %u from %u on", i, n, first);
    cr_assert(isnan(got[n]), "what is past the last score is left alone");
}

/* None, some and all of a block's documents; whole blocks, half ones and single documents. */
Test(scorer, any_number_of_documents)
{
    for (uint32_t n = 0; n <= N_DOCS; n++) {
        check_rows(NULL, (N_DOCS - n) / 2, n);
        if (n % 7 == 3)
            check_rows(ctx, (N_DOCS - n) / 2, n);
    }
}

Test(scorer, any_instructions)
{
    static const char *const isas[] = {"plain", "avx2", "avx512"};
    for (int i = 0; i < 3; i++) {
        setenv("RANKWOOD_ISA", isas[i], 1);
        rw_scorer_free(scorer);
        cr_assert_eq(rw_scorer_new(ctx, model, 0, &scorer), RW_OK);
        for (uint32_t n = 1; n <= N_DOCS; n += 19)
            check_rows(NULL, 0, n);
    }
    unsetenv("RANKWOOD_ISA");
}

/* The last block's documents, however few; codes of one byte and of two. */
static void check_packed(int32_t n_trees, int32_t n_leaves, uint32_t code_bytes)
{
    struct rw_flat flat;
    struct rw_model *one = fixture_random_model(ctx, n_trees, n_leaves, N_FEATURES, 4);
    for (int32_t i = 0; code_bytes > 1 && i < n_trees; i++) /* thresholds of their own */
        for (int32_t node = 0; node < one->tree[i].n_leaves - 1; node++)
            one->tree[i].cut[node] += (float)((131 * i + 17 * node) % 997 - 500) * 0x1p-9f;
    cr_assert_eq(rw_flat_init(ctx, &flat, one, 0), RW_OK);
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
        struct rw_packed *packed;
        cr_assert_eq(rw_packed_new(ctx, &flat, rw_packed_ops((enum rw_isa)isa), &packed), RW_OK);
        cr_assert_eq(packed->code_bytes, code_bytes);
        for (uint32_t n = 0; n <= 300; n++) {
            const struct rw_rows rows = {values[0], n, N_FEATURES, 0};
            double got[N_DOCS];
            cr_assert_eq(rw_packed_rows(NULL, packed, &rows, got), RW_OK);
            for (uint32_t i = 0; i < n; i++)
                cr_assert_eq(got[i], rw_flat_score(&flat, values[i], N_FEATURES, 0),
                             "document %u of %u by %s", i, n, rw_isa_name((enum rw_isa)isa));
        }
        rw_result_free(packed);
    }
    rw_flat_release(&flat);
    rw_model_free(one);
}

Test(scorer, packed_blocks)
{
    check_packed(12, 31, 1);
    check_packed(80, 120, 2);
}

Test(scorer, first_feature_and_first_trees)
{
    double got[N_DOCS];
    float all[N_FEATURES] = {0};
    struct rw_scorer *first;
    struct rw_flat flat;
    cr_assert_eq(rw_scorer_new(ctx, model, 5, &first), RW_OK);
    cr_assert_eq(rw_flat_init(ctx, &flat, model, 5), RW_OK);
    cr_assert_eq(rw_scorer_rows(NULL, first, values[0], N_DOCS, N_FEATURES, 0, got), RW_OK);
    for (uint32_t doc = 0; doc < N_DOCS; doc++) {
        cr_assert_eq(got[doc], rw_flat_score(&flat, values[doc], N_FEATURES, 0));
        memcpy(all + 2, values[doc], 3 * sizeof(float)); /* features 2 to 4, others are absent */
        cr_assert_eq(rw_scorer_one(scorer, values[doc], 3, 2),
                     rw_predict_one(model, all, N_FEATURES));
        cr_assert_eq(rw_scorer_one(scorer, values[doc], N_FEATURES, 0), want[doc]);
    }
    rw_flat_release(&flat);
    rw_scorer_free(first);
}

static void *score_often(void *failed)
{
    double got[N_DOCS];
    for (uint32_t i = 0; i < 200; i++) {
        const uint32_t n = 1 + i * 37 % N_DOCS, begin = i * 11 % (N_DOCS - n + 1);
        if (rw_scorer_rows(NULL, scorer, values[begin], n, N_FEATURES, 0, got) != RW_OK ||
            memcmp(got, want + begin, n * sizeof(*got)) != 0)
            *(int *)failed = 1;
    }
    return NULL;
}

Test(scorer, threads_share_it)
{
    pthread_t thread[N_THREADS];
    int failed[N_THREADS] = {0};
    rw_model_free(model); /* nothing of it is borrowed */
    model = NULL;
    for (int t = 0; t < N_THREADS; t++)
        cr_assert_eq(pthread_create(&thread[t], NULL, score_often, &failed[t]), 0);
    for (int t = 0; t < N_THREADS; t++) {
        pthread_join(thread[t], NULL);
        cr_assert_not(failed[t], "thread %d", t);
    }
}

Test(scorer, refuses)
{
    double got[1];
    struct rw_scorer *none;
    cr_assert_eq(rw_scorer_rows(ctx, scorer, values[0], 1, 2, 65535, got), RW_ERR_ARGUMENT);
    cr_assert_str_eq(rw_last_error(ctx), "2 features from 65535 on; expected ids of at most 65535");
    cr_assert_eq(rw_scorer_rows(NULL, scorer, values[0], 1, 2, 65535, got), RW_ERR_ARGUMENT);
    cr_assert_eq(rw_scorer_rows(ctx, scorer, values[0], RW_MAX_DOCS + 1, 2, 0, got),
                 RW_ERR_ARGUMENT);
    cr_assert_eq(rw_scorer_new(ctx, model, N_TREES + 1, &none), RW_ERR_ARGUMENT);
    cr_assert_null(none);
    cr_assert_str_eq(rw_last_error(ctx), "71 trees requested; the model has 70");
    rw_mem_fail_from(1);
    cr_assert_eq(rw_scorer_rows(NULL, scorer, values[0], 128, N_FEATURES, 0, got), RW_ERR_MEMORY);
    rw_mem_fail_from(0);
}

Test(scorer, failed_allocations_leave_nothing)
{
    struct rw_scorer *made = NULL;
    int status = RW_ERR_MEMORY;
    for (int i = 1; status != RW_OK; i++) {
        cr_assert_lt(i, 100);
        rw_mem_fail_from(i);
        status = rw_scorer_new(ctx, model, 0, &made);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK || (status == RW_ERR_MEMORY && !made));
    }
    rw_scorer_free(made);
    rw_scorer_free(NULL);
}
