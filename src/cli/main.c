/* Parses the command line into the options and parameters of one command, and runs the command. All
 * of the line is checked first. The checks read --config and look at models and data, to see
 * whether each is in its place, but write nothing. An alias is another program's name for an
 * option, parameter or value (struct rw_alias). */
#include "cli/cli.h"

#include <ctype.h>
#include <unistd.h>

struct parsing {
    struct rw_cli *cli;
    struct rw_list metrics;
    /* DATA given in two places, as `a` and `c` around the option in `train a --valid b c` */
    const char
        *elsewhere_operand; /* the first operand after the option; NULL: all DATA is in one place */
    const char *last_together;       /* the last operand before the option */
    const struct rw_option *between; /* last option after the last operand, or NULL */
    const char *between_value;
    struct rw_list *operand_list; /* receives operands from now on; NULL: they are the command's */
    int format, quiet, verbose, strict, is_json, is_help;
};

void rw_list_add(struct rw_list *list, const char *text)
{
    list->text = rw_grown(list->text, (size_t)list->n, sizeof(*list->text));
    list->text[list->n++] = text;
}

struct rw_list rw_list_of(const char *text)
{
    struct rw_list list = {NULL, 0};
    char *rest = NULL;
    for (char *one = strtok_r(rw_copy(text), ",", &rest); one; one = strtok_r(NULL, ",", &rest))
        rw_list_add(&list, one);
    return list;
}

int rw_wrong(const struct rw_cli *cli, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rw_msg_error("%s", rw_text_of(format, args));
    va_end(args);
    return rw_msg_usage(cli->command->name);
}

/* Returns the option with this name, or former name, of n bytes; NULL: unknown. */
static struct rw_option *find(const struct rw_cli *cli, const char *name, size_t n)
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

int rw_is_given(const struct rw_cli *cli, const char *option)
{
    const struct rw_option *found = find_name(cli, option);
    return found ? found->n_given : 0;
}

/* ---- the table ---- */

/* Returns 1 if `words`, such as " bins absent " or "*" for all, contains `word`. */
static int holds(const char *words, const char *word)
{
    char between[80];
    if (!words)
        return 0;
    snprintf(between, sizeof(between), " %s ", word);
    return strcmp(words, "*") == 0 || strstr(words, between) != NULL;
}

static void add(struct rw_cli *cli, struct rw_option option)
{
    cli->option = rw_grown(cli->option, (size_t)cli->n_options, sizeof(option));
    cli->option[cli->n_options++] = option;
}

static int takes(const struct rw_command *command, const struct rw_param_info *info)
{
    return holds(command->params, info->name) ||
           ((info->roles & command->roles) && !(info->roles & (RW_ROLE_DATA | RW_ROLE_VALIDATION)));
}

static void add_params(struct parsing *p)
{
    const struct rw_param_info *info;
    for (int i = 0; (info = rw_param_info(i)) != NULL; i++) {
        if (!takes(p->cli->command, info))
            continue;
        const int numeric = info->type == RW_PARAM_INT || info->type == RW_PARAM_REAL;
        const int is_list = strcmp(info->name, "metric") == 0;
        const char *help = *info->default_value ? rw_text("%s [%s%sdefault: %s]", info->help,
                                                          numeric ? info->range : "",
                                                          numeric ? "; " : "", info->default_value)
                                                : info->help;
        add(p->cli, (struct rw_option){
                        info->name, info->argument, help, is_list ? RW_OPTION_LIST : RW_OPTION_TEXT,
                        .value = is_list ? (void *)&p->metrics : rw_need(1, sizeof(const char *))});
    }
}

