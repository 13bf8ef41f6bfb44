/* When each kernel of a program ran on the GPU, which no stage of `train --verbose` says: a library
 * that the driver loads into it (CUDA_INJECTION64_PATH), and that asks CUPTI for it.
 *
 * Writes a line for each kernel, copy and setting of memory to the file that RANKWOOD_TIMELINE
 * names, in no order: begin and end in nanoseconds, what it was, and three numbers (a kernel's
 * grid; bytes). timeline.py reads them. CUPTI is looked for when this is loaded, so that a build
 * needs its header alone. */
#include <cupti.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

enum { BUFFER_BYTES = 1 << 22 };

static struct {
    FILE *file;
    CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **);
    CUptiResult (*flush)(uint32_t);
} timeline;

static void put(uint64_t start, uint64_t end, const char *what, unsigned long long x,
                unsigned long long y, unsigned long long z)
{
    fprintf(timeline.file, "%llu %llu %s %llu %llu %llu\n", (unsigned long long)start,
            (unsigned long long)end, what, x, y, z);
}

/* The records of later versions begin as these do. */
static void put_record(const CUpti_Activity *record)
{
    const void *at = record;
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
        const CUpti_ActivityKernel4 *k = at;
        put(k->start, k->end, k->name, (unsigned)k->gridX, (unsigned)k->gridY, (unsigned)k->gridZ);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
        const CUpti_ActivityMemcpy *copy = at;
        put(copy->start, copy->end, "memcpy", copy->bytes, 0, 0);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
        const CUpti_ActivityMemset *set = at;
        put(set->start, set->end, "memset", set->bytes, 0, 0);
    }
}

static void give_room(uint8_t **buffer, size_t *size, size_t *most_records)
{
    void *room = NULL;
    *size = posix_memalign(&room, 8, BUFFER_BYTES) == 0 ? BUFFER_BYTES : 0;
    *buffer = room;
    *most_records = 0; /* no limit */
}

static void take_records(CUcontext context, uint32_t stream, uint8_t *buffer, size_t size,
                         size_t valid)
{
    CUpti_Activity *record = NULL;
    (void)context;
    (void)stream;
    (void)size;
    while (timeline.next(buffer, valid, &record) == CUPTI_SUCCESS)
        put_record(record);
    free(buffer);
}

static void finish(void)
{
    timeline.flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (fclose(timeline.file) != 0)
        perror("timeline");
}

/* Addresses of functions come as those of objects. */
static void *find(void *library, const char *name)
{
    void *found = library ? dlsym(library, name) : NULL;
    if (!found)
        fprintf(stderr, "timeline: %s\n", dlerror());
    return found;
}

int InitializeInjection(void); /* what the driver calls */
int InitializeInjection(void)
{
    const char *path = getenv("RANKWOOD_TIMELINE");
    static const char *const libraries[] = {"libcupti.so", "libcupti.so.13", "libcupti.so.12"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof(libraries) / sizeof(libraries[0]); i++)
        library = dlopen(libraries[i], RTLD_NOW | RTLD_GLOBAL);
    CUptiResult (*enable)(CUpti_ActivityKind);
    CUptiResult (*call)(CUpti_BuffersCallbackRequestFunc, CUpti_BuffersCallbackCompleteFunc);
    *(void **)&enable = find(library, "cuptiActivityEnable");
    *(void **)&call = find(library, "cuptiActivityRegisterCallbacks");
    *(void **)&timeline.next = find(library, "cuptiActivityGetNextRecord");
    *(void **)&timeline.flush = find(library, "cuptiActivityFlushAll");
    timeline.file = fopen(path ? path : "timeline.txt", "w");
    if (!timeline.file)
        perror("timeline");
    if (!enable || !call || !timeline.next || !timeline.flush || !timeline.file)
        return 0;
    atexit(finish);
    return call(give_room, take_records) == CUPTI_SUCCESS &&
           enable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == CUPTI_SUCCESS &&
           enable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_SUCCESS &&
           enable(CUPTI_ACTIVITY_KIND_MEMSET) == CUPTI_SUCCESS;
}
