/* Which group each query belongs to, of a file of "QUERY GROUP" lines. */
#ifndef RW_EVALUATE_QUERY_GROUPS_H
#define RW_EVALUATE_QUERY_GROUPS_H

#include "base/ctx.h"

struct rw_dataset;
struct rw_query_groups {
    char **name; /* [n] by name; "-", if queries have none, is last; owned */
    uint32_t n;
    uint32_t *of; /* [n_queries] a query's group; owned */
};
/* A line: a query id, blanks, the group's name up to the end; '#' begins a comment line. Queries
 * that the data has not are passed over; those that no line names are in the group "-". A query
 * named twice, or a line without a group, is RW_ERR_PARSE. */
int rw_query_groups_read(struct rw_ctx *ctx, const struct rw_dataset *dataset, const char *path,
                         struct rw_query_groups *out);
void rw_query_groups_release(struct rw_query_groups *groups);
#endif
