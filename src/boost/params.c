/* Parameters: the table, defaults, values as text, and whether they agree with one another. */
#include "base/fpenv.h"
#include "boost/params_table.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"

const struct rw_param_row rw_param_rows[RW_N_PARAMS] = {
#define FIELD(field) offsetof(struct rw_params, field)
#define RW_P_INT(field, name, value, least, most, arg, model, help)               \
    {{name, RW_PARAM_INT, #value, #least " to " RW_TEXT(most), help, arg, model}, \
     FIELD(field),                                                                \
     least,                                                                       \
     most},
#define RW_P_REAL(field, name, value, least, most, arg, model, help)               \
    {{name, RW_PARAM_REAL, #value, #least " to " RW_TEXT(most), help, arg, model}, \
     FIELD(field),                                                                 \
     least,                                                                        \
     most},
#define RW_P_WORD(field, name, value, words, model, help) \
    {{name, RW_PARAM_CHOICE, value, words, help, words, model}, FIELD(field), 0, 0},
#define RW_P_TEXT(field, name, value, arg, model, help) \
    {{name, RW_PARAM_TEXT, value, arg, help, arg, model}, FIELD(field), 0, 0},
#define RW_P_SEED(field, name, value, arg, model, help)                           \
    {{name, RW_PARAM_SEED, value, "0 to 18446744073709551615", help, arg, model}, \
     FIELD(field),                                                                \
     0,                                                                           \
     0},
#include "boost/params.def"
#undef RW_P_INT
#undef RW_P_REAL
#undef RW_P_WORD
#undef RW_P_TEXT
#undef RW_P_SEED
#undef FIELD
};

_Static_assert(RW_N_PARAMS <= 64, "rw_params.set has a bit for each parameter");

const struct rw_param_info *rw_param_info(int i)
{
    return i >= 0 && i < RW_N_PARAMS ? &rw_param_rows[i].info : NULL;
}

int rw_param_find(const char *name)
{
    for (int i = 0; i < RW_N_PARAMS; i++) {
        if (strcmp(rw_param_rows[i].info.name, name) == 0)
            return i;
    }
    return -1;
}

int rw_param_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    int place = 0;
    for (const char *at = words;; place++) {
        const char *end = strchr(at, '|');
        const size_t n = end ? (size_t)(end - at) : strlen(at);
        if (n == length && memcmp(at, word, n) == 0)
            return place;
        if (!end)
            return -1;
        at = end + 1;
    }
}

int rw_params_new(struct rw_ctx *ctx, struct rw_params **out)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    struct rw_params *params = NULL;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, params, 1));
    for (int i = 0; i < RW_N_PARAMS; i++)
        RW_TRY_OUT(rw_param_assign(ctx, params, i, rw_param_rows[i].info.default_value));
    *out = params;
    return RW_OK;
out:
    rw_params_free(params);
    return status;
}

void rw_params_free(struct rw_params *params)
{
    if (!params)
        return;
    for (int i = 0; i < RW_N_PARAMS; i++) {
        if (rw_param_rows[i].info.type == RW_PARAM_TEXT)
            rw_mem_free(*(char **)((char *)params + rw_param_rows[i].offset));
    }
    rw_mem_free(params);
}

const char *rw_params_get(struct rw_params *params, const char *name)
{
    RW_DEFAULT_FPENV;
    const int i = rw_param_find(name);
    if (i < 0)
        return NULL;
    const struct rw_param_row *row = &rw_param_rows[i];
    const char *field = (const char *)params + row->offset;
    switch (row->info.type) {
    case RW_PARAM_INT:
        snprintf(params->text, sizeof(params->text), "%d", *(const int *)field);
        break;
    case RW_PARAM_REAL:
        params->text[rw_number_write_double(*(const double *)field, params->text)] = 0;
        break;
    case RW_PARAM_CHOICE: {
        const char *word = row->info.range;
        for (int k = *(const int *)field; k > 0; k--)
            word = strchr(word, '|') + 1;
        snprintf(params->text, sizeof(params->text), "%.*s", (int)strcspn(word, "|"), word);
        break;
    }
    case RW_PARAM_TEXT:
        return *(char *const *)field;
    case RW_PARAM_SEED:
        snprintf(params->text, sizeof(params->text), "%llu",
                 (unsigned long long)*(const uint64_t *)field);
        break;
    }
    return params->text;
}

static int is_set(const struct rw_params *params, enum rw_param_at at)
{
    return (int)(params->set >> at & 1);
}

int rw_params_is_set(const struct rw_params *params, const char *name)
{
    const int i = rw_param_find(name);
    return i >= 0 ? is_set(params, (enum rw_param_at)i) : 0;
}

