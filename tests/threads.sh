#!/bin/sh
# Detects data races: runs parallel loops, each engine and the commands under ThreadSanitizer. Trainings use two
# threads, which then seldom sleep; everything else uses four. Unit tests are excluded, because Criterion does not start
# under ThreadSanitizer.
#
#   [ALL=1] sh tests/threads.sh BUILDS      builds its programs in BUILDS/threads, for the instruction set of this
#                                         processor; same_bytes.sh also trains with them
#
# ALL=1: also the checks and commands whose parallel loops other cases already cover.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$1" && build=$(cd "$1" && pwd)/threads || exit 2
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
failed=0
again=
[ -f "$build/build.ninja" ] && again=--reconfigure
CC=gcc meson setup $again "$build" "$root" --buildtype=debugoptimized -Doptimization=1 -Dcuda=disabled \
    -Db_sanitize=thread -Dc_args=-march=native >"$build.log" 2>&1 &&
    ninja -C "$build" src/cli/rankwood src/librankwood-score.a tests/check/check tests/check/thread_check tests/check/check_comm >>"$build.log" 2>&1 || {
    tail -n 30 "$build.log"
    echo "not ok threads: does not build"
    exit 1
}
export TSAN_OPTIONS="exitcode=66:log_path=$dir/race" LC_ALL=C
"$build/tests/check/thread_check" >"$dir/log" 2>&1
if grep -q 'unexpected memory mapping\|FATAL: ThreadSanitizer' "$dir/log" "$dir"/race* 2>/dev/null; then
    echo "skip threads: ThreadSanitizer does not start here: $(grep -h FATAL "$dir/log" "$dir"/race* | head -n 1)"
    exit 0
fi
cd "$dir" || exit 2

# name command...: a race is exit status 66 and a report
clean() {
    name=$1
    shift
    rm -f "$dir"/race*
    if "$@" >"$dir/log" 2>&1 && ! ls "$dir"/race* >/dev/null 2>&1; then
        echo "ok threads: $name"
    else
        echo "not ok threads: $name: $(head -n 1 "$dir/log")"
        cat "$dir"/race* 2>/dev/null | head -n 40
        failed=1
    fi
}
rankwood=$build/src/cli/rankwood
clean "shared loops" "$build/tests/check/thread_check"
clean ranks "$build/tests/check/check_comm"
for cases in ${ALL:+large lanes sample} plain weights/large lanes/hot/newton lanes/divided sample/docs/newton sample/both; do
    clean "engine cpu, $cases" "$build/tests/check/check" --engine cpu --filter $cases
done
clean "engine sim" "$build/tests/check/check" --engine sim --filter plain
clean synth "$rankwood" synth --shape mslr30k --queries 160 --seed 3 -o m.txt
clean "synth, gzip" "$rankwood" synth --shape letor --queries 300 --seed 4 -o l.txt.gz
clean "synth, sparse" "$rankwood" synth --shape yahoo --queries 200 --seed 5 -o y.txt
clean bin "$rankwood" bin y.txt --threads 4 -o y.rwb
train() {
    name=$1
    shift
    clean "train, $name" "$rankwood" train "$@" --threads 2 --quiet
}
seq 1 136 | sed 's/.*/& f&/' >names.txt
train newton m.txt --names names.txt --valid l.txt.gz --rounds 4 --leaves 63 --split newton -o newton
train mart m.txt --names names.txt --rounds 4 --leaves 63 --split mart --sample-queries 0.5 -o mart
if command -v g++ >/dev/null 2>&1; then
    awk 'BEGIN {
        for (f = 1; f <= 136; f++) printf "f%d ", f
        for (d = 0; d < 300; d++) { print ""; for (f = 1; f <= 136; f++) printf "%d ", d * (f + 3) % 101 }
        print ""
    }' >rows.txt
    g++ -std=c++17 -O1 -fsanitize=thread -I "$root/src" "$root/tests/install/swaps.cpp" \
        "$build/src/librankwood-score.a" -lm -o swaps || failed=1
    clean "scorers shared and swapped" ./swaps rows.txt newton mart
fi
train "a cache, missing values" y.rwb --rounds 3 --leaves 31 --absent missing -o missing
train yetirank y.txt --rounds 3 --objective yetirank -o yetirank
[ -z "${ALL:-}" ] || train regression m.txt --rounds 3 --objective regression --metric rmse --train-metric on -o regression
[ -z "${ALL:-}" ] || train xendcg m.txt --rounds 3 --objective xendcg -o xendcg
train checkpoints m.txt --rounds 6 --leaves 31 --checkpoint ck --checkpoint-every 1 -o checkpoints
train resumed m.txt --rounds 9 --leaves 31 --checkpoint ck --checkpoint-every 1 --resume ck -o resumed
train init l.txt.gz --init newton --rounds 2 -o init
clean predict "$rankwood" predict newton m.txt --threads 4 -o scores
[ -z "${ALL:-}" ] || clean "leaf ids" "$rankwood" predict newton m.txt --threads 4 --leaf-ids -o leaves
clean eval "$rankwood" eval m.txt --model newton --threads 4
clean compare "$rankwood" compare m.txt --a newton --b mart --threads 4
clean cv "$rankwood" cv l.txt.gz --folds 3 --rounds 3 --threads 4 --quiet -o cv
[ -z "${ALL:-}" ] || clean check "$rankwood" check y.txt --threads 4
clean explain "$rankwood" explain newton l.txt.gz --threads 4
clean verify "$rankwood" export newton --to xgboost --verify m.txt -o x.json
clean report "$rankwood" report newton --valid l.txt.gz -o report.html
exit "$failed"
