/* Finds bin boundaries on the host, and the thresholds ("cuts") that follow from them
 * (binning/bins.h). The first part draws the sample of documents and makes the thresholds of all
 * features. The last part finds the boundaries of one feature. If at most `bins` of its sampled
 * values are distinct, there is a boundary between any two neighbours. Otherwise its n sampled
 * values, sorted, are numbered from 0; the numbers floor(k n / bins), for k = 1 .. bins - 1, are
 * its ranks. A run of equal values that holds a rank gets a boundary at its lower end, except the
 * lowest run. A run that holds two or more ranks also gets one at its upper end, except the highest
 * run. */
#include "binning/bins.h"

#include <float.h>
#include <zlib.h>

#include "base/rng.h"
#include "comm/comm.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

uint32_t rw_cut_sample_docs = RW_CUT_SAMPLE_DOCS;

struct sample_job {
    const struct rw_dataset *dataset;
    uint32_t threshold; /* documents whose hash is below it are sampled */
    uint8_t *in;        /* [n_docs] 1: sampled */
};

static int sample_queries(void *user, struct rw_share *share)
{
    const struct sample_job *job = user;
    const struct rw_dataset *dataset = job->dataset;
    RW_SHARE_EACH(share, q) {
        const char *id = dataset->query_id.text + dataset->query_id.offset[q];
        const uint32_t key = (uint32_t)crc32(0, (const Bytef *)id, (uInt)strlen(id));
        const uint32_t first = dataset->query_offset[q];
        for (uint32_t doc = first; doc < dataset->query_offset[q + 1]; doc++)
            job->in[doc] = rw_random(key, doc - first, 0, RW_STREAM_CUT_SAMPLE) < job->threshold;
    }
    return RW_OK;
}

/* Selects documents for the sample by their hashes. */
static int draw_sample(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset)
{
    const uint32_t threshold =
        (uint32_t)(((uint64_t)rw_cut_sample_docs << 32) / sample->n_all_docs);
    RW_TRY(RW_NEW(ctx, sample->in, dataset->n_docs));
    struct sample_job job = {dataset, threshold, sample->in};
    RW_TRY(rw_parallel(ctx, ctx->n_threads, dataset->n_queries, 64, sample_queries, &job));
    sample->n = 0;
    for (uint32_t doc = 0; doc < dataset->n_docs; doc++)
        sample->n += sample->in[doc];
    RW_TRY(RW_NEW_RAW(ctx, sample->row, sample->n));
    for (uint32_t doc = 0, k = 0; doc < dataset->n_docs; doc++) {
        if (sample->in[doc])
            sample->row[k++] = doc;
    }
    return RW_OK;
}

int rw_workers_docs(struct rw_ctx *ctx, const struct rw_dataset *dataset, uint32_t *all_docs)
{
    uint64_t n_docs = dataset->n_docs;
    RW_TRY(rw_comm_sum(ctx, &n_docs, 1));
    if (n_docs > RW_MAX_DOCS)
        return rw_fail(ctx, RW_ERR_DATA,
                       "too many documents on all workers: %llu; expected at most %u",
                       (unsigned long long)n_docs, RW_MAX_DOCS);
    *all_docs = (uint32_t)n_docs;
    return RW_OK;
}

int rw_cut_sample_init(struct rw_ctx *ctx, struct rw_cut_sample *sample,
                       const struct rw_dataset *dataset)
{
    memset(sample, 0, sizeof(*sample));
    RW_TRY(rw_workers_docs(ctx, dataset, &sample->n_all_docs));
    sample->n = dataset->n_docs;
    if (sample->n_all_docs > rw_cut_sample_docs)
        RW_TRY(rw_comm_agree(ctx, draw_sample(ctx, sample, dataset)));
    uint64_t n_all = sample->n;
    RW_TRY(rw_comm_sum(ctx, &n_all, 1));
    if (n_all < sample->n || n_all > sample->n_all_docs)
        return rw_comm_nonsense(ctx, "numbers of documents");
    sample->n_all = (uint32_t)n_all;
    return RW_OK;
}

void rw_cut_sample_release(struct rw_cut_sample *sample)
{
    rw_mem_free(sample->row);
    rw_mem_free(sample->in);
}

float rw_cut_between(float a, float b)
{
    const float middle = (float)(((double)a + (double)b) * 0.5);
    /* rounding cannot yield a or b if a float lies strictly between them */
    if (middle > a && middle < b)
        return middle == 0.0f ? 0.0f : middle;
    return NAN;
}

