#!/bin/sh
# Builds Rankwood in all supported ways and runs all tests, from a clean clone, with nothing installed. Tests that
# cannot run on this machine are reported as skipped. The last line is 'N passed, M failed, K skipped'; exit 1 if M is
# not 0.
#
#   sh tests/run.sh [--kernels] [STAGE]...    stages: release kills faults quality recipes threads same_bytes
#                                           sanitizers fuzz cuda python, by default; emulated
#
# CUDA is compiled if the kernels or their headers have changed since tests/kernels.txt was written (kernels.py).
# --kernels always compiles it, and writes that file if the tests pass. Commit the file.
#
# Stages that use one process at a time (kills to same_bytes, cuda, and python's part "leaks") run in parallel with
# stages that use all processors. Their results are printed when they end. A table of seconds comes last.
#
# tests/long.sh has the longer tests.
#
# RANKWOOD_DATA   folder with real data sets; default ../shared/data, next to the tree
# RANKWOOD_BUILDS folder for the builds; default build-tests in the tree
# FUZZ_SECONDS    seconds of fuzzing new inputs, all targets together; default 30
# FUZZ_PLAIN      1: without sanitizers, which allows more inputs; both kinds share a corpus
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
cd "$root" || exit 2
builds=${RANKWOOD_BUILDS:-$root/build-tests}
export RANKWOOD_DATA="${RANKWOOD_DATA:-$root/../shared/data}"
kernels=
[ "${1:-}" != --kernels ] || { kernels=write && shift; }
stages=${*:-release kills faults quality recipes threads same_bytes sanitizers fuzz cuda python}
mkdir -p "$builds" || exit 2
results=$builds/results
: >"$results"
: >"$builds/times"
export LC_ALL=C
unset CFLAGS LDFLAGS CC MAKEFLAGS 2>/dev/null
# The release build and the Python package's compile the same files alike: where there is a ccache, once. Meson
# calls it by itself only where CC is not set.
export CCACHE_DIR="$builds/ccache" CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
# Without a GPU, kernels are compiled with little optimisation, in a quarter of the time.
command -v nvidia-smi >/dev/null 2>&1 || export NVCC_APPEND_FLAGS="-Xptxas=-O0 -Xcicc=-O1"

note() {
    printf '%s\n' "$*"
}
result() { # a line that begins with ok, not ok or skip
    printf '%s\n' "$1" >>"$results"
    case $1 in
    ok*) ;;
    *) note "  $1" ;;
    esac
}
number_of() { # ok | not ok | skip
    grep -c "^$1" "$results"
}
has() {
    command -v "$1" >/dev/null 2>&1
}

# Runs a command with its output in a log; shows the log's end if it fails.
quietly() { # log command...
    log=$1
    shift
    "$@" >"$log" 2>&1 && return 0
    note "  failed: $*"
    tail -n 60 "$log" | sed 's/^/    /'
    return 1
}

configure() { # folder, options...: sets up, or brings up to date
    folder=$1
    shift
    again=
    [ -f "$folder/build.ninja" ] && again=--reconfigure
    quietly "$folder.setup.log" meson setup $again "$folder" "$root" "$@"
}
build() { # folder targets...
    folder=$1
    shift
    quietly "$folder.build.log" ninja -C "$folder" "$@"
}

meson_tests() { # prefix folder, options of meson test...
    prefix=$1 folder=$2
    shift 2
    rm -f "$folder/meson-logs/testlog.json"
    meson test -C "$folder" --no-rebuild --print-errorlogs "$@" >"$folder.test.log" 2>&1
    status=$?
    before=$(number_of 'not ok')
    python3 tests/count.py "$folder" "$prefix" >"$folder.count" ||
        echo "not ok $prefix: no results" >>"$folder.count"
    while IFS= read -r line; do
        result "$line"
    done <"$folder.count"
    if [ "$status" != 0 ] && [ "$(number_of 'not ok')" = "$before" ]; then
        result "not ok $prefix: meson test exits with $status"
    fi
    [ "$(number_of 'not ok')" = "$before" ] || sed 's/^/    /' "$folder.test.log"
}

