#include <math.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dataset/dataset.h"
#include "scratch_file.h"

TestSuite(check_data_set, .init = scratch_begin, .fini = scratch_end);

static double unit(uint32_t item, uint32_t what)
{
    return (double)rw_random(3, item, what, 0x7E57u) * 0x1p-32;
}

static struct rw_check *check(const char *against)
{
    const char *paths[] = {"d"}, *others[] = {against};
    struct rw_check *out;
    cr_assert_eq(rw_check_new(scratch_ctx, paths, 1, others, against != NULL, NULL, &out), RW_OK,
                 "%s", rw_last_error(scratch_ctx));
    return out;
}

static const char *found(const struct rw_check *check, const char *kind)
{
    for (int i = 0; i < check->n_findings; i++) {
        if (strcmp(check->findings[i].kind, kind) == 0)
            return check->findings[i].text;
    }
    return NULL;
}

Test(check_data_set, queries_and_labels)
{
    scratch_text("d", "2 qid:a 1:1\n1 qid:a 1:2\n0 qid:a 1:3\n"    /* falls: 1/6 by chance */
                      "0 qid:b 1:4\n1 qid:b 1:5\n"                 /* rises: 1/2 */
                      "0 qid:c 1:6\n0 qid:c 1:7\n"                 /* empty */
                      "0.5 qid:d 1:8\n"                            /* one document */
                      "1 qid:e 1:9\n1 qid:e 1:10\n"                /* alike */
                      "1 qid:b 1:11\n0 qid:b 1:12\n1 qid:b 1:13\n" /* b again */
                      "0 qid:f\n0 qid:a 1:14\n");
    struct rw_check *out = check(NULL);
    cr_expect(out->n_docs == 15 && out->n_queries == 8 && out->n_features == 1);
    cr_expect(out->shortest == 1 && out->median == 2 && out->longest == 3);
    cr_expect_str_eq(rw_check_longest(out), "a");
    cr_expect_eq(out->n_split, 2u);
    cr_expect_str_eq(
        found(out, "split-queries"),
        "the documents of 2 queries are not adjacent in the input, which training refuses: a, b");
    cr_expect(out->n_empty == 3 && out->n_single == 3 && out->n_alike == 1 && out->n_mixed == 3);
    cr_expect(out->n_falling == 1 && out->n_rising == 1);
    cr_expect_float_eq(out->falling_by_chance, 1 / 6.0 + 1 / 2.0 + 1 / 3.0, 1e-12);
    cr_assert_eq(out->n_labels, 4u);
    const float labels[] = {0, 0.5f, 1, 2};
    const uint32_t docs[] = {7, 1, 6, 1};
    for (int i = 0; i < 4; i++)
        cr_expect(out->label[i] == labels[i] && out->label_docs[i] == docs[i], "%d", i);
    cr_expect(out->least_label == 0 && out->most_label == 2);
    cr_expect_eq(out->n_drift, 0u);
    cr_expect_str_eq(found(out, "empty-queries"), "3 of the queries (37.5 %) have no label above "
                                                  "0: NDCG depends on how '--empty' counts them");
    cr_expect(out->findings[0].is_warning && !out->findings[out->n_findings - 1].is_warning);
    rw_free(out);
    rw_free(NULL);
    /* limits of a data set are the same elsewhere */
    const char *paths[] = {"d"};
    struct rw_dataset *dataset;
    cr_expect_eq(rw_dataset_read(scratch_ctx, paths, 1, &dataset), RW_ERR_PARSE, "%s",
                 rw_last_error(scratch_ctx));
}

/* Returns the drift of something, such as "labels", or of a feature by its name. */
static const struct rw_drift *drift(const struct rw_check *check, const char *what)
{
    uint32_t i = 0;
    while (i < check->n_drift &&
           strcmp(check->drift[i].name ? check->drift[i].name : check->drift[i].of, what) != 0)
        i++;
    cr_assert_lt(i, check->n_drift, "%s", what);
    return &check->drift[i];
}