int rw_cuts_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                      uint32_t min_docs)
{
    uint64_t total = 0, left = 0;
    for (uint32_t b = 0; b < n_bins; b++)
        total += counts[b];
    if (n_missing >= min_docs && total >= min_docs)
        return 1;
    for (uint32_t b = 0; b + 1 < n_bins; b++) {
        left += counts[b];
        const uint64_t right = total - left;
        if (left > 0 && right > 0 &&
            ((left + n_missing >= min_docs && right >= min_docs) ||
             (left >= min_docs && right + n_missing >= min_docs)))
            return 1;
    }
    return 0;
}

int rw_categories_can_split(const uint32_t *counts, uint32_t n_bins, uint32_t n_missing,
                            uint32_t min_docs)
{
    uint64_t total = n_missing, most = n_missing;
    for (uint32_t b = 0; b < n_bins; b++) {
        total += counts[b];
        most = counts[b] > most ? counts[b] : most;
    }
    return most < total && total >= 2 * (uint64_t)min_docs;
}

int rw_cuts_of_intervals(struct rw_ctx *ctx, struct rw_cut_intervals *s,
                         const struct rw_cut_rule *rule, struct rw_feature_cuts *out)
{
    float cuts[RW_MAX_BOUNDS + 1];
    uint32_t n_bins = 0;
    int can_split, is_constant;
    for (uint32_t k = 0; k < s->n_bounds; k++) {
        /* By category, an interval may be empty, but it still gets a threshold. Otherwise none is
         * empty: its lower bound is a value in the data, and the first interval holds the smallest
         * sampled value. */
        const float cut = s->by_category ? (float)k + 0.5f
                                         : rw_cut_between(rw_float_of_key(s->below[k]),
                                                          rw_float_of_key(s->bound[k]));
        if (cut != cut) {
            s->count[k + 1] += s->count[k];
            continue;
        }
        s->count[n_bins] = s->count[k];
        cuts[n_bins++] = cut;
    }
    s->count[n_bins] = s->count[s->n_bounds];
    cuts[n_bins++] = FLT_MAX;
    if (s->by_category) {
        is_constant = !rw_categories_can_split(s->count, n_bins, s->n_missing, 1);
        can_split = rw_categories_can_split(s->count, n_bins, s->n_missing, rule->min_docs);
    } else {
        is_constant = n_bins == 1 && (s->n_missing == 0 || s->count[0] == 0);
        can_split = rw_cuts_can_split(s->count, n_bins, s->n_missing, rule->min_docs);
    }
    out->by_category = s->by_category != 0;
    out->has_missing = s->n_missing > 0;
    out->reason = is_constant ? RW_CUT_CONSTANT : can_split ? RW_CUT_IN_USE : RW_CUT_FEW;
    if (out->reason != RW_CUT_IN_USE)
        return RW_OK;
    out->n_bins = n_bins;
    RW_TRY(RW_NEW_RAW(ctx, out->cut, n_bins));
    memcpy(out->cut, cuts, n_bins * sizeof(*out->cut));
    return RW_OK;
}

int rw_cuts_decided(const struct rw_column *column, const struct rw_cut_rule *rule,
                    struct rw_feature_cuts *out)
{
    if (rule->ignore && rule->ignore[column->feature])
        out->reason = RW_CUT_IGNORED;
    else if (column->row && column->n < rule->min_docs)
        out->reason = RW_CUT_FEW; /* one side would have fewer than min_docs */
    return out->reason != RW_CUT_IN_USE;
}

