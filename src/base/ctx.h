/* The context: last error, log callback, number of threads. One thread at a time may use it. */
#ifndef RW_BASE_CTX_H
#define RW_BASE_CTX_H

#include "base/status.h"
#include "base/thread.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RW_MESSAGE_BYTES = 4096 };
struct rw_ctx {
    char error[RW_MESSAGE_BYTES];
    rw_log_fn log;          /* NULL: notes and warnings are dropped */
    void *log_user;         /* borrowed for the life of the context */
    int n_threads;          /* >= 1, resolved */
    struct rw_watch *watch; /* base/thread.h; NULL: nothing is asked while a call runs; owned */
    struct rw_pool *pool;   /* base/thread.h; NULL: not used yet; owned */
    /* io/data_format.h: how tables are read. NULL: the defaults; owned, and freed by columns_free */
    struct rw_table_columns *columns;
    void (*columns_free)(struct rw_table_columns *columns);
    const char *idle_param; /* during a warning: the parameter that it is about, or NULL */
    int n_tables;           /* files of CSV and TSV that were opened */
    int stop_set;           /* which validation set stops the training that last began; 0: none */
    struct rw_spool *spool; /* io/input.h: pipes that are kept during a call; NULL: none */
    struct rw_comm *comm;   /* comm/comm.h; NULL: one rank; borrowed */
};

/* Sends one line (no newline at the end) to the log callback. */
void rw_log(struct rw_ctx *ctx, enum rw_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

#ifdef __cplusplus
}
#endif
#endif
