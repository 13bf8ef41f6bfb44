/* Divides queries so that what belongs together stays on one side: groups of queries, such as the
 * sessions of one search text, and earlier and later queries. The text of a query, its group or its
 * time, comes from a column of a table (query_text of struct rw_columns) or from a file. */
#include <stdlib.h>
#include <unistd.h>

#include "base/rng.h"
#include "dataset/dataset.h"
#include "evaluate/evaluate.h"
#include "io/data_format.h"

/* Reads the texts from a file. *out: [n_queries], owned by the arena. */
static int texts_of_file(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                         struct rw_arena *arena, const char ***out)
{
    if (ctx->columns && ctx->columns->given.query_text && rw_ctx_n_tables(ctx) > 0 &&
        access(path, F_OK) != 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "no column and no file has the name '%.200s'", path);
    RW_TRY(rw_query_groups_read(ctx, dataset, path, arena, out));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        if (!(*out)[q])
            return rw_fail(ctx, RW_ERR_DATA,
                           "'%s' lacks query '%.60s'; expected a line 'QUERY TEXT' for each query",
                           path, rw_dataset_query_id(dataset, q));
    }
    return RW_OK;
}

/* Returns the text of each query in *out: [n_queries], owned by the arena or the data set. */
static int texts_of(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *source,
                    struct rw_arena *arena, const char ***out)
{
    char where[400];
    if (!ctx->columns || !ctx->columns->has_query_text ||
        strcmp(ctx->columns->given.query_text, source) != 0)
        return texts_of_file(ctx, dataset, source, arena, out);
    RW_TRY(RW_ARENA_NEW(ctx, arena, *out, dataset->n_queries));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint32_t begin = dataset->query_offset[q];
        for (uint32_t i = begin; i < dataset->query_offset[q + 1]; i++) {
            const char *text = rw_dataset_comment(dataset, i);
            if (i == begin)
                (*out)[q] = text;
            if (*text && strcmp(text, (*out)[q]) == 0)
                continue;
            rw_dataset_where(ctx, dataset, i, where, sizeof(where));
            return *text ? rw_fail(ctx, RW_ERR_DATA,
                                   "%s: column '%.60s' has '%.60s' and '%.60s' in one query; "
                                   "expected one text per query",
                                   where, source, (*out)[q], text)
                         : rw_fail(ctx, RW_ERR_DATA, "%s: column '%.60s' is empty", where, source);
        }
    }
    return RW_OK;
}

int rw_dataset_query_groups(struct rw_ctx *ctx, const struct rw_dataset *dataset,
                            const char *source, uint32_t *groups, uint32_t *n_groups)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    RW_RELEASED(rw_query_ids_release) struct rw_query_ids seen = {0}; /* a set of texts */
    const char **text;
    size_t index;
    RW_TRY(texts_of(ctx, dataset, source, &arena, &text));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        RW_TRY(rw_query_ids_add(ctx, &seen, text[q], &index));
        groups[q] = (uint32_t)index;
    }
    *n_groups = (uint32_t)seen.n;
    return RW_OK;
}

/* ---- folds ---- */

int rw_folds(struct rw_ctx *ctx, uint32_t n_queries, const uint32_t *groups, int n_folds,
             uint64_t seed, uint32_t *folds)
{
    RW_FREED struct rw_keyed *card = NULL;
    RW_FREED uint32_t *n_in_group = NULL, *n_in_fold = NULL, *fold_of_group = NULL;
    uint32_t n_groups = 0, most = 0;
    for (uint32_t q = 0; groups && q < n_queries; q++)
        most = groups[q] > most ? groups[q] : most;
    if (most >= n_queries)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "a query has the group %u; expected 0 to %u", most,
                       n_queries - 1);
    const size_t n_ids = groups ? (size_t)most + 1 : n_queries;
    RW_TRY(RW_NEW(ctx, n_in_group, n_ids));
    RW_TRY(RW_NEW_RAW(ctx, card, n_ids));
    for (uint32_t q = 0; q < n_queries; q++)
        n_groups += n_in_group[groups ? groups[q] : q]++ == 0;
    if (groups && n_folds > 1 && (uint32_t)n_folds > n_groups)
        return rw_fail(ctx, RW_ERR_DATA,
                       "the queries form %u group%s; expected %d or more, one for each fold",
                       n_groups, n_groups == 1 ? "" : "s", n_folds);
    if (n_folds < 2 || (uint32_t)n_folds > n_groups)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "folds is %d; expected 2 to %u, the number of queries", n_folds, n_groups);
    RW_TRY(RW_NEW(ctx, n_in_fold, (size_t)n_folds));
    RW_TRY(RW_NEW_RAW(ctx, fold_of_group, n_ids));
    /* Larger groups come first, groups of equal size in random order. */
    n_groups = 0;
    for (size_t g = 0; g < n_ids; g++) {
        const uint32_t random = rw_random(seed, g, 0, RW_STREAM_FOLD);
        if (n_in_group[g])
            card[n_groups++] =
                (struct rw_keyed){random - 0x1p32 * (n_in_group[g] - 1), (uint32_t)g};
    }
    qsort(card, n_groups, sizeof(*card), rw_by_key);
    for (uint32_t i = 0; i < n_groups; i++) {
        uint32_t fold = i % (uint32_t)n_folds; /* the smallest fold, as long as groups are equal */
        for (uint32_t f = 0; groups && f < (uint32_t)n_folds; f++)
            fold = n_in_fold[f] < n_in_fold[fold] ? f : fold;
        n_in_fold[fold] += n_in_group[card[i].id];
        fold_of_group[card[i].id] = fold;
    }
    for (uint32_t q = 0; q < n_queries; q++)
        folds[q] = fold_of_group[groups ? groups[q] : q];
    return RW_OK;
}

