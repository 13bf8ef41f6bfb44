/* Runs any source (io/source.h) and makes codes of its values. Also contains the source for the
 * values of a data set in memory (rw_dataset_codes). */
#include "io/source.h"

#include "comm/comm.h"

int rw_source_even_chunks(struct rw_source *source, uint32_t n_docs, uint32_t chunk_docs)
{
    source->n_chunks = n_docs ? (n_docs - 1) / chunk_docs + 1 : 0;
    RW_TRY(RW_NEW_RAW(source->ctx, source->first_doc, (size_t)source->n_chunks + 1));
    for (uint32_t chunk = 0; chunk < source->n_chunks; chunk++)
        source->first_doc[chunk] = chunk * chunk_docs;
    source->first_doc[source->n_chunks] = n_docs;
    return RW_OK;
}

int rw_source_take(struct rw_source *source, uint32_t chunk, int slot,
                   const struct rw_builder *builder, const uint32_t *row)
{
    return source->sampled ? rw_chunks_hold(&source->chunks, chunk, slot, builder)
                           : rw_chunks_add(&source->chunks, chunk, slot, builder, row);
}

/* Makes codes of chunks whose documents have all been sampled. */
static int add_held(void *user, struct rw_share *share)
{
    static const struct rw_builder nothing;
    for (uint64_t chunk, end; rw_share_next(share, &chunk, &end);)
        RW_TRY(rw_source_take(user, (uint32_t)chunk, share->thread, &nothing, NULL));
    return RW_OK;
}

/* Adds the message to RW_ERR_MEMORY. Returns `status`. */
static int coded(const struct rw_source *source, int status)
{
    return status < 0
               ? rw_fail_memory(source->ctx, status, "out of memory while coding %u documents",
                                source->documents->n_docs)
               : status;
}

/* Runs the first pass (sampled 1) or the second one. */
static int run_pass(struct rw_source *source, int sampled)
{
    struct rw_ctx *ctx = source->ctx;
    source->sampled = sampled;
    if (sampled || source->sample.in)
        return source->kind->pass(source);
    return coded(source, rw_parallel(ctx, ctx->n_threads, source->n_chunks, 1, add_held, source));
}

static int agree(struct rw_source *source, int status)
{
    return source->kind->agree ? source->kind->agree(source, status)
                               : rw_comm_agree(source->ctx, status);
}

int rw_source_codes(struct rw_source *source, struct rw_binned *out)
{
    struct rw_chunks *chunks = &source->chunks;
    int status = source->kind->open(source);
    if (status <= 0)
        goto out;
    RW_TRY_OUT(rw_cut_sample_init(source->ctx, &source->sample, source->documents));
    status = rw_chunks_init(source->ctx, chunks, &source->sample, source->rule, source->first_doc,
                            source->n_chunks);
    RW_TRY_OUT(agree(source, status < 0 ? status : run_pass(source, 1)));
    RW_TRY_OUT(rw_chunks_find_bounds(chunks));
    status = source->kind->bounded ? source->kind->bounded(source) : 1;
    if (status <= 0)
        goto out;
    RW_TRY_OUT(agree(source, run_pass(source, 0)));
    RW_TRY_OUT(rw_chunks_finish(chunks, out));
    status = source->kind->done ? source->kind->done(source) : 1;
out:
    rw_chunks_release(chunks);
    rw_cut_sample_release(&source->sample);
    rw_mem_free(source->first_doc);
    return status;
}

/* ---- the values of a data set in memory, which has the documents of this worker ----
 *
 * An entry is the value of one feature of one document, with the number from number_wanted. */
enum { CHUNK_DOCS = 1 << 14 };

static int open_documents(struct rw_source *source)
{
    const int status = rw_source_even_chunks(source, source->documents->n_docs, CHUNK_DOCS);
    return status < 0 ? status : 1;
}

/* Numbers the wanted documents of a chunk from 0: in the first pass among the sampled documents of
 * the chunk, in the second among all. number: [CHUNK_DOCS], written; UINT32_MAX: not wanted. */
