/* Rows of codes for the engine for processors. Narrow features that have few codes together (a
 * count, its ratio, whether it is all) share a lane: one addition serves all of them, and their
 * cells are taken from the lane's. Lanes that have their frequent codes in the same documents stand
 * together, so that a pass can leave these out. Neither can change a sum. */
#include <omp.h>

#include "base/mem.h"
#include "tree/engine_cpu.h"

enum {
    TRIES = 32,     /* features that are tried with a lane */
    TOGETHER = 256, /* codes of a shared lane, at most; and documents for each of them, at least */
    SAMPLE = 4096   /* documents that a choice is made by */
};

size_t rw_cpu_row_bytes(uint32_t n, int bytes)
{
    enum { LINE = 64 };
    const size_t all = ((size_t)n * (size_t)bytes + 7) / 8 * 8;
    const size_t lines = (all + LINE - 1) / LINE * LINE;
    return lines - all <= lines / 8 ? lines : all;
}

/* ---- features that share a lane ---- */

/* A lane being made. */
struct bundle {
    const struct rw_bins *bins;
    uint8_t *code, *next; /* [n_docs] the lane's codes; scratch */
    uint32_t n_codes, most;
    uint8_t code_of[RW_CPU_BUNDLE][256];
};

/* Codes of the lane with one more feature, in `next`, for every step-th document. Returns their
 * number, or 0: too many. */
static uint32_t join(struct bundle *b, uint32_t f, uint32_t step, uint8_t pair[256][2])
{
    const struct rw_codes *codes = &b->bins->codes[f];
    const uint8_t *code = codes->code;
    uint16_t place[256][RW_CPU_SHARED];
    uint32_t n = 0;
    memset(place, 0xff, sizeof(place));
    for (uint32_t doc = 0; doc < b->bins->n_docs; doc += step) {
        uint16_t *at = &place[b->code[doc]][code[doc]];
        if (*at == UINT16_MAX) {
            if (n == b->most)
                return 0;
            pair[n][0] = b->code[doc];
            pair[n][1] = code[doc];
            *at = (uint16_t)n++;
        }
        b->next[doc] = (uint8_t)*at;
    }
    return n;
}

static int may_share(const struct rw_bins *bins, uint32_t f)
{
    return !bins->codes[f].row && rw_cuts_n_codes(bins->cuts, f) <= RW_CPU_SHARED;
}

/* Takes the feature into the lane if they have few codes together. */
static void try_feature(struct bundle *b, struct rw_cpu_lane *lane, uint32_t f)
{
    uint8_t pair[256][2], code_of[RW_CPU_BUNDLE][256];
    const uint32_t step = b->bins->n_docs / SAMPLE + 1;
    if (step > 1 && !join(b, f, step, pair))
        return;
    const uint32_t n = join(b, f, 1, pair);
    if (n == 0)
        return;
    for (uint32_t code = 0; code < n; code++) {
        for (uint32_t k = 0; k < lane->n; k++)
            code_of[k][code] = b->code_of[k][pair[code][0]];
        code_of[lane->n][code] = pair[code][1];
    }
    memcpy(b->code_of, code_of, sizeof(code_of));
    lane->feature[lane->n++] = f;
    lane->n_codes = n;
    uint8_t *swap = b->code;
    b->code = b->next;
    b->next = swap;
}

