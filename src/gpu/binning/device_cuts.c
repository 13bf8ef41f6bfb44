#include "gpu/binning/device_cuts.h"

#include <string.h>

#include "base/ctx.h"
#include "base/mem.h"
#include "binning/bins.h"
#include "gpu/device/cu_check.h"
#include "gpu/hist/hist_matrix.h"
#include "gpu/device/transfer.h"

/* Columns in flight; columns whose intervals wait on the device before they are read. */
enum { PLACES = 3, BATCH = 1024 };

/* ---- raw values through a pipe ---- */

static size_t column_bytes(const struct rw_column *column)
{
    return (size_t)column->n * (column->row ? 2 : 1) * sizeof(float);
}

/* A feature's codes as one chunk: if they are listed, the documents, then the codes. */
static int send_codes(struct rw_ctx *ctx, struct rw_transfer_pipe *pipe,
                      const struct rw_codes *codes, size_t code_bytes, rw_transfer_use_fn use,
                      void *user, const void *note)
{
    void *room;
    const size_t row_bytes = codes->row ? codes->n * sizeof(*codes->row) : 0;
    RW_TRY(rw_transfer_pipe_room(pipe, &room));
    if (row_bytes)
        rw_transfer_copy_host(ctx, room, codes->row, row_bytes);
    rw_transfer_copy_host(ctx, (char *)room + row_bytes, codes->code, codes->n * code_bytes);
    return rw_transfer_pipe_send(pipe, row_bytes + codes->n * code_bytes, use, user, note);
}

/* One column as one chunk: its values, then, if it is sparse, their documents. NULL: no value. */
static int send_column(struct rw_ctx *ctx, struct rw_transfer_pipe *pipe,
                       const struct rw_column *column, rw_transfer_use_fn use, void *user,
                       const void *note)
{
    void *room;
    RW_TRY(rw_transfer_pipe_room(pipe, &room));
    if (column) {
        const size_t bytes = (size_t)column->n * sizeof(float);
        rw_transfer_copy_host(ctx, room, column->value, bytes);
        if (column->row)
            rw_transfer_copy_host(ctx, (char *)room + bytes, column->row, bytes);
    }
    return rw_transfer_pipe_send(pipe, column ? column_bytes(column) : 0, use, user, note);
}

static struct rw_cuda_raw raw_of(const struct rw_transfer_chunk *chunk,
                                 const struct rw_column *column, uint32_t n_docs)
{
    struct rw_cuda_raw raw = {.n_docs = n_docs};
    if (!column)
        return raw;
    raw.n = column->n;
    raw.d_value = chunk->d_data;
    if (column->row)
        raw.d_row = (const uint32_t *)chunk->d_data + column->n;
    return raw;
}

