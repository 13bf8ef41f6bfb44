/* The engine for GPUs (engine_cuda.h), with its table of operations. Sends small data and reads
 * answers, starts trees, divides the documents of nodes, adds up the sums of leaves, keeps and
 * measures scores, and caches codes for the next training. */
#include "gpu/engine/engine_cuda.h"

#include "base/rng.h"

/* ---- the start of a tree ---- */

/* Samples the tree's features, sets root->n_features to their number, and sends their flags, group
 * by group, unless these are the same for all trees. */
static int sample_features(struct rw_cuda *cuda, uint32_t tree, struct rw_root *root)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint32_t n_features = cuda->host.base.cuts->n_features;
    struct rw_cuda_piece piece;
    root->n_features = n_features;
    if (cuda->knows_features)
        return RW_OK;
    RW_TRY(rw_cuda_room(&cuda->replies, 2 * (size_t)n_features, &piece));
    uint8_t *kept = piece.host, *drawn = kept + n_features;
    rw_host_draw_features(&cuda->host.base, tree, drawn);
    if (cuda->kept.drawn)
        memcpy(cuda->kept.drawn, drawn, n_features);
    root->n_features = 0;
    for (int g = 0; g < cuda->n_groups; g++) {
        for (uint32_t f = 0; f < cuda->group[g].n_features; f++)
            root->n_features += *kept++ = drawn[cuda->group[g].column[f]];
    }
    cuda->knows_features = root->n_features == n_features && rules->feature_threshold > UINT32_MAX;
    piece.d = cuda->d_feature_sampled; /* which, unlike the stage, keeps them for the tree */
    return rw_cuda_send(&cuda->replies, &piece, n_features);
}

/* Samples queries, or documents of the queries sampled so far. */
static int draw_sample(struct rw_cuda *cuda, uint32_t tree, int of_docs)
{
    const struct rw_engine *engine = &cuda->host.base;
    const struct rw_engine_rules *rules = &engine->rules;
    struct rw_cuda_sample *sample = &cuda->nodes.sample;
    sample->tree = tree;
    sample->threshold = of_docs ? rules->doc_threshold : rules->query_threshold;
    sample->first = of_docs ? engine->first_doc : engine->first_query;
    RW_CUDA_TRY(cuda, rw_cuda_draw(sample, of_docs, rw_cuda_stream(cuda)));
    RW_TRY(rw_cuda_workers_keep_one(cuda, sample->first));
    RW_CUDA_TRY(cuda, rw_cuda_finish_sample(sample, of_docs, rw_cuda_stream(cuda)));
    return RW_OK;
}

/* Returns 1 if lambdas can move with the documents, which requires that the chosen method of each
 * group reads them by position. maybe: also 1 if a group may do so after it has chosen a method. */
static int takes_moved(const struct rw_cuda *cuda, int maybe)
{
    int takes = cuda->nodes.d_moved != NULL;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_group *group = &cuda->group[g];
        takes &= (maybe && rw_cuda_may_choose(cuda, group)) ||
                 (group->chosen && group->choice.method->by_position);
    }
    return takes;
}

/* Samples documents, if the rules sample them; computes and quantises lambdas; adds up the root's
 * sums; and, if the tree has a sample, lists its documents. */
static int make_integers(struct rw_cuda *cuda, uint32_t tree)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const int some_docs = rules->doc_threshold <= UINT32_MAX;
    const int of_queries = rules->objective && rules->objective->device != RW_OBJECTIVE_RESIDUALS;
    const struct rw_cuda_lambda_run run = {.d_scores = cuda->set[0].d_score,
                                           .d_sampled = cuda->nodes.sample.d_sampled,
                                           .d_pair = cuda->quantise.d_pair,
                                           .d_info = &cuda->quantise.d_begin->info};
    if (some_docs && !of_queries)
        RW_TRY(draw_sample(cuda, tree, 1));
    rw_cuda_lambda_set_tree(cuda->lambda, tree, cuda->host.base.first_doc);
    RW_TRY(rw_cuda_lambdas_run(cuda->lambda, &run, rw_cuda_stream(cuda)));
    if (some_docs && of_queries) { /* pairs need whole queries */
        RW_TRY(draw_sample(cuda, tree, 1));
        RW_TRY(rw_cuda_lambdas_largest(cuda->lambda, &run, rw_cuda_stream(cuda)));
    }
    cuda->quantise.tree = tree;
    cuda->quantise.first_doc = cuda->host.base.first_doc;
    RW_CUDA_TRY(cuda, rw_cuda_quantise(&cuda->quantise, rw_cuda_stream(cuda)));
    return cuda->nodes.sample.d_sampled ? rw_cuda_nodes_list(&cuda->nodes) : RW_OK;
}

