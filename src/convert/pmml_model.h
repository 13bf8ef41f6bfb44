/* What the writer and the reader of PMML share. */
#ifndef RW_CONVERT_PMML_MODEL_H
#define RW_CONVERT_PMML_MODEL_H

#include "convert/convert.h"

#ifdef __cplusplus
extern "C" {
#endif

#define RW_PMML_NAMESPACE "http://www.dmg.org/PMML-4_4"

/* The `parse` of struct rw_model_format. */
int rw_pmml_parse(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out);

#ifdef __cplusplus
}
#endif
#endif
