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
