#include "cli/cli.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

const struct rw_help_option *rw_advice_find(const struct rw_known_options *known, const char *name,
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
    const char *names[256];
    int n = 0;
    for (int i = 0; i < known->n && n < 256; i++) {
        if (known->table[i].name)
            names[n++] = known->table[i].name;
    }
    return rw_word_nearest(mistaken, names, n);
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
    for (const struct rw_alias *row = NULL; (row = rw_alias_next(row, NULL, name)) != NULL;) {
        if (!row->ours)
            found.none = row;
        else if (!found.option && rw_advice_find(known, row->ours, strlen(row->ours)))
            found.option = row;
        else if (!found.other)
            found.other = row->ours;
    }
    return found;
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
    if (rw_params_get(known->cli->params, other) && !rw_advice_find(known, other, strlen(other)))
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
    const struct rw_help_option *option = rw_advice_find(known, name, strlen(name));
    const struct rw_alias *row = rw_alias_next(NULL, name, value);
    struct rw_params *probe = NULL;
    if (row && !row->ours) {
        rw_msg_hint("there is none like '%s' here: %s", value, row->note);
        return;
    }
    if (row)
        value = row->ours;
    if (rw_params_get(known->cli->params, name) &&
        (rw_params_new(known->cli->ctx, &probe) < 0 ||
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
    const struct rw_help_option *own = rw_advice_find(known, name, strlen(name));
    const char *ours = own ? name : elsewhere.option ? elsewhere.option->ours : NULL;
    if (!ours && !elsewhere.none && !elsewhere.other && !rw_params_get(known->cli->params, name))
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

/* ------------------------------------------------------------------ models and data exchanged */

/* A file of the line, and what is wanted where it stands. */
struct slot {
    const char *text;
    const struct rw_option *option; /* NULL: an operand */
    int wants_model, wants_data;
    struct rw_file_kind kind;
};
enum { MOST_SLOTS = 64 };

static int has_model(const struct slot *slot)
{
    return slot->kind.is_model || slot->kind.from;
}

/* "MODEL" or "MODEL|SCORES"; "DATA" or "DATA...". */
static int begins(const char *text, const char *word)
{
    return text && strncmp(text, word, strlen(word)) == 0;
}

static int find_slots(const struct rw_cli *cli, struct slot slot[MOST_SLOTS])
{
    const struct rw_option *options = cli->command->options;
    const int model_first = begins(cli->command->operands, "MODEL");
    const int takes_files = model_first || begins(cli->command->operands, "DATA");
    const int takes_data =
        begins(cli->command->operands, "DATA") || begins(cli->command->operands, "MODEL DATA");
    int n = 0;
    for (int i = 0; takes_files && i < cli->operands.n && n < MOST_SLOTS; i++)
        slot[n++] = (struct slot){.text = cli->operands.text[i],
                                  .wants_model = model_first && i == 0,
                                  .wants_data = takes_data && !(model_first && i == 0)};
    for (int i = 0; options[i].name && n < MOST_SLOTS; i++) {
        const struct rw_sets *sets = options[i].value;
        const struct slot made = {.option = &options[i],
                                  .wants_model = begins(options[i].argument, "MODEL"),
                                  .wants_data = begins(options[i].argument, "DATA")};
        if (!cli->given[i] || !(made.wants_model || made.wants_data))
            continue;
        slot[n] = made;
        if (options[i].kind == RW_OPTION_INPUT)
            slot[n++].text = *(const char **)options[i].value;
        else if (options[i].kind == RW_OPTION_INPUTS)
            slot[n++].text = ((const struct rw_list *)options[i].value)->text[0];
        else if (options[i].kind == RW_OPTION_INPUT_SETS && sets->files[0].n == 1)
            slot[n++].text = sets->files[0].text[0];
    }
    for (int i = 0; i < n; i++)
        rw_file_recognise(cli->ctx, slot[i].text, &slot[i].kind);
    return n;
}

/* The option, not given yet, that takes the file of an operand for which there is no place. */
static const struct rw_option *option_for(const struct rw_cli *cli, const struct slot *slot,
                                          int n_before)
{
    const char *wanted = slot->kind.is_data ? "DATA" : "MODEL";
    const struct rw_option *option = cli->command->options;
    for (; option->name; option++) {
        if (option->kind != RW_OPTION_OUTPUT && begins(option->argument, wanted) &&
            !rw_is_given(cli, option->name) && n_before-- == 0)
            return option;
    }
    return NULL;
}

static void put_word(FILE *out, const char *word)
{
    const int is_plain = strcspn(word, " \t\n'\"\\$`*?[](){}<>|&;#!~") == strlen(word);
    fputc(' ', out);
    fprintf(out, is_plain || strchr(word, '\'') ? "%s" : "'%s'", word);
}

/* The line with other texts in place of two, and an option before each operand that has one. */
static void say_call(int argc, char **argv, const struct slot *slot, int n_slots,
                     const struct rw_option *const *before, const char *one, const char *other)
{
    char call[1024] = "";
    FILE *out = fmemopen(call, sizeof(call), "w");
    if (!out)
        rw_no_memory();
    fprintf(out, "%s %s", rw_msg_program, argv[0]);
    for (int i = 1; i < argc; i++) {
        const char *equals = argv[i][0] == '-' ? strchr(argv[i], '=') : NULL;
        const char *text = equals ? equals + 1 : argv[i];
        for (int k = 0; before && k < n_slots; k++) {
            if (before[k] && slot[k].text == text)
                fprintf(out, " --%s", before[k]->name);
        }
        if (equals)
            fprintf(out, " %.*s", (int)(equals - argv[i]), argv[i]);
        put_word(out, one && strcmp(text, one) == 0     ? other
                      : one && strcmp(text, other) == 0 ? one
                                                        : text);
    }
    if (fclose(out) == 0)
        rw_msg_hint("%s", call);
}

/* A model where data is wanted, and data where a model is. */
static int check_exchanged(int argc, char **argv, const struct slot *slot, int n)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < n && slot[i].wants_model && slot[i].kind.is_data; k++) {
            if (!slot[k].wants_data || !has_model(&slot[k]))
                continue;
            rw_msg_error("MODEL and DATA are exchanged: '%s' is %s, and '%s' is %s", slot[i].text,
                         slot[i].kind.what, slot[k].text, slot[k].kind.what);
            if (slot[k].kind.from)
                rw_msg_hint("rankwood import '%s' --from %s -o MODEL", slot[k].text,
                            slot[k].kind.from);
            say_call(argc, argv, slot, n, NULL, slot[i].text, slot[k].text);
            return RW_EXIT_USAGE;
        }
    }
    return 0;
}

