/* Builds histograms on GPUs. Chooses the histogram methods and plans their scratch. */
#include "gpu/engine/engine_cuda.h"

/* ---- the choice of a method ---- */

/* Returns a group's histogram call for nodes at positions of the list, with results from buffer 0
 * on. d_list NULL: positions are document numbers. The caller sets d_node and, if needed, the
 * parents. */
static struct rw_hist_call hist_call(const struct rw_cuda *cuda, int g,
                                     const struct rw_hist_node *node, uint32_t n_nodes,
                                     const uint32_t *d_list)
{
    const struct rw_cuda_cells *built = &cuda->built[g];
    const int all_are_needed = rw_cuda_are_many(&cuda->workers) || cuda->features.are_known;
    return (struct rw_hist_call){.matrix = cuda->codes.set[0].matrix[g],
                                 .sums =
                                     cuda->host.base.rules.newton ? RW_HIST_NEWTON : RW_HIST_MART,
                                 .d_list = d_list,
                                 .node = node,
                                 .n_nodes = n_nodes,
                                 .most_docs = cuda->call.most_docs,
                                 .d_lambda = cuda->quantise.d_lambda_q,
                                 .d_hess = cuda->quantise.d_hess_q,
                                 .by_position = d_list && cuda->nodes.moves == 1,
                                 .d_moved = cuda->nodes.d_moved,
                                 .largest = rw_quantise_limit(cuda->host.base.rules.bits),
                                 .zero_skip = cuda->choice[g].zero_skip,
                                 .d_frequent = cuda->codes.d_frequent[g],
                                 .d_count = built->d_count,
                                 .d_lambda_sum = built->d_lambda,
                                 .d_hess_sum = built->d_hess,
                                 .narrow = built->narrow,
                                 .d_needed = all_are_needed ? NULL : cuda->cells[g].d_sampled,
                                 .d_scratch = cuda->scratch.d,
                                 .clean_scratch = cuda->read_tiles,
                                 .far = cuda->codes.place.is_far ? &cuda->codes.hist_far : NULL,
                                 .n_multiprocessors = cuda->device->n_multiprocessors,
                                 .shared_bytes = cuda->device->shared_bytes};
}

/* ---- scratch, and the candidate methods ---- */

static size_t larger(size_t a, size_t b)
{
    return a > b ? a : b;
}

/* Returns the bytes of scratch that a method needs: for one node of any size, with some room to
 * spare; for as many small nodes as a call takes; and for a batch with a large node, whose drained
 * cells (gpu/hist/hist_lanes.cu) may be wider. */
static size_t scratch_bytes(const struct rw_cuda *cuda, int g, const struct rw_hist_method *method)
{
    enum { MOST = RW_TUNE_ENGINE_NODES, LARGE = 8 };
    const int batch = cuda->host.base.batch < (int)MOST ? cuda->host.base.batch : (int)MOST;
    const uint64_t n_docs = cuda->n_docs, end = cuda->nodes.half + n_docs;
    struct rw_hist_node node[MOST] = {{0, 0}};
    struct rw_hist_call call = hist_call(cuda, g, node, 1, cuda->nodes.partition.d_list);
    size_t most = 0;
    call.d_node = node;
    for (int skip = 0; skip <= !method->reads_tiles; skip++) {
        call.zero_skip = skip;
        for (uint64_t n = n_docs; n > 0; n /= 2) {
            node[0] = (struct rw_hist_node){end - n, n};
            most = larger(most, method->scratch_bytes(&call));
        }
    }
    /* A size between n_docs, n_docs / 2, ... may need one job more. */
    most += most / 16 + (size_t)call.matrix->n_features * call.matrix->n_bins * 24 + 4096;
    for (int i = 0; i < MOST; i++)
        node[i] = (struct rw_hist_node){cuda->nodes.half, n_docs / 2 / MOST};
    for (int large = 0; large <= (batch > 0); large++) {
        const uint64_t longest = large ? n_docs / LARGE : n_docs / 2 / MOST;
        node[0] = (struct rw_hist_node){end - longest, longest};
        call.n_nodes = large ? (uint32_t)batch : MOST;
        most = larger(most, method->scratch_bytes(&call));
    }
    return most;
}

/* Scratch is that of the preferred method, or of the only one: a forced method, or `lanes` if codes
 * are in host memory, which a comparison of methods would read many times. */
