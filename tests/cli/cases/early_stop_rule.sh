# room: train
# --early-stop-rule paired: the same model on any number of workers and threads, on another device, and resumed.
small_data
gzip -d valid.txt.gz
set -- train train.txt --valid valid.txt --leaves 7 --rate 0.3 --early-stop 10 --early-stop-rule paired
"$RANKWOOD" "$@" --rounds 60 -o one.txt 2>talk
sed -n 's/^rankwood: note: //p' talk | grep '^early stopping'
grep '^early-stop-rule\|^best-round' one.txt
for how in '--threads 1' '--workers 3' '--device sim'; do
    "$RANKWOOD" "$@" $how --rounds 60 --quiet -o other.txt
    say "the same model with $how" cmp -s one.txt other.txt
done
"$RANKWOOD" "$@" --rounds 20 --quiet -o part.txt --checkpoint ck
"$RANKWOOD" "$@" --rounds 60 --quiet -o other.txt --resume ck
say 'the same model after a resume' cmp -s one.txt other.txt
# With --init, only rounds of the new training can be kept.
"$RANKWOOD" train train.txt --leaves 7 --rate 0.3 --rounds 8 --quiet -o first.txt
"$RANKWOOD" "$@" --rounds 60 --init first.txt -o more.txt 2>talk
sed -n 's/^rankwood: note: //p' talk | grep '^early stopping'
"$RANKWOOD" "$@" --rounds 9 --init first.txt --quiet -o part.txt --checkpoint ck2
"$RANKWOOD" "$@" --rounds 60 --init first.txt --quiet -o other.txt --resume ck2
say 'the same model after a resume with --init' cmp -s more.txt other.txt
# The rule best is the default, and models do not store it.
"$RANKWOOD" train train.txt --valid valid.txt --early-stop 10 --rounds 60 --quiet -o default.txt
"$RANKWOOD" train train.txt --valid valid.txt --early-stop 10 --rounds 60 --early-stop-rule best --quiet -o best.txt
say 'best is the default' cmp -s default.txt best.txt
try "$@" --metric rmse --objective regression --quiet -o none.txt
try train train.txt --valid valid.txt --early-stop-rule first -o none.txt
try train train.txt --early-stop-rule paired --rounds 2 --quiet -o alone.txt
say none test ! -e none.txt