/* 60 queries of 4 documents: features of every kind. */
static void write_features(const char *name, uint32_t seed, double shift, int sorted)
{
    FILE *file = fopen(name, "w");
    cr_assert_not_null(file);
    for (uint32_t q = 0; q < 60; q++) {
        for (uint32_t i = 0; i < 4; i++) {
            const uint32_t doc = q * 4 + i, at = doc + seed * 1000;
            const int label = sorted ? 3 - (int)i : (int)((i + q) % 4);
            fprintf(file, "%d qid:%u 1:%u 2:%u 3:%u", label, q + seed * 100, doc + 5,
                    1 + (doc * 77 + 13) % 240, (q * 31) % 60 + 1);
            fprintf(file, " 4:%g 5:%g 6:7", unit(at, 4) + shift, unit(at, 5));
            fprintf(file, " 7:%g", label + unit(at, 7) * 0.9);
            fprintf(file, " 8:%g", unit(at, 5)); /* as 5 */
            if (doc % 4 == 0)
                fprintf(file, " 9:NaN");
            else if (doc % 2)
                fprintf(file, " 9:%g", unit(at, 9));
            fprintf(file, " 10:%g", -(label + unit(at, 7) * 1.1)); /* nearly, but not in all */
            fprintf(file, " 11:%g\n", -(label + unit(at, 11) * 0.9));
        }
    }
    fclose(file);
}

Test(check_data_set, features)
{
    write_features("d", 0, 0, 0);
    struct rw_check *out = check(NULL);
    cr_assert_eq(out->n_features, 11u);
    const struct rw_feature_check *f = out->features - 1; /* f[id] */
    const int identifies[] = {0, RW_IDENTIFIES_LINE, RW_IDENTIFIES_DOCUMENT, RW_IDENTIFIES_QUERY};
    for (int i = 1; i <= 11; i++) {
        cr_expect_eq(f[i].feature, (uint32_t)i);
        cr_expect_eq(f[i].identifies, i <= 3 ? identifies[i] : 0, "%d: %d", i, f[i].identifies);
        cr_expect_eq(f[i].constant, i == 6, "%d", i);
        cr_expect_eq(f[i].orders_labels, i == 7 || i == 11, "%d", i);
        cr_expect_eq(f[i].duplicate_of, i == 8 ? 5 : -1, "%d", i);
        cr_expect_eq(f[i].missing, i == 9 ? 0.25 : 0, "%d", i);
        cr_expect_eq(f[i].absent, i == 9 ? 0.25 : 0, "%d", i);
    }
    cr_expect(f[1].n_distinct == 240 && f[3].n_distinct == 60 && f[6].n_distinct == 1);
    cr_expect(f[1].least == 5 && f[1].most == 244 && f[9].least == 0);
    cr_expect(strstr(found(out, "features-order-labels"), "leak the answer (2): 7, 11"));
    cr_expect(strstr(found(out, "features-duplicate"), "(1): 8"));
    cr_expect_null(found(out, "labels-falling"));
    cr_expect_null(found(out, "order-leaks"));
    cr_expect_null(found(out, "features-missing"));
    rw_free(out);
}

Test(check_data_set, order_leaks)
{
    write_features("d", 0, 0, 1);
    struct rw_check *out = check(NULL);
    cr_expect(out->n_falling == 60 && out->n_rising == 0);
    cr_expect_float_eq(out->falling_by_chance, 60 / 24.0, 1e-9);
    cr_expect_float_eq(out->constant_file, 1, 1e-9);
    cr_expect(out->constant_mean < 0.8);
    cr_expect(found(out, "labels-falling") && found(out, "order-leaks"));
    cr_expect_null(found(out, "labels-rising"));
    rw_free(out);
}

