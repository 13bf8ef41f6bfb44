/* Arguments for the calls of fuzz_calls.c: objects that earlier calls made, and numbers from the
 * input.
 */
#pragma once

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz_input.h"
#include "rankwood.h"

enum { SLOTS = 3, DOCS = 24, FEATURES = 4, CALLS = 24, ROUNDS = 3 };

/* The objects, each owned or NULL. */
struct machine {
    struct fuzz_bytes bytes;
    struct rw_ctx *ctx;
    struct rw_params *params;
    struct rw_dataset *dataset[SLOTS];
    struct rw_model *model[SLOTS];
    struct rw_binned *binned;
    int n_trained;
};

static inline uint32_t below(struct machine *m, uint32_t n)
{
    return fuzz_below(&m->bytes, n);
}

static inline int is_odd(struct machine *m)
{
    return fuzz_byte(&m->bytes) % 32 == 31;
}

static inline struct rw_dataset *a_dataset(struct machine *m)
{
    return m->dataset[below(m, SLOTS)];
}

static inline struct rw_model *a_model(struct machine *m)
{
    return m->model[below(m, SLOTS)];
}

static inline double a_number(struct machine *m)
{
    static const double odd[] = {NAN,     INFINITY, -INFINITY, -1.0,   1e300, -1e300,
                                 65537.0, 1e31,     0.5,       1e-310, -0.0,  3e9};
    return is_odd(m) ? odd[below(m, sizeof(odd) / sizeof(odd[0]))] : below(m, 5);
}

/* Checks the rules that hold after every call; returns 1 if the call succeeded. */
static inline int done(struct machine *m, int status)
{
    fuzz_check(status <= RW_OK && status != RW_ERR_INTERNAL);
    fuzz_check(status == RW_OK || rw_last_error(m->ctx)[0] != 0);
    return status == RW_OK;
}

/* The same of calls that make something. out: where they put it, looked at after the call. */
static inline int made(struct machine *m, int status, const void *out)
{
    const void *object;
    memcpy(&object, out, sizeof(object));
    fuzz_check((status == RW_OK) == (object != NULL));
    return done(m, status);
}

/* Documents, with values by row. */
struct rows {
    float value[DOCS * FEATURES], label[DOCS];
    uint32_t offset[DOCS + 1];
    uint32_t n_docs, n_features, n_queries;
};

void make_rows(struct machine *m, struct rows *rows);

typedef void call_fn(struct machine *m);
/* Of data and parameters. */
extern call_fn dataset_from_memory, dataset_from_table, dataset_from_text, side_data, categories,
    look_at_data, new_params, set_param, look_at_params;
