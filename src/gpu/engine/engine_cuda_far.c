/* Codes that do not fit the device are host-resident: they stay in page-locked host memory.
 *
 * The training set has tiles and columns. The device holds the tiles of the first documents, and
 * histograms gather the rows of the others (gpu/hist/hist_lanes_far.cu). Columns are a second copy,
 * for partitions and walks. To read one code of a row would move 32 bytes over the link. When a
 * column is copied to the device, which caches some columns, each of its codes moves only one or
 * two bytes. So a level of a tree moves these bytes for all documents and each feature that splits
 * its large nodes, or a tree does so once if the columns fit the device. For small nodes, each
 * document moves 32 bytes. The other sets have columns only. A walk reads the columns that the tree
 * splits, chunk by chunk. */
#include "gpu/engine/engine_cuda.h"

enum { PIECE_DOCS = 65536 };

static uint32_t code_bytes(const struct rw_cuda *cuda, uint32_t feature)
{
    return (uint32_t)rw_cuts_code_bytes(cuda->host.set[0].bins->cuts, feature);
}

/* Returns the bytes per document in the training set's tiles. */
static uint64_t row_bytes(const struct rw_cuda *cuda)
{
    uint64_t bytes = 0;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
        for (uint32_t t = 0; t < matrix->n_tiles; t++)
            bytes += rw_hist_tile_doc_bytes(matrix, t);
    }
    return bytes;
}

/* ---- the division of codes between device and host ---- */

/* Makes the tiles of all groups, without codes, and decides how many documents of each are on the
 * device. */
static int plan_tiles(struct rw_cuda *cuda)
{
    struct rw_code_place place[RW_CUDA_GROUPS * RW_HIST_MAX_TILES];
    int n = 0;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_hist_matrix_spec spec =
            rw_cuda_matrix_spec(cuda, g, cuda->n_docs, RW_HIST_TILES);
        RW_TRY(rw_hist_matrix_plan(cuda->host.base.ctx, &spec, &cuda->set[0].matrix[g]));
        const struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
        for (uint32_t t = 0; t < matrix->n_tiles; t++)
            place[n++] = (struct rw_code_place){.doc_bytes = rw_hist_tile_doc_bytes(matrix, t)};
    }
    rw_place_codes(place, n, cuda->n_docs, 0, cuda->place.row_bytes);
    cuda->place.far_doc_bytes = 0.0;
    n = 0;
    for (int g = 0; g < cuda->n_groups; g++) {
        struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
        for (uint32_t t = 0; t < matrix->n_tiles; t++, n++) {
            matrix->tile[t].n_here = place[n].n_here;
            cuda->place.far_doc_bytes +=
                (double)place[n].doc_bytes * (cuda->n_docs - place[n].n_here) / cuda->n_docs;
        }
    }
    return RW_OK;
}

int rw_cuda_is_set_far(const struct rw_cuda *cuda, uint32_t n_docs)
{
    enum { LOADING_BYTES = 18, SCORE_BYTES = 8 }; /* bytes per document, in addition to its codes */
    const uint64_t doc_bytes = LOADING_BYTES + SCORE_BYTES + row_bytes(cuda);
    const uint64_t returned_bytes = cuda->hist_scratch_bytes - cuda->least_scratch_bytes;
    const uint64_t reserved =
        rw_cuda_others_bytes(cuda, cuda->n_docs, cuda->host.base.info.n_features);
    return n_docs * doc_bytes + reserved + returned_bytes > rw_cuda_left_bytes(&cuda->memory);
}

/* ---- columns ---- */

struct column_job {
    const struct rw_bins *from;
    const uint32_t *code_of; /* NULL: the features are those of `from` */
    const struct rw_cuda_far *far;
    uint32_t n_docs, n_pieces;
};

/* Writes the codes of documents [first, end). `codes` has a code for each document or, if it has
 * `row`, only those that differ from `rest`. */
static void put_codes(const struct rw_codes *codes, size_t bytes, uint32_t first, uint32_t end,
                      char *to)
{
    if (!codes->row) {
        memcpy(to, (const char *)codes->code + first * bytes, (end - first) * bytes);
        return;
    }
    for (uint32_t doc = first; doc < end; doc++)
        rw_codes_put(to, bytes, doc - first, codes->rest);
    for (uint32_t i = rw_numbers_under(codes->row, codes->n, first);
         i < codes->n && codes->row[i] < end; i++)
        rw_codes_put(to, bytes, codes->row[i] - first, rw_codes_get(codes->code, bytes, i));
}

