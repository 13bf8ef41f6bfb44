/* Data of the engine for GPUs: codes and tables onto the device, and all memory of training. */
#include "gpu/engine_cuda.h"

#include <string.h>

#include "base/mem.h"
#include "gpu/tuning.h"

static const int group_bits[RW_CUDA_GROUPS] = {4, 8, 16};

/* ---- groups ---- */

static struct rw_cuda_group *group_of(struct rw_cuda *cuda, int bits)
{
    return &cuda->group[bits == 4 ? 0 : bits == 8 ? 1 : 2];
}

/* A feature goes to the group of its codes' width; narrow ones to those of 8 bits, if there are
 * any. */
static int make_groups(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    int narrow_with = 4;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        cuda->group[g].bits = group_bits[g];
        RW_TRY(RW_NEW(ctx, cuda->group[g].column, cuts->n_features));
    }
    for (uint32_t f = 0; f < cuts->n_features; f++)
        if (rw_code_bits(rw_cuts_n_codes(cuts, f)) == 8)
            narrow_with = 8; /* one launch for both */
    for (int narrow = 0; narrow < 2; narrow++) {
        for (uint32_t f = 0; f < cuts->n_features; f++) {
            const uint32_t n_codes = rw_cuts_n_codes(cuts, f);
            const int bits = rw_code_bits(n_codes);
            if ((bits == 4) != narrow)
                continue;
            struct rw_cuda_group *group = group_of(cuda, narrow ? narrow_with : bits);
            group->column[group->n_features++] = f;
            group->n_narrow += (uint32_t)(narrow && narrow_with == 8);
            group->n_bins = n_codes > group->n_bins ? n_codes : group->n_bins;
        }
    }
    return RW_OK;
}

/* ---- codes ---- */

static void copy_codes(const struct rw_bins *bins, uint32_t f, uint16_t *out)
{
    const struct rw_codes *codes = &bins->codes[f];
    const size_t bytes = rw_cuts_code_bytes(bins->cuts, f);
    if (!codes->row) {
        for (uint32_t doc = 0; doc < bins->n_docs; doc++)
            out[doc] = (uint16_t)rw_codes_entry(codes, bytes, doc);
        return;
    }
    for (uint32_t doc = 0; doc < bins->n_docs; doc++)
        out[doc] = (uint16_t)codes->rest;
    for (uint32_t i = 0; i < codes->n; i++)
        out[codes->row[i]] = (uint16_t)rw_codes_entry(codes, bytes, i);
}

static void drop_codes(struct rw_bins *bins)
{
    for (uint32_t f = 0; f < bins->cuts->n_features; f++) {
        rw_mem_free(bins->codes[f].row);
        rw_mem_free(bins->codes[f].code);
        memset(&bins->codes[f], 0, sizeof(bins->codes[f]));
    }
}

/* Columns are for partitions, which read one feature of many documents, and for methods that read
 * them: made if a quarter of what is free holds them, or if a forced method needs them. */
static int layouts_of(struct rw_cuda *cuda, int g, uint32_t n_docs, int *layouts)
{
    const struct rw_cuda_group *group = &cuda->group[g];
    size_t free_bytes = 0, all_bytes = 0;
    *layouts = RW_HIST_TILES;
    RW_CU(cuda->host.base.ctx, cudaMemGetInfo(&free_bytes, &all_bytes));
    const uint64_t bytes = (uint64_t)n_docs * group->n_features * (uint64_t)group->bits / 8;
    const int needed = cuda->host.base.rules.hist && !group->candidates.method[0]->reads_tiles;
    if (needed || bytes <= free_bytes / 4)
        *layouts |= RW_HIST_COLUMNS;
    return RW_OK;
}

static uint64_t matrix_bytes(const struct rw_hist_matrix *matrix)
{
    uint64_t bytes = 4 * matrix->column_words * matrix->n_features;
    for (uint32_t t = 0; t < matrix->n_tiles; t++)
        bytes += (uint64_t)matrix->n_docs * matrix->tile[t].lanes * (matrix->bits == 16 ? 2 : 4);
    return bytes;
}

