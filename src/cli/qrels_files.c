#include "cli/qrels_files.h"

#include <string.h>

#include "cli/load.h"
#include "cli/messages.h"
#include "cli/progress.h"

int rw_qrels_files_check(const struct rw_cli *cli, const char **like)
{
    const struct rw_param_info *info;
    for (int i = 0; (info = rw_param_info(i)) != NULL; i++) {
        if ((info->roles & (RW_ROLE_WEIGHTS | RW_ROLE_TABLE)) &&
            rw_params_must_matter(cli->params, info->name))
            return rw_wrong(cli, "'--%s' has no effect with '--qrels'", info->name);
    }
    RW_STEP(rw_params_no_effect(cli->ctx, cli->params, "device", "with '--qrels'"));
    if (cli->operands.n > 0)
        return rw_wrong(cli, "'%s' is not read: judgments and runs stand in for DATA",
                        cli->operands.text[0]);
    if (*like && strcmp(*like, "rankwood") == 0) {
        *like = NULL;
        return 0;
    }
    if (*like)
        return rw_load_check_like(cli, *like);
    *like = "trec";
    return rw_load_check_conventions(cli, ": '--qrels' measures as trec_eval does, unless '--like "
                                          "rankwood' is given");
}

int rw_qrels_files_read(const struct rw_cli *cli, const char *qrels, const struct rw_list *runs,
                        struct rw_qrels **out)
{
    const double start = rw_progress_clock();
    RW_STEP(rw_qrels_read(cli->ctx, qrels, runs->text, runs->n, out));
    rw_load_stage_since("read judgments and runs", start);
    for (int i = 0; i < runs->n; i++) {
        const struct rw_qrels_run *run = &(*out)->runs[i];
        if (run->n_unanswered > 0)
            rw_msg_warning("%s: %u queries that are judged are not in the run; they count as "
                           "queries of which it found nothing",
                           runs->text[i], run->n_unanswered);
        if (run->n_unknown > 0)
            rw_msg_warning("%s: %llu lines are of queries without judgments", runs->text[i],
                           (unsigned long long)run->n_unknown);
    }
    return 0;
}
