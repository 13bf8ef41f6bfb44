# room: evaluate
# long
# The fewest features within a loss.
small_data
gzip -dc valid.txt.gz >valid.txt
"$RANKWOOD" synth --shape letor --queries 25 --seed 7 -o test.txt
fit='--rounds 20 --leaves 5 --min-docs 3 --sample-features 1 --early-stop 6 --early-stop-rule best'
for n in 1 3; do
    "$RANKWOOD" select train.txt --valid valid.txt.gz --test test.txt $fit --loss 0.01 --threads $n --quiet -o list.$n \
        --model model.$n >table.$n
done
cat table.1 list.1
say 'the same table' cmp table.1 table.3
say 'the same list' cmp list.1 list.3
say 'the same model' cmp model.1 model.3
# The list is for train, which makes the same model; and so it does with features left out by hand.
"$RANKWOOD" train train.txt --valid valid.txt.gz $fit --config list.1 --quiet -o again
say 'trained again' cmp model.1 again
others=$(sed -n 's/^ *ignore *= *//p' again)
"$RANKWOOD" train train.txt --valid valid.txt.gz $fit --ignore "$others" --quiet -o ignored
say 'the others ignored' cmp again ignored
"$RANKWOOD" bin train.txt -o train.rwb
"$RANKWOOD" select train.rwb --valid valid.txt $fit --loss 0.01 --quiet --model cached >/dev/null
say 'of a cache' cmp model.1 cached
"$RANKWOOD" select train.txt --valid valid.txt --test test.txt $fit --loss 0.01 --json --quiet >json
grep -e '"list"' -e '"chosen": true' json
say 'JSON' grep -q '"mean_all"' json
# The largest loss at 95 % confidence.
"$RANKWOOD" select train.txt --valid valid.txt $fit --loss 0.01 --sure --quiet | sed -n '1,/^$/p'
# Progress lines.
"$RANKWOOD" select train.txt --valid valid.txt $fit --features 1-4 --loss 1000 2>&1 >/dev/null | sed -n '/features/p'
# A table: features are listed by name, and other columns are not listed.
table() {
    awk 'BEGIN { printf "label,qid,title"; for (f = 1; f <= 46; f++) printf ",f%d", f; print "" }
    { line = $1 "," substr($2, 5) ",shoes"
        for (i = 3; i < 49; i++) line = line "," substr($i, index($i, ":") + 1)
        print line }' "$1"
}
table train.txt >train.csv
table valid.txt >valid.csv
"$RANKWOOD" select train.csv --valid valid.csv --ignore title $fit --loss 0.01 --quiet -o csv.list --model csv.model >csv.table
sed -n 's/^features = //p' csv.list
"$RANKWOOD" train train.csv --valid valid.csv --ignore title $fit --config csv.list --quiet -o again
say 'trained again by name' cmp csv.model again
# Errors.
try select train.txt
try select train.txt --valid valid.txt --loss -1
try select train.txt --valid valid.txt --loss x
try select train.txt --valid valid.txt --repeats 0
try select train.txt --valid valid.txt --metric ndcg,map -o no
try select train.txt --valid valid.txt --features 99 -o no --model no.model
try select train.txt --valid valid.txt --features title -o no
try select train.txt --valid nothing -o no
try select train.txt --valid valid.txt -o train.txt
try select train.txt --valid valid.txt -o no --model no
try select train.txt --valid valid.txt --early-stopp 3
try select --strict train.txt --valid valid.txt --leaves 5 --grow levels
awk '{ print NR % 3 }' train.txt >start
try select train.txt --valid valid.txt --start-scores start -o no
sed 's/^[0-9]*/0/' valid.txt >alike
try select train.txt --valid alike -o no
mkdir folder
try select train.txt --valid valid.txt -o no --model folder
say none test ! -e no -a ! -e no.model
# Ctrl-C ends it at once, with nothing written.
: >talk
env --default-signal=INT "$RANKWOOD" select train.txt --valid valid.txt --rounds 1000000 --early-stop 0 -o no --model no.model \
    >out 2>talk &
child=$!
until grep -q '^valid: ' talk; do sleep 0.05; done
sleep 0.2
kill -INT $child
wait $child
echo "exit $?"
grep -e error -e stopping -e interrupted talk
say none test ! -s out -a ! -e no -a ! -e no.model
