# room: train
# long
# --early-stop-delta X: a metric improves only if it rises by more than X.
small_data
train() {
    "$RANKWOOD" train train.txt --valid valid.txt.gz --leaves 7 --min-docs 3 --rounds 60 --early-stop 6 --early-stop-rule best --quiet "$@"
}
# The best round and the last one, from the values of all rounds of a log, by the rule as it is written.
rule() { # log delta sign
    grep '"record":"metrics"' "$1" | sed 's/.*[a-z0-9@]":\([-0-9.e]*\)}}/\1/' |
        awk -v x="$2" -v sign="$3" '{ v = sign * $1 } NR == 1 || v - best > x { best = v; at = NR }
            NR - at >= 6 { exit } END { print at, NR }'
}
stopped() { # log model
    echo "$(sed -n 's/^best-round //p' "$2") $(grep -c '"record":"metrics"' "$1")"
}
"$RANKWOOD" train train.txt --valid valid.txt.gz --leaves 7 --min-docs 3 --rounds 60 --early-stop 0 --log all --quiet -o model
"$RANKWOOD" train train.txt --valid valid.txt.gz --leaves 7 --min-docs 3 --rounds 60 --early-stop 0 --metric rmse --objective regression --log all.rmse --quiet -o model
for delta in 0 0.0005 0.002 0.005 1; do
    train --early-stop-delta $delta --log log -o "model.$delta"
    say "ndcg@10, $delta: $(rule all $delta 1)" test "$(rule all $delta 1)" = "$(stopped log "model.$delta")"
    train --metric rmse --objective regression --early-stop-delta $delta --log log -o model
    say "rmse, $delta: $(rule all.rmse $delta -1)" test "$(rule all.rmse $delta -1)" = "$(stopped log model)"
done
train -o plain
say '0 is as without' cmp plain model.0
grep '^early-stop' model.0 model.0.002
gzip -d valid.txt.gz
"$RANKWOOD" train train.txt --valid valid.txt --leaves 7 --min-docs 3 --rounds 60 --early-stop 6 --early-stop-delta 0.002 --early-stop-rule best --quiet --ranks 3 -o other
gzip valid.txt
say 'as 3 ranks' cmp model.0.002 other
# A training that is resumed has the same best value.
"$RANKWOOD" train train.txt --valid valid.txt.gz --leaves 7 --min-docs 3 --rounds 3 --early-stop 6 --early-stop-delta 0.002 --early-stop-rule best --quiet --checkpoint ck -o other
train --early-stop-delta 0.002 --resume ck -o other
say resumed cmp model.0.002 other
try train train.txt --valid valid.txt.gz --leaves 7 --min-docs 3 --rounds 60 --early-stop 6 --early-stop-rule best --resume ck --quiet -o no
train --checkpoint ck -o other
try train train.txt --valid valid.txt.gz --leaves 7 --min-docs 3 --rounds 60 --early-stop 6 --early-stop-delta 1 --early-stop-rule best --resume ck --quiet -o no
for delta in -1 nan x 1e10 ''; do
    try train train.txt --valid valid.txt.gz --early-stop-delta "$delta" --quiet -o no
done
try train --strict train.txt --early-stop-delta 0.1 --quiet -o no
try train --strict train.txt --valid valid.txt.gz --early-stop 0 --early-stop-delta 0.1 --quiet -o no
say none test ! -e no
# The training set among the validation sets never stops training.
gzip -d valid.txt.gz
set -- --leaves 7 --min-docs 3 --rounds 60 --early-stop 6
"$RANKWOOD" train train.txt --valid valid.txt "$@" --quiet -o expected
cp train.txt copy.txt
for workers in 1 3; do
    "$RANKWOOD" train train.txt --valid copy.txt --valid valid.txt "$@" --ranks $workers -o both 2>err
    grep '^rankwood: note: validation set' err
    say "the next set stops it, $workers" test "$(sed -n 's/^best-round //p' both)" = "$(sed -n 's/^best-round //p' expected)"
    try train train.txt --valid copy.txt "$@" --ranks $workers --quiet -o alone
    grep -c '^tree ' alone
done
"$RANKWOOD" bin train.txt -o train.rwb
try train train.rwb --valid copy.txt "$@" --quiet -o alone
# A metric that is the same for every ranking stops nothing.
sed 's/^[0-9]*/1/' valid.txt >level.txt
for workers in 1 3; do
    try train train.txt --valid level.txt "$@" --ranks $workers --quiet -o no
done
awk '{ $2 = "qid:" NR; print }' valid.txt >single.txt
try train train.txt --valid single.txt "$@" --metric err --quiet -o no
