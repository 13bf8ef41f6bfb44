#include <criterion/criterion.h>
#include <string.h>

#include "../check/hist_serial.h"

/* Two features, six documents. */
static const uint16_t first[] = {0, 2, 2, 1, 0, 2}, second[] = {3, 3, 3, 3, 0, 1};
static const uint16_t *const codes[] = {first, second};
static const int32_t lambda[] = {5, -7, 100, 0, -32767, 32767};
static const int32_t weight[] = {1, 0, 3, 32767, 2, 9};
static const float value[] = {0.5f, 16777216.0f, 1.0f, -2.0f, 0.25f, 1.0f};

struct result {
    uint32_t count[3 * 2 * 4 + 1];
    int64_t lambda_sum[3 * 2 * 4 + 1], hess_sum[3 * 2 * 4 + 1];
    float float_sum[3 * 2 * 4 + 1];
};

static struct rw_hist_serial job_of(struct result *r, const struct rw_hist_node *node,
                                    uint32_t n_nodes, const uint32_t *list)
{
    memset(r, 0xA5, sizeof(*r));
    return (struct rw_hist_serial){.n_features = 2,
                                   .n_bins = 4,
                                   .codes = codes,
                                   .list = list,
                                   .node = node,
                                   .n_nodes = n_nodes,
                                   .lambda = lambda,
                                   .hess = weight,
                                   .value = value,
                                   .count = r->count,
                                   .lambda_sum = r->lambda_sum,
                                   .hess_sum = r->hess_sum,
                                   .float_sum = r->float_sum};
}

#define ASSERT_CELLS(got, ...)                                                            \
    do {                                                                                  \
        static const double want_[] = {__VA_ARGS__};                                      \
        for (size_t i_ = 0; i_ < sizeof(want_) / sizeof(want_[0]); i_++)                  \
            cr_assert_eq((double)(got)[i_], want_[i_], "%s[%zu] is %g, not %g", #got, i_, \
                         (double)(got)[i_], want_[i_]);                                   \
    } while (0)

Test(hist_serial, all_documents)
{
    static const struct rw_hist_node node[] = {{0, 6}};
    struct result r;
    const struct rw_hist_serial job = job_of(&r, node, 1, NULL);
    rw_hist_serial_run(&job);
    ASSERT_CELLS(r.count, 2, 1, 3, 0, 1, 1, 0, 4);
    ASSERT_CELLS(r.lambda_sum, -32762, 0, 32860, 0, -32767, 32767, 0, 98);
    ASSERT_CELLS(r.hess_sum, 3, 32767, 12, 0, 2, 9, 0, 32771);
    /* In double: 2^24 + 1 + 1 is there, where floats would lose both ones. */
    ASSERT_CELLS(r.float_sum, 0.75, -2, 16777218, 0, 0.25, 1, 0, 16777216);
    cr_assert_eq(r.count[8], 0xA5A5A5A5u, "past the last cell");
}

Test(hist_serial, nodes_are_ranges_of_documents)
{
    static const struct rw_hist_node node[] = {{1, 2}, {4, 0}, {5, 1}};
    struct result r;
    const struct rw_hist_serial job = job_of(&r, node, 3, NULL);
    rw_hist_serial_run(&job);
    ASSERT_CELLS(r.count, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0);
    ASSERT_CELLS(r.lambda_sum, 0, 0, 93, 0, 0, 0, 0, 93, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 32767, 0, 0,
                 32767, 0, 0);
}

Test(hist_serial, nodes_are_parts_of_a_list)
{
    static const uint32_t list[] = {5, 0, 3, 4, 2, 1};
    static const struct rw_hist_node node[] = {{3, 3}, {0, 2}};
    struct result r;
    const struct rw_hist_serial job = job_of(&r, node, 2, list);
    rw_hist_serial_run(&job); /* documents 4 2 1, then 5 0 */
    ASSERT_CELLS(r.count, 1, 0, 2, 0, 1, 0, 0, 2, 1, 0, 1, 0, 0, 1, 0, 1);
    ASSERT_CELLS(r.lambda_sum, -32767, 0, 93, 0, -32767, 0, 0, 93, 5, 0, 32767, 0, 0, 32767, 0, 5);
    ASSERT_CELLS(r.hess_sum, 2, 0, 3, 0, 2, 0, 0, 3, 1, 0, 9, 0, 0, 9, 0, 1);
    ASSERT_CELLS(r.float_sum, 0.25, 0, 16777216, 0); /* 2^24 + 1, rounded once */
}

