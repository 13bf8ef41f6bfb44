/* The codes of a data set whose values are never in memory as a whole.
 *
 * Its documents come in chunks, each chunk twice: first the sampled documents, whose values are
 * held (packed: what most documents of a chunk have is not written down) until they have decided
 * the boundaries; then the others. With those a chunk's values become intervals between boundaries,
 * of one or two bytes: in a column of all documents, or in the chunk's list if the sample says that
 * most documents have the interval of an absent value. The largest value of every interval is
 * noted; when all chunks are done, that says where the cuts are, and the intervals become codes:
 * those that rw_bins_make_training makes, since moving a boundary within a gap between values moves
 * no value to another interval.
 *
 * Each of many workers has chunks of its own. The sampled values of a feature meet on one of them,
 * which finds its boundaries; the intervals' largest values and their documents are those of all
 * workers. A worker without documents has no chunks, but features and cuts like the others.
 */
#pragma once

#include "binning/bins.h"

/* One feature's list in a chunk: documents whose interval is not that of an absent value. */
struct rw_chunk_list {
    uint16_t feature;
    uint32_t n;
    uint32_t row_at, interval_at; /* the first in `row`; the first byte in `interval` */
};

/* A feature of the chunk's sampled documents. In the chunk's block: which documents' values are
 * written down (numbers of rows, or a bit for each document), then those. There are as many as
 * chunks times features, so it is small. */
struct rw_held {
    uint32_t at;        /* in the block, in units of 4 bytes */
    uint32_t n;         /* values that are written down */
    uint32_t n_present; /* documents that have the feature */
    uint16_t feature;
    uint8_t width; /* bytes of a value: 4, or 1 or 2 where all are whole numbers that these hold */
    uint8_t has_rows : 1;
    uint8_t rest_is_zero : 1; /* what is not written down is 0; else it is absent */
};

struct rw_chunk {
    uint32_t first_doc, n_docs;        /* of the data set */
    uint32_t first_sampled, n_sampled; /* of the sample */
    void *block; /* NULL: nothing; what is held, and then what is listed, are views of it; owned */
    size_t block_bytes;
    uint32_t n_held, n_lists;
    struct rw_held *held;       /* [n_held] ascending */
    struct rw_chunk_list *list; /* [n_lists] ascending */
    uint32_t *row;              /* documents of the chunk */
    uint8_t *interval;
};
void rw_chunk_release(struct rw_chunk *chunk);
/* Room for n_bytes in the block of an empty chunk. */
int rw_chunk_make_room(struct rw_chunk *chunk, size_t n_bytes);

/* One thread's memory. */
struct rw_chunk_scratch {
    uint32_t *next;    /* [RW_FEATURE_IDS] behind each feature's entries */
    uint16_t *feature; /* [n_features] ascending: those of the builder at hand */
    uint32_t *begin;   /* [n_features] their entries */
    size_t feature_room, begin_room;
    uint32_t n_features;
    float *value; /* [entries] by feature */
    uint32_t
        *row; /* [entries] ascending within a feature; [documents] for all, if they share them */
    int shares_rows; /* all documents have the same features */
    size_t value_room, row_room;
    /* of the documents of a chunk: [most_docs] */
    float *line, *all_values;
    uint16_t *new_interval, *held_interval;
    uint32_t *held_row; /* where held documents stand in the chunk */
    float *packed;      /* [most_docs + RW_PACK_PAD] values that are about to be written down */
    struct rw_cut_part *part; /* of a feature, while its boundaries are found */
    size_t part_room;
    struct rw_held *held; /* of the chunk being held */
    size_t held_room;
    struct rw_chunk_list *list; /* of the chunk being made */
    uint8_t *interval;          /* the same */
    uint32_t *listed;
    size_t list_room, interval_room, listed_room;
    struct rw_code_search *search;
    struct rw_rank_scratch rank; /* while boundaries are found */
    /* what is found of all chunks of the thread */
    int32_t *most; /* [of all intervals] ordered */
};

/* A feature of all chunks. */
struct rw_chunk_feature {
    uint32_t n_other; /* held documents that have another value than an absent one stands for */
    uint32_t n_bounds;
    uint32_t *bound;  /* [n_bounds] keys; owned */
    uint64_t most_at; /* its n_bounds + 1 intervals in rw_chunk_scratch.most */
    uint16_t absent;  /* the interval of an absent value */
    uint8_t width;    /* bytes of an interval: 1 or 2 */
    /* of the documents so far; all threads add to the two numbers */
    uint32_t n_present; /* documents that have the feature */
    uint32_t n_listed;  /* documents in the lists of all chunks; of a full column none */
    void *interval;     /* [n_docs] of all documents, or [n_listed], joined last; owned */
    uint32_t *row;      /* [n_listed] NULL: all documents; owned */
    uint32_t n_joined;  /* of n_listed */
    uint32_t column;    /* of the data set; UINT32_MAX: none has it */
};

