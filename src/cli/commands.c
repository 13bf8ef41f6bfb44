/* The commands of `rankwood`. To add a command, write cmd_<name>.c with its rw_cmd_<name>, which
 * prints results with the functions of cli/cli.h. Then add it to the table below, to meson.build,
 * and as a section to docs/rankwood.1.in. */
#include "cli/cli.h"

extern const struct rw_command rw_cmd_synth, rw_cmd_bin, rw_cmd_train, rw_cmd_predict, rw_cmd_eval,
    rw_cmd_compare, rw_cmd_cv, rw_cmd_check, rw_cmd_info, rw_cmd_show, rw_cmd_explain,
    rw_cmd_report, rw_cmd_select, rw_cmd_tune, rw_cmd_prune, rw_cmd_calibrate, rw_cmd_export,
    rw_cmd_import, rw_cmd_bench, rw_cmd_doctor, rw_cmd_completion, rw_cmd_verify, rw_cmd_judge;
const char *const rw_msg_program = "rankwood";
const struct rw_command *const rw_commands[] = {
    &rw_cmd_synth,     &rw_cmd_bin,        &rw_cmd_train,  &rw_cmd_predict, &rw_cmd_eval,
    &rw_cmd_compare,   &rw_cmd_cv,         &rw_cmd_check,  &rw_cmd_info,    &rw_cmd_show,
    &rw_cmd_explain,   &rw_cmd_report,     &rw_cmd_select, &rw_cmd_tune,    &rw_cmd_prune,
    &rw_cmd_calibrate, &rw_cmd_export,     &rw_cmd_import, &rw_cmd_bench,   &rw_cmd_doctor,
    &rw_cmd_verify,    &rw_cmd_judge,      &rw_cmd_completion, NULL,
};
enum { N_COMMANDS = sizeof(rw_commands) / sizeof(rw_commands[0]) - 1 };

static void help(FILE *out)
{
    fputs("Rankwood trains and evaluates ranking models (LambdaMART).\n"
          "\n"
          "usage: rankwood COMMAND [OPTION...]\n"
          "\n",
          out);
    for (int i = 0; i < N_COMMANDS; i++)
        fprintf(out, "  %-12s%s\n", rw_commands[i]->name, rw_commands[i]->brief);
    fputs("\n"
          "'rankwood COMMAND --help' lists the options of a command. 'rankwood --version'\n"
          "prints the version and the build.\n"
          "\n"
          "DATA is one or more files, or '-' for standard input: LETOR text, plain or gzip\n"
          "('label qid:N i:v ...'), CSV or TSV tables, or caches written by 'bin'. Results\n"
          "are printed on standard output, messages on standard error.\n"
          "\n"
          "Exit codes: 0 success; 1 wrong data, model or parameter, or a failed check;\n"
          "2 wrong usage; 3 failure of memory, a disk or a GPU, where a retry may help;\n"
          "4 compare --fail-below or check --fail-above; 130 or 143 ended by a signal.\n"
          "\n"
          "Examples:\n"
          "    rankwood train train.txt --valid vali.txt -o model.txt\n"
          "    rankwood eval test.txt --model model.txt\n"
          "    rankwood predict model.txt test.txt -o scores.txt\n",
          out);
}

static const struct rw_command *unknown(const char *name)
{
    const char *names[N_COMMANDS];
    for (int i = 0; i < N_COMMANDS; i++)
        names[i] = rw_commands[i]->name;
    const char *near = name[0] == '-' ? NULL : rw_word_nearest(name, names, N_COMMANDS);
    if (near)
        rw_msg_error("unknown command '%s'; the nearest is '%s'", name, near);
    else
        rw_msg_error("unknown %s '%s'", name[0] == '-' ? "option" : "command", name);
    rw_msg_usage(NULL);
    return NULL;
}

const struct rw_command *rw_command_find(int *argc, char ***argv, int *code)
{
    static char option[] = "--help";
    const char *word = *argc > 1 ? (*argv)[1] : "";
    const int asks_help = strcmp(word, "help") == 0;
    *code = RW_EXIT_OK;
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0) {
        char build[512];
        rw_build_text(build, sizeof(build));
        printf("rankwood %s\n%s", RW_VERSION, build);
        return NULL;
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || (asks_help && *argc == 2)) {
        help(stdout);
        return NULL;
    }
    if (strcmp(word, "--complete") == 0) {
        rw_complete(*argc - 2, *argv + 2);
        return NULL;
    }
    *code = RW_EXIT_USAGE;
    if (*argc < 2) {
        help(stderr);
        return NULL;
    }
    *argv += 1 + asks_help;
    *argc = asks_help ? 2 : *argc - 1;
    if (asks_help)
        (*argv)[1] = option;
    for (int i = 0; i < N_COMMANDS; i++) {
        if (strcmp((*argv)[0], rw_commands[i]->name) == 0)
            return rw_commands[i];
    }
    return unknown((*argv)[0]);
}
