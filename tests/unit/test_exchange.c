/* The public functions: formats by name, files, and what happens when memory runs out. */
#include "convert_fixture.h"
#include "each.h"
#include "scratch_file.h"

TestSuite(exchange, .init = scratch_begin, .fini = scratch_end, .timeout = 120);

static struct rw_model *plain_model(void)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 3, 5, 4, 2);
    convert_plain_directions(model);
    return model;
}

static void says(int status, int expected, const char *message)
{
    cr_assert_eq(status, expected, "%s", rw_last_error(scratch_ctx));
    cr_assert_str_eq(rw_last_error(scratch_ctx), message);
}

Test(exchange, formats)
{
    struct rw_model_format_info info;
    int n = 0, imports = 0;
    for (; rw_model_format_at(n, &info); n++) {
        cr_assert(info.name && *info.name && info.about && *info.about);
        imports += info.imports;
        for (int i = 0; i < n; i++) {
            struct rw_model_format_info other;
            rw_model_format_at(i, &other);
            cr_assert_str_neq(info.name, other.name);
        }
    }
    cr_assert_geq(n, 8);
    cr_assert_geq(imports, 5);
    cr_assert_eq(rw_model_format_at(-1, &info), 0);
    cr_assert_null(info.name);
}

Test(exchange, wrong_arguments)
{
    struct rw_model *model = plain_model(), *none;
    struct rw_exchange how = {.format = "xgbost", .feature_base = -1};
    says(rw_model_export(scratch_ctx, model, &how, "out"), RW_ERR_ARGUMENT,
         "unknown format 'xgbost'\nhint: did you mean 'xgboost'?");
    how.format = "word processor";
    says(rw_model_import(scratch_ctx, "out", &how, &none), RW_ERR_ARGUMENT,
         "unknown format 'word processor'");
    cr_assert_null(none);
    how = (struct rw_exchange){.format = "vespa", .feature_base = 2};
    says(rw_model_export(scratch_ctx, model, &how, "out"), RW_ERR_ARGUMENT,
         "feature base 2; expected 0 or 1");
    how.feature_base = -1;
    says(rw_model_import(scratch_ctx, "out", &how, &none), RW_ERR_ARGUMENT,
         "'vespa' models can be exported, but not imported");
    says(rw_model_export(scratch_ctx, model, &how, "nowhere/out"), RW_ERR_IO,
         "cannot write 'nowhere/out': No such file or directory");
    how = (struct rw_exchange){.format = "opensearch", .feature_base = -1};
    says(rw_model_export(scratch_ctx, model, &how, "out"), RW_ERR_ARGUMENT,
         "'opensearch' needs a feature set\nhint: pass the answer of GET _ltr/_featureset/NAME by "
         "--featureset FILE");
    how = convert_exchange("opensearch", 0);
    how.name = "";
    says(rw_model_export(scratch_ctx, model, &how, "out"), RW_ERR_ARGUMENT,
         "'opensearch' needs a name for the model\nhint: pass it by --name");
    how.format = "ranklib";
    says(rw_model_export(scratch_ctx, model, &how, "out"), RW_ERR_ARGUMENT,
         "'--featureset' has no effect with 'ranklib'");
    cr_assert_neq(access("out", F_OK), 0);
    rw_model_free(model);
}

/* A model of feature 0 or of feature 1 as the first, to a format that counts from `first`, and
 * back. */