int rw_cuts_gather(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   const struct rw_feature_cuts *found, struct rw_cuts **out)
{
    RW_SCOPED(rw_cuts_free) struct rw_cuts *cuts = NULL;
    uint64_t n_cuts = 0;
    int by_category = 0;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, cuts, 1));
    uint32_t *const count[] = {[RW_CUT_IN_USE] = &cuts->n_features,
                               [RW_CUT_CONSTANT] = &cuts->n_constant,
                               [RW_CUT_FEW] = &cuts->n_few,
                               [RW_CUT_IGNORED] = &cuts->n_ignored};
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        ++*count[found[c].reason];
        n_cuts += found[c].n_bins;
        by_category |= found[c].reason == RW_CUT_IN_USE && found[c].by_category;
    }
    RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->feature, cuts->n_features));
    RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->offset, (size_t)cuts->n_features + 1));
    RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->has_missing, cuts->n_features));
    RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->cut, n_cuts));
    if (by_category)
        RW_TRY(RW_ARENA_NEW(ctx, &cuts->arena, cuts->by_category, cuts->n_features));
    for (uint32_t c = 0, f = 0; c < dataset->n_columns; c++) {
        if (found[c].reason != RW_CUT_IN_USE)
            continue;
        cuts->feature[f] = dataset->column[c].feature;
        cuts->has_missing[f] = found[c].has_missing;
        if (by_category)
            cuts->by_category[f] = found[c].by_category;
        memcpy(cuts->cut + cuts->offset[f], found[c].cut, found[c].n_bins * sizeof(float));
        cuts->offset[f + 1] = cuts->offset[f] + found[c].n_bins;
        f++;
    }
    *out = RW_TAKE(cuts);
    return RW_OK;
}

int rw_cut_finder_init(struct rw_ctx *ctx, struct rw_cut_finder *finder,
                       const struct rw_dataset *dataset, const struct rw_cut_rule *rule)
{
    *finder = (struct rw_cut_finder){.ctx = ctx, .dataset = dataset, .rule = rule};
    RW_TRY(RW_NEW(ctx, finder->found, dataset->n_columns));
    return rw_cut_sample_init(ctx, &finder->sample, dataset);
}

void rw_cut_finder_release(struct rw_cut_finder *finder)
{
    for (uint32_t c = 0; finder->found && c < finder->dataset->n_columns; c++)
        rw_mem_free(finder->found[c].cut);
    rw_mem_free(finder->found);
    rw_cut_sample_release(&finder->sample);
}

int rw_cuts_make_by(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                    const struct rw_cut_rule *rule, rw_cuts_find_fn *find, void *user,
                    struct rw_cuts **out)
{
    RW_RELEASED(rw_cut_finder_release) struct rw_cut_finder finder = {.dataset = dataset};
    *out = NULL;
    RW_TRY(rw_cut_finder_init(ctx, &finder, dataset, rule));
    RW_TRY(find(user, &finder));
    return rw_cuts_gather(ctx, dataset, finder.found, out);
}

int rw_cuts_make(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                 const struct rw_cut_rule *rule, struct rw_cuts **out)
{
    return rw_cuts_make_by(ctx, dataset, rule, rw_cuts_find_on_host, NULL, out);
}

void rw_cuts_free(struct rw_cuts *cuts)
{
    if (!cuts)
        return;
    rw_arena_free(&cuts->arena);
    rw_mem_free(cuts);
}

/* ---- on the host ---- */

/* Adds to *s the documents without an entry in a sparse column. */
static void add_absent(const struct rw_column *column, uint32_t n_docs, int absent_missing,
                       struct rw_cut_intervals *s)
{
    const uint32_t n_absent = n_docs - column->n;
    const uint32_t zero_at = rw_zero_at(s->bound, s->n_bounds);
    if (absent_missing) {
        s->n_missing += n_absent;
        return;
    }
    s->count[zero_at] += n_absent;
    if (RW_KEY_OF_ZERO > s->below[zero_at])
        s->below[zero_at] = RW_KEY_OF_ZERO;
}

/* Passes over all values and writes s->below, s->count and s->n_missing. index: NULL, or
 * [column->n] with `bytes` bytes each, which receives the interval of each entry, n_bounds + 1 for
 * a missing one. */
static void exact_pass(const struct rw_cut_finder *finder, enum rw_isa isa,
                       const struct rw_column *column, struct rw_cut_intervals *s, size_t bytes,
                       void *index)
{
    enum { BLOCK = 4096 }; /* values whose indices are counted while in the L1 cache */
    const uint32_t n_docs = finder->dataset->n_docs, missing = s->n_bounds + 1;
    const int absent_missing = finder->rule->absent_missing;
    uint16_t scratch[BLOCK];
    int32_t most[RW_SEARCH_ROOM];
    struct rw_code_search search;
    rw_code_search_init(&search, s->bound, s->n_bounds, absent_missing, missing);
    for (uint32_t k = 0; k <= s->n_bounds; k++)
        most[k] = INT32_MIN;
    memset(s->count, 0, (missing + 1) * sizeof(s->count[0]));
    for (uint32_t first = 0; first < column->n; first += BLOCK) {
        const uint32_t n = column->n - first < BLOCK ? column->n - first : BLOCK;
        void *to = index ? (uint8_t *)index + first * bytes : (void *)scratch;
        rw_code_search_run(isa, &search, column->value + first, n, bytes, to, most);
        rw_code_count(to, n, bytes, missing + 1, s->count);
    }
    for (uint32_t k = 0; k <= s->n_bounds; k++)
        s->below[k] = rw_key_of_ordered(most[k]);
    s->n_missing = s->count[missing];
    if (column->n < n_docs)
        add_absent(column, n_docs, absent_missing, s);
}

