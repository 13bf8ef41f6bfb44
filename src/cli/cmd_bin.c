/* rankwood bin: data as a cache. */
#include "cli/load.h"
#include "cli/progress.h"

static const char *output;
static const struct rw_option options[] = {
    {"output", 'o', "FILE.rwb", "where the cache goes (needed)", RW_OPTION_OUTPUT, .value = &output,
     .needed = 1},
    {0},
};

static int run(struct rw_cli *cli)
{
    const double start = rw_progress_clock();
    RW_STEP(rw_load_columns(cli, NULL, NULL, RW_LOAD_ALL));
    RW_STEP(
        rw_dataset_cache_files(cli->ctx, cli->params, cli->operands.text, cli->operands.n, output));
    RW_STEP(rw_load_check_columns(cli));
    rw_load_stage_since("read, bin and write", start);
    return 0;
}

const struct rw_command rw_cmd_bin = {
    .name = "bin",
    .brief = "write data as a cache that loads at once",
    .operands = "DATA... -o FILE.rwb",
    .about = "Writes data as a cache: everything that was read, and bin boundaries and codes for "
             "one setting of --bins and --absent. It is accepted wherever text is. With "
             "--categorical it keeps those features' words in place of codes.",
    .least = 1,
    .most = -1,
    .options = options,
    .params = " bins absent label-column qid-column weight-column ignore categorical threads ",
    .run = run,
};
