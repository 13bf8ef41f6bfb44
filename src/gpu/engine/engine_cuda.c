/* The engine for GPUs (engine_cuda.h): its table of operations, the start of trees, partitions and
 * leaves, scores and metrics. */
#include "gpu/engine/engine_cuda.h"

#include "base/rng.h"

/* ---- the start of a tree ---- */

/* Samples the tree's features, sets root->n_features to their number, and sends their flags, unless
 * these are the same for all trees. */
static int sample_features(struct rw_cuda *cuda, uint32_t tree, struct rw_root *root)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const uint32_t n_features = cuda->host.base.cuts->n_features;
    struct rw_cuda_piece piece;
    root->n_features = n_features;
    if (cuda->features.are_known)
        return RW_OK;
    RW_TRY(rw_cuda_room(&cuda->replies, 2 * (size_t)n_features, &piece));
    uint8_t *sampled = piece.host, *drawn = sampled + n_features;
    rw_host_draw_features(&cuda->host.base, tree, drawn);
    root->n_features = 0;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_group *group = &cuda->codes.shared->group[g];
        for (uint32_t f = 0; f < group->spec.n_features; f++)
            root->n_features += *sampled++ = drawn[group->column[f]];
    }
    cuda->features.are_known =
        root->n_features == n_features && rules->feature_threshold > UINT32_MAX;
    piece.d = cuda->features.d_sampled; /* which, unlike the stage, keeps them for the tree */
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
    RW_CUDA_LAUNCH(cuda, rw_cuda_draw, sample, of_docs);
    RW_TRY(rw_cuda_workers_keep_one(&cuda->workers, sample));
    RW_CUDA_LAUNCH(cuda, rw_cuda_finish_sample, sample, of_docs);
    return RW_OK;
}

/* Samples documents if there are rules for that, computes and quantises lambdas, adds up the root's
 * sums, and lists the documents of a sample. */
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
    RW_TRY(rw_cuda_lambdas_run(cuda->lambda, &run, tree, cuda->host.base.first_doc,
                               cuda->device->stream));
    if (some_docs && of_queries) { /* pairs need whole queries */
        RW_TRY(draw_sample(cuda, tree, 1));
        RW_TRY(rw_cuda_lambdas_largest(cuda->lambda, cuda->device->stream));
    }
    cuda->quantise.tree = tree;
    cuda->quantise.first_doc = cuda->host.base.first_doc;
    RW_CUDA_LAUNCH(cuda, rw_cuda_quantise, &cuda->quantise);
    return cuda->nodes.sample.d_sampled ? rw_cuda_nodes_list(&cuda->nodes) : RW_OK;
}

static int cuda_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_nodes *nodes = &cuda->nodes;
    struct rw_root root = {.n_features = 0};
    RW_TRY(rw_cuda_workers_ready(&cuda->workers));
    rw_cuda_nodes_begin(nodes);
    memset(cuda->buffers.of, 0xff, engine->rules.max_slots * sizeof(*cuda->buffers.of)); /* -1 */
    cuda->buffers.n_used = 0;
    cuda->n_searched = 0;
    cuda->codes.reads = (struct rw_far_reads){.bytes = 0};
    cuda->codes.is_timed = 0;
    rw_cuda_columns_begin(&cuda->codes);
    RW_TRY(sample_features(cuda, tree, &root));
    if (nodes->sample.d_sampled)
        RW_TRY(draw_sample(cuda, tree, 0));
    RW_TRY(make_integers(cuda, tree));
    RW_TRY(rw_cuda_ask(&cuda->replies, cuda->quantise.d_begin, sizeof(*cuda->quantise.d_begin), 0));
    RW_TRY(rw_cuda_begin_root(cuda, root.n_features));
    RW_TRY(rw_cuda_take(&cuda->replies));
    struct rw_cuda_begin begin = *(const struct rw_cuda_begin *)cuda->replies.answer;
    RW_TRY(rw_cuda_lambda_check(cuda->lambda, &begin.info));
    nodes->n[0] = (uint32_t)begin.sum.n;
    RW_TRY(rw_comm_sum(engine->ctx, (uint64_t *)(void *)&begin,
                       offsetof(struct rw_cuda_begin, info) / sizeof(begin.sum.n)));
    nodes->all_n[0] = (uint32_t)begin.sum.n;
    root.sum = begin.sum;
    root.lambda_exponent = begin.info.lambda_exponent;
    root.hess_exponent = begin.info.hessian_exponent;
    root.lambda_shift = rw_quantise_shift((int64_t)begin.info.largest_lambda, engine->rules.bits);
    if (engine->rules.newton)
        root.hess_shift =
            rw_quantise_shift((int64_t)begin.info.largest_hessian, engine->rules.bits);
    rw_engine_set_split_rule(engine, &root, &begin.quantised);
    *out = root;
    /* Of the sampled documents. In the first tree, methods that can read them may be chosen. */
    if (nodes->sample.d_sampled && nodes->d_moved && (cuda->read_tiles || !cuda->codes.is_settled))
        RW_CUDA_LAUNCH(cuda, rw_cuda_gather, nodes->partition.d_list, nodes->n[0],
                       cuda->quantise.d_lambda_q, cuda->quantise.d_hess_q, nodes->partition.moved,
                       nodes->d_moved);
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

