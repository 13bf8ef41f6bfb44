/* The check of data: reads it, examines it, and says in words what was found. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/words.h"
#include "check/data_check.h"
#include "dataset/dataset.h"
#include "dataset/names.h"
#include "io/data_format.h"

enum { MOST_FINDINGS = 64, LINE = 320 };

/* A struct rw_check, which is freed with it, and what it shows. */
struct checking {
    struct rw_check check;
    struct rw_feature_check *feature; /* [n_features] in its arena */
    struct rw_finding finding[MOST_FINDINGS];
    char line[MOST_FINDINGS][LINE];
    struct rw_dataset *dataset, *other; /* owned; other: NULL without one */
    int warnings_now;                   /* which findings are added: 1: warnings; 0: notes */
    uint32_t n_only_here, n_only_there; /* features of one set alone */
    uint32_t n_by_one;                  /* features by words in one set, by numbers in the other */
    struct rw_check_names split;        /* ids that come back */
};

/* ------------------------------------------------------------------ findings */

static void add_finding(struct checking *c, int is_warning, const char *kind, const char *format,
                        ...) __attribute__((format(printf, 4, 5)));

static void add_finding(struct checking *c, int is_warning, const char *kind, const char *format,
                        ...)
{
    va_list args;
    const int at = c->check.n_findings;
    if (at == MOST_FINDINGS || is_warning != c->warnings_now)
        return;
    va_start(args, format);
    vsnprintf(c->line[at], LINE, format, args);
    va_end(args);
    c->finding[at] =
        (struct rw_finding){.kind = kind, .text = c->line[at], .is_warning = is_warning};
    c->check.n_findings++;
}

enum fault { ORDERS_LABELS, OF_LINE, OF_DOCUMENT, OF_QUERY, MISSING, CONSTANT, DUPLICATE, DRIFT };

static int has_fault(const struct rw_feature_check *feature, enum fault fault, double limit)
{
    switch (fault) {
    case ORDERS_LABELS:
        return feature->orders_labels;
    case OF_LINE:
        return feature->identifies == RW_IDENTIFIES_LINE;
    case OF_DOCUMENT:
        return feature->identifies == RW_IDENTIFIES_DOCUMENT;
    case OF_QUERY:
        return feature->identifies == RW_IDENTIFIES_QUERY;
    case MISSING:
        return feature->missing >= limit;
    case CONSTANT:
        return feature->constant;
    case DUPLICATE:
        return feature->duplicate_of >= 0;
    default:
        return feature->drift > limit;
    }
}

/* Features with a fault. */
static struct rw_check_names list_features(const struct checking *c, enum fault fault, double limit)
{
    struct rw_check_names names = {0};
    char name[16];
    for (uint32_t i = 0; i < c->check.n_features; i++) {
        if (!has_fault(&c->feature[i], fault, limit))
            continue;
        snprintf(name, sizeof(name), "%u", c->feature[i].feature);
        rw_check_name(&names, 10, name);
    }
    return names;
}

