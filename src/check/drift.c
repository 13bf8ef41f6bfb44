/* Implements rw_drift_measure. Each row, such as a feature, compares the values of the documents of
 * two sets (of the queries, for query lengths) by two statistics.
 *
 * The population stability index (PSI) compares fractions of documents per bin. Bins of numbers
 * come from the reference: its values if it has at most ten, else its deciles. A value that fills a
 * decile is a bin of its own, as are missing values, and values below and above the reference's
 * range. Each category of the reference is a bin, and categories that it lacks are one bin. A
 * fraction below half an independent document counts as that, because the logarithm of 0 is
 * infinite.
 *
 * The Kolmogorov-Smirnov distance (KS) is the largest difference between the two distribution
 * functions, where missing values are below all others. Categories have no order, so no distance.
 *
 * Counts are integers and are added in a fixed order, so results do not depend on threads. */
#include "check/drift.h"

#include "base/exact.h"

enum { DECILES = 10, MOST_BOUNDS = 2 * DECILES + 3 };

/* Large by convention (PSI), and the KS of a normal distribution that shifts by as much as that. */
#define LARGE_PSI 0.25
#define LARGE_KS  0.2
/* One in 1,000 comparisons of equal distributions exceeds these: the quantile of the normal
 * distribution, and that of Kolmogorov's. */
#define NORMAL_999     3.0902323061678132
#define KOLMOGOROV_999 1.9494746
#define LN2            0.6931471805599453

struct job {
    const struct rw_dataset *const *set; /* [2] the data, the reference */
    double *scores[2];                   /* [documents] by set; NULL without a model */
    /* Sums of 1 / n over the sets, where n is the number of queries, or that of independent
     * documents: documents of a query are alike, so n = (sum of lengths)^2 / sum of squares. */
    double per_query, per_doc;
    struct rw_drift *row; /* in the order of enum first, then features */
};
enum first { LABELS, LENGTHS, SCORES };

/* Scratch arrays of a thread, as long as the larger set has documents. */
struct space {
    float *value;
    uint32_t *key[3];    /* sorted keys of each set's values; scratch */
    uint32_t n_known[2]; /* number of each set's values that are not missing */
};

size_t rw_sort_values(const float *value, size_t n, uint32_t *key, uint32_t *scratch)
{
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        if (value[i] == value[i])
            key[kept++] = rw_key_of_float(value[i]);
    }
    if (kept > 1)
        rw_sort_keys(key, scratch, kept);
    return kept;
}

/* ---- statistics ---- */

struct psi {
    uint32_t n[2]; /* number of values by set */
    double floor;  /* smaller fractions count as this one */
    double sum;    /* of the bins so far, with logarithms to base 2 */
    int n_bins;    /* bins with a larger fraction in one of the sets */
};

static void add_bin(struct psi *psi, uint32_t in_data, uint32_t in_reference)
{
    const double p = fmax((double)in_data / psi->n[0], psi->floor);
    const double q = fmax((double)in_reference / psi->n[1], psi->floor);
    psi->sum += (p - q) * rw_log2(p / q);
    psi->n_bins += p > psi->floor || q > psi->floor;
}

/* Adds a bin boundary at `key`, as the largest key of a bin. alone: 1 if no other value shares its
 * bin. Boundaries are added in ascending order. */
static void add_bound(uint32_t key, int alone, uint32_t *bound, int *n)
{
    if (alone && (*n == 0 || bound[*n - 1] < key - 1))
        bound[(*n)++] = key - 1;
    if (*n == 0 || bound[*n - 1] < key)
        bound[(*n)++] = key;
}

/* Finds the boundaries of the bins, the last of which is UINT32_MAX. key: [n], ascending, of the
 * reference. bound: [MOST_BOUNDS]. Returns their number. */
