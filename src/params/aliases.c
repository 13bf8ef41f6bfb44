/* Names of options, parameters and values in other programs (LightGBM, XGBoost, CatBoost,
 * RankLib), with the Rankwood names or the reason why there is no counterpart. Hints in messages
 * use this table. */
#include <string.h>

#include "base/ctx.h"
#include "rankwood.h"

/* To add a word, add a row, or add the word to a row. Words are in lower case with '-' in place
 * of '_' and a blank on both sides. A word may be in several rows if different commands accept
 * the targets. A row that only gives the reason for a missing counterpart comes last. "@lxc"
 * marks the names after it, up to the next '@', as parameters of LightGBM 4.7 including aliases
 * (l), XGBoost 3.2 (x) or CatBoost 1.2 (c). "@" alone marks names of other programs.
 * tests/unit/test_aliases.c checks the whole table. */
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
         "RankLib's rankers by number: 6, LambdaMART, is lambdarank; 0, MART, is regression",
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
    NAME("split", "'mart' divides sums by counts, 'newton' by second derivatives",
         " @c score-function "),
    NAME("l2",
         "it is counted in average documents: the same number is another strength than elsewhere",
         " @l lambda-l2 l2-regularization @ l2-leaf-regularizer reg-l2 @c l2-leaf-reg @lx lambda"
         " @lxc reg-lambda "),
    NAME("min-docs", NULL,
         " @lc min-data-in-leaf min-child-samples @ min-examples mls min-leaf-support @l"
         " min-data-per-leaf min-data min-samples-leaf "),
    NAME("min-hessian", "it needs 'split' to be 'newton'",
         " @l min-sum-hessian-in-leaf min-sum-hessian-per-leaf min-sum-hessian @ min-weight @lx"
         " min-child-weight "),
    NAME("min-gain", NULL,
         " @l min-gain-to-split min-split-gain @ min-impurity-decrease @x gamma min-split-loss "),
    NAME("bins", NULL,
         " @lxc max-bin @ tc num-thresholds n-bins num-bins @c border-count @l max-bins "),
    NAME("bits",
         "sums are always of whole numbers, of 8 bits a lambda unless 'bits' says otherwise",
         " @l num-grad-quant-bins use-quantized-grad "),
    NAME("rounding", "it is stochastic unless 'rounding' says otherwise",
         " @l stochastic-rounding "),
    NAME("truncation", NULL,
         " @l lambdarank-truncation-level @ ndcg-truncation truncation-level train-cutoff"
         " lambdamart-ndcg-truncation @x lambdarank-num-pair-per-sample "),
    NAME("pairs-file", "documents are numbered from 1 within their query",
         " learn-pairs input-pairs pairs-path "),
    NAME("pairs", "'topk': the top is 'truncation'; 'mean:N': N is lambdarank_num_pair_per_sample",
         " @x lambdarank-pair-method @ pair-method max-pairs "),
    NAME("sigma", NULL, " @l sigmoid "),
    NAME("norm", NULL,
         " @l lambdarank-norm @ normalize normalise @x lambdarank-normalization"
         " lambdarank-score-normalization "),
    NAME("label-gain", "a list of gains goes into a file, one number a line from label 0 on",
         " gain gains label-gains "),
    NAME("label-gain", "true is 'exp' (2^l - 1), false is 'linear'", " @x ndcg-exp-gain "),
    NAME("absent",
         "zero: a feature that is left out is 0; missing: it is missing, as nan always is",
         " @x missing @ missing-value @c nan-mode @l use-missing zero-as-missing "),
    NAME("weights", "a file with one number a line: a weight for each document",
         " @l weight @ weight-file weights-file sample-weight "),
    NAME("query-weights", "a file with one number a line: a weight for each query",
         " group-weights group-weight learn-group-weights query-weight "),
    NAME("start-scores", "a file with one number a line: a score for each document",
         " init-score init-scores baseline learn-baseline initscore-filename init-score-filename"
         " init-score-file start-score @x base-margin "),
    NAME("positions", "a file with one number a line: where each document was shown",
         " position position-file position-filename position-column "),
    NAME("debias", "'ipw' is Unbiased LambdaMART", " @x lambdarank-unbiased "),
    NAME("position-norm", NULL, " @x lambdarank-bias-norm "),
    NAME("position-l2", NULL, " @l lambdarank-position-bias-regularization "),
    NAME("label-column", "of CSV and TSV; LETOR data has the label first in each line",
         " @l label @ target label-name target-column "),
    NAME("qid-column", "of CSV and TSV; LETOR data has qid:QUERY in each line",
         " @x qid @l query-id group-id group-column query-column "),
    NAME("names", "a file of lines 'ID NAME'",
         " feature-name feature-names-path fmap feature-map @x feature-names "),
    NAME("categorical", "features are named, by id or name: '3-5,shop'",
         " @l categorical-feature categorical-features categorical-column cat-feature cat-column @c"
         " cat-features "),
    NAME("category-smoothing", NULL, " @l cat-smooth "),
    NAME("monotone", "features are named, by id or name: '3:+,url_length:-'",
         " @lxc monotone-constraints @ monotonicity monotonic monotone-features @l"
         " monotone-constraint mc monotonic-cst "),
    NAME("interactions", "groups of features, by id or name: '1-20;21-30,url_length'",
         " @lx interaction-constraints @ interaction-constraint interaction-cst "),
    NAME("ignore", NULL,
         " @l ignore-column ignore-feature blacklist @ ignore-features @c ignored-features "),
    NAME("features", "a list of ids or names: '3,5-9,bm25'; 'ignore' lists those to leave out",
         " feature features-for-select "),
    NAME("sample-queries", "whole queries are sampled, for each tree anew",
         " @l bagging-by-query @ srate "),
    NAME("sample-docs",
         "documents are sampled, for each tree anew, with lambdas of whole queries; "
         "'sample-queries' samples these",
         " @l bagging-fraction sub-row bagging @lxc subsample "),
    NAME("sample-features", "features are sampled for each tree",
         " @l feature-fraction sub-feature @ max-features frate num-candidate-attributes-ratio @lx"
         " colsample-bytree "),
    NAME("sample-features", "features are sampled for each tree, or each node, not for each level",
         " @xc colsample-bylevel @c rsm "),
    NAME("sample-features-node", "of the features of the tree",
         " @lx colsample-bynode @l feature-fraction-bynode sub-feature-bynode "),
    NAME("metric", NULL,
         " @xc eval-metric @ test-metric metric2t scoring @c custom-metric custom-loss @l metrics"
         " metric-types "),
    NAME("metric", "the cutoff is part of the metric: ndcg@5,ndcg@10",
         " @l eval-at ndcg-at ndcg-eval-at map-eval-at map-at @ test-cutoff at "),
    NAME("early-stop", NULL,
         " @l early-stopping-round early-stopping n-iter-no-change @ estop end-after-rounds"
         " patience early-stopping-num-trees-look-ahead @c od-wait @lxc early-stopping-rounds "),
    NAME("early-stop-delta", NULL, " @l early-stopping-min-delta @ min-delta tol "),
    NAME("empty", "what a query without a relevant document counts: 0, 1, or skip",
         " empty-queries no-relevant "),
    NAME("relevant", NULL, " relevance-level level-for-rel relevance-threshold "),
    NAME("seed", NULL, " @lc random-seed @lxc random-state "),
    NAME("seed", "there is one seed for all random numbers",
         " @l data-random-seed data-seed bagging-seed bagging-fraction-seed feature-fraction-seed"
         " objective-seed extra-seed drop-seed @x seed-per-iteration "),
    NAME("threads", NULL,
         " @l num-threads num-thread nthreads @ thread @c thread-count @lx nthread n-jobs "),
    NAME("device", NULL, " @l device-type @ gpu processing-unit @lc task-type "),
    NAME("device", "one GPU is chosen as 'cuda:N'",
         " @c devices @ n-gpus @l gpu-device-id gpu-platform-id num-gpu @x gpu-id "),
    NAME("device", "splits are always found from histograms; 'cuda' builds them on a GPU",
         " @x tree-method predictor @l gpu-use-dp "),
    NAME("train-metric", "'on' or 'off'; which metric is 'metric'",
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
    NAME("init", "it goes on from that model with 'rounds' more trees",
         " @l input-model model-in model-input @ init-model restart-train warm-start @x"
         " xgb-model "),
    NAME("checkpoint", "'resume' goes on from it, to the model of a training that never stopped",
         " @c snapshot-file save-snapshot @ checkpoint-path partial "),
    NAME("checkpoint-every", "rounds, or a time such as 30s",
         " @l snapshot-freq save-period @c snapshot-interval "),
    NAME("resume", "'auto' goes on from 'checkpoint', if the file is there",
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
    NAME("verbose", "'quiet' says less",
         " @lx verbosity @ log-level @c logging-level metric-period @l metric-freq output-freq @xc"
         " verbose-eval "),
    NAME("quiet", NULL, " @xc silent "),
    NAME("log", NULL, " log-file json-log train-log learn-error-log test-error-log logfile "),
    NAME("top", NULL, " max-num-features "),

    /* ---- replaced by a different way ---- */

    NONE("files of data are named without an option: rankwood train DATA",
         " @l data train train-data train-data-file data-filename @ train-file training-data"
         " learn-set train-set dtrain "),
    NONE("files are named without an option, a model before the data: rankwood predict MODEL DATA",
         " model load load-model model-file model-path @l input-model model-in model-input "),
    NONE("what is to be done is the first word: rankwood train, predict, eval, ...",
         " @l task @ skip-train rank "),
    NONE("a line of data holds them all: label qid:QUERY FEATURE:VALUE ...",
         " @l label group-id query-id header has-header @ target column-description cd delimiter"
         " docid eval-group ranking-group group-file query-file @lx group @x qid "),
    NONE("cross-validation is a command: rankwood cv DATA --folds K -o DIR",
         " nfold n-folds num-folds fold-count kcv cv fold k-folds kcvmd kcvmn stratified "),
    NONE("a validation set is a file ('valid'); folds of one file are 'rankwood cv'",
         " validation-fraction validation-ratio tvs tts holdout @c eval-fraction "),
    NONE("labels are those of the data; TREC's judgments are not read", " qrel qrels "),
    NONE("trees are boosted by gradients (gbdt, gbtree, Plain); there is no dart, rf or gblinear",
         " @l boosting boost @lc boosting-type @x booster "),
    NONE("there is no dart: trees are never dropped",
         " @l drop-rate max-drop xgboost-dart-mode uniform-drop @ keep-drop best-on-train"
         " adaptive-type dart-dropout @lx rate-drop skip-drop @x one-drop sample-type"
         " normalize-type "),
    NONE("documents are not sampled by gradient or weight; 'sample-docs' samples all alike",
         " @l data-sample-strategy top-rate other-rate @ mvs-head-fraction goss-alpha goss-beta"
         " selgb-ratio @c bootstrap-type bagging-temperature mvs-reg @x sampling-method "),
    NONE("samples are drawn for each tree anew ('sample-queries', 'sample-docs')",
         " @l bagging-freq subsample-freq @ bag rtype @c sampling-frequency sampling-unit "),
    NONE("a tree of every round counts once: there are no forests in a round",
         " @x num-parallel-tree "),
    NONE("sets of categories are not limited: 'category-penalty' takes from a gain what chance has"
         " of the choice among many",
         " @lx max-cat-threshold max-cat-to-onehot @l min-data-per-group cat-l2 "),
    NONE("categories are split by sets of any size ('categorical'), and never become numbers",
         " @x enable-categorical feature-types @c one-hot-max-size simple-ctr combinations-ctr"
         " max-ctr-complexity counter-calc-method per-feature-ctr text-features embedding-features"
         " tokenizers dictionaries feature-calcers ctr-leaf-count-limit ctr-target-border-count"
         " text-processing ctr-description ctr-history-unit model-size-reg store-all-simple-ctr"
         " final-ctr-computation-mode "),
    NONE(
        "constraints of 'monotone' are kept by bounds that a split hands down, as 'basic' ones are,"
        " and without a penalty",
        " @l monotone-penalty monotone-constraints-method monotone-constraining-method mc-method"
        " monotone-splits-penalty mc-penalty ms-penalty "),
    NONE("leaf values are not clipped: 'l2' and 'rate' shrink them",
         " @lx max-delta-step @l max-leaf-output max-tree-output "),
    NONE("there is no L1: 'l2' shrinks leaf values",
         " @l lambda-l1 l1-regularization @ reg-l1 @lx reg-alpha alpha "),
    NONE("'l2' shrinks the values of small leaves", " @l path-smooth "),
    NONE("the boundary of every bin is tried", " @l extra-trees extra-tree "),
    NONE("leaves are constants", " @l linear-tree linear-trees linear-lambda "),
    NONE("trees are grown freely: no split or bin can be given",
         " @l forcedsplits-filename forced-splits-filename forced-splits-file forced-splits fs"
         " forcedbins-filename @ input-borders-file output-borders-file @c input-borders"
         " output-borders fixed-binary-splits "),
    NONE("gains are not multiplied: 'feature-penalty' takes a feature's cost from each gain",
         " @l feature-contri feature-contrib fc fp @xc feature-weights "),
    NONE("a feature costs the same at each split: 'feature-penalty' takes it from the gain",
         " @l cegb-tradeoff cegb-penalty-split cegb-penalty-feature-lazy"
         " cegb-penalty-feature-coupled @c first-feature-use-penalties per-object-feature-penalties"
         " penalties-coefficient "),
    NONE("labels are grades of relevance, not classes; 'weights' weighs queries or documents",
         " @lx num-class @c classes-count class-names class-weights auto-class-weights"
         " target-border @l num-classes is-unbalance unbalance unbalanced-sets class-weight"
         " pos-bagging-fraction pos-sub-row pos-subsample pos-bagging neg-bagging-fraction"
         " neg-sub-row neg-subsample neg-bagging auc-mu-weights multi-error-top-k @lxc"
         " scale-pos-weight @x multi-strategy "),
    NONE("scores begin at 0, or at those of a file ('start-scores') or of a model that is gone on "
         "from ('init')",
         " @lc boost-from-average @x base-score "),
    NONE("the errors of single documents are the squared one and the logistic one",
         " @l fair-c poisson-max-delta-step reg-sqrt @ expectile-alpha @lx tweedie-variance-power"
         " @x quantile-alpha huber-slope aft-loss-distribution "),
    NONE(
        "the first metric stops training, on the first validation set that is not the training set",
        " @l first-metric-only @ metric-to-stop @x disable-default-eval-metric "),
    NONE("a round counts as better if its metric is, by more than 'early-stop-delta'",
         " @c od-pval od-type "),
    NONE("the model always ends at its best round, unless 'early-stop' is 0",
         " @c use-best-model best-model-min-trees @ save-best "),
    NONE("bins are shaped by 'bins' alone",
         " @l min-data-in-bin bin-construct-sample-cnt subsample-for-bin max-bin-by-feature @"
         " sketch-eps sketch-ratio @c feature-border-type per-float-feature-quantization @x"
         " max-cached-hist-node "),
    NONE("'rankwood bin' writes data as a cache that loads at once",
         " @l save-binary is-save-binary is-save-binary-file @ used-cache "),
    NONE("nothing is to be switched on: one model, whatever the threads and the device",
         " @l deterministic @ deterministic-histogram single-precision-histogram "),
    NONE("the program chooses how data lies in memory; 'plan' tells how much that takes",
         " @l force-col-wise force-row-wise histogram-pool-size hist-pool-size enable-bundle"
         " is-enable-bundle bundle is-enable-sparse is-sparse enable-sparse sparse pre-partition"
         " is-pre-partition two-round two-round-loading use-two-round-loading feature-pre-filter"
         " precise-float-parser parser-config-file @ use-rmm @c used-ram-limit gpu-ram-part"
         " gpu-cat-features-storage pinned-memory-size data-partition"
         " sparse-features-conflict-fraction @x extmem-single-page "),
    NONE("workers on several machines are started by mpirun, srun, torchrun, Dask or Spark",
         " @l num-machines num-machine machines workers nodes machine-list-filename"
         " machine-list-file machine-list mlist local-listen-port local-port port time-out"
         " tree-learner tree-type tree-learner-type @ dsplit "),
    NONE("the documents of a query are its pairs", " subgroup-id "),
    NONE("leaves of given trees get new values by 'rankwood train --refit', with 'refit-decay'",
         " @x process-type updater refresh-leaf @ refit decay-rate @l refit-decay-rate "),
    NONE("trees are not changed while others are added",
         " @c model-shrink-rate model-shrink-mode @ optimize meta-algo "),
    NONE("every tree counts in a score",
         " @l pred-early-stop pred-early-stop-freq pred-early-stop-margin "),
    NONE("scores are raw: the sum of the leaves",
         " @l predict-raw-score is-predict-raw-score predict-rawscore raw-score @ pred-margin"
         " output-margin prediction-type "),
    NONE("splits are chosen without noise",
         " @c random-strength random-score-type langevin diffusion-temperature"
         " posterior-sampling "),
    NONE("a leaf's value is one Newton step, shrunk by 'l2'",
         " @c leaf-estimation-method leaf-estimation-iterations leaf-estimation-backtracking @"
         " collapse-leaves-factor @l quant-train-renew-leaf "),
    NONE("there is no ordered boosting: documents are not permuted",
         " @c fold-len-multiplier fold-permutation-block approx-on-full-history has-time "),
    NONE("'min-docs' is the least of a leaf; a node has no least of its own",
         " min-samples-split min-weight-fraction-leaf ccp-alpha "),
    NONE("a model becomes C, ONNX, PMML or another program's by 'rankwood export'",
         " @l convert-model convert-model-language convert-model-file @ model-format dump-format"
         " name-dump dump-code dump-type "),
    NONE("SHAP values are printed by 'rankwood explain MODEL DATA --documents'",
         " @l predict-contrib is-predict-contrib contrib @ pred-contribs pred-contrib shap"
         " shapvalues "),
    NONE("'rankwood info' and 'rankwood explain' tell which features matter",
         " @lx importance-type @ feature-importance-type fstr-file @l"
         " saved-feature-importance-type "),
    NONE("unknown parameters are always errors", " @x validate-parameters "),
    NONE("'device' is one GPU ('cuda:N') or all GPUs ('cuda:all')",
         " @l gpu-device-id-list @c device-config "),
    NONE("a score is of the first trees ('trees'), from the first one on",
         " @l start-iteration-predict "),
    NONE("there is no voting among machines, and no linear booster",
         " @lx top-k @l topk @x feature-selector "),
    NONE("labels may all be the same", " @c allow-const-label "),
    NONE("nothing is written that was not asked for", " @c allow-writing-files metadata "),
    NONE("it is for CatBoost's own developers",
         " @c dev-efb-max-buckets dev-score-calc-obj-block-size "),

    /* ---- values ---- */
    VALUE("objective", "lambdarank", NULL,
          " rank:ndcg lambdamart lambdamart-ndcg lambda-mart lambda-rank rank-ndcg ndcg"
          " lambdarank-ndcg 5 6 "),
    VALUE("objective", "lambdarank",
          "its pairs weigh what they change in NDCG; with 'delta' none all count alike",
          " rank:pairwise pairwise pairlogit pairlogitpairwise ranknet 1 rankboost 2 "),
    VALUE("objective", "lambdarank",
          "its pairs weigh what they change in NDCG; with 'delta' map, what they change in MAP",
          " rank:map map lambdamart-map map@k "),
    VALUE("objective", "xendcg", NULL, " rank-xendcg xendcg xe-ndcg xe-ndcg-mart xendcg-mart "),
    VALUE("objective", "listnet", NULL, " listnet 7 "),
    VALUE("objective", "listnet",
          "a query's targets are the shares of its gains: 'label-gain' linear takes the labels",
          " querysoftmax "),
    VALUE("objective", "listnet", "listwise losses are listnet and xendcg",
          " listmle stochasticrank listwise "),
    VALUE("objective", "lambdarank", "other learners of RankLib are not built in",
          " adarank 3 coordinate-ascent coordinateascent 4 linear-regression 9 "),
    VALUE("objective", "yetirank", "leaf values are those of YetiRank, not solved from pairs",
          " yetirankpairwise "),
    VALUE("objective", "yetirank", NULL, " yetirank yeti-rank "),
    VALUE("objective", "regression", NULL,
          " regression-l2 l2 mse rmse l2-root mean-squared-error root-mean-squared-error"
          " reg:squarederror reg:linear squared-error squarederror squared-loss ls least-squares"
          " mart gbrt pointwise reg 0 "),
    VALUE("objective", "queryrmse", NULL, " queryrmse groupwise-rmse "),
    VALUE("objective", "logistic",
          "labels from 'relevant' on are relevant; a score is the log of the odds",
          " binary binary:logistic binary:logitraw reg:logistic logloss log-loss"
          " binary-crossentropy classification "),
    VALUE("objective", "logistic",
          "a label is relevant or not, by 'relevant': it is no probability here",
          " crossentropy cross-entropy xentropy cross-entropy-lambda xentlambda"
          " querycrossentropy "),
    VALUE("objective", NULL,
          "labels are grades: lambdarank ranks by them, logistic takes them as"
          " relevant or not, regression fits them",
          " binary:hinge multiclass multiclassova multiclass-ova multiclassonevsall"
          " multi:softmax multi:softprob softmax ova ovr "),
    VALUE("objective", NULL,
          "the errors of single documents are the squared one (regression) and the logistic one"
          " (logistic)",
          " regression-l1 l1 mae mean-absolute-error reg:absoluteerror huber fair poisson quantile"
          " reg:quantileerror reg:pseudohubererror reg:squaredlogerror mape"
          " mean-absolute-percentage-error gamma reg:gamma tweedie reg:tweedie count:poisson"
          " survival:cox survival:aft lq expectile loglinquantile "),
    VALUE("objective", NULL, "there are no forests of trees that do not follow one another",
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
    VALUE("metric", NULL, "rankings are measured by ndcg, map, mrr, p@k, recall@k and others",
          " auc queryauc aucpr auc-mu average-precision-score pairlogit pfound averagegain hit"
          " hitrate best filtereddcg querryauc kldiv lambdarank rank:ndcg yetirank queryrmse"
          " accuracy error merror mlogloss f1 kendall spearman qrf "),
    VALUE("metric", NULL, "single documents are measured by rmse and logloss",
          " mae l1 mape quantile huber fair poisson gamma gamma-deviance tweedie rmsle mphe r2"
          " msle "),
    VALUE("metric", NULL, "to measure nothing, leave the validation sets out",
          " none null na custom "),
    VALUE("grow", "leaves", NULL,
          " lossguide leafwise leaf-wise leaf best-first best-first-global "),
    VALUE("grow", "levels", NULL, " depthwise depth-wise levelwise level-wise level local "),
    VALUE("grow", "levels", "whole levels, but each node has a split of its own",
          " symmetrictree symmetric oblivious "),
    VALUE("split", "newton", NULL, " newtonl2 newtoncosine newton-l2 hessian xgboost "),
    VALUE("split", "mart", NULL, " l2 cosine gradient variance "),
    VALUE("device", "cuda", NULL, " gpu gpu-hist grow-gpu-hist "),
    VALUE("device", "auto", "the quicker one of cpu and cuda; histograms are always built",
          " hist approx exact "),
    VALUE("device", NULL, "GPUs are those of CUDA", " opencl rocm hip sycl metal mps "),
    VALUE("norm", "on", NULL, " true yes 1 "),
    VALUE("norm", "off", NULL, " false no 0 "),
    VALUE("norm", "on", "this normalises lambdas; features need no normalisation in trees",
          " sum zscore linear "),
    VALUE("train-metric", "on", NULL, " true yes 1 "),
    VALUE("train-metric", "off", NULL, " false no 0 "),
    VALUE("train-metric", "on", "which metric is 'metric'", " ndcg map mrr err dcg rmse "),
    VALUE("absent", "missing", NULL, " nan na true yes use-missing "),
    VALUE("absent", "zero", NULL, " 0 false no "),
    VALUE("absent", "missing", "a split learns where missing values go, whatever they stand for",
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
    VALUE("delta", "ndcg", "its top is 'truncation'", " ndcg@5 ndcg@10 ndcg@20 ndcg@30 "),
    VALUE("delta", "p@10", "10 is the K of p@K", " p precision prec p@k "),
    VALUE("delta", "mrr", NULL, " rr recip-rank reciprocal-rank "),
    VALUE("pairs", "mean:1", "1 is the N of mean:N, lambdarank_num_pair_per_sample there",
          " mean "),
    VALUE("pairs", "topk", NULL, " top-k top "),
    VALUE("depth", "0", NULL, " -1 none no inf unlimited "),
    VALUE("early-stop", "0", NULL, " -1 none no false off never "),
    VALUE("threads", "auto", NULL, " -1 all "),
    VALUE("leaves", "auto", "the leaves of a tree always have a limit",
          " 0 -1 none no inf unlimited "),
};
enum { N_ALIASES = sizeof(aliases) / sizeof(aliases[0]) };

/* Returns 1 if the row contains `word`, which has a blank on both sides. */
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
