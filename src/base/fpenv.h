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

#ifdef __cplusplus
extern "C" {
#endif

struct rw_fpenv {
    uint64_t word;
};

#if defined(__SSE2__)
enum { RW_FPENV_DEFAULT = 0x1f80 }; /* all exceptions masked, nothing else */
static inline struct rw_fpenv rw_fpenv_enter(void)
{
    const struct rw_fpenv was = {_mm_getcsr()};
    if (was.word != RW_FPENV_DEFAULT)
        _mm_setcsr(RW_FPENV_DEFAULT);
    return was;
}

static inline void rw_fpenv_leave(const struct rw_fpenv *was)
{
    _mm_setcsr((unsigned)was->word);
}
#elif defined(__aarch64__)
/* FPCR: 0 is the default. FPSR has the exceptions' flags, which are left alone. */
static inline struct rw_fpenv rw_fpenv_enter(void)
{
    struct rw_fpenv was;
    __asm__ volatile("mrs %0, fpcr" : "=r"(was.word));
    if (was.word != 0)
        __asm__ volatile("msr fpcr, %0" : : "r"((uint64_t)0));
    return was;
}

static inline void rw_fpenv_leave(const struct rw_fpenv *was)
{
    __asm__ volatile("msr fpcr, %0" : : "r"(was->word));
}
#else
static inline struct rw_fpenv rw_fpenv_enter(void)
{
    const struct rw_fpenv was = {(uint64_t)fegetround()};
    fesetround(FE_TONEAREST);
    return was;
}

static inline void rw_fpenv_leave(const struct rw_fpenv *was)
{
    fesetround((int)was->word);
}
#endif

/* First in the body of a public function: the default environment until it returns. */
#define RW_DEFAULT_FPENV \
    const struct rw_fpenv rw_fpenv_was __attribute__((cleanup(rw_fpenv_leave))) = rw_fpenv_enter()

#ifdef __cplusplus
}
#endif
#endif
