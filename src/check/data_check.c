/* Implements rw_check_new: reads data, looks for properties that make training worse, and reports
 * findings, one line of text each. Examples are identifiers, leaks (features or an order of the
 * documents that reveal labels), duplicates, and drift (check/drift.h). Absent values count as 0,
 * as in training by default, or as a category of their own. */
#include <stdlib.h>

#include "check/drift.h"
#include "io/data_format.h"
#include "metric/metric.h"

/* Thresholds for findings. They are first guesses, made on MQ2008, OHSUMED and synthetic data. */
/* number of distinct values per document, or per query, from which a feature is an identifier */
#define RW_CHECK_DISTINCT 0.9
/* identifiers are looked for only in data of at least this many documents; identifiers of queries
 * only if it also has at least half this number (25) of queries */
#define RW_CHECK_LEAST_DOCS 50
/* for constant scores: difference of NDCG@10 between ties in input order and averaged */
#define RW_CHECK_TIES_LEAK 0.05
#define RW_CHECK_MISSING   0.5 /* fraction of documents in which a feature's value is missing */

/* A list of names for a message, such as "7, 9 and 2 more". */
struct names {
    uint32_t n; /* number of names, including those in "and 2 more" */
    size_t at;  /* end of the last name in `text` */
    char text[400];
};

/* A data set, whose features are checked one at a time. */
struct job {
    const struct rw_dataset *dataset;
    uint32_t longest; /* documents of the longest query */
    uint64_t *hash;   /* [n_columns] hash of each feature's values, to find duplicates */
    struct rw_feature_check *features; /* [n_columns] */
};

/* Scratch arrays of a thread. */
struct space {
    float *value;            /* [n_docs] values of a feature, 0 in place of absent ones */
    uint32_t *key, *scratch; /* [n_docs] sorted keys of the values that are not missing */
    double *score;           /* [longest] a query's values, as scores */
    uint32_t *order;         /* [longest] its documents, sorted by score */
};

static int space_init(const struct job *job, struct rw_arena *arena, struct space *space)
{
    const size_t n = job->dataset->n_docs;
    RW_TRY(RW_ARENA_NEW(NULL, arena, space->value, n));
    RW_TRY(RW_ARENA_NEW(NULL, arena, space->key, n));
    RW_TRY(RW_ARENA_NEW(NULL, arena, space->scratch, n));
    RW_TRY(RW_ARENA_NEW(NULL, arena, space->score, job->longest));
    return RW_ARENA_NEW(NULL, arena, space->order, job->longest);
}

/* Returns 1 if the feature sorts the documents of every query by label, all in the same direction.
 * At least ten queries must have documents with different labels. Equal values of documents with
 * different labels, and missing values, count as unsorted. */
static int orders_labels(const struct job *job, const float *value, const struct space *space)
{
    const struct rw_dataset *dataset = job->dataset;
    int falls = 1, rises = 1;
    uint32_t n_mixed = 0;
    for (uint32_t q = 0; q < dataset->n_queries && (falls || rises); q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        const float *label = dataset->label + begin;
        for (uint32_t i = 0; i < n; i++) {
            if (value[begin + i] != value[begin + i])
                return 0;
            space->score[i] = (double)value[begin + i];
        }
        rw_rank_query(space->score, n, 0, space->order);
        int mixed = 0;
        for (uint32_t r = 1; r < n; r++) {
            const uint32_t above = space->order[r - 1], below = space->order[r];
            const int equal = space->score[above] == space->score[below];
            falls &= !(label[above] < label[below]) && !(equal && label[above] != label[below]);
            rises &= !(label[above] > label[below]) && !(equal && label[above] != label[below]);
            mixed |= label[above] != label[below];
        }
        n_mixed += (uint32_t)mixed;
    }
    return n_mixed >= 10 && (falls || rises);
}

/* Returns an enum rw_identifies for a feature. value: [n_docs]. n_distinct: the number of distinct
 * values. */
