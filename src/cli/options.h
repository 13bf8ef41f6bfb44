/* Commands and their options: a table of a command's own, and parameters by name from
 * rw_param_info(). */
#ifndef RW_CLI_OPTIONS_H
#define RW_CLI_OPTIONS_H

#include <stdio.h>

#include "cli/result.h"
#include "rankwood.h"

/* Texts in order; the texts are borrowed. */
struct rw_list {
    const char **text; /* [n] owned */
    int n;
};
/* Files of each "a,b" that was given. */
struct rw_sets {
    struct rw_list given;  /* [n] */
    struct rw_list *files; /* [n] owned */
};

enum rw_option_kind {
    RW_OPTION_FLAG,           /* int * */
    RW_OPTION_TEXT,           /* const char ** */
    RW_OPTION_LIST,           /* struct rw_list *: repeatable */
    RW_OPTION_NUMBER,         /* unsigned long long *: whole, from least to most */
    RW_OPTION_INPUT,          /* const char **: a file that is read */
    RW_OPTION_INPUTS,         /* struct rw_list *: such files, commas between them */
    RW_OPTION_INPUT_SETS,     /* struct rw_sets *: the same, repeatable */
    RW_OPTION_INPUTS_BEHIND,  /* struct rw_list *: repeatable, and operands behind it are in it */
    RW_OPTION_INPUTS_OR_NONE, /* struct rw_list *: repeatable, 'none' is no file */
    RW_OPTION_OUTPUT,         /* const char **: a file that is written */
};
struct rw_option {
    const char *name;     /* "valid"; NULL ends a table */
    int letter;           /* 'o', or 0 */
    const char *argument; /* "FILE"; NULL: a flag */
    const char *help;
    enum rw_option_kind kind;
    void *value; /* stays as it is where the option is not given */
    unsigned long long least, most;
    int needed;
    /* An input's: the output that may replace it, since it is read whole before. */
    const char *replaced_by;
    /* An input's: a value that is not a file. */
    const char *no_file;
    /* An output's: the file with this suffix may be written, too. */
    const char *also;
};

struct rw_cli;
/* Functions of a command return 0 to continue, an exit code after an error message, or a negative
 * rw_status whose text is in the context. A command's state is static and is not freed: the program
 * ends with it. */
struct rw_command {
    const char *name, *brief; /* "train"; a line of 'rankwood --help' */
    const char *operands;     /* "DATA...": files that are read */
    const char *about;        /* what it does, a line or more */
    void (*more)(FILE *out);  /* --help prints it after `about`; NULL: nothing */
    int least, most;          /* operands; most < 0: any number */
    const struct rw_option *options;
    int roles;          /* it takes the parameters that have one of these, but not RW_ROLE_DATA or
                           _VALIDATION */
    const char *params; /* and these, between blanks: " bins absent "; "*": all */
    int (*check)(struct rw_cli *cli); /* before anything is read or written; NULL: nothing */
    int (*run)(struct rw_cli *cli);
    const char *replaced_by; /* the output that may replace the first operand; NULL: none may */
    int has_results;         /* it prints some, as --format names */
    int has_ranks;           /* several may run it together (cli/many_ranks.h) */
    const struct rw_command *const
        *parts; /* "bench train", ...: has no options then; NULL ends it */
};

/* A command line, and what commands read; all of it is owned, and freed after the command. */
struct rw_cli {
    const struct rw_command *command;
    struct rw_ctx *ctx;
    struct rw_params *params;
    struct rw_list operands;
    const char *config;    /* --config; NULL: not given */
    struct rw_list ignore; /* columns; its texts are parts of ignore_text */
    char *ignore_text;
    struct rw_list labels; /* of --label-columns; the same */
    char *labels_text;
    unsigned char *given; /* by option of the command */
    enum rw_format format;
    struct rw_model *model;
    const struct rw_model *init; /* NULL, or what a training goes on from; borrowed */
    struct rw_dataset *dataset;
    struct rw_binned *binned; /* of a training: the dataset is its own; or NULL */
    struct rw_scorer *scorer;
    struct rw_comm *comm;   /* NULL: no launcher has started more than one of these */
    struct rw_out_file out; /* removed if it is not committed */
};

/* Forwards what is not 0. */
#define RW_STEP(call)               \
    do {                            \
        const int rw_step = (call); \
        if (rw_step != 0)           \
            return rw_step;         \
    } while (0)

/* Reads a command line, argv[0] being the command; checks that what is read can be read, once, and
 * that what is written can be written over nothing that is read; runs the command. The exit code.
 */
int rw_command_run(const struct rw_command *command, int argc, char **argv);

/* Was this option of the command's table given? */
int rw_is_given(const struct rw_cli *cli, const char *option);
/* Fails with an exit code if `path`, which the command is going to write, is a file that it reads.
 */
int rw_options_check_written(const struct rw_cli *cli, const char *path);
/* A whole number of an option's text. 0, or the exit code of an error. */
int rw_options_number(const struct rw_cli *cli, const char *option, const char *text,
                      unsigned long long least, unsigned long long most, unsigned long long *value);
/* An error, and a hint to the command's help; returns RW_EXIT_USAGE. */
int rw_wrong(const struct rw_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The text of --help: options in a table, every line at most 79 columns wide. */
struct rw_help_option {
    const char *name; /* NULL: doc is the heading of the options that follow */
    int key;          /* a letter has a short option, "-o" */
    const char *arg, *doc;
    int group; /* groups are printed in this order, their options by name */
};

/* The usage has a line for each line of `operands` (NULL: the command has none). Sorts the table.
 */
void rw_help_print(FILE *out, const char *command, const char *operands, const char *about,
                   struct rw_help_option *table, int n);

#endif
