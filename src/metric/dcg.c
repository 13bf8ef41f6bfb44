#include "metric/dcg.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/ctx.h"
#include "base/system.h"
#include "dataset/dataset.h"

enum {
    MAX_TABLE = 65536, /* gains in a file */
    MAX_LINE = 256,    /* bytes of a line of it */
    GAINS_CHUNK = 4096 /* documents that a thread takes at a time */
};

/* Gains up to 2^31 keep every sum of a metric inside 128 bits. */
static const double max_gain = 2147483648.0;

/* One number >= 0 alone on a line. `text` has lost its end of line. */
static int parse_gain(const char *text, double *gain)
{
    const char *begin = text + strspn(text, " \t");
    int clamped;
    const char *end = rw_number_parse_double(begin, begin + strlen(begin), gain, &clamped);
    return end && !clamped && !end[strspn(end, " \t")] && *gain >= 0.0 && *gain <= max_gain;
}

static int read_table(struct rw_ctx *ctx, struct rw_gain_rule *rule, FILE *file, const char *path)
{
    char line[MAX_LINE];
    size_t room = 0;
    while (fgets(line, sizeof(line), file)) {
        const size_t bytes = strlen(line);
        const int whole = bytes > 0 && (line[bytes - 1] == '\n' || feof(file));
        line[strcspn(line, "\r\n")] = 0;
        double gain;
        if (!whole || !parse_gain(line, &gain))
            return rw_fail(ctx, RW_ERR_PARSE,
                           "%s:%u:%zu: expected a gain of 0 to 2147483648, found '%.40s'\n"
                           "hint: one number a line: the gain of label 0, 1, 2, ...",
                           path, rule->n_table + 1, strspn(line, " \t") + 1,
                           line + strspn(line, " \t"));
        if (rule->n_table == MAX_TABLE)
            return rw_fail(ctx, RW_ERR_PARSE, "%s: expected at most %d gains", path, MAX_TABLE);
        RW_TRY(RW_GROW(ctx, rule->table, room, (size_t)rule->n_table + 1));
        rule->table[rule->n_table++] = gain + 0.0; /* -0 is 0 */
    }
    if (ferror(file))
        return rw_fail_io(ctx, errno, "%s", path);
    if (rule->n_table == 0)
        return rw_fail(ctx, RW_ERR_PARSE, "%s:1:1: expected the gain of label 0, found nothing",
                       path);
    return RW_OK;
}

/* "table 0 1 3". */
static int is_inline(const char *spec)
{
    return strncmp(spec, "table ", 6) == 0 && spec[6];
}

/* The same, as a file has it. */
static int lines_of(struct rw_ctx *ctx, const char *spec, char **out)
{
    RW_TRY(rw_mem_copy_text(ctx, out, spec + 6));
    for (char *c = *out; *c; c++)
        *c = *c == ' ' ? '\n' : *c;
    return RW_OK;
}

int rw_gain_rule_init(struct rw_ctx *ctx, struct rw_gain_rule *rule, const char *spec)
{
    memset(rule, 0, sizeof(*rule));
    if (strcmp(spec, "exp") == 0) {
        rule->kind = RW_GAIN_EXP;
        snprintf(rule->text, sizeof(rule->text), "2^l - 1");
        return RW_OK;
    }
    if (strcmp(spec, "linear") == 0) {
        rule->kind = RW_GAIN_LINEAR;
        snprintf(rule->text, sizeof(rule->text), "l");
        return RW_OK;
    }
    rule->kind = RW_GAIN_TABLE;
    snprintf(rule->text, sizeof(rule->text), "from %.55s", spec);
    RW_FREED char *lines = NULL;
    if (is_inline(spec))
        RW_TRY(lines_of(ctx, spec, &lines));
    FILE *file = lines ? fmemopen(lines, strlen(lines), "rb") : rw_system_fopen(spec, "rb");
    if (!file) {
        const int why = errno;
        return rw_fail(ctx, rw_fail_io(NULL, why, "%s", spec),
                       "label-gain '%s': %s\nhint: 'exp', 'linear', or a file with the gain of "
                       "label 0, 1, 2, ... one a line",
                       spec, strerror(why));
    }
    const int status = read_table(ctx, rule, file, spec);
    fclose(file);
    if (status < 0)
        rw_gain_rule_release(rule);
    return status;
}

int rw_gain_rule_spec(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const char *spec,
                      char **out)
{
    if (rule->kind != RW_GAIN_TABLE)
        return rw_mem_copy_text(ctx, out, spec);
    char *text;
    RW_TRY(RW_NEW(ctx, text, (size_t)rule->n_table * 32 + 8));
    size_t used = (size_t)snprintf(text, 8, "table");
    for (uint32_t l = 0; l < rule->n_table; l++)
        used += (size_t)snprintf(text + used, 32, " %.17g", rule->table[l]);
    *out = text;
    return RW_OK;
}

void rw_gain_rule_release(struct rw_gain_rule *rule)
{
    rw_mem_free(rule->table);
    rule->table = NULL;
    rule->n_table = 0;
}

/* A label's gain; or 0 and, in `wrong`, what is wrong with it. */
static int gain_of(const struct rw_gain_rule *rule, double label, double *gain, char *wrong,
                   size_t size)
{
    if (!(label >= 0.0 && label <= 2147483648.0))
        return snprintf(wrong, size, "has no gain: expected 0 to 2147483648"), 0;
    switch (rule->kind) {
    case RW_GAIN_EXP:
        if (label > 31.0)
            return snprintf(wrong, size,
                            "is above 31, the most that the gain 2^l - 1 takes\n"
                            "hint: label-gain linear, or a file of gains"),
                   0;
        *gain = rw_exp2(label) - 1.0;
        break;
    case RW_GAIN_LINEAR:
        *gain = label;
        break;
    case RW_GAIN_TABLE:
        if (label >= (double)rule->n_table || label != (double)(uint32_t)label)
            return snprintf(wrong, size,
                            "has no gain: the gains %s are for the whole labels 0 to %u",
                            rule->text, rule->n_table - 1),
                   0;
        *gain = rule->table[(uint32_t)label];
        break;
    }
    return 1;
}

