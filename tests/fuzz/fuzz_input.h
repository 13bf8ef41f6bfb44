/* How targets use a fuzzer's bytes: as a file in memory, reached through /proc, for functions that
 * take a path; or as text that ends with a checksum. */
#ifndef RW_FUZZ_INPUT_H
#define RW_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

struct rw_ctx;

#ifdef __cplusplus
extern "C" {
#endif

/* The entry point that libFuzzer and replay_main.c call; every fuzz_<parser>.c defines it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Tries the input as it is, and with a valid checksum line in place of its own last line, if that
 * is one. */
void fuzz_with_checksum(const uint8_t *data, size_t size,
                        void (*try_text)(struct rw_ctx *ctx, const char *text, size_t n));

struct fuzz_file {
    int fd;
    char path[32];
};
/* Ends the process if there is no memory for it. */
void fuzz_file_open(struct fuzz_file *file, const uint8_t *data, size_t size);
void fuzz_file_close(struct fuzz_file *file);

#ifdef __cplusplus
}
#endif
#endif