/* ---- partitions and leaves ---- */

static int cuda_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_nodes *nodes = &cuda->nodes;
    RW_TRY(rw_cuda_nodes_sizes(nodes));
    if (nodes->moves < 0)
        nodes->moves = nodes->d_moved && cuda->read_tiles; /* the first histograms are complete */
    for (int i = 0; i < n; i++) {
        const uint32_t column = (uint32_t)splits[i].column;
        RW_TRY(rw_cuda_columns_use(&cuda->codes, nodes, column, nodes->n[splits[i].slot]));
        RW_TRY(rw_cuda_nodes_split(nodes, &splits[i], rw_cuts_n_bins(engine->cuts, column),
                                   &cuda->codes.split_column[column]));
    }
    return RW_OK;
}

static int cuda_start_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n_leaves)
{
    return rw_cuda_nodes_start_sums(&rw_cuda_of(engine)->nodes, leaf_slot, n_leaves);
}

static int cuda_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n_leaves,
                          struct rw_sum *sums)
{
    return rw_cuda_nodes_take_sums(&rw_cuda_of(engine)->nodes, leaf_slot, n_leaves, sums);
}

/* ---- scores ---- */

/* Sends a finished tree for walks: the columns of walk chunks, if any, the nodes of cuda->coded,
 * their sets, and the leaves. Nodes come before sets and leaves, for an alignment of 8 bytes. */
static int send_tree(struct rw_cuda *cuda, const struct rw_tree *tree,
                     const struct rw_cuda_column *column, struct rw_cuda_walk *walk)
{
    const size_t n = (size_t)tree->n_leaves, leaf_bytes = n * sizeof(*tree->leaf);
    const size_t node_bytes = (n - 1) * sizeof(*cuda->coded);
    const size_t column_bytes = column ? cuda->codes.n_features * sizeof(*column) : 0;
    const size_t at_sets = column_bytes + node_bytes;
    const size_t most_set_bytes = tree->set ? (n - 1) * sizeof(struct rw_code_set) : 0;
    size_t at = at_sets;
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_room(&cuda->replies, at_sets + most_set_bytes + leaf_bytes, &piece));
    char *to = piece.host;
    for (size_t k = 0; tree->set && k < n - 1; k++) { /* each set with the words of its codes */
        struct rw_coded_node *node = &cuda->coded[k];
        const size_t bytes = node->set ? rw_set_words(node->missing_code) * sizeof(uint32_t) : 0;
        if (bytes == 0)
            continue;
        memcpy(to + at, node->set, bytes);
        node->set = (const void *)((const char *)piece.d + at);
        at += bytes;
    }
    if (column) {
        memcpy(to, column, column_bytes);
        walk->d_column = piece.d;
    }
    memcpy(to + column_bytes, cuda->coded, node_bytes);
    memcpy(to + at, tree->leaf, leaf_bytes);
    walk->d_node = (const void *)((const char *)piece.d + column_bytes);
    walk->d_leaf = (const void *)((const char *)piece.d + at);
    walk->n_leaves = (uint32_t)n;
    walk->by_set = at > at_sets;
    return rw_cuda_send(&cuda->replies, &piece, at + leaf_bytes);
}

