#include "cli/options.h"

#include <argp.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli/advice.h"
#include "cli/output.h"
#include "cli/talk.h"

/* Keys of the table: letters, then the command's own options, then parameters. */
enum { KEY_OWN = 0x1000, KEY_PARAM = 0x2000, KEY_CONFIG = 0x3000, KEY_QUIET, KEY_VERBOSE };

/* All that argp prints for --help but its exit. */
#define HELP_PARTS (ARGP_HELP_SHORT_USAGE | ARGP_HELP_PRE_DOC | ARGP_HELP_LONG | ARGP_HELP_POST_DOC)

struct parsing {
    const struct rw_usage *usage;
    struct rw_said *said;
    struct argp_option *table; /* [n + 1] the command's own options first; owned */
    int n, n_own;
    struct rw_known_options known; /* the same, for messages */
    char **help; /* [n_help] the parameters' help with ranges; owned, like its texts */
    int n_help;
    const char **value; /* [parameters] as given; NULL: not given; owned */
    struct rw_list metrics;
    const char *config;
    int quiet, verbose, help_asked;
};

static int out_of_memory(void)
{
    rw_talk_out_of_memory();
    return RW_EXIT_FAILURE;
}

static int list_add(struct rw_list *list, const char *text)
{
    const char **grown = realloc(list->text, ((size_t)list->n + 1) * sizeof(*grown));
    if (!grown)
        return -1;
    list->text = grown;
    list->text[list->n++] = text;
    return 0;
}

int rw_options_wrong(const struct rw_usage *usage, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    rw_talk_error("%s", text);
    return rw_talk_usage(usage->command);
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
    p->table[p->n++] = (struct argp_option){
        .name = name, .key = key, .arg = argument, .doc = help, .group = group};
}

static int add_params(struct parsing *p, int n_params)
{
    int first = 1;
    for (int i = 0; i < n_params; i++) {
        const struct rw_param_info *info = rw_param_info(i);
        if (!holds(p->usage->params, info->name))
            continue;
        const int numeric = info->type == RW_PARAM_INT || info->type == RW_PARAM_REAL;
        char *help = NULL;
        if (asprintf(&help, "%s [%s%s%s%s]", info->help, numeric ? info->range : "",
                     numeric ? "; " : "", *info->default_value ? "default " : "default: none",
                     info->default_value) < 0)
            return -1;
        p->help[p->n_help++] = help;
        if (first)
            p->table[p->n++] =
                (struct argp_option){.doc = "Parameters, with range and default:", .group = 2};
        first = 0;
        add(p, info->name, KEY_PARAM + i, info->argument, help, 2);
    }
    return 0;
}

static int make_table(struct parsing *p)
{
    int n_params = 0;
    while (p->usage->options[p->n_own].name)
        p->n_own++;
    while (rw_param_info(n_params))
        n_params++;
    p->table = calloc((size_t)(p->n_own + n_params) + 8, sizeof(*p->table));
    p->help = calloc((size_t)n_params + 1, sizeof(*p->help));
    p->value = calloc((size_t)n_params + 1, sizeof(*p->value));
    if (!p->table || !p->help || !p->value)
        return -1;
    for (int i = 0; i < p->n_own; i++) {
        const struct rw_option *option = &p->usage->options[i];
        add(p, option->name, option->letter ? option->letter : KEY_OWN + i, option->argument,
            option->help, 1);
    }
    if (p->usage->params) {
        add(p, "config", KEY_CONFIG, "FILE", "read parameters from 'name = value' lines", 1);
        add(p, "quiet", KEY_QUIET, NULL, "say nothing but warnings and errors", 1);
        add(p, "verbose", KEY_VERBOSE, NULL, "say more", 1);
        if (add_params(p, n_params) < 0)
            return -1;
    }
    add(p, "help", 'h', NULL, "print this", -1);
    return 0;
}

