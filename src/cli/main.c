/* rankwood <command> [options]: the table of commands. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/talk.h"

static const struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *about;
} commands[] = {
    {"synth", rw_cmd_synth, "make ranking data"},
    {"bin", rw_cmd_bin, "write data as a cache that loads at once"},
    {"train", rw_cmd_train, "train a model"},
    {"predict", rw_cmd_predict, "score documents with a model"},
    {"eval", rw_cmd_eval, "measure a model, or a file of scores"},
    {"compare", rw_cmd_compare, "is one model better than another, or is it chance"},
    {"cv", rw_cmd_cv, "train and measure by folds of the queries"},
    {"check", rw_cmd_check, "what is wrong with the data"},
    {"info", rw_cmd_info, "what is in a model: trees, parameters, features"},
    {"show", rw_cmd_show, "print a tree"},
    {"explain", rw_cmd_explain, "which features matter, and why a document is above another"},
    {"report", rw_cmd_report, "learning curves, metrics by query, features, trees: a web page"},
    {"export", rw_cmd_export, "write a model in another program's format, and verify it"},
    {"import", rw_cmd_import, "take in a model that another program trained"},
    {"bench", rw_cmd_bench, "measure loading, training and scores"},
};
enum { N_COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static void help(FILE *out)
{
    fputs("Rankwood trains gradient-boosted trees that rank (LambdaMART) and measures them.\n"
          "\n"
          "usage: rankwood COMMAND [OPTION...]\n"
          "\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-9s%s\n", commands[i].name, commands[i].about);
    fputs("\n"
          "  rankwood COMMAND --help lists what a command takes; rankwood --version tells which\n"
          "  one this is. Data are files of LETOR text ('label qid:N i:v ...'), plain or gzip, or\n"
          "  caches made by 'bin'; '-' is standard input. Results go to standard output, all\n"
          "  talk to standard error. The exit code is 0; 1 for a failure; 2 for wrong usage; 3 if\n"
          "  memory, a disk or a GPU failed and trying again may help; 130 or 143 after a signal.\n"
          "\n"
          "  For example:\n"
          "    rankwood train train.txt --valid vali.txt -o model.txt\n"
          "    rankwood eval test.txt --model model.txt\n"
          "    rankwood predict model.txt test.txt -o scores.txt\n",
          out);
}

static const struct command *find(const char *name)
{
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp(commands[i].name, name) == 0)
            return &commands[i];
    }
    return NULL;
}

static int unknown(const char *name)
{
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = commands[i].name;
    const char *near = name[0] == '-' ? NULL : rw_options_nearest(name, names, N_COMMANDS);
    if (near)
        rw_talk_error("unknown command '%s'; the nearest is '%s'", name, near);
    else
        rw_talk_error("unknown %s '%s'", name[0] == '-' ? "option" : "command", name);
    return rw_talk_usage(NULL);
}

static int run(int argc, char **argv)
{
    if (argc < 2) {
        help(stderr);
        return RW_EXIT_USAGE;
    }
    const char *word = argv[1];
    const int asks_help = strcmp(word, "help") == 0;
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        puts("rankwood " RW_VERSION);
        return RW_EXIT_OK;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (asks_help && argc == 2)) {
        help(stdout);
        return RW_EXIT_OK;
    }
    const struct command *command = find(asks_help ? argv[2] : word);
    if (!command)
        return unknown(asks_help ? argv[2] : word);
    if (asks_help) {
        char name[32], option[] = "--help";
        snprintf(name, sizeof(name), "%s", command->name);
        char *line[] = {name, option, NULL};
        return command->run(2, line);
    }
    return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
    /* A file over the limit on its size (ulimit -f) is then an error like a full disk. */
    signal(SIGXFSZ, SIG_IGN);
    int code = run(argc, argv);
    /* A failure has been said already, and may be this one. */
    if (code == RW_EXIT_OK && rw_output_flush() < 0)
        code = RW_EXIT_FAILURE;
    return rw_talk_exit(code);
}