/* Adds the tree to the scores of a set's documents, except those with d_skip not 0; NULL: none.
 * Sends codes in host memory chunk by chunk. */
static int add_walk(struct rw_cuda *cuda, int set, const struct rw_tree *tree,
                    const uint8_t *d_skip)
{
    const struct rw_cuda_set *codes = &cuda->codes.set[set];
    const uint32_t n_docs = cuda->host.base.n_docs[set];
    struct rw_cuda_walk walk = {.d_column = codes->d_column};
    uint32_t most = n_docs;
    RW_TRY(rw_host_code_tree(&cuda->host, tree, cuda->coded));
    if (codes->is_far)
        most = rw_cuda_far_lay_out(&cuda->codes, set, cuda->coded, tree->n_leaves - 1);
    RW_TRY(send_tree(cuda, tree, codes->is_far ? cuda->codes.walk_column : NULL, &walk));
    for (uint32_t first = 0; first < n_docs; first += walk.n_docs) {
        walk.n_docs = n_docs - first < most ? n_docs - first : most;
        walk.d_skip = d_skip ? d_skip + first : NULL;
        walk.d_score = cuda->set[set].d_score + first;
        if (codes->is_far)
            RW_TRY(rw_cuda_far_send(&cuda->codes, set, first, walk.n_docs));
        RW_CUDA_LAUNCH(cuda, rw_cuda_add_walk, &walk);
    }
    return RW_OK;
}

static int cuda_add_tree(struct rw_engine *engine, int set, const struct rw_tree *tree,
                         const int32_t *leaf_slot)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const uint8_t *d_sampled = cuda->nodes.sample.d_sampled;
    const size_t bytes = (size_t)tree->n_leaves * sizeof(*tree->leaf);
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_nodes_launch(&cuda->nodes));
    if (set > 0 || !rw_cuda_nodes_have_sums(&cuda->nodes, leaf_slot, tree->n_leaves))
        return add_walk(cuda, set, tree, NULL);
    /* The leaf of each sampled document is known. */
    RW_TRY(rw_cuda_room(&cuda->replies, bytes, &piece));
    memcpy(piece.host, tree->leaf, bytes);
    RW_TRY(rw_cuda_send(&cuda->replies, &piece, bytes));
    RW_CUDA_LAUNCH(cuda, rw_cuda_add_values, cuda->nodes.leaf_sums.d_leaf_of, piece.d, d_sampled,
                   cuda->n_docs, cuda->set[0].d_score);
    return d_sampled ? add_walk(cuda, 0, tree, d_sampled) : RW_OK;
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
    RW_TRY(rw_cuda_metrics_new(engine->ctx, cuda->device, plan, metrics));
    engine->info.bytes += rw_cuda_metrics_bytes(*metrics);
    return RW_OK;
}

static int cuda_metrics(struct rw_engine *engine, int set, struct rw_metric_result *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_metrics *metrics = cuda->set[set].metrics;
    RW_TRY(rw_cuda_metrics_run(metrics, cuda->set[set].d_score, cuda->device->stream));
    return rw_cuda_metrics_read(metrics, out);
}

static int cuda_metric_by_query(struct rw_engine *engine, int set, double *per_query)
{
    return rw_cuda_metrics_read_queries(rw_cuda_of(engine)->set[set].metrics, per_query);
}

/* ---- checks and figures ---- */

