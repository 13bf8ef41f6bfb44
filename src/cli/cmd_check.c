/* rankwood check: what is wrong with data. */
#include <stdlib.h>

#include "cli/load.h"
#include "cli/messages.h"

enum { SHOWN_DRIFT = 10 };

static struct rw_list against;
static int json;
static const struct rw_option options[] = {
    {"against", 0, "DATA", "a second set, what is tested on: files with commas between them",
     RW_OPTION_INPUTS, .value = &against},
    {"json", 0, NULL, "print as JSON, with all features", RW_OPTION_FLAG, .value = &json},
    {0},
};

static json_t *moved_json(const struct rw_feature_check *row)
{
    return row->moved ? json_pack("{s:o,s:f,s:f}", "category", rw_load_json_text(row->moved),
                                  "from", row->moved_from, "to", row->moved_to)
                      : json_null();
}

static json_t *features_json(const struct rw_check *check)
{
    static const char *const identifies[] = {NULL, "document", "query", "line"};
    json_t *features = json_array();
    for (uint32_t i = 0; i < check->n_features; i++) {
        const struct rw_feature_check *row = &check->features[i];
        json_array_append_new(
            features,
            json_pack("{s:I,s:f,s:f,s:o,s:o,s:I,s:b,s:o,s:o,s:b,s:b,s:o,s:o}", "feature",
                      (json_int_t)row->feature, "absent", row->absent, "missing", row->missing,
                      "least", rw_load_json_number((double)row->least), "most",
                      rw_load_json_number((double)row->most), "distinct",
                      (json_int_t)row->n_distinct, "constant", row->constant, "duplicate_of",
                      row->duplicate_of < 0 ? json_null() : json_integer(row->duplicate_of),
                      "identifies",
                      row->identifies ? json_string(identifies[row->identifies]) : json_null(),
                      "orders_labels", row->orders_labels, "categorical", row->by_words, "drift",
                      rw_load_json_number(row->drift), "moved", moved_json(row)));
    }
    return features;
}

static json_t *labels_json(const struct rw_check *check)
{
    json_t *labels = json_array();
    for (uint32_t i = 0; i < check->n_labels && i < RW_CHECK_LABELS; i++)
        json_array_append_new(labels, json_pack("{s:f,s:I}", "label", (double)check->label[i],
                                                "documents", (json_int_t)check->label_docs[i]));
    return labels;
}

static void print_json(const struct rw_check *check)
{
    json_t *findings = json_array();
    for (int i = 0; i < check->n_findings; i++)
        json_array_append_new(findings,
                              json_pack("{s:s,s:s,s:o}", "level",
                                        check->findings[i].is_warning ? "warning" : "note", "kind",
                                        check->findings[i].kind, "text",
                                        rw_load_json_text(check->findings[i].text)));
    const struct {
        const char *name;
        uint32_t count;
    } counts[] = {
        {"documents", check->n_docs},
        {"queries", check->n_queries},
        {"features", check->n_features},
        {"shortest_query", check->shortest},
        {"median_query", check->median},
        {"longest_query", check->longest},
        {"split", check->n_split},
        {"empty", check->n_empty},
        {"single", check->n_single},
        {"alike", check->n_alike},
        {"mixed", check->n_mixed},
        {"labels_falling", check->n_falling},
        {"labels_rising", check->n_rising},
        {"twins", check->n_twins},
        {"contradictions", check->n_contradictions},
        {"different_labels", check->n_labels},
        {"against_documents", check->n_other_docs},
        {"against_queries", check->n_other_queries},
        {"shared_queries", check->n_shared_queries},
        {"shared_documents", check->n_shared_docs},
    };
    json_t *all = json_object();
    json_object_set_new(all, "findings", findings);
    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++)
        json_object_set_new(all, counts[i].name, json_integer((json_int_t)counts[i].count));
    json_object_set_new(all, "longest_query_id", rw_load_json_text(rw_check_longest(check)));
    json_object_set_new(all, "falling_by_chance", rw_load_json_number(check->falling_by_chance));
    json_object_set_new(all, "constant_ndcg_file", rw_load_json_number(check->constant_file));
    json_object_set_new(all, "constant_ndcg_mean", rw_load_json_number(check->constant_mean));
    json_object_set_new(all, "label_drift", rw_load_json_number(check->label_drift));
    json_object_set_new(all, "labels", labels_json(check));
    json_object_set_new(all, "per_feature", features_json(check));
    rw_load_json_print(all, stdout);
}

