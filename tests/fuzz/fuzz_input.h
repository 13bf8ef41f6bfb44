/* Hands a fuzzer's bytes to functions that take a path: a file in memory, reached through /proc. */
#ifndef RW_FUZZ_INPUT_H
#define RW_FUZZ_INPUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The entry point that libFuzzer and replay_main.c call; every fuzz_<parser>.c defines it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
