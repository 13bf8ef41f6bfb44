/* Codes of a training set that outlive the engine: the next training on it finds them on the device
 * and neither bins nor sends anything. They serve a training whose own would be the same. */
#include <string.h>

#include "base/mem.h"
#include "gpu/engine/engine_cuda.h"

/* ---- may they serve? ---- */

static int ignores_the_same(const struct rw_cuda_codes *codes, const uint8_t *ignore)
{
    if (!codes->ignore || !ignore)
        return !codes->ignore && !ignore;
    return memcmp(codes->ignore, ignore, RW_FEATURE_IDS) == 0;
}

/* Would a training with this min_docs leave out the same features? More of them, with more. */
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

static int serves(const struct rw_device_spare *spare, const void *user)
{
    const struct rw_cuda_codes *codes = (const struct rw_cuda_codes *)spare;
    const struct rw_cuda *cuda = user;
    const struct rw_cut_rule *rule = &cuda->host.base.rules.cut;
    return spare->device == cuda->device->number && codes->rule.bins == rule->bins &&
           codes->rule.absent_missing == rule->absent_missing &&
           ignores_the_same(codes, rule->ignore) && splits_the_same(codes, rule->min_docs);
}

/* ---- taking and leaving ---- */

/* A method that is forced may need columns of codes that no other training wants. Memory that the
 * user limits is not to be kept, and codes that are not all on the device are of no use to others;
 * nor are those of categories, which a training numbers for itself. */
static void **owner_of(const struct rw_cuda *cuda)
{
    struct rw_keep *keep = cuda->host.base.keep;
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    return keep && !rules->hist && !rules->device_bytes && !rules->cut.categories &&
                   !cuda->place.is_far
               ? &keep->made
               : NULL;
}

void rw_cuda_take_codes(struct rw_cuda *cuda)
{
    void **owner = owner_of(cuda);
    if (owner)
        cuda->taken = (struct rw_cuda_codes *)rw_device_spare_take(owner, serves, cuda);
}

static void free_codes(struct rw_device_spare *spare)
{
    struct rw_cuda_codes *codes = (struct rw_cuda_codes *)spare;
    for (int g = 0; g < codes->n_groups; g++) {
        rw_hist_matrix_free(codes->matrix[g]);
        rw_mem_free(codes->counts[g]);
        rw_mem_free(codes->column[g]);
    }
    rw_cuts_free(codes->cuts);
    rw_mem_free(codes->ignore);
    rw_mem_free(codes);
}

struct rw_cuda_codes *rw_cuda_detach_codes(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_cut_rule *rule = &cuda->host.base.rules.cut;
    struct rw_cuda_codes *codes;
    uint8_t *ignore = NULL;
    if (cuda->taken)
        return cuda->taken;
    /* not settled: loading failed, or there are columns of no use */
    if (!owner_of(cuda) || !cuda->is_settled || RW_NEW(ctx, codes, 1) < 0)
        return NULL;
    if (rule->ignore && RW_NEW(ctx, ignore, RW_FEATURE_IDS) < 0) {
        rw_mem_free(codes);
        return NULL;
    }
    if (ignore)
        memcpy(ignore, rule->ignore, RW_FEATURE_IDS);
    *codes = (struct rw_cuda_codes){.spare = {.device = cuda->device->number, .free = free_codes},
                                    .rule = *rule,
                                    .ignore = ignore,
                                    .cuts = cuda->host.set[0].bins->cuts,
                                    .n_groups = cuda->n_groups};
    codes->rule.ignore = NULL;
    cuda->host.set[0].bins->owns_cuts = 0;
    for (int g = 0; g < cuda->n_groups; g++) {
        codes->matrix[g] = cuda->set[0].matrix[g];
        codes->matrix[g]->d_row = NULL;
        codes->counts[g] = cuda->counts[g];
        codes->column[g] = cuda->group[g].column;
        cuda->set[0].matrix[g] = NULL;
        cuda->counts[g] = NULL;
        cuda->group[g].column = NULL;
    }
    return codes;
}

void rw_cuda_leave_codes(struct rw_cuda_codes *codes, struct rw_keep *keep)
{
    if (codes && codes->spare.owner) {
        rw_device_spare_put(&codes->spare);
    } else if (codes) {
        keep->drop = rw_device_spare_drop;
        rw_device_spare_leave(&codes->spare, &keep->made);
    }
}
