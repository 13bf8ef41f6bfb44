/* The body of a request to Elasticsearch's and OpenSearch's learning-to-rank plugin that makes a
 * model of a feature set, POST _ltr/_featureset/SET/_createmodel: {"model":{"name","model":{"type",
 * "definition"}}}. The definition is XGBoost's dump, as a text: of the plugin's types the one that
 * asks for features by name and says where a missing value goes. A name that the set lacks fails
 * the request, so that what is written names the set's features only. */
#include <string.h>

#include "base/mem.h"
#include "convert/json_in.h"
#include "convert/xgboost_dump.h"
#include "convert/xgboost_rules.h"

#define LTR_TYPE "model/xgboost+json"

static int write_body(const struct rw_ensemble *ensemble, struct rw_put *put)
{
    struct rw_put dump = {.ctx = put->ctx};
    int status;
    RW_TRY_OUT(rw_xgboost_dump_put(ensemble, &dump));
    rw_put_bytes(&dump, "", 1);
    RW_TRY_OUT(dump.status);
    rw_put_text(put, "{\"model\":{\"name\":");
    rw_put_json_text(put, ensemble->model_name ? ensemble->model_name : "rankwood");
    rw_put_text(put, ",\n\"model\":{\"type\":\"" LTR_TYPE "\",\n\"definition\":");
    rw_put_json_text(put, dump.text);
    rw_put_text(put, "}}}\n");
    status = put->status;
out:
    rw_mem_free(dump.text);
    return status;
}

static int parse_body(struct rw_source *source, struct rw_ensemble *out)
{
    json_t *root = rw_json_load(source, 0);
    const json_t *request = rw_json_object(source, root, "model");
    rw_json_text(source, request, "name");
    const json_t *model = rw_json_object(source, request, "model");
    const char *type = rw_json_text(source, model, "type");
    const char *definition = rw_json_text(source, model, "definition");
    if (source->status == RW_OK && strcmp(type, LTR_TYPE) != 0)
        rw_refuse(source, "'type' is '%.60s'; expected " LTR_TYPE, type);
    if (source->status == RW_OK) {
        struct rw_source inner = *source;
        inner.text = definition;
        inner.n = strlen(definition);
        rw_keep(source, rw_xgboost_dump_parse(&inner, out));
    }
    json_decref(root);
    return source->status;
}

const struct rw_model_format rw_to_opensearch = {
    .name = "opensearch",
    .about = "OpenSearch LTR: the whole body of _createmodel (--featureset, --name)",
    .consumer = {{.name = "OpenSearch LTR", .rules = {RW_XGBOOST_RULES, .first_column = 1}},
                 {.name = RW_OPENSEARCH_OLD_NAME,
                  .rules = {RW_OPENSEARCH_OLD_RULES, .first_column = 1},
                  .earlier = 1}},
    .names = RW_NAMES_SET,
    .write = write_body,
    .parse = parse_body,
};

const struct rw_model_format rw_to_elasticsearch = {
    .name = "elasticsearch",
    .about = "Elasticsearch LTR: the whole body of _createmodel (--featureset, --name)",
    .consumer = {{.name = "Elasticsearch LTR", .rules = {RW_XGBOOST_RULES, .first_column = 1}}},
    .names = RW_NAMES_SET,
    .write = write_body,
    .parse = parse_body,
};
