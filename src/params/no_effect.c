/* Finds parameters that have no effect and parameters that contradict each other. Conditions are
 * in the column `needs` of params.def; params.h explains their use. A condition has a name in the
 * table below, compares another parameter with values, or is "objective": the objective of the
 * training reads the parameter. */
#include "params/params.h"

#include <stdatomic.h>

#include "comm/comm.h"

/* Indexed by parameter: 1 after a warning in this process. */
static atomic_uchar is_warned[RW_N_PARAMS];

enum { MOST_WHY = 256 };

struct judging {
    struct rw_ctx *ctx;
    struct rw_params *params; /* those already judged have an effect, or their default value */
    const struct rw_facts *facts;
    uint8_t is_judged[RW_N_PARAMS];
    char why[MOST_WHY]; /* the last condition that is not met, such as "with pairs all" */
};

/* ---- conditions by name ---- */

/* Each returns 1 if the condition holds or depends on an unknown fact. */
static int is_measured(const struct judging *j)
{
    return j->facts->n_valid != 0 || j->params->metric_on_train;
}

static int reads_table(const struct judging *j)
{
    return j->facts->has_table != 0 || (j->ctx && rw_ctx_n_tables(j->ctx) > 0);
}

static int has_gpu(const struct judging *j)
{
    const char *device = j->params->device;
    if (j->facts->on_gpu != RW_FACT_UNKNOWN)
        return j->facts->on_gpu;
    return strcmp(device, "auto") == 0 || strncmp(device, "cuda", 4) == 0;
}

/* The inputs of the measured metrics, as bits. */
enum metric_use { USES_GAIN = 1, USES_RELEVANCE = 2, USES_ORDER = 4 };

static int metric_uses(const struct judging *j)
{
    struct rw_metric metrics[RW_MAX_METRICS];
    int n = 0, uses = 0;
    if (!is_measured(j))
        return 0;
    if (rw_metrics_parse(NULL, j->params->metric, j->params->relevant, metrics, &n) < 0)
        return USES_GAIN | USES_RELEVANCE | USES_ORDER; /* invalid names are an error later */
    for (int i = 0; i < n; i++) {
        const struct rw_metric_kind *kind = metrics[i].kind;
        uses |= (kind->uses_gain ? USES_GAIN : 0) | (kind->uses_relevance ? USES_RELEVANCE : 0) |
                (kind->by_document ? 0 : USES_ORDER);
    }
    return uses;
}

/* Returns 1 if the library computes the gradients. */
static int has_objective(const struct judging *j)
{
    return j->facts->trains != 0 && j->facts->is_custom != 1;
}

static int uses_gains(const struct judging *j)
{
    return (has_objective(j) && rw_params_objective(j->params)->ranks) ||
           (metric_uses(j) & USES_GAIN);
}

static int uses_relevance(const struct judging *j)
{
    return (has_objective(j) && rw_params_trains_on_relevance(j->params)) ||
           (metric_uses(j) & USES_RELEVANCE);
}

static int ranks_by_metric(const struct judging *j)
{
    return (metric_uses(j) & USES_ORDER) != 0;
}

static int uses_chance(const struct judging *j)
{
    const struct rw_params *p = j->params;
    const struct rw_objective *objective = rw_params_objective(p);
    if (j->facts->draws != 0 || j->facts->trains == 0 || (has_objective(j) && objective->draws))
        return 1;
    if (j->facts->grows == 0)
        return 0;
    return p->rounding == RW_ROUND_STOCHASTIC || p->bag_queries < 1 || rw_params_sample(p);
}

#define FACT(name) offsetof(struct rw_facts, name)

