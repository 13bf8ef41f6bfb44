# room: evaluate
# A search for parameters.
small_data
gzip -dc valid.txt.gz >valid.txt
fit='--rounds 30 --early-stop 6'
for n in 1 3; do
    "$RANKWOOD" tune train.txt --valid valid.txt.gz $fit --trials 12 --threads $n --quiet -o model.$n --params-out params.$n \
        >table.$n
done
cat table.1 params.1
say 'the same table' cmp table.1 table.3
say 'the same parameters' cmp params.1 params.3
say 'the same model' cmp model.1 model.3
# The parameter file is for train, which makes the same model.
"$RANKWOOD" train train.txt --valid valid.txt --config params.1 --quiet -o again
say 'trained again' cmp model.1 again
"$RANKWOOD" tune train.txt --folds 3 $fit --trials 4 --quiet -o folded --params-out params >/dev/null
"$RANKWOOD" train train.txt --config params --quiet -o again
say 'trained again after folds' cmp folded again
# A search that was killed continues from its checkpoint.
: >talk
"$RANKWOOD" tune train.txt --valid valid.txt $fit --trials 1000000 --checkpoint kept -o resumed 2>talk >/dev/null &
until_said '^trial 10:'
kill -9 $!
{ wait $!; } 2>/dev/null
for n in 1 2; do
    "$RANKWOOD" tune train.txt --valid valid.txt $fit --trials 12 --checkpoint kept --resume auto -o resumed 2>talk >table.$n
    grep resumes talk
    say 'the same table after a kill' cmp table.1 table.$n
    say 'the same model after a kill' cmp model.1 resumed
done
"$RANKWOOD" tune train.txt --valid valid.txt.gz $fit --trials 12 --quiet | cmp - table.1 && echo 'the same table'
# A space of one's own, and parameters that are given.
cat >space <<'END'
# few
leaves 3 6 log
objective lambdarank|xendcg
END
"$RANKWOOD" tune train.txt --valid valid.txt $fit --l2 30 --space space --trials 3 --format csv --quiet >csv
cut -d, -f1-4 csv
"$RANKWOOD" tune train.txt --valid valid.txt $fit --space space --trials 3 --json --quiet >json
say JSON grep -q '"mean_given"' json
# The time ends it, and the number of trials repeats it.
"$RANKWOOD" tune train.txt --valid valid.txt $fit --time 1s --quiet >timed
trials=$(sed -n "s/^'--trials \([0-9]*\)' repeats this search$/\1/p" timed)
"$RANKWOOD" tune train.txt --valid valid.txt $fit --trials "$trials" --quiet >repeated
sed '/repeats this search/d' timed | cmp - repeated && echo repeated
# A configuration with values for all parameters: those with auto are searched.
"$RANKWOOD" train train.txt --valid valid.txt $fit --print-config --quiet >config
"$RANKWOOD" tune train.txt --valid valid.txt --config config --trials 2 --format csv --quiet | sed -n 1p
# The printed options repeat the model, with its number of rounds.
"$RANKWOOD" synth --shape letor --queries 40 --seed 1 -o a.txt
"$RANKWOOD" synth --shape letor --queries 25 --seed 2 -o b.txt
printf 'leaves 3 9\nmonotone 40:+|\n' >few
"$RANKWOOD" tune a.txt --valid b.txt --rounds 15 --early-stop 5 --gain-noise 0 --space few --trials 3 -o options.1 --quiet |
    sed -n 's/^chosen: trial/trial/p' | tee options
"$RANKWOOD" train a.txt --valid b.txt --rounds "$(sed 's/.*, \([0-9]*\) rounds.*/\1/' options)" --early-stop 0 --gain-noise 0 $(sed 's/.*rounds://' options) \
    -o options.2 --quiet
for i in 1 2; do sed 's/ = auto / = /; /^checksum/d' options.$i >plain.$i; done # options say what auto was
say 'the options repeat the model' cmp plain.1 plain.2
# A table: columns that are ignored are named in the parameter file.
awk 'BEGIN { print "label,qid,title,f1,f2" } { print $1 "," substr($2, 5) ",shoes," substr($3, 3) "," substr($4, 3) }' train.txt >train.csv
"$RANKWOOD" tune train.csv --folds 3 $fit --ignore title --trials 1 --quiet --params-out csv.params >/dev/null
grep ignore csv.params
# Messages.
"$RANKWOOD" tune train.txt --valid valid.txt $fit --space space --trials 2 2>&1 >/dev/null | sed -n '/^trial 0/p'
# Errors.
try tune train.txt --valid valid.txt
try tune train.txt --trials 0
try tune train.txt --time 0s
try tune train.txt --time 0.5s
try tune train.txt --time 5x
try tune train.txt --trials 3 --workers 2
try tune train.txt --trials 3 --time 5s
try tune train.txt --valid valid.txt --folds 3 --trials 3
try tune train.txt --folds 41 --trials 3
try tune train.txt --valid valid.txt --trials 3 --metric rmse
try tune train.txt --valid valid.txt --trials 3 --metric ndcg,map
echo 'leafs 3 4' >wrong
try tune train.txt --valid valid.txt --trials 3 --space wrong
echo 'leaves 9 3' >wrong
try tune train.txt --valid valid.txt --trials 3 --space wrong
try tune train.txt --valid valid.txt --trials 3 --space space --leaves 5
try tune train.txt --valid valid.txt --trials 3 --space nothing
try tune train.txt --valid valid.txt --trials 3 -o train.txt
try tune train.txt --valid valid.txt --trials 3 --resume auto
try tune train.txt --valid valid.txt --trials 3 --resume nothing
try tune train.txt --valid valid.txt --trials 3 --resume train.txt
try tune train.txt --valid valid.txt --trials 3 --checkpoint -
try tune train.txt --valid valid.txt --trials 3 $fit --l2 5 --resume kept
try tune valid.txt --valid train.txt --trials 3 $fit --resume kept
"$RANKWOOD" tune train.txt --valid valid.txt --trials 1 --rounds 2 --checkpoint kept --quiet 2>&1 >/dev/null
try tune train.txt --valid valid.txt --trials 3 --min-docs 100000 -o no --params-out no.params
try tune train.txt --valid valid.txt --trials 3 --decay 0.5 --leaves 5 --rate 0.1 --min-docs 5 --l2 3 --objective lambdarank \
    --truncation 7 --sample-queries 0.5 --sample-features 0.5 --split mart
try tune train.txt --valid train.txt --trials 3
try tune train.txt --valid valid.txt --trials 3 --space space --strict --grow symmetric
"$RANKWOOD" tune train.txt --valid valid.txt --trials 1 --rounds 2 --ties file --quiet 2>&1 >/dev/null
try tune train.txt --valid valid.txt --trials 1 --ties file --strict
sed 's/^[0-9]*/0/' valid.txt >alike
try tune train.txt --valid alike --trials 3 -o no
say none test ! -e no -a ! -e no.params
# Ctrl-C keeps the trials before the bracket, but writes no model.
: >talk
env --default-signal=INT "$RANKWOOD" tune train.txt --valid valid.txt --rounds 30 --early-stop 6 --trials 1000000 -o no \
    --params-out kept >out 2>talk &
child=$!
until_said '^trial 10:'
kill -INT $child
wait $child
echo "exit $?"
say 'kept' test -s out -a -s kept -a ! -e no
grep -c 'no model was written' talk
