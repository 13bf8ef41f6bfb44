/* Makes rows of codes for the engine for processors (engine_cpu.h). Features of at most
 * RW_CPU_SHARED codes form a shared bundle if they have few codes together; an example is a count,
 * its ratio, and whether it is complete. One addition serves all features of a bundle, and their
 * cells are derived from the bundle's. Any other feature is a bundle by itself. Bundles with the
 * frequent codes in the same documents are adjacent, so that a pass can leave those documents out.
 * Neither step changes a sum. The last part lists the passes of a tree, and packs the rows of its
 * sampled features. */
#include "tree/cpu/engine_cpu.h"

#if RW_HAS_X86
#include <immintrin.h>
#endif

enum {
    TRIES = 32, /* most features that are tried with each bundle */
    /* Both the most codes of a shared bundle and the fewest documents of the data per such code. */
    TOGETHER = 256,
    SAMPLE = 4096 /* documents from which frequent codes are counted (not a tree's sample) */
};

/* Returns the bytes of a row of n bundles of `bytes` each: a multiple of 8, or whole cache lines if
 * at most an eighth of them is then unused. */
static size_t row_bytes(uint32_t n, int bytes)
{
    enum { LINE = 64 };
    const size_t all = ((size_t)n * (size_t)bytes + 7) / 8 * 8;
    const size_t lines = (all + LINE - 1) / LINE * LINE;
    return lines - all <= lines / 8 ? lines : all;
}

/* ---- features that share a bundle ---- */

/* A bundle being made. */
struct bundling {
    const struct rw_bins *bins;
    uint8_t *code, *next; /* [n_docs] the bundle's codes, and scratch */
    uint32_t most;        /* largest number of codes of a bundle */
    /* Each feature's code for each code of the bundle. */
    uint8_t code_of[RW_CPU_BUNDLE_FEATURES][256];
};

/* Returns 1 if a feature may be in a shared bundle. */
static int may_share(const struct rw_bins *bins, uint32_t f)
{
    return !bins->codes[f].row && rw_cuts_n_codes(bins->cuts, f) <= RW_CPU_SHARED;
}

/* Joins a bundle of n_codes codes with one more feature, whose codes are more: [n_docs]. Writes the
 * joined codes to `next`, and to `pair` the bundle's and the feature's code for each. Returns the
 * number of joined codes, or 0 if it would be more than `most`. It reads a scattered sample of
 * documents first, since a few of them show that features do not fit. */
static uint32_t join(const struct bundling *b, uint32_t n_codes, const uint8_t *more,
                     uint8_t pair[256][2])
{
    enum { RUN = 16, RUNS = 256 };
    const size_t n_docs = b->bins->n_docs, step = (n_docs / (RUN * RUNS) + 1) * RUN;
    uint16_t number[256][RW_CPU_SHARED]; /* new code of each pair; UINT16_MAX: not seen yet */
    uint32_t n_joint = 0;
    memset(number, 0xff, n_codes * sizeof(number[0]));
    for (size_t first = 0; first < step; first += RUN) {
        for (size_t run = first; run < n_docs; run += step) {
            for (size_t i = run; i < n_docs && i < run + RUN; i++) {
                uint16_t *at = &number[b->code[i]][more[i]];
                if (*at == UINT16_MAX) {
                    if (n_joint == b->most)
                        return 0;
                    pair[n_joint][0] = b->code[i];
                    pair[n_joint][1] = more[i];
                    *at = (uint16_t)n_joint++;
                }
                b->next[i] = (uint8_t)*at;
            }
        }
    }
    return n_joint;
}

/* Adds the feature to the bundle if they have few codes together. */
static void try_feature(struct bundling *b, struct rw_cpu_bundle *bundle, uint32_t f)
{
    uint8_t pair[256][2], code_of[RW_CPU_BUNDLE_FEATURES][256];
    const uint32_t n = join(b, bundle->n_codes, b->bins->codes[f].code, pair);
    if (n == 0)
        return;
    for (uint32_t code = 0; code < n; code++) {
        for (uint32_t k = 0; k < bundle->n; k++)
            code_of[k][code] = b->code_of[k][pair[code][0]];
        code_of[bundle->n][code] = pair[code][1];
    }
    memcpy(b->code_of, code_of, sizeof(code_of));
    bundle->feature[bundle->n++] = f;
    bundle->n_codes = n;
    uint8_t *const joined = b->next;
    b->next = b->code;
    b->code = joined;
}

