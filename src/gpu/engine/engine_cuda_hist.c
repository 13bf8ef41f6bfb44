/* Builds histograms and finds splits on GPUs. Chooses the histogram methods and plans their
 * scratch. */
#include "gpu/engine/engine_cuda.h"

/* ---- the choice of a method ---- */

/* Returns a group's histogram call for nodes at positions of the list, with results from buffer 0
 * on. d_list NULL: positions are document numbers. The caller sets d_node and, if needed, the
 * parents. */
static struct rw_hist_call hist_call(const struct rw_cuda *cuda, int g,
                                     const struct rw_hist_node *node, uint32_t n_nodes,
                                     const uint32_t *d_list)
{
    const struct rw_cuda_group *group = &cuda->group[g];
    const int newton = cuda->host.base.rules.newton, by_position = d_list && cuda->nodes.moves == 1;
    const uint8_t *const d_sampled =
        cuda->workers || cuda->knows_features ? NULL : group->cells.d_sampled;
    return (struct rw_hist_call){.matrix = cuda->set[0].matrix[g],
                                 .sums = newton ? RW_HIST_NEWTON : RW_HIST_MART,
                                 .d_list = d_list,
                                 .node = node,
                                 .n_nodes = n_nodes,
                                 .most_docs = cuda->most_docs,
                                 .d_lambda = cuda->quantise.d_lambda_q,
                                 .d_hess = cuda->quantise.d_hess_q,
                                 .by_position = by_position,
                                 .d_moved = cuda->nodes.d_moved,
                                 .largest = rw_quantise_limit(cuda->host.base.rules.bits),
                                 .zero_skip = group->chosen && group->choice.zero_skip,
                                 .d_frequent = group->d_frequent,
                                 .d_count = group->built.d_count,
                                 .d_lambda_sum = group->built.d_lambda,
                                 .d_hess_sum = group->built.d_hess,
                                 .narrow = group->built.narrow,
                                 .d_needed = d_sampled,
                                 .d_scratch = cuda->d_hist_scratch,
                                 .clean_scratch = cuda->clean_scratch,
                                 .far = cuda->place.is_far ? &cuda->hist_far : NULL,
                                 .n_multiprocessors = cuda->device->n_multiprocessors,
                                 .shared_bytes = cuda->device->shared_bytes};
}

int rw_cuda_may_choose(const struct rw_cuda *cuda, const struct rw_cuda_group *group)
{
    return !group->chosen || (cuda->n_trees == RW_TUNE_HYBRID_AGAIN && !group->is_rechecked);
}

/* ---- scratch, and the candidate methods ---- */

/* Returns the bytes of a method's scratch that are enough for a call of one node of any size, with
 * some room to spare. */
static size_t scratch_bytes(const struct rw_cuda *cuda, int g, const struct rw_hist_method *method,
                            const struct rw_hist_call *call)
{
    struct rw_hist_node node[RW_TUNE_ENGINE_NODES];
    struct rw_hist_call trial = *call;
    size_t most = 0;
    trial.node = trial.d_node = node;
    trial.d_list = cuda->nodes.partition.d_list;
    trial.n_nodes = 1;
    for (int skip = 0; skip <= (method->zero_skip != 0); skip++) {
        trial.zero_skip = skip;
        for (uint64_t n = cuda->n_docs; n > 0; n /= 2) {
            node[0] = (struct rw_hist_node){cuda->nodes.half + cuda->n_docs - n, n};
            const size_t bytes = method->scratch_bytes(&trial);
            most = bytes > most ? bytes : most;
        }
    }
    /* The sizes above are those of n_docs, n_docs / 2, ...; a size between them may need one job
     * more. */
    return most + most / 16 + (size_t)cuda->group[g].n_features * cuda->group[g].n_bins * 24 + 4096;
}

/* Leaves out candidates that cannot take the group's calls, or need more than most_bytes of
 * scratch. If a method is forced or codes are in host memory, chooses the first candidate. Raises
 * *small to the scratch of the preferred method or, after a choice, of each candidate. Raises
 * *large to the largest scratch of a candidate. */
