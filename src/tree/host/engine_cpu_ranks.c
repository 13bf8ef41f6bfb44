/* Histograms of many ranks. Each rank adds up its own documents' cells; what goes over the wire is,
 * for each rank, the cells of the features that it searches, of a few nodes at a time: packed as
 * they are kept while all ranks' documents of the node leave room for that, their hessians apart in
 * 32 bits. A rank keeps its features' sums, takes them from the parent's, and searches both. */
#include "comm/comm.h"
#include "tree/host/engine_cpu.h"

/* How a node's cells go over the wire, by what their sums over all ranks can reach. */
struct wire {
    int words;      /* 64-bit words a cell: 1, packed; or 2, 3: lambda, count, hessian */
    int hess_apart; /* and its hessian among the 32-bit ones */
};

static struct wire wire_of(const struct rw_cpu *cpu, const struct rw_sibling *s)
{
    const uint64_t limit = (uint64_t)rw_quantise_limit(cpu->host.base.rules.bits);
    const int newton = cpu->words.newton;
    if (cpu->ranks->all_n[s->smaller] * limit < (uint64_t)1 << 31)
        return (struct wire){1, newton};
    return (struct wire){2 + newton, 0};
}

/* ---- memory, and what is whose ---- */

int rw_cpu_allocate_ranks(struct rw_cpu *cpu, size_t words)
{
    enum { WIRE_WORDS = 3 };
    struct rw_host *host = &cpu->host;
    struct rw_cpu_ranks *ranks = cpu->ranks;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    const size_t n_ranks = (size_t)rw_n_ranks(host->base.ctx);
    const size_t n_slots = host->base.rules.max_slots;
    uint64_t all = 0, most = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint64_t n = rw_cpu_n_cells(cuts, f);
        all += n;
        most = n > most ? n : most;
    }
    /* neighbours share at most one feature more than their part */
    ranks->room = all / n_ranks + most + 1;
    ranks->local_words = all * words;
    cpu->buffer_words = ranks->room * words;
    const size_t room = (size_t)RW_CPU_RANK_JOBS * (ranks->room + 1);
    RW_TRY(RW_HOST_NEW(host, ranks->first, n_ranks + 1));
    RW_TRY(RW_HOST_NEW(host, ranks->all_n, n_slots));
    RW_TRY(RW_HOST_NEW(host, ranks->kept_at, (size_t)cuts->n_features + 1));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->local, RW_CPU_RANK_JOBS * ranks->local_words));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->send, n_ranks * room * WIRE_WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->recv, room * WIRE_WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->send_hess, n_ranks * room));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->recv_hess, room));
    cpu->kept_at = ranks->kept_at;
    return RW_OK;
}

void rw_cpu_divide_features(struct rw_cpu *cpu, const struct rw_root *root)
{
    struct rw_cpu_ranks *ranks = cpu->ranks;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const uint32_t n_ranks = (uint32_t)rw_n_ranks(cpu->host.base.ctx);
    uint64_t all = 0, before = 0, of_rank = 0, at = 0;
    uint32_t rank = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        all += cpu->host.feature_sampled[f] ? rw_cpu_n_cells(cuts, f) : 0;
    ranks->most_cells = 0;
    ranks->first[0] = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        ranks->kept_at[f] = at;
        if (!cpu->host.feature_sampled[f])
            continue;
        const uint32_t owner = (uint32_t)(before * n_ranks / all);
        for (; rank < owner; of_rank = at = 0) {
            ranks->first[++rank] = f;
            ranks->kept_at[f] = 0;
        }
        at += rw_cpu_n_cells(cuts, f);
        before += rw_cpu_n_cells(cuts, f);
        of_rank += rw_cuts_n_codes(cuts, f);
        ranks->most_cells = of_rank > ranks->most_cells ? of_rank : ranks->most_cells;
    }
    while (rank < n_ranks)
        ranks->first[++rank] = cuts->n_features;
    ranks->all_n[0] = (uint32_t)root->sum.n;
}

void rw_cpu_ranks_partition(struct rw_cpu *cpu, const struct rw_split *splits, int n)
{
    uint32_t *all_n = cpu->ranks->all_n;
    for (int i = 0; i < n; i++) {
        all_n[splits[i].left] = splits[i].n_left;
        all_n[splits[i].right] = all_n[splits[i].slot] - splits[i].n_left;
    }
}

/* ---- to the wire and back ---- */

/* The nodes of a call, and where the cells of each begin in a rank's part. */
struct exchange {
    struct rw_cpu *cpu;
    const struct rw_sibling *job[RW_CPU_RANK_JOBS]; /* in cpu->job */
    struct wire wire[RW_CPU_RANK_JOBS];
    size_t begin[RW_CPU_RANK_JOBS + 1], begin_hess[RW_CPU_RANK_JOBS + 1];
    int n_jobs, n_parts; /* of a node's search */
};

