/* Files that the program itself writes: whole or not at all. */
#ifndef RW_CLI_OUTPUT_H
#define RW_CLI_OUTPUT_H

#include <stdio.h>

/* Zero-initialise; abandon is fine in any state. */
struct rw_output {
    FILE *file;             /* to write to */
    char *path, *temporary; /* owned; NULL: written straight (standard output, a pipe, a device) */
    unsigned long long n_reserved; /* bytes on the disk that are the file's */
};

/* 0, or -1 after saying why. "-" is standard output. */
int rw_output_open(struct rw_output *output, const char *path);
int rw_output_commit(struct rw_output *output);
/* Takes space on the disk for a file that will be so large, where that can be done: 0, or an errno.
 */
int rw_output_reserve(struct rw_output *output, unsigned long long n_bytes);
/* What is written to a temporary file will be PATH with this suffix. 0, or -1 after saying why. */
int rw_output_rename(struct rw_output *output, const char *suffix);
void rw_output_abandon(struct rw_output *output);

/* Could a file be written there? Tried at once, so that long work does not end in a refusal. 0, or
 * -1 after saying why. From then on a signal that ends the program removes the library's temporary
 * files for that output. */
int rw_output_check(const char *path);
/* What the handler does: removes temporary files, ends the program by the signal. */
void rw_output_end_by(int signal_number);
/* Are they one and the same file? */
int rw_output_same(const char *a, const char *b);
/* Would two outputs overwrite each other? Devices do not. */
int rw_output_clash(const char *a, const char *b);
/* Flushes standard output: 0, or -1 after saying why. */
int rw_output_flush(void);

#endif
