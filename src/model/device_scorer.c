/* Scores data sets: on the CPU by walking down the trees or with the packed model, or on a GPU.
 * The time of each way is estimated, and the fastest is chosen, unless the caller names a device.
 * Also has the plain walks, scores lines that are being read, checks rows for infinite values, and
 * writes scores and leaves as text. */
#include "model/scorer.h"

#include "model/model_text.h"

/* Nanoseconds of one thread of a server of 2023. A node takes 1.3 to 3 ns, and most in models that
 * are larger than the caches or have unpredictable splits. */
#define WALK_STEP_NS  2.0 /* per node that a document passes */
#define WALK_VALUE_NS 1.0 /* per value of a document that is gathered */

/* The speed of each thread after the first, as a share of the first thread's. */
#define CPU_THREAD 0.8
/* Milliseconds to start a GPU's driver and to allocate memory. */
#define GPU_OPEN_MS 500.0

static const struct {
    const char *name;
    int (*open)(struct rw_ctx *, const struct rw_flat *, int, struct rw_device_scorer **);
} devices[] = {
    {"cuda", rw_device_scorer_open_cuda},
};

/* ---- the CPU ---- */

static double walk_doc_ns(const struct rw_flat *flat)
{
    return WALK_STEP_NS * rw_flat_steps(flat) + WALK_VALUE_NS * (double)flat->n_used;
}

/* Decides whether to pack the model once all walks so far, and one with n_docs further
 * documents, would take as long as packing. Until then, documents are walked.
 */
static int settle(struct rw_ctx *ctx, struct rw_scorer *scorer, uint32_t n_docs)
{
    const struct rw_flat *flat = &scorer->flat;
    const double walk_ns = walk_doc_ns(flat);
    /* Threads share the documents. The time to pack is estimated for one thread. */
    scorer->walked_ns += n_docs * walk_ns / ctx->n_threads;
    if (scorer->walked_ns < rw_packed_make_ns(flat))
        return RW_OK;
    const struct rw_packed_ops *ops = rw_packed_ops(rw_isa());
    const double packed_ns = rw_packed_doc_ns(flat, ops);
    scorer->settled = 1;
    if (packed_ns >= walk_ns)
        return RW_OK;
    RW_TRY(rw_packed_new(ctx, flat, ops, &scorer->packed));
    rw_log(ctx, RW_LOG_DEBUG,
           "scores by %s: %.3g us per document expected on a thread, %.3g us down the trees",
           scorer->packed ? ops->name : "walking", packed_ns / 1e3, walk_ns / 1e3);
    return RW_OK;
}

static int score_on_cpu(struct rw_ctx *ctx, struct rw_scorer *scorer,
                        const struct rw_dataset *dataset, double *scores)
{
    if (!scorer->settled)
        RW_TRY(settle(ctx, scorer, dataset->n_docs));
    return scorer->packed ? rw_packed_scores(ctx, scorer->packed, dataset, scores)
                          : rw_flat_walk(ctx, &scorer->flat, dataset, scores, NULL, NULL);
}

int rw_predict(struct rw_ctx *ctx, const struct rw_model *model, const struct rw_dataset *dataset,
               int n_trees, double *scores)
{
    RW_DEFAULT_FPENV;
    struct rw_scorer scorer = {0};
    if (dataset->codes.bins)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the data set was binned for a training, and has no values");
    int status = rw_flat_init_scores(ctx, &scorer.flat, model, n_trees);
    if (status >= 0)
        status = score_on_cpu(ctx, &scorer, dataset, scores);
    rw_result_free(scorer.packed);
    rw_flat_release(&scorer.flat);
    return status;
}

int rw_predict_bags(struct rw_ctx *ctx, const struct rw_model *model,
                    const struct rw_dataset *dataset, double *scores)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    const int32_t n_bags = rw_model_bags(&model->params);
    uint8_t *keep;
    if (n_bags == 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the model has one bag, which shows no spread\nhint: train with bags=4");
    for (int32_t k = 0; k < model->n_earlier; k++) {
        const int32_t n = rw_model_bags(&model->earlier[k].params);
        if (n != n_bags)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "training %d of the model has bags %d and the last one has %d, so it "
                           "cannot be scored bag by bag",
                           k + 1, n, n_bags);
    }
    if (model->n_trees % n_bags != 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the model has %d trees, which are not whole rounds of %d bags",
                       model->n_trees, n_bags);
    RW_TRY(RW_ARENA_NEW(ctx, &arena, keep, (size_t)model->n_trees));
    for (int32_t bag = 0; bag < n_bags; bag++) {
        struct rw_model own;
        double *to = scores + (size_t)bag * dataset->n_docs;
        for (int32_t t = 0; t < model->n_trees; t++)
            keep[t] = t % n_bags == bag; /* all trainings have whole rounds */
        RW_TRY(rw_model_some(ctx, model, keep, &arena, &own));
        RW_TRY(rw_predict(ctx, &own, dataset, 0, to));
        for (uint32_t doc = 0; doc < dataset->n_docs; doc++)
            to[doc] *= n_bags;
    }
    return RW_OK;
}

