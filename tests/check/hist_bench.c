/* bench_hist --suite lanes|contention [--method NAME] [--docs N] [--features N] [--runs N]
 *            [--seed N] [--distribution NAME] [--bins N] [--json FILE]
 *
 * Rates of histogram methods on one GPU, beside the rate at which the same run reads memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "gpu/bandwidth.h"
#include "gpu/device.h"
#include "gpu/hist.h"
#include "gpu/hist_matrix.h"
#include "hist_data.h"

#define LENGTH(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct options {
    const char *suite, *method, *json, *distribution;
    uint32_t n_docs, n_features, n_bins;
    int n_runs;
    uint64_t seed;
};

struct bench {
    struct rw_ctx *ctx;
    struct rw_device *device;
    const struct options *o;
    FILE *json; /* NULL: none */
    int n_rows;
    double read_gb_s; /* of this device, now */
    double lowest;    /* relative rate; 0: none yet */
    char lowest_row[96];

    struct hist_columns columns;
    struct rw_hist_matrix *matrix;
    uint32_t n_gathered; /* documents of the list */
    void *d_list, *d_node, *d_lambda, *d_weight, *d_frequent, *d_count, *d_lambda_sum,
        *d_weight_sum, *d_scratch;
    size_t scratch_room;
    struct rw_hist_node node;
    struct rw_hist_call call;
    const struct rw_hist_method *method;
};

/* Everything that a bench cannot go on without. */
static void need(struct bench *b, int status)
{
    if (status >= 0)
        return;
    fprintf(stderr, "%s\n", rw_last_error(b->ctx));
    exit(1);
}

static void *device_copy(struct bench *b, const void *from, size_t bytes)
{
    void *d;
    need(b, rw_device_alloc(b->ctx, &d, bytes));
    need(b, rw_device_write(b->ctx, b->device, d, from, bytes));
    return d;
}

static void drop(void **d)
{
    rw_device_free(*d);
    *d = NULL;
}

/* ---- reading ---- */

struct reading {
    const void *d_from;
    uint32_t *d_sink;
    size_t bytes;
    int n_multiprocessors;
    void *stream;
};

static int run_reading(void *user)
{
    const struct reading *r = user;
    return rw_cuda_read(r->d_from, r->bytes, r->d_sink, r->n_multiprocessors, r->stream) ? -1 : 0;
}

/* GB/s of reading 1 GiB, more than any cache holds: the median. */
static void measure_reading(struct bench *b)
{
    struct reading r = {.bytes = (size_t)1 << 30,
                        .n_multiprocessors = b->device->n_multiprocessors,
                        .stream = b->device->stream};
    double median, least, most;
    void *d_from, *d_sink;
    need(b, rw_device_alloc(b->ctx, &d_from, r.bytes));
    need(b, rw_device_alloc(b->ctx, &d_sink, sizeof(*r.d_sink)));
    r.d_from = d_from;
    r.d_sink = d_sink;
    need(b, rw_device_time(b->ctx, b->device, 21, run_reading, &r, &median, &least, &most));
    b->read_gb_s = (double)r.bytes / median / 1e6;
    printf("%s: reads %.0f GB/s (median of 21; %.0f to %.0f)\n", b->device->name, b->read_gb_s,
           (double)r.bytes / most / 1e6, (double)r.bytes / least / 1e6);
    rw_device_free(d_from);
    rw_device_free(d_sink);
}

/* ---- inputs ---- */

static void make_documents(struct bench *b)
{
    const uint32_t n = b->o->n_docs;
    int32_t *lambda = hist_alloc(n, sizeof(*lambda));
    uint32_t *list = hist_alloc(n, sizeof(*list));
    hist_lambdas(lambda, n, 127, LAMBDAS_RANDOM, b->o->seed);
    b->d_lambda = device_copy(b, lambda, n * sizeof(*lambda));
    hist_weights(lambda, n, 127, LAMBDAS_RANDOM, b->o->seed);
    b->d_weight = device_copy(b, lambda, n * sizeof(*lambda));
    b->n_gathered = hist_list(list, n, 0.25, 0, b->o->seed);
    b->d_list = device_copy(b, list, b->n_gathered * sizeof(*list));
    need(b, rw_device_alloc(b->ctx, &b->d_node, sizeof(b->node)));
    free(lambda);
    free(list);
}

