/* Text files, parsed in parallel: each chunk of complete lines is parsed by one thread into one
 * builder (struct rw_builder). The current chunks are those that are parsed at a time.
 *
 * If threads can read a plain file at any offset, a chunk consists of the lines that begin in a
 * range of bytes, and the thread that parses it also reads it. Other text arrives in blocks: gzip,
 * pipes, and CSV, whose quoted fields may contain newlines. While the chunks of one block are
 * parsed, one thread fetches the next block. For a gzip file of several members, all threads do.
 * The content that is read, and the error that is reported, depend on the text alone, and never on
 * threads, chunks or blocks.
 *
 * Terms: an entry is a feature with its value. The fast path parses entries with
 * vector instructions, and the careful path (letor.c) parses any LETOR text. A word is a value of a
 * categorical feature, given as text. Text is skimmed to read everything except entries; documents
 * are picked to read only their labels and entries.
 *
 * To add a kind of text, write its struct rw_text_kind, and a struct rw_data_format with it
 * (data_format.h). */
#pragma once

#include "dataset/dataset.h"
#include "io/input.h"

struct rw_csv_layout;
struct rw_range;
struct rw_seen;
struct rw_text;

/* A list of builders, one per chunk that has documents, in order. rw_text_next appends to it. */
struct rw_builder_list {
    struct rw_builder *builder; /* [n]; owned */
    size_t n, room;
    int is_whole;           /* 1: the list receives all builders of one file, and no others */
    struct rw_early *early; /* columns that fill while text is being read, or NULL; owned */
    /* Called with the builder of a chunk that was parsed without an error, if the text is LETOR
     * text without words, to replace the values by scores. NULL: not called. */
    rw_take_lines_fn *take;
    void *take_user; /* borrowed */
    /* For text that is skimmed (RW_TEXT_SKIM), the number of documents of each chunk. A file is
     * divided into the same chunks each time it is opened with the same number of threads and the
     * same chunk size. */
    uint32_t *chunk_docs; /* [n_chunks]; owned */
    size_t n_chunks, chunk_room;
};
/* Releases the builders, too. */
void rw_builder_list_release(struct rw_builder_list *list);

/* ---- a chunk ---- */

enum { RW_TEXT_PAD = 64 }; /* number of bytes that may be read before and after a chunk */

/* ---- LETOR text (letor.c), and its fast path (letor_fast.c) ---- */

enum {
    RW_LETOR_SPAN = 2048,                         /* bytes that the fast path processes at a time */
    RW_LETOR_SPAN_ENTRIES = RW_LETOR_SPAN / 4 + 8 /* most entries in so many bytes, and 8 more */
};

/* The entries of one line, which are its features with their values. Elements of `feature` and
 * `text` from n on are left from earlier lines and serve as a guess: the next entry usually has the
 * same feature, which its text confirms. */
struct rw_letor_entries {
    uint16_t *feature; /* [room] */
    float *value;      /* [room] */
    uint64_t *text;    /* [room] the feature's text, as feature_text (letor_fast.c) returns it; 0:
                          unknown */
    size_t room, n;
    int32_t last;       /* the previous feature; -1 at first */
    uint64_t n_clamped; /* as in struct rw_dataset, since the chunk began */
};
/* Type of a fast path. It parses the entries at p that are written plainly (digits, ':', a number,
 * one blank), while there is room for RW_LETOR_SPAN_ENTRIES more. Returns where it stopped: at
 * `end`, at text for the careful path, which also writes the error messages, or at the next entry
 * if there is no more room. */
typedef const char *(*rw_letor_fast_fn)(struct rw_letor_entries *entries, const char *p,
                                        const char *end);
/* Returns the i-th fast path that this processor supports, the best one first, or NULL. */
rw_letor_fast_fn rw_letor_fast(int i);

/* ---- the content of a chunk ---- */

/* The parts of a chunk to read: everything (ALL), everything except entries, so documents have no
 * features (SKIM), or labels and entries of selected documents (PICK). */
