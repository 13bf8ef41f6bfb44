/* check_predict [--device NAME] [--seed N] [--filter TEXT] [--most-docs N]
 *
 * Compares scores of made models on made data, by ==, with a plain walk down the model's own
 * trees. Tests the scores of the device (default the CPU; exit 77 if it is missing). Always
 * tests packed models and models for one document, under each instruction set. The GPU's kernel
 * also runs on the host, each phase thread by thread, first to last and last to first, in
 * poisoned shared memory of several sizes. Data of more than N documents is left out. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "gpu/predict/cu_predict.h"
#include "model/scorer.h"
#include "predict_made.h"

enum { SKIPPED = 77 };

static const struct spec specs[] = {
    {"no documents", 0, 5, 3, 0, {31}, 0, 1, 0, 0, 0, 0, 0},
    {"one document", 1, 5, 7, 0, {31}, 0, 1, 0, 0, 0, 0, 0},
    {"no trees", 100, 5, 0, 0, {1}, 0, 1, 0, 0, 0, 0, 0},
    {"one leaf", 100, 5, 40, 0, {1}, 0, 1, 0, 0, 0, 0, 0},
    {"two leaves", 777, 3, 100, 0, {2}, 0, 1, 1, 0, 0, 0, 0},
    {"one feature", 3001, 1, 5, 0, {31}, 0, 1, 0, 0, 0, 0, 0},
    {"31 leaves", 3001, 20, 70, 0, {31}, 0, 2, 0, 0, 0, 0, 0},
    {"255 leaves", 2049, 136, 50, 0, {255}, 0, 1, 0, 0, 0, 0, 0},
    {"mixed, absent is missing", 2047, 136, 61, 0, {255, 1, 31, 2}, 0, 3, 1, 1, 1, 0, 0},
    {"mixed, absent is zero", 1025, 40, 61, 0, {255, 1, 31, 2}, 0, 3, 0, 1, 1, 0, 0},
    {"first trees", 1000, 30, 61, 33, {255, 31}, 0, 1, 0, 0, 0, 0, 0},
    {"first tree", 1000, 30, 61, 1, {255, 31}, 0, 1, 0, 0, 0, 0, 0},
    {"first tree of one leaf", 1000, 30, 61, 1, {1, 31}, 0, 1, 0, 0, 0, 0, 0},
    {"chains", 500, 9, 40, 0, {255, 31}, 1, 1, 1, 0, 0, 0, 0},
    {"a chain of 65,535 nodes", 130, 4, 3, 0, {65536, 7}, 1, 1, 0, 0, 0, 0, 0},
    {"65,536 leaves", 300, 50, 4, 0, {31, 65536}, 0, 1, 0, 1, 0, 0, 0},
    {"every feature id", 70, 65535, 2, 0, {65537}, 0, 1, 0, 0, 0, 0, 0},
    {"300 features", 400, 300, 30, 0, {255}, 0, 2, 1, 0, 0, 0, 0},
    {"700 features", 400, 700, 30, 0, {255, 1}, 0, 1, 0, 1, 0, 0, 0},
    {"2,000 features", 400, 2000, 40, 0, {255}, 0, 1, 0, 0, 1, 0, 0},
    {"several chunks", 47003, 136, 9, 0, {255, 31}, 0, 1, 0, 0, 0, 0, 0},
    {"several chunks of one feature", 4200001, 1, 2, 0, {31, 2}, 0, 1, 0, 0, 0, 0, 0},
    {"31 cuts", 700, 1, 60, 0, {31}, 0, 1, 1, 0, 0, 31, 0},
    {"32 cuts", 700, 1, 60, 0, {31}, 0, 1, 1, 0, 0, 32, 0},
    {"100 cuts", 1500, 7, 90, 0, {31, 64, 33}, 0, 1, 0, 1, 0, 100, 0},
    {"255 cuts", 1300, 2, 90, 0, {255, 256}, 0, 1, 1, 0, 0, 255, 0},
    {"256 cuts", 1300, 2, 90, 0, {255, 257}, 0, 1, 1, 0, 0, 256, 0},
    {"3,000 cuts", 1111, 3, 400, 0, {255, 600, 3}, 0, 1, 0, 1, 0, 3000, 0},
    {"254 cuts", 1200, 3, 90, 0, {255, 256}, 0, 1, 1, 0, 0, 254, 0},
    {"64 features", 600, 64, 200, 0, {31, 3}, 0, 1, 1, 0, 0, 20, 0},
    {"65 features", 600, 65, 193, 0, {31, 1, 4}, 0, 1, 0, 1, 0, 16, 0},
    {"128 features", 600, 128, 64, 0, {64, 30}, 0, 3, 0, 0, 0, 17, 0},
    {"129 features", 600, 129, 65, 0, {63, 30}, 0, 1, 1, 0, 0, 15, 0},
    {"256 features", 600, 256, 63, 0, {255, 30}, 0, 1, 0, 0, 0, 40, 0},
    {"257 features", 600, 257, 40, 0, {255}, 0, 1, 1, 0, 0, 40, 0},
    {"70,000 cuts", 65, 1, 8, 0, {65536}, 0, 1, 0, 0, 0, 70000, 0},
    {"symmetric", 3001, 20, 200, 0, {64, 8, 1, 2}, 2, 2, 0, 0, 0, 0, 0},
    {"symmetric, missing", 1500, 9, 130, 0, {256, 64}, 2, 1, 1, 1, 0, 255, 0},
    {"symmetric, others too", 1500, 40, 150, 0, {64, 16, 4}, 3, 1, 0, 1, 0, 40, 0},
    {"symmetric, 512 leaves", 700, 20, 40, 0, {512, 64, 128}, 3, 1, 1, 0, 0, 200, 0},
    {"symmetric, two bytes", 700, 1, 120, 0, {1024, 64, 512}, 2, 1, 0, 0, 0, 3000, 0},
    {"sets", 3001, 20, 70, 0, {31}, 0, 2, 0, 0, 0, 0, 6},
    {"sets, absent is missing", 2047, 40, 61, 0, {255, 1, 31, 2}, 0, 3, 1, 1, 1, 0, 20},
    {"sets of one feature", 1500, 1, 40, 0, {31}, 0, 1, 1, 0, 0, 0, 3},
    {"sets, first trees", 1000, 30, 61, 33, {255, 31}, 0, 1, 0, 1, 0, 0, 50},
    {"thousands of sets", 700, 20, 80, 0, {255}, 0, 1, 0, 0, 0, 0, 1000},
    {"sets, several chunks", 21003, 30, 9, 0, {255, 31}, 0, 1, 1, 0, 0, 0, 40},
    {"sets, many chunks", 130001, 30, 9, 0, {255, 31}, 0, 1, 1, 0, 0, 0, 40},
};

/* ---- the kernel on the host ---- */

