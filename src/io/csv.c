/* Reads CSV and TSV: records of fields separated by commas or tabs, quoted or not, according to RFC
 * 4180. A quote within a field that does not begin with a quote is an ordinary character. */
#include "io/text.h"

#include <stdlib.h>
#include <strings.h>

#include "comm/comm.h"
#include "io/csv_field.h"
#include "io/data_format.h"

/* The longest record. A longer one is most likely missing a closing quote. */
enum { MOST_RECORD = 1 << 26 };

enum role { FEATURE, IGNORED, LABEL, MORE_LABEL, QUERY, QUERY_TEXT, WEIGHT };
struct column {
    enum role role;
    /* feature: its index among those that are read, ascending by id; further label: its number from
     * 0 */
    uint32_t slot;
    int is_word;    /* feature: 1: its values are words, texts that are categories */
    int is_ignored; /* 1: selected by the parameter 'ignore', or further labels that are not read */
    int64_t id;     /* feature id; -1: not read */
    char *title;    /* name in the header; NULL: there is no header */
};
/* The columns of a file, according to its header and the context's settings. */
struct rw_csv_layout {
    struct rw_arena arena; /* owns column, feature, name and the titles */
    char separator;
    int has_header, n_more_labels;
    uint32_t n_columns, n_slots;  /* n_slots: number of features that are read */
    struct column *column;        /* [n_columns] */
    uint16_t *feature;            /* [n_slots] ids, ascending */
    struct rw_feature_name *name; /* [n_slots] by ascending id; NULL: no header */
    int by_name; /* 1: features are found by the names in a model or in another data set */
    struct rw_vocabulary *vocabulary; /* of the context; NULL: no feature has words; borrowed */
};

static int is_word(const struct rw_csv_field *field, const char *word)
{
    const size_t n = (size_t)(field->end - field->begin);
    return n == strlen(word) && strncasecmp(field->begin, word, n) == 0;
}

/* Returns 1 if the trimmed field is empty, NA or NaN. */
static int is_missing(const struct rw_csv_field *inner)
{
    return inner->begin == inner->end || is_word(inner, "NA") || is_word(inner, "NaN");
}

/* Returns 1 if the field is a number. */
static int is_number(const struct rw_csv_field *field)
{
    const struct rw_csv_field inner = rw_csv_trimmed(field);
    double value;
    int clamped;
    return rw_number_parse_double(inner.begin, inner.end, &value, &clamped) == inner.end;
}

/* ---- the first record ---- */

struct header {
    struct rw_ctx *ctx;
    const char *name;                 /* name of the file; borrowed */
    struct rw_table_columns *columns; /* borrowed, or the defaults */
    struct rw_csv_layout *layout;
    const char *text, *end;     /* text of the record */
    struct rw_csv_field *field; /* [layout->n_columns] in the layout's arena */
    size_t field_room;
};

/* Fails with RW_ERR_PARSE at a column of the first record. */
__attribute__((format(printf, 3, 4))) static int bad(const struct header *h, uint32_t column,
                                                     const char *format, ...)
{
    const struct rw_csv_field *field = &h->field[column];
    char text[2048];
    RW_FORMAT_ARGS(text, format);
    return rw_fail(h->ctx, RW_ERR_PARSE, "%s:1:%zu: %s", h->name,
                   (size_t)(field->begin - h->text) - (field->is_quoted != 0) + 1, text);
}

/* Splits the first record into fields, and allocates the columns. */
static int split(struct header *h)
{
    struct rw_csv_layout *layout = h->layout;
    const char *p = h->text;
    do {
        RW_TRY(RW_ARENA_GROW(h->ctx, &layout->arena, h->field, h->field_room,
                             (size_t)layout->n_columns + 1));
        struct rw_csv_field *field = &h->field[layout->n_columns++];
        *field = rw_csv_field_at(p, h->end, layout->separator);
        if (field->wrong)
            return rw_fail(h->ctx, RW_ERR_PARSE, "%s:1:%zu: expected %s", h->name,
                           (size_t)(field->wrong - h->text) + 1, field->expected);
        p = field->next + 1;
    } while (p <= h->end && p[-1] == layout->separator);
    return RW_ARENA_NEW(h->ctx, &layout->arena, layout->column, layout->n_columns);
}

/* Parses "3" or "3-7", with numbers from 1. Returns 1 on success. */
static int parse_range(const char *text, unsigned long *first, unsigned long *last)
{
    char *end;
    if ((unsigned char)(*text - '0') > 9)
        return 0;
    *first = *last = strtoul(text, &end, 10);
    if (*end == '-' && (unsigned char)(end[1] - '0') <= 9)
        *last = strtoul(end + 1, &end, 10);
    return *end == 0;
}

