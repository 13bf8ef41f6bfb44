#include "rank/metric.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "data/dataset.h"
#include "rank/order.h"

static const struct rw_metric_kind kinds[] = {
    /* name, uses_gain, uses_relevance, lower_is_better, by_document, root, at, query, help */
    {"ndcg", 1, 0, 0, 0, 0, RW_AT_OPTIONAL, rw_query_ndcg, "DCG over the best DCG at the cut-off"},
    {"dcg", 1, 0, 0, 0, 0, RW_AT_OPTIONAL, rw_query_dcg, "sum of gain / log2(1 + rank)"},
    {"map", 0, 1, 0, 0, 0, RW_AT_OPTIONAL, rw_query_map, "mean average precision"},
    {"mrr", 0, 1, 0, 0, 0, RW_AT_OPTIONAL, rw_query_mrr, "1 / rank of the first relevant document"},
    {"err", 1, 0, 0, 0, 0, RW_AT_OPTIONAL, rw_query_err, "expected reciprocal rank"},
    {"p", 0, 1, 0, 0, 0, RW_AT_REQUIRED, rw_query_precision, "relevant documents in the top k / k"},
    {"recall", 0, 1, 0, 0, 0, RW_AT_REQUIRED, rw_query_recall,
     "share of the relevant documents in the top k"},
    {"rbp", 0, 1, 0, 0, 0, RW_AT_PERSISTENCE, rw_query_rbp, "rank-biased precision"},
    {"rmse", 0, 0, 1, 1, 1, RW_AT_NONE, rw_query_rmse, "root of the mean squared error"},
    {"logloss", 0, 1, 1, 1, 0, RW_AT_NONE, rw_query_logloss, "logistic loss of the scores"},
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

const struct rw_metric_kind *rw_metric_kind_at(int i)
{
    return i >= 0 && i < N_KINDS ? &kinds[i] : NULL;
}

/* ------------------------------------------------------------------ names */

#define ALL_METRICS "ndcg[@k] dcg[@k] map[@k] mrr[@k] err[@k] p@k recall@k rbp:P rmse logloss"

/* What other tools call them. */
static const struct {
    const char *theirs, *ours;
} aliases[] = {
    {"precision", "p"},
    {"prec", "p"},
    {"pre", "p"},
    {"ap", "map"},
    {"average_precision", "map"},
    {"mean_average_precision", "map"},
    {"rr", "mrr"},
    {"recip_rank", "mrr"},
    {"log_loss", "logloss"},
    {"binary_logloss", "logloss"},
    {"l2", "rmse"},
    {"mse", "rmse"},
    {"l2_root", "rmse"},
};

enum { LONGEST_NAME = 31 };

/* Always some metric: the list is short, and the message gives all of them anyway. */
static const char *nearest_kind(const char *word)
{
    char lower[LONGEST_NAME + 1];
    size_t n = 0;
    for (; n < LONGEST_NAME && word[n]; n++)
        lower[n] = (char)tolower((unsigned char)word[n]);
    lower[n] = 0;
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (strcmp(lower, aliases[i].theirs) == 0)
            return aliases[i].ours;
    const char *best = kinds[0].name;
    size_t least = SIZE_MAX;
    for (int i = 0; i < N_KINDS; i++) {
        const size_t distance = rw_word_distance(lower, kinds[i].name);
        if (distance < least) {
            least = distance;
            best = kinds[i].name;
        }
    }
    return best;
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
            "metric '%.60s': expected a whole number of 1 to %u after '@', as in '%s@10'", text,
            RW_MAX_DOCS, name);
    out->at = (uint32_t)at;
    snprintf(out->name, sizeof(out->name), "%s@%u", name, out->at);
    return RW_OK;
}

/* A decimal between 0 and 1, read by hand because strtod follows the program's locale: an integer
 * under 10^15 over a power of ten, both exact in double, so the quotient is the nearest double. */
static int parse_persistence(struct rw_ctx *ctx, const char *text, const char *digits,
                             struct rw_metric *out)
{
    double value = 0.0, scale = 1.0;
    const char *c = digits;
    if (*c == '0')
        c++;
    int good = *c == '.';
    if (good)
        for (c++; *c >= '0' && *c <= '9' && scale < 1e15; c++) {
            value = value * 10.0 + (double)(*c - '0');
            scale *= 10.0;
        }
    good = good && *c == 0 && value > 0.0;
    if (!good)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "metric '%.60s': expected a persistence between 0 and 1 after ':', as in "
                       "'rbp:0.8'",
                       text);
    out->persistence = value / scale;
    snprintf(out->name, sizeof(out->name), "rbp:0%s", digits + (*digits == '0'));
    return RW_OK;
}

int rw_metric_parse(struct rw_ctx *ctx, const char *text, double relevant, struct rw_metric *out)
{
    memset(out, 0, sizeof(*out));
    out->relevant = relevant;
    char word[64];
    const size_t bytes = strcspn(text, "@:");
    snprintf(word, sizeof(word), "%.*s", (int)(bytes < 60 ? bytes : 60), text);
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(word, kinds[i].name) == 0)
            out->kind = &kinds[i];
    if (!out->kind)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "unknown metric '%.60s'; did you mean '%s'?\nhint: metrics are " ALL_METRICS,
                       text, nearest_kind(word));
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
                           "metric '%.60s': '%s' takes no cut-off or persistence", text, name);
        break;
    case RW_AT_OPTIONAL:
    case RW_AT_REQUIRED:
        if (mark == '@')
            return parse_cut(ctx, text, text + bytes + 1, out);
        if (mark == ':')
            return rw_fail(ctx, RW_ERR_ARGUMENT, "metric '%.60s': a cut-off is written '%s@10'",
                           text, name);
        if (out->kind->at == RW_AT_REQUIRED)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "metric '%s' needs a cut-off, as in '%s@10'", name,
                           name);
        break;
    }
    snprintf(out->name, sizeof(out->name), "%s", name);
    return RW_OK;
}

/* ------------------------------------------------------------------ ranking */

struct ranking {
    const double *score;
    uint32_t flip; /* all ones: ties by falling place */
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
