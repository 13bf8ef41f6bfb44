/* Inputs as files. The linker redirects the library's rw_input_open and fopen to this file
 * (--wrap): a path of fuzz_file_open returns the bytes directly, all others are passed to the
 * system. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz_input.h"
#include "io/input.h"

static struct fuzz_file *opened;

static const struct fuzz_file *file_of(const char *path)
{
    const struct fuzz_file *file = strncmp(path, "fuzz:", 5) == 0 ? opened : NULL;
    while (file && strcmp(file->path, path) != 0)
        file = file->next;
    return file;
}

static void write_all(int fd, const uint8_t *data, size_t size)
{
    fuzz_check(fd >= 0);
    for (size_t done = 0; done < size;) {
        const ssize_t n = write(fd, data + done, size - done);
        fuzz_check(n > 0);
        done += (size_t)n;
    }
}

void fuzz_file_open(struct fuzz_file *file, const uint8_t *data, size_t size)
{
    static unsigned number;
    *file = (struct fuzz_file){.fd = -1, .data = data, .size = size, .next = opened};
    if (size % 16 == 0) {
        file->fd = memfd_create("fuzz", MFD_CLOEXEC);
        write_all(file->fd, data, size);
        snprintf(file->path, sizeof(file->path), "/proc/self/fd/%d", file->fd);
    } else {
        snprintf(file->path, sizeof(file->path), "fuzz:%u", number++);
    }
    opened = file;
}

void fuzz_file_close(struct fuzz_file *file)
{
    struct fuzz_file **at = &opened;
    while (*at != file)
        at = &(*at)->next;
    *at = file->next;
    if (file->fd >= 0)
        close(file->fd);
}

/* ---- what opens files ---- */

int __real_rw_input_open(struct rw_ctx *ctx, const char *path, struct rw_input **out);
int __wrap_rw_input_open(struct rw_ctx *ctx, const char *path, struct rw_input **out);
int __wrap_rw_input_open(struct rw_ctx *ctx, const char *path, struct rw_input **out)
{
    const struct fuzz_file *file = file_of(path);
    return file ? rw_input_open_memory(ctx, path, file->data, file->size, out)
                : __real_rw_input_open(ctx, path, out);
}

/* Two names, by the width of offsets. */
FILE *__real_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode);
FILE *__wrap_fopen64(const char *path, const char *mode)
{
    const struct fuzz_file *file = file_of(path);
    return file ? fmemopen((void *)(uintptr_t)file->data, file->size, mode)
                : __real_fopen64(path, mode);
}

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode)
{
    const struct fuzz_file *file = file_of(path);
    return file ? fmemopen((void *)(uintptr_t)file->data, file->size, mode)
                : __real_fopen(path, mode);
}
