/* set_gradients: custom gradients of any size; those that are no gradients are refused.
 * set_lambdas: integers. */
#include <math.h>
#include <stdlib.h>

#include "check.h"

static double gradient_of(struct check_random *random, enum check_gradients kind)
{
    const double unit = check_unit(random) * 2.0 - 1.0;
    switch (kind) {
    case GRADIENTS_HUGE:
        return unit < 0 ? -1e30 : 1e30 * unit;
    case GRADIENTS_TINY:
        return check_chance(random, 0.5) ? unit * 1e-300 : unit * 5e-324;
    case GRADIENTS_ZERO:
        return 0.0;
    case GRADIENTS_MIXED:
        return unit * exp2((double)check_below(random, 180) - 90.0);
    case GRADIENTS_ONE_SIGN:
        return 0.9 + 0.05 * unit; /* under a power of two: the integers use all their bits */
    default:
        return unit;
    }
}

static void try_bad(struct check_run *run, double *gradient, double *hessian, uint32_t n)
{
    static const double bad[][2] = {{NAN, 1}, {INFINITY, 1}, {2e30, 1},
                                    {0, NAN}, {0, -1e-300},  {0, INFINITY}};
    const uint32_t doc = check_below(&run->random, n);
    const double kept[2] = {gradient[doc], hessian[doc]};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        gradient[doc] = bad[i][0];
        hessian[doc] = bad[i][1];
        const int status = rw_engine_set_gradients(run->engine, gradient, hessian);
        check_that(run, OP_GRADIENTS, status == RW_ERR_DATA, "gradient %g, hessian %g: status %d",
                   bad[i][0], bad[i][1], status);
    }
    gradient[doc] = kept[0];
    hessian[doc] = kept[1];
}

/* Integers up to the largest that are allowed, which no double holds. */
static void set_integers(struct check_run *run)
{
    const uint32_t n = run->ref->n_docs[0];
    int64_t *lambda = malloc(n * sizeof(*lambda)), *hessian = malloc(n * sizeof(*hessian));
    if (!lambda || !hessian)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t high = check_bits(&run->random), low = check_bits(&run->random);
        lambda[i] = (int64_t)((high << 32 | low) >> (2 + check_below(&run->random, 62)));
        hessian[i] = lambda[i] >> check_below(&run->random, 8);
        if (check_chance(&run->random, 0.5))
            lambda[i] = -lambda[i];
    }
    check_status(run, OP_GRADIENTS, run->ref->ops->set_lambdas(run->ref, lambda, hessian),
                 run->engine->ops->set_lambdas(run->engine, lambda, hessian));
    free(lambda);
    free(hessian);
}

void check_gradients(struct check_run *run, uint32_t tree)
{
    const uint32_t n = run->ref->n_docs[0];
    if (run->c->spec.gradients == GRADIENTS_FIXED) {
        set_integers(run);
        return;
    }
    const enum check_gradients kind = run->c->spec.gradients;
    double *gradient = malloc(n * sizeof(*gradient)), *hessian = malloc(n * sizeof(*hessian));
    if (!gradient || !hessian)
        abort();
    for (uint32_t i = 0; i < n; i++) {
        gradient[i] = gradient_of(&run->random, kind);
        hessian[i] = fabs(gradient_of(&run->random, kind));
        if (check_chance(&run->random, 0.1))
            hessian[i] = 0.0;
    }
    if (tree == 0)
        try_bad(run, gradient, hessian, n);
    check_status(run, OP_GRADIENTS, rw_engine_set_gradients(run->ref, gradient, hessian),
                 rw_engine_set_gradients(run->engine, gradient, hessian));
    free(gradient);
    free(hessian);
}
