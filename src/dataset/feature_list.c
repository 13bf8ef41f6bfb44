#include "dataset/feature_list.h"

#include <ctype.h>
#include <string.h>

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
