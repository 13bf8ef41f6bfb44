/* The space of a tuning: the searched parameters, with their ranges or values. It is text, one
 * parameter per line, and the default space is such a text, too. A value of a trial is a draw of
 * the counter-based generator, so it depends only on seed, trial, and line. Numbers have three
 * significant digits, because more would be noise and are hard to read. Only parameters that change
 * a tree or a leaf can be searched, because all trials share one set of codes and one metric. */
#include <stdlib.h>

#include "base/rng.h"
#include "evaluate/evaluate.h"
#include "params/params.h"

struct reading {
    struct rw_ctx *ctx;
    struct rw_arena *arena;
    const struct rw_params *params;
    struct rw_params *copy; /* values are tried on it */
    uint32_t n_docs, n_columns;
    int line;
    struct rw_tune_space *space;
    char fixed[256]; /* list of the default space's parameters that are set, for a message */
};

/* ---- one line ---- */

/* Tries a value. Returns 1 to search it. Returns 0 for a value of the default space that has no
 * effect together with the caller's parameters. Fails if they do not allow the value. */
static int check_value(struct reading *r, int at, const char *value)
{
    struct rw_params *copy RW_SCOPED(rw_params_free) = NULL;
    const char *name = rw_param_rows[at].info.name;
    RW_TRY(rw_params_set(r->ctx, r->copy, name, value));
    RW_TRY(rw_params_copy(r->ctx, r->params, &copy));
    if (!r->space->is_default) {
        RW_TRY(rw_params_set(r->ctx, copy, name, value));
        RW_TRY(rw_params_check(r->ctx, copy, RW_PARAMS_TRAIN));
        RW_TRY(rw_trainings_judge(r->ctx, copy, r->n_docs, r->n_columns));
        return 1;
    }
    RW_TRY(rw_params_drop_idle(r->ctx, copy, &RW_FACTS_UNKNOWN)); /* those of the caller */
    rw_params_on_no_effect(copy, RW_NO_EFFECT_ERROR);
    int status = rw_params_set(r->ctx, copy, name, value);
    status = status < 0 ? status : rw_params_check(r->ctx, copy, RW_PARAMS_TRAIN);
    return status == RW_ERR_ARGUMENT ? 0 : status < 0 ? status : 1;
}

/* Parses "LEAST MOST" or "LEAST MOST log". word: [3], NULL after the last one. */
static int parse_range(struct reading *r, char *const *word, struct rw_tune_axis *axis)
{
    const struct rw_param_row *row = &rw_param_rows[axis->at];
    const char *name = row->info.name;
    int clamped, is_kept = 0;
    if (row->info.type != RW_PARAM_INT && row->info.type != RW_PARAM_REAL)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT,
                       "'%s' is not a number: expected several values, not a range", name);
    for (int i = 0; i < 2; i++) {
        double *end = i ? &axis->most : &axis->least;
        is_kept = check_value(r, axis->at, word[i]);
        RW_TRY(is_kept);
        if (!rw_number_parse_double(word[i], word[i] + strlen(word[i]), end, &clamped) ||
            strchr(word[i], ':') || (row->word && strcmp(word[i], row->word) == 0))
            return rw_fail(r->ctx, RW_ERR_ARGUMENT, "'%s': expected a number, found '%s'", name,
                           word[i]);
    }
    axis->is_log = word[2] && strcmp(word[2], "log") == 0;
    if (word[2] && !axis->is_log)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT, "'%s': expected 'log' or no word, found '%s'", name,
                       word[2]);
    if (!(axis->least < axis->most))
        return rw_fail(r->ctx, RW_ERR_ARGUMENT, "the range of '%s' is empty: %s to %s", name,
                       word[0], word[1]);
    if (axis->is_log && !(axis->least > 0.0))
        return rw_fail(r->ctx, RW_ERR_ARGUMENT, "'%s': a log range must begin above 0, not at %s",
                       name, word[0]);
    /* of a range, the default space searches all or nothing */
    axis->n_values = is_kept ? 0 : -1;
    return RW_OK;
}

/* Parses "VALUE|VALUE|...". */
static int parse_values(struct reading *r, char *text, struct rw_tune_axis *axis)
{
    const char *name = rw_param_rows[axis->at].info.name;
    size_t room = 0;
    if (!strchr(text, '|'))
        return rw_fail(r->ctx, RW_ERR_ARGUMENT,
                       "'%s' has one value: expected a range or several values", name);
    for (char *at = text, *end; at; at = end) {
        end = strchr(at, '|');
        if (end)
            *end++ = 0;
        for (int i = 0; i < axis->n_values; i++) {
            if (strcmp(axis->value[i], at) == 0)
                return rw_fail(r->ctx, RW_ERR_ARGUMENT, "'%s': the value '%s' is repeated", name,
                               at);
        }
        const int is_kept = check_value(r, axis->at, at);
        RW_TRY(is_kept);
        if (!is_kept)
            continue;
        RW_TRY(RW_ARENA_GROW(r->ctx, r->arena, axis->value, room, axis->n_values + 1u));
        RW_TRY(rw_arena_text(r->ctx, r->arena, &axis->value[axis->n_values++], at));
    }
    return RW_OK;
}