Test(check_data_set, two_sets)
{
    write_features("d", 0, 0, 0);
    write_features("same", 0, 0, 0);
    write_features("other", 1, 0.5, 0);
    struct rw_check *out = check("same");
    cr_expect(out->n_shared_queries == 60 && out->n_shared_docs == 240);
    for (uint32_t i = 0; i < out->n_drift; i++)
        cr_expect(out->drift[i].psi == 0 && out->drift[i].ks == 0 && !out->drift[i].is_large);
    rw_free(out);
    out = check("other");
    cr_expect(out->n_shared_queries == 0 && out->n_shared_docs == 0);
    cr_expect(out->n_other_docs == 240 && out->n_other_queries == 60);
    cr_expect_float_eq(drift(out, "4")->ks, 0.5, 0.1);
    cr_expect(drift(out, "4")->is_large && !drift(out, "5")->is_large);
    cr_expect(drift(out, "5")->ks < 0.15 && drift(out, "5")->psi < 0.1);
    cr_expect_eq(out->n_drift, 2u + 11);
    cr_expect(strcmp(out->drift[0].of, "labels") == 0 &&
              strcmp(out->drift[1].of, "query lengths") == 0);
    for (uint32_t i = 3; i < out->n_drift; i++)
        cr_expect(out->drift[i - 1].psi >= out->drift[i].psi);
    cr_expect(strstr(found(out, "feature-drift"), "large drift of features (1): 4 PSI "), "%s",
              found(out, "feature-drift"));
    cr_expect_null(found(out, "label-drift"));
    /* chance exceeds the square root of 60 / 2 times the distance, 1.949, once in 1,000 */
    cr_expect_float_eq(drift(out, "4")->ks_limit, 1.9494746 * sqrt(2 / 60.0), 1e-9);
    rw_free(out);
    scratch_text("tiny", "1 qid:3 1:8 77:1\n0 qid:x 1:9\n");
    out = check("tiny");
    cr_expect_eq(out->n_shared_queries, 1u);
    cr_expect(strstr(found(out, "features-only-here"), "(10): "), "%s",
              found(out, "features-only-here"));
    cr_expect(strstr(found(out, "features-only-there"), "(1): 77"));
    cr_expect(drift(out, "77")->only_in == 2 && drift(out, "2")->only_in == 1);
    cr_expect_eq(drift(out, "1")->only_in, 0);
    rw_free(out);
}

Test(check_data_set, twins)
{
    scratch_text("d", "1 qid:a 1:1 2:0\n0 qid:a 1:1\n1 qid:a 1:1\n1 qid:a 2:1\n1 qid:b 1:1\n"
                      "0 qid:b\n1 qid:b\n");
    struct rw_check *out = check(NULL);
    cr_expect(out->n_twins == 2 && out->n_contradictions == 1, "%u %u", out->n_twins,
              out->n_contradictions);
    rw_free(out);
}

Test(check_data_set, few_queries_in_order_say_nothing)
{
    scratch_text("d", "1 qid:a 1:1\n0 qid:a 1:0\n2 qid:b 1:3\n1 qid:b 1:2\n");
    struct rw_check *out = check(NULL);
    cr_expect_eq(out->features[0].orders_labels, 0);
    rw_free(out);
}

/* Ten queries with two labels, in the order of feature 1, are enough for a finding. Nine are
 * not, nor are ten if one of them has a tie of two labels. */
Test(check_data_set, order_of_labels_in_ten_queries)
{
    for (int kind = 0; kind < 6; kind++) {
        const int n_queries = kind % 3 == 1 ? 9 : 10, sign = kind < 3 ? 1 : -1;
        FILE *file = fopen("d", "w");
        for (int q = 0; q < n_queries; q++) {
            const int value = kind % 3 == 2 && q == 4 ? 1 : 2; /* 1: a tie */
            if (sign > 0) /* the tie's documents are in the order of the others, too */
                fprintf(file, "1 qid:%d 1:3\n1 qid:%d 1:%d\n0 qid:%d 1:1\n", q, q, value, q);
            else
                fprintf(file, "0 qid:%d 1:-1\n1 qid:%d 1:-%d\n1 qid:%d 1:-3\n", q, q, value, q);
        }
        fclose(file);
        struct rw_check *out = check(NULL);
        cr_expect_eq(out->features[0].orders_labels, kind % 3 == 0, "%d", kind);
        rw_free(out);
    }
}

