#include "tree/quantise.h"

void rw_extent_add(enum rw_isa isa, uint32_t n, const uint8_t *sampled, const int64_t *lambda,
                   const int64_t *hessian, struct rw_extent *extent)
{
    static rw_extent_fn *const paths[] = RW_ISA_PATHS(rw_extent_add);
    paths[isa](n, sampled, lambda, hessian, extent);
}

void rw_extent_merge(struct rw_extent *extent, const struct rw_extent *other)
{
    extent->lambda = other->lambda > extent->lambda ? other->lambda : extent->lambda;
    extent->hess = other->hess > extent->hess ? other->hess : extent->hess;
    rw_sum_merge(&extent->sum, &other->sum);
}

int64_t rw_quantise_docs(enum rw_isa isa, const struct rw_rounding *rounding, uint32_t first,
                         uint32_t n, const uint8_t *sampled, const int64_t *value, int32_t *out)
{
    static rw_quantise_fn *const paths[] = RW_ISA_PATHS(rw_quantise_docs);
    return paths[isa](rounding, first, n, sampled, value, out);
}
