/* What Linux has and macOS has not, or calls otherwise; each with what does as well there.
 * RW_NOT_LINUX takes that on Linux, too, so that it can be tested here. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h> /* getentropy */
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <xlocale.h> /* strtof_l */
#endif

#if defined(__linux__) && !defined(RW_NOT_LINUX)
#define RW_ON_LINUX 1
#else
#define RW_ON_LINUX 0
#endif

/* A descriptor that was just opened, or -1 with errno. Where standard input, output or error is
 * closed, files get these numbers, and messages would be written into them: such a descriptor is
 * replaced by one above them. */
static inline int rw_system_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), why = errno;
    close(fd);
    errno = why;
    return above;
}

/* open() and fopen() with such descriptors. */
static inline int rw_system_open(const char *path, int flags, mode_t mode)
{
    return rw_system_above_standard(open(path, flags | O_CLOEXEC, mode));
}

static inline FILE *rw_system_fopen(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file || fileno(file) < 0 || fileno(file) > STDERR_FILENO) /* -1: without a descriptor */
        return file;
    const int above = fcntl(fileno(file), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    FILE *moved = above < 0 ? NULL : fdopen(above, mode);
    const int why = errno;
    if (above >= 0 && !moved)
        close(above);
    fclose(file);
    errno = why;
    return moved;
}

/* Processors that this process may run on; 0: not known. */
static inline long rw_system_affinity(void)
{
#if RW_ON_LINUX
    cpu_set_t sets[64] = {0}; /* one holds 1,024 processors, and the system refuses what is short */
    if (sched_getaffinity(0, sizeof(sets), sets) == 0)
        return CPU_COUNT_S(sizeof(sets), sets);
#endif
    return 0;
}

/* The most memory that this process has held, in bytes. */
static inline size_t rw_system_peak_bytes(void)
{
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
#if defined(__APPLE__)
    return (size_t)usage.ru_maxrss;
#else
    return (size_t)usage.ru_maxrss * 1024;
#endif
}

/* Private memory of zeros, in whole pages, to be freed by munmap(); or MAP_FAILED. written_soon:
 * its pages are wanted at once, if that can be. */
static inline void *rw_system_map(size_t n_bytes, int written_soon)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
#if RW_ON_LINUX
    flags |= written_soon ? MAP_POPULATE : 0;
#else
    (void)written_soon;
#endif
    return mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
}

/* The same memory with another size, elsewhere perhaps if it grows; or, if it grows, MAP_FAILED,
 * and it is as it was. */
static inline void *rw_system_remap(void *map, size_t n_bytes, size_t n_wanted)
{
#if RW_ON_LINUX
    return mremap(map, n_bytes, n_wanted, MREMAP_MAYMOVE);
#else
    if (n_wanted <= n_bytes) {
        const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                     kept = (n_wanted + page - 1) / page * page;
        if (kept < n_bytes)
            munmap((char *)map + kept, n_bytes - kept);
        return map;
    }
    void *other = rw_system_map(n_wanted, 0);
    if (other != MAP_FAILED) {
        memcpy(other, map, n_bytes);
        munmap(map, n_bytes);
    }
    return other;
#endif
}

/* Advice: large pages would make fewer faults. The range is of whole pages. */
static inline void rw_system_large_pages(void *p, size_t n_bytes)
{
#if RW_ON_LINUX && defined(MADV_HUGEPAGE)
    (void)madvise(p, n_bytes, MADV_HUGEPAGE);
#else
    (void)p, (void)n_bytes;
#endif
}

/* What is in the range is not needed any more: its whole pages go back. Of memory of no file. */
static inline void rw_system_forget(void *p, size_t n_bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = ((uintptr_t)p + page - 1) / page * page;
    const uintptr_t end = ((uintptr_t)p + n_bytes) / page * page;
#if RW_ON_LINUX
    if (begin < end)
        (void)madvise((void *)begin, end - begin, MADV_DONTNEED);
#else
    (void)begin, (void)end;
#endif
}

/* Room on the disk for n_bytes of a file, from `begin`. 0 or an errno; EOPNOTSUPP: not to be had.
 */
static inline int rw_system_reserve(int fd, off_t begin, off_t n_bytes)
{
#if RW_ON_LINUX
    return posix_fallocate(fd, begin, n_bytes);
#else
    (void)fd, (void)begin, (void)n_bytes;
    return EOPNOTSUPP;
#endif
}

/* The last `c` among n bytes, or NULL. */
static inline const void *rw_system_last(const void *bytes, int c, size_t n)
{
#if RW_ON_LINUX
    return memrchr(bytes, c, n);
#else
    const unsigned char *at = (const unsigned char *)bytes + n;
    while (at > (const unsigned char *)bytes) {
        if (*--at == (unsigned char)c)
            return at;
    }
    return NULL;
#endif
}
