/* Fuzzes click logs. The first byte chooses the model and columns; a byte 1 in the log begins a
 * second file. Any bytes give rates and propensities within their ranges and labels that read back
 * as written, or an error of one line and a hint. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "fuzz_input.h"
#include "io/csv_field.h"

static const char *skip_field(const char *p, const char *end, const char *text)
{
    const struct rw_csv_field field = rw_csv_field_at(p, end, '\t');
    char *copy = malloc((size_t)(field.end - field.begin) + 1);
    fuzz_check(copy && !field.wrong && *field.next == '\t');
    rw_csv_field_text(&field, copy);
    fuzz_check(strcmp(copy, text) == 0);
    free(copy);
    return field.next + 1;
}

/* Writes the labels and reads them. */
static void check_file(struct rw_ctx *ctx, const struct rw_judged *judged)
{
    char *text = NULL;
    size_t n = 0;
    struct rw_out_file out = {.file = open_memstream(&text, &n)};
    fuzz_check(out.file && rw_judged_write_labels(ctx, judged, &out) == RW_OK);
    fuzz_check(rw_judged_write_propensities(ctx, judged, &out) == RW_OK);
    fclose(out.file);
    const char *end = text + n, *p = rw_csv_record_end(text, end, '\t');
    for (uint32_t i = 0; i < judged->n_labels; i++) {
        fuzz_check(p != NULL);
        p = skip_field(p, end, judged->label[i].query);
        p = skip_field(p, end, judged->label[i].document);
        fuzz_check(strtol(p, NULL, 10) == judged->label[i].grade);
        p = rw_csv_record_end(p, end, '\t');
    }
    free(text);
}

static void check(const struct rw_judge *how, const struct rw_judged *judged)
{
    uint64_t n = 0, n_clicks = 0;
    fuzz_check(judged->n_labels > 0 && judged->n_positions > 0 && judged->n_clicks > 0);
    for (uint32_t k = 0; k < judged->n_positions; k++) {
        const struct rw_judged_position *position = &judged->position[k];
        fuzz_check(k == 0 ? position->propensity == 1.0
                          : position->position > judged->position[k - 1].position);
        fuzz_check(position->propensity >= 0 && isfinite(position->propensity));
        fuzz_check(position->low <= position->propensity * (1 + 1e-9) &&
                   position->high >= position->propensity * (1 - 1e-9));
        n += position->n_impressions;
        n_clicks += position->n_clicks;
    }
    fuzz_check(n == judged->n_impressions && n_clicks == judged->n_clicks && n_clicks < n);
    for (uint32_t i = 0; i < judged->n_labels; i++) {
        const struct rw_judged_label *label = &judged->label[i], *before = label - 1;
        const int order = i > 0 ? strcmp(before->query, label->query) : -1;
        fuzz_check(order < 0 || (order == 0 && strcmp(before->document, label->document) < 0));
        fuzz_check(label->n_impressions >= how->min_impressions && isfinite(label->n_examined) &&
                   label->n_clicks <= label->n_impressions);
        fuzz_check(label->rate >= 0 && label->rate <= 1 && label->low >= 0 &&
                   label->low <= label->high && label->high <= 1);
        fuzz_check(label->grade >= 0 && label->grade <= judged->n_thresholds);
    }
}

const char *const fuzz_words[] = {"session,query,document,position,click\n",
                                  "s1,q,A,1,1\ns1,q,B,2,0\ns2,q,B,1,0\ns2,q,A,2,1\n",
                                  "s3\tq\tA\t1\t1\n",
                                  "s4,q,B,1,1\n",
                                  "q,A,1,1\nq,A,2,0\nq,B,2,1\nq,B,1,1\n",
                                  "position",
                                  "click",
                                  "\"a,\"\"b\"",
                                  "\"\"",
                                  "\"\n\"",
                                  "\"",
                                  "\xef\xbb\xbf",
                                  "\r\n",
                                  ",",
                                  "\t",
                                  "0",
                                  "1",
                                  "2",
                                  "65535",
                                  "65536",
                                  "-1",
                                  "\1",
                                  NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    static const char *const model[] = {"pbm", "dbn", "ctr", "dbn"};
    static const char *const columns[] = {RW_JUDGE_COLUMNS, "1,2,3,4,5",
                                          "query,document,position,c", "4,3,2,1"};
    struct rw_judge how = RW_JUDGE_DEFAULTS;
    struct rw_judged *judged;
    struct rw_ctx *ctx;
    struct fuzz_file file[2];
    if (size == 0)
        return 0;
    how.model = model[data[0] % 4];
    how.use_satisfaction = data[0] % 4 == 3;
    how.columns = columns[data[0] / 4 % 4];
    how.thresholds = data[0] / 16 % 2 ? "0.01,0.2" : NULL;
    how.prior = data[0] / 32 % 2 ? 0.0 : 2.0;
    how.min_impressions = data[0] / 64 % 4;
    data++;
    size--;
    const uint8_t *end = size > 0 ? memchr(data, 1, size) : NULL;
    const size_t n = end ? (size_t)(end - data) : size;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK && rw_ctx_set_threads(ctx, 1) == RW_OK);
    fuzz_file_open(&file[0], data, n);
    if (end)
        fuzz_file_open(&file[1], data + n + 1, size - n - 1);
    const char *const paths[] = {file[0].path, file[1].path};
    const int taken = rw_judge_new(ctx, &how, paths, end ? 2 : 1, &judged) == RW_OK;
    if (taken) {
        check(&how, judged);
        check_file(ctx, judged);
        rw_free(judged);
    } else {
        const char *hint = strchr(rw_last_error(ctx), '\n');
        fuzz_check(!judged && rw_last_error(ctx)[0] != 0);
        fuzz_check(!hint || strncmp(hint, "\nhint: ", 7) == 0);
    }
    if (end)
        fuzz_file_close(&file[1]);
    fuzz_file_close(&file[0]);
    rw_ctx_free(ctx);
    return taken;
}
