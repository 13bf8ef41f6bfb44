/* Readers of data formats. To add one, write io/<name>.c with its rw_data_format_<name>, and add a
 * row to data_formats.def, before letor, which accepts everything. The build follows that table. A
 * file is recognised by its first bytes or by its name, so every command and the library read the
 * new format. */
#pragma once

#include "dataset/dataset.h"

struct rw_binned;
struct rw_cache_values;
struct rw_cut_rule;
struct rw_input;
struct rw_text_kind;

/* A part of a file. */
struct rw_range {
    uint64_t begin, end; /* documents, or bytes of text; end: UINT64_MAX is the end of the file */
    uint64_t n_lines;    /* output: number of lines of text in the range */
};

/* How a file that allows random access is divided at query boundaries, so several workers can read
 * it. */
struct rw_divided {
    /* Checks the whole file before it is divided. All workers call it. NULL: no check. */
    int (*check)(struct rw_ctx *ctx, struct rw_input *input);
    /* Finds the first document from byte `at` of the file on whose query differs from *query. Sets
     * *place to its position in the units of a range, or to UINT64_MAX. After an earlier file,
     * *query is the query of its last document, and `at` is 0. If *query is NULL, it is set to the
     * first document's query. */
    int (*next_query)(struct rw_ctx *ctx, struct rw_input *input, uint64_t at, char **query,
                      uint64_t *place);
};

/* A format of data files: text that is parsed in chunks, or a format that is read at once. */
struct rw_data_format {
    const char *name;
    int (*probe)(const unsigned char *head, size_t n_bytes); /* 1: a file with this beginning has
                                                                the format; NULL: every file has */
    /* Endings of file names, with or without ".gz", terminated by NULL. If it is NULL, only `probe`
     * recognises files. If columns are given (rw_ctx_set_columns), files with other names have the
     * format, too, if `probe` accepts the beginning of their unpacked content. */
    const char *const *endings;
    const struct rw_text_kind *text; /* NULL: not text; otherwise how to parse its chunks
                                        (io/text.h) */
    /* For formats that are not text: reads the whole file, or its range, into the empty `out`, and
     * bins it if there is a rule. Documents with lines (rw_builder_line) must also have the file's
     * name. */
    int (*whole)(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                 const struct rw_cut_rule *rule, struct rw_binned *out);
    int notices_queries;              /* `whole` rejects repeated queries */
    const struct rw_divided *divided; /* NULL: each file is read as a whole, by one worker */
};
#define RW_DATA_FORMAT(name) extern const struct rw_data_format rw_data_format_##name;
#include "io/data_formats.def"
#undef RW_DATA_FORMAT
/* Returns the format of a file, never NULL: a file that is not recognised is read as text. */
const struct rw_data_format *rw_data_format_of(const struct rw_ctx *ctx,
                                               const struct rw_input *input);
/* Logs a note about decimals beyond float's range, if there were any. */
void rw_data_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);
/* Receives some documents at a time, in order, with their values and without ids or comments. */
typedef int rw_take_values_fn(void *user, const struct rw_dataset *some);
/* How the features' values are used. */
struct rw_read_goal {
    const struct rw_cut_rule *rule; /* NULL: keep the values; otherwise codes of this rule may
                                       replace them */
    /* Called when files turn out to be large text, and for a pipe, which is then stored. Returns 1
     * to bin the text with `rule` while it is read. May open, once, files that only such text
     * needs. NULL: never. */
    int (*bins_text)(struct rw_ctx *ctx, struct rw_read_goal *goal);
    const void *user;               /* argument for bins_text; borrowed */
    struct rw_cache_values *values; /* receives the values of text that is binned; NULL: not
                                       stored */
    rw_take_values_fn *take; /* receives the values, which are not kept; requires `rule` NULL. NULL:
                                not called */
    void *take_user;         /* borrowed */
    int may_come_back; /* 1: a query id that reappears after others is a new query with the same
                          id */
};
/* Reads all data for commands and the library, like rw_dataset_read, as the goal requires. out:
 * must be empty, and is empty after a failure. */
int rw_files_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_binned *out);
/* Does the same for a goal without codes. *out: the documents, without features if the goal takes
 * them. */
int rw_files_read_documents(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                            struct rw_read_goal goal, struct rw_dataset **out);

/* Settings for reading tables (CSV, TSV): those passed to rw_ctx_set_columns, and those of the
 * library. */
struct rw_table_columns {
    struct rw_arena arena;
    struct rw_columns given; /* texts and lists are copies; the other members are unused */
    /* Features by name; n_names 0: features are numbered. */
    int32_t n_names;
    struct rw_feature_name *name; /* [n_names] by name; owned */
    uint8_t *needed;              /* [n_names] 1: the file must have it; owned */
    int has_noted_extra;          /* columns without one of these names have been reported */
    int64_t first_other; /* id for the first column whose name is unknown; -1: skip such columns */
    /* Features whose values are words, in any text, in addition to given.categorical: */
    int32_t n_called;
    struct rw_feature_name
        *called;          /* [n_called] ascending by id: names that the list may contain; owned */
    uint8_t *by_category; /* [RW_FEATURE_IDS] those of a model; NULL: no model */
    struct rw_vocabulary *vocabulary; /* NULL: no feature's values are words; owned */
};

/* Sets *out to the vocabulary for reading a file whose columns have these names, or to NULL if no
 * feature's values are words. The context owns it. names NULL: the names in `called`. */
int rw_columns_vocabulary(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                          struct rw_vocabulary **out);
/* Checks that the data set, which was read with these settings, has every item of the list of
 * categorical features. For a range, one feature is enough. Training checks this itself. */
