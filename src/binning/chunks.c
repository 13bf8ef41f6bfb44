/* Holds the values of the sampled documents until they have determined the boundaries: packs them,
 * sends them to the workers that find boundaries, and plans how each feature's intervals will be
 * stored. Also sorts a builder's entries by feature. chunks.h explains the method. */
#include "binning/chunks.h"

#include "comm/comm.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

void rw_chunk_release(struct rw_chunk *chunk)
{
    rw_mem_free_large(chunk->block, chunk->block_bytes);
    chunk->block = NULL;
    chunk->block_bytes = 0;
    chunk->n_held = chunk->n_lists = 0;
}

int rw_chunk_make_room(struct rw_chunk *chunk, size_t n_bytes)
{
    chunk->block_bytes = rw_mem_large_room(n_bytes);
    return rw_mem_new_large(NULL, &chunk->block, chunk->block_bytes, chunk->block_bytes == n_bytes);
}

static void scratch_release(struct rw_chunk_scratch *s)
{
    void *const owned[] = {s->next,         s->feature,       s->begin,    s->value,  s->row,
                           s->line,         s->all_values,    s->held,     s->list,   s->interval,
                           s->new_interval, s->held_interval, s->held_row, s->listed, s->search,
                           s->most,         s->packed,        s->part};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
}

void rw_chunks_release(struct rw_chunks *chunks)
{
    for (uint32_t p = 0; chunks->chunk && p < chunks->n_chunks; p++)
        rw_chunk_release(&chunks->chunk[p]);
    for (int t = 0; chunks->scratch && t < chunks->n_threads; t++)
        scratch_release(&chunks->scratch[t]);
    rw_mem_free(chunks->chunk);
    rw_mem_free(chunks->scratch);
    for (uint32_t f = 0; chunks->feature && f < RW_FEATURE_IDS; f++) {
        rw_mem_free(chunks->feature[f].bound);
        rw_mem_free(chunks->feature[f].interval);
        rw_mem_free(chunks->feature[f].row);
    }
    rw_mem_free(chunks->feature);
    rw_mem_free(chunks->full);
}

/* Returns the number of sampled documents before `doc`. */
static uint32_t sampled_under(const struct rw_cut_sample *sample, uint32_t doc)
{
    return sample->row ? rw_numbers_under(sample->row, sample->n, doc) : doc;
}

int rw_chunks_init(struct rw_ctx *ctx, struct rw_chunks *chunks, const struct rw_cut_sample *sample,
                   const struct rw_cut_rule *rule, const uint32_t *first_doc, uint32_t n_chunks)
{
    *chunks = (struct rw_chunks){.ctx = ctx,
                                 .n_docs = first_doc[n_chunks],
                                 .rule = *rule,
                                 .sample = sample,
                                 .isa = rw_isa(),
                                 .n_threads = ctx->n_threads,
                                 .n_chunks = n_chunks};
    chunks->rule.ignore = NULL;
    RW_TRY(RW_NEW(ctx, chunks->chunk, n_chunks));
    for (uint32_t p = 0; p < n_chunks; p++) {
        struct rw_chunk *chunk = &chunks->chunk[p];
        chunk->first_doc = first_doc[p];
        chunk->n_docs = first_doc[p + 1] - first_doc[p];
        chunk->first_sampled = sampled_under(sample, first_doc[p]);
        chunk->n_sampled = sampled_under(sample, first_doc[p + 1]) - chunk->first_sampled;
        chunks->most_docs = chunk->n_docs > chunks->most_docs ? chunk->n_docs : chunks->most_docs;
    }
    RW_TRY(RW_NEW(ctx, chunks->scratch, (size_t)chunks->n_threads));
    for (int i = 0; i < chunks->n_threads; i++) {
        RW_TRY(RW_NEW_RAW(ctx, chunks->scratch[i].next, RW_FEATURE_IDS));
        RW_TRY(RW_NEW_RAW(ctx, chunks->scratch[i].line, chunks->most_docs));
        RW_TRY(RW_NEW_RAW(ctx, chunks->scratch[i].packed, (size_t)chunks->most_docs + RW_PACK_PAD));
    }
    RW_TRY(RW_NEW(ctx, chunks->full, RW_FEATURE_IDS));
    return RW_NEW(ctx, chunks->feature, RW_FEATURE_IDS);
}

/* ---- packing values without the most frequent one ---- */

#if RW_HAS_X86
/* Packs values from the front, 16 at a time. Returns how many values it processed, and in *n_out
 * how many of these it stored. */
