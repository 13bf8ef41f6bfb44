/* Reads files as one data set with values or codes (rw_files_read), or passes documents on, some
 * chunks of text or a whole cache at a time, and scores them (rw_dataset_read_each). Also
 * recognises the formats of files, and has the source of LETOR text (rw_text_codes). A goal
 * (rw_read_goal) states how values are used; a builder (rw_builder) has the documents of one chunk
 * or file. */
#include "io/data_format.h"

#include <strings.h>
#include <sys/stat.h>

#include "base/system.h"
#include "comm/comm.h"
#include "io/cache/cache.h"
#include "io/source.h"
#include "io/text.h"
#include "model/scorer.h"

static const struct rw_data_format *const formats[] = {
#define RW_DATA_FORMAT(name) &rw_data_format_##name,
#include "io/data_formats.def"
#undef RW_DATA_FORMAT
};

/* ---- the format of a file ---- */

static int ends_in(const char *name, size_t n, const char *ending)
{
    const size_t n_ending = strlen(ending);
    return n > n_ending && strncasecmp(name + n - n_ending, ending, n_ending) == 0;
}

static int has_ending(const char *name, const char *const *endings)
{
    size_t n = strlen(name);
    n -= ends_in(name, n, ".gz") ? 3 : 0;
    while (*endings && !ends_in(name, n, *endings))
        endings++;
    return *endings != NULL;
}

/* Returns 1 if the format accepts the file by its name or, if columns are given, by its content. */
static int is_named(const struct rw_ctx *ctx, const struct rw_data_format *format,
                    const struct rw_input *input)
{
    unsigned char content[128];
    size_t n_raw;
    if (has_ending(rw_input_name(input), format->endings))
        return 1;
    return ctx->columns && rw_columns_are_given(ctx->columns) &&
           format->probe(content, rw_input_peek(input, content, sizeof(content), &n_raw));
}

const struct rw_data_format *rw_data_format_of(const struct rw_ctx *ctx,
                                               const struct rw_input *input)
{
    const struct rw_data_format *const *format = formats;
    size_t n_bytes;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    while ((*format)->probe &&
           !((*format)->endings ? is_named(ctx, *format, input) : (*format)->probe(head, n_bytes)))
        format++;
    return *format;
}

int rw_file_recognise(struct rw_ctx *ctx, const char *path, struct rw_file_kind *out)
{
    enum { ENOUGH = 4096 };
    unsigned char head[ENOUGH];
    struct rw_input *input;
    struct stat info;
    size_t n_raw;
    memset(out, 0, sizeof(*out));
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || rw_input_open(ctx, path, &input) < 0)
        return 0;
    const size_t n = rw_input_peek(input, head, sizeof(head), &n_raw);
    const struct rw_recognised kind = rw_recognise_head((const char *)head, (const char *)head + n);
    *out = (struct rw_file_kind){kind.what, kind.from, kind.is_model, kind.is_data};
    rw_input_close(input);
    return kind.what != NULL;
}

void rw_data_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped)
{
    if (n_clamped)
        rw_log(ctx, RW_LOG_NOTE,
               "%llu number%s beyond the range of float: read as the largest finite float",
               (unsigned long long)n_clamped, n_clamped == 1 ? "" : "s");
}

/* ---- a sequence of files ---- */

/* An open file. */
struct file {
    struct rw_input *input; /* NULL: no file is open; owned */
    const struct rw_data_format *format;
    struct rw_text *text; /* NULL: reading has not begun, or the file is not text; owned */
};

struct reader {
    const char *const *path;          /* [n_paths]; borrowed */
    int n_paths, next_path, end_path; /* next_path: the next file; end_path: after the last one */
    struct rw_shard *part;            /* NULL: read all files as a whole; borrowed */
    struct file file;                 /* the current file */
    struct rw_seen *seen;             /* NULL: repeated queries are not detected; owned */
    size_t chunk_bytes;               /* bytes per chunk of text; 0: chosen for the file */
};

