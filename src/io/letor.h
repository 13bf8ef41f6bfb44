/* LETOR text, parsed in parallel: chunks of whole lines, a thread and a builder each. A plain
 * file's chunks are read by the threads that parse them; what comes in one stream (gzip, a pipe) is
 * fetched block by block. What is read, and which error is reported, depends on the text alone:
 * never on threads, chunks, blocks or files. */
#ifndef RW_IO_LETOR_H
#define RW_IO_LETOR_H

#include "base/other_formats.h"
#include "binning/cuts.h"
#include "dataset/dataset.h"
#include "io/input.h"

struct rw_builder_list {
    struct rw_builder *builder; /* [n]; owned */
    size_t n, room;
    int is_whole;           /* the builders of one file, and of all of it, come here */
    struct rw_early *early; /* NULL, or where values may have gone already; owned */
    /* NULL, or what takes a chunk's values; a format need not call it. Borrowed with its user. */
    rw_take_lines_fn *take;
    void *take_user;
};
/* Releases the builders too. */
void rw_builder_list_release(struct rw_builder_list *list);

/* --- a chunk: whole lines, parsed by one thread (letor_line.c) --- */

enum {
    RW_LETOR_PAD = 64,    /* bytes that may be read before and behind a chunk */
    RW_LETOR_SPAN = 2048, /* bytes that the fast path looks at in one go */
    RW_LETOR_SPAN_ENTRIES = RW_LETOR_SPAN / 4 + 8
};

/* One line's entries. Entries of `feature` and `text` past n are left from earlier lines, as a
 * guess: the next one is mostly of the same feature, which its text tells. */
struct rw_letor_entries {
    uint16_t *feature; /* [room] */
    float *value;      /* [room] */
    uint64_t *text;    /* [room] the feature as written, in the fast path's form; 0: not known */
    size_t room, n;
    int32_t last; /* the feature before; -1 at first */
    uint64_t n_clamped;
};
/* Parses entries at p, as many as are written plainly (digits, ':', a short decimal, one blank) and
 * fit with room for RW_LETOR_SPAN_ENTRIES more; returns where it stopped: at `end`, or at an entry
 * that is for the careful path, which also finds the words for errors. */
typedef const char *(*rw_letor_fast_fn)(struct rw_letor_entries *entries, const char *p,
                                        const char *end);
/* The i-th fast path that this processor has, the best one first; NULL: there are no more. */
rw_letor_fast_fn rw_letor_fast(int i);

/* What is wanted of a chunk: all of it, but the entries, or the entries of some documents. */
enum rw_letor_want { RW_LETOR_ALL, RW_LETOR_SKIM, RW_LETOR_PICK };

/* The documents of a chunk that was skimmed before, some of which are picked. */
struct rw_letor_pick {
    uint32_t n_docs;
    const float *label; /* [n_docs] as they were: others say that the file has changed */
    const uint8_t *in;  /* [n_docs]; NULL: all 1 */
    uint8_t which;      /* in[doc] of the documents wanted; of the others nothing is looked at */
    uint32_t *row;      /* [n_docs] owned: where each document of the builder stands in the chunk */
    size_t row_room;
    uint32_t n_seen;
};

/* What a thread keeps from chunk to chunk, so that it need not grow again. */
struct rw_letor_worker {
    struct rw_builder builder; /* of the chunk at work */
    struct rw_letor_entries entries;
    rw_letor_fast_fn fast; /* NULL: all is parsed by the careful path */
    char *text;            /* [room] the chunk's text, if the thread reads it; rw_mem_new_large */
    size_t room;
    struct rw_letor_pick pick; /* of the chunk at work, if some are picked */
    uint64_t n_clamped;        /* for the user */
};
void rw_letor_worker_release(struct rw_letor_worker *worker);

struct rw_letor_location {
    uint64_t line; /* from 0, of the chunk */
    size_t column; /* from 1, in bytes */
};
struct rw_letor_chunk {
    const char *begin, *end; /* borrowed, RW_LETOR_PAD bytes readable on either side */
    enum rw_letor_want want;
    struct rw_early *early; /* NULL: the values stay in the builder; borrowed */
    rw_take_lines_fn *take; /* as of the list */
    void *take_user;
    struct rw_lexicon *lexicon;     /* NULL: all values are numbers; borrowed */
    uint64_t number;                /* of the chunk, for `early` */
    struct rw_letor_worker *worker; /* borrowed while it is parsed */
    struct rw_builder builder;      /* packed; not of picked documents */
    struct rw_letor_location
        *query_location; /* [builder.n_queries] where each query's id first stands */
    size_t query_location_room;
    uint64_t n_lines;
    int status;     /* of the first bad line; what stood before it is in the builder */
    int read_errno; /* the text ends early, for the file cannot be read; status is RW_ERR_IO */
    struct rw_letor_location error_location;
    char error[512];
    struct rw_recognised kind; /* if no document came before: what the file seems to be */
};
/* Picked documents stay in worker->builder (their entries and nothing else), until it is emptied:
 * their lines are checked as all are, but a text that is not the one skimmed is RW_ERR_DATA. */