RW_AVX512 static uint32_t pack_avx512(const float *value, uint32_t n, uint32_t rest, uint8_t *bits,
                                      float *out, uint32_t *n_out)
{
    const __m512i most = _mm512_set1_epi32((int)rest);
    uint32_t i = 0, at = 0;
    for (; i + 16 <= n; i += 16) {
        const __m512i one = _mm512_loadu_si512(value + i);
        const __mmask16 keep = _mm512_cmpneq_epi32_mask(one, most);
        const uint16_t mask = (uint16_t)keep;
        memcpy(bits + i / 8, &mask, sizeof(mask));
        _mm512_storeu_si512(out + at, _mm512_maskz_compress_epi32(keep, one));
        at += (uint32_t)__builtin_popcount(mask);
    }
    *n_out = at;
    return i;
}

/* Unpacks values from the front. Returns how many values it wrote, and in *n_in how many of these
 * were packed. */
RW_AVX512 static uint32_t unpack_avx512(const float *packed, const uint8_t *bits, uint32_t n,
                                        uint32_t rest, float *out, uint32_t *n_in)
{
    const __m512i most = _mm512_set1_epi32((int)rest);
    uint32_t i = 0, at = 0;
    for (; i + 16 <= n; i += 16) {
        uint16_t mask;
        memcpy(&mask, bits + i / 8, sizeof(mask));
        const __m512i some = _mm512_loadu_si512(packed + at); /* up to RW_PACK_PAD values may be
                                                                 read beyond the end */
        _mm512_storeu_si512(out + i, _mm512_mask_expand_epi32(most, mask, some));
        at += (uint32_t)__builtin_popcount(mask);
    }
    *n_in = at;
    return i;
}
#endif

uint32_t rw_chunk_pack(enum rw_isa isa, const float *value, uint32_t n, uint32_t rest,
                       uint8_t *bits, float *out)
{
    uint32_t i = 0, at = 0;
#if RW_HAS_X86
    if (isa == RW_ISA_AVX512)
        i = pack_avx512(value, n, rest, bits, out, &at);
#endif
    (void)isa;
    for (; i < n; i += 8) {
        const uint32_t end = n - i < 8 ? n - i : 8;
        uint32_t byte = 0;
        for (uint32_t k = 0; k < end; k++) {
            const uint32_t one = rw_bits_of_float(value[i + k]), keep = one != rest;
            memcpy(&out[at], &one, sizeof(one));
            at += keep;
            byte |= keep << k;
        }
        bits[i / 8] = (uint8_t)byte;
    }
    return at;
}

void rw_chunk_unpack(enum rw_isa isa, const float *packed, const uint8_t *bits, uint32_t n,
                     uint32_t rest, float *restrict out)
{
    uint32_t i = 0, at = 0;
#if RW_HAS_X86
    if (isa == RW_ISA_AVX512)
        i = unpack_avx512(packed, bits, n, rest, out, &at);
#endif
    (void)isa;
    for (; i < n; i++) {
        const uint32_t bit = (uint32_t)rw_bit_of(bits, i);
        const uint32_t some = rw_bits_of_float(packed[at]); /* up to RW_PACK_PAD values may be
                                                               read beyond the end */
        const uint32_t one = bit ? some : rest;
        memcpy(&out[i], &one, sizeof(one));
        at += bit;
    }
}

/* ---- sorting entries by feature ---- */

static void sort_run(const struct rw_chunk_scratch *s, const uint16_t *feature,
                     const float *restrict from, size_t n, uint32_t n_docs)
{
    for (size_t k = 0; k < n; k++) {
        float *restrict to = s->value + s->next[feature[k]];
        s->next[feature[k]] += n_docs;
        for (uint32_t i = 0; i < n_docs; i++)
            memcpy(&to[i], &from[i * n + k], sizeof(float));
    }
}

/* Appends the rows of documents doc .. doc + n_docs - 1, which share these features. */
static void sort_rows(const struct rw_chunk_scratch *s, const uint16_t *feature, size_t n,
                      uint32_t doc, uint32_t n_docs, const uint32_t *row)
{
    for (size_t k = 0; k < n; k++) {
        uint32_t *to = s->row + s->next[feature[k]] - n_docs;
        for (uint32_t i = 0; i < n_docs; i++)
            to[i] = row ? row[doc + i] : doc + i;
    }
}

/* Computes where each feature's entries begin. s->next: on entry the number of entries of each
 * feature; on return the index of the feature's first entry. */
