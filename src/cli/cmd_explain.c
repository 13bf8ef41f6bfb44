/* rankwood explain: why scores are what they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/explain_print.h"
#include "cli/load.h"
#include "cli/messages.h"
#include "cli/progress.h"

enum { TOP = 20, PIECE_DOCS = 4096 };

static const char *query_id, *output, *trees;
static unsigned long long repeats = 5, top;
static struct rw_list docs;
static int documents, json;
static const struct rw_option options[] = {
    {"query", 0, "ID", "explain documents of this query, given by --doc", RW_OPTION_TEXT,
     .value = &query_id},
    {"doc", 0, "DOC",
     "a document's id, or its position in the query; given twice, A and B: why A is above B",
     RW_OPTION_LIST, .value = &docs},
    {"documents", 0, NULL, "print SHAP values, a line a document", RW_OPTION_FLAG,
     .value = &documents},
    {"top", 0, "N", "the first N features and trees [default: 20; --documents: all features]",
     RW_OPTION_NUMBER, .value = &top, .least = 1, .most = RW_FEATURE_IDS},
    {"repeats", 0, "N", "permutations of each feature; 0: none [default: 5]", RW_OPTION_NUMBER,
     .value = &repeats, .least = 0, .most = 1000},
    {"trees", 0, "N", "explain the first N trees [default: all]", RW_OPTION_TEXT, .value = &trees},
    {"json", 0, NULL, "print as JSON, every digit and all features", RW_OPTION_FLAG,
     .value = &json},
    {"output", 'o', "FILE", "where to [default: standard output]", RW_OPTION_OUTPUT,
     .value = &output},
    {0},
};

static struct {
    int n_trees, n_top; /* n_top 0: all */
    int has_covers;     /* the model's own */
    struct rw_explainer *explainer;
    struct rw_explained_feature *feature; /* [n] by id */
    int n;
    double *scores; /* [documents] */
    double *values; /* [PIECE_DOCS][n] */
} job;

/* ------------------------------------------------------------------ before */

/* What the model has of each feature in use: names, and gains and splits of the first trees. */
static void list_features(const struct rw_model *model)
{
    const uint32_t *id = rw_explainer_features(job.explainer);
    const int n = (int)rw_explainer_n_features(job.explainer);
    const int n_named = rw_model_features(model, NULL, 0);
    if (n_named < 0)
        rw_no_memory();
    struct rw_feature_use *uses = rw_need((size_t)n_named, sizeof(*uses));
    int *at = rw_need(RW_FEATURE_IDS, sizeof(*at));
    if (rw_model_features(model, uses, n_named) < 0)
        rw_no_memory();
    job.feature = rw_need((size_t)n, sizeof(*job.feature));
    job.n = n;
    for (int i = 0; i < n; i++) {
        at[id[i]] = i;
        job.feature[i] = (struct rw_explained_feature){.feature = id[i], .name = ""};
    }
    for (int t = 0; t < job.n_trees; t++) {
        for (int node = 0; node < rw_model_n_leaves(model, t) - 1; node++) {
            const struct rw_node split = rw_model_node(model, t, node);
            job.feature[at[split.feature]].gain += split.gain;
            job.feature[at[split.feature]].n_splits++;
        }
    }
    for (int i = 0; i < n_named; i++) {
        const int index = at[uses[i].feature];
        if (n > 0 && id[index] == uses[i].feature)
            job.feature[index].name = uses[i].name;
    }
    free(uses);
    free(at);
}

