/* A long model's trees are read by several threads, and a damaged one's error is that of one. */
#include "each.h"
#include "model_bodies.h"

enum { N_TREES = 40, N_LEAVES = 101, PARTED_BYTES = 4 << 16, CHANGES = 400 };

static void setup(void)
{
    ctx = fixture_ctx();
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(model_threads, .init = setup, .fini = teardown);

static char *long_text(size_t *n)
{
    struct rw_model *model = fixture_random_model(ctx, N_TREES, N_LEAVES, 5, 1);
    char *text;
    cr_assert_eq(rw_model_print(ctx, model, &text, n), RW_OK);
    cr_assert_gt(*n, (size_t)PARTED_BYTES, "too short to be divided");
    rw_model_free(model);
    return text;
}

Test(model_threads, the_same_model)
{
    for (ctx->n_threads = 1; ctx->n_threads <= 8; ctx->n_threads++) {
        struct rw_model *model = fixture_random_model(ctx, N_TREES, N_LEAVES, 5, 1);
        round_trip(model);
        rw_model_free(model);
    }
}

/* 0: accepted; else the error. */
static int outcome(const char *changed, int n_threads, char *error, size_t room)
{
    size_t n;
    struct rw_model *model;
    char *text = fixture_sum(changed, strlen(changed), &n);
    ctx->n_threads = n_threads;
    const int status = parse(text, n, &model);
    snprintf(error, room, "%s", status < 0 ? rw_last_error(ctx) : "");
    rw_model_free(model);
    free(text);
    return status;
}

static void same_outcome(const char *changed)
{
    char by_one[1024], by_many[1024];
    cr_assert_eq(outcome(changed, 1, by_one, sizeof(by_one)),
                 outcome(changed, 4, by_many, sizeof(by_many)));
    cr_assert_str_eq(by_many, by_one);
}

Test(model_threads, the_same_error)
{
    size_t n;
    char *text = long_text(&n);
    text[n - RW_CHECKSUM_LINE_BYTES] = 0;
    n -= RW_CHECKSUM_LINE_BYTES;
    for (uint64_t i = 0; i < CHANGES; i += EACH(5)) {
        const size_t at = rw_random(1, i, 0, 1003) % n;
        const char was = text[at];
        text[at] = "\n 0tx"[rw_random(2, i, 0, 1003) % 5];
        same_outcome(text);
        text[at] = was;
    }
    free(text);
}

/* Duplicate, reordered or missing trees, and text after the last one. */
Test(model_threads, trees_out_of_place)
{
    size_t n;
    char *text = long_text(&n), other[32];
    text[n - RW_CHECKSUM_LINE_BYTES] = 0;
    for (int tree = 1; tree <= N_TREES; tree += EACH(5)) {
        char line[32];
        snprintf(line, sizeof(line), "\ntree %d ", tree);
        char *at = strstr(text, line);
        cr_assert_not_null(at);
        for (int number = 0; number <= N_TREES + 1; number += 3) {
            snprintf(other, sizeof(other), "\ntree %0*d ", (int)strlen(line) - 7, number);
            if (strlen(other) != strlen(line))
                continue;
            memcpy(at, other, strlen(other));
            same_outcome(text);
        }
        memcpy(at, line, strlen(line));
    }
    char *longer = malloc(n + 64);
    snprintf(longer, n + 64, "%stree 41 leaves 1\nleaf 0 1\n\n", text);
    same_outcome(longer);
    *strstr(longer, "\ntree 33 ") = 0;
    same_outcome(longer);
    free(longer);
    free(text);
}
