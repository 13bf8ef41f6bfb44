/* LightGBM's text model (version 4; 2 and 3 are read too). A header of key=value lines, then a
 * block a tree, then "end of trees". Doubles, `value <= threshold` left; decision_type: bit 0
 * categorical, bit 1 missing goes left, bits 2 and 3 what is missing: nothing (NaN is read as 0),
 * zero, or NaN. Child c < 0 is leaf ~c. Leaves include shrinkage. Of a row, values within 1e-35 of
 * 0 are dropped before it is scored, which makes them 0.
 *
 * A categorical split's threshold is an index k: numbers cat_boundaries[k] to cat_boundaries[k + 1]
 * of cat_threshold are 32 bits each, one for each category from 0 on; those that are set go left,
 * all else, missing values too, right. The last line, pandas_categorical, has lists of words, one
 * for each categorical column of a data frame: categories are indexes of them, and a word that is
 * not there is missing. */
#ifndef RW_CONVERT_LIGHTGBM_TEXT_H
#define RW_CONVERT_LIGHTGBM_TEXT_H

#include "convert/convert.h"

/* Bits of decision_type. */
enum {
    RW_LGB_CATEGORICAL = 1,
    RW_LGB_DEFAULT_LEFT = 2,
    RW_LGB_MISSING_ZERO = 4,
    RW_LGB_MISSING_NAN = 8
};

/* lightgbm_read.c: a format's `parse`. */
int rw_lightgbm_parse(struct rw_source *source, struct rw_ensemble *out);
#endif
