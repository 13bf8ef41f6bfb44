/* The formats that are XGBoost's saved model: xgboost, xgboost-ubj, and eslr-raw, as which
 * Elasticsearch and OpenSearch LTR take it ("model/xgboost+json+raw"): they know a feature by its
 * place among all, want all names, and leave base_score out. */
#include "convert/ubjson.h"
#include "convert/xgboost_model.h"

static int write_json(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    RW_TRY(rw_xgboost_write(ctx, ensemble, 0, put));
    rw_put_text(put, "\n");
    return put->status;
}

static int write_ubj(struct rw_ctx *ctx, const struct rw_ensemble *ensemble, struct rw_put *put)
{
    return rw_xgboost_write(ctx, ensemble, 1, put);
}

static int parse(struct rw_ctx *ctx, const struct rw_source *source, const char *leaf_name,
                 int binary, struct rw_ensemble *out)
{
    json_t *root;
    RW_TRY(binary ? rw_ubjson_load(ctx, source, &root) : rw_json_load(ctx, source, &root));
    const int status = rw_xgboost_parse(ctx, source, root, leaf_name, out);
    json_decref(root);
    return status;
}

static int parse_json(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    return parse(ctx, source, "split_conditions", 0, out);
}

static int parse_ubj(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    return parse(ctx, source, "split_conditions", 1, out);
}

static int parse_eslr(struct rw_ctx *ctx, const struct rw_source *source, struct rw_ensemble *out)
{
    return parse(ctx, source, "base_weights", 0, out);
}

static const struct rw_consumer xgboost[] = {
    {.name = "XGBoost", .rules = {RW_XGBOOST_RULES}},
    {0},
};

static const struct rw_consumer eslr[] = {
    {.name = "Elasticsearch and OpenSearch LTR", .rules = {RW_XGBOOST_RULES, .base_ignored = 1}},
    {.name = RW_OPENSEARCH_OLD_NAME,
     .rules = {RW_OPENSEARCH_OLD_RULES, .base_ignored = 1},
     .earlier = 1},
    {0},
};

const struct rw_model_format rw_to_xgboost = {
    .name = "xgboost",
    .about = "XGBoost's saved model, JSON",
    .consumer = xgboost,
    .names = RW_NAMES_GIVEN,
    .name_prefix = "f",
    .name_forbids = "[]<",
    .imports = 1,
    .write = write_json,
    .parse = parse_json,
};

const struct rw_model_format rw_to_xgboost_ubj = {
    .name = "xgboost-ubj",
    .about = "the same, UBJSON",
    .consumer = xgboost,
    .names = RW_NAMES_GIVEN,
    .name_prefix = "f",
    .name_forbids = "[]<",
    .imports = 1,
    .write = write_ubj,
    .parse = parse_ubj,
};

const struct rw_model_format rw_to_eslr_raw = {
    .name = "eslr-raw",
    .about = "XGBoost's JSON as Elasticsearch and OpenSearch LTR take it",
    .consumer = eslr,
    .names = RW_NAMES_ALL,
    .name_prefix = "f",
    .name_forbids = "",
    .write = write_json,
    .parse = parse_eslr,
};
