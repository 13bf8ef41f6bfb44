/* Files of text, parsed in parallel: chunks of whole lines, a thread and a builder each.
 *
 * Where any thread can read anywhere in a plain file, a chunk is the lines that begin in some range
 * of bytes, and the thread that parses it also reads it. Other text comes in blocks (gzip, a pipe,
 * CSV, whose quoted fields may hold line ends): while the chunks of one block are parsed, one
 * thread fetches the next; of a gzip file of several members, all threads do. What is read, and
 * which error is reported, depends on the text alone: never on threads, chunks, blocks or files.
 *
 * To add a kind of text: write its struct rw_text_kind, and a struct rw_data_format that has it
 * (data_format.h). */
#pragma once

#include "base/ctx.h"
#include "dataset/dataset.h"
#include "io/input.h"

struct rw_csv_layout;
struct rw_range;
struct rw_seen;
struct rw_text;

struct rw_builder_list {
    struct rw_builder *builder; /* [n]; owned */
    size_t n, room;
    int is_whole;           /* the builders of one file, and of all of it, come here */
    struct rw_early *early; /* NULL, or where values may have gone already; owned */
    /* NULL, or what takes a chunk's values; a format need not call it. Borrowed with its user. */
    rw_take_lines_fn *take;
    void *take_user;
    /* Of text that is skimmed, the documents of each chunk. Chunks of blocks are the same ones each
     * time the file is opened by as many threads and with chunks of the same size. */
    uint32_t *chunk_docs; /* [n_chunks]; owned */
    size_t n_chunks, chunk_room;
};
/* Releases the builders too. */
void rw_builder_list_release(struct rw_builder_list *list);

/* --- a chunk --- */

enum { RW_TEXT_PAD = 64 }; /* bytes that may be read before and after a chunk */

/* --- LETOR text (letor.c), and its fast path (letor_fast.c) --- */

