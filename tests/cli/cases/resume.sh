# room: train
# Checkpoints: a resumed training gives an identical model, and its log has the same rounds.
small_data
set -- --valid valid.txt.gz --leaves 7 --early-stop 0 --sample-queries 0.6
"$RANKWOOD" train train.txt "$@" --rounds 12 --quiet -o whole.txt --log whole.log
rounds() { grep '"record":"metrics"' "$1"; }
# One command line for every start; the first one is ended by a signal.
auto="-o model.txt --log log --checkpoint ck --checkpoint-every 1 --resume auto"
: >talk
env --default-signal=TERM "$RANKWOOD" train train.txt "$@" --rounds 1000000 $auto 2>talk &
child=$!
until_said "^round 5/"
kill -TERM $child
wait $child
echo "exit $?"
sed -n '/interrupted:/p; /hint/p' talk
n=$(sed -n 's/^trees //p' ck)
say 'all its rounds are in the checkpoint' test "$n" = "$(rounds log | wc -l)"
ls
"$RANKWOOD" train train.txt "$@" --rounds "$((n + 3))" --quiet -o more.txt --log more.log
# Log lines that a killed training wrote after its checkpoint.
awk 'BEGIN { for (i = 0; i < 2000; i++) print "{\"record\":\"metrics\",\"round\":" i ",\"late\":true}" }' >>log
"$RANKWOOD" train train.txt "$@" --rounds "$((n + 3))" --device sim $auto 2>talk
echo "exit $?"
grep -c '^resume: round [0-9]* of .ck.$' talk
say 'the same model' cmp -s model.txt more.txt
rounds log >a
rounds more.log >b
say 'the same rounds in the log' cmp -s a b
grep -o '"record":"resume","round":' log
# A finished training gives its model again.
rm model.txt
"$RANKWOOD" train train.txt "$@" --rounds "$((n + 3))" --quiet $auto
say 'the same model again' cmp -s model.txt more.txt
rounds log >a
say 'the same rounds again' cmp -s a b
rm ck
# Input from a cache; changed parameters, data and log.
"$RANKWOOD" bin train.txt -o train.rwb 2>/dev/null
"$RANKWOOD" train train.txt "$@" --rounds 5 --quiet --checkpoint ck -o part.txt --log log
"$RANKWOOD" train train.rwb "$@" --rounds 12 --quiet --resume ck -o model.txt --threads 1 --batch 3
say 'from a cache' cmp -s model.txt whole.txt
try train train.rwb "$@" --rounds 12 --quiet --resume ck -o model.txt --seed 7 --min-docs 9
try train train.rwb --valid train.txt --leaves 7 --early-stop 0 --sample-queries 0.6 --rounds 12 --quiet --resume ck -o model.txt
sed '3s/^[0-9]*/3/' train.txt >other.txt
cat log >kept.log
try train other.txt "$@" --rounds 12 --quiet --resume ck -o model.txt --log log
say 'the log is as it was' cmp -s log kept.log
head -c 100 log >short.log
try train train.txt "$@" --rounds 12 --quiet --resume ck -o model.txt --log short.log
rounds short.log | head -n 1 | grep -o '"round":[0-9]*'
try train train.txt "$@" --rounds 3 --quiet --resume ck -o model.txt
try train train.txt --rounds 12 --quiet --init part.txt --resume ck -o model.txt
head -c 2000 ck >cut
try train train.txt "$@" --rounds 12 --quiet --resume cut -o model.txt
try train train.txt "$@" --rounds 12 --quiet --resume part.txt -o model.txt
try info ck
# A checkpoint of another version, whatever its other lines contain.
for version in 1 2; do
    sed "1s/1\$/$version/; 2s/.*/program 0.0.9/; \$d" ck >body
    sum=$(gzip -c body | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')
    { cat body; echo "checksum $sum"; } >old
    try train train.txt "$@" --rounds 12 --quiet --resume old -o model.txt
done
rm body old
try train train.txt "$@" --rounds 5 --quiet --checkpoint ck -o model.txt
# The wording of errors.
try train train.txt -o model.txt --resume nothing
try train train.txt -o model.txt --resume auto
try train train.txt -o model.txt --checkpoint-every 5
try train train.txt -o model.txt --checkpoint ck --checkpoint-every 5x
try train train.txt -o model.txt --checkpoint -
try train train.txt -o model.txt --checkpoint model.txt
try train train.txt -o ck --resume ck
try train train.txt --checkpoint ck --plan
try train train.txt --resume ck --print-config
try train train.txt --rounds 1 --quiet -o model.txt --checkpoint no/folder/ck
# A checkpoint that cannot be written is reported, and training continues.
try train train.txt --rounds 2 --quiet -o model.txt --checkpoint /dev/full
ls