struct host_block {
    const struct rw_predict_args *args;
    struct predict_block b;
    int backward;
    double score[PREDICT_THREADS];
};

/* Between two barriers. phase: 0 load all that comes first, 1 find, 2 add and fetch. */
static void run_phase(struct host_block *h, int phase, uint32_t batch)
{
    const struct rw_predict_args *args = h->args;
    for (uint32_t i = 0; i < PREDICT_THREADS; i++) {
        const uint32_t thread = h->backward ? PREDICT_THREADS - 1 - i : i;
        if (phase == 0 && args->values_in_shared)
            predict_load_values(args, &h->b, thread);
        if (phase == 0 && args->n_batches > 0)
            predict_load_trees(args, &h->b, &args->d_batch[0], thread, PREDICT_THREADS);
        if (phase == 1)
            predict_find_batch(args, &h->b, &args->d_batch[batch], args->values_in_shared, thread);
        if (phase == 2 && thread < args->tile_docs)
            h->score[thread] =
                predict_add(args, &h->b, &args->d_batch[batch], thread, h->score[thread]);
        else if (phase == 2 && batch + 1 < args->n_batches)
            predict_load_trees(args, &h->b, &args->d_batch[batch + 1], thread - args->tile_docs,
                               PREDICT_THREADS - args->tile_docs);
    }
}

static void run_block(const struct rw_predict_args *args, uint32_t block, int backward,
                      unsigned char *shared)
{
    static struct host_block h;
    memset(&h, 0, sizeof(h));
    memset(shared, 0xb5, rw_predict_shared_bytes(args) + FENCE);
    h.args = args;
    h.backward = backward;
    h.b = predict_block_of(args, shared, block);
    run_phase(&h, 0, 0);
    for (uint32_t batch = 0; batch < args->n_batches; batch++) {
        run_phase(&h, 1, batch);
        run_phase(&h, 2, batch);
    }
    for (uint32_t doc = 0; doc < h.b.n_docs; doc++)
        args->d_score[h.b.begin + doc] = h.score[doc];
}