static const struct argp_option *find_option(const struct parsing *p, const char *name, size_t n)
{
    return rw_advice_find(&p->known, name, n);
}

static const struct argp_option *find_letter(const struct parsing *p, int letter)
{
    for (int i = 0; i < p->n; i++) {
        if (p->table[i].key == letter && letter)
            return &p->table[i];
    }
    return NULL;
}

/* ------------------------------------------------------------------ unknown names */

const char *rw_options_nearest(const char *mistaken, const char *const *words, int n_words)
{
    char plain[64];
    size_t length = 0;
    for (; mistaken[length] && length < sizeof(plain) - 1; length++)
        plain[length] = (char)tolower((unsigned char)mistaken[length]);
    plain[length] = 0;
    size_t best = length < 5 ? 1 : (length + 1) / 3;
    const char *nearest = NULL;
    for (int i = 0; i < n_words; i++) {
        const size_t shared = length < strlen(words[i]) ? length : strlen(words[i]);
        size_t d = rw_word_distance(plain, words[i]);
        if (shared >= 3 && d > 1 && strncmp(plain, words[i], shared) == 0)
            d = 1; /* one begins with the other: "evaluate" */
        if (d < best || (d == best && !nearest)) {
            best = d;
            nearest = words[i];
        }
    }
    return nearest;
}

/* ------------------------------------------------------------------ reading */

/* Each of these: -1, or the exit code. */
static int take_once(const struct parsing *p, const char *name, const char **to, const char *text)
{
    if (*to)
        return rw_options_wrong(p->usage, "option '--%s' is given twice", name);
    *to = text;
    return -1;
}

static int take_one_more(struct rw_list *list, const char *text)
{
    return list_add(list, text) < 0 ? out_of_memory() : -1;
}

static int take_own(const struct parsing *p, const struct rw_option *option, const char *text)
{
    if (option->kind == RW_OPTION_LIST)
        return take_one_more(option->value, text);
    if (option->kind == RW_OPTION_TEXT)
        return take_once(p, option->name, option->value, text);
    *(int *)option->value = 1;
    return -1;
}

/* text: NULL for an option without a value. */
static int take(struct parsing *p, const struct argp_option *option, const char *text)
{
    if (option - p->table < p->n_own)
        return take_own(p, &p->usage->options[option - p->table], text);
    if (option->key == KEY_CONFIG)
        return take_once(p, option->name, &p->config, text);
    if (option->arg)
        return strcmp(option->name, "metric") == 0
                   ? take_one_more(&p->metrics, text)
                   : take_once(p, option->name, &p->value[option->key - KEY_PARAM], text);
    *(option->key == KEY_QUIET     ? &p->quiet
      : option->key == KEY_VERBOSE ? &p->verbose
                                   : &p->help_asked) = 1;
    return -1;
}

/* argv[*i] is "--name", "--name=value" or "--name" with its value behind it. */
static int take_long(struct parsing *p, char **argv, int *i)
{
    const char *token = argv[*i];
    const size_t n = strcspn(token + 2, "=");
    const struct argp_option *option = find_option(p, token + 2, n);
    if (!option)
        return rw_advice_unknown(&p->known, token);
    const char *value = token[2 + n] ? token + 3 + n : NULL;
    if (!option->arg && value)
        return rw_options_wrong(p->usage, "option '--%s' takes no value", option->name);
    if (option->arg && !value)
        value = argv[++*i];
    if (option->arg && (!value || !*value))
        return rw_options_wrong(p->usage, "option '--%s' needs a value: %s", option->name,
                                option->arg);
    return take(p, option, value);
}

