#include "cli/cli.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct parsing {
    struct rw_cli *cli;
    int n_first; /* the command's own options, and those of many commands; parameters follow */
    const char **value; /* [parameters] as given; NULL: not given */
    struct rw_list metrics;
    /* DATA that follows an option which follows DATA: `train a --valid b c` */
    const char *apart;               /* the operand; NULL: all DATA is in one place */
    const char *apart_of;            /* the operand before it */
    const struct rw_option *between; /* the last option, since the last operand; NULL: none */
    const char *between_value;
    struct rw_list *behind; /* where operands go now; NULL: they are the command's */
    const char *format;     /* NULL: not given */
    int quiet, verbose, strict, is_json, is_help;
};

void rw_list_add(struct rw_list *list, const char *text)
{
    list->text = rw_grown(list->text, (size_t)list->n, sizeof(*list->text));
    list->text[list->n++] = text;
}

void rw_list_split(struct rw_list *list, const char *text)
{
    char *rest = NULL;
    for (char *one = strtok_r(rw_copy(text), ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        rw_list_add(list, one);
}

int rw_wrong(const struct rw_cli *cli, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rw_msg_error("%s", text);
    return rw_msg_usage(cli->command->name);
}

int rw_is_given(const struct rw_cli *cli, const char *option)
{
    int i = 0;
    while (cli->command->options[i].name && strcmp(cli->command->options[i].name, option) != 0)
        i++;
    return cli->command->options[i].name ? cli->given[i] : 0;
}

/* The option of this name, of n bytes; NULL: there is none. */
static const struct rw_option *find(const struct rw_cli *cli, const char *name, size_t n)
{
    for (int i = 0; i < cli->n_options; i++) {
        const char *const names[2] = {cli->option[i].name, cli->option[i].former};
        for (int k = 0; k < 2 && names[k]; k++) {
            if (strlen(names[k]) == n && memcmp(names[k], name, n) == 0)
                return &cli->option[i];
        }
    }
    return NULL;
}

static const struct rw_option *find_name(const struct rw_cli *cli, const char *name)
{
    return find(cli, name, strlen(name));
}

/* ------------------------------------------------------------------ the table */

/* Does `words` (between blanks, or "*") hold `word`? */
static int holds(const char *words, const char *word)
{
    char between[80];
    if (!words)
        return 0;
    snprintf(between, sizeof(between), " %s ", word);
    return strcmp(words, "*") == 0 || strstr(words, between) != NULL;
}

static void add(struct parsing *p, struct rw_option option)
{
    p->cli->option[p->cli->n_options++] = option;
}

static int takes(const struct rw_command *command, const struct rw_param_info *info)
{
    return holds(command->params, info->name) ||
           ((info->roles & command->roles) && !(info->roles & (RW_ROLE_DATA | RW_ROLE_VALIDATION)));
}

static void add_params(struct parsing *p, int n_params)
{
    for (int i = 0; i < n_params; i++) {
        const struct rw_param_info *info = rw_param_info(i);
        if (!takes(p->cli->command, info))
            continue;
        const int numeric = info->type == RW_PARAM_INT || info->type == RW_PARAM_REAL;
        const int is_list = strcmp(info->name, "metric") == 0;
        const size_t room = strlen(info->help) + strlen(info->range) + 128;
        char *help = rw_need(room, 1);
        snprintf(help, room, "%s [%s%s%s%s]", info->help, numeric ? info->range : "",
                 numeric ? "; " : "", *info->default_value ? "default " : "default: none",
                 info->default_value);
        add(p, (struct rw_option){info->name, 0, info->argument, help,
                                  is_list ? RW_OPTION_LIST : RW_OPTION_TEXT,
                                  .value = is_list ? (void *)&p->metrics : &p->value[i]});
    }
}

static void make_table(struct parsing *p)
{
    const struct rw_command *command = p->cli->command;
    int n_own = 0, n_params = 0;
    while (command->options[n_own].name)
        n_own++;
    while (rw_param_info(n_params))
        n_params++;
    p->cli->option = rw_need((size_t)(n_own + n_params) + 8, sizeof(*p->cli->option));
    p->cli->given = rw_need((size_t)(n_own + n_params) + 8, 1);
    p->value = rw_need((size_t)n_params, sizeof(*p->value));
    for (int i = 0; i < n_own; i++)
        add(p, command->options[i]);
    if (command->has_results) {
        add(p, (struct rw_option){"format", 0, "text|json|csv|latex",
                                  "how results are printed; csv: the first table [default: text]",
                                  RW_OPTION_TEXT, .value = &p->format});
        add(p, (struct rw_option){"json", 0, NULL,
                                  "--format json: all that was found, with every digit",
                                  RW_OPTION_FLAG, .value = &p->is_json});
    }
    p->n_first = p->cli->n_options;
    if (command->params || command->roles) {
        add(p, (struct rw_option){"config", 0, "FILE", "read parameters from 'name = value' lines",
                                  RW_OPTION_INPUT, .value = &p->cli->config});
        add(p, (struct rw_option){"quiet", 0, NULL, "print only warnings and errors",
                                  RW_OPTION_FLAG, .value = &p->quiet});
        add(p, (struct rw_option){"verbose", 0, NULL, "print more", RW_OPTION_FLAG,
                                  .value = &p->verbose});
        add(p, (struct rw_option){"strict", 0, NULL, "make a parameter without effect an error",
                                  RW_OPTION_FLAG, .value = &p->strict});
        p->n_first = p->cli->n_options;
        add_params(p, n_params);
    }
    add(p,
        (struct rw_option){"help", 'h', NULL, "print this", RW_OPTION_FLAG, .value = &p->is_help});
}

/* ------------------------------------------------------------------ names that are not known */

/* The option that looks most like it. */
static const char *nearest_option(const struct rw_cli *cli, const char *mistaken)
{
    const char **names = rw_need((size_t)cli->n_options, sizeof(*names));
    for (int i = 0; i < cli->n_options; i++)
        names[i] = cli->option[i].name;
    return rw_word_nearest(mistaken, names, cli->n_options);
}

/* Our way of writing a name of n bytes: in lower case, '-' for '_'. */
static const char *plain_name(const char *text, size_t n, char name[64])
{
    snprintf(name, 64, "%.*s", (int)n, text);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    return name;
}

/* What another trainer's name is here. */
struct elsewhere {
    const struct rw_alias *option; /* one that the command takes; NULL: none */
    const struct rw_alias *none;   /* why there is none; NULL: not known */
    const char *other;             /* an option or a parameter that only other commands take */
};

static struct elsewhere find_elsewhere(const struct rw_cli *cli, const char *name)
{
    struct elsewhere found = {NULL, NULL, NULL};
    for (const struct rw_alias *row = NULL; (row = rw_alias_next(row, NULL, name)) != NULL;) {
        if (!row->ours)
            found.none = row;
        else if (!found.option && find_name(cli, row->ours))
            found.option = row;
        else if (!found.other)
            found.other = row->ours;
    }
    return found;
}

/* An error's second line: the note, else a hint to the help. */
static int hint_or_usage(const struct rw_cli *cli, const char *note)
{
    if (!note)
        return rw_msg_usage(cli->command->name);
    rw_msg_hint("%s", note);
    return RW_EXIT_USAGE;
}

/* Reports an unknown option ("--num_leaves=31"), and what it is called here; the exit code. */
static int unknown(const struct rw_cli *cli, const char *token)
{
    const int n_token = (int)strcspn(token, "=");
    const char *start = token + strspn(token, "-");
    char room[64];
    const char *name = plain_name(start, strcspn(start, "="), room);
    const struct elsewhere elsewhere = find_elsewhere(cli, name);
    if (elsewhere.option) {
        rw_msg_error("unknown option '%.*s'; the nearest is '--%s'", n_token, token,
                     elsewhere.option->ours);
        return hint_or_usage(cli, elsewhere.option->note);
    }
    if (elsewhere.none) {
        rw_msg_error("unknown option '%.*s'; there is no such option here", n_token, token);
        return hint_or_usage(cli, elsewhere.none->note);
    }
    const char *other = elsewhere.other ? elsewhere.other : name;
    if (rw_params_get(cli->params, other) && !find_name(cli, other))
        return rw_wrong(cli, "'%s' does not take the parameter '--%s'", cli->command->name, other);
    if (elsewhere.other) {
        rw_msg_error("unknown option '%.*s'", n_token, token);
        rw_msg_hint("other commands have it as '--%s'", other);
        return RW_EXIT_USAGE;
    }
    const char *near = nearest_option(cli, name);
    if (near)
        return rw_wrong(cli, "unknown option '%.*s'; the nearest is '--%s'", n_token, token, near);
    return rw_wrong(cli, "unknown option '%.*s'", n_token, token);
}

/* How `name` is given this value, which may be another trainer's. */
static void say_as_option(const struct rw_cli *cli, const char *name, const char *value)
{
    const struct rw_option *option = find_name(cli, name);
    const struct rw_alias *row = rw_alias_next(NULL, name, value);
    struct rw_params *probe = NULL;
    if (row && !row->ours) {
        rw_msg_hint("there is none like '%s' here: %s", value, row->note);
        return;
    }
    if (row)
        value = row->ours;
    if (rw_params_get(cli->params, name) &&
        (rw_params_new(cli->ctx, &probe) < 0 || rw_params_set(cli->ctx, probe, name, value) < 0))
        value = option->argument;
    rw_params_free(probe);
    rw_msg_hint("options are written with two dashes: --%s%s%s", name, option->argument ? " " : "",
                option->argument ? value : "");
}

/* An operand that is no file but a parameter as other programs take them, "num_leaves=31": says how
 * it is written and returns the exit code; 0 for any other operand. */
static int check_bare(const struct rw_cli *cli, const char *operand)
{
    char room[64];
    const char *equals = strchr(operand, '=');
    if (!equals || (size_t)(equals - operand) >= sizeof(room) || access(operand, F_OK) == 0)
        return 0;
    const char *name = plain_name(operand, (size_t)(equals - operand), room);
    const struct elsewhere elsewhere = find_elsewhere(cli, name);
    const struct rw_option *own = find_name(cli, name);
    const char *ours = own ? name : elsewhere.option ? elsewhere.option->ours : NULL;
    if (!ours && !elsewhere.none && !elsewhere.other && !rw_params_get(cli->params, name))
        return 0;
    rw_msg_error("cannot open '%s': there is no such file", operand);
    if (!ours && elsewhere.none)
        return hint_or_usage(cli, elsewhere.none->note);
    if (!ours) {
        rw_msg_hint("'%s' does not take the parameter '--%s'", cli->command->name,
                    elsewhere.other ? elsewhere.other : name);
        return RW_EXIT_USAGE;
    }
    say_as_option(cli, ours, equals + 1);
    if (elsewhere.option && elsewhere.option->note)
        rw_msg_hint("%s", elsewhere.option->note);
    return RW_EXIT_USAGE;
}

/* ------------------------------------------------------------------ reading */

/* Files of "a,b". */
static int split(const struct rw_cli *cli, const char *text, struct rw_list *files)
{
    if (*text == ',' || text[strlen(text) - 1] == ',' || strstr(text, ",,"))
        return rw_wrong(cli, "a file without a name in '%s'", text);
    rw_list_split(files, text);
    return 0;
}

static int take_set(const struct rw_cli *cli, struct rw_sets *sets, const char *text)
{
    const size_t n = (size_t)sets->given.n;
    sets->files = rw_grown(sets->files, n, sizeof(*sets->files));
    sets->files[n] = (struct rw_list){NULL, 0};
    rw_list_add(&sets->given, text);
    return split(cli, text, &sets->files[n]);
}

/* text: NULL for an option without a value. */
static int take(struct parsing *p, const struct rw_option *option, const char *text)
{
    const int again = p->cli->given[option - p->cli->option]++;
    char name[64];
    if (!p->apart) {
        p->between = option;
        p->between_value = text;
    }
    switch (option->kind) {
    case RW_OPTION_FLAG:
        *(int *)option->value = 1;
        return 0;
    case RW_OPTION_INPUT_SETS:
        return take_set(p->cli, option->value, text);
    case RW_OPTION_INPUTS_BEHIND:
        p->behind = option->value;
        rw_list_add(option->value, text);
        return 0;
    case RW_OPTION_LIST:
    case RW_OPTION_INPUTS_OR_NONE:
        rw_list_add(option->value, text);
        return 0;
    default:
        break;
    }
    if (again)
        return rw_wrong(p->cli, "option '--%s' is given twice", option->name);
    if (option->kind == RW_OPTION_INPUTS)
        return split(p->cli, text, option->value);
    if (option->kind == RW_OPTION_NUMBER) {
        snprintf(name, sizeof(name), "--%s", option->name);
        return rw_options_number(p->cli, name, text, option->least, option->most, option->value);
    }
    *(const char **)option->value = text;
    return 0;
}

/* argv[*i] is "--name", "--name=value" or "--name" with its value behind it. */
static int take_long(struct parsing *p, char **argv, int *i)
{
    const char *token = argv[*i];
    const size_t n = strcspn(token + 2, "=");
    const struct rw_option *option = find(p->cli, token + 2, n);
    if (!option)
        return unknown(p->cli, token);
    const char *value = token[2 + n] ? token + 3 + n : NULL;
    if (!option->argument && value)
        return rw_wrong(p->cli, "option '--%s' takes no value", option->name);
    if (option->argument && !value)
        value = argv[++*i];
    if (option->argument && (!value || !*value))
        return rw_wrong(p->cli, "option '--%s' needs a value: %s", option->name, option->argument);
    return take(p, option, value);
}

/* argv[*i] is letters, the last with its value in it or behind it. */
static int take_letters(struct parsing *p, char **argv, int *i)
{
    const char *token = argv[*i];
    const size_t n_word = strcspn(token + 1, "=");
    if (n_word > 1 && find(p->cli, token + 1, n_word)) /* "-output", which is no "-o utput" */
        return unknown(p->cli, token);
    for (const char *c = token + 1; *c; c++) {
        const struct rw_option *option = p->cli->option, *end = option + p->cli->n_options;
        while (option < end && option->letter != *c)
            option++;
        const char *value = NULL;
        if (option == end)
            return unknown(p->cli, token);
        if (option->argument) {
            value = c[1] ? c + 1 : argv[++*i];
            if (!value || !*value)
                return rw_wrong(p->cli, "option '-%c' needs a value: %s", *c, option->argument);
            if (c[1] == '=')
                return rw_wrong(p->cli, "'%s' is written '-%c %s' or '--%s%s'", token, *c, c + 2,
                                option->name, c + 1);
        }
        const int result = take(p, option, value);
        if (result != 0 || value)
            return result;
    }
    return 0;
}

static void take_operand(struct parsing *p, const char *text)
{
    const struct rw_cli *cli = p->cli;
    const char *operands = cli->command->operands ? cli->command->operands : "";
    const int data_from = strncmp(operands, "MODEL", 5) == 0; /* the first is not */
    if (!p->behind && p->between && !p->apart && cli->operands.n > data_from) {
        p->apart = text;
        p->apart_of = cli->operands.text[cli->operands.n - 1];
    }
    if (!p->apart)
        p->between = NULL;
    rw_list_add(p->behind ? p->behind : &p->cli->operands, text);
}

static int read_line(struct parsing *p, int argc, char **argv)
{
    int result = 0, only_operands = 0;
    for (int i = 1; i < argc && result == 0; i++) {
        if (only_operands || argv[i][0] != '-' || !argv[i][1])
            take_operand(p, argv[i]);
        else if (strcmp(argv[i], "--") == 0)
            only_operands = 1;
        else
            result = argv[i][1] == '-' ? take_long(p, argv, &i) : take_letters(p, argv, &i);
    }
    return result;
}

/* ------------------------------------------------------------------ parameters */

char *rw_joined(const struct rw_list *list)
{
    size_t size = 1;
    for (int i = 0; i < list->n; i++)
        size += strlen(list->text[i]) + 1;
    char *all = rw_need(size, 1);
    for (int i = 0; i < list->n; i++) {
        strcat(all, i > 0 ? "," : "");
        strcat(all, list->text[i]);
    }
    return all;
}

static int set_params(const struct parsing *p)
{
    struct rw_ctx *ctx = p->cli->ctx;
    struct rw_params *params = p->cli->params;
    if (p->strict)
        rw_params_on_no_effect(params, RW_NO_EFFECT_ERROR);
    if (p->cli->config)
        RW_STEP(rw_params_read(ctx, params, p->cli->config));
    for (int i = 0; rw_param_info(i); i++) {
        if (p->value[i])
            RW_STEP(rw_params_set(ctx, params, rw_param_info(i)->name, p->value[i]));
    }
    if (p->metrics.n > 0)
        RW_STEP(rw_params_set(ctx, params, "metric", rw_joined(&p->metrics)));
    return rw_ctx_set_threads(ctx, atoi(rw_params_get(params, "threads")));
}

/* ------------------------------------------------------------------ files */

/* "--log", or "-o". */
static const char *option_name(const struct rw_option *option, char name[64])
{
    if (option->letter)
        snprintf(name, 64, "-%c", option->letter);
    else
        snprintf(name, 64, "--%s", option->name);
    return name;
}

/* A file that a command reads. */
struct input {
    const char *path;
    const struct rw_option *option; /* NULL: an operand or a parameter */
    const char *replaced_by;        /* NULL, or the output that may replace it */
};
struct inputs {
    struct input *input; /* [n] */
    int n;
};

static void add_input(struct inputs *inputs, const char *path, const struct rw_option *option,
                      const char *replaced_by)
{
    inputs->input = rw_grown(inputs->input, (size_t)inputs->n, sizeof(*inputs->input));
    inputs->input[inputs->n++] = (struct input){path, option, replaced_by};
}

/* But for what is no file: `option->no_file`, or 'none'. */
static void add_files(struct inputs *inputs, const struct rw_option *option,
                      const struct rw_list *files)
{
    const char *no_file = option->kind == RW_OPTION_INPUTS_OR_NONE ? "none" : option->no_file;
    for (int i = 0; i < files->n; i++) {
        if (!no_file || strcmp(files->text[i], no_file) != 0)
            add_input(inputs, files->text[i], option, option->replaced_by);
    }
}

static void add_option(struct inputs *inputs, const struct rw_option *option)
{
    const struct rw_sets *sets = option->value;
    switch (option->kind) {
    case RW_OPTION_INPUT:
        add_files(inputs, option, &(struct rw_list){option->value, 1});
        break;
    case RW_OPTION_INPUTS:
    case RW_OPTION_INPUTS_BEHIND:
    case RW_OPTION_INPUTS_OR_NONE:
        add_files(inputs, option, option->value);
        break;
    case RW_OPTION_INPUT_SETS:
        for (int k = 0; k < sets->given.n; k++)
            add_files(inputs, option, &sets->files[k]);
        break;
    default:
        break;
    }
}

/* The files that a command reads: operands first. */
static struct inputs inputs_of(const struct rw_cli *cli)
{
    struct inputs inputs = {0};
    for (int i = 0; i < cli->operands.n; i++)
        add_input(&inputs, cli->operands.text[i], NULL, i == 0 ? cli->command->replaced_by : NULL);
    for (int i = 0; i < cli->n_options; i++) {
        if (cli->given[i])
            add_option(&inputs, &cli->option[i]);
    }
    for (int i = 0; rw_param_info(i); i++) {
        if (rw_params_file(cli->params, i))
            add_input(&inputs, rw_params_file(cli->params, i), NULL, NULL);
    }
    return inputs;
}

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

/* Operands, where they are files, and the first file of each option. */
static int find_slots(const struct rw_cli *cli, struct slot slot[MOST_SLOTS])
{
    const struct inputs inputs = inputs_of(cli);
    const char *operands = cli->command->operands;
    const int model_first = begins(operands, "MODEL");
    const int takes_data = begins(operands, "DATA") || begins(operands, "MODEL DATA");
    int n = 0;
    for (int i = 0; i < inputs.n && n < MOST_SLOTS; i++) {
        const struct input *input = &inputs.input[i];
        const struct rw_option *option = input->option;
        if (i < cli->operands.n)
            slot[n] = (struct slot){.wants_model = model_first && i == 0,
                                    .wants_data = takes_data && !(model_first && i == 0)};
        else if (option)
            slot[n] = (struct slot){.option = option,
                                    .wants_model = begins(option->argument, "MODEL"),
                                    .wants_data = begins(option->argument, "DATA")};
        if (i < cli->operands.n ? !(model_first || begins(operands, "DATA"))
                                : !option || (i > 0 && option == inputs.input[i - 1].option) ||
                                      !(slot[n].wants_model || slot[n].wants_data))
            continue;
        slot[n].text = input->path;
        rw_file_recognise(cli->ctx, slot[n].text, &slot[n].kind);
        n++;
    }
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

/* Checks by their contents that the files of a line, argv [argc], stand where a model or data is
 * wanted. 0, or the code of an error with a hint that is the right call. */
static int check_kinds(const struct rw_cli *cli, int argc, char **argv)
{
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

/* output: the name of the option that `path` is of; NULL: it is another file that is written. */
static int check_written(const struct rw_cli *cli, const struct inputs *inputs, const char *path,
                         const char *output)
{
    for (int i = 0; i < inputs->n; i++) {
        const struct input *input = &inputs->input[i];
        const int is_replaced =
            output && input->replaced_by && strcmp(input->replaced_by, output) == 0;
        if (!is_replaced && rw_same_file(path, input->path))
            return rw_wrong(cli, "'%s' is read, so it cannot be written", path);
    }
    return 0;
}

int rw_options_check_written(const struct rw_cli *cli, const char *path)
{
    const struct inputs inputs = inputs_of(cli);
    return check_written(cli, &inputs, path, NULL);
}

/* What an option writes: its file, and the one with a suffix. Returns how many there are. */
static int outputs_of(const struct rw_option *option, const char *path[2], char *room, size_t n)
{
    path[0] = *(const char **)option->value;
    path[1] = room;
    if (!option->also || strcmp(path[0], "-") == 0)
        return 1;
    return snprintf(room, n, "%s%s", path[0], option->also) < (int)n ? 2 : 1;
}

/* Do two options write to one file? Two results on one standard output would be mixed. */
static int check_outputs(const struct rw_cli *cli, const struct rw_option *one,
                         const struct rw_option *other)
{
    const char *path[2][2];
    char room[2][4096], name[2][64];
    const int n_one = outputs_of(one, path[0], room[0], sizeof(room[0]));
    const int n_other = outputs_of(other, path[1], room[1], sizeof(room[1]));
    option_name(one, name[0]);
    option_name(other, name[1]);
    if (strcmp(path[0][0], "-") == 0 && strcmp(path[1][0], "-") == 0)
        return rw_wrong(cli, "'%s' and '%s' both go to standard output", name[0], name[1]);
    for (int i = 0; i < n_one; i++) {
        for (int k = 0; k < n_other; k++) {
            if (rw_same_file(path[0][i], path[1][k]))
                return rw_wrong(cli, "'%s' and '%s' name the same file%s%s", name[0], name[1],
                                i || k ? ": " : "",
                                i   ? path[0][1]
                                : k ? path[1][1]
                                    : "");
        }
    }
    return 0;
}

static int check_files(const struct rw_cli *cli)
{
    const struct inputs inputs = inputs_of(cli);
    const struct rw_option *option = cli->command->options;
    const char *path[2];
    char room[4096];
    int n_stdin = 0;
    for (int i = 0; i < inputs.n; i++)
        n_stdin += strcmp(inputs.input[i].path, "-") == 0;
    if (n_stdin > 1)
        return rw_wrong(cli, "standard input ('-') can be read only once");
    for (int i = 0; option[i].name; i++) {
        if (option[i].kind != RW_OPTION_OUTPUT || !cli->given[i])
            continue;
        const int n = outputs_of(&option[i], path, room, sizeof(room));
        for (int k = 0; k < n; k++)
            RW_STEP(check_written(cli, &inputs, path[k], option[i].name));
        for (int k = 0; k < i; k++) {
            if (option[k].kind == RW_OPTION_OUTPUT && cli->given[k])
                RW_STEP(check_outputs(cli, &option[k], &option[i]));
        }
    }
    for (int i = 0; option[i].name && rw_workers_leads(cli); i++) { /* who alone writes */
        if (option[i].kind == RW_OPTION_OUTPUT && cli->given[i])
            RW_STEP(rw_out_file_open(cli->ctx, NULL, *(const char **)option[i].value));
    }
    return 0;
}

/* ------------------------------------------------------------------ the whole line */

/* Operands after an option may be meant as more of its files. */
static int check_apart(const struct parsing *p)
{
    if (!p->apart)
        return 0;
    rw_msg_error("'%s': DATA is given in two places, before and after '--%s'", p->apart,
                 p->between->name);
    if (p->between->kind == RW_OPTION_INPUT_SETS || p->between->kind == RW_OPTION_INPUTS)
        rw_msg_hint("two files of '--%s' are given as --%s %s,%s", p->between->name,
                    p->between->name, p->between_value, p->apart);
    rw_msg_hint("more of DATA is given directly after '%s'", p->apart_of);
    return RW_EXIT_USAGE;
}

static int take_format(struct parsing *p)
{
    static const char *const words[] = {"text", "json", "csv", "latex"};
    if (p->format && p->is_json)
        return rw_wrong(p->cli, "'--format' and '--json' both say how to print: give one of them");
    const char *word = p->format ? p->format : words[p->is_json];
    for (int i = 0; i < 4; i++) {
        p->cli->format = (enum rw_format)i;
        if (strcmp(word, words[i]) == 0)
            return 0;
    }
    return rw_wrong(p->cli, "option '--format': expected text, json, csv or latex, found '%.100s'",
                    word);
}

static int check_line(struct parsing *p, int argc, char **argv)
{
    const struct rw_cli *cli = p->cli;
    const struct rw_command *command = p->cli->command;
    const int n = cli->operands.n;
    char name[64];
    RW_STEP(check_kinds(cli, argc, argv));
    if (n < command->least)
        return rw_wrong(cli, "'%s' needs %s", command->name, command->operands);
    if (command->most >= 0 && n > command->most)
        return rw_wrong(cli, "'%s' does not take '%s'", command->name,
                        cli->operands.text[command->most]);
    for (int i = 0; i < n; i++) {
        if (!*cli->operands.text[i])
            return rw_wrong(cli, "the name of a file is empty");
        RW_STEP(check_bare(cli, cli->operands.text[i]));
    }
    RW_STEP(check_apart(p));
    if (p->quiet && p->verbose)
        return rw_wrong(cli, "'--verbose' has no effect with '--quiet'");
    RW_STEP(take_format(p));
    for (int i = 0; command->options[i].name; i++) {
        const struct rw_option *option = &command->options[i];
        if (option->needed && !cli->given[i])
            return rw_wrong(cli, "'%s' needs %s %s", command->name, option_name(option, name),
                            option->argument);
    }
    return 0;
}

/* Options that have no effect with others. */
static int check_idle(const struct rw_cli *cli)
{
    const struct rw_option *option = cli->command->options;
    for (int i = 0; option[i].name; i++) {
        for (int k = 0; option[k].name; k++) {
            if (cli->given[i] && cli->given[k] && holds(option[i].idle_with, option[k].name))
                return rw_wrong(cli, "'--%s' has no effect with '--%s'", option[i].name,
                                option[k].name);
        }
    }
    return 0;
}

static int check(struct rw_cli *cli)
{
    const char *params = cli->command->params;
    if (*rw_params_get(cli->params, "weights") && *rw_params_get(cli->params, "query-weights"))
        return rw_wrong(cli, "'--weights' and '--query-weights' both weigh DATA: give one of them");
    if (*rw_params_get(cli->params, "weight-column") &&
        (*rw_params_get(cli->params, "weights") || *rw_params_get(cli->params, "query-weights")))
        return rw_wrong(
            cli, "'--weight-column' and a file of weights both weigh DATA: give one of them");
    RW_STEP(check_idle(cli));
    if (cli->command->check)
        RW_STEP(cli->command->check(cli));
    RW_STEP(rw_device_check(cli->ctx, rw_params_get(cli->params, "device")));
    const int trains = params && strcmp(params, "*") == 0;
    if (trains && !rw_is_given(cli, "refit")) /* what that takes of its model is not known yet */
        RW_STEP(rw_params_check(cli->ctx, cli->params, RW_PARAMS_TRAIN));
    else if (!trains && (cli->command->roles & RW_ROLE_EVALUATION))
        RW_STEP(rw_params_check(cli->ctx, cli->params, RW_PARAMS_MEASURE));
    return check_files(cli);
}

/* The command line, as far as nothing is done yet. */
static int prepare(struct parsing *p, int argc, char **argv)
{
    RW_STEP(read_line(p, argc, argv));
    if (p->is_help)
        return 0;
    RW_STEP(check_line(p, argc, argv));
    rw_msg_set(p->quiet, p->verbose);
    RW_STEP(set_params(p));
    return check(p->cli);
}

static int run(struct parsing *p, int argc, char **argv)
{
    RW_STEP(rw_workers_meet(p->cli, prepare(p, argc, argv)));
    if (p->is_help && rw_workers_leads(p->cli))
        rw_help_print(p->cli, p->n_first);
    if (p->is_help)
        return 0;
    return p->cli->command->run(p->cli);
}

/* The index of the first word that names a part, else of the first operand; 0: there is none. */
static int find_part(const struct rw_command *command, int argc, char **argv, int *part)
{
    const size_t n = strlen(command->name) + 1;
    int first = 0;
    for (int i = argc - 1; i > 0; i--)
        first = argv[i][0] != '-' ? i : first;
    for (int i = 1; i < argc; i++) {
        for (*part = 0; command->parts[*part]; (*part)++) {
            if (strcmp(argv[i], command->parts[*part]->name + n) == 0)
                return i;
        }
    }
    return first;
}

static int run_part(const struct rw_command *command, int argc, char **argv)
{
    const struct rw_cli cli = {.command = command};
    const char *names[8];
    char option[] = "--help", *help[] = {option, option, NULL};
    int part = 0, n = 0, code = RW_EXIT_OK, asks_help = 0;
    const int at = find_part(command, argc, argv, &part);
    if (at && command->parts[part]) {
        memmove(&argv[at], &argv[at + 1], (size_t)(argc - at) * sizeof(*argv));
        return rw_command_run(command->parts[part], argc - 1, argv);
    }
    for (; command->parts[n]; n++)
        names[n] = command->parts[n]->name + strlen(command->name) + 1;
    if (at) {
        const char *near = rw_word_nearest(argv[at], names, n);
        return rw_wrong(
            &cli, near ? "unknown %s '%s'; the nearest is '%s'" : "unknown %s '%s'; expected %s",
            command->name, argv[at], near ? near : command->operands);
    }
    for (int i = 1; i < argc; i++)
        asks_help |= strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
    if (!asks_help)
        return rw_wrong(&cli, "'%s' needs %s", command->name, command->operands);
    for (int i = 0; i < n && code == RW_EXIT_OK; i++) {
        fputs(i ? "\n" : "", stdout);
        code = rw_command_run(command->parts[i], 2, help);
    }
    return code;
}

int rw_command_run(const struct rw_command *command, int argc, char **argv)
{
    if (command->parts)
        return run_part(command, argc, argv);
    struct rw_cli cli = {.command = command};
    struct parsing p = {.cli = &cli};
    make_table(&p);
    if (rw_ctx_new(&cli.ctx) < 0 || rw_params_new(cli.ctx, &cli.params) < 0)
        rw_no_memory();
    rw_ctx_set_log(cli.ctx, rw_msg_log, NULL);
    int code = rw_workers_join(&cli);
    code = code ? code : run(&p, argc, argv);
    if (code < 0)
        code = rw_msg_failed(cli.ctx, code, command->name);
    rw_workers_leave(&cli, code);
    rw_out_file_abandon(&cli.out);
    rw_out_file_abandon(NULL);
    rw_scorer_free(cli.scorer);
    rw_model_free(cli.model);
    if (!cli.binned)
        rw_dataset_free(cli.dataset);
    rw_binned_free(cli.binned);
    rw_params_free(cli.params);
    rw_ctx_free(cli.ctx);
    return code;
}

int rw_options_number(const struct rw_cli *cli, const char *option, const char *text,
                      unsigned long long least, unsigned long long most, unsigned long long *value)
{
    unsigned long long number = 0;
    int good = *text != 0;
    for (const char *c = text; good && *c; c++) {
        const unsigned digit = (unsigned)*c - '0';
        good = digit <= 9 && digit <= most && number <= (most - digit) / 10;
        if (good)
            number = number * 10 + digit;
    }
    if (!good || number < least)
        return rw_wrong(cli, "option '%s': expected a whole number, %llu to %llu, found '%.100s'",
                        option, least, most, text);
    *value = number;
    return 0;
}
