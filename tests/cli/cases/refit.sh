# room: train
# long
# New values for the leaves of a model's trees: those of training on its own data, identical for any number of threads
# and workers, and from any form of the data.
small_data
gzip -dc valid.txt.gz >valid.txt
awk '{ print NR % 5 / 2 + 0.5 }' valid.txt >weights
awk '{ print (NR * 7919 % 1000) / 500 - 1 }' valid.txt >start
refit() {
    "$RANKWOOD" train "$@" --quiet
}
leaves() {
    grep '^leaf' "$1"
}
"$RANKWOOD" train train.txt --rounds 9 --leaves 7 --min-docs 3 --rate 0.4:0.1:5 --quiet -o model
for objective in lambdarank yetirank regression queryrmse listnet xendcg logistic; do
    "$RANKWOOD" train train.txt --rounds 4 --leaves 7 --objective $objective --l2 20 --quiet -o own
    refit train.txt --refit own --refit-decay 0 -o again
    say "$objective on its own data" sh -c 'grep -v "^params\|^checksum\|^refit-decay" again >a; grep -v "^params\|^checksum" own >b; cmp a b'
    refit valid.txt --refit own --weights weights --start-scores start -o whole
    for n in 2 3; do
        refit valid.txt --refit own --weights weights --start-scores start --ranks $n -o other
        say "$objective as $n ranks" cmp whole other
    done
    refit valid.txt --refit own --weights weights --start-scores start --threads 3 --device ref -o other
    say "$objective with 3 threads" cmp whole other
done
refit valid.txt --refit model --valid train.txt --metric ndcg@5,rmse --train-metric on -o whole --log log
say 'leaves are others' sh -c '! cmp -s whole model'
say 'all trees are there' test "$(grep -c '^tree ' whole)" = 9
say 'nine rounds are in the log' test "$(grep -c '"record":"metrics"' log)" = 9
"$RANKWOOD" info whole | grep refit-decay
refit valid.txt --refit model --refit-decay 0.9 --valid train.txt --metric ndcg@5,rmse --train-metric on -o other
say '0.9 if not given' cmp whole other
refit valid.txt --refit model --refit-decay 1 -o other
say 'nothing new with 1 but the covers' sh -c 'grep ^leaf model | sed "s/ docs.*//" >a; grep ^leaf other | sed "s/ docs.*//" >b; cmp a b'
say 'which are those of the new data' sh -c '! cmp -s model other && test "$(awk "/^leaf/ { n += \$5 } END { print n }" other)" = $((9 * $(wc -l <valid.txt)))'
refit valid.txt --refit model -o whole
"$RANKWOOD" bin valid.txt -o valid.rwb
refit valid.rwb --refit model -o other
say 'from a cache' cmp whole other
refit - --refit model -o other <valid.txt
say 'from a pipe' cmp whole other
refit valid.txt --refit model --rate 0.5 --refit-decay 0 -o other
say 'another rate' sh -c '! cmp -s whole other'
"$RANKWOOD" train train.txt --init whole --rounds 2 --quiet -o other
say 'training goes on from it' test "$(grep -c '^tree ' other)" = 11
# Another program's model, by names of columns.
printf 'label,qid,b,a\n0,1,1,2\n1,1,2,1\n2,1,3,0\n0,2,1,4\n1,2,3,3\n' >t.csv
"$RANKWOOD" train t.csv --rounds 2 --min-docs 1 --quiet -o named
"$RANKWOOD" export named --to lightgbm -o named.lgb
"$RANKWOOD" import named.lgb --from lightgbm -o imported
printf 'qid,a,b,label,c\n1,1,2,0,7\n1,2,1,1,7\n1,0,3,2,7\n' >u.csv
"$RANKWOOD" train u.csv --refit imported --refit-decay 0 --l2 1 -o refitted 2>&1 | grep 'does not say'
"$RANKWOOD" info refitted | grep 'objective\|refit-decay'
printf 'qid,b,label\n1,2,0\n1,1,1\n' >v.csv
try train v.csv --refit imported -o no
# Errors.
try train valid.txt --refit nothing -o no
try train valid.txt --refit valid.txt -o no
try train valid.txt --refit model --refit-decay 1.5 -o no
try train --strict valid.txt --refit-decay 0.5 -o no
try train --strict valid.txt --refit model --leaves 5 -o no
try train --strict valid.txt --refit model --quiet --permutations 4 -o no
try train --strict valid.txt --refit model --metric map -o no
try train valid.txt --refit model --init model -o no
try train valid.txt --refit model --checkpoint ck -o no
try train valid.txt --refit model --for solr -o no
try train valid.txt --refit model --plan
try train valid.txt --refit model --absent missing --quiet -o no
mkdir folder
try train valid.txt --refit model --quiet -o folder
: >empty
try train empty --refit model --quiet -o no
printf '1 qid:1 900:1\n0 qid:1 900:2\n' >strange
try train strange --refit model --quiet -o no
try train strange --refit model --quiet --ranks 2 -o no
say none test ! -e no