# A script that prints ok, not ok and skip lines.
script() { # name command...
    name=$1
    shift
    "$@" >"$builds/$name.log" 2>&1
    status=$?
    before=$(number_of 'not ok')
    grep '^\(ok\|not ok\|skip\) ' "$builds/$name.log" >"$builds/$name.count"
    while IFS= read -r line; do
        result "$line"
    done <"$builds/$name.count"
    if [ ! -s "$builds/$name.count" ] || { [ "$status" != 0 ] && [ "$(number_of 'not ok')" = "$before" ]; }; then
        result "not ok $name: exits with $status"
    fi
    [ "$(number_of 'not ok')" = "$before" ] || tail -n 60 "$builds/$name.log" | sed 's/^/    /'
}

stage_release() {
    cuda=-Dcuda=auto
    if [ -z "$kernels" ] && python3 tests/kernels.py >"$builds/kernels.log"; then
        cuda=-Dcuda=disabled
        result "skip release: kernels are not compiled: $(cat "$builds/kernels.log")"
    fi
    CC=$shared_gcc configure "$builds/release" --buildtype=release -Dgpu_arch=sm_90 -Dlab=disabled $cuda && build "$builds/release"
    status=$?
    : >"$builds/compiled" # pip may build: the ccache has the objects
    if [ "$status" = 0 ]; then
        result "ok release: builds"
        before_kernels=$(number_of 'not ok')
        # the short command-line tests run under sanitizers, where they find more
        case " $stages " in
        *" sanitizers "*) cases=long ;;
        *) cases= ;;
        esac
        RANKWOOD_CASES=$cases meson_tests release "$builds/release"
        if [ -z "$kernels" ]; then
            return
        elif [ "$before_kernels" = "$(number_of 'not ok')" ] && [ -e "$builds/release/src/gpu/hist_common.o" ]; then
            python3 tests/kernels.py --write
        else
            note "  tests/kernels.txt is as it was: kernels were not compiled, or a test failed"
        fi
    else
        result "not ok release: does not build"
    fi
}

# Trainings that are killed and resumed, by one process and by two.
stage_kills() {
    if [ ! -x "$builds/release/src/cli/rankwood" ]; then
        result "not ok kills: there is no release build"
    else
        script kills sh tests/kills.sh "$builds/release/src/cli/rankwood" 20
        script worker_kills env STAGES='log cuts.and.codes "round":6,' \
            sh tests/worker_kills.sh "$builds/release/src/cli/rankwood"
    fi
}

# Some of the faults of tests/long.sh: one of each kind in every fourth command. Those of calls of the library are
# library_faults, among meson's tests.
stage_faults() {
    if [ ! -x "$builds/release/src/cli/rankwood" ]; then
        result "not ok faults: there is no release build"
    else
        script faults python3 tests/faults/faults.py --program "$builds/release/src/cli/rankwood" \
            --library "$builds/release/tests/faults/librankwood-faults.so" --most 1 --every 4
        script disks python3 tests/faults/disks.py --program "$builds/release/src/cli/rankwood"
    fi
}

# One build serves the tests under sanitizers, the fuzzer, the package's leaks and same_bytes.sh, for which it is
# clang's code for this processor. Where clang has no fuzzer, gcc makes it, without one.
build_sanitizers() { # targets...
    rm -f "$builds/sanitizers/built"
    if has_fuzzer; then
        CC="$shared_clang" CC_LD=$quick_ld configure "$builds/sanitizers" --buildtype=debugoptimized -Doptimization=1 \
            -Dcuda=disabled -Dfuzz=true -Db_sanitize=address,undefined -Db_lundef=false "-Dc_args=$lean_args -march=native"
    else
        CC=gcc CC_LD=$quick_ld configure "$builds/sanitizers" --buildtype=debugoptimized -Doptimization=1 \
            -Dcuda=disabled -Db_sanitize=address,undefined "-Dc_args=$lean_args"
    fi && build "$builds/sanitizers" "$@"
}
has_fuzzer() {
    printf 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d + (n == 0) > 2; }\n' \
        >"$builds/fuzz_probe.c"
    has clang && clang -fsanitize=fuzzer,address "$builds/fuzz_probe.c" -o "$builds/fuzz_probe" 2>/dev/null
}
stage_sanitizers() {
    if ! build_sanitizers; then
        result "not ok sanitizers: does not build"
        return
    fi
    result "ok sanitizers: builds"
    : >"$builds/sanitizers/built" # same_bytes.sh may use the program, one process at a time, in parallel with the tests
    case " $stages " in
    *" fuzz "*) begin_beside fuzz ;;
    esac
    # not what runs no more of our code than the rest does
    meson_tests sanitizers "$builds/sanitizers" --no-suite static --no-suite mpi \
        --no-suite oracle --no-suite examples --no-suite isa
}