static int identifies(const struct job *job, const float *value, uint32_t n_distinct)
{
    const struct rw_dataset *dataset = job->dataset;
    uint32_t up = 0, changes = 0, within = 0;
    if (dataset->n_docs < RW_CHECK_LEAST_DOCS)
        return RW_IDENTIFIES_NOTHING;
    for (uint32_t i = 0; i < dataset->n_docs; i++) {
        if (value[i] != floorf(value[i])) /* also true of NaN */
            return RW_IDENTIFIES_NOTHING;
    }
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], end = dataset->query_offset[q + 1];
        for (uint32_t i = begin + (begin == 0); i < end; i++) {
            up += value[i] > value[i - 1];
            changes += value[i] != value[i - 1];
            within += i > begin && value[i] != value[i - 1];
        }
    }
    if ((double)n_distinct >= RW_CHECK_DISTINCT * dataset->n_docs)
        return up == changes || up == 0 ? RW_IDENTIFIES_LINE : RW_IDENTIFIES_DOCUMENT;
    const int by_query = within == 0 && dataset->n_queries >= RW_CHECK_LEAST_DOCS / 2 &&
                         (double)n_distinct >= RW_CHECK_DISTINCT * dataset->n_queries;
    return by_query ? RW_IDENTIFIES_QUERY : RW_IDENTIFIES_NOTHING;
}

static uint64_t hash_values(const float *value, uint32_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (uint32_t i = 0; i < n; i++)
        hash = (hash ^ rw_bits_of_float(value[i])) * UINT64_C(0x9e3779b97f4a7c15) ^ hash >> 29;
    return hash;
}

static void check_feature(const struct job *job, uint32_t c, struct space *space,
                          struct rw_feature_check *out)
{
    const struct rw_dataset *dataset = job->dataset;
    const uint32_t n = dataset->n_docs, feature = dataset->column[c].feature;
    const int has_vocabulary = rw_vocabulary_has(dataset->vocabulary, feature);
    uint32_t n_absent = 0;
    rw_column_values(&dataset->column[c], 0, n, rw_float_of_bits(RW_ABSENT_BITS), space->value);
    for (uint32_t i = 0; i < n; i++) {
        if (rw_is_absent(space->value[i])) {
            space->value[i] = has_vocabulary ? -1.0f : 0.0f; /* an absent category */
            n_absent++;
        }
    }
    const size_t kept = rw_sort_values(space->value, n, space->key, space->scratch);
    *out = (struct rw_feature_check){.feature = feature,
                                     .duplicate_of = -1,
                                     .absent = (double)n_absent / n,
                                     .missing = (double)(n - kept) / n,
                                     .has_vocabulary = has_vocabulary};
    for (size_t i = 0; i < kept; i++)
        out->n_distinct += i == 0 || space->key[i] != space->key[i - 1];
    out->least = kept ? rw_float_of_key(space->key[0]) : NAN;
    out->most = kept ? rw_float_of_key(space->key[kept - 1]) : NAN;
    out->constant = kept == 0 || (kept == n && out->n_distinct == 1);
    job->hash[c] = hash_values(space->value, n);
    if (!out->constant) {
        out->identifies = identifies(job, space->value, out->n_distinct);
        out->orders_labels = orders_labels(job, space->value, space);
    }
    if (has_vocabulary) { /* numbers of categories have no order or range */
        out->least = out->most = NAN;
        out->orders_labels = 0;
        if (out->identifies == RW_IDENTIFIES_LINE)
            out->identifies = RW_IDENTIFIES_DOCUMENT;
    }
}

/* Records for each feature the first one with identical values, compared bit by bit. */
static int find_duplicates(struct rw_ctx *ctx, const struct job *job,
                           struct rw_feature_check *features)
{
    const struct rw_dataset *dataset = job->dataset;
    RW_FREED float *a = NULL, *b = NULL;
    RW_TRY(RW_NEW_RAW(ctx, a, dataset->n_docs));
    RW_TRY(RW_NEW_RAW(ctx, b, dataset->n_docs));
    for (uint32_t c = 1; c < dataset->n_columns; c++) {
        for (uint32_t d = 0; d < c && features[c].duplicate_of < 0; d++) {
            if (job->hash[c] != job->hash[d] || features[c].constant ||
                features[c].has_vocabulary != features[d].has_vocabulary)
                continue;
            rw_dataset_feature(dataset, features[c].feature, 0, a);
            rw_dataset_feature(dataset, features[d].feature, 0, b);
            if (memcmp(a, b, dataset->n_docs * sizeof(*a)) == 0)
                features[c].duplicate_of = (int32_t)features[d].feature;
        }
    }
    return RW_OK;
}

