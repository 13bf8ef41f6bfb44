/* How tables (CSV, TSV) are read: what rw_ctx_set_columns was given, and what the library itself
 * asks for. */
#ifndef RW_IO_COLUMNS_H
#define RW_IO_COLUMNS_H

#include "dataset/dataset.h"

struct rw_table_columns {
    char *label, *qid, *weight; /* as given; NULL: not given; owned */
    int n_ignore;
    char **ignore; /* [n_ignore]; owned */
    int n_more_labels;
    char **more_label;    /* [n_more_labels]; owned */
    int no_label, no_qid; /* as in struct rw_columns */
    /* Features by name; n_names 0: they are numbered. */
    int32_t n_names;
    struct rw_feature_name *name; /* [n_names] by name; owned */
    uint8_t *needed;              /* [n_names] 1: must be there; owned */
    int has_noted_extra;          /* there was a note of columns that have none of these names */
    int64_t first_other; /* the id of the first column that has none by its name; -1: such columns
                            are not read */
    /* Features whose values are words, of any text; all owned: */
    char *categorical; /* a list, as given; NULL: not given */
    int32_t n_called;
    struct rw_feature_name *called; /* [n_called] by ascending id: names that the list may have */
    uint8_t *by_category;           /* [RW_FEATURE_IDS] those of a model; NULL: it has none */
    struct rw_lexicon *lexicon;     /* NULL: no feature's values are words */
};

/* What a file is read with, whose columns have these names; NULL: `called` has them. *out: NULL if
 * no feature's values are words; the context's. */
int rw_columns_lexicon(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                       struct rw_lexicon **out);
/* Has the data set, which was read so, what each item of the list of categorical features names, of
 * a range at least one? (Training sees to that itself.) */
int rw_columns_check_categorical(struct rw_ctx *ctx, const struct rw_dataset *dataset);

/* 1: by the caller, so that text which looks like a table may be taken for one. */
int rw_columns_are_given(const struct rw_table_columns *columns);
/* The index in `name` of a column of this name, as it is or as a model's file has it; -1: none. */
int rw_columns_find(struct rw_ctx *ctx, const struct rw_table_columns *columns, const char *name,
                    int32_t *index);
/* RW_ERR_DATA: a feature of the file, which is read as it is, has another id than its name has in
 * ctx->columns. */
int rw_columns_agree(struct rw_ctx *ctx, const char *file, const struct rw_dataset *dataset);
/* From now on features are found by the names of `like`, if it has some; NULL: they are numbered.
 */
int rw_columns_like(struct rw_ctx *ctx, const struct rw_dataset *like);

#endif
