/* Readers of data. To add one: (1) write io/<name>.c with its rw_data_format_<name>; (2) give it a
 * row in data_formats.def, before letor, which takes everything. The build follows the table, and a
 * file is recognised by its first bytes, or by its name, so every command and the library read the
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
    uint64_t begin, end; /* documents, or bytes of text; end: UINT64_MAX is the file's */
    uint64_t n_lines;    /* written at the end: lines that text has there */
};

/* How a file that can be read anywhere is divided where queries begin, so that several workers can
 * read it. */
struct rw_divided {
    /* NULL, or a check of the whole file before it is divided, which all workers make together. */
    int (*check)(struct rw_ctx *ctx, struct rw_input *input);
    /* The first place, as a range has it, from byte `at` of the file on where a document of another
     * query than *query begins; UINT64_MAX: there is none. *query: of the document before, in an
     * earlier file, and `at` is 0; or NULL: that becomes the first document's query. */
    int (*next_query)(struct rw_ctx *ctx, struct rw_input *input, uint64_t at, char **query,
                      uint64_t *place);
};

/* A format of data files: text that is parsed in chunks, or what is read at once. */
struct rw_data_format {
    const char *name;
    int (*probe)(const unsigned char *head,
                 size_t n_bytes); /* 1: a file that begins so is its own; NULL: all are */
    /* NULL: looked for by probe alone; else how the names of its files end, with or without ".gz",
     * a NULL behind the last; where columns are given (rw_ctx_set_columns), files of other names
     * are its own, too, if probe takes the beginning of their content, unpacked */
    const char *const *endings;
    const struct rw_text_kind *text; /* NULL: no text; else how its chunks are parsed (io/text.h) */
    /* Of what is no text: reads the whole file, or its range, into the empty `out`, and bins it if
     * there is a rule. Documents that have lines (rw_builder_line) have the file's name, too. */
    int (*whole)(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                 const struct rw_cut_rule *rule, struct rw_binned *out);
    int notices_queries;              /* `whole` refuses a query that comes back */
    const struct rw_divided *divided; /* NULL: each file is read as a whole, by one worker */
};
#define RW_DATA_FORMAT(name) extern const struct rw_data_format rw_data_format_##name;
#include "io/data_formats.def"
#undef RW_DATA_FORMAT
/* The format of a file; never NULL, for what is nothing else is taken for text. */
const struct rw_data_format *rw_data_format_of(const struct rw_ctx *ctx,
                                               const struct rw_input *input);
/* The note about decimals beyond float's range, if there were any. */
void rw_data_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);
/* Gets some documents at a time, in order, with their values and without ids or comments. */
typedef int rw_take_values_fn(void *user, const struct rw_dataset *some);
/* What becomes of the features' values. */
struct rw_read_goal {
    const struct rw_cut_rule *rule; /* NULL: they are kept; else codes of it may take their place */
    /* NULL, or asked when the files are seen to be large text, and also when a pipe is, which is
     * then kept: 1: it is binned while it is read, by the rule then. May open what only such text
     * needs, once. */
    int (*bins_text)(struct rw_ctx *ctx, struct rw_read_goal *goal);
    const void *user;               /* for bins_text; borrowed */
    struct rw_cache_values *values; /* NULL, or what gets the values of text that is binned */
    rw_take_values_fn
        *take;         /* NULL, or what gets the values, which are not kept; then `rule` is NULL */
    void *take_user;   /* borrowed */
    int may_come_back; /* 1: a query id that reappears after others is one more query of that id */
};
/* Reads all that commands and the library read: rw_dataset_read, as it suits the goal. out: empty;
 * after a failure, too. */
int rw_files_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_binned *out);
/* The same of a goal without codes. *out: the documents, without features if the goal takes them.
 */
int rw_files_read_documents(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                            struct rw_read_goal goal, struct rw_dataset **out);

/* How tables (CSV, TSV) are read: what rw_ctx_set_columns was given, and what the library itself
 * asks for. */
struct rw_table_columns {
    struct rw_arena arena;
    struct rw_columns given; /* its texts and lists are copies; nothing else is looked at */
    /* Features by name; n_names 0: they are numbered. */
    int32_t n_names;
    struct rw_feature_name *name; /* [n_names] by name; owned */
    uint8_t *needed;              /* [n_names] 1: must be there; owned */
    int has_noted_extra;          /* there was a note of columns that have none of these names */
    int64_t first_other; /* the id of the first column that has none by its name; -1: such columns
                            are not read */
    /* Features whose values are words, of any text, besides those of given.categorical: */
    int32_t n_called;
    struct rw_feature_name
        *called;          /* [n_called] by ascending id: names that the list may have; owned */
    uint8_t *by_category; /* [RW_FEATURE_IDS] those of a model; NULL: it has none */
    struct rw_vocabulary *vocabulary; /* NULL: no feature's values are words; owned */
};

