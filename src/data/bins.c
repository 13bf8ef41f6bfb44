#include "data/bins.h"

#include "base/mem.h"

/* What a feature's values become. */
struct coder {
    const float *cut;
    uint32_t n_bins;
    uint32_t missing, absent; /* codes */
    size_t bytes;
};

static struct coder coder_of(const struct rw_cuts *cuts, uint32_t f, int absent_missing)
{
    struct coder coder = {.cut = cuts->cut + cuts->offset[f],
                          .n_bins = rw_cuts_n_bins(cuts, f),
                          .bytes = rw_cuts_code_bytes(cuts, f)};
    const uint32_t zero = rw_bin_of(coder.cut, coder.n_bins, 0.0f);
    coder.missing = cuts->has_missing[f] ? coder.n_bins : zero;
    coder.absent = absent_missing ? coder.missing : zero;
    return coder;
}

static uint32_t code_of(const struct coder *coder, float value)
{
    if (value == value)
        return rw_bin_of(coder->cut, coder->n_bins, value);
    return rw_is_absent(value) ? coder->absent : coder->missing;
}

static void put_code(void *codes, size_t bytes, uint32_t i, uint32_t code)
{
    if (bytes == 1)
        ((uint8_t *)codes)[i] = (uint8_t)code;
    else
        ((uint16_t *)codes)[i] = (uint16_t)code;
}

static int new_sparse(struct rw_codes *codes, uint32_t n, uint32_t rest, size_t bytes)
{
    codes->n = n;
    codes->rest = rest;
    RW_TRY(RW_NEW_RAW(NULL, codes->row, n));
    return rw_mem_new_raw(NULL, &codes->code, n, bytes);
}

/* A dense list whose most frequent code leaves few others becomes a sparse one. */
static int thin_out(struct rw_codes *codes, uint32_t n_docs, uint32_t n_codes, size_t bytes)
{
    uint32_t counts[1026] = {0}, frequent = 0;
    for (uint32_t doc = 0; doc < n_docs; doc++)
        counts[rw_codes_entry(codes, bytes, doc)]++;
    for (uint32_t c = 1; c < n_codes; c++)
        frequent = counts[c] > counts[frequent] ? c : frequent;
    const uint32_t n_others = n_docs - counts[frequent];
    if (n_others > n_docs / RW_SPARSE_SHARE)
        return RW_OK;
    struct rw_codes sparse = {0};
    const int status = new_sparse(&sparse, n_others, frequent, bytes);
    if (status < 0) {
        rw_mem_free(sparse.row);
        return status;
    }
    for (uint32_t doc = 0, at = 0; doc < n_docs; doc++) {
        const uint32_t code = rw_codes_entry(codes, bytes, doc);
        if (code == frequent)
            continue;
        sparse.row[at] = doc;
        put_code(sparse.code, bytes, at++, code);
    }
    rw_mem_free(codes->code);
    *codes = sparse;
    return RW_OK;
}

/* One feature's codes; column may be NULL (absent everywhere). */
static int code_column(const struct rw_column *column, uint32_t n_docs, const struct coder *coder,
                       uint32_t n_codes, struct rw_codes *out)
{
    const uint32_t n = column ? column->n : 0;
    uint32_t n_others = 0;
    if (!column || column->row) {
        for (uint32_t i = 0; i < n; i++)
            n_others += code_of(coder, column->value[i]) != coder->absent;
        if (n_others <= n_docs / RW_SPARSE_SHARE) {
            RW_TRY(new_sparse(out, n_others, coder->absent, coder->bytes));
            for (uint32_t i = 0, at = 0; i < n; i++) {
                const uint32_t code = code_of(coder, column->value[i]);
                if (code == coder->absent)
                    continue;
                out->row[at] = column->row[i];
                put_code(out->code, coder->bytes, at++, code);
            }
            return RW_OK;
        }
    }
    out->n = n_docs;
    RW_TRY(rw_mem_new_raw(NULL, &out->code, n_docs, coder->bytes));
    for (uint32_t doc = 0; column->row && doc < n_docs; doc++)
        put_code(out->code, coder->bytes, doc, coder->absent);
    for (uint32_t i = 0; i < n; i++)
        put_code(out->code, coder->bytes, column->row ? column->row[i] : i,
                 code_of(coder, column->value[i]));
    return thin_out(out, n_docs, n_codes, coder->bytes);
}