/* Checks that there is at least one path, and standard input at most once. */
static int check_paths(struct rw_ctx *ctx, const char *const *paths, int n_paths)
{
    int n_stdin = 0;
    if (n_paths < 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "no file to read");
    for (int i = 0; i < n_paths; i++)
        n_stdin += strcmp(paths[i], "-") == 0;
    if (n_stdin > 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "standard input ('-') is given %d times, but can be read only once",
                       n_stdin);
    return RW_OK;
}

static void close_file(struct file *file)
{
    rw_text_close(file->text);
    rw_input_close(file->input);
    *file = (struct file){.input = NULL};
}

static void close_reader(struct reader *reader)
{
    close_file(&reader->file);
    rw_seen_free(reader->seen);
}

/* Returns 1 if something remains to be read. */
static int has_more(const struct reader *reader)
{
    return reader->file.input || reader->next_path < reader->end_path;
}

/* Opens the next file unless one is open. */
static int open_next(struct rw_ctx *ctx, struct reader *reader)
{
    struct file *file = &reader->file;
    if (file->input)
        return RW_OK;
    RW_TRY(rw_input_open(ctx, reader->path[reader->next_path++], &file->input));
    file->format = rw_data_format_of(ctx, file->input);
    return RW_OK;
}

/* Returns the shard's range of the current file, or NULL for the whole file. */
static struct rw_range *range_of(const struct reader *reader)
{
    struct rw_shard *part = reader->part;
    uint64_t n_bytes;
    if (!part || !reader->file.format->divided ||
        !rw_input_is_seekable(reader->file.input, &n_bytes))
        return NULL;
    part->range = rw_shard_range(part, reader->next_path - 1);
    return &part->range;
}

/* Starts reading the current file, which is text. */
static int begin_text(struct rw_ctx *ctx, struct reader *reader)
{
    struct file *file = &reader->file;
    return rw_text_open(ctx, file->format->text, file->input, range_of(reader), reader->seen,
                        reader->chunk_bytes, &file->text);
}

/* Records the queries of a file without lines. */
static int note_queries(struct rw_ctx *ctx, struct reader *reader, const uint64_t *offset,
                        const char *ids, uint32_t n_queries)
{
    for (uint32_t q = 0; reader->seen && q < n_queries; q++)
        RW_TRY(rw_seen_add(ctx, reader->seen, ids + offset[q], rw_input_name(reader->file.input), 0,
                           0));
    return RW_OK;
}

/* Reads a file that is not text as one builder. */
static int copy_whole(struct rw_ctx *ctx, struct reader *reader, struct rw_builder_list *list)
{
    const struct file *file = &reader->file;
    RW_RELEASED(rw_binned_release) struct rw_binned read = {.documents = NULL};
    RW_TRY(file->format->whole(ctx, file->input, range_of(reader), NULL, &read));
    const struct rw_dataset *dataset = read.documents;
    RW_TRY(RW_GROW(ctx, list->builder, list->room, list->n + 1));
    struct rw_builder *builder = &list->builder[list->n++];
    *builder = (struct rw_builder){.n_clamped = dataset->n_clamped};
    RW_TRY(rw_builder_copy(ctx, builder, dataset, 0, dataset->n_docs));
    RW_TRY(rw_mem_copy_text(ctx, &builder->file, rw_input_name(file->input)));
    RW_TRY(rw_names_copy(ctx, dataset->name, dataset->n_names, &builder->name));
    builder->n_names = dataset->n_names;
    return note_queries(ctx, reader, builder->query_id.offset, builder->query_id.text,
                        builder->n_queries);
}

/* Appends the next builders, in order, to `list`: chunks of text, or a whole file that is not text.
 */
static int next_chunk(struct rw_ctx *ctx, struct reader *reader, struct rw_builder_list *list)
{
    struct file *file = &reader->file;
    int is_open = 0;
    RW_TRY(open_next(ctx, reader));
    if (file->format->text && !file->text)
        RW_TRY(begin_text(ctx, reader));
    RW_TRY(file->format->text ? rw_text_next(ctx, file->text, list, &is_open)
                              : copy_whole(ctx, reader, list));
    if (!is_open)
        close_file(file);
    return RW_OK;
}

