/* CSV and TSV (RFC 4180): whole records, of which a quoted field may hold line ends. */
#pragma once

#include "base/mem.h"
#include "io/text.h"

enum rw_csv_role {
    RW_CSV_IGNORED,
    RW_CSV_FEATURE,
    RW_CSV_LABEL,
    RW_CSV_MORE_LABEL,
    RW_CSV_QUERY,
    RW_CSV_WEIGHT
};
struct rw_csv_column {
    enum rw_csv_role role;
    /* of a feature: its index among those that are read, by ascending id; of a further label: which
     * one it is, from 0 */
    uint32_t slot;
    int is_word; /* of a feature: its values are words */
};
/* What the header says, and what the context asks for. */
struct rw_csv_layout {
    struct rw_arena arena; /* of what follows */
    char separator;
    int has_header, n_more_labels;
    uint32_t n_columns;
    struct rw_csv_column *column; /* [n_columns] */
    char **title;                 /* [n_columns] NULL: no header;  */
    uint32_t n_slots;
    uint16_t *feature; /* [n_slots] ids, ascending */
    uint32_t width;    /* as of the dataset, as is */
    int by_name;
    int32_t n_names;
    struct rw_feature_name *name;     /* [n_names] by ascending id; NULL: no header */
    int no_label;                     /* neither labels nor weights are read */
    struct rw_vocabulary *vocabulary; /* of the words; NULL: there are none; the context's */
};
void rw_csv_layout_release(struct rw_csv_layout *layout);
/* Of the first record, [text, end), by ctx->columns (columns.c). `name`: of the file. */
int rw_csv_layout_make(struct rw_ctx *ctx, const char *name, const char *text, const char *end,
                       struct rw_csv_layout *layout);

/* The longest record: one that does not end has lost a quote. */
enum { RW_CSV_MOST_RECORD = 1 << 26 };
/* The end of the record at p, behind its line's end; NULL: it does not end before `end`. */
const char *rw_csv_record_end(const char *p, const char *end, char separator);
/* What separates the columns: a tab, if one is behind the first field, or else a comma. */
char rw_csv_separator(const char *p, const char *end);

/* One field, and what stands behind it. */
struct rw_csv_field {
    const char *begin, *end; /* without the quotes round it */
    int is_quoted;
    const char *next;  /* at the separator, at the line's end, or at the end of the text */
    const char *wrong; /* NULL, or where what is wrong stands */
    const char *expected, *found;
};
struct rw_csv_field rw_csv_field_at(const char *p, const char *end, char separator);
/* The field's text, with "" as ". to: [end - begin + 1], ended by 0. Returns its length. */
size_t rw_csv_field_text(const struct rw_csv_field *field, char *to);
/* Is there a number, and nothing else? */
int rw_csv_is_number(const struct rw_csv_field *field);
/* An empty field, NA or NaN. */
int rw_csv_is_missing(const struct rw_csv_field *field);

void rw_csv_chunk_parse(struct rw_text_chunk *chunk, struct rw_text_worker *worker);

extern const struct rw_text_kind rw_csv_text;
