/* `rankwood report` writes a model and its ranking of data as one web page. */
#include "cli/cli.h"

static struct rw_list valid, against;
static const char *output;
static unsigned long long trees = 3, repeats = 1;
static struct rw_report_options how;
static const struct rw_option options[] = {
    {"valid", "DATA", "data to rank and measure: a file, or several as a.txt,b.txt (required)",
     RW_OPTION_INPUTS, .value = &valid, .needed = 1},
    {"output", "FILE", "write the page to this file (required)", RW_OPTION_OUTPUT, .value = &output,
     .needed = 1},
    {"against", "DATA",
     "also show how DATA of --valid drifts from this reference, such as the training set",
     RW_OPTION_INPUTS, .value = &against},
    {"title", "TEXT", "title of the page [default: Ranking report]", RW_OPTION_TEXT,
     .value = &how.title},
    {"trees", "N", "draw the top levels of the first N trees, 0 to 100 [default: 3]",
     RW_OPTION_NUMBER, .value = &trees, .range = {0, 100}},
    {"repeats", "N", "permutations per feature; 0: no permutation importance [default: 1]",
     RW_OPTION_NUMBER, .value = &repeats, .range = {0, 1000}},
    {"like", "PROGRAM",
     "measure as another program does: lightgbm, xgboost, xgboost- (its ndcg@k-), catboost, "
     "ranklib, quickrank, ydf, trec, gdeval or ranx; permutation importance does not use it",
     RW_OPTION_TEXT, .value = &how.like},
    {0},
};

static int check(struct rw_cli *cli)
{
    if (repeats == 0)
        RW_STEP(rw_params_no_effect(cli->ctx, cli->params, "seed", "without permutations"));
    return how.like ? rw_load_check_like(cli, how.like) : 0;
}

static int run(struct rw_cli *cli)
{
    static struct rw_dataset *reference;
    how.model_name = cli->operands.text[0];
    how.data_name = rw_joined(&valid);
    how.n_trees = (int)trees;
    how.n_repeats = (int)repeats;
    RW_STEP(rw_load_model_and_data(cli, &valid));
    if (against.n > 0) {
        RW_STEP(rw_load_dataset(cli, &against, 0, &reference));
        how.against = reference;
        how.against_name = rw_joined(&against);
    }
    RW_STEP(rw_out_file_open(cli->ctx, &cli->out, output));
    RW_STEP(rw_progress_follow(cli->ctx));
    RW_STEP(rw_report(cli->ctx, rw_params_eval(cli->params), cli->model, cli->dataset, &how,
                      cli->out.file));
    rw_load_stage_end("report");
    return rw_out_file_commit(cli->ctx, &cli->out);
}

const struct rw_command rw_cmd_report = {
    .name = "report",
    .brief = "write a web page about a model",
    .operands = "MODEL --valid DATA -o FILE.html",
    .about = "Writes a web page about a model, in one file that needs no network. It shows "
             "learning curves, the first metric by query and by query size, scores by label, "
             "features by gain and permutation, drift, the first trees, and the parameters.",
    .options = options,
    .roles = RW_ROLE_EVALUATION | RW_ROLE_WEIGHTS | RW_ROLE_TABLE,
    .params = " seed threads ",
    .check = check,
    .run = run,
};
