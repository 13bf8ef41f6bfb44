# Known options that can have no effect under the others given.
echo '1 qid:1 1:1' >a.txt
t() {
    try train a.txt -o m "$@"
}
t --min-hessian 1
t --grow levels --leaves 8
t --grow levels --depth 0
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
t --delta map --rounding nearest --seed 2 --sample-features 1
t --objective regression --label-gain linear
t --objective regression --label-gain linear --metric rmse --valid a.txt
t --valid a.txt --relevant 2
t --valid a.txt --metric rmse --empty 0
t --valid a.txt --metric rmse --ties mean
t --rounding nearest --seed 2 --sample-features 1
t --hist lanes
t --hist lanes --device cpu
t --gpu-memory 16G --device cpu
t --early-stop 5
t --metric map
t --empty 1
t --ties mean
try eval a.txt --model m --metric map --label-gain linear
try eval a.txt --model m --relevant 2
try eval a.txt --model m --like lightgbm --ties file
try eval a.txt --model m --metric rmse --ties mean
ls
# A value that changes nothing is no error: what it says is so anyway.
printf '1 qid:1 1:1\n0 qid:1 1:2\n' >a.txt
printf '0 qid:1 1:1\n1 qid:1 1:2\n' >v.txt
ok() {
    say "$*" "$RANKWOOD" train a.txt -o m --rounds 1 --min-docs 1 --quiet "$@"
}
ok --early-stop 0
ok --early-stop 100 --metric ndcg@10 --ties file --empty skip --relevant 1
ok --min-hessian 0
ok --objective regression --norm off --truncation none --label-gain exp
ok --objective yetirank --norm off
ok --objective yetirank --delta ndcg --pairs topk
ok --objective yetirank --delta map --relevant 1 --decay 0.85
ok --objective yetirank --delta p@1 --truncation 1
ok --objective yetirank --delta p@1 --truncation none
ok --delta map --relevant 1
ok --pairs mean:1 --truncation none
ok --delta none --pairs mean:1 --rounding nearest --seed 2 --sample-features 1
ok --grow levels --depth 3 --leaves 8
ok --hist auto --device cpu
ok --gpu-memory auto --device cpu
ok --gpu-memory 16G --device auto
ok --valid v.txt --metric rmse --ties file
