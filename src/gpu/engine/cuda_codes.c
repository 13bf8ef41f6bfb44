/* Implements cuda_codes.h, except cuda_far.c and cuda_columns.c. Codes that engines share never
 * change, except that columns are freed when no engine reads them any more. So engines copy the
 * records of matrices under a lock. Codes that no later training can use are freed with their last
 * engine, and so are those that are not in the cache. */
#include <pthread.h>

#include "gpu/binning/device_cuts.h"
#include "gpu/engine/cuda_codes.h"

/* ---- shared codes ---- */

/* Guards the list of cached codes, and users, d_column and n_readers of all codes. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct rw_cuda_shared *cached;

/* Returns 1 if min_docs leaves out the same features as that of the training that made the codes. A
 * higher min_docs leaves out more of them. */
static int splits_the_same(const struct rw_cuda_shared *shared, uint32_t min_docs)
{
    const struct rw_cuts *cuts = shared->cuts;
    if (min_docs < shared->rule.min_docs && cuts->n_few > 0)
        return 0;
    for (int g = 0; g < shared->n_groups; g++) {
        const struct rw_cuda_group *group = &shared->group[g];
        for (uint32_t f = 0; f < group->spec.n_features; f++) {
            uint32_t count[RW_MAX_CODES];
            const uint64_t *of = group->counts + (size_t)f * group->spec.n_bins;
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

/* Returns 1 if this training would make the same codes. A forced method may need columns of codes
 * that no other training needs. Each training numbers its own categories. */
static int serves(const struct rw_cuda_shared *shared, const struct rw_cuda_codes *codes)
{
    const struct rw_engine_rules *rules = &codes->host->base.rules;
    return shared->device == codes->device->number && shared->rule.bins == rules->cut.bins &&
           shared->rule.absent_missing == rules->cut.absent_missing &&
           shared->rule.categories == rules->cut.categories && shared->hist == codes->forced &&
           are_equal(shared->rule.ignore, rules->cut.ignore, RW_FEATURE_IDS) &&
           splits_the_same(shared, rules->cut.min_docs);
}

/* Frees codes, and removes them from the cache if they are there. The caller holds the mutex. */
static void drop(struct rw_cuda_shared *shared)
{
    if (shared->owner) {
        struct rw_cuda_shared **at = &cached;
        while (*at != shared)
            at = &(*at)->next;
        *at = shared->next;
        shared->owner->data = NULL;
    }
    for (int g = 0; g < shared->n_groups; g++)
        rw_hist_matrix_free(shared->matrix[g]);
    rw_cuts_free(shared->cuts);
    rw_arena_free(&shared->arena);
    rw_mem_free(shared);
}

/* Frees an owner's codes, if there are any. They must be unused. */
static void drop_owned(void **data)
{
    pthread_mutex_lock(&mutex);
    if (*data)
        drop(*data);
    pthread_mutex_unlock(&mutex);
}

int rw_cuda_codes_evict(int device)
{
    int n = 0;
    pthread_mutex_lock(&mutex);
    for (struct rw_cuda_shared *shared = cached, *next; shared; shared = next) {
        next = shared->next;
        if (shared->device != device || shared->n_users > 0)
            continue;
        drop(shared);
        n++;
    }
    pthread_mutex_unlock(&mutex);
    return n > 0;
}

/* Adds codes to the cache `owner`, unless that is NULL or has others. */
static void cache_shared(struct rw_cuda_shared *shared, struct rw_engine_cache *owner)
{
    pthread_mutex_lock(&mutex);
    if (owner && !owner->data) {
        *owner = (struct rw_engine_cache){shared, drop_owned};
        shared->owner = owner;
        shared->next = cached;
        cached = shared;
    }
    pthread_mutex_unlock(&mutex);
    rw_device_set_evict(rw_cuda_codes_evict);
}

void rw_cuda_codes_take(struct rw_cuda_codes *codes)
{
    const struct rw_engine_cache *cache = codes->host->base.cache;
    pthread_mutex_lock(&mutex);
    struct rw_cuda_shared *shared = cache ? cache->data : NULL;
    if (shared && serves(shared, codes)) {
        shared->n_users++;
        codes->shared = shared;
    } else if (shared && shared->n_users == 0) {
        drop(shared);
    }
    pthread_mutex_unlock(&mutex);
}

/* Makes codes->shared, without codes. */
static int new_shared(struct rw_cuda_codes *codes)
{
    struct rw_ctx *ctx = codes->host->base.ctx;
    const struct rw_engine_rules *rules = &codes->host->base.rules;
    struct rw_cuda_shared *shared;
    uint8_t *ignore;
    RW_TRY(RW_NEW(ctx, shared, 1));
    codes->shared = shared;
    codes->has_made = 1;
    shared->device = codes->device->number;
    shared->n_users = 1;
    /* if the user limits the memory, it should not stay in use */
    shared->is_brief = rules->hist || rules->device_bytes || rules->cut.categories;
    shared->rule = rules->cut;
    shared->hist = codes->forced;
    if (!rules->cut.ignore)
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(ctx, &shared->arena, ignore, RW_FEATURE_IDS));
    memcpy(ignore, rules->cut.ignore, RW_FEATURE_IDS);
    shared->rule.ignore = ignore;
    return RW_OK;
}

void rw_cuda_codes_drop_columns(struct rw_cuda_shared *shared, int g)
{
    pthread_mutex_lock(&mutex);
    if (--shared->n_readers[g] == 0) {
        rw_device_free((void *)(uintptr_t)shared->matrix[g]->d_column);
        shared->matrix[g]->d_column = NULL;
    }
    pthread_mutex_unlock(&mutex);
}

/* ---- groups ---- */

/* Puts each feature in the group of its codes' width. Narrow features, whose codes fit 4 bits, join
 * the group of 8 bits if there are features of 8 bits, so that one launch serves both. */
static int make_groups(struct rw_ctx *ctx, const struct rw_cuts *cuts,
                       struct rw_cuda_shared *shared)
{
    static const int group_bits[RW_CUDA_GROUPS] = {4, 8, 16};
    int narrow_with = 4;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        if (rw_code_bits(rw_cuts_n_codes(cuts, f)) == 8)
            narrow_with = 8;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        struct rw_cuda_group *group = &shared->group[shared->n_groups];
        group->spec.bits = group_bits[g];
        if (!group->column)
            RW_TRY(RW_ARENA_NEW(ctx, &shared->arena, group->column, cuts->n_features));
        for (int narrow = 0; narrow < 2; narrow++) {
            for (uint32_t f = 0; f < cuts->n_features; f++) {
                const uint32_t n_codes = rw_cuts_n_codes(cuts, f);
                const int bits = rw_code_bits(n_codes);
                if ((bits == 4) != narrow || (narrow ? narrow_with : bits) != group->spec.bits)
                    continue;
                group->column[group->spec.n_features++] = f;
                group->spec.n_narrow += (uint32_t)(bits < group->spec.bits);
                group->spec.n_bins = n_codes > group->spec.n_bins ? n_codes : group->spec.n_bins;
            }
        }
        const uint32_t fours =
            (group->spec.n_bins + 3) / 4 * 4; /* searches read four cells at a time */
        if (fours <= RW_HIST_MOST_BINS)
            group->spec.n_bins = fours;
        shared->n_groups += group->spec.n_features > 0;
    }
    return RW_OK;
}

int rw_cuda_codes_begin(struct rw_cuda_codes *codes, uint32_t n_docs)
{
    struct rw_bins *bins = codes->host->set[0].bins;
    codes->n_docs = n_docs;
    codes->n_features = bins->cuts->n_features;
    if (codes->shared)
        return RW_OK;
    RW_TRY(new_shared(codes));
    if (!rw_cuda_is_dry(codes->memory)) {
        codes->shared->cuts = bins->cuts;
        bins->owns_cuts = 0;
    }
    return make_groups(codes->host->base.ctx, bins->cuts, codes->shared);
}

/* ---- matrices ---- */

uint64_t rw_cuda_tiles_bytes(const struct rw_hist_matrix *matrix)
{
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < matrix->n_tiles; t++) {
        const uint64_t docs = matrix->tile[t].far_word ? matrix->tile[t].n_here : matrix->n_docs;
        bytes += (docs * rw_hist_tile_doc_bytes(matrix, t) + 127) / 128 * 128;
    }
    return bytes;
}