static const char no_table[] = "on data that is neither CSV nor TSV";
static const struct {
    const char *name;                       /* in params.def; "": the condition belongs to a role */
    int role;                               /* the role that has this condition */
    int (*is_met)(const struct judging *j); /* NULL: met, unless the fact has the value below */
    size_t fact;
    int unless;
    const char *why; /* the reason to report if it is not met */
} conditions[] = {
    {"", RW_ROLE_TREES, NULL, FACT(grows), 0, "in a refit, which keeps the model's trees"},
    {"refit", 0, NULL, FACT(grows), 1, "without a model to refit"},
    {"valid", 0, NULL, FACT(n_valid), 0, "without a validation set"},
    {"measured", 0, is_measured, 0, 0, "without a validation set or train-metric on"},
    {"gains", 0, uses_gains, 0, 0, "without an objective or metric that uses gains"},
    {"relevance", 0, uses_relevance, 0, 0, "without a metric such as map, mrr, p or recall"},
    {"ranking", 0, ranks_by_metric, 0, 0, "without a metric that ranks"},
    {"chance", 0, uses_chance, 0, 0, "where nothing is drawn at random"},
    {"gpu", 0, has_gpu, 0, 0, "on the CPU"},
    {"", RW_ROLE_TABLE, reads_table, 0, 0, no_table},
};

/* ---- conditions on parameters ---- */

static int judge(struct judging *j, int at);

/* Returns 1 if the objective of the training reads the parameter. */
static int objective_reads(struct judging *j, int at)
{
    const struct rw_objective *own = rw_params_objective(j->params);
    if (j->facts->trains == 0 ||
        (j->facts->is_custom != 1 && rw_objective_param(own, rw_param_rows[at].info.name) >= 0))
        return 1;
    if (j->facts->is_custom == 1)
        snprintf(j->why, sizeof(j->why), "with a custom objective");
    else
        snprintf(j->why, sizeof(j->why), "with objective %s", own->name);
    return 0;
}

/* Returns 1 if `value` matches `wanted`: it is one of "a|b", differs from "!a", is not empty
 * ("set") or is empty ("unset"). */
static int is_among(const char *value, const char *wanted)
{
    if (strcmp(wanted, "set") == 0)
        return *value != 0;
    if (strcmp(wanted, "unset") == 0)
        return *value == 0;
    return *wanted == '!' ? strcmp(value, wanted + 1) != 0 : rw_param_word(wanted, value) >= 0;
}

/* Evaluates a condition such as "pairs topk", after judging the other parameter. Any condition on a
 * parameter that is `auto` holds. */
static int other_has(struct judging *j, const char *name, const char *wanted, int *is_met)
{
    const int other = rw_param_find(name);
    if (other < 0)
        return rw_fail(j->ctx, RW_ERR_INTERNAL, "params.def: '%s %s' is not a condition", name,
                       wanted);
    RW_TRY(judge(j, other));
    const char *value = rw_params_get(j->params, name);
    const int shows = strcmp(wanted, "set") != 0 && strcmp(wanted, "unset") != 0;
    *is_met = strcmp(value, "auto") == 0 || is_among(value, wanted);
    if (!*is_met)
        snprintf(j->why, sizeof(j->why), "%s %s%s%.100s",
                 strcmp(wanted, "set") == 0 ? "without" : "with", name, shows ? " " : "",
                 shows ? value : "");
    return RW_OK;
}

/* Evaluates the conditions with that name; "": those of the parameter's roles. *is_met is 1 if
 * one of them holds. */
static int need_is_met(struct judging *j, int at, const char *name, int *is_met)
{
    const int roles = *name ? 0 : rw_param_rows[at].info.roles;
    int n_known = 0;
    *is_met = 0;
    for (size_t i = 0; i < sizeof(conditions) / sizeof(conditions[0]); i++) {
        if (strcmp(conditions[i].name, name) != 0 || (!*name && !(conditions[i].role & roles)))
            continue;
        n_known++;
        *is_met |= conditions[i].is_met
                       ? conditions[i].is_met(j) != 0
                       : *(const int *)((const char *)j->facts + conditions[i].fact) !=
                             conditions[i].unless;
        if (!*is_met)
            snprintf(j->why, sizeof(j->why), "%s", conditions[i].why);
    }
    if (n_known == 0 && strcmp(name, "objective") == 0)
        *is_met = objective_reads(j, at);
    else if (n_known == 0 && *name)
        return rw_fail(j->ctx, RW_ERR_INTERNAL, "params.def: '%s' is not a condition", name);
    else if (n_known == 0)
        *is_met = 1;
    return RW_OK;
}

