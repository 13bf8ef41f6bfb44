/* `rankwood doctor`: sends one table of rows per subject. Most tables describe this machine. The
 * table "check" verifies that the CPU with each of its instruction sets, and each GPU, train the
 * models of the reference engine (tree/ref), byte for byte. The table "auto" shows which device
 * `auto` chooses. To add a fact, add a field to its table here, and describe the field at rw_doctor
 * in rankwood.h. */
#include "bench/bench.h"

#include <stdlib.h>
#include <sys/utsname.h>

#include "gpu/device/device.h"
#include "tree/engine.h"

enum { PATH_SIZE = 4096 };

/* ---- fields ---- */

/* Formats a CUDA version: 13000 is "13.0". 0 (unknown) is "". */
static const char *version_text(int version, char text[16])
{
    snprintf(text, 16, version > 0 ? "%d.%d" : "", version / 1000, version % 1000 / 10);
    return text;
}

const char *rw_bench_line_of(const char *path, const char *start, char *line, int size)
{
    FILE *file = fopen(path, "r");
    int found = 0;
    while (file && !found && fgets(line, size, file))
        found = strncmp(line, start, strlen(start)) == 0;
    if (file)
        fclose(file);
    if (!found)
        return "";
    line[strcspn(line, "\n")] = 0;
    const char *colon = strchr(line, ':');
    return colon ? colon + 1 + strspn(colon + 1, " \t") : line;
}

/* ---- the host ---- */

static int send_program(struct rw_bench *bench)
{
    struct utsname about;
    char system[sizeof(about)] = "";
    if (uname(&about) == 0)
        snprintf(system, sizeof(system), "%s %s %s", about.sysname, about.release, about.machine);
    return rw_bench_send_row(bench, "program", "version:s build:s system:S", RW_VERSION, RW_BUILD,
                             system);
}

/* Lists the instruction sets that Rankwood can use on this processor, such as "plain avx2". */
static const char *instruction_sets(char *text, size_t size)
{
    *text = 0;
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa_most(); isa++) {
        const size_t n = strlen(text);
        snprintf(text + n, size - n, "%s%s", n ? " " : "", rw_isa_name((enum rw_isa)isa));
    }
    return text;
}

static int send_cpu(struct rw_bench *bench)
{
    struct rw_cpu_limits limits;
    char name[256], instructions[64];
    rw_cpu_limits_find("", &limits);
    return rw_bench_send_row(
        bench, "cpu",
        "name:S processors:i affinity:I cgroup_processors:2 cgroup_file:S slurm_cpus_per_task:I "
        "threads_auto:i threads_by:s instructions:s instructions_taken:s RANKWOOD_ISA:S",
        rw_bench_line_of("/proc/cpuinfo", "model name", name, sizeof(name)), limits.online,
        limits.affinity, limits.quota > 0.0 ? limits.quota : (double)NAN, limits.quota_file,
        limits.slurm, rw_processors(), limits.from,
        instruction_sets(instructions, sizeof(instructions)), rw_isa_name(rw_isa()),
        getenv("RANKWOOD_ISA"));
}

static int send_memory(struct rw_bench *bench)
{
    struct rw_memory_limits limits;
    rw_memory_limits_find("", &limits);
    return rw_bench_send_row(bench, "memory",
                             "system_bytes:L cgroup_bytes:L cgroup_file:S available_bytes:L "
                             "available_by:S",
                             limits.system_bytes, limits.limit_bytes, limits.limit_file,
                             limits.free_bytes,
                             limits.free_bytes == 0 ? ""
                             : limits.free_file[0]  ? limits.free_file
                                                    : "system");
}

/* ---- GPUs ---- */

/* Reads the NVIDIA driver's version, such as 580.65.06, from the driver's file in /proc. Returns ""
 * if the file or the version is missing. line: [size], holds the result. */
static const char *driver_version(char *line, int size)
{
    const char *text = rw_bench_line_of("/proc/driver/nvidia/version", "NVRM version", line, size);
    for (; *text; text += strspn(text, " ")) {
        const size_t n = strcspn(text, " ");
        if (n >= 3 && strspn(text, "0123456789.") == n && memchr(text, '.', n)) {
            line[text + n - line] = 0;
            return text;
        }
        text += n;
    }
    return "";
}

