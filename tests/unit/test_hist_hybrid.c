#include <criterion/criterion.h>
#include <string.h>

#include "base/ctx.h"
#include "gpu/hist/hist.h"

Test(hist_hybrid, names)
{
    struct rw_ctx *ctx;
    const struct rw_hist_method *method;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_hist_method_named(ctx, "global-atomic", &method), RW_OK);
    cr_expect_eq(method, &rw_hist_global_atomic);
    cr_assert_eq(rw_hist_method_named(ctx, NULL, &method), RW_OK);
    cr_expect_null(method);
    static const char *const nearest[][2] = {
        {"lane", "lanes"}, {"colision", "collision"}, {"collision-fre", "collision"}};
    for (size_t i = 0; i < sizeof(nearest) / sizeof(nearest[0]); i++) {
        char text[64];
        snprintf(text, sizeof(text), "the nearest is '%s'", nearest[i][1]);
        cr_expect_eq(rw_hist_method_named(ctx, nearest[i][0], &method), RW_ERR_ARGUMENT);
        cr_expect_null(method);
        cr_expect(strstr(rw_last_error(ctx), text), "%s", rw_last_error(ctx));
    }
    rw_ctx_free(ctx);
}

Test(hist_hybrid, names_of_the_laboratory)
{
    static const char *const names[] = {"collision-free", "collision-reduced", "privatized",
                                        "sort-search"};
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct rw_hist_method *method;
        char text[256];
        snprintf(text, sizeof(text),
                 "histogram method '%s' is measured in the laboratory and not used for training; "
                 "auto chooses one",
                 names[i]);
        cr_expect_eq(rw_hist_method_named(ctx, names[i], &method), RW_ERR_ARGUMENT);
        cr_expect_null(method);
        cr_expect_str_eq(rw_last_error(ctx), text);
    }
    rw_ctx_free(ctx);
}

struct row {
    const struct rw_hist_method *method;
    const char *file;
};
#define RW_HIST_METHOD(name) {&rw_hist_##name, #name},
static const struct row rows[] = {
#include "gpu/hist/methods.def"
};
#undef RW_HIST_METHOD

/* A call that only its bits, bins and sums can make unfit. */
static int takes(const struct rw_hist_method *method, int bits, uint32_t n_bins,
                 enum rw_hist_sums sums)
{
    static uint32_t room; /* with or without missing values */
    const struct rw_hist_matrix matrix = {
        .bits = bits, .n_bins = n_bins, .n_features = 3, .n_docs = 0};
    const struct rw_hist_call call = {.matrix = &matrix,
                                      .sums = sums,
                                      .largest = 127,
                                      .d_lambda = (const int32_t *)&room,
                                      .d_hess = (const int32_t *)&room,
                                      .d_float = (const float *)&room,
                                      .d_count = &room,
                                      .d_lambda_sum = (int64_t *)(void *)&room,
                                      .d_hess_sum = (int64_t *)(void *)&room,
                                      .d_float_sum = (float *)&room,
                                      .d_scratch = &room,
                                      .n_multiprocessors = 132,
                                      .shared_bytes = 232448};
    return rw_hist_check(NULL, method, &call) == RW_OK;
}

/* For each row of the table: the method is found by its file's name, and accepts exactly the
 * cases that it declares. */
Test(hist_hybrid, rows)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct rw_hist_method *method = rows[i].method, *named;
        char name[64];
        snprintf(name, sizeof(name), "%s", rows[i].file);
        for (char *c = name; *c; c++)
            *c = *c == '_' ? '-' : *c;
        cr_expect_str_eq(method->name, name);
        cr_expect_eq(rw_hist_method_named(NULL, name, &named), RW_OK, "%s", name);
        cr_expect_eq(named, method, "%s", name);
        /* a baseline, which is used only if named, is not timed */
        cr_expect_eq(method->is_baseline, method == &rw_hist_global_atomic, "%s", name);
        cr_expect_eq(rw_hist_method_at((int)i), method, "%s", name);
        cr_assert(method->run && method->scratch_bytes && method->sums, "%s", name);
        for (int bits = 4; bits <= 16; bits *= 2) {
            const uint32_t most = bits == 16 ? RW_HIST_MOST_BINS : 1u << bits;
            for (int sums = RW_HIST_COUNT; sums <= RW_HIST_FLOAT; sums++) {
                const int declared = method->sums >> sums & 1u;
                cr_expect_eq(takes(method, bits, 2, (enum rw_hist_sums)sums), declared, "%s", name);
                cr_expect_eq(takes(method, bits, most, (enum rw_hist_sums)sums),
                             declared && most <= method->most_bins, "%s", name);
            }
        }
    }
    cr_expect_null(rw_hist_method_at((int)(sizeof(rows) / sizeof(rows[0]))));
}

Test(hist_hybrid, refused)
{
    struct rw_ctx *ctx;
    struct rw_hist_matrix matrix = {.bits = 16, .n_features = 3, .n_docs = 0, .n_bins = 1024};
    struct rw_hist_call call = {.matrix = &matrix,
                                .sums = RW_HIST_MART,
                                .d_lambda = (const int32_t *)&matrix,
                                .d_lambda_sum = (int64_t *)&matrix,
                                .d_count = (uint32_t *)&matrix,
                                .d_scratch = &matrix,
                                .largest = 127,
                                .n_multiprocessors = 132,
                                .shared_bytes = 232448};
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_hist_check(ctx, &rw_hist_lanes, &call), RW_OK, "%s", rw_last_error(ctx));
    struct rw_hist_method few = rw_hist_lanes; /* no row of the table has a lower bound */
    few.most_bins = 128;
    cr_expect_eq(rw_hist_check(ctx, &few, &call), RW_ERR_UNSUPPORTED);
    cr_expect_str_eq(rw_last_error(ctx),
                     "histogram method 'lanes' takes at most 128 bins, not 1024");
    rw_ctx_free(ctx);
}

Test(hist_hybrid, text)
{
    const struct rw_hist_matrix matrix = {.bits = 8, .n_features = 136};
    struct rw_hist_choice choice = {
        .method = &rw_hist_collision,
        .zero_skip = 1,
        .how = RW_HIST_BY_TIMING,
        .choosing_ms = 12.125,
        .n_timings = 2,
        .timing = {{&rw_hist_collision, 0, 3.25}, {&rw_hist_collision, 1, 2.5}}};
    char text[200];
    rw_hist_choice_text(&choice, &matrix, text, sizeof(text));
    cr_expect_str_eq(text, "histograms: 136 features of 8-bit codes: collision zero-skip (timed in "
                           "12.1 ms; ms: collision 3.250, collision zero-skip 2.500)");
    for (size_t size = 1; size < sizeof(text); size++) {
        memset(text, 'x', sizeof(text));
        rw_hist_choice_text(&choice, &matrix, text, size);
        cr_assert_lt(strlen(text), size);
    }
    choice = (struct rw_hist_choice){.method = &rw_hist_lanes, .how = RW_HIST_BY_RULE};
    rw_hist_choice_text(&choice, &matrix, text, sizeof(text));
    cr_expect_str_eq(text, "histograms: 136 features of 8-bit codes: lanes (by rule)");
}
