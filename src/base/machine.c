/* Reads limits of processors and memory from the files of control groups below /proc and /sys, and
 * finds the instruction sets (base/machine.h). */
#include "base/machine.h"

#include <stdlib.h>

#include "base/ctx.h"
#include "base/system.h"

enum { MOST_PROCESSORS = 1 << 20 };

/* ---- text ---- */

/* Returns 1 if the comma-separated list contains the word. */
static int has_word(const char *list, const char *word)
{
    const size_t n = strlen(word);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += *at == ',';
        if (strncmp(at, word, n) == 0 && (at[n] == ',' || at[n] == 0))
            return 1;
    }
    return 0;
}

static FILE *open_at(const char *root, const char *path)
{
    char whole[2 * RW_LIMIT_PATH];
    const int n = snprintf(whole, sizeof(whole), "%s%s", root, path);
    return n > 0 && (size_t)n < sizeof(whole) ? rw_system_fopen(whole, "r") : NULL;
}

/* Reads a line without its newline, truncated to `size` bytes with the final 0. Returns 0 at the
 * end of the file, or if `file` is NULL. */
static int next_line(FILE *file, char *line, int size)
{
    if (!file || !fgets(line, size, file))
        return 0;
    char *end = strchr(line, '\n');
    for (int c = 0; !end && c != '\n' && c != EOF;)
        c = fgetc(file);
    if (end)
        *end = 0;
    return 1;
}

static void close_file(FILE *file)
{
    if (file)
        fclose(file);
}

/* ---- control groups ---- */

/* A control group's directory. */
struct cgroup_dir {
    const char *root;
    const char *controller; /* "cpu" */
    int version;
    char folder[RW_LIMIT_PATH]; /* path of the directory, without `root` */
};
typedef void look_fn(const struct cgroup_dir *dir, void *out);

/* Opens a file of the group, or returns NULL. */
static FILE *open_in(const struct cgroup_dir *dir, const char *name, char path[RW_LIMIT_PATH])
{
    const int n = snprintf(path, RW_LIMIT_PATH, "%s/%s", dir->folder, name);
    return n < RW_LIMIT_PATH ? open_at(dir->root, path) : NULL;
}

/* Reads the first line of a file of the group. */
static int read_line(const struct cgroup_dir *dir, const char *name, char *line, int size,
                     char path[RW_LIMIT_PATH])
{
    FILE *file = open_in(dir, name, path);
    const int there = next_line(file, line, size);
    close_file(file);
    return there;
}

/* Decodes the octal escapes of mountinfo, such as \040 for a space. */
static void unescape(char *text)
{
    char *to = text;
    for (const char *c = text; *c; to++) {
        const int is_octal = c[0] == '\\' && c[1] >= '0' && c[1] <= '3' && c[2] >= '0' &&
                             c[2] <= '7' && c[3] >= '0' && c[3] <= '7';
        *to = is_octal ? (char)((c[1] - '0') * 64 + (c[2] - '0') * 8 + (c[3] - '0')) : *c;
        c += is_octal ? 4 : 1;
    }
    *to = 0;
}

/* Returns the path of a group relative to a mount rooted at group `top`, or NULL if the group is
 * not in that mount. In a container without its own cgroup namespace, the paths are those of the
 * host, but only the container's own group is mounted. */
static const char *below(const char *group, const char *top)
{
    const size_t n = strcmp(top, "/") == 0 ? 0 : strlen(top);
    if (strncmp(group, "/..", 3) == 0)
        return NULL;
    if (strncmp(group, top, n) == 0 && (group[n] == '/' || group[n] == 0))
        return group + n;
    return strncmp(top, "/..", 3) == 0 ? "" : NULL; /* the mount's root is a parent group,
                                                       whose limits also apply */
}

/* Calls `look` for the group itself and each of its parents, up to the mount's root. */
static void walk_up(struct cgroup_dir *dir, const char *point, const char *group, look_fn *look,
                    void *out)
{
    const size_t least = strcmp(point, "/") == 0 ? 0 : strlen(point);
    const int n = snprintf(dir->folder, RW_LIMIT_PATH, "%.*s%s", (int)least, point,
                           strcmp(group, "/") == 0 ? "" : group);
    if (n >= RW_LIMIT_PATH)
        return;
    for (size_t length = (size_t)n; length > least;) {
        look(dir, out);
        while (length > least && dir->folder[--length] != '/')
            continue;
        dir->folder[length] = 0;
    }
    look(dir, out);
}

