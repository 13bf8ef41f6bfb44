/* The table of parameters: defaults, conversion to and from text, parameter files, and the
 * values that `auto` gets from the size of the data. params.def has the rows, and no_effect.c
 * judges them. */
#include "params/params.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/system.h"

const struct rw_param_row rw_param_rows[RW_N_PARAMS] = {
#define RW_PARAM(type, field, name, value, range, least, most, word, as, arg, model, roles, needs, \
                 help)                                                                             \
    {{name, RW_PARAM_##type, value, range, help, arg, model, roles},                               \
     offsetof(struct rw_params, field),                                                            \
     least,                                                                                        \
     most,                                                                                         \
     word,                                                                                         \
     as,                                                                                           \
     needs},
#include "params/params.def"
};

const struct rw_param_info *rw_param_info(int i)
{
    return i >= 0 && i < RW_N_PARAMS ? &rw_param_rows[i].info : NULL;
}

int rw_param_find(const char *name)
{
    for (int i = 0; i < RW_N_PARAMS; i++) {
        if (strcmp(rw_param_rows[i].info.name, name) == 0)
            return i;
    }
    return -1;
}

int rw_param_word(const char *words, const char *word)
{
    const size_t length = strlen(word);
    int index = 0;
    for (const char *at = words;; index++) {
        const char *end = strchr(at, '|');
        const size_t n = end ? (size_t)(end - at) : strlen(at);
        if (n == length && memcmp(at, word, n) == 0)
            return index;
        if (!end)
            return -1;
        at = end + 1;
    }
}

int rw_params_new(struct rw_ctx *ctx, struct rw_params **out)
{
    RW_DEFAULT_FPENV;
    struct rw_params *params RW_SCOPED(rw_params_free) = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, params, 1));
    for (int i = 0; i < RW_N_PARAMS; i++)
        RW_TRY(rw_param_assign(ctx, params, i, rw_param_rows[i].info.default_value));
    *out = RW_TAKE(params);
    return RW_OK;
}

/* Returns the field of a TEXT parameter. */
static const char **text_field(struct rw_params *params, int at)
{
    return (const char **)(void *)((char *)params + rw_param_rows[at].offset);
}

int rw_params_copy(struct rw_ctx *ctx, const struct rw_params *params, struct rw_params **out)
{
    struct rw_params *copy RW_SCOPED(rw_params_free) = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, copy, 1));
    *copy = *params;
    copy->arena = (struct rw_arena){NULL};
    for (int i = 0; i < RW_N_PARAMS; i++) {
        if (rw_param_rows[i].info.type == RW_PARAM_TEXT)
            RW_TRY(rw_arena_text(ctx, &copy->arena, text_field(copy, i), *text_field(copy, i)));
    }
    if (params->schedule.list)
        RW_TRY(rw_param_assign(ctx, copy, RW_AT_PARAM_rate, params->schedule.list));
    *out = RW_TAKE(copy);
    return RW_OK;
}

void rw_params_free(struct rw_params *params)
{
    if (params)
        rw_arena_free(&params->arena);
    rw_mem_free(params);
}

/* Returns 1 if the field has the value of the row's word, such as `auto`. */
static int is_word(const struct rw_param_row *row, const void *field)
{
    return row->word &&
           (row->info.type == RW_PARAM_INT ? *(const int *)field == row->word_value
                                           : *(const double *)field == row->word_value);
}

/* Returns the value as text: a pointer to the stored text, or to `text`, which it fills. */
static const char *text_of(const struct rw_params *params, int at, char text[RW_PARAM_ROOM])
{
    const struct rw_param_row *row = &rw_param_rows[at];
    const char *field = (const char *)params + row->offset;
    if (is_word(row, field))
        return row->word;
    switch (row->info.type) {
    case RW_PARAM_INT:
        snprintf(text, RW_PARAM_ROOM, "%d", *(const int *)field);
        break;
    case RW_PARAM_REAL:
        if (at == RW_AT_PARAM_rate && params->schedule.list)
            return params->schedule.list;
        rw_number_write_double(*(const double *)field, text);
        if (at == RW_AT_PARAM_rate && params->schedule.n_rounds > 0) {
            char last[32];
            const size_t n = strlen(text);
            rw_number_write_double(params->schedule.last, last);
            snprintf(text + n, RW_PARAM_ROOM - n, ":%s:%d", last, params->schedule.n_rounds);
        }
        break;
    case RW_PARAM_CHOICE: {
        const char *word = row->info.range;
        for (int k = *(const int *)field; k > 0; k--)
            word = strchr(word, '|') + 1;
        snprintf(text, RW_PARAM_ROOM, "%.*s", (int)strcspn(word, "|"), word);
        break;
    }
    case RW_PARAM_TEXT:
        return *(const char *const *)field;
    case RW_PARAM_SEED:
        snprintf(text, RW_PARAM_ROOM, "%llu", (unsigned long long)*(const uint64_t *)field);
        break;
    }
    return text;
}

