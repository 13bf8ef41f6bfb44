/* Names of options, parameters and values in other programs, with the Rankwood names or the reason
 * why there is no counterpart. Hints in messages use this table, aliases.tsv. */
#include <string.h>

#include "base/ctx.h"

/* To add a word, add a row to aliases.tsv, or add the word to a row. Words are in lower case with
 * '-' in place of '_' and blanks between them. A word may be in several rows if different commands
 * accept the targets. Of the rows of a word, one that only gives the reason for a missing
 * counterpart comes last. "@lxc" marks the names after it, up to the next '@', as parameters of
 * LightGBM 4.7 including aliases (l), XGBoost 3.2 (x) or CatBoost 1.2 (c). "@" alone marks names of
 * other programs. tests/unit/test_aliases.c checks the whole table. */
#define ROW(parameter, ours, words, note) {parameter, " " words " ", ours, note},
static const struct rw_alias aliases[] = {
#include <aliases_rows.h> /* made from aliases.tsv by the build */
};
enum { N_ALIASES = sizeof(aliases) / sizeof(aliases[0]) };

/* Returns 1 if the row contains `word`, and is about values of `parameter`, or about names if
 * `parameter` is NULL. `word` has a blank on both sides. */
static int has_word(const struct rw_alias *row, const char *parameter, const char *word)
{
    const int is_kind =
        parameter ? row->parameter && strcmp(row->parameter, parameter) == 0 : !row->parameter;
    return is_kind && strstr(row->names, word);
}

const struct rw_alias *rw_alias_next(const struct rw_alias *row, const char *parameter,
                                     const char *word)
{
    char between[80] = " ";
    if (word) {
        word += strncmp(word, "--", 2) == 0 ? 2 : 0;
        const size_t n = rw_word_plain(word, between + 1, sizeof(between) - 2);
        if (n == 0 || word[n] || *word == '@' || strpbrk(between + 1, " \t\n\v\f\r"))
            return NULL;
        strcpy(between + 1 + n, " ");
    }
    for (row = row ? row + 1 : aliases; row < aliases + N_ALIASES; row++) {
        if (!word || has_word(row, parameter, between))
            return row;
    }
    return NULL;
}