int rw_advice_files(const struct rw_known_options *known, int argc, char **argv)
{
    const struct rw_cli *cli = known->cli;
    struct slot slot[MOST_SLOTS];
    const struct rw_option *before[MOST_SLOTS] = {NULL};
    const int n = find_slots(cli, slot);
    int n_before = 0, first = -1;
    RW_STEP(check_exchanged(argc, argv, slot, n));
    for (int i = 0; i < n && !slot[i].option; i++) {
        const int is_first_model = slot[i].kind.is_model && slot[0].wants_model &&
                                   !slot[i].wants_data && (i == 0 || slot[0].kind.is_data);
        const int fits = slot[i].wants_model  ? !slot[i].kind.is_data || n < 2
                         : slot[i].wants_data ? !slot[i].kind.is_model
                                              : 0;
        if (fits || !(slot[i].kind.is_model || slot[i].kind.is_data) || is_first_model)
            continue;
        before[i] = option_for(cli, &slot[i], n_before);
        if (!before[i])
            return 0; /* what reads it says what it is */
        first = first < 0 ? i : first;
        n_before++;
    }
    if (first < 0)
        return 0;
    rw_msg_error("'%s' is %s; it is given by '--%s'", slot[first].text, slot[first].kind.what,
                 before[first]->name);
    say_call(argc, argv, slot, n, before, NULL, NULL);
    return RW_EXIT_USAGE;
}
