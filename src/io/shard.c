/* Divides files among workers (rw_shard_find), and checks that the shards that the workers read
 * form one data set (rw_together_check). Both are declared in data_format.h. */
#include "io/data_format.h"

#include <sys/stat.h>

#include "comm/comm.h"
#include "io/input.h"

/* A file, and its offset in the concatenation of all files. */
struct file {
    const char *path;                 /* borrowed */
    const struct rw_divided *divided; /* NULL: one worker reads the whole file */
    uint64_t begin, n_bytes;          /* offset in the concatenation; size */
};

struct survey {
    struct rw_ctx *ctx; /* borrowed */
    struct file *file;  /* [n_files] borrowed */
    int n_files;
    uint64_t n_bytes; /* total size of the files */
    int can_divide;   /* 1: all files can be divided */
};

/* ---- examining the files ---- */

int rw_shard_check_path(struct rw_ctx *ctx, const char *path)
{
    struct stat info;
    const int is_stdin = strcmp(path, "-") == 0;
    if (rw_n_workers(ctx) == 1)
        return RW_OK;
    if (!is_stdin && (stat(path, &info) != 0 || S_ISREG(info.st_mode)))
        return RW_OK; /* if it does not exist, opening it reports that */
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "%s%s%s cannot be divided among %d workers\nhint: each worker reads its shard "
                   "of a file, but a pipe can be read only once",
                   is_stdin ? "" : "'", is_stdin ? "standard input" : path, is_stdin ? "" : "'",
                   rw_n_workers(ctx));
}

/* Examines the i-th file, and updates `survey` and `part`. */
static int look_at(struct survey *survey, int i, struct rw_shard *part)
{
    struct file *file = &survey->file[i];
    RW_SCOPED(rw_input_close) struct rw_input *input = NULL;
    RW_TRY(rw_shard_check_path(survey->ctx, file->path));
    RW_TRY(rw_input_open(survey->ctx, file->path, &input));
    const struct rw_data_format *format = rw_data_format_of(survey->ctx, input);
    if (rw_input_is_seekable(input, &file->n_bytes))
        file->divided = format->divided;
    else
        rw_input_is_packed(input, &file->n_bytes);
    part->is_text &= format == &rw_data_format_letor;
    part->is_cache = survey->n_files == 1 && file->divided && format->whole;
    survey->can_divide &= file->divided != NULL;
    file->begin = survey->n_bytes;
    survey->n_bytes += file->n_bytes;
    return RW_OK;
}

/* Checks that all workers see the same number of files, with the same sizes, and agree for each
 * file whether it can be divided. The next steps of all workers depend on this. */
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
    return rw_comm_agree(
        survey->ctx, rw_fail(survey->ctx, RW_ERR_DATA,
                             "workers see different files: their number, sizes or formats differ"));
}

/* Checks the files as a whole, since a worker reads only a part of a divided file. */
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

/* ---- query boundaries ---- */

/* Finds the first query that begins at byte `at` of the concatenated files or later, with the
 * exceptions of rw_divided.next_query. */
static int find_query(const struct survey *survey, uint64_t at, struct rw_place *place)
{
    char *query RW_FREED = NULL;
    *place = (struct rw_place){.at = UINT64_MAX};
    for (int i = 0; i < survey->n_files && place->at == UINT64_MAX; i++) {
        const struct file *file = &survey->file[i];
        RW_SCOPED(rw_input_close) struct rw_input *input = NULL;
        place->file = i;
        if (i + 1 < survey->n_files && file[1].begin <= at)
            continue;
        RW_TRY(rw_input_open(survey->ctx, file->path, &input));
        RW_TRY(file->divided->next_query(
            survey->ctx, input, at > file->begin ? at - file->begin : 0, &query, &place->at));
    }
    if (place->at == UINT64_MAX)
        *place = (struct rw_place){.file = survey->n_files};
    return RW_OK;
}

/* Returns the byte where a worker's shard would begin if only bytes mattered. */
static uint64_t even_byte(const struct survey *survey, int worker)
{
    const uint64_t n = (uint64_t)rw_n_workers(survey->ctx), r = (uint64_t)worker;
    return survey->n_bytes / n * r + survey->n_bytes % n * r / n;
}

