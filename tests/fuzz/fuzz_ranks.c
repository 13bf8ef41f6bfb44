/* Fuzzes the messages between workers: the other workers send nonsense to one of them as the
 * input decides. Valid messages were recorded once, from workers that are threads. The input
 * changes their bytes and sizes, fails calls, or replays the messages of another call. The
 * worker must end, with a model or with an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "fuzz_input.h"
#include "rankwood.h"

enum { LIES = 4, MOST_RANKS = 3, JOBS = 14, DOCS = 36 };

/* ---- messages of correct workers ---- */

enum call_kind { ALL_REDUCE, REDUCE_SCATTER, ALL_GATHER, ALL_TO_ALL };

/* The bytes that a worker received in a call. */
struct call {
    enum call_kind kind;
    size_t n_bytes;
    uint8_t *bytes; /* owned */
};

struct calls {
    struct call *call; /* [n] owned */
    size_t n, room;
};

/* A thread's communicator, whose calls are recorded. */
struct recorder {
    struct rw_comm_functions inner;
    void *user;
    int n_workers;
    struct calls *calls;
};

static int record(struct recorder *r, int status, enum call_kind kind, const void *bytes, size_t n)
{
    struct calls *calls = r->calls;
    if (status)
        return status;
    if (calls->n == calls->room) {
        calls->room = calls->room ? 2 * calls->room : 64;
        calls->call = realloc(calls->call, calls->room * sizeof(*calls->call));
        fuzz_check(calls->call != NULL);
    }
    struct call *call = &calls->call[calls->n++];
    *call = (struct call){kind, n, malloc(n ? n : 1)};
    fuzz_check(call->bytes != NULL);
    if (n)
        memcpy(call->bytes, bytes, n);
    return 0;
}

static size_t bytes_of(size_t n, enum rw_comm_type type)
{
    return n * (type == RW_COMM_U64 ? 8 : 4);
}

static size_t sum_of(const size_t *n, int n_workers)
{
    size_t sum = 0;
    for (int r = 0; r < n_workers; r++)
        sum += n[r];
    return sum;
}

static int record_all_reduce(void *user, void *buffer, size_t n, enum rw_comm_type type,
                             enum rw_comm_op op, void *stream)
{
    struct recorder *r = user;
    const int status = r->inner.all_reduce(r->user, buffer, n, type, op, stream);
    return record(r, status, ALL_REDUCE, buffer, bytes_of(n, type));
}

static int record_reduce_scatter(void *user, const void *send, void *recv, size_t n_each,
                                 enum rw_comm_type type, void *stream)
{
    struct recorder *r = user;
    const int status = r->inner.reduce_scatter(r->user, send, recv, n_each, type, stream);
    return record(r, status, REDUCE_SCATTER, recv, bytes_of(n_each, type));
}

static int record_all_gather(void *user, const void *send, void *recv, size_t bytes, void *stream)
{
    struct recorder *r = user;
    const int status = r->inner.all_gather(r->user, send, recv, bytes, stream);
    return record(r, status, ALL_GATHER, recv, bytes * (size_t)r->n_workers);
}

static int record_all_to_all(void *user, const void *send, const size_t *n_send, void *recv,
                             const size_t *n_recv)
{
    struct recorder *r = user;
    const int status = r->inner.all_to_all(r->user, send, n_send, recv, n_recv);
    return record(r, status, ALL_TO_ALL, recv, sum_of(n_recv, r->n_workers));
}

static void record_abort(void *user)
{
    struct recorder *r = user;
    r->inner.abort(r->user);
}

/* ---- a liar ---- */

enum lie_kind { BYTE, NUMBER, LONG_NUMBER, FILL, SWAP, SHORTER, FAILS, OTHER_CALL, LIE_KINDS };

struct lie {
    uint32_t call; /* the number of the call in which it is sent */
    enum lie_kind kind;
    uint32_t at, number;
};

/* Plays the other workers. */
struct carrier {
    const struct calls *calls; /* borrowed */
    int rank, n_workers, goes_on;
    uint32_t n_calls;
    size_t next; /* of the calls */
    struct lie lie[LIES];
};

