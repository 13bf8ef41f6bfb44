/* rankwood synth: made ranking data. */
#include <stddef.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/talk.h"

int rw_cmd_synth(int argc, char **argv)
{
    const char *shape = NULL, *queries = NULL, *seed = NULL, *output = NULL;
    const struct rw_option options[] = {
        {"shape", 0, "S", "whose sizes and values: mslr30k, yahoo, istella or letor",
         RW_OPTION_TEXT, &shape},
        {"queries", 0, "N", "number of queries, 1 to 10000000", RW_OPTION_TEXT, &queries},
        {"seed", 0, "S", "seed of the random numbers [default 1]", RW_OPTION_TEXT, &seed},
        {"output", 'o', "FILE",
         "where to: LETOR text, gzip if the name ends in .gz, a cache if in .rwb", RW_OPTION_TEXT,
         &output},
        {0},
    };
    const struct rw_usage usage = {
        .command = "synth",
        .operands = "--shape S --queries N -o FILE",
        .about = "Makes ranking data like a public set's, the same bytes on every machine.",
        .most = 0,
        .options = options,
    };
    struct rw_said said;
    unsigned long long n_queries = 0, seed_value = 1;
    int code = rw_options_parse(&usage, argc, argv, &said);
    if (code >= 0)
        goto out;
    if (!shape || !queries || !output) {
        code = rw_options_wrong(&usage, "'synth' needs --shape, --queries and -o");
        goto out;
    }
    code = rw_options_number(&usage, "--queries", queries, 1, 10000000, &n_queries);
    if (code == 0 && seed)
        code = rw_options_number(&usage, "--seed", seed, 0, ~0ull, &seed_value);
    if (code != 0)
        goto out;
    if (rw_output_check(output) < 0) {
        code = RW_EXIT_FAILURE;
        goto out;
    }
    const struct rw_synth_options what = {shape, (uint32_t)n_queries, seed_value};
    const int status = rw_synth_write(said.ctx, &what, output);
    code = status < 0 ? rw_talk_failed(said.ctx, status, "synth") : RW_EXIT_OK;
out:
    rw_options_release(&usage, &said);
    return code;
}
