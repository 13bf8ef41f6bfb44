/* Fuzzes the readers of other programs' models, each with every input. An accepted model must be
 * complete and must score. Its format's writer must write text that is read as the same trees,
 * or refuse with a reason. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "convert/convert.h"
#include "fuzz_input.h"

/* ---- JSON is parsed once for all readers ---- */

/* The linker redirects the library's json_loadb to this function (--wrap). Readers do not change
 * the parsed document. */
static struct {
    const char *text; /* [n] bytes of the input; NULL: the text is not the input */
    size_t n;
    struct {
        int is_known;
        size_t flags;
        json_t *root; /* owned; NULL: it is not JSON */
        json_error_t error;
    } parsed[2];
} input;

json_t *__real_json_loadb(const char *text, size_t n, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *text, size_t n, size_t flags, json_error_t *error);
json_t *__wrap_json_loadb(const char *text, size_t n, size_t flags, json_error_t *error)
{
    if (text != input.text || n != input.n || !error)
        return __real_json_loadb(text, n, flags, error);
    for (int i = 0; i < 2; i++) {
        if (!input.parsed[i].is_known) {
            input.parsed[i].is_known = 1;
            input.parsed[i].flags = flags;
            input.parsed[i].root = __real_json_loadb(text, n, flags, &input.parsed[i].error);
        }
        if (input.parsed[i].flags == flags) {
            *error = input.parsed[i].error;
            return json_incref(input.parsed[i].root);
        }
    }
    return __real_json_loadb(text, n, flags, error);
}

static void input_begin(const char *text, size_t n)
{
    memset(&input, 0, sizeof(input));
    input.text = text;
    input.n = n;
}

static void input_end(void)
{
    for (int i = 0; i < 2; i++)
        json_decref(input.parsed[i].root);
    memset(&input, 0, sizeof(input));
}

/* ---- models ---- */

/* An ensemble whose names the readers of features by name may meet. */
static void make_names(struct rw_ctx *ctx, struct rw_ensemble *names)
{
    static const char *const texts[] = {"f0", "f1", "f2", "f3"};
    struct rw_source source = {.ctx = ctx, .out = names};
    rw_set_columns(&source, 4);
    for (uint32_t i = 0; i < 4; i++)
        rw_add_name(&source, i, texts[i]);
    if (source.status < 0)
        abort();
}

static int parse(struct rw_ctx *ctx, const struct rw_model_format *format, struct rw_source *source,
                 struct rw_model **out)
{
    struct rw_ensemble ensemble = {0};
    *out = NULL;
    source->out = &ensemble;
    int status = format->parse(source);
    if (status == RW_OK)
        status = rw_ensemble_check(ctx, &ensemble, source->path);
    if (status == RW_OK)
        status = rw_raise(ctx, &ensemble, format, -1, source->path, out);
    rw_ensemble_release(&ensemble);
    return status;
}

/* No category is above RW_MAX_CATEGORY_ID: `of` says of which features such values would be. */
static void score(const struct rw_model *model, const struct rw_categories *of, double *scores)
{
    float values[4][4] = {{0.0f, 1.0f, -1.0f, 1e30f},
                          {1e-40f, -1e-35f, 0.5f, -1e30f},
                          {-0.5f, 2.0f, 1e6f, 0.25f},
                          {3.4e38f, -3.4e38f, 1e-6f, -1e-6f}};
    for (uint32_t f = 0; f < 4; f++) {
        for (int i = 0; i < 4 && rw_categories_find(of, f); i++)
            values[i][f] = fminf(values[i][f], 2147483520.0f); /* the greatest float below that */
    }
    for (int i = 0; i < 4; i++)
        scores[i] = rw_predict_one(model, values[i], 4);
}

static void write_again(struct rw_ctx *ctx, const struct rw_model_format *format,
                        const struct rw_model *model)
{
    const struct rw_lowering how = {.base = -1, .lossy = 1};
    struct rw_ensemble ensemble;
    struct rw_put put = {.ctx = ctx};
    struct rw_model *again;
    double before[4], after[4];
    /* two names alike, or a threshold at the largest float, may fail */
    if (rw_lower(ctx, model, format, &how, &ensemble) == RW_OK &&
        format->write(&ensemble, &put) == RW_OK) {
        rw_put_bytes(&put, "", 1);
        struct rw_source source = {ctx,       "input", put.text, put.n - 1,
                                   &ensemble, RW_OK,   format,   NULL};
        if (put.status < 0 || parse(ctx, format, &source, &again) < 0 ||
            again->n_trees != model->n_trees)
            abort();
        score(model, &model->categories, before);
        score(again, &model->categories, after);
        /* Directions may be left out, but these documents lack nothing. */
        if (memcmp(before, after, sizeof(before)) != 0)
            abort();
        rw_model_free(again);
    }
    rw_mem_free(put.text);
    rw_ensemble_release(&ensemble);
}

