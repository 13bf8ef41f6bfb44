/* Readers of data. To add one: (1) write io/<name>.c with its rw_data_format_<name>; (2) give it a
 * row in data_formats.def, before letor, which takes everything. The build follows the table, and a
 * file is recognised by its first bytes, or by its name, so every command and the library read the
 * new format. */
#ifndef RW_IO_DATA_FORMAT_H
#define RW_IO_DATA_FORMAT_H

#include "dataset/dataset.h"

struct rw_binned;
struct rw_cache_values;
struct rw_cut_rule;
struct rw_input;
struct rw_seen;
struct rw_builder_list;

/* A part of a file. */
struct rw_range {
    uint64_t begin, end; /* documents, or bytes of text; end: UINT64_MAX is the file's */
    uint64_t n_lines;    /* written at the end: lines that text has there */
};

/* A query's id, copied. Zero-initialise; `text` is rw_mem_free's. */
struct rw_query_text {
    int is_known; /* 0: there is no query */
    char *text;   /* [n] owned */
    size_t n, room;
};
int rw_query_text_set(struct rw_ctx *ctx, struct rw_query_text *query, const char *id, size_t n);
int rw_query_text_is(const struct rw_query_text *query, const char *id, size_t n);

/* How a file is divided where queries begin, so that several ranks can read it. */
struct rw_divided {
    int (*can_divide)(struct rw_input *input);
    /* NULL, or a check of the whole file before it is divided, which all ranks make together. */
    int (*check)(struct rw_ctx *ctx, struct rw_input *input);
    /* The query of the last document that begins before byte `at` of the file. */
    int (*query_before)(struct rw_ctx *ctx, struct rw_input *input, uint64_t at,
                        struct rw_query_text *query);
    /* The first place, as a range has it, from byte `at` on where a document of a query other than
     * `before` begins; UINT64_MAX: there is none. */
    int (*next_query)(struct rw_ctx *ctx, struct rw_input *input, uint64_t at,
                      const struct rw_query_text *before, uint64_t *place);
};

/* A format of data files. A reader gives a file's documents piece by piece, as builders. */
struct rw_data_format {
    const char *name;
    int (*probe)(const unsigned char *head,
                 size_t n_bytes); /* 1: a file that begins so is its own; NULL: all are */
    /* NULL: looked for by probe alone; else how the names of its files end, with or without ".gz",
     * a NULL behind the last; where columns are given (rw_ctx_set_columns), files of other names
     * are its own, too, if probe takes the beginning of their content, unpacked */
    const char *const *endings;
    /* input is borrowed until close, and so are range and seen. range: NULL, or, where `divided`
     * can divide the file, the part of it to read. seen is NULL then; else it is given each query
     * (rw_seen_add) and notices one that comes back; NULL: it is not wanted. */
    int (*open)(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                struct rw_seen *seen, void **state);
    /* Adds the next builders to the list (io/text.h); *more is 0 at the end. A builder that has
     * lines (rw_builder_line) has the file's name, too. */
    int (*next)(struct rw_ctx *ctx, void *state, struct rw_builder_list *list, int *more);
    void (*close)(void *state);
    /* NULL: none; else the whole file, or range, at once, faster than by pieces: as rw_files_read
     */
    int (*whole)(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                 const struct rw_cut_rule *rule, struct rw_binned *out);
    const struct rw_divided *divided; /* NULL: each file is read as a whole, by one rank */
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
        *take;       /* NULL, or what gets the values, which are not kept; then `rule` is NULL */
    void *take_user; /* borrowed */
};
/* Reads all that commands and the library read: rw_dataset_read, as it suits the goal. out: empty;
 * after a failure, too. */
int rw_files_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                  struct rw_read_goal *goal, struct rw_binned *out);
/* The same for a goal that takes the values. *out: the documents of all, without features. */
int rw_files_read_values(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                         rw_take_values_fn *take, void *user, struct rw_dataset **out);
/* rw_dataset_read, but a query id that reappears after others is one more query of that id. */
int rw_dataset_read_split(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                          struct rw_dataset **out);

#endif