static uint64_t odd_number(uint32_t number)
{
    static const uint64_t odd[] = {0,          1,          0x7fffffff, 0x80000000, 0xffffffff,
                                   1ull << 32, 1ull << 40, 1ull << 62, 1ull << 63, UINT64_MAX,
                                   65535,      65536,      0x7f800000, 7};
    return odd[number % (sizeof(odd) / sizeof(odd[0]))];
}

static void lie_about(const struct lie *lie, uint8_t *bytes, size_t n)
{
    const uint64_t number = odd_number(lie->number);
    const size_t width = lie->kind == NUMBER ? 4 : 8, words = n / width;
    if (n == 0)
        return;
    if (lie->kind == BYTE)
        bytes[lie->at % n] ^= (uint8_t)(1 + lie->number % 255);
    else if ((lie->kind == NUMBER || lie->kind == LONG_NUMBER) && words > 0)
        memcpy(bytes + lie->at % words * width, &number, width);
    else if (lie->kind == FILL)
        memset(bytes, (int)(lie->number & 0xff), n);
    else if (lie->kind == SWAP)
        memmove(bytes, bytes + lie->at % n, n - lie->at % n);
}

/* Copies the bytes received in this call into `to`, [n], which initially has this worker's own
 * bytes. If the call differs from the recorded one, the carrier fails, as one that checks sizes
 * does, or continues. */
static int get(struct carrier *c, enum call_kind kind, void *to, size_t n)
{
    const struct lie *lie = NULL;
    for (int i = 0; i < LIES; i++)
        lie = c->lie[i].call == c->n_calls ? &c->lie[i] : lie;
    c->n_calls++;
    if (lie && lie->kind == FAILS)
        return 1;
    if (lie && lie->kind == OTHER_CALL)
        c->next += lie->number % 5;
    const struct call *call = c->next < c->calls->n ? &c->calls->call[c->next++] : NULL;
    if (call && call->kind == kind && (call->n_bytes == n || kind == ALL_TO_ALL)) {
        size_t some = call->n_bytes < n ? call->n_bytes : n;
        if (lie && lie->kind == SHORTER)
            some = some * (lie->number % 8) / 8;
        if (some)
            memcpy(to, call->bytes, some);
    } else if (!c->goes_on) {
        return 1;
    }
    if (lie)
        lie_about(lie, to, n);
    return 0;
}

static int all_reduce(void *user, void *buffer, size_t n, enum rw_comm_type type,
                      enum rw_comm_op op, void *stream)
{
    (void)op;
    (void)stream;
    return get(user, ALL_REDUCE, buffer, bytes_of(n, type));
}

static int reduce_scatter(void *user, const void *send, void *recv, size_t n_each,
                          enum rw_comm_type type, void *stream)
{
    const struct carrier *c = user;
    const size_t n = bytes_of(n_each, type);
    (void)stream;
    memcpy(recv, (const char *)send + (size_t)c->rank * n, n);
    return get(user, REDUCE_SCATTER, recv, n);
}

static int all_gather(void *user, const void *send, void *recv, size_t bytes, void *stream)
{
    const struct carrier *c = user;
    (void)stream;
    for (int r = 0; r < c->n_workers; r++)
        memcpy((char *)recv + (size_t)r * bytes, send, bytes);
    return get(user, ALL_GATHER, recv, bytes * (size_t)c->n_workers);
}

static int all_to_all(void *user, const void *send, const size_t *n_send, void *recv,
                      const size_t *n_recv)
{
    const struct carrier *c = user;
    const size_t n = sum_of(n_recv, c->n_workers), sent = sum_of(n_send, c->n_workers);
    if (n && sent)
        memcpy(recv, send, n < sent ? n : sent);
    return get(user, ALL_TO_ALL, recv, n);
}

/* ---- tasks of the workers ---- */

struct job {
    int n_workers, what;
    struct calls calls[MOST_RANKS]; /* n 0: not yet recorded */
    char path[32], weights[32], pairs[32];
    const char *categorical; /* NULL: no feature is */
    struct rw_columns columns;
};