static int make_matrix(struct rw_cuda *cuda, int set, int g)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_cuda_group *group = &cuda->group[g];
    const struct rw_bins *bins = cuda->host.set[set].bins;
    int status = RW_OK, layouts = RW_HIST_TILES;
    uint16_t *code = NULL;
    const uint16_t **codes = NULL;
    if (set == 0)
        RW_TRY(layouts_of(cuda, g, bins->n_docs, &layouts));
    RW_TRY_OUT(RW_NEW_RAW(ctx, code, (size_t)group->n_features * bins->n_docs));
    RW_TRY_OUT(RW_NEW(ctx, codes, group->n_features));
#pragma omp parallel for num_threads(ctx->n_threads) schedule(dynamic, 1)
    for (uint32_t f = 0; f < group->n_features; f++) {
        uint16_t *const column = code + (size_t)f * bins->n_docs;
        copy_codes(bins, group->column[f], column);
        codes[f] = column;
    }
    const struct rw_hist_matrix_spec spec = {.bits = group->bits,
                                             .n_features = group->n_features,
                                             .n_docs = bins->n_docs,
                                             .n_bins = group->n_bins,
                                             .n_narrow = group->n_narrow,
                                             .layouts = layouts};
    RW_TRY_OUT(rw_hist_matrix_new(ctx, cuda->device, &spec, codes, &cuda->set[set].matrix[g]));
    cuda->bytes += matrix_bytes(cuda->set[set].matrix[g]);
out:
    rw_mem_free(code);
    rw_mem_free(codes);
    return status;
}

/* Where partitions read a group's codes: in its columns, if there are any. */
static void find_split_columns(struct rw_cuda *cuda, int g)
{
    const struct rw_hist_matrix *matrix = cuda->set[0].matrix[g];
    const uint32_t bits = (uint32_t)cuda->group[g].bits;
    for (uint32_t f = 0; matrix && matrix->d_column && f < matrix->n_features; f++)
        cuda->split_column[cuda->group[g].column[f]] =
            (struct rw_cuda_column){.d_word = matrix->d_column + f * matrix->column_words,
                                    .bytes = bits == 16 ? 2 : 1,
                                    .lanes = 1,
                                    .bits = bits,
                                    .log_docs = bits == 4};
}

/* Where each feature's codes are in a set's tiles. */
static int make_columns(struct rw_cuda *cuda, int set)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const uint32_t n_features = cuda->host.base.info.n_features;
    struct rw_cuda_column *column = NULL;
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, column, n_features));
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        const struct rw_hist_matrix *matrix = cuda->set[set].matrix[g];
        for (uint32_t t = 0; matrix && t < matrix->n_tiles; t++) {
            const struct rw_hist_tile *tile = &matrix->tile[t];
            for (uint32_t f = 0; f < tile->n_features; f++)
                column[cuda->group[g].column[tile->first_feature + f]] =
                    (struct rw_cuda_column){.d_word = tile->d_word,
                                            .bytes = tile->bits == 16 ? 2 : 4,
                                            .lanes = tile->lanes,
                                            .lane = f % tile->lanes,
                                            .bits = (uint32_t)tile->bits,
                                            .shift = f / tile->lanes * (uint32_t)tile->bits};
        }
    }
    if (set == 0) {
        RW_TRY_OUT(RW_NEW(ctx, cuda->split_column, n_features));
        memcpy(cuda->split_column, column, n_features * sizeof(*column));
        for (int g = 0; g < RW_CUDA_GROUPS; g++)
            find_split_columns(cuda, g);
    }
    RW_TRY_OUT(RW_CUDA_NEW(cuda, cuda->set[set].d_column, n_features));
    RW_TRY_OUT(rw_transfer_write(ctx, cuda->device, cuda->set[set].d_column, column,
                                 n_features * sizeof(*column)));
out:
    rw_mem_free(column);
    return status;
}

