/* `rankwood bin` writes data as a binned-data cache. `rankwood synth` makes ranking data. */
#include "cli/cli.h"

static const char *output;
static const struct rw_option options[] = {
    {"output", "FILE.rwb", "write the cache to this file (required)", RW_OPTION_OUTPUT,
     .value = &output, .needed = 1},
    {0},
};

/* Fails if two parameters name labels, as one would have no effect. In training, rw_params_check
 * reports this. */
static int check(struct rw_cli *cli)
{
    const int has_columns = rw_params_origin(cli->params, "label-columns") == RW_PARAM_CHANGED;
    const int has_many = strchr(rw_params_get(cli->params, "label-columns"), ',') != NULL;
    if (has_many && rw_params_origin(cli->params, "labels") == RW_PARAM_CHANGED)
        return rw_wrong(cli, "'--labels' has no effect with several '--label-columns'");
    return has_columns && rw_params_origin(cli->params, "label-column") == RW_PARAM_CHANGED
               ? rw_wrong(cli, "'--label-column' has no effect with '--label-columns'")
               : 0;
}

static int run(struct rw_cli *cli)
{
    RW_STEP(rw_load_columns(cli, NULL, NULL, RW_LOAD_ALL));
    RW_STEP(
        rw_dataset_cache_files(cli->ctx, cli->params, cli->operands.text, cli->operands.n, output));
    rw_load_stage_end("read, bin and write");
    return 0;
}

const struct rw_command rw_cmd_bin = {
    .name = "bin",
    .brief = "write data as a binned cache that loads fast",
    .operands = "DATA... -o FILE.rwb",
    .about =
        "Writes data as a binned cache, which loads fast. Commands accept it in place of text. The "
        "cache contains the input, and bin boundaries and bin indices for one setting of --bins "
        "and --absent. With other settings, training bins the stored values again. With "
        "--categorical, the cache contains no bins, and only saves the time of parsing text. With "
        "--labels or --label-columns, the cache has several labels per document.",
    .options = options,
    .roles = RW_ROLE_TABLE,
    .params = " bins absent label-columns labels categorical threads ",
    .check = check,
    .run = run,
};

/* ---- synth ---- */

static const char *shape;
static unsigned long long queries, seed = 1;
static const struct rw_option synth_options[] = {
    {"shape", "S",
     "public data set to imitate: mslr30k (136 features), yahoo (519), istella (220), or letor, "
     "which is MQ2008 of LETOR 4.0 (46) (required)",
     RW_OPTION_TEXT, .value = &shape, .needed = 1},
    {"queries", "N", "number of queries, 1 to 10000000 (required)", RW_OPTION_NUMBER,
     .value = &queries, .range = {1, 10000000}, .needed = 1},
    {"seed", "S", "seed of the random numbers [default: 1]", RW_OPTION_NUMBER, .value = &seed,
     .range = {0, ~0ull}},
    {"output", "FILE",
     "write to this file: LETOR text, gzip if the name ends in .gz, a cache if it ends in .rwb "
     "(required)",
     RW_OPTION_OUTPUT, .value = &output, .needed = 1},
    {0},
};

static int synth_run(struct rw_cli *cli)
{
    const struct rw_synth_options what = {shape, (uint32_t)queries, seed};
    return rw_synth(cli->ctx, &what, output, NULL);
}

const struct rw_command rw_cmd_synth = {
    .name = "synth",
    .brief = "make synthetic ranking data",
    .operands = "--shape S --queries N -o FILE",
    .about = "Makes synthetic ranking data that imitates the sizes and feature values of a public "
             "data set. The output is identical on every machine.",
    .options = synth_options,
    .run = synth_run,
};
