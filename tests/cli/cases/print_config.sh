# room: params
# --print-config: a file that --config reads back, to the same model.
small_data
same() { # data options, "--", parameters
    data=
    while [ "$1" != -- ]; do
        data="$data $1"
        shift
    done
    shift
    "$RANKWOOD" train train.txt $data "$@" --quiet -o a && "$RANKWOOD" train train.txt $data "$@" --quiet --print-config >c &&
        "$RANKWOOD" train train.txt $data --config c --quiet -o b && cmp a b
}
say defaults same --
cat c
say flags same --valid valid.txt.gz -- --leaves 7 --rounds 20 --metric ndcg@5 --metric map --early-stop 4 --ties mean
echo '1 first' >names
awk '!seen[$2]++ { print 1 + n++ % 3 }' train.txt >weights
say files same -- --query-weights weights --names names --ignore 2-3 --rounds 3
say more same --valid valid.txt.gz -- --rounds 9 --seed 7 --train-metric on --label-gain linear --ties mean \
    --sample-queries 0.5 --bits 6 --objective yetirank --device cpu --threads 1
say features same -- --features 1,4-6 --ignore 5 --rounds 3
grep -e '^features' -e '^ignore' c
say levels same -- --grow levels --rounds 4 --rate 0.25
say regression same -- --objective regression --rounds 3
grep -e '^grow' -e '^leaves' -e '^rate' -e '^objective' -e '^device' c
"$RANKWOOD" train train.txt --rounds 3 --quiet -o first
say init same --init first -- --rounds 2
# Columns of a table: those to ignore, too.
awk 'NR == 1 { print "rel,query,a,b,w" }
    { split($3, a, ":"); split($4, b, ":"); print $1 "," $2 "," a[2] "," b[2] "," NR % 4 }' train.txt >train.csv
columns='--label-column rel --qid-column query --weight-column w --ignore b'
"$RANKWOOD" train train.csv $columns --rounds 3 --quiet -o a
"$RANKWOOD" train train.csv $columns --rounds 3 --quiet --print-config >c
"$RANKWOOD" train train.csv --config c --quiet -o b
say table cmp a b
grep -e column -e ignore c
# Other data takes the same numbers, and those are still said to be chosen; one that is changed is not.
"$RANKWOOD" train train.txt --quiet --print-config >c
awk 'BEGIN { for (q = 1; q <= 40; q++) for (d = 0; d < 300; d++) print (d * q) % 3, "qid:" q, "1:" (d * 7 + q) % 11 }' >made.txt
"$RANKWOOD" train made.txt --config c --rounds 2 --quiet -o m
"$RANKWOOD" info m | grep -e '^  rate' -e '^  leaves'
sed 's/^rate = auto /rate = /; s/^leaves = auto 8/leaves = 9/' c >changed
"$RANKWOOD" train made.txt --config changed --rounds 2 --quiet -o m
"$RANKWOOD" info m | grep -e '^  rate' -e '^  leaves'
echo 'l2 = auto 3' >bad
try train train.txt --config bad --quiet -o n
echo 'rate = auto many' >bad
try train train.txt --config bad --quiet -o n
try train train.txt --rate 'auto 0.1' --quiet -o n
cp names 'names #1'
try train train.txt --names 'names #1' --print-config --quiet
try train train.txt --print-config --plan
try train train.txt --print-config --log l
# Nothing is written, whatever is named.
"$RANKWOOD" train train.txt --print-config --quiet -o model.txt >out && cmp out c
say model test -e model.txt
