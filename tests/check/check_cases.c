/* The standing list of adversarial cases, and random ones after it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check.h"

/* Defaults of every row: */
#define BASE                                                                                      \
    .n_queries = 12, .query_min = 5, .query_max = 40, .n_features = 16, .first_feature = 1,       \
    .feature_gap = 1, .distinct = 20, .bits = 8, .bins = 255, .norm = 1, .sigma = 1.0,            \
    .sample_queries = 1.0, .sample_features = 1.0, .truncation = 30, .min_docs = 3, .leaves = 12, \
    .n_trees = 3, .n_threads = 2
#define ONE_QUERY(n) .n_queries = 1, .query_min = (n), .query_max = (n)
#define ONLY(column) .columns = 1u << (column)
#define DISTINCT(n)  .columns = 1u << COLUMN_DISTINCT | 1u << COLUMN_HALF_MISSING, .distinct = (n)

/* GCC tells of an initialiser that a later one overrides; here that is the point. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpragmas"
#pragma GCC diagnostic ignored "-Woverride-init"
#pragma GCC diagnostic ignored "-Winitializer-overrides"
static const struct check_spec table[] = {
    {BASE, .name = "plain"},
    {BASE, .name = "plain/newton", .newton = 1},
    {BASE, .name = "plain/threads1", .n_threads = 1},
    {BASE, .name = "plain/threads7", .n_threads = 7, .query_max = 200},
    /* sizes */
    {BASE, .name = "docs/1", ONE_QUERY(1), .min_docs = 1},
    {BASE, .name = "docs/1/newton", ONE_QUERY(1), .min_docs = 1, .newton = 1},
    {BASE, .name = "docs/2", ONE_QUERY(2), .min_docs = 1},
    {BASE, .name = "docs/2/one", ONE_QUERY(2), .min_docs = 1, .labels = LABELS_ONE, .newton = 1},
    {BASE, .name = "docs/3", ONE_QUERY(3), .min_docs = 1, .newton = 1},
    {BASE, .name = "docs/31", ONE_QUERY(31), .min_docs = 1},
    {BASE, .name = "docs/32", ONE_QUERY(32), .min_docs = 1},
    {BASE, .name = "docs/33", ONE_QUERY(33), .min_docs = 1},
    {BASE, .name = "docs/255", ONE_QUERY(255), .min_docs = 1},
    {BASE, .name = "docs/256", ONE_QUERY(256), .min_docs = 1},
    {BASE, .name = "docs/257", ONE_QUERY(257), .min_docs = 1},
    {BASE, .name = "docs/4095", .n_queries = 39, .query_min = 105, .query_max = 105},
    {BASE, .name = "docs/4096", .n_queries = 64, .query_min = 64, .query_max = 64},
    {BASE, .name = "docs/4097", .n_queries = 17, .query_min = 241, .query_max = 241},
    {BASE, .name = "docs/16383", .n_queries = 129, .query_min = 127, .query_max = 127, .n_trees = 2,
     .n_features = 6},
    {BASE, .name = "docs/16385", .n_queries = 565, .query_min = 29, .query_max = 29, .n_trees = 2,
     .n_features = 6, .n_threads = 7},
    {BASE, .name = "docs/65536", .n_queries = 1024, .query_min = 64, .query_max = 64, .n_trees = 1,
     .n_features = 4, .leaves = 8, .n_threads = 7, .newton = 1},
    {BASE, .name = "queries/single", .n_queries = 60, .query_min = 1, .query_max = 1},
    {BASE, .name = "queries/1-2", .n_queries = 200, .query_min = 1, .query_max = 2, .min_docs = 1},
    {BASE, .name = "query/1023", ONE_QUERY(1023)},
    {BASE, .name = "query/1024", ONE_QUERY(1024), .n_trees = 2, .truncation = 0},
    {BASE, .name = "query/1025", ONE_QUERY(1025), .n_trees = 2, .truncation = 0, .norm = 0},
    {BASE, .name = "query/2049", ONE_QUERY(2049), .newton = 1},
    {BASE, .name = "query/100000", ONE_QUERY(100000), .n_features = 3, .leaves = 4, .n_trees = 1,
     .truncation = 10},
    {BASE, .name = "query/100000/bits16", ONE_QUERY(100000), .n_features = 3, .leaves = 6,
     .n_trees = 2, .bits = 16, .newton = 1, .sigma = 100.0, .slow = 1},
    /* labels, lambdas */
    {BASE, .name = "labels/equal", .labels = LABELS_EQUAL},
    {BASE, .name = "labels/by-query", .labels = LABELS_BY_QUERY},
    {BASE, .name = "labels/one", .labels = LABELS_ONE, .newton = 1},
    {BASE, .name = "labels/real", .labels = LABELS_REAL},
    {BASE, .name = "lambda/truncation1", .truncation = 1},
    {BASE, .name = "lambda/no-norm", .norm = 0, .truncation = 0},
    {BASE, .name = "lambda/sigma-small", .sigma = 0.001},
    {BASE, .name = "lambda/sigma-large", .sigma = 100.0, .newton = 1},
    {BASE, .name = "weights/doc", .weights = WEIGHTS_DOC, .newton = 1},
    {BASE, .name = "weights/query", .weights = WEIGHTS_QUERY},
    {BASE, .name = "weights/large", .weights = WEIGHTS_LARGE, .newton = 1},
    /* columns */
    {BASE, .name = "columns/constant", ONLY(COLUMN_CONSTANT)},
    {BASE, .name = "columns/all-missing", ONLY(COLUMN_ALL_MISSING)},
    {BASE, .name = "columns/half-missing", ONLY(COLUMN_HALF_MISSING)},
    {BASE, .name = "columns/denormal", ONLY(COLUMN_DENORMAL)},
    {BASE, .name = "columns/extreme", ONLY(COLUMN_EXTREME)},
    {BASE, .name = "columns/hot", ONLY(COLUMN_HOT), .n_queries = 60, .min_docs = 1},
    {BASE, .name = "columns/hot/newton", ONLY(COLUMN_HOT), .n_queries = 60, .newton = 1},
    {BASE, .name = "columns/sparse", ONLY(COLUMN_SPARSE)},
    {BASE, .name = "columns/sparse/missing", ONLY(COLUMN_SPARSE), .absent_missing = 1},
    {BASE, .name = "columns/sparse-missing", ONLY(COLUMN_SPARSE_MISSING)},
    {BASE, .name = "columns/sparse-missing/missing", ONLY(COLUMN_SPARSE_MISSING),
     .absent_missing = 1},
    {BASE, .name = "columns/neighbours", ONLY(COLUMN_NEIGHBOURS)},
    {BASE, .name = "columns/binary-missing", ONLY(COLUMN_BINARY_MISSING), .min_docs = 1},
    {BASE, .name = "columns/high-with-missing", ONLY(COLUMN_HIGH_WITH_MISSING), .min_docs = 1,
     .n_features = 3, .leaves = 40, .n_queries = 30},
    {BASE, .name = "columns/high-with-missing/newton", ONLY(COLUMN_HIGH_WITH_MISSING),
     .min_docs = 1, .n_features = 3, .leaves = 40, .n_queries = 30, .newton = 1},
    {BASE, .name = "columns/one", .n_features = 1, ONLY(COLUMN_REAL)},
    {BASE, .name = "columns/one-gap", .n_features = 2, .first_feature = 65534},
    {BASE, .name = "columns/wide", .n_features = 1000, .first_feature = 0, .feature_gap = 65,
     .columns = 1u << COLUMN_SPARSE | 1u << COLUMN_HOT | 1u << COLUMN_CONSTANT, .leaves = 6,
     .n_trees = 2},
    {BASE, .name = "columns/31", .n_features = 31},
    {BASE, .name = "columns/32", .n_features = 32},
    {BASE, .name = "columns/33", .n_features = 33, .newton = 1},
    {BASE, .name = "columns/ignored", .ignore = 1},
    {BASE, .name = "columns/ignored/cached", .ignore = 1, .cached = 1},
    /* rows of the engine for processors: shared lanes, documents left out of passes, nodes whose
     * cells are kept and such whose are not, work divided by documents, sparse columns in rows */
    {BASE, .name = "lanes/hot",
     .columns = 1u << COLUMN_HOT | 1u << COLUMN_REAL | 1u << COLUMN_HALF_MISSING, .n_queries = 300,
     .n_features = 80, .leaves = 30, .n_trees = 2},
    {BASE, .name = "lanes/hot/newton",
     .columns = 1u << COLUMN_HOT | 1u << COLUMN_REAL | 1u << COLUMN_HALF_MISSING, .n_queries = 300,
     .n_features = 80, .leaves = 30, .n_trees = 2, .newton = 1},
    {BASE, .name = "lanes/hot/samples", .columns = 1u << COLUMN_HOT | 1u << COLUMN_REAL,
     .n_queries = 300, .n_features = 40, .leaves = 20, .n_trees = 4, .newton = 1,
     .sample_queries = 0.5, .sample_features = 0.5},
    {BASE, .name = "lanes/shared", DISTINCT(4), .n_queries = 700, .n_features = 30, .leaves = 30,
     .n_trees = 2},
    {BASE, .name = "lanes/shared/newton", DISTINCT(4), .n_queries = 700, .n_features = 30,
     .leaves = 30, .n_trees = 2, .newton = 1, .sample_features = 0.4},
    /* cells kept as one word, taken from a parent's that are not */
    {BASE, .name = "lanes/kept/bits12", .n_queries = 600, .leaves = 30, .n_trees = 2, .newton = 1,
     .bits = 12},
    {BASE, .name = "lanes/kept/missing", .columns = 1u << COLUMN_REAL | 1u << COLUMN_HALF_MISSING,
     .n_queries = 600, .leaves = 30, .n_trees = 2, .newton = 1, .bits = 12, .sample_queries = 0.8},
    /* documents that are in no histogram, few of the others: they are counted, or alone have
     * missing values */
    {BASE, .name = "idle/few-docs", .n_queries = 100, .leaves = 60, .newton = 1, .bits = 5,
     .min_docs = 20},
    {BASE, .name = "idle/missing", ONLY(COLUMN_HALF_MISSING), .n_features = 40, .n_queries = 200,
     .leaves = 200, .newton = 1, .bits = 5, .min_docs = 1, .truncation = 3},
    {BASE, .name = "idle/equal-cuts", ONLY(COLUMN_DISTINCT), .n_features = 40, .n_queries = 200,
     .leaves = 200, .newton = 1, .bits = 5, .min_docs = 4, .truncation = 3, .distinct = 205,
     .n_trees = 4},
    {BASE, .name = "idle/samples", .n_queries = 100, .leaves = 60, .newton = 1, .bits = 5,
     .min_docs = 10, .sample_queries = 0.7, .n_threads = 7},
    /* so many that threads share each run, and a chunk is of several nodes */
    {BASE, .name = "idle/large", .n_queries = 1800, .query_min = 40, .query_max = 40,
     .n_features = 12, .leaves = 60, .n_trees = 1, .newton = 1, .bits = 5, .n_threads = 7},
    {BASE, .name = "idle/large/samples", .n_queries = 1800, .query_min = 40, .query_max = 40,
     .n_features = 12, .leaves = 130, .n_trees = 1, .newton = 1, .bits = 5, .sample_queries = 0.7,
     .n_threads = 7},
    {BASE, .name = "lanes/few-sparse",
     .columns = 1u << COLUMN_REAL | 1u << COLUMN_SPARSE | 1u << COLUMN_HALF_MISSING,
     .n_queries = 400, .n_features = 24, .leaves = 60, .n_trees = 2},
    {BASE, .name = "lanes/few-sparse/wide",
     .columns = 1u << COLUMN_REAL | 1u << COLUMN_SPARSE | 1u << COLUMN_HALF_MISSING,
     .n_queries = 400, .n_features = 24, .leaves = 60, .n_trees = 2, .bins = 700, .newton = 1,
     .absent_missing = 1},
    {BASE, .name = "lanes/divided", .n_queries = 900, .n_features = 20, .leaves = 80, .n_trees = 2,
     .newton = 1},
    /* bins */
    {BASE, .name = "bins/2", .bins = 2},
    {BASE, .name = "bins/15", DISTINCT(15), .n_queries = 30},
    {BASE, .name = "bins/16", DISTINCT(16), .n_queries = 30},
    {BASE, .name = "bins/17", DISTINCT(17), .n_queries = 30, .newton = 1},
    {BASE, .name = "bins/limit15", .bins = 15, .n_queries = 30},
    {BASE, .name = "bins/limit16", .bins = 16, .n_queries = 30},
    {BASE, .name = "bins/255", DISTINCT(255), .n_queries = 100, .bins = 1024},
    {BASE, .name = "bins/256", DISTINCT(256), .n_queries = 100, .bins = 1024, .newton = 1},
    {BASE, .name = "bins/257", DISTINCT(257), .n_queries = 100, .bins = 1024},
    {BASE, .name = "bins/limit256", .bins = 256, .n_queries = 60},
    {BASE, .name = "bins/limit257", .bins = 257, .n_queries = 60, .newton = 1},
    {BASE, .name = "bins/1023", .bins = 1023, .n_queries = 120, .n_features = 8},
    {BASE, .name = "bins/1024", .bins = 1024, .n_queries = 120, .n_features = 8, .newton = 1},
    {BASE, .name = "bins/1024/distinct", .bins = 1024, DISTINCT(1024), .n_queries = 200,
     .n_features = 3},
    /* integers */
    {BASE, .name = "bits/4", .bits = 4},
    {BASE, .name = "bits/4/newton", .bits = 4, .newton = 1},
    {BASE, .name = "bits/12", .bits = 12},
    {BASE, .name = "bits/16", .bits = 16},
    {BASE, .name = "bits/16/newton", .bits = 16, .newton = 1},
    {BASE, .name = "bits/16/many", .bits = 16, .n_queries = 1800, .query_min = 40, .query_max = 40,
     .n_features = 3, .leaves = 6, .n_trees = 1}, /* 72,000 x 32,767 passes 2^31 */
    {BASE, .name = "bits/16/many/newton", .bits = 16, .n_queries = 1800, .query_min = 40,
     .query_max = 40, .n_features = 3, .leaves = 6, .n_trees = 1, .newton = 1, .n_threads = 7},
    {BASE, .name = "bits/16/one-sign", .bits = 16, .n_queries = 2000, .query_min = 40,
     .query_max = 40, .n_features = 3, .leaves = 6, .n_trees = 1, .objective = CHECK_HANDED_OVER,
     .gradients = GRADIENTS_ONE_SIGN}, /* the sums pass 2^31 */
    {BASE, .name = "nearest", .nearest = 1},
    {BASE, .name = "nearest/newton", .nearest = 1, .newton = 1, .bits = 12},
    /* rules of splits */
    {BASE, .name = "split-l2", .split_l2 = 10.0},
    {BASE, .name = "split-l2/newton", .split_l2 = 10.0, .newton = 1},
    {BASE, .name = "min-docs/1", .min_docs = 1, .leaves = 40},
    {BASE, .name = "min-docs/half", .min_docs = 100, .n_queries = 10, .query_min = 20,
     .query_max = 20},
    {BASE, .name = "min-docs/above", .min_docs = 1000000},
    {BASE, .name = "min-weight", .min_hessian = 0.5, .newton = 1},
    {BASE, .name = "min-gain", .min_gain = 0.05},
    {BASE, .name = "min-gain/huge", .min_gain = 1e30},
    /* features with a direction: every kind of column, few cells and many, narrow sums and wide */
    {BASE, .name = "monotone", .monotone = 1},
    {BASE, .name = "monotone/newton", .monotone = 2, .newton = 1, .min_docs = 1, .leaves = 30},
    {BASE, .name = "monotone/missing", .monotone = 2, .absent_missing = 1, .n_queries = 60,
     .split_l2 = 3.0},
    {BASE, .name = "monotone/bins", .monotone = 2, .bins = 1024, .n_queries = 120, .n_features = 8,
     .newton = 1, .n_threads = 7},
    {BASE, .name = "monotone/hot", .monotone = 1, .n_queries = 300, .n_features = 80, .leaves = 30,
     .columns = 1u << COLUMN_HOT | 1u << COLUMN_REAL | 1u << COLUMN_HALF_MISSING, .n_trees = 2,
     .newton = 1},
    {BASE, .name = "monotone/sparse", ONLY(COLUMN_SPARSE_MISSING), .monotone = 2,
     .absent_missing = 1, .n_queries = 60, .min_docs = 1},
    {BASE, .name = "monotone/bits16", .monotone = 2, .bits = 16, .n_queries = 1800, .query_min = 40,
     .query_max = 40, .n_features = 3, .leaves = 6, .n_trees = 1, .newton = 1},
    {BASE, .name = "monotone/sampled", .monotone = 1, .sample_queries = 0.5, .n_queries = 40,
     .sample_features = 0.5},
    {BASE, .name = "monotone/fixed", .monotone = 2, .objective = CHECK_HANDED_OVER,
     .gradients = GRADIENTS_MIXED, .split_l2 = 1.0},
    /* what depends on the node, and penalties: gains are of all sizes */
    {BASE, .name = "node/sampled", .sample_node = 0.4},
    {BASE, .name = "node/sampled/newton", .sample_node = 0.2, .newton = 1, .sample_features = 0.5,
     .n_queries = 60, .leaves = 40},
    {BASE, .name = "node/noise", .gain_noise = 2.0},
    {BASE, .name = "node/noise/newton", .gain_noise = 0.5, .newton = 1, .penalty = 0.01,
     .monotone = 1, .sample_node = 0.7},
    {BASE, .name = "node/one-feature", .sample_node = 1e-9, .n_features = 33},
    {BASE, .name = "node/groups", .groups = 3},
    {BASE, .name = "node/groups/many", .groups = 70, .n_features = 200, .newton = 1, .leaves = 30},
    {BASE, .name = "node/sparse", ONLY(COLUMN_SPARSE_MISSING), .groups = 2, .sample_node = 0.7,
     .absent_missing = 1, .n_queries = 60, .min_docs = 1},
    {BASE, .name = "node/all", .groups = 2, .sample_node = 0.8, .penalty = 0.01, .monotone = 1,
     .sample_docs = 0.8, .n_queries = 60, .bins = 300, .n_threads = 7},
    {BASE, .name = "penalty", .penalty = 0.02},
    {BASE, .name = "penalty/newton", .penalty = 0.2, .newton = 1, .min_docs = 1, .leaves = 40},
    {BASE, .name = "penalty/tiny", .penalty = 1e-6, .n_queries = 60},
    {BASE, .name = "penalty/huge", .penalty = 1e30, .n_queries = 60},
    {BASE, .name = "penalty/bins", .penalty = 0.05, .bins = 1024, .n_queries = 120, .n_features = 8,
     .newton = 1, .n_threads = 7},
    {BASE, .name = "penalty/monotone", .penalty = 0.02, .monotone = 2, .absent_missing = 1,
     .n_queries = 60, .split_l2 = 3.0},
    {BASE, .name = "penalty/hot", .penalty = 0.1, .n_queries = 300, .n_features = 80, .leaves = 30,
     .columns = 1u << COLUMN_HOT | 1u << COLUMN_REAL | 1u << COLUMN_HALF_MISSING, .n_trees = 2},
    {BASE, .name = "penalty/custom", .penalty = 1e6, .objective = CHECK_HANDED_OVER,
     .gradients = GRADIENTS_HUGE, .newton = 1},
    {BASE, .name = "penalty/min-gain", .penalty = 0.02, .min_gain = 0.01},
    /* categories: each code is a bit of a set's words; numbers of categories next to a power of
     * two; and one code for missing values that exceeds 8 bits */
    {BASE, .name = "categories", .categories = 20},
    {BASE, .name = "categories/newton", .categories = 20, .newton = 1, .n_queries = 60,
     .leaves = 40, .min_docs = 1},
    {BASE, .name = "categories/2", .categories = 2},
    {BASE, .name = "categories/3", .categories = 3, .min_docs = 1, .split_l2 = 2.0},
    {BASE, .name = "categories/15", .categories = 15, .bins = 15, .n_queries = 40},
    {BASE, .name = "categories/16", .categories = 16, .bins = 15, .n_queries = 40, .newton = 1},
    {BASE, .name = "categories/33", .categories = 33, .n_queries = 40, .absent_missing = 1},
    {BASE, .name = "categories/255", .categories = 255, .n_queries = 200, .split_l2 = 3.0,
     .leaves = 30, .min_docs = 1},
    {BASE, .name = "categories/256", .categories = 256, .n_queries = 400, .newton = 1,
     .split_l2 = 1.0, .leaves = 60, .n_threads = 7},
    {BASE, .name = "categories/256/one", .categories = 256, .n_queries = 100, .n_features = 1},
    {BASE, .name = "categories/257", .categories = 257, .n_queries = 200, .min_docs = 2},
    {BASE, .name = "categories/700", .categories = 700, .n_queries = 300, .newton = 1,
     .absent_missing = 1, .leaves = 40, .min_docs = 1},
    {BASE, .name = "categories/1024", .categories = 1024, .n_queries = 400, .split_l2 = 2.0,
     .leaves = 60, .min_docs = 1, .n_threads = 7},
    {BASE, .name = "categories/1024/one", .categories = 1024, .n_queries = 150, .n_features = 1},
    {BASE, .name = "categories/bins", .categories = 200, .bins = 1024, .n_queries = 120,
     .min_hessian = 0.01, .newton = 1},
    {BASE, .name = "categories/many", .categories = 60, .n_features = 300, .n_trees = 2,
     .columns = 1u << COLUMN_HOT | 1u << COLUMN_REAL, .leaves = 30},
    {BASE, .name = "categories/bits16", .categories = 30, .bits = 16, .n_queries = 1800,
     .query_min = 40, .query_max = 40, .n_features = 3, .leaves = 30, .n_trees = 1, .newton = 1},
    {BASE, .name = "categories/one-sign", .categories = 30, .bits = 16, .n_queries = 2000,
     .query_min = 40, .query_max = 40, .n_features = 3, .leaves = 6, .n_trees = 1,
     .objective = CHECK_HANDED_OVER, .gradients = GRADIENTS_ONE_SIGN},
    {BASE, .name = "categories/sampled", .categories = 40, .sample_docs = 0.6,
     .sample_queries = 0.8, .sample_features = 0.6, .n_queries = 60, .min_docs = 1},
    {BASE, .name = "categories/noise", .categories = 40, .gain_noise = 1.0},
    {BASE, .name = "categories/node", .categories = 40, .groups = 3, .sample_node = 0.6,
     .n_queries = 60, .newton = 1},
    {BASE, .name = "categories/penalty", .categories = 40, .penalty = 0.02, .n_queries = 60,
     .min_gain = 0.001},
    {BASE, .name = "categories/shape", .categories = 100, .penalty = 0.02, .groups = 2,
     .monotone = 2, .n_queries = 80, .newton = 1, .sample_docs = 0.8, .split_l2 = 2.0},
    {BASE, .name = "categories/cached", .categories = 100, .cached = 1, .n_queries = 60},
    {BASE, .name = "categories/regression", .categories = 50, .objective = CHECK_REGRESSION,
     .n_queries = 60, .min_docs = 1, .leaves = 60},
    {BASE, .name = "categories/large", .categories = 120, .n_queries = 2500, .query_min = 30,
     .query_max = 34, .n_features = 8, .n_trees = 2, .leaves = 60, .n_threads = 7},
    /* symmetric trees */
    {BASE, .name = "symmetric", .symmetric = 1, .leaves = 64},
    {BASE, .name = "symmetric/newton", .symmetric = 1, .leaves = 64, .newton = 1, .min_docs = 1},
    {BASE, .name = "symmetric/min-docs", .symmetric = 1, .leaves = 64, .min_docs = 20,
     .n_queries = 60, .min_hessian = 0.05, .newton = 1},
    {BASE, .name = "symmetric/one-doc", ONE_QUERY(1), .symmetric = 1, .min_docs = 1, .leaves = 8},
    {BASE, .name = "symmetric/few-docs", ONE_QUERY(9), .symmetric = 1, .min_docs = 1, .leaves = 256,
     .n_threads = 7},
    {BASE, .name = "symmetric/missing", .symmetric = 1, .absent_missing = 1, .leaves = 64,
     .columns = 1u << COLUMN_HALF_MISSING | 1u << COLUMN_HIGH_WITH_MISSING | 1u << COLUMN_SPARSE,
     .n_queries = 60},
    {BASE, .name = "symmetric/sparse", ONLY(COLUMN_SPARSE), .symmetric = 1, .leaves = 64,
     .n_queries = 60, .newton = 1},
    {BASE, .name = "symmetric/equal", ONLY(COLUMN_BINARY_MISSING), .symmetric = 1, .leaves = 64,
     .min_docs = 1},
    {BASE, .name = "symmetric/bits16", .symmetric = 1, .bits = 16, .n_queries = 1800,
     .query_min = 40, .query_max = 40, .n_features = 3, .leaves = 64, .n_trees = 1, .newton = 1},
    {BASE, .name = "symmetric/wide", .symmetric = 1, .bits = 16, .n_queries = 2000, .query_min = 40,
     .query_max = 40, .n_features = 3, .leaves = 16, .n_trees = 1, .objective = CHECK_HANDED_OVER,
     .gradients = GRADIENTS_ONE_SIGN},
    {BASE, .name = "symmetric/bits12", .symmetric = 1, .n_queries = 600, .leaves = 64, .n_trees = 2,
     .newton = 1, .bits = 12, .bins = 300, .n_threads = 7},
    {BASE, .name = "symmetric/shape", .symmetric = 1, .leaves = 64, .n_queries = 60, .monotone = 2,
     .groups = 3, .penalty = 0.02, .sample_node = 0.5, .sample_docs = 0.7, .sample_queries = 0.8},
    {BASE, .name = "symmetric/shape/newton", .symmetric = 1, .leaves = 64, .n_queries = 60,
     .monotone = 1, .penalty = 0.02, .sample_features = 0.5, .split_l2 = 2.0, .newton = 1,
     .min_docs = 1, .min_gain = 0.001},
    {BASE, .name = "symmetric/categories", .symmetric = 1, .categories = 20, .leaves = 64,
     .n_queries = 60, .min_docs = 1},
    {BASE, .name = "symmetric/categories/newton", .symmetric = 1, .categories = 300, .leaves = 64,
     .n_queries = 200, .newton = 1, .penalty = 0.01, .n_threads = 7},
    {BASE, .name = "symmetric/categories/1024", .symmetric = 1, .categories = 1024, .leaves = 32,
     .n_queries = 300, .absent_missing = 1, .n_features = 3, .min_docs = 2},
    {BASE, .name = "symmetric/large", .symmetric = 1, .n_queries = 2500, .query_min = 30,
     .query_max = 34, .n_features = 8, .n_trees = 2, .leaves = 64, .n_threads = 7},
    /* samples */
    {BASE, .name = "sample/docs", .sample_docs = 0.5, .n_queries = 40},
    {BASE, .name = "sample/docs/newton", .sample_docs = 0.3, .sample_queries = 0.6,
     .n_queries = 900, .newton = 1, .n_threads = 7, .n_trees = 2},
    {BASE, .name = "sample/one-doc", .sample_docs = 1e-9, .min_docs = 1},
    {BASE, .name = "sample/one-doc/query", .sample_docs = 1e-9, .sample_queries = 0.0,
     .min_docs = 1},
    {BASE, .name = "sample/docs/regression", .sample_docs = 0.5, .objective = CHECK_REGRESSION},
    {BASE, .name = "sample/docs/fixed", .sample_docs = 0.5, .objective = CHECK_HANDED_OVER,
     .gradients = GRADIENTS_FIXED, .newton = 1, .weights = WEIGHTS_DOC, .sample_queries = 0.7},
    {BASE, .name = "sample/queries", .sample_queries = 0.5, .n_queries = 40},
    {BASE, .name = "sample/one-query", .sample_queries = 0.0, .n_queries = 40, .min_docs = 1},
    {BASE, .name = "sample/features", .sample_features = 0.5},
    {BASE, .name = "sample/one-feature", .sample_features = 0.0, .newton = 1},
    {BASE, .name = "sample/both", .sample_queries = 0.3, .sample_features = 0.3, .n_queries = 60,
     .bins = 300, .newton = 1},
    /* caches */
    {BASE, .name = "cached", .cached = 1},
    {BASE, .name = "cached/min-docs", .cached = 1, .min_docs = 60},
    {BASE, .name = "cached/missing", .cached = 1, .absent_missing = 1, .bins = 300},
    /* other gradients */
    {BASE, .name = "regression", .objective = CHECK_REGRESSION},
    {BASE, .name = "regression/newton", .objective = CHECK_REGRESSION, .newton = 1,
     .weights = WEIGHTS_DOC},
    {BASE, .name = "regression/large", .objective = CHECK_REGRESSION, .weights = WEIGHTS_LARGE,
     .sample_queries = 0.5},
    {BASE, .name = "custom", .objective = CHECK_HANDED_OVER},
    {BASE, .name = "custom/huge", .objective = CHECK_HANDED_OVER, .gradients = GRADIENTS_HUGE,
     .newton = 1},
    {BASE, .name = "custom/tiny", .objective = CHECK_HANDED_OVER, .gradients = GRADIENTS_TINY,
     .newton = 1},
    {BASE, .name = "custom/zero", .objective = CHECK_HANDED_OVER, .gradients = GRADIENTS_ZERO,
     .newton = 1},
    {BASE, .name = "custom/mixed", .objective = CHECK_HANDED_OVER, .gradients = GRADIENTS_MIXED,
     .newton = 1, .weights = WEIGHTS_DOC},
    {BASE, .name = "custom/fixed", .objective = CHECK_HANDED_OVER, .gradients = GRADIENTS_FIXED,
     .newton = 1, .weights = WEIGHTS_DOC, .sample_queries = 0.5},
    /* over the number of documents whose values all decide ranks */
    {BASE, .name = "cuts/sampled", .n_queries = 3000, .query_min = 90, .query_max = 90,
     .n_features = 8,
     .columns = 1u << COLUMN_REAL | 1u << COLUMN_SPARSE | 1u << COLUMN_HALF_MISSING, .leaves = 4,
     .n_trees = 1, .slow = 1},
    {BASE, .name = "docs/1000000", .n_queries = 10000, .query_min = 100, .query_max = 100,
     .n_features = 6, .leaves = 16, .n_trees = 2, .slow = 1, .n_threads = 7},
};
#pragma GCC diagnostic pop