static void report_features(struct checking *c)
{
    static const struct {
        enum fault fault;
        int is_warning;
        const char *kind, *text;
    } rows[] = {
        {ORDERS_LABELS, 1, "features-order-labels",
         "that put every query in the order of its labels, and so know the answer"},
        {OF_LINE, 1, "features-like-lines",
         "that only rise, or fall, down the file: line numbers?"},
        {OF_DOCUMENT, 1, "features-like-documents",
         "with a whole number or a word for nearly each document: identifiers?"},
        {OF_QUERY, 1, "features-like-queries",
         "with a whole number or a word for nearly each query: identifiers?"},
        {MISSING, 0, "features-missing", "that are missing in half of the documents or more"},
        {CONSTANT, 0, "features-constant", "with one value in all documents"},
        {DUPLICATE, 0, "features-duplicate", "that are the same as one before them"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct rw_check_names names = list_features(c, rows[i].fault, RW_CHECK_MISSING);
        if (names.n > 0)
            add_finding(c, rows[i].is_warning, rows[i].kind, "features %s (%u): %s", rows[i].text,
                        names.n, names.text);
    }
}

static void report_order(struct checking *c)
{
    const struct rw_check *check = &c->check;
    const double chance = check->falling_by_chance;
    const uint32_t sorted[] = {check->n_falling, check->n_rising};
    static const char *const orders[] = {"from high to low", "from low to high"};
    for (int i = 0; i < 2; i++) {
        /* three deviations of a count by chance, and a tenth of the queries */
        const double more = sorted[i] - chance;
        if (more > 3 * sqrt(chance + 1) && more > 0.1 * check->n_mixed)
            add_finding(
                c, 1, i ? "labels-rising" : "labels-falling",
                "labels go %s in the input in %u of %u queries; by chance it would be %.1f: %s",
                orders[i], sorted[i], check->n_mixed, chance,
                i ? "ties in input order measure too low" : "ties in input order measure too high");
    }
    const double gain = check->constant_file - check->constant_mean;
    if (fabs(gain) > RW_CHECK_TIES_LEAK)
        add_finding(
            c, 1, "order-leaks",
            "a model that gives all documents one score has NDCG@10 %.4f where ties keep the order "
            "of the input, %.4f where they are averaged: measure with '--ties mean'",
            check->constant_file, check->constant_mean);
}

static void report_queries(struct checking *c)
{
    const struct rw_check *check = &c->check;
    const double n = check->n_queries;
    if (check->n_split > 0)
        add_finding(c, 1, "split-queries",
                    "%u quer%s back after other queries, which training refuses: %s",
                    check->n_split, check->n_split == 1 ? "y comes" : "ies come", c->split.text);
    char own[LINE];
    const int has_own = rw_dataset_has_own_queries(c->dataset, own, sizeof(own));
    if (has_own)
        add_finding(c, 1, "own-queries", "%s", own);
    else if (check->n_mixed == 0)
        add_finding(c, 1, "nothing-to-learn", "no query has documents of different labels");
    report_order(c);
    if (check->n_contradictions > 0)
        add_finding(c, 1, "contradictions",
                    "%u document%s the values of another of the query, but another label",
                    check->n_contradictions, check->n_contradictions == 1 ? " has" : "s have");
    if (check->n_twins > check->n_contradictions)
        add_finding(c, 0, "twins",
                    "%u documents repeat the values and label of another of the query",
                    check->n_twins - check->n_contradictions);
    if (check->n_empty > 0)
        add_finding(
            c, 0, "empty-queries",
            "%u of the queries (%.1f %%) have no label over 0: NDCG depends on how they count",
            check->n_empty, 100 * check->n_empty / n);
    if (check->n_single > 0 && !has_own)
        add_finding(c, 0, "single-queries", "%u of the queries (%.1f %%) have one document",
                    check->n_single, 100 * check->n_single / n);
    if (check->n_alike > 0)
        add_finding(c, 0, "alike-queries",
                    "%u queries have one label over 0 for all their documents", check->n_alike);
    if (check->most_label > 31)
        add_finding(
            c, 1, "large-labels",
            "labels reach %g: the gain 2^l - 1 takes 31 at most (label-gain linear, or a file)",
            (double)check->most_label);
    if (check->least_label < 0)
        add_finding(c, 1, "negative-labels", "labels go down to %g: gains need 0 or more",
                    (double)check->least_label);
}

/* What a distance must pass to be a finding. Documents of one query are alike, so sets of few
 * queries differ by chance as if they had as many documents: the 5 % point of the test by
 * Kolmogorov and Smirnov. */
static double drift_limit(const struct rw_check *check)
{
    const double n = check->n_queries, m = check->n_other_queries;
    const double chance = 1.36 * sqrt((n + m) / (n * m));
    return chance > RW_CHECK_DRIFT ? chance : RW_CHECK_DRIFT;
}

/* Categories of features that moved, with their shares of the documents here and there. */
static struct rw_check_names list_categories(const struct checking *c, double limit)
{
    struct rw_check_names names = {0};
    char name[64];
    for (uint32_t i = 0; i < c->check.n_features; i++) {
        const struct rw_feature_check *row = &c->feature[i];
        if (!row->moved || !(fabs(row->moved_to - row->moved_from) > limit))
            continue;
        snprintf(name, sizeof(name), "%u '%.14s' %.3f to %.3f", row->feature, row->moved,
                 row->moved_from, row->moved_to);
        rw_check_name(&names, 5, name);
    }
    return names;
}

static void report_shared(struct checking *c)
{
    const struct rw_check *check = &c->check;
    if (!c->other)
        return;
    const double limit = drift_limit(check);
    if (check->n_shared_queries > 0)
        add_finding(c, 1, "shared-queries", "%u queries are in both sets, by their ids",
                    check->n_shared_queries);
    if (check->n_shared_docs > 0)
        add_finding(c, 1, "shared-documents",
                    "%u of %u documents have the values of a document of the other set",
                    check->n_shared_docs, check->n_docs);
    if (check->label_drift > limit)
        add_finding(c, 1, "label-drift",
                    "labels are distributed differently in the sets: distance %.3f",
                    check->label_drift);
    const struct rw_check_names moved = list_features(c, DRIFT, limit);
    if (moved.n > 0)
        add_finding(c, 1, "feature-drift",
                    "%u feature%s distributed differently in the sets (distance over %.3f): %s",
                    moved.n, moved.n == 1 ? " is" : "s are", limit, moved.text);
    const struct rw_check_names shares = list_categories(c, limit);
    if (shares.n > 0)
        add_finding(c, 1, "category-drift", "the largest moves of categories' shares: feature %s",
                    shares.text);
    if (c->n_by_one > 0)
        add_finding(c, 1, "features-by-words",
                    "%u feature%s words in one set and numbers in the other, and %s not compared",
                    c->n_by_one, c->n_by_one == 1 ? " is" : "s are",
                    c->n_by_one == 1 ? "is" : "are");
    if (c->n_only_here > 0)
        add_finding(c, 1, "features-only-here", "%u features never appear in the other set",
                    c->n_only_here);
    if (c->n_only_there > 0)
        add_finding(c, 1, "features-only-there", "%u features appear in the other set only",
                    c->n_only_there);
}

/* ------------------------------------------------------------------ the work */

/* What constant scores measure, by the order of the input and averaged. */
static int measure_constant(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                            struct rw_check *out)
{
    struct rw_eval_params params = RW_EVAL_DEFAULTS;
    RW_FREED double *scores = NULL;
    out->constant_file = out->constant_mean = (double)NAN;
    if (out->least_label < 0)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, scores, dataset->n_docs));
    if (out->most_label > 31)
        params.label_gain = "linear";
    for (int mean = 0; mean < 2; mean++) {
        struct rw_eval *eval;
        params.ties = mean ? RW_TIES_MEAN : RW_TIES_FILE;
        RW_TRY(rw_evaluate(ctx, &params, dataset, scores, &eval));
        *(mean ? &out->constant_mean : &out->constant_file) = eval->metrics[0].mean;
        rw_free(eval);
    }
    return RW_OK;
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
        view[i].lexicon = NULL;
    }
    RW_TRY(rw_check_features(ctx, &view[0], &view[1], &row));
    c->check.label_drift = row.drift;
    return RW_OK;
}

