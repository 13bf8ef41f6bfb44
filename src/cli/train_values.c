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
                        rw_figure(value[i].value, figure));
    }
}

void rw_train_far_print(const struct rw_round *round)
{
    const double gb = (double)round->far_hist_bytes / 1e9;
    rw_msg_line("  read of the host's memory: %.2f GB, by histograms %.2f GB in %.2f ms: %.1f GB/s",
                (double)round->far_bytes / 1e9, gb, round->far_hist_ms,
                round->far_hist_ms > 0.0 ? gb / (round->far_hist_ms / 1e3) : 0.0);
}

void rw_train_positions_print(const struct rw_positions *found)
{
    enum { MOST_LINES = 20 };
    const char *what = found->is_given ? "given" : "found";
    for (int i = 0; i < found->n && i < MOST_LINES; i++) {
        char documents[48], figure[2][RW_FIGURE_ROOM];
        snprintf(documents, sizeof(documents), "%llu documents",
                 (unsigned long long)found->n_docs[i]);
        rw_msg_line("position %u: propensity %s (%s %s) %s, %s", found->position[i],
                    rw_figure(found->propensity[i], figure[0]), found->bias ? "bias" : "t-",
                    rw_figure(found->bias ? found->bias[i] : found->unclicked[i], figure[1]), what,
                    documents);
    }
    if (found->n > MOST_LINES)
        rw_msg_line("and %d more positions, which a log has (--log)", found->n - MOST_LINES);
}

/* GPUs of one host, whether they are there or not. */
static json_t *plan_many(const struct rw_plan *plan, json_t *rows)
{
    json_t *many = json_array();
    for (int i = 0; i < 3 && plan->many[i].n_gpus; i++) {
        const struct rw_plan_many *of = &plan->many[i];
        char what[32], note[80];
        snprintf(what, sizeof(what), "  on %d GPUs", of->n_gpus);
        snprintf(note, sizeof(note), "by a model, %.3g of them for what they exchange",
                 of->exchange_ms);
        rw_result_add(rows, "what:s amount:n unit:s note:s", what, of->tree_ms, "ms", note);
        rw_result_add(many, "gpus:i tree_ms:n exchange_ms:n", of->n_gpus, of->tree_ms,
                      of->exchange_ms);
    }
    return many;
}

static json_t *plan_document(const struct rw_plan *plan, json_t *rows)
{
    json_t *parts = json_array();
    for (int i = 0; i < plan->n_parts; i++)
        rw_result_add(parts, "name:s bytes:l", plan->part[i].name, plan->part[i].bytes);
    return rw_result_row("device:s on_gpu:b threads:i parts:o bytes:l most_bytes:l free_bytes:l "
                         "host_free_bytes:l far_bytes:l link_rate:n tree_ms:n many:o",
                         plan->device, plan->on_gpu, plan->n_threads, parts, plan->bytes,
                         plan->most_bytes, plan->free_bytes, plan->host_free_bytes, plan->far_bytes,
                         plan->link_rate, plan->tree_ms, plan_many(plan, rows));
}

void rw_train_plan_print(const struct rw_cli *cli, const struct rw_plan *plan)
{
    const struct {
        const char *what;
        uint64_t bytes;
        const char *note;
    } sums[] = {
        {"in all", plan->bytes, plan->on_gpu ? "of device memory" : "of memory"},
        {"at most", plan->most_bytes, "while loading and choosing methods"},
        {"free", plan->free_bytes, NULL},
        {"other codes", plan->far_bytes, "of the host's memory, page-locked"},
        {"available", plan->host_free_bytes, "of the host's memory"},
    };
    struct rw_result result = {0};
    json_t *rows = json_array();
    rw_result_line(&result, "device   %s\nthreads  %d", plan->device, plan->n_threads);
    for (int i = 0; i < plan->n_parts; i++)
        rw_result_add(rows, "what:s amount:l unit:s", plan->part[i].name, plan->part[i].bytes,
                      "bytes");
    for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
        if (sums[i].bytes)
            rw_result_add(rows,
                          sums[i].note ? "what:s amount:l unit:s note:s" : "what:s amount:l unit:s",
                          sums[i].what, sums[i].bytes, "bytes", sums[i].note);
    }
    if (plan->far_bytes)
        rw_result_add(rows, "what:s amount:n unit:s note:s", "link", plan->link_rate / 1e9, "GB/s",
                      "between them");
    rw_result_add(rows, "what:s amount:n unit:s note:s", "a tree", plan->tree_ms, "ms", "expected");
    result.document = plan_document(plan, rows);
    rw_result_rows(&result, NULL, rows, "what=part;amount==%.3g;unit;note");
    rw_result_print(cli, &result, stdout);
}

int rw_train_plan_fits(const struct rw_plan *plan)
{
    const uint64_t needed = plan->on_gpu ? plan->far_bytes : plan->bytes;
    if (plan->host_free_bytes == 0 || needed <= plan->host_free_bytes)
        return 0;
    rw_msg_error("out of memory: training needs %.1f MB beside the data, and %.1f MB are available",
                 (double)needed / 1e6, (double)plan->host_free_bytes / 1e6);
    rw_msg_hint("'rankwood doctor' says what limits it");
    return RW_EXIT_MACHINE;
}
