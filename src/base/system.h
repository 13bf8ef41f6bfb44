/* Wrappers of system calls. Those that Linux has and macOS lacks or names differently have a
 * replacement, which RW_NOT_LINUX selects on Linux, too, for tests. */
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

/* If fd is 0 to 2, moves it above 2; -1 is returned unchanged. When standard input, output or error
 * is closed, a newly opened file gets its number, and messages would be written to that file.
 * Returns -1 and sets errno on failure. */
static inline int rw_system_above_standard(int fd)
{
    if (fd < 0 || fd > STDERR_FILENO)
        return fd;
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), why = errno;
    close(fd);
    errno = why;
    return above;
}

/* open() and fopen() that return descriptors above the standard ones. */
static inline int rw_system_open(const char *path, int flags, mode_t mode)
{
    return rw_system_above_standard(open(path, flags | O_CLOEXEC, mode));
}

static inline FILE *rw_system_fopen(const char *path, const char *mode)
{
    FILE *file = fopen(path, mode);
    if (!file || fileno(file) < 0 || fileno(file) > STDERR_FILENO) /* -1: the stream has no
                                                                      descriptor */
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

/* Returns the number of processors that this process may run on, or 0 if unknown. */
static inline long rw_system_affinity(void)
{
#if RW_ON_LINUX
    cpu_set_t sets[64] = {0}; /* one holds 1,024 processors, and the system rejects sets that are
                                 too small */
    if (sched_getaffinity(0, sizeof(sets), sets) == 0)
        return CPU_COUNT_S(sizeof(sets), sets);
#endif
    return 0;
}

/* Returns the peak resident memory of this process in bytes, or 0 if unknown. */
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

/* Maps private zeroed memory, in whole pages, to be freed by munmap(). Returns MAP_FAILED on
 * failure. written_soon: allocate the pages at once if the system can. */
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

/* Changes the size of a mapping, which may move if it grows. If it cannot grow, returns MAP_FAILED
 * and leaves the mapping unchanged. */
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

/* Advises the system to use large pages. The range consists of whole pages. */
static inline void rw_system_large_pages(void *p, size_t n_bytes)
{
#if RW_ON_LINUX && defined(MADV_HUGEPAGE)
    (void)madvise(p, n_bytes, MADV_HUGEPAGE);
#else
    (void)p, (void)n_bytes;
#endif
}

/* Allows the system to take back the whole pages of a range: their content may be lost. The memory
 * must not be mapped from a file. */
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

/* Reserves n_bytes on the disk for a file, from `begin`. Returns 0 or an errno; EOPNOTSUPP means
 * that the file system cannot reserve space. */
static inline int rw_system_reserve(int fd, off_t begin, off_t n_bytes)
{
#if RW_ON_LINUX
    return posix_fallocate(fd, begin, n_bytes);
#else
    (void)fd, (void)begin, (void)n_bytes;
    return EOPNOTSUPP;
#endif
}

/* Returns the last `c` among n bytes, or NULL. */
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
