#include "boost/features.h"

#include <string.h>

#include "base/mem.h"
#include "base/search.h"
#include "dataset/dataset.h"
#include "dataset/feature_list.h"
#include "io/names_file.h"

int rw_names_take(struct rw_ctx *ctx, const char *path, const struct rw_dataset *train,
                  struct rw_feature_name **out, int32_t *n)
{
    if (path[0])
        return rw_names_read(ctx, path, out, n);
    *out = NULL;
    *n = 0;
    if (!train->name)
        return RW_OK;
    RW_TRY(rw_names_for_model(ctx, train->name, train->n_names, out));
    *n = train->n_names;
    return RW_OK;
}

void rw_names_warn(struct rw_ctx *ctx, const struct rw_feature_name *names, int32_t n_names,
                   const uint32_t *feature, uint32_t n_features)
{
    int32_t n_unknown = 0, first = 0;
    for (int32_t i = n_names - 1; i >= 0; i--) {
        const uint32_t at = rw_numbers_under(feature, n_features, names[i].feature);
        if (at == n_features || feature[at] != names[i].feature) {
            n_unknown++;
            first = i;
        }
    }
    if (n_unknown > 0)
        rw_log(
            ctx, RW_LOG_WARNING,
            "names: %d of %d features are not in the training set, the first of them %u, '%.80s'",
            n_unknown, n_names, names[first].feature, names[first].name);
}

int rw_ignore_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                    int32_t n_names, uint8_t *ignore)
{
    return rw_list_parse(ctx, "ignore", list, names, n_names, ignore);
}

int rw_monotone_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                      int32_t n_names, int8_t *direction)
{
    memset(direction, 0, RW_FEATURE_IDS);
    while (*list) {
        const size_t length = strcspn(list, ",");
        long first, last;
        if (length < 3 || list[length - 2] != ':' ||
            (list[length - 1] != '+' && list[length - 1] != '-'))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "monotone: expected a feature's id or name, then :+ or :-, found "
                           "'%.*s'",
                           (int)(length > 64 ? 64 : length), list);
        RW_TRY(rw_list_item(ctx, "monotone", list, length - 2, names, n_names, &first, &last));
        for (long f = first; f <= last; f++) {
            if (direction[f])
                return rw_fail(ctx, RW_ERR_ARGUMENT,
                               "monotone: expected each feature once, found feature %ld a second "
                               "time, in '%.*s'",
                               f, (int)(length > 64 ? 64 : length), list);
            direction[f] = list[length - 1] == '+' ? 1 : -1;
        }
        RW_TRY(rw_list_next(ctx, "monotone", length, &list));
    }
    return RW_OK;
}

/* Of a list with so many letters behind each item. */
static int check_list(struct rw_ctx *ctx, const char *parameter, size_t behind, const char *list,
                      const struct rw_feature_name *names, int32_t n_names, const uint8_t *ignore,
                      const uint32_t *feature, uint32_t n_features)
{
    while (*list) {
        const size_t length = strcspn(list, ",");
        long first, last;
        uint32_t n_used = 0;
        RW_TRY(rw_list_item(ctx, parameter, list, length - behind, names, n_names, &first, &last));
        for (uint32_t f = rw_numbers_under(feature, n_features, (uint32_t)first);
             f < n_features && feature[f] <= (uint32_t)last; f++)
            n_used += !ignore || !ignore[feature[f]];
        if (n_used == 0)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "%s: expected features that the training set has%s, found '%.*s'",
                           parameter, ignore ? " and 'ignore' leaves in" : "",
                           (int)(length > 64 ? 64 : length), list);
        RW_TRY(rw_list_next(ctx, parameter, length, &list));
    }
    return RW_OK;
}

int rw_monotone_check(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                      int32_t n_names, const uint8_t *ignore, const uint32_t *feature,
                      uint32_t n_features)
{
    return check_list(ctx, "monotone", 2, list, names, n_names, ignore, feature, n_features);
}

int rw_categorical_check(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                         int32_t n_names, const uint8_t *ignore, const uint32_t *feature,
                         uint32_t n_features)
{
    return check_list(ctx, "categorical", 0, list, names, n_names, ignore, feature, n_features);
}

/* Runs of equal marks, but 0, as ids and ranges, each with what stands behind its mark. */
static int list_text(struct rw_ctx *ctx, const int8_t *mark, const char *(*behind)(int mark),
                     char **out)
{
    enum { ITEM = 24 };
    size_t room = 0, used = 0;
    char *text = NULL;
    for (int first = 0; first <= RW_MAX_FEATURE; first++) {
        if (!mark[first])
            continue;
        int last = first;
        while (last < RW_MAX_FEATURE && mark[last + 1] == mark[first])
            last++;
        const int status = RW_GROW(ctx, text, room, used + ITEM);
        if (status < 0) {
            rw_mem_free(text);
            *out = NULL;
            return status;
        }
        used += (size_t)snprintf(text + used, ITEM, last > first ? "%s%d-%d" : "%s%d",
                                 used ? "," : "", first, last);
        used += (size_t)snprintf(text + used, 3, "%s", behind(mark[first]));
        first = last;
    }
    if (!text)
        return rw_mem_copy_text(ctx, out, "");
    *out = text;
    return RW_OK;
}

static const char *nothing_behind(int mark)
{
    (void)mark;
    return "";
}

static const char *direction_behind(int mark)
{
    return mark > 0 ? ":+" : ":-";
}

int rw_ignore_text(struct rw_ctx *ctx, const uint8_t *ignore, char **out)
{
    return list_text(ctx, (const int8_t *)ignore, nothing_behind, out);
}

int rw_monotone_text(struct rw_ctx *ctx, const int8_t *direction, char **out)
{
    return list_text(ctx, direction, direction_behind, out);
}

void rw_ignore_warn(struct rw_ctx *ctx, const uint8_t *ignore, const uint32_t *feature,
                    uint32_t n_features)
{
    for (uint32_t f = 0; f < n_features; f++) {
        if (ignore[feature[f]])
            return;
    }
    rw_log(ctx, RW_LOG_WARNING, "ignore: the training set has none of these features");
}
