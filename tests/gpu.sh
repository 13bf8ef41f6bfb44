#!/bin/sh
# Runs all tests that need a GPU: the checks of kernels, the comparison of CPU and GPU models by cmp, and, with two GPUs
# or more, the comparison of numbers of workers. Two GPUs share the checks, which run in parallel, so their times mean
# nothing.
#
#   sh tests/gpu.sh BUILD [OUT]      BUILD: a release build; OUT: a folder for the logs (gpu-logs)
#
# CHECKS selects checks ("memory code_cache check ..."). The default is all except sanitize, which takes long. Prints a line
# per check: ok, not ok or skip, its seconds and the last line of its output. Exit 77 without a GPU.
set -u
tests=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
mkdir -p "${2:-gpu-logs}" && out=$(cd "${2:-gpu-logs}" && pwd) || exit 2
program=$build/src/cli/rankwood check=$build/tests/check checks=${CHECKS:-}
nvidia-smi -L >"$out/gpus" 2>&1 || {
    echo "skip gpu: no GPU here"
    exit 77
}
n_gpus=$(grep -c '^GPU' "$out/gpus")
[ "$n_gpus" = 1 ] && second=0 || second=1

begin() { # GPUs name command...
    gpus=$1 name=$2
    shift 2
    case " ${checks:-$name} " in *" $name "*) ;; *) return ;; esac
    (
        started=$(date +%s)
        CUDA_VISIBLE_DEVICES=$gpus "$@" >"$out/$name.log" 2>&1
        code=$?
        case $code in
        0) how=ok ;;
        77) how=skip ;;
        *) how="not ok" ;;
        esac
        echo "$how $name, $(($(date +%s) - started)) s: $(tail -n 1 "$out/$name.log")" >"$out/$name.result"
    ) &
}
rm -f "$out"/*.result

# Small checks under NVIDIA's compute-sanitizer, its four tools in parallel. The histogram method is fixed, because the
# sanitizer distorts the times by which auto chooses. Racecheck takes 150 s for 70 comparisons of `check`, and more than
# 170 s for lambdas.
sanitize() {
    command -v compute-sanitizer >/dev/null || {
        echo "compute-sanitizer is not here"
        return 77
    }
    for tool in memcheck racecheck initcheck synccheck; do
        for what in "check --device cuda --hist lanes --filter lanes/ --random 0" \
            "check --device cuda --hist lanes --filter sample/ --random 0" \
            "check --device cuda --hist collision --filter plain --random 0" \
            "check_hist --every 800 --method lanes" "check_lambda --quick --stage lambdas" \
            "check_predict --device cuda --most-docs 400" check_wires; do
            compute-sanitizer --tool $tool --error-exitcode 9 "$check"/$what || echo "found by $tool: $what"
        done >"$out/sanitize.$tool.log" 2>&1 &
    done
    wait
    ! grep -h '^found by' "$out"/sanitize.*.log || return 1
    echo "memcheck, racecheck, initcheck and synccheck find nothing"
}
case " $checks " in
*" sanitize "*)
    begin 0 sanitize sanitize
    wait
    ;;
esac

# Checks that read the device's free memory run alone.
begin 0 memory "$check/check_memory"
[ "$second" = 1 ] || wait
begin $second code_cache "$check/check_code_cache"
wait

begin 0 same_bytes env PARTS="configurations batches" sh "$tests/same_bytes_cuda.sh" "$program" cpu cuda
begin $second same_bytes_more env PARTS="methods memory" sh "$tests/same_bytes_cuda.sh" "$program" cpu cuda
begin 0 rows env PARTS=rows \
    NAMES='^(mslr-255|mslr-1023|mslr-newton|mslr-yeti-n|mslr-docs|yahoo-255|letor-weights-n|big-yeti|categories-1024) *\|' \
    sh "$tests/same_bytes_cuda.sh" "$program" cpu cuda
begin 0 check "$check/check" --device cuda
begin 0 far "$check/check" --device cuda --far
begin $second hist "$check/check_hist"
begin 0 lambda "$check/check_lambda"
begin 0 predict "$check/check_predict" --device cuda
begin $second wires "$check/check_wires"
begin $second lab "$build/lab/tests/check_lab"
begin 0 tune sh "$tests/tune_cuda.sh" "$program"
wait

if [ "$second" = 1 ]; then
    begin 0,1 nccl "$check/check_nccl"
    begin 0,1 ranks env RANKWOOD_COMM_MPI="$build/src/rankwood_comm_mpi.so" sh "$tests/same_bytes_workers.sh" "$program" cuda
    begin 0,1 ranks_far env FAR=1 SCALE=8 RANKS=2 MPI_RANKS= sh "$tests/same_bytes_workers.sh" "$program" cuda
    wait
else
    for name in nccl ranks ranks_far; do
        echo "skip $name: one GPU here" >"$out/$name.result"
    done
fi
for name in $checks; do
    [ -e "$out/$name.result" ] || echo "not ok $name: there is no such check" >"$out/$name.result"
done
cat "$out"/*.result
! grep -q '^not ok' "$out"/*.result
