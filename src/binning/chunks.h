/* Binning of a data set whose values are never in memory as a whole.
 *
 * The documents arrive in chunks, and each chunk is read twice. Its values arrive in a builder
 * (struct rw_builder), or in scratch memory if all documents have the same features
 * (rw_chunks_stage). The first time, only the values of the sampled documents are held until they
 * have determined the boundaries. They are packed: either zeros or absent values are not stored,
 * whichever are more frequent. The second time, the other documents are read. Each value then
 * becomes the index of its interval between boundaries, in one or two bytes. A feature has either a
 * full column with the index of every document of all chunks, or a list per chunk. It has lists if
 * fewer than one in RW_SPARSE_SHARE of this worker's sampled documents may have a value that
 * differs from an absent one's. A list has the documents whose interval is not that of an absent
 * value.
 *
 * The largest value of every interval is recorded. When all chunks are done, these values determine
 * the thresholds, and intervals become codes. Moving a boundary within a gap between values moves
 * no value to another interval, so the codes are those of rw_bins_make_training.
 *
 * With several workers, each worker has its own chunks. The sampled values of a feature go to one
 * worker, which finds its boundaries. The intervals' largest values and document counts are
 * combined over all workers. A worker without documents has no chunks, but the same features and
 * thresholds as the others. */
#pragma once

#include "binning/bins.h"

/* One feature's list in a chunk: the documents whose interval is not that of an absent value. */
struct rw_chunk_list {
    uint16_t feature;
    uint32_t n; /* number of listed documents */
    /* row_at: index of the first document in rw_chunk.row; interval_at: offset of its interval in
     * rw_chunk.interval, in bytes */
    uint32_t row_at, interval_at;
};

/* One feature of the chunk's sampled documents. The chunk's block stores which of these documents
 * have a stored value, then the values. There is one struct per chunk and feature, so it is small.
 */
struct rw_held {
    uint32_t at;        /* offset in the block, in units of 4 bytes */
    uint32_t n;         /* number of stored values */
    uint32_t n_present; /* number of sampled documents that have the feature */
    uint16_t feature;
    uint8_t width;        /* bytes per value: 4, or 1 or 2 if all values are integers that fit */
    uint8_t has_rows : 1; /* 1: the block has the indices of documents with a stored value among the
                             chunk's sampled documents; 0: it has one bit per sampled document */
    uint8_t rest_is_zero : 1; /* 1: values that are not stored are 0; 0: they are absent */
};

struct rw_chunk {
    /* first_doc, first_sampled: index of the first document in the data set, and of the first
     * sampled document in the sample; n_docs, n_sampled: numbers of documents */
    uint32_t first_doc, n_docs;
    uint32_t first_sampled, n_sampled;
    void *block; /* memory of the held values, and later of the lists; NULL: empty; owned */
    size_t block_bytes;
    uint32_t n_held, n_lists;
    struct rw_held *held;       /* [n_held] ascending by feature; in `block` */
    struct rw_chunk_list *list; /* [n_lists] ascending by feature; in `block` */
    uint32_t *row;              /* documents of all lists, as rows in the chunk; in `block` */
    uint8_t *interval;          /* intervals of these documents, in 1 or 2 bytes
                                   (rw_chunk_feature.width); in `block` */
};
void rw_chunk_release(struct rw_chunk *chunk);
/* Makes room for n_bytes in the block of an empty chunk. */
int rw_chunk_make_room(struct rw_chunk *chunk, size_t n_bytes);

/* Scratch memory of one thread. An entry is the value of one feature of one document. `value` and
 * `row` have the entries of a builder or of rw_chunks_stage, sorted by feature. A row is a
 * document's index in the chunk. Exception: while rw_chunks_hold works on a builder, a row is an
 * index among the chunk's sampled documents. */
