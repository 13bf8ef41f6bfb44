#include "cli/cli.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Keys of the table: letters, then the command's own options, then parameters. */
enum {
    KEY_OWN = 0x1000,
    KEY_PARAM = 0x2000,
    KEY_CONFIG = 0x3000,
    KEY_FORMAT,
    KEY_JSON,
    KEY_QUIET,
    KEY_VERBOSE,
    KEY_STRICT
};

struct parsing {
    struct rw_cli *cli;
    struct rw_help_option *table; /* [n + 1] the command's own options first; owned */
    int n, n_own;
    struct rw_known_options known; /* the same, for messages */
    char **help; /* [n_help] the parameters' help with ranges; owned, like its texts */
    int n_help;
    const char **value; /* [parameters] as given; NULL: not given; owned */
    struct rw_list metrics;
    /* DATA that follows an option which follows DATA: `train a --valid b c` */
    const char *apart;                    /* the operand; NULL: all DATA is in one place */
    const char *apart_of;                 /* the operand before it */
    const struct rw_help_option *between; /* the last option, since the last operand; NULL: none */
    const char *between_value;
    struct rw_list *behind; /* where operands go now; NULL: they are the command's */
    const char *format;     /* NULL: not given */
    int quiet, verbose, strict, is_json, is_help;
};

