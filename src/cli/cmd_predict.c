/* `rankwood predict` scores data chunk by chunk, so that memory does not grow with the input. A
 * TREC run also needs memory for the documents of one query. */
#include "cli/cli.h"

static const char *output, *run_output, *trees;
static int leaf_ids, probability;
static const struct rw_option options[] = {
    {"output", "SCORES", "write the scores to this file [default: standard output]",
     RW_OPTION_OUTPUT, .value = &output},
    {"trees", "N", "use only the first N trees [default: all]", RW_OPTION_TEXT, .value = &trees},
    {"probability", NULL,
     "print probabilities instead of scores; needs a model with a calibration (see 'calibrate')",
     RW_OPTION_FLAG, .value = &probability, .idle_with = " leaf-ids "},
    {"leaf-ids", NULL, "print the leaf number in each tree instead of the score", RW_OPTION_FLAG,
     .value = &leaf_ids},
    {"trec", "RUN", "write a TREC run to this file; scores are then written only if -o is given",
     RW_OPTION_OUTPUT, .value = &run_output},
    {0},
};

/* ---- a TREC run ---- */

/* A document of a TREC run. Lines are "qid Q0 docid rank score tag", sorted by falling score in
 * each query. */
struct trec_doc {
    double score;
    size_t position; /* in the query, from 0 */
    char *id;        /* owned */
};

static struct {
    int n_trees;
    struct rw_out_file trec; /* the TREC run; scores are written to cli->out */
    char *query;             /* id of the current query of the run; owned; NULL before the first */
    struct trec_doc *doc;    /* [n_docs] the current query's documents; owned */
    size_t n_docs, room;
    double *number; /* [n_numbers] of a chunk: probabilities, or scores if leaves are written */
    uint32_t n_numbers;
    unsigned char seen[RW_FEATURE_IDS]; /* 1: a chunk had the feature */
    uint64_t n_read;                    /* documents */
    uint32_t width;                     /* rw_dataset_width of the chunks */
} job;

