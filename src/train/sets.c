/* Prepares the data sets of a training: checks them, their columns and side columns, changes the
 * values of categorical features to codes, computes the gains of labels, and makes the fingerprints
 * that a checkpoint stores. It also explains why no tree could be split. */
#include "train/train.h"

#include "io/source.h"

int rw_workers_any(struct rw_ctx *ctx, uint8_t *mark)
{
    uint32_t *all RW_FREED = NULL;
    if (rw_n_workers(ctx) == 1)
        return RW_OK;
    RW_TRY(rw_comm_agree(ctx, RW_NEW(ctx, all, RW_FEATURE_IDS)));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        all[f] = mark[f];
    RW_TRY(rw_comm_all_reduce(ctx, all, RW_FEATURE_IDS, RW_COMM_U32, RW_COMM_MAX));
    for (uint32_t f = 0; f < RW_FEATURE_IDS; f++)
        mark[f] = all[f] != 0;
    return RW_OK;
}

int rw_sets_init(struct rw_sets *sets, struct rw_ctx *ctx, const struct rw_dataset *train,
                 const struct rw_dataset *const *valid, int n_valid)
{
    if (n_valid < 0 || n_valid > RW_MAX_SETS - 1)
        return rw_fail(ctx, RW_ERR_ARGUMENT, "too many validation sets: %d; expected at most %d",
                       n_valid, RW_MAX_SETS - 1);
    *sets = (struct rw_sets){.n_sets = 1 + n_valid};
    for (int set = 0; set < sets->n_sets; set++)
        sets->given[set] = sets->set[set] = set ? valid[set - 1] : train;
    return RW_OK;
}

void rw_sets_release(struct rw_sets *sets)
{
    for (int32_t t = 0; sets->recoded.tree && t < sets->recoded.n_trees; t++)
        rw_tree_release(&sets->recoded.tree[t]);
    rw_mem_free(sets->recoded.tree);
    rw_categories_release(&sets->categories);
    rw_mem_free(sets->categorical);
    rw_arena_free(&sets->arena);
    rw_binned_release(&sets->made);
}

/* Counts the documents and queries of each set on all workers. size: [n_sets] */
static int find_sizes(struct rw_ctx *ctx, const struct rw_sets *sets, uint64_t (*size)[2])
{
    for (int set = 0; set < sets->n_sets; set++) {
        size[set][0] = sets->set[set]->n_docs;
        size[set][1] = sets->set[set]->n_queries;
    }
    return rw_comm_sum(ctx, size[0], 2 * (size_t)sets->n_sets);
}

int rw_sets_find_train(struct rw_engine *engine, const struct rw_sets *sets,
                       unsigned char *is_train)
{
    /* side columns and query ids may differ */
    static const int parts[] = {RW_PRINT_DOCUMENTS, RW_PRINT_LABELS, RW_PRINT_QUERIES,
                                RW_PRINT_VALUES};
    struct rw_fingerprint train, other;
    uint64_t size[RW_MAX_SETS][2];
    int has_train = 0;
    RW_TRY(find_sizes(engine->ctx, sets, size));
    for (int set = 1; set < sets->n_sets; set++) {
        is_train[set] = 0;
        if (memcmp(size[set], size[0], sizeof(*size)) != 0)
            continue;
        if (!has_train)
            RW_TRY(rw_fingerprint_of_all(engine, 0, sets->set[0], &train));
        has_train = 1;
        RW_TRY(rw_fingerprint_of_all(engine, set, sets->set[set], &other));
        is_train[set] = 1;
        for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
            is_train[set] &= train.part[parts[i]] == other.part[parts[i]];
    }
    return RW_OK;
}

int rw_sets_check(struct rw_ctx *ctx, const struct rw_sets *sets, const struct rw_model *init,
                  int measures_training, int on_gpu)
{
    const struct rw_binned *train = &sets->train;
    const struct rw_dataset *documents = sets->set[0];
    const struct rw_cuts *cuts = train->bins ? train->bins->cuts : NULL;
    /* Continuing from a model needs values or the model's scores. Metrics of each of its rounds
     * need values. So do start scores, because the trees are added to them one by one, and a GPU.
     */
    if (init && !documents->n_columns && train->bins && !sets->made.bins &&
        (train->scored != init || measures_training || documents->start_score || on_gpu))
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "the training set has neither values nor scores of the model to continue "
                       "from (rw_binned_read with that model reads it)");
    for (int set = 1; set < sets->n_sets; set++) {
        const struct rw_bins *codes = sets->set[set]->codes.bins;
        if (codes && (codes->cuts != cuts || init))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "validation set %d was binned for a different training set", set);
        if (codes && on_gpu)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "validation set %d was binned for training on the CPU", set);
    }
    return RW_OK;
}

