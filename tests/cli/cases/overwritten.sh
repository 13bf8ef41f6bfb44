# An input file is never overwritten, except where replacing it is the purpose; two outputs are never one file.
small_model
T='--rounds 2 --leaves 5 --quiet'
printf 'rounds = 2\nleaves = 5\n' >config
"$RANKWOOD" train train.txt $T -o n --checkpoint ck
for i in 1 2 3; do echo "$i name$i"; done >names
for i in $(seq "$(wc -l <train.txt)"); do echo 0.5; done >numbers
echo '1 0.5' >propensities
cp model.txt m
mkdir folder
cp train.txt folder/fold-2.txt
cp numbers folder/scores.txt
cksum * folder/* >before 2>/dev/null
refused() {
    "$RANKWOOD" "$@" 2>&1 >/dev/null | sed -n 1p
    cksum * folder/* 2>/dev/null | grep -v ' before$' | cmp - before
}
grep -v ' before$' before >b && mv b before
refused train train.txt --config config --quiet -o config
refused train train.txt --init m $T -o n --log m
refused train train.txt --refit m --quiet -o n --log m
refused train train.txt $T --resume ck -o n --log ck
refused train train.txt $T --resume ck -o ck
refused train train.txt $T --names names -o n --checkpoint names
for of in weights query-weights start-scores pairs-file; do
    refused train train.txt $T --$of numbers -o n --log ./numbers
done
refused train train.txt $T --propensities propensities --positions numbers --debias ipw -o propensities
refused train train.txt $T --label-gain propensities -o n --log propensities
refused train train.txt --valid valid.txt.gz --valid-weights numbers $T -o n --checkpoint numbers
refused train train.txt $T -o m --init n --log m.interrupted --checkpoint m.interrupted
refused train train.txt $T -o folder/../numbers --weights numbers
refused cv train.txt folder/fold-2.txt --folds 3 $T -o folder
refused cv train.txt --start-scores folder/scores.txt --folds 3 $T -o ./folder
refused bin train.txt --labels numbers -o numbers
refused predict m train.txt --config config -o config
refused calibrate m train.txt -o m
echo two outputs
refused train train.txt $T -o zz --log ./zz
refused train train.txt $T -o zz --checkpoint zz.interrupted
refused train train.txt $T -o folder/zz --log folder/../folder/zz
refused select train.txt --valid valid.txt.gz $T -o zz --model ./zz
refused predict m train.txt -o zz --trec ./zz
refused predict m train.txt -o - --trec -
rm before
echo replaced
"$RANKWOOD" train train.txt $T --init m -o whole && "$RANKWOOD" train train.txt $T --init m -o m && say init cmp m whole
"$RANKWOOD" train train.txt --refit m --quiet -o whole && "$RANKWOOD" train train.txt --refit m --quiet -o m &&
    say refit cmp m whole
"$RANKWOOD" train train.txt $T --resume ck --checkpoint ck -o m && say resume cmp m n
"$RANKWOOD" train train.txt --label-gain exp $T -o exp && say word cmp exp n
# Devices and pipes are never the same file.
"$RANKWOOD" predict m train.txt -o /dev/null --trec /dev/null && echo devices
"$RANKWOOD" train - $T -o - <train.txt | cmp - n && echo standard
mkfifo pipe
"$RANKWOOD" train train.txt $T -o n --log pipe &
wc -l <pipe >lines
wait && say pipe test "$(cat lines)" -gt 3