/* Fails if the parameter cannot be searched, is set, or is repeated. Returns 1 to search it, 0 to
 * leave it out of the default space. */
static int check_name(struct reading *r, const char *name, int at)
{
    enum {
        OTHERS = RW_ROLE_DATA | RW_ROLE_WEIGHTS | RW_ROLE_TABLE | RW_ROLE_EVALUATION |
                 RW_ROLE_VALIDATION | RW_ROLE_MACHINE
    };
    const char *near = at < 0 ? rw_params_nearest(name) : NULL;
    if (at < 0)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT, "unknown parameter '%.100s'%s%s%s", name,
                       near ? "; the nearest is '" : "", near ? near : "", near ? "'" : "");
    if ((rw_param_rows[at].info.roles & OTHERS) || at == RW_AT_PARAM_bins ||
        at == RW_AT_PARAM_rounds || at == RW_AT_PARAM_seed)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT,
                       "'%s' cannot be searched: expected a parameter of trees, leaves, samples "
                       "or the objective",
                       name);
    const int is_fixed = r->params->is_set[at] && !r->params->is_chosen[at] &&
                         strcmp(rw_params_get((struct rw_params *)r->params, name), "auto") != 0;
    if (is_fixed && !r->space->is_default)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT,
                       "'%s' is both set to %s and searched: expected one of them", name,
                       rw_params_get((struct rw_params *)r->params, name));
    for (int i = 0; i < r->space->n; i++) {
        if (r->space->axis[i].at == at)
            return rw_fail(r->ctx, RW_ERR_ARGUMENT, "'%s' is repeated", name);
    }
    if (is_fixed)
        snprintf(r->fixed + strlen(r->fixed), sizeof(r->fixed) - strlen(r->fixed), "%s%s",
                 r->fixed[0] ? ", " : "", name);
    return !is_fixed;
}

static int take_line(struct reading *r, char *line)
{
    char *word[5] = {NULL}, *rest;
    int n = 0;
    line[strcspn(line, "#")] = 0;
    for (char *at = strtok_r(line, " \t\r", &rest); at && n < 5;
         at = strtok_r(NULL, " \t\r", &rest))
        word[n++] = at;
    if (n == 0)
        return RW_OK;
    struct rw_tune_space *space = r->space;
    struct rw_tune_axis axis = {.at = rw_param_find(word[0]), .draw = r->line};
    const int is_searched = check_name(r, word[0], axis.at);
    RW_TRY(is_searched);
    if (n < 2 || n > 4)
        return rw_fail(r->ctx, RW_ERR_ARGUMENT,
                       "expected 'NAME LEAST MOST', 'NAME LEAST MOST log' or 'NAME "
                       "VALUE|VALUE|...'");
    RW_TRY(n == 2 ? parse_values(r, word[1], &axis) : parse_range(r, &word[1], &axis));
    if (!is_searched || axis.n_values < (n == 2 ? 2 : 0))
        return RW_OK; /* left out of the default space */
    space->name[space->n] = rw_param_rows[axis.at].info.name;
    space->axis[space->n++] = axis;
    return RW_OK;
}

/* ---- the whole space ---- */

/* Writes the default space. Large data allows more leaves, and needs more documents in each. */
static void write_default(uint32_t n_docs, char *text, size_t size)
{
    const uint32_t leaves = n_docs / 100, docs = n_docs / 200;
    snprintf(text, size,
             "leaves 4 %u log\nrate 0.02 0.2 log\nmin-docs 3 %u log\nl2 1 1000 log\n"
             "objective lambdarank|yetirank|xendcg\ntruncation 5 100 log\nsample-queries 0.3 1\n"
             "sample-features 0.1 1\nsplit mart|newton\n",
             leaves < 8     ? 8
             : leaves > 255 ? 255
                            : leaves,
             docs < 20    ? 20
             : docs > 500 ? 500
                          : docs);
}