/* Makes a view with the columns of all workers. A worker's shard of a sparse matrix may have
 * fewer columns, or no documents. */
static int view_of_all(struct rw_ctx *ctx, const struct rw_dataset *set, uint32_t n_ids,
                       struct rw_column_view *out)
{
    struct rw_column_view view = rw_column_view_of(set);
    uint64_t columns_of_all[3] = {view.width, view.n_ids > n_ids ? view.n_ids : n_ids,
                                  (uint64_t)view.by_name};
    RW_TRY(rw_comm_max(ctx, columns_of_all, 3));
    *out = (struct rw_column_view){.width = (uint32_t)columns_of_all[0],
                                   .n_ids = (uint32_t)columns_of_all[1],
                                   .by_name = columns_of_all[2] != 0};
    return RW_OK;
}

int rw_sets_columns(struct rw_ctx *ctx, struct rw_sets *sets, const struct rw_model *init)
{
    const struct rw_training_features *features = &sets->features;
    const uint32_t n = features->n_features;
    struct rw_column_rule own = {.of = "the training set"}, *out = &sets->columns;
    struct rw_column_view view;
    RW_TRY(view_of_all(ctx, sets->given[0], n ? features->feature[n - 1] + 1 : 0, &view));
    own.kind = view.width     ? RW_COLUMNS_NUMBERED
               : view.by_name ? RW_COLUMNS_NAMED
                              : RW_COLUMNS_LETOR;
    own.width = view.by_name ? view.n_ids : view.width;
    own.n_ids = view.n_ids;
    *out = own;
    if (init) {
        view.what = "the training set";
        RW_TRY(rw_model_check_view(ctx, init, &view));
        if (init->columns != RW_COLUMNS_UNKNOWN)
            out->kind = init->columns;
        if (init->width > out->width)
            out->width = init->width;
        if (out->kind == RW_COLUMNS_LETOR)
            out->width = 0;
    }
    for (int set = 1; set < sets->n_sets; set++) {
        char what[40];
        snprintf(what, sizeof(what), "validation set %d", set);
        RW_TRY(view_of_all(ctx, sets->given[set], 0, &view));
        view.what = what;
        RW_TRY(rw_column_rule_check(ctx, &own, &view));
    }
    return RW_OK;
}

/* Checks displayed positions. RW_ERR_ARGUMENT: the objective needs them and they are missing. It
 * warns if they have no use, unless there was a warning about the parameter `positions`. */
static int check_positions(struct rw_ctx *ctx, const struct rw_params *params,
                           const struct rw_objective *objective, const struct rw_dataset *train)
{
    const int has = train->position != NULL, used = objective && objective->uses_positions;
    const char *needs = rw_param_rows[RW_AT_PARAM_positions].needs; /* "parameter value|value" */
    if (used && !has)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "parameter '%s' is set, but the training set has no positions\nhint: --positions FILE "
            "holds the displayed position of each document (rw_dataset_set_side_column)",
            objective->chosen_by);
    if (has && !used && !params->is_idle[RW_AT_PARAM_positions])
        rw_log(ctx, RW_LOG_WARNING,
               "the training set's positions are not used: parameter '%.*s' is off",
               (int)strcspn(needs, " "), needs);
    return RW_OK;
}

/* Returns the number of labels per document that train; 0: only the data's label. */
static int n_labels_of(const struct rw_params *params)
{
    double weight[RW_MAX_LABELS];
    return params->label_weights[0] ? rw_label_weights(params->label_weights, weight) : 0;
}

