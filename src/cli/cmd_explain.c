/* rankwood explain: why scores are what they are. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/explain_print.h"
#include "cli/load.h"
#include "cli/output.h"
#include "cli/talk.h"

enum { TOP = 20, REPEATS = 5, PIECE_DOCS = 4096 };

struct job {
    struct rw_said said;
    const char *query, *output, *trees, *repeats, *top;
    struct rw_list doc;
    int documents, json;
    /* resolved */
    int n_trees, n_repeats, n_top; /* n_top 0: all */
    struct rw_list files;          /* the data: view of the operands after the model */
    struct rw_model *model;        /* the rest: owned */
    struct rw_dataset *dataset;
    struct rw_explainer *explainer;
    struct rw_explained_feature *feature; /* [n] by id */
    int n;
    double *scores; /* [documents] */
    double *values; /* [PIECE_DOCS][n] */
    struct rw_output out;
};

static int no_memory(void)
{
    rw_talk_out_of_memory();
    return RW_EXIT_FAILURE;
}

/* ------------------------------------------------------------------ before */

/* What the model has of each feature in use: names, and gains and splits of the first trees. */
static int list_features(struct job *job)
{
    const uint32_t *id = rw_explainer_features(job->explainer);
    const int n = (int)rw_explainer_n_features(job->explainer);
    const int n_named = rw_model_features(job->model, NULL, 0);
    struct rw_feature_use *uses = n_named < 0 ? NULL : calloc((size_t)n_named + 1, sizeof(*uses));
    job->feature = calloc((size_t)n + 1, sizeof(*job->feature));
    int *at = calloc(RW_FEATURE_IDS, sizeof(*at));
    const int failed = !uses || !at || !job->feature;
    if (failed)
        goto out;
    rw_model_features(job->model, uses, n_named);
    job->n = n;
    for (int i = 0; i < n; i++) {
        at[id[i]] = i;
        job->feature[i] = (struct rw_explained_feature){.feature = id[i], .name = ""};
    }
    for (int t = 0; t < job->n_trees; t++) {
        for (int node = 0; node < rw_model_n_leaves(job->model, t) - 1; node++) {
            const struct rw_node split = rw_model_node(job->model, t, node);
            job->feature[at[split.feature]].gain += split.gain;
            job->feature[at[split.feature]].n_splits++;
        }
    }
    for (int i = 0; i < n_named; i++) {
        const int place = at[uses[i].feature];
        if (n > 0 && id[place] == uses[i].feature)
            job->feature[place].name = uses[i].name;
    }
out:
    free(uses);
    free(at);
    return failed ? -1 : 0;
}

/* -1 to go on; else the exit code. */
static int prepare(const struct rw_usage *usage, struct job *job)
{
    struct rw_ctx *ctx = job->said.ctx;
    unsigned long long n_trees = 0;
    uint32_t n_missing, n_unknown;
    int status = rw_load_model(ctx, job->said.operands.text[0], &job->model);
    if (status < 0)
        return rw_talk_failed(ctx, status, "explain");
    job->n_trees = rw_model_n_trees(job->model);
    if (job->n_trees == 0) {
        rw_talk_error("there is nothing to explain: the model has no trees");
        return RW_EXIT_FAILURE;
    }
    if (job->trees) {
        const int code = rw_options_number(usage, "--trees", job->trees, 1,
                                           (unsigned long long)job->n_trees, &n_trees);
        if (code != 0)
            return code;
        job->n_trees = (int)n_trees;
    }
    status = rw_load_weighted(&job->said, &job->files, &job->dataset);
    if (status >= 0)
        status = rw_explainer_new(ctx, job->model, job->n_trees, job->dataset, &job->explainer);
    if (status < 0)
        return rw_talk_failed(ctx, status, "explain");
    rw_model_unmatched(job->model, job->dataset, &n_missing, &n_unknown);
    rw_load_warn_unmatched(n_missing, n_unknown);
    job->scores = calloc((size_t)rw_dataset_n_docs(job->dataset) + 1, sizeof(*job->scores));
    if (!job->scores || list_features(job) < 0)
        return no_memory();
    job->values = calloc((size_t)PIECE_DOCS * (size_t)(job->n + 1), sizeof(*job->values));
    if (!job->values)
        return no_memory();
    status = rw_predict(ctx, job->model, job->dataset, job->n_trees, job->scores);
    return status < 0 ? rw_talk_failed(ctx, status, "explain") : -1;
}

/* ------------------------------------------------------------------ all documents */

/* SHAP values of documents from `begin` on, at most a piece, in job->values. Returns how many; or a
 * status. *most grows to the largest |base + values - score|. */
