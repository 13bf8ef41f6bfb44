/* Computes scores on a GPU. The columns that the model uses are sent in chunks of documents through
 * a pipe, and the scores are read once, after all chunks. cu_predict.h explains slots and tiles. */

#include "gpu/device/cu_check.h"
#include "gpu/device/device.h"
#include "gpu/predict/cu_predict.h"
#include "model/scorer.h"

/* Documents of a column that one thread copies at a time. */
enum { PIECE_DOCS = 8192 };

struct scorer_cuda {
    struct rw_device_scorer base; /* first member, so that both have one address */
    struct rw_device *device;
    struct rw_device_tables tables; /* owns the model's tables, and those of look_up */
    struct rw_predict_plan plan;    /* owned; its args point to the tables */
    /* d_to: [RW_TUNE_PREDICT_STREAMS][n_used][chunk_docs]; NULL: no slot has a set */
    struct rw_predict_look_up look_up;
    double *d_score;     /* [score_room] scores of all documents; owned */
    size_t score_room;   /* documents of d_score */
    uint32_t chunk_docs; /* largest number of documents of a chunk */
    struct rw_transfer_pipe *pipe;
};

static void close_cuda(struct rw_device_scorer *base)
{
    struct scorer_cuda *s = (struct scorer_cuda *)base;
    if (!s)
        return;
    rw_transfer_pipe_free(s->pipe); /* waits, so that the memory below is no longer in use */
    rw_arena_free(&s->tables.arena);
    rw_device_free(s->d_score);
    rw_arena_free(&s->plan.arena);
    rw_device_close(s->device);
    rw_mem_free(s);
}
RW_SCOPED_BY(close_cuda)

/* A chunk: documents [begin, begin + n). */
struct chunk {
    const struct scorer_cuda *scorer;
    const struct rw_column *const *column; /* [n_used] columns of the data set, by slot */
    uint32_t begin, n;
    uint64_t n_pieces; /* pieces of PIECE_DOCS documents of each column */
    float *values;     /* [n_columns][n] written: values of each column sent */
};

static int fill_pieces(void *user, struct rw_share *share)
{
    const struct chunk *chunk = user;
    const struct scorer_cuda *s = chunk->scorer;
    RW_SHARE_EACH(share, k) {
        const uint32_t c = (uint32_t)(k / chunk->n_pieces), n = chunk->n;
        const uint32_t from = (uint32_t)(k % chunk->n_pieces) * PIECE_DOCS;
        const uint32_t to = n - from < PIECE_DOCS ? n : from + PIECE_DOCS;
        rw_column_values(chunk->column[s->plan.first_slot[c]], chunk->begin + from,
                         chunk->begin + to, s->base.flat->absent,
                         chunk->values + (size_t)c * n + from);
    }
    return RW_OK;
}

static int score_chunk(const struct chunk *chunk, const struct rw_transfer_chunk *sent)
{
    const struct scorer_cuda *s = chunk->scorer;
    struct rw_predict_args args = s->plan.args;
    struct rw_predict_look_up look_up = s->look_up;
    args.d_value = sent->d_data;
    args.n_docs = look_up.n_docs = chunk->n;
    args.d_score = s->d_score + chunk->begin;
    if (look_up.d_to) {
        look_up.d_from = sent->d_data;
        look_up.d_to += (size_t)sent->place * s->chunk_docs * look_up.n_used;
        args.d_value = look_up.d_to;
    }
    RW_CU(s->base.ctx, rw_cuda_predict(&args, look_up.d_to ? &look_up : NULL, sent->stream));
    return RW_OK;
}

static int send_all(const struct scorer_cuda *s, const struct rw_column *const *column,
                    uint32_t n_docs)
{
    RW_TRY(rw_transfer_pipe_begin(s->pipe));
    for (uint32_t begin = 0, n; begin < n_docs; begin += n) {
        struct rw_transfer_chunk sent;
        void *room;
        n = n_docs - begin < s->chunk_docs ? n_docs - begin : s->chunk_docs;
        RW_TRY(rw_transfer_pipe_room(s->pipe, &room));
        const uint64_t n_pieces = ((uint64_t)n + PIECE_DOCS - 1) / PIECE_DOCS;
        struct chunk chunk = {s, column, begin, n, n_pieces, room};
        rw_parallel(s->base.ctx, s->base.ctx->n_threads, n_pieces * s->plan.n_columns, 0,
                    fill_pieces, &chunk);
        const size_t bytes = (size_t)n * s->plan.n_columns * sizeof(float);
        RW_TRY(rw_transfer_pipe_send(s->pipe, room, bytes, &sent));
        RW_TRY(score_chunk(&chunk, &sent));
    }
    return rw_transfer_pipe_end(s->pipe);
}

