/* The engine for GPUs (engine_cuda.h), with its table of operations. Sends small data and reads
 * answers, starts trees, divides the documents of nodes, adds up the sums of leaves, keeps and
 * measures scores, and caches codes for the next training. */
#include "gpu/engine/engine_cuda.h"

#include "base/rng.h"

/* ---- sending small data to the device, and reading answers ---- */

int rw_cuda_room(struct rw_cuda *cuda, size_t n_bytes, struct rw_cuda_piece *out)
{
    struct rw_cuda_stage *stage = &cuda->stage;
    const size_t bytes = (n_bytes + 255) / 256 * 256;
    *out = (struct rw_cuda_piece){NULL, NULL};
    if (bytes > stage->bytes)
        return rw_fail(cuda->host.base.ctx, RW_ERR_INTERNAL, "%zu bytes do not fit the stage",
                       bytes);
    if (bytes > stage->bytes - stage->used) {
        RW_TRY(rw_transfer_wait(cuda->device));
        stage->used = 0;
    }
    out->host = stage->host + stage->used;
    out->d = stage->d + stage->used;
    stage->used += bytes;
    return RW_OK;
}

int rw_cuda_send(struct rw_cuda *cuda, const struct rw_cuda_piece *piece, size_t bytes)
{
    return rw_transfer_write_pinned(cuda->device, piece->d, piece->host, bytes);
}

int rw_cuda_send_two(struct rw_cuda *cuda, const void *first, size_t first_bytes,
                     const void *second, size_t second_bytes, void **d)
{
    struct rw_cuda_piece piece;
    RW_TRY(rw_cuda_room(cuda, first_bytes + second_bytes, &piece));
    memcpy(piece.host, first, first_bytes);
    memcpy((char *)piece.host + first_bytes, second, second_bytes);
    *d = piece.d;
    return rw_cuda_send(cuda, &piece, first_bytes + second_bytes);
}

/* Requests an answer of `bytes` bytes from d on the device. clear: sets them to 0 there
 * afterwards. */
static int start_answer(struct rw_cuda *cuda, void *d, size_t bytes, int clear)
{
    if (bytes > cuda->answer_bytes)
        return rw_fail(cuda->host.base.ctx, RW_ERR_INTERNAL, "an answer of %zu bytes", bytes);
    cuda->answer_size = bytes;
    RW_CUDA_TRY(cuda,
                rw_cuda_copy_answer(d, (uint32_t)(bytes / sizeof(uint32_t)), clear, cuda->answer,
                                    cuda->answer_word, ++cuda->n_answers, rw_cuda_stream(cuda)));
    return RW_OK;
}

/* Waits for the answer that was requested last, which is then in cuda->answer. */
static int take_answer(struct rw_cuda *cuda)
{
    const struct rw_transfer_reply reply = {.word = cuda->answer_word,
                                            .step = 1,
                                            .n = 1,
                                            .bytes = cuda->answer_size,
                                            .value = cuda->n_answers};
    RW_TRY(rw_transfer_await(cuda->device, &reply));
    cuda->stage.used = 0; /* the work enqueued since the request has sent nothing */
    return RW_OK;
}

int rw_cuda_answer(struct rw_cuda *cuda, void *d, size_t bytes)
{
    RW_TRY(start_answer(cuda, d, bytes, 0));
    return take_answer(cuda);
}

int rw_cuda_await(struct rw_cuda *cuda, uint32_t n)
{
    const struct rw_transfer_reply reply = {.word =
                                                (const uint32_t *)(const void *)cuda->search.reply,
                                            .step = 2, /* only the low halves of the 64-bit words */
                                            .n = (size_t)n * RW_CUDA_REPLY_WORDS,
                                            .bytes = n * sizeof(cuda->search.reply->word[0]),
                                            .value = cuda->search.launch};
    RW_TRY(rw_transfer_await(cuda->device, &reply));
    cuda->stage.used = 0;
    return RW_OK;
}

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
    RW_TRY(rw_cuda_room(cuda, 2 * (size_t)n_features, &piece));
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
    return rw_cuda_send(cuda, &piece, n_features);
}

/* Samples queries, or documents of the queries sampled so far. */
static int draw_sample(struct rw_cuda *cuda, uint32_t tree, int of_docs)
{
    const struct rw_engine *engine = &cuda->host.base;
    const struct rw_engine_rules *rules = &engine->rules;
    struct rw_cuda_sample *sample = &cuda->sample;
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
    int takes = cuda->d_moved != NULL;
    for (int g = 0; g < cuda->n_groups; g++) {
        const struct rw_cuda_group *group = &cuda->group[g];
        takes &= (maybe && rw_cuda_may_choose(cuda, group)) ||
                 (group->chosen && group->choice.method->by_position);
    }
    return takes;
}

