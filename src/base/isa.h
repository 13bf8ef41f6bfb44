/* Which instructions the fast paths may use. Every path gives the same bits; RANKWOOD_ISA (plain,
 * avx2 or avx512) lowers the choice, so that tests can force each in turn. */
#ifndef RW_BASE_ISA_H
#define RW_BASE_ISA_H

#ifdef __cplusplus
extern "C" {
#endif

enum rw_isa {
    RW_ISA_PLAIN,
    RW_ISA_AVX2,  /* with bmi, bmi2 and popcnt */
    RW_ISA_AVX512 /* f, bw, dq, vl; and all of avx2 */
};

/* The attributes of a function of each path; nothing where there is none. No contraction comes with
 * them: the whole project is compiled without. */
#if defined(__x86_64__) && defined(__GNUC__)
#define RW_HAS_X86 1
#define RW_AVX2    __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define RW_AVX512  __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define RW_HAS_X86 0
#define RW_AVX2
#define RW_AVX512
#endif

/* A NAME_tmpl.c is one text for several widths and instruction sets: src/meson.build compiles it
 * for each, with RW_TMPL_BITS where there are widths, RW_TMPL_AVX2 or RW_TMPL_AVX512 (neither:
 * plain), and these instructions for all of the file. RW_TMPL_NAME gives what it defines a name of
 * its own: name_plain_8, name_avx2_16. */
#define RW_TMPL_JOINED(a, b) a##b
#define RW_TMPL_JOIN(a, b)   RW_TMPL_JOINED(a, b)
#define RW_TMPL_NAME(name)   RW_TMPL_JOIN(name, RW_TMPL_SUFFIX)
/* A table of it by enum rw_isa, where there are no widths. */
#if RW_HAS_X86
#define RW_ISA_PATHS(name)                       \
    {                                            \
        name##_plain, name##_avx2, name##_avx512 \
    }
#else
#define RW_ISA_PATHS(name) \
    {                      \
        name##_plain       \
    }
#endif

/* What this processor has, and RANKWOOD_ISA allows. Reads the environment: not for loops. */
enum rw_isa rw_isa(void);
/* What this processor has. */
enum rw_isa rw_isa_most(void);
/* The calling thread gets `isa` from now on, one that the processor has, whatever RANKWOOD_ISA
 * says; -1: as at first. */
void rw_isa_force(int isa);
const char *rw_isa_name(enum rw_isa isa);

#ifdef __cplusplus
}
#endif
#endif
