#include "io/own_part.h"

#include <string.h>
#include <sys/stat.h>

#include "base/checksum.h"
#include "base/mem.h"
#include "comm/comm.h"
#include "io/input.h"

/* A file, and where it stands among the bytes of all. */
struct file {
    const char *path;                 /* borrowed */
    const struct rw_divided *divided; /* NULL: it is read as a whole */
    uint64_t begin, n_bytes;
};

struct survey {
    struct rw_ctx *ctx; /* borrowed */
    struct file *file;  /* [n_files] owned */
    int n_files;
    uint64_t n_bytes;
    int can_divide; /* all of them */
};

/* ---- what there is ---- */

int rw_own_part_check_path(struct rw_ctx *ctx, const char *path)
{
    struct stat info;
    const int is_stdin = strcmp(path, "-") == 0;
    if (rw_n_ranks(ctx) == 1)
        return RW_OK;
    if (!is_stdin && (stat(path, &info) != 0 || S_ISREG(info.st_mode)))
        return RW_OK; /* if it is not there, opening it says so */
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "%s%s%s cannot be divided among %d ranks\n"
                   "hint: each rank reads its own part of a file; a pipe can be read once",
                   is_stdin ? "" : "'", is_stdin ? "standard input" : path, is_stdin ? "" : "'",
                   rw_n_ranks(ctx));
}

static int look_at(struct survey *survey, int i, struct rw_own_part *part)
{
    struct file *file = &survey->file[i];
    struct rw_input *input;
    RW_TRY(rw_own_part_check_path(survey->ctx, file->path));
    RW_TRY(rw_input_open(survey->ctx, file->path, &input));
    const struct rw_data_format *format = rw_data_format_of(survey->ctx, input);
    if (!rw_input_is_seekable(input, &file->n_bytes))
        rw_input_is_packed(input, &file->n_bytes);
    if (format->divided && format->divided->can_divide(input))
        file->divided = format->divided;
    part->is_text &= format == &rw_data_format_letor;
    part->is_cache = survey->n_files == 1 && file->divided && format->whole;
    survey->can_divide &= file->divided != NULL;
    file->begin = survey->n_bytes;
    survey->n_bytes += file->n_bytes;
    rw_input_close(input);
    return RW_OK;
}

static int look_at_all(struct survey *survey, const char *const *paths, struct rw_own_part *part)
{
    RW_TRY(RW_NEW(survey->ctx, survey->file, (size_t)survey->n_files));
    for (int i = 0; i < survey->n_files; i++) {
        survey->file[i].path = paths[i];
        RW_TRY(look_at(survey, i, part));
    }
    return RW_OK;
}

/* What ranks do next depends on what they saw. */
static int check_same(const struct survey *survey)
{
    uint64_t seen[2];
    uint32_t sum = 0;
    for (int i = 0; i < survey->n_files; i++) {
        const struct file *file = &survey->file[i];
        const uint64_t of_file[2] = {file->n_bytes, file->divided != NULL};
        sum = rw_checksum(sum, of_file, sizeof(of_file));
    }
    seen[0] = (uint64_t)survey->n_files << 32 | sum;
    seen[1] = ~seen[0];
    RW_TRY(rw_comm_max(survey->ctx, seen, 2));
    if (seen[0] == ~seen[1])
        return RW_OK;
    return rw_comm_agree(survey->ctx,
                         rw_fail(survey->ctx, RW_ERR_DATA,
                                 "ranks do not see the same files: their number, sizes or kinds "
                                 "differ"));
}

/* Where files are divided, nobody reads one as a whole. */
static int check_files(const struct survey *survey)
{
    for (int i = 0; i < survey->n_files; i++) {
        struct rw_input *input = NULL;
        if (!survey->file[i].divided->check)
            continue;
        int status = rw_input_open(survey->ctx, survey->file[i].path, &input);
        status = rw_comm_agree(survey->ctx, status);
        if (status >= 0)
            status = survey->file[i].divided->check(survey->ctx, input);
        rw_input_close(input);
        RW_TRY(status);
    }
    return RW_OK;
}

/* ---- where queries begin ---- */

static int query_before(const struct survey *survey, int i, uint64_t at,
                        struct rw_query_text *query)
{
    struct rw_input *input;
    RW_TRY(rw_input_open(survey->ctx, survey->file[i].path, &input));
    const int status = survey->file[i].divided->query_before(survey->ctx, input, at, query);
    rw_input_close(input);
    return status;
}

static int next_query(const struct survey *survey, int i, uint64_t at,
                      const struct rw_query_text *before, uint64_t *place)
{
    struct rw_input *input;
    RW_TRY(rw_input_open(survey->ctx, survey->file[i].path, &input));
    const int status = survey->file[i].divided->next_query(survey->ctx, input, at, before, place);
    rw_input_close(input);
    return status;
}

