/* The foundation of the library: the context (last error, log callback, number of threads), and
 * functions that raise and forward errors. It also has loops shared by several threads, progress
 * and interruption, the floating-point environment, conversion between numbers and text, lines
 * written by several threads, and checksums. For messages, it has nearest words, UTF-8, and files
 * recognised by their first bytes. Only one thread at a time may use a context. */
#pragma once

#include <fenv.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
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
    char error[RW_MESSAGE_BYTES]; /* text of the last error */
    rw_log_fn log;                /* NULL: notes and warnings are dropped */
    void *log_user;               /* borrowed for the life of the context */
    int n_threads;                /* number of threads, at least 1 ("all" is resolved) */
    struct rw_watch *watch;       /* NULL: the caller is not polled during a call; owned */
    struct rw_pool *pool;         /* NULL: not used yet; owned */
    /* How tables are read (io/data_format.h). NULL: the defaults; owned, freed by columns_free. */
    struct rw_table_columns *columns;
    void (*columns_free)(struct rw_table_columns *columns);
    const char *idle_param; /* during a warning: the parameter that it concerns, or NULL */
    int n_tables;           /* number of CSV and TSV files opened so far */
    int stop_set;           /* number of the validation set that stops the most recent training,
                               from 1; 0: no early stopping */
    int valid_is_train; /* 1: the most recent training had no other validation set than its training
                           set */
    int records_data;  /* 1: trainings keep checksums of their data (rw_ctx_record_data) */
    void *data_record; /* struct rw_data_record (train/train.h) of the most recent one; owned */
    struct rw_spool *spool; /* io/input.h: pipes that are stored during a call, or NULL */
    struct rw_comm *comm;   /* comm/comm.h; NULL: one worker; borrowed */
};

