/* Scores by a packed model. Some blocks of documents are encoded, then meet the trees
 * a batch at a time: a batch stays in the second-level cache for all of them, and a block's codes
 * in the first-level cache for all the batch's trees. */
#include <string.h>

#include "base/mem.h"
#include "model/packed_run.h"

enum {
    MOST_BLOCKS = 8,            /* that are encoded together */
    MOST_CODES_BYTES = 1 << 19, /* of them, but one block's are as many as they are */
    PARTS = 4                   /* of a thread's work, so that none waits long for another one */
};

const struct rw_packed_ops *rw_packed_ops(enum rw_isa isa)
{
    static const struct rw_packed_ops ops[] =
    { [RW_ISA_PLAIN] = {"plain", {256, 128}, 5.0, 0.043, {&rw_packed_plain_8, &rw_packed_plain_16}},
#if RW_HAS_X86
      [RW_ISA_AVX2] = {"avx2", {256, 160}, 2.2, 0.033, {&rw_packed_avx2_8, &rw_packed_avx2_16}},
      [RW_ISA_AVX512] =
          {"avx512", {256, 320}, 0.9, 0.0175, {&rw_packed_avx512_8, &rw_packed_avx512_16}},
#endif
    };
    return &ops[isa];
}

static struct rw_packed_room room_of(const struct rw_packed_job *job, int thread)
{
    struct rw_packed_room room;
    room.codes = job->room + (size_t)thread * job->room_bytes;
    room.buffers = room.codes + job->n_blocks * rw_packed_codes_bytes(job->packed);
    room.score = (double *)(room.buffers + rw_packed_buffers_bytes(job->packed));
    room.value = (float *)(room.score + (size_t)job->n_blocks * RW_PACKED_DOCS);
    return room;
}

/* Columns of a block of rows. Some documents at a time, whose values stay in the first-level cache
 * until all their features are taken. */
static void turn_rows(const struct rw_packed_job *job, uint32_t begin, uint32_t end, float *value)
{
    enum { DOCS = 16 };
    const struct rw_flat *flat = job->packed->flat;
    const struct rw_rows *rows = job->rows;
    for (uint32_t from = begin; from < end; from += DOCS) {
        const uint32_t n = end - from < DOCS ? end - from : DOCS;
        const float *row = rows->value + (size_t)from * rows->n_features;
        for (uint32_t slot = 0; slot < flat->n_used; slot++) {
            const uint32_t f = flat->feature[slot] - rows->first; /* before it: very large */
            float *to = value + (size_t)slot * RW_PACKED_DOCS + (from - begin);
            if (f >= rows->n_features)
                for (uint32_t d = 0; d < n; d++)
                    to[d] = flat->absent;
            else if (n == DOCS)
                for (uint32_t d = 0; d < DOCS; d++)
                    to[d] = row[(size_t)d * rows->n_features + f];
            else
                for (uint32_t d = 0; d < n; d++)
                    to[d] = row[(size_t)d * rows->n_features + f];
            for (uint32_t d = 0; flat->set_of && d < n; d++)
                to[d] = rw_flat_of_row(flat, slot, to[d]);
        }
    }
}

void rw_packed_encode_turned(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                             const struct rw_packed_room *room)
{
    const struct rw_packed *p = job->packed;
    const struct rw_packed_width *width = p->ops->width[p->code_bytes - 1];
    const size_t column_bytes = (size_t)RW_PACKED_DOCS * p->code_bytes;
    char *codes = room->codes;
    for (uint32_t from = begin; from < end; from += RW_PACKED_DOCS) {
        job->turn(job, from, end - from < RW_PACKED_DOCS ? end : from + RW_PACKED_DOCS,
                  room->value);
        for (uint32_t i = 0; i < p->n_columns; i++, codes += column_bytes)
            width->encode(p, &p->column[i],
                          room->value + (size_t)p->column[i].slot * RW_PACKED_DOCS, codes);
    }
}

