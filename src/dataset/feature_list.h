/* Lists of features, "3-7,url_length", as parameters and options take them. */
#ifndef RW_DATASET_FEATURE_LIST_H
#define RW_DATASET_FEATURE_LIST_H

#include <stddef.h>

#include "dataset/names.h"

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