/* Writes columns. Item i of a share is piece i % n_pieces of feature i / n_pieces, where a piece is
 * PIECE_DOCS documents. */
static int put_columns(void *user, struct rw_share *share)
{
    const struct column_job *job = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        for (; i < end; i++) {
            const uint32_t f = (uint32_t)(i / job->n_pieces);
            const uint32_t first = (uint32_t)(i % job->n_pieces) * PIECE_DOCS;
            const uint32_t left = job->n_docs - first;
            const size_t bytes = job->far->at[f].bytes;
            put_codes(&job->from->codes[job->code_of ? job->code_of[f] : f], bytes, first,
                      first + (left < PIECE_DOCS ? left : PIECE_DOCS),
                      (char *)(uintptr_t)job->far->at[f].d_word + first * bytes);
        }
    }
    return RW_OK;
}

/* Fills the columns from ready codes, or from codes that the host makes from the values. */
static int fill_columns(struct rw_cuda *cuda, const struct rw_cuda_source *source,
                        const struct rw_cuda_far *far)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    struct rw_bins *made = NULL;
    struct column_job job = {.from = source->codes,
                             .code_of = source->code_of,
                             .far = far,
                             .n_docs = source->dataset->n_docs};
    job.n_pieces = (job.n_docs + PIECE_DOCS - 1) / PIECE_DOCS;
    if (!source->codes) {
        RW_TRY(rw_bins_make(ctx, source->dataset, cuts, &cuda->host.base.rules.cut, 0, &made));
        job.from = made;
    }
    rw_parallel(ctx, ctx->n_threads, (uint64_t)cuts->n_features * job.n_pieces, 1, put_columns,
                &job);
    rw_bins_free(made);
    return RW_OK;
}

/* Makes the columns of a set in host memory. */
static int make_far_columns(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source)
{
    const uint32_t n_docs = source->dataset->n_docs;
    const uint32_t n_features = cuda->host.base.info.n_features;
    struct rw_cuda_far *far = &cuda->set[set].far;
    uint64_t bytes = 0;
    RW_TRY(RW_ARENA_NEW(cuda->host.base.ctx, &cuda->memory.arena, far->at, n_features));
    for (uint32_t f = 0; f < n_features; f++)
        bytes += rw_hist_round_up((uint64_t)n_docs * code_bytes(cuda, f));
    RW_TRY(rw_cuda_pinned_codes(&cuda->memory, &far->column, bytes));
    char *at = far->column;
    for (uint32_t f = 0; f < n_features && !rw_cuda_is_dry(&cuda->memory); f++) {
        const uint32_t width = code_bytes(cuda, f);
        far->at[f] =
            (struct rw_cuda_column){.d_word = at, .bytes = width, .lanes = 1, .bits = 8 * width};
        at += rw_hist_round_up((uint64_t)n_docs * width);
    }
    return rw_cuda_is_dry(&cuda->memory) ? RW_OK : fill_columns(cuda, source, far);
}

/* ---- rows ---- */

struct row_job {
    const struct rw_cuda_column *column; /* columns of the tile's features, in host memory */
    const struct rw_hist_tile *tile;
    uint32_t first; /* document of the first row */
    uint32_t doc_bytes;
    int wide; /* 1: codes of 16 bits */
    char *to;
};

/* Writes one feature's codes of documents [first, first + n) into rows from `to` on, in which these
 * codes are still 0. */
static void put_feature(const struct row_job *job, uint32_t feature, uint32_t first, uint32_t n,
                        char *to)
{
    const struct rw_hist_tile *tile = job->tile;
    const uint32_t lane = feature % tile->lanes, shift = feature / tile->lanes * tile->bits;
    const struct rw_cuda_column *column = &job->column[feature];
    const uint8_t *narrow = (const uint8_t *)column->d_word + first;
    const uint16_t *wide = (const uint16_t *)column->d_word + first;
    if (job->wide) {
        uint16_t *row = (uint16_t *)(void *)to + lane;
        for (uint32_t i = 0; i < n; i++)
            row[(size_t)i * tile->lanes] = wide[i];
        return;
    }
    uint32_t *row = (uint32_t *)(void *)to + lane;
    for (uint32_t i = 0; i < n; i++)
        row[(size_t)i * tile->lanes] |= (uint32_t)narrow[i] << shift;
}