static int cuda_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_root root = {.n_features = 0};
    cuda->n_trees++;
    RW_TRY(rw_cuda_workers_ready(cuda));
    rw_cuda_nodes_begin(&cuda->nodes);
    cuda->reads = (struct rw_far_reads){.bytes = 0};
    cuda->is_timed = 0;
    rw_cuda_fade_columns(cuda);
    RW_TRY(sample_features(cuda, tree, &root));
    if (cuda->nodes.sample.d_sampled)
        RW_TRY(draw_sample(cuda, tree, 0));
    RW_TRY(rw_cuda_keep_columns(cuda));
    RW_TRY(make_integers(cuda, tree));
    RW_TRY(rw_cuda_ask(&cuda->replies, cuda->quantise.d_begin, sizeof(*cuda->quantise.d_begin), 0));
    for (uint32_t s = 0; s < engine->rules.max_slots; s++)
        cuda->buffer_of[s] = -1;
    cuda->n_used = 0;
    cuda->n_searched = 0;
    RW_TRY(rw_cuda_begin_root(cuda, root.n_features));
    RW_TRY(rw_cuda_take(&cuda->replies));
    struct rw_cuda_begin begin = *(const struct rw_cuda_begin *)cuda->replies.answer;
    RW_TRY(rw_cuda_lambda_check(cuda->lambda, &begin.info));
    cuda->nodes.n[0] = (uint32_t)begin.sum.n;
    RW_TRY(rw_cuda_workers_begin(cuda, &begin));
    root.sum = begin.sum;
    root.lambda_exponent = begin.info.lambda_exponent;
    root.hess_exponent = begin.info.hessian_exponent;
    root.lambda_shift = rw_quantise_shift((int64_t)begin.info.largest_lambda, engine->rules.bits);
    if (engine->rules.newton)
        root.hess_shift =
            rw_quantise_shift((int64_t)begin.info.largest_hessian, engine->rules.bits);
    rw_engine_set_split_rule(engine, &root, &begin.quantised);
    *out = root;
    if (cuda->nodes.sample.d_sampled &&
        takes_moved(cuda, 1)) /* by position, of the sampled documents */
        RW_CUDA_TRY(cuda, rw_cuda_gather(cuda->nodes.partition.d_list, cuda->nodes.n[0],
                                         cuda->quantise.d_lambda_q, cuda->quantise.d_hess_q,
                                         cuda->nodes.partition.moved, cuda->nodes.d_moved,
                                         rw_cuda_stream(cuda)));
    return RW_OK;
}

static int cuda_set_gradients(struct rw_engine *engine, const double *gradients,
                              const double *hessians)
{
    return rw_cuda_lambda_set_gradients(rw_cuda_of(engine)->lambda, gradients, hessians, 0);
}

static int cuda_set_lambdas(struct rw_engine *engine, const int64_t *lambda, const int64_t *hessian)
{
    return rw_cuda_lambda_set_gradients(rw_cuda_of(engine)->lambda, lambda, hessian, 1);
}

/* ---- partition ---- */

static int cuda_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_nodes *nodes = &cuda->nodes;
    RW_TRY(rw_cuda_nodes_sizes(nodes));
    if (nodes->moves < 0)
        nodes->moves = takes_moved(cuda, 0); /* the first histograms are complete */
    for (int i = 0; i < n; i++) {
        const uint32_t column = (uint32_t)splits[i].column;
        RW_TRY(rw_cuda_use_column(cuda, column, nodes->n[splits[i].slot]));
        RW_TRY(rw_cuda_nodes_split(nodes, &splits[i], rw_cuts_n_bins(engine->cuts, column),
                                   &cuda->split_column[column]));
    }
    return RW_OK;
}

/* ---- leaves and scores ---- */

static int cuda_start_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n_leaves)
{
    return rw_cuda_nodes_start_sums(&rw_cuda_of(engine)->nodes, leaf_slot, n_leaves);
}

static int cuda_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n_leaves,
                          struct rw_sum *sums)
{
    struct rw_cuda_nodes *nodes = &rw_cuda_of(engine)->nodes;
    if (n_leaves == 0)
        return RW_OK;
    if (nodes->n_pending == 0)
        RW_TRY(rw_cuda_nodes_start_sums(nodes, leaf_slot, n_leaves));
    return rw_cuda_nodes_take_sums(nodes, n_leaves, sums);
}

