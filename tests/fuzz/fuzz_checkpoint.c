/* The reader of checkpoints. What it accepts is written back as bytes that read as the same bytes
 * again. Inputs are tried as they are, and with a valid checksum put after them, since no mutation
 * would ever find one. */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "fuzz_input.h"
#include "io/checkpoint_text.h"

static void print(struct rw_ctx *ctx, const struct rw_checkpoint *checkpoint, char **text,
                  size_t *n)
{
    if (rw_checkpoint_print(ctx, checkpoint, text, n) < 0)
        abort();
}

/* But for a hint. */
static int is_one_line(const char *message)
{
    const char *end = strchr(message, '\n');
    return !end || (strncmp(end, "\nhint: ", 7) == 0 && !strchr(end + 1, '\n'));
}

static void try_text(struct rw_ctx *ctx, const char *text, size_t n)
{
    struct rw_checkpoint checkpoint, again;
    const int status = rw_checkpoint_parse(ctx, "input", text, n, &checkpoint);
    if (status < 0) {
        const char *message = rw_last_error(ctx);
        if (status != RW_ERR_FORMAT || checkpoint.model || strncmp(message, "input:", 6) != 0 ||
            !is_one_line(message))
            abort();
        return;
    }
    char *first, *second;
    size_t n_first, n_second;
    print(ctx, &checkpoint, &first, &n_first);
    if (rw_checkpoint_parse(ctx, "input", first, n_first, &again) < 0)
        abort();
    print(ctx, &again, &second, &n_second);
    if (n_first != n_second || memcmp(first, second, n_first) != 0)
        abort();
    rw_mem_free(first);
    rw_mem_free(second);
    rw_checkpoint_release(&checkpoint);
    rw_checkpoint_release(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_with_checksum(data, size, try_text);
    return 0;
}
