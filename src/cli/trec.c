#include "cli/trec.h"

#include <stdlib.h>
#include <string.h>

#include "cli/load.h"
#include "cli/messages.h"

struct rw_trec_doc {
    double score;
    size_t position; /* in the query, from 0 */
    char *id;        /* owned */
};

/* Falling score, then the order of the input. */
static int by_rank(const void *a, const void *b)
{
    const struct rw_trec_doc *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->position < y->position ? -1 : x->position > y->position;
}

void rw_trec_finish(struct rw_trec *trec)
{
    char figure[RW_FIGURE_ROOM];
    if (trec->n > 0)
        qsort(trec->doc, trec->n, sizeof(*trec->doc), by_rank);
    for (size_t i = 0; i < trec->n; i++) {
        rw_exact_text(trec->doc[i].score, figure);
        fprintf(trec->file, "%s Q0 %s %zu %s rankwood\n", trec->query, trec->doc[i].id, i + 1,
                figure);
        free(trec->doc[i].id);
    }
    trec->n = 0;
}

static char *copy_of(const char *text)
{
    return strcpy(rw_need(strlen(text), 1), text);
}

void rw_trec_add(struct rw_trec *trec, const struct rw_dataset *piece, uint32_t query, uint32_t doc,
                 double score)
{
    const char *query_id = rw_dataset_query_id(piece, query);
    char id[512];
    if (!trec->query || strcmp(trec->query, query_id) != 0) {
        rw_trec_finish(trec);
        free(trec->query);
        trec->query = copy_of(query_id);
    }
    if (trec->n == trec->room) {
        trec->room = trec->room ? trec->room * 2 : 256;
        trec->doc = realloc(trec->doc, trec->room * sizeof(*trec->doc));
        if (!trec->doc)
            rw_no_memory();
    }
    struct rw_trec_doc *next = &trec->doc[trec->n];
    *next = (struct rw_trec_doc){.score = score, .position = trec->n};
    rw_dataset_doc_id(piece, doc, id, sizeof(id));
    if (*id)
        next->id = copy_of(id);
    else if (asprintf(&next->id, "%s-%zu", query_id, trec->n + 1) < 0)
        rw_no_memory();
    trec->n++;
}