int rw_labels_check(struct rw_ctx *ctx, const struct rw_params *params,
                    const struct rw_objective *objective, const struct rw_dataset *train)
{
    const int n = n_labels_of(params);
    if (n && !objective)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'label-weights' has no effect with a custom objective");
    if (n && train->n_docs && train->n_more_labels + 1 != n)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "parameter 'label-weights' has %d weights, but the training set has %d label%s per "
            "document\nhint: pass further labels by --labels FILE, by --label-columns of CSV and "
            "TSV, or in the cache (rw_dataset_set_side_column)",
            n, train->n_more_labels + 1, train->n_more_labels ? "s" : "");
    if (!n && train->n_more_labels && !params->is_idle[RW_AT_PARAM_labels])
        rw_log(ctx, RW_LOG_WARNING,
               "the training set's further labels are not used: parameter 'label-weights' is not "
               "set");
    return RW_OK;
}

int rw_train_check_files(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *train)
{
    struct rw_params shallow = *params; /* texts are borrowed */
    for (int i = 0; i < RW_SIDE_COLUMNS; i++) {
        const struct rw_side_column *column = &rw_side_columns[i];
        const int at = rw_param_find(column->name);
        if (rw_params_file(&shallow, at) && !params->is_idle[at] && train->n_docs > 0 &&
            !rw_side_column_of(column, train))
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "parameter '%s' is set, but the training set has no %s "
                           "(rw_dataset_read_side_column)",
                           column->name, column->plural);
    }
    return RW_OK;
}

int rw_train_check_sides(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_objective *objective, const struct rw_dataset *train)
{
    RW_TRY(check_positions(ctx, params, objective, train));
    RW_TRY(rw_labels_check(ctx, params, objective, train));
    RW_TRY(rw_train_check_files(ctx, params, train));
    if (strcmp(params->pairs, "given") == 0 && !train->pairs.item)
        return rw_fail(ctx, RW_ERR_ARGUMENT,
                       "parameter 'pairs' is given, but the training set has no pairs\nhint: pass "
                       "them by --pairs-file (rw_dataset_set_pairs)");
    return RW_OK;
}

int rw_labels_gains(struct rw_ctx *ctx, struct rw_arena *arena, const struct rw_params *params,
                    const struct rw_gain_rule *gains, const struct rw_dataset *train, double **out)
{
    const int n = params->label_weights[0] ? n_labels_of(params) : 1;
    RW_TRY(RW_ARENA_NEW(ctx, arena, *out, (size_t)n * train->n_docs));
    for (int k = 0; k < n && train->n_docs; k++) {
        struct rw_dataset by_label = *train; /* borrows all */
        by_label.label = (float *)(uintptr_t)rw_dataset_labels_of(train, k);
        const int status = rw_gains(ctx, gains, &by_label, *out + (size_t)k * train->n_docs);
        if (status < 0 && k > 0)
            return rw_fail(ctx, status, "label %d of each document: %s", k + 1,
                           ctx ? rw_last_error(ctx) : "");
        RW_TRY(status);
    }
    return RW_OK;
}

int rw_labels_rule(struct rw_ctx *ctx, const struct rw_objective *objective,
                   struct rw_objective_rule *rule, const double *gains,
                   const struct rw_dataset *train)
{
    double most[RW_MAX_LABELS] = {0};
    const int n = rule->n_labels ? rule->n_labels : 1;
    for (int k = 0; gains && k < n; k++) {
        for (uint32_t i = 0; i < train->n_docs; i++) {
            const double gain = gains[(size_t)k * train->n_docs + i];
            most[k] = gain > most[k] ? gain : most[k];
        }
    }
    RW_TRY(rw_comm_max_doubles(ctx, most, (size_t)n));
    rule->max_gain = most[0];
    for (int k = 0; k < rule->n_labels; k++)
        rule->label[k].max_gain = most[k];
    return rw_objective_sum(ctx, objective, rule, train);
}

const char *rw_print_name(int part)
{
    static const char *const name[RW_PRINT_SIDES] = {"documents", "queries", "query-ids",
                                                     "labels",    "weights", "values"};
    return part < RW_PRINT_SIDES ? name[part]
                                 : rw_side_columns[part - RW_PRINT_SIDES + RW_SIDE_PRINTED].print;
}

static uint64_t query_id_item(const struct rw_dataset *dataset, uint32_t query, uint64_t number)
{
    uint64_t sum = number;
    for (const char *c = rw_dataset_query_id(dataset, query); *c; c++)
        sum = rw_mix_item(sum, (unsigned char)*c);
    return rw_mix(sum);
}