/* Cells as they are kept to the wire's. */
static void put(const struct rw_cpu *cpu, struct wire wire, const int64_t *cells, uint32_t n,
                uint64_t *to, uint32_t *hess)
{
    const size_t n_words = (size_t)cpu->words.n_words;
    if (wire.words == 1 && n_words == 1) {
        memcpy(to, cells, n * sizeof(*to));
        return;
    }
    for (uint32_t i = 0; i < n; i++, cells += n_words, to += wire.words) {
        const struct rw_cell cell = rw_cpu_decode(&cpu->words, cells);
        to[0] =
            wire.words == 1 ? (uint64_t)cell.lambda * 4294967296 + cell.n : (uint64_t)cell.lambda;
        if (wire.words > 1)
            to[1] = cell.n;
        if (wire.words > 2)
            to[2] = (uint64_t)cell.hess;
        if (wire.hess_apart)
            hess[i] = (uint32_t)cell.hess;
    }
}

static struct rw_cell get(struct wire wire, const uint64_t *from, const uint32_t *hess, uint32_t i)
{
    const uint64_t *at = from + (size_t)i * (size_t)wire.words;
    struct rw_cell cell = {0, 0, 0};
    if (wire.words == 1) {
        cell.lambda = (int64_t)at[0] >> 32;
        cell.n = (uint32_t)at[0];
    } else {
        cell.lambda = (int64_t)at[0];
        cell.n = at[1];
    }
    if (wire.words > 2)
        cell.hess = (int64_t)at[2];
    if (wire.hess_apart)
        cell.hess = hess[i];
    return cell;
}

/* The wire's cells as they are kept, filled up to [n_kept]. */
static void take(const struct rw_cpu *cpu, struct wire wire, const uint64_t *from,
                 const uint32_t *hess, uint32_t n, uint64_t n_kept, int64_t *cells)
{
    const size_t n_words = (size_t)cpu->words.n_words;
    memset(cells + n * n_words, 0, (n_kept - n) * n_words * sizeof(*cells));
    if (wire.words == 1 && n_words == 1) {
        memcpy(cells, from, n * sizeof(*cells));
        return;
    }
    for (uint32_t i = 0; i < n; i++, cells += n_words) {
        const struct rw_cell cell = get(wire, from, hess, i);
        cells[0] = cpu->words.packed ? cell.lambda * 4294967296 + (int64_t)cell.n : cell.lambda;
        if (!cpu->words.packed)
            cells[1] = (int64_t)cell.n;
        if (cpu->words.newton)
            cells[n_words - 1] = cell.hess;
    }
}

/* This rank's sums of a node. */
static struct rw_cell local_total(const struct rw_cpu *cpu, const struct rw_sibling *job)
{
    return cpu->total[job->smaller];
}

static void put_total(const struct rw_cpu *cpu, struct wire wire, const struct rw_cell *total,
                      uint64_t *to, uint32_t *hess)
{
    int64_t words[3] = {total->lambda, (int64_t)total->n, total->hess};
    if (cpu->words.packed) {
        words[0] = total->lambda * 4294967296 + (int64_t)total->n;
        words[1] = total->hess;
    }
    put(cpu, wire, words, 1, to, hess);
}

/* A node's cells for one rank: their total, then its features', one after the other. */
static void put_job(const struct exchange *x, int rank, int j)
{
    const struct rw_cpu *cpu = x->cpu;
    const struct rw_cpu_ranks *ranks = cpu->ranks;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const struct wire wire = x->wire[j];
    uint64_t *to = ranks->send + (size_t)rank * x->begin[x->n_jobs] + x->begin[j];
    uint32_t *hess = ranks->send_hess + (size_t)rank * x->begin_hess[x->n_jobs] + x->begin_hess[j];
    const struct rw_cell total = local_total(cpu, x->job[j]);
    put_total(cpu, wire, &total, to, hess);
    uint64_t at = 1;
    for (uint32_t f = ranks->first[rank]; f < ranks->first[rank + 1]; f++) {
        if (!cpu->host.feature_sampled[f])
            continue;
        const uint32_t n = rw_cuts_n_codes(cuts, f);
        put(cpu, wire, rw_cpu_made_cells(cpu, x->job[j], f), n, to + at * (uint64_t)wire.words,
            hess + at);
        at += n;
    }
    const uint64_t left = ranks->most_cells + 1 - at;
    memset(to + at * (uint64_t)wire.words, 0, left * (uint64_t)wire.words * sizeof(*to));
    if (wire.hess_apart)
        memset(hess + at, 0, left * sizeof(*hess));
}

