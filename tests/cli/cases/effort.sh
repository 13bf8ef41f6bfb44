# room: evaluate
# long
# train --effort: the search and the model of 'tune' with a stated number of trials.
small_data
gzip -d valid.txt.gz
set -- train train.txt --effort fast --early-stop 20
"$RANKWOOD" "$@" --valid valid.txt -o one.txt 2>&1 | grep 'effort\|trials'
"$RANKWOOD" tune train.txt --valid valid.txt --trials 10 --early-stop 20 --quiet -o other.txt | grep '^chosen: trial'
say 'the model of tune' cmp -s one.txt other.txt
"$RANKWOOD" "$@" -o one.txt 2>&1 | grep 'effort\|trials'
"$RANKWOOD" tune train.txt --trials 10 --early-stop 20 --quiet -o other.txt >/dev/null
say 'the model of tune in folds' cmp -s one.txt other.txt
"$RANKWOOD" "$@" --quiet --manifest manifest.json -o other.txt
"$RANKWOOD" verify manifest.json --quiet
"$RANKWOOD" bin train.txt -o train.rwb --quiet
"$RANKWOOD" train train.rwb --effort fast --early-stop 20 --quiet -o other.txt
say 'the same model from a cache' cmp -s one.txt other.txt
for effort in default best; do
    "$RANKWOOD" train train.txt --valid valid.txt --effort $effort --rounds 1 -o other.txt 2>&1 | grep effort
done
rm -f other.txt
try train train.txt --effort more -o none
try "$@" --init one.txt -o none
try "$@" --refit one.txt -o none
try "$@" --for lightgbm -o none
try "$@" --workers 2 -o none
try "$@" --checkpoint ck -o none
try "$@" --valid valid.txt --valid valid.txt -o none
try "$@" --print-config
try "$@" --metric rmse --objective regression --quiet -o none
try "$@" --early-stop-rule smooth --quiet -o none
say 'no model' test ! -e none