const char *rw_params_get(struct rw_params *params, const char *name)
{
    RW_DEFAULT_FPENV;
    const int at = rw_param_find(name);
    return at >= 0 ? text_of(params, at, params->text) : NULL;
}

int rw_params_in_model(struct rw_params *params, int at)
{
    const struct rw_param_info *info = &rw_param_rows[at].info;
    return info->model == 1 || (info->model == 2 && strcmp(text_of(params, at, params->text),
                                                           info->default_value) != 0);
}

const char *rw_params_file(struct rw_params *params, int i)
{
    if (i < 0 || i >= RW_N_PARAMS || !strstr(rw_param_rows[i].info.argument, "FILE"))
        return NULL;
    const struct rw_param_info *info = &rw_param_rows[i].info;
    const char *value = rw_params_get(params, info->name);
    const int is_word = strcmp(value, "FILE") != 0 && rw_param_word(info->range, value) >= 0;
    return *value && !is_word ? value : NULL;
}

enum rw_param_origin rw_params_origin(const struct rw_params *params, const char *name)
{
    const int at = rw_param_find(name);
    char text[RW_PARAM_ROOM];
    if (at < 0 || !params->is_set[at])
        return RW_PARAM_DEFAULT;
    if (!params->is_strict[at])
        return RW_PARAM_READ;
    return strcmp(text_of(params, at, text), rw_param_rows[at].info.default_value) == 0
               ? RW_PARAM_SET
               : RW_PARAM_CHANGED;
}

int rw_params_check_not_input(struct rw_ctx *ctx, const struct rw_params *params,
                              const char *written)
{
    struct rw_params shallow = *params; /* texts are borrowed */
    for (int i = 0; i < RW_N_PARAMS; i++)
        RW_TRY(rw_check_not_input(ctx, written, rw_params_file(&shallow, i)));
    return RW_OK;
}

/* Constants of the defaults that depend on the size of the training set:
 * docs/benchmarks/quality.md, "Defaults". */
enum { DOCS_PER_LEAF = 1200, LEAST_LEAVES = 8, MOST_LEAVES = 255 };
enum { LARGE_DOCS = 10800, SOME_FEATURES = 32, MANY_FEATURES = 100 };
enum { ROUNDS = 2000, ROUNDS_WITHOUT_VALID = 300, DEFAULT_LEVELS = 6, SYMMETRIC_DEPTH = 12 };
static const double low_rate = 0.05, high_rate = 0.1;

struct rw_cut_rule rw_params_cut_rule(const struct rw_params *params)
{
    return (struct rw_cut_rule){.bins = params->bins,
                                .absent_missing = params->absent == 1,
                                .min_docs = (uint32_t)params->min_docs};
}

int rw_params_leaves(const struct rw_params *params, uint32_t n_docs)
{
    if (params->leaves != RW_AUTO)
        return params->leaves;
    const uint32_t leaves = n_docs / DOCS_PER_LEAF;
    return leaves < LEAST_LEAVES ? LEAST_LEAVES : leaves > MOST_LEAVES ? MOST_LEAVES : (int)leaves;
}

double rw_params_rate_of_round(const struct rw_params *params, uint32_t round)
{
    const struct rw_rate_schedule *schedule = &params->schedule;
    if (schedule->n_rounds == 0)
        return params->rate;
    if (round >= (uint32_t)schedule->n_rounds)
        return schedule->last;
    if (schedule->each)
        return schedule->each[round];
    const double share = (double)round / (double)schedule->n_rounds;
    return params->rate * rw_exp2(share * rw_log2(schedule->last / params->rate));
}

/* Returns a parameter that objectives read, as a number; "none" and "off" are 0, and the
 * value of a choice is its index. */
