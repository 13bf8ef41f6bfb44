/* Characters of UTF-8, for texts that people see. */
#ifndef RW_BASE_UTF8_H
#define RW_BASE_UTF8_H

/* Bytes of the well-formed UTF-8 character that `c` begins with (RFC 3629: shortest form, no
 * surrogates, up to U+10FFFF); 0: none. */
static inline int rw_utf8_bytes(const unsigned char *c)
{
    if (c[0] < 0x80)
        return 1;
    const int n = c[0] >= 0xf0 ? 4 : c[0] >= 0xe0 ? 3 : 2;
    if (c[0] < 0xc2 || c[0] > 0xf4)
        return 0;
    for (int i = 1; i < n; i++) { /* the 0 at the end is no such byte */
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    }
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
        (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return n;
}

/* Control characters, of which some move a terminal's cursor. */
static inline int rw_utf8_is_control(const unsigned char *c)
{
    return c[0] < 32 || c[0] == 127 || (c[0] == 0xc2 && c[1] < 0xa0);
}

#endif