static int explain_piece(struct job *job, uint32_t begin, double *most)
{
    const uint32_t left = rw_dataset_n_docs(job->dataset) - begin;
    const uint32_t n = left < PIECE_DOCS ? left : PIECE_DOCS;
    const int status =
        rw_explainer_run(job->said.ctx, job->explainer, job->dataset, begin, n, job->values);
    if (status < 0)
        return status;
    for (uint32_t d = 0; d < n; d++) {
        double sum = rw_explainer_base(job->explainer);
        for (int i = 0; i < job->n; i++)
            sum += job->values[(size_t)d * (size_t)job->n + (size_t)i];
        const double off = fabs(sum - job->scores[begin + d]);
        *most = off > *most ? off : *most;
    }
    return (int)n;
}

static int by_falling_mean(const void *a, const void *b)
{
    const struct rw_explained_feature *x = a, *y = b;
    if (x->mean != y->mean)
        return x->mean > y->mean ? -1 : 1;
    return x->feature < y->feature ? -1 : 1;
}

static int permute(struct job *job, struct rw_explain_summary *summary)
{
    struct rw_permuted *permuted = calloc((size_t)job->n + 1, sizeof(*permuted));
    if (!permuted)
        return RW_ERR_MEMORY;
    const int status = rw_permutation_importance(job->said.ctx, rw_params_eval(job->said.params),
                                                 job->model, job->n_trees, job->dataset,
                                                 job->n_repeats, &summary->value, permuted, job->n);
    for (int i = 0; i < job->n && status >= 0; i++)
        job->feature[i].permuted = permuted[i];
    free(permuted);
    return status;
}

/* A sum that is too far off is an error of ours, and told as one. */
static int check_sums(const struct job *job, double most)
{
    if (most <= rw_explainer_bound(job->explainer))
        return RW_EXIT_OK;
    rw_talk_error("SHAP values add up to a score that is %g off, over the bound %g; please report",
                  most, rw_explainer_bound(job->explainer));
    return RW_EXIT_FAILURE;
}

static int summarise(struct job *job)
{
    const uint32_t n_docs = rw_dataset_n_docs(job->dataset);
    char conventions[512] = "";
    struct rw_explain_summary summary = {.dataset = job->dataset,
                                         .base = rw_explainer_base(job->explainer),
                                         .bound = rw_explainer_bound(job->explainer),
                                         .metric = rw_params_get(job->said.params, "metric"),
                                         .conventions = conventions,
                                         .n_repeats = job->n_repeats,
                                         .feature = job->feature,
                                         .n = job->n};
    int n = 0;
    for (uint32_t begin = 0; begin < n_docs && n >= 0; begin += PIECE_DOCS) {
        n = explain_piece(job, begin, &summary.most);
        for (int d = 0; d < n; d++) {
            for (int i = 0; i < job->n; i++)
                job->feature[i].mean += fabs(job->values[(size_t)d * (size_t)job->n + (size_t)i]);
        }
    }
    for (int i = 0; i < job->n; i++)
        job->feature[i].mean /= n_docs;
    if (n >= 0 && job->n_repeats > 0)
        n = permute(job, &summary);
    if (n >= 0)
        n = rw_eval_conventions(job->said.ctx, rw_params_eval(job->said.params), conventions,
                                sizeof(conventions));
    if (n < 0)
        return rw_talk_failed(job->said.ctx, n, "explain");
    if (job->n > 0)
        qsort(job->feature, (size_t)job->n, sizeof(*job->feature), by_falling_mean);
    /* The text of a parameter is valid until the next one is asked for. */
    summary.metric = rw_params_get(job->said.params, "metric");
    if (!job->json)
        rw_explain_print_summary(job->out.file, &summary, job->n_top);
    else if (rw_explain_json_summary(job->out.file, &summary) < 0)
        return RW_EXIT_FAILURE;
    return check_sums(job, summary.most);
}

/* ------------------------------------------------------------------ a line a document */

/* The id that 'predict --trec' writes. */
static void doc_id(const struct job *job, uint32_t query, uint32_t doc, char *id, size_t size)
{
    const uint32_t first = rw_dataset_query_offsets(job->dataset)[query];
    rw_dataset_doc_id(job->dataset, doc, id, size);
    if (!*id)
        snprintf(id, size, "%s-%u", rw_dataset_query_id(job->dataset, query), doc - first + 1);
}

static void write_all(const struct job *job, const double *shap)
{
    char figure[RW_FIGURE_ROOM];
    for (int i = 0; i < job->n; i++) {
        rw_load_exact(shap[i], figure);
        fprintf(job->out.file, "\t%s", figure);
    }
}

