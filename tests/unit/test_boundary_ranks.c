/* Boundaries, intervals and codes against the plain rule: all sampled values sorted, every value
 * searched separately. Each path of instructions in turn. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/mem.h"
#include "binning/bins.h"
#include "each.h"
#include "train_fixture.h"

static const char *const paths[] = {"plain", "avx2", "avx512"};

enum { N_KINDS = 16 };

/* A value of a kind of column made to be hard; RW_ABSENT_BITS: not mentioned. */
static float value_of(int kind, uint32_t i, uint32_t n)
{
    const double u = fixture_unit(40 + (uint64_t)kind, i), w = fixture_unit(90, i);
    const float missing = rw_float_of_bits(RW_MISSING_BITS),
                absent = rw_float_of_bits(RW_ABSENT_BITS);
    float value;
    switch (kind) {
    case 0: /* all different */
        return (float)u;
    case 1: /* all equal */
        return -7.5f;
    case 2: /* a few values, one by far the most frequent */
        return u < 0.9 ? 3.0f : floorf((float)(w * 20.0)) - 9.0f;
    case 3: /* denormals of both signs, neighbours among them */
        return rw_float_of_key(rw_key_of_float(0.0f) + (uint32_t)(u * 3000.0)) *
                   (w < 0.5 ? -1.0f : 1.0f) +
               0.0f;
    case 4: /* the largest and smallest there are, and much in a narrow place */
        return i % 1000 == 3 ? FLT_MAX : i % 1000 == 4 ? -FLT_MAX : 1.0f + (float)u * 1e-3f;
    case 5: /* any float */
        value = rw_float_of_bits(rw_random(9, i, 0, FIXTURE_STREAM));
        return isfinite(value) && value != 0.0f ? value : 0.0f;
    case 6: /* missing and absent, between values of both signs */
        return u < 0.2 ? missing : u < 0.4 ? absent : (float)(w - 0.5);
    case 7: /* next to one another: no float between them */
        return rw_float_of_key(rw_key_of_float(1.0f) + (uint32_t)(u * 600.0));
    case 8: /* about as many values as may be counted one by one */
        return (float)(uint32_t)(u * 1025.0) - 512.0f;
    case 9: /* more than that, steps of several sizes */
        return floorf((float)(u * u * u * 40000.0)) * 0.25f;
    case 10: /* half zeros, the others negative */
        return u < 0.5 ? 0.0f : -(float)w;
    case 11: /* hot values between many others: runs that hold several ranks */
        return u < 0.3 ? 0.25f : u < 0.55 ? 0.25000003f : u < 0.7 ? -1.0f : (float)w;
    case 12: /* all missing but two */
        return i == n / 2 ? 1.0f : i == n / 3 ? -1.0f : missing;
    case 13: /* seldom mentioned */
        return u < 0.93 ? absent : u < 0.94 ? missing : (float)w;
    case 14: /* mentioned by less than half, the most frequent value not the absent one */
        return u < 0.6 ? absent : u < 0.98 ? 4.0f : (float)w;
    default: /* ascending: the sample's ranks and the values beyond them */
        return (float)i - (float)n * 0.5f;
    }
}

static struct rw_dataset *data_of_kinds(struct rw_ctx *ctx, uint32_t n)
{
    struct rw_builder builder;
    struct rw_dataset *dataset;
    memset(&builder, 0, sizeof(builder));
    cr_assert_eq(rw_builder_query(ctx, &builder, "q", 1), RW_OK);
    for (uint32_t i = 0; i < n; i++) {
        uint16_t features[N_KINDS];
        float values[N_KINDS];
        size_t n_values = 0;
        for (int kind = 0; kind < N_KINDS; kind++) {
            const float value = value_of(kind, i, n);
            if (rw_is_absent(value))
                continue;
            features[n_values] = (uint16_t)(kind + 1);
            values[n_values++] = value;
        }
        cr_assert_eq(rw_builder_doc(ctx, &builder, 0.0f, features, values, n_values, NULL, 0),
                     RW_OK);
    }
    cr_assert_eq(rw_builder_finish(ctx, &builder, 1, &dataset), RW_OK);
    rw_builder_release(&builder);
    return dataset;
}

/* ---- the plain rule ---- */

static int by_number(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/* Keys of the values that are not missing, sorted; in: NULL or which to take. Returns their number.
 */
static uint32_t sorted_keys(const float *value, const uint8_t *in, uint32_t n_docs, uint32_t *key)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_docs; i++) {
        if ((!in || in[i]) && !isnan(value[i]))
            key[n++] = rw_key_of_float(value[i]);
    }
    qsort(key, n, sizeof(*key), by_number);
    return n;
}