Test(hist_serial, results_that_are_null_are_left_out)
{
    static const struct rw_hist_node node[] = {{0, 6}};
    struct result r;
    struct rw_hist_serial job = job_of(&r, node, 1, NULL);
    job.lambda = job.hess = NULL;
    job.value = NULL;
    job.lambda_sum = job.hess_sum = NULL;
    job.float_sum = NULL;
    rw_hist_serial_run(&job);
    ASSERT_CELLS(r.count, 2, 1, 3, 0, 1, 1, 0, 4);
    cr_assert_eq(r.lambda_sum[0], (int64_t)0xA5A5A5A5A5A5A5A5);
    job.count = NULL;
    job.value = value;
    job.float_sum = r.float_sum;
    memset(r.count, 0xA5, sizeof(r.count));
    rw_hist_serial_run(&job);
    ASSERT_CELLS(r.float_sum, 0.75, -2);
    cr_assert_eq(r.count[0], 0xA5A5A5A5u);
}

Test(hist_serial, no_documents_no_nodes)
{
    static const struct rw_hist_node node[] = {{6, 0}};
    struct result r;
    struct rw_hist_serial job = job_of(&r, node, 1, NULL);
    rw_hist_serial_run(&job);
    ASSERT_CELLS(r.count, 0, 0, 0, 0, 0, 0, 0, 0);
    ASSERT_CELLS(r.float_sum, 0, 0, 0, 0, 0, 0, 0, 0);
    job = job_of(&r, node, 0, NULL);
    rw_hist_serial_run(&job);
    cr_assert_eq(r.count[0], 0xA5A5A5A5u);
}

/* More bins than sums of floats are kept at once, and the highest code. */
Test(hist_serial, many_bins)
{
    enum { BINS = 65536, DOCS = 5 };
    static const uint16_t code[DOCS] = {0, 1023, 1024, 65535, 1024};
    static const uint16_t *const column[] = {code};
    static const struct rw_hist_node node[] = {{0, DOCS}};
    static uint32_t count[BINS];
    static float sum[BINS];
    const struct rw_hist_serial job = {.n_features = 1,
                                       .n_bins = BINS,
                                       .codes = column,
                                       .node = node,
                                       .n_nodes = 1,
                                       .value = value,
                                       .count = count,
                                       .float_sum = sum};
    rw_hist_serial_run(&job);
    cr_assert(count[0] == 1 && count[1023] == 1 && count[1024] == 2 && count[65535] == 1);
    cr_assert(sum[0] == 0.5f && sum[1023] == 16777216.0f && sum[1024] == 1.25f &&
              sum[65535] == -2.0f);
    cr_assert(count[1025] == 0 && sum[1025] == 0.0f && sum[1022] == 0.0f);
}

/* Sums pass 32 bits: 70,000 documents of the largest lambda, either sign. */
Test(hist_serial, sums_have_64_bits)
{
    enum { DOCS = 70000 };
    static uint16_t code[DOCS];
    static int32_t high[DOCS], low[DOCS];
    static const uint16_t *const column[] = {code};
    static const struct rw_hist_node node[] = {{0, DOCS}};
    int64_t high_sum[2], low_sum[2];
    for (int i = 0; i < DOCS; i++) {
        code[i] = 1;
        high[i] = 32767;
        low[i] = -32767;
    }
    const struct rw_hist_serial job = {.n_features = 1,
                                       .n_bins = 2,
                                       .codes = column,
                                       .node = node,
                                       .n_nodes = 1,
                                       .lambda = low,
                                       .hess = high,
                                       .lambda_sum = low_sum,
                                       .hess_sum = high_sum};
    rw_hist_serial_run(&job);
    cr_assert_eq(high_sum[1], INT64_C(70000) * 32767);
    cr_assert_eq(low_sum[1], -INT64_C(70000) * 32767);
    cr_assert(high_sum[0] == 0 && low_sum[0] == 0);
}
