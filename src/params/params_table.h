/* The rows of params.def as data: what reads, writes and names parameters walks over this. */
#ifndef RW_PARAMS_PARAMS_TABLE_H
#define RW_PARAMS_PARAMS_TABLE_H

#include "params/params.h"

struct rw_param_row {
    struct rw_param_info info;
    size_t offset;      /* of the field in struct rw_params */
    double least, most; /* INT and REAL: included in the range */
    const char *word;   /* INT and REAL: may stand for a number; NULL: none */
    int word_value;     /* the field's value for it, outside of the range */
    const char *needs;  /* conditions of an effect, beside its roles': see params.def */
    int is_file;        /* its value may name a file that is read */
};

extern const struct rw_param_row rw_param_rows[RW_N_PARAMS];

/* The index of a name; -1 if it is unknown. */
int rw_param_find(const char *name);
/* The index of a word in "a|b|c"; -1 if it is not one of them. */
int rw_param_word(const char *words, const char *word);
/* May it be left to the size of the training set, which the model then notes? */
int rw_param_is_by_size(int at);
/* Sets a parameter by its index, without marking it as set by the user. */
int rw_param_assign(struct rw_ctx *ctx, struct rw_params *params, int at, const char *value);

#endif
