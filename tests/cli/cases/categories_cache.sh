# room: io
# long
# Caches of words: of tables, and of text whose categories are numbers.
table() { # queries seed first
    awk -v n="$1" -v s="$2" -v first="$3" 'function unit() { s = (s * 16807) % 2147483647; return s / 2147483647 }
        BEGIN { print "label,qid,shop,x,town"
            for (q = 0; q < n; q++) for (d = 0; d < 10; d++) {
                shop = int(30 * unit()); town = int(5 * unit()); x = unit()
                score = (shop * 17 % 30) / 10 + x + town * 3 % 5 / 4
                label = score < 1.6 ? 0 : score < 2.6 ? 1 : score < 3.4 ? 2 : 3
                print label "," first + q "," (unit() < 0.05 ? "" : "\"sh, " shop "\"") "," x "," (unit() < 0.9 ? "t" town : "NA") } }'
}
table 60 7 1 >a.csv
table 50 8 61 >b.csv
table 40 9 111 >test.csv
(cat a.csv && tail -n +2 b.csv) >train.csv
train() {
    case " $* " in *' --rounds '*) ;; *) set -- "$@" --rounds 8 ;; esac
    case " $* " in *' --min-docs '*) ;; *) set -- "$@" --min-docs 3 ;; esac
    "$RANKWOOD" train "$@" --leaves 15 --early-stop 0 --quiet || echo "not trained: $*"
}
for set in a b test train; do
    "$RANKWOOD" bin $set.csv --categorical shop,town --quiet -o $set.rwb
done
"$RANKWOOD" bin train.csv --categorical shop,town --threads 1 --quiet -o again.rwb
say 'the same bytes by 1 thread' cmp train.rwb again.rwb
"$RANKWOOD" bin train.rwb --quiet -o again.rwb
say 'the same bytes of itself' cmp train.rwb again.rwb
train train.csv --categorical shop,town --valid test.csv --log log -o text
train train.rwb --categorical shop,town --valid test.rwb --log log.cached -o cached
say 'the same model' cmp text cached
train train.rwb --valid test.rwb -o cached
say 'words are categories without being named' cmp text cached
train train.rwb --valid test.csv --categorical shop,town -o cached
say 'beside a table' cmp text cached
for n in 2 3 5; do
    train train.rwb --valid test.rwb --ranks $n -o cached
    say "by $n ranks" cmp text cached
done
for more in '--bins 15' '--absent missing'; do
    train train.csv --categorical shop,town $more -o other
    train train.rwb $more -o cached
    say "with $more" cmp other cached
done
train a.csv b.csv --categorical shop,town -o other
train a.rwb b.rwb --categorical shop,town -o cached
say 'two caches' cmp other cached
train a.csv b.rwb --categorical shop,town -o cached
say 'a table and a cache' cmp other cached
train a.rwb b.csv --categorical shop,town -o cached
say 'a cache and a table' cmp other cached
train --ranks 2 a.rwb b.rwb --categorical shop,town -o cached
say 'two caches, two ranks' cmp other cached
"$RANKWOOD" predict text test.csv --quiet -o scores
"$RANKWOOD" predict text test.rwb --quiet -o cached.scores
say 'the same scores' cmp scores cached.scores
"$RANKWOOD" eval test.csv --model text --quiet >by.csv
"$RANKWOOD" eval test.rwb --model text --quiet >by.rwb
say 'the same metrics' cmp by.csv by.rwb
train a.csv --categorical shop,town -o first
train b.csv --init first -o other
train b.rwb --init first -o cached
say 'to go on from a model' cmp other cached
"$RANKWOOD" train b.csv --refit first --quiet -o other
"$RANKWOOD" train b.rwb --refit first --quiet -o cached
say 'to refit' cmp other cached
train train.csv --categorical shop,town --checkpoint ck --rounds 4 -o first
train train.rwb --resume ck -o cached
train train.csv --categorical shop,town -o other
say 'a checkpoint of the table is resumed by its cache' cmp other cached
"$RANKWOOD" cv train.rwb --folds 3 --rounds 3 --min-docs 3 --ties mean --quiet -o folds >cv.txt
say 'cross-validated' sh -c 'grep -q "^categories 2" folds/fold-1.txt'
# Text: ids that are too large for a float.
awk '{ print $1, $2, "1:" 2147483000 + NR % 7, "2:" NR % 11 }' >ids.txt <<'END'
0 qid:1
1 qid:1
2 qid:1
0 qid:1
1 qid:1
0 qid:2
1 qid:2
2 qid:2
2 qid:2
0 qid:2
END
"$RANKWOOD" bin ids.txt --categorical 1 --quiet -o ids.rwb
train ids.txt --categorical 1 --min-docs 1 -o text.ids
train ids.rwb --min-docs 1 -o cached
say 'large ids' sh -c 'cmp text.ids cached && grep -q "^category 2147483006" cached'
# Errors.
try train a.rwb b.rwb --quiet -o no
try train a.rwb b.csv --categorical shop --quiet -o no
sed 's/1:2147/1:/' ids.txt >small.txt
train small.txt --rounds 1 --min-docs 1 -o by.numbers
try predict by.numbers ids.rwb --quiet -o no
for given in '' '--init first'; do
    try train b.rwb $given --for ranklib --quiet -o no
done
try bin train.csv --quiet -o no.rwb
try bin train.csv --categorical shops --quiet -o no.rwb
(head -c $(($(wc -c <ids.rwb) - 9)) ids.rwb && printf 'x' && tail -c 8 ids.rwb) >broken.rwb
try train broken.rwb --quiet -o no
head -c 700 ids.rwb >broken.rwb
try train broken.rwb --quiet -o no
