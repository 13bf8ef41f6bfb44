/* Parameters from text: one value, a file of them, and what an unknown name or value was meant to
 * be. */
#include "base/fpenv.h"
#include "params/params.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "base/system.h"
#include "base/words.h"
#include "objective/lambdarank_pairs.h"

/* What another trainer's value is here, or a 0 where a word is meant, as a hint; "" if it is not
 * known. "YetiRank:mode=DCG" is looked up without its own parameters. */
static void value_hint(const struct rw_param_row *param, const char *value, char *hint, size_t size)
{
    const struct rw_param_info *info = &param->info;
    char word[64];
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(value, ":"), value);
    int row = rw_alias_find(info->name, value, 0);
    if (row < 0)
        row = rw_alias_find(info->name, word, 0);
    for (char *c = word; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    *hint = 0;
    double number;
    int clamped;
    const char *end = value + strlen(value);
    if (param->word && param->word_value == 0 &&
        rw_number_parse_double(value, end, &number, &clamped) == end && number == 0)
        snprintf(hint, size, "\nhint: '%.60s' is '%s' here", value, param->word);
    if (row < 0 && info->type == RW_PARAM_CHOICE && rw_param_word(info->range, word) >= 0)
        snprintf(hint, size, "\nhint: '%.60s' is '%s' here", value, word);
    if (row < 0)
        return;
    const struct rw_alias *alias = rw_alias_at(row);
    if (!alias->ours)
        snprintf(hint, size, "\nhint: there is none like '%.60s' here: %s", value, alias->note);
    else if (alias->note)
        snprintf(hint, size, "\nhint: the nearest to '%.60s' is '%s': %s", value, alias->ours,
                 alias->note);
    else
        snprintf(hint, size, "\nhint: '%.60s' is '%s' here", value, alias->ours);
}

static int refuse(struct rw_ctx *ctx, const struct rw_param_row *row, const char *expected,
                  const char *value)
{
    char hint[256];
    value_hint(row, value, hint, sizeof(hint));
    return rw_fail(ctx, RW_ERR_ARGUMENT, "parameter '%s': expected %s, found '%.200s'%s",
                   row->info.name, expected, value, hint);
}

/* A number of the row's range, all of text [begin, end). */
static int number_within(const struct rw_param_row *row, const char *begin, const char *end,
                         double *number)
{
    int clamped;
    return rw_number_parse_double(begin, end, number, &clamped) == end && !clamped &&
           *number >= row->least && *number <= row->most;
}

/* A:B:N, which has a colon. */
static int assign_schedule(struct rw_ctx *ctx, struct rw_params *params, const char *value)
{
    enum { MOST_ROUNDS = 1000000 };
    const struct rw_param_row *row = &rw_param_rows[RW_AT_PARAM_rate];
    const char *first = strchr(value, ':'), *second = strchr(first + 1, ':');
    double from, to;
    uint64_t n_rounds = 0;
    if (!second || !number_within(row, value, first, &from) ||
        !number_within(row, first + 1, second, &to) ||
        !rw_number_whole(second + 1, MOST_ROUNDS, &n_rounds) || n_rounds == 0)
        return refuse(ctx, row,
                      "A:B:N, two rates from 1e-6 to 1 and a number of rounds from 1 to 1000000",
                      value);
    params->rate = from;
    params->schedule = (struct rw_rate_schedule){to, (int)n_rounds};
    return RW_OK;
}

static int assign_number(struct rw_ctx *ctx, const struct rw_param_row *row, void *field,
                         const char *value)
{
    const int is_int = row->info.type == RW_PARAM_INT;
    const char *end = value + strlen(value);
    double number = row->word_value;
    if (!row->word || strcmp(value, row->word) != 0) {
        uint64_t whole = 0;
        int is_number;
        char expected[128];
        if (is_int) {
            is_number = rw_number_whole(value, (uint64_t)row->most, &whole);
            number = (double)whole;
            is_number &= number >= row->least;
        } else {
            is_number = number_within(row, value, end, &number);
        }
        snprintf(expected, sizeof(expected), "a %snumber, %s%s%s", is_int ? "whole " : "",
                 row->info.range, row->word ? ", or " : "", row->word ? row->word : "");
        if (!is_number)
            return refuse(ctx, row, expected, value);
    }
    if (is_int)
        *(int *)field = (int)number;
    else
        *(double *)field = number;
    return RW_OK;
}