/* ---- a device ---- */

/* Opens a device by its name, such as cuda:1. *out is NULL for "cpu". */
static int open_device(struct rw_ctx *ctx, const struct rw_scorer *scorer, const char *device,
                       struct rw_device_scorer **out)
{
    size_t length;
    const int number = rw_device_number(device, &length);
    *out = NULL;
    if (strcmp(device, "cpu") == 0)
        return RW_OK;
    for (size_t i = 0; number >= 0 && i < sizeof(devices) / sizeof(devices[0]); i++) {
        if (strlen(devices[i].name) == length && strncmp(devices[i].name, device, length) == 0)
            return devices[i].open(ctx, &scorer->flat, number, out);
    }
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "device '%s' cannot score; expected auto, cpu, cuda or cuda:N", device);
}

int rw_scorer_open(struct rw_ctx *ctx, const struct rw_model *model, int n_trees,
                   const char *device, struct rw_scorer **out)
{
    RW_DEFAULT_FPENV;
    RW_SCOPED(rw_scorer_free) struct rw_scorer *scorer = NULL;
    *out = NULL;
    RW_TRY(rw_scorer_make(ctx, model, n_trees, &scorer));
    scorer->is_auto = scorer->undecided = strcmp(device, "auto") == 0;
    if (!scorer->is_auto)
        RW_TRY(open_device(ctx, scorer, device, &scorer->device));
    *out = RW_TAKE(scorer);
    return RW_OK;
}

const char *rw_scorer_device(const struct rw_scorer *scorer)
{
    return scorer->device ? scorer->device->ops->name : "cpu";
}

/* Chooses the CPU or a GPU. The number of further documents is unknown, because data may be read
 * in chunks. So a GPU is opened once the CPU's work so far, with this run, would take as long as
 * opening one. The choice then costs at most twice the time of the better device. */
static void choose(struct rw_ctx *ctx, struct rw_scorer *scorer, uint32_t n_docs)
{
    struct rw_device_scorer *gpu;
    const int n_threads = ctx->n_threads;
    const double walk_ns = walk_doc_ns(&scorer->flat);
    const double packed_ns = rw_packed_doc_ns(&scorer->flat, rw_packed_ops(rw_isa()));
    const double doc_ns = packed_ns < walk_ns ? packed_ns : walk_ns; /* of one thread */
    const double cpu_ms = n_docs * doc_ns / 1e6 / (1.0 + CPU_THREAD * (n_threads - 1));
    scorer->cpu_ms += cpu_ms;
    if (scorer->cpu_ms <= GPU_OPEN_MS)
        return;
    scorer->undecided = 0;
    if (open_device(ctx, scorer, "cuda", &gpu) < 0) {
        rw_log(ctx, RW_LOG_DEBUG, "scores on device cpu: %s", rw_last_error(ctx));
        return;
    }
    const double gpu_ms = gpu->ops->run_ms(gpu, n_docs);
    const int pays = gpu_ms < cpu_ms;
    rw_log(ctx, RW_LOG_DEBUG,
           "scores on device %s: %u documents are expected to take %.3g ms on the GPU and %.3g ms "
           "on %d thread%s",
           pays ? "cuda" : "cpu", n_docs, gpu_ms, cpu_ms, n_threads, n_threads == 1 ? "" : "s");
    if (pays)
        scorer->device = gpu;
    else
        gpu->ops->close(gpu);
}

int rw_scorer_run(struct rw_ctx *ctx, struct rw_scorer *scorer, const struct rw_dataset *dataset,
                  double *scores)
{
    RW_DEFAULT_FPENV;
    if (scorer->undecided)
        choose(ctx, scorer, dataset->n_docs);
    struct rw_device_scorer *device = scorer->device;
    if (device) {
        const int status = device->ops->run(device, dataset, scores);
        if (status != RW_ERR_MEMORY || !scorer->is_auto)
            return status;
        rw_log(ctx, RW_LOG_DEBUG, "scores on device cpu: the GPU has too little free memory");
        device->ops->close(device);
        scorer->device = NULL;
    }
    return score_on_cpu(ctx, scorer, dataset, scores);
}