static int plan_group(struct rw_cuda *cuda, int g, size_t most_bytes, size_t *small, size_t *large)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuda_group *group = &cuda->group[g];
    const struct rw_hist_node root = {0, cuda->n_docs};
    const int is_forced = cuda->host.base.rules.hist != NULL;
    struct rw_hist_call call = hist_call(cuda, g, &root, 1, NULL);
    struct rw_hist_candidates kept = {.n = 0, .favourite = group->candidates.favourite};
    call.d_node = &root;
    call.d_scratch = &call; /* only tested for NULL */
    if (is_forced || cuda->place.is_far) {
        /* a comparison with other methods would read host memory many times */
        const struct rw_hist_method *only = group->candidates.method[0];
        RW_TRY(rw_hist_check(ctx, only, &call));
        group->choice = (struct rw_hist_choice){
            .method = only, .how = is_forced ? RW_HIST_FORCED : RW_HIST_BY_RULE};
        group->chosen = 1;
    }
    for (int i = 0; i < group->candidates.n; i++) {
        const struct rw_hist_method *method = group->candidates.method[i];
        if (rw_hist_check(ctx, method, &call) < 0)
            continue;
        const size_t bytes = scratch_bytes(cuda, g, method, &call);
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

/* Raises *small to the scratch of each group's method, the preferred one unless another is chosen,
 * for a call of n nodes. longest: documents of the first one. */
static void plan_nodes(struct rw_cuda *cuda, uint32_t n, uint64_t longest, size_t *small)
{
    struct rw_hist_node node[RW_TUNE_ENGINE_NODES];
    for (uint32_t i = 0; i < n; i++)
        node[i] = (struct rw_hist_node){cuda->nodes.half, cuda->n_docs / 2 / RW_TUNE_ENGINE_NODES};
    node[0] = (struct rw_hist_node){cuda->nodes.half + cuda->n_docs - longest, longest};
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_group *group = &cuda->group[g];
        struct rw_hist_call call = hist_call(cuda, g, node, n, cuda->nodes.partition.d_list);
        call.d_node = node;
        const struct rw_hist_method *method = group->chosen ? group->choice.method : &rw_hist_lanes;
        const size_t bytes = method->scratch_bytes(&call);
        *small = bytes > *small ? bytes : *small;
    }
}

/* Plans scratch for two calls: as many small nodes as a call takes, and a batch with a large node,
 * whose drained cells (gpu/hist/hist_lanes.cu) may be wider. The second call is worth its scratch,
 * since with less scratch the batch would take two calls. */
static void plan_calls(struct rw_cuda *cuda, size_t *small)
{
    enum { MOST = RW_TUNE_ENGINE_NODES, LARGE = 8 };
    const int batch = cuda->host.base.batch < (int)MOST ? cuda->host.base.batch : (int)MOST;
    plan_nodes(cuda, MOST, cuda->n_docs / 2 / MOST, small);
    if (batch > 0)
        plan_nodes(cuda, (uint32_t)batch, cuda->n_docs / LARGE, small);
}

int rw_cuda_plan_histograms(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    size_t small = 0, large = 0;
    const uint64_t left = rw_cuda_left_bytes(&cuda->memory);
    const size_t most = left / 4 < RW_TUNE_HYBRID_SCRATCH ? left / 4 : RW_TUNE_HYBRID_SCRATCH;
    for (int g = 0; g < cuda->n_groups; g++)
        RW_TRY(plan_group(cuda, g, most, &small, &large));
    plan_calls(cuda, &small);
    large = large > small ? large : small;
    cuda->host.memory.part = "scratch";
    rw_host_count(&cuda->host, small);
    rw_cuda_count_most(&cuda->memory, large - small);
    cuda->least_scratch_bytes = small;
    cuda->hist_scratch_bytes = large;
    return rw_cuda_is_dry(&cuda->memory) ? RW_OK
                                         : rw_device_alloc(ctx, &cuda->d_hist_scratch, large);
}

