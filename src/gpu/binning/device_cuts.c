/* Sends the columns of a data set to the device, and runs the kernels of device_cuts.cu on them. */
#include "gpu/binning/device_cuts.h"

#include "gpu/device/cu_check.h"

/* SLOTS: columns or features that are processed at the same time. BATCH: columns whose struct
 * rw_cut_intervals are read together. */
enum { SLOTS = 3, BATCH = 1024 };

/* ---- columns through a pipe ---- */

static struct rw_entries entries_of(const struct rw_column *column)
{
    if (!column) /* no document has a value */
        return (struct rw_entries){.bytes = sizeof(float)};
    return (struct rw_entries){column->value, column->row, column->n, sizeof(float)};
}

static size_t row_bytes(const struct rw_entries *entries)
{
    return entries->row ? entries->n * sizeof(*entries->row) : 0;
}

static size_t entries_bytes(const struct rw_entries *entries)
{
    return row_bytes(entries) + (size_t)entries->n * entries->bytes;
}

/* Sends entries as one chunk: their documents if `row` is set, then the data. Changes their
 * addresses to those on the device. */
static int send(struct rw_ctx *ctx, struct rw_transfer_pipe *pipe, struct rw_entries *entries,
                struct rw_transfer_chunk *chunk)
{
    const size_t at_data = row_bytes(entries);
    void *room;
    RW_TRY(rw_transfer_pipe_room(pipe, &room));
    rw_transfer_copy_host(ctx, room, entries->row, at_data);
    rw_transfer_copy_host(ctx, (char *)room + at_data, entries->data,
                          (size_t)entries->n * entries->bytes);
    RW_TRY(rw_transfer_pipe_send(pipe, room, entries_bytes(entries), chunk));
    entries->data = (const char *)chunk->d_data + at_data;
    entries->row = entries->row ? chunk->d_data : NULL;
    return RW_OK;
}

static struct rw_entries code_entries(const struct rw_bins *bins, uint32_t f)
{
    const struct rw_codes *codes = &bins->codes[f];
    const uint32_t bytes = (uint32_t)rw_cuts_code_bytes(bins->cuts, f);
    return (struct rw_entries){codes->code, codes->row, codes->n, bytes};
}

/* Returns the bytes of the largest column or, of `codes`, of the largest feature. */
static size_t most_bytes(const struct rw_dataset *dataset, const struct rw_bins *codes)
{
    const uint32_t n = codes ? codes->cuts->n_features : dataset->n_columns;
    size_t most = 1;
    for (uint32_t i = 0; i < n; i++) {
        const struct rw_entries entries =
            codes ? code_entries(codes, i) : entries_of(&dataset->column[i]);
        most = entries_bytes(&entries) > most ? entries_bytes(&entries) : most;
    }
    return most;
}

/* ---- cuts ---- */

struct cut_search {
    const struct rw_device *device;
    struct rw_cut_finder *finder;
    struct rw_cuda_cut_job job[SLOTS]; /* each chunk sets d_out */
    struct rw_device_tables tables;
    struct rw_cut_intervals *d_out; /* [BATCH] */
    struct rw_cut_intervals *out;   /* [BATCH] copy of d_out on the host */
    uint32_t column[BATCH];         /* [n] columns of the data set */
    uint32_t n;                     /* number of columns in the batch */
};

static int find_column(struct cut_search *s, struct rw_transfer_pipe *pipe, uint32_t column)
{
    struct rw_entries values = entries_of(&s->finder->dataset->column[column]);
    struct rw_transfer_chunk chunk;
    RW_TRY(send(s->finder->ctx, pipe, &values, &chunk));
    s->job[chunk.place].d_out = s->d_out + s->n;
    s->column[s->n++] = column;
    RW_CU(s->finder->ctx, rw_cuda_cut_find(&s->job[chunk.place], &values, chunk.stream));
    return RW_OK;
}

static int finish_batch(struct cut_search *s, struct rw_transfer_pipe *pipe)
{
    const struct rw_cut_finder *finder = s->finder;
    RW_TRY(rw_transfer_pipe_end(pipe));
    RW_TRY(rw_transfer_read(s->device, s->out, s->d_out, s->n * sizeof(*s->out)));
    for (uint32_t i = 0; i < s->n; i++)
        RW_TRY(rw_cuts_of_intervals(finder->ctx, &s->out[i], finder->rule,
                                    &finder->found[s->column[i]]));
    s->n = 0;
    return rw_transfer_pipe_begin(pipe);
}

/* Makes the jobs of all slots and their scratch. job[0] has the other members. sample_row: the
 * documents of the sample, NULL: all. Without a device, counts the bytes of a drawn sample. */
