/* One pipeline: a source gives its documents, and then, in passes, their values in chunks, which
 * become codes.
 *
 * Codes take two passes: the sampled documents decide the boundaries, then the others are read. In
 * a pass, a source reads its chunks as suits it: any thread any chunk (plain text), one after the
 * other (gzip), or several at a time (batches). It gives the wanted documents of each chunk to
 * rw_source_take. Everything else is written once, in source_codes.c: the sample, the passes, what
 * workers do together, and that nothing is read again if all documents were sampled.
 *
 * To add a source: in the file of its format (reader.c and source_codes.c are examples), write a
 * struct rw_source_kind and a function that runs it, and declare that function here. */
#pragma once

#include "binning/chunks.h"

struct rw_source;

struct rw_source_kind {
    /* Writes documents, first_doc and n_chunks. All workers call it, and fail together. 1; or 0: it
     * is not to be read so. */
    int (*open)(struct rw_source *source);
    /* Reads all chunks once: gives the wanted documents of each to rw_source_take, a
     * chunk without any such document, too. */
    int (*pass)(struct rw_source *source);
    /* NULL, or what is to be done between the passes, when boundaries are known; as open. */
    int (*bounded)(struct rw_source *source);
    /* NULL, or what is to be done at the end, when there are codes; as open. */
    int (*done)(struct rw_source *source);
    /* NULL: rw_comm_agree; else the same for a pass whose failure is to be explained first. */
    int (*agree)(struct rw_source *source, int status);
};

struct rw_source {
    const struct rw_source_kind *kind;  /* borrowed */
    void *self;                         /* the kind's own; borrowed */
    struct rw_ctx *ctx;                 /* borrowed */
    const struct rw_cut_rule *rule;     /* at the latest when it is open; borrowed */
    const struct rw_dataset *documents; /* whose values are not looked at; borrowed */
    uint32_t *first_doc;                /* [n_chunks + 1] documents before each chunk; owned */
    size_t first_doc_room;
    uint32_t n_chunks;
    /* while codes are made */
    struct rw_cut_sample sample;
    struct rw_chunks chunks;
    int sampled; /* the pass at work reads the sampled documents, or 0: the others */
};

/* A chunk's wanted documents: `builder` has them, where `row` [builder->n_docs] says that they are
 * in the chunk, or, if it is NULL, rw_chunks_stage has put them in the memory of `slot`. Several
 * threads call it, each with a slot of its own, from 0 to ctx->n_threads - 1. Never touches the
 * context. */
int rw_source_take(struct rw_source *source, uint32_t chunk, int slot,
                   const struct rw_builder *builder, const uint32_t *row);
/* Fills out->bins and the features. All workers call it, and fail together. Returns 1, or 0 as open
 * and bounded do. Afterwards, in any case, nothing of the source is left but what the kind has. */
int rw_source_codes(struct rw_source *source, struct rw_binned *out);

/* ---- the sources ---- */

/* Files of LETOR text (reader.c): three passes, of which the first one skims labels and
 * queries. So every entry is parsed once, and never are all values in memory. */

struct rw_shard;
struct rw_read_goal;

/* Reads files as rw_dataset_read does, but bins them by goal->rule on the way: the bins are those
 * that rw_bins_make_training would make. out: empty; stays so unless the files look like LETOR text
 * with more documents than rw_cut_sample_docs, and goal->bins_text, which is asked then, agrees;
 * and if there is anything wrong with the text: reading it whole says what. Where the goal has the
 * values of a cache, that gets the values, or `out` stays empty. part: NULL, or a worker's part of
 * the files, which are LETOR text, however few documents they have: all workers call it together,
 * and fail together. */
int rw_text_codes(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_shard *part, size_t chunk_bytes,
                  struct rw_binned *out);

/* A streamed table (source_codes.c), whose documents are put together again in chunks of chunk_docs
 * documents, as many at a time as there are threads. rule->ignore: NULL. *out is zeroed; after a
 * failure it is to be released. Fails as rw_dataset_from_table does. */
enum { RW_STREAM_CHUNK_DOCS = 1 << 14 };
int rw_stream_codes(struct rw_ctx *ctx, const struct rw_table *table,
                    const struct rw_cut_rule *rule, uint32_t chunk_docs, struct rw_binned *out);

/* Values in memory, of each worker its own Fills out->bins and its features. */
int rw_dataset_codes(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cut_rule *rule, struct rw_binned *out);