/* Makes the shared bundles, of two features or more. taken: [n_features], set to 1 for the features
 * of these bundles. */
static int bundle_features(struct rw_cpu *cpu, struct rw_arena *arena, struct rw_cpu_group *group,
                           uint8_t *taken)
{
    struct rw_ctx *ctx = cpu->host.base.ctx;
    const struct rw_bins *bins = cpu->host.set[0].bins;
    const uint32_t n_docs = bins->n_docs, n_features = bins->cuts->n_features;
    RW_FREED struct bundling *b = NULL;
    uint8_t *used = group->shared_code;
    RW_FREED uint8_t *room = NULL;
    RW_TRY(RW_NEW(ctx, b, 1));
    b->bins = bins;
    b->most = n_docs / TOGETHER < TOGETHER ? n_docs / TOGETHER : TOGETHER;
    RW_TRY(RW_NEW_RAW(ctx, room, 2 * (size_t)n_docs));
    b->code = room;
    b->next = b->code + n_docs;
    for (uint32_t f = 0; f < n_features; f++) {
        if (taken[f] || !may_share(bins, f) || rw_cuts_n_codes(bins->cuts, f) > b->most)
            continue;
        struct rw_cpu_bundle *bundle = &group->bundle[group->n];
        *bundle = (struct rw_cpu_bundle){
            .n = 1, .feature = {f}, .n_codes = rw_cuts_n_codes(bins->cuts, f)};
        memcpy(b->code, bins->codes[f].code, n_docs);
        for (uint32_t code = 0; code < bundle->n_codes; code++)
            b->code_of[0][code] = (uint8_t)code;
        int tries = 0;
        for (uint32_t other = f + 1;
             other < n_features && bundle->n < RW_CPU_BUNDLE_FEATURES && tries < TRIES; other++) {
            if (taken[other] || !may_share(bins, other))
                continue;
            tries++;
            try_feature(b, bundle, other);
        }
        if (bundle->n == 1)
            continue;
        RW_TRY(RW_ARENA_NEW(ctx, arena, bundle->made, n_docs));
        memcpy(bundle->made, b->code, n_docs);
        bundle->code_of = used;
        for (uint32_t k = 0; k < bundle->n; k++) {
            taken[bundle->feature[k]] = 1;
            memcpy(used, b->code_of[k], bundle->n_codes);
            used += bundle->n_codes;
        }
        group->n++;
    }
    return RW_OK;
}

/* ---- the order of bundles ---- */

/* [enum rw_isa] A pass leaves out documents with the frequent codes of its bundles if at least this
 * many eighths of the documents have them. It depends on the instruction set, since finding these
 * documents takes time, too. */
static const uint32_t worth[] = {5, 5, 1};

enum { BITS = SAMPLE / 64 };
/* The documents of SAMPLE that have a bundle's most frequent code. */
struct frequent {
    uint32_t n; /* number of these documents */
    uint64_t bits[BITS];
};

/* Finds a bundle's most frequent code in n documents of the data, spread evenly. */
static void find_frequent(const struct rw_bins *bins, struct rw_cpu_bundle *bundle, uint32_t n,
                          struct frequent *out)
{
    uint32_t count[256] = {0};
    uint8_t code[SAMPLE];
    const uint32_t f = bundle->feature[0];
    const uint8_t *dense = bins->codes[f].row ? NULL : bins->codes[f].code;
    if (bundle->made)
        dense = bundle->made;
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t doc = (uint32_t)((uint64_t)bins->n_docs * i / n);
        code[i] = dense ? dense[doc] : (uint8_t)rw_bins_code(bins, f, doc);
        count[code[i]]++;
    }
    for (uint32_t c = 0; c < bundle->n_codes; c++) {
        if (count[c] > count[bundle->frequent])
            bundle->frequent = c;
    }
    *out = (struct frequent){.n = count[bundle->frequent]};
    for (uint32_t first = 0; first < n; first += 64) {
        uint64_t bits = 0;
        for (uint32_t i = first; i < n && i < first + 64; i++)
            bits |= (uint64_t)(code[i] == bundle->frequent) << (i % 64);
        out->bits[first / 64] = bits;
    }
}