/* Makes lanes of the narrow features; taken: [n_features], written. */
static int bundle_features(struct rw_cpu *cpu, struct rw_cpu_group *group, uint8_t *taken)
{
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    const uint32_t n_features = bins->cuts->n_features;
    int status = RW_OK;
    struct bundle *b;
    uint8_t *used = group->bundled;
    RW_TRY(RW_NEW(cpu->ref.host.base.ctx, b, 1));
    b->bins = bins;
    b->most = bins->n_docs / TOGETHER < TOGETHER ? bins->n_docs / TOGETHER : TOGETHER;
    RW_TRY_OUT(RW_NEW_RAW(cpu->ref.host.base.ctx, b->code, bins->n_docs));
    RW_TRY_OUT(RW_NEW_RAW(cpu->ref.host.base.ctx, b->next, bins->n_docs));
    for (uint32_t f = 0; f < n_features; f++) {
        if (taken[f] || !may_share(bins, f) || rw_cuts_n_codes(bins->cuts, f) > b->most)
            continue;
        struct rw_cpu_lane *lane = &group->lane[group->n];
        *lane =
            (struct rw_cpu_lane){.n = 1, .feature = {f}, .n_codes = rw_cuts_n_codes(bins->cuts, f)};
        if (!b->code)
            RW_TRY_OUT(RW_NEW_RAW(cpu->ref.host.base.ctx, b->code, bins->n_docs));
        memcpy(b->code, bins->codes[f].code, bins->n_docs);
        for (uint32_t code = 0; code < lane->n_codes; code++)
            b->code_of[0][code] = (uint8_t)code;
        int tries = 0;
        for (uint32_t other = f + 1; other < n_features && lane->n < RW_CPU_BUNDLE && tries < TRIES;
             other++) {
            if (taken[other] || !may_share(bins, other))
                continue;
            tries++;
            try_feature(b, lane, other);
        }
        if (lane->n == 1)
            continue;
        lane->code_of = used;
        lane->made = b->code;
        b->code = NULL;
        for (uint32_t k = 0; k < lane->n; k++) {
            taken[lane->feature[k]] = 1;
            memcpy(used, b->code_of[k], lane->n_codes);
            used += lane->n_codes;
        }
        group->n++;
    }
out:
    rw_mem_free(b->code);
    rw_mem_free(b->next);
    rw_mem_free(b);
    return status;
}

/* ---- the order of lanes ---- */

static uint32_t lane_code(const struct rw_bins *bins, const struct rw_cpu_lane *lane, uint32_t doc)
{
    return lane->made ? lane->made[doc] : rw_bins_code(bins, lane->feature[0], doc);
}

/* Eighths of all documents that are worth being left out of a pass, by path: looking for them takes
 * time, too. */
static const uint32_t worth[] = {5, 5, 1};

enum { BITS = SAMPLE / 64 };

/* The lane's frequent code, and which documents of the sample have it. Returns how many. */
static uint32_t find_frequent(const struct rw_bins *bins, struct rw_cpu_lane *lane, uint64_t *bits)
{
    const uint64_t n_docs = bins->n_docs;
    const uint32_t n = n_docs < SAMPLE ? bins->n_docs : SAMPLE;
    uint32_t count[1026] = {0};
    uint16_t code[SAMPLE];
    for (uint32_t i = 0; i < n; i++) {
        code[i] = (uint16_t)lane_code(bins, lane, (uint32_t)(n_docs * i / n));
        count[code[i]]++;
    }
    for (uint32_t c = 0; c < lane->n_codes; c++) {
        if (count[c] > count[lane->frequent])
            lane->frequent = c;
    }
    memset(bits, 0, BITS * sizeof(*bits));
    for (uint32_t i = 0; i < n; i++)
        bits[i / 64] |= (uint64_t)(code[i] == lane->frequent) << (i % 64);
    return count[lane->frequent];
}

static uint32_t n_common(const uint64_t *a, const uint64_t *b)
{
    uint32_t n = 0;
    for (int i = 0; i < BITS; i++)
        n += (uint32_t)__builtin_popcountll(a[i] & b[i]);
    return n;
}

/* A pass after the other: the lane whose frequent code is the most frequent, then those that share
 * the most documents with all before. What is left, that has no such code, keeps its order. */
static void order_lanes(const struct rw_bins *bins, struct rw_cpu_group *group, uint64_t *bits,
                        uint32_t *share)
{
    enum { AMONG = 512 };
    const uint32_t sample = bins->n_docs < SAMPLE ? bins->n_docs : SAMPLE;
    for (uint32_t i = 0; i < group->n; i++)
        share[i] = find_frequent(bins, &group->lane[i], bits + (size_t)i * BITS);
    for (uint32_t at = 0; at < group->n; at++) {
        uint64_t all[BITS];
        const uint32_t of_pass = at % RW_CPU_LANES;
        uint32_t best = at, most = 0;
        if (of_pass == 0)
            memset(all, 0xff, sizeof(all));
        for (uint32_t i = at; i < group->n && i < at + AMONG; i++) {
            const uint32_t n = of_pass ? n_common(all, bits + (size_t)i * BITS) : share[i];
            if (n > most) {
                most = n;
                best = i;
            }
        }
        if (of_pass == 0 && (uint64_t)most * 8 < (uint64_t)sample)
            return;
        uint64_t *one = bits + (size_t)at * BITS, *other = bits + (size_t)best * BITS;
        const struct rw_cpu_lane lane = group->lane[at];
        group->lane[at] = group->lane[best];
        group->lane[best] = lane;
        const uint32_t swap = share[at];
        share[at] = share[best];
        share[best] = swap;
        for (int i = 0; i < BITS; i++) {
            const uint64_t word = one[i];
            one[i] = other[i];
            other[i] = word;
            all[i] &= one[i];
        }
    }
}