/* argv[*i] is letters, the last with its value in it or behind it. */
static int take_letters(struct parsing *p, char **argv, int *i)
{
    const char *token = argv[*i];
    const size_t n_word = strcspn(token + 1, "=");
    if (n_word > 1 && find_option(p, token + 1, n_word)) /* "-output", which is no "-o utput" */
        return rw_advice_unknown(&p->known, token);
    for (const char *c = token + 1; *c; c++) {
        const struct argp_option *option = find_letter(p, *c);
        const char *value = NULL;
        if (!option)
            return rw_advice_unknown(&p->known, token);
        if (option->arg) {
            value = c[1] ? c + 1 : argv[++*i];
            if (!value || !*value)
                return rw_options_wrong(p->usage, "option '-%c' needs a value: %s", *c,
                                        option->arg);
            if (c[1] == '=')
                return rw_options_wrong(p->usage, "'%s' is written '-%c %s' or '--%s%s'", token, *c,
                                        c + 2, option->name, c + 1);
        }
        const int result = take(p, option, value);
        if (result >= 0 || value)
            return result;
    }
    return -1;
}

/* argp lays out the help; it does not read the line: it would take a beginning of a name for the
 * whole, and has words of its own for errors. */
static int read_line(struct parsing *p, int argc, char **argv)
{
    int result = -1, only_operands = 0;
    for (int i = 1; i < argc && result < 0; i++) {
        if (only_operands || argv[i][0] != '-' || !argv[i][1])
            result = take_one_more(&p->said->operands, argv[i]);
        else if (strcmp(argv[i], "--") == 0)
            only_operands = 1;
        else
            result = argv[i][1] == '-' ? take_long(p, argv, &i) : take_letters(p, argv, &i);
    }
    return result;
}

/* argp's note on short options with long twins says nothing new. */
static char *without_note(int key, const char *text, void *input)
{
    (void)input;
    return key == ARGP_KEY_HELP_DUP_ARGS_NOTE ? NULL : (char *)(uintptr_t)text;
}

static error_t print_parts(int key, char *text, struct argp_state *state)
{
    (void)text;
    if (key != ARGP_KEY_END)
        return ARGP_ERR_UNKNOWN;
    argp_state_help(state, stdout, HELP_PARTS);
    return 0;
}

/* argp leaves out its note only while it parses: here an empty line. */
static int print_help(const struct parsing *p)
{
    char name[64], *line[] = {name, NULL};
    const struct argp argp = {.options = p->table,
                              .parser = print_parts,
                              .args_doc = p->usage->operands,
                              .doc = p->usage->about,
                              .help_filter = without_note};
    snprintf(name, sizeof(name), "%s %s", rw_talk_program, p->usage->command);
    return argp_parse(&argp, 1, line, ARGP_NO_EXIT | ARGP_NO_HELP, NULL, NULL) == 0
               ? RW_EXIT_OK
               : out_of_memory();
}

/* ------------------------------------------------------------------ parameters */

static char *joined(const struct rw_list *list)
{
    size_t size = 1;
    for (int i = 0; i < list->n; i++)
        size += strlen(list->text[i]) + 1;
    char *all = calloc(size, 1);
    for (int i = 0; all && i < list->n; i++) {
        if (i > 0)
            strcat(all, ",");
        strcat(all, list->text[i]);
    }
    return all;
}

static int set_params(struct parsing *p)
{
    struct rw_ctx *ctx = p->said->ctx;
    struct rw_params *params = p->said->params;
    int status = p->config ? rw_params_read(ctx, params, p->config) : RW_OK;
    if (status < 0)
        return rw_talk_failed(ctx, status, p->usage->command);
    for (int i = 0; rw_param_info(i) && status >= 0; i++) {
        if (p->value[i])
            status = rw_params_set(ctx, params, rw_param_info(i)->name, p->value[i]);
    }
    if (p->metrics.n > 0 && status >= 0) {
        char *all = joined(&p->metrics);
        if (!all)
            return out_of_memory();
        status = rw_params_set(ctx, params, "metric", all);
        free(all);
    }
    if (status >= 0)
        status = rw_ctx_set_threads(ctx, atoi(rw_params_get(params, "threads")));
    return status < 0 ? rw_talk_failed(ctx, status, p->usage->command) : -1;
}

