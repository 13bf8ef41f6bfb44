# room: evaluate
# long
# A signal ends a pruning after the step: nothing is written, and the exit status is the signal's.
"$RANKWOOD" synth --shape letor --queries 40 --seed 5 -o train.txt
"$RANKWOOD" synth --shape letor --queries 4000 --seed 6 -o large.txt
"$RANKWOOD" train train.txt --rounds 60 --leaves 31 --min-docs 1 --l2 0 --quiet -o model
ended() { # SIGNAL
    echo yesterday >small
    : >talk # there before it is searched
    env --default-signal=INT "$RANKWOOD" prune model large.txt --threads 1 --verbose -o small >table 2>talk &
    child=$!
    until_said '^stage read'
    sleep 0.5 # until it prunes
    kill -$1 $child
    wait $child
    echo "exit $?"
    grep interrupted talk
    cat small
    say 'no table' test ! -s table
}
ended INT
ended TERM
ls
