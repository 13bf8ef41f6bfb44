#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/sha256.h"

static void is(const char *text, size_t n, const char *expected)
{
    char hex[RW_SHA256_HEX];
    rw_sha256(text, n, hex);
    cr_assert_str_eq(hex, expected, "%zu bytes", n);
}

/* The examples of FIPS 180-4, and the longest one of NIST's page: a million times "a". */
Test(sha256, examples)
{
    is("", 0, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    is("abc", 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    is("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56,
       "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    char *many = malloc(1000000);
    memset(many, 'a', 1000000);
    is(many, 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(many);
}

/* What sha256sum prints of so many letters "x": lengths about the ends of blocks. */
Test(sha256, lengths_about_a_block)
{
    static const struct {
        size_t n;
        const char *hex;
    } rows[] = {
        {55, "d5e285683cd4efc02d021a5c62014694958901005d6f71e89e0989fac77e4072"},
        {56, "04c26261370ee7541549d16dee320c723e3fd14671e66a099afe0a377c16888e"},
        {63, "75220b47218278e656f2013bb8f0c455a25eaf01e86c64924e9d48d89776d6f2"},
        {64, "7ce100971f64e7001e8fe5a51973ecdfe1ced42befe7ee8d5fd6219506b5393c"},
        {65, "9537c5fdf120482f7d58d25e9ed583f52c02b4e304ea814db1633ad565aed7e9"},
        {119, "000b48d4edf0fa7bee3c6236ecd2785baa5db4eeb8bb54341b029e0d9fa5fb0c"},
        {120, "13f05a0b594787f5ecd315edc96141bd3243203d1b7d4f0836f37308b276ba98"},
        {128, "24da1b81d0b16df6428eee73c69fcb2a93c76bc6df706f0c6670fe6bfe800464"},
    };
    char text[200];
    memset(text, 'x', sizeof(text));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        is(text, rows[i].n, rows[i].hex);
}