/* A set's codes, and its scores at 0. */
static int load_set(struct rw_cuda *cuda, int set, uint32_t n_docs)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        if (cuda->group[g].n_features)
            RW_TRY(make_matrix(cuda, set, g));
    }
    RW_TRY(make_columns(cuda, set));
    drop_codes(cuda->host.set[set].bins);
    RW_TRY(RW_CUDA_NEW(cuda, cuda->set[set].d_score, n_docs));
    RW_CU(ctx, cudaMemsetAsync(cuda->set[set].d_score, 0, n_docs * sizeof(double),
                               (cudaStream_t)rw_cuda_stream(cuda)));
    return rw_transfer_wait(ctx, cuda->device);
}

/* ---- tables of the training set ---- */

static int send_table(struct rw_cuda *cuda, void **d, const void *from, size_t n, size_t size)
{
    RW_TRY(rw_cuda_new(cuda, d, n, size));
    return rw_transfer_write(cuda->host.base.ctx, cuda->device, *d, from, n * size);
}

/* Each feature's bins, its cuts, and its most frequent code. Codes are still on the host. */
static int make_tables(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_bins *bins = cuda->host.set[0].bins;
    const struct rw_cuts *cuts = bins->cuts;
    struct rw_cuda_feature *feature = NULL;
    uint16_t *frequent = NULL;
    int status = RW_OK;
    RW_TRY_OUT(RW_NEW(ctx, feature, cuts->n_features));
    RW_TRY_OUT(RW_NEW(ctx, frequent, cuts->n_features));
    for (uint32_t f = 0; f < cuts->n_features; f++)
        feature[f] = (struct rw_cuda_feature){.n_bins = rw_cuts_n_bins(cuts, f),
                                              .has_missing = cuts->has_missing[f],
                                              .first_cut = cuts->offset[f]};
    RW_TRY_OUT(
        send_table(cuda, (void **)&cuda->d_feature, feature, cuts->n_features, sizeof(*feature)));
    RW_TRY_OUT(send_table(cuda, (void **)&cuda->d_cut, cuts->cut, cuts->offset[cuts->n_features],
                          sizeof(*cuts->cut)));
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        struct rw_cuda_group *group = &cuda->group[g];
#pragma omp parallel for num_threads(ctx->n_threads) schedule(dynamic, 1)
        for (uint32_t f = 0; f < group->n_features; f++) {
            uint32_t counts[1026], most = 0;
            rw_bins_count(bins, group->column[f], counts);
            for (uint32_t code = 1; code < rw_cuts_n_codes(cuts, group->column[f]); code++)
                most = counts[code] > counts[most] ? code : most;
            frequent[f] = (uint16_t)most;
        }
        RW_TRY_OUT(send_table(cuda, (void **)&group->d_frequent, frequent, group->n_features,
                              sizeof(*frequent)));
        RW_TRY_OUT(send_table(cuda, (void **)&group->d_column, group->column, group->n_features,
                              sizeof(*group->column)));
    }
out:
    rw_mem_free(feature);
    rw_mem_free(frequent);
    return status;
}

/* ---- memory of training ---- */

/* Histograms live at no more nodes than there are leaves, and a node that may be searched has
 * 2 x min_docs documents. */
static int make_pools(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    uint64_t n_buffers = ((uint64_t)rules->max_slots + 1) / 2;
    const uint64_t most = cuda->n_docs / rules->min_docs + 2;
    n_buffers = n_buffers < most ? n_buffers : most;
    cuda->n_buffers = (int32_t)n_buffers;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        struct rw_cuda_group *group = &cuda->group[g];
        const uint64_t n = n_buffers * group->n_features * group->n_bins;
        group->cells.n_features = group->n_features;
        group->cells.n_bins = group->n_bins;
        group->cells.d_column = group->d_column;
        if (!group->n_features)
            continue;
        RW_TRY(RW_CUDA_NEW(cuda, group->cells.d_count, n));
        RW_TRY(RW_CUDA_NEW(cuda, group->cells.d_lambda, n));
        if (rules->newton)
            RW_TRY(RW_CUDA_NEW(cuda, group->cells.d_weight, n));
    }
    return RW_OK;
}