static int find_bounds(const uint32_t *key, size_t n, uint32_t *bound)
{
    size_t n_distinct = n > 0;
    int n_bounds = 0;
    for (size_t i = 1; i < n && n_distinct <= DECILES; i++)
        n_distinct += key[i] != key[i - 1];
    if (n_distinct <= DECILES) {
        for (size_t i = 0; i < n; i++)
            add_bound(key[i], 1, bound, &n_bounds);
        add_bound(UINT32_MAX, 0, bound, &n_bounds);
        return n_bounds;
    }
    add_bound(key[0] - 1, 0, bound, &n_bounds);
    for (size_t d = 1; d <= DECILES; d++) {
        const uint32_t at = key[(d * n + DECILES - 1) / DECILES - 1];
        const size_t next = d < DECILES ? d + 1 : d - 1;
        add_bound(at, key[(next * n + DECILES - 1) / DECILES - 1] == at, bound, &n_bounds);
    }
    add_bound(UINT32_MAX, 0, bound, &n_bounds);
    return n_bounds;
}

static void compare_numbers(const struct space *space, struct psi *psi, struct rw_drift *row)
{
    const uint32_t *const a = space->key[0], *const b = space->key[1];
    const uint32_t n = space->n_known[0], m = space->n_known[1];
    const uint32_t lacking[2] = {psi->n[0] - n, psi->n[1] - m};
    uint32_t bound[MOST_BOUNDS], from[2] = {0, 0};
    const int n_bounds = find_bounds(b, m, bound);
    add_bin(psi, lacking[0], lacking[1]);
    for (int i = 0; i < n_bounds; i++) {
        const uint32_t to[2] = {rw_numbers_under(a, n, bound[i] + UINT64_C(1)),
                                rw_numbers_under(b, m, bound[i] + UINT64_C(1))};
        add_bin(psi, to[0] - from[0], to[1] - from[1]);
        from[0] = to[0];
        from[1] = to[1];
    }
    row->ks = fabs((double)lacking[0] / psi->n[0] - (double)lacking[1] / psi->n[1]);
    for (uint32_t i = 0, j = 0; i < n && j < m;) {
        const uint32_t at = a[i] < b[j] ? a[i] : b[j];
        while (i < n && a[i] == at)
            i++;
        while (j < m && b[j] == at)
            j++;
        row->ks = fmax(row->ks, fabs((double)(lacking[0] + i) / psi->n[0] -
                                     (double)(lacking[1] + j) / psi->n[1]));
    }
}

/* ---- categories ---- */

/* A category and its number of documents in each set. Categories are matched by their text, as the
 * numbers of one set mean nothing in the other. */
struct counted {
    const char *word;
    uint32_t n_docs[2];
};

/* Appends the categories of `feature` that occur in a set to `words`. The category "0" is always
 * appended, for documents without the feature. words: [*n]. */
static void count_words(const struct rw_dataset *dataset, uint32_t feature, int set,
                        struct counted *words, size_t *n)
{
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    const uint32_t n_words = column ? rw_vocabulary_n(dataset->vocabulary) : 0;
    struct counted *zero = &words[(*n)++], *of = zero + 1;
    *zero = (struct counted){.word = "0"};
    zero->n_docs[set] = dataset->n_docs;
    for (uint32_t k = 0; k < n_words; k++)
        of[k] = (struct counted){.word = rw_vocabulary_word(dataset->vocabulary, k)};
    for (uint32_t i = 0; column && i < column->n; i++) {
        const float value = column->value[i];
        zero->n_docs[set] -= !rw_is_absent(value);
        if (value == value)
            of[(uint32_t)value].n_docs[set]++;
    }
    for (uint32_t k = 0; k < n_words; k++) {
        if (of[k].n_docs[set] > 0)
            words[(*n)++] = of[k];
    }
}

/* Compares categories. Stores in row->moved the one whose fraction differs most; of equal
 * differences, the first by its bytes. */
