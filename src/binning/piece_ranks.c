/* What ranks tell each other of their pieces. Feature f is rank f mod P's. */
#include "base/mem.h"
#include "base/sort.h"
#include "binning/code_search.h"
#include "binning/pieces.h"
#include "comm/comm.h"

/* A feature's held values as they are sent: this, then the values. */
struct held_header {
    uint32_t feature, n_values, n_zeros;
};

/* ---- held values ---- */

/* Writes the features of rank r and of a group, unless `to` is NULL. Returns their bytes. */
static size_t write_held(const struct rw_all_held *own, uint32_t r, uint32_t n_ranks,
                         uint32_t group, char *to)
{
    size_t bytes = 0;
    for (uint32_t f = r + group * n_ranks; f < RW_FEATURE_IDS; f += n_ranks * RW_HELD_GROUPS) {
        struct held_header header = {.feature = f};
        const uint32_t first = rw_all_held_begin(own, f), end = own->end[f];
        for (uint32_t k = first; k < end; k++) {
            const struct rw_piece *piece = &own->pieces->piece[own->at[k].piece];
            header.n_values += piece->held[own->at[k].held].n;
            header.n_zeros += rw_held_zeros(piece, &piece->held[own->at[k].held]);
        }
        if (first == end)
            continue;
        if (to)
            memcpy(to + bytes, &header, sizeof(header));
        bytes += sizeof(header);
        for (uint32_t k = first; k < end; k++) {
            const struct rw_piece *piece = &own->pieces->piece[own->at[k].piece];
            const struct rw_held *held = &piece->held[own->at[k].held];
            float *values = to ? (float *)(void *)(to + bytes) : NULL;
            const float *from = to ? rw_held_values(piece, held, values) : NULL;
            if (from != values)
                memcpy(values, from, held->n * sizeof(*values));
            bytes += held->n * sizeof(*values);
        }
    }
    return bytes;
}

static int pack_held(const struct rw_all_held *own, uint32_t group, void **send, size_t *begin)
{
    struct rw_ctx *ctx = own->pieces->ctx;
    const uint32_t n_ranks = (uint32_t)rw_n_ranks(ctx);
    begin[0] = 0;
    for (uint32_t r = 0; r < n_ranks; r++)
        begin[r + 1] = begin[r] + write_held(own, r, n_ranks, group, NULL);
    RW_TRY(rw_mem_new_raw(ctx, send, begin[n_ranks], 1));
    for (uint32_t r = 0; r < n_ranks; r++)
        write_held(own, r, n_ranks, group, (char *)*send + begin[r]);
    return RW_OK;
}

/* Calls of `take` for each feature of what was received, in the order of ranks, then features. */
typedef void held_fn(struct rw_all_held *all, const struct held_header *header, float *value);
static int walk_held(struct rw_all_held *all, size_t n_bytes, held_fn *take)
{
    char *at = all->received, *end = at + n_bytes;
    while (at < end) {
        struct held_header header = {.feature = UINT32_MAX};
        if ((size_t)(end - at) >= sizeof(header))
            memcpy(&header, at, sizeof(header));
        if (header.feature > RW_MAX_FEATURE ||
            header.n_values > ((size_t)(end - at) - sizeof(header)) / sizeof(float) ||
            header.n_zeros > RW_MAX_DOCS)
            return rw_comm_nonsense(all->pieces->ctx, "values");
        at += sizeof(header);
        take(all, &header, (float *)(void *)at);
        at += header.n_values * sizeof(float);
    }
    return RW_OK;
}

static void count_held(struct rw_all_held *all, const struct held_header *header, float *value)
{
    (void)value;
    all->end[header->feature]++;
}

static void list_held(struct rw_all_held *all, const struct held_header *header, float *value)
{
    const uint32_t k = all->end[header->feature]++;
    all->other[k] = (struct rw_cut_part){
        .column = {.feature = header->feature, .n = header->n_values, .value = value},
        .n_zeros = header->n_zeros};
}

/* All ranks together hold no more values of a feature than they have sampled documents, for which
 * there is room. */
static int check_held(const struct rw_all_held *all)
{
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        uint64_t n = 0;
        for (uint32_t k = rw_all_held_begin(all, f); k < all->end[f]; k++)
            n += (uint64_t)all->other[k].column.n + all->other[k].n_zeros;
        if (n > all->pieces->sample->n_all)
            return rw_comm_nonsense(all->pieces->ctx, "values");
    }
    return RW_OK;
}

/* all->other and all->end of what was received; none if that is nothing. */
static int list_received(struct rw_all_held *all, size_t n_bytes)
{
    struct rw_ctx *ctx = all->pieces->ctx;
    uint32_t n = 0;
    if (n_bytes == 0)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, all->end, RW_FEATURE_IDS));
    RW_TRY(walk_held(all, n_bytes, count_held));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t of_feature = all->end[f];
        all->end[f] = n;
        n += of_feature;
    }
    RW_TRY(RW_NEW_RAW(ctx, all->other, n));
    RW_TRY(walk_held(all, n_bytes, list_held));
    return check_held(all);
}