void rw_letor_chunk_parse(struct rw_letor_chunk *chunk, struct rw_letor_worker *worker);
void rw_letor_chunk_release(struct rw_letor_chunk *chunk);
/* The query's id on a document's line, [line, end) without its newline; NULL: it is none, as a
 * comment, or is wrong. Looks at nothing else. */
const char *rw_letor_query_id(const char *line, const char *end, size_t *n);

/* --- ids of the queries so far, to notice one that comes back (letor_seen.c) --- */

struct rw_seen;
int rw_seen_new(struct rw_ctx *ctx, struct rw_seen **out);
void rw_seen_free(struct rw_seen *seen);
/* Notes a query; the same one as the last is no new query. `id` is borrowed for the life of
 * `seen`. line 0: the file has no lines. One that comes back is RW_ERR_PARSE. */
int rw_seen_add(struct rw_ctx *ctx, struct rw_seen *seen, const char *id, const char *file,
                uint64_t line, size_t column);

/* --- a file --- */

struct rw_letor;
enum { RW_LETOR_CHUNK_BYTES = 1 << 20 };
/* At most `most`: what a thread needs grows with its chunk, and many threads take smaller ones, so
 * that all of them together need little more than a few. */
size_t rw_letor_chunk_bytes(const struct rw_ctx *ctx, size_t most);
/* `input` is borrowed until close, and nothing was read from it. `seen` (borrowed) may be NULL:
 * queries that come back are not noticed, and pieces are small, for they are wanted soon.
 * chunk_bytes: about RW_LETOR_CHUNK_BYTES; tests take less. */
int rw_letor_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                  size_t chunk_bytes, struct rw_letor **out);
/* The lines of a range of bytes of a plain file (data_format.h); borrowed until close, and its
 * n_lines is written. Queries that come back are not noticed. */
struct rw_range;
int rw_letor_open_range(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                        size_t chunk_bytes, struct rw_letor **out);
/* Parses the next chunks and adds their builders, in order, to `list`; *more is 0 at the end of the
 * file. A file without a document is RW_ERR_PARSE, as is a bad line: file, line, column. */
int rw_letor_next(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_builder_list *list,
                  int *more);
void rw_letor_close(struct rw_letor *letor);

/* --- a file that is read several times --- */

/* Pieces that any thread can read and parse, in any order; 0: the text comes in one stream. */
uint64_t rw_letor_n_pieces(const struct rw_letor *letor);
/* From now on entries are not looked at: documents have no features. */
void rw_letor_skim(struct rw_letor *letor);
/* Of a text that is skimmed, when all of it is read: [*n_pieces] the documents of each piece. The
 * pieces of a stream are its chunks, the same ones each time the file is opened by as many threads
 * and with chunks of the same size. */
const uint32_t *rw_letor_piece_docs(const struct rw_letor *letor, uint64_t *n_pieces);
/* Parses the documents of a piece that worker->pick wants into worker->builder. Threads may do so
 * side by side, with a worker of theirs each. Of a stream: in the call for that piece only. */
int rw_letor_pick(const struct rw_letor *letor, uint64_t piece, struct rw_letor_worker *worker);
/* Calls each(user, piece, thread) for every piece of a stream that was just opened; threads do so
 * side by side. Stops at the first status below 0. */
typedef int rw_letor_each_fn(void *user, uint64_t piece, int thread);
int rw_letor_each(struct rw_ctx *ctx, struct rw_letor *letor, rw_letor_each_fn *each, void *user);
/* About how many lines the file has: exact if it is small. */
uint64_t rw_letor_guess_lines(const struct rw_letor *letor);

/* --- where lines and queries are in a plain file (letor_places.c) --- */

/* Lines that end before byte `end`. */
uint64_t rw_letor_count_lines(const struct rw_input *input, uint64_t end);
/* About how many lines end in the n_bytes bytes from `begin` on: exact if they are few. */
uint64_t rw_letor_guess_lines_of(const struct rw_input *input, uint64_t begin, uint64_t n_bytes);
/* The same of a gzip file, from its beginning. */
uint64_t rw_letor_guess_packed_lines(const struct rw_input *input);
/* How a file is divided where queries begin (data_format.h). */
extern const struct rw_divided rw_letor_divided;

#endif
