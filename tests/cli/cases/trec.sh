# room: io
# Writes and reads runs: documents have their ids or, without ids, query and rank.
cat >data <<'END'
2 qid:5 1:1 # docid = GX-1 inc = 1
0 qid:5 1:2 # docid = GX-2
1 qid:5 1:3 # docid = GX-3
1 qid:6 1:1
0 qid:6 1:2
END
"$RANKWOOD" train data --rounds 3 --min-docs 1 --quiet -o model
"$RANKWOOD" predict model data --trec run
awk '{ print $1, $2, $3, $4, $6 }' run
"$RANKWOOD" eval data --model model >of_model
"$RANKWOOD" eval data --scores run >of_run
say 'the run measures as its model' cmp -s of_model of_run
sort -k 5 run >shuffled
gzip -k shuffled
"$RANKWOOD" eval data --scores shuffled.gz >of_run
say 'in any order, and packed' cmp -s of_model of_run
"$RANKWOOD" eval data --scores - <run >of_run
say 'from standard input' cmp -s of_model of_run
printf '5 Q0 GX-3 1 7 other\n6 Q0 6-2 1 2.5 other\n7 Q0 a 1 2 other\n' >part
"$RANKWOOD" eval data --scores part --metric ndcg@1 --quiet | sed -n 2p
for line in '5 Q0 GX-1 1' '5 Q0 GX-9 1 1 t' '5 Q0 GX-1 1 one t' '5 Q0 GX-1 1 1 t'; do
    echo "$line" >bad
    try eval data --scores bad
done
echo '5 Q0 GX-3 1 1 t' >>part
try eval data --scores part
