#!/bin/sh
# Runs the tests that take too long for `sh tests/run.sh`: minutes to hours each. Each stage can be run alone.
#
#   sh tests/long.sh [STAGE]...    default all of these:
#     faults      every allocation and every system call of every command fails once (tests/faults/faults.py)
#     disks       full and read-only disks (tests/faults/disks.py)
#     library     every allocation of calls of the library fails once, under AddressSanitizer and LeakSanitizer
#     sanitizers  all tests under AddressSanitizer and UBSan, with every case of them
#     threads     all cases under ThreadSanitizer (tests/threads.sh)
#     mutate      300 lines of the library are changed, one at a time, and a test must fail (tests/mutate/mutate.py)
#     kills       500 trainings killed and resumed; workers killed at every stage of a training
#     compilers   one model from every compiler, at more of their optimisations, in all configurations (tests/same_bytes.sh)
#     kernels     every kernel, the laboratory's too, in an optimised build, and that build's unit tests, with every case
#     numbers     10^8 decimals read as strtof reads them
#     cuda_faults every call of CUDA of commands and of calls of the library fails once, on an emulated GPU
#     emulated    every kernel, configuration, method and check of the GPU engine, on the processor
#     fuzz        every target, for FUZZ_SECONDS in all (7,200) without sanitizers, and half as long with them
#     differential  a million random lines as scikit-learn and pandas read them
#     soak        days of retraining, served by threads all the while, for SOAK_SECONDS (7,200; 86,400 is a whole day)
#     sizes       a model file of more than 2^31 bytes
#     packages    Debian's, built and installed in a clean root; two builds are identical; the library's
#                 interface; the site
#     fresh       README's commands on a bare Debian 12, Debian 13 and Ubuntu 24.04 (packaging/fresh.sh)
#     peers       quality and speed compared with other programs (tests/peers/run.sh), which are built or installed first
#
# RANKWOOD_BUILDS, RANKWOOD_DATA, FUZZ_SECONDS as for run.sh; soak's figures are left in RANKWOOD_BUILDS/soak. The last
# line is 'N passed, M failed, K skipped'; exit 1 if M is not 0.
set -u
root=$(cd "$(dirname "$0")/.." && pwd) || exit 2
cd "$root" || exit 2
builds=${RANKWOOD_BUILDS:-$root/build-tests}
mkdir -p "$builds" || exit 2
export RANKWOOD_DATA="${RANKWOOD_DATA:-$root/../shared/data}" LC_ALL=C
stages=${*:-faults disks library sanitizers threads mutate kills compilers kernels numbers cuda_faults emulated fuzz differential soak sizes packages fresh peers}
program=$builds/release/src/cli/rankwood
passed=0 failed=0 skipped=0

# name command...: writes the command's output to a log and prints the last lines
step() {
    name=$1 log=$builds/long-$1.log
    shift
    at=$(date +%s)
    if "$@" >"$log" 2>&1; then
        if grep -q '^skip ' "$log" && ! grep -q '^ok ' "$log"; then
            skipped=$((skipped + 1)) word=skip
        else
            passed=$((passed + 1)) word=ok
        fi
    else
        failed=$((failed + 1)) word='not ok'
        grep -A 5 '^not ok' "$log" | head -n 60
    fi
    tail -n 3 "$log" | sed 's/^/    /'
    echo "$word $name: $(($(date +%s) - at)) s, $log"
}

# folder, options of meson...
build() {
    folder=$1
    shift
    [ -f "$folder/build.ninja" ] || meson setup "$folder" "$root" "$@" >"$folder.setup.log" 2>&1 || return 1
    ninja -C "$folder" >"$folder.build.log" 2>&1
}
need_release() {
    build "$builds/release" --buildtype=release -Dgpu_arch=sm_90 || {
        tail -n 20 "$builds/release.build.log"
        exit 1
    }
}