static int prepare(struct rw_cli *cli)
{
    const struct rw_list files = {cli->operands.text + 1, cli->operands.n - 1};
    RW_STEP(rw_load_model(cli, cli->operands.text[0], &cli->model));
    if (rw_model_n_trees(cli->model) == 0) {
        rw_msg_error("there is nothing to explain: the model has no trees");
        return RW_EXIT_FAILURE;
    }
    RW_STEP(rw_load_n_trees(cli, trees, &job.n_trees));
    RW_STEP(rw_load_weighted(cli, &files));
    job.has_covers = rw_model_has_covers(cli->model, job.n_trees);
    RW_STEP(rw_explainer_new(cli->ctx, cli->model, job.n_trees,
                             job.has_covers ? NULL : cli->dataset, &job.explainer));
    rw_load_warn_lacking(cli);
    list_features(cli->model);
    job.scores = rw_need(rw_dataset_n_docs(cli->dataset), sizeof(*job.scores));
    job.values = rw_need((size_t)PIECE_DOCS * (size_t)job.n, sizeof(*job.values));
    return rw_predict(cli->ctx, cli->model, cli->dataset, job.n_trees, job.scores);
}

/* ------------------------------------------------------------------ all documents */

/* SHAP values of *n documents from `begin` on, at most a piece, in job.values. *most grows to the
 * largest |base + values - score|. */
static int explain_piece(struct rw_cli *cli, uint32_t begin, uint32_t *n, double *most)
{
    const uint32_t left = rw_dataset_n_docs(cli->dataset) - begin;
    *n = left < PIECE_DOCS ? left : PIECE_DOCS;
    if (begin == 0 && !rw_msg_is_quiet())
        rw_progress_start();
    RW_STEP(rw_explainer_run(cli->ctx, job.explainer, cli->dataset, begin, *n, job.values));
    rw_progress_show((int)(begin + *n), (int)rw_dataset_n_docs(cli->dataset), 1);
    if (*n == left)
        rw_progress_end();
    for (uint32_t d = 0; d < *n; d++) {
        double sum = rw_explainer_base(job.explainer);
        for (int i = 0; i < job.n; i++)
            sum += job.values[(size_t)d * (size_t)job.n + (size_t)i];
        const double off = fabs(sum - job.scores[begin + d]);
        *most = off > *most ? off : *most;
    }
    return 0;
}

static int by_falling_mean(const void *a, const void *b)
{
    const struct rw_explained_feature *x = a, *y = b;
    if (x->mean != y->mean)
        return x->mean > y->mean ? -1 : 1;
    return x->feature < y->feature ? -1 : 1;
}

static int permute(struct rw_cli *cli, struct rw_explain_summary *summary)
{
    static struct rw_permuted *permuted;
    permuted = rw_need((size_t)job.n, sizeof(*permuted));
    if (!rw_msg_is_quiet())
        RW_STEP(rw_progress_follow(cli->ctx));
    const int n =
        rw_permutation_importance(cli->ctx, rw_params_eval(cli->params), cli->model, job.n_trees,
                                  cli->dataset, (int)repeats, &summary->value, permuted, job.n);
    rw_progress_end();
    if (n < 0)
        return n;
    for (int i = 0; i < job.n; i++)
        job.feature[i].permuted = permuted[i];
    return 0;
}

/* A sum that is too far off is a bug, and reported as one. */
static int check_sums(double most)
{
    if (most <= rw_explainer_bound(job.explainer))
        return 0;
    rw_msg_error("SHAP values add up to a score that is %g off, over the bound %g; please report",
                 most, rw_explainer_bound(job.explainer));
    return RW_EXIT_FAILURE;
}

