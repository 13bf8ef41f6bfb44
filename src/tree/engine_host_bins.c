/* Where a training set's boundaries and codes come from, for the engines on the host: made from the
 * values, or those that came with the data set. */
#include "base/mem.h"
#include "binning/cut_find.h"
#include "comm/comm.h"
#include "tree/engine_host.h"

enum { SUMMED_DOCS = 1024 }; /* at a time: their weights stay in the cache */

struct selection {
    const struct rw_bins *from;
    const struct rw_cut_rule *rule;
    struct rw_feature_cuts *found; /* [n_features] views of `from` */
    /* documents with each code, of all workers: feature f's from cuts->offset[f] + f on */
    uint32_t *count;
};

static int is_ignored(const struct selection *job, uint32_t f)
{
    return job->rule->ignore && job->rule->ignore[job->from->cuts->feature[f]];
}

static int count_some(void *user, struct rw_share *share)
{
    const struct selection *job = user;
    const struct rw_cuts *cuts = job->from->cuts;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        if (!is_ignored(job, (uint32_t)f))
            rw_bins_count(job->from, (uint32_t)f, job->count + cuts->offset[f] + f);
    }
    return RW_OK;
}

static void select_features(const struct selection *job)
{
    const struct rw_cuts *cuts = job->from->cuts;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint32_t n_bins = rw_cuts_n_bins(cuts, f);
        const uint32_t *count = job->count + cuts->offset[f] + f;
        struct rw_feature_cuts *found = &job->found[f];
        *found = (struct rw_feature_cuts){.cut = cuts->cut + cuts->offset[f],
                                          .n_bins = n_bins,
                                          .has_missing = cuts->has_missing[f],
                                          .by_category = (uint8_t)rw_cuts_by_category(cuts, f),
                                          .reason = RW_CUT_IGNORED};
        if (is_ignored(job, f))
            continue;
        const uint32_t n_missing = cuts->has_missing[f] ? count[n_bins] : 0;
        found->reason = (found->by_category ? rw_categories_can_split : rw_cuts_can_split)(
                            count, n_bins, n_missing, job->rule->min_docs)
                            ? RW_CUT_IN_USE
                            : RW_CUT_FEW;
    }
}

/* A feature's codes again: in the engine's own memory, or, without a host, in ordinary memory. */
static int copy_codes(struct rw_host *host, struct rw_ctx *ctx, const struct rw_codes *from,
                      size_t bytes, struct rw_codes *out)
{
    const struct {
        void **out;
        const void *from;
        size_t size;
    } part[2] = {{&out->code, from->code, bytes},
                 {(void **)&out->row, from->row, sizeof(*from->row)}};
    out->n = from->n;
    out->rest = from->rest;
    for (int i = 0; i < 2; i++) {
        if (!part[i].from)
            continue;
        RW_TRY(host ? rw_host_new(host, part[i].out, from->n, part[i].size, 1)
                    : rw_mem_new_raw(ctx, part[i].out, from->n, part[i].size));
        memcpy(*part[i].out, part[i].from, from->n * part[i].size);
    }
    return RW_OK;
}

int rw_host_ready_cuts(struct rw_host *host, const struct rw_bins *ready, struct rw_cuts **out,
                       uint32_t **column)
{
    struct rw_ctx *ctx = host->base.ctx;
    const struct rw_cuts *from = ready->cuts;
    RW_FREED struct rw_feature_cuts *found = NULL;
    RW_FREED uint32_t *count = NULL;
    RW_FREED struct rw_column *of = NULL;
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    const size_t n_counts = (size_t)from->offset[from->n_features] + from->n_features;
    *out = NULL;
    *column = NULL;
    if (!rw_cut_rule_serves(&ready->rule, &host->base.rules.cut))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the training set was binned for other values of bins, absent or min-docs\n"
                       "hint: rw_binned_read takes the parameters of the training");
    int status = RW_NEW(ctx, found, from->n_features);
    status = status < 0 ? status : RW_NEW(ctx, of, from->n_features);
    status = status < 0 ? status : RW_NEW(ctx, count, n_counts);
    RW_TRY(rw_comm_agree(ctx, status));
    for (uint32_t f = 0; f < from->n_features; f++)
        of[f].feature = from->feature[f];
    const struct rw_dataset ids = {.n_columns = from->n_features, .column = of};
    struct selection job = {
        .from = ready, .rule = &host->base.rules.cut, .found = found, .count = count};
    RW_TRY(rw_parallel(ctx, ctx->n_threads, from->n_features, 1, count_some, &job));
    RW_TRY(rw_comm_all_reduce(ctx, count, n_counts, RW_COMM_U32, RW_COMM_SUM));
    select_features(&job);
    RW_TRY(rw_cuts_gather(ctx, &ids, found, &cuts));
    cuts->n_constant += from->n_constant;
    cuts->n_few += from->n_few; /* in a cache: none */
    RW_TRY(RW_NEW(ctx, *column, cuts->n_features));
    for (uint32_t f = 0, at = 0; f < from->n_features; f++) {
        if (found[f].reason == RW_CUT_IN_USE)
            (*column)[at++] = f;
    }
    *out = cuts;
    cuts = NULL;
    return RW_OK;
}