static int make_begins(struct rw_chunk_scratch *s, uint32_t n_ids)
{
    uint32_t at = 0;
    s->n_features = 0;
    for (uint32_t f = 0; f < n_ids; f++)
        s->n_features += s->next[f] > 0;
    RW_TRY(RW_GROW(NULL, s->feature, s->feature_room, s->n_features));
    RW_TRY(RW_GROW(NULL, s->begin, s->begin_room, s->n_features));
    for (uint32_t f = 0, i = 0; f < n_ids; f++) {
        const uint32_t n = s->next[f];
        if (n == 0)
            continue;
        s->feature[i] = (uint16_t)f;
        s->begin[i++] = s->next[f] = at;
        at += n;
    }
    return RW_OK;
}

int rw_chunk_sort(struct rw_chunk_scratch *s, const struct rw_builder *builder, const uint32_t *row)
{
    enum { TILE = 64 }; /* documents sorted together: their lines fit into the L1 cache */
    const uint32_t n_ids = builder->n_ids;
    s->shares_rows = builder->n_runs <= 1;
    memset(s->next, 0, n_ids * sizeof(*s->next));
    rw_builder_count(builder, s->next);
    RW_TRY(make_begins(s, n_ids));
    RW_TRY(RW_GROW(NULL, s->value, s->value_room, builder->n_entries));
    RW_TRY(
        RW_GROW(NULL, s->row, s->row_room, s->shares_rows ? builder->n_docs : builder->n_entries));
    for (uint32_t i = 0; s->shares_rows && i < builder->n_docs; i++)
        s->row[i] = row ? row[i] : i;
    for (uint32_t r = 0; r < builder->n_runs; r++) {
        const struct rw_run *run = &builder->run[r];
        const uint16_t *feature = builder->entry_feature + run->feature;
        const uint32_t n_docs = run->n ? rw_builder_run_docs(builder, r) : 0;
        for (uint32_t first = 0; first < n_docs; first += TILE) {
            const uint32_t now = n_docs - first < TILE ? n_docs - first : TILE;
            sort_run(s, feature, builder->entry_value + run->value + (size_t)first * run->n, run->n,
                     now);
            if (!s->shares_rows)
                sort_rows(s, feature, run->n, run->doc + first, now, row);
        }
    }
    return RW_OK;
}

int rw_chunks_stage(struct rw_chunks *chunks, int thread, const uint32_t *feature,
                    uint32_t n_features, uint32_t n_docs)
{
    struct rw_chunk_scratch *s = &chunks->scratch[thread];
    s->shares_rows = 1;
    s->n_features = n_docs ? n_features : 0;
    RW_TRY(RW_GROW(NULL, s->feature, s->feature_room, n_features));
    RW_TRY(RW_GROW(NULL, s->begin, s->begin_room, n_features));
    RW_TRY(RW_GROW(NULL, s->value, s->value_room, (size_t)n_features * n_docs));
    RW_TRY(RW_GROW(NULL, s->row, s->row_room, n_docs));
    for (uint32_t i = 0; i < s->n_features; i++) {
        s->feature[i] = (uint16_t)feature[i];
        s->begin[i] = i * n_docs;
        s->next[feature[i]] = s->begin[i] + n_docs;
    }
    return RW_OK;
}

/* ---- held values ---- */

/* Returns the bytes per value: 1 or 2 if all values are integers that fit, otherwise 4. */
static uint8_t width_of(const float *value, uint32_t n)
{
    enum { TOGETHER = 64 };
    uint32_t most = 0;
    for (uint32_t first = 0; first < n; first += TOGETHER) {
        const uint32_t end = n - first < TOGETHER ? n : first + TOGETHER;
        uint32_t differ = 0;
        for (uint32_t k = first; k < end; k++) {
            const float above = value[k] > 0 ? value[k] : 0; /* also handles NaN */
            const uint32_t whole = (uint32_t)(int32_t)(above < 65535 ? above : 65535);
            differ |= rw_bits_of_float((float)whole) ^ rw_bits_of_float(value[k]);
            most = whole > most ? whole : most;
        }
        if (differ)
            return sizeof(float);
    }
    return most < 256 ? 1 : 2;
}

/* Plans how to store the i-th feature of the sorted entries. The caller sets the offset `at`. */
static struct rw_held plan_held(const struct rw_chunk_scratch *s, uint32_t i, uint32_t n_docs)
{
    enum { ROW_BITS = 32 };
    const float *value = s->value + s->begin[i];
    const uint32_t feature = s->feature[i], n = s->next[feature] - s->begin[i];
    uint32_t n_zeros = 0;
    for (uint32_t k = 0; k < n; k++)
        n_zeros += rw_bits_of_float(value[k]) == 0;
    struct rw_held held = {.feature = (uint16_t)feature, .n = n, .n_present = n};
    held.rest_is_zero = n_zeros >= n_docs - n;
    if (held.rest_is_zero)
        held.n = n_docs - n_zeros;
    else
        held.has_rows = (uint64_t)n * ROW_BITS < n_docs;
    /* if zeros are left out, absent values are stored, as NaN, which needs floats */
    held.width = held.rest_is_zero && n < n_docs ? sizeof(float) : width_of(value, n);
    return held;
}