/* Evaluates all conditions of a parameter, such as "objective; pairs topk". */
static int needs_are_met(struct judging *j, int at, int *is_met)
{
    char needs[128], *rest, *word;
    RW_TRY(need_is_met(j, at, "", is_met));
    snprintf(needs, sizeof(needs), "%s", rw_param_rows[at].needs);
    for (char *one = strtok_r(needs, ";", &rest); one && *is_met;
         one = strtok_r(NULL, ";", &rest)) {
        const char *name = strtok_r(one, " ", &word), *wanted = strtok_r(NULL, " ", &word);
        RW_TRY(wanted ? other_has(j, name, wanted, is_met) : need_is_met(j, at, name, is_met));
    }
    return RW_OK;
}

/* Judges a parameter, after the parameters that its conditions depend on. */
static int judge(struct judging *j, int at)
{
    int is_met;
    const char *name = rw_param_rows[at].info.name;
    if (j->is_judged[at])
        return RW_OK;
    j->is_judged[at] = 1;
    RW_TRY(needs_are_met(j, at, &is_met));
    if (is_met ||
        (j->facts->grows == 0 && !j->params->is_set[at])) /* in a refit, it has the model's value */
        return RW_OK;
    j->params->is_idle[at] |= rw_params_origin(j->params, name) == RW_PARAM_CHANGED;
    RW_TRY(rw_params_no_effect(j->ctx, j->params, name, j->why));
    j->params->is_set[at] = j->params->is_strict[at] = j->params->is_chosen[at] = 0;
    return rw_param_assign(j->ctx, j->params, at, rw_param_rows[at].info.default_value);
}

/* ---- functions for other files ---- */

int rw_params_drop_idle(struct rw_ctx *ctx, struct rw_params *params, const struct rw_facts *facts)
{
    struct rw_facts all = *facts;
    if (rw_params_by_folds(params) && facts->grows != 0)
        all.n_valid = 1; /* folds are validation sets */
    struct judging j = {.ctx = ctx, .params = params, .facts = &all};
    /* judged first, since conditions by name depend on them: the objective, its variants, the
     * metrics, and the parameters that draw random numbers */
    static const enum rw_param_at first[] = {RW_AT_PARAM_delta,
                                             RW_AT_PARAM_pairs,
                                             RW_AT_PARAM_metric,
                                             RW_AT_PARAM_sample_queries,
                                             RW_AT_PARAM_sample_docs,
                                             RW_AT_PARAM_sample_features,
                                             RW_AT_PARAM_sample_features_node,
                                             RW_AT_PARAM_gain_noise,
                                             RW_AT_PARAM_rounding};
    for (int i = 0; rw_objective_variant_at(i); i++)
        RW_TRY(judge(&j, rw_param_find(rw_objective_variant_at(i)->chosen_by)));
    for (size_t i = 0; i < sizeof(first) / sizeof(first[0]); i++)
        RW_TRY(judge(&j, (int)first[i]));
    for (int at = 0; at < RW_N_PARAMS; at++)
        RW_TRY(judge(&j, at));
    return RW_OK;
}

int rw_params_judge(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_facts *facts)
{
    struct rw_params *copy RW_SCOPED(rw_params_free) = NULL;
    RW_TRY(rw_params_copy(ctx, params, &copy));
    return rw_params_drop_idle(ctx, copy, facts);
}

void rw_params_on_no_effect(struct rw_params *params, enum rw_no_effect how)
{
    params->on_no_effect = (uint8_t)how;
}

int rw_params_no_effect(struct rw_ctx *ctx, const struct rw_params *params, const char *name,
                        const char *why)
{
    const int at = rw_param_find(name);
    if (at < 0 || rw_params_origin(params, name) != RW_PARAM_CHANGED)
        return RW_OK;
    if (params->on_no_effect == RW_NO_EFFECT_ERROR)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "'%s' has no effect %s", name, why);
    if (params->on_no_effect == RW_NO_EFFECT_SILENT || !ctx || !ctx->log || rw_worker(ctx) != 0 ||
        atomic_exchange(&is_warned[at], 1))
        return RW_OK;
    ctx->idle_param = rw_param_rows[at].info.name;
    rw_log(ctx, RW_LOG_WARNING, "'%s' has no effect %s", name, why);
    ctx->idle_param = NULL;
    return RW_OK;
}