static size_t most_column_bytes(const struct rw_dataset *dataset)
{
    size_t most = 1;
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        const size_t bytes = column_bytes(&dataset->column[c]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static size_t most_code_bytes(const struct rw_bins *bins)
{
    size_t most = 1;
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        const struct rw_codes *codes = &bins->codes[f];
        const size_t bytes =
            codes->n * (rw_cuts_code_bytes(bins->cuts, f) + (codes->row ? sizeof(*codes->row) : 0));
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- cuts ---- */

struct finder {
    struct rw_ctx *ctx;
    const struct rw_dataset *dataset;
    const struct rw_cut_rule *rule;
    struct rw_cuda_cut_job job;   /* but for the places' memory */
    void *d_sample_row;           /* owned */
    void *d_key[PLACES];          /* owned */
    void *d_scratch[PLACES];      /* owned */
    void *d_out;                  /* [BATCH] owned */
    struct rw_cut_intervals *out; /* [BATCH] owned */
    uint32_t column[BATCH];       /* of the data set */
    uint32_t n;                   /* in the batch */
};

static int find_chunk(void *user, const struct rw_transfer_chunk *chunk)
{
    struct finder *f = user;
    struct rw_cuda_cut_job job = f->job;
    const struct rw_column *column = &f->dataset->column[f->column[f->n]];
    const struct rw_cuda_raw raw = raw_of(chunk, column, job.n_docs);
    uint32_t *const d_key = f->d_key[chunk->place];
    job.d_key = d_key;
    job.d_scratch = f->d_scratch[chunk->place];
    job.d_out = (struct rw_cut_intervals *)f->d_out + f->n;
    RW_CU(f->ctx,
          (cudaError_t)rw_cuda_cut_keys(&raw, f->rule->absent_missing, d_key, chunk->stream));
    RW_CU(f->ctx, (cudaError_t)rw_cuda_cut_find(&job, chunk->stream));
    return RW_OK;
}

/* The cuts of the columns that were sent. */
static int finish_batch(struct finder *f, const struct rw_device *device,
                        struct rw_transfer_pipe *pipe, struct rw_feature_cuts *found)
{
    RW_TRY(rw_transfer_pipe_end(pipe));
    RW_TRY(rw_transfer_read(f->ctx, device, f->out, f->d_out, f->n * sizeof(*f->out)));
    for (uint32_t i = 0; i < f->n; i++)
        RW_TRY(rw_cuts_of_intervals(f->ctx, &f->out[i], f->rule, &found[f->column[i]]));
    f->n = 0;
    return rw_transfer_pipe_begin(pipe);
}

static int finder_init(struct finder *f, const struct rw_device *device,
                       const struct rw_cut_sample *sample)
{
    struct rw_ctx *const ctx = f->ctx;
    const uint32_t n_docs = f->dataset->n_docs;
    if (sample->row) {
        const size_t bytes = sample->n * sizeof(*sample->row);
        RW_TRY(rw_device_alloc(ctx, &f->d_sample_row, bytes));
        RW_TRY(rw_transfer_write(ctx, device, f->d_sample_row, sample->row, bytes));
    }
    f->job = (struct rw_cuda_cut_job){.n_docs = n_docs,
                                      .n_sample = sample->n,
                                      .bins = (uint32_t)f->rule->bins,
                                      .d_sample_row = f->d_sample_row};
    RW_TRY(RW_NEW(ctx, f->out, BATCH));
    RW_TRY(rw_device_alloc(ctx, &f->d_out, BATCH * sizeof(*f->out)));
    for (int i = 0; i < PLACES; i++) {
        RW_TRY(rw_device_alloc(ctx, &f->d_key[i], n_docs * sizeof(uint32_t)));
        RW_TRY(rw_device_alloc(ctx, &f->d_scratch[i], rw_cuda_cut_bytes(&f->job)));
    }
    return RW_OK;
}

static void finder_release(struct finder *f)
{
    rw_device_free(f->d_sample_row);
    rw_device_free(f->d_out);
    rw_mem_free(f->out);
    for (int i = 0; i < PLACES; i++) {
        rw_device_free(f->d_key[i]);
        rw_device_free(f->d_scratch[i]);
    }
}

int rw_cuda_cuts_make(struct rw_ctx *ctx, const struct rw_device *device,
                      const struct rw_dataset *dataset, const struct rw_cut_rule *rule,
                      struct rw_cuts **out)
{
    int status = RW_OK;
    struct rw_cut_sample sample = {0};
    struct rw_feature_cuts *found = NULL;
    struct rw_transfer_pipe *pipe = NULL;
    struct finder *f = NULL;
    *out = NULL;
    if (dataset->n_docs == 0)
        return rw_cuts_make(ctx, dataset, rule, out);
    RW_TRY_OUT(rw_cut_sample_init(ctx, &sample, dataset));
    RW_TRY_OUT(RW_NEW(ctx, found, dataset->n_columns));
    RW_TRY_OUT(RW_NEW(ctx, f, 1));
    f->ctx = ctx;
    f->dataset = dataset;
    f->rule = rule;
    RW_TRY_OUT(finder_init(f, device, &sample));
    RW_TRY_OUT(rw_transfer_pipe_new(ctx, device, most_column_bytes(dataset), PLACES, &pipe));
    RW_TRY_OUT(rw_transfer_pipe_begin(pipe));
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (rw_cuts_decided(&dataset->column[c], rule, &found[c]))
            continue;
        f->column[f->n] = c;
        RW_TRY_OUT(send_column(ctx, pipe, &dataset->column[c], find_chunk, f, NULL));
        if (++f->n == BATCH)
            RW_TRY_OUT(finish_batch(f, device, pipe, found));
    }
    RW_TRY_OUT(finish_batch(f, device, pipe, found));
    RW_TRY_OUT(rw_cuts_gather(ctx, dataset, found, out));
out:
    rw_transfer_pipe_free(pipe); /* waits, so that nothing below is in use */
    for (uint32_t c = 0; found && c < dataset->n_columns; c++)
        rw_mem_free(found[c].cut);
    rw_mem_free(found);
    if (f)
        finder_release(f);
    rw_mem_free(f);
    rw_cut_sample_release(&sample);
    return status;
}

uint64_t rw_cuda_cuts_bytes(const struct rw_dataset *dataset, int bins)
{
    const uint32_t n = dataset->n_docs, sampled = n < RW_CUT_SAMPLE_DOCS ? n : RW_CUT_SAMPLE_DOCS;
    struct rw_cuda_cut_job job = {.n_docs = n,
                                  .n_sample = sampled + sampled / 16, /* about so many are drawn */
                                  .bins = (uint32_t)bins,
                                  .d_sample_row = &n /* only whether it is there is looked at */};
    return PLACES * (most_column_bytes(dataset) + n * sizeof(uint32_t) + rw_cuda_cut_bytes(&job)) +
           job.n_sample * sizeof(uint32_t) + BATCH * sizeof(struct rw_cut_intervals);
}

/* ---- codes ---- */

struct coder {
    struct rw_ctx *ctx;
    const struct rw_device *device;
    const struct rw_cuda_coding *coding;
    struct rw_hist_matrix *matrix;
    void *d_cut;          /* all cuts; owned */
    void *d_count;        /* [n_features][n_bins]; NULL: not asked for; owned */
    void *d_code[PLACES]; /* owned */
};

/* What a chunk is of. */
struct coded {
    const struct rw_column *column; /* NULL: absent everywhere */
    const struct rw_codes *codes;   /* in its place, if there are codes */
    uint32_t f;                     /* of the matrix */
};

static int put_code(const struct coder *c, uint32_t f, const uint16_t *d_code, void *stream)
{
    const struct rw_hist_matrix *m = c->matrix;
    for (uint32_t t = 0; t < m->n_tiles; t++) {
        const struct rw_hist_tile *tile = &m->tile[t];
        if (f >= tile->first_feature && f - tile->first_feature < tile->n_features)
            RW_CU(c->ctx, (cudaError_t)rw_cuda_code_tile(d_code, m->n_docs, tile->bits, tile,
                                                         f - tile->first_feature, stream));
    }
    if (m->d_column)
        RW_CU(c->ctx, (cudaError_t)rw_cuda_code_column(d_code, m->n_docs, m->bits,
                                                       (uint32_t *)(uintptr_t)m->d_column +
                                                           (uint64_t)f * m->column_words,
                                                       stream));
    return RW_OK;
}

static int count_code(const struct coder *c, uint32_t f, const uint16_t *d_code, void *stream)
{
    if (!c->d_count)
        return RW_OK;
    const uint32_t n_bins = c->coding->n_bins;
    RW_CU(c->ctx,
          (cudaError_t)rw_cuda_code_count(d_code, c->matrix->n_docs, n_bins,
                                          (uint64_t *)c->d_count + (uint64_t)f * n_bins, stream));
    return RW_OK;
}

/* Codes that were found before. */
static int widen_chunk(void *user, const struct rw_transfer_chunk *chunk)
{
    const struct coder *c = user;
    const struct coded *note = chunk->note;
    const struct rw_codes *codes = note->codes;
    const size_t row_bytes = codes->row ? codes->n * sizeof(*codes->row) : 0;
    uint16_t *const d_code = c->d_code[chunk->place];
    const struct rw_cuda_widen_job job = {
        .d_row = codes->row ? chunk->d_data : NULL,
        .d_from = (const char *)chunk->d_data + row_bytes,
        .n = codes->n,
        .n_docs = c->matrix->n_docs,
        .code_bytes = (uint32_t)rw_cuts_code_bytes(c->coding->cuts, c->coding->feature[note->f]),
        .rest = codes->rest,
        .d_code = d_code};
    RW_CU(c->ctx, (cudaError_t)rw_cuda_code_widen(&job, chunk->stream));
    RW_TRY(put_code(c, note->f, d_code, chunk->stream));
    return count_code(c, note->f, d_code, chunk->stream);
}

static int code_chunk(void *user, const struct rw_transfer_chunk *chunk)
{
    const struct coder *c = user;
    const struct coded *note = chunk->note;
    const struct rw_cuts *cuts = c->coding->cuts;
    const uint32_t place = c->coding->feature[note->f], n_cuts = rw_cuts_n_bins(cuts, place);
    const uint32_t zero = rw_bin_of(cuts->cut + cuts->offset[place], n_cuts, 0.0f);
    uint16_t *const d_code = c->d_code[chunk->place];
    struct rw_cuda_code_job job = {.raw = raw_of(chunk, note->column, c->matrix->n_docs),
                                   .d_cut = (const float *)c->d_cut + cuts->offset[place],
                                   .n_cuts = n_cuts,
                                   .d_code = d_code};
    job.missing = cuts->has_missing[place] ? n_cuts : zero;
    job.absent = c->coding->absent_missing ? job.missing : zero;
    RW_CU(c->ctx, (cudaError_t)rw_cuda_code(&job, chunk->stream));
    RW_TRY(put_code(c, note->f, d_code, chunk->stream));
    return count_code(c, note->f, d_code, chunk->stream);
}

/* Device memory of zeros, a multiple of 128 bytes. */
static int zeros(const struct coder *c, const void **d, uint64_t bytes)
{
    const uint64_t padded = (bytes + 127) / 128 * 128;
    RW_TRY(rw_device_alloc(c->ctx, (void **)(uintptr_t)d, padded));
    RW_CU(c->ctx,
          cudaMemsetAsync((void *)(uintptr_t)*d, 0, padded, (cudaStream_t)c->device->stream));
    return RW_OK;
}

/* The layouts of rw_hist_matrix_new with code 0 everywhere. */
static int make_layouts(struct coder *c)
{
    struct rw_hist_matrix *m = c->matrix;
    const uint64_t element = m->bits == 16 ? 2 : 4;
    if (c->coding->layouts & RW_HIST_TILES) {
        RW_TRY(rw_hist_matrix_tiles(c->ctx, m, m->n_features - c->coding->n_narrow));
        for (uint32_t t = 0; t < m->n_tiles; t++)
            RW_TRY(zeros(c, &m->tile[t].d_word, (uint64_t)m->n_docs * m->tile[t].lanes * element));
    }
    if (c->coding->layouts & RW_HIST_COLUMNS) {
        const uint64_t words = ((uint64_t)m->n_docs * (uint32_t)m->bits + 31) / 32;
        m->column_words = (words + 31) / 32 * 32;
        RW_TRY(zeros(c, (const void **)&m->d_column,
                     m->column_words * m->n_features * sizeof(*m->d_column)));
    }
    return RW_OK;
}

static int coder_init(struct coder *c, int counted)
{
    struct rw_ctx *const ctx = c->ctx;
    const struct rw_cuda_coding *coding = c->coding;
    const uint32_t n_docs = coding->dataset->n_docs;
    const size_t cut_bytes = coding->cuts->offset[coding->cuts->n_features] * sizeof(float);
    RW_TRY(RW_NEW(ctx, c->matrix, 1));
    c->matrix->bits = coding->bits;
    c->matrix->n_features = coding->n_features;
    c->matrix->n_docs = n_docs;
    c->matrix->n_bins = coding->n_bins;
    RW_TRY(make_layouts(c));
    RW_TRY(rw_device_alloc(ctx, &c->d_cut, cut_bytes));
    RW_TRY(rw_transfer_write(ctx, c->device, c->d_cut, coding->cuts->cut, cut_bytes));
    for (int i = 0; i < PLACES; i++)
        RW_TRY(rw_device_alloc(ctx, &c->d_code[i], n_docs * sizeof(uint16_t)));
    if (!counted)
        return RW_OK;
    return rw_device_alloc(ctx, &c->d_count,
                           (size_t)coding->n_features * coding->n_bins * sizeof(uint64_t));
}

static int check_coding(struct rw_ctx *ctx, const struct rw_cuda_coding *coding)
{
    if ((coding->bits != 4 && coding->bits != 8 && coding->bits != 16) || coding->n_bins < 1 ||
        coding->n_bins > 1u << coding->bits || coding->n_bins > RW_HIST_MOST_BINS)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%u bins in codes of %d bits", coding->n_bins,
                       coding->bits);
    for (uint32_t f = 0; f < coding->n_features; f++) {
        if (coding->feature[f] >= coding->cuts->n_features ||
            rw_cuts_n_codes(coding->cuts, coding->feature[f]) > coding->n_bins)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "feature %u has more than %u codes, or no cuts", f,
                           coding->n_bins);
    }
    return RW_OK;
}