/* Makes the rows of a share's documents, counted from job->first. */
static int put_rows(void *user, struct rw_share *share)
{
    const struct row_job *job = user;
    for (uint64_t at, end; rw_share_next(share, &at, &end);) {
        while (at < end) {
            const uint32_t n =
                (uint32_t)(end - at < RW_TUNE_FAR_FILL_DOCS ? end - at : RW_TUNE_FAR_FILL_DOCS);
            char *to = job->to + at * job->doc_bytes;
            memset(to, 0, (size_t)n * job->doc_bytes);
            for (uint32_t f = 0; f < job->tile->n_features; f++)
                put_feature(job, f, job->first + (uint32_t)at, n, to);
            at += n;
        }
    }
    return RW_OK;
}

/* Makes rows of documents [first, first + n) of a tile from the columns. */
static void make_rows(const struct rw_cuda *cuda, struct row_job *job, uint32_t first, uint32_t n,
                      char *to)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    job->first = first;
    job->to = to;
    rw_parallel(ctx, ctx->n_threads, n, 4096, put_rows, job);
}

/* Makes the rows of documents [0, n_here) of a tile, and sends them to the device through the
 * buffer `stage`. */
static int send_rows(struct rw_cuda *cuda, struct row_job *job, char *stage)
{
    const uint32_t most = RW_TUNE_FAR_STAGE_BYTES / job->doc_bytes, n_here = job->tile->n_here;
    for (uint32_t first = 0; first < n_here; first += most) {
        const uint32_t n = n_here - first < most ? n_here - first : most;
        char *d_to = (char *)(uintptr_t)job->tile->d_word + (uint64_t)first * job->doc_bytes;
        make_rows(cuda, job, first, n, stage);
        RW_TRY(rw_transfer_write_pinned(cuda->device, d_to, stage, (size_t)n * job->doc_bytes));
        RW_TRY(rw_transfer_wait(cuda->device));
    }
    return RW_OK;
}

/* Makes the rows of a tile: those of documents [0, n_here) on the device, the others in host
 * memory. */
static int make_tile(struct rw_cuda *cuda, int g, uint32_t t, const struct rw_cuda_column *column,
                     char *stage)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
    struct rw_hist_tile *tile = &matrix->tile[t];
    const uint32_t n_far = matrix->n_docs - tile->n_here;
    struct row_job job = {.column = column + tile->first_feature,
                          .tile = tile,
                          .doc_bytes = rw_hist_tile_doc_bytes(matrix, t),
                          .wide = matrix->bits == 16};
    const uint64_t here_bytes = ((uint64_t)tile->n_here * job.doc_bytes + 127) / 128 * 128;
    if (n_far > 0)
        RW_TRY(
            rw_cuda_pinned_codes(&cuda->memory, &tile->far_word, (uint64_t)n_far * job.doc_bytes));
    if (rw_cuda_is_dry(&cuda->memory)) {
        tile->d_word = cuda;
        return RW_OK;
    }
    RW_TRY(rw_device_alloc(ctx, (void **)(uintptr_t)&tile->d_word, here_bytes));
    RW_TRY(send_rows(cuda, &job, stage));
    make_rows(cuda, &job, tile->n_here, n_far, (char *)(uintptr_t)tile->far_word);
    return RW_OK;
}

static int make_tiles(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    RW_FREED struct rw_cuda_column *column = NULL;
    RW_SCOPED(rw_transfer_pinned_free) void *stage = NULL;
    RW_TRY(RW_NEW(ctx, column, cuda->host.base.info.n_features));
    if (!rw_cuda_is_dry(&cuda->memory))
        RW_TRY(rw_transfer_pinned_alloc(ctx, &stage, RW_TUNE_FAR_STAGE_BYTES));
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_group *group = &cuda->group[g];
        for (uint32_t f = 0; f < group->n_features; f++)
            column[f] = cuda->set[0].far.at[group->column[f]];
        for (uint32_t t = 0; t < cuda->set[0].matrix[g]->n_tiles; t++)
            RW_TRY(make_tile(cuda, g, t, column, stage));
    }
    return RW_OK;
}