struct rw_chunk_scratch {
    uint32_t *next;    /* [RW_FEATURE_IDS] end of the entries of each feature in `feature` */
    uint16_t *feature; /* [n_features] features that have entries, ascending */
    uint32_t *begin;   /* [n_features] start of their entries */
    size_t feature_room, begin_room;
    uint32_t n_features;
    float *value;  /* values of the entries */
    uint32_t *row; /* row of each entry's document, ascending within a feature; if shares_rows, row
                      of each document */
    int shares_rows; /* 1: all documents have the same features, which share one list of rows; 0:
                        each feature has its own list of rows */
    size_t value_room, row_room;
    /* The next four have [most_docs] elements each. line: unpacked values of held documents;
     * all_values: values of all documents of the chunk; new_interval: intervals of entries, or of
     * all documents; held_interval: intervals of held values */
    float *line, *all_values;
    uint16_t *new_interval, *held_interval;
    uint32_t *held_row; /* [most_docs] row in the chunk of each held document */
    float *packed;      /* [most_docs + RW_PACK_PAD] values that are being packed or unpacked */
    struct rw_cut_part *part; /* parts of a feature, while its boundaries are found */
    size_t part_room;
    struct rw_held *held; /* features of the chunk being held */
    size_t held_room;
    /* lists of the current chunk so far, in the form of rw_chunk.list and rw_chunk.interval */
    struct rw_chunk_list *list;
    uint8_t *interval;
    uint32_t *listed; /* rw_chunk.row */
    size_t list_room, interval_room, listed_room;
    struct rw_code_search *search; /* of the current feature */
    int32_t *most; /* [rw_chunks.n_most] largest value of each interval in all chunks that the
                      thread processed (rw_ordered_of_key) */
};

/* One feature over all chunks. */
struct rw_chunk_feature {
    uint32_t n_other; /* held documents whose value may differ from an absent one's */
    uint32_t n_bounds;
    uint32_t *bound;  /* [n_bounds] keys; owned */
    uint64_t most_at; /* offset of its n_bounds + 1 intervals in rw_chunk_scratch.most */
    uint16_t absent;  /* the interval of an absent value, or n_bounds + 1 if absent means missing */
    uint8_t width;    /* bytes per interval index: 1 or 2 */
    /* all threads add to n_present and n_listed, chunk by chunk */
    uint32_t n_present; /* documents that have the feature; in rw_chunks_finish: of all workers */
    uint32_t n_listed;  /* documents in the lists of all chunks; 0 for a full column */

    void *interval;    /* interval indices, in `width` bytes: [n_docs] for a full column; for lists
                          NULL, then [n_listed] filled by rw_chunks_finish; owned */
    uint32_t *row;     /* [n_listed] documents of these indices; NULL for a full column; owned */
    uint32_t n_joined; /* number of listed documents that rw_chunks_finish has copied so far */
    uint32_t column;   /* column of the data set; UINT32_MAX: no document has the feature */
};

struct rw_chunks {
    struct rw_ctx *ctx;                 /* borrowed */
    uint32_t n_docs;                    /* documents of all chunks */
    struct rw_cut_rule rule;            /* `ignore` is NULL */
    const struct rw_cut_sample *sample; /* the sampled documents; borrowed */
    enum rw_isa isa;
    int n_threads;
    struct rw_chunk *chunk;       /* [n_chunks] owned */
    uint32_t n_chunks, most_docs; /* number of chunks; most documents of a chunk */
    /* Receives the values of a feature for the documents of one chunk, doc .. doc + n - 1
     * (RW_ABSENT_BITS for a document without the feature). A chunk in which no document has the
     * feature is left out, unless the feature has a full column. Called by all threads. Returns a
     * status. NULL: not called. */
    int (*take)(void *user, uint32_t feature, uint32_t doc, const float *value, uint32_t n);
    void *take_user;                  /* borrowed */
    struct rw_chunk_scratch *scratch; /* [n_threads] owned */
    struct rw_chunk_feature *feature; /* [RW_FEATURE_IDS] owned */
    uint32_t *full;                   /* [n_full] features with a full column, ascending; owned */
    uint32_t n_full;
    uint64_t n_most; /* number of intervals of all features */
};

