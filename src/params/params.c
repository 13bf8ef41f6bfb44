/* Parameters: the table, defaults, values as text, and what is chosen by the size of the data. */
#include <string.h>

#include "base/exact.h"
#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "dataset/names.h"
#include "objective/lambdarank_pairs.h"
#include "params/params.h"

const struct rw_param_row rw_param_rows[RW_N_PARAMS] = {
#define RW_PARAM(type, field, name, value, range, least, most, word, as, arg, model, roles, needs, \
                 help, is_file)                                                                    \
    {{name, RW_PARAM_##type, value, range, help, arg, model, roles},                               \
     offsetof(struct rw_params, field),                                                            \
     least,                                                                                        \
     most,                                                                                         \
     word,                                                                                         \
     as,                                                                                           \
     needs,                                                                                        \
     is_file},
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
    int status = RW_OK;
    struct rw_params *params = NULL;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, params, 1));
    for (int i = 0; i < RW_N_PARAMS; i++)
        RW_TRY_OUT(rw_param_assign(ctx, params, i, rw_param_rows[i].info.default_value));
    *out = params;
    return RW_OK;
out:
    rw_params_free(params);
    return status;
}

int rw_params_copy(struct rw_ctx *ctx, const struct rw_params *params, struct rw_params **out)
{
    int status = RW_OK;
    struct rw_params *copy = NULL;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, copy, 1));
    *copy = *params;
    for (int i = 0; i < RW_N_PARAMS; i++) {
        if (rw_param_rows[i].info.type == RW_PARAM_TEXT)
            *(char **)((char *)copy + rw_param_rows[i].offset) = NULL;
    }
    for (int i = 0; i < RW_N_PARAMS; i++) {
        const size_t at = rw_param_rows[i].offset;
        if (rw_param_rows[i].info.type == RW_PARAM_TEXT)
            RW_TRY_OUT(rw_mem_copy_text(ctx, (char **)((char *)copy + at),
                                        *(char *const *)((const char *)params + at)));
    }
    *out = copy;
    return RW_OK;
out:
    rw_params_free(copy);
    return status;
}

void rw_params_free(struct rw_params *params)
{
    if (!params)
        return;
    for (int i = 0; i < RW_N_PARAMS; i++) {
        if (rw_param_rows[i].info.type == RW_PARAM_TEXT)
            rw_mem_free(*(char **)((char *)params + rw_param_rows[i].offset));
    }
    rw_mem_free(params);
}

/* Does a number's field hold the word that may stand for it? */
static int is_word(const struct rw_param_row *row, const void *field)
{
    return row->word &&
           (row->info.type == RW_PARAM_INT ? *(const int *)field == row->word_value
                                           : *(const double *)field == row->word_value);
}

/* Behind A. */
static void write_schedule(const struct rw_rate_schedule *schedule, char text[RW_PARAM_ROOM])
{
    char last[32];
    const size_t n = strlen(text);
    rw_number_write_double(schedule->last, last);
    snprintf(text + n, RW_PARAM_ROOM - n, ":%s:%d", last, schedule->n_rounds);
}

/* The value as text: in `text`, or where it stands already. */
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
        rw_number_write_double(*(const double *)field, text);
        if (at == RW_AT_PARAM_rate && params->schedule.n_rounds > 0)
            write_schedule(&params->schedule, text);
        break;
    case RW_PARAM_CHOICE: {
        const char *word = row->info.range;
        for (int k = *(const int *)field; k > 0; k--)
            word = strchr(word, '|') + 1;
        snprintf(text, RW_PARAM_ROOM, "%.*s", (int)strcspn(word, "|"), word);
        break;
    }
    case RW_PARAM_TEXT:
        return *(char *const *)field;
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

int rw_params_in_model(struct rw_params *params, int i)
{
    RW_DEFAULT_FPENV;
    const struct rw_param_info *info = rw_param_info(i);
    return info &&
           (info->model == 1 || (info->model == 2 && strcmp(text_of(params, i, params->text),
                                                            info->default_value) != 0));
}

const char *rw_params_file(struct rw_params *params, int i)
{
    if (i < 0 || i >= RW_N_PARAMS || !rw_param_rows[i].is_file)
        return NULL;
    const struct rw_param_info *info = &rw_param_rows[i].info;
    const char *value = rw_params_get(params, info->name);
    const int is_word = strcmp(value, "FILE") != 0 && rw_param_word(info->range, value) >= 0;
    return *value && !is_word ? value : NULL;
}

