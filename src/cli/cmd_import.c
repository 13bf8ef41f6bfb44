/* rankwood import: a model that another program trained. */
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/formats_help.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/talk.h"

int rw_cmd_import(int argc, char **argv)
{
    const char *from = NULL, *base = NULL, *output = NULL;
    const struct rw_option options[] = {
        {"from", 0, "FORMAT", "which format (needed)", RW_OPTION_TEXT, &from},
        {"feature-base", 0, "0|1",
         "the feature that the format's first id becomes [default: ids stay as they are]",
         RW_OPTION_TEXT, &base},
        {"output", 'o', "MODEL", "where the model goes (needed)", RW_OPTION_TEXT, &output},
        {0},
    };
    char *about = rw_formats_about("Takes in a model of another program, which then scores as it "
                                   "did there: every document in the same leaf of "
                                   "every tree. What our trees cannot do is refused, by name.",
                                   1);
    const struct rw_usage usage = {
        .command = "import",
        .operands = "FILE --from FORMAT -o MODEL",
        .about = about ? about : "",
        .least = 1,
        .most = 1,
        .options = options,
    };
    struct rw_said said;
    struct rw_model *model = NULL;
    struct rw_exchange how = {0};
    int status, code = rw_options_parse(&usage, argc, argv, &said);
    if (code >= 0)
        goto out;
    if (!from)
        code = rw_options_wrong(&usage, "'import' needs --from FORMAT");
    else if (!output)
        code = rw_options_wrong(&usage, "'import' needs -o MODEL");
    else
        code = rw_options_check_files(&usage, &said.operands, 1, output);
    if (code == 0)
        code = rw_formats_check(&usage, "--from", from, 1);
    if (code == 0)
        code = rw_formats_base(&usage, base, &how.feature_base);
    if (code == 0 && rw_output_check(output) < 0)
        code = RW_EXIT_FAILURE;
    if (code != 0)
        goto out;
    how.format = from;
    status = rw_model_import(said.ctx, said.operands.text[0], &how, &model);
    if (status >= 0)
        status = rw_model_write(said.ctx, model, output);
    code = status < 0 ? rw_talk_failed(said.ctx, status, "import") : RW_EXIT_OK;
out:
    rw_model_free(model);
    rw_options_release(&usage, &said);
    free(about);
    return code;
}
