/* Implements rw_evaluate_clicks: estimates of DCG@k from clicks at displayed positions. A click at
 * a position that few users examine counts 1 / propensity (IPS: Joachims, Swaminathan and Schnabel,
 * "Unbiased learning-to-rank with biased feedback", 2017). SNIPS divides by the sum of these
 * weights, which has less variance and a small bias. */
#include <math.h>
#include <stdlib.h>

#include "base/exact.h"
#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "io/input.h"
#include "params/params.h"

#define Z95 1.959963984540054 /* 97.5 % of the normal distribution are below */

/* propensity: [RW_MAX_POSITION + 1], NaN where the file has no line. */
static int read_propensities(struct rw_ctx *ctx, const char *path, double *propensity)
{
    struct rw_input *input RW_SCOPED(rw_input_close) = NULL;
    char *text RW_FREED = NULL;
    size_t n;
    RW_TRY(rw_input_open(ctx, path, &input));
    RW_TRY(rw_input_read_all(ctx, input, &text, &n));
    return rw_propensities_parse(ctx, rw_input_name(input), text, n, propensity);
}

/* The sums of a query, or of all queries. */
struct sums {
    double weight, weighted, plain;
};

static int add_query(struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t first,
                     const uint32_t *order, uint32_t n, const double *propensity,
                     struct rw_click_eval *out, struct sums *sums)
{
    *sums = (struct sums){0};
    for (uint32_t r = 0; r < n; r++) {
        const uint32_t doc = first + order[r], position = dataset->position[doc];
        const double p = propensity[position];
        const int is_top = r < out->k;
        const int is_clicked = dataset->label[doc] > 0;
        out->n_top += (uint64_t)is_top;
        out->n_uncovered += isnan(p) != 0;
        out->n_top_uncovered += is_top && isnan(p);
        if (is_clicked && isnan(p))
            return rw_fail(ctx, RW_ERR_DATA,
                           "document %u was clicked at position %u, which has no propensity",
                           doc + 1, position);
        if (!is_clicked)
            continue;
        const double discount = is_top ? 1.0 / rw_log2(r + 2.0) : 0.0;
        const double weight = 1.0 / p < out->clip ? 1.0 / p : out->clip;
        out->n_clicks++;
        out->n_clipped += 1.0 / p > out->clip;
        out->effective += weight * weight;
        sums->weight += weight;
        sums->weighted += weight * discount;
        sums->plain += discount;
    }
    return RW_OK;
}

static struct rw_click_estimate estimate_of(double mean, double squares, double scale)
{
    const double half = Z95 * sqrt(squares > 0 ? squares : 0.0) * scale;
    return (struct rw_click_estimate){mean, mean - half, mean + half};
}

int rw_evaluate_clicks(struct rw_ctx *ctx, const struct rw_dataset *dataset, const double *scores,
                       const char *propensities, uint32_t k, double clip, struct rw_click_eval *out)
{
    RW_DEFAULT_FPENV;
    RW_FREED double *propensity = NULL;
    RW_FREED uint32_t *order = NULL;
    RW_FREED struct sums *of = NULL;
    struct sums all = {0};
    double plain = 0.0, ips = 0.0, snips = 0.0;
    *out = (struct rw_click_eval){.k = k, .clip = clip, .n_queries = dataset->n_queries};
    if (k < 1 || !(clip >= 1.0))
        return rw_fail(ctx, RW_ERR_ARGUMENT, "expected k and clip of at least 1");
    if (!dataset->position)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "the data has no displayed positions");
    RW_TRY(RW_NEW_RAW(ctx, propensity, RW_MAX_POSITION + 1));
    RW_TRY(RW_NEW_RAW(ctx, order, dataset->n_docs));
    RW_TRY(RW_NEW(ctx, of, dataset->n_queries));
    RW_TRY(read_propensities(ctx, propensities, propensity));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t first = dataset->query_offset[q], n = dataset->query_offset[q + 1] - first;
        rw_rank_query(scores + first, n, 0, order);
        RW_TRY(add_query(ctx, dataset, first, order, n, propensity, out, &of[q]));
        all.weight += of[q].weight;
        all.weighted += of[q].weighted;
        all.plain += of[q].plain;
    }
    uint32_t n_graded = 0;
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        n_graded += dataset->label[i] > 1;
    if (n_graded > 0)
        rw_log(ctx, RW_LOG_WARNING, "documents with a label above 1: %u; each counts as one click",
               n_graded);
    if (out->n_clicks == 0)
        return rw_fail(ctx, RW_ERR_DATA, "no document has a label above 0, a click");
    const double n = (double)dataset->n_queries;
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const double a = of[q].plain - all.plain / n, b = of[q].weighted - all.weighted / n;
        const double c = of[q].weighted - all.weighted / all.weight * of[q].weight;
        plain += a * a;
        ips += b * b;
        snips += c * c;
    }
    const double spread = n > 1 ? sqrt(n / (n - 1.0)) : (double)NAN;
    out->plain = estimate_of(all.plain / n, plain, spread / n);
    out->ips = estimate_of(all.weighted / n, ips, spread / n);
    out->snips = estimate_of(all.weighted / all.weight, snips, spread / all.weight);
    out->effective = all.weight * all.weight / out->effective;
    return RW_OK;
}
