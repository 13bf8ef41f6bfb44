/* A click log in memory, as judge.c uses it: numbered sessions, and documents of queries ("pairs").
 * click_log.c reads it. */
#pragma once

#include "dataset/names.h"

/* A displayed document. */
struct rw_impression {
    uint32_t session; /* 0 if the log has no sessions */
    uint32_t pair;
    uint32_t line; /* number of its line, for messages */
    uint16_t file; /* its file among the paths */
    uint16_t position;
    uint8_t click;
};

struct rw_click_log {
    struct rw_impression *row; /* [n] by session, then by position, then by file and line; owned */
    size_t n, room;
    int has_sessions;
    uint32_t n_sessions, n_queries, n_pairs;
    struct rw_text_set session, query, pair_text; /* pair_text: query, tab, document */
    struct rw_click_pair *pair;                   /* [n_pairs]; owned */
    size_t pair_room;
};
struct rw_click_pair {
    uint32_t query;       /* its number */
    const char *document; /* in pair_text */
};

/* Reads files. columns: as struct rw_judge has them. needs_sessions: 1: a log without a session
 * column is an error. Fails on empty files and malformed lines, on a session with two queries, and if a session
 * displays a document or uses a position twice. Release *out also after a failure. */
int rw_click_log_read(struct rw_ctx *ctx, const char *columns, int needs_sessions,
                      const char *const *paths, int n_paths, struct rw_click_log *out);
void rw_click_log_release(void *log); /* a struct rw_click_log */