static int compare_words(const struct job *job, struct space *space, struct psi *psi,
                         struct rw_drift *row)
{
    RW_FREED struct counted *words = NULL;
    size_t n_words = 0, room = 2;
    uint32_t n_new = 0, *const n_known = space->n_known;
    double most = 0.0;
    n_known[0] = n_known[1] = 0;
    for (int k = 0; k < 2; k++)
        room += job->set[k]->vocabulary ? rw_vocabulary_n(job->set[k]->vocabulary) : 0;
    RW_TRY(RW_NEW_RAW(NULL, words, room));
    for (int k = 0; k < 2; k++)
        count_words(job->set[k], row->feature, k, words, &n_words);
    RW_SORT(words, n_words, rw_by_text);
    for (size_t i = 0; i < n_words;) {
        const char *word = words[i].word;
        uint32_t n[2] = {0, 0};
        for (; i < n_words && strcmp(words[i].word, word) == 0; i++) {
            n[0] += words[i].n_docs[0];
            n[1] += words[i].n_docs[1];
        }
        n_known[0] += n[0];
        n_known[1] += n[1];
        if (n[1] > 0)
            add_bin(psi, n[0], n[1]);
        else
            n_new += n[0];
        const double from = (double)n[1] / psi->n[1], to = (double)n[0] / psi->n[0];
        if (fabs(to - from) > most) {
            most = fabs(to - from);
            row->moved = word;
            row->moved_from = from;
            row->moved_to = to;
        }
    }
    add_bin(psi, n_new, 0);
    add_bin(psi, psi->n[0] - n_known[0], psi->n[1] - n_known[1]); /* missing */
    return RW_OK;
}

/* ---- rows ---- */

/* Writes the numbers that a row compares to values, one per document or query. */
static void copy_values(const struct job *job, int set, const struct rw_drift *row, float *values)
{
    const struct rw_dataset *dataset = job->set[set];
    if (row->name) {
        rw_dataset_feature(dataset, row->feature, 0, values);
    } else if (row == job->row + LABELS) {
        memcpy(values, dataset->label, dataset->n_docs * sizeof(*values));
    } else if (row == job->row + SCORES) {
        for (uint32_t i = 0; i < dataset->n_docs; i++)
            values[i] = (float)job->scores[set][i] + 0.0f; /* not -0 */
    } else {
        for (uint32_t q = 0; q < dataset->n_queries; q++)
            values[q] = (float)(dataset->query_offset[q + 1] - dataset->query_offset[q]);
    }
}

/* Fills in a row. Chance exceeds the limit of PSI as often as a chi-squared distribution does
 * (Wilson and Hilferty's approximation). */
static int compare_row(const struct job *job, struct space *space, struct rw_drift *row)
{
    const int by_query = row == job->row + LENGTHS;
    const double per = by_query ? job->per_query : job->per_doc;
    struct psi psi = {.floor = per / 4.0};
    int words[2];
    for (int k = 0; k < 2; k++) {
        psi.n[k] = by_query ? job->set[k]->n_queries : job->set[k]->n_docs;
        words[k] = row->name && rw_vocabulary_has(job->set[k]->vocabulary, row->feature);
    }
    if (!row->only_in && words[0] != words[1])
        return RW_OK;
    if (words[row->only_in == 2]) {
        RW_TRY(compare_words(job, space, &psi, row));
    } else {
        for (int k = 0; k < 2; k++) {
            copy_values(job, k, row, space->value);
            space->n_known[k] =
                (uint32_t)rw_sort_values(space->value, psi.n[k], space->key[k], space->key[2]);
        }
        compare_numbers(space, &psi, row);
    }
    row->missing = (double)(psi.n[0] - space->n_known[0]) / psi.n[0];
    row->missing_reference = (double)(psi.n[1] - space->n_known[1]) / psi.n[1];
    row->psi = psi.sum * LN2;
    const double freedom = psi.n_bins > 1 ? psi.n_bins - 1 : 1, part = 2.0 / (9.0 * freedom);
    const double root = 1.0 - part + NORMAL_999 * sqrt(part);
    row->psi_limit = fmax(LARGE_PSI, freedom * root * root * root * per);
    row->ks_limit = fmax(LARGE_KS, KOLMOGOROV_999 * sqrt(per));
    row->is_large = row->psi > row->psi_limit || row->ks > row->ks_limit;
    return RW_OK;
}