/* Returns a query's given pairs as a number. Their order changes sums of doubles, so it counts. */
static uint64_t pairs_item(const struct rw_dataset *dataset, uint32_t query, uint64_t first_doc)
{
    uint64_t sum = 0, bits;
    for (size_t k = dataset->pairs.offset[query]; k < dataset->pairs.offset[query + 1]; k++) {
        const struct rw_given_pair *pair = &dataset->pairs.item[k];
        memcpy(&bits, &pair->weight, sizeof(bits));
        sum = rw_mix_item(sum, first_doc + pair->better);
        sum = rw_mix_item(sum, first_doc + pair->worse);
        sum = rw_mix_item(sum, bits);
    }
    return sum;
}

void rw_fingerprint_sides(const struct rw_dataset *dataset, uint64_t first_doc,
                          uint64_t first_query, struct rw_fingerprint *out)
{
    uint64_t *part = out->part;
    *out = (struct rw_fingerprint){{[RW_PRINT_DOCUMENTS] = dataset->n_docs}};
    for (uint32_t i = 0; i < dataset->n_docs; i++) /* -0 becomes 0 */
        part[RW_PRINT_LABELS] +=
            rw_mix_item(first_doc + i, rw_bits_of_float(dataset->label[i] + 0.0f));
    for (uint32_t q = 0; q < dataset->n_queries; q++) {
        const uint64_t number = first_query + q;
        part[RW_PRINT_QUERIES] += rw_mix_item(number, first_doc + dataset->query_offset[q]);
        part[RW_PRINT_QUERY_IDS] += query_id_item(dataset, q, number);
        if (dataset->pairs.item) /* the pairs include their weights */
            part[RW_PRINT_WEIGHTS] += pairs_item(dataset, q, first_doc);
    }
    for (int k = 0; k < RW_SIDE_COLUMNS; k++) {
        const struct rw_side_column *column = &rw_side_columns[k];
        const int at =
            k < RW_SIDE_PRINTED ? RW_PRINT_WEIGHTS : RW_PRINT_SIDES + k - RW_SIDE_PRINTED;
        const int has = column->size && !column->by_query && rw_side_column_of(column, dataset);
        for (uint32_t i = 0; has && i < dataset->n_docs; i++)
            part[at] += rw_side_column_item(column, dataset, i, first_doc + i);
    }
}

int rw_fingerprint_make(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                        uint64_t first_doc, uint64_t first_query, struct rw_fingerprint *out)
{
    const struct rw_cuts *cuts = engine->cuts;
    uint64_t *sums RW_FREED = NULL;
    rw_fingerprint_sides(dataset, first_doc, first_query, out);
    /* the codes of the values; bin boundaries have a separate fingerprint */
    RW_TRY(RW_NEW(engine->ctx, sums, cuts->n_features));
    RW_TRY(engine->ops->code_sums(engine, set, first_doc, sums));
    for (uint32_t f = 0; f < cuts->n_features; f++)
        out->part[RW_PRINT_VALUES] += sums[f] * rw_code_weight((uint64_t)cuts->feature[f] << 32);
    return RW_OK;
}

int rw_fingerprint_of_all(struct rw_engine *engine, int set, const struct rw_dataset *dataset,
                          struct rw_fingerprint *out)
{
    struct rw_ctx *ctx = engine->ctx;
    uint64_t first_doc, first_query, all;
    RW_TRY(rw_comm_before(ctx, dataset->n_docs, &first_doc, &all));
    RW_TRY(rw_comm_before(ctx, dataset->n_queries, &first_query, &all));
    RW_TRY(
        rw_comm_agree(ctx, rw_fingerprint_make(engine, set, dataset, first_doc, first_query, out)));
    return rw_comm_sum(ctx, out->part, RW_PRINTS);
}

uint64_t rw_fingerprint_boundaries(const struct rw_cuts *cuts)
{
    uint64_t sum = 0;
    for (uint32_t f = 0; f < cuts->n_features; f++) {
        const float *cut = cuts->cut + cuts->offset[f];
        const uint64_t feature = rw_mix_item(cuts->feature[f], cuts->has_missing[f]);
        for (uint32_t k = 0; k < rw_cuts_n_bins(cuts, f); k++)
            sum += rw_mix_item(feature + k, rw_bits_of_float(cut[k]));
    }
    return sum;
}

