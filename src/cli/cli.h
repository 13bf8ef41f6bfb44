/* The program: what its commands share. Values and results (result.c), messages and outputs
 * (messages.c), the command line (main.c), data and workers (load.c). */
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

/* The result of a command, printed as --format names: text, JSON, CSV or LaTeX. A result is a
 * document, which is what JSON prints, and parts in the order of the text: tables, whose rows are
 * objects of the document or made for people only, and lines. CSV has the rows of the first table,
 * and of the later ones that have its columns, with every digit; LaTeX has all tables, and the
 * lines as comments. */
enum rw_format { RW_FORMAT_TEXT, RW_FORMAT_JSON, RW_FORMAT_CSV, RW_FORMAT_LATEX };

/* Figures as text, each valid until RW_FIGURES more are made by the thread. */
enum { RW_FIGURES = 8 };
/* As people read it, the same wherever it is printed: 6 decimals, "-" for no value. */
const char *rw_figure(double value);
/* "+0.012764" */
const char *rw_figure_signed(double value);
/* With every digit: rw_exact_text's. */
const char *rw_exact(double value);

/* A JSON string of any bytes: what is not UTF-8 is shown as '?'. NULL: null. */
json_t *rw_result_text(const char *text);
/* JSON has no NaN or infinity: null. */
json_t *rw_result_real(double value);
/* A parameter's value: a number where it is one, true and false for on and off, else a string
 * ("auto", and a seed of 2^63 or more). */
json_t *rw_result_param(const char *name, const char *value);
/* An object: "key:kind key:kind ...", and a value each. s: rw_result_text; n: a double, as
 * rw_result_real; i: int; u: unsigned; l: uint64_t; b: an int as true or false; o: json_t *, which
 * becomes the object's; O: json_t *, which stays the caller's, too. */
json_t *rw_result_row(const char *keys, ...);
/* Sets such fields of an object. */
void rw_result_set(json_t *object, const char *keys, ...);
/* Adds such an object to an array, and returns it. */
json_t *rw_result_add(json_t *array, const char *keys, ...);
/* Sorts rows by falling size of a number, whatever its sign, then by another, which rises. */
void rw_result_sort(json_t *rows, const char *size, const char *then);
/* RFC 4180: in quotes where it must be. */
void rw_result_put_csv(FILE *out, const char *text);

/* A program makes one result: its parts are added in their order. */
/* Adds a table, which text has only if there are rows; title: NULL or a line above it. rows: an
 * array, which becomes the result's. columns: "column;column;...", each the key that it has in the
 * rows' objects and in CSV's head, or "key=title", or "key=title=format" (an empty title is the
 * key). "-key" is a column of CSV only,
 * "+key" one that CSV has not. Text is left-aligned, but with a format; numbers are right-aligned,
 * true is "yes" and false is empty, null is "-". The format of reals is rw_figure's, or "+":
 * rw_figure_signed's, "x": rw_exact_text's, "%": the percentage of the column's sum, or printf's.
 */
void rw_result_rows(const char *title, json_t *rows, const char *columns);
/* Text and LaTeX have only the first `most` rows of the table that was added last. option: the one
 * that shows all, for printf with their number, a size_t. */
void rw_result_most(int most, const char *option);
/* Adds a line, or several. */
void rw_result_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Text of rows that are printed as they come: a column is as wide as its widest cell so far, or as
 * its title. Zero-initialise. */
enum { RW_STREAM_COLUMNS = 32 };
struct rw_result_stream {
    char title[64]; /* of the last row's table */
    int n, width[RW_STREAM_COLUMNS];
};
/* Prints a row, which is freed, below the title and the columns if it is the table's first.
 * Nonzero: it cannot be written. */
int rw_result_show(struct rw_result_stream *stream, const char *title, json_t *row,
                   const char *columns);

/* "--json" or "--format csv", where all rows are printed; else NULL. */
const char *rw_prints_all(const struct rw_cli *cli);
/* Prints the result as cli->format names, to cli->out where that is open, else to standard output;
 * the document is what JSON has. */
void rw_result_print(const struct rw_cli *cli, const json_t *document);

/* What the program prints on standard error, and the exit codes that go with it. */
/* MACHINE: the machine or a device failed, and trying again may help: memory, a full disk, a GPU.
 * BELOW: compare's --fail-below. */
enum rw_exit {
    RW_EXIT_OK = 0,
    RW_EXIT_FAILURE = 1,
    RW_EXIT_USAGE = 2,
    RW_EXIT_MACHINE = 3,
    RW_EXIT_BELOW = 4
};

/* Stands before each message: "rankwood". The program defines it. */
extern const char *const rw_msg_program;

