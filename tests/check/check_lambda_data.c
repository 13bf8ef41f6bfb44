#include "check_lambda.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

static void *room(size_t n, size_t size)
{
    void *p = calloc(n ? n : 1, size);
    if (!p)
        abort();
    return p;
}

double lambda_unit(uint64_t seed, uint64_t item)
{
    return (double)rw_random(seed, item, 0, RW_STREAM_SYNTH) / 4294967296.0;
}

/* Not quite normal, but smooth and with tails. */
static double noise(uint64_t seed, uint64_t item)
{
    const double u = lambda_unit(seed, item) + 1e-12;
    return log(u / (1.0 + 1e-11 - u));
}

void lambda_set_init(struct lambda_set *set, const uint32_t *sizes, uint32_t n_queries)
{
    memset(set, 0, sizeof(*set));
    struct rw_dataset *data = &set->data;
    data->n_queries = n_queries;
    data->query_offset = room((size_t)n_queries + 1, sizeof(*data->query_offset));
    for (uint32_t q = 0; q < n_queries; q++) {
        data->query_offset[q + 1] = data->query_offset[q] + sizes[q];
        set->longest = sizes[q] > set->longest ? sizes[q] : set->longest;
    }
    const uint32_t n = data->n_docs = data->query_offset[n_queries];
    data->label = room(n, sizeof(*data->label));
    set->gain = room(n, sizeof(*set->gain));
    set->score = room(n, sizeof(*set->score));
    set->sampled = room(n, sizeof(*set->sampled));
    memset(set->sampled, 1, n);
    set->max_weight = 1.0;
}

void lambda_set_release(struct lambda_set *set)
{
    free(set->data.query_offset);
    free(set->data.label);
    free(set->data.weight);
    free(set->gain);
    free(set->score);
    free(set->sampled);
    memset(set, 0, sizeof(*set));
}

static float label_of(enum lambda_labels labels, double u, int first)
{
    switch (labels) {
    case LABELS_SKEWED:
        return u < 0.514 ? 0.0f : u < 0.839 ? 1.0f : u < 0.973 ? 2.0f : u < 0.992 ? 3.0f : 4.0f;
    case LABELS_SAME:
        return 2.0f;
    case LABELS_SINGLE:
        return first ? 3.0f : 0.0f;
    case LABELS_FRACTIONS:
        return (float)(u * 20.0);
    case LABELS_NONE:
    default:
        return 0.0f;
    }
}

static double gain_of(enum lambda_gains gains, double label, double u)
{
    static const double wild[] = {0.0,   2147483648.0, 0.1,   0.30000000000000004, 0.3,
                                  1e-30, 1e-300,       1e-46, 16777217.0,          16777216.0};
    if (gains == GAINS_EXP)
        return rw_exp2(label) - 1.0;
    if (gains == GAINS_LINEAR)
        return label;
    return wild[(int)(u * 10.0)];
}

void lambda_set_labels(struct lambda_set *set, enum lambda_labels labels, enum lambda_gains gains,
                       uint64_t seed)
{
    const struct rw_dataset *data = &set->data;
    for (uint32_t q = 0; q < data->n_queries; q++) {
        const uint32_t begin = data->query_offset[q], n = data->query_offset[q + 1] - begin;
        const uint32_t best = n ? rw_random(seed, q, 1, RW_STREAM_SYNTH) % n : 0;
        for (uint32_t i = begin; i < begin + n; i++) {
            data->label[i] = label_of(labels, lambda_unit(seed, i), i - begin == best);
            set->gain[i] = gain_of(gains, (double)data->label[i], lambda_unit(seed + 1, i));
        }
    }
}

static double score_of(enum lambda_scores scores, uint64_t seed, uint32_t i, double label)
{
    const double u = lambda_unit(seed, i);
    static const double huge[] = {1e308, -1e308, 1.7e308, -1.7e308, 3e38, -3e38, 88.0, -87.5};
    static const double zeros[] = {-0.0, 0.0, 5e-324, -5e-324};
    switch (scores) {
    case SCORES_NORMAL:
        return 0.4 * label + noise(seed, i);
    case SCORES_SAME:
        return 0.25;
    case SCORES_FEW:
        return (double)(int)(u * 5.0) * 0.125 - 0.25;
    case SCORES_ZEROS:
        return zeros[(int)(u * 4.0)];
    case SCORES_HUGE:
        return huge[(int)(u * 8.0)];
    case SCORES_TINY:
        return (u - 0.5) * (i % 2 ? 1e-308 : 1e-40);
    case SCORES_RISING:
        return (double)i * 0.001;
    case SCORES_FALLING:
        return (double)i * -0.001;
    case SCORES_CLOSE:
    default:
        return 1.0 + (double)(int)(u * 50.0) * 2.220446049250313e-16;
    }
}

