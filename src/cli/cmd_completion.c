/* Completion for bash, zsh and fish. `rankwood completion SHELL` prints a short script for the
 * shell. When the user presses the Tab key, the script calls `rankwood --complete WORD...` with the
 * words of the line up to the cursor. This prints the possible last words, each with a tab and a
 * description, from the tables that --help prints. Where it prints none, the script completes file
 * names. */
#include "cli/cli.h"

#include <ctype.h>

/* ---- candidates ---- */

/* Prints a candidate if it begins with `begin`. help: printed up to its first semicolon. */
static void put(const char *before, const char *word, size_t n, const char *help, const char *begin)
{
    const char *all = rw_text("%s%.*s", before, (int)n, word);
    if (strncmp(all, begin, strlen(begin)) == 0)
        printf("%s\t%.*s\n", all, (int)strcspn(help, ";"), help);
}

/* Prints the names of commands, from character `skipped` on. */
static void put_commands(const struct rw_command *const *commands, size_t skipped,
                         const char *begin)
{
    for (int i = 0; commands[i]; i++) {
        const char *name = commands[i]->name + skipped;
        put("", name, strlen(name), commands[i]->brief ? commands[i]->brief : "", begin);
    }
}

/* Prints the fixed words of an argument, such as "auto" of "N|auto". before: "--name=", or "". */
static void put_values(const struct rw_option *option, const char *before, const char *begin)
{
    struct rw_model_format_info format;
    const int is_format = strcmp(option->argument, "FORMAT") == 0;
    for (int i = 0; is_format && rw_model_format_at(i, &format); i++)
        put(before, format.name, strlen(format.name), "", begin);
    for (const char *word = option->argument; *word; word += *word == '|') {
        const size_t n = strcspn(word, "|");
        int is_fixed = n > 0;
        for (size_t i = 0; i < n; i++)
            is_fixed &= !isupper((unsigned char)word[i]) && !strchr(".,", word[i]);
        if (is_fixed)
            put(before, word, n, "", begin);
        word += n;
    }
}

static const struct rw_command *named(const struct rw_command *const *commands, size_t skipped,
                                      const char *name)
{
    int i = 0;
    while (commands[i] && strcmp(commands[i]->name + skipped, name) != 0)
        i++;
    return commands[i];
}

/* Prints options, or values of the option `before` (NULL: the first operand). */
static void put_options(const struct rw_command *command, const char *before, const char *last)
{
    struct rw_cli cli = {.command = command};
    rw_options_list(&cli);
    const size_t n_name = strcspn(last, "=");
    for (int i = 0; i < cli.n_options; i++) {
        const struct rw_option *option = &cli.option[i];
        const char *name = rw_text("--%s", option->name);
        const char short_name[] = {'-', (char)rw_option_letter(option), 0};
        if (before && option->argument &&
            (strcmp(before, name) == 0 || (short_name[1] && strcmp(before, short_name) == 0))) {
            put_values(option, "", last);
            return;
        }
        if (last[n_name] && option->argument && strncmp(last, name, n_name) == 0 && !name[n_name])
            put_values(option, rw_text("%s=", name), last);
    }
    for (int i = 0; last[0] == '-' && i < cli.n_options; i++)
        put("--", cli.option[i].name, strlen(cli.option[i].name), cli.option[i].help, last);
}

void rw_complete(int n, char **word)
{
    static char empty[] = "";
    const struct rw_command *command;
    size_t skipped = 0;
    if (n > 1 && strcmp(word[n - 1], "=") == 0) /* bash passes --name=value as three words */
        word[n - 1] = empty;
    else if (n > 2 && strcmp(word[n - 2], "=") == 0)
        word[n - 2] = word[n - 1], n--;
    if (n > 1 && strcmp(word[0], "help") == 0)
        word++, n--;
    if (n < 2) {
        put_commands(rw_commands, 0, n ? word[0] : "");
        return;
    }
    command = named(rw_commands, 0, word[0]);
    while (command && command->parts && n > 1) {
        skipped = strlen(command->name) + 1;
        word++, n--;
        if (n == 1)
            put_commands(command->parts, skipped, word[0]);
        command = n > 1 ? named(command->parts, skipped, word[0]) : NULL;
    }
    if (command && n > 1)
        put_options(command, n > 2 ? word[n - 2] : NULL, word[n - 1]);
}

/* ---- scripts ---- */

/* The files of the folder completion. */
extern const char rw_completion_bash[], rw_completion_zsh[], rw_completion_fish[];

static int run(struct rw_cli *cli)
{
    const char *shell = strchr(cli->command->name, ' ') + 1;
    fputs(*shell == 'b'   ? rw_completion_bash
          : *shell == 'z' ? rw_completion_zsh
                          : rw_completion_fish,
          stdout);
    return 0;
}

#define SHELL(shell, how)                                                                 \
    static const struct rw_command of_##shell = {                                         \
        .name = "completion " #shell,                                                     \
        .brief = "print the script for " #shell,                                          \
        .about = "Prints a script that completes commands, options and values in " #shell \
                 ". '" how " loads it.",                                                  \
        .run = run,                                                                       \
    };
SHELL(bash, "source <(rankwood completion bash)' in ~/.bashrc")
SHELL(zsh, "source <(rankwood completion zsh)' in ~/.zshrc, after 'compinit',")
SHELL(fish, "rankwood completion fish | source' in ~/.config/fish/config.fish")

static const struct rw_command *const parts[] = {&of_bash, &of_zsh, &of_fish, NULL};

const struct rw_command rw_cmd_completion = {
    .name = "completion",
    .brief = "print a script that completes commands and options in a shell",
    .operands = "bash, zsh or fish",
    .parts = parts,
};
