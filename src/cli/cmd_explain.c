/* `rankwood explain` attributes scores to features: over all documents, per document, or for one
 * document A or a pair A and B. The share of a feature is its SHAP value for A, minus that for B if
 * there is a B. The share of a tree is the value of A's leaf, minus that of B's leaf. Covers are
 * the document counts of a tree's nodes, by which SHAP values and the base are weighted. */
#include "cli/cli.h"

enum { TOP = 20, PIECE_DOCS = 4096 }; /* default of --top; documents explained in one call */

static const char *query_id, *output, *trees;
static unsigned long long repeats = 5, top;
static struct rw_list docs;
static int documents;
static const struct rw_option options[] = {
    {"query", "ID", "explain documents of this query, given by --doc", RW_OPTION_TEXT,
     .value = &query_id},
    {"doc", "DOC",
     "id of a document, or its position in the query, from 1; give two, A and B, to explain why A "
     "ranks above B",
     RW_OPTION_LIST, .value = &docs},
    {"documents", NULL, "print the SHAP values of each document, one document per line",
     RW_OPTION_FLAG, .value = &documents, .idle_with = " query "},
    {"top", "N", "print at most N features (--doc: also N trees) [default: 20; --documents: all]",
     RW_OPTION_NUMBER, .value = &top, .range = {1, RW_FEATURE_IDS}},
    {"repeats", "N", "permutations per feature; 0: no permutation importance [default: 5]",
     RW_OPTION_NUMBER, .value = &repeats, .idle_with = " query documents ", .range = {0, 1000}},
    {"trees", "N", "explain only the first N trees [default: all]", RW_OPTION_TEXT,
     .value = &trees},
    {"output", "FILE", "write to this file [default: standard output]", RW_OPTION_OUTPUT,
     .value = &output},
    {0},
};

struct explained_feature {
    double mean; /* mean of |SHAP| */
    double gain;
    uint64_t n_splits;
};

static struct {
    int n_trees, n_top; /* n_top: 0 for all */
    int has_covers;     /* 1: the model stores its covers; 0: they are counted on DATA */
    struct rw_explainer *explainer;
    struct explained_feature *feature; /* [n] in the order of explainer->features */
    int n;
    double most;                  /* largest |base + sum of SHAP values - score| of a document */
    struct rw_permuted *permuted; /* [n] NULL without permutations */
    double *scores;               /* [documents] */
} job;

/* ---- printing ---- */

/* Names the source of the document counts at each node. */
static const char *covers(void)
{
    return job.has_covers ? "documents per node, counted in training"
                          : "documents per node, counted on DATA (the model stores no counts)";
}

static void add_base(const struct rw_cli *cli)
{
    rw_result_line("base    %s, %s", rw_figure(job.explainer->base),
                   job.has_covers ? "the sum over the trees of the mean leaf value in training"
                                  : rw_text("the mean score of %u documents",
                                            rw_dataset_n_docs(cli->dataset)));
    rw_result_line("covers  %s", covers());
}

/* Adds a table with the first rows, as many as --top allows. */
static void add_rows(const char *title, json_t *rows, const char *columns)
{
    rw_result_rows(title, rows, columns);
    rw_result_most(job.n_top, "--top %zu");
}

/* ---- preparation ---- */

/* Sums the gains and counts the splits of each feature that the first job.n_trees trees use. */
static void list_features(const struct rw_model *model)
{
    const uint32_t *id = job.explainer->features;
    int *at = rw_need(RW_FEATURE_IDS, sizeof(*at));
    job.n = (int)job.explainer->n_features;
    job.feature = rw_need((size_t)job.n, sizeof(*job.feature));
    for (int i = 0; i < job.n; i++)
        at[id[i]] = i;
    for (int t = 0; t < job.n_trees; t++) {
        const struct rw_tree_view tree = rw_model_tree(model, t);
        for (int node = 0; node < tree.n_leaves - 1; node++) {
            job.feature[at[tree.feature[node]]].gain += tree.gain[node];
            job.feature[at[tree.feature[node]]].n_splits++;
        }
    }
}