static int make_jobs(struct rw_device_tables *tables, const uint32_t *sample_row,
                     struct rw_cuda_cut_job *job)
{
    const int is_drawn = sample_row || !tables->device;
    const size_t n = job->n_docs, n_sample = job->n_sample;
    if (is_drawn)
        RW_TRY(RW_DEVICE_TABLE(tables, job->d_sample_row, sample_row, n_sample));
    job->temp_bytes = rw_cuda_cut_temp_bytes(job);
    for (int i = 0; i < SLOTS; i++) {
        job[i] = job[0];
        RW_TRY(RW_DEVICE_TABLE(tables, job[i].d_key, NULL, n));
        RW_TRY(RW_DEVICE_TABLE(tables, job[i].d_all, NULL, n));
        job[i].d_sample = job[i].d_all;
        if (is_drawn) {
            RW_TRY(RW_DEVICE_TABLE(tables, job[i].d_sample_key, NULL, n_sample));
            RW_TRY(RW_DEVICE_TABLE(tables, job[i].d_sample, NULL, n_sample));
        }
        RW_TRY(RW_DEVICE_TABLE(tables, job[i].d_unique, NULL, n_sample));
        RW_TRY(RW_DEVICE_TABLE(tables, job[i].d_n_unique, NULL, 1));
        RW_TRY(rw_device_table(tables, &job[i].d_temp, NULL, job->temp_bytes));
    }
    return RW_OK;
}

static void search_release(struct cut_search *s)
{
    rw_arena_free(&s->tables.arena);
}

static int find_on_device(void *user, struct rw_cut_finder *finder)
{
    RW_RELEASED(search_release) struct cut_search s = {.device = user, .finder = finder};
    const struct rw_dataset *dataset = finder->dataset;
    struct rw_device_tables *tables = &s.tables;
    RW_SCOPED(rw_transfer_pipe_free)
    struct rw_transfer_pipe *pipe = NULL; /* freed first, because freeing waits for the device */
    if (dataset->n_docs == 0)
        return rw_cuts_find_on_host(NULL, finder);
    *tables = (struct rw_device_tables){.ctx = finder->ctx, .device = s.device};
    s.job[0] = (struct rw_cuda_cut_job){.n_docs = dataset->n_docs,
                                        .n_sample = finder->sample.n,
                                        .bins = (uint32_t)finder->rule->bins,
                                        .absent_missing = finder->rule->absent_missing};
    RW_TRY(RW_ARENA_NEW(finder->ctx, &tables->arena, s.out, BATCH));
    RW_TRY(RW_DEVICE_TABLE(tables, s.d_out, NULL, BATCH));
    RW_TRY(make_jobs(tables, finder->sample.row, s.job));
    RW_TRY(rw_transfer_pipe_new(s.device, most_bytes(dataset, NULL), SLOTS, &pipe));
    RW_TRY(rw_transfer_pipe_begin(pipe));
    for (uint32_t c = 0; c < dataset->n_columns; c++) {
        if (rw_cuts_decided(&dataset->column[c], finder->rule, &finder->found[c]))
            continue;
        if (rw_cut_rule_categories(finder->rule, dataset->column[c].feature)) {
            /* The cuts are known, so the host only counts the documents of each category. */
            const int status =
                rw_cuts_find_column(finder, rw_isa(), &dataset->column[c], c, NULL, NULL);
            if (status < 0)
                return rw_fail(finder->ctx, status, "out of memory while finding bin boundaries");
            continue;
        }
        RW_TRY(find_column(&s, pipe, c));
        if (s.n == BATCH)
            RW_TRY(finish_batch(&s, pipe));
    }
    return finish_batch(&s, pipe);
}

int rw_cuda_cuts_make(const struct rw_device *device, const struct rw_dataset *dataset,
                      const struct rw_cut_rule *rule, struct rw_cuts **out)
{
    return rw_cuts_make_by(device->ctx, dataset, rule, find_on_device, (void *)(uintptr_t)device,
                           out);
}

uint64_t rw_cuda_cuts_bytes(const struct rw_dataset *dataset, int bins)
{
    const uint32_t n = dataset->n_docs, sampled = n < RW_CUT_SAMPLE_DOCS ? n : RW_CUT_SAMPLE_DOCS;
    struct rw_cuda_cut_job job[SLOTS] = {
        {.n_docs = n, .n_sample = sampled + sampled / 16, .bins = (uint32_t)bins}};
    struct rw_device_tables tables = {NULL};
    (void)make_jobs(&tables, NULL, job); /* with the approximate size of a drawn sample */
    return tables.bytes + SLOTS * most_bytes(dataset, NULL) +
           BATCH * sizeof(struct rw_cut_intervals);
}

/* ---- codes ---- */

/* Allocates zeroed device memory, rounded up to a multiple of 128 bytes. */
static int zeros(const struct rw_device *device, void **d, uint64_t bytes)
{
    const uint64_t padded = (bytes + 127) / 128 * 128;
    RW_TRY(rw_device_alloc(device->ctx, d, padded));
    RW_CU(device->ctx, cudaMemsetAsync(*d, 0, padded, device->stream));
    return RW_OK;
}

