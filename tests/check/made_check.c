/* Made inputs of benches and checks: are they what they are called? No device is needed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "made_codes.h"

enum { N_DOCS = 50000, N_FEATURES = 3, N_BINS = 256 };

static int failed, checked;

static void check(int good, const char *what, enum rw_made_codes kind)
{
    checked++;
    if (good)
        return;
    failed++;
    printf("not ok: %s: %s\n", rw_made_codes_name(kind), what);
}

struct seen {
    uint32_t count[RW_MADE_MOST_BINS], most, distinct, steps_down;
    double mean, sigma;
};

static void look(const uint16_t *codes, uint32_t n, struct seen *seen)
{
    double sum = 0, squares = 0;
    memset(seen, 0, sizeof(*seen));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t b = codes[i] % RW_MADE_MOST_BINS;
        seen->distinct += seen->count[b]++ == 0;
        seen->steps_down += i > 0 && codes[i] < codes[i - 1];
        sum += b;
        squares += (double)b * b;
    }
    for (uint32_t b = 0; b < RW_MADE_MOST_BINS; b++)
        seen->most = seen->count[b] > seen->count[seen->most] ? b : seen->most;
    seen->mean = sum / n;
    seen->sigma = sqrt(squares / n - seen->mean * seen->mean);
}

static int near(double a, double b, double most)
{
    return fabs(a - b) <= most;
}

static void check_kind(enum rw_made_codes kind, const struct seen *seen, double sigma)
{
    const double n = N_DOCS;
    switch (kind) {
    case RW_CODES_EQUAL:
        check(seen->distinct == 1, "one code", kind);
        break;
    case RW_CODES_TWO:
        check(seen->distinct == 2, "two codes", kind);
        break;
    case RW_CODES_ZEROS:
    case RW_CODES_CLUSTERED:
        check(near(seen->count[0] / n, 0.8, 0.1), "80 % zeros", kind);
        break;
    case RW_CODES_HOT:
        check(near(seen->count[seen->most] / n, 0.99, 0.01), "99 % in one bin", kind);
        break;
    case RW_CODES_SORTED:
        check(seen->steps_down == 0 && seen->distinct == N_BINS, "ascending", kind);
        break;
    case RW_CODES_DISTINCT:
        check(seen->distinct == 16, "16 codes", kind);
        break;
    case RW_CODES_NORMAL:
        check(near(seen->mean, N_BINS / 2, 1), "mean in the middle", kind);
        check(near(seen->sigma, sigma, sigma / 20), "its sigma", kind);
        break;
    case RW_CODES_UNIFORM:
        check(seen->distinct == N_BINS && near(seen->count[7] / n, 1.0 / N_BINS, 0.002), "even",
              kind);
        break;
    default:
        break;
    }
}

static int made_codes(struct rw_ctx *ctx)
{
    for (int k = 0; k < RW_CODES_SYNTH; k++) {
        const enum rw_made_codes kind = (enum rw_made_codes)k;
        const struct rw_made_spec spec = {N_FEATURES, N_DOCS,         N_BINS,
                                          kind,       .distinct = 16, .sigma = 20};
        struct rw_made_columns columns;
        uint16_t frequent[N_FEATURES];
        if (rw_made_columns_init(ctx, &columns, &spec, 1) < 0)
            return -1;
        rw_made_frequent(ctx, &columns, frequent);
        for (uint32_t f = 0; f < N_FEATURES; f++) {
            struct seen seen;
            int fits = 1;
            for (uint32_t i = 0; i < N_DOCS; i++)
                fits &= columns.column[f][i] < N_BINS;
            look(columns.column[f], N_DOCS, &seen);
            check(fits, "codes fit the bins", kind);
            check(frequent[f] == seen.most, "the most frequent code", kind);
            check_kind(kind, &seen, spec.sigma);
        }
        rw_made_columns_release(&columns);
    }
    return 0;
}

/* Made MSLR data: each feature has the codes that it says, and the widths part the same columns. */
static int made_sets(struct rw_ctx *ctx)
{
    static const int widths[] = {4, 8, 16};
    struct rw_made_set set;
    uint32_t n_wide[17] = {0};
    if (rw_made_set_init(ctx, &set, 1023, 60, 3) < 0)
        return -1;
    for (uint32_t f = 0; f < set.columns.n_features; f++) {
        struct seen seen;
        look(set.columns.column[f], set.columns.n_docs, &seen);
        check(seen.distinct == set.n_codes[f] && seen.count[set.n_codes[f] - 1] > 0,
              "every code of a feature is there", RW_CODES_SYNTH);
        check(f == 0 || set.feature[f] > set.feature[f - 1], "ids ascend", RW_CODES_SYNTH);
        n_wide[set.n_codes[f] <= 16 ? 4 : set.n_codes[f] <= 256 ? 8 : 16]++;
    }
    for (int w = 0; w < 3; w++) {
        struct rw_made_columns columns;
        if (rw_made_columns_synth(ctx, &columns, widths[w], 1024, 60, 3) < 0)
            return -1;
        if (widths[w] == 16)
            check(columns.n_features == n_wide[16], "wide features are those of the set",
                  RW_CODES_SYNTH);
        check(columns.n_docs == set.columns.n_docs && columns.n_features > 0, "features of a width",
              RW_CODES_SYNTH);
        rw_made_columns_release(&columns);
    }
    rw_made_set_release(&set);
    return 0;
}

int main(void)
{
    struct rw_ctx *ctx;
    if (rw_ctx_new(&ctx) < 0)
        return 1;
    if (made_codes(ctx) < 0 || made_sets(ctx) < 0) {
        printf("not ok: %s\n", rw_last_error(ctx));
        failed++;
    }
    printf("%d passed, %d failed, 0 skipped\n", checked - failed, failed);
    rw_ctx_free(ctx);
    return failed > 0;
}
