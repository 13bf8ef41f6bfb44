/* Calls of fuzz_calls.c that make data and parameters. */
#include "dataset/dataset.h"
#include "fuzz_calls.h"

static void keep_dataset(struct machine *m, int status, struct rw_dataset *dataset)
{
    if (!made(m, status, &dataset))
        return;
    struct rw_dataset **slot = &m->dataset[below(m, SLOTS)];
    rw_dataset_free(*slot);
    *slot = dataset;
}

/* ---- data ---- */

void make_rows(struct machine *m, struct rows *rows)
{
    memset(rows, 0, sizeof(*rows));
    rows->n_docs = 1 + below(m, DOCS);
    rows->n_features = below(m, FEATURES + 1);
    for (uint32_t i = 0; i < rows->n_docs * rows->n_features; i++)
        rows->value[i] = below(m, 16) == 15 ? NAN : (float)a_number(m);
    for (uint32_t i = 0; i < rows->n_docs; i++)
        rows->label[i] = (float)a_number(m);
    while (rows->offset[rows->n_queries] < rows->n_docs) {
        const uint32_t at = rows->offset[rows->n_queries++] + 1 + below(m, 8);
        rows->offset[rows->n_queries] = at < rows->n_docs ? at : rows->n_docs;
    }
    if (is_odd(m))
        rows->offset[below(m, rows->n_queries + 1)] = fuzz_u32(&m->bytes);
}

void dataset_from_memory(struct machine *m)
{
    struct rows rows;
    struct rw_dataset *dataset = NULL;
    make_rows(m, &rows);
    const uint32_t first = is_odd(m) ? fuzz_u32(&m->bytes) : below(m, 3);
    const int status =
        rw_dataset_from_memory(m->ctx, rows.value, rows.label, rows.offset, rows.n_docs,
                               rows.n_features, rows.n_queries, first, &dataset);
    keep_dataset(m, status, dataset);
}

/* Columns of the rows, some of them backwards or sparse. */
static void make_table(struct machine *m, const struct rows *rows, struct rw_array *array,
                       int32_t *index, uint32_t *order, struct rw_table *table)
{
    *table = (struct rw_table){.n_docs = rows->n_docs,
                               .n_columns = rows->n_features,
                               .column = array,
                               .missing = (float)a_number(m),
                               .label = rows->label,
                               .n_queries = rows->n_queries,
                               .query_offset = rows->offset};
    for (uint32_t i = 0; i < DOCS; i++)
        index[i] = (int32_t)(is_odd(m) ? fuzz_u32(&m->bytes) : i);
    for (uint32_t i = 0; i < DOCS; i++)
        order[i] = is_odd(m) ? fuzz_u32(&m->bytes) : rows->n_docs - 1 - i % rows->n_docs;
    for (uint32_t c = 0; c < rows->n_features; c++) {
        array[c] = (struct rw_array){.data = rows->value + c,
                                     .type = RW_VALUE_F32,
                                     .stride = (ptrdiff_t)(rows->n_features * sizeof(float))};
        if (below(m, 4) == 3) {
            array[c].index = index;
            array[c].n = below(m, rows->n_docs + 1);
        } else if (below(m, 4) == 3) {
            array[c].data = rows->value + (rows->n_docs - 1) * rows->n_features + c;
            array[c].stride = -array[c].stride;
        }
        if (is_odd(m))
            array[c].type = (enum rw_value_type)(RW_VALUE_I8 + (int)below(m, 2) * 3);
    }
    if (below(m, 4) == 3)
        table->order = order;
}

void dataset_from_table(struct machine *m)
{
    struct rows rows;
    struct rw_array array[FEATURES];
    struct rw_table table;
    struct rw_dataset *dataset = NULL;
    int32_t index[DOCS];
    uint32_t order[DOCS];
    make_rows(m, &rows);
    make_table(m, &rows, array, index, order, &table);
    if (below(m, 2) && m->params) {
        rw_binned_free(m->binned);
        m->binned = NULL;
        made(m, rw_binned_from_table(m->ctx, m->params, &table, &m->binned), &m->binned);
    } else {
        const int status = rw_dataset_from_table(m->ctx, &table, &dataset);
        keep_dataset(m, status, dataset);
    }
}

void dataset_from_text(struct machine *m)
{
    struct fuzz_file file;
    struct rw_dataset *dataset = NULL;
    char text[DOCS * 64];
    int n = 0;
    const uint32_t n_docs = 1 + below(m, DOCS);
    for (uint32_t i = 0; i < n_docs; i++) {
        n += snprintf(text + n, sizeof(text) - (size_t)n, "%g qid:%u", (double)below(m, 4), i / 4);
        for (uint32_t f = 1; f <= FEATURES; f++)
            n += snprintf(text + n, sizeof(text) - (size_t)n, " %u:%g", f, (double)below(m, 9) / 4);
        n += snprintf(text + n, sizeof(text) - (size_t)n, "\n");
    }
    fuzz_file_open(&file, (const uint8_t *)text, (size_t)n);
    const char *path = file.path;
    const int status = rw_dataset_read(m->ctx, &path, 1, &dataset);
    keep_dataset(m, status, dataset);
    fuzz_file_close(&file);
}