int rw_params_bytes(const char *text, uint64_t *bytes)
{
    static const struct {
        char name;
        uint64_t bytes;
    } units[] = {{'K', 1000}, {'M', 1000000}, {'G', 1000000000}, {'T', 1000000000000}};
    const size_t length = strlen(text);
    char digits[24];
    uint64_t unit = 1;
    *bytes = 0;
    if (strcmp(text, "auto") == 0)
        return 1;
    if (length == 0 || length >= sizeof(digits))
        return 0;
    snprintf(digits, sizeof(digits), "%s", text);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (digits[length - 1] != units[i].name)
            continue;
        digits[length - 1] = 0;
        unit = units[i].bytes;
        break;
    }
    if (!rw_number_whole(digits, UINT64_MAX / unit, bytes) || *bytes == 0)
        return 0;
    *bytes *= unit;
    return 1;
}

int rw_label_weights(const char *text, double *weight)
{
    int n = 0, any = 0;
    for (const char *at = text; n < RW_MAX_LABELS; n++) {
        const char *end = at + strcspn(at, ",");
        int clamped;
        if (rw_number_parse_double(at, end, &weight[n], &clamped) != end || clamped ||
            !(weight[n] >= 0.0 && weight[n] <= RW_MAX_WEIGHT))
            return 0;
        any |= weight[n] > 0.0;
        if (!*end)
            return n > 0 && any ? n + 1 : 0;
        at = end + 1;
    }
    return 0;
}

/* Texts that have a form of their own; files and lists are looked at where they are used. */
static int check_text(struct rw_ctx *ctx, int at, const char *value)
{
    const struct rw_param_row *row = &rw_param_rows[at];
    size_t length;
    if (at == RW_AT_PARAM_device && rw_param_word("auto|cpu|cuda|cuda:all|ref|sim", value) < 0 &&
        (!strchr(value, ':') || rw_device_number(value, &length) < 0))
        return refuse(ctx, row, "auto, cpu, cuda, cuda:N or cuda:all", value);
    uint64_t bytes;
    if (at == RW_AT_PARAM_gpu_memory && !rw_params_bytes(value, &bytes))
        return refuse(ctx, row, "a size such as 16G or 800M, or auto", value);
    if (at == RW_AT_PARAM_delta && rw_delta_number(value) < 0.0)
        return refuse(ctx, row, "ndcg, dcg, map, mrr, err, p@K or none", value);
    if (at == RW_AT_PARAM_pairs && rw_pairs_number(value) < RW_PAIRS_GIVEN)
        return refuse(ctx, row, "topk, all, given or mean:N, N from 1 to 1000", value);
    double weight[RW_MAX_LABELS];
    if (at == RW_AT_PARAM_label_weights && *value && !rw_label_weights(value, weight))
        return refuse(ctx, row,
                      "2 to " RW_TEXT(RW_MAX_LABELS) " numbers from 0 to " RW_TEXT(
                          RW_MAX_WEIGHT) ", not all 0, with commas",
                      value);
    if (at == RW_AT_PARAM_label_gain && !*value)
        return refuse(ctx, row, "exp, linear or a file", value);
    if (at == RW_AT_PARAM_hist && !*value)
        return refuse(ctx, row, "auto or a method", value);
    if (at == RW_AT_PARAM_metric) {
        struct rw_metric metrics[RW_MAX_METRICS];
        int n;
        RW_TRY(rw_metrics_parse(ctx, value, 1, metrics, &n));
    }
    return RW_OK;
}

int rw_param_assign(struct rw_ctx *ctx, struct rw_params *params, int at, const char *value)
{
    const struct rw_param_row *row = &rw_param_rows[at];
    void *field = (char *)params + row->offset;
    switch (row->info.type) {
    case RW_PARAM_INT:
    case RW_PARAM_REAL:
        if (at == RW_AT_PARAM_rate && strchr(value, ':'))
            return assign_schedule(ctx, params, value);
        RW_TRY(assign_number(ctx, row, field, value));
        if (at == RW_AT_PARAM_rate)
            params->schedule = (struct rw_rate_schedule){.n_rounds = 0};
        return RW_OK;
    case RW_PARAM_CHOICE: {
        const int index = rw_param_word(row->info.range, value);
        if (index < 0)
            return refuse(ctx, row, row->info.range, value);
        *(int *)field = index;
        return RW_OK;
    }
    case RW_PARAM_TEXT: {
        char *copy;
        RW_TRY(check_text(ctx, at, value));
        RW_TRY(rw_mem_copy_text(ctx, &copy, value));
        rw_mem_free(*(char **)field);
        *(char **)field = copy;
        return at == RW_AT_PARAM_pairs_file && *value && !params->is_set[RW_AT_PARAM_pairs]
                   ? rw_param_assign(ctx, params, RW_AT_PARAM_pairs, "given")
                   : RW_OK;
    }
    case RW_PARAM_SEED: {
        uint64_t seed;
        if (!rw_number_whole(value, UINT64_MAX, &seed))
            return refuse(ctx, row, "a whole number below 2^64", value);
        *(uint64_t *)field = seed;
        return RW_OK;
    }
    }
    return rw_fail(ctx, RW_ERR_INTERNAL, "parameter '%s' has no type", row->info.name);
}

