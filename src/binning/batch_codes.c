#include "binning/batch_codes.h"

#include "base/mem.h"
#include "binning/pieces.h"
#include "comm/comm.h"
#include "dataset/table.h"

#define MOST_STAGED \
    ((size_t)128 << 20) /* bytes of values of all pieces at hand, if more than one */

/* Documents of the batch at hand that go to one piece. */
struct segment {
    uint32_t slot;     /* of the piece */
    uint32_t first, n; /* in struct coding's `row` */
    uint32_t at;       /* in the piece: behind those of earlier batches */
};

struct coding {
    struct rw_ctx *ctx;               /* borrowed */
    const struct rw_batches *batches; /* borrowed */
    struct rw_table_reader reader;
    struct rw_array *column;    /* [n_columns] of the batch at hand; owned */
    uint32_t *number, *feature; /* [n_columns] 0, 1, ...; ids; owned */
    struct rw_cut_sample sample;
    struct rw_pieces pieces;
    uint32_t *first_doc; /* [n_pieces + 1] owned */
    uint32_t n_docs, n_columns, piece_docs, n_pieces;
    int sampled; /* 1: the pass that reads the sampled documents; 0: the others */
    /* the pieces at hand: slot k has piece `piece` + k, in the memory of thread k */
    uint32_t piece, n_slots, room;
    uint32_t *staged;        /* [room] documents there so far; owned */
    struct segment *segment; /* [room] of the documents at hand; owned */
    uint32_t n_segments;
    uint32_t *row; /* [piece_docs * room] documents of the batch; owned */
};

static void coding_release(struct coding *c)
{
    rw_pieces_release(&c->pieces);
    rw_cut_sample_release(&c->sample);
    rw_mem_free(c->column);
    rw_mem_free(c->number);
    rw_mem_free(c->feature);
    rw_mem_free(c->first_doc);
    rw_mem_free(c->staged);
    rw_mem_free(c->segment);
    rw_mem_free(c->row);
    rw_table_close(&c->reader);
}

/* Does the pass read the document? */
static inline int is_wanted(const struct coding *c, uint32_t doc)
{
    return (c->sample.in ? c->sample.in[doc] : 1) == c->sampled;
}

static uint32_t n_wanted(const struct coding *c, uint32_t piece)
{
    const struct rw_piece *one = &c->pieces.piece[piece];
    return c->sampled ? one->n_sampled : one->n_docs - one->n_sampled;
}

/* ---- batches to pieces ---- */

/* The next pieces take the place of those at hand. */
static int begin_pieces(struct coding *c, uint32_t piece)
{
    c->piece = piece;
    c->n_slots = c->n_pieces - piece < c->room ? c->n_pieces - piece : c->room;
    for (uint32_t k = 0; k < c->n_slots; k++) {
        c->staged[k] = 0;
        if (rw_pieces_stage(&c->pieces, (int)k, c->feature, c->n_columns, n_wanted(c, piece + k)) <
            0)
            return rw_fail(c->ctx, RW_ERR_MEMORY, "out of memory while reading batches");
    }
    return RW_OK;
}

static int end_some(void *user, struct rw_share *share)
{
    struct coding *c = user;
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        const uint32_t p = c->piece + (uint32_t)k;
        RW_TRY(c->sampled ? rw_pieces_hold(&c->pieces, p, (int)k, NULL)
                          : rw_pieces_add(&c->pieces, p, (int)k, NULL, NULL));
    }
    return RW_OK;
}

/* What all documents of the pieces at hand are staged for. */
static int end_pieces(struct coding *c)
{
    const int status = rw_parallel(c->ctx, c->ctx->n_threads, c->n_slots, 1, end_some, c);
    return status < 0 ? rw_fail_memory(c->ctx, status, "out of memory while reading batches")
                      : status;
}

static int stage_some(void *user, struct rw_share *share)
{
    struct coding *c = user;
    const uint32_t n_groups = (c->n_columns + RW_TABLE_COLUMNS - 1) / RW_TABLE_COLUMNS;
    for (uint64_t item, end; rw_share_next(share, &item, &end);) {
        const struct segment *one = &c->segment[item / n_groups];
        const uint32_t first = (uint32_t)(item % n_groups) * RW_TABLE_COLUMNS;
        const uint32_t left = c->n_columns - first;
        const uint32_t stride = n_wanted(c, c->piece + one->slot);
        float *value = c->pieces.scratch[one->slot].value;
        rw_table_values(&c->reader, c->number + first,
                        left < RW_TABLE_COLUMNS ? left : RW_TABLE_COLUMNS, c->row + one->first, 0,
                        one->n, value + (size_t)first * stride + one->at, stride);
    }
    return RW_OK;
}

/* Documents [first, end), all of the pieces at hand and in the batch, which begins with document
 * `batch`. */
