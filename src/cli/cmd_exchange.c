/* `rankwood export` writes a model in another program's format. With --verify, it also reads the
 * file back and compares its scores with the model's. `rankwood import` reads a model that another
 * program trained. */
#include "cli/cli.h"

extern const struct rw_command rw_cmd_export;
static const char *output;
static struct rw_exchange how;
enum { BASE_0, BASE_1, BASE_AUTO }; /* the values of --feature-base */
static int base = -1;               /* -1: not given */
static struct rw_list verify;
static const struct rw_option options[] = {
    {"to", "FORMAT", "format of the exported model, one of those above (required)", RW_OPTION_TEXT,
     .value = &how.format, .needed = 1},
    {"verify", "DATA",
     "score these documents by the rules of the programs that read the format, and print the "
     "differences; fail (exit 1) if a leaf differs, or a score by more than rounding",
     RW_OPTION_INPUTS, .value = &verify},
    {"featureset", "FILE.json",
     "feature set for opensearch and elasticsearch (required there), as GET _ltr/_featureset/NAME "
     "returns it; for elasticsearch-ml, {\"feature_extractors\": [...]}; for solr, as GET "
     "schema/feature-store/NAME returns it; features match by name, or by position if the model "
     "has no names",
     RW_OPTION_INPUT, .value = &how.featureset},
    {"name", "NAME",
     "name of the model for opensearch, elasticsearch and elasticsearch-ml (required there), and "
     "for solr [default there: rankwood]",
     RW_OPTION_TEXT, .value = &how.name},
    {"feature-base", "0|1|auto",
     "id of the feature that becomes the format's first (XGBoost: f0): 0 or 1; auto: 0 if the "
     "model has a feature 0, else 1 [default: same ids; 1 with --featureset and no feature names]",
     RW_OPTION_CHOICE, .value = &base},
    {"lossy", NULL,
     "leave out properties that the format cannot represent, such as directions of missing values, "
     "with a warning; scores of some documents can change",
     RW_OPTION_FLAG, .value = &how.lossy},
    {"output", "FILE", "write the exported model to this file (required)", RW_OPTION_OUTPUT,
     .value = &output, .needed = 1},
    {0},
};

/* Formats 1234567 as 1,234,567. */
static const char *grouped(unsigned long long number)
{
    const char *low = "";
    for (; number >= 1000; number /= 1000)
        low = rw_text(",%03llu%s", number % 1000, low);
    return rw_text("%llu%s", number, low);
}

/* Prints the first document that differs, and where: the tree, node and feature at which its path
 * leaves the path in the model, or that only the score differs. Stores the document and this
 * description in the row. */
static void add_first(const struct rw_cli *cli, json_t *row, const struct rw_verify_by *by)
{
    const uint32_t *offset = rw_dataset_query_offsets(cli->dataset);
    const char *where = "its score differs by more than rounding of sums can explain",
               *threshold = "categories";
    uint32_t q = 0;
    while (offset[q + 1] <= by->doc)
        q++;
    if (by->tree > 0) {
        const struct rw_tree_view tree = rw_model_tree(cli->model, by->tree - 1);
        if (!tree.by_category || !tree.by_category[by->node])
            threshold = rw_text("threshold %.9g", (double)tree.cut[by->node]);
        where = rw_text("tree %d, node %d, feature %u: %s, missing %s", by->tree, by->node,
                        tree.feature[by->node], threshold,
                        tree.missing_left[by->node] ? "left" : "right");
    }
    const char *query = rw_dataset_query_id(cli->dataset, q);
    const uint32_t position = by->doc - offset[q] + 1;
    rw_result_line("  first: document %u (query %s, position %u): %s", by->doc + 1, query, position,
                   where);
    rw_result_set(row, "first:u first_query:s first_position:u first_where:s", by->doc + 1, query,
                  position, where);
}

/* Prints the verification. Returns the exit code: a failure if documents differ by the rules of a
 * current version of a program. */
