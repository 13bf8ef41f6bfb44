# room: objective
# long
# The bias of positions: the same model whatever reads them, on every engine, with workers and resumed.
"$RANKWOOD" synth --shape letor --queries 40 --seed 5 -o train.txt
awk '{ if ($2 != last) k = 0; last = $2; $1 = $1 > 0 && NR * 7919 % 1000 / 1000 < 1 / ++k; print }' train.txt >clicks.txt
awk '{ if ($2 != last) k = 0; last = $2; print (++k < 9 ? k : 9) }' train.txt >shown
train() {
    "$RANKWOOD" train "$@" --leaves 7 --min-docs 3 --quiet
}
train clicks.txt --rounds 6 -o plain
train clicks.txt --rounds 6 --debias off -o other
say 'off is nothing' cmp plain other
for i in 1 2 3 4 5 6 7 8 9; do echo "$i 0.$((10 - i))"; done >known
for how in additive 'additive --position-l2 0.01' ipw 'ipw --position-norm 0' 'ipw --propensities known'; do
    clicks="--positions shown --debias $how"
    echo "$how"
    same_model clicks.txt $clicks
    say '  it matters' sh -c '! cmp -s whole plain'
    grep -h 'debias\|position-\|propensit' whole
done
gzip -kf shown
train clicks.txt --positions shown.gz --debias additive --rounds 6 -o whole
train clicks.txt --positions - --debias additive --rounds 6 -o other <shown
say 'gzip and a pipe' cmp whole other
# The estimated position bias: at the end, and in the log.
try train clicks.txt --positions shown --debias additive --rounds 1 --leaves 2 --log log -o other | grep position
try train clicks.txt --positions shown --debias ipw --propensities known --rounds 1 --leaves 2 -o other | grep position
say 'the log has it' grep -q '"record":"positions","round":1,"given":false,"position":\[1,2,3,4,5,6,7,8,9\],"documents":\[40,' log
"$RANKWOOD" cv clicks.txt --folds 3 --rounds 3 --positions shown --debias additive --quiet -o folds >with 2>said
"$RANKWOOD" cv clicks.txt --folds 3 --rounds 3 --quiet -o folds >without 2>said
say 'cv has them' sh -c '! cmp -s with without'
# Bad ones.
rm -f other ck
try train clicks.txt --debias additive --quiet -o no
try train --strict clicks.txt --positions shown --quiet -o no
try train clicks.txt --positions shown --rounds 1 --quiet -o unused
try train clicks.txt --refit unused --positions shown --quiet -o refitted
try cv clicks.txt --positions shown --rounds 1 --folds 2 --quiet --early-stop 0 -o unused.cv 2>&1 | grep -e effect -e 'not used'
try train --strict clicks.txt --positions shown --debias ipw --objective regression --metric rmse --quiet -o no
try train --strict clicks.txt --positions shown --debias ipw --objective yetirank --quiet -o no
try train --strict clicks.txt --positions shown --debias ipw --position-l2 1 --quiet -o no
try train --strict clicks.txt --positions shown --debias additive --position-norm 2 --quiet -o no
try train --strict clicks.txt --positions shown --debias additive --propensities known --quiet -o no
try train --strict clicks.txt --positions shown --debias ipw --propensities known --position-norm 2 --quiet -o no
try train --strict clicks.txt --positions shown --debias additive --delta map --quiet -o no
try train --strict clicks.txt --positions shown --debias additive --pairs all --quiet -o no
try train --strict clicks.txt --positions shown --debias additive --quiet --refit plain -o no
sed 7d shown >bad
try train clicks.txt --positions bad --debias ipw --quiet -o no
sed '7s/.*/nan/' shown >bad
try train clicks.txt --positions bad --debias ipw --quiet --ranks 2 -o no
for line in '4 0' '4 nan' '4 -1' '4' '3 0.5' '4 0.5 0' '70000 1'; do
    sed "4s/.*/$line/" known >bad
    try train clicks.txt --positions shown --debias ipw --propensities bad --quiet -o no
done
sed 4d known >bad
try train clicks.txt --positions shown --debias ipw --propensities bad --quiet -o no
try train clicks.txt --positions shown --debias ipw --propensities bad --quiet --ranks 3 -o no
try train clicks.txt --positions shown --debias ipw --propensities nothing --quiet -o no
try train clicks.txt --positions shown --debias true --quiet -o no
try train clicks.txt --lambdarank-unbiased true --quiet -o no
"$RANKWOOD" train clicks.txt --positions shown --debias ipw --propensities known --rounds 3 --quiet -o first --checkpoint ck
sed '2s/.*/2 0.75/' known >bad
try train clicks.txt --positions shown --debias ipw --propensities bad --rounds 3 --quiet -o no --resume ck
sed '3s/.*/1/' shown >bad
try train clicks.txt --positions bad --debias ipw --propensities known --rounds 3 --quiet -o no --resume ck
try eval clicks.txt --model whole --positions shown
say none test ! -e no
