# room: train
# long
# Scores that training starts from: the same model whatever reads them, with ranks, --init and --resume.
small_data
gzip -dc valid.txt.gz >valid.txt
awk '{ print (NR * 7919 % 1000) / 500 - 1 }' train.txt >t.start
awk '{ print (NR * 7919 % 1000) / 500 - 1 }' valid.txt >v.start
train() {
    "$RANKWOOD" train "$@" --leaves 7 --min-docs 3 --early-stop 0 --quiet
}
starts="--valid valid.txt --start-scores t.start --valid-start-scores v.start"
same_model train.txt $starts
train train.txt --valid valid.txt --rounds 6 -o zero
say 'they matter' sh -c '! cmp -s whole zero'
sed 's/.*/0/' t.start >t.zero
train train.txt --valid valid.txt --start-scores t.zero --valid-start-scores none --rounds 6 -o zeros
say 'none are 0' cmp zero zeros
"$RANKWOOD" bin train.txt -o train.rwb
train train.rwb $starts --rounds 6 -o other
say 'with a cache' cmp whole other
gzip -k t.start train.txt
train train.txt.gz --valid valid.txt.gz --start-scores t.start.gz --valid-start-scores v.start --rounds 6 -o other
say 'with gzip' cmp whole other
train - --valid valid.txt --start-scores t.start --valid-start-scores v.start --rounds 6 -o other <train.txt
say 'with a pipe of documents' cmp whole other
train train.txt --valid valid.txt --start-scores - --valid-start-scores v.start --rounds 6 -o other <t.start
say 'with a pipe of scores' cmp whole other
# Training in two steps gives the same model as in one.
train train.txt $starts --rounds 3 --init first -o other
say 'goes on from a model' cmp whole other
train train.txt $starts --rounds 3 --init first --ranks 3 -o other
say 'goes on from a model as 3 ranks' cmp whole other
try train train.txt --valid valid.txt --start-scores t.start --leaves 7 --min-docs 3 --early-stop 0 --quiet --resume ck -o no
try train train.txt --valid valid.txt --start-scores v.start --rounds 2 --quiet -o no
sed '3s/.*/0.25/' t.start >t.other
try train train.txt --valid valid.txt --start-scores t.other --valid-start-scores v.start --leaves 7 --min-docs 3 --early-stop 0 --quiet --resume ck -o no
# Start scores that are all predictions of a model continue its training. The last metric is that of both models
# together, and the new model has only its own trees.
alike="--valid valid.txt --rounding nearest --sample-features 1 --gain-noise 0" # chance goes by a tree's number
train train.txt $alike --rounds 5 -o before
for set in train valid; do
    "$RANKWOOD" predict before $set.txt --quiet >$set.start
done
train train.txt $alike --start-scores train.start --valid-start-scores valid.start --rounds 4 -o after --log after.log
train train.txt $alike --init before --rounds 4 -o both --log both.log
trees() { # a model's from the N-th on, without their numbers
    awk -v n="$2" '/^tree /{ t++ } t >= n && /^(node|leaf)/' "$1"
}
trees after 1 >a
trees both 6 >b
say 'its own trees alone' test "$(grep -c '^tree ' after)" = 4 -a "$(wc -l <a)" = 52
say 'the same trees' cmp a b
last() {
    grep '"record":"metrics"' "$1" | tail -n 1 | sed 's/.*"values"//'
}
say 'the metric is of both' test "$(last after.log)" = "$(last both.log)"
# cv measures with them, too.
"$RANKWOOD" cv train.txt --folds 3 --rounds 3 --start-scores t.start --quiet -o folds >with
"$RANKWOOD" cv train.txt --folds 3 --rounds 3 --quiet -o folds >without
say 'cv has them' sh -c '! cmp -s with without'
# Bad ones.
try train train.txt --start-scores nothing --quiet -o no
: >empty
try train train.txt --start-scores empty --quiet -o no
sed '7s/.*/nan/' t.start >bad
try train train.txt --start-scores bad --quiet -o no
sed '7s/.*/inf/' t.start >bad
try train train.txt --start-scores bad --quiet --ranks 2 -o no
sed '7s/.*/1e31/' t.start >bad
try train train.txt --start-scores bad --quiet -o no
sed '7s/.*//' t.start >bad
try train train.txt --start-scores bad --quiet -o no
sed 7d t.start >bad
try train train.txt --start-scores bad --quiet --ranks 3 -o no
try train train.txt --valid valid.txt --valid-start-scores t.start --quiet -o no
try train train.txt --valid-start-scores v.start --quiet -o no
try train train.txt --valid valid.txt --valid-start-scores v.start --valid-start-scores none --quiet -o no
try eval valid.txt --model zero --start-scores v.start
say none test ! -e no
