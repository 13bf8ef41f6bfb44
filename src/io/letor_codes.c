/* Large files of LETOR text as codes (binning/pieces.h). Three passes: labels, queries and comments
 * of all lines; entries of the sampled documents; entries of the others. So every entry is parsed
 * once, and never are all values in memory. A plain file is kept open between passes; gzip is
 * unpacked anew in each. */
#include <sys/stat.h>

#include "base/mem.h"
#include "binning/pieces.h"
#include "comm/comm.h"
#include "io/cache.h"
#include "io/data_format.h"
#include "io/letor.h"
#include "io/own_part.h"
#include "io/spool.h"
#include "io/together.h"

struct source {
    struct rw_input *input; /* owned */
    struct rw_letor *letor; /* owned */
    struct rw_range range;  /* what a rank reads of it */
    int file;               /* of the paths */
    int is_stream;          /* its pieces come one after the other */
    uint32_t first_piece;   /* of all files' */
};

struct reading {
    struct rw_ctx *ctx;
    struct source *source; /* [n_sources] owned */
    uint32_t n_sources;
    struct rw_seen *seen; /* owned */
    size_t chunk_bytes;
    const char *const *paths; /* [n_paths] borrowed */
    int n_paths;
    struct rw_own_part *part;       /* NULL: all of all files; borrowed */
    struct rw_cache_values *values; /* borrowed, or NULL */
    uint32_t n_pieces;
    uint32_t *first_doc; /* [n_pieces + 1] documents before each piece; owned */
    size_t first_doc_room;
    struct rw_letor_worker *worker; /* [n_threads] owned */
    int n_threads;
    struct rw_cut_sample sample;
    struct rw_pieces pieces;
    struct rw_binned binned; /* owned until done */
};