Test(exchange, base_is_chosen)
{
    const struct {
        uint32_t feature;
        const char *format, *exported, *imported;
        uint32_t back;
    } cases[] = {
        {1, "xgboost", "feature base 1: feature 1 of the model is 0 in 'xgboost'\n",
         "feature base 1: 0 in 'xgboost' is feature 1 of the model\n", 1},
        {0, "xgboost", "feature base 0: feature 0 of the model is 0 in 'xgboost'\n",
         "feature base 1: 0 in 'xgboost' is feature 1 of the model\n", 1},
        {1, "ranklib", "feature base 1: feature 1 of the model is 1 in 'ranklib'\n",
         "feature base 1: 1 in 'ranklib' is feature 1 of the model\n", 1},
        {0, "ranklib", "feature base 0: feature 0 of the model is 1 in 'ranklib'\n",
         "feature base 1: 1 in 'ranklib' is feature 1 of the model\n", 1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        const struct rw_exchange how = {.format = cases[i].format,
                                        .feature_base = RW_FEATURE_BASE_AUTO};
        struct rw_model *back;
        snprintf(text, sizeof(text),
                 "rankwood model 6\nabsent zero\ncolumns letor\nbest-round 0\nfinished "
                 "yes\nempty-rounds 0\n\n"
                 "params 0\n\nearlier 0\n\nfeatures 1\n%u\n\n"
                 "names 0\n\nmetrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 2\n"
                 "node 0 feature %u <= 0.5 left leaf 0 right leaf 1 missing left gain 1\n"
                 "leaf 0 -1 docs 3 hessian 1\nleaf 1 2 docs 4 hessian 2\n\n",
                 cases[i].feature, cases[i].feature);
        struct rw_model *model = fixture_model(scratch_ctx, text);
        scratch_log[0] = 0;
        cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        cr_expect_str_eq(scratch_log, cases[i].exported);
        scratch_log[0] = 0;
        cr_assert_eq(rw_model_import(scratch_ctx, "out", &how, &back), RW_OK);
        cr_expect_str_eq(scratch_log, cases[i].imported);
        cr_expect_eq(back->tree[0].feature[0], cases[i].back, "%zu", i);
        rw_model_free(model);
        rw_model_free(back);
    }
}

/* Columns with names are those of a table. */
Test(exchange, base_of_named_columns)
{
    const struct rw_exchange how = {.format = "xgboost", .feature_base = RW_FEATURE_BASE_AUTO};
    struct rw_model *model = fixture_model(
        scratch_ctx,
        "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 1\n0\n\n"
        "names 1\n0 price\n\nmetrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 2\n"
        "node 0 feature 0 <= 0.5 left leaf 0 right leaf 1 missing left gain 1 # price\n"
        "leaf 0 -1\nleaf 1 2\n\n");
    struct rw_model *back;
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK);
    scratch_log[0] = 0;
    cr_assert_eq(rw_model_import(scratch_ctx, "out", &how, &back), RW_OK);
    cr_assert_str_eq(scratch_log, "feature base 0: 0 in 'xgboost' is feature 0 of the model\n");
    cr_assert_eq(back->tree[0].feature[0], 0);
    rw_model_free(model);
    rw_model_free(back);
}

static int all_three(const struct rw_model *model, const struct rw_exchange *how, int imports,
                     const struct rw_dataset *data)
{
    struct rw_verify found;
    struct rw_model *back;
    RW_TRY(rw_model_export(scratch_ctx, model, how, "out"));
    RW_TRY(rw_model_verify(scratch_ctx, model, how, "out", data, &found));
    cr_assert_eq(found.by[0].n_differ, 0);
    if (!imports)
        return RW_OK;
    RW_TRY(rw_model_import(scratch_ctx, "out", how, &back));
    rw_model_free(back);
    return RW_OK;
}

/* What holds for each row of formats.def that imports; test_verify.c has what holds for all. */
Test(exchange, every_format_reads_back_its_own_text)
{
    const struct rw_model_format *format;
    for (int i = 0; (format = rw_model_format_at_index(i)) != NULL; i++) {
        struct rw_model *model = fixture_random_model(scratch_ctx, 3, 3, 2, 1);
        size_t n;
        if (format->imports) {
            convert_round_trip(format->name, 0);
            convert_fit(model, &format->consumer[0].rules);
            char *text = convert_write(scratch_ctx, model, format, -1, &n);
            convert_damaged(format->name, text, n);
            rw_mem_free(text);
        }
        rw_model_free(model);
    }
}

/* Every allocation of the library's own fails once, and all after it. */
Test(exchange, out_of_memory)
{
    struct rw_model *model = plain_model();
    struct rw_dataset *data = fixture_dataset(scratch_ctx, 20, 4, 0, 1);
    struct rw_model_format_info info;
    cr_assert_eq(RW_NEW(scratch_ctx, data->query_offset, 2), RW_OK);
    data->n_queries = 1;
    data->query_offset[1] = 20;
    for (uint32_t c = 0; c < data->n_columns; c++) { /* nothing missing: all formats agree */
        for (uint32_t d = 0; d < 20; d++)
            data->column[c].value[d] = (float)(d % 5) - 2.0f;
    }
    int last = 0, i = 0;
    for (; !last; i++) {
        last = !rw_model_format_at(i, &info); /* once more: Solr, with a feature set */
        if (last)
            info = (struct rw_model_format_info){.name = "solr"};
        struct rw_exchange how = convert_exchange(info.name, 0);
        if (last)
            convert_use_set(&how, "\"class\":\"x\",\"store\":\"s\"");
        long n = 1;
        for (int status = RW_ERR_MEMORY; status != RW_OK; n += EACH(11)) {
            rw_mem_fail_from(n);
            status = all_three(model, &how, info.imports, data);
            rw_mem_fail_from(0);
            cr_assert(status == RW_OK || status == RW_ERR_MEMORY, "%s, allocation %ld: %d, %s",
                      info.name, n, status, rw_last_error(scratch_ctx));
        }
        cr_assert_gt(n, 20, "%s", info.name);
    }
    rw_dataset_free(data);
    rw_model_free(model);
}