static uint32_t pick(struct check_random *random, const uint32_t *from, uint32_t n)
{
    return from[check_below(random, n)];
}

static void random_spec(uint64_t seed, struct check_spec *s)
{
    static const uint32_t bins[] = {2, 3, 15, 16, 17, 63, 255, 256, 257, 300, 1024};
    static const uint32_t bits[] = {4, 5, 8, 12, 16}, threads[] = {1, 2, 7};
    static const uint32_t min_docs[] = {1, 1, 2, 5, 20}, truncation[] = {0, 1, 3, 10, 30};
    struct check_random random = {seed, 1u << 20};
    *s = (struct check_spec){BASE};
    s->n_queries = 1 + check_below(&random, 40);
    s->query_min = 1 + check_below(&random, 10);
    s->query_max = s->query_min + check_below(&random, 60);
    s->n_features = 1 + check_below(&random, 40);
    s->first_feature = check_below(&random, 300);
    s->feature_gap = 1 + check_below(&random, 5);
    s->columns = check_chance(&random, 0.5) ? 0 : 1 + check_below(&random, (1u << N_COLUMNS) - 1);
    s->distinct = 1 + check_below(&random, 30);
    s->labels = (enum check_labels)check_below(&random, 5);
    s->weights = (enum check_weights)check_below(&random, 4);
    s->gradients = (enum check_gradients)check_below(&random, N_GRADIENTS);
    s->objective = check_chance(&random, 0.7) ? CHECK_LAMBDARANK
                                              : (enum check_objective)check_below(&random, 3);
    s->newton = (int)check_below(&random, 2);
    s->nearest = (int)check_below(&random, 2);
    s->bits = (int)pick(&random, bits, 5);
    s->bins = (int)pick(&random, bins, 11);
    s->absent_missing = (int)check_below(&random, 2);
    s->norm = (int)check_below(&random, 2);
    s->cached = check_chance(&random, 0.3);
    s->ignore = check_chance(&random, 0.1);
    s->sigma = check_chance(&random, 0.7) ? 1.0 : 0.1 + check_unit(&random);
    s->split_l2 = check_chance(&random, 0.7) ? 0.0 : check_unit(&random) * 20.0;
    s->min_hessian = check_chance(&random, 0.9) ? 0.0 : check_unit(&random) * 0.1;
    s->sample_queries = check_chance(&random, 0.6) ? 1.0 : check_unit(&random);
    s->sample_features = check_chance(&random, 0.6) ? 1.0 : check_unit(&random);
    s->truncation = pick(&random, truncation, 5);
    s->min_docs = pick(&random, min_docs, 5);
    s->leaves = 2 + check_below(&random, 40);
    s->n_trees = 1 + check_below(&random, 4);
    s->n_threads = (int)pick(&random, threads, 3);
    s->monotone = check_chance(&random, 0.7) ? 0 : 1 + (int)check_below(&random, 2);
    s->groups = check_chance(&random, 0.7) ? 0 : 1 + (int)check_below(&random, 80);
    s->penalty = check_chance(&random, 0.7) ? 0.0 : exp2(check_unit(&random) * 30.0 - 20.0);
    s->sample_docs = check_chance(&random, 0.7) ? 0.0 : check_unit(&random);
    s->sample_node = check_chance(&random, 0.7) ? 0.0 : check_unit(&random);
    s->gain_noise = check_chance(&random, 0.6) ? 0.0 : exp2(check_unit(&random) * 10.0 - 5.0);
    s->categories = check_chance(&random, 0.6)   ? 0
                    : check_chance(&random, 0.8) ? 2 + (int)check_below(&random, 255)
                                                 : 257 + (int)check_below(&random, 768);
    s->symmetric = check_chance(&random, 0.3);
}

int check_spec_at(int i, int n_random, uint64_t seed, struct check_spec *out)
{
    static char name[32];
    const int n_table = (int)(sizeof(table) / sizeof(table[0]));
    if (i >= n_table + n_random)
        return 0;
    if (i < n_table) {
        *out = table[i];
        return 1;
    }
    random_spec(seed * 7919 + (uint64_t)i, out);
    snprintf(name, sizeof(name), "random/%d", i - n_table);
    out->name = name;
    return 1;
}
