#include <criterion/criterion.h>

#include "base/mem.h"

Test(mem, overflowing_size_is_an_error)
{
    struct rw_ctx *ctx;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    double *p;
    cr_assert_eq(RW_NEW(ctx, p, SIZE_MAX / 4), RW_ERR_MEMORY);
    cr_assert_null(p);
    cr_assert_not_null(strstr(rw_last_error(ctx), "out of memory"));
    rw_ctx_free(ctx);
}

Test(mem, grow_keeps_content)
{
    int *p = NULL;
    size_t room = 0;
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(RW_GROW(NULL, p, room, (size_t)i + 1), RW_OK);
        p[i] = i;
    }
    for (int i = 0; i < 1000; i++)
        cr_assert_eq(p[i], i);
    rw_mem_free(p);
}

Test(mem, injected_failure)
{
    int *p;
    rw_mem_fail_from(2);
    cr_assert_eq(RW_NEW(NULL, p, 1), RW_OK);
    rw_mem_free(p);
    cr_assert_eq(RW_NEW(NULL, p, 1), RW_ERR_MEMORY);
    rw_mem_fail_from(0);
}

Test(mem, large_arrays)
{
    struct rw_ctx *ctx;
    void *p;
    const size_t sizes[] = {0, 1, RW_MEM_LARGE - 1, RW_MEM_LARGE, RW_MEM_LARGE + 1, 9000000};
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    for (int i = 0; i < 12; i++) {
        const size_t n = sizes[i / 2];
        cr_assert_eq(rw_mem_new_large(ctx, &p, n, i % 2), RW_OK);
        cr_assert_eq((size_t)p % 64, 0);
        memset(p, 255, n);
        rw_mem_free_large(p, n);
        rw_mem_fail_from(1);
        cr_assert_eq(rw_mem_new_large(ctx, &p, n, i % 2), RW_ERR_MEMORY);
        cr_assert_null(p);
        rw_mem_fail_from(0);
        rw_mem_free_large(p, n);
    }
    cr_assert_eq(rw_mem_new_large(ctx, &p, SIZE_MAX / 4, 0), RW_ERR_MEMORY);
    cr_assert_null(p);
    rw_ctx_free(ctx);
}
