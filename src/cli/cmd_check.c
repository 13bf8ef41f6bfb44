/* `rankwood check` finds properties of data that make training or evaluation worse. Drift, with
 * --against, measures how differently a feature or the labels are distributed in the two sets. */
#include "cli/cli.h"

enum { SHOWN_DRIFT = 10 };

static struct rw_list against;
static const struct rw_option options[] = {
    {"against", "DATA", "second data set, such as the test set: a file, or several as a.txt,b.txt",
     RW_OPTION_INPUTS, .value = &against},
    {0},
};

static json_t *features_json(const struct rw_check *check)
{
    static const char *const identifies[] = {NULL, "document", "query", "line"};
    json_t *features = json_array();
    for (uint32_t i = 0; i < check->n_features; i++) {
        const struct rw_feature_check *row = &check->features[i];
        rw_result_add(features,
                      "feature:u absent:n missing:n least:n most:n distinct:u constant:b "
                      "duplicate_of:o identifies:s orders_labels:b categorical:b drift:n moved:o",
                      row->feature, row->absent, row->missing, (double)row->least,
                      (double)row->most, row->n_distinct, row->constant,
                      row->duplicate_of < 0 ? json_null() : json_integer(row->duplicate_of),
                      identifies[row->identifies], row->orders_labels, row->has_vocabulary,
                      row->drift,
                      row->moved ? rw_result_row("category:s from:n to:n", row->moved,
                                                 row->moved_from, row->moved_to)
                                 : json_null());
    }
    return features;
}

static json_t *document_of(const struct rw_check *check, json_t *findings, json_t *labels)
{
    json_t *all = rw_result_row("findings:O documents:u queries:u features:u shortest_query:u "
                                "median_query:u longest_query:u split:u empty:u single:u",
                                findings, check->n_docs, check->n_queries, check->n_features,
                                check->shortest, check->median, check->longest, check->n_split,
                                check->n_empty, check->n_single);
    rw_result_set(all,
                  "alike:u mixed:u labels_falling:u labels_rising:u twins:u "
                  "contradictions:u different_labels:u against_documents:u "
                  "against_queries:u shared_queries:u shared_documents:u",
                  check->n_alike, check->n_mixed, check->n_falling, check->n_rising, check->n_twins,
                  check->n_contradictions, check->n_labels, check->n_other_docs,
                  check->n_other_queries, check->n_shared_queries, check->n_shared_docs);
    rw_result_set(all,
                  "longest_query_id:s falling_by_chance:n constant_ndcg_file:n "
                  "constant_ndcg_mean:n label_drift:n labels:o per_feature:o",
                  rw_check_longest(check), check->falling_by_chance, check->constant_file,
                  check->constant_mean, check->label_drift, labels, features_json(check));
    return all;
}

/* Adds the line of labels and returns them as JSON. */
static json_t *add_labels(const struct rw_check *check)
{
    const char *line = "labels    ";
    json_t *labels = json_array();
    for (uint32_t i = 0; i < check->n_labels && i < RW_CHECK_LABELS; i++) {
        const double label = (double)check->label[i];
        rw_result_add(labels, "label:n documents:u", label, check->label_docs[i]);
        line = rw_text("%s%s %g: %u (%.1f %%)", line, i ? "," : "", label, check->label_docs[i],
                       100.0 * check->label_docs[i] / check->n_docs);
    }
    if (check->n_labels > RW_CHECK_LABELS)
        line = rw_text("labels     %u different values, %g to %g", check->n_labels,
                       (double)check->least_label, (double)check->most_label);
    rw_result_line("%s", line);
    return labels;
}

/* Adds a table of the features with the largest drift. */
static void add_drift(const struct rw_check *check)
{
    json_t *rows = json_array();
    for (uint32_t i = 0; i < check->n_features; i++) {
        const struct rw_feature_check *row = &check->features[i];
        if (!(row->drift > 0))
            continue;
        json_t *one = rw_result_add(rows, "feature:u drift:n", row->feature, row->drift);
        if (row->moved)
            rw_result_set(one, "category:s from:n to:n", row->moved, row->moved_from,
                          row->moved_to);
    }
    rw_result_sort(rows, "drift", "feature");
    while (json_array_size(rows) > SHOWN_DRIFT)
        json_array_remove(rows, SHOWN_DRIFT);
    if (json_array_size(rows) > 0)
        rw_result_line("drift      labels %.3f", check->label_drift);
    rw_result_rows("features with the largest drift", rows,
                   "feature;drift==%.3f;category;from==%.3f;to==%.3f");
}

static void print(const struct rw_cli *cli, const struct rw_check *check)
{
    json_t *findings = json_array();
    double absent = 0, missing = 0;
    uint32_t any_missing = 0;
    for (int i = 0; i < check->n_findings; i++)
        rw_result_add(findings, "level:s kind:s text:s",
                      check->findings[i].is_warning ? "warning" : "note", check->findings[i].kind,
                      check->findings[i].text);
    for (uint32_t i = 0; i < check->n_features; i++) {
        absent += check->features[i].absent;
        missing += check->features[i].missing;
        any_missing += check->features[i].missing > 0;
    }
    const double n = check->n_features ? check->n_features : 1;
    rw_result_line("documents  %u in %u queries: %u to %u per query, median %u; the longest "
                   "is '%s'",
                   check->n_docs, check->n_queries, check->shortest, check->longest, check->median,
                   rw_check_longest(check));
    json_t *labels = add_labels(check);
    rw_result_line("features   %u; values absent %.1f %%, missing %.1f %% (%u features)",
                   check->n_features, 100 * absent / n, 100 * missing / n, any_missing);
    if (check->n_other_docs > 0)
        rw_result_line("against    %u documents in %u queries", check->n_other_docs,
                       check->n_other_queries);
    if (check->n_findings == 0)
        rw_result_line("no problems found");
    rw_result_rows(NULL, findings, "level;kind;text=finding");
    if (check->n_other_docs > 0)
        add_drift(check);
    rw_result_print(cli, document_of(check, findings, labels));
}

static int run(struct rw_cli *cli)
{
    static struct rw_check *found;
    RW_STEP(rw_load_columns(cli, NULL, NULL, RW_LOAD_ALL));
    RW_STEP(rw_check_new(cli->ctx, cli->operands.text, cli->operands.n, against.text, against.n,
                         &found));
    RW_STEP(rw_load_check_columns(cli));
    print(cli, found);
    return 0;
}

const struct rw_command rw_cmd_check = {
    .name = "check",
    .brief = "find problems in data before training",
    .operands = "DATA...",
    .about = "Finds problems in data before training: queries whose documents are not adjacent or "
             "are sorted by label, and features that are constant, duplicates or identifiers. With "
             "--against, reports the queries and documents that two sets share, and the features "
             "and labels that are distributed differently.",
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_TABLE,
    .params = " categorical threads ",
    .run = run,
};