static int summarise(struct rw_cli *cli)
{
    const uint32_t n_docs = rw_dataset_n_docs(cli->dataset);
    char conventions[512] = "";
    struct rw_explain_summary summary = {.dataset = cli->dataset,
                                         .has_covers = job.has_covers,
                                         .base = rw_explainer_base(job.explainer),
                                         .bound = rw_explainer_bound(job.explainer),
                                         .conventions = conventions,
                                         .n_repeats = (int)repeats,
                                         .feature = job.feature,
                                         .n = job.n};
    for (uint32_t begin = 0, n; begin < n_docs; begin += n) {
        RW_STEP(explain_piece(cli, begin, &n, &summary.most));
        for (uint32_t d = 0; d < n; d++) {
            for (int i = 0; i < job.n; i++)
                job.feature[i].mean += fabs(job.values[(size_t)d * (size_t)job.n + (size_t)i]);
        }
    }
    for (int i = 0; i < job.n; i++)
        job.feature[i].mean /= n_docs;
    if (repeats > 0)
        RW_STEP(permute(cli, &summary));
    RW_STEP(rw_eval_conventions(cli->ctx, rw_params_eval(cli->params), conventions,
                                sizeof(conventions)));
    if (job.n > 0)
        qsort(job.feature, (size_t)job.n, sizeof(*job.feature), by_falling_mean);
    summary.metric = rw_params_get(cli->params, "metric");
    if (json)
        rw_explain_json_summary(cli->out.file, &summary);
    else
        rw_explain_print_summary(cli->out.file, &summary, job.n_top);
    return check_sums(summary.most);
}

/* ------------------------------------------------------------------ a line a document */

/* The id that 'predict --trec' writes. */
static void doc_id(const struct rw_cli *cli, uint32_t query, uint32_t doc, char *id, size_t size)
{
    const uint32_t first = rw_dataset_query_offsets(cli->dataset)[query];
    rw_dataset_doc_id(cli->dataset, doc, id, size);
    if (!*id)
        snprintf(id, size, "%s-%u", rw_dataset_query_id(cli->dataset, query), doc - first + 1);
}

static void write_all(const struct rw_cli *cli, const double *shap)
{
    char figure[RW_FIGURE_ROOM];
    for (int i = 0; i < job.n; i++) {
        rw_exact_text(shap[i], figure);
        fprintf(cli->out.file, "\t%s", figure);
    }
}

/* The features with the largest values, "id:value". shap: [n], changed. */
static void write_top(const struct rw_cli *cli, double *shap)
{
    char figure[RW_FIGURE_ROOM];
    for (int k = 0; k < job.n_top && k < job.n; k++) {
        int best = 0;
        for (int i = 1; i < job.n; i++)
            best = fabs(shap[i]) > fabs(shap[best]) ? i : best;
        if (shap[best] == 0.0)
            break;
        rw_exact_text(shap[best], figure);
        fprintf(cli->out.file, "\t%u:%s", job.feature[best].feature, figure);
        shap[best] = 0.0;
    }
}

static void write_json(const struct rw_cli *cli, uint32_t query, const char *id, double score,
                       const double *shap)
{
    json_t *values = json_array();
    for (int i = 0; i < job.n; i++)
        json_array_append_new(values, json_real(shap[i]));
    json_t *row = json_pack("{s:o,s:o,s:f,s:o}", "query",
                            rw_load_json_text(rw_dataset_query_id(cli->dataset, query)), "document",
                            rw_load_json_text(id), "score", score, "shap", values);
    if (row)
        json_dumpf(row, cli->out.file, JSON_COMPACT);
    json_decref(row);
}

static void write_doc_head(const struct rw_cli *cli)
{
    FILE *out = cli->out.file;
    char base[RW_FIGURE_ROOM];
    rw_exact_text(rw_explainer_base(job.explainer), base);
    if (json) {
        json_t *ids = json_array();
        for (int i = 0; i < job.n; i++)
            json_array_append_new(ids, json_integer(job.feature[i].feature));
        fprintf(out, "{\"base\":%s,\"bound\":%.17g,\"covers\":\"%s\",\n\"features\":", base,
                rw_explainer_bound(job.explainer), rw_explain_covers(job.has_covers));
        json_dumpf(ids, out, JSON_COMPACT);
        json_decref(ids);
        fputs(",\n\"documents\":[", out);
        return;
    }
    fprintf(out, "# SHAP values; base %s; covers: %s\nquery\tdocument\tscore", base,
            rw_explain_covers(job.has_covers));
    for (int i = 0; i < job.n && job.n_top == 0; i++)
        fprintf(out, "\t%u", job.feature[i].feature);
    fputs(job.n_top ? "\tfeature:value\n" : "\n", out);
}