int rw_cuda_list_candidates(struct rw_cuda *cuda)
{
    const char *forced = cuda->host.base.rules.hist;
    struct rw_hist_candidates all = {.n = 1}, *kept = &cuda->group[0].candidates;
    if (forced)
        RW_TRY(rw_hist_method_named(cuda->host.base.ctx, forced, &all.method[0]));
    else
        rw_hist_candidates_of_training(&all);
    *kept = (struct rw_hist_candidates){.favourite = all.favourite};
    for (int i = 0; i < all.n;
         i++) { /* a forced method that cannot read host-resident codes was refused */
        if (all.method[i]->reads_far || !cuda->place.is_far)
            kept->method[kept->n++] = all.method[i];
    }
    for (int g = 1; g < RW_CUDA_GROUPS; g++)
        cuda->group[g].candidates = *kept;
    return RW_OK;
}

/* Chooses a method at the root of the first tree, and again some trees later. If the second choice
 * differs, the preferred method is used: scratch was planned for it, and it leaves scratch
 * clean. */
static int choose(struct rw_cuda *cuda, int g, const struct rw_hist_call *root)
{
    struct rw_cuda_group *group = &cuda->group[g];
    if (!group->chosen) {
        RW_TRY(rw_hist_choose(cuda->device, root, &group->candidates, &group->choice));
        group->chosen = 1;
        return rw_transfer_wait(cuda->device);
    }
    const int changed =
        rw_hist_choose_again(cuda->device, root, &group->candidates, &group->choice);
    RW_TRY(changed);
    group->is_rechecked = 1;
    group->is_reported &= !changed;
    return RW_OK;
}

/* Makes scratch smaller if that is enough for the chosen methods. */
static int shrink_scratch(struct rw_cuda *cuda)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    int fits = cuda->least_scratch_bytes < cuda->hist_scratch_bytes;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_hist_call call =
            hist_call(cuda, g, cuda->node, 1, cuda->nodes.partition.d_list);
        fits &= scratch_bytes(cuda, g, cuda->group[g].choice.method, &call) <=
                cuda->least_scratch_bytes;
    }
    if (!fits)
        return RW_OK;
    RW_TRY(rw_transfer_wait(cuda->device));
    rw_device_free(cuda->d_hist_scratch);
    cuda->hist_scratch_bytes = cuda->least_scratch_bytes;
    return rw_device_alloc(ctx, &cuda->d_hist_scratch, cuda->hist_scratch_bytes);
}

/* Ends the choice after all groups have chosen: shrinks scratch and columns. Later calls do
 * nothing. */
static int settle(struct rw_cuda *cuda)
{
    if (cuda->is_settled)
        return RW_OK;
    cuda->is_settled = 1;
    cuda->memory.to_settle = 0;
    RW_TRY(shrink_scratch(cuda));
    cuda->clean_scratch = 1;
    for (int g = 0; g < cuda->n_groups; g++)
        cuda->clean_scratch &= cuda->group[g].choice.method->leaves_clean;
    if (cuda->clean_scratch) /* once, since every chosen method leaves scratch clean */
        RW_CU(cuda->host.base.ctx, cudaMemsetAsync(cuda->d_hist_scratch, 0,
                                                   cuda->hist_scratch_bytes, rw_cuda_stream(cuda)));
    return rw_cuda_settle_columns(cuda);
}

int rw_cuda_report(struct rw_engine *engine, char *text, size_t size, double *ms)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    for (int g = 0; g < cuda->n_groups; g++) {
        if (!cuda->group[g].chosen || cuda->group[g].is_reported)
            continue;
        cuda->group[g].is_reported = 1;
        const size_t at = (size_t)snprintf(text, size, "histograms: ");
        if (size > at)
            rw_hist_choice_text(&cuda->group[g].choice, cuda->set[0].matrix[g], text + at,
                                size - at);
        *ms = cuda->group[g].choice.choosing_ms;
        return 1;
    }
    return 0;
}

/* ---- histograms ---- */

/* Runs the call with results in buffers from `buffer` on. If the group's method may change, chooses
 * it first, on this call. */
