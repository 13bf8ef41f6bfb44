/* Reads data as codes, if possible without keeping all values in memory. The binning settings must
 * be known before the data is read. There are three uses: a binned-data cache that is written to
 * a file, a training set, and validation sets. The values are kept where codes cannot be made yet
 * (categorical features) or do not suffice (training on a GPU). A second pass over the files can
 * compute the scores of a model from which training continues, since those need the values. The
 * last part makes the codes of a pair of sets once for several trainings. */
#include "train/train.h"

#include "io/cache/cache.h"
#include "io/source.h"

/* ---- caches ---- */

/* min_docs is 1, so that the codes serve every --min-docs. */
static struct rw_cut_rule cache_rule(const struct rw_params *params)
{
    return (struct rw_cut_rule){
        .bins = params->bins, .absent_missing = params->absent == 1, .min_docs = 1};
}

int rw_dataset_write_cache(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                           const struct rw_params *params, const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = cache_rule(params);
    struct rw_bins *bins RW_SCOPED(rw_bins_free) = NULL;
    if (rw_cache_has_words(dataset)) /* text values become codes only in a training */
        return rw_cache_write(ctx, dataset, NULL, path);
    RW_TRY(rw_bins_make_training(ctx, dataset, &rule, &bins));
    return rw_cache_write(ctx, dataset, bins, path);
}

/* The cache file to write, and the rule of its bins. */
struct cache_to {
    const char *path;
    const struct rw_cut_rule *rule;
};

/* rw_read_goal.bins_text: opens the cache file for the values, and sets the rule. Returns 0 if the
 * path cannot be opened or cannot be an ordinary file. The cache is then written after all values
 * were read; a path that cannot be written fails only there. */
static int opens_values(struct rw_ctx *ctx, struct rw_read_goal *goal)
{
    const struct cache_to *to = goal->user;
    if (goal->values)
        return 1;
    if (rw_cache_values_open(ctx, to->path, &goal->values) < 0 || !goal->values)
        return 0;
    goal->rule = to->rule;
    return 1;
}

int rw_dataset_cache_files(struct rw_ctx *ctx, const struct rw_params *params,
                           const char *const *paths, int n_paths, const char *path)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = cache_rule(params);
    const struct cache_to to = {path, &rule};
    struct rw_read_goal goal = {.bins_text = params->categorical[0] ? NULL : opens_values,
                                .user = &to};
    struct rw_binned binned = {.documents = NULL};
    const int n_before = rw_ctx_n_tables(ctx);
    int status;
    if (rw_n_workers(ctx) > 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a cache can be made by one worker only, not by %d",
                       rw_n_workers(ctx));
    RW_TRY(rw_params_check_not_input(ctx, params, path));
    for (int i = 0; i < n_paths; i++)
        RW_TRY(rw_check_not_input(ctx, path, paths[i]));
    RW_TRY_OUT(rw_files_read(ctx, paths, n_paths, &goal, &binned));
    RW_TRY_OUT(rw_ctx_n_tables(ctx) > n_before ? RW_OK
                                               : rw_params_check(ctx, params, RW_PARAMS_NO_TABLE));
    RW_TRY_OUT(rw_columns_check_categorical(ctx, binned.documents));
    if (params->labels[0])
        RW_TRY_OUT(rw_dataset_read_side_column(ctx, binned.documents, "labels", params->labels));
    if (binned.bins) {
        status = rw_cache_values_finish(ctx, goal.values, &binned);
        goto out;
    }
    rw_cache_values_close(
        goal.values); /* frees memory: the next step may need room for the whole file */
    goal.values = NULL;
    RW_TRY_OUT(rw_dataset_write_cache(ctx, binned.documents, params, path));
out:
    rw_binned_release(&binned);
    rw_cache_values_close(goal.values);
    return status;
}

/* ---- training sets ---- */

/* Returns 0 if training runs on a GPU, or might, and the values must be kept for this reason: a GPU
 * makes the codes itself. With `categorical`, the functions that read data keep the values anyway,
 * so the device `auto` then counts as the host. */
static int trains_on_host(struct rw_ctx *ctx, const struct rw_params *params)
{
    if (strncmp(params->device, "cuda", 4) == 0)
        return 0;
    return params->categorical[0] || strcmp(params->device, "auto") != 0 ||
           rw_device_check(ctx, "cuda") < 0;
}