const char *const fuzz_words[] = {"tree",
                                  "version=v4",
                                  "num_class=1",
                                  "num_leaves=2",
                                  "split_feature=0",
                                  "threshold=0.5",
                                  "decision_type=2",
                                  "left_child=-1",
                                  "right_child=-2",
                                  "leaf_value=1 2",
                                  "num_cat=1",
                                  "cat_boundaries=0 1",
                                  "cat_threshold=3",
                                  "learner",
                                  "gradient_booster",
                                  "gbtree",
                                  "dart",
                                  "trees",
                                  "split_indices",
                                  "split_conditions",
                                  "left_children",
                                  "right_children",
                                  "base_weights",
                                  "default_left",
                                  "categories",
                                  "base_score",
                                  "weight_drop",
                                  "oblivious_trees",
                                  "splits",
                                  "float_feature_index",
                                  "border",
                                  "leaf_values",
                                  "leaf_weights",
                                  "scale_and_bias",
                                  "features_info",
                                  "float_features",
                                  "nan_value_treatment",
                                  "AsIs",
                                  "AsTrue",
                                  "AsFalse",
                                  "cat_feature_index",
                                  "ctr_data",
                                  "ensemble",
                                  "split",
                                  "pos",
                                  "left",
                                  "right",
                                  "feature",
                                  "threshold",
                                  "output",
                                  "<tree",
                                  "</tree>",
                                  "<split",
                                  "</split>",
                                  "weight",
                                  "PMML",
                                  "TreeModel",
                                  "SimplePredicate",
                                  "lessOrEqual",
                                  "greaterThan",
                                  "isMissing",
                                  "True",
                                  "Segmentation",
                                  "sum",
                                  "0",
                                  "1",
                                  "-1",
                                  "2",
                                  "0.5",
                                  "1e39",
                                  "-1e39",
                                  "1e308",
                                  "1e-46",
                                  "NaN",
                                  "Infinity",
                                  "nan",
                                  "null",
                                  "true",
                                  "false",
                                  "65535",
                                  "65536",
                                  "2147483647",
                                  "-2147483648",
                                  "4294967295",
                                  "[]",
                                  "{}",
                                  "\"\"",
                                  "f0",
                                  "f1",
                                  "f2",
                                  "f3",
                                  "nodes_modes",
                                  "BRANCH_LEQ",
                                  "BRANCH_LT",
                                  "BRANCH_GTE",
                                  "LEAF",
                                  "yes",
                                  "no",
                                  "nodeid",
                                  "depth",
                                  "children",
                                  "class",
                                  "org.apache.solr.ltr.model.MultipleAdditiveTreesModel",
                                  "params",
                                  "root",
                                  "value",
                                  "if",
                                  "&amp;",
                                  "&#0;",
                                  "<!DOCTYPE x>",
                                  "<![CDATA[x]]>",
                                  "<!-- -->",
                                  "\\\\u0000",
                                  NULL};

int fuzz_one(const uint8_t *data, size_t size)
{
    struct rw_ctx *ctx;
    struct rw_ensemble names = {0};
    char *text = malloc(size + 1);
    if (rw_ctx_new(&ctx) < 0 || !text)
        abort();
    int taken = 0;
    make_names(ctx, &names);
    memcpy(text, data, size);
    text[size] = 0; /* as rw_input_read_all gives it */
    input_begin(text, size);
    const struct rw_model_format *format;
    for (int i = 0; (format = rw_model_format_at_index(i)) != NULL; i++) {
        struct rw_source source = {ctx, "input", text, size, &names, RW_OK, format, NULL};
        struct rw_model *model;
        if (!format->parse)
            continue;
        const int status = parse(ctx, format, &source, &model);
        if (status < 0) {
            const char *message = rw_last_error(ctx);
            if (status != RW_ERR_FORMAT || strncmp(message, "input: ", 7) != 0 ||
                strchr(message, '\n'))
                abort();
            continue;
        }
        if (rw_model_check(ctx, model) < 0)
            abort();
        taken = 1;
        write_again(ctx, format, model);
        rw_model_free(model);
    }
    input_end();
    rw_ensemble_release(&names);
    rw_ctx_free(ctx);
    free(text);
    return taken;
}