struct rw_chunks {
    struct rw_ctx *ctx;                 /* borrowed */
    uint32_t n_docs;                    /* of all chunks */
    struct rw_cut_rule rule;            /* `ignore` is NULL */
    const struct rw_cut_sample *sample; /* some of the documents; borrowed */
    enum rw_isa isa;
    int n_threads;
    struct rw_chunk *chunk;       /* [n_chunks] owned */
    uint32_t n_chunks, most_docs; /* of a chunk */
    /* NULL, or what gets the values of a feature (RW_ABSENT_BITS for those without it), documents
     * doc .. doc + n - 1 at a time. Called by all threads. A status. */
    int (*take)(void *user, uint32_t feature, uint32_t doc, const float *value, uint32_t n);
    void *take_user;                  /* borrowed */
    struct rw_chunk_scratch *scratch; /* [n_threads] owned */
    struct rw_chunk_feature *feature; /* [RW_FEATURE_IDS] owned */
    uint32_t *full; /* [n_full] features with a column of all documents, ascending; owned */
    uint32_t n_full;
    uint64_t n_most; /* intervals of all features */
};

/* first_doc: [n_chunks + 1] documents before each chunk. Released also after a failure. */
int rw_chunks_init(struct rw_ctx *ctx, struct rw_chunks *chunks, const struct rw_cut_sample *sample,
                   const struct rw_cut_rule *rule, const uint32_t *first_doc, uint32_t n_chunks);
void rw_chunks_release(struct rw_chunks *chunks);

/* In place of a builder, where all documents have the same features: gives room for the values of
 * n_docs documents in scratch[thread], to be written there: feature i's from value + begin[i] on,
 * and row: [n_docs] where they stand in their chunk. feature: [n_features] ascending. Never touches
 * the context. */
int rw_chunks_stage(struct rw_chunks *chunks, int thread, const uint32_t *feature,
                    uint32_t n_features, uint32_t n_docs);
/* Holds the sampled documents of chunk p: those of `builder`, or, if it is NULL, those that stand
 * in scratch[thread]. Threads (of numbers 0 .. n_threads - 1) may do so side by side; never touches
 * the context. */
int rw_chunks_hold(struct rw_chunks *chunks, uint32_t p, int thread,
                   const struct rw_builder *builder);
/* When all are held: boundaries. All workers call it. */
int rw_chunks_find_bounds(struct rw_chunks *chunks);
/* Then: intervals of the chunk's documents, those held and those of `builder`, which are the
 * documents row: [builder->n_docs] of the chunk. As rw_chunks_hold; of documents in scratch[thread]
 * it is NULL, too. */
int rw_chunks_add(struct rw_chunks *chunks, uint32_t p, int thread,
                  const struct rw_builder *builder, const uint32_t *row);
/* When all are added: features and bins of the documents. The chunks are emptied, one after the
 * other, while the codes fill. All workers call it. */
int rw_chunks_finish(struct rw_chunks *chunks, struct rw_binned *out);

/* --- between the files that do this --- */

/* The builder's entries by feature, into s; row: where its documents stand, NULL: 0, 1, ... */
int rw_chunk_sort(struct rw_chunk_scratch *s, const struct rw_builder *builder,
                  const uint32_t *row);
/* The documents of the i-th feature's entries. */
static inline const uint32_t *rw_chunk_rows(const struct rw_chunk_scratch *s, uint32_t i)
{
    return s->shares_rows ? s->row : s->row + s->begin[i];
}

/* [n_held] rows of the sampled documents, or bits, of which 4 bytes hold 32. */
static inline uint32_t *rw_held_rows(const struct rw_chunk *chunk, const struct rw_held *held)
{
    return (uint32_t *)chunk->block + held->at;
}
/* [n] values, where they stand or, of fewer bytes, in `room`. */
const float *rw_held_values(const struct rw_chunk *chunk, const struct rw_held *held, float *room);

/* When all are added, the first thread's `most`, and how many documents have each feature: of all
 * workers. */
int rw_chunks_share_found(struct rw_chunks *chunks);

/* Values whose bits are not `rest`, one after the other, and a bit for each document: is it one of
 * them? out: room for RW_PACK_PAD more. Returns their number. */
enum { RW_PACK_PAD = 16 };
uint32_t rw_chunk_pack(enum rw_isa isa, const float *value, uint32_t n, uint32_t rest,
                       uint8_t *bits, float *out);
/* The n values again. */
void rw_chunk_unpack(enum rw_isa isa, const float *packed, const uint8_t *bits, uint32_t n,
                     uint32_t rest, float *out);
