/* rankwood predict: scores, piece by piece, so that memory does not grow with the input. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "cli/trec.h"

struct job {
    struct rw_said said;
    const char *output, *run, *trees;
    int leaf_ids;
    int n_trees;                    /* resolved */
    struct rw_list files;           /* the data: view of the operands after the model */
    struct rw_model *model;         /* owned */
    struct rw_predictor *predictor; /* owned; NULL: no scores are wanted */
    struct rw_output lines, trec_out;
    struct rw_trec trec;
    double *scores;  /* [room] owned */
    int32_t *leaves; /* [leaf_room] owned */
    size_t room, leaf_room;
    unsigned char seen[RW_FEATURE_IDS]; /* 1: the data had it so far */
};

static int grow(void **array, size_t *room, size_t n, size_t size)
{
    if (n <= *room)
        return 0;
    free(*array);
    *array = calloc(n, size);
    *room = *array ? n : 0;
    return *array ? 0 : -1;
}

/* One line a document: its score, or its leaves. */
static int write_lines(struct job *job, const struct rw_dataset *piece)
{
    const uint32_t n = rw_dataset_n_docs(piece);
    const size_t n_trees = (size_t)job->n_trees;
    char figure[RW_FIGURE_ROOM];
    if (!job->lines.file)
        return RW_OK;
    for (uint32_t d = 0; d < n && !job->leaf_ids; d++) {
        const int length = rw_load_exact(job->scores[d], figure);
        figure[length] = '\n';
        fwrite(figure, 1, (size_t)length + 1, job->lines.file);
    }
    if (!job->leaf_ids)
        return RW_OK;
    const int status =
        rw_predict_leaves(job->said.ctx, job->model, piece, job->n_trees, job->leaves);
    for (uint32_t d = 0; d < n && status >= 0; d++) {
        for (size_t t = 0; t < n_trees; t++)
            fprintf(job->lines.file, t ? " %d" : "%d", (int)job->leaves[d * n_trees + t]);
        fputc('\n', job->lines.file);
    }
    return status;
}

/* A status, or 1 after having said what failed. */
static int score_piece(struct job *job, const struct rw_dataset *piece)
{
    const uint32_t n = rw_dataset_n_docs(piece), n_queries = rw_dataset_n_queries(piece);
    const uint32_t *offset = rw_dataset_query_offsets(piece);
    int no_memory = 0;
    if (job->predictor)
        no_memory = grow((void **)&job->scores, &job->room, n, sizeof(*job->scores)) < 0;
    if (job->leaf_ids)
        no_memory |= grow((void **)&job->leaves, &job->leaf_room, (size_t)n * (size_t)job->n_trees,
                          sizeof(*job->leaves)) < 0;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (!job->seen[f])
            job->seen[f] = rw_dataset_has_feature(piece, f) != 0;
    }
    if (!no_memory) {
        int status = RW_OK;
        if (job->predictor)
            status = rw_predictor_run(job->predictor, piece, job->scores);
        if (status >= 0)
            status = write_lines(job, piece);
        if (status < 0)
            return status;
    }
    for (uint32_t q = 0; q < n_queries && job->run && !no_memory; q++) {
        for (uint32_t d = offset[q]; d < offset[q + 1] && !no_memory; d++)
            no_memory = rw_trec_add(&job->trec, piece, q, d, job->scores[d]) < 0;
    }
    if (no_memory)
        rw_talk_out_of_memory();
    return no_memory;
}

static void warn_unmatched(const struct job *job)
{
    static unsigned char used[RW_FEATURE_IDS];
    uint32_t n_missing = 0, n_unknown = 0;
    for (int t = 0; t < job->n_trees; t++) {
        for (int node = 0; node < rw_model_n_leaves(job->model, t) - 1; node++)
            used[rw_model_node(job->model, t, node).feature % RW_FEATURE_IDS] = 1;
    }
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        n_missing += used[f] && !job->seen[f];
        n_unknown += job->seen[f] && !rw_model_had_feature(job->model, f);
    }
    rw_load_warn_unmatched(n_missing, n_unknown);
}