static void make_matrix(struct bench *b, int bits, uint32_t n_bins, uint32_t n_features,
                        enum hist_codes kind, uint32_t distinct, int layouts)
{
    const uint64_t cells = (uint64_t)n_features * n_bins;
    uint16_t *frequent = hist_alloc(n_features, sizeof(*frequent));
    hist_columns_init(&b->columns, n_features, b->o->n_docs, n_bins, kind, distinct, b->o->seed);
    hist_frequent(&b->columns, frequent);
    need(b, rw_hist_matrix_new(b->ctx, b->device, bits, n_features, b->o->n_docs, n_bins,
                               b->columns.column, layouts, &b->matrix));
    b->d_frequent = device_copy(b, frequent, n_features * sizeof(*frequent));
    hist_columns_release(&b->columns);
    free(frequent);
    need(b, rw_device_alloc(b->ctx, &b->d_count, cells * sizeof(uint32_t)));
    need(b, rw_device_alloc(b->ctx, &b->d_lambda_sum, cells * sizeof(int64_t)));
    need(b, rw_device_alloc(b->ctx, &b->d_weight_sum, cells * sizeof(int64_t)));
}

static void drop_matrix(struct bench *b)
{
    rw_hist_matrix_free(b->matrix);
    b->matrix = NULL;
    drop(&b->d_frequent);
    drop(&b->d_count);
    drop(&b->d_lambda_sum);
    drop(&b->d_weight_sum);
}

/* ---- one row ---- */

struct row {
    const char *suite, *method, *codes, *sums;
    int bits, gathered;
    uint32_t n_bins, n_features, distinct;
    uint64_t n_docs, bytes;
    double median_ms, least_ms, most_ms;
};

static int run_method(void *user)
{
    struct bench *b = user;
    return rw_hist_run(b->ctx, b->method, &b->call, b->device->stream);
}

/* What the method has to read and write at least: codes of its documents, weights, list, results.
 */
static uint64_t bytes_of(const struct bench *b, const struct row *row)
{
    const struct rw_hist_matrix *m = b->matrix;
    const enum rw_hist_sums sums = b->call.sums;
    uint64_t bytes_a_doc = 0;
    for (uint32_t t = 0; b->method->reads_tiles && t < m->n_tiles; t++)
        bytes_a_doc += m->tile[t].lanes * (m->bits == 16 ? sizeof(uint16_t) : sizeof(uint32_t));
    if (!b->method->reads_tiles)
        bytes_a_doc = (uint64_t)m->n_features * (uint64_t)m->bits / 8;
    bytes_a_doc += (sums != RW_HIST_COUNT) * sizeof(int32_t);
    bytes_a_doc += (sums == RW_HIST_NEWTON) * sizeof(int32_t);
    bytes_a_doc += (row->gathered != 0) * sizeof(uint32_t);
    const uint64_t bytes_a_cell = sizeof(uint32_t) + (sums != RW_HIST_COUNT) * sizeof(int64_t) +
                                  (sums == RW_HIST_NEWTON) * sizeof(int64_t);
    return row->n_docs * bytes_a_doc + (uint64_t)m->n_features * m->n_bins * bytes_a_cell;
}

static double rate(const struct row *row, double ms)
{
    return (double)row->n_docs * row->n_features / ms / 1e6;
}

