# room: train
# long
# Weights of the validation sets change the metrics, and so the best round.
small_data
"$RANKWOOD" synth --shape letor --queries 25 --seed 6 -o valid.txt
awk '{ print NR % 5 }' valid.txt >docs.w
seq 25 | awk '{ print ($1 % 3 == 0) ? 5 : 0.5 }' >queries.w
# figures FILE...: of the kept model, as train says them.
figures() {
    "$RANKWOOD" train train.txt --rounds 12 --leaves 7 --early-stop 0 --ties mean -o m "$@" 2>talk
    grep -e '^valid[12]* ndcg@10' talk
}
# eval's, in the same words.
evals() {
    name=$1
    shift
    "$RANKWOOD" eval valid.txt --model m --ties mean "$@" | sed -n "s/^ndcg@10 *\([0-9.]*\).*/$name ndcg@10 \1/p"
}
plain=$(figures --valid valid.txt)
say 'none are none' test "$(figures --valid valid.txt --valid-weights none)" = "$plain"
weighted=$(figures --valid valid.txt --valid-query-weights queries.w)
say 'a weight a query' test "$weighted" = "$(evals valid --query-weights queries.w)"
say 'changes the figure' test "$weighted" != "$plain"
say 'a weight a document' test "$(figures --valid valid.txt --valid-weights docs.w)" = "$(evals valid --weights docs.w)"
# Each file belongs to the set at the same position; sets without a file have no weights.
figures --valid valid.txt --valid valid.txt --valid-query-weights none --valid-query-weights queries.w >both
evals valid1 >expected
evals valid2 --query-weights queries.w >>expected
say 'two sets' cmp both expected
# They choose the best round.
"$RANKWOOD" train train.txt --valid valid.txt --valid-query-weights queries.w --rounds 60 --leaves 31 --rate 0.4 --early-stop-rule best --ties mean --log log -o m --quiet
rounds=$("$RANKWOOD" info m | sed -n 's/^kept round *//p')
say 'the best by weight' test "$(evals valid --query-weights queries.w | cut -d' ' -f3)" = \
    "$(for t in $(seq 60); do [ $t -gt "$(sed -n 's/^trees //p' m)" ] || evals valid --query-weights queries.w --trees $t | cut -d' ' -f3; done | sort | tail -n 1)"
# With ranks, elsewhere, and resumed: the same model and the same metrics of each round.
train() {
    "$RANKWOOD" train train.txt --valid valid.txt --valid-weights docs.w --valid valid.txt --valid-weights none \
        --valid valid.txt --valid-query-weights none --valid-query-weights none --valid-query-weights queries.w \
        --leaves 15 --rate 0.4 --early-stop 5 --quiet "$@" 2>talk
}
same_model
say 'three figures' test "$(head -n 1 whole.metrics | grep -o 'valid[123] ndcg@10":[0-9.]*' | sed 's/.*://' | sort -u | wc -l)" = 3
sed '1s/.*/4/' docs.w >docs2.w
try train train.txt --valid valid.txt --valid-weights docs2.w --valid valid.txt --valid valid.txt --valid-query-weights none --valid-query-weights none --valid-query-weights queries.w --rounds 20 --leaves 15 --rate 0.4 --early-stop 5 --quiet --resume ck -o m2
try train train.txt --valid valid.txt --valid-query-weights queries.w --valid-query-weights none -o m2
try train train.txt --valid-query-weights queries.w -o m2
try train train.txt --valid valid.txt --valid-weights docs.w --valid-query-weights queries.w -o m2
try train train.txt --valid valid.txt --valid-weights queries.w --quiet -o m2
try train train.txt --valid valid.txt --valid-weights nothing --quiet -o m2
try train train.txt --valid valid.txt --valid-weights train.txt --quiet -o m2
say none test ! -e m2
