/* An input is one file, pipe or piece of memory, whose bytes are plain or gzip; the first two bytes
 * determine which. The path "-" is standard input. The raw bytes are those of the file, the content
 * is unpacked. A gzip file consists of one or more members, which are compressed separately.
 *
 * The last two sections store the content of pipes, so it can be read several times
 * (rw_spool_begin), and unpack the members of a gzip file by several threads (rw_members_open). */
#pragma once

#include "base/mem.h"

struct rw_input;

/* Opens a file and reads its first bytes. */
int rw_input_open(struct rw_ctx *ctx, const char *path, struct rw_input **out);
/* Opens bytes in memory, which must exist until close. `name` is for messages. */
int rw_input_open_memory(struct rw_ctx *ctx, const char *name, const void *data, size_t n_bytes,
                         struct rw_input **out);
void rw_input_close(struct rw_input *input);
RW_SCOPED_BY(rw_input_close)

/* Returns the path as given, or "standard input" for "-". Valid until close. */
const char *rw_input_name(const struct rw_input *input);

/* Reads up to `room` bytes of unpacked content into `buffer`. *got < room only at the end or before
 * a failure. Bytes before the position of a failure (RW_ERR_IO or RW_ERR_MACHINE; RW_ERR_FORMAT or
 * RW_ERR_MEMORY for gzip) are returned first, and all later calls fail. */
int rw_input_read(struct rw_ctx *ctx, struct rw_input *input, void *buffer, size_t room,
                  size_t *got);

/* Returns 1 if the content is not packed and threads may read it at any offset: it is in memory, or
 * a regular file that is not empty. Standard input counts only if rw_spool_begin has made it
 * readable at any offset. Then *n_bytes is the size of the content. */
int rw_input_is_seekable(const struct rw_input *input, uint64_t *n_bytes);
/* Returns 1 if the file is gzip and threads may read its raw bytes at any offset. Then *n_bytes is
 * their number. */
int rw_input_is_packed(const struct rw_input *input, uint64_t *n_bytes);
/* Returns 1 if the content is unpacked from gzip. */
int rw_input_is_gzip(const struct rw_input *input);
/* Reads up to n bytes of the content (raw bytes if packed) from byte `at` on. *got < n only at the
 * end or before an unreadable position; in the latter case it returns the errno instead of 0.
 * Requires rw_input_is_seekable or rw_input_is_packed. It changes no state, so threads may call it
 * in parallel. */
int rw_input_read_at(const struct rw_input *input, uint64_t at, void *buffer, size_t n,
                     size_t *got);

/* Returns the first raw bytes. *n_bytes: their number, RW_INPUT_HEAD, or fewer if the file is
 * shorter. After rw_input_read, later bytes of the file may have replaced them. */
enum { RW_INPUT_HEAD = 192 };
const unsigned char *rw_input_head(const struct rw_input *input, size_t *n_bytes);

/* Copies up to `room` first bytes of the unpacked content, as far as opening the input has read
 * them, and returns their number. Must precede rw_input_read. *n_raw: number of raw bytes that they
 * come from. */
size_t rw_input_peek(const struct rw_input *input, unsigned char *buffer, size_t room,
                     size_t *n_raw);

/* A file in memory, aligned to 64 bytes. It is read and not mapped, so checked content cannot
 * change afterwards. */
struct rw_loaded {
    /* Input: bytes [left_out, left_out_end) of the file need not be kept in memory; they are read
     * for the checksum. Output: the bytes that are not in memory and must not be used, a
     * part of that range. */
    size_t left_out, left_out_end;
    void *data; /* [n_bytes] to be freed by munmap(data, n_bytes) */
    size_t n_bytes;
    uint32_t crc; /* CRC-32 of the whole file */
};
/* Loads the raw bytes of a file. Must precede any rw_input_read. */
int rw_input_load(struct rw_ctx *ctx, struct rw_input *input, struct rw_loaded *loaded);
/* Fails with RW_ERR_MEMORY if `bytes` exceeds both a few MiB and the available memory. The system
 * would grant so much memory, and end the program when it is used. */
int rw_input_check_room(struct rw_ctx *ctx, const struct rw_input *input, size_t bytes);