static void reading_release(struct reading *r)
{
    rw_pieces_release(&r->pieces);
    rw_cut_sample_release(&r->sample);
    for (int t = 0; r->worker && t < r->n_threads; t++)
        rw_letor_worker_release(&r->worker[t]);
    for (uint32_t i = 0; r->source && i < r->n_sources; i++) {
        rw_letor_close(r->source[i].letor);
        rw_input_close(r->source[i].input);
    }
    rw_seen_free(r->seen);
    rw_mem_free(r->worker);
    rw_mem_free(r->source);
    rw_mem_free(r->first_doc);
    rw_binned_release(&r->binned);
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
static int open_source(struct reading *r, struct source *source)
{
    uint64_t n_bytes;
    rw_letor_close(source->letor);
    rw_input_close(source->input);
    source->letor = NULL;
    source->input = NULL;
    RW_TRY(rw_input_open(r->ctx, r->paths[source->file], &source->input));
    source->is_stream = rw_input_is_packed(source->input, &n_bytes);
    if (rw_data_format_of(r->ctx, source->input) != &rw_data_format_letor ||
        (!source->is_stream && !rw_input_is_seekable(source->input, &n_bytes)))
        return 0;
    if (r->part && !source->is_stream)
        RW_TRY(rw_letor_open_range(r->ctx, source->input, &source->range, r->chunk_bytes,
                                   &source->letor));
    else
        RW_TRY(rw_letor_open(r->ctx, source->input, r->seen, r->chunk_bytes, &source->letor));
    return 1;
}

/* Opens all files, or those of the part. Returns 1, or 0 if one is no plain text. */
static int open_sources(struct reading *r)
{
    int first = 0, end = r->n_paths, is_text = 1;
    if (r->part)
        rw_own_part_files(r->part, &first, &end);
    RW_TRY(RW_NEW(r->ctx, r->source, (size_t)(end - first)));
    for (int file = first; file < end && is_text > 0; file++) {
        struct source *source = &r->source[r->n_sources++];
        source->file = file;
        if (r->part)
            source->range = rw_own_part_range(r->part, file);
        is_text = open_source(r, source);
    }
    return is_text;
}

/* Returns 1 if files that are open look like enough documents, so that the pass that counts them is
 * not for nothing. */
static int look_enough(const struct reading *r)
{
    const uint64_t limit = rw_cut_sample_docs;
    uint64_t n_lines = 0;
    for (uint32_t i = 0; i < r->n_sources; i++)
        n_lines += rw_letor_guess_lines(r->source[i].letor);
    return n_lines > limit + limit / 32;
}

/* How many documents the pieces of a source have, behind those before. */
static int add_pieces(struct reading *r, struct source *source)
{
    uint64_t n;
    const uint32_t *docs = rw_letor_piece_docs(source->letor, &n);
    if (n > UINT32_MAX / 2 - r->n_pieces)
        return RW_ERR_UNSUPPORTED;
    RW_TRY(RW_GROW(r->ctx, r->first_doc, r->first_doc_room, r->n_pieces + n + 1));
    source->first_piece = r->n_pieces;
    for (uint64_t i = 0; i < n; i++, r->n_pieces++)
        r->first_doc[r->n_pieces + 1] = r->first_doc[r->n_pieces] + docs[i];
    return RW_OK;
}

/* The data set but for its features. */
static int skim(struct reading *r)
{
    struct rw_ctx *ctx = r->ctx;
    struct rw_builder_list list = {0};
    int status;
    RW_TRY_OUT(RW_GROW(ctx, r->first_doc, r->first_doc_room, 1));
    r->first_doc[0] = 0;
    for (uint32_t i = 0; i < r->n_sources; i++) {
        struct source *source = &r->source[i];
        int more = 1;
        rw_letor_skim(source->letor);
        while (more)
            RW_TRY_OUT(rw_letor_next(ctx, source->letor, &list, &more));
        RW_TRY_OUT(add_pieces(r, source));
    }
    if (r->part && r->n_sources)
        r->part->range = r->source[r->n_sources - 1].range;
    RW_TRY_OUT(rw_builder_finish(ctx, list.builder, (int)list.n, &r->binned.documents));
out:
    rw_builder_list_release(&list);
    return status;
}

/* ---- documents of a piece ---- */

static const struct source *source_of(const struct reading *r, uint32_t piece)
{
    uint32_t i = r->n_sources - 1;
    while (r->source[i].first_piece > piece)
        i--;
    return &r->source[i];
}

struct pieces_job {
    struct reading *reading;
    const struct source *source; /* the stream at work; borrowed */
    uint8_t sampled;             /* 1: the sampled documents; 0: the others */
    int has_failed;              /* by any thread: all stop */
    uint32_t n_read;             /* pieces of the stream, by all threads */
};

static int read_piece(const struct pieces_job *job, uint32_t p, int thread)
{
    struct reading *r = job->reading;
    const struct source *source = source_of(r, p);
    struct rw_letor_worker *worker = &r->worker[thread];
    const uint32_t first = r->first_doc[p];
    worker->pick.n_docs = r->first_doc[p + 1] - first;
    worker->pick.label = r->binned.documents->label + first;
    worker->pick.in = r->sample.in ? r->sample.in + first : NULL;
    worker->pick.which = job->sampled;
    const int any = job->sampled || r->sample.in; /* else all are held */
    int status = any ? rw_letor_pick(source->letor, p - source->first_piece, worker) : RW_OK;
    worker->n_clamped += worker->builder.n_clamped;
    if (status >= 0 && job->sampled)
        status = rw_pieces_hold(&r->pieces, p, thread, &worker->builder);
    else if (status >= 0)
        status = rw_pieces_add(&r->pieces, p, thread, &worker->builder, worker->pick.row);
    rw_builder_empty(&worker->builder);
    return status;
}

static int read_some(void *user, struct rw_share *share)
{
    struct pieces_job *job = user;
    for (uint64_t p, end; rw_share_next(share, &p, &end);) {
        if (__atomic_load_n(&job->has_failed, __ATOMIC_RELAXED))
            return RW_OK;
        if (source_of(job->reading, (uint32_t)p)->is_stream)
            continue;
        const int status = read_piece(job, (uint32_t)p, share->thread);
        if (status < 0) {
            __atomic_store_n(&job->has_failed, 1, __ATOMIC_RELAXED);
            return status;
        }
    }
    return RW_OK;
}

static int read_one(void *user, uint64_t piece, int thread)
{
    struct pieces_job *job = user;
    const uint32_t p = job->source->first_piece + (uint32_t)piece;
    const int is_known = p < job->reading->n_pieces && source_of(job->reading, p) == job->source;
    __atomic_fetch_add(&job->n_read, 1, __ATOMIC_RELAXED);
    return is_known ? read_piece(job, p, thread) : RW_ERR_DATA;
}

/* What can be read once a pass. */
static int read_streams(struct pieces_job *job)
{
    struct reading *r = job->reading;
    for (uint32_t i = 0; i < r->n_sources; i++) {
        struct source *source = &r->source[i];
        if (!source->is_stream)
            continue;
        job->source = source;
        const int is_text = open_source(r, source);
        if (is_text <= 0 || !source->is_stream)
            return is_text < 0 ? is_text : RW_ERR_DATA;
        job->n_read = 0;
        RW_TRY(rw_letor_each(r->ctx, source->letor, read_one, job));
        const uint32_t end = i + 1 < r->n_sources ? r->source[i + 1].first_piece : r->n_pieces;
        if (job->n_read != end - source->first_piece) /* it became shorter */
            return RW_ERR_DATA;
    }
    return RW_OK;
}

/* All pieces; of several failures any. */
static int read_pieces(struct reading *r, uint8_t sampled)
{
    struct pieces_job job = {.reading = r, .sampled = sampled};
    int worst = rw_parallel(r->ctx, r->n_threads, r->n_pieces, 1, read_some, &job);
    if (worst >= 0)
        worst = read_streams(&job);
    if (worst == RW_ERR_DATA)
        return rw_fail(r->ctx, worst, "'%s'%s changed while it was read",
                       r->paths[r->source[0].file], r->n_sources > 1 ? " or another" : "");
    if (worst == RW_ERR_MEMORY)
        return rw_fail(r->ctx, worst, "out of memory while reading '%s'%s",
                       r->paths[r->source[0].file], r->n_sources > 1 ? " ..." : "");
    if (worst == RW_ERR_IO && r->values)
        return rw_cache_values_fail(r->ctx, r->values);
    return worst;
}

/* Where the cache has the values is to be known before they are. Returns 0 if it is not. */
static int begin_values(struct reading *r)
{
    uint16_t *feature;
    uint32_t n_features = 0;
    int status = 1;
    RW_TRY(RW_NEW_RAW(r->ctx, feature, RW_FEATURE_IDS));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t n = r->pieces.feature[f].n_present;
        if (n)
            feature[n_features++] = (uint16_t)f;
        status &= n == 0 || rw_column_is_dense(n, r->sample.n);
    }
    if (status && rw_cache_values_begin(r->ctx, r->values, feature, n_features,
                                        r->binned.documents->n_docs) < 0)
        status = RW_ERR_MEMORY;
    rw_mem_free(feature);
    r->pieces.take = rw_cache_values_take;
    r->pieces.take_user = r->values;
    return status;
}