/* An id is counted once, however often it comes back. */
Test(check_data_set, split_twice)
{
    scratch_text("d", "1 qid:a 1:1\n0 qid:b 1:2\n0 qid:a 1:3\n1 qid:b 1:4\n0 qid:a 1:5\n"
                      "1 qid:c 1:6\n1 qid:a 1:7\n");
    struct rw_check *out = check(NULL);
    cr_expect_eq(out->n_split, 2u);
    cr_expect_str_eq(
        found(out, "split-queries"),
        "the documents of 2 queries are not adjacent in the input, which training refuses: a, b");
    rw_free(out);
}

/* Five ids and ten features are named, the others counted. */
Test(check_data_set, long_lists)
{
    FILE *file = fopen("d", "w");
    for (int i = 0; i < 12; i++) {
        fprintf(file, "%d qid:%c", i / 6, 'a' + i % 6);
        for (int f = 1; f <= 12; f++)
            fprintf(file, " %d:%d", f, f == 12 ? i : 3);
        fprintf(file, "\n");
    }
    fclose(file);
    struct rw_check *out = check(NULL);
    cr_expect_eq(out->n_split, 6u);
    cr_expect(strstr(found(out, "split-queries"), ": a, b, c, d, e and 1 more"), "%s",
              found(out, "split-queries"));
    cr_expect(
        strstr(found(out, "features-constant"), "(11): 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 1 more"),
        "%s", found(out, "features-constant"));
    rw_free(out);
}

/* The same values, but the other set misses three of eight, and this one one of eight. */
Test(check_data_set, drift_of_missing_values)
{
    for (int set = 0; set < 2; set++) {
        FILE *file = fopen(set ? "other" : "d", "w");
        for (int i = 0; i < 80; i++)
            fprintf(file, i % 8 <= 2 * set ? "%d qid:%d 1:NaN\n" : "%d qid:%d 1:4\n", i % 2, i / 8);
        fclose(file);
    }
    struct rw_check *out = check("other");
    const struct rw_drift *row = drift(out, "1");
    cr_expect_float_eq(row->ks, 0.25, 1e-12);
    cr_expect_float_eq(row->psi, log(3) / 4 + log(7 / 5.0) / 4, 1e-12);
    cr_expect(row->missing == 0.125 && row->missing_reference == 0.375);
    rw_free(out);
}

/* Of 1, 2, 2, 3 and 2, 4: at 3 all of the one set, half of the other. An independent document is
 * two documents of a query, so fractions below (1/2 + 1) / 4 count as that. */
Test(check_data_set, distance)
{
    scratch_text("d", "0 qid:a 1:1 2:1\n1 qid:a 1:2 2:1\n0 qid:b 1:2 2:2\n1 qid:b 1:3 2:2\n");
    scratch_text("other", "0 qid:c 1:2 2:1\n1 qid:c 1:4 2:2\n");
    scratch_text("apart", "0 qid:c 1:4 2:nan\n1 qid:c 1:4 2:nan\n");
    struct rw_check *out = check("other");
    cr_expect_float_eq(drift(out, "1")->ks, 0.5, 1e-15);
    cr_expect_float_eq(drift(out, "1")->psi, (0.375 - 0.5) * log(0.375 / 0.5), 1e-15);
    cr_expect(drift(out, "2")->ks == 0 && drift(out, "2")->psi == 0);
    rw_free(out);
    out = check("apart");
    cr_expect_eq(drift(out, "1")->ks, 1.0);
    cr_expect_eq(drift(out, "2")->ks, 1.0); /* missing alone */
    rw_free(out);
}

/* Writes a document per query, whose value is `number` of its query. */
static void write_values(const char *name, uint32_t n, double (*number)(uint32_t))
{
    FILE *file = fopen(name, "w");
    for (uint32_t q = 0; q < n; q++)
        fprintf(file, "%u qid:%u 1:%g\n", q % 2, q, number(q));
    fclose(file);
}
static double half_zeros(uint32_t q)
{
    return q % 2 ? 0.0 : q;
}
static double half_negative(uint32_t q)
{
    return q % 2 ? -1.0 : q;
}
static double half_tiny(uint32_t q)
{
    return q % 2 ? 1e-20 : q;
}

