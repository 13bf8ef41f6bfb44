#!/bin/sh
# Compares a search for parameters on the CPU with one on the GPU, where trials and brackets run at the same time:
#
#   sh tests/tune_cuda.sh PROGRAM
set -eu
program=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
"$program" synth --shape letor --queries 30 --seed 6 -o train.rwb
"$program" synth --shape letor --queries 25 --seed 7 -o valid.rwb
printf '%s\n' 'leaves 3 6 log' 'rate 0.1 0.3 log' 'min-docs 3 40 log' >space
search() { # DEVICE THREADS
    "$program" tune train.rwb --valid valid.rwb --trials 20 --space space --rounds 4 --early-stop 2 --seed 3 --quiet \
        --json --device "$1" --threads "$2" -o "$1.$2.model" >"$1.$2.json"
}
search cpu 1
for threads in 1 4; do
    search cuda $threads
    cmp cpu.1.json cuda.$threads.json
    cmp cpu.1.model cuda.$threads.model
done
echo "20 trials: one result on cpu, and on cuda with 1 and with 4 trials at the same time"