enum {
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

/* --- what a chunk has --- */

/* What is wanted of a text's chunks: all of them, all but the entries, so that documents have no
 * features, or the entries of some documents. */
enum rw_text_want { RW_TEXT_ALL, RW_TEXT_SKIM, RW_TEXT_PICK };

/* The documents of a chunk that was skimmed before, some of which are picked. */
struct rw_text_pick {
    uint32_t n_docs;
    const float *label; /* [n_docs] as they were: others say that the file has changed */
    const uint8_t *in;  /* [n_docs]; NULL: all 1 */
    uint8_t which;      /* in[doc] of the documents wanted; of the others nothing is looked at */
    uint32_t *row;      /* [n_docs] owned: where each document of the builder stands in the chunk */
    size_t row_room;
    uint32_t n_seen;
};

/* What a thread keeps from chunk to chunk, so that it need not grow again. */
struct rw_text_worker {
    struct rw_builder builder; /* of the chunk at work */
    struct rw_letor_entries entries;
    rw_letor_fast_fn fast; /* NULL: all is parsed by the careful path */
    char *text;            /* [room] the chunk's text, if the thread reads it; rw_mem_new_large */
    size_t room;
    struct rw_text_pick pick; /* of the chunk at work, if some are picked */
    float *value;             /* [n_slots] of a record of CSV */
    size_t value_room;
    struct {
        char *text;
        size_t room;
    } unquoted[2]; /* quoted fields of a record of CSV: the query's id, a word */
};
void rw_text_worker_release(struct rw_text_worker *worker);

struct rw_text_location {
    uint64_t line; /* from 0, of the chunk */
    size_t column; /* from 1, in bytes */
};
struct rw_text_chunk {
    const struct rw_text *text;    /* borrowed */
    const char *begin, *end;       /* borrowed, RW_TEXT_PAD bytes readable on either side */
    uint64_t number;               /* of the chunk, for `early` */
    struct rw_text_worker *worker; /* borrowed while it is parsed */
    struct rw_builder builder;     /* packed; not of picked documents */
    struct rw_text_location
        *query_location; /* [builder.n_queries] where each query's id first stands */
    size_t query_location_room;
    uint64_t n_lines;
    int status;     /* of the first bad line; what stood before it is in the builder */
    int read_errno; /* the text ends early, for the file cannot be read; status is RW_ERR_IO */
    struct rw_text_location error_location;
    char error[512];
    struct rw_recognised kind; /* of a bad line without a document before: what the file may be */
};
void rw_text_chunk_release(struct rw_text_chunk *chunk);
/* Ends the chunk at its present line: memory is short, or there are too many documents. Returns
 * `status`. */
int rw_text_chunk_fail(struct rw_text_chunk *chunk, int status);
/* Ends it with what is wrong at `at` of the line, or record, that begins at `line`. Returns NULL.
 */
const char *rw_text_wrong(struct rw_text_chunk *chunk, const char *line, const char *at,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
/* A word for a message: 'word', shortened, without line ends; `none` if it is empty. */
struct rw_text_found {
    char text[64];
};
struct rw_text_found rw_text_found(const char *word, size_t n, const char *none);
/* Is the word a number with a comma where the point should be? */
int rw_text_is_decimal_comma(const char *word, size_t n);
/* Why a word is no value: `missing` if it means a missing one; "": that is not known. */
const char *rw_text_value_hint(const char *word, size_t n, const char *missing);
#define RW_TEXT_NEGATIVE_LABEL                  \
    "expected a label of 0 or more, found %s\n" \
    "hint: -1 means 'not judged' in some sets; leave such documents out"
#define RW_TEXT_COMMA_HINT "\nhint: decimals have a point, not a comma"
/* The next document is of the query `id`, [n] at `at` of its line: begins it in the thread's
 * builder, unless it is the query of the document before. */
int rw_text_query(struct rw_text_chunk *chunk, const char *line, const char *at, const char *id,
                  size_t n);

/* --- ids of the queries so far, to notice one that comes back --- */

int rw_seen_new(struct rw_ctx *ctx, struct rw_seen **out);
void rw_seen_free(struct rw_seen *seen);
RW_SCOPED_BY(rw_seen_free)
/* Notes a query; the same one as the last is no new query. `id` is borrowed for the life of
 * `seen`. line 0: the file has no lines. One that comes back is RW_ERR_PARSE. */
int rw_seen_add(struct rw_ctx *ctx, struct rw_seen *seen, const char *id, const char *file,
                uint64_t line, size_t column);

/* --- a file --- */

struct rw_text_kind {
    int in_ranges;    /* a '\n' always ends a line: any thread may begin anywhere */
    size_t most_line; /* bytes that a line may have; 0: as many as it likes */
    /* How many bytes of a block's n are whole lines, whose ends may be missing if no more text
     * comes. is_first: the file begins with them. */
    size_t (*ready)(struct rw_text *text, const char *block, size_t n, int is_first);
    /* The first end of a line after `at`, or at it, of the whole lines [begin, end). */
    const char *(*line_end)(const struct rw_text *text, const char *begin, const char *at,
                            const char *end);
    /* Parses the lines to chunk->worker->builder. What is wrong with one ends the chunk, and is its
     * status; a status of its own: memory is short. Of picked documents: their entries and nothing
     * else; their lines are checked as all are, but a text that is not the one skimmed is
     * RW_ERR_DATA. */
    int (*parse)(struct rw_text_chunk *chunk);
    int (*open)(struct rw_ctx *ctx, struct rw_text *text); /* before anything is parsed */
    void (*close)(struct rw_text *text);                   /* NULL: there is nothing to do */
    /* NULL, or what builders have besides their documents. */
    int (*finish)(struct rw_ctx *ctx, const struct rw_text *text, struct rw_builder *builder);
};

struct rw_text_block {
    char *text; /* RW_TEXT_PAD bytes, then the text; owned */
    size_t room;
    size_t n_ready; /* bytes of whole lines */
    size_t n_held;  /* the rest, up to here, is a line that continues */
    int status;     /* a failure after the whole lines; RW_ERR_PARSE: the next one has no end */
};

typedef int rw_text_each_fn(void *user, uint64_t chunk, int thread);

struct rw_text {
    const struct rw_text_kind *kind;
    struct rw_input *input; /* borrowed */
    struct rw_seen *seen;   /* borrowed */
    size_t chunk_bytes;
    int n_threads;
    struct rw_text_worker *worker;      /* [n_threads]; owned */
    int at_once;                        /* most chunks that are parsed at a time */
    int few_at_once;                    /* the same of chunks whose values are wanted soon */
    struct rw_text_chunk *chunk;        /* [at_once]; owned */
    const struct rw_builder_list *list; /* NULL, or where the chunks at hand go; borrowed */
    int by_ranges;
    uint64_t n_chunks;          /* by ranges */
    uint64_t next_chunk;        /* chunks before the current ones */
    struct rw_range *range;     /* of a plain file's bytes, or NULL: all of them; borrowed */
    uint64_t begin, end;        /* of the bytes; `end` of all is UINT64_MAX: a file may grow */
    struct rw_members *members; /* NULL: blocks are fetched in sequence; owned */
    struct {
        struct rw_text_block block[2]; /* the one parsed, the one fetched */
        int current, begun;
        size_t first; /* bytes of the current block that are no documents */
    } blocks;
    uint64_t n_lines; /* before the current chunks */
    uint64_t n_docs;
    enum rw_text_want want;
    struct rw_vocabulary
        *vocabulary; /* of values that are categories; NULL: there are none; borrowed */
    struct rw_csv_layout *layout; /* of CSV; the kind's */
    struct {
        rw_text_each_fn *call; /* NULL, or what is done with each chunk in place of parsing it */
        void *user;            /* borrowed */
    } each;
};

enum { RW_TEXT_CHUNK_BYTES = 1 << 20 };
/* At most `most`: what a thread needs grows with its chunk, and many threads take smaller ones, so
 * that all of them together need little more than a few. */
size_t rw_text_chunk_bytes(const struct rw_ctx *ctx, size_t most);
/* `input` is borrowed until close, and nothing was read from it. range: NULL, or bytes of a plain
 * file (data_format.h); borrowed until close, and its n_lines is written. `seen` (borrowed) may be
 * NULL: queries that come back are not noticed, and, without a range, few chunks are parsed at a
 * time, for they are wanted soon. chunk_bytes: about RW_TEXT_CHUNK_BYTES; tests take less; 0: as it
 * suits the file. */
int rw_text_open(struct rw_ctx *ctx, const struct rw_text_kind *kind, struct rw_input *input,
                 struct rw_range *range, struct rw_seen *seen, size_t chunk_bytes,
                 struct rw_text **out);
/* Parses the next chunks and adds their builders, in order, to `list`; *more is 0 at the end of the
 * file. A file without a document is RW_ERR_PARSE, as is a bad line: file, line, column. */
int rw_text_next(struct rw_ctx *ctx, struct rw_text *text, struct rw_builder_list *list, int *more);
void rw_text_close(struct rw_text *text);
RW_SCOPED_BY(rw_text_close)
/* Fetches the first block, if that is not done; RW_OK if there are whole lines, or no text. */
int rw_text_begin(struct rw_ctx *ctx, struct rw_text *text);

/* Parses a chunk whose text is there: its documents are packed in its builder, or, if they are
 * picked, stay in the worker's until it is emptied. */
void rw_text_parse(struct rw_text_chunk *chunk, struct rw_text_worker *worker);

uint64_t rw_text_newlines(const char *text, size_t n);
/* About how many lines the file has: exact if it is small. */
uint64_t rw_text_guess_lines(const struct rw_text *text);

/* --- a file that is read several times --- */

/* Parses the documents of a chunk that worker->pick wants into worker->builder. Threads may do so
 * side by side, with a worker of theirs each. Of blocks: in the call for that chunk only. */
int rw_text_pick(const struct rw_text *text, uint64_t chunk, struct rw_text_worker *worker);
/* Calls each(user, chunk, thread) for every chunk of a text that was just opened, whose documents
 * are picked; threads do so side by side, each with a worker of its own. Stops after chunks one of
 * which gave a status below 0. */
int rw_text_each(struct rw_ctx *ctx, struct rw_text *text, rw_text_each_fn *each, void *user);

extern const struct rw_text_kind rw_letor_text, rw_csv_text;
