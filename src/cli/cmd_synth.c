/* rankwood synth: made ranking data. */
#include "cli/options.h"

static const char *shape, *output;
static unsigned long long queries, seed = 1;
static const struct rw_option options[] = {
    {"shape", 0, "S", "whose sizes and values: mslr30k, yahoo, istella or letor", RW_OPTION_TEXT,
     .value = &shape, .needed = 1},
    {"queries", 0, "N", "number of queries, 1 to 10000000", RW_OPTION_NUMBER, .value = &queries,
     .least = 1, .most = 10000000, .needed = 1},
    {"seed", 0, "S", "seed of the random numbers [default 1]", RW_OPTION_NUMBER, .value = &seed,
     .least = 0, .most = ~0ull},
    {"output", 'o', "FILE",
     "where to: LETOR text, gzip if the name ends in .gz, a cache if in .rwb", RW_OPTION_OUTPUT,
     .value = &output, .needed = 1},
    {0},
};

static int run(struct rw_cli *cli)
{
    const struct rw_synth_options what = {shape, (uint32_t)queries, seed};
    return rw_synth_write(cli->ctx, &what, output);
}

const struct rw_command rw_cmd_synth = {
    .name = "synth",
    .brief = "make ranking data",
    .operands = "--shape S --queries N -o FILE",
    .about = "Makes ranking data like a public set's, the same bytes on every machine.",
    .options = options,
    .run = run,
};
