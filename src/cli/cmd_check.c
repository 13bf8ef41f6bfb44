/* `rankwood check` finds properties of data that make training or evaluation worse. Drift, with
 * --against, measures how differently features, labels, query lengths and scores are distributed
 * in the data and in a reference. */
#include "cli/cli.h"

enum { SHOWN_FEATURES = 10, SHOWN_FAILURES = 5 };

static struct rw_list against, limits;
static const char *model_file;
/* The rows of drift, which rw_drift.of names with the same first letter, and their limits of PSI
 * and KS by --fail-above. */
enum { LABELS, QUERY_LENGTHS, SCORES, FEATURES, N_ROWS };
static const char *const row_name[] = {"labels", "query-lengths", "scores", "features"};
static double most[N_ROWS][2];
static const struct rw_option options[] = {
    {"against", "DATA",
     "reference to compare DATA with, such as the training set: a file, or several as a.txt,b.txt",
     RW_OPTION_INPUTS, .value = &against},
    {"model", "MODEL", "with --against: also compare the scores of this model", RW_OPTION_INPUT,
     .value = &model_file, .idle_without = " against "},
    {"fail-above", "[ROWS:]psi=X|ks=X",
     "with --against: fail (exit 4) if a population stability index (psi) or Kolmogorov-Smirnov "
     "distance (ks) is above X; may be repeated. ROWS limits it to features, labels, query-lengths "
     "or scores: features:psi=0.25",
     RW_OPTION_LIST, .value = &limits, .idle_without = " against "},
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
                      "duplicate_of:o identifies:s orders_labels:b categorical:b",
                      row->feature, row->absent, row->missing, (double)row->least,
                      (double)row->most, row->n_distinct, row->constant,
                      row->duplicate_of < 0 ? json_null() : json_integer(row->duplicate_of),
                      identifies[row->identifies], row->orders_labels, row->has_vocabulary);
    }
    return features;
}

/* Adds a table of drift, and returns its rows. */
static json_t *add_drift(const struct rw_check *check)
{
    static const char *const sets[] = {NULL, "data", "reference"};
    json_t *rows = json_array();
    int n_shown = SHOWN_FEATURES;
    for (uint32_t i = 0; i < check->n_drift; i++) {
        const struct rw_drift *row = &check->drift[i];
        n_shown += !row->name;
        rw_result_add(rows,
                      "of:s feature:o name:s only_in:s psi:n ks:n psi_limit:n ks_limit:n large:b "
                      "missing_from:n missing_to:n category:s category_from:n category_to:n",
                      row->of, row->name ? json_integer(row->feature) : json_null(), row->name,
                      sets[row->only_in], row->psi, row->ks, row->psi_limit, row->ks_limit,
                      row->is_large, row->missing_reference, row->missing, row->moved,
                      row->moved_from, row->moved_to);
    }
    rw_result_rows("drift from the reference: population stability index (PSI, large above 0.25) "
                   "and Kolmogorov-Smirnov distance (KS, large above 0.2)",
                   json_incref(rows), "of;name=feature;psi=PSI=%.3f;ks=KS=%.3f;large");
    rw_result_most(n_shown, "--json");
    return rows;
}

static json_t *document_of(const struct rw_check *check, json_t *findings, json_t *labels,
                           json_t *drift)
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
                  "constant_ndcg_mean:n labels:o per_feature:o drift:o",
                  rw_check_longest(check), check->falling_by_chance, check->constant_file,
                  check->constant_mean, labels, features_json(check), drift);
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
        rw_result_line("reference  %u documents in %u queries", check->n_other_docs,
                       check->n_other_queries);
    if (check->n_findings == 0)
        rw_result_line("no problems found");
    rw_result_rows(NULL, findings, "level;kind;text=finding");
    rw_result_print(cli, document_of(check, findings, labels, add_drift(check)));
}

