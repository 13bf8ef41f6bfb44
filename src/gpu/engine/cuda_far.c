/* Codes that do not fit the device are host-resident: they stay in page-locked host memory.
 *
 * The training set has tiles and columns. The device holds the tiles of the first documents, and
 * histograms gather the rows of the others (gpu/hist/hist_lanes_far.cu). Columns are a second copy,
 * for partitions and walks. A code of a row would move 32 bytes over the link, but one of a column
 * that is copied to the device only one or two. So a level of a tree moves these bytes for all
 * documents and each feature that splits its large nodes, or a tree does so once if the columns fit
 * the device. For small nodes, each document moves 32 bytes. The other sets have columns only. A
 * walk reads the columns that the tree splits, chunk by chunk. */
#include "gpu/engine/cuda_codes.h"

/* A chunk of a walk has a multiple of this many documents. */
enum { WALK_ALIGNED = 256 };

/* Returns the bytes per document in the training set's tiles. */
static uint64_t row_bytes(const struct rw_cuda_codes *codes)
{
    uint64_t bytes = 0;
    for (int g = 0; g < codes->shared->n_groups; g++) {
        const struct rw_hist_matrix *matrix = codes->shared->matrix[g];
        for (uint32_t t = 0; t < matrix->n_tiles; t++)
            bytes += rw_hist_tile_doc_bytes(matrix, t);
    }
    return bytes;
}

/* ---- the memory of other sets ---- */

/* Returns the bytes of d_walk. n_docs: of the training set. */
static uint64_t walk_bytes(uint32_t n_docs, uint32_t n_features)
{
    const uint64_t least = /* enough for a tree that splits all features, with codes of 2 bytes */
        (uint64_t)n_features * sizeof(uint16_t) * WALK_ALIGNED;
    uint64_t bytes = (uint64_t)n_docs * n_features / RW_TUNE_FAR_WALK_SHARE;
    bytes = bytes < RW_TUNE_FAR_MOST_WALK ? bytes : RW_TUNE_FAR_MOST_WALK;
    return bytes > least ? bytes : least;
}

uint64_t rw_cuda_others_bytes(const struct rw_cuda_codes *codes, uint32_t n_docs,
                              uint32_t n_features)
{
    const struct rw_engine_rules *rules = &codes->host->base.rules;
    const uint64_t columns = n_features * sizeof(struct rw_cuda_column);
    /* 1: this memory is counted with the training set */
    const int has_walk = codes->place.is_far || codes->walk_bytes;
    if (rules->n_other_sets == 0)
        return 0;
    return rules->other_docs * RW_TUNE_FAR_OTHER_BYTES +
           rules->n_other_sets * (RW_TUNE_FAR_SET_BYTES + columns) +
           (has_walk ? 0 : walk_bytes(n_docs, n_features));
}

int rw_cuda_is_set_far(const struct rw_cuda_codes *codes, uint32_t n_docs)
{
    enum { LOADING_BYTES = 18, SCORE_BYTES = 8 }; /* bytes per document, in addition to its codes */
    const uint64_t doc_bytes = LOADING_BYTES + SCORE_BYTES + row_bytes(codes);
    const uint64_t reserved = rw_cuda_others_bytes(codes, codes->n_docs, codes->n_features);
    return n_docs * doc_bytes + reserved > rw_cuda_left_bytes(codes->memory);
}

/* ---- columns ---- */

struct column_job {
    const struct rw_bins *from;
    const uint32_t *code_of; /* NULL: the features are those of `from` */
    const struct rw_cuda_column *to;
    uint32_t n_docs;
};

/* Writes the columns of a share's features. Codes have one for each document or, if they have
 * `row`, only those that differ from `rest`. */
static int put_columns(void *user, struct rw_share *share)
{
    const struct column_job *job = user;
    RW_SHARE_EACH(share, f) {
        const struct rw_codes *from = &job->from->codes[job->code_of ? job->code_of[f] : f];
        const size_t bytes = job->to[f].bytes;
        void *const to = (void *)(uintptr_t)job->to[f].d_word;
        if (!from->row)
            memcpy(to, from->code, job->n_docs * bytes);
        for (uint32_t doc = 0; doc < job->n_docs && from->row; doc++)
            rw_codes_put(to, bytes, doc, from->rest);
        for (uint32_t i = 0; i < from->n && from->row; i++)
            rw_codes_put(to, bytes, from->row[i], rw_codes_get(from->code, bytes, i));
    }
    return RW_OK;
}

