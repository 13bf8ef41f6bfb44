/* Columns of codes on the device, for partitions and for methods that read them. Partitions of many
 * documents are faster with columns, but all columns are as large as the codes. If memory is not
 * ample, and a group's chosen method does not read them, they are freed after the choice. Then a
 * few columns are cached for the features that split large nodes most often, without a change of
 * results. They are made from the tiles or, with codes in host memory, from the columns there. */
#include "gpu/engine/cuda_codes.h"
#include "gpu/engine/cuda_nodes.h"

enum { EMPTY = -1 };
/* Memory is ample if this many bytes stay free. */
static const uint64_t AMPLE_BYTES = (uint64_t)4 << 30;

/* ---- the choice of columns ---- */

uint64_t rw_cuda_column_bytes(const struct rw_cuts *cuts, uint32_t n_docs)
{
    uint64_t bytes = 1;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        bytes = rw_cuts_code_bytes(cuts, f) > bytes ? rw_cuts_code_bytes(cuts, f) : bytes;
    return rw_hist_round_up(n_docs * bytes);
}

/* Stops reading the columns of a group; partitions then read tiles. Returns the bytes that the
 * caller must no longer count. */
static uint64_t return_columns(struct rw_cuda_codes *codes, int g)
{
    struct rw_hist_matrix *matrix = codes->set[0].matrix[g];
    if (!matrix->d_column)
        return 0;
    if (!rw_cuda_is_dry(codes->memory))
        rw_cuda_codes_drop_columns(codes->shared, g);
    matrix->d_column = NULL;
    for (uint32_t f = 0; f < matrix->n_features; f++) {
        const uint32_t feature = codes->shared->group[g].column[f];
        codes->split_column[feature] = codes->tile_column[feature];
    }
    return codes->has_made ? matrix->column_words * matrix->n_features * sizeof(*matrix->d_column)
                           : 0;
}

/* Allocates the cached columns: place.n_columns with codes in host memory, else as many as
 * RW_TUNE_COLUMNS_SHARE of `bytes`, those of the codes, holds. */
static int make_kept(struct rw_cuda_codes *codes, uint64_t bytes)
{
    struct rw_ctx *ctx = codes->host->base.ctx;
    struct rw_arena *arena = &codes->memory->arena;
    struct rw_cuda_kept *kept = &codes->kept;
    if (codes->n_docs == 0) /* of a worker without documents */
        return RW_OK;
    kept->column_bytes = rw_cuda_column_bytes(codes->host->set[0].bins->cuts, codes->n_docs);
    uint64_t n = (uint64_t)((double)bytes * RW_TUNE_COLUMNS_SHARE) / kept->column_bytes;
    n = n < RW_TUNE_COLUMNS_MOST ? n : RW_TUNE_COLUMNS_MOST;
    n = codes->place.is_far ? codes->place.n_columns : n;
    kept->n = n < codes->n_features ? (uint32_t)n : codes->n_features;
    if (kept->n == 0)
        return RW_OK;
    RW_TRY(rw_host_new(codes->host, &kept->d, kept->n, kept->column_bytes, 1));
    RW_TRY(RW_ARENA_NEW(ctx, arena, kept->of, kept->n));
    RW_TRY(RW_ARENA_NEW(ctx, arena, kept->use, codes->n_features));
    memset(kept->of, 0xff, kept->n * sizeof(*kept->of)); /* EMPTY */
    return RW_OK;
}

int rw_cuda_columns_settle(struct rw_cuda_codes *codes, const struct rw_hist_choice *choice)
{
    uint64_t bytes = 0, returned_bytes = 0;
    codes->is_settled = 1;
    if (!rw_cuda_is_dry(codes->memory))
        RW_TRY(rw_transfer_wait(codes->device));
    else /* all memory except that of other sets is counted now */
        codes->place.keeps_columns =
            !codes->memory->is_limited &&
            rw_cuda_left_bytes(codes->memory) >=
                rw_cuda_others_bytes(codes, codes->n_docs, codes->n_features) + AMPLE_BYTES;
    for (int g = 0; g < codes->shared->n_groups; g++) {
        const struct rw_hist_matrix *matrix = codes->set[0].matrix[g];
        const int is_read = choice[g].method && !choice[g].method->reads_tiles;
        if (is_read || (matrix->d_column && codes->place.keeps_columns))
            continue;
        returned_bytes += return_columns(codes, g);
        bytes += rw_cuda_tiles_bytes(matrix);
    }
    codes->host->memory.part = "column copies";
    rw_host_count(codes->host, -returned_bytes);
    return make_kept(codes, bytes);
}

