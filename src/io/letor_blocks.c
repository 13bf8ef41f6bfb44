/* LETOR text that comes in one stream, in blocks: while the chunks of one are parsed, one thread
 * fetches (and unpacks) the next; of a gzip file of several members, all threads do. A block ends
 * at the end of a line; the line that is left over begins the next one. */
#include "base/mem.h"
#include "base/system.h"
#include "io/letor_inside.h"
#include "io/members.h"

static int grow_block(struct rw_letor_block *block, size_t n_bytes)
{
    return RW_GROW(NULL, block->text, block->room, n_bytes + (size_t)2 * RW_LETOR_PAD);
}

/* What `before` left over begins `next`, with room for n_more bytes behind it. */
static void begin_block(const struct rw_letor_block *before, struct rw_letor_block *next,
                        size_t n_more)
{
    const size_t n_over = before->n_held - before->n_ready;
    next->n_ready = next->n_held = 0;
    next->status = before->status;
    if (next->status < 0)
        return;
    next->status = grow_block(next, n_over + n_more);
    if (next->status < 0)
        return;
    if (n_over)
        memcpy(next->text + RW_LETOR_PAD, before->text + RW_LETOR_PAD + before->n_ready, n_over);
    next->n_held = n_over;
}

/* Fills a block that has begun with what the input gives. A line longer than a block makes the
 * block grow. Never touches the context: another thread may be at work. */
static void fill(struct rw_letor *letor, struct rw_letor_block *next)
{
    while (next->status >= 0) {
        char *text = next->text + RW_LETOR_PAD;
        const size_t room = next->room - (size_t)2 * RW_LETOR_PAD;
        size_t got;
        next->status =
            rw_input_read(NULL, letor->input, text + next->n_held, room - next->n_held, &got);
        if (next->status < 0)
            return;
        if (got == 0) { /* the end: the last line may lack its newline */
            next->n_ready = next->n_held;
            return;
        }
        const char *newline = rw_system_last(text + next->n_held, '\n', got);
        next->n_held += got;
        if (newline)
            next->n_ready = (size_t)(newline - text) + 1;
        if (next->n_held < room)
            continue; /* the input ends here or fails: ask again to know which */
        if (next->n_ready)
            return;
        next->status = grow_block(next, room * 2);
        if (next->status < 0)
            return;
    }
}

static void fetch(struct rw_letor *letor, const struct rw_letor_block *before,
                  struct rw_letor_block *next)
{
    begin_block(before, next, rw_letor_block_bytes(letor));
    fill(letor, next);
}

/* From the i-th on, all is fetched in sequence. */
static void leave_members(struct rw_letor *letor, int i)
{
    rw_members_leave(letor->members, i);
    rw_members_close(letor->members);
    letor->members = NULL;
}

/* The members of the next block; 0: it is fetched in sequence, and so are all later ones. */
static int find_members(struct rw_letor *letor, const struct rw_letor_block *before,
                        struct rw_letor_block *next)
{
    if (!letor->members || before->status < 0)
        return 0;
    const int n = rw_members_next(letor->members, rw_letor_block_bytes(letor),
                                  rw_letor_wanted_members(letor));
    if (n > 0)
        begin_block(before, next, letor->members->n_out);
    if (n > 0 && next->status >= 0)
        return n;
    leave_members(letor, 0);
    return 0;
}

/* Ends a block of members, of which those from the n_good-th on are none. */
static void end_members(struct rw_letor *letor, struct rw_letor_block *next, int n_good)
{
    struct rw_members *members = letor->members;
    char *text = next->text + RW_LETOR_PAD;
    const int is_good = n_good == members->n;
    next->n_held += is_good ? members->n_out : members->member[n_good].out;
    const char *newline = rw_system_last(text, '\n', next->n_held);
    next->n_ready = newline ? (size_t)(newline - text) + 1 : 0;
    if (is_good && newline)
        return;
    leave_members(letor, n_good);
    if (!newline && next->n_held == next->room - (size_t)2 * RW_LETOR_PAD)
        next->status = grow_block(next, next->n_held + rw_letor_block_bytes(letor));
    if (!newline)
        fill(letor, next);
}

