/* How much of the machine this process may use: of its processors by affinity, control groups and
 * Slurm, of its memory by control groups, which is how containers are limited (cgroups, versions 1
 * and 2: a group is limited by those above it, too).
 *
 * `root` stands before /proc and /sys: "", or, for tests, a folder with both. What is not there, or
 * is no number, limits nothing. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_LIMIT_PATH = 1024 };

struct rw_cpu_limits {
    int online;                     /* processors of the system */
    int affinity;                   /* of them, those that this process may run on; 0: not known */
    double quota;                   /* processors whose time a group has; 0: no limit */
    char quota_file[RW_LIMIT_PATH]; /* that says so, without `root`; "" */
    int slurm;                      /* SLURM_CPUS_PER_TASK; 0: not set */
    int threads;      /* the least of them; of a quota's fraction a thread; 1 or more */
    const char *from; /* "processors", "affinity", "cgroup", "SLURM_CPUS_PER_TASK" */
};
void rw_cpu_limits_find(const char *root, struct rw_cpu_limits *out);
/* What may change from moment to moment, without reading a file: affinity, Slurm, and the outcome.
 */
void rw_cpu_limits_again(struct rw_cpu_limits *out);

struct rw_memory_limits {
    uint64_t system_bytes;          /* that there are; 0: not known */
    uint64_t limit_bytes;           /* of a group, less than the system's; 0: no limit */
    char limit_file[RW_LIMIT_PATH]; /* that says so, without `root`; "" */
    uint64_t free_bytes; /* that this process could get now; 0: not known, else 1 or more */
    char free_file[RW_LIMIT_PATH]; /* the limit that leaves no more; "": the system does not */
};
void rw_memory_limits_find(const char *root, struct rw_memory_limits *out);
/* Can this process not get so much now? 1, and for a message "5.0 MB, and 2.0 MB are available",
 * with the limit's file if there is one. Reads files: not for what is small. */
enum { RW_LIMIT_TEXT = RW_LIMIT_PATH + 128 };
int rw_memory_lacks(uint64_t bytes, char text[RW_LIMIT_TEXT]);

/* Which instructions the fast paths may use. Every path gives the same bits; RANKWOOD_ISA (plain,
 * avx2 or avx512) lowers the choice, so that tests can force each in turn. */
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