const struct rw_packed *rw_scorer_packed(struct rw_ctx *ctx, struct rw_scorer *scorer,
                                         uint32_t n_docs)
{
    if (scorer->undecided)
        choose(ctx, scorer, n_docs);
    return scorer->device || scorer->flat.set_of ? NULL : scorer->packed;
}

/* ---- rows ---- */

struct infinite_job {
    const float *value;
    uint32_t n_features;
    uint64_t first; /* index of the first infinite value, or UINT64_MAX */
};

static int find_infinite(void *user, struct rw_share *share)
{
    struct infinite_job *job = user;
    for (uint64_t doc, end; rw_share_next(share, &doc, &end);) {
        const uint64_t last = end * job->n_features;
        uint64_t at = doc * job->n_features;
        uint32_t found = 0;
        for (uint64_t i = at; i < last; i++)
            found |= (rw_bits_of_float(job->value[i]) & 0x7fffffff) == 0x7f800000;
        if (!found)
            continue;
        while ((rw_bits_of_float(job->value[at]) & 0x7fffffff) != 0x7f800000)
            at++;
        rw_share_lock(share);
        job->first = at < job->first ? at : job->first;
        rw_share_unlock(share);
    }
    return RW_OK;
}

int rw_rows_infinite(struct rw_ctx *ctx, const float *values, uint32_t n_docs, uint32_t n_features,
                     uint32_t *doc, uint32_t *feature)
{
    RW_DEFAULT_FPENV;
    enum { FEW = 1 << 17 }; /* with fewer values, one thread checks them */
    struct infinite_job job = {values, n_features, UINT64_MAX};
    const int n_threads = (uint64_t)n_docs * n_features < FEW ? 1 : ctx->n_threads;
    (void)rw_parallel(ctx, n_threads, n_docs, 0, find_infinite, &job);
    if (job.first == UINT64_MAX)
        return 0;
    *doc = (uint32_t)(job.first / n_features);
    *feature = (uint32_t)(job.first % n_features);
    return 1;
}

/* ---- a data set, or lines that were just read, by a packed model ---- */

/* Encodes several blocks, one column at a time, because memory is fastest in sequential order.
 * Documents past `end` get arbitrary codes, which are ignored. */
static void encode_blocks(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                          const struct rw_packed_room *room)
{
    const struct rw_packed *p = job->packed;
    const struct rw_packed_width *width = p->ops->width[p->code_bytes - 1];
    const size_t column_bytes = (size_t)RW_PACKED_DOCS * p->code_bytes;
    const size_t codes_bytes = rw_packed_codes_bytes(p);
    for (uint32_t i = 0; i < p->n_columns; i++) {
        const struct rw_packed_column *to = &p->column[i];
        const int is_new = i == 0 || to->slot != to[-1].slot; /* else its values are loaded */
        if (is_new)
            rw_column_values(job->column[to->slot], begin, end, p->flat->absent, room->value);
        for (uint32_t d = 0; is_new && p->flat->set_of && d < end - begin; d++)
            room->value[d] = rw_flat_of_code(p->flat, to->slot, room->value[d]);
        for (uint32_t d = 0, b = 0; d < end - begin; d += RW_PACKED_DOCS, b++)
            width->encode(p, to, room->value + d, room->codes + b * codes_bytes + i * column_bytes);
    }
}

int rw_packed_scores(struct rw_ctx *ctx, const struct rw_packed *packed,
                     const struct rw_dataset *dataset, double *scores)
{
    struct rw_packed_job job = {.packed = packed, .encode = encode_blocks};
    RW_FREED const struct rw_column **column = NULL;
    RW_TRY(rw_flat_columns(ctx, packed->flat, dataset, &column));
    job.column = column;
    return rw_packed_run(ctx, &job, dataset->n_docs, scores);
}

/* Reads n_docs lines of a struct rw_run (lines with the same features) feature by feature, so that
 * the lines stay in the first-level cache. feature: [n] feature ids of the run; line: [n_docs][n]
 * values. value: [n_used][RW_PACKED_DOCS], in which the first n_docs values of a slot are set if
 * the run has the feature. Ids ascend in `feature` and in flat->feature, and no slot is for a set
 * of categories. */