/* Sorts by falling score, then by input order. */
static int by_rank(const void *a, const void *b)
{
    const struct trec_doc *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

/* Writes the current query to the run, and removes its documents from job.doc. */
static void finish_query(void)
{
    if (job.n_docs > 0)
        qsort(job.doc, job.n_docs, sizeof(*job.doc), by_rank);
    for (size_t i = 0; i < job.n_docs; i++) {
        fprintf(job.trec.file, "%s Q0 %s %zu %s rankwood\n", job.query, job.doc[i].id, i + 1,
                rw_exact(job.doc[i].score));
        free(job.doc[i].id);
    }
    job.n_docs = 0;
}

/* Adds a document to the run. If its query is not the current one, first writes the current one. */
static void add_to_run(const struct rw_dataset *chunk, uint32_t query, uint32_t doc, double score)
{
    const char *query_id = rw_dataset_query_id(chunk, query);
    char id[512], *made = NULL;
    if (!job.query || strcmp(job.query, query_id) != 0) {
        finish_query();
        free(job.query);
        job.query = strdup(query_id);
    }
    if (job.n_docs == job.room) {
        job.room = 2 * job.room + 256;
        job.doc = realloc(job.doc, job.room * sizeof(*job.doc));
    }
    rw_dataset_doc_id(chunk, doc, id, sizeof(id));
    if (!job.query || !job.doc ||
        (*id ? asprintf(&made, "%s", id) : asprintf(&made, "%s-%zu", query_id, job.n_docs + 1)) < 0)
        rw_no_memory();
    job.doc[job.n_docs] = (struct trec_doc){score, job.n_docs, made};
    job.n_docs++;
}

static int add_chunk_to_run(const struct rw_dataset *chunk, const double *scores)
{
    const uint32_t *offset = rw_dataset_query_offsets(chunk);
    for (uint32_t q = 0; q < rw_dataset_n_queries(chunk); q++) {
        if (strchr(rw_dataset_query_id(chunk, q), ' ')) {
            rw_msg_error("a TREC run cannot represent the query id '%.200s', which has a blank",
                         rw_dataset_query_id(chunk, q));
            return RW_EXIT_FAILURE;
        }
        for (uint32_t d = offset[q]; d < offset[q + 1]; d++)
            add_to_run(chunk, q, d, scores[d]);
    }
    return 0;
}

/* ---- the work ---- */

static void make_room(uint32_t n)
{
    if (n <= job.n_numbers)
        return;
    job.number = rw_need(n, sizeof(*job.number));
    job.n_numbers = n;
}

/* Writes a chunk's scores, probabilities or leaf ids, and adds it to the TREC run. With --leaf-ids,
 * `scores` is NULL, because reading with a scorer may drop the values that leaf ids need; the
 * scores for a TREC run are then computed here. */
static int take_chunk(void *user, const struct rw_dataset *chunk, const double *scores)
{
    struct rw_cli *cli = user;
    const uint32_t n = rw_dataset_n_docs(chunk);
    job.n_read += n;
    job.width = rw_dataset_width(chunk);
    if (leaf_ids)
        rw_dataset_note_features(chunk, job.seen);
    if (leaf_ids && cli->scorer) {
        make_room(n);
        RW_STEP(rw_scorer_run(cli->ctx, cli->scorer, chunk, job.number));
        scores = job.number;
    }
    if (run_output)
        RW_STEP(add_chunk_to_run(chunk, scores));
    if (!cli->out.file)
        return 0;
    if (probability) {
        make_room(n);
        RW_STEP(rw_model_probabilities(cli->ctx, cli->model, scores, n, job.number));
        scores = job.number;
    }
    return rw_score_lines(cli->ctx, cli->model, chunk, job.n_trees, leaf_ids ? NULL : scores,
                          &cli->out);
}

static int check(struct rw_cli *cli)
{
    const char *device = rw_params_get(cli->params, "device");
    if (leaf_ids && !output && run_output && strcmp(run_output, "-") == 0)
        return rw_wrong(cli,
                        "'--leaf-ids' and '--trec -' both write to standard output: pass '-o'");
    if (probability && trees)
        return rw_wrong(cli, "'--probability' needs the scores of all trees: omit '--trees'");
    if (probability && run_output && !output)
        return rw_wrong(cli, "'--probability' has no effect on a TREC run: also pass '-o'");
    if (leaf_ids && !run_output && strncmp(device, "cuda", 4) == 0)
        return rw_wrong(cli, "'--device %s' has no effect with '--leaf-ids', which uses the CPU",
                        device);
    return 0;
}

static int run(struct rw_cli *cli)
{
    struct rw_ctx *ctx = cli->ctx;
    RW_STEP(rw_load_model(cli, cli->operands.text[0], &cli->model));
    RW_STEP(rw_load_n_trees(cli, trees, &job.n_trees));
    if (probability) /* checks the model before the data is read */
        RW_STEP(rw_model_probabilities(ctx, cli->model, NULL, 0, NULL));
    if (!leaf_ids || run_output)
        RW_STEP(rw_scorer_open(ctx, cli->model, job.n_trees, rw_params_get(cli->params, "device"),
                               &cli->scorer));
    rw_load_stage_end("read the model");
    RW_STEP(rw_load_columns(cli, NULL, cli->model,
                            run_output ? RW_LOAD_SCORES_BY_QUERY : RW_LOAD_SCORES));
    if (run_output)
        RW_STEP(rw_out_file_open(ctx, &job.trec, run_output));
    if (output || leaf_ids || !run_output)
        RW_STEP(rw_out_file_open(ctx, &cli->out, output ? output : "-"));
    RW_STEP(rw_dataset_read_each(ctx, cli->operands.text + 1, cli->operands.n - 1,
                                 leaf_ids ? NULL : cli->scorer, job.seen, take_chunk, cli));
    rw_load_stage_end("read, score and write");
    RW_STEP(rw_load_check_columns(cli));
    finish_query();
    if (run_output)
        RW_STEP(rw_out_file_commit(ctx, &job.trec));
    if (cli->out.file)
        RW_STEP(rw_out_file_commit(ctx, &cli->out));
    rw_load_stage_end("finish the files");
    if (!job.width)
        rw_model_warn_lacking(ctx, cli->model, job.n_read, job.seen);
    return 0;
}

const struct rw_command rw_cmd_predict = {
    .name = "predict",
    .brief = "score documents with a model",
    .operands = "MODEL DATA...",
    .about = "Scores documents and prints one score per line, in the order of the input. Scores "
             "are identical on every device, and are printed with every digit.",
    .options = options,
    .roles = RW_ROLE_TABLE,
    .params = " threads device ",
    .check = check,
    .run = run,
};
