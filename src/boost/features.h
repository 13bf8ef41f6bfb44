/* --names, --ignore, --monotone and --categorical: what features are called, which are left out,
 * along which scores only rise or only fall, and whose values are categories. */
#ifndef RW_BOOST_FEATURES_H
#define RW_BOOST_FEATURES_H

#include "io/names_file.h"
#include "model/model.h"

/* Those of the file `path`; "": the training set's own, if it has some, as a model can have them.
 */
int rw_names_take(struct rw_ctx *ctx, const char *path, const struct rw_dataset *train,
                  struct rw_feature_name **out, int32_t *n);
/* Warns if the training set has none of the features to leave out. ignore: [RW_FEATURE_IDS];
 * feature: [n_features] the training set's, ascending. */
void rw_ignore_warn(struct rw_ctx *ctx, const uint8_t *ignore, const uint32_t *feature,
                    uint32_t n_features);
/* Warns of names of features that the training set lacks: there may be a slip in the file. */
void rw_names_warn(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                   const uint32_t *feature, uint32_t n_features);

/* list: ids, ranges of ids "3-7" and names, with commas; ignore: [RW_FEATURE_IDS], 1 where left
 * out. */
int rw_ignore_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                    int32_t n_names, uint8_t *ignore);
/* The ids of such a list as a list of ids and ranges: the same text for the same set. *out is owned
 * by the caller. */
int rw_ignore_text(struct rw_ctx *ctx, const uint8_t *ignore, char **out);

/* The same for items with :+ or :- behind them. direction: [RW_FEATURE_IDS], written: 1, -1, or 0
 * where there is none. A feature that comes twice is an error. */
int rw_monotone_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                      int32_t n_names, int8_t *direction);
/* Of a list that could be parsed: does training use what each item names, of a range at least one?
 * ignore: what it leaves out; NULL: nothing. feature: [n_features] the training set's, ascending.
 */
int rw_monotone_check(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                      int32_t n_names, const uint8_t *ignore, const uint32_t *feature,
                      uint32_t n_features);
int rw_categorical_check(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                         int32_t n_names, const uint8_t *ignore, const uint32_t *feature,
                         uint32_t n_features);
int rw_monotone_text(struct rw_ctx *ctx, const int8_t *direction, char **out);

#endif
