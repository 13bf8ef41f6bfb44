#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "metric/metric.h"

static struct rw_ctx *ctx;
static char path[64];

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    snprintf(path, sizeof(path), "/tmp/rankwood-gains-%ld.txt", (long)getpid());
}

static void teardown(void)
{
    unlink(path);
    rw_ctx_free(ctx);
}

static void write_file(const char *text, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(text, 1, bytes, file), bytes);
    fclose(file);
}

Test(dcg, discounts)
{
    cr_assert_eq(rw_discount(0), 1.0);
    cr_assert_eq(rw_discount(2), 0.5);
    cr_assert_eq(rw_discount(1022), 0.1);
    for (uint32_t r = 0; r < 100000; r++) {
        const double expected = 1.0 / log2(2.0 + r);
        cr_assert_float_eq(rw_discount(r), expected, 2e-15 * expected);
        cr_assert(rw_discount(r + 1) < rw_discount(r));
    }
}

static int gains_of(const struct rw_gain_rule *rule, const float *labels, uint32_t n, double *gains)
{
    const struct rw_dataset dataset = {.n_docs = n, .label = (float *)labels};
    return rw_gains(ctx, rule, &dataset, gains);
}

Test(dcg, gains_of_the_rules, .init = setup, .fini = teardown)
{
    const float labels[] = {0, 1, 2, 4, 31, 0.5f, -0.0f};
    double gains[7];
    struct rw_gain_rule rule;
    cr_assert_eq(rw_gain_rule_init(ctx, &rule, "exp"), RW_OK);
    cr_assert_str_eq(rule.text, "2^l - 1");
    cr_assert_eq(gains_of(&rule, labels, 7, gains), RW_OK);
    const double expected[] = {0, 1, 3, 15, 2147483647.0};
    for (int i = 0; i < 5; i++)
        cr_assert_eq(gains[i], expected[i]); /* whole labels: exactly */
    cr_assert_float_eq(gains[5], sqrt(2.0) - 1, 1e-15);
    cr_assert_eq(gains[6], 0.0);
    rw_gain_rule_release(&rule);

    cr_assert_eq(rw_gain_rule_init(ctx, &rule, "linear"), RW_OK);
    cr_assert_eq(gains_of(&rule, labels, 7, gains), RW_OK);
    for (int i = 0; i < 7; i++)
        cr_assert_eq(gains[i], (double)labels[i]);
    rw_gain_rule_release(&rule);
}

Test(dcg, labels_without_a_gain, .init = setup, .fini = teardown)
{
    struct rw_gain_rule rule;
    double gain[2];
    const struct {
        const char *spec;
        float label;
        const char *message;
    } cases[] = {
        {"exp", 32,
         "document 2: label 32 is above 31, the maximum for the gain 2^l - 1\nhint: use label-gain "
         "linear, or a file of gains"},
        {"exp", -1, "document 2: label -1 has no gain: expected 0 to 2147483648"},
        {"linear", -1, "document 2: label -1 has no gain: expected 0 to 2147483648"},
        {"linear", (float)NAN, "document 2: label nan has no gain: expected 0 to 2147483648"},
        {"linear", (float)INFINITY, "document 2: label inf has no gain: expected 0 to 2147483648"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const float labels[] = {0, cases[i].label};
        cr_assert_eq(rw_gain_rule_init(ctx, &rule, cases[i].spec), RW_OK);
        cr_assert_eq(gains_of(&rule, labels, 2, gain), RW_ERR_DATA);
        cr_expect_str_eq(rw_last_error(ctx), cases[i].message);
        rw_gain_rule_release(&rule);
    }
}

Test(dcg, threads_find_the_same_gains_and_the_first_wrong_label, .init = setup, .fini = teardown)
{
    enum { N = 50000 };
    static float labels[N];
    static double gains[N];
    struct rw_gain_rule rule;
    cr_assert_eq(rw_gain_rule_init(ctx, &rule, "exp"), RW_OK);
    for (int threads = 1; threads <= 5; threads += 2) {
        cr_assert_eq(rw_ctx_set_threads(ctx, threads), RW_OK);
        for (uint32_t i = 0; i < N; i++) {
            labels[i] = (float)(i % 5);
            gains[i] = -1;
        }
        cr_assert_eq(gains_of(&rule, labels, N, gains), RW_OK);
        for (uint32_t i = 0; i < N; i++)
            cr_assert_eq(gains[i], (double)((1 << i % 5) - 1));
        labels[N - 1] = labels[30001] = labels[30000] = labels[40000] = 77;
        cr_assert_eq(gains_of(&rule, labels, N, gains), RW_ERR_DATA);
        cr_expect_not_null(strstr(rw_last_error(ctx), "document 30001: label 77 is above 31"),
                           "%d threads: %s", threads, rw_last_error(ctx));
    }
    rw_gain_rule_release(&rule);
}

Test(dcg, gains_of_a_file, .init = setup, .fini = teardown)
{
    static const char text[] = "0\r\n 0.5 \r\n1e1\n-0\n2147483648"; /* CRLF, no last newline */
    write_file(text, strlen(text));
    struct rw_gain_rule rule;
    cr_assert_eq(rw_gain_rule_init(ctx, &rule, path), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rule.n_table, 5u);
    const float labels[] = {4, 1, 2, 0, 3};
    const double expected[] = {2147483648.0, 0.5, 10, 0, 0};
    double gains[5];
    cr_assert_eq(gains_of(&rule, labels, 5, gains), RW_OK);
    for (int i = 0; i < 5; i++)
        cr_assert_eq(gains[i], expected[i]);
    cr_assert(!signbit(gains[4]));
    const float refused[] = {5, 0.5f};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(gains_of(&rule, &refused[i], 1, gains), RW_ERR_DATA);
        cr_assert_not_null(strstr(rw_last_error(ctx), "document 1: label "));
        cr_assert_not_null(strstr(rw_last_error(ctx), "has no gain: the gains from"));
    }
    rw_gain_rule_release(&rule);
    rw_gain_rule_release(&rule);
}

