/* Importance by permutation: a model's metric with one feature's values shuffled (Breiman,
 * "Random forests", 2001, section 10). */
#include "evaluate/evaluate.h"

#include <math.h>
#include <string.h>

#include "base/fpenv.h"
#include "base/mem.h"
#include "base/rng.h"
#include "dataset/dataset.h"
#include "model/scorer.h"

__extension__ typedef unsigned __int128 uint128;

enum { MOST_REPEATS = 1000 };

struct measuring {
    struct rw_ctx *ctx;               /* borrowed */
    const struct rw_eval_params *how; /* borrowed */
    struct rw_metric metric;
    struct rw_judgments judgments;
    struct rw_scorer *scorer; /* owned */
    double *scores;           /* [n_docs] owned */
};

/* The k-th document's partner in [0, k]: Fisher and Yates's draws. 64 bits times k + 1 are biased
 * by less than k / 2^64. */
static uint32_t partner(uint64_t seed, uint32_t k, uint32_t repeat, uint32_t feature)
{
    const uint64_t item = (uint64_t)repeat << 32 | k;
    const struct rw_philox random = rw_random4(seed, item, feature, RW_STREAM_PERMUTE);
    const uint64_t word = (uint64_t)random.word[0] << 32 | random.word[1];
    return (uint32_t)((uint128)word * ((uint64_t)k + 1) >> 64);
}

static void shuffle(float *values, uint32_t n, uint64_t seed, uint32_t repeat, uint32_t feature)
{
    for (uint32_t k = n; k-- > 1;) {
        const uint32_t other = partner(seed, k, repeat, feature);
        const float value = values[k];
        values[k] = values[other];
        values[other] = value;
    }
}

static int measure(struct measuring *m, const struct rw_dataset *dataset, double *value)
{
    struct rw_metric_result result;
    RW_TRY(rw_scorer_run(m->ctx, m->scorer, dataset, m->scores));
    RW_TRY(rw_metric_eval(m->ctx, &m->metric, &m->judgments, m->scores, m->how->empty, m->how->ties,
                          0, NULL, &result));
    *value = result.mean;
    return RW_OK;
}

static int prepare(struct measuring *m, const struct rw_model *model, int n_trees,
                   const struct rw_dataset *dataset)
{
    int status = RW_OK, n_metrics;
    struct rw_metric metrics[RW_MAX_METRICS];
    struct rw_gain_rule gains = {0};
    RW_TRY(rw_eval_metrics(m->ctx, m->how, metrics, &n_metrics));
    m->metric = metrics[0];
    if (m->metric.kind->uses_gain)
        RW_TRY_OUT(rw_eval_gains(m->ctx, m->how, &gains));
    RW_TRY_OUT(
        rw_judgments_init(m->ctx, &m->judgments, dataset, &gains, m->metric.kind->uses_gain));
    RW_TRY_OUT(rw_scorer_open(m->ctx, model, n_trees, "cpu", &m->scorer));
    RW_TRY_OUT(RW_NEW_RAW(m->ctx, m->scores, dataset->n_docs));
out:
    rw_gain_rule_release(&gains);
    return status;
}

static void release(struct measuring *m)
{
    rw_scorer_free(m->scorer);
    rw_judgments_release(&m->judgments);
    rw_mem_free(m->scores);
}

/* column: the feature's, which is as it was afterwards. */
static int permute(struct measuring *m, const struct rw_dataset *dataset, struct rw_column *column,
                   int n_repeats, double value, struct rw_permuted *out)
{
    const struct rw_column own = *column;
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    float *values = NULL;
    double loss[MOST_REPEATS], mean = 0.0, square = 0.0;
    int status = RW_OK;
    RW_TRY(RW_NEW_RAW(m->ctx, values, dataset->n_docs));
    *column = (struct rw_column){.feature = own.feature, .n = dataset->n_docs, .value = values};
    for (int r = 0; r < n_repeats; r++) {
        rw_column_values(&own, 0, dataset->n_docs, absent, values);
        shuffle(values, dataset->n_docs, m->how->seed, (uint32_t)r, own.feature);
        RW_TRY_OUT(measure(m, dataset, &loss[r]));
        loss[r] = m->metric.kind->lower_is_better ? loss[r] - value : value - loss[r];
        mean += loss[r] / n_repeats;
        rw_stage_add(m->ctx, 1);
        RW_TRY_OUT(rw_poll(m->ctx));
    }
    for (int r = 0; r < n_repeats; r++)
        square += (loss[r] - mean) * (loss[r] - mean);
    out->loss = mean;
    out->deviation = n_repeats > 1 ? sqrt(square / (n_repeats - 1)) : (double)NAN;
out:
    *column = own;
    rw_mem_free(values);
    return status;
}

int rw_permutation_run(struct rw_ctx *ctx, const struct rw_permutation *permutation, double *value,
                       struct rw_permuted *out, int room)
{
    int status = RW_OK, counts = 0;
    const int n_repeats = permutation->n_repeats;
    const struct rw_dataset *dataset = permutation->dataset;
    struct measuring m = {.ctx = ctx, .how = permutation->how};
    struct rw_dataset changed = *dataset; /* but for its columns: all borrowed */
    *value = (double)NAN;
    if (n_repeats < 1 || n_repeats > MOST_REPEATS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%d repeats; expected 1 to %d", n_repeats,
                       MOST_REPEATS);
    changed.column = NULL;
    RW_TRY_OUT(prepare(&m, permutation->model, permutation->n_trees, dataset));
    RW_TRY_OUT(RW_NEW_RAW(ctx, changed.column, dataset->n_columns));
    if (dataset->n_columns)
        memcpy(changed.column, dataset->column, dataset->n_columns * sizeof(*changed.column));
    RW_TRY_OUT(measure(&m, dataset, value));
    counts = rw_stage_begin(ctx, "permutations",
                            (uint64_t)m.scorer->flat.n_used * (uint64_t)n_repeats, 0);
    for (uint32_t i = 0; i < m.scorer->flat.n_used && (int)i < room; i++) {
        const struct rw_column *column = rw_dataset_column(&changed, m.scorer->flat.feature[i]);
        out[i] = (struct rw_permuted){.feature = m.scorer->flat.feature[i],
                                      .deviation = n_repeats > 1 ? 0.0 : (double)NAN};
        if (column) /* else nothing to shuffle */
            RW_TRY_OUT(permute(&m, &changed, changed.column + (column - changed.column), n_repeats,
                               *value, &out[i]));
        if (permutation->on_feature &&
            permutation->on_feature(permutation->user, (int)i + 1, (int)m.scorer->flat.n_used) != 0)
            RW_TRY_OUT(rw_fail(ctx, RW_ERR_INTERRUPTED, "stopped while features were permuted"));
    }
    status = (int)m.scorer->flat.n_used;
out:
    rw_stage_end(ctx, counts);
    rw_mem_free(changed.column);
    release(&m);
    return status;
}

int rw_permutation_importance(struct rw_ctx *ctx, const struct rw_eval_params *how,
                              const struct rw_model *model, int n_trees,
                              const struct rw_dataset *dataset, int n_repeats, double *value,
                              struct rw_permuted *out, int room)
{
    RW_DEFAULT_FPENV;
    const struct rw_permutation permutation = {
        .how = how, .model = model, .dataset = dataset, .n_trees = n_trees, .n_repeats = n_repeats};
    return rw_permutation_run(ctx, &permutation, value, out, room);
}
