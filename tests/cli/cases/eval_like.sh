# room: metric
# Queries for which the dialects of programs differ; the scores of two documents of the last one are equal as floats.
cat >data.txt <<'END'
1 qid:1 1:0 # docid = a
0 qid:1 1:1 # docid = b
0 qid:1 1:1 # docid = c
0 qid:2 1:0
0 qid:2 1:1
1 qid:4 1:5
0 qid:5 1:5
1 qid:5 1:5
END
printf '0\n0\n0\n5\n4\n3\n1.000000001\n1\n' >scores
for like in lightgbm xgboost xgboost- catboost ranklib quickrank ydf trec gdeval ranx; do
    echo "$like $("$RANKWOOD" eval data.txt --scores scores --like $like --metric ndcg@3 --quiet | sed -n '2p;$p')"
done
"$RANKWOOD" eval data.txt --scores scores --audit --metric ndcg@3 --metric map --metric err@2 --quiet
"$RANKWOOD" eval data.txt --scores scores --audit --json --quiet | grep -c '"like"'
"$RANKWOOD" eval data.txt --scores scores --audit --json --quiet | tail -n 9
"$RANKWOOD" eval data.txt --scores scores --like lightgbm --metric ndcg@1,map@1 --per-query q.tsv
cat q.tsv
"$RANKWOOD" eval data.txt --scores scores --like catboost --label-gain exp --quiet | tail -n 1
try eval data.txt --scores scores --like rank
try eval data.txt --scores scores --like lightgbm --metric mrr
try eval data.txt --scores scores --like trec --label-gain exp
try eval data.txt --scores scores --like trec --empty 1
try eval data.txt --scores scores --like trec --audit
try eval data.txt --scores scores --audit --per-query q.tsv
sed 's/^1/0.5/' data.txt >real.txt
try eval real.txt --scores scores --like lightgbm
