/* Makes the n-th system call of a kind fail, anywhere in the process: in the program, in zlib,
 * in the C library's streams. A seccomp filter sends each such call to a SIGSYS handler, which
 * makes it or fails. x86-64 only. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "faults.h"

struct faults_plan faults_calls;

#if defined(__x86_64__) && defined(__linux__)
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

/* The filter recognises this call by its address and lets it pass. */
long faults_raw_call(long number, long a, long b, long c, long d, long e, long f);
extern const char faults_raw_call_end[];
__asm__(".text\n"
        ".globl faults_raw_call\n.type faults_raw_call, @function\n"
        "faults_raw_call:\n"
        "  mov %rdi, %rax\n  mov %rsi, %rdi\n  mov %rdx, %rsi\n  mov %rcx, %rdx\n"
        "  mov %r8, %r10\n  mov %r9, %r8\n  mov 8(%rsp), %r9\n"
        "  syscall\n"
        ".globl faults_raw_call_end\n"
        "faults_raw_call_end:\n"
        "  ret\n");

enum { MOST_NUMBERS = 4 };
static const struct kind {
    const char *name;
    int number[MOST_NUMBERS]; /* -1: no more */
} kinds[] = {
    {"write", {SYS_write, SYS_pwrite64, SYS_writev, -1}},
    {"read", {SYS_read, SYS_pread64, SYS_readv, -1}},
    {"open", {SYS_openat, SYS_open, -1}},
    {"close", {SYS_close, -1}},
    {"sync", {SYS_fsync, SYS_fdatasync, -1}},
    {"rename", {SYS_rename, SYS_renameat, SYS_renameat2, -1}},
    {"map", {SYS_mmap, SYS_mremap, -1}},
    {"truncate", {SYS_ftruncate, SYS_fallocate, -1}},
    {"stat", {SYS_newfstatat, SYS_fstat, SYS_stat, SYS_lstat}},
    {"seek", {SYS_lseek, -1}},
    {"lock", {SYS_flock, SYS_fchmod, -1}},
};
enum { N_KINDS = sizeof(kinds) / sizeof(kinds[0]) };

static int moves_bytes(long number)
{
    return number == SYS_write || number == SYS_pwrite64 || number == SYS_read ||
           number == SYS_pread64;
}

/* Writing to standard error never fails: the test reads the messages. */
static int is_exempt(long number, long fd)
{
    return (number == SYS_write || number == SYS_writev || number == SYS_close) &&
           fd == STDERR_FILENO;
}

static void die(void)
{
    const long process = faults_raw_call(SYS_getpid, 0, 0, 0, 0, 0, 0);
    faults_raw_call(SYS_kill, process, SIGKILL, 0, 0, 0, 0);
}

static void on_call(int signal, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    const long number = info->si_syscall;
    long n_bytes = r[REG_RDX];
    int dies = 0;
    (void)signal;
    if (!is_exempt(number, r[REG_RDI]) && faults_strikes(&faults_calls)) {
        if (faults_calls.error == FAULTS_KILLED)
            die();
        if (number == SYS_close && faults_calls.error > 0) /* the file is closed all the same */
            faults_raw_call(number, r[REG_RDI], 0, 0, 0, 0, 0);
        if (faults_calls.error > 0) {
            r[REG_RAX] = -faults_calls.error;
            return;
        }
        dies = faults_calls.error == FAULTS_KILLED_AFTER;
        if (moves_bytes(number))
            n_bytes = (n_bytes + 1) / 2;
    }
    r[REG_RAX] =
        faults_raw_call(number, r[REG_RDI], r[REG_RSI], n_bytes, r[REG_R10], r[REG_R8], r[REG_R9]);
    if (dies)
        die();
}

static int install(const struct kind *kind)
{
    const uint64_t end = (uint64_t)(uintptr_t)faults_raw_call_end;
    struct sock_filter filter[16];
    unsigned short n = 0;
#define STEP(...)   filter[n++] = (struct sock_filter)__VA_ARGS__
#define WORD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)(field))
    STEP(WORD(offsetof(struct seccomp_data, arch)));
    STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0));
    STEP(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    STEP(WORD(offsetof(struct seccomp_data, instruction_pointer)));
    STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)end, 0, 3));
    STEP(WORD(offsetof(struct seccomp_data, instruction_pointer) + 4));
    STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)(end >> 32), 0, 1));
    STEP(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    STEP(WORD(offsetof(struct seccomp_data, nr)));
    int n_numbers = 0;
    while (n_numbers < MOST_NUMBERS && kind->number[n_numbers] >= 0)
        n_numbers++;
    for (int i = 0; i < n_numbers; i++)
        STEP(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)kind->number[i],
                      (unsigned char)(n_numbers - i), 0));
    STEP(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    STEP(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP));
#undef WORD
#undef STEP
    const struct sock_fprog program = {n, filter};
    struct sigaction action = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigemptyset(&action.sa_mask);
    return sigaction(SIGSYS, &action, NULL) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

int faults_catch_calls(const char *kind)
{
    for (int i = 0; i < N_KINDS; i++) {
        if (strcmp(kinds[i].name, kind) == 0)
            return install(&kinds[i]);
    }
    return 0;
}

/* A thread that blocks SIGSYS would end the process. */
int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t others;
    if (set && how != SIG_UNBLOCK) {
        others = *set;
        sigdelset(&others, SIGSYS);
        set = &others;
    }
    return sigprocmask(how, set, old) == 0 ? 0 : errno; /* of the thread, on Linux */
}

#else
int faults_catch_calls(const char *kind)
{
    (void)kind;
    return 0;
}
#endif