int rw_cuda_plan_histograms(struct rw_cuda *cuda)
{
    const struct rw_hist_method *forced = cuda->codes.forced;
    const struct rw_hist_method *method = forced ? forced : &rw_hist_lanes;
    const struct rw_hist_node root = {0, cuda->n_docs};
    for (int g = 0; g < cuda->n_groups; g++) {
        if (forced || cuda->codes.place.is_far) {
            struct rw_hist_call call = hist_call(cuda, g, &root, 1, NULL);
            call.d_node = &root;
            call.d_scratch = &call; /* only tested for NULL */
            RW_TRY(rw_hist_check(cuda->host.base.ctx, method, &call));
            cuda->choice[g].method = method;
            cuda->choice[g].how = forced ? RW_HIST_FORCED : RW_HIST_BY_RULE;
        }
        cuda->scratch.bytes = larger(cuda->scratch.bytes, scratch_bytes(cuda, g, method));
    }
    cuda->host.memory.part = "scratch";
    RW_TRY(rw_host_new(&cuda->host, &cuda->scratch.d, cuda->scratch.bytes, 1, 1));
    rw_cuda_count_most(&cuda->memory, 0);
    return RW_OK;
}

/* Chooses a method at the root of the first tree, among those for which the scratch is enough. */
static int choose(struct rw_cuda *cuda, int g, const struct rw_hist_call *root)
{
    struct rw_hist_candidates candidates = {.favourite = &rw_hist_lanes};
    const struct rw_hist_method *method;
    for (int i = 0; (method = rw_hist_method_at(i)) != NULL; i++) {
        if (!method->is_baseline && scratch_bytes(cuda, g, method) <= cuda->scratch.bytes)
            candidates.method[candidates.n++] = method;
    }
    RW_TRY(rw_hist_choose(cuda->device, root, &candidates, &cuda->choice[g]));
    return rw_transfer_wait(cuda->device);
}

/* Ends the choice of methods. Later calls do nothing. */
static int settle(struct rw_cuda *cuda)
{
    if (cuda->codes.is_settled)
        return RW_OK;
    cuda->memory.to_settle = 0;
    cuda->read_tiles = 1;
    for (int g = 0; g < cuda->n_groups; g++)
        cuda->read_tiles &= cuda->choice[g].method->reads_tiles;
    if (cuda->read_tiles) /* once, since every chosen method leaves scratch clean */
        RW_CU(cuda->host.base.ctx,
              cudaMemsetAsync(cuda->scratch.d, 0, cuda->scratch.bytes, cuda->device->stream));
    return rw_cuda_columns_settle(&cuda->codes, cuda->choice);
}

int rw_cuda_report(struct rw_engine *engine, char *text, size_t size, double *ms)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const int g = cuda->n_reported;
    if (g == cuda->n_groups || !cuda->choice[g].method)
        return 0;
    cuda->n_reported++;
    rw_hist_choice_text(&cuda->choice[g], cuda->codes.set[0].matrix[g], text, size);
    *ms = cuda->choice[g].choosing_ms;
    return 1;
}

/* ---- one call ---- */

/* Runs the call with results in buffers from `buffer` on. If the group has no method yet, chooses
 * it first, on this call. */
static int run_group(struct rw_cuda *cuda, int g, struct rw_hist_call *call, int32_t buffer)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    const struct rw_hist_choice *choice = &cuda->choice[g];
    const uint64_t at = (uint64_t)buffer * cuda->built[g].n_cells;
    call->d_count += at;
    call->d_lambda_sum = rw_hist_sums_from(call->d_lambda_sum, at, call->narrow);
    call->d_hess_sum = rw_hist_sums_from(call->d_hess_sum, at, call->narrow);
    if (!choice->method)
        RW_TRY(choose(cuda, g, call));
    call->zero_skip = choice->zero_skip;
    if (choice->method->scratch_bytes(call) > cuda->scratch.bytes)
        return rw_fail(ctx, RW_ERR_INTERNAL, "histogram scratch is too small");
    return rw_hist_run(ctx, choice->method, call, cuda->device->stream);
}

/* Returns how many of the first n nodes of the call fit the scratch: n, n / 2, ... or 1. */
static uint32_t nodes_that_fit(const struct rw_cuda *cuda, uint32_t n, const uint32_t *d_list)
{
    for (; n > 1; n = n / 2) {
        int fits = 1;
        for (int g = 0; g < cuda->n_groups; g++) {
            const struct rw_hist_call call = hist_call(cuda, g, cuda->call.node, n, d_list);
            const struct rw_hist_method *method = cuda->choice[g].method;
            fits &= !method || method->scratch_bytes(&call) <= cuda->scratch.bytes;
        }
        if (fits)
            break;
    }
    return n;
}

/* Sends the first n nodes of the call and their parents to the device, except a node of all
 * documents without a parent, which is there (cuda->root). Then launches the pending partition. */
