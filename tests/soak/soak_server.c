/* Serves models under load, and checks every answer: the part of soak.py that must not grow.
 *
 *   soak_server POOL FOLDER [--threads N] [--rate N] [--swap MS] [--every MS] [--fault NAME]
 *
 * POOL is LETOR text; a request is one of its queries. FOLDER/current is a link to a folder with a
 * model.txt and a scores.txt, the output of `rankwood predict` for POOL. When the link changes, its
 * model is loaded and swapped in. Every --swap milliseconds the previous model, or the current one
 * again, is reloaded and swapped in. Threads make --rate requests per second in all, each at its
 * scheduled time; a late one is made at once. An answer is wrong if any score differs (==) from the
 * file's, or if its model was not current during the request.
 *
 * Prints a line of JSON every --every milliseconds and, after SIGTERM or when its parent is
 * gone, a last one; exits with 1 if there was a wrong answer or an error. --fault injects faults
 * that soak.py must detect: `free` (a model that is in use is freed), `answer`, `leak`,
 * `descriptor`. */
#include <rankwood.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { MAX_THREADS = 64, MAX_ERRORS_SHOWN = 20, N_BUCKETS = 1920, FIRST_FEATURE = 1 };
static const uint64_t LATE_NS = 50000000; /* an answer is late so long after its request was due */

/* The documents of all requests: query q has rows begin[q] to begin[q + 1]. All is owned. */
struct pool {
    float *values;   /* [n_docs][n_features] of features FIRST_FEATURE, ... */
    uint32_t *begin; /* [n_queries + 1] */
    uint32_t n_docs, n_features, n_queries;
    uint32_t most_docs; /* of a query */
};

/* A model that is served. It does not change; `scorer` and `expected` are owned. */
struct version {
    uint64_t number; /* how many were served before */
    struct rw_scorer *scorer;
    double *expected; /* [n_docs] of the pool */
};

/* Durations in nanoseconds, by buckets of 1/32 of their size: written by one thread, read by
 * another. */
struct durations {
    _Atomic uint64_t count[N_BUCKETS];
    _Atomic uint64_t most;
};

struct worker {
    struct server *server;
    pthread_t thread;
    int index;
    /* The version that it scores with, which is not freed meanwhile; NULL between requests. */
    _Atomic(struct version *) in_use;
    _Atomic uint64_t requests, docs, wrong, late, errors;
    struct durations work,
        wait; /* from a request's beginning, and from when it was due, to its answer */
};

struct server {
    struct pool pool;
    const char *folder;
    int n_threads, rate, swap_ms, every_ms;
    const char *fault;
    uint64_t started; /* ns */
    _Atomic(struct version *) current;
    /* Versions before `published` are no longer current, those from `begun` on not yet. */
    _Atomic uint64_t begun, published;
    _Atomic bool ends;
    struct rw_ctx *ctx;
    char name[NAME_MAX + 1], name_before[NAME_MAX + 1]; /* of the two folders that are served */
    uint64_t n_errors;                                  /* of the thread that swaps */
    struct worker worker[MAX_THREADS];
};