/* Computes the CRC-32 of bytes [begin, end) of the file. Requires rw_input_is_seekable. */
int rw_input_sum(struct rw_ctx *ctx, const struct rw_input *input, uint64_t begin, uint64_t end,
                 uint32_t *crc);

/* Reads the rest of the content as one text, terminated by 0, to be freed with rw_mem_free.
 * *n_bytes: its length without the 0. */
int rw_input_read_all(struct rw_ctx *ctx, struct rw_input *input, char **text, size_t *n_bytes);

/* ---- pipes that are read several times ----
 *
 * LETOR text from a pipe is stored until rw_spool_end: in memory if it is small, otherwise, if it
 * is binned while it is read, in a temporary file, since the disk can hold more than memory. The
 * file has no name and disappears with the process. TMPDIR names its folder. The content of other
 * pipes is not stored, and can be read once. */
struct rw_read_goal;

/* Opens the pipes among the paths, including "-". LETOR text from a pipe is stored: in memory if it
 * is small, otherwise in a temporary file if goal->bins_text returns 1 and the file can be created.
 * Standard input that is a regular file, at its beginning, is used as it is. From now on,
 * rw_input_open returns the stored content of a pipe, which can be read at any offset, or the pipe
 * itself, once, if it is not stored. Returns 1; or 0 if nothing was opened: there are no pipes or
 * all have been opened before, there are several workers, or goal->bins_text is NULL. Fails if a
 * pipe cannot be read or its content cannot be written, with RW_ERR_IO or RW_ERR_MACHINE, or if
 * memory is short. */
int rw_spool_begin(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                   struct rw_read_goal *goal);
/* Discards all opened pipes if `begun`, the result of rw_spool_begin, is 1. */
void rw_spool_end(struct rw_ctx *ctx, int begun);

/* Returns 1 if the path is a stored pipe, or standard input from a regular file. Then *n_bytes is
 * the size. */
int rw_spool_size(const struct rw_ctx *ctx, const char *path, uint64_t *n_bytes);
/* Returns 1 if the path is a pipe that rw_spool_begin opened, but did not store. */
int rw_spool_is_once(const struct rw_ctx *ctx, const char *path);
/* ---- gzip files of several members, unpacked by several threads ----
 *
 * The positions of members are guessed from the bytes, and each guess is verified by unpacking.
 * From the first member that is not valid on, the file is read in sequence, which also produces the
 * error messages. The current members are those that rw_members_next found last. */
struct rw_member {
    size_t at, n_bytes; /* at: offset in rw_members.raw; n_bytes: size of the packed member */
    size_t out, n_out;  /* out: offset of its content in the content of all current members; n_out:
                           size of its content, as stored at the member's end */
};

struct rw_members {
    struct rw_input *input; /* borrowed */
    uint64_t at, n_file;    /* at: offset of the current members in the file; n_file: its size */
    unsigned char *raw;     /* [room] file bytes from `at` on; owned */
    size_t room;
    struct rw_member *member; /* [n] consecutive members; owned */
    size_t member_room;
    int n;
    size_t raw_used, n_out; /* raw_used: raw bytes of all current members; n_out: bytes of their
                               content */
};

/* Opens the members of a gzip file; the first call of rw_members_next finds the first ones. Sets
 * *out to NULL if several threads have no advantage: rw_input_is_packed returns 0, or a search as
 * by rw_members_next finds fewer than two members. */
int rw_members_open(struct rw_ctx *ctx, struct rw_input *input, size_t wanted_out, int wanted_n,
                    struct rw_members **out);
void rw_members_close(struct rw_members *members);

/* Makes the members after the current ones current: wanted_n or more of them with at least
 * wanted_out bytes of content, or fewer at the end of the file, at internal limits or if memory is
 * short. Returns their number. 0: continue in sequence (rw_members_leave). */
int rw_members_next(struct rw_members *members, size_t wanted_out, int wanted_n);

/* Unpacks the i-th current member to its range of `content`. content: [members->n_out]. Returns 0,
 * or -1 if it is not a valid member. Threads may call it in parallel. */
int rw_members_unpack(const struct rw_members *members, int i, void *content);

/* Makes rw_input_read continue at the i-th current member; i = members->n: after all of them. */
void rw_members_leave(const struct rw_members *members, int i);
