#include "comm_calls.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"

enum { FENCE = 32, MOST = 70001 };
static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 9, 511, 512, 513, 4097, MOST};
enum { N_SIZES = sizeof(sizes) / sizeof(sizes[0]) };

struct calls {
    struct rw_ctx *ctx;
    int worker, n_workers, n_wrong;
    char *what;
    size_t what_size;
    uint64_t salt;     /* of the call */
    char *send, *recv; /* [MOST * 8 * n_workers + FENCE] */
};

/* Element i of what worker r brings; all bits are used, so that sums wrap. */
static uint64_t element(const struct calls *c, int r, size_t i)
{
    uint64_t x = c->salt * 0x9e3779b97f4a7c15u + (uint64_t)r * 0xd1342543de82ef95u + i;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static void expect(struct calls *c, int holds, const char *call, size_t size)
{
    if (!holds && c->n_wrong++ == 0)
        snprintf(c->what, c->what_size, "worker %d of %d: %s of %zu", c->worker, c->n_workers, call,
                 size);
}

static size_t width(enum rw_comm_type type)
{
    return type == RW_COMM_U64 ? 8 : 4;
}

static void put(char *to, size_t i, enum rw_comm_type type, uint64_t value)
{
    const uint32_t low = (uint32_t)value;
    memcpy(to + i * width(type), type == RW_COMM_U64 ? (const void *)&value : &low, width(type));
}

/* Does element i of recv have this value, of so many bits? */
static int has(const struct calls *c, size_t i, enum rw_comm_type type, uint64_t value)
{
    char right[8];
    put(right, 0, type, value);
    return memcmp(c->recv + i * width(type), right, width(type)) == 0;
}

static void raise_fence(struct calls *c, size_t bytes)
{
    memset(c->recv + bytes, 0x5a, FENCE);
}

static int fence_stands(const struct calls *c, size_t bytes)
{
    for (int i = 0; i < FENCE; i++) {
        if (c->recv[bytes + (size_t)i] != 0x5a)
            return 0;
    }
    return 1;
}

/* The expected result of all workers, as numbers of the type's width. */
static uint64_t together(const struct calls *c, size_t i, enum rw_comm_type type,
                         enum rw_comm_op op)
{
    uint64_t all = 0;
    for (int r = 0; r < c->n_workers; r++) {
        const uint64_t mine = type == RW_COMM_U64 ? element(c, r, i) : (uint32_t)element(c, r, i);
        if (r == 0)
            all = mine;
        else if (op == RW_COMM_SUM)
            all += mine;
        else if (op == RW_COMM_MIN)
            all = mine < all ? mine : all;
        else
            all = mine > all ? mine : all;
    }
    return all;
}

static int all_reduce(struct calls *c, size_t n, enum rw_comm_type type, enum rw_comm_op op)
{
    for (size_t i = 0; i < n; i++)
        put(c->recv, i, type, element(c, c->worker, i));
    raise_fence(c, n * width(type));
    RW_TRY(rw_comm_all_reduce(c->ctx, c->recv, n, type, op));
    int holds = fence_stands(c, n * width(type));
    for (size_t i = 0; i < n && holds; i++)
        holds = has(c, i, type, together(c, i, type, op));
    static const char *const name[] = {
        [RW_COMM_SUM] = "sum", [RW_COMM_MIN] = "min", [RW_COMM_MAX] = "max"};
    expect(c, holds, name[op], n);
    return RW_OK;
}

static int reduce_scatter(struct calls *c, size_t n_each, enum rw_comm_type type)
{
    const size_t n = n_each * (size_t)c->n_workers, first = n_each * (size_t)c->worker;
    for (size_t i = 0; i < n; i++)
        put(c->send, i, type, element(c, c->worker, i));
    raise_fence(c, n_each * width(type));
    RW_TRY(rw_comm_reduce_scatter(c->ctx, c->send, c->recv, n_each, type));
    int holds = fence_stands(c, n_each * width(type));
    for (size_t i = 0; i < n_each && holds; i++)
        holds = has(c, i, type, together(c, first + i, type, RW_COMM_SUM));
    expect(c, holds, "reduce_scatter", n_each);
    return RW_OK;
}

static int all_gather(struct calls *c, size_t bytes)
{
    const size_t n = (size_t)c->n_workers;
    for (size_t i = 0; i < bytes; i++)
        c->send[i] = (char)element(c, c->worker, i);
    raise_fence(c, bytes * n);
    RW_TRY(rw_comm_all_gather(c->ctx, c->send, c->recv, bytes));
    int holds = fence_stands(c, bytes * n);
    for (size_t i = 0; i < bytes * n && holds; i++)
        holds = c->recv[i] == (char)element(c, (int)(i / bytes), i % bytes);
    expect(c, holds, "all_gather", bytes);
    return RW_OK;
}

/* How many bytes worker `from` has for worker `to`: none, one, odd numbers, and once many. */
static size_t n_bytes(const struct calls *c, int from, int to)
{
    static const size_t some[] = {0, 1, 3, 0, 700, 65537};
    return some[element(c, from, (size_t)to) % 6];
}

/* Are these the bytes of worker `from`, from its byte `first` on? */
static int are_bytes(const struct calls *c, const char *bytes, size_t n, int from, size_t first)
{
    for (size_t i = 0; i < n; i++) {
        if (bytes[i] != (char)element(c, from, first + i))
            return 0;
    }
    return 1;
}

static int gather_all(struct calls *c)
{
    size_t *begin, at = 0;
    void *all;
    const size_t mine = n_bytes(c, c->worker, 0);
    for (size_t i = 0; i < mine; i++)
        c->send[i] = (char)element(c, c->worker, i);
    RW_TRY(rw_comm_all_gatherv(c->ctx, mine ? c->send : NULL, mine, &all, &begin));
    int holds = 1;
    for (int r = 0; r < c->n_workers; r++) {
        const size_t n = n_bytes(c, r, 0);
        holds = holds && begin[r] == at && begin[r + 1] == at + n &&
                are_bytes(c, (char *)all + at, n, r, 0);
        at += n;
    }
    rw_mem_free(all);
    rw_mem_free(begin);
    expect(c, holds, "gather_all", mine);
    return RW_OK;
}

/* The first byte for worker `to` among those that worker `from` sends, which are ordered by
 * receiver. */
static size_t first_byte(const struct calls *c, int from, int to)
{
    size_t first = 0;
    for (int r = 0; r < to; r++)
        first += n_bytes(c, from, r);
    return first;
}

static int exchange(struct calls *c)
{
    size_t send_begin[9], *begin, at = 0;
    void *got;
    for (int r = 0; r <= c->n_workers; r++)
        send_begin[r] = first_byte(c, c->worker, r);
    const size_t n_send = send_begin[c->n_workers];
    for (size_t i = 0; i < n_send; i++)
        c->send[i] = (char)element(c, c->worker, i);
    RW_TRY(rw_comm_exchange(c->ctx, n_send ? c->send : NULL, send_begin, &got, &begin));
    int holds = 1;
    for (int r = 0; r < c->n_workers; r++) {
        const size_t n = n_bytes(c, r, c->worker);
        holds = holds && begin[r] == at && begin[r + 1] == at + n &&
                are_bytes(c, (char *)got + at, n, r, first_byte(c, r, c->worker));
        at += n;
    }
    rw_mem_free(got);
    rw_mem_free(begin);
    expect(c, holds, "exchange", n_send);
    return RW_OK;
}

static int before(struct calls *c)
{
    uint64_t first, all, expected = 0, sum = 0;
    RW_TRY(rw_comm_before(c->ctx, n_bytes(c, c->worker, 1), &first, &all));
    for (int r = 0; r < c->n_workers; r++) {
        expected += r < c->worker ? n_bytes(c, r, 1) : 0;
        sum += n_bytes(c, r, 1);
    }
    expect(c, first == expected && all == sum, "before", n_bytes(c, c->worker, 1));
    return RW_OK;
}

/* The calls of each kind, in sizes one after another. */
static int run(struct calls *c)
{
    for (int s = 0; s < N_SIZES; s++) {
        for (int type = RW_COMM_U32; type <= RW_COMM_U64; type++) {
            for (int op = RW_COMM_SUM; op <= RW_COMM_MAX; op++, c->salt++)
                RW_TRY(all_reduce(c, sizes[s], (enum rw_comm_type)type, (enum rw_comm_op)op));
            RW_TRY(reduce_scatter(c, sizes[s], (enum rw_comm_type)type));
            c->salt++;
        }
        RW_TRY(all_gather(c, sizes[s]));
    }
    for (int i = 0; i < 12; i++, c->salt++) {
        RW_TRY(gather_all(c));
        RW_TRY(exchange(c));
        RW_TRY(before(c));
        expect(c, rw_comm_agree(c->ctx, i) == i, "agree", (size_t)i);
    }
    return c->n_wrong;
}

int comm_calls(struct rw_ctx *ctx, char *what, size_t size)
{
    struct calls c = {.ctx = ctx,
                      .worker = rw_worker(ctx),
                      .n_workers = rw_n_workers(ctx),
                      .what = what,
                      .what_size = size};
    const size_t bytes = (size_t)MOST * 8 * (size_t)c.n_workers + FENCE;
    if (c.n_workers > 8)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "at most 8 workers are checked");
    what[0] = 0;
    int status = RW_NEW(ctx, c.send, bytes);
    status = status < 0 ? status : RW_NEW(ctx, c.recv, bytes);
    status = rw_comm_agree(ctx, status);
    status = status < 0 ? status : run(&c);
    rw_mem_free(c.send);
    rw_mem_free(c.recv);
    return status;
}
