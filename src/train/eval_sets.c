/* Metrics after each round, on the validation sets and, if requested, on the training set. Early
 * stopping uses the first metric of one validation set. */
#include "train/train.h"

static int is_measured(const struct rw_eval_sets *eval, int set)
{
    return set > 0 || eval->params->metric_on_train;
}

static int has_custom(const struct rw_eval_sets *eval)
{
    return eval->hooks && eval->hooks->metric;
}

/* Names the values of a round, set by set: validation sets first, in order, and the training set
 * last. Within a set, the custom metric is first and the metrics of the parameter `metric` follow.
 * So value 0 is the first metric of the first validation set. */
static int name_values(struct rw_eval_sets *eval)
{
    const int per_set = eval->n_metrics + has_custom(eval);
    int n_measured_sets = 0;
    for (int set = 0; set < eval->n_sets; set++)
        n_measured_sets += is_measured(eval, set);
    const size_t n = (size_t)(n_measured_sets * per_set);
    RW_TRY(RW_ARENA_NEW(eval->ctx, &eval->arena, eval->value, n));
    RW_TRY(RW_NEW(eval->ctx, eval->model->metric_name, n));
    for (int k = 1; k <= eval->n_sets; k++) {
        const int set = k % eval->n_sets; /* 1, 2, ..., 0 */
        for (int m = 0; is_measured(eval, set) && m < per_set; m++) {
            const int table = m - has_custom(eval);
            const char *metric = table >= 0                 ? eval->metric[table].name
                                 : eval->hooks->metric_name ? eval->hooks->metric_name
                                                            : "custom";
            char text[128];
            if (set == 0)
                snprintf(text, sizeof(text), "train %.100s", metric);
            else
                snprintf(text, sizeof(text), "valid%d %.100s", set, metric);
            char **name = &eval->model->metric_name[eval->n_values];
            RW_TRY(rw_mem_copy_text(eval->ctx, name, text));
            eval->model->n_metrics++;
            eval->value[eval->n_values++] =
                (struct rw_metric_value){.set = set, .name = strchr(*name, ' ') + 1};
        }
    }
    return RW_OK;
}

int rw_eval_sets_init(struct rw_eval_sets *eval, struct rw_ctx *ctx, const struct rw_params *params,
                      const struct rw_train_hooks *hooks, const struct rw_dataset *const *sets,
                      int n_sets, struct rw_model *model)
{
    *eval = (struct rw_eval_sets){.ctx = ctx,
                                  .params = params,
                                  .hooks = hooks,
                                  .n_sets = n_sets,
                                  .model = model,
                                  .stop_value = -1};
    rw_mem_free(model->metric_name); /* a copied model has empty arrays here */
    rw_mem_free(model->metric_value);
    model->metric_name = NULL;
    model->metric_value = NULL;
    RW_TRY(rw_metrics_parse(ctx, params->metric, params->relevant, eval->metric, &eval->n_metrics));
    for (int m = 0; m < eval->n_metrics; m++)
        eval->any_uses_gain |= eval->metric[m].kind->uses_gain;
    if (eval->any_uses_gain || rw_params_objective(params)->ranks)
        RW_TRY(rw_gain_rule_init(ctx, &eval->gains, params->label_gain));
    uint32_t most = 1;
    for (int set = 0; set < n_sets; set++) {
        eval->set[set] = sets[set];
        if (!is_measured(eval, set))
            continue;
        RW_TRY(rw_judgments_init(ctx, &eval->judgments[set], sets[set], &eval->gains,
                                 eval->any_uses_gain));
        most = sets[set]->n_docs > most ? sets[set]->n_docs : most;
    }
    RW_TRY(RW_ARENA_NEW(ctx, &eval->arena, eval->scores, most));
    RW_TRY(name_values(eval));
    if (n_sets > 1 && eval->n_values > 0) {
        eval->stop_value = 0;
        eval->stop_set = 1;
        eval->lower_is_better = has_custom(eval) ? hooks->metric_lower_is_better
                                                 : eval->metric[0].kind->lower_is_better;
    }
    return RW_OK;
}

