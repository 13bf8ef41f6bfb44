#!/bin/sh
# Tests the GPU engine on a machine without a GPU. Kernels are compiled for the CPU (emulator/README.md), and their
# models must be identical to the CPU engine's. Prints a line per test: ok, not ok or skip.
#
#   sh tests/emulated.sh BUILDS [all | faults]    BUILDS: a folder for the build; all: every configuration, method and
#                                                 check, which takes an hour; faults: calls of CUDA that fail
#                                                 (faults/faults.py); few of them fail otherwise
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
mkdir -p "$1" && builds=$(cd "$1" && pwd) || exit 2
all= only=
case ${2:-} in
all) all=1 ;;
faults) only=faults ;;
esac
failed=0
if ! command -v g++ >/dev/null || ! command -v python3 >/dev/null; then
    echo "skip emulated: needs g++ and Python"
    exit 0
fi
build=$builds/emulated log=$builds/emulated.build.log
program=$build/src/cli/rankwood
checks="check_predict ${all:+check check_lambda check_code_cache}"
emulator=$(mktemp -d) && trap 'rm -rf "$emulator"' EXIT # Meson wants no dependency from within the tree
begin() {
    sh "$root/tests/emulator/make.sh" "$emulator" || return 1
    . "$emulator/env"
    again=
    [ -f "$build/build.ninja" ] && again=--reconfigure
    meson setup $again "$build" "$root" --buildtype=debugoptimized -Doptimization=1 -Dcuda=enabled -Dgpu_arch=sm_90 &&
        ninja -C "$build" src/cli/rankwood tests/faults/library_faults tests/faults/librankwood-faults.so tests/faults/nccl-stub.so \
            $(printf 'tests/check/%s ' $checks)
}
if ! (begin) >"$log" 2>&1; then
    tail -n 30 "$log"
    echo "not ok emulated: does not build"
    exit 1
fi
echo "ok emulated: kernels build for the processor"

# Calls of CUDA that fail, in commands and in one process.
fails() { # what, command...
    what=$1
    shift
    if "$@" >"$builds/emulated.$what.log" 2>&1; then
        echo "ok emulated: $what: $(tail -n 1 "$builds/emulated.$what.log")"
    else
        grep -A 5 '^not ok' "$builds/emulated.$what.log" | head -n 60
        echo "not ok emulated: $what"
        failed=1
    fi
}
# An NCCL that does not begin ends both ranks, each with its line.
nccl_fails() {
    cd "$emulator" || return 1
    "$program" synth --shape letor --queries 20 --seed 1 -o train.txt &&
        EMULATED_GPUS=2 RANKWOOD_NCCL=$build/tests/faults/nccl-stub.so \
            "$program" train train.txt --rounds 1 --ranks 2 --device cuda --quiet -o model.txt 2>nccl.err
    [ $? = 3 ] && grep 'NCCL does not begin: the stub adds nothing' nccl.err
}
fails nccl nccl_fails
# Workers by the emulated NCCL and, without its file, by reading each other's memory: the models of 2 and 3 are identical
# to one worker's, and no data passes through the hosts. If one worker loses its GPU while others wait for it, all end.
workers() { # the file of NCCL
    cd "$emulator" || return 1
    each=1 nccl=${1:-}
    [ -z "$all" ] || each=
    EMULATED_GPUS=3 RANKWOOD_NCCL=$nccl "$program" train train.txt --rounds 2 --leaves 8 --workers 3 --device cuda -o model.txt \
        2>workers.err || return 1
    cat workers.err
    ! grep -q 'through the hosts' workers.err || return 1
    head -c 40 /dev/zero >report # a struct faults_report
    EMULATED_GPUS=3 RANKWOOD_NCCL=$nccl LD_PRELOAD=$build/tests/faults/librankwood-faults.so RANKWOOD_FAULT_REPORT=report \
        RANKWOOD_FAULT='cuda-launch 500 IllegalAddress' \
        timeout 15 "$program" train train.txt --rounds 2 --leaves 8 --workers 3 --device cuda --quiet -o lost.txt 2>workers.err
    [ $? = 3 ] && grep 'illegal memory access' workers.err || return 1
    # by 3 workers, and by 2; with all, each by both
    EMULATED_GPUS=3 RANKWOOD_NCCL=$nccl RANKS="2 3" MPI_RANKS= EACH=$each NAMES="^(mslr-newton|categories-few${all:+|letor-weights-n}) *\\|" \
        sh "$root/tests/same_bytes_workers.sh" "$program" cuda
}
[ -n "$only" ] || fails workers_nccl workers "$emulator/lib64/libnccl.so.2"
[ -n "$only" ] || fails workers workers
[ -n "$only" ] || fails tune sh "$root/tests/tune_cuda.sh" "$program"
faults="python3 $root/tests/faults/faults.py --cuda --program $program --library $build/tests/faults/librankwood-faults.so"
if [ -n "$only" ]; then
    fails faults $faults --most 120
    fails library_faults "$build/tests/faults/library_faults" --step 31 --device cuda
    exit $failed
fi
fails faults $faults --most 1 --every 5
fails library_faults "$build/tests/faults/library_faults" --step 1000 --device cuda "side data"

# Of each kind of work one: objectives, growth, samples, constraints, codes of 8 and 16 bits.
[ -n "$all" ] || {
    NAMES='^(mslr-7|mslr-1023|letor-weights-n|letor-yeti-lab|categories-few|categories-255) *\|'
    PARTS=configurations
    export NAMES PARTS
}
same() { # what, environment...
    what=$1
    shift
    if env "$@" sh "$root/tests/same_bytes_cuda.sh" "$program" cpu cuda >"$builds/emulated.$what.log" 2>&1; then
        echo "ok emulated: $what: $(tail -n 1 "$builds/emulated.$what.log")"
    else
        tail -n 30 "$builds/emulated.$what.log"
        echo "not ok emulated: $what"
        failed=1
    fi
}
same models EMULATED_GPUS=1
# As on compute capability 7.5, where newton's histograms need two launches and auto chooses methods that differ from
# `lanes`.
same shared EMULATED_GPU_SHARED_KIB=64 EMULATED_GPU_CAPABILITY=75 EMULATED_GPU_KHZ=1 \
    NAMES='^letor-weights-n *\|' PARTS=configurations
# With the constants of each row of src/gpu/device/device_tuning.c: one tree with count leaves and one with newton.
same rows NAMES="^(letor-linear|categories-all${all:+|mslr-1023|letor-weights-n}) *\\|" PARTS=rows
for check in $checks; do
    case $check in
    check | check_predict) options="--device cuda" ;;
    *) options= ;;
    esac
    [ -n "$all" ] || options="$options --most-docs 400"
    if "$build/tests/check/$check" $options >"$builds/emulated.$check.log" 2>&1; then
        echo "ok emulated: $check: $(tail -n 1 "$builds/emulated.$check.log")"
    else
        tail -n 30 "$builds/emulated.$check.log"
        echo "not ok emulated: $check"
        failed=1
    fi
done
exit $failed
