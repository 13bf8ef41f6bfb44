/* Names of features: a table's header has them, and so may a model. */
#ifndef RW_DATASET_NAMES_H
#define RW_DATASET_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "base/ctx.h"

struct rw_feature_name {
    uint32_t feature;
    char *name; /* owned */
};
enum { RW_FEATURE_TEXT = 160 };
/* What messages call a feature: "feature 'title'", or "feature 7" where it has no name. */
const char *rw_feature_text(const struct rw_feature_name *names, int32_t n, uint32_t feature,
                            char text[RW_FEATURE_TEXT]);
void rw_names_free(struct rw_feature_name *names, int32_t n);
/* *out: NULL after a failure, and if there are none. */
int rw_names_copy(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                  struct rw_feature_name **out);
int rw_names_are_same(const struct rw_feature_name *a, int32_t n_a, const struct rw_feature_name *b,
                      int32_t n_b);

/* A name as a model's file can hold it: '_' for each blank, control character and comma, and before
 * what could be an id or a range. *out: the caller's. */
int rw_name_for_model(struct rw_ctx *ctx, const char *name, char **out);
/* A copy with such names. RW_ERR_DATA: two have become equal. */
int rw_names_for_model(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                       struct rw_feature_name **out);

/* Lists of features, "3-7,url_length", as parameters and options take them. */
/* A feature id at the start of `text`; -1 if there is none in range. */
long rw_parse_id(const char *text, const char **end);
/* Features that an item of a list says: a name, an id or a range of ids. The same, but for what it
 * is called in messages, for all parameters that take such lists. */
int rw_list_item(struct rw_ctx *ctx, const char *parameter, const char *item, size_t length,
                 const struct rw_feature_name *names, int32_t n_names, long *first, long *last);
/* From an item to the next one; *list ends at the end of the text. */
int rw_list_next(struct rw_ctx *ctx, const char *parameter, size_t length, const char **list);
/* A list of nothing but such items. marked: [RW_FEATURE_IDS], written: 1 where the list has the
 * feature. */
int rw_list_parse(struct rw_ctx *ctx, const char *parameter, const char *list,
                  const struct rw_feature_name *names, int32_t n_names, uint8_t *marked);
/* How many features such a list names at most: all ids of a range count. */
uint32_t rw_list_count(const char *list);

#endif
