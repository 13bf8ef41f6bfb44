#include "lab/suites/lab_call.h"
#include "lab/kernels/lab_methods.h"

#include <math.h>

#include "base/mem.h"
#include "gpu/hist/hist.h"

enum { LARGEST = 127 }; /* lambdas of 8 bits, the default of training */

static int device_copy(struct rw_lab *lab, void **d, const void *from, size_t bytes)
{
    RW_TRY(rw_device_alloc(lab->ctx, d, bytes));
    return rw_transfer_write(lab->device, *d, from, bytes);
}

static void drop(void **d)
{
    rw_device_free(*d);
    *d = NULL;
}

/* ---- documents ---- */

/* What moves with a list: in whose order it is makes no difference to its time. */
static int make_moved(struct rw_lab *lab, struct rw_lab_docs *docs, const int32_t *weight)
{
    for (int newton = 0; newton < 2; newton++) {
        const enum rw_moved moved = rw_moved_of(newton, LARGEST);
        const size_t bytes = rw_moved_bytes(moved);
        void *words;
        RW_TRY(rw_mem_new(lab->ctx, &words, docs->n_docs, bytes));
        for (uint32_t i = 0; i < docs->n_docs; i++)
            rw_moved_set(moved, words, i,
                         rw_moved_word(moved, docs->lambda[i], newton ? weight[i] : 0));
        const int status = device_copy(lab, &docs->d_moved[newton], words, docs->n_docs * bytes);
        rw_mem_free(words);
        RW_TRY(status);
    }
    return RW_OK;
}

int rw_lab_docs_init(struct rw_lab *lab, struct rw_lab_docs *docs, uint32_t n_docs)
{
    const uint64_t seed = lab->options->seed;
    uint32_t *list = NULL;
    int32_t *weight = NULL;
    int status;
    docs->n_docs = n_docs;
    RW_TRY_OUT(RW_NEW_RAW(lab->ctx, docs->lambda, n_docs));
    RW_TRY_OUT(RW_NEW_RAW(lab->ctx, docs->value, n_docs));
    RW_TRY_OUT(RW_NEW_RAW(lab->ctx, weight, n_docs));
    RW_TRY_OUT(RW_NEW_RAW(lab->ctx, list, n_docs));
    rw_make_lambdas(docs->lambda, n_docs, LARGEST, RW_LAMBDAS_RANDOM, seed);
    rw_make_weights(weight, n_docs, LARGEST, RW_LAMBDAS_RANDOM, seed);
    rw_make_floats(docs->value, n_docs, seed);
    docs->n_gathered = rw_make_list(list, n_docs, 0.25, 0, seed);
    RW_TRY_OUT(device_copy(lab, &docs->d_lambda, docs->lambda, n_docs * sizeof(*docs->lambda)));
    RW_TRY_OUT(device_copy(lab, &docs->d_hess, weight, n_docs * sizeof(*weight)));
    RW_TRY_OUT(device_copy(lab, &docs->d_float, docs->value, n_docs * sizeof(*docs->value)));
    RW_TRY_OUT(device_copy(lab, &docs->d_list, list, docs->n_gathered * sizeof(*list)));
    status = make_moved(lab, docs, weight);
out:
    rw_mem_free(weight);
    rw_mem_free(list);
    return status;
}

int rw_lab_docs_asked(struct rw_lab *lab, struct rw_lab_docs *docs)
{
    return rw_lab_docs_init(
        lab, docs,
        rw_bench_number(&lab->rows, lab->options->n_docs, RW_LAB_DOCS, RW_LAB_QUICK_DOCS));
}

void rw_lab_docs_release(struct rw_lab_docs *docs)
{
    rw_mem_free(docs->lambda);
    rw_mem_free(docs->value);
    drop(&docs->d_lambda);
    drop(&docs->d_hess);
    drop(&docs->d_float);
    drop(&docs->d_list);
    drop(&docs->d_moved[0]);
    drop(&docs->d_moved[1]);
    *docs = (struct rw_lab_docs){0};
}

/* ---- codes ---- */

