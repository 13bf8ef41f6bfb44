#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/report.h"

static void shown(const char *text, const char *expected)
{
    char *made;
    size_t n_bytes;
    FILE *out = open_memstream(&made, &n_bytes);
    rw_html(out, "%s", text);
    fclose(out);
    cr_assert_str_eq(made, expected);
    free(made);
}

static void shown_cut(const char *text, int n, const char *expected)
{
    char *made, whole[256];
    size_t n_bytes;
    FILE *out = open_memstream(&made, &n_bytes);
    const int is_whole = rw_html_name_cut(out, text, n);
    fclose(out);
    snprintf(whole, sizeof(whole), "<bdi>%s</bdi>", expected);
    cr_assert_str_eq(made, whole);
    cr_assert_eq(is_whole, strstr(expected, "\xe2\x80\xa6") == NULL);
    free(made);
}

#define BAD "\xef\xbf\xbd"
Test(report_html, escaping)
{
    shown("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;");
    shown("M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x98\x80",
          "M\xc3\xbcller \xe2\x82\xac \xf0\x9f\x98\x80");
    shown("\x01\n\t\x7f\xc2\x85", BAD BAD BAD BAD BAD);
    shown("\xff\xc0\xaf", BAD BAD BAD);         /* never UTF-8; a longer form of '/' */
    shown("\xe2\x82", BAD BAD);                 /* cut in the middle */
    shown("\xed\xa0\x80", BAD BAD BAD);         /* a surrogate */
    shown("\xf4\x90\x80\x80", BAD BAD BAD BAD); /* over U+10FFFF */
    shown("\xc3<b>", BAD "&lt;b&gt;");          /* no '<' is swallowed */
    shown("\xe0\x80\xbc", BAD BAD BAD);         /* '<' in a longer form */
    shown("", "");
}

#define CUT  "\xe2\x80\xa6"
#define WIDE "\xe5\x90\x8d"
Test(report_html, long_names_show_both_ends)
{
    shown_cut("", 3, "");
    shown_cut("abc", 3, "abc");
    shown_cut("abcd", 3, "a" CUT "d");
    shown_cut("abcdefgh", 6, "abc" CUT "gh");
    shown_cut("\xc3\xbc\xc3\xbc\xc3\xbc", 3, "\xc3\xbc\xc3\xbc\xc3\xbc");
    shown_cut("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xb6", 3, "\xc3\xbc" CUT "\xc3\xb6");
    shown_cut(WIDE WIDE, 4, WIDE WIDE);
    shown_cut(WIDE "b" WIDE, 4, WIDE CUT); /* of a wide letter that only half fits, nothing */
    shown_cut(WIDE "bcd" WIDE, 6, WIDE "b" CUT WIDE);
    shown_cut("a_b<c", 9, "a_<wbr>b&lt;c");
    shown_cut("a_b_c_d_e_f", 7, "a_<wbr>b" CUT "e_<wbr>f"); /* no breaks in between */
}

Test(report_html, figures)
{
    char text[RW_HTML_ROOM];
    cr_assert_str_eq(rw_html_figure(0.5, text), "0.500000");
    cr_assert_str_eq(rw_html_figure((double)NAN, text), "-");
    cr_assert_str_eq(rw_html_figure(-12345678901.0, text), "-1.23456789e+10");
    cr_assert_str_eq(rw_html_float(0.1f, text), "0.1");
    cr_assert_str_eq(rw_html_float(-0.0f, text), "0");
    cr_assert_str_eq(rw_html_range(3, 3, text), "3");
    cr_assert_str_eq(rw_html_range(0.5, 7, text), "0.5\xe2\x80\x93"
                                                  "7");
    cr_assert_str_eq(rw_html_range((double)0.37f, (double)0.1f, text), "0.37\xe2\x80\x93"
                                                                       "0.1");
    cr_assert_str_eq(rw_html_range((double)16.777215f, 4294967295.0, text), "16.777214\xe2\x80\x93"
                                                                            "4294967295");
    cr_assert_str_eq(rw_html_plural(1), "");
    cr_assert_str_eq(rw_html_plural(0), "s");
}
