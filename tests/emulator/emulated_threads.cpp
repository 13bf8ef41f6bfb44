/* A launch: a block's threads are coroutines that take turns on the caller's thread, each until it
 * waits for others of its warp or block; blocks run one after another. */
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "cuda_runtime.h"

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#include <sanitizer/common_interface_defs.h>
#define ADDRESSES_ARE_CHECKED 1
#else
#define ADDRESSES_ARE_CHECKED 0
#endif

thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulated
{

thread_local unsigned char *shared_memory;

namespace
{

enum { STACK = 128 << 10 };

[[noreturn]] void give_up(const char *what)
{
    std::fprintf(stderr, "emulated GPU: %s, in block (%u, %u, %u), thread (%u, %u, %u)\n", what,
                 blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x, threadIdx.y, threadIdx.z);
    std::abort();
}

/* ---- turns ---- */

struct coroutine {
    void *sp = nullptr; /* of x86-64 */
    ucontext_t context; /* of others */
    void *stack = nullptr, *fake = nullptr;
};

#if defined(__x86_64__)
extern "C" void emulated_switch(void **from, void *to);
asm(".text\n.type emulated_switch,@function\nemulated_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
    ".size emulated_switch, . - emulated_switch\n");

void begin(coroutine &at, void (*body)())
{
    void **top =
        (void **)((char *)at.stack + STACK) - 3; /* after `ret`, as after a call: 8 bytes off a
                                                  * multiple of 16 */
    *--top = (void *)body;
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    at.sp = top;
}
void jump(coroutine &from, coroutine &to)
{
    emulated_switch(&from.sp, to.sp);
}
#else
void begin(coroutine &at, void (*body)())
{
    getcontext(&at.context);
    at.context.uc_stack.ss_sp = at.stack;
    at.context.uc_stack.ss_size = STACK;
    at.context.uc_link = nullptr;
    makecontext(&at.context, body, 0);
}
void jump(coroutine &from, coroutine &to)
{
    swapcontext(&from.context, &to.context);
}
#endif

/* ---- a block ---- */

enum waits { FOR_NOTHING, FOR_WARP, FOR_BLOCK };

struct thread {
    coroutine own;
    dim3 index;
    unsigned number;
    enum waits waits;
    const struct meeting *meeting;
    unsigned barrier; /* that it waits for */
    bool has_returned;
};

struct warp {
    struct meeting meetings[WARP];
    unsigned returned; /* lanes; those past the block's end, too */
};

struct block {
    std::vector<thread> threads;
    std::vector<warp> warps;
    unsigned n = 0, n_returned = 0;
    unsigned barrier = 0, n_at_barrier = 0;
    int any[2] = {0, 0}; /* of barrier_or, by the barrier's parity */
    thread *now = nullptr;
    coroutine scheduler;
    const void *scheduler_bottom = nullptr;
    size_t scheduler_size = 0;
    const std::function<void()> *kernel = nullptr;
    size_t shared_bytes = 0; /* that the launch asks for */
    std::vector<unsigned char> shared = std::vector<unsigned char>(MOST_SHARED + 16);

    block() : threads(MOST_THREADS), warps(MOST_THREADS / WARP)
    {
        for (thread &one : threads) {
            one.own.stack =
                mmap(nullptr, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (one.own.stack == MAP_FAILED)
                give_up("no memory for stacks");
        }
    }
    ~block()
    {
        for (thread &one : threads)
            munmap(one.own.stack, STACK);
    }
};

/* Made by the thread's first launch. A key frees it: what C++ has for that allocates, and ends the
 * process where a test lets an allocation fail. */
thread_local block *here = nullptr;

void make_here()
{
    static const pthread_key_t key = [] {
        pthread_key_t made;
        if (pthread_key_create(&made, [](void *of) { delete static_cast<block *>(of); }) != 0)
            give_up("no key for a thread's block");
        return made;
    }();
    here = new block;
    pthread_setspecific(key, here);
}

void to_scheduler(bool ends)
{
    block &b = *here;
#if ADDRESSES_ARE_CHECKED
    __sanitizer_start_switch_fiber(ends ? nullptr : &b.now->own.fake, b.scheduler_bottom,
                                   b.scheduler_size);
#else
    (void)ends;
#endif
    jump(b.now->own, b.scheduler);
#if ADDRESSES_ARE_CHECKED
    __sanitizer_finish_switch_fiber(here->now->own.fake, &here->scheduler_bottom,
                                    &here->scheduler_size);
#endif
}

void turn_of(thread &one)
{
    block &b = *here;
    b.now = &one;
    threadIdx = one.index;
#if ADDRESSES_ARE_CHECKED
    __sanitizer_start_switch_fiber(&b.scheduler.fake, one.own.stack, STACK);
#endif
    jump(b.scheduler, one.own);
#if ADDRESSES_ARE_CHECKED
    __sanitizer_finish_switch_fiber(b.scheduler.fake, nullptr, nullptr);
#endif
}

/* All who have not returned are there. */
void end_barrier(block &b)
{
    if (b.n_at_barrier == 0 || b.n_at_barrier < b.n - b.n_returned)
        return;
    b.n_at_barrier = 0;
    b.barrier++;
    b.any[b.barrier & 1] = 0; /* the next one's; that of the ended one is still read */
}

bool is_complete(const warp &w, const struct meeting &m)
{
    return ((m.there | w.returned) & m.mask) == m.mask;
}

void run_thread()
{
#if ADDRESSES_ARE_CHECKED
    __sanitizer_finish_switch_fiber(nullptr, &here->scheduler_bottom, &here->scheduler_size);
#endif
    (*here->kernel)();
    block &b = *here;
    warp &w = b.warps[b.now->number / WARP];
    b.now->has_returned = true;
    w.returned |= 1u << b.now->number % WARP;
    for (struct meeting &m : w.meetings)
        if (m.is_held && is_complete(w, m))
            m.is_complete = true;
    b.n_returned++;
    end_barrier(b);
    to_scheduler(true);
    give_up("a thread goes on after its end");
}

bool may_go_on(const block &b, const thread &one)
{
    switch (one.waits) {
    case FOR_WARP:
        return one.meeting->is_complete;
    case FOR_BLOCK:
        return one.barrier != b.barrier;
    default:
        return true;
    }
}

/* Each lane goes as far as it can; whether any went. */
bool run_warp(block &b, unsigned first)
{
    bool any = false, some = true;
    while (some) {
        some = false;
        for (unsigned t = first; t < first + WARP && t < b.n; t++)
            if (!b.threads[t].has_returned && may_go_on(b, b.threads[t])) {
                b.threads[t].waits = FOR_NOTHING;
                turn_of(b.threads[t]);
                some = any = true;
            }
    }
    return any;
}

void begin_block(block &b)
{
    b.n = blockDim.x * blockDim.y * blockDim.z;
    b.n_returned = b.n_at_barrier = 0;
    b.any[0] = b.any[1] = 0;
    for (unsigned t = 0; t < b.n; t++) {
        thread &one = b.threads[t];
        one.index = dim3(t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y);
        one.number = t;
        one.waits = FOR_NOTHING;
        one.has_returned = false;
        begin(one.own, run_thread);
    }
    for (unsigned w = 0; w * WARP < b.n; w++) {
        const unsigned lanes = b.n - w * WARP;
        b.warps[w].returned = lanes < WARP ? ~0u << lanes : 0;
        for (struct meeting &m : b.warps[w].meetings)
            m.is_held = false;
    }
    std::memset(shared_memory, 0xA5, b.shared_bytes);
}

void run_block(block &b)
{
    begin_block(b);
    while (b.n_returned < b.n) {
        bool any = false;
        for (unsigned first = 0; first < b.n; first += WARP)
            any |= run_warp(b, first);
        if (!any)
            give_up("all threads wait for others");
    }
}

} // namespace

void run_grid(const config &at, const std::function<void()> &kernel)
{
    if (!here)
        make_here();
    block &b = *here;
    if (b.kernel)
        give_up("a kernel launches a kernel");
    b.kernel = &kernel;
    b.shared_bytes = at.shared;
    shared_memory = (unsigned char *)(((uintptr_t)b.shared.data() + 15) & ~(uintptr_t)15);
    gridDim = at.grid;
    blockDim = at.block;
    for (unsigned z = 0; z < at.grid.z; z++)
        for (unsigned y = 0; y < at.grid.y; y++)
            for (unsigned x = 0; x < at.grid.x; x++) {
                blockIdx = dim3(x, y, z);
                run_block(b);
            }
    b.kernel = nullptr;
}

/* ---- what threads do together ---- */

int barrier_or(int value)
{
    block &b = *here;
    thread &own = *b.now;
    const unsigned number = b.barrier, slot = number & 1;
    b.any[slot] |= value != 0;
    b.n_at_barrier++;
    own.barrier = number;
    own.waits = FOR_BLOCK;
    end_barrier(b);
    if (own.barrier == b.barrier)
        to_scheduler(false);
    else
        own.waits = FOR_NOTHING;
    return here->any[slot];
}

void barrier()
{
    (void)barrier_or(0);
}

unsigned lane()
{
    return here->now->number % WARP;
}

const struct meeting *meet(unsigned mask, enum what what, uint64_t word)
{
    block &b = *here;
    thread &own = *b.now;
    warp &w = b.warps[own.number / WARP];
    const unsigned bit = 1u << own.number % WARP;
    struct meeting *at = nullptr;
    if (!(mask & bit))
        give_up("a lane is not in its own mask");
    for (struct meeting &m : w.meetings)
        if (m.is_held && !m.is_complete && m.mask == mask && !(m.there & bit))
            at = &m;
    for (unsigned i = 0; !at && i < WARP; i++)
        if (!w.meetings[i].is_held) {
            at = &w.meetings[i];
            *at = {what, mask, 0, 0, true, false, {}};
        }
    if (!at)
        give_up("more meetings of lanes than there are lanes");
    if (at->what != what)
        give_up("lanes of one mask do different things");
    at->there |= bit;
    at->word[own.number % WARP] = word;
    at->is_complete = is_complete(w, *at);
    if (!at->is_complete) {
        own.meeting = at;
        own.waits = FOR_WARP;
        to_scheduler(false);
    }
    return at;
}

void leave(const struct meeting *meeting)
{
    block &b = *here;
    warp &w = b.warps[b.now->number / WARP];
    struct meeting &m = w.meetings[meeting - w.meetings];
    m.left |= 1u << b.now->number % WARP;
    if (m.left == m.there)
        m.is_held = false;
}

unsigned vote(unsigned mask, bool is_true)
{
    const struct meeting *all = meet(mask, VOTE, is_true);
    unsigned votes = 0;
    for (unsigned i = 0; i < WARP; i++)
        votes |= (unsigned)(all->there >> i & 1 && all->word[i]) << i;
    leave(all);
    return votes;
}

} // namespace emulated
