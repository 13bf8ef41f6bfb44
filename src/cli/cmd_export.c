/* rankwood export: a model in another program's format, and the proof that it is the same model. */
#include <string.h>

#include "cli/exchange_help.h"
#include "cli/load.h"
#include "cli/messages.h"

static const char *output;
static struct rw_exchange how;
static const char *base;
static struct rw_list verify;
static const struct rw_option options[] = {
    {"to", 0, "FORMAT", "which format (needed)", RW_OPTION_TEXT, .value = &how.format, .needed = 1},
    {"verify", 0, "DATA",
     "score these documents under the rules of the format's readers, and list those that reach "
     "another leaf; exit 1 if any does",
     RW_OPTION_INPUTS, .value = &verify},
    {"featureset", 0, "FILE.json",
     "to opensearch, elasticsearch (needed): the feature set, as GET _ltr/_featureset/NAME gives "
     "it; its features are found by name if the model has names, else by place",
     RW_OPTION_INPUT, .value = &how.featureset},
    {"name", 0, "NAME", "to opensearch, elasticsearch (needed): what the model is called there",
     RW_OPTION_TEXT, .value = &how.name},
    {"feature-base", 0, "0|1|auto",
     "the feature that has the format's first id; auto: 0 if the model has a feature 0, else 1 "
     "[default: ids stay as they are]",
     RW_OPTION_TEXT, .value = &base},
    {"lossy", 0, NULL, "leave out, with a warning, what the format cannot express", RW_OPTION_FLAG,
     .value = &how.lossy},
    {"output", 'o', "FILE", "where the model goes (needed)", RW_OPTION_OUTPUT, .value = &output,
     .needed = 1},
    {0},
};

/* 1234567 as 1,234,567. */
static const char *grouped(unsigned long long number, char buffer[32])
{
    char digits[24];
    const int n = snprintf(digits, sizeof(digits), "%llu", number);
    char *to = buffer;
    for (int i = 0; i < n; i++) {
        if (i > 0 && (n - i) % 3 == 0)
            *to++ = ',';
        *to++ = digits[i];
    }
    *to = 0;
    return buffer;
}

static void print_first(const struct rw_cli *cli, const struct rw_verify_by *by)
{
    const uint32_t *offset = rw_dataset_query_offsets(cli->dataset);
    uint32_t q = 0;
    while (offset[q + 1] <= by->doc)
        q++;
    printf("  first: document %u (query %s, position %u): ", by->doc + 1,
           rw_dataset_query_id(cli->dataset, q), by->doc - offset[q] + 1);
    if (by->tree == 0) {
        printf("its score is further away than sums can be\n");
        return;
    }
    const struct rw_node node = rw_model_node(cli->model, by->tree - 1, by->node);
    if (node.by_category)
        printf("tree %d, node %d, feature %u: categories, missing %s\n", by->tree, by->node,
               node.feature, node.missing_left ? "left" : "right");
    else
        printf("tree %d, node %d, feature %u: threshold %.9g, missing %s\n", by->tree, by->node,
               node.feature, (double)node.cut, node.missing_left ? "left" : "right");
}

/* The exit code. */
static int print_verified(const struct rw_cli *cli, const struct rw_verify *verified)
{
    int code = RW_EXIT_OK;
    for (int i = 0; i < verified->n; i++) {
        const struct rw_verify_by *by = &verified->by[i];
        char a[32], b[32];
        printf("%s%s: %s\n", by->consumer, by->earlier ? " (an earlier version)" : "", by->rules);
        printf("  %s of %s documents differ", grouped(by->n_differ, a), grouped(by->n_docs, b));
        printf("; scores by at most %.2g; ", by->most);
        printf("%s of %s pairs change order\n", grouped(by->n_pairs_moved, a),
               grouped(by->n_pairs, b));
        if (by->n_differ == 0)
            continue;
        print_first(cli, by);
        if (!by->earlier)
            code = RW_EXIT_FAILURE;
    }
    return code;
}

void rw_list_formats(FILE *out, int imports)
{
    struct rw_model_format_info info;
    fputs("\n\nFormats:\n", out);
    for (int i = 0; rw_model_format_at(i, &info); i++) {
        if (info.imports || !imports)
            fprintf(out, "  %-14s %s\n", info.name, info.about);
    }
}

int rw_take_feature_base(struct rw_cli *cli, const char *text, struct rw_exchange *exchange)
{
    if (text && strcmp(text, "auto") != 0 && strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return rw_wrong(cli, "option '--feature-base': expected 0, 1 or auto, found '%s'", text);
    exchange->feature_base = !text ? -1 : strlen(text) == 1 ? text[0] - '0' : RW_FEATURE_BASE_AUTO;
    return 0;
}

static void more(FILE *out)
{
    rw_list_formats(out, 0);
}

static int check(struct rw_cli *cli)
{
    RW_STEP(rw_take_feature_base(cli, base, &how));
    if (verify.n > 0 && strcmp(output, "-") == 0)
        return rw_wrong(cli, "'--verify' reads the file back: give '-o' a name");
    return rw_exchange_check(cli->ctx, &how, 0);
}

static int run(struct rw_cli *cli)
{
    struct rw_verify verified;
    RW_STEP(rw_load_model(cli, cli->operands.text[0], &cli->model));
    if (verify.n > 0)
        RW_STEP(rw_load_dataset(cli, &verify, &cli->dataset));
    RW_STEP(rw_model_export(cli->ctx, cli->model, &how, output));
    if (verify.n == 0)
        return 0;
    RW_STEP(rw_model_verify(cli->ctx, cli->model, &how, output, cli->dataset, &verified));
    return print_verified(cli, &verified);
}

const struct rw_command rw_cmd_export = {
    .name = "export",
    .brief = "write a model in another program's format, and verify it",
    .operands = "MODEL --to FORMAT -o FILE",
    .about = "Writes a model for another program, so that it sends every document to the same leaf "
             "of every tree. What the format cannot express is refused, by tree and node.",
    .more = more,
    .least = 1,
    .most = 1,
    .options = options,
    .roles = RW_ROLE_TABLE,
    .check = check,
    .run = run,
};
