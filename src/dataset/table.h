/* Tables in memory (struct rw_table), read as data sets hold values: float32 without infinity and
 * -0, NaN only as RW_MISSING_BITS, and RW_ABSENT_BITS where a column has no value. What is wrong
 * with a value is noted while it is read, and said once all were. */
#pragma once

#include "dataset/dataset.h"

struct rw_table_column {
    uint32_t feature;
    uint32_t index; /* in rw_table.column */
    uint8_t
        is_sparse; /* few documents have it: read by rw_table_entries; else by rw_table_values */
    uint8_t found; /* of values read so far; any thread adds to it */
};

struct rw_table_reader {
    const struct rw_table *table;   /* borrowed */
    struct rw_arena arena;          /* of the arrays here */
    uint32_t n_columns;             /* those that appear */
    struct rw_table_column *column; /* [n_columns] by ascending feature */
    uint32_t *dense, *sparse;       /* [n_dense], [n_sparse] of the columns */
    uint32_t n_dense, n_sparse;
    uint32_t *document; /* [n_docs] of each row of the arrays; NULL: their order is kept */
    uint32_t missing;   /* bits of the value that means missing */
    uint32_t hole;      /* bits of what stands where a dense column has no value */
    /* of a streamed table: */
    const struct rw_table *whole; /* borrowed */
    struct rw_table some;         /* the documents at hand, which are `table` then */
    struct rw_array *array;       /* [n_columns] of them; owned */
    uint32_t first_doc;           /* the first of them; else 0 */
};
/* Checks all but the values. The reader may not be moved; closed also after a failure. */
int rw_table_open(struct rw_ctx *ctx, struct rw_table_reader *reader, const struct rw_table *table);
void rw_table_close(struct rw_table_reader *reader);
/* A data set without features of the table's documents, whose labels and ids are checked, too. */
int rw_table_documents(struct rw_ctx *ctx, const struct rw_table *table, struct rw_dataset **out);
/* Entries of a sparse column. */
uint32_t rw_table_n_entries(const struct rw_table_reader *reader, uint32_t c);

/* Values of n_columns dense columns, column: [n_columns]; those of the k-th go to values + k *
 * stride: [n], of the documents doc[i], or first + i if doc is NULL. Several threads may read. */
void rw_table_values(struct rw_table_reader *reader, const uint32_t *column, uint32_t n_columns,
                     const uint32_t *doc, uint32_t first, uint32_t n, float *values, size_t stride);
/* Of a sparse column the documents, ascending, and their values: [rw_table_n_entries]. Never
 * touches a context. */
int rw_table_entries(struct rw_table_reader *reader, uint32_t c, uint32_t *row, float *value);
/* When all values, or those of the documents at hand, were read: RW_ERR_DATA if one is infinite. */
int rw_table_check(struct rw_ctx *ctx, const struct rw_table_reader *reader);
/* When all were: tells of whole numbers that are no float32 numbers. */
void rw_table_tell(struct rw_ctx *ctx, const struct rw_table_reader *reader);

/* 1: the table's values are not in memory, but come some documents at a time, again in each pass.
 */
int rw_table_is_streamed(const struct rw_table *table);
/* The next documents of a pass over a streamed table, of which `done` were read; 0 begins a pass:
 * they are the reader's table from here on, and numbered from 0. *n: how many they are; 0: all are
 * done. */
int rw_table_next(struct rw_ctx *ctx, struct rw_table_reader *reader, uint32_t done, uint32_t *n);

/* Columns that are read together: a cache line of a row-major array holds so many values. */
enum { RW_TABLE_COLUMNS = 16 };