static int check_other(struct rw_ctx *ctx, struct checking *c, const uint64_t *hashes)
{
    RW_FREED uint64_t *other_hashes = NULL;
    c->check.label_drift = (double)NAN;
    if (!c->other)
        return RW_OK;
    c->check.n_other_docs = c->other->n_docs;
    c->check.n_other_queries = c->other->n_queries;
    RW_TRY(RW_NEW_RAW(ctx, other_hashes, c->other->n_docs));
    rw_check_hash(c->other, other_hashes);
    RW_TRY(rw_check_shared(ctx, c->dataset, hashes, c->other, other_hashes,
                               &c->check.n_shared_queries, &c->check.n_shared_docs));
    RW_TRY(compare_labels(ctx, c));
    for (uint32_t i = 0; i < c->dataset->n_columns; i++) {
        const uint32_t feature = c->dataset->column[i].feature;
        const int is_in_both = rw_dataset_column(c->other, feature) != NULL;
        c->n_only_here += !is_in_both;
        c->n_by_one += is_in_both && rw_lexicon_has(c->dataset->lexicon, feature) !=
                                         rw_lexicon_has(c->other->lexicon, feature);
    }
    for (uint32_t i = 0; i < c->other->n_columns; i++)
        c->n_only_there += !rw_dataset_column(c->dataset, c->other->column[i].feature);
    return RW_OK;
}

static int check_all(struct rw_ctx *ctx, struct checking *c)
{
    struct rw_check *check = &c->check;
    RW_FREED uint64_t *hashes = NULL;
    check->n_docs = c->dataset->n_docs;
    check->n_queries = c->dataset->n_queries;
    check->n_features = c->dataset->n_columns;
    RW_TRY(rw_check_queries(ctx, c->dataset, check));
    RW_TRY(rw_check_split(ctx, c->dataset, &c->split));
    check->n_split = c->split.n;
    RW_TRY(measure_constant(ctx, c->dataset, check));
    RW_TRY(RW_NEW_RAW(ctx, hashes, check->n_docs));
    rw_check_hash(c->dataset, hashes);
    RW_TRY(rw_check_twins(ctx, c->dataset, hashes, &check->n_twins, &check->n_contradictions));
    RW_TRY(check_other(ctx, c, hashes));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(c), c->feature, check->n_features));
    RW_TRY(rw_check_features(ctx, c->dataset, c->other, c->feature));
    check->features = c->feature;
    for (c->warnings_now = 1; c->warnings_now >= 0; c->warnings_now--) {
        report_queries(c);
        report_shared(c);
        report_features(c);
    }
    check->findings = c->finding;
    return RW_OK;
}