int rw_eval_sets_report_queries(struct rw_eval_sets *eval, const struct rw_trial *trial)
{
    eval->stop.trial = trial;
    return RW_ARENA_NEW(eval->ctx, &eval->arena, eval->stop.per_query, eval->set[1]->n_queries);
}

int rw_eval_sets_share(struct rw_eval_sets *eval)
{
    if (rw_n_workers(eval->ctx) == 1)
        return RW_OK;
    if (has_custom(eval))
        return rw_fail(eval->ctx, RW_ERR_UNSUPPORTED,
                       "a custom metric cannot be used with several workers: each worker has only "
                       "its shard of the queries");
    for (int set = 0; set < eval->n_sets; set++) {
        if (is_measured(eval, set))
            RW_TRY(rw_judgments_share(eval->ctx, &eval->judgments[set]));
    }
    return RW_OK;
}

/* Computes the stop metric of the best (sign 1) or worst (sign -1) ranking of each query. */
static int metric_of_labels(struct rw_eval_sets *eval, double sign, double *mean)
{
    const struct rw_metric *metric = &eval->metric[0];
    const struct rw_judgments *judgments = &eval->judgments[eval->stop_set];
    struct rw_metric_result result;
    for (uint32_t i = 0; i < judgments->n_docs; i++)
        eval->scores[i] =
            sign * (metric->kind->uses_gain ? judgments->gain[i] : (double)judgments->label[i]);
    RW_TRY(rw_metric_eval(eval->ctx, metric, judgments, eval->scores,
                          (enum rw_empty)eval->params->empty, (enum rw_ties)eval->params->ties, 0,
                          NULL, &result));
    *mean = result.mean;
    return RW_OK;
}

/* Checks that early stopping has a metric that can change. Moving a document with a larger gain
 * up never makes a metric worse. So if the best and the worst ranking have equal values, every
 * ranking has that value. */
static int check_can_change(struct rw_eval_sets *eval)
{
    const char *name = eval->metric[0].name;
    double best, worst;
    RW_TRY(metric_of_labels(eval, 1.0, &best));
    if (best != best)
        return rw_fail(eval->ctx, RW_ERR_DATA,
                       "training cannot stop early: no query of validation set %d counts for "
                       "%s\nhint: queries count if they have a relevant document (see 'label-gain' "
                       "and 'relevant'); 'early-stop 0' keeps all rounds",
                       eval->stop_set, name);
    if (eval->metric[0].kind->by_document) /* such a metric depends on scores, not on the ranking */
        return RW_OK;
    RW_TRY(metric_of_labels(eval, -1.0, &worst));
    if (best != worst)
        return RW_OK;
    return rw_fail(
        eval->ctx, RW_ERR_DATA,
        "training cannot stop early: %s of validation set %d is %.9g for every ranking\nhint: the "
        "set needs queries with documents of different relevance, and for p and recall more "
        "documents than the cutoff; 'early-stop 0' keeps all rounds",
        name, eval->stop_set, best);
}

int rw_eval_sets_choose(struct rw_eval_sets *eval, const unsigned char *is_train)
{
    const int stops = eval->params->early_stop > 0;
    int set = 1;
    if (eval->stop_value < 0)
        return RW_OK;
    while (set < eval->n_sets && is_train[set])
        set++;
    eval->stop_set = set < eval->n_sets ? set : 0;
    eval->stop_value =
        eval->stop_set ? (eval->stop_set - 1) * (eval->n_metrics + has_custom(eval)) : -1;
    if (stops && !eval->stop_set)
        rw_log(
            eval->ctx, RW_LOG_WARNING,
            "validation set 1 is the training set, so early stopping is off: all rounds are kept");
    else if (stops && set > 1)
        rw_log(eval->ctx, RW_LOG_NOTE,
               "validation set 1 is the training set, so validation set %d stops training", set);
    return stops && eval->stop_set && !has_custom(eval) ? check_can_change(eval) : RW_OK;
}

int rw_ctx_stopping_valid_set(const struct rw_ctx *ctx)
{
    return ctx->stop_set;
}