/* May each group's histograms take lambdas by place? */
static int moves_have_a_use(const struct rw_cuda *cuda)
{
    int use = 1;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        const struct rw_hist_candidates *candidates = &cuda->group[g].candidates;
        int any = !cuda->group[g].n_features;
        for (int i = 0; i < candidates->n; i++)
            any |= candidates->method[i]->by_place;
        use &= any;
    }
    return use;
}

static int make_lists(struct rw_cuda *cuda)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint64_t n = cuda->n_docs, n_slots = rules->max_slots;
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_begin, 1));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_lambda, n));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_weight, n));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_lambda_q, n));
    if (rules->newton)
        RW_TRY(RW_CUDA_NEW(cuda, cuda->d_weight_q, n));
    cuda->half = (n + 63) / 64 * 64;
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_list, 2 * cuda->half));
    cuda->most_chunks = n / RW_CUDA_CHUNK + n_slots + 1;
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_state, cuda->most_chunks));
    RW_CU(cuda->host.base.ctx,
          cudaMemsetAsync(cuda->d_state, 0, cuda->most_chunks * sizeof(*cuda->d_state),
                          (cudaStream_t)rw_cuda_stream(cuda)));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_found, n_slots));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_leaf_of, n));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_sum, n_slots));
    if (moves_have_a_use(cuda))
        RW_TRY(RW_CUDA_NEW(cuda, cuda->d_lambda_place, 2 * cuda->half));
    if (moves_have_a_use(cuda) && rules->newton)
        RW_TRY(RW_CUDA_NEW(cuda, cuda->d_weight_place, 2 * cuda->half));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_feature_sampled, cuda->host.base.info.n_features));
    if (rules->query_threshold > UINT32_MAX)
        return RW_OK;
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_kept, cuda->n_queries));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_low, 2));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_sampled, n));
    cuda->list_scratch_bytes = rw_cuda_list_bytes(cuda->n_docs);
    return rw_cuda_new(cuda, &cuda->d_list_scratch, cuda->list_scratch_bytes, 1);
}

/* What the host keeps, and what goes back and forth. */
static int make_host_side(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const size_t n_slots = cuda->host.base.rules.max_slots;
    const size_t n_features = cuda->host.base.info.n_features;
    RW_TRY(RW_NEW(ctx, cuda->n, n_slots));
    RW_TRY(RW_NEW(ctx, cuda->first, n_slots));
    RW_TRY(RW_NEW(ctx, cuda->buffer_of, n_slots));
    RW_TRY(RW_NEW(ctx, cuda->child, n_slots));
    RW_TRY(RW_NEW(ctx, cuda->stack, n_slots));
    RW_TRY(RW_NEW(ctx, cuda->summed, n_slots));
    RW_TRY(RW_NEW(ctx, cuda->coded, n_slots));
    cuda->most_nodes = RW_TUNE_ENGINE_NODES;
    RW_TRY(RW_NEW(ctx, cuda->node, cuda->most_nodes));
    RW_TRY(RW_NEW(ctx, cuda->parent, cuda->most_nodes));
    uint64_t searched = RW_TUNE_ENGINE_SEARCH_BYTES / sizeof(*cuda->d_best) / (n_features + 1);
    searched = searched < 1 ? 1 : searched > 65535 ? 65535 : searched;
    searched = searched < n_slots ? searched : n_slots;
    cuda->most_searched = (uint32_t)searched;
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_best, searched * n_features));
    RW_TRY(RW_CUDA_NEW(cuda, cuda->d_done, searched));
    RW_CU(ctx, cudaMemsetAsync(cuda->d_done, 0, searched * sizeof(*cuda->d_done),
                               (cudaStream_t)rw_cuda_stream(cuda)));
    /* the largest pieces: a node's part, a leaf, two coded nodes; several at a time */
    cuda->stage.bytes = (n_slots + 1) * 192 + 2 * n_features + 65536;
    RW_TRY(rw_cuda_new(cuda, (void **)&cuda->stage.d, cuda->stage.bytes, 1));
    RW_TRY(rw_transfer_pinned_alloc(ctx, (void **)&cuda->stage.host, cuda->stage.bytes));
    cuda->answer_bytes = sizeof(struct rw_cuda_begin) + n_slots * sizeof(struct rw_sum);
    return rw_transfer_pinned_alloc(ctx, &cuda->answer, cuda->answer_bytes);
}

