#include "io/format.h"

static int probe(const unsigned char *head, size_t n_bytes)
{
    (void)head;
    (void)n_bytes;
    return 0;
}

const struct rw_format rw_format_cache = {"cache", probe, NULL, NULL, NULL, NULL};
