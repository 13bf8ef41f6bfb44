/* What a table's cache has besides: names of features, words, and weights and further labels of
 * documents. */
#include <float.h>

#include "base/mem.h"
#include "io/cache.h"
#include "io/columns.h"

/* The features' ids follow, then the names, each ended by 0; the ids of features with words, how
 * many words each has, the words, each ended by 0; then the weights, double [n_docs]; each part at
 * a multiple of 8 bytes; then the further labels, float [n_more_labels][n_docs]. */
struct table_head {
    uint32_t n_names;
    uint32_t weights; /* enum weights */
    uint64_t name_bytes;
    /* from RW_CACHE_WORDS on */
    uint32_t n_word_features;
    uint32_t n_more_labels; /* 0 before RW_CACHE_LABELS, and 1 or more there */
    uint64_t word_bytes;
    /* from RW_CACHE_COLUMNS on */
    uint32_t width; /* 1 or more */
    uint32_t zero;
};
enum weights { NO_WEIGHTS, OF_DOCUMENTS, OF_QUERIES };

static uint64_t head_bytes(uint32_t version)
{
    return version < RW_CACHE_WORDS     ? offsetof(struct table_head, n_word_features)
           : version < RW_CACHE_COLUMNS ? offsetof(struct table_head, width)
                                        : sizeof(struct table_head);
}

static uint64_t aligned(uint64_t n_bytes)
{
    return (n_bytes + 7) / 8 * 8;
}

static struct table_head head_of(const struct rw_dataset *dataset,
                                 const struct rw_cache_words *words)
{
    struct table_head head = {.n_names = (uint32_t)dataset->n_names};
    for (int32_t i = 0; i < dataset->n_names; i++)
        head.name_bytes += strlen(dataset->name[i].name) + 1;
    if (dataset->weight)
        head.weights = dataset->weight_by_query ? OF_QUERIES : OF_DOCUMENTS;
    head.n_word_features = words->n_features;
    head.n_more_labels = (uint32_t)dataset->n_more_labels;
    head.width = dataset->n_names ? 0 : dataset->width; /* names say how many there are */
    for (size_t i = 0; i < words->n_all; i++)
        head.word_bytes += strlen(words->word[i]) + 1;
    return head;
}

static uint64_t n_bytes_of(uint32_t version, const struct table_head *head, uint32_t n_docs)
{
    return head_bytes(version) + aligned(head->n_names * sizeof(uint32_t)) +
           aligned(head->name_bytes) + 2 * head->n_word_features * sizeof(uint32_t) +
           aligned(head->word_bytes) + (head->weights ? n_docs * sizeof(double) : 0) +
           (uint64_t)head->n_more_labels * n_docs * sizeof(float);
}

static uint32_t version_of(const struct table_head *head)
{
    if (head->width)
        return RW_CACHE_COLUMNS;
    if (head->n_more_labels)
        return RW_CACHE_LABELS;
    if (head->n_word_features)
        return RW_CACHE_WORDS;
    return head->n_names || head->weights ? RW_CACHE_TABLE : RW_CACHE_VERSION;
}

uint32_t rw_cache_version(const struct rw_dataset *dataset, const struct rw_cache_words *words)
{
    const struct table_head head = head_of(dataset, words);
    return version_of(&head);
}

uint64_t rw_cache_table_bytes(const struct rw_dataset *dataset, const struct rw_cache_words *words)
{
    const struct table_head head = head_of(dataset, words);
    const uint32_t version = version_of(&head);
    return version < RW_CACHE_TABLE ? 0 : n_bytes_of(version, &head, dataset->n_docs);
}

static char *fill_words(const struct rw_cache_words *words, uint64_t n_bytes, char *to)
{
    const size_t ids = words->n_features * sizeof(uint32_t);
    if (!words->n_features)
        return to;
    memcpy(to, words->feature, ids);
    memcpy(to + ids, words->n_words, ids);
    to += 2 * ids;
    char *text = to;
    for (size_t i = 0; i < words->n_all; i++) {
        const size_t n = strlen(words->word[i]) + 1;
        memcpy(text, words->word[i], n);
        text += n;
    }
    return to + aligned(n_bytes);
}