/* Counts the bits that both bitmaps have. Pairs of bits, then groups of four, eight and 64 are
 * summed within a word. Without the processor's own instruction, the compiler's count would be a
 * call per word. */
static uint32_t n_common(const uint64_t *a, const uint64_t *b)
{
    const uint64_t all = ~UINT64_C(0);
    uint64_t n = 0;
    for (int i = 0; i < BITS; i++) {
        uint64_t sums = a[i] & b[i];
        sums -= sums >> 1 & all / 3;
        sums = (sums & all / 5) + (sums >> 2 & all / 5);
        n += ((sums + (sums >> 4)) & all / 17) * (all / 255) >> 56;
    }
    return (uint32_t)n;
}

/* Orders the bundles for one pass after another, each bundle chosen among the next AMONG. A pass
 * starts with the bundle whose frequent code has the most documents. Each further bundle is the one
 * with the most documents that have its frequent code and those of all bundles before it in the
 * pass. Stops before a pass whose first frequent code would have less than an eighth of the
 * documents. sample: number of documents in `frequent`. */
static void order_bundles(struct rw_cpu_group *group, uint32_t sample, struct frequent *frequent)
{
    enum { AMONG = 512 };
    for (uint32_t at = 0; at < group->n; at++) {
        uint64_t all[BITS];
        const uint32_t of_pass = at % RW_CPU_PASS_BUNDLES;
        uint32_t best = at, most = 0;
        if (of_pass == 0)
            memset(all, 0xff, sizeof(all));
        for (uint32_t i = at; i < group->n && i < at + AMONG; i++) {
            const uint32_t n = of_pass ? n_common(all, frequent[i].bits) : frequent[i].n;
            if (n > most) {
                most = n;
                best = i;
            }
        }
        if (of_pass == 0 && (uint64_t)most * 8 < (uint64_t)sample)
            return;
        const struct rw_cpu_bundle bundle = group->bundle[at];
        group->bundle[at] = group->bundle[best];
        group->bundle[best] = bundle;
        const struct frequent other = frequent[at];
        frequent[at] = frequent[best];
        frequent[best] = other;
        for (int i = 0; i < BITS; i++)
            all[i] &= frequent[at].bits[i];
    }
}

struct frequent_job {
    const struct rw_bins *bins;
    const struct rw_cpu_group *group;
    uint32_t n_sample;
    struct frequent *frequent; /* [bundles] */
};

static int find_frequents(void *user, struct rw_share *share)
{
    const struct frequent_job *job = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        find_frequent(job->bins, &job->group->bundle[i], job->n_sample, &job->frequent[i]);
    return RW_OK;
}

/* Finds the frequent codes of a group's bundles, and orders the bundles by them. */
static int find_order(struct rw_cpu *cpu, struct rw_cpu_group *group)
{
    struct rw_ctx *ctx = cpu->host.base.ctx;
    const struct rw_bins *bins = cpu->host.set[0].bins;
    RW_FREED struct frequent *frequent = NULL;
    struct frequent_job job = {
        .bins = bins, .group = group, .n_sample = bins->n_docs < SAMPLE ? bins->n_docs : SAMPLE};
    RW_TRY(RW_NEW_RAW(ctx, frequent, group->n));
    job.frequent = frequent;
    rw_parallel(ctx, ctx->n_threads, group->n, 1, find_frequents, &job);
    order_bundles(group, job.n_sample, job.frequent);
    return RW_OK;
}

/* ---- rows ---- */

enum { BLOCK = 256 }; /* documents whose rows are made together, so that they fit the cache */