static void transpose_run(const struct rw_flat *flat, const uint16_t *feature, uint32_t n,
                          const float *line, uint32_t n_docs, float *value)
{
    for (uint32_t k = 0, slot = 0; k < n && slot < flat->n_used;) {
        if (feature[k] < flat->feature[slot]) {
            k++;
        } else if (feature[k] > flat->feature[slot]) {
            slot++;
        } else {
            float *to = value + (size_t)slot++ * RW_PACKED_DOCS;
            for (uint32_t d = 0; d < n_docs; d++)
                to[d] = line[(size_t)d * n + k];
            k++;
        }
    }
}

static void transpose_lines(const struct rw_packed_job *job, uint32_t begin, uint32_t end,
                            float *value)
{
    enum { DOCS = 16 };
    const struct rw_flat *flat = job->packed->flat;
    const struct rw_builder *lines = job->lines;
    for (size_t i = 0; i < (size_t)flat->n_used * RW_PACKED_DOCS; i++)
        value[i] = flat->absent;
    uint32_t r = rw_records_under(lines->run, sizeof(*lines->run), lines->n_runs, begin + 1) - 1;
    for (uint32_t doc = begin; doc < end; r++) {
        const struct rw_run *run = &lines->run[r];
        const uint32_t run_end = run->doc + rw_builder_run_docs(lines, r);
        const uint32_t last = run_end < end ? run_end : end;
        for (uint32_t n; doc < last; doc += n) {
            n = last - doc < DOCS ? last - doc : DOCS;
            transpose_run(flat, lines->entry_feature + run->feature, run->n,
                          lines->entry_value + run->value + (size_t)(doc - run->doc) * run->n, n,
                          value + (doc - begin));
        }
    }
}

int rw_packed_lines(const struct rw_packed *packed, const struct rw_builder *lines, double *scores)
{
    struct rw_packed_job job = {.packed = packed,
                                .encode = rw_packed_encode_transposed,
                                .transpose = transpose_lines,
                                .lines = lines,
                                .more_values = (size_t)packed->flat->n_used * RW_PACKED_DOCS};
    return rw_packed_run(NULL, &job, lines->n_docs, scores);
}

/* ---- a document by the model's own trees ---- */

double rw_predict_one(const struct rw_model *model, const float *values, size_t n_values)
{
    RW_DEFAULT_FPENV;
    const float absent = rw_model_absent(model);
    double score = 0.0;
    for (int i = 0; i < model->n_trees; i++) {
        const struct rw_tree *tree = &model->tree[i];
        int32_t at = tree->n_leaves == 1 ? ~0 : 0;
        while (at >= 0) {
            const uint32_t f = tree->feature[at];
            float value = f < n_values ? values[f] : absent;
            if (rw_tree_by_set(tree, at) && value == value)
                value =
                    (float)rw_category_of_number(rw_categories_find(&model->categories, f), value);
            at = rw_tree_goes_left(tree, at, value) ? tree->left[at] : tree->right[at];
        }
        score += (double)tree->leaf[~at];
    }
    return score;
}

/* ---- down every tree ---- */

int rw_flat_columns(struct rw_ctx *ctx, const struct rw_flat *flat,
                    const struct rw_dataset *dataset, const struct rw_column ***out)
{
    RW_FREED const struct rw_column **column = NULL;
    const uint32_t n_codes = flat->categories.n;
    const size_t first = (size_t)flat->n_used * sizeof(*column);
    const size_t bytes = sizeof(struct rw_column) + dataset->n_docs * sizeof(float);
    *out = NULL;
    const struct rw_column_view view = rw_column_view_of(dataset);
    RW_TRY(rw_column_rule_check(ctx, &flat->columns, &view));
    RW_TRY(rw_mem_new(ctx, (void **)&column, first + n_codes * bytes, 1));
    struct rw_column *made = (struct rw_column *)(void *)(column + flat->n_used);
    float *value = (float *)(void *)(made + n_codes);
    for (uint32_t i = 0; i < n_codes; i++, value += dataset->n_docs) {
        const struct rw_feature_categories *of = &flat->categories.of[i];
        made[i] = (struct rw_column){.feature = of->feature, .n = dataset->n_docs, .value = value};
        RW_TRY(rw_categories_codes(ctx, of, dataset, flat->absent != flat->absent, value));
    }
    for (uint32_t slot = 0, i = 0; slot < flat->n_used; slot++) {
        if (!flat->set_of || !flat->set_of[slot])
            RW_TRY(rw_categories_check_numbers(ctx, dataset, flat->feature[slot]));
        while (i < n_codes && made[i].feature < flat->feature[slot])
            i++;
        column[slot] = i < n_codes && made[i].feature == flat->feature[slot]
                           ? &made[i]
                           : rw_dataset_column(dataset, flat->feature[slot]);
    }
    *out = RW_TAKE(column);
    return RW_OK;
}