/* ---- time ---- */

/* The time of a query: a number, or a date as text. */
struct moment {
    double number;
    const char *text;
};

static int by_time(const void *a, const void *b)
{
    const struct moment *x = a, *y = b;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return strcmp(x->text, y->text);
}

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns 1 if both texts are dates of one form, such as 2024-01-31T12:00:00Z, so that their order
 * as texts is that of their times. */
static int are_dates(const char *text, const char *other)
{
    static const char form[] = "0000-00-00";
    size_t i = 0;
    for (; text[i] && other[i]; i++) {
        const int digit = is_digit(text[i]);
        if (digit != is_digit(other[i]) || (!digit && text[i] != other[i]) ||
            (!digit && !strchr("-:T .Z", text[i])) || (i < 10 && digit != is_digit(form[i])))
            return 0;
    }
    return i >= 10 && text[i] == other[i];
}

/* Parses the times of all queries: all numbers, which are kept exact up to 2^53, or all dates. */
static int parse_times(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char **text,
                       struct moment *times)
{
    for (uint32_t q = 0, n_numbers = 0; q < dataset->n_queries; q++) {
        const char *end = text[q] + strlen(text[q]);
        int clamped = 0;
        times[q] = (struct moment){0.0, text[q]};
        if (rw_number_parse_double(text[q], end, &times[q].number, &clamped) == end && !clamped &&
            !isnan(times[q].number)) {
            times[q].text = ""; /* 1 and 1.0 are the same time */
            n_numbers++;
        } else {
            times[q].number = 0.0;
        }
        if (n_numbers == q + 1 || (n_numbers == 0 && are_dates(text[0], text[q])))
            continue;
        return rw_fail(ctx, RW_ERR_DATA,
                       "query '%.60s' has the time '%.60s'%s%.60s%s; expected numbers, or dates of "
                       "one form such as 2024-01-31 or 2024-01-31T12:00:00",
                       rw_dataset_query_id(dataset, q), text[q], q ? " after '" : "",
                       q ? text[0] : "", q ? "'" : "");
    }
    return RW_OK;
}

int rw_dataset_split_time(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *source,
                          struct rw_dataset *part[2], char *from, size_t size)
{
    RW_RELEASED(rw_arena_free) struct rw_arena arena = {0};
    struct moment *times, *sorted;
    const uint32_t n = dataset->n_queries;
    const char **text;
    uint8_t *keep;
    part[0] = part[1] = NULL;
    RW_TRY(texts_of(ctx, dataset, source, &arena, &text));
    RW_TRY(RW_ARENA_NEW(ctx, &arena, times, n));
    RW_TRY(RW_ARENA_NEW(ctx, &arena, sorted, n));
    RW_TRY(RW_ARENA_NEW(ctx, &arena, keep, n));
    RW_TRY(parse_times(ctx, dataset, text, times));
    memcpy(sorted, times, n * sizeof(*times));
    RW_SORT(sorted, n, by_time);
    uint32_t at = n - (n + 4) / 5; /* the latest fifth; queries of one time stay together */
    while (at > 0 && by_time(&sorted[at - 1], &sorted[at]) == 0)
        at--;
    while (at < n && by_time(&sorted[0], &sorted[at]) == 0)
        at++;
    if (at == n)
        return rw_fail(ctx, RW_ERR_DATA, "all %u queries have one time; expected different ones",
                       n);
    for (int later = 0; later < 2; later++) {
        for (uint32_t q = 0; q < n; q++) {
            keep[q] = (by_time(&times[q], &sorted[at]) >= 0) == later;
            if (by_time(&times[q], &sorted[at]) == 0)
                snprintf(from, size, "%s", text[q]);
        }
        const int status = rw_dataset_select(ctx, dataset, keep, &part[later]);
        if (status < 0) {
            rw_dataset_free(part[0]);
            part[0] = NULL;
            return status;
        }
    }
    return RW_OK;
}