/* A tree's counts are written to the file and read back; a leaf without documents has 1. */
Test(exchange, covers_travel)
{
    static const char head[] =
        "rankwood model 6\nabsent zero\ncolumns letor\nbest-round 0\nfinished yes\nempty-rounds "
        "0\n\n"
        "params 0\n\nearlier 0\n\nfeatures 1\n1\n\nnames 0\n\nmetrics 0 rounds 0\n\n"
        "trees 1\n\ntree 1 leaves 3\n"
        "node 0 feature 1 <= 0.5 left node 1 right leaf 2 missing left gain 1\n"
        "node 1 feature 1 <= 0.25 left leaf 0 right leaf 1 missing left gain 1\n";
    static const char *const leaves[] = {
        "leaf 0 -1 docs 30 hessian 1.5\nleaf 1 2 docs 4 hessian 2\nleaf 2 3 docs 66 hessian 4\n\n",
        "leaf 0 -1 docs 30 hessian 1.5\nleaf 1 2 docs 0 hessian 0\nleaf 2 3 docs 0.5 hessian 0\n\n",
        "leaf 0 -1\nleaf 1 2\nleaf 2 3\n\n"};
    static const double docs[][3] = {{30, 4, 66}, {30, 1, 0.5}, {1, 1, 1}};
    static const char *const formats[] = {"lightgbm", "xgboost", "xgboost-ubj", "catboost"};
    for (int m = 0; m < 3; m++) {
        char text[1024];
        snprintf(text, sizeof(text), "%s%s", head, leaves[m]);
        struct rw_model *model = fixture_model(scratch_ctx, text);
        for (int f = 0; f < 4; f++) {
            const struct rw_exchange how = {.format = formats[f], .feature_base = 1};
            const int is_scaled = f == 0 && m == 1; /* to whole numbers */
            struct rw_model *back;
            scratch_log[0] = 0;
            cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s",
                         rw_last_error(scratch_ctx));
            cr_expect_eq(strstr(scratch_log, "1 of 1 trees have no document counts") != NULL,
                         m == 2, "%s", scratch_log);
            cr_assert_eq(rw_model_import(scratch_ctx, "out", &how, &back), RW_OK, "%s",
                         rw_last_error(scratch_ctx));
            const struct rw_tree *tree = &back->tree[0];
            cr_assert_not_null(tree->docs, "%s", formats[f]);
            for (int i = 0; i < 3; i++) {
                const int leaf = tree->leaf[i] < 0 ? 0 : (int)tree->leaf[i] - 1;
                const double scaled = rint(docs[m][leaf] * ((INT32_MAX / 4) / 31.5));
                cr_expect_eq(tree->docs[i], is_scaled ? scaled : docs[m][leaf],
                             "%s, %d: leaf %d: %g", formats[f], m, leaf, tree->docs[i]);
            }
            if (f == 0 && m == 0)
                cr_expect(tree->hessian[0] == 1.5f && tree->hessian[2] == 4.0f);
            rw_model_free(back);
        }
        char pmml[4096] = "";
        const struct rw_exchange how = {.format = "pmml", .feature_base = 1};
        cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK);
        FILE *file = fopen("out", "r");
        cr_assert_gt(fread(pmml, 1, sizeof(pmml) - 1, file), 0u);
        fclose(file);
        cr_expect_eq(strstr(pmml, "<Node id=\"n0\" recordCount=\"100.0\"") != NULL, m == 0);
        cr_expect_eq(strstr(pmml, "recordCount") != NULL, m < 2);
        rw_model_free(model);
    }
}