static int check_some(void *user, struct rw_share *share)
{
    const struct job *job = user;
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct space space;
    RW_TRY(space_init(job, &arena, &space));
    for (uint64_t c, end; rw_share_next(share, &c, &end);)
        check_feature(job, (uint32_t)c, &space, &job->features[c]);
    return RW_OK;
}

/* Checks each feature that appears in `dataset`, and writes features [n_columns]. */
static int check_features(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                          struct rw_feature_check *features)
{
    struct job job = {.dataset = dataset,
                      .longest = rw_longest_query(dataset->query_offset, dataset->n_queries),
                      .features = features};
    RW_FREED uint64_t *hash = NULL;
    RW_TRY(RW_NEW(ctx, hash, dataset->n_columns));
    job.hash = hash;
    const int status = rw_parallel(ctx, ctx->n_threads, dataset->n_columns, 1, check_some, &job);
    if (status < 0)
        return rw_fail_memory(ctx, status, "out of memory while checking %u documents",
                              dataset->n_docs);
    return find_duplicates(ctx, &job, features);
}

/* ---- ids ---- */

/* Returns the query ids in sorted order. The caller frees *ids: [n_queries]. */
static int sort_ids(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char ***ids)
{
    RW_TRY(RW_NEW(ctx, *ids, dataset->n_queries));
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        (*ids)[q] = rw_dataset_query_id(dataset, q);
    RW_SORT(*ids, dataset->n_queries, rw_by_text);
    return RW_OK;
}

/* Adds a name, shortened to 120 bytes. The text has only the first `most` names, and the number of
 * further names. */
static void add_name(struct names *names, uint32_t most, const char *name)
{
    char *const to = names->text + names->at;
    const size_t left = sizeof(names->text) - names->at;
    if (names->n++ < most)
        names->at += (size_t)snprintf(to, left, "%s%.120s", names->n > 1 ? ", " : "", name);
    else
        snprintf(to, left, " and %u more", names->n - most);
}

/* Adds to `split` the query ids that reappear after other queries. */
static int find_split(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct names *split)
{
    RW_FREED const char **id = NULL;
    RW_TRY(sort_ids(ctx, dataset, &id));
    for (uint32_t i = 1; i < dataset->n_queries; i++) {
        const int again = strcmp(id[i], id[i - 1]) == 0;
        if (again && (i == 1 || strcmp(id[i - 1], id[i - 2]) != 0)) /* list an id once */
            add_name(split, 5, id[i]);
    }
    return RW_OK;
}

/* ---- documents ---- */

/* Writes a hash of each document's values. Documents with the same values have equal hashes. The
 * hash is a sum over features, so their order does not matter. Zeros and absent values add 0, so a
 * hash of 0 means that a document has no other values. hashes: [n_docs]. */
static void hash_docs(const struct rw_dataset *dataset, uint64_t *hashes)
{
    memset(hashes, 0, dataset->n_docs * sizeof(*hashes));
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        const struct rw_column *column = &dataset->column[c];
        const int has_vocabulary = rw_vocabulary_has(dataset->vocabulary, column->feature);
        for (uint32_t i = 0; i < column->n; i++) {
            const float value = column->value[i];
            const int is_word = has_vocabulary && value == value;
            if (rw_is_absent(value) || (!is_word && value == 0))
                continue;
            /* the text of a category, since its number differs between sets */
            const char *word =
                is_word ? rw_vocabulary_word(dataset->vocabulary, (uint32_t)value) : NULL;
            const uint32_t bits =
                word ? (uint32_t)rw_text_hash(word, strlen(word)) : rw_bits_of_float(value);
            hashes[column->row ? column->row[i] : i] +=
                rw_mix((uint64_t)column->feature << 32 | bits);
        }
    }
}