void lambda_set_scores(struct lambda_set *set, enum lambda_scores scores, uint64_t seed)
{
    for (uint32_t i = 0; i < set->data.n_docs; i++)
        set->score[i] = score_of(scores, seed, i, (double)set->data.label[i]);
}

void lambda_set_weights(struct lambda_set *set, int kind, uint64_t seed)
{
    struct rw_dataset *data = &set->data;
    free(data->weight);
    data->weight = NULL;
    data->weight_by_query = kind == 2;
    set->max_weight = 1.0;
    if (kind == 0)
        return;
    data->weight = room(data->n_docs, sizeof(*data->weight));
    set->max_weight = 0.0;
    for (uint32_t q = 0; q < data->n_queries; q++)
        for (uint32_t i = data->query_offset[q]; i < data->query_offset[q + 1]; i++) {
            const double u = lambda_unit(seed, kind == 2 ? q : i);
            data->weight[i] = kind == 3 && u < 0.7 ? 0.0 : 4.0 * u;
            if (data->weight[i] > set->max_weight)
                set->max_weight = data->weight[i];
        }
}

void lambda_set_sample(struct lambda_set *set, double share, uint64_t seed)
{
    const struct rw_dataset *data = &set->data;
    for (uint32_t q = 0; q < data->n_queries; q++)
        memset(set->sampled + data->query_offset[q], lambda_unit(seed, q) < share,
               data->query_offset[q + 1] - data->query_offset[q]);
}

static const uint32_t edges[] = {1,    2,    3,   31,   32,   33,   0,   63,   64,  65,
                                 127,  128,  129, 255,  256,  257,  511, 512,  513, 1023,
                                 1024, 1536, 0,   1537, 2048, 2049, 1,   4097, 0};
enum { MOST_QUERIES = 4000 };

void lambda_make_set(struct lambda_run *run, struct lambda_set *set, int shape)
{
    uint32_t sizes[MOST_QUERIES];
    uint32_t n = 0;
    if (shape == 0) {
        n = LENGTH(edges);
        memcpy(sizes, edges, sizeof(edges));
    } else if (shape == 1) {
        for (; n < MOST_QUERIES; n++)
            sizes[n] = rw_random(run->seed, n, 2, RW_STREAM_SYNTH) % 40;
    } else if (shape == 2) {
        for (; n < 400; n++)
            sizes[n] = 1 + rw_random(run->seed, n, 3, RW_STREAM_SYNTH) % 330;
    } else if (shape == 3) {
        sizes[n++] = run->quick ? 20000 : 200000;
    } else {
        const uint32_t giants[] = {5, 100000, 2049, 3, 20000, 0, 300, 2048};
        n = LENGTH(giants);
        memcpy(sizes, giants, sizeof(giants));
        sizes[1] = run->quick ? 5000 : 100000;
    }
    lambda_set_init(set, sizes, n);
}

void lambda_make_turn(struct lambda_run *run, struct lambda_set *set, int shape,
                      enum lambda_labels labels, enum lambda_gains gains, uint32_t turn,
                      int is_sampled)
{
    lambda_make_set(run, set, shape);
    lambda_set_labels(set, labels, gains, run->seed + turn);
    lambda_set_weights(set, (int)(turn / 5 % 4), run->seed + turn);
    if (is_sampled)
        lambda_set_sample(set, 0.6, run->seed + turn);
}

const struct rw_objective *lambda_objective(const struct lambda_set *set,
                                            const struct rw_objective *base,
                                            struct rw_objective_rule *rule)
{
    const struct rw_objective *objective = rw_objective_for(base, rule);
    const int relevant = rw_objective_param(objective, "relevant");
    if (relevant >= 0)
        rule->value[relevant] = 2.0;
    for (uint32_t i = 0; i < set->data.n_docs; i++)
        rule->max_gain = set->gain[i] > rule->max_gain ? set->gain[i] : rule->max_gain;
    return objective;
}
