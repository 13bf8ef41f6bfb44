"""The names that other trainers' parameters have, as they list them themselves, and their defaults:
LightGBM 4.7 (with its aliases), XGBoost 3.2, CatBoost 1.2."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LIGHTGBM = _words(
    """
    alpha app application auc_mu_weights bagging bagging_by_query bagging_fraction
    bagging_fraction_seed bagging_freq bagging_seed bin_construct_sample_cnt blacklist boost
    boost_from_average boosting boosting_type bundle cat_column cat_feature cat_l2 cat_smooth
    categorical_column categorical_feature categorical_features cegb_penalty_feature_coupled
    cegb_penalty_feature_lazy cegb_penalty_split cegb_tradeoff class_weight colsample_bynode
    colsample_bytree config config_file contrib convert_model convert_model_file
    convert_model_language data data_filename data_random_seed data_sample_strategy data_seed
    deterministic device device_type drop_rate drop_seed early_stopping early_stopping_min_delta
    early_stopping_round early_stopping_rounds enable_bundle enable_sparse eta eval_at extra_seed
    extra_tree extra_trees fair_c fc feature_contri feature_contrib feature_fraction
    feature_fraction_bynode feature_fraction_seed feature_penalty feature_pre_filter
    first_metric_only force_col_wise force_row_wise forced_splits forced_splits_file
    forced_splits_filename forcedbins_filename forcedsplits_filename fp fs gpu_device_id
    gpu_device_id_list gpu_platform_id gpu_use_dp group group_column group_id has_header header
    hist_pool_size histogram_pool_size ignore_column ignore_feature importance_type input_model
    interaction_constraints is_enable_bundle is_enable_sparse is_pre_partition is_predict_contrib
    is_predict_leaf_index is_predict_raw_score is_provide_training_metric is_save_binary
    is_save_binary_file is_sparse is_training_metric is_unbalance l1_regularization
    l2_regularization label label_column label_gain lambda lambda_l1 lambda_l2 lambdarank_norm
    lambdarank_position_bias_regularization lambdarank_truncation_level leaf_index learning_rate
    linear_lambda linear_tree linear_trees local_listen_port local_port loss machine_list
    machine_list_file machine_list_filename machines map_at map_eval_at max_bin max_bin_by_feature
    max_bins max_cat_threshold max_cat_to_onehot max_delta_step max_depth max_drop max_iter max_leaf
    max_leaf_nodes max_leaf_output max_leaves max_tree_output mc mc_method mc_penalty metric
    metric_freq metric_types metrics min_child_samples min_child_weight min_data min_data_in_bin
    min_data_in_leaf min_data_per_group min_data_per_leaf min_gain_to_split min_hessian
    min_samples_leaf min_split_gain min_sum_hessian min_sum_hessian_in_leaf min_sum_hessian_per_leaf
    mlist model_in model_input model_out model_output monotone_constraining_method
    monotone_constraint monotone_constraints monotone_constraints_method monotone_penalty
    monotone_splits_penalty monotonic_cst ms_penalty multi_error_top_k n_estimators n_iter
    n_iter_no_change n_jobs name_pred ndcg_at ndcg_eval_at neg_bagging neg_bagging_fraction
    neg_sub_row neg_subsample nodes nrounds nthread nthreads num_boost_round num_class num_classes
    num_gpu num_grad_quant_bins num_iteration num_iteration_predict num_iterations num_leaf
    num_leaves num_machine num_machines num_round num_rounds num_thread num_threads num_tree
    num_trees objective objective_seed objective_type other_rate output_freq output_model
    output_result parser_config_file path_smooth poisson_max_delta_step port pos_bagging
    pos_bagging_fraction pos_sub_row pos_subsample pre_partition precise_float_parser
    pred_early_stop pred_early_stop_freq pred_early_stop_margin pred_name predict_contrib
    predict_disable_shape_check predict_leaf_index predict_name predict_raw_score predict_rawscore
    predict_result prediction_name prediction_result quant_train_renew_leaf query query_column
    query_id random_seed random_state rate_drop raw_score refit_decay_rate reg_alpha reg_lambda
    reg_sqrt save_binary save_period saved_feature_importance_type scale_pos_weight seed
    shrinkage_rate sigmoid skip_drop snapshot_freq sparse start_iteration_predict
    stochastic_rounding sub_feature sub_feature_bynode sub_row subsample subsample_for_bin
    subsample_freq task task_type test test_data test_data_file time_out top_k top_rate topk train
    train_data train_data_file train_metric training_metric tree tree_learner tree_learner_type
    tree_type tweedie_variance_power two_round two_round_loading unbalance unbalanced_sets
    uniform_drop use_missing use_quantized_grad use_two_round_loading valid valid_data
    valid_data_file valid_filenames verbose verbosity weight weight_column workers xgboost_dart_mode
    zero_as_missing
    """
)
XGBOOST = _words(
    """
    aft_loss_distribution alpha base_margin base_score booster callbacks colsample_bylevel
    colsample_bynode colsample_bytree device disable_default_eval_metric early_stopping_rounds
    enable_categorical eta eval_metric evals extmem_single_page feature_names feature_selector
    feature_types feature_weights gamma gpu_id group grow_policy huber_slope importance_type
    interaction_constraints lambda lambdarank_bias_norm lambdarank_normalization
    lambdarank_num_pair_per_sample lambdarank_pair_method lambdarank_score_normalization
    lambdarank_unbiased learning_rate max_bin max_cached_hist_node max_cat_threshold
    max_cat_to_onehot max_delta_step max_depth max_leaves min_child_weight min_split_loss missing
    monotone_constraints multi_strategy n_estimators n_jobs ndcg_exp_gain normalize_type nthread
    num_boost_round num_class num_parallel_tree objective one_drop predictor process_type qid
    quantile_alpha random_state rate_drop refresh_leaf reg_alpha reg_lambda sample_type
    sampling_method scale_pos_weight seed seed_per_iteration silent skip_drop subsample top_k
    tree_method tweedie_variance_power updater validate_parameters verbose_eval verbosity xgb_model
    """
)
CATBOOST = _words(
    """
    allow_const_label dev_efb_max_buckets dev_score_calc_obj_block_size name
    allow_writing_files approx_on_full_history auto_class_weights
    bagging_temperature best_model_min_trees boost_from_average boosting_type bootstrap_type
    border_count callback cat_features class_names class_weights classes_count colsample_bylevel
    combinations_ctr counter_calc_method ctr_description ctr_history_unit ctr_leaf_count_limit
    ctr_target_border_count custom_loss custom_metric data_partition depth device_config devices
    dictionaries diffusion_temperature early_stopping_rounds embedding_features eta eval_fraction
    eval_metric feature_border_type feature_calcers feature_weights final_ctr_computation_mode
    first_feature_use_penalties fixed_binary_splits fold_len_multiplier fold_permutation_block
    gpu_cat_features_storage gpu_ram_part grow_policy has_time ignored_features input_borders
    iterations l2_leaf_reg langevin leaf_estimation_backtracking leaf_estimation_iterations
    leaf_estimation_method learning_rate logging_level loss_function max_bin max_ctr_complexity
    max_depth max_leaves metadata metric_period min_child_samples min_data_in_leaf model_shrink_mode
    model_shrink_rate model_size_reg monotone_constraints mvs_reg n_estimators nan_mode
    num_boost_round num_leaves num_trees objective od_pval od_type od_wait one_hot_max_size
    output_borders penalties_coefficient per_feature_ctr per_float_feature_quantization
    per_object_feature_penalties pinned_memory_size posterior_sampling random_score_type random_seed
    random_state random_strength reg_lambda rsm sampling_frequency sampling_unit save_snapshot
    scale_pos_weight score_function silent simple_ctr snapshot_file snapshot_interval
    sparse_features_conflict_fraction store_all_simple_ctr subsample target_border task_type
    text_features text_processing thread_count tokenizers train_dir use_best_model used_ram_limit
    verbose verbose_eval
    """
)

# What they do where nothing is said, where Rankwood does otherwise.
DEFAULTS: dict[str, dict[str, str]] = {
    "LightGBM": {
        "rounds": "100", "rate": "0.1", "leaves": "31", "split": "newton", "l2": "0",
        "sample_features": "1", "early_stop": "never",
    },
    "XGBoost": {
        "rounds": "100, or 10 by xgboost.train", "rate": "0.3", "split": "newton", "l2": "1",
        "min_docs": "no limit", "sample_features": "1", "truncation": "32", "early_stop": "never",
    },
    "CatBoost": {
        "rounds": "1000", "rate": "by size", "l2": "3", "min_docs": "1", "bins": "254",
        "sample_features": "1", "early_stop": "never",
    },
}  # fmt: skip

# Where the library's table speaks of the program's options and files, what Python has: by our option, or
# by the first word of a row that has none.
IN_PYTHON = {
    "valid": "validation sets are train(..., valid={'name': Dataset})",
    "output": "Model.save writes the model",
    "init": "train(..., init=Model) goes on from a model, with `rounds` more trees",
    "checkpoint": "train(..., checkpoint=FILE) writes checkpoints, and resume goes on from one",
    "checkpoint-every": "train(..., checkpoint_every=50): rounds, or a time, '30s'",
    "resume": "train(..., checkpoint=FILE, resume='auto') goes on from the file, if it is there",
    "model": "Model.load reads a model",
    "scores": "Model.predict returns the scores",
    "trees": "it is an argument of Model.predict: n_trees",
    "leaf-ids": "Model.trees lists the nodes and leaves",
    "documents": "SHAP values are Model.explain",
    "per-query": "evaluate(...).metrics[name].per_query has the values of the queries",
    "folds": "cross-validation is cv(params, dataset, n_folds=K)",
    "config": "parameters are a dictionary; files of them are the program's",
    "verbose": "progress goes to a terminal, notes to the logger 'rankwood'",
    "quiet": "progress goes to a terminal, notes to the logger 'rankwood'",
    "log": "Model.evals_result has the metrics of each round, and callbacks see them",
    "top": "it is an argument of the plots",
    "weights": "Dataset(..., weight= one a document, or query_weight= one a query)",
    "query-weights": "Dataset(..., weight= one a document, or query_weight= one a query)",
    "start-scores": "Dataset(..., start_scores=)",
    "positions": "Dataset(..., position=)",
    "pairs-file": "Dataset(..., pairs=), with pairs='given'",
    "label-columns": "Dataset(data, [label, further labels ...], qid=...)",
    "labels": "Dataset(..., more_labels=)",
    "label-column": "Dataset(data, label, qid=... or group=...)",
    "qid-column": "Dataset(data, label, qid=... or group=...)",
    "weight-column": "Dataset(..., weight= one a document, or query_weight= one a query)",
    "names": "Dataset(..., feature_names=), or the columns' names",
    "ignore": "Dataset(..., ignore=)",
    "absent": "missing values are Dataset(..., missing=), beside NaN and null",
    "data": "train(params, Dataset(...))",
    "task": "training, measuring and predicting are functions of their own",
    "label": "Dataset(data, label, qid=... or group=...)",
    "nfold": "cross-validation is cv(params, dataset, n_folds=K)",
    "validation-fraction": "a validation set is a Dataset of its own; folds of one are cv",
    "save-binary": "a Dataset keeps its binned data, and uses it again in every training",
    "convert-model": "Model.export writes models for other programs",
    "predict-contrib": "SHAP values are Model.explain",
    "allow-writing-files": "training writes no files",
    "num-class": "labels are grades of relevance, not classes; Dataset(..., weight=) weighs documents",
    "force-col-wise": "the library chooses how data lies in memory",
    "start-iteration-predict": "a score is of the first n_trees trees, from the first one on",
    "importance-type": "Model.importance and Model.permutation_importance tell which features matter",
}
