/* Files as one data set, or in pieces. A piece is what a format gives at a time: a block of text,
 * all of a cache. */
#include "io/data_format.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/fpenv.h"
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

struct rw_reader {
    char **path; /* [n_paths]; owned */
    int n_paths, next_path, end_path;
    struct rw_own_part *part; /* NULL: all of all files is read; borrowed */
    struct rw_input *input;   /* the file being read; owned */
    const struct rw_data_format *format;
    void *state;
    struct rw_seen *seen; /* NULL: queries that come back are not noticed; owned */
    uint64_t n_clamped;
    double *score; /* [score_room] of the piece at hand; owned */
    size_t score_room;
    uint32_t n_lines_scored; /* documents of the last piece that were scored while it was read */
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

int rw_reader_open(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                   struct rw_reader **out)
{
    RW_DEFAULT_FPENV;
    struct rw_reader *reader = NULL;
    int status;
    *out = NULL;
    RW_TRY(check_paths(ctx, paths, n_paths));
    RW_TRY_OUT(RW_NEW(ctx, reader, 1));
    RW_TRY_OUT(RW_NEW(ctx, reader->path, (size_t)n_paths));
    for (; reader->n_paths < n_paths; reader->n_paths++)
        RW_TRY_OUT(rw_mem_copy_text(ctx, &reader->path[reader->n_paths], paths[reader->n_paths]));
    reader->end_path = n_paths;
    *out = reader;
    return RW_OK;
out:
    rw_reader_close(reader);
    return status;
}

static void close_file(struct rw_reader *reader)
{
    if (reader->state)
        reader->format->close(reader->state);
    reader->state = NULL;
    rw_input_close(reader->input);
    reader->input = NULL;
}

void rw_reader_close(struct rw_reader *reader)
{
    if (!reader)
        return;
    close_file(reader);
    rw_seen_free(reader->seen);
    for (int i = 0; i < reader->n_paths; i++)
        rw_mem_free(reader->path[i]);
    rw_mem_free(reader->path);
    rw_mem_free(reader->score);
    rw_mem_free(reader);
}

static int open_file(struct rw_ctx *ctx, struct rw_reader *reader)
{
    RW_TRY(rw_input_open(ctx, reader->path[reader->next_path], &reader->input));
    reader->next_path++;
    reader->format = rw_data_format_of(ctx, reader->input);
    return RW_OK;
}

/* Reads from the open file on, the whole of it or what the part has of it. */
static int begin_file(struct rw_ctx *ctx, struct rw_reader *reader)
{
    struct rw_own_part *part = reader->part;
    const struct rw_divided *divided = reader->format->divided;
    const int is_divided = part && divided && divided->can_divide(reader->input);
    if (is_divided)
        part->range = rw_own_part_range(part, reader->next_path - 1);
    return reader->format->open(ctx, reader->input, is_divided ? &part->range : NULL, reader->seen,
                                &reader->state);
}

/* Adds the next piece's builders, in order, to `list`; *more is 0 behind the last file. */
static int next_piece(struct rw_ctx *ctx, struct rw_reader *reader, struct rw_builder_list *list,
                      int *more)
{
    int is_open = 1;
    if (!reader->input)
        RW_TRY(open_file(ctx, reader));
    if (!reader->state)
        RW_TRY(begin_file(ctx, reader));
    RW_TRY(reader->format->next(ctx, reader->state, list, &is_open));
    if (!is_open)
        close_file(reader);
    *more = is_open || reader->next_path < reader->end_path;
    return RW_OK;
}

/* The next file, if its format gives it at once: it is a piece. */
static int next_whole(struct rw_ctx *ctx, struct rw_reader *reader, struct rw_dataset **out)
{
    struct rw_binned read = {.documents = NULL};
    if (!reader->input)
        RW_TRY(open_file(ctx, reader));
    if (reader->state || !reader->format->whole)
        return RW_OK;
    RW_TRY(reader->format->whole(ctx, reader->input, NULL, NULL, &read));
    close_file(reader);
    *out = read.documents;
    return RW_OK;
}

/* The next documents: builders, or a data set, *out; neither behind the last. */
static int next_documents(struct rw_ctx *ctx, struct rw_reader *reader,
                          struct rw_builder_list *list, struct rw_dataset **out)
{
    int more = reader->input || reader->next_path < reader->end_path;
    while (list->n == 0 && !*out && more) {
        RW_TRY(next_whole(ctx, reader, out));
        if (!*out)
            RW_TRY(next_piece(ctx, reader, list, &more));
    }
    if (list->n == 0 && !*out) {
        rw_data_format_note_clamped(ctx, reader->n_clamped);
        reader->n_clamped = 0;
    }
    return RW_OK;
}

static int finish_piece(struct rw_ctx *ctx, struct rw_reader *reader, struct rw_builder_list *list,
                        struct rw_dataset **out)
{
    if (list->n > 0)
        RW_TRY(rw_builder_finish(ctx, list->builder, (int)list->n, out));
    if (*out)
        reader->n_clamped += (*out)->n_clamped;
    return RW_OK;
}

int rw_reader_next(struct rw_ctx *ctx, struct rw_reader *reader, struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    struct rw_builder_list list = {0};
    int status;
    *out = NULL;
    RW_TRY_OUT(next_documents(ctx, reader, &list, out));
    status = finish_piece(ctx, reader, &list, out);
out:
    rw_builder_list_release(&list);
    return status;
}

/* ---- and their scores ---- */

struct score_job {
    const struct rw_packed *packed; /* borrowed, as is */
    unsigned char *seen;
};

static int score_lines(void *user, struct rw_builder *lines)
{
    const struct score_job *job = user;
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
static int join_scores(struct rw_ctx *ctx, struct rw_reader *reader,
                       const struct rw_builder_list *list)
{
    reader->n_lines_scored = 0;
    for (size_t i = 0; i < list->n && list->builder[i].score; i++) {
        const uint32_t n = reader->n_lines_scored, n_docs = list->builder[i].n_docs;
        RW_TRY(RW_GROW(ctx, reader->score, reader->score_room, (size_t)n + n_docs));
        memcpy(reader->score + n, list->builder[i].score, n_docs * sizeof(double));
        reader->n_lines_scored += n_docs;
    }
    return RW_OK;
}

/* Of documents whose lines were not scored; start: when their reading began. */
static int score_piece(struct rw_ctx *ctx, struct rw_reader *reader, struct rw_scorer *scorer,
                       unsigned char *seen, double start, const struct rw_dataset *piece)
{
    const double read = rw_clock_ms();
    rw_dataset_note_features(piece, seen);
    RW_TRY(RW_GROW(ctx, reader->score, reader->score_room, piece->n_docs));
    RW_TRY(rw_scorer_run(ctx, scorer, piece, reader->score));
    rw_log(ctx, RW_LOG_DEBUG, "%u documents: read in %.3f s, scored in %.3f s", piece->n_docs,
           (read - start) / 1e3, (rw_clock_ms() - read) / 1e3);
    return RW_OK;
}

/* Does what lines had fit the model? The data set has no features any more. */
static int check_seen(struct rw_ctx *ctx, const struct rw_packed *packed, const unsigned char *seen,
                      const struct rw_dataset *piece)
{
    struct rw_column_view view = rw_column_view_of(piece);
    const unsigned char *last = rw_system_last(seen, 1, RW_FEATURE_IDS);
    view.n_ids = last ? (uint32_t)(last - seen) + 1 : 0;
    return rw_column_rule_check(ctx, &packed->flat->columns, &view);
}

int rw_reader_scores(struct rw_ctx *ctx, struct rw_reader *reader, struct rw_scorer *scorer,
                     unsigned char *seen, struct rw_dataset **out, const double **scores)
{
    RW_DEFAULT_FPENV;
    struct score_job job = {rw_scorer_packed(ctx, scorer, reader->n_lines_scored), seen};
    struct rw_builder_list list = {.take = job.packed ? score_lines : NULL, .take_user = &job};
    const double start = rw_clock_ms();
    int status;
    *out = NULL;
    RW_TRY_OUT(next_documents(ctx, reader, &list, out));
    RW_TRY_OUT(join_scores(ctx, reader, &list));
    RW_TRY_OUT(finish_piece(ctx, reader, &list, out));
    if (*out && reader->n_lines_scored == 0)
        RW_TRY_OUT(score_piece(ctx, reader, scorer, seen, start, *out));
    else if (*out)
        RW_TRY_OUT(check_seen(ctx, job.packed, seen, *out));
    *scores = reader->score;
out:
    rw_builder_list_release(&list);
    if (status < 0) {
        rw_dataset_free(*out);
        *out = NULL;
    }
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

/* The only file, if its format gives it at once: it has what pieces would lose, also where the part
 * has no documents of it. */
static int read_whole(struct rw_ctx *ctx, struct rw_reader *reader, const struct rw_read_goal *goal,
                      struct rw_binned *out)
{
    const struct rw_own_part *part = reader->part;
    struct rw_range range;
    if (reader->n_paths > 1 || (part && !part->is_cache))
        return RW_OK;
    if (part)
        range = (struct rw_range){.begin = part->begin.file ? UINT64_MAX : part->begin.at,
                                  .end = part->end.file ? UINT64_MAX : part->end.at};
    reader->next_path = 0;
    RW_TRY(open_file(ctx, reader));
    if (!reader->format->whole)
        return RW_OK;
    RW_TRY(reader->format->whole(ctx, reader->input, part ? &range : NULL,
                                 goal->values ? NULL : goal->rule, out));
    if (goal->take) {
        RW_TRY(goal->take(goal->take_user, out->documents));
        rw_dataset_drop_values(out->documents);
    }
    return RW_OK;
}

/* What the reader has: to be released also after a failure. */
static int read_all(struct rw_ctx *ctx, struct rw_reader *reader, const struct rw_read_goal *goal,
                    struct rw_binned *out)
{
    const int n_files = reader->end_path - reader->next_path;
    struct rw_builder_list list = {.is_whole = n_files == 1 && !goal->take}, documents = {0};
    int more = n_files > 0;
    int status = read_whole(ctx, reader, goal, out);
    if (status < 0 || out->documents)
        goto out;
    while (more) {
        RW_TRY_OUT(next_piece(ctx, reader, &list, &more));
        if (goal->take)
            RW_TRY_OUT(take_values(ctx, &list, goal, &documents));
    }
    status = goal->take
                 ? rw_builder_finish(ctx, documents.builder, (int)documents.n, &out->documents)
                 : rw_early_finish(ctx, list.early, list.builder, (int)list.n, &out->documents);
out:
    rw_builder_list_release(&list);
    rw_builder_list_release(&documents);
    return status;
}

/* ---- one worker ---- */

/* notice: a query that comes back is an error; else it is one more query of that id. */
static int read_files(struct rw_ctx *ctx, const char *const *paths, int n_paths, int notice,
                      struct rw_read_goal *goal, struct rw_binned *out)
{
    struct rw_reader *reader;
    int status;
    RW_TRY(rw_reader_open(ctx, paths, n_paths, &reader));
    const int keeps = rw_spool_begin(ctx, paths, n_paths, goal);
    RW_TRY_OUT(keeps);
    if (goal->bins_text)
        RW_TRY_OUT(rw_text_codes(ctx, paths, n_paths, goal, RW_TEXT_CHUNK_BYTES, out));
    if (out->bins)
        goto out;
    if (notice)
        RW_TRY_OUT(rw_seen_new(ctx, &reader->seen));
    RW_TRY_OUT(read_all(ctx, reader, goal, out));
    rw_data_format_note_clamped(ctx, out->documents->n_clamped);
out:
    rw_reader_close(reader);
    rw_spool_end(ctx, keeps > 0);
    return status;
}

/* ---- a worker's part ---- */

int rw_own_part_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                     struct rw_own_part *part, const struct rw_read_goal *goal,
                     struct rw_binned *out)
{
    struct rw_reader *reader;
    RW_TRY(rw_reader_open(ctx, paths, n_paths, &reader));
    reader->part = part;
    rw_own_part_files(part, &reader->next_path, &reader->end_path);
    const int status = read_all(ctx, reader, goal, out);
    rw_reader_close(reader);
    return status;
}

static int read_parts(struct rw_ctx *ctx, const char *const *paths, int n_paths, int notice,
                      const struct rw_read_goal *goal, struct rw_binned *out)
{
    struct rw_own_part part;
    uint64_t by_words;
    RW_TRY(rw_comm_agree(ctx, check_paths(ctx, paths, n_paths)));
    RW_TRY(rw_own_part_find(ctx, paths, n_paths, &part));
    if (goal->rule && part.is_text)
        return rw_text_part_codes(ctx, paths, n_paths, goal->rule, RW_TEXT_CHUNK_BYTES, &part, out);
    RW_TRY(rw_comm_agree(ctx, rw_own_part_read(ctx, paths, n_paths, &part, goal, out)));
    RW_TRY(rw_together_check(ctx, paths, &part, notice, out->documents));
    by_words = out->documents->lexicon != NULL; /* words become codes when all are known */
    RW_TRY(rw_comm_max(ctx, &by_words, 1));
    if (goal->rule && !out->bins && !by_words) {
        RW_TRY(rw_dataset_codes(ctx, out->documents, goal->rule, out));
        rw_dataset_drop_values(out->documents);
    }
    return rw_together_note_clamped(ctx, out->documents->n_clamped);
}

/* ---- files ---- */

static int read_any(struct rw_ctx *ctx, const char *const *paths, int n_paths, int notice,
                    struct rw_read_goal *goal, struct rw_binned *out)
{
    RW_DEFAULT_FPENV;
    const int status = rw_n_ranks(ctx) == 1 ? read_files(ctx, paths, n_paths, notice, goal, out)
                                            : read_parts(ctx, paths, n_paths, notice, goal, out);
    if (status < 0)
        rw_binned_release(out);
    return status;
}

int rw_files_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_binned *out)
{
    return read_any(ctx, paths, n_paths, 1, goal, out);
}

static int read_dataset(struct rw_ctx *ctx, const char *const *paths, int n_paths, int notice,
                        struct rw_read_goal *goal, struct rw_dataset **out)
{
    struct rw_binned read = {.documents = NULL};
    const int status = read_any(ctx, paths, n_paths, notice, goal, &read);
    *out = read.documents;
    return status;
}

int rw_files_read_values(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                         rw_take_values_fn *take, void *user, struct rw_dataset **out)
{
    return read_dataset(ctx, paths, n_paths, 1,
                        &(struct rw_read_goal){.take = take, .take_user = user}, out);
}

int rw_dataset_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                    struct rw_dataset **out)
{
    return read_dataset(ctx, paths, n_paths, 1, &(struct rw_read_goal){.rule = NULL}, out);
}

int rw_dataset_read_split(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                          struct rw_dataset **out)
{
    return read_dataset(ctx, paths, n_paths, 0, &(struct rw_read_goal){.rule = NULL}, out);
}