static int run_cuda(struct rw_device_scorer *base, const struct rw_dataset *dataset, double *scores)
{
    struct scorer_cuda *s = (struct scorer_cuda *)base;
    const uint32_t n_docs = dataset->n_docs;
    RW_FREED const struct rw_column **column = NULL;
    const double start = rw_clock_ms();
    if (n_docs == 0)
        return RW_OK;
    RW_TRY(rw_flat_columns(base->ctx, base->flat, dataset, &column));
    if (n_docs > s->score_room) {
        rw_device_free(s->d_score);
        s->d_score = NULL;
        s->score_room = 0;
        RW_TRY(rw_device_alloc(base->ctx, (void **)&s->d_score, n_docs * sizeof(double)));
        s->score_room = n_docs;
    }
    RW_TRY(send_all(s, column, n_docs));
    RW_TRY(rw_transfer_read(s->device, scores, s->d_score, n_docs * sizeof(double)));
    rw_log(base->ctx, RW_LOG_DEBUG,
           "device cuda:%d (%s): %u documents, %u features, %d trees in %u batches: %.1f ms",
           s->device->number, s->device->name, n_docs, s->plan.n_columns, base->flat->n_trees,
           s->plan.args.n_batches, rw_clock_ms() - start);
    return RW_OK;
}

static double run_ms_cuda(const struct rw_device_scorer *base, uint32_t n_docs)
{
    const struct scorer_cuda *s = (const struct scorer_cuda *)base;
    const double sent_ms =
        n_docs * (double)s->plan.n_columns * sizeof(float) / RW_TUNE_PREDICT_BYTES_MS;
    const double steps_ms = RW_TUNE_PREDICT_STEPS_MS * s->device->n_multiprocessors;
    const double walk_ms = n_docs * rw_flat_steps(base->flat) / steps_ms;
    return RW_TUNE_PREDICT_START_MS + (sent_ms > walk_ms ? sent_ms : walk_ms);
}

static int load(struct scorer_cuda *s)
{
    struct rw_device_tables *tables = &s->tables;
    struct rw_predict_args *args = &s->plan.args;
    const struct rw_flat *flat = s->base.flat;
    const size_t n_trees = (size_t)flat->n_trees;
    RW_TRY(rw_predict_plan_init(s->base.ctx, &s->plan, flat, s->device->shared_bytes,
                                s->device->n_threads));
    *tables = (struct rw_device_tables){.ctx = s->base.ctx, .device = s->device};
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_node, flat->node, flat->first_node[n_trees]));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_leaf, flat->leaf, flat->first_leaf[n_trees]));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_tree, s->plan.tree, n_trees));
    RW_TRY(RW_DEVICE_TABLE(tables, args->d_batch, s->plan.batch, args->n_batches));
    /* A model without a split sends no values, but its chunks need a size, too. */
    const size_t docs =
        RW_TUNE_PREDICT_CHUNK_BYTES / ((flat->n_used ? flat->n_used : 1) * sizeof(float));
    s->chunk_docs = docs < args->tile_docs ? args->tile_docs
                                           : (uint32_t)(docs / args->tile_docs * args->tile_docs);
    if (s->plan.slot) { /* tables of the slots' sets, and memory for the slots' values */
        struct rw_predict_look_up *look_up = &s->look_up;
        look_up->n_used = flat->n_used;
        look_up->set_words = flat->set_words;
        RW_TRY(RW_DEVICE_TABLE(tables, look_up->d_slot, s->plan.slot, flat->n_used));
        RW_TRY(RW_DEVICE_TABLE(tables, look_up->d_set, flat->set_word,
                               (size_t)flat->n_sets * flat->set_words));
        RW_TRY(RW_DEVICE_TABLE(tables, look_up->d_to, NULL,
                               (size_t)RW_TUNE_PREDICT_STREAMS * s->chunk_docs * flat->n_used));
    }
    const size_t sent_bytes = (s->plan.n_columns ? s->plan.n_columns : 1) * sizeof(float);
    return rw_transfer_pipe_new(s->device, s->chunk_docs * sent_bytes, RW_TUNE_PREDICT_STREAMS,
                                &s->pipe);
}

int rw_device_scorer_open_cuda(struct rw_ctx *ctx, const struct rw_flat *flat, int device,
                               struct rw_device_scorer **out)
{
    static const struct rw_device_scorer_ops ops = {
        .name = "cuda", .close = close_cuda, .run = run_cuda, .run_ms = run_ms_cuda};
    RW_SCOPED(close_cuda) struct scorer_cuda *s = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, s, 1));
    s->base = (struct rw_device_scorer){.ops = &ops, .ctx = ctx, .flat = flat};
    RW_TRY(rw_device_open(ctx, device, &s->device));
    RW_TRY(load(s));
    *out = &RW_TAKE(s)->base;
    return RW_OK;
}
