#include "cli/train_values.h"

#include "cli/load.h"
#include "cli/messages.h"

/* values: [n_metrics]; NULL: those of the metrics. */
static void take(struct rw_train_value *to, const struct rw_metric_value *metrics,
                 const double *values, int n_metrics)
{
    for (int i = 0; i < n_metrics; i++) {
        to[i].set = metrics[i].set;
        to[i].value = values ? values[i] : metrics[i].value;
        snprintf(to[i].name, sizeof(to[i].name), "%s", metrics[i].name);
    }
}

static void make(struct rw_train_values *values, int n)
{
    if (values->last)
        return;
    values->n = n;
    values->last = rw_need((size_t)n, sizeof(*values->last));
    values->best = rw_need((size_t)n, sizeof(*values->best));
}

void rw_train_values_round(struct rw_train_values *values, const struct rw_round *round)
{
    make(values, round->n_metrics);
    take(values->last, round->metrics, NULL, round->n_metrics);
    if (round->best_round == round->round)
        take(values->best, round->metrics, NULL, round->n_metrics);
}

void rw_train_values_resume(struct rw_train_values *values, const struct rw_resumed *resumed)
{
    const int n = resumed->n_metrics;
    make(values, n);
    if (resumed->round > 0)
        take(values->last, resumed->metrics,
             resumed->values + (size_t)n * (size_t)(resumed->round - 1), n);
    if (resumed->best_round > 0)
        take(values->best, resumed->metrics,
             resumed->values + (size_t)n * (size_t)(resumed->best_round - 1), n);
}

void rw_train_values_print(const struct rw_train_values *values, const struct rw_model *model,
                           const char *(*set_name)(int set, char buffer[32]))
{
    const struct rw_train_value *value =
        rw_model_best_round(model) > 0 ? values->best : values->last;
    char figure[RW_FIGURE_ROOM], set[32];
    for (int i = 0; i < values->n; i++) {
        if (value[i].set > 0)
            rw_msg_line("%s %s %s", set_name(value[i].set, set), value[i].name,
                        rw_load_figure(value[i].value, figure));
    }
}
