#include "objective/delta.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

/* A delta's number is its kind, and KINDS times the cutoff. */
enum { KINDS = 16, MOST_CUTOFF = 1000000000 };

double rw_delta_number(const char *text)
{
    static const char *const words[] = {"ndcg", "dcg", "map", "mrr", "err", "none"};
    uint64_t k;
    for (int i = 0; i < RW_DELTA_P; i++) {
        if (strcmp(text, words[i]) == 0)
            return (double)i;
    }
    if (strncmp(text, "p@", 2) == 0 && rw_number_whole(text + 2, MOST_CUTOFF, &k) && k > 0)
        return (double)(RW_DELTA_P + KINDS * k);
    return -1.0;
}

enum rw_delta_kind rw_delta_kind(double number)
{
    return (enum rw_delta_kind)((uint64_t)number % KINDS);
}

uint32_t rw_delta_cutoff(double number)
{
    return (uint32_t)((uint64_t)number / KINDS);
}

int rw_delta_is_of_relevance(enum rw_delta_kind kind)
{
    return kind == RW_DELTA_MAP || kind == RW_DELTA_MRR || kind == RW_DELTA_P;
}

/* ---- what is between two positions ---- */

/* err: a reader who gets to position r stops there with this probability, under 1. */
static double stop_of(const struct rw_delta_query *query, uint32_t r)
{
    return query->grade[r] / (query->max_gain + 1.0);
}

void rw_delta_prepare(struct rw_delta_query *query, double *prefix)
{
    double count = 0.0, sum = 0.0, arrives = 1.0;
    uint32_t n_found = 0;
    query->prefix[0] = prefix;
    query->prefix[1] = prefix + query->n;
    query->relevant[0] = query->relevant[1] = query->n;
    query->above = query->below = query->n;
    for (uint32_t r = 0; r < query->n; r++) {
        if (query->kind == RW_DELTA_ERR) {
            query->prefix[0][r] = arrives;
            arrives = arrives * (1.0 - stop_of(query, r));
            continue;
        }
        query->prefix[0][r] = count;
        query->prefix[1][r] = sum;
        if (query->grade[r] > 0.0) {
            count += 1.0;
            sum += 1.0 / (double)(r + 1);
            if (n_found < 2)
                query->relevant[n_found++] = r;
        }
    }
    query->n_relevant = count;
}

/* ---- the deltas ---- */

static double grade_diff(const struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    return fabs(query->grade[above] - query->grade[below]);
}

static double of_dcg(const struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    return grade_diff(query, above, below) * (query->discounts[above] - query->discounts[below]);
}

/* The precision at the place of the one relevant document of the two, which is above, or would be
 * there; less that at the place below; and 1 / (1 + s) for each relevant document between, which
 * has one more above it if the relevant one is. */
static double of_map(const struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    const double *count = query->prefix[0], *sum = query->prefix[1];
    const int is_above = query->grade[above] > query->grade[below];
    const double own = is_above ? 1.0 / (double)(above + 1) : 0.0; /* is in the sum at `below` */
    const double at_above = (count[above] + 1.0) / (double)(above + 1);
    const double at_below = (count[below] + (is_above ? 0.0 : 1.0)) / (double)(below + 1);
    return (at_above - at_below + (sum[below] - sum[above] - own)) / query->n_relevant;
}

static double of_mrr(const struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    const uint32_t first = query->relevant[0], second = query->relevant[1];
    uint32_t then = first;
    if (above < first) /* so the one below is relevant */
        then = above;
    else if (above == first)
        then = below < second ? below : second;
    return fabs(1.0 / (double)(then + 1) - 1.0 / (double)(first + 1));
}

/* With the two exchanged, readers stop at `above` with the other probability, and the more do, the
 * fewer get to those between and to `below`; who gets past `below` is the same. The products are of
 * the documents between, so that nothing is divided by those above. */
static double of_err(struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    if (query->above != above || query->below > below) {
        query->above = above;
        query->below = above + 1;
        query->passes = 1.0;
        query->stops = 0.0;
    }
    for (; query->below < below; query->below++) {
        const double stop = stop_of(query, query->below);
        query->stops += query->passes * stop / (double)(query->below + 1);
        query->passes = query->passes * (1.0 - stop);
    }
    const double gets_earlier =
        1.0 / (double)(above + 1) - query->stops - query->passes / (double)(below + 1);
    return query->prefix[0][above] * fabs(stop_of(query, above) - stop_of(query, below)) *
           gets_earlier;
}

static double of_p(const struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    return above < query->cutoff && below >= query->cutoff ? 1.0 / (double)query->cutoff : 0.0;
}

double rw_delta_of(struct rw_delta_query *query, uint32_t above, uint32_t below)
{
    switch (query->kind) {
    case RW_DELTA_NDCG:
        return of_dcg(query, above, below) / query->ideal;
    case RW_DELTA_DCG:
        return of_dcg(query, above, below);
    case RW_DELTA_MAP:
        return of_map(query, above, below);
    case RW_DELTA_MRR:
        return of_mrr(query, above, below);
    case RW_DELTA_ERR:
        return of_err(query, above, below);
    case RW_DELTA_P:
        return of_p(query, above, below);
    case RW_DELTA_NONE:
        break;
    }
    return 1.0;
}
