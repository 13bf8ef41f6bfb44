/* How much of the machine this process may use: of its processors by affinity, control groups and
 * Slurm, of its memory by control groups, which is how containers are limited (cgroups, versions 1
 * and 2: a group is limited by those above it, too).
 *
 * `root` stands before /proc and /sys: "", or, for tests, a folder with both. What is not there, or
 * is no number, limits nothing. */
#ifndef RW_BASE_LIMITS_H
#define RW_BASE_LIMITS_H

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

#ifdef __cplusplus
}
#endif
#endif
