/* Declares the data formats, the functions that read data files of any format, the settings for
 * tables (CSV, TSV), the division of files into one shard per worker, and files that are read line
 * by line.
 *
 * To add a data format, write io/<name>.c with its rw_data_format_<name>, and add a row to
 * data_formats.def, before letor, which accepts everything. The build follows that table. A file is
 * recognised by its first bytes or by its name (rw_data_format_of), so every command and the
 * library read the new format. */
#pragma once

#include "dataset/dataset.h"

struct rw_binned;
struct rw_cache_values;
struct rw_cut_rule;
struct rw_input;
struct rw_text_kind;

/* A range of a file. */
struct rw_range {
    /* [begin, end) counts documents in a cache and bytes in text. end UINT64_MAX: the end of the
     * file. begin UINT64_MAX: the range is empty. */
    uint64_t begin, end;
    uint64_t n_lines; /* output: number of lines in a range of text; unchanged for a cache */
};

/* How a file that allows random access is divided at query boundaries, so several workers can read
 * it. */
struct rw_divided {
    /* Checks the whole file before it is divided. All workers call it, and fail together. NULL: no
     * check. */
    int (*check)(struct rw_ctx *ctx, struct rw_input *input);
    /* Finds the first document from byte `at` of the file on that begins a query. Sets *place to
     * the document's position in the units of a range, or to UINT64_MAX if there is no such
     * document. If *query is NULL, the query of the document at `at` may be skipped, since it may
     * have begun before. If *query is an id, `at` is 0, and documents of this query at the start of
     * the file are skipped, since the previous file may have ended within the query. If no document
     * is found, *query is afterwards the id of the last query that was examined, or NULL if no
     * query was examined. The caller passes it for the next file. The caller frees *query. Returns
     * a negative status on failure. */
    int (*next_query)(struct rw_ctx *ctx, struct rw_input *input, uint64_t at, char **query,
                      uint64_t *place);
};

/* A format of data files: text that is parsed in chunks, or a format that is read at once. */
struct rw_data_format {
    const char *name;
    int (*probe)(const unsigned char *head, size_t n_bytes); /* returns 1 if a file that begins with
                                                                `head` has the format; NULL: every
                                                                file has the format */
    /* Endings of file names, with or without ".gz", terminated by NULL: files with these names have
     * the format. Other files have it only if the caller chose columns (rw_columns_are_given) and
     * `probe` accepts the beginning of their unpacked content. If `endings` is NULL, `probe` alone
     * decides, by the first raw bytes. */
    const char *const *endings;
    const struct rw_text_kind *text; /* NULL: not text; otherwise how to parse its chunks
                                        (io/text.h) */
    /* For formats that are not text: reads the whole file, or the range if it is not NULL, into the
     * empty `out`. If the file has codes that satisfy `rule`, they may replace the values.
     * If `out` has the line numbers of documents (rw_builder_line), it must also have the file's
     * name. */
    int (*whole)(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                 const struct rw_cut_rule *rule, struct rw_binned *out);
    int notices_queries;              /* 1: `whole` rejects repeated queries */
    const struct rw_divided *divided; /* NULL: one worker reads a file of this format as a whole */
};
#define RW_DATA_FORMAT(name) extern const struct rw_data_format rw_data_format_##name;
#include "io/data_formats.def"
#undef RW_DATA_FORMAT
/* Returns the format of a file, never NULL: a file that is not recognised is read as LETOR text. */
const struct rw_data_format *rw_data_format_of(const struct rw_ctx *ctx,
                                               const struct rw_input *input);
/* Logs a note about decimals beyond float's range, unless their number, n_clamped, is 0. */
void rw_data_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);
/* Type of a function that receives the documents in order, some or all of them at a time, with
 * labels and values. The documents' queries, query ids and comments may be missing. A negative
 * status ends the reading. */
