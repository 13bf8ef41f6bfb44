#include "io/format.h"

#include "base/fpenv.h"
#include "base/mem.h"
#include "io/input.h"
#include "io/letor.h"

/* Asked in this order; the last takes everything. */
static const struct rw_format *const formats[] = {&rw_format_cache, &rw_format_letor};

const struct rw_format *rw_format_of(const struct rw_input *input)
{
    size_t n_bytes, i = 0;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    while (!formats[i]->probe(head, n_bytes))
        i++;
    return formats[i];
}

int rw_format_check_paths(struct rw_ctx *ctx, const char *const *paths, int n_paths)
{
    int n_stdin = 0;
    if (n_paths < 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "no file to read");
    for (int i = 0; i < n_paths; i++)
        n_stdin += strcmp(paths[i], "-") == 0;
    if (n_stdin > 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "standard input ('-') stands %d times; it can be read "
                       "once",
                       n_stdin);
    return RW_OK;
}

void rw_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped)
{
    if (n_clamped)
        rw_log(ctx, RW_LOG_NOTE,
               "%llu number%s beyond float's range read as the largest finite float",
               (unsigned long long)n_clamped, n_clamped == 1 ? "" : "s");
}

static int read_pieces(struct rw_ctx *ctx, const struct rw_format *format, struct rw_input *input,
                       struct rw_seen *seen, struct rw_builder_list *list)
{
    void *state;
    int status = RW_OK, more = 1;
    RW_TRY(format->open(ctx, input, seen, &state));
    while (more)
        RW_TRY_OUT(format->next(ctx, state, list, &more));
out:
    format->close(state);
    return status;
}

/* notice: a query that comes back is an error; else it is one more query of that id. */
static int read_files(struct rw_ctx *ctx, const char *const *paths, int n_paths, int notice,
                      const struct rw_cut_rule *rule, struct rw_dataset **out)
{
    struct rw_builder_list list = {.is_whole = n_paths == 1};
    struct rw_input *input = NULL;
    struct rw_seen *seen = NULL;
    int status = RW_OK;
    *out = NULL;
    RW_TRY(rw_format_check_paths(ctx, paths, n_paths));
    if (notice)
        RW_TRY_OUT(rw_seen_new(ctx, &seen));
    for (int i = 0; i < n_paths; i++) {
        RW_TRY_OUT(rw_input_open(ctx, paths[i], &input));
        const struct rw_format *format = rw_format_of(input);
        if (n_paths == 1 && format->whole)
            RW_TRY_OUT(format->whole(ctx, input, rule, out));
        else
            RW_TRY_OUT(read_pieces(ctx, format, input, seen, &list));
        rw_input_close(input);
        input = NULL;
    }
    if (!*out)
        RW_TRY_OUT(rw_early_finish(ctx, list.early, list.builder, (int)list.n, out));
    rw_format_note_clamped(ctx, (*out)->n_clamped);
out:
    rw_input_close(input);
    rw_seen_free(seen);
    rw_builder_list_release(&list);
    return status;
}

int rw_dataset_read(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                    struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    return read_files(ctx, paths, n_paths, 1, NULL, out);
}

int rw_dataset_read_by(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                       const struct rw_cut_rule *rule, struct rw_dataset **out)
{
    return read_files(ctx, paths, n_paths, 1, rule, out);
}

int rw_dataset_read_split(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                          struct rw_dataset **out)
{
    return read_files(ctx, paths, n_paths, 0, NULL, out);
}
