/* Models of LightGBM, XGBoost, RankLib and QuickRank (tests/peers/make_golden.py) give the same
 * scores in Rankwood. Models that Rankwood cannot represent are refused with the message in the
 * file next to them.
 */
#include <dirent.h>
#include <unistd.h>

#include "convert_fixture.h"
#include "scratch_file.h"

TestSuite(golden_convert, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

static double bound_of(const struct rw_model *model, const int32_t *leaves)
{
    double sum = 0;
    for (int32_t t = 0; t < model->n_trees; t++)
        sum += fabs((double)model->tree[t].leaf[leaves[t]]);
    return ldexp(sum, -24) * model->n_trees;
}

static void assert_scores(const char *file, const char *format, const char *name)
{
    char path[300];
    struct rw_model *model;
    struct rw_dataset *docs;
    const struct rw_exchange how = {.format = format, .feature_base = -1};
    cr_assert_eq(rw_model_import(scratch_ctx, file, &how, &model), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    snprintf(path, sizeof(path), "%s.docs", name);
    const char *paths[] = {path};
    cr_assert_eq(rw_dataset_read(scratch_ctx, paths, 1, &docs), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    const uint32_t n = rw_dataset_n_docs(docs);
    double *theirs = calloc(n, sizeof(*theirs)), *ours = calloc(n, sizeof(*ours));
    int32_t *leaves = calloc((size_t)n * (size_t)model->n_trees + 1, sizeof(*leaves));
    snprintf(path, sizeof(path), "%s.scores", name);
    cr_assert_eq(rw_dataset_read_scores(scratch_ctx, docs, path, theirs, NULL), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    cr_assert_eq(rw_predict(scratch_ctx, model, docs, 0, ours), RW_OK);
    cr_assert_eq(rw_predict_leaves(scratch_ctx, model, docs, 0, leaves), RW_OK);
    for (uint32_t d = 0; d < n; d++)
        cr_assert_leq(fabs(ours[d] - theirs[d]),
                      bound_of(model, leaves + (size_t)d * (size_t)model->n_trees),
                      "%s, document %u: %.17g, there %.17g", file, d + 1, ours[d], theirs[d]);
    free(theirs);
    free(ours);
    free(leaves);
    rw_dataset_free(docs);
    rw_model_free(model);
}

/* Calls for each file whose name ends in a format's; returns how many there were. */
static int each_file(const char *folder,
                     void (*call)(const char *file, const char *format, const char *name))
{
    cr_assert_eq(chdir(folder), 0);
    DIR *open = opendir(".");
    int n = 0;
    for (struct dirent *entry; (entry = readdir(open)) != NULL;) {
        const char *dot = strrchr(entry->d_name, '.');
        char name[256];
        if (!dot || entry->d_name[0] == '.' || strcmp(dot, ".docs") == 0 ||
            strcmp(dot, ".scores") == 0 || strcmp(dot, ".error") == 0)
            continue;
        snprintf(name, sizeof(name), "%.*s", (int)(dot - entry->d_name), entry->d_name);
        call(entry->d_name, dot + 1, name);
        n++;
    }
    closedir(open);
    return n;
}

Test(golden_convert, scores_are_theirs)
{
    cr_assert_geq(each_file(RW_TESTS_DIR "/golden/convert", assert_scores), 20);
}

static void assert_refused(const char *file, const char *format, const char *name)
{
    struct rw_model *model;
    char path[300];
    size_t n;
    const struct rw_exchange how = {.format = format, .feature_base = -1};
    (void)name;
    snprintf(path, sizeof(path), "%s.error", file);
    cr_assert_eq(rw_model_import(scratch_ctx, file, &how, &model), RW_ERR_FORMAT, "%s", file);
    cr_assert_null(model);
    char *expected = scratch_read(path, &n);
    expected[n - 1] = 0; /* its newline */
    cr_assert_str_eq(rw_last_error(scratch_ctx), expected);
    free(expected);
}

Test(golden_convert, refused_with_its_message)
{
    cr_assert_geq(each_file(RW_TESTS_DIR "/golden/convert/refused", assert_refused), 18);
}