static int print_verified(const struct rw_cli *cli, const struct rw_verify *verified)
{
    json_t *rows = json_array();
    int code = RW_EXIT_OK;
    for (int i = 0; i < verified->n; i++) {
        const struct rw_verify_by *by = &verified->by[i];
        json_t *row = rw_result_add(rows,
                                    "consumer:s rules:s earlier:b documents:u differ:u "
                                    "largest_difference:n pairs:l pairs_moved:l",
                                    by->consumer, by->rules, by->earlier, by->n_docs, by->n_differ,
                                    by->most, by->n_pairs, by->n_pairs_moved);
        rw_result_line("%s%s: %s", by->consumer, by->earlier ? " (an earlier version)" : "",
                       by->rules);
        rw_result_line(
            "  %s of %s documents differ beyond rounding; largest score difference %.2g; "
            "%s of %s pairs change order",
            grouped(by->n_differ), grouped(by->n_docs), by->most, grouped(by->n_pairs_moved),
            grouped(by->n_pairs));
        if (by->n_differ == 0)
            continue;
        add_first(cli, row, by);
        if (!by->earlier)
            code = RW_EXIT_FAILURE;
    }
    if (cli->format != RW_FORMAT_TEXT)
        rw_result_rows(NULL, rows,
                       "consumer;-rules;earlier;documents;differ;largest_difference=largest "
                       "difference=%.2g;pairs;pairs_moved=change order;-first;-first_query;"
                       "-first_position;-first_where");
    rw_result_print(cli, rw_result_row("verified:o", rows));
    return code;
}

static void list_formats(FILE *out, const struct rw_command *command)
{
    struct rw_model_format_info info;
    fputs("\nFormats:\n", out);
    for (int i = 0; rw_model_format_at(i, &info); i++) {
        if (info.imports || command == &rw_cmd_export)
            rw_help_lines(out, rw_text("  %-16s  %s", info.name, info.about));
    }
}

static void take_feature_base(void)
{
    how.feature_base = base == BASE_AUTO ? RW_FEATURE_BASE_AUTO : base;
}

static int check(struct rw_cli *cli)
{
    take_feature_base();
    if (verify.n == 0 && cli->format != RW_FORMAT_TEXT)
        return rw_wrong(cli, "'--format' and '--json' need '--verify', whose results they print");
    if (verify.n > 0 && strcmp(output, "-") == 0)
        return rw_wrong(cli, "'--verify' reads the file back: pass a file name to '-o'");
    return rw_exchange_check(cli->ctx, &how, NULL, NULL, NULL);
}

static int run(struct rw_cli *cli)
{
    struct rw_verify verified;
    RW_STEP(rw_load_model(cli, cli->operands.text[0], &cli->model));
    if (verify.n > 0)
        RW_STEP(rw_load_dataset(cli, &verify, 0, &cli->dataset));
    RW_STEP(rw_load_check_columns(cli));
    RW_STEP(rw_model_export(cli->ctx, cli->model, &how, output));
    if (verify.n == 0)
        return 0;
    RW_STEP(rw_model_verify(cli->ctx, cli->model, &how, output, cli->dataset, &verified));
    return print_verified(cli, &verified);
}

const struct rw_command rw_cmd_export = {
    .name = "export",
    .brief = "convert a model to another program's format",
    .operands = "MODEL --to FORMAT -o FILE",
    .about = "Writes a model in the format of another program, which then sends every document to "
             "the same leaf of every tree. If the format cannot represent the model, the error "
             "names the tree and the node. For OpenSearch and Elasticsearch LTR, use 'opensearch' "
             "or 'elasticsearch'; 'xgboost-dump' and 'eslr-raw' are for hand-written requests. For "
             "Elasticsearch without the plugin, use 'elasticsearch-ml'.",
    .more = list_formats,
    .has_results = 1,
    .options = options,
    .roles = RW_ROLE_TABLE,
    .check = check,
    .run = run,
};

/* ---- import ---- */

static const struct rw_option import_options[] = {
    {"from", "FORMAT", "format of FILE, one of those above (required)", RW_OPTION_TEXT,
     .value = &how.format, .needed = 1},
    {"feature-base", "0|1|auto",
     "new id of the format's first feature, such as XGBoost's f0: 0 or 1; auto: 0 if FILE names "
     "its features and the format counts them from 0, else 1 [default: same ids]",
     RW_OPTION_CHOICE, .value = &base},
    {"output", "MODEL", "write the model to this file (required)", RW_OPTION_OUTPUT,
     .value = &output, .needed = 1},
    {0},
};

static int import_check(struct rw_cli *cli)
{
    take_feature_base();
    return rw_model_import(cli->ctx, NULL, &how, &cli->model);
}

static int import_run(struct rw_cli *cli)
{
    RW_STEP(rw_model_import(cli->ctx, cli->operands.text[0], &how, &cli->model));
    return rw_model_write(cli->ctx, cli->model, output);
}

const struct rw_command rw_cmd_import = {
    .name = "import",
    .brief = "convert a model from another program's format",
    .operands = "FILE --from FORMAT -o MODEL",
    .about =
        "Reads a model of another program. Every document reaches the same leaf of every tree "
        "as in that program. If Rankwood cannot represent the model, the error names the reason.",
    .more = list_formats,
    .options = import_options,
    .check = import_check,
    .run = import_run,
};
