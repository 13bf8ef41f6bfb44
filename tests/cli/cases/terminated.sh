# room: train
# SIGTERM ends training after the round, however often it comes; only a second Ctrl-C gives up the round.
small_data
# many SIGNALS: are sent to a training that has run a round, all at once.
many() {
    : >talk
    env --default-signal=INT "$RANKWOOD" train train.txt --rounds 1000000 -o model.txt --checkpoint ck 2>talk &
    child=$!
    until_said '^round 1/'
    for signal; do kill -$signal $child 2>/dev/null; done
    wait $child
    code=$?
    [ $# -lt 8 ] || echo "exit $code"
    echo "$*: left $(echo *.interrupted ck)"
    rm -f model.txt.interrupted ck
}
many TERM TERM TERM TERM TERM TERM TERM TERM
many INT TERM TERM
many TERM INT TERM
# GNU timeout sends it to the child and to the group
timeout 1 "$RANKWOOD" train train.txt --rounds 1000000 --quiet -o model.txt --checkpoint ck 2>talk
echo "timeout: exit $?, left $(echo *.interrupted ck)"
