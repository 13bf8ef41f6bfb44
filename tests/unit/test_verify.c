/* A written model is read back, and every document that reaches another leaf is found. */
#include <float.h>

#include "convert_fixture.h"
#include "scratch_file.h"

TestSuite(verify, .init = scratch_begin, .fini = scratch_end, .timeout = 60);

enum { N_DOCS = 600 };

static struct rw_dataset *docs_of(const struct rw_model *model, int with_missing)
{
    static float values[N_DOCS * 12], labels[N_DOCS];
    uint32_t offsets[N_DOCS / 10 + 1];
    struct rw_dataset *data;
    (void)model;
    for (uint32_t i = 0; i < N_DOCS * 12; i++) {
        const uint32_t draw = fixture_below(5, i, 13);
        values[i] = draw == 12 && with_missing ? NAN : ((float)(draw % 9) - 4.0f) * 0.5f;
    }
    for (uint32_t q = 0; q <= N_DOCS / 10; q++)
        offsets[q] = q * 10;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, N_DOCS, 12,
                                        N_DOCS / 10, 1, &data),
                 RW_OK);
    return data;
}

static struct rw_verify verify(const struct rw_model *model, const char *format,
                               const struct rw_dataset *data)
{
    const struct rw_exchange how = convert_exchange(format, 0);
    struct rw_verify out;
    cr_assert_eq(rw_model_verify(scratch_ctx, model, &how, "out", data, &out), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    return out;
}

static void exported(const struct rw_model *model, const char *format)
{
    const struct rw_exchange how = convert_exchange(format, 0);
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
}

/* A split that separates missing values from all others. No threshold is above all floats, so
 * formats of `value < threshold` exchange its children. */
Test(verify, missing_against_all_others)
{
    const char *const formats[] = {"lightgbm", "xgboost",  "xgboost-ubj",     "xgboost-dump",
                                   "vespa",    "eslr-raw", "opensearch",      "elasticsearch",
                                   "catboost", "onnx",     "elasticsearch-ml"};
    struct rw_model *model = fixture_random_model(scratch_ctx, 8, 20, 6, 3);
    for (int32_t t = 0; t < model->n_trees; t++) {
        for (int32_t i = 0; i < model->tree[t].n_leaves - 1; i += 2) {
            model->tree[t].cut[i] = FLT_MAX;
            model->tree[t].missing_left[i] = 0;
        }
    }
    struct rw_dataset *data = docs_of(model, 1);
    for (size_t f = 0; f < sizeof(formats) / sizeof(formats[0]); f++) {
        const struct rw_exchange how = convert_exchange(formats[f], 0);
        exported(model, formats[f]);
        const struct rw_verify out = verify(model, formats[f], data);
        for (int i = 0; i < out.n; i++)
            cr_assert(out.by[i].earlier || out.by[i].n_differ == 0, "%s, %s", formats[f],
                      out.by[i].consumer);
        if (!convert_format(formats[f])->imports)
            continue;
        struct rw_model *back;
        cr_assert_eq(rw_model_import(scratch_ctx, "out", &how, &back), RW_OK, "%s: %s", formats[f],
                     rw_last_error(scratch_ctx));
        convert_same_model(model, back, 0);
        rw_model_free(back);
    }
    rw_dataset_free(data);
    rw_model_free(model);
}

Test(verify, every_format_sends_all_documents_the_same_way)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 8, 20, 6, 3);
    convert_plain_directions(model);
    struct rw_dataset *data = docs_of(model, 0);
    struct rw_model_format_info info;
    int n = 0;
    for (; rw_model_format_at(n, &info); n++) {
        const int is_solr = strcmp(info.name, "solr") == 0; /* its slack cannot represent a
                                                             * threshold of -1 */
        const struct rw_exchange how = convert_exchange(info.name, is_solr);
        cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        const struct rw_verify out = verify(model, info.name, data);
        for (int i = 0; i < out.n; i++) {
            cr_assert_eq(out.by[i].n_docs, N_DOCS);
            cr_assert_eq(out.by[i].n_differ, 0, "%s, %s: tree %d, node %d", info.name,
                         out.by[i].consumer, out.by[i].tree, out.by[i].node);
            cr_assert_eq(out.by[i].n_pairs, N_DOCS / 10 * 45);
        }
        cr_assert_geq(out.n, 1);
    }
    cr_assert_geq(n, 8);
    rw_dataset_free(data);
    rw_model_free(model);
}