static int prepare(struct rw_cli *cli)
{
    const struct rw_list files = {cli->operands.text + 1, cli->operands.n - 1};
    RW_STEP(rw_load_model(cli, cli->operands.text[0], &cli->model));
    if (rw_model_n_trees(cli->model) == 0) {
        rw_msg_error("cannot explain the model: it has no trees");
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
    return rw_predict(cli->ctx, cli->model, cli->dataset, job.n_trees, job.scores);
}

/* ---- sums ---- */

/* Returns |base + sum of shap - score|. shap: [n]. */
static double off_by(const double *shap, double score)
{
    double sum = job.explainer->base;
    for (int i = 0; i < job.n; i++)
        sum += shap[i];
    return fabs(sum - score);
}

/* Fails if rounding errors cannot explain job.most, which would be a bug. */
static int check_sums(void)
{
    if (job.most <= job.explainer->bound)
        return 0;
    rw_msg_error("base + SHAP values differ from the score by %g, more than the bound %g; please "
                 "report this bug",
                 job.most, job.explainer->bound);
    return RW_EXIT_FAILURE;
}

/* ---- a line per document ---- */

/* Formats the document id that 'predict --trec' writes. */
static void doc_id(const struct rw_cli *cli, uint32_t query, uint32_t doc, char *id, size_t size)
{
    const uint32_t first = rw_dataset_query_offsets(cli->dataset)[query];
    rw_dataset_doc_id(cli->dataset, doc, id, size);
    if (!*id)
        snprintf(id, size, "%s-%u", rw_dataset_query_id(cli->dataset, query), doc - first + 1);
}

/* Writes the features with the largest |SHAP| as "id:value", at most job.n_top and none with a
 * value of 0. shap: [n], changed. */
static void write_top(const struct rw_cli *cli, double *shap)
{
    for (int k = 0; k < job.n_top && k < job.n; k++) {
        int best = 0;
        for (int i = 1; i < job.n; i++)
            best = fabs(shap[i]) > fabs(shap[best]) ? i : best;
        if (shap[best] == 0.0)
            break;
        fprintf(cli->out.file, "\t%u:%s", job.explainer->features[best], rw_exact(shap[best]));
        shap[best] = 0.0;
    }
}

static void write_doc_head(const struct rw_cli *cli)
{
    const int is_csv = cli->format == RW_FORMAT_CSV;
    FILE *out = cli->out.file;
    const char *base = rw_exact(job.explainer->base);
    if (cli->format == RW_FORMAT_JSON) {
        fprintf(out, "{\"base\":%s,\"bound\":%.17g,\"covers\":\"%s\",\n\"features\":[", base,
                job.explainer->bound, covers());
        for (int i = 0; i < job.n; i++)
            fprintf(out, "%s%u", i ? "," : "", job.explainer->features[i]);
        fputs("],\n\"documents\":[", out);
        return;
    }
    if (!is_csv)
        fprintf(out, "# SHAP values; base %s; covers: %s\n", base, covers());
    fputs(is_csv ? "query,document,score" : "query\tdocument\tscore", out);
    for (int i = 0; i < job.n && job.n_top == 0; i++)
        fprintf(out, "%c%u", is_csv ? ',' : '\t', job.explainer->features[i]);
    fputs(job.n_top ? "\tfeature:value\n" : "\n", out);
}

static void write_doc(const struct rw_cli *cli, uint32_t query, uint32_t doc, double *shap)
{
    const char *query_name = rw_dataset_query_id(cli->dataset, query);
    const int is_csv = cli->format == RW_FORMAT_CSV;
    FILE *out = cli->out.file;
    char id[512];
    doc_id(cli, query, doc, id, sizeof(id));
    if (cli->format == RW_FORMAT_JSON) {
        json_t *values = json_array(), *row;
        for (int i = 0; i < job.n; i++)
            json_array_append_new(values, json_real(shap[i]));
        row = rw_result_row("query:s document:s score:n shap:o", query_name, id, job.scores[doc],
                            values);
        fputs(doc ? ",\n" : "\n", out);
        json_dumpf(row, out, JSON_COMPACT);
        json_decref(row);
        return;
    }
    if (is_csv) {
        rw_result_put_csv(out, query_name);
        fputc(',', out);
        rw_result_put_csv(out, id);
    } else {
        fprintf(out, "%s\t%s", query_name, id);
    }
    for (int i = -1; i < (job.n_top ? 0 : job.n); i++)
        fprintf(out, "%c%s", is_csv ? ',' : '\t', rw_exact(i < 0 ? job.scores[doc] : shap[i]));
    if (job.n_top)
        write_top(cli, shap);
    fputc('\n', out);
}

/* Explains all documents. With --documents, writes a line for each. Otherwise adds their |SHAP| to
 * the features' `mean`, which is then still a sum. */
static int explain_all(struct rw_cli *cli)
{
    const uint32_t *offset = rw_dataset_query_offsets(cli->dataset);
    const uint32_t n_docs = rw_dataset_n_docs(cli->dataset);
    double *values = rw_need((size_t)PIECE_DOCS * (size_t)job.n, sizeof(*values));
    rw_progress_start();
    for (uint32_t doc = 0, end = 0, query = 0; doc < n_docs; doc++) {
        const uint32_t begin = end;
        double *shap = values + (size_t)(doc % PIECE_DOCS) * (size_t)job.n;
        if (doc == begin) {
            end += n_docs - begin < PIECE_DOCS ? n_docs - begin : PIECE_DOCS;
            RW_STEP(rw_explainer_run(cli->ctx, job.explainer, cli->dataset, begin, end - begin,
                                     values, NULL));
            rw_progress_show((int)end, (int)n_docs, 1);
        }
        while (doc >= offset[query + 1])
            query++;
        const double off = off_by(shap, job.scores[doc]);
        job.most = off > job.most ? off : job.most;
        if (documents)
            write_doc(cli, query, doc, shap);
        for (int i = 0; i < job.n && !documents; i++)
            job.feature[i].mean += fabs(shap[i]);
    }
    rw_progress_end();
    return 0;
}

static int each_document(struct rw_cli *cli)
{
    write_doc_head(cli);
    RW_STEP(explain_all(cli));
    if (cli->format == RW_FORMAT_JSON)
        fputs("\n]}\n", cli->out.file);
    return check_sums();
}

/* ---- all documents ---- */

/* Prints the summary of all documents. value: the metric's value, if values were permuted. */
static int print_summary(struct rw_cli *cli, double value)
{
    const double base = job.explainer->base, bound = job.explainer->bound;
    const char *metric = rw_params_get(cli->params, "metric");
    const uint32_t *id = job.explainer->features;
    char conventions[512] = "";
    json_t *features = json_array();
    RW_STEP(rw_eval_conventions(cli->ctx, rw_params_eval(cli->params), conventions,
                                sizeof(conventions)));
    for (int i = 0; i < job.n; i++) {
        const struct explained_feature *one = &job.feature[i];
        json_t *row = rw_result_add(features, "feature:u name:s mean_abs_shap:n gain:n splits:l",
                                    id[i], rw_model_feature_name(cli->model, id[i]), one->mean,
                                    one->gain, one->n_splits);
        if (repeats > 0)
            rw_result_set(row, "loss:n deviation:n", job.permuted[i].loss,
                          job.permuted[i].deviation);
    }
    rw_result_sort(features, "mean_abs_shap", "feature");
    json_t *document = rw_result_row(
        "base:n covers:s largest_difference:n bound:n documents:u permutations:i features:O", base,
        covers(), job.most, bound, rw_dataset_n_docs(cli->dataset), (int)repeats, features);
    add_base(cli);
    rw_result_line("sums    base + SHAP values differ from scores by at most %.2g (bound: %.2g)",
                   job.most, bound);
    if (repeats > 0) {
        rw_result_set(document, "metric:s value:n conventions:s", metric, value, conventions);
        rw_result_line(
            "%-7s %s; loss: loss of the metric if the feature's values are permuted, mean of %llu "
            "permutation%s",
            metric, rw_figure(value), repeats, repeats == 1 ? "" : "s");
    }
    add_rows("features by mean |SHAP|", features,
             repeats > 0
                 ? "mean_abs_shap=mean |SHAP|;gain=gain %=%;splits;loss;deviation;feature;name"
                 : "mean_abs_shap=mean |SHAP|;gain=gain %=%;splits;feature;name");
    if (repeats > 0)
        rw_result_line("%s", conventions);
    rw_result_print(cli, document);
    return check_sums();
}

static int summarise(struct rw_cli *cli)
{
    double value = 0.0;
    RW_STEP(explain_all(cli));
    for (int i = 0; i < job.n; i++)
        job.feature[i].mean /= rw_dataset_n_docs(cli->dataset);
    if (repeats > 0) {
        job.permuted = rw_need((size_t)job.n, sizeof(*job.permuted));
        RW_STEP(rw_progress_follow(cli->ctx));
        const int n = rw_permutation_importance(cli->ctx, rw_params_eval(cli->params), cli->model,
                                                job.n_trees, cli->dataset, (int)repeats, &value,
                                                job.permuted, job.n);
        if (n < 0)
            return n;
    }
    return print_summary(cli, value);
}

/* ---- one document, or two ---- */

static int find_query(const struct rw_cli *cli, uint32_t *query)
{
    for (*query = 0; *query < rw_dataset_n_queries(cli->dataset); (*query)++) {
        if (strcmp(rw_dataset_query_id(cli->dataset, *query), query_id) == 0)
            return 0;
    }
    rw_msg_error("the data has no query '%s'", query_id);
    return RW_EXIT_FAILURE;
}

/* Finds a document by id, else by its position in the query. */
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
    rw_msg_error("query '%s' has no document '%s': expected a document id or a position, 1 to %u",
                 query_id, text, offset[1] - offset[0]);
    return RW_EXIT_FAILURE;
}