enum rw_text_want { RW_TEXT_ALL, RW_TEXT_SKIM, RW_TEXT_PICK };

/* The documents of a chunk that was skimmed before, and a selection of them. */
struct rw_text_pick {
    uint32_t n_docs;    /* number of documents of the chunk */
    const float *label; /* [n_docs] as skimmed: a different label means that the file has changed */
    const uint8_t *in;  /* [n_docs]; NULL: all 1 */
    uint8_t which;      /* value of in[doc] for the selected documents; the others are skipped */
    uint32_t *row;      /* [n_docs] the first builder.n_docs are set: row in the chunk of each
                           document in the builder; owned */
    size_t row_room;
    uint32_t n_seen; /* number of documents of the chunk parsed or skipped so far */
};

/* A thread's memory, which is kept from chunk to chunk. */
struct rw_text_worker {
    struct rw_builder builder; /* for the current chunk */
    struct rw_letor_entries entries;
    rw_letor_fast_fn fast; /* NULL: the careful path parses everything */
    char *text;            /* [room] the chunk's text, if the thread reads it; from
                              rw_mem_new_large */
    size_t room;
    struct rw_text_pick pick; /* for the current chunk, if its documents are selected */
    float *value;             /* [n_slots] values of a CSV record */
    size_t value_room;
    struct {
        char *text;
        size_t room;
    } unquoted[3]; /* copies of quoted fields of a CSV record: [0] the query's id, [1] a word, [2]
                      the query's text */
};
void rw_text_worker_release(struct rw_text_worker *worker);

struct rw_text_location {
    uint64_t line; /* line in the chunk, from 0 */
    size_t column; /* in bytes, from 1 */
};
struct rw_text_chunk {
    const struct rw_text *text;    /* borrowed */
    const char *begin, *end;       /* borrowed; RW_TEXT_PAD bytes on either side are readable */
    uint64_t number;               /* number of the chunk, for `early` */
    struct rw_text_worker *worker; /* borrowed during parsing */
    struct rw_builder builder;     /* packed documents; empty if documents are selected */
    struct rw_text_location *query_location; /* [builder.n_queries] of each query's first id */
    size_t query_location_room;
    uint64_t n_lines; /* number of lines parsed so far */
    int status;       /* RW_OK, or why parsing ended early; the builder has the documents before */
    int read_errno;   /* not 0: the file cannot be read to the chunk's end; status is RW_ERR_IO
                         unless an earlier line is wrong */
    struct rw_text_location error_location;
    char error[512];
    struct rw_recognised kind; /* kind of the file; set if the chunk's first document is invalid */
};
void rw_text_chunk_release(struct rw_text_chunk *chunk);
/* Ends the chunk at the current line, because memory is short or there are too many documents.
 * Returns `status`. */
int rw_text_chunk_fail(struct rw_text_chunk *chunk, int status);
/* Ends the chunk with RW_ERR_PARSE, an error at `at` of the line or record that begins at `line`.
 * Returns NULL. */
