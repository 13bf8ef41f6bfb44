/* The check of data: reads it, has it looked through, and says in words what was found. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "dataset/dataset.h"
#include "check/data_check.h"
#include "io/format.h"

enum { MOST_FINDINGS = 64, LINE = 320, SHOWN_FEATURES = 10 };

/* What stands behind a struct rw_check. */
struct checking {
    struct rw_check check;            /* first: rw_check_free gets its address */
    struct rw_feature_check *feature; /* [n_features] owned */
    struct rw_finding finding[MOST_FINDINGS];
    char line[MOST_FINDINGS][LINE];
    struct rw_dataset *dataset, *other; /* owned; other: NULL without one */
    uint32_t n_only_here, n_only_there; /* features of one set alone */
    char split[256];                    /* ids that come back */
};

/* ------------------------------------------------------------------ findings */

static void tell(struct checking *c, int is_warning, const char *kind, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static void tell(struct checking *c, int is_warning, const char *kind, const char *format, ...)
{
    va_list args;
    const int at = c->check.n_findings;
    if (at == MOST_FINDINGS)
        return;
    va_start(args, format);
    vsnprintf(c->line[at], LINE, format, args);
    va_end(args);
    c->finding[at] =
        (struct rw_finding){.kind = kind, .text = c->line[at], .is_warning = is_warning};
    c->check.n_findings++;
}

/* Features by what is wrong with them: "3, 17 and 2 more". */
typedef int (*feature_test)(const struct rw_feature_check *feature, double limit);

static uint32_t list_features(const struct checking *c, feature_test test, double limit,
                              char *names, size_t size)
{
    uint32_t n = 0;
    size_t at = 0;
    names[0] = 0;
    for (uint32_t i = 0; i < c->check.n_features; i++) {
        if (!test(&c->feature[i], limit))
            continue;
        if (n < SHOWN_FEATURES && at < size)
            at += (size_t)snprintf(names + at, size - at, "%s%u", n ? ", " : "",
                                   c->feature[i].feature);
        n++;
    }
    if (n > SHOWN_FEATURES && at < size)
        snprintf(names + at, size - at, " and %u more", n - SHOWN_FEATURES);
    return n;
}

static int is_constant(const struct rw_feature_check *feature, double limit)
{
    (void)limit;
    return feature->constant;
}

static int is_duplicate(const struct rw_feature_check *feature, double limit)
{
    (void)limit;
    return feature->duplicate_of >= 0;
}

static int is_of_document(const struct rw_feature_check *feature, double limit)
{
    (void)limit;
    return feature->identifies == RW_IDENTIFIES_DOCUMENT;
}

static int is_of_query(const struct rw_feature_check *feature, double limit)
{
    (void)limit;
    return feature->identifies == RW_IDENTIFIES_QUERY;
}

static int is_of_line(const struct rw_feature_check *feature, double limit)
{
    (void)limit;
    return feature->identifies == RW_IDENTIFIES_LINE;
}

static int is_label(const struct rw_feature_check *feature, double limit)
{
    (void)limit;
    return feature->orders_labels;
}

static int is_missing(const struct rw_feature_check *feature, double limit)
{
    return feature->missing >= limit;
}

static int has_moved(const struct rw_feature_check *feature, double limit)
{
    return feature->drift > limit;
}

static void tell_features(struct checking *c)
{
    static const struct {
        feature_test test;
        int is_warning;
        const char *kind, *text;
    } rows[] = {
        {is_label, 1, "features-order-labels",
         "that put every query in the order of its labels, and so know the answer"},
        {is_of_line, 1, "features-like-lines",
         "that only rise, or fall, down the file: line numbers?"},
        {is_of_document, 1, "features-like-documents",
         "with a whole number for nearly each document: identifiers?"},
        {is_of_query, 1, "features-like-queries",
         "with a whole number for nearly each query: identifiers?"},
        {is_missing, 0, "features-missing", "that are missing in half of the documents or more"},
        {is_constant, 0, "features-constant", "with one value in all documents"},
        {is_duplicate, 0, "features-duplicate", "that are the same as one before them"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        char names[160];
        const uint32_t n = list_features(c, rows[i].test, RW_CHECK_MISSING, names, sizeof(names));
        if (n > 0)
            tell(c, rows[i].is_warning, rows[i].kind, "features %s (%u): %s", rows[i].text, n,
                 names);
    }
}

static void tell_order(struct checking *c)
{
    const struct rw_check *check = &c->check;
    const double chance = check->falling_by_chance;
    const uint32_t sorted[] = {check->n_falling, check->n_rising};
    static const char *const ways[] = {"from high to low", "from low to high"};
    for (int i = 0; i < 2; i++) {
        /* three deviations of a count by chance, and a tenth of the queries */
        const double more = sorted[i] - chance;
        if (more > 3 * sqrt(chance + 1) && more > 0.1 * check->n_mixed)
            tell(c, 1, i ? "labels-rising" : "labels-falling",
                 "labels go %s in the input in %u of %u queries; by chance it would be %.1f: %s",
                 ways[i], sorted[i], check->n_mixed, chance,
                 i ? "tied scores measure worst" : "tied scores measure best");
    }
    const double gain = check->constant_file - check->constant_mean;
    if (fabs(gain) > RW_CHECK_TIES_LEAK)
        tell(
            c, 1, "order-leaks",
            "a model that gives all documents one score has NDCG@10 %.4f where ties keep the order "
            "of the input, %.4f where they are averaged: measure with '--ties mean'",
            check->constant_file, check->constant_mean);
}

static void tell_queries(struct checking *c)
{
    const struct rw_check *check = &c->check;
    const double n = check->n_queries;
    if (check->n_split > 0)
        tell(c, 1, "split-queries",
             "%u quer%s back after other queries, and cannot be trained on so: %s", check->n_split,
             check->n_split == 1 ? "y comes" : "ies come", c->split);
    char own[LINE];
    const int has_own = rw_dataset_has_own_queries(c->dataset, own, sizeof(own));
    if (has_own)
        tell(c, 1, "own-queries", "%s", own);
    else if (check->n_mixed == 0)
        tell(c, 1, "nothing-to-learn", "no query has documents of different labels");
    tell_order(c);
    if (check->n_contradictions > 0)
        tell(c, 1, "contradictions",
             "%u document%s the values of another of the query, but another label",
             check->n_contradictions, check->n_contradictions == 1 ? " has" : "s have");
    if (check->n_twins > check->n_contradictions)
        tell(c, 0, "twins", "%u documents repeat the values and label of another of the query",
             check->n_twins - check->n_contradictions);
    if (check->n_empty > 0)
        tell(c, 0, "empty-queries",
             "%u of the queries (%.1f %%) have no label over 0: what they count moves NDCG by as "
             "much",
             check->n_empty, 100 * check->n_empty / n);
    if (check->n_single > 0 && !has_own)
        tell(c, 0, "single-queries", "%u of the queries (%.1f %%) have one document",
             check->n_single, 100 * check->n_single / n);
    if (check->n_alike > 0)
        tell(c, 0, "alike-queries", "%u queries have one label over 0 for all their documents",
             check->n_alike);
    if (check->most_label > 31)
        tell(c, 1, "large-labels",
             "labels reach %g: the gain 2^l - 1 takes 31 at most (label-gain linear, or a file)",
             (double)check->most_label);
    if (check->least_label < 0)
        tell(c, 1, "negative-labels", "labels go down to %g: gains need 0 or more",
             (double)check->least_label);
}

/* What a distance must pass to be told. Documents of one query are alike, so sets of few queries
 * differ by chance as if they had as many documents: the 5 % point of the test by Kolmogorov and
 * Smirnov. */
static double drift_limit(const struct rw_check *check)
{
    const double n = check->n_queries, m = check->n_other_queries;
    const double chance = 1.36 * sqrt((n + m) / (n * m));
    return chance > RW_CHECK_DRIFT ? chance : RW_CHECK_DRIFT;
}

static void tell_shared(struct checking *c)
{
    const struct rw_check *check = &c->check;
    char names[160];
    if (!c->other)
        return;
    const double limit = drift_limit(check);
    if (check->n_shared_queries > 0)
        tell(c, 1, "shared-queries", "%u queries are in both sets, by their ids",
             check->n_shared_queries);
    if (check->n_shared_docs > 0)
        tell(c, 1, "shared-documents",
             "%u of %u documents have the values of a document of the other set",
             check->n_shared_docs, check->n_docs);
    if (check->label_drift > limit)
        tell(c, 1, "label-drift", "labels are dealt differently in the sets: distance %.3f",
             check->label_drift);
    const uint32_t n = list_features(c, has_moved, limit, names, sizeof(names));
    if (n > 0)
        tell(c, 1, "feature-drift",
             "%u feature%s dealt differently in the sets (distance over %.3f): %s", n,
             n == 1 ? " is" : "s are", limit, names);
    if (c->n_only_here > 0)
        tell(c, 1, "features-only-here", "%u features never appear in the other set",
             c->n_only_here);
    if (c->n_only_there > 0)
        tell(c, 1, "features-only-there", "%u features appear in the other set alone",
             c->n_only_there);
}

/* Warnings first, in the order in which they were told. */
static void order_findings(struct checking *c)
{
    struct rw_finding sorted[MOST_FINDINGS];
    int n = 0;
    for (int warnings = 1; warnings >= 0; warnings--) {
        for (int i = 0; i < c->check.n_findings; i++) {
            if (c->finding[i].is_warning == warnings)
                sorted[n++] = c->finding[i];
        }
    }
    memcpy(c->finding, sorted, (size_t)n * sizeof(*sorted));
    c->check.findings = c->finding;
}

/* ------------------------------------------------------------------ the work */

/* What constant scores measure, by the order of the input and averaged. */
static int measure_constant(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                            struct rw_check *out)
{
    struct rw_eval_params how = RW_EVAL_DEFAULTS;
    double *scores = NULL;
    int status = RW_OK;
    out->constant_file = out->constant_mean = (double)NAN;
    if (out->least_label < 0)
        return RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, scores, dataset->n_docs));
    if (out->most_label > 31)
        how.label_gain = "linear";
    for (int mean = 0; mean < 2; mean++) {
        struct rw_eval *eval;
        how.ties = mean ? RW_TIES_MEAN : RW_TIES_FILE;
        RW_TRY_OUT(rw_evaluate(ctx, &how, dataset, scores, &eval));
        *(mean ? &out->constant_mean : &out->constant_file) = eval->metrics[0].mean;
        rw_eval_free(eval);
    }
out:
    rw_mem_free(scores);
    return status;
}