static int unknown_name(struct rw_ctx *ctx, const char *name)
{
    const char *near = rw_params_nearest(name), *note = NULL, *option = NULL;
    for (int i = rw_alias_find(NULL, name, 0); i >= 0; i = rw_alias_find(NULL, name, i + 1)) {
        const struct rw_alias *row = rw_alias_at(i);
        if (near && row->ours && strcmp(row->ours, near) == 0)
            note = row->note;
        else if (!near && !row->ours)
            note = row->note;
        else if (!near && !option)
            option = row->ours;
    }
    for (int i = 0; !near && !option && rw_alias_at(i); i++) { /* one of the program's own */
        const struct rw_alias *row = rw_alias_at(i);
        if (!row->parameter && row->ours && strcmp(row->ours, name) == 0)
            option = row->ours;
    }
    if (near)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown parameter '%.100s'; the nearest is '%s'%s%s",
                       name, near, note ? "\nhint: " : "", note ? note : "");
    if (option && !note)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "unknown parameter '%.100s'\nhint: it is not a parameter, but the option "
                       "'--%s' of the program",
                       name, option);
    return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown parameter '%.100s'%s%s", name,
                   note ? "; there is no such parameter here\nhint: " : "", note ? note : "");
}

/* is_strict: see rw_params.is_strict. A file's "auto 0.05" is what rw_params_write makes of a
 * chosen rate. */
static int set_by_name(struct rw_ctx *ctx, struct rw_params *params, const char *name,
                       const char *value, int is_strict)
{
    RW_DEFAULT_FPENV;
    const int at = rw_param_find(name);
    if (at < 0)
        return unknown_name(ctx, name);
    const int was_auto = !is_strict && rw_param_is_by_size(at) && strncmp(value, "auto ", 5) == 0 &&
                         !strchr(value, ':');
    RW_TRY(rw_param_assign(ctx, params, at, was_auto ? value + 5 : value));
    params->is_set[at] = 1;
    params->is_strict[at] = (uint8_t)is_strict;
    params->is_chosen[at] = (uint8_t)was_auto;
    return RW_OK;
}

int rw_params_set(struct rw_ctx *ctx, struct rw_params *params, const char *name, const char *value)
{
    return set_by_name(ctx, params, name, value, 1);
}

/* ------------------------------------------------------------------ files */

/* Removes blanks at both ends, in place. */
static char *trim(char *text)
{
    while (isspace((unsigned char)*text))
        text++;
    char *end = text + strlen(text);
    while (end > text && isspace((unsigned char)end[-1]))
        end--;
    *end = 0;
    return text;
}

/* A comment starts at a '#' that begins the line or follows a blank. */
static void cut_comment(char *line)
{
    for (char *c = line; (c = strchr(c, '#')) != NULL; c++) {
        if (c == line || isspace((unsigned char)c[-1])) {
            *c = 0;
            return;
        }
    }
}

/* One line; is_seen: [RW_N_PARAMS] what the file has set so far. */
static int read_line(struct rw_ctx *ctx, struct rw_params *params, char *line, uint8_t *is_seen)
{
    cut_comment(line);
    char *name = trim(line);
    if (!*name)
        return RW_OK;
    char *equals = strchr(name, '=');
    if (!equals)
        return rw_fail(ctx, RW_ERR_PARSE, "expected 'name = value', found '%.100s'", name);
    *equals = 0;
    const char *value = trim(equals + 1);
    name = trim(name);
    const int at = rw_param_find(name);
    if (at < 0)
        return unknown_name(ctx, name);
    if (!is_seen[at]) {
        is_seen[at] = 1;
        return set_by_name(ctx, params, name, value, 0);
    }
    if (at != RW_AT_PARAM_metric)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "parameter '%s' is set a second time", name);
    char *both = NULL;
    const size_t size = strlen(params->metric) + strlen(value) + 2;
    RW_TRY(RW_NEW(ctx, both, size));
    snprintf(both, size, "%s,%s", params->metric, value);
    const int status = set_by_name(ctx, params, name, both, 0);
    rw_mem_free(both);
    return status;
}