/* ---- histogram methods ---- */

size_t rw_cuda_scratch_bytes(const struct rw_cuda *cuda, int g, const struct rw_hist_method *method,
                             const struct rw_hist_call *call)
{
    struct rw_hist_node node[RW_TUNE_ENGINE_NODES];
    struct rw_hist_call asked = *call;
    size_t most = 0;
    asked.node = asked.d_node = node;
    asked.d_list = cuda->d_list;
    asked.n_nodes = 1;
    for (int skip = 0; skip <= (method->zero_skip != 0); skip++) {
        asked.zero_skip = skip;
        for (uint64_t n = cuda->n_docs; n > 0; n /= 2) {
            node[0] = (struct rw_hist_node){cuda->half + cuda->n_docs - n, n};
            const size_t bytes = method->scratch_bytes(&asked);
            most = bytes > most ? bytes : most;
        }
    }
    /* a job more than the sizes above happen to have */
    return most + most / 16 + (size_t)cuda->group[g].n_features * cuda->group[g].n_bins * 24 + 4096;
}

/* Candidates that need more scratch than may be spent on a choice are left out; *small: the scratch
 * that the favourite needs, *large: that any of them may. */
static int plan_group(struct rw_cuda *cuda, int g, size_t most_bytes, size_t *small, size_t *large)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuda_group *group = &cuda->group[g];
    const struct rw_hist_node root = {0, cuda->n_docs};
    struct rw_hist_call call = rw_cuda_hist_call(cuda, g, &root, 1, NULL);
    struct rw_hist_candidates kept = {.n = 0};
    call.d_node = &root;
    call.d_scratch = &call; /* only whether they are there is looked at */
    if (cuda->host.base.rules.hist) {
        RW_TRY(rw_hist_force(ctx, &call, group->candidates.method[0], &group->choice));
        group->chosen = 1;
    }
    for (int i = 0; i < group->candidates.n; i++) {
        const struct rw_hist_method *method = group->candidates.method[i];
        if (rw_hist_check(ctx, method, &call) < 0)
            continue;
        const size_t bytes = rw_cuda_scratch_bytes(cuda, g, method, &call);
        if (bytes > most_bytes && !group->chosen && method != &rw_hist_lanes)
            continue;
        kept.method[kept.n++] = method;
        *large = bytes > *large ? bytes : *large;
        if (group->chosen || method == &rw_hist_lanes)
            *small = bytes > *small ? bytes : *small;
    }
    group->candidates = kept;
    return RW_OK;
}

/* More nodes a call where the favourite's scratch stays small. */
static void plan_nodes(struct rw_cuda *cuda, size_t *small)
{
    struct rw_hist_node node[RW_TUNE_ENGINE_NODES];
    for (uint32_t i = 0; i < RW_TUNE_ENGINE_NODES; i++)
        node[i] = (struct rw_hist_node){cuda->half, cuda->n_docs / 2 / RW_TUNE_ENGINE_NODES};
    node[0].first = cuda->half + cuda->n_docs - node[0].n;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        const struct rw_cuda_group *group = &cuda->group[g];
        if (!group->n_features)
            continue;
        struct rw_hist_call call =
            rw_cuda_hist_call(cuda, g, node, RW_TUNE_ENGINE_NODES, cuda->d_list);
        call.d_node = node;
        const struct rw_hist_method *method = group->chosen ? group->choice.method : &rw_hist_lanes;
        const size_t bytes = method->scratch_bytes(&call);
        *small = bytes > *small ? bytes : *small;
    }
}