/* Returns the size, in units of 4 bytes, of the indices or bits that rw_held_rows returns. */
static size_t whose_units(const struct rw_held *held, uint32_t n_docs)
{
    return held->has_rows ? held->n : ((size_t)n_docs + 31) / 32;
}

static size_t value_units(const struct rw_held *held)
{
    return ((size_t)held->n * held->width + 3) / 4;
}

const float *rw_held_values(const struct rw_chunk *chunk, const struct rw_held *held, float *room)
{
    const void *at = rw_held_rows(chunk, held) + whose_units(held, chunk->n_sampled);
    const uint8_t *bytes = at;
    const uint16_t *words = at;
    if (held->width == sizeof(float))
        return at;
    for (uint32_t k = 0; held->width == 1 && k < held->n; k++)
        room[k] = (float)bytes[k];
    for (uint32_t k = 0; held->width == 2 && k < held->n; k++)
        room[k] = (float)words[k];
    return room;
}

/* Writes n values with `width` bytes each. */
static void write_values(const float *value, uint32_t n, uint32_t width, void *to)
{
    uint8_t *bytes = to;
    uint16_t *words = to;
    if (width == sizeof(float))
        memcpy(to, value, n * sizeof(*value));
    for (uint32_t k = 0; width == 1 && k < n; k++)
        bytes[k] = (uint8_t)value[k];
    for (uint32_t k = 0; width == 2 && k < n; k++)
        words[k] = (uint16_t)value[k];
}

/* Stores the i-th feature in the chunk's block. */
static void hold_column(enum rw_isa isa, const struct rw_chunk_scratch *s, uint32_t i,
                        const struct rw_chunk *chunk, const struct rw_held *held)
{
    const float absent = rw_float_of_bits(RW_ABSENT_BITS), *from = s->value + s->begin[i];
    const uint32_t *from_row = rw_chunk_rows(s, i), n = held->n_present, n_docs = chunk->n_sampled;
    uint32_t *whose = rw_held_rows(chunk, held), *to = whose + whose_units(held, n_docs);
    if (held->has_rows) {
        memcpy(whose, from_row, n * sizeof(*from_row));
        write_values(from, n, held->width, to);
        return;
    }
    if (n < n_docs) {
        for (uint32_t k = 0; k < n_docs; k++)
            memcpy(&s->line[k], &absent, sizeof(absent));
        for (uint32_t k = 0; k < n; k++)
            memcpy(&s->line[from_row[k]], &from[k], sizeof(*from));
        from = s->line;
    }
    const uint32_t rest = held->rest_is_zero ? 0 : RW_ABSENT_BITS;
    rw_chunk_pack(isa, from, n_docs, rest, (uint8_t *)whose, s->packed);
    write_values(s->packed, held->n, held->width, to);
}

int rw_chunks_hold(struct rw_chunks *chunks, uint32_t p, int thread,
                   const struct rw_builder *builder)
{
    struct rw_chunk_scratch *s = &chunks->scratch[thread];
    struct rw_chunk *chunk = &chunks->chunk[p];
    if (builder)
        RW_TRY(rw_chunk_sort(s, builder, NULL));
    RW_TRY(RW_GROW(NULL, s->held, s->held_room, s->n_features));
    const size_t columns = s->n_features * sizeof(*chunk->held);
    size_t units = columns / 4;
    for (uint32_t i = 0; i < s->n_features; i++) {
        struct rw_held *held = &s->held[i];
        *held = plan_held(s, i, chunk->n_sampled);
        held->at = (uint32_t)units;
        units += whose_units(held, chunk->n_sampled) + value_units(held);
    }
    RW_TRY(rw_chunk_make_room(chunk, (units + RW_PACK_PAD) * 4));
    chunk->n_held = s->n_features;
    chunk->held = chunk->block;
    if (columns)
        memcpy(chunk->held, s->held, columns);
    for (uint32_t i = 0; i < s->n_features; i++)
        hold_column(chunks->isa, s, i, chunk, &chunk->held[i]);
    return RW_OK;
}

/* ---- boundaries ---- */