struct coder {
    const struct rw_device *device;
    const struct rw_cuda_coding *coding;
    struct rw_hist_matrix *matrix;
    struct rw_device_tables tables;
    float *d_cut;            /* cuts of all features, as in struct rw_cuts */
    void *d_count;           /* [n_features][n_bins]; NULL: no counts; owned */
    uint16_t *d_code[SLOTS]; /* [n_docs] */
};

static int coder_init(struct coder *c)
{
    const struct rw_cuda_coding *coding = c->coding;
    const struct rw_cuts *cuts = coding->cuts;
    const struct rw_hist_matrix_spec *spec = &coding->matrix;
    c->tables = (struct rw_device_tables){.ctx = c->device->ctx, .device = c->device};
    RW_TRY(rw_hist_matrix_plan(c->device->ctx, spec, &c->matrix));
    struct rw_hist_matrix *m = c->matrix; /* code 0 everywhere */
    for (uint32_t t = 0; t < m->n_tiles; t++)
        RW_TRY(zeros(c->device, (void **)(uintptr_t)&m->tile[t].d_word,
                     (uint64_t)m->n_docs * rw_hist_tile_doc_bytes(m, t)));
    if (m->column_words)
        RW_TRY(zeros(c->device, (void **)&m->d_column,
                     m->column_words * m->n_features * sizeof(*m->d_column)));
    RW_TRY(RW_DEVICE_TABLE(&c->tables, c->d_cut, cuts->cut, cuts->offset[cuts->n_features]));
    for (int i = 0; i < SLOTS; i++)
        RW_TRY(RW_DEVICE_TABLE(&c->tables, c->d_code[i], NULL, spec->n_docs));
    return RW_OK;
}

uint64_t rw_cuda_bins_bytes(const struct rw_cuda_coding *coding)
{
    return SLOTS * (most_bytes(coding->dataset, coding->codes) +
                    coding->dataset->n_docs * sizeof(uint16_t)) +
           coding->cuts->offset[coding->cuts->n_features] * sizeof(float) +
           (uint64_t)coding->matrix.n_features * coding->matrix.n_bins * sizeof(uint64_t);
}

/* Makes the codes of feature f of the matrix. */
static int code_feature(const struct coder *c, struct rw_transfer_pipe *pipe, uint32_t f)
{
    const struct rw_cuda_coding *coding = c->coding;
    const struct rw_cuts *cuts = coding->cuts;
    const uint32_t feature = coding->feature[f];
    const uint64_t at = (uint64_t)f * coding->matrix.n_bins;
    struct rw_cuda_code_job job = {.n_docs = c->matrix->n_docs,
                                   .d_cut = c->d_cut + cuts->offset[feature]};
    struct rw_transfer_chunk chunk;
    if (coding->codes) {
        job.from = code_entries(coding->codes, coding->code_of[feature]);
        job.special.absent = coding->codes->codes[coding->code_of[feature]].rest;
    } else {
        job.from = entries_of(rw_dataset_column(coding->dataset, cuts->feature[feature]));
        job.special = rw_cuts_special(cuts, feature, coding->absent_missing);
        job.n_cuts = rw_cuts_n_bins(cuts, feature);
    }
    RW_TRY(send(c->device->ctx, pipe, &job.from, &chunk));
    job.d_code = c->d_code[chunk.place];
    RW_CU(c->device->ctx,
          rw_cuda_code(&job, c->matrix, f, c->d_count ? (uint64_t *)c->d_count + at : NULL,
                       chunk.stream));
    return RW_OK;
}

static void coder_release(struct coder *c)
{
    rw_hist_matrix_free(c->matrix);
    rw_arena_free(&c->tables.arena);
    rw_device_free(c->d_count);
}

int rw_cuda_bins_make(const struct rw_device *device, const struct rw_cuda_coding *coding,
                      uint64_t *counts, struct rw_hist_matrix **out)
{
    RW_RELEASED(coder_release) struct coder c = {.device = device, .coding = coding};
    const struct rw_hist_matrix_spec *spec = &coding->matrix;
    const size_t count_bytes = (size_t)spec->n_features * spec->n_bins * sizeof(*counts);
    RW_SCOPED(rw_transfer_pipe_free)
    struct rw_transfer_pipe *pipe = NULL; /* freed first, because freeing waits for the device */
    *out = NULL;
    RW_TRY(coder_init(&c));
    if (counts)
        RW_TRY(zeros(device, &c.d_count, count_bytes));
    RW_TRY(rw_transfer_pipe_new(device, most_bytes(coding->dataset, coding->codes), SLOTS, &pipe));
    RW_TRY(rw_transfer_pipe_begin(pipe));
    for (uint32_t f = 0; f < spec->n_features; f++)
        RW_TRY(code_feature(&c, pipe, f));
    RW_TRY(rw_transfer_pipe_end(pipe));
    if (counts)
        RW_TRY(rw_transfer_read(device, counts, c.d_count, count_bytes));
    RW_TRY(rw_transfer_wait(device));
    *out = c.matrix;
    c.matrix = NULL;
    return RW_OK;
}
