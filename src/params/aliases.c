/* Other trainers' words for what is ours, and for what we have not. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "rankwood.h"

/* To add a word: a row, or the word in one. Lower case, '-' for '_', blanks around each. A word may
 * stand in several rows of names, if their targets are taken by different commands; the reason why
 * there is none comes last. tests/unit/test_aliases.c walks over all of it. */
#define NAME(ours, note, names) \
    {                           \
        NULL, names, ours, note \
    }
#define NONE(note, names)       \
    {                           \
        NULL, names, NULL, note \
    }
#define VALUE(parameter, ours, note, words) \
    {                                       \
        parameter, words, ours, note        \
    }

static const struct rw_alias aliases[] = {
    /* ---- parameters ---- */
    NAME("objective", NULL,
         " objective-type app application loss loss-function obj algo algorithm "),
    NAME("objective",
         "RankLib's rankers by number: 6, LambdaMART, is lambdarank; 0, MART, is regression",
         " ranker "),
    NAME("rounds", NULL,
         " num-iterations num-iteration n-iter num-tree num-trees num-round num-rounds nrounds"
         " num-boost-round n-estimators max-iter iterations trees n-trees ntrees tree round "),
    NAME("rate", NULL, " learning-rate shrinkage shrinkage-rate eta lr step-size "),
    NAME("leaves", NULL,
         " num-leaves num-leaf max-leaves max-leaf max-leaf-nodes leaf n-leaves max-num-nodes "),
    NAME("depth", NULL, " max-depth tree-depth "),
    NAME("grow", NULL, " grow-policy growing-policy growing-strategy growth "),
    NAME("split", "'mart' divides sums by counts, 'newton' by second derivatives",
         " score-function "),
    NAME("l2",
         "it is counted in average documents: the same number is another strength than elsewhere",
         " lambda-l2 reg-lambda lambda l2-leaf-reg l2-leaf-regularizer l2-regularization reg-l2 "),
    NAME("min-docs", NULL,
         " min-data-in-leaf min-data-per-leaf min-data min-child-samples min-samples-leaf"
         " min-examples mls min-leaf-support "),
    NAME("min-hessian", "it needs 'split' to be 'newton'",
         " min-sum-hessian-in-leaf min-sum-hessian-per-leaf min-sum-hessian min-weight"
         " min-child-weight "),
    NAME("min-gain", NULL,
         " min-gain-to-split min-split-gain gamma min-split-loss min-impurity-decrease "),
    NAME("bins", NULL, " max-bin max-bins border-count tc num-thresholds n-bins num-bins "),
    NAME("bits",
         "sums are always of whole numbers, of 8 bits a lambda unless 'bits' says otherwise",
         " num-grad-quant-bins use-quantized-grad "),
    NAME("rounding", "it is stochastic unless 'rounding' says otherwise", " stochastic-rounding "),
    NAME("truncation", NULL,
         " lambdarank-truncation-level lambdarank-num-pair-per-sample ndcg-truncation"
         " truncation-level train-cutoff lambdamart-ndcg-truncation "),
    NAME("pairs-file", "documents are numbered from 1 within their query",
         " learn-pairs input-pairs pairs-path "),
    NAME("pairs", "'topk': the top is 'truncation'; 'mean:N': N is lambdarank_num_pair_per_sample",
         " lambdarank-pair-method pair-method max-pairs "),
    NAME("sigma", NULL, " sigmoid "),
    NAME("norm", NULL,
         " lambdarank-norm lambdarank-normalization lambdarank-score-normalization normalize"
         " normalise "),
    NAME("label-gain", "a list of gains goes into a file, one number a line from label 0 on",
         " gain gains label-gains "),
    NAME("label-gain", "true is 'exp' (2^l - 1), false is 'linear'", " ndcg-exp-gain "),
    NAME("absent",
         "zero: a feature that is left out is 0; missing: it is missing, as nan always is",
         " missing use-missing zero-as-missing nan-mode missing-value "),
    NAME("weights", "a file with one number a line: a weight for each document",
         " weight weight-file weights-file sample-weight "),
    NAME("query-weights", "a file with one number a line: a weight for each query",
         " group-weights group-weight learn-group-weights query-weight "),
    NAME("start-scores", "a file with one number a line: a score for each document",
         " init-score init-scores base-margin baseline learn-baseline initscore-filename"
         " init-score-filename init-score-file start-score "),
    NAME("positions", "a file with one number a line: where each document was shown",
         " position position-file position-filename position-column "),
    NAME("debias", "'ipw' is Unbiased LambdaMART", " lambdarank-unbiased "),
    NAME("position-norm", NULL, " lambdarank-bias-norm "),
    NAME("position-l2", NULL, " lambdarank-position-bias-regularization "),
    NAME("label-column", "of CSV and TSV; LETOR data has the label first in each line",
         " label target label-name target-column "),
    NAME("qid-column", "of CSV and TSV; LETOR data has qid:QUERY in each line",
         " qid query-id group-id group-column query-column "),
    NAME("names", "a file of lines 'ID NAME'",
         " feature-name feature-names feature-names-path fmap feature-map "),
    NAME("categorical", "features are named, by id or name: '3-5,shop'",
         " categorical-feature categorical-features categorical-column cat-feature cat-features"
         " cat-column "),
    NAME("category-smoothing", NULL, " cat-smooth "),
    NAME("monotone", "features are named, by id or name: '3:+,url_length:-'",
         " monotone-constraints monotone-constraint mc monotonic-cst monotonicity monotonic"
         " monotone-features "),
    NAME("interactions", "groups of features, by id or name: '1-20;21-30,url_length'",
         " interaction-constraints interaction-constraint interaction-cst "),
    NAME("ignore", NULL,
         " ignore-column ignore-feature ignore-features ignored-features blacklist "),
    NAME("features", "a list of ids or names: '3,5-9,bm25'; 'ignore' lists those to leave out",
         " feature features-for-select "),
    NAME("sample-queries", "whole queries are sampled, for each tree anew",
         " bagging-by-query srate "),
    NAME("sample-docs",
         "documents are sampled, for each tree anew, with lambdas of whole queries; "
         "'sample-queries' samples these",
         " bagging-fraction sub-row subsample bagging "),
    NAME("sample-features", "features are sampled for each tree",
         " feature-fraction sub-feature colsample-bytree max-features frate"
         " num-candidate-attributes-ratio "),
    NAME("sample-features", "features are sampled for each tree, or each node, not for each level",
         " colsample-bylevel rsm "),
    NAME("sample-features-node", "of the features of the tree",
         " colsample-bynode feature-fraction-bynode sub-feature-bynode "),
    NAME("metric", NULL,
         " eval-metric metrics metric-types custom-metric custom-loss test-metric metric2t"
         " scoring "),
    NAME("metric", "the cutoff is part of the metric: ndcg@5,ndcg@10",
         " eval-at ndcg-at ndcg-eval-at map-eval-at map-at test-cutoff at "),
    NAME("early-stop", NULL,
         " early-stopping-round early-stopping-rounds early-stopping od-wait n-iter-no-change estop"
         " end-after-rounds patience early-stopping-num-trees-look-ahead "),
    NAME("early-stop-delta", NULL, " early-stopping-min-delta min-delta tol "),
    NAME("empty", "what a query without a relevant document counts: 0, 1, or skip",
         " empty-queries no-relevant "),
    NAME("relevant", NULL, " relevance-level level-for-rel relevance-threshold "),
    NAME("seed", NULL, " random-seed random-state "),
    NAME("seed", "there is one seed for all random numbers",
         " data-random-seed data-seed bagging-seed bagging-fraction-seed feature-fraction-seed"
         " objective-seed extra-seed drop-seed seed-per-iteration "),
    NAME("threads", NULL, " num-threads num-thread nthread nthreads n-jobs thread-count thread "),
    NAME("device", NULL, " device-type task-type gpu processing-unit "),
    NAME("device", "one GPU is chosen as 'cuda:N'",
         " devices gpu-id gpu-device-id gpu-platform-id num-gpu n-gpus "),
    NAME("device", "splits are always found from histograms; 'cuda' builds them on a GPU",
         " tree-method predictor gpu-use-dp "),
    NAME("train-metric", "'on' or 'off'; which metric is 'metric'",
         " is-provide-training-metric training-metric is-training-metric train-metrics"
         " provide-training-metric "),

    /* ---- options of the program ---- */
    NAME("valid", NULL,
         " valid-data valid-file valid-data-file valid-filenames valid-sets validation validate"
         " vali test test-data test-set test-file test-data-file eval-set eval-sets eval-data evals"
         " watchlist "),
    NAME("output", NULL,
         " output-model model-out model-output save-model save out model-dir train-dir output-file"
         " output-result predict-result prediction-result predict-name prediction-name pred-name"
         " name-pred save-path dump-model "),
    NAME("init", "it goes on from that model with 'rounds' more trees",
         " input-model model-in model-input init-model xgb-model restart-train warm-start "),
    NAME("checkpoint", "'resume' goes on from it, to the model of a training that never stopped",
         " snapshot-file save-snapshot checkpoint-path partial "),
    NAME("checkpoint-every", "rounds, or a time such as 30s",
         " snapshot-freq save-period snapshot-interval "),
    NAME("resume", "'auto' goes on from 'checkpoint', if the file is there",
         " try-resume-training "),
    NAME("model", NULL, " input-model model-in model-input load load-model model-file "),
    NAME("scores", NULL, " score predictions prediction pred "),
    NAME("trees", NULL,
         " num-iteration-predict ntree-limit iteration-range num-trees n-trees num-iteration"
         " ntree-end best-iteration "),
    NAME("leaf-ids", NULL,
         " predict-leaf-index is-predict-leaf-index leaf-index pred-leaf leaf-indexes "),
    NAME("documents", NULL,
         " predict-contrib is-predict-contrib contrib pred-contribs pred-contrib shap shapvalues "),
    NAME("per-query", NULL, " idv "),
    NAME("queries", NULL, " n-queries num-queries "),
    NAME("folds", NULL, " nfold n-folds num-folds fold-count kcv cv fold k-folds "),
    NAME("config", NULL, " params conf parameters config-file params-file "),
    NAME("verbose", "'quiet' says less",
         " verbosity verbose-eval logging-level log-level metric-freq metric-period output-freq "),
    NAME("quiet", NULL, " silent "),
    NAME("log", NULL, " log-file json-log train-log learn-error-log test-error-log logfile "),
    NAME("top", NULL, " max-num-features "),

    /* ---- what is done otherwise ---- */
    NONE("files of data are named without an option: rankwood train DATA",
         " data train train-data train-data-file train-file training-data learn-set data-filename"
         " train-set dtrain "),
    NONE("files are named without an option, a model before the data: rankwood predict MODEL DATA",
         " model input-model model-in model-input load load-model model-file model-path "),
    NONE("what is to be done is the first word: rankwood train, predict, eval, ...",
         " task skip-train rank "),
    NONE("a line of data holds them all: label qid:QUERY FEATURE:VALUE ...",
         " label target group group-id query-id"
         " qid column-description cd header has-header delimiter docid eval-group ranking-group"
         " group-file query-file "),
    NONE("cross-validation is a command: rankwood cv DATA --folds K -o DIR",
         " nfold n-folds num-folds fold-count kcv cv fold k-folds kcvmd kcvmn stratified "),
    NONE("a validation set is a file ('valid'); folds of one file are 'rankwood cv'",
         " validation-fraction validation-ratio eval-fraction tvs tts holdout "),
    NONE("labels are those of the data; TREC's judgments are not read", " qrel qrels "),
    NONE("trees are boosted by gradients (gbdt, gbtree, Plain); there is no dart, rf or gblinear",
         " boosting boosting-type boost booster "),
    NONE("there is no dart: trees are never dropped",
         " drop-rate rate-drop max-drop skip-drop one-drop xgboost-dart-mode uniform-drop"
         " sample-type normalize-type keep-drop best-on-train adaptive-type dart-dropout "),
    NONE("documents are not sampled by gradient or weight; 'sample-docs' samples all alike",
         " data-sample-strategy top-rate other-rate sampling-method bootstrap-type"
         " bagging-temperature mvs-reg mvs-head-fraction goss-alpha goss-beta selgb-ratio "),
    NONE("samples are drawn for each tree anew ('sample-queries', 'sample-docs')",
         " bagging-freq subsample-freq sampling-frequency sampling-unit bag rtype "),
    NONE("a tree of every round counts once: there are no forests in a round",
         " num-parallel-tree "),
    NONE("sets of categories are not limited: 'category-penalty' takes from a gain what chance has"
         " of the choice among many",
         " max-cat-threshold max-cat-to-onehot min-data-per-group cat-l2 "),
    NONE("categories are split by sets of any size ('categorical'), and never become numbers",
         " enable-categorical"
         " one-hot-max-size simple-ctr combinations-ctr max-ctr-complexity"
         " counter-calc-method per-feature-ctr text-features embedding-features tokenizers"
         " dictionaries feature-calcers ctr-leaf-count-limit ctr-target-border-count"
         " feature-types text-processing ctr-description ctr-history-unit model-size-reg"
         " store-all-simple-ctr final-ctr-computation-mode "),
    NONE(
        "constraints of 'monotone' are kept by bounds that a split hands down, as 'basic' ones are,"
        " and without a penalty",
        " monotone-penalty monotone-constraints-method monotone-constraining-method mc-method"
        " monotone-splits-penalty mc-penalty ms-penalty "),
    NONE("leaf values are not clipped: 'l2' and 'rate' shrink them",
         " max-delta-step max-leaf-output max-tree-output "),
    NONE("there is no L1: 'l2' shrinks leaf values",
         " lambda-l1 reg-alpha alpha reg-l1 l1-regularization "),
    NONE("'l2' shrinks the values of small leaves", " path-smooth "),
    NONE("the boundary of every bin is tried", " extra-trees extra-tree "),
    NONE("leaves are constants", " linear-tree linear-trees linear-lambda "),
    NONE("trees are grown freely: no split or bin can be given",
         " forcedsplits-filename forced-splits-filename forced-splits-file forced-splits fs"
         " forcedbins-filename input-borders input-borders-file output-borders"
         " output-borders-file fixed-binary-splits "),
    NONE("gains are not multiplied: 'feature-penalty' takes a feature's cost from each gain",
         " feature-contri feature-contrib fc fp feature-weights "),
    NONE("a feature costs the same at each split: 'feature-penalty' takes it from the gain",
         " cegb-tradeoff cegb-penalty-split cegb-penalty-feature-lazy"
         " cegb-penalty-feature-coupled first-feature-use-penalties"
         " per-object-feature-penalties penalties-coefficient "),
    NONE("labels are grades of relevance, not classes; 'weights' weighs queries or documents",
         " num-class num-classes classes-count class-names is-unbalance unbalance unbalanced-sets"
         " scale-pos-weight class-weights class-weight auto-class-weights pos-bagging-fraction"
         " pos-sub-row pos-subsample pos-bagging neg-bagging-fraction neg-sub-row neg-subsample"
         " neg-bagging target-border auc-mu-weights multi-error-top-k multi-strategy "),
    NONE("scores begin at 0, or at those of a file ('start-scores') or of a model that is gone on "
         "from ('init')",
         " boost-from-average base-score "),
    NONE("the errors of single documents are the squared one and the logistic one",
         " fair-c poisson-max-delta-step tweedie-variance-power reg-sqrt quantile-alpha"
         " huber-slope aft-loss-distribution expectile-alpha "),
    NONE(
        "the first metric stops training, on the first validation set that is not the training set",
        " first-metric-only disable-default-eval-metric metric-to-stop "),
    NONE("a round counts as better if its metric is, by more than 'early-stop-delta'",
         " od-pval od-type "),
    NONE("the model always ends at its best round, unless 'early-stop' is 0",
         " use-best-model best-model-min-trees save-best "),
    NONE("bins are shaped by 'bins' alone",
         " min-data-in-bin bin-construct-sample-cnt subsample-for-bin max-bin-by-feature"
         " feature-border-type sketch-eps sketch-ratio per-float-feature-quantization"
         " max-cached-hist-node "),
    NONE("'rankwood bin' writes data as a cache that loads at once",
         " save-binary is-save-binary is-save-binary-file used-cache "),
    NONE("nothing is to be switched on: one model, whatever the threads and the device",
         " deterministic deterministic-histogram single-precision-histogram "),
    NONE("the program chooses how data lies in memory; 'plan' tells how much that takes",
         " force-col-wise force-row-wise histogram-pool-size hist-pool-size enable-bundle"
         " is-enable-bundle bundle is-enable-sparse is-sparse enable-sparse sparse pre-partition"
         " is-pre-partition two-round two-round-loading use-two-round-loading feature-pre-filter"
         " used-ram-limit gpu-ram-part gpu-cat-features-storage pinned-memory-size"
         " precise-float-parser parser-config-file use-rmm data-partition extmem-single-page"
         " sparse-features-conflict-fraction "),
    NONE("workers on several machines are started by mpirun, srun, torchrun, Dask or Spark",
         " num-machines num-machine machines workers nodes machine-list-filename machine-list-file"
         " machine-list mlist local-listen-port local-port port time-out tree-learner tree-type"
         " tree-learner-type dsplit "),
    NONE("the documents of a query are its pairs", " subgroup-id "),
    NONE("leaves of given trees get new values by 'rankwood train --refit', with 'refit-decay'",
         " process-type updater refresh-leaf refit-decay-rate refit decay-rate "),
    NONE("trees are not changed while others are added",
         " model-shrink-rate model-shrink-mode optimize meta-algo "),
    NONE("every tree counts in a score", " pred-early-stop pred-early-stop-freq"
                                         " pred-early-stop-margin "),
    NONE("scores are raw: the sum of the leaves",
         " predict-raw-score is-predict-raw-score predict-rawscore raw-score pred-margin"
         " output-margin prediction-type "),
    NONE("splits are chosen without noise",
         " random-strength random-score-type langevin diffusion-temperature posterior-sampling "),
    NONE("a leaf's value is one Newton step, shrunk by 'l2'",
         " leaf-estimation-method leaf-estimation-iterations leaf-estimation-backtracking"
         " quant-train-renew-leaf collapse-leaves-factor "),
    NONE("there is no ordered boosting: documents are not permuted",
         " fold-len-multiplier fold-permutation-block approx-on-full-history has-time "),
    NONE("'min-docs' is the least of a leaf; a node has no least of its own",
         " min-samples-split min-weight-fraction-leaf ccp-alpha "),
    NONE("a model becomes C, ONNX, PMML or another program's by 'rankwood export'",
         " convert-model convert-model-language convert-model-file model-format dump-format"
         " name-dump dump-code dump-type "),
    NONE("SHAP values are printed by 'rankwood explain MODEL DATA --documents'",
         " predict-contrib is-predict-contrib contrib pred-contribs pred-contrib shap shapvalues "),
    NONE("'rankwood info' and 'rankwood explain' tell which features matter",
         " importance-type feature-importance-type saved-feature-importance-type fstr-file "),
    NONE("unknown parameters are always errors", " validate-parameters "),
    NONE("one GPU is chosen: 'device' is 'cuda:N'", " gpu-device-id-list device-config "),
    NONE("a score is of the first trees ('trees'), from the first one on",
         " start-iteration-predict "),
    NONE("there is no voting among machines, and no linear booster",
         " top-k topk feature-selector "),
    NONE("labels may all be the same", " allow-const-label "),
    NONE("nothing is written that was not asked for", " allow-writing-files metadata "),
    NONE("it is for CatBoost's own developers",
         " dev-efb-max-buckets dev-score-calc-obj-block-size "),

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

const struct rw_alias *rw_alias_at(int i)
{
    return i >= 0 && i < N_ALIASES ? &aliases[i] : NULL;
}

int rw_alias_find(const char *parameter, const char *word, int from)
{
    char between[80];
    int n = 0;
    if (*word == '-' && word[1] == '-')
        word += 2;
    between[n++] = ' ';
    for (; *word && n < (int)sizeof(between) - 2; word++) {
        if (isspace((unsigned char)*word))
            return -1;
        between[n++] = *word == '_' ? '-' : (char)tolower((unsigned char)*word);
    }
    between[n++] = ' ';
    between[n] = 0;
    if (*word || n == 2)
        return -1;
    for (int i = from < 0 ? 0 : from; i < N_ALIASES; i++) {
        const struct rw_alias *row = &aliases[i];
        const int is_kind =
            parameter ? row->parameter && strcmp(row->parameter, parameter) == 0 : !row->parameter;
        if (is_kind && strstr(row->names, between))
            return i;
    }
    return -1;
}