stage_faults() {
    need_release
    step faults python3 tests/faults/faults.py --program "$program" \
        --library "$builds/release/tests/faults/librankwood-faults.so"
}
stage_disks() {
    need_release
    step disks python3 tests/faults/disks.py --program "$program"
}
stage_library() {
    build "$builds/sanitizers" --buildtype=debugoptimized -Doptimization=1 -Dcuda=disabled -Db_sanitize=address,undefined ||
        exit 1
    step library "$builds/sanitizers/tests/faults/library_faults"
}
stage_mutate() {
    step mutate env RANKWOOD_BUILDS="$builds" python3 tests/mutate/mutate.py
}
stage_kills() {
    need_release
    step kills sh tests/kills.sh "$program" 500
    step worker_kills sh tests/worker_kills.sh "$program"
}
stage_sanitizers() {
    build "$builds/sanitizers-all" --buildtype=debugoptimized -Doptimization=1 -Dcuda=disabled \
        -Db_sanitize=address,undefined "-Dc_args=-g1 -fno-sanitize-recover=undefined -DRW_TEST_ALL" || exit 1
    step sanitizers meson test -C "$builds/sanitizers-all" --no-rebuild --print-errorlogs
}
stage_threads() {
    step threads env ALL=1 sh tests/threads.sh "$builds"
}
stage_compilers() {
    step compilers env ALL=1 sh tests/same_bytes.sh "$builds/compilers"
}
stage_kernels() {
    build "$builds/kernels" --buildtype=release -Dc_args=-DRW_TEST_ALL -Dcuda=enabled -Dlab=enabled -Dgpu_arch=sm_90 || exit 1
    step kernels meson test -C "$builds/kernels" --no-rebuild --print-errorlogs check_lab lab_cli timeline general_map multi_plan
    step kernels_unit meson test -C "$builds/kernels" --no-rebuild --print-errorlogs --suite unit
}
stage_numbers() {
    need_release
    step numbers "$builds/release/tests/check/number_check" 100000000
}
stage_emulated() {
    step emulated sh tests/emulated.sh "$builds" all
}
stage_cuda_faults() {
    step cuda_faults sh tests/emulated.sh "$builds" faults
}
stage_fuzz() {
    step fuzz_plain env FUZZ_PLAIN=1 FUZZ_SECONDS="${FUZZ_SECONDS:-7200}" sh tests/run.sh fuzz
    step fuzz env FUZZ_SECONDS="$((${FUZZ_SECONDS:-7200} / 2))" sh tests/run.sh fuzz
}
stage_differential() {
    step differential env DIFFERENTIAL_LINES=1000000 sh tests/run.sh python
}
stage_soak() {
    need_release
    rm -rf "$builds/soak"
    step soak python3 tests/soak/soak.py --program "$program" --server "$builds/release/tests/soak/soak_server" \
        --seconds "${SOAK_SECONDS:-7200}" "$builds/soak"
}
stage_sizes() {
    need_release
    step sizes python3 tests/large_model.py "$program"
}
stage_packages() {
    build "$builds/abi" --buildtype=debugoptimized -Dcuda=disabled -Dtests=disabled &&
        step abi sh -c 'sh tests/abi.sh "$1"; s=$?; [ $s = 77 ] || exit $s' sh "$builds/abi"
    step debian sh packaging/debian.sh "$builds/debian"
    step container sh packaging/container.sh "$builds/container"
    step reproducible sh packaging/reproducible.sh "$builds/reproducible"
    step site sh docs/site.sh "$builds/site"
}
stage_fresh() {
    step fresh sh packaging/fresh.sh "$builds/fresh"
}
stage_peers() {
    need_release
    step peers sh tests/peers/run.sh
}

sh tests/install_deps.sh test || exit 2
for stage in $stages; do
    case $stage in
    faults | disks | library | sanitizers | threads | mutate | kills | compilers | kernels | numbers | cuda_faults | emulated | fuzz | differential | soak | sizes | packages | fresh | peers) ;;
    *)
        echo "no stage '$stage'"
        exit 2
        ;;
    esac
    echo "stage $stage"
    "stage_$stage"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
