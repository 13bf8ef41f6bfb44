/* The part of some files that a rank reads: whole queries, in order, of about as many bytes as any
 * other rank's. Text and caches are divided where queries begin, which all ranks find alike, each
 * for itself; what cannot be divided (gzip, tables) is given to ranks a file at a time. */
#ifndef RW_IO_SHARD_H
#define RW_IO_SHARD_H

#include "io/data_format.h"

/* From here on, in files one after the other; `at` is of a range. */
struct rw_place {
    int32_t file;
    uint64_t at;
};

struct rw_own_part {
    struct rw_place begin, end;
    int is_text;           /* all files are LETOR text, plain or gzip */
    int is_cache;          /* there is one file, a cache */
    struct rw_range range; /* of the file at work, and at last of the last one */
};

/* Finds the part of the context's rank. All ranks call it together, and fail together. */
int rw_own_part_find(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                     struct rw_own_part *part);
/* Files [first, end) have something of it. */
void rw_own_part_files(const struct rw_own_part *part, int *first, int *end);
/* What it has of a file. */
struct rw_range rw_own_part_range(const struct rw_own_part *part, int file);

/* Of several ranks: opening a pipe on each of them would lose what is in it. */
int rw_own_part_check_path(struct rw_ctx *ctx, const char *path);
/* Reads it as the goal says, but does not bin it (reader.c). out: to be released, also after a
 * failure. */
int rw_own_part_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                     struct rw_own_part *part, const struct rw_read_goal *goal,
                     struct rw_binned *out);

/* --- what workers have read, taken together --- */

/* Checks that the ranks' documents are one data set: parts of these files that follow each other,
 * no query in two of them, features of the same names, as many labels a document. Each rank's
 * documents get what only other ranks know: numbers of lines that count from the beginning of a
 * file, names of features, weights of 1 where other documents have some. notice: a query that comes
 * back, in any rank's part, is an error. All ranks call it together, and fail together. */
int rw_together_check(struct rw_ctx *ctx, const char *const *paths, const struct rw_own_part *part,
                      int notice, struct rw_dataset *documents);
/* rw_data_format_note_clamped of all ranks' numbers, by rank 0. */
int rw_together_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);

#endif