/* Returns 1 if each of n texts is NULL, a column number or a range of them. */
static int are_numbers(const char *const *texts, int n)
{
    unsigned long first, last;
    while (n > 0 && (!texts[n - 1] || parse_range(texts[n - 1], &first, &last)))
        n--;
    return n <= 0;
}

/* Decides whether there is a header. It is missing if the caller gives columns, all of them by
 * number, and a field of the first record is a number. */
static int find_header(struct header *h)
{
    const struct rw_columns *given = &h->columns->given;
    struct rw_csv_layout *layout = h->layout;
    const int by_number =
        rw_columns_are_given(h->columns) &&
        are_numbers((const char *const[]){given->label, given->qid, given->weight}, 3) &&
        are_numbers(given->ignore, given->n_ignore) &&
        are_numbers(given->more_label, given->n_more_labels);
    layout->has_header = 1;
    for (uint32_t c = 0; by_number && c < layout->n_columns; c++)
        layout->has_header &= !is_number(&h->field[c]);
    for (uint32_t c = 0, is_noted = 0; layout->has_header && c < layout->n_columns; c++) {
        const struct rw_csv_field *field = &h->field[c];
        char *title, **out = &layout->column[c].title;
        RW_TRY(RW_NEW(h->ctx, title, (size_t)(field->end - field->begin) + 1));
        const int has_zero = rw_csv_field_text(field, title) != strlen(title);
        RW_TRY(rw_columns_title(h->ctx, h->name, &layout->arena, title, &is_noted, out));
        if (has_zero)
            return bad(h, c, "expected a name, found a zero byte");
    }
    return RW_OK;
}

/* Returns 1 if all names are numbers or missing values, and one is a number, as in a document. */
static int is_no_header(const struct header *h)
{
    int any_number = 0;
    for (uint32_t c = 0; c < h->layout->n_columns; c++) {
        const struct rw_csv_field inner = rw_csv_trimmed(&h->field[c]);
        if (is_number(&inner))
            any_number = 1;
        else if (!is_missing(&inner))
            return 0;
    }
    return any_number;
}

/* ---- roles of columns ---- */

/* Lists some of the names, for a message. */
static const char *some_names(const struct header *h, char *text, size_t size)
{
    const uint32_t n_columns = h->layout->n_columns;
    size_t n = 0;
    text[0] = 0;
    for (uint32_t c = 0; h->layout->has_header && c < n_columns && c < 8; c++)
        n += (size_t)snprintf(text + n, size - n, "%s'%.40s'", c ? ", " : "",
                              h->layout->column[c].title);
    snprintf(text + n, size - n, "%s", n_columns > 8 ? ", ..." : "");
    return text;
}

/* Finds the columns [*first, *end) for a text: a name or, if no column has that name, a number or
 * range of numbers. Returns 1 if they are found. */
static int find_columns(const struct header *h, const char *text, uint32_t *first, uint32_t *end)
{
    const struct rw_csv_layout *layout = h->layout;
    unsigned long from, to;
    for (uint32_t c = 0; layout->has_header && c < layout->n_columns; c++) {
        if (rw_name_is(layout->column[c].title, text, strlen(text))) {
            *first = c;
            *end = c + 1;
            return 1;
        }
    }
    if (!parse_range(text, &from, &to) || from < 1 || from > to || to > layout->n_columns)
        return 0;
    *first = (uint32_t)from - 1;
    *end = (uint32_t)to;
    return 1;
}

/* Returns the single column for a text, or NULL. */
static struct column *find_column(const struct header *h, const char *text)
{
    uint32_t first, end;
    return find_columns(h, text, &first, &end) && end == first + 1 ? &h->layout->column[first]
                                                                   : NULL;
}

static int no_column(const struct header *h, const char *text, const char *what)
{
    char names[512];
    if (h->layout->has_header)
        return bad(h, 0, "no column '%.64s'%s; the columns are %s", text, what,
                   some_names(h, names, sizeof(names)));
    return bad(h, 0, "no column '%.64s'%s; expected a number from 1 to %u\nhint: %s", text, what,
               h->layout->n_columns,
               "the first line is read as a document, because it contains numbers");
}