static int bins_text(struct rw_ctx *ctx, struct rw_read_goal *goal)
{
    return trains_on_host(ctx, goal->user);
}

static int read_binned(struct rw_ctx *ctx, const struct rw_params *params, const char *const *paths,
                       int n_paths, struct rw_binned **out)
{
    const struct rw_cut_rule rule = rw_params_cut_rule(params);
    struct rw_read_goal goal = {.rule = &rule, .bins_text = bins_text, .user = params};
    /* text values become codes when all of them are known; folds are selected from values */
    if (params->categorical[0] || rw_params_by_folds(params))
        goal = (struct rw_read_goal){.rule = NULL};
    struct rw_binned *binned RW_SCOPED(rw_binned_free) = NULL;
    *out = NULL;
    RW_TRY(rw_comm_agree(ctx, rw_device_check(ctx, params->device)));
    RW_TRY(rw_comm_agree(ctx, RW_NEW(ctx, binned, 1)));
    RW_TRY(rw_files_read(ctx, paths, n_paths, &goal, binned));
    RW_TRY(rw_comm_agree(ctx, RW_NEW(ctx, binned->cache, 1)));
    *out = RW_TAKE(binned);
    return RW_OK;
}

int rw_binned_from_table(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_table *table, struct rw_binned **out)
{
    RW_DEFAULT_FPENV;
    const struct rw_cut_rule rule = rw_params_cut_rule(params);
    struct rw_binned *binned RW_SCOPED(rw_binned_free) = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, binned, 1));
    if (params->categorical[0])
        RW_TRY(rw_dataset_from_table(ctx, table, &binned->documents));
    else if (rw_table_is_streamed(table))
        RW_TRY(rw_stream_codes(ctx, table, &rule, RW_STREAM_CHUNK_DOCS, binned));
    else if (rw_n_workers(ctx) > 1) { /* workers need the values to find bin boundaries together */
        RW_TRY(rw_comm_agree(ctx, rw_dataset_from_table(ctx, table, &binned->documents)));
        RW_TRY(rw_dataset_codes(ctx, binned->documents, &rule, binned));
        rw_dataset_drop_values(binned->documents);
    } else
        RW_TRY(trains_on_host(ctx, params) ? rw_table_codes(ctx, table, &rule, binned)
                                           : rw_dataset_from_table(ctx, table, &binned->documents));
    RW_TRY(RW_NEW(ctx, binned->cache, 1));
    *out = RW_TAKE(binned);
    return RW_OK;
}

/* ---- validation sets ---- */

/* The codes of the documents read so far. */
struct coding {
    struct rw_ctx *ctx;          /* borrowed */
    const struct rw_bins *train; /* borrowed */
    struct rw_bins **part;       /* [n_parts] one per call of code_some; owned */
    size_t n_parts, part_room;
    uint32_t n_ids; /* one more than the largest feature id so far */
};

static int code_some(void *user, const struct rw_dataset *some)
{
    struct coding *c = user;
    const uint32_t n_ids = some->n_columns ? some->column[some->n_columns - 1].feature + 1 : 0;
    c->n_ids = n_ids > c->n_ids ? n_ids : c->n_ids;
    RW_TRY(RW_GROW(c->ctx, c->part, c->part_room, c->n_parts + 1));
    RW_TRY(rw_bins_make(c->ctx, some, c->train->cuts, &c->train->rule, 0, &c->part[c->n_parts]));
    c->n_parts++;
    return RW_OK;
}

static int read_codes(struct rw_ctx *ctx, const struct rw_bins *train, const char *const *paths,
                      int n_paths, struct rw_dataset **out)
{
    struct coding c = {.ctx = ctx, .train = train};
    int status;
    RW_TRY_OUT(rw_files_read_documents(
        ctx, paths, n_paths, (struct rw_read_goal){.take = code_some, .take_user = &c}, out));
    RW_TRY_OUT(rw_bins_join(ctx, c.part, (uint32_t)c.n_parts, train->cuts, &train->rule,
                            &(*out)->codes.bins));
    (*out)->codes.free = rw_bins_free;
    (*out)->codes.n_ids = c.n_ids;
out:
    for (size_t i = 0; i < c.n_parts; i++)
        rw_bins_free(c.part[i]);
    rw_mem_free(c.part);
    return status;
}