/* Are all values in the cache, and all columns of the kind that it expects? */
static int values_are_whole(const struct reading *r)
{
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        const uint32_t n = r->pieces.feature[f].n_present;
        if (n && !rw_column_is_dense(n, r->binned.documents->n_docs))
            return 0;
    }
    return rw_cache_values_are_whole(r->values, r->binned.n_features);
}

/* ---- all ---- */

/* While boundaries are found, memory is at its peak, and no thread reads. */
static void rest(struct reading *r)
{
    for (int t = 0; t < r->n_threads; t++) {
        struct rw_letor_worker *worker = &r->worker[t];
        const struct rw_letor_worker fresh = {.fast = worker->fast, .n_clamped = worker->n_clamped};
        rw_letor_worker_release(worker);
        *worker = fresh;
    }
}

/* Memory, and the pass over the sampled documents. */
static int hold_sampled(struct reading *r, const struct rw_cut_rule *rule)
{
    struct rw_ctx *ctx = r->ctx;
    r->n_threads = ctx->n_threads;
    RW_TRY(RW_NEW(ctx, r->worker, (size_t)r->n_threads));
    for (int t = 0; t < r->n_threads; t++)
        r->worker[t].fast = rw_letor_fast(0);
    RW_TRY(rw_pieces_init(ctx, &r->pieces, &r->sample, rule, r->first_doc, r->n_pieces));
    RW_TRY(read_pieces(r, 1));
    rest(r);
    return RW_OK;
}

static void add_clamped(struct reading *r)
{
    for (int t = 0; t < r->n_threads; t++)
        r->binned.documents->n_clamped += r->worker[t].n_clamped;
}

static int read_all(struct reading *r, const struct rw_cut_rule *rule)
{
    struct rw_ctx *ctx = r->ctx;
    RW_TRY(skim(r));
    struct rw_dataset *documents = r->binned.documents;
    if (documents->n_docs <= rw_cut_sample_docs)
        return 0;
    RW_TRY(rw_cut_sample_init(ctx, &r->sample, documents));
    RW_TRY(hold_sampled(r, rule));
    RW_TRY(rw_pieces_find_bounds(&r->pieces));
    const int is_known = r->values ? begin_values(r) : 1;
    if (is_known <= 0)
        return is_known;
    RW_TRY(read_pieces(r, 0));
    RW_TRY(rw_pieces_finish(&r->pieces, &r->binned));
    if (r->values && !values_are_whole(r))
        return 0;
    add_clamped(r);
    rw_data_format_note_clamped(ctx, documents->n_clamped);
    return 1;
}