static int compare_some(void *user, struct rw_share *share)
{
    const struct job *job = user;
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct space space;
    const size_t n =
        job->set[0]->n_docs > job->set[1]->n_docs ? job->set[0]->n_docs : job->set[1]->n_docs;
    RW_TRY(RW_ARENA_NEW(NULL, &arena, space.value, n));
    for (int k = 0; k < 3; k++)
        RW_TRY(RW_ARENA_NEW(NULL, &arena, space.key[k], n));
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        RW_TRY(compare_row(job, &space, &job->row[i]));
    return RW_OK;
}

/* Adds a row for each feature that occurs in one of the sets. */
static int list_features(struct rw_ctx *ctx, struct rw_arena *arena,
                         const struct rw_dataset *const set[2], const struct rw_model *model,
                         struct rw_drift *rows, uint32_t *n)
{
    char id[16];
    for (uint32_t i = 0, j = 0; i < set[0]->n_columns || j < set[1]->n_columns;) {
        const uint32_t a = i < set[0]->n_columns ? set[0]->column[i].feature : UINT32_MAX;
        const uint32_t b = j < set[1]->n_columns ? set[1]->column[j].feature : UINT32_MAX;
        struct rw_drift *row = &rows[(*n)++];
        row->feature = a < b ? a : b;
        row->only_in = a == b ? 0 : a < b ? 1 : 2;
        const char *name = rw_dataset_feature_name(set[b < a], row->feature);
        name = *name || !model ? name : rw_model_feature_name(model, row->feature);
        snprintf(id, sizeof(id), "%u", row->feature);
        RW_TRY(rw_arena_text(ctx, arena, &row->name, *name ? name : id));
        i += a <= b;
        j += b <= a;
    }
    return RW_OK;
}

/* Sorts features by falling PSI. Those that were not compared are last. */
static int by_drift(const void *a, const void *b)
{
    const struct rw_drift *x = a, *y = b;
    const double left = fmax(x->psi, -1.0), right = fmax(y->psi, -1.0); /* -1 for NaN */
    if (left != right)
        return left > right ? -1 : 1;
    return x->feature < y->feature ? -1 : x->feature > y->feature;
}

/* Prepares the job's rows and scores. */
static int prepare(struct rw_ctx *ctx, struct rw_arena *arena, const struct rw_model *model,
                   struct job *job, uint32_t *n)
{
    static const char *const names[] = {"labels", "query lengths", "scores"};
    const struct rw_dataset *const *set = job->set;
    const size_t most = 3 + (size_t)set[0]->n_columns + set[1]->n_columns;
    RW_TRY(RW_ARENA_NEW(ctx, arena, job->row, most));
    *n = model ? 3 : 2;
    for (size_t i = 0; i < most; i++) {
        struct rw_drift *row = &job->row[i];
        row->of = i < *n ? names[i] : "feature";
        row->psi = row->ks = row->psi_limit = row->ks_limit = (double)NAN;
        row->moved_from = row->moved_to = (double)NAN;
    }
    for (int k = 0; k < 2; k++) {
        double squares = 0.0;
        for (uint32_t q = 0; q < set[k]->n_queries; q++) {
            const double length = set[k]->query_offset[q + 1] - set[k]->query_offset[q];
            squares += length * length;
        }
        job->per_query += 1.0 / set[k]->n_queries;
        job->per_doc += squares / ((double)set[k]->n_docs * set[k]->n_docs);
        if (model) {
            RW_TRY(RW_ARENA_NEW(ctx, arena, job->scores[k], set[k]->n_docs));
            RW_TRY(rw_predict(ctx, model, set[k], 0, job->scores[k]));
        }
    }
    return list_features(ctx, arena, set, model, job->row, n);
}

int rw_drift_measure(struct rw_ctx *ctx, struct rw_arena *arena,
                     const struct rw_dataset *const set[2], const struct rw_model *model,
                     struct rw_drift **out, uint32_t *n)
{
    struct job job = {.set = set};
    RW_TRY(prepare(ctx, arena, model, &job, n));
    const int status = rw_parallel(ctx, ctx->n_threads, *n, 1, compare_some, &job);
    if (status < 0)
        return rw_fail_memory(ctx, status, "out of memory while comparing two data sets");
    RW_SORT(job.row + (model ? 3 : 2), *n - (model ? 3 : 2), by_drift);
    *out = job.row;
    return RW_OK;
}