/* Writes the documents of the tree to the first half of the list. */
static int list_root(struct rw_cuda *cuda)
{
    RW_CUDA_TRY(cuda,
                rw_cuda_list_sampled(cuda->sample.d_sampled, cuda->n_docs, cuda->partition.d_list,
                                     cuda->d_n_listed, cuda->d_list_scratch,
                                     cuda->list_scratch_bytes, rw_cuda_stream(cuda)));
    cuda->is_listed = 1;
    return RW_OK;
}

/* Samples documents, if the rules sample them; computes and quantises lambdas; adds up the root's
 * sums; and, if the tree has a sample, lists its documents. */
static int make_integers(struct rw_cuda *cuda, uint32_t tree)
{
    const struct rw_engine_rules *rules = &cuda->host.base.rules;
    const int some_docs = rules->doc_threshold <= UINT32_MAX;
    const int of_queries = rules->objective && rules->objective->device != RW_OBJECTIVE_RESIDUALS;
    const struct rw_cuda_lambda_run run = {.d_scores = cuda->set[0].d_score,
                                           .d_sampled = cuda->sample.d_sampled,
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
    cuda->is_listed = 0;
    return cuda->sample.d_sampled ? list_root(cuda) : RW_OK;
}

static int cuda_begin_tree(struct rw_engine *engine, uint32_t tree, struct rw_root *out)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_root root = {.n_features = 0};
    cuda->n_trees++;
    RW_TRY(rw_cuda_workers_ready(cuda));
    cuda->reads = (struct rw_far_reads){.bytes = 0};
    cuda->is_timed = 0;
    rw_cuda_fade_columns(cuda);
    RW_TRY(sample_features(cuda, tree, &root));
    if (cuda->sample.d_sampled)
        RW_TRY(draw_sample(cuda, tree, 0));
    RW_TRY(rw_cuda_keep_columns(cuda));
    RW_TRY(make_integers(cuda, tree));
    RW_TRY(start_answer(cuda, cuda->quantise.d_begin, sizeof(*cuda->quantise.d_begin), 0));
    for (uint32_t s = 0; s < engine->rules.max_slots; s++)
        cuda->buffer_of[s] = cuda->child[s][0] = -1;
    cuda->n_used = cuda->n_summed = 0;
    cuda->n_searched = 0;
    cuda->pending_leaves.n_leaves = 0;
    cuda->partition.n_parts = cuda->partition.n_chunks = cuda->n_part_words = 0;
    if (cuda->workers)
        cuda->workers->n_uncounted = 0;
    cuda->moves = -1;
    cuda->first[0] = 0;
    cuda->n[0] = cuda->n_docs;
    RW_TRY(rw_cuda_begin_root(cuda, root.n_features));
    RW_TRY(take_answer(cuda));
    struct rw_cuda_begin begin = *(const struct rw_cuda_begin *)cuda->answer;
    RW_TRY(rw_cuda_lambda_check(cuda->lambda, &begin.info));
    cuda->n[0] = (uint32_t)begin.sum.n;
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
    if (cuda->sample.d_sampled && takes_moved(cuda, 1)) /* by position, of the sampled documents */
        RW_CUDA_TRY(cuda,
                    rw_cuda_gather(cuda->partition.d_list, cuda->n[0], cuda->quantise.d_lambda_q,
                                   cuda->quantise.d_hess_q, cuda->partition.moved, cuda->d_moved,
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

uint64_t rw_cuda_children_at(const struct rw_cuda *cuda, int32_t slot)
{
    const uint64_t at = cuda->first[slot];
    return at < cuda->half ? at + cuda->half : at - cuda->half;
}

void rw_cuda_take_children(struct rw_cuda *cuda, int32_t slot, int32_t left, int32_t right,
                           uint32_t n_left)
{
    const uint64_t to = rw_cuda_children_at(cuda, slot);
    cuda->first[left] = to;
    cuda->first[right] = to + n_left;
    cuda->n[left] = n_left;
    cuda->n[right] = cuda->n[slot] - n_left;
    cuda->child[slot][0] = left;
    cuda->child[slot][1] = right;
    cuda->child[left][0] = cuda->child[right][0] = -1;
}

int rw_cuda_flush(struct rw_cuda *cuda)
{
    struct rw_cuda_partition *partition = &cuda->partition;
    if (partition->n_parts == 0)
        return RW_OK;
    partition->d_moved = cuda->moves ? cuda->d_moved : NULL;
    partition->counted.value += cuda->workers != NULL;
    if (partition->n_chunks > 0) {
        partition->launch++;
        RW_CUDA_TRY(cuda, rw_cuda_partition(partition, cuda->n_part_words ? &cuda->part_sets : NULL,
                                            rw_cuda_stream(cuda)));
    } else if (cuda->workers) {
        *partition->counted.word = partition->counted.value;
    }
    partition->n_parts = partition->n_chunks = partition->n_carried = cuda->n_part_words = 0;
    partition->counted.n_parts = 0;
    return RW_OK;
}

int rw_cuda_flush_parts(struct rw_cuda *cuda)
{
    return cuda->workers ? rw_cuda_workers_sizes(cuda) : rw_cuda_flush(cuda);
}

/* Returns the number of words of a split's set; 0 for a split by bin. */
static uint32_t part_words(const struct rw_cuda *cuda, const struct rw_split *split)
{
    const struct rw_cuts *cuts = cuda->host.set[0].bins->cuts;
    return split->is_set ? rw_set_words(rw_cuts_n_bins(cuts, (uint32_t)split->column)) : 0;
}

/* Adds a split's set to the sets that the pending partition's launch carries. Returns the index of
 * its first word; -1 for a split by bin. */
static int32_t add_part_set(struct rw_cuda *cuda, const struct rw_split *split)
{
    const uint32_t first = cuda->n_part_words, n_words = part_words(cuda, split);
    memcpy(cuda->part_sets.word + first, split->set.word, n_words * sizeof(split->set.word[0]));
    cuda->n_part_words += n_words;
    return n_words ? (int32_t)first : -1;
}

static int cuda_partition(struct rw_engine *engine, const struct rw_split *splits, int n)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_partition *partition = &cuda->partition;
    RW_TRY(rw_cuda_flush(cuda));
    if (cuda->workers)
        RW_TRY(rw_cuda_workers_sizes(cuda));
    if (cuda->moves < 0)
        cuda->moves = takes_moved(cuda, 0); /* the first histograms are complete */
    for (int i = 0; i < n; i++) {
        const int32_t slot = splits[i].slot;
        const uint32_t column = (uint32_t)splits[i].column;
        if (splits[i].n_left > (cuda->workers ? cuda->workers->all_n : cuda->n)[slot])
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "more documents go left than there are");
        if (partition->n_parts == RW_CUDA_MOST_PARTS ||
            cuda->n_part_words + part_words(cuda, &splits[i]) > RW_CUDA_PART_SET_WORDS)
            RW_TRY(rw_cuda_flush_parts(cuda));
        RW_TRY(rw_cuda_use_column(cuda, column, cuda->n[slot]));
        partition->part[partition->n_parts++] = (struct rw_cuda_part){
            .from = cuda->first[slot],
            .to = rw_cuda_children_at(cuda, slot),
            .n = cuda->n[slot],
            .n_left = cuda->workers ? RW_CUDA_UNCOUNTED : splits[i].n_left,
            .first_chunk = partition->n_chunks,
            .bin = splits[i].bin,
            .missing_code = rw_cuts_n_bins(cuda->host.set[0].bins->cuts, column),
            .missing_left = splits[i].missing_left,
            .whole = slot == 0 && !cuda->is_listed,
            .set = add_part_set(cuda, &splits[i]),
            .column = cuda->split_column[column]};
        partition->n_chunks += rw_cuda_chunks(cuda->n[slot]);
        if (partition->n_chunks > cuda->most_chunks)
            return rw_fail(engine->ctx, RW_ERR_INTERNAL, "nodes of more documents than there are");
        if (cuda->workers)
            rw_cuda_workers_add_part(cuda, &splits[i]);
        else
            rw_cuda_take_children(cuda, slot, splits[i].left, splits[i].right, splits[i].n_left);
    }
    return RW_OK;
}

/* ---- leaves and scores ---- */

/* Adds a leaf's ranges of positions to `piece`: those of the leaf's slot or, if that was
 * partitioned, of the slots below it that were not. Returns the new number of ranges in `piece`;
 * n_pieces is the old one. */
static uint32_t list_leaf(const struct rw_cuda *cuda, int32_t slot, uint32_t leaf,
                          struct rw_cuda_leaf *piece, uint32_t n_pieces, uint32_t *n_chunks)
{
    int n_stack = 0;
    cuda->stack[n_stack++] = slot;
    while (n_stack > 0) {
        const int32_t at = cuda->stack[--n_stack];
        if (cuda->child[at][0] >= 0) {
            cuda->stack[n_stack++] = cuda->child[at][0];
            cuda->stack[n_stack++] = cuda->child[at][1];
            continue;
        }
        piece[n_pieces++] = (struct rw_cuda_leaf){
            .from = cuda->first[at], .n = cuda->n[at], .first_chunk = *n_chunks, .leaf = leaf};
        *n_chunks += rw_cuda_chunks(cuda->n[at]);
    }
    return n_pieces;
}

static int cuda_start_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n_leaves)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    struct rw_cuda_piece piece;
    uint32_t n = 0, n_chunks = 0;
    if (n_leaves == 0)
        return RW_OK;
    RW_TRY(rw_cuda_flush(cuda));
    if (cuda->workers)
        RW_TRY(rw_cuda_workers_sizes(cuda));
    if (cuda->child[0][0] < 0 && !cuda->is_listed) /* a tree of one leaf */
        RW_TRY(list_root(cuda));
    RW_TRY(rw_cuda_room(cuda, engine->rules.max_slots * sizeof(struct rw_cuda_leaf), &piece));
    for (int i = 0; i < n_leaves; i++)
        n = list_leaf(cuda, leaf_slot[i], (uint32_t)i, piece.host, n, &n_chunks);
    RW_TRY(rw_cuda_send(cuda, &piece, n * sizeof(struct rw_cuda_leaf)));
    cuda->leaf_sums.d_leaf = piece.d;
    cuda->leaf_sums.n_leaves = n;
    cuda->leaf_sums.n_chunks = n_chunks;
    cuda->n_summed = 0;
    RW_CUDA_TRY(cuda, rw_cuda_leaf_sums(&cuda->leaf_sums, rw_cuda_stream(cuda)));
    RW_TRY(start_answer(cuda, cuda->leaf_sums.d_sum,
                        (size_t)n_leaves * sizeof(*cuda->leaf_sums.d_sum), 1));
    memcpy(cuda->summed, leaf_slot, (size_t)n_leaves * sizeof(*leaf_slot));
    cuda->n_summed = n_leaves;
    cuda->pending_leaves.leaf = piece.host;
    cuda->pending_leaves.n = n;
    cuda->pending_leaves.n_leaves = n_leaves;
    return RW_OK;
}

