# room: dataset
# long
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
    case " $* " in *' --rounds '*) ;; *) set -- "$@" --rounds 12 ;; esac
    case " $* " in *' --min-docs '*) ;; *) set -- "$@" --min-docs 3 ;; esac
    "$RANKWOOD" train "$@" --leaves 15 --sample-features 1 --gain-noise 0 --early-stop 0 --quiet || echo "not trained: $*"
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
say 'no categories without' sh -c '! grep -q "^categories" numbers'
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
(head -n 1 test.csv && tail -n +2 test.csv | sort -t, -k2,2nr -s) >turned.csv
"$RANKWOOD" predict named turned.csv --quiet --threads 1 -o turned
say 'scored by word' sh -c 'sort scores >a; sort turned >b; cmp a b'
"$RANKWOOD" show named --tree 1 | grep -o 'feature 0 (shop) [a-z ]*{shop' | sort -u
# Saved, resumed, cross-validated, explained.
train train.txt --categorical 1 --checkpoint ck -o other
say checkpointed cmp whole other
"$RANKWOOD" train train.txt --categorical 1 --leaves 15 --min-docs 3 --sample-features 1 --gain-noise 0 --rounds 5 --early-stop 0 --quiet --checkpoint ck -o first
train train.txt --categorical 1 --resume ck -o other
say resumed cmp whole other
# Continues a model: its trees are unchanged, and new categories get the remaining codes.
awk '{ sub(/ 1:/, " 1:7"); print }' test.txt | sed 's/ 1:7nan/ 1:nan/' >new.txt
scores_of() { # model data trees
    "$RANKWOOD" predict "$1" "$2" --trees "$3" --quiet -o -
}
train train.txt --categorical 1 --bins 30 -o few
train new.txt --init few --rounds 5 -o longer
say 'gone on from' sh -c 'grep -c "^tree " longer | grep -qx 17'
for set in train test new; do
    scores_of few $set.txt 12 >a
    scores_of longer $set.txt 12 >b
    say "the same first trees for $set.txt" cmp a b
done
say 'words of both' sh -c 'n=$(sed -n "s/^feature 1 words //p" longer); test "$n" -gt 40 && grep -qx "category 70" longer && grep -qx "category 9" longer'
train new.txt --init few --bins 32 --rounds 5 -o longer
say 'as many as there is room for' grep -qx 'feature 1 words 32' longer
train new.txt --init few --bins 15 --rounds 5 -o longer
say 'none of the model goes' grep -qx 'feature 1 words 30' longer
for n in 1 3; do
    "$RANKWOOD" train new.txt --init few --rounds 4 --leaves 15 --min-docs 3 --early-stop 0 --quiet --ranks $n -o on.$n
done
say 'as 3 ranks' cmp on.1 on.3
train train.txt --rounds 5 --categorical 1 -o first
train train.txt --rounds 7 --init first -o other
train train.txt --rounds 12 --categorical 1 -o straight
say 'in two goes, as in one' cmp straight other
train train.txt --init few --valid new.txt --rounds 3 --log log -o other
"$RANKWOOD" eval new.txt --model other --metric ndcg@10 --quiet 2>/dev/null | awk '/^ndcg@10/ { print substr($2, 1, 6) }' >a
sed -n 's/.*"round":15.*"valid1 ndcg@10":\([0-9.]*\).*/\1/p' log | cut -c 1-6 >b
say 'metrics of a set with other words' cmp a b
try train train.txt --categorical 1 --rounds 3 --init numbers --quiet -o no
train new.txt --init few --rounds 9 -o straight
train new.txt --init few --rounds 9 --checkpoint ck -o other
train new.txt --init few --rounds 4 --checkpoint ck -o first
train new.txt --init few --rounds 9 --resume ck -o other
say 'gone on from, and resumed' cmp straight other
# Refits match categories by name, and leaves without documents keep their values.
"$RANKWOOD" train train.txt --refit few --refit-decay 1 --quiet -o other
say 'the old values all the same' sh -c 'for m in few other; do grep "^leaf\|^node" $m | sed "s/ docs.*//" >$m.trees; done; cmp few.trees other.trees'
"$RANKWOOD" train train.txt --refit whole --refit-decay 0 --quiet -o other
say 'refitted by its own data' sh -c 'grep "^leaf\|^node\|^category" whole >a; grep "^leaf\|^node\|^category" other >b; cmp a b'
"$RANKWOOD" train new.txt --refit few --refit-decay 0 --quiet -o other
say 'refitted' sh -c 'grep "^node" few >a; grep "^node" other >b; cmp a b && ! cmp -s few other'
"$RANKWOOD" train turned.csv --refit named --quiet -o a
"$RANKWOOD" train turned.csv --refit named --quiet --ranks 1 --threads 1 -o b
say 'refitted tables' cmp a b
"$RANKWOOD" cv train.txt --categorical 1 --folds 3 --rounds 3 --min-docs 3 --quiet -o folds >cv.txt
say 'cross-validated' sh -c 'grep -q "^categories 1" folds/fold-1.txt'
"$RANKWOOD" explain whole test.txt --quiet >explained 2>/dev/null
say explained test -s explained
printf '1 qid:1 1:999 2:0.5\n0 qid:1 1:2147483647 2:0.5\n' >unseen.txt
"$RANKWOOD" predict whole unseen.txt --quiet -o scores
say 'unseen ones are alike' sh -c 'test $(sort -u scores | wc -l) = 1'
# In CatBoost's terms, and back: the same scores, though sides may have changed places.
try export whole --to catboost --verify test.txt -o whole.catboost
try export named --to catboost --verify test.csv -o named.catboost
try import whole.catboost --from catboost -o back --feature-base 0
"$RANKWOOD" predict whole test.txt --quiet -o a
"$RANKWOOD" predict back test.txt --quiet -o b
say 'the same scores' cmp a b
train train.txt --categorical 1 --for catboost --rounds 12 -o other
say 'for CatBoost' cmp whole other
# Errors.
for value in 2147483648 -1 1.5 shop; do
    printf '1 qid:1 1:5 2:1\n0 qid:1 1:%s 2:1\n' "$value" >wrong.txt
    try train wrong.txt --categorical 1 -o no
done
try predict whole wrong.txt -o no
try train train.txt --categorical 9 --rounds 1 --quiet -o no
for list in 9 1,8-9 shop 2147483648; do
    try check train.txt --categorical $list
    try bin train.txt --categorical $list -o no
done
try check train.csv --categorical shop,9
try train train.txt --categorical shop --quiet -o no
try train train.csv --categorical shops --quiet -o no
try train train.txt --categorical 1 --monotone 1:+ --quiet -o no
try train --strict train.txt --refit whole --categorical 1 --quiet -o no
try train train.txt --categorical 1 --for ranklib --quiet -o no
try train --strict train.txt --category-smoothing 3 --quiet -o no
try train --strict train.txt --category-penalty 3 --quiet -o no
try train train.txt --categorical 1 --category-penalty -1 --quiet -o no
for format in ranklib solr vespa; do
    try export whole --to $format -o no
done
