#include "metric/metric.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "base/words.h"
#include "dataset/dataset.h"
#include "metric/dcg.h"
#include "metric/metric_formulas.h"

/* A row's function, where host and device share one. */
#define HOST(name)
#define DEVICE(name)                                                                            \
    double rw_query_##name(const struct rw_metric *metric, const struct rw_ranked_query *query) \
    {                                                                                           \
        return rw_##name##_of(metric, query);                                                   \
    }
#define RW_METRIC(name, device, ...) device(name)
#include "metric/metrics.def"
#undef RW_METRIC
#undef HOST
#undef DEVICE

#define HOST(name)   RW_METRIC_HOST
#define DEVICE(name) RW_METRIC_##name
static const struct rw_metric_kind kinds[] = {
#define RW_METRIC(metric, where, cutoff, spelling, text, ...) \
    {.name = #metric,                                         \
     .device = where(metric),                                 \
     .at = (cutoff),                                          \
     .query = rw_query_##metric,                              \
     .help = (text),                                          \
     __VA_ARGS__},
#include "metric/metrics.def"
#undef RW_METRIC
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

/* ------------------------------------------------------------------ names */

static const char all_metrics[] =
#define RW_METRIC(name, device, at, spelling, ...) " " spelling
#include "metric/metrics.def"
#undef RW_METRIC
    ;

enum { LONGEST_NAME = 31 };

/* What a name that is none was meant to be. */
struct meant {
    char name[LONGEST_NAME + 32]; /* "ndcg@10"; "": there is none like it */
    const char *note;             /* NULL: none */
};

static const struct rw_metric_kind *find_kind(const char *name)
{
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(name, kinds[i].name) == 0)
            return &kinds[i];
    return NULL;
}

/* Always some kind: the list is short, and the message gives all of them anyway. */
static const struct rw_metric_kind *nearest_kind(const char *word)
{
    const char *names[N_KINDS];
    for (int i = 0; i < N_KINDS; i++)
        names[i] = kinds[i].name;
    return find_kind(rw_word_nearest_always(word, names, N_KINDS));
}

/* The digits of a cutoff behind a name, in any program's style (":top=10", "_cut_10", "@10-"); ""
 * if there are none. */
static void find_cut(const char *behind, char digits[10])
{
    const char *top = strstr(behind, "top=");
    size_t n;
    behind = top ? top : behind;
    behind += strcspn(behind, "0123456789");
    n = strspn(behind, "0123456789");
    snprintf(digits, 10, "%.*s", n <= 9 && *behind != '0' ? (int)n : 0, behind);
}

static struct meant what_is_meant(const char *text)
{
    struct meant meant = {"", NULL};
    char word[LONGEST_NAME + 1], digits[10];
    if (text[0] >= '0' && text[0] <= '9') { /* what is left of LightGBM's "ndcg@5,10" */
        find_cut(text, digits);
        snprintf(meant.name, sizeof(meant.name), "ndcg@%s", *digits ? digits : "10");
        meant.note = "each metric has its own cutoff: 'ndcg@5,ndcg@10'";
        return meant;
    }
    size_t n = strcspn(text, "@:");
    snprintf(word, sizeof(word), "%.*s", (int)(n < LONGEST_NAME ? n : LONGEST_NAME), text);
    int row = rw_alias_find("metric", word, 0);
    if (row < 0) { /* digits may be a cutoff, "ndcg_cut_10", and a last '-' no part of the name */
        for (n = 0; n < LONGEST_NAME && (isalpha((unsigned char)word[n]) || word[n] == '_' ||
                                         word[n] == '-' || word[n] == ' ');)
            n++;
        word[n] = 0;
        for (size_t end = n; end > 0 && strchr("_-", word[end - 1]);)
            word[--end] = 0;
        row = rw_alias_find("metric", word, 0);
    }
    if (row >= 0)
        meant.note = rw_alias_at(row)->note;
    if (row >= 0 && !rw_alias_at(row)->ours)
        return meant;
    const struct rw_metric_kind *kind =
        row >= 0 ? find_kind(rw_alias_at(row)->ours) : nearest_kind(word);
    find_cut(text + n, digits);
    if (kind->at == RW_AT_PERSISTENCE)
        snprintf(meant.name, sizeof(meant.name), "%s:0.8", kind->name);
    else if (kind->at == RW_AT_REQUIRED || (kind->at == RW_AT_OPTIONAL && *digits))
        snprintf(meant.name, sizeof(meant.name), "%s@%s", kind->name, *digits ? digits : "10");
    else
        snprintf(meant.name, sizeof(meant.name), "%s", kind->name);
    return meant;
}