typedef int rw_take_values_fn(void *user, const struct rw_dataset *some);
/* How the features' values are used. */
struct rw_read_goal {
    const struct rw_cut_rule *rule; /* NULL: keep the values; otherwise codes that satisfy this rule
                                       may replace the values */
    /* With one worker, called when files turn out to be LETOR text with many documents, and before
     * such text from a pipe is stored in a temporary file. Returns 1 if the text must be binned
     * with `rule` while it is read. Its first call may open files that are needed only if text is
     * binned. NULL: text is not binned. Several workers never call it: if `rule` is set and all
     * files are LETOR text, they bin the text while it is read. */
    int (*bins_text)(struct rw_ctx *ctx, struct rw_read_goal *goal);
    const void *user;               /* for bins_text; borrowed */
    struct rw_cache_values *values; /* with one worker, receives the values of text that is
                                       binned; NULL: not stored */
    rw_take_values_fn *take; /* receives the values, which are then dropped; requires `rule` NULL.
                                NULL: not called */
    void *take_user;         /* argument of `take`; borrowed */
    int may_come_back; /* 1: a query id that reappears after other ids begins a separate query with
                          that id; 0, or if it reappears within one cache: an error */
};
/* Reads files like rw_dataset_read, but as the goal requires. All workers call it, and fail
 * together. out: must be empty, and is empty after a failure. */
int rw_files_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_binned *out);
/* Does what rw_files_read does, for a goal with `rule` NULL. *out: the documents, without features
 * if goal.take is set; NULL after a failure. */
int rw_files_read_documents(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                            struct rw_read_goal goal, struct rw_dataset **out);

/* Settings for reading tables (CSV, TSV), made by rw_ctx_set_columns. A feature has words if it is
 * categorical and its values are given as texts. The settings about features with words also apply
 * to LETOR text and caches. */
struct rw_table_columns {
    struct rw_arena arena; /* owns the copies in `given`, and by_category */
    /* The caller's settings. Texts and lists are copies; model, like, feature, needed and names are
     * borrowed and not used after rw_ctx_set_columns. */
    struct rw_columns given;
    /* features that are found by the names of columns; n_names 0: features are numbered */
    int32_t n_names;
    struct rw_feature_name *name; /* [n_names] sorted by name; owned */
    uint8_t *needed;              /* [n_names] 1: the file must have it; owned */
    int has_noted_extra;          /* 1: columns without one of these names have been reported */
    int has_query_text;           /* 1: a table had the column given.query_text */
    uint8_t *found_ignored;       /* [given.n_ignore] 1: a table had this column to ignore */
    int may_lack_ignored;         /* 1: a table may lack columns to ignore */
    int64_t first_other; /* id for the first column whose name is not in `name`, ascending for the
                            next ones; -1: skip such columns */
    /* features with words are those in the list given.categorical and in by_category */
    int32_t n_called;
    /* [n_called] ascending by id: names that the list may contain if a file has no names; owned */
    struct rw_feature_name *called;
    uint8_t *by_category; /* [RW_FEATURE_IDS] 1: categorical in the model; NULL: no such feature */
    struct rw_vocabulary *vocabulary; /* NULL: no feature has words; owned */
};

/* Sets *out to the context's vocabulary, or to NULL if no feature has words. Marks in the
 * vocabulary the features with words of a file whose features have these names. names NULL: the
 * file has no names, and the list may use those in `called`. The context owns *out. */
int rw_columns_vocabulary(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                          struct rw_vocabulary **out);
/* Fails with RW_ERR_ARGUMENT if the data set, which was read with the context's settings, lacks a
 * feature in the list of categorical features, or all features of a range in the list. Training
 * need not call it, since it makes this check itself. */
int rw_columns_check_categorical(struct rw_ctx *ctx, const struct rw_dataset *dataset);

/* Fails with RW_ERR_DATA if no table that was read has one of the columns to ignore. */
int rw_columns_check_ignored(struct rw_ctx *ctx);

/* Returns 1 if the caller set any columns of labels, further labels, query ids or weights, or
 * columns to ignore. A file that looks like a table is then read as one, whatever its name is. */
int rw_columns_are_given(const struct rw_table_columns *columns);
/* Gives a column's name to the arena, as UTF-8 (rw_name_to_utf8), and sets *out to it. The first
 * name of a file in Latin-1 causes a note, and sets *is_noted. Returns 1 if the name was in
 * Latin-1. */
int rw_columns_title(struct rw_ctx *ctx, const char *file, struct rw_arena *arena, char *title,
                     uint32_t *is_noted, char **out);
/* Sets *index to the index in columns->name of a column with this name, as written or as a model's
 * file stores it, or to -1 if the name is not there. */
int rw_columns_find(struct rw_ctx *ctx, const struct rw_table_columns *columns, const char *name,
                    int32_t *index);
/* Checks a file that stores the ids of its features (a cache). Fails with RW_ERR_DATA if
 * ctx->columns has a different id for the name of one of its features. */
