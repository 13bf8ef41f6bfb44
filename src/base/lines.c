#include "base/lines.h"

#include "base/mem.h"
#include "base/thread.h"
#include "rankwood.h"

enum {
    PART_BYTES = 1 << 16, /* of lines that one thread makes at a time; stays in its cache */
    PARTS = 4             /* of each thread, until they are written */
};

struct lines {
    rw_line_fn *line;
    const void *user;
    uint64_t begin, n;   /* lines [begin, n) are left */
    uint64_t part_lines; /* of a part; the last one may have fewer */
    size_t part_bytes;
    char *text;    /* [parts][part_bytes] */
    size_t *bytes; /* [parts] that a part came to have */
};

static int make_parts(void *user, struct rw_share *share)
{
    const struct lines *lines = user;
    for (uint64_t part, last; rw_share_next(share, &part, &last);) {
        const uint64_t begin = lines->begin + part * lines->part_lines, left = lines->n - begin;
        const uint64_t end = left < lines->part_lines ? lines->n : begin + lines->part_lines;
        char *text = lines->text + part * lines->part_bytes, *to = text;
        for (uint64_t i = begin; i < end; i++)
            to += lines->line(lines->user, i, to);
        lines->bytes[part] = (size_t)(to - text);
    }
    return RW_OK;
}

int rw_lines_write(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n, size_t line_bytes,
                   rw_line_fn *line, const void *user)
{
    struct lines lines = {.line = line, .user = user, .n = n};
    int status;
    lines.part_lines = line_bytes < PART_BYTES ? PART_BYTES / line_bytes : 1;
    lines.part_bytes = lines.part_lines * line_bytes;
    uint64_t n_parts = (n + lines.part_lines - 1) / lines.part_lines;
    const uint64_t most = (uint64_t)PARTS * (uint64_t)ctx->n_threads;
    const uint64_t room = n_parts < most ? n_parts : most;
    RW_TRY_OUT(RW_NEW_RAW(ctx, lines.text, room * lines.part_bytes));
    RW_TRY_OUT(RW_NEW_RAW(ctx, lines.bytes, room));
    while (n_parts > 0) {
        const uint64_t parts = n_parts < room ? n_parts : room;
        (void)rw_parallel(ctx, ctx->n_threads < (int)parts ? ctx->n_threads : (int)parts, parts, 1,
                          make_parts, &lines);
        for (uint64_t part = 0; part < parts; part++)
            RW_TRY_OUT(rw_out_file_write(ctx, out, lines.text + part * lines.part_bytes,
                                         lines.bytes[part]));
        lines.begin += parts * lines.part_lines;
        n_parts -= parts;
    }
    status = RW_OK;
out:
    rw_mem_free(lines.text);
    rw_mem_free(lines.bytes);
    return status;
}
