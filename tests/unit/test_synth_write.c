#include <criterion/criterion.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "dataset/dataset.h"
#include "each.h"

static struct rw_ctx *ctx;
static char folder[64];

static void setup(void)
{
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    snprintf(folder, sizeof(folder), "/tmp/rankwood-synth-XXXXXX");
    cr_assert_not_null(mkdtemp(folder));
}

static void teardown(void)
{
    rw_ctx_free(ctx);
    cr_expect_eq(rmdir(folder), 0, "something is left in %s", folder);
}

TestSuite(synth_write, .init = setup, .fini = teardown);

static const char *const shapes[] = {"mslr30k", "yahoo", "istella", "letor"};
enum { N_SHAPES = 4 };

static void path_of(char *path, const char *name)
{
    snprintf(path, 128, "%s/%s", folder, name);
}

static int same(const struct rw_dataset *a, const struct rw_dataset *b)
{
    if (a->n_docs != b->n_docs || a->n_queries != b->n_queries || a->n_columns != b->n_columns ||
        a->n_clamped != b->n_clamped ||
        memcmp(a->label, b->label, a->n_docs * sizeof(float)) != 0 ||
        memcmp(a->query_offset, b->query_offset, (a->n_queries + 1) * sizeof(uint32_t)) != 0)
        return 0;
    for (uint32_t q = 0; q < a->n_queries; q++) {
        if (strcmp(rw_dataset_query_id(a, q), rw_dataset_query_id(b, q)) != 0)
            return 0;
    }
    for (uint32_t i = 0; i < a->n_docs; i++) {
        if (strcmp(rw_dataset_comment(a, i), rw_dataset_comment(b, i)) != 0)
            return 0;
    }
    float *x = malloc(a->n_docs * sizeof(*x)), *y = malloc(a->n_docs * sizeof(*y));
    int equal = 1;
    for (uint32_t f = 0; f <= 700 && equal; f++) { /* NaN distinguishes absent from 0 */
        rw_dataset_feature(a, f, NAN, x);
        rw_dataset_feature(b, f, NAN, y);
        for (uint32_t i = 0; i < a->n_docs; i++)
            equal = equal && (rw_bits_of_float(x[i]) == rw_bits_of_float(y[i]) ||
                              (isnan(x[i]) && isnan(y[i])));
    }
    free(x);
    free(y);
    return equal;
}

/* Written and read back, the set is the one that rw_synth makes; whatever the form. */
Test(synth_write, what_is_written_reads_back)
{
    static const char *const names[] = {"a.txt", "a.txt.gz", "a.rwb"};
    for (int k = 0; k < N_SHAPES; k += EACH(2)) {
        const struct rw_synth_options options = {shapes[k], SLOW_HERE ? 10 : 40, 4};
        struct rw_dataset *made = NULL;
        cr_assert_eq(rw_synth(ctx, &options, NULL, &made), RW_OK);
        for (int form = 0; form < 3; form++) {
            struct rw_dataset *back = NULL;
            char path[128];
            path_of(path, names[form]);
            const char *const paths[] = {path};
            cr_assert_eq(rw_synth(ctx, &options, path, NULL), RW_OK, "%s", rw_last_error(ctx));
            cr_assert_eq(rw_dataset_read(ctx, paths, 1, &back), RW_OK, "%s", rw_last_error(ctx));
            cr_expect(same(made, back), "%s %s", shapes[k], names[form]);
            rw_dataset_free(back);
            unlink(path);
        }
        rw_dataset_free(made);
    }
}

static char *bytes_of(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    fseek(file, 0, SEEK_END);
    *n = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*n + 1);
    cr_assert_eq(fread(bytes, 1, *n, file), *n);
    fclose(file);
    return bytes;
}