struct gains_job {
    const struct rw_gain_rule *rule;
    const float *label;
    double *gains;
    uint32_t wrong; /* the first document without a gain; n_docs: none */
};

static int find_gains(void *user, struct rw_share *share)
{
    struct gains_job *job = user;
    char wrong[256];
    for (uint64_t i, end; rw_share_next(share, &i, &end);) {
        while (i < end &&
               gain_of(job->rule, (double)job->label[i], &job->gains[i], wrong, sizeof(wrong)))
            i++;
        if (i == end)
            continue;
        rw_share_lock(share);
        if (i < job->wrong)
            job->wrong = (uint32_t)i;
        rw_share_unlock(share);
    }
    return RW_OK;
}

int rw_gains(struct rw_ctx *ctx, const struct rw_gain_rule *rule, const struct rw_dataset *dataset,
             double *gains)
{
    struct gains_job job = {rule, dataset->label, gains, dataset->n_docs};
    RW_TRY(
        rw_parallel(ctx, ctx ? ctx->n_threads : 1, dataset->n_docs, GAINS_CHUNK, find_gains, &job));
    if (job.wrong == dataset->n_docs)
        return RW_OK;
    const double label = (double)dataset->label[job.wrong];
    char wrong[256], where[1024];
    gain_of(rule, label, &gains[job.wrong], wrong, sizeof(wrong));
    rw_dataset_where(ctx, dataset, job.wrong, where, sizeof(where));
    return rw_fail(ctx, RW_ERR_DATA, "%s: label %g %s", where, label, wrong);
}

static int by_falling_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Sorts values of which few are distinct, as gains are, by counting them. Returns 0, and leaves
 * them, if there are more. */
static int sort_few(double *values, uint32_t n)
{
    enum { MOST = 16 };
    double distinct[MOST];
    uint32_t count[MOST], n_distinct = 0, at = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t d = 0;
        while (d < n_distinct && memcmp(&distinct[d], &values[i], sizeof(*values)) != 0)
            d++;
        if (d == MOST)
            return 0;
        if (d == n_distinct) {
            distinct[n_distinct] = values[i];
            count[n_distinct++] = 0;
        }
        count[d]++;
    }
    while (at < n) {
        uint32_t largest = 0;
        while (count[largest] == 0)
            largest++;
        for (uint32_t d = largest + 1; d < n_distinct; d++)
            largest = count[d] > 0 && distinct[d] > distinct[largest] ? d : largest;
        for (; count[largest] > 0; count[largest]--)
            values[at++] = distinct[largest];
    }
    return 1;
}

void rw_sort_falling(double *values, uint32_t n)
{
    if (!sort_few(values, n))
        qsort(values, n, sizeof(*values), by_falling_value);
}

double rw_ideal_dcg(const double *gains, uint32_t n, uint32_t truncation, const double *discounts,
                    double *scratch)
{
    memcpy(scratch, gains, n * sizeof(*scratch));
    rw_sort_falling(scratch, n);
    const uint32_t top = truncation && truncation < n ? truncation : n;
    double sum = 0.0;
    for (uint32_t r = 0; r < top; r++)
        sum += scratch[r] * discounts[r];
    return sum;
}

uint32_t rw_longest_query(const uint32_t *query_offset, uint32_t n_queries)
{
    uint32_t longest = 0;
    for (uint32_t q = 0; q < n_queries; q++) {
        const uint32_t n = query_offset[q + 1] - query_offset[q];
        longest = n > longest ? n : longest;
    }
    return longest;
}

void rw_discounts(double *discounts, uint32_t n)
{
    for (uint32_t r = 0; r < n; r++)
        discounts[r] = rw_discount(r);
}

struct ideal_job {
    const double *gains, *discounts;
    const uint32_t *query_offset;
    uint32_t truncation, longest;
    double *scratch; /* [threads][longest] */
    double *ideal;   /* [n_queries] */
};

static int ideals_of_queries(void *user, struct rw_share *share)
{
    const struct ideal_job *job = user;
    const uint32_t *offset = job->query_offset;
    double *scratch = job->scratch + (size_t)share->thread * job->longest;
    for (uint64_t q, end; rw_share_next(share, &q, &end);) {
        for (; q < end; q++)
            job->ideal[q] = rw_ideal_dcg(job->gains + offset[q], offset[q + 1] - offset[q],
                                         job->truncation, job->discounts, scratch);
    }
    return RW_OK;
}

int rw_ideal_dcgs(struct rw_ctx *ctx, const double *gains, const uint32_t *query_offset,
                  uint32_t n_queries, uint32_t truncation, const double *discounts, double *ideal)
{
    const uint32_t longest = rw_longest_query(query_offset, n_queries);
    struct ideal_job job = {gains, discounts, query_offset, truncation, longest, NULL, ideal};
    RW_FREED double *scratch = NULL;
    RW_TRY(RW_NEW_RAW(ctx, scratch, (size_t)ctx->n_threads * longest));
    job.scratch = scratch;
    return rw_parallel(ctx, ctx->n_threads, n_queries, 64, ideals_of_queries, &job);
}
