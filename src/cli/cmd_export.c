/* rankwood export: a model in another program's format, and the proof that it is the same model. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/formats_help.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/talk.h"

struct job {
    struct rw_said said;
    const char *to, *verify, *base, *output;
    int lossy;
    struct rw_exchange how;
    struct rw_list files;       /* of --verify: views of `copy` */
    char *copy;                 /* owned */
    struct rw_model *model;     /* owned */
    struct rw_dataset *dataset; /* owned */
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

static uint32_t query_of(const struct rw_dataset *dataset, uint32_t doc)
{
    const uint32_t *offset = rw_dataset_query_offsets(dataset);
    uint32_t low = 0, high = rw_dataset_n_queries(dataset);
    while (high - low > 1) {
        const uint32_t middle = low + (high - low) / 2;
        if (offset[middle] <= doc)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static void print_first(const struct job *job, const struct rw_verify_by *by)
{
    const uint32_t q = query_of(job->dataset, by->doc);
    const uint32_t place = by->doc - rw_dataset_query_offsets(job->dataset)[q] + 1;
    printf("  first: document %u (query %s, place %u): ", by->doc + 1,
           rw_dataset_query_id(job->dataset, q), place);
    if (by->tree == 0) {
        printf("its score is further away than sums can be\n");
        return;
    }
    const struct rw_node node = rw_model_node(job->model, by->tree - 1, by->node);
    printf("tree %d, node %d, feature %u: cut %.9g, missing %s\n", by->tree, by->node, node.feature,
           (double)node.cut, node.missing_left ? "left" : "right");
}

/* The exit code. */
static int print_verified(const struct job *job, const struct rw_verify *verify)
{
    int code = RW_EXIT_OK;
    for (int i = 0; i < verify->n; i++) {
        const struct rw_verify_by *by = &verify->by[i];
        char a[32], b[32];
        printf("%s%s: %s\n", by->consumer, by->earlier ? " (an earlier version)" : "", by->rules);
        printf("  %s of %s documents differ", grouped(by->n_differ, a), grouped(by->n_docs, b));
        printf("; scores by at most %.2g; ", by->most);
        printf("%s of %s pairs change order\n", grouped(by->n_pairs_moved, a),
               grouped(by->n_pairs, b));
        if (by->n_differ == 0)
            continue;
        print_first(job, by);
        if (!by->earlier)
            code = RW_EXIT_FAILURE;
    }
    return code;
}

static int run(struct job *job)
{
    struct rw_ctx *ctx = job->said.ctx;
    struct rw_verify verify;
    int code = RW_EXIT_OK;
    int status = rw_load_model(ctx, job->said.operands.text[0], &job->model);
    if (status >= 0 && job->verify)
        status = rw_load_dataset(ctx, &job->files, &job->dataset);
    if (status >= 0)
        status = rw_model_export(ctx, job->model, &job->how, job->output);
    if (status >= 0 && job->verify) {
        status = rw_model_verify(ctx, job->model, &job->how, job->output, job->dataset, &verify);
        if (status >= 0)
            code = print_verified(job, &verify);
    }
    if (status < 0)
        code = rw_talk_failed(ctx, status, "export");
    return code;
}

static int check_files(const struct rw_usage *usage, struct job *job)
{
    int code = job->verify ? rw_options_split(usage, job->verify, &job->copy, &job->files) : 0;
    const struct rw_list lists[] = {job->said.operands, job->files};
    return code == 0 ? rw_options_check_files(usage, lists, 2, job->output) : code;
}

static int check(const struct rw_usage *usage, struct job *job)
{
    if (!job->to)
        return rw_options_wrong(usage, "'export' needs --to FORMAT");
    if (!job->output)
        return rw_options_wrong(usage, "'export' needs -o FILE");
    int code = rw_formats_check(usage, "--to", job->to, 0);
    if (code == 0)
        code = rw_formats_base(usage, job->base, &job->how.feature_base);
    if (code != 0)
        return code;
    job->how.format = job->to;
    job->how.lossy = job->lossy;
    const int to_stdout = strcmp(job->output, "-") == 0;
    if (job->verify && to_stdout)
        return rw_options_wrong(usage, "'--verify' reads the file back: give '-o' a name");
    code = check_files(usage, job);
    if (code != 0)
        return code;
    return rw_output_check(job->output) < 0 ? RW_EXIT_FAILURE : -1;
}

int rw_cmd_export(int argc, char **argv)
{
    struct job job = {0};
    const struct rw_option options[] = {
        {"to", 0, "FORMAT", "which format (needed)", RW_OPTION_TEXT, &job.to},
        {"verify", 0, "DATA",
         "score these documents under the rules of the format's readers, and say which go "
         "elsewhere; "
         "exit 1 if any does",
         RW_OPTION_TEXT, &job.verify},
        {"feature-base", 0, "0|1",
         "the feature that has the format's first id [default: ids stay as they are]",
         RW_OPTION_TEXT, &job.base},
        {"lossy", 0, NULL, "leave out, with a warning, what the format cannot say", RW_OPTION_FLAG,
         &job.lossy},
        {"output", 'o', "FILE", "where the model goes (needed)", RW_OPTION_TEXT, &job.output},
        {0},
    };
    char *about = rw_formats_about("Writes a model for another program, so that it sends every "
                                   "document to the same leaf of every tree. What the "
                                   "format cannot say exactly is refused, by tree and node.",
                                   0);
    const struct rw_usage usage = {
        .command = "export",
        .operands = "MODEL --to FORMAT -o FILE",
        .about = about ? about : "",
        .least = 1,
        .most = 1,
        .options = options,
    };
    int code = rw_options_parse(&usage, argc, argv, &job.said);
    if (code < 0)
        code = check(&usage, &job);
    if (code < 0)
        code = run(&job);
    rw_model_free(job.model);
    rw_dataset_free(job.dataset);
    free(job.files.text);
    free(job.copy);
    rw_options_release(&usage, &job.said);
    free(about);
    return code;
}