static int plan_histograms(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    size_t small = 0, large = 0, free_bytes = 0, all_bytes = 0;
    RW_CU(ctx, cudaMemGetInfo(&free_bytes, &all_bytes));
    const size_t most =
        free_bytes / 4 < RW_TUNE_HYBRID_SCRATCH ? free_bytes / 4 : RW_TUNE_HYBRID_SCRATCH;
    for (int g = 0; g < RW_CUDA_GROUPS; g++) {
        if (cuda->group[g].n_features)
            RW_TRY(plan_group(cuda, g, most, &small, &large));
    }
    plan_nodes(cuda, &small);
    RW_TRY(rw_device_alloc(ctx, &cuda->d_hist_scratch, small));
    cuda->hist_scratch_bytes = small;
    cuda->bytes += small;
    if (large <= small)
        return RW_OK;
    cuda->choice_scratch_bytes = large;
    return rw_device_alloc(ctx, &cuda->d_choice_scratch, large);
}

/* Which methods are asked, before the layouts they read are made. */
static int list_candidates(struct rw_cuda *cuda)
{
    struct rw_hist_candidates all = {.n = 1};
    if (cuda->host.base.rules.hist)
        RW_TRY(
            rw_hist_method_named(cuda->host.base.ctx, cuda->host.base.rules.hist, &all.method[0]));
    else
        rw_hist_candidates_of_training(&all);
    for (int g = 0; g < RW_CUDA_GROUPS; g++)
        cuda->group[g].candidates = all;
    return RW_OK;
}

/* ---- loading ---- */

static int load_training(struct rw_cuda *cuda, const struct rw_dataset *dataset,
                         const double *gains)
{
    struct rw_engine *engine = &cuda->host.base;
    cuda->n_docs = dataset->n_docs;
    cuda->n_queries = dataset->n_queries;
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    engine->info.n_bins = cuts->offset[cuts->n_features];
    RW_TRY(make_groups(cuda));
    RW_TRY(make_tables(cuda));
    RW_TRY(load_set(cuda, 0, dataset->n_docs));
    RW_TRY(rw_cuda_lambda_new(engine->ctx, cuda->device, &engine->rules, dataset, gains,
                              &cuda->lambda));
    cuda->bytes += rw_cuda_lambda_bytes(cuda->lambda);
    RW_TRY(make_lists(cuda));
    if (cuda->d_sampled)
        RW_TRY(send_table(cuda, (void **)&cuda->d_query_offset, dataset->query_offset,
                          (size_t)dataset->n_queries + 1, sizeof(*dataset->query_offset)));
    RW_TRY(make_pools(cuda));
    RW_TRY(make_host_side(cuda));
    return plan_histograms(cuda);
}

int rw_cuda_load(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                 const double *gains)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    if (set == 0)
        RW_TRY(list_candidates(cuda));
    RW_TRY(rw_host_make_bins(&cuda->host, set, dataset));
    if (set == 0)
        RW_TRY(load_training(cuda, dataset, gains));
    else
        RW_TRY(load_set(cuda, set, dataset->n_docs));
    engine->info.bytes = cuda->bytes;
    return RW_OK;
}

void rw_cuda_unload(struct rw_cuda *cuda)
{
    rw_cuda_lambda_free(cuda->lambda);
    for (int set = 0; set < RW_MAX_SETS; set++) {
        rw_cuda_metrics_free(cuda->set[set].metrics);
        for (int g = 0; g < RW_CUDA_GROUPS; g++)
            rw_hist_matrix_free(cuda->set[set].matrix[g]);
    }
    for (int i = 0; i < cuda->n_owned; i++)
        rw_device_free(cuda->owned[i]);
    rw_device_free(cuda->d_hist_scratch);
    rw_device_free(cuda->d_choice_scratch);
    rw_transfer_pinned_free(cuda->stage.host);
    rw_transfer_pinned_free(cuda->answer);
    for (int g = 0; g < RW_CUDA_GROUPS; g++)
        rw_mem_free(cuda->group[g].column);
    void *const owned[] = {cuda->n,      cuda->first,       cuda->buffer_of, cuda->child,
                           cuda->stack,  cuda->summed,      cuda->coded,     cuda->node,
                           cuda->parent, cuda->split_column};
    for (size_t i = 0; i < sizeof(owned) / sizeof(owned[0]); i++)
        rw_mem_free(owned[i]);
}