static int compare_labels(struct rw_ctx *ctx, struct checking *c)
{
    /* Labels as the one feature of two sets: their distance is found as features' are. */
    struct rw_dataset view[2] = {0};
    struct rw_column column[2];
    struct rw_feature_check row;
    const struct rw_dataset *const sets[] = {c->dataset, c->other};
    for (int i = 0; i < 2; i++) {
        view[i] = *sets[i];
        column[i] = (struct rw_column){.n = sets[i]->n_docs, .value = sets[i]->label};
        view[i].column = &column[i];
        view[i].n_columns = 1;
    }
    RW_TRY(rw_check_features(ctx, &view[0], &view[1], &row));
    c->check.label_drift = row.drift;
    return RW_OK;
}

static int check_other(struct rw_ctx *ctx, struct checking *c, const uint64_t *hashes)
{
    uint64_t *other_hashes = NULL;
    int status = RW_OK;
    c->check.label_drift = (double)NAN;
    if (!c->other)
        return RW_OK;
    c->check.n_other_docs = c->other->n_docs;
    c->check.n_other_queries = c->other->n_queries;
    RW_TRY_OUT(RW_NEW_RAW(ctx, other_hashes, c->other->n_docs));
    rw_check_hash(c->other, other_hashes);
    RW_TRY_OUT(rw_check_shared(ctx, c->dataset, hashes, c->other, other_hashes,
                               &c->check.n_shared_queries, &c->check.n_shared_docs));
    RW_TRY_OUT(compare_labels(ctx, c));
    for (uint32_t i = 0; i < c->dataset->n_columns; i++)
        c->n_only_here += !rw_dataset_column(c->other, c->dataset->column[i].feature);
    for (uint32_t i = 0; i < c->other->n_columns; i++)
        c->n_only_there += !rw_dataset_column(c->dataset, c->other->column[i].feature);
out:
    rw_mem_free(other_hashes);
    return status;
}

