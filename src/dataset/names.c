/* Texts with numbers (dataset/names.h): names of features, lists of features, query ids by hash,
 * and vocabularies. */
#include "dataset/names.h"

#include <pthread.h>

#include "base/mem.h"

void rw_names_free(struct rw_feature_name *names, int32_t n)
{
    for (int32_t i = 0; names && i < n; i++)
        rw_mem_free(names[i].name);
    rw_mem_free(names);
}

int rw_names_are_same(const struct rw_feature_name *a, int32_t n_a, const struct rw_feature_name *b,
                      int32_t n_b)
{
    if (n_a != n_b)
        return 0;
    for (int32_t i = 0; i < n_a; i++) {
        if (a[i].feature != b[i].feature || strcmp(a[i].name, b[i].name) != 0)
            return 0;
    }
    return 1;
}

int rw_name_for_model(struct rw_ctx *ctx, const char *name, char **out)
{
    const size_t n = strlen(name);
    const int is_number = strspn(name, "0123456789-") == n;
    char *to;
    RW_TRY(RW_NEW(ctx, to, n + 2));
    *out = to;
    if (is_number)
        *to++ = '_';
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)name[i] <= ' ' || name[i] == ',' ? '_' : name[i];
    return RW_OK;
}

/* Copies names, in the form for a model's file if `of_model`. */
static int copy_names(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                      int of_model, struct rw_feature_name **out)
{
    RW_RELEASED(rw_query_ids_release) struct rw_query_ids seen = {0}; /* a set of texts */
    struct rw_feature_name *names = NULL;
    size_t first;
    int status = RW_OK;
    *out = NULL;
    if (n == 0)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, names, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        char **name = &names[i].name;
        names[i].feature = from[i].feature;
        RW_TRY_OUT(of_model ? rw_name_for_model(ctx, from[i].name, name)
                            : rw_mem_copy_text(ctx, name, from[i].name));
        RW_TRY_OUT(of_model ? rw_query_ids_add(ctx, &seen, *name, &first) : RW_OK);
        if (status == 1)
            RW_TRY_OUT(rw_fail(ctx, RW_ERR_DATA,
                               "features '%.64s' and '%.64s' both become '%.64s' in a model\nhint: "
                               "models store '_' for blanks and commas; rename one of the features",
                               from[first].name, from[i].name, *name));
    }
    *out = RW_TAKE(names);
out:
    rw_names_free(names, n);
    return status;
}

int rw_names_copy(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                  struct rw_feature_name **out)
{
    return copy_names(ctx, from, n, 0, out);
}

int rw_names_for_model(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                       struct rw_feature_name **out)
{
    return copy_names(ctx, from, n, 1, out);
}

const char *rw_feature_text(const struct rw_feature_name *names, int32_t n, uint32_t feature,
                            char text[RW_FEATURE_TEXT])
{
    const char *name = rw_name_of(names, n, feature);
    if (*name)
        snprintf(text, RW_FEATURE_TEXT, "feature '%.140s'", name);
    else
        snprintf(text, RW_FEATURE_TEXT, "feature %u", feature);
    return text;
}

long rw_parse_id(const char *text, const char **end)
{
    uint64_t id;
    const char *at = rw_number_digits(text, RW_MAX_FEATURE, &id);
    *end = at ? at : text;
    return at ? (long)id : -1;
}

int rw_list_item(struct rw_ctx *ctx, const char *parameter, const char *item, size_t length,
                 const struct rw_feature_name *names, int32_t n_names, long *first, long *last)
{
    const char *end;
    for (int32_t i = 0; i < n_names; i++) {
        if (rw_name_is(names[i].name, item, length)) {
            *first = *last = (long)names[i].feature;
            return RW_OK;
        }
    }
    *first = *last = rw_parse_id(item, &end);
    if (*first >= 0 && *end == '-')
        *last = rw_parse_id(end + 1, &end);
    if (*first < 0 || *last < *first || end != item + length)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "%s: expected a feature id (0 to %d), a range of ids or a feature name, found '%.*s'",
            parameter, RW_MAX_FEATURE, (int)(length > 64 ? 64 : length), item);
    return RW_OK;
}