/* One threshold of the file is the model's own value, as an importer that forgot `<` would write
 * it. */
Test(verify, a_wrong_threshold_is_found)
{
    struct rw_model *model = fixture_model(
        scratch_ctx, "rankwood model 1\nabsent zero\nbest-round 0\n\nparams 0\n\nfeatures 1\n1\n\n"
                     "names 0\n\nmetrics 0 rounds 0\n\ntrees 2\n\ntree 1 leaves 1\nleaf 0 0\n\n"
                     "tree 2 leaves 2\n"
                     "node 0 feature 1 <= 0.5 left leaf 0 right leaf 1 missing left gain 1\n"
                     "leaf 0 -1\nleaf 1 2\n\n");
    const float values[6] = {0, 0.5f, 1, 0.25f, 0.5f, 0.5f}, labels[6] = {0};
    const uint32_t offsets[3] = {0, 3, 6};
    struct rw_dataset *data;
    size_t n;
    cr_assert_eq(rw_dataset_from_memory(scratch_ctx, values, labels, offsets, 6, 1, 2, 1, &data),
                 RW_OK);
    exported(model, "xgboost");
    cr_assert_eq(verify(model, "xgboost", data).by[0].n_differ, 0);
    char *text = scratch_read("out", &n);
    char *at = strstr(text, "0.50000006");
    cr_assert_not_null(at);
    memcpy(at, "0.50000000", 10);
    scratch_write("out", text, n);
    const struct rw_verify out = verify(model, "xgboost", data);
    cr_assert_eq(out.by[0].n_differ, 3);
    cr_assert_eq(out.by[0].doc, 1);
    cr_assert_eq(out.by[0].tree, 2);
    cr_assert_eq(out.by[0].node, 0);
    cr_assert_eq(out.by[0].most, 3);
    /* ours: -1 -1 2 | -1 -1 -1; theirs: -1 2 2 | -1 2 2 */
    cr_assert_eq(out.by[0].n_pairs, 6);
    cr_assert_eq(out.by[0].n_pairs_moved, 4);
    free(text);
    rw_dataset_free(data);
    rw_model_free(model);
}

Test(verify, a_wrong_leaf_and_a_missing_tree_are_found)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 3, 6, 3, 4);
    convert_plain_directions(model);
    struct rw_dataset *data = docs_of(model, 0);
    exported(model, "lightgbm");
    model->tree[1].leaf[2] = nextafterf(model->tree[1].leaf[2], 9.0f);
    const struct rw_verify out = verify(model, "lightgbm", data);
    cr_assert_gt(out.by[0].n_differ, 0);
    cr_assert_eq(out.by[0].tree, 0); /* the same leaves, another score */
    const struct rw_exchange how = {.format = "lightgbm", .feature_base = -1};
    struct rw_verify again;
    model->n_trees--;
    cr_assert_eq(rw_model_verify(scratch_ctx, model, &how, "out", data, &again), RW_ERR_FORMAT);
    cr_assert_str_eq(rw_last_error(scratch_ctx), "the file has 3 trees, the model has 2");
    model->n_trees++;
    rw_dataset_free(data);
    rw_model_free(model);
}

Test(verify, directions_that_were_left_out)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 8, 20, 6, 3);
    struct rw_dataset *data = docs_of(model, 1);
    const struct rw_exchange how = {.format = "ranklib", .feature_base = -1, .lossy = 1};
    exported(model, "xgboost");
    cr_assert_eq(verify(model, "xgboost", data).by[0].n_differ, 0);
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK);
    cr_assert_not_null(strstr(scratch_log, "lost the direction of missing values at "));
    const struct rw_verify out = verify(model, "ranklib", data);
    cr_assert_gt(out.by[0].n_differ, N_DOCS / 10);
    cr_assert_lt(out.by[0].n_differ, N_DOCS);
    for (int n_threads = 1; n_threads < 6; n_threads += 2) { /* the same finding */
        cr_assert_eq(rw_ctx_set_threads(scratch_ctx, n_threads), RW_OK);
        const struct rw_verify again = verify(model, "ranklib", data);
        cr_assert_eq(again.by[0].n_differ, out.by[0].n_differ);
        cr_assert_eq(again.by[0].doc, out.by[0].doc);
        cr_assert_eq(again.by[0].tree, out.by[0].tree);
        cr_assert_eq(again.by[0].node, out.by[0].node);
        cr_assert_eq(again.by[0].most, out.by[0].most);
    }
    rw_dataset_free(data);
    rw_model_free(model);
}