void rw_eval_sets_release(struct rw_eval_sets *eval)
{
    rw_gain_rule_release(&eval->gains);
    rw_stop_rule_release(&eval->stop);
    for (int set = 0; set < eval->n_sets; set++)
        rw_judgments_release(&eval->judgments[set]);
    rw_arena_free(&eval->arena);
}

/* Measures a set. Scores are copied to the host only for metrics that the engine cannot compute. */
static int measure_set(struct rw_eval_sets *eval, struct rw_engine *engine, int set, int *v)
{
    const struct rw_params *params = eval->params;
    struct rw_metric_result result[RW_MAX_METRICS];
    const double *scores = eval->given ? eval->given[set] : eval->scores;
    double *per_query = set == 1 ? eval->stop.per_query : NULL;
    const int by_engine =
        eval->by_engine[set] ? engine->ops->measure.results(engine, set, result) : 0;
    int by_host = has_custom(eval), n_measured = 0;
    RW_TRY(by_engine);
    for (int m = 0; m < eval->n_metrics; m++)
        by_host |= !by_engine || eval->metric[m].kind->device == RW_METRIC_HOST;
    if (by_host && !eval->given)
        RW_TRY(engine->ops->read_scores(engine, set, eval->scores));
    if (has_custom(eval)) {
        double value;
        if (eval->hooks->metric(eval->hooks->user, eval->set[set], scores, &value))
            return rw_fail(eval->ctx, RW_ERR_INTERRUPTED, "the custom metric failed");
        eval->value[(*v)++].value = value;
    }
    for (int m = 0; m < eval->n_metrics; m++) {
        struct rw_metric_result own;
        const int is_measured = by_engine && eval->metric[m].kind->device != RW_METRIC_HOST;
        if (!is_measured)
            RW_TRY(rw_metric_eval(eval->ctx, &eval->metric[m], &eval->judgments[set], scores,
                                  (enum rw_empty)params->empty, (enum rw_ties)params->ties, 0,
                                  m == 0 ? per_query : NULL, &own));
        else if (m == 0 && per_query)
            RW_TRY(engine->ops->measure.by_query(engine, set, per_query));
        eval->value[(*v)++].value = is_measured ? result[n_measured++].mean : own.mean;
    }
    return RW_OK;
}

int rw_eval_sets_plan(struct rw_eval_sets *eval, int set, struct rw_metric_plan *plan)
{
    *plan = (struct rw_metric_plan){.judgments = &eval->judgments[set],
                                    .metric = eval->on_device,
                                    .empty = (enum rw_empty)eval->params->empty,
                                    .ties = (enum rw_ties)eval->params->ties,
                                    .by_query = set == 1 && eval->stop.per_query};
    for (int m = 0; m < eval->n_metrics; m++) {
        if (eval->metric[m].kind->device != RW_METRIC_HOST)
            eval->on_device[plan->n_metrics++] = eval->metric[m];
    }
    /* an engine averages only over its own worker's queries */
    return is_measured(eval, set) && plan->n_metrics > 0 && rw_n_workers(eval->ctx) == 1;
}

/* Measures all measured sets. On the first call, an engine that computes metrics gets the plan.
 * *v: incremented by the number of values. */
static int measure_all(struct rw_eval_sets *eval, struct rw_engine *engine, int *v)
{
    struct rw_metric_plan plan;
    const int begins = !eval->is_registered && !eval->given && engine->ops->measure.begin;
    for (int set = 0; set < eval->n_sets && begins; set++) {
        if (!rw_eval_sets_plan(eval, set, &plan))
            continue;
        RW_TRY(engine->ops->measure.begin(engine, set, &plan));
        eval->by_engine[set] = 1;
    }
    eval->is_registered = 1;
    for (int k = 1; k <= eval->n_sets; k++) {
        if (is_measured(eval, k % eval->n_sets))
            RW_TRY(measure_set(eval, engine, k % eval->n_sets, v));
    }
    return RW_OK;
}

/* Takes the stopping metric of a round: for the rule `paired` its own, otherwise the measured one.
 */
