/* rankwood import: a model that another program trained. */
#include "cli/exchange_help.h"
#include "cli/options.h"

static const char *output;
static struct rw_exchange how;
static unsigned long long base = RW_BASE_NONE;
static const struct rw_option options[] = {
    {"from", 0, "FORMAT", "which format (needed)", RW_OPTION_TEXT, .value = &how.format,
     .needed = 1},
    {"feature-base", 0, "0|1",
     "the feature that the format's first id becomes [default: ids stay as they are]",
     RW_OPTION_NUMBER, .value = &base, .least = 0, .most = 1},
    {"output", 'o', "MODEL", "where the model goes (needed)", RW_OPTION_OUTPUT, .value = &output,
     .needed = 1},
    {0},
};

static void more(FILE *out)
{
    rw_list_formats(out, 1);
}

static int check(struct rw_cli *cli)
{
    how.feature_base = base == RW_BASE_NONE ? -1 : (int)base;
    return rw_exchange_check(cli->ctx, &how, 1);
}

static int run(struct rw_cli *cli)
{
    RW_STEP(rw_model_import(cli->ctx, cli->operands.text[0], &how, &cli->model));
    return rw_model_write(cli->ctx, cli->model, output);
}

const struct rw_command rw_cmd_import = {
    .name = "import",
    .brief = "read a model that another program trained",
    .operands = "FILE --from FORMAT -o MODEL",
    .about = "Reads another program's model, which then scores as it did there: every document "
             "reaches the same leaf of every tree. What our trees cannot express is refused, by "
             "name.",
    .more = more,
    .least = 1,
    .most = 1,
    .options = options,
    .check = check,
    .run = run,
};