static int cuda_leaf_sums(struct rw_engine *engine, const int32_t *leaf_slot, int n_leaves,
                          struct rw_sum *sums)
{
    struct rw_cuda *cuda = rw_cuda_of(engine);
    if (n_leaves == 0)
        return RW_OK;
    if (cuda->pending_leaves.n_leaves == 0)
        RW_TRY(cuda_start_leaf_sums(engine, leaf_slot, n_leaves));
    if (cuda->pending_leaves.n_leaves != n_leaves)
        return rw_fail(engine->ctx, RW_ERR_INTERNAL, "sums of the wrong leaves");
    cuda->pending_leaves.n_leaves = 0;
    RW_TRY(take_answer(cuda));
    memcpy(sums, cuda->answer, (size_t)n_leaves * sizeof(*sums));
    for (uint32_t i = 0; i < cuda->pending_leaves.n; i++) /* the stage has not been reused yet */
        sums[cuda->pending_leaves.leaf[i].leaf].n += cuda->pending_leaves.leaf[i].n;
    return RW_OK;
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
    RW_TRY(rw_cuda_room(cuda, at_leaves + leaf_bytes, &piece));
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
    return rw_cuda_send(cuda, &piece, at_leaves + leaf_bytes);
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
    void *d_value;
    RW_TRY(rw_cuda_flush(cuda));
    if (set > 0 || !leaf_slot || tree->n_leaves != cuda->n_summed ||
        tree->n_leaves > RW_MAX_LEAVES ||
        memcmp(leaf_slot, cuda->summed, (size_t)tree->n_leaves * sizeof(*leaf_slot)) != 0)
        return add_walk(cuda, set, tree, NULL);
    /* The leaf of each sampled document is known. */
    RW_TRY(rw_cuda_send_two(cuda, tree->leaf, (size_t)tree->n_leaves * sizeof(*tree->leaf), "", 0,
                            &d_value));
    RW_CUDA_TRY(cuda, rw_cuda_add_values(cuda->leaf_sums.d_leaf_of, d_value, cuda->sample.d_sampled,
                                         cuda->n_docs, cuda->set[0].d_score, rw_cuda_stream(cuda)));
    return cuda->sample.d_sampled ? add_walk(cuda, 0, tree, cuda->sample.d_sampled) : RW_OK;
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
    RW_TRY(rw_cuda_flush(cuda));
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
    if (cuda->sample.d_sampled)
        RW_TRY(rw_transfer_read(cuda->device, sampled, cuda->sample.d_sampled, n));
    if (cuda->quantise.d_hess_q)
        RW_TRY(rw_transfer_read(cuda->device, hess_q, cuda->quantise.d_hess_q, 4 * n));
    return rw_transfer_read(cuda->device, lambda_q, cuda->quantise.d_lambda_q, 4 * n);
}

/* ---- the engine ---- */

static int cuda_alloc(struct rw_engine *engine, void **out, size_t bytes)
{
    return rw_device_alloc_in(engine->ctx, &rw_cuda_of(engine)->host.memory.arena, out, bytes);
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
    cuda->host.base.batch = cuda->device->tuning->growth_batch;
    *out = &cuda->host.base;
    return RW_OK;
}
