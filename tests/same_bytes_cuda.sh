#!/bin/sh
# Tests that all devices give identical models: trains each configuration below on two devices and compares the model
# files and the log's metrics records, by cmp. Parts:
#
#   configurations   the second device twice, and hosts with 1 and 2 threads
#   methods          a GPU again with each histogram method forced
#   batches          again with 1, 4 and 64 nodes expanded together: all three on a GPU, one on a host
#   memory           a GPU again with so little of its memory that codes stay in the host's: the least
#                    that will do, and a little more
#   rows             a GPU again with the constants, multiprocessors and shared memory of each row of
#                    src/gpu/device/device_tuning.c forced; only if it is named in PARTS
#
#   sh tests/same_bytes_cuda.sh PROGRAM [DEVICE DEVICE]      default cpu cuda
#
# Exit 77 if a device is missing. PARTS names the parts wanted (all but rows), NAMES, an extended regular expression,
# the configurations; SCALE (1) multiplies the queries of the made data; JOBS is how many trainings run at once (the
# processors, at most 8). UNDER is a command that the trainings on the second device run under, with the method 'lanes'
# forced on a GPU (a tool that slows kernels down would decide the choice by timing); its failure is the training's:
#
#   UNDER="compute-sanitizer --tool initcheck --error-exitcode 9" PARTS=configurations \
#       sh tests/same_bytes_cuda.sh PROGRAM cpu cuda
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
one=${2:-cpu} two=${3:-cuda} scale=${SCALE:-1} parts=${PARTS:-configurations methods batches memory}
n_jobs=${JOBS:-$(nproc 2>/dev/null || echo 2)}
[ "$n_jobs" -le 8 ] || [ -n "${JOBS:-}" ] || n_jobs=8
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
export LC_ALL=C
failed=0 passed=0

no() {
    echo "not ok same_bytes_cuda: $*"
    failed=$((failed + 1))
}
for part in $parts; do
    case $part in
    configurations | batches) ;;
    methods | memory | rows) case $two in cuda*) ;; *) [ -z "${PARTS:-}" ] || {
        echo "skip same_bytes_cuda: $part: only a GPU has it"
        exit 77
    } ;; esac ;;
    *)
        echo "not ok same_bytes_cuda: no part '$part': configurations, methods, batches, memory or rows"
        exit 2
        ;;
    esac
done

printf '1 qid:1 1:1\n0 qid:1 1:2\n' >tiny.txt
for device in "$one" "$two"; do
    "$program" train tiny.txt --rounds 1 --min-docs 1 --quiet --device "$device" -o tiny.model 2>tiny.err || {
        echo "skip same_bytes_cuda: $device: $(head -n 1 tiny.err)"
        exit 77
    }
done

. "$root/tests/configurations.sh"

# --- jobs: a line a training, NAME|DEVICE|DATA|VALID|OPTIONS, which leaves NAME.model and NAME.metrics
train() { # name device data valid options...
    out=$1 on=$2 data=$3 valid=$4
    shift 4
    under= row=${RANKWOOD_TUNING:-}
    case $out in *.row-*) row=${out##*.row-} ;; esac
    if [ "$on" = "$two" ] && [ -n "${UNDER:-}" ]; then
        under=$UNDER
        [ "$gpu" = 0 ] || set -- "$@" --hist lanes
    fi
    RANKWOOD_TUNING=$row $under "$program" train "$data" --valid "$valid" "$@" --quiet --device "$on" --log "$out.log" \
        -o "$out.model" >"$out.out" 2>"$out.err" || {
        cat "$out.out" >>"$out.err" # such tools report there
        rm -f "$out.metrics"
        return 1
    }
    grep '"record":"metrics"' "$out.log" >"$out.metrics"
}
run_jobs() {
    j=0
    while [ "$j" -lt "$n_jobs" ]; do
        awk -v n="$n_jobs" -v j="$j" 'NR % n == j' jobs >"jobs.$j"
        while IFS='|' read -r name device data valid rest; do
            train "$name" "$device" "$data" "$valid" $rest
        done <"jobs.$j" &
        j=$((j + 1))
    done
    wait
    : >jobs
}
same() { # name, description: compared with the configuration's first training
    if [ ! -s "$1.metrics" ]; then
        no "$2: $(head -n 3 "$1.err")"
    elif cmp "$config.model" "$1.model" && cmp "$config.metrics" "$1.metrics"; then
        passed=$((passed + 1))
        rm -f "$1.model" "$1.log"
    else
        no "$2: not as on $one"
    fi
}
each() { # what to do with each configuration: $config, $n, $data, $valid, $rest
    n=0
    while IFS='|' read -r config data valid rest; do
        config=$(echo $config) n=$((n + 1))
        "$@"
    done <configurations
}
each_grown() { # without those whose trees are there already, and not grown by any method
    grep -v -e '--refit' configurations >grown
    all=$n
    mv configurations configurations.all && mv grown configurations
    each "$@"
    mv configurations.all configurations
    n=$all
}
timed() { # part
    echo "$1: $(($(date +%s) - started)) s"
    started=$(date +%s)
}
started=$(date +%s) gpu=0
case $two in cuda*) gpu=1 ;; esac

