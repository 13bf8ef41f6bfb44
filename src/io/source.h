/* Sources of training data. A source provides its documents, and then, in passes, their values in
 * chunks, which become codes.
 *
 * Codes need two passes. In the first, the values of the sampled documents determine the
 * boundaries; in the second, the other documents are read. Within a pass, a source reads its chunks
 * in the way that suits it: any thread any chunk (plain text, values in memory), or only the next
 * chunks (gzip, batches). It passes the wanted documents of each chunk, which are those that
 * this pass reads, to rw_source_take. All other steps are shared, in source_codes.c: sampling,
 * passes, and communication among workers. If all documents were sampled, the source is read only
 * once.
 *
 * To add a source, write a struct rw_source_kind and a function that runs it (rw_source_codes) in
 * the file of its format (reader.c and batches.c are examples), and declare that function here. */
#pragma once

#include "binning/chunks.h"

struct rw_source;

struct rw_source_kind {
    /* Sets first_doc, n_chunks and, unless they are set before, documents and rule. All workers
     * call it, and fail together. Returns 1, or 0 if the data cannot be read in this way. */
    int (*open)(struct rw_source *source);
    /* Reads all chunks once and passes the wanted documents of each to rw_source_take, including
     * chunks without any such document. */
    int (*pass)(struct rw_source *source);
    /* Called after the first pass, when boundaries are known; returns like open. NULL: not called.
     */
    int (*bounded)(struct rw_source *source);
    /* Called at the end, when there are codes; returns like open. NULL: not called. */
    int (*done)(struct rw_source *source);
    /* Replaces rw_comm_agree if the failure of a pass must be explained first. NULL: rw_comm_agree.
     */
    int (*agree)(struct rw_source *source, int status);
};

struct rw_source {
    const struct rw_source_kind *kind;  /* borrowed */
    void *self;                         /* data of the kind; borrowed */
    struct rw_ctx *ctx;                 /* borrowed */
    const struct rw_cut_rule *rule;     /* set by `open` at the latest; borrowed */
    const struct rw_dataset *documents; /* their values are not used; borrowed */
    uint32_t *first_doc;                /* [n_chunks + 1] number of documents before each chunk;
                                           owned */
    uint32_t n_chunks;
    /* used while codes are made */
    struct rw_cut_sample sample;
    struct rw_chunks chunks;
    int sampled; /* 1: the current pass reads the sampled documents; 0: the others */
};

/* Divides n_docs documents into chunks of chunk_docs; the last one may be smaller. */
int rw_source_even_chunks(struct rw_source *source, uint32_t n_docs, uint32_t chunk_docs);
/* Returns 1 if the current pass reads the document. */
static inline int rw_source_wants(const struct rw_source *source, uint32_t doc)
{
    return (source->sample.in ? source->sample.in[doc] : 1) == source->sampled;
}
/* Returns the number of documents of a chunk that the current pass reads. */
static inline uint32_t rw_source_n_wanted(const struct rw_source *source, uint32_t chunk)
{
    const struct rw_chunk *held = &source->chunks.chunk[chunk];
    return source->sampled ? held->n_sampled : held->n_docs - held->n_sampled;
}
/* Takes a chunk's wanted documents from `builder`. row: [builder->n_docs] each document's row in
 * the chunk. builder NULL: the documents are in source->chunks.scratch[slot] (struct
 * rw_chunk_scratch). Several threads may call it in parallel, each with a different slot from 0 to
 * ctx->n_threads - 1. Never uses the context. */
int rw_source_take(struct rw_source *source, uint32_t chunk, int slot,
                   const struct rw_builder *builder, const uint32_t *row);
/* Runs the passes, and fills out->bins and the features. All workers call it, and fail together.
 * Returns 1, or 0 if open, bounded or done returns 0. In any case, it frees first_doc, sample and
 * chunks. */
int rw_source_codes(struct rw_source *source, struct rw_binned *out);

/* ---- the sources ---- */

/* Files of LETOR text (reader.c) are read up to three times: before the two passes, labels and
 * queries are skimmed. Every value is parsed once, and the values are never all in memory. */

struct rw_shard;
struct rw_read_goal;

/* Reads files like rw_dataset_read, but bins them by goal->rule while reading. The bins are those
 * of rw_bins_make_training. `out` must be empty. chunk_bytes: most bytes per chunk of text.
 *
 * If `part` is NULL, `out` is filled only if the files can be read several times and look like
 * LETOR text with more documents than rw_cut_sample_docs, and if goal->bins_text then returns 1. If
 * goal->values is set, the values are written to it; if that is impossible, `out` stays empty.
 * Fails only with RW_ERR_MEMORY, RW_ERR_DATA (a file changed) or RW_ERR_INTERRUPTED. After any
 * other error, such as an invalid line, `out` stays empty and the result is RW_OK; the caller then
 * reads the files as a whole, which reports the first error.
 *
 * Otherwise `part` is the worker's shard of the files, which must be LETOR text. The text is binned
 * whatever the number of documents, goal->values is not used, errors are reported, and all workers
 * call it, and fail together. */
int rw_text_codes(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_shard *part, size_t chunk_bytes,
                  struct rw_binned *out);

enum { RW_STREAM_CHUNK_DOCS = 1 << 14 }; /* chunk_docs of rw_stream_codes, except in tests */
/* Returns 1 if the table's values are not in memory, but arrive in batches of documents, again in
 * each pass. */
int rw_table_is_streamed(const struct rw_table *table);
/* Reads a streamed table (batches.c). Its documents are combined into chunks of chunk_docs
 * documents, at most as many chunks at a time as there are threads. rule->ignore must be NULL and
 * *out zeroed. Release *out even on failure. Errors are those of rw_dataset_from_table. */
int rw_stream_codes(struct rw_ctx *ctx, const struct rw_table *table,
                    const struct rw_cut_rule *rule, uint32_t chunk_docs, struct rw_binned *out);

/* Bins values in memory; each worker has its shard. Fills out->bins, and the features of `out`. */
int rw_dataset_codes(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cut_rule *rule, struct rw_binned *out);