int rw_list_next(struct rw_ctx *ctx, const char *parameter, size_t length, const char **list)
{
    *list += length;
    const char separator = **list;
    if (separator && !*++*list)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%s: expected a feature after the last '%c'",
                       parameter, separator);
    return RW_OK;
}

uint32_t rw_list_count(const char *list)
{
    uint32_t n = 0;
    while (*list) {
        const size_t length = strcspn(list, ",");
        const char *end;
        const long first = rw_parse_id(list, &end);
        const long last = first >= 0 && *end == '-' ? rw_parse_id(end + 1, &end) : first;
        n += end == list + length && last > first ? (uint32_t)(last - first) + 1 : 1;
        list += length;
        list += *list == ',';
    }
    return n;
}

int rw_list_parse(struct rw_ctx *ctx, const char *parameter, const char *list,
                  const struct rw_feature_name *names, int32_t n_names, uint8_t *marked)
{
    memset(marked, 0, RW_FEATURE_IDS);
    while (*list) {
        const size_t length = strcspn(list, ",");
        long first, last;
        RW_TRY(rw_list_item(ctx, parameter, list, length, names, n_names, &first, &last));
        memset(marked + first, 1, (size_t)(last - first) + 1);
        RW_TRY(rw_list_next(ctx, parameter, length, &list));
    }
    return RW_OK;
}

struct rw_query_id_slot {
    const char *id; /* NULL: free */
    uint64_t hash;
    size_t index;
};

void rw_query_ids_release(struct rw_query_ids *ids)
{
    rw_mem_free(ids->slot);
    *ids = (struct rw_query_ids){.slot = NULL};
}

uint64_t rw_text_hash(const char *text, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32;
    return hash * UINT64_C(0x9e3779b97f4a7c15);
}

/* Returns the slot of an id, or the free slot where it belongs. */
static struct rw_query_id_slot *slot_of(const struct rw_query_ids *ids, uint64_t hash,
                                        const char *id, size_t n)
{
    size_t i = (size_t)(hash >> 20) & (ids->room - 1);
    while (ids->slot[i].id && (ids->slot[i].hash != hash || strlen(ids->slot[i].id) != n ||
                               memcmp(ids->slot[i].id, id, n) != 0))
        i = (i + 1) & (ids->room - 1);
    return &ids->slot[i];
}

static int make_room(struct rw_ctx *ctx, struct rw_query_ids *ids)
{
    if (ids->n * 2 < ids->room)
        return RW_OK;
    struct rw_query_ids bigger = *ids;
    bigger.room = ids->room ? ids->room * 2 : 1024;
    RW_TRY(RW_NEW(ctx, bigger.slot, bigger.room));
    for (size_t i = 0; i < ids->room; i++) {
        if (ids->slot[i].id)
            *slot_of(&bigger, ids->slot[i].hash, ids->slot[i].id, strlen(ids->slot[i].id)) =
                ids->slot[i];
    }
    rw_mem_free(ids->slot);
    *ids = bigger;
    return RW_OK;
}

int rw_query_ids_add(struct rw_ctx *ctx, struct rw_query_ids *ids, const char *id, size_t *index)
{
    RW_TRY(make_room(ctx, ids));
    const size_t n = strlen(id);
    const uint64_t hash = rw_text_hash(id, n);
    struct rw_query_id_slot *slot = slot_of(ids, hash, id, n);
    const int is_known = slot->id != NULL;
    if (!is_known)
        *slot = (struct rw_query_id_slot){.id = id, .hash = hash, .index = ids->n++};
    *index = slot->index;
    return is_known;
}

int rw_query_ids_find(const struct rw_query_ids *ids, const char *id, size_t n, size_t *index)
{
    if (ids->n == 0)
        return 0;
    const struct rw_query_id_slot *slot = slot_of(ids, rw_text_hash(id, n), id, n);
    *index = slot->index;
    return slot->id != NULL;
}