/* Prepares a chunk's columns as the device does before the kernel runs. */
static void look_up(const struct rw_predict_plan *plan, const struct rw_flat *flat,
                    const float *from, uint32_t n_docs, int backward, float *to)
{
    const struct rw_predict_look_up l = {.d_from = from,
                                         .d_slot = plan->slot,
                                         .d_set = flat->set_word,
                                         .set_words = flat->set_words,
                                         .n_used = flat->n_used,
                                         .n_docs = n_docs,
                                         .d_to = to};
    const uint64_t n = (uint64_t)flat->n_used * n_docs;
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t at = backward ? n - 1 - i : i;
        predict_look_up(&l, (uint32_t)(at / n_docs), (uint32_t)(at % n_docs));
    }
}

/* Chunk by chunk, block by block, as gpu/predict/predict_cuda.c sends them. Returns 1 if something
 * was written past shared memory, or it is larger than it may be. */
static int score_by_kernel(struct rw_ctx *ctx, const struct rw_flat *flat,
                           const struct rw_dataset *data, size_t shared_bytes, int threads,
                           uint32_t chunk_docs, int backward, double *scores)
{
    struct rw_predict_plan plan;
    const struct rw_column **column;
    unsigned char *shared;
    float *values, *looked_up;
    int wrong = 0;
    RW_TRY(rw_predict_plan_init(ctx, &plan, flat, shared_bytes, threads));
    RW_TRY(rw_flat_columns(ctx, flat, data, &column));
    struct rw_predict_args args = plan.args;
    const size_t room = rw_predict_shared_bytes(&args);
    wrong |= room > shared_bytes;
    RW_TRY(RW_NEW(ctx, shared, room + FENCE));
    const uint32_t most_docs = data->n_docs < chunk_docs ? data->n_docs : chunk_docs;
    RW_TRY(RW_NEW(ctx, values, (size_t)most_docs * plan.n_columns));
    RW_TRY(RW_NEW(ctx, looked_up, plan.slot ? (size_t)most_docs * flat->n_used : 0));
    args.d_node = flat->node;
    args.d_leaf = flat->leaf;
    args.d_tree = plan.tree;
    args.d_batch = plan.batch;
    args.d_value = plan.slot ? looked_up : values;
    for (uint32_t begin = 0; begin < data->n_docs; begin += chunk_docs) {
        args.n_docs = data->n_docs - begin < chunk_docs ? data->n_docs - begin : chunk_docs;
        args.d_score = scores + begin;
        for (uint32_t c = 0; c < plan.n_columns; c++) {
            const struct rw_column *from = column[plan.first_slot[c]];
            float *to = values + (size_t)c * args.n_docs;
            if (from)
                rw_column_values(from, begin, begin + args.n_docs, flat->absent, to);
            for (uint32_t i = 0; !from && i < args.n_docs; i++)
                to[i] = flat->absent;
        }
        if (plan.slot)
            look_up(&plan, flat, values, args.n_docs, backward, looked_up);
        const uint32_t n_blocks = (args.n_docs + args.tile_docs - 1) / args.tile_docs;
        for (uint32_t block = 0; block < n_blocks; block++) {
            run_block(&args, block, backward, shared);
            for (int i = 0; i < FENCE; i++)
                wrong |= shared[room + (size_t)i] != 0xb5;
        }
    }
    rw_mem_free(values);
    rw_mem_free(looked_up);
    rw_mem_free(shared);
    rw_mem_free(column);
    rw_arena_free(&plan.arena);
    return wrong;
}

static void check_kernel(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                         const struct rw_dataset *data, const double *want, double *got,
                         struct totals *totals)
{
    static const struct {
        size_t shared_bytes;
        int threads;
        uint32_t chunk_docs;
        int backward;
    } ways[] = {{232448, 2048, 15420, 0},
                {232448, 1536, 333, 1},
                {101376, 1536, 64, 0},
                {49152, 2048, 97, 1},
                {24576, 1024, 1000, 0}};
    const uint32_t n = data->n_docs;
    struct rw_flat flat;
    if (n > 100000) /* that is for the device's own chunks */
        return;
    if (rw_flat_init(ctx, &flat, model, spec->use) < 0) {
        fail(totals, spec, "kernel", rw_last_error(ctx));
        return;
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
        char what[80];
        if (i > 0 && n > 10000)
            continue;
        snprintf(what, sizeof(what), "kernel in %zu bytes, chunks of %u documents",
                 ways[i].shared_bytes, ways[i].chunk_docs);
        poison(got, n);
        const int status = score_by_kernel(ctx, &flat, data, ways[i].shared_bytes, ways[i].threads,
                                           ways[i].chunk_docs, ways[i].backward, got);
        if (status != 0)
            fail(totals, spec, what, status < 0 ? rw_last_error(ctx) : "shared memory overrun");
        else
            compare(totals, spec, what, want, got, n);
    }
    rw_flat_release(&flat);
}

