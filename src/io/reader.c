/* Files as one data set, or in chunks: some chunks of text, or all of a cache. */
#include "io/data_format.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/other_formats.h"
#include "base/system.h"
#include "comm/comm.h"
#include "io/input.h"
#include "io/source.h"
#include "io/text.h"
#include "model/packed.h"
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

/* Its own by the name, or by what is in it where columns are given. */
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
    size_t n_bytes, i = 0;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    for (; formats[i]->probe; i++) {
        if (formats[i]->endings ? is_named(ctx, formats[i], input)
                                : formats[i]->probe(head, n_bytes))
            break;
    }
    return formats[i];
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
               "%llu number%s beyond float's range read as the largest finite float",
               (unsigned long long)n_clamped, n_clamped == 1 ? "" : "s");
}

int rw_query_text_set(struct rw_ctx *ctx, struct rw_query_text *query, const char *id, size_t n)
{
    RW_TRY(RW_GROW(ctx, query->text, query->room, n));
    memcpy(query->text, id, n);
    query->n = n;
    query->is_known = 1;
    return RW_OK;
}

int rw_query_text_is(const struct rw_query_text *query, const char *id, size_t n)
{
    return query->is_known && query->n == n && memcmp(query->text, id, n) == 0;
}

/* ---- files one after the other ---- */

struct reader {
    const char *const *path; /* [n_paths]; borrowed */
    int n_paths, next_path, end_path;
    struct rw_shard *part;  /* NULL: all of all files is read; borrowed */
    struct rw_input *input; /* the file being read; owned */
    const struct rw_data_format *format;
    struct rw_text *text; /* NULL: its reading has not begun, or it is no text; owned */
    struct rw_seen *seen; /* NULL: queries that come back are not noticed; owned */
};

/* At least one, and standard input at most once. */
static int check_paths(struct rw_ctx *ctx, const char *const *paths, int n_paths)
{
    int n_stdin = 0;
    if (n_paths < 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "no file to read");
    for (int i = 0; i < n_paths; i++)
        n_stdin += strcmp(paths[i], "-") == 0;
    if (n_stdin > 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "standard input ('-') stands %d times; it can be read "
                       "once",
                       n_stdin);
    return RW_OK;
}

static void close_file(struct reader *reader)
{
    rw_text_close(reader->text);
    rw_input_close(reader->input);
    reader->text = NULL;
    reader->input = NULL;
}

static void close_reader(struct reader *reader)
{
    close_file(reader);
    rw_seen_free(reader->seen);
}

static int open_file(struct rw_ctx *ctx, struct reader *reader)
{
    RW_TRY(rw_input_open(ctx, reader->path[reader->next_path], &reader->input));
    reader->next_path++;
    reader->format = rw_data_format_of(ctx, reader->input);
    return RW_OK;
}

/* Notes the queries of a file that has no lines. */
static int note_queries(struct rw_ctx *ctx, struct reader *reader, const uint64_t *offset,
                        const char *ids, uint32_t n_queries)
{
    for (uint32_t q = 0; reader->seen && q < n_queries; q++)
        RW_TRY(rw_seen_add(ctx, reader->seen, ids + offset[q], rw_input_name(reader->input), 0, 0));
    return RW_OK;
}

/* Documents [first, end) of a file that was read at once, as a builder. */
static int copy_documents(struct rw_ctx *ctx, struct reader *reader,
                          const struct rw_dataset *dataset, uint32_t first, uint32_t end,
                          struct rw_builder_list *list)
{
    RW_TRY(RW_GROW(ctx, list->builder, list->room, list->n + 1));
    struct rw_builder *builder = &list->builder[list->n++];
    *builder = (struct rw_builder){.n_docs = 0};
    RW_TRY(rw_builder_copy(ctx, builder, dataset, first, end));
    RW_TRY(rw_mem_copy_text(ctx, &builder->file, rw_input_name(reader->input)));
    if (first == 0) {
        builder->n_clamped = dataset->n_clamped;
        RW_TRY(rw_names_copy(ctx, dataset->name, dataset->n_names, &builder->name));
        builder->n_names = dataset->n_names;
    }
    return note_queries(ctx, reader, builder->query_id.offset, builder->query_id.text,
                        builder->n_queries);
}

/* What is no text, as builders that threads join. */
static int copy_whole(struct rw_ctx *ctx, struct reader *reader, const struct rw_range *range,
                      struct rw_builder_list *list)
{
    enum { SLICE_VALUES = 1 << 23, MOST_SLICE_DOCS = 1 << 16 };
    struct rw_binned read = {.documents = NULL};
    int status;
    RW_TRY_OUT(reader->format->whole(ctx, reader->input, range, NULL, &read));
    const uint32_t n_docs = read.documents->n_docs;
    const uint32_t most = SLICE_VALUES / (read.documents->n_columns + 1) + 1;
    const uint32_t slice = most < MOST_SLICE_DOCS ? most : MOST_SLICE_DOCS;
    uint32_t first = 0, end;
    do {
        end = n_docs - first < slice ? n_docs : first + slice;
        RW_TRY_OUT(copy_documents(ctx, reader, read.documents, first, end, list));
        first = end;
    } while (end < n_docs);
out:
    rw_dataset_free(read.documents);
    return status;
}

