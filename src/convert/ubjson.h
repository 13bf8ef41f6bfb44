/* Universal Binary JSON, as much of it as XGBoost writes and a little more, read as JSON. */
#ifndef RW_CONVERT_UBJSON_H
#define RW_CONVERT_UBJSON_H

#include "convert/json_in.h"

#ifdef __cplusplus
extern "C" {
#endif

/* *out is owned by the caller (json_decref). */
int rw_ubjson_load(struct rw_ctx *ctx, const struct rw_source *source, json_t **out);

#ifdef __cplusplus
}
#endif
#endif