/* Sets the limits of --fail-above; of two limits, the lower one counts. */
static int check(struct rw_cli *cli)
{
    for (int k = 0; k < N_ROWS; k++)
        most[k][0] = most[k][1] = INFINITY;
    for (int i = 0; i < limits.n; i++) {
        const char *text = limits.text[i], *colon = strchr(text, ':');
        const char *limit = colon ? colon + 1 : text;
        const int is_psi = strncmp(limit, "psi=", 4) == 0, is_ks = strncmp(limit, "ks=", 3) == 0;
        const char *number = limit + strcspn(limit, "=") + (is_psi || is_ks);
        char *end;
        const double x = strtod(number, &end);
        int n = 0;
        for (int k = 0; k < N_ROWS; k++) {
            if (colon && strcmp(row_name[k], rw_text("%.*s", (int)(colon - text), text)) != 0)
                continue;
            if (colon && k == SCORES && !model_file)
                return rw_wrong(cli, "option '--fail-above': 'scores' needs '--model'");
            most[k][is_ks] = fmin(most[k][is_ks], x);
            n++;
        }
        if (n == 0 || !(is_psi || is_ks) || end == number || *end || !(x >= 0) || isinf(x))
            return rw_wrong(cli,
                            "option '--fail-above': expected [ROWS:]psi=X or [ROWS:]ks=X, with X 0 "
                            "or more and ROWS features, labels, query-lengths or scores, "
                            "found '%.100s'",
                            text);
    }
    return 0;
}

/* Implements --fail-above. Returns RW_EXIT_GATE, after an error for each of the first rows that
 * fail, if a statistic is above its limit or unknown. */
static int gate(const struct rw_check *found)
{
    static const char *const only[] = {"", ", which only the data has", ", which the data lacks"};
    int n = 0;
    for (uint32_t i = 0; i < found->n_drift && n < SHOWN_FAILURES; i++) {
        const struct rw_drift *row = &found->drift[i];
        int k = 0;
        while (row_name[k][0] != row->of[0])
            k++;
        const double most_psi = most[k][0], most_ks = most[k][1];
        const int is_unknown = isnan(row->psi) && fmin(most_psi, most_ks) < INFINITY;
        const char *what =
            row->name ? rw_text("feature '%s'%s", row->name, only[row->only_in]) : row->of;
        const char *chance = row->is_large ? "" : "; may be chance, with so few queries";
        if (is_unknown)
            rw_msg_error("%s: words in one set and numbers in the other cannot be compared", what);
        if (row->psi > most_psi)
            rw_msg_error("%s: PSI %.6f is above %s%s", what, row->psi, rw_exact(most_psi), chance);
        if (row->ks > most_ks)
            rw_msg_error("%s: KS %.6f is above %s%s", what, row->ks, rw_exact(most_ks), chance);
        n += is_unknown || row->psi > most_psi || row->ks > most_ks;
    }
    return n > 0 ? RW_EXIT_GATE : 0;
}

static int run(struct rw_cli *cli)
{
    static struct rw_check *found;
    static struct rw_model *model;
    if (model_file)
        RW_STEP(rw_load_model(cli, model_file, &model));
    RW_STEP(rw_load_columns(cli, NULL, model, RW_LOAD_ALL));
    RW_STEP(rw_check_new(cli->ctx, cli->operands.text, cli->operands.n, against.text, against.n,
                         model, &found));
    RW_STEP(rw_load_check_columns(cli));
    print(cli, found);
    return limits.n > 0 ? gate(found) : 0;
}

const struct rw_command rw_cmd_check = {
    .name = "check",
    .brief = "find problems in data before training",
    .operands = "DATA...",
    .about = "Finds problems in data before training: queries whose documents are not adjacent or "
             "are sorted by label, and features that are constant, duplicates or identifiers. With "
             "--against, reports the queries and documents that are also in the reference, and how "
             "differently features, labels, query lengths and a model's scores are distributed.",
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_TABLE,
    .params = " categorical threads ",
    .check = check,
    .run = run,
};
