# room: io
# Messages call features as the user does: by the names of the header.
awk 'BEGIN { print "query,title,bm25,clicks,label"; for (q = 1; q <= 30; q++) for (d = 0; d < 10; d++) print q "," d % 5 "," (q * 7 + d * 3) % 11 "," (q + d) % 4 "," (q * d) % 3 }' >data.csv
train() {
    try train data.csv --qid-column query --quiet -o m "$@"
}
train --rounds 5
train --monotone title:+ --categorical title
train --monotone title:+,title:-
train --interactions 'bm25,bm25;title'
train --feature-penalty title:1,0:2
"$RANKWOOD" train data.csv --qid-column query --quiet --rounds 5 -o m
try train data.csv --qid-column query --quiet --init m --categorical bm25 -o more
try train data.csv --qid-column query --quiet --init m --monotone bm25:+ -o more
try export m --to ranklib -o out
# Absent values: reported where a format cannot represent them and a split sends missing values and 0 to different
# sides.
try train data.csv --qid-column query --quiet --rounds 2 --absent missing -o missing
try export missing --to lightgbm --feature-base 0 -o out.lightgbm
try import out.lightgbm --from lightgbm --feature-base 0 -o back
awk -F, 'BEGIN { OFS = "," } NR % 3 == 2 { $2 = $3 = $4 = "" } { print }' data.csv >some.csv
try train some.csv --qid-column query --quiet --rounds 2 --absent missing -o missing
for format in lightgbm xgboost onnx catboost 'quickrank --lossy'; do
    try export missing --to $format --feature-base 0 -o out.${format% *}
    try import out.${format% *} --from ${format% *} --feature-base 0 -o back
    grep '^absent' back
done