void rw_flat_gather(const struct rw_flat *flat, const struct rw_column *const *columns,
                    uint32_t begin, uint32_t end, float *rows, float *scratch)
{
    const size_t n_used = flat->n_used;
    for (size_t slot = 0; slot < n_used; slot++) {
        rw_column_values(columns[slot], begin, end, flat->absent, scratch);
        for (uint32_t doc = begin; doc < end; doc++)
            rows[(doc - begin) * n_used + slot] =
                rw_flat_of_code(flat, (uint32_t)slot, scratch[doc - begin]);
    }
}

/* The plain walk handles documents in blocks. It gathers the values that the model uses into rows,
 * so a document's values are adjacent and memory does not grow with the data. Then it walks
 * the block down each tree, in tree order. */
enum {
    BLOCK_FLOATS = 32768,  /* 128 KiB per thread, which fits the second-level cache with a tree */
    BLOCK_DOCS_LEAST = 16, /* even if the rows then take more than BLOCK_FLOATS */
    BLOCK_DOCS_MOST = 1024
};

struct walk_job {
    const struct rw_flat *flat; /* borrowed, for the call */
    const struct rw_column *const *column;
    uint32_t begin, end;  /* the first document, and the one after the last */
    uint32_t block_docs;  /* documents per block */
    size_t buffer_floats; /* per thread: rows [block_docs][n_used], then scratch [block_docs] */
    float *buffer;        /* [n_threads][buffer_floats] */
    /* The output, as in rw_flat_walk: two of the three are NULL. */
    double *scores;   /* [end], of which those from begin on are written */
    int32_t *leaves;  /* [end - begin][n_trees] */
    uint32_t *counts; /* [leaves of all trees] */
};

static void walk_block(const struct walk_job *job, uint32_t begin, uint32_t end, float *buffer)
{
    const struct rw_flat *flat = job->flat;
    const size_t n_used = flat->n_used, n_trees = (size_t)flat->n_trees;
    rw_flat_gather(flat, job->column, begin, end, buffer, buffer + job->block_docs * n_used);
    for (uint32_t doc = begin; job->scores && doc < end; doc++)
        job->scores[doc] = 0.0;
    for (int32_t i = 0; i < flat->n_trees; i++) {
        const struct rw_walk_node *nodes = flat->node + flat->first_node[i];
        const uint64_t first_leaf = flat->first_leaf[i];
        const int32_t root = rw_flat_root(flat, i);
        for (uint32_t doc = begin; doc < end; doc++) {
            const float *row = buffer + (size_t)(doc - begin) * n_used;
            const int32_t leaf = rw_walk(nodes, root, row, 1);
            if (job->scores)
                job->scores[doc] += (double)flat->leaf[first_leaf + (uint64_t)leaf];
            else if (job->leaves)
                job->leaves[(size_t)(doc - job->begin) * n_trees + (size_t)i] = leaf;
            else
                __atomic_fetch_add(&job->counts[first_leaf + (uint64_t)leaf], 1, __ATOMIC_RELAXED);
        }
    }
}

static int walk_blocks(void *user, struct rw_share *share)
{
    const struct walk_job *job = user;
    float *buffer = job->buffer + (size_t)share->thread * job->buffer_floats;
    for (uint64_t block, end; rw_share_next(share, &block, &end);) {
        const uint32_t first = job->begin + (uint32_t)block * job->block_docs;
        const uint32_t left = job->end - first;
        walk_block(job, first, left < job->block_docs ? job->end : first + job->block_docs, buffer);
    }
    return RW_OK;
}

static int walk(struct rw_ctx *ctx, struct walk_job *job)
{
    const uint32_t n_used = job->flat->n_used;
    uint32_t docs = n_used ? BLOCK_FLOATS / n_used : BLOCK_DOCS_MOST;
    docs = docs < BLOCK_DOCS_LEAST ? BLOCK_DOCS_LEAST : docs;
    docs = docs > BLOCK_DOCS_MOST ? BLOCK_DOCS_MOST : docs;
    const int64_t n_blocks = ((int64_t)(job->end - job->begin) + docs - 1) / docs;
    const int n_threads = ctx->n_threads < n_blocks ? ctx->n_threads : (int)n_blocks;
    job->block_docs = docs;
    /* The last 16 floats keep threads on different cache lines. */
    job->buffer_floats = (size_t)docs * n_used + docs + 16;
    RW_FREED float *buffer = NULL;
    RW_TRY(RW_NEW_RAW(ctx, buffer, (size_t)n_threads * job->buffer_floats));
    job->buffer = buffer;
    return rw_parallel_long(ctx, n_threads, (uint64_t)n_blocks, 1, walk_blocks, job);
}

