# room: train
# A signal ends training after the round: MODEL stays as it was, the best so far is MODEL.interrupted,
# the exit status is the signal's, and the log is whole.
small_data
echo 'yesterday' >model.txt
# ended SIGNAL ROUNDS: a training until it has said so much.
ended() {
    : >talk # there before it is searched
    env --default-signal=INT "$RANKWOOD" train train.txt --valid valid.txt.gz --rounds 1000000 --early-stop 0 \
        -o model.txt --log log.jsonl 2>talk &
    child=$!
    until_said "^round $2/"
    kill -$1 $child
    wait $child
    echo "exit $?"
    sed -n '/interrupted/p' talk
}
ended TERM 2
cat model.txt
ls
"$RANKWOOD" info model.txt.interrupted | grep '^finished'
"$RANKWOOD" info model.txt.interrupted --json | grep '"finished"'
tail -n 1 log.jsonl | grep -c '^{.*}$'
# Commands that use an interrupted model warn; a continued model is finished.
try predict model.txt.interrupted train.txt -o scores
try train train.txt --init model.txt.interrupted --rounds 1 --quiet -o on.txt
"$RANKWOOD" info on.txt | grep '^finished'
rm model.txt.interrupted scores on.txt
ended INT 1
"$RANKWOOD" info model.txt.interrupted | grep '^finished'
cat model.txt
# Before the first round there is nothing to keep; the second signal does not wait.
rm model.txt.interrupted log.jsonl
mkfifo pipe
exec 3<>pipe
env --default-signal=INT "$RANKWOOD" train pipe --quiet -o model.txt 2>talk &
child=$!
until ls model.txt.tmp-* >/dev/null 2>&1; do sleep 0.05; done
kill -INT $child
wait $child
echo "exit $?"
cat talk model.txt
ls
# Where no file can be set aside, nothing is kept.
timeout --foreground --preserve-status -s TERM 1 "$RANKWOOD" train train.txt --rounds 1000000 --quiet -o /dev/null 2>talk
echo "exit $?"
grep interrupted talk
