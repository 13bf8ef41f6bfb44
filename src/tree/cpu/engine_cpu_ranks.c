/* Histograms of many ranks. Each rank adds up its own documents' cells; what goes over the wire is,
 * for each rank, the cells of the features that it searches, of a few nodes at a time, in as few
 * bits as their sums over all ranks need. A rank keeps its features' sums, takes them from the
 * parent's, and searches both. */
#include "comm/comm.h"
#include "tree/cpu/engine_cpu.h"

static int n_words_of(const struct rw_cpu *cpu, enum rw_cpu_wire wire)
{
    return wire == RW_WIRE_APART ? 2 + cpu->words.newton : 1;
}

static enum rw_cpu_wire wire_of(const struct rw_cpu *cpu, const struct rw_sibling *s)
{
    const uint64_t limit = (uint64_t)rw_quantise_limit(cpu->host.base.rules.bits);
    const uint32_t n = cpu->ranks->all_n[s->smaller];
    if (n * limit >= (uint64_t)1 << 31)
        return RW_WIRE_APART;
    return cpu->words.newton && n > cpu->words.most_docs ? RW_WIRE_PAIR : RW_WIRE_WORD;
}

/* Are a node's cells joint on the wire? */
static int is_joint(const struct rw_cpu *cpu, enum rw_cpu_wire wire)
{
    return cpu->words.newton && wire == RW_WIRE_WORD;
}

/* ---- memory, and what is whose ---- */

/* A part begins with the node's total, alone in a vector of cells. */
enum { TOTAL_CELLS = RW_CPU_CELLS };

int rw_cpu_allocate_ranks(struct rw_cpu *cpu, size_t words)
{
    enum { WIRE_WORDS = 3 };
    struct rw_host *host = &cpu->host;
    struct rw_cpu_ranks *ranks = cpu->ranks;
    const struct rw_cuts *cuts = host->set[0].bins->cuts;
    const size_t n_ranks = (size_t)rw_n_ranks(host->base.ctx), n_features = cuts->n_features;
    uint64_t all = 0, most = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const uint64_t n = rw_cpu_n_cells(cuts, f);
        all += n;
        most = n > most ? n : most;
    }
    /* a rank has at most one feature more than its part */
    const uint64_t of_rank = all / n_ranks + most + 1;
    const size_t room = (size_t)RW_CPU_RANK_JOBS * (of_rank + TOTAL_CELLS);
    cpu->buffer_words = of_rank * words;
    ranks->sparse_words = cpu->sparse.n ? all * words : 0;
    RW_TRY(RW_HOST_NEW(host, ranks->first, n_ranks + 1));
    RW_TRY(RW_HOST_NEW(host, ranks->n_cells, n_ranks));
    RW_TRY(RW_HOST_NEW(host, ranks->owner, n_features));
    RW_TRY(RW_HOST_NEW(host, ranks->wire_at, n_features));
    RW_TRY(RW_HOST_NEW(host, ranks->kept_at, n_features));
    RW_TRY(RW_HOST_NEW(host, ranks->all_n, host->base.rules.max_slots));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->sparse, RW_CPU_RANK_JOBS * ranks->sparse_words));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->send, n_ranks * room * WIRE_WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->recv, room * WIRE_WORDS));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->send_hess, n_ranks * room));
    RW_TRY(RW_HOST_NEW_RAW(host, ranks->recv_hess, room));
    cpu->kept_at = ranks->kept_at;
    return RW_OK;
}

/* Sampled features in turn, to each rank about as many cells. */
void rw_cpu_divide_features(struct rw_cpu *cpu, const struct rw_root *root)
{
    struct rw_cpu_ranks *ranks = cpu->ranks;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const uint32_t n_ranks = (uint32_t)rw_n_ranks(cpu->host.base.ctx);
    uint64_t all = 0, before = 0;
    uint32_t rank = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++)
        all += cpu->host.feature_sampled[f] ? rw_cpu_n_cells(cuts, f) : 0;
    for (uint32_t r = 0; r < n_ranks; r++)
        ranks->n_cells[r] = TOTAL_CELLS;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        if (!cpu->host.feature_sampled[f])
            continue;
        const uint64_t n = rw_cpu_n_cells(cuts, f);
        for (const uint32_t owner = (uint32_t)(before * n_ranks / all); rank < owner;)
            ranks->first[++rank] = f;
        ranks->owner[f] = rank;
        ranks->wire_at[f] = ranks->n_cells[rank];
        ranks->kept_at[f] = ranks->n_cells[rank] - TOTAL_CELLS;
        ranks->n_cells[rank] += n;
        before += n;
    }
    while (rank < n_ranks)
        ranks->first[++rank] = cuts->n_features;
    ranks->part_cells = 0;
    for (uint32_t r = 0; r < n_ranks; r++) {
        if (ranks->n_cells[r] > ranks->part_cells)
            ranks->part_cells = ranks->n_cells[r];
    }
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

/* ---- to the wire ---- */

