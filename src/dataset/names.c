#include "dataset/names.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "dataset/query_ids.h"

void rw_names_free(struct rw_feature_name *names, int32_t n)
{
    for (int32_t i = 0; names && i < n; i++)
        rw_mem_free(names[i].name);
    rw_mem_free(names);
}

int rw_names_copy(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                  struct rw_feature_name **out)
{
    int status = RW_OK;
    *out = NULL;
    if (n == 0)
        return RW_OK;
    RW_TRY(RW_NEW(ctx, *out, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        (*out)[i].feature = from[i].feature;
        RW_TRY_OUT(rw_mem_copy_text(ctx, &(*out)[i].name, from[i].name));
    }
    return RW_OK;
out:
    rw_names_free(*out, n);
    *out = NULL;
    return status;
}

int rw_names_are_same(const struct rw_feature_name *a, int32_t n_a, const struct rw_feature_name *b,
                      int32_t n_b)
{
    if (n_a != n_b)
        return 0;
    for (int32_t i = 0; i < n_a; i++) {
        if (a[i].feature != b[i].feature || strcmp(a[i].name, b[i].name) != 0)
            return 0;
    }
    return 1;
}

int rw_name_for_model(struct rw_ctx *ctx, const char *name, char **out)
{
    const size_t n = strlen(name);
    const int is_number = strspn(name, "0123456789-") == n;
    char *to;
    RW_TRY(RW_NEW(ctx, to, n + 2));
    *out = to;
    if (is_number)
        *to++ = '_';
    for (size_t i = 0; i < n; i++)
        to[i] = (unsigned char)name[i] <= ' ' || name[i] == ',' ? '_' : name[i];
    return RW_OK;
}

int rw_names_for_model(struct rw_ctx *ctx, const struct rw_feature_name *from, int32_t n,
                       struct rw_feature_name **out)
{
    struct rw_query_ids seen = {0}; /* a set of texts */
    struct rw_feature_name *names = NULL;
    size_t index;
    int status = RW_OK;
    *out = NULL;
    RW_TRY_OUT(RW_NEW(ctx, names, (size_t)n));
    for (int32_t i = 0; i < n; i++) {
        names[i].feature = from[i].feature;
        RW_TRY_OUT(rw_name_for_model(ctx, from[i].name, &names[i].name));
        RW_TRY_OUT(rw_query_ids_add(ctx, &seen, names[i].name, &index));
        if (status == 1)
            RW_TRY_OUT(rw_fail(ctx, RW_ERR_DATA,
                               "features '%.64s' and '%.64s' are both '%.64s' in a model\n"
                               "hint: blanks and commas become '_' there; give one of them another "
                               "name",
                               from[index].name, from[i].name, names[i].name));
    }
    *out = names;
    names = NULL;
out:
    rw_query_ids_release(&seen);
    rw_names_free(names, n);
    return status;
}

const char *rw_feature_text(const struct rw_feature_name *names, int32_t n, uint32_t feature,
                            char text[RW_FEATURE_TEXT])
{
    int32_t i = 0;
    while (i < n && names[i].feature != feature)
        i++;
    if (i < n && names[i].name[0])
        snprintf(text, RW_FEATURE_TEXT, "feature '%.140s'", names[i].name);
    else
        snprintf(text, RW_FEATURE_TEXT, "feature %u", feature);
    return text;
}