int rw_params_read(struct rw_ctx *ctx, struct rw_params *params, const char *path)
{
    RW_DEFAULT_FPENV;
    int status = RW_OK;
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    uint8_t is_seen[RW_N_PARAMS] = {0};
    FILE *file = rw_system_fopen(path, "rb");
    if (!file)
        return rw_fail_io(ctx, errno, "cannot open '%s'", path);
    for (int number = 1; (length = getline(&line, &room, file)) >= 0; number++) {
        if (memchr(line, 0, (size_t)length))
            status = rw_fail(ctx, RW_ERR_PARSE, "expected text, found a zero byte");
        else
            status = read_line(ctx, params, line, is_seen);
        if (status < 0) {
            char why[1024];
            snprintf(why, sizeof(why), "%s", ctx ? rw_last_error(ctx) : "");
            rw_fail(ctx, status, "%s:%d: %s", path, number, why);
            goto out;
        }
    }
    if (!feof(file)) /* getline failed, for want of memory perhaps */
        status = rw_fail_io(ctx, errno, "cannot read '%s'", path);
out:
    free(line);
    fclose(file);
    return status;
}

/* Does a file give back what is written to it? */
static int check_line(struct rw_ctx *ctx, const char *name, const char *value)
{
    const size_t n = strlen(value);
    int lost = strchr(value, '\n') != NULL || isspace((unsigned char)value[0]) ||
               isspace((unsigned char)value[n - 1]) || value[0] == '#';
    for (const char *c = value; !lost && *c; c++)
        lost = isspace((unsigned char)*c) && c[1] == '#';
    if (lost)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter '%s': a file of parameters cannot hold '%s'\nhint: blanks at its "
                       "ends are lost, and '#' behind a blank begins a comment",
                       name, value);
    return RW_OK;
}

/* Not what its default gives anyway, nor what changes no byte of a model. */
static int is_written(struct rw_params *params, int at)
{
    const struct rw_param_info *info = &rw_param_rows[at].info;
    return !(info->roles & RW_ROLE_MACHINE) &&
           (info->model == 0 || rw_params_in_model(params, at)) &&
           *rw_params_get(params, info->name);
}

int rw_params_write(struct rw_ctx *ctx, struct rw_params *params, FILE *out)
{
    RW_DEFAULT_FPENV;
    for (int at = 0; at < RW_N_PARAMS; at++) {
        const char *name = rw_param_rows[at].info.name;
        if (is_written(params, at))
            RW_TRY(check_line(ctx, name, rw_params_get(params, name)));
    }
    for (int at = 0; at < RW_N_PARAMS; at++) {
        const char *name = rw_param_rows[at].info.name;
        if (is_written(params, at))
            fprintf(out, "%s = %s%s\n", name, params->is_chosen[at] ? "auto " : "",
                    rw_params_get(params, name));
    }
    if (fflush(out) != 0 || ferror(out))
        return rw_fail_io(ctx, errno, "cannot write the parameters");
    return RW_OK;
}

/* ------------------------------------------------------------------ unknown names */

const char *rw_params_nearest(const char *name)
{
    char plain[64];
    int is_known = 0;
    while (*name == '-')
        name++;
    const size_t n = rw_word_plain(name, plain, sizeof(plain));
    if (name[n] || n == 0)
        return NULL;
    const int same = rw_param_find(plain);
    if (same >= 0)
        return rw_param_rows[same].info.name;
    for (int i = rw_alias_find(NULL, plain, 0); i >= 0; i = rw_alias_find(NULL, plain, i + 1)) {
        const char *ours = rw_alias_at(i)->ours;
        if (ours && rw_param_find(ours) >= 0)
            return ours;
        is_known = 1;
    }
    if (is_known)
        return NULL; /* what only looks like it is not what is meant */
    const char *words[RW_N_PARAMS];
    for (int i = 0; i < RW_N_PARAMS; i++)
        words[i] = rw_param_rows[i].info.name;
    return rw_word_nearest(plain, words, RW_N_PARAMS);
}