/* Is the value the default one? */
static int is_default(const struct rw_params *params, enum rw_param_at at)
{
    const struct rw_param_row *row = &rw_param_rows[at];
    const char *field = (const char *)params + row->offset;
    struct rw_params other = {.set = 0};
    if (row->info.type == RW_PARAM_TEXT)
        return strcmp(*(char *const *)field, row->info.default_value) == 0;
    if (rw_param_assign(NULL, &other, at, row->info.default_value) < 0)
        return 0;
    const char *usual = (const char *)&other + row->offset;
    switch (row->info.type) {
    case RW_PARAM_REAL:
        return *(const double *)field == *(const double *)usual;
    case RW_PARAM_SEED:
        return *(const uint64_t *)field == *(const uint64_t *)usual;
    default:
        return *(const int *)field == *(const int *)usual;
    }
}

enum rw_param_origin rw_params_origin(const struct rw_params *params, const char *name)
{
    const int i = rw_param_find(name);
    if (i < 0 || !is_set(params, (enum rw_param_at)i))
        return RW_PARAM_DEFAULT;
    return params->strict >> i & 1 ? RW_PARAM_SET : RW_PARAM_READ;
}

int rw_params_must_matter(const struct rw_params *params, const char *name)
{
    const int i = rw_param_find(name);
    return rw_params_origin(params, name) == RW_PARAM_SET &&
           !is_default(params, (enum rw_param_at)i);
}

/* What goes by the size of the training set: docs/quality.md, "The rule". */
enum { DOCS_A_LEAF = 1200, LEAST_LEAVES = 8, MOST_LEAVES = 255 };
enum { LARGE_DOCS = 10800, SOME_FEATURES = 32, MANY_FEATURES = 100 };
static const double least_rate = 1e-6, low_rate = 0.05, high_rate = 0.1;

int rw_params_leaves(const struct rw_params *params, uint32_t n_docs)
{
    if (strcmp(params->leaves, "auto") != 0)
        return atoi(params->leaves);
    const uint32_t leaves = n_docs / DOCS_A_LEAF;
    return leaves < LEAST_LEAVES ? LEAST_LEAVES : leaves > MOST_LEAVES ? MOST_LEAVES : (int)leaves;
}

enum rw_param_split rw_params_split(const struct rw_params *params, uint32_t n_docs)
{
    if (params->split != RW_SPLIT_AUTO)
        return (enum rw_param_split)params->split;
    /* without ranking, hessians are counts: newton would only take longer */
    return rw_params_objective(params)->ranks && n_docs >= LARGE_DOCS ? RW_SPLIT_NEWTON
                                                                      : RW_SPLIT_MART;
}

double rw_params_rate(const struct rw_params *params, uint32_t n_docs, uint32_t n_features)
{
    if (params->rate > 0.0)
        return params->rate;
    if (!rw_params_objective(params)->ranks || n_docs < LARGE_DOCS)
        return high_rate;
    return n_features >= MANY_FEATURES ? low_rate : high_rate;
}

double rw_params_sample_features(const struct rw_params *params, uint32_t n_docs,
                                 uint32_t n_features)
{
    if (params->sample_features > 0.0)
        return params->sample_features;
    if (!rw_params_objective(params)->ranks || n_docs < LARGE_DOCS)
        return 1.0;
    if (n_features >= MANY_FEATURES && rw_params_rate(params, n_docs, n_features) <= low_rate)
        return 0.25; /* pays after many rounds only, which a low rate takes */
    return n_features >= SOME_FEATURES ? 0.5 : 1.0;
}

const struct rw_objective *rw_params_objective(const struct rw_params *params)
{
    return rw_objective_at(params->objective);
}

/* A parameter as a number; texts that are none ("none") and "off" are 0. */
static double number_of(const void *params, const char *name)
{
    const struct rw_param_row *row = &rw_param_rows[rw_param_find(name)];
    const char *field = (const char *)params + row->offset;
    double n = 0.0;
    if (row->info.type == RW_PARAM_REAL)
        return *(const double *)field;
    if (row->info.type != RW_PARAM_TEXT)
        return *(const int *)field;
    for (const char *c = *(char *const *)field; *c >= '0' && *c <= '9'; c++)
        n = n * 10.0 + (double)(*c - '0');
    return n;
}

void rw_params_objective_rule(const struct rw_params *params, struct rw_objective_rule *rule)
{
    rw_objective_rule_init(rule, rw_params_objective(params), number_of, params);
    rule->seed = params->seed;
}

