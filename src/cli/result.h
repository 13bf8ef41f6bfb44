/* The result of a command, printed as --format names: text, JSON, CSV or LaTeX. A result is a
 * document, which is what JSON prints, and parts in the order of the text: tables, whose rows are
 * objects of the document or made for people only, and lines. CSV has the rows of the first table,
 * and of the later ones that have its columns, with every digit; LaTeX has all tables, and the
 * lines as comments. */
#ifndef RW_CLI_RESULT_H
#define RW_CLI_RESULT_H

#include <jansson.h>
#include <stdio.h>

struct rw_cli;

enum rw_format { RW_FORMAT_TEXT, RW_FORMAT_JSON, RW_FORMAT_CSV, RW_FORMAT_LATEX };

/* A figure as people read it, the same wherever it is printed: 6 decimals, "-" for no value. */
enum { RW_FIGURE_ROOM = 32 };
const char *rw_figure(double value, char buffer[RW_FIGURE_ROOM]);
/* "+0.012764" */
const char *rw_figure_signed(double value, char buffer[RW_FIGURE_ROOM]);

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
/* Adds such an object to an array, and returns it. */
json_t *rw_result_add(json_t *array, const char *keys, ...);
/* Adds the fields of `more`, which is freed. */
void rw_result_extend(json_t *object, json_t *more);
/* RFC 4180: in quotes where it must be. */
void rw_result_put_csv(FILE *out, const char *text);

/* Zero-initialise. */
struct rw_result {
    json_t *document;            /* owned */
    struct rw_result_part *part; /* [n] owned */
    int n;
};
/* Adds a table, which text has only if there are rows; title: NULL or a line above it. rows: an
 * array, which becomes the result's. columns: "column;column;...", each the key that it has in the
 * rows' objects and in CSV's head, or "key=title", or "key=title=format" (an empty title is the
 * key). "-key" is a column of CSV only,
 * "+key" one that CSV has not. Text is left-aligned, but with a format; numbers are right-aligned,
 * true is "yes" and false is empty, null is "-". The format of reals is rw_figure's, or "+":
 * rw_figure_signed's, "x": rw_exact_text's, "%": the percentage of the column's sum, or printf's.
 */
void rw_result_rows(struct rw_result *result, const char *title, json_t *rows, const char *columns);
/* Text and LaTeX have only the first `most` rows of the table that was added last. option: the one
 * that shows all, for printf with their number, a size_t. */
void rw_result_most(struct rw_result *result, int most, const char *option);
/* Adds a line, or several. */
void rw_result_line(struct rw_result *result, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
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
/* Prints it as cli->format names, and frees it. */
void rw_result_print(const struct rw_cli *cli, struct rw_result *result, FILE *out);

#endif