/* Initialises *chunks. Release it even on failure. first_doc: [n_chunks + 1] number of documents
 * before each chunk, then of all documents. */
int rw_chunks_init(struct rw_ctx *ctx, struct rw_chunks *chunks, const struct rw_cut_sample *sample,
                   const struct rw_cut_rule *rule, const uint32_t *first_doc, uint32_t n_chunks);
void rw_chunks_release(struct rw_chunks *chunks);

/* Makes room in scratch[thread] for n_docs documents that all have the same features, as an
 * alternative to a builder. The caller then writes to scratch[thread] the values of the i-th
 * feature from value + begin[i] on, and the documents' rows, ascending, to `row`. feature:
 * [n_features] ascending. Never uses the context. */
int rw_chunks_stage(struct rw_chunks *chunks, int thread, const uint32_t *feature,
                    uint32_t n_features, uint32_t n_docs);
/* Holds the sampled documents of chunk p: those of `builder` or, if it is NULL, those in
 * scratch[thread]. Threads numbered 0 .. n_threads - 1 may call it in parallel. Never uses the
 * context. */
int rw_chunks_hold(struct rw_chunks *chunks, uint32_t p, int thread,
                   const struct rw_builder *builder);
/* Finds the boundaries, once all sampled documents are held. All workers call it. */
int rw_chunks_find_bounds(struct rw_chunks *chunks);
/* Computes the intervals of all documents of chunk p, after rw_chunks_find_bounds: of those held,
 * and of the others. These are in `builder` or, if it is NULL, in scratch[thread]. Threads numbered
 * 0 .. n_threads - 1 may call it in parallel. Never uses the context. row: [builder->n_docs] the
 * row in the chunk of each document of the builder, ascending; NULL without builder. */
int rw_chunks_add(struct rw_chunks *chunks, uint32_t p, int thread,
                  const struct rw_builder *builder, const uint32_t *row);
/* Writes the features and the bins of all documents to *out, once all chunks are added. Frees the
 * chunks, some at a time, as the result is written. All workers call it. */
int rw_chunks_finish(struct rw_chunks *chunks, struct rw_binned *out);

/* ---- internal functions, shared by the files that implement this ---- */

/* Sorts the builder's entries by feature, into s. row: the row of each document; NULL: 0, 1, ... */
int rw_chunk_sort(struct rw_chunk_scratch *s, const struct rw_builder *builder,
                  const uint32_t *row);
/* Returns the documents of the i-th feature's entries. */
static inline const uint32_t *rw_chunk_rows(const struct rw_chunk_scratch *s, uint32_t i)
{
    return s->shares_rows ? s->row : s->row + s->begin[i];
}

/* Returns which documents have a stored value. If has_rows: [held->n], indices among the chunk's
 * sampled documents, ascending. Otherwise one bit per sampled document, 32 of them in 4 bytes. */
static inline uint32_t *rw_held_rows(const struct rw_chunk *chunk, const struct rw_held *held)
{
    return (uint32_t *)chunk->block + held->at;
}
/* Returns the held->n stored values: where they are stored, or as floats in `room` if they have
 * fewer than 4 bytes. */
const float *rw_held_values(const struct rw_chunk *chunk, const struct rw_held *held, float *room);

/* Combines the first thread's `most` and each feature's n_present over all workers, once all chunks
 * are added. */
int rw_chunks_share_found(struct rw_chunks *chunks);

enum { RW_PACK_PAD = 16 };
/* Packs the values whose bits are not `rest`, and writes one bit per value: 1 if it is stored. out:
 * room for the stored values and RW_PACK_PAD more. Returns the number of stored values. */
uint32_t rw_chunk_pack(enum rw_isa isa, const float *value, uint32_t n, uint32_t rest,
                       uint8_t *bits, float *out);
/* Restores the n values that rw_chunk_pack packed. It may read up to RW_PACK_PAD floats after the
 * last packed value. */
void rw_chunk_unpack(enum rw_isa isa, const float *packed, const uint8_t *bits, uint32_t n,
                     uint32_t rest, float *out);
