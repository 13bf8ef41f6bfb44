#include "train/fingerprint.h"

#include <string.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "dataset/side_columns.h"

const char *rw_print_name(int part)
{
    static const char *const name[RW_PRINT_SIDES] = {"documents", "queries", "query-ids",
                                                     "labels",    "weights", "values"};
    return part < RW_PRINT_SIDES ? name[part]
                                 : rw_side_columns[part - RW_PRINT_SIDES + RW_SIDE_PRINTED].print;
}

enum { CHUNK = 8192 };

struct job {
    const struct rw_dataset *dataset;
    uint64_t first_doc, first_query;
    struct rw_fingerprint *out;
    const struct rw_side_column *column; /* the one that is added, to a part */
    int part;
};

/* Given pairs of a query; their order adds to sums in double, so that it counts, too. */
static uint64_t pairs_item(const struct job *job, uint32_t query)
{
    const struct rw_dataset *dataset = job->dataset;
    uint64_t sum = 0, bits;
    if (!dataset->pair)
        return 0;
    for (size_t k = dataset->pair_offset[query]; k < dataset->pair_offset[query + 1]; k++) {
        const struct rw_given_pair *pair = &dataset->pair[k];
        memcpy(&bits, &pair->weight, sizeof(bits));
        sum = rw_mix_item(sum, job->first_doc + pair->better);
        sum = rw_mix_item(sum, job->first_doc + pair->worse);
        sum = rw_mix_item(sum, bits);
    }
    return sum;
}

static int add_labels(void *user, struct rw_share *share)
{
    const struct job *job = user;
    uint64_t sum = 0;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++) /* no -0 */
            sum += rw_mix_item(job->first_doc + doc,
                               rw_bits_of_float(job->dataset->label[doc] + 0.0f));
    }
    rw_share_lock(share);
    job->out->part[RW_PRINT_LABELS] += sum;
    rw_share_unlock(share);
    return RW_OK;
}

static int add_side_column(void *user, struct rw_share *share)
{
    const struct job *job = user;
    uint64_t sum = 0;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (; doc < end; doc++)
            sum += job->column->item(job->dataset, (uint32_t)doc, job->first_doc + doc);
    }
    rw_share_lock(share);
    job->out->part[job->part] += sum;
    rw_share_unlock(share);
    return RW_OK;
}

static int add_documents(struct rw_ctx *ctx, struct job *job)
{
    const uint32_t n = job->dataset->n_docs;
    RW_TRY(rw_parallel(ctx, ctx->n_threads, n, CHUNK, add_labels, job));
    for (int i = 0; i < RW_SIDE_COLUMNS; i++) {
        job->column = &rw_side_columns[i];
        job->part = i < RW_SIDE_PRINTED ? RW_PRINT_WEIGHTS : RW_PRINT_SIDES + i - RW_SIDE_PRINTED;
        if (job->column->item && rw_side_column_of(job->column, job->dataset))
            RW_TRY(rw_parallel(ctx, ctx->n_threads, n, CHUNK, add_side_column, job));
    }
    return RW_OK;
}

static uint64_t text_item(uint64_t number, const char *text)
{
    uint64_t sum = number;
    for (; *text; text++)
        sum = rw_mix_item(sum, (unsigned char)*text);
    return rw_mix(sum);
}

static int add_queries(void *user, struct rw_share *share)
{
    const struct job *job = user;
    const struct rw_dataset *dataset = job->dataset;
    uint64_t queries = 0, ids = 0, pairs = 0;
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++) {
            const uint64_t number = job->first_query + q;
            queries += rw_mix_item(number, job->first_doc + dataset->query_offset[q]);
            ids += text_item(number, rw_dataset_query_id(dataset, (uint32_t)q));
            pairs += pairs_item(job, (uint32_t)q);
        }
    }
    rw_share_lock(share);
    job->out->part[RW_PRINT_QUERIES] += queries;
    job->out->part[RW_PRINT_QUERY_IDS] += ids;
    job->out->part[RW_PRINT_WEIGHTS] += pairs; /* whose weights are a part of them */
    rw_share_unlock(share);
    return RW_OK;
}

/* The codes are what training sees of the values: of cuts, which are compared by themselves. */
static int add_values(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *values)
{
    const struct rw_cuts *cuts = engine->cuts;
    uint64_t *sums;
    RW_TRY(RW_NEW(engine->ctx, sums, cuts->n_features));
    const int status = rw_engine_code_sums(engine, set, first_doc, sums);
    for (uint32_t f = 0; status >= 0 && f < cuts->n_features; f++)
        *values += sums[f] * rw_code_weight((uint64_t)cuts->feature[f] << 32);
    rw_mem_free(sums);
    return status;
}

int rw_fingerprint_make(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                        uint64_t first_doc, uint64_t first_query, struct rw_fingerprint *out)
{
    struct rw_ctx *ctx = engine->ctx;
    struct job job = {dataset, first_doc, first_query, out, NULL, 0};
    *out = (struct rw_fingerprint){{[RW_PRINT_DOCUMENTS] = dataset->n_docs}};
    RW_TRY(add_documents(ctx, &job));
    RW_TRY(rw_parallel(ctx, ctx->n_threads, dataset->n_queries, CHUNK, add_queries, &job));
    return add_values(engine, set, first_doc, &out->part[RW_PRINT_VALUES]);
}

int rw_fingerprint_of_all(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                          struct rw_fingerprint *out)
{
    struct rw_ctx *ctx = engine->ctx;
    const int rank = rw_rank(ctx);
    uint64_t *docs = NULL, *queries = NULL;
    int status = RW_NEW(ctx, docs, (size_t)rw_n_ranks(ctx) + 1);
    status = status < 0 ? status : RW_NEW(ctx, queries, (size_t)rw_n_ranks(ctx) + 1);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_comm_offsets(ctx, dataset->n_docs, docs));
    RW_TRY_OUT(rw_comm_offsets(ctx, dataset->n_queries, queries));
    status = rw_fingerprint_make(engine, set, dataset, docs[rank], queries[rank], out);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    status = rw_comm_sum(ctx, out->part, RW_PRINTS);
out:
    rw_mem_free(docs);
    rw_mem_free(queries);
    return status;
}

int rw_fingerprint_same_documents(const struct rw_fingerprint *a, const struct rw_fingerprint *b)
{
    static const int parts[] = {RW_PRINT_DOCUMENTS, RW_PRINT_LABELS, RW_PRINT_QUERIES,
                                RW_PRINT_VALUES};
    for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
        if (a->part[parts[i]] != b->part[parts[i]])
            return 0;
    }
    return 1;
}

uint64_t rw_fingerprint_boundaries(const struct rw_cuts *cuts)
{
    uint64_t sum = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const float *cut = cuts->cut + cuts->offset[f];
        const uint64_t feature = rw_mix_item(cuts->feature[f], cuts->has_missing[f]);
        for (uint32_t k = 0; k < rw_cuts_n_bins(cuts, f); k++)
            sum += rw_mix_item(feature + k, rw_bits_of_float(cut[k]));
    }
    return sum;
}