static int send_nodes(struct rw_cuda *cuda, uint32_t n, const struct rw_hist_node **d_node,
                      const uint32_t **d_parent)
{
    const struct rw_hist_node *node = cuda->call.node;
    const uint32_t *parent = cuda->call.parent;
    if (n == 1 && node->first == 0 && node->n == cuda->n_docs && *parent == RW_HIST_NO_PARENT) {
        *d_node = &cuda->root.d->node;
        *d_parent = &cuda->root.d->parent;
        return rw_cuda_nodes_launch(&cuda->nodes);
    }
    return rw_cuda_nodes_send(&cuda->nodes, node, parent, n, d_node, d_parent);
}

/* Builds the histograms of the n nodes of the call, in buffers from `buffer` on. Overwrites the
 * call. have_parents: 1: subtracts them from the parents' histograms, which become the siblings'.
 * d_ready: [n] the nodes on the device; NULL: sends them. */
static int build(struct rw_cuda *cuda, uint32_t n, const uint32_t *d_list, int have_parents,
                 int32_t buffer, const struct rw_hist_node *d_ready)
{
    struct rw_hist_node *const node = cuda->call.node;
    uint32_t *const parent = cuda->call.parent;
    while (n > 0) {
        const uint32_t some = nodes_that_fit(cuda, n, d_list);
        const struct rw_hist_node *d_node = d_ready;
        const uint32_t *d_parent = NULL;
        if (d_ready)
            d_ready += some;
        else
            RW_TRY(send_nodes(cuda, some, &d_node, &d_parent));
        for (int g = 0; g < cuda->n_groups; g++) {
            struct rw_hist_call call = hist_call(cuda, g, node, some, d_list);
            call.d_node = d_node;
            call.d_parent = have_parents ? d_parent : NULL;
            call.parents = (struct rw_hist_pool){call.d_count, call.d_lambda_sum, call.d_hess_sum};
            RW_TRY(run_group(cuda, g, &call, buffer));
        }
        RW_TRY(settle(cuda));
        buffer += (int32_t)some;
        n -= some;
        memmove(node, node + some, n * sizeof(*node));
        memmove(parent, parent + some, n * sizeof(*parent));
    }
    return RW_OK;
}

/* ---- buffers ---- */

int rw_cuda_release(struct rw_engine *engine, const int32_t *slots, int n)
{
    for (int i = 0; i < n; i++)
        rw_cuda_of(engine)->buffers.of[slots[i]] = -1;
    return RW_OK;
}

static int move(struct rw_cuda *cuda, struct rw_cuda_moves *moves)
{
    for (int g = 0; g < cuda->n_groups && moves->n > 0; g++)
        RW_CUDA_LAUNCH(cuda, rw_cuda_move, &cuda->cells[g], moves);
    moves->n = 0;
    return RW_OK;
}

/* Moves useful histograms down to the buffers of useless ones, so that a batch's fit after them. */
static int close_up(struct rw_cuda *cuda)
{
    const int32_t n_slots = (int32_t)cuda->host.base.rules.max_slots;
    const int32_t n_used = cuda->buffers.n_used;
    int32_t *const buffer_of = cuda->buffers.of, *const slot_of = cuda->buffers.slot_of;
    struct rw_cuda_moves moves = {.n = 0};
    int32_t n_kept = 0, hole = 0;
    memset(slot_of, 0xff, (size_t)n_used * sizeof(*slot_of)); /* -1 */
    for (int32_t slot = 0; slot < n_slots; slot++) {
        if (buffer_of[slot] < 0)
            continue;
        slot_of[buffer_of[slot]] = slot;
        n_kept++;
    }
    for (int32_t buffer = n_kept; buffer < n_used; buffer++) {
        if (slot_of[buffer] < 0)
            continue;
        while (slot_of[hole] >= 0)
            hole++;
        buffer_of[slot_of[buffer]] = hole;
        moves.from[moves.n] = (uint32_t)buffer;
        moves.to[moves.n++] = (uint32_t)hole++;
        if (moves.n == RW_CUDA_MOST_MOVES)
            RW_TRY(move(cuda, &moves));
    }
    cuda->buffers.n_used = n_kept;
    return move(cuda, &moves);
}

/* Gives the smaller child buffer n_used + i. If the histogram of the larger child is requested,
 * that child gets the buffer of the parent. Sets node i of the call. */
static int take_buffers(struct rw_cuda *cuda, const struct rw_sibling *s, int i)
{
    int32_t *const buffer_of = cuda->buffers.of;
    const int32_t of_parent = s->parent >= 0 ? buffer_of[s->parent] : -1;
    if (s->parent >= 0 && of_parent < 0)
        return rw_fail(cuda->host.base.ctx, RW_ERR_INTERNAL, "a parent without a histogram");
    cuda->call.node[i] =
        (struct rw_hist_node){cuda->nodes.first[s->smaller], cuda->nodes.n[s->smaller]};
    cuda->call.parent[i] =
        of_parent >= 0 && s->larger >= 0 ? (uint32_t)of_parent : RW_HIST_NO_PARENT;
    if (of_parent >= 0)
        buffer_of[s->parent] = -1;
    if (s->larger >= 0)
        buffer_of[s->larger] = of_parent;
    buffer_of[s->smaller] = cuda->buffers.n_used + i;
    return RW_OK;
}