static int find_order(struct rw_cpu *cpu, struct rw_cpu_group *group)
{
    struct rw_ctx *ctx = cpu->ref.host.base.ctx;
    int status = RW_OK;
    uint64_t *bits = NULL;
    uint32_t *share = NULL;
    RW_TRY_OUT(RW_NEW_RAW(ctx, bits, (size_t)group->n * BITS));
    RW_TRY_OUT(RW_NEW_RAW(ctx, share, group->n));
    order_lanes(cpu->ref.host.set[0].bins, group, bits, share);
out:
    rw_mem_free(bits);
    rw_mem_free(share);
    return status;
}

/* ---- rows ---- */

/* The codes of documents [first, last) of a lane. */
static void put_lane(const struct rw_bins *bins, const struct rw_cpu_lane *lane, size_t bytes,
                     uint32_t first, uint32_t last, uint8_t *to, size_t stride)
{
    const struct rw_codes *codes = &bins->codes[lane->feature[0]];
    uint32_t entry = 0;
    for (uint32_t end = codes->row ? codes->n : 0; entry < end;) { /* the first at `first` or on */
        const uint32_t middle = (entry + end) / 2;
        if (codes->row[middle] < first)
            entry = middle + 1;
        else
            end = middle;
    }
    for (uint32_t doc = first; doc < last; doc++, to += stride) {
        uint32_t code = codes->rest;
        if (lane->made)
            code = lane->made[doc];
        else if (!codes->row)
            code = rw_codes_entry(codes, bytes, doc);
        else if (entry < codes->n && codes->row[entry] == doc)
            code = rw_codes_entry(codes, bytes, entry++);
        const uint16_t wide = (uint16_t)code;
        if (bytes == 1)
            *to = (uint8_t)code;
        else
            memcpy(to, &wide, sizeof(wide));
    }
}

static void put_rows(const struct rw_bins *bins, const struct rw_cpu_group *group, uint32_t first,
                     uint32_t last)
{
    const size_t bytes = (size_t)group->bytes;
    for (uint32_t c = 0; c < group->n; c++)
        put_lane(bins, &group->lane[c], bytes, first, last,
                 group->row + first * group->stride + c * bytes, group->stride);
}

static int is_lane(const struct rw_cpu *cpu, uint32_t f)
{
    return !cpu->sparse.n || !cpu->ref.host.set[0].bins->codes[f].row;
}