/* Assigns a role to a column. given: its name or number; NULL: `name`. may_lack: it is optional. */
static int take_role(struct header *h, const char *given, const char *name, enum role role,
                     int may_lack)
{
    static const char *const what[] = {[LABEL] = " for labels",
                                       [MORE_LABEL] = " for further labels",
                                       [QUERY] = " for query ids",
                                       [QUERY_TEXT] = " for texts of queries",
                                       [WEIGHT] = " for weights"};
    char names[512];
    struct column *column = find_column(h, given ? given : name);
    if (!column && may_lack)
        return RW_OK;
    if (!column && given)
        return no_column(h, given, what[role]);
    if (!column)
        return bad(h, 0,
                   "no column '%s'; the columns are %s\nhint: name the column of %s by the "
                   "parameter '%s-column'",
                   name, some_names(h, names, sizeof(names)), what[role] + 5, name);
    if (column->role != FEATURE)
        return bad(h, (uint32_t)(column - h->layout->column),
                   "the column is given a second time,%s", what[role]);
    column->role = role;
    return RW_OK;
}

/* Returns 1 if columns are selected only by the names of a model or a training set. Column numbers
 * in the parameters then refer to the training file, and are not used. */
static int reads_names_only(const struct header *h)
{
    return h->columns->n_names && h->columns->first_other < 0;
}

/* Assigns the columns of further labels, or ignores them if columns are selected only by names. */
static int take_more_labels(struct header *h)
{
    const struct rw_columns *given = &h->columns->given;
    for (int i = 0; i < given->n_more_labels && !given->no_label; i++) {
        struct column *column = find_column(h, given->more_label[i]);
        if (reads_names_only(h)) {
            if (column)
                column->is_ignored = 1;
            continue;
        }
        RW_TRY(take_role(h, given->more_label[i], "", MORE_LABEL, 0));
        column->slot = (uint32_t)i;
        h->layout->n_more_labels = i + 1;
    }
    return RW_OK;
}

static int take_ignored(struct header *h)
{
    const struct rw_columns *given = &h->columns->given;
    uint32_t c = 0, end = 0;
    for (int i = 0; i < given->n_ignore && !reads_names_only(h); i++) {
        if (find_columns(h, given->ignore[i], &c, &end))
            h->columns->found_ignored[i] = 1;
        else if (!h->columns->may_lack_ignored)
            return no_column(h, given->ignore[i], " to ignore");
        for (; c < end; c++)
            h->layout->column[c].is_ignored = 1;
    }
    return RW_OK;
}

static int take_roles(struct header *h)
{
    const struct rw_columns *given = &h->columns->given;
    RW_TRY(take_role(h, given->label, "label", LABEL, given->no_label));
    RW_TRY(take_role(h, given->qid, "qid", QUERY, given->no_qid));
    RW_TRY(given->weight ? take_role(h, given->weight, "", WEIGHT, given->no_label) : RW_OK);
    RW_TRY(given->query_text ? take_role(h, NULL, given->query_text, QUERY_TEXT, 1) : RW_OK);
    RW_TRY(take_more_labels(h));
    RW_TRY(take_ignored(h));
    for (uint32_t c = 0; c < h->layout->n_columns; c++) {
        struct column *column = &h->layout->column[c];
        column->id = -1;
        h->columns->has_query_text |= column->role == QUERY_TEXT;
        if (column->is_ignored && column->role == FEATURE)
            column->role = IGNORED;
    }
    /* a column with the name for query ids is never a feature, whichever file is read */
    const struct column *second = given->qid && !h->columns->n_names ? find_column(h, "qid") : NULL;
    if (second && second->role == FEATURE)
        return bad(
            h, (uint32_t)(second - h->layout->column),
            "the column 'qid' would be a feature, because 'qid-column' is '%.64s'\nhint: omit "
            "'qid-column' to read query ids from 'qid', or ignore the column ('ignore')",
            given->qid);
    return RW_OK;
}

/* Checks that features have different names, in the form that a model stores. */
static int check_names_in_model(const struct header *h)
{
    const struct rw_csv_layout *layout = h->layout;
    struct rw_feature_name *names RW_FREED = NULL, *in_model = NULL;
    int32_t n = 0;
    RW_TRY(RW_NEW(h->ctx, names, layout->n_columns));
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        if (layout->column[c].role == FEATURE)
            names[n++] = (struct rw_feature_name){c, layout->column[c].title};
    }
    const int status = rw_names_for_model(h->ctx, names, n, &in_model);
    rw_names_free(in_model, n);
    if (status != RW_ERR_DATA)
        return status;
    char why[512];
    snprintf(why, sizeof(why), "%s", rw_last_error(h->ctx));
    return rw_fail(h->ctx, RW_ERR_DATA, "%s:1: %s", h->name, why);
}

