/* A gzip file of several members, unpacked by several threads: where members begin is guessed from
 * the bytes, and each guess is proved by unpacking. What cannot be proved is left to be read in
 * sequence, which also finds the words for errors. */
#ifndef RW_IO_MEMBERS_H
#define RW_IO_MEMBERS_H

#include "io/input.h"

struct rw_member {
    size_t at, n_bytes; /* in `raw` */
    size_t out, n_out;  /* where its content goes, and how much it says to have */
};

struct rw_members {
    struct rw_input *input; /* borrowed */
    uint64_t at, n_file;    /* file bytes before the members at hand; in all */
    unsigned char *raw;     /* [room] file bytes from `at` on; owned */
    size_t room;
    struct rw_member *member; /* [n], one after the other; owned */
    size_t member_room;
    int n;
    size_t raw_used, n_out; /* by all members at hand */
};

/* Sets *out to NULL where there is nothing to gain: the file has one member, or the input is
 * a pipe. */
int rw_members_open(struct rw_ctx *ctx, struct rw_input *input, size_t wanted_out, int wanted_n,
                    struct rw_members **out);
void rw_members_close(struct rw_members *members);

/* Finds the members after those at hand, which have together at least wanted_out bytes and wanted_n
 * members if the file and memory go so far. Returns their number; 0: read on in sequence. */
int rw_members_next(struct rw_members *members, size_t wanted_out, int wanted_n);

/* Unpacks the i-th into its part of `content` ([n_out]). 0, or -1: this is no member. Several
 * threads may do this side by side. */
int rw_members_unpack(const struct rw_members *members, int i, void *content);

/* Sequential reading of the input continues with the i-th member at hand; n: behind them all. */
void rw_members_leave(const struct rw_members *members, int i);

#endif