/* Returns a bundle's codes, of `bytes` bytes each, of documents [first, last): the stored ones, or,
 * for a sparse column, a copy made in `room`. */
static const uint8_t *bundle_codes(const struct rw_bins *bins, const struct rw_cpu_bundle *bundle,
                                   size_t bytes, uint32_t first, uint32_t last, uint16_t *room)
{
    const struct rw_codes *codes = &bins->codes[bundle->feature[0]];
    uint8_t *narrow = (uint8_t *)room;
    if (bundle->made || !codes->row)
        return (bundle->made ? bundle->made : (const uint8_t *)codes->code) + first * bytes;
    uint32_t entry = rw_numbers_under(codes->row, codes->n, first);
    for (uint32_t doc = first; doc < last; doc++) {
        uint32_t code = codes->rest;
        if (entry < codes->n && codes->row[entry] == doc)
            code = rw_codes_get(codes->code, bytes, entry++);
        if (bytes == 1)
            narrow[doc - first] = (uint8_t)code;
        else
            room[doc - first] = (uint16_t)code;
    }
    return narrow;
}

/* Writes the rows of documents [first, last). */
static void put_rows(const struct rw_bins *bins, const struct rw_cpu_group *group, uint32_t first,
                     uint32_t last)
{
    const size_t bytes = (size_t)group->bytes;
    uint16_t room[8][BLOCK];
    for (uint32_t c = 0, n; c < group->n; c += n) {
        const uint8_t *column[8];
        uint8_t *row = group->row + first * group->stride + c * bytes;
        n = bytes == 1 && group->n - c >= 8 ? 8 : 1;
        for (uint32_t i = 0; i < n; i++)
            column[i] = bundle_codes(bins, &group->bundle[c + i], bytes, first, last, room[i]);
        for (uint32_t doc = 0; doc < last - first && n == 8; doc++, row += group->stride) {
            uint64_t codes = 0; /* codes of eight bundles, the first in the lowest byte */
            for (uint32_t i = 0; i < 8; i++)
                codes |= (uint64_t)column[i][doc] << (8 * i);
            memcpy(row, &codes, sizeof(codes));
        }
        for (uint32_t doc = 0; doc < last - first && n == 1; doc++, row += group->stride)
            memcpy(row, column[0] + doc * bytes, bytes);
    }
}

struct rows_job {
    const struct rw_bins *bins;
    struct rw_cpu_group *group;
};

static int put_blocks(void *user, struct rw_share *share)
{
    const struct rows_job *job = user;
    for (uint64_t first, last, end; rw_share_next(share, &first, &last);) {
        for (; first < last; first = end) {
            end = last - first < BLOCK ? last : first + BLOCK;
            put_rows(job->bins, job->group, (uint32_t)first, (uint32_t)end);
        }
    }
    return RW_OK;
}

/* Returns 1 if the feature is in the group. Sparse features that the engine lists are in no
 * group. */
static int is_of(const struct rw_cpu *cpu, const struct rw_cpu_group *group, uint32_t f)
{
    const struct rw_bins *bins = cpu->host.set[0].bins;
    return rw_cuts_code_bytes(bins->cuts, f) == (size_t)group->bytes &&
           (!cpu->sparse.n || !bins->codes[f].row);
}

/* If trees sample features, allocates packed rows (`packed` of the group) large enough for nearly
 * every tree. A tree with more active bundles reads the full rows. */
static int allocate_packed(struct rw_host *host, struct rw_cpu_group *group, uint32_t n)
{
    const double share = (double)host->base.rules.feature_threshold * 0x1p-32;
    const double most = n * share + 3.0 * sqrt(n * share * (1.0 - share)) + 1.0;
    if (!(share < 1.0) || !(most < n))
        return RW_OK;
    group->n_packed = (uint32_t)most;
    RW_TRY(RW_HOST_NEW(host, group->mask, row_bytes(n, 1) / 8));
    host->memory.part = "rows";
    return rw_host_new(host, (void **)&group->packed, host->set[0].bins->n_docs,
                       row_bytes(group->n_packed, 1), 1);
}

