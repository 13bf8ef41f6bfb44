# Read before every case.

# Runs the program and shows the command, all that it says, and how it ends: for lists of errors.
try() {
    echo "\$ rankwood $*"
    "$RANKWOOD" "$@" 2>&1
    echo "[$?]"
}

# A little data: 40 queries to train on, 25 to validate, made alike everywhere.
small_data() {
    "$RANKWOOD" synth --shape letor --queries 40 --seed 5 -o train.txt &&
        "$RANKWOOD" synth --shape letor --queries 25 --seed 6 -o valid.txt.gz
}

small_model() {
    small_data && "$RANKWOOD" train train.txt --rounds 5 --leaves 7 --quiet -o model.txt "$@"
}

# say WHAT COMMAND...: does the command succeed?
say() {
    what=$1
    shift
    if "$@"; then echo "$what: yes"; else echo "$what: no"; fi
}

# until_said PATTERN: waits until a line of `talk`, the messages of a background program, matches; a minute at most.
until_said() {
    tries=0
    until grep -q "$1" talk || [ $tries -gt 1200 ]; do
        sleep 0.05
        tries=$((tries + 1))
    done
}

# same_model OPTIONS...: the model of 6 rounds of the case's own `train OPTIONS`, left as 'whole', and its metrics
# of each round: the same on every engine, by one thread and by several workers; and the model resumed after 3 rounds,
# which leaves these as 'first' and the checkpoint as 'ck'.
same_model() {
    rm -f ck
    train "$@" --rounds 6 -o whole --log log
    grep '"record":"metrics"' log >whole.metrics
    for way in '--device ref' '--device sim' '--threads 1' '--ranks 2' '--ranks 3'; do
        rm -f other # a training that fails leaves none
        train "$@" --rounds 6 $way -o other --log log
        grep '"record":"metrics"' log >other.metrics
        say "  with $way" cmp whole other && cmp whole.metrics other.metrics
    done
    rm -f other
    train "$@" --rounds 3 -o first --checkpoint ck
    train "$@" --rounds 6 --resume ck --device sim -o other
    say '  resumed' cmp whole other
}

# verified MODEL FORMAT DATA: the export, left as out.FORMAT, scores all documents of DATA as MODEL does.
verified() {
    "$RANKWOOD" export "$1" --to "$2" --verify "$3" -o "out.$2" >said 2>&1 || return 1
    ! grep 'documents differ' said | grep -qv '^  0 of'
}
# come_back MODEL DATA FORMAT...: MODEL's exports out.FORMAT, imported again, score DATA to the same bytes.
come_back() {
    model=$1 data=$2
    shift 2
    "$RANKWOOD" predict "$model" "$data" --quiet -o ours
    for format in "$@"; do
        "$RANKWOOD" import "out.$format" --from "$format" -o back 2>/dev/null
        "$RANKWOOD" predict back "$data" --quiet -o theirs
        say "$format, and back" cmp ours theirs
    done
}