int rw_cuts_find_column(struct rw_cut_finder *finder, enum rw_isa isa,
                        const struct rw_column *column, uint32_t c, struct rw_rank_scratch *scratch,
                        struct rw_codes *codes)
{
    struct rw_feature_cuts *found = &finder->found[c];
    struct rw_cut_intervals intervals;
    void *index = NULL;
    if (rw_cuts_decided(column, finder->rule, found))
        return RW_OK;
    const struct rw_cut_part part = {.column = *column};
    rw_cut_bounds(isa, &part, 1, &finder->sample, finder->rule, scratch, &intervals);
    const size_t bytes = rw_bytes_of_codes(intervals.n_bounds + 2);
    if (codes)
        RW_TRY(rw_mem_new_raw(NULL, &index, column->n, bytes));
    exact_pass(finder, isa, column, &intervals, bytes, index);
    if (!codes)
        return rw_cuts_of_intervals(NULL, &intervals, finder->rule, found);
    return rw_codes_of_intervals(&intervals, NULL, finder->rule, column, finder->dataset->n_docs,
                                 bytes, index, found, codes);
}

struct host_search {
    struct rw_cut_finder *finder;
    enum rw_isa isa;
    struct rw_codes *codes; /* [n_columns]; NULL: thresholds only */
};

static int find_some(void *user, struct rw_share *share)
{
    const struct host_search *host = user;
    struct rw_rank_scratch scratch;
    int status = rw_rank_scratch_init(NULL, &scratch, &host->finder->sample);
    for (uint64_t c, end; status >= 0 && rw_share_next(share, &c, &end);)
        status = rw_cuts_find_column(host->finder, host->isa, &host->finder->dataset->column[c],
                                     (uint32_t)c, &scratch, host->codes ? &host->codes[c] : NULL);
    rw_arena_free(&scratch.arena);
    return status;
}

int rw_cuts_find_on_host(void *codes, struct rw_cut_finder *finder)
{
    struct rw_ctx *ctx = finder->ctx;
    struct host_search host = {.finder = finder, .isa = rw_isa(), .codes = codes};
    const int status =
        rw_parallel_long(ctx, ctx->n_threads, finder->dataset->n_columns, 1, find_some, &host);
    return status < 0 ? rw_fail_memory(ctx, status, "out of memory while finding bin boundaries")
                      : status;
}

int rw_bins_make_training(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                          const struct rw_cut_rule *rule, struct rw_bins **out)
{
    RW_RELEASED(rw_cut_finder_release) struct rw_cut_finder finder = {.dataset = dataset};
    struct rw_codes *codes;
    *out = NULL;
    RW_TRY(rw_cut_finder_init(ctx, &finder, dataset, rule));
    RW_TRY(RW_NEW(ctx, codes, dataset->n_columns));
    int status = rw_cuts_find_on_host(codes, &finder);
    if (status >= 0)
        status = rw_bins_gather(ctx, dataset, rule, finder.found, codes, out);
    rw_codes_free(codes, dataset->n_columns);
    return status;
}

enum {
    PAD = 16, /* room for keys written after the last one by a vector */
    /* at most 2^16 buckets: more would exceed the cache, and fewer leave more values to sort */
    MOST_BITS = 16,
    FEW_KEYS = 4096,          /* up to this many keys are divided into only two buckets */
    FEW_VALUES = RW_MAX_BINS, /* up to this many distinct nonzero values, each is counted */
    TABLE_BITS = 12,
    TABLE = 1 << TABLE_BITS,
    MOST_MARKED = 2 * RW_MAX_BINS, /* at most two buckets per rank */
};
_Static_assert(TABLE > FEW_VALUES, "a free slot ends every search of the table");