static int send_cuda(struct rw_bench *bench, const struct rw_cuda_facts *cuda)
{
    char built[16], served[16], driver[512];
    /* an empty CUDA_VISIBLE_DEVICES counts as set: it hides all GPUs */
    return rw_bench_send_row(bench, "cuda",
                             "built_with:S oldest_driver:I driver:S driver_serves:S "
                             "CUDA_VISIBLE_DEVICES:s " RW_TUNING_VARIABLE ":S gpus:i why_none:S",
                             version_text(cuda->runtime, built), cuda->oldest_driver,
                             driver_version(driver, sizeof(driver)),
                             version_text(cuda->driver, served), getenv("CUDA_VISIBLE_DEVICES"),
                             getenv(RW_TUNING_VARIABLE), cuda->n_devices, cuda->why_not);
}

static int send_gpu(struct rw_bench *bench, int number)
{
    struct rw_device_facts gpu;
    char capability[32];
    if (!rw_device_find(number, &gpu))
        return RW_OK;
    snprintf(capability, sizeof(capability), "%d.%d", gpu.major, gpu.minor);
    return rw_bench_send_row(bench, "gpu",
                             "gpu:i name:s capability:s memory_bytes:l free_bytes:L "
                             "multiprocessors:i shared_bytes:l tuning:S tuning_measured:b "
                             "clock_mhz:I memory_clock_mhz:I mig:b",
                             number, gpu.name, capability, gpu.memory_bytes,
                             rw_device_free_bytes(number), gpu.n_multiprocessors, gpu.shared_bytes,
                             gpu.tuning, gpu.is_tuning_measured, gpu.clock_mhz,
                             gpu.memory_clock_mhz, gpu.is_mig);
}

static int send_libraries(struct rw_bench *bench)
{
    char mpi[PATH_SIZE] = "", nccl[PATH_SIZE] = "";
    const int has_mpi = rw_comm_find(mpi, sizeof(mpi));
    const int has_nccl = rw_nccl_find(nccl, sizeof(nccl));
    return rw_bench_send_row(bench, "libraries", "mpi:S nccl:S why_no_nccl:S", has_mpi ? mpi : "",
                             has_nccl ? nccl : "", has_nccl ? "" : nccl);
}

/* ---- auto ---- */

/* Opens an engine on the first GPU, with typical rules, to estimate the time per tree there. *out:
 * NULL if no GPU is usable. */
static void open_gpu(struct rw_ctx *ctx, int n_gpus, struct rw_engine **out)
{
    const uint64_t all = (uint64_t)1 << 32;
    const struct rw_engine_rules rules = {.cut = {.bins = 255},
                                          .objective = &rw_objective_lambdarank,
                                          .lambda = {.sigma = 1.0f, .truncation = 30},
                                          .min_docs = 1,
                                          .bits = 8,
                                          .query_threshold = all,
                                          .feature_threshold = all,
                                          .max_slots = 1,
                                          .leaves = 2};
    *out = NULL;
    if (n_gpus > 0 && rw_engine_open(ctx, "cuda", &rules, out) < 0)
        *out = NULL;
}

/* Sends a row of the table "auto": the device that `auto` chooses for data of this size, with
 * default parameters and no validation set. gpu: the engine of open_gpu, or NULL. */
static int send_auto(struct rw_bench *bench, struct rw_engine *gpu, double n_docs,
                     uint32_t n_features)
{
    enum { BINS = 255 };
    RW_SCOPED(rw_params_free) struct rw_params *params = NULL;
    RW_TRY(rw_params_new(bench->ctx, &params));
    RW_TRY(rw_params_resolve(bench->ctx, params, (uint32_t)n_docs, n_features, 0));
    const double features = n_features * params->sample_features;
    const struct rw_plan_work work = {.docs = n_docs,
                                      .features = features,
                                      .row_bytes = features,
                                      .bins = features * BINS,
                                      .leaves = params->leaves,
                                      .visits = n_docs * params->truncation,
                                      .newton = params->split == RW_SPLIT_NEWTON};
    const double cpu_ms = rw_plan_cpu_ms(&work, bench->ctx->n_threads);
    const double gpu_ms = gpu ? gpu->ops->plan.tree_ms(gpu, &work) : (double)NAN;
    const int pays = gpu && rw_plan_gpu_pays(cpu_ms, gpu_ms, params->rounds);
    return rw_bench_send_row(
        bench, "auto",
        "documents:n features:u leaves:n rounds:i cpu_ms:2 gpu_ms:2 device:s because:s", n_docs,
        n_features, work.leaves, params->rounds, cpu_ms, gpu_ms, pays ? "cuda" : "cpu",
        !gpu   ? "no usable GPU"
        : pays ? "training should be faster on the GPU, including 0.5 s to open it"
               : "the GPU is not expected to save the 0.5 s needed to open it");
}

