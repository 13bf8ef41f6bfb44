/* Random and adversarial data sets. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/bits.h"
#include "base/mem.h"
#include "base/rng.h"
#include "binning/bins.h"
#include "check.h"

uint32_t check_bits(struct check_random *random)
{
    return rw_random(random->seed, random->next++, 0, 0xC4EC4);
}

uint32_t check_below(struct check_random *random, uint32_t n)
{
    return (uint32_t)((uint64_t)check_bits(random) * n >> 32);
}

double check_unit(struct check_random *random)
{
    return (double)check_bits(random) * 0x1p-32;
}

int check_chance(struct check_random *random, double share)
{
    return check_unit(random) < share;
}

static float extreme(struct check_random *random)
{
    static const float some[] = {FLT_MAX, -FLT_MAX, FLT_MIN, -FLT_MIN, 0.0f,
                                 1.0f,    1e-45f,   -1e-45f, 3e38f,    -3e38f};
    if (check_chance(random, 0.5))
        return some[check_below(random, 10)];
    float value;
    do
        value = rw_float_of_bits(check_bits(random));
    while (!isfinite(value) || value == 0.0f);
    return value;
}

/* A code, some of them far more frequent, and the label says something of it; some have no
 * document.
 */
static float category_of(struct check_random *random, uint32_t n_codes, float label, int other_set)
{
    uint32_t code = check_below(random, 1 + check_below(random, n_codes));
    if (check_chance(random, 0.6))
        code = ((uint32_t)label * 37 + 3 * check_below(random, 4)) % n_codes;
    return (float)(!other_set && code % 7 == 5 ? code - 1 : code);
}

/* One value; RW_ABSENT_BITS where the document does not mention the feature. */
static float value_of(struct check_random *random, enum check_column kind, uint32_t distinct,
                      uint32_t doc, uint32_t n_docs, float label, int other_set)
{
    const float missing = rw_float_of_bits(RW_MISSING_BITS);
    const float absent = rw_float_of_bits(RW_ABSENT_BITS);
    const float signal = label * 0.5f + (float)check_unit(random) * 2.0f - 1.0f;
    if (kind >= COLUMN_CATEGORIES) { /* distinct: their number */
        const double share = kind == COLUMN_CATEGORIES_MISSING ? 0.2 : other_set ? 0.05 : 0.0;
        return check_chance(random, share) ? missing
                                           : category_of(random, distinct, label, other_set);
    }
    /* other sets have missing values and values outside the training set's range */
    if (other_set && check_chance(random, 0.05))
        return check_chance(random, 0.5) ? missing : extreme(random);
    switch (kind) {
    case COLUMN_REAL:
        return signal;
    case COLUMN_DISTINCT:
        return (float)check_below(random, distinct) - (float)(distinct / 3);
    case COLUMN_CONSTANT:
        return 2.5f;
    case COLUMN_ALL_MISSING:
        return missing;
    case COLUMN_HALF_MISSING:
        return check_chance(random, 0.5) ? missing : signal;
    case COLUMN_DENORMAL:
        return rw_float_of_bits(1 + check_below(random, 40) + (check_bits(random) & 0x80000000u));
    case COLUMN_EXTREME:
        return extreme(random);
    case COLUMN_HOT:
        return check_chance(random, 0.99) ? 7.0f : signal;
    case COLUMN_SPARSE:
        return check_chance(random, 0.95) ? absent : signal;
    case COLUMN_NEIGHBOURS:
        return rw_float_of_key(rw_key_of_float(1.0f) + check_below(random, 6));
    case COLUMN_BINARY_MISSING:
        return check_chance(random, 0.3) ? missing : (float)(signal > 0.3f);
    case COLUMN_HIGH_WITH_MISSING:
        return check_chance(random, label > 1.0f ? 0.8 : 0.1) ? missing
                                                              : (float)check_below(random, 5);
    case COLUMN_RAMP:
        return (float)doc / (float)n_docs + (float)check_below(random, 2);
    default:
        return check_chance(random, 0.7) ? absent : check_chance(random, 0.2) ? missing : signal;
    }
}

static float label_of(struct check_random *random, enum check_labels kind, uint32_t place,
                      uint32_t query)
{
    switch (kind) {
    case LABELS_EQUAL:
        return 1.0f;
    case LABELS_ONE:
        return place == 0 ? 1.0f : 0.0f;
    case LABELS_REAL:
        return (float)check_unit(random) * 10.0f - 0.0f;
    case LABELS_BY_QUERY:
        return (float)(query % 3);
    default:
        return check_chance(random, 0.6) ? 0.0f : (float)check_below(random, 5);
    }
}