/* ---- reading in chunks, and computing scores ---- */

struct scoring {
    struct rw_scorer *scorer;       /* borrowed; NULL: no scores */
    const struct rw_packed *packed; /* scores lines as they are read, or NULL; borrowed */
    unsigned char *seen;            /* [RW_FEATURE_IDS] 1: a document has the feature; borrowed */
    double *score;                  /* [room] scores of the current chunk; owned */
    size_t room;
    uint32_t n_lines; /* number of documents scored by score_lines when documents were read last */
};

/* Scores the lines of a chunk in place of keeping their values (rw_take_lines_fn). */
static int score_lines(void *user, struct rw_builder *lines)
{
    const struct scoring *job = user;
    RW_TRY(RW_NEW_RAW(NULL, lines->score, lines->n_docs));
    RW_TRY(rw_packed_lines(job->packed, lines, lines->score));
    for (uint64_t i = 0; i < lines->n_features; i++)
        __atomic_store_n(&job->seen[lines->entry_feature[i]], 1, __ATOMIC_RELAXED);
    rw_builder_drop_values(lines);
    return RW_OK;
}

/* Concatenates the scores of the builders. Either all builders have scores, or no builder does. */
static int join_scores(struct rw_ctx *ctx, struct scoring *job, const struct rw_builder_list *list)
{
    job->n_lines = 0;
    for (size_t i = 0; i < list->n && list->builder[i].score; i++) {
        const uint32_t n_docs = list->builder[i].n_docs;
        RW_TRY(RW_GROW(ctx, job->score, job->room, (size_t)job->n_lines + n_docs));
        memcpy(job->score + job->n_lines, list->builder[i].score, n_docs * sizeof(double));
        job->n_lines += n_docs;
    }
    return RW_OK;
}

/* Scores documents whose lines were not scored. start: time in ms when reading them began. */
static int score_chunk(struct rw_ctx *ctx, struct scoring *job, double start,
                       const struct rw_dataset *chunk)
{
    const double read = rw_clock_ms();
    rw_dataset_note_features(chunk, job->seen);
    RW_TRY(RW_GROW(ctx, job->score, job->room, chunk->n_docs));
    RW_TRY(rw_scorer_run(ctx, job->scorer, chunk, job->score));
    rw_log(ctx, RW_LOG_DEBUG, "%u documents: read in %.3f s, scored in %.3f s", chunk->n_docs,
           (read - start) / 1e3, (rw_clock_ms() - read) / 1e3);
    return RW_OK;
}

/* Checks that the features match the model. `chunk` has no features any more; job->seen marks those
 * of all documents so far. */
static int check_seen(struct rw_ctx *ctx, const struct scoring *job, const struct rw_dataset *chunk)
{
    struct rw_column_view view = rw_column_view_of(chunk);
    const unsigned char *last = rw_system_last(job->seen, 1, RW_FEATURE_IDS);
    view.n_ids = last ? (uint32_t)(last - job->seen) + 1 : 0;
    return rw_column_rule_check(ctx, &job->packed->flat->columns, &view);
}

/* Reads the next documents, some chunks of text or a file that is not text, and scores them. *out:
 * must be NULL, and stays NULL at the end. */
static int read_chunk(struct rw_ctx *ctx, struct reader *reader, struct scoring *job,
                      struct rw_dataset **out)
{
    RW_RELEASED(rw_builder_list_release)
    struct rw_builder_list list = {.take = job->packed ? score_lines : NULL, .take_user = job};
    struct rw_binned read = {.documents = NULL};
    const double start = rw_clock_ms();
    while (list.n == 0 && !*out && has_more(reader)) {
        RW_TRY(open_next(ctx, reader));
        if (reader->file.format->text) {
            RW_TRY(next_chunk(ctx, reader, &list));
            continue;
        }
        const int status = reader->file.format->whole(ctx, reader->file.input, NULL, NULL, &read);
        *out = read.documents;
        RW_TRY(status);
        close_file(&reader->file);
    }
    RW_TRY(join_scores(ctx, job, &list));
    if (list.n > 0)
        RW_TRY(rw_builder_finish(ctx, list.builder, (int)list.n, out));
    if (!*out || !job->scorer)
        return RW_OK;
    return job->n_lines ? check_seen(ctx, job, *out) : score_chunk(ctx, job, start, *out);
}