const char *rw_text_wrong(struct rw_text_chunk *chunk, const char *line, const char *at,
                          const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Formats a word for a message: 'word', shortened, without newlines; `none` if it is empty. */
struct rw_text_found {
    char text[64];
};
struct rw_text_found rw_text_found(const char *word, size_t n, const char *none);
/* Returns 1 if the word is a number with a comma as its decimal point. */
int rw_text_is_decimal_comma(const char *word, size_t n);
/* Returns a hint why a text is not a value: `missing` if it denotes a missing value, or "" if the
 * reason is unknown. */
const char *rw_text_value_hint(const char *word, size_t n, const char *missing);
#define RW_TEXT_NEGATIVE_LABEL                  \
    "expected a label of 0 or more, found %s\n" \
    "hint: -1 means 'not judged' in some data sets; remove such documents"
#define RW_TEXT_COMMA_HINT "\nhint: write decimals with a point, not a comma"
/* Sets the query of the next document. Starts a query in the thread's builder, unless the previous
 * document has this id. id: [n], found at `at` of the line that begins at `line`. */
int rw_text_query(struct rw_text_chunk *chunk, const char *line, const char *at, const char *id,
                  size_t n);

/* ---- the ids of all queries so far, to detect repeated queries ---- */

int rw_seen_new(struct rw_ctx *ctx, struct rw_seen **out);
void rw_seen_free(struct rw_seen *seen);
RW_SCOPED_BY(rw_seen_free)
/* Records a query, unless its id is that of the query recorded last. `id` must outlive `seen`.
 * file, line, column: where the query begins; line 0: the file has no lines. Fails with
 * RW_ERR_PARSE if an earlier query has the id. */
int rw_seen_add(struct rw_ctx *ctx, struct rw_seen *seen, const char *id, const char *file,
                uint64_t line, size_t column);

/* ---- a file ---- */

struct rw_text_kind {
    int in_ranges;    /* 1: a '\n' always ends a line, so threads may begin anywhere */
    size_t most_line; /* most bytes of a line; 0: unlimited */
    /* Returns how many of a block's n bytes are complete lines (CSV: records), each with its
     * newline. is_first: 1: the block begins the file; CSV then also sets blocks.first and its
     * separator. */
    size_t (*ready)(struct rw_text *text, const char *block, size_t n, int is_first);
    /* Returns the end, after its newline, of a line in the complete lines [begin, end): the first
     * such end at or after `at`, or `end`. */
    const char *(*line_end)(const struct rw_text *text, const char *begin, const char *at,
                            const char *end);
    /* Parses the lines into chunk->worker->builder. An error in a line ends the chunk and sets
     * chunk->status, but the function returns RW_OK; it fails only if memory is short. If documents
     * are selected (RW_TEXT_PICK), only those are parsed, with all checks; chunk->status is
     * RW_ERR_DATA if the chunk has more documents than when it was skimmed, or a selected one has a
     * different label. */
    int (*parse)(struct rw_text_chunk *chunk);
    int (*open)(struct rw_ctx *ctx, struct rw_text *text); /* called before parsing */
    void (*close)(struct rw_text *text);                   /* NULL: not called */
    /* Called with each packed builder, to add data in addition to documents. NULL: not called. */
    int (*finish)(struct rw_ctx *ctx, const struct rw_text *text, struct rw_builder *builder);
};

struct rw_text_block {
    char *text; /* RW_TEXT_PAD bytes, then the text; owned */
    size_t room;
    size_t n_ready; /* number of bytes of complete lines */
    size_t n_held;  /* number of bytes of the text, including the incomplete line at the end */
    int status; /* a failure after the complete lines; RW_ERR_PARSE: the next line is too long */
};

/* Type of a function that is called for a chunk, by its number in the file, on a thread. */
typedef int rw_text_each_fn(void *user, uint64_t chunk, int thread);

struct rw_text {
    const struct rw_text_kind *kind;
    struct rw_input *input; /* borrowed */
    struct rw_seen *seen;   /* borrowed */
    size_t chunk_bytes;
    int n_threads;
    struct rw_text_worker *worker; /* [n_threads]; owned */
    int at_once;                   /* most current chunks */
    int few_at_once;               /* if by_ranges, most current chunks while builders keep their
                                      values */
    struct rw_text_chunk *chunk;   /* [at_once] the current chunks; owned */
    const struct rw_builder_list *list; /* receives the current chunks, or NULL; borrowed */
    int by_ranges;              /* 1: a chunk is a range of the file; 0: a part of a block */
    uint64_t n_chunks;          /* number of ranges, if by_ranges */
    uint64_t next_chunk;        /* number of chunks before the current ones */
    struct rw_range *range;     /* range of a plain file, or NULL for the whole file; borrowed */
    uint64_t begin, end;        /* the range in bytes; `end` is UINT64_MAX for the whole file,
                                   which may grow */
    struct rw_members *members; /* NULL: blocks are fetched in sequence; owned */
    struct {
        struct rw_text_block block[2]; /* the block being parsed, and the one being fetched */
        int current, begun;            /* index in `block`; 1: the first block has been fetched */
        size_t first; /* number of bytes of byte order mark and header at the start of the current
                         block */
    } blocks;
    uint64_t n_lines; /* number of lines before the current chunks */
    uint64_t n_docs;  /* number of documents so far */
    enum rw_text_want want;
    struct rw_vocabulary
        *vocabulary;              /* words of all features; NULL: no feature has words; borrowed */
    struct rw_csv_layout *layout; /* for CSV; owned by the kind */
    struct {
        rw_text_each_fn *call; /* called with each chunk instead of parsing it, or NULL */
        void *user;            /* borrowed */
    } each;
};

enum { RW_TEXT_CHUNK_BYTES = 1 << 20 };
/* Returns the chunk size in bytes: `most`, or less with more than 4 threads, but not below 64 KiB.
 * A thread's memory grows with its chunk, so up to that limit many threads together need little
 * more memory than 4 threads. */
size_t rw_text_chunk_bytes(const struct rw_ctx *ctx, size_t most);
/* Opens text. `input` and `range` must exist until close, and nothing may have been read from
 * `input`. range: NULL, or bytes of a plain file (data_format.h); its n_lines is written. `seen` is
 * borrowed; NULL: repeated queries are not detected. If `seen` and `range` are NULL, and values are
 * kept, only few_at_once chunks are current, since the caller uses them up before it reads more.
 * chunk_bytes: at most RW_TEXT_CHUNK_BYTES; 0: chosen for the file. */
int rw_text_open(struct rw_ctx *ctx, const struct rw_text_kind *kind, struct rw_input *input,
                 struct rw_range *range, struct rw_seen *seen, size_t chunk_bytes,
                 struct rw_text **out);
/* Parses the next chunks and appends their builders, in order, to `list`. *more is 0 at the end of
 * the text. Fails with RW_ERR_PARSE at an invalid line, or if the file is read as a whole and has
 * no document. */
int rw_text_next(struct rw_ctx *ctx, struct rw_text *text, struct rw_builder_list *list, int *more);
void rw_text_close(struct rw_text *text);
RW_SCOPED_BY(rw_text_close)
/* Fetches the first block, unless that is done. Returns RW_OK if the block has complete lines, or
 * if the file is empty. */
int rw_text_begin(struct rw_ctx *ctx, struct rw_text *text);

/* Parses a chunk whose text is in memory. Its documents are packed into its builder. Selected
 * documents instead stay in the worker's builder until it is emptied. */
void rw_text_parse(struct rw_text_chunk *chunk, struct rw_text_worker *worker);

/* Returns the number of newlines in n bytes. */
uint64_t rw_text_newlines(const char *text, size_t n);
/* Estimates the number of newlines in the text, before any of it is read. The result is exact
 * for a small plain file, and 0 if nothing is known, as for a pipe. */
uint64_t rw_text_guess_lines(const struct rw_text *text);

/* ---- reading a file several times ---- */

/* Parses the documents of a chunk that worker->pick selects into worker->builder. The caller sets
 * n_docs, label, in and which of worker->pick. Threads may call it in parallel, each with a
 * separate worker. If the text is read by blocks, it may be called only within the `each` of
 * rw_text_each for that chunk. */
int rw_text_pick(const struct rw_text *text, uint64_t chunk, struct rw_text_worker *worker);
/* Calls each(user, chunk, thread) for every chunk of a text that was just opened, to select
 * documents. Threads call it in parallel; `thread` is the index of the thread's worker in
 * text->worker. If a call returns a status below 0, fails with that of the first such chunk, and no
 * chunks after the current ones are started. */
int rw_text_each(struct rw_ctx *ctx, struct rw_text *text, rw_text_each_fn *each, void *user);

extern const struct rw_text_kind rw_letor_text, rw_csv_text;
