# room: train
# --bags: messages, one model everywhere, whole rounds, and the metric of the written model.
small_data
gzip -d valid.txt.gz
set -- train train.txt --valid valid.txt --leaves 7 --rate 0.3 --bags 3 --sample-queries 0.7 --early-stop-rule best
"$RANKWOOD" "$@" --rounds 12 --log log -o one.txt 2>talk
sed -n 's/^\([0-9]* trees\) in [0-9.]* s/\1/p' talk
grep -e '^bags' -e '^best-round' -e '^trees' one.txt
n=$(sed -n 's/^trees //p' one.txt)
stopped=$(sed -n 's/^valid ndcg@10 //p' talk)
measured=$("$RANKWOOD" eval --model one.txt valid.txt 2>/dev/null | sed -n 's/^ndcg@10  *\([0-9.]*\).*/\1/p')
say 'eval measures the same metric' test "$stopped" = "$measured"
say 'the log has a record per round' test "$(grep -c '"record":"metrics"' log)" = 12
"$RANKWOOD" info one.txt | grep -e '^trees' -e '^bags' -e '^kept round'
for how in '--threads 1' '--workers 3' '--device sim'; do
    "$RANKWOOD" "$@" $how --rounds 12 --quiet -o other.txt
    say "the same model with $how" cmp -s one.txt other.txt
done
"$RANKWOOD" "$@" --rounds 7 --quiet -o part.txt --checkpoint ck
"$RANKWOOD" "$@" --rounds 12 --quiet -o other.txt --resume ck
say 'the same model after a resume' cmp -s one.txt other.txt
"$RANKWOOD" train train.txt --bags 2 --rounds 1 -o first.txt 2>&1 | sed -n 's/^\([0-9]* trees\) in [0-9.]* s/\1/p'
"$RANKWOOD" train train.txt --bags 2 --plan 2>/dev/null | sed -n 's/^\(time per [a-z]*\) .*/\1/p'
for bags in 1 2; do
    "$RANKWOOD" train train.txt --bags $bags --plan 2>/dev/null | awk '/^codes /{ print $2 }' >codes.$bags
done
say 'bags share codes' cmp -s codes.1 codes.2
"$RANKWOOD" train train.txt --bags 1 --rounds 2 --leaves 7 --quiet -o bag.txt
"$RANKWOOD" train train.txt --rounds 2 --leaves 7 --quiet -o none.txt
say 'one bag is the default' cmp -s bag.txt none.txt
say 'and leaves no trace' test "$(grep -c bags bag.txt)" = 0
# Only whole rounds score.
"$RANKWOOD" predict one.txt valid.txt --trees 3 >scores 2>/dev/null
say '3 trees score' test "$(wc -l <scores)" = "$(wc -l <valid.txt)"
try predict one.txt valid.txt --trees 2
"$RANKWOOD" predict one.txt valid.txt --trees 2 --leaf-ids >leaves 2>/dev/null
say 'but any trees have leaves' test "$(wc -w <leaves)" = "$((2 * $(wc -l <valid.txt)))"
"$RANKWOOD" report one.txt --valid valid.txt --trees 2 -o page.html >/dev/null 2>&1
say 'report shows the first trees' grep -q "<h3>Tree 2" page.html
"$RANKWOOD" prune one.txt valid.txt --loss 0.2 -o few.txt >/dev/null 2>&1
left=$(sed -n 's/^trees //p' few.txt)
say 'prune keeps whole rounds' test "$((left % 3)):$((left < n))" = 0:1
for wrong in 0 65 x -1; do
    try train train.txt --bags $wrong --quiet -o wrong.txt
done
try train train.txt --bags 2 --rounding nearest --sample-features 1 --gain-noise 0 --quiet -o wrong.txt
try train train.txt --bags 3 --bag-queries 1e-4 --quiet -o wrong.txt
try train train.txt --bags 2 --train-metric on --quiet -o wrong.txt
awk '{ print NR % 10 + 1 }' train.txt >shown
try train train.txt --bags 2 --debias additive --positions shown --quiet -o wrong.txt
say 'no model' test ! -e wrong.txt