/* Returns the layouts of a group's matrix of the training set. Columns are made if they fit a
 * quarter of the memory that is left, or if a forced method needs them. */
static int layouts_of(const struct rw_cuda_codes *codes, int g)
{
    const struct rw_cuda_group *group = &codes->shared->group[g];
    const uint64_t bytes =
        (uint64_t)codes->n_docs * group->spec.n_features * (uint32_t)group->spec.bits / 8;
    const int are_wanted = codes->forced ? !codes->forced->reads_tiles
                                         : bytes <= rw_cuda_left_bytes(codes->memory) / 4;
    return are_wanted ? RW_HIST_TILES | RW_HIST_COLUMNS : RW_HIST_TILES;
}

static void count_matrix(struct rw_host *host, const struct rw_hist_matrix *matrix)
{
    host->memory.part = "codes";
    rw_host_count(host, rw_cuda_tiles_bytes(matrix));
    host->memory.part = "column copies";
    rw_host_count(host, matrix->column_words * matrix->n_features * sizeof(*matrix->d_column));
}

/* Makes a group's codes on the device, and for the training set their counts. */
static int make_matrix(struct rw_cuda_codes *codes, int set, int g,
                       const struct rw_cuda_source *source)
{
    struct rw_cuda_group *group = &codes->shared->group[g];
    struct rw_hist_matrix **matrix =
        set == 0 ? &codes->shared->matrix[g] : &codes->set[set].matrix[g];
    struct rw_ctx *ctx = codes->host->base.ctx;
    struct rw_cuda_coding coding = {.dataset = source->dataset,
                                    .cuts = codes->host->set[0].bins->cuts,
                                    .absent_missing = codes->host->base.rules.cut.absent_missing,
                                    .matrix = group->spec,
                                    .feature = group->column,
                                    .codes = source->codes,
                                    .code_of = source->code_of};
    coding.matrix.n_docs = source->dataset->n_docs;
    coding.matrix.layouts = set == 0 ? layouts_of(codes, g) : RW_HIST_TILES;
    if (rw_cuda_is_dry(codes->memory)) {
        RW_TRY(rw_hist_matrix_plan(ctx, &coding.matrix, matrix));
    } else {
        if (set == 0)
            RW_TRY(RW_ARENA_NEW(ctx, &codes->shared->arena, group->counts,
                                (size_t)group->spec.n_features * group->spec.n_bins));
        RW_TRY(rw_cuda_bins_make(codes->device, &coding, set == 0 ? group->counts : NULL, matrix));
    }
    count_matrix(codes->host, *matrix);
    rw_cuda_count_most(codes->memory, rw_cuda_bins_bytes(&coding));
    return RW_OK;
}

