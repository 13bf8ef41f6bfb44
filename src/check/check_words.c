/* Features by categories, of two sets: each word's share of the documents. Numbers of words say
 * nothing of their own, and differ from set to set. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/words.h"
#include "check/data_check.h"
#include "dataset/dataset.h"
#include "dataset/lexicon.h"

/* A word of one set, or, once they are joined, of both. */
struct counted {
    const char *word;
    uint32_t n_docs[2];
};

struct counts {
    struct counted *of; /* [n] owned */
    size_t n, room;
};

static int add_word(struct counts *counts, const char *word, int set, uint32_t n_docs)
{
    if (n_docs == 0)
        return RW_OK;
    RW_TRY(RW_GROW(NULL, counts->of, counts->room, counts->n + 1));
    counts->of[counts->n] = (struct counted){.word = word};
    counts->of[counts->n++].n_docs[set] = n_docs;
    return RW_OK;
}

/* Of a set that has the feature by words, or not at all. An absent value is the category 0. */
static int count_words(const struct rw_dataset *dataset, uint32_t feature, int set,
                       struct counts *counts)
{
    const struct rw_column *column = rw_dataset_column(dataset, feature);
    const uint32_t n_words = column ? rw_lexicon_n(dataset->lexicon) : 0;
    uint32_t *n_docs /* [n_words] */, n_absent = dataset->n_docs;
    RW_TRY(RW_NEW(NULL, n_docs, n_words));
    for (uint32_t i = 0; column && i < column->n; i++) {
        const float value = column->value[i];
        n_absent -= !rw_is_absent(value);
        if (value == value)
            n_docs[(uint32_t)value]++;
    }
    int status = add_word(counts, "0", set, n_absent);
    for (uint32_t k = 0; status >= 0 && k < n_words; k++)
        status = add_word(counts, rw_lexicon_word(dataset->lexicon, k), set, n_docs[k]);
    rw_mem_free(n_docs);
    return status;
}

static int by_word(const void *a, const void *b)
{
    const struct counted *x = a, *y = b;
    return rw_words_by_bytes(&x->word, &y->word);
}

int rw_check_words(const struct rw_dataset *dataset, const struct rw_dataset *other,
                   struct rw_feature_check *out)
{
    struct counts counts = {.of = NULL};
    int status;
    RW_TRY_OUT(count_words(dataset, out->feature, 0, &counts));
    RW_TRY_OUT(count_words(other, out->feature, 1, &counts));
    if (counts.n > 1)
        qsort(counts.of, counts.n, sizeof(*counts.of), by_word);
    out->drift = 0.0;
    for (size_t i = 0; i < counts.n;) { /* of equal moves, the first word by its bytes */
        const struct counted *first = &counts.of[i];
        uint32_t n[2] = {0, 0};
        for (; i < counts.n && strcmp(counts.of[i].word, first->word) == 0; i++) {
            n[0] += counts.of[i].n_docs[0];
            n[1] += counts.of[i].n_docs[1];
        }
        const double from = (double)n[0] / dataset->n_docs, to = (double)n[1] / other->n_docs;
        if (fabs(to - from) > out->drift) {
            out->drift = fabs(to - from);
            out->moved = first->word;
            out->moved_from = from;
            out->moved_to = to;
        }
    }
out:
    rw_mem_free(counts.of);
    return status;
}
