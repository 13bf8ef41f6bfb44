# room: params
# Other trainers' names of parameters and values, and parameters without dashes.
echo '1 qid:1 1:1' >a.txt
t() {
    try train a.txt -o m "$@"
}
t --lr 0.1
t --num_leaves 31
t --NUM-LEAVES=31
t --lambda_l2 1
t --bagging_fraction 0.5
t --bagging_freq 1
t --boosting dart
t --categorical_feature 3
t --monotone_constraints 1
t --max_delta_step 1
t --eval_at 5,10
t --input_model a.txt
t --nfold 5
t --predict_leaf_index
t --shap
t -metric2t NDCG@10
t -ranker 6
t -output m
t --objective rank:ndcg
t --objective rank:pairwise
t --objective rank:map
t --objective rank_xendcg
t --objective YetiRank
t --objective YetiRankPairwise:mode=NDCG
t --objective QueryRMSE
t --objective reg:squarederror
t --objective binary
t --metric auc
t --metric ndcg@
t --metric ndcg-
t --metric ndcg@10-
t --metric ndcg@5,10
t --metric NDCG:top=10
t --metric P_5
t --grow_policy lossguide
t --grow lossguide
t --depth -1
t --device gpu
t --early-stop -1
t num_leaves=31
t learning_rate=0.1
t leaves=31
t objective=rank:ndcg
t objective=binary
t metric=auc
t eval_at=5,10
t config=train.conf
t data=a.txt
t task=train
t boosting=gbdt
t frob=1
try eval a.txt --model m num_leaves=31
try eval a.txt --model_file m --num_leaves 3
try predict --model m a.txt
try predict m a.txt --num_iteration_predict 5
try cv a.txt --nfold 5 -o d
cat >lightgbm.conf <<'END'
boosting_type = gbdt
END
printf 'objective = rank:ndcg\n' >xgboost.conf
printf 'valid_data = a.txt\n' >valid.conf
for c in lightgbm xgboost valid; do
    t --config $c.conf
done
# A file of that name is a file.
echo '0 qid:1 1:2' >num_leaves=31
"$RANKWOOD" check a.txt num_leaves=31 | head -n 1