static int run_group(struct rw_cuda *cuda, int g, const struct rw_hist_call *nodes, int32_t buffer)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuda_group *group = &cuda->group[g];
    const uint64_t at = (uint64_t)buffer * group->built.n_cells;
    struct rw_hist_call call = *nodes;
    call.d_count += at;
    call.d_lambda_sum = rw_hist_sums_from(call.d_lambda_sum, at, call.narrow);
    call.d_hess_sum = rw_hist_sums_from(call.d_hess_sum, at, call.narrow);
    if (rw_cuda_may_choose(cuda, group))
        RW_TRY(choose(cuda, g, &call));
    call.zero_skip = group->choice.zero_skip;
    if (group->choice.method->scratch_bytes(&call) > cuda->hist_scratch_bytes)
        return rw_fail(ctx, RW_ERR_INTERNAL, "histogram scratch is too small");
    return rw_hist_run(ctx, group->choice.method, &call, rw_cuda_stream(cuda));
}

/* Returns how many of the first n nodes of cuda->node one call can take with the scratch that there
 * is: n, n / 2, ... or 1. */
static uint32_t nodes_that_fit(const struct rw_cuda *cuda, uint32_t n, const uint32_t *d_list)
{
    for (; n > 1; n = n / 2) {
        int fits = 1;
        for (int g = 0; g < cuda->n_groups; g++) {
            const struct rw_cuda_group *group = &cuda->group[g];
            if (!group->chosen)
                continue;
            const struct rw_hist_call call = hist_call(cuda, g, cuda->node, n, d_list);
            fits &= group->choice.method->scratch_bytes(&call) <= cuda->hist_scratch_bytes;
        }
        if (fits)
            break;
    }
    return n;
}

/* Sends the first n nodes of cuda->node and their parents to the device for the next kernels. If a
 * partition of documents is pending and has room, it carries them; else a separate copy does. A
 * node of all documents without a parent is already on the device (cuda->d_whole). Then launches
 * the pending partition. */
static int send_nodes(struct rw_cuda *cuda, uint32_t n, const struct rw_hist_node **d_node,
                      const uint32_t **d_parent)
{
    void *d;
    if (n == 1 && cuda->node[0].first == 0 && cuda->node[0].n == cuda->n_docs &&
        cuda->parent[0] == RW_HIST_NO_PARENT) {
        *d_node = &cuda->d_whole->node;
        *d_parent = &cuda->d_whole->parent;
        return rw_cuda_nodes_launch(&cuda->nodes);
    }
    RW_TRY(rw_cuda_nodes_send(&cuda->nodes, cuda->node, n * sizeof(*cuda->node), cuda->parent,
                              n * sizeof(*cuda->parent), &d));
    *d_node = d;
    *d_parent = (const void *)((const struct rw_hist_node *)d + n);
    return RW_OK;
}

int rw_cuda_build(struct rw_cuda *cuda, uint32_t n, const uint32_t *d_list, int have_parents,
                  int32_t buffer, const struct rw_hist_node *d_ready)
{
    while (n > 0) {
        const uint32_t some = nodes_that_fit(cuda, n, d_list);
        const struct rw_hist_node *d_node = d_ready;
        const uint32_t *d_parent = NULL;
        if (d_ready)
            d_ready += some;
        else
            RW_TRY(send_nodes(cuda, some, &d_node, &d_parent));
        for (int g = 0; g < cuda->n_groups; g++) {
            const struct rw_cuda_cells *cells = &cuda->group[g].built;
            struct rw_hist_call call = hist_call(cuda, g, cuda->node, some, d_list);
            call.d_node = d_node;
            if (have_parents)
                call.d_parent = d_parent;
            call.parents = (struct rw_hist_pool){cells->d_count, cells->d_lambda, cells->d_hess};
            RW_TRY(run_group(cuda, g, &call, buffer));
        }
        RW_TRY(settle(cuda));
        buffer += (int32_t)some;
        n -= some;
        memmove(cuda->node, cuda->node + some, n * sizeof(*cuda->node));
        memmove(cuda->parent, cuda->parent + some, n * sizeof(*cuda->parent));
    }
    return RW_OK;
}

int rw_cuda_release(struct rw_engine *engine, const int32_t *slots, int n)
{
    for (int i = 0; i < n; i++)
        rw_cuda_of(engine)->buffer_of[slots[i]] = -1;
    return RW_OK;
}

static int move(struct rw_cuda *cuda, struct rw_cuda_moves *moves)
{
    for (int g = 0; g < cuda->n_groups && moves->n > 0; g++)
        RW_CUDA_TRY(cuda, rw_cuda_move(&cuda->group[g].cells, moves, rw_cuda_stream(cuda)));
    moves->n = 0;
    return RW_OK;
}