/* One document. Two of a query are compared to explain why the first ranks above the second. */
struct side {
    char id[512];
    uint32_t doc, position; /* position in the query, from 1 */
    double score;
    double *shap;  /* [n] */
    float *value;  /* [n] NaN: absent or missing */
    int32_t *leaf; /* [n_trees] */
};
static struct side side[2]; /* [docs.n] */

static int fill_side(struct rw_cli *cli, uint32_t query, struct side *one)
{
    struct rw_ctx *ctx = cli->ctx;
    one->position = one->doc - rw_dataset_query_offsets(cli->dataset)[query] + 1;
    one->score = job.scores[one->doc];
    doc_id(cli, query, one->doc, one->id, sizeof(one->id));
    one->shap = rw_need((size_t)job.n, sizeof(*one->shap));
    one->value = rw_need((size_t)job.n, sizeof(*one->value));
    one->leaf = rw_need((size_t)job.n_trees, sizeof(*one->leaf));
    RW_STEP(rw_explainer_run(ctx, job.explainer, cli->dataset, one->doc, 1, one->shap, one->leaf));
    job.most = off_by(one->shap, one->score);
    return check_sums();
}

static double leaf_of(const struct rw_cli *cli, int s, int tree)
{
    return (double)rw_model_tree(cli->model, tree).leaf[side[s].leaf[tree]];
}