/* Reports searched parameters that have no effect in any of many draws. how: enum rw_no_effect */
static int report_idle(const struct reading *r, uint8_t how)
{
    enum { DRAWS = 100 };
    uint8_t has_effect[RW_N_PARAMS] = {0};
    for (uint32_t draw = 0; draw < 2 * DRAWS; draw++) {
        struct rw_params *copy RW_SCOPED(rw_params_free) = NULL;
        RW_TRY(rw_params_copy(r->ctx, r->params, &copy));
        RW_TRY(rw_tune_space_draw(r->ctx, r->space, 1, draw, copy));
        if (draw < DRAWS) {
            RW_TRY(rw_params_drop_idle(r->ctx, copy, &RW_FACTS_MEASURED(RW_FACT_UNKNOWN)));
            for (int at = 0; at < RW_N_PARAMS; at++)
                has_effect[at] |= copy->is_set[at];
            continue;
        }
        rw_params_on_no_effect(copy, how);
        for (int i = 0; i < r->space->n; i++) {
            if (!has_effect[r->space->axis[i].at])
                RW_TRY(rw_params_no_effect(r->ctx, copy, r->space->name[i],
                                           "in this search, with the other parameters"));
        }
    }
    return RW_OK;
}

int rw_tune_space_init(struct rw_ctx *ctx, struct rw_arena *arena, const struct rw_params *params,
                       const struct rw_tune_options *options, const struct rw_dataset *train,
                       uint8_t on_no_effect, struct rw_tune_space *out)
{
    const char *name = options->space_name ? options->space_name : "space";
    char standard[512], *text RW_FREED = NULL;
    struct rw_params *copy RW_SCOPED(rw_params_free) = NULL;
    write_default(train->n_docs, standard, sizeof(standard));
    RW_TRY(rw_mem_copy_text(ctx, &text, options->space ? options->space : standard));
    RW_TRY(rw_params_copy(ctx, params, &copy));
    struct reading r = {.ctx = ctx,
                        .arena = arena,
                        .params = params,
                        .copy = copy,
                        .n_docs = train->n_docs,
                        .n_columns = train->n_columns,
                        .space = out};
    *out = (struct rw_tune_space){.is_default = !options->space};
    RW_TRY(RW_ARENA_NEW(ctx, arena, out->axis, RW_N_PARAMS));
    RW_TRY(RW_ARENA_NEW(ctx, arena, out->name, RW_N_PARAMS));
    for (char *line = text, *end; line; line = end) {
        end = strchr(line, '\n');
        if (end)
            *end++ = 0;
        r.line++;
        const int status = take_line(&r, line);
        if (status < 0)
            return *name ? rw_fail(ctx, status, "%s:%d: %s", name, r.line, rw_last_error(ctx))
                         : status;
    }
    if (out->n == 0 && r.fixed[0])
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "no parameter of the default space is left to search; these are set: "
                       "%s\nhint: set fewer parameters, or pass a space of your own (see 'space')",
                       r.fixed);
    if (out->n == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%s: no parameter to search", *name ? name : "space");
    return out->is_default ? RW_OK : report_idle(&r, on_no_effect);
}

/* ---- draws ---- */

/* Rounds to three significant digits. */
static double three_digits(double x)
{
    double up = 1.0, down = 1.0;
    if (x == 0.0)
        return x;
    while (x * up < 100.0)
        up *= 10.0;
    while (x * up / down >= 1000.0)
        down *= 10.0;
    return floor(x * up / down + 0.5) * down / up;
}

static void number_text(const struct rw_tune_axis *axis, double u, char *text)
{
    const double least = axis->least, most = axis->most;
    double x =
        axis->is_log ? least * rw_exp2(u * rw_log2(most / least)) : least + u * (most - least);
    x = rw_param_rows[axis->at].info.type == RW_PARAM_INT ? floor(x + 0.5) : three_digits(x);
    rw_number_write_double(x < least ? least : x > most ? most : x, text);
}

int rw_tune_space_draw(struct rw_ctx *ctx, const struct rw_tune_space *space, uint64_t seed,
                       uint32_t trial, struct rw_params *params)
{
    for (int i = 0; i < space->n; i++) {
        const struct rw_tune_axis *axis = &space->axis[i];
        const struct rw_philox draw = rw_random4(seed, trial, (uint32_t)axis->draw, RW_STREAM_TUNE);
        const uint32_t random = draw.word[0];
        char text[32];
        if (space->is_default && draw.word[1] >> 31)
            continue;
        if (axis->n_values == 0)
            number_text(axis, (double)random * 0x1p-32, text);
        const uint32_t n = (uint32_t)axis->n_values;
        RW_TRY(rw_params_set(ctx, params, space->name[i],
                             n ? axis->value[(uint64_t)random * n >> 32] : text));
    }
    params->seed = rw_random(seed, trial, UINT32_MAX, RW_STREAM_TUNE);
    return RW_OK;
}