static int judge_round(struct rw_eval_sets *eval, struct rw_engine *engine, int round)
{
    double value = eval->value[eval->stop_value].value;
    if (eval->stop.is_paired) {
        const double *scores = eval->given ? eval->given[eval->stop_set] : eval->scores;
        if (!eval->given)
            RW_TRY(engine->ops->read_scores(engine, eval->stop_set, eval->scores));
        RW_TRY(rw_stop_rule_round(eval, scores, &value));
    }
    if (value != value && round == 1 && eval->params->early_stop > 0)
        return rw_fail(
            eval->ctx, RW_ERR_DATA,
            "training cannot stop early: metric '%s' of validation set %d is not a number",
            eval->value[eval->stop_value].name, eval->stop_set);
    if (value !=
        value) /* NaN, from a custom metric or a set without counted queries, cannot be the best */
        return RW_OK;
    const double better_by =
        eval->lower_is_better ? eval->best_value - value : value - eval->best_value;
    if (eval->best_round == 0 || better_by > eval->params->early_stop_delta) {
        eval->best_round = round;
        eval->best_value = value;
    }
    return RW_OK;
}

int rw_eval_sets_round(struct rw_eval_sets *eval, struct rw_engine *engine, int round)
{
    int v = 0;
    RW_TRY(measure_all(eval, engine, &v));
    if (eval->stop.trial)
        RW_TRY(eval->stop.trial->take_values(eval->stop.trial->user, eval->stop.per_query));
    const size_t n = (size_t)eval->n_values, before = (size_t)(round - 1) * n;
    RW_TRY(RW_GROW(eval->ctx, eval->model->metric_value, eval->value_room, before + n));
    for (int i = 0; i < v; i++)
        eval->model->metric_value[before + (size_t)i] = eval->value[i].value;
    eval->model->n_rounds_run = n ? round : 0;
    return eval->stop_value < 0 ? RW_OK : judge_round(eval, engine, round);
}

int rw_eval_sets_replay(struct rw_eval_sets *eval, struct rw_engine *engine, int round)
{
    return eval->stop.is_paired && eval->stop_value >= 0 ? judge_round(eval, engine, round) : RW_OK;
}

void rw_eval_sets_forget(struct rw_eval_sets *eval)
{
    eval->best_round = 0;
    eval->stop.n_rounds = 0;
}

void rw_eval_sets_restore(struct rw_eval_sets *eval, struct rw_model *so_far)
{
    struct rw_model *model = eval->model;
    rw_mem_free(model->metric_value);
    model->metric_value = RW_TAKE(so_far->metric_value);
    model->n_rounds_run = so_far->n_rounds_run;
    eval->value_room = (size_t)eval->n_values * (size_t)model->n_rounds_run;
    if (eval->stop.is_paired) /* rw_eval_sets_replay has found it */
        return;
    eval->best_round = so_far->best_round;
    eval->best_value = rw_eval_sets_best_value(eval);
}

double rw_eval_sets_value(const struct rw_eval_sets *eval, int round)
{
    return eval->model->metric_value[(round - 1) * eval->n_values + eval->stop_value];
}

double rw_eval_sets_best_value(const struct rw_eval_sets *eval)
{
    const int has = eval->best_round > 0 && eval->stop_value >= 0;
    return has ? rw_eval_sets_value(eval, eval->best_round) : 0.0;
}

int rw_eval_sets_verify(struct rw_eval_sets *eval, struct rw_engine *engine)
{
    int v = 0;
    const int round = eval->model->n_rounds_run;
    if (has_custom(eval) || round == 0)
        return RW_OK;
    RW_TRY(measure_all(eval, engine, &v));
    const double *was = &eval->model->metric_value[(size_t)(round - 1) * (size_t)v];
    for (int i = 0; i < v; i++) {
        const double is = eval->value[i].value;
        if (is != was[i] && (is == is || was[i] == was[i]))
            return rw_fail(eval->ctx, RW_ERR_DATA,
                           "the data has changed: %s after round %d was %.17g and is now %.17g",
                           eval->model->metric_name[i], round, was[i], is);
    }
    return RW_OK;
}

int rw_eval_sets_is_over(const struct rw_eval_sets *eval, int round)
{
    return eval->params->early_stop > 0 && eval->best_round > 0 &&
           round - eval->best_round >= eval->params->early_stop;
}