/* Makes the columns of a set in host memory, from ready codes, or from codes that the host makes
 * from the values. */
static int make_columns(struct rw_cuda_codes *codes, int set, const struct rw_cuda_source *source)
{
    struct rw_ctx *ctx = codes->host->base.ctx;
    struct rw_cuts *cuts = codes->host->set[0].bins->cuts;
    struct rw_cuda_set *of = &codes->set[set];
    struct rw_bins *made = NULL;
    struct column_job job = {
        .from = source->codes, .code_of = source->code_of, .n_docs = source->dataset->n_docs};
    uint64_t bytes = 0;
    RW_TRY(RW_ARENA_NEW(ctx, &codes->memory->arena, of->far_at, codes->n_features));
    job.to = of->far_at;
    for (uint32_t f = 0; f < codes->n_features; f++) {
        const uint32_t width = (uint32_t)rw_cuts_code_bytes(cuts, f);
        of->far_at[f] = (struct rw_cuda_column){.bytes = width, .lanes = 1, .bits = 8 * width};
        bytes += rw_hist_round_up((uint64_t)job.n_docs * width);
    }
    RW_TRY(rw_cuda_pinned_codes(codes->memory, &of->far_column, bytes));
    if (rw_cuda_is_dry(codes->memory))
        return RW_OK;
    char *at = of->far_column;
    for (uint32_t f = 0; f < codes->n_features; f++) {
        of->far_at[f].d_word = at;
        at += rw_hist_round_up((uint64_t)job.n_docs * of->far_at[f].bytes);
    }
    if (!job.from) {
        RW_TRY(rw_bins_make(ctx, source->dataset, cuts, &codes->host->base.rules.cut, 0, &made));
        job.from = made;
    }
    rw_parallel(ctx, ctx->n_threads, codes->n_features, 1, put_columns, &job);
    rw_bins_free(made);
    return RW_OK;
}

/* ---- rows ---- */

/* The rows of a tile to make, from document `first` on. */
struct row_job {
    const struct rw_cuda_column *column; /* of the engine's features, in host memory */
    const uint32_t *feature;             /* the engine's features of the tile */
    const struct rw_hist_tile *tile;
    uint32_t first, doc_bytes;
    char *to;
};

/* Writes feature f of a tile, the codes of documents [first, first + n), into rows from `to` on, in
 * which these codes are still 0. */
static void put_feature(const struct row_job *job, uint32_t f, uint32_t first, uint32_t n, char *to)
{
    const uint32_t lanes = job->tile->lanes, shift = f / lanes * (uint32_t)job->tile->bits;
    const void *const column = job->column[job->feature[f]].d_word;
    if (job->tile->bits == 16) {
        uint16_t *row = (uint16_t *)(void *)to + f % lanes;
        for (uint32_t i = 0; i < n; i++)
            row[(size_t)i * lanes] = ((const uint16_t *)column)[first + i];
        return;
    }
    uint32_t *row = (uint32_t *)(void *)to + f % lanes;
    for (uint32_t i = 0; i < n; i++)
        row[(size_t)i * lanes] |= (uint32_t)((const uint8_t *)column)[first + i] << shift;
}

static int put_rows(void *user, struct rw_share *share)
{
    const struct row_job *job = user;
    for (uint64_t at, end; rw_share_next(share, &at, &end);) {
        for (uint32_t n; at < end; at += n) {
            n = (uint32_t)(end - at < RW_TUNE_FAR_FILL_DOCS ? end - at : RW_TUNE_FAR_FILL_DOCS);
            char *to = job->to + at * job->doc_bytes;
            memset(to, 0, (size_t)n * job->doc_bytes);
            for (uint32_t f = 0; f < job->tile->n_features; f++)
                put_feature(job, f, job->first + (uint32_t)at, n, to);
        }
    }
    return RW_OK;
}

/* Makes the rows of documents [first, first + n) of a tile from the columns. */
static void make_rows(struct rw_ctx *ctx, struct row_job *job, uint32_t first, uint32_t n, void *to)
{
    job->first = first;
    job->to = to;
    rw_parallel(ctx, ctx->n_threads, n, 4096, put_rows, job);
}

