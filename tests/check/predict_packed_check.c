/* Packed models (model/packed.h) against the plain walk, by ==. */
#include <stdio.h>
#include <string.h>

#include "base/isa.h"
#include "base/mem.h"
#include "model/packed.h"
#include "predict_made.h"

/* What the maker of the model promises about how it can be packed. Returns 0 if packing did
 * something else. */
static int is_as_expected(const struct spec *spec, const struct rw_packed *packed)
{
    const int refused = spec->distinct > 65535 || spec->n_features > 16384;
    if (!packed || refused)
        return !packed && refused;
    return packed->code_bytes == (spec->distinct > 255 ? 2 : 1);
}

static void check_ops(struct rw_ctx *ctx, const struct spec *spec, const struct rw_flat *flat,
                      const struct rw_packed_ops *ops, const struct rw_dataset *data,
                      const double *want, double *got, struct totals *totals)
{
    static const int n_threads[] = {1, 3};
    struct rw_packed *packed = NULL;
    char what[80];
    snprintf(what, sizeof(what), "packed, %s, up to %u leaves", ops->name, ops->most[0]);
    if (rw_packed_new(ctx, flat, ops, &packed) < 0) {
        fail(totals, spec, what, rw_last_error(ctx));
        return;
    }
    if (!is_as_expected(spec, packed))
        fail(totals, spec, what, packed ? "codes of the wrong size" : "cannot be packed");
    for (size_t i = 0; packed && i < sizeof(n_threads) / sizeof(n_threads[0]); i++) {
        poison(got, data->n_docs);
        if (rw_ctx_set_threads(ctx, n_threads[i]) < 0 ||
            rw_packed_scores(ctx, packed, data, got) < 0)
            fail(totals, spec, what, rw_last_error(ctx));
        else
            compare(totals, spec, what, want, got, data->n_docs);
    }
    if (rw_ctx_set_threads(ctx, 0) < 0)
        fail(totals, spec, "threads", rw_last_error(ctx));
    rw_packed_free(packed);
}

void check_packed(struct rw_ctx *ctx, const struct spec *spec, const struct rw_model *model,
                  const struct rw_dataset *data, const double *want, double *got,
                  struct totals *totals)
{
    /* 0: as it is; otherwise, trees of more leaves are walked. 65536 leaves have numbers of two
     * bytes. */
    static const uint32_t most[][2] = {{0, 0}, {1, 1}, {256, 65536}};
    struct rw_flat flat;
    if (rw_flat_init(ctx, &flat, model, spec->use) < 0) {
        fail(totals, spec, "packed", rw_last_error(ctx));
        return;
    }
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa(); isa++) {
        for (size_t i = 0; i < sizeof(most) / sizeof(most[0]); i++) {
            struct rw_packed_ops ops = *rw_packed_ops((enum rw_isa)isa);
            if (i > 0)
                memcpy(ops.most, most[i], sizeof(ops.most));
            if (i == 0 || data->n_docs < 100000)
                check_ops(ctx, spec, &flat, &ops, data, want, got, totals);
        }
    }
    rw_flat_release(&flat);
}
