#include "cli/many_ranks.h"

#include <stdlib.h>
#include <string.h>

#include "cli/load.h"
#include "cli/messages.h"

int rw_ranks_join(struct rw_cli *cli)
{
    if (!cli->command->has_ranks || rw_comm_launched() == 1)
        return 0;
    RW_STEP(rw_comm_open(cli->ctx, "mpi", &cli->comm));
    rw_msg_silence(rw_comm_rank(cli->comm) > 0);
    return rw_ctx_set_comm(cli->ctx, cli->comm);
}

int rw_ranks_meet(struct rw_cli *cli, int code)
{
    /* an exit code comes with a message that is printed already */
    const int status = rw_ranks_agree(cli->ctx, code > 0 ? RW_ERR_ARGUMENT : code);
    return code > 0 ? code : status;
}

void rw_ranks_leave(struct rw_cli *cli, int code)
{
    if (cli->comm && code != RW_EXIT_OK && code < 128)
        rw_ranks_end(cli->ctx);
    rw_ctx_set_comm(cli->ctx, NULL);
    rw_comm_free(cli->comm);
    cli->comm = NULL;
}

int rw_ranks_leads(const struct rw_cli *cli)
{
    return rw_ranks_number(cli->ctx) == 0;
}

int rw_ranks_total(struct rw_cli *cli, uint64_t *numbers, int n)
{
    return rw_ranks_sum(cli->ctx, numbers, (size_t)n);
}

/* ---- threads ---- */

struct threads {
    struct rw_cli *cli;  /* rank 0's */
    struct rw_cli *copy; /* [n_ranks] of the others */
    int (*body)(struct rw_cli *cli);
    int code; /* rank 0's */
};

static int run_rank(void *user, struct rw_ctx *ctx, int rank)
{
    struct threads *t = user;
    struct rw_cli *cli = rank == 0 ? t->cli : &t->copy[rank];
    cli->ctx = ctx;
    const int code = t->body(cli);
    if (rank == 0)
        t->code = code;
    /* one that ends with an exit code has told the others, or they are to end, too */
    return code > 0 && code < 128 ? RW_ERR_INTERRUPTED : code < 0 ? code : 0;
}

static void free_copy(struct rw_cli *copy)
{
    if (!copy->binned)
        rw_dataset_free(copy->dataset);
    rw_binned_free(copy->binned);
    rw_model_free(copy->model);
    rw_params_free(copy->params);
    free(copy->ignore.text);
    free(copy->ignore_text);
    free(copy->labels.text);
    free(copy->labels_text);
}

/* Of the threads that were asked for each rank has its share. */
static int share_threads(struct rw_cli *cli, int n_ranks)
{
    char text[16];
    if (!rw_params_is_set(cli->params, "threads"))
        return 0;
    const int threads = atoi(rw_params_get(cli->params, "threads")); /* 0: auto */
    if (threads == 0)
        return 0;
    snprintf(text, sizeof(text), "%d", threads > n_ranks ? threads / n_ranks : 1);
    return rw_params_set(cli->ctx, cli->params, "threads", text);
}

int rw_ranks_in_threads(struct rw_cli *cli, int n_ranks, int (*body)(struct rw_cli *cli))
{
    struct threads threads = {.cli = cli, .body = body};
    int status = 0;
    threads.copy = rw_need((size_t)n_ranks, sizeof(*threads.copy));
    status = share_threads(cli, n_ranks);
    for (int r = 1; r < n_ranks && status == 0; r++) {
        struct rw_cli *copy = &threads.copy[r];
        *copy = (struct rw_cli){.command = cli->command,
                                .operands = cli->operands,
                                .given = cli->given,
                                .init = cli->init};
        status = rw_params_copy(cli->ctx, cli->params, &copy->params);
    }
    if (status == 0)
        status = rw_ranks_run(cli->ctx, n_ranks, run_rank, &threads);
    for (int r = 1; r < n_ranks; r++)
        free_copy(&threads.copy[r]);
    free(threads.copy);
    return threads.code > 0 ? threads.code : status;
}
