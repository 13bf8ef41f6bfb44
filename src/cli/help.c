/* Prints the text of --help. */
#include "cli/cli.h"

/* COLUMNS: width of the text. DOC: column at which the help of an option begins, at least GAP
 * blanks after its name. */
enum { COLUMNS = 79, DOC = 29, GAP = 2 };

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct rw_option *)a)->name, ((const struct rw_option *)b)->name);
}

/* Prints the first n bytes of `text`, with line breaks between words. The text begins at column
 * `at`, later lines at column `indent`. Several blanks in a row are kept, so that columns stay
 * aligned. after: a character after which a line may also break, or 0. Returns the column at the
 * end. */
static size_t wrap(FILE *out, const char *text, size_t n, size_t at, size_t indent, char after)
{
    const char *end = text + n;
    int is_first = 1;
    while (text < end) {
        const char *word = text;
        while (word < end && *word == ' ')
            word++;
        const char *stop = word;
        while (stop < end && *stop != ' ' && !(after && stop > word && stop[-1] == after))
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
    return at;
}

/* Returns where the text begins in a line that has a blank, a name, two or more blanks, and a text.
 * For other lines, returns where their first word begins. */
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

void rw_help_lines(FILE *out, const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        wrap(out, text, n, 0, second_column(text, n), 0);
        fputc('\n', out);
        text += n + (text[n] == '\n');
    }
}

int rw_option_letter(const struct rw_option *option)
{
    return strcmp(option->name, "output") == 0 || strcmp(option->name, "help") == 0 ? *option->name
                                                                                    : 0;
}

static void print_option(FILE *out, const struct rw_option *option)
{
    size_t at = 6 + strlen("--") + strlen(option->name);
    const int letter = rw_option_letter(option);
    fprintf(out, letter ? "  -%c, --%s" : "     %c--%s", letter ? letter : ' ', option->name);
    if (option->argument) {
        fputc('=', out);
        at = wrap(out, option->argument, strlen(option->argument), at + 1, at + 1, '|');
    }
    if (at + GAP > DOC) {
        fputc('\n', out);
        at = 0;
    }
    fprintf(out, "%*s", (int)(DOC - at), "");
    wrap(out, option->help, strlen(option->help), DOC, DOC, 0);
    fputc('\n', out);
}

/* Prints options by name, after a blank line and the heading, if there is one. */
static void print_options(FILE *out, struct rw_option *option, int n, const char *heading)
{
    if (n == 0)
        return;
    fprintf(out, "\n%s", heading);
    qsort(option, (size_t)n, sizeof(*option), by_name);
    for (int i = 0; i < n; i++)
        print_option(out, &option[i]);
}

void rw_help_print(const struct rw_cli *cli)
{
    const struct rw_command *command = cli->command;
    const char *operands = command->operands;
    struct rw_option *option = cli->option;
    FILE *out = stdout;
    const int at = fprintf(out, "Usage: %s %s [OPTION...]%s", rw_msg_program, command->name,
                           operands ? " " : "\n");
    for (int i = 0; operands && *operands; i++) {
        const size_t length = strcspn(operands, "\n");
        if (i > 0)
            fprintf(out, "  or:  %s %s [OPTION...] ", rw_msg_program, command->name);
        wrap(out, operands, length, (size_t)at, (size_t)at, 0);
        fputc('\n', out);
        operands += length + (operands[length] == '\n');
    }
    rw_help_lines(out, command->about);
    if (command->more)
        command->more(out, command);
    print_options(out, option, cli->n_first, command->more ? " Options:\n" : "");
    print_options(out, option + cli->n_first, cli->n_options - 1 - cli->n_first,
                  " Parameters, with range and default:\n");
    print_options(out, option + cli->n_options - 1, 1, "");
}
