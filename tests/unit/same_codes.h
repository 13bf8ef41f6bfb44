/* Bins compared bit by bit. */
#pragma once

#include <criterion/criterion.h>

#include "binning/bins.h"

static void assert_same_codes(const struct rw_bins *a, const struct rw_bins *b)
{
    cr_assert_eq(a->n_docs, b->n_docs);
    cr_assert_eq(a->rule.bins, b->rule.bins);
    cr_assert_eq(a->rule.min_docs, b->rule.min_docs);
    cr_assert_eq(a->cuts->n_features, b->cuts->n_features);
    cr_assert_eq(a->cuts->n_constant, b->cuts->n_constant);
    cr_assert_eq(a->cuts->n_few, b->cuts->n_few);
    for (uint32_t f = 0; f < a->cuts->n_features; f++) {
        const struct rw_codes *x = &a->codes[f], *y = &b->codes[f];
        const uint32_t n_bins = rw_cuts_n_bins(a->cuts, f);
        cr_assert_eq(a->cuts->feature[f], b->cuts->feature[f]);
        cr_assert_eq(a->cuts->has_missing[f], b->cuts->has_missing[f]);
        cr_assert_eq(n_bins, rw_cuts_n_bins(b->cuts, f));
        cr_assert_eq(memcmp(a->cuts->cut + a->cuts->offset[f], b->cuts->cut + b->cuts->offset[f],
                            n_bins * sizeof(float)),
                     0, "cuts of feature %u", a->cuts->feature[f]);
        cr_assert_eq(x->n, y->n, "feature %u", a->cuts->feature[f]);
        cr_assert_eq(x->row == NULL, y->row == NULL);
        if (x->row) {
            cr_assert_eq(x->rest, y->rest);
            cr_assert_eq(memcmp(x->row, y->row, x->n * sizeof(*x->row)), 0);
        }
        cr_assert_eq(memcmp(x->code, y->code, x->n * rw_cuts_code_bytes(a->cuts, f)), 0,
                     "codes of feature %u", a->cuts->feature[f]);
    }
}

/* bins: of the values. */
static void assert_same_binned(const struct rw_dataset *values, const struct rw_bins *bins,
                               const struct rw_binned *binned)
{
    cr_assert_eq(binned->documents->n_columns, 0);
    cr_assert(rw_dataset_same_judgments(values, binned->documents));
    cr_assert_eq(binned->n_features, values->n_columns);
    for (uint32_t c = 0; c < values->n_columns; c++)
        cr_assert_eq(binned->feature[c], values->column[c].feature);
    assert_same_codes(bins, binned->bins);
}