struct hashed {
    uint64_t hash;
    float label;
};

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return x->label < y->label ? -1 : x->label > y->label;
}

/* Counts out->n_twins and out->n_contradictions. hashes: [n_docs], by hash_docs. */
static int count_twins(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint64_t *hashes,
                       struct rw_check *out)
{
    RW_FREED struct hashed *docs = NULL;
    RW_TRY(RW_NEW_RAW(ctx, docs, dataset->n_docs));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        for (uint32_t i = 0; i < n; i++)
            docs[i] = (struct hashed){hashes[begin + i], dataset->label[begin + i]};
        RW_SORT(docs, n, by_hash);
        for (uint32_t i = 1; i < n; i++) {
            const int same = docs[i].hash == docs[i - 1].hash && docs[i].hash != 0;
            out->n_twins += (uint32_t)same;
            out->n_contradictions += same && docs[i].label != docs[i - 1].label;
        }
    }
    return RW_OK;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Counts the query ids and documents that are also in `reference`. hashes: [n_docs], those of
 * `dataset`. */
static int count_shared(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                        const uint64_t *hashes, const struct rw_dataset *reference,
                        struct rw_check *out)
{
    RW_FREED const char **ours = NULL, **theirs = NULL;
    RW_FREED uint64_t *sorted = NULL;
    RW_TRY(sort_ids(ctx, dataset, &ours));
    RW_TRY(sort_ids(ctx, reference, &theirs));
    for (uint32_t i = 0, j = 0; i < dataset->n_queries && j < reference->n_queries;) {
        const int order = strcmp(ours[i], theirs[j]);
        out->n_shared_queries += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    RW_TRY(RW_NEW_RAW(ctx, sorted, reference->n_docs));
    hash_docs(reference, sorted);
    RW_SORT(sorted, reference->n_docs, by_number);
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        out->n_shared_docs += hashes[i] && bsearch(&hashes[i], sorted, reference->n_docs,
                                                   sizeof(*sorted), by_number) != NULL;
    return RW_OK;
}

/* ---- queries and labels ---- */

/* Returns the probability that n labels in random order never rise. It is the product of the
 * factorials of each label's number of documents, divided by n!. */
static double chance_to_fall(const float *sorted, uint32_t n)
{
    double logarithm = -lgamma((double)n + 1.0);
    for (uint32_t i = 0, same = 1; i < n; i++, same++) {
        if (i + 1 == n || sorted[i + 1] != sorted[i]) {
            logarithm += lgamma((double)same + 1.0);
            same = 0;
        }
    }
    return exp(logarithm);
}

/* Adds one query to the counts of struct rw_check. label: [n]. sorted: [n] scratch. */
static void check_query(const float *label, uint32_t n, float *sorted, struct rw_check *out)
{
    int falls = 0, rises = 0;
    for (uint32_t i = 1; i < n; i++) {
        falls |= label[i] < label[i - 1];
        rises |= label[i] > label[i - 1];
    }
    memcpy(sorted, label, n * sizeof(*sorted));
    RW_SORT(sorted, n, rw_by_float);
    out->n_empty += !(sorted[n - 1] > 0);
    out->n_single += n == 1;
    out->n_alike += n > 1 && sorted[0] == sorted[n - 1] && sorted[0] > 0;
    if (sorted[0] == sorted[n - 1])
        return;
    out->n_mixed++;
    out->n_falling += falls && !rises;
    out->n_rising += rises && !falls;
    out->falling_by_chance += chance_to_fall(sorted, n);
}

/* Fills in the members of struct rw_check about labels. sorted: [n] the labels of all documents,
 * ascending. */
static void count_labels(const float *sorted, uint32_t n, struct rw_check *out)
{
    out->least_label = sorted[0];
    out->most_label = sorted[n - 1];
    for (uint32_t i = 0; i < n; i++) {
        if (i == 0 || sorted[i] != sorted[i - 1]) {
            if (out->n_labels < RW_CHECK_LABELS)
                out->label[out->n_labels] = sorted[i];
            out->n_labels++;
        }
        if (out->n_labels <= RW_CHECK_LABELS)
            out->label_docs[out->n_labels - 1]++;
    }
}

/* Fills in the members of struct rw_check about labels, and about sizes and labels of queries. */
static int check_queries(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_check *out)
{
    const uint32_t n_docs = dataset->n_docs, n_queries = dataset->n_queries;
    RW_FREED float *labels = NULL;
    RW_FREED uint32_t *sizes = NULL;
    RW_TRY(RW_NEW_RAW(ctx, labels, n_docs));
    RW_TRY(RW_NEW_RAW(ctx, sizes, n_queries));
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        sizes[q] = n;
        if (n > out->longest) {
            out->longest = n;
            out->longest_query = q;
        }
        check_query(dataset->label + begin, n, labels, out);
    }
    RW_SORT(sizes, n_queries, rw_by_u32);
    out->shortest = sizes[0];
    out->median = sizes[n_queries / 2];
    memcpy(labels, dataset->label, n_docs * sizeof(*labels));
    RW_SORT(labels, n_docs, rw_by_float);
    count_labels(labels, n_docs, out);
    return RW_OK;
}