static int read_side_files(const struct job *job, struct rw_ctx *ctx, struct rw_dataset *set)
{
    int status = RW_OK;
    if (job->what & 8)
        status = rw_dataset_read_side_column(ctx, set, "weights", job->weights);
    if (status == RW_OK && job->what & 16)
        status = rw_dataset_read_side_column(ctx, set, "pairs-file", job->pairs);
    return status;
}

static int make_params(const struct job *job, struct rw_ctx *ctx, struct rw_params **out)
{
    static const char *const usual[][2] = {
        {"rounds", "2"}, {"leaves", "4"}, {"min-docs", "1"}, {"seed", "3"}};
    int status = rw_params_new(ctx, out);
    for (int i = 0; status == RW_OK && i < 4; i++)
        status = rw_params_set(ctx, *out, usual[i][0], usual[i][1]);
    if (status == RW_OK && job->what & 32)
        status = rw_params_set(ctx, *out, "split", "newton");
    if (status == RW_OK && job->what & 64)
        status = rw_params_set(ctx, *out, "sample-queries", "0.5");
    if (status == RW_OK && job->what & 16)
        status = rw_params_set(ctx, *out, "pairs", "given");
    if (status == RW_OK && job->categorical)
        status = rw_params_set(ctx, *out, "categorical", job->categorical);
    return status;
}

static int train(const struct job *job, struct rw_ctx *ctx)
{
    struct rw_params *params = NULL;
    struct rw_dataset *set = NULL;
    struct rw_binned *binned = NULL;
    struct rw_model *model = NULL;
    const char *path = job->path;
    int status = make_params(job, ctx, &params);
    if (status == RW_OK && job->what & 4)
        status = rw_ctx_set_columns(ctx, &job->columns);
    if (status == RW_OK && job->what & 1) {
        status = rw_dataset_read(ctx, &path, 1, &set);
        if (status == RW_OK)
            status = read_side_files(job, ctx, set);
        if (status == RW_OK) {
            const struct rw_dataset *valid = set;
            status = rw_train(ctx, params, set, &valid, job->what >> 1 & 1, NULL, &model);
        }
    } else if (status == RW_OK) {
        status = rw_binned_read(ctx, params, NULL, &path, 1, &binned);
        if (status == RW_OK)
            status = read_side_files(job, ctx, rw_binned_documents(binned));
        if (status == RW_OK)
            status = rw_train_on(ctx, params, &(struct rw_training){.binned = binned}, &model);
    }
    rw_model_free(model);
    rw_binned_free(binned);
    rw_dataset_free(set);
    rw_params_free(params);
    return status;
}

/* ---- jobs ---- */

static struct job jobs[JOBS];

static int record_body(void *user, struct rw_ctx *ctx, int rank)
{
    struct job *job = user;
    struct rw_comm *comm = ctx->comm;
    struct recorder recorder = {comm->functions, comm->user, job->n_workers, &job->calls[rank]};
    comm->functions = (struct rw_comm_functions){.name = "recorded",
                                                 .all_reduce = record_all_reduce,
                                                 .reduce_scatter = record_reduce_scatter,
                                                 .all_gather = record_all_gather,
                                                 .all_to_all = record_all_to_all,
                                                 .abort = record_abort};
    comm->user = &recorder;
    const int status = train(job, ctx);
    comm->functions = recorder.inner;
    comm->user = recorder.user;
    return status;
}

/* The same documents for all inputs: only the messages are tested. */
static size_t make_text(const struct job *job, char *text, size_t room)
{
    size_t n = 0;
    if (job->what & 4)
        n += (size_t)snprintf(text, room, "label,qid,x,y,z\n");
    for (unsigned i = 0; i < DOCS; i++)
        n += (size_t)snprintf(text + n, room - n,
                              job->what & 4 ? "%u,q%u,%g,%u,%u\n" : "%u qid:q%u 1:%g 2:%u 3:%u\n",
                              i * 7 % 3, i / 5, (double)(i * 5 % 11) / 2, i % 4, i);
    return n;
}