/* Marks a matrix of a dry run as one that has its codes, for the checks of methods. */
static void mark_dry(struct rw_cuda_codes *codes, struct rw_hist_matrix *matrix)
{
    const void *const marker = codes;
    if (matrix->column_words)
        matrix->d_column = marker;
    for (uint32_t t = 0; t < matrix->n_tiles && codes->place.is_far; t++) {
        if (matrix->tile[t].n_here < matrix->n_docs)
            matrix->tile[t].far_word = marker;
    }
}

/* Sends the most frequent code of each feature; 0 if the counts are unknown. */
static int send_frequent(struct rw_cuda_codes *codes, int g)
{
    const struct rw_cuda_group *group = &codes->shared->group[g];
    RW_FREED uint16_t *frequent = NULL;
    RW_TRY(RW_NEW(codes->host->base.ctx, frequent, group->spec.n_features));
    for (uint32_t f = 0; group->counts && f < group->spec.n_features; f++) {
        const uint64_t *of = group->counts + (size_t)f * group->spec.n_bins;
        for (uint32_t code = 1; code < group->spec.n_bins; code++)
            frequent[f] = of[code] > of[frequent[f]] ? (uint16_t)code : frequent[f];
    }
    return RW_CUDA_TABLE(codes->memory, codes->d_frequent[g], frequent, group->spec.n_features);
}

/* Copies the record of a group's matrix of the training set, so that this engine can change it.
 * Unless in a dry run, the engine then is a reader of its columns, if there are any. */
static int read_matrix(struct rw_cuda_codes *codes, int g)
{
    const int is_dry = rw_cuda_is_dry(codes->memory);
    struct rw_hist_matrix **matrix = &codes->set[0].matrix[g];
    RW_TRY(RW_ARENA_NEW(codes->host->base.ctx, &codes->memory->arena, *matrix, 1));
    pthread_mutex_lock(&mutex);
    **matrix = *codes->shared->matrix[g];
    codes->shared->n_readers[g] += !is_dry && (*matrix)->d_column;
    pthread_mutex_unlock(&mutex);
    if (is_dry && codes->has_made)
        mark_dry(codes, *matrix);
    if (codes->place.is_far)
        count_matrix(codes->host, *matrix);
    return send_frequent(codes, g);
}

/* ---- where each feature's codes are ---- */

static struct rw_cuda_column column_of_tile(const struct rw_hist_tile *tile, uint32_t f)
{
    return (struct rw_cuda_column){.d_word = tile->d_word,
                                   .bytes = tile->bits == 16 ? 2 : 4,
                                   .lanes = tile->lanes,
                                   .lane = f % tile->lanes,
                                   .bits = (uint32_t)tile->bits,
                                   .shift = f / tile->lanes * (uint32_t)tile->bits};
}

