/* Files of LETOR text as codes. A plain file is kept open between the passes, and any thread reads
 * any chunk of it; gzip is unpacked in each pass. */
#include <sys/stat.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "io/cache/cache.h"
#include "io/data_format.h"
#include "io/input.h"
#include "io/source.h"
#include "io/text.h"

struct text_file {
    struct rw_input *input; /* owned */
    struct rw_text *letor;  /* owned */
    struct rw_range range;  /* what a worker reads of it */
    int path;
    int is_stream;        /* its chunks come one after the other */
    uint32_t first_chunk; /* of all files' */
};

struct text {
    struct rw_source source;
    struct text_file *file; /* [n_files] owned */
    uint32_t n_files;
    const struct rw_text *letor; /* of the file at work */
    struct rw_seen *seen;        /* owned */
    size_t chunk_bytes;
    const char *const *paths; /* [n_paths] borrowed */
    int n_paths;
    struct rw_shard *part;          /* NULL: all of all files; borrowed */
    struct rw_read_goal *goal;      /* of all of all files; borrowed */
    struct rw_cache_values *values; /* the goal's, or NULL */
    struct rw_text_worker *worker;  /* [n_threads] owned */
    struct rw_binned *out;          /* borrowed */
};

static void text_release(struct text *t)
{
    for (int i = 0; t->worker && i < t->source.ctx->n_threads; i++)
        rw_text_worker_release(&t->worker[i]);
    for (uint32_t i = 0; t->file && i < t->n_files; i++) {
        rw_text_close(t->file[i].letor);
        rw_input_close(t->file[i].input);
    }
    rw_seen_free(t->seen);
    rw_mem_free(t->worker);
    rw_mem_free(t->file);
}

/* 0: so small, or of such a kind, that they need not be opened. */
static int may_be_large(const struct rw_ctx *ctx, const char *const *paths, int n_paths)
{
    enum { LEAST_LINE = 8, MOST_PACKED = 40 }; /* "0 qid:1" and the line's end; times, by gzip */
    struct stat info;
    uint64_t n_bytes = 0, n_kept = 0;
    /* opening a pipe and closing it again would lose what is in it, unless it is kept */
    for (int i = 0; i < n_paths; i++) {
        if (rw_spool_size(ctx, paths[i], &n_kept)) {
            n_bytes += n_kept;
            continue;
        }
        if (strcmp(paths[i], "-") == 0 || stat(paths[i], &info) != 0 || !S_ISREG(info.st_mode))
            return 0;
        n_bytes += (uint64_t)info.st_size;
    }
    return n_bytes * MOST_PACKED / LEAST_LINE > rw_cut_sample_docs;
}

/* Opens a file, for the first pass or again. Returns 0 if it is no LETOR text, or can be read but
 * once. */
static int open_file(const struct text *t, struct text_file *file)
{
    struct rw_ctx *ctx = t->source.ctx;
    uint64_t n_bytes;
    rw_text_close(file->letor);
    rw_input_close(file->input);
    file->letor = NULL;
    file->input = NULL;
    RW_TRY(rw_input_open(ctx, t->paths[file->path], &file->input));
    file->is_stream = rw_input_is_packed(file->input, &n_bytes);
    if (rw_data_format_of(ctx, file->input) != &rw_data_format_letor ||
        (!file->is_stream && !rw_input_is_seekable(file->input, &n_bytes)))
        return 0;
    if (t->part && !file->is_stream)
        RW_TRY(rw_text_open(ctx, &rw_letor_text, file->input, &file->range, NULL, t->chunk_bytes,
                            &file->letor));
    else
        RW_TRY(rw_text_open(ctx, &rw_letor_text, file->input, NULL, t->seen, t->chunk_bytes,
                            &file->letor));
    return 1;
}

