#include "cli/train_check.h"

#include <string.h>

/* What has no effect without data to measure on, unless it changes nothing. */
static int check_unmeasured(struct rw_cli *cli, int n_valid)
{
    static const char *const measuring[] = {"metric", "empty", "ties", "relevant"};
    struct rw_params *params = cli->params;
    if (n_valid > 0)
        return 0;
    if (rw_params_must_matter(params, "early-stop") &&
        strcmp(rw_params_get(params, "early-stop"), "0") != 0)
        return rw_wrong(cli, "'--early-stop' has no effect without '--valid'");
    if (rw_params_must_matter(params, "early-stop-delta"))
        return rw_wrong(cli, "'--early-stop-delta' has no effect without '--valid'");
    if (strcmp(rw_params_get(params, "train-metric"), "on") == 0)
        return 0;
    for (size_t i = 0; i < sizeof(measuring) / sizeof(measuring[0]); i++) {
        if (strcmp(measuring[i], "relevant") == 0 && rw_params_trains_on_relevance(params))
            continue;
        if (rw_params_must_matter(params, measuring[i]))
            return rw_wrong(cli, "'--%s' has no effect without '--valid' or '--train-metric on'",
                            measuring[i]);
    }
    if (rw_params_must_matter(params, "label-gain") && !rw_params_trains_on_gains(params))
        return rw_wrong(cli,
                        "'--label-gain' has no effect with objective %s and nothing to measure on",
                        rw_params_get(params, "objective"));
    return 0;
}

/* What a refit takes of its model is not known yet, so the library says what has no effect on the
 * leaves. */
static int check_refit_unmeasured(const struct rw_cli *cli, int n_valid)
{
    static const char *const measuring[] = {"metric", "empty", "ties"};
    if (n_valid > 0 || strcmp(rw_params_get(cli->params, "train-metric"), "on") == 0)
        return 0;
    for (size_t i = 0; i < sizeof(measuring) / sizeof(measuring[0]); i++) {
        if (rw_params_must_matter(cli->params, measuring[i]))
            return rw_wrong(cli, "'--%s' has no effect without '--valid' or '--train-metric on'",
                            measuring[i]);
    }
    return 0;
}

int rw_train_check_params(struct rw_cli *cli, int n_valid)
{
    if (rw_is_given(cli, "refit"))
        return check_refit_unmeasured(cli, n_valid);
    if (rw_params_must_matter(cli->params, "refit-decay"))
        return rw_wrong(cli, "'--refit-decay' has no effect without '--refit'");
    RW_STEP(rw_params_check(cli->ctx, cli->params));
    return check_unmeasured(cli, n_valid);
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