/* Finds where a worker's shard begins. worker = number of workers: where the last shard ends. */
static int divide(const struct survey *survey, int worker, struct rw_place *place)
{
    *place = (struct rw_place){.file = worker ? survey->n_files : 0};
    if (worker == 0 || worker == rw_n_workers(survey->ctx))
        return RW_OK;
    return find_query(survey, even_byte(survey, worker), place);
}

/* ---- files that are not divided ---- */

/* Returns a worker's first file: the one that begins nearest to the worker's even_byte, such that
 * every worker can have a file. If there are no more files than workers, returns the worker's
 * number, or n_files for workers without a file. */
static int first_file(const struct survey *survey, int worker)
{
    const int n_workers = rw_n_workers(survey->ctx), n = survey->n_files;
    int first = 0;
    if (worker >= n || worker == n_workers)
        return n;
    if (n <= n_workers)
        return worker;
    for (int r = 1; r <= worker; r++) {
        const uint64_t at = even_byte(survey, r);
        const int most = n - (n_workers - r);
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

/* Assigns whole files to this worker. */
static void give_files(const struct survey *survey, struct rw_shard *part)
{
    const int n_workers = rw_n_workers(survey->ctx), worker = rw_worker(survey->ctx);
    part->begin.file = first_file(survey, worker);
    part->end.file = first_file(survey, worker + 1);
    const int n_idle = n_workers - survey->n_files;
    if (n_idle > 0 && worker == 0)
        rw_log(survey->ctx, RW_LOG_WARNING,
               "%d file%s for %d workers: %d worker%s no documents, because one worker reads a "
               "whole file of gzip, CSV or TSV\nhint: plain LETOR text and caches ('rankwood bin') "
               "are divided among all workers",
               survey->n_files, survey->n_files == 1 ? "" : "s", n_workers, n_idle,
               n_idle == 1 ? " gets" : "s get");
}

/* ---- finding the shard ---- */

int rw_shard_find(struct rw_ctx *ctx, const char *const *paths, int n_paths, struct rw_shard *part)
{
    struct file *file RW_FREED = NULL;
    struct survey survey = {.ctx = ctx, .n_files = n_paths, .can_divide = 1};
    *part = (struct rw_shard){.is_text = 1};
    int status = RW_NEW(ctx, file, (size_t)n_paths);
    survey.file = file;
    for (int i = 0; i < n_paths && status >= 0; i++) {
        file[i].path = paths[i];
        status = look_at(&survey, i, part);
    }
    RW_TRY(rw_comm_agree(ctx, status));
    RW_TRY(check_same(&survey));
    if (!survey.can_divide) {
        part->is_cache = 0;
        give_files(&survey, part);
        return RW_OK;
    }
    RW_TRY(check_files(&survey));
    status = divide(&survey, rw_worker(ctx), &part->begin);
    status = status < 0 ? status : divide(&survey, rw_worker(ctx) + 1, &part->end);
    return rw_comm_agree(ctx, status);
}

void rw_shard_files(const struct rw_shard *part, int *first, int *end)
{
    const int is_empty = part->begin.file == part->end.file && part->begin.at == part->end.at;
    *first = part->begin.file;
    *end = part->end.file + (part->end.at > 0 && !is_empty);
}

struct rw_range rw_shard_range(const struct rw_shard *part, int file)
{
    struct rw_range range = {.end = file == part->end.file ? part->end.at : UINT64_MAX};
    if (file < part->begin.file)
        range.begin = UINT64_MAX;
    else if (file == part->begin.file)
        range.begin = part->begin.at;
    return range;
}

/* ---- checking the documents of all workers ---- */

/* The data that each worker sends to all others. */
struct summary {
    struct rw_place begin, end;
    uint64_t n_docs, n_lines; /* n_lines: in the shard's range of the last file */
    uint32_t has_weight, weight_by_query;
    int32_t n_tables, n_more_labels;
};

struct joint {
    struct rw_ctx *ctx;           /* borrowed */
    const char *const *paths;     /* [n_paths] borrowed */
    const struct rw_shard *part;  /* borrowed */
    struct rw_dataset *documents; /* borrowed */
    struct summary *summary;      /* [n_workers] borrowed */
    int worker, n_workers;
};

static int exchange_summaries(struct joint *j)
{
    const struct rw_dataset *documents = j->documents;
    struct summary own;
    memset(&own, 0, sizeof(own));
    own.begin = j->part->begin;
    own.end = j->part->end;
    own.n_docs = documents->n_docs;
    own.n_lines = j->part->range.n_lines;
    own.has_weight = documents->weight != NULL;
    own.weight_by_query = (uint32_t)documents->weight_by_query;
    own.n_tables = j->ctx->n_tables;
    own.n_more_labels = documents->n_more_labels;
    return rw_comm_all_gather(j->ctx, &own, j->summary, sizeof(own));
}

/* Checks that the shards are adjacent. If files differ between machines, or change, workers divide
 * them differently. */
static int check_parts(const struct joint *j)
{
    for (int r = 0; r + 1 < j->n_workers; r++) {
        const struct rw_place *end = &j->summary[r].end, *begin = &j->summary[r + 1].begin;
        if (end->file != begin->file || end->at != begin->at)
            return rw_fail(
                j->ctx, RW_ERR_DATA,
                "workers %d and %d see different files, or a file changed while it was being read",
                r, r + 1);
    }
    return RW_OK;
}

/* Counts the documents of earlier workers, and their lines of this worker's first file. Errors then
 * number documents from the beginning of the data, and lines from the beginning of their file. */
static void count_before(const struct joint *j)
{
    struct rw_dataset *documents = j->documents;
    uint64_t n_lines = 0;
    documents->first_doc = 0;
    for (int r = 0; r < j->worker; r++) {
        documents->first_doc += j->summary[r].n_docs;
        if (j->summary[r].end.file == j->part->begin.file && j->summary[r].end.at > 0)
            n_lines += j->summary[r].n_lines;
    }
    for (uint32_t i = 0; j->part->begin.at > 0 && i < documents->origin.n_locations; i++) {
        if (documents->origin.location[i].file == 0)
            documents->origin.location[i].line += n_lines;
    }
}

/* Sets all weights to 1 if only other workers have weights, and makes the properties of weights and
 * the number of tables read equal on all workers. */
static int weigh(const struct joint *j)
{
    struct rw_dataset *documents = j->documents;
    int any = 0;
    for (int r = 0; r < j->n_workers; r++) {
        any |= j->summary[r].has_weight != 0;
        documents->weight_by_query |= (int)j->summary[r].weight_by_query;
        if (j->summary[r].n_tables > j->ctx->n_tables)
            j->ctx->n_tables = j->summary[r].n_tables;
    }
    if (!any || documents->weight)
        return RW_OK;
    RW_TRY(RW_NEW_RAW(j->ctx, documents->weight, documents->n_docs));
    for (uint32_t i = 0; i < documents->n_docs; i++)
        documents->weight[i] = 1.0;
    return RW_OK;
}

/* Checks that this worker's documents have as many further labels as those of the first worker that
 * has documents. */
static int check_more_labels(const struct joint *j)
{
    const struct summary *first = j->summary, *own = &j->summary[j->worker];
    while (first < own && first->n_docs == 0)
        first++;
    if (own->n_docs == 0 || own->n_more_labels == first->n_more_labels)
        return RW_OK;
    return rw_fail(j->ctx, RW_ERR_DATA,
                   "'%.400s' has %d label%s per document, the files before it have %d",
                   j->paths[j->part->begin.file], own->n_more_labels + 1,
                   own->n_more_labels ? "s" : "", first->n_more_labels + 1);
}

/* ---- names of features ---- */

/* Writes ids and names, each name terminated by 0. The caller frees *text. */
static int write_names(const struct joint *j, char **text, size_t *n_bytes)
{
    const struct rw_dataset *documents = j->documents;
    char *to;
    *n_bytes = 0;
    for (int32_t i = 0; i < documents->n_names; i++)
        *n_bytes += sizeof(uint32_t) + strlen(documents->name[i].name) + 1;
    RW_TRY(RW_NEW_RAW(j->ctx, *text, *n_bytes));
    to = *text;
    for (int32_t i = 0; i < documents->n_names; i++) {
        const size_t n = strlen(documents->name[i].name) + 1;
        memcpy(to, &documents->name[i].feature, sizeof(uint32_t));
        memcpy(to + sizeof(uint32_t), documents->name[i].name, n);
        to += sizeof(uint32_t) + n;
    }
    return RW_OK;
}

/* Reads names written by write_names of another worker. */
static int read_names(const struct joint *j, const char *text, size_t n_bytes)
{
    struct rw_dataset *documents = j->documents;
    size_t room = 0;
    uint32_t least = 0; /* ids ascend */
    for (size_t at = 0, next; at < n_bytes; at = next, documents->n_names++) {
        struct rw_feature_name name = {.feature = UINT32_MAX};
        next = rw_received_end(text, n_bytes, at, sizeof(name.feature));
        if (next)
            memcpy(&name.feature, text + at, sizeof(name.feature));
        if (name.feature < least || name.feature > RW_MAX_FEATURE)
            return rw_comm_nonsense(j->ctx, "names of features");
        least = name.feature + 1;
        RW_TRY(RW_GROW(j->ctx, documents->name, room, (size_t)documents->n_names + 1));
        RW_TRY(rw_mem_copy_text(j->ctx, &name.name, text + at + sizeof(name.feature)));
        documents->name[documents->n_names] = name;
    }
    return RW_OK;
}

/* Copies the names of the first worker that has names to all workers without names. Fails if those
 * of another worker differ. */
static int share_names(const struct joint *j)
{
    struct rw_dataset *documents = j->documents;
    char *own RW_FREED = NULL;
    void *gathered RW_FREED = NULL;
    size_t *begin RW_FREED = NULL;
    size_t n_bytes = 0;
    int first = 0, status = RW_OK;
    RW_TRY(rw_comm_agree(j->ctx, write_names(j, &own, &n_bytes)));
    RW_TRY(rw_comm_all_gatherv(j->ctx, own, n_bytes, &gathered, &begin));
    const char *all = gathered;
    while (first + 1 < j->n_workers && begin[first + 1] == begin[first])
        first++;
    const size_t n_first = begin[first + 1] - begin[first];
    if (!documents->n_names && n_first)
        status = read_names(j, all + begin[first], n_first);
    else if (n_bytes != n_first || (n_bytes && memcmp(own, all + begin[first], n_bytes) != 0))
        status = rw_fail(j->ctx, RW_ERR_DATA,
                         "'%s': its columns differ from those of the files before it\nhint: all "
                         "files of a data set must have the same columns in the same order",
                         documents->origin.n_files ? documents->origin.file[0] : "a table");
    return rw_comm_agree(j->ctx, status);
}

/* ---- queries ---- */

/* Returns the number of a worker's query. Numbers ascend in the order of the data. */
static uint64_t number_of(int worker, uint32_t query)
{
    return (uint64_t)worker << 32 | query;
}

/* most bytes of the text of a document's location, as 64-bit words and as bytes */
enum { WHERE_WORDS = 64, WHERE_BYTES = WHERE_WORDS * 8 };

/* The numbers (number_of) of two queries with the same id. */
struct twice {
    uint64_t first, again; /* first: the earlier query; again: the later one; UINT64_MAX: no id is
                              repeated */
};

/* Finds the first repeated id of all workers. all: the ids of all workers, concatenated, each
 * terminated by 0. begin: [n_workers + 1] offset of each worker's ids. */
static int find_twice(const struct joint *j, const char *all, const size_t *begin,
                      struct twice *found)
{
    struct rw_query_ids ids RW_RELEASED(rw_query_ids_release) = {.slot = NULL};
    uint64_t *number RW_FREED = NULL;
    size_t room = 0, index;
    *found = (struct twice){.again = UINT64_MAX};
    for (int r = 0; r < j->n_workers; r++) {
        const char *end = all + begin[r + 1], *id_end;
        uint32_t q = 0;
        for (const char *id = all + begin[r]; id < end; id = id_end + 1, q++) {
            id_end = memchr(id, 0, (size_t)(end - id));
            if (!id_end)
                return rw_comm_nonsense(j->ctx, "ids of queries");
            const int is_known = rw_query_ids_add(j->ctx, &ids, id, &index);
            RW_TRY(is_known);
            if (is_known) {
                *found = (struct twice){.first = number[index], .again = number_of(r, q)};
                return RW_OK;
            }
            RW_TRY(RW_GROW(j->ctx, number, room, index + 1));
            number[index] = number_of(r, q);
        }
    }
    return RW_OK;
}

/* Returns 1 if twice->again is the first query of its worker, and twice->first belongs to the
 * nearest worker before it that has documents. If twice->first is also the last query there, one
 * query was divided, which happens only if a file ends within a query. */
static int continues_previous(const struct joint *j, const struct twice *twice)
{
    const int worker = (int)(twice->again >> 32);
    int before = worker - 1;
    while (before >= 0 && j->summary[before].n_docs == 0)
        before--;
    return (uint32_t)twice->again == 0 && (int)(twice->first >> 32) == before;
}

/* Reports the error on the worker of twice->again. is_last: 1: twice->first is the last query of
 * its worker. began: location of twice->first. */
static int fail_twice(const struct joint *j, const struct twice *twice, int is_last,
                      const char *began)
{
    const uint32_t query = (uint32_t)twice->again;
    const char *id = rw_dataset_query_id(j->documents, query);
    char here[WHERE_BYTES];
    rw_dataset_where(j->ctx, j->documents, j->documents->query_offset[query], here, sizeof(here));
    if (continues_previous(j, twice) && is_last)
        return rw_fail(j->ctx, RW_ERR_DATA,
                       "%s: query '%.200s' began in the files of another worker, at %s\nhint: a "
                       "query's documents must be in files of one worker; plain LETOR text and "
                       "caches ('rankwood bin') are divided between queries",
                       here, id, began);
    return rw_fail(j->ctx, RW_ERR_PARSE,
                   "%s: query '%.200s' appears again after another query\nhint: it began at %s; a "
                   "query's lines must be consecutive",
                   here, id, began);
}

/* Sends the location of twice->first from its worker to all workers, and whether that query is the
 * worker's last. */
static int send_location(const struct joint *j, const struct twice *twice, char *began,
                         int *is_last)
{
    uint64_t text[WHERE_WORDS + 1] = {0};
    const uint32_t query = (uint32_t)twice->first;
    if (twice->first >> 32 == (uint64_t)j->worker && query < j->documents->n_queries) {
        rw_dataset_where(j->ctx, j->documents, j->documents->query_offset[query], (char *)text,
                         WHERE_BYTES);
        text[WHERE_WORDS] = query + 1 == j->documents->n_queries;
    }
    RW_TRY(rw_comm_sum(j->ctx, text, WHERE_WORDS + 1)); /* the other workers' texts are 0 */
    memcpy(began, text, WHERE_BYTES);
    began[WHERE_BYTES - 1] = 0;
    *is_last = text[WHERE_WORDS] != 0;
    return RW_OK;
}

/* Checks that no id occurs in two queries of any workers. */
static int check_ids(const struct joint *j)
{
    const struct rw_dataset *documents = j->documents;
    const size_t n_bytes =
        documents->n_queries ? documents->query_id.offset[documents->n_queries] : 0;
    char began[WHERE_BYTES];
    void *all RW_FREED = NULL;
    size_t *begin RW_FREED = NULL;
    struct twice twice;
    int is_last, status = RW_OK;
    RW_TRY(rw_comm_all_gatherv(j->ctx, documents->query_id.text, n_bytes, &all, &begin));
    RW_TRY(rw_comm_agree(j->ctx, find_twice(j, all, begin, &twice)));
    if (twice.again == UINT64_MAX)
        return RW_OK;
    RW_TRY(send_location(j, &twice, began, &is_last));
    if (twice.again >> 32 == (uint64_t)j->worker)
        status = (uint32_t)twice.again >= documents->n_queries
                     ? rw_comm_nonsense(j->ctx, "a query")
                     : fail_twice(j, &twice, is_last, began);
    return rw_comm_agree(j->ctx, status);
}

int rw_together_check(struct rw_ctx *ctx, const char *const *paths, const struct rw_shard *part,
                      int notice, struct rw_dataset *documents)
{
    struct summary *summary RW_FREED = NULL;
    struct joint j = {.ctx = ctx,
                      .paths = paths,
                      .part = part,
                      .documents = documents,
                      .worker = rw_worker(ctx),
                      .n_workers = rw_n_workers(ctx)};
    RW_TRY(rw_comm_agree(ctx, RW_NEW(ctx, summary, (size_t)j.n_workers)));
    j.summary = summary;
    RW_TRY(exchange_summaries(&j));
    RW_TRY(rw_comm_agree(ctx, check_parts(&j)));
    count_before(&j);
    RW_TRY(rw_comm_agree(ctx, weigh(&j)));
    RW_TRY(rw_comm_agree(ctx, check_more_labels(&j)));
    RW_TRY(share_names(&j));
    return notice ? check_ids(&j) : RW_OK;
}

int rw_together_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped)
{
    RW_TRY(rw_comm_sum(ctx, &n_clamped, 1));
    if (rw_worker(ctx) == 0)
        rw_data_format_note_clamped(ctx, n_clamped);
    return RW_OK;
}
