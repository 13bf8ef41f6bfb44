/* Queries, labels and documents of a data set, and what two sets share. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/words.h"
#include "dataset/dataset.h"
#include "dataset/names.h"
#include "check/data_check.h"

/* ------------------------------------------------------------------ ids */

/* ids: [n_queries], sorted; the caller's. */
static int sort_ids(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char ***ids)
{
    RW_TRY(RW_NEW(ctx, *ids, dataset->n_queries));
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        (*ids)[q] = rw_dataset_query_id(dataset, q);
    qsort(*ids, dataset->n_queries, sizeof(**ids), rw_words_by_bytes);
    return RW_OK;
}

void rw_check_name(struct rw_check_names *names, uint32_t most, const char *name)
{
    char *const to = names->text + names->at;
    const size_t left = sizeof(names->text) - names->at;
    if (names->n++ < most)
        names->at += (size_t)snprintf(to, left, "%s%.40s", names->n > 1 ? ", " : "", name);
    else
        snprintf(to, left, " and %u more", names->n - most);
}

int rw_check_split(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                   struct rw_check_names *split)
{
    const char **id = NULL;
    RW_TRY(sort_ids(ctx, dataset, &id));
    for (uint32_t i = 1; i < dataset->n_queries; i++) {
        const int again = strcmp(id[i], id[i - 1]) == 0;
        if (again && (i == 1 || strcmp(id[i - 1], id[i - 2]) != 0)) /* once an id */
            rw_check_name(split, 5, id[i]);
    }
    rw_mem_free(id);
    return RW_OK;
}

/* ------------------------------------------------------------------ documents */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    x = (x ^ x >> 32) * UINT64_C(0xd6e8feb86659fd93);
    return x ^ x >> 32;
}

/* A word as a number: its number in the lexicon is no other set's. */
static uint32_t hash_word(const char *word)
{
    uint32_t hash = 2166136261u;
    for (; *word; word++)
        hash = (hash ^ (unsigned char)*word) * 16777619u;
    return hash;
}

/* A sum, so that columns may come in any order; 0 and an absent value hash alike. */
void rw_check_hash(const struct rw_dataset *dataset, uint64_t *hashes)
{
    memset(hashes, 0, dataset->n_docs * sizeof(*hashes));
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        const struct rw_column *column = &dataset->column[c];
        const int by_words = rw_lexicon_has(dataset->lexicon, column->feature);
        for (uint32_t i = 0; i < column->n; i++) {
            const float value = column->value[i];
            const int is_word = by_words && value == value;
            if (rw_is_absent(value) || (!is_word && value == 0))
                continue;
            const uint32_t bits =
                is_word ? hash_word(rw_lexicon_word(dataset->lexicon, (uint32_t)value))
                        : rw_bits_of_float(value);
            hashes[column->row ? column->row[i] : i] += mix((uint64_t)column->feature << 32 | bits);
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

int rw_check_twins(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint64_t *hashes,
                   uint32_t *n_twins, uint32_t *n_contradictions)
{
    struct hashed *docs = NULL;
    *n_twins = *n_contradictions = 0;
    RW_TRY(RW_NEW_RAW(ctx, docs, dataset->n_docs));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q], n = dataset->query_offset[q + 1] - begin;
        for (uint32_t i = 0; i < n; i++)
            docs[i] = (struct hashed){hashes[begin + i], dataset->label[begin + i]};
        if (n > 1)
            qsort(docs, n, sizeof(*docs), by_hash);
        for (uint32_t i = 1; i < n; i++) {
            const int same = docs[i].hash == docs[i - 1].hash && docs[i].hash != 0;
            *n_twins += (uint32_t)same;
            *n_contradictions += same && docs[i].label != docs[i - 1].label;
        }
    }
    rw_mem_free(docs);
    return RW_OK;
}

static int by_number(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

int rw_check_shared(struct rw_ctx *ctx, const struct rw_dataset *dataset, const uint64_t *hashes,
                    const struct rw_dataset *other, const uint64_t *other_hashes,
                    uint32_t *n_queries, uint32_t *n_docs)
{
    RW_FREED const char **ours = NULL, **theirs = NULL;
    RW_FREED uint64_t *sorted = NULL;
    *n_queries = *n_docs = 0;
    RW_TRY(sort_ids(ctx, dataset, &ours));
    RW_TRY(sort_ids(ctx, other, &theirs));
    for (uint32_t i = 0, j = 0; i < dataset->n_queries && j < other->n_queries;) {
        const int order = strcmp(ours[i], theirs[j]);
        *n_queries += order == 0;
        i += order <= 0;
        j += order >= 0;
    }
    RW_TRY(RW_NEW_RAW(ctx, sorted, other->n_docs));
    memcpy(sorted, other_hashes, other->n_docs * sizeof(*sorted));
    qsort(sorted, other->n_docs, sizeof(*sorted), by_number);
    for (uint32_t i = 0; i < dataset->n_docs; i++)
        *n_docs += hashes[i] != 0 &&
                   bsearch(&hashes[i], sorted, other->n_docs, sizeof(*sorted), by_number) != NULL;
    return RW_OK;
}

/* ------------------------------------------------------------------ queries and labels */

static int by_size(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return x < y ? -1 : x > y;
}

static int by_label(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;
    return x < y ? -1 : x > y;
}

/* The chance that labels in a random order are sorted by falling label: the product of their
 * factorials over n!. */
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

static void check_query(const float *label, uint32_t n, float *sorted, struct rw_check *out)
{
    int falls = 0, rises = 0;
    for (uint32_t i = 1; i < n; i++) {
        falls |= label[i] < label[i - 1];
        rises |= label[i] > label[i - 1];
    }
    memcpy(sorted, label, n * sizeof(*sorted));
    if (n > 1)
        qsort(sorted, n, sizeof(*sorted), by_label);
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

/* The labels that are there, and how often; the first RW_CHECK_LABELS of them. */
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

int rw_check_queries(struct rw_ctx *ctx, const struct rw_dataset *dataset, struct rw_check *out)
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
    qsort(sizes, n_queries, sizeof(*sizes), by_size);
    out->shortest = sizes[0];
    out->median = sizes[n_queries / 2];
    memcpy(labels, dataset->label, n_docs * sizeof(*labels));
    qsort(labels, n_docs, sizeof(*labels), by_label);
    count_labels(labels, n_docs, out);
    return RW_OK;
}
