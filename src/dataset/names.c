#include "dataset/names.h"

#include <ctype.h>
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

long rw_parse_id(const char *text, const char **end)
{
    long id = 0;
    const char *at = text;
    for (; isdigit((unsigned char)*at) && id <= RW_MAX_FEATURE; at++)
        id = id * 10 + (*at - '0');
    *end = at;
    return at == text || id > RW_MAX_FEATURE ? -1 : id;
}

int rw_list_item(struct rw_ctx *ctx, const char *parameter, const char *item, size_t length,
                 const struct rw_feature_name *names, int32_t n_names, long *first, long *last)
{
    const char *end;
    for (int32_t i = 0; i < n_names; i++) {
        if (strlen(names[i].name) == length && strncmp(names[i].name, item, length) == 0) {
            *first = *last = (long)names[i].feature;
            return RW_OK;
        }
    }
    *first = *last = rw_parse_id(item, &end);
    if (*first >= 0 && *end == '-')
        *last = rw_parse_id(end + 1, &end);
    if (*first < 0 || *last < *first || end != item + length)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "%s: expected a feature id (0 to %d), a range of ids or a feature's name, "
                       "found '%.*s'",
                       parameter, RW_MAX_FEATURE, (int)(length > 64 ? 64 : length), item);
    return RW_OK;
}

int rw_list_next(struct rw_ctx *ctx, const char *parameter, size_t length, const char **list)
{
    *list += length;
    const char separator = **list;
    if (separator && !*++*list)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "%s: expected a feature after the last '%c'",
                       parameter, separator);
    return RW_OK;
}

uint32_t rw_list_count(const char *list)
{
    uint32_t n = 0;
    while (*list) {
        const size_t length = strcspn(list, ",");
        const char *end;
        const long first = rw_parse_id(list, &end);
        const long last = first >= 0 && *end == '-' ? rw_parse_id(end + 1, &end) : first;
        n += end == list + length && last > first ? (uint32_t)(last - first) + 1 : 1;
        list += length;
        list += *list == ',';
    }
    return n;
}

int rw_list_parse(struct rw_ctx *ctx, const char *parameter, const char *list,
                  const struct rw_feature_name *names, int32_t n_names, uint8_t *marked)
{
    memset(marked, 0, RW_FEATURE_IDS);
    while (*list) {
        const size_t length = strcspn(list, ",");
        long first, last;
        RW_TRY(rw_list_item(ctx, parameter, list, length, names, n_names, &first, &last));
        memset(marked + first, 1, (size_t)(last - first) + 1);
        RW_TRY(rw_list_next(ctx, parameter, length, &list));
    }
    return RW_OK;
}
