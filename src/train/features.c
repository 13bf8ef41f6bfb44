#include "train/train.h"

#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "base/ctx.h"
#include "base/mem.h"
#include "dataset/names.h"

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

/* Of a list's items, with `separators` between them, the next one's length; *list is its start. */
static size_t item_length(const char *list, const char *separators)
{
    return strcspn(list, separators);
}

/* As a message shows an item. */
static int shown(size_t length)
{
    return (int)(length > 64 ? 64 : length);
}

/* Where an item's features end: at its last ':', if `has_value`. */
static size_t features_length(const char *item, size_t length, int has_value)
{
    size_t at = length;
    while (has_value && at > 0 && item[at - 1] != ':')
        at--;
    return has_value && at > 0 ? at - 1 : length;
}

static int found_twice(struct rw_ctx *ctx, const char *parameter, const char *where,
                       const struct rw_feature_name *names, int32_t n_names, long feature,
                       const char *item, size_t length)
{
    char text[RW_FEATURE_TEXT];
    return rw_fail(ctx, RW_ERR_ARGUMENT,
                   "%s: expected each feature once%s, found %s a second time, in '%.*s'", parameter,
                   where, rw_feature_text(names, n_names, (uint32_t)feature, text), shown(length),
                   item);
}

int rw_ignore_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                    int32_t n_names, uint8_t *ignore)
{
    return rw_list_parse(ctx, "ignore", list, names, n_names, ignore);
}

int rw_features_limit(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                      int32_t n_names, const uint32_t *feature, uint32_t n_features,
                      uint8_t *ignore)
{
    uint32_t n_found = 0;
    uint8_t *keep RW_FREED = NULL;
    RW_TRY(RW_NEW_RAW(ctx, keep, RW_FEATURE_IDS));
    RW_TRY(rw_list_parse(ctx, "features", list, names, n_names, keep));
    for (uint32_t f = 0; f < n_features; f++) {
        n_found += keep[feature[f]];
        if (!keep[feature[f]])
            ignore[feature[f]] = 1;
    }
    if (n_found == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "features: expected features that the training set has, found '%.64s'",
                       list);
    return RW_OK;
}

int rw_monotone_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                      int32_t n_names, int8_t *direction)
{
    memset(direction, 0, RW_FEATURE_IDS);
    while (*list) {
        const size_t length = item_length(list, ",");
        long first, last;
        if (length < 3 || list[length - 2] != ':' ||
            (list[length - 1] != '+' && list[length - 1] != '-'))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "monotone: expected a feature's id or name, then :+ or :-, found "
                           "'%.*s'",
                           shown(length), list);
        RW_TRY(rw_list_item(ctx, "monotone", list, length - 2, names, n_names, &first, &last));
        for (long f = first; f <= last; f++) {
            if (direction[f])
                return found_twice(ctx, "monotone", "", names, n_names, f, list, length);
            direction[f] = list[length - 1] == '+' ? 1 : -1;
        }
        RW_TRY(rw_list_next(ctx, "monotone", length, &list));
    }
    return RW_OK;
}

int rw_penalty_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                     int32_t n_names, double *penalty)
{
    for (int f = 0; f < RW_FEATURE_IDS; f++)
        penalty[f] = -1.0; /* not yet */
    while (*list) {
        const size_t length = item_length(list, ","), at = features_length(list, length, 1);
        const char *end = list + length;
        double value = -1.0;
        long first, last;
        int clamped = 0;
        if (at > 0 && at + 1 < length)
            end = rw_number_parse_double(list + at + 1, list + length, &value, &clamped);
        if (end != list + length || !(value >= 0.0) || !(value <= RW_MOST_PENALTY))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "feature-penalty: expected a feature's id or name, then : and a number "
                           "from 0 to %g, found '%.*s'",
                           RW_MOST_PENALTY, shown(length), list);
        RW_TRY(rw_list_item(ctx, "feature-penalty", list, at, names, n_names, &first, &last));
        for (long f = first; f <= last; f++) {
            if (penalty[f] >= 0.0)
                return found_twice(ctx, "feature-penalty", "", names, n_names, f, list, length);
            penalty[f] = value;
        }
        RW_TRY(rw_list_next(ctx, "feature-penalty", length, &list));
    }
    for (int f = 0; f < RW_FEATURE_IDS; f++)
        penalty[f] = penalty[f] < 0.0 ? 0.0 : penalty[f];
    return RW_OK;
}