/* ---- finding the categorical features ---- */

/* Marks the features that the parameter names, those with text values in this worker's shard, and
 * those that are categorical in `init`. wanted: [RW_FEATURE_IDS] zeroed before */
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
        wanted[f] |= rw_vocabulary_has(documents->vocabulary, f) != 0;
    for (uint32_t i = 0; init && i < init->categories.n; i++)
        wanted[init->categories.of[i].feature] = 1;
    return RW_OK;
}

int rw_category_has_missing(struct rw_ctx *ctx, const struct rw_feature_categories *of,
                            const struct rw_dataset *documents, int absent_missing, int *any)
{
    float *values RW_FREED = NULL;
    uint64_t found = 0;
    int status = RW_NEW_RAW(ctx, values, documents->n_docs);
    if (status == RW_OK)
        status = rw_categories_codes(ctx, of, documents, absent_missing, values);
    for (uint32_t doc = 0; status == RW_OK && doc < documents->n_docs && !found; doc++)
        found = values[doc] != values[doc];
    RW_TRY(rw_comm_agree(ctx, status));
    RW_TRY(rw_comm_max(ctx, &found, 1));
    *any = found != 0;
    return RW_OK;
}

/* ---- the categories of the model to continue from ---- */

/* Fails if the model compares a categorical feature with thresholds: all its trees must use a
 * feature in the same way. */
static int check_init_features(struct rw_ctx *ctx, const uint8_t *wanted,
                               const struct rw_model *init)
{
    for (int32_t t = 0; init && t < init->n_trees; t++) {
        const struct rw_tree *tree = &init->tree[t];
        for (int32_t node = 0; node < tree->n_leaves - 1; node++) {
            char text[RW_FEATURE_TEXT];
            if (wanted[tree->feature[node]] && !rw_tree_by_set(tree, node))
                return rw_fail(
                    ctx, RW_ERR_ARGUMENT,
                    "categorical: the model to continue from compares %s with a threshold, in tree "
                    "%d",
                    rw_feature_text(init->name, init->n_names, tree->feature[node], text), t + 1);
        }
    }
    return RW_OK;
}

/* Translates a set of codes of the vocabulary `from` to codes of `to`, which contains all
 * categories of `from`. A category that `from` lacks is in the new set if the code of from's
 * unknown categories was in the old one. */
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

static int recode_init(struct rw_ctx *ctx, struct rw_sets *sets, const struct rw_model *init)
{
    struct rw_model *view = &sets->recoded;
    sets->init = view;
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

/* ---- preparing all sets ---- */

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
           "%s has %zu categories%s: %u of them get separate codes, the rest share one (--bins, at "
           "most %d)",
           rw_feature_text(data->name, data->n_names, shared->feature, text), shared->n_words, more,
           shared->n_kept, RW_MAX_CATEGORIES);
}

/* Checks that the training set has values and that the model fits the categorical features. Creates
 * category_codes and the parameter's text. wanted: as on all workers. */
static int check(struct rw_ctx *ctx, struct rw_sets *sets, const uint8_t *wanted,
                 const struct rw_model *init)
{
    if (sets->train.bins)
        return rw_fail(
            ctx, RW_ERR_ARGUMENT,
            "categorical: expected a training set with values, found codes of another training");
    RW_TRY(check_init_features(ctx, wanted, init));
    RW_TRY(RW_ARENA_NEW(ctx, &sets->arena, sets->category_codes, RW_FEATURE_IDS));
    return rw_ignore_text(ctx, wanted, &sets->categorical);
}

int rw_category_features(struct rw_ctx *ctx, const struct rw_params *params,
                         const struct rw_dataset *documents, const struct rw_model *init,
                         uint8_t *wanted, int *any)
{
    RW_TRY(rw_comm_agree(ctx, find_wanted(ctx, params, documents, init, wanted)));
    RW_TRY(rw_workers_any(ctx, wanted));
    *any = memchr(wanted, 1, RW_FEATURE_IDS) != NULL;
    return RW_OK;
}