enum { MOST_FINDINGS = 64, LINE = 512 };

/* A struct rw_check and its parts, which are freed together. */
struct checking {
    struct rw_check check;
    struct rw_feature_check *feature; /* [n_features] in the result's arena */
    struct rw_finding finding[MOST_FINDINGS];
    char line[MOST_FINDINGS][LINE];
    struct rw_drift *drift;                 /* [n_drift] in the result's arena */
    struct rw_dataset *dataset, *reference; /* owned; reference: NULL without one */
    const struct rw_model *model;           /* NULL: none; borrowed */
    /* 1: add_finding adds warnings and skips notes; 0: it adds notes and skips warnings */
    int warnings_now;
    struct names split; /* query ids that reappear after other queries */
};

/* ---- findings ---- */

__attribute__((format(printf, 4, 5))) static void
add_finding(struct checking *c, int is_warning, const char *kind, const char *format, ...)
{
    const int at = c->check.n_findings;
    if (at == MOST_FINDINGS || is_warning != c->warnings_now)
        return;
    RW_FORMAT_ARGS(c->line[at], format);
    c->finding[at] =
        (struct rw_finding){.kind = kind, .text = c->line[at], .is_warning = is_warning};
    c->check.n_findings++;
}

enum finding { ORDERS_LABELS, OF_LINE, OF_DOCUMENT, OF_QUERY, MISSING, CONSTANT, DUPLICATE };

/* Lists the features with a finding. */
static struct names list_features(const struct checking *c, enum finding finding)
{
    struct names names = {0};
    char id[16];
    for (uint32_t i = 0; i < c->check.n_features; i++) {
        const struct rw_feature_check *row = &c->feature[i];
        const char *name = rw_dataset_feature_name(c->dataset, row->feature);
        const int has[] = {
            [ORDERS_LABELS] = row->orders_labels,
            [OF_LINE] = row->identifies == RW_IDENTIFIES_LINE,
            [OF_DOCUMENT] = row->identifies == RW_IDENTIFIES_DOCUMENT,
            [OF_QUERY] = row->identifies == RW_IDENTIFIES_QUERY,
            [MISSING] = row->missing >= RW_CHECK_MISSING,
            [CONSTANT] = row->constant,
            [DUPLICATE] = row->duplicate_of >= 0,
        };
        snprintf(id, sizeof(id), "%u", row->feature);
        if (has[finding])
            add_name(&names, 10, *name ? name : id);
    }
    return names;
}

