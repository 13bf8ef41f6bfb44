/* The interface that all commands of the program share. Values and results are implemented in
 * result.c, messages and outputs in messages.c, and the command line in main.c, commands.c and
 * help.c. Data and workers are in load.c, rw_train_read in cmd_train.c, and rw_bench_rows in
 * cmd_bench.c. */
#pragma once

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rankwood.h"

struct rw_cli;

/* The result of a command, printed as --format selects: text, JSON, CSV or LaTeX. A result has a
 * JSON document and a list of parts, in the order of the text. A part is a line or a table. The
 * rows of a table are objects of the document, or objects made for the text only. CSV contains the
 * rows of the first table, and of later tables with the same columns, with every digit. LaTeX
 * contains all tables, and the lines as comments. */
enum rw_format { RW_FORMAT_TEXT, RW_FORMAT_JSON, RW_FORMAT_CSV, RW_FORMAT_LATEX };

/* Figures as text. Each text is valid until the thread makes RW_FIGURES more. */
enum { RW_FIGURES = 8 };
/* Formats a figure for people: 6 decimals, 9 significant digits from 1e9 on, or "-" for NaN. */
const char *rw_figure(double value);
/* Like rw_figure, with a sign: "+0.012764". */
const char *rw_figure_signed(double value);
/* Formats a figure with every digit, as rw_exact_text does. */
const char *rw_exact(double value);

/* Returns a JSON string, or null for NULL. If the text is not valid UTF-8, each byte of 128 or more
 * becomes '?'. */
json_t *rw_result_text(const char *text);
/* Returns a JSON number, or null for NaN and infinity, which JSON lacks. */
json_t *rw_result_real(double value);
/* Returns a parameter's value: a number, true or false for on or off, or a string. Strings are
 * words such as "auto", the values of text parameters, and seeds of 2^63 or more. */
json_t *rw_result_param(const char *name, const char *value);
/* Returns an object of the parameters that a model file stores. */
json_t *rw_result_params(struct rw_params *params);
/* Returns an object. keys: "key:kind key:kind ..."; each takes an argument of its kind:
 *   Kind s: text, by rw_result_text.
 *   Kind n: a double, by rw_result_real.
 *   Kind i: an int.
 *   Kind u: an unsigned.
 *   Kind l: a uint64_t.
 *   Kind b: an int, written as true or false.
 *   Kind o: a json_t *, which the object takes over.
 *   Kind O: a json_t *, which the caller keeps as well. */
json_t *rw_result_row(const char *keys, ...);
/* Sets fields of an object. keys: as above. */
void rw_result_set(json_t *object, const char *keys, ...);
/* Appends an object to an array and returns it. keys: as above. */
json_t *rw_result_add(json_t *array, const char *keys, ...);
/* Sorts rows by the falling absolute value of `size`, then by the rising value of `then`. */
void rw_result_sort(json_t *rows, const char *size, const char *then);
/* Writes a CSV value, quoted where RFC 4180 requires it. */
void rw_result_put_csv(FILE *out, const char *text);

/* ---- the parts of the result, added in their order; a program makes one result ---- */
/* Adds a table. Text leaves it out if it has no rows.
 *   title: a line above the table, or NULL.
 *   rows: an array, which the result takes over.
 *   columns: "column;column;...". Each is "key", "key=title" or "key=title=format". The key names
 *   the value in the rows' objects and the column in CSV. An empty title is replaced by the key.
 *   "-key" is a column of CSV only. "+key" is a column that CSV lacks.
 * A column of strings or booleans without a format is left-aligned, others are right-aligned. A
 * true value is "yes", false is empty, and null is "-". Columns with empty cells only are left out.
 * The format of reals is one of printf's, or one of these: empty for rw_figure, "+" for
 * rw_figure_signed, "x" for rw_exact_text, "%" for the percentage of the column's sum. */
void rw_result_rows(const char *title, json_t *rows, const char *columns);
/* Limits the last table to its first `most` rows (0: all) in text and LaTeX. option: the option
 * that shows all rows, as a printf format for their number, a size_t. */
void rw_result_most(int most, const char *option);
/* Adds one or more lines of text. */
void rw_result_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
enum { RW_STREAM_COLUMNS = 32 };
/* The state of a table that is printed row by row. A column is as wide as its title or its widest
 * cell so far. Initialise it with zeros. */
