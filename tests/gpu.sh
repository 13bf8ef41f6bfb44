#!/bin/sh
# All that only a machine with a GPU can check, in one go: the checks of kernels, CPU and GPU models by cmp, and
# with two GPUs or more the ranks. They run beside one another, so times say nothing.
#
#   sh tests/gpu.sh BUILD [OUT]      BUILD: a release build; OUT: a folder for the logs (gpu-logs)
#
# Prints a line a check: ok, not ok or skip, and the last line of what it said.
set -u
tests=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
mkdir -p "${2:-gpu-logs}" && out=$(cd "${2:-gpu-logs}" && pwd) || exit 2
program=$build/src/cli/rankwood
nvidia-smi -L >"$out/gpus" 2>&1 || {
    echo "skip gpu: no GPU here"
    exit 77
}
n_gpus=$(grep -c '^GPU' "$out/gpus")

begin() { # name command...
    name=$1
    shift
    (
        "$@" >"$out/$name.log" 2>&1
        code=$?
        case $code in
        0) how=ok ;;
        77) how=skip ;;
        *) how="not ok" ;;
        esac
        echo "$how $name: $(tail -n 1 "$out/$name.log")" >"$out/$name.result"
    ) &
}
rm -f "$out"/*.result
check=$build/tests/check
begin check "$check/check" --device cuda
begin far "$check/check" --device cuda --far
begin hist "$check/check_hist"
begin lambda "$check/check_lambda"
begin predict "$check/check_predict" --device cuda
begin memory "$check/check_memory"
begin keep "$check/check_keep"
begin wires "$check/check_wires"
begin nccl "$check/check_nccl"
begin lab "$build/lab/tests/check_lab"
begin same_bytes sh "$tests/same_bytes_cuda.sh" "$program" cpu cuda
wait
if [ "$n_gpus" -ge 2 ]; then
    begin ranks sh "$tests/same_bytes_ranks.sh" "$program" cuda
    begin ranks_far env FAR=1 SCALE=8 RANKS=2 MPI_RANKS= sh "$tests/same_bytes_ranks.sh" "$program" cuda
    wait
else
    echo "skip ranks: one GPU here" >"$out/ranks.result"
fi
cat "$out"/*.result
! grep -q '^not ok' "$out"/*.result
