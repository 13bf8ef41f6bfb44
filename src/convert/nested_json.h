/* JSON in which a tree's nodes stand inside one another. */
#ifndef RW_CONVERT_NESTED_JSON_H
#define RW_CONVERT_NESTED_JSON_H

#include "convert/json_in.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_nested {
    /* What stands before the first child, between the two, and after the second; a leaf is put
     * whole by `begin`. number: of the node, in the order of the walk. */
    void (*begin)(struct rw_put *put, const struct rw_ensemble *ensemble,
                  const struct rw_ens_node *node, int32_t number, int32_t depth,
                  const int32_t child[2]);
    void (*middle)(struct rw_put *put);
    void (*end)(struct rw_put *put);
    int32_t deepest; /* levels below the root that the readers' JSON parsers take */
};

/* A tree, left first. RW_ERR_UNSUPPORTED: deeper than `deepest`. */
int rw_nested_write(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, int32_t tree,
                    const struct rw_nested *how, struct rw_put *put);

/* Reads a node: `node` is zeroed but for children of -1; child: both NULL for a leaf. */
typedef int (*rw_nested_node_fn)(struct rw_ctx *ctx, const struct rw_source *source,
                                 const json_t *from, struct rw_ens_node *node,
                                 const json_t *child[2]);
int rw_nested_parse(struct rw_ctx *ctx, const struct rw_source *source, const json_t *root,
                    rw_nested_node_fn read, struct rw_ensemble *out);

#ifdef __cplusplus
}
#endif
#endif