static void make_table(struct parsing *p)
{
    const struct rw_option of_results[] = {
        {"format", "text|json|csv|latex",
         "format of the printed results; csv prints the first table, and further tables only if "
         "they have the same columns [default: text]",
         RW_OPTION_CHOICE, .value = &p->format},
        {"json", NULL, "same as --format json: the complete result, with every digit",
         RW_OPTION_FLAG, .value = &p->is_json},
        {0}};
    const struct rw_option of_params[] = {
        {"config", "FILE", "read parameters from 'name = value' lines; options override them",
         RW_OPTION_INPUT, .value = &p->cli->config},
        {"quiet", NULL, "print no messages except warnings and errors; results are still printed",
         RW_OPTION_FLAG, .value = &p->quiet},
        {"verbose", NULL, "also print details, such as time and memory per stage", RW_OPTION_FLAG,
         .value = &p->verbose},
        {"strict", NULL, "fail if a parameter has no effect", RW_OPTION_FLAG, .value = &p->strict},
        {0}};
    const struct rw_command *command = p->cli->command;
    const int takes_params = command->params || command->roles;
    const struct rw_option *const tables[] = {command->options,
                                              command->has_results ? of_results : NULL,
                                              takes_params ? of_params : NULL};
    for (int i = 0; i < 3; i++) {
        for (const struct rw_option *option = tables[i]; option && option->name; option++)
            add(p->cli, *option);
    }
    p->cli->n_first = p->cli->n_options;
    if (takes_params)
        add_params(p);
    add(p->cli,
        (struct rw_option){"help", NULL, "print this help", RW_OPTION_FLAG, .value = &p->is_help});
}

void rw_options_list(struct rw_cli *cli)
{
    struct parsing *p = rw_need(1, sizeof(*p));
    p->cli = cli;
    make_table(p);
}

/* ---- unknown names ---- */

