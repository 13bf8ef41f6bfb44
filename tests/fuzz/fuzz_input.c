#include "fuzz_input.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "model/model_text.h"

/* ---- inputs that were taken ---- */

enum { KEPT = 64, KEPT_BYTES = 16384 };

struct fuzz_counts fuzz_counts;
static struct {
    size_t n;
    uint8_t bytes[KEPT_BYTES];
} kept[KEPT];

static void keep(const uint8_t *data, size_t size)
{
    if (size == 0 || size > KEPT_BYTES)
        return;
    const size_t to = fuzz_counts.n_taken % KEPT;
    kept[to].n = size;
    memcpy(kept[to].bytes, data, size);
}

const uint8_t *fuzz_taken(uint32_t random, size_t *n)
{
    for (uint32_t i = 0; i < KEPT; i++) {
        const uint32_t from = (random + i) % KEPT;
        if (kept[from].n) {
            *n = kept[from].n;
            return kept[from].bytes;
        }
    }
    return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (fuzz_counts.n_inputs == 0) { /* the memory that an input frees is reused for the next one */
        mallopt(M_MMAP_THRESHOLD, 1 << 26);
        mallopt(M_TRIM_THRESHOLD, 1 << 28);
        mallopt(M_TOP_PAD, 1 << 22);
        mallopt(M_ARENA_MAX, 1); /* fuzz.py limits the address space */
    }
    fuzz_counts.n_inputs++;
    if (fuzz_one(data, size)) {
        fuzz_counts.n_taken++;
        keep(data, size);
    }
    return 0;
}

void fuzz_check(int holds)
{
    if (!holds)
        abort();
}

/* ---- bytes ---- */

uint8_t fuzz_byte(struct fuzz_bytes *bytes)
{
    return bytes->at < bytes->end ? *bytes->at++ : 0;
}

uint32_t fuzz_u32(struct fuzz_bytes *bytes)
{
    uint32_t number = 0;
    for (int i = 0; i < 4; i++)
        number |= (uint32_t)fuzz_byte(bytes) << 8 * i;
    return number;
}

uint32_t fuzz_below(struct fuzz_bytes *bytes, uint32_t n)
{
    return fuzz_byte(bytes) % n;
}

int fuzz_with_checksum(const uint8_t *data, size_t size,
                       int (*try_text)(struct rw_ctx *ctx, const char *text, size_t n))
{
    struct rw_ctx *ctx;
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    char *text = malloc(size + RW_CHECKSUM_LINE_BYTES + 1);
    fuzz_check(text != NULL);
    memcpy(text, data, size);
    int taken = try_text(ctx, text, size);
    if (size >= RW_CHECKSUM_LINE_BYTES &&
        memcmp(text + size - RW_CHECKSUM_LINE_BYTES, "checksum ", 9) == 0)
        size -= RW_CHECKSUM_LINE_BYTES;
    rw_model_checksum_line(text, size, text + size);
    taken |= try_text(ctx, text, size + RW_CHECKSUM_LINE_BYTES);
    free(text);
    rw_ctx_free(ctx);
    return taken;
}
