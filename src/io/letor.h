/* LETOR text, read block by block; a block's chunks are parsed in parallel into builders. What is
 * read, and which error is reported, depends on the text alone: never on threads, blocks or files.
 */
#ifndef RW_IO_LETOR_H
#define RW_IO_LETOR_H

#include "data/dataset.h"
#include "io/input.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_builder_list {
    struct rw_builder *builder; /* [n]; owned */
    size_t n, room;
};
/* Releases the builders too. */
void rw_builder_list_release(struct rw_builder_list *list);

/* --- a chunk: whole lines, parsed by one thread (letor_line.c) --- */

struct rw_letor_place {
    uint64_t line; /* from 0, of the chunk */
    size_t column; /* from 1, in bytes */
};
struct rw_letor_chunk {
    const char *begin, *end; /* borrowed */
    struct rw_builder builder;
    struct rw_letor_place *query_place; /* [builder.n_queries] where each query's id first stands */
    size_t query_place_room;
    uint64_t n_lines;
    uint16_t *feature; /* one line's entries */
    size_t feature_room;
    float *value;
    size_t value_room;
    int has_nul; /* some line holds a byte 0 */
    int status;  /* of the first bad line; what stood before it is in the builder */
    struct rw_letor_place error_place;
    char error[512];
};
void rw_letor_chunk_parse(struct rw_letor_chunk *chunk);
void rw_letor_chunk_release(struct rw_letor_chunk *chunk);

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
/* `input` is borrowed until close. `seen` (borrowed) may be NULL: queries that come back are not
 * noticed. chunk_bytes: about RW_LETOR_CHUNK_BYTES; tests take less. */
int rw_letor_open(struct rw_ctx *ctx, struct rw_input *input, struct rw_seen *seen,
                  size_t chunk_bytes, struct rw_letor **out);
/* Parses the next block and adds its builders, in order, to `list`; *more is 0 at the end of the
 * file. A file without a document is RW_ERR_PARSE, as is a bad line: file, line, column. */
int rw_letor_next(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_builder_list *list,
                  int *more);
void rw_letor_close(struct rw_letor *letor);

#ifdef __cplusplus
}
#endif
#endif
