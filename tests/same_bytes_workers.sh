#!/bin/sh
# Tests that any number of workers gives identical models: trains each configuration below by one worker, then by
# several, and compares the model files and the log's metrics records, by cmp.
#
#   sh tests/same_bytes_workers.sh PROGRAM [DEVICE]       default cpu; a GPU means all of them
#
# Workers are threads of one process (RANKS, default "1 2 3 4 5 6 7 8") and processes of mpirun (MPI_RANKS, default "1 2
# 4"; skipped where mpirun or rankwood_comm_mpi.so is missing). NAMES, an extended regular expression, selects
# configurations; COVER=1 selects those that tests/cover.py chooses. EACH=1 runs one number of workers of each kind per
# configuration, in turn, instead of all. SCALE (1) multiplies the queries of the made data. JOBS is the number of
# parallel trainings (the processors, at most 8). MORE holds options for trainings by several workers only, such as
# '--threads 3'. FAR=1 gives each of several workers the minimum memory of its GPU, so that codes are host-resident.
# Exit 77 if the device is missing.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
device=${2:-cpu} scale=${SCALE:-1} ranks=${RANKS:-1 2 3 4 5 6 7 8} mpi_ranks=${MPI_RANKS-1 2 4}
n_jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
[ "$n_jobs" -le 8 ] || [ -n "${JOBS:-}" ] || n_jobs=8
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
export LC_ALL=C
failed=0 passed=0 far=0

no() {
    echo "not ok same_bytes_workers: $*"
    failed=$((failed + 1))
}
printf '1 qid:1 1:1\n0 qid:1 1:2\n' >tiny.txt
tiny="train tiny.txt --rounds 1 --min-docs 1 --quiet -o tiny.model"
"$program" $tiny --device "$device" 2>tiny.err || {
    echo "skip same_bytes_workers: $device: $(head -n 1 tiny.err)"
    exit 77
}
# Open MPI needs these settings as root and with more workers than processors; other MPIs ignore them.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe OMPI_MCA_hwloc_base_binding_policy=none
if [ -n "$mpi_ranks" ] && ! mpirun -n 2 "$program" $tiny 2>tiny.err; then
    echo "skip same_bytes_workers: mpirun: $(grep -m 1 . tiny.err)"
    mpi_ranks=
fi
. "$root/tests/configurations.sh"

# --- jobs: a line a training, NAME|COMMAND..., which leaves NAME.model and NAME.metrics
job() { # name how data valid options...; how: "1", "4" threads, "mpi4" processes
    name=$1 how=$2 data=$3 valid=$4
    shift 4
    case $how in
    1) echo "$name|$program train $data --valid $valid $* --device $device --threads 1" ;;
    mpi*) echo "$name|mpirun -n ${how#mpi} $program train $data --valid $valid $* --device $device --threads 1 ${MORE:-}" ;;
    *) echo "$name|$program train $data --valid $valid $* --device $device --ranks $how --threads $((how % 3 * how + how)) ${MORE:-}" ;;
    esac
}
# A training, with as little of the GPU's memory as the refusals say that it needs.
train_far() { # command...
    mega=0 # a tenth of a MB
    for attempt in 1 2 3 4; do
        "$@" --verbose --gpu-memory $((mega * 100000 + 1)) 2>"$name.err" && return
        needed=$(sed -n 's/.*training needs \([0-9]*\)[.]\([0-9]\) MB .* in addition to the codes.*/\1\2/p' "$name.err" | sort -n | tail -n 1)
        [ -n "$needed" ] || return
        mega=$((needed + 1))
    done
    return 1
}
run_jobs() {
    j=0
    while [ "$j" -lt "$n_jobs" ]; do
        awk -v n="$n_jobs" -v j="$j" 'NR % n == j' jobs >"jobs.$j"
        while IFS='|' read -r name command; do
            how=--quiet
            case ${FAR:-}$name in 1*.one) ;; 1*) command="train_far $command" how= ;; esac
            $command $how --log "$name.log" -o "$name.model" >"$name.out" 2>"$name.err" </dev/null &&
                grep '"record":"metrics"' "$name.log" >"$name.metrics"
        done <"jobs.$j" &
        j=$((j + 1))
    done
    wait
}
one_of() { # the configuration's of several, in turn
    [ -n "${EACH:-}" ] || {
        echo "$*"
        return
    }
    shift $((n % $#))
    echo "$1"
}
each() { # what to do with each configuration: $config, $n, $data, $valid, $rest, $hows
    n=0
    while IFS='|' read -r config data valid rest; do
        config=$(echo $config) n=$((n + 1)) hows=$(one_of $ranks)
        [ -z "$mpi_ranks" ] || for many in $(one_of $mpi_ranks); do
            hows="$hows mpi$many"
        done
        "$@"
    done <configurations
}
ask() {
    job "$config.one" 1 "$data" "$valid" $rest
    for how in $hows; do
        job "$config.$how" "$how" "$data" "$valid" $rest
    done
}
see() {
    [ -s "$config.one.metrics" ] || no "$config: $(head -n 3 "$config.one.err")"
    [ "$(wc -c <"$config.one.model")" -gt 1000 ] || no "$config: a model of $(wc -c <"$config.one.model") bytes"
    for how in $hows; do
        if [ ! -s "$config.$how.metrics" ]; then
            no "$config: $how: $(head -n 3 "$config.$how.err")"
        elif cmp "$config.one.model" "$config.$how.model" && cmp "$config.one.metrics" "$config.$how.metrics"; then
            passed=$((passed + 1))
            ! grep -q 'host memory: .* GB read' "$config.$how.err" || far=$((far + 1))
        else
            no "$config: $how: not as one rank"
        fi
    done
}
if [ -n "${FAR:-}" ]; then # a refit grows no tree, and takes no --gpu-memory
    grep -v -e '--refit' configurations >grown && mv grown configurations
fi
each ask >jobs
run_jobs
each see
[ "$n" -ge 24 ] || [ -n "${NAMES:-}" ] || no "only $n configurations"
echo "same_bytes_workers: $n configurations on $device, threads: $ranks; mpirun -n: ${mpi_ranks:--}: $passed comparisons, $failed failed${FAR:+; $far with codes in host memory}"
[ -z "${FAR:-}" ] || [ "$far" -ge $((passed * 3 / 4)) ] || no "too few with codes in host memory: a larger SCALE"
[ "$failed" = 0 ]