int rw_lab_matrix_init(struct rw_lab *lab, struct rw_lab_matrix *m, int bits, int layouts,
                       const struct rw_made_columns *columns)
{
    const uint32_t n_features = columns->n_features;
    const uint64_t cells = (uint64_t)n_features * columns->n_bins;
    uint16_t *frequent = NULL;
    int status;
    RW_TRY_OUT(RW_NEW(lab->ctx, frequent, n_features));
    rw_made_frequent(lab->ctx, columns, frequent);
    const struct rw_hist_matrix_spec spec = {.bits = bits,
                                             .n_features = n_features,
                                             .n_docs = columns->n_docs,
                                             .n_bins = columns->n_bins,
                                             .layouts = layouts};
    RW_TRY_OUT(rw_made_matrix(lab->ctx, lab->device, &spec, columns, &m->matrix));
    RW_TRY_OUT(device_copy(lab, &m->d_frequent, frequent, n_features * sizeof(*frequent)));
    RW_TRY_OUT(rw_device_alloc(lab->ctx, &m->d_count, cells * sizeof(uint32_t)));
    RW_TRY_OUT(rw_device_alloc(lab->ctx, &m->d_lambda_sum, cells * sizeof(int64_t)));
    RW_TRY_OUT(rw_device_alloc(lab->ctx, &m->d_hess_sum, cells * sizeof(int64_t)));
    RW_TRY_OUT(rw_device_alloc(lab->ctx, &m->d_float_sum, cells * sizeof(float)));
out:
    rw_mem_free(frequent);
    return status;
}

void rw_lab_matrix_release(struct rw_lab_matrix *m)
{
    rw_hist_matrix_free(m->matrix);
    drop(&m->d_frequent);
    drop(&m->d_count);
    drop(&m->d_lambda_sum);
    drop(&m->d_hess_sum);
    drop(&m->d_float_sum);
    *m = (struct rw_lab_matrix){0};
}

/* ---- calls ---- */

const char *rw_lab_sums_name(enum rw_hist_sums sums)
{
    static const char *const name[] = {"count", "mart", "newton", "float"};
    return name[sums];
}

/* Makes its scratch at least so large. */
static int need_scratch(struct rw_lab_call *c, size_t bytes)
{
    if (bytes > c->scratch_room || !c->d_scratch) {
        drop(&c->d_scratch);
        c->scratch_room = 0;
        RW_TRY(rw_device_alloc(c->lab->ctx, &c->d_scratch, bytes));
        c->scratch_room = bytes;
    }
    c->call.d_scratch = c->d_scratch;
    return RW_OK;
}

static int make_room(struct rw_lab_call *c)
{
    if (!c->d_node)
        RW_TRY(rw_device_alloc(c->lab->ctx, &c->d_node, sizeof(c->node)));
    c->call.d_node = c->d_node;
    return need_scratch(c, c->ask.method->scratch_bytes(&c->call));
}

int rw_lab_call_choosing(struct rw_lab_call *c, const struct rw_hist_candidates *candidates)
{
    size_t most = 0;
    for (int i = 0; i < 2 * candidates->n; i++) {
        const struct rw_hist_method *method = candidates->method[i / 2];
        struct rw_hist_call call = c->call;
        call.zero_skip = i % 2;
        call.d_scratch = &call; /* only whether it is there is looked at */
        if (rw_hist_check(NULL, method, &call) < 0)
            continue;
        const size_t bytes = method->scratch_bytes(&call);
        most = bytes > most ? bytes : most;
    }
    return need_scratch(c, most);
}

static const struct rw_hist_matrix *part_of(struct rw_lab_call *c,
                                            const struct rw_hist_matrix *matrix)
{
    if (!c->ask.n_features)
        return matrix;
    c->part = *matrix;
    c->part.n_features = c->ask.n_features;
    c->part.n_tiles = 0;
    c->part.d_column += c->ask.first_feature * matrix->column_words;
    return &c->part;
}

int rw_lab_call_set(struct rw_lab_call *c, const struct rw_lab_docs *docs,
                    const struct rw_lab_matrix *m, const struct rw_lab_ask *ask)
{
    const struct rw_device *device = c->lab->device;
    const int newton = ask->sums == RW_HIST_NEWTON;
    const int weighted = ask->sums == RW_HIST_MART || newton;
    const uint32_t n_docs = ask->n_docs ? ask->n_docs : docs->n_docs;
    c->ask = *ask;
    c->node = (struct rw_hist_node){0, ask->gathered ? docs->n_gathered : n_docs};
    c->call = (struct rw_hist_call){
        .matrix = part_of(c, m->matrix),
        .sums = ask->sums,
        .d_list = ask->gathered ? docs->d_list : NULL,
        .node = &c->node,
        .n_nodes = 1,
        .d_lambda = weighted ? docs->d_lambda : NULL,
        .d_hess = newton ? docs->d_hess : NULL,
        .d_float = ask->sums == RW_HIST_FLOAT ? docs->d_float : NULL,
        .by_position = ask->by_position,
        .d_moved = docs->d_moved[newton],
        .largest = LARGEST,
        .zero_skip = ask->zero_skip,
        .d_frequent = (const uint16_t *)m->d_frequent + (ask->n_features ? ask->first_feature : 0),
        .d_count = m->d_count,
        .d_lambda_sum = weighted ? m->d_lambda_sum : NULL,
        .d_hess_sum = newton ? m->d_hess_sum : NULL,
        .d_float_sum = ask->sums == RW_HIST_FLOAT ? m->d_float_sum : NULL,
        .n_multiprocessors = device->n_multiprocessors,
        .shared_bytes = device->shared_bytes,
    };
    RW_TRY(make_room(c));
    RW_TRY(rw_transfer_write(device, c->d_node, &c->node, sizeof(c->node)));
    const int status = rw_hist_check(c->lab->ctx, ask->method, &c->call);
    return status == RW_ERR_UNSUPPORTED ? 1 : status;
}

