# --categorical: features whose values are words, or whole numbers that are names.
# Labels follow the shop, whose number says nothing; x and y are numbers.
made() { # queries seed file
    awk -v n="$1" -v s="$2" 'function unit() { s = (s * 16807) % 2147483647; return s / 2147483647 }
        BEGIN { for (q = 1; q <= n; q++) for (d = 0; d < 12; d++) {
            shop = int(40 * unit()); x = unit(); y = unit()
            score = (shop * 17 % 40) / 13 + x + 0.5 * y * y
            label = score < 1.6 ? 0 : score < 2.6 ? 1 : score < 3.4 ? 2 : 3
            print label " qid:" q " 1:" (unit() < 0.05 ? "nan" : shop) sprintf(" 2:%.3f 3:%.3f", x, unit()) } }' >"$3"
}
words() { # file: the same as CSV, the shops by name
    echo 'label,qid,shop,x,y'
    awk '{ for (i = 2; i <= 5; i++) sub(/.*:/, "", $i); print $1 "," $2 "," ($3 == "nan" ? "" : "\"shop, " $3 "\"") "," $4 "," $5 }' "$1"
}
made 120 7 train.txt
made 80 11 test.txt
for set in train test; do words $set.txt >$set.csv; done
train() {
    "$RANKWOOD" train --leaves 15 --min-docs 3 --rounds 12 --early-stop 0 --quiet "$@"
}
train train.txt --categorical 1 -o whole
head -n 1 whole
grep '^categor[^y]' whole
for device in ref sim; do
    train train.txt --categorical 1 --device $device -o other
    say "as $device" cmp whole other
done
for n in 2 4; do
    train train.txt --categorical 1 --ranks $n -o other
    say "as $n ranks" cmp whole other
done
train train.txt --categorical 1 --threads 1 --device auto -o other
say 'as 1 thread' cmp whole other
# Better than the numbers, by far.
train train.txt -o numbers
say 'version 2 without' sh -c 'head -n 1 numbers | grep -q "model 2"'
ndcg() {
    "$RANKWOOD" eval "$1" --model "$2" --ties mean 2>/dev/null | awk '/^ndcg/ { print $2 }'
}
ndcg test.txt whole >by_words
ndcg test.txt numbers >by_numbers
say 'NDCG by words is .05 above NDCG by numbers' awk 'NR == FNR { a = $1 } NR != FNR { exit !($1 > a + 0.05) }' by_numbers by_words
# By name, in tables; files whose words come in another order.
train train.csv --categorical shop -o named
say 'the same leaves' sh -c 'grep "^leaf" whole | sort >a; grep "^leaf" named | sort >b; test $(comm -12 a b | wc -l) -gt 20'
"$RANKWOOD" predict named test.csv --quiet -o scores
(head -n 1 test.csv && tail -n +2 test.csv | sort -r) >turned.csv
"$RANKWOOD" predict named turned.csv --quiet --threads 1 -o turned
say 'scored by word' sh -c 'sort scores >a; sort turned >b; cmp a b'
"$RANKWOOD" show named --tree 1 | grep -o 'feature 0 (shop) [a-z ]*{shop' | sort -u
# Saved, resumed, cross-validated, explained.
train train.txt --categorical 1 --checkpoint ck -o other
say checkpointed cmp whole other
"$RANKWOOD" train train.txt --categorical 1 --leaves 15 --min-docs 3 --rounds 5 --early-stop 0 --quiet --checkpoint ck -o first
train train.txt --categorical 1 --resume ck -o other
say resumed cmp whole other
"$RANKWOOD" cv train.txt --categorical 1 --folds 3 --rounds 3 --min-docs 3 --quiet -o folds >cv.txt
say 'cross-validated' sh -c 'grep -q "^categories 1" folds/fold-1.txt'
"$RANKWOOD" explain whole test.txt --quiet >explained 2>/dev/null
say explained test -s explained
printf '1 qid:1 1:999 2:0.5\n0 qid:1 1:2147483647 2:0.5\n' >unseen.txt
"$RANKWOOD" predict whole unseen.txt --quiet -o scores
say 'unseen ones are alike' sh -c 'test $(sort -u scores | wc -l) = 1'
# What is wrong.
for value in 2147483648 -1 1.5 shop; do
    printf '1 qid:1 1:5 2:1\n0 qid:1 1:%s 2:1\n' "$value" >wrong.txt
    try train wrong.txt --categorical 1 -o no
done
try predict whole wrong.txt -o no
try train train.txt --categorical 9 --rounds 1 --quiet -o no
try train train.txt --categorical shop --quiet -o no
try train train.csv --categorical shops --quiet -o no
try train train.txt --categorical 1 --monotone 1:+ --quiet -o no
try train train.txt --categorical 1 --init whole --quiet -o no
try train train.txt --init whole --quiet -o no
try train train.txt --refit whole --quiet -o no
try train train.txt --categorical 1 --device cuda --quiet -o no
try train train.txt --categorical 1 --for ranklib --quiet -o no
try train train.txt --category-smoothing 3 --quiet -o no
for format in ranklib solr xgboost; do
    try export whole --to $format -o no
done
