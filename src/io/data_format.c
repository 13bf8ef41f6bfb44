#include "io/data_format.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "base/other_formats.h"
#include "io/columns.h"
#include "io/input.h"

static const struct rw_data_format *const formats[] = {
#define RW_DATA_FORMAT(name) &rw_data_format_##name,
#include "io/data_formats.def"
#undef RW_DATA_FORMAT
};

static int ends_in(const char *name, size_t n, const char *ending)
{
    const size_t n_ending = strlen(ending);
    return n > n_ending && strncasecmp(name + n - n_ending, ending, n_ending) == 0;
}

static int has_ending(const char *name, const char *const *endings)
{
    size_t n = strlen(name);
    n -= ends_in(name, n, ".gz") ? 3 : 0;
    while (*endings && !ends_in(name, n, *endings))
        endings++;
    return *endings != NULL;
}

/* Its own by the name, or by what is in it where columns are given. */
static int is_named(const struct rw_ctx *ctx, const struct rw_data_format *format,
                    const struct rw_input *input)
{
    unsigned char content[128];
    size_t n_raw;
    if (has_ending(rw_input_name(input), format->endings))
        return 1;
    return ctx->columns && rw_columns_are_given(ctx->columns) &&
           format->probe(content, rw_input_peek(input, content, sizeof(content), &n_raw));
}

const struct rw_data_format *rw_data_format_of(const struct rw_ctx *ctx,
                                               const struct rw_input *input)
{
    size_t n_bytes, i = 0;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    for (; formats[i]->probe; i++) {
        if (formats[i]->endings ? is_named(ctx, formats[i], input)
                                : formats[i]->probe(head, n_bytes))
            break;
    }
    return formats[i];
}

int rw_file_recognise(struct rw_ctx *ctx, const char *path, struct rw_file_kind *out)
{
    enum { ENOUGH = 4096 };
    unsigned char head[ENOUGH];
    struct rw_input *input;
    struct stat info;
    size_t n_raw;
    memset(out, 0, sizeof(*out));
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode) || rw_input_open(ctx, path, &input) < 0)
        return 0;
    const size_t n = rw_input_peek(input, head, sizeof(head), &n_raw);
    const struct rw_recognised kind = rw_recognise_head((const char *)head, (const char *)head + n);
    *out = (struct rw_file_kind){kind.what, kind.from, kind.is_model, kind.is_data};
    rw_input_close(input);
    return kind.what != NULL;
}

void rw_data_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped)
{
    if (n_clamped)
        rw_log(ctx, RW_LOG_NOTE,
               "%llu number%s beyond float's range read as the largest finite float",
               (unsigned long long)n_clamped, n_clamped == 1 ? "" : "s");
}

int rw_query_text_set(struct rw_ctx *ctx, struct rw_query_text *query, const char *id, size_t n)
{
    RW_TRY(RW_GROW(ctx, query->text, query->room, n));
    memcpy(query->text, id, n);
    query->n = n;
    query->is_known = 1;
    return RW_OK;
}

int rw_query_text_is(const struct rw_query_text *query, const char *id, size_t n)
{
    return query->is_known && query->n == n && memcmp(query->text, id, n) == 0;
}
