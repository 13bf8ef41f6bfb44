/* HTML of a report: texts that are shown as text whatever is in them, and figures. */
#ifndef RW_REPORT_HTML_H
#define RW_REPORT_HTML_H

#include <stdint.h>
#include <stdio.h>

/* Any bytes, as text or as an attribute's value between double quotes: what HTML would read is
 * written as references; control characters and what is not UTF-8 become U+FFFD. */
void rw_html_text(FILE *out, const char *text);
/* The same between two pieces of HTML. */
void rw_html_text_in(FILE *out, const char *before, const char *text, const char *after);
/* Names and ids from files: isolated from the direction of the text around them,
 * and a line may end after '_'. */
void rw_html_name(FILE *out, const char *text);
void rw_html_name_in(FILE *out, const char *before, const char *text, const char *after);
/* The same, at most n letters, wide ones counted twice: where there are more, both ends with an
 * ellipsis between them. Returns 1 if the whole name is there. */
int rw_html_name_cut(FILE *out, const char *text, int n);

enum { RW_HTML_ROOM = 40 };
/* As 'eval' prints it: 6 decimals, "-" for no value. */
const char *rw_html_figure(double value, char buffer[RW_HTML_ROOM]);
/* Fewest digits that read back as the same float. */
const char *rw_html_float(float value, char buffer[RW_HTML_ROOM]);
/* "3", or "3–7" where they differ. */
const char *rw_html_range(double least, double most, char buffer[RW_HTML_ROOM]);

/* What ends "1 document", "2 documents": "" or "s". */
const char *rw_html_plural(uint64_t n);

/* A cell of a table, of a figure. */
void rw_html_cell(FILE *out, double value);
void rw_html_count(FILE *out, uint64_t count);
#endif
