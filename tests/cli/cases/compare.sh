# room: evaluate
# A model against one of fewer trees, by groups; the figures do not depend on the threads.
small_data
"$RANKWOOD" train train.txt --rounds 20 --leaves 7 --quiet -o model.txt
"$RANKWOOD" train train.txt --rounds 2 --leaves 3 --quiet -o weak.txt
"$RANKWOOD" predict model.txt valid.txt.gz -o scores
"$RANKWOOD" predict model.txt valid.txt.gz --trec run --quiet
"$RANKWOOD" eval valid.txt.gz --scores scores --per-query q.tsv >eval
awk 'NR > 1 { print $1, NR % 2 ? "odd queries" : "even queries" }' q.tsv >groups
"$RANKWOOD" compare valid.txt.gz --a weak.txt --b scores --groups groups --threads 1 >one
"$RANKWOOD" compare valid.txt.gz --a weak.txt --b scores --groups groups --threads 3 >three
say 'same for any threads' cmp -s one three
sed -n '4,12p;17p' one
"$RANKWOOD" compare valid.txt.gz --a weak.txt --b model.txt --json >of_model
"$RANKWOOD" compare valid.txt.gz --a weak.txt --b run --json >of_run
say 'a run is its model' cmp -s of_model of_run
# By hand: three queries up by a half, one down.
printf '0 qid:%s 1:1\n1 qid:%s 1:1\n' 1 1 2 2 3 3 x x >data
printf '2\n1\n2\n1\n2\n1\n1\n2\n' >a
printf '1\n2\n1\n2\n1\n2\n2\n1\n' >b
printf '1 up\nx down\n2 up\n' >g
"$RANKWOOD" compare data --a a --b b --metric mrr --groups g
"$RANKWOOD" compare data --a a --b a --metric mrr | sed -n 5p
"$RANKWOOD" compare data --a a --b b --metric rmse | sed -n '5p;/better$/p'
"$RANKWOOD" compare data --a a --b b --metric mrr --json | sed -n '1,16p'
"$RANKWOOD" compare data --a a --b b --metric mrr --seed 2 | sed -n 5p
# Several metrics: their rows are those that each has alone.
"$RANKWOOD" compare data --a a --b b --metric mrr,rmse --metric map --groups g | tee all
for metric in mrr rmse map; do
    "$RANKWOOD" compare data --a a --b b --metric $metric --groups g
done | grep '^m[ar][pr] \|^rmse ' | sed 's,  *, ,g' | sort >alone
grep '^m[ar][pr] \|^rmse ' all | sed 's,  *, ,g' | sort | cmp - alone
"$RANKWOOD" compare data --a a --b b --metric mrr,rmse --json >all
for metric in mrr rmse; do
    "$RANKWOOD" compare data --a a --b b --metric $metric --json
done | sed 's/^/ /; s/^ }$/ },/' >alone
sed '1d; s/^ }$/ },/; $d' all | cmp - alone
"$RANKWOOD" compare data --a a --b b --metric mrr,rmse | grep interval
"$RANKWOOD" compare data --a a --b b --metric mrr,map --relevant 1 --json | grep -c '"metric"'
sed 's/^1/0/' data >empty
"$RANKWOOD" compare empty --a a --b b | sed -n 5p
try compare data --a a
try compare data --a a --b b --metric mrr,mrr
try compare --strict data --a a --b b --device cpu
try compare data --a - --b -
try compare data --a a --b nothing
try compare data --a a --b b --groups data.g
# Scores of a pipe are read from their first byte on.
mkfifo pipe
cat a >pipe &
"$RANKWOOD" compare data --a pipe --b b --metric mrr | sed -n 5p
