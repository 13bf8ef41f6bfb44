#ifndef RW_CONVERT_CATBOOST_NUMBER_H
#define RW_CONVERT_CATBOOST_NUMBER_H

#include "convert/convert.h"

/* A decimal that CatBoost's reader takes for the same double, as does any other; the shortest if
 * there is none. Finite. */
void rw_catboost_put_double(struct rw_put *put, double value);
#endif