int rw_interactions_parse(struct rw_ctx *ctx, const char *list, const struct rw_feature_name *names,
                          int32_t n_names, struct rw_interactions *out)
{
    uint32_t group = 0;
    out->n_groups = 1;
    for (const char *c = list; *c; c++)
        out->n_groups += *c == ';';
    out->n_words = (out->n_groups + 63) / 64;
    RW_TRY(RW_NEW(ctx, out->groups, (size_t)RW_FEATURE_IDS * out->n_words));
    while (*list) {
        const size_t length = item_length(list, ",;");
        const uint64_t bit = (uint64_t)1 << group % 64;
        long first, last;
        RW_TRY(rw_list_item(ctx, "interactions", list, length, names, n_names, &first, &last));
        for (long f = first; f <= last; f++) {
            uint64_t *word = &out->groups[(size_t)f * out->n_words + group / 64];
            if (*word & bit)
                return found_twice(ctx, "interactions", " in a group", names, n_names, f, list,
                                   length);
            *word |= bit;
        }
        group += list[length] == ';';
        RW_TRY(rw_list_next(ctx, "interactions", length, &list));
    }
    return RW_OK;
}

int rw_feature_list_check(struct rw_ctx *ctx, const char *parameter, int has_values,
                          const char *list, const struct rw_feature_name *names, int32_t n_names,
                          const uint8_t *ignore, const uint32_t *feature, uint32_t n_features)
{
    while (*list) {
        const size_t length = item_length(list, has_values ? "," : ",;");
        const size_t end = features_length(list, length, has_values);
        long first, last;
        uint32_t n_used = 0;
        RW_TRY(rw_list_item(ctx, parameter, list, end, names, n_names, &first, &last));
        for (uint32_t f = rw_numbers_under(feature, n_features, (uint32_t)first);
             f < n_features && feature[f] <= (uint32_t)last; f++)
            n_used += !ignore || !ignore[feature[f]];
        if (n_used == 0)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "%s: expected features that the training set has%s, found '%.*s'",
                           parameter, ignore ? " and 'ignore' leaves in" : "", shown(length), list);
        RW_TRY(rw_list_next(ctx, parameter, length, &list));
    }
    return RW_OK;
}

/* ---- lists by ids: the same text for the same meaning ---- */

struct list_text {
    char *text; /* NULL: empty */
    size_t room, used;
};

/* Features [first, last] with what stands behind them. separator: before them, unless they are the
 * first. */
static int add_item(struct rw_ctx *ctx, struct list_text *list, char separator, int first, int last,
                    const char *behind)
{
    enum { ITEM = 64 };
    RW_TRY(RW_GROW(ctx, list->text, list->room, list->used + ITEM));
    char *to = list->text + list->used;
    const char before[2] = {list->used ? separator : 0, 0};
    if (last > first)
        list->used += (size_t)snprintf(to, ITEM, "%s%d-%d%s", before, first, last, behind);
    else
        list->used += (size_t)snprintf(to, ITEM, "%s%d%s", before, first, behind);
    return RW_OK;
}

static int take_text(struct rw_ctx *ctx, struct list_text *list, int status, char **out)
{
    *out = NULL;
    if (status >= 0 && !list->text)
        return rw_mem_copy_text(ctx, out, "");
    if (status >= 0)
        *out = list->text;
    else
        rw_mem_free(list->text);
    return status;
}

/* Runs of equal marks, but 0. */
static int marks_text(struct rw_ctx *ctx, const int8_t *mark, const char *above, const char *below,
                      char **out)
{
    struct list_text list = {NULL, 0, 0};
    int status = RW_OK;
    for (int first = 0, last; first <= RW_MAX_FEATURE && status >= 0; first = last + 1) {
        for (last = first; last < RW_MAX_FEATURE && mark[last + 1] == mark[first];)
            last++;
        if (mark[first])
            status = add_item(ctx, &list, ',', first, last, mark[first] > 0 ? above : below);
    }
    return take_text(ctx, &list, status, out);
}

int rw_ignore_text(struct rw_ctx *ctx, const uint8_t *ignore, char **out)
{
    return marks_text(ctx, (const int8_t *)ignore, "", "", out);
}

int rw_monotone_text(struct rw_ctx *ctx, const int8_t *direction, char **out)
{
    return marks_text(ctx, direction, ":+", ":-", out);
}

int rw_penalty_text(struct rw_ctx *ctx, const double *penalty, char **out)
{
    struct list_text list = {NULL, 0, 0};
    int status = RW_OK;
    for (int first = 0, last; first <= RW_MAX_FEATURE && status >= 0; first = last + 1) {
        char behind[34] = ":";
        for (last = first; last < RW_MAX_FEATURE && penalty[last + 1] == penalty[first];)
            last++;
        behind[1 + rw_number_write_double(penalty[first], behind + 1)] = 0;
        if (penalty[first] > 0.0)
            status = add_item(ctx, &list, ',', first, last, behind);
    }
    return take_text(ctx, &list, status, out);
}