/* A value that fills deciles is a bin of its own, so PSI sees where it went. */
Test(check_data_set, values_of_many_documents_have_bins)
{
    double (*const moved[])(uint32_t) = {half_negative, half_tiny};
    write_values("other", 1000, half_zeros);
    for (int i = 0; i < 2; i++) {
        write_values("d", 1000, moved[i]);
        struct rw_check *out = check("other");
        /* 500 values leave the bin of 0, for an empty bin or for that of the next decile */
        const double before = i == 0 ? 0.0005 : 0.099, after = i == 0 ? 0.5 : 0.599;
        cr_expect_float_eq(drift(out, "1")->psi,
                           0.5 * log(0.501 / 0.001) + (after - before) * log(after / before), 1e-9,
                           "%d: %g", i, drift(out, "1")->psi);
        rw_free(out);
    }
}

Test(check_data_set, each_document_its_own_query)
{
    scratch_text("d", "0 qid:a 1:1\n1 qid:b 1:2\n2 qid:c 1:3\n");
    struct rw_check *out = check(NULL);
    cr_expect_str_eq(found(out, "own-queries"),
                     "all 3 documents have different query ids (qid); documents that are ranked "
                     "together must have the same id");
    cr_expect(out->findings[0].is_warning && strcmp(out->findings[0].kind, "own-queries") == 0);
    cr_expect_null(found(out, "nothing-to-learn")); /* the reason was reported */
    cr_expect_null(found(out, "single-queries"));
    rw_free(out);
    scratch_text("d",
                 "0 qid:a 1:1\n1 qid:b 1:2\n2 qid:c 1:3\n0 qid:d 1:1\n1 qid:e 1:2\n2 qid:f 1:3\n"
                 "2 qid:g 1:3\n2 qid:h 1:3\n2 qid:i 1:3\n2 qid:j 1:3\n1 qid:j 1:4\n");
    out = check(NULL);
    cr_expect_str_eq(found(out, "own-queries"),
                     "nearly all of the 11 documents have different query ids (qid) (10 queries); "
                     "documents that are ranked together must have the same id");
    rw_free(out);
    scratch_text("d", "0 qid:a 1:1\n1 qid:a 1:2\n2 qid:c 1:3\n");
    out = check(NULL);
    cr_expect_null(found(out, "own-queries"));
    cr_expect(found(out, "single-queries"));
    rw_free(out);
}

Test(check_data_set, one_document_and_no_document)
{
    scratch_text("d", "0 qid:a\n");
    struct rw_check *out = check(NULL);
    cr_expect(out->n_features == 0 && out->n_empty == 1 && isnan(out->constant_file));
    cr_expect(found(out, "nothing-to-learn"));
    rw_free(out);
    scratch_text("d", "");
    const char *paths[] = {"d"};
    cr_expect_lt(rw_check_new(scratch_ctx, paths, 1, NULL, 0, NULL, &out), 0);
    cr_assert_null(out);
}

Test(check_data_set, every_allocation_may_fail)
{
    scratch_text("d", "1 qid:a 1:1 2:0\n0 qid:a 1:1\n1 qid:b 1:1 3:1\n");
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, 1), RW_OK);
    for (long n = 1;; n++) {
        const char *paths[] = {"d"};
        struct rw_check *out;
        rw_mem_fail_from(n);
        const int status = rw_check_new(scratch_ctx, paths, 1, paths, 1, NULL, &out);
        rw_mem_fail_from(0);
        if (status == RW_OK) {
            cr_assert_gt(n, 80);
            rw_free(out);
            break;
        }
        cr_assert_eq(status, RW_ERR_MEMORY, "%ld: %s", n, rw_last_error(scratch_ctx));
    }
}
/* 60 queries of 4, of shops by turns from `first` on; other shops have other numbers then. */
static void write_shops(const char *name, uint32_t first, const char *const *shops, uint32_t n)
{
    FILE *file = fopen(name, "w");
    cr_assert_not_null(file);
    fputs("label,qid,shop,other,x\n", file);
    for (uint32_t i = 0; i < 240; i++)
        fprintf(file, "%u,%u,%s,%s,%u\n", i % 3, first + i / 4, shops[i % n],
                i % 8 ? shops[i % n] : "", i % 5);
    fclose(file);
}