static int load_group(struct rw_cpu *cpu, struct rw_cpu_group *group, int bytes)
{
    struct rw_ctx *ctx = cpu->ref.host.base.ctx;
    const struct rw_bins *bins = cpu->ref.host.set[0].bins;
    const uint32_t n_features = bins->cuts->n_features;
    int status = RW_OK;
    uint32_t n_dense = 0;
    uint8_t *taken = NULL;
    for (uint32_t f = 0; f < n_features; f++)
        n_dense += is_lane(cpu, f) && rw_cuts_code_bytes(bins->cuts, f) == (size_t)bytes;
    group->bytes = bytes;
    RW_TRY_OUT(RW_CPU_NEW(cpu, group->lane, n_dense));
    RW_TRY_OUT(RW_CPU_NEW(cpu, group->active, n_dense));
    RW_TRY_OUT(RW_CPU_NEW_RAW(cpu, group->bundled, bytes == 1 ? (size_t)n_dense * 256 : 0));
    RW_TRY_OUT(
        rw_cpu_new(cpu, (void **)&group->row, bins->n_docs, rw_cpu_row_bytes(n_dense, bytes), 1));
    RW_TRY_OUT(RW_NEW(ctx, taken, n_features));
    if (bytes == 1)
        RW_TRY_OUT(bundle_features(cpu, group, taken));
    for (uint32_t f = 0; f < n_features; f++) {
        if (!taken[f] && is_lane(cpu, f) && rw_cuts_code_bytes(bins->cuts, f) == (size_t)bytes)
            group->lane[group->n++] = (struct rw_cpu_lane){
                .n = 1, .feature = {f}, .n_codes = rw_cuts_n_codes(bins->cuts, f)};
    }
    if (bytes == 1)
        RW_TRY_OUT(find_order(cpu, group));
    group->stride = rw_cpu_row_bytes(group->n, bytes);
    rw_cpu_large_pages(group->row, group->stride * bins->n_docs);
    /* a block of documents at a time, so that the rows written stay in the cache */
    enum { BLOCK = 256 };
#pragma omp parallel for num_threads(ctx->n_threads) schedule(static)
    for (uint32_t block = 0; block < (bins->n_docs + BLOCK - 1) / BLOCK; block++) {
        const uint32_t first = block * BLOCK;
        put_rows(bins, group, first, bins->n_docs - first < BLOCK ? bins->n_docs : first + BLOCK);
    }
out:
    for (uint32_t c = 0; c < group->n; c++) {
        rw_mem_free(group->lane[c].made);
        group->lane[c].made = NULL;
    }
    rw_mem_free(taken);
    return status;
}

int rw_cpu_load_lanes(struct rw_cpu *cpu)
{
    RW_TRY(load_group(cpu, &cpu->group[0], 1));
    RW_TRY(load_group(cpu, &cpu->group[1], 2));
    return RW_CPU_NEW(cpu, cpu->pass, rw_cpu_most_passes(cpu->ref.host.set[0].bins->cuts));
}

/* ---- passes ---- */

static void set_pass(const struct rw_cpu *cpu, struct rw_cpu_pass *pass)
{
    const struct rw_cpu_group *group = pass->group;
    const uint64_t n_docs = cpu->ref.host.base.n_docs[0];
    const uint32_t n = n_docs < SAMPLE ? (uint32_t)n_docs : SAMPLE;
    uint32_t n_frequent = 0;
    pass->frequent = 0;
    pass->skips = 0;
    for (uint32_t c = 0; c < pass->n; c++)
        pass->frequent |= (uint64_t)group->lane[group->active[pass->first + c]].frequent << (8 * c);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = group->row + n_docs * i / n * group->stride;
        uint32_t c = 0;
        while (c < pass->n &&
               row[group->active[pass->first + c]] == (uint8_t)(pass->frequent >> (8 * c)))
            c++;
        n_frequent += c == pass->n;
    }
    pass->skips = (uint64_t)n_frequent * 8 >= (uint64_t)n * worth[cpu->ref.host.isa];
}

void rw_cpu_list_passes(struct rw_cpu *cpu)
{
    int is_new = cpu->n_passes == 0;
    for (int g = 0; g < 2; g++) {
        struct rw_cpu_group *group = &cpu->group[g];
        const uint32_t n_before = group->n_active;
        group->n_active = 0;
        for (uint32_t c = 0; c < group->n; c++) {
            int is_sampled = 0;
            for (uint32_t k = 0; k < group->lane[c].n; k++)
                is_sampled |= cpu->ref.host.feature_sampled[group->lane[c].feature[k]];
            if (is_sampled)
                group->active[group->n_active++] = c;
        }
        is_new |= group->n_active != group->n || n_before != group->n;
    }
    if (!is_new) /* all lanes, as before */
        return;
    cpu->n_passes = 0;
    for (int g = 0; g < 2; g++) {
        const struct rw_cpu_group *group = &cpu->group[g];
        for (uint32_t first = 0; first < group->n_active; first += RW_CPU_LANES) {
            struct rw_cpu_pass *pass = &cpu->pass[cpu->n_passes++];
            const uint32_t left = group->n_active - first;
            *pass = (struct rw_cpu_pass){.group = group,
                                         .first = first,
                                         .n = left < RW_CPU_LANES ? left : RW_CPU_LANES,
                                         .step = g == 0 ? RW_CPU_NARROW : RW_CPU_WIDE};
            if (g == 0)
                set_pass(cpu, pass);
        }
    }
}
