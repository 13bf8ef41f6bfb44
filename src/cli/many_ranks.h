/* Commands that several ranks run together (comm in rankwood.h): processes that mpirun or srun has
 * started, each with the whole program, or threads of this process. Rank 0 prints and writes. */
#ifndef RW_CLI_MANY_RANKS_H
#define RW_CLI_MANY_RANKS_H

#include "cli/options.h"

enum { RW_RANKS_MOST_THREADS = 64 }; /* ranks of one process */

/* Where a launcher has started several processes of a command that knows ranks: the context is
 * one's. All but rank 0 are silent from now on. Does nothing otherwise. */
int rw_ranks_join(struct rw_cli *cli);
/* All ranks come here with what a function of a command has returned, and go on or end together. */
int rw_ranks_meet(struct rw_cli *cli, int code);
/* The end of a command: messages are printed. */
void rw_ranks_leave(struct rw_cli *cli, int code);

/* Is this the rank that prints and writes? */
int rw_ranks_leads(const struct rw_cli *cli);
/* Sums over all ranks: [n]. */
int rw_ranks_total(struct rw_cli *cli, uint64_t *numbers, int n);

/* Runs `body` by each of n_ranks ranks of this process. Rank 0 has `cli` itself, on the calling
 * thread, the others copies without results, which nobody may print with. The exit code, or status,
 * of rank 0; of another that failed, the status. */
int rw_ranks_in_threads(struct rw_cli *cli, int n_ranks, int (*body)(struct rw_cli *cli));

#endif
