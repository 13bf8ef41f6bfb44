/* Functions that targets share: reading a fuzzer's bytes, a count of the inputs that were read
 * to their end, and words of the format, from which fuzz_mutate.c makes nearly valid inputs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rw_ctx;

#ifdef __cplusplus
extern "C" {
#endif

/* Every fuzz_<name>.c defines these two. fuzz_one: 1 if the input was read to its end, and taken; 0
 * if it was refused. Ends the process if a promise is broken. fuzz_words: words of the format,
 * ended by NULL. */
int fuzz_one(const uint8_t *data, size_t size);
extern const char *const fuzz_words[];

/* The entry point that libFuzzer and replay_main.c call. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fuzz_counts {
    uint64_t n_inputs, n_taken;
};
extern struct fuzz_counts fuzz_counts;
/* One of the last accepted inputs, in bytes[*n]; NULL if there is no such input. */
const uint8_t *fuzz_taken(uint32_t random, size_t *n);

/* Ends the process if a promise is broken. */
void fuzz_check(int holds);

/* Numbers from an input, byte by byte; 0 past its end. */
struct fuzz_bytes {
    const uint8_t *at, *end;
};
uint8_t fuzz_byte(struct fuzz_bytes *bytes);
uint32_t fuzz_u32(struct fuzz_bytes *bytes);
/* 0 to n - 1 of a byte. */
uint32_t fuzz_below(struct fuzz_bytes *bytes, uint32_t n);

/* Tries the input as it is, and with a valid checksum line in place of its own last line, if that
 * is one. Returns 1 if either was taken. */
int fuzz_with_checksum(const uint8_t *data, size_t size,
                       int (*try_text)(struct rw_ctx *ctx, const char *text, size_t n));

/* An input as a file, for functions that take a path. One size in sixteen is a file of the system,
 * in memory, reached through /proc; others are no files, since the system would take longer than
 * the reader: what opens `path` is given the bytes (fuzz_file.c). */
struct fuzz_file {
    int fd;              /* -1: no file of the system */
    const uint8_t *data; /* [size] borrowed until it is closed */
    size_t size;
    struct fuzz_file *next; /* that is open, too */
    char path[32];
};
/* Ends the process if there is no memory for it. */
void fuzz_file_open(struct fuzz_file *file, const uint8_t *data, size_t size);
void fuzz_file_close(struct fuzz_file *file);

#ifdef __cplusplus
}
#endif
