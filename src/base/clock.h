/* Wall time for progress and logs; never reaches a model. */
#ifndef RW_BASE_CLOCK_H
#define RW_BASE_CLOCK_H

#include <time.h>

/* Milliseconds from an arbitrary start. */
static inline double rw_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

#endif