static void number_wanted(const struct rw_source *source, uint32_t chunk, uint32_t *number)
{
    const uint32_t first = source->first_doc[chunk], n = source->first_doc[chunk + 1] - first;
    uint32_t n_wanted = 0;
    for (uint32_t i = 0; i < n; i++) {
        const int is_wanted = rw_source_wants(source, first + i);
        number[i] = !is_wanted ? UINT32_MAX : source->sampled ? n_wanted : i;
        n_wanted += (uint32_t)is_wanted;
    }
}

/* Appends the entries of a column for the wanted documents of [first, end) to the n entries in the
 * memory of a thread. number: see number_wanted. Returns the new number of entries. */
static uint32_t stage_column(const struct rw_column *column, uint32_t first, uint32_t end,
                             const uint32_t *number, struct rw_chunk_scratch *s, uint32_t n)
{
    uint32_t at = column->row ? rw_numbers_under(column->row, column->n, first) : first;
    for (; at < column->n; at++) {
        const uint32_t doc = column->row ? column->row[at] : at;
        if (doc >= end)
            break;
        if (number[doc - first] == UINT32_MAX || rw_is_absent(column->value[at]))
            continue;
        s->row[n] = number[doc - first];
        memcpy(&s->value[n++], &column->value[at], sizeof(*s->value));
    }
    return n;
}

/* Stores the entries of the wanted documents of a chunk in the memory of a thread. */
static int stage_chunk(const struct rw_source *source, uint32_t chunk, const uint32_t *number,
                       struct rw_chunk_scratch *s)
{
    const struct rw_dataset *dataset = source->documents;
    const uint32_t n_wanted = rw_source_n_wanted(source, chunk);
    uint32_t n = 0;
    s->shares_rows = 0;
    s->n_features = 0;
    RW_TRY(RW_GROW(NULL, s->feature, s->feature_room, dataset->n_columns));
    RW_TRY(RW_GROW(NULL, s->begin, s->begin_room, dataset->n_columns));
    for (uint32_t i = 0; i < dataset->n_columns; i++) {
        const struct rw_column *column = &dataset->column[i];
        const uint32_t begin = n;
        RW_TRY(RW_GROW(NULL, s->value, s->value_room, (size_t)n + n_wanted));
        RW_TRY(RW_GROW(NULL, s->row, s->row_room, (size_t)n + n_wanted));
        n = stage_column(column, source->first_doc[chunk], source->first_doc[chunk + 1], number, s,
                         n);
        if (n == begin)
            continue;
        s->feature[s->n_features] = (uint16_t)column->feature;
        s->begin[s->n_features++] = begin;
        s->next[column->feature] = n;
    }
    return RW_OK;
}

static int read_chunks(void *user, struct rw_share *share)
{
    struct rw_source *source = user;
    uint32_t *number RW_FREED = NULL;
    RW_TRY(RW_NEW_RAW(NULL, number, CHUNK_DOCS));
    for (uint64_t chunk, end; rw_share_next(share, &chunk, &end);) {
        number_wanted(source, (uint32_t)chunk, number);
        RW_TRY(
            stage_chunk(source, (uint32_t)chunk, number, &source->chunks.scratch[share->thread]));
        RW_TRY(rw_source_take(source, (uint32_t)chunk, share->thread, NULL, NULL));
    }
    return RW_OK;
}

static int read_values(struct rw_source *source)
{
    struct rw_ctx *ctx = source->ctx;
    return coded(source,
                 rw_parallel_long(ctx, ctx->n_threads, source->n_chunks, 1, read_chunks, source));
}

int rw_dataset_codes(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cut_rule *rule, struct rw_binned *out)
{
    static const struct rw_source_kind kind = {.open = open_documents, .pass = read_values};
    struct rw_source source = {.kind = &kind, .ctx = ctx, .rule = rule, .documents = dataset};
    const int status = rw_source_codes(&source, out);
    return status < 0 ? status : RW_OK;
}
