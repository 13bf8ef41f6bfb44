#include "io/data_format.h"

#include "io/input.h"

static const struct rw_data_format *const formats[] = {
#define RW_DATA_FORMAT(name) &rw_data_format_##name,
#include "io/data_formats.def"
#undef RW_DATA_FORMAT
};

const struct rw_data_format *rw_data_format_of(const struct rw_input *input)
{
    size_t n_bytes, i = 0;
    const unsigned char *head = rw_input_head(input, &n_bytes);
    while (formats[i]->probe && !formats[i]->probe(head, n_bytes))
        i++;
    return formats[i];
}

void rw_data_format_note_clamped(struct rw_ctx *ctx, uint64_t n_clamped)
{
    if (n_clamped)
        rw_log(ctx, RW_LOG_NOTE,
               "%llu number%s beyond float's range read as the largest finite float",
               (unsigned long long)n_clamped, n_clamped == 1 ? "" : "s");
}
