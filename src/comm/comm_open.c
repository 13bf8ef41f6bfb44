/* Communicators of libraries that are opened at run time, so that nothing here is linked to an MPI;
 * and whether there is a launcher that means this process to be one of many. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "comm/comm_module.h"

static const struct module {
    const char *name, *file;
    const char *variable; /* of the environment: the file to open instead */
    const char *hint;
} modules[] = {
    {"mpi", "rankwood_comm_mpi.so", "RANKWOOD_COMM_MPI",
     "hint: it is built with Rankwood where an MPI and its headers are installed "
     "(libopenmpi-dev or libmpich-dev; meson setup -Dmpi=enabled says what is missing); "
     "RANKWOOD_COMM_MPI=FILE names one elsewhere"},
};

enum { PATH_SIZE = 4096 };

/* ---- where a library is ---- */

/* path -> its folder; 0: it has none. */
static int cut_to_folder(char *path)
{
    char *slash = strrchr(path, '/');
    if (slash)
        *slash = 0;
    return slash != NULL;
}

/* The folder of what this function is part of, the shared library or the program. */
static int folder_of_library(char *out)
{
    Dl_info info;
    if (!dladdr(modules, &info) || !info.dli_fname)
        return 0;
    snprintf(out, PATH_SIZE, "%s", info.dli_fname);
    return cut_to_folder(out);
}

static int folder_of_program(char *out)
{
    const ssize_t n = readlink("/proc/self/exe", out, PATH_SIZE - 1);
    if (n <= 0)
        return 0;
    out[n] = 0;
    return cut_to_folder(out);
}

/* Finds a file in the folder and where `folder` would be if it were the one of libraries or of
 * programs of an installation, or of a build. */
static int find_from(const char *folder, const char *file, char *out)
{
    static const char *const beside[] = {"", "/rankwood", "/..", "/../" RW_LIBRARY_DIR "/rankwood"};
    for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
        const int n = snprintf(out, PATH_SIZE, "%s%s/%s", folder, beside[i], file);
        if (n < PATH_SIZE && access(out, R_OK) == 0)
            return 1;
    }
    return 0;
}

static int find(const struct module *module, char *out)
{
    char folder[PATH_SIZE];
    const char *named = getenv(module->variable);
    if (named && named[0])
        return snprintf(out, PATH_SIZE, "%s", named) < PATH_SIZE;
    if (folder_of_library(folder) && find_from(folder, module->file, out))
        return 1;
    if (folder_of_program(folder) && find_from(folder, module->file, out))
        return 1;
    snprintf(out, PATH_SIZE, "%s/%s", RW_INSTALLED_MODULES, module->file);
    return access(out, R_OK) == 0;
}

int rw_comm_find(const char *name, char *path, size_t size)
{
    char found[PATH_SIZE];
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (strcmp(modules[i].name, name) == 0 && find(&modules[i], found))
            return (size_t)snprintf(path, size, "%s", found) < size;
    }
    return 0;
}

/* ---- opening ---- */

static int open_module(struct rw_ctx *ctx, const struct module *module, rw_comm_module_fn **out)
{
    char path[PATH_SIZE];
    if (!find(module, path))
        return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                       "cannot find '%s', without which ranks cannot meet by %s\n%s", module->file,
                       module->name, module->hint);
    /* MPI opens parts of its own that look for its names among all */
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) {
        const char *why = dlerror();
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "cannot open '%s': %s\n%s", path,
                       why ? why : "no reason given", module->hint);
    }
    void *symbol = dlsym(library, RW_TEXT(RW_COMM_MODULE_OPEN));
    if (!symbol) {
        dlclose(library);
        return rw_fail(ctx, RW_ERR_UNSUPPORTED, "'%s' is of another version of Rankwood\n%s", path,
                       module->hint);
    }
    memcpy(out, &symbol, sizeof(symbol));
    return RW_OK; /* MPI cannot be closed and opened again, so the library stays */
}

int rw_comm_launched(void)
{
    /* Open MPI; MPICH and Intel MPI; MVAPICH; srun, which alone sets its. SLURM_NTASKS is in the
     * environment of a batch script, too, which is one process. */
    static const char *const variables[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                            "MV2_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS"};
    for (size_t i = 0; i < sizeof(variables) / sizeof(variables[0]); i++) {
        const char *text = getenv(variables[i]);
        const long n = text ? strtol(text, NULL, 10) : 0;
        if (n > 1 && n <= RW_MAX_RANKS)
            return (int)n;
    }
    return 1;
}

/* srun with the wrong --mpi starts processes that are each alone: all would write one model. */
static int check_meeting(struct rw_ctx *ctx, const struct rw_comm_module *met)
{
    if (met->n_ranks > 1 || rw_comm_launched() <= 1)
        return RW_OK;
    return rw_fail(ctx, RW_ERR_UNSUPPORTED,
                   "%d processes were started, but %s sees one: they do not know of each other\n"
                   "hint: mpirun must be of the MPI that rankwood_comm_mpi.so was built with; srun "
                   "needs --mpi=pmix or --mpi=pmi2",
                   rw_comm_launched(), met->functions.name);
}

static int meet(struct rw_ctx *ctx, rw_comm_module_fn *open, struct rw_comm **out)
{
    struct rw_comm_module met;
    char why[512];
    if (open(&met, why, sizeof(why)) != 0)
        return rw_fail(ctx, RW_ERR_MACHINE, "%s", why);
    const int status = check_meeting(ctx, &met);
    if (status < 0) {
        met.close(met.user, 0);
        return status;
    }
    /* if this fails it stays open: the launcher sees a process that leaves so, and ends the others
     */
    RW_TRY(rw_comm_new(ctx, &met.functions, met.user, met.rank, met.n_ranks, out));
    (*out)->close = met.close;
    (*out)->local_rank = met.local_rank;
    return RW_OK;
}

int rw_comm_open(struct rw_ctx *ctx, const char *name, struct rw_comm **out)
{
    *out = NULL;
    if (!name && rw_comm_launched() == 1)
        return RW_OK;
    name = name ? name : "mpi";
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        rw_comm_module_fn *open;
        if (strcmp(modules[i].name, name) != 0)
            continue;
        RW_TRY(open_module(ctx, &modules[i], &open));
        return meet(ctx, open, out);
    }
    return rw_fail(ctx, RW_ERR_ARGUMENT, "unknown communicator '%s'; expected mpi", name);
}
