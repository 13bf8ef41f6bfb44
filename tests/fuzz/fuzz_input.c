#include "fuzz_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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
