#include "cli/train_check.h"

#include <string.h>

int rw_train_check_params(struct rw_cli *cli, int n_valid)
{
    if (rw_is_given(cli, "refit")) /* what that takes of its model is not known yet */
        return 0;
    RW_STEP(rw_params_check(cli->ctx, cli->params));
    return rw_params_check_valid(cli->ctx, cli->params, n_valid);
}

int rw_train_check_refit(struct rw_cli *cli)
{
    static const struct {
        const char *option, *why;
    } idle[] = {
        {"init", ": a model is refitted, or trained on"},
        {"for", ": the trees are the model's, which 'export' takes or refuses"},
        {"checkpoint", ""},
        {"resume", ""},
        {"plan", ""},
        {"print-config", ""},
    };
    for (size_t i = 0; i < sizeof(idle) / sizeof(idle[0]); i++) {
        if (rw_is_given(cli, idle[i].option))
            return rw_wrong(cli, "'--%s' has no effect with '--refit'%s", idle[i].option,
                            idle[i].why);
    }
    return 0;
}
