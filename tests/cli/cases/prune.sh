# room: evaluate
# long
# prune writes a model of fewer trees, and reports the loss of other numbers of trees.
small_data
"$RANKWOOD" train train.txt --rounds 24 --leaves 5 --min-docs 3 --quiet -o model
"$RANKWOOD" prune model train.txt --loss 0.01 -o any
"$RANKWOOD" prune model train.txt --loss 0.01 --order last --metric map -o last
for n in 1 3; do
    "$RANKWOOD" prune model train.txt --loss 0.01 --threads $n -o other >table.$n
    say "with $n threads" cmp any other
done
say 'the same table' cmp table.1 table.3
# The written model has the metric of the table and, with --order last, the first trees of the model.
figure() { # of the row that was written
    awk '$NF == "yes" { print $4 }' "$1"
}
"$RANKWOOD" eval train.txt --model any >measured
say 'measured again' grep -q "$(figure table.1)" measured
say 'a beginning' sh -c 'n=$(grep -c "^tree " last); "$1" predict model train.txt --trees "$n" --quiet >a; "$1" predict last train.txt --quiet >b; cmp a b' sh "$RANKWOOD"
"$RANKWOOD" prune any train.txt --loss 1000 -o one | tail -n 5
say 'one tree' test "$(grep -c '^tree ' one)" = 1
"$RANKWOOD" train train.txt --refit any --quiet -o refitted
say 'can be refitted' test -s refitted
"$RANKWOOD" prune model valid.txt.gz --loss 0 --json -o other >json
say 'JSON' grep -q '"written": true' json
# Errors.
try prune model
try prune model train.txt
try prune model train.txt --loss -1 -o no
try prune model train.txt --loss nan -o no
try prune model train.txt --loss x -o no
try prune model train.txt --order first -o no
try prune model train.txt --metric ndcg,map -o no
try prune --strict model train.txt --relevant 2 -o no
try prune model nothing -o no
try prune train.txt train.txt -o no
mkdir folder
try prune model train.txt -o folder
: >empty
try prune model empty -o no
sed 's/^[0-9]*/0/' train.txt >alike
try prune model alike -o no
cp model itself
"$RANKWOOD" prune model train.txt -o apart >/dev/null 2>&1
"$RANKWOOD" prune itself train.txt -o itself >/dev/null 2>&1 # it is read whole before it is replaced
say itself cmp itself apart
say none test ! -e no