int rw_cpu_allocate_rows(struct rw_cpu *cpu)
{
    struct rw_host *host = &cpu->host;
    const struct rw_bins *bins = host->set[0].bins;
    for (int g = 0; g < 2; g++) {
        struct rw_cpu_group *group = &cpu->group[g];
        uint32_t n = 0;
        group->bytes = g + 1;
        for (uint32_t f = 0; f < bins->cuts->n_features; f++)
            n += (uint32_t)is_of(cpu, group, f);
        host->memory.part = "rows";
        RW_TRY(
            rw_host_new(host, (void **)&group->row, bins->n_docs, row_bytes(n, group->bytes), 1));
        host->memory.part = "tables";
        RW_TRY(RW_HOST_NEW(host, group->bundle, n));
        RW_TRY(RW_HOST_NEW(host, group->active, n));
        RW_TRY(RW_HOST_NEW_RAW(host, group->shared_code, g == 0 ? (size_t)n * 256 : 0));
        if (g == 0)
            RW_TRY(allocate_packed(host, group, n));
    }
    /* each of the two groups may have a pass that is not full */
    return RW_HOST_NEW(host, cpu->pass, bins->cuts->n_features / RW_CPU_PASS_BUNDLES + 2);
}

/* Makes the bundles of a group and their rows. */
static int load_group(struct rw_cpu *cpu, struct rw_cpu_group *group)
{
    struct rw_ctx *ctx = cpu->host.base.ctx;
    const struct rw_bins *bins = cpu->host.set[0].bins;
    const uint32_t n_features = bins->cuts->n_features;
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {NULL};
    uint8_t *taken;
    RW_TRY(RW_ARENA_NEW(ctx, &arena, taken, n_features));
    if (group->bytes == 1)
        RW_TRY(bundle_features(cpu, &arena, group, taken));
    for (uint32_t f = 0; f < n_features; f++) {
        if (!taken[f] && is_of(cpu, group, f))
            group->bundle[group->n++] = (struct rw_cpu_bundle){
                .n = 1, .feature = {f}, .n_codes = rw_cuts_n_codes(bins->cuts, f)};
    }
    if (group->bytes == 1)
        RW_TRY(find_order(cpu, group));
    group->stride = row_bytes(group->n, group->bytes);
    rw_cpu_large_pages(group->row, group->stride * bins->n_docs);
    struct rows_job rows = {bins, group};
    rw_parallel(ctx, ctx->n_threads, bins->n_docs, 0, put_blocks, &rows);
    return RW_OK;
}

int rw_cpu_load_rows(struct rw_cpu *cpu)
{
    RW_TRY(load_group(cpu, &cpu->group[0]));
    return load_group(cpu, &cpu->group[1]);
}

/* ---- rows of a tree's sample ---- */

/* Packing copies the codes of active bundles, document by document. A tree reads each row several
 * times, so extracting the codes once saves time. */
struct packing {
    const struct rw_cpu_group *group;
    enum rw_isa isa;
    size_t stride; /* bytes per packed row */
};

static void pack_plain(const struct packing *p, uint32_t doc, uint32_t end)
{
    const struct rw_cpu_group *group = p->group;
    for (; doc < end; doc++) {
        const uint8_t *row = group->row + doc * group->stride;
        uint8_t *to = group->packed + doc * p->stride;
        for (uint32_t c = 0; c < group->n_active; c++)
            to[c] = row[group->active[c]];
    }
}

#if RW_HAS_X86
/* Packs documents [doc, end). It packs eight codes of a row at a time and moves the active ones
 * together. It may store bytes past the end, which the next codes or the next document overwrite.
 * The last document is packed without such stores. */
RW_AVX512 static void pack_avx512(const struct packing *p, uint32_t doc, uint32_t end)
{
    const struct rw_cpu_group *group = p->group;
    for (; doc + 1 < end; doc++) {
        const uint8_t *row = group->row + doc * group->stride;
        uint8_t *to = group->packed + doc * p->stride;
        for (size_t at = 0; at < group->stride; at += 8) {
            const uint64_t mask = group->mask[at / 8];
            uint64_t codes;
            memcpy(&codes, row + at, sizeof(codes));
            codes = _pext_u64(codes, mask);
            memcpy(to, &codes, sizeof(codes));
            to += _mm_popcnt_u64(mask) / 8;
        }
    }
    pack_plain(p, doc, end);
}
#endif