int rw_host_plan_cuts(struct rw_host *host, const struct rw_dataset *dataset,
                      const struct rw_bins *ready, struct rw_cuts **cuts, uint32_t **column)
{
    *column = NULL;
    return ready ? rw_host_ready_cuts(host, ready, cuts, column)
                 : rw_cuts_make(host->base.ctx, dataset, &host->base.rules.cut, cuts);
}

int rw_host_bins_of_cuts(struct rw_host *host, struct rw_cuts *cuts, int owns_cuts, uint32_t n_docs,
                         struct rw_bins **out)
{
    struct rw_ctx *ctx = host->base.ctx;
    RW_FREED struct rw_bins *bins = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, bins, 1));
    RW_TRY(RW_NEW(ctx, bins->codes, cuts->n_features));
    bins->cuts = cuts;
    bins->n_docs = n_docs;
    bins->rule = host->base.rules.cut;
    bins->rule.ignore = NULL;
    bins->rule.categories = NULL;
    bins->owns_cuts = owns_cuts;
    *out = bins;
    bins = NULL;
    return RW_OK;
}

/* Ready codes under the engine's own cuts: feature f's are those of column[f]. They are shared, for
 * twice is too much of them, unless the engine has memory of its own. *out: bins without codes;
 * NULL after a failure. */
static int share_codes(struct rw_host *host, const struct rw_bins *ready, const uint32_t *column,
                       struct rw_bins **out)
{
    struct rw_bins *bins = *out;
    const struct rw_cuts *cuts = bins->cuts;
    int status = RW_OK;
    bins->codes_are_views = !host->alloc;
    for (uint32_t f = 0; status >= 0 && f < cuts->n_features; f++) {
        const struct rw_codes *from = &ready->codes[column[f]];
        if (host->alloc)
            status = copy_codes(NULL, host->base.ctx, from, rw_cuts_code_bytes(cuts, f),
                                &bins->codes[f]);
        else
            bins->codes[f] = *from;
    }
    if (status < 0) {
        rw_bins_free(bins);
        *out = NULL;
    }
    return status;
}

static int bins_of_ready(struct rw_host *host, const struct rw_bins *ready, struct rw_bins **out)
{
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    RW_FREED uint32_t *column = NULL;
    RW_TRY(rw_host_ready_cuts(host, ready, &cuts, &column));
    rw_host_count_features(host, cuts);
    RW_TRY(rw_host_bins_of_cuts(host, cuts, 1, ready->n_docs, out));
    cuts = NULL; /* the bins' */
    return share_codes(host, ready, column, out);
}

/* Of a validation set: codes by the training set's cuts, of which the engine has some. */
static int valid_bins_of_ready(struct rw_host *host, const struct rw_bins *ready,
                               struct rw_bins **out)
{
    struct rw_cuts *cuts = host->set[0].bins->cuts;
    RW_FREED uint32_t *column = NULL;
    RW_TRY(RW_NEW(host->base.ctx, column, cuts->n_features));
    for (uint32_t f = 0; f < cuts->n_features; f++)
        column[f] = rw_cuts_index(ready->cuts, cuts->feature[f]);
    RW_TRY(rw_host_bins_of_cuts(host, cuts, 0, ready->n_docs, out));
    return share_codes(host, ready, column, out);
}

