#!/bin/sh
# Fuzzes every target of a build made with -Dfuzz=true for a share of SECONDS each, starting from the
# saved inputs. An input that crashes, leaks, hangs or eats memory is left in FOUND (default: the
# build's folder) and makes this fail; save it in corpus/<name>/ once it is mended.
#
#   sh tests/fuzz/fuzz.sh BUILD SECONDS [FOUND]
set -u
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd) || exit 2
seconds=$2
found=${3:-$build/fuzz-found}
mkdir -p "$found"
targets=$(cd "$build/tests/fuzz" && ls | grep '^fuzz_[a-z]*$')
n=$(printf '%s\n' "$targets" | grep -c .)
[ "$n" -gt 0 ] || { echo "not ok fuzz: no targets in '$build'"; exit 1; }
each=$((seconds / n))
failed=0
export ASAN_OPTIONS="detect_leaks=1:allocator_may_return_null=1:strict_string_checks=1"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1"
export LSAN_OPTIONS="print_suppressions=0:suppressions=$here/../lsan.supp"
for target in $targets; do
    name=${target#fuzz_}
    fresh=$(mktemp -d)
    if (cd "$found" && "$build/tests/fuzz/$target" -max_total_time="$each" -timeout=10 \
        -rss_limit_mb=2048 -malloc_limit_mb=1024 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="$found/$name-" "$fresh" "$here/corpus/$name") >"$found/$name.log" 2>&1; then
        runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$found/$name.log")
        echo "ok fuzz $name: ${runs:-?} inputs in $each s"
    else
        echo "not ok fuzz $name: see $found"
        tail -n 40 "$found/$name.log"
        failed=1
    fi
    rm -rf "$fresh"
done
exit "$failed"