static int put_some(void *user, struct rw_share *share)
{
    const struct exchange *x = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        put_job(x, (int)(i / (uint64_t)x->n_jobs), (int)(i % (uint64_t)x->n_jobs));
    return RW_OK;
}

/* ---- the search ---- */

/* One of the parts of this rank's features of a node. */
static void search_part(const struct exchange *x, struct rw_share *share, int j, uint32_t part)
{
    struct rw_cpu *cpu = x->cpu;
    const struct rw_cpu_ranks *ranks = cpu->ranks;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const int rank = rw_rank(cpu->host.base.ctx);
    const struct wire wire = x->wire[j];
    const uint64_t *from = ranks->recv + x->begin[j];
    const uint32_t *hess = ranks->recv_hess + x->begin_hess[j];
    const uint64_t first = ranks->first[rank], n_features = ranks->first[rank + 1] - first;
    const uint32_t begin = (uint32_t)(first + n_features * part / (uint64_t)x->n_parts);
    const uint32_t end = (uint32_t)(first + n_features * (part + 1) / (uint64_t)x->n_parts);
    const struct rw_cell total = get(wire, from, hess, 0);
    int64_t cells[RW_CPU_MOST_CELLS * 3];
    struct rw_cpu_search search[2];
    uint64_t at = 1;
    rw_cpu_start_searches(cpu, x->job[j], &total, 0, search);
    for (uint32_t f = (uint32_t)first; f < end; f++) {
        const uint32_t n = rw_cuts_n_codes(cuts, f);
        if (!cpu->host.feature_sampled[f])
            continue;
        if (f >= begin) {
            take(cpu, wire, from + at * (uint64_t)wire.words, hess + at, n, rw_cpu_n_cells(cuts, f),
                 cells);
            rw_cpu_search_both(cpu, x->job[j], f, cells, search);
        }
        at += n;
    }
    rw_cpu_keep_both(cpu, share, x->job[j], search);
}

static int search_some(void *user, struct rw_share *share)
{
    const struct exchange *x = user;
    for (uint64_t i, end; rw_share_next(share, &i, &end);)
        search_part(x, share, (int)(i / (uint64_t)x->n_parts),
                    (uint32_t)(i % (uint64_t)x->n_parts));
    return RW_OK;
}

/* The totals of all ranks, before a search looks at the parent's. */
static void set_totals(const struct exchange *x)
{
    struct rw_cpu_search search[2];
    for (int j = 0; j < x->n_jobs; j++) {
        const struct rw_cell total = get(x->wire[j], x->cpu->ranks->recv + x->begin[j],
                                         x->cpu->ranks->recv_hess + x->begin_hess[j], 0);
        rw_cpu_start_searches(x->cpu, x->job[j], &total, 0, search);
        rw_cpu_set_totals(x->cpu, x->job[j], search);
    }
}

/* Ranks order the work by their own documents, the wire has it in the order of the call. */
static void list_wire(struct exchange *x, const struct rw_sibling *siblings, int n)
{
    const uint64_t cells = x->cpu->ranks->most_cells + 1;
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *job = x->cpu->job;
        while (job->smaller != siblings[i].smaller)
            job++;
        x->job[i] = job;
        x->wire[i] = wire_of(x->cpu, job);
        x->begin[i + 1] = x->begin[i] + cells * (uint64_t)x->wire[i].words;
        x->begin_hess[i + 1] = x->begin_hess[i] + (x->wire[i].hess_apart ? cells : 0);
    }
}

int rw_cpu_ranks_search(struct rw_cpu *cpu, const struct rw_sibling *siblings, int n)
{
    struct rw_ctx *ctx = cpu->host.base.ctx;
    struct rw_cpu_ranks *ranks = cpu->ranks;
    const int n_threads = cpu->host.base.n_threads;
    struct exchange x = {.cpu = cpu, .n_jobs = n, .n_parts = n_threads};
    list_wire(&x, siblings, n);
    rw_parallel(ctx, n_threads, (uint64_t)rw_n_ranks(ctx) * (uint64_t)n, 1, put_some, &x);
    RW_TRY(rw_comm_reduce_scatter(ctx, ranks->send, ranks->recv, x.begin[n], RW_COMM_U64));
    RW_TRY(rw_comm_reduce_scatter(ctx, ranks->send_hess, ranks->recv_hess, x.begin_hess[n],
                                  RW_COMM_U32));
    set_totals(&x);
    return rw_parallel(ctx, n_threads, (uint64_t)n * (uint64_t)x.n_parts, 1, search_some, &x);
}