/* Writes 1 to *any if some worker trains on a GPU or might. In this case all workers keep
 * values. */
static int any_gpu(struct rw_ctx *ctx, const struct rw_params *params, uint64_t *any)
{
    *any = !trains_on_host(ctx, params);
    return rw_comm_max(ctx, any, 1);
}

int rw_binned_read_valid(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_binned *train, const char *const *paths, int n_paths,
                         struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    struct rw_dataset *coded RW_SCOPED(rw_dataset_free) = NULL;
    uint64_t gpu = 0;
    *out = NULL;
    RW_TRY(any_gpu(ctx, params, &gpu));
    if (!train->bins || gpu)
        return rw_dataset_read(ctx, paths, n_paths, out);
    RW_TRY(rw_comm_agree(ctx, read_codes(ctx, train->bins, paths, n_paths, &coded)));
    *out = RW_TAKE(coded);
    return RW_OK;
}

/* ---- continuing from a model ---- */

/* The model's scores of the documents read so far. */
struct init_scores {
    struct rw_ctx *ctx;          /* borrowed */
    const struct rw_model *init; /* borrowed */
    double *scores;              /* [n_docs] borrowed */
    uint32_t n_docs, n_scored;   /* number of documents, and of those with scores so far */
};

static int score_some(void *user, const struct rw_dataset *some)
{
    struct init_scores *s = user;
    if (some->n_docs > s->n_docs - s->n_scored)
        return RW_OK; /* the length differs, so the file has changed */
    RW_TRY(rw_predict(s->ctx, s->init, some, 0, s->scores + s->n_scored));
    s->n_scored += some->n_docs;
    return RW_OK;
}

/* Reads the files once more and computes the scores. */
static int score_files(struct rw_ctx *ctx, const struct rw_model *init, const char *const *paths,
                       int n_paths, struct rw_binned *binned)
{
    struct init_scores s = {.ctx = ctx, .init = init, .n_docs = binned->documents->n_docs};
    struct rw_dataset *again RW_SCOPED(rw_dataset_free) = NULL;
    RW_TRY(rw_comm_agree(ctx, RW_NEW_RAW(ctx, binned->scores, s.n_docs)));
    s.scores = binned->scores;
    RW_TRY(rw_files_read_documents(
        ctx, paths, n_paths, (struct rw_read_goal){.take = score_some, .take_user = &s}, &again));
    binned->scored = init;
    return rw_dataset_same_judgments(binned->documents, again) && s.n_scored == s.n_docs
               ? RW_OK
               : rw_fail(ctx, RW_ERR_DATA, "'%s'%s changed while it was being read", paths[0],
                         n_paths > 1 ? " or another file" : "");
}

static int read_values(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                       struct rw_binned **out)
{
    RW_TRY(rw_comm_agree(ctx, RW_NEW(ctx, *out, 1)));
    return rw_dataset_read(ctx, paths, n_paths, &(*out)->documents);
}

static int read_init(struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_model *init, const char *const *paths, int n_paths,
                     struct rw_binned **out)
{
    for (int i = 0; i < n_paths; i++) {
        if (rw_spool_is_once(ctx, paths[i])) /* a cache from a pipe, which cannot be read again */
            return read_values(ctx, paths, n_paths, out);
    }
    RW_TRY(read_binned(ctx, params, paths, n_paths, out));
    return (*out)->bins ? score_files(ctx, init, paths, n_paths, *out) : RW_OK;
}