static int run(const struct rw_usage *usage, struct job *job)
{
    struct rw_ctx *ctx = job->said.ctx;
    struct rw_reader *reader = NULL;
    struct rw_dataset *piece = NULL;
    int status = rw_load_model(ctx, job->said.operands.text[0], &job->model);
    if (status < 0)
        return rw_talk_failed(ctx, status, "predict");
    int code = rw_load_n_trees(usage, job->model, job->trees, &job->n_trees);
    if (code != 0)
        return code;
    if (!job->leaf_ids || job->run)
        status = rw_predictor_open(ctx, job->model, job->n_trees,
                                   rw_params_get(job->said.params, "device"), &job->predictor);
    if (status >= 0)
        status = rw_reader_open(ctx, job->files.text, job->files.n, &reader);
    if (status < 0)
        return rw_talk_failed(ctx, status, "predict");
    code = RW_EXIT_FAILURE;
    if ((job->run && rw_output_open(&job->trec_out, job->run) < 0) ||
        ((job->output || job->leaf_ids || !job->run) &&
         rw_output_open(&job->lines, job->output ? job->output : "-") < 0))
        goto out;
    job->trec.file = job->trec_out.file;
    while ((status = rw_reader_next(ctx, reader, &piece)) >= 0 && piece) {
        status = score_piece(job, piece);
        rw_dataset_free(piece);
        piece = NULL;
        if (status != 0)
            break;
    }
    if (status != 0) {
        code = status < 0 ? rw_talk_failed(ctx, status, "predict") : RW_EXIT_FAILURE;
        goto out;
    }
    rw_trec_finish(&job->trec);
    if ((job->trec_out.file && rw_output_commit(&job->trec_out) < 0) ||
        (job->lines.file && rw_output_commit(&job->lines) < 0))
        goto out;
    warn_unmatched(job);
    code = RW_EXIT_OK;
out:
    rw_output_abandon(&job->lines);
    rw_output_abandon(&job->trec_out);
    rw_reader_close(reader);
    return code;
}

static int check(const struct rw_usage *usage, struct job *job)
{
    job->files = (struct rw_list){job->said.operands.text + 1, job->said.operands.n - 1};
    int code = rw_options_check_files(usage, &job->said.operands, 1, job->output);
    if (code == 0)
        code = rw_options_check_files(usage, &job->said.operands, 1, job->run);
    if (code != 0)
        return code;
    if (job->output && job->run && rw_output_clash(job->output, job->run))
        return rw_options_wrong(usage, "'-o' and '--trec' name the same file");
    if (job->leaf_ids && !job->output && job->run && strcmp(job->run, "-") == 0)
        return rw_options_wrong(
            usage, "'--leaf-ids' and '--trec -' both go to standard output: give '-o'");
    const char *device = rw_params_get(job->said.params, "device");
    if (job->leaf_ids && !job->run && strncmp(device, "cuda", 4) == 0)
        return rw_options_wrong(
            usage, "'--device %s' has no effect with '--leaf-ids': leaves are found on the CPU",
            device);
    if ((job->output && rw_output_check(job->output) < 0) ||
        (job->run && rw_output_check(job->run) < 0))
        return RW_EXIT_FAILURE;
    return -1;
}

int rw_cmd_predict(int argc, char **argv)
{
    static struct job job;
    const struct rw_option options[] = {
        {"output", 'o', "SCORES", "where the scores go [default: standard output]", RW_OPTION_TEXT,
         &job.output},
        {"trees", 0, "N", "use the first N trees [default: all]", RW_OPTION_TEXT, &job.trees},
        {"leaf-ids", 0, NULL, "print each tree's leaf instead of the score", RW_OPTION_FLAG,
         &job.leaf_ids},
        {"trec", 0, "RUN", "write a TREC run (and no scores, unless -o names a file for them)",
         RW_OPTION_TEXT, &job.run},
        {0},
    };
    const struct rw_usage usage = {
        .command = "predict",
        .operands = "MODEL DATA...",
        .about = "Scores documents: one score a line, in the order of the input. A score printed "
                 "and read back is the same number, and the same on every device.",
        .least = 2,
        .most = -1,
        .options = options,
        .params = " threads device ",
    };
    int code = rw_options_parse(&usage, argc, argv, &job.said);
    if (code < 0)
        code = check(&usage, &job);
    if (code < 0)
        code = run(&usage, &job);
    rw_trec_release(&job.trec);
    free(job.scores);
    free(job.leaves);
    rw_predictor_close(job.predictor);
    rw_model_free(job.model);
    rw_options_release(&usage, &job.said);
    return code;
}
