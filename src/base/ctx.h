/* What all of the library stands on. The context: last error, log callback, number of threads;
 * errors and how they are forwarded; loops that several threads share; the floating-point
 * environment; numbers and words as text. One thread at a time may use a context. */
#pragma once

#include <fenv.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

#include "rankwood.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_MESSAGE_BYTES = 4096 };
struct rw_ctx {
    char error[RW_MESSAGE_BYTES];
    rw_log_fn log;          /* NULL: notes and warnings are dropped */
    void *log_user;         /* borrowed for the life of the context */
    int n_threads;          /* >= 1, resolved */
    struct rw_watch *watch; /* NULL: nothing is asked while a call runs; owned */
    struct rw_pool *pool;   /* NULL: not used yet; owned */
    /* io/data_format.h: how tables are read. NULL: the defaults; owned, and freed by columns_free
     */
    struct rw_table_columns *columns;
    void (*columns_free)(struct rw_table_columns *columns);
    const char *idle_param; /* during a warning: the parameter that it is about, or NULL */
    int n_tables;           /* files of CSV and TSV that were opened */
    int stop_set;           /* which validation set stops the training that last began; 0: none */
    struct rw_spool *spool; /* io/input.h: pipes that are kept during a call; NULL: none */
    struct rw_comm *comm;   /* comm/comm.h; NULL: one worker; borrowed */
};

