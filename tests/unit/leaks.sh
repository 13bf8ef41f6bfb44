#!/bin/sh
# Runs a Criterion program built with a sanitizer. Criterion drops what the process of a test writes to
# standard error, and its exit status once the test itself passed, so that a leak would pass: the
# sanitizers write to files here, and any such file is a failed test.
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