static int cuda_read_integers(struct rw_engine *engine, int64_t *lambda, int64_t *hessian,
                              int32_t *lambda_q, int32_t *hess_q, uint8_t *sampled)
{
    const struct rw_cuda *cuda = rw_cuda_of(engine);
    const size_t n = engine->n_docs[0];
    RW_FREED struct rw_lambda_pair *pair = NULL;
    RW_TRY(RW_NEW(engine->ctx, pair, n));
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

static int cuda_code_sums(struct rw_engine *engine, int set, uint64_t first_doc, uint64_t *sums)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    const size_t bytes = engine->info.n_features * sizeof(*sums);
    RW_SCOPED(rw_device_free) void *d_sum = NULL;
    memset(sums, 0, bytes);
    RW_TRY(rw_device_alloc(engine->ctx, &d_sum, bytes));
    RW_TRY(rw_transfer_write(cuda->device, d_sum, sums, bytes));
    RW_CUDA_LAUNCH(cuda, rw_cuda_sum_columns, cuda->codes.set[set].d_column,
                   engine->info.n_features, engine->n_docs[set], first_doc, d_sum);
    return rw_transfer_read(cuda->device, sums, d_sum, bytes);
}

static int cuda_far_reads(struct rw_engine *engine, struct rw_far_reads *sum)
{
    struct rw_cuda_codes *codes = &rw_cuda_of(engine)->codes;
    RW_TRY(rw_cuda_far_add_time(codes));
    sum->bytes += codes->reads.bytes + codes->reads.hist_bytes;
    sum->hist_bytes += codes->reads.hist_bytes;
    sum->hist_ms += codes->reads.hist_ms;
    return RW_OK;
}

/* ---- the engine ---- */

static int cuda_alloc(struct rw_engine *engine, void **out, size_t bytes)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_arena *peers = cuda->memory.peers;
    return rw_device_alloc_in(engine->ctx, peers ? peers : &cuda->host.memory.arena, out, bytes);
}

static int cuda_use_thread(struct rw_engine *engine)
{
    RW_CU(engine->ctx, cudaSetDevice(rw_cuda_of(engine)->device->number));
    return RW_OK;
}

static void cuda_close(struct rw_engine *engine)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    /* after a failure, the device may be waiting for other workers */
    rw_cuda_workers_part(&cuda->workers);
    RW_CU_MAY_FAIL(cudaStreamSynchronize(cuda->device->stream));
    rw_cuda_unload(cuda);
    rw_cuda_peers_leave(&cuda->workers);
    rw_device_close(cuda->device);
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
    .code_sums = cuda_code_sums,
    .measure = {cuda_measure, cuda_metrics, cuda_metric_by_query},
    .read_integers = cuda_read_integers,
    .use_thread = cuda_use_thread,
    .report = rw_cuda_report,
    .far_reads = cuda_far_reads,
    .plan = {rw_cuda_plan, rw_cuda_tree_ms},
};

void rw_cuda_init(struct rw_cuda *cuda, struct rw_device *device)
{
    cuda->device = cuda->memory.device = cuda->codes.device = cuda->workers.device = device;
    cuda->memory.host = cuda->codes.host = cuda->workers.host = &cuda->host;
    cuda->codes.memory = &cuda->memory;
    cuda->workers.replies = &cuda->replies;
    cuda->built = cuda->workers.exchange.built;
    cuda->cells = cuda->workers.exchange.own;
}

int rw_engine_open_cuda(struct rw_ctx *ctx, int number, struct rw_engine **out)
{
    RW_SCOPED(rw_device_close) struct rw_device *device = NULL;
    struct rw_cuda *cuda;
    *out = NULL;
    if (number == RW_DEVICE_OF_WORKER) { /* a GPU for each worker, if there are enough */
        struct rw_cuda_facts facts;
        rw_cuda_find(&facts);
        number = facts.n_devices > 0 ? rw_local_worker(ctx) % facts.n_devices : 0;
    }
    RW_TRY(rw_device_open(ctx, number, &device));
    RW_TRY(RW_NEW(ctx, cuda, 1));
    cuda->host.base.ctx = ctx;
    cuda->host.base.ops = &cuda_ops;
    cuda->host.base.batch = device->tuning->growth_batch;
    cuda->host.memory.alloc = cuda_alloc;
    rw_cuda_init(cuda, RW_TAKE(device));
    *out = &cuda->host.base;
    return RW_OK;
}
