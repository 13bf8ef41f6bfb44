/* LETOR text, written piece by piece. */
#ifndef RW_IO_LETOR_WRITE_H
#define RW_IO_LETOR_WRITE_H

#include "dataset/dataset.h"

struct rw_letor_writer;

/* gzip if `path` ends in .gz; "-" is standard output. */
int rw_letor_writer_open(struct rw_ctx *ctx, const char *path, struct rw_letor_writer **out);
/* Adds every document of a data set. */
int rw_letor_writer_add(struct rw_ctx *ctx, struct rw_letor_writer *writer,
                        const struct rw_dataset *dataset);
/* Gives the file its name; then only close is left to do. */
int rw_letor_writer_commit(struct rw_ctx *ctx, struct rw_letor_writer *writer);
/* Without a commit before it, nothing is left of the file. */
void rw_letor_writer_close(struct rw_letor_writer *writer);

#endif
