#include "convert/xml_in.h"

#include <expat.h>
#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"

struct parsing {
    struct rw_ctx *ctx;
    const struct rw_source *source;
    XML_Parser parser;
    struct rw_xml *xml;
    uint64_t line;
    int32_t open; /* the innermost element that has not ended; -1: none */
    int status;
};

static void stop(struct parsing *p, int status)
{
    p->status = status;
    XML_StopParser(p->parser, XML_FALSE);
}

static uint64_t line_of(const struct parsing *p)
{
    return p->line - 1 + (uint64_t)XML_GetCurrentLineNumber(p->parser);
}

static int begin_element(struct parsing *p, const char *name, const char **attribute)
{
    struct rw_xml *xml = p->xml;
    if (xml->n == INT32_MAX)
        return rw_refuse(p->ctx, p->source, "too many elements");
    RW_TRY(RW_GROW(p->ctx, xml->element, xml->room, (size_t)xml->n + 1));
    const int32_t at = xml->n++;
    struct rw_xml_element *e = &xml->element[at];
    memset(e, 0, sizeof(*e));
    e->parent = p->open;
    e->child = e->next = e->last = -1;
    e->line = line_of(p);
    if (p->open >= 0) {
        struct rw_xml_element *parent = &xml->element[p->open];
        if (parent->child < 0)
            parent->child = at;
        else
            xml->element[parent->last].next = at;
        parent->last = at;
    }
    p->open = at;
    for (; attribute[0]; attribute += 2) {
        char **to = strcmp(attribute[0], "id") == 0       ? &e->id
                    : strcmp(attribute[0], "weight") == 0 ? &e->weight
                    : strcmp(attribute[0], "pos") == 0    ? &e->pos
                                                          : NULL;
        if (to)
            RW_TRY(rw_mem_copy_text(p->ctx, to, attribute[1]));
    }
    return rw_mem_copy_text(p->ctx, &e->name, name);
}

static void XMLCALL on_begin(void *user, const char *name, const char **attribute)
{
    struct parsing *p = user;
    const int status = p->status < 0 ? p->status : begin_element(p, name, attribute);
    if (status < 0)
        stop(p, status);
}

static void XMLCALL on_end(void *user, const char *name)
{
    struct parsing *p = user;
    (void)name;
    if (p->status == RW_OK)
        p->open = p->xml->element[p->open].parent;
}

static int is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void XMLCALL on_text(void *user, const char *text, int n)
{
    struct parsing *p = user;
    if (p->status < 0 || p->open < 0 || n <= 0)
        return;
    struct rw_xml_element *e = &p->xml->element[p->open];
    while (e->n_text == 0 && n > 0 && is_blank(*text)) {
        text++;
        n--;
    }
    if (n == 0)
        return;
    const int status = RW_GROW(p->ctx, e->text, e->room, e->n_text + (size_t)n + 1);
    if (status < 0) {
        stop(p, status);
        return;
    }
    memcpy(e->text + e->n_text, text, (size_t)n);
    e->n_text += (size_t)n;
}

static void XMLCALL on_doctype(void *user, const char *name, const char *system_id,
                               const char *public_id, int has_subset)
{
    struct parsing *p = user;
    (void)name;
    (void)system_id;
    (void)public_id;
    (void)has_subset;
    if (p->status == RW_OK)
        stop(p, rw_refuse(p->ctx, p->source, "line %llu: a DOCTYPE, which no model has",
                          (unsigned long long)line_of(p)));
}

static int run(struct parsing *p, const char *text, size_t n)
{
    enum { PIECE = 1 << 20 };
    enum XML_Status told = XML_STATUS_OK;
    for (size_t at = 0; told == XML_STATUS_OK;) {
        const size_t piece = n - at < PIECE ? n - at : PIECE;
        told = XML_Parse(p->parser, text + at, (int)piece, at + piece == n);
        at += piece;
        if (at == n)
            break;
    }
    if (p->status < 0 || told == XML_STATUS_OK)
        return p->status;
    if (XML_GetErrorCode(p->parser) == XML_ERROR_NO_MEMORY)
        return rw_fail(p->ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", p->source->path);
    return rw_refuse(p->ctx, p->source, "not XML: line %llu, column %llu: %s",
                     (unsigned long long)line_of(p),
                     (unsigned long long)XML_GetCurrentColumnNumber(p->parser) + 1,
                     XML_ErrorString(XML_GetErrorCode(p->parser)));
}

int rw_xml_parse(struct rw_ctx *ctx, const struct rw_source *source, const char *text, size_t n,
                 uint64_t line, struct rw_xml *out)
{
    struct parsing p = {.ctx = ctx, .source = source, .xml = out, .line = line, .open = -1};
    memset(out, 0, sizeof(*out));
    p.parser = XML_ParserCreate(NULL);
    if (!p.parser)
        return rw_fail(ctx, RW_ERR_MEMORY, "out of memory: reading '%s'", source->path);
    XML_SetUserData(p.parser, &p);
    XML_SetElementHandler(p.parser, on_begin, on_end);
    XML_SetCharacterDataHandler(p.parser, on_text);
    XML_SetStartDoctypeDeclHandler(p.parser, on_doctype);
    const int status = run(&p, text, n);
    XML_ParserFree(p.parser);
    for (int32_t i = 0; i < out->n && status == RW_OK; i++) {
        struct rw_xml_element *e = &out->element[i];
        while (e->n_text > 0 && is_blank(e->text[e->n_text - 1]))
            e->n_text--;
        if (e->text)
            e->text[e->n_text] = 0;
    }
    if (status < 0)
        rw_xml_release(out);
    return status;
}

void rw_xml_release(struct rw_xml *xml)
{
    for (int32_t i = 0; i < xml->n; i++) {
        rw_mem_free(xml->element[i].name);
        rw_mem_free(xml->element[i].text);
        rw_mem_free(xml->element[i].id);
        rw_mem_free(xml->element[i].weight);
        rw_mem_free(xml->element[i].pos);
    }
    rw_mem_free(xml->element);
    memset(xml, 0, sizeof(*xml));
}

int32_t rw_xml_child(const struct rw_xml *xml, int32_t element, const char *name)
{
    int32_t at = xml->element[element].child;
    while (at >= 0 && strcmp(xml->element[at].name, name) != 0)
        at = xml->element[at].next;
    return at;
}

int rw_xml_number(struct rw_ctx *ctx, const struct rw_source *source,
                  const struct rw_xml_element *element, const char *text, double *out)
{
    int clamped = 0;
    const char *end = text ? text + strlen(text) : NULL;
    const char *stop_at = text ? rw_number_parse_double(text, end, out, &clamped) : NULL;
    if (!stop_at || stop_at != end || clamped)
        return rw_refuse(ctx, source, "line %llu: <%s>: expected a number, found '%.40s'",
                         (unsigned long long)element->line, element->name, text ? text : "");
    return RW_OK;
}