/* Checks that the columns that have names and are not ignored have different names. */
static int check_titles(const struct header *h)
{
    struct rw_query_ids seen RW_RELEASED(rw_query_ids_release) = {0}; /* a set of texts */
    uint32_t *column RW_FREED = NULL;
    size_t index;
    RW_TRY(RW_NEW(h->ctx, column, h->layout->n_columns));
    for (uint32_t c = 0; c < h->layout->n_columns; c++) {
        const char *title = h->layout->column[c].title;
        const size_t n = seen.n;
        if (h->layout->column[c].is_ignored || !*title)
            continue;
        const int is_known = rw_query_ids_add(h->ctx, &seen, title, &index);
        RW_TRY(is_known);
        if (is_known)
            return bad(h, c, "column %u has the same name as column %u, '%.64s'", c + 1,
                       column[index] + 1, title);
        column[n] = c;
    }
    return reads_names_only(h) ? RW_OK : check_names_in_model(h);
}

static int no_name(const struct header *h, uint32_t column)
{
    return bad(h, column,
               "column %u has no name\nhint: if it numbers the lines, ignore it ('ignore')",
               column + 1);
}

/* Returns 1 if the column is ignored, or has no name or the default name of labels or query ids. */
static int is_expected(const struct header *h, uint32_t column)
{
    const struct rw_columns *given = &h->columns->given;
    const char *title = h->layout->column[column].title;
    unsigned long first, last;
    for (int i = 0; i < given->n_ignore; i++) {
        if (strcmp(given->ignore[i], title) == 0 || (parse_range(given->ignore[i], &first, &last) &&
                                                     column + 1 >= first && column + 1 <= last))
            return 1;
    }
    return !*title || strcmp(title, "label") == 0 || strcmp(title, "qid") == 0;
}

/* Reports columns that are skipped because no feature has their name, once per data set. */
static void note_extra(const struct header *h)
{
    enum { FEW = 3 };
    char names[FEW * 48] = "";
    size_t at = 0;
    uint32_t n = 0;
    for (uint32_t c = 0; c < h->layout->n_columns; c++) {
        const struct column *column = &h->layout->column[c];
        if (column->role != FEATURE || column->id >= 0 || is_expected(h, c))
            continue;
        if (n++ < FEW)
            at += (size_t)snprintf(names + at, sizeof(names) - at, "%s'%.40s'", n > 1 ? ", " : "",
                                   column->title);
    }
    if (n == 0 || h->columns->has_noted_extra || rw_worker(h->ctx) != 0)
        return;
    h->columns->has_noted_extra = 1;
    rw_log(h->ctx, RW_LOG_NOTE, "%s: %u column%s not among the features, and %s not used: %s%s",
           h->name, n, n > 1 ? "s are" : " is", n > 1 ? "are" : "is", names,
           n > FEW ? ", ..." : "");
}

/* Sets the ids of columns by the names in a model or in another data set. */
static int find_by_name(struct header *h)
{
    const struct rw_table_columns *columns = h->columns;
    struct rw_csv_layout *layout = h->layout;
    int64_t other = columns->first_other;
    uint32_t *found RW_FREED = NULL, n_lacking = 0, first = 0;
    RW_TRY(RW_NEW(h->ctx, found, (size_t)columns->n_names));
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        struct column *column = &layout->column[c];
        int32_t index;
        if (column->role != FEATURE)
            continue;
        RW_TRY(rw_columns_find(h->ctx, columns, column->title, &index));
        if (index >= 0 && found[index])
            return bad(h, c, "columns %u and %u are both feature '%.64s'", found[index], c + 1,
                       columns->name[index].name);
        if (index < 0 && other >= 0 && !column->title[0])
            return no_name(h, c);
        if (index >= 0) {
            found[index] = c + 1;
            column->id = columns->name[index].feature;
        } else if (other >= 0) {
            column->id = other++;
        }
    }
    for (int32_t i = columns->n_names - 1; i >= 0; i--) {
        if (columns->needed[i] && !found[i]) {
            n_lacking++;
            first = (uint32_t)i;
        }
    }
    if (n_lacking) {
        char names[512];
        return rw_fail(h->ctx, RW_ERR_DATA,
                       "'%s' lacks %u feature%s, such as '%.64s'; its columns are %s", h->name,
                       n_lacking, n_lacking == 1 ? "" : "s", columns->name[first].name,
                       some_names(h, names, sizeof(names)));
    }
    if (other < 0)
        note_extra(h);
    return RW_OK;
}

/* Sets the ids of features to 0, 1, ... in the order of columns. */
static int number_features(struct header *h)
{
    int64_t id = 0;
    for (uint32_t c = 0; c < h->layout->n_columns; c++) {
        struct column *column = &h->layout->column[c];
        if (column->role != FEATURE)
            continue;
        if (column->title && !column->title[0])
            return no_name(h, c);
        column->id = id++;
    }
    return RW_OK;
}

