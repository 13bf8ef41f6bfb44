#!/bin/sh
# Runs a Criterion program built with a sanitizer. Criterion ignores standard error of a test's process, and its exit
# status once the test itself passed, so it would miss leaks. The sanitizers therefore write to files, and any such file
# fails the test.
#
#   sh leaks.sh PROGRAM ARGS...
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
export ASAN_OPTIONS="$ASAN_OPTIONS:log_path=$dir/asan"
export UBSAN_OPTIONS="$UBSAN_OPTIONS:log_path=$dir/ubsan"
"$@"
status=$?
if [ -n "$(ls -A "$dir")" ]; then
    echo "not ok - the sanitizers found something"
    cat "$dir"/* >&2
    exit 1
fi
exit "$status"