/* k from 1 to bins - 1 with floor(k n / bins) under `end`. */
static uint32_t ranks_under(uint64_t end, uint32_t n, uint32_t bins)
{
    const uint64_t k = (end * bins + n - 1) / n; /* the first that is not */
    return k <= 1 ? 0 : (uint32_t)(k > bins ? bins : k) - 1;
}

/* key: [n] sorted. bound: written; returns their number. */
static uint32_t plain_bounds(const uint32_t *key, uint32_t n, uint32_t bins, uint32_t *bound)
{
    uint32_t n_runs = n > 0, n_bounds = 0, before = 0, begin = 0;
    for (uint32_t i = 1; i < n; i++)
        n_runs += key[i] != key[i - 1];
    for (uint32_t i = 1; i < n; i++) {
        if (key[i] == key[i - 1])
            continue;
        /* [before, begin) and [begin, i) are the previous two runs; the current one begins at i */
        before = begin;
        begin = i;
        uint32_t end = i + 1;
        while (end < n && key[end] == key[i])
            end++;
        const uint32_t left = ranks_under(i, n, bins) - ranks_under(before, n, bins);
        const uint32_t here = ranks_under(end, n, bins) - ranks_under(i, n, bins);
        if (n_runs <= bins || here >= 1 || left >= 2)
            bound[n_bounds++] = key[i];
    }
    return n_bounds;
}

/* The boundaries of one feature; returns the number of bins. key: [n] of all values, sorted. */
static uint32_t plain_cuts(const uint32_t *key, uint32_t n, const uint32_t *bound,
                           uint32_t n_bounds, float *cut)
{
    uint32_t n_bins = 0;
    for (uint32_t k = 0, at = 0; k < n_bounds; k++) {
        while (at < n && key[at] < bound[k])
            at++;
        cr_assert_gt(at, 0);
        const float between =
            rw_cut_between(rw_float_of_key(key[at - 1]), rw_float_of_key(bound[k]));
        if (!isnan(between))
            cut[n_bins++] = between;
    }
    cut[n_bins++] = FLT_MAX;
    return n_bins;
}

static uint32_t plain_code(const float *cut, uint32_t n_bins, int has_missing, float value)
{
    if (isnan(value))
        return has_missing ? n_bins : rw_bin_of(cut, n_bins, 0.0f);
    return rw_bin_of(cut, n_bins, value);
}

/* ---- comparing ---- */

struct compared {
    struct rw_ctx *ctx;
    const struct rw_dataset *dataset;
    struct rw_cut_rule rule;
    struct rw_cut_sample sample;
    float *value;  /* [n_docs] */
    uint32_t *key; /* [n_docs] */
    const char *path;
};

static void compare_feature(struct compared *c, uint32_t column, const struct rw_bins *bins,
                            uint32_t *f)
{
    const uint32_t n_docs = c->dataset->n_docs, id = c->dataset->column[column].feature;
    const struct rw_cuts *cuts = bins->cuts;
    uint32_t bound[RW_MAX_BOUNDS + 1];
    float cut[RW_MAX_BOUNDS + 1];
    rw_dataset_feature(c->dataset, id, c->rule.absent_missing ? NAN : 0.0f, c->value);
    uint32_t n = sorted_keys(c->value, c->sample.in, n_docs, c->key);
    const uint32_t n_bounds = plain_bounds(c->key, n, (uint32_t)c->rule.bins, bound);
    n = sorted_keys(c->value, NULL, n_docs, c->key);
    const uint32_t n_bins = plain_cuts(c->key, n, bound, n_bounds, cut);
    if (n_bins == 1 && (n == n_docs || n == 0))
        return; /* constant */
    cr_assert_lt(*f, cuts->n_features, "%s: feature %u of %u documents, %d bins", c->path, id,
                 n_docs, c->rule.bins);
    cr_assert_eq(cuts->feature[*f], id, "%s: feature %u of %u documents, %d bins", c->path, id,
                 n_docs, c->rule.bins);
    cr_assert_eq(rw_cuts_n_bins(cuts, *f), n_bins,
                 "%s: feature %u of %u documents, %d bins: %u, %u", c->path, id, n_docs,
                 c->rule.bins, rw_cuts_n_bins(cuts, *f), n_bins);
    cr_assert_eq(cuts->has_missing[*f], n < n_docs);
    cr_assert_eq(memcmp(cuts->cut + cuts->offset[*f], cut, n_bins * sizeof(*cut)), 0,
                 "%s: feature %u of %u documents, %d bins", c->path, id, n_docs, c->rule.bins);
    for (uint32_t i = 0; i < n_docs; i++) {
        const uint32_t want = plain_code(cut, n_bins, n < n_docs, c->value[i]);
        const uint32_t have = rw_bins_code(bins, *f, i);
        if (have != want)
            cr_assert_fail("%s: feature %u document %u of %u, %d bins: %u, expected %u", c->path,
                           id, i, n_docs, c->rule.bins, have, want);
    }
    ++*f;
}

