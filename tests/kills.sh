#!/bin/sh
# Kills a training (kill -9) at random moments and resumes it with the same command line until it ends. The model and
# the metrics in the log must be identical to those of an uninterrupted training.
#
#   sh tests/kills.sh PROGRAM [KILLS]       default 20
#
# DEVICE    device of the killed trainings (cpu); the uninterrupted one trains on REFERENCE (cpu)
# RUN       command that starts a training, such as 'mpirun -n 2': all its processes are killed
# SEED      of the moments (1)
# QUERIES   of the made data (40)
# ROUNDS    of a training (120)
# KEEP      folder in which files are kept after a failure
#
# Prints a line per configuration, then the number of kills after which training resumed. Exit 77 if the device is
# missing.
set -u
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
kills=${2:-20} device=${DEVICE:-cpu} reference=${REFERENCE:-cpu} run=${RUN:+setsid $RUN}
rounds=${ROUNDS:-120} queries=${QUERIES:-40}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
export LC_ALL=C

# Numbers in [0, 32768), by a generator of its own: the shell's is not everywhere.
random=${SEED:-1}
next_random() {
    random=$(((random * 1103515245 + 12345) % 2147483648))
    number=$((random / 65536))
}

"$program" synth --shape letor --queries "$queries" --seed 5 -o train.txt || exit 2
"$program" synth --shape letor --queries 25 --seed 6 -o valid.txt || exit 2
"$program" bin train.txt -o train.rwb >bin.log 2>&1 || exit 2
"$program" train train.txt --rounds 7 --leaves 5 --quiet -o init.txt || exit 2
"$program" train train.txt --rounds 1 --leaves 3 --quiet --device "$device" -o probe.txt 2>probe.err || {
    echo "skip kills: $device: $(head -n 1 probe.err)"
    exit 77
}

# The trainings, in turn: data, then parameters.
configuration() {
    case $1 in
    0) echo "train.txt --valid valid.txt --leaves 15 --early-stop 30" ;;
    1) echo "train.rwb --valid valid.txt --leaves 15 --early-stop 0 --sample-queries 0.5 --sample-features 0.5" ;;
    2) echo "train.txt --valid valid.txt --leaves 15 --objective yetirank --early-stop 0 --train-metric on" ;;
    3) echo "train.txt --leaves 15 --split newton --min-docs 40 --sample-queries 0.15" ;;
    4) echo "train.txt --valid valid.txt --leaves 15 --init init.txt --early-stop 40" ;;
    5) echo "train.rwb --leaves 15 --objective regression --bits 16" ;;
    esac
}
n_configurations=6

# Milliseconds since some moment.
now() {
    date +%s%3N
}

# Until a training ends: kills it at a random moment within 1.3 times the duration of a whole training.
#   killed NAME MILLISECONDS ARGUMENTS...
killed() {
    name=$1 whole_ms=$2
    shift 2
    n_here=0
    while :; do
        next_random
        wait_ms=$((number * whole_ms * 13 / 10 / 32768))
        if [ "$n_here" -ge 8 ] || [ "$n_killed" -ge "$kills" ]; then
            wait_ms=600000 # to its end
        fi
        [ ! -f "$name.ck" ] || n_resumed=$((n_resumed + 1))
        # shellcheck disable=SC2086
        $run "$program" train "$@" --rounds "$rounds" --quiet --device "$device" -o "$name.txt" --log "$name.log" \
            --checkpoint "$name.ck" --checkpoint-every 1 --resume auto 2>"$name.err" &
        child=$! victim=$!
        [ -z "$run" ] || victim=-$child # its group
        begun=$(now)
        while kill -0 $child 2>/dev/null && [ $(($(now) - begun)) -lt "$wait_ms" ]; do
            sleep 0.005
        done
        if kill -KILL "$victim" 2>/dev/null; then
            wait $child 2>/dev/null
            n_killed=$((n_killed + 1)) n_here=$((n_here + 1))
            continue
        fi
        wait $child
        return
    done
}

no() {
    echo "not ok kills: $*"
    [ -z "${KEEP:-}" ] || { mkdir -p "$KEEP" && cp -r . "$KEEP"; }
    exit 1
}

n_killed=0 n_trainings=0 n_resumed=0
while [ "$n_killed" -lt "$kills" ]; do
    which=$((n_trainings % n_configurations))
    arguments=$(configuration $which)
    if [ ! -f "whole$which.ms" ]; then
        # shellcheck disable=SC2086
        "$program" train $arguments --rounds "$rounds" --quiet --device "$reference" -o "whole$which.txt" \
            --log "whole$which.log" || exit 2
        grep '"record":"metrics"' "whole$which.log" >"whole$which.metrics"
        begun=$(now)
        # shellcheck disable=SC2086
        $run "$program" train $arguments --rounds "$rounds" --quiet --device "$device" -o timed.txt || exit 2
        echo $(($(now) - begun)) >"whole$which.ms"
        cmp -s timed.txt "whole$which.txt" || no "another model without any kill: $arguments"
    fi
    rm -f one.*
    # shellcheck disable=SC2086
    killed one "$(cat "whole$which.ms")" $arguments || no "a resumed training fails: $(cat one.err)"
    cmp -s one.txt "whole$which.txt" || no "another model after $n_here kills: $arguments"
    grep '"record":"metrics"' one.log | cmp -s - "whole$which.metrics" ||
        no "another log after $n_here kills: $arguments"
    left=$(find . -name '*.tmp-*')
    [ -z "$left" ] || no "left behind: $left"
    n_trainings=$((n_trainings + 1))
    [ "$n_trainings" -le $((n_killed * 10 + 20)) ] || no "trainings end before they are killed"
done
echo "ok kills: $n_killed kills of $n_trainings trainings on $device, $n_resumed times resumed, to the same bytes"
[ "$n_resumed" -ge $((n_killed / 4)) ] || no "most kills came before there was a checkpoint"