Test(synth_write, bytes_do_not_depend_on_threads)
{
    static const char *const names[] = {"a.txt", "a.txt.gz", "a.rwb"};
    static const int threads[] = {1, 2, 7};
    for (int form = 0; form < 3; form++) {
        const struct rw_synth_options options = {"letor", 150, 4};
        char *bytes[3], path[128];
        size_t n[3];
        path_of(path, names[form]);
        for (int t = 0; t < 3; t++) {
            rw_ctx_set_threads(ctx, threads[t]);
            cr_assert_eq(rw_synth(ctx, &options, path, NULL), RW_OK);
            bytes[t] = bytes_of(path, &n[t]);
        }
        for (int t = 1; t < 3; t++)
            cr_expect(n[0] == n[t] && memcmp(bytes[0], bytes[t], n[0]) == 0, "%s", names[form]);
        for (int t = 0; t < 3; t++)
            free(bytes[t]);
        unlink(path);
    }
}

Test(synth_write, lines_look_like_the_set)
{
    const struct rw_synth_options options = {"istella", 20, 1};
    char path[128];
    size_t n;
    path_of(path, "a.txt");
    cr_assert_eq(rw_synth(ctx, &options, path, NULL), RW_OK);
    char *bytes = bytes_of(path, &n);
    bytes[n] = 0;
    cr_expect_eq(strncmp(bytes + 1, " qid:10000001 1:", 16), 0, "%.40s", bytes);
    cr_expect_not_null(strstr(bytes, ":1.79769313486e+308 "));
    free(bytes);
    unlink(path);
}

Test(synth_write, nothing_is_left_of_a_failure)
{
    static const char *const forms[] = {"no/such/folder.txt", "no/such/folder.gz", "no/such/f.rwb"};
    char path[128];
    for (int form = 0; form < 3; form++) {
        const struct rw_synth_options options = {"letor", 5, 1};
        path_of(path, forms[form]);
        cr_expect_eq(rw_synth(ctx, &options, path, NULL), RW_ERR_IO);
    }
    const struct rw_synth_options unknown = {"mq2007", 5, 1};
    path_of(path, "a.txt");
    cr_expect_eq(rw_synth(ctx, &unknown, path, NULL), RW_ERR_ARGUMENT);
    cr_expect_str_eq(rw_last_error(ctx),
                     "shape: expected mslr30k, yahoo, istella or letor, found 'mq2007'");
    for (int form = 0; form < 3; form++) { /* and none when memory ends */
        static const char *const names[] = {"a.txt", "a.gz", "a.rwb"};
        const struct rw_synth_options options = {"letor", 5, 1};
        int status = RW_ERR_MEMORY;
        path_of(path, names[form]);
        for (long k = 1; status < 0; k += 1 + k / 10) {
            rw_mem_fail_from(k);
            status = rw_synth(ctx, &options, path, NULL);
            rw_mem_fail_from(0);
            cr_assert(status == RW_OK || status == RW_ERR_MEMORY, "%d", status);
            cr_assert_eq(access(path, F_OK) == 0, status == RW_OK);
        }
        unlink(path);
    }
}

/* The small set in data/ is what data/README.md says: made by these three calls. */
Test(synth_write, the_toy_set_is_made_by_synth)
{
    static const struct {
        const char *name;
        uint32_t n_queries;
        uint64_t seed;
    } toys[] = {{"toy.train.txt", 30, 2}, {"toy.valid.txt", 12, 5}, {"toy.test.txt", 12, 10}};
    for (int k = 0; k < 3; k++) {
        const struct rw_synth_options options = {"letor", toys[k].n_queries, toys[k].seed};
        char path[128], kept[512];
        size_t n, n_kept;
        path_of(path, toys[k].name);
        snprintf(kept, sizeof(kept), "%s/../data/%s", RW_TESTS_DIR, toys[k].name);
        cr_assert_eq(rw_synth(ctx, &options, path, NULL), RW_OK, "%s", rw_last_error(ctx));
        char *bytes = bytes_of(path, &n), *kept_bytes = bytes_of(kept, &n_kept);
        cr_expect(n == n_kept && memcmp(bytes, kept_bytes, n) == 0, "%s", kept);
        free(bytes);
        free(kept_bytes);
        unlink(path);
    }
}
