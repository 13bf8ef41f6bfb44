/* Columns of the engine for GPUs. Methods that read columns are timed in the first tree; where none
 * of them was chosen their columns, as large as the codes, are given back. Partitions of many
 * documents like columns, too: a few are kept of the features that split large nodes most, and made
 * from the tiles. What is kept changes no result. */
#include <string.h>

#include "base/mem.h"
#include "gpu/engine/engine_cuda.h"
#include "gpu/device/tuning.h"

enum { EMPTY = -1 };
_Static_assert(RW_TUNE_COLUMNS_A_TREE <= RW_CUDA_MOST_COPIES, "copies between two trees");

/* A group's columns stay if the method that was chosen reads them. */
static int keeps_columns(const struct rw_cuda *cuda, int g)
{
    const struct rw_cuda_group *group = &cuda->group[g];
    return group->chosen && !group->choice.method->reads_tiles;
}

static uint64_t code_bytes(const struct rw_cuda *cuda, int g)
{
    const struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
    uint64_t bytes = 0;
    for (uint32_t t = 0; t < matrix->n_tiles; t++)
        bytes += rw_cuda_tile_bytes(matrix, t);
    return bytes;
}

static uint64_t give_back(struct rw_cuda *cuda, int g)
{
    struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
    if (!matrix->d_column)
        return 0;
    if (!rw_cuda_is_dry(cuda) && !cuda->taken)
        rw_device_free((void *)(uintptr_t)matrix->d_column);
    matrix->d_column = NULL;
    for (uint32_t f = 0; f < matrix->n_features; f++) {
        const uint32_t feature = cuda->group[g].column[f];
        cuda->split_column[feature] = cuda->tile_column[feature];
    }
    return cuda->taken ? 0 : rw_cuda_columns_bytes(matrix); /* another's are not counted */
}

/* As many columns as a share of the codes' bytes holds. */
static int make_kept(struct rw_cuda *cuda, uint64_t bytes)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuda_kept *kept = &cuda->kept;
    const uint32_t n_features = cuda->host.base.info.n_features;
    const int wide = cuda->n_groups && cuda->group[cuda->n_groups - 1].bits == 16;
    kept->column_bytes = ((uint64_t)cuda->n_docs * (wide ? 2 : 1) + 255) / 256 * 256;
    if (cuda->n_docs == 0) /* of a rank */
        return RW_OK;
    uint64_t n = (uint64_t)((double)bytes * RW_TUNE_COLUMNS_SHARE) / kept->column_bytes;
    n = n < RW_TUNE_COLUMNS_MOST ? n : RW_TUNE_COLUMNS_MOST;
    n = cuda->place.is_far ? cuda->place.n_columns : n;
    kept->n = n < n_features ? (uint32_t)n : n_features;
    if (kept->n == 0)
        return RW_OK;
    RW_TRY(rw_host_new(&cuda->host, &kept->d, kept->n, kept->column_bytes, 1));
    if (rw_cuda_is_dry(cuda))
        return RW_OK;
    RW_TRY(RW_NEW(ctx, kept->of, kept->n));
    RW_TRY(RW_NEW(ctx, kept->use, n_features));
    RW_TRY(RW_NEW(ctx, kept->drawn, n_features));
    memset(kept->drawn, 1, n_features);
    for (uint32_t i = 0; i < kept->n; i++)
        kept->of[i] = EMPTY;
    return RW_OK;
}

int rw_cuda_settle_columns(struct rw_cuda *cuda)
{
    uint64_t bytes = 0, given_back = 0;
    if (!rw_cuda_is_dry(cuda))
        RW_TRY(rw_transfer_wait(cuda->host.base.ctx, cuda->device));
    for (int g = 0; g < cuda->n_groups; g++) {
        if (keeps_columns(cuda, g))
            continue;
        given_back += give_back(cuda, g);
        bytes += code_bytes(cuda, g);
    }
    cuda->host.part = "column copies";
    rw_host_count(&cuda->host, -given_back);
    return make_kept(cuda, bytes);
}

static int has_column(const struct rw_cuda *cuda, uint32_t feature)
{
    return cuda->split_column[feature].d_word != cuda->tile_column[feature].d_word;
}

/* The tree's feature whose column would be of most use, of those without one; EMPTY: none was used.
 */
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

/* Free room, or that of the column of least use. */
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

static int copy_columns(struct rw_cuda *cuda, struct rw_cuda_copies *copies)
{
    if (copies->n > 0)
        RW_CUDA_TRY(cuda, 1, rw_cuda_copy_columns(copies, rw_cuda_stream(cuda)));
    copies->n = 0;
    return RW_OK;
}