/* quiet: no notes; verbose: the library's debug lines too. */
void rw_msg_set(int quiet, int verbose);
/* Nothing is printed, but for the failures that only this worker can tell of. */
void rw_msg_silence(int is_silent);
int rw_msg_is_verbose(void);

/* A name or value that a file has: what would move the cursor, a line's end also, is '?'. */
void rw_msg_put(FILE *out, const char *text);

/* "rankwood: error: ..." and so on, one line each, in place of the progress bar. */
void rw_msg_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rw_msg_hint(const char *format, ...) __attribute__((format(printf, 1, 2)));
void rw_msg_warning(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* A line without a prefix, dropped when quiet. */
void rw_msg_line(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints that memory has run out, and ends the program. */
void rw_no_memory(void) __attribute__((noreturn));
/* n elements and one more, zeroed, which stay until the program ends; ends the program where there
 * is no memory. By any thread. */
void *rw_need(size_t n, size_t size);
/* The array of n elements, made so from 0 on, with room for one more. */
void *rw_grown(void *array, size_t n, size_t size);
/* A copy of a text, and a text made by printf, which stay as well. */
char *rw_copy(const char *text);
char *rw_text(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *rw_text_of(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

/* An error with the reason for `why`, an errno; the exit code. */
int rw_msg_errno(int why, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a failed call's text; the exit code for its status. `command`: whose help is pointed to
 * after wrong usage. */
int rw_msg_failed(const struct rw_ctx *ctx, int status, const char *command);
/* Points to a command's help; returns RW_EXIT_USAGE. */
int rw_msg_usage(const char *command);
/* The library's log callback. */
void rw_msg_log(void *user, enum rw_log_level level, const char *line);

/* A progress bar on standard error: only on a terminal, not with --quiet, after a second, at most 6
 * times a second.
 */
/* Seconds of a clock that only goes forward. */
double rw_progress_clock(void);
void rw_progress_start(void);
/* `done` of `total` rounds of `n_docs` documents each are behind us. */
void rw_progress_show(int done, int total, uint32_t n_docs);
/* From now on, up to rw_progress_end, calls with this context that count their work show it. */
int rw_progress_follow(struct rw_ctx *ctx);
void rw_progress_end(void);

/* Outputs of the program, and the signals that end it. */
/* Opens /dev/null for standard input, output and error where they are closed, so that no file gets
 * their numbers. What is read or written there then fails, as it does on a closed descriptor. */
void rw_output_open_standard(void);
/* From now on a signal that ends the program removes its temporary files. */
void rw_output_catch_signals(void);
/* Flushes standard output; `code`, or that of the failure, which is printed. */
int rw_output_end(int code);

/* Ctrl-C and SIGTERM while a command works in rounds: it ends after the round that it is in. */

/* From now on a signal is only noted, and said if `aloud`; a second Ctrl-C ends the program. */
void rw_interrupts_catch(int aloud);
/* From now on a call with this context shows how far it is, and ends soon after a signal, which is
 * only noted: for work of which there is nothing to keep. */
int rw_interrupts_stop_calls(struct rw_ctx *ctx);
/* A call failed: the exit code where a signal has ended it, after a warning; else `status`.
 * kept: a file that stays as it was; NULL: none is named. */
int rw_interrupts_end(int status, const char *kept);
/* The signal's number; 0: there was none. */
int rw_interrupted(void);

/* Commands and their options: a table of a command's own, and parameters by name from
 * rw_param_info(). */
/* Texts in order. */
struct rw_list {
    const char **text; /* [n] */
    int n;
};

enum rw_option_kind {
    RW_OPTION_FLAG,       /* int *; these first ones may be repeated */
    RW_OPTION_LIST,       /* struct rw_list * */
    RW_OPTION_INPUT_SETS, /* struct rw_list *: files that are read, commas between those of a set */
    RW_OPTION_INPUTS_BEHIND,  /* struct rw_list *: files that are read, and the operands behind them
                               */
    RW_OPTION_INPUTS_OR_NONE, /* struct rw_list *: files that are read; 'none' is no file */
    RW_OPTION_TEXT,           /* const char ** */
    RW_OPTION_NUMBER,         /* unsigned long long *: whole, from least to most */
    RW_OPTION_REAL,           /* double * */
    RW_OPTION_LOSS,           /* double *: 0 or more */
    RW_OPTION_CHOICE,         /* int *: the place of the word in `argument`, "any|last" */
    RW_OPTION_INPUT,          /* const char **: a file that is read */
    RW_OPTION_INPUTS,         /* struct rw_list *: such files, commas between them */
    RW_OPTION_OUTPUT,         /* const char **: a file that is written */
    RW_OPTION_ONCE = RW_OPTION_TEXT,
};
/* -o is the letter of an option "output", -h that of "help". */
struct rw_option {
    const char *name;     /* "valid"; NULL ends a table */
    const char *argument; /* "FILE"; NULL: a flag */
    const char *help;
    enum rw_option_kind kind;
    void *value;                 /* stays as it is where the option is not given */
    unsigned long long range[2]; /* of a number: least, most */
    int needed;
    /* An input's: the output that may replace it, since it is read whole before. */
    const char *replaced_by;
    /* An input's: a value that is not a file. */
    const char *no_file;
    /* An output's: the file with this suffix may be written, too. */
    const char *also;
    /* Options of the command, between blanks, with which it has no effect; giving both is refused.
     */
    const char *idle_with;
    /* Options of the command, between blanks, of which it needs one: else it has no effect, and is
     * refused. */
    const char *idle_without;
    int n_given;        /* of the command line's copy: how often */
    const char *former; /* the name that it had before, which is still taken; NULL: none */
};

struct rw_cli;
/* Functions of a command return 0 to continue, an exit code after an error message, or a negative
 * rw_status whose text is in the context. A command's state is static and is not freed: the program
 * ends with it. */
struct rw_command {
    const char *name, *brief; /* "train"; a line of 'rankwood --help' */
    const char
        *operands;     /* "DATA... -o FILE": files that are read, as many as words before the first
                          option, or more after "..."; none are needed where it has several lines */
    const char *about; /* what it does, a line or more */
    void (*more)(
        FILE *out,
        const struct rw_command *command); /* --help prints it after `about`; NULL: nothing */
    const struct rw_option *options;
    int roles;          /* it takes the parameters that have one of these, but not RW_ROLE_DATA or
                           _VALIDATION */
    const char *params; /* and these, between blanks: " bins absent "; "*": all */
    int (*check)(struct rw_cli *cli); /* before anything is read or written; NULL: nothing */
    int (*run)(struct rw_cli *cli);
    const char *replaced_by; /* the output that may replace the first operand; NULL: none may */
    int has_results;         /* it prints some, as --format names */
    int has_workers;         /* several may run it together */
    const struct rw_command *const
        *parts; /* "bench train", ...: has no options then; NULL ends it */
};

/* A command line, and what commands read, which stay until the program ends. */
struct rw_cli {
    const struct rw_command *command;
    struct rw_ctx *ctx;
    struct rw_params *params;
    struct rw_list operands;
    const char *config;            /* --config; NULL: not given */
    struct rw_list ignore, labels; /* columns, of --ignore and --label-columns */
    struct rw_option
        *option; /* [n_options] the command's own, then those of many commands, parameters */
    int n_options, n_first; /* n_first: without parameters and --help, which follow */
    enum rw_format format;
    struct rw_model *model;
    struct rw_model *init;     /* NULL, or what a training goes on from */
    struct rw_dataset **valid; /* a training's validation sets */
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

/* The command that a line names, with its argc and argv; NULL: there is none, and *code is the exit
 * code. Each program has its own. */
const struct rw_command *rw_command_find(int *argc, char ***argv, int *code);

/* How often was this option given? */
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

/* 'o', 'h' or 0. */
int rw_option_letter(const struct rw_option *option);
/* Prints --help, whose lines are at most 79 columns wide: the usage, with a line for each line of
 * `operands`; the options, and parameters, which this sorts by name. */
void rw_help_print(const struct rw_cli *cli);
/* Prints lines of it; of "  name  text", what is too long goes on below the text. */
void rw_help_lines(FILE *out, const char *text);

/* Copies of the parts of "a,b". */
struct rw_list rw_list_of(const char *text);
/* "a,b" */
const char *rw_joined(const struct rw_list *list);

/* Commands that several workers run together (comm in rankwood.h): processes that mpirun or srun
 * has started, each with the whole program, or threads of this process. Worker 0 prints and writes.
 */
enum { RW_WORKERS_MOST_THREADS = 64 }; /* workers of one process */

/* Where a launcher has started several processes of a command that knows workers: the context is
 * one's. All but worker 0 are silent from now on. Does nothing otherwise. */
int rw_workers_join(struct rw_cli *cli);
/* All workers come here with what a function of a command has returned, and go on or end together.
 */
int rw_workers_meet(struct rw_cli *cli, int code);
/* The end of a command: messages are printed. */
void rw_workers_leave(struct rw_cli *cli, int code);

/* Is this the worker that prints and writes? */
int rw_workers_leads(const struct rw_cli *cli);

/* Runs `body` by each of n_workers workers of this process. Worker 0 has `cli` itself, on the
 * calling thread, the others copies without results, which nobody may print with. The exit code, or
 * status, of worker 0; of another that failed, the status. */
int rw_workers_in_threads(struct rw_cli *cli, int n_workers, int (*body)(struct rw_cli *cli));

/* What several commands do alike: read data, print figures, warn. */
/* Functions that return an int return what functions of a command do. */

/* Reads a model that is put to use: warns if its training was interrupted. */
int rw_load_model(struct rw_cli *cli, const char *path, struct rw_model **out);
/* How CSV and TSV are read from now on: by the parameters; features by name, as `like` has them, or
 * else `model`. */
enum rw_load_kind {
    RW_LOAD_ALL,
    RW_LOAD_SCORES_BY_QUERY, /* labels are not read */
    RW_LOAD_SCORES           /* nor need there be query ids */
};
int rw_load_columns(struct rw_cli *cli, const struct rw_dataset *like, const struct rw_model *model,
                    enum rw_load_kind kind);
/* When data was read: options for tables had an effect. */
int rw_load_check_columns(struct rw_cli *cli);
/* Reads files as one dataset: features by name are where cli->dataset has them, if there is one, or
 * else the model. by_codes: without values, as a validation set for cli->binned. With --verbose,
 * prints the time and memory. */
int rw_load_dataset(struct rw_cli *cli, const struct rw_list *files, int by_codes,
                    struct rw_dataset **out);
/* cli->dataset, with the weights that the parameters name. */
int rw_load_weighted(struct rw_cli *cli, const struct rw_list *files);
/* The same of a model, the first operand, and files, NULL for the other operands; warns of features
 * that the data lacks. */
int rw_load_model_and_data(struct rw_cli *cli, const struct rw_list *files);
/* cli->binned, of the operands, and its documents, with their weights, as cli->dataset. */
int rw_train_read(struct rw_cli *cli);
/* Of cli->dataset, which has been read. */
int rw_load_side_columns(struct rw_cli *cli);
/* The stage of reading these files has ended. */
void rw_load_say_read(const struct rw_list *files);
/* Says how many documents and queries all workers have; size: NULL, or they are written to it. Of
 * cli->dataset features, too. */
int rw_load_say_size(struct rw_cli *cli, const char *set, const struct rw_list *files,
                     const struct rw_dataset *data, uint64_t size[2]);
/* Of the training set. */
uint32_t rw_load_n_features(const struct rw_cli *cli);
/* Scores of a file for cli->dataset, numbers or a TREC run: [documents], written. Warns of what a
 * run leaves out. */
int rw_load_scores(struct rw_cli *cli, const char *path, double *scores);
/* --trees N: the first N trees of cli->model, all where `text` is NULL. */
int rw_load_n_trees(struct rw_cli *cli, const char *text, int *n_trees);
/* Refuses an unknown program, and parameters that have no effect on its figures. */
int rw_load_check_like(const struct rw_cli *cli, const char *like);

/* Judgments and runs of TREC files in place of data, --qrels and --run. Refuses what has no effect
 * beside judgments. *like: the program as it was given, NULL if none was; then the one that
 * decides: trec_eval's conventions, unless "rankwood" was given: NULL, by the parameters. */
int rw_load_check_qrels(const struct rw_cli *cli, const char **like);
/* Reads them, and warns of queries that a run lacks, or has without judgments. */
int rw_load_qrels(const struct rw_cli *cli, const char *qrels, const struct rw_list *runs,
                  struct rw_qrels **out);

/* Adds a line that says what a model's map of scores to probabilities is; returns its JSON. */
json_t *rw_load_calibration(const struct rw_calibration *map);
/* An array of the metrics of an evaluation. */
json_t *rw_load_json_metrics(const struct rw_eval *eval);

#define RW_TIES_ADVICE "; '--ties mean' does not depend on the order"
/* Warns of a metric, or the first one, that the order of tied documents moves by more than 0.001:
 * once, however many sets and metrics there are. */
void rw_load_warn_moved(const char *set, const char *metric, double moved, const char *advice);
void rw_load_warn_ties(const struct rw_eval *eval, const char *set, const char *advice);
/* Warns of features that matter to cli->model and that cli->dataset, read to its end, lacks.
 * Columns of a table are all there. */
void rw_load_warn_lacking(const struct rw_cli *cli);

/* A stage's line under --verbose; start: by rw_progress_clock. */
void rw_load_stage(const char *stage, double ms, size_t peak_bytes);
/* The same, with the time since the last one ended; "": begins the first one. */
void rw_load_stage_end(const char *stage);

/* Runs a bench, "train", by `run`, as rw_bench is called, and prints its rows: as tables, as they
 * come, or in another format at the end. Returns as functions of a command do. */
typedef int (*rw_bench_fn)(struct rw_ctx *ctx, const char *bench,
                           const struct rw_bench_options *options, rw_bench_row_fn row, void *user);
int rw_bench_rows(struct rw_cli *cli, const char *bench, rw_bench_fn run,
                  const struct rw_bench_options *options);
