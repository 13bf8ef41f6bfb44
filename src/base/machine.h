/* The part of the machine that this process may use, and the processor's instruction sets.
 * Processors are limited by affinity, control groups and Slurm; memory is limited by control
 * groups. Containers are limited by these groups (cgroups, versions 1 and 2). The limits
 * of a group's parents apply to it, too.
 *
 * `root` is a prefix of /proc and /sys: "", or, in tests, a folder that contains both. A file that
 * is missing or contains no number sets no limit. */
#pragma once

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_LIMIT_PATH = 1024 };

struct rw_cpu_limits {
    int online;   /* processors of the system */
    int affinity; /* processors that this process may run on; 0: unknown */
    double quota; /* smallest quota of this process's groups, in processors; 0: no limit */
    char quota_file[RW_LIMIT_PATH]; /* file with that quota, without `root`, or "" */
    int slurm;                      /* SLURM_CPUS_PER_TASK; 0: not set */
    int threads;      /* the smallest limit; a fraction of a quota counts as a thread; at least 1 */
    const char *from; /* the limit's name: "processors", "affinity", "cgroup",
                         "SLURM_CPUS_PER_TASK" */
};
void rw_cpu_limits_find(const char *root, struct rw_cpu_limits *out);
/* Updates `affinity`, `slurm`, `threads` and `from` without reading files, since affinity and
 * Slurm's limit can change at any time. */
void rw_cpu_limits_update(struct rw_cpu_limits *out);

struct rw_memory_limits {
    uint64_t system_bytes;          /* memory of the system; 0: unknown */
    uint64_t limit_bytes;           /* smallest limit of a group, if below the system's; 0: none */
    char limit_file[RW_LIMIT_PATH]; /* file with that limit, without `root`, or "" */
    uint64_t free_bytes; /* memory available to this process now, at least 1; 0: unknown */
    char free_file[RW_LIMIT_PATH]; /* limit's file of the group that leaves least; "": the system
                                      does */
};
void rw_memory_limits_find(const char *root, struct rw_memory_limits *out);
enum { RW_LIMIT_TEXT = RW_LIMIT_PATH + 128 };
/* Returns 1 if less memory than `bytes` is available now. In that case it writes "5.0 MB, but 2.0
 * MB are available" for a message, with the limit's file if there is one. It reads files, so it is
 * too slow for small allocations. */
int rw_memory_lacks(uint64_t bytes, char text[RW_LIMIT_TEXT]);

/* ---- instruction sets for the fast paths ----
 *
 * All paths compute identical results. The environment variable RANKWOOD_ISA (plain, avx2 or
 * avx512) selects a lower instruction set than the processor's best, so tests can force each path.
 */
enum rw_isa {
    RW_ISA_PLAIN,
    RW_ISA_AVX2,  /* with bmi, bmi2 and popcnt */
    RW_ISA_AVX512 /* avx512f, bw, dq and vl, and all of RW_ISA_AVX2 */
};

/* Attributes of functions for each path, empty on other processors. The whole project is compiled
 * without contraction, so these attributes do not enable it. */
#if defined(__x86_64__) && defined(__GNUC__)
#define RW_HAS_X86 1
#define RW_AVX2    __attribute__((target("avx2,bmi,bmi2,popcnt")))
#define RW_AVX512  __attribute__((target("avx2,bmi,bmi2,popcnt,avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define RW_HAS_X86 0
#define RW_AVX2
#define RW_AVX512
#endif

/* A NAME_tmpl.c is compiled by src/meson.build once per instruction set and, if its code depends on
 * the number of bits of a code, per such number. It gets this number as RW_TMPL_BITS, RW_TMPL_AVX2
 * or RW_TMPL_AVX512 (neither: plain), and these instructions for the whole file. RW_TMPL_NAME makes
 * the names unique: name_plain_8, name_avx2_16.
 */
#define RW_TMPL_JOINED(a, b) a##b
#define RW_TMPL_JOIN(a, b)   RW_TMPL_JOINED(a, b)
#define RW_TMPL_NAME(name)   RW_TMPL_JOIN(name, RW_TMPL_SUFFIX)
/* A table of the variants, indexed by enum rw_isa, for templates without RW_TMPL_BITS. */
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

/* Returns the best instruction set that the processor has and RANKWOOD_ISA allows, or that of
 * rw_isa_force. It reads the environment, so call it outside of loops. */
enum rw_isa rw_isa(void);
/* Returns the best instruction set of this processor. */
enum rw_isa rw_isa_most(void);
/* Makes the calling thread use `isa`, which the processor must have, regardless of RANKWOOD_ISA. -1
 * restores the default. */
void rw_isa_force(int isa);
const char *rw_isa_name(enum rw_isa isa);

#ifdef __cplusplus
}
#endif