/* ---- a set ---- */

uint64_t rw_cuda_far_walk_bytes(uint32_t n_docs, uint32_t n_features)
{
    const uint64_t least = /* enough for a tree that splits all features, with codes of 2 bytes */
        (uint64_t)n_features * sizeof(uint16_t) * RW_CUDA_WALK_ALIGNED;
    uint64_t bytes = (uint64_t)n_docs * n_features / RW_TUNE_FAR_WALK_SHARE;
    bytes = bytes < RW_TUNE_FAR_MOST_WALK ? bytes : RW_TUNE_FAR_MOST_WALK;
    return bytes > least ? bytes : least;
}

/* Allocates the memory into which the columns of walks are sent, once for all sets. */
static int make_walk(struct rw_cuda *cuda)
{
    const uint64_t bytes = rw_cuda_far_walk_bytes(cuda->n_docs, cuda->host.base.info.n_features);
    if (cuda->walk_bytes)
        return RW_OK;
    cuda->walk_bytes = bytes;
    cuda->host.memory.part = "scratch";
    RW_TRY(RW_HOST_NEW_RAW(&cuda->host, cuda->d_walk, bytes));
    return RW_ARENA_NEW(cuda->host.base.ctx, &cuda->memory.arena, cuda->walk_column,
                        cuda->host.base.info.n_features);
}

/* Allocates the resources with which histograms read rows of host memory (struct rw_hist_far). */
static int make_pieces(struct rw_cuda *cuda)
{
    const int log_window = RW_TUNE_FAR_LOG_WINDOW;
    uint64_t bytes = rw_hist_round_up(cuda->n_docs * row_bytes(cuda) / RW_TUNE_FAR_PIECE_SHARE);
    char *d_memory;
    bytes = bytes < RW_TUNE_FAR_MOST_PIECE ? bytes : RW_TUNE_FAR_MOST_PIECE;
    bytes = bytes > RW_HIST_FAR_LEAST_BYTES ? bytes : RW_HIST_FAR_LEAST_BYTES;
    cuda->host.memory.part = "scratch";
    RW_TRY(
        RW_HOST_NEW_RAW(&cuda->host, d_memory, rw_hist_far_bytes(bytes, cuda->n_docs, log_window)));
    if (rw_cuda_is_dry(&cuda->memory))
        return RW_OK;
    return rw_hist_far_open(cuda->host.base.ctx, d_memory, bytes, cuda->n_docs, log_window,
                            &cuda->reads.hist_bytes, &cuda->hist_far);
}

int rw_cuda_far_make(struct rw_cuda *cuda, int set, const struct rw_cuda_source *source)
{
    RW_TRY(make_far_columns(cuda, set, source));
    RW_TRY(make_walk(cuda));
    if (set > 0)
        return RW_OK;
    RW_TRY(plan_tiles(cuda));
    RW_TRY(make_tiles(cuda));
    RW_TRY(make_pieces(cuda));
    for (int i = 0; i < 2 && !rw_cuda_is_dry(&cuda->memory); i++)
        RW_TRY(rw_device_event(cuda->host.base.ctx, &cuda->memory.arena, 1, &cuda->event[i]));
    return RW_OK;
}

/* ---- figures ---- */

/* Adds the time of the histograms that were timed last, if it is not added yet. They are complete,
 * since the engine has waited for their splits. */
static int add_time(struct rw_cuda *cuda)
{
    float ms = 0.0f;
    if (!cuda->is_timed)
        return RW_OK;
    RW_CU(cuda->host.base.ctx, cudaEventSynchronize(cuda->event[1]));
    RW_CU(cuda->host.base.ctx, cudaEventElapsedTime(&ms, cuda->event[0], cuda->event[1]));
    cuda->reads.hist_ms += (double)ms;
    cuda->is_timed = 0;
    return RW_OK;
}

int rw_cuda_far_clock(struct rw_cuda *cuda, int is_end)
{
    if (!cuda->place.is_far)
        return RW_OK;
    if (!is_end) {
        RW_TRY(rw_cuda_nodes_launch(&cuda->nodes)); /* a partition is not part of a histogram */
        RW_TRY(add_time(cuda));
    }
    RW_CU(cuda->host.base.ctx, cudaEventRecord(cuda->event[is_end], rw_cuda_stream(cuda)));
    cuda->is_timed = is_end;
    return RW_OK;
}

