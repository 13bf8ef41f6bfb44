#include "boost/watch.h"

#include <math.h>
#include <stdio.h>

#include "base/mem.h"

static int watches(const struct rw_watch *watch, int set)
{
    return set > 0 || watch->params->metric_on_train;
}

static int has_custom(const struct rw_watch *watch)
{
    return watch->hooks && watch->hooks->metric;
}

/* Rows of values: set by set, validation sets first in their order, the training set last; in each
 * set the custom metric, then the table's. So value 0 is the one that stops, if any. */
static int name_values(struct rw_watch *watch)
{
    const int per_set = watch->n_metrics + has_custom(watch);
    int n_watched = 0;
    for (int set = 0; set < watch->n_sets; set++)
        n_watched += watches(watch, set);
    const size_t n = (size_t)(n_watched * per_set);
    RW_TRY(RW_NEW(watch->ctx, watch->value, n));
    RW_TRY(RW_NEW(watch->ctx, watch->name, n));
    for (int k = 1; k <= watch->n_sets; k++) {
        const int set = k % watch->n_sets; /* 1, 2, ..., 0 */
        for (int m = 0; watches(watch, set) && m < per_set; m++) {
            const int table = m - has_custom(watch);
            const char *metric = table >= 0                  ? watch->metric[table].name
                                 : watch->hooks->metric_name ? watch->hooks->metric_name
                                                             : "custom";
            char text[128];
            if (set == 0)
                snprintf(text, sizeof(text), "train %.100s", metric);
            else
                snprintf(text, sizeof(text), "valid%d %.100s", set, metric);
            RW_TRY(rw_mem_copy_text(watch->ctx, &watch->name[watch->n_values], text));
            watch->value[watch->n_values].set = set;
            watch->value[watch->n_values].name = strchr(watch->name[watch->n_values], ' ') + 1;
            watch->n_values++;
        }
    }
    return RW_OK;
}

int rw_watch_init(struct rw_watch *watch, struct rw_ctx *ctx, const struct rw_params *params,
                  const struct rw_train_hooks *hooks, const struct rw_dataset *const *sets,
                  int n_sets)
{
    memset(watch, 0, sizeof(*watch));
    watch->ctx = ctx;
    watch->params = params;
    watch->hooks = hooks;
    watch->n_sets = n_sets;
    watch->stop_value = -1;
    RW_TRY(
        rw_metrics_parse(ctx, params->metric, params->relevant, watch->metric, &watch->n_metrics));
    for (int m = 0; m < watch->n_metrics; m++)
        watch->any_uses_gain |= watch->metric[m].kind->uses_gain;
    if (watch->any_uses_gain || rw_params_objective(params)->ranks)
        RW_TRY(rw_gain_rule_init(ctx, &watch->gains, params->label_gain));
    uint32_t most = 1;
    for (int set = 0; set < n_sets; set++) {
        watch->set[set] = sets[set];
        if (!watches(watch, set))
            continue;
        RW_TRY(rw_judged_init(ctx, &watch->judged[set], sets[set], &watch->gains,
                              watch->any_uses_gain));
        most = sets[set]->n_docs > most ? sets[set]->n_docs : most;
    }
    RW_TRY(RW_NEW_RAW(ctx, watch->scores, most));
    RW_TRY(name_values(watch));
    if (n_sets > 1 && watch->n_values > 0) {
        watch->stop_value = 0;
        watch->lower_is_better = has_custom(watch) ? hooks->metric_lower_is_better
                                                   : watch->metric[0].kind->lower_is_better;
    }
    return RW_OK;
}

void rw_watch_release(struct rw_watch *watch)
{
    rw_gain_rule_release(&watch->gains);
    for (int set = 0; set < watch->n_sets; set++)
        rw_judged_release(&watch->judged[set]);
    for (int v = 0; watch->name && v < watch->n_values; v++)
        rw_mem_free(watch->name[v]);
    rw_mem_free(watch->name);
    rw_mem_free(watch->value);
    rw_mem_free(watch->scores);
    rw_mem_free(watch->history);
}

/* Scores come to the host only for what the engine does not measure. */
static int measure_set(struct rw_watch *watch, struct rw_engine *engine, int set, int *v)
{
    const struct rw_params *params = watch->params;
    struct rw_metric_result result[RW_MAX_METRICS];
    const int by_engine = rw_engine_metrics(engine, set, result);
    int by_host = has_custom(watch), n_measured = 0;
    RW_TRY(by_engine);
    for (int m = 0; m < watch->n_metrics; m++)
        by_host |= !by_engine || watch->metric[m].kind->device == RW_METRIC_HOST;
    if (by_host)
        RW_TRY(rw_engine_read_scores(engine, set, watch->scores));
    if (has_custom(watch)) {
        double value;
        if (watch->hooks->metric(watch->hooks->user, watch->set[set], watch->scores, &value))
            return rw_fail(watch->ctx, RW_ERR_INTERRUPTED, "the custom metric gave up");
        watch->value[(*v)++].value = value;
    }
    for (int m = 0; m < watch->n_metrics; m++) {
        struct rw_metric_result own;
        const int is_measured = by_engine && watch->metric[m].kind->device != RW_METRIC_HOST;
        if (!is_measured)
            RW_TRY(rw_metric_eval(watch->ctx, &watch->metric[m], &watch->judged[set], watch->scores,
                                  (enum rw_empty)params->empty, (enum rw_ties)params->ties, 0, NULL,
                                  &own));
        watch->value[(*v)++].value = is_measured ? result[n_measured++].mean : own.mean;
    }
    return RW_OK;
}