/* A hash table that counts distinct values. key: 0 marks a free slot, since no value has this key;
 * value: the distinct keys; scratch: for sorting them. */
struct rw_rank_counter {
    uint32_t key[TABLE], count[TABLE];
    uint32_t value[FEW_VALUES + 1], scratch[FEW_VALUES + 1];
};

int rw_rank_scratch_init(struct rw_ctx *ctx, struct rw_rank_scratch *s,
                         const struct rw_cut_sample *sample)
{
    const size_t n_keys = (size_t)sample->n_all + PAD;
    memset(s, 0, sizeof(*s));
    RW_TRY(RW_ARENA_NEW(ctx, &s->arena, s->key, n_keys));
    RW_TRY(RW_ARENA_NEW(ctx, &s->arena, s->picked, n_keys));
    RW_TRY(RW_ARENA_NEW(ctx, &s->arena, s->count, (size_t)1 << MOST_BITS));
    /* vectors read two marks at once */
    RW_TRY(RW_ARENA_NEW(ctx, &s->arena, s->mark, ((size_t)1 << MOST_BITS) + 1));
    return RW_ARENA_NEW(ctx, &s->arena, s->counter, 1);
}

/* ---- the sampled values ---- */

/* The sampled values without missing ones: n nonzero values, whose keys are in rw_rank_scratch.key,
 * and n_zeros zeros. Zero is usually by far the most frequent value. */
struct values {
    uint32_t n, n_zeros;
    uint32_t least, most; /* smallest and largest key; initially UINT32_MAX and 0 */
};

static void add_value(struct values *v, uint32_t *key, uint32_t bits, uint32_t in)
{
    const uint32_t one = bits ^ ((uint32_t)((int32_t)bits >> 31) | RW_KEY_OF_ZERO);
    /* a NaN's key is outside of those of the infinities */
    const uint32_t is_number = one - 0x007fffffu <= 0xff800000u - 0x007fffffu, is_zero = bits == 0;
    const uint32_t keep = in & (is_number ^ is_zero);
    v->n_zeros += in & is_zero;
    v->least = keep && one < v->least ? one : v->least;
    v->most = keep && one > v->most ? one : v->most;
    key[v->n] = one;
    v->n += keep;
}

#if RW_HAS_X86
/* Processes dense values from the front. Returns how many it processed. */
RW_AVX512 static uint32_t add_avx512(struct values *v, const float *value, uint32_t n,
                                     const uint8_t *in, uint32_t absent_as, uint32_t *key)
{
    const __m512i absent = _mm512_set1_epi32((int)RW_ABSENT_BITS), zero = _mm512_setzero_si512();
    __m512i least = _mm512_set1_epi32(-1), most = zero;
    uint32_t n_keys = v->n, n_zeros = 0, i = 0;
    for (; i + 16 <= n; i += 16) {
        __mmask16 of = 0xffff;
        if (in) {
            const __m128i flags = _mm_loadu_si128((const __m128i *)(in + i));
            of = _mm_test_epi8_mask(flags, flags);
        }
        __m512i bits = _mm512_loadu_si512(value + i);
        bits = _mm512_mask_set1_epi32(bits, _mm512_cmpeq_epi32_mask(bits, absent), (int)absent_as);
        const __mmask16 is_zero = _mm512_mask_cmpeq_epi32_mask(of, bits, zero);
        const __m512i magnitude = _mm512_and_si512(bits, _mm512_set1_epi32(0x7fffffff));
        const __mmask16 keep = _mm512_mask_cmple_epi32_mask(of & (__mmask16)~is_zero, magnitude,
                                                            _mm512_set1_epi32(0x7f800000));
        const __m512i sign = _mm512_srai_epi32(bits, 31);
        const __m512i one =
            _mm512_xor_si512(bits, _mm512_or_si512(sign, _mm512_set1_epi32(INT32_MIN)));
        least = _mm512_mask_min_epu32(least, keep, least, one);
        most = _mm512_mask_max_epu32(most, keep, most, one);
        _mm512_storeu_si512(key + n_keys, _mm512_maskz_compress_epi32(keep, one));
        n_keys += (uint32_t)__builtin_popcount(keep);
        n_zeros += (uint32_t)__builtin_popcount(is_zero);
    }
    const uint32_t low = _mm512_reduce_min_epu32(least), high = _mm512_reduce_max_epu32(most);
    v->least = low < v->least ? low : v->least;
    v->most = high > v->most ? high : v->most;
    v->n = n_keys;
    v->n_zeros += n_zeros;
    return i;
}
#endif