/* XGBoost's "ndcg@10-" counts a query without a relevant document 0. */
static const char *minus_hint(const char *text)
{
    const size_t n = strlen(text);
    return n > 1 && text[n - 1] == '-'
               ? "\nhint: XGBoost's '-' is the parameter 'empty' with the value 0"
               : "";
}

static int unknown_metric(struct rw_ctx *ctx, const char *text)
{
    const struct meant meant = what_is_meant(text);
    char advice[128];
    if (*meant.name)
        snprintf(advice, sizeof(advice), "did you mean '%s'?", meant.name);
    else
        snprintf(advice, sizeof(advice), "there is no such metric here");
    return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown metric '%.60s'; %s%s%s%s\nhint: metrics are%s",
                   text, advice, meant.note ? "\nhint: " : "", meant.note ? meant.note : "",
                   minus_hint(text), all_metrics);
}

static int parse_cut(struct rw_ctx *ctx, const char *text, const char *digits,
                     struct rw_metric *out)
{
    const char *name = out->kind->name;
    uint64_t at = 0;
    const char *c = digits;
    for (; *c >= '0' && *c <= '9' && at <= RW_MAX_DOCS; c++)
        at = at * 10 + (uint64_t)(*c - '0');
    if (c == digits || *c != 0 || at == 0 || at > RW_MAX_DOCS)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "metric '%.60s': expected a whole number of 1 to %u after '@', as in '%s@10'%s", text,
            RW_MAX_DOCS, name, minus_hint(text));
    out->at = (uint32_t)at;
    snprintf(out->name, sizeof(out->name), "%s@%u", name, out->at);
    return RW_OK;
}

/* A decimal between 0 and 1, of 15 digits at most. */
static int parse_persistence(struct rw_ctx *ctx, const char *text, const char *digits,
                             struct rw_metric *out)
{
    const char *point = digits + (*digits == '0'), *end = digits + strlen(digits);
    int clamped;
    if (*point != '.' || end - point > 16 || point + 1 + strspn(point + 1, "0123456789") != end ||
        rw_number_parse_double(point, end, &out->persistence, &clamped) != end ||
        !(out->persistence > 0.0))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "metric '%.60s': expected a persistence between 0 and 1 after ':', as in "
                       "'rbp:0.8'",
                       text);
    snprintf(out->name, sizeof(out->name), "rbp:0%s", point);
    return RW_OK;
}

int rw_metric_parse(struct rw_ctx *ctx, const char *text, double relevant, struct rw_metric *out)
{
    memset(out, 0, sizeof(*out));
    out->relevant = relevant;
    char word[64];
    const size_t bytes = strcspn(text, "@:");
    snprintf(word, sizeof(word), "%.*s", (int)(bytes < 60 ? bytes : 60), text);
    out->kind = find_kind(word);
    if (!out->kind)
        return unknown_metric(ctx, text);
    const char *name = out->kind->name;
    const char mark = text[bytes];
    switch (out->kind->at) {
    case RW_AT_PERSISTENCE:
        if (mark != ':')
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "metric '%.60s' needs a persistence, as in '%s:0.8'", text, name);
        return parse_persistence(ctx, text, text + bytes + 1, out);
    case RW_AT_NONE:
        if (mark)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "metric '%.60s': '%s' takes no cutoff or persistence", text, name);
        break;
    case RW_AT_OPTIONAL:
    case RW_AT_REQUIRED:
        if (mark == '@')
            return parse_cut(ctx, text, text + bytes + 1, out);
        if (mark == ':')
            return rw_fail(ctx, RW_ERR_ARGUMENT, "metric '%.60s': a cutoff is written '%s@10'",
                           text, name);
        if (out->kind->at == RW_AT_REQUIRED)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "metric '%s' needs a cutoff, as in '%s@10'", name,
                           name);
        break;
    }
    snprintf(out->name, sizeof(out->name), "%s", name);
    return RW_OK;
}

