/* The table of tuning constants (device.h), and the choice of a GPU's row: by its compute
 * capability, or by the name in RANKWOOD_TUNING. Also finds whether a build has machine code for a
 * GPU. */
#include "gpu/device/device.h"

#include <stdlib.h>

/* How the rows were found. Row 9.0 was measured on an H200 with mslr30k (3.77 M documents, 136
 * features). All histograms of a tree of 255 leaves took 1.033 | 0.996 | 1.013 | 1.089 ms in
 * batches of 16 | 24 | 32 | 64 nodes. Eight blocks of the kernel that quantises fit a
 * multiprocessor at once. Searches were not measured.
 *
 * The row "newer" has the constants of row 9.0, without limits. The other rows are derived. Their
 * blocks per multiprocessor are proportional to its threads. Their batch grows as the square root
 * of the memory's bandwidth, from 24 at 4.8 TB/s: 0.32 (T4), 1.6 (A100), 0.3 to 1.0 (8.6 and 8.9),
 * 8 (B200) and 0.45 to 1.8 (12.0). The GPUs that forced rows represent are T4, A100, RTX 3060,
 * H200, B200 and RTX 5060. */
#define MEASURED 1
#define DERIVED  0
static const struct rw_tuning_row rows[] = {
    /* The columns are the members of struct rw_tuning_row, in their order. */
    {"7.5", 75, DERIVED, 40, 1024, 64 * 1024, 6, 4, 4},
    {"8.0", 80, DERIVED, 108, 2048, 163 * 1024, 14, 8, 9},
    {"8.6", 86, DERIVED, 28, 1536, 99 * 1024, 8, 6, 6},
    {"9.0", 90, MEASURED, 132, 2048, 227 * 1024, 24, 8, 9},
    {"10.0", 100, DERIVED, 148, 2048, 227 * 1024, 30, 8, 9},
    {"12.0", 120, DERIVED, 30, 1536, 99 * 1024, 10, 6, 6},
    {"newer", 130, DERIVED, 0, 0, 0, 24, 8, 9},
};
enum { N_ROWS = sizeof(rows) / sizeof(rows[0]) };

const struct rw_tuning_row *rw_tuning_row_at(int i)
{
    return i >= 0 && i < N_ROWS ? &rows[i] : NULL;
}

static int fail_name(struct rw_ctx *ctx, const char *name)
{
    char names[128] = "";
    for (int i = 0; i < N_ROWS; i++) {
        const char *before = i + 1 < N_ROWS ? ", " : " or ";
        const size_t n = strlen(names);
        snprintf(names + n, sizeof(names) - n, "%s%s", n > 0 ? before : "", rows[i].name);
    }
    return rw_fail(ctx, RW_ERR_ARGUMENT, "%s is '%s'; expected %s", RW_TUNING_VARIABLE, name,
                   names);
}

int rw_tuning_find(struct rw_ctx *ctx, struct rw_tuning_facts *facts,
                   const struct rw_tuning_row **row)
{
    const char *name = getenv(RW_TUNING_VARIABLE);
    *row = &rows[N_ROWS - 1];
    while (*row > rows && (*row)->from > facts->capability)
        --*row;
    if (!name || !name[0])
        return RW_OK;
    for (int i = 0; i < N_ROWS; i++) {
        const struct rw_tuning_row *named = &rows[i];
        if (strcmp(named->name, name) != 0)
            continue;
        *row = named;
        if (named->n_multiprocessors && named->n_multiprocessors < facts->n_multiprocessors)
            facts->n_multiprocessors = named->n_multiprocessors;
        if (named->n_threads && named->n_threads < facts->n_threads)
            facts->n_threads = named->n_threads;
        if (named->shared_bytes && named->shared_bytes < facts->shared_bytes)
            facts->shared_bytes = named->shared_bytes;
        return RW_OK;
    }
    return fail_name(ctx, name);
}

int rw_has_gpu_code(const char *archs, int major, int minor)
{
    /* Code for 8.0 runs on 8.6, but code for 8.6 does not run on 8.0 or 9.0. */
    for (const char *at = strstr(archs, "sm_"); at; at = strstr(at + 1, "sm_")) {
        const int arch = atoi(at + strlen("sm_"));
        if (arch / 10 == major && arch % 10 <= minor)
            return 1;
    }
    return 0;
}
