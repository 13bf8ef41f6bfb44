/* Replaces malloc and related functions, and makes the n-th call fail. Allocations of the C
 * library itself (streams, qsort, locales) are included. In a program with -fsanitize=address,
 * these functions call the sanitizer's. */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "faults.h"

struct faults_plan faults_memory = {.error = ENOMEM}, faults_threads = {.error = EAGAIN};

static struct code {
    uintptr_t begin, end; /* 0: none */
} counted, passed_over;   /* whose calls count, if there is one; and whose do not */

__attribute__((noinline)) void faults_happened(void)
{
    __asm__ volatile("");
}

int faults_strikes(struct faults_plan *plan)
{
    const long first = atomic_load(&plan->first);
    if (first == 0 || !plan->report)
        return 0;
    const long i = atomic_fetch_add(&plan->report->n_calls, 1) + 1;
    if (i != first && !(plan->goes_on && i > first))
        return 0;
    atomic_fetch_add(&plan->report->n_faults, 1);
    faults_happened();
    return 1;
}

static int is_within(const struct code *code, uintptr_t at)
{
    return at >= code->begin && at < code->end;
}

static int fails(const void *caller)
{
    const uintptr_t at = (uintptr_t)caller;
    if ((counted.end && !is_within(&counted, at)) || is_within(&passed_over, at))
        return 0;
    if (!faults_strikes(&faults_memory))
        return 0;
    errno = ENOMEM;
    return 1;
}
#define FAILS() fails(__builtin_return_address(0))

/* ------------------------------------------------------------------ who does the work */

/* glibc's own names for them, and the sanitizers', where one is there. */
extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
__attribute__((weak)) void *__interceptor_malloc(size_t);
__attribute__((weak)) void *__interceptor_calloc(size_t, size_t);
__attribute__((weak)) void *__interceptor_realloc(void *, size_t);
__attribute__((weak)) void *__interceptor_aligned_alloc(size_t, size_t);
__attribute__((weak)) void *__interceptor_memalign(size_t, size_t);

/* Of any size: aligned_alloc wants a multiple of the alignment, and a sanitizer looks. */
static void *aligned(size_t alignment, size_t n)
{
    return __interceptor_memalign ? __interceptor_memalign(alignment, n)
                                  : __libc_memalign(alignment, n);
}

void *malloc(size_t n)
{
    if (FAILS())
        return NULL;
    return __interceptor_malloc ? __interceptor_malloc(n) : __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
    if (FAILS())
        return NULL;
    return __interceptor_calloc ? __interceptor_calloc(n, size) : __libc_calloc(n, size);
}

static void *resized(void *p, size_t n)
{
    return __interceptor_realloc ? __interceptor_realloc(p, n) : __libc_realloc(p, n);
}

void *realloc(void *p, size_t n)
{
    return FAILS() ? NULL : resized(p, n);
}

void *reallocarray(void *p, size_t n, size_t size)
{
    size_t bytes;
    if (FAILS())
        return NULL;
    if (__builtin_mul_overflow(n, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return resized(p, bytes);
}

void *aligned_alloc(size_t alignment, size_t n)
{
    if (FAILS())
        return NULL;
    return __interceptor_aligned_alloc ? __interceptor_aligned_alloc(alignment, n)
                                       : __libc_memalign(alignment, n);
}

void *memalign(size_t alignment, size_t n)
{
    return FAILS() ? NULL : aligned(alignment, n);
}

int posix_memalign(void **out, size_t alignment, size_t n)
{
    const int before = errno;
    if (FAILS()) {
        errno = before;
        return ENOMEM;
    }
    void *made = aligned(alignment, n);
    if (!made)
        return ENOMEM;
    *out = made;
    return 0;
}

/* glibc's call its own malloc by another way in some versions. */
char *strndup(const char *text, size_t most)
{
    const size_t n = strnlen(text, most);
    char *copy = FAILS() ? NULL : resized(NULL, n + 1);
    if (copy) {
        memcpy(copy, text, n);
        copy[n] = 0;
    }
    return copy;
}

char *strdup(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = FAILS() ? NULL : resized(NULL, n);
    return copy ? memcpy(copy, text, n) : NULL;
}

/* ------------------------------------------------------------------ threads */

typedef int create_fn(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
__attribute__((weak)) create_fn __interceptor_pthread_create;

int pthread_create(pthread_t *thread, const pthread_attr_t *how, void *(*begin)(void *), void *arg)
{
    static create_fn *create;
    if (!create)
        create = __interceptor_pthread_create; /* where it is not in a library of its own */
    if (!create)
        *(void **)&create = dlsym(RTLD_NEXT, "pthread_create");
    return faults_strikes(&faults_threads) ? EAGAIN : create(thread, how, begin, arg);
}

/* ------------------------------------------------------------------ for programs */

void faults_arm(struct faults_plan *plan, long n, int goes_on)
{
    atomic_store(&plan->first, 0);
    plan->report = &plan->own;
    plan->goes_on = goes_on;
    atomic_store(&plan->own.n_calls, 0);
    atomic_store(&plan->own.n_faults, 0);
    atomic_store(&plan->first, n);
}

long faults_injected(const struct faults_plan *plan)
{
    return atomic_load(&plan->own.n_faults);
}

struct search {
    const char *object;
    struct code code;
};

static int find_code(struct dl_phdr_info *info, size_t size, void *user)
{
    struct search *search = user;
    (void)size;
    if (!info->dlpi_name || !strstr(info->dlpi_name, search->object))
        return 0;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && part->p_flags & PF_X) {
            search->code.begin = info->dlpi_addr + part->p_vaddr;
            search->code.end = search->code.begin + part->p_memsz;
            return 1;
        }
    }
    return 0;
}

static int find(const char *object, struct code *out)
{
    struct search search = {.object = object};
    const int found = object && dl_iterate_phdr(find_code, &search);
    *out = search.code;
    return found;
}

int faults_only_from(const char *object)
{
    return find(object, &counted) || !object;
}

int faults_never_from(const char *object)
{
    return find(object, &passed_over) || !object;
}