int rw_columns_agree(struct rw_ctx *ctx, const char *file, const struct rw_dataset *dataset);
/* From now on, features are found by the names of `like`. Files may lack some of them, and other
 * columns have ids after them. If `like` is NULL or has no names, features are numbered. */
int rw_columns_like(struct rw_ctx *ctx, const struct rw_dataset *like);

/* ---- shards: the part of the files that a worker reads ----
 *
 * A shard has whole queries, in order. If all files are plain LETOR text or caches, they are
 * divided at query boundaries, into shards of about equal numbers of bytes. Each worker computes
 * the same boundaries independently. If one file cannot be divided (gzip, CSV, TSV), no file is:
 * each is assigned to one worker. */
/* A position in a sequence of files; `at` is in the units of struct rw_range. */
struct rw_place {
    int32_t file;
    uint64_t at;
};

struct rw_shard {
    struct rw_place begin, end; /* end: the first position after the shard */
    int is_text;                /* 1: all files are LETOR text, plain or gzip */
    int is_cache;               /* 1: the only file is a cache, which is divided */
    struct rw_range range;      /* set by reading a plain file of LETOR text or a cache: the shard's
                                   range of the file opened last */
};

/* Finds the shard of this worker. All workers call it, and fail together. */
int rw_shard_find(struct rw_ctx *ctx, const char *const *paths, int n_paths, struct rw_shard *part);
/* Sets the range of files, [*first, *end), that contain parts of the shard. */
void rw_shard_files(const struct rw_shard *part, int *first, int *end);
/* Returns the shard's range of a file. */
struct rw_range rw_shard_range(const struct rw_shard *part, int file);

/* Fails with RW_ERR_ARGUMENT if there are several workers and the path is "-", or exists and is not
 * a regular file: each worker that opens a pipe would take data from the others. */
int rw_shard_check_path(struct rw_ctx *ctx, const char *path);

/* ---- checking the workers' shards together ---- */

/* Checks that the workers' documents are one data set: consecutive shards of these files, with the
 * same feature names and the same number of labels per document. If `notice` is 1, also checks that
 * no two queries of any workers have the same id. Each worker's documents receive data that only
 * other workers know: numbers of documents and lines before them, feature names, weights of 1 if
 * other documents have weights, and whether weights are per query. The context receives the largest
 * number of tables that a worker has read. All workers call it, and fail together. */
int rw_together_check(struct rw_ctx *ctx, const char *const *paths, const struct rw_shard *part,
                      int notice, struct rw_dataset *documents);
/* Like rw_data_format_note_clamped, for the sum over all workers, all of which call it. Worker 0
 * logs the note. */
int rw_together_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped);

/* ---- files that are read line by line and are in memory as a whole: side columns, feature names,
 * scores, and TREC's judgments and runs (side_files.c) ---- */

struct rw_line_reader {
    struct rw_input *input; /* kept open, since it owns the name; owned */
    const char *name;       /* the file's name, for messages */
    char *text, *text_end;  /* [text, text_end): the lines without blank ones at the end; owned */
    char *next;             /* start of the line after the current one */
    uint64_t number;        /* number of the current line, from 1; 0: before the first */
    char *begin, *end;      /* the current line without its newline; a 0 replaces the newline */
};
/* Reads the whole file. Close the reader even on failure. */
int rw_line_reader_open(struct rw_ctx *ctx, const char *path, struct rw_line_reader *lines);
/* Advances to the next line. Returns 1, or 0 if there are no more lines. */
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
/* Finds the first `most` words of [at, end), separated by blanks, tabs or carriage returns. Returns
 * the number of all words, which may exceed `most`. */
int rw_line_words(char *at, const char *end, struct rw_word *words, int most);
/* Returns RW_ERR_PARSE with the message that `expected` was expected at the word `found` of the
 * current line. */
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

/* Reads one score per line, a finite number. Fails with RW_ERR_DATA if the file does not have n
 * scores. scores: [n], written. */
int rw_scores_of_lines(struct rw_ctx *ctx, struct rw_line_reader *lines, uint32_t n,
                       double *scores);

/* Compares two struct rw_feature_name by name, for qsort. */
int rw_names_by_name(const void *a, const void *b);
/* Reads lines "ID NAME". Empty lines and lines that begin with '#' are skipped. *out: [*n]
 * ascending by id; the caller frees it (rw_names_free). */
int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n);
