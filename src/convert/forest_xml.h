/* The trees that RankLib and QuickRank share: <ensemble><tree id weight><split>... */
#ifndef RW_CONVERT_FOREST_XML_H
#define RW_CONVERT_FOREST_XML_H

#include "convert/xml_in.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Adds the trees of an <ensemble> element. */
int rw_forest_parse(struct rw_ctx *ctx, const struct rw_source *source, const struct rw_xml *xml,
                    int32_t ensemble_element, struct rw_ensemble *out);
/* Writes <ensemble> ... </ensemble>; lines begin with `indent`. Nodes stand in the order of a walk,
 * left first; every tag on a line of its own, since RankLib counts the blanks between tags of a
 * line as children. */
int rw_forest_write(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, const char *indent,
                    struct rw_put *put);

#ifdef __cplusplus
}
#endif
#endif
