/* Text <-> number, independent of the locale. */
#ifndef RW_BASE_NUMBER_H
#define RW_BASE_NUMBER_H

#include <stddef.h>
#include <stdint.h>

/* Nearest float to a decimal, exactly as strtof under the default rounding mode, but independent of
 * the locale. Reads an optional sign, digits, point, exponent, and nothing else (no inf, nan, hex).
 * Returns the first byte not read, or NULL if there is no number at `text`. A magnitude beyond
 * float's range gives the largest finite float and sets *clamped to 1. -0 gives +0. */
const char *rw_number_parse(const char *text, const char *end, float *value, int *clamped);
/* The same in double (scores, weights, gains). */
const char *rw_number_parse_double(const char *text, const char *end, double *value, int *clamped);
/* Shortest decimal that reads back as the same float: at least 16 bytes of room; returns the
 * length. */
int rw_number_write(float value, char *buffer);
/* The same for double; at least 32 bytes of room. */
int rw_number_write_double(double value, char *buffer);
/* As C prints the double by %.15g, or by %.16g or %.17g if it takes so many digits to read back as
 * the same: at least 32 bytes of room, a 0 behind the text; returns the length. */
int rw_number_write_exact(double value, char *buffer);

/* All of `text` is digits, and a number up to `most`; 0 if it is not that. */
int rw_number_whole(const char *text, uint64_t most, uint64_t *value);

/* Of a device's name, "cpu" or "cuda:N": N, or 0 without one; -1: it has no such form, or N is over
 * RW_MAX_DEVICE. *length: bytes before the colon. */
int rw_device_number(const char *device, size_t *length);
#endif