/* Converts a name of n bytes to lower case, with '-' for '_'. */
static const char *plain_name(const char *text, size_t n)
{
    char *name = rw_text("%.*s", (int)n, text);
    for (char *c = name; *c; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    return name;
}

/* Rankwood's equivalents of another trainer's name. */
struct elsewhere {
    const struct rw_alias *option; /* an option of this command, or NULL */
    const struct rw_alias *none;   /* the reason why Rankwood lacks it; NULL: unknown name */
    const char *other;             /* an option or a parameter of other commands */
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

/* Prints an error's second line: the note, or else a hint to the help. */
static int hint_or_usage(const struct rw_cli *cli, const char *note)
{
    if (!note)
        return rw_msg_usage(cli->command->name);
    rw_msg_hint("%s", note);
    return RW_EXIT_USAGE;
}

/* Reports an unknown option such as "--num_leaves=31", with Rankwood's name for it. Returns the
 * exit code. */
static int unknown(const struct rw_cli *cli, const char *token)
{
    const int n_token = (int)strcspn(token, "=");
    const char *start = token + strspn(token, "-");
    const char *name = plain_name(start, strcspn(start, "="));
    const struct elsewhere elsewhere = find_elsewhere(cli, name);
    const char *other = elsewhere.other ? elsewhere.other : name;
    const char **names = rw_need((size_t)cli->n_options, sizeof(*names));
    for (int i = 0; i < cli->n_options; i++)
        names[i] = cli->option[i].name;
    const char *near =
        elsewhere.option ? elsewhere.option->ours : rw_word_nearest(name, names, cli->n_options);
    const int is_others = !elsewhere.option && !elsewhere.none;
    if (is_others && rw_params_get(cli->params, other) && !find_name(cli, other))
        return rw_wrong(cli, "'%s' does not take the parameter '--%s'", cli->command->name, other);
    if (strcmp(name, "workers") == 0)
        return rw_wrong(cli, "'%s' works with one worker only", cli->command->name);
    if (elsewhere.none && !elsewhere.option)
        rw_msg_error("unknown option '%.*s', which has no counterpart", n_token, token);
    else if (near && !(is_others && elsewhere.other))
        rw_msg_error("unknown option '%.*s'; the nearest is '--%s'", n_token, token, near);
    else
        rw_msg_error("unknown option '%.*s'", n_token, token);
    return hint_or_usage(cli, elsewhere.option  ? elsewhere.option->note
                              : elsewhere.none  ? elsewhere.none->note
                              : elsewhere.other ? rw_text("other commands have '--%s'", other)
                                                : NULL);
}

/* Shows how to give `name` this value, which may be written as another trainer writes it. */
static void show_as_option(const struct rw_cli *cli, const char *name, const char *value)
{
    const struct rw_option *option = find_name(cli, name);
    const struct rw_alias *row = rw_alias_next(NULL, name, value);
    struct rw_params *probe = NULL;
    if (row && !row->ours) {
        rw_msg_hint("no counterpart of '%s': %s", value, row->note);
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

/* Checks for an operand such as "num_leaves=31", which is not a file but a parameter in another
 * program's syntax. Shows the option and returns the exit code. Returns 0 for all other
 * operands. */
static int check_bare(const struct rw_cli *cli, const char *operand)
{
    const char *equals = strchr(operand, '=');
    if (!equals || access(operand, F_OK) == 0)
        return 0;
    const char *name = plain_name(operand, (size_t)(equals - operand));
    const struct elsewhere elsewhere = find_elsewhere(cli, name);
    const struct rw_option *own = find_name(cli, name);
    const char *ours = own ? name : elsewhere.option ? elsewhere.option->ours : NULL;
    if (!ours && !elsewhere.none && !elsewhere.other && !rw_params_get(cli->params, name))
        return 0;
    rw_msg_error("cannot open '%s': no such file", operand);
    if (!ours && elsewhere.none)
        return hint_or_usage(cli, elsewhere.none->note);
    if (!ours) {
        rw_msg_hint("'%s' does not take the parameter '--%s'", cli->command->name,
                    elsewhere.other ? elsewhere.other : name);
        return RW_EXIT_USAGE;
    }
    show_as_option(cli, ours, equals + 1);
    if (elsewhere.option && elsewhere.option->note)
        rw_msg_hint("%s", elsewhere.option->note);
    return RW_EXIT_USAGE;
}

/* ---- reading ---- */

/* Stores the index of `text` among the words of an argument "a|b|c". Returns 0, or the exit code
 * after an error message. */
static int take_choice(const struct rw_cli *cli, const struct rw_option *option, const char *text)
{
    const char *before = "";
    char *rest = rw_copy(option->argument), *word, *expected = "";
    for (int i = 0; (word = strsep(&rest, "|")) != NULL;
         i++, before = rest && strchr(rest, '|') ? ", " : " or ") {
        if (strcmp(word, text) == 0) {
            *(int *)option->value = i;
            return 0;
        }
        expected = rw_text("%s%s%s", expected, i ? before : "", word);
    }
    return rw_wrong(cli, "option '--%s': expected %s, found '%.100s'", option->name, expected,
                    text);
}

static int take_real(const struct rw_cli *cli, const struct rw_option *option, const char *text)
{
    const int is_loss = option->kind == RW_OPTION_LOSS;
    char *end;
    const double number = strtod(text, &end);
    if (end == text || *end || !isfinite(number) || (is_loss && number < 0))
        return rw_wrong(cli, "option '--%s': expected a number%s, found '%.100s'", option->name,
                        is_loss ? ", 0 or more" : "", text);
    *(double *)option->value = number;
    return 0;
}

/* Stores the value of an option. text: NULL for an option without a value. */
static int take(struct parsing *p, struct rw_option *option, const char *text)
{
    struct rw_cli *cli = p->cli;
    if (!p->elsewhere_operand) {
        p->between = option;
        p->between_value = text;
    }
    if (option->n_given++ && option->kind >= RW_OPTION_ONCE)
        return rw_wrong(cli, "option '--%s' is given twice", option->name);
    const int is_split = option->kind == RW_OPTION_INPUT_SETS || option->kind == RW_OPTION_INPUTS;
    if (is_split && (*text == ',' || text[strlen(text) - 1] == ',' || strstr(text, ",,")))
        return rw_wrong(cli, "a file name is missing in '%s'", text);
    switch (option->kind) {
    case RW_OPTION_FLAG:
        *(int *)option->value = 1;
        return 0;
    case RW_OPTION_INPUTS_AFTER:
        p->operand_list = option->value;
        rw_list_add(option->value, text);
        return 0;
    case RW_OPTION_LIST:
    case RW_OPTION_INPUT_SETS:
    case RW_OPTION_INPUTS_OR_NONE:
        rw_list_add(option->value, text);
        return 0;
    case RW_OPTION_INPUTS:
        *(struct rw_list *)option->value = rw_list_of(text);
        return 0;
    case RW_OPTION_NUMBER:
        return rw_options_number(cli, option->name, text, option->range[0], option->range[1],
                                 option->value);
    case RW_OPTION_REAL:
    case RW_OPTION_LOSS:
        return take_real(cli, option, text);
    case RW_OPTION_CHOICE:
        return take_choice(cli, option, text);
    default:
        *(const char **)option->value = text;
        return 0;
    }
}

/* Parses argv[*i], which is "--name", "--name=value", or "--name" with its value in the next
 * word. */
static int take_long(struct parsing *p, char **argv, int *i)
{
    const char *token = argv[*i];
    const size_t n = strcspn(token + 2, "=");
    struct rw_option *option = find(p->cli, token + 2, n);
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

/* Parses argv[*i], which is one or more option letters. The last one may have a value, directly
 * after it or in the next word. */
static int take_letters(struct parsing *p, char **argv, int *i)
{
    const char *token = argv[*i];
    const size_t n_word = strcspn(token + 1, "=");
    if (n_word > 1 && find(p->cli, token + 1, n_word)) /* "-output" is a mistake, not "-o utput" */
        return unknown(p->cli, token);
    for (const char *c = token + 1; *c; c++) {
        struct rw_option *option = p->cli->option, *end = option + p->cli->n_options;
        while (option < end && rw_option_letter(option) != *c)
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
    const int data_from = strncmp(operands, "MODEL", 5) == 0; /* 1: the first operand is a MODEL */
    if (!p->operand_list && p->between && !p->elsewhere_operand && cli->operands.n > data_from) {
        p->elsewhere_operand = text;
        p->last_together = cli->operands.text[cli->operands.n - 1];
    }
    if (!p->elsewhere_operand)
        p->between = NULL;
    rw_list_add(p->operand_list ? p->operand_list : &p->cli->operands, text);
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

/* ---- parameters ---- */

const char *rw_joined(const struct rw_list *list)
{
    const char *all = list->text[0];
    for (int i = 1; i < list->n; i++)
        all = rw_text("%s,%s", all, list->text[i]);
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
    for (int i = p->cli->n_first; i < p->cli->n_options; i++) {
        const struct rw_option *option = &p->cli->option[i];
        if (option->n_given && option->kind == RW_OPTION_TEXT)
            RW_STEP(rw_params_set(ctx, params, option->name, *(const char **)option->value));
    }
    if (p->metrics.n > 0)
        RW_STEP(rw_params_set(ctx, params, "metric", rw_joined(&p->metrics)));
    return rw_ctx_set_threads(ctx, atoi(rw_params_get(params, "threads")));
}

/* ---- files ---- */

/* Returns "--log", or "-o". */
static const char *option_name(const struct rw_option *option)
{
    return rw_option_letter(option) ? rw_text("-%c", rw_option_letter(option))
                                    : rw_text("--%s", option->name);
}

/* A file that a command reads, and the kind of file that its place in the line requires. */
struct input {
    const char *path;
    const struct rw_option *option; /* NULL: an operand or a parameter */
    const char *replaced_by;        /* the output that may replace the file, or NULL */
    int wants_model, wants_data;
};
struct inputs {
    struct input *input; /* [n] operands first */
    int n;
};

static void add_input(struct inputs *inputs, struct input input)
{
    inputs->input = rw_grown(inputs->input, (size_t)inputs->n, sizeof(*inputs->input));
    inputs->input[inputs->n++] = input;
}

/* Returns 1 if an argument such as "MODEL|SCORES" or "DATA..." begins with the word. */
static int begins(const char *text, const char *word)
{
    return text && strncmp(text, word, strlen(word)) == 0;
}

/* Adds files, except values that are not files: `option->no_file`, or 'none'. */
static void add_files(struct inputs *inputs, const struct rw_option *option,
                      const struct rw_list *files)
{
    const char *no_file = option->kind == RW_OPTION_INPUTS_OR_NONE ? "none" : option->no_file;
    for (int i = 0; i < files->n; i++) {
        const int is_first = inputs->n == 0 || inputs->input[inputs->n - 1].option != option;
        if (!no_file || strcmp(files->text[i], no_file) != 0)
            add_input(inputs, (struct input){files->text[i], option, option->replaced_by,
                                             is_first && begins(option->argument, "MODEL"),
                                             is_first && begins(option->argument, "DATA")});
    }
}

static void add_option(struct inputs *inputs, const struct rw_option *option)
{
    const struct rw_list *sets = option->value;
    if (option->kind == RW_OPTION_INPUT)
        add_files(inputs, option, &(struct rw_list){option->value, 1});
    else if (option->kind == RW_OPTION_INPUTS || option->kind == RW_OPTION_INPUTS_AFTER ||
             option->kind == RW_OPTION_INPUTS_OR_NONE)
        add_files(inputs, option, option->value);
    for (int k = 0; option->kind == RW_OPTION_INPUT_SETS && k < sets->n; k++) {
        const struct rw_list files = rw_list_of(sets->text[k]);
        add_files(inputs, option, &files);
    }
}

static struct inputs inputs_of(const struct rw_cli *cli)
{
    const char *operands = cli->command->operands;
    const int model_first = begins(operands, "MODEL");
    const int takes_data = begins(operands, "DATA") || begins(operands, "MODEL DATA");
    struct inputs inputs = {0};
    for (int i = 0; i < cli->operands.n; i++)
        add_input(&inputs,
                  (struct input){cli->operands.text[i], NULL,
                                 i == 0 ? cli->command->replaced_by : NULL, model_first && i == 0,
                                 takes_data && !(model_first && i == 0)});
    for (int i = 0; i < cli->n_options; i++) {
        if (cli->option[i].n_given)
            add_option(&inputs, &cli->option[i]);
    }
    for (int i = 0; rw_param_info(i); i++) {
        if (rw_params_file(cli->params, i))
            add_input(&inputs, (struct input){.path = rw_params_file(cli->params, i)});
    }
    return inputs;
}

/* ---- kinds of files ---- */

/* A file of the line whose kind may not fit its place. */
struct slot {
    struct input input;
    struct rw_file_kind kind;
};
enum { MOST_SLOTS = 64 };

/* Lists the operands that are models or data, and the first file of each option for them. */
static int find_slots(const struct rw_cli *cli, struct slot slot[MOST_SLOTS])
{
    const struct inputs inputs = inputs_of(cli);
    const char *operands = cli->command->operands;
    const int n_operands =
        begins(operands, "MODEL") || begins(operands, "DATA") ? cli->operands.n : 0;
    int n = 0;
    for (int i = 0; i < inputs.n && n < MOST_SLOTS; i++) {
        slot[n].input = inputs.input[i];
        if (i >= n_operands && !slot[n].input.wants_model && !slot[n].input.wants_data)
            continue;
        rw_file_recognise(cli->ctx, slot[n].input.path, &slot[n].kind);
        n++;
    }
    return n;
}

/* Returns an option, not given yet and usable alone, that accepts the file of an operand which does
 * not fit. n_before: matching options to skip. */
static const struct rw_option *option_for(const struct rw_cli *cli, const struct slot *slot,
                                          int n_before)
{
    const char *wanted = slot->kind.is_data ? "DATA" : "MODEL";
    for (const struct rw_option *option = cli->command->options; option->name; option++) {
        if (option->kind != RW_OPTION_OUTPUT && begins(option->argument, wanted) &&
            !option->idle_without && !rw_is_given(cli, option->name) && n_before-- == 0)
            return option;
    }
    return NULL;
}

/* Prints the corrected line: the paths `one` and `other` are swapped, unless NULL, and before[k] is
 * inserted before the path of slot[k], unless NULL. before: [n_slots], or NULL. */
static void show_corrected(int argc, char **argv, const struct slot *slot, int n_slots,
                           const struct rw_option *const *before, const char *one,
                           const char *other)
{
    char *call = rw_text("%s %s", rw_msg_program, argv[0]);
    for (int i = 1; i < argc; i++) {
        const char *equals = argv[i][0] == '-' ? strchr(argv[i], '=') : NULL;
        const char *text = equals ? equals + 1 : argv[i];
        for (int k = 0; before && k < n_slots; k++) {
            if (before[k] && slot[k].input.path == text)
                call = rw_text("%s --%s", call, before[k]->name);
        }
        if (equals)
            call = rw_text("%s %.*s", call, (int)(equals - argv[i]), argv[i]);
        if (one && strcmp(text, one) == 0)
            text = other;
        else if (one && strcmp(text, other) == 0)
            text = one;
        const int is_quoted =
            text[strcspn(text, " \t\n\"\\$`*?[](){}<>|&;#!~")] && !strchr(text, '\'');
        call = rw_text(is_quoted ? "%s '%s'" : "%s %s", call, text);
    }
    rw_msg_hint("%s", call);
}

/* Finds a model in the place of data together with data in the place of a model. */
static int check_exchanged(int argc, char **argv, const struct slot *slot, int n)
{
    for (int i = 0; i < n; i++) {
        const char *data = slot[i].input.path;
        for (int k = 0; k < n && slot[i].input.wants_model && slot[i].kind.is_data; k++) {
            const char *model = slot[k].input.path;
            if (!slot[k].input.wants_data || !(slot[k].kind.is_model || slot[k].kind.from))
                continue;
            rw_msg_error("MODEL and DATA are swapped: '%s' is %s, and '%s' is %s", data,
                         slot[i].kind.what, model, slot[k].kind.what);
            if (slot[k].kind.from)
                rw_msg_hint("rankwood import '%s' --from %s -o MODEL", model, slot[k].kind.from);
            show_corrected(argc, argv, slot, n, NULL, data, model);
            return RW_EXIT_USAGE;
        }
    }
    return 0;
}

/* Checks by file contents that the models and data of the line are in their places. Returns 0, or
 * the exit code after an error, with the corrected line as a hint. argv: [argc]. */
static int check_kinds(const struct rw_cli *cli, int argc, char **argv)
{
    struct slot slot[MOST_SLOTS];
    const struct rw_option *before[MOST_SLOTS] = {NULL};
    const int n = find_slots(cli, slot);
    int n_before = 0, first = -1;
    RW_STEP(check_exchanged(argc, argv, slot, n));
    for (int i = 0; i < n && !slot[i].input.option; i++) {
        const struct rw_file_kind *kind = &slot[i].kind;
        const int wants_model = slot[i].input.wants_model, wants_data = slot[i].input.wants_data;
        const int is_first_model = kind->is_model && slot[0].input.wants_model && !wants_data &&
                                   (i == 0 || slot[0].kind.is_data);
        const int is_alone = n < 2 || slot[1].input.option; /* of the operands */
        const int fits = wants_model ? !kind->is_data || is_alone : wants_data && !kind->is_model;
        if (fits || !(kind->is_model || kind->is_data) || is_first_model)
            continue;
        before[i] = option_for(cli, &slot[i], n_before++);
        if (!before[i])
            return 0; /* the reader will report its kind */
        first = first < 0 ? i : first;
    }
    if (first < 0)
        return 0;
    rw_msg_error("'%s' is %s: pass it by '--%s'", slot[first].input.path, slot[first].kind.what,
                 before[first]->name);
    show_corrected(argc, argv, slot, n, before, NULL, NULL);
    return RW_EXIT_USAGE;
}

/* ---- written files ---- */

/* Fails if a file that is written is also read, unless the option `output` may replace that input.
 * output: the option that `path` belongs to (struct output). If it is NULL, `path` is derived from
 * an option in another way, and may replace no input. */
static int check_written(const struct rw_cli *cli, const struct inputs *inputs, const char *path,
                         const char *output)
{
    for (int i = 0; i < inputs->n; i++) {
        const struct input *input = &inputs->input[i];
        const int is_replaced =
            output && input->replaced_by && strcmp(input->replaced_by, output) == 0;
        if (!is_replaced && rw_same_file(path, input->path))
            return rw_wrong(cli, "'%s' is an input, and cannot be the output too", path);
    }
    return 0;
}

int rw_options_check_written(const struct rw_cli *cli, const char *path)
{
    const struct inputs inputs = inputs_of(cli);
    return check_written(cli, &inputs, path, NULL);
}

/* A file that an option writes: its value or, with has_suffix, the value followed by
 * option->also. */
struct output {
    const char *path;
    const struct rw_option *option;
    int has_suffix;
};
enum { MOST_OUTPUTS = 16 };

static int find_outputs(const struct rw_cli *cli, struct output output[MOST_OUTPUTS])
{
    int n = 0;
    for (int i = 0; i < cli->n_options && n + 2 <= MOST_OUTPUTS; i++) {
        const struct rw_option *option = &cli->option[i];
        if (option->kind != RW_OPTION_OUTPUT || !option->n_given)
            continue;
        const char *path = *(const char **)option->value;
        output[n++] = (struct output){path, option, 0};
        if (option->also && strcmp(path, "-") != 0)
            output[n++] = (struct output){rw_text("%s%s", path, option->also), option, 1};
    }
    return n;
}

/* Fails if two options write to one file, or both to standard output, where results would be
 * mixed. */
static int check_pair(const struct rw_cli *cli, const struct output *a, const struct output *b)
{
    if (a->option == b->option)
        return 0;
    const char *names = rw_text("'%s' and '%s'", option_name(a->option), option_name(b->option));
    const char *with_suffix = a->has_suffix ? a->path : b->has_suffix ? b->path : NULL;
    if (strcmp(a->path, "-") == 0 && strcmp(b->path, "-") == 0)
        return rw_wrong(cli, "%s both write to standard output", names);
    if (!rw_same_file(a->path, b->path))
        return 0;
    return rw_wrong(cli, "%s name the same file%s%s", names, with_suffix ? ": " : "",
                    with_suffix ? with_suffix : "");
}

static int check_files(const struct rw_cli *cli)
{
    const struct inputs inputs = inputs_of(cli);
    struct output output[MOST_OUTPUTS];
    const int n = find_outputs(cli, output);
    int n_stdin = 0;
    for (int i = 0; i < inputs.n; i++)
        n_stdin += strcmp(inputs.input[i].path, "-") == 0;
    if (n_stdin > 1)
        return rw_wrong(cli, "standard input ('-') can be read only once");
    for (int i = 0; i < n; i++) {
        RW_STEP(check_written(cli, &inputs, output[i].path, output[i].option->name));
        for (int k = 0; k < i; k++)
            RW_STEP(check_pair(cli, &output[k], &output[i]));
    }
    for (int i = 0; i < n && rw_workers_leads(cli); i++) { /* only this worker writes */
        if (!output[i].has_suffix)
            RW_STEP(rw_out_file_open(cli->ctx, NULL, output[i].path));
    }
    return 0;
}

/* ---- the whole line ---- */

/* Fails if DATA is in two places: operands after an option may be meant as more of its files. */
static int check_one_place(const struct parsing *p)
{
    if (!p->elsewhere_operand)
        return 0;
    rw_msg_error("'%s': DATA is given twice, before and after '--%s'", p->elsewhere_operand,
                 p->between->name);
    if (p->between->kind == RW_OPTION_INPUT_SETS || p->between->kind == RW_OPTION_INPUTS)
        rw_msg_hint("pass two files of '--%s' as --%s %s,%s", p->between->name, p->between->name,
                    p->between_value, p->elsewhere_operand);
    rw_msg_hint("pass more of DATA directly after '%s'", p->last_together);
    return RW_EXIT_USAGE;
}

/* Checks the number of operands against command->operands, such as "MODEL DATA... -o MODEL": one
 * for each word before the first option, or more if the last of these words ends with "...". If
 * command->operands has several lines, all operands are optional. */
static int check_operands(const struct rw_cli *cli)
{
    const struct rw_command *command = cli->command;
    const char *line = command->operands ? command->operands : "";
    const int has_others = strchr(line, '\n') != NULL, n = cli->operands.n;
    int n_words = 0, is_open = 0;
    for (; isupper((unsigned char)*line); line += strspn(line, " ")) {
        const size_t length = strcspn(line, " ");
        n_words++;
        is_open = line[length - 1] == '.';
        line += length;
    }
    if (n < n_words && !has_others)
        return rw_wrong(cli, "'%s' needs %s", command->name, command->operands);
    if (n > n_words && !is_open)
        return rw_wrong(cli, "'%s' does not take '%s'", command->name, cli->operands.text[n_words]);
    return 0;
}

static int check_line(struct parsing *p, int argc, char **argv)
{
    const struct rw_cli *cli = p->cli;
    RW_STEP(check_kinds(cli, argc, argv));
    RW_STEP(check_operands(cli));
    for (int i = 0; i < cli->operands.n; i++) {
        if (!*cli->operands.text[i])
            return rw_wrong(cli, "a file name is empty");
        RW_STEP(check_bare(cli, cli->operands.text[i]));
    }
    RW_STEP(check_one_place(p));
    if (p->quiet && p->verbose)
        return rw_wrong(cli, "'--verbose' has no effect with '--quiet'");
    if (p->is_json && rw_is_given(cli, "format"))
        return rw_wrong(cli,
                        "'--format' and '--json' both choose the output format: pass one of them");
    p->cli->format = p->is_json ? RW_FORMAT_JSON : (enum rw_format)p->format;
    for (int i = 0; i < cli->n_options; i++) {
        const struct rw_option *option = &cli->option[i];
        if (option->needed && !option->n_given)
            return rw_wrong(cli, "'%s' needs %s %s", cli->command->name, option_name(option),
                            option->argument);
    }
    return 0;
}

/* Fails on options without an effect, because of another option, or because a required one is
 * missing. */
static int check_idle(const struct rw_cli *cli)
{
    for (int i = 0; i < cli->n_options; i++) {
        const struct rw_option *option = &cli->option[i];
        const char *needed = option->idle_without;
        if (!option->n_given)
            continue;
        for (int k = 0; k < cli->n_options; k++) {
            const char *other = cli->option[k].name;
            if (cli->option[k].n_given && holds(option->idle_with, other))
                return rw_wrong(cli, "'--%s' has no effect with '--%s'", option->name, other);
            if (cli->option[k].n_given && holds(option->idle_without, other))
                needed = NULL;
        }
        if (needed)
            return rw_wrong(cli, "'--%s' has no effect without '--%.*s'", option->name,
                            (int)strcspn(needed + 1, " "), needed + 1);
    }
    return 0;
}

static int check(struct rw_cli *cli)
{
    const int of_docs = *rw_params_get(cli->params, "weights") != 0;
    const int of_queries = *rw_params_get(cli->params, "query-weights") != 0;
    const char *params = cli->command->params;
    if (of_docs && of_queries)
        return rw_wrong(
            cli, "'--weights' and '--query-weights' both set weights of DATA: pass one of them");
    if ((of_docs || of_queries) && *rw_params_get(cli->params, "weight-column"))
        return rw_wrong(
            cli,
            "'--weight-column' and a file of weights both set weights of DATA: pass one of them");
    RW_STEP(check_idle(cli));
    if (cli->command->check)
        RW_STEP(cli->command->check(cli));
    RW_STEP(rw_device_check(cli->ctx, rw_params_get(cli->params, "device")));
    const int trains = params && strcmp(params, "*") == 0;
    if (trains && !rw_is_given(cli, "refit")) /* the model's parameters are not known yet */
        RW_STEP(rw_params_check(cli->ctx, cli->params, RW_PARAMS_TRAIN));
    else if (!trains && (cli->command->roles & RW_ROLE_EVALUATION))
        RW_STEP(rw_params_check(cli->ctx, cli->params, RW_PARAMS_MEASURE));
    return check_files(cli);
}

/* Parses and checks the command line, and sets the parameters. Writes no file. */
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
    RW_STEP(rw_workers_sync(p->cli, prepare(p, argc, argv)));
    if (!p->is_help)
        return p->cli->command->run(p->cli);
    if (rw_workers_leads(p->cli))
        rw_help_print(p->cli);
    return 0;
}

/* Returns the index of the first word that names a subcommand, else of the first operand, else 0.
 * *part: index of the subcommand in `parts`, or of the NULL at its end. */
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
    struct rw_cli *cli = rw_need(1, sizeof(*cli));
    rw_load_stage_end("");
    struct parsing p = {.cli = cli};
    cli->command = command;
    make_table(&p);
    if (rw_ctx_new(&cli->ctx) < 0 || rw_params_new(cli->ctx, &cli->params) < 0)
        rw_no_memory();
    rw_ctx_set_log(cli->ctx, rw_msg_log, NULL);
    int code = rw_workers_join(cli);
    code = code ? code : run(&p, argc, argv);
    if (code < 0)
        code = rw_msg_failed(cli->ctx, code, command->name);
    rw_workers_leave(cli, code);
    rw_out_file_abandon(&cli->out);
    rw_out_file_abandon(NULL);
    rw_scorer_free(cli->scorer);
    rw_binned_free(cli->binned); /* and the device's memory that is cached for it */
    rw_ctx_free(cli->ctx);
    return code;
}

int rw_options_number(const struct rw_cli *cli, const char *option, const char *text,
                      unsigned long long least, unsigned long long most, unsigned long long *value)
{
    char *end;
    errno = 0;
    const unsigned long long number = strtoull(text, &end, 10);
    if (!isdigit((unsigned char)*text) || *end || errno || number < least || number > most)
        return rw_wrong(cli, "option '--%s': expected a whole number, %llu to %llu, found '%.100s'",
                        option, least, most, text);
    *value = number;
    return 0;
}

/* Allocates memory for JSON. The JSON library continues after a failed allocation, so this
 * exits. */
static void *json_memory(size_t n)
{
    void *made = malloc(n);
    if (!made)
        rw_no_memory();
    return made;
}

int main(int argc, char **argv)
{
    int code = RW_EXIT_OK;
    rw_output_open_standard();
    json_set_alloc_funcs(json_memory, free);
    rw_output_catch_signals();
    const struct rw_command *command = rw_command_find(&argc, &argv, &code);
    return rw_output_end(command ? rw_command_run(command, argc, argv) : code);
}