int rw_text_set_add(struct rw_ctx *ctx, struct rw_text_set *texts, const char *text, size_t n,
                    size_t *index)
{
    enum { BLOCK_BYTES = 1 << 16 };
    if (rw_query_ids_find(&texts->ids, text, n, index))
        return RW_OK;
    if (texts->block_bytes - texts->used <= n) {
        const size_t bytes = n < BLOCK_BYTES ? BLOCK_BYTES : n + 1;
        texts->used = texts->block_bytes = 0;
        RW_TRY(RW_ARENA_NEW(ctx, &texts->arena, texts->block, bytes));
        texts->block_bytes = bytes;
    }
    char *copy = texts->block + texts->used;
    memcpy(copy, text, n);
    copy[n] = 0;
    RW_TRY(RW_GROW(ctx, texts->text, texts->room, texts->ids.n + 1));
    RW_TRY(rw_query_ids_add(ctx, &texts->ids, copy, index));
    texts->text[*index] = copy;
    texts->used += n + 1;
    return RW_OK;
}

void rw_text_set_release(struct rw_text_set *texts)
{
    rw_arena_free(&texts->arena);
    rw_mem_free(texts->text);
    rw_query_ids_release(&texts->ids);
}

struct rw_vocabulary {
    pthread_mutex_t mutex; /* protects all members below, except that rw_vocabulary_has reads
                              `marked` without it */
    int n_owners;
    struct rw_text_set words;
    uint8_t marked[RW_FEATURE_IDS]; /* 1: the feature's values are words */
};

int rw_vocabulary_new(struct rw_ctx *ctx, struct rw_vocabulary **out)
{
    RW_TRY(RW_NEW(ctx, *out, 1));
    pthread_mutex_init(&(*out)->mutex, NULL);
    (*out)->n_owners = 1;
    return RW_OK;
}

struct rw_vocabulary *rw_vocabulary_share(struct rw_vocabulary *vocabulary)
{
    if (!vocabulary)
        return NULL;
    pthread_mutex_lock(&vocabulary->mutex);
    vocabulary->n_owners++;
    pthread_mutex_unlock(&vocabulary->mutex);
    return vocabulary;
}

void rw_vocabulary_free(struct rw_vocabulary *vocabulary)
{
    if (!vocabulary)
        return;
    pthread_mutex_lock(&vocabulary->mutex);
    const int n_owners = --vocabulary->n_owners;
    pthread_mutex_unlock(&vocabulary->mutex);
    if (n_owners > 0)
        return;
    rw_text_set_release(&vocabulary->words);
    pthread_mutex_destroy(&vocabulary->mutex);
    rw_mem_free(vocabulary);
}

int rw_vocabulary_add(struct rw_vocabulary *vocabulary, const char *word, size_t n,
                      uint32_t *number)
{
    struct rw_text_set *words = &vocabulary->words;
    size_t index = 0;
    int status = RW_OK;
    pthread_mutex_lock(&vocabulary->mutex);
    if (words->ids.n < RW_MAX_WORDS)
        status = rw_text_set_add(NULL, words, word, n, &index);
    else if (!rw_query_ids_find(&words->ids, word, n, &index))
        status = RW_ERR_DATA;
    pthread_mutex_unlock(&vocabulary->mutex);
    *number = (uint32_t)index;
    return status;
}

uint32_t rw_vocabulary_n(struct rw_vocabulary *vocabulary)
{
    pthread_mutex_lock(&vocabulary->mutex);
    const uint32_t n = (uint32_t)vocabulary->words.ids.n;
    pthread_mutex_unlock(&vocabulary->mutex);
    return n;
}

const char *rw_vocabulary_word(struct rw_vocabulary *vocabulary, uint32_t number)
{
    pthread_mutex_lock(&vocabulary->mutex);
    const char *word = vocabulary->words.text[number];
    pthread_mutex_unlock(&vocabulary->mutex);
    return word;
}

void rw_vocabulary_mark(struct rw_vocabulary *vocabulary, uint32_t feature)
{
    pthread_mutex_lock(&vocabulary->mutex);
    vocabulary->marked[feature] = 1;
    pthread_mutex_unlock(&vocabulary->mutex);
}

int rw_vocabulary_has(const struct rw_vocabulary *vocabulary, uint32_t feature)
{
    return vocabulary && vocabulary->marked[feature & RW_MAX_FEATURE];
}
