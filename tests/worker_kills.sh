#!/bin/sh
# Kills one of several workers (kill -9) at each stage of a training. All workers must end within 30 seconds, with a
# message, and leave no incomplete file under the model's name. The same command line, started again, must write a model
# identical to that of an uninterrupted training.
#
#   sh tests/worker_kills.sh PROGRAM
#
# RANKS     how many, by mpirun (2)
# DEVICE    device of the trainings (cpu)
# QUERIES   of the made data (400)
# ROUNDS    of a training (12)
# STAGES    stages after which a worker is killed: "log" (training has begun), or text of a log line with a dot for each
#           space (all)
#
# The first stage is the log's first line, at which all workers have returned from MPI_Init. Before that, Open MPI 4.1's
# mpirun may wait forever for a process that dies while the two connect (PMIX ERROR: UNREACHABLE), whatever the program
# is.
#
# Prints a line a stage and rank. Exit 77 if there is no mpirun, or the program cannot be run by it.
set -u
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
ranks=${RANKS:-2} device=${DEVICE:-cpu} queries=${QUERIES:-400} rounds=${ROUNDS:-12}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
export LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    OMPI_MCA_hwloc_base_binding_policy=none
limit=30

"$program" synth --shape mslr30k --queries "$queries" --seed 5 -o train.txt || exit 2
"$program" synth --shape mslr30k --queries 40 --seed 6 -o valid.txt || exit 2

# Starts the training; pid.R holds the process id of worker R.
start() {
    # shellcheck disable=SC2016
    setsid mpirun -n "$ranks" sh -c 'echo $$ >pid.$OMPI_COMM_WORLD_RANK; exec "$@"' sh \
        "$program" train train.txt --valid valid.txt --leaves 31 --rounds "$rounds" --early-stop 0 --device "$device" \
        --threads 1 --log log --checkpoint ck --checkpoint-every 1 --resume auto --quiet -o "$1" 2>err &
    job=$!
}

# A stage has ended when the log has its line.
has_ended() {
    case $1 in
    log) [ -s log ] ;;
    *) grep -q "$1" log 2>/dev/null ;;
    esac
}

no() {
    echo "not ok worker_kills: $*"
    sed 's/^/    /' err
    exit 1
}

start whole.txt
wait $job || {
    echo "skip worker_kills: $(head -n 1 err)"
    exit 77
}
# the brackets of a stage's record hold times, which differ in each run
stages="log $(sed -n 's/.*"stage": *"\([^"(]*\).*/\1/p' log | tr ' ' '.' | sort -u | tr '\n' ' ')"
stages="$stages \"round\":1, \"round\":$((rounds / 2)), \"round\":$rounds,"
n_killed=0
for stage in ${STAGES:-$stages}; do
    rank=0
    while [ "$rank" -lt "$ranks" ]; do
        rm -f pid.* log ck one.txt*
        start one.txt
        until has_ended "$stage" || ! kill -0 $job 2>/dev/null; do sleep 0.002; done
        begun=$(date +%s%3N) what=killed
        kill -KILL "$(cat pid.$rank)" 2>/dev/null || what="over before"
        while kill -0 $job 2>/dev/null && [ $(($(date +%s%3N) - begun)) -lt $((limit * 1000)) ]; do sleep 0.02; done
        took=$(($(date +%s%3N) - begun))
        if kill -KILL -$job 2>/dev/null; then
            no "rank $rank killed after $stage: the others are there $limit s later"
        fi
        wait $job
        code=$?
        if [ "$code" -ne 0 ]; then
            grep -q "rank $rank.*signal 9" err || no "rank $rank killed after $stage: exit $code, and no message names it"
            [ ! -e one.txt ] || cmp -s one.txt whole.txt || no "rank $rank killed after $stage: half a model"
        fi
        start one.txt
        wait $job || no "rank $rank killed after $stage: it does not go on"
        cmp -s one.txt whole.txt || no "rank $rank killed after $stage: another model"
        left=$(find . -name '*.tmp-*')
        [ -z "$left" ] || no "rank $rank killed after $stage: left behind: $left"
        [ "$what" != killed ] || n_killed=$((n_killed + 1))
        echo "ok rank $rank after $stage: $what, exit $code after $took ms, resumed to the same bytes"
        rank=$((rank + 1))
    done
done
[ "$n_killed" -ge "$ranks" ] || no "trainings end before a rank can be killed: more QUERIES or ROUNDS"