# --- configurations; the first device's models serve all parts
ask_first() {
    echo "$config|$one|$data|$valid|$rest --threads 1"
}
ask_second() {
    echo "$config.1|$two|$data|$valid|$rest --threads 2"
    [ "$gpu" = 0 ] || echo "$config.2|$two|$data|$valid|$rest --threads 1"
}
see_first() {
    [ -s "$config.metrics" ] || no "$config: $one: $(head -n 3 "$config.err")"
    [ "$(wc -c <"$config.model")" -gt 1000 ] || no "$config: a model of $(wc -c <"$config.model") bytes"
}
see_second() {
    same "$config.1" "$config: $two"
    [ "$gpu" = 0 ] || same "$config.2" "$config: $two, again"
}
each ask_first >jobs
case $parts in *configurations*) each ask_second >>jobs ;; esac
run_jobs
each see_first
case $parts in *configurations*) each see_second ;; esac
[ "$n" -ge 24 ] || [ -n "${NAMES:-}" ] || no "only $n configurations"
timed configurations

# --- methods: all that there are
ask_methods() {
    for method in $methods; do
        echo "$config.$method|$two|$data|$valid|$rest --hist $method"
    done
}
see_methods() {
    for method in $methods; do
        same "$config.$method" "$config: $two --hist $method"
    done
}
case $gpu$parts in 1*methods*)
    methods=$(sed -n 's/^RW_HIST_METHOD(\([a-z_]*\)).*/\1/p' "$root/src/gpu/hist/methods.def" | tr _ -)
    [ "$(echo $methods | wc -w)" -ge 4 ] || no "methods are not found in src/gpu/hist/methods.def: $methods"
    each_grown ask_methods >jobs
    run_jobs
    each_grown see_methods
    timed methods
    ;;
esac

# --- batches: on hosts one of the three each, in turn, and another one with 2 threads
ask_batches() {
    for batch in 1 4 64; do
        [ "$gpu" = 1 ] || [ "$batch" = "$(echo 1 4 64 | cut -d" " -f $((n % 3 + 1)))" ] || continue
        echo "$config.b$batch|$two|$data|$valid|$rest --batch $batch --threads 1"
    done
    echo "$config.b|$one|$data|$valid|$rest --batch $(echo 4 64 1 | cut -d' ' -f $((n % 3 + 1))) --threads 2"
}
see_batches() {
    for batch in 1 4 64; do
        [ ! -e "$config.b$batch.err" ] || same "$config.b$batch" "$config: $two --batch $batch"
    done
    same "$config.b" "$config: $one --threads 2 and --batch"
}
case $parts in *batches*)
    each_grown ask_batches >jobs
    run_jobs
    each_grown see_batches
    timed batches
    ;;
esac

# --- memory
plan() { # options: prints the plan's lines about the second device
    "$program" train "$data" --valid "$valid" $rest --quiet --device "$two" --plan "$@" 2>plan.err
}
# The minimum memory of a plan with host-resident codes, derived from the needs of a plan without them.
least_memory() {
    needed=$(plan --gpu-memory 1 | sed -n 's/^at most *\([0-9]*\).*/\1/p')
    for more in 1000 4000 16000 64000 256000; do
        plan --gpu-memory $((${needed:-0} + more)) | grep -q "^codes in host memory" || continue
        echo $((needed + more))
        return
    done
}
ask_memory() {
    size=$(least_memory)
    if [ -z "$size" ]; then
        echo "$config" >>memory.none
        return
    fi
    echo "$config.m1|$two|$data|$valid|$rest --gpu-memory $size"
    echo "$config.m2|$two|$data|$valid|$rest --gpu-memory $((size + 60000))"
}
see_memory() {
    [ -e "$config.m1.err" ] || return # so few codes that they fit with whatever a training needs
    same "$config.m1" "$config: $two --gpu-memory, the least"
    same "$config.m2" "$config: $two --gpu-memory, a little more"
}
case $gpu$parts in 1*memory*)
    : >memory.none
    each_grown ask_memory >jobs
    run_jobs
    each_grown see_memory
    echo "memory: too few codes to stay in the host's: $(echo $(cat memory.none))"
    [ "$(wc -l <memory.none)" -le 5 ] || no "--gpu-memory tried with few configurations"
    timed memory
    ;;
esac

# --- rows
ask_rows() {
    for row in $rows; do
        echo "$config.row-$row|$two|$data|$valid|$rest"
    done
}
see_rows() {
    for row in $rows; do
        same "$config.row-$row" "$config: $two RANKWOOD_TUNING=$row"
    done
}
case $gpu$parts in 1*rows*)
    rows=$(sed -n 's/^ *{"\([a-z0-9.]*\)", [0-9]*, [A-Z]*, .*/\1/p' "$root/src/gpu/device/device_tuning.c")
    [ "$(echo $rows | wc -w)" -ge 7 ] || no "rows are not found in src/gpu/device/device_tuning.c: $rows"
    RANKWOOD_TUNING=none "$program" train tiny.txt --rounds 1 --min-docs 1 --quiet --device "$two" -o tiny.model 2>tiny.err &&
        no "RANKWOOD_TUNING=none is a row"
    [ "$(tr -d , <tiny.err | grep -c "RANKWOOD_TUNING is 'none'; expected $(echo $rows | sed 's/ newer/ or&/')")" = 1 ] ||
        no "other rows than these: $rows: $(cat tiny.err)"
    each ask_rows >jobs
    run_jobs
    each see_rows
    timed rows
    ;;
esac

[ "$failed" = 0 ] &&
    echo "ok same_bytes_cuda: $n configurations on $one and $two ($parts), $passed comparisons" ||
    no "$n configurations on $one and $two: $passed comparisons equal, $failed not"
[ "$failed" = 0 ]