static uint32_t held_zeros(const struct rw_chunk *chunk, const struct rw_held *held)
{
    return held->rest_is_zero ? chunk->n_sampled - held->n : 0;
}

/* One feature of one chunk: its struct rw_held is chunks->chunk[chunk].held[held]. */
struct held_at {
    uint32_t chunk, held;
};
/* The values of the sampled documents, feature by feature. They are either this worker's, with an
 * element of `at` for each chunk that has the feature, or those of all workers for one group of
 * features (HELD_GROUPS). In this case, `other` has an element for each worker that has the
 * feature. */
struct all_held {
    struct rw_chunks *chunks;
    struct held_at *at; /* NULL if `other` is used; owned */
    uint32_t *end;      /* [RW_FEATURE_IDS] end of each feature's elements in `at` or `other`;
                           owned */
    struct rw_cut_part *other; /* NULL if `at` is used; owned */
    void *received;            /* the bytes with the values of `other`; owned */
};
static uint32_t all_held_begin(const struct all_held *all, uint32_t f)
{
    return f ? all->end[f - 1] : 0;
}

static void all_held_release(struct all_held *all)
{
    rw_mem_free(all->at);
    rw_mem_free(all->end);
    rw_mem_free(all->other);
    rw_mem_free(all->received);
}

/* Replaces the number of each feature's elements by the index of its first one. Returns the total.
 */
static uint32_t begins_of_counts(uint32_t *count)
{
    uint32_t n = 0;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t of_feature = count[f];
        count[f] = n;
        n += of_feature;
    }
    return n;
}

static int gather_held(struct all_held *all)
{
    const struct rw_chunks *chunks = all->chunks;
    RW_TRY(RW_NEW(chunks->ctx, all->end, RW_FEATURE_IDS));
    for (uint32_t p = 0; p < chunks->n_chunks; p++) {
        const struct rw_chunk *chunk = &chunks->chunk[p];
        for (uint32_t c = 0; c < chunk->n_held; c++) {
            const struct rw_held *held = &chunk->held[c];
            struct rw_chunk_feature *feature = &chunks->feature[held->feature];
            all->end[held->feature]++;
            feature->n_present += held->n_present;
            feature->n_other += chunks->rule.absent_missing ? held->n_present : held->n;
        }
    }
    RW_TRY(RW_NEW_RAW(chunks->ctx, all->at, begins_of_counts(all->end)));
    for (uint32_t p = 0; p < chunks->n_chunks; p++) {
        const struct rw_chunk *chunk = &chunks->chunk[p];
        for (uint32_t c = 0; c < chunk->n_held; c++)
            all->at[all->end[chunk->held[c].feature]++] = (struct held_at){p, c};
    }
    return RW_OK;
}

/* Collects a feature's values in s->part, with one part per element begin .. begin + n - 1 of
 * `all`. `room` receives the values that are not stored as floats. */
static int gather_parts(const struct all_held *all, uint32_t begin, uint32_t n, float *room,
                        struct rw_chunk_scratch *s)
{
    RW_TRY(RW_GROW(NULL, s->part, s->part_room, n));
    for (uint32_t k = 0; k < n; k++) {
        if (all->other) {
            s->part[k] = all->other[begin + k];
            continue;
        }
        const struct held_at *at = &all->at[begin + k];
        const struct rw_chunk *chunk = &all->chunks->chunk[at->chunk];
        const struct rw_held *held = &chunk->held[at->held];
        float *value = (float *)rw_held_values(chunk, held, room);
        s->part[k] =
            (struct rw_cut_part){.column = {.feature = held->feature, .n = held->n, .value = value},
                                 .n_zeros = held_zeros(chunk, held)};
        room += value == room ? held->n : 0;
    }
    return RW_OK;
}

/* Finds a feature's boundaries, if some documents have it. */
static int find_feature(const struct all_held *all, uint32_t f, struct rw_chunk_scratch *s,
                        struct rw_rank_scratch *rank)
{
    const struct rw_chunks *chunks = all->chunks;
    const struct rw_cut_sample sample = {.n = chunks->sample->n_all};
    struct rw_chunk_feature *feature = &chunks->feature[f];
    const uint32_t begin = all_held_begin(all, f), n = all->end[f] - begin;
    struct rw_cut_intervals intervals;
    if (n == 0)
        return RW_OK;
    RW_TRY(gather_parts(all, begin, n, (float *)rank->picked, s));
    rw_cut_bounds(chunks->isa, s->part, n, &sample, &chunks->rule, rank, &intervals);
    RW_TRY(RW_NEW_RAW(NULL, feature->bound, intervals.n_bounds));
    feature->n_bounds = intervals.n_bounds;
    memcpy(feature->bound, intervals.bound, feature->n_bounds * sizeof(*feature->bound));
    return RW_OK;
}