int rw_dataset_read_each(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                         struct rw_scorer *scorer, unsigned char *seen, rw_chunk_fn *take,
                         void *user)
{
    RW_DEFAULT_FPENV;
    struct reader reader = {.path = paths, .n_paths = n_paths, .end_path = n_paths};
    struct scoring job = {.scorer = scorer, .seen = seen};
    struct rw_dataset *chunk = NULL;
    uint64_t n_clamped = 0;
    int status;
    RW_TRY(check_paths(ctx, paths, n_paths));
    do {
        rw_dataset_free(chunk);
        chunk = NULL;
        job.packed = scorer ? rw_scorer_packed(ctx, scorer, job.n_lines) : NULL;
        RW_TRY_OUT(read_chunk(ctx, &reader, &job, &chunk));
        if (!chunk)
            break;
        n_clamped += chunk->n_clamped;
        status = take(user, chunk, scorer ? job.score : NULL);
    } while (status == RW_OK);
out:
    if (status == RW_OK)
        rw_data_format_note_clamped(ctx, n_clamped);
    rw_dataset_free(chunk);
    close_reader(&reader);
    rw_mem_free(job.score);
    return status;
}

/* ---- reading all documents ---- */

/* Passes the builders' values to the goal, and their documents to `documents`. */
static int take_values(struct rw_ctx *ctx, struct rw_builder_list *list,
                       const struct rw_read_goal *goal, struct rw_builder_list *documents)
{
    struct rw_builder *values;
    struct rw_dataset *some = NULL;
    int status;
    RW_TRY(RW_NEW(ctx, values, list->n));
    RW_TRY_OUT(RW_GROW(ctx, documents->builder, documents->room, documents->n + list->n));
    for (size_t i = 0; i < list->n; i++) {
        struct rw_builder *builder = &documents->builder[documents->n++];
        *builder = list->builder[i];
        list->builder[i] = (struct rw_builder){.n_docs = 0};
        RW_TRY_OUT(rw_builder_split(ctx, builder, &values[i]));
    }
    RW_TRY_OUT(rw_builder_finish(ctx, values, (int)list->n, &some));
    RW_TRY_OUT(goal->take(goal->take_user, some));
out:
    for (size_t i = 0; i < list->n; i++) {
        rw_builder_release(&values[i]);
        rw_builder_release(&list->builder[i]); /* after a failure; otherwise it was moved */
    }
    rw_mem_free(values);
    rw_dataset_free(some);
    list->n = 0;
    return status;
}

/* Reads the file without builders, if it is the only one and not text, and otherwise leaves
 * out->documents NULL. Builders would lose some of the file's data, such as codes, and whether
 * weights were given per query. All workers need that data, even with a shard without documents. */
static int read_whole(struct rw_ctx *ctx, struct reader *reader, const struct rw_read_goal *goal,
                      struct rw_binned *out)
{
    if (reader->n_paths > 1 || (reader->part && !reader->part->is_cache))
        return RW_OK;
    reader->next_path = 0;
    RW_TRY(open_next(ctx, reader));
    const struct rw_data_format *format = reader->file.format;
    if (format->text)
        return RW_OK;
    RW_TRY(format->whole(ctx, reader->file.input, range_of(reader),
                         goal->values ? NULL : goal->rule, out));
    const struct rw_dataset *documents = out->documents;
    if (!format->notices_queries)
        RW_TRY(note_queries(ctx, reader, documents->query_id.offset, documents->query_id.text,
                            documents->n_queries));
    if (goal->take) {
        RW_TRY(goal->take(goal->take_user, documents));
        rw_dataset_drop_values(out->documents);
    }
    return RW_OK;
}

