#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/ctx.h"
#include "gpu/device/device.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    unsetenv(RW_TUNING_VARIABLE);
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

#define TUNING_TEST(name) Test(device_tuning, name, .init = setup, .fini = teardown)

static const struct rw_tuning_facts large = {90, 132, 2048, 232448};

static const struct rw_tuning_row *row_of(int capability, struct rw_tuning_facts *facts)
{
    const struct rw_tuning_row *row = NULL;
    facts->capability = capability;
    cr_assert_eq(rw_tuning_find(ctx, facts, &row), RW_OK, "%s", rw_last_error(ctx));
    return row;
}

/* Every capability that there is, and the next ones, have the row that begins last before them. */
TUNING_TEST(by_capability)
{
    static const struct {
        int capability;
        const char *name;
    } gpus[] = {{75, "7.5"},   {80, "8.0"},    {86, "8.6"},   {87, "8.6"},   {89, "8.6"},
                {90, "9.0"},   {100, "10.0"},  {103, "10.0"}, {110, "10.0"}, {120, "12.0"},
                {121, "12.0"}, {130, "newer"}, {200, "newer"}};
    for (size_t i = 0; i < sizeof(gpus) / sizeof(gpus[0]); i++) {
        struct rw_tuning_facts facts = {.n_multiprocessors = 3, .shared_bytes = 1000};
        cr_expect_str_eq(row_of(gpus[i].capability, &facts)->name, gpus[i].name);
        cr_expect_eq(facts.n_multiprocessors, 3, "nothing is assumed of a device");
        cr_expect_eq(facts.n_threads, 0);
        cr_expect_eq(facts.shared_bytes, 1000);
        facts.n_multiprocessors = 1000;
        facts.shared_bytes = 1 << 20;
        (void)row_of(gpus[i].capability, &facts);
        cr_expect_eq(facts.n_multiprocessors, 1000);
        cr_expect_eq(facts.shared_bytes, 1 << 20);
    }
}

TUNING_TEST(rows_can_be_taken)
{
    const struct rw_tuning_row *row;
    int n_measured = 0;
    for (int i = 0; (row = rw_tuning_row_at(i)); i++) {
        n_measured += row->is_measured;
        cr_expect(row->growth_batch >= 1 && row->growth_batch <= 64, "%s", row->name);
        cr_expect(row->quantise_blocks >= 1 && row->quantise_blocks <= 8, "%s", row->name);
        cr_expect(row->split_blocks >= 1 && row->split_blocks <= 16, "%s", row->name);
        cr_expect(row->shared_bytes == 0 || row->shared_bytes >= 64 * 1024, "%s", row->name);
        cr_expect(i == 0 || row->from > rw_tuning_row_at(i - 1)->from, "%s", row->name);
    }
    cr_expect_eq(n_measured, 1);
    cr_expect_null(rw_tuning_row_at(-1));
}

/* A forced row lowers what there is, and raises nothing. */
TUNING_TEST(forced)
{
    const struct rw_tuning_row *row;
    for (int i = 0; (row = rw_tuning_row_at(i)); i++) {
        struct rw_tuning_facts facts = large, small = {90, 2, 1024, 65536};
        setenv(RW_TUNING_VARIABLE, row->name, 1);
        cr_expect_eq(row_of(90, &facts), row);
        cr_expect_leq(facts.n_multiprocessors, large.n_multiprocessors);
        cr_expect_leq(facts.n_threads, large.n_threads);
        cr_expect_leq(facts.shared_bytes, large.shared_bytes);
        cr_expect_eq(facts.shared_bytes < large.shared_bytes, strcmp(row->name, "9.0") != 0 &&
                                                                  strcmp(row->name, "10.0") != 0 &&
                                                                  strcmp(row->name, "newer") != 0);
        cr_expect_eq(row_of(75, &small), row);
        cr_expect_eq(small.n_multiprocessors, 2);
        cr_expect_eq(small.n_threads, 1024);
        cr_expect_eq(small.shared_bytes, 65536);
    }
    setenv(RW_TUNING_VARIABLE, "", 1);
    struct rw_tuning_facts facts = large;
    cr_expect_str_eq(row_of(90, &facts)->name, "9.0");
}

TUNING_TEST(no_such_row)
{
    static const char *const names[] = {"8.7", "90", "9.0 ", "newest"};
    const struct rw_tuning_row *row;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct rw_tuning_facts facts = large;
        char want[160];
        snprintf(want, sizeof(want),
                 "RANKWOOD_TUNING is '%s'; expected 7.5, 8.0, 8.6, 9.0, 10.0, 12.0 or newer",
                 names[i]);
        setenv(RW_TUNING_VARIABLE, names[i], 1);
        cr_expect_eq(rw_tuning_find(ctx, &facts, &row), RW_ERR_ARGUMENT);
        cr_expect_str_eq(rw_last_error(ctx), want);
    }
}

Test(device_tuning, machine_code)
{
    cr_expect(rw_has_gpu_code("sm_75", 7, 5));
    cr_expect(rw_has_gpu_code("sm_75 sm_80 compute_80", 8, 0));
    cr_expect(rw_has_gpu_code("sm_80", 8, 9), "code runs on later GPUs of its generation");
    cr_expect(!rw_has_gpu_code("sm_86", 8, 0), "and not on earlier ones");
    cr_expect(!rw_has_gpu_code("sm_75", 9, 0));
    cr_expect(!rw_has_gpu_code("sm_80 compute_90", 9, 0), "the driver compiles it");
    cr_expect(rw_has_gpu_code("sm_100 sm_120", 12, 1));
    cr_expect(!rw_has_gpu_code("", 9, 0));
}