/* The first query that begins at byte `at` of all files, or behind it. */
static int find_query(const struct survey *survey, uint64_t at, struct rw_place *place)
{
    struct rw_query_text before = {.text = NULL};
    int i = 0, status;
    while (i + 1 < survey->n_files && survey->file[i + 1].begin <= at)
        i++;
    const uint64_t inside = at - survey->file[i].begin;
    RW_TRY_OUT(query_before(survey, i, inside, &before));
    for (int k = i - 1; k >= 0 && !before.is_known; k--)
        RW_TRY_OUT(query_before(survey, k, survey->file[k].n_bytes, &before));
    place->at = UINT64_MAX;
    for (place->file = i; place->file < survey->n_files; place->file++) {
        RW_TRY_OUT(
            next_query(survey, place->file, place->file == i ? inside : 0, &before, &place->at));
        if (place->at != UINT64_MAX)
            break;
    }
    if (place->file == survey->n_files)
        place->at = 0;
    status = RW_OK;
out:
    rw_mem_free(before.text);
    return status;
}

/* The byte where a rank's part begins, if bytes were all that mattered. */
static uint64_t even_byte(const struct survey *survey, int rank)
{
    const uint64_t n = (uint64_t)rw_n_ranks(survey->ctx), r = (uint64_t)rank;
    return survey->n_bytes / n * r + survey->n_bytes % n * r / n;
}

static int divide(const struct survey *survey, int rank, struct rw_place *place)
{
    *place = (struct rw_place){.file = rank ? survey->n_files : 0};
    if (rank == 0 || rank == rw_n_ranks(survey->ctx))
        return RW_OK;
    return find_query(survey, even_byte(survey, rank), place);
}

/* ---- whole files ---- */

/* The first file of a rank: the one that begins nearest to its share of the bytes, if each rank
 * before it and from it on can have a file. */
static int first_file(const struct survey *survey, int rank)
{
    const int n_ranks = rw_n_ranks(survey->ctx), n = survey->n_files;
    int first = 0;
    if (rank >= n || rank == n_ranks)
        return n;
    if (n <= n_ranks)
        return rank;
    for (int r = 1; r <= rank; r++) {
        const uint64_t at = even_byte(survey, r);
        const int most = n - (n_ranks - r);
        first++;
        while (first < most) {
            const uint64_t here = survey->file[first].begin,
                           next = here + survey->file[first].n_bytes;
            if (next > at && next - at > (at > here ? at - here : 0))
                break;
            first++;
        }
    }
    return first;
}

static void give_files(const struct survey *survey, struct rw_own_part *part)
{
    const int n_ranks = rw_n_ranks(survey->ctx), rank = rw_rank(survey->ctx);
    part->begin.file = first_file(survey, rank);
    part->end.file = first_file(survey, rank + 1);
    const int n_idle = n_ranks - survey->n_files;
    if (n_idle > 0 && rank == 0)
        rw_log(survey->ctx, RW_LOG_WARNING,
               "%d file%s for %d ranks: %d rank%s no documents, for gzip, CSV and TSV are read by "
               "one rank as a whole\n"
               "hint: plain text, or a cache ('rankwood bin'), is divided among all ranks",
               survey->n_files, survey->n_files == 1 ? "" : "s", n_ranks, n_idle,
               n_idle == 1 ? " gets" : "s get");
}

/* ---- the part ---- */

int rw_own_part_find(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                     struct rw_own_part *part)
{
    struct survey survey = {.ctx = ctx, .n_files = n_paths, .can_divide = 1};
    int status;
    *part = (struct rw_own_part){.is_text = 1};
    RW_TRY_OUT(rw_comm_agree(ctx, look_at_all(&survey, paths, part)));
    RW_TRY_OUT(check_same(&survey));
    if (!survey.can_divide) {
        part->is_cache = 0;
        give_files(&survey, part);
        goto out;
    }
    RW_TRY_OUT(check_files(&survey));
    status = divide(&survey, rw_rank(ctx), &part->begin);
    status = status < 0 ? status : divide(&survey, rw_rank(ctx) + 1, &part->end);
    status = rw_comm_agree(ctx, status);
out:
    rw_mem_free(survey.file);
    return status;
}

void rw_own_part_files(const struct rw_own_part *part, int *first, int *end)
{
    const int is_empty = part->begin.file == part->end.file && part->begin.at == part->end.at;
    *first = part->begin.file;
    *end = part->end.file + (part->end.at > 0 && !is_empty);
}

struct rw_range rw_own_part_range(const struct rw_own_part *part, int file)
{
    return (struct rw_range){.begin = file == part->begin.file ? part->begin.at : 0,
                             .end = file == part->end.file ? part->end.at : UINT64_MAX};
}