static void report_features(struct checking *c)
{
    static const struct {
        enum finding finding;
        int is_warning;
        const char *kind, *text;
    } rows[] = {
        {ORDERS_LABELS, 1, "features-order-labels",
         "that sort every query by its labels, and so leak the answer"},
        {OF_LINE, 1, "features-like-lines",
         "that are probably line numbers, because they only rise or only fall through the file"},
        {OF_DOCUMENT, 1, "features-like-documents",
         "that are probably identifiers, with a different whole number or word for nearly every "
         "document"},
        {OF_QUERY, 1, "features-like-queries",
         "that are probably identifiers, with a different whole number or word for nearly every "
         "query"},
        {MISSING, 0, "features-missing", "that are missing in at least half of the documents"},
        {CONSTANT, 0, "features-constant", "with the same value in all documents"},
        {DUPLICATE, 0, "features-duplicate", "that duplicate an earlier feature"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct names names = list_features(c, rows[i].finding);
        if (names.n > 0)
            add_finding(c, rows[i].is_warning, rows[i].kind, "features %s (%u): %s", rows[i].text,
                        names.n, names.text);
    }
}

static void report_order(struct checking *c)
{
    const struct rw_check *check = &c->check;
    const double chance = check->falling_by_chance;
    const struct {
        uint32_t n;
        const char *kind, *order, *measures;
    } orders[] = {{check->n_falling, "labels-falling", "from high to low", "high"},
                  {check->n_rising, "labels-rising", "from low to high", "low"}};
    for (int i = 0; i < 2; i++) {
        /* more than chance by three standard deviations, and by a tenth of the queries */
        const double more = orders[i].n - chance;
        if (more > 3 * sqrt(chance + 1) && more > 0.1 * check->n_mixed)
            add_finding(
                c, 1, orders[i].kind,
                "documents are sorted by label, %s, in %u of %u queries; %.1f are expected by "
                "chance: metrics with ties in input order are too %s",
                orders[i].order, orders[i].n, check->n_mixed, chance, orders[i].measures);
    }
    const double gain = check->constant_file - check->constant_mean;
    if (fabs(gain) > RW_CHECK_TIES_LEAK)
        add_finding(c, 1, "order-leaks",
                    "if all scores are equal, NDCG@10 is %.4f with ties in input order, but %.4f "
                    "averaged over all orders: measure with '--ties mean'",
                    check->constant_file, check->constant_mean);
}

/* A finding that counts something, described by `what`. Counts of queries also show the
 * percentage. */
struct count {
    uint32_t n;
    int is_warning, of_queries;
    const char *kind, *what;
};

static void report_counts(struct checking *c, const struct count *rows, size_t n_rows)
{
    for (const struct count *row = rows; row < rows + n_rows; row++) {
        if (row->n > 0 && row->of_queries)
            add_finding(c, row->is_warning, row->kind, "%u of the queries (%.1f %%) %s", row->n,
                        100.0 * row->n / c->check.n_queries, row->what);
        else if (row->n > 0)
            add_finding(c, row->is_warning, row->kind, "%u %s", row->n, row->what);
    }
}

static void report_queries(struct checking *c)
{
    const struct rw_check *check = &c->check;
    if (check->n_split > 0)
        add_finding(
            c, 1, "split-queries",
            "the documents of %u quer%s are not adjacent in the input, which training refuses: %s",
            check->n_split, check->n_split == 1 ? "y" : "ies", c->split.text);
    char own[LINE];
    const int has_own = rw_dataset_has_own_queries(c->dataset, own, sizeof(own));
    if (has_own)
        add_finding(c, 1, "own-queries", "%s", own);
    else if (check->n_mixed == 0)
        add_finding(c, 1, "nothing-to-learn", "no query has documents with different labels");
    report_order(c);
    const struct count counts[] = {
        {check->n_contradictions, 1, 0, "contradictions",
         check->n_contradictions == 1 ? "contradicting label: documents with the same values in a "
                                        "query have different labels"
                                      : "contradicting labels: documents with the same values in a "
                                        "query have different labels"},
        {check->n_twins - check->n_contradictions, 0, 0, "twins",
         "documents repeat the values and the label of another document of their query"},
        {check->n_empty, 0, 1, "empty-queries",
         "have no label above 0: NDCG depends on how '--empty' counts them"},
        {has_own ? 0 : check->n_single, 0, 1, "single-queries", "have one document"},
        {check->n_alike, 0, 0, "alike-queries",
         "queries have the same label above 0 for all documents"},
    };
    report_counts(c, counts, sizeof(counts) / sizeof(counts[0]));
    if (check->most_label > 31)
        add_finding(c, 1, "large-labels",
                    "the largest label is %g, but the gain 2^l - 1 supports at most 31: set "
                    "label-gain to 'linear' or a file",
                    (double)check->most_label);
    if (check->least_label < 0)
        add_finding(c, 1, "negative-labels",
                    "the lowest label is %g, but gains need labels of 0 or more",
                    (double)check->least_label);
}

/* Adds a finding that lists features of the comparison by name, if there are any. only_in: those
 * with this value; -1: those that cannot be compared. */
static void report_only(struct checking *c, int only_in, const char *kind, const char *what)
{
    struct names names = {0};
    for (uint32_t i = 0; i < c->check.n_drift; i++) {
        const struct rw_drift *row = &c->drift[i];
        if (row->name && (only_in < 0 ? isnan(row->psi) : row->only_in == only_in))
            add_name(&names, 5, row->name);
    }
    if (names.n > 0)
        add_finding(c, 1, kind, "features %s (%u): %s", what, names.n, names.text);
}

/* Writes "price PSI 0.412 KS 0.220", with the category that changed most. */
static void describe_drift(const struct rw_drift *row, char *text, size_t size)
{
    int n = snprintf(text, size, "%.32s%sPSI %.3f", row->name ? row->name : "",
                     row->name ? " " : "", row->psi);
    if (!isnan(row->ks))
        n += snprintf(text + n, size - (size_t)n, " KS %.3f", row->ks);
    if (row->moved)
        n += snprintf(text + n, size - (size_t)n, " '%.14s' %.3f to %.3f", row->moved,
                      row->moved_from, row->moved_to);
    if (fabs(row->missing - row->missing_reference) >= 0.1)
        snprintf(text + n, size - (size_t)n, " missing %.3f to %.3f", row->missing_reference,
                 row->missing);
}

/* Reports large drift. Features of a single set have findings of their own. */
static void report_drift(struct checking *c)
{
    static const struct {
        const char *kind, *harmless;
    } first[] = {{"label-drift", "if labels are only compared within a query"},
                 {"query-length-drift", "if only the number of logged results changed"},
                 {"score-drift", "if only differences within a query matter"}};
    struct names names = {0};
    char text[128];
    for (uint32_t i = 0; i < c->check.n_drift; i++) {
        const struct rw_drift *row = &c->drift[i];
        describe_drift(row, text, sizeof(text));
        if (row->is_large && !row->name)
            add_finding(c, 1, first[i].kind, "large drift: %s; harmless %s", text,
                        first[i].harmless);
        else if (row->is_large && !row->only_in)
            add_name(&names, 3, text);
    }
    if (names.n > 0)
        add_finding(c, 1, "feature-drift",
                    "large drift of features (%u): %s; harmless if the model hardly uses them",
                    names.n, names.text);
}

static void report_shared(struct checking *c)
{
    const struct rw_check *check = &c->check;
    const struct count queries = {check->n_shared_queries, 1, 0, "shared-queries",
                                  "queries have an id that is also in the reference"};
    report_counts(c, &queries, 1);
    if (check->n_shared_docs > 0)
        add_finding(c, 1, "shared-documents",
                    "%u of %u documents have the same values as a document of the reference",
                    check->n_shared_docs, check->n_docs);
    report_drift(c);
    report_only(c, -1, "features-by-words",
                "with words in one set and numbers in the other, which are not compared");
    report_only(c, 1, "features-only-here", "that are new: the reference lacks them");
    report_only(c, 2, "features-only-there", "that vanished: only the reference has them");
}

/* ---- checking ---- */

/* Measures NDCG@10 of constant scores, with ties in input order and averaged over all orders. */
static int measure_constant(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                            struct rw_check *out)
{
    struct rw_eval_params params = RW_EVAL_DEFAULTS;
    RW_FREED double *scores = NULL;
    out->constant_file = out->constant_mean = (double)NAN;
    if (out->least_label < 0)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, scores, dataset->n_docs));
    if (out->most_label > 31)
        params.label_gain = "linear";
    for (int mean = 0; mean < 2; mean++) {
        struct rw_eval *eval;
        params.ties = mean ? RW_TIES_MEAN : RW_TIES_FILE;
        RW_TRY(rw_evaluate(ctx, &params, dataset, scores, &eval));
        *(mean ? &out->constant_mean : &out->constant_file) = eval->metrics[0].mean;
        rw_free(eval);
    }
    return RW_OK;
}

