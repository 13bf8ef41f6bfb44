/* One file to read from: plain bytes or gzip, told by content; "-" is standard input. */
#pragma once

#include "base/mem.h"

struct rw_input;

/* Opens and looks at the first bytes. */
int rw_input_open(struct rw_ctx *ctx, const char *path, struct rw_input **out);
/* The same over bytes in memory (borrowed until close); `name` stands in messages. */
int rw_input_open_memory(struct rw_ctx *ctx, const char *name, const void *data, size_t n_bytes,
                         struct rw_input **out);
void rw_input_close(struct rw_input *input);
RW_SCOPED_BY(rw_input_close)

/* The path as given; "standard input" for "-". Valid until close. */
const char *rw_input_name(const struct rw_input *input);

/* Fills `buffer` with up to `room` bytes of content (unpacked); *got < room only at the end of the
 * content or before a failure. Bytes before the place of a failure (RW_ERR_IO; RW_ERR_FORMAT for
 * damaged gzip) are delivered first: the call after them fails, and so does every later one. */
int rw_input_read(struct rw_ctx *ctx, struct rw_input *input, void *buffer, size_t room,
                  size_t *got);

/* 1 if any thread may read the content anywhere (a plain file, plain memory): then *n_bytes is its
 * size. */
int rw_input_is_seekable(const struct rw_input *input, uint64_t *n_bytes);
/* 1 if the same holds for the file's raw bytes, which are gzip. */
int rw_input_is_packed(const struct rw_input *input, uint64_t *n_bytes);
/* 1 if the content is unpacked from gzip. */
int rw_input_is_gzip(const struct rw_input *input);
/* Up to n bytes of the content (of the raw bytes if packed) from byte `at` on; *got < n only at the
 * end, or before a place that cannot be read: then the result is not 0 but the error's errno. Only
 * where rw_input_is_seekable or rw_input_is_packed; changes nothing, so that threads may call it
 * side by side. */
int rw_input_read_at(const struct rw_input *input, uint64_t at, void *buffer, size_t n,
                     size_t *got);

/* The first raw bytes of the file, before anything was read: at most RW_INPUT_HEAD. */
enum { RW_INPUT_HEAD = 192 };
const unsigned char *rw_input_head(const struct rw_input *input, size_t *n_bytes);

/* Up to `room` first bytes of the content, unpacked, as far as they are at hand; before anything
 * was read, and without reading it. Returns how many; *n_raw: raw bytes that they are of. */
size_t rw_input_peek(const struct rw_input *input, unsigned char *buffer, size_t room,
                     size_t *n_raw);

/* A file in memory, 64-byte aligned: read, not mapped, so that what is checked stays as it is
 * whatever becomes of the file. */
struct rw_loaded {
    /* Set by the caller: bytes [left_out, left_out_end) of the file are read, but need not be kept.
     * Afterwards, those that are not there. */
    size_t left_out, left_out_end;
    void *data; /* [n_bytes] freed by munmap(data, n_bytes) */
    size_t n_bytes;
    uint32_t crc; /* CRC-32 of the whole file */
};
/* Before any rw_input_read. */
int rw_input_load(struct rw_ctx *ctx, struct rw_input *input, struct rw_loaded *loaded);
/* RW_ERR_MEMORY if so much of a file is more than memory has: the system would promise it, and end
 * the program when it is used. */
int rw_input_check_room(struct rw_ctx *ctx, const struct rw_input *input, size_t bytes);

/* The CRC-32 of bytes [begin, end) of the file; only where rw_input_is_seekable. */
int rw_input_sum(struct rw_ctx *ctx, const struct rw_input *input, uint64_t begin, uint64_t end,
                 uint32_t *crc);

/* The rest of the content as one text, a 0 behind it; freed with rw_mem_free. */
int rw_input_read_all(struct rw_ctx *ctx, struct rw_input *input, char **text, size_t *n_bytes);

/* Pipes that are read several times. What comes through a pipe is kept while the files of a call
 * are read: in memory if it is little, else in a temporary file, which has no name and goes with
 * the process. The disk is where there is room for more than memory has; TMPDIR names the folder.
 */
struct rw_read_goal;

/* Opens the pipes among the paths, "-" too, and keeps what comes through those with LETOR text of
 * more than a few bytes, if goal->bins_text says that it is worth it. From now on rw_input_open
 * gives what was kept, as a file that can be read anywhere; or the pipe, once. Returns 1 if it has
 * done so; 0: there are no pipes, but those that are kept already. RW_ERR_IO, RW_ERR_MACHINE: one
 * cannot be read, or kept. */
int rw_spool_begin(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                   struct rw_read_goal *goal);
/* Forgets all of them, unless there is nothing of this call's: rw_spool_begin gave 0. */
void rw_spool_end(struct rw_ctx *ctx, int begun);

/* 1: the path is a pipe that is kept, of so many bytes. */
int rw_spool_size(const struct rw_ctx *ctx, const char *path, uint64_t *n_bytes);
/* 1: the path is a pipe that was opened, but not kept. */
int rw_spool_is_once(const struct rw_ctx *ctx, const char *path);
/* A gzip file of several members, unpacked by several threads: where members begin is guessed from
 * the bytes, and each guess is proved by unpacking. What cannot be proved is left to be read in
 * sequence, which also finds the words for errors. */
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