int rw_columns_check_categorical(struct rw_ctx *ctx, const struct rw_dataset *dataset);

/* Returns 1 if the caller set the columns, so text that looks like a table may be read as one. */
int rw_columns_are_given(const struct rw_table_columns *columns);
/* Sets *index to the index in columns->name of a column with this name, as written or as a model's
 * file stores it, or to -1. */
int rw_columns_find(struct rw_ctx *ctx, const struct rw_table_columns *columns, const char *name,
                    int32_t *index);
/* Fails with RW_ERR_DATA if a feature of the file, which is read with its own ids, has an id that
 * differs from the one for its name in ctx->columns. */
int rw_columns_agree(struct rw_ctx *ctx, const char *file, const struct rw_dataset *dataset);
/* From now on, features are found by the names of `like`, if it has names. NULL: they are numbered.
 */
int rw_columns_like(struct rw_ctx *ctx, const struct rw_dataset *like);

/* ---- shards: the part of the files that a worker reads ----
 *
 * A shard has whole queries, in order, with about the same number of bytes as any other shard. Text
 * and caches are divided at query boundaries. Each worker computes the same boundaries
 * independently. Files that cannot be divided (gzip, tables) are assigned to workers as a whole. */
/* A position in a sequence of files; `at` is in the units of a range. */
struct rw_place {
    int32_t file;
    uint64_t at;
};

struct rw_shard {
    struct rw_place begin, end;
    int is_text;           /* all files are LETOR text, plain or gzip */
    int is_cache;          /* the only file is a cache */
    struct rw_range range; /* range in the current file; finally, in the last one */
};

/* Finds the shard of the context's worker. All workers call it, and fail together. */
int rw_shard_find(struct rw_ctx *ctx, const char *const *paths, int n_paths, struct rw_shard *part);
/* Files [first, end) contain parts of the shard. */
void rw_shard_files(const struct rw_shard *part, int *first, int *end);
/* Returns the shard's range of a file. */
struct rw_range rw_shard_range(const struct rw_shard *part, int file);

/* Rejects pipes if there are several workers: opening one on each worker would lose its data. */
int rw_shard_check_path(struct rw_ctx *ctx, const char *path);

/* ---- checking the workers' shards together ---- */

/* Checks that the workers' documents are one data set: consecutive parts of these files, no query
 * in two of them, the same feature names, and the same number of labels per document. Each worker's
 * documents receive data that only other workers know: line numbers from the beginning of a file,
 * feature names, and weights of 1 if other documents have weights. notice: a repeated query, on any
 * worker, is an error. All workers call it, and fail together. */
int rw_together_check(struct rw_ctx *ctx, const char *const *paths, const struct rw_shard *part,
                      int notice, struct rw_dataset *documents);
/* Like rw_data_format_note_clamped, for the sum over all workers; worker 0 logs it. */
int rw_together_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);

/* ---- files that are read line by line and are in memory as a whole: side columns, feature names,
 * scores, and TREC's judgments and runs (side_files.c) ---- */

struct rw_line_reader {
    struct rw_input *input; /* open because it has the name; owned */
    const char *name;       /* the file's name, for messages */
    char *text, *text_end;  /* without blank lines at the end; owned */
    char *next;             /* the line after the current one */
    uint64_t number;        /* number of the current line, from 1; 0: before the first */
    char *begin, *end;      /* the current line without its newline; *end is 0 */
};
/* Reads the whole file. Close the reader even on failure. */
int rw_line_reader_open(struct rw_ctx *ctx, const char *path, struct rw_line_reader *lines);
/* Advances to the next line. Returns 0 at the end. */
int rw_line_reader_next(struct rw_line_reader *lines);
void rw_line_reader_close(struct rw_line_reader *lines);

/* A carriage return counts as a blank, so lines may end with CR LF. */
static inline int rw_is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static inline const char *rw_skip_blanks(const char *p, const char *end)
{
    while (p < end && rw_is_blank(*p))
        p++;
    return p;
}

/* A word of a line. */
struct rw_word {
    char *text;
    size_t n;
};
/* Finds the first `most` words of [at, end), separated by blanks or tabs. Returns the number of
 * words. */
int rw_line_words(char *at, const char *end, struct rw_word *words, int most);
/* Fails with RW_ERR_PARSE: a word of the current line is not as expected. */
int rw_line_wrong(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                  const struct rw_word *found, const char *expected);

/* The lines of TREC's two files. Judgments have "query iteration document label", where iteration
 * is ignored. Runs have "query Q0 document rank score tag", where Q0, rank and all after the score
 * are ignored. */
enum rw_trec_file { RW_TREC_QRELS, RW_TREC_RUN };
struct rw_trec_line {
    struct rw_word query, document;
    double value; /* label of at least 0 (negative ones count as 0), or finite score */
};
/* Parses the current line. Returns 1, 0 if it is empty, or RW_ERR_PARSE. */
int rw_trec_line_of(struct rw_ctx *ctx, const struct rw_line_reader *lines, enum rw_trec_file file,
                    struct rw_trec_line *out);

/* Reads one score per line, for n documents. */
int rw_scores_of_lines(struct rw_ctx *ctx, struct rw_line_reader *lines, uint32_t n,
                       double *scores);

/* Compares names, for qsort. */
int rw_names_by_name(const void *a, const void *b);
/* Reads lines "ID NAME" with '#' comments. *out is ascending by id, and the caller frees it
 * (rw_names_free). */
int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n);