static struct rw_check *check_shops(const char *against)
{
    static const char *const mine[] = {"d.csv"};
    const struct rw_columns columns = {.categorical = "shop,other"};
    struct rw_check *out;
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &columns), RW_OK);
    cr_assert_eq(rw_check_new(scratch_ctx, mine, 1, &against, against != NULL, NULL, &out), RW_OK,
                 "%s", rw_last_error(scratch_ctx));
    return out;
}

Test(check_data_set, categories_are_compared_by_word)
{
    static const char *const shops[] = {"a", "b", "c", "d"}, *const turned[] = {"d", "c", "b", "a"},
                             *const fewer[] = {"c", "d", "c", "a"};
    write_shops("d.csv", 0, shops, 4);
    write_shops("turned.csv", 100, turned, 4);
    write_shops("fewer.csv", 200, fewer, 4);
    struct rw_check *out = check_shops("turned.csv");
    const struct rw_feature_check *f = out->features;
    cr_expect(f[0].has_vocabulary && f[1].has_vocabulary && !f[2].has_vocabulary);
    cr_expect(drift(out, "shop")->psi == 0 && drift(out, "shop")->moved == NULL);
    cr_expect(isnan(drift(out, "shop")->ks) && drift(out, "x")->ks >= 0);
    cr_expect(isnan(f[0].least) && isnan(f[0].most) && f[2].most == 4);
    cr_expect_eq(f[0].n_distinct, 4u);
    cr_expect_eq(f[1].missing, 0.125);
    const struct rw_drift *row = drift(out, "other");
    cr_expect_str_eq(row->moved, "a", "of equal moves the first by bytes");
    cr_expect(row->moved_from == 0.25 && row->moved_to == 0.125);
    rw_free(out);
    out = check_shops("fewer.csv");
    row = drift(out, "shop");
    cr_expect_str_eq(row->moved, "b");
    cr_expect(row->moved_from == 0 && row->moved_to == 0.25 && row->is_large);
    /* b is new, c halves; fractions below (1/60 + 1/60) / 4 count as that */
    cr_expect_float_eq(row->psi, 0.25 * log(2) + (0.25 - 1 / 120.0) * log(30), 1e-12);
    cr_expect_str_eq(drift(out, "other")->moved, "b");
    cr_expect(strstr(found(out, "feature-drift"), "shop PSI 0.995 'b' 0.000 to 0.250"), "%s",
              found(out, "feature-drift"));
    cr_expect(strstr(found(out, "feature-drift"), "features (2): "));
    rw_free(out);
    out = check_shops("d.csv");
    cr_expect(out->n_shared_docs == 240 && drift(out, "shop")->psi == 0);
    cr_expect_eq(out->features[1].duplicate_of, -1);
    rw_free(out);
}

Test(check_data_set, words_and_numbers_are_not_compared)
{
    static const char *const shops[] = {"a", "b"};
    write_shops("d.csv", 0, shops, 2);
    scratch_text("n.csv", "label,qid,shop,other,x\n1,x,1,1,2\n0,x,0,1,2\n");
    const struct rw_columns none = {.categorical = NULL};
    struct rw_params *params;
    const char *csv = "n.csv";
    cr_assert_eq(rw_ctx_set_columns(scratch_ctx, &none), RW_OK);
    cr_assert_eq(rw_params_new(scratch_ctx, &params), RW_OK);
    cr_assert_eq(rw_dataset_cache_files(scratch_ctx, params, &csv, 1, "n.rwb"), RW_OK);
    rw_params_free(params);
    struct rw_check *out = check_shops("n.rwb");
    cr_expect(isnan(drift(out, "shop")->psi) && !drift(out, "shop")->moved);
    cr_expect_str_eq(found(out, "features-by-words"),
                     "features with words in one set and numbers in the other, which are not "
                     "compared (2): shop, other");
    rw_free(out);
}
