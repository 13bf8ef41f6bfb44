/* base/machine.h on made trees of /proc and /sys. */
#include "base/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/ctx.h"
#include "scratch_file.h"

/* A file below the scratch folder, with its folders. */
static void put(const char *path, const char *text)
{
    char folder[512];
    for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        snprintf(folder, sizeof(folder), ".%.*s", (int)(slash - path), path);
        cr_assert(mkdir(folder, 0700) == 0 || errno == EEXIST, "%s", folder);
    }
    snprintf(folder, sizeof(folder), ".%s", path);
    scratch_text(folder, text);
}

static struct rw_cpu_limits cpu_of_tree(void)
{
    struct rw_cpu_limits cpu;
    rw_cpu_limits_find(scratch_folder, &cpu);
    return cpu;
}

static struct rw_memory_limits memory_of_tree(void)
{
    struct rw_memory_limits memory;
    rw_memory_limits_find(scratch_folder, &memory);
    return memory;
}

#define V2_MOUNT "30 24 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1_MOUNTS                                                                          \
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n" \
    "34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"           \
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory\n"  \
    "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

static void put_v2(const char *group)
{
    char line[256];
    snprintf(line, sizeof(line), "0::%s\n", group);
    put("/proc/self/cgroup", line);
    put("/proc/self/mountinfo", "23 1 254:0 / / rw - ext4 /dev/vda rw\n" V2_MOUNT);
    put("/proc/meminfo", "MemTotal: 8000 kB\nMemFree: 10 kB\nMemAvailable: 6000 kB\n");
}

static void put_v1(const char *cpu, const char *memory)
{
    char lines[512];
    snprintf(lines, sizeof(lines),
             "9:name=systemd:/\n4:memory:%s\n3:cpuset:/elsewhere\n2:cpu,cpuacct:%s\n0::/\n", memory,
             cpu);
    put("/proc/self/cgroup", lines);
    put("/proc/self/mountinfo", V1_MOUNTS);
    put("/proc/meminfo", "MemTotal: 8000 kB\nMemAvailable: 6000 kB\n");
}

/* No group, and the environment's Slurm away. */
static void begin(void)
{
    scratch_begin();
    unsetenv("SLURM_CPUS_PER_TASK");
}

#define LIMITS_TEST(name) Test(limits, name, .init = begin, .fini = scratch_end)

LIMITS_TEST(nothing_is_there)
{
    const struct rw_cpu_limits cpu = cpu_of_tree();
    cr_assert_geq(cpu.online, 1);
    cr_assert_eq(cpu.quota, 0.0);
    cr_assert_str_eq(cpu.quota_file, "");
    cr_assert_eq(cpu.threads, cpu.affinity ? cpu.affinity : cpu.online);
    const struct rw_memory_limits memory = memory_of_tree();
    cr_assert_eq(memory.system_bytes, 0);
    cr_assert_eq(memory.limit_bytes, 0);
    cr_assert_eq(memory.free_bytes, 0);
}

LIMITS_TEST(no_group_limits)
{
    put_v2("/");
    const struct rw_memory_limits memory = memory_of_tree();
    cr_assert_eq(memory.system_bytes, 8000 * 1024);
    cr_assert_eq(memory.limit_bytes, 0);
    cr_assert_eq(memory.free_bytes, 6000 * 1024);
    cr_assert_str_eq(memory.free_file, "");
    cr_assert_eq(cpu_of_tree().quota, 0.0);
}

LIMITS_TEST(version_2)
{
    put_v2("/a/b");
    put("/sys/fs/cgroup/a/b/cpu.max", "100000 100000\n");
    put("/sys/fs/cgroup/a/b/memory.max", "4096000\n");
    put("/sys/fs/cgroup/a/b/memory.current", "2048000\n");
    put("/sys/fs/cgroup/a/b/memory.stat",
        "anon 1\ninactive_anon 7\ninactive_file 1000000\nactive_file 24000\nslab 5\n");
    const struct rw_cpu_limits cpu = cpu_of_tree();
    cr_assert_eq(cpu.quota, 1.0);
    cr_assert_str_eq(cpu.quota_file, "/sys/fs/cgroup/a/b/cpu.max");
    cr_assert_eq(cpu.threads, 1);
    cr_assert_str_eq(cpu.from, cpu.affinity == 1 ? "affinity" : "cgroup");
    const struct rw_memory_limits memory = memory_of_tree();
    cr_assert_eq(memory.limit_bytes, 4096000);
    cr_assert_str_eq(memory.limit_file, "/sys/fs/cgroup/a/b/memory.max");
    cr_assert_eq(memory.free_bytes, 4096000 - (2048000 - 1024000)); /* files can be dropped */
    cr_assert_str_eq(memory.free_file, "/sys/fs/cgroup/a/b/memory.max");
}