/* Adds the next builders, in order, to `list`: chunks of text, or all of a file that is none. *more
 * is 0 behind the last file. */
static int next_chunk(struct rw_ctx *ctx, struct reader *reader, struct rw_builder_list *list,
                      int *more)
{
    struct rw_shard *part = reader->part;
    struct rw_range *range = NULL;
    int is_open = 0;
    if (!reader->input)
        RW_TRY(open_file(ctx, reader));
    const struct rw_data_format *format = reader->format;
    if (!reader->text && part && format->divided && format->divided->can_divide(reader->input)) {
        part->range = rw_shard_range(part, reader->next_path - 1);
        range = &part->range;
    }
    if (format->text && !reader->text)
        RW_TRY(
            rw_text_open(ctx, format->text, reader->input, range, reader->seen, 0, &reader->text));
    RW_TRY(format->text ? rw_text_next(ctx, reader->text, list, &is_open)
                        : copy_whole(ctx, reader, range, list));
    if (!is_open)
        close_file(reader);
    *more = is_open || reader->next_path < reader->end_path;
    return RW_OK;
}

/* ---- chunk by chunk, and their scores ---- */

struct scoring {
    struct rw_scorer *scorer;       /* borrowed; NULL: no scores */
    const struct rw_packed *packed; /* NULL, or what scores lines; borrowed */
    unsigned char *seen;            /* [RW_FEATURE_IDS] borrowed */
    double *score;                  /* [room] of the chunk at hand; owned */
    size_t room;
    uint32_t n_lines; /* documents of the last chunk that were scored while it was read */
};

static int score_lines(void *user, struct rw_builder *lines)
{
    const struct scoring *job = user;
    double *score;
    RW_TRY(RW_NEW_RAW(NULL, score, lines->n_docs));
    const int status = rw_packed_lines(job->packed, lines, score);
    if (status < 0) {
        rw_mem_free(score);
        return status;
    }
    lines->score = score;
    for (uint64_t i = 0; i < lines->n_features; i++)
        __atomic_store_n(&job->seen[lines->entry_feature[i]], 1, __ATOMIC_RELAXED);
    rw_builder_drop_values(lines);
    return RW_OK;
}

/* Those that lines left behind, end to end. They are of all builders, or of none. */
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

/* Of documents whose lines were not scored; start: when their reading began. */
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

/* Does what lines had fit the model? The data set has no features any more. */
static int check_seen(struct rw_ctx *ctx, const struct scoring *job, const struct rw_dataset *chunk)
{
    struct rw_column_view view = rw_column_view_of(chunk);
    const unsigned char *last = rw_system_last(job->seen, 1, RW_FEATURE_IDS);
    view.n_ids = last ? (uint32_t)(last - job->seen) + 1 : 0;
    return rw_column_rule_check(ctx, &job->packed->flat->columns, &view);
}

/* The next documents: of text those of some chunks, else a file. *out is NULL at the end. */
static int read_chunk(struct rw_ctx *ctx, struct reader *reader, struct scoring *job,
                      struct rw_dataset **out)
{
    struct rw_builder_list list = {.take = job->packed ? score_lines : NULL, .take_user = job};
    struct rw_binned read = {.documents = NULL};
    const double start = rw_clock_ms();
    int more = reader->input || reader->next_path < reader->end_path, status = RW_OK;
    while (list.n == 0 && !read.documents && more) {
        if (!reader->input)
            RW_TRY_OUT(open_file(ctx, reader));
        if (reader->format->text) {
            RW_TRY_OUT(next_chunk(ctx, reader, &list, &more));
        } else {
            RW_TRY_OUT(reader->format->whole(ctx, reader->input, NULL, NULL, &read));
            close_file(reader);
        }
    }
    RW_TRY_OUT(join_scores(ctx, job, &list));
    if (list.n > 0)
        RW_TRY_OUT(rw_builder_finish(ctx, list.builder, (int)list.n, &read.documents));
    if (read.documents && job->scorer)
        status = job->n_lines ? check_seen(ctx, job, read.documents)
                              : score_chunk(ctx, job, start, read.documents);
out:
    rw_builder_list_release(&list);
    *out = read.documents;
    return status;
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

/* ---- all documents ---- */

/* The builders' values to the goal; their documents go to `documents`. */
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
        rw_builder_release(&list->builder[i]); /* after a failure; else it has moved */
    }
    rw_mem_free(values);
    rw_dataset_free(some);
    list->n = 0;
    return status;
}

/* The only file, if it is no text: it has what copies would lose, also where the part has no
 * documents of it. */
