/* JSON from files that nobody vouches for: every look-up says what was expected. */
#ifndef RW_CONVERT_JSON_IN_H
#define RW_CONVERT_JSON_IN_H

#include <jansson.h>

#include "convert/convert.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The file's value: an object or an array. *out is owned by the caller (json_decref). */
int rw_json_load(struct rw_ctx *ctx, const struct rw_source *source, json_t **out);
/* Whole numbers come as reals, and so may be larger than 64 bits hold. */
int rw_json_load_reals(struct rw_ctx *ctx, const struct rw_source *source, json_t **out);

/* Members of an object; `object` may be anything. RW_ERR_FORMAT: not there, or of another type. All
 * that comes out is borrowed. */
int rw_json_object(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                   const char *name, json_t **out);
/* n < 0: of any length. */
int rw_json_array(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                  const char *name, int64_t n, json_t **out);
int rw_json_text(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                 const char *name, const char **out);
int rw_json_integer(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                    const char *name, int64_t least, int64_t most, int64_t *out);
int rw_json_number(struct rw_ctx *ctx, const struct rw_source *source, const json_t *object,
                   const char *name, double *out);
/* An element: `name` is the array's, for the message. */
int rw_json_integer_at(struct rw_ctx *ctx, const struct rw_source *source, const json_t *array,
                       const char *name, size_t i, int64_t least, int64_t most, int64_t *out);
int rw_json_number_at(struct rw_ctx *ctx, const struct rw_source *source, const json_t *array,
                      const char *name, size_t i, double *out);

/* The float that a JSON number was written from. jansson gives the nearest double, which may lie
 * just between two floats where the text did not: then it is the one whose shortest decimal that
 * double is. */
float rw_json_float(double value);

#ifdef __cplusplus
}
#endif
#endif