/* The same lists: which features are sparse, and of what. */
static void compare_lists(const struct rw_bins *one, const struct rw_bins *other)
{
    cr_assert_eq(one->cuts->n_features, other->cuts->n_features);
    cr_assert_eq(one->cuts->n_constant, other->cuts->n_constant);
    cr_assert_eq(one->cuts->n_few, other->cuts->n_few);
    for (uint32_t f = 0; f < one->cuts->n_features; f++) {
        const struct rw_codes *a = &one->codes[f], *b = &other->codes[f];
        cr_assert_eq(a->n, b->n);
        cr_assert_eq(a->row == NULL, b->row == NULL);
        if (a->row)
            cr_assert(a->rest == b->rest && memcmp(a->row, b->row, a->n * sizeof(*a->row)) == 0);
        cr_assert_eq(memcmp(a->code, b->code, a->n * rw_cuts_code_bytes(one->cuts, f)), 0);
    }
}

static void compare(struct compared *c)
{
    struct rw_bins *bins, *apart;
    struct rw_cuts *cuts;
    setenv("RANKWOOD_ISA", c->path, 1);
    cr_assert_eq(rw_bins_make_training(c->ctx, c->dataset, &c->rule, &bins), RW_OK);
    cr_assert_eq(rw_cuts_make(c->ctx, c->dataset, &c->rule, &cuts), RW_OK);
    cr_assert_eq(rw_bins_make(c->ctx, c->dataset, cuts, &c->rule, 1, &apart), RW_OK);
    uint32_t f = 0;
    for (uint32_t column = 0; column < c->dataset->n_columns; column++)
        compare_feature(c, column, bins, &f);
    cr_assert_eq(f, bins->cuts->n_features);
    compare_lists(bins, apart);
    uint32_t n[N_KINDS];
    rw_bins_entries(c->ctx, c->dataset, bins->cuts, &c->rule, n);
    for (f = 0; f < bins->cuts->n_features; f++)
        cr_assert_eq(n[f], bins->codes[f].n);
    rw_bins_free(bins);
    rw_bins_free(apart);
}

static void compare_docs(uint32_t n_docs, const int *bin_counts, int n_bin_counts)
{
    struct compared c = {.rule = {.min_docs = 1}};
    cr_assert_eq(rw_ctx_new(&c.ctx), RW_OK);
    rw_ctx_set_threads(c.ctx, 3);
    struct rw_dataset *dataset = data_of_kinds(c.ctx, n_docs);
    c.dataset = dataset;
    c.value = malloc(n_docs * sizeof(*c.value));
    c.key = malloc(n_docs * sizeof(*c.key));
    cr_assert(c.value && c.key);
    cr_assert_eq(rw_cut_sample_init(c.ctx, &c.sample, dataset), RW_OK);
    for (int b = 0; b < n_bin_counts; b += EACH(2)) {
        for (size_t p = 0; p < sizeof(paths) / sizeof(paths[0]); p++) {
            c.path = paths[p];
            c.rule.bins = bin_counts[b];
            c.rule.absent_missing = (b + (int)p) % 2;
            compare(&c);
        }
    }
    rw_cut_sample_release(&c.sample);
    free(c.value);
    free(c.key);
    rw_dataset_free(dataset);
    rw_ctx_free(c.ctx);
}

Test(boundary_ranks, as_the_plain_rule)
{
    static const int bins[] = {2, 3, 15, 16, 31, 33, 64, 254, 255, 256, 257, 1000, 1023, 1024};
    static const uint32_t docs[] = {1, 2, 7, 64, 65, 300, 1030, 4095, 9001};
    for (size_t d = 0; d < sizeof(docs) / sizeof(docs[0]); d += EACH(2))
        compare_docs(docs[d], bins, sizeof(bins) / sizeof(bins[0]));
}

