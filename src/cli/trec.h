/* A TREC run: "qid Q0 docid rank score tag" lines, each query by falling score. */
#ifndef RW_CLI_TREC_H
#define RW_CLI_TREC_H

#include "rankwood.h"

struct rw_trec_doc;
/* The documents of the query that is being read. Zero-initialise. */
struct rw_trec {
    FILE *file;              /* borrowed */
    char *query;             /* id; owned; NULL: none yet */
    struct rw_trec_doc *doc; /* [n] owned */
    size_t n, room;
};

/* Adds a document after those before it; a new query writes out the one before. */
void rw_trec_add(struct rw_trec *trec, const struct rw_dataset *piece, uint32_t query, uint32_t doc,
                 double score);
/* Writes the last query. */
void rw_trec_finish(struct rw_trec *trec);

#endif
