/* `rankwood judge` makes graded labels and propensities from a click log. */
#include "cli/cli.h"

static const char *output, *propensities;
static unsigned long long min_impressions = 10;
static int model;
static struct rw_judge how = RW_JUDGE_DEFAULTS;
static const struct rw_option options[] = {
    {"model", "pbm|dbn|ctr",
     "model of the users: pbm: the position decides whether a document is examined; dbn: users "
     "read from the top and stop when satisfied; ctr: clicks per impression, without correction "
     "[default: pbm]",
     RW_OPTION_CHOICE, .value = &model},
    {"columns", "LIST",
     "names or numbers of the log's columns of session, query, document, position and click, or of "
     "the last four if the log has no sessions [default: " RW_JUDGE_COLUMNS "]",
     RW_OPTION_TEXT, .value = &how.columns},
    {"min-impressions", "N",
     "leave out documents with fewer impressions in a query, at least 1 [default: 10]",
     RW_OPTION_NUMBER, .value = &min_impressions, .range = {1, 1ull << 32}},
    {"prior", "X",
     "add the mean rate with the weight of X examined impressions to each rate, 0 to 1e6 "
     "[default: 1]",
     RW_OPTION_LOSS, .value = &how.prior},
    {"satisfaction", NULL,
     "with --model dbn: count only clicks that end the search; needs dozens of clicks per document",
     RW_OPTION_FLAG, .value = &how.use_satisfaction},
    {"thresholds", "LIST",
     "smallest rates of the grades 1, 2 and so on, rising, with commas between them [default: "
     "four, chosen from the rates]",
     RW_OPTION_TEXT, .value = &how.thresholds},
    {"propensities", "FILE", "write the propensities of positions for 'train --propensities'",
     RW_OPTION_OUTPUT, .value = &propensities},
    {"output", "LABELS", "write the labels to this file, as TSV (required)", RW_OPTION_OUTPUT,
     .value = &output, .needed = 1},
    {0},
};

static void print(const struct rw_cli *cli, const struct rw_judged *judged)
{
    json_t *positions = json_array(), *grades = json_array();
    for (uint32_t k = 0; k < judged->n_positions; k++) {
        const struct rw_judged_position *row = &judged->position[k];
        rw_result_add(positions, "position:u impressions:l clicks:l propensity:n low:n high:n",
                      row->position, row->n_impressions, row->n_clicks, row->propensity, row->low,
                      row->high);
    }
    for (int g = 0; g <= judged->n_thresholds; g++) {
        unsigned n = 0;
        for (uint32_t i = 0; i < judged->n_labels; i++)
            n += judged->label[i].grade == g;
        rw_result_add(grades, "grade:i from:n documents:u", g, g ? judged->threshold[g - 1] : 0.0,
                      n);
    }
    char sessions[64] = "no sessions, so repeated lines are not detected";
    if (judged->n_sessions > 0)
        snprintf(sessions, sizeof(sessions), "%u sessions", judged->n_sessions);
    rw_result_line("%llu impressions with %llu clicks, %u queries, %s",
                   (unsigned long long)judged->n_impressions, (unsigned long long)judged->n_clicks,
                   judged->n_queries, sessions);
    rw_result_rows(NULL, positions, "position;impressions;clicks;propensity;low=2.5 %;high=97.5 %");
    if (model == 1)
        rw_result_line("users who are not satisfied continue with probability %.4f",
                       judged->continuation);
    rw_result_rows(NULL, grades, "grade;from=rate from;documents");
    rw_result_line("%u documents of queries have a label; %u are left out, with fewer than %llu "
                   "impressions",
                   judged->n_labels, judged->n_left_out, min_impressions);
    rw_result_print(
        cli,
        rw_result_row("model:s impressions:l clicks:l queries:u sessions:u labels:u "
                      "left_out:u mean_rate:n continuation:n passes:i positions:O grades:O",
                      how.model, judged->n_impressions, judged->n_clicks, judged->n_queries,
                      judged->n_sessions, judged->n_labels, judged->n_left_out, judged->mean_rate,
                      judged->continuation, judged->n_passes, positions, grades));
}

static int check(struct rw_cli *cli)
{
    static const char *const models[] = {"pbm", "dbn", "ctr"};
    how.model = models[model];
    how.min_impressions = min_impressions;
    if (how.use_satisfaction && model != 1)
        return rw_wrong(cli, "'--satisfaction' has no effect without '--model dbn'");
    if (model == 2 && propensities)
        return rw_wrong(cli, "'--model ctr' has no propensities: '--propensities' has no effect");
    if (strcmp(output, "-") == 0 || (propensities && strcmp(propensities, "-") == 0))
        return rw_wrong(cli, "the results are written to standard output: pass a file name");
    return rw_judge_check(cli->ctx, &how);
}

static int run(struct rw_cli *cli)
{
    static struct rw_judged *judged;
    static struct rw_out_file second;
    RW_STEP(rw_interrupts_stop_calls(cli->ctx));
    const int status = rw_judge_new(cli->ctx, &how, cli->operands.text, cli->operands.n, &judged);
    if (status < 0)
        return rw_interrupts_end(status, NULL);
    RW_STEP(rw_out_file_open(cli->ctx, &cli->out, output));
    RW_STEP(rw_judged_write_labels(cli->ctx, judged, &cli->out));
    if (propensities) {
        RW_STEP(rw_out_file_open(cli->ctx, &second, propensities));
        RW_STEP(rw_judged_write_propensities(cli->ctx, judged, &second));
        RW_STEP(rw_out_file_commit(cli->ctx, &second));
    }
    RW_STEP(rw_out_file_commit(cli->ctx, &cli->out));
    cli->out.file = NULL;
    print(cli, judged);
    return 0;
}

const struct rw_command rw_cmd_judge = {
    .name = "judge",
    .brief = "make labels and propensities from a click log",
    .operands = "LOG... -o LABELS",
    .about =
        "Makes graded labels from a click log: CSV or TSV with a line for each displayed document, "
        "and the columns session, query, document, position (from 1) and click (0 or 1). A "
        "document's rate is its clicks per examined impression. Its grade is the number of "
        "thresholds that the rate reaches. The log must show documents at different positions, "
        "because otherwise position and relevance have the same effect.",
    .has_results = 1,
    .options = options,
    .params = " threads ",
    .check = check,
    .run = run,
};
