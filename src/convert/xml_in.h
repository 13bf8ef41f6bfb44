/* XML as a list of elements in the order in which they begin. Read by expat; a DOCTYPE, and with it
 * every entity of the file's own, is refused. */
#ifndef RW_CONVERT_XML_IN_H
#define RW_CONVERT_XML_IN_H

#include "convert/convert.h"

#ifdef __cplusplus
extern "C" {
#endif

struct rw_xml_element {
    char *name; /* owned */
    char *text; /* its own, without its children's and without blanks around it; owned */
    char *id;   /* attributes: NULL if not there; owned */
    char *weight, *pos;
    int32_t parent; /* -1: the root, which is element 0 */
    int32_t child;  /* its first; -1: none */
    int32_t next;   /* the next of its parent; -1: none */
    int32_t last;   /* its last child so far */
    uint64_t line;  /* where it begins, from 1 */
    size_t n_text, room;
};
struct rw_xml {
    int32_t n;
    struct rw_xml_element *element; /* [n] owned */
    size_t room;
};

/* Parses text, [n], whose first line is the file's line `line`. Released in any state. */
int rw_xml_parse(struct rw_ctx *ctx, const struct rw_source *source, const char *text, size_t n,
                 uint64_t line, struct rw_xml *out);
void rw_xml_release(struct rw_xml *xml);
/* The first child of that name; -1: none. */
int32_t rw_xml_child(const struct rw_xml *xml, int32_t element, const char *name);
/* A text that is one number; RW_ERR_FORMAT with the line. */
int rw_xml_number(struct rw_ctx *ctx, const struct rw_source *source,
                  const struct rw_xml_element *element, const char *text, double *out);

#ifdef __cplusplus
}
#endif
#endif
