# room: params
# Known options that have no effect under the others given: errors by --strict, else a warning and the same model.
echo '1 qid:1 1:1' >a.txt
t() {
    try train a.txt --strict --quiet -o m "$@"
}
t --min-hessian 1
t --grow levels --leaves 8
t --grow levels --depth 0
t --grow symmetric --leaves 8
t --grow symmetric --depth 0
t --objective regression --truncation 5
t --objective regression --sigma 2
t --objective regression --permutations 5
t --decay 0.9
t --objective xendcg --delta map
t --objective yetirank --pairs all
t --objective yetirank --delta map --decay 0.9
t --objective yetirank --delta err --relevant 2
t --objective yetirank --delta p@31
t --objective yetirank --delta p@6 --truncation 5
t --pairs all --truncation 5
t --delta map --pairs mean:2 --truncation 5
t --delta err --relevant 2
t --delta map --rounding nearest --seed 2 --sample-features 1 --gain-noise 0
t --objective regression --label-gain linear
t --objective regression --label-gain linear --metric rmse --valid a.txt
t --valid a.txt --relevant 2
t --valid a.txt --metric rmse --empty 0
t --valid a.txt --metric rmse --ties mean
t --rounding nearest --seed 2 --sample-features 1 --gain-noise 0
t --hist lanes
t --hist lanes --device cpu
t --gpu-memory 16G --device cpu
t --early-stop 5
t --metric map
t --empty 1
t --ties mean
try eval a.txt --strict --model m --metric map --label-gain linear
try eval a.txt --strict --model m --relevant 2
try eval a.txt --model m --like lightgbm --ties file
try eval a.txt --strict --model m --metric rmse --ties mean
ls
# Defaults and values of --config are not reported.
printf '1 qid:1 1:1\n0 qid:1 1:2\n' >a.txt
printf '0 qid:1 1:1\n1 qid:1 1:2\n' >v.txt
printf 'sigma = 2\nmin-hessian = 3\nhist = lanes\nties = mean\nleaves = 9\n' >c
ok() {
    say "$*" "$RANKWOOD" train a.txt -o m --rounds 1 --min-docs 1 --quiet --strict "$@"
}
ok --early-stop 0
ok --early-stop 100 --metric ndcg@10 --ties file --empty skip --relevant 1
ok --min-hessian 0
ok --objective regression --norm on --truncation 30 --label-gain exp
ok --objective yetirank --delta ndcg --pairs topk
ok --objective yetirank --delta map --relevant 1 --decay 0.85
ok --objective yetirank --delta p@1 --truncation 1
ok --objective yetirank --delta p@1 --truncation none
ok --delta map --relevant 1
ok --pairs mean:1 --truncation 30
ok --delta none --pairs mean:1 --rounding nearest --seed 2 --sample-features 1 --gain-noise 0
ok --hist auto --device cpu
ok --gpu-memory auto --device cpu
ok --valid v.txt --metric rmse --ties file
ok --config c --objective regression --grow levels --depth 2 --device cpu
# A warning, once, and the model of a training without the parameter, for which a checkpoint serves.
small_data
plain() {
    "$RANKWOOD" train train.txt --rounds 3 --leaves 7 --quiet "$@"
}
same() { # arguments that stay, then those that have no effect
    plain $1 -o without
    try train train.txt --rounds 3 --leaves 7 --quiet $1 $2 -o with
    say '  the same model' cmp with without
}
same '--pairs all' '--truncation 5'
same '--split mart' '--min-hessian 3'
same '--objective listnet' '--delta map --pairs all --sigma 2 --norm off --debias ipw --permutations 3'
same '--objective yetirank --delta map' '--decay 0.5 --pairs all'
same '--rounding nearest --sample-features 1 --gain-noise 0' '--seed 7'
same '--device cpu' '--hist lanes --gpu-memory 8G'
same '' '--metric map --ties mean --empty 0 --relevant 2 --early-stop-delta 0.1'
same '' '--categorical 3 --category-smoothing 4' | sed 1,2d
same '--ranks 3 --pairs all' '--truncation 5'
"$RANKWOOD" train train.txt --rounds 2 --leaves 7 --quiet --pairs all --checkpoint ck -o m
try train train.txt --rounds 3 --leaves 7 --quiet --pairs all --truncation 5 --resume ck -o with
plain --pairs all -o without
say resumed cmp with without
# The same of refits, cross-validation, selection and benchmarks.
"$RANKWOOD" train valid.txt.gz --refit without --quiet -o refitted
try train valid.txt.gz --refit without --quiet --leaves 3 --seed 5 --early-stop 3 --pairs all --truncation 7 -o other
say '  the same model' cmp refitted other
try cv train.txt --rounds 2 --folds 3 --pairs all --truncation 5 --seed 3 --quiet -o folds | sed '/^fold/,$d'
try cv train.txt --strict --rounds 2 --folds 3 --pairs all --truncation 5 --seed 3 --quiet -o folds
try select train.txt --valid valid.txt.gz --rounds 2 --pairs all --truncation 5 --seed 3 --quiet | sed '/^features/,$d'
try bench predict --suite single --leaves 5 --strict
