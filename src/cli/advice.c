#include "cli/advice.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "cli/messages.h"

const struct argp_option *rw_advice_find(const struct rw_known_options *known, const char *name,
                                         size_t n)
{
    for (int i = 0; i < known->n; i++) {
        const char *candidate = known->table[i].name;
        if (candidate && strlen(candidate) == n && memcmp(candidate, name, n) == 0)
            return &known->table[i];
    }
    return NULL;
}

/* The option that looks most like it. */
static const char *nearest_option(const struct rw_known_options *known, const char *mistaken)
{
    const char *names[128];
    int n = 0;
    for (int i = 0; i < known->n && n < 128; i++) {
        if (known->table[i].name)
            names[n++] = known->table[i].name;
    }
    const char *own = rw_word_nearest(mistaken, names, n);
    const char *param = rw_params_nearest(mistaken);
    if (own && rw_word_distance(mistaken, own) <= 1)
        return own;
    return param && rw_advice_find(known, param, strlen(param)) ? param : own;
}

/* What another trainer's name is here. */
struct elsewhere {
    const struct rw_alias *option; /* one that the command takes; NULL: none */
    const struct rw_alias *none;   /* why there is none; NULL: not known */
    const char *other;             /* an option or a parameter that only other commands take */
};

static struct elsewhere find_elsewhere(const struct rw_known_options *known, const char *name)
{
    struct elsewhere found = {NULL, NULL, NULL};
    for (int i = rw_alias_find(NULL, name, 0); i >= 0; i = rw_alias_find(NULL, name, i + 1)) {
        const struct rw_alias *row = rw_alias_at(i);
        if (!row->ours)
            found.none = row;
        else if (!found.option && rw_advice_find(known, row->ours, strlen(row->ours)))
            found.option = row;
        else if (!found.other)
            found.other = row->ours;
    }
    return found;
}

static int is_parameter(const char *name)
{
    for (int i = 0; rw_param_info(i); i++) {
        if (strcmp(rw_param_info(i)->name, name) == 0)
            return 1;
    }
    return 0;
}

/* An error's second line: the note, else a hint to the help. */
static int hint_or_usage(const struct rw_known_options *known, const char *note)
{
    if (!note)
        return rw_msg_usage(known->cli->command->name);
    rw_msg_hint("%s", note);
    return RW_EXIT_USAGE;
}

int rw_advice_unknown(const struct rw_known_options *known, const char *token)
{
    const int n_token = (int)strcspn(token, "=");
    const char *start = token + strspn(token, "-");
    char name[64];
    size_t n = strcspn(start, "=");
    n = n < sizeof(name) - 1 ? n : sizeof(name) - 1;
    for (size_t i = 0; i < n; i++)
        name[i] = start[i] == '_' ? '-' : (char)tolower((unsigned char)start[i]);
    name[n] = 0;
    const struct elsewhere elsewhere = find_elsewhere(known, name);
    if (elsewhere.option) {
        rw_msg_error("unknown option '%.*s'; the nearest is '--%s'", n_token, token,
                     elsewhere.option->ours);
        return hint_or_usage(known, elsewhere.option->note);
    }
    if (elsewhere.none) {
        rw_msg_error("unknown option '%.*s'; there is no such option here", n_token, token);
        return hint_or_usage(known, elsewhere.none->note);
    }
    const char *other = elsewhere.other ? elsewhere.other : name;
    if (is_parameter(other) && !rw_advice_find(known, other, strlen(other)))
        return rw_wrong(known->cli, "'%s' does not take the parameter '--%s'",
                        known->cli->command->name, other);
    if (elsewhere.other) {
        rw_msg_error("unknown option '%.*s'", n_token, token);
        rw_msg_hint("other commands have it as '--%s'", other);
        return RW_EXIT_USAGE;
    }
    const char *near = nearest_option(known, name);
    if (near)
        return rw_wrong(known->cli, "unknown option '%.*s'; the nearest is '--%s'", n_token, token,
                        near);
    return rw_wrong(known->cli, "unknown option '%.*s'", n_token, token);
}

/* How `name` is given this value, which may be another trainer's. */
static void say_as_option(const struct rw_known_options *known, const char *name, const char *value)
{
    const struct argp_option *option = rw_advice_find(known, name, strlen(name));
    const int row = rw_alias_find(name, value, 0);
    struct rw_params *probe = NULL;
    if (row >= 0 && !rw_alias_at(row)->ours) {
        rw_msg_hint("there is none like '%s' here: %s", value, rw_alias_at(row)->note);
        return;
    }
    if (row >= 0)
        value = rw_alias_at(row)->ours;
    if (is_parameter(name) && (rw_params_new(known->cli->ctx, &probe) < 0 ||
                               rw_params_set(known->cli->ctx, probe, name, value) < 0))
        value = option->arg;
    rw_params_free(probe);
    rw_msg_hint("options are written with two dashes: --%s%s%s", name, option->arg ? " " : "",
                option->arg ? value : "");
}

int rw_advice_bare(const struct rw_known_options *known, const char *operand)
{
    char name[64];
    const char *equals = strchr(operand, '=');
    if (!equals || (size_t)(equals - operand) >= sizeof(name) || access(operand, F_OK) == 0)
        return 0;
    snprintf(name, sizeof(name), "%.*s", (int)(equals - operand), operand);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    const struct elsewhere elsewhere = find_elsewhere(known, name);
    const struct argp_option *own = rw_advice_find(known, name, strlen(name));
    const char *ours = own ? name : elsewhere.option ? elsewhere.option->ours : NULL;
    if (!ours && !elsewhere.none && !elsewhere.other && !is_parameter(name))
        return 0;
    rw_msg_error("cannot open '%s': there is no such file", operand);
    if (!ours && elsewhere.none)
        return hint_or_usage(known, elsewhere.none->note);
    if (!ours) {
        rw_msg_hint("'%s' does not take the parameter '--%s'", known->cli->command->name,
                    elsewhere.other ? elsewhere.other : name);
        return RW_EXIT_USAGE;
    }
    say_as_option(known, ours, equals + 1);
    if (elsewhere.option && elsewhere.option->note)
        rw_msg_hint("%s", elsewhere.option->note);
    return RW_EXIT_USAGE;
}