static int find_some(void *user, struct rw_share *share)
{
    const struct all_held *all = user;
    struct rw_rank_scratch rank;
    int status = rw_rank_scratch_init(NULL, &rank, all->chunks->sample);
    for (uint64_t f, end; status >= 0 && rw_share_next(share, &f, &end);)
        status = find_feature(all, (uint32_t)f, &all->chunks->scratch[share->thread], &rank);
    rw_arena_free(&rank.arena);
    return status;
}

/* Plans each feature's storage: a full column if at least one in RW_SPARSE_SHARE of this worker's
 * sampled documents may have a value that differs from an absent one's (n_other), otherwise
 * lists. */
static int plan_features(struct rw_chunks *chunks)
{
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        struct rw_chunk_feature *feature = &chunks->feature[f];
        const uint32_t n = feature->n_bounds;
        feature->absent =
            (uint16_t)(chunks->rule.absent_missing ? n + 1 : rw_zero_at(feature->bound, n));
        feature->width = (uint8_t)rw_bytes_of_codes(n + 2);
        feature->most_at = chunks->n_most;
        chunks->n_most += n + 1;
        if (!feature->n_other || feature->n_other < chunks->sample->n / RW_SPARSE_SHARE)
            continue;
        chunks->full[chunks->n_full++] = f;
        RW_TRY(rw_mem_new_raw(chunks->ctx, &feature->interval, chunks->n_docs, feature->width));
    }
    return RW_OK;
}

static int make_scratch(struct rw_chunks *chunks)
{
    for (int t = 0; t < chunks->n_threads; t++) {
        struct rw_chunk_scratch *s = &chunks->scratch[t];
        RW_TRY(RW_NEW_RAW(chunks->ctx, s->search, 1));
        RW_TRY(RW_NEW_RAW(chunks->ctx, s->all_values, chunks->most_docs));
        RW_TRY(RW_NEW_RAW(chunks->ctx, s->new_interval, chunks->most_docs));
        RW_TRY(RW_NEW_RAW(chunks->ctx, s->held_interval, chunks->most_docs));
        RW_TRY(RW_NEW_RAW(chunks->ctx, s->held_row, chunks->most_docs));
        RW_TRY(RW_NEW_RAW(chunks->ctx, s->most, chunks->n_most));
        for (uint64_t k = 0; k < chunks->n_most; k++)
            s->most[k] = INT32_MIN;
    }
    return RW_OK;
}

/* Finds the boundaries of the features in `all`, which has the values of the whole sample. */
static int find_bounds(struct all_held *all)
{
    struct rw_chunks *chunks = all->chunks;
    struct rw_ctx *ctx = chunks->ctx;
    /* each thread needs room for one feature's whole sample, while all held values are in memory */
    enum { MOST_THREADS = 4 };
    const int n_threads = chunks->n_threads < MOST_THREADS ? chunks->n_threads : MOST_THREADS;
    const int status = rw_parallel_long(ctx, n_threads, RW_FEATURE_IDS, 1, find_some, all);
    return status < 0 ? rw_fail_memory(ctx, status, "out of memory while finding bin boundaries")
                      : status;
}

/* ---- exchange among workers: worker f mod n_workers processes feature f ---- */

/* Number of groups of features; feature f is in group f / n_workers mod HELD_GROUPS. */
enum { HELD_GROUPS = 16 };

/* The header of a feature's held values in a message; the values follow. */
struct held_header {
    uint32_t feature, n_values, n_zeros;
};

/* Writes the held values of the features in `group` that worker r processes, each feature after its
 * header, unless `to` is NULL. Returns the number of bytes. */
static size_t write_held(const struct all_held *own, uint32_t r, uint32_t n_workers, uint32_t group,
                         char *to)
{
    size_t bytes = 0;
    for (uint32_t f = r + group * n_workers; f < RW_FEATURE_IDS; f += n_workers * HELD_GROUPS) {
        struct held_header header = {.feature = f};
        const uint32_t first = all_held_begin(own, f), end = own->end[f];
        for (uint32_t k = first; k < end; k++) {
            const struct rw_chunk *chunk = &own->chunks->chunk[own->at[k].chunk];
            header.n_values += chunk->held[own->at[k].held].n;
            header.n_zeros += held_zeros(chunk, &chunk->held[own->at[k].held]);
        }
        if (first == end)
            continue;
        if (to)
            memcpy(to + bytes, &header, sizeof(header));
        bytes += sizeof(header);
        for (uint32_t k = first; k < end; k++) {
            const struct rw_chunk *chunk = &own->chunks->chunk[own->at[k].chunk];
            const struct rw_held *held = &chunk->held[own->at[k].held];
            float *values = to ? (float *)(void *)(to + bytes) : NULL;
            const float *from = to ? rw_held_values(chunk, held, values) : NULL;
            if (from != values)
                memcpy(values, from, held->n * sizeof(*values));
            bytes += held->n * sizeof(*values);
        }
    }
    return bytes;
}