static void keep_file(const char *text, size_t n, char path[32])
{
    struct fuzz_file *file = malloc(sizeof(*file)); /* open as long as the process */
    uint8_t *copy = malloc(n);
    fuzz_check(file && copy);
    memcpy(copy, text, n);
    fuzz_file_open(file, copy, n);
    memcpy(path, file->path, sizeof(file->path));
}

/* A job, with what its honest ranks send. */
static struct job *job_of(uint32_t number)
{
    static const char pairs[] = "q0 1 2\nq1 2 1 0.5\nq3 1 3\nq5 2 3\n";
    static const int what[JOBS] = {0, 1, 3, 4, 5, 8, 9, 17, 32, 35, 64, 96 + 3, 4, 1};
    struct job *job = &jobs[number % JOBS];
    struct rw_ctx *ctx;
    char text[DOCS * 40], weights[2 * DOCS];
    if (job->calls[0].n)
        return job;
    job->n_workers = 2 + (int)(number % JOBS % 2);
    job->what = what[number % JOBS];
    job->categorical = number % JOBS >= 12 ? "2" : NULL;
    if (job->what & 4)
        job->columns = (struct rw_columns){
            .label = "label", .qid = "qid", .categorical = job->categorical ? "y" : NULL};
    if (job->categorical && job->what & 4)
        job->categorical = "y";
    for (int i = 0; i < DOCS; i++) {
        weights[2 * i] = (char)('0' + i % 4);
        weights[2 * i + 1] = '\n';
    }
    keep_file(text, make_text(job, text, sizeof(text)), job->path);
    keep_file(weights, sizeof(weights), job->weights);
    keep_file(pairs, sizeof(pairs) - 1, job->pairs);
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_check(rw_ctx_set_threads(ctx, 1) == RW_OK); /* many have no room in the process */
    const int status = rw_workers_run(ctx, job->n_workers, record_body, job);
    if (status < 0)
        fprintf(stderr, "job %u: %s\n", number % JOBS, rw_last_error(ctx));
    fuzz_check(status == RW_OK);
    rw_ctx_free(ctx);
    return job;
}

const char *const fuzz_words[] = {NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct fuzz_bytes bytes = {data, data + size};
    const struct job *job = job_of(fuzz_byte(&bytes));
    struct carrier carrier = {.n_workers = job->n_workers};
    struct rw_ctx *ctx;
    struct rw_comm *comm;
    carrier.rank = (int)fuzz_below(&bytes, (uint32_t)job->n_workers);
    carrier.calls = &job->calls[carrier.rank];
    carrier.goes_on = fuzz_byte(&bytes) & 1;
    for (int i = 0; i < LIES; i++) {
        struct lie *lie = &carrier.lie[i];
        lie->call = fuzz_byte(&bytes);
        lie->call |= (uint32_t)fuzz_byte(&bytes) << 8;
        lie->call = i == 0 || lie->call ? lie->call % (uint32_t)carrier.calls->n : UINT32_MAX;
        lie->kind = (enum lie_kind)fuzz_below(&bytes, LIE_KINDS);
        lie->at = fuzz_byte(&bytes);
        lie->at |= (uint32_t)fuzz_byte(&bytes) << 8;
        lie->number = fuzz_byte(&bytes);
    }
    fuzz_check(rw_ctx_new(&ctx) == RW_OK);
    fuzz_check(rw_ctx_set_threads(ctx, 1) == RW_OK);
    const struct rw_comm_functions functions = {.name = "a liar's",
                                                .all_reduce = all_reduce,
                                                .reduce_scatter = reduce_scatter,
                                                .all_gather = all_gather,
                                                .all_to_all = all_to_all};
    fuzz_check(rw_comm_new(ctx, &functions, &carrier, carrier.rank, carrier.n_workers, &comm) ==
               RW_OK);
    fuzz_check(rw_ctx_set_comm(ctx, comm) == RW_OK);
    const int status = train(job, ctx);
    fuzz_check(status <= RW_OK && (status == RW_OK || rw_last_error(ctx)[0] != 0));
    rw_comm_free(comm);
    rw_ctx_free(ctx);
    return status == RW_OK;
}