void rw_cache_table_fill(const struct rw_dataset *dataset, const struct rw_cache_words *words,
                         char *to)
{
    const struct table_head head = head_of(dataset, words);
    const uint32_t version = version_of(&head);
    if (version < RW_CACHE_TABLE)
        return;
    memcpy(to, &head, head_bytes(version));
    to += head_bytes(version);
    for (uint32_t i = 0; i < head.n_names; i++)
        memcpy(to + i * sizeof(uint32_t), &dataset->name[i].feature, sizeof(uint32_t));
    to += aligned(head.n_names * sizeof(uint32_t));
    char *text = to;
    for (uint32_t i = 0; i < head.n_names; i++) {
        const size_t n = strlen(dataset->name[i].name) + 1;
        memcpy(text, dataset->name[i].name, n);
        text += n;
    }
    to = fill_words(words, head.word_bytes, to + aligned(head.name_bytes));
    if (head.weights) {
        memcpy(to, dataset->weight, dataset->n_docs * sizeof(double));
        to += dataset->n_docs * sizeof(double);
    }
    if (head.n_more_labels)
        memcpy(to, dataset->more_label,
               (size_t)head.n_more_labels * dataset->n_docs * sizeof(float));
}

static int take_names(struct rw_ctx *ctx, const struct table_head *head, const char *ids,
                      const char *text, struct rw_dataset *dataset)
{
    const char *end = text + head->name_bytes;
    RW_TRY(RW_NEW(ctx, dataset->name, head->n_names));
    for (uint32_t i = 0; i < head->n_names; i++) {
        struct rw_feature_name *name = &dataset->name[dataset->n_names];
        const char *stop = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
        memcpy(&name->feature, ids + i * sizeof(uint32_t), sizeof(uint32_t));
        if (!stop || stop == text || name->feature > RW_MAX_FEATURE ||
            (i && name->feature <= name[-1].feature))
            return RW_ERR_FORMAT;
        dataset->n_names++;
        RW_TRY(rw_mem_copy_text(ctx, &name->name, text));
        text = stop + 1;
    }
    return text == end ? RW_OK : RW_ERR_FORMAT;
}

static int take_weights(struct rw_ctx *ctx, const char *from, struct rw_dataset *dataset)
{
    RW_TRY(RW_NEW_RAW(ctx, dataset->weight, dataset->n_docs));
    memcpy(dataset->weight, from, dataset->n_docs * sizeof(double));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q];
        for (uint32_t i = begin; i < dataset->query_offset[q + 1]; i++) {
            const double weight = dataset->weight[i];
            if (!(weight >= 0 && weight <= RW_MAX_WEIGHT) || signbit(weight) ||
                (dataset->weight_by_query && weight != dataset->weight[begin]))
                return RW_ERR_FORMAT;
        }
    }
    return RW_OK;
}

static int take_more_labels(struct rw_ctx *ctx, uint32_t n_labels, const char *from,
                            struct rw_dataset *dataset)
{
    const size_t n = (size_t)n_labels * dataset->n_docs;
    RW_TRY(RW_NEW_RAW(ctx, dataset->more_label, n));
    memcpy(dataset->more_label, from, n * sizeof(float));
    dataset->n_more_labels = (int)n_labels;
    for (size_t i = 0; i < n; i++) {
        const float label = dataset->more_label[i];
        if (!(label >= 0 && label <= FLT_MAX) || signbit(label))
            return RW_ERR_FORMAT;
    }
    return RW_OK;
}

