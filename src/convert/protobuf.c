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

void rw_pb_put_message(struct rw_put *put, uint32_t field, struct rw_put *message)
{
    rw_pb_put_bytes(put, field, message->text, message->n);
    if (put->status == RW_OK)
        put->status = message->status;
    rw_mem_free(message->text);
    *message = (struct rw_put){.ctx = put->ctx};
}

/* ------------------------------------------------------------------ in */

static void wrong(struct rw_source *source, const char *at, const char *what)
{
    rw_refuse(source, "not protobuf: byte %llu: %s", (unsigned long long)(at - source->text), what);
}

static uint64_t read_number(struct rw_source *source, struct rw_pb *from)
{
    uint64_t number = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (from->at == from->end) {
            wrong(source, from->at, "the file is truncated");
            return 0;
        }
        const unsigned char byte = (unsigned char)*from->at++;
        if (shift == 63 && byte > 1)
            break;
        number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return number;
    }
    wrong(source, from->at - 1, "a number of more than 64 bits");
    return 0;
}

static uint64_t read_bits(const char *at, int n)
{
    uint64_t bits = 0;
    for (int i = n - 1; i >= 0; i--)
        bits = bits << 8 | (unsigned char)at[i];
    return bits;
}

int rw_pb_next(struct rw_source *source, struct rw_pb *from, struct rw_pb_field *field)
{
    const char *begin = from->at;
    memset(field, 0, sizeof(*field));
    if (from->at == from->end || source->status < 0)
        return 0;
    const uint64_t tag = read_number(source, from);
    const int fixed = (tag & 7) == RW_PB_FIXED32 ? 4 : (tag & 7) == RW_PB_FIXED64 ? 8 : 0;
    field->number = (uint32_t)(tag >> 3);
    field->type = (enum rw_pb_type)(tag & 7);
    if (tag < 8 || tag >> 3 > 536870911) {
        wrong(source, begin, "a field that no message has");
    } else if (fixed && from->end - from->at < fixed) {
        wrong(source, from->at, "the file is truncated");
    } else if (fixed) {
        field->value = read_bits(from->at, fixed);
        from->at += fixed;
    } else if (field->type == RW_PB_VARINT) {
        field->value = read_number(source, from);
    } else if (field->type == RW_PB_BYTES) {
        field->value = read_number(source, from);
        if (field->value > (uint64_t)(from->end - from->at)) {
            wrong(source, from->at, "the file is truncated");
            return 0;
        }
        field->bytes = from->at;
        field->n = (size_t)field->value;
        from->at += field->n;
    } else {
        wrong(source, begin, "a field of an unknown type");
    }
    return source->status == RW_OK;
}

struct rw_pb rw_pb_message(struct rw_source *source, const struct rw_pb_field *field)
{
    if (field->type == RW_PB_BYTES)
        return (struct rw_pb){field->bytes, field->bytes + field->n};
    rw_refuse(source, "not ONNX: field %u is a number; expected a message", field->number);
    return (struct rw_pb){NULL, NULL};
}

struct rw_pb rw_pb_find(struct rw_source *source, struct rw_pb message, uint32_t number)
{
    struct rw_pb found = {NULL, NULL};
    struct rw_pb_field field;
    while (rw_pb_next(source, &message, &field)) {
        if (field.number == number)
            found = rw_pb_message(source, &field);
    }
    return found;
}

uint64_t rw_pb_find_number(struct rw_source *source, struct rw_pb message, uint32_t number)
{
    uint64_t found = 0;
    struct rw_pb_field field;
    while (rw_pb_next(source, &message, &field)) {
        if (field.number == number)
            found = field.type == RW_PB_VARINT ? field.value : 0;
    }
    return found;
}

static void add_int(struct rw_source *source, struct rw_pb_ints *to, uint64_t value)
{
    if (rw_keep(source, RW_GROW(source->ctx, to->value, to->room, to->n + 1)) == RW_OK)
        to->value[to->n++] = (int64_t)value;
}

void rw_pb_add_ints(struct rw_source *source, const struct rw_pb_field *field,
                    struct rw_pb_ints *to)
{
    if (field->type == RW_PB_VARINT) {
        add_int(source, to, field->value);
        return;
    }
    struct rw_pb from = rw_pb_message(source, field);
    while (from.at < from.end && source->status == RW_OK)
        add_int(source, to, read_number(source, &from));
}

static void add_real(struct rw_source *source, struct rw_pb_reals *to, uint64_t bits, int bytes)
{
    if (rw_keep(source, RW_GROW(source->ctx, to->value, to->room, to->n + 1)) == RW_OK)
        to->value[to->n++] =
            bytes == 4 ? (double)rw_float_of_bits((uint32_t)bits) : rw_double_of_bits(bits);
}

void rw_pb_add_reals(struct rw_source *source, const struct rw_pb_field *field, int bytes,
                     struct rw_pb_reals *to)
{
    if (field->type == (bytes == 4 ? RW_PB_FIXED32 : RW_PB_FIXED64))
        add_real(source, to, field->value, bytes);
    else if (field->type != RW_PB_BYTES || field->n % (size_t)bytes != 0)
        rw_refuse(source, "not ONNX: field %u is no array of numbers of %d bytes", field->number,
                  bytes);
    else
        for (size_t i = 0; i < field->n && source->status == RW_OK; i += (size_t)bytes)
            add_real(source, to, read_bits(field->bytes + i, bytes), bytes);
}
