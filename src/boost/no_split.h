/* Why no tree could be split, in words. */
#ifndef RW_BOOST_NO_SPLIT_H
#define RW_BOOST_NO_SPLIT_H

#include "boost/params.h"
#include "tree/engine.h"

/* The likeliest cause and what to change, into `text`. params: of the training, effective; gain:
 * [n_docs], or NULL where the objective has none; info: what the engine made of the data. */
void rw_explain_no_split(const struct rw_params *params, const struct rw_dataset *train,
                         const double *gain, const struct rw_engine_info *info, char *text,
                         size_t size);

#endif
