/* Arrow's C data interface: structs with a fixed layout, which every consumer declares for itself
 * (https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html). Lengths,
 * offsets, numbers of buffers and indices are checked before they are used. The interface does not
 * say how large buffers are: there the producer is trusted. */
#ifndef RW_IO_ARROW_H
#define RW_IO_ARROW_H

#include "base/ctx.h"
#include "rankwood.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *schema);
    void *private_data;
};
struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *array);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *stream, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *stream, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *stream);
    void (*release)(struct ArrowArrayStream *stream);
    void *private_data;
};
#endif

#define RW_ARROW_MOST \
    (INT64_MAX / 64) /* elements of an array: bytes and bits are counted in int64 */

struct rw_arrow {
    struct ArrowSchema schema; /* owned */
    struct ArrowArray *batch;  /* [n_batches] each of a document or more; owned */
    size_t n_batches, room;
    uint32_t *chunk_offset; /* [n_batches + 1] owned */
    size_t offset_room;
};

/* Elements [first, first + n) of an array are a column's documents of one batch. */
struct rw_arrow_part {
    const struct ArrowArray *array;
    int64_t first;
    uint32_t n;
    const uint8_t *valid; /* from bit `first` on; NULL: all are */
};
/* RW_ERR_DATA: lengths, offsets or buffers that no such array has. n_buffers: as many as its type
 * has at least, or -1: any, and no validity bits. */
int rw_arrow_part(struct rw_ctx *ctx, const struct rw_arrow *arrow, uint32_t column, size_t batch,
                  int n_buffers, struct rw_arrow_part *out);
/* A word for values of a type: "timestamps". */
const char *rw_arrow_kind(const struct ArrowSchema *schema);

static inline int rw_arrow_bit(const uint8_t *bits, int64_t at)
{
    return bits[at / 8] >> (at % 8) & 1;
}

#endif