static size_t chunk_bytes(const struct rw_cuda_coding *coding)
{
    return coding->codes ? most_code_bytes(coding->codes) : most_column_bytes(coding->dataset);
}

uint64_t rw_cuda_bins_bytes(const struct rw_cuda_coding *coding)
{
    return PLACES * (chunk_bytes(coding) + coding->dataset->n_docs * sizeof(uint16_t)) +
           coding->cuts->offset[coding->cuts->n_features] * sizeof(float) +
           (uint64_t)coding->n_features * coding->n_bins * sizeof(uint64_t);
}

/* One feature of the matrix, from its values or from its codes. */
static int send_feature(struct coder *c, struct rw_transfer_pipe *pipe, uint32_t f)
{
    const struct rw_cuda_coding *coding = c->coding;
    const uint32_t place = coding->feature[f];
    struct coded note = {.f = f};
    if (coding->codes) {
        note.codes = &coding->codes->codes[coding->code_of[place]];
        return send_codes(c->ctx, pipe, note.codes, rw_cuts_code_bytes(coding->cuts, place),
                          widen_chunk, c, &note);
    }
    note.column = rw_dataset_column(coding->dataset, coding->cuts->feature[place]);
    return send_column(c->ctx, pipe, note.column, code_chunk, c, &note);
}

