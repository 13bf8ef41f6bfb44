# room: evaluate
# Estimates from clicks: figures computed by hand, limits, and malformed propensities.
printf '1 qid:1 1:3\n0 qid:1 1:2\n1 qid:1 1:1\n0 qid:2 1:2\n1 qid:2 1:1\n' >clicks.txt
printf '3\n2\n1\n2\n1\n' >scores
printf '1\n2\n4\n1\n2\n' >shown
printf '1 1\n2 .5\n4 .125\n' >p
# query 1: ranks 1 (weight 1) and 3 (weight 8): 1 + 8 / 2; query 2: rank 2 (weight 2): 2 / log2(3)
"$RANKWOOD" eval clicks.txt --scores scores --propensities p --positions shown
"$RANKWOOD" eval clicks.txt --scores scores --propensities p --positions shown --clip 4 --top 2 --json
printf '1\n0\n4\n1\n2\n' >absent
"$RANKWOOD" eval clicks.txt --scores scores --propensities p --positions absent | tail -n 1
try eval clicks.txt --scores scores --propensities p
try eval clicks.txt --scores scores --positions shown
try eval clicks.txt --scores scores --propensities p --positions shown --metric ndcg@5
try eval clicks.txt --scores scores --propensities p --positions shown --ties mean
try eval clicks.txt --scores scores --propensities p --positions shown --clip 0
printf '0\n2\n4\n1\n2\n' >absent
try eval clicks.txt --scores scores --propensities p --positions absent
for line in '2 .5' '3 0' '3' 'x 1' '3 1 1 1' '3 1 x'; do
    { cat p; echo "$line"; } >bad
    try eval clicks.txt --scores scores --propensities bad --positions shown
done
sed 's/^1/0/' clicks.txt >none.txt
try eval none.txt --scores scores --propensities p --positions shown
sed 's/^1 qid:2/2 qid:2/' clicks.txt >graded.txt
"$RANKWOOD" eval graded.txt --scores scores --propensities p --positions shown 2>&1 >same | cat
say 'a label of 2 is a click' grep -q '3 clicks' same
