/* The values of a data set, of which each worker has its own documents. */
#include "base/mem.h"
#include "io/source.h"

enum { CHUNK_DOCS = 1 << 14 };

/* One thread's memory. */
struct collector {
    struct rw_builder builder;
    uint32_t *row;     /* [CHUNK_DOCS] where the builder's documents are in the chunk */
    uint32_t *next;    /* [n_columns] the next entry of each column */
    uint16_t *feature; /* [n_columns] of one document */
    float *value;      /* the same */
};

static int open_documents(struct rw_source *source)
{
    const int status = rw_source_even_chunks(source, source->documents->n_docs, CHUNK_DOCS);
    return status < 0 ? status : 1;
}

static int collector_init(struct collector *to, size_t n_columns)
{
    RW_TRY(RW_NEW_RAW(NULL, to->row, CHUNK_DOCS));
    RW_TRY(RW_NEW_RAW(NULL, to->next, n_columns));
    RW_TRY(RW_NEW_RAW(NULL, to->feature, n_columns));
    return RW_NEW_RAW(NULL, to->value, n_columns);
}

static void collector_release(struct collector *to)
{
    rw_builder_release(&to->builder);
    rw_mem_free(to->row);
    rw_mem_free(to->next);
    rw_mem_free(to->feature);
    rw_mem_free(to->value);
}

/* The values of a document, which is not before the one asked for last. Returns their number. */
static size_t take_values(const struct rw_dataset *dataset, struct collector *to, uint32_t doc)
{
    size_t n = 0;
    for (uint32_t i = 0; i < dataset->n_columns; i++) {
        const struct rw_column *column = &dataset->column[i];
        uint32_t at = doc;
        if (column->row) {
            while (to->next[i] < column->n && column->row[to->next[i]] < doc)
                to->next[i]++;
            at = to->next[i];
        }
        if (at == column->n || (column->row && column->row[at] != doc) ||
            rw_is_absent(column->value[at]))
            continue;
        to->feature[n] = (uint16_t)column->feature;
        to->value[n++] = column->value[at];
    }
    return n;
}

/* The wanted documents of a chunk, in the collector's builder. */
static int collect(const struct rw_source *source, uint32_t chunk, struct collector *to)
{
    const struct rw_dataset *dataset = source->documents;
    const uint32_t first = source->first_doc[chunk];
    rw_builder_empty(&to->builder);
    for (uint32_t i = 0; i < dataset->n_columns; i++) {
        const struct rw_column *column = &dataset->column[i];
        to->next[i] = column->row ? rw_numbers_under(column->row, column->n, first) : 0;
    }
    RW_TRY(rw_builder_query(NULL, &to->builder, "", 0));
    for (uint32_t doc = first; doc < source->first_doc[chunk + 1]; doc++) {
        if (!rw_source_wants(source, doc))
            continue;
        to->row[to->builder.n_docs] = doc - first;
        const size_t n = take_values(dataset, to, doc);
        RW_TRY(rw_builder_doc(NULL, &to->builder, 0.0f, to->feature, to->value, n, NULL, 0));
    }
    return RW_OK;
}

static int collect_some(void *user, struct rw_share *share)
{
    struct rw_source *source = user;
    struct collector to = {.row = NULL};
    int status = collector_init(&to, source->documents->n_columns);
    for (uint64_t chunk, end; status >= 0 && rw_share_next(share, &chunk, &end);) {
        status = collect(source, (uint32_t)chunk, &to);
        status = status < 0
                     ? status
                     : rw_source_take(source, (uint32_t)chunk, share->thread, &to.builder, to.row);
    }
    collector_release(&to);
    return status;
}

static int read_pass(struct rw_source *source)
{
    struct rw_ctx *ctx = source->ctx;
    const int status =
        rw_parallel_long(ctx, ctx->n_threads, source->n_chunks, 1, collect_some, source);
    return status < 0 ? rw_fail_memory(ctx, status, "out of memory while coding %u documents",
                                       source->documents->n_docs)
                      : status;
}

int rw_dataset_codes(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cut_rule *rule, struct rw_binned *out)
{
    static const struct rw_source_kind kind = {.open = open_documents, .pass = read_pass};
    struct rw_source source = {.kind = &kind, .ctx = ctx, .documents = dataset};
    const int status = rw_source_codes(&source, rule, out);
    return status < 0 ? status : RW_OK;
}