/* Cuts the block's lines into chunks of about equal size; returns how many. */
static int cut(struct rw_letor *letor, const struct rw_letor_block *block)
{
    const char *text = block->text + RW_LETOR_PAD;
    const size_t even = block->n_ready / (size_t)letor->n_chunks + 1;
    const size_t chunk_bytes = even > letor->chunk_bytes ? even : letor->chunk_bytes;
    int n = 0;
    size_t at = 0;
    while (at < block->n_ready) {
        size_t end = at + chunk_bytes;
        if (n == letor->n_chunks - 1 || end >= block->n_ready) {
            end = block->n_ready;
        } else {
            const char *newline = memchr(text + end, '\n', block->n_ready - end);
            end = newline ? (size_t)(newline - text) + 1 : block->n_ready;
        }
        letor->chunk[n].begin = text + at;
        letor->chunk[n].end = text + end;
        at = end;
        n++;
    }
    return n;
}

struct parse_job {
    struct rw_letor *letor;
    const struct rw_letor_block *block;
    struct rw_letor_block *next;
    int n_members, n_fetches; /* members of gzip in `next`, or one fetch */
    int n_good;               /* members before the first that is damaged */
};

static void take_chunk(struct rw_letor *letor, int i, int thread)
{
    struct rw_letor_chunk *chunk = &letor->chunk[i];
    chunk->want = letor->want;
    chunk->lexicon = letor->lexicon;
    chunk->take = letor->take;
    chunk->take_user = letor->take_user;
    if (letor->each)
        chunk->status = letor->each(letor->each_user, letor->n_cut + (uint64_t)i, thread);
    else
        rw_letor_chunk_parse(chunk, &letor->worker[thread]);
}

static int parse_or_fetch(void *user, struct rw_share *share)
{
    struct parse_job *job = user;
    struct rw_letor *letor = job->letor;
    for (uint64_t at, end; rw_share_next(share, &at, &end);) {
        const int i = (int)at;
        if (i >= job->n_fetches) {
            take_chunk(letor, i - job->n_fetches, share->thread);
        } else if (job->n_members == 0) {
            fetch(letor, job->block, job->next);
        } else if (rw_members_unpack(letor->members, i,
                                     job->next->text + RW_LETOR_PAD + job->next->n_held) < 0) {
            rw_share_lock(share);
            job->n_good = i < job->n_good ? i : job->n_good;
            rw_share_unlock(share);
        }
    }
    return RW_OK;
}

/* Parses the n chunks at hand while `next` is fetched. */
static void parse_and_fetch(struct rw_ctx *ctx, struct rw_letor *letor, int n,
                            const struct rw_letor_block *block, struct rw_letor_block *next)
{
    struct parse_job job = {.letor = letor, .block = block, .next = next};
    job.n_members = job.n_good = find_members(letor, block, next);
    job.n_fetches = job.n_members ? job.n_members : 1;
    rw_parallel(ctx, letor->n_threads, (uint64_t)(job.n_fetches + n), 1, parse_or_fetch, &job);
    if (job.n_members)
        end_members(letor, next, job.n_good);
}

/* The status of the first chunk that failed. */
static int end_each(struct rw_letor *letor, int n)
{
    int status = RW_OK;
    for (int i = 0; i < n; i++) {
        status = status < 0 ? status : letor->chunk[i].status;
        rw_letor_chunk_release(&letor->chunk[i]);
    }
    return status;
}

int rw_letor_next_block(struct rw_ctx *ctx, struct rw_letor *letor, struct rw_builder_list *list,
                        int *more)
{
    if (!letor->begun)
        parse_and_fetch(ctx, letor, 0, &letor->block[1], &letor->block[0]);
    letor->begun = 1;
    struct rw_letor_block *block = &letor->block[letor->current];
    struct rw_letor_block *next = &letor->block[!letor->current];
    const int n = cut(letor, block);
    parse_and_fetch(ctx, letor, n, block, next);
    letor->n_cut += (uint64_t)n;
    RW_TRY(letor->each ? end_each(letor, n) : rw_letor_collect(ctx, letor, n, list));
    if (block->status < 0) {
        size_t got; /* a failure of the input: it says the same once more, to the context */
        RW_TRY(rw_input_read(ctx, letor->input, NULL, 0, &got));
        return rw_fail(ctx, block->status, "out of memory: a block of '%s' does not fit",
                       rw_input_name(letor->input));
    }
    letor->current = !letor->current;
    *more = next->n_ready > 0 || next->status < 0;
    return RW_OK;
}

int rw_letor_each(struct rw_ctx *ctx, struct rw_letor *letor, rw_letor_each_fn *each, void *user)
{
    int more = 1;
    letor->each = each;
    letor->each_user = user;
    while (more)
        RW_TRY(rw_letor_next_block(ctx, letor, NULL, &more));
    return RW_OK;
}