/* Opens all files, or those of the part. Returns 1, or 0 if one is not to be read so. */
static int open_files(struct text *t)
{
    int first = 0, end = t->n_paths, is_text = 1;
    if (t->part)
        rw_shard_files(t->part, &first, &end);
    RW_TRY(RW_NEW(t->source.ctx, t->file, (size_t)(end - first)));
    for (int path = first; path < end && is_text > 0; path++) {
        struct text_file *file = &t->file[t->n_files++];
        file->path = path;
        if (t->part)
            file->range = rw_shard_range(t->part, path);
        is_text = open_file(t, file);
    }
    return is_text;
}

/* Returns 1 if files that are open look like enough documents, so that the pass that counts them is
 * not for nothing. */
static int look_enough(const struct text *t)
{
    const uint64_t limit = rw_cut_sample_docs;
    uint64_t n_lines = 0;
    for (uint32_t i = 0; i < t->n_files; i++)
        n_lines += rw_text_guess_lines(t->file[i].letor);
    return n_lines > limit + limit / 32;
}

/* How many documents the chunks of a file have, after those of the files before. */
static int add_chunks(struct rw_source *source, struct text_file *file)
{
    uint64_t n;
    const uint32_t *docs = rw_text_chunk_docs(file->letor, &n);
    if (n > UINT32_MAX / 2 - source->n_chunks)
        return RW_ERR_UNSUPPORTED;
    RW_TRY(
        RW_GROW(source->ctx, source->first_doc, source->first_doc_room, source->n_chunks + n + 1));
    file->first_chunk = source->n_chunks;
    for (uint64_t i = 0; i < n; i++, source->n_chunks++)
        source->first_doc[source->n_chunks + 1] = source->first_doc[source->n_chunks] + docs[i];
    return RW_OK;
}

/* The data set but for its features. */
static int skim(struct text *t)
{
    struct rw_source *source = &t->source;
    struct rw_ctx *ctx = source->ctx;
    struct rw_builder_list list RW_RELEASED(rw_builder_list_release) = {0};
    RW_TRY(RW_GROW(ctx, source->first_doc, source->first_doc_room, 1));
    source->first_doc[0] = 0;
    for (uint32_t i = 0; i < t->n_files; i++) {
        struct text_file *file = &t->file[i];
        int more = 1;
        file->letor->want = RW_TEXT_SKIM;
        while (more)
            RW_TRY(rw_text_next(ctx, file->letor, &list, &more));
        RW_TRY(add_chunks(source, file));
    }
    if (t->part && t->n_files)
        t->part->range = t->file[t->n_files - 1].range;
    RW_TRY(rw_builder_finish(ctx, list.builder, (int)list.n, &t->out->documents));
    source->documents = t->out->documents;
    return RW_OK;
}

/* ---- a pass ---- */

struct pass_job {
    struct text *text;
    uint32_t first_chunk, n_chunks; /* of the file at work, as it was skimmed */
    uint32_t n_read;                /* of these, by all threads */
};

static int read_chunk(void *user, uint64_t number, int thread)
{
    struct pass_job *job = user;
    struct text *t = job->text;
    struct rw_source *source = &t->source;
    struct rw_text_worker *worker = &t->worker[thread];
    __atomic_fetch_add(&job->n_read, 1, __ATOMIC_RELAXED);
    if (number >= job->n_chunks)
        return RW_ERR_DATA;
    const uint32_t chunk = job->first_chunk + (uint32_t)number, first = source->first_doc[chunk];
    worker->pick.n_docs = source->first_doc[chunk + 1] - first;
    worker->pick.label = source->documents->label + first;
    worker->pick.in = source->sample.in ? source->sample.in + first : NULL;
    worker->pick.which = (uint8_t)source->sampled;
    int status = rw_text_pick(t->letor, number, worker);
    worker->n_clamped += worker->builder.n_clamped;
    if (status >= 0)
        status = rw_source_take(source, chunk, thread, &worker->builder, worker->pick.row);
    rw_builder_empty(&worker->builder);
    return status;
}

