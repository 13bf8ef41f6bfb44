/* Lists of features in parameters: features to use or to ignore, monotone constraints, feature
 * costs and interactions. Names become ids, and lists become arrays by feature id. An item of a
 * list is an id, a range of ids or a name, with a value after a ':' in some lists. */
#include "train/train.h"

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

void rw_names_warn(struct rw_ctx *ctx, const struct rw_training_features *set)
{
    int32_t n_unknown = 0, first = 0;
    for (int32_t i = set->n_names - 1; i >= 0; i--) {
        const uint32_t id = set->name[i].feature;
        const uint32_t at = rw_numbers_under(set->feature, set->n_features, id);
        if (at == set->n_features || set->feature[at] != id) {
            n_unknown++;
            first = i;
        }
    }
    if (n_unknown > 0)
        rw_log(ctx, RW_LOG_WARNING,
               "names: %d of %d features are not in the training set; the first is %u, '%.80s'",
               n_unknown, set->n_names, set->name[first].feature, set->name[first].name);
}

/* ---- lists by features ---- */

/* How items of a list assign values to features. */
struct list_kind {
    const char *parameter;
    const char *once; /* follows "each feature once" in the message: "" or " per group" */
    const char
        *expects; /* the value that must follow an item, for messages; NULL: items have no value */
    int is_sign;  /* 1: the value is + or -, read as 1 and -1; 0: it is a number */
};
static const struct list_kind kinds[] = {
    [RW_LIST_MARKS] = {"ignore", "", NULL, 0},
    [RW_LIST_MONOTONE] = {"monotone", "", "':+' or ':-'", 1},
    [RW_LIST_PENALTY] = {"feature-penalty", "", "':' and a number from 0 to 1e+30", 0},
    [RW_LIST_GROUP] = {"interactions", " per group", NULL, 0}};

/* Returns how many bytes of an item a message shows. */
static int shown(size_t length)
{
    return (int)(length > 64 ? 64 : length);
}

/* Returns the length of the item without its value: the number of bytes before its last ':'. It is
 * `length` if there is no ':' or if items have no value. */
static size_t features_length(const char *item, size_t length, int has_value)
{
    size_t at = length;
    while (has_value && at > 0 && item[at - 1] != ':')
        at--;
    return has_value && at > 0 ? at - 1 : length;
}

/* Reads the value of an item from its ':' on; without a value it is 1. Returns 0 for malformed
 * text. */
static int read_value(const struct list_kind *kind, const char *text, const char *end,
                      double *value)
{
    int clamped;
    *value = 1.0;
    if (!kind->expects)
        return 1;
    if (kind->is_sign && end - text == 2) {
        *value = text[1] == '-' ? -1.0 : 1.0;
        return text[1] == '-' || text[1] == '+';
    }
    return !kind->is_sign && end - text > 1 &&
           rw_number_parse_double(text + 1, end, value, &clamped) == end && *value >= 0.0 &&
           *value <= RW_MOST_PENALTY;
}

/* Reads a list, or one group of it up to ';', and moves *list after it. value: [RW_FEATURE_IDS],
 * written; 0 for features that are not in the list. */
static int read_values(struct rw_ctx *ctx, const struct list_kind *kind,
                       const struct rw_training_features *set, const char **list, double *value)
{
    uint8_t seen[RW_FEATURE_IDS] = {0};
    memset(value, 0, RW_FEATURE_IDS * sizeof(*value));
    for (int ends = 0; **list && !ends;) {
        const char *item = *list;
        const size_t length = strcspn(item, kind == &kinds[RW_LIST_GROUP] ? ",;" : ",");
        const size_t at = features_length(item, length, kind->expects != NULL);
        double own;
        long first, last;
        char text[RW_FEATURE_TEXT];
        if (!read_value(kind, item + at, item + length, &own) || (kind->expects && at == 0))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "%s: expected a feature id or name, then %s, found '%.*s'",
                           kind->parameter, kind->expects, shown(length), item);
        RW_TRY(
            rw_list_item(ctx, kind->parameter, item, at, set->name, set->n_names, &first, &last));
        for (long f = first; f <= last; f++) {
            if (seen[f])
                return rw_fail(
                    ctx, RW_ERR_ARGUMENT,
                    "%s: expected each feature once%s, found %s a second time, in '%.*s'",
                    kind->parameter, kind->once,
                    rw_feature_text(set->name, set->n_names, (uint32_t)f, text), shown(length),
                    item);
            seen[f] = 1;
            value[f] = own;
        }
        ends = item[length] == ';';
        RW_TRY(rw_list_next(ctx, kind->parameter, length, list));
    }
    return RW_OK;
}

int rw_list_values(struct rw_ctx *ctx, enum rw_list_kind kind, const char *list,
                   const struct rw_training_features *set, double *value)
{
    return read_values(ctx, &kinds[kind], set, &list, value);
}