static int send_choices(struct rw_bench *bench, int n_gpus)
{
    static const struct {
        double n_docs;
        uint32_t n_features;
    } sizes[] = {{1e4, 46}, {1e5, 136}, {1e6, 136}, {1e7, 136}};
    RW_SCOPED(rw_engine_close) struct rw_engine *gpu = NULL;
    open_gpu(bench->ctx, n_gpus, &gpu);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        RW_TRY(send_auto(bench, gpu, sizes[i].n_docs, sizes[i].n_features));
    return RW_OK;
}

/* ---- engines ---- */

/* Synthetic data for the checks: small trainings run on all devices, and their models are compared
 * byte for byte with those of the reference engine (device "ref", tree/ref). A few thousand
 * documents train in a moment but exercise every stage of an engine, with several batches of
 * nodes. */
static const struct rw_synth_options made = {.shape = "mslr30k", .n_queries = 20, .seed = 1};

enum { DOCTOR_TEXT = 256 };
struct checks {
    struct rw_bench *bench; /* its context is separate from the caller's */
    struct rw_dataset *data;
    char *expected[2]; /* models of device "ref", one per split rule in `splits`; owned */
    size_t n_expected[2];
    int n_wrong;
};

/* Describes the first line of `given` that differs from `expected`, shortened to fit. */
static void differing_line(const char *expected, size_t n_expected, const char *given,
                           size_t n_given, char text[DOCTOR_TEXT])
{
    enum { MOST_SHOWN = 100 };
    size_t at = 0, begin = 0;
    int line = 1;
    while (at < n_expected && at < n_given && expected[at] == given[at]) {
        if (expected[at++] == '\n') {
            line++;
            begin = at;
        }
    }
    const char *const body[2] = {expected + begin, given + begin};
    const size_t left[2] = {n_expected - begin, n_given - begin};
    int length[2];
    for (int i = 0; i < 2; i++) {
        const char *end = memchr(body[i], '\n', left[i]);
        const size_t n = end ? (size_t)(end - body[i]) : left[i];
        length[i] = n < MOST_SHOWN ? (int)n : MOST_SHOWN;
    }
    snprintf(text, DOCTOR_TEXT, "line %d of the model is '%.*s', not '%.*s'", line, length[1],
             body[1], length[0], body[0]);
}

/* Trains a model of two trees, the second of which depends on the scores of the first. text: [*n],
 * written; the caller frees it with rw_free. */
static int train(struct checks *c, const char *device, const char *split, char **text, size_t *n)
{
    const char *const settings[][2] = {
        {"device", device}, {"split", split}, {"rounds", "2"},          {"leaves", "31"},
        {"min-docs", "5"},  {"rate", "0.1"},  {"sample-features", "1"}, {"early-stop", "0"}};
    RW_SCOPED(rw_params_free) struct rw_params *params = NULL;
    RW_SCOPED(rw_model_free) struct rw_model *model = NULL;
    RW_TRY(rw_params_new(c->bench->ctx, &params));
    for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
        RW_TRY(rw_params_set(c->bench->ctx, params, settings[i][0], settings[i][1]));
    RW_TRY(rw_train(c->bench->ctx, params, c->data, NULL, 0, NULL, &model));
    return rw_model_write_memory(c->bench->ctx, model, text, n);
}

static const char *const splits[2] = {"mart", "newton"};

/* Trains with both split rules on `device`, up to the first model that differs or cannot be
 * trained. result: written, "ok" or a description of the problem. Returns 1 if a model differs or
 * training fails. Returns 0 if it is "ok", or if the device does not support the training. */
