#include "fuzz_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "io/model_text.h"

void fuzz_file_open(struct fuzz_file *file, const uint8_t *data, size_t size)
{
    file->fd = memfd_create("fuzz", MFD_CLOEXEC);
    if (file->fd < 0)
        abort();
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(file->fd, data + done, size - done);
        if (n <= 0)
            abort();
        done += (size_t)n;
    }
    snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
}

void fuzz_file_close(struct fuzz_file *file)
{
    close(file->fd);
}

void fuzz_with_checksum(const uint8_t *data, size_t size,
                        void (*try_text)(struct rw_ctx *ctx, const char *text, size_t n))
{
    struct rw_ctx *ctx;
    if (rw_ctx_new(&ctx) < 0)
        abort();
    char *text = malloc(size + RW_CHECKSUM_LINE_BYTES + 1);
    if (!text)
        abort();
    memcpy(text, data, size);
    try_text(ctx, text, size);
    if (size >= RW_CHECKSUM_LINE_BYTES &&
        memcmp(text + size - RW_CHECKSUM_LINE_BYTES, "checksum ", 9) == 0)
        size -= RW_CHECKSUM_LINE_BYTES;
    rw_model_checksum_line(text, size, text + size);
    try_text(ctx, text, size + RW_CHECKSUM_LINE_BYTES);
    free(text);
    rw_ctx_free(ctx);
}
