#include <criterion/criterion.h>

#include "tree/engine.h"

/* Sum of the placed bytes. */
static uint64_t placed(const struct rw_code_place *place, int n)
{
    uint64_t bytes = 0;
    for (int i = 0; i < n; i++)
        bytes += (uint64_t)place[i].n_here * place[i].doc_bytes;
    return bytes;
}

Test(placement, narrow_blocks_first)
{
    struct rw_code_place place[3] = {{128, 0}, {8, 0}, {128, 0}};
    cr_assert_eq(rw_place_codes(place, 3, 1000, 0), 0);
    cr_assert_eq(place[0].n_here + place[1].n_here + place[2].n_here, 0);
    cr_assert_eq(rw_place_codes(place, 3, 1000, 7999), 7992);
    cr_assert_eq(place[1].n_here, 999);
    cr_assert_eq(place[0].n_here, 0);
    cr_assert_eq(rw_place_codes(place, 3, 1000, 8000 + 128 * 1500 + 100), 8000 + 128 * 1500);
    cr_assert_eq(place[1].n_here, 1000);
    cr_assert_eq(place[0].n_here, 1000);
    cr_assert_eq(place[2].n_here, 500);
    cr_assert_eq(rw_place_codes(place, 3, 1000, UINT64_MAX), 264000);
    cr_assert_eq(place[2].n_here, 1000);
}

/* Never more than there is, never less with more, and no room is left that would hold a document.
 */
Test(placement, every_size)
{
    uint64_t before = 0;
    for (uint64_t bytes = 0; bytes < 3000; bytes++) {
        struct rw_code_place place[4] = {{16, 9}, {4, 9}, {16, 9}, {1, 9}};
        const uint64_t used = rw_place_codes(place, 4, 70, bytes);
        cr_assert_eq(used, placed(place, 4));
        cr_assert_leq(used, bytes);
        cr_assert_geq(used, before);
        cr_assert(bytes - used < 16 || used == 70 * 37);
        before = used;
    }
}

Test(placement, more_than_32_bits)
{
    struct rw_code_place place = {128, 0};
    const uint32_t docs = 200000000;
    cr_assert_eq(rw_place_codes(&place, 1, docs, (uint64_t)128 * docs - 1),
                 (uint64_t)128 * (docs - 1));
    cr_assert_eq(place.n_here, docs - 1);
    cr_assert_eq(rw_place_codes(&place, 0, docs, 1000), 0);
}