LIMITS_TEST(version_1)
{
    put_v1("/pod", "/pod/one");
    put("/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us", "100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/pod/one/memory.limit_in_bytes", "5000000\n");
    put("/sys/fs/cgroup/memory/pod/one/memory.usage_in_bytes", "3000000\n");
    put("/sys/fs/cgroup/memory/pod/one/memory.stat",
        "inactive_file 9\nactive_file 9\ntotal_inactive_file 500000\ntotal_active_file 100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    cr_assert_eq(cpu_of_tree().threads, 1);
    cr_assert_str_eq(cpu_of_tree().quota_file, "/sys/fs/cgroup/cpu,cpuacct/pod/cpu.cfs_quota_us");
    const struct rw_memory_limits memory = memory_of_tree();
    cr_assert_eq(memory.limit_bytes, 5000000);
    cr_assert_eq(memory.free_bytes, 2600000);
}

/* The smallest limit of a group and its parents, each alone. */
LIMITS_TEST(groups_above_limit_too)
{
    put_v2("/a/b/c");
    put("/sys/fs/cgroup/a/b/c/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "90000 10000\n");
    put("/sys/fs/cgroup/a/cpu.max", "50000 10000\n");
    put("/sys/fs/cgroup/cpu.max", "70000 10000\n");
    put("/sys/fs/cgroup/a/b/c/memory.max", "max\n");
    put("/sys/fs/cgroup/a/b/memory.max", "3000000\n");
    put("/sys/fs/cgroup/a/b/memory.current", "1000000\n");
    put("/sys/fs/cgroup/a/memory.max", "4000000\n"); /* a neighbour uses most of it */
    put("/sys/fs/cgroup/a/memory.current", "3900000\n");
    cr_assert_eq(cpu_of_tree().quota, 5.0);
    cr_assert_str_eq(cpu_of_tree().quota_file, "/sys/fs/cgroup/a/cpu.max");
    const struct rw_memory_limits memory = memory_of_tree();
    cr_assert_eq(memory.limit_bytes, 3000000);
    cr_assert_str_eq(memory.limit_file, "/sys/fs/cgroup/a/b/memory.max");
    cr_assert_eq(memory.free_bytes, 100000);
    cr_assert_str_eq(memory.free_file, "/sys/fs/cgroup/a/memory.max");
}

/* A fraction of a processor is a thread. */
LIMITS_TEST(fractions)
{
    static const struct {
        const char *text;
        int threads;
    } cases[] = {{"150000 100000\n", 2}, {"200000 100000\n", 2}, {"200001 100000\n", 3},
                 {"1000 100000\n", 1},   {"100000 100000\n", 1}, {"350000 50000", 7}};
    put_v2("/");
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        put("/sys/fs/cgroup/cpu.max", cases[i].text);
        const struct rw_cpu_limits cpu = cpu_of_tree();
        const int most = cpu.affinity ? cpu.affinity : cpu.online;
        cr_assert_eq(cpu.threads, cases[i].threads < most ? cases[i].threads : most, "%s",
                     cases[i].text);
    }
}

LIMITS_TEST(invalid_limits)
{
    static const char *const quotas[] = {"max 100000\n",
                                         "max\n",
                                         "",
                                         "x\n",
                                         "-1 100000\n",
                                         "0 100000\n",
                                         "100000\n",
                                         "100000 0\n",
                                         "100000 x\n",
                                         " 100000 100000\n",
                                         "99999999999999999999999 100000\n"};
    static const char *const memories[] = {
        "max\n",    "", "-1\n", "much\n", "9223372036854771712\n", "99999999999999999999999\n",
        "8192000\n"};
    put_v2("/a");
    for (size_t i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
        put("/sys/fs/cgroup/a/cpu.max", quotas[i]);
        cr_assert_eq(cpu_of_tree().quota, 0.0, "%s", quotas[i]);
    }
    for (size_t i = 0; i < sizeof(memories) / sizeof(memories[0]); i++) {
        put("/sys/fs/cgroup/a/memory.max", memories[i]);
        cr_assert_eq(memory_of_tree().limit_bytes, 0, "%s", memories[i]);
    }
    put("/sys/fs/cgroup/a/memory.max", "8191999\n"); /* a byte less than there is */
    cr_assert_eq(memory_of_tree().limit_bytes, 8191999);
    cr_assert_eq(memory_of_tree().free_bytes, 6000 * 1024);
    cr_assert_str_eq(memory_of_tree().free_file, "");
}

/* More is used than is allowed, as when a limit was lowered: nothing is left, which is known. */
LIMITS_TEST(nothing_is_left)
{
    put_v2("/a");
    put("/sys/fs/cgroup/a/memory.max", "1000\n");
    put("/sys/fs/cgroup/a/memory.current", "2000\n");
    put("/sys/fs/cgroup/a/memory.stat", "inactive_file 500\n");
    cr_assert_eq(memory_of_tree().free_bytes, 1);
    put("/sys/fs/cgroup/a/memory.stat", "inactive_file 5000\n"); /* not all of them its own */
    cr_assert_eq(memory_of_tree().free_bytes, 1000);
    put("/sys/fs/cgroup/a/memory.max", "0\n");
    cr_assert_eq(memory_of_tree().limit_bytes, 1);
}

/* Docker without a name space for groups: the host's path, under the container's own mount. */
LIMITS_TEST(mount_of_a_group)
{
    put_v1("/docker/12ab", "/docker/12ab");
    put("/proc/self/mountinfo",
        "32 31 0:29 /docker/12 /sys/wrong rw - cgroup cgroup rw,cpu\n"
        "33 31 0:29 /docker/12ab /sys/fs/cgroup/c\\040p rw - cgroup cgroup rw,cpu,cpuacct\n");
    put("/sys/wrong/cpu.cfs_quota_us", "10000\n");
    put("/sys/wrong/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/c p/cpu.cfs_quota_us", "40000\n");
    put("/sys/fs/cgroup/c p/cpu.cfs_period_us", "10000\n");
    cr_assert_eq(cpu_of_tree().quota, 4.0);
    cr_assert_str_eq(cpu_of_tree().quota_file, "/sys/fs/cgroup/c p/cpu.cfs_quota_us");
    /* mounted from above the name space: of the groups there, the top one is known */
    put("/proc/self/cgroup", "0::/x\n");
    put("/proc/self/mountinfo", "30 24 0:26 /../.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    put("/sys/fs/cgroup/cpu.max", "30000 10000\n");
    put("/sys/fs/cgroup/x/cpu.max", "10000 10000\n");
    cr_assert_eq(cpu_of_tree().quota, 3.0);
    /* and of a process outside it, none */
    put("/proc/self/cgroup", "0::/../x\n");
    put("/proc/self/mountinfo", V2_MOUNT);
    cr_assert_eq(cpu_of_tree().quota, 0.0);
}

LIMITS_TEST(malformed_lists)
{
    put_v2("/a");
    put("/sys/fs/cgroup/a/cpu.max", "20000 10000\n");
    put("/proc/self/cgroup", "x\n:\n\n5:\n0::/a");
    put("/proc/self/mountinfo", "- - -\n\n1 2 3 - cgroup2\n30 - cgroup2 cgroup2 rw\n" V2_MOUNT);
    cr_assert_eq(cpu_of_tree().quota, 2.0);
    /* a line that does not fit is one line */
    char *line = calloc(20000, 1);
    memset(line, ' ', 10000);
    strcat(line, V2_MOUNT);
    put("/proc/self/mountinfo", line);
    cr_assert_eq(cpu_of_tree().quota, 0.0);
    strcat(line, V2_MOUNT);
    put("/proc/self/mountinfo", line);
    cr_assert_eq(cpu_of_tree().quota, 2.0);
    free(line);
}

LIMITS_TEST(slurm)
{
    setenv("SLURM_CPUS_PER_TASK", "1", 1);
    const struct rw_cpu_limits cpu = cpu_of_tree();
    cr_assert_eq(cpu.slurm, 1);
    cr_assert_eq(cpu.threads, 1);
    cr_assert_eq(rw_processors(), 1);
    static const char *const others[] = {"", "x", "2x", "-1", "1.5", "0", "99999999999999999999"};
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        setenv("SLURM_CPUS_PER_TASK", others[i], 1);
        cr_assert_eq(cpu_of_tree().slurm, 0, "%s", others[i]);
    }
    setenv("SLURM_CPUS_PER_TASK", "100000", 1); /* more than there are */
    cr_assert_eq(cpu_of_tree().slurm, 100000);
    cr_assert_leq(cpu_of_tree().threads, cpu.online);
}