void rw_host_count_features(struct rw_host *host, const struct rw_cuts *cuts)
{
    host->base.info = (struct rw_engine_info){.n_features = cuts->n_features,
                                              .n_bins = cuts->offset[cuts->n_features],
                                              .n_constant = cuts->n_constant,
                                              .n_few = cuts->n_few,
                                              .n_ignored = cuts->n_ignored};
    host->base.cuts = cuts;
}

int rw_host_make_bins(struct rw_host *host, int set, const struct rw_dataset *dataset,
                      const struct rw_bins *ready)
{
    struct rw_ctx *ctx = host->base.ctx;
    const struct rw_cut_rule *rule = &host->base.rules.cut;
    struct rw_bins **bins = &host->set[set].bins;
    if (set > 0)
        return ready ? valid_bins_of_ready(host, ready, bins)
                     : rw_bins_make(ctx, dataset, host->set[0].bins->cuts, rule, 0, bins);
    if (ready)
        return bins_of_ready(host, ready, bins);
    RW_TRY(rw_bins_make_training(ctx, dataset, rule, bins));
    rw_host_count_features(host, (*bins)->cuts);
    return RW_OK;
}

struct code_sum_job {
    const struct rw_bins *bins;
    uint64_t first_doc;
    uint64_t *sums; /* [n_features] */
};

/* Of documents [begin, end). weight: theirs; all: their sum. */
static uint64_t sum_column(const struct rw_bins *bins, uint32_t f, uint32_t begin, uint32_t end,
                           const uint64_t *weight, uint64_t all)
{
    const struct rw_codes *codes = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    uint64_t sum = 0;
    for (uint32_t doc = begin; !codes->row && doc < end; doc++)
        sum += weight[doc - begin] * rw_codes_entry(codes, bytes, doc);
    if (!codes->row)
        return sum;
    for (uint32_t i = rw_numbers_under(codes->row, codes->n, begin);
         i < codes->n && codes->row[i] < end; i++)
        sum += weight[codes->row[i] - begin] *
               ((uint64_t)rw_codes_entry(codes, bytes, i) - codes->rest);
    return sum + all * codes->rest;
}

static int sum_some(void *user, struct rw_share *share)
{
    const struct code_sum_job *job = user;
    uint64_t weight[SUMMED_DOCS];
    for (uint64_t first, end; rw_share_next(share, &first, &end);) {
        uint64_t all = 0;
        for (uint64_t doc = first; doc < end; doc++)
            all += weight[doc - first] = rw_code_weight(job->first_doc + doc);
        for (uint32_t f = 0; f < job->bins->cuts->n_features; f++)
            rw_share_add(share, &job->sums[f],
                         sum_column(job->bins, f, (uint32_t)first, (uint32_t)end, weight, all));
    }
    return RW_OK;
}

int rw_host_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums)
{
    struct rw_host *host = (struct rw_host *)engine;
    struct code_sum_job job = {host->set[set].bins, first_doc, sums};
    memset(sums, 0, engine->info.n_features * sizeof(*sums));
    return rw_parallel(engine->ctx, engine->n_threads, engine->n_docs[set], SUMMED_DOCS, sum_some,
                       &job);
}

int rw_host_move_codes(struct rw_host *host, struct rw_bins *bins)
{
    int status = RW_OK;
    for (uint32_t f = 0; !host->alloc && f < bins->cuts->n_features; f++)
        host->base.info.bytes += rw_codes_bytes(bins->cuts, f, bins->codes[f].n, bins->n_docs);
    for (uint32_t f = 0; host->alloc && f < bins->cuts->n_features; f++) {
        struct rw_codes moved = {0};
        if (status >= 0) /* after a failure the rest is dropped: it is no memory of the engine's */
            status =
                copy_codes(host, NULL, &bins->codes[f], rw_cuts_code_bytes(bins->cuts, f), &moved);
        rw_mem_free(bins->codes[f].row);
        rw_mem_free(bins->codes[f].code);
        bins->codes[f] = moved;
    }
    return status;
}
