#include "convert/protobuf.h"

#include <string.h>

#include "base/bits.h"
#include "base/mem.h"

/* ------------------------------------------------------------------ out */

void rw_pb_put_number(struct rw_put *put, uint64_t number)
{
    unsigned char bytes[10];
    size_t n = 0;
    do {
        bytes[n++] = (unsigned char)((number & 127) | (number > 127 ? 128 : 0));
        number >>= 7;
    } while (number > 0);
    rw_put_bytes(put, bytes, n);
}

void rw_pb_put_fixed32(struct rw_put *put, uint32_t bits)
{
    const unsigned char bytes[4] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                                    (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
    rw_put_bytes(put, bytes, sizeof(bytes));
}

void rw_pb_put_varint(struct rw_put *put, uint32_t field, uint64_t number)
{
    rw_pb_put_number(put, field << 3 | RW_PB_VARINT);
    rw_pb_put_number(put, number);
}

void rw_pb_put_bytes(struct rw_put *put, uint32_t field, const void *bytes, size_t n)
{
    rw_pb_put_number(put, field << 3 | RW_PB_BYTES);
    rw_pb_put_number(put, n);
    if (n > 0)
        rw_put_bytes(put, bytes, n);
}

void rw_pb_put_text(struct rw_put *put, uint32_t field, const char *text)
{
    rw_pb_put_bytes(put, field, text, strlen(text));
}

/* ------------------------------------------------------------------ in */

static int wrong(struct rw_ctx *ctx, const struct rw_source *source, const char *at,
                 const char *what)
{
    return rw_refuse(ctx, source, "not protobuf: byte %llu: %s",
                     (unsigned long long)(at - source->text), what);
}

static int read_number(struct rw_ctx *ctx, const struct rw_source *source, struct rw_pb *from,
                       uint64_t *out)
{
    *out = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (from->at == from->end)
            return wrong(ctx, source, from->at, "the file is cut short");
        const unsigned char byte = (unsigned char)*from->at++;
        if (shift == 63 && byte > 1)
            break;
        *out |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return RW_OK;
    }
    return wrong(ctx, source, from->at - 1, "a number of more than 64 bits");
}

static uint64_t read_bits(const char *at, int n)
{
    uint64_t bits = 0;
    for (int i = n - 1; i >= 0; i--)
        bits = bits << 8 | (unsigned char)at[i];
    return bits;
}

static int read_fixed(struct rw_ctx *ctx, const struct rw_source *source, struct rw_pb *from, int n,
                      uint64_t *out)
{
    if (from->end - from->at < n)
        return wrong(ctx, source, from->at, "the file is cut short");
    *out = read_bits(from->at, n);
    from->at += n;
    return RW_OK;
}

int rw_pb_next(struct rw_ctx *ctx, const struct rw_source *source, struct rw_pb *from,
               struct rw_pb_field *field)
{
    uint64_t tag;
    memset(field, 0, sizeof(*field));
    if (from->at == from->end)
        return 0;
    const char *begin = from->at;
    RW_TRY(read_number(ctx, source, from, &tag));
    if (tag < 8 || tag >> 3 > 536870911)
        return wrong(ctx, source, begin, "a field that no message has");
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum rw_pb_type)(tag & 7);
    switch (tag & 7) {
    case RW_PB_VARINT:
        RW_TRY(read_number(ctx, source, from, &field->value));
        return 1;
    case RW_PB_FIXED32:
        RW_TRY(read_fixed(ctx, source, from, 4, &field->value));
        return 1;
    case RW_PB_FIXED64:
        RW_TRY(read_fixed(ctx, source, from, 8, &field->value));
        return 1;
    case RW_PB_BYTES:
        RW_TRY(read_number(ctx, source, from, &field->value));
        if (field->value > (uint64_t)(from->end - from->at))
            return wrong(ctx, source, from->at, "the file is cut short");
        field->bytes = from->at;
        field->n = (size_t)field->value;
        from->at += field->n;
        return 1;
    default:
        return wrong(ctx, source, begin, "a field of a type that there is not");
    }
}

int rw_pb_message(struct rw_ctx *ctx, const struct rw_source *source,
                  const struct rw_pb_field *field, struct rw_pb *out)
{
    if (field->type != RW_PB_BYTES)
        return rw_refuse(ctx, source, "not ONNX: field %u is a number; expected a message",
                         field->number);
    out->at = field->bytes;
    out->end = field->bytes + field->n;
    return RW_OK;
}

static int add_int(struct rw_ctx *ctx, struct rw_pb_ints *to, uint64_t value)
{
    RW_TRY(RW_GROW(ctx, to->value, to->room, to->n + 1));
    to->value[to->n++] = (int64_t)value;
    return RW_OK;
}

int rw_pb_add_ints(struct rw_ctx *ctx, const struct rw_source *source,
                   const struct rw_pb_field *field, struct rw_pb_ints *to)
{
    struct rw_pb from = {0};
    if (field->type == RW_PB_VARINT)
        return add_int(ctx, to, field->value);
    RW_TRY(rw_pb_message(ctx, source, field, &from));
    while (from.at < from.end) {
        uint64_t value;
        RW_TRY(read_number(ctx, source, &from, &value));
        RW_TRY(add_int(ctx, to, value));
    }
    return RW_OK;
}

static int add_real(struct rw_ctx *ctx, struct rw_pb_reals *to, uint64_t bits, int bytes)
{
    RW_TRY(RW_GROW(ctx, to->value, to->room, to->n + 1));
    to->value[to->n++] =
        bytes == 4 ? (double)rw_float_of_bits((uint32_t)bits) : rw_double_of_bits(bits);
    return RW_OK;
}

int rw_pb_add_reals(struct rw_ctx *ctx, const struct rw_source *source,
                    const struct rw_pb_field *field, int bytes, struct rw_pb_reals *to)
{
    if (field->type == (bytes == 4 ? RW_PB_FIXED32 : RW_PB_FIXED64))
        return add_real(ctx, to, field->value, bytes);
    if (field->type != RW_PB_BYTES || field->n % (size_t)bytes != 0)
        return rw_refuse(ctx, source, "not ONNX: field %u is no array of numbers of %d bytes",
                         field->number, bytes);
    for (size_t i = 0; i < field->n; i += (size_t)bytes)
        RW_TRY(add_real(ctx, to, read_bits(field->bytes + i, bytes), bytes));
    return RW_OK;
}
