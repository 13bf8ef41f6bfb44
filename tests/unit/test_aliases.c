/* The one table of other trainers' words: each row leads to something that exists, and the words
 * that these trainers document are all in it. */
#include <criterion/criterion.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "params/params.h"
#include "metric/metric.h"

/* The next word of a row from *at on, but marks of programs; 0 at the end. */
static int next_word(const char **at, char word[64])
{
    size_t n;
    do {
        *at += strspn(*at, " ");
        n = strcspn(*at, " ");
        cr_assert_lt(n, 64u, "%s", *at);
        snprintf(word, 64, "%.*s", (int)n, *at);
        *at += n;
    } while (*word == '@');
    return n > 0;
}

/* Is there an option of this name in a command's table (src/cli)? */
static int is_option(const char *name)
{
    static const char *const of_all[] = {"config", "quiet", "verbose"};
    for (size_t i = 0; i < sizeof(of_all) / sizeof(of_all[0]); i++) {
        if (strcmp(of_all[i], name) == 0)
            return 1;
    }
    char row[80], line[512];
    snprintf(row, sizeof(row), "{\"%s\", ", name);
    glob_t files;
    int found = 0;
    cr_assert_eq(glob(RW_TESTS_DIR "/../src/cli/cmd_*.c", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        FILE *file = fopen(files.gl_pathv[i], "r");
        cr_assert_not_null(file, "%s", files.gl_pathv[i]);
        while (fgets(line, sizeof(line), file))
            found |= strstr(line, row) != NULL;
        fclose(file);
    }
    globfree(&files);
    return found;
}

Test(aliases, rows_are_written_as_the_header_says)
{
    int n = 0;
    for (const struct rw_alias *row = NULL; (row = rw_alias_next(row, NULL, NULL)); n++) {
        const size_t length = strlen(row->names);
        cr_assert(length > 2 && row->names[0] == ' ' && row->names[length - 1] == ' ', "'%s'",
                  row->names);
        for (const char *c = row->names; *c; c++)
            cr_expect(*c != '_' && !(*c >= 'A' && *c <= 'Z') && !(*c == ' ' && c[1] == ' '), "'%s'",
                      row->names);
        cr_expect(row->ours || row->note, "'%s' says nothing", row->names);
        if (row->note) {
            const size_t n_note = strlen(row->note);
            const int stops = row->note[n_note - 1] == '.' && row->note[n_note - 2] != '.';
            cr_expect(n_note > 5 && n_note < 120 && !stops, "%s", row->note);
        }
    }
    cr_expect_gt(n, 100);
}

Test(aliases, rows_name_existing_parameters)
{
    struct rw_ctx *ctx;
    struct rw_params *params;
    cr_assert_eq(rw_ctx_new(&ctx), RW_OK);
    cr_assert_eq(rw_params_new(ctx, &params), RW_OK);
    for (const struct rw_alias *row = NULL; (row = rw_alias_next(row, NULL, NULL));) {
        if (!row->parameter) {
            cr_expect(!row->ours || rw_param_find(row->ours) >= 0 || is_option(row->ours), "'%s'",
                      row->ours);
            continue;
        }
        cr_expect_geq(rw_param_find(row->parameter), 0, "'%s'", row->parameter);
        if (!row->ours)
            continue;
        char value[64];
        const int is_metric = strcmp(row->parameter, "metric") == 0;
        const int needs_cut = strcmp(row->ours, "p") == 0 || strcmp(row->ours, "recall") == 0;
        snprintf(value, sizeof(value), "%s%s", row->ours, is_metric && needs_cut ? "@10" : "");
        cr_expect_eq(rw_params_set(ctx, params, row->parameter, value), RW_OK, "%s",
                     rw_last_error(ctx));
    }
    rw_params_free(params);
    rw_ctx_free(ctx);
}

/* A Rankwood name never has another meaning, and no name has two meanings. */
Test(aliases, no_word_has_two_meanings)
{
    static const char *const of_train[] = {"valid",  "output", "log",     "init", "plan",
                                           "config", "quiet",  "verbose", "help"};
    char word[64];
    for (const struct rw_alias *row = NULL, *before = NULL; (row = rw_alias_next(row, NULL, NULL));
         before = row) {
        for (const char *at = row->names; next_word(&at, word);) {
            cr_expect_eq(rw_alias_next(before, row->parameter, word), row);
            if (!row->parameter)
                cr_expect_eq(rw_param_find(word), -1, "'%s' is ours", word);
            for (size_t k = 0; !row->parameter && k < sizeof(of_train) / sizeof(of_train[0]); k++)
                cr_expect_str_neq(word, of_train[k]);
            for (const struct rw_alias *other = row;
                 (other = rw_alias_next(other, row->parameter, word));) {
                cr_expect(!row->parameter, "the value '%s' of '%s' is in two rows", word,
                          row->parameter);
                cr_expect(row->ours && (!other->ours || strcmp(row->ours, other->ours) != 0),
                          "'%s' stands behind its own meaning", word);
            }
        }
    }
}

Test(aliases, no_word_stands_twice_in_a_row)
{
    for (const struct rw_alias *row = NULL; (row = rw_alias_next(row, NULL, NULL));) {
        char word[64];
        for (const char *at = row->names; next_word(&at, word);) {
            char between[70];
            snprintf(between, sizeof(between), " %s ", word);
            cr_expect_null(strstr(at, between), "'%s'", word);
        }
    }
}

/* Each mark is some of three letters, in their order, followed by names. */
Test(aliases, marks_say_which_programs_list_the_names)
{
    int n = 0;
    for (const struct rw_alias *row = NULL; (row = rw_alias_next(row, NULL, NULL));) {
        for (const char *mark = row->names; (mark = strstr(mark, " @")); mark++, n++) {
            const char *letter = "lxc", *c = mark + 2;
            for (; *c && *c != ' '; c++) {
                letter = strchr(letter, *c);
                cr_assert_not_null(letter, "'%s'", row->names);
                letter++;
            }
            cr_expect(!row->parameter && c[0] && c[1] && c[1] != '@', "'%s'", row->names);
        }
    }
    cr_expect_gt(n, 100);
    cr_expect_null(rw_alias_next(NULL, NULL, "@lxc"));
}

Test(aliases, words_are_found_however_they_are_written)
{
    const struct rw_alias *at = rw_alias_next(NULL, NULL, "num-leaves");
    cr_assert_not_null(at);
    cr_expect_str_eq(at->ours, "leaves");
    cr_expect_eq(rw_alias_next(NULL, NULL, "num_leaves"), at);
    cr_expect_eq(rw_alias_next(NULL, NULL, "NUM_Leaves"), at);
    cr_expect_eq(rw_alias_next(NULL, NULL, "--num_leaves"), at);
    cr_expect_null(rw_alias_next(at, NULL, "num_leaves"));
    cr_expect_null(rw_alias_next(NULL, NULL, ""));
    cr_expect_null(rw_alias_next(NULL, NULL, "--"));
    cr_expect_null(rw_alias_next(NULL, NULL, " "));
    cr_expect_null(rw_alias_next(NULL, NULL, "num leaves"));
    cr_expect_null(rw_alias_next(NULL, NULL, "rank:ndcg"));
    cr_expect_not_null(rw_alias_next(NULL, "objective", "Rank:NDCG"));
    cr_expect_not_null(rw_alias_next(NULL, "depth", "-1"));
    cr_expect_null(rw_alias_next(NULL, "leaves", "rank:ndcg"));
    char longer[200];
    memset(longer, 'a', sizeof(longer));
    longer[199] = 0;
    cr_expect_null(rw_alias_next(NULL, NULL, longer));
}

/* Parameters in the documents of these programs whose names differ from Rankwood's. */
static const char *const documented[] = {
    /* LightGBM, Parameters.rst */
    "task task_type objective_type app application boosting boosting_type boost "
    "data_sample_strategy"
    " train_data valid_data test_data num_iterations num_iteration n_iter num_tree num_trees"
    " num_round num_rounds nrounds num_boost_round n_estimators max_iter learning_rate"
    " shrinkage_rate eta num_leaves num_leaf max_leaves max_leaf max_leaf_nodes tree_learner"
    " num_threads num_thread nthread nthreads n_jobs device_type random_seed random_state"
    " deterministic force_col_wise force_row_wise histogram_pool_size max_depth min_data_in_leaf"
    " min_data_per_leaf min_data min_child_samples min_samples_leaf min_sum_hessian_in_leaf"
    " min_child_weight bagging_fraction sub_row subsample bagging bagging_freq subsample_freq"
    " bagging_seed bagging_by_query feature_fraction colsample_bytree feature_fraction_bynode"
    " colsample_bynode feature_fraction_seed extra_trees extra_seed early_stopping_round"
    " early_stopping_rounds early_stopping n_iter_no_change early_stopping_min_delta"
    " first_metric_only max_delta_step lambda_l1 reg_alpha lambda_l2 reg_lambda lambda "
    "linear_lambda"
    " min_gain_to_split min_split_gain drop_rate max_drop skip_drop xgboost_dart_mode uniform_drop"
    " drop_seed top_rate other_rate min_data_per_group max_cat_threshold cat_l2 cat_smooth"
    " max_cat_to_onehot monotone_constraints monotone_constraints_method monotone_penalty"
    " feature_contri forcedsplits_filename refit_decay_rate cegb_tradeoff path_smooth"
    " interaction_constraints verbosity input_model output_model saved_feature_importance_type"
    " snapshot_freq use_quantized_grad num_grad_quant_bins quant_train_renew_leaf"
    " stochastic_rounding linear_tree max_bin max_bins max_bin_by_feature min_data_in_bin"
    " bin_construct_sample_cnt data_random_seed is_enable_sparse enable_bundle use_missing"
    " zero_as_missing feature_pre_filter pre_partition two_round header label_column weight_column"
    " group_column query_id ignore_column ignore_feature blacklist categorical_feature"
    " forcedbins_filename save_binary precise_float_parser parser_config_file"
    " num_iteration_predict predict_raw_score predict_leaf_index predict_contrib pred_early_stop"
    " output_result convert_model objective_seed num_class is_unbalance scale_pos_weight sigmoid"
    " boost_from_average reg_sqrt alpha fair_c poisson_max_delta_step tweedie_variance_power"
    " lambdarank_truncation_level lambdarank_norm lambdarank_position_bias_regularization metrics"
    " metric_freq is_provide_training_metric training_metric eval_at ndcg_eval_at num_machines"
    " local_listen_port time_out machine_list_filename machines gpu_platform_id gpu_device_id"
    " gpu_use_dp num_gpu init_model eval_set eval_group init_score class_weight importance_type",
    /* XGBoost, parameter.rst */
    "booster nthread disable_default_eval_metric eta gamma min_split_loss max_depth"
    " min_child_weight max_delta_step subsample sampling_method colsample_bytree colsample_bylevel"
    " colsample_bynode reg_lambda reg_alpha tree_method scale_pos_weight updater refresh_leaf"
    " process_type grow_policy max_leaves max_bin num_parallel_tree monotone_constraints"
    " interaction_constraints max_cached_hist_node max_cat_to_onehot max_cat_threshold sample_type"
    " normalize_type rate_drop one_drop skip_drop base_score eval_metric seed_per_iteration"
    " lambdarank_pair_method lambdarank_num_pair_per_sample lambdarank_normalization"
    " lambdarank_score_normalization lambdarank_unbiased lambdarank_bias_norm ndcg_exp_gain"
    " num_round model_in model_out model_dir fmap dump_format name_pred pred_margin save_period"
    " xgb_model evals missing enable_categorical feature_weights base_margin ntree_limit"
    " iteration_range validate_parameters predictor gpu_id",
    /* CatBoost, training parameters */
    "loss_function custom_metric eval_metric iterations learning_rate random_seed l2_leaf_reg"
    " bootstrap_type bagging_temperature subsample sampling_frequency sampling_unit mvs_reg"
    " random_strength use_best_model best_model_min_trees grow_policy min_data_in_leaf max_leaves"
    " ignored_features one_hot_max_size has_time rsm nan_mode input_borders output_borders"
    " fold_permutation_block leaf_estimation_method leaf_estimation_iterations"
    " leaf_estimation_backtracking fold_len_multiplier approx_on_full_history class_weights"
    " class_names auto_class_weights scale_pos_weight boosting_type boost_from_average langevin"
    " diffusion_temperature posterior_sampling score_function monotone_constraints feature_weights"
    " first_feature_use_penalties penalties_coefficient per_object_feature_penalties"
    " model_shrink_rate model_shrink_mode early_stopping_rounds od_type od_pval od_wait task_type"
    " devices border_count max_bin feature_border_type logging_level metric_period verbose_eval"
    " snapshot_file snapshot_interval train_dir thread_count used_ram_limit gpu_ram_part "
    "cat_features"
    " group_id subgroup_id pairs baseline simple_ctr combinations_ctr max_ctr_complexity"
    " text_features embedding_features column_description learn_set test_set",
    /* RankLib, QuickRank, YDF */
    "ranker metric2t metric2T tvs kcv kcvmd save silent validate test load rank feature tree leaf"
    " shrinkage tc mls estop bag srate frate rtype qrel idv sparse thread algo num_trees"
    " num_thresholds num_leaves min_leaf_support end_after_rounds train_cutoff test_metric"
    " test_cutoff model_in model_out partial features restart_train shrinkage min_examples"
    " max_num_nodes growing_strategy validation_ratio ndcg_truncation ranking_group"
    " early_stopping_num_trees_look_ahead l2_regularization",
    /* scikit-learn, histogram and plain gradient boosting */
    "loss learning_rate max_iter max_leaf_nodes max_depth min_samples_leaf l2_regularization"
    " max_features max_bins categorical_features monotonic_cst interaction_cst warm_start"
    " early_stopping scoring validation_fraction n_iter_no_change tol random_state class_weight"
    " n_estimators subsample min_samples_split min_weight_fraction_leaf min_impurity_decrease alpha"
    " ccp_alpha sample_weight",
};

Test(aliases, documented_parameters_of_peers_are_known)
{
    char word[64];
    int n = 0;
    for (size_t i = 0; i < sizeof(documented) / sizeof(documented[0]); i++) {
        for (const char *at = documented[i]; next_word(&at, word); n++) {
            const int is_alias = rw_alias_next(NULL, NULL, word) != NULL;
            for (char *c = word; *c; c++)
                *c = *c == '_' ? '-' : *c;
            cr_expect(is_alias || rw_param_find(word) >= 0, "'%s' is not known", word);
        }
    }
    cr_expect_gt(n, 380);
    static const char *const objectives =
        "regression_l2 mse rmse l2_root mean_squared_error regression_l1 mae huber fair poisson"
        " quantile mape gamma tweedie binary multiclass multiclassova cross_entropy"
        " cross_entropy_lambda rank_xendcg xendcg xe_ndcg xe_ndcg_mart xendcg_mart rank:ndcg"
        " rank:pairwise rank:map reg:squarederror reg:logistic reg:pseudohubererror"
        " reg:absoluteerror reg:quantileerror reg:squaredlogerror reg:gamma reg:tweedie"
        " binary:logistic binary:logitraw binary:hinge count:poisson survival:cox survival:aft"
        " multi:softmax multi:softprob YetiRank YetiRankPairwise PairLogit PairLogitPairwise"
        " QueryRMSE QuerySoftMax QueryCrossEntropy StochasticRank LambdaMart Logloss CrossEntropy"
        " MAE Quantile MultiClass LAMBDAMART_NDCG LambdaMART MART RankNet ListNet AdaRank"
        " squared_error";
    static const char *const metrics =
        "auc ndcg map l1 l2 rmse quantile mape huber fair poisson gamma tweedie binary_logloss"
        " average_precision auc_mu mae pre error merror mlogloss aucpr NDCG DCG PFound"
        " RecallAt PrecisionAt MAP MRR ERR QueryRMSE QueryAUC RR P rmsle mphe";
    for (const char *at = objectives; next_word(&at, word);)
        cr_expect_not_null(rw_alias_next(NULL, "objective", word), "'%s' is not known", word);
    for (const char *at = metrics; next_word(&at, word);)
        cr_expect_not_null(rw_alias_next(NULL, "metric", word), "'%s' is not known", word);
}