/* Sends one line (no newline at the end) to the log callback. */
void rw_log(struct rw_ctx *ctx, enum rw_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- errors: rankwood_score.h has the codes, and the context has the text (rw_last_error) ---- */

/* Makes a string literal of the value of a limit, for messages. */
#define RW_TEXT(limit)          RW_TEXT_OF_VALUE(limit)
#define RW_TEXT_OF_VALUE(value) #value

/* In a function with the parameters `format, ...`: writes the formatted arguments to an array of
 * char. */
#define RW_FORMAT_ARGS(text, format)                 \
    do {                                             \
        va_list args;                                \
        va_start(args, format);                      \
        vsnprintf(text, sizeof(text), format, args); \
        va_end(args);                                \
    } while (0)

/* Records the text of an error and returns `status`, for `return rw_fail(ctx, RW_ERR_IO, ...)`.
 * Callers that forward the status with RW_TRY preserve the first text of a failing call. ctx may be
 * NULL. */
int rw_fail(struct rw_ctx *ctx, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* If `status` is RW_ERR_MEMORY, sets a text that names the object that did not fit into memory. The
 * text of other failures is unchanged. Returns `status`. */
int rw_fail_memory(struct rw_ctx *ctx, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Reports a failed system call: adds ": " and the text of `why`, its errno. Returns
 * RW_ERR_MACHINE if the machine is the cause, such as a full disk, and RW_ERR_IO otherwise. */
int rw_fail_io(struct rw_ctx *ctx, int why, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Fails with RW_ERR_ARGUMENT if the paths `written` and `read` are the same file, or would be: "...
 * is an input, and cannot be the output too". Either may be NULL if it was not given. */
int rw_check_not_input(struct rw_ctx *ctx, const char *written, const char *read);
/* Writes to the file like fwrite, but reports a failure at once. */
int rw_out_file_write(struct rw_ctx *ctx, struct rw_out_file *out, const void *bytes,
                      size_t n_bytes);

/* Returns from the function with the status of a failed call. Functions that own resources use
 * RW_TRY_OUT and clean up at the label `out`. */
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

/* ---- loops shared by several threads ----
 *
 * The library uses its own threads instead of OpenMP, for two reasons. Idle threads of OpenMP spin,
 * which costs more than the loops on a busy machine, and only the environment at the start of the
 * process can change this. In addition, a child process forked after the first use of OpenMP may
 * wait for threads that do not exist in it.
 *
 * A thread of the library that has no work spins for about 0.1 ms and then sleeps. If there are
 * more threads than processors, it sleeps at once. A loop never waits for a sleeping thread: the
 * other threads take its items. A forked child process starts new threads.
 *
 * Each context has a pool, which is made by the first loop with more than one thread. Threads start
 * with all signals blocked and in the default floating-point environment. */
/* The state of one thread in a loop. */
struct rw_share {
    int thread;    /* index below n_threads, for scratch memory; 0: the thread that called
                      rw_parallel */
    int n_threads; /* as passed to rw_parallel, or the number of chunks if that is less; fewer
                      threads may take part */
    uint64_t n_taken, n, chunk; /* private to ctx.c, like the pool */
    struct rw_pool *pool;       /* NULL: the thread is alone */
    struct rw_watch *watch;     /* NULL: no progress is reported, and the caller cannot interrupt */
    int may_stop;               /* 1: an interruption ends the loop (rw_parallel_long) */
};
/* The body of a loop: works as long as rw_share_next returns items. A status below 0 ends this
 * thread's work, and the other threads take the remaining items. */
typedef int rw_share_fn(void *job, struct rw_share *share);

/* Divides the items [0, n) among up to n_threads threads (at least 1), one of them the calling
 * thread. Each thread that takes part calls body(job, share) once. chunk: the number of items taken
 * at a time, in order. With chunk 0, the items are divided into n_threads ranges of nearly equal
 * size, each taken in a few chunks. Thread t begins with range t, so repeated loops over the same
 * documents find them in the same processor caches. The function returns when all work is done: 0,
 * or the lowest status of any body, or RW_ERR_INTERRUPTED if the caller has interrupted the call
 * and rw_poll_hold is not in effect. Writes made in the loop are visible after the return.
 *
 * Inside a body, during a poll, or if ctx is NULL, the loop runs on the calling thread alone. A
 * body may use ctx->error (rw_fail) only under rw_share_lock. */
int rw_parallel(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk, rw_share_fn *body,
                void *job);
/* Like rw_parallel, for loops that may take long. If the caller interrupts the call, the loop ends
 * where the bodies call rw_share_next or rw_share_poll. The result is then incomplete, so the
 * status RW_ERR_INTERRUPTED must not be ignored. rw_parallel, in contrast, completes all items
 * before it returns that status. */
int rw_parallel_long(struct rw_ctx *ctx, int n_threads, uint64_t n, uint64_t chunk,
                     rw_share_fn *body, void *job);
/* Reports progress within long items: adds n_done to the work done in a stage that counts loops
 * (rw_stage_begin). Returns 1 if an interruption ends the loop, so the body should return. `share`
 * may be NULL. */
int rw_share_poll(struct rw_share *share, uint64_t n_done);
/* Takes the next items, [*begin, *end), at least one. Returns 0 when all items are taken, or if
 * an interruption ends the loop. */
int rw_share_next(struct rw_share *share, uint64_t *begin, uint64_t *end);
/* Runs the statement after it for each item that this thread takes. i: the item, a uint64_t. */
#define RW_SHARE_EACH(share, i)                                      \
    for (uint64_t i, i##_end; rw_share_next((share), &i, &i##_end);) \
        for (; i < i##_end; i++)
/* Lock and unlock the loop's mutex, for merging results. */
void rw_share_lock(struct rw_share *share);
void rw_share_unlock(struct rw_share *share);
/* Adds `more` to a sum shared by the threads, modulo 2^64. */
void rw_share_add(struct rw_share *share, uint64_t *sum, uint64_t more);

/* ---- progress and interruption by the caller (rw_ctx_set_poll) ---- */

/* The least time between two polls, in milliseconds. Tests lower it. */
extern int rw_poll_ms;
/* Polls the caller if the last poll was at least rw_poll_ms ago; does nothing inside a loop.
 * Returns RW_ERR_INTERRUPTED if the call should end, which is never so while rw_poll_hold is in
 * effect. */
int rw_poll(struct rw_ctx *ctx);
/* Starts counting the work of a stage of the call, until rw_stage_end. stage: its name, borrowed.
 * The caller expects the sum of all n_done that it passes to rw_share_poll (of_loops: 1) or to
 * rw_stage_add (of_loops: 0) to be `total`, in any unit. Returns 1 if counting has started. Returns
 * 0 if another stage is being counted, if the call is made inside a loop, or if neither
 * rw_ctx_set_poll nor rw_poll_hold was called before. Pass the result to rw_stage_end. */
int rw_stage_begin(struct rw_ctx *ctx, const char *stage, uint64_t total, int of_loops);
void rw_stage_end(struct rw_ctx *ctx, int has_begun);
/* Counts work. Any thread may call it. */
void rw_stage_add(struct rw_ctx *ctx, uint64_t n_done);
/* Until rw_poll_release, an interruption by the caller or by `stop` ends only loops started with
 * rw_parallel_long. All other work is completed. stop: polled after the caller; interrupts the
 * call if it does not return 0. With stop NULL, an interruption ends no loop at all: it is only
 * recorded (rw_poll_is_stopped). Fails if memory is short. */
int rw_poll_hold(struct rw_ctx *ctx, int (*stop)(void *user), void *user);
/* Ends rw_poll_hold, and forgets an interruption. Does nothing without a rw_poll_hold. */
void rw_poll_release(struct rw_ctx *ctx);
/* Returns 1 if the caller, or `stop`, has interrupted the call. Any thread may call it. */
int rw_poll_is_stopped(const struct rw_ctx *ctx);

/* Pauses between two reads of a variable that another thread will write. */
static inline void rw_pause(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

/* Ends a context's threads. `pool` may be NULL. */
void rw_pool_free(struct rw_pool *pool);
/* Returns the default number of threads for this process, at least 1 (base/machine.h). The quota of
 * a control group is read once, at the first call. */
int rw_processors(void);

/* Returns the milliseconds since an arbitrary start, for progress and logs. Models never depend on
 * it. */
static inline double rw_clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Results depend on the floating-point environment: rounding to nearest, subnormal numbers
 * preserved, no traps. The caller may have set a different one. For example, a mathematics library
 * with fast-math start-up code changes it for the whole process. Each public function that computes
 * therefore sets the default environment and restores the caller's on return. */
#if defined(__SSE2__)
/* Arithmetic uses MXCSR, but the C library converts decimals under the x87's control word. */
struct rw_fpenv {
    uint32_t mxcsr;
    uint16_t x87;
};
enum { RW_MXCSR_DEFAULT = 0x1f80, RW_X87_DEFAULT = 0x037f }; /* no traps, round to nearest */

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

/* Sets the default environment until the function returns. Must be the first statement of a public
 * function. */
#define RW_DEFAULT_FPENV \
    const struct rw_fpenv rw_fpenv_was __attribute__((cleanup(rw_fpenv_leave))) = rw_fpenv_enter()

/* ---- text <-> number, independent of the locale ---- */

/* Parses [text, end) as the float nearest to a decimal. Apart from the cases below, the result is
 * strtof's under the default rounding mode, but independent of the locale. Accepts an optional
 * sign, digits, a decimal point and an exponent (no inf, nan or hex). Returns the first byte not
 * read, or NULL if there is no number at `text`. A magnitude beyond float's range yields the
 * largest finite float and sets *clamped to 1, else to 0. -0 yields +0. */
const char *rw_number_parse(const char *text, const char *end, float *value, int *clamped);
/* Like rw_number_parse, for double (scores, weights, gains). */
const char *rw_number_parse_double(const char *text, const char *end, double *value, int *clamped);
/* Writes the shortest decimal that reads back as the same float. `buffer` needs at least 16 bytes.
 * Returns the length. */
int rw_number_write(float value, char *buffer);
/* Like rw_number_write, for double. `buffer` needs at least 32 bytes. */
int rw_number_write_double(double value, char *buffer);
/* Writes a double like printf with %.15g, or with %.16g or %.17g if fewer digits do not read back
 * as the same value. `buffer` needs at least 32 bytes and is terminated by 0. Returns the length.
 */
int rw_number_write_exact(double value, char *buffer);
/* Sorts numbers in rising order. */
void rw_sort_doubles(double *numbers, size_t n);

/* Parses digits as a number up to `most`. Returns the byte after them, or NULL if there are no
 * digits or the number exceeds `most`. */
const char *rw_number_digits(const char *text, uint64_t most, uint64_t *value);
/* Parses a `text` that consists of digits only, as a number up to `most`. Returns 0 if it does not.
 */
int rw_number_whole(const char *text, uint64_t most, uint64_t *value);

/* Returns N of a device name "cuda:N", and 0 for a name without a colon such as "cpu". Returns -1
 * for another name or if N exceeds RW_MAX_DEVICE. *length: number of bytes before the colon, or of
 * the whole name. */
int rw_device_number(const char *device, size_t *length);

/* ---- words: edit distances, for suggestions in messages (more in rankwood.h), and order ---- */

/* Returns the number of bytes to insert, delete, replace or swap with an adjacent one to get `b`
 * from `a` (Damerau's distance, each byte edited at most once). If a word has more than 48 bytes,
 * it returns the length of the longer one. */
size_t rw_word_distance(const char *a, const char *b);
/* Returns the word nearest to `mistaken`, however distant, and the first of several. `mistaken` may
 * have capitals, and '_' for '-'. words: [n_words], at least one, as rw_word_plain writes them. */
const char *rw_word_nearest_always(const char *mistaken, const char *const *words, int n_words);
/* Sorts the n elements of an array by a comparison as for qsort. The array may be NULL if n is 0.
 */
#define RW_SORT(all, n, compare) rw_sort(all, n, sizeof(*(all)), compare)
void rw_sort(void *all, size_t n, size_t size, int (*compare)(const void *, const void *));
/* Comparisons for RW_SORT and bsearch, by rising number or by the bytes of a text. An element is a
 * uint32_t, a float or a const char *, or a record that begins with one. */
int rw_by_u32(const void *a, const void *b);
int rw_by_float(const void *a, const void *b);
int rw_by_text(const void *a, const void *b);
/* Copies a name in lower case with '-' for '_', truncated to `size` bytes with the final 0. Returns
 * its length. */
size_t rw_word_plain(const char *word, char *plain, size_t size);

/* Returns the length in bytes of the well-formed UTF-8 character at `c` (RFC 3629: shortest form,
 * no surrogates, up to U+10FFFF), or 0 if it is malformed. */
static inline int rw_utf8_bytes(const unsigned char *c)
{
    if (c[0] < 0x80)
        return 1;
    const int n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4)
        return 0;
    for (int i = 1; i < n; i++) { /* stops at the terminating 0 */
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return n;
}

/* Returns 1 for a control character. Some of them move a terminal's cursor. */
static inline int rw_utf8_is_control(const unsigned char *c)
{
    return c[0] < 32 || c[0] == 127 || (c[0] == 0xc2 && c[1] < 0xa0);
}

/* Names of columns and features are UTF-8. Other names, such as those of CSV files that some
 * spreadsheets write, are read as Windows-1252, which has the characters of Latin-1. Replaces such
 * a name, which the caller owns (rw_mem_free), by UTF-8. Returns 1 if it did, 0 if the name is UTF-8
 * already, or RW_ERR_MEMORY. */
int rw_name_to_utf8(struct rw_ctx *ctx, char **name);
/* Returns 1 if a name is the text of n bytes, which may have either encoding. */
int rw_name_is(const char *name, const char *text, size_t n);

/* ---- writing lines that all threads format in parallel ---- */
struct rw_out_file;
/* Formats line i with its newline at `to`, and returns its number of bytes. */
typedef size_t rw_line_fn(const void *user, uint64_t i, char *to);
/* Writes the lines [0, n) in order, each of at most line_bytes. Memory use has a limit that does
 * not depend on n. */
int rw_lines_write(struct rw_ctx *ctx, struct rw_out_file *out, uint64_t n, size_t line_bytes,
                   rw_line_fn *line, const void *user);

/* Continues a CRC-32 (as in gzip and zlib) from `crc`, 0 at first, like zlib's crc32. It uses
 * carry-less multiplication if the processor supports it. RANKWOOD_ISA=plain: tables only. */
uint32_t rw_checksum(uint32_t crc, const void *data, size_t n_bytes);

/* ---- files recognised by their first bytes ----
 *
 * Finds which kind of file was passed instead of the expected one: LETOR text, another data format,
 * or a model. To add a kind, add a row in other_formats.c, and a file with its message in
 * tests/golden/bad. */

/* The first bytes of Rankwood's own files. The version follows them. */
#define RW_MODEL_HEADER      "rankwood model "
#define RW_CHECKPOINT_HEADER "rankwood checkpoint "
#define RW_CACHE_MAGIC       "\x89RWcache"

struct rw_recognised {
    const char *what;          /* "a Parquet file"; NULL: not recognised */
    const char *hint;          /* another line for the message, or NULL */
    const char *convert_file;  /* a command that converts a file to text ("xz -dc"), or NULL */
    const char *convert_stdin; /* a command that converts its standard input to text, or NULL */
    int is_text;      /* 1: a text file, so the message also describes the error in its line */
    unsigned columns; /* number of columns of a table; 0: not a table */
    int has_header;   /* the table's first line names the columns */
    const char *packed_hint; /* replaces `hint` if the file was inside gzip; NULL: use `hint` */
    const char *from;        /* format name with which `import` reads it; NULL: `import` cannot */
    int is_model;            /* a file of Rankwood's that is a model */
    int is_data;             /* 1: data; commands may still reject its form as DATA */
};

/* Recognises a file by [line, end), its first line that is neither a comment nor a valid document.
 * The line extends to the first newline. Only this line is examined, so the answer does not depend
 * on the chunks in which the file is read. */
struct rw_recognised rw_recognise(const char *line, const char *end);

/* Recognises a file by [head, end), as many of its first bytes as are available. A truncated line
 * is treated as a whole line. */
struct rw_recognised rw_recognise_head(const char *head, const char *end);

/* Writes the message for a file called `name`. is_packed: 1: it was recognised inside gzip. wrong:
 * describes the error in its line; used if kind->is_text is 1. message: [size]. */
void rw_recognised_message(const struct rw_recognised *kind, const char *name, int is_packed,
                           const char *wrong, char *message, size_t size);
/* Fails with RW_ERR_FORMAT and the message for a recognised file that is not a model. `expected` is
 * "a model of Rankwood", for example. */
int rw_fail_not_a_model(struct rw_ctx *ctx, const struct rw_recognised *kind, const char *name,
                        const char *expected);

#ifdef __cplusplus
}
#endif