static void write_doc(const struct rw_cli *cli, uint32_t query, uint32_t doc, double *shap)
{
    char id[512], score[RW_FIGURE_ROOM];
    doc_id(cli, query, doc, id, sizeof(id));
    if (json) {
        fputs(doc ? ",\n" : "\n", cli->out.file);
        write_json(cli, query, id, job.scores[doc], shap);
        return;
    }
    rw_exact_text(job.scores[doc], score);
    fprintf(cli->out.file, "%s\t%s\t%s", rw_dataset_query_id(cli->dataset, query), id, score);
    if (job.n_top)
        write_top(cli, shap);
    else
        write_all(cli, shap);
    fputc('\n', cli->out.file);
}

static int each_document(struct rw_cli *cli)
{
    const uint32_t *offset = rw_dataset_query_offsets(cli->dataset);
    const uint32_t n_docs = rw_dataset_n_docs(cli->dataset);
    uint32_t query = 0;
    double most = 0.0;
    write_doc_head(cli);
    for (uint32_t begin = 0, n; begin < n_docs; begin += n) {
        RW_STEP(explain_piece(cli, begin, &n, &most));
        for (uint32_t d = 0; d < n; d++) {
            while (begin + d >= offset[query + 1])
                query++;
            write_doc(cli, query, begin + d, job.values + (size_t)d * (size_t)job.n);
        }
    }
    if (json)
        fputs("\n]}\n", cli->out.file);
    return check_sums(most);
}

/* ------------------------------------------------------------------ one document, or two */

static int find_query(const struct rw_cli *cli, uint32_t *query)
{
    for (*query = 0; *query < rw_dataset_n_queries(cli->dataset); (*query)++) {
        if (strcmp(rw_dataset_query_id(cli->dataset, *query), query_id) == 0)
            return 0;
    }
    rw_msg_error("the data has no query '%s'", query_id);
    return RW_EXIT_FAILURE;
}

/* By id, else by position in the query. */
static int find_doc(const struct rw_cli *cli, uint32_t query, const char *text, uint32_t *doc)
{
    const uint32_t *offset = rw_dataset_query_offsets(cli->dataset) + query;
    char id[512], *end;
    for (*doc = offset[0]; *doc < offset[1]; (*doc)++) {
        doc_id(cli, query, *doc, id, sizeof(id));
        if (strcmp(id, text) == 0)
            return 0;
    }
    const unsigned long position = strtoul(text, &end, 10);
    *doc = offset[0] + (uint32_t)position - 1;
    if (text[0] >= '0' && text[0] <= '9' && !*end && position >= 1 &&
        position <= offset[1] - offset[0])
        return 0;
    rw_msg_error("query '%s' has no document '%s': expected a document's id, or its position, 1 "
                 "to %u",
                 query_id, text, offset[1] - offset[0]);
    return RW_EXIT_FAILURE;
}

static int fill_side(struct rw_cli *cli, const struct rw_explain_pair *pair,
                     struct rw_explain_side *side)
{
    struct rw_ctx *ctx = cli->ctx;
    side->position = side->doc - rw_dataset_query_offsets(cli->dataset)[pair->query] + 1;
    side->score = job.scores[side->doc];
    doc_id(cli, pair->query, side->doc, side->id, sizeof(side->id));
    side->shap = rw_need((size_t)job.n, sizeof(*side->shap));
    side->value = rw_need((size_t)job.n, sizeof(*side->value));
    side->leaf = rw_need((size_t)job.n_trees, sizeof(*side->leaf));
    RW_STEP(rw_explainer_run(ctx, job.explainer, cli->dataset, side->doc, 1, side->shap));
    RW_STEP(rw_explainer_leaves(ctx, job.explainer, cli->dataset, side->doc, side->leaf));
    double sum = rw_explainer_base(job.explainer);
    for (int i = 0; i < job.n; i++)
        sum += side->shap[i];
    return check_sums(fabs(sum - side->score));
}