static void list_add(struct rw_list *list, const char *text)
{
    list->text = rw_grown(list->text, (size_t)list->n, sizeof(*list->text));
    list->text[list->n++] = text;
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

static void add(struct parsing *p, const char *name, int key, const char *argument,
                const char *help, int group)
{
    p->table[p->n++] = (struct rw_help_option){
        .name = name, .key = key, .arg = argument, .doc = help, .group = group};
}

static int takes(const struct rw_command *command, const struct rw_param_info *info)
{
    return holds(command->params, info->name) ||
           ((info->roles & command->roles) && !(info->roles & (RW_ROLE_DATA | RW_ROLE_VALIDATION)));
}

static void add_params(struct parsing *p, int n_params)
{
    int first = 1;
    for (int i = 0; i < n_params; i++) {
        const struct rw_param_info *info = rw_param_info(i);
        if (!takes(p->cli->command, info))
            continue;
        const int numeric = info->type == RW_PARAM_INT || info->type == RW_PARAM_REAL;
        const size_t room = strlen(info->help) + strlen(info->range) + 128;
        char *help = rw_need(room, 1);
        snprintf(help, room, "%s [%s%s%s%s]", info->help, numeric ? info->range : "",
                 numeric ? "; " : "", *info->default_value ? "default " : "default: none",
                 info->default_value);
        p->help[p->n_help++] = help;
        if (first)
            add(p, NULL, 0, NULL, "Parameters, with range and default:", 2);
        first = 0;
        add(p, info->name, KEY_PARAM + i, info->argument, help, 2);
    }
}

static void make_table(struct parsing *p)
{
    int n_params = 0;
    while (p->cli->command->options[p->n_own].name)
        p->n_own++;
    while (rw_param_info(n_params))
        n_params++;
    p->table = rw_need((size_t)(p->n_own + n_params) + 8, sizeof(*p->table));
    p->help = rw_need((size_t)n_params, sizeof(*p->help));
    p->value = rw_need((size_t)n_params, sizeof(*p->value));
    p->cli->given = rw_need((size_t)p->n_own, 1);
    for (int i = 0; i < p->n_own; i++) {
        const struct rw_option *option = &p->cli->command->options[i];
        add(p, option->name, option->letter ? option->letter : KEY_OWN + i, option->argument,
            option->help, 1);
    }
    if (p->cli->command->has_results) {
        add(p, "format", KEY_FORMAT, "text|json|csv|latex",
            "how results are printed; csv: the first table [default: text]", 1);
        add(p, "json", KEY_JSON, NULL, "--format json: all that was found, with every digit", 1);
    }
    if (p->cli->command->params || p->cli->command->roles) {
        add(p, "config", KEY_CONFIG, "FILE", "read parameters from 'name = value' lines", 1);
        add(p, "quiet", KEY_QUIET, NULL, "print only warnings and errors", 1);
        add(p, "verbose", KEY_VERBOSE, NULL, "print more", 1);
        add(p, "strict", KEY_STRICT, NULL, "make a parameter without effect an error", 1);
        add_params(p, n_params);
    }
    add(p, "help", 'h', NULL, "print this", 3);
}

static const struct rw_help_option *find_letter(const struct parsing *p, int letter)
{
    for (int i = 0; i < p->n; i++) {
        if (p->table[i].key == letter && letter)
            return &p->table[i];
    }
    return NULL;
}

/* ------------------------------------------------------------------ reading */

/* Files of "a,b". */
static int split(const struct rw_cli *cli, const char *text, struct rw_list *files)
{
    char *rest;
    if (*text == ',' || text[strlen(text) - 1] == ',' || strstr(text, ",,"))
        return rw_wrong(cli, "a file without a name in '%s'", text);
    for (char *file = strtok_r(rw_copy(text), ",", &rest); file; file = strtok_r(NULL, ",", &rest))
        list_add(files, file);
    return 0;
}

static int take_set(const struct rw_cli *cli, struct rw_sets *sets, const char *text)
{
    const size_t n = (size_t)sets->given.n;
    sets->files = rw_grown(sets->files, n, sizeof(*sets->files));
    sets->files[n] = (struct rw_list){NULL, 0};
    list_add(&sets->given, text);
    return split(cli, text, &sets->files[n]);
}

static int take_own(struct parsing *p, int i, const char *text)
{
    const struct rw_option *option = &p->cli->command->options[i];
    const int again = p->cli->given[i]++;
    char name[64];
    if (option->kind == RW_OPTION_FLAG) {
        *(int *)option->value = 1;
        return 0;
    }
    if (option->kind == RW_OPTION_INPUT_SETS)
        return take_set(p->cli, option->value, text);
    if (option->kind == RW_OPTION_INPUTS_BEHIND)
        p->behind = option->value;
    if (option->kind == RW_OPTION_LIST || option->kind == RW_OPTION_INPUTS_OR_NONE ||
        option->kind == RW_OPTION_INPUTS_BEHIND) {
        list_add(option->value, text);
        return 0;
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

/* text: NULL for an option without a value. */
static int take(struct parsing *p, const struct rw_help_option *option, const char *text)
{
    if (!p->apart) {
        p->between = option;
        p->between_value = text;
    }
    if (option - p->table < p->n_own)
        return take_own(p, (int)(option - p->table), text);
    if (option->arg) {
        const char **to = option->key == KEY_CONFIG   ? &p->cli->config
                          : option->key == KEY_FORMAT ? &p->format
                                                      : &p->value[option->key - KEY_PARAM];
        if (strcmp(option->name, "metric") == 0)
            list_add(&p->metrics, text);
        else if (*to)
            return rw_wrong(p->cli, "option '--%s' is given twice", option->name);
        *to = text;
        return 0;
    }
    *(option->key == KEY_QUIET     ? &p->quiet
      : option->key == KEY_VERBOSE ? &p->verbose
      : option->key == KEY_STRICT  ? &p->strict
      : option->key == KEY_JSON    ? &p->is_json
                                   : &p->is_help) = 1;
    return 0;
}

/* argv[*i] is "--name", "--name=value" or "--name" with its value behind it. */
static int take_long(struct parsing *p, char **argv, int *i)
{
    const char *token = argv[*i];
    const size_t n = strcspn(token + 2, "=");
    const struct rw_help_option *option = rw_advice_find(&p->known, token + 2, n);
    if (!option)
        return rw_advice_unknown(&p->known, token);
    const char *value = token[2 + n] ? token + 3 + n : NULL;
    if (!option->arg && value)
        return rw_wrong(p->cli, "option '--%s' takes no value", option->name);
    if (option->arg && !value)
        value = argv[++*i];
    if (option->arg && (!value || !*value))
        return rw_wrong(p->cli, "option '--%s' needs a value: %s", option->name, option->arg);
    return take(p, option, value);
}

/* argv[*i] is letters, the last with its value in it or behind it. */
static int take_letters(struct parsing *p, char **argv, int *i)
{
    const char *token = argv[*i];
    const size_t n_word = strcspn(token + 1, "=");
    if (n_word > 1 &&
        rw_advice_find(&p->known, token + 1, n_word)) /* "-output", which is no "-o utput" */
        return rw_advice_unknown(&p->known, token);
    for (const char *c = token + 1; *c; c++) {
        const struct rw_help_option *option = find_letter(p, *c);
        const char *value = NULL;
        if (!option)
            return rw_advice_unknown(&p->known, token);
        if (option->arg) {
            value = c[1] ? c + 1 : argv[++*i];
            if (!value || !*value)
                return rw_wrong(p->cli, "option '-%c' needs a value: %s", *c, option->arg);
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
    list_add(p->behind ? p->behind : &p->cli->operands, text);
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

static int print_help(const struct parsing *p)
{
    char name[64], *about = NULL;
    size_t n;
    FILE *text = open_memstream(&about, &n);
    if (!text)
        rw_no_memory();
    fputs(p->cli->command->about, text);
    if (p->cli->command->more)
        p->cli->command->more(text);
    if (fclose(text) != 0)
        rw_no_memory();
    snprintf(name, sizeof(name), "%s %s", rw_msg_program, p->cli->command->name);
    rw_help_print(stdout, name, p->cli->command->operands, about, p->table, p->n);
    free(about);
    return 0;
}

/* ------------------------------------------------------------------ parameters */

static char *joined(const struct rw_list *list)
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
        const char *name = rw_param_info(i)->name;
        if (p->value[i] && strcmp(name, "metric") != 0)
            RW_STEP(rw_params_set(ctx, params, name, p->value[i]));
    }
    if (p->metrics.n > 0) {
        char *all = joined(&p->metrics);
        const int status = rw_params_set(ctx, params, "metric", all);
        free(all);
        RW_STEP(status);
    }
    return rw_ctx_set_threads(ctx, atoi(rw_params_get(params, "threads")));
}

/* ------------------------------------------------------------------ the whole line */

/* "--log", or "-o". */
static const char *option_name(const struct rw_option *option, char name[64])
{
    if (option->letter)
        snprintf(name, 64, "-%c", option->letter);
    else
        snprintf(name, 64, "--%s", option->name);
    return name;
}

/* Operands after an option may be meant as more of its files. */
static int check_apart(const struct parsing *p)
{
    const struct rw_cli *cli = p->cli;
    const long i = p->apart ? p->between - p->table : 0;
    if (!p->apart)
        return 0;
    rw_msg_error("'%s': DATA is given in two places, before and after '--%s'", p->apart,
                 p->between->name);
    if (i < p->n_own && (cli->command->options[i].kind == RW_OPTION_INPUT_SETS ||
                         cli->command->options[i].kind == RW_OPTION_INPUTS))
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
    p->cli->format = p->is_json ? RW_FORMAT_JSON : RW_FORMAT_TEXT;
    for (int i = 0; i < 4; i++) {
        if (p->format && strcmp(p->format, words[i]) == 0) {
            p->cli->format = (enum rw_format)i;
            return 0;
        }
    }
    return p->format ? rw_wrong(p->cli,
                                "option '--format': expected text, json, csv or latex, found "
                                "'%.100s'",
                                p->format)
                     : 0;
}

static int check_line(struct parsing *p, int argc, char **argv)
{
    const struct rw_cli *cli = p->cli;
    const struct rw_command *command = p->cli->command;
    const int n = cli->operands.n;
    char name[64];
    RW_STEP(rw_advice_files(&p->known, argc, argv));
    if (n < command->least)
        return rw_wrong(cli, "'%s' needs %s", command->name, command->operands);
    if (command->most >= 0 && n > command->most)
        return rw_wrong(cli, "'%s' does not take '%s'", command->name,
                        cli->operands.text[command->most]);
    for (int i = 0; i < n; i++) {
        if (!*cli->operands.text[i])
            return rw_wrong(cli, "the name of a file is empty");
        RW_STEP(rw_advice_bare(&p->known, cli->operands.text[i]));
    }
    RW_STEP(check_apart(p));
    if (p->quiet && p->verbose)
        return rw_wrong(cli, "'--verbose' has no effect with '--quiet'");
    RW_STEP(take_format(p));
    for (int i = 0; i < p->n_own; i++) {
        const struct rw_option *option = &command->options[i];
        if (option->needed && !cli->given[i])
            return rw_wrong(cli, "'%s' needs %s %s", command->name, option_name(option, name),
                            option->argument);
    }
    return 0;
}

/* A file that a command reads. */
struct input {
    const char *path;
    const char *replaced_by; /* NULL, or the output that may replace it */
};
struct inputs {
    struct input *input; /* [n] owned */
    int n;
};

static void add_input(struct inputs *inputs, const char *path, const char *replaced_by)
{
    inputs->input = rw_grown(inputs->input, (size_t)inputs->n, sizeof(*inputs->input));
    inputs->input[inputs->n++] = (struct input){path, replaced_by};
}

static void add_files(struct inputs *inputs, const struct rw_list *files, const char *no_file)
{
    for (int i = 0; i < files->n; i++) {
        if (!no_file || strcmp(files->text[i], no_file) != 0)
            add_input(inputs, files->text[i], NULL);
    }
}

static void add_option(struct inputs *inputs, const struct rw_option *option)
{
    const struct rw_sets *sets = option->value;
    const char *path;
    switch (option->kind) {
    case RW_OPTION_INPUT:
        path = *(const char **)option->value;
        if (!option->no_file || strcmp(path, option->no_file) != 0)
            add_input(inputs, path, option->replaced_by);
        break;
    case RW_OPTION_INPUTS:
    case RW_OPTION_INPUTS_BEHIND:
        add_files(inputs, option->value, NULL);
        break;
    case RW_OPTION_INPUTS_OR_NONE:
        add_files(inputs, option->value, "none");
        break;
    case RW_OPTION_INPUT_SETS:
        for (int k = 0; k < sets->given.n; k++)
            add_files(inputs, &sets->files[k], NULL);
        break;
    default:
        break;
    }
}

/* The files that a command reads. */
static struct inputs inputs_of(const struct rw_cli *cli)
{
    const struct rw_command *command = cli->command;
    struct inputs inputs = {0};
    for (int i = 0; i < cli->operands.n; i++)
        add_input(&inputs, cli->operands.text[i], i == 0 ? command->replaced_by : NULL);
    if (cli->config)
        add_input(&inputs, cli->config, NULL);
    for (int i = 0; rw_param_info(i); i++) {
        if (rw_params_file(cli->params, i))
            add_input(&inputs, rw_params_file(cli->params, i), NULL);
    }
    for (int i = 0; command->options[i].name; i++) {
        if (cli->given[i])
            add_option(&inputs, &command->options[i]);
    }
    return inputs;
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
    const int code = check_written(cli, &inputs, path, NULL);
    free(inputs.input);
    return code;
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

static int check_files(const struct rw_cli *cli, const struct inputs *inputs)
{
    const struct rw_option *option = cli->command->options;
    const char *path[2];
    char room[4096];
    int n_stdin = 0;
    for (int i = 0; i < inputs->n; i++)
        n_stdin += strcmp(inputs->input[i].path, "-") == 0;
    if (n_stdin > 1)
        return rw_wrong(cli, "standard input ('-') can be read only once");
    for (int i = 0; option[i].name; i++) {
        if (option[i].kind != RW_OPTION_OUTPUT || !cli->given[i])
            continue;
        const int n = outputs_of(&option[i], path, room, sizeof(room));
        for (int k = 0; k < n; k++)
            RW_STEP(check_written(cli, inputs, path[k], option[i].name));
        for (int k = 0; k < i; k++) {
            if (option[k].kind == RW_OPTION_OUTPUT && cli->given[k])
                RW_STEP(check_outputs(cli, &option[k], &option[i]));
        }
    }
    for (int i = 0; option[i].name && rw_ranks_leads(cli); i++) { /* who alone writes */
        if (option[i].kind == RW_OPTION_OUTPUT && cli->given[i])
            RW_STEP(rw_out_file_open(cli->ctx, NULL, *(const char **)option[i].value));
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
    if (cli->command->check)
        RW_STEP(cli->command->check(cli));
    RW_STEP(rw_device_check(cli->ctx, rw_params_get(cli->params, "device")));
    const int trains = params && strcmp(params, "*") == 0;
    if (trains && !rw_is_given(cli, "refit")) /* what that takes of its model is not known yet */
        RW_STEP(rw_params_check(cli->ctx, cli->params, RW_PARAMS_TRAIN));
    else if (!trains && (cli->command->roles & RW_ROLE_EVALUATION))
        RW_STEP(rw_params_check(cli->ctx, cli->params, RW_PARAMS_MEASURE));
    const struct inputs inputs = inputs_of(cli);
    const int code = check_files(cli, &inputs);
    free(inputs.input);
    return code;
}

/* The command line, as far as nothing is done yet. */
static int prepare(struct parsing *p, int argc, char **argv)
{
    p->known = (struct rw_known_options){p->cli, p->table, p->n};
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
    RW_STEP(rw_ranks_meet(p->cli, prepare(p, argc, argv)));
    if (p->is_help)
        return rw_ranks_leads(p->cli) ? print_help(p) : 0;
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
    int code = rw_ranks_join(&cli);
    code = code ? code : run(&p, argc, argv);
    if (code < 0)
        code = rw_msg_failed(cli.ctx, code, command->name);
    rw_ranks_leave(&cli, code);
    rw_out_file_abandon(&cli.out);
    rw_out_file_abandon(NULL);
    rw_scorer_free(cli.scorer);
    rw_model_free(cli.model);
    if (!cli.binned)
        rw_dataset_free(cli.dataset);
    rw_binned_free(cli.binned);
    rw_params_free(cli.params);
    rw_ctx_free(cli.ctx);
    for (int i = 0; i < p.n_help; i++)
        free(p.help[i]);
    free(p.help);
    free(p.table);
    free(p.value);
    free(p.metrics.text);
    free(cli.given);
    free(cli.operands.text);
    free(cli.ignore.text);
    free(cli.ignore_text);
    free(cli.labels.text);
    free(cli.labels_text);
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

enum { COLUMNS = 79, DOC = 29, GAP = 2 };

static int by_group(const void *a, const void *b)
{
    const struct rw_help_option *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (!x->name || !y->name) /* the heading comes first */
        return (x->name != NULL) - (y->name != NULL);
    return strcmp(x->name, y->name);
}

/* Prints words of text [n], which begins at column `at`, with later lines from column `indent` on.
 * Several blanks stay, so that columns do. */
static void wrap(FILE *out, const char *text, size_t n, size_t at, size_t indent)
{
    const char *end = text + n;
    int is_first = 1;
    while (text < end) {
        const char *word = text;
        while (word < end && *word == ' ')
            word++;
        const char *stop = word;
        while (stop < end && *stop != ' ')
            stop++;
        const size_t blanks = (size_t)(word - text), bytes = (size_t)(stop - word);
        if (!is_first && at + blanks + bytes > COLUMNS && at > indent) {
            fprintf(out, "\n%*s%.*s", (int)indent, "", (int)bytes, word);
            at = indent + bytes;
        } else {
            fprintf(out, "%.*s", (int)(stop - text), text);
            at += blanks + bytes;
        }
        is_first = 0;
        text = stop;
    }
    fputc('\n', out);
}

/* Where the second column of a line "  name    text" begins; without one, where its text does. */
static size_t second_column(const char *line, size_t n)
{
    size_t begin = 0;
    while (begin < n && line[begin] == ' ')
        begin++;
    for (size_t i = begin; begin > 0 && i + 2 < n && i < DOC; i++) {
        if (line[i] == ' ' && line[i + 1] == ' ' && line[i + 2] != ' ')
            return i + 2;
    }
    return begin;
}

static void print_lines(FILE *out, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        wrap(out, text, n, 0, second_column(text, n));
        text += n + (text[n] == '\n');
    }
}

/* "a|b|c" is broken before the choice that does not fit. */
static size_t print_argument(FILE *out, const char *argument, size_t at)
{
    const size_t indent = at;
    while (*argument) {
        size_t n = strcspn(argument, "|");
        n += argument[n] == '|';
        if (at + n > COLUMNS && at > indent) {
            fprintf(out, "\n%*s", (int)indent, "");
            at = indent;
        }
        fprintf(out, "%.*s", (int)n, argument);
        at += n;
        argument += n;
    }
    return at;
}

static void print_option(FILE *out, const struct rw_help_option *option)
{
    size_t at = 6 + strlen("--") + strlen(option->name);
    if (isalpha(option->key < 128 ? option->key : 0))
        fprintf(out, "  -%c, --%s", option->key, option->name);
    else
        fprintf(out, "      --%s", option->name);
    if (option->arg) {
        fputc('=', out);
        at = print_argument(out, option->arg, at + 1);
    }
    if (at + GAP > DOC) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", (int)(DOC - at), "");
    wrap(out, option->doc, strlen(option->doc), DOC, DOC);
}

void rw_help_print(FILE *out, const char *command, const char *operands, const char *about,
                   struct rw_help_option *table, int n)
{
    fprintf(out, "Usage: %s [OPTION...]", command);
    if (!operands)
        fputc('\n', out);
    for (int i = 0; operands && *operands; i++) {
        const size_t length = strcspn(operands, "\n");
        const size_t at = strlen("Usage: ") + strlen(command) + strlen(" [OPTION...] ");
        if (i > 0)
            fprintf(out, "  or:  %s [OPTION...]", command);
        fputc(' ', out);
        wrap(out, operands, length, at, at);
        operands += length + (operands[length] == '\n');
    }
    print_lines(out, about);
    fputc('\n', out);
    qsort(table, (size_t)n, sizeof(*table), by_group);
    for (int i = 0; i < n; i++) {
        if (i > 0 && table[i].group != table[i - 1].group)
            fputc('\n', out);
        if (table[i].name)
            print_option(out, &table[i]);
        else
            fprintf(out, " %s\n", table[i].doc);
    }
}
