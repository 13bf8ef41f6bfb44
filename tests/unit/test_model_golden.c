/* Files of tests/golden/model: models that must load, score and be written back as the bytes they
 * are, and models that must be refused with their exact message. */
#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

#include "base/ctx.h"
#include "model_fixture.h"

static struct rw_ctx *ctx;

static void setup(void)
{
    ctx = fixture_ctx();
}

static void teardown(void)
{
    rw_ctx_free(ctx);
}

TestSuite(model_golden, .init = setup, .fini = teardown);

static char *read_text(const char *path)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    char *text = calloc(1, 65536);
    cr_assert_lt(fread(text, 1, 65535, file), 65535u);
    fclose(file);
    return text;
}

Test(model_golden, model_scores_golden_data)
{
    cr_assert_eq(chdir(RW_TESTS_DIR "/golden/model"), 0);
    static const char *const models[] = {"zero", "missing"};
    for (int m = 0; m < 2; m++) {
        const char *data_path = "small.txt";
        char path[64], scores_text[4096] = "";
        struct rw_model *model;
        struct rw_dataset *data;
        snprintf(path, sizeof(path), "%s.model", models[m]);
        cr_assert_eq(rw_model_read(ctx, path, &model), RW_OK, "%s", rw_last_error(ctx));
        cr_assert_eq(rw_dataset_read(ctx, &data_path, 1, &data), RW_OK, "%s", rw_last_error(ctx));
        const uint32_t n_docs = rw_dataset_n_docs(data);
        double *scores = malloc(n_docs * sizeof(*scores));
        cr_assert_eq(rw_predict(ctx, model, data, 0, scores), RW_OK);
        for (uint32_t i = 0; i < n_docs; i++) {
            char number[40];
            number[rw_number_write_double(scores[i], number)] = 0;
            strcat(strcat(scores_text, number), "\n");
        }
        snprintf(path, sizeof(path), "%s.scores", models[m]);
        char *expected = read_text(path);
        cr_assert_str_eq(scores_text, expected, "%s", path);
        free(expected);
        free(scores);
        rw_dataset_free(data);
        rw_model_free(model);
    }
}

static void written_as(const char *path, const char *expected_path)
{
    struct rw_model *model;
    char *text, *expected = read_text(expected_path);
    size_t n;
    cr_assert_eq(rw_model_read(ctx, path, &model), RW_OK, "%s", rw_last_error(ctx));
    cr_assert_eq(rw_model_print(ctx, model, &text, &n), RW_OK);
    cr_assert(n == strlen(expected) && memcmp(text, expected, n) == 0, "%s", path);
    free(expected);
    rw_mem_free(text);
    rw_model_free(model);
}

Test(model_golden, models_are_written_as_they_were)
{
    cr_assert_eq(chdir(RW_TESTS_DIR "/golden/model"), 0);
    written_as("zero.model", "zero.model");
    written_as("missing.model", "missing.model");
    written_as("none.model", "none.model");
    written_as("went_on.model", "went_on.model");
    written_as("isotonic.model", "isotonic.model");
    written_as("logistic.model", "logistic.model");
    written_as("covers.model", "covers.model");
}

/* The same models as versions 1 to 3 wrote them. */
Test(model_golden, older_versions_are_read)
{
    cr_assert_eq(chdir(RW_TESTS_DIR "/golden/model"), 0);
    written_as("version2/zero.model", "zero.model");
    written_as("version2/missing.model", "missing.model");
    written_as("version2/none.model", "none.model");
    written_as("version2/went_on.model", "went_on.model");
    written_as("version3/isotonic.model", "isotonic.model");
    written_as("version3/logistic.model", "logistic.model");
    written_as("version1/zero.model", "zero.model");
    written_as("version1/missing.model", "missing.model");
    written_as("version1/none.model", "none.model");
}

/* Each NAME.model is refused with the text in NAME.message. */
Test(model_golden, files_that_must_be_refused)
{
    cr_assert_eq(chdir(RW_TESTS_DIR "/golden/model/refused"), 0);
    int n_checked = 0;
    DIR *dir = opendir(".");
    cr_assert_not_null(dir);
    for (const struct dirent *entry; (entry = readdir(dir));) {
        char path[300];
        struct rw_model *model;
        const char *dot = strstr(entry->d_name, ".model");
        if (!dot)
            continue;
        snprintf(path, sizeof(path), "%.*s.message", (int)(dot - entry->d_name), entry->d_name);
        char *expected = read_text(path);
        expected[strlen(expected) - 1] = 0; /* the last newline */
        cr_assert_eq(rw_model_read(ctx, entry->d_name, &model), RW_ERR_FORMAT, "%s", entry->d_name);
        cr_assert_null(model);
        cr_assert_str_eq(rw_last_error(ctx), expected);
        free(expected);
        n_checked++;
    }
    closedir(dir);
    cr_assert_geq(n_checked, 22);
}