int rw_cuda_far_reads(struct rw_engine *engine, struct rw_far_reads *sum)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    RW_TRY(add_time(cuda));
    sum->bytes += cuda->reads.bytes + cuda->reads.hist_bytes;
    sum->hist_bytes += cuda->reads.hist_bytes;
    sum->hist_ms += cuda->reads.hist_ms;
    return RW_OK;
}

/* ---- columns on the device ----
 *
 * Methods that read columns are timed in the first tree, and partitions of many documents are
 * faster with columns. Columns are as large as the codes. If memory is not ample, and a group's
 * chosen method does not read them, they are freed after the choice. Then a few columns are cached
 * for the features that split large nodes most often. They are made from the tiles or, with codes
 * in host memory, from the columns there. The cache changes no result. */
enum { EMPTY = -1 };
/* Memory is ample if this many bytes stay free. */
static const uint64_t AMPLE_BYTES = (uint64_t)4 << 30;
_Static_assert(RW_TUNE_COLUMNS_A_TREE <= RW_CUDA_MOST_COPIES, "copies between two trees");

/* Tells that the engine no longer reads the columns of a group. Partitions then read the group's
 * codes from tiles. Returns the bytes that the caller must no longer count. */
static uint64_t return_bytes(struct rw_cuda *cuda, int g)
{
    struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
    if (!matrix->d_column)
        return 0;
    if (!rw_cuda_is_dry(&cuda->memory))
        rw_cuda_codes_drop_columns(cuda->codes, g);
    matrix->d_column = NULL;
    for (uint32_t f = 0; f < matrix->n_features; f++) {
        const uint32_t feature = cuda->group[g].column[f];
        cuda->split_column[feature] = cuda->tile_column[feature];
    }
    return cuda->codes && !cuda->has_made_codes ? 0 : rw_cuda_columns_bytes(matrix);
}

/* Allocates the cached columns: as many as the share RW_TUNE_COLUMNS_SHARE of `bytes`, those of the
 * codes, holds. With codes in host memory, place.n_columns of them. */
static int make_kept(struct rw_cuda *cuda, uint64_t bytes)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuda_kept *kept = &cuda->kept;
    const uint32_t n_features = cuda->host.base.info.n_features;
    kept->column_bytes = rw_cuda_column_bytes(cuda->host.set[0].bins->cuts, cuda->n_docs);
    if (cuda->n_docs == 0) /* of a worker without documents */
        return RW_OK;
    uint64_t n = (uint64_t)((double)bytes * RW_TUNE_COLUMNS_SHARE) / kept->column_bytes;
    n = n < RW_TUNE_COLUMNS_MOST ? n : RW_TUNE_COLUMNS_MOST;
    n = cuda->place.is_far ? cuda->place.n_columns : n;
    kept->n = n < n_features ? (uint32_t)n : n_features;
    if (kept->n == 0)
        return RW_OK;
    RW_TRY(rw_host_new(&cuda->host, &kept->d, kept->n, kept->column_bytes, 1));
    if (rw_cuda_is_dry(&cuda->memory))
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(ctx, &cuda->memory.arena, kept->of, kept->n));
    RW_TRY(RW_ARENA_NEW(ctx, &cuda->memory.arena, kept->use, n_features));
    RW_TRY(RW_ARENA_NEW(ctx, &cuda->memory.arena, kept->drawn, n_features));
    memset(kept->drawn, 1, n_features);
    for (uint32_t i = 0; i < kept->n; i++)
        kept->of[i] = EMPTY;
    return RW_OK;
}

int rw_cuda_settle_columns(struct rw_cuda *cuda)
{
    uint64_t bytes = 0, returned_bytes = 0;
    if (!rw_cuda_is_dry(&cuda->memory))
        RW_TRY(rw_transfer_wait(cuda->device));
    else /* all memory except that of other sets is counted now */
        cuda->place.keeps_columns =
            !cuda->memory.is_limited &&
            rw_cuda_left_bytes(&cuda->memory) >=
                rw_cuda_others_bytes(cuda, cuda->n_docs, cuda->host.base.info.n_features) +
                    AMPLE_BYTES;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
        if (matrix->d_column && cuda->place.keeps_columns)
            continue;
        if (cuda->group[g].chosen && !cuda->group[g].choice.method->reads_tiles)
            continue; /* the chosen method reads them */
        returned_bytes += return_bytes(cuda, g);
        for (uint32_t t = 0; t < matrix->n_tiles; t++)
            bytes += rw_cuda_tile_bytes(matrix, t);
    }
    cuda->host.memory.part = "column copies";
    rw_host_count(&cuda->host, -returned_bytes);
    return make_kept(cuda, bytes);
}