struct rw_result_stream {
    char title[64]; /* title of the table of the last printed row */
    int n, width[RW_STREAM_COLUMNS];
};
/* Prints a row and frees it. Prints the title and the columns before the first row, and where
 * the title or the number of columns changes. Returns nonzero if the row cannot be written. */
int rw_result_show(struct rw_result_stream *stream, const char *title, json_t *row,
                   const char *columns);

/* Returns "--json" or "--format csv" if the format prints all rows, else NULL. */
const char *rw_prints_all(const struct rw_cli *cli);
/* Prints the result in cli->format, to cli->out if it is open, else to standard output. document:
 * the result as JSON. */
void rw_result_print(const struct rw_cli *cli, const json_t *document);

/* ---- messages on standard error, and exit codes ---- */
/* Exit codes of the program. RW_EXIT_MACHINE means that the machine or a device failed (memory, a
 * full disk, a GPU), so that another attempt may succeed. RW_EXIT_GATE is that of compare's
 * --fail-below and check's --fail-above. */
enum rw_exit {
    RW_EXIT_OK = 0,
    RW_EXIT_FAILURE = 1,
    RW_EXIT_USAGE = 2,
    RW_EXIT_MACHINE = 3,
    RW_EXIT_GATE = 4
};

/* The text before each message, "rankwood". Each program defines it. */
extern const char *const rw_msg_program;

/* Sets the amount of messages. quiet: 1 suppresses rw_msg_line. verbose: 1 prints the library's
 * debug lines, too. */
void rw_msg_set(int quiet, int verbose);
/* Suppresses all messages, except failures that only this worker can report. */
void rw_msg_silence(int is_silent);
int rw_msg_is_verbose(void);

/* Prints a name or value from a file. Bytes that would move the cursor, and line ends, become
 * '?'. */
void rw_msg_put(FILE *out, const char *text);

/* Each prints a line such as "rankwood: error: ...", in place of the progress bar. */
void rw_msg_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rw_msg_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rw_msg_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints a line without a prefix, unless messages are quiet. */
void rw_msg_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Reports that memory has run out and exits. */
void rw_no_memory(void) __attribute__((noreturn));
/* Allocates n + 1 zeroed elements, which exist until the program ends. Exits if memory has run out.
 * Any thread may call it. */
void *rw_need(size_t n, size_t size);
/* Returns the array of n elements with room for one more. The array must come from this function,
 * or be NULL with n = 0. */
void *rw_grown(void *array, size_t n, size_t size);
/* rw_copy copies a text. rw_text and rw_text_of format one as printf and vprintf do. The results
 * exist until the program ends. */