int rw_interactions_parse(struct rw_ctx *ctx, struct rw_arena *arena, const char *list,
                          const struct rw_training_features *set, struct rw_interactions *out)
{
    double *value RW_FREED = NULL;
    out->n_groups = 1;
    for (const char *c = list; *c; c++)
        out->n_groups += *c == ';';
    out->n_words = (out->n_groups + 63) / 64;
    RW_TRY(RW_ARENA_NEW(ctx, arena, out->groups, (size_t)RW_FEATURE_IDS * out->n_words));
    RW_TRY(RW_NEW(ctx, value, RW_FEATURE_IDS));
    for (uint32_t group = 0; *list; group++) {
        RW_TRY(read_values(ctx, &kinds[RW_LIST_GROUP], set, &list, value));
        for (size_t f = 0; f < RW_FEATURE_IDS; f++)
            out->groups[f * out->n_words + group / 64] |= (uint64_t)value[f] << group % 64;
    }
    return RW_OK;
}

int rw_feature_list_check(struct rw_ctx *ctx, const char *parameter, int has_values,
                          const char *list, const struct rw_training_features *set,
                          const uint8_t *ignore)
{
    while (*list) {
        const size_t length = strcspn(list, has_values ? "," : ",;");
        const size_t end = features_length(list, length, has_values);
        long first, last;
        uint32_t n_used = 0;
        RW_TRY(rw_list_item(ctx, parameter, list, end, set->name, set->n_names, &first, &last));
        for (uint32_t f = rw_numbers_under(set->feature, set->n_features, (uint32_t)first);
             f < set->n_features && set->feature[f] <= (uint32_t)last; f++)
            n_used += !ignore || !ignore[set->feature[f]];
        if (n_used == 0)
            return rw_fail(ctx, RW_ERR_ARGUMENT, "%s: the training set has no feature '%.*s'%s",
                           parameter, shown(length), list, ignore ? " that is not ignored" : "");
        RW_TRY(rw_list_next(ctx, parameter, length, &list));
    }
    return RW_OK;
}

/* ---- lists as text with ids ---- */

struct list_text {
    char *text; /* NULL: empty */
    size_t room, used;
};

/* Appends the features whose value is not 0; neighbouring ids with equal values form a range.
 * separator: written before the first item, unless the text is empty. value: [RW_FEATURE_IDS] */
static int add_values(struct rw_ctx *ctx, struct list_text *list, const struct list_kind *kind,
                      char separator, const double *value)
{
    enum { ITEM = 64 };
    for (int first = 0, last; first <= RW_MAX_FEATURE; first = last + 1) {
        char to[16] = "", number[34] = "";
        for (last = first; last < RW_MAX_FEATURE && value[last + 1] == value[first];)
            last++;
        if (value[first] == 0.0)
            continue;
        if (last > first)
            snprintf(to, sizeof(to), "-%d", last);
        if (kind->is_sign)
            number[0] = value[first] > 0.0 ? '+' : '-';
        else if (kind->expects)
            number[rw_number_write_double(value[first], number)] = 0;
        RW_TRY(RW_GROW(ctx, list->text, list->room, list->used + ITEM));
        const char before[2] = {list->used ? separator : 0, 0};
        list->used += (size_t)snprintf(list->text + list->used, ITEM, "%s%d%s%s%s", before, first,
                                       to, *number ? ":" : "", number);
        separator = ',';
    }
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

int rw_list_text(struct rw_ctx *ctx, enum rw_list_kind kind, const double *value, char **out)
{
    struct list_text list = {NULL, 0, 0};
    return take_text(ctx, &list, add_values(ctx, &list, &kinds[kind], ',', value), out);
}

int rw_ignore_text(struct rw_ctx *ctx, const uint8_t *ignore, char **out)
{
    double *value RW_FREED = NULL;
    *out = NULL;
    RW_TRY(RW_NEW(ctx, value, RW_FEATURE_IDS));
    for (int f = 0; f < RW_FEATURE_IDS; f++)
        value[f] = ignore[f];
    return rw_list_text(ctx, RW_LIST_MARKS, value, out);
}

int rw_interactions_text(struct rw_ctx *ctx, const struct rw_interactions *interactions, char **out)
{
    struct list_text list = {NULL, 0, 0};
    double *value RW_FREED = NULL;
    int status = RW_NEW(ctx, value, RW_FEATURE_IDS);
    for (uint32_t g = 0; g < interactions->n_groups && status >= 0; g++) {
        for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
            value[f] = rw_groups_of(interactions, f)[g / 64] >> g % 64 & 1;
        status = add_values(ctx, &list, &kinds[RW_LIST_GROUP], ';', value);
    }
    return take_text(ctx, &list, status, out);
}

/* ---- constraints of a training ---- */

int rw_features_limit(struct rw_ctx *ctx, const char *list, const struct rw_training_features *set,
                      uint8_t *ignore)
{
    uint32_t n_found = 0;
    uint8_t *keep RW_FREED = NULL;
    RW_TRY(RW_NEW_RAW(ctx, keep, RW_FEATURE_IDS));
    RW_TRY(rw_list_parse(ctx, "features", list, set->name, set->n_names, keep));
    for (uint32_t f = 0; f < set->n_features; f++) {
        n_found += keep[set->feature[f]];
        if (!keep[set->feature[f]])
            ignore[set->feature[f]] = 1;
    }
    if (n_found == 0)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "features: the training set has no feature of '%.64s'",
                       list);
    return RW_OK;
}