Test(boundary_ranks, many_documents, .timeout = 300)
{
    static const int bins[] = {255, 1024, 2};
    compare_docs(70001, bins, EACH(3) == 1 ? 3 : 1);
}

Test(boundary_ranks, more_documents_than_the_sample, .timeout = 300)
{
    static const int bins[] = {1024, 255};
    rw_cut_sample_docs = RW_CUT_SAMPLE_DOCS / EACH(16);
    compare_docs(rw_cut_sample_docs + 40007 / EACH(16), bins, EACH(2) == 1 ? 2 : 1);
    rw_cut_sample_docs = RW_CUT_SAMPLE_DOCS;
}

Test(boundary_ranks, a_failure_leaks_nothing)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    rw_ctx_set_threads(ctx, 1);
    struct rw_dataset *dataset = data_of_kinds(ctx, 300);
    const struct rw_cut_rule rule = {.bins = 256, .min_docs = 1};
    struct rw_bins *bins = NULL;
    int status = RW_ERR_MEMORY;
    long n = 0;
    while (status != RW_OK) {
        rw_mem_fail_from(++n);
        status = rw_bins_make_training(ctx, dataset, &rule, &bins);
        rw_mem_fail_from(0);
        cr_assert(status == RW_OK ? bins != NULL : status == RW_ERR_MEMORY && bins == NULL);
    }
    cr_assert_gt(n, 30);
    rw_bins_free(bins);
    rw_dataset_free(dataset);
    rw_ctx_free(ctx);
}

/* ---- places ---- */

static uint32_t plain_place(const uint32_t *bound, uint32_t n_bounds, float value)
{
    uint32_t at = 0;
    while (at < n_bounds && bound[at] <= rw_key_of_float(value))
        at++;
    return at;
}

Test(boundary_ranks, every_number_of_boundaries)
{
    enum { N = 1500 };
    static float value[N];
    static uint32_t bound[RW_MAX_BOUNDS];
    static int32_t most[RW_SEARCH_ROOM];
    static uint16_t places[N + 1];
    for (uint32_t i = 0; i < N; i++)
        value[i] = value_of(i % 3 == 0 ? 5 : i % 3 == 1 ? 3 : 6, i, N);
    for (uint32_t n = 0; n <= RW_MAX_BOUNDS; n += n < 70 ? 1 : 53) {
        for (uint32_t k = 0; k < n; k++) /* some of the values, and any others */
            bound[k] = rw_key_of_float(k % 2 ? value[3 * k % N / 3 * 3] : value_of(5, k + 5, N));
        qsort(bound, n, sizeof(*bound), by_number);
        for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
            const int absent_missing = isa % 2;
            const size_t bytes = n + 2 > 256 ? 2 : 1 + n % 2;
            struct rw_code_search search;
            rw_code_search_init(&search, bound, n, absent_missing, n + 1);
            for (uint32_t k = 0; k <= n; k++)
                most[k] = INT32_MIN;
            memset(places, 0xee, sizeof(places));
            rw_code_search_run((enum rw_isa)isa, &search, value, N - n, bytes, places, most);
            uint32_t largest[RW_SEARCH_ROOM] = {0}, counts[RW_SEARCH_ROOM + 1] = {0},
                     expected[RW_SEARCH_ROOM + 1] = {0};
            for (uint32_t i = 0; i < N - n; i++) {
                float one = value[i];
                if (rw_is_absent(one))
                    one = absent_missing ? NAN : 0.0f;
                const uint32_t place = isnan(one) ? n + 1 : plain_place(bound, n, one);
                const uint32_t have = bytes == 1 ? ((const uint8_t *)places)[i] : places[i];
                cr_assert_eq(have, place, "%s, %u boundaries: value %u at %u, expected %u",
                             rw_isa_name((enum rw_isa)isa), n, i, have, place);
                expected[place]++;
                if (!isnan(one) && rw_key_of_float(one) > largest[place])
                    largest[place] = rw_key_of_float(one);
            }
            cr_assert_eq(((const uint8_t *)places)[(N - n) * bytes], 0xee);
            for (uint32_t k = 0; k <= n; k++)
                cr_assert_eq(rw_key_of_ordered(most[k]), largest[k]);
            rw_code_count(places, N - n, bytes, n + 2, counts);
            cr_assert_eq(memcmp(counts, expected, (n + 2) * sizeof(*counts)), 0);
        }
    }
}
