/* The feature set of a learning-to-rank plugin: the names by which models there ask for features.
 */
#ifndef RW_CONVERT_FEATURE_SET_H
#define RW_CONVERT_FEATURE_SET_H

#include <jansson.h>

#include "base/ctx.h"

/* Zero-initialise; release in any state. */
struct rw_feature_set {
    const char *path; /* for messages; borrowed */
    json_t *body;     /* the file's value; owned */
    uint32_t n;
    const char **name; /* [n] in the set's order, each once; in `body`; owned */
    json_t *index;     /* name, also as a model's file holds it -> its place; owned */
};
/* A file as the plugin gives it: the answer of GET _ltr/_featureset/NAME, its `_source`, the answer
 * of a search that found it alone, or the body that it was made with. RW_ERR_FORMAT: "PATH: ...".
 */
int rw_feature_set_read(struct rw_ctx *ctx, const char *path, struct rw_feature_set *out);
void rw_feature_set_release(struct rw_feature_set *set);
/* The set's name of a feature that a model calls `name`; NULL: it lacks it. */
const char *rw_feature_set_find(const struct rw_feature_set *set, const char *name);

#endif
