/* rankwood bin: data as a cache. */
#include <stddef.h>

#include "cli/commands.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/talk.h"

int rw_cmd_bin(int argc, char **argv)
{
    const char *output = NULL;
    const struct rw_option options[] = {
        {"output", 'o', "FILE.rwb", "where the cache goes (needed)", RW_OPTION_TEXT, &output},
        {0},
    };
    const struct rw_usage usage = {
        .command = "bin",
        .operands = "DATA... -o FILE.rwb",
        .about = "Writes data as a cache: everything that was read, and cuts and codes for one "
                 "setting of --bins and --absent. It is accepted wherever text is.",
        .least = 1,
        .most = -1,
        .options = options,
        .params = " bins absent threads ",
    };
    struct rw_said said;
    int status, code = rw_options_parse(&usage, argc, argv, &said);
    if (code >= 0)
        goto out;
    code = output ? rw_options_check_files(&usage, &said.operands, 1, output)
                  : rw_options_wrong(&usage, "'bin' needs -o FILE.rwb");
    if (code != 0)
        goto out;
    code = RW_EXIT_FAILURE;
    if (rw_output_check(output) < 0)
        goto out;
    const double start = rw_progress_clock();
    status =
        rw_dataset_cache_files(said.ctx, said.params, said.operands.text, said.operands.n, output);
    if (status >= 0)
        rw_load_stage("read, bin and write", (rw_progress_clock() - start) * 1e3,
                      rw_load_peak_bytes());
    code = status < 0 ? rw_talk_failed(said.ctx, status, "bin") : RW_EXIT_OK;
out:
    rw_options_release(&usage, &said);
    return code;
}
