/* Judgments and runs of TREC files in place of data: eval's and compare's --qrels and --run. */
#ifndef RW_CLI_QRELS_FILES_H
#define RW_CLI_QRELS_FILES_H

#include "cli/options.h"

/* Refuses what has no effect beside judgments. *like: the program as it was given, NULL if none
 * was; then the one that decides: trec_eval's conventions, unless "rankwood" was given: NULL, by
 * the parameters. */
int rw_qrels_files_check(const struct rw_cli *cli, const char **like);
/* Reads them, and warns of queries that a run lacks, or has without judgments. */
int rw_qrels_files_read(const struct rw_cli *cli, const char *qrels, const struct rw_list *runs,
                        struct rw_qrels **out);

/* eval of them: prints each run's figures, and writes those of its queries to cli->out. */
struct rw_eval_runs {
    const char *qrels, *like; /* like: of rw_qrels_files_check */
    const struct rw_list *runs;
    const char *per_query; /* NULL: not wanted */
};
int rw_eval_runs(struct rw_cli *cli, const struct rw_eval_runs *wanted);

#endif