/* Adds a column's values except missing ones. in: NULL, or [n_docs], 1: include the document. */
static void add_column(enum rw_isa isa, struct values *v, const struct rw_column *column,
                       const uint8_t *in, int absent_missing, struct rw_rank_scratch *s)
{
    const uint32_t n = column->n, *row = column->row;
    const uint32_t absent_as = absent_missing ? RW_MISSING_BITS : 0;
    uint32_t i = 0;
#if RW_HAS_X86
    if (isa == RW_ISA_AVX512 && !(row && in))
        i = add_avx512(v, column->value, n, in, absent_as, s->key);
#endif
    (void)isa;
    struct values all = *v; /* stays in registers while keys are written */
    for (; i < n; i++) {
        const uint32_t bits = rw_bits_of_float(column->value[i]);
        add_value(&all, s->key, bits == RW_ABSENT_BITS ? absent_as : bits,
                  in ? in[row ? row[i] : i] : 1);
    }
    *v = all;
}

/* ---- boundaries from runs of equal values ---- */

/* The state of a pass over runs of equal values, in ascending order. A run may be skipped if it
 * holds no rank and no boundary is due before it. */
struct walk {
    struct rw_cut_intervals *out;
    uint32_t n_ranked, bins; /* number of sampled values, and of bins */
    uint32_t k;              /* the next rank is the k-th */
    int is_first;            /* 1: there was no run yet */
    int next_is_due;         /* 1: the next run's first value is a boundary */
};

static uint32_t rank_of(const struct walk *w)
{
    return (uint32_t)((uint64_t)w->k * w->n_ranked / w->bins);
}

/* Advances over the ranks below `end` and returns their number. */
static uint32_t pass_ranks(struct walk *w, uint32_t end)
{
    uint32_t n = 0;
    for (; w->k < w->bins && rank_of(w) < end; w->k++)
        n++;
    return n;
}

/* Adds a run of values. end: number of values up to the run's end. */
static void walk_run(struct walk *w, uint32_t key, uint32_t end)
{
    const uint32_t n_ranks = pass_ranks(w, end);
    if (w->next_is_due || (n_ranks > 0 && !w->is_first))
        w->out->bound[w->out->n_bounds++] = key;
    w->next_is_due = n_ranks > 1;
    w->is_first = 0;
}

/* ---- few distinct values ---- */

static uint32_t slot_of(const struct rw_rank_counter *c, uint32_t key)
{
    uint32_t slot = key * 2654435769u >> (32 - TABLE_BITS);
    while (c->key[slot] && c->key[slot] != key)
        slot = (slot + 1) & (TABLE - 1);
    return slot;
}

/* Counts how often each key occurs. key: [n] those of nonzero values; in addition there are n_zeros
 * zeros. Returns the number of distinct values, whose keys are then in c->value, ascending; or
 * UINT32_MAX if more than FEW_VALUES nonzero values are distinct. */
static uint32_t count_few(struct rw_rank_counter *c, const uint32_t *key, uint32_t n,
                          uint32_t n_zeros)
{
    uint32_t n_values = 0;
    memset(c->key, 0, sizeof(c->key));
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t slot = slot_of(c, key[i]);
        if (!c->key[slot]) {
            if (n_values == FEW_VALUES)
                return UINT32_MAX;
            c->key[slot] = c->value[n_values++] = key[i];
            c->count[slot] = 0;
        }
        c->count[slot]++;
    }
    if (n_zeros) {
        const uint32_t slot = slot_of(c, RW_KEY_OF_ZERO);
        c->key[slot] = c->value[n_values++] = RW_KEY_OF_ZERO;
        c->count[slot] = n_zeros;
    }
    rw_sort_keys(c->value, c->scratch, n_values);
    return n_values;
}

static void bounds_of_few(const struct rw_rank_counter *c, uint32_t n_values, struct walk *w)
{
    uint32_t end = 0;
    for (uint32_t i = 0; i < n_values; i++) {
        const uint32_t key = c->value[i];
        end += c->count[slot_of(c, key)];
        if (n_values > w->bins)
            walk_run(w, key, end);
        else if (i > 0)
            w->out->bound[w->out->n_bounds++] = key;
    }
}

/* ---- many distinct values ---- */