int rw_params_metrics(struct rw_ctx *ctx, const struct rw_params *params, struct rw_metric *out,
                      int *n)
{
    *n = 0;
    for (const char *at = params->metric;;) {
        const size_t length = strcspn(at, ",");
        char name[64];
        if (*n == RW_MAX_METRICS)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "'metric': more than %d metrics", RW_MAX_METRICS);
        if (length >= sizeof(name))
            return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown metric '%.*s...'", 60, at);
        memcpy(name, at, length);
        name[length] = 0;
        RW_TRY(rw_metric_parse(ctx, name, params->relevant, &out[*n]));
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

/* What the metrics in use look at. */
struct metric_needs {
    int gain, relevance, ranked;
};

static int metric_needs(struct rw_ctx *ctx, const struct rw_params *params,
                        struct metric_needs *needs)
{
    struct rw_metric metrics[RW_MAX_METRICS];
    int n;
    RW_TRY(rw_params_metrics(ctx, params, metrics, &n));
    *needs = (struct metric_needs){0, 0, 0};
    for (int i = 0; i < n; i++) {
        const struct rw_metric_kind *kind = metrics[i].kind;
        needs->gain |= kind->uses_gain;
        needs->relevance |= kind->uses_relevance;
        needs->ranked |= !kind->by_document; /* else no order, no empty query */
    }
    return RW_OK;
}

int rw_params_conventions(struct rw_ctx *ctx, const struct rw_params *params, char *buffer,
                          size_t size)
{
    RW_DEFAULT_FPENV;
    struct rw_metric metrics[RW_MAX_METRICS];
    struct rw_gain_rule gains = {0};
    int n, uses_gain = 0;
    RW_TRY(rw_params_metrics(ctx, params, metrics, &n));
    for (int i = 0; i < n; i++)
        uses_gain |= metrics[i].kind->uses_gain;
    if (uses_gain)
        RW_TRY(rw_gain_rule_init(ctx, &gains, params->label_gain));
    rw_metrics_conventions(metrics, n, uses_gain ? &gains : NULL, (enum rw_empty)params->empty,
                           (enum rw_ties)params->ties, buffer, size);
    rw_gain_rule_release(&gains);
    return RW_OK;
}

/* What only other objectives read must not be set; but for a 0, which is so anyway: no truncation,
 * no norm. */
static int check_objective(struct rw_ctx *ctx, const struct rw_params *params)
{
    const struct rw_objective *own = rw_params_objective(params), *other;
    for (int at = 0; at < RW_N_PARAMS; at++) {
        const char *name = rw_param_rows[at].info.name;
        const struct rw_objective *only = NULL;
        int n_readers = 0;
        for (int i = 0; (other = rw_objective_at(i)); i++) {
            if (rw_objective_param(other, name) >= 0) {
                only = other;
                n_readers++;
            }
        }
        if (n_readers == 0 || rw_objective_param(own, name) >= 0 ||
            number_of(params, name) == 0.0 || !rw_params_must_matter(params, name))
            continue;
        return rw_fail(ctx, RW_ERR_ARGUMENT, "parameter '%s' has no effect %s objective %s", name,
                       n_readers == 1 ? "without" : "with",
                       n_readers == 1 ? only->name : own->name);
    }
    return RW_OK;
}

/* Are the leaves no fewer than all that `depth` levels can have? */
static int has_room_for_levels(const struct rw_params *params)
{
    return params->depth > 0 && params->depth <= 16 && strcmp(params->leaves, "auto") != 0 &&
           atoi(params->leaves) >= 1 << params->depth;
}

int rw_params_check(struct rw_ctx *ctx, const struct rw_params *params)
{
    RW_DEFAULT_FPENV;
    struct metric_needs needs;
    RW_TRY(metric_needs(ctx, params, &needs));
    if (params->rate > 0.0 && params->rate < least_rate)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'rate': expected a number, 1e-6 to 1, or 0, found '%g'",
                       params->rate);
    const struct rw_objective *objective = rw_params_objective(params);
    const int levels = params->grow == RW_GROW_LEVELS;
    const int some_features =
        params->sample_features < 1 && (params->sample_features > 0 || objective->ranks);
    const int chance = objective->draws || params->rounding == RW_ROUND_STOCHASTIC ||
                       params->sample_queries < 1 || some_features;
    const struct {
        enum rw_param_at at;
        int idle;
        const char *why;
    } rules[] = {
        {RW_AT_PARAM_min_hessian, params->split != RW_SPLIT_NEWTON, "without split newton"},
        {RW_AT_PARAM_leaves, levels && !has_room_for_levels(params),
         "with grow levels: depth limits whole levels"},
        {RW_AT_PARAM_label_gain, !objective->ranks && !needs.gain,
         "without an objective or metric that uses gains"},
        {RW_AT_PARAM_relevant, !needs.relevance, "without a metric such as map, mrr, p or recall"},
        {RW_AT_PARAM_empty, !needs.ranked, "without a metric that ranks"},
        {RW_AT_PARAM_ties, !needs.ranked, "without a metric that ranks"},
        {RW_AT_PARAM_seed, !chance, "with rounding nearest and nothing sampled"},
        {RW_AT_PARAM_hist, strncmp(params->device, "cuda", 4) != 0, "without device cuda"},
    };
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        const char *name = rw_param_rows[rules[i].at].info.name;
        if (rules[i].idle && rw_params_must_matter(params, name))
            return rw_fail(ctx, RW_ERR_ARGUMENT, "parameter '%s' has no effect %s", name,
                           rules[i].why);
    }
    RW_TRY(check_objective(ctx, params));
    if (levels && params->depth == 0 && rw_params_origin(params, "depth") == RW_PARAM_SET)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'depth' is 0 (no limit), but grow levels needs a depth");
    return RW_OK;
}