int rw_metrics_parse(struct rw_ctx *ctx, const char *text, double relevant,
                     struct rw_metric out[RW_MAX_METRICS], int *n)
{
    *n = 0;
    for (const char *at = text;;) {
        const size_t length = strcspn(at, ",");
        char name[64];
        if (*n == RW_MAX_METRICS)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "'metric': more than %d metrics", RW_MAX_METRICS);
        if (length >= sizeof(name))
            return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown metric '%.*s...'", 60, at);
        memcpy(name, at, length);
        name[length] = 0;
        RW_TRY(rw_metric_parse(ctx, name, relevant, &out[*n]));
        for (int i = 0; i < *n; i++) {
            if (strcmp(out[i].name, out[*n].name) == 0)
                return rw_fail(ctx, RW_ERR_ARGUMENT, "metric '%s' is given twice", name);
        }
        ++*n;
        if (!at[length])
            return RW_OK;
        at += length + 1;
    }
}

/* ------------------------------------------------------------------ ranking */

struct ranking {
    const double *score;
    uint32_t flip; /* all ones: ties by falling index */
};

static int comes_before(const struct ranking *ranking, uint32_t a, uint32_t b)
{
    const uint64_t key_a = rw_falling_key(ranking->score[a]);
    const uint64_t key_b = rw_falling_key(ranking->score[b]);
    return key_a != key_b ? key_a < key_b : (a ^ ranking->flip) < (b ^ ranking->flip);
}

static void insertion_sort(const struct ranking *ranking, uint32_t *order, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        const uint32_t doc = order[i];
        uint32_t r = i;
        for (; r > 0 && comes_before(ranking, doc, order[r - 1]); r--)
            order[r] = order[r - 1];
        order[r] = doc;
    }
}

static void sift_last(const struct ranking *ranking, uint32_t *order, uint32_t n, uint32_t parent)
{
    const uint32_t moved = order[parent];
    for (uint32_t child; (child = 2 * parent + 1) < n; parent = child) {
        if (child + 1 < n && comes_before(ranking, order[child], order[child + 1]))
            child++;
        if (!comes_before(ranking, moved, order[child]))
            break;
        order[parent] = order[child];
    }
    order[parent] = moved;
}

static void heap_sort(const struct ranking *ranking, uint32_t *order, uint32_t n)
{
    for (uint32_t i = n / 2; i-- > 0;)
        sift_last(ranking, order, n, i);
    for (uint32_t last = n; last-- > 1;) {
        const uint32_t doc = order[0];
        order[0] = order[last];
        order[last] = doc;
        sift_last(ranking, order, last, 0);
    }
}

/* Quicksort in place; the order is total, so it need not be stable. `depth` bounds bad luck. */
static void sort_order(const struct ranking *ranking, uint32_t *order, uint32_t n, int depth)
{
    while (n > 24) {
        if (depth-- == 0) {
            heap_sort(ranking, order, n);
            return;
        }
        uint32_t a = order[0], middle = order[n / 2], c = order[n - 1];
        if (comes_before(ranking, c, a)) {
            const uint32_t swapped = a;
            a = c;
            c = swapped;
        }
        if (comes_before(ranking, middle, a))
            middle = a;
        else if (comes_before(ranking, c, middle))
            middle = c;
        /* Hoare's partition: the median stands in the array, so both scans stop at it. */
        uint32_t i = 0, j = n - 1;
        for (;; i++, j--) {
            while (comes_before(ranking, order[i], middle))
                i++;
            while (comes_before(ranking, middle, order[j]))
                j--;
            if (i >= j)
                break;
            const uint32_t swapped = order[i];
            order[i] = order[j];
            order[j] = swapped;
        }
        const uint32_t left = i;
        sort_order(ranking, order, left, depth);
        order += left;
        n -= left;
    }
    insertion_sort(ranking, order, n);
}

void rw_rank_query(const double *scores, uint32_t n, int reversed, uint32_t *order)
{
    const struct ranking ranking = {scores, reversed ? UINT32_MAX : 0};
    int depth = 4;
    for (uint32_t left = n; left; left /= 2)
        depth += 2;
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    sort_order(&ranking, order, n, depth);
}