/* Returns 1 if partitions read the feature's codes from a column on the device. */
static int has_column(const struct rw_cuda *cuda, uint32_t feature)
{
    return cuda->split_column[feature].d_word != cuda->tile_column[feature].d_word;
}

/* Returns the feature with the largest use among the features that the tree samples and that have
 * no column; EMPTY if no such feature was used. */
static int32_t most_wanted(const struct rw_cuda *cuda)
{
    const struct rw_cuda_kept *kept = &cuda->kept;
    int32_t best = EMPTY;
    for (uint32_t f = 0; f < cuda->host.base.info.n_features; f++) {
        if (kept->drawn[f] && kept->use[f] > 0.0 && !has_column(cuda, f) &&
            (best == EMPTY || kept->use[f] > kept->use[best]))
            best = (int32_t)f;
    }
    return best;
}

/* Returns the index of a free column, or else of the column whose feature has the smallest use. */
static uint32_t least_useful(const struct rw_cuda_kept *kept)
{
    uint32_t least = 0;
    for (uint32_t i = 0; i < kept->n; i++) {
        if (kept->of[i] == EMPTY)
            return i;
        if (kept->use[kept->of[i]] < kept->use[kept->of[least]])
            least = i;
    }
    return least;
}

/* Enqueues the copies, and empties `copies`. */
static int copy_columns(struct rw_cuda *cuda, struct rw_cuda_copies *copies)
{
    if (copies->n > 0)
        RW_CUDA_TRY(cuda, rw_cuda_copy_columns(copies, rw_cuda_stream(cuda)));
    copies->n = 0;
    return RW_OK;
}

/* Caches a feature's column at index `at`, in place of another. A copy from tiles on the device is
 * only added to `copies`; a copy from host memory is enqueued. */
static int keep_at(struct rw_cuda *cuda, uint32_t at, int32_t feature,
                   struct rw_cuda_copies *copies)
{
    struct rw_cuda_kept *kept = &cuda->kept;
    const struct rw_cuda_column *from = &cuda->tile_column[feature];
    void *const d_to = (char *)kept->d + at * kept->column_bytes;
    if (cuda->place.is_far) {
        const size_t bytes = (size_t)cuda->n_docs * from->bytes;
        cuda->reads.bytes += bytes;
        RW_TRY(rw_transfer_write_pinned(cuda->device, d_to, from->d_word, bytes));
    } else {
        copies->from[copies->n] = *from;
        copies->d_to[copies->n++] = d_to;
    }
    if (kept->of[at] != EMPTY)
        cuda->split_column[kept->of[at]] = cuda->tile_column[kept->of[at]];
    kept->of[at] = feature;
    const uint32_t bits = from->bits == 16 ? 16 : 8;
    cuda->split_column[feature] =
        (struct rw_cuda_column){.d_word = d_to, .bytes = bits / 8, .lanes = 1, .bits = bits};
    return RW_OK;
}

/* Returns 1 if a copy of the wanted feature's column, at index `at`, saves more time than it costs.
 * A copy costs about as much as a partition of all documents. It saves RW_TUNE_COLUMNS_SAVED of a
 * partition of `now` documents, which follows at once. The rest of the cost must be paid by use:
 * RW_TUNE_COLUMNS_WORTH of it is enough. With codes in host memory, a copy costs as much as reading
 * the codes of one in RW_TUNE_FAR_SECTOR_DOCS documents there. */
static int is_worth_it(const struct rw_cuda *cuda, int32_t wanted, uint32_t at, uint32_t now)
{
    const struct rw_cuda_kept *kept = &cuda->kept;
    const double instead = kept->of[at] == EMPTY ? 0.0 : kept->use[kept->of[at]];
    if (cuda->place.is_far)
        return kept->use[wanted] - instead >= (double)cuda->n_docs / RW_TUNE_FAR_SECTOR_DOCS;
    const double cost = (double)cuda->n_docs - RW_TUNE_COLUMNS_SAVED * now;
    return kept->use[wanted] - instead >= RW_TUNE_COLUMNS_WORTH * cost;
}