/* What a file is read with, whose columns have these names; NULL: `called` has them. *out: NULL if
 * no feature's values are words; the context's. */
int rw_columns_vocabulary(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                          struct rw_vocabulary **out);
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

/* The part of some files that a worker reads: whole queries, in order, of about as many bytes as
 * any other worker's. Text and caches are divided where queries begin, which all workers find
 * alike, each for itself; what cannot be divided (gzip, tables) is given to workers a file at a
 * time.
 */
/* From here on, in files one after the other; `at` is of a range. */
struct rw_place {
    int32_t file;
    uint64_t at;
};

struct rw_shard {
    struct rw_place begin, end;
    int is_text;           /* all files are LETOR text, plain or gzip */
    int is_cache;          /* there is one file, a cache */
    struct rw_range range; /* of the file at work, and at last of the last one */
};

/* Finds the part of the context's worker. All workers call it together, and fail together. */
int rw_shard_find(struct rw_ctx *ctx, const char *const *paths, int n_paths, struct rw_shard *part);
/* Files [first, end) have something of it. */
void rw_shard_files(const struct rw_shard *part, int *first, int *end);
/* What it has of a file. */
struct rw_range rw_shard_range(const struct rw_shard *part, int file);

/* Of several workers: opening a pipe on each of them would lose what is in it. */
int rw_shard_check_path(struct rw_ctx *ctx, const char *path);

/* --- what workers have read, taken together --- */

/* Checks that the workers' documents are one data set: parts of these files that follow each other,
 * no query in two of them, features of the same names, as many labels a document. Each worker's
 * documents get what only other workers know: numbers of lines that count from the beginning of a
 * file, names of features, weights of 1 where other documents have some. notice: a query that comes
 * back, in any worker's part, is an error. All workers call it together, and fail together. */
int rw_together_check(struct rw_ctx *ctx, const char *const *paths, const struct rw_shard *part,
                      int notice, struct rw_dataset *documents);
/* rw_data_format_note_clamped of all workers' numbers, by worker 0. */
int rw_together_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);

/* --- files that are read line by line, and are in memory as a whole: side columns, names of
 * features, scores, and TREC's judgments and runs (side_files.c) --- */

struct rw_line_reader {
    struct rw_input *input; /* owned; open for its name */
    const char *name;       /* of the file, for messages */
    char *text, *text_end;  /* without the blank lines at its end; owned */
    char *next;             /* the line after the one at hand */
    uint64_t number;        /* of the line at hand, from 1; 0: none yet */
    char *begin, *end;      /* the line at hand, without its newline; a 0 is at `end` */
};
/* Reads all of the file. Closed also after a failure. */
int rw_line_reader_open(struct rw_ctx *ctx, const char *path, struct rw_line_reader *lines);
/* Goes on to the next line. 0: there are no more. */
int rw_line_reader_next(struct rw_line_reader *lines);
void rw_line_reader_close(struct rw_line_reader *lines);

/* A part of a line. */
struct rw_word {
    char *text;
    size_t n;
};
/* The first `most` words of [at, end), blanks or tabs between them; returns how many there are. */
int rw_line_words(char *at, const char *end, struct rw_word *words, int most);
/* RW_ERR_PARSE: what was expected in place of a word of the line at hand. */
int rw_line_wrong(struct rw_ctx *ctx, const struct rw_line_reader *lines,
                  const struct rw_word *found, const char *expected);

/* The lines of TREC's two files: "query iteration document label", whose iteration is not looked
 * at, and "query Q0 document rank score tag", of which Q0, rank and what follows are not. */
enum rw_trec_file { RW_TREC_QRELS, RW_TREC_RUN };
struct rw_trec_line {
    struct rw_word query, document;
    double value; /* a label, at least 0: others count as 0; or a score, finite */
};
/* Reads the line at hand. 1; 0 if it is empty; RW_ERR_PARSE. */
int rw_trec_line_of(struct rw_ctx *ctx, const struct rw_line_reader *lines, enum rw_trec_file file,
                    struct rw_trec_line *out);

/* A score a line, of n documents. */
int rw_scores_of_lines(struct rw_ctx *ctx, struct rw_line_reader *lines, uint32_t n,
                       double *scores);

/* Compares names, for qsort. */
int rw_names_by_name(const void *a, const void *b);
/* Lines "ID NAME", '#' comments; by ascending id in *out, owned by the caller (rw_names_free). */
int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n);