int rw_sets_recode(struct rw_ctx *ctx, struct rw_sets *sets, int set,
                   const struct rw_categories *categories, int absent_missing)
{
    struct rw_dataset *view;
    RW_TRY(RW_ARENA_NEW(ctx, &sets->arena, view, 1));
    sets->set[set] = view;
    return rw_categories_recode(ctx, &sets->arena, categories, sets->given[set], absent_missing,
                                view);
}

static int recode_sets(struct rw_ctx *ctx, struct rw_sets *sets, int absent_missing)
{
    for (int set = 0; set < sets->n_sets; set++) {
        if (sets->given[set]->codes.bins)
            return rw_fail(ctx, RW_ERR_ARGUMENT,
                           "categorical: expected validation sets with values, found codes");
        RW_TRY(rw_sets_recode(ctx, sets, set, &sets->categories, absent_missing));
    }
    return RW_OK;
}

/* Replaces categories by codes in all sets and in the model to continue from. */
static int make_codes(struct rw_ctx *ctx, const struct rw_params *params, struct rw_sets *sets,
                      const struct rw_model *init)
{
    const struct rw_categories *kept = init ? &init->categories : NULL;
    const int absent_missing = params->absent == 1;
    struct rw_shared_codes shared;
    uint8_t *wanted RW_FREED = NULL;
    int any = 0;
    RW_TRY(rw_comm_agree(ctx, RW_NEW(ctx, wanted, RW_FEATURE_IDS)));
    RW_TRY(rw_category_features(ctx, params, sets->given[0], init, wanted, &any));
    if (!any)
        return RW_OK;
    RW_TRY(rw_comm_agree(ctx, check(ctx, sets, wanted, init)));
    RW_TRY(rw_categories_make(ctx, wanted, sets->given[0], (uint32_t)params->bins, absent_missing,
                              kept, &sets->categories, &shared));
    note_shared(ctx, sets->given[0], &shared);
    for (uint32_t i = 0; i < sets->categories.n; i++)
        sets->category_codes[sets->categories.of[i].feature] =
            (uint16_t)(sets->categories.of[i].n + 1);
    if (kept && kept->n)
        RW_TRY(rw_comm_agree(ctx, recode_init(ctx, sets, init)));
    return rw_comm_agree(ctx, recode_sets(ctx, sets, absent_missing));
}

int rw_sets_prepare(struct rw_ctx *ctx, const struct rw_params *params, struct rw_sets *sets,
                    const struct rw_model *init)
{
    uint64_t kinds[2] = {sets->train.bins != NULL, sets->train.bins == NULL};
    uint64_t size[RW_MAX_SETS][2];
    sets->init = init;
    RW_TRY(make_codes(ctx, params, sets, init));
    RW_TRY(rw_workers_docs(ctx, sets->set[0], &sets->all_docs));
    RW_TRY(find_sizes(ctx, sets, size));
    int stops = 1; /* the training set does not stop training */
    while (stops < sets->n_sets && memcmp(size[stops], size[0], sizeof(*size)) == 0)
        stops++;
    sets->valid_queries = sets->n_sets == 1 ? 0 : size[stops < sets->n_sets ? stops : 1][1];
    /* bags on a GPU share its codes */
    if (rw_n_workers(ctx) == 1 && (params->bags == 1 || strncmp(params->device, "cuda", 4) == 0))
        return RW_OK;
    RW_TRY(rw_comm_max(ctx, kinds, 2));
    if (kinds[0] && kinds[1])
        return rw_fail(ctx, RW_ERR_ARGUMENT, "the training set is binned on some workers only");
    RW_TRY(rw_comm_agree(ctx, rw_params_check(ctx, params, RW_PARAMS_TRAIN)));
    if (kinds[0])
        return RW_OK;
    struct rw_cut_rule rule = rw_params_cut_rule(params);
    rule.categories = sets->category_codes;
    RW_TRY(rw_dataset_codes(ctx, sets->set[0], &rule, &sets->made));
    struct rw_engine_cache *cache = sets->train.cache;
    if (sets->made.bins)
        sets->train = sets->made;
    sets->train.cache = cache;
    return RW_OK;
}

/* Returns 1 if some query has two documents with different gains. If `relevant` is not NULL, one of
 * the two must instead have a label of at least *relevant and the other a smaller one. It considers
 * all labels that training uses. */