static void stage(struct coding *c, uint32_t batch, uint32_t first, uint32_t end)
{
    uint32_t n = 0;
    c->n_segments = 0;
    for (uint32_t doc = first; doc < end;) {
        const uint32_t piece = doc / c->piece_docs, slot = piece - c->piece;
        const uint32_t piece_end = c->first_doc[piece + 1] < end ? c->first_doc[piece + 1] : end;
        struct segment one = {.slot = slot, .first = n, .at = c->staged[slot]};
        uint32_t *row = c->pieces.scratch[slot].row;
        for (; doc < piece_end; doc++) {
            if (!is_wanted(c, doc))
                continue;
            row[c->staged[slot]++] = doc - c->first_doc[piece];
            c->row[n++] = doc - batch;
        }
        one.n = n - one.first;
        if (one.n)
            c->segment[c->n_segments++] = one;
    }
    const uint32_t n_groups = (c->n_columns + RW_TABLE_COLUMNS - 1) / RW_TABLE_COLUMNS;
    enum { FEW = 1 << 12 }; /* values: waking threads up costs more */
    const int n_threads = (uint64_t)n * c->n_columns < FEW ? 1 : c->ctx->n_threads;
    rw_parallel(c->ctx, n_threads, (uint64_t)c->n_segments * n_groups, 1, stage_some, c);
}

static int read_pass(struct coding *c, int sampled, int is_last)
{
    uint32_t done = 0, n;
    c->sampled = sampled;
    RW_TRY(begin_pieces(c, 0));
    RW_TRY(rw_table_rewind(c->ctx, c->batches));
    for (;;) {
        RW_TRY(rw_table_next_batch(c->ctx, &c->reader, c->batches, c->n_docs, done, c->column, &n));
        if (n == 0)
            return RW_OK;
        const uint32_t batch = done;
        while (done < batch + n) {
            const uint32_t end = c->first_doc[c->piece + c->n_slots];
            const uint32_t stop = batch + n < end ? batch + n : end;
            stage(c, batch, done, stop);
            done = stop;
            if (done < end)
                break;
            RW_TRY(end_pieces(c));
            if (done < c->n_docs)
                RW_TRY(begin_pieces(c, c->piece + c->n_slots));
        }
        if (is_last) /* all documents before these are known to be right */
            RW_TRY(rw_table_check(c->ctx, &c->reader));
    }
}

/* ---- all ---- */

static int begin(struct coding *c, const struct rw_table *table, const struct rw_dataset *documents,
                 const struct rw_cut_rule *rule)
{
    struct rw_ctx *ctx = c->ctx;
    const size_t bytes = (size_t)c->piece_docs * (c->n_columns + 1) * sizeof(float);
    const uint32_t most = bytes < MOST_STAGED ? (uint32_t)(MOST_STAGED / bytes) : 1;
    c->n_docs = documents->n_docs;
    c->n_pieces = c->n_docs ? (c->n_docs - 1) / c->piece_docs + 1 : 0;
    c->room = most < (uint32_t)ctx->n_threads ? most : (uint32_t)ctx->n_threads;
    RW_TRY(RW_NEW_RAW(ctx, c->first_doc, (size_t)c->n_pieces + 1));
    for (uint32_t p = 0; p < c->n_pieces; p++)
        c->first_doc[p] = p * c->piece_docs;
    c->first_doc[c->n_pieces] = c->n_docs;
    RW_TRY(RW_NEW(ctx, c->column, c->n_columns));
    RW_TRY(RW_NEW_RAW(ctx, c->number, c->n_columns));
    RW_TRY(RW_NEW_RAW(ctx, c->feature, c->n_columns));
    for (uint32_t i = 0; i < c->n_columns; i++) {
        c->number[i] = i;
        c->feature[i] = table->feature ? table->feature[i] : i;
    }
    RW_TRY(RW_NEW_RAW(ctx, c->staged, c->room));
    RW_TRY(RW_NEW_RAW(ctx, c->segment, c->room));
    RW_TRY(RW_NEW_RAW(ctx, c->row, (size_t)c->piece_docs * c->room));
    return rw_pieces_init(ctx, &c->pieces, &c->sample, rule, c->first_doc, c->n_pieces);
}

/* The second pass where there is nothing left to read. */
static int add_held(struct coding *c)
{
    c->sampled = 0;
    for (uint32_t p = 0; p < c->n_pieces; p += c->n_slots) {
        RW_TRY(begin_pieces(c, p));
        RW_TRY(end_pieces(c));
    }
    return RW_OK;
}

int rw_batch_codes(struct rw_ctx *ctx, const struct rw_table *table,
                   const struct rw_batches *batches, const struct rw_cut_rule *rule,
                   uint32_t piece_docs, struct rw_binned *out)
{
    struct coding c = {
        .ctx = ctx, .batches = batches, .n_columns = table->n_columns, .piece_docs = piece_docs};
    int status;
    status = rw_table_open_batches(ctx, &c.reader, table);
    status = status < 0 ? status : rw_table_documents(ctx, table, &out->documents);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_cut_sample_init(ctx, &c.sample, out->documents));
    const int all_sampled = !c.sample.in;
    status = begin(&c, table, out->documents, rule);
    status = status < 0 ? status : read_pass(&c, 1, all_sampled);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_pieces_find_bounds(&c.pieces));
    RW_TRY_OUT(rw_comm_agree(ctx, all_sampled ? add_held(&c) : read_pass(&c, 0, 1)));
    rw_table_tell(ctx, &c.reader);
    status = rw_pieces_finish(&c.pieces, out);
out:
    coding_release(&c);
    return status;
}