static int pack_some(void *job, struct rw_share *share)
{
    const struct packing *p = job;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
#if RW_HAS_X86
        if (p->isa == RW_ISA_AVX512)
            pack_avx512(p, (uint32_t)doc, (uint32_t)end);
        else
#endif
            pack_plain(p, (uint32_t)doc, (uint32_t)end);
    }
    return RW_OK;
}

/* Sets where the tree's active bundles are read: in rows that it packs now, or in the full rows if
 * all or none are active, or too many. */
static void set_view(struct rw_cpu *cpu, struct rw_cpu_group *group)
{
    const uint32_t n_docs = cpu->host.base.n_docs[0];
    struct packing p = {group, cpu->host.isa, row_bytes(group->n_active, 1)};
    group->view = (struct rw_cpu_view){group->row, group->stride, group->n_active == group->n};
    if (group->n_active == group->n || group->n_active == 0 || group->n_active > group->n_packed)
        return;
    memset(group->mask, 0, group->stride);
    for (uint32_t c = 0; c < group->n_active; c++)
        group->mask[group->active[c] / 8] |= (uint64_t)255 << (8 * (group->active[c] % 8));
    rw_parallel(cpu->host.base.ctx, rw_cpu_threads(cpu, n_docs), n_docs, 0, pack_some, &p);
    group->view = (struct rw_cpu_view){group->packed, p.stride, 1};
}

/* ---- passes ---- */

/* Sets the frequent codes of a pass, and whether it leaves out the documents that have them. */
static void set_pass(const struct rw_cpu *cpu, struct rw_cpu_pass *pass)
{
    const struct rw_cpu_group *group = pass->group;
    const uint64_t n_docs = cpu->host.base.n_docs[0];
    const uint32_t n = n_docs < SAMPLE ? (uint32_t)n_docs : SAMPLE;
    uint32_t n_frequent = 0;
    pass->frequent = 0;
    pass->skips = 0;
    for (uint32_t c = 0; c < pass->n; c++)
        pass->frequent |= (uint64_t)rw_cpu_bundle_of(pass, c)->frequent << (8 * c);
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t *row = group->row + n_docs * i / n * group->stride;
        uint32_t c = 0;
        while (c < pass->n &&
               row[group->active[pass->first + c]] == (uint8_t)(pass->frequent >> (8 * c)))
            c++;
        n_frequent += c == pass->n;
    }
    pass->skips = (uint64_t)n_frequent * 8 >= (uint64_t)n * worth[cpu->host.isa];
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
            for (uint32_t k = 0; k < group->bundle[c].n; k++)
                is_sampled |= cpu->host.feature_sampled[group->bundle[c].feature[k]];
            if (is_sampled)
                group->active[group->n_active++] = c;
        }
        is_new |= group->n_active != group->n || n_before != group->n;
    }
    if (!is_new) /* all bundles, as in the previous tree */
        return;
    cpu->n_passes = 0;
    set_view(cpu, &cpu->group[0]);
    for (int g = 0; g < 2; g++) {
        const struct rw_cpu_group *group = &cpu->group[g];
        for (uint32_t first = 0; first < group->n_active; first += RW_CPU_PASS_BUNDLES) {
            struct rw_cpu_pass *pass = &cpu->pass[cpu->n_passes++];
            const uint32_t left = group->n_active - first;
            *pass =
                (struct rw_cpu_pass){.group = group,
                                     .first = first,
                                     .n = left < RW_CPU_PASS_BUNDLES ? left : RW_CPU_PASS_BUNDLES,
                                     .step = g == 0 ? RW_CPU_NARROW : RW_CPU_WIDE};
            if (g == 0)
                set_pass(cpu, pass);
        }
    }
}