/* The features with the largest values, "id:value". shap: [n], changed. */
static void write_top(const struct job *job, double *shap)
{
    char figure[RW_FIGURE_ROOM];
    for (int k = 0; k < job->n_top && k < job->n; k++) {
        int best = 0;
        for (int i = 1; i < job->n; i++)
            best = fabs(shap[i]) > fabs(shap[best]) ? i : best;
        if (shap[best] == 0.0)
            break;
        rw_load_exact(shap[best], figure);
        fprintf(job->out.file, "\t%u:%s", job->feature[best].feature, figure);
        shap[best] = 0.0;
    }
}

static void write_json(const struct job *job, uint32_t query, const char *id, double score,
                       const double *shap)
{
    json_t *values = json_array();
    for (int i = 0; i < job->n; i++)
        json_array_append_new(values, json_real(shap[i]));
    json_t *row = json_pack("{s:o,s:o,s:f,s:o}", "query",
                            rw_load_json_text(rw_dataset_query_id(job->dataset, query)), "document",
                            rw_load_json_text(id), "score", score, "shap", values);
    if (row)
        json_dumpf(row, job->out.file, JSON_COMPACT);
    json_decref(row);
}

static void write_doc_head(const struct job *job)
{
    FILE *out = job->out.file;
    char base[RW_FIGURE_ROOM];
    rw_load_exact(rw_explainer_base(job->explainer), base);
    if (job->json) {
        json_t *ids = json_array();
        for (int i = 0; i < job->n; i++)
            json_array_append_new(ids, json_integer(job->feature[i].feature));
        fprintf(out,
                "{\"base\":%s,\"bound\":%.17g,\"covers\":\"" RW_EXPLAIN_COVERS "\",\n\"features\":",
                base, rw_explainer_bound(job->explainer));
        json_dumpf(ids, out, JSON_COMPACT);
        json_decref(ids);
        fputs(",\n\"documents\":[", out);
        return;
    }
    fprintf(out, "# SHAP values; base %s; covers: " RW_EXPLAIN_COVERS "\nquery\tdocument\tscore",
            base);
    for (int i = 0; i < job->n && job->n_top == 0; i++)
        fprintf(out, "\t%u", job->feature[i].feature);
    fputs(job->n_top ? "\tfeature:value\n" : "\n", out);
}

static void write_doc(const struct job *job, uint32_t query, uint32_t doc, double *shap)
{
    char id[512], score[RW_FIGURE_ROOM];
    doc_id(job, query, doc, id, sizeof(id));
    if (job->json) {
        fputs(doc ? ",\n" : "\n", job->out.file);
        write_json(job, query, id, job->scores[doc], shap);
        return;
    }
    rw_load_exact(job->scores[doc], score);
    fprintf(job->out.file, "%s\t%s\t%s", rw_dataset_query_id(job->dataset, query), id, score);
    if (job->n_top)
        write_top(job, shap);
    else
        write_all(job, shap);
    fputc('\n', job->out.file);
}

static int each_document(struct job *job)
{
    const uint32_t *offset = rw_dataset_query_offsets(job->dataset);
    const uint32_t n_docs = rw_dataset_n_docs(job->dataset);
    uint32_t query = 0;
    double most = 0.0;
    write_doc_head(job);
    for (uint32_t begin = 0; begin < n_docs; begin += PIECE_DOCS) {
        const int n = explain_piece(job, begin, &most);
        if (n < 0)
            return rw_talk_failed(job->said.ctx, n, "explain");
        for (uint32_t d = 0; d < (uint32_t)n; d++) {
            while (begin + d >= offset[query + 1])
                query++;
            write_doc(job, query, begin + d, job->values + (size_t)d * (size_t)job->n);
        }
    }
    if (job->json)
        fputs("\n]}\n", job->out.file);
    return check_sums(job, most);
}

/* ------------------------------------------------------------------ one document, or two */

static int find_query(const struct job *job, uint32_t *query)
{
    for (uint32_t q = 0; q < rw_dataset_n_queries(job->dataset); q++) {
        if (strcmp(rw_dataset_query_id(job->dataset, q), job->query) == 0) {
            *query = q;
            return 0;
        }
    }
    rw_talk_error("the data has no query '%s'", job->query);
    return -1;
}