/* Makes the rows of a tile: those of documents [0, n_here) on the device, through the buffer
 * `stage`, and the others in host memory. A dry run does not count those on the device; they are
 * counted with the matrix. */
static int make_tile(struct rw_cuda_codes *codes, int g, uint32_t t, char *stage)
{
    struct rw_ctx *ctx = codes->host->base.ctx;
    const struct rw_hist_matrix *matrix = codes->shared->matrix[g];
    struct rw_hist_tile *tile = &codes->shared->matrix[g]->tile[t];
    const uint32_t n_here = tile->n_here, n_far = matrix->n_docs - n_here;
    struct row_job job = {.column = codes->set[0].far_at,
                          .feature = codes->shared->group[g].column + tile->first_feature,
                          .tile = tile,
                          .doc_bytes = rw_hist_tile_doc_bytes(matrix, t)};
    const uint32_t most = RW_TUNE_FAR_STAGE_BYTES / job.doc_bytes;
    if (n_far > 0)
        RW_TRY(
            rw_cuda_pinned_codes(codes->memory, &tile->far_word, (uint64_t)n_far * job.doc_bytes));
    if (rw_cuda_is_dry(codes->memory))
        return RW_OK;
    RW_TRY(rw_device_alloc(ctx, (void **)(uintptr_t)&tile->d_word,
                           ((uint64_t)n_here * job.doc_bytes + 127) / 128 * 128));
    for (uint32_t first = 0, n; first < n_here; first += n) {
        char *d_to = (char *)(uintptr_t)tile->d_word + (uint64_t)first * job.doc_bytes;
        n = n_here - first < most ? n_here - first : most;
        make_rows(ctx, &job, first, n, stage);
        RW_TRY(rw_transfer_write_pinned(codes->device, d_to, stage, (size_t)n * job.doc_bytes));
        RW_TRY(rw_transfer_wait(codes->device));
    }
    make_rows(ctx, &job, n_here, n_far, (void *)(uintptr_t)tile->far_word);
    return RW_OK;
}

/* Makes the tiles of all groups, after it decides how many documents of each are on the device. */
static int make_tiles(struct rw_cuda_codes *codes)
{
    struct rw_ctx *ctx = codes->host->base.ctx;
    struct rw_cuda_shared *shared = codes->shared;
    struct rw_code_place place[RW_CUDA_GROUPS * RW_HIST_MAX_TILES];
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {NULL};
    int n = 0;
    char *stage;
    for (int g = 0; g < shared->n_groups; g++) {
        struct rw_hist_matrix_spec spec = shared->group[g].spec;
        spec.n_docs = codes->n_docs;
        spec.layouts = RW_HIST_TILES;
        RW_TRY(rw_hist_matrix_plan(ctx, &spec, &shared->matrix[g]));
        for (uint32_t t = 0; t < shared->matrix[g]->n_tiles; t++)
            place[n++].doc_bytes = rw_hist_tile_doc_bytes(shared->matrix[g], t);
    }
    const uint64_t here = rw_place_codes(place, n, codes->n_docs, codes->place.row_bytes);
    codes->place.far_doc_bytes = (double)row_bytes(codes) - (double)here / codes->n_docs;
    RW_TRY(rw_cuda_pinned(codes->memory, &arena, &stage, RW_TUNE_FAR_STAGE_BYTES));
    n = 0;
    for (int g = 0; g < shared->n_groups; g++) {
        for (uint32_t t = 0; t < shared->matrix[g]->n_tiles; t++) {
            shared->matrix[g]->tile[t].n_here = place[n++].n_here;
            RW_TRY(make_tile(codes, g, t, stage));
        }
    }
    return RW_OK;
}

/* ---- a set ---- */