static int explain_pair(struct rw_cli *cli)
{
    static struct rw_explain_pair pair;
    pair = (struct rw_explain_pair){.dataset = cli->dataset,
                                    .model = cli->model,
                                    .n_sides = docs.n,
                                    .feature = job.feature,
                                    .n = job.n,
                                    .n_trees = job.n_trees,
                                    .has_covers = job.has_covers,
                                    .base = rw_explainer_base(job.explainer),
                                    .bound = rw_explainer_bound(job.explainer)};
    RW_STEP(find_query(cli, &pair.query));
    for (int s = 0; s < pair.n_sides; s++) {
        RW_STEP(find_doc(cli, pair.query, docs.text[s], &pair.side[s].doc));
        RW_STEP(fill_side(cli, &pair, &pair.side[s]));
    }
    float *column = rw_need(rw_dataset_n_docs(cli->dataset), sizeof(*column));
    for (int i = 0; i < job.n; i++) {
        rw_dataset_feature(cli->dataset, job.feature[i].feature, NAN, column);
        for (int s = 0; s < pair.n_sides; s++)
            pair.side[s].value[i] = column[pair.side[s].doc];
    }
    free(column);
    if (json)
        rw_explain_json_pair(cli->out.file, &pair);
    else
        rw_explain_print_pair(cli->out.file, &pair, job.n_top);
    return 0;
}

/* ------------------------------------------------------------------ the command */

/* Options that have no effect under the others. */
static int check(struct rw_cli *cli)
{
    const struct rw_param_info *info;
    const int summary = !query_id && !documents, permutes = summary && repeats > 0;
    if (query_id && documents)
        return rw_wrong(cli, "'--documents' has no effect with '--query'");
    if (!query_id != (docs.n == 0))
        return rw_wrong(cli, "'--query' and '--doc' go together");
    if (docs.n > 2)
        return rw_wrong(cli, "%d documents; expected one or two '--doc'", docs.n);
    if (json && top)
        return rw_wrong(cli, "'--top' has no effect with '--json'");
    if (rw_is_given(cli, "repeats") && !summary)
        return rw_wrong(cli, "'--repeats' has no effect with '--%s'",
                        query_id ? "query" : "documents");
    for (int i = 0; !permutes && (info = rw_param_info(i)) != NULL; i++) {
        if ((info->roles & (RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS)) ||
            strcmp(info->name, "seed") == 0)
            RW_STEP(rw_params_no_effect(cli->ctx, cli->params, info->name,
                                        "where nothing is permuted"));
    }
    if (permutes && strchr(rw_params_get(cli->params, "metric"), ','))
        return rw_wrong(cli, "'explain' takes one '--metric'");
    return 0;
}

static int run(struct rw_cli *cli)
{
    job.n_top = top ? (int)top : documents ? 0 : TOP;
    RW_STEP(prepare(cli));
    RW_STEP(rw_out_file_open(cli->ctx, &cli->out, output ? output : "-"));
    RW_STEP(query_id ? explain_pair(cli) : documents ? each_document(cli) : summarise(cli));
    return rw_out_file_commit(cli->ctx, &cli->out);
}

const struct rw_command rw_cmd_explain = {
    .name = "explain",
    .brief = "which features matter, and why a document is above another",
    .operands = "MODEL DATA... [--query ID --doc A [--doc B]]",
    .about = "Explains which features matter: by SHAP values, by gain, by splits, and by what a "
             "metric loses when their values are permuted; and why a document is above another. "
             "SHAP values of a document and the base add up to its score. They need the number of "
             "training documents at each node, which the model file has; for a model of an older "
             "version, or imported without them, the documents of DATA are counted.",
    .least = 2,
    .most = -1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " seed threads ",
    .check = check,
    .run = run,
};