/* By id, else by place in the query. */
static int find_doc(const struct job *job, uint32_t query, const char *text, uint32_t *doc)
{
    const uint32_t *offset = rw_dataset_query_offsets(job->dataset) + query;
    char id[512], *end;
    for (uint32_t d = offset[0]; d < offset[1]; d++) {
        doc_id(job, query, d, id, sizeof(id));
        if (strcmp(id, text) == 0) {
            *doc = d;
            return 0;
        }
    }
    const unsigned long place = strtoul(text, &end, 10);
    if (text[0] >= '0' && text[0] <= '9' && !*end && place >= 1 && place <= offset[1] - offset[0]) {
        *doc = offset[0] + (uint32_t)place - 1;
        return 0;
    }
    rw_talk_error(
        "query '%s' has no document '%s': expected a document's id, or its place, 1 to %u",
        job->query, text, offset[1] - offset[0]);
    return -1;
}

/* The document's values of the features in use. column: scratch of a float a document. */
static void read_values(const struct job *job, float *column, struct rw_explain_pair *pair)
{
    for (int i = 0; i < job->n; i++) {
        rw_dataset_feature(job->dataset, job->feature[i].feature, NAN, column);
        for (int s = 0; s < pair->n_sides; s++)
            pair->side[s].value[i] = column[pair->side[s].doc];
    }
}

static int fill_side(struct job *job, const struct rw_explain_pair *pair,
                     struct rw_explain_side *side)
{
    struct rw_ctx *ctx = job->said.ctx;
    side->place = side->doc - rw_dataset_query_offsets(job->dataset)[pair->query] + 1;
    side->score = job->scores[side->doc];
    doc_id(job, pair->query, side->doc, side->id, sizeof(side->id));
    side->shap = calloc((size_t)job->n + 1, sizeof(*side->shap));
    side->value = calloc((size_t)job->n + 1, sizeof(*side->value));
    side->leaf = calloc((size_t)job->n_trees, sizeof(*side->leaf));
    if (!side->shap || !side->value || !side->leaf)
        return no_memory();
    int status = rw_explainer_run(ctx, job->explainer, job->dataset, side->doc, 1, side->shap);
    if (status >= 0)
        status = rw_explainer_leaves(ctx, job->explainer, job->dataset, side->doc, side->leaf);
    if (status < 0)
        return rw_talk_failed(ctx, status, "explain");
    double sum = rw_explainer_base(job->explainer);
    for (int i = 0; i < job->n; i++)
        sum += side->shap[i];
    return check_sums(job, fabs(sum - side->score));
}

static int explain_pair(struct job *job)
{
    struct rw_explain_pair pair = {.dataset = job->dataset,
                                   .model = job->model,
                                   .n_sides = job->doc.n,
                                   .feature = job->feature,
                                   .n = job->n,
                                   .n_trees = job->n_trees,
                                   .base = rw_explainer_base(job->explainer),
                                   .bound = rw_explainer_bound(job->explainer)};
    int code = RW_EXIT_FAILURE;
    float *column = calloc((size_t)rw_dataset_n_docs(job->dataset) + 1, sizeof(*column));
    if (!column) {
        no_memory();
        goto out;
    }
    if (find_query(job, &pair.query) < 0)
        goto out;
    for (int s = 0; s < pair.n_sides; s++) {
        if (find_doc(job, pair.query, job->doc.text[s], &pair.side[s].doc) < 0 ||
            fill_side(job, &pair, &pair.side[s]) != RW_EXIT_OK)
            goto out;
    }
    read_values(job, column, &pair);
    const int printed = job->json ? rw_explain_json_pair(job->out.file, &pair)
                                  : rw_explain_print_pair(job->out.file, &pair, job->n_top);
    code = printed < 0 ? no_memory() : RW_EXIT_OK;
out:
    for (int s = 0; s < 2; s++) {
        free(pair.side[s].shap);
        free(pair.side[s].value);
        free(pair.side[s].leaf);
    }
    free(column);
    return code;
}

/* ------------------------------------------------------------------ the command */

/* What has no effect under the others. */
static int check_idle(const struct rw_usage *usage, struct job *job)
{
    static const char *const measuring[] = {"metric",   "empty",   "ties", "label-gain",
                                            "relevant", "weights", "seed"};
    const int summary = !job->query && !job->documents;
    const int permutes = summary && !(job->repeats && strcmp(job->repeats, "0") == 0);
    if (job->query && job->documents)
        return rw_options_wrong(usage, "'--documents' has no effect with '--query'");
    if (!job->query != (job->doc.n == 0))
        return rw_options_wrong(usage, "'--query' and '--doc' go together");
    if (job->doc.n > 2)
        return rw_options_wrong(usage, "%d documents; expected one or two '--doc'", job->doc.n);
    if (job->json && job->top)
        return rw_options_wrong(usage, "'--top' has no effect with '--json'");
    if (job->repeats && !summary)
        return rw_options_wrong(usage, "'--repeats' has no effect with '--%s'",
                                job->query ? "query" : "documents");
    for (size_t i = 0; i < sizeof(measuring) / sizeof(measuring[0]) && !permutes; i++) {
        if (rw_params_must_matter(job->said.params, measuring[i]))
            return rw_options_wrong(usage, "'--%s' has no effect where nothing is permuted",
                                    measuring[i]);
    }
    if (permutes && strchr(rw_params_get(job->said.params, "metric"), ','))
        return rw_options_wrong(usage, "'explain' takes one '--metric'");
    return -1;
}