/* Allocates the resources with which histograms read rows of host memory (struct rw_hist_far). */
static int make_pieces(struct rw_cuda_codes *codes)
{
    const int log_window = RW_TUNE_FAR_LOG_WINDOW;
    uint64_t bytes = rw_hist_round_up(codes->n_docs * row_bytes(codes) / RW_TUNE_FAR_PIECE_SHARE);
    char *d_memory;
    bytes = bytes < RW_TUNE_FAR_MOST_PIECE ? bytes : RW_TUNE_FAR_MOST_PIECE;
    bytes = bytes > RW_HIST_FAR_LEAST_BYTES ? bytes : RW_HIST_FAR_LEAST_BYTES;
    RW_TRY(RW_HOST_NEW_RAW(codes->host, d_memory,
                           rw_hist_far_bytes(bytes, codes->n_docs, log_window)));
    if (rw_cuda_is_dry(codes->memory))
        return RW_OK;
    for (int i = 0; i < 2; i++)
        RW_TRY(rw_device_event(codes->host->base.ctx, &codes->memory->arena, 1, &codes->event[i]));
    return rw_hist_far_open(codes->host->base.ctx, d_memory, bytes, codes->n_docs, log_window,
                            &codes->reads.hist_bytes, &codes->hist_far);
}

int rw_cuda_far_load(struct rw_cuda_codes *codes, int set, const struct rw_cuda_source *source)
{
    RW_TRY(make_columns(codes, set, source));
    codes->host->memory.part = "scratch";
    if (!codes->walk_bytes) { /* once for all sets */
        codes->walk_bytes = walk_bytes(codes->n_docs, codes->n_features);
        RW_TRY(RW_HOST_NEW_RAW(codes->host, codes->d_walk, codes->walk_bytes));
        RW_TRY(RW_ARENA_NEW(codes->host->base.ctx, &codes->memory->arena, codes->walk_column,
                            codes->n_features));
    }
    if (set > 0)
        return RW_OK;
    RW_TRY(make_tiles(codes));
    return make_pieces(codes);
}

/* ---- walks ---- */

uint32_t rw_cuda_far_lay_out(struct rw_cuda_codes *codes, int set, const struct rw_coded_node *node,
                             int n_nodes)
{
    struct rw_cuda_column *column = codes->walk_column;
    uint64_t doc_bytes = 0;
    memset(column, 0, codes->n_features * sizeof(*column));
    for (int i = 0; i < n_nodes; i++) {
        const uint32_t f = node[i].column;
        doc_bytes += column[f].bytes ? 0 : codes->set[set].far_at[f].bytes;
        column[f] = codes->set[set].far_at[f];
    }
    uint64_t docs = doc_bytes ? codes->walk_bytes / doc_bytes : UINT32_MAX;
    docs = docs < UINT32_MAX ? docs : UINT32_MAX;
    docs -= docs % WALK_ALIGNED;
    char *at = codes->d_walk;
    for (uint32_t f = 0; f < codes->n_features; f++) {
        column[f].d_word = at;
        at += docs * column[f].bytes;
    }
    return (uint32_t)docs;
}

int rw_cuda_far_send(struct rw_cuda_codes *codes, int set, uint32_t first, uint32_t n)
{
    for (uint32_t f = 0; f < codes->n_features; f++) {
        const struct rw_cuda_column *to = &codes->walk_column[f];
        const size_t bytes = (size_t)n * to->bytes;
        const char *from = codes->set[set].far_at[f].d_word;
        codes->reads.bytes += bytes;
        if (bytes)
            RW_TRY(rw_transfer_write_pinned(codes->device, (void *)(uintptr_t)to->d_word,
                                            from + (size_t)first * to->bytes, bytes));
    }
    return RW_OK;
}

/* ---- figures ---- */

int rw_cuda_far_add_time(struct rw_cuda_codes *codes)
{
    float ms = 0.0f;
    if (!codes->is_timed)
        return RW_OK;
    /* the histograms are complete, since the engine has waited for their splits */
    RW_CU(codes->device->ctx, cudaEventSynchronize(codes->event[1]));
    RW_CU(codes->device->ctx, cudaEventElapsedTime(&ms, codes->event[0], codes->event[1]));
    codes->reads.hist_ms += (double)ms;
    codes->is_timed = 0;
    return RW_OK;
}

int rw_cuda_far_clock(struct rw_cuda_codes *codes, int is_end)
{
    if (!is_end)
        RW_TRY(rw_cuda_far_add_time(codes));
    RW_CU(codes->host->base.ctx, cudaEventRecord(codes->event[is_end], codes->device->stream));
    codes->is_timed = is_end;
    return RW_OK;
}
