#include "cli/train_for.h"

#include "cli/many_ranks.h"
#include "cli/messages.h"

int rw_train_for_take(struct rw_cli *cli, const struct rw_exchange *made_for)
{
    struct rw_exchange how = *made_for;
    if (!how.format && how.featureset)
        return rw_wrong(cli, "'--featureset' has no effect without '--for'");
    how.name = how.featureset ? "model" : NULL; /* export asks for one */
    return how.format ? rw_exchange_check(cli->ctx, &how, 0) : 0;
}

/* The rank that leads prints; the others, which found the same, only say that they did. */
int rw_train_for_check(struct rw_cli *cli, const struct rw_exchange *made_for,
                       const struct rw_model *init)
{
    if (!made_for->format)
        return 0;
    int code = rw_exchange_check_training(cli->ctx, made_for, cli->params, cli->binned, init);
    if (code == RW_ERR_UNSUPPORTED && rw_ranks_leads(cli)) {
        rw_msg_failed(cli->ctx, code, NULL);
        code = RW_EXIT_USAGE;
    }
    return rw_ranks_meet(cli, code);
}