/* ---- the cache ---- */

static void *column_at(const struct rw_cuda_kept *kept, uint32_t at)
{
    return (char *)kept->d + at * kept->column_bytes;
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

/* Caches a feature's column at index `at`, in place of another. */
static int keep_at(struct rw_cuda_codes *codes, uint32_t at, uint32_t feature)
{
    struct rw_cuda_kept *kept = &codes->kept;
    const struct rw_cuda_column *from = &codes->tile_column[feature];
    const uint32_t bits = from->bits == 16 ? 16 : 8;
    void *const d_to = column_at(kept, at);
    if (codes->place.is_far) {
        const size_t bytes = (size_t)codes->n_docs * from->bytes;
        codes->reads.bytes += bytes;
        RW_TRY(rw_transfer_write_pinned(codes->device, d_to, from->d_word, bytes));
    } else {
        RW_CUDA_LAUNCH(codes, rw_cuda_copy_column, from, codes->n_docs, d_to);
    }
    if (kept->of[at] != EMPTY)
        codes->split_column[kept->of[at]] = codes->tile_column[kept->of[at]];
    kept->of[at] = (int32_t)feature;
    codes->split_column[feature] =
        (struct rw_cuda_column){.d_word = d_to, .bytes = bits / 8, .lanes = 1, .bits = bits};
    return RW_OK;
}

/* Returns 1 if a copy of the wanted feature's column, at index `at`, saves more time than it costs.
 * A copy costs about as much as a partition of all documents. It saves RW_TUNE_COLUMNS_SAVED of a
 * partition of `now` documents, which follows at once. Use must pay RW_TUNE_COLUMNS_WORTH of the
 * rest. With codes in host memory, a copy costs as much as reading the codes of one in
 * RW_TUNE_FAR_SECTOR_DOCS documents there. */
static int is_worth_it(const struct rw_cuda_codes *codes, uint32_t wanted, uint32_t at,
                       uint32_t now)
{
    const struct rw_cuda_kept *kept = &codes->kept;
    const double instead = kept->of[at] == EMPTY ? 0.0 : kept->use[kept->of[at]];
    const double cost =
        codes->place.is_far
            ? (double)codes->n_docs / RW_TUNE_FAR_SECTOR_DOCS
            : RW_TUNE_COLUMNS_WORTH * ((double)codes->n_docs - RW_TUNE_COLUMNS_SAVED * now);
    return kept->use[wanted] - instead >= cost;
}

/* Returns 1 if the pending partition reads the column at this index. */
static int is_awaited(const struct rw_cuda_kept *kept, const struct rw_cuda_partition *pending,
                      uint32_t at)
{
    for (uint32_t i = 0; i < pending->n_parts; i++) {
        if (pending->part[i].column.d_word == column_at(kept, at))
            return 1;
    }
    return 0;
}

/* Makes a column for a large node if it is worth its cost; otherwise the partition reads tiles.
 * With codes in host memory the partition does not read rows, where each code takes 32 bytes of the
 * link. Then a column is made for any large node, and for a small one if it is worth its cost;
 * otherwise the partition reads the column in host memory. */
int rw_cuda_columns_use(struct rw_cuda_codes *codes, struct rw_cuda_nodes *nodes, uint32_t feature,
                        uint32_t n)
{
    enum { SECTOR_BYTES = 32 };
    struct rw_cuda_kept *kept = &codes->kept;
    const int is_far = codes->place.is_far;
    if (!kept->use || (!is_far && n < codes->n_docs / RW_TUNE_COLUMNS_LARGE))
        return RW_OK;
    kept->use[feature] += n;
    if (codes->split_column[feature].d_word != codes->tile_column[feature].d_word)
        return RW_OK; /* there is a column on the device */
    const uint32_t at = least_useful(kept);
    const int is_worth = is_worth_it(codes, feature, at, n);
    if (is_far && n < codes->n_docs / RW_TUNE_FAR_SECTOR_DOCS && !is_worth) {
        codes->reads.bytes += (uint64_t)n * SECTOR_BYTES;
        return RW_OK;
    }
    if (is_far) /* the pending partition may read the column that is replaced */
        RW_TRY(rw_cuda_nodes_sizes(nodes));
    else if (!is_worth || is_awaited(kept, &nodes->partition, at))
        return RW_OK;
    return keep_at(codes, at, feature);
}

void rw_cuda_columns_begin(struct rw_cuda_codes *codes)
{
    for (uint32_t f = 0; f < codes->n_features && codes->kept.use; f++)
        codes->kept.use[f] *= RW_TUNE_COLUMNS_FADE;
}