/* from: [n_bytes], or as much of it as a head has. */
static int take_head(const struct rw_cache_header *h, const void *from, uint64_t n_bytes,
                     struct table_head *head)
{
    memset(head, 0, sizeof(*head));
    if (n_bytes < head_bytes(h->version))
        return RW_ERR_FORMAT;
    memcpy(head, from, head_bytes(h->version));
    return head->n_names <= RW_FEATURE_IDS && head->weights <= OF_QUERIES &&
                   head->n_word_features <= RW_FEATURE_IDS &&
                   !(head->n_word_features && h->has_bins) && head->n_more_labels < RW_MAX_LABELS &&
                   (head->n_more_labels > 0 ? h->version >= RW_CACHE_LABELS
                                            : h->version != RW_CACHE_LABELS) &&
                   (head->width > 0) == (h->version == RW_CACHE_COLUMNS) &&
                   head->width <= RW_FEATURE_IDS && head->zero == 0 &&
                   head->name_bytes <= n_bytes && head->word_bytes <= n_bytes &&
                   n_bytes_of(h->version, head, h->n_docs) == n_bytes
               ? RW_OK
               : RW_ERR_FORMAT;
}

int rw_cache_table_divide(const struct rw_cache_header *h, const void *from, uint64_t n_bytes,
                          struct rw_cache_table_parts *parts)
{
    struct table_head head;
    _Static_assert(sizeof(head) == RW_CACHE_TABLE_HEAD, "what the header says");
    RW_TRY(take_head(h, from, n_bytes, &head));
    *parts = (struct rw_cache_table_parts){.names_bytes = n_bytes};
    if (head.weights)
        parts->doc_bytes[parts->n_arrays++] = sizeof(double);
    for (uint32_t k = 0; k < head.n_more_labels; k++)
        parts->doc_bytes[parts->n_arrays++] = sizeof(float);
    for (uint32_t i = 0; i < parts->n_arrays; i++)
        parts->names_bytes -= h->n_docs * parts->doc_bytes[i];
    return RW_OK;
}

int rw_cache_table_read(struct rw_ctx *ctx, const char *name, const struct rw_cache_header *h,
                        const char *from, uint64_t n_bytes, struct rw_dataset *dataset)
{
    struct table_head head;
    int status = RW_OK;
    if (n_bytes == 0 && h->version < RW_CACHE_LABELS)
        return RW_OK;
    if (take_head(h, from, n_bytes, &head) < 0)
        return rw_fail(ctx, RW_ERR_FORMAT,
                       "'%s' is damaged: its names', weights' or further labels' size is wrong",
                       name);
    const char *ids = from + head_bytes(h->version);
    const char *text = ids + aligned(head.n_names * sizeof(uint32_t));
    const char *word_ids = text + aligned(head.name_bytes);
    const char *words = word_ids + 2 * head.n_word_features * sizeof(uint32_t);
    dataset->weight_by_query = head.weights == OF_QUERIES;
    if (head.n_names)
        status = take_names(ctx, &head, ids, text, dataset);
    dataset->width = head.width;
    if (status == RW_OK && head.n_names)
        dataset->width = dataset->name[head.n_names - 1].feature + 1;
    for (uint32_t c = 0; c < dataset->n_columns && head.width; c++) {
        if (dataset->column[c].feature >= head.width)
            status = RW_ERR_FORMAT;
    }
    const char *of_docs = words + aligned(head.word_bytes);
    if (status == RW_OK && head.weights)
        status = take_weights(ctx, of_docs, dataset);
    of_docs += head.weights ? dataset->n_docs * sizeof(double) : 0;
    if (status == RW_OK && head.n_more_labels)
        status = take_more_labels(ctx, head.n_more_labels, of_docs, dataset);
    if (status == RW_OK)
        status = rw_cache_words_read(ctx, word_ids, head.n_word_features, words, head.word_bytes,
                                     dataset);
    if (status == RW_OK)
        return rw_columns_agree(ctx, name, dataset);
    return status == RW_ERR_FORMAT ? rw_fail(ctx, status,
                                             "'%s' is damaged: a feature's name, a word, a "
                                             "weight or a further label is wrong",
                                             name)
                                   : status;
}