static struct rw_cuda_column column_of_matrix(const struct rw_hist_matrix *matrix, uint32_t f)
{
    return (struct rw_cuda_column){.d_word = matrix->d_column + f * matrix->column_words,
                                   .bytes = matrix->bits == 16 ? 2 : 1,
                                   .lanes = 1,
                                   .bits = (uint32_t)matrix->bits,
                                   .log_docs = matrix->bits == 4};
}

/* Sends where each feature's codes are: in a set's tiles or, if they are host-resident, in the
 * columns there. For the training set, also sets where partitions read them. */
static int send_columns(struct rw_cuda_codes *codes, int set)
{
    struct rw_ctx *ctx = codes->host->base.ctx;
    struct rw_cuda_set *of = &codes->set[set];
    const size_t bytes = codes->n_features * sizeof(struct rw_cuda_column);
    RW_FREED struct rw_cuda_column *column = NULL;
    RW_TRY(RW_NEW(ctx, column, codes->n_features));
    if (of->is_far)
        memcpy(column, of->far_at, bytes);
    if (set == 0) {
        RW_TRY(RW_ARENA_NEW(ctx, &codes->memory->arena, codes->split_column, codes->n_features));
        RW_TRY(RW_ARENA_NEW(ctx, &codes->memory->arena, codes->tile_column, codes->n_features));
    }
    for (int g = 0; g < codes->shared->n_groups && of->matrix[g]; g++) {
        const struct rw_hist_matrix *matrix = of->matrix[g];
        for (uint32_t t = 0; t < matrix->n_tiles; t++) {
            const struct rw_hist_tile *tile = &matrix->tile[t];
            for (uint32_t f = 0; f < tile->n_features; f++) {
                const uint32_t i = tile->first_feature + f;
                const uint32_t feature = codes->shared->group[g].column[i];
                if (!of->is_far)
                    column[feature] = column_of_tile(tile, f);
                if (set == 0)
                    codes->split_column[feature] =
                        matrix->d_column ? column_of_matrix(matrix, i) : column[feature];
            }
        }
    }
    if (set == 0)
        memcpy(codes->tile_column, column, bytes);
    return RW_CUDA_TABLE(codes->memory, of->d_column, column, codes->n_features);
}

/* ---- a set ---- */

int rw_cuda_codes_load(struct rw_cuda_codes *codes, int set, const struct rw_cuda_source *source)
{
    struct rw_cuda_shared *shared = codes->shared;
    const int is_far =
        set == 0 ? codes->place.is_far : rw_cuda_is_set_far(codes, source->dataset->n_docs);
    codes->set[set].is_far = is_far;
    if (is_far)
        RW_TRY(rw_cuda_far_load(codes, set, source));
    for (int g = 0; g < shared->n_groups && !is_far && (set > 0 || codes->has_made); g++)
        RW_TRY(make_matrix(codes, set, g, source));
    for (int g = 0; g < shared->n_groups && set == 0; g++)
        RW_TRY(read_matrix(codes, g));
    RW_TRY(send_columns(codes, set));
    if (rw_cuda_is_dry(codes->memory))
        return RW_OK;
    if (set == 0 && codes->has_made && !is_far) {
        for (int g = 0; g < shared->n_groups; g++)
            shared->bytes += rw_cuda_tiles_bytes(shared->matrix[g]);
        cache_shared(shared, codes->host->base.cache);
    }
    return rw_transfer_wait(codes->device);
}

void rw_cuda_codes_release(struct rw_cuda_codes *codes)
{
    struct rw_cuda_shared *shared = codes->shared;
    const int is_dry = rw_cuda_is_dry(codes->memory), reads = !is_dry && !codes->is_settled;
    for (int set = 0; set < RW_MAX_SETS; set++) {
        struct rw_cuda_set *of = &codes->set[set];
        rw_transfer_pinned_free(of->far_column);
        for (int g = 0; g < RW_CUDA_GROUPS; g++) {
            if (set > 0)
                rw_hist_matrix_free(of->matrix[g]);
            else if (reads && of->matrix[g] && of->matrix[g]->d_column)
                rw_cuda_codes_drop_columns(shared, g);
        }
    }
    if (!shared || (!codes->has_made && is_dry))
        return;
    pthread_mutex_lock(&mutex);
    if (--shared->n_users == 0 && (!shared->owner || shared->is_brief))
        drop(shared);
    pthread_mutex_unlock(&mutex);
}