/* Clears the values of ignored features, so that one list of constraints or costs serves every
 * choice of features. value: [n_lists], each [RW_FEATURE_IDS] or NULL for a missing list. */
static void clear_ignored(struct rw_feature_rules *rules, double *const *value, int n_lists)
{
    const struct rw_interactions *interactions = &rules->interactions;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++) {
        if (!rules->ignore[f])
            continue;
        for (int i = 0; i < n_lists; i++) {
            if (value[i])
                value[i][f] = 0.0;
        }
        for (uint32_t w = 0; interactions->groups && w < interactions->n_words; w++)
            interactions->groups[(size_t)f * interactions->n_words + w] = 0;
    }
}

static int interactions_by_ids(struct rw_feature_rules *rules, struct rw_ctx *ctx,
                               struct rw_params *params)
{
    char *text;
    if (!rules->interactions.groups)
        return RW_OK;
    RW_TRY(rw_interactions_text(ctx, &rules->interactions, &text));
    if (!*text) {
        rw_mem_free(text);
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "interactions: expected a group with features that are trained on, found '%.64s'",
            params->interactions);
    }
    return rw_params_own_text(ctx, params, RW_AT_PARAM_interactions, text);
}

int rw_feature_rules_init(struct rw_feature_rules *out, struct rw_ctx *ctx,
                          struct rw_params *params, const struct rw_training_features *set)
{
    enum { MONOTONE, GROUPS, PENALTY, N_LISTS };
    static const enum rw_list_kind lists[] = {RW_LIST_MONOTONE, RW_LIST_GROUP, RW_LIST_PENALTY};
    double *value[N_LISTS] = {NULL}; /* NULL stays for groups */
    struct rw_arena *arena = &out->arena;
    char *text;
    if (params->ignore[0]) {
        uint32_t n_found = 0;
        RW_TRY(RW_ARENA_NEW(ctx, arena, out->ignore, RW_FEATURE_IDS));
        RW_TRY(rw_list_parse(ctx, "ignore", params->ignore, set->name, set->n_names, out->ignore));
        for (uint32_t f = 0; f < set->n_features; f++)
            n_found += out->ignore[set->feature[f]];
        if (n_found == 0)
            rw_log(ctx, RW_LOG_WARNING, "ignore: the training set has no feature of this list");
    }
    for (int i = 0; i < N_LISTS; i++) {
        const char *list = rw_params_get(params, kinds[lists[i]].parameter);
        if (lists[i] == RW_LIST_GROUP && *list)
            RW_TRY(rw_interactions_parse(ctx, arena, list, set, &out->interactions));
        else if (*list) {
            RW_TRY(RW_ARENA_NEW(ctx, arena, value[i], RW_FEATURE_IDS));
            RW_TRY(rw_list_values(ctx, lists[i], list, set, value[i]));
        }
        RW_TRY(rw_feature_list_check(ctx, kinds[lists[i]].parameter,
                                     kinds[lists[i]].expects != NULL, list, set, out->ignore));
    }
    if (params->features[0]) {
        if (!out->ignore)
            RW_TRY(RW_ARENA_NEW(ctx, arena, out->ignore, RW_FEATURE_IDS));
        RW_TRY(rw_features_limit(ctx, params->features, set, out->ignore));
        clear_ignored(out, value, N_LISTS);
        RW_TRY(rw_ignore_text(ctx, out->ignore, &text));
        RW_TRY(rw_params_own_text(ctx, params, RW_AT_PARAM_ignore, text));
    }
    for (int i = 0; i < N_LISTS; i++) {
        if (!value[i])
            continue;
        RW_TRY(rw_list_text(ctx, lists[i], value[i], &text));
        RW_TRY(rw_params_own_text(ctx, params, rw_param_find(kinds[lists[i]].parameter), text));
    }
    RW_TRY(interactions_by_ids(out, ctx, params));
    out->penalty = params->feature_penalty[0] ? value[PENALTY] : NULL;
    if (!params->monotone[0])
        return RW_OK;
    RW_TRY(RW_ARENA_NEW(ctx, arena, out->monotone, RW_FEATURE_IDS));
    for (int f = 0; f < RW_FEATURE_IDS; f++)
        out->monotone[f] = (int8_t)value[MONOTONE][f];
    return RW_OK;
}