/* What is on the device is copied later: with `copies`. */
static int keep_at(struct rw_cuda *cuda, uint32_t at, int32_t feature,
                   struct rw_cuda_copies *copies)
{
    struct rw_cuda_kept *kept = &cuda->kept;
    const struct rw_cuda_column *from = &cuda->tile_column[feature];
    void *const d_to = (char *)kept->d + at * kept->column_bytes;
    if (cuda->place.is_far)
        RW_TRY(rw_cuda_far_fetch(cuda, from, d_to));
    else {
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

/* Is a copy, which costs as much as a partition of all documents, worth what it will save? It saves
 * a partition of `now` documents at once. Of codes in the host's memory it costs as much as the
 * reading of a few documents' there. */
static int is_worth_it(const struct rw_cuda *cuda, int32_t wanted, uint32_t at, uint32_t now)
{
    const struct rw_cuda_kept *kept = &cuda->kept;
    const double instead = kept->of[at] == EMPTY ? 0.0 : kept->use[kept->of[at]];
    if (cuda->place.is_far)
        return kept->use[wanted] - instead >= (double)cuda->n_docs / RW_TUNE_FAR_SECTOR_DOCS;
    const double cost = (double)cuda->n_docs - RW_TUNE_COLUMNS_SAVED * now;
    return kept->use[wanted] - instead >= RW_TUNE_COLUMNS_WORTH * cost;
}

/* Does the partition that waits read the column that stands there? */
static int is_awaited(const struct rw_cuda *cuda, uint32_t at)
{
    const struct rw_cuda_kept *kept = &cuda->kept;
    const void *const d = (const char *)kept->d + at * kept->column_bytes;
    for (uint32_t i = 0; i < cuda->partition.n_parts; i++) {
        if (cuda->partition.part[i].column.d_word == d)
            return 1;
    }
    return 0;
}

/* A partition reads no rows of the host's memory, 32 bytes of them for a code, but columns: those
 * that it finds on the device, or one that is copied there whole, which others in the tree have a
 * use for, too; or, for a small node, the codes of its documents out of a column in the host's
 * memory. */
static int use_far_column(struct rw_cuda *cuda, uint32_t feature, uint32_t n)
{
    enum { SECTOR_BYTES = 32 };
    struct rw_cuda_kept *kept = &cuda->kept;
    kept->use[feature] += n;
    if (has_column(cuda, feature))
        return RW_OK;
    const uint32_t at = least_useful(kept);
    if (n < cuda->n_docs / RW_TUNE_FAR_SECTOR_DOCS && !is_worth_it(cuda, (int32_t)feature, at, n)) {
        cuda->reads.bytes += (uint64_t)n * SECTOR_BYTES;
        return RW_OK;
    }
    RW_TRY(rw_cuda_flush_parts(cuda)); /* a partition that waits may read what goes */
    return keep_at(cuda, at, (int32_t)feature, NULL);
}

int rw_cuda_use_column(struct rw_cuda *cuda, uint32_t feature, uint32_t n)
{
    struct rw_cuda_kept *kept = &cuda->kept;
    if (cuda->place.is_far && kept->use && kept->n > 0)
        return use_far_column(cuda, feature, n);
    if (!kept->use || n < cuda->n_docs / RW_TUNE_COLUMNS_LARGE)
        return RW_OK;
    kept->use[feature] += n;
    if (has_column(cuda, feature) || kept->n == 0)
        return RW_OK;
    const uint32_t at = least_useful(kept);
    if (is_awaited(cuda, at) || !is_worth_it(cuda, (int32_t)feature, at, n))
        return RW_OK;
    struct rw_cuda_copies copies = {.n_docs = cuda->n_docs};
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

/* d_sum: [n_features] zeroed. */
static int sum_columns(struct rw_cuda *cuda, int set, uint64_t first_doc, void *d_sum)
{
    const struct rw_engine *engine = &cuda->host.base;
    RW_CUDA_TRY(cuda, 1,
                rw_cuda_sum_columns(cuda->set[set].d_column, engine->info.n_features,
                                    engine->n_docs[set], first_doc, d_sum, rw_cuda_stream(cuda)));
    return RW_OK;
}

int rw_cuda_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const size_t bytes = engine->info.n_features * sizeof(*sums);
    void *d_sum;
    int status;
    memset(sums, 0, bytes);
    RW_TRY(rw_device_alloc(engine->ctx, &d_sum, bytes));
    RW_TRY_OUT(rw_transfer_write(engine->ctx, cuda->device, d_sum, sums, bytes));
    RW_TRY_OUT(sum_columns(cuda, set, first_doc, d_sum));
    RW_TRY_OUT(rw_transfer_read(engine->ctx, cuda->device, sums, d_sum, bytes));
out:
    rw_device_free(d_sum);
    return status;
}