static int pack_held(const struct all_held *own, uint32_t group, void **send, size_t **send_begin)
{
    struct rw_ctx *ctx = own->chunks->ctx;
    const uint32_t n_workers = (uint32_t)rw_n_workers(ctx);
    RW_TRY(RW_NEW(ctx, *send_begin, (size_t)n_workers + 1));
    size_t *begin = *send_begin;
    for (uint32_t r = 0; r < n_workers; r++)
        begin[r + 1] = begin[r] + write_held(own, r, n_workers, group, NULL);
    RW_TRY(rw_mem_new_raw(ctx, send, begin[n_workers], 1));
    for (uint32_t r = 0; r < n_workers; r++)
        write_held(own, r, n_workers, group, (char *)*send + begin[r]);
    return RW_OK;
}

/* Checks that the workers together hold no more values of a feature, with zeros, than they have
 * sampled documents, since memory is allocated for that many. */
static int check_held(const struct all_held *all)
{
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        uint64_t n = 0;
        for (uint32_t k = all_held_begin(all, f); k < all->end[f]; k++)
            n += (uint64_t)all->other[k].column.n + all->other[k].n_zeros;
        if (n > all->chunks->sample->n_all)
            return rw_comm_nonsense(all->chunks->ctx, "values");
    }
    return RW_OK;
}

/* Fills all->other and all->end from the received bytes, which are ordered by worker, then feature.
 * Both stay NULL if nothing was received. */
static int list_received(struct all_held *all, size_t n_bytes)
{
    struct rw_ctx *ctx = all->chunks->ctx;
    if (n_bytes == 0)
        return RW_OK;
    char *const end = (char *)all->received + n_bytes;
    RW_TRY(RW_NEW(ctx, all->end, RW_FEATURE_IDS));
    for (int writes = 0; writes <= 1; writes++) {
        for (char *at = all->received; at < end;) {
            struct held_header header = {.feature = UINT32_MAX};
            if ((size_t)(end - at) >= sizeof(header))
                memcpy(&header, at, sizeof(header));
            if (header.feature > RW_MAX_FEATURE ||
                header.n_values > ((size_t)(end - at) - sizeof(header)) / sizeof(float) ||
                header.n_zeros > RW_MAX_DOCS)
                return rw_comm_nonsense(ctx, "values");
            const uint32_t k = all->end[header.feature]++;
            at += sizeof(header);
            if (writes)
                all->other[k] = (struct rw_cut_part){.column = {.feature = header.feature,
                                                                .n = header.n_values,
                                                                .value = (float *)(void *)at},
                                                     .n_zeros = header.n_zeros};
            at += header.n_values * sizeof(float);
        }
        if (!writes)
            RW_TRY(RW_NEW_RAW(ctx, all->other, begins_of_counts(all->end)));
    }
    return check_held(all);
}

/* Sends this worker's held values, and collects all workers' values of the features in `group`
 * whose boundaries this worker finds. There are HELD_GROUPS groups, since received values need
 * memory in addition to held ones. *all must be zeroed, and the caller releases it. all->end stays
 * NULL if nothing was received. */
static int exchange_held(const struct all_held *own, uint32_t group, struct all_held *all)
{
    struct rw_ctx *ctx = all->chunks->ctx;
    RW_FREED void *send = NULL;
    RW_FREED size_t *send_begin = NULL, *begin = NULL;
    RW_TRY(rw_comm_agree(ctx, pack_held(own, group, &send, &send_begin)));
    RW_TRY(rw_comm_exchange(ctx, send, send_begin, &all->received, &begin));
    return rw_comm_agree(ctx, list_received(all, begin[rw_n_workers(ctx)]));
}

static int ascend(const uint32_t *bound, uint32_t n)
{
    for (uint32_t k = 1; k < n; k++)
        if (bound[k - 1] >= bound[k])
            return 0;
    return 1;
}

/* Sets the boundaries of every feature. n: [RW_FEATURE_IDS] numbers of boundaries; bound: all
 * boundaries, feature by feature. */