static int any_pair(const struct rw_params *params, const struct rw_dataset *train,
                    const double *gain, const double *relevant)
{
    const int n = params->label_weights[0] ? train->n_more_labels + 1 : 1;
    for (int k = 0; k < n; k++, gain += train->n_docs) {
        const float *label = rw_dataset_labels_of(train, k);
        for (uint32_t q = 0; q < train->n_queries; q++) {
            for (uint32_t i = train->query_offset[q] + 1; i < train->query_offset[q + 1]; i++) {
                if (relevant
                        ? ((double)label[i] >= *relevant) != ((double)label[i - 1] >= *relevant)
                        : gain[i] != gain[i - 1])
                    return 1;
            }
        }
    }
    return 0;
}

static int any_weight(const struct rw_dataset *train)
{
    for (uint32_t i = 0; train->weight && i < train->n_docs; i++) {
        if (train->weight[i] > 0.0)
            return 1;
    }
    return train->weight == NULL;
}

/* Writes that --min-docs prevents splits, together with the other parameters min-... that differ
 * from their defaults. */
static void explain_limits(const struct rw_params *params, char *text, size_t size)
{
    struct rw_params shallow = *params; /* texts are borrowed */
    char more[128] = "";
    for (int at = 0; at < RW_N_PARAMS; at++) {
        const struct rw_param_info *info = &rw_param_rows[at].info;
        const char *value = rw_params_get(&shallow, info->name);
        const size_t n = strlen(more);
        if (strncmp(info->name, "min-", 4) == 0 && at != RW_AT_PARAM_min_docs &&
            strcmp(value, info->default_value) != 0)
            snprintf(more + n, sizeof(more) - n, " and --%s %s", info->name, value);
    }
    if (more[0])
        snprintf(text, size, "no split satisfies --min-docs %d%s (lower them)", params->min_docs,
                 more);
    else
        snprintf(text, size,
                 "no split of %d documents or more on each side has a gain (lower --min-docs)",
                 params->min_docs);
}

int rw_explain_no_split(struct rw_ctx *ctx, const struct rw_params *params,
                        const struct rw_sets *sets, const double *gain,
                        const struct rw_engine_info *info, char *text, size_t size)
{
    enum { WEIGHT, PAIR, FACTS };
    const struct rw_dataset *train = sets->set[0];
    const uint32_t all_docs = sets->all_docs;
    const double *relevant = rw_params_trains_on_relevance(params) ? &params->relevant : NULL;
    uint64_t any[FACTS] = {[WEIGHT] = any_weight(train),
                           [PAIR] = !gain || train->pairs.item ||
                                    any_pair(params, train, gain, relevant)};
    RW_TRY(rw_comm_max(ctx, any, FACTS));
    if (!any[WEIGHT])
        snprintf(text, size, "all weights are 0 (change --weights)");
    else if (!any[PAIR]) {
        const int has_own =
            train->n_docs == all_docs && rw_dataset_has_own_queries(train, text, size);
        if (!has_own && relevant)
            snprintf(text, size,
                     "no query has both relevant and other documents (check the labels, or "
                     "--relevant %g)",
                     *relevant);
        else if (!has_own)
            snprintf(text, size,
                     "no query has two documents with different gains (check the labels, or "
                     "--label-gain)");
    } else if (2 * (uint64_t)params->min_docs > all_docs)
        snprintf(text, size,
                 "--min-docs %d is more than half of the %u documents (lower --min-docs)",
                 params->min_docs, all_docs);
    else if (info->n_features == 0 && info->n_ignored && !info->n_few)
        snprintf(text, size, "every feature is ignored or constant (change --ignore)");
    else if (info->n_features == 0 && info->n_few)
        snprintf(text, size,
                 "no feature can leave --min-docs %d documents on both sides (lower --min-docs)",
                 params->min_docs);
    else if (info->n_features == 0)
        snprintf(text, size, "every feature is constant (check the data)");
    else if (params->monotone[0])
        snprintf(text, size,
                 "no split of %d documents or more on each side has a gain and satisfies "
                 "--monotone %.100s",
                 params->min_docs, params->monotone);
    else if (params->feature_penalty[0])
        snprintf(text, size,
                 "no split of %d documents or more on each side gains more than its "
                 "--feature-penalty %.100s (lower it)",
                 params->min_docs, params->feature_penalty);
    else
        explain_limits(params, text, size);
    return RW_OK;
}
