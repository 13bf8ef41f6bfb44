# room: metric
# Figures worked out by hand: three queries, one of them empty.
cat >data.txt <<'END'
1 qid:1 1:0
0 qid:1 1:1
0 qid:2 1:0
0 qid:2 1:1
2 qid:three 1:0
1 qid:three 1:0
0 qid:three 1:0
0 qid:4 1:5
END
printf '1\n2\n5\n4\n3\n2\n1\n0\n' >scores
"$RANKWOOD" eval data.txt --scores scores --metric ndcg,map,mrr,p@1 --metric recall@1,rmse --per-query q.tsv
cat q.tsv
for empty in 0 1 skip; do
    "$RANKWOOD" eval data.txt --scores scores --metric mrr --empty $empty | sed -n 2p
done
"$RANKWOOD" eval data.txt --scores scores --metric mrr --relevant 2 | sed -n 2p
"$RANKWOOD" eval data.txt --scores scores --metric dcg --label-gain linear --json
printf '0\n0\n0\n0\n0\n0\n0\n0\n' >ties
"$RANKWOOD" eval data.txt --scores ties --metric mrr
"$RANKWOOD" eval data.txt --scores ties --metric mrr --ties mean | sed -n 2p
sed 's/^[12]/0/' data.txt >empty.txt
"$RANKWOOD" eval empty.txt --scores scores --json | grep mean
"$RANKWOOD" eval empty.txt --scores scores | sed -n 2p
printf '1\n1\n' >short
(cat scores; echo 3) >long
for bad in nan inf text '1 2' ''; do
    sed "3s/.*/$bad/" scores >bad
    try eval data.txt --scores bad
done
try eval data.txt --scores short
try eval data.txt --scores long
try eval data.txt --scores nothing
printf '1\n1\n0\n2\n' >weights
"$RANKWOOD" eval data.txt --scores scores --metric mrr --query-weights weights | sed -n 2p
echo 1 >>weights
try eval data.txt --scores scores --query-weights weights
try eval data.txt --scores scores --weights weights
try eval data.txt --scores scores --weights weights --query-weights weights