static int check_all(struct rw_ctx *ctx, struct checking *c)
{
    struct rw_check *check = &c->check;
    uint64_t *hashes = NULL;
    int status = RW_OK;
    check->n_docs = c->dataset->n_docs;
    check->n_queries = c->dataset->n_queries;
    check->n_features = c->dataset->n_columns;
    RW_TRY_OUT(rw_check_queries(ctx, c->dataset, check));
    RW_TRY_OUT(rw_check_split(ctx, c->dataset, &check->n_split, c->split, sizeof(c->split)));
    RW_TRY_OUT(measure_constant(ctx, c->dataset, check));
    RW_TRY_OUT(RW_NEW_RAW(ctx, hashes, check->n_docs));
    rw_check_hash(c->dataset, hashes);
    RW_TRY_OUT(rw_check_twins(ctx, c->dataset, hashes, &check->n_twins, &check->n_contradictions));
    RW_TRY_OUT(check_other(ctx, c, hashes));
    RW_TRY_OUT(RW_NEW(ctx, c->feature, check->n_features));
    RW_TRY_OUT(rw_check_features(ctx, c->dataset, c->other, c->feature));
    check->features = c->feature;
    tell_queries(c);
    tell_shared(c);
    tell_features(c);
    order_findings(c);
out:
    rw_mem_free(hashes);
    return status;
}

int rw_check_new(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                 const char *const *against, int n_against, struct rw_check **out)
{
    RW_DEFAULT_FPENV;
    struct checking *c = NULL;
    int status = RW_OK;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, c, 1));
    RW_TRY_OUT(rw_dataset_read_split(ctx, paths, n_paths, &c->dataset));
    if (n_against > 0)
        RW_TRY_OUT(rw_dataset_read_split(ctx, against, n_against, &c->other));
    RW_TRY_OUT(check_all(ctx, c));
    *out = &c->check;
    c = NULL;
out:
    if (c)
        rw_check_free(&c->check);
    return status;
}

const char *rw_check_longest(const struct rw_check *check)
{
    return rw_dataset_query_id(((const struct checking *)check)->dataset, check->longest_query);
}

void rw_check_free(struct rw_check *check)
{
    struct checking *c = (struct checking *)check;
    if (!c)
        return;
    rw_dataset_free(c->dataset);
    rw_dataset_free(c->other);
    rw_mem_free(c->feature);
    rw_mem_free(c);
}