int rw_pieces_exchange_held(const struct rw_all_held *own, uint32_t group, struct rw_all_held *all)
{
    struct rw_ctx *ctx = all->pieces->ctx;
    const size_t n_ranks = (size_t)rw_n_ranks(ctx);
    void *send = NULL;
    size_t *send_begin = NULL, *begin = NULL;
    int status = RW_NEW(ctx, send_begin, n_ranks + 1);
    status = status < 0 ? status : RW_NEW(ctx, begin, n_ranks + 1);
    status = status < 0 ? status : pack_held(own, group, &send, send_begin);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_comm_exchange(ctx, send, send_begin, &all->received, begin));
    status = rw_comm_agree(ctx, list_received(all, begin[n_ranks]));
out:
    rw_mem_free(send);
    rw_mem_free(send_begin);
    rw_mem_free(begin);
    return status;
}

void rw_all_held_release(struct rw_all_held *all)
{
    rw_mem_free(all->at);
    rw_mem_free(all->end);
    rw_mem_free(all->other);
    rw_mem_free(all->received);
}

/* ---- boundaries ---- */

/* Features of this rank: each id, the number of its boundaries, and they. */
static int pack_bounds(const struct rw_pieces *pieces, uint32_t **send, size_t *n)
{
    const uint32_t n_ranks = (uint32_t)rw_n_ranks(pieces->ctx);
    for (int writes = 0; writes <= 1; writes++) {
        size_t at = 0;
        for (uint32_t f = (uint32_t)rw_rank(pieces->ctx); f < RW_FEATURE_IDS; f += n_ranks) {
            const struct rw_piece_feature *feature = &pieces->feature[f];
            if (!feature->n_bounds)
                continue;
            if (writes) {
                (*send)[at] = f;
                (*send)[at + 1] = feature->n_bounds;
                memcpy(*send + at + 2, feature->bound, feature->n_bounds * sizeof(**send));
            }
            at += 2 + feature->n_bounds;
        }
        *n = at;
        if (!writes)
            RW_TRY(rw_mem_new_raw(pieces->ctx, (void **)send, at, sizeof(**send)));
    }
    return RW_OK;
}

static int ascend(const uint32_t *bound, uint32_t n)
{
    for (uint32_t k = 1; k < n; k++)
        if (bound[k - 1] >= bound[k])
            return 0;
    return 1;
}

static int take_bounds(struct rw_pieces *pieces, const uint32_t *told, size_t n)
{
    for (size_t at = 0; at < n; at += 2 + told[at + 1]) {
        if (n - at < 2 || told[at] > RW_MAX_FEATURE || told[at + 1] > n - at - 2 ||
            told[at + 1] > RW_MAX_BOUNDS || !ascend(told + at + 2, told[at + 1]))
            return rw_comm_nonsense(pieces->ctx, "boundaries");
        struct rw_piece_feature *feature = &pieces->feature[told[at]];
        feature->n_bounds = told[at + 1];
        rw_mem_free(feature->bound);
        feature->bound = NULL;
        RW_TRY(RW_NEW_RAW(pieces->ctx, feature->bound, feature->n_bounds));
        memcpy(feature->bound, told + at + 2, feature->n_bounds * sizeof(*feature->bound));
    }
    return RW_OK;
}

int rw_pieces_share_bounds(struct rw_pieces *pieces)
{
    struct rw_ctx *ctx = pieces->ctx;
    const size_t n_ranks = (size_t)rw_n_ranks(ctx);
    uint32_t *send = NULL;
    void *told = NULL;
    size_t n = 0, *begin = NULL;
    int status = RW_NEW(ctx, begin, n_ranks + 1);
    status = status < 0 ? status : pack_bounds(pieces, &send, &n);
    RW_TRY_OUT(rw_comm_agree(ctx, status));
    RW_TRY_OUT(rw_comm_gather_all(ctx, send, n * sizeof(*send), &told, begin));
    status = rw_comm_agree(ctx, take_bounds(pieces, told, begin[n_ranks] / sizeof(*send)));
out:
    rw_mem_free(send);
    rw_mem_free(told);
    rw_mem_free(begin);
    return status;
}

/* ---- what was found ---- */

int rw_pieces_share_found(struct rw_pieces *pieces)
{
    struct rw_ctx *ctx = pieces->ctx;
    int32_t *most = pieces->scratch[0].most;
    uint32_t *number = NULL;
    int status;
    if (rw_n_ranks(ctx) == 1)
        return RW_OK;
    const size_t n = pieces->n_most > RW_FEATURE_IDS ? pieces->n_most : RW_FEATURE_IDS;
    RW_TRY_OUT(rw_comm_agree(ctx, RW_NEW_RAW(ctx, number, n)));
    for (uint64_t k = 0; k < pieces->n_most; k++)
        number[k] = (uint32_t)most[k] ^ 0x80000000u; /* orders as the signed number does */
    RW_TRY_OUT(rw_comm_all_reduce(ctx, number, pieces->n_most, RW_COMM_U32, RW_COMM_MAX));
    for (uint64_t k = 0; k < pieces->n_most; k++)
        most[k] = (int32_t)(number[k] ^ 0x80000000u);
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        number[f] = pieces->feature[f].n_present;
    RW_TRY_OUT(rw_comm_all_reduce(ctx, number, RW_FEATURE_IDS, RW_COMM_U32, RW_COMM_SUM));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        pieces->feature[f].n_present = number[f];
out:
    rw_mem_free(number);
    return status;
}
