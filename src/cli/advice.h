/* Hints for names that a command does not know: typing errors, and other trainers' words. */
#ifndef RW_CLI_ADVICE_H
#define RW_CLI_ADVICE_H

#include "cli/options.h"

struct rw_known_options {
    struct rw_cli *cli;
    const struct rw_help_option
        *table; /* [n] with the parameters that the command takes; borrowed */
    int n;
};

/* The option of this name, of n bytes; NULL: there is none. */
const struct rw_help_option *rw_advice_find(const struct rw_known_options *known, const char *name,
                                            size_t n);
/* Reports an unknown option ("--num_leaves=31"), and what it is called here; the exit code. */
int rw_advice_unknown(const struct rw_known_options *known, const char *token);
/* An operand that is no file but a parameter as other programs take them, "num_leaves=31": says how
 * it is written and returns the exit code; 0 for any other operand. */
int rw_advice_bare(const struct rw_known_options *known, const char *operand);

/* Checks by their contents that the files of a line, argv [argc], stand where a model or data is
 * wanted. 0, or the code of an error with a hint that is the right call. */
int rw_advice_files(const struct rw_known_options *known, int argc, char **argv);

#endif