/* Frees what the result's arena does not hold. */
static void free_datasets(void *checking)
{
    struct checking *c = checking;
    rw_dataset_free(c->dataset);
    rw_dataset_free(c->other);
}

static int read_and_check(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                          const char *const *against, int n_against, struct checking *c)
{
    RW_TRY(rw_arena_own(ctx, rw_result_arena(c), c, free_datasets));
    RW_TRY(rw_dataset_read_split(ctx, paths, n_paths, &c->dataset));
    RW_TRY(rw_columns_check_categorical(ctx, c->dataset));
    if (n_against > 0) {
        RW_TRY(rw_columns_like(ctx, c->dataset));
        const int status = rw_dataset_read_split(ctx, against, n_against, &c->other);
        rw_columns_like(ctx, NULL);
        RW_TRY(status);
    }
    return check_all(ctx, c);
}

int rw_check_new(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                 const char *const *against, int n_against, struct rw_check **out)
{
    RW_DEFAULT_FPENV;
    struct checking *c;
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&c, sizeof(*c)));
    const int status = read_and_check(ctx, paths, n_paths, against, n_against, c);
    if (status < 0)
        rw_free(c);
    else
        *out = &c->check;
    return status;
}

const char *rw_check_longest(const struct rw_check *check)
{
    return rw_dataset_query_id(((const struct checking *)check)->dataset, check->longest_query);
}

/* Features by categories, of two sets: each word's share of the documents. Numbers of words say
 * nothing of their own, and differ from set to set. */
/* A word of one set, or, once they are joined, of both. */
struct counted {
    const char *word;
    uint32_t n_docs[2];
};

struct counts {
    struct counted *of; /* [n] owned */
    size_t n, room;
};

static int add_word(struct counts *counts, const char *word, int set, uint32_t n_docs)
{
    if (n_docs == 0)
        return RW_OK;
    RW_TRY(RW_GROW(NULL, counts->of, counts->room, counts->n + 1));
    counts->of[counts->n] = (struct counted){.word = word};
    counts->of[counts->n++].n_docs[set] = n_docs;
    return RW_OK;
}

/* Of a set that has the feature by words, or not at all. An absent value is the category 0. */
static int count_words(const struct rw_dataset *dataset, uint32_t feature, int set,
                       struct counts *counts)
{
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    const uint32_t n_words = column ? rw_lexicon_n(dataset->lexicon) : 0;
    uint32_t *n_docs /* [n_words] */, n_absent = dataset->n_docs;
    RW_TRY(RW_NEW(NULL, n_docs, n_words));
    for (uint32_t i = 0; column && i < column->n; i++) {
        const float value = column->value[i];
        n_absent -= !rw_is_absent(value);
        if (value == value)
            n_docs[(uint32_t)value]++;
    }
    int status = add_word(counts, "0", set, n_absent);
    for (uint32_t k = 0; status >= 0 && k < n_words; k++)
        status = add_word(counts, rw_lexicon_word(dataset->lexicon, k), set, n_docs[k]);
    rw_mem_free(n_docs);
    return status;
}

static int by_word(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    return rw_words_by_bytes(&x->word, &y->word);
}

int rw_check_words(const struct rw_dataset *dataset, const struct rw_dataset *other,
                   struct rw_feature_check *out)
{
    struct counts counts = {.of = NULL};
    int status;
    RW_TRY_OUT(count_words(dataset, out->feature, 0, &counts));
    RW_TRY_OUT(count_words(other, out->feature, 1, &counts));
    if (counts.n > 1)
        qsort(counts.of, counts.n, sizeof(*counts.of), by_word);
    out->drift = 0.0;
    for (size_t i = 0; i < counts.n;) { /* of equal moves, the first word by its bytes */
        const struct counted *first = &counts.of[i];
        uint32_t n[2] = {0, 0};
        for (; i < counts.n && strcmp(counts.of[i].word, first->word) == 0; i++) {
            n[0] += counts.of[i].n_docs[0];
            n[1] += counts.of[i].n_docs[1];
        }
        const double from = (double)n[0] / dataset->n_docs, to = (double)n[1] / other->n_docs;
        if (fabs(to - from) > out->drift) {
            out->drift = fabs(to - from);
            out->moved = first->word;
            out->moved_from = from;
            out->moved_to = to;
        }
    }
out:
    rw_mem_free(counts.of);
    return status;
}