/* Sends one line (no newline at the end) to the log callback. */
void rw_log(struct rw_ctx *ctx, enum rw_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Error codes live in the public header; this adds how functions inside the library raise and
 * forward them. The text of an error lives in the context (rw_last_error). */

/* A limit as it stands in a message. */
#define RW_TEXT(limit)          RW_TEXT_OF_VALUE(limit)
#define RW_TEXT_OF_VALUE(value) #value

/* Records the text of an error and returns `status`, for `return rw_fail(ctx, RW_ERR_IO, ...)`.
 * The first text of a failing call is kept by forwarding the code with RW_TRY. ctx may be NULL. */
int rw_fail(struct rw_ctx *ctx, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The text for a status that is RW_ERR_MEMORY: what there was no memory for. Of other failures the
 * text stays. Returns `status`. */
int rw_fail_memory(struct rw_ctx *ctx, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A refusal of the operating system: adds ": " and the reason for `why`, an errno. Returns
 * RW_ERR_IO, or RW_ERR_MACHINE where the machine is at fault and not what was asked of it. */
int rw_fail_io(struct rw_ctx *ctx, int why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* RW_ERR_ARGUMENT if `written` is the file `read`, or would be: "... is read, so it cannot be
 * written". NULL: not given. */
int rw_check_apart(struct rw_ctx *ctx, const char *written, const char *read);
/* As fwrite to the file, but a failure is told at once. */
int rw_out_file_write(struct rw_ctx *ctx, struct rw_out_file *out, const void *bytes,
                      size_t n_bytes);

/* Forwards a failure. Functions that own something use `RW_TRY_OUT` and clean up at `out:`. */
#define RW_TRY(call)                \
    do {                            \
        int rw_try_status = (call); \
        if (rw_try_status < 0)      \
            return rw_try_status;   \
    } while (0)

#define RW_TRY_OUT(call) \
    do {                 \
        status = (call); \
        if (status < 0)  \
            goto out;    \
    } while (0)

/* Loops that several threads share, on threads of the library's own.
 *
 * Why not OpenMP: how long its idle threads spin is settled from outside the process, before main,
 * and on a machine with other work that waiting costs more than the loops; and a child forked after
 * its first use can wait for threads that it does not have. Here a thread that runs out of work
 * spins for some microseconds and then sleeps; a loop never waits for a thread that has not woken
 * up, since those that are awake take its part; and a child starts threads anew.
 *
 * Each context has a pool, made with the first loop that more than one thread takes. Threads start
 * with all signals blocked and under the default floating-point environment. */
/* One thread's part in a loop. */
struct rw_share {
    int thread;    /* 0: the one that called rw_parallel; always under n_threads: for scratch */
    int n_threads; /* as given to rw_parallel: not all of them need have come */
    uint64_t n_taken, n, chunk; /* private to ctx.c, like the pool */
    struct rw_pool *pool;       /* NULL: nobody else is there */
    struct rw_watch *watch;     /* NULL: nobody asks how far it is, or stops it */
    int may_stop;
};
/* Works while rw_share_next gives it something. A status below 0 ends this thread's part; the
 * others take what is left. */
typedef int rw_share_fn(void *job, struct rw_share *share);

/* Calls body(job, share) once on each thread that comes, at most n_threads (at least 1) and the
 * calling one among them, to share the items [0, n). chunk: how many are taken at a time, in order;
 * 0: the items are cut into n_threads equal runs, each taken in a few chunks, and thread t begins
 * with run t, so that loops over the same documents find them in the same caches. Returns once all
 * is done: 0, or the lowest status of any body. What happens in the loop happens before the return.
 *
 * Inside of a body, and with ctx NULL, the loop is the calling thread's alone. A body must not use
 * ctx->error (rw_fail) but under rw_share_lock. */
int rw_parallel(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk, rw_share_fn *body,
                void *job);
/* The same for a loop that may take long: it ends between two items, or where a body asks
 * rw_share_poll, if the caller of the library wants no more. What was not done is then undefined,
 * and the status, RW_ERR_INTERRUPTED, must not be ignored. Of rw_parallel all is done, and that
 * status comes afterwards. */
int rw_parallel_long(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk,
                     rw_share_fn *body, void *job);
/* Within long items: n_done more of a stage's work are done. 1: the loop ends, so the body should
 * return. share: NULL is fine. */
int rw_share_poll(struct rw_share *share, uint64_t n_done);
/* The next items, [*begin, *end), at least one; 0 if none are left. */
int rw_share_next(struct rw_share *share, uint64_t *begin, uint64_t *end);
/* One thread of the loop at a time: for merging results. */
void rw_share_lock(struct rw_share *share);
void rw_share_unlock(struct rw_share *share);
/* The same for a sum, modulo 2^64. */
void rw_share_add(struct rw_share *share, uint64_t *sum, uint64_t more);

/* ---- how far a call is, and its end at the caller's wish (rw_ctx_set_poll) ---- */

/* Outside of loops: asks the caller, if it is time. RW_ERR_INTERRUPTED: the call shall end. */
int rw_poll(struct rw_ctx *ctx);
/* A stage's work is counted from here on, up to rw_stage_end: by rw_share_poll (of_loops: 1), or by
 * rw_stage_add (0). Returns 0 if a stage has begun already, whose part this is: nothing is counted.
 */
int rw_stage_begin(struct rw_ctx *ctx, const char *stage, uint64_t total, int of_loops);
void rw_stage_end(struct rw_ctx *ctx, int has_begun);
/* Any thread may call it. */
void rw_stage_add(struct rw_ctx *ctx, uint64_t n_done);
/* From here to rw_poll_release, only loops that may take long end early, if the caller or `stop`
 * says so; all else is completed. */
int rw_poll_hold(struct rw_ctx *ctx, int (*stop)(void *user), void *user);
void rw_poll_release(struct rw_ctx *ctx);
/* Has the caller, or `stop`, said so? Any thread may ask. */
int rw_poll_is_stopped(const struct rw_ctx *ctx);

/* Between two looks at what another thread is about to write. */
static inline void rw_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Ends a context's threads; pool: NULL is fine. */
void rw_pool_free(struct rw_pool *pool);
/* Threads that this process should take unless it is told how many, at least 1 (base/machine.h). A
 * control group's quota is what it was when the process first asked. */
int rw_processors(void);

/* Milliseconds from an arbitrary start, for progress and logs; never reaches a model. */
static inline double rw_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* The floating-point environment that training bits rest on: round to nearest, subnormal numbers as
 * they are, no traps. A caller may have set another one (a mathematics library loaded with
 * fast-math start-up code does so for the whole process), so each public function that computes
 * takes the default one for the call and puts the caller's back. */
#if defined(__SSE2__)
/* Arithmetic goes by MXCSR, but C's own conversions of decimals by the x87's control word. */
struct rw_fpenv {
    uint32_t mxcsr;
    uint16_t x87;
};
enum { RW_MXCSR_DEFAULT = 0x1f80, RW_X87_DEFAULT = 0x037f }; /* no traps, to nearest */

static inline struct rw_fpenv rw_fpenv_enter(void)
{
    static const uint16_t x87 = RW_X87_DEFAULT;
    struct rw_fpenv was = {_mm_getcsr(), 0};
    __asm__ volatile("fnstcw %0" : "=m"(was.x87));
    if (was.mxcsr != RW_MXCSR_DEFAULT)
        _mm_setcsr(RW_MXCSR_DEFAULT);
    if (was.x87 != RW_X87_DEFAULT)
        __asm__ volatile("fldcw %0" : : "m"(x87));
    return was;
}

static inline void rw_fpenv_leave(const struct rw_fpenv *was)
{
    _mm_setcsr(was->mxcsr);
    if (was->x87 != RW_X87_DEFAULT)
        __asm__ volatile("fldcw %0" : : "m"(was->x87));
}
#else
struct rw_fpenv {
    fenv_t all;
};

static inline struct rw_fpenv rw_fpenv_enter(void)
{
    struct rw_fpenv was;
    fegetenv(&was.all);
    fesetenv(FE_DFL_ENV);
    return was;
}

static inline void rw_fpenv_leave(const struct rw_fpenv *was)
{
    fesetenv(&was->all);
}
#endif

/* First in the body of a public function: the default environment until it returns. */
#define RW_DEFAULT_FPENV \
    const struct rw_fpenv rw_fpenv_was __attribute__((cleanup(rw_fpenv_leave))) = rw_fpenv_enter()

/* ---- text <-> number, independent of the locale ---- */

/* Nearest float to a decimal, exactly as strtof under the default rounding mode, but independent of
 * the locale. Reads an optional sign, digits, point, exponent, and nothing else (no inf, nan, hex).
 * Returns the first byte not read, or NULL if there is no number at `text`. A magnitude beyond
 * float's range gives the largest finite float and sets *clamped to 1. -0 gives +0. */
const char *rw_number_parse(const char *text, const char *end, float *value, int *clamped);
/* The same in double (scores, weights, gains). */
const char *rw_number_parse_double(const char *text, const char *end, double *value, int *clamped);
/* Shortest decimal that reads back as the same float: at least 16 bytes of room; returns the
 * length. */
int rw_number_write(float value, char *buffer);
/* The same for double; at least 32 bytes of room. */
int rw_number_write_double(double value, char *buffer);
/* As C prints the double by %.15g, or by %.16g or %.17g if it takes so many digits to read back as
 * the same: at least 32 bytes of room, a 0 behind the text; returns the length. */
int rw_number_write_exact(double value, char *buffer);

/* Digits as a number up to `most`: what follows them; NULL: there are none, or it is more. */
const char *rw_number_digits(const char *text, uint64_t most, uint64_t *value);
/* All of `text` is digits, and a number up to `most`; 0 if it is not that. */
int rw_number_whole(const char *text, uint64_t most, uint64_t *value);

/* Of a device's name, "cpu" or "cuda:N": N, or 0 without one; -1: it has no such form, or N is over
 * RW_MAX_DEVICE. *length: bytes before the colon. */
int rw_device_number(const char *device, size_t *length);

/* ---- words: how near two are, for messages that suggest the right one (see rankwood.h for the
 * others), and their order ---- */

/* Letters to insert, delete, replace or swap with their neighbour to make `b` of `a` (Damerau's
 * distance, each letter touched once); for words over 48 letters the longer one's length. */
size_t rw_word_distance(const char *a, const char *b);
/* The first of the words at the least distance from a mistaken one, whose case, and '_' for '-', do
 * not count, however far it is; n_words: at least 1. */
const char *rw_word_nearest_always(const char *mistaken, const char *const *words, int n_words);
/* The order of two texts by their bytes, for qsort and bsearch; a, b: of type const char *const *.
 */
int rw_words_by_bytes(const void *a, const void *b);
/* Copies a name in lower case, with '-' for '_', as far as it fits into [size]; returns how many
 * bytes. */
size_t rw_word_plain(const char *word, char *plain, size_t size);

/* Bytes of the well-formed UTF-8 character that `c` begins with (RFC 3629: shortest form, no
 * surrogates, up to U+10FFFF); 0: none. */
static inline int rw_utf8_bytes(const unsigned char *c)
{
    if (c[0] < 0x80)
        return 1;
    const int n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4)
        return 0;
    for (int i = 1; i < n; i++) { /* the 0 at the end is no such byte */
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return n;
}

/* Control characters, of which some move a terminal's cursor. */
static inline int rw_utf8_is_control(const unsigned char *c)
{
    return c[0] < 32 || c[0] == 127 || (c[0] == 0xc2 && c[1] < 0xa0);
}

/* Of lines of text that all threads make side by side, written in order: writes line i to `to`,
 * with its newline; returns its bytes. */
typedef size_t rw_line_fn(const void *user, uint64_t i, char *to);
/* Lines [0, n), each of at most line_bytes. Memory does not grow with n. */
struct rw_out_file;
int rw_lines_write(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n, size_t line_bytes,
                   rw_line_fn *line, const void *user);

/* CRC-32 as gzip and zlib have it, by carry-less multiplication where the processor can. Goes on
 * from `crc` (0 at first), as zlib's crc32 does. RANKWOOD_ISA=plain: by tables. */
uint32_t rw_checksum(uint32_t crc, const void *data, size_t n_bytes);

/* ---- files that are known by their first bytes ----
 *
 * What a file seems to be that is not what was wanted: LETOR text or another form of data, or a
 * model. To add a kind: a row in other_formats.c, and a file with its message in tests/golden/bad.
 */

/* The first bytes of Rankwood's own files; the version follows. */
#define RW_MODEL_HEADER      "rankwood model "
#define RW_CHECKPOINT_HEADER "rankwood checkpoint "
#define RW_CACHE_MAGIC       "\x89RWcache"

struct rw_recognised {
    const char *what;        /* "a Parquet file"; NULL: nothing that is known */
    const char *hint;        /* another line for the message; NULL: none */
    const char *pipe;        /* a command that makes text of a file ("xz -dc"); NULL: none */
    const char *filter;      /* the same from standard input; NULL: none */
    int is_text;             /* the line that is wrong says something, too */
    unsigned columns;        /* of a table; 0: it is none */
    int has_header;          /* the table's first line names the columns */
    const char *packed_hint; /* in place of hint, where it was inside gzip; NULL: hint */
    const char *from;        /* the name by which `import` reads it; NULL: it does not */
    int is_model;            /* one of Rankwood's */
    int is_data;             /* what commands take as DATA, or nearly */
};

/* [line, end): the file's first line that is no comment, which is not a document: all up to the
 * first newline, whatever it is. Nothing else is looked at, so that the answer does not depend on
 * the chunks in which the file is read. */
struct rw_recognised rw_recognise(const char *line, const char *end);

/* [head, end): the first bytes of a file, as many as there are at hand; a line that is cut counts
 * as one. */
struct rw_recognised rw_recognise_head(const char *head, const char *end);

/* The message of a file called `name`. wrong: what was said of its line. */
void rw_recognised_message(const struct rw_recognised *kind, const char *name, int is_packed,
                           const char *wrong, char *message, size_t size);
/* RW_ERR_FORMAT, with the message of a file that is recognised and is no model. expected: "a model
 * of Rankwood". */
int rw_fail_not_a_model(struct rw_ctx *ctx, const struct rw_recognised *kind, const char *name,
                        const char *expected);

#ifdef __cplusplus
}
#endif