static int check(const struct rw_usage *usage, struct job *job)
{
    unsigned long long repeats = REPEATS, top = job->documents ? 0 : TOP;
    job->files = (struct rw_list){job->said.operands.text + 1, job->said.operands.n - 1};
    int code = check_idle(usage, job);
    if (code >= 0)
        return code;
    if (job->repeats)
        code = rw_options_number(usage, "--repeats", job->repeats, 0, 1000, &repeats);
    if (code <= 0 && job->top)
        code = rw_options_number(usage, "--top", job->top, 1, RW_FEATURE_IDS, &top);
    if (code > 0)
        return code;
    job->n_repeats = (int)repeats;
    job->n_top = (int)top;
    const char *weights = rw_params_get(job->said.params, "weights");
    const struct rw_list lists[] = {job->said.operands, {&weights, 1}};
    code = rw_options_check_files(usage, lists, 2, job->output);
    if (code != 0)
        return code;
    const int status = rw_params_check_eval(job->said.ctx, job->said.params);
    if (status < 0)
        return rw_talk_failed(job->said.ctx, status, "explain");
    return job->output && rw_output_check(job->output) < 0 ? RW_EXIT_FAILURE : -1;
}

static int run(const struct rw_usage *usage, struct job *job)
{
    int code = prepare(usage, job);
    if (code >= 0)
        return code;
    if (rw_output_open(&job->out, job->output ? job->output : "-") < 0)
        return RW_EXIT_FAILURE;
    code = job->query ? explain_pair(job) : job->documents ? each_document(job) : summarise(job);
    if (code == RW_EXIT_OK && rw_output_commit(&job->out) < 0)
        code = RW_EXIT_FAILURE;
    rw_output_abandon(&job->out);
    return code;
}

int rw_cmd_explain(int argc, char **argv)
{
    struct job job = {0};
    const struct rw_option options[] = {
        {"query", 0, "ID", "explain documents of this query, given by --doc", RW_OPTION_TEXT,
         &job.query},
        {"doc", 0, "DOC",
         "a document's id, or its place in the query; given twice, A and B: why A is above B",
         RW_OPTION_LIST, &job.doc},
        {"documents", 0, NULL, "print SHAP values, a line a document", RW_OPTION_FLAG,
         &job.documents},
        {"top", 0, "N", "the first N features and trees [default: 20; --documents: all features]",
         RW_OPTION_TEXT, &job.top},
        {"repeats", 0, "N", "permutations of each feature; 0: none [default: 5]", RW_OPTION_TEXT,
         &job.repeats},
        {"trees", 0, "N", "explain the first N trees [default: all]", RW_OPTION_TEXT, &job.trees},
        {"json", 0, NULL, "print as JSON, every digit and all features", RW_OPTION_FLAG, &job.json},
        {"output", 'o', "FILE", "where to [default: standard output]", RW_OPTION_TEXT, &job.output},
        {0},
    };
    const struct rw_usage usage = {
        .command = "explain",
        .operands = "MODEL DATA... [--query ID --doc A [--doc B]]",
        .about = "Tells which features matter: by SHAP values, by gain, by splits, and by what a "
                 "metric loses when their values are permuted; and why a document is above "
                 "another. SHAP values of a document and the base add up to its score. They "
                 "need counts of documents at each node: those of DATA, as the model file holds "
                 "none.",
        .least = 2,
        .most = -1,
        .options = options,
        .params = " metric empty ties label-gain relevant weights seed threads ",
    };
    int code = rw_options_parse(&usage, argc, argv, &job.said);
    if (code < 0)
        code = check(&usage, &job);
    if (code < 0)
        code = run(&usage, &job);
    rw_explainer_free(job.explainer);
    rw_dataset_free(job.dataset);
    rw_model_free(job.model);
    free(job.feature);
    free(job.scores);
    free(job.values);
    rw_options_release(&usage, &job.said);
    return code;
}