static double number_of(const void *params, const char *name)
{
    const int at = rw_param_find(name);
    const struct rw_param_row *row = &rw_param_rows[at];
    const char *field = (const char *)params + row->offset;
    if (at == RW_AT_PARAM_delta)
        return rw_delta_number(*(const char *const *)field);
    if (at == RW_AT_PARAM_pairs)
        return rw_pairs_number(*(const char *const *)field);
    return row->info.type == RW_PARAM_REAL ? *(const double *)field : *(const int *)field;
}

const struct rw_objective *rw_params_objective_rule(const struct rw_params *params,
                                                    struct rw_objective_rule *rule)
{
    const struct rw_objective *objective =
        rw_objective_choose(rule, rw_objective_at(params->objective), number_of, params);
    rule->seed = params->seed;
    double weight[RW_MAX_LABELS];
    rule->n_labels = params->label_weights[0] ? rw_label_weights(params->label_weights, weight) : 0;
    for (int k = 0; k < rule->n_labels; k++)
        rule->label[k].weight = weight[k];
    return objective;
}

const struct rw_objective *rw_params_objective(const struct rw_params *params)
{
    struct rw_objective_rule rule;
    return rw_params_objective_rule(params, &rule);
}

/* Parameters whose `auto` depends on the size of the data. The model stores the choices. */
static const enum rw_param_at by_size[] = {RW_AT_PARAM_leaves,     RW_AT_PARAM_rate,
                                           RW_AT_PARAM_split,      RW_AT_PARAM_sample_features,
                                           RW_AT_PARAM_gain_noise, RW_AT_PARAM_early_stop_rule};
enum { N_BY_SIZE = sizeof(by_size) / sizeof(by_size[0]) };

/* Returns 1 if the size of the data chooses the value and the model stores the choice. */
static int is_by_size(int at)
{
    int found = 0;
    for (int i = 0; i < N_BY_SIZE; i++)
        found |= (int)by_size[i] == at;
    return found;
}

void rw_params_choose(struct rw_params *params, uint32_t n_docs, uint32_t n_features)
{
    /* Objectives that fit labels always use mart: except for logistic, their hessians are document
     * counts, so newton would only be slower. */
    const int ranks = rw_params_objective(params)->ranks, is_large = ranks && n_docs >= LARGE_DOCS;
    const int has_many = n_features >= MANY_FEATURES;
    if (params->split == RW_SPLIT_AUTO)
        params->split = is_large ? RW_SPLIT_NEWTON : RW_SPLIT_MART;
    if (params->rate == RW_AUTO)
        params->rate = is_large && has_many ? low_rate : high_rate;
    if (params->gain_noise == RW_AUTO)
        params->gain_noise = ranks && !is_large ? 4.0 : 0.0;
    if (params->sample_features != RW_AUTO)
        return;
    const double last = params->schedule.n_rounds > 0 ? params->schedule.last : params->rate;
    params->sample_features = 1.0;
    if (is_large && has_many && last <= low_rate)
        params->sample_features = 0.25; /* pays off only after the many rounds of a low rate */
    else if (ranks && (!is_large || n_features >= SOME_FEATURES))
        params->sample_features = 0.5;
}

int rw_params_by_folds(const struct rw_params *params)
{
    return params->early_stop_rule == RW_STOP_FOLDS && params->early_stop > 0;
}

int rw_params_sample(const struct rw_params *params)
{
    const int ranks = rw_params_objective(params)->ranks;
    const double features = params->sample_features, noise = params->gain_noise;
    return params->sample_queries < 1.0 || params->sample_docs < 1.0 ||
           params->sample_features_node < 1.0 || (features == RW_AUTO ? ranks : features < 1.0) ||
           (noise == RW_AUTO ? ranks : noise > 0.0);
}

/* Returns the rule of early stopping that `auto` means. Few queries measure with much noise, which
 * `paired` withstands. With many queries both rules agree, and `best` needs less memory and time.
 */
static int choose_stop_rule(const struct rw_params *params, const struct rw_data_size *size)
{
    struct rw_metric metric[RW_MAX_METRICS];
    int n;
    const int has_values =
        !size->has_custom_metric &&
        rw_metrics_parse(NULL, params->metric, params->relevant, metric, &n) >= 0 &&
        !metric[0].kind->by_document;
    return has_values && size->n_valid_queries <= RW_FEW_QUERIES ? RW_STOP_PAIRED : RW_STOP_BEST;
}