/* Returns the number of words of a node's set; 0 without a set. */
static uint32_t set_words(const struct rw_coded_node *node)
{
    return node->set ? rw_set_words(node->missing_code) : 0;
}

/* Copies the sets to `to`, one after another. Each node's set then points to where d will have the
 * copy, on the device. */
static void place_sets(struct rw_coded_node *nodes, size_t n_nodes, uint32_t *to, const uint32_t *d)
{
    for (size_t k = 0; k < n_nodes; k++) {
        const uint32_t n = set_words(&nodes[k]);
        if (n == 0)
            continue;
        memcpy(to, nodes[k].set, n * sizeof(*to));
        nodes[k].set = d;
        to += n;
        d += n;
    }
}

/* Sends a finished tree to the device, in the form that walks read: the nodes of cuda->coded, their
 * sets, and the leaves. The nodes come before sets and leaves, since they need an alignment of 8
 * bytes. has_columns: also sends cuda->walk_column, before the nodes. */
static int send_tree(struct rw_cuda *cuda, const struct rw_tree *tree, int has_columns,
                     struct rw_cuda_walk *walk)
{
    const size_t n = (size_t)tree->n_leaves, leaf_bytes = n * sizeof(*tree->leaf);
    const size_t node_bytes = (n - 1) * sizeof(*cuda->coded);
    const size_t column_bytes =
        has_columns ? cuda->host.base.info.n_features * sizeof(*cuda->walk_column) : 0;
    size_t set_bytes = 0;
    for (size_t k = 0; tree->set && k < n - 1; k++)
        set_bytes += set_words(&cuda->coded[k]) * sizeof(uint32_t);
    const size_t at_sets = column_bytes + node_bytes, at_leaves = at_sets + set_bytes;
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_room(&cuda->replies, at_leaves + leaf_bytes, &piece));
    char *to = piece.host;
    const char *from = piece.d;
    if (set_bytes)
        place_sets(cuda->coded, n - 1, (void *)(to + at_sets), (const void *)(from + at_sets));
    if (has_columns) {
        memcpy(to, cuda->walk_column, column_bytes);
        walk->d_column = piece.d;
    }
    memcpy(to + column_bytes, cuda->coded, node_bytes);
    memcpy(to + at_leaves, tree->leaf, leaf_bytes);
    walk->d_node = (const void *)(from + column_bytes);
    walk->d_leaf = (const void *)(from + at_leaves);
    walk->n_leaves = (uint32_t)n;
    walk->by_set = set_bytes > 0;
    return rw_cuda_send(&cuda->replies, &piece, at_leaves + leaf_bytes);
}

/* Lays out the columns of the features that a tree splits, one after another in d_walk. Returns the
 * number of documents per chunk. */
static uint32_t lay_out_walk(struct rw_cuda *cuda, int set, int n_nodes)
{
    const struct rw_coded_node *node = cuda->coded;
    struct rw_cuda_column *column = cuda->walk_column;
    const uint32_t n_features = cuda->host.base.info.n_features;
    uint64_t doc_bytes = 0;
    memset(column, 0, n_features * sizeof(*column));
    for (int i = 0; i < n_nodes; i++) {
        struct rw_cuda_column *of = &column[node[i].column];
        if (of->bytes)
            continue;
        of->bytes = cuda->set[set].far.at[node[i].column].bytes;
        of->lanes = 1;
        of->bits = 8 * of->bytes;
        doc_bytes += of->bytes;
    }
    uint64_t docs = doc_bytes ? cuda->walk_bytes / doc_bytes : UINT32_MAX;
    docs = docs < UINT32_MAX ? docs : UINT32_MAX;
    docs -= docs % RW_CUDA_WALK_ALIGNED;
    char *at = cuda->d_walk;
    for (uint32_t f = 0; f < n_features; f++) {
        column[f].d_word = at;
        at += docs * column[f].bytes;
    }
    return (uint32_t)docs;
}

/* Sends the codes of documents [first, first + n) in the columns that lay_out_walk laid out. */
static int send_chunk(struct rw_cuda *cuda, int set, uint32_t first, uint32_t n)
{
    for (uint32_t f = 0; f < cuda->host.base.info.n_features; f++) {
        const struct rw_cuda_column *to = &cuda->walk_column[f];
        const size_t bytes = (size_t)n * to->bytes;
        const char *from = cuda->set[set].far.at[f].d_word;
        if (!bytes)
            continue;
        cuda->reads.bytes += bytes;
        RW_TRY(rw_transfer_write_pinned(cuda->device, (void *)(uintptr_t)to->d_word,
                                        from + (size_t)first * to->bytes, bytes));
    }
    return RW_OK;
}