void rw_no_effect_reset(void)
{
    for (int at = 0; at < RW_N_PARAMS; at++)
        atomic_store(&is_warned[at], 0);
}

const char *rw_log_parameter(const struct rw_ctx *ctx)
{
    return ctx ? ctx->idle_param : NULL;
}

/* ---- contradictions ---- */

/* Fails if labels come from two sources, or if several labels cannot be combined with other
 * parameters. */
static int check_labels(struct rw_ctx *ctx, const struct rw_params *params)
{
    const int has_more_columns = strchr(params->label_columns, ',') != NULL;
    const char *one_label = rw_params_objective(params)->one_label;
    if (params->label_weights[0] && one_label)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "parameter 'label-weights' cannot be set with %s",
                       one_label);
    if (params->label_weights[0] && strcmp(params->pairs, "given") == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'label-weights' cannot be combined with given pairs, which "
                       "replace labels");
    if (params->label_columns[0] && rw_params_origin(params, "label-column") == RW_PARAM_CHANGED)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameters 'label-column' and 'label-columns' both name the column of "
                       "labels: expected one of them");
    if (has_more_columns && rw_params_origin(params, "labels") == RW_PARAM_CHANGED)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameters 'labels' and 'label-columns' both name further labels: expected "
                       "one of them");
    if (has_more_columns && !params->label_weights[0] &&
        rw_params_origin(params, "label-columns") == RW_PARAM_CHANGED)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'label-columns' names several labels, which need label-weights");
    return RW_OK;
}

/* Fails if parameters of training contradict each other. */
static int check_training(struct rw_ctx *ctx, const struct rw_params *params)
{
    if (rw_objective_param(rw_params_objective(params), "permutations") >= 0 &&
        params->truncation > 0 &&
        rw_delta_cutoff(rw_delta_number(params->delta)) > (uint32_t)params->truncation)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'delta' is %s, but yetirank exchanges documents of the top %d "
                       "(truncation) only, which leaves %s as it is",
                       params->delta, params->truncation, params->delta);
    RW_TRY(check_labels(ctx, params));
    if (params->grow != RW_GROW_LEAVES && params->depth == 0 &&
        params->is_strict[RW_AT_PARAM_depth])
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'depth' is 0 (no limit), but grow %s needs a depth",
                       params->grow == RW_GROW_LEVELS ? "levels" : "symmetric");
    return RW_OK;
}

int rw_params_check(struct rw_ctx *ctx, const struct rw_params *params, enum rw_params_use use)
{
    RW_DEFAULT_FPENV;
    struct rw_facts facts = RW_FACTS_UNKNOWN;
    struct rw_metric metrics[RW_MAX_METRICS];
    int n;
    for (int at = 0; at < RW_N_PARAMS && use == RW_PARAMS_NO_TABLE; at++) {
        if (rw_param_rows[at].info.roles & RW_ROLE_TABLE)
            RW_TRY(rw_params_no_effect(ctx, params, rw_param_rows[at].info.name, no_table));
    }
    if (use == RW_PARAMS_NO_TABLE)
        return RW_OK;
    RW_TRY(rw_metrics_parse(ctx, params->metric, params->relevant, metrics, &n));
    if (use == RW_PARAMS_MEASURE)
        facts.trains = 0;
    else
        RW_TRY(check_training(ctx, params));
    /* reports errors before data is read, as far as the facts are known */
    if (use == RW_PARAMS_MEASURE || params->on_no_effect == RW_NO_EFFECT_ERROR)
        RW_TRY(rw_params_judge(ctx, params, &facts));
    if (use == RW_PARAMS_TRAIN_ALONE && params->early_stop != 0 && !rw_params_by_folds(params) &&
        rw_params_origin(params, "early-stop") == RW_PARAM_CHANGED)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'early-stop' is %d, but there is no validation set to stop by",
                       params->early_stop);
    return RW_OK;
}