int rw_binned_read(struct rw_ctx *ctx, const struct rw_params *params, const struct rw_model *init,
                   const char *const *paths, int n_paths, struct rw_binned **out)
{
    RW_DEFAULT_FPENV;
    struct rw_binned *binned RW_SCOPED(rw_binned_free) = NULL;
    struct rw_params shallow = *params; /* texts are borrowed */
    const char *start_file = rw_params_file(&shallow, rw_param_find("start-scores"));
    uint64_t gpu = 0;
    *out = NULL;
    if (!init)
        return read_binned(ctx, params, paths, n_paths, out);
    RW_TRY(any_gpu(ctx, params, &gpu));
    /* Values are needed on a GPU, which makes codes itself, and to compute metrics of each of
     * the model's rounds. They are also needed with start scores, to which the model's trees are
     * added one by one, and for categorical features, which become codes when all categories are
     * known. */
    int status;
    if (gpu || params->metric_on_train || start_file || init->categories.n) {
        status = read_values(ctx, paths, n_paths, &binned);
    } else {
        struct rw_read_goal goal = {.bins_text = bins_text, .user = params};
        const int is_kept = rw_spool_begin(ctx, paths, n_paths, &goal);
        status = is_kept < 0 ? is_kept : read_init(ctx, params, init, paths, n_paths, &binned);
        rw_spool_end(ctx, is_kept);
    }
    RW_TRY(rw_comm_agree(ctx, status));
    *out = RW_TAKE(binned);
    return RW_OK;
}

/* ---- one pair of sets for several trainings ---- */

int rw_resident_init(struct rw_resident *r, struct rw_ctx *ctx, const struct rw_params *params,
                     const struct rw_binned *train, const struct rw_dataset *valid)
{
    const struct rw_cut_rule rule = rw_params_cut_rule(params);
    *r = (struct rw_resident){.train = *train, .valid = *valid};
    if (!train->bins && (params->categorical[0] || train->documents->vocabulary))
        return RW_OK;
    if (!train->bins) {
        RW_TRY(rw_bins_make_training(ctx, train->documents, &rule, &r->made));
        r->train.bins = r->made;
        r->train.cache = NULL; /* it is for codes that a GPU makes from values */
    }
    r->train.cache = r->train.cache ? r->train.cache : &r->cache;
    if (!trains_on_host(ctx, params))
        return RW_OK;
    const struct rw_bins *bins = r->train.bins;
    RW_TRY(rw_bins_make(ctx, valid, bins->cuts, &bins->rule, 0, &r->codes));
    r->valid.codes.bins = r->codes;
    r->valid.codes.free = NULL;
    return RW_OK;
}

int rw_resident_train(const struct rw_resident *r, struct rw_ctx *ctx,
                      const struct rw_params *params, const struct rw_train_hooks *hooks,
                      const struct rw_trial *trial, struct rw_model **out)
{
    const struct rw_dataset *const valid[] = {&r->valid};
    const struct rw_training training = {
        .binned = &r->train, .valid = valid, .n_valid = 1, .hooks = hooks};
    return rw_train_further(ctx, params, &training, trial, out);
}

int rw_resident_at_once(const struct rw_resident *r, struct rw_ctx *ctx,
                        const struct rw_params *params)
{
    enum { MOST_ON_GPU = 4 }; /* more hardly overlap any better */
    const struct rw_dataset *const valid[] = {&r->valid};
    const struct rw_training training = {.binned = &r->train, .valid = valid, .n_valid = 1};
    struct rw_plan plan;
    uint64_t allowed = 0;
    const int is_auto = strcmp(params->device, "auto") == 0;
    const int on_host =
        is_auto ? rw_device_check(ctx, "cuda") < 0 : strncmp(params->device, "cuda", 4) != 0;
    if (r->codes || on_host) /* there are no codes if there are categories */
        return r->train.documents->n_docs <= RW_MOST_DOCS_SIDE_BY_SIDE ? ctx->n_threads : 1;
    const int status = rw_train_plan(ctx, params, &training, &plan);
    rw_params_bytes(params->gpu_memory, &allowed);
    if (status == RW_ERR_MEMORY || (status >= 0 && !plan.on_gpu) || allowed)
        return 1;
    RW_TRY(status);
    const uint64_t fit = plan.free_bytes / (plan.most_bytes ? plan.most_bytes : 1);
    const int most = ctx->n_threads < MOST_ON_GPU ? ctx->n_threads : MOST_ON_GPU;
    return fit < 1 ? 1 : fit < (uint64_t)most ? (int)fit : most;
}

void rw_resident_release(struct rw_resident *r)
{
    if (r->cache.free)
        r->cache.free(&r->cache.data);
    rw_bins_free(r->codes);
    rw_bins_free(r->made);
}
