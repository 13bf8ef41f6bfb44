# room: tree
# --monotone: features along which scores only rise or only fall.
small_data
train() {
    "$RANKWOOD" train train.txt --leaves 15 --min-docs 3 --gain-noise 0 --quiet "$@"
}
same_model --monotone 25:+,40:-
grep '^monotone' whole
train --rounds 6 --sample-features 1 -o free
say 'not in other models' sh -c '! grep monotone free'
# Names and ranges are ids in the model.
printf '25 bm25\n40 length:raw\n' >names
train --names names --monotone length:raw:-,bm25:+ --rounds 6 -o named
grep '^monotone' named
say 'the same trees' sh -c 'grep "^leaf" whole >a; grep "^leaf" named >b; cmp a b'
train --monotone 10-13:+,8:- --rounds 2 -o ranges
grep '^monotone' ranges
printf 'monotone = 25:+,40:-\n' >config
train --config config --rounds 6 -o other
say 'of a file' cmp whole other
# Continued, resumed, cross-validated.
train --monotone 40:-,25:+ --rounds 3 --init first -o other
say 'goes on from a model' cmp whole other
try train train.txt --monotone 25:- --rounds 6 --leaves 15 --min-docs 3 --gain-noise 0 --resume ck --quiet -o no
try train train.txt --monotone 25:- --init whole --quiet -o no
"$RANKWOOD" cv train.txt --folds 3 --rounds 3 --min-docs 3 --monotone 25:+ --quiet -o folds >cv.txt
grep -h '^monotone' folds/fold-*.txt
# Documents that differ along one feature alone.
awk 'BEGIN { for (v = 0; v <= 20; v++) { print "0 qid:1 25:" v / 20; print "0 qid:2 40:" v / 20 } }' | sort -s -k 2,2 >grid.txt
"$RANKWOOD" predict whole grid.txt --quiet -o scores
say rises sh -c 'head -n 21 scores | sort -c -g'
say falls sh -c 'tail -n 21 scores | sort -c -g -r'
say 'by steps' test "$(head -n 21 scores | sort -u | wc -l)" -gt 1
"$RANKWOOD" predict free grid.txt --quiet -o scores
say 'falls without it' sh -c 'tail -n 21 scores | sort -c -g -r'
for list in 11 11:x 11: :+ 11:+, 11:+,11:- 9-12:+,11:- 99999:+ 999:+ nobody:-; do
    try train train.txt --monotone $list --quiet -o no
done
try train train.txt --monotone 11:+ --ignore 11 --quiet -o no
try train train.txt --monotone_constraints 1,0,-1 --quiet -o no
say none test ! -e no
