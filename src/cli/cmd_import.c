/* rankwood import: a model that another program trained. */
#include "cli/exchange_help.h"

static const char *output;
static struct rw_exchange how;
static const char *base;
static const struct rw_option options[] = {
    {"from", 0, "FORMAT", "which format (needed)", RW_OPTION_TEXT, .value = &how.format,
     .needed = 1},
    {"feature-base", 0, "0|1|auto",
     "the feature that the format's first id becomes; auto: 1, but 0 for columns with names from 0 "
     "[default: ids stay as they are]",
     RW_OPTION_TEXT, .value = &base},
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
    RW_STEP(rw_take_feature_base(cli, base, &how));
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