/* Calls `look` for the group in each mount. `group` is the path in /proc/self/cgroup. */
static void look_in_mounts(struct cgroup_dir *dir, const char *group, look_fn *look, void *out)
{
    char line[4096], top[RW_LIMIT_PATH], point[RW_LIMIT_PATH], type[32], options[1024];
    FILE *file = open_at(dir->root, "/proc/self/mountinfo");
    while (next_line(file, line, sizeof(line))) {
        const char *rest = strstr(line, " - ");
        if (!rest || sscanf(line, "%*s %*s %*s %1023s %1023s", top, point) != 2 ||
            sscanf(rest, " - %31s %*s %1023s", type, options) != 2)
            continue;
        if (dir->version == 2 ? strcmp(type, "cgroup2") != 0
                              : strcmp(type, "cgroup") != 0 || !has_word(options, dir->controller))
            continue;
        unescape(top);
        unescape(point);
        const char *under = below(group, top);
        if (under)
            walk_up(dir, point, under, look, out);
    }
    close_file(file);
}

/* Calls `look` for each group of this process in which the controller may set a limit. */
static void look_at_groups(const char *root, const char *controller, look_fn *look, void *out)
{
    char line[4096];
    FILE *file = open_at(root, "/proc/self/cgroup");
    while (next_line(file, line, sizeof(line))) { /* 4:memory:/a, or 0::/a */
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        struct cgroup_dir dir = {root, controller, controllers[1] ? 1 : 2, ""};
        if (dir.version == 2 || has_word(controllers + 1, controller))
            look_in_mounts(&dir, group, look, out);
    }
    close_file(file);
}

/* ---- processors ---- */

/* Reads a group's quota. Version 2 has "150000 100000", or "max" for no limit. Version 1 has a file
 * for each number, and -1 for no limit. */
static void look_at_quota(const struct cgroup_dir *dir, void *user)
{
    enum { SIZE = 64 };
    struct rw_cpu_limits *out = user;
    char line[2 * SIZE], path[RW_LIMIT_PATH], period_path[RW_LIMIT_PATH];
    uint64_t quota, period;
    if (!read_line(dir, dir->version == 2 ? "cpu.max" : "cpu.cfs_quota_us", line, SIZE, path))
        return;
    const char *rest = rw_number_digits(line, UINT64_MAX, &quota);
    if (dir->version == 1 && !read_line(dir, "cpu.cfs_period_us", line + SIZE, SIZE, period_path))
        return;
    if (rest)
        rest = dir->version == 1 ? line + SIZE : rest + (*rest == ' ');
    if (!rest || !rw_number_digits(rest, UINT64_MAX, &period) || quota == 0 || period == 0)
        return;
    const double processors = (double)quota / (double)period;
    if (out->quota > 0.0 && processors >= out->quota)
        return;
    out->quota = processors;
    memcpy(out->quota_file, path, sizeof(path));
}

static void lower(struct rw_cpu_limits *out, int threads, const char *from)
{
    if (threads < 1 || threads >= out->threads)
        return;
    out->threads = threads;
    out->from = from;
}

void rw_cpu_limits_update(struct rw_cpu_limits *out)
{
    const char *slurm = getenv("SLURM_CPUS_PER_TASK");
    const long affinity = rw_system_affinity();
    uint64_t number = 0;
    const char *rest = slurm ? rw_number_digits(slurm, UINT64_MAX, &number) : NULL;
    out->affinity = affinity > 0 && affinity < MOST_PROCESSORS ? (int)affinity : 0;
    out->slurm = rest && *rest == 0 && number < MOST_PROCESSORS ? (int)number : 0;
    out->threads = out->online;
    out->from = "processors";
    lower(out, out->affinity, "affinity");
    if (out->quota > 0.0 && out->quota < MOST_PROCESSORS) {
        const int whole = (int)out->quota;
        lower(out, whole + (out->quota > whole), "cgroup");
    }
    lower(out, out->slurm, "SLURM_CPUS_PER_TASK");
}

void rw_cpu_limits_find(const char *root, struct rw_cpu_limits *out)
{
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    memset(out, 0, sizeof(*out));
    out->online = online > 0 && online < MOST_PROCESSORS ? (int)online : 1;
    look_at_groups(root, "cpu", look_at_quota, out);
    rw_cpu_limits_update(out);
}

/* ---- memory ---- */

/* Returns the bytes of cached files in a group's memory.stat. The system frees them when memory is
 * short. */