/* Side columns; some have the wrong length. */
void side_data(struct machine *m)
{
    struct rw_dataset *dataset = a_dataset(m);
    enum { GIVEN = DOCS * 2 + 2, MOST_LABELS = 40 };
    double number[(DOCS + 1) * MOST_LABELS];
    struct rw_given_pair pair[4];
    if (!dataset)
        return;
    for (int i = 0; i < (DOCS + 1) * MOST_LABELS; i++)
        number[i] = i < GIVEN ? a_number(m) : number[i - GIVEN];
    const size_t n = rw_dataset_n_docs(dataset) + (is_odd(m) ? 1 : 0);
    switch (below(m, 6)) {
    case 0:
        done(m, rw_dataset_set_side_column(m->ctx, dataset, "weights", number, n, 1));
        break;
    case 1:
        done(m, rw_dataset_set_side_column(m->ctx, dataset, "query-weights", number,
                                           rw_dataset_n_queries(dataset), 1));
        break;
    case 2:
        done(m, rw_dataset_set_side_column(m->ctx, dataset, "start-scores", number, n, 1));
        break;
    case 3:
        done(m, rw_dataset_set_side_column(m->ctx, dataset, "positions", number, n, 1));
        break;
    case 4:
        done(m, rw_dataset_set_side_column(m->ctx, dataset, "labels", number, n,
                                           is_odd(m) ? (int)below(m, MOST_LABELS) - 2
                                                     : (int)below(m, 2) + 1));
        break;
    default:
        for (int i = 0; i < 4; i++) {
            pair[i].better = below(m, DOCS);
            pair[i].worse = below(m, DOCS);
            pair[i].weight = a_number(m);
        }
        done(m, rw_dataset_set_pairs(m->ctx, dataset, pair, below(m, 5)));
    }
}

void categories(struct machine *m)
{
    static const char *const words[] = {"a", "b", "", "c", "d", "a"};
    struct rw_dataset *dataset = a_dataset(m);
    if (dataset)
        done(m, rw_dataset_set_categories(m->ctx, dataset, below(m, FEATURES + 2), words,
                                          below(m, 7)));
}

void look_at_data(struct machine *m)
{
    const struct rw_dataset *dataset = a_dataset(m);
    float values[DOCS];
    char id[8];
    if (!dataset)
        return;
    rw_dataset_feature(dataset, is_odd(m) ? 65535 : below(m, 6), NAN, values);
    for (uint32_t i = 0; i < rw_dataset_n_docs(dataset); i++) {
        fuzz_check(!isinf(values[i]));
        rw_dataset_doc_id(dataset, i, id, sizeof(id));
        fuzz_check(rw_dataset_comment(dataset, i) != NULL);
    }
    fuzz_check(rw_dataset_query_offsets(dataset)[rw_dataset_n_queries(dataset)] ==
               rw_dataset_n_docs(dataset));
}

/* ---- parameters ---- */

void new_params(struct machine *m)
{
    static const char *const usual[][2] = {
        {"rounds", "3"}, {"leaves", "4"}, {"min-docs", "1"}, {"early-stop", "0"}};
    rw_params_free(m->params);
    m->params = NULL;
    if (!made(m, rw_params_new(m->ctx, &m->params), &m->params))
        return;
    for (int i = 0; i < 4; i++)
        fuzz_check(rw_params_set(m->ctx, m->params, usual[i][0], usual[i][1]) == RW_OK);
}

/* Any parameter but those that name files, threads and devices; a word of its range, or a number.
 */
void set_param(struct machine *m)
{
    static const char *const numbers[] = {
        "0",         "1",     "2",    "3",     "0.5", "0.1", "10",   "1e9",        "64",
        "auto",      "none",  "1:+",  "1,2;3", "1-2", "map", "p@2",  "ndcg@3,mrr", "mean:2",
        "0.3:0.1:3", "1,0.5", "1000", "-1",    "16",  "255", "65536"};
    const struct rw_param_info *info;
    char word[160];
    int n = 0;
    while (rw_param_info(n))
        n++;
    info = rw_param_info((int)below(m, (uint32_t)n));
    const char *value = numbers[below(m, sizeof(numbers) / sizeof(numbers[0]))];
    if (!m->params || strstr(info->argument, "FILE") || strcmp(info->name, "threads") == 0 ||
        strcmp(info->name, "device") == 0)
        return;
    if (info->type == RW_PARAM_CHOICE) {
        snprintf(word, sizeof(word), "%s", info->range);
        char *at = word;
        for (uint32_t skip = below(m, 8); skip > 0 && strchr(at, '|'); skip--)
            at = strchr(at, '|') + 1;
        at[strcspn(at, "|")] = 0;
        value = at;
        done(m, rw_params_set(m->ctx, m->params, info->name, at));
    } else {
        done(m, rw_params_set(m->ctx, m->params, info->name, value));
    }
    fuzz_check(rw_params_get(m->params, info->name) != NULL);
}

void look_at_params(struct machine *m)
{
    struct rw_params *copy = NULL;
    if (!m->params || !made(m, rw_params_copy(m->ctx, m->params, &copy), &copy))
        return;
    done(m, rw_params_check(m->ctx, copy, RW_PARAMS_TRAIN));
    done(m, rw_params_resolve(m->ctx, copy, below(m, 200) * 100, below(m, 200), (int)below(m, 2)));
    done(m, rw_params_check(m->ctx, copy, RW_PARAMS_MEASURE));
    rw_params_free(copy);
}
