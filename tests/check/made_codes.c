/* Codes come from a table of 65,536 slots, so that any distribution costs 16 random bits per
 * code. */
#include "made_codes.h"

#include <math.h>

#include "base/mem.h"
#include "base/rng.h"

enum { SLOTS = 65536, RUN = 512, STREAM = RW_STREAM_SYNTH + 64 };
enum {
    STREAM_RUN = STREAM + 1,
    STREAM_LAMBDA,
    STREAM_WEIGHT,
    STREAM_FLOAT,
    STREAM_LIST,
    STREAM_NODE
};

const char *rw_made_codes_name(enum rw_made_codes kind)
{
    static const char *const name[RW_N_CODES] = {"uniform",   "equal",    "two values", "sigma 0.5",
                                                 "sigma 1",   "sigma 10", "sigma 100",  "80% zeros",
                                                 "clustered", "sorted",   "one hot",    "distinct",
                                                 "normal",    "mixed",    "mslr30k"};
    return name[kind];
}

const char *rw_made_lambdas_name(enum rw_made_lambdas kind)
{
    static const char *const name[RW_N_LAMBDAS] = {"random", "all high", "all low", "alternating"};
    return name[kind];
}

const char *rw_made_nodes_name(enum rw_made_nodes kind)
{
    static const char *const name[RW_N_NODES] = {"one node",    "no node",    "empty node",
                                                 "offset node", "two nodes",  "uneven nodes",
                                                 "edge nodes",  "small nodes"};
    return name[kind];
}

/* ---- codes ---- */

static double normal(double at, double mean, double sigma)
{
    const double z = (at - mean) / sigma;
    return exp(-0.5 * z * z);
}

/* How likely code b is, up to a factor. */
static double likely(enum rw_made_codes kind, uint32_t b, const struct rw_made_spec *spec)
{
    const uint32_t n_bins = spec->n_bins, distinct = spec->distinct;
    const double mean = n_bins / 2;
    switch (kind) {
    case RW_CODES_EQUAL:
        return b == 0;
    case RW_CODES_TWO:
        return b == 0 || b == n_bins / 2;
    case RW_CODES_NORMAL_HALF:
        return normal(b, mean, 0.5);
    case RW_CODES_NORMAL_1:
        return normal(b, mean, 1);
    case RW_CODES_NORMAL_10:
        return normal(b, mean, 10);
    case RW_CODES_NORMAL_100:
        return normal(b, mean, 100);
    case RW_CODES_NORMAL:
        return normal(b, mean, spec->sigma);
    case RW_CODES_ZEROS:
        return b == 0 ? 0.8 : 0.2 / (n_bins - 1);
    case RW_CODES_HOT:
        return b == 0 ? 0.99 : 0.01 / (n_bins - 1);
    case RW_CODES_DISTINCT:
        return distinct >= n_bins || b % (n_bins / distinct) == 0;
    default:
        return 1;
    }
}

static void fill_table(uint16_t *table, enum rw_made_codes kind, const struct rw_made_spec *spec)
{
    const uint32_t n_bins = spec->n_bins;
    double total = 0, so_far = 0;
    uint32_t slot = 0, last = 0;
    for (uint32_t b = 0; b < n_bins; b++)
        total += likely(kind, b, spec);
    for (uint32_t b = 0; b < n_bins; b++) {
        const double share = likely(kind, b, spec);
        so_far += share;
        if (share > 0)
            last = b;
        for (const uint32_t end = (uint32_t)(so_far / total * SLOTS + 0.5); slot < end; slot++)
            table[slot] = (uint16_t)b;
    }
    for (; slot < SLOTS; slot++)
        table[slot] = (uint16_t)last;
}

/* Which bin is the hot one differs between features. */
static uint32_t shift_of(enum rw_made_codes kind, uint32_t feature, uint32_t n_bins)
{
    const int shifted = kind == RW_CODES_EQUAL || kind == RW_CODES_TWO || kind == RW_CODES_HOT;
    return shifted ? (n_bins - 1 + feature * 7) % n_bins : 0;
}