static uint64_t file_bytes(const struct cgroup_dir *dir)
{
    static const char *const names[2][2] = {{"total_inactive_file ", "total_active_file "},
                                            {"inactive_file ", "active_file "}};
    char path[RW_LIMIT_PATH], line[128];
    uint64_t sum = 0, number;
    FILE *file = open_in(dir, "memory.stat", path);
    while (next_line(file, line, sizeof(line))) {
        for (int i = 0; i < 2; i++) {
            const char *name = names[dir->version - 1][i];
            if (strncmp(line, name, strlen(name)) == 0 &&
                rw_number_digits(line + strlen(name), UINT64_MAX, &number))
                sum += number;
        }
    }
    close_file(file);
    return sum;
}

static void look_at_memory(const struct cgroup_dir *dir, void *user)
{
    static const char *const names[2][2] = {{"memory.limit_in_bytes", "memory.usage_in_bytes"},
                                            {"memory.max", "memory.current"}};
    const char *const *name = names[dir->version - 1];
    struct rw_memory_limits *out = user;
    char line[64], path[RW_LIMIT_PATH], used_path[RW_LIMIT_PATH];
    const uint64_t whole = out->system_bytes ? out->system_bytes : UINT64_MAX / 4;
    uint64_t limit, used = 0;
    if (!read_line(dir, name[0], line, sizeof(line), path) ||
        !rw_number_digits(line, UINT64_MAX, &limit) ||
        limit >= whole) /* version 1 writes "no limit" as a number close to 2^63 */
        return;
    if (out->limit_bytes == 0 || limit < out->limit_bytes) {
        out->limit_bytes = limit ? limit : 1;
        memcpy(out->limit_file, path, sizeof(path));
    }
    if (read_line(dir, name[1], line, sizeof(line), used_path))
        rw_number_digits(line, UINT64_MAX, &used);
    const uint64_t files = file_bytes(dir);
    used -= files < used ? files : used;
    const uint64_t left = used < limit ? limit - used : 1;
    if (out->free_bytes == 0 || left < out->free_bytes) {
        out->free_bytes = left;
        memcpy(out->free_file, path, sizeof(path));
    }
}

void rw_memory_limits_find(const char *root, struct rw_memory_limits *out)
{
    char line[128];
    memset(out, 0, sizeof(*out));
    FILE *file = open_at(root, "/proc/meminfo");
    while (next_line(file, line, sizeof(line))) {
        unsigned long long kb;
        if (sscanf(line, "MemTotal: %llu kB", &kb) == 1)
            out->system_bytes = (uint64_t)kb * 1024;
        if (sscanf(line, "MemAvailable: %llu kB", &kb) == 1)
            out->free_bytes = kb ? (uint64_t)kb * 1024 : 1;
    }
    close_file(file);
    look_at_groups(root, "memory", look_at_memory, out);
}

int rw_memory_lacks(uint64_t bytes, char text[RW_LIMIT_TEXT])
{
    struct rw_memory_limits memory;
    rw_memory_limits_find("", &memory);
    if (memory.free_bytes == 0 || bytes <= memory.free_bytes)
        return 0;
    snprintf(text, RW_LIMIT_TEXT, "%.1f MB, but %.1f MB are available%s%s", (double)bytes / 1e6,
             (double)memory.free_bytes / 1e6, memory.free_file[0] ? " under " : "",
             memory.free_file);
    return 1;
}

static const char *const names[] = {"plain", "avx2", "avx512"};
static _Thread_local int forced = -1;

const char *rw_isa_name(enum rw_isa isa)
{
    return names[isa];
}

enum rw_isa rw_isa_most(void)
{
#if RW_HAS_X86
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2") || !__builtin_cpu_supports("popcnt"))
        return RW_ISA_PLAIN;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return RW_ISA_AVX512;
    return RW_ISA_AVX2;
#else
    return RW_ISA_PLAIN;
#endif
}

void rw_isa_force(int isa)
{
    forced = isa;
}

enum rw_isa rw_isa(void)
{
    const enum rw_isa most = rw_isa_most();
    if (forced >= 0)
        return (enum rw_isa)forced;
    const char *wanted = getenv("RANKWOOD_ISA");
    for (int isa = RW_ISA_PLAIN; wanted && isa < (int)most; isa++) {
        if (strcmp(wanted, names[isa]) == 0)
            return (enum rw_isa)isa;
    }
    return most;
}