/* What is no plain file is opened again. */
static int read_file(struct text *t, uint32_t i)
{
    struct text_file *file = &t->file[i];
    struct pass_job job = {.text = t, .first_chunk = file->first_chunk};
    const uint32_t end = i + 1 < t->n_files ? file[1].first_chunk : t->source.n_chunks;
    if (file->is_stream) {
        const int is_text = open_file(t, file);
        if (is_text <= 0 || !file->is_stream)
            return is_text < 0 ? is_text : RW_ERR_DATA;
    }
    file->letor->want = RW_TEXT_PICK;
    t->letor = file->letor;
    job.n_chunks = end - file->first_chunk;
    RW_TRY(rw_text_each(t->source.ctx, file->letor, read_chunk, &job));
    return job.n_read == job.n_chunks ? RW_OK : RW_ERR_DATA; /* it became shorter */
}

/* While boundaries are found, memory is at its peak, and no thread reads. */
static void rest(struct text *t)
{
    for (int i = 0; i < t->source.ctx->n_threads; i++) {
        struct rw_text_worker *worker = &t->worker[i];
        const struct rw_text_worker fresh = {.fast = worker->fast, .n_clamped = worker->n_clamped};
        rw_text_worker_release(worker);
        *worker = fresh;
    }
}

static int fail_changed(const struct text *t)
{
    return rw_fail(t->source.ctx, RW_ERR_DATA, "'%s'%s changed while it was read", t->paths[0],
                   t->n_paths > 1 ? " or another" : "");
}

static int make_workers(struct text *t)
{
    const int n_threads = t->source.ctx->n_threads;
    if (t->worker)
        return RW_OK;
    RW_TRY(RW_NEW(t->source.ctx, t->worker, (size_t)n_threads));
    for (int i = 0; i < n_threads; i++)
        t->worker[i].fast = rw_letor_fast(0);
    return RW_OK;
}

/* Of several failures any. */
static int read_pass(struct rw_source *source)
{
    struct text *t = source->self;
    struct rw_ctx *ctx = source->ctx;
    int worst = make_workers(t);
    for (uint32_t i = 0; i < t->n_files && worst >= 0; i++)
        worst = read_file(t, i);
    if (source->sampled)
        rest(t);
    if (worst == RW_ERR_DATA)
        return fail_changed(t);
    if (worst == RW_ERR_MEMORY)
        return rw_fail(ctx, worst, "out of memory while reading '%s'%s", t->paths[0],
                       t->n_paths > 1 ? " ..." : "");
    if (worst == RW_ERR_IO && t->values)
        return rw_cache_values_fail(ctx, t->values);
    return worst;
}

/* ---- values on their way to a cache ---- */

/* Where the cache has the values is to be known before they are. Returns 0 if it is not. */
static int begin_values(struct rw_source *source)
{
    struct text *t = source->self;
    uint16_t *feature;
    uint32_t n_features = 0;
    int status = 1;
    if (!t->values)
        return 1;
    RW_TRY(RW_NEW_RAW(source->ctx, feature, RW_FEATURE_IDS));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t n = source->chunks.feature[f].n_present;
        if (n)
            feature[n_features++] = (uint16_t)f;
        status &= n == 0 || rw_column_is_dense(n, source->sample.n);
    }
    if (status && rw_cache_values_begin(source->ctx, t->values, feature, n_features,
                                        source->documents->n_docs) < 0)
        status = RW_ERR_MEMORY;
    rw_mem_free(feature);
    source->chunks.take = rw_cache_values_take;
    source->chunks.take_user = t->values;
    return status;
}

/* Are all values in the cache, and all columns of the kind that it expects? */
static int values_are_whole(const struct text *t)
{
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t n = t->source.chunks.feature[f].n_present;
        if (n && !rw_column_is_dense(n, t->source.documents->n_docs))
            return 0;
    }
    return rw_cache_values_are_whole(t->values, t->out->n_features);
}

static int end_text(struct rw_source *source)
{
    struct text *t = source->self;
    struct rw_dataset *documents = t->out->documents;
    if (t->values && !values_are_whole(t))
        return 0;
    for (int i = 0; i < source->ctx->n_threads; i++)
        documents->n_clamped += t->worker[i].n_clamped;
    RW_TRY(rw_together_note_clamped(source->ctx, documents->n_clamped));
    return 1;
}