int rw_watch_plan(struct rw_watch *watch, int set, struct rw_metric_plan *plan)
{
    *plan = (struct rw_metric_plan){.judged = &watch->judged[set],
                                    .metric = watch->on_device,
                                    .empty = (enum rw_empty)watch->params->empty,
                                    .ties = (enum rw_ties)watch->params->ties};
    for (int m = 0; m < watch->n_metrics; m++) {
        if (watch->metric[m].kind->device != RW_METRIC_HOST)
            watch->on_device[plan->n_metrics++] = watch->metric[m];
    }
    return watches(watch, set) && plan->n_metrics > 0;
}

static int tell_engine(struct rw_watch *watch, struct rw_engine *engine)
{
    struct rw_metric_plan plan;
    for (int set = 0; set < watch->n_sets; set++) {
        if (rw_watch_plan(watch, set, &plan))
            RW_TRY(rw_engine_watch(engine, set, &plan));
    }
    watch->told = 1;
    return RW_OK;
}

static int fail_uncounted(const struct rw_watch *watch)
{
    const char *name = watch->value[watch->stop_value].name;
    if (watch->params->early_stop == 0)
        return RW_OK;
    if (has_custom(watch))
        return rw_fail(watch->ctx, RW_ERR_DATA,
                       "the metric '%s' of the first validation set is no number, so training "
                       "cannot stop early",
                       name);
    return rw_fail(watch->ctx, RW_ERR_DATA,
                   "no query of the first validation set counts for %s, so training cannot stop "
                   "early\nhint: its queries need a relevant document (labels, or 'label-gain' and "
                   "'relevant'); 'empty' counts those without; 'early-stop 0' does not look",
                   name);
}

int rw_watch_round(struct rw_watch *watch, struct rw_engine *engine, int round)
{
    int v = 0;
    if (!watch->told)
        RW_TRY(tell_engine(watch, engine));
    for (int k = 1; k <= watch->n_sets; k++) {
        if (watches(watch, k % watch->n_sets))
            RW_TRY(measure_set(watch, engine, k % watch->n_sets, &v));
    }
    RW_TRY(RW_GROW(watch->ctx, watch->history, watch->history_room,
                   (size_t)round * (size_t)watch->n_values));
    for (int i = 0; i < v; i++)
        watch->history[(size_t)(round - 1) * (size_t)watch->n_values + (size_t)i] =
            watch->value[i].value;
    watch->n_rounds = round;
    if (watch->stop_value < 0)
        return RW_OK;
    const double value = watch->value[watch->stop_value].value;
    if (value != value) /* no query counts: nothing to stop by */
        return round == 1 ? fail_uncounted(watch) : RW_OK;
    if (watch->best_round == 0 ||
        (watch->lower_is_better ? value < watch->best_value : value > watch->best_value)) {
        watch->best_round = round;
        watch->best_value = value;
    }
    return RW_OK;
}

int rw_watch_is_over(const struct rw_watch *watch, int round)
{
    return watch->params->early_stop > 0 && watch->best_round > 0 &&
           round - watch->best_round >= watch->params->early_stop;
}

int rw_watch_report(struct rw_watch *watch, struct rw_model *model)
{
    const size_t n = (size_t)watch->n_values * (size_t)watch->n_rounds;
    RW_TRY(RW_NEW(watch->ctx, model->metric_name, (size_t)watch->n_values));
    for (int v = 0; v < watch->n_values; v++) {
        RW_TRY(rw_mem_copy_text(watch->ctx, &model->metric_name[v], watch->name[v]));
        model->n_metrics = v + 1;
    }
    RW_TRY(RW_NEW(watch->ctx, model->metric_value, n));
    if (n)
        memcpy(model->metric_value, watch->history, n * sizeof(double));
    model->n_rounds_run = watch->n_values ? watch->n_rounds : 0;
    return RW_OK;
}

int rw_watch_gain_text(const struct rw_watch *watch, char **out)
{
    const struct rw_gain_rule *rule = &watch->gains;
    if (rule->kind != RW_GAIN_TABLE)
        return rw_mem_copy_text(watch->ctx, out, watch->params->label_gain);
    char *text;
    RW_TRY(RW_NEW(watch->ctx, text, (size_t)rule->n_table * 32 + 8));
    size_t used = (size_t)snprintf(text, 8, "table");
    for (uint32_t l = 0; l < rule->n_table; l++)
        used += (size_t)snprintf(text + used, 32, " %.17g", rule->table[l]);
    *out = text;
    return RW_OK;
}