static void score_blocks(const struct rw_packed_job *job, uint32_t begin, uint32_t end, int thread,
                         double *scores)
{
    const struct rw_packed *p = job->packed;
    const struct rw_packed_width *width = p->ops->width[p->code_bytes - 1];
    const struct rw_packed_room room = room_of(job, thread);
    const size_t codes_bytes = rw_packed_codes_bytes(p);
    const uint32_t n_blocks = (end - begin + RW_PACKED_DOCS - 1) / RW_PACKED_DOCS;
    job->encode(job, begin, end, &room);
    memset(room.score, 0, (size_t)n_blocks * RW_PACKED_DOCS * sizeof(*room.score));
    for (int32_t i = 0; i < p->n_batches; i++) {
        for (uint32_t b = 0; b < n_blocks; b++)
            width->add(p, p->batch[i], p->batch[i + 1], room.codes + b * codes_bytes, room.buffers,
                       room.score + (size_t)b * RW_PACKED_DOCS, end - begin - b * RW_PACKED_DOCS);
    }
    memcpy(scores + begin, room.score, (end - begin) * sizeof(*scores));
}

/* Runs of a job's blocks, dealt out to threads. */
struct runs {
    struct rw_packed_job *job;
    uint32_t n_docs, docs; /* of all, of a run */
    double *scores;
};

static int score_runs(void *user, struct rw_share *share)
{
    const struct runs *runs = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        const uint32_t first = (uint32_t)i * runs->docs, left = runs->n_docs - first;
        score_blocks(runs->job, first, left < runs->docs ? runs->n_docs : first + runs->docs,
                     share->thread, runs->scores);
    }
    return RW_OK;
}

static uint32_t blocks_at_once(const struct rw_packed *packed, uint32_t n_docs, int n_threads)
{
    const size_t bytes = rw_packed_codes_bytes(packed);
    const uint64_t docs = (uint64_t)RW_PACKED_DOCS * (n_threads > 1 ? n_threads * PARTS : 1);
    uint64_t n = bytes ? MOST_CODES_BYTES / bytes : MOST_BLOCKS;
    n = n > MOST_BLOCKS ? MOST_BLOCKS : n;
    const uint64_t parts = n_threads > 1 ? n_docs / docs : (n_docs + docs - 1) / docs;
    n = n > parts ? parts : n;
    return n < 1 ? 1 : (uint32_t)n;
}

int rw_packed_run(struct rw_ctx *ctx, struct rw_packed_job *job, uint32_t n_docs, double *scores)
{
    const struct rw_packed *packed = job->packed;
    int status = RW_OK;
    const int most_threads = ctx ? ctx->n_threads : 1;
    job->n_blocks = blocks_at_once(packed, n_docs, most_threads);
    const uint32_t docs = job->n_blocks * RW_PACKED_DOCS;
    const int64_t n_jobs = ((int64_t)n_docs + docs - 1) / docs;
    const int n_threads = most_threads < n_jobs ? most_threads : (int)n_jobs;
    if (n_jobs == 0)
        return RW_OK;
    job->room_bytes = job->n_blocks * rw_packed_codes_bytes(packed) +
                      rw_packed_buffers_bytes(packed) + docs * sizeof(double) +
                      (docs + job->more_values) * sizeof(float);
    RW_TRY_OUT(RW_NEW(ctx, job->room, (size_t)n_threads * job->room_bytes));
    struct runs runs = {job, n_docs, docs, scores};
    status = rw_parallel_long(ctx, n_threads, (uint64_t)n_jobs, 1, score_runs, &runs);
out:
    rw_mem_free(job->room);
    return status;
}

int rw_packed_rows(struct rw_ctx *ctx, const struct rw_packed *packed, const struct rw_rows *rows,
                   double *scores)
{
    struct rw_packed_job job = {.packed = packed,
                                .encode = rw_packed_encode_turned,
                                .turn = turn_rows,
                                .rows = rows,
                                .more_values = (size_t)packed->flat->n_used * RW_PACKED_DOCS};
    return rw_packed_run(ctx, &job, rows->n_docs, scores);
}