/* A scorer is used again for another set: a part of the documents, with some columns gone. */
static void check_again(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                        const struct rw_dataset *data, struct rw_scorer *scorer, double *want,
                        double *got, struct totals *totals)
{
    struct rw_dataset part = *data; /* views; nothing is freed by it */
    part.n_docs = data->n_docs / 3;
    part.n_columns = data->n_columns / 2;
    for (uint32_t c = 0; c < part.n_columns; c++) {
        if (data->column[c].row)
            part.n_columns = c; /* a sparse column's n would have to change */
    }
    poison(got, part.n_docs);
    if (score_plainly(ctx, model, &part, spec->use, want) < 0 ||
        rw_scorer_run(ctx, scorer, &part, got) < 0)
        fail(totals, spec, "again", rw_last_error(ctx));
    else
        compare(totals, spec, "again", want, got, part.n_docs);
}

static double scorer_one(const void *user, const float *values, size_t n_values)
{
    return rw_scorer_one(user, values, n_values, 0);
}

static double flat_one(const void *user, const float *values, size_t n_values)
{
    return rw_flat_score(user, values, n_values, 0);
}

static void check_one(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                      const struct rw_dataset *data, const struct rw_scorer *scorer,
                      const double *want, double *got, struct totals *totals)
{
    struct rw_flat flat;
    if (data->n_docs > 100000)
        return;
    poison(got, data->n_docs);
    if (score_one_by_one(ctx, model, data, scorer_one, scorer, got) < 0)
        fail(totals, spec, "one by one", rw_last_error(ctx));
    else
        compare(totals, spec, "one by one", want, got, data->n_docs);
    poison(got, data->n_docs);
    if (rw_flat_init(ctx, &flat, model, spec->use) < 0 ||
        score_one_by_one(ctx, model, data, flat_one, &flat, got) < 0)
        fail(totals, spec, "one by one down the trees", rw_last_error(ctx));
    else
        compare(totals, spec, "one by one down the trees", want, got, data->n_docs);
    rw_flat_release(&flat);
}

static void check_device(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                         const struct rw_dataset *data, const char *device, double *want,
                         double *got, struct totals *totals)
{
    struct rw_scorer *scorer;
    if (rw_scorer_open(ctx, model, spec->use, device, &scorer) < 0) {
        fail(totals, spec, device, rw_last_error(ctx));
        return;
    }
    poison(got, data->n_docs);
    if (rw_scorer_run(ctx, scorer, data, got) < 0)
        fail(totals, spec, device, rw_last_error(ctx));
    else
        compare(totals, spec, device, want, got, data->n_docs);
    check_one(ctx, spec, model, data, scorer, want, got, totals);
    check_again(ctx, spec, model, data, scorer, want, got, totals);
    rw_scorer_free(scorer);
}

static void check_spec(struct rw_ctx *ctx, const struct spec *spec, uint64_t seed,
                       const char *device, struct totals *totals)
{
    struct random random = {.seed = seed};
    struct rw_model *model = NULL;
    struct rw_dataset *data = NULL;
    double *want = NULL, *got = NULL;
    int status = RW_OK;
    RW_TRY_OUT(make_model(ctx, spec, &random, &model));
    RW_TRY_OUT(make_data(ctx, spec, &random, &data));
    if (spec->sets)
        RW_TRY_OUT(make_sets(ctx, spec, &random, model, data));
    RW_TRY_OUT(RW_NEW(ctx, want, (size_t)spec->n_docs + FENCE));
    RW_TRY_OUT(RW_NEW(ctx, got, (size_t)spec->n_docs + FENCE));
    RW_TRY_OUT(score_plainly(ctx, model, data, spec->use, want));
    if (!spec->sets) { /* tests/unit/test_categories.c has those */
        check_packed(ctx, spec, model, data, want, got, totals);
        check_single(ctx, spec, model, data, want, got, totals);
    }
    check_kernel(ctx, spec, model, data, want, got, totals);
    check_device(ctx, spec, model, data, device, want, got, totals);
out:
    if (status < 0)
        fail(totals, spec, "its data", rw_last_error(ctx));
    rw_mem_free(want);
    rw_mem_free(got);
    rw_dataset_free(data);
    rw_model_free(model);
}