static void print_row(struct bench *b, const struct row *row, double against)
{
    const double gb_s = (double)row->bytes / row->median_ms / 1e6;
    char relative[16] = "";
    if (against > 0) {
        const double share = rate(row, row->median_ms) / against;
        snprintf(relative, sizeof(relative), "%.3f", share);
        if (b->lowest <= 0 || share < b->lowest) {
            b->lowest = share;
            snprintf(b->lowest_row, sizeof(b->lowest_row), "%s, %u bins, %s, %s, %s", row->method,
                     row->n_bins, row->codes, row->gathered ? "gathered" : "all", row->sums);
        }
    }
    printf("%-18s %2d %5u %4u %-11s %8s %-7s %9.4f %9.4f %9.4f %9.1f %8.0f %6.1f %8s\n",
           row->method, row->bits, row->n_bins, row->n_features, row->codes,
           row->gathered ? "gathered" : "all", row->sums, row->median_ms, row->least_ms,
           row->most_ms, rate(row, row->median_ms), gb_s, 100 * gb_s / b->read_gb_s, relative);
    fflush(stdout);
    if (!b->json)
        return;
    fprintf(b->json,
            "%s  {\"suite\": \"%s\", \"method\": \"%s\", \"bits\": %d, \"bins\": %u, "
            "\"distribution\": \"%s\", \"distinct\": %u, \"documents\": %llu, \"features\": %u, "
            "\"gathered\": %s, \"sums\": \"%s\", \"median_ms\": %.6f, \"least_ms\": %.6f, "
            "\"most_ms\": %.6f, \"g_updates_s\": %.3f, \"bytes\": %llu, \"gb_s\": %.2f, "
            "\"read_share\": %.5f, \"relative\": %s}",
            b->n_rows ? ",\n" : "", row->suite, row->method, row->bits, row->n_bins, row->codes,
            row->distinct, (unsigned long long)row->n_docs, row->n_features,
            row->gathered ? "true" : "false", row->sums, row->median_ms, row->least_ms,
            row->most_ms, rate(row, row->median_ms), (unsigned long long)row->bytes, gb_s,
            gb_s / b->read_gb_s, relative[0] ? relative : "null");
    b->n_rows++;
}

static void print_head(void)
{
    printf("%-18s %2s %5s %4s %-11s %8s %-7s %9s %9s %9s %9s %8s %6s %8s\n", "method", "b", "bins",
           "feat", "codes", "docs", "sums", "median ms", "least", "most", "G upd/s", "GB/s",
           "% read", "relative");
}

/* Times one call; against: G updates/s of the row that this one is compared with, 0: none. Returns
 * its G updates/s, 0 where the method does not do it. */
static double time_row(struct bench *b, const char *suite, const struct rw_hist_method *method,
                       enum rw_hist_sums sums, int gathered, const char *codes, uint32_t distinct,
                       double against)
{
    static const char *const sums_name[] = {"count", "mart", "newton", "float"};
    const int weighted = sums == RW_HIST_MART || sums == RW_HIST_NEWTON;
    struct row row = {.suite = suite,
                      .method = method->name,
                      .codes = codes,
                      .sums = sums_name[sums],
                      .bits = b->matrix->bits,
                      .gathered = gathered,
                      .n_bins = b->matrix->n_bins,
                      .n_features = b->matrix->n_features,
                      .distinct = distinct,
                      .n_docs = gathered ? b->n_gathered : b->o->n_docs};
    b->node = (struct rw_hist_node){0, row.n_docs};
    need(b, rw_device_write(b->ctx, b->device, b->d_node, &b->node, sizeof(b->node)));
    b->method = method;
    b->call = (struct rw_hist_call){.matrix = b->matrix,
                                    .sums = sums,
                                    .d_list = gathered ? b->d_list : NULL,
                                    .node = &b->node,
                                    .d_node = b->d_node,
                                    .n_nodes = 1,
                                    .d_lambda = weighted ? b->d_lambda : NULL,
                                    .d_weight = sums == RW_HIST_NEWTON ? b->d_weight : NULL,
                                    .largest = 127,
                                    .d_frequent = b->d_frequent,
                                    .d_count = b->d_count,
                                    .d_lambda_sum = weighted ? b->d_lambda_sum : NULL,
                                    .d_weight_sum = sums == RW_HIST_NEWTON ? b->d_weight_sum : NULL,
                                    .n_multiprocessors = b->device->n_multiprocessors,
                                    .shared_bytes = b->device->shared_bytes};
    const size_t scratch = method->scratch_bytes(&b->call);
    if (scratch > b->scratch_room || !b->d_scratch) {
        drop(&b->d_scratch);
        need(b, rw_device_alloc(b->ctx, &b->d_scratch, scratch));
        b->scratch_room = scratch;
    }
    b->call.d_scratch = b->d_scratch;
    if (rw_hist_check(b->ctx, method, &b->call) < 0)
        return 0;
    need(b, rw_device_time(b->ctx, b->device, b->o->n_runs, run_method, b, &row.median_ms,
                           &row.least_ms, &row.most_ms));
    row.bytes = bytes_of(b, &row);
    print_row(b, &row, against);
    return rate(&row, row.median_ms);
}

