/* What a table's cache has besides: names of features, and weights of documents. */
#include "base/mem.h"
#include "io/cache.h"
#include "io/columns.h"

/* The features' ids follow, then the names, each ended by 0, then the weights; each part at a
 * multiple of 8 bytes. */
struct table_head {
    uint32_t n_names;
    uint32_t weights; /* enum weights */
    uint64_t name_bytes;
};
enum weights { NO_WEIGHTS, OF_DOCUMENTS, OF_QUERIES };

static uint64_t aligned(uint64_t n_bytes)
{
    return (n_bytes + 7) / 8 * 8;
}

static struct table_head head_of(const struct rw_dataset *dataset)
{
    struct table_head head = {.n_names = (uint32_t)dataset->n_names};
    for (int32_t i = 0; i < dataset->n_names; i++)
        head.name_bytes += strlen(dataset->name[i].name) + 1;
    if (dataset->weight)
        head.weights = dataset->weight_by_query ? OF_QUERIES : OF_DOCUMENTS;
    return head;
}

static uint64_t n_bytes_of(const struct table_head *head, uint32_t n_docs)
{
    return sizeof(*head) + aligned(head->n_names * sizeof(uint32_t)) + aligned(head->name_bytes) +
           (head->weights ? n_docs * sizeof(double) : 0);
}

uint64_t rw_cache_table_bytes(const struct rw_dataset *dataset)
{
    const struct table_head head = head_of(dataset);
    return head.n_names || head.weights ? n_bytes_of(&head, dataset->n_docs) : 0;
}

void rw_cache_table_fill(const struct rw_dataset *dataset, char *to)
{
    const struct table_head head = head_of(dataset);
    if (!head.n_names && !head.weights)
        return;
    memcpy(to, &head, sizeof(head));
    to += sizeof(head);
    for (uint32_t i = 0; i < head.n_names; i++)
        memcpy(to + i * sizeof(uint32_t), &dataset->name[i].feature, sizeof(uint32_t));
    to += aligned(head.n_names * sizeof(uint32_t));
    char *text = to;
    for (uint32_t i = 0; i < head.n_names; i++) {
        const size_t n = strlen(dataset->name[i].name) + 1;
        memcpy(text, dataset->name[i].name, n);
        text += n;
    }
    to += aligned(head.name_bytes);
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

static int head_is_good(const struct table_head *head, uint64_t n_bytes, uint32_t n_docs)
{
    return head->n_names <= RW_FEATURE_IDS && head->weights <= OF_QUERIES &&
           head->name_bytes <= n_bytes && n_bytes_of(head, n_docs) == n_bytes;
}

int rw_cache_table_divide(const void *from, uint64_t n_bytes, uint32_t n_docs,
                          uint64_t *names_bytes, uint64_t *doc_bytes)
{
    struct table_head head;
    _Static_assert(sizeof(head) == RW_CACHE_TABLE_HEAD, "what the header says");
    memcpy(&head, from, sizeof(head));
    if (!head_is_good(&head, n_bytes, n_docs))
        return RW_ERR_FORMAT;
    *doc_bytes = head.weights ? sizeof(double) : 0;
    *names_bytes = n_bytes - n_docs * *doc_bytes;
    return RW_OK;
}

int rw_cache_table_read(struct rw_ctx *ctx, const char *name, const char *from, uint64_t n_bytes,
                        struct rw_dataset *dataset)
{
    struct table_head head;
    int status = n_bytes < sizeof(head) ? RW_ERR_FORMAT : RW_OK;
    if (n_bytes == 0)
        return RW_OK;
    if (status == RW_OK)
        memcpy(&head, from, sizeof(head));
    if (status < 0 || !head_is_good(&head, n_bytes, dataset->n_docs))
        return rw_fail(ctx, RW_ERR_FORMAT, "'%s' is damaged: its names' or weights' size is wrong",
                       name);
    const char *ids = from + sizeof(head);
    const char *text = ids + aligned(head.n_names * sizeof(uint32_t));
    dataset->weight_by_query = head.weights == OF_QUERIES;
    if (head.n_names)
        status = take_names(ctx, &head, ids, text, dataset);
    if (status == RW_OK && head.weights)
        status = take_weights(ctx, text + aligned(head.name_bytes), dataset);
    if (status == RW_OK)
        return rw_columns_agree(ctx, name, dataset);
    return status == RW_ERR_FORMAT
               ? rw_fail(ctx, status, "'%s' is damaged: a feature's name or a weight is wrong",
                         name)
               : status;
}