/* Whether the device opens. A missing device is reported if `aloud`. */
static int is_there(struct rw_ctx *ctx, const char *device, int aloud)
{
    struct rw_model *model;
    struct rw_scorer *scorer;
    if (rw_model_new(ctx, &model) < 0)
        return 0;
    const int status = rw_scorer_open(ctx, model, 0, device, &scorer);
    rw_scorer_free(scorer);
    rw_model_free(model);
    if (status < 0 && aloud)
        printf("skip %s: %s\n", device, rw_last_error(ctx));
    return status >= 0;
}

/* auto goes to a GPU, if there is one, in the middle of data that comes in pieces; nothing shows.
 */
static void check_auto(struct rw_ctx *ctx, uint64_t seed, struct totals *totals)
{
    static const struct spec spec = {"auto", 60000, 20, 300, 0, {255}, 0, 1, 0, 0, 0, 0, 0};
    const char *device = is_there(ctx, "cuda", 0) ? "cuda" : "cpu";
    struct random random = {.seed = seed};
    struct rw_model *model = NULL;
    struct rw_dataset *data = NULL;
    struct rw_scorer *scorer = NULL;
    double *want = NULL, *got = NULL;
    int status = RW_OK;
    RW_TRY_OUT(rw_ctx_set_threads(ctx, 1)); /* by whose time it decides */
    RW_TRY_OUT(make_model(ctx, &spec, &random, &model));
    RW_TRY_OUT(make_data(ctx, &spec, &random, &data));
    RW_TRY_OUT(RW_NEW(ctx, want, (size_t)spec.n_docs + FENCE));
    RW_TRY_OUT(RW_NEW(ctx, got, (size_t)spec.n_docs + FENCE));
    RW_TRY_OUT(rw_predict(ctx, model, data, 0, want));
    RW_TRY_OUT(rw_scorer_open(ctx, model, 0, "auto", &scorer));
    for (int piece = 0; piece < 10; piece++) {
        if (piece == 0 && strcmp(rw_scorer_device(scorer), "cpu") != 0)
            fail(totals, &spec, "first piece", "a GPU before anything is known");
        poison(got, spec.n_docs);
        RW_TRY_OUT(rw_scorer_run(ctx, scorer, data, got));
        compare(totals, &spec, rw_scorer_device(scorer), want, got, spec.n_docs);
    }
    if (strcmp(rw_scorer_device(scorer), device) != 0)
        fail(totals, &spec, "last piece: not on device", device);
out:
    if (status < 0)
        fail(totals, &spec, "auto", rw_last_error(ctx));
    rw_scorer_free(scorer);
    rw_mem_free(want);
    rw_mem_free(got);
    rw_dataset_free(data);
    rw_model_free(model);
    if (rw_ctx_set_threads(ctx, 0) < 0)
        fail(totals, &spec, "threads", rw_last_error(ctx));
}

int main(int argc, char **argv)
{
    const char *device = "cpu", *filter = "";
    uint64_t seed = 1, most_docs = UINT64_MAX;
    struct totals totals = {0, 0};
    struct rw_ctx *ctx;
    for (int i = 1; i < argc; i += 2) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--device") == 0 && value)
            device = value;
        else if (strcmp(argv[i], "--filter") == 0 && value)
            filter = value;
        else if (strcmp(argv[i], "--seed") == 0 && value)
            seed = strtoull(value, NULL, 0);
        else if (strcmp(argv[i], "--most-docs") == 0 && value)
            most_docs = strtoull(value, NULL, 0);
        else {
            fprintf(stderr,
                    "usage: %s [--device NAME] [--seed N] [--filter TEXT] [--most-docs N]\n",
                    argv[0]);
            return 2;
        }
    }
    if (rw_ctx_new(&ctx) < 0)
        return 1;
    printf("seed %llu, device %s\n", (unsigned long long)seed, device);
    if (!is_there(ctx, device, 1)) {
        rw_ctx_free(ctx);
        return SKIPPED;
    }
    for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
        if (strstr(specs[i].name, filter) && specs[i].n_docs <= most_docs)
            check_spec(ctx, &specs[i], seed * 1000003u + i, device, &totals);
    }
    if (strstr("auto", filter))
        check_auto(ctx, seed, &totals);
    rw_ctx_free(ctx);
    printf("%d passed, %d failed\n", totals.passed, totals.failed);
    return totals.failed > 0;
}
