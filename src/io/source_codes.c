/* From any source to codes. */
#include "io/source.h"

#include "base/mem.h"
#include "comm/comm.h"

int rw_source_even_chunks(struct rw_source *source, uint32_t n_docs, uint32_t chunk_docs)
{
    source->n_chunks = n_docs ? (n_docs - 1) / chunk_docs + 1 : 0;
    RW_TRY(RW_GROW(source->ctx, source->first_doc, source->first_doc_room,
                   (size_t)source->n_chunks + 1));
    for (uint32_t chunk = 0; chunk < source->n_chunks; chunk++)
        source->first_doc[chunk] = chunk * chunk_docs;
    source->first_doc[source->n_chunks] = n_docs;
    return RW_OK;
}

int rw_source_take(struct rw_source *source, uint32_t chunk, int slot,
                   const struct rw_builder *builder, const uint32_t *row)
{
    return source->sampled ? rw_pieces_hold(&source->pieces, chunk, slot, builder)
                           : rw_pieces_add(&source->pieces, chunk, slot, builder, row);
}

static int add_held(void *user, struct rw_share *share)
{
    static const struct rw_builder nothing;
    for (uint64_t chunk, end; rw_share_next(share, &chunk, &end);)
        RW_TRY(rw_source_take(user, (uint32_t)chunk, share->thread, &nothing, NULL));
    return RW_OK;
}

static int run_pass(struct rw_source *source, int sampled)
{
    struct rw_ctx *ctx = source->ctx;
    source->sampled = sampled;
    if (sampled || source->sample.in)
        return source->kind->pass(source);
    const int status = rw_parallel(ctx, ctx->n_threads, source->n_chunks, 1, add_held, source);
    return status < 0 ? rw_fail_memory(ctx, status, "out of memory while coding %u documents",
                                       source->documents->n_docs)
                      : status;
}

static int agree(struct rw_source *source, int status)
{
    return source->kind->agree ? source->kind->agree(source, status)
                               : rw_comm_agree(source->ctx, status);
}

int rw_source_codes(struct rw_source *source, struct rw_binned *out)
{
    struct rw_pieces *pieces = &source->pieces;
    int status = source->kind->open(source);
    if (status <= 0)
        goto out;
    RW_TRY_OUT(rw_cut_sample_init(source->ctx, &source->sample, source->documents));
    status = rw_pieces_init(source->ctx, pieces, &source->sample, source->rule, source->first_doc,
                            source->n_chunks);
    RW_TRY_OUT(agree(source, status < 0 ? status : run_pass(source, 1)));
    RW_TRY_OUT(rw_pieces_find_bounds(pieces));
    status = source->kind->bounded ? source->kind->bounded(source) : 1;
    if (status <= 0)
        goto out;
    RW_TRY_OUT(agree(source, run_pass(source, 0)));
    RW_TRY_OUT(rw_pieces_finish(pieces, out));
    status = source->kind->done ? source->kind->done(source) : 1;
out:
    rw_pieces_release(pieces);
    rw_cut_sample_release(&source->sample);
    rw_mem_free(source->first_doc);
    return status;
}