/* Removes the columns of document B, if there is only A. */
static void without_b(json_t *row)
{
    if (docs.n == 2)
        return;
    json_object_del(row, "b");
    json_object_del(row, "value_b");
    json_object_del(row, "leaf_b");
}

/* Adds a table of features or trees, sorted by |share|, and the sum of their shares. of: the key of
 * the row's number, "feature" or "tree". */
static json_t *add_shares(const char *title, const char *of, json_t *rows, const char *columns)
{
    double sum = 0.0;
    size_t i;
    json_t *row;
    rw_result_sort(rows, "share", of);
    json_array_foreach(rows, i, row) sum += json_real_value(json_object_get(row, "share"));
    add_rows(title, rows, columns);
    rw_result_line("%+.6f  total", sum);
    return rows;
}

/* Adds a table of the features whose SHAP value for A or B is not 0. */
static json_t *add_features(const struct rw_cli *cli)
{
    const uint32_t *id = job.explainer->features;
    const int two = docs.n == 2;
    const struct side *a = &side[0], *b = &side[docs.n - 1];
    json_t *rows = json_array();
    for (int i = 0; i < job.n; i++) {
        if (a->shap[i] != 0.0 || b->shap[i] != 0.0)
            without_b(rw_result_add(rows, "feature:u name:s share:n a:n b:n value_a:n value_b:n",
                                    id[i], rw_model_feature_name(cli->model, id[i]),
                                    a->shap[i] - (two ? b->shap[i] : 0.0), a->shap[i], b->shap[i],
                                    (double)a->value[i], (double)b->value[i]));
    }
    return add_shares(
        "by feature (SHAP values)", "feature", rows,
        two ? "share=A - B=+;a=A=+;b=B=+;value_a=value A=%.6g;value_b=value B=%.6g;feature;name"
            : "share=SHAP value=+;-a;value_a=value=%.6g;feature;name");
}

/* Adds a table of trees: for two documents, those in which they reach different leaves; for one
 * document, all. */
static json_t *add_trees(const struct rw_cli *cli)
{
    const int two = docs.n == 2, b = docs.n - 1;
    json_t *rows = json_array();
    for (int t = 0; t < job.n_trees; t++) {
        const double of_a = leaf_of(cli, 0, t), of_b = leaf_of(cli, b, t);
        if (!two || side[0].leaf[t] != side[1].leaf[t])
            without_b(rw_result_add(rows, "tree:i share:n a:n b:n leaf_a:i leaf_b:i", t + 1,
                                    of_a - (two ? of_b : 0.0), of_a, of_b, side[0].leaf[t],
                                    side[b].leaf[t]));
    }
    return add_shares("by tree (leaves)", "tree", rows,
                      two ? "share=A - B=+;a=A=+;b=B=+;leaf_a=leaf A;leaf_b=leaf B;tree"
                          : "share=leaf value=+;leaf_a=leaf;tree");
}

