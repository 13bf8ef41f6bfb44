/* JSON from files that nobody vouches for: every look-up says what was expected, and keeps it in
 * the source's status. */
#ifndef RW_CONVERT_JSON_IN_H
#define RW_CONVERT_JSON_IN_H

#include <jansson.h>

#include "convert/convert.h"

/* Where jansson lacks memory it says what it says of text that is not UTF-8, or of a file that ends
 * too soon; or its parser leaves out a byte, and goes on. So who asks it looks: from now on, in
 * this thread, */
void rw_json_watch(void);
/* did it lack any? */
int rw_json_lacked_memory(void);

/* The file's value: an object or an array, owned by the caller (json_decref); NULL after a failure.
 * flags: jansson's. */
json_t *rw_json_load(struct rw_source *source, size_t flags);
/* The same of Universal Binary JSON, as much of it as XGBoost writes and a little more. */
json_t *rw_ubjson_load(struct rw_source *source);

/* Members of an object; `object` may be anything. RW_ERR_FORMAT: not there, or of another type. All
 * that comes out is borrowed. */
json_t *rw_json_object(struct rw_source *source, const json_t *object, const char *name);
/* n < 0: of any length. */
json_t *rw_json_array(struct rw_source *source, const json_t *object, const char *name, int64_t n);
const char *rw_json_text(struct rw_source *source, const json_t *object, const char *name);
int64_t rw_json_integer(struct rw_source *source, const json_t *object, const char *name,
                        int64_t least, int64_t most);
double rw_json_number(struct rw_source *source, const json_t *object, const char *name);
/* A text without a 0 byte; NULL: it is none. */
const char *rw_json_plain(const json_t *value);
/* An element: `name` is the array's, for the message. */
int64_t rw_json_integer_at(struct rw_source *source, const json_t *array, const char *name,
                           size_t i, int64_t least, int64_t most);
double rw_json_number_at(struct rw_source *source, const json_t *array, const char *name, size_t i);
/* Both children of a split: objects of these names. */
void rw_json_children(struct rw_source *source, const json_t *object, const char *left,
                      const char *right, const void *child[2]);
/* A text among `words`, a list that ends in NULL? */
int rw_is_among(const char *text, const char *const *words);

/* The float that a JSON number was written from. jansson gives the nearest double, which may lie
 * just between two floats where the text did not: then it is the one whose shortest decimal that
 * double is. */
float rw_json_float(double value);
#endif