/* Replaces `auto` by values and logs them. */
static void choose(struct rw_ctx *ctx, struct rw_params *params, const struct rw_data_size *size,
                   uint32_t n_features)
{
    const struct rw_params given = *params; /* its texts are borrowed */
    char text[160] = "", before[RW_PARAM_ROOM], queries[64] = "";
    size_t n = 0;
    if (params->grow == RW_GROW_LEAVES)
        params->leaves = rw_params_leaves(params, size->n_docs);
    rw_params_choose(params, size->n_docs, n_features);
    if (params->early_stop_rule == RW_STOP_AUTO && params->early_stop > 0 &&
        size->n_valid_queries > 0) {
        params->early_stop_rule = choose_stop_rule(params, size);
        snprintf(queries, sizeof(queries), " and %llu validation queries",
                 (unsigned long long)size->n_valid_queries);
    }
    for (int i = 0; i < N_BY_SIZE; i++) {
        const char *name = rw_param_rows[by_size[i]].info.name;
        const char *value = rw_params_get(params, name);
        if (strcmp(text_of(&given, by_size[i], before), value) == 0)
            continue;
        params->is_chosen[by_size[i]] = 1;
        n += (size_t)snprintf(text + n, sizeof(text) - n, " --%s %s", name, value);
    }
    if (text[0])
        rw_log(ctx, RW_LOG_NOTE, "chosen for %u documents%s:%s", size->n_docs, queries, text);
}

int rw_params_resolve(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                      uint32_t n_features, int n_valid)
{
    return rw_params_resolve_valid(ctx, params, n_docs, n_features, n_valid, 0);
}

int rw_params_resolve_valid(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                            uint32_t n_features, int n_valid, uint64_t n_valid_queries)
{
    return rw_params_resolve_size(ctx, params,
                                  &(struct rw_data_size){.n_docs = n_docs,
                                                         .n_features = n_features,
                                                         .n_valid = n_valid,
                                                         .n_valid_queries = n_valid_queries});
}

int rw_params_resolve_size(struct rw_ctx *ctx, struct rw_params *params,
                           const struct rw_data_size *size)
{
    RW_DEFAULT_FPENV;
    const int n_valid = rw_params_by_folds(params) ? 1 : size->n_valid;
    uint32_t n_features = size->n_features;
    if (params->rounds == RW_AUTO && n_valid == 0)
        rw_log(ctx, RW_LOG_NOTE, "no validation set: training %d rounds (--rounds changes it)",
               ROUNDS_WITHOUT_VALID);
    if (params->rounds == RW_AUTO)
        params->rounds = n_valid == 0 ? ROUNDS_WITHOUT_VALID : ROUNDS;
    if (n_valid == 0)
        params->early_stop = 0;
    const uint32_t n_listed = rw_list_count(params->features);
    if (n_listed > 0 && n_listed < n_features)
        n_features = n_listed;
    choose(ctx, params, size, n_features);
    if (params->depth <= 0) /* auto, or no limit */
        params->depth = params->grow == RW_GROW_LEAVES ? 0 : DEFAULT_LEVELS;
    if (params->grow == RW_GROW_LEVELS && params->depth > 16)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "depth is %d; expected 1 to 16 when growing by levels",
                       params->depth);
    if (params->grow == RW_GROW_SYMMETRIC && params->depth > SYMMETRIC_DEPTH)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "depth is %d; expected 1 to %d for symmetric trees",
                       params->depth, SYMMETRIC_DEPTH);
    return RW_OK;
}

int rw_params_trains_on_relevance(const struct rw_params *params)
{
    return rw_objective_param(rw_params_objective(params), "relevant") >= 0;
}

const struct rw_eval_params *rw_params_eval(struct rw_params *params)
{
    /* in a refit, the value may be the model's, which is not marked as set */
    const int is_gain_set =
        params->is_set[RW_AT_PARAM_label_gain] ||
        strcmp(params->label_gain, rw_param_rows[RW_AT_PARAM_label_gain].info.default_value) != 0;
    params->eval = (struct rw_eval_params){.metric = params->metric,
                                           .empty = (enum rw_empty)params->empty,
                                           .ties = (enum rw_ties)params->ties,
                                           .label_gain = is_gain_set ? params->label_gain : NULL,
                                           .relevant = params->relevant,
                                           .seed = params->seed};
    return &params->eval;
}

/* ---- values from text ---- */