/* Where a rank's part of node i begins. */
static uint64_t *part_of(const struct rw_cpu_ranks *ranks, uint32_t rank, int i)
{
    return ranks->send + rank * ranks->begin[ranks->n_jobs] + ranks->begin[i];
}

static uint32_t *hess_part_of(const struct rw_cpu_ranks *ranks, uint32_t rank, int i)
{
    return ranks->send_hess + rank * ranks->begin_hess[ranks->n_jobs] + ranks->begin_hess[i];
}

void rw_cpu_ranks_begin(struct rw_cpu *cpu, const struct rw_sibling *siblings, int n)
{
    struct rw_cpu_ranks *ranks = cpu->ranks;
    ranks->n_jobs = n;
    ranks->n_parts = cpu->host.base.n_threads;
    for (int i = 0; i < n; i++) {
        const struct rw_sibling *job = cpu->job;
        while (job->smaller != siblings[i].smaller)
            job++;
        ranks->job[i] = job;
        ranks->index[job - cpu->job] = i;
        const enum rw_cpu_wire wire = ranks->wire[i] = wire_of(cpu, job);
        ranks->begin[i + 1] = ranks->begin[i] + ranks->part_cells * (size_t)n_words_of(cpu, wire);
        ranks->begin_hess[i + 1] =
            ranks->begin_hess[i] + (wire == RW_WIRE_PAIR ? ranks->part_cells : 0);
    }
}

/* The i-th of some cells. */
static struct rw_cell cell_of(const struct rw_cpu *cpu, const int64_t *cells, int joint, uint64_t i)
{
    if (!joint)
        return rw_cpu_decode(&cpu->words, cells + i * (size_t)cpu->words.n_words);
    const int64_t packed = rw_joint_packed(cells[i]);
    return (struct rw_cell){(uint32_t)packed, rw_joint_hessian(cells[i]), packed >> 32};
}

/* n cells to the wire's. */
static void put(const struct rw_cpu *cpu, enum rw_cpu_wire wire, const int64_t *cells, int joint,
                uint64_t n, uint64_t *to, uint32_t *hess)
{
    const int newton = cpu->words.newton;
    if (wire == RW_WIRE_WORD && (joint || cpu->words.n_words == 1)) { /* as they are */
        memcpy(to, cells, n * sizeof(*to));
        return;
    }
    for (uint64_t i = 0; i < n; i++) {
        const struct rw_cell cell = cell_of(cpu, cells, joint, i);
        const uint64_t packed = (uint64_t)cell.lambda * 4294967296 + cell.n;
        if (wire == RW_WIRE_APART) {
            *to++ = (uint64_t)cell.lambda;
            *to++ = cell.n;
            if (newton)
                *to++ = (uint64_t)cell.hess;
        } else if (wire == RW_WIRE_WORD && newton) {
            *to++ = ((uint64_t)cell.lambda << (RW_JOINT_COUNT + RW_JOINT_HESSIAN)) +
                    ((uint64_t)cell.hess << RW_JOINT_COUNT) + cell.n;
        } else {
            *to++ = packed;
            if (newton)
                *hess++ = (uint32_t)cell.hess;
        }
    }
}

void rw_cpu_ranks_put(const struct rw_cpu *cpu, const struct rw_sibling *job, uint32_t f,
                      const int64_t *cells, int joint)
{
    const struct rw_cpu_ranks *ranks = cpu->ranks;
    const int i = ranks->index[job - cpu->job];
    const uint64_t at = ranks->wire_at[f];
    put(cpu, ranks->wire[i], cells, joint, rw_cpu_n_cells(cpu->host.set[0].bins->cuts, f),
        part_of(ranks, ranks->owner[f], i) + at * (uint64_t)n_words_of(cpu, ranks->wire[i]),
        hess_part_of(ranks, ranks->owner[f], i) + at);
}

/* The beginning and the end of a rank's part of node i. */
static void put_rest(const struct rw_cpu *cpu, uint32_t rank, int i)
{
    const struct rw_cpu_ranks *ranks = cpu->ranks;
    const enum rw_cpu_wire wire = ranks->wire[i];
    const size_t n_words = (size_t)n_words_of(cpu, wire);
    const struct rw_cell *total = &cpu->total[ranks->job[i]->smaller];
    const uint64_t at = ranks->n_cells[rank], left = ranks->part_cells - at;
    uint64_t *to = part_of(ranks, rank, i);
    uint32_t *hess = hess_part_of(ranks, rank, i);
    int64_t words[3] = {total->lambda, (int64_t)total->n, total->hess};
    if (cpu->words.packed) {
        words[0] = total->lambda * 4294967296 + (int64_t)total->n;
        words[1] = total->hess;
    }
    memset(to, 0, TOTAL_CELLS * n_words * sizeof(*to));
    memset(to + at * n_words, 0, left * n_words * sizeof(*to));
    if (wire == RW_WIRE_PAIR) {
        memset(hess, 0, TOTAL_CELLS * sizeof(*hess));
        memset(hess + at, 0, left * sizeof(*hess));
    }
    put(cpu, wire, words, 0, 1, to, hess);
}