static int is_set(const struct rw_params *params, enum rw_param_at at)
{
    return params->is_set[at];
}

int rw_params_is_set(const struct rw_params *params, const char *name)
{
    const int i = rw_param_find(name);
    return i >= 0 ? is_set(params, (enum rw_param_at)i) : 0;
}

enum rw_param_origin rw_params_origin(const struct rw_params *params, const char *name)
{
    const int i = rw_param_find(name);
    if (i < 0 || !is_set(params, (enum rw_param_at)i))
        return RW_PARAM_DEFAULT;
    return params->is_strict[i] ? RW_PARAM_SET : RW_PARAM_READ;
}

int rw_params_check_apart(struct rw_ctx *ctx, const struct rw_params *params, const char *written)
{
    struct rw_params shallow = *params; /* texts are borrowed */
    for (int i = 0; i < RW_N_PARAMS; i++)
        RW_TRY(rw_check_apart(ctx, written, rw_params_file(&shallow, i)));
    return RW_OK;
}

int rw_params_must_matter(const struct rw_params *params, const char *name)
{
    const int at = rw_param_find(name);
    char text[RW_PARAM_ROOM];
    return rw_params_origin(params, name) == RW_PARAM_SET &&
           strcmp(text_of(params, at, text), rw_param_rows[at].info.default_value) != 0;
}

/* What goes by the size of the training set: docs/quality.md, "The rule". */
enum { DOCS_A_LEAF = 1200, LEAST_LEAVES = 8, MOST_LEAVES = 255 };
enum { LARGE_DOCS = 10800, SOME_FEATURES = 32, MANY_FEATURES = 100 };
enum { ROUNDS = 2000, ROUNDS_WITHOUT_VALID = 300, DEFAULT_LEVELS = 6 };
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
    const uint32_t leaves = n_docs / DOCS_A_LEAF;
    return leaves < LEAST_LEAVES ? LEAST_LEAVES : leaves > MOST_LEAVES ? MOST_LEAVES : (int)leaves;
}

enum rw_param_split rw_params_split(const struct rw_params *params, uint32_t n_docs)
{
    if (params->split != RW_SPLIT_AUTO)
        return (enum rw_param_split)params->split;
    /* without ranking, hessians are counts: newton would only take longer */
    return rw_params_objective(params)->ranks && n_docs >= LARGE_DOCS ? RW_SPLIT_NEWTON
                                                                      : RW_SPLIT_MART;
}

double rw_params_rate(const struct rw_params *params, uint32_t n_docs, uint32_t n_features)
{
    if (params->rate != RW_AUTO)
        return params->rate;
    if (!rw_params_objective(params)->ranks || n_docs < LARGE_DOCS)
        return high_rate;
    return n_features >= MANY_FEATURES ? low_rate : high_rate;
}

double rw_params_rate_of_round(const struct rw_params *params, uint32_t round)
{
    const struct rw_rate_schedule *schedule = &params->schedule;
    if (schedule->n_rounds == 0)
        return params->rate;
    if (round >= (uint32_t)schedule->n_rounds)
        return schedule->last;
    const double share = (double)round / (double)schedule->n_rounds;
    return params->rate * rw_exp2(share * rw_log2(schedule->last / params->rate));
}

double rw_params_sample_features(const struct rw_params *params, uint32_t n_docs,
                                 uint32_t n_features)
{
    if (params->sample_features != RW_AUTO)
        return params->sample_features;
    if (!rw_params_objective(params)->ranks || n_docs < LARGE_DOCS)
        return 1.0;
    const double rate = params->schedule.n_rounds > 0 ? params->schedule.last
                                                      : rw_params_rate(params, n_docs, n_features);
    if (n_features >= MANY_FEATURES && rate <= low_rate)
        return 0.25; /* pays after many rounds only, which a low rate takes */
    return n_features >= SOME_FEATURES ? 0.5 : 1.0;
}

/* A parameter that objectives read as a number; "none" and "off" are 0. */
static double number_of(const void *params, const char *name)
{
    const int at = rw_param_find(name);
    const struct rw_param_row *row = &rw_param_rows[at];
    const char *field = (const char *)params + row->offset;
    if (at == RW_AT_PARAM_delta)
        return rw_delta_number(*(char *const *)field);
    if (at == RW_AT_PARAM_pairs)
        return rw_pairs_number(*(char *const *)field);
    return row->info.type == RW_PARAM_REAL ? *(const double *)field : *(const int *)field;
}