int rw_cuda_bins_make(struct rw_ctx *ctx, const struct rw_device *device,
                      const struct rw_cuda_coding *coding, uint64_t *counts,
                      struct rw_hist_matrix **out)
{
    int status = RW_OK;
    struct rw_transfer_pipe *pipe = NULL;
    struct coder c = {.ctx = ctx, .device = device, .coding = coding};
    *out = NULL;
    RW_TRY_OUT(check_coding(ctx, coding));
    RW_TRY_OUT(coder_init(&c, counts != NULL));
    RW_TRY_OUT(rw_transfer_pipe_new(ctx, device, chunk_bytes(coding), PLACES, &pipe));
    RW_TRY_OUT(rw_transfer_pipe_begin(pipe));
    for (uint32_t f = 0; f < coding->n_features; f++)
        RW_TRY_OUT(send_feature(&c, pipe, f));
    RW_TRY_OUT(rw_transfer_pipe_end(pipe));
    if (counts)
        RW_TRY_OUT(rw_transfer_read(ctx, device, counts, c.d_count,
                                    (size_t)coding->n_features * coding->n_bins * sizeof(*counts)));
    RW_TRY_OUT(rw_transfer_wait(ctx, device));
    *out = c.matrix;
    c.matrix = NULL;
out:
    rw_transfer_pipe_free(pipe); /* waits, so that nothing below is in use */
    rw_hist_matrix_free(c.matrix);
    rw_device_free(c.d_cut);
    rw_device_free(c.d_count);
    for (int i = 0; i < PLACES; i++)
        rw_device_free(c.d_code[i]);
    return status;
}
