/* Every file of tests/golden/bad is refused, whole and in chunks, with the message in the file
 * next to it. */
#include "scratch_file.h"

#include <dirent.h>

TestSuite(refused, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

static int ignore_chunk(void *user, const struct rw_dataset *chunk, const double *scores)
{
    (void)user;
    (void)chunk;
    (void)scores;
    return RW_OK;
}

static void assert_refused(const char *name, const char *expected, int n_threads)
{
    struct rw_dataset *dataset;
    cr_assert_eq(rw_ctx_set_threads(scratch_ctx, n_threads), RW_OK);
    cr_assert_lt(rw_dataset_read(scratch_ctx, &name, 1, &dataset), 0, "%s", name);
    cr_assert_null(dataset);
    cr_assert_str_eq(rw_last_error(scratch_ctx), expected);
    if (strstr(expected, "appears again")) /* not detected in chunks, as the public header states */
        return;
    cr_assert_lt(rw_dataset_read_each(scratch_ctx, &name, 1, NULL, NULL, ignore_chunk, NULL), 0,
                 "%s", name);
    cr_assert_str_eq(rw_last_error(scratch_ctx), expected);
}

Test(refused, each_with_its_message)
{
    cr_assert_eq(chdir(RW_TESTS_DIR "/golden/bad"), 0);
    DIR *folder = opendir(".");
    int n = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[256];
        snprintf(name, sizeof(name), "%s", entry->d_name);
        char *suffix = strstr(name, ".error");
        if (!suffix)
            continue;
        size_t n_bytes;
        char *expected = scratch_read(name, &n_bytes);
        expected[n_bytes - 1] = 0; /* its last newline */
        *suffix = 0;
        assert_refused(name, expected, 1);
        assert_refused(name, expected, 7);
        free(expected);
        n++;
    }
    closedir(folder);
    cr_assert_geq(n, 88);
}