/* Compares the data with the reference, if there is one. */
static int check_reference(struct rw_ctx *ctx, struct checking *c, const uint64_t *hashes)
{
    const struct rw_dataset *const sets[2] = {c->dataset, c->reference};
    if (!c->reference)
        return RW_OK;
    c->check.n_other_docs = c->reference->n_docs;
    c->check.n_other_queries = c->reference->n_queries;
    RW_TRY(count_shared(ctx, c->dataset, hashes, c->reference, &c->check));
    RW_TRY(rw_drift_measure(ctx, rw_result_arena(c), sets, c->model, &c->drift, &c->check.n_drift));
    c->check.drift = c->drift;
    return RW_OK;
}

static int check_all(struct rw_ctx *ctx, struct checking *c)
{
    struct rw_check *check = &c->check;
    RW_FREED uint64_t *hashes = NULL;
    check->n_docs = c->dataset->n_docs;
    check->n_queries = c->dataset->n_queries;
    check->n_features = c->dataset->n_columns;
    RW_TRY(check_queries(ctx, c->dataset, check));
    RW_TRY(find_split(ctx, c->dataset, &c->split));
    check->n_split = c->split.n;
    RW_TRY(measure_constant(ctx, c->dataset, check));
    RW_TRY(RW_NEW_RAW(ctx, hashes, check->n_docs));
    hash_docs(c->dataset, hashes);
    RW_TRY(count_twins(ctx, c->dataset, hashes, check));
    RW_TRY(check_reference(ctx, c, hashes));
    RW_TRY(RW_ARENA_NEW(ctx, rw_result_arena(c), c->feature, check->n_features));
    RW_TRY(check_features(ctx, c->dataset, c->feature));
    check->features = c->feature;
    for (c->warnings_now = 1; c->warnings_now >= 0; c->warnings_now--) {
        report_queries(c);
        report_shared(c);
        report_features(c);
    }
    check->findings = c->finding;
    return RW_OK;
}

