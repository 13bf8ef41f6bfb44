/* Two data sets compared bit by bit. */
#pragma once

#include <criterion/criterion.h>

#include "dataset/dataset.h"

static void assert_same_dataset(const struct rw_dataset *a, const struct rw_dataset *b)
{
    cr_assert_eq(a->n_docs, b->n_docs);
    cr_assert_eq(a->n_queries, b->n_queries);
    cr_assert_eq(a->n_columns, b->n_columns);
    cr_assert_eq(a->n_clamped, b->n_clamped);
    cr_assert_eq(memcmp(a->label, b->label, a->n_docs * sizeof(float)), 0);
    cr_assert_eq(memcmp(a->query_offset, b->query_offset, (a->n_queries + 1) * sizeof(uint32_t)),
                 0);
    for (uint32_t q = 0; q < a->n_queries; q++)
        cr_assert_str_eq(rw_dataset_query_id(a, q), rw_dataset_query_id(b, q));
    for (uint32_t i = 0; i < a->n_docs; i++)
        cr_assert_str_eq(rw_dataset_comment(a, i), rw_dataset_comment(b, i));
    for (uint32_t c = 0; c < a->n_columns; c++) {
        const struct rw_column *x = &a->column[c], *y = &b->column[c];
        cr_assert_eq(x->feature, y->feature);
        cr_assert_eq(x->n, y->n);
        cr_assert_eq(x->row == NULL, y->row == NULL);
        cr_assert_eq(memcmp(x->value, y->value, x->n * sizeof(float)), 0);
        if (x->row)
            cr_assert_eq(memcmp(x->row, y->row, x->n * sizeof(uint32_t)), 0);
    }
}