/* Numbers the features that are read: slots ascend by id. Other features become ignored columns. */
static int make_slots(struct header *h)
{
    struct rw_csv_layout *layout = h->layout;
    struct column **of RW_FREED = NULL; /* sorted by id */
    uint32_t n = 0;
    int64_t last = -1;
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        struct column *column = &layout->column[c];
        n += column->id >= 0;
        last = column->id > last ? column->id : last;
        if (column->id < 0 && column->role == FEATURE)
            column->role = IGNORED;
    }
    if (n == 0)
        return bad(h, 0, "the file has no column with features");
    if (last > RW_MAX_FEATURE)
        return bad(h, 0, "too many features: %u; expected at most %d", n, RW_FEATURE_IDS);
    RW_TRY(RW_NEW(h->ctx, of, (size_t)last + 1));
    RW_TRY(RW_ARENA_NEW(h->ctx, &layout->arena, layout->feature, n));
    if (layout->has_header)
        RW_TRY(RW_ARENA_NEW(h->ctx, &layout->arena, layout->name, n));
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        if (layout->column[c].id >= 0)
            of[layout->column[c].id] = &layout->column[c];
    }
    for (uint32_t id = 0; id <= (uint32_t)last; id++) {
        if (!of[id])
            continue;
        of[id]->slot = layout->n_slots;
        if (layout->name)
            layout->name[layout->n_slots] = (struct rw_feature_name){id, of[id]->title};
        layout->feature[layout->n_slots++] = (uint16_t)id;
    }
    return RW_OK;
}

/* Determines the columns from the first record. */
static int make_layout(struct header *h)
{
    struct rw_csv_layout *layout = h->layout;
    RW_TRY(split(h));
    if (layout->n_columns == 1 && memchr(h->text, ';', (size_t)(h->end - h->text)))
        return bad(h, 0,
                   "expected columns separated by commas or tabs, found semicolons\nhint: also "
                   "write decimals with a point, not a comma");
    RW_TRY(find_header(h));
    if (layout->has_header && !rw_columns_are_given(h->columns) && is_no_header(h))
        return bad(h, 0,
                   "expected column names, found numbers\nhint: without a header, give columns by "
                   "number, from 1 ('label-column')");
    RW_TRY(take_roles(h));
    if (layout->has_header)
        RW_TRY(check_titles(h));
    layout->by_name = layout->has_header && h->columns->n_names;
    RW_TRY(layout->by_name ? find_by_name(h) : number_features(h));
    RW_TRY(make_slots(h));
    const int status =
        rw_columns_vocabulary(h->ctx, layout->name, (int32_t)layout->n_slots, &layout->vocabulary);
    if (status == RW_ERR_ARGUMENT)
        return rw_fail(h->ctx, status, "%s: %s", h->name, rw_last_error(h->ctx));
    RW_TRY(status);
    for (uint32_t c = 0; c < layout->n_columns; c++) {
        struct column *column = &layout->column[c];
        column->is_word =
            column->role == FEATURE && rw_vocabulary_has(layout->vocabulary, (uint32_t)column->id);
        if (h->columns->given.no_label && column->role != QUERY && column->role != FEATURE)
            column->role = IGNORED; /* neither labels nor weights are read */
    }
    return RW_OK;
}

/* ---- records ---- */

/* The current record, and its data except the values. */
struct record {
    struct rw_text_chunk *chunk;
    struct rw_text_worker *worker;
    const struct rw_csv_layout *layout;
    const char *begin;
    float label, more_label[RW_MAX_LABELS];
    double weight;
    struct taken {
        const char *text, *at; /* text: [n] in the input or the worker's memory; at: its field */
        size_t n;
    } id, query_text;
};

static struct rw_text_found found_in(const struct rw_csv_field *field)
{
    return rw_text_found(field->begin, (size_t)(field->end - field->begin), "an empty field");
}

/* Ends the chunk with an error: the text at `at` is not as expected. Returns NULL. */
static const char *wrong_field(const struct record *record, const struct rw_csv_field *field,
                               const char *at, const char *expected)
{
    return rw_text_wrong(record->chunk, record->begin, at, "expected %s, found %s", expected,
                         found_in(field).text);
}

static const char *wrong_value(const struct record *record, const struct rw_csv_field *field,
                               const struct column *column, const struct rw_csv_field *inner)
{
    char name[64];
    const char *hint = rw_text_value_hint(inner->begin, (size_t)(inner->end - inner->begin),
                                          "\nhint: a missing value is an empty field, NA or NaN");
    if (column->title)
        snprintf(name, sizeof(name), "column '%.40s'", column->title);
    else
        snprintf(name, sizeof(name), "column %u", (uint32_t)(column - record->layout->column) + 1);
    return rw_text_wrong(record->chunk, record->begin, field->begin,
                         "expected a number in %s, found %s%s", name, found_in(field).text,
                         *hint ? hint
                               : "\nhint: ignore columns that are not numbers by 'ignore', or name "
                                 "them in 'categorical'");
}

