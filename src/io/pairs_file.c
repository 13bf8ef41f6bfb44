/* Files of given pairs: "query better worse [weight]" a line. */
#include "base/fpenv.h"
#include "base/mem.h"
#include "base/number.h"
#include "comm/comm.h"
#include "dataset/dataset.h"
#include "dataset/query_ids.h"
#include "io/input.h"
#include "io/own_part.h"
#include "io/trec_lines.h"

enum { QUERY, BETTER, WORSE, WEIGHT, WORDS };

struct reading {
    struct rw_ctx *ctx;
    const struct rw_dataset *dataset;
    struct rw_query_ids ids; /* of this rank's queries */
    struct rw_input *input;  /* owned */
    char *text;              /* owned */
    size_t n_bytes;
    struct rw_given_pair *pair; /* [n_pairs] owned */
    size_t n_pairs, pair_room;
    uint32_t *is_known; /* [n_lines] 1: of a query that a rank has, or of none; owned */
    size_t n_lines, line_room;
};

/* A document's number among those of a query. */
static int take_document(const struct reading *reading, const struct rw_trec_line *line,
                         const struct rw_trec_word *word, size_t query, uint32_t *doc)
{
    const uint32_t *offset = reading->dataset->query_offset + query;
    char digits[16], expected[80];
    uint64_t number = 0;
    if (word->n < sizeof(digits)) {
        snprintf(digits, sizeof(digits), "%.*s", (int)word->n, word->text);
        if (rw_number_whole(digits, offset[1] - offset[0], &number) && number > 0) {
            *doc = offset[0] + (uint32_t)number - 1;
            return RW_OK;
        }
    }
    snprintf(expected, sizeof(expected), "a document of the query, 1 to %u", offset[1] - offset[0]);
    return rw_trec_wrong(reading->ctx, line, word, expected);
}

static int take_weight(const struct reading *reading, const struct rw_trec_line *line,
                       const struct rw_trec_word *word, double *weight)
{
    const char *end = word->text + word->n;
    int clamped;
    if (rw_number_parse_double(word->text, end, weight, &clamped) == end && !clamped &&
        *weight >= 0.0 && *weight <= RW_MAX_WEIGHT)
        return RW_OK;
    return rw_trec_wrong(reading->ctx, line, word, "a weight from 0 to " RW_TEXT(RW_MAX_WEIGHT));
}

/* A line with its words, of which there are n. */
static int take_pair(struct reading *reading, const struct rw_trec_line *line,
                     const struct rw_trec_word *word, int n)
{
    struct rw_given_pair pair = {.weight = 1.0};
    size_t query;
    if (n != WORDS && n != WEIGHT)
        return rw_fail(reading->ctx, RW_ERR_PARSE,
                       "%s:%llu:1: expected 'query better worse' or 'query better worse weight', "
                       "found %d word%s",
                       line->file, (unsigned long long)line->number, n, n == 1 ? "" : "s");
    /* a 0 behind the id, which a blank follows, ends it */
    ((char *)(uintptr_t)word[QUERY].text)[word[QUERY].n] = 0;
    if (!rw_query_ids_find(&reading->ids, word[QUERY].text, &query))
        return RW_OK;
    reading->is_known[reading->n_lines - 1] = 1;
    RW_TRY(take_document(reading, line, &word[BETTER], query, &pair.better));
    RW_TRY(take_document(reading, line, &word[WORSE], query, &pair.worse));
    if (pair.better == pair.worse)
        return rw_trec_wrong(reading->ctx, line, &word[WORSE], "another document than the better");
    if (n == WORDS)
        RW_TRY(take_weight(reading, line, &word[WEIGHT], &pair.weight));
    RW_TRY(RW_GROW(reading->ctx, reading->pair, reading->pair_room, reading->n_pairs + 1));
    reading->pair[reading->n_pairs++] = pair;
    return RW_OK;
}

static int take_lines(struct reading *reading)
{
    struct rw_trec_line line = {.file = rw_input_name(reading->input)};
    for (char *at = reading->text, *end = at + reading->n_bytes; at < end;
         at = (char *)(uintptr_t)line.end + 1) {
        struct rw_trec_word word[WORDS];
        const char *next = memchr(at, '\n', (size_t)(end - at));
        line = (struct rw_trec_line){line.file, line.number + 1, at, next ? next : end};
        RW_TRY(RW_GROW(reading->ctx, reading->is_known, reading->line_room, line.number));
        reading->n_lines = line.number;
        const int n = rw_trec_words(line.begin, line.end, word, WORDS);
        const int is_empty = n == 0 || word[0].text[0] == '#';
        reading->is_known[line.number - 1] = (uint32_t)is_empty;
        if (!is_empty)
            RW_TRY(take_pair(reading, &line, word, n));
    }
    return RW_OK;
}

static int read_file(struct reading *reading, const char *path)
{
    const struct rw_dataset *dataset = reading->dataset;
    size_t index;
    for (uint32_t q = 0; q < dataset->n_queries; q++)
        RW_TRY(
            rw_query_ids_add(reading->ctx, &reading->ids, rw_dataset_query_id(dataset, q), &index));
    RW_TRY(rw_own_part_check_path(reading->ctx, path));
    RW_TRY(rw_input_open(reading->ctx, path, &reading->input));
    RW_TRY(rw_input_read_all(reading->ctx, reading->input, &reading->text, &reading->n_bytes));
    return take_lines(reading);
}

/* Is each line's query one of some rank's, and is there a pair at all? The same on all ranks. */
static int check_known(struct reading *reading)
{
    uint64_t n_pairs = reading->n_pairs;
    RW_TRY(rw_comm_all_reduce(reading->ctx, reading->is_known, reading->n_lines, RW_COMM_U32,
                              RW_COMM_MAX));
    for (size_t i = 0; i < reading->n_lines; i++) {
        if (!reading->is_known[i])
            return rw_fail(reading->ctx, RW_ERR_DATA,
                           "%s:%zu:1: a pair of a query that the data does not have",
                           rw_input_name(reading->input), i + 1);
    }
    RW_TRY(rw_comm_sum(reading->ctx, &n_pairs, 1));
    return n_pairs ? RW_OK
                   : rw_fail(reading->ctx, RW_ERR_DATA,
                             "%s: no pairs: expected lines 'query better worse'",
                             rw_input_name(reading->input));
}

static int give_pairs(struct reading *reading, struct rw_dataset *dataset)
{
    RW_TRY(check_known(reading));
    return rw_dataset_set_pairs(reading->ctx, dataset, reading->pair, reading->n_pairs);
}

int rw_dataset_read_pairs(struct rw_ctx *ctx, struct rw_dataset *dataset, const char *path)
{
    RW_DEFAULT_FPENV;
    struct reading reading = {.ctx = ctx, .dataset = dataset};
    int status = rw_comm_agree(ctx, read_file(&reading, path));
    if (status >= 0)
        status = rw_comm_agree(ctx, give_pairs(&reading, dataset));
    rw_query_ids_release(&reading.ids);
    rw_input_close(reading.input);
    rw_mem_free(reading.text);
    rw_mem_free(reading.pair);
    rw_mem_free(reading.is_known);
    return status;
}