/* Frees the members that the result's arena does not own. */
static void free_datasets(void *checking)
{
    struct checking *c = checking;
    rw_dataset_free(c->dataset);
    rw_dataset_free(c->reference);
}

static int read_and_check(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                          const char *const *against, int n_against, struct checking *c)
{
    const int n_tables = rw_ctx_n_tables(ctx);
    RW_TRY(rw_arena_own(ctx, rw_result_arena(c), c, free_datasets));
    RW_TRY(rw_files_read_documents(ctx, paths, n_paths, (struct rw_read_goal){.may_come_back = 1},
                                   &c->dataset));
    RW_TRY(rw_columns_check_categorical(ctx, c->dataset));
    if (n_against > 0) {
        RW_TRY(rw_columns_like(ctx, c->dataset));
        const int status = rw_files_read_documents(
            ctx, against, n_against, (struct rw_read_goal){.may_come_back = 1}, &c->reference);
        rw_columns_like(ctx, NULL);
        RW_TRY(status);
        if (rw_ctx_n_tables(ctx) > n_tables)
            RW_TRY(rw_columns_check_ignored(ctx));
    }
    return check_all(ctx, c);
}

int rw_check_new(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                 const char *const *against, int n_against, const struct rw_model *model,
                 struct rw_check **out)
{
    RW_DEFAULT_FPENV;
    struct checking *c;
    *out = NULL;
    RW_TRY(rw_result_new(ctx, (void **)&c, sizeof(*c)));
    c->model = model;
    if (ctx->columns) /* one of the sets may lack a column to ignore */
        ctx->columns->may_lack_ignored = n_against > 0;
    const int status = read_and_check(ctx, paths, n_paths, against, n_against, c);
    if (ctx->columns)
        ctx->columns->may_lack_ignored = 0;
    if (status < 0)
        rw_free(c);
    else
        *out = &c->check;
    return status;
}

const char *rw_check_longest(const struct rw_check *check)
{
    return rw_dataset_query_id(((const struct checking *)check)->dataset, check->longest_query);
}
