#include "cli/help.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
