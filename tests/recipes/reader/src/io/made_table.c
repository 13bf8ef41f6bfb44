/* Reads a text table whose first line is its name: label, query and a value of each feature from
 * 1 on, separated by tabs. This reader is added to a copy of the tree. */
#include "base/mem.h"
#include "binning/bins.h"
#include "io/data_format.h"
#include "io/input.h"

static const char first_line[] = "made table\n";

struct state {
    struct rw_input *input; /* borrowed */
    const char *at, *end, *line;
    uint64_t n_lines;
};

static int probe(const unsigned char *head, size_t n_bytes)
{
    const size_t n = sizeof(first_line) - 1;
    return n_bytes >= n && memcmp(head, first_line, n) == 0;
}

static int bad(struct rw_ctx *ctx, const struct state *s, const char *expected)
{
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s", rw_input_name(s->input),
                   (unsigned long long)s->n_lines, (size_t)(s->at - s->line) + 1, expected);
}

/* The next field, a number, followed by a tab or the end of the line. */
static int number(struct rw_ctx *ctx, struct state *s, struct rw_builder *builder, float *value)
{
    int clamped;
    const char *end = rw_number_parse(s->at, s->end, value, &clamped);
    if (!end || (end < s->end && *end != '\t' && *end != '\n'))
        return bad(ctx, s, "a number");
    s->at = end;
    builder->n_clamped += (uint64_t)clamped;
    return RW_OK;
}

static int query(struct rw_ctx *ctx, struct state *s, struct rw_builder *builder)
{
    const char *id = ++s->at;
    while (s->at < s->end && *s->at != '\t' && *s->at != '\n')
        s->at++;
    const size_t n = (size_t)(s->at - id);
    if (n == 0 || memchr(id, 0, n))
        return bad(ctx, s, "a query");
    if (builder->n_queries > 0) {
        const char *last =
            builder->query_id.text + builder->query_id.offset[builder->n_queries - 1];
        if (strlen(last) == n && memcmp(last, id, n) == 0)
            return RW_OK;
    }
    RW_TRY(rw_builder_query(ctx, builder, id, n));
    return RW_OK;
}

static int document(struct rw_ctx *ctx, struct state *s, struct rw_builder *builder)
{
    uint16_t feature[1000];
    float label, value[1000];
    size_t n = 0;
    s->line = s->at;
    s->n_lines++;
    RW_TRY(number(ctx, s, builder, &label));
    if (label < 0 || s->at == s->end || *s->at != '\t')
        return bad(ctx, s, "a label of 0 or more, and a tab");
    RW_TRY(query(ctx, s, builder));
    for (; s->at < s->end && *s->at == '\t'; n++) {
        s->at++;
        if (n == sizeof(value) / sizeof(value[0]))
            return bad(ctx, s, "at most 1000 features");
        feature[n] = (uint16_t)(n + 1);
        RW_TRY(number(ctx, s, builder, &value[n]));
    }
    s->at += s->at < s->end;
    RW_TRY(rw_builder_line(ctx, builder, s->n_lines));
    return rw_builder_doc(ctx, builder, label, feature, value, n, NULL, 0);
}

static int documents(struct rw_ctx *ctx, struct state *s, struct rw_builder *builder)
{
    RW_TRY(rw_mem_copy_text(ctx, &builder->file, rw_input_name(s->input)));
    while (s->at < s->end)
        RW_TRY(document(ctx, s, builder));
    s->line = s->at;
    return builder->n_docs ? RW_OK : bad(ctx, s, "a document");
}

static int read_table(struct rw_ctx *ctx, struct rw_input *input, const struct rw_range *range,
                      const struct rw_cut_rule *rule, struct rw_binned *out)
{
    (void)range; /* it is not divided */
    (void)rule;  /* and gives its values */
    struct rw_builder builder = {.n_docs = 0};
    char *text;
    size_t n_bytes;
    RW_TRY(rw_input_read_all(ctx, input, &text, &n_bytes));
    struct state s = {
        .input = input, .at = text + sizeof(first_line) - 1, .end = text + n_bytes, .n_lines = 1};
    int status = documents(ctx, &s, &builder);
    if (status >= 0)
        status = rw_builder_finish(ctx, &builder, 1, &out->documents);
    rw_builder_release(&builder);
    rw_mem_free(text);
    return status;
}

const struct rw_data_format rw_data_format_made_table = {
    .name = "made table", .probe = probe, .whole = read_table};
