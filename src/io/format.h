/* Readers of data. To add a format: write io/<name>.c with a probe and a read function, and give it
 * a row in format.c's table; files are told by content. */
#ifndef RW_IO_FORMAT_H
#define RW_IO_FORMAT_H

#include "dataset/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_binned;
struct rw_cut_rule;
struct rw_input;
struct rw_seen;
struct rw_builder_list;

/* A format of data files. A reader gives a file's documents piece by piece, as builders. */
struct rw_format {
    const char *name;
    int (*probe)(const unsigned char *head, size_t n_bytes); /* 1: a file that begins so is mine */
    /* input is borrowed until close; seen (borrowed) notices queries that come back, NULL: do not
     */
    int (*open)(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen, void **state);
    /* Adds the next builders to the list; *more is 0 at the end. */
    int (*next)(struct rw_ctx *ctx, void *state, struct rw_builder_list *list, int *more);
    void (*close)(void *state);
    /* NULL: none; else the whole file at once, better than from its pieces: as rw_files_read */
    int (*whole)(struct rw_ctx *ctx, struct rw_input *input, const struct rw_cut_rule *rule,
                 struct rw_binned *out);
};
/* The format of a file; never NULL, for what is nothing else is taken for text. */
const struct rw_format *rw_format_of(const struct rw_input *input);
/* The note about decimals beyond float's range, if there were any. */
void rw_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);
extern const struct rw_format rw_format_letor, rw_format_cache;
/* rw_dataset_read. rule: NULL, or of a training: where a file has its codes, they are read in place
 * of the values. out: empty; after a failure, too. */
int rw_files_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  const struct rw_cut_rule *rule, struct rw_binned *out);
/* rw_dataset_read, but a query that comes back after others is one more query of the same id. */
int rw_dataset_read_split(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                          struct rw_dataset **out);

#ifdef __cplusplus
}
#endif
#endif
