/* LETOR text (letor.c), and its fast path (letor_fast.c). */
#ifndef RW_IO_LETOR_H
#define RW_IO_LETOR_H

#include "io/input.h"

struct rw_text;

enum {
    RW_LETOR_SPAN = 2048, /* bytes that the fast path looks at in one go */
    RW_LETOR_SPAN_ENTRIES = RW_LETOR_SPAN / 4 + 8
};

/* One line's entries. Entries of `feature` and `text` past n are left from earlier lines, as a
 * guess: the next one is mostly of the same feature, which its text tells. */
struct rw_letor_entries {
    uint16_t *feature; /* [room] */
    float *value;      /* [room] */
    uint64_t *text;    /* [room] the feature as written, in the fast path's form; 0: not known */
    size_t room, n;
    int32_t last; /* the feature before; -1 at first */
    uint64_t n_clamped;
};
/* Parses entries at p, as many as are written plainly (digits, ':', a short decimal, one blank) and
 * fit with room for RW_LETOR_SPAN_ENTRIES more; returns where it stopped: at `end`, or at an entry
 * that is for the careful path, which also finds the words for errors. */
typedef const char *(*rw_letor_fast_fn)(struct rw_letor_entries *entries, const char *p,
                                        const char *end);
/* The i-th fast path that this processor has, the best one first; NULL: there are no more. */
rw_letor_fast_fn rw_letor_fast(int i);

struct rw_text_chunk;
struct rw_text_worker;
void rw_letor_chunk_parse(struct rw_text_chunk *chunk, struct rw_text_worker *worker);
/* The query's id on a document's line, [line, end) without its newline; NULL: it is none, as a
 * comment, or is wrong. Looks at nothing else. */
const char *rw_letor_query_id(const char *line, const char *end, size_t *n);

extern const struct rw_text_kind rw_letor_text;

#endif
