# room: evaluate
# long
# --early-stop-rule folds: cross-validation chooses the number of rounds, as trial 0 of a tuning does.
small_data
gzip -d valid.txt.gz
set -- train train.txt --early-stop-rule folds --early-stop 10 --leaves 7
"$RANKWOOD" "$@" -o one.txt 2>&1 | grep '^metric\|folds'
grep '^rounds\|^early-stop\|^best-round\|^trees' one.txt
"$RANKWOOD" tune train.txt --folds 5 --trials 1 --early-stop 10 --leaves 7 --quiet | grep '^chosen'
rounds=$(sed -n 's/^rounds = //p' one.txt)
"$RANKWOOD" train train.txt --rounds "$rounds" --leaves 7 --quiet -o other.txt 2>/dev/null
say 'the same model by --rounds' cmp -s one.txt other.txt
for how in '--threads 1' '--device sim' '--for lightgbm'; do
    "$RANKWOOD" "$@" $how --quiet -o other.txt
    say "the same model with $how" cmp -s one.txt other.txt
done
# A cache that has codes, which a training otherwise reads in place of values.
"$RANKWOOD" bin train.txt -o train.rwb --quiet
"$RANKWOOD" train train.rwb --early-stop-rule folds --early-stop 10 --leaves 7 --quiet -o other.txt
say 'the same model from a cache' cmp -s one.txt other.txt
"$RANKWOOD" "$@" --quiet --checkpoint ck -o other.txt
"$RANKWOOD" "$@" --quiet --resume ck -o again.txt
say 'the same model resumed' cmp -s one.txt again.txt
"$RANKWOOD" "$@" --quiet --print-config >as_trained.conf
grep '^early-stop\|^rounds' as_trained.conf
"$RANKWOOD" train train.txt --config as_trained.conf --quiet -o other.txt
say 'the same model from --print-config' cmp -s one.txt other.txt
"$RANKWOOD" "$@" --log log --seed 2 --quiet -o other.txt
grep -o '"given":.*' log | grep -o '"early-stop-rule":"[a-z]*"'
rm -f other.txt
try "$@" --valid valid.txt -o none
try "$@" --init one.txt -o none
try "$@" --workers 2 -o none
try "$@" --metric rmse --objective regression --quiet -o none
try "$@" --ties file --quiet -o none.ties
try "$@" --quiet --refit one.txt -o refitted
try cv train.txt --folds 4 --early-stop-rule folds --quiet -o none
try tune train.txt --valid valid.txt --trials 1 --early-stop-rule folds --quiet -o none
say 'no model' test ! -e none
