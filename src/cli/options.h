/* The options of a command: a table of its own, and parameters by name from rw_param_info(). */
#ifndef RW_CLI_OPTIONS_H
#define RW_CLI_OPTIONS_H

#include "rankwood.h"

/* Texts in order; the texts are borrowed from argv. */
struct rw_list {
    const char **text; /* [n] owned */
    int n;
};

enum rw_option_kind { RW_OPTION_FLAG, RW_OPTION_TEXT, RW_OPTION_LIST };
struct rw_option {
    const char *name;     /* "valid"; NULL ends a table */
    int letter;           /* 'o', or 0 */
    const char *argument; /* "FILE"; NULL: a flag */
    const char *help;
    enum rw_option_kind kind;
    void *value; /* int *, const char ** or struct rw_list *: NULL and 0 to begin with */
};

struct rw_usage {
    const char *command;  /* "train" */
    const char *operands; /* "DATA..." */
    const char *about;    /* what it does, a line or more */
    int least, most;      /* operands; most < 0: any number */
    const struct rw_option *options;
    const char *params; /* " bins absent ": the parameters it takes, between blanks; "*": all */
};

/* What a command line said. */
struct rw_said {
    struct rw_ctx *ctx;       /* owned */
    struct rw_params *params; /* owned */
    struct rw_list operands;
};

/* Reads a command line, argv[0] being the command. Returns -1 to go on; else the exit code, after
 * having said what there is to say (help asked for is an exit code 0). Ended by rw_options_release
 * in any case. */
int rw_options_parse(const struct rw_usage *usage, int argc, char **argv, struct rw_said *said);
void rw_options_release(const struct rw_usage *usage, struct rw_said *said);

/* A whole number from an option's text: 0, or the exit code after having said what was expected. */
int rw_options_number(const struct rw_usage *usage, const char *option, const char *text,
                      unsigned long long least, unsigned long long most, unsigned long long *value);
/* Says what is wrong and points to the help; returns RW_EXIT_USAGE. */
int rw_options_wrong(const struct rw_usage *usage, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Are files that are read good: standard input at most once, and none the one that is written? NULL
 * names no file, for `output` too. 0, or the exit code. */
int rw_options_check_files(const struct rw_usage *usage, const struct rw_list *inputs, int n_lists,
                           const char *output);
/* Files of "a,b": a list of their names, cut in place in *copy (owned by the caller, like the
 * list). 0, or the exit code. */
int rw_options_split(const struct rw_usage *usage, const char *files, char **copy,
                     struct rw_list *list);
/* The word nearest to a mistaken one, or NULL if nothing is near. */
const char *rw_options_nearest(const char *mistaken, const char *const *words, int n_words);

#endif