static void print_pair(const struct rw_cli *cli, uint32_t query)
{
    const float *labels = rw_dataset_labels(cli->dataset);
    const char *query_name = rw_dataset_query_id(cli->dataset, query);
    const double base = job.explainer->base;
    const int two = docs.n == 2;
    const double margin = side[0].score - (two ? side[1].score : base);
    json_t *documents_of = json_array();
    rw_result_line("query %s", query_name);
    for (int s = 0; s < docs.n; s++) {
        const double label = (double)labels[side[s].doc];
        rw_result_line("%c       document %s, position %u, label %g, score %s", "AB"[s], side[s].id,
                       side[s].position, label, rw_figure(side[s].score));
        rw_result_add(documents_of, "id:s position:u label:n score:n", side[s].id, side[s].position,
                      label, side[s].score);
    }
    if (two)
        rw_result_line("A - B   %+.6f: A is %s B", margin,
                       margin > 0   ? "above"
                       : margin < 0 ? "below"
                                    : "tied with");
    add_base(cli);
    json_t *features = add_features(cli), *of_trees = add_trees(cli);
    const int n_of_one_leaf = job.n_trees - (int)json_array_size(of_trees);
    if (two)
        rw_result_line("A and B reach the same leaf in %d of %d trees", n_of_one_leaf, job.n_trees);
    rw_result_print(cli, rw_result_row("query:s documents:o margin:n base:n covers:s bound:n "
                                       "features:O trees_of_one_leaf:i trees:O",
                                       query_name, documents_of, margin, base, covers(),
                                       job.explainer->bound, features, n_of_one_leaf, of_trees));
}

static int explain_pair(struct rw_cli *cli)
{
    uint32_t query;
    RW_STEP(find_query(cli, &query));
    for (int s = 0; s < docs.n; s++) {
        RW_STEP(find_doc(cli, query, docs.text[s], &side[s].doc));
        RW_STEP(fill_side(cli, query, &side[s]));
    }
    float *column = rw_need(rw_dataset_n_docs(cli->dataset), sizeof(*column));
    for (int i = 0; i < job.n; i++) {
        rw_dataset_feature(cli->dataset, job.explainer->features[i], NAN, column);
        for (int s = 0; s < docs.n; s++)
            side[s].value[i] = column[side[s].doc];
    }
    print_pair(cli, query);
    return 0;
}

/* ---- the command ---- */

/* Fails on options without an effect in combination with the others. */
static int check(struct rw_cli *cli)
{
    const struct rw_param_info *info;
    const int summary = !query_id && !documents, permutes = summary && repeats > 0;
    if (!query_id != (docs.n == 0))
        return rw_wrong(cli, "'--query' and '--doc' need each other");
    if (docs.n > 2)
        return rw_wrong(cli, "%d documents; expected one or two '--doc'", docs.n);
    if (top && rw_prints_all(cli))
        return rw_wrong(cli, "'--top' has no effect with '%s'", rw_prints_all(cli));
    if (documents && cli->format == RW_FORMAT_LATEX)
        return rw_wrong(cli, "'--documents' can be printed as text, json or csv");
    for (int i = 0; !permutes && (info = rw_param_info(i)) != NULL; i++) {
        if ((info->roles & (RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS)) ||
            strcmp(info->name, "seed") == 0)
            RW_STEP(rw_params_no_effect(cli->ctx, cli->params, info->name, "without permutations"));
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
    .brief = "explain features, or why one document ranks above another",
    .operands = "MODEL DATA... [--query Q --doc A [--doc B]]",
    .about = "Explains a model or a ranking. Prints the importance of each feature by SHAP values, "
             "gain, splits and permutation; or explains why one document ranks above another. A "
             "document's score is the sum of its SHAP values and the base, the sum of the trees' "
             "mean leaf values. SHAP values and the base depend on the number of training "
             "documents in each node. If the model lacks these counts (imported without them, or "
             "from release 0.2.0 or earlier), the documents of DATA are counted instead.",
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " seed threads ",
    .check = check,
    .run = run,
};