/* Adds the tree to the scores of a set's documents. It skips documents with d_skip not 0; d_skip
 * NULL: skips no document. Codes in host memory are sent chunk by chunk. */
static int add_walk(struct rw_cuda *cuda, int set, const struct rw_tree *tree,
                    const uint8_t *d_skip)
{
    const int is_far = cuda->set[set].is_far;
    const uint32_t n_docs = cuda->host.base.n_docs[set];
    struct rw_cuda_walk walk = {.d_column = cuda->set[set].d_column};
    RW_TRY(rw_host_code_tree(&cuda->host, tree, cuda->coded));
    const uint32_t most = is_far ? lay_out_walk(cuda, set, tree->n_leaves - 1) : n_docs;
    RW_TRY(send_tree(cuda, tree, is_far, &walk));
    for (uint32_t first = 0; first < n_docs; first += walk.n_docs) {
        walk.n_docs = n_docs - first < most ? n_docs - first : most;
        walk.d_skip = d_skip ? d_skip + first : NULL;
        walk.d_score = cuda->set[set].d_score + first;
        if (is_far)
            RW_TRY(send_chunk(cuda, set, first, walk.n_docs));
        RW_CUDA_TRY(cuda, rw_cuda_add_walk(&walk, rw_cuda_stream(cuda)));
    }
    return RW_OK;
}

static int cuda_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                         const int32_t *leaf_slot)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    if (set > 0 || !rw_cuda_nodes_have_sums(&cuda->nodes, leaf_slot, tree->n_leaves))
        return add_walk(cuda, set, tree, NULL);
    /* The leaf of each sampled document is known. */
    const size_t bytes = (size_t)tree->n_leaves * sizeof(*tree->leaf);
    RW_TRY(rw_cuda_room(&cuda->replies, bytes, &piece));
    memcpy(piece.host, tree->leaf, bytes);
    RW_TRY(rw_cuda_send(&cuda->replies, &piece, bytes));
    RW_CUDA_TRY(cuda, rw_cuda_add_values(cuda->nodes.leaf_sums.d_leaf_of, piece.d,
                                         cuda->nodes.sample.d_sampled, cuda->n_docs,
                                         cuda->set[0].d_score, rw_cuda_stream(cuda)));
    return cuda->nodes.sample.d_sampled ? add_walk(cuda, 0, tree, cuda->nodes.sample.d_sampled)
                                        : RW_OK;
}

static int cuda_read_scores(struct rw_engine *engine, int set, double *scores)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    return rw_transfer_read(cuda->device, scores, cuda->set[set].d_score,
                            engine->n_docs[set] * sizeof(*scores));
}

static int cuda_set_scores(struct rw_engine *engine, int set, const double *scores)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    return rw_transfer_write(cuda->device, cuda->set[set].d_score, scores,
                             engine->n_docs[set] * sizeof(*scores));
}

static int cuda_measure(struct rw_engine *engine, int set, const struct rw_metric_plan *plan)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_metrics **metrics = &cuda->set[set].metrics;
    if (*metrics)
        engine->info.bytes -= rw_cuda_metrics_bytes(*metrics);
    rw_cuda_metrics_free(*metrics);
    *metrics = NULL;
    RW_TRY(rw_cuda_metrics_new(engine->ctx, cuda->device, plan, metrics));
    engine->info.bytes += rw_cuda_metrics_bytes(*metrics);
    return RW_OK;
}

static int cuda_metrics(struct rw_engine *engine, int set, struct rw_metric_result *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_metrics *metrics = cuda->set[set].metrics;
    RW_TRY(rw_cuda_metrics_run(metrics, cuda->set[set].d_score, rw_cuda_stream(cuda)));
    return rw_cuda_metrics_read(metrics, out);
}

static int cuda_metric_by_query(struct rw_engine *engine, int set, double *per_query)
{
    return rw_cuda_metrics_read_queries(rw_cuda_of(engine)->set[set].metrics, per_query);
}