static int add_doc(struct rw_ctx *ctx, struct rw_builder *builder, const struct check_spec *spec,
                   const enum check_column *kinds, struct check_random *random, uint32_t n_docs,
                   float label, int set)
{
    uint16_t features[1024];
    float values[1024];
    size_t n = 0;
    for (uint32_t f = 0; f < spec->n_features; f++) {
        if (set == 2 && f % 4 == 1) /* a feature that this set never has */
            continue;
        const uint32_t distinct =
            kinds[f] < COLUMN_CATEGORIES ? spec->distinct : (uint32_t)spec->categories;
        const float value =
            value_of(random, kinds[f], distinct, builder->n_docs, n_docs, label, set > 0);
        if (rw_is_absent(value))
            continue;
        features[n] = (uint16_t)(spec->first_feature + f * spec->feature_gap);
        values[n++] = value == 0.0f ? 0.0f : value;
    }
    return rw_builder_doc(ctx, builder, label, features, values, n, NULL, 0);
}

static int make_set(struct rw_ctx *ctx, const struct check_spec *spec,
                    const enum check_column *kinds, struct check_random *random, int set,
                    struct rw_dataset **out)
{
    struct rw_builder builder;
    memset(&builder, 0, sizeof(builder));
    int status = RW_OK;
    const uint32_t n_queries = set ? 1 + spec->n_queries / 3 : spec->n_queries;
    const uint32_t spread = spec->query_max - spec->query_min + 1;
    for (uint32_t q = 0; q < n_queries; q++) {
        char id[32];
        const int length = snprintf(id, sizeof(id), "q%u", q);
        RW_TRY_OUT(rw_builder_query(ctx, &builder, id, (size_t)length));
        const uint32_t n = spec->query_min + check_below(random, spread);
        for (uint32_t i = 0; i < n; i++) {
            const float label = label_of(random, spec->labels, i, q);
            RW_TRY_OUT(add_doc(ctx, &builder, spec, kinds, random, n_queries * spec->query_max,
                               label, set));
        }
    }
    RW_TRY_OUT(rw_builder_finish(ctx, &builder, 1, out));
out:
    rw_builder_release(&builder);
    return status;
}

static int set_weights(struct rw_ctx *ctx, const struct check_spec *spec,
                       struct check_random *random, struct rw_dataset *dataset)
{
    const uint32_t n = spec->weights == WEIGHTS_QUERY ? dataset->n_queries : dataset->n_docs;
    double *weights = malloc((n + 1) * sizeof(*weights));
    for (uint32_t i = 0; weights && i < n; i++) {
        weights[i] = check_chance(random, 0.2) ? 0.0 : check_unit(random) * 3.0;
        if (spec->weights == WEIGHTS_LARGE)
            weights[i] = check_chance(random, 0.1) ? 65536.0 : check_unit(random);
    }
    int status = RW_ERR_MEMORY;
    if (weights)
        status = spec->weights == WEIGHTS_QUERY
                     ? rw_dataset_set_side_column(ctx, dataset, "query-weights", weights, n, 1)
                     : rw_dataset_set_side_column(ctx, dataset, "weights", weights, n, 1);
    free(weights);
    return status;
}

static void make_rules(const struct check_spec *spec, struct check_case *c)
{
    static const struct rw_objective *const objectives[] = {&rw_objective_lambdarank,
                                                            &rw_objective_regression, NULL};
    c->rules = (struct rw_engine_rules){
        .cut = {.bins = spec->bins,
                .absent_missing = spec->absent_missing,
                .min_docs = spec->min_docs,
                .ignore = c->ignore,
                .categories = c->categories},
        .objective = objectives[spec->objective],
        .lambda = {.sigma = (float)spec->sigma, .truncation = spec->truncation, .norm = spec->norm},
        .newton = spec->newton,
        .split = {.l2 = spec->split_l2,
                  .category_smoothing = spec->split_l2 > 0.0 ? 10.0 : 0.0,
                  .min_hessian = spec->min_hessian,
                  .min_gain = spec->min_gain,
                  .gain_noise = spec->gain_noise},
        .min_docs = spec->min_docs,
        .bits = spec->bits,
        .nearest = spec->nearest,
        .seed = c->seed ^ 0x123456789abcdefull,
        .query_threshold = (uint64_t)rw_round_int64(spec->sample_queries * 4294967296.0),
        .feature_threshold = (uint64_t)rw_round_int64(spec->sample_features * 4294967296.0),
        .doc_threshold = (uint64_t)rw_round_int64(spec->sample_docs * 4294967296.0),
        .node_threshold = (uint64_t)rw_round_int64(spec->sample_node * 4294967296.0),
        .monotone = c->monotone,
        .penalty = c->penalty,
        .interactions = spec->groups ? &c->interactions : NULL,
        .symmetric = spec->symmetric,
        .max_slots = 2 * spec->leaves - 1,
        /* in one case in two */
        .max_histograms = c->seed % 2 && spec->leaves > 8 ? spec->leaves / 2 : 0};
}