int rw_lab_call_run(void *user)
{
    struct rw_lab_call *c = user;
    void *stream = c->lab->device->stream;
    if (!c->ask.unroll)
        return rw_hist_run(c->lab->ctx, c->ask.method, &c->call, stream);
    if (rw_cuda_hist_collision_free(&c->call, c->ask.unroll, stream) != 0)
        return rw_fail(c->lab->ctx, RW_ERR_UNSUPPORTED, "CUDA: collision-free, unrolled by %d",
                       c->ask.unroll);
    return RW_OK;
}

int rw_lab_call_time(struct rw_lab_call *c, struct rw_bench_times *times)
{
    return rw_lab_time(c->lab, rw_lab_call_run, c, times);
}

void rw_lab_call_release(struct rw_lab_call *c)
{
    drop(&c->d_node);
    drop(&c->d_scratch);
    c->scratch_room = 0;
}

/* ---- made codes ---- */

int rw_lab_made_init(struct rw_lab *lab, struct rw_lab_made *made, const struct rw_made_spec *spec,
                     int bits, int layouts)
{
    struct rw_made_columns columns = {0};
    int status;
    *made = (struct rw_lab_made){.call = {.lab = lab}};
    RW_TRY_OUT(rw_made_columns_init(lab->ctx, &columns, spec, lab->options->seed));
    RW_TRY_OUT(rw_lab_matrix_init(lab, &made->m, bits, layouts, &columns));
out:
    rw_made_columns_release(&columns);
    return status;
}

void rw_lab_made_release(struct rw_lab_made *made)
{
    rw_lab_call_release(&made->call);
    rw_lab_matrix_release(&made->m);
}

/* ---- levels ---- */

void rw_lab_level_init(struct rw_lab_level *level, int n)
{
    for (int i = 0; i < n; i++)
        level[i] = (struct rw_lab_level){NAN, NAN};
}

int rw_lab_level_time(struct rw_lab_level *level, struct rw_lab_call *c, struct rw_bench_line *line)
{
    struct rw_bench_times times;
    RW_TRY(rw_lab_call_time(c, &times));
    const double rate = rw_lab_call_rate(c, times.median_ms);
    if (isnan(level->first))
        level->first = rate;
    const double relative = rate / level->first;
    if (!(relative >= level->lowest))
        level->lowest = relative;
    rw_lab_add_times(c->lab, line, &times, rw_lab_call_bytes(c));
    rw_bench_add_real(line, "g_updates_s", rate, 1);
    rw_bench_add_real(line, "relative", relative, 3);
    return RW_OK;
}

/* ---- figures ---- */

uint64_t rw_lab_call_docs(const struct rw_lab_call *c)
{
    return c->node.n;
}

double rw_lab_call_code_bytes(const struct rw_lab_call *c)
{
    const struct rw_hist_matrix *m = c->call.matrix;
    return (double)c->node.n * m->n_features * m->bits / 8;
}

double rw_lab_call_bytes(const struct rw_lab_call *c)
{
    const struct rw_hist_matrix *m = c->call.matrix;
    const enum rw_hist_sums sums = c->call.sums;
    const uint64_t n_sums = (sums == RW_HIST_MART) + 2 * (sums == RW_HIST_NEWTON);
    uint64_t a_doc = 0; /* codes: whole elements of tiles */
    for (uint32_t t = 0; c->ask.method->reads_tiles && t < m->n_tiles; t++)
        a_doc += m->tile[t].lanes * (m->bits == 16 ? sizeof(uint16_t) : sizeof(uint32_t));
    const double codes =
        c->ask.method->reads_tiles ? (double)(c->node.n * a_doc) : rw_lab_call_code_bytes(c);
    const uint64_t weights = (n_sums + (sums == RW_HIST_FLOAT)) * sizeof(int32_t) +
                             (c->call.d_list != NULL) * sizeof(uint32_t);
    const uint64_t cell =
        sizeof(uint32_t) + n_sums * sizeof(int64_t) + (sums == RW_HIST_FLOAT) * sizeof(float);
    return codes + (double)(c->node.n * weights) +
           (double)((uint64_t)m->n_features * m->n_bins * cell);
}

double rw_lab_call_rate(const struct rw_lab_call *c, double ms)
{
    return (double)c->node.n * c->call.matrix->n_features / ms / 1e6;
}
