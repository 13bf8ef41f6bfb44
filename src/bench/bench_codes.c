#include "bench/bench_codes.h"

#include <float.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "base/thread.h"

enum { AT_ONCE = 8, TELLING = 4, PIECE = 4096, LABELS = 5 };

struct make {
    struct rw_binned *binned;
    uint64_t seed, first; /* document of the whole set */
    uint32_t n_words;     /* a document's, of AT_ONCE features each */
};

/* Eight random bytes for a document and eight of its features (Steele, Lea and Flood, "Fast
 * splittable pseudorandom number generators"). */
static uint64_t bytes_of(uint64_t seed, uint64_t item)
{
    uint64_t z = seed + (item + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* How good a document is, 0 to 255; its label, one in two a 0. */
static uint32_t quality_of(uint64_t seed, uint64_t doc)
{
    return (uint32_t)(bytes_of(~seed, doc) >> 56);
}

static float label_of(uint32_t quality, uint32_t noise)
{
    static const uint32_t from[LABELS - 1] = {128, 200, 235, 250};
    const uint32_t seen = (3 * quality + noise) / 4;
    float label = 0.0f;
    for (int l = 0; l < LABELS - 1; l++)
        label += (float)(seen >= from[l]);
    return label;
}

static int fill(void *user, struct rw_share *share)
{
    const struct make *make = user;
    const struct rw_bins *bins = make->binned->bins;
    /* documents are numbered as in the whole set */
    const uint64_t first = make->first;
    float *label = make->binned->documents->label;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        for (uint64_t d = doc; d < end; d++)
            label[d] = label_of(quality_of(make->seed, first + d),
                                (uint32_t)(bytes_of(~make->seed, first + d) & 255));
        for (uint32_t f = 0; f < make->binned->n_features; f += AT_ONCE) {
            const uint32_t left = make->binned->n_features - f;
            for (uint64_t d = doc; d < end; d++) {
                uint64_t bytes = bytes_of(make->seed, (first + d) * make->n_words + f / AT_ONCE);
                const uint32_t quality = quality_of(make->seed, first + d);
                for (uint32_t k = 0; k < AT_ONCE && k < left; k++, bytes >>= 8) {
                    uint32_t byte = (uint32_t)(bytes & 255);
                    if ((f + k) % TELLING == 0)
                        byte = (quality + (f + k + 1) * byte) / (f + k + 2);
                    const uint32_t n_bins = rw_cuts_n_bins(bins->cuts, f + k);
                    ((uint8_t *)bins->codes[f + k].code)[d] = (uint8_t)(byte * n_bins / 256);
                }
            }
        }
    }
    return RW_OK;
}

static int make_documents(struct rw_ctx *ctx, uint32_t n_docs, struct rw_dataset **out)
{
    const uint32_t n_queries = (n_docs + RW_BENCH_CODES_DOCS - 1) / RW_BENCH_CODES_DOCS;
    RW_TRY(rw_dataset_new(ctx, out));
    struct rw_dataset *set = *out;
    RW_TRY(RW_NEW_RAW(ctx, set->label, n_docs));
    RW_TRY(RW_NEW(ctx, set->query_offset, (size_t)n_queries + 1));
    RW_TRY(RW_NEW(ctx, set->query_id_offset, (size_t)n_queries + 1));
    RW_TRY(RW_NEW(ctx, set->query_id_text, (size_t)n_queries + 1)); /* ids of no letters */
    for (uint32_t q = 0; q <= n_queries; q++) {
        set->query_offset[q] = q < n_queries ? q * RW_BENCH_CODES_DOCS : n_docs;
        set->query_id_offset[q] = q;
    }
    set->n_docs = n_docs;
    set->n_queries = n_queries;
    return RW_OK;
}

static int make_cuts(struct rw_ctx *ctx, uint32_t n, uint32_t n_bins, struct rw_cuts **out)
{
    RW_TRY(RW_NEW(ctx, *out, 1));
    struct rw_cuts *cuts = *out;
    RW_TRY(RW_NEW(ctx, cuts->feature, n));
    RW_TRY(RW_NEW(ctx, cuts->offset, n + 1));
    RW_TRY(RW_NEW(ctx, cuts->cut, (size_t)n * n_bins));
    RW_TRY(RW_NEW(ctx, cuts->has_missing, n));
    cuts->n_features = n;
    for (uint32_t f = 0; f < n; f++) {
        cuts->feature[f] = f + 1;
        cuts->offset[f + 1] = cuts->offset[f] + n_bins;
        for (uint32_t b = 0; b < n_bins; b++)
            cuts->cut[cuts->offset[f] + b] = b + 1 < n_bins ? (float)b + 0.5f : FLT_MAX;
    }
    return RW_OK;
}

static int make_bins(struct rw_ctx *ctx, const struct rw_cut_rule *rule, uint32_t n_docs,
                     uint32_t n_features, struct rw_bins **out)
{
    const uint32_t most = 255, n_bins = (uint32_t)rule->bins < most ? (uint32_t)rule->bins : most;
    RW_TRY(RW_NEW(ctx, *out, 1));
    struct rw_bins *bins = *out;
    bins->rule = *rule;
    bins->n_docs = n_docs;
    bins->owns_cuts = 1;
    RW_TRY(make_cuts(ctx, n_features, n_bins, &bins->cuts));
    RW_TRY(RW_NEW(ctx, bins->codes, n_features));
    for (uint32_t f = 0; f < n_features; f++) {
        bins->codes[f].n = n_docs;
        RW_TRY(rw_mem_new_raw(ctx, &bins->codes[f].code, n_docs, 1));
    }
    return RW_OK;
}

struct rw_bench_codes rw_bench_codes_of(uint32_t first, uint32_t end, uint64_t seed)
{
    return (struct rw_bench_codes){.first = first,
                                   .n_docs = (uint64_t)(end - first) * RW_BENCH_CODES_DOCS,
                                   .n_features = RW_BENCH_CODES_FEATURES,
                                   .seed = seed};
}

int rw_bench_codes_make(struct rw_ctx *ctx, const struct rw_bench_codes *codes,
                        const struct rw_cut_rule *rule, struct rw_binned **out)
{
    const uint32_t n_docs = (uint32_t)codes->n_docs, n_features = codes->n_features;
    struct rw_binned *binned;
    int status;
    *out = NULL;
    if (codes->n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%llu documents; expected at most %u",
                       (unsigned long long)codes->n_docs, RW_MAX_DOCS);
    RW_TRY(RW_NEW(ctx, binned, 1));
    struct make make = {binned, codes->seed, (uint64_t)codes->first * RW_BENCH_CODES_DOCS,
                        (n_features + AT_ONCE - 1) / AT_ONCE};
    RW_TRY_OUT(make_documents(ctx, n_docs, &binned->documents));
    RW_TRY_OUT(make_bins(ctx, rule, n_docs, n_features, &binned->bins));
    RW_TRY_OUT(RW_NEW(ctx, binned->feature, n_features));
    binned->n_features = n_features;
    for (uint32_t f = 0; f < n_features; f++)
        binned->feature[f] = f + 1;
    RW_TRY_OUT(rw_parallel(ctx, ctx->n_threads, n_docs, PIECE, fill, &make));
    *out = binned;
    return RW_OK;
out:
    rw_binned_free(binned);
    return status;
}
