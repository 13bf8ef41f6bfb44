#include "cli/trec.h"

#include <stdlib.h>
#include <string.h>

#include "cli/load.h"

struct rw_trec_doc {
    double score;
    size_t place; /* in the query, from 0 */
    char *id;     /* owned */
};

/* Falling score, then the order of the input. */
static int by_rank(const void *a, const void *b)
{
    const struct rw_trec_doc *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

void rw_trec_finish(struct rw_trec *trec)
{
    char figure[RW_FIGURE_ROOM];
    if (trec->n > 0)
        qsort(trec->doc, trec->n, sizeof(*trec->doc), by_rank);
    for (size_t i = 0; i < trec->n; i++) {
        rw_load_exact(trec->doc[i].score, figure);
        fprintf(trec->file, "%s Q0 %s %zu %s rankwood\n", trec->query, trec->doc[i].id, i + 1,
                figure);
        free(trec->doc[i].id);
    }
    trec->n = 0;
}

int rw_trec_add(struct rw_trec *trec, const struct rw_dataset *piece, uint32_t query, uint32_t doc,
                double score)
{
    const char *query_id = rw_dataset_query_id(piece, query);
    char id[512];
    if (!trec->query || strcmp(trec->query, query_id) != 0) {
        rw_trec_finish(trec);
        free(trec->query);
        trec->query = strdup(query_id);
        if (!trec->query)
            return -1;
    }
    if (trec->n == trec->room) {
        const size_t room = trec->room ? trec->room * 2 : 256;
        struct rw_trec_doc *grown = realloc(trec->doc, room * sizeof(*grown));
        if (!grown)
            return -1;
        trec->doc = grown;
        trec->room = room;
    }
    struct rw_trec_doc *next = &trec->doc[trec->n];
    *next = (struct rw_trec_doc){.score = score, .place = trec->n};
    rw_dataset_doc_id(piece, doc, id, sizeof(id));
    if (*id)
        next->id = strdup(id);
    else if (asprintf(&next->id, "%s-%zu", query_id, trec->n + 1) < 0)
        next->id = NULL;
    if (!next->id)
        return -1;
    trec->n++;
    return 0;
}

void rw_trec_release(struct rw_trec *trec)
{
    for (size_t i = 0; i < trec->n; i++)
        free(trec->doc[i].id);
    free(trec->doc);
    free(trec->query);
    memset(trec, 0, sizeof(*trec));
}