/* The objective that trains, and its rule. */
static const struct rw_objective *objective_by_rule(const struct rw_params *params,
                                                    struct rw_objective_rule *rule)
{
    const struct rw_objective *row = rw_objective_at(params->objective);
    rw_objective_rule_init(rule, row, number_of, params);
    const struct rw_objective *objective = rw_objective_for(row, rule);
    if (objective != row)
        rw_objective_rule_init(rule, objective, number_of, params);
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
    return objective_by_rule(params, &rule);
}

void rw_params_objective_rule(const struct rw_params *params, struct rw_objective_rule *rule)
{
    objective_by_rule(params, rule);
}

/* What `auto` is by the size of the training set, and is noted in the model. */
static const enum rw_param_at by_size[] = {RW_AT_PARAM_leaves, RW_AT_PARAM_rate, RW_AT_PARAM_split,
                                           RW_AT_PARAM_sample_features};
enum { N_BY_SIZE = sizeof(by_size) / sizeof(by_size[0]) };

int rw_param_is_by_size(int at)
{
    int found = 0;
    for (int i = 0; i < N_BY_SIZE; i++)
        found |= (int)by_size[i] == at;
    return found;
}

static void choose(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                   uint32_t n_features)
{
    const struct rw_params given = *params; /* its texts are borrowed */
    char text[128] = "", before[RW_PARAM_ROOM];
    size_t n = 0;
    if (params->grow == RW_GROW_LEAVES)
        params->leaves = rw_params_leaves(params, n_docs);
    params->split = (int)rw_params_split(params, n_docs);
    params->rate = rw_params_rate(params, n_docs, n_features);
    params->sample_features = rw_params_sample_features(params, n_docs, n_features);
    for (int i = 0; i < N_BY_SIZE; i++) {
        const char *name = rw_param_rows[by_size[i]].info.name,
                   *value = rw_params_get(params, name);
        if (strcmp(text_of(&given, by_size[i], before), value) == 0)
            continue;
        params->is_chosen[by_size[i]] = 1;
        n += (size_t)snprintf(text + n, sizeof(text) - n, " --%s %s", name, value);
    }
    if (text[0])
        rw_log(ctx, RW_LOG_NOTE, "chosen for %u documents:%s", n_docs, text);
}

int rw_params_resolve(struct rw_ctx *ctx, struct rw_params *params, uint32_t n_docs,
                      uint32_t n_features, int n_valid)
{
    RW_DEFAULT_FPENV;
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
    choose(ctx, params, n_docs, n_features);
    if (params->depth <= 0) /* auto, or no limit */
        params->depth = params->grow == RW_GROW_LEVELS ? DEFAULT_LEVELS : 0;
    if (params->grow == RW_GROW_LEVELS && params->depth > 16)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "depth is %d; expected 1 to 16 when growing by levels",
                       params->depth);
    return RW_OK;
}

int rw_params_trains_on_gains(const struct rw_params *params)
{
    return rw_params_objective(params)->ranks;
}

int rw_params_trains_on_relevance(const struct rw_params *params)
{
    return rw_objective_param(rw_params_objective(params), "relevant") >= 0;
}

int rw_params_check_valid(struct rw_ctx *ctx, const struct rw_params *params, int n_valid)
{
    if (n_valid == 0 && params->early_stop != 0 && rw_params_must_matter(params, "early-stop"))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'early-stop' is %d, but there is no validation set to stop by",
                       params->early_stop);
    return RW_OK;
}

/* A refit takes the model's where none is set. */
static int is_other_gain(const struct rw_params *params)
{
    return strcmp(params->label_gain, rw_param_rows[RW_AT_PARAM_label_gain].info.default_value) !=
           0;
}

const struct rw_eval_params *rw_params_eval(struct rw_params *params)
{
    params->eval = (struct rw_eval_params){.metric = params->metric,
                                           .empty = (enum rw_empty)params->empty,
                                           .ties = (enum rw_ties)params->ties,
                                           .label_gain = is_set(params, RW_AT_PARAM_label_gain) ||
                                                                 is_other_gain(params)
                                                             ? params->label_gain
                                                             : NULL,
                                           .relevant = params->relevant,
                                           .seed = params->seed};
    return &params->eval;
}