/* Moves useful histograms down to the buffers of useless ones, so that a batch's histograms fit in
 * consecutive buffers after them. */
static int close_up(struct rw_cuda *cuda)
{
    const int32_t n_slots = (int32_t)cuda->host.base.rules.max_slots;
    struct rw_cuda_moves moves = {.n = 0};
    int32_t n_kept = 0, hole = 0;
    int32_t *slot_of = cuda->slot_of; /* slot of each buffer */
    for (int32_t buffer = 0; buffer < cuda->n_used; buffer++)
        slot_of[buffer] = -1;
    for (int32_t slot = 0; slot < n_slots; slot++) {
        if (cuda->buffer_of[slot] < 0)
            continue;
        slot_of[cuda->buffer_of[slot]] = slot;
        n_kept++;
    }
    for (int32_t buffer = n_kept; buffer < cuda->n_used; buffer++) {
        if (slot_of[buffer] < 0)
            continue;
        while (slot_of[hole] >= 0)
            hole++;
        cuda->buffer_of[slot_of[buffer]] = hole;
        moves.from[moves.n] = (uint32_t)buffer;
        moves.to[moves.n++] = (uint32_t)hole++;
        if (moves.n == RW_CUDA_MOST_MOVES)
            RW_TRY(move(cuda, &moves));
    }
    cuda->n_used = n_kept;
    return move(cuda, &moves);
}

/* Gives the smaller child buffer n_used + i. If the histogram of the larger child is requested,
 * that child gets the buffer of the parent. Sets cuda->node[i] and cuda->parent[i]. */
static void take_buffers(struct rw_cuda *cuda, const struct rw_sibling *s, int i)
{
    cuda->node[i].first = cuda->nodes.first[s->smaller];
    cuda->node[i].n = cuda->nodes.n[s->smaller];
    cuda->parent[i] = RW_HIST_NO_PARENT;
    if (s->parent >= 0 && s->larger >= 0) {
        cuda->parent[i] = (uint32_t)cuda->buffer_of[s->parent];
        cuda->buffer_of[s->larger] = cuda->buffer_of[s->parent];
    }
    if (s->parent >= 0)
        cuda->buffer_of[s->parent] = -1;
    cuda->buffer_of[s->smaller] = cuda->n_used + i;
}

int rw_cuda_histograms(struct rw_engine *engine, const struct rw_sibling *siblings, int n)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    if (n == 0)
        return RW_OK;
    if (cuda->root_begun) {
        cuda->root_begun = 0;
        if (siblings[0].parent < 0)
            return RW_OK;
    }
    const int most = (int)(cuda->workers ? cuda->workers->most_nodes : cuda->most_nodes);
    RW_TRY(rw_cuda_far_clock(cuda, 0));
    for (int first = 0; first < n; first += most) {
        const int some = n - first < most ? n - first : most;
        const struct rw_sibling *s = siblings + first;
        if (some > cuda->n_buffers - cuda->n_used)
            RW_TRY(close_up(cuda));
        if (some > cuda->n_buffers - cuda->n_used)
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "no histogram buffer is free");
        if (cuda->workers && !rw_cuda_workers_estimates(cuda, s, (uint32_t)some))
            RW_TRY(rw_cuda_nodes_sizes(&cuda->nodes));
        for (int i = 0; i < some; i++) {
            if (s[i].parent >= 0 && cuda->buffer_of[s[i].parent] < 0)
                return rw_fail(engine->ctx, RW_ERR_INTERNAL, "a parent without a histogram");
            take_buffers(cuda, &s[i], i);
        }
        /* The root of a tree that has all documents needs no list. */
        const int root = s[0].parent < 0, whole = root && !cuda->nodes.sample.d_sampled;
        const uint32_t *d_list = whole ? NULL : cuda->nodes.partition.d_list;
        if (cuda->workers) {
            /* The order of host-resident rows waits for earlier work without calling rw_nccl_watch.
             * So this waits first. */
            if (first > 0 && cuda->place.is_far)
                RW_TRY(rw_transfer_wait(cuda->device));
            RW_TRY(rw_cuda_workers_histograms(cuda, s, (uint32_t)some, d_list));
            continue;
        }
        RW_TRY(rw_cuda_build(cuda, (uint32_t)some, d_list, !root, cuda->n_used, NULL));
        cuda->n_used += some;
    }
    return rw_cuda_far_clock(cuda, 1);
}

