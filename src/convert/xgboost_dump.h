/* XGBoost's JSON dump, alone in a file or a text inside another. (to_xgboost_dump.c) */
#ifndef RW_CONVERT_XGBOOST_DUMP_H
#define RW_CONVERT_XGBOOST_DUMP_H

#include "convert/convert.h"

/* Returns put->status. */
int rw_xgboost_dump_put(const struct rw_ensemble *ensemble, struct rw_put *put);
/* Features by source->names. Returns source->status. */
int rw_xgboost_dump_parse(struct rw_source *source, struct rw_ensemble *out);

#endif