/* Parses a feature's value. Like the other take_... functions below, returns the position after the
 * field, its separator or line end, or NULL after an error. */
static const char *take_value(const struct record *record, const struct rw_csv_field *field,
                              const struct column *column, float *value)
{
    const struct rw_csv_field inner = rw_csv_trimmed(field);
    int clamped = 0;
    if (is_missing(&inner))
        *value = rw_float_of_bits(RW_MISSING_BITS);
    else if (is_word(&inner, "true") || is_word(&inner, "false"))
        *value = *inner.begin == 't' || *inner.begin == 'T' ? 1.0F : 0.0F;
    else if (rw_number_parse(inner.begin, inner.end, value, &clamped) != inner.end)
        return wrong_value(record, field, column, &inner);
    record->worker->builder.n_clamped += (uint64_t)clamped;
    return field->next;
}

/* Parses a label or further label of the record. */
static const char *take_label(const struct record *record, const struct rw_csv_field *field,
                              float *label)
{
    const struct rw_csv_field inner = rw_csv_trimmed(field);
    int clamped;
    if (rw_number_parse(inner.begin, inner.end, label, &clamped) != inner.end)
        return wrong_field(record, field, field->begin, "a label (a number)");
    if (*label < 0)
        return rw_text_wrong(record->chunk, record->begin, field->begin, RW_TEXT_NEGATIVE_LABEL,
                             found_in(field).text);
    record->worker->builder.n_clamped += (uint64_t)clamped;
    return field->next;
}

