/* The result of a command: its values, its parts, and how they are printed as text, LaTeX, CSV and
 * JSON. cli.h describes results. */
#include "cli/cli.h"

/* ---- values ---- */

/* Returns the next of several buffers, which are reused in turn. */
static char *next_figure(void)
{
    static _Thread_local char room[RW_FIGURES][RW_EXACT_ROOM];
    static _Thread_local unsigned next;
    return room[next++ % RW_FIGURES];
}

static const char *figure_as(const char *format, double value)
{
    char *text = next_figure();
    snprintf(text, RW_EXACT_ROOM, format, value);
    return text;
}

const char *rw_figure(double value)
{
    return isnan(value) ? "-" : figure_as(fabs(value) < 1e9 ? "%.6f" : "%.9g", value);
}

const char *rw_figure_signed(double value)
{
    return isnan(value) ? "-" : figure_as(fabs(value) < 1e9 ? "%+.6f" : "%+.9g", value);
}

const char *rw_exact(double value)
{
    char *text = next_figure();
    rw_exact_text(value, text);
    return text;
}

json_t *rw_result_text(const char *text)
{
    json_t *string = text ? json_string(text) : json_null();
    if (string)
        return string;
    char *plain = rw_copy(text);
    for (char *c = plain; *c; c++)
        *c = (unsigned char)*c >= 128 ? '?' : *c;
    return json_string(plain);
}

