# room: metric
# Training's last validation figures are those of eval on the same model, to the last digit; scores
# written and read back measure the same.
small_data
"$RANKWOOD" train train.txt --valid valid.txt.gz --rounds 60 --early-stop 10 --leaves 7 --metric ndcg@10 \
    --metric map,rmse,err -o model.txt --log log.jsonl --ties mean --empty 0 2>talk
"$RANKWOOD" eval valid.txt.gz --model model.txt --metric ndcg@10,map,rmse --metric err --ties mean \
    --empty 0 >table
tail -n 4 talk | cut -d ' ' -f 2-3 >train
awk 'NR > 1 && NF == 3 { print $1, $2 } !NF { exit }' table >eval
say figures cmp train eval
say four test "$(wc -l <eval)" -eq 4
# Every digit: the log of the best round.
best=$("$RANKWOOD" info model.txt --json | sed -n 's/.*"best_round": \([0-9]*\).*/\1/p')
"$RANKWOOD" eval valid.txt.gz --model model.txt --metric ndcg@10,map,rmse,err --ties mean --empty 0 --json |
    sed -n 's/.*"mean": \([^,]*\),.*/\1/p' >eval
grep '"record":"metrics","round":'"$best," log.jsonl | grep -o '"valid1 [^,}]*' | sed 's/.*://' >train
say digits cmp train eval
say best test "$best" -gt 0
"$RANKWOOD" predict model.txt valid.txt.gz -o scores
for from in '--model model.txt' '--scores scores'; do
    "$RANKWOOD" eval valid.txt.gz $from --json --per-query q$#.tsv
    mv q$#.tsv "q$from"
done >both
awk '{ half[NR] = $0 } END { for (i = 1; i <= NR / 2; i++) if (half[i] != half[i + NR / 2]) print half[i] }' both
say per-query cmp 'q--model model.txt' 'q--scores scores'