static void fill_column(uint16_t *codes, const struct rw_made_columns *c, enum rw_made_codes kind,
                        const uint16_t *table, uint64_t seed, uint32_t feature)
{
    const uint32_t shift = shift_of(kind, feature, c->n_bins);
    uint32_t i = 0;
    while (kind == RW_CODES_SORTED && i < c->n_docs) {
        codes[i] = (uint16_t)((uint64_t)i * c->n_bins / c->n_docs);
        i++;
    }
    while (i < c->n_docs) {
        const struct rw_philox random = rw_random4(seed, i / 8, feature, STREAM);
        /* A run is all zeros, or none is. */
        const int zero =
            kind == RW_CODES_CLUSTERED && rw_random(seed, i / RUN, feature, STREAM_RUN) % 10 < 8;
        const uint32_t end = c->n_docs - i < 8 ? c->n_docs : i + 8;
        for (uint32_t j = 0; i < end; i++, j++) {
            const uint32_t bits = random.word[j / 2] >> (j % 2 * 16) & 0xFFFF;
            uint32_t code = table[bits] + shift;
            code -= code >= c->n_bins ? c->n_bins : 0;
            codes[i] = (uint16_t)(zero ? 0 : code);
        }
    }
}

int rw_made_columns_alloc(struct rw_ctx *ctx, struct rw_made_columns *out, uint32_t n_features,
                          uint32_t n_docs, uint32_t n_bins)
{
    int status = RW_OK;
    *out = (struct rw_made_columns){.n_features = n_features, .n_docs = n_docs, .n_bins = n_bins};
    RW_TRY_OUT(RW_NEW_RAW(ctx, out->code, (uint64_t)n_features * n_docs));
    RW_TRY_OUT(RW_NEW(ctx, out->column, n_features));
    for (uint32_t f = 0; f < n_features; f++)
        out->column[f] = out->code + (uint64_t)f * n_docs;
    return RW_OK;
out:
    rw_made_columns_release(out);
    return status;
}

struct fill_job {
    const struct rw_made_spec *spec;
    const struct rw_made_columns *out;
    const uint16_t *table; /* [tables][SLOTS] */
    uint64_t seed;
};

static int fill_columns(void *user, struct rw_share *share)
{
    const struct fill_job *job = user;
    const int mixed = job->spec->codes == RW_CODES_MIXED;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        const uint32_t k = mixed ? (uint32_t)f % RW_N_DISTRIBUTIONS : 0;
        fill_column(job->out->code + f * job->spec->n_docs, job->out,
                    mixed ? (enum rw_made_codes)k : job->spec->codes,
                    job->table + (uint64_t)k * SLOTS, job->seed, (uint32_t)f);
    }
    return RW_OK;
}

int rw_made_columns_init(struct rw_ctx *ctx, struct rw_made_columns *out,
                         const struct rw_made_spec *spec, uint64_t seed)
{
    const int mixed = spec->codes == RW_CODES_MIXED;
    const int n_tables = mixed ? RW_N_DISTRIBUTIONS : 1;
    uint16_t *table = NULL;
    int status = RW_OK;
    *out = (struct rw_made_columns){0};
    RW_TRY_OUT(RW_NEW_RAW(ctx, table, (size_t)n_tables * SLOTS));
    RW_TRY_OUT(rw_made_columns_alloc(ctx, out, spec->n_features, spec->n_docs, spec->n_bins));
    for (int k = 0; k < n_tables; k++)
        fill_table(table + (size_t)k * SLOTS, mixed ? (enum rw_made_codes)k : spec->codes, spec);
    struct fill_job job = {spec, out, table, seed};
    rw_parallel(ctx, ctx->n_threads, spec->n_features, 1, fill_columns, &job);
out:
    rw_mem_free(table);
    return status;
}

void rw_made_columns_release(struct rw_made_columns *columns)
{
    rw_mem_free(columns->code);
    rw_mem_free(columns->column);
    *columns = (struct rw_made_columns){0};
}

struct frequent_job {
    const struct rw_made_columns *columns;
    uint16_t *frequent; /* [n_features] */
};

static int find_frequent(void *user, struct rw_share *share)
{
    const struct frequent_job *job = user;
    for (uint64_t f, end; rw_share_next(share, &f, &end);) {
        uint32_t count[RW_MADE_MOST_BINS] = {0}, best = 0;
        for (uint32_t i = 0; i < job->columns->n_docs; i++)
            count[job->columns->column[f][i]]++;
        for (uint32_t b = 1; b < job->columns->n_bins; b++)
            best = count[b] > count[best] ? b : best;
        job->frequent[f] = (uint16_t)best;
    }
    return RW_OK;
}

void rw_made_frequent(struct rw_ctx *ctx, const struct rw_made_columns *columns, uint16_t *frequent)
{
    struct frequent_job job = {columns, frequent};
    rw_parallel(ctx, ctx->n_threads, columns->n_features, 1, find_frequent, &job);
}