static int compare(struct checks *c, const char *device, char result[2 * DOCTOR_TEXT])
{
    char what[DOCTOR_TEXT];
    snprintf(result, 2 * DOCTOR_TEXT, "ok");
    for (int i = 0; i < 2; i++) {
        RW_SCOPED(rw_free) char *text = NULL;
        size_t n = 0;
        const int status = train(c, device, splits[i], &text, &n);
        if (status < 0) {
            snprintf(result, 2 * DOCTOR_TEXT, "%s: %.*s",
                     status == RW_ERR_UNSUPPORTED ? "not used" : "failed", DOCTOR_TEXT,
                     rw_last_error(c->bench->ctx));
            return status != RW_ERR_UNSUPPORTED;
        }
        if (n == c->n_expected[i] && memcmp(text, c->expected[i], n) == 0)
            continue;
        differing_line(c->expected[i], c->n_expected[i], text, n, what);
        snprintf(result, 2 * DOCTOR_TEXT, "differs: split %s, %s", splits[i], what);
        return 1;
    }
    return 0;
}

/* Checks one device and sends its row of the table "check". isa: the instruction set to force on
 * the CPU, or -1 for a GPU. */
static int check(struct checks *c, const char *device, int isa)
{
    char result[2 * DOCTOR_TEXT];
    const double start = rw_clock_ms();
    rw_isa_force(isa);
    c->n_wrong += compare(c, device, result);
    rw_isa_force(-1);
    return rw_bench_send_row(c->bench, "check", "device:s instructions:s ms:1 result:s", device,
                             isa >= 0 ? rw_isa_name((enum rw_isa)isa) : NULL, rw_clock_ms() - start,
                             result);
}

static int check_all(struct checks *c, int n_gpus)
{
    for (int i = 0; i < 2; i++)
        RW_TRY(train(c, "ref", splits[i], &c->expected[i], &c->n_expected[i]));
    for (int isa = RW_ISA_PLAIN; isa <= (int)rw_isa_most(); isa++)
        RW_TRY(check(c, "cpu", isa));
    for (int gpu = 0; gpu < n_gpus && gpu <= RW_MAX_DEVICE; gpu++) {
        char device[16];
        snprintf(device, sizeof(device), "cuda:%d", gpu);
        RW_TRY(check(c, device, -1));
    }
    return RW_OK;
}

/* Sends the rows of the table "check". The context of `bench` must have one worker. *n_wrong: the
 * number of rows whose result is "differs: ..." or "failed: ...". */
static int send_checks(struct rw_bench *bench, int n_gpus, int *n_wrong)
{
    struct checks c = {.bench = bench};
    int status = rw_synth(bench->ctx, &made, NULL, &c.data);
    if (status >= 0)
        status = check_all(&c, n_gpus);
    *n_wrong = c.n_wrong;
    rw_free(c.expected[0]);
    rw_free(c.expected[1]);
    rw_dataset_free(c.data);
    return status;
}

/* ---- the doctor ---- */

static int send_all(struct rw_bench *bench, int *n_wrong)
{
    struct rw_cuda_facts cuda;
    rw_cuda_find(&cuda);
    RW_TRY(send_program(bench));
    RW_TRY(send_cpu(bench));
    RW_TRY(send_memory(bench));
    RW_TRY(send_cuda(bench, &cuda));
    for (int gpu = 0; gpu < cuda.n_devices; gpu++)
        RW_TRY(send_gpu(bench, gpu));
    RW_TRY(send_libraries(bench));
    RW_TRY(send_checks(bench, cuda.n_devices, n_wrong));
    return send_choices(bench, cuda.n_devices);
}

int rw_doctor(struct rw_ctx *ctx, rw_bench_row_fn row, void *user, int *n_wrong)
{
    RW_DEFAULT_FPENV;
    struct rw_bench bench = {.name = "doctor", .row = row, .user = user};
    *n_wrong = 0;
    /* The checks use a separate context, without workers or logging. */
    int status = rw_ctx_new(&bench.ctx);
    if (status >= 0)
        status = rw_ctx_set_threads(bench.ctx, ctx->n_threads);
    if (status >= 0)
        status = send_all(&bench, n_wrong);
    if (status < 0)
        rw_fail(ctx, status, "%s", bench.ctx ? rw_last_error(bench.ctx) : "out of memory");
    rw_ctx_free(bench.ctx);
    return status;
}

void rw_build_text(char *text, size_t size)
{
    char cuda[16], instructions[64];
    const int runtime = rw_cuda_runtime();
    snprintf(text, size, "build: %s\nCUDA: %s%s%s\ninstruction sets: %s; %s is in use\n", RW_BUILD,
             runtime ? version_text(runtime, cuda) : "none", runtime ? ", for " : "",
             runtime ? RW_GPU_ARCHS : "", instruction_sets(instructions, sizeof(instructions)),
             rw_isa_name(rw_isa()));
}
