/* XML as a list of elements in the order in which they begin. Read by expat; a DOCTYPE, and with it
 * every entity of the file's own, is refused. */
#ifndef RW_CONVERT_XML_IN_H
#define RW_CONVERT_XML_IN_H

#include "convert/convert.h"

struct rw_xml_element {
    size_t name, text;           /* offsets into `bytes`; text 0: none */
    int32_t parent, child, next; /* its first child, the next of its parent; -1: none */
    int32_t last;                /* its last child */
    int32_t kind;                /* for who reads it; 0 */
    uint64_t line;               /* where it begins, from 1 */
};
struct rw_xml {
    int32_t n;
    struct rw_xml_element *element; /* [n] owned; the root is the first */
    char *bytes; /* [n_bytes] owned; of an element: its name, each attribute and its value, "" */
    size_t room, n_bytes, bytes_room;
};

/* Parses text, [n], whose first line is the file's line `line`. Released in any state. Returns
 * source->status. */
int rw_xml_parse(struct rw_source *source, const char *text, size_t n, uint64_t line,
                 struct rw_xml *out);
void rw_xml_release(struct rw_xml *xml);
/* NULL: there is none at the index. */
const struct rw_xml_element *rw_xml_at(const struct rw_xml *xml, int32_t index);
const char *rw_xml_name(const struct rw_xml *xml, const struct rw_xml_element *element);
/* Without blanks around it; "" if it has none, or elements inside. */
const char *rw_xml_text(const struct rw_xml *xml, const struct rw_xml_element *element);
/* NULL: it does not have it. */
const char *rw_xml_attribute(const struct rw_xml *xml, const struct rw_xml_element *element,
                             const char *name);
/* The first child of that name; NULL: none, also of NULL. */
const struct rw_xml_element *rw_xml_child(const struct rw_xml *xml,
                                          const struct rw_xml_element *element, const char *name);
#endif