/* ---- weights ---- */

void rw_make_lambdas(int32_t *lambda, uint64_t n, int32_t largest, enum rw_made_lambdas kind,
                     uint64_t seed)
{
    const uint32_t range = (uint32_t)largest * 2 + 1;
    for (uint64_t i = 0; i < n; i++) {
        if (kind == RW_LAMBDAS_RANDOM)
            lambda[i] = (int32_t)(rw_random(seed, i, 0, STREAM_LAMBDA) % range) - largest;
        else if (kind == RW_LAMBDAS_ALTERNATING)
            lambda[i] = i % 2 ? largest : -largest;
        else
            lambda[i] = kind == RW_LAMBDAS_HIGH ? largest : -largest;
    }
}

void rw_make_weights(int32_t *weight, uint64_t n, int32_t largest, enum rw_made_lambdas kind,
                     uint64_t seed)
{
    const uint32_t range = (uint32_t)largest + 1;
    for (uint64_t i = 0; i < n; i++)
        weight[i] = kind == RW_LAMBDAS_RANDOM
                        ? (int32_t)(rw_random(seed, i, 0, STREAM_WEIGHT) % range)
                        : largest;
}

void rw_make_floats(float *value, uint64_t n, uint64_t seed)
{
    for (uint64_t i = 0; i < n; i++) {
        const uint32_t bits = rw_random(seed, i, 0, STREAM_FLOAT);
        value[i] = ldexpf((float)(int32_t)(bits >> 8) - 8388608.0f, -23 - (int)(bits & 15));
    }
}

/* ---- lists and nodes ---- */

static uint32_t below(uint64_t seed, uint64_t item, uint32_t stream, uint64_t n)
{
    return (uint32_t)(rw_random(seed, item, 0, stream) * n >> 32);
}

uint32_t rw_make_list(uint32_t *list, uint32_t n_docs, double share, int shuffled, uint64_t seed)
{
    const double limit = share * 4294967296.0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < n_docs; i++)
        if (rw_random(seed, i, 0, STREAM_LIST) < limit)
            list[n++] = i;
    for (uint32_t i = shuffled ? n : 0; i > 1; i--) {
        const uint32_t j = below(seed, i, STREAM_LIST + 16, i);
        const uint32_t kept = list[i - 1];
        list[i - 1] = list[j];
        list[j] = kept;
    }
    return n;
}

static uint64_t size_of(enum rw_made_nodes kind, uint32_t k, uint64_t left, uint64_t seed)
{
    static const uint32_t edge[] = {0,    1,    31,   32,    33,    63,    64,   127,
                                    128,  255,  256,  257,   511,   512,   513,  1023,
                                    1024, 1025, 4079, 4080,  4081,  4087,  4088, 4095,
                                    4096, 4097, 8192, 16383, 16384, 16385, 0,    3};
    switch (kind) {
    case RW_NODES_TWO:
        return k == 0 ? left / 3 : left;
    case RW_NODES_UNEVEN:
        return k % 9 == 4 ? 0 : left / 2;
    case RW_NODES_EDGES:
        return edge[k % (sizeof(edge) / sizeof(edge[0]))];
    default:
        return below(seed, k, STREAM_NODE, 41);
    }
}

uint32_t rw_make_nodes(struct rw_hist_node *node, uint64_t n, uint32_t most,
                       enum rw_made_nodes kind, uint64_t seed)
{
    const uint32_t limit = kind == RW_NODES_SMALL ? RW_HIST_MAX_NODES : 127;
    const uint32_t n_nodes = most < limit ? most : limit;
    uint64_t at = 0;
    node[0] = (struct rw_hist_node){0, n};
    if (kind == RW_NODES_EMPTY)
        node[0].n = 0;
    if (kind == RW_NODES_OFFSET) {
        node[0].first = n > 17 ? 17 : n;
        node[0].n = (n - node[0].first) * 3 / 4;
    }
    if (kind <= RW_NODES_OFFSET)
        return kind != RW_NODES_NONE;
    for (uint32_t k = 0; k < n_nodes; k++) {
        const uint64_t size = size_of(kind, k, n - at, seed);
        if ((kind == RW_NODES_TWO && k == 2) || size > n - at)
            return k ? k : 1;
        node[k] = (struct rw_hist_node){at, size};
        at += size;
        if (kind == RW_NODES_UNEVEN && k % 3 == 1 && at < n)
            at++;
    }
    return n_nodes ? n_nodes : 1;
}
