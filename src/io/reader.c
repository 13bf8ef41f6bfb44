/* Files in pieces. A piece is what a format gives at a time: a block of text, some documents of a
 * cache. */
#include "base/fpenv.h"
#include "base/mem.h"
#include "io/format.h"
#include "io/input.h"
#include "io/letor.h"

struct rw_reader {
    char **path; /* [n_paths]; owned */
    int n_paths, next_path;
    struct rw_input *input; /* the file being read; owned */
    const struct rw_format *format;
    void *state;
    uint64_t n_clamped;
};

int rw_reader_open(struct rw_ctx *ctx, const char *const *paths, int n_paths,
                   struct rw_reader **out)
{
    RW_DEFAULT_FPENV;
    struct rw_reader *reader = NULL;
    int status;
    *out = NULL;
    RW_TRY(rw_format_check_paths(ctx, paths, n_paths));
    RW_TRY_OUT(RW_NEW(ctx, reader, 1));
    RW_TRY_OUT(RW_NEW(ctx, reader->path, (size_t)n_paths));
    for (; reader->n_paths < n_paths; reader->n_paths++)
        RW_TRY_OUT(rw_mem_copy_text(ctx, &reader->path[reader->n_paths], paths[reader->n_paths]));
    *out = reader;
    return RW_OK;
out:
    rw_reader_close(reader);
    return status;
}

static void close_file(struct rw_reader *reader)
{
    if (reader->state)
        reader->format->close(reader->state);
    reader->state = NULL;
    rw_input_close(reader->input);
    reader->input = NULL;
}

void rw_reader_close(struct rw_reader *reader)
{
    if (!reader)
        return;
    close_file(reader);
    for (int i = 0; i < reader->n_paths; i++)
        rw_mem_free(reader->path[i]);
    rw_mem_free(reader->path);
    rw_mem_free(reader);
}

static int open_file(struct rw_ctx *ctx, struct rw_reader *reader)
{
    RW_TRY(rw_input_open(ctx, reader->path[reader->next_path], &reader->input));
    reader->next_path++;
    reader->format = rw_format_of(reader->input);
    return reader->format->open(ctx, reader->input, NULL, &reader->state);
}

int rw_reader_next(struct rw_ctx *ctx, struct rw_reader *reader, struct rw_dataset **out)
{
    RW_DEFAULT_FPENV;
    struct rw_builder_list list = {0};
    int status = RW_OK, more;
    *out = NULL;
    while (list.n == 0) {
        if (!reader->state && reader->next_path == reader->n_paths) {
            rw_format_note_clamped(ctx, reader->n_clamped);
            reader->n_clamped = 0;
            goto out;
        }
        if (!reader->state)
            RW_TRY_OUT(open_file(ctx, reader));
        RW_TRY_OUT(reader->format->next(ctx, reader->state, &list, &more));
        if (!more)
            close_file(reader);
    }
    RW_TRY_OUT(rw_builder_finish(ctx, list.builder, (int)list.n, out));
    reader->n_clamped += (*out)->n_clamped;
out:
    rw_builder_list_release(&list);
    return status;
}