static int check_operands(const struct parsing *p)
{
    const int n = p->said->operands.n;
    if (n < p->usage->least)
        return rw_options_wrong(p->usage, "'%s' needs %s", p->usage->command, p->usage->operands);
    if (p->usage->most >= 0 && n > p->usage->most)
        return rw_options_wrong(p->usage, "'%s' does not take '%s'", p->usage->command,
                                p->said->operands.text[p->usage->most]);
    for (int i = 0; i < n; i++) {
        if (!*p->said->operands.text[i])
            return rw_options_wrong(p->usage, "the name of a file is empty");
        const int bare = rw_advice_bare(&p->known, p->said->operands.text[i]);
        if (bare >= 0)
            return bare;
    }
    return p->quiet && p->verbose
               ? rw_options_wrong(p->usage, "'--verbose' has no effect with '--quiet'")
               : -1;
}

static int parse(struct parsing *p, int argc, char **argv)
{
    p->known = (struct rw_known_options){p->usage, p->table, p->n, p->said->ctx};
    int result = read_line(p, argc, argv);
    if (result >= 0)
        return result;
    if (p->help_asked)
        return print_help(p);
    result = check_operands(p);
    if (result >= 0)
        return result;
    rw_talk_set(p->quiet, p->verbose);
    return set_params(p);
}

int rw_options_parse(const struct rw_usage *usage, int argc, char **argv, struct rw_said *said)
{
    struct parsing p = {.usage = usage, .said = said};
    int result;
    memset(said, 0, sizeof(*said));
    if (rw_ctx_new(&said->ctx) < 0 || make_table(&p) < 0 ||
        rw_params_new(said->ctx, &said->params) < 0) {
        result = out_of_memory();
    } else {
        rw_ctx_set_log(said->ctx, rw_talk_log, NULL);
        result = parse(&p, argc, argv);
    }
    for (int i = 0; i < p.n_help; i++)
        free(p.help[i]);
    free(p.help);
    free(p.table);
    free(p.value);
    free(p.metrics.text);
    return result;
}

void rw_options_release(const struct rw_usage *usage, struct rw_said *said)
{
    for (int i = 0; usage->options[i].name; i++) {
        if (usage->options[i].kind == RW_OPTION_LIST)
            free(((struct rw_list *)usage->options[i].value)->text);
    }
    free(said->operands.text);
    rw_params_free(said->params);
    rw_ctx_free(said->ctx);
}

/* ------------------------------------------------------------------ values of options */

int rw_options_number(const struct rw_usage *usage, const char *option, const char *text,
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
        return rw_options_wrong(usage,
                                "option '%s': expected a whole number, %llu to %llu, found "
                                "'%.100s'",
                                option, least, most, text);
    *value = number;
    return 0;
}

int rw_options_check_files(const struct rw_usage *usage, const struct rw_list *inputs, int n_lists,
                           const char *output)
{
    int n_stdin = 0;
    for (int i = 0; i < n_lists; i++) {
        for (int k = 0; k < inputs[i].n; k++) {
            const char *input = inputs[i].text[k];
            if (input && strcmp(input, "-") == 0 && n_stdin++ > 0)
                return rw_options_wrong(usage, "standard input ('-') can be read only once");
            if (input && output && rw_output_same(output, input))
                return rw_options_wrong(usage, "'%s' is read, so it cannot be written", output);
        }
    }
    return 0;
}

int rw_options_split(const struct rw_usage *usage, const char *files, char **copy,
                     struct rw_list *list)
{
    *copy = strdup(files);
    if (!*copy)
        return out_of_memory();
    for (char *at = *copy; at;) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = 0;
        if (!*at)
            return rw_options_wrong(usage, "a file without a name in '%s'", files);
        if (list_add(list, at) < 0)
            return out_of_memory();
        at = comma ? comma + 1 : NULL;
    }
    return 0;
}
