# room: objective
# long
# Several labels a document: the same model whatever reads them, on every engine, with workers and resumed.
"$RANKWOOD" synth --shape letor --queries 40 --seed 5 -o train.txt
"$RANKWOOD" synth --shape letor --queries 25 --seed 6 -o valid.txt
awk '{ print (NR * 7919 % 13) % 4, (NR * 31 % 7 > 4) }' train.txt >two
awk '{ print $1 }' train.txt >own
cut -d ' ' -f 1 two >one
paste -d ' ' own two >three
paste -d ' ' one train.txt | cut -d ' ' -f 1,3- >other.txt # the further label in the data's place
train() {
    "$RANKWOOD" train "$@" --leaves 7 --min-docs 3 --quiet 2>said || cat said
}
trees() {
    sed -n '/^tree/,/^checksum/p' "$1" | grep -v checksum
}
same_trees() {
    trees "$1" >a.trees
    trees "$2" >b.trees
    [ -s a.trees ] && cmp a.trees b.trees
}
# What weights of 1 and 0 leave is the training on one label.
train train.txt --rounds 6 -o plain
train train.txt --labels two --label-weights 1,0,0 --rounds 6 -o whole
say 'the first alone' same_trees whole plain
train other.txt --rounds 6 -o plain
train train.txt --labels two --label-weights 0,1,0 --rounds 6 -o whole
say 'the second alone' same_trees whole plain
train train.txt --labels one --label-weights 1,0.5 --rounds 6 -o whole
say 'both are another model' sh -c '! cmp -s whole plain'
for how in '' '--objective yetirank' '--objective listnet' '--delta err --pairs mean:2' '--objective regression --metric rmse'; do
    labels="--labels two --label-weights 1,0.5,2 --valid valid.txt $how"
    echo "labels $how"
    same_model train.txt $labels
    grep label-weights whole
done
# Beyond the integers' bound: by weights of labels; and by the longest query of one worker and the largest weight of
# another, of which neither alone is.
for how in '--label-weights 65536,60000,50000' '--label-weights 65536,60000,50000 --objective yetirank'; do
    echo "labels $how"
    same_model train.txt --labels two --valid valid.txt $how
done
awk '{ split($2, q, ":"); if (q[2] < 50000016) $2 = "qid:1"; print }' train.txt >long.txt
awk '{ split($2, q, ":"); print (q[2] == 50000040 ? 8000 : 1e-6) }' train.txt >heavy
echo 'one long query, a heavy one'
same_model long.txt --labels two --label-weights 1,0.5,2 --norm off --weights heavy
# CSV and TSV have them in columns, which in other files are no features.
awk 'BEGIN { print "click,qid,buy,f1,f2,long" }
     NR == FNR { label[NR] = $0; next }
     { split(label[FNR], l, " "); split($3, a, ":"); split($4, b, ":"); split($2, q, ":")
       print l[1] "," q[2] "," l[2] "," a[2] "," b[2] "," l[3] }' three train.txt >three.csv