int rw_cuda_begin_root(struct rw_cuda *cuda, uint32_t n_features)
{
    const struct rw_sibling root = {.parent = -1, .smaller = 0, .larger = -1};
    int knows = n_features > 0 && cuda->is_settled && !cuda->nodes.sample.d_sampled &&
                !cuda->workers && !cuda->place.is_far;
    cuda->root_begun = 0;
    for (int g = 0; g < cuda->n_groups; g++)
        knows &= !rw_cuda_may_choose(cuda, &cuda->group[g]);
    if (!knows)
        return RW_OK;
    RW_TRY(rw_cuda_histograms(&cuda->host.base, &root, 1));
    cuda->root_begun = 1;
    return RW_OK;
}

/* ---- splits ---- */

void rw_cuda_take_split(const struct rw_host *host, int32_t slot, const struct rw_cuda_found *found,
                        const struct rw_code_set *set, struct rw_split *split)
{
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    split->slot = slot;
    split->column = found->column;
    split->is_set = 0;
    if (found->column < 0)
        return;
    if (rw_cuts_by_category(cuts, (uint32_t)found->column)) {
        const struct rw_category_split by_set = {.left = *set,
                                                 .missing_left = found->missing_left,
                                                 .gain = found->gain,
                                                 .n_left = found->n_left};
        *split = rw_host_set_split(host, slot, (uint32_t)found->column, &by_set);
        return;
    }
    split->feature = cuts->feature[found->column];
    split->bin = found->bin;
    split->cut = cuts->cut[cuts->offset[found->column] + found->bin];
    split->missing_left = found->missing_left;
    split->gain = found->gain;
    split->noise = rw_host_noise(host, slot, (uint32_t)found->column);
    split->n_left = found->n_left;
}

/* Sets the smallest sums that rw_side_allowed accepts. If no possible hessian of a node is enough,
 * or min_docs exceeds 32 bits, sets least_n too high for any side. */
static void set_least(struct rw_cuda_search *search, int narrow)
{
    const struct rw_split_rule *rule = &search->rule;
    struct rw_cell side = {.n = UINT64_MAX};
    int64_t low = 1, high = narrow ? INT32_MAX : INT64_MAX;
    while (rule->newton && low < high) {
        side.hess = low + (high - low) / 2;
        if (rw_side_allowed(rule, &side))
            high = side.hess;
        else
            low = side.hess + 1;
    }
    side.hess = search->least_hess = low;
    search->least_n = !rw_side_allowed(rule, &side) || rule->min_docs > UINT32_MAX ? UINT32_MAX
                      : rule->min_docs > 1 ? (uint32_t)rule->min_docs
                                           : 1;
}

/* Launches searches of all features, categorical ones last (cu_category.cu explains why). Rough
 * scores are stored after the blocks' results. There is room, since a rough search has one block
 * per node in place of two or more. */
static int launch_search(struct rw_cuda *cuda, struct rw_cuda_search *search)
{
    uint32_t first_block = 0;
    search->n_blocks = cuda->search.n_sets;
    for (int g = 0; g < cuda->n_groups; g++)
        search->n_blocks += rw_cuda_search_blocks(search, &cuda->group[g].cells);
    search->d_score = (float *)(void *)(search->d_best + (size_t)search->n * search->n_blocks);
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_cells *cells = &cuda->group[g].cells;
        const int is_rough = rw_cuda_is_rough(search, cells);
        RW_CUDA_TRY(cuda, rw_cuda_search_group(search, cells, first_block, rw_cuda_stream(cuda)));
        first_block += rw_cuda_search_blocks(search, cells);
        search->d_score += is_rough ? (size_t)search->n * cells->n_features : 0;
    }
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_categories *categories = &cuda->group[g].categories;
        if (categories->n == 0)
            continue;
        RW_CUDA_TRY(cuda, rw_cuda_search_categories(search, &cuda->group[g].cells, categories,
                                                    first_block, rw_cuda_stream(cuda)));
        first_block += categories->n;
    }
    return RW_OK;
}