static int cuda_read_integers(struct rw_engine *engine, int64_t *lambda, int64_t *hessian,
                              int32_t *lambda_q, int32_t *hess_q, uint8_t *sampled)
{
    const struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_ctx *ctx = engine->ctx;
    const size_t n = engine->n_docs[0];
    RW_FREED struct rw_lambda_pair *pair = NULL;
    RW_TRY(RW_NEW(ctx, pair, n));
    RW_TRY(rw_transfer_read(cuda->device, pair, cuda->quantise.d_pair, n * sizeof(*pair)));
    for (size_t i = 0; i < n; i++) {
        lambda[i] = pair[i].lambda;
        hessian[i] = pair[i].hessian;
    }
    memset(sampled, 1, n);
    if (cuda->nodes.sample.d_sampled)
        RW_TRY(rw_transfer_read(cuda->device, sampled, cuda->nodes.sample.d_sampled, n));
    if (cuda->quantise.d_hess_q)
        RW_TRY(rw_transfer_read(cuda->device, hess_q, cuda->quantise.d_hess_q, 4 * n));
    return rw_transfer_read(cuda->device, lambda_q, cuda->quantise.d_lambda_q, 4 * n);
}

/* ---- the engine ---- */

static int cuda_alloc(struct rw_engine *engine, void **out, size_t bytes)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_arena *shared = cuda->memory.shared;
    return rw_device_alloc_in(engine->ctx, shared ? shared : &cuda->host.memory.arena, out, bytes);
}

static int cuda_use_thread(struct rw_engine *engine)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    RW_CUDA_TRY(cuda, cudaSetDevice(cuda->device->number));
    return RW_OK;
}

static void cuda_close(struct rw_engine *engine)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    rw_cuda_workers_part(cuda); /* after a failure, the device may be waiting for other workers */
    if (cuda->device)
        RW_CU_MAY_FAIL(cudaStreamSynchronize(cuda->device->stream));
    for (int g = 0; g < cuda->n_groups && cuda->codes && !cuda->is_settled; g++) {
        if (cuda->set[0].matrix[g] && cuda->set[0].matrix[g]->d_column)
            rw_cuda_codes_drop_columns(cuda->codes, g);
    }
    rw_cuda_unload(cuda);
    rw_host_release(&cuda->host);
    rw_cuda_peers_leave(cuda);
    rw_device_close(cuda->device);
    rw_cuda_codes_leave(cuda);
    rw_mem_free(cuda);
}

static const struct rw_engine_ops cuda_ops = {
    .name = "cuda",
    .all_objectives = 1,
    .close = cuda_close,
    .load = rw_cuda_load,
    .set_gradients = cuda_set_gradients,
    .set_lambdas = cuda_set_lambdas,
    .begin_tree = cuda_begin_tree,
    .allow = rw_host_allow,
    .histograms = rw_cuda_histograms,
    .release = rw_cuda_release,
    .start_splits = rw_cuda_ask_splits,
    .best_splits = rw_cuda_best_splits,
    .partition = cuda_partition,
    .start_leaf_sums = cuda_start_leaf_sums,
    .leaf_sums = cuda_leaf_sums,
    .add_tree = cuda_add_tree,
    .read_scores = cuda_read_scores,
    .set_scores = cuda_set_scores,
    .code_sums = rw_cuda_code_sums,
    .measure = {cuda_measure, cuda_metrics, cuda_metric_by_query},
    .read_integers = cuda_read_integers,
    .use_thread = cuda_use_thread,
    .report = rw_cuda_report,
    .far_reads = rw_cuda_far_reads,
    .plan = {rw_cuda_plan, rw_cuda_tree_ms},
};

int rw_engine_open_cuda(struct rw_ctx *ctx, int device, struct rw_engine **out)
{
    struct rw_cuda *cuda;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, cuda, 1));
    cuda->host.base.ctx = ctx;
    cuda->host.base.ops = &cuda_ops;
    cuda->host.memory.alloc = cuda_alloc;
    if (device == RW_DEVICE_OF_WORKER) { /* a GPU for each worker, if there are enough */
        struct rw_cuda_facts facts;
        rw_cuda_find(&facts);
        device = facts.n_devices > 0 ? rw_local_worker(ctx) % facts.n_devices : 0;
    }
    const int status = rw_device_open(ctx, device, &cuda->device);
    if (status < 0) {
        rw_mem_free(cuda);
        return status;
    }
    cuda->memory.host = &cuda->host;
    cuda->memory.device = cuda->device;
    cuda->host.base.batch = cuda->device->tuning->growth_batch;
    *out = &cuda->host.base;
    return RW_OK;
}
