/* The values of a data set, of which each worker has its own documents. */
#include "base/mem.h"
#include "io/source.h"

enum { CHUNK_DOCS = 1 << 14 };

static int open_documents(struct rw_source *source)
{
    const int status = rw_source_even_chunks(source, source->documents->n_docs, CHUNK_DOCS);
    return status < 0 ? status : 1;
}

/* What the wanted documents of a chunk are called: their places in it, or, where they are sampled,
 * among those. number: [CHUNK_DOCS], written; UINT32_MAX: not wanted. */
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

/* The entries of their documents [first, end), behind the n that are in the thread's memory.
 * Returns how many there are then. */
static uint32_t stage_column(const struct rw_column *column, uint32_t first, uint32_t end,
                             const uint32_t *number, struct rw_piece_scratch *s, uint32_t n)
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

static int stage(const struct rw_source *source, uint32_t chunk, const uint32_t *number,
                 struct rw_piece_scratch *s)
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

static int read_some(void *user, struct rw_share *share)
{
    struct rw_source *source = user;
    uint32_t *number = NULL;
    int status = RW_NEW_RAW(NULL, number, CHUNK_DOCS);
    for (uint64_t chunk, end; status >= 0 && rw_share_next(share, &chunk, &end);) {
        number_wanted(source, (uint32_t)chunk, number);
        RW_TRY_OUT(stage(source, (uint32_t)chunk, number, &source->pieces.scratch[share->thread]));
        status = rw_source_take(source, (uint32_t)chunk, share->thread, NULL, NULL);
    }
out:
    rw_mem_free(number);
    return status;
}

static int read_pass(struct rw_source *source)
{
    struct rw_ctx *ctx = source->ctx;
    const int status =
        rw_parallel_long(ctx, ctx->n_threads, source->n_chunks, 1, read_some, source);
    return status < 0 ? rw_fail_memory(ctx, status, "out of memory while coding %u documents",
                                       source->documents->n_docs)
                      : status;
}

int rw_dataset_codes(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cut_rule *rule, struct rw_binned *out)
{
    static const struct rw_source_kind kind = {.open = open_documents, .pass = read_pass};
    struct rw_source source = {.kind = &kind, .ctx = ctx, .rule = rule, .documents = dataset};
    const int status = rw_source_codes(&source, out);
    return status < 0 ? status : RW_OK;
}
