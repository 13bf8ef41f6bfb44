#include "convert/xml_in.h"

#include <expat.h>
#include <string.h>

#include "base/mem.h"

struct parsing {
    struct rw_source *source;
    XML_Parser parser;
    struct rw_xml *xml;
    uint64_t line;
    int32_t open; /* the innermost element that has not ended; -1: none */
    int in_text;  /* the last bytes are its text, which may go on */
};

static uint64_t line_of(const struct parsing *p)
{
    return p->line - 1 + (uint64_t)XML_GetCurrentLineNumber(p->parser);
}

static void add_bytes(struct parsing *p, const char *bytes, size_t n)
{
    struct rw_xml *xml = p->xml;
    if (rw_keep(p->source, RW_GROW(p->source->ctx, xml->bytes, xml->bytes_room, xml->n_bytes + n)))
        return;
    memcpy(xml->bytes + xml->n_bytes, bytes, n);
    xml->n_bytes += n;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void end_text(struct parsing *p)
{
    struct rw_xml *xml = p->xml;
    while (p->in_text && is_blank(xml->bytes[xml->n_bytes - 1]))
        xml->n_bytes--;
    if (p->in_text)
        add_bytes(p, "", 1);
    p->in_text = 0;
}

static void XMLCALL on_begin(void *user, const char *name, const char **attribute)
{
    struct parsing *p = user;
    struct rw_xml *xml = p->xml;
    end_text(p);
    if (xml->n == INT32_MAX)
        rw_refuse(p->source, "too many elements");
    if (p->source->status < 0 || rw_keep(p->source, RW_GROW(p->source->ctx, xml->element, xml->room,
                                                            (size_t)xml->n + 1)) < 0) {
        XML_StopParser(p->parser, XML_FALSE);
        return;
    }
    const int32_t at = xml->n++;
    struct rw_xml_element *parent = p->open >= 0 ? &xml->element[p->open] : NULL;
    xml->element[at] = (struct rw_xml_element){.name = xml->n_bytes,
                                               .parent = p->open,
                                               .child = -1,
                                               .next = -1,
                                               .last = -1,
                                               .line = line_of(p)};
    if (parent && parent->child < 0)
        parent->child = at;
    else if (parent)
        xml->element[parent->last].next = at;
    if (parent)
        parent->last = at;
    p->open = at;
    add_bytes(p, name, strlen(name) + 1);
    for (; *attribute; attribute++)
        add_bytes(p, *attribute, strlen(*attribute) + 1);
    add_bytes(p, "", 1);
}

static void XMLCALL on_end(void *user, const char *name)
{
    struct parsing *p = user;
    (void)name;
    end_text(p);
    if (p->source->status == RW_OK)
        p->open = p->xml->element[p->open].parent;
}

static void XMLCALL on_text(void *user, const char *text, int n)
{
    struct parsing *p = user;
    struct rw_xml_element *e = p->open >= 0 ? &p->xml->element[p->open] : NULL;
    if (p->source->status < 0 || !e || e->child >= 0)
        return;
    while (!p->in_text && n > 0 && is_blank(*text)) {
        text++;
        n--;
    }
    if (n <= 0)
        return;
    if (!p->in_text)
        e->text = p->xml->n_bytes;
    p->in_text = 1;
    add_bytes(p, text, (size_t)n);
}

static void XMLCALL on_doctype(void *user, const char *name, const char *system_id,
                               const char *public_id, int has_subset)
{
    struct parsing *p = user;
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    rw_refuse_line(p->source, line_of(p), "a DOCTYPE, which no model has");
    XML_StopParser(p->parser, XML_FALSE);
}

static void run(struct parsing *p, const char *text, size_t n)
{
    enum { PIECE = 1 << 20 };
    enum XML_Status status = XML_STATUS_OK;
    for (size_t at = 0, is_last = 0; status == XML_STATUS_OK && !is_last; at += PIECE) {
        is_last = n - at <= PIECE;
        status = XML_Parse(p->parser, text + at, is_last ? (int)(n - at) : PIECE, (int)is_last);
    }
    if (status != XML_STATUS_OK && XML_GetErrorCode(p->parser) == XML_ERROR_NO_MEMORY)
        rw_source_no_memory(p->source);
    else if (status != XML_STATUS_OK)
        rw_refuse(p->source, "not XML: line %llu, column %llu: %s", (unsigned long long)line_of(p),
                  (unsigned long long)XML_GetCurrentColumnNumber(p->parser) + 1,
                  XML_ErrorString(XML_GetErrorCode(p->parser)));
}

int rw_xml_parse(struct rw_source *source, const char *text, size_t n, uint64_t line,
                 struct rw_xml *out)
{
    struct parsing p = {.source = source, .xml = out, .line = line, .open = -1};
    memset(out, 0, sizeof(*out));
    p.parser = XML_ParserCreate(NULL);
    if (!p.parser)
        return rw_source_no_memory(source);
    XML_SetUserData(p.parser, &p);
    XML_SetElementHandler(p.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(p.parser, on_text);
    XML_SetStartDoctypeDeclHandler(p.parser, on_doctype);
    run(&p, text, n);
    XML_ParserFree(p.parser);
    return source->status;
}

void rw_xml_release(struct rw_xml *xml)
{
    rw_mem_free(xml->element);
    rw_mem_free(xml->bytes);
    memset(xml, 0, sizeof(*xml));
}

const struct rw_xml_element *rw_xml_at(const struct rw_xml *xml, int32_t index)
{
    return index < 0 ? NULL : &xml->element[index];
}

const char *rw_xml_name(const struct rw_xml *xml, const struct rw_xml_element *element)
{
    return xml->bytes + element->name;
}

const char *rw_xml_text(const struct rw_xml *xml, const struct rw_xml_element *element)
{
    return element->text && element->child < 0 ? xml->bytes + element->text : "";
}

const char *rw_xml_attribute(const struct rw_xml *xml, const struct rw_xml_element *element,
                             const char *name)
{
    const char *at = rw_xml_name(xml, element);
    for (at += strlen(at) + 1; *at; at += strlen(at) + 1) {
        const char *value = at + strlen(at) + 1;
        if (strcmp(at, name) == 0)
            return value;
        at = value;
    }
    return NULL;
}

const struct rw_xml_element *rw_xml_child(const struct rw_xml *xml,
                                          const struct rw_xml_element *element, const char *name)
{
    const struct rw_xml_element *at = element ? rw_xml_at(xml, element->child) : NULL;
    while (at && strcmp(rw_xml_name(xml, at), name) != 0)
        at = rw_xml_at(xml, at->next);
    return at;
}