int rw_bins_make(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_cuts *cuts,
                 const struct rw_cut_rule *rule, int owns_cuts, struct rw_bins **out)
{
    int status = RW_OK, worst = RW_OK;
    struct rw_bins *bins = NULL;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, bins, 1));
    bins->rule = *rule;
    bins->rule.ignore = NULL;
    bins->n_docs = dataset->n_docs;
    bins->cuts = cuts;
    RW_TRY_OUT(RW_NEW(ctx, bins->codes, cuts->n_features));
#pragma omp parallel for num_threads(ctx->n_threads) schedule(dynamic, 1)
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const struct coder coder = coder_of(cuts, f, rule->absent_missing);
        const int made = code_column(rw_dataset_column(dataset, cuts->feature[f]), dataset->n_docs,
                                     &coder, rw_cuts_n_codes(cuts, f), &bins->codes[f]);
        if (made < 0) {
#pragma omp critical
            worst = made;
        }
    }
    if (worst < 0) {
        status = rw_fail(ctx, worst, "out of memory while coding %u documents", dataset->n_docs);
        goto out;
    }
    bins->owns_cuts = owns_cuts; /* only now: a failure leaves the cuts to the caller */
    *out = bins;
    return RW_OK;
out:
    rw_bins_free(bins);
    return status;
}

/* As code_column and thin_out decide. */
static uint32_t entries_of(const struct rw_column *column, uint32_t n_docs,
                           const struct coder *coder, uint32_t n_codes)
{
    uint32_t counts[1026] = {0}, most = 0;
    const uint32_t n = column ? column->n : 0;
    for (uint32_t i = 0; i < n; i++)
        counts[code_of(coder, column->value[i])]++;
    const uint32_t n_others = n - counts[coder->absent];
    if ((!column || column->row) && n_others <= n_docs / RW_SPARSE_SHARE)
        return n_others;
    counts[coder->absent] += n_docs - n;
    for (uint32_t c = 0; c < n_codes; c++)
        most = counts[c] > most ? counts[c] : most;
    return n_docs - most <= n_docs / RW_SPARSE_SHARE ? n_docs - most : n_docs;
}

void rw_bins_entries(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                     const struct rw_cuts *cuts, const struct rw_cut_rule *rule, uint32_t *n)
{
#pragma omp parallel for num_threads(ctx->n_threads) schedule(dynamic, 1)
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const struct coder coder = coder_of(cuts, f, rule->absent_missing);
        n[f] = entries_of(rw_dataset_column(dataset, cuts->feature[f]), dataset->n_docs, &coder,
                          rw_cuts_n_codes(cuts, f));
    }
}

void rw_bins_count(const struct rw_bins *bins, uint32_t f, uint32_t *counts)
{
    const struct rw_codes *codes = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    memset(counts, 0, rw_cuts_n_codes(bins->cuts, f) * sizeof(*counts));
    for (uint32_t i = 0; i < codes->n; i++)
        counts[rw_codes_entry(codes, bytes, i)]++;
    if (codes->row)
        counts[codes->rest] += bins->n_docs - codes->n;
}

void rw_bins_free(struct rw_bins *bins)
{
    if (!bins)
        return;
    for (uint32_t f = 0; bins->codes && !bins->codes_are_views && f < bins->cuts->n_features; f++) {
        rw_mem_free(bins->codes[f].row);
        rw_mem_free(bins->codes[f].code);
    }
    rw_mem_free(bins->codes);
    if (bins->owns_cuts)
        rw_cuts_free(bins->cuts);
    rw_mem_free(bins);
}
