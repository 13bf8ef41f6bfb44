/* The codes of a training set on a GPU, as an object of their own (struct rw_cuda_codes). The
 * engine that makes them shares them at once through the training set's cache. Other engines then
 * neither bin nor send them again: the bags of a training, trainings that run at the same time, and
 * later trainings. An engine can use them only if it would make the same codes.
 *
 * Codes never change. Only the columns that no engine reads any more are freed, so engines copy the
 * records of matrices under a lock. Codes that no later training can use are freed with their last
 * engine, and so are those that are not in the cache, because it is missing or has other codes.
 * Host-resident codes are not shared: each engine has its own. */
#include <pthread.h>

#include "gpu/engine/engine_cuda.h"

/* Guards d_column and n_readers of all codes. */
static pthread_mutex_t columns = PTHREAD_MUTEX_INITIALIZER;

/* Returns 1 if a training with this min_docs leaves out the same features as the training that made
 * the codes. A higher min_docs leaves out more of them. */
static int splits_the_same(const struct rw_cuda_codes *codes, uint32_t min_docs)
{
    const struct rw_cuts *cuts = codes->cuts;
    uint32_t n_columns = 0;
    if (min_docs < codes->rule.min_docs && cuts->n_few > 0)
        return 0;
    for (int g = 0; g < codes->n_groups; g++) {
        const struct rw_hist_matrix *matrix = codes->matrix[g];
        for (uint32_t f = 0; f < matrix->n_features; f++, n_columns++) {
            uint32_t count[RW_MAX_CODES];
            const uint64_t *of = codes->counts[g] + (size_t)f * matrix->n_bins;
            const uint32_t column = codes->column[g][f], n_bins = rw_cuts_n_bins(cuts, column);
            for (uint32_t code = 0; code < rw_cuts_n_codes(cuts, column); code++)
                count[code] = (uint32_t)of[code];
            if (!rw_cuts_can_split(count, n_bins, cuts->has_missing[column] ? count[n_bins] : 0,
                                   min_docs))
                return 0;
        }
    }
    return n_columns == cuts->n_features;
}

static int are_equal(const void *a, const void *b, size_t bytes)
{
    return a && b ? memcmp(a, b, bytes) == 0 : a == b;
}

/* Returns 1 if this training (user) would make the same codes. A forced method may need columns of
 * codes that no other training needs. Each training numbers its own categories. */
static int serves(const struct rw_device_cache *entry, const void *user)
{
    const struct rw_cuda_codes *codes = (const struct rw_cuda_codes *)entry;
    const struct rw_cuda *cuda = user;
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const struct rw_hist_method *hist = rules->hist ? rw_hist_method_find(rules->hist) : NULL;
    return entry->device == cuda->device->number && codes->rule.bins == rules->cut.bins &&
           codes->rule.absent_missing == rules->cut.absent_missing &&
           codes->rule.categories == rules->cut.categories && codes->hist == hist &&
           are_equal(codes->rule.ignore, rules->cut.ignore, RW_FEATURE_IDS) &&
           splits_the_same(codes, rules->cut.min_docs);
}

void rw_cuda_codes_take(struct rw_cuda *cuda)
{
    struct rw_engine_cache *cache = cuda->host.base.cache;
    if (cache)
        cuda->codes = (struct rw_cuda_codes *)rw_device_cache_take(&cache->data, serves, cuda);
}

static void free_codes(struct rw_device_cache *entry)
{
    struct rw_cuda_codes *codes = (struct rw_cuda_codes *)entry;
    for (int g = 0; g < codes->n_groups; g++)
        rw_hist_matrix_free(codes->matrix[g]);
    rw_cuts_free(codes->cuts);
    rw_arena_free(&codes->arena);
    rw_mem_free(codes);
}

int rw_cuda_codes_share(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    struct rw_hist_matrix *copy[RW_CUDA_GROUPS];
    struct rw_cuda_codes *codes;
    uint8_t *ignore = NULL;
    if (cuda->codes || cuda->place.is_far)
        return RW_OK;
    for (int g = 0; g < cuda->n_groups; g++)
        RW_TRY(RW_ARENA_NEW(ctx, &cuda->memory.arena, copy[g], 1));
    if (rules->cut.ignore) {
        RW_TRY(RW_ARENA_NEW(ctx, &cuda->codes_arena, ignore, RW_FEATURE_IDS));
        memcpy(ignore, rules->cut.ignore, RW_FEATURE_IDS);
    }
    RW_TRY(RW_NEW(ctx, codes, 1));
    *codes = (struct rw_cuda_codes){
        .entry = {.device = cuda->device->number,
                  /* if the user limits the memory, it should not stay in use */
                  .is_brief = rules->hist || rules->device_bytes || rules->cut.categories,
                  .free = free_codes},
        .rule = rules->cut,
        .hist = rules->hist ? rw_hist_method_find(rules->hist) : NULL,
        .cuts = cuda->host.set[0].bins->cuts,
        .n_groups = cuda->n_groups,
        .arena = cuda->codes_arena};
    codes->rule.ignore = ignore;
    cuda->codes_arena = (struct rw_arena){NULL};
    cuda->host.set[0].bins->owns_cuts = 0;
    for (int g = 0; g < cuda->n_groups; g++) {
        struct rw_hist_matrix **own = &cuda->set[0].matrix[g];
        codes->matrix[g] = *own;
        codes->n_readers[g] = 1;
        codes->counts[g] = cuda->counts[g];
        codes->column[g] = cuda->group[g].column;
        for (uint32_t t = 0; t < (*own)->n_tiles; t++)
            codes->bytes += rw_cuda_tile_bytes(*own, t);
        *copy[g] = **own;
        *own = copy[g];
    }
    cuda->codes = codes;
    cuda->has_made_codes = 1;
    rw_device_cache_add(&codes->entry, cuda->host.base.cache);
    return RW_OK;
}

void rw_cuda_codes_read(struct rw_cuda_codes *codes, int g, int is_dry, struct rw_hist_matrix *out)
{
    pthread_mutex_lock(&columns);
    *out = *codes->matrix[g];
    codes->n_readers[g] += (uint32_t)(!is_dry && out->d_column);
    pthread_mutex_unlock(&columns);
}

void rw_cuda_codes_drop_columns(struct rw_cuda_codes *codes, int g)
{
    pthread_mutex_lock(&columns);
    if (--codes->n_readers[g] == 0) {
        rw_device_free((void *)(uintptr_t)codes->matrix[g]->d_column);
        codes->matrix[g]->d_column = NULL;
    }
    pthread_mutex_unlock(&columns);
}

void rw_cuda_codes_leave(struct rw_cuda *cuda)
{
    if (cuda->codes)
        rw_device_cache_leave(&cuda->codes->entry);
}
