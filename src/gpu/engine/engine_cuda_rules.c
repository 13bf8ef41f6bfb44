/* What searches know of the rules: features' directions and penalties, which have categories, and
 * the features that each node may be split by. */
#include "base/mem.h"
#include "gpu/engine/engine_cuda.h"

static int send_directions(struct rw_cuda *cuda)
{
    struct rw_host *host = &cuda->host;
    const size_t n_features = host->base.info.n_features;
    int8_t *direction = NULL;
    if (!host->base.rules.monotone)
        return RW_OK;
    RW_TRY(RW_NEW(host->base.ctx, direction, n_features));
    if (!rw_cuda_is_dry(cuda))
        rw_host_set_directions(host, direction);
    const int status = rw_cuda_send_table(cuda, (void **)&cuda->d_direction, direction, n_features,
                                          sizeof(*direction));
    rw_mem_free(direction);
    return status;
}

static int send_penalties(struct rw_cuda *cuda)
{
    struct rw_host *host = &cuda->host;
    const size_t n_features = host->base.info.n_features;
    double *penalty = NULL;
    if (!host->base.rules.penalty)
        return RW_OK;
    RW_TRY(RW_NEW(host->base.ctx, penalty, n_features));
    if (!rw_cuda_is_dry(cuda))
        rw_host_set_penalties(host, penalty);
    const int status =
        rw_cuda_send_table(cuda, (void **)&cuda->d_penalty, penalty, n_features, sizeof(*penalty));
    rw_mem_free(penalty);
    return status;
}

int rw_cuda_send_rules(struct rw_cuda *cuda)
{
    RW_TRY(send_directions(cuda));
    return send_penalties(cuda);
}

/* Those of a group that are this rank's, by their places in its histograms. */
static int send_categories(struct rw_cuda *cuda, struct rw_cuda_group *group)
{
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    struct rw_cuda_category *category = NULL;
    uint32_t n = 0, most_codes = 0;
    void *d;
    RW_TRY(RW_NEW(cuda->host.base.ctx, category, group->n_features));
    for (uint32_t f = 0; f < group->cells.n_features; f++) {
        const uint32_t column = group->column[group->first_own + f];
        if (!rw_cuts_by_category(cuts, column))
            continue;
        const uint32_t n_codes = rw_cuts_n_bins(cuts, column);
        most_codes = n_codes > most_codes ? n_codes : most_codes;
        category[n++] = (struct rw_cuda_category){.feature = f,
                                                  .column = column,
                                                  .n_codes = n_codes,
                                                  .has_missing = cuts->has_missing[column]};
    }
    const int status = n ? rw_cuda_send_table(cuda, &d, category, n, sizeof(*category)) : RW_OK;
    if (n && status >= 0)
        group->categories = (struct rw_cuda_categories){d, n, cuda->n_sets, most_codes};
    cuda->n_sets += n;
    rw_mem_free(category);
    return status;
}

int rw_cuda_send_categories(struct rw_cuda *cuda)
{
    for (int g = 0; g < cuda->n_groups; g++)
        RW_TRY(send_categories(cuda, &cuda->group[g]));
    return RW_OK;
}

size_t rw_cuda_allowed_bytes(const struct rw_cuda *cuda)
{
    const struct rw_engine *engine = &cuda->host.base;
    return rw_rules_by_node(&engine->rules) ? rw_feature_words(engine) * sizeof(uint32_t) : 0;
}

int rw_cuda_allow(struct rw_engine *engine, const int32_t *slots, int n, const uint32_t *features)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const size_t words = rw_feature_words(engine);
    for (int i = 0; i < n; i++)
        memcpy(cuda->allowed + (size_t)slots[i] * words, features + (size_t)i * words,
               words * sizeof(*features));
    return RW_OK;
}

int rw_cuda_send_allowed(struct rw_cuda *cuda, const int32_t *slots, uint32_t n,
                         struct rw_cuda_search *search)
{
    const size_t bytes = rw_cuda_allowed_bytes(cuda), words = bytes / sizeof(uint32_t);
    struct rw_cuda_piece piece;
    if (bytes == 0)
        return RW_OK;
    RW_TRY(rw_cuda_room(cuda, n * bytes, &piece));
    uint32_t *to = piece.host;
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + i * words, cuda->allowed + (size_t)slots[i] * words, bytes);
    search->d_allowed = piece.d;
    search->n_allowed_words = (uint32_t)words;
    return rw_cuda_send(cuda, &piece, n * bytes);
}