awk -F, '{ print $1 "," $2 "," $4 "," $5 }' three.csv >one.csv
csv="--label-columns click,buy,long --label-weights 1,0.5,2 --rounds 5"
train three.csv $csv -o whole
train one.csv --label-column click --labels two --label-weights 1,0.5,2 --rounds 5 -o other
say 'columns' cmp whole other
train three.csv $csv --ranks 2 -o other
say 'columns as 2 ranks' cmp whole other
head -n 200 three.csv >begin.csv
(head -n 1 three.csv && tail -n +201 three.csv) >end.csv
train begin.csv end.csv $csv -o other
say 'two files' cmp whole other
tail -n +2 three.csv >bare.csv
cut -d , -f 1,2,4,5 bare.csv >alone.csv
train bare.csv --label-columns 1,3,6 --qid-column 2 --label-weights 1,0.5,2 --rounds 5 -o whole
train alone.csv --label-column 1 --qid-column 2 --labels two --label-weights 1,0.5,2 --rounds 5 -o other
say 'columns by number' cmp whole other
train three.csv $csv --valid three.csv -o whole
train three.csv $csv --valid one.csv -o other
say 'a validation set needs the first' cmp whole other
"$RANKWOOD" predict whole three.csv --label-column click -o a.scores
"$RANKWOOD" predict whole one.csv --label-column click -o b.scores
say 'and scoring none' cmp a.scores b.scores
gzip -kf two
train train.txt --labels two --label-weights 1,0.5,2 --rounds 3 -o whole
train train.txt --labels two.gz --label-weights 1,0.5,2 --rounds 3 -o other
say 'gzip' cmp whole other
rm other
"$RANKWOOD" train train.txt --refit whole --refit-decay 0 --labels two --quiet -o other
say 'refitted' same_trees whole other
"$RANKWOOD" cv train.txt --folds 3 --rounds 3 --labels two --label-weights 1,0.5,2 --quiet -o folds >with 2>said
"$RANKWOOD" cv train.txt --folds 3 --rounds 3 --quiet -o folds >without 2>said
say 'cv has them' sh -c '! cmp -s with without'
# Bad ones.
rm -f other ck
train train.txt --labels two --label-weights 1,0.5,2 --rounds 3 -o first --checkpoint ck
sed '3s/.*/3 1/' two >bad
try train train.txt --labels bad --label-weights 1,0.5,2 --rounds 5 --leaves 7 --min-docs 3 --quiet -o no --resume ck
try train train.txt --labels two --label-weights 1,0.5,1 --rounds 5 --leaves 7 --min-docs 3 --quiet -o no --resume ck
try train train.txt --refit whole --quiet -o no
try train train.txt --labels two --label-weights 1,0.5 --quiet -o no
try train train.txt --label-weights 1,0.5 --quiet -o no
try train --strict train.txt --labels two --quiet -o no
try train train.txt --labels missing --label-weights 1,0.5,2 --quiet -o no
for weights in 1 1,x 1,-1 0,0 1,,2 1,65537 1,nan 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1; do
    try train train.txt --labels two --label-weights $weights --quiet -o no
done
try train train.txt --labels two --label-weights 1,0.5,2 --positions one --debias ipw --quiet -o no
try train train.txt --labels two --rounds 1 --quiet -o unused
try train train.txt --refit unused --labels two --quiet -o refitted
try cv train.txt --labels two --rounds 1 --folds 2 --quiet --early-stop 0 -o unused.cv 2>&1 | grep -e effect -e 'not used'
echo '1 1 2' >pairs
try train train.txt --labels two --label-weights 1,0.5,2 --pairs-file pairs --quiet -o no
for line in '1' '1 2 3' 'x 1' '1 -1' '1 nan' '' '1 2x'; do
    sed "7s/.*/$line/" two >bad
    try train train.txt --labels bad --label-weights 1,0.5,2 --quiet -o no
done
sed 7d two >bad
try train train.txt --labels bad --label-weights 1,0.5,2 --quiet --ranks 2 -o no
sed '7s/.*/40 1/' two >bad
try train train.txt --labels bad --label-weights 1,0.5,2 --quiet -o no
try train three.csv --label-columns click,buy,long --quiet -o no
try train three.csv --label-columns click,buy,none --label-weights 1,1,1 --quiet -o no
try train three.csv --label-columns click,buy,buy --label-weights 1,1,1 --quiet -o no
try train three.csv --label-columns click,buy,long --label-column click --label-weights 1,1,1 --quiet -o no
try train three.csv --label-columns click,buy --labels one --label-weights 1,1 --quiet -o no
try train --strict train.txt --label-columns 1,2 --label-weights 1,1 --quiet -o no
try train three.csv one.csv --label-columns click,buy,long --label-weights 1,1,1 --quiet -o no
try eval train.txt --model whole --labels two
say none test ! -e no