int rw_flat_walk(struct rw_ctx *ctx, const struct rw_flat *flat, const struct rw_dataset *dataset,
                 double *scores, int32_t *leaves, uint32_t *counts)
{
    RW_FREED const struct rw_column **column = NULL;
    RW_TRY(rw_flat_columns(ctx, flat, dataset, &column));
    struct walk_job job = {.flat = flat,
                           .column = column,
                           .end = dataset->n_docs,
                           .scores = scores,
                           .leaves = leaves,
                           .counts = counts};
    return walk(ctx, &job);
}

int rw_predict_leaves(struct rw_ctx *ctx, const struct rw_model *model,
                      const struct rw_dataset *dataset, int n_trees, int32_t *leaves)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(rw_flat_release) struct rw_flat flat = {0};
    RW_TRY(rw_flat_init(ctx, &flat, model, n_trees));
    return rw_flat_walk(ctx, &flat, dataset, NULL, leaves, NULL);
}

/* ---- scores and leaves as lines of text ---- */

enum {
    NUMBER_BYTES = 32,     /* most bytes of a double and a newline */
    LEAF_BYTES = 11,       /* most bytes of a leaf's number and a separator */
    BLOCK_LEAVES = 1 << 22 /* leaf numbers in memory at once, about */
};

int rw_exact_text(double value, char buffer[RW_EXACT_ROOM])
{
    RW_DEFAULT_FPENV;
    return rw_number_write_exact(value, buffer);
}

static size_t number_line(const void *user, uint64_t i, char *to)
{
    const double *values = user;
    const int length = rw_number_write_exact(values[i], to);
    to[length] = '\n';
    return (size_t)length + 1;
}

struct leaves {
    const int32_t *leaf; /* [docs][n_trees] */
    size_t n_trees;
};

static size_t leaves_line(const void *user, uint64_t i, char *to)
{
    const struct leaves *leaves = user;
    const int32_t *leaf = leaves->leaf + i * leaves->n_trees;
    char *p = to;
    for (size_t t = 0; t < leaves->n_trees; t++) {
        char room[RW_DIGITS_ROOM];
        p = stpcpy(p, rw_digits_of((uint32_t)leaf[t], room));
        *p++ = t + 1 < leaves->n_trees ? ' ' : '\n';
    }
    if (leaves->n_trees == 0)
        *p++ = '\n';
    return (size_t)(p - to);
}

int rw_score_lines(struct rw_ctx *ctx, const struct rw_model *model,
                   const struct rw_dataset *dataset, int n_trees, const double *scores,
                   struct rw_out_file *out)
{
    RW_DEFAULT_FPENV;
    RW_RELEASED(rw_flat_release) struct rw_flat flat = {0};
    RW_FREED const struct rw_column **column = NULL;
    RW_FREED int32_t *leaf = NULL;
    if (scores)
        return rw_lines_write(ctx, out, dataset->n_docs, NUMBER_BYTES, number_line, scores);
    RW_TRY(rw_flat_init(ctx, &flat, model, n_trees));
    const size_t trees = (size_t)flat.n_trees;
    uint32_t docs = (uint32_t)(BLOCK_LEAVES / (trees + 1)) + 1;
    docs = docs < dataset->n_docs ? docs : dataset->n_docs;
    RW_TRY(rw_flat_columns(ctx, &flat, dataset, &column));
    RW_TRY(RW_NEW_RAW(ctx, leaf, docs * trees));
    for (uint32_t begin = 0; begin < dataset->n_docs; begin += docs) {
        const uint32_t left = dataset->n_docs - begin, n = left < docs ? left : docs;
        const struct leaves leaves = {leaf, trees};
        struct walk_job job = {
            .flat = &flat, .column = column, .begin = begin, .end = begin + n, .leaves = leaf};
        RW_TRY(walk(ctx, &job));
        RW_TRY(rw_lines_write(ctx, out, n, trees * LEAF_BYTES + 1, leaves_line, &leaves));
    }
    return RW_OK;
}