/* Reads all files that remain. Release *out even on failure. */
static int read_all(struct rw_ctx *ctx, struct reader *reader, const struct rw_read_goal *goal,
                    struct rw_binned *out)
{
    const int is_one = reader->end_path - reader->next_path == 1;
    RW_RELEASED(rw_builder_list_release)
    struct rw_builder_list list = {.is_whole = is_one && !goal->take};
    RW_RELEASED(rw_builder_list_release) struct rw_builder_list documents = {0};
    int status = read_whole(ctx, reader, goal, out);
    if (status < 0 || out->documents)
        return status;
    while (has_more(reader)) {
        RW_TRY(next_chunk(ctx, reader, &list));
        if (goal->take)
            RW_TRY(take_values(ctx, &list, goal, &documents));
    }
    return goal->take
               ? rw_builder_finish(ctx, documents.builder, (int)documents.n, &out->documents)
               : rw_early_finish(ctx, list.early, list.builder, (int)list.n, &out->documents);
}

/* Reads files, or a worker's shard of them, as the goal requires, but does not bin text. Release
 * *out even on failure. */
static int read_values(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                       struct rw_shard *part, const struct rw_read_goal *goal,
                       struct rw_binned *out)
{
    struct reader reader = {.path = paths, .n_paths = n_paths, .end_path = n_paths, .part = part};
    int status = RW_OK;
    if (part) /* rw_together_check detects repeated queries */
        rw_shard_files(part, &reader.next_path, &reader.end_path);
    else if (!goal->may_come_back)
        status = rw_seen_new(ctx, &reader.seen);
    if (status >= 0)
        status = read_all(ctx, &reader, goal, out);
    close_reader(&reader);
    return status;
}

/* ---- reading LETOR text as codes (io/source.h) ----
 *
 * Files are opened again for each pass. Any thread reads any chunk of a plain file. */

struct text_source {
    struct rw_source source;
    struct reader reader;           /* reads all files, or the shard's */
    int first_path;                 /* the first file to read */
    uint32_t *first_chunk;          /* [n_files + 1] for the files to read: number of the first
                                       chunk of each; owned */
    struct rw_read_goal *goal;      /* borrowed */
    struct rw_cache_values *values; /* those of the goal, or NULL */
    uint64_t n_clamped;             /* counted by all threads */
    struct rw_binned *out;          /* borrowed */
};

/* Returns 0 if the files have too few bytes for more than rw_cut_sample_docs documents, or if one
 * is neither a regular file nor in the spool. The files then need not be opened. */