json_t *rw_result_real(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *rw_result_param(const char *name, const char *value)
{
    const struct rw_param_info *info;
    int i = 0;
    char *end;
    while ((info = rw_param_info(i)) != NULL && strcmp(info->name, name) != 0)
        i++;
    if (info && (info->type == RW_PARAM_INT || info->type == RW_PARAM_SEED)) {
        errno = 0;
        const long long number = strtoll(value, &end, 10);
        if (end > value && !*end && errno == 0)
            return json_integer(number);
    } else if (info && info->type == RW_PARAM_REAL) {
        const double number = strtod(value, &end);
        if (end > value && !*end && isfinite(number))
            return json_real(number);
    } else if (info && strcmp(info->range, "off|on") == 0) {
        return json_boolean(strcmp(value, "on") == 0);
    }
    return rw_result_text(value);
}

static json_t *next_value(char kind, va_list *args)
{
    switch (kind) {
    case 's':
        return rw_result_text(va_arg(*args, const char *));
    case 'n':
        return rw_result_real(va_arg(*args, double));
    case 'i':
        return json_integer(va_arg(*args, int));
    case 'u':
        return json_integer(va_arg(*args, unsigned));
    case 'l':
        return json_integer((json_int_t)va_arg(*args, uint64_t));
    case 'b':
        return json_boolean(va_arg(*args, int));
    case 'O':
        return json_incref(va_arg(*args, json_t *));
    default:
        return va_arg(*args, json_t *);
    }
}

static json_t *set_fields(json_t *object, const char *keys, va_list *args)
{
    for (size_t n; *keys; keys += n + 2, keys += *keys == ' ') {
        char key[64];
        n = strcspn(keys, ":");
        snprintf(key, sizeof(key), "%.*s", (int)n, keys);
        if (json_object_set_new(object, key, next_value(keys[n + 1], args)) < 0)
            rw_no_memory();
    }
    return object;
}

void rw_result_set(json_t *object, const char *keys, ...)
{
    va_list args;
    va_start(args, keys);
    set_fields(object, keys, &args);
    va_end(args);
}

json_t *rw_result_params(struct rw_params *params)
{
    json_t *object = json_object();
    for (int i = 0; rw_param_info(i); i++) {
        const struct rw_param_info *info = rw_param_info(i);
        const char *value = rw_params_get(params, info->name);
        if (info->model == 1 || (info->model == 2 && strcmp(value, info->default_value) != 0))
            json_object_set_new(object, info->name, rw_result_param(info->name, value));
    }
    return object;
}

json_t *rw_result_row(const char *keys, ...)
{
    va_list args;
    va_start(args, keys);
    json_t *row = set_fields(json_object(), keys, &args);
    va_end(args);
    return row;
}

json_t *rw_result_add(json_t *array, const char *keys, ...)
{
    va_list args;
    va_start(args, keys);
    json_t *row = set_fields(json_object(), keys, &args);
    va_end(args);
    json_array_append_new(array, row);
    return row;
}

struct sorted {
    double size, then;
    json_t *row;
};

static int by_falling_size(const void *a, const void *b)
{
    const struct sorted *x = a, *y = b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return (x->then > y->then) - (x->then < y->then);
}

void rw_result_sort(json_t *rows, const char *size, const char *then)
{
    const size_t n = json_array_size(rows);
    struct sorted *sorted = rw_need(n, sizeof(*sorted));
    for (size_t i = 0; i < n; i++) {
        json_t *row = json_incref(json_array_get(rows, i));
        sorted[i] = (struct sorted){fabs(json_number_value(json_object_get(row, size))),
                                    json_number_value(json_object_get(row, then)), row};
    }
    qsort(sorted, n, sizeof(*sorted), by_falling_size);
    for (size_t i = 0; i < n; i++)
        json_array_set_new(rows, i, sorted[i].row);
}

/* ---- parts ---- */

/* The result: its parts, in the order of the text. */
static struct part {
    const char *text; /* a line, or the title of a table, which may be NULL */
    json_t *rows;     /* NULL: a line */
    const char *columns;
    int most; /* 0: all rows */
    const char *option;
} * part; /* [n_parts] */
static int n_parts;

static void add_part(struct part added)
{
    part = rw_grown(part, (size_t)n_parts, sizeof(*part));
    part[n_parts++] = added;
}

void rw_result_rows(const char *title, json_t *rows, const char *columns)
{
    add_part((struct part){
        .text = title ? rw_copy(title) : NULL, .rows = rows, .columns = rw_copy(columns)});
}

/* A column of a list such as rw_result_rows takes. It points into the list, which is changed. */
struct column {
    const char *key, *title;
    char *format; /* NULL: rw_figure */
    char where;   /* '-': in CSV only; '+': not in CSV */
};

/* Parses the next column and removes it from *list. Returns 0 at the end of the list. */
static int next_column(char **list, struct column *column)
{
    char *text = strsep(list, ";");
    if (!text)
        return 0;
    column->where = *text == '-' || *text == '+' ? *text++ : 0;
    column->key = strsep(&text, "=");
    column->title = text ? strsep(&text, "=") : column->key;
    column->title = *column->title ? column->title : column->key;
    column->format = text;
    return 1;
}

void rw_result_most(int most, const char *option)
{
    part[n_parts - 1].most = most;
    part[n_parts - 1].option = option;
}

void rw_result_line(const char *format, ...)
{
    char *line;
    va_list args;
    va_start(args, format);
    for (char *rest = rw_text_of(format, args); (line = strsep(&rest, "\n")) != NULL;)
        add_part((struct part){.text = line});
    va_end(args);
}

/* ---- text and LaTeX ---- */

/* Writes a text with LaTeX's special characters escaped. Stars after a number, which mark a
 * significant difference, are raised. */
static void put_latex(FILE *out, const char *text)
{
    static const char special[] = "\\~^<>|&%$#_{}";
    static const char *const words[sizeof(special)] = {"textbackslash", "~",           "^",
                                                       "textless",      "textgreater", "textbar"};
    const size_t n = strspn(text, "-+.0123456789"), stars = strspn(text + n, "*");
    const int is_marked = n > 0 && stars > 0 && !text[n + stars];
    for (size_t i = 0; is_marked ? i < n : text[i] != 0; i++) {
        const char *at = strchr(special, text[i]);
        if (at && words[at - special])
            fprintf(out, "\\%s{}", words[at - special]);
        else
            fprintf(out, at ? "\\%c" : "%c", text[i]);
    }
    if (is_marked)
        fprintf(out, "$^{%s}$", text + n);
}

enum { GAP = 2 }; /* blanks between columns */

static void put_line(FILE *out, int is_latex, const char *line)
{
    fputs(is_latex && *line ? "% " : "", out);
    rw_msg_put(out, line);
    fputc('\n', out);
}

static char *cell_text(const struct column *column, const json_t *value, double sum)
{
    const double real = json_real_value(value);
    if (json_is_string(value))
        return rw_copy(json_string_value(value));
    if (json_is_integer(value))
        return rw_text("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (!json_is_real(value))
        return rw_copy(json_is_true(value) ? "yes" : json_is_null(value) ? "-" : "");
    if (!column->format)
        return rw_copy(rw_figure(real));
    if (strcmp(column->format, "+") == 0)
        return rw_copy(rw_figure_signed(real));
    if (strcmp(column->format, "x") == 0)
        return rw_copy(rw_exact(real));
    if (strcmp(column->format, "%") == 0)
        return rw_text("%.2f", sum > 0 ? 100 * real / sum : 0.0);
    return rw_copy(figure_as(column->format, real + 0.0));
}

/* A column's cells as text, and their alignment. */
struct set_column {
    char **cell; /* [1 + rows] the title is first */
    int width, is_left, has_text;
};

static struct set_column set_column(const struct column *column, const json_t *rows, size_t n)
{
    struct set_column set = {.cell = rw_need(n + 1, sizeof(char *))};
    double sum = 0.0;
    for (size_t r = 0; r < json_array_size(rows); r++)
        sum += json_real_value(json_object_get(json_array_get(rows, r), column->key));
    for (size_t r = 0; r <= n; r++) {
        const json_t *value = r ? json_object_get(json_array_get(rows, r - 1), column->key) : NULL;
        set.cell[r] = r ? cell_text(column, value, sum) : rw_copy(column->title);
        set.has_text |= r > 0 && *set.cell[r];
        set.is_left |= !column->format && (json_is_string(value) || json_is_boolean(value));
        set.width = (int)strlen(set.cell[r]) > set.width ? (int)strlen(set.cell[r]) : set.width;
    }
    return set;
}

static void put_row(FILE *out, int is_latex, const struct set_column *columns, int n_columns,
                    size_t row)
{
    int blanks = 0; /* blanks to print before the next text */
    for (int c = 0; c < n_columns; c++) {
        const struct set_column *column = &columns[c];
        const char *text = column->cell[row];
        const int padding = column->width - (int)strlen(text);
        fputs(c && is_latex ? " & " : "", out);
        blanks += column->is_left ? 0 : padding;
        if (*text) {
            fprintf(out, "%*s", is_latex ? 0 : blanks, "");
            (is_latex ? put_latex : rw_msg_put)(out, text);
            blanks = 0;
        }
        blanks += (column->is_left ? padding : 0) + GAP;
    }
    fputs(is_latex ? " \\\\\n" : "\n", out);
}

/* Prints a table. Columns without any value are left out. */
static void print_rows(FILE *out, int is_latex, const struct part *of)
{
    const size_t n = json_array_size(of->rows), most = (size_t)of->most;
    const size_t n_shown = most > 0 && most < n ? most : n;
    char *rest = rw_copy(of->columns), *places = "";
    struct set_column *columns = rw_need(strlen(rest), sizeof(*columns));
    struct column column;
    int n_set = 0;
    while (next_column(&rest, &column)) {
        if (column.where == '-')
            continue;
        columns[n_set] = set_column(&column, of->rows, n_shown);
        if (columns[n_set].has_text)
            places = rw_text("%s%c", places, columns[n_set++].is_left ? 'l' : 'r');
    }
    if (of->text)
        put_line(out, is_latex, of->text);
    if (is_latex)
        fprintf(out, "\\begin{tabular}{%s}\n\\hline\n", places);
    for (size_t r = 0; r <= n_shown; r++) {
        put_row(out, is_latex, columns, n_set, r);
        fputs(is_latex && (r == 0 || r == n_shown) ? "\\hline\n" : "", out);
    }
    fputs(is_latex ? "\\end{tabular}\n" : "", out);
    if (n_shown < n) {
        fprintf(out, "%s... and %zu more: ", is_latex ? "% " : "", n - n_shown);
        fprintf(out, of->option, n);
        fputs(" shows them\n", out);
    }
}

int rw_result_show(struct rw_result_stream *stream, const char *title, json_t *row,
                   const char *columns)
{
    struct set_column set[RW_STREAM_COLUMNS];
    char *rest = rw_copy(columns);
    struct column column;
    json_t *rows = json_array();
    int n = 0;
    json_array_append_new(rows, row);
    while (n < RW_STREAM_COLUMNS && next_column(&rest, &column))
        set[n++] = set_column(&column, rows, 1);
    const int is_new = strcmp(stream->title, title) != 0 || stream->n != n;
    if (is_new) {
        *stream = (struct rw_result_stream){.n = n};
        snprintf(stream->title, sizeof(stream->title), "%s", title);
        printf("\n%s\n", title);
    }
    for (int c = 0; c < n; c++) {
        set[c].width = set[c].width > stream->width[c] ? set[c].width : stream->width[c];
        stream->width[c] = set[c].width;
    }
    for (size_t r = !is_new; r < 2; r++)
        put_row(stdout, 0, set, n, r);
    json_decref(rows);
    return fflush(stdout);
}

static void print_parts(FILE *out, int is_latex)
{
    for (int i = 0; i < n_parts; i++) {
        if (part[i].rows && json_array_size(part[i].rows) == 0)
            continue;
        if (i > 0 && (part[i].rows || part[i - 1].rows))
            fputc('\n', out);
        if (part[i].rows)
            print_rows(out, is_latex, &part[i]);
        else
            put_line(out, is_latex, part[i].text);
    }
}

/* ---- CSV ---- */

void rw_result_put_csv(FILE *out, const char *text)
{
    const int quoted = text[strcspn(text, "\",\r\n")] != 0;
    fputs(quoted ? "\"" : "", out);
    for (; *text; text++)
        fprintf(out, *text == '"' ? "%c\"" : "%c", *text);
    fputs(quoted ? "\"" : "", out);
}

/* Writes a value, or nothing for null. */
static void put_csv(FILE *out, const json_t *value)
{
    if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_string(value))
        rw_result_put_csv(out, json_string_value(value));
    else
        fputs(json_is_real(value)      ? rw_exact(json_real_value(value))
              : json_is_boolean(value) ? (json_is_true(value) ? "true" : "false")
                                       : "",
              out);
}

static void put_csv_row(FILE *out, const char *columns, const json_t *row)
{
    char *rest = rw_copy(columns);
    struct column column;
    for (int n = 0; next_column(&rest, &column);) {
        if (column.where == '+')
            continue;
        fputs(n++ ? "," : "", out);
        if (row)
            put_csv(out, json_object_get(row, column.key));
        else
            rw_result_put_csv(out, column.key);
    }
    fputc('\n', out);
}

static void print_csv(FILE *out)
{
    const char *columns = NULL;
    size_t r;
    json_t *row;
    for (int i = 0; i < n_parts; i++) {
        if (!part[i].rows || (columns && strcmp(columns, part[i].columns) != 0))
            continue;
        if (!columns)
            put_csv_row(out, part[i].columns, NULL);
        columns = part[i].columns;
        json_array_foreach(part[i].rows, r, row) put_csv_row(out, columns, row);
    }
}

/* ---- the document and the output ---- */

const char *rw_prints_all(const struct rw_cli *cli)
{
    return cli->format == RW_FORMAT_JSON  ? "--json"
           : cli->format == RW_FORMAT_CSV ? "--format csv"
                                          : NULL;
}

void rw_result_print(const struct rw_cli *cli, const json_t *document)
{
    static const json_t *printed; /* keeps it reachable for leak checkers */
    FILE *out = cli->out.file ? cli->out.file : stdout;
    printed = document;
    rw_progress_end();
    switch (cli->format) {
    case RW_FORMAT_JSON:
        json_dumpf(printed, out, JSON_INDENT(1));
        fputc('\n', out);
        break;
    case RW_FORMAT_CSV:
        print_csv(out);
        break;
    default:
        print_parts(out, cli->format == RW_FORMAT_LATEX);
    }
}
