/* The table of formats. */
#include <string.h>

#include "convert/convert.h"

static const struct rw_model_format *const formats[] = {
    &rw_to_ranklib,      &rw_to_quickrank, &rw_to_lightgbm, &rw_to_xgboost, &rw_to_xgboost_ubj,
    &rw_to_xgboost_dump, &rw_to_eslr_raw,  &rw_to_vespa,    &rw_to_c,       &rw_to_onnx,
    &rw_to_onnx5,        &rw_to_solr,      &rw_to_catboost, &rw_to_pmml,    NULL,
};

const struct rw_model_format *rw_model_format_at_index(int i)
{
    const int n = (int)(sizeof(formats) / sizeof(formats[0])) - 1;
    return i >= 0 && i < n ? formats[i] : NULL;
}

int rw_model_format_find(struct rw_ctx *ctx, const char *name, const struct rw_model_format **out)
{
    const char *names[sizeof(formats) / sizeof(formats[0])];
    int n = 0;
    *out = NULL;
    for (; formats[n]; n++) {
        names[n] = formats[n]->name;
        if (strcmp(name, names[n]) == 0) {
            *out = formats[n];
            return RW_OK;
        }
    }
    const char *near = rw_word_nearest(name, names, n);
    if (near)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "there is no format '%s'\nhint: did you mean '%s'?",
                       name, near);
    return rw_fail(ctx, RW_ERR_ARGUMENT, "there is no format '%s'", name);
}
