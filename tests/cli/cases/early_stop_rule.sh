# room: train
# long
# --early-stop-rule: the same model on any number of workers and threads, on another device, and resumed.
small_data
gzip -d valid.txt.gz
for rule in paired smooth; do
    set -- train train.txt --valid valid.txt --leaves 7 --rate 0.3 --early-stop 10 --early-stop-rule $rule
    "$RANKWOOD" "$@" --rounds 60 -o one.txt 2>talk
    sed -n 's/^rankwood: note: //p' talk | grep '^early stopping'
    grep '^early-stop-rule\|^best-round' one.txt
    for how in '--threads 1' '--workers 3' '--device sim'; do
        "$RANKWOOD" "$@" $how --rounds 60 --quiet -o other.txt
        say "the same model with $how" cmp -s one.txt other.txt
    done
    "$RANKWOOD" "$@" --rounds 20 --quiet -o part.txt --checkpoint ck.$rule
    "$RANKWOOD" "$@" --rounds 60 --quiet -o other.txt --resume ck.$rule
    say 'the same model after a resume' cmp -s one.txt other.txt
    # With --init, only rounds of the new training can be kept.
    "$RANKWOOD" train train.txt --leaves 7 --rate 0.3 --rounds 8 --quiet -o first.txt
    "$RANKWOOD" "$@" --rounds 60 --init first.txt -o more.txt 2>talk
    sed -n 's/^rankwood: note: //p' talk | grep '^early stopping'
    "$RANKWOOD" "$@" --rounds 9 --init first.txt --quiet -o part.txt --checkpoint ck2.$rule
    "$RANKWOOD" "$@" --rounds 60 --init first.txt --quiet -o other.txt --resume ck2.$rule
    say 'the same model after a resume with --init' cmp -s more.txt other.txt
done
"$RANKWOOD" "$@" --metric rmse --objective regression --rounds 30 -o other.txt 2>&1 | sed -n 's/^rankwood: note: \(early stopping\)/\1/p'
set -- train train.txt --valid valid.txt --leaves 7 --rate 0.3 --early-stop 10 --early-stop-rule paired
# auto: paired for at most 1,000 queries in the first validation set of all workers. The model stores the choice.
for queries in 1000 1001; do
    "$RANKWOOD" synth --shape letor --queries $queries --seed 5 -o valid$queries.txt
    for how in '--workers 1' '--workers 2'; do
        "$RANKWOOD" train train.txt --valid valid$queries.txt --rounds 3 --quiet $how -o model.txt
        echo "$queries queries, $how: $(grep '^early-stop-rule' model.txt)"
    done
done
"$RANKWOOD" train train.txt --valid valid1001.txt --rounds 3 --early-stop-rule best --quiet -o best.txt
grep -v '^early-stop-rule\|^checksum' model.txt >chosen.txt
grep -v '^early-stop-rule\|^checksum' best.txt >given.txt
say 'auto trains as best' cmp -s chosen.txt given.txt
"$RANKWOOD" train train.txt --valid valid.txt --metric rmse --rounds 3 --quiet -o model.txt
grep '^early-stop-rule' model.txt
"$RANKWOOD" train train.txt --rounds 3 --quiet -o model.txt
say 'no rule without a validation set' sh -c '! grep -q early-stop-rule model.txt'
"$RANKWOOD" train train.txt --valid valid.txt --quiet --print-config >as_trained.conf
grep '^early-stop-rule' as_trained.conf
"$RANKWOOD" train train.txt --valid valid.txt --rounds 3 --config as_trained.conf --quiet -o other.txt
"$RANKWOOD" train train.txt --valid valid.txt --rounds 3 --quiet -o model.txt
say 'the same model from --print-config' cmp -s model.txt other.txt
"$RANKWOOD" train train.txt --valid valid.txt --rounds 3 --quiet -o part.txt --checkpoint ck3
try train train.txt --valid valid1001.txt --rounds 5 --quiet -o none.txt --resume ck3
try "$@" --metric rmse --objective regression --quiet -o none.txt
try train train.txt --valid valid.txt --early-stop-rule first -o none.txt
try train train.txt --early-stop-rule paired --rounds 2 --quiet -o alone.txt
say none test ! -e none.txt