/* Buckets of equal width. The keys of most features include that of 0 and have wide gaps on either
 * side of it. The gaps are removed, since they would leave few buckets for the values. */
struct buckets {
    uint32_t least, least_above; /* subtracted from keys below 0, and above it */
    uint32_t zero;               /* the bucket of 0 */
    uint32_t shift, n;
};

static inline uint32_t bucket_of(const struct buckets *b, uint32_t key)
{
    return (key - (key > RW_KEY_OF_ZERO ? b->least_above : b->least)) >> b->shift;
}

/* Divides the keys into at most 2^bits buckets. bits: at least 1. */
static struct buckets make_buckets(const struct values *v, const uint32_t *key, uint32_t bits)
{
    uint32_t under = v->most, above = v->least; /* the keys nearest to 0 */
    if (v->least < RW_KEY_OF_ZERO && v->most > RW_KEY_OF_ZERO) {
        under = 0;
        above = UINT32_MAX;
        for (uint32_t i = 0; i < v->n; i++) {
            const uint32_t low = key[i] < RW_KEY_OF_ZERO ? key[i] : 0;
            const uint32_t high = key[i] > RW_KEY_OF_ZERO ? key[i] : UINT32_MAX;
            under = low > under ? low : under;
            above = high < above ? high : above;
        }
    }
    const uint32_t n_under = v->least < RW_KEY_OF_ZERO ? under - v->least + 1 : 0;
    struct buckets b = {.least = v->least, .least_above = above - n_under - 1};
    const uint32_t last = v->most > RW_KEY_OF_ZERO ? v->most - b.least_above : n_under;
    while (last >> b.shift >> bits)
        b.shift++;
    b.zero = n_under >> b.shift;
    b.n = (last >> b.shift) + 1;
    return b;
}

/* A bucket to sort: the number of values below it, and in it. */
struct marked {
    uint32_t before, n;
};

/* Marks the buckets to sort: those that hold a rank. If a bucket holds two ranks, a run with both
 * may end there, so the next bucket with values is marked, too. Returns the number of marked
 * buckets. mark: [n_buckets] written, 1: marked; marked: receives these buckets in order. */
static uint32_t mark_buckets(const uint32_t *count, uint32_t n_buckets, struct walk ranks,
                             uint16_t *mark, struct marked *marked)
{
    uint32_t n_marked = 0, next = rank_of(&ranks), before = 0;
    int next_is_due = 0;
    for (uint32_t b = 0; b < n_buckets; before += count[b++]) {
        const uint32_t end = before + count[b];
        mark[b] = end > before && (next_is_due || (ranks.k < ranks.bins && next < end));
        if (!mark[b])
            continue;
        marked[n_marked++] = (struct marked){before, count[b]};
        next_is_due = pass_ranks(&ranks, end) > 1;
        next = rank_of(&ranks);
    }
    return n_marked;
}

#if RW_HAS_X86
/* Processes keys from the front. Returns how many it processed. */
RW_AVX512 static uint32_t pick_avx512(const struct buckets *b, const uint32_t *key, uint32_t n,
                                      const uint16_t *mark, uint32_t *picked, uint32_t *n_picked)
{
    const __m512i zero = _mm512_set1_epi32((int)RW_KEY_OF_ZERO);
    const __m512i least = _mm512_set1_epi32((int)b->least);
    const __m512i least_above = _mm512_set1_epi32((int)b->least_above);
    const __m128i shift = _mm_cvtsi32_si128((int)b->shift);
    uint32_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512i one = _mm512_loadu_si512(key + i);
        const __m512i from =
            _mm512_mask_mov_epi32(least, _mm512_cmpgt_epu32_mask(one, zero), least_above);
        const __m512i bucket = _mm512_srl_epi32(_mm512_sub_epi32(one, from), shift);
        const __mmask16 keep = _mm512_test_epi32_mask(_mm512_i32gather_epi32(bucket, mark, 2),
                                                      _mm512_set1_epi32(0xffff));
        _mm512_storeu_si512(picked + *n_picked, _mm512_maskz_compress_epi32(keep, one));
        *n_picked += (uint32_t)__builtin_popcount(keep);
    }
    return i;
}
#endif