char *rw_copy(const char *text);
char *rw_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *rw_text_of(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* Reports an error with the reason for the errno `why`. Returns RW_EXIT_MACHINE for errors such as
 * a full disk, else RW_EXIT_FAILURE. */
int rw_msg_errno(int why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports a failed call and returns the exit code of its status. After wrong usage without a hint,
 * mentions the help as rw_msg_usage does. */
int rw_msg_failed(const struct rw_ctx *ctx, int status, const char *command);
/* Mentions the help of a command, or for NULL that of the program. Returns RW_EXIT_USAGE. */
int rw_msg_usage(const char *command);
/* The library's log callback. */
void rw_msg_log(void *user, enum rw_log_level level, const char *line);

/* ---- a progress bar on standard error: on a terminal, without --quiet, after a second ---- */
/* Returns the seconds of a monotonic clock. */
double rw_progress_clock(void);
/* Starts the time of a bar, which rw_progress_show draws. */
void rw_progress_start(void);
/* Shows that `done` of `total` rounds of `n_docs` documents each are finished. The bar is drawn at
 * most 6 times per second. */
void rw_progress_show(int done, int total, uint32_t n_docs);
/* Shows the progress of calls with this context, if they count their work, until
 * rw_progress_end. */
int rw_progress_follow(struct rw_ctx *ctx);
void rw_progress_end(void);

/* ---- outputs, and the signals that end the program ---- */
/* Opens /dev/null for standard input, output and error if they are closed, so that no other file
 * gets their descriptors. Input and output then fail, as on a closed descriptor. */
void rw_output_open_standard(void);
/* Makes signals that end the program remove its temporary files first. Ignores SIGXFSZ, so that a
 * file over the size limit is an error. */
void rw_output_catch_signals(void);
/* Flushes standard output, unless `code` is that of an earlier failure. Returns `code`, or reports
 * a failed write and returns its code. */
int rw_output_end(int code);

/* ---- Ctrl-C and SIGTERM while a command works in rounds: it ends after the current round ---- */

/* Makes signals set a flag only, with a message if `aloud`. A second Ctrl-C ends the program. */
void rw_interrupts_catch(int aloud);
/* Makes calls with this context show their progress and end soon after a signal. It is meant for
 * commands that have no partial result. */
int rw_interrupts_stop_calls(struct rw_ctx *ctx);
/* Handles a failed call. If a signal ended it, warns and returns the exit code, else returns
 * `status`. kept: a file to name as unchanged, or NULL. */
int rw_interrupts_end(int status, const char *kept);
/* Returns the number of the signal that was caught, 0 if there was no signal. */
int rw_interrupted(void);

/* ---- commands and options: a table per command, and parameters by name from rw_param_info() ----
 */
/* A list of texts. */
struct rw_list {
    const char **text; /* [n] */
    int n;
};

enum rw_option_kind {
    RW_OPTION_FLAG,         /* int *; this kind and those before RW_OPTION_ONCE may be repeated */
    RW_OPTION_LIST,         /* struct rw_list * */
    RW_OPTION_INPUT_SETS,   /* struct rw_list *: input files, with commas between those of a set */
    RW_OPTION_INPUTS_AFTER, /* struct rw_list *: input files, which include the operands after the
                                option */
    RW_OPTION_INPUTS_OR_NONE, /* struct rw_list *: input files; 'none' is not a file */
    RW_OPTION_TEXT,           /* const char ** */
    RW_OPTION_NUMBER,         /* unsigned long long *: a whole number within `range` */
    RW_OPTION_REAL,           /* double * */
    RW_OPTION_LOSS,           /* double *: at least 0 */
    RW_OPTION_CHOICE,         /* int *: the index of the word in `argument`, such as "any|last" */
    RW_OPTION_INPUT,          /* const char **: an input file */
    RW_OPTION_INPUTS,         /* struct rw_list *: input files, with commas between them */
    RW_OPTION_OUTPUT,         /* const char **: an output file */
    RW_OPTION_ONCE = RW_OPTION_TEXT,
};
/* An option of a command. -o is the letter of an option named "output", -h that of "help". */
struct rw_option {
    const char *name;     /* "valid"; NULL ends a table */
    const char *argument; /* "FILE"; NULL: a flag */
    const char *help;
    enum rw_option_kind kind;
    void *value;                 /* unchanged if the option is not given */
    unsigned long long range[2]; /* least and most, of a number */
    int needed;                  /* 1: required */
    /* Input: the option of the output that may replace this file, which is read as a whole
     * before. */
    const char *replaced_by;
    /* Input: a value that is not a file. */
    const char *no_file;
    /* Output: suffix of a second file that the command may write. */
    const char *also;
    /* Options of the command, each between blanks as in " plan refit ", with which this one has no
     * effect. Giving both is an error. */
    const char *idle_with;
    /* Options of the command, each between blanks, of which this one needs at least one. Without
     * any of them, the option would have no effect, which is an error. */
    const char *idle_without;
    int n_given; /* how often it is given; counted in rw_cli.option, not in the command's table */
    const char *former; /* an older name that is still accepted, or NULL */
};

struct rw_cli;
/* A command. Its functions return 0 to continue, an exit code after an error message, or a negative
 * rw_status whose text is in the context. A command's state is static and not freed: the program
 * ends with the command. */
struct rw_command {
    const char *name, *brief; /* "train"; a line of 'rankwood --help' */
    const char *operands;     /* "DATA... -o FILE": the input files. There must be as many as words
                                 before the first option, or more if the last ends with "...". With
                                 several lines, operands are optional. A command with `parts` has
                                 their names here, for messages. */
    const char *about;        /* a description for --help, in one or more lines */
    void (*more)(
        FILE *out,
        const struct rw_command *command); /* adds text to --help after `about`; may be NULL */
    const struct rw_option *options;
    int roles; /* parameters with one of these roles are accepted, except those of RW_ROLE_DATA or
                  _VALIDATION */
    const char *params; /* further accepted parameters, between blanks: " bins absent "; "*": all */
    int (*check)(struct rw_cli *cli); /* runs before anything is read or written; may be NULL */
    int (*run)(struct rw_cli *cli);
    const char *replaced_by; /* output that may replace the first operand, or NULL */
    int has_results;         /* prints results, in the format of --format */
    int has_workers;         /* several workers may run it together */
    const struct rw_command *const
        *parts; /* subcommands, as "bench train", ended by NULL; the command then has no options */
};

/* A command line and the data that the command reads. Both exist until the program ends. */
struct rw_cli {
    const struct rw_command *command;
    struct rw_ctx *ctx;
    struct rw_params *params;
    struct rw_list operands;
    const char *config;            /* --config, or NULL */
    struct rw_list ignore, labels; /* columns of --ignore and --label-columns */
    struct rw_option
        *option; /* [n_options] the command's options, common ones, parameters, and --help last */
    int n_options, n_first; /* n_first: index of the first parameter */
    enum rw_format format;
    struct rw_model *model;
    struct rw_model *init;     /* train: the model that training continues, or NULL */
    struct rw_dataset **valid; /* train: the validation sets */
    struct rw_dataset *dataset;
    struct rw_binned *binned; /* train: the binned data, which owns `dataset`; or NULL */
    struct rw_scorer *scorer;
    struct rw_comm *comm;   /* NULL: a launcher has not started several of these processes */
    struct rw_out_file out; /* removed unless it is committed */
};

/* Returns the result of the call if it is not 0. */
#define RW_STEP(call)               \
    do {                            \
        const int rw_step = (call); \
        if (rw_step != 0)           \
            return rw_step;         \
    } while (0)

/* Finds the command that the line names, and its argc and argv. Returns NULL, and *code as the exit
 * code, if there is no command to run. Each program defines it. */
const struct rw_command *rw_command_find(int *argc, char ***argv, int *code);

/* The commands of `rankwood`, ended by NULL. */
extern const struct rw_command *const rw_commands[];
/* Parses and checks a command line, whose argv[0] is the command, and runs the command. Returns the
 * exit code. */
int rw_command_run(const struct rw_command *command, int argc, char **argv);
/* The manifest of a training: of 'train --manifest', or of 'verify', which repeats a training. */
struct rw_record {
    const char *path;     /* --manifest, or NULL */
    const char *expected; /* verify: the manifest to compare with, or NULL */
    struct rw_params *given;
    struct rw_out_file out;
    char *text;       /* the manifest; it has no model until training ends */
    char *difference; /* verify: the first difference of the data, which ends training, or NULL */
    int code;         /* exit code of a failure, which has been reported, or 0 */
};
/* Begins the manifest as training starts, and compares the data with the expected manifest. */
void rw_record_begin(const struct rw_cli *cli, struct rw_record *record, struct rw_params *used);
/* Adds cli->model, and writes the manifest if it has a path. files: objects of file names by set,
 * and the values of options by name. */
int rw_record_end(struct rw_cli *cli, struct rw_record *record, json_t *files);
/* Runs 'train' without writing a model. Its line has no '-o'. Returns the exit code. */
int rw_train_again(int argc, char **argv, struct rw_record *record);
/* Fills cli->option with the options and parameters of cli->command. */
void rw_options_list(struct rw_cli *cli);
/* Prints candidates for the last of n words (`--complete`). */
void rw_complete(int n, char **word);

/* Returns how often the option is given. */
int rw_is_given(const struct rw_cli *cli, const char *option);
/* Fails with an exit code if the command reads `path`, which it is about to write. */
int rw_options_check_written(const struct rw_cli *cli, const char *path);
/* Parses the whole number of an option. Returns 0, or the exit code after an error message. */
int rw_options_number(const struct rw_cli *cli, const char *option, const char *text,
                      unsigned long long least, unsigned long long most, unsigned long long *value);
/* Reports an error and mentions the command's help. Returns RW_EXIT_USAGE. */
int rw_wrong(const struct rw_cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Returns 'o', 'h', or 0 for an option without a letter. */
int rw_option_letter(const struct rw_option *option);
/* Prints --help in lines of at most 79 columns: the usage, with a line for each line of `operands`,
 * then options and parameters. Sorts the parameters of `cli` by name. */
void rw_help_print(const struct rw_cli *cli);
/* Prints lines of the help. If a line begins with a blank and a name, and two or more blanks
 * separate the name from a text, the text continues below itself. */
void rw_help_lines(FILE *out, const char *text);

void rw_list_add(struct rw_list *list, const char *text);
/* Splits "a,b" into copies of its parts. */
struct rw_list rw_list_of(const char *text);
/* Returns the texts joined by commas. */
const char *rw_joined(const struct rw_list *list);

/* Workers: several workers can run a command together (section "workers" of rankwood.h). They are
 * processes that mpirun or srun has started, or threads of this process. Worker 0 prints and
 * writes. */
enum { RW_WORKERS_MOST_THREADS = 64 }; /* workers of one process */

/* Joins the processes of a launcher, if it has started several and the command supports workers.
 * All workers except 0 are silent from now on. Otherwise it does nothing. */
int rw_workers_join(struct rw_cli *cli);
/* Waits for all workers and combines their return values `code`, so that they all continue or all
 * end. Returns `code` if it is an exit code, else the common status. */
int rw_workers_sync(struct rw_cli *cli, int code);
/* Disconnects this worker from the others. If `code` is a failure below 128, ends the others. */
void rw_workers_leave(struct rw_cli *cli, int code);

/* Returns 1 if this is worker 0, which prints and writes. */
int rw_workers_leads(const struct rw_cli *cli);

/* ---- shared by several commands: reading data, printing figures, warnings ---- */
/* The int that functions below return is that of a command's functions (struct rw_command). */

/* Reads a model for use, and warns if its training was interrupted. */
int rw_load_model(struct rw_cli *cli, const char *path, struct rw_model **out);
/* The columns that tables must have in addition to features. */
enum rw_load_kind {
    RW_LOAD_ALL,             /* labels and query ids */
    RW_LOAD_SCORES_BY_QUERY, /* without labels */
    RW_LOAD_SCORES           /* without labels, and query ids are optional */
};
/* Sets how CSV and TSV files are read from now on, from the parameters. Named features get the ids
 * of `like` if it is not NULL, else those of `model`. */
int rw_load_columns(struct rw_cli *cli, const struct rw_dataset *like, const struct rw_model *model,
                    enum rw_load_kind kind);
/* Checks after reading that options for tables had an effect. */
int rw_load_check_columns(struct rw_cli *cli);
/* Reads files as one dataset. Named features get the ids of cli->dataset if it is set, else those
 * of cli->init or cli->model. by_codes: reads codes instead of values, for a validation set of
 * cli->binned. With --verbose, prints time and memory. */
int rw_load_dataset(struct rw_cli *cli, const struct rw_list *files, int by_codes,
                    struct rw_dataset **out);
/* Reads cli->dataset with the side columns that the parameters name. Except for trainings, also
 * calls rw_load_check_columns. */
int rw_load_weighted(struct rw_cli *cli, const struct rw_list *files);
/* Like rw_load_weighted, after reading the model, which is the first operand. files: NULL for the
 * other operands. Warns of features that the data lacks. */
int rw_load_model_and_data(struct rw_cli *cli, const struct rw_list *files);
/* Reads cli->binned from the operands. Its documents, with side columns, become cli->dataset. */
int rw_train_read(struct rw_cli *cli);
/* ---- the file of 'train --log' (train_log.c) ----
 *
 * Without rw_train_log_open, these functions do nothing. */
/* Opens the log. resumes: 1 keeps its content until rw_train_log_begin; 0 empties it. Returns 0, or
 * the exit code after an error message. */
int rw_train_log_open(const char *path, int resumes);
int rw_train_log_is_open(void);
/* Starts the log of a training that resumes after `round`. Removes lines written after the
 * checkpoint, whose note this is. Starts from an empty file if the note is not about a log, or is
 * about a longer log. */
void rw_train_log_begin(const char *note, int round);
/* Makes later lines count, those before are dropped. Returns the round after which the training
 * resumes; 0: it does not resume. */
int rw_train_log_start(void);
/* Writes a line and flushes it, so that other programs can follow the log. Takes the record. */
void rw_train_log_write(json_t *record);
/* Returns the size of the log, as "log 1234", for a checkpoint; "" if the log is not a regular
 * file. Valid until the next call. */
const char *rw_train_log_note(void);
/* Closes the log. run_failed: 1 if neither a model, a partial model nor a checkpoint was written.
 * The log is then removed, unless --resume found a checkpoint to continue from. Returns 0, or the
 * exit code after an error message if the log of a run that did not fail could not be written. */
int rw_train_log_close(int run_failed);

/* Reads the side columns that the parameters name into cli->dataset. */
int rw_load_side_columns(struct rw_cli *cli);
/* Ends the stage of reading these files. */
void rw_load_end_reading(const struct rw_list *files);
/* Reports the number of documents and queries of all workers together, and of features for
 * cli->dataset. size: receives documents and queries, or NULL. */
int rw_load_report_size(struct rw_cli *cli, const char *set, const struct rw_list *files,
                        const struct rw_dataset *data, uint64_t size[2]);
/* Returns the number of features of the training set. */
uint32_t rw_load_n_features(const struct rw_cli *cli);
/* Reads the scores of cli->dataset's documents from a file of numbers or a TREC run. Warns of
 * documents that a run leaves out, and of its lines for unknown queries. */
int rw_load_scores(struct rw_cli *cli, const char *path, double *scores);
/* Parses --trees N, the first N trees of cli->model. text: NULL for all trees. */
int rw_load_n_trees(struct rw_cli *cli, const char *text, int *n_trees);
/* Fails on an unknown program, and if `empty`, `ties` or `relevant` is set, which the conventions
 * of the program replace. */
int rw_load_check_like(const struct rw_cli *cli, const char *like);

/* Checks the options for TREC files, --qrels and --run, which replace data. Fails on options
 * without an effect on judgments. *like: the program as given, or NULL. NULL becomes "trec", for
 * trec_eval's conventions. "rankwood" becomes NULL, for Rankwood's parameters. */
int rw_load_check_qrels(const struct rw_cli *cli, const char **like);
/* Reads the files. Warns of queries that a run lacks, and of those without judgments. */
int rw_load_qrels(const struct rw_cli *cli, const char *qrels, const struct rw_list *runs,
                  struct rw_qrels **out);

/* Adds a line that describes a model's calibration. Returns it as JSON. */
json_t *rw_load_calibration(const struct rw_calibration *map);
/* Returns an array of an evaluation's metrics. */
json_t *rw_load_json_metrics(const struct rw_eval *eval);

/* --fold-by and --split-time, or NULL. Readers of tables keep the text of this column. */
extern const char *rw_load_fold_by, *rw_load_split_time;
#define RW_OPTION_FOLD_BY                                                                         \
    "fold-by", "COLUMN|FILE",                                                                     \
        "keep queries with equal texts, such as one search text, together; a column of a table, " \
        "or a file of lines 'QUERY TEXT'",                                                        \
        RW_OPTION_INPUT, .value = &rw_load_fold_by
/* Returns the groups of --fold-by in *groups: [queries], NULL without the option, and prints their
 * number. Says what folds of the training set may separate if click data has no groups. */
int rw_load_groups(struct rw_cli *cli, const struct rw_dataset *data, const uint32_t **groups);

#define RW_TIES_ADVICE "; '--ties mean' does not depend on the order"
/* Warns if the order of tied documents changes a metric by more than 0.001. Only the first such
 * call of the program warns. moved: the change. set: a name for the scores. advice: RW_TIES_ADVICE
 * or "", appended to the warning. */
void rw_load_warn_moved(const char *set, const char *metric, double moved, const char *advice);
/* Calls rw_load_warn_moved for each metric of the evaluation. */
void rw_load_warn_ties(const struct rw_eval *eval, const char *set, const char *advice);
/* Warns of features that matter to cli->model but never occur in cli->dataset, which must be
 * complete. Data from a table is not checked, since a table has all its columns. */
void rw_load_warn_lacking(const struct rw_cli *cli);

/* Sets the files of *out from the options --checkpoint and --resume, each NULL if not given. */
int rw_load_checkpoints(struct rw_cli *cli, const char *path, const char *resume,
                        struct rw_checkpoints *out);
/* Warns if a checkpoint exists that will be replaced. */
void rw_load_warn_checkpoint(const struct rw_checkpoints *how);
/* Prints a stage's line under --verbose. */
void rw_load_stage(const char *stage, double ms, size_t peak_bytes);
/* Like rw_load_stage, with the time since the last stage ended. "": starts the first stage. */
void rw_load_stage_end(const char *stage);

/* A function such as rw_bench, which runs the suites of `bench` and sends their rows to `row`. */
typedef int (*rw_bench_fn)(struct rw_ctx *ctx, const char *bench,
                           const struct rw_bench_options *options, rw_bench_row_fn row, void *user);
/* Calls `run` and prints its rows. Text is printed as rows arrive, other formats at the end.
 * Returns as functions of a command do. */
int rw_bench_rows(struct rw_cli *cli, const char *bench, rw_bench_fn run,
                  const struct rw_bench_options *options);