static volatile sig_atomic_t told_to_end;
static void on_signal(int number)
{
    (void)number;
    told_to_end = 1;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void sleep_until(uint64_t ns)
{
    const struct timespec t = {(time_t)(ns / 1000000000u), (long)(ns % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR && !told_to_end)
        continue;
}

static bool is_fault(const struct server *s, const char *name)
{
    return s->fault && strcmp(s->fault, name) == 0;
}

/* --- served models --- */

static void *grown(void *old, size_t n, size_t size)
{
    void *new = realloc(old, n * size);
    if (!new) {
        perror("soak_server");
        exit(2);
    }
    return new;
}

/* Reads the features of a line's document into row [n_features]; absent ones are 0, as in
 * training. Returns the query's id, or -1 for invalid text. With row NULL, only raises
 * *n_features to the number of the line. */
static long read_line(const char *line, float *row, uint32_t *n_features)
{
    char *at;
    strtof(line, &at);
    if (at == line || strncmp(at, " qid:", 5) != 0)
        return -1;
    long query = strtol(at + 5, &at, 10);
    while (*at == ' ' && at[1] != '#') {
        long id = strtol(at + 1, &at, 10);
        if (id < FIRST_FEATURE || id > RW_MAX_FEATURE || *at != ':')
            return -1;
        float value = strtof(at + 1, &at);
        if (row)
            row[id - FIRST_FEATURE] = value;
        else if (id - FIRST_FEATURE >= *n_features)
            *n_features = (uint32_t)(id - FIRST_FEATURE + 1);
    }
    return query;
}

static bool read_pool(struct pool *pool, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    long query = -1;
    if (!file)
        return false;
    while (getline(&line, &room, file) > 0)
        if (read_line(line, NULL, &pool->n_features) >= 0)
            pool->n_docs++;
    rewind(file);
    pool->values = calloc((size_t)pool->n_docs * pool->n_features + 1, sizeof *pool->values);
    uint32_t doc = 0;
    while (pool->values && getline(&line, &room, file) > 0) {
        long id = read_line(line, pool->values + (size_t)doc * pool->n_features, &pool->n_features);
        if (id < 0)
            continue;
        if (id != query) {
            pool->begin = grown(pool->begin, pool->n_queries + 2, sizeof *pool->begin);
            pool->begin[pool->n_queries++] = doc;
            query = id;
        }
        pool->begin[pool->n_queries] = ++doc;
        uint32_t n = doc - pool->begin[pool->n_queries - 1];
        pool->most_docs = n > pool->most_docs ? n : pool->most_docs;
    }
    free(line);
    fclose(file);
    return doc > 0;
}

static void free_version(struct version *version)
{
    if (!version)
        return;
    rw_scorer_free(version->scorer);
    free(version->expected);
    free(version);
}

/* Exactly n numbers, one a line. */
static bool read_scores(const char *path, double *scores, uint32_t n)
{
    FILE *file = fopen(path, "r");
    uint32_t i = 0;
    double more;
    if (!file)
        return false;
    while (i < n && fscanf(file, "%lf", &scores[i]) == 1)
        i++;
    bool ends = i == n && fscanf(file, "%lf", &more) == EOF;
    fclose(file);
    return ends;
}

static struct version *load_version(struct server *s, const char *name)
{
    char path[PATH_MAX];
    struct rw_model *model = NULL;
    struct version *version = grown(NULL, 1, sizeof *version);
    memset(version, 0, sizeof *version);
    version->expected = grown(NULL, s->pool.n_docs, sizeof *version->expected);
    snprintf(path, sizeof path, "%s/%s/model.txt", s->folder, name);
    int status = rw_model_read(s->ctx, path, &model);
    if (status == RW_OK)
        status = rw_scorer_new(s->ctx, model, 0, &version->scorer);
    rw_model_free(model);
    const char *why = status == RW_OK ? NULL : rw_last_error(s->ctx);
    snprintf(path, sizeof path, "%s/%s/scores.txt", s->folder, name);
    if (!why && !read_scores(path, version->expected, s->pool.n_docs))
        why = "not a score for each document";
    if (!why)
        return version;
    if (s->n_errors++ < MAX_ERRORS_SHOWN)
        fprintf(stderr, "soak_server: %s: %s\n", path, why);
    free_version(version);
    return NULL;
}

/* Frees the previous model as soon as no request uses it. */
static void swap_in(struct server *s, struct version *next)
{
    next->number = atomic_load(&s->begun);
    atomic_store(&s->begun, next->number + 1);
    struct version *old = atomic_exchange(&s->current, next);
    atomic_store(&s->published, next->number);
    for (int i = 0; old && i < s->n_threads && !is_fault(s, "free"); i++)
        while (atomic_load(&s->worker[i].in_use) == old)
            sleep_until(now_ns() + 100000);
    if (old && is_fault(s, "free")) /* as if freed and written to by something else at once */
        memset(old, 0xa5, sizeof *old);
    else if (!is_fault(s, "leak"))
        free_version(old);
    if (is_fault(s, "descriptor") && open("/dev/null", O_RDONLY) < 0)
        s->n_errors++;
}

/* --- requests --- */

static size_t bucket(uint64_t ns)
{
    if (ns < 64)
        return (size_t)ns;
    int shift = 58 - __builtin_clzll(ns);
    return (size_t)shift * 32 + (size_t)(ns >> shift);
}

static uint64_t bucket_end(size_t i)
{
    return i < 64 ? i : ((i % 32 + 33) << (i / 32 - 1)) - 1;
}

static void add(_Atomic uint64_t *sum, uint64_t n)
{
    atomic_store_explicit(sum, atomic_load_explicit(sum, memory_order_relaxed) + n,
                          memory_order_relaxed);
}

static void add_duration(struct durations *durations, uint64_t ns)
{
    add(&durations->count[bucket(ns)], 1);
    if (ns > atomic_load_explicit(&durations->most, memory_order_relaxed))
        atomic_store_explicit(&durations->most, ns, memory_order_relaxed);
}

static bool is_right(const struct version *version, const double *scores, uint32_t begin,
                     uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!(scores[i] == version->expected[begin + i]))
            return false;
    return true;
}

/* The `request`-th of a worker. Most are scored in one call, some a document a call. */
static void answer(struct worker *worker, uint64_t request, double *scores)
{
    struct server *s = worker->server;
    const struct pool *pool = &s->pool;
    uint32_t query = (uint32_t)((request * 7 + (uint64_t)worker->index * 5) % pool->n_queries);
    uint32_t begin = pool->begin[query], n = pool->begin[query + 1] - begin;
    const float *values = pool->values + (size_t)begin * pool->n_features;
    int status = RW_OK;

    uint64_t no_earlier = atomic_load(&s->published);
    struct version *version = atomic_load(&s->current);
    for (;;) { /* once it is seen to be current after it was marked, it is not freed */
        atomic_store(&worker->in_use, version);
        struct version *again = atomic_load(&s->current);
        if (again == version)
            break;
        version = again;
    }
    if (is_fault(s, "free") && request % 100 == 99)
        sleep_until(now_ns() + 2 * (uint64_t)s->swap_ms * 1000000u);
    if (request % 4 != 0)
        status = rw_scorer_rows(NULL, version->scorer, values, n, pool->n_features, FIRST_FEATURE,
                                scores);
    else
        for (uint32_t i = 0; i < n; i++)
            scores[i] = rw_scorer_one(version->scorer, values + (size_t)i * pool->n_features,
                                      pool->n_features, FIRST_FEATURE);
    if (is_fault(s, "answer") && request == 100)
        scores[n - 1] += 1e-12;
    bool was_current = version->number >= no_earlier && version->number < atomic_load(&s->begun);
    bool right = status == RW_OK && was_current && is_right(version, scores, begin, n);
    atomic_store(&worker->in_use, NULL);
    add(&worker->requests, 1);
    add(&worker->docs, n);
    add(&worker->errors, status != RW_OK);
    add(&worker->wrong, !right);
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct server *s = worker->server;
    double *scores = grown(NULL, s->pool.most_docs, sizeof *scores);
    for (uint64_t request = 0; !atomic_load(&s->ends); request++) {
        uint64_t due = s->started + (request * (uint64_t)s->n_threads + (uint64_t)worker->index) *
                                        1000000000u / (uint64_t)s->rate;
        uint64_t begun = now_ns();
        if (begun < due) {
            sleep_until(due);
            begun = now_ns();
        }
        answer(worker, request, scores);
        uint64_t ended = now_ns();
        add_duration(&worker->work, ended - begun);
        add_duration(&worker->wait, ended - due);
        add(&worker->late, ended - due > LATE_NS);
    }
    free(scores);
    return NULL;
}

/* --- reports --- */

/* Entries of a folder of /proc, without the one that reading it makes. */
static int count_entries(const char *path, int n_own)
{
    DIR *folder = opendir(path);
    int n = -n_own;
    if (!folder)
        return -1;
    for (struct dirent *entry; (entry = readdir(folder));)
        n += entry->d_name[0] != '.';
    closedir(folder);
    return n;
}

static long resident_kib(void)
{
    long size = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file)
        return -1;
    if (fscanf(file, "%ld %ld", &size, &resident) != 2)
        resident = -1;
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* What malloc has given out, and what threads keep of it to give it out again: some KiB more, once.
 * -1: not known here. */
static long heap_kib(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
    struct mallinfo2 info = mallinfo2();
    return (long)((info.uordblks + info.hblkhd) / 1024);
#else
    return -1;
#endif
}

static void print_durations(const struct server *s, const char *name, size_t offset)
{
    static const double share[] = {0.5, 0.99, 0.999};
    static const char *const label[] = {"p50", "p99", "p999"};
    uint64_t total[N_BUCKETS] = {0}, sum = 0, most = 0;
    for (int t = 0; t < s->n_threads; t++) {
        const struct durations *d = (const void *)((const char *)&s->worker[t] + offset);
        for (size_t i = 0; i < N_BUCKETS; i++) {
            uint64_t n = atomic_load_explicit(&d->count[i], memory_order_relaxed);
            total[i] += n;
            sum += n;
        }
        uint64_t one = atomic_load_explicit(&d->most, memory_order_relaxed);
        most = one > most ? one : most;
    }
    uint64_t seen = 0;
    size_t i = 0;
    for (int k = 0; k < 3; k++) {
        while (i < N_BUCKETS && (double)(seen + total[i]) < share[k] * (double)sum)
            seen += total[i++];
        printf(",\"%s_%s_us\":%.1f", name, label[k],
               i < N_BUCKETS ? (double)bucket_end(i) / 1000 : 0.0);
    }
    printf(",\"%s_max_us\":%.1f", name, (double)most / 1000);
}

static uint64_t total(const struct server *s, size_t offset)
{
    uint64_t sum = 0;
    for (int t = 0; t < s->n_threads; t++)
        sum += atomic_load(
            (const _Atomic uint64_t *)(const void *)((const char *)&s->worker[t] + offset));
    return sum;
}

static uint64_t print_status(const struct server *s)
{
    uint64_t errors = s->n_errors + total(s, offsetof(struct worker, errors));
    uint64_t wrong = total(s, offsetof(struct worker, wrong));
    printf("{\"seconds\":%.3f,\"serves\":\"%s\",\"swaps\":%llu,\"requests\":%llu,\"documents\":%"
           "llu,\"wrong\":%llu,"
           "\"errors\":%llu,\"late\":%llu,\"rss_kib\":%ld,\"heap_kib\":%ld,\"descriptors\":%d,"
           "\"threads\":%d",
           (double)(now_ns() - s->started) / 1e9, s->name,
           (unsigned long long)atomic_load(&s->published),
           (unsigned long long)total(s, offsetof(struct worker, requests)),
           (unsigned long long)total(s, offsetof(struct worker, docs)), (unsigned long long)wrong,
           (unsigned long long)errors, (unsigned long long)total(s, offsetof(struct worker, late)),
           resident_kib(), heap_kib(), count_entries("/proc/self/fd", 1),
           count_entries("/proc/self/task", 0));
    print_durations(s, "work", offsetof(struct worker, work));
    print_durations(s, "wait", offsetof(struct worker, wait));
    printf("}\n");
    fflush(stdout);
    return errors + wrong;
}

/* --- swapping --- */

/* Loads what FOLDER/current leads to if it is not served yet; returns whether it did. */
static bool follow_link(struct server *s)
{
    char link[PATH_MAX], name[NAME_MAX + 1];
    snprintf(link, sizeof link, "%s/current", s->folder);
    ssize_t n = readlink(link, name, NAME_MAX);
    if (n <= 0) {
        s->n_errors++;
        return false;
    }
    name[n] = '\0';
    if (strcmp(name, s->name) == 0)
        return false;
    struct version *next = load_version(s, name);
    if (!next)
        return false;
    strcpy(s->name_before, s->name);
    strcpy(s->name, name);
    swap_in(s, next);
    return true;
}

static void swap_until_told(struct server *s)
{
    const pid_t parent = getppid();
    const uint64_t swap = (uint64_t)s->swap_ms * 1000000u, every = (uint64_t)s->every_ms * 1000000u;
    uint64_t next_swap = s->started + swap, next_status = s->started + every;
    bool before = true;
    while (!told_to_end && getppid() == parent) {
        uint64_t now = now_ns();
        if (follow_link(s)) {
            before = true;
        } else if (now >= next_swap) {
            struct version *next =
                load_version(s, before && s->name_before[0] ? s->name_before : s->name);
            if (next)
                swap_in(s, next);
            before = !before;
            next_swap = now + swap;
        }
        if (now >= next_status) {
            print_status(s);
            next_status += every;
        }
        sleep_until(now + (swap < 20000000u ? swap : 20000000u));
    }
}

static bool read_options(struct server *s, int argc, char **argv)
{
    for (int i = 3; i + 1 < argc; i += 2) {
        int *number = strcmp(argv[i], "--threads") == 0 ? &s->n_threads
                      : strcmp(argv[i], "--rate") == 0  ? &s->rate
                      : strcmp(argv[i], "--swap") == 0  ? &s->swap_ms
                      : strcmp(argv[i], "--every") == 0 ? &s->every_ms
                                                        : NULL;
        if (number && (*number = atoi(argv[i + 1])) < 1)
            return false;
        if (!number && strcmp(argv[i], "--fault") != 0)
            return false;
        if (!number)
            s->fault = argv[i + 1];
    }
    return argc >= 3 && argc % 2 == 1 && s->n_threads <= MAX_THREADS;
}

static struct server server = {.n_threads = 8, .rate = 10000, .swap_ms = 500, .every_ms = 5000};

int main(int argc, char **argv)
{
    struct server *s = &server;
    if (!read_options(s, argc, argv)) {
        fprintf(stderr,
                "usage: soak_server POOL FOLDER [--threads N] [--rate N] [--swap MS] [--every MS] "
                "[--fault NAME]\n");
        return 2;
    }
    s->folder = argv[2];
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
    if (!read_pool(&s->pool, argv[1]) || rw_ctx_new(&s->ctx) != RW_OK || !follow_link(s)) {
        fprintf(stderr, "soak_server: cannot begin with '%s' and '%s'\n", argv[1], argv[2]);
        return 2;
    }
    s->started = now_ns();
    for (int i = 0; i < s->n_threads; i++) {
        s->worker[i].server = s;
        s->worker[i].index = i;
        if (pthread_create(&s->worker[i].thread, NULL, work, &s->worker[i]) != 0) {
            perror("soak_server");
            return 2;
        }
    }
    swap_until_told(s);
    atomic_store(&s->ends, true);
    for (int i = 0; i < s->n_threads; i++)
        pthread_join(s->worker[i].thread, NULL);
    uint64_t bad = print_status(s);
    free_version(atomic_load(&s->current));
    rw_ctx_free(s->ctx);
    free(s->pool.values);
    free(s->pool.begin);
    return bad != 0;
}