stage_threads() {
    script threads sh tests/threads.sh "$builds"
    # here is all of debugging's information; the objects are compiled already
    version=$(sed -n 's/^#define RW_VERSION "\(.*\)"$/\1/p' src/rankwood_score.h)
    if ! build "$builds/threads" src/librankwood.so.$version src/librankwood-score.so.$version; then
        result "not ok abi: the library does not link"
        return
    fi
    sh tests/abi.sh "$builds/threads" >"$builds/abi.log" 2>&1
    case $? in
    0) result "ok $(tail -n 1 "$builds/abi.log")" ;;
    77) result "skip $(tail -n 1 "$builds/abi.log")" ;;
    *) note "$(cat "$builds/abi.log")" && result "not ok $(tail -n 1 "$builds/abi.log")" ;;
    esac
}

stage_same_bytes() {
    script same_bytes sh tests/same_bytes.sh "$builds"
}

stage_fuzz() {
    fuzz_build=$builds/sanitizers
    if ! has_fuzzer; then
        result "skip fuzz: no clang with libFuzzer here"
        return
    elif [ "${FUZZ_PLAIN:-0}" != 0 ]; then
        fuzz_build=$builds/fuzz-plain
        CC=clang CC_LD=$quick_ld configure "$fuzz_build" --buildtype=debugoptimized -Dfuzz=true -Dtests=disabled \
            -Dcuda=disabled -Db_lundef=false "-Dc_args=$lean_args" && build "$fuzz_build" fuzz_targets src/cli/rankwood
    else
        [ -e "$builds/sanitizers/built" ] || build_sanitizers fuzz_targets src/cli/rankwood
    fi || {
        result "not ok fuzz: does not build"
        return
    }
    script fuzz python3 tests/fuzz/fuzz.py "$fuzz_build" --seconds "${FUZZ_SECONDS:-30}" --corpus "$builds/fuzz-corpus" \
        --found "$builds/fuzz-found"
}

# Ranking quality at the defaults, on real data: at least the bars that quality.py knows.
stage_quality() {
    if [ ! -d "$RANKWOOD_DATA/mq2008" ]; then
        result "skip quality: no real data here"
    elif [ ! -x "$builds/release/src/cli/rankwood" ]; then
        result "not ok quality: there is no release build"
    elif quietly "$builds/quality.log" python3 tests/peers/quality.py --seeds 1-3 --bars \
        --rankwood "$builds/release/src/cli/rankwood"; then
        sed 's/^/    /' "$builds/quality.log"
        result "ok quality: at the bars or above"
    else
        result "not ok quality: under the bars"
    fi
}

# Tests the package in a separate environment, built by pip from the tree, with tools from pip. This stage mostly uses
# one process or waits for the network, so it runs in parallel with the others.
begin_python() {
    CC=$shared_gcc AFTER=$builds/compiled sh tests/python/python.sh "$builds/python" >"$builds/python.out" 2>&1
    echo $? >"$builds/python.status"
}
stage_python() {
    wait "$python"
    script python sh -c 'cat "$1.out" && exit "$(cat "$1.status")"' sh "$builds/python"
}
# The package's leaks, with the library of stage sanitizers. Waits for both.
stage_leaks() {
    until [ -e "$builds/python/installed" ] || [ -e "$builds/python.status" ]; do
        sleep 1
    done
    case " $stages " in
    *" sanitizers "*)
        until [ -e "$builds/sanitizers/built" ] || grep -q '^sanitizers ' "$builds/times"; do
            sleep 1
        done
        ;;
    esac
    "$builds/python/venv/bin/python" -c 'import rankwood' 2>/dev/null || return
    [ -e "$builds/sanitizers/built" ] || build_sanitizers src/librankwood.a
    sanitizing=gcc
    ! has_fuzzer || sanitizing=clang
    script python_leaks sh tests/python/python_leaks.sh "$builds/python" "$builds/sanitizers/src/librankwood.a" $sanitizing
}

stage_recipes() {
    script recipes sh tests/recipes/recipes.sh "$builds"
}

stage_cuda() {
    script cuda_option sh tests/cuda_option.sh "$builds"
}