/* Both nodes send missing values and 0 to different sides. Rankwood's leaves, with absent values
 * as 0 and as missing: 1 or 2, 2, 0 or 2, 2, 0, 1. */
Test(verify, missing_and_absent_values)
{
    static const char docs[] = "0 qid:1 1:nan\n0 qid:1 1:nan 2:1\n0 qid:1 2:nan\n"
                               "0 qid:1 1:-1 2:nan\n0 qid:1 1:0 2:0\n0 qid:1 1:-1 2:0\n";
    static const struct {
        const char *absent, *format; /* of the model; whose consumer takes it as it is written */
        uint64_t n_differ;
        uint32_t doc;
        int32_t node; /* of the first document */
    } cases[] = {
        {"zero", "lightgbm", 0, 0, 0},    /* as the model has it */
        {"missing", "lightgbm", 0, 0, 0}, /* the same */
        {"zero", "xgboost", 2, 0, 1},     /* absent is missing: documents 0, 2 */
        {"missing", "xgboost", 0, 0, 0},  /* the same */
        {"zero", "ranklib", 3, 0, 0},     /* both are 0: documents 0, 1, 3 */
        {"missing", "ranklib", 4, 0, 0},  /* documents 0, 1, 2, 3 */
    };
    const char *path = "docs.txt";
    struct rw_dataset *data;
    scratch_text(path, docs);
    cr_assert_eq(rw_dataset_read(scratch_ctx, &path, 1, &data), RW_OK, "%s",
                 rw_last_error(scratch_ctx));
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[512];
        snprintf(text, sizeof(text),
                 "rankwood model 1\nabsent %s\nbest-round 0\n\nparams 0\n\nfeatures 2\n1-2\n\n"
                 "names 0\n\nmetrics 0 rounds 0\n\ntrees 1\n\ntree 1 leaves 3\n"
                 "node 0 feature 1 <= -0.5 left node 1 right leaf 0 missing left gain 1\n"
                 "node 1 feature 2 <= 0.5 left leaf 1 right leaf 2 missing right gain 1\n"
                 "leaf 0 -1\nleaf 1 1\nleaf 2 2\n\n",
                 cases[i].absent);
        struct rw_model *model = fixture_model(scratch_ctx, text);
        const struct rw_exchange how = {.format = cases[i].format, .feature_base = -1, .lossy = 1};
        cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK, "%s",
                     rw_last_error(scratch_ctx));
        const struct rw_verify out = verify(model, cases[i].format, data);
        cr_expect_eq(out.by[0].n_differ, cases[i].n_differ, "%zu: %d", i, (int)out.by[0].n_differ);
        cr_expect_eq(out.by[0].doc, cases[i].doc, "%zu", i);
        cr_expect_eq(out.by[0].node, cases[i].node, "%zu: %d", i, out.by[0].node);
        rw_model_free(model);
    }
    rw_dataset_free(data);
}

/* The count by the plain definition. */
Test(verify, pairs)
{
    struct rw_model *model = fixture_random_model(scratch_ctx, 4, 9, 4, 8);
    struct rw_dataset *data = docs_of(model, 1);
    const struct rw_exchange how = {.format = "ranklib", .feature_base = -1, .lossy = 1};
    struct rw_model *back;
    static double ours[N_DOCS], theirs[N_DOCS];
    cr_assert_eq(rw_model_export(scratch_ctx, model, &how, "out"), RW_OK);
    cr_assert_eq(rw_model_import(scratch_ctx, "out", &how, &back), RW_OK);
    cr_assert_eq(rw_predict(scratch_ctx, model, data, 0, ours), RW_OK);
    cr_assert_eq(rw_predict(scratch_ctx, back, data, 0, theirs), RW_OK);
    uint64_t moved = 0;
    for (uint32_t q = 0; q < N_DOCS; q += 10) {
        for (uint32_t i = q; i < q + 10; i++) {
            for (uint32_t j = q; j < i; j++)
                moved +=
                    (ours[i] > ours[j]) - (ours[i] < ours[j]) !=
                    ((float)theirs[i] > (float)theirs[j]) - ((float)theirs[i] < (float)theirs[j]);
        }
    }
    cr_assert_gt(moved, 100);
    cr_assert_eq(verify(model, "ranklib", data).by[0].n_pairs_moved, moved);
    rw_model_free(back);
    rw_dataset_free(data);
    rw_model_free(model);
}
