#include "train/category_sets.h"

#include <stdio.h>

#include "base/mem.h"
#include "comm/comm.h"
#include "dataset/lexicon.h"
#include "dataset/names.h"
#include "train/features.h"

/* ---- which features ---- */

/* wanted: [RW_FEATURE_IDS], written: those that are named, or had by words here, or by the model.
 */
static int find_wanted(struct rw_ctx *ctx, const struct rw_params *params,
                       const struct rw_dataset *documents, const struct rw_model *init,
                       uint8_t *wanted)
{
    if (params->categorical[0]) {
        struct rw_feature_name *names;
        int32_t n_names;
        RW_TRY(rw_names_take(ctx, params->names, documents, &names, &n_names));
        const int status =
            rw_list_parse(ctx, "categorical", params->categorical, names, n_names, wanted);
        rw_names_free(names, n_names);
        RW_TRY(status);
    }
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        wanted[f] |= rw_lexicon_has(documents->lexicon, f) != 0;
    for (uint32_t i = 0; init && i < init->categories.n; i++)
        wanted[init->categories.of[i].feature] = 1;
    return RW_OK;
}

/* Of all ranks; *any: there are some. */
static int share_wanted(struct rw_ctx *ctx, uint8_t *wanted, int *any)
{
    uint32_t *all = NULL;
    uint64_t n = 0;
    int status;
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        n += wanted[f];
    RW_TRY(rw_comm_max(ctx, &n, 1));
    *any = n > 0;
    if (n == 0 || rw_n_ranks(ctx) == 1)
        return RW_OK;
    RW_TRY_OUT(rw_comm_agree(ctx, RW_NEW(ctx, all, RW_FEATURE_IDS)));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        all[f] = wanted[f];
    RW_TRY_OUT(rw_comm_all_reduce(ctx, all, RW_FEATURE_IDS, RW_COMM_U32, RW_COMM_MAX));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        wanted[f] = all[f] != 0;
out:
    rw_mem_free(all);
    return status;
}

int rw_category_has_missing(struct rw_ctx *ctx, const struct rw_feature_categories *of,
                            const struct rw_dataset *documents, int absent_missing, int *any)
{
    float *values = NULL;
    uint64_t found = 0;
    int status = RW_NEW_RAW(ctx, values, documents->n_docs);
    if (status == RW_OK)
        status = rw_categories_codes(ctx, of, documents, absent_missing, values);
    for (uint32_t doc = 0; status == RW_OK && doc < documents->n_docs && !found; doc++)
        found = values[doc] != values[doc];
    rw_mem_free(values);
    RW_TRY(rw_comm_agree(ctx, status));
    RW_TRY(rw_comm_max(ctx, &found, 1));
    *any = found != 0;
    return RW_OK;
}

/* ---- a model to go on from ---- */

/* One feature is compared with thresholds, or with words, in all trees of a model. */
static int check_init(struct rw_ctx *ctx, const uint8_t *wanted, const struct rw_model *init)
{
    for (int32_t t = 0; init && t < init->n_trees; t++) {
        const struct rw_tree *tree = &init->tree[t];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++) {
            char text[RW_FEATURE_TEXT];
            if (wanted[tree->feature[node]] && !rw_tree_by_set(tree, node))
                return rw_fail(
                    ctx, RW_ERR_ARGUMENT,
                    "categorical: expected features that the model to continue from "
                    "does not compare with thresholds, found %s in tree %d",
                    rw_feature_text(init->name, init->n_names, tree->feature[node], text), t + 1);
        }
    }
    return RW_OK;
}

/* The codes that `set` has of words, or of what has no code, by the codes of `to`, which has all of
 * the words of `from`: each word goes the way it went. */
static void recode_set(const struct rw_feature_categories *from,
                       const struct rw_feature_categories *to, struct rw_code_set *set)
{
    const struct rw_code_set was = *set;
    memset(set, 0, sizeof(*set));
    for (uint32_t code = 0; code <= to->n; code++) {
        const uint32_t old = code < to->n ? rw_category_of_word(from, to->word[code]) : from->n;
        if (rw_set_has(&was, old))
            rw_set_add(set, code);
    }
}

static int recode_init(struct rw_ctx *ctx, struct rw_category_sets *sets,
                       const struct rw_model *init)
{
    struct rw_model *view = &sets->init;
    *view = *init;
    view->categories = sets->categories;
    view->n_trees = 0;
    RW_TRY(RW_NEW(ctx, view->tree, (size_t)init->n_trees));
    for (; view->n_trees < init->n_trees; view->n_trees++) {
        struct rw_tree *tree = &view->tree[view->n_trees];
        RW_TRY(rw_tree_copy(ctx, &init->tree[view->n_trees], tree));
        for (int32_t node = 0; node < tree->n_leaves - 1; node++) {
            const uint32_t f = tree->feature[node];
            if (rw_tree_by_set(tree, node))
                recode_set(rw_categories_find(&init->categories, f),
                           rw_categories_find(&sets->categories, f), &tree->set[node]);
        }
    }
    return RW_OK;
}

