#!/bin/sh
# Tests the parts that a change affects, in about a minute. A room is a folder of src. The rooms of the changed files
# run their unit tests, checks, commands and Python tests. Rooms that include a changed header run their unit tests. One
# training runs on two engines. Changes in src/gpu compile its kernels for the CPU (emulator/README.md) and run one
# check and one training.
#
#   sh tests/quick.sh [FILE...]     without a FILE: files that differ from the last commit, and new files
#
# RANKWOOD_BUILD is the build (build-dev), RANKWOOD_EMULATED that for src/gpu (build-emulated). Missing ones are set up
# and built, which takes minutes, once. Prints a line per test; the last is 'N passed, M failed, K skipped in S s'. Exit
# 1 if M is not 0.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
cd "$root" || exit 2
build=${RANKWOOD_BUILD:-build-dev} emulated=${RANKWOOD_EMULATED:-build-emulated}
started=$(date +%s)
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
: >"$work/results"
export LC_ALL=C

# The Meson that set a build up: another one may not read it.
meson_of() {
    found=$(sed -n 's,^ command = \(/[^ ]*/meson\) --internal regenerate .*,\1,p' "$1/build.ninja")
    echo "${found:-meson}"
}
# Runs `meson test` with these arguments and prints the results, except passes.
tested() { # build, what to test...
    folder=$1
    shift
    rm -f "$folder/meson-logs/testlog.json"
    "$(meson_of "$folder")" test -C "$folder" --print-errorlogs "$@" >"$work/log" 2>&1
    status=$?
    if [ -f "$folder/meson-logs/testlog.json" ]; then
        python3 tests/count.py "$folder" quick >"$work/count"
    else
        echo "not ok quick: meson test exits with $status" >"$work/count"
    fi
    grep -q '^not ok' "$work/count" && tail -n 60 "$work/log"
    grep -v '^ok' "$work/count"
    cat "$work/count" >>"$work/results"
}
does() { # what command...
    what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        echo "ok quick $what" >>"$work/results"
    else
        tail -n 30 "$work/log"
        echo "not ok quick $what" | tee -a "$work/results"
    fi
}
same_bytes() { # program, queries, two devices: one training by each, whose model has the metrics, too
    "$1" synth --shape letor --queries "$2" --seed 1 -o "$work/train.txt" || return 1
    for device in "$3" "$4"; do
        "$1" train "$work/train.txt" --valid "$work/train.txt" --metric ndcg@5,map,err --rounds 3 --leaves 15 --split newton \
            --sample-docs 0.7 --device "$device" --quiet -o "$work/$device.model" || return 1
    done
    cmp "$work/$3.model" "$work/$4.model"
}
room_of_unit() { # file of tests/unit: the room that meson.build lists it under
    awk -v name="'${1#test_}'" -F "'" '/^  .[a-z]+.: \[/ { room = $2 } index($0, name "]") + index($0, name ",") { print room }' \
        tests/unit/meson.build
}

