/* The floating-point environment that training bits rest on: round to nearest, subnormal numbers as
 * they are, no traps. A caller may have set another one (a mathematics library loaded with
 * fast-math start-up code does so for the whole process), so each public function that computes
 * takes the default one for the call and puts the caller's back. */
#ifndef RW_BASE_FPENV_H
#define RW_BASE_FPENV_H

#include <fenv.h>
#include <stdint.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#if defined(__SSE2__)
/* Arithmetic goes by MXCSR, but C's own conversions of decimals by the x87's control word. */
struct rw_fpenv {
    uint32_t mxcsr;
    uint16_t x87;
};
enum { RW_MXCSR_DEFAULT = 0x1f80, RW_X87_DEFAULT = 0x037f }; /* no traps, to nearest */

static inline struct rw_fpenv rw_fpenv_enter(void)
{
    static const uint16_t x87 = RW_X87_DEFAULT;
    struct rw_fpenv was = {_mm_getcsr(), 0};
    __asm__ volatile("fnstcw %0" : "=m"(was.x87));
    if (was.mxcsr != RW_MXCSR_DEFAULT)
        _mm_setcsr(RW_MXCSR_DEFAULT);
    if (was.x87 != RW_X87_DEFAULT)
        __asm__ volatile("fldcw %0" : : "m"(x87));
    return was;
}

static inline void rw_fpenv_leave(const struct rw_fpenv *was)
{
    _mm_setcsr(was->mxcsr);
    if (was->x87 != RW_X87_DEFAULT)
        __asm__ volatile("fldcw %0" : : "m"(was->x87));
}
#else
struct rw_fpenv {
    fenv_t all;
};

static inline struct rw_fpenv rw_fpenv_enter(void)
{
    struct rw_fpenv was;
    fegetenv(&was.all);
    fesetenv(FE_DFL_ENV);
    return was;
}

static inline void rw_fpenv_leave(const struct rw_fpenv *was)
{
    fesetenv(&was->all);
}
#endif

/* First in the body of a public function: the default environment until it returns. */
#define RW_DEFAULT_FPENV \
    const struct rw_fpenv rw_fpenv_was __attribute__((cleanup(rw_fpenv_leave))) = rw_fpenv_enter()
#endif