/* ---- suites ---- */

/* Relative: to the uniform row of the same bins, documents and sums. */
static void suite_lanes(struct bench *b)
{
    static const struct {
        int bits;
        uint32_t n_bins;
    } width[] = {{4, 16}, {8, 64}, {8, 128}, {8, 256}, {16, 512}, {16, 1024}};
    static const enum rw_hist_sums sums[] = {RW_HIST_MART, RW_HIST_NEWTON};
    const struct rw_hist_method *method =
        rw_hist_method_find(b->o->method ? b->o->method : "lanes");
    print_head();
    for (int w = 0; w < LENGTH(width); w++) {
        double uniform[4] = {0};
        /* Whole tiles: 32 lanes of 4 bits are 256 features, of 8 bits 128, of 16 bits 32. */
        const uint32_t n_features = b->o->n_features     ? b->o->n_features
                                    : width[w].bits == 4 ? 256
                                                         : 128;
        if (b->o->n_bins && b->o->n_bins != width[w].n_bins)
            continue;
        for (int codes = 0; codes < N_DISTRIBUTIONS; codes++) {
            const char *name = hist_codes_name((enum hist_codes)codes);
            if (b->o->distribution && codes != CODES_UNIFORM && !strstr(name, b->o->distribution))
                continue;
            make_matrix(b, width[w].bits, width[w].n_bins, n_features, (enum hist_codes)codes, 0,
                        method->reads_tiles ? RW_HIST_TILES : RW_HIST_COLUMNS);
            for (int i = 0; i < 4; i++) {
                const double g =
                    time_row(b, "lanes", method, sums[i / 2], i % 2, name, 0, uniform[i]);
                if (codes == CODES_UNIFORM)
                    uniform[i] = g;
            }
            drop_matrix(b);
        }
    }
}

/* Distinct values 256 down to 1; relative: to the same method's row of 256. */
static void suite_contention(struct bench *b)
{
    static const enum rw_hist_sums sums[] = {RW_HIST_COUNT, RW_HIST_MART};
    double full[32][2] = {{0}};
    /* Few: the slowest method takes a while. */
    const uint32_t n_features = b->o->n_features ? b->o->n_features : 32;
    print_head();
    for (uint32_t distinct = 256; distinct >= 1; distinct /= 2) {
        char name[16];
        snprintf(name, sizeof(name), "%u values", distinct);
        make_matrix(b, 8, 256, n_features, CODES_DISTINCT, distinct,
                    RW_HIST_TILES | RW_HIST_COLUMNS);
        for (int m = 0; rw_hist_method_at(m) && m < LENGTH(full); m++) {
            const struct rw_hist_method *method = rw_hist_method_at(m);
            if (b->o->method && strcmp(b->o->method, method->name) != 0)
                continue;
            for (int i = 0; i < LENGTH(sums); i++) {
                const double g =
                    time_row(b, "contention", method, sums[i], 0, name, distinct, full[m][i]);
                if (distinct == 256)
                    full[m][i] = g;
            }
        }
        drop_matrix(b);
    }
}

