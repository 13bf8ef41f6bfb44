#include "binning/dataset_codes.h"

#include "base/mem.h"
#include "binning/pieces.h"
#include "comm/comm.h"

enum { PIECE_DOCS = 1 << 14 };

/* One thread's memory. */
struct collector {
    struct rw_builder builder;
    uint32_t *row;     /* [PIECE_DOCS] where the builder's documents stand in the piece */
    uint32_t *next;    /* [n_columns] the next entry of each column */
    uint16_t *feature; /* [n_columns] of one document */
    float *value;      /* the same */
};

struct coding {
    struct rw_ctx *ctx;               /* borrowed */
    const struct rw_dataset *dataset; /* borrowed */
    struct rw_cut_sample sample;
    struct rw_pieces pieces;
    uint32_t *first_doc; /* [n_pieces + 1] */
    uint32_t n_pieces;
    struct collector *collector; /* [threads] */
    int sampled;                 /* the documents at hand: those of the sample, or the others */
};

static void coding_release(struct coding *c)
{
    for (int t = 0; c->collector && t < c->ctx->n_threads; t++) {
        rw_builder_release(&c->collector[t].builder);
        rw_mem_free(c->collector[t].row);
        rw_mem_free(c->collector[t].next);
        rw_mem_free(c->collector[t].feature);
        rw_mem_free(c->collector[t].value);
    }
    rw_mem_free(c->collector);
    rw_mem_free(c->first_doc);
    rw_pieces_release(&c->pieces);
    rw_cut_sample_release(&c->sample);
}

static int begin(struct coding *c, const struct rw_cut_rule *rule)
{
    struct rw_ctx *ctx = c->ctx;
    const uint32_t n_docs = c->dataset->n_docs;
    const size_t n_columns = c->dataset->n_columns;
    c->n_pieces = n_docs ? (n_docs - 1) / PIECE_DOCS + 1 : 0;
    RW_TRY(RW_NEW_RAW(ctx, c->first_doc, (size_t)c->n_pieces + 1));
    for (uint32_t p = 0; p < c->n_pieces; p++)
        c->first_doc[p] = p * PIECE_DOCS;
    c->first_doc[c->n_pieces] = n_docs;
    RW_TRY(RW_NEW(ctx, c->collector, (size_t)ctx->n_threads));
    for (int t = 0; t < ctx->n_threads; t++) {
        RW_TRY(RW_NEW_RAW(ctx, c->collector[t].row, PIECE_DOCS));
        RW_TRY(RW_NEW_RAW(ctx, c->collector[t].next, n_columns));
        RW_TRY(RW_NEW_RAW(ctx, c->collector[t].feature, n_columns));
        RW_TRY(RW_NEW_RAW(ctx, c->collector[t].value, n_columns));
    }
    return rw_pieces_init(ctx, &c->pieces, &c->sample, rule, c->first_doc, c->n_pieces);
}

/* The values of a document, which is not before the one asked for last. Returns their number. */
static size_t take_values(const struct coding *c, struct collector *to, uint32_t doc)
{
    size_t n = 0;
    for (uint32_t i = 0; i < c->dataset->n_columns; i++) {
        const struct rw_column *column = &c->dataset->column[i];
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

/* The wanted documents of piece p, in the collector's builder. */
static int collect(const struct coding *c, uint32_t p, struct collector *to)
{
    const uint32_t first = c->first_doc[p];
    rw_builder_empty(&to->builder);
    for (uint32_t i = 0; i < c->dataset->n_columns; i++) {
        const struct rw_column *column = &c->dataset->column[i];
        to->next[i] = column->row ? rw_numbers_under(column->row, column->n, first) : 0;
    }
    RW_TRY(rw_builder_query(NULL, &to->builder, "", 0));
    for (uint32_t doc = first; doc < c->first_doc[p + 1]; doc++) {
        if ((c->sample.in ? c->sample.in[doc] : 1) != c->sampled)
            continue;
        to->row[to->builder.n_docs] = doc - first;
        const size_t n = take_values(c, to, doc);
        RW_TRY(rw_builder_doc(NULL, &to->builder, 0.0f, to->feature, to->value, n, NULL, 0));
    }
    return RW_OK;
}

static int code_some(void *user, struct rw_share *share)
{
    struct coding *c = user;
    struct collector *to = &c->collector[share->thread];
    for (uint64_t p, end; rw_share_next(share, &p, &end);) {
        RW_TRY(collect(c, (uint32_t)p, to));
        RW_TRY(c->sampled
                   ? rw_pieces_hold(&c->pieces, (uint32_t)p, share->thread, &to->builder)
                   : rw_pieces_add(&c->pieces, (uint32_t)p, share->thread, &to->builder, to->row));
    }
    return RW_OK;
}

static int run_pass(struct coding *c, int sampled)
{
    struct rw_ctx *ctx = c->ctx;
    c->sampled = sampled;
    const int status = rw_parallel_long(ctx, ctx->n_threads, c->n_pieces, 1, code_some, c);
    return status < 0 ? rw_fail_memory(ctx, status, "out of memory while coding %u documents",
                                       c->dataset->n_docs)
                      : status;
}

int rw_dataset_codes(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cut_rule *rule, struct rw_binned *out)
{
    struct coding c = {.ctx = ctx, .dataset = dataset};
    int status;
    RW_TRY_OUT(rw_cut_sample_init(ctx, &c.sample, dataset));
    status = begin(&c, rule);
    status = status < 0 ? status : run_pass(&c, 1);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_pieces_find_bounds(&c.pieces));
    RW_TRY_OUT(rw_comm_agree(ctx, run_pass(&c, 0)));
    status = rw_pieces_finish(&c.pieces, out);
out:
    coding_release(&c);
    return status;
}