/* Returns 1 if the pending partition reads the column at this index. */
static int is_awaited(const struct rw_cuda *cuda, uint32_t at)
{
    const struct rw_cuda_kept *kept = &cuda->kept;
    const void *const d = (const char *)kept->d + at * kept->column_bytes;
    for (uint32_t i = 0; i < cuda->nodes.partition.n_parts; i++) {
        if (cuda->nodes.partition.part[i].column.d_word == d)
            return 1;
    }
    return 0;
}

/* Prepares the codes that a partition reads. With codes in host memory a partition does not read
 * rows, where each code takes 32 bytes of the link. It reads a column on the device if there is
 * one. For a large node a column is copied to the device, where later nodes of the tree can use it
 * too. For a small node the partition reads its documents' codes from the column in host memory,
 * unless a copy is worth its cost (is_worth_it). With codes on the device, a column is made here
 * only for a large node, and if it is worth its cost; otherwise the partition reads tiles. */
int rw_cuda_use_column(struct rw_cuda *cuda, uint32_t feature, uint32_t n)
{
    enum { SECTOR_BYTES = 32 };
    struct rw_cuda_kept *kept = &cuda->kept;
    const int is_far = cuda->place.is_far;
    struct rw_cuda_copies copies = {.n_docs = cuda->n_docs};
    if (!kept->use || (!is_far && n < cuda->n_docs / RW_TUNE_COLUMNS_LARGE))
        return RW_OK;
    kept->use[feature] += n;
    if (has_column(cuda, feature))
        return RW_OK;
    const uint32_t at = least_useful(kept);
    const int is_worth = is_worth_it(cuda, (int32_t)feature, at, n);
    if (is_far && n < cuda->n_docs / RW_TUNE_FAR_SECTOR_DOCS && !is_worth) {
        cuda->reads.bytes += (uint64_t)n * SECTOR_BYTES;
        return RW_OK;
    }
    if (is_far)
        RW_TRY(rw_cuda_nodes_sizes(
            &cuda->nodes)); /* the pending partition may read the column that is replaced */
    else if (!is_worth || is_awaited(cuda, at))
        return RW_OK;
    RW_TRY(keep_at(cuda, at, (int32_t)feature, &copies));
    return copy_columns(cuda, &copies);
}

int rw_cuda_keep_columns(struct rw_cuda *cuda)
{
    struct rw_cuda_kept *kept = &cuda->kept;
    struct rw_cuda_copies copies = {.n_docs = cuda->n_docs};
    if (!kept->use)
        return RW_OK;
    for (uint32_t n = 0; n < kept->n && n < RW_TUNE_COLUMNS_A_TREE; n++) {
        const int32_t wanted = most_wanted(cuda);
        const uint32_t at = least_useful(kept);
        if (wanted == EMPTY || !is_worth_it(cuda, wanted, at, 0))
            break;
        RW_TRY(keep_at(cuda, at, wanted, &copies));
    }
    return copy_columns(cuda, &copies);
}

void rw_cuda_fade_columns(struct rw_cuda *cuda)
{
    struct rw_cuda_kept *kept = &cuda->kept;
    for (uint32_t f = 0; kept->use && f < cuda->host.base.info.n_features; f++)
        kept->use[f] *= kept->drawn[f] ? RW_TUNE_COLUMNS_FADE : 1.0;
}

int rw_cuda_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const size_t bytes = engine->info.n_features * sizeof(*sums);
    RW_SCOPED(rw_device_free) void *d_sum = NULL;
    memset(sums, 0, bytes);
    RW_TRY(rw_device_alloc(engine->ctx, &d_sum, bytes));
    RW_TRY(rw_transfer_write(cuda->device, d_sum, sums, bytes));
    RW_CUDA_TRY(cuda,
                rw_cuda_sum_columns(cuda->set[set].d_column, engine->info.n_features,
                                    engine->n_docs[set], first_doc, d_sum, rw_cuda_stream(cuda)));
    return rw_transfer_read(cuda->device, sums, d_sum, bytes);
}