/* ---- the program ---- */

static int parse(int argc, char **argv, struct options *o)
{
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *name = argv[i], *value = argv[i + 1];
        if (strcmp(name, "--suite") == 0)
            o->suite = value;
        else if (strcmp(name, "--method") == 0)
            o->method = value;
        else if (strcmp(name, "--json") == 0)
            o->json = value;
        else if (strcmp(name, "--distribution") == 0)
            o->distribution = value;
        else if (strcmp(name, "--docs") == 0)
            o->n_docs = (uint32_t)strtoul(value, NULL, 0);
        else if (strcmp(name, "--features") == 0)
            o->n_features = (uint32_t)strtoul(value, NULL, 0);
        else if (strcmp(name, "--bins") == 0)
            o->n_bins = (uint32_t)strtoul(value, NULL, 0);
        else if (strcmp(name, "--runs") == 0)
            o->n_runs = atoi(value);
        else if (strcmp(name, "--seed") == 0)
            o->seed = strtoull(value, NULL, 0);
        else
            return -1;
    }
    if (argc % 2 == 0 || !o->suite || o->n_docs == 0)
        return -1;
    const int lanes = strcmp(o->suite, "lanes") == 0;
    if (!lanes && strcmp(o->suite, "contention") != 0)
        return -1;
    if (o->method && !rw_hist_method_find(o->method))
        return -1;
    return 0;
}

static void open_json(struct bench *b)
{
    if (!b->o->json)
        return;
    b->json = fopen(b->o->json, "w");
    if (!b->json) {
        fprintf(stderr, "cannot write '%s'\n", b->o->json);
        exit(1);
    }
    fprintf(b->json,
            "{\"device\": \"%s\", \"multiprocessors\": %d, \"read_gb_s\": %.2f, \"runs\": %d, "
            "\"seed\": %llu, \"rows\": [\n",
            b->device->name, b->device->n_multiprocessors, b->read_gb_s, b->o->n_runs,
            (unsigned long long)b->o->seed);
}

int main(int argc, char **argv)
{
    struct options o = {.n_docs = 3770000, .n_runs = 15, .seed = 1};
    static struct bench b;
    if (parse(argc, argv, &o) < 0) {
        fprintf(stderr,
                "usage: %s --suite lanes|contention [--method NAME] [--docs N] [--features N] "
                "[--runs N] [--seed N] [--distribution NAME] [--bins N] [--json FILE]\n",
                argv[0]);
        return 2;
    }
    if (rw_ctx_new(&b.ctx) < 0)
        return 1;
    b.o = &o;
    need(&b, rw_device_open(b.ctx, 0, &b.device));
    const double start = rw_clock_ms();
    measure_reading(&b);
    printf("%u documents, seed %llu, %d runs\n", o.n_docs, (unsigned long long)o.seed, o.n_runs);
    open_json(&b);
    make_documents(&b);
    if (strcmp(o.suite, "lanes") == 0)
        suite_lanes(&b);
    else
        suite_contention(&b);
    if (b.json && (fprintf(b.json, "\n]}\n") < 0 || fclose(b.json) != 0)) {
        fprintf(stderr, "cannot write '%s'\n", o.json);
        return 1;
    }
    if (b.lowest > 0)
        printf("lowest relative rate: %.3f (%s)\n", b.lowest, b.lowest_row);
    printf("%.1f s in all\n", (rw_clock_ms() - start) / 1000);
    void **const d[] = {&b.d_list, &b.d_node, &b.d_lambda, &b.d_weight, &b.d_scratch};
    for (int i = 0; i < LENGTH(d); i++)
        drop(d[i]);
    rw_device_close(b.device);
    rw_ctx_free(b.ctx);
    return 0;
}