int rw_letor_is_large(struct rw_ctx *ctx, const char *const *paths, int n_paths)
{
    struct reading r = {
        .ctx = ctx, .chunk_bytes = RW_LETOR_CHUNK_BYTES, .paths = paths, .n_paths = n_paths};
    const int is_large =
        may_be_large(ctx, paths, n_paths) && open_sources(&r) > 0 && look_enough(&r);
    reading_release(&r);
    return is_large;
}

int rw_letor_read_codes(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                        const struct rw_cut_rule *rule, size_t chunk_bytes,
                        struct rw_cache_values *values, struct rw_binned *out)
{
    struct reading r = {.ctx = ctx,
                        .chunk_bytes = rw_letor_chunk_bytes(ctx, chunk_bytes),
                        .paths = paths,
                        .n_paths = n_paths,
                        .values = values};
    if (!may_be_large(ctx, paths, n_paths))
        return RW_OK;
    int status = rw_seen_new(ctx, &r.seen);
    status = status < 0 ? status : open_sources(&r);
    if (status > 0 && look_enough(&r))
        status = read_all(&r, rule);
    if (status > 0 && r.binned.bins) {
        *out = r.binned;
        r.binned = (struct rw_binned){.documents = NULL};
    }
    reading_release(&r);
    /* a text that is wrong is read again as a whole, for the first mistake is to be reported */
    return status == RW_ERR_MEMORY || status == RW_ERR_DATA ? status : RW_OK;
}

/* ---- a rank's part ---- */

/* All ranks meet. Text that is wrong is read again with its values: that finds the first mistake of
 * this rank's text, and the words for it. */
static int agree(struct reading *r, int status)
{
    struct rw_ctx *ctx = r->ctx;
    if (status < 0 && status != RW_ERR_MEMORY && status != RW_ERR_DATA) {
        struct rw_dataset *documents = NULL;
        const int is_machines = status == RW_ERR_IO || status == RW_ERR_MACHINE;
        status = rw_own_part_read(ctx, r->paths, r->n_paths, r->part, &documents);
        if (status >= 0 && is_machines)
            status = rw_fail(ctx, RW_ERR_MACHINE,
                             "cannot read '%s'%s: it failed, and did not when it was tried again",
                             r->paths[0], r->n_paths > 1 ? " or another" : "");
        else if (status >= 0)
            status = rw_fail(ctx, RW_ERR_DATA, "'%s'%s changed while it was read", r->paths[0],
                             r->n_paths > 1 ? " or another" : "");
        rw_dataset_free(documents);
    }
    return rw_comm_agree(ctx, status);
}

static int skim_part(struct reading *r)
{
    const int is_text = open_sources(r);
    if (is_text == 0)
        return rw_fail(r->ctx, RW_ERR_DATA, "'%s'%s changed while it was read", r->paths[0],
                       r->n_paths > 1 ? " or another" : "");
    return is_text < 0 ? is_text : skim(r);
}

static int read_part(struct reading *r, const struct rw_cut_rule *rule)
{
    RW_TRY(agree(r, skim_part(r)));
    struct rw_dataset *documents = r->binned.documents;
    RW_TRY(rw_together_check(r->ctx, r->paths, r->part, 1, documents));
    RW_TRY(rw_cut_sample_init(r->ctx, &r->sample, documents));
    RW_TRY(agree(r, hold_sampled(r, rule)));
    RW_TRY(rw_pieces_find_bounds(&r->pieces));
    RW_TRY(agree(r, read_pieces(r, 0)));
    RW_TRY(rw_pieces_finish(&r->pieces, &r->binned));
    add_clamped(r);
    return rw_together_note_clamped(r->ctx, documents->n_clamped);
}

int rw_letor_read_part(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                       const struct rw_cut_rule *rule, size_t chunk_bytes, struct rw_own_part *part,
                       struct rw_binned *out)
{
    struct reading r = {.ctx = ctx,
                        .chunk_bytes = rw_letor_chunk_bytes(ctx, chunk_bytes),
                        .paths = paths,
                        .n_paths = n_paths,
                        .part = part};
    const int status = read_part(&r, rule);
    if (status >= 0) {
        *out = r.binned;
        r.binned = (struct rw_binned){.documents = NULL};
    }
    reading_release(&r);
    return status;
}