/* ---- from the wire ---- */

static struct rw_cell received(const struct rw_cpu *cpu, int i, uint64_t at)
{
    const struct rw_cpu_ranks *ranks = cpu->ranks;
    const enum rw_cpu_wire wire = ranks->wire[i];
    const uint64_t *from = ranks->recv + ranks->begin[i] + at * (uint64_t)n_words_of(cpu, wire);
    const int64_t word = (int64_t)*from;
    if (is_joint(cpu, wire))
        return cell_of(cpu, &word, 1, 0);
    if (wire == RW_WIRE_APART)
        return (struct rw_cell){from[1], cpu->words.newton ? (int64_t)from[2] : 0, word};
    const int64_t hess = wire == RW_WIRE_PAIR ? ranks->recv_hess[ranks->begin_hess[i] + at] : 0;
    return (struct rw_cell){(uint32_t)word, hess, word >> 32};
}

/* n cells as they are kept: where they are, or in `room`. */
static const int64_t *take(const struct rw_cpu *cpu, int i, uint64_t at, uint64_t n, int64_t *room)
{
    const struct rw_cpu_ranks *ranks = cpu->ranks;
    const size_t n_words = (size_t)cpu->words.n_words;
    if (ranks->wire[i] == RW_WIRE_WORD && (cpu->words.newton || n_words == 1))
        return (const int64_t *)ranks->recv + ranks->begin[i] + at;
    for (uint64_t k = 0; k < n; k++) {
        const struct rw_cell cell = received(cpu, i, at + k);
        int64_t *to = room + k * n_words;
        to[0] = cpu->words.packed ? cell.lambda * 4294967296 + (int64_t)cell.n : cell.lambda;
        if (!cpu->words.packed)
            to[1] = (int64_t)cell.n;
        if (cpu->words.newton)
            to[n_words - 1] = cell.hess;
    }
    return room;
}

/* One of the parts of this rank's features of node i. */
static void search_part(struct rw_cpu *cpu, struct rw_share *share, int i, uint64_t part)
{
    const struct rw_cpu_ranks *ranks = cpu->ranks;
    const struct rw_cuts *cuts = cpu->host.set[0].bins->cuts;
    const int rank = rw_rank(cpu->host.base.ctx);
    const uint64_t first = ranks->first[rank], n_features = ranks->first[rank + 1] - first;
    const uint64_t n_parts = (uint64_t)ranks->n_parts;
    const struct rw_cell total = received(cpu, i, 0);
    int64_t room[RW_CPU_MOST_CELLS * 3];
    struct rw_cpu_search search[2];
    rw_cpu_start_searches(cpu, ranks->job[i], &total, is_joint(cpu, ranks->wire[i]), search);
    for (uint64_t k = n_features * part / n_parts; k < n_features * (part + 1) / n_parts; k++) {
        const uint32_t f = (uint32_t)(first + k);
        if (!cpu->host.feature_sampled[f])
            continue;
        const int64_t *cells = take(cpu, i, ranks->wire_at[f], rw_cpu_n_cells(cuts, f), room);
        rw_cpu_search_both(cpu, ranks->job[i], f, cells, search);
    }
    rw_cpu_keep_both(cpu, share, ranks->job[i], search);
}

static int search_some(void *user, struct rw_share *share)
{
    struct rw_cpu *cpu = user;
    const uint64_t n_parts = (uint64_t)cpu->ranks->n_parts;
    for (uint64_t k, end; rw_share_next(share, &k, &end);) {
        for (; k < end; k++)
            search_part(cpu, share, (int)(k / n_parts), k % n_parts);
    }
    return RW_OK;
}

/* Of all ranks, before a search looks at the parent's. */
static void set_totals(struct rw_cpu *cpu)
{
    struct rw_cpu_search search[2];
    for (int i = 0; i < cpu->ranks->n_jobs; i++) {
        const struct rw_cell total = received(cpu, i, 0);
        rw_cpu_start_searches(cpu, cpu->ranks->job[i], &total, 0, search);
        rw_cpu_set_totals(cpu, cpu->ranks->job[i], search);
    }
}

int rw_cpu_ranks_search(struct rw_cpu *cpu)
{
    struct rw_ctx *ctx = cpu->host.base.ctx;
    struct rw_cpu_ranks *ranks = cpu->ranks;
    const int n = ranks->n_jobs;
    for (uint32_t rank = 0; rank < (uint32_t)rw_n_ranks(ctx); rank++) {
        for (int i = 0; i < n; i++)
            put_rest(cpu, rank, i);
    }
    RW_TRY(rw_comm_reduce_scatter(ctx, ranks->send, ranks->recv, ranks->begin[n], RW_COMM_U64));
    RW_TRY(rw_comm_reduce_scatter(ctx, ranks->send_hess, ranks->recv_hess, ranks->begin_hess[n],
                                  RW_COMM_U32));
    set_totals(cpu);
    return rw_parallel(ctx, cpu->host.base.n_threads, (uint64_t)(n * ranks->n_parts), 1,
                       search_some, cpu);
}
