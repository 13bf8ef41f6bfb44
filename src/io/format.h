/* Readers of data. To add a format: write io/<name>.c with a probe and a read function, and give it a
 * row in format.c's table; files are told by content. */
#ifndef RW_IO_FORMAT_H
#define RW_IO_FORMAT_H

#include "dataset/dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_cut_rule;
struct rw_input;
struct rw_seen;
struct rw_builder_list;

/* A format of data files. A reader gives a file's documents piece by piece, as builders. */
struct rw_format {
    const char *name;
    int (*probe)(const unsigned char *head, size_t n_bytes); /* 1: a file that begins so is mine */
    /* input is borrowed until close; seen (borrowed) notices queries that come back, NULL: do not */
    int (*open)(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen, void **state);
    /* Adds the next builders to the list; *more is 0 at the end. */
    int (*next)(struct rw_ctx *ctx, void *state, struct rw_builder_list *list, int *more);
    void (*close)(void *state);
    /* NULL: none; else the whole file at once, better than from its pieces. rule: as
     * rw_dataset_read_by has it */
    int (*whole)(struct rw_ctx *ctx, struct rw_input *input, const struct rw_cut_rule *rule,
                 struct rw_dataset **out);
};
/* The format of a file; never NULL, for what is nothing else is taken for text. */
const struct rw_format *rw_format_of(const struct rw_input *input);
/* The note about decimals beyond float's range, if there were any. */
void rw_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);
extern const struct rw_format rw_format_letor, rw_format_cache;
/* rw_dataset_read for a training by `rule`: values may be left out where a file has its codes. */
int rw_dataset_read_by(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                       const struct rw_cut_rule *rule, struct rw_dataset **out);
/* rw_dataset_read, but a query that comes back after others is one more query of the same id. */
int rw_dataset_read_split(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                          struct rw_dataset **out);

/* Nearest float to a decimal, exactly as strtof under the default rounding mode, but independent of
 * the locale. Reads an optional sign, digits, point, exponent, and nothing else (no inf, nan, hex).
 * Returns the first byte not read, or NULL if there is no number at `text`. A magnitude beyond float's
 * range gives the largest finite float and sets *clamped to 1. -0 gives +0. */
const char *rw_number_parse(const char *text, const char *end, float *value, int *clamped);
/* The same in double (scores, weights, gains). */
const char *rw_number_parse_double(const char *text, const char *end, double *value, int *clamped);
/* Shortest decimal that reads back as the same float: at least 16 bytes of room; returns the length. */
int rw_number_write(float value, char *buffer);
/* The same for double; at least 32 bytes of room. */
int rw_number_write_double(double value, char *buffer);

/* --- writing files whole or not at all (io/atomic.c) --- */
struct rw_out_file {
    FILE *file;      /* to write to */
    char *path, *temporary; /* owned */
};
/* Opens PATH.tmp-PID beside `path`; "-" is standard output, written straight. A directory, a missing
 * folder etc. is RW_ERR_IO now, before work is done. */
int rw_out_file_open(struct rw_ctx *ctx, struct rw_out_file *out, const char *path);
/* Flushes, syncs, renames; any failure (full disk) removes the temporary file. */
int rw_out_file_commit(struct rw_ctx *ctx, struct rw_out_file *out);
/* Removes what was written; fine after commit and on a zeroed struct. */
void rw_out_file_abandon(struct rw_out_file *out);

/* --- cache (io/cache.c) --- */
int rw_cache_write(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_bins *bins, const char *path);

/* --- scores (io/side_files.c): rw_scores_read of an input, which is taken --- */
int rw_scores_read_input(struct rw_ctx *ctx, struct rw_input *input, uint32_t n, double *scores);

/* --- LETOR text out (io/letor_write.c); gzip if `path` ends in .gz --- */
int rw_letor_write(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path);

#ifdef __cplusplus
}
#endif
#endif