static int take_bounds(struct rw_chunks *chunks, const uint32_t *n, const uint32_t *bound)
{
    for (uint32_t f = 0; f < RW_FEATURE_IDS; bound += n[f++]) {
        struct rw_chunk_feature *feature = &chunks->feature[f];
        if (n[f] == 0)
            continue;
        if (!ascend(bound, n[f]))
            return rw_comm_nonsense(chunks->ctx, "boundaries");
        rw_mem_free(feature->bound);
        RW_TRY(RW_NEW_RAW(chunks->ctx, feature->bound, n[f]));
        memcpy(feature->bound, bound, n[f] * sizeof(*bound));
        feature->n_bounds = n[f];
    }
    return RW_OK;
}

/* Gives each feature's boundaries to all workers. One worker has found them, and the others send
 * zeros, so the maximum over all workers collects them. */
static int share_bounds(struct rw_chunks *chunks)
{
    struct rw_ctx *ctx = chunks->ctx;
    RW_FREED uint32_t *n = NULL, *bound = NULL;
    size_t n_all = 0, at = 0;
    int fits = 1;
    RW_TRY(rw_comm_agree(ctx, RW_NEW_RAW(ctx, n, RW_FEATURE_IDS)));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        n[f] = chunks->feature[f].n_bounds;
    RW_TRY(rw_comm_all_reduce(ctx, n, RW_FEATURE_IDS, RW_COMM_U32, RW_COMM_MAX));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        fits &= n[f] <= RW_MAX_BOUNDS && n[f] >= chunks->feature[f].n_bounds;
        n_all += n[f];
    }
    RW_TRY(
        rw_comm_agree(ctx, fits ? RW_NEW(ctx, bound, n_all) : rw_comm_nonsense(ctx, "boundaries")));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; at += n[f++])
        if (chunks->feature[f].n_bounds)
            memcpy(bound + at, chunks->feature[f].bound,
                   chunks->feature[f].n_bounds * sizeof(*bound));
    RW_TRY(rw_comm_all_reduce(ctx, bound, n_all, RW_COMM_U32, RW_COMM_MAX));
    return rw_comm_agree(ctx, take_bounds(chunks, n, bound));
}

/* Finds all boundaries. With several workers, each worker finds those of some features, from the
 * values that all workers hold. */
static int find_all_bounds(struct all_held *own)
{
    struct rw_ctx *ctx = own->chunks->ctx;
    if (rw_n_workers(ctx) == 1)
        return find_bounds(own);
    for (uint32_t group = 0; group < HELD_GROUPS; group++) {
        RW_RELEASED(all_held_release) struct all_held all = {.chunks = own->chunks};
        RW_TRY(exchange_held(own, group, &all));
        RW_TRY(rw_comm_agree(ctx, all.end ? find_bounds(&all) : RW_OK));
    }
    return share_bounds(own->chunks);
}

int rw_chunks_find_bounds(struct rw_chunks *chunks)
{
    struct all_held own = {.chunks = chunks};
    int status = rw_comm_agree(chunks->ctx, gather_held(&own));
    if (status >= 0)
        status = find_all_bounds(&own);
    if (status >= 0)
        status = plan_features(chunks);
    if (status >= 0)
        status = make_scratch(chunks);
    all_held_release(&own);
    return rw_comm_agree(chunks->ctx, status);
}

/* ---- sharing statistics ---- */

int rw_chunks_share_found(struct rw_chunks *chunks)
{
    struct rw_ctx *ctx = chunks->ctx;
    int32_t *most = chunks->scratch[0].most;
    RW_FREED uint32_t *number = NULL;
    if (rw_n_workers(ctx) == 1)
        return RW_OK;
    const size_t n = chunks->n_most > RW_FEATURE_IDS ? chunks->n_most : RW_FEATURE_IDS;
    RW_TRY(rw_comm_agree(ctx, RW_NEW_RAW(ctx, number, n)));
    for (uint64_t k = 0; k < chunks->n_most; k++)
        number[k] = rw_key_of_ordered(most[k]);
    RW_TRY(rw_comm_all_reduce(ctx, number, chunks->n_most, RW_COMM_U32, RW_COMM_MAX));
    for (uint64_t k = 0; k < chunks->n_most; k++)
        most[k] = rw_ordered_of_key(number[k]);
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        number[f] = chunks->feature[f].n_present;
    RW_TRY(rw_comm_all_reduce(ctx, number, RW_FEATURE_IDS, RW_COMM_U32, RW_COMM_SUM));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        chunks->feature[f].n_present = number[f];
    return RW_OK;
}