Test(dcg, files_that_are_refused, .init = setup, .fini = teardown)
{
    char longline[600];
    memset(longline, '1', sizeof(longline));
    const struct {
        const char *text;
        size_t bytes;
        const char *end;
    } cases[] = {
        {"", 0, ":1:1: expected the gain of label 0, found nothing"},
        {"0\nx\n", 4, ":2:1: expected a gain from 0 to 2147483648, found 'x'"},
        {"0\n 1 2\n", 7, ":2:2: expected a gain from 0 to 2147483648, found '1 2'"},
        {"0\n\n1\n", 5, ":2:1: expected a gain from 0 to 2147483648, found ''"},
        {"-1\n", 3, ":1:1: expected a gain from 0 to 2147483648, found '-1'"},
        {"0\nnan\n", 6, ":2:1: expected a gain from 0 to 2147483648, found 'nan'"},
        {"0\ninf\n", 6, ":2:1: expected a gain from 0 to 2147483648, found 'inf'"},
        {"0\n1e999\n", 8, ":2:1: expected a gain from 0 to 2147483648, found '1e999'"},
        {"0\n0x10\n", 7, ":2:1: expected a gain from 0 to 2147483648, found '0x10'"},
        {"0\n2147483649\n", 13, ":2:1: expected a gain from 0 to 2147483648, found '2147483649'"},
        {"0\n1,5\n", 6, ":2:1: expected a gain from 0 to 2147483648, found '1,5'"},
        {"0\n1\0002\n", 6, ":2:1: expected a gain from 0 to 2147483648, found '1'"},
        {longline, sizeof(longline), NULL},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        write_file(cases[i].text, cases[i].bytes);
        struct rw_gain_rule rule;
        cr_assert_eq(rw_gain_rule_init(ctx, &rule, path), RW_ERR_PARSE, "case %zu", i);
        const char *message = rw_last_error(ctx);
        cr_assert_eq(strncmp(message, path, strlen(path)), 0);
        if (cases[i].end)
            cr_expect_eq(strncmp(message + strlen(path), cases[i].end, strlen(cases[i].end)), 0,
                         "%s", message);
        cr_assert_null(rule.table);
    }
    struct rw_gain_rule rule;
    cr_assert_eq(rw_gain_rule_init(ctx, &rule, "expo"), RW_ERR_IO);
    cr_expect_str_eq(rw_last_error(ctx),
                     "label-gain 'expo': No such file or directory\nhint: 'exp', 'linear', or a "
                     "file with the gains of labels 0, 1, 2, ..., one per line");
    cr_assert_eq(rw_gain_rule_init(ctx, &rule, "/tmp"), RW_ERR_IO);
    cr_expect_str_eq(rw_last_error(ctx), "/tmp: Is a directory");
}

Test(dcg, file_without_memory, .init = setup, .fini = teardown)
{
    write_file("0\n1\n", 4);
    struct rw_gain_rule rule;
    rw_mem_fail_from(1);
    cr_assert_eq(rw_gain_rule_init(ctx, &rule, path), RW_ERR_MEMORY);
    rw_mem_fail_from(0);
    cr_assert_null(rule.table);
}

Test(dcg, sorting)
{
    static double values[2000];
    for (uint32_t n = 0; n < 2000; n += n < 20 ? 1 : 330) {
        for (int kind = 0; kind < 4; kind++) {
            double sum = 0.0, after = 0.0;
            for (uint32_t i = 0; i < n; i++) {
                values[i] = kind == 0   ? (double)i
                            : kind == 1 ? -(double)i
                            : kind == 2 ? 3.0
                                        : (double)(i * 2654435761u % 7);
                sum += values[i];
            }
            rw_sort_falling(values, n);
            for (uint32_t i = 0; i < n; i++) {
                after += values[i];
                cr_assert(i == 0 || values[i - 1] >= values[i]);
            }
            cr_assert_eq(sum, after);
        }
    }
}

Test(dcg, ideal)
{
    const double gains[] = {0, 3, 1, 7, 0};
    double discounts[5], scratch[5];
    for (uint32_t r = 0; r < 5; r++)
        discounts[r] = rw_discount(r);
    const double all = 7 + 3 / log2(3) + 0.5;
    cr_assert_float_eq(rw_ideal_dcg(gains, 5, 0, discounts, scratch), all, 1e-14);
    cr_assert_float_eq(rw_ideal_dcg(gains, 5, 3, discounts, scratch), all, 1e-14);
    cr_assert_float_eq(rw_ideal_dcg(gains, 5, 99, discounts, scratch), all, 1e-14);
    cr_assert_float_eq(rw_ideal_dcg(gains, 5, 2, discounts, scratch), all - 0.5, 1e-14);
    cr_assert_eq(rw_ideal_dcg(gains, 5, 1, discounts, scratch), 7.0);
    cr_assert_eq(rw_ideal_dcg(gains, 1, 0, discounts, scratch), 0.0);
    cr_assert_eq(rw_ideal_dcg(gains, 0, 0, discounts, scratch), 0.0);
    cr_assert_eq(gains[1], 3.0);
}
