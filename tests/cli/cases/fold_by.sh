# room: evaluate
# Click data as a table: sessions of 12 search texts, over 20 days.
awk 'BEGIN { print "label,qid,text,day,a,b"
             for (q = 0; q < 100; q++) for (d = 0; d < 5; d++)
                 printf "%d,s%d,\"text, %d\",2024-01-%02d,%d,%d\n", (d * d + q) % 3, q, q * 5 % 12, 1 + q % 20, (d * 7 + q) % 11, d * q % 5 }' >clicks.csv
awk -F, 'NR > 1 && !seen[$2]++ { print $2, $3 $4 }' clicks.csv >texts.txt
awk -F, 'NR > 1 { print "1" }' clicks.csv >positions.txt
few='--rounds 4 --leaves 4 --early-stop 2 --ties mean --quiet'
"$RANKWOOD" cv clicks.csv --folds 3 --fold-by text --ignore day $few -o column | grep '^folds:'
grep fold_by column/results.json
"$RANKWOOD" cv clicks.csv --folds 3 --fold-by texts.txt --ignore text,day --threads 1 $few -o file >/dev/null
say 'the same by file' diff -r -x results.json column file
# A text is in one fold only.
paste texts.txt column/folds.tsv | awk '{ text = $2 $3; fold = $NF; if (text in of && of[text] != fold) n++; of[text] = fold } END { print n + 0, "divided" }'
awk '{ n[$2]++ } END { for (f = 1; f <= 3; f++) print f, n[f] }' column/folds.tsv
"$RANKWOOD" tune clicks.csv --folds 3 --fold-by text --ignore day --trials 1 --rounds 4 --early-stop 2 2>&1 >/dev/null | grep '^folds'
"$RANKWOOD" train clicks.csv --early-stop-rule folds --fold-by text --ignore day --rounds 4 -o m.txt 2>&1 | grep fold
"$RANKWOOD" select clicks.csv --valid clicks.csv --fold-by text --ignore day --early-stop 0 --rounds 4 2>&1 >/dev/null | grep '^folds'
"$RANKWOOD" cv clicks.csv --folds 3 --ignore day,text --rounds 2 --early-stop 0 --ties mean --positions positions.txt --debias ipw -o clicks 2>&1 >/dev/null | grep click
# Training on earlier queries: the same model by hand.
"$RANKWOOD" train clicks.csv --split-time day --ignore text --rounds 4 -o time.txt 2>&1 | sed -n '1,3p'
(head -n 1 clicks.csv; awk -F, 'NR > 1 && $5 < "2024-01-17"' clicks.csv) >early.csv
(head -n 1 clicks.csv; awk -F, 'NR > 1 && $5 >= "2024-01-17"' clicks.csv) >late.csv
"$RANKWOOD" train early.csv --valid late.csv --ignore text,day --rounds 4 --quiet -o hand.txt
say 'the same by hand' cmp time.txt hand.txt
for device in ref sim; do
    "$RANKWOOD" train clicks.csv --split-time day --ignore text --rounds 4 --device $device --quiet -o $device.txt
    say "the same on $device" cmp time.txt $device.txt
done
try cv clicks.csv --folds 13 --fold-by text --ignore day --quiet -o no
try cv clicks.csv --folds 3 --fold-by a --ignore day,text --quiet -o no
try cv clicks.csv --folds 3 --fold-by nothing --ignore day,text --quiet -o no
head -n 50 texts.txt >half.txt
try cv clicks.csv --folds 3 --fold-by half.txt --ignore day,text --quiet -o no
sed 's/ .*/ one/' texts.txt >one.txt
try tune clicks.csv --valid late.csv --fold-by one.txt --ignore day,text --trials 1 --quiet
try select clicks.csv --valid late.csv --fold-by one.txt --ignore day,text --early-stop 0 --quiet
try train clicks.csv --fold-by text --ignore day --quiet -o no
try train clicks.csv --split-time text --ignore day --quiet -o no
try train clicks.csv --split-time day --valid late.csv --quiet -o no
try train clicks.csv --split-time day --early-stop-rule folds --quiet -o no
try train clicks.csv --split-time day --workers 2 --quiet -o no
ls no 2>&1 || true
