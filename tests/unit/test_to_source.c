/* The C file: it compiles without a warning, and its scores are identical to Rankwood's. */
#include <dlfcn.h>

#include "convert_fixture.h"
#include "scratch_file.h"

TestSuite(to_source, .init = scratch_begin, .fini = scratch_end, .timeout = 100);

enum { N_DOCS = 500, N_VALUES = 14 };

static const char *const compilers[] = {"gcc", "clang"};

static int has(const char *compiler)
{
    char command[100];
    snprintf(command, sizeof(command), "command -v %s >/dev/null 2>&1", compiler);
    return system(command) == 0;
}

/* Values at thresholds, next to them, special ones, and missing ones. */
static float value_at(const struct rw_model *model, uint64_t i)
{
    static const float odd[] = {0.0f, -0.0f, 1e-45f, -1e-45f, 3.4028235e38f, -3.4028235e38f};
    const uint32_t draw = fixture_below(6, i, 10);
    if (draw == 0)
        return NAN;
    if (draw == 1)
        return odd[fixture_below(7, i, 6)];
    const struct rw_tree *tree = &model->tree[fixture_below(8, i, (uint32_t)model->n_trees)];
    if (tree->n_leaves == 1)
        return 0.5f;
    const float cut = tree->cut[fixture_below(9, i, (uint32_t)tree->n_leaves - 1)];
    return draw < 5 ? cut : nextafterf(cut, draw < 7 ? INFINITY : -INFINITY);
}

static void same_scores(const struct rw_model *model, const char *compiler, const char *why)
{
    char command[400];
    float x[N_VALUES];
    snprintf(command, sizeof(command),
             "%s -std=c99 -O1 -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wmissing-prototypes "
             "-Werror -shared -fPIC -o ./model.so model.c 2>said",
             compiler);
    if (system(command) != 0) {
        size_t n;
        cr_assert_fail("%s, %s: %s", why, compiler, scratch_read("said", &n));
    }
    void *library = dlopen("./model.so", RTLD_NOW | RTLD_LOCAL);
    cr_assert_not_null(library, "%s", dlerror());
    double (*score)(const float *);
    *(void **)&score = dlsym(library, "score");
    cr_assert(score != NULL);
    for (uint64_t d = 0; d < N_DOCS; d++) {
        for (uint64_t i = 0; i < N_VALUES; i++)
            x[i] = model->n_trees ? value_at(model, d * N_VALUES + i) : 0.0f;
        const double ours = rw_predict_one(model, x, N_VALUES), theirs = score(x);
        cr_assert(ours == theirs, "%s, %s, document %d: %.17g, there %.17g", why, compiler, (int)d,
                  ours, theirs);
    }
    dlclose(library);
}

static void check_model(const struct rw_model *model, const char *why)
{
    const struct rw_exchange how = {.format = "c", .feature_base = -1};
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "model.c"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    for (size_t i = 0; i < sizeof(compilers) / sizeof(compilers[0]); i++) {
        if (has(compilers[i]))
            same_scores(model, compilers[i], why);
    }
}

Test(to_source, scores_are_identical)
{
    cr_assert(has("gcc") || has("clang"), "no compiler");
    struct rw_model *model = fixture_random_model(scratch_ctx, 12, 40, 6, 3);
    /* Thresholds and leaves of every size. */
    for (int32_t i = 0; i < 39; i++) {
        model->tree[3].cut[i] = ldexpf((float)fixture_below(2, (uint64_t)i, 1 << 24) - 8e6f,
                                       (int)fixture_below(4, (uint64_t)i, 240) - 150);
        if (model->tree[3].cut[i] == 0)
            model->tree[3].cut[i] = 0.0f; /* never -0 */
        model->tree[3].leaf[i] = ldexpf(1.1f, (int)i - 20);
    }
    model->tree[5].cut[0] = 3.4028235e38f; /* tree 4 is a leaf */
    model->tree[5].cut[1] = -3.4028235e38f;
    model->tree[5].cut[2] = 1e-45f;
    model->tree[6].leaf[0] = -1e-45f;
    check_model(model, "random");
    rw_model_free(model);
}

Test(to_source, leaves_only)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 3, 1, 6, 3);
    check_model(model, "three leaves");
    rw_model_free(model);
    model = fixture_random_model(scratch_ctx, 0, 1, 6, 3);
    check_model(model, "no trees");
    rw_model_free(model);
}

Test(to_source, its_text)
{
    struct rw_model *model = fixture_model(
        scratch_ctx, "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 1\n1\n\n"
                     "names 0\n\nmetrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves 1\nleaf 0 -3\n\n"
                     "tree 2 leaves 2\n"
                     "node 0 feature 1 <= 0.1 left leaf 1 right leaf 0 missing left gain 1\n"
                     "leaf 0 0\nleaf 1 2\n\n");
    size_t n;
    char *text = convert_write(scratch_ctx, model, convert_format("c"), -1, &n);
    cr_assert_not_null(strstr(text, "} node[] = {\n    {0xcccccdp-27f, 1, 1, ~2, ~1},\n};"), "%s",
                       text);
    cr_assert_not_null(strstr(text, "leaf[] = {\n    -0xcp-2f,\n    0x0p0f,\n    0x8p-2f,\n};"),
                       "%s", text);
    cr_assert_not_null(strstr(text, "root[] = {\n    ~0,\n    0,\n};"));
    rw_mem_free(text);
    rw_model_free(model);
}

/* Ids below the base have no place in x. */
Test(to_source, feature_base)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 1, 2, 1, 3);
    const struct rw_exchange how = {.format = "c", .feature_base = 1};
    size_t n;
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "model.c"), RW_OK);
    char *text = scratch_read("model.c", &n);
    cr_assert_not_null(strstr(text, ", 0, ")); /* feature 1 */
    free(text);
    model->tree[0].feature[0] = 0;
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "model.c"), RW_ERR_UNSUPPORTED);
    rw_model_free(model);
}
