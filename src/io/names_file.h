/* Files of feature names. */
#ifndef RW_IO_NAMES_FILE_H
#define RW_IO_NAMES_FILE_H

#include "dataset/names.h"

/* Lines "ID NAME", '#' comments; by ascending id in *out, owned by the caller (rw_names_free). */
int rw_names_read(struct rw_ctx *ctx, const char *path, struct rw_feature_name **out, int32_t *n);

#endif
