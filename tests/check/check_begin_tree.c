/* begin_tree: the root's sums and shifts, the rule of splits, and every document's integers. */
#include "check.h"

static void compare_root(struct check_run *run, const struct rw_root *a, const struct rw_root *b)
{
    check_that(run, OP_BEGIN_TREE, check_same_sum(&a->sum, &b->sum), "root's sums");
    check_that(run, OP_BEGIN_TREE,
               a->lambda_exponent == b->lambda_exponent && a->hess_exponent == b->hess_exponent,
               "exponents %d %d, ref has %d %d", b->lambda_exponent, b->hess_exponent,
               a->lambda_exponent, a->hess_exponent);
    check_that(run, OP_BEGIN_TREE,
               a->lambda_shift == b->lambda_shift && a->hess_shift == b->hess_shift,
               "shifts %d %d, ref has %d %d", b->lambda_shift, b->hess_shift, a->lambda_shift,
               a->hess_shift);
    check_that(run, OP_BEGIN_TREE, a->n_features == b->n_features, "%u features, ref has %u",
               b->n_features, a->n_features);
    const struct rw_split_rule *p = &run->ref->split_rule, *q = &run->engine->split_rule;
    check_that(run, OP_BEGIN_TREE,
               p->newton == q->newton && p->l2 == q->l2 && p->gain_scale == q->gain_scale &&
                   p->random_gain == q->random_gain && p->hess_unit == q->hess_unit &&
                   p->min_docs == q->min_docs && p->given.min_hessian == q->given.min_hessian &&
                   p->given.min_gain == q->given.min_gain,
               "rule of splits");
}

/* Numbers of documents outside the sample are unspecified: levelled before they are compared. */
static void compare_integers(struct check_run *run)
{
    const size_t n = run->ref->n_docs[0];
    int64_t *lambda[2], *weight[2];
    int32_t *lambda_q[2], *hess_q[2];
    uint8_t *sampled[2];
    int status[2];
    for (int side = 0; side < 2; side++) {
        struct rw_engine *engine = side ? run->engine : run->ref;
        lambda[side] = check_buffer(n, sizeof(int64_t), side);
        weight[side] = check_buffer(n, sizeof(int64_t), side);
        lambda_q[side] = check_buffer(n, sizeof(int32_t), side);
        hess_q[side] = check_buffer(n, sizeof(int32_t), side);
        sampled[side] = check_buffer(n, 1, side);
        status[side] = engine->ops->read_integers(engine, lambda[side], weight[side],
                                                  lambda_q[side], hess_q[side], sampled[side]);
        for (size_t i = 0; i < n; i++) {
            if (!sampled[side][i])
                lambda[side][i] = weight[side][i] = lambda_q[side][i] = 0;
            if (!sampled[side][i] || !run->c->rules.newton)
                hess_q[side][i] = 0;
        }
    }
    check_status(run, OP_BEGIN_TREE, status[0], status[1]);
    check_same_bytes(run, OP_BEGIN_TREE, sampled[0], sampled[1], n, 1, "sample");
    check_same_bytes(run, OP_BEGIN_TREE, lambda[0], lambda[1], n, sizeof(int64_t), "lambda");
    check_same_bytes(run, OP_BEGIN_TREE, weight[0], weight[1], n, sizeof(int64_t), "weight");
    check_same_bytes(run, OP_BEGIN_TREE, lambda_q[0], lambda_q[1], n, sizeof(int32_t),
                     "quantised lambda");
    check_same_bytes(run, OP_BEGIN_TREE, hess_q[0], hess_q[1], n, sizeof(int32_t),
                     "quantised weight");
}

int check_begin_tree(struct check_run *run, uint32_t tree)
{
    struct rw_root *root[2];
    int status[2];
    for (int side = 0; side < 2; side++) {
        struct rw_engine *engine = side ? run->engine : run->ref;
        root[side] = check_buffer(1, sizeof(**root), side);
        status[side] = engine->ops->begin_tree(engine, tree, root[side]);
    }
    const int good = check_status(run, OP_BEGIN_TREE, status[0], status[1]) && status[0] >= 0;
    if (good) {
        compare_root(run, root[0], root[1]);
        check_that(run, OP_BEGIN_TREE, check_fences(root[1], 1, sizeof(**root)),
                   "root: written past its end");
        run->node[0].n = (uint32_t)root[0]->sum.n;
        if (run->engine->ops->read_integers)
            compare_integers(run);
    }
    check_free(root[0]);
    check_free(root[1]);
    return good;
}