/* Penalties, some of them 0, and groups: each feature is in none, in one, or in two. */
static int make_shape(struct rw_ctx *ctx, const struct check_spec *spec,
                      struct check_random *random, struct check_case *c)
{
    if (spec->penalty > 0.0)
        RW_TRY(RW_NEW(ctx, c->penalty, RW_FEATURE_IDS));
    if (spec->groups) {
        c->interactions.n_groups = (uint32_t)spec->groups;
        c->interactions.n_words = (uint32_t)(spec->groups + 63) / 64;
        RW_TRY(RW_NEW(ctx, c->interactions.groups, RW_FEATURE_IDS * c->interactions.n_words));
    }
    for (uint32_t f = 0; f < spec->n_features; f++) {
        const uint32_t id = spec->first_feature + f * spec->feature_gap;
        if (c->penalty)
            c->penalty[id] = check_chance(random, 0.3) ? 0.0 : check_unit(random) * spec->penalty;
        for (uint32_t k = check_below(random, 3); spec->groups && k > 0; k--) {
            const uint32_t g = check_below(random, c->interactions.n_groups);
            c->interactions.groups[id * c->interactions.n_words + g / 64] |= (uint64_t)1 << g % 64;
        }
    }
    return RW_OK;
}

/* Bins as a cache brings them: every feature, whatever min_docs and ignore say. */
static int make_cached(struct rw_ctx *ctx, struct check_case *c)
{
    struct rw_cuts *cuts;
    const struct rw_cut_rule rule = {.bins = c->spec.bins,
                                     .absent_missing = c->spec.absent_missing,
                                     .min_docs = 1,
                                     .categories = c->categories};
    RW_TRY(rw_cuts_make(ctx, c->set[0], &rule, &cuts));
    const int status = rw_bins_make(ctx, c->set[0], cuts, &rule, 1, &c->bins);
    if (status < 0)
        rw_cuts_free(cuts);
    return status;
}

int check_case_init(struct rw_ctx *ctx, const struct check_spec *spec, uint64_t seed,
                    struct check_case *out)
{
    memset(out, 0, sizeof(*out));
    out->spec = *spec;
    out->seed = seed;
    int status = RW_OK;
    struct check_random random = {seed, 0};
    enum check_column kinds[1024];
    const uint32_t columns = spec->columns ? spec->columns : (1u << N_COLUMNS) - 1;
    for (uint32_t f = 0; f < spec->n_features; f++) {
        uint32_t kind = f % N_COLUMNS; /* every kind in turn, then at random */
        while (!(columns >> kind & 1))
            kind = f < N_COLUMNS ? (kind + 1) % N_COLUMNS : check_below(&random, N_COLUMNS);
        kinds[f] = (enum check_column)kind;
        if (spec->categories && f % 2 == 0)
            kinds[f] = f % 4 == 0 ? COLUMN_CATEGORIES : COLUMN_CATEGORIES_MISSING;
    }
    for (; out->n_sets < 3; out->n_sets++)
        RW_TRY_OUT(make_set(ctx, spec, kinds, &random, out->n_sets, &out->set[out->n_sets]));
    struct rw_dataset *train = out->set[0];
    if (spec->weights != WEIGHTS_NONE)
        RW_TRY_OUT(set_weights(ctx, spec, &random, train));
    out->gains = malloc((train->n_docs + 1) * sizeof(*out->gains));
    out->ignore = spec->ignore ? calloc(RW_FEATURE_IDS, 1) : NULL;
    out->monotone = spec->monotone ? calloc(RW_FEATURE_IDS, 1) : NULL;
    if (spec->categories)
        RW_TRY_OUT(RW_NEW(ctx, out->categories, RW_FEATURE_IDS));
    for (uint32_t f = 0; out->categories && f < spec->n_features; f += 2)
        out->categories[spec->first_feature + f * spec->feature_gap] = (uint16_t)spec->categories;
    if (!out->gains || (spec->ignore && !out->ignore) || (spec->monotone && !out->monotone)) {
        status = RW_ERR_MEMORY;
        goto out;
    }
    for (uint32_t i = 0; i < train->n_docs; i++)
        out->gains[i] = exp2((double)train->label[i]) - 1.0;
    for (uint32_t f = 0; out->ignore && f < spec->n_features; f += 3)
        out->ignore[spec->first_feature + f * spec->feature_gap] = 1;
    for (uint32_t f = 0; out->monotone && f < spec->n_features; f++)
        out->monotone[spec->first_feature + f * spec->feature_gap] =
            kinds[f] >= COLUMN_CATEGORIES || (spec->monotone == 1 && f % 2) ? 0
            : check_chance(&random, 0.5)                                    ? 1
                                                                            : -1;
    RW_TRY_OUT(make_shape(ctx, spec, &random, out));
    make_rules(spec, out);
    if (spec->cached)
        RW_TRY_OUT(make_cached(ctx, out));
out:
    if (status < 0)
        check_case_release(out);
    return status;
}

void check_case_release(struct check_case *c)
{
    for (int s = 0; s < c->n_sets; s++)
        rw_dataset_free(c->set[s]);
    rw_bins_free(c->bins);
    free(c->gains);
    free(c->ignore);
    free(c->monotone);
    rw_mem_free(c->penalty);
    rw_mem_free(c->categories);
    rw_mem_free(c->interactions.groups);
}
