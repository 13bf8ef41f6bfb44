/* What a table's cache has besides: names of features, words, and weights of documents. */
#include "base/mem.h"
#include "io/cache.h"
#include "io/columns.h"

/* The features' ids follow, then the names, each ended by 0; the ids of features with words, how
 * many words each has, the words, each ended by 0; then the weights; each part at a multiple of 8
 * bytes. */
struct table_head {
    uint32_t n_names;
    uint32_t weights; /* enum weights */
    uint64_t name_bytes;
    /* from RW_CACHE_WORDS on */
    uint32_t n_word_features, zero;
    uint64_t word_bytes;
};
enum weights { NO_WEIGHTS, OF_DOCUMENTS, OF_QUERIES };

static uint64_t head_bytes(uint32_t version)
{
    return version < RW_CACHE_WORDS ? offsetof(struct table_head, n_word_features)
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
    for (size_t i = 0; i < words->n_all; i++)
        head.word_bytes += strlen(words->word[i]) + 1;
    return head;
}

static uint64_t n_bytes_of(uint32_t version, const struct table_head *head, uint32_t n_docs)
{
    return head_bytes(version) + aligned(head->n_names * sizeof(uint32_t)) +
           aligned(head->name_bytes) + 2 * head->n_word_features * sizeof(uint32_t) +
           aligned(head->word_bytes) + (head->weights ? n_docs * sizeof(double) : 0);
}

static uint32_t version_of(const struct table_head *head)
{
    return head->n_word_features ? RW_CACHE_WORDS : RW_CACHE_TABLE;
}

uint64_t rw_cache_table_bytes(const struct rw_dataset *dataset, const struct rw_cache_words *words)
{
    const struct table_head head = head_of(dataset, words);
    return head.n_names || head.weights || head.n_word_features
               ? n_bytes_of(version_of(&head), &head, dataset->n_docs)
               : 0;
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
    if (!head.n_names && !head.weights && !head.n_word_features)
        return;
    memcpy(to, &head, head_bytes(version_of(&head)));
    to += head_bytes(version_of(&head));
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
    if (head.weights)
        memcpy(to, dataset->weight, dataset->n_docs * sizeof(double));
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

/* from: [n_bytes], or as much of it as a head has. */
static int take_head(uint32_t version, const void *from, uint64_t n_bytes, uint32_t n_docs,
                     struct table_head *head)
{
    memset(head, 0, sizeof(*head));
    if (n_bytes < head_bytes(version))
        return RW_ERR_FORMAT;
    memcpy(head, from, head_bytes(version));
    return head->n_names <= RW_FEATURE_IDS && head->weights <= OF_QUERIES &&
                   head->n_word_features <= RW_FEATURE_IDS && head->zero == 0 &&
                   head->name_bytes <= n_bytes && head->word_bytes <= n_bytes &&
                   n_bytes_of(version, head, n_docs) == n_bytes
               ? RW_OK
               : RW_ERR_FORMAT;
}

int rw_cache_table_divide(uint32_t version, const void *from, uint64_t n_bytes, uint32_t n_docs,
                          uint64_t *names_bytes, uint64_t *doc_bytes)
{
    struct table_head head;
    _Static_assert(sizeof(head) == RW_CACHE_TABLE_HEAD, "what the header says");
    RW_TRY(take_head(version, from, n_bytes, n_docs, &head));
    *doc_bytes = head.weights ? sizeof(double) : 0;
    *names_bytes = n_bytes - n_docs * *doc_bytes;
    return RW_OK;
}

int rw_cache_table_read(struct rw_ctx *ctx, const char *name, uint32_t version, const char *from,
                        uint64_t n_bytes, struct rw_dataset *dataset)
{
    struct table_head head;
    int status = RW_OK;
    if (n_bytes == 0)
        return RW_OK;
    if (take_head(version, from, n_bytes, dataset->n_docs, &head) < 0)
        return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is damaged: its names' or weights' size is wrong",
                       name);
    const char *ids = from + head_bytes(version);
    const char *text = ids + aligned(head.n_names * sizeof(uint32_t));
    const char *word_ids = text + aligned(head.name_bytes);
    const char *words = word_ids + 2 * head.n_word_features * sizeof(uint32_t);
    dataset->weight_by_query = head.weights == OF_QUERIES;
    if (head.n_names)
        status = take_names(ctx, &head, ids, text, dataset);
    if (status == RW_OK && head.weights)
        status = take_weights(ctx, words + aligned(head.word_bytes), dataset);
    if (status == RW_OK)
        status = rw_cache_words_read(ctx, word_ids, head.n_word_features, words, head.word_bytes,
                                     dataset);
    if (status == RW_OK)
        return rw_columns_agree(ctx, name, dataset);
    return status == RW_ERR_FORMAT ? rw_fail(ctx, status,
                                             "'%s' is damaged: a feature's name, a word or a "
                                             "weight is wrong",
                                             name)
                                   : status;
}
