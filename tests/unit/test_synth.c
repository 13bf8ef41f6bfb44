#include <criterion/criterion.h>
#include <float.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/mem.h"
#include "base/rng.h"
#include "each.h"
#include "synth/synth.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(synth, .init = setup, .fini = teardown);

static const char *const shapes[] = {"mslr30k", "yahoo", "istella", "letor"};
enum { N_SHAPES = 4 };

static struct rw_dataset *make(const char *shape, uint32_t n_queries, uint64_t seed)
{
    const struct rw_synth_options options = {shape, n_queries, seed};
    struct rw_dataset *set = NULL;
    cr_assert_eq(rw_synth(ctx, &options, NULL, &set), RW_OK, "%s", rw_last_error(ctx));
    return set;
}

static float *feature_of(const struct rw_dataset *set, uint32_t feature)
{
    float *value = malloc(set->n_docs * sizeof(*value));
    cr_assert_not_null(value);
    rw_dataset_feature(set, feature, 0.0f, value);
    return value;
}

/* Every value, label and offset of the first queries, as a reader of the data set sees them. */
static uint32_t checksum(const struct rw_dataset *set, uint32_t n_queries)
{
    const uint32_t n = set->query_offset[n_queries];
    uLong sum = crc32(0, Z_NULL, 0);
    for (uint32_t f = 0; f <= 700; f++) {
        float *value = feature_of(set, f);
        sum = crc32(sum, (const Bytef *)value, n * (uInt)sizeof(*value));
        free(value);
    }
    sum = crc32(sum, (const Bytef *)set->label, n * (uInt)sizeof(float));
    sum = crc32(sum, (const Bytef *)set->query_offset, (n_queries + 1) * (uInt)sizeof(uint32_t));
    for (uint32_t q = 0; q < n_queries; q++) {
        const char *id = rw_dataset_query_id(set, q);
        sum = crc32(sum, (const Bytef *)id, (uInt)strlen(id));
    }
    for (uint32_t i = 0; i < n; i++) {
        const char *comment = rw_dataset_comment(set, i);
        sum = crc32(sum, (const Bytef *)comment, (uInt)strlen(comment));
    }
    return (uint32_t)sum;
}

static double zero_share(const float *value, uint32_t n)
{
    uint32_t n_zero = 0;
    for (uint32_t i = 0; i < n; i++)
        n_zero += value[i] == 0.0f;
    return (double)n_zero / (double)n;
}

