/* Codes of training sets that engines share (struct rw_cuda_shared). An engine can use them only if
 * it would make the same codes. Codes never change. Only the columns that no engine reads any more
 * are freed, so engines copy the records of matrices under a lock. Codes that no later training can
 * use are freed with their last engine, and so are those that are not in the cache. */
#include <pthread.h>

#include "gpu/engine/cuda_codes.h"

/* Guards d_column and n_readers of all codes. */
static pthread_mutex_t columns = PTHREAD_MUTEX_INITIALIZER;

/* Returns 1 if a training with this min_docs leaves out the same features as the training that made
 * the codes. A higher min_docs leaves out more of them. */
static int splits_the_same(const struct rw_cuda_shared *shared, uint32_t min_docs)
{
    const struct rw_cuts *cuts = shared->cuts;
    if (min_docs < shared->rule.min_docs && cuts->n_few > 0)
        return 0;
    for (int g = 0; g < shared->n_groups; g++) {
        const struct rw_cuda_group *group = &shared->group[g];
        for (uint32_t f = 0; f < group->n_features; f++) {
            uint32_t count[RW_MAX_CODES];
            const uint64_t *of = group->counts + (size_t)f * group->n_bins;
            const uint32_t column = group->column[f], n_bins = rw_cuts_n_bins(cuts, column);
            for (uint32_t code = 0; code < rw_cuts_n_codes(cuts, column); code++)
                count[code] = (uint32_t)of[code];
            if (!rw_cuts_can_split(count, n_bins, cuts->has_missing[column] ? count[n_bins] : 0,
                                   min_docs))
                return 0;
        }
    }
    return 1;
}

static int are_equal(const void *a, const void *b, size_t bytes)
{
    return a && b ? memcmp(a, b, bytes) == 0 : a == b;
}

static const struct rw_hist_method *forced_method(const struct rw_engine_rules *rules)
{
    return rules->hist ? rw_hist_method_find(rules->hist) : NULL;
}

/* Returns 1 if this training (user) would make the same codes. A forced method may need columns of
 * codes that no other training needs. Each training numbers its own categories. */
static int serves(const struct rw_device_cache *entry, const void *user)
{
    const struct rw_cuda_shared *shared = (const struct rw_cuda_shared *)entry;
    const struct rw_cuda_codes *codes = user;
    const struct rw_engine_rules *rules = &codes->host->base.rules;
    return entry->device == codes->device->number && shared->rule.bins == rules->cut.bins &&
           shared->rule.absent_missing == rules->cut.absent_missing &&
           shared->rule.categories == rules->cut.categories &&
           shared->hist == forced_method(rules) &&
           are_equal(shared->rule.ignore, rules->cut.ignore, RW_FEATURE_IDS) &&
           splits_the_same(shared, rules->cut.min_docs);
}

void rw_cuda_shared_take(struct rw_cuda_codes *codes)
{
    struct rw_engine_cache *cache = codes->host->base.cache;
    if (cache)
        codes->shared = (struct rw_cuda_shared *)rw_device_cache_take(&cache->data, serves, codes);
}

static void free_shared(struct rw_device_cache *entry)
{
    struct rw_cuda_shared *shared = (struct rw_cuda_shared *)entry;
    for (int g = 0; g < shared->n_groups; g++)
        rw_hist_matrix_free(shared->matrix[g]);
    rw_cuts_free(shared->cuts);
    rw_arena_free(&shared->arena);
    rw_mem_free(shared);
}

int rw_cuda_shared_new(struct rw_cuda_codes *codes)
{
    struct rw_ctx *ctx = codes->host->base.ctx;
    const struct rw_engine_rules *rules = &codes->host->base.rules;
    struct rw_cuda_shared *shared;
    uint8_t *ignore;
    RW_TRY(RW_NEW(ctx, shared, 1));
    codes->shared = shared;
    codes->has_made = 1;
    shared->entry.device = codes->device->number;
    /* if the user limits the memory, it should not stay in use */
    shared->entry.is_brief = rules->hist || rules->device_bytes || rules->cut.categories;
    shared->entry.free = free_shared;
    shared->rule = rules->cut;
    shared->hist = forced_method(rules);
    rw_device_cache_add(&shared->entry, NULL);
    if (!rules->cut.ignore)
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(ctx, &shared->arena, ignore, RW_FEATURE_IDS));
    memcpy(ignore, rules->cut.ignore, RW_FEATURE_IDS);
    shared->rule.ignore = ignore;
    return RW_OK;
}

void rw_cuda_shared_read(struct rw_cuda_shared *shared, int g, int is_dry,
                         struct rw_hist_matrix *out)
{
    pthread_mutex_lock(&columns);
    *out = *shared->matrix[g];
    shared->n_readers[g] += !is_dry && out->d_column;
    pthread_mutex_unlock(&columns);
}

void rw_cuda_shared_drop_columns(struct rw_cuda_shared *shared, int g)
{
    pthread_mutex_lock(&columns);
    if (--shared->n_readers[g] == 0) {
        rw_device_free((void *)(uintptr_t)shared->matrix[g]->d_column);
        shared->matrix[g]->d_column = NULL;
    }
    pthread_mutex_unlock(&columns);
}
