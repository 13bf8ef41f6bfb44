/* Names of options, parameters and values in other programs, such as LightGBM, XGBoost,
 * CatBoost and RankLib, with the Rankwood names or the reason why there is no counterpart. Hints in
 * messages use this table. */
#include <string.h>

#include "base/ctx.h"

/* To add a word, add a row, or add the word to a row. Words are in lower case with '-' in place
 * of '_' and a blank on both sides. A word may be in several rows if different commands accept
 * the targets. Of the rows of a word, one that only gives the reason for a missing counterpart
 * comes last. "@lxc" marks the names after it, up to the next '@', as parameters of LightGBM 4.7
 * including aliases (l), XGBoost 3.2 (x) or CatBoost 1.2 (c). "@" alone marks names of other
 * programs. tests/unit/test_aliases.c checks the whole table. */
/* VALUE: values of `parameter`. NAME: names of the option or parameter `ours`. NONE: names without
 * counterpart, with the reason. */
#define VALUE(parameter, ours, note, words) \
    {                                       \
        parameter, words, ours, note        \
    }
#define NAME(ours, note, names) VALUE(NULL, ours, note, names)
#define NONE(note, names)       VALUE(NULL, NULL, note, names)

static const struct rw_alias aliases[] = {
    /* ---- parameters ---- */
    NAME("objective", NULL,
         " @l objective-type app application loss @ obj algo algorithm @c loss-function "),
    NAME("objective",
         "RankLib's ranker 6 (LambdaMART) is lambdarank; its ranker 0 (MART) is regression",
         " ranker "),
    NAME("rounds", NULL,
         " @l num-iterations num-iteration n-iter num-tree num-round num-rounds nrounds max-iter"
         " tree @ trees n-trees ntrees round @c iterations @lc num-trees @lxc num-boost-round"
         " n-estimators "),
    NAME("rate", NULL, " @lxc learning-rate eta @ shrinkage lr step-size @l shrinkage-rate "),
    NAME("leaves", NULL,
         " @lc num-leaves @ leaf n-leaves max-num-nodes @l num-leaf max-leaf max-leaf-nodes @lxc"
         " max-leaves "),
    NAME("depth", NULL, " @lxc max-depth @ tree-depth "),
    NAME("grow", NULL, " @xc grow-policy @ growing-policy growing-strategy growth "),
    NAME("split", "'mart' divides gradient sums by document counts, 'newton' by hessians",
         " @c score-function "),
    NAME(
        "l2",
        "its unit is the average document's hessian, so values of other programs do not carry over",
        " @l lambda-l2 l2-regularization @ l2-leaf-regularizer reg-l2 @c l2-leaf-reg @lx lambda"
        " @lxc reg-lambda "),
    NAME("min-docs", NULL,
         " @lc min-data-in-leaf min-child-samples @ min-examples mls min-leaf-support @l"
         " min-data-per-leaf min-data min-samples-leaf "),
    NAME("min-hessian", "it has an effect only if 'split' is 'newton'",
         " @l min-sum-hessian-in-leaf min-sum-hessian-per-leaf min-sum-hessian @ min-weight @lx"
         " min-child-weight "),
    NAME("min-gain", NULL,
         " @l min-gain-to-split min-split-gain @ min-impurity-decrease @x gamma min-split-loss "),
    NAME("bins", NULL,
         " @lxc max-bin @ tc num-thresholds n-bins num-bins @c border-count @l max-bins "),
    NAME("bits", "lambdas are always quantised; 'bits' sets the bits per lambda, 8 by default",
         " @l num-grad-quant-bins use-quantized-grad "),
    NAME("rounding", "rounding is stochastic by default", " @l stochastic-rounding "),
    NAME("truncation", NULL,
         " @l lambdarank-truncation-level @ ndcg-truncation truncation-level train-cutoff"
         " lambdamart-ndcg-truncation @x lambdarank-num-pair-per-sample "),
    NAME("pairs-file", "documents are numbered from 1 within their query",
         " learn-pairs input-pairs pairs-path "),
    NAME("pairs", "lambdarank_num_pair_per_sample is 'truncation' for 'topk', and N for 'mean:N'",
         " @x lambdarank-pair-method @ pair-method max-pairs "),
    NAME("sigma", NULL, " @l sigmoid "),
    NAME("norm", NULL,
         " @l lambdarank-norm @ normalize normalise @x lambdarank-normalization"
         " lambdarank-score-normalization "),
    NAME("label-gain", "write a list of gains into a file, one number per line, from label 0 on",
         " gain gains label-gains "),
    NAME("label-gain", "true is 'exp' (2^l - 1), false is 'linear'", " @x ndcg-exp-gain "),
    NAME("absent",
         "a feature that a document does not list is 0 ('zero') or missing ('missing'); NaN is "
         "always missing",
         " @x missing @ missing-value @c nan-mode @l use-missing zero-as-missing "),
    NAME("weights", "a file with the weight of each document, one number per line",
         " @l weight @ weight-file weights-file sample-weight "),
    NAME("query-weights", "a file with the weight of each query, one number per line",
         " group-weights group-weight learn-group-weights query-weight "),
    NAME("start-scores", "a file with the initial score of each document, one number per line",
         " init-score init-scores baseline learn-baseline initscore-filename init-score-filename"
         " init-score-file start-score @x base-margin "),
    NAME("positions", "a file with the displayed position of each document, one number per line",
         " position position-file position-filename position-column "),
    NAME("debias", "'ipw' is Unbiased LambdaMART", " @x lambdarank-unbiased "),
    NAME("position-norm", NULL, " @x lambdarank-bias-norm "),
    NAME("position-l2", NULL, " @l lambdarank-position-bias-regularization "),
    NAME("label-column", "for CSV and TSV files; a line of LETOR text begins with the label",
         " @l label @ target label-name target-column "),
    NAME("qid-column", "for CSV and TSV files; a line of LETOR text contains qid:QUERY",
         " @x qid @l query-id group-id group-column query-column "),
    NAME("names", "a file of lines 'ID NAME'",
         " feature-name feature-names-path fmap feature-map @x feature-names "),
    NAME("categorical", "the value is a list of feature ids or names, such as '3-5,shop'",
         " @l categorical-feature categorical-features categorical-column cat-feature cat-column @c"
         " cat-features "),
    NAME("category-smoothing", NULL, " @l cat-smooth "),
    NAME("monotone",
         "the value is a list of feature ids or names with directions, such as '3:+,url_length:-'",
         " @lxc monotone-constraints @ monotonicity monotonic monotone-features @l"
         " monotone-constraint mc monotonic-cst "),
    NAME("interactions",
         "the value is a list of groups of feature ids or names, such as '1-20;21-30,url_length'",
         " @lx interaction-constraints @ interaction-constraint interaction-cst "),
    NAME("ignore", NULL,
         " @l ignore-column ignore-feature blacklist @ ignore-features @c ignored-features "),
    NAME("features",
         "the value is a list of feature ids or names, such as '3,5-9,bm25'; 'ignore' lists "
         "features to leave out",
         " feature features-for-select "),
    NAME("sample-queries", "each tree gets a new sample of whole queries",
         " @l bagging-by-query @ srate "),
    NAME("sample-docs",
         "each tree gets a new sample of documents; lambdas use whole queries, which "
         "'sample-queries' samples",
         " @l bagging-fraction sub-row bagging @lxc subsample "),
    NAME("sample-features", "each tree gets a new sample of features",
         " @l feature-fraction sub-feature @ max-features frate num-candidate-attributes-ratio @lx"
         " colsample-bytree "),
    NAME("sample-features",
         "features are sampled per tree or per node ('sample-features-node'), not per level",
         " @xc colsample-bylevel @c rsm "),
    NAME("sample-features-node", "a fraction of the features sampled for the tree",
         " @lx colsample-bynode @l feature-fraction-bynode sub-feature-bynode "),
    NAME("gain-noise", "noise is added to the square root of a feature's gain at a node",
         " @c random-strength "),
    NAME("metric", NULL,
         " @xc eval-metric @ test-metric metric2t scoring @c custom-metric custom-loss @l metrics"
         " metric-types "),
    NAME("metric", "the cutoff is part of the metric's name, such as ndcg@5,ndcg@10",
         " @l eval-at ndcg-at ndcg-eval-at map-eval-at map-at @ test-cutoff at "),
    NAME("early-stop", NULL,
         " @l early-stopping-round early-stopping n-iter-no-change @ estop end-after-rounds"
         " patience early-stopping-num-trees-look-ahead @c od-wait @lxc early-stopping-rounds "),
    NAME("early-stop-delta", NULL, " @l early-stopping-min-delta @ min-delta tol "),
    NAME("empty", "the metric value of a query without a relevant document: 0, 1 or skip",
         " empty-queries no-relevant "),
    NAME("relevant", NULL, " relevance-level level-for-rel relevance-threshold "),
    NAME("seed", NULL, " @lc random-seed @lxc random-state "),
    NAME("seed", "one seed sets all random numbers",
         " @l data-random-seed data-seed bagging-seed bagging-fraction-seed feature-fraction-seed"
         " objective-seed extra-seed drop-seed @x seed-per-iteration "),
    NAME("threads", NULL,
         " @l num-threads num-thread nthreads @ thread @c thread-count @lx nthread n-jobs "),
    NAME("device", NULL, " @l device-type @ gpu processing-unit @lc task-type "),
    NAME("device", "'cuda:N' chooses one GPU",
         " @c devices @ n-gpus @l gpu-device-id gpu-platform-id num-gpu @x gpu-id "),
    NAME("device", "training always uses histograms; 'cuda' builds them on a GPU",
         " @x tree-method predictor @l gpu-use-dp "),
    NAME("train-metric", "its value is 'on' or 'off'; 'metric' chooses the metrics",
         " @l is-provide-training-metric training-metric is-training-metric @ train-metrics"
         " provide-training-metric "),

    /* ---- options of the program ---- */
    NAME("valid", NULL,
         " @l valid-data valid-data-file valid-filenames test test-data test-data-file @ valid-file"
         " valid-sets validation validate vali test-set test-file eval-set eval-sets eval-data"
         " watchlist @x evals "),
    NAME("output", NULL,
         " @l output-model model-out model-output output-result predict-result prediction-result"
         " predict-name prediction-name pred-name name-pred @ save-model save out model-dir"
         " output-file save-path dump-model @c train-dir "),
    NAME("init", "it continues training from that model, with up to 'rounds' more trees",
         " @l input-model model-in model-input @ init-model restart-train warm-start @x"
         " xgb-model "),
    NAME("checkpoint",
         "'resume' continues from it and reaches the model of an uninterrupted training",
         " @c snapshot-file save-snapshot @ checkpoint-path partial "),
    NAME("checkpoint-every", "a number of rounds, or a time such as 30s",
         " @l snapshot-freq save-period @c snapshot-interval "),
    NAME("resume", "'auto' continues from the file of 'checkpoint' if it exists",
         " try-resume-training "),
    NAME("model", NULL, " @l input-model model-in model-input @ load load-model model-file "),
    NAME("scores", NULL, " score predictions prediction pred "),
    NAME("trees", NULL,
         " @l num-iteration-predict num-iteration @ ntree-limit iteration-range n-trees ntree-end"
         " best-iteration @lc num-trees "),
    NAME("leaf-ids", NULL,
         " @l predict-leaf-index is-predict-leaf-index leaf-index @ pred-leaf leaf-indexes "),
    NAME("documents", NULL,
         " @l predict-contrib is-predict-contrib contrib @ pred-contribs pred-contrib shap"
         " shapvalues "),
    NAME("per-query", NULL, " idv "),
    NAME("queries", NULL, " n-queries num-queries "),
    NAME("folds", NULL, " nfold n-folds num-folds fold-count kcv cv fold k-folds "),
    NAME("config", NULL, " params conf parameters params-file @l config-file "),
    NAME("verbose", "'quiet' prints less",
         " @lx verbosity @ log-level @c logging-level metric-period @l metric-freq output-freq @xc"
         " verbose-eval "),
    NAME("quiet", NULL, " @xc silent "),
    NAME("log", NULL, " log-file json-log train-log learn-error-log test-error-log logfile "),
    NAME("top", NULL, " max-num-features "),

    /* ---- replaced by a different way ---- */

    NONE("data files need no option: rankwood train DATA",
         " @l data train train-data train-data-file data-filename @ train-file training-data"
         " learn-set train-set dtrain "),
    NONE("files need no option, and the model comes before the data: rankwood predict MODEL DATA",
         " model load load-model model-file model-path @l input-model model-in model-input "),
    NONE("the task is the first word: rankwood train, predict, eval, ...",
         " @l task @ skip-train rank "),
    NONE("labels and query ids are in DATA: label qid:QUERY FEATURE:VALUE ...",
         " @l label group-id query-id header has-header @ target column-description cd delimiter"
         " docid eval-group ranking-group group-file query-file @lx group @x qid "),
    NONE("the command for cross-validation is rankwood cv DATA --folds K -o DIR",
         " nfold n-folds num-folds fold-count kcv cv fold k-folds kcvmd kcvmn stratified "),
    NONE("a validation set is a separate file ('valid'); 'rankwood cv' makes folds of one file",
         " validation-fraction validation-ratio tvs tts holdout @c eval-fraction "),
    NONE("labels are part of DATA; only 'rankwood eval' and 'compare' read TREC judgments",
         " qrel qrels "),
    NONE("boosting is always gbdt (gbtree, Plain); dart, rf and gblinear are not supported",
         " @l boosting boost @lc boosting-type @x booster "),
    NONE("dart is not supported, so trees are never dropped",
         " @l drop-rate max-drop xgboost-dart-mode uniform-drop @ keep-drop best-on-train"
         " adaptive-type dart-dropout @lx rate-drop skip-drop @x one-drop sample-type"
         " normalize-type "),
    NONE("sampling by gradient or weight is not supported; 'sample-docs' samples uniformly",
         " @l data-sample-strategy top-rate other-rate @ mvs-head-fraction goss-alpha goss-beta"
         " selgb-ratio @c bootstrap-type bagging-temperature mvs-reg @x sampling-method "),
    NONE("each tree gets a new sample ('sample-queries', 'sample-docs')",
         " @l bagging-freq subsample-freq @ bag rtype @c sampling-frequency sampling-unit "),
    NONE("each round adds one tree; forests within a round are not supported",
         " @x num-parallel-tree "),
    NONE("the size of a set of categories is not limited; 'category-penalty' prevents overfitting "
         "by large choices",
         " @lx max-cat-threshold max-cat-to-onehot @l min-data-per-group cat-l2 "),
    NONE("'categorical' features are split by sets of categories; they are not encoded as numbers",
         " @x enable-categorical feature-types @c one-hot-max-size simple-ctr combinations-ctr"
         " max-ctr-complexity counter-calc-method per-feature-ctr text-features embedding-features"
         " tokenizers dictionaries feature-calcers ctr-leaf-count-limit ctr-target-border-count"
         " text-processing ctr-description ctr-history-unit model-size-reg store-all-simple-ctr"
         " final-ctr-computation-mode "),
    NONE("'monotone' uses bounds on leaf values, as LightGBM's 'basic' method does, without a "
         "penalty",
         " @l monotone-penalty monotone-constraints-method monotone-constraining-method mc-method"
         " monotone-splits-penalty mc-penalty ms-penalty "),
    NONE("leaf values are not clipped; 'l2' and 'rate' shrink them",
         " @lx max-delta-step @l max-leaf-output max-tree-output "),
    NONE("L1 regularisation is not supported; 'l2' shrinks leaf values",
         " @l lambda-l1 l1-regularization @ reg-l1 @lx reg-alpha alpha "),
    NONE("'l2' shrinks the values of small leaves", " @l path-smooth "),
    NONE("training tries every bin boundary as a threshold", " @l extra-trees extra-tree "),
    NONE("linear trees are not supported; leaves are constants",
         " @l linear-tree linear-trees linear-lambda "),
    NONE("forced splits and bin boundaries are not supported",
         " @l forcedsplits-filename forced-splits-filename forced-splits-file forced-splits fs"
         " forcedbins-filename @ input-borders-file output-borders-file @c input-borders"
         " output-borders fixed-binary-splits "),
    NONE("gains are not multiplied; 'feature-penalty' subtracts a feature's cost from each gain",
         " @l feature-contri feature-contrib fc fp @xc feature-weights "),
    NONE("'feature-penalty' subtracts the same cost from the gain of each split on a feature",
         " @l cegb-tradeoff cegb-penalty-split cegb-penalty-feature-lazy"
         " cegb-penalty-feature-coupled @c first-feature-use-penalties per-object-feature-penalties"
         " penalties-coefficient "),
    NONE("labels are grades of relevance, not classes; 'weights' and 'query-weights' set weights",
         " @lx num-class @c classes-count class-names class-weights auto-class-weights"
         " target-border @l num-classes is-unbalance unbalance unbalanced-sets class-weight"
         " pos-bagging-fraction pos-sub-row pos-subsample pos-bagging neg-bagging-fraction"
         " neg-sub-row neg-subsample neg-bagging auc-mu-weights multi-error-top-k @lxc"
         " scale-pos-weight @x multi-strategy "),
    NONE("scores start at 0, at those of a file ('start-scores') or at those of a model ('init')",
         " @lc boost-from-average @x base-score "),
    NONE("pointwise losses are the squared and the logistic loss",
         " @l fair-c poisson-max-delta-step reg-sqrt @ expectile-alpha @lx tweedie-variance-power"
         " @x quantile-alpha huber-slope aft-loss-distribution "),
    NONE("the first metric on the first validation set that is not the training set stops training",
         " @l first-metric-only @ metric-to-stop @x disable-default-eval-metric "),
    NONE("a round is an improvement if the metric improves by more than 'early-stop-delta'",
         " @c od-pval od-type "),
    NONE("with a validation set, the model keeps the round that 'early-stop-rule' chooses, unless "
         "'early-stop' is 0",
         " @c use-best-model best-model-min-trees @ save-best "),
    NONE("'bins' limits the bins per feature; other options of binning are not supported",
         " @l min-data-in-bin bin-construct-sample-cnt subsample-for-bin max-bin-by-feature @"
         " sketch-eps sketch-ratio @c feature-border-type per-float-feature-quantization @x"
         " max-cached-hist-node "),
    NONE("'rankwood bin' writes data as a binned cache that loads fast",
         " @l save-binary is-save-binary is-save-binary-file @ used-cache "),
    NONE("the model is always the same, on any device and with any number of threads",
         " @l deterministic @ deterministic-histogram single-precision-histogram "),
    NONE("Rankwood chooses the memory layout; 'plan' prints the memory that it needs",
         " @l force-col-wise force-row-wise histogram-pool-size hist-pool-size enable-bundle"
         " is-enable-bundle bundle is-enable-sparse is-sparse enable-sparse sparse pre-partition"
         " is-pre-partition two-round two-round-loading use-two-round-loading feature-pre-filter"
         " precise-float-parser parser-config-file @ use-rmm @c used-ram-limit gpu-ram-part"
         " gpu-cat-features-storage pinned-memory-size data-partition"
         " sparse-features-conflict-fraction @x extmem-single-page "),
    NONE("mpirun, srun, torchrun, Dask or Spark start workers on several machines",
         " @l num-machines num-machine machines workers nodes machine-list-filename"
         " machine-list-file machine-list mlist local-listen-port local-port port time-out"
         " tree-learner tree-type tree-learner-type @ dsplit "),
    NONE("pairs are formed within a query; subgroups are not supported", " subgroup-id "),
    NONE("'rankwood train --refit' gives the leaves of a model new values; see 'refit-decay'",
         " @x process-type updater refresh-leaf @ refit decay-rate @l refit-decay-rate "),
    NONE("later rounds do not change earlier trees",
         " @c model-shrink-rate model-shrink-mode @ optimize meta-algo "),
    NONE("prediction never stops early; 'trees' sets the number of trees",
         " @l pred-early-stop pred-early-stop-freq pred-early-stop-margin "),
    NONE("scores are raw sums of leaf values; 'predict --probability' maps them to probabilities",
         " @l predict-raw-score is-predict-raw-score predict-rawscore raw-score @ pred-margin"
         " output-margin prediction-type "),
    NONE("the choice of splits has no random noise",
         " @c random-score-type langevin diffusion-temperature"
         " posterior-sampling "),
    NONE("a leaf value is one Newton step with 'l2' regularisation",
         " @c leaf-estimation-method leaf-estimation-iterations leaf-estimation-backtracking @"
         " collapse-leaves-factor @l quant-train-renew-leaf "),
    NONE("ordered boosting is not supported, so documents are not permuted",
         " @c fold-len-multiplier fold-permutation-block approx-on-full-history has-time "),
    NONE("'min-docs' limits leaves; inner nodes have no separate limit",
         " min-samples-split min-weight-fraction-leaf ccp-alpha "),
    NONE("'rankwood export' writes C, ONNX, PMML and models of other programs",
         " @l convert-model convert-model-language convert-model-file @ model-format dump-format"
         " name-dump dump-code dump-type "),
    NONE("'rankwood explain MODEL DATA --documents' prints SHAP values",
         " @l predict-contrib is-predict-contrib contrib @ pred-contribs pred-contrib shap"
         " shapvalues "),
    NONE("'rankwood info' and 'rankwood explain' print feature importance",
         " @lx importance-type @ feature-importance-type fstr-file @l"
         " saved-feature-importance-type "),
    NONE("unknown parameters are always errors", " @x validate-parameters "),
    NONE("'device' selects one GPU ('cuda:N') or all GPUs ('cuda:all')",
         " @l gpu-device-id-list @c device-config "),
    NONE("scores always start with the first tree; 'trees' sets the number of trees",
         " @l start-iteration-predict "),
    NONE("voting-parallel training and linear boosters are not supported",
         " @lx top-k @l topk @x feature-selector "),
    NONE("training accepts labels that are all equal", " @c allow-const-label "),
    NONE("only files that you name are written", " @c allow-writing-files metadata "),
    NONE("it is meant for developers of CatBoost",
         " @c dev-efb-max-buckets dev-score-calc-obj-block-size "),

    /* ---- values ---- */
    VALUE("objective", "lambdarank", NULL,
          " rank:ndcg lambdamart lambdamart-ndcg lambda-mart lambda-rank rank-ndcg ndcg"
          " lambdarank-ndcg 5 6 "),
    VALUE(
        "objective", "lambdarank",
        "a pair is weighted by its change of NDCG; with 'delta' none, all pairs have equal weights",
        " rank:pairwise pairwise pairlogit pairlogitpairwise ranknet 1 rankboost 2 "),
    VALUE("objective", "lambdarank",
          "a pair is weighted by its change of NDCG; with 'delta' map, by its change of MAP",
          " rank:map map lambdamart-map map@k "),
    VALUE("objective", "xendcg", NULL, " rank-xendcg xendcg xe-ndcg xe-ndcg-mart xendcg-mart "),
    VALUE("objective", "listnet", NULL, " listnet 7 "),
    VALUE("objective", "listnet",
          "targets are proportional to gains; with 'label-gain' linear, to labels",
          " querysoftmax "),
    VALUE("objective", "listnet", "the listwise losses are listnet and xendcg",
          " listmle stochasticrank listwise "),
    VALUE("objective", "lambdarank", "other learners of RankLib are not supported",
          " adarank 3 coordinate-ascent coordinateascent 4 linear-regression 9 "),
    VALUE("objective", "yetirank",
          "leaf values are computed as for YetiRank, not by solving for pairs",
          " yetirankpairwise "),
    VALUE("objective", "yetirank", NULL, " yetirank yeti-rank "),
    VALUE("objective", "regression", NULL,
          " regression-l2 l2 mse rmse l2-root mean-squared-error root-mean-squared-error"
          " reg:squarederror reg:linear squared-error squarederror squared-loss ls least-squares"
          " mart gbrt pointwise reg 0 "),
    VALUE("objective", "queryrmse", NULL, " queryrmse groupwise-rmse "),
    VALUE("objective", "logistic",
          "a label of at least 'relevant' is positive; a score is the log odds",
          " binary binary:logistic binary:logitraw reg:logistic logloss log-loss"
          " binary-crossentropy classification "),
    VALUE("objective", "logistic",
          "labels are not probabilities: those of at least 'relevant' are positive, others not",
          " crossentropy cross-entropy xentropy cross-entropy-lambda xentlambda"
          " querycrossentropy "),
    VALUE("objective", NULL,
          "labels are grades: use lambdarank to rank, logistic for relevant or not, regression to "
          "fit them",
          " binary:hinge multiclass multiclassova multiclass-ova multiclassonevsall"
          " multi:softmax multi:softprob softmax ova ovr "),
    VALUE("objective", NULL, "the pointwise losses are squared (regression) and logistic",
          " regression-l1 l1 mae mean-absolute-error reg:absoluteerror huber fair poisson quantile"
          " reg:quantileerror reg:pseudohubererror reg:squaredlogerror mape"
          " mean-absolute-percentage-error gamma reg:gamma tweedie reg:tweedie count:poisson"
          " survival:cox survival:aft lq expectile loglinquantile "),
    VALUE("objective", NULL, "random forests are not supported",
          " rf random-forest random-forests 8 "),
    VALUE("metric", "ndcg", NULL, " ndcg ndcg-cut ndcg@k tndcg "),
    VALUE("metric", "dcg", NULL, " dcg dcg-cut "),
    VALUE("metric", "map", NULL, " map map-cut ap average-precision mean-average-precision m-ap "),
    VALUE("metric", "mrr", NULL,
          " mrr rr recip-rank reciprocal-rank mean-reciprocal-rank mrr-cut "),
    VALUE("metric", "err", NULL, " err expected-reciprocal-rank "),
    VALUE("metric", "p", NULL, " p precision prec pre precisionat precision-at "),
    VALUE("metric", "recall", NULL, " recall recallat recall-at rec "),
    VALUE("metric", "rmse", NULL,
          " rmse l2 mse l2-root mean-squared-error root-mean-squared-error regression "),
    VALUE("metric", "logloss", NULL,
          " logloss log-loss binary-logloss binary cross-entropy crossentropy "),
    VALUE("metric", NULL, "ranking metrics are ndcg, map, mrr, p@k, recall@k and others",
          " auc queryauc aucpr auc-mu average-precision-score pairlogit pfound averagegain hit"
          " hitrate best filtereddcg querryauc kldiv lambdarank rank:ndcg yetirank queryrmse"
          " accuracy error merror mlogloss f1 kendall spearman qrf "),
    VALUE("metric", NULL, "pointwise metrics are rmse and logloss",
          " mae l1 mape quantile huber fair poisson gamma gamma-deviance tweedie rmsle mphe r2"
          " msle "),
    VALUE("metric", NULL, "without validation sets, nothing is measured", " none null na custom "),
    VALUE("grow", "leaves", NULL,
          " lossguide leafwise leaf-wise leaf best-first best-first-global "),
    VALUE("grow", "levels", NULL, " depthwise depth-wise levelwise level-wise level local "),
    VALUE("grow", "symmetric", NULL, " symmetrictree oblivious "),
    VALUE("split", "newton", NULL, " newtonl2 newtoncosine newton-l2 hessian xgboost "),
    VALUE("split", "mart", NULL, " l2 cosine gradient variance "),
    VALUE("device", "cuda", NULL, " gpu gpu-hist grow-gpu-hist "),
    VALUE("device", "auto", "training always uses histograms, on the faster of cpu and cuda",
          " hist approx exact "),
    VALUE("device", NULL, "only CUDA GPUs are supported", " opencl rocm hip sycl metal mps "),
    VALUE("norm", "on", NULL, " true yes 1 "),
    VALUE("norm", "off", NULL, " false no 0 "),
    VALUE("norm", "on", "'norm' normalises lambdas; trees need no normalisation of features",
          " sum zscore linear "),
    VALUE("train-metric", "on", NULL, " true yes 1 "),
    VALUE("train-metric", "off", NULL, " false no 0 "),
    VALUE("train-metric", "on", "'metric' chooses the metrics", " ndcg map mrr err dcg rmse "),
    VALUE("absent", "missing", NULL, " nan na true yes use-missing "),
    VALUE("absent", "zero", NULL, " 0 false no "),
    VALUE("absent", "missing", "each split learns the side of missing values",
          " min max forbidden "),
    VALUE("rounding", "stochastic", NULL, " true yes 1 random "),
    VALUE("rounding", "nearest", NULL, " false no 0 deterministic "),
    VALUE("ties", "mean", NULL, " average expected "),
    VALUE("ties", "file", NULL, " input stable order first "),
    VALUE("truncation", "none", NULL, " all off no inf -1 "),
    VALUE("delta", "none", NULL,
          " rank:pairwise pairwise pairlogit pairlogitpairwise ranknet off no 1 "),
    VALUE("delta", "map", NULL, " rank:map lambdamart-map map@k average-precision ap "),
    VALUE("delta", "ndcg", NULL, " rank:ndcg lambdamart-ndcg ndcg@k "),
    VALUE("delta", "ndcg", "'truncation' is the cutoff", " ndcg@5 ndcg@10 ndcg@20 ndcg@30 "),
    VALUE("delta", "p@10", "the cutoff K is part of p@K", " p precision prec p@k "),
    VALUE("delta", "mrr", NULL, " rr recip-rank reciprocal-rank "),
    VALUE("pairs", "mean:1", "N in mean:N is lambdarank_num_pair_per_sample", " mean "),
    VALUE("pairs", "topk", NULL, " top-k top "),
    VALUE("depth", "0", NULL, " -1 none no inf unlimited "),
    VALUE("early-stop", "0", NULL, " -1 none no false off never "),
    VALUE("threads", "auto", NULL, " -1 all "),
    VALUE("leaves", "auto", "the number of leaves is always limited",
          " 0 -1 none no inf unlimited "),
};
enum { N_ALIASES = sizeof(aliases) / sizeof(aliases[0]) };

/* Returns 1 if the row contains `word`, and is about values of `parameter`, or about names if
 * `parameter` is NULL. `word` has a blank on both sides. */
static int has_word(const struct rw_alias *row, const char *parameter, const char *word)
{
    const int is_kind =
        parameter ? row->parameter && strcmp(row->parameter, parameter) == 0 : !row->parameter;
    return is_kind && strstr(row->names, word);
}

const struct rw_alias *rw_alias_next(const struct rw_alias *row, const char *parameter,
                                     const char *word)
{
    char between[80] = " ";
    if (word) {
        word += strncmp(word, "--", 2) == 0 ? 2 : 0;
        const size_t n = rw_word_plain(word, between + 1, sizeof(between) - 2);
        if (n == 0 || word[n] || *word == '@' || strpbrk(between + 1, " \t\n\v\f\r"))
            return NULL;
        strcpy(between + 1 + n, " ");
    }
    for (row = row ? row + 1 : aliases; row < aliases + N_ALIASES; row++) {
        if (!word || has_word(row, parameter, between))
            return row;
    }
    return NULL;
}