int rw_interactions_text(struct rw_ctx *ctx, const struct rw_interactions *interactions, char **out)
{
    struct list_text list = {NULL, 0, 0};
    int status = RW_OK;
    for (uint32_t g = 0; g < interactions->n_groups; g++) {
        const uint64_t bit = (uint64_t)1 << g % 64;
        char separator = ';';
        for (int f = 0, last; f <= RW_MAX_FEATURE && status >= 0; f = last + 1) {
            last = f;
            if (!(rw_groups_of(interactions, (uint32_t)f)[g / 64] & bit))
                continue;
            while (last < RW_MAX_FEATURE &&
                   rw_groups_of(interactions, (uint32_t)last + 1)[g / 64] & bit)
                last++;
            status = add_item(ctx, &list, separator, f, last, "");
            separator = ',';
        }
    }
    return take_text(ctx, &list, status, out);
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

/* ------------------------------------------------------------------ a training's rules */

static int check_list(struct rw_ctx *ctx, const struct rw_feature_rules *rules,
                      const struct rw_training_features *set, const char *parameter, int has_values,
                      const char *list)
{
    return rw_feature_list_check(ctx, parameter, has_values, list, set->name, set->n_names,
                                 rules->ignore, set->feature, set->n_features);
}

/* One list of directions, of groups or of costs serves any 'features': what it says of those that
 * these leave out is of no use, and forgotten. */
static int take_limit(struct rw_feature_rules *out, struct rw_ctx *ctx, struct rw_params *params,
                      const struct rw_training_features *set)
{
    struct rw_interactions *interactions = &out->interactions;
    if (!params->features[0])
        return RW_OK;
    if (!out->ignore)
        RW_TRY(RW_NEW(ctx, out->ignore, RW_FEATURE_IDS));
    RW_TRY(rw_features_limit(ctx, params->features, set->name, set->n_names, set->feature,
                             set->n_features, out->ignore));
    RW_TRY(rw_ignore_text(ctx, out->ignore, &out->ignore_text));
    params->ignore = out->ignore_text;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (!out->ignore[f])
            continue;
        if (out->monotone)
            out->monotone[f] = 0;
        if (out->penalty)
            out->penalty[f] = 0.0;
        for (uint32_t w = 0; interactions->groups && w < interactions->n_words; w++)
            interactions->groups[(size_t)f * interactions->n_words + w] = 0;
    }
    return RW_OK;
}

/* The texts by ids; a list of which nothing is left is none. */
static int make_texts(struct rw_feature_rules *out, struct rw_ctx *ctx, struct rw_params *params)
{
    if (out->monotone) {
        RW_TRY(rw_monotone_text(ctx, out->monotone, &out->monotone_text));
        params->monotone = out->monotone_text;
    }
    if (out->penalty) {
        RW_TRY(rw_penalty_text(ctx, out->penalty, &out->penalty_text));
        params->feature_penalty = out->penalty_text;
    }
    if (out->interactions.groups) {
        RW_TRY(rw_interactions_text(ctx, &out->interactions, &out->interactions_text));
        if (!out->interactions_text[0])
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "interactions: expected a group with some of 'features', found '%.64s'",
                           params->interactions);
        params->interactions = out->interactions_text;
    }
    if (out->monotone && !out->monotone_text[0]) {
        rw_mem_free(out->monotone);
        out->monotone = NULL;
    }
    if (out->penalty && !out->penalty_text[0]) {
        rw_mem_free(out->penalty);
        out->penalty = NULL;
    }
    return RW_OK;
}

int rw_feature_rules_init(struct rw_feature_rules *out, struct rw_ctx *ctx,
                          struct rw_params *params, const struct rw_training_features *set)
{
    if (params->ignore[0]) {
        RW_TRY(RW_NEW(ctx, out->ignore, RW_FEATURE_IDS));
        RW_TRY(rw_ignore_parse(ctx, params->ignore, set->name, set->n_names, out->ignore));
        rw_ignore_warn(ctx, out->ignore, set->feature, set->n_features);
    }
    if (params->monotone[0]) {
        RW_TRY(RW_NEW(ctx, out->monotone, RW_FEATURE_IDS));
        RW_TRY(rw_monotone_parse(ctx, params->monotone, set->name, set->n_names, out->monotone));
        RW_TRY(check_list(ctx, out, set, "monotone", 1, params->monotone));
    }
    if (params->interactions[0]) {
        RW_TRY(rw_interactions_parse(ctx, params->interactions, set->name, set->n_names,
                                     &out->interactions));
        RW_TRY(check_list(ctx, out, set, "interactions", 0, params->interactions));
    }
    if (params->feature_penalty[0]) {
        RW_TRY(RW_NEW(ctx, out->penalty, RW_FEATURE_IDS));
        RW_TRY(
            rw_penalty_parse(ctx, params->feature_penalty, set->name, set->n_names, out->penalty));
        RW_TRY(check_list(ctx, out, set, "feature-penalty", 1, params->feature_penalty));
    }
    RW_TRY(take_limit(out, ctx, params, set));
    return make_texts(out, ctx, params);
}

void rw_feature_rules_release(struct rw_feature_rules *rules)
{
    rw_mem_free(rules->ignore);
    rw_mem_free(rules->monotone);
    rw_mem_free(rules->penalty);
    rw_mem_free(rules->interactions.groups);
    rw_mem_free(rules->ignore_text);
    rw_mem_free(rules->monotone_text);
    rw_mem_free(rules->penalty_text);
    rw_mem_free(rules->interactions_text);
}