static int may_be_large(const struct rw_ctx *ctx, const char *const *paths, int n_paths)
{
    /* bytes of "0 qid:1\n", and compression ratio that is assumed to be the highest */
    enum { LEAST_LINE = 8, MOST_PACKED = 40 };
    struct stat info;
    uint64_t n_bytes = 0, n_kept = 0;
    /* opening and closing a pipe would lose its data, unless it is stored */
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

/* Opens the next file instead of the current one. Returns 0 if it is not LETOR text, or can be read
 * only once. */
static int open_letor(struct text_source *t)
{
    struct rw_ctx *ctx = t->source.ctx;
    struct file *file = &t->reader.file;
    uint64_t n_bytes;
    close_file(file);
    RW_TRY(open_next(ctx, &t->reader));
    if (file->format != &rw_data_format_letor || (!rw_input_is_packed(file->input, &n_bytes) &&
                                                  !rw_input_is_seekable(file->input, &n_bytes)))
        return 0;
    RW_TRY(begin_text(ctx, &t->reader));
    return 1;
}

static int fail_changed(const struct text_source *t)
{
    return rw_fail(t->source.ctx, RW_ERR_DATA, "'%s'%s changed while it was being read",
                   t->reader.path[0], t->reader.n_paths > 1 ? " or another file" : "");
}

/* Reads the data set without its features, and counts the documents of each chunk. */
static int skim(struct text_source *t)
{
    struct rw_source *source = &t->source;
    struct rw_ctx *ctx = source->ctx;
    struct reader *reader = &t->reader;
    struct rw_builder_list list RW_RELEASED(rw_builder_list_release) = {0};
    uint32_t *first_chunk;
    RW_TRY(RW_NEW(ctx, t->first_chunk, (size_t)(reader->end_path - t->first_path) + 1));
    first_chunk = t->first_chunk;
    for (reader->next_path = t->first_path; reader->next_path < reader->end_path;) {
        const int is_text = open_letor(t);
        if (is_text <= 0)
            return is_text < 0 ? is_text : fail_changed(t);
        reader->file.text->want = RW_TEXT_SKIM;
        for (int more = 1; more;)
            RW_TRY(rw_text_next(ctx, reader->file.text, &list, &more));
        if (list.n_chunks > UINT32_MAX / 2)
            return RW_ERR_UNSUPPORTED;
        *++first_chunk = (uint32_t)list.n_chunks;
    }
    RW_TRY(RW_NEW_RAW(ctx, source->first_doc, list.n_chunks + 1));
    source->first_doc[0] = 0;
    for (; source->n_chunks < list.n_chunks; source->n_chunks++)
        source->first_doc[source->n_chunks + 1] =
            source->first_doc[source->n_chunks] + list.chunk_docs[source->n_chunks];
    RW_TRY(rw_builder_finish(ctx, list.builder, (int)list.n, &t->out->documents));
    source->documents = t->out->documents;
    return RW_OK;
}

/* ---- one pass over the files ---- */

struct pass_job {
    struct text_source *text;
    uint32_t first_chunk, n_chunks; /* chunks of the current file, as it was skimmed */
    uint32_t n_read;                /* number of them that all threads have read */
};

/* Reads the wanted documents of a chunk (rw_text_each_fn). */
static int pick_chunk(void *user, uint64_t number, int thread)
{
    struct pass_job *job = user;
    struct text_source *t = job->text;
    struct rw_source *source = &t->source;
    const struct rw_text *text = t->reader.file.text;
    struct rw_text_worker *worker = &text->worker[thread];
    __atomic_fetch_add(&job->n_read, 1, __ATOMIC_RELAXED);
    if (number >= job->n_chunks)
        return RW_ERR_DATA;
    const uint32_t chunk = job->first_chunk + (uint32_t)number, first = source->first_doc[chunk];
    worker->pick.n_docs = source->first_doc[chunk + 1] - first;
    worker->pick.label = source->documents->label + first;
    worker->pick.in = source->sample.in ? source->sample.in + first : NULL;
    worker->pick.which = (uint8_t)source->sampled;
    int status = rw_text_pick(text, number, worker);
    __atomic_fetch_add(&t->n_clamped, worker->builder.n_clamped, __ATOMIC_RELAXED);
    if (status >= 0)
        status = rw_source_take(source, chunk, thread, &worker->builder, worker->pick.row);
    rw_builder_empty(&worker->builder);
    return status;
}

/* Opens the next file and reads its chunks. first_chunk: [2] the first chunk of the file, and of
 * the next one. */
static int pick_file(struct text_source *t, const uint32_t *first_chunk)
{
    struct pass_job job = {
        .text = t, .first_chunk = first_chunk[0], .n_chunks = first_chunk[1] - first_chunk[0]};
    const int is_text = open_letor(t);
    if (is_text <= 0)
        return is_text < 0 ? is_text : RW_ERR_DATA;
    RW_TRY(rw_text_each(t->source.ctx, t->reader.file.text, pick_chunk, &job));
    return job.n_read == job.n_chunks ? RW_OK : RW_ERR_DATA; /* the file became shorter */
}

/* Runs a pass, up to the first file that fails. */
static int pick_pass(struct rw_source *source)
{
    struct text_source *t = source->self;
    struct rw_ctx *ctx = source->ctx;
    int worst = RW_OK;
    struct reader *reader = &t->reader;
    const uint32_t *first_chunk = t->first_chunk;
    for (reader->next_path = t->first_path; reader->next_path < reader->end_path && worst >= 0;)
        worst = pick_file(t, first_chunk++);
    close_file(&reader->file); /* memory use is highest while boundaries are found */
    if (worst == RW_ERR_DATA)
        return fail_changed(t);
    if (worst == RW_ERR_MEMORY)
        return rw_fail(ctx, worst, "out of memory while reading '%s'%s", reader->path[0],
                       reader->n_paths > 1 ? " ..." : "");
    return worst == RW_ERR_IO && t->values ? rw_cache_values_fail(ctx, t->values) : worst;
}

/* ---- writing values to a cache ---- */

/* Prepares the goal's cache, if there is one, whose layout must be known before the values are
 * written. Returns 0 if a column would be sparse according to the sample: then the layout is not
 * known. */
static int begin_values(struct rw_source *source)
{
    struct text_source *t = source->self;
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

/* Finishes after the codes are made. Returns 0 if there is a cache for values, but not all values
 * are in it, or a column would be sparse. */
static int end_text(struct rw_source *source)
{
    const struct text_source *t = source->self;
    const uint32_t n_docs = t->source.documents->n_docs;
    int is_whole = 1;
    for (uint32_t f = 0; f < RW_FEATURE_IDS && t->values; f++) {
        const uint32_t n = t->source.chunks.feature[f].n_present;
        is_whole &= n == 0 || rw_column_is_dense(n, n_docs);
    }
    if (t->values && (!is_whole || !rw_cache_values_are_whole(t->values, t->out->n_features)))
        return 0;
    t->out->documents->n_clamped += t->n_clamped;
    return 1;
}

/* Opens all files, and skims them if they are LETOR text with enough documents and goal->bins_text
 * returns 1. Returns 1, or 0 to read the files in another way. */
static int open_all(struct rw_source *source)
{
    struct text_source *t = source->self;
    struct reader *reader = &t->reader;
    uint64_t n_lines = 0; /* estimate; few lines do not justify skimming, which counts documents */
    RW_TRY(rw_seen_new(source->ctx, &reader->seen));
    while (reader->next_path < reader->end_path) {
        const int is_text = open_letor(t);
        if (is_text <= 0)
            return is_text;
        n_lines += rw_text_guess_lines(reader->file.text);
    }
    if (n_lines <= (uint64_t)rw_cut_sample_docs + rw_cut_sample_docs / 32 ||
        !t->goal->bins_text(source->ctx, t->goal))
        return 0;
    source->rule = t->goal->rule;
    t->values = t->goal->values;
    RW_TRY(skim(t));
    return source->documents->n_docs > rw_cut_sample_docs;
}

/* Replaces rw_comm_agree. If this worker failed to read its shard, except for lack of memory, a
 * changed file or an interruption, the shard is first read again with its values, which finds the
 * first error and its message. */
static int explain(struct rw_source *source, int status)
{
    const struct text_source *t = source->self;
    const struct reader *reader = &t->reader;
    struct rw_ctx *ctx = source->ctx;
    if (reader->part && status < 0 && status != RW_ERR_MEMORY && status != RW_ERR_DATA &&
        status != RW_ERR_INTERRUPTED) {
        RW_RELEASED(rw_binned_release) struct rw_binned again = {.documents = NULL};
        const int is_machines = status == RW_ERR_IO || status == RW_ERR_MACHINE;
        status = read_values(ctx, reader->path, reader->n_paths, reader->part,
                             &(struct rw_read_goal){.rule = NULL}, &again);
        if (status >= 0 && is_machines)
            status = rw_fail(ctx, RW_ERR_MACHINE,
                             "cannot read '%s'%s: reading failed, and succeeded when tried again",
                             reader->path[0], reader->n_paths > 1 ? " or another file" : "");
        else if (status >= 0)
            status = fail_changed(t);
    }
    return rw_comm_agree(ctx, status);
}

static int open_source(struct rw_source *source)
{
    struct text_source *t = source->self;
    const struct reader *reader = &t->reader;
    if (!reader->part)
        return open_all(source);
    RW_TRY(explain(source, skim(t)));
    RW_TRY(rw_together_check(source->ctx, reader->path, reader->part, 1, t->out->documents));
    return 1;
}

int rw_text_codes(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_shard *part, size_t chunk_bytes,
                  struct rw_binned *out)
{
    static const struct rw_source_kind kind = {.open = open_source,
                                               .pass = pick_pass,
                                               .bounded = begin_values,
                                               .done = end_text,
                                               .agree = explain};
    struct text_source t = {.source = {.kind = &kind, .self = &t, .ctx = ctx, .rule = goal->rule},
                            .reader = {.path = paths,
                                       .n_paths = n_paths,
                                       .end_path = n_paths,
                                       .part = part,
                                       .chunk_bytes = rw_text_chunk_bytes(ctx, chunk_bytes)},
                            .goal = goal,
                            .out = out};
    if (!part && !may_be_large(ctx, paths, n_paths))
        return RW_OK;
    if (part)
        rw_shard_files(part, &t.first_path, &t.reader.end_path);
    const int status = rw_source_codes(&t.source, out);
    close_reader(&t.reader);
    rw_mem_free(t.first_chunk);
    if (status <= 0)
        rw_binned_release(out);
    /* invalid text is read again as a whole, since the first error must be reported */
    return status < 0 && (part || status == RW_ERR_MEMORY || status == RW_ERR_DATA ||
                          status == RW_ERR_INTERRUPTED)
               ? status
               : RW_OK;
}

/* ---- reading with one worker, or with several ---- */

static int read_files(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                      struct rw_read_goal *goal, struct rw_binned *out)
{
    const int keeps = rw_spool_begin(ctx, paths, n_paths, goal);
    int status = keeps;
    if (status >= 0 && goal->bins_text)
        status = rw_text_codes(ctx, paths, n_paths, goal, NULL, RW_TEXT_CHUNK_BYTES, out);
    if (status >= 0 && !out->bins)
        status = read_values(ctx, paths, n_paths, NULL, goal, out);
    rw_spool_end(ctx, keeps > 0);
    return status;
}

static int read_parts(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                      struct rw_read_goal *goal, struct rw_binned *out)
{
    struct rw_shard part;
    uint64_t by_words;
    RW_TRY(rw_shard_find(ctx, paths, n_paths, &part));
    if (goal->rule && part.is_text)
        return rw_text_codes(ctx, paths, n_paths, goal, &part, RW_TEXT_CHUNK_BYTES, out);
    RW_TRY(rw_comm_agree(ctx, read_values(ctx, paths, n_paths, &part, goal, out)));
    RW_TRY(rw_together_check(ctx, paths, &part, !goal->may_come_back, out->documents));
    by_words = out->documents->vocabulary != NULL; /* words become codes once all of them are
                                                      known */
    RW_TRY(rw_comm_max(ctx, &by_words, 1));
    if (goal->rule && !out->bins && !by_words) {
        RW_TRY(rw_dataset_codes(ctx, out->documents, goal->rule, out));
        rw_dataset_drop_values(out->documents);
    }
    return RW_OK;
}

/* ---- entry points ---- */

int rw_files_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_binned *out)
{
    RW_DEFAULT_FPENV;
    RW_TRY(rw_comm_agree(ctx, check_paths(ctx, paths, n_paths)));
    int status = rw_n_workers(ctx) == 1 ? read_files(ctx, paths, n_paths, goal, out)
                                        : read_parts(ctx, paths, n_paths, goal, out);
    if (status >= 0)
        status = rw_together_note_clamped(ctx, out->documents->n_clamped);
    if (status < 0)
        rw_binned_release(out);
    return status;
}

int rw_files_read_documents(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                            struct rw_read_goal goal, struct rw_dataset **out)
{
    struct rw_binned read = {.documents = NULL};
    const int status = rw_files_read(ctx, paths, n_paths, &goal, &read);
    *out = read.documents;
    return status;
}

int rw_dataset_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                    struct rw_dataset **out)
{
    return rw_files_read_documents(ctx, paths, n_paths, (struct rw_read_goal){.rule = NULL}, out);
}