static void print_labels(const struct rw_check *check)
{
    printf("labels     ");
    if (check->n_labels > RW_CHECK_LABELS) {
        printf("%u different ones, %g to %g\n", check->n_labels, (double)check->least_label,
               (double)check->most_label);
        return;
    }
    for (uint32_t i = 0; i < check->n_labels; i++)
        printf("%s%g: %u (%.1f %%)", i ? ", " : "", (double)check->label[i], check->label_docs[i],
               100.0 * check->label_docs[i] / check->n_docs);
    putchar('\n');
}

static int by_drift(const void *a, const void *b)
{
    const struct rw_feature_check *x = *(const struct rw_feature_check *const *)a;
    const struct rw_feature_check *y = *(const struct rw_feature_check *const *)b;
    if (x->drift != y->drift)
        return x->drift > y->drift ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

/* The features that moved most. */
static void print_drift(const struct rw_check *check)
{
    const struct rw_feature_check **row = rw_need(check->n_features, sizeof(*row));
    uint32_t n = 0;
    for (uint32_t i = 0; i < check->n_features; i++) {
        if (check->features[i].drift > 0)
            row[n++] = &check->features[i];
    }
    if (n > 1)
        qsort(row, n, sizeof(*row), by_drift);
    if (n > 0)
        printf("drift      labels %.3f; features that moved most:", check->label_drift);
    for (uint32_t i = 0; i < n && i < SHOWN_DRIFT; i++) {
        printf("%s %u (%.3f", i ? "," : "", row[i]->feature, row[i]->drift);
        if (row[i]->moved)
            printf(": '%.40s' %.3f to %.3f", row[i]->moved, row[i]->moved_from, row[i]->moved_to);
        putchar(')');
    }
    if (n > 0)
        putchar('\n');
    free(row);
}

static void print_text(const struct rw_check *check)
{
    double absent = 0, missing = 0;
    uint32_t any_missing = 0;
    for (uint32_t i = 0; i < check->n_features; i++) {
        absent += check->features[i].absent;
        missing += check->features[i].missing;
        any_missing += check->features[i].missing > 0;
    }
    const double n = check->n_features ? check->n_features : 1;
    printf(
        "documents  %u in %u queries: %u to %u a query, half have up to %u; the longest is '%s'\n",
        check->n_docs, check->n_queries, check->shortest, check->longest, check->median,
        rw_check_longest(check));
    print_labels(check);
    printf("features   %u; values absent %.1f %%, missing %.1f %% (%u features)\n",
           check->n_features, 100 * absent / n, 100 * missing / n, any_missing);
    if (check->n_other_docs > 0) {
        printf("against    %u documents in %u queries\n", check->n_other_docs,
               check->n_other_queries);
        print_drift(check);
    }
    putchar('\n');
    for (int i = 0; i < check->n_findings; i++)
        printf("%-8s %s\n",
               check->findings[i].is_warning ? "warning:" : "note:", check->findings[i].text);
    if (check->n_findings == 0)
        puts("nothing was found");
}

static int run(struct rw_cli *cli)
{
    struct rw_check *found;
    RW_STEP(rw_load_columns(cli, NULL, NULL, RW_LOAD_ALL));
    RW_STEP(rw_check_new(cli->ctx, cli->operands.text, cli->operands.n, against.text, against.n,
                         &found));
    RW_STEP(rw_load_check_columns(cli));
    if (json)
        print_json(found);
    else
        print_text(found);
    rw_check_free(found);
    return 0;
}

const struct rw_command rw_cmd_check = {
    .name = "check",
    .brief = "what is wrong with the data",
    .operands = "DATA...",
    .about = "Looks data through before it is trained on: queries that are split or sorted by "
             "label, features that are constant, the same or identifiers, and with --against what "
             "two sets share and where they differ.",
    .least = 1,
    .most = -1,
    .options = options,
    .roles = RW_ROLE_TABLE,
    .params = " categorical threads ",
    .run = run,
};