static int by_value(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* Sorts. */
static uint32_t n_distinct(float *value, uint32_t n)
{
    uint32_t distinct = n > 0;
    qsort(value, n, sizeof(*value), by_value);
    for (uint32_t i = 1; i < n; i++)
        distinct += value[i] != value[i - 1];
    return distinct;
}

static void near(double got, double expected, double bound, const char *what)
{
    cr_expect(got >= expected - bound && got <= expected + bound, "%s: %.4f, expected %.4f +- %.4f",
              what, got, expected, bound);
}

/* --- identical in all releases --- */

Test(synth, bytes_are_pinned)
{
    static const uint32_t pinned[N_SHAPES] = {0xd8536b4f, 0x807d4b85, 0xd20fc3d5, 0xb78b90dc};
    for (int k = 0; k < N_SHAPES; k++) {
        struct rw_dataset *set = make(shapes[k], 20, 3);
        cr_expect_eq(checksum(set, 20), pinned[k], "%s: 0x%08x", shapes[k], checksum(set, 20));
        rw_dataset_free(set);
    }
}

Test(synth, first_queries_of_a_longer_set_are_the_same)
{
    for (int k = 0; k < N_SHAPES; k += EACH(4)) {
        struct rw_dataset *a = make(shapes[k], 7, 11), *b = make(shapes[k], 300, 11);
        cr_expect_eq(checksum(a, 7), checksum(b, 7), "%s", shapes[k]);
        rw_dataset_free(a);
        rw_dataset_free(b);
    }
}

Test(synth, threads_do_not_matter)
{
    static const int threads[] = {1, 2, 7};
    for (int k = 0; k < N_SHAPES; k += EACH(4)) {
        uint32_t sum[3];
        for (int t = 0; t < 3; t++) {
            rw_ctx_set_threads(ctx, threads[t]);
            struct rw_dataset *set = make(shapes[k], 60, 5);
            sum[t] = checksum(set, 60);
            rw_dataset_free(set);
        }
        cr_expect(sum[0] == sum[1] && sum[0] == sum[2], "%s", shapes[k]);
    }
}

Test(synth, seeds_differ)
{
    for (int k = 0; k < N_SHAPES; k++) {
        struct rw_dataset *a = make(shapes[k], 5, 1), *b = make(shapes[k], 5, 2);
        /* a seed above 32 bits is not the one below it */
        struct rw_dataset *c = make(shapes[k], 5, (1ull << 32) + 1);
        cr_expect_neq(checksum(a, 5), checksum(b, 5));
        cr_expect_neq(a->label[0] + 10 * checksum(a, 5), c->label[0] + 10 * checksum(c, 5));
        cr_expect_str_eq(rw_dataset_query_id(a, 4), "10000005");
        cr_expect_str_eq(rw_dataset_query_id(b, 0), "20000001");
        rw_dataset_free(a);
        rw_dataset_free(b);
        rw_dataset_free(c);
    }
}

/* --- sizes and labels --- */

struct expected {
    uint32_t n_queries, n_features, max_docs;
    double mean_docs, mean_bound;
    double label[RW_SYNTH_LABELS], label_bound;
};

/* The targets of the shapes. A query's own density moves the shares of labels, so bounds are about
 * four standard errors at these numbers of queries. */
static const struct expected expectations[N_SHAPES] = {
    {1000, 136, 1251, 119.6, 9.0, {.515, .325, .134, .018, .008}, 0.03},
    {2000, 519, 139, 23.7, 1.5, {.26, .36, .28, .08, .02}, 0.03},
    {300, 220, 1000, 316.6, 20.0, {.963, .008, .013, .009, .007}, 0.01},
    {3000, 46, 121, 19.4, 2.5, {.8072, .1316, .0612, 0, 0}, 0.03}};

Test(synth, sizes_and_labels)
{
    for (int k = 0; k < N_SHAPES; k += EACH(4)) {
        const struct expected *e = &expectations[k];
        struct rw_dataset *set = make(shapes[k], e->n_queries, 3);
        uint32_t count[RW_SYNTH_LABELS] = {0}, longest = 0;
        cr_expect_eq(set->n_columns, e->n_features, "%s: %u", shapes[k], set->n_columns);
        cr_expect_eq(set->n_queries, e->n_queries);
        near(set->n_docs / (double)set->n_queries, e->mean_docs, e->mean_bound, shapes[k]);
        for (uint32_t q = 0; q < set->n_queries; q++) {
            const uint32_t n = set->query_offset[q + 1] - set->query_offset[q];
            cr_expect_geq(n, 1);
            longest = n > longest ? n : longest;
        }
        cr_expect_leq(longest, e->max_docs);
        cr_expect_geq(longest, 2.0 * e->mean_docs, "%s: %u", shapes[k], longest);
        for (uint32_t i = 0; i < set->n_docs; i++) {
            cr_assert(set->label[i] >= 0 && set->label[i] <= 4);
            count[(int)set->label[i]]++;
            cr_assert_eq(set->label[i], (float)(int)set->label[i]);
        }
        for (int l = 0; l < RW_SYNTH_LABELS; l++)
            near(count[l] / (double)set->n_docs, e->label[l],
                 e->label[l] > 0.1 ? e->label_bound : 0.3 * e->label[l], shapes[k]);
        rw_dataset_free(set);
    }
}

/* The longest of 31,531 queries has 1,251 documents, and the mean is 119.6. */
Test(synth, sizes_of_the_whole_of_mslr30k)
{
    const struct rw_synth_options options = {"mslr30k", 31531, 1};
    struct rw_synth_shape *shape = NULL;
    uint64_t n_docs = 0;
    uint32_t longest = 0;
    cr_assert_eq(rw_synth_shape_new(ctx, options.shape, &shape), RW_OK);
    for (uint32_t q = 0; q < options.n_queries; q++) {
        const uint32_t n = rw_synth_query_docs(shape, 1, q);
        n_docs += n;
        longest = n > longest ? n : longest;
    }
    near((double)n_docs / 31531, 119.6, 1.5, "mean");
    cr_expect(longest >= 900 && longest <= 1251, "%u", longest);
    rw_mem_free(shape);
}

/* --- values --- */

Test(synth, mslr30k_has_the_marginals_of_the_sample)
{
    struct rw_dataset *set = make("mslr30k", 1000, 3);
    const uint32_t n = set->n_docs;
    for (uint32_t id = 1; id <= 136; id++) {
        const struct rw_synth_mslr_row *row = &rw_synth_mslr_rows[id - 1];
        float *value = feature_of(set, id);
        char what[32];
        snprintf(what, sizeof(what), "feature %u", id);
        if (id <= 110 || id > 125)
            near(zero_share(value, n), row->zero, 0.04, what);
        else /* language models: the table counts the few zeros among the values */
            cr_expect_leq(zero_share(value, n), 0.06);
        /* Half of the nonzero values are below the middle knot, apart from a step of ties. */
        uint32_t n_under = 0, n_over = 0, n_not_zero = 0;
        const int lm = id > 110 && id <= 125;
        for (uint32_t i = 0; i < n; i++) {
            const int counts = lm || value[i] != 0.0f;
            const float one =
                1.5f * (row->decimals == 0 || row->decimals >= 100) + 1e-5f; /* rounding */
            n_not_zero += (uint32_t)counts;
            n_under += counts && value[i] < row->knot[3] - one;
            n_over += counts && value[i] > row->knot[3] + one;
            cr_assert(value[i] <= row->knot[7] + one || id <= 5, "%s: %g", what, value[i]);
            if (lm)
                cr_assert_leq(value[i], 0.0f);
            else
                cr_assert_geq(value[i], row->knot[0] < 0 ? -60.0f : 0.0f);
            if (row->decimals == 0 && !(id >= 6 && id <= 10))
                cr_assert_eq(value[i], (float)(int64_t)value[i], "%s: %g", what, value[i]);
        }
        cr_expect_leq(n_under, 0.57 * n_not_zero, "%s: %g", what, (double)n_under / n_not_zero);
        cr_expect_leq(n_over, 0.57 * n_not_zero, "%s: %g", what, (double)n_over / n_not_zero);
        free(value);
    }
    rw_dataset_free(set);
}

static uint32_t distinct_of(const struct rw_dataset *set, uint32_t feature)
{
    float *value = feature_of(set, feature);
    const uint32_t distinct = n_distinct(value, set->n_docs);
    free(value);
    return distinct;
}

Test(synth, mslr30k_kinds)
{
    struct rw_dataset *set = make("mslr30k", 400, 3);
    const uint32_t n = set->n_docs;
    for (uint32_t stream = 0; stream < 5; stream++) {
        float *terms = feature_of(set, 1 + stream), *ratio = feature_of(set, 6 + stream);
        float *rarity = feature_of(set, 16 + stream), *all = feature_of(set, 96 + stream);
        for (uint32_t i = 0; i < n; i++) {
            cr_assert(terms[i] >= 0 && terms[i] <= 7);
            cr_assert(ratio[i] >= 0 && ratio[i] <= 1);
            cr_assert_eq(all[i], (float)(ratio[i] == 1.0f));
        }
        for (uint32_t q = 0; q < set->n_queries; q++) {
            for (uint32_t i = set->query_offset[q]; i < set->query_offset[q + 1]; i++)
                cr_assert_eq(rarity[i], rarity[set->query_offset[q]]);
        }
        free(terms);
        free(ratio);
        free(rarity);
        free(all);
        cr_expect_eq(distinct_of(set, 96 + stream), 2);    /* boolean */
        cr_expect_leq(distinct_of(set, 1 + stream), 8);    /* covered terms */
        cr_expect_geq(distinct_of(set, 16 + stream), 350); /* one value a query, or nearly */
        cr_expect_leq(distinct_of(set, 26 + stream), 200); /* smallest count */
    }
    cr_expect_geq(distinct_of(set, 110), n / 2); /* BM25 of the whole document */
    cr_expect_geq(distinct_of(set, 111), n / 2); /* a language model */
    cr_expect_leq(distinct_of(set, 126), 20);    /* slashes */
    cr_expect_geq(distinct_of(set, 130), 10000); /* page rank */
    rw_dataset_free(set);
}

Test(synth, letor_is_normalised_by_query)
{
    struct rw_dataset *set = make("letor", 300, 3);
    char doc_id[32];
    for (uint32_t id = 1; id <= 46; id++) {
        float *value = feature_of(set, id);
        const int constant = (id >= 6 && id <= 10) || id == 43;
        cr_expect_eq(distinct_of(set, id) == 1, constant, "feature %u", id);
        for (uint32_t q = 0; q < set->n_queries; q++) {
            float low = 2, high = -1;
            for (uint32_t i = set->query_offset[q]; i < set->query_offset[q + 1]; i++) {
                low = value[i] < low ? value[i] : low;
                high = value[i] > high ? value[i] : high;
                const double millionths = (double)value[i] * 1e6;
                cr_assert_lt(millionths - (double)(int64_t)(millionths + 0.5), 0.07);
            }
            cr_assert(low == 0 && (high == 1 || high == 0), "feature %u: %g %g", id, low, high);
        }
        free(value);
    }
    rw_dataset_doc_id(set, 0, doc_id, sizeof(doc_id));
    cr_expect_eq(strlen(doc_id), strlen("GX000-00-0000000"), "'%s'", doc_id);
    cr_expect_eq(strncmp(doc_id, "GX", 2), 0);
    rw_dataset_free(set);
}

/* Zero shares of MQ2008, which normalisation moves (a query's least is 0). */
Test(synth, letor_zeros)
{
    static const struct {
        uint32_t feature;
        double zero;
    } real[] = {{1, .079},  {2, .710},  {3, .633},  {4, .808},  {11, .064}, {16, .058}, {17, .185},
                {18, .238}, {21, .057}, {25, .710}, {29, .633}, {33, .807}, {37, .056}, {46, .405}};
    struct rw_dataset *set = make("letor", 1500, 3);
    for (size_t k = 0; k < sizeof(real) / sizeof(real[0]); k++) {
        float *value = feature_of(set, real[k].feature);
        char what[32];
        snprintf(what, sizeof(what), "feature %u", real[k].feature);
        near(zero_share(value, set->n_docs), real[k].zero, 0.06, what);
        free(value);
    }
    rw_dataset_free(set);
}

Test(synth, yahoo_is_sparse_in_0_1)
{
    struct rw_dataset *set = make("yahoo", 600, 3);
    uint64_t n_stated = 0;
    cr_assert_eq(set->n_columns, 519);
    cr_expect_leq(set->column[518].feature, 700);
    cr_expect_geq(set->column[518].feature, 690);
    for (uint32_t c = 0; c < set->n_columns; c++) {
        const struct rw_column *column = &set->column[c];
        for (uint32_t i = 0; i < column->n; i++) {
            if (rw_is_absent(column->value[i]))
                continue;
            n_stated++;
            cr_assert(column->value[i] > 0 && column->value[i] <= 1);
        }
    }
    near((double)n_stated / ((double)set->n_docs * 519), 0.52, 0.03, "stated");
    rw_dataset_free(set);
}

Test(synth, istella_has_unknown_values)
{
    struct rw_dataset *set = make("istella", 60, 3);
    uint64_t n_unknown = 0, n_zero = 0;
    uint32_t n_features = 0, n_boolean = 0;
    for (uint32_t id = 1; id <= 220; id++) {
        float *value = feature_of(set, id);
        uint32_t n = 0;
        for (uint32_t i = 0; i < set->n_docs; i++) {
            n += value[i] == FLT_MAX;
            n_zero += value[i] == 0.0f;
            cr_assert(value[i] >= 0 && (value[i] < 1e8f || value[i] == FLT_MAX));
        }
        n_unknown += n;
        n_features += n > 0;
        n_boolean += n_distinct(value, set->n_docs) == 2;
        free(value);
    }
    cr_expect_eq(set->n_clamped, n_unknown);
    cr_expect(n_features >= 8 && n_features <= 20, "%u features with unknown values", n_features);
    cr_expect(n_boolean >= 10 && n_boolean <= 40, "%u booleans", n_boolean);
    near((double)n_unknown / (220.0 * set->n_docs), 0.009, 0.004, "unknown");
    near((double)n_zero / (220.0 * set->n_docs), 0.41, 0.04, "zeros");
    rw_dataset_free(set);
}

/* --- something to learn --- */

/* Mean label of the documents above their query's mean of a feature, less that of the others. */
static double gap_of(const struct rw_dataset *set, uint32_t feature)
{
    float *value = feature_of(set, feature);
    double sum[2] = {0}, n[2] = {1e-9, 1e-9};
    for (uint32_t q = 0; q < set->n_queries; q++) {
        double mean = 0;
        const uint32_t begin = set->query_offset[q], end = set->query_offset[q + 1];
        for (uint32_t i = begin; i < end; i++)
            mean += value[i] / (double)(end - begin);
        for (uint32_t i = begin; i < end; i++) {
            sum[value[i] > mean] += set->label[i];
            n[value[i] > mean]++;
        }
    }
    free(value);
    return sum[1] / n[1] - sum[0] / n[0];
}

/* The best feature separates documents, and leaves much to the others. */
Test(synth, features_know_of_labels)
{
    static const double least[N_SHAPES] = {0.2, 0.2, 0.05, 0.2};
    static const double most[N_SHAPES] = {0.6, 0.7, 0.3, 0.5};
    for (int k = 0; k < N_SHAPES; k += EACH(2)) {
        struct rw_dataset *set = make(shapes[k], k == 3 ? 1000 : 150, 9);
        double best = 0;
        for (uint32_t c = 0; c < set->n_columns; c++) {
            const double gap = gap_of(set, set->column[c].feature);
            best = fabs(gap) > best ? fabs(gap) : best;
        }
        cr_expect(best > least[k] && best < most[k], "%s: %g", shapes[k], best);
        rw_dataset_free(set);
    }
}

/* --- misuse and shortage --- */

static void refused(const char *shape, uint32_t n_queries, const char *expected)
{
    const struct rw_synth_options options = {shape, n_queries, 1};
    struct rw_dataset *set = (struct rw_dataset *)ctx;
    cr_expect_eq(rw_synth(ctx, &options, NULL, &set), RW_ERR_ARGUMENT);
    cr_expect_null(set);
    cr_expect_str_eq(rw_last_error(ctx), expected);
}

Test(synth, bad_options_are_refused)
{
    refused("mslr", 10, "shape: expected mslr30k, yahoo, istella or letor, found 'mslr'");
    refused("", 10, "shape: expected mslr30k, yahoo, istella or letor, found ''");
    refused(NULL, 10, "shape: expected mslr30k, yahoo, istella or letor");
    refused("letor", 0, "queries: expected 1 to 10000000, found 0");
    refused("letor", 10000001, "queries: expected 1 to 10000000, found 10000001");
    refused("istella", 10000000,
            "10000000 queries of shape 'istella' are more than 2147483647 documents");
}

Test(synth, one_query)
{
    for (int k = 0; k < N_SHAPES; k++) {
        struct rw_dataset *set = make(shapes[k], 1, 0);
        cr_expect_eq(set->n_queries, 1);
        cr_expect_eq(set->n_docs, set->query_offset[1]);
        rw_dataset_free(set);
    }
}

Test(synth, no_memory)
{
    for (int k = 0; k < N_SHAPES; k++) {
        const struct rw_synth_options options = {shapes[k], 3, 1};
        int status = RW_ERR_MEMORY, n_failed = 0;
        for (long n = 1; status < 0; n += 1 + n / 20) {
            struct rw_dataset *set = NULL;
            rw_mem_fail_from(n);
            status = rw_synth(ctx, &options, NULL, &set);
            rw_mem_fail_from(0);
            cr_assert(status == RW_OK || (status == RW_ERR_MEMORY && !set), "%d", status);
            n_failed += status < 0;
            rw_dataset_free(set);
        }
        cr_expect_gt(n_failed, 5);
    }
}

/* --- arithmetic --- */

Test(synth, normal_shares)
{
    near(rw_synth_normal_share(0), 0.5, 1e-15, "0");
    near(rw_synth_normal_share(1), 0.84134474606854293, 1e-14, "1");
    near(rw_synth_normal_share(-3), 0.0013498980316301, 1e-14, "-3");
    near(rw_synth_normal_quantile(0.975), 1.959963984540054, 1e-12, "0.975");
    near(rw_synth_normal_quantile(0.01), -2.3263478740408408, 1e-11, "0.01");
}

/* Each shape draws from a stream of its own, and describes its features from another, 16 above. */
Test(synth, streams_of_shapes)
{
    cr_assert_lt(N_SHAPES, 16);
    for (int k = 0; k < N_SHAPES; k++) {
        struct rw_synth_shape *shape = NULL;
        cr_assert_eq(rw_synth_shape_new(ctx, shapes[k], &shape), RW_OK);
        cr_expect_eq(shape->stream, (uint32_t)(RW_STREAM_SYNTH + k), "%s", shapes[k]);
        rw_mem_free(shape);
    }
}

/* The inputs of a feature sum to a variance of 1; otherwise its knots would be misplaced. */
Test(synth, weights_of_a_feature)
{
    for (int k = 0; k < N_SHAPES; k++) {
        struct rw_synth_shape *shape = NULL;
        cr_assert_eq(rw_synth_shape_new(ctx, shapes[k], &shape), RW_OK);
        for (int f = 0; f < shape->n_features; f++) {
            const struct rw_synth_feature *feature = &shape->feature[f];
            double sum = feature->weight_query * feature->weight_query +
                         feature->weight_doc * feature->weight_doc;
            for (int w = 0; w < RW_SYNTH_LOADS; w++)
                sum += feature->weight[w] * feature->weight[w];
            near(sum, 1.0, 1e-9, shape->traits->name);
            cr_expect(f == 0 || feature->id > feature[-1].id);
            for (int w = 1; w < RW_SYNTH_KNOTS; w++)
                cr_expect_geq(feature->knot[w], feature->knot[w - 1]);
        }
        rw_mem_free(shape);
    }
}