/* Copies the keys of marked buckets to `picked`, in the order of `key`. Returns their number. */
static uint32_t pick(enum rw_isa isa, const struct buckets *b, const uint32_t *key, uint32_t n,
                     const uint16_t *mark, uint32_t *picked)
{
    uint32_t n_picked = 0, i = 0;
#if RW_HAS_X86
    if (isa == RW_ISA_AVX512)
        i = pick_avx512(b, key, n, mark, picked, &n_picked);
#endif
    (void)isa;
    for (; i < n; i++) {
        picked[n_picked] = key[i];
        n_picked += mark[bucket_of(b, key[i])] > 0;
    }
    return n_picked;
}

static void bounds_of_many(enum rw_isa isa, const struct values *v, struct rw_rank_scratch *s,
                           struct walk *w)
{
    const uint32_t n_zeros = v->n_zeros;
    struct marked marked[MOST_MARKED];
    uint32_t bits = 1;
    while (bits < MOST_BITS && v->n >> (bits + 2) && v->n > FEW_KEYS)
        bits++;
    const struct buckets b = make_buckets(v, s->key, bits);
    memset(s->count, 0, b.n * sizeof(*s->count));
    for (uint32_t i = 0; i < v->n; i++)
        s->count[bucket_of(&b, s->key[i])]++;
    s->count[b.zero] += n_zeros;
    const uint32_t n_marked = mark_buckets(s->count, b.n, *w, s->mark, marked);
    uint32_t n_picked = pick(isa, &b, s->key, v->n, s->mark, s->picked);
    if (n_zeros && s->mark[b.zero])
        s->picked[n_picked++] = RW_KEY_OF_ZERO;
    rw_sort_keys(s->picked, s->key, n_picked);
    const uint32_t *at = s->picked;
    for (uint32_t m = 0; m < n_marked; m++) {
        const uint32_t end_of_bucket = marked[m].before + marked[m].n;
        w->is_first &= marked[m].before == 0;
        for (uint32_t end = marked[m].before; end < end_of_bucket;) {
            const uint32_t key = *at;
            uint32_t n = key == RW_KEY_OF_ZERO ? n_zeros : 0;
            for (at += n > 0; end + n < end_of_bucket && *at == key; at++)
                n++;
            end += n;
            walk_run(w, key, end);
        }
    }
}

static void find_bounds(enum rw_isa isa, const struct values *v, const struct rw_cut_rule *rule,
                        struct rw_rank_scratch *s, struct rw_cut_intervals *intervals)
{
    struct walk walk = {.out = intervals,
                        .n_ranked = v->n + v->n_zeros,
                        .bins = (uint32_t)rule->bins,
                        .k = 1,
                        .is_first = 1};
    intervals->n_bounds = 0;
    const uint32_t n_few = count_few(s->counter, s->key, v->n, v->n_zeros);
    if (n_few != UINT32_MAX)
        bounds_of_few(s->counter, n_few, &walk);
    else
        bounds_of_many(isa, v, s, &walk);
}

/* Sets a boundary at every category's value except the first one's. */
static void bounds_of_categories(uint32_t n, struct rw_cut_intervals *intervals)
{
    intervals->n_bounds = n - 1;
    for (uint32_t k = 0; k + 1 < n; k++)
        intervals->bound[k] = rw_key_of_float((float)(k + 1));
}

void rw_cut_bounds(enum rw_isa isa, const struct rw_cut_part *parts, uint32_t n_parts,
                   const struct rw_cut_sample *sample, const struct rw_cut_rule *rule,
                   struct rw_rank_scratch *s, struct rw_cut_intervals *intervals)
{
    struct values v = {.least = UINT32_MAX};
    const uint8_t *in = sample->in;
    uint32_t n_seen = 0, n_zeros = 0;
    const uint32_t n_categories =
        n_parts ? rw_cut_rule_categories(rule, parts[0].column.feature) : 0;
    intervals->by_category = n_categories > 0;
    if (n_categories) {
        bounds_of_categories(n_categories, intervals);
        return;
    }
    for (uint32_t p = 0; p < n_parts; p++) {
        const struct rw_column *column = &parts[p].column;
        add_column(isa, &v, column, in, rule->absent_missing, s);
        for (uint32_t i = 0; in && i < column->n; i++)
            n_seen += in[column->row ? column->row[i] : i];
        n_seen += in ? 0 : column->n;
        n_zeros += parts[p].n_zeros;
    }
    v.n_zeros += rule->absent_missing ? n_zeros : sample->n - n_seen;
    find_bounds(isa, &v, rule, s, intervals);
}