/* ---- all of the text ---- */

static int open_all(struct rw_source *source)
{
    struct text *t = source->self;
    RW_TRY(rw_seen_new(source->ctx, &t->seen));
    const int is_text = open_files(t);
    if (is_text <= 0)
        return is_text;
    if (!look_enough(t) || !t->goal->bins_text(source->ctx, t->goal))
        return 0;
    source->rule = t->goal->rule;
    t->values = t->goal->values;
    RW_TRY(skim(t));
    return source->documents->n_docs > rw_cut_sample_docs;
}

static int run(struct text *t, const struct rw_source_kind *kind)
{
    t->source.kind = kind;
    t->source.self = t;
    t->chunk_bytes = rw_text_chunk_bytes(t->source.ctx, t->chunk_bytes);
    const int status = rw_source_codes(&t->source, t->out);
    text_release(t);
    if (status <= 0)
        rw_binned_release(t->out);
    return status;
}

int rw_text_codes(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, size_t chunk_bytes, struct rw_binned *out)
{
    static const struct rw_source_kind kind = {
        .open = open_all, .pass = read_pass, .bounded = begin_values, .done = end_text};
    struct text t = {.source.ctx = ctx,
                     .chunk_bytes = chunk_bytes,
                     .paths = paths,
                     .n_paths = n_paths,
                     .goal = goal,
                     .out = out};
    if (!may_be_large(ctx, paths, n_paths))
        return RW_OK;
    const int status = run(&t, &kind);
    /* a text that is wrong is read again as a whole, for the first mistake is to be reported */
    return status == RW_ERR_MEMORY || status == RW_ERR_DATA || status == RW_ERR_INTERRUPTED ? status
                                                                                            : RW_OK;
}

/* ---- a worker's part ---- */

/* All workers meet. Text that is wrong is read again with its values: that finds the first mistake
 * of this worker's text, and the words for it. */
static int explain(struct rw_source *source, int status)
{
    const struct text *t = source->self;
    struct rw_ctx *ctx = source->ctx;
    if (status < 0 && status != RW_ERR_MEMORY && status != RW_ERR_DATA &&
        status != RW_ERR_INTERRUPTED) {
        struct rw_binned again = {.documents = NULL};
        const int is_machines = status == RW_ERR_IO || status == RW_ERR_MACHINE;
        status = rw_shard_read(ctx, t->paths, t->n_paths, t->part,
                               &(struct rw_read_goal){.rule = NULL}, &again);
        if (status >= 0 && is_machines)
            status = rw_fail(ctx, RW_ERR_MACHINE,
                             "cannot read '%s'%s: it failed, and did not when it was tried again",
                             t->paths[0], t->n_paths > 1 ? " or another" : "");
        else if (status >= 0)
            status = fail_changed(t);
        rw_binned_release(&again);
    }
    return rw_comm_agree(ctx, status);
}

static int open_part(struct rw_source *source)
{
    struct text *t = source->self;
    int status = open_files(t);
    if (status >= 0)
        status = status ? skim(t) : fail_changed(t);
    RW_TRY(explain(source, status));
    RW_TRY(rw_together_check(source->ctx, t->paths, t->part, 1, t->out->documents));
    return 1;
}

int rw_text_part_codes(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                       const struct rw_cut_rule *rule, size_t chunk_bytes, struct rw_shard *part,
                       struct rw_binned *out)
{
    static const struct rw_source_kind kind = {
        .open = open_part, .pass = read_pass, .done = end_text, .agree = explain};
    struct text t = {.source = {.ctx = ctx, .rule = rule},
                     .chunk_bytes = chunk_bytes,
                     .paths = paths,
                     .n_paths = n_paths,
                     .part = part,
                     .out = out};
    const int status = run(&t, &kind);
    return status < 0 ? status : RW_OK;
}
