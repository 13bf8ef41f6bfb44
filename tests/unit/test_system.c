/* The half of base/system.h that Linux does not use: replacements of Linux calls. */
#define RW_NOT_LINUX
#include "base/system.h"

#include <criterion/criterion.h>

Test(system, memory_keeps_its_bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), before = 3 * page, after = 9 * page;
    unsigned char *map = rw_system_map(before, 1);
    cr_assert(map != MAP_FAILED);
    for (size_t i = 0; i < before; i++)
        map[i] = (unsigned char)(i % 251 + 1);
    map = rw_system_remap(map, before, after);
    cr_assert(map != MAP_FAILED);
    for (size_t i = 0; i < after; i++)
        cr_assert_eq(map[i], i < before ? i % 251 + 1 : 0, "byte %zu", i);

    /* A shorter one is where it was, and the pages that it lacks are gone. */
    const size_t wanted = page + 1;
    cr_assert_eq(rw_system_remap(map, after, wanted), map);
    for (size_t i = 0; i < 2 * page; i++)
        cr_assert_eq(map[i], i % 251 + 1, "byte %zu", i);
    for (size_t i = 0; i < 9; i++)
        cr_assert_eq(msync(map + i * page, page, MS_ASYNC) == 0, i < 2, "page %zu", i);
    cr_assert_eq(munmap(map, wanted), 0);
}

Test(system, the_last_of_a_byte)
{
    const char text[] = "\na\nb\xff\nc";
    const size_t n = sizeof(text) - 1;
    cr_assert_eq(rw_system_last(text, '\n', n), text + 5);
    cr_assert_eq(rw_system_last(text, '\n', 5), text + 2);
    cr_assert_eq(rw_system_last(text, '\n', 2), text);
    cr_assert_eq(rw_system_last(text, '\xff', n), text + 4);
    cr_assert_eq(rw_system_last(text, 'c', n), text + n - 1);
    cr_assert_null(rw_system_last(text, 'd', n));
    cr_assert_null(rw_system_last(text, '\n', 0));
}

Test(system, facts_known_on_every_system)
{
    cr_assert_gt(rw_system_peak_bytes(), (size_t)1 << 20);
    cr_assert_eq(rw_system_reserve(STDOUT_FILENO, 0, 1), EOPNOTSUPP);
}
