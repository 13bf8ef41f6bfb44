/* Universal Binary JSON, as much of it as XGBoost writes and a little more, read as JSON. */
#ifndef RW_CONVERT_UBJSON_H
#define RW_CONVERT_UBJSON_H

#include "convert/json_in.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Owned by the caller (json_decref); NULL after a failure. */
json_t *rw_ubjson_load(struct rw_source *source);

#ifdef __cplusplus
}
#endif
#endif