static int read_whole(struct rw_ctx *ctx, struct reader *reader, const struct rw_read_goal *goal,
                      struct rw_binned *out)
{
    const struct rw_shard *part = reader->part;
    struct rw_range range;
    if (reader->n_paths > 1 || (part && !part->is_cache))
        return RW_OK;
    if (part)
        range = (struct rw_range){.begin = part->begin.file ? UINT64_MAX : part->begin.at,
                                  .end = part->end.file ? UINT64_MAX : part->end.at};
    reader->next_path = 0;
    RW_TRY(open_file(ctx, reader));
    if (reader->format->text)
        return RW_OK;
    RW_TRY(reader->format->whole(ctx, reader->input, part ? &range : NULL,
                                 goal->values ? NULL : goal->rule, out));
    const struct rw_dataset *documents = out->documents;
    if (!reader->format->notices_queries)
        RW_TRY(note_queries(ctx, reader, documents->query_id_offset, documents->query_id_text,
                            documents->n_queries));
    if (goal->take) {
        RW_TRY(goal->take(goal->take_user, documents));
        rw_dataset_drop_values(out->documents);
    }
    return RW_OK;
}

/* What the reader has: to be released also after a failure. */
static int read_all(struct rw_ctx *ctx, struct reader *reader, const struct rw_read_goal *goal,
                    struct rw_binned *out)
{
    const int n_files = reader->end_path - reader->next_path;
    RW_RELEASED(rw_builder_list_release)
    struct rw_builder_list list = {.is_whole = n_files == 1 && !goal->take};
    RW_RELEASED(rw_builder_list_release) struct rw_builder_list documents = {0};
    int more = n_files > 0;
    int status = read_whole(ctx, reader, goal, out);
    if (status < 0 || out->documents)
        return status;
    while (more) {
        RW_TRY(next_chunk(ctx, reader, &list, &more));
        if (goal->take)
            RW_TRY(take_values(ctx, &list, goal, &documents));
    }
    return goal->take
               ? rw_builder_finish(ctx, documents.builder, (int)documents.n, &out->documents)
               : rw_early_finish(ctx, list.early, list.builder, (int)list.n, &out->documents);
}

/* ---- one worker ---- */

static int read_files(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                      struct rw_read_goal *goal, struct rw_binned *out)
{
    struct reader reader = {.path = paths, .n_paths = n_paths, .end_path = n_paths};
    int status = RW_OK;
    RW_TRY(check_paths(ctx, paths, n_paths));
    const int keeps = rw_spool_begin(ctx, paths, n_paths, goal);
    RW_TRY(keeps);
    if (goal->bins_text)
        RW_TRY_OUT(rw_text_codes(ctx, paths, n_paths, goal, RW_TEXT_CHUNK_BYTES, out));
    if (out->bins)
        goto out;
    if (!goal->may_come_back)
        RW_TRY_OUT(rw_seen_new(ctx, &reader.seen));
    RW_TRY_OUT(read_all(ctx, &reader, goal, out));
    rw_data_format_note_clamped(ctx, out->documents->n_clamped);
out:
    close_reader(&reader);
    rw_spool_end(ctx, keeps);
    return status;
}

/* ---- a worker's part ---- */

int rw_shard_read(struct rw_ctx *ctx, const char *const *paths, int n_paths, struct rw_shard *part,
                  const struct rw_read_goal *goal, struct rw_binned *out)
{
    struct reader reader = {.path = paths, .n_paths = n_paths, .part = part};
    rw_shard_files(part, &reader.next_path, &reader.end_path);
    const int status = read_all(ctx, &reader, goal, out);
    close_reader(&reader);
    return status;
}

static int read_parts(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                      const struct rw_read_goal *goal, struct rw_binned *out)
{
    struct rw_shard part;
    uint64_t by_words;
    RW_TRY(rw_comm_agree(ctx, check_paths(ctx, paths, n_paths)));
    RW_TRY(rw_shard_find(ctx, paths, n_paths, &part));
    if (goal->rule && part.is_text)
        return rw_text_part_codes(ctx, paths, n_paths, goal->rule, RW_TEXT_CHUNK_BYTES, &part, out);
    RW_TRY(rw_comm_agree(ctx, rw_shard_read(ctx, paths, n_paths, &part, goal, out)));
    RW_TRY(rw_together_check(ctx, paths, &part, !goal->may_come_back, out->documents));
    by_words = out->documents->vocabulary != NULL; /* words become codes when all are known */
    RW_TRY(rw_comm_max(ctx, &by_words, 1));
    if (goal->rule && !out->bins && !by_words) {
        RW_TRY(rw_dataset_codes(ctx, out->documents, goal->rule, out));
        rw_dataset_drop_values(out->documents);
    }
    return rw_together_note_clamped(ctx, out->documents->n_clamped);
}

/* ---- files ---- */

int rw_files_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_binned *out)
{
    RW_DEFAULT_FPENV;
    const int status = rw_n_workers(ctx) == 1 ? read_files(ctx, paths, n_paths, goal, out)
                                              : read_parts(ctx, paths, n_paths, goal, out);
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
