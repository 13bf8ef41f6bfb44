/* Protocol Buffers' wire format, as far as ONNX needs it: messages are runs of (number, type,
 * value). Written here since the C libraries of it (protobuf-c, nanopb) want a compiler of their
 * own at build time and code that it makes of ONNX's whole schema, for a dozen fields; the format
 * itself is four kinds of values. */
#ifndef RW_CONVERT_PROTOBUF_H
#define RW_CONVERT_PROTOBUF_H

#include "convert/convert.h"

enum rw_pb_type { RW_PB_VARINT = 0, RW_PB_FIXED64 = 1, RW_PB_BYTES = 2, RW_PB_FIXED32 = 5 };

/* --- out --- */
/* A number alone, as packed arrays hold them. */
void rw_pb_put_number(struct rw_put *put, uint64_t number);
void rw_pb_put_fixed32(struct rw_put *put, uint32_t bits);
/* Fields; a message or a packed array is bytes. */
void rw_pb_put_varint(struct rw_put *put, uint32_t field, uint64_t number);
void rw_pb_put_bytes(struct rw_put *put, uint32_t field, const void *bytes, size_t n);
void rw_pb_put_text(struct rw_put *put, uint32_t field, const char *text);
/* A message, which is freed. */
void rw_pb_put_message(struct rw_put *put, uint32_t field, struct rw_put *message);

/* --- in --- */
struct rw_pb_field {
    uint32_t number;
    enum rw_pb_type type;
    uint64_t value;    /* of a varint, or the bits of a fixed one */
    const char *bytes; /* [n] of RW_PB_BYTES; part of the source */
    size_t n;
};
struct rw_pb {
    const char *at, *end;
};
/* The next field of a message: 1; 0 at its end, and after a failure: "not protobuf: byte ...". */
int rw_pb_next(struct rw_source *source, struct rw_pb *from, struct rw_pb_field *field);
/* The field as a message of its own, or as a text; refused if it is a number. */
struct rw_pb rw_pb_message(struct rw_source *source, const struct rw_pb_field *field);
/* The last field of that number, as a message or as a number; {NULL, NULL} or 0: not there. */
struct rw_pb rw_pb_find(struct rw_source *source, struct rw_pb message, uint32_t number);
uint64_t rw_pb_find_number(struct rw_source *source, struct rw_pb message, uint32_t number);

/* Arrays that grow; zero-initialise, rw_mem_free(value). */
struct rw_pb_ints {
    int64_t *value; /* [n] owned */
    size_t n, room;
};
struct rw_pb_reals {
    double *value; /* [n] owned */
    size_t n, room;
};
/* Adds a field of one number or of packed ones; of floats, or (bytes 8) of doubles. */
void rw_pb_add_ints(struct rw_source *source, const struct rw_pb_field *field,
                    struct rw_pb_ints *to);
void rw_pb_add_reals(struct rw_source *source, const struct rw_pb_field *field, int bytes,
                     struct rw_pb_reals *to);
#endif