# What CUDA code does, where nothing but the processor runs it.
stage_emulated() {
    script emulated env CC="$shared_gcc" sh tests/emulated.sh "$builds"
}

sh tests/install_deps.sh test || {
    note "not ok: what a build needs is missing and could not be installed"
    note "0 passed, 1 failed, 0 skipped"
    exit 1
}
shared_gcc=gcc shared_clang=clang
! has ccache || shared_gcc="ccache gcc" shared_clang="ccache clang"
# Sanitized code stops at the first finding (tests/meson.build). Without recovery code, with only the debugging
# information that a report needs, and without four checks of pointers, it compiles in half of the time and runs a
# quarter faster. AddressSanitizer finds most of the same faults. `sh tests/long.sh sanitizers` makes all checks.
lean_args="-g1 -fno-sanitize-recover=undefined -fno-sanitize=null,alignment,object-size,pointer-overflow"
quick_ld=bfd
! has ld.lld || quick_ld=lld
[ -d "$RANKWOOD_DATA" ] || note "note: no folder '$RANKWOOD_DATA': tests on real data are skipped"

# A locale with a decimal comma, which no number may notice: made here, not installed.
if [ -f "$builds/locale/de_DE.UTF-8/LC_NUMERIC" ] || { has localedef && mkdir -p "$builds/locale" &&
    localedef -i de_DE -f UTF-8 "$builds/locale/de_DE.UTF-8" >"$builds/locale.log" 2>&1; }; then
    export LOCPATH="$builds/locale"
fi

run_stages() { # stages...
    for stage in "$@"; do
        note "stage $stage"
        at=$(date +%s)
        passed=$(number_of ok) failed=$(number_of 'not ok') skipped=$(number_of skip)
        "stage_$stage"
        took=$(($(date +%s) - at))
        echo "$stage $took" >>"$builds/times"
        note "  $(($(number_of ok) - passed)) passed, $(($(number_of 'not ok') - failed)) failed," \
            "$(($(number_of skip) - skipped)) skipped in $took s"
    done
}
# Begins a group of stages that runs in parallel with others, with separate results and output until end_beside.
begin_beside() { # stages...
    : >"$results.$1"
    (
        results=$results.$1
        run_stages "$@"
    ) >"$builds/$1.out" 2>&1 &
    beside="$beside $1:$!"
}
end_beside() {
    for group in $beside; do
        wait "${group#*:}" || result "not ok run: stages beside others end with $?"
        cat "$builds/${group%:*}.out"
        cat "$results.${group%:*}" >>"$results"
    done
    beside=
}

started=$(date +%s)
aside= front= beside=
for stage in $stages; do
    case $stage in
    kills | faults | quality | recipes | threads | same_bytes | cuda) aside="$aside $stage" ;;
    fuzz) # begun by sanitizers, once they are built
        case " $stages " in
        *" sanitizers "*) ;;
        *) front="$front fuzz" ;;
        esac
        ;;
    python) front="$front python" aside="$aside leaks" ;;
    release | sanitizers | emulated) front="$front $stage" ;;
    *)
        note "no stage '$stage'"
        exit 2
        ;;
    esac
done
case " $stages " in
*" python "*)
    rm -f "$builds/python.status" "$builds/python/installed" "$builds/compiled"
    begin_python &
    python=$!
    # The longest work of one process after another: the stages in parallel with it give way.
    renice -n 5 -p $$ >/dev/null 2>&1
    ;;
esac
# The parallel stages need the program of release; same_bytes and leaks use the builds of threads and sanitizers.
case $front in
*" release"*)
    run_stages release
    front=${front#* release}
    ;;
esac
: >"$builds/compiled"
case $front in
*" sanitizers"*)
    [ -z "$aside" ] || begin_beside $aside
    run_stages sanitizers
    front="${front%% sanitizers*}${front#* sanitizers}"
    ;;
*) [ -z "$aside" ] || run_stages $aside ;;
esac
end_beside
run_stages $front
note "stage        seconds"
echo "all $(($(date +%s) - started))" >>"$builds/times"
awk '{ printf "%-12s %7d\n", $1, $2 }' "$builds/times"
note "logs are in $builds"
note "$(number_of ok) passed, $(number_of 'not ok') failed, $(number_of skip) skipped"
[ "$(number_of 'not ok')" = 0 ]