# Rooms all of whose tests run, rooms whose unit tests run, other tests, and parts of the GPU engine.
[ $# -gt 0 ] || set -- $(git diff --name-only HEAD && git ls-files --others --exclude-standard)
rooms= units= names= parts= cases=
for file; do
    file=${file#"$root"/}
    stem=${file##*/} && stem=${stem%.*}
    case $file in
    src/*.h) # its users'
        units="$units $(grep -rlF "#include \"${file#src/}\"" src | sed -n 's,^src/\([a-z]*\)/.*,\1,p' | sort -u | grep -vx cli)"
        ;;
    esac
    case $file in
    src/gpu/*)
        parts="$parts $(echo "$file" | cut -d / -f 3):$stem"
        rooms="$rooms gpu"
        ;;
    src/cli/*)
        rooms="$rooms cli"
        cases="$cases $(cd tests/cli/cases && ls "${stem#cmd_}"*.sh 2>/dev/null | sed 's/\.sh$//')"
        ;;
    src/*/*) rooms="$rooms $(echo "$file" | cut -d / -f 2)" ;;
    src/* | meson.build) names="$names install headers" ;;
    tests/unit/test_*.c) units="$units $(room_of_unit "$stem")" ;;
    tests/cli/cases/*) cases="$cases ${stem%%.*}" ;;
    tests/python/test_*.py) names="$names python_$(sed -n 's/^# room: //p' "$file" | grep . || echo python)" ;;
    python/rankwood/*) names="$names python_python python_train python_model" ;;
    docs/* | *.md) names="$names docs" ;;
    esac
done
names="$names layering"
suites=
for room in $(printf '%s\n' $rooms | sort -u); do
    case $room in
    check | cli) names="$names test_$room cli_$room" ;; # suites of these names hold more
    *) suites="$suites --suite $room" ;;
    esac
done
for room in $(printf '%s\n' $units | sort -u); do
    case " $(echo $rooms) " in
    *" $room "*) ;;
    *) names="$names test_$room" ;;
    esac
done

if [ ! -f "$build/build.ninja" ]; then
    echo "note: setting up $build, once"
    meson setup "$build" . -Doptimization=1 -Db_ndebug=false -Dcuda=disabled -Dpython=auto >"$work/log" 2>&1 || {
        tail -n 20 "$work/log"
        exit 2
    }
fi
ninja -C "$build" src/cli/rankwood >"$work/log" 2>&1 || {
    grep -A 5 'error\|FAILED' "$work/log" | head -n 60
    echo "0 passed, 1 failed, 0 skipped in $(($(date +%s) - started)) s"
    exit 1
}
does 'same bytes: cpu and sim' same_bytes "$build/src/cli/rankwood" 200 cpu sim
known=$("$(meson_of "$build")" test -C "$build" --list 2>/dev/null | sed 's/.*[:/] *//')
tests=
for name in $(printf '%s\n' $names | sort -u); do # rooms that this build lacks are skipped
    if printf '%s\n' "$known" | grep -qx "$name"; then
        tests="$tests $name"
    else
        echo "skip quick $name: $build does not have it" | tee -a "$work/results"
    fi
done
[ -z "$tests" ] || tested "$build" $tests
[ -z "$suites" ] || tested "$build" $suites
cases=$(printf '%s\n' $cases | sort -u)
[ -z "$cases" ] || does "commands: $(echo $cases)" sh tests/cli/run_cli.sh "$build/src/cli/rankwood" $cases

# The GPU engine on the processor: the smallest check of each changed part.
emulated_checks() { # PART:FILE...: a command in tests/check per line
    for one; do
        case $one in
        predict:*) echo 'check_predict --device cuda --most-docs 400' ;;
        objective:* | metric:*) echo 'check --device cuda --filter lambda/' ;;
        split:*) echo 'check --device cuda --filter categories/3' ;;
        hist:*)
            method=${one#*:hist_}
            grep -qx "RW_HIST_METHOD($method)" src/gpu/hist/methods.def || method=lanes
            echo "check --device cuda --hist $(echo "$method" | tr _ -) --filter columns/h"
            ;;
        *) echo 'check --device cuda --filter columns/h' ;;
        esac
    done | sort -u
}
emulate() {
    emulator=${TMPDIR:-/tmp}/rankwood-emulator-$(id -u) # Meson wants no dependency from within the tree
    if [ ! -f "$emulator/env" ] || [ -n "$(find tests/emulator -newer "$emulator/env")" ]; then
        sh tests/emulator/make.sh "$emulator" || return 1
    fi
    . "$emulator/env"
    if [ ! -f "$emulated/build.ninja" ]; then
        meson setup "$emulated" . -Dlab=disabled -Doptimization=1 -Db_ndebug=false -Dcuda=enabled -Dgpu_arch=sm_90 || return 1
    fi
    ninja -C "$emulated" src/cli/rankwood tests/unit/test_gpu $(sed 's,^,tests/check/,; s, .*,,' "$work/checks" | sort -u)
}
if [ -n "$parts" ]; then
    emulated_checks $parts >"$work/checks"
    [ -f "$emulated/build.ninja" ] || echo "note: compiling every kernel for the processor, once"
    if ! command -v g++ >/dev/null; then
        echo "skip quick emulated: needs g++" | tee -a "$work/results"
    elif ! (emulate) >"$work/log" 2>&1; then
        grep -A 5 'error\|ERROR\|FAILED' "$work/log" | head -n 60
        echo "not ok quick emulated: does not build" | tee -a "$work/results"
    else
        does 'emulated: unit tests' "$emulated/tests/unit/test_gpu"
        does 'emulated: same bytes: cpu and cuda' same_bytes "$emulated/src/cli/rankwood" 8 cpu cuda
        while read -r check options; do
            does "emulated: $check $options" "$emulated/tests/check/$check" $options
        done <"$work/checks"
    fi
fi
number_of() {
    grep -c "^$1" "$work/results"
}
echo "$(number_of ok) passed, $(number_of 'not ok') failed, $(number_of skip) skipped in $(($(date +%s) - started)) s"
[ "$(number_of 'not ok')" = 0 ]