/* Sends the set of features that may split each of these slots, if such sets are needed. */
static int send_allowed(struct rw_cuda *cuda, const int32_t *slots, uint32_t n,
                        struct rw_cuda_search *search)
{
    const size_t bytes = rw_cuda_allowed_bytes(cuda), words = bytes / sizeof(uint32_t);
    struct rw_cuda_piece piece;
    if (bytes == 0)
        return RW_OK;
    RW_TRY(rw_cuda_room(&cuda->replies, n * bytes, &piece));
    uint32_t *to = piece.host;
    for (uint32_t i = 0; i < n; i++)
        memcpy(to + i * words, cuda->host.allowed + (size_t)slots[i] * words, bytes);
    search->d_allowed = piece.d;
    search->n_allowed_words = (uint32_t)words;
    search->noise_word = cuda->host.base.rules.split.gain_noise > 0.0
                             ? (uint32_t)rw_noise_word(&cuda->host.base)
                             : 0;
    return rw_cuda_send(&cuda->replies, &piece, n * bytes);
}

static int begin_search(struct rw_cuda *cuda, const int32_t *slots, uint32_t n)
{
    struct rw_ctx *ctx = cuda->host.base.ctx;
    struct rw_cuda_search *search = &cuda->search;
    search->rule = cuda->host.base.split_rule;
    rw_cuda_replies_number(&cuda->replies, &cuda->search);
    search->n = n;
    for (uint32_t i = 0; i < n; i++) {
        if (cuda->buffer_of[slots[i]] < 0)
            return rw_fail(ctx, RW_ERR_INTERNAL, "a split without a histogram");
        search->buffer[i] = (uint32_t)cuda->buffer_of[slots[i]];
    }
    set_least(search, rw_cuda_has_narrow_cells(cuda));
    RW_TRY(send_allowed(cuda, slots, n, search));
    return launch_search(cuda, search);
}

static int has_features(const struct rw_cuda *cuda)
{
    for (int g = 0; g < cuda->n_groups; g++) {
        if (cuda->group[g].cells.n_features > 0)
            return 1;
    }
    return 0; /* then no kernel would reply */
}

int rw_cuda_ask_splits(struct rw_engine *engine, const int32_t *slots, int n)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    cuda->n_searched = 0;
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    if (n == 0 || !has_features(cuda))
        return RW_OK;
    cuda->n_searched = (uint32_t)n < cuda->most_searched ? (uint32_t)n : cuda->most_searched;
    return begin_search(cuda, slots, cuda->n_searched);
}

int rw_cuda_best_splits(struct rw_engine *engine, const int32_t *slots, int n, struct rw_split *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    uint32_t some;
    if (engine->rules.symmetric)
        return rw_cuda_best_level(engine, slots, n, out);
    const int searches = has_features(cuda);
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    for (int first = 0; first < n; first += (int)some) {
        some = (uint32_t)(n - first);
        some = some < cuda->most_searched ? some : cuda->most_searched;
        if (cuda->n_searched == 0 && searches)
            RW_TRY(begin_search(cuda, slots + first, some));
        else if (!searches)
            rw_cuda_replies_number(&cuda->replies, &cuda->search);
        else if (cuda->n_searched != some)
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "splits of the wrong slots");
        cuda->n_searched = 0;
        RW_TRY(searches ? rw_cuda_replies_await(&cuda->replies, some) : RW_OK);
        for (uint32_t i = 0; i < some; i++) {
            struct rw_split *split = &out[(uint32_t)first + i];
            const int32_t slot = slots[(uint32_t)first + i];
            const struct rw_code_set *set = cuda->replies.set ? cuda->search.reply_set + i : NULL;
            struct rw_cuda_found found = {.column = -1};
            if (searches)
                found = rw_cuda_found_of(cuda->search.reply, i);
            rw_cuda_take_split(&cuda->host, slot, &found, set, split);
        }
        if (cuda->peers)
            RW_TRY(rw_cuda_peers_best(cuda, slots + first, some, out + first));
    }
    return RW_OK;
}