const struct rw_model *rw_category_sets_init(const struct rw_category_sets *sets,
                                             const struct rw_model *init)
{
    return sets->init.tree ? &sets->init : init;
}

/* ---- all ---- */

static void note_shared(struct rw_ctx *ctx, const struct rw_dataset *data,
                        const struct rw_shared_codes *shared)
{
    char more[64] = "", text[RW_FEATURE_TEXT];
    if (shared->n_features == 0)
        return;
    if (shared->n_features > 1)
        snprintf(more, sizeof(more), ", and %u more feature%s too many", shared->n_features - 1,
                 shared->n_features == 2 ? " has" : "s have");
    rw_log(ctx, RW_LOG_NOTE,
           "%s has %zu categories%s: %u keep a code of their own, the others share one "
           "(--bins says how many, up to %d)",
           rw_feature_text(data->name, data->n_names, shared->feature, text), shared->n_words, more,
           shared->n_kept, RW_MAX_CATEGORIES);
}

/* What this rank can say of its features. wanted: as all ranks have it. */
static int check(struct rw_ctx *ctx, const struct rw_binned *train, const uint8_t *wanted,
                 const struct rw_model *init, struct rw_category_sets *sets)
{
    if (train->bins)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "categorical: expected a training set with values, and found codes of "
                       "another training");
    RW_TRY(check_init(ctx, wanted, init));
    RW_TRY(RW_NEW(ctx, sets->codes, RW_FEATURE_IDS));
    return rw_ignore_text(ctx, wanted, &sets->text);
}

int rw_category_features(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *documents, const struct rw_model *init,
                         uint8_t *wanted, int *any)
{
    RW_TRY(rw_comm_agree(ctx, find_wanted(ctx, params, documents, init, wanted)));
    return share_wanted(ctx, wanted, any);
}

int rw_category_sets_make(struct rw_ctx *ctx, const struct rw_params *params,
                          const struct rw_binned *train, const struct rw_dataset *documents,
                          const struct rw_model *init, struct rw_category_sets *sets)
{
    const struct rw_categories *kept = init ? &init->categories : NULL;
    struct rw_shared_codes shared;
    uint8_t *wanted = NULL;
    int any = 0;
    int status;
    RW_TRY_OUT(rw_comm_agree(ctx, RW_NEW(ctx, wanted, RW_FEATURE_IDS)));
    RW_TRY_OUT(rw_category_features(ctx, params, documents, init, wanted, &any));
    if (!any)
        goto out;
    sets->absent_missing = params->absent == 1;
    RW_TRY_OUT(rw_comm_agree(ctx, check(ctx, train, wanted, init, sets)));
    RW_TRY_OUT(rw_categories_make(ctx, wanted, documents, (uint32_t)params->bins,
                                  sets->absent_missing, kept, &sets->categories, &shared));
    note_shared(ctx, documents, &shared);
    for (uint32_t i = 0; i < sets->categories.n; i++)
        sets->codes[sets->categories.of[i].feature] = (uint16_t)(sets->categories.of[i].n + 1);
    if (kept && kept->n) {
        RW_TRY_OUT(rw_comm_agree(ctx, recode_init(ctx, sets, init)));
    }
out:
    rw_mem_free(wanted);
    return status;
}

int rw_category_sets_take(struct rw_ctx *ctx, struct rw_category_sets *sets, int set,
                          const struct rw_dataset *dataset, const struct rw_dataset **out)
{
    *out = dataset;
    if (!sets->codes)
        return RW_OK;
    if (dataset->codes)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "categorical: expected validation sets with values, and found codes");
    RW_TRY(RW_NEW(ctx, sets->recoded[set], 1));
    RW_TRY(rw_categories_recode(ctx, &sets->categories, dataset, sets->absent_missing,
                                sets->recoded[set]));
    *out = &sets->recoded[set]->dataset;
    return RW_OK;
}

int rw_category_sets_finish(struct rw_ctx *ctx, const struct rw_category_sets *sets,
                            struct rw_model *model)
{
    return rw_categories_copy(ctx, &sets->categories, &model->categories);
}

void rw_category_sets_release(struct rw_category_sets *sets)
{
    for (int set = 0; set < RW_MAX_SETS; set++) {
        if (sets->recoded[set])
            rw_recoded_release(sets->recoded[set]);
        rw_mem_free(sets->recoded[set]);
    }
    for (int32_t t = 0; sets->init.tree && t < sets->init.n_trees; t++)
        rw_tree_release(&sets->init.tree[t]);
    rw_mem_free(sets->init.tree);
    rw_categories_release(&sets->categories);
    rw_mem_free(sets->codes);
    rw_mem_free(sets->text);
}