/* ---- histograms ---- */

/* Returns 1 if the nodes can be built from estimates of their sizes. With one worker, all sizes are
 * known. */
static int can_estimate(const struct rw_cuda *cuda, const struct rw_sibling *siblings, uint32_t n)
{
    return rw_cuda_are_many(&cuda->workers) && !cuda->codes.place.is_far && cuda->read_tiles &&
           rw_cuda_nodes_are_pending(&cuda->nodes, siblings, n);
}

/* Builds the histograms of n nodes over the documents of all workers. */
static int build_shared(struct rw_cuda *cuda, const struct rw_sibling *siblings, uint32_t n,
                        const uint32_t *d_list, int is_estimated)
{
    struct rw_cuda_workers *workers = &cuda->workers;
    const struct rw_hist_node *d_node = NULL;
    if (cuda->n_groups == 0) /* no features */
        return RW_OK;
    if (is_estimated)
        RW_TRY(rw_cuda_nodes_estimate(&cuda->nodes, siblings, n, cuda->call.node,
                                      &cuda->call.most_docs, &d_node));
    RW_TRY(
        rw_cuda_workers_begin_sums(workers, n, (uint32_t)cuda->buffers.n_used, cuda->call.parent));
    RW_TRY(build(cuda, n, d_list, 0, 0, d_node));
    cuda->call.most_docs = 0;
    return rw_cuda_workers_end_sums(workers, siblings, cuda->nodes.all_n);
}

/* Builds the histograms of n siblings, in one call. */
static int build_siblings(struct rw_cuda *cuda, const struct rw_sibling *siblings, int n)
{
    /* The root of a tree that has all documents needs no list. */
    const int is_root = siblings[0].parent < 0, whole = is_root && !cuda->nodes.sample.d_sampled;
    const uint32_t *d_list = whole ? NULL : cuda->nodes.partition.d_list;
    const int is_estimated = can_estimate(cuda, siblings, (uint32_t)n);
    if (n > cuda->buffers.n - cuda->buffers.n_used)
        RW_TRY(close_up(cuda));
    if (n > cuda->buffers.n - cuda->buffers.n_used)
        return rw_fail(cuda->host.base.ctx, RW_ERR_INTERNAL, "no histogram buffer is free");
    if (rw_cuda_are_many(&cuda->workers) && !is_estimated)
        RW_TRY(rw_cuda_nodes_sizes(&cuda->nodes));
    for (int i = 0; i < n; i++)
        RW_TRY(take_buffers(cuda, &siblings[i], i));
    if (rw_cuda_are_many(&cuda->workers))
        RW_TRY(build_shared(cuda, siblings, (uint32_t)n, d_list, is_estimated));
    else
        RW_TRY(build(cuda, (uint32_t)n, d_list, !is_root, cuda->buffers.n_used, NULL));
    cuda->buffers.n_used += n;
    return RW_OK;
}

int rw_cuda_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const int are_many = rw_cuda_are_many(&cuda->workers), is_far = cuda->codes.place.is_far;
    const int most = are_many ? (int)cuda->workers.most_nodes : RW_TUNE_ENGINE_NODES;
    const int is_done = cuda->root.is_begun && n > 0 && siblings[0].parent < 0;
    if (n > 0)
        cuda->root.is_begun = 0;
    if (n == 0 || is_done)
        return RW_OK;
    if (is_far) { /* a partition is not part of a histogram */
        RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
        RW_TRY(rw_cuda_far_clock(&cuda->codes, 0));
    }
    for (int first = 0; first < n; first += most) {
        /* The order of host-resident rows waits for earlier work without calling rw_nccl_watch. So
         * this waits first. */
        if (first > 0 && are_many && is_far)
            RW_TRY(rw_transfer_wait(cuda->device));
        RW_TRY(build_siblings(cuda, siblings + first, n - first < most ? n - first : most));
    }
    return is_far ? rw_cuda_far_clock(&cuda->codes, 1) : RW_OK;
}

int rw_cuda_begin_root(struct rw_cuda *cuda, uint32_t n_features)
{
    const struct rw_sibling root = {.parent = -1, .smaller = 0, .larger = -1};
    cuda->root.is_begun = 0;
    if (n_features == 0 || !cuda->codes.is_settled || cuda->nodes.sample.d_sampled ||
        rw_cuda_are_many(&cuda->workers) || cuda->codes.place.is_far)
        return RW_OK;
    RW_TRY(rw_cuda_histograms(&cuda->host.base, &root, 1));
    cuda->root.is_begun = 1;
    return RW_OK;
}
