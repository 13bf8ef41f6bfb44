/* A table of text behind a first line that names it: label, query and a value of each feature from
 * 1 on, with tabs between them. A reader that is added to a copy of the tree. */
#include "base/mem.h"
#include "base/number.h"
#include "io/data_format.h"
#include "io/text.h"

static const char first_line[] = "made table\n";

struct state {
    struct rw_input *input; /* borrowed */
    struct rw_seen *seen;   /* borrowed, or NULL */
    char *text;             /* owned */
    const char *at, *end, *line;
    uint64_t n_lines;
};

static int probe(const unsigned char *head, size_t n_bytes)
{
    const size_t n = sizeof(first_line) - 1;
    return n_bytes >= n && memcmp(head, first_line, n) == 0;
}

static void close_table(void *state)
{
    struct state *s = state;
    if (s)
        rw_mem_free(s->text);
    rw_mem_free(s);
}

static int open_table(struct rw_ctx *ctx, struct rw_input *input, struct rw_range *range,
                      struct rw_seen *seen, void **out)
{
    (void)range; /* it is not divided */
    struct state *s;
    size_t n_bytes;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, s, 1));
    s->input = input;
    s->seen = seen;
    const int status = rw_input_read_all(ctx, input, &s->text, &n_bytes);
    if (status < 0) {
        close_table(s);
        return status;
    }
    s->at = s->text + sizeof(first_line) - 1;
    s->end = s->text + n_bytes;
    s->n_lines = 1;
    *out = s;
    return RW_OK;
}

static int bad(struct rw_ctx *ctx, const struct state *s, const char *expected)
{
    return rw_fail(ctx, RW_ERR_PARSE, "%s:%llu:%zu: expected %s", rw_input_name(s->input),
                   (unsigned long long)s->n_lines, (size_t)(s->at - s->line) + 1, expected);
}

/* The next field, a number; behind it is a tab or the end of the line. */
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
            builder->query_id_text + builder->query_id_offset[builder->n_queries - 1];
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

static int next_table(struct rw_ctx *ctx, void *state, struct rw_builder_list *list, int *more)
{
    struct state *s = state;
    const char *name = rw_input_name(s->input);
    RW_TRY(RW_GROW(ctx, list->builder, list->room, list->n + 1));
    struct rw_builder *builder = &list->builder[list->n++];
    memset(builder, 0, sizeof(*builder));
    RW_TRY(rw_mem_copy_text(ctx, &builder->file, name));
    while (s->at < s->end)
        RW_TRY(document(ctx, s, builder));
    if (builder->n_docs == 0) {
        s->line = s->at;
        return bad(ctx, s, "a document");
    }
    for (uint32_t q = 0; s->seen && q < builder->n_queries; q++)
        RW_TRY(rw_seen_add(ctx, s->seen, builder->query_id_text + builder->query_id_offset[q], name,
                           0, 0));
    *more = 0;
    return RW_OK;
}

const struct rw_data_format rw_data_format_made_table = {.name = "made table",
                                                         .probe = probe,
                                                         .open = open_table,
                                                         .next = next_table,
                                                         .close = close_table};