static const char *take_weight(struct record *record, const struct rw_csv_field *field)
{
    const struct rw_csv_field inner = rw_csv_trimmed(field);
    int clamped;
    if (rw_number_parse_double(inner.begin, inner.end, &record->weight, &clamped) != inner.end ||
        record->weight < 0 || record->weight > RW_MAX_WEIGHT)
        return wrong_field(record, field, field->begin,
                           "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT));
    return field->next;
}

/* Sets *text, [*n], to a field's text with "" replaced by ". If it contains quotes, it is a copy in
 * the thread's `which`-th buffer. Returns 0 if memory is short, otherwise 1. */
static int unquote(const struct record *record, int which, const struct rw_csv_field *field,
                   const char **text, size_t *n)
{
    struct rw_text_worker *worker = record->worker;
    *text = field->begin;
    *n = (size_t)(field->end - field->begin);
    if (!field->is_quoted || !memchr(*text, '"', *n))
        return 1;
    if (RW_GROW(NULL, worker->unquoted[which].text, worker->unquoted[which].room, *n + 1) < 0) {
        rw_text_chunk_fail(record->chunk, RW_ERR_MEMORY);
        return 0;
    }
    *text = worker->unquoted[which].text;
    *n = rw_csv_field_text(field, worker->unquoted[which].text);
    return 1;
}

/* Takes the query's id, or the text of the query, which becomes the document's comment. */
static const char *take_text(struct record *record, const struct rw_csv_field *field, int is_id)
{
    const struct rw_csv_field inner = rw_csv_trimmed(field);
    if (is_id && inner.begin == inner.end)
        return wrong_field(record, field, field->begin, "a query id");
    for (const char *p = inner.begin; p < inner.end; p++) {
        if (*p == 0 || *p == '\t' || *p == '\n' || *p == '\r')
            return wrong_field(record, field, p,
                               "a query id or text without tabs, line ends or zero bytes");
    }
    struct taken *to = is_id ? &record->id : &record->query_text;
    to->at = field->begin;
    return unquote(record, is_id ? 0 : 2, &inner, &to->text, &to->n) ? field->next : NULL;
}

/* Parses a feature's word and returns its number as the value. */
static const char *take_word(const struct record *record, const struct rw_csv_field *field,
                             float *value)
{
    const struct rw_csv_field inner = rw_csv_trimmed(field);
    size_t n = (size_t)(inner.end - inner.begin);
    const char *word;
    uint32_t number;
    *value = rw_float_of_bits(RW_MISSING_BITS);
    if (is_missing(&inner))
        return field->next;
    if (memchr(inner.begin, 0, n))
        return rw_text_wrong(record->chunk, record->begin, field->begin,
                             "expected a category, found a zero byte");
    if (n > RW_MAX_WORD_BYTES)
        return rw_text_wrong(record->chunk, record->begin, field->begin,
                             "expected a category of at most %d bytes", RW_MAX_WORD_BYTES);
    if (!unquote(record, 1, &inner, &word, &n))
        return NULL;
    const int status = rw_vocabulary_add(record->layout->vocabulary, word, n, &number);
    if (status == RW_ERR_DATA)
        return rw_text_wrong(record->chunk, record->begin, field->begin,
                             "expected at most %d different categories", RW_MAX_WORDS);
    if (status < 0) {
        rw_text_chunk_fail(record->chunk, status);
        return NULL;
    }
    *value = (float)number;
    return field->next;
}

/* Parses a plain number that fills its field. Returns its end, or NULL. */
static inline const char *plain_number(const char *p, const char *end, char separator, float *value,
                                       uint64_t *n_clamped)
{
    int clamped;
    const char *q = rw_number_parse(p, end, value, &clamped);
    if (!q || (q < end && *q != separator && *q != '\n'))
        return NULL;
    *n_clamped += (uint64_t)clamped;
    return q;
}

/* Parses the field of a column at p. */
static const char *take_field(struct record *record, const char *p, const struct column *column)
{
    struct rw_text_chunk *chunk = record->chunk;
    const char separator = record->layout->separator;
    float *value = column->role == FEATURE ? &record->worker->value[column->slot] : NULL;
    if (column->role == FEATURE && !column->is_word) {
        const char *q =
            plain_number(p, chunk->end, separator, value, &record->worker->builder.n_clamped);
        if (q)
            return q;
    }
    const struct rw_csv_field field = rw_csv_field_at(p, chunk->end, separator);
    if (field.wrong) {
        const struct rw_csv_field rest = {.begin = field.wrong, .end = field.next};
        return rw_text_wrong(chunk, record->begin, field.wrong, "expected %s, found %s",
                             field.expected, field.found ? field.found : found_in(&rest).text);
    }
    switch (column->role) {
    case FEATURE:
        return column->is_word ? take_word(record, &field, value)
                               : take_value(record, &field, column, value);
    case LABEL:
        return take_label(record, &field, &record->label);
    case MORE_LABEL:
        return take_label(record, &field, &record->more_label[column->slot]);
    case QUERY:
    case QUERY_TEXT:
        return take_text(record, &field, column->role == QUERY);
    case WEIGHT:
        return take_weight(record, &field);
    case IGNORED:
        break;
    }
    return field.next;
}

static int add_doc(const struct record *record)
{
    struct rw_text_chunk *chunk = record->chunk;
    const struct rw_csv_layout *layout = record->layout;
    struct rw_builder *builder = &record->worker->builder;
    RW_TRY(rw_text_query(chunk, record->begin, record->id.at, record->id.text, record->id.n));
    if (!isnan(record->weight))
        RW_TRY(rw_builder_weight(NULL, builder, record->weight));
    if (layout->n_more_labels)
        RW_TRY(rw_builder_more_labels(NULL, builder, record->more_label, layout->n_more_labels));
    RW_TRY(rw_builder_line(NULL, builder, chunk->n_lines));
    return rw_builder_doc(NULL, builder, record->label, layout->feature, record->worker->value,
                          layout->n_slots, record->query_text.text, record->query_text.n);
}

/* Parses the record at p. Returns the start of the next one, or NULL after an error. */
static const char *parse_record(struct rw_text_chunk *chunk, const char *p)
{
    const struct rw_csv_layout *layout = chunk->text->layout;
    struct record record = {.chunk = chunk,
                            .worker = chunk->worker,
                            .layout = layout,
                            .begin = p,
                            .weight = (double)NAN,
                            .id = {"1", p, 1}};
    const uint32_t n = layout->n_columns;
    const char *end = chunk->end;
    for (uint32_t c = 0;; c++) {
        p = take_field(&record, p, &layout->column[c]);
        if (!p)
            return NULL;
        const int is_last = p == end || *p == '\n';
        if (is_last != (c + 1 == n))
            return rw_text_wrong(chunk, record.begin, p,
                                 "expected %u fields as in the first line, found %s", n,
                                 is_last ? "fewer" : "more");
        if (is_last)
            break;
        p++;
    }
    const int status = add_doc(&record);
    if (status < 0) {
        rw_text_chunk_fail(chunk, status);
        return NULL;
    }
    return p < end ? p + 1 : p;
}

static int parse(struct rw_text_chunk *chunk)
{
    struct rw_text_worker *worker = chunk->worker;
    const char *p = chunk->begin;
    RW_TRY(RW_GROW(NULL, worker->value, worker->value_room, (size_t)chunk->text->layout->n_slots));
    while (p < chunk->end) {
        const char *record = p;
        if (rw_csv_ends_line(p, chunk->end)) /* an empty line */
            p = p + (*p == '\r') < chunk->end ? p + (*p == '\r') + 1 : chunk->end;
        else
            p = parse_record(chunk, p);
        if (!p)
            break;
        chunk->n_lines += rw_text_newlines(record, (size_t)(p - record));
    }
    return RW_OK;
}

/* Returns the length of all complete records. */
static size_t whole_records(const char *text, const char *end, char separator)
{
    const char *p = text;
    for (const char *next; (next = rw_csv_record_end(p, end, separator)) != NULL;)
        p = next;
    return (size_t)(p - text);
}

/* Implements rw_text_kind.ready. A file may begin with a byte order mark. Its first record
 * determines the separator. */
static size_t ready(struct rw_text *text, const char *block, size_t n, int is_first)
{
    const char *end = block + n;
    if (!is_first)
        return whole_records(block, end, text->layout->separator);
    text->blocks.first = rw_csv_mark(block, end);
    text->layout->separator = rw_csv_separator(block + text->blocks.first, end);
    n = whole_records(block + text->blocks.first, end, text->layout->separator);
    return n ? n + text->blocks.first : 0;
}

static const char *line_end(const struct rw_text *text, const char *begin, const char *at,
                            const char *end)
{
    while (begin && begin < at)
        begin = rw_csv_record_end(begin, end, text->layout->separator);
    return begin ? begin : end;
}

/* Determines the columns from the first record. Reading continues after it if it is a header. */
static int open_text(struct rw_ctx *ctx, struct rw_text *text)
{
    struct rw_table_columns none = {.first_other = -1};
    const char *name = rw_input_name(text->input);
    const struct rw_text_block *block = &text->blocks.block[0];
    RW_TRY(RW_NEW(ctx, text->layout, 1));
    struct rw_csv_layout *layout = text->layout;
    RW_TRY(rw_text_begin(ctx, text));
    struct header h = {.ctx = ctx,
                       .name = name,
                       .columns = ctx->columns ? ctx->columns : &none,
                       .layout = layout,
                       .text = block->text + RW_TEXT_PAD + text->blocks.first,
                       .end = block->text + RW_TEXT_PAD + block->n_ready};
    if (h.text >= h.end)
        return rw_fail(ctx, RW_ERR_PARSE,
                       "%s:1:1: expected column names, found the end of the file", name);
    const char *end = rw_csv_record_end(h.text, h.end, layout->separator);
    h.end = end ? end : h.end;
    RW_TRY(make_layout(&h));
    text->vocabulary = layout->vocabulary;
    ctx->n_tables++;
    const size_t n_header = layout->has_header ? (size_t)(h.end - h.text) : 0;
    text->n_lines += rw_text_newlines(h.text, n_header);
    text->blocks.first += n_header;
    return RW_OK;
}

static void close_text(struct rw_text *text)
{
    if (text->layout)
        rw_arena_free(&text->layout->arena);
    rw_mem_free(text->layout);
}

/* Sets a builder's width and by_name, and copies the feature names into the first builder. */
static int finish(struct rw_ctx *ctx, const struct rw_text *text, struct rw_builder *builder)
{
    const struct rw_csv_layout *layout = text->layout;
    builder->width = layout->by_name ? 0 : layout->n_slots;
    builder->by_name = layout->by_name;
    if (text->n_docs > 0 || !layout->name)
        return RW_OK;
    RW_TRY(rw_names_copy(ctx, layout->name, (int32_t)layout->n_slots, &builder->name));
    builder->n_names = (int32_t)layout->n_slots;
    return RW_OK;
}

const struct rw_text_kind rw_csv_text = {.most_line = MOST_RECORD,
                                         .ready = ready,
                                         .line_end = line_end,
                                         .parse = parse,
                                         .open = open_text,
                                         .close = close_text,
                                         .finish = finish};

/* Returns 1 if the first line looks like one of a table: with commas or tabs, and unlike LETOR
 * text. Used only if columns are given (is_named in reader.c). */
static int probe(const unsigned char *head, size_t n_bytes)
{
    const char *text = (const char *)head;
    const char *end = n_bytes ? memchr(text, '\n', n_bytes) : NULL;
    const size_t n = end ? (size_t)(end - text) : n_bytes;
    return n > 0 && *text != '#' && !memmem(text, n, "qid:", 4) && !memchr(text, 0, n) &&
           (memchr(text, ',', n) || memchr(text, '\t', n));
}

const struct rw_data_format rw_data_format_csv = {.name = "csv",
                                                  .probe = probe,
                                                  .endings =
                                                      (const char *const[]){".csv", ".tsv", NULL},
                                                  .text = &rw_csv_text};