/* Writes a hint for an invalid value: the counterpart of another program's value, the row's
 * word for 0, or the value in lower case if that is a word. "": no suggestion.
 * "YetiRank:mode=DCG" is looked up without its parameters. */
static void value_hint(const struct rw_param_row *param, const char *value, char *hint, size_t size)
{
    const struct rw_param_info *info = &param->info;
    char word[64];
    snprintf(word, sizeof(word), "%.*s", (int)strcspn(value, ":"), value);
    const struct rw_alias *alias = rw_alias_next(NULL, info->name, value);
    if (!alias)
        alias = rw_alias_next(NULL, info->name, word);
    for (char *c = word; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    *hint = 0;
    double number;
    int clamped;
    const char *end = value + strlen(value);
    if (param->word && param->word_value == 0 &&
        rw_number_parse_double(value, end, &number, &clamped) == end && number == 0)
        snprintf(hint, size, "\nhint: '%.60s' is '%s' here", value, param->word);
    if (!alias && info->type == RW_PARAM_CHOICE && rw_param_word(info->range, word) >= 0)
        snprintf(hint, size, "\nhint: '%.60s' is '%s' here", value, word);
    if (!alias)
        return;
    if (!alias->ours)
        snprintf(hint, size, "\nhint: no counterpart of '%.60s': %s", value, alias->note);
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

/* Parses the whole text from begin to end as a number. Returns 1 if this succeeds and the number is
 * in the row's range. */
static int number_within(const struct rw_param_row *row, const char *begin, const char *end,
                         double *number)
{
    int clamped;
    return rw_number_parse_double(begin, end, number, &clamped) == end && !clamped &&
           *number >= row->least && *number <= row->most;
}

/* Parses a schedule A:B:N. */
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
    params->schedule = (struct rw_rate_schedule){.last = to, .n_rounds = (int)n_rounds};
    return RW_OK;
}

/* Parses a list A,B,...,Z of rates. */
static int assign_rates(struct rw_ctx *ctx, struct rw_params *params, const char *value)
{
    const struct rw_param_row *row = &rw_param_rows[RW_AT_PARAM_rate];
    struct rw_rate_schedule schedule = {.n_rounds = 1};
    double *each;
    for (const char *c = value; *c; c++)
        schedule.n_rounds += *c == ',';
    RW_TRY(RW_ARENA_NEW(ctx, &params->arena, each, (size_t)schedule.n_rounds));
    for (int i = 0; i < schedule.n_rounds; i++) {
        const char *begin = i ? value + strcspn(value, ",") + 1 : value;
        value = begin;
        if (!number_within(row, begin, begin + strcspn(begin, ","), &each[i]))
            return refuse(ctx, row, "A,B,...: rates from 1e-6 to 1, one per round", begin);
    }
    schedule.each = each;
    schedule.last = each[schedule.n_rounds - 1];
    params->rate = each[0];
    params->schedule = schedule;
    return RW_OK;
}

static int assign_number(struct rw_ctx *ctx, const struct rw_param_row *row, void *field,
                         const char *value)
{
    const int is_int = row->info.type == RW_PARAM_INT;
    double number = row->word_value;
    uint64_t whole = 0;
    int is_valid = row->word && strcmp(value, row->word) == 0;
    if (!is_valid && is_int) {
        is_valid =
            rw_number_whole(value, (uint64_t)row->most, &whole) && (double)whole >= row->least;
        number = (double)whole;
    } else if (!is_valid) {
        is_valid = number_within(row, value, value + strlen(value), &number);
    }
    if (!is_valid) {
        char expected[128];
        snprintf(expected, sizeof(expected), "a %snumber, %s%s%s", is_int ? "whole " : "",
                 row->info.range, row->word ? ", or " : "", row->word ? row->word : "");
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
    static const char units[] = "KMGT"; /* each unit is 1000 times the one before */
    const size_t length = strlen(text);
    const char *unit = length > 0 ? strchr(units, text[length - 1]) : NULL;
    char digits[24];
    uint64_t size = 1;
    *bytes = 0;
    if (strcmp(text, "auto") == 0)
        return 1;
    for (const char *u = units; unit && u <= unit; u++)
        size *= 1000;
    if (length >= sizeof(digits))
        return 0;
    snprintf(digits, sizeof(digits), "%.*s", (int)length - (unit != NULL), text);
    if (!rw_number_whole(digits, UINT64_MAX / size, bytes) || *bytes == 0)
        return 0;
    *bytes *= size;
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

/* Checks texts with a defined form. Files and lists are checked where they are used. */
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

int rw_params_own_text(struct rw_ctx *ctx, struct rw_params *params, int at, char *text)
{
    RW_TRY(rw_arena_own(ctx, &params->arena, text, rw_mem_free));
    *text_field(params, at) = text;
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
        if (at == RW_AT_PARAM_rate && strchr(value, ',')) {
            RW_TRY(assign_rates(ctx, params, value));
            return rw_arena_text(ctx, &params->arena, &params->schedule.list, value);
        }
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
    case RW_PARAM_TEXT:
        RW_TRY(check_text(ctx, at, value));
        RW_TRY(rw_arena_text(ctx, &params->arena, field, value));
        return at == RW_AT_PARAM_pairs_file && *value && !params->is_set[RW_AT_PARAM_pairs]
                   ? rw_param_assign(ctx, params, RW_AT_PARAM_pairs, "given")
                   : RW_OK;
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
    for (const struct rw_alias *row = NULL; (row = rw_alias_next(row, NULL, name)) != NULL;) {
        if (near ? row->ours && strcmp(row->ours, near) == 0 : !row->ours)
            note = row->note;
        else if (!near && !option)
            option = row->ours;
    }
    for (const struct rw_alias *row = NULL;
         !near && !option && (row = rw_alias_next(row, NULL, NULL)) != NULL;) {
        if (!row->parameter && row->ours &&
            strcmp(row->ours, name) == 0) /* an option of the program */
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

/* Sets a parameter by name. is_strict: see rw_params.is_strict. Files contain "auto 0.05" for a
 * chosen rate, as rw_params_write writes it. */
static int set_by_name(struct rw_ctx *ctx, struct rw_params *params, const char *name,
                       const char *value, int is_strict)
{
    RW_DEFAULT_FPENV;
    const int at = rw_param_find(name);
    if (at < 0)
        return unknown_name(ctx, name);
    const int was_auto =
        !is_strict && is_by_size(at) && strncmp(value, "auto ", 5) == 0 && !strchr(value, ':');
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

/* ---- files ---- */

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

/* Removes a comment: it starts at a '#' at the beginning of the line or after a blank. */
static void cut_comment(char *line)
{
    for (char *c = line; (c = strchr(c, '#')) != NULL; c++) {
        if (c == line || isspace((unsigned char)c[-1])) {
            *c = 0;
            return;
        }
    }
}

/* Reads a line. Only `metric` may be set again: its metrics are added. is_seen: [RW_N_PARAMS] marks
 * parameters that the file has already set. */
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
    char *both RW_FREED = NULL;
    const size_t size = strlen(params->metric) + strlen(value) + 2;
    RW_TRY(RW_NEW(ctx, both, size));
    snprintf(both, size, "%s,%s", params->metric, value);
    return set_by_name(ctx, params, name, both, 0);
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
        status = memchr(line, 0, (size_t)length)
                     ? rw_fail(ctx, RW_ERR_PARSE, "expected text, found a zero byte")
                     : read_line(ctx, params, line, is_seen);
        if (status < 0) {
            rw_fail(ctx, status, "%s:%d: %s", path, number, ctx ? rw_last_error(ctx) : "");
            break;
        }
    }
    if (status >= 0 && !feof(file)) /* getline failed, perhaps for lack of memory */
        status = rw_fail_io(ctx, errno, "cannot read '%s'", path);
    free(line);
    fclose(file);
    return status;
}

/* Checks that a value can be read back from a file. */
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
                       "ends are lost, and '#' after a blank begins a comment",
                       name, value);
    return RW_OK;
}

/* Returns 1 if the file needs the parameter. It omits parameters of the machine, empty texts,
 * and defaults that models omit. */
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

/* ---- unknown names ---- */

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
    for (const struct rw_alias *row = NULL; (row = rw_alias_next(row, NULL, plain)) != NULL;) {
        if (row->ours && rw_param_find(row->ours) >= 0)
            return row->ours;
        is_known = 1;
    }
    if (is_known)
        return NULL; /* a known name of another program without a counterpart: a similar name would
                        mislead */
    const char *words[RW_N_PARAMS];
    for (int i = 0; i < RW_N_PARAMS; i++)
        words[i] = rw_param_rows[i].info.name;
    return rw_word_nearest(plain, words, RW_N_PARAMS);
}
