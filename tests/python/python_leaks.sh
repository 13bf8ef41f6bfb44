#!/bin/sh
# Failing calls of the Python package lose no memory: leaks.py on the package that is installed, and on a
# build of its own under AddressSanitizer, which looks for what nothing points to any more, and for reading
# and writing where nothing is. Prints a line a test: ok, not ok or skip. Called by python.sh, with its
# environment's python and pip first on PATH.
#
#   sh tests/python/python_leaks.sh FOLDER     FOLDER: for the build; what is there stays
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
failed=0

if python "$root/tests/python/leaks.py" >"$folder/leaks.log" 2>&1; then
    echo "ok python: $(tail -n 1 "$folder/leaks.log")"
else
    cat "$folder/leaks.log"
    echo "not ok python: failing calls leak"
    failed=1
fi

asan=$(gcc -print-file-name=libasan.so 2>/dev/null)
# under the loader's name for it: a link script or nothing is no library
if [ ! -e "$asan" ] || ! LD_PRELOAD=$asan ASAN_OPTIONS=detect_leaks=0 python -c '' 2>/dev/null; then
    echo "skip python: AddressSanitizer does not start here"
    exit $failed
fi
if ! CC=gcc pip install -q "$root" --no-deps --upgrade --target "$folder/asan" -Cbuild-dir="$folder/build-asan" \
    -Csetup-args=-Dcuda=disabled -Csetup-args=-Dbuildtype=debugoptimized -Csetup-args=-Doptimization=1 \
    -Csetup-args=-Db_sanitize=address -Csetup-args=-Db_lundef=false >"$folder/asan.log" 2>&1; then
    tail -n 30 "$folder/asan.log"
    echo "not ok python: does not build under AddressSanitizer"
    exit 1
fi
# Python's own allocator hides what it holds from the sanitizer. What the interpreter and other packages
# lose, some objects made once, is not ours.
LD_PRELOAD=$asan PYTHONMALLOC=malloc PYTHONPATH=$folder/asan \
    ASAN_OPTIONS=detect_leaks=1:leak_check_at_exit=0:malloc_context_size=12 \
    python "$root/tests/python/leaks.py" --sanitizer >"$folder/asan.log" 2>&1
status=$?
calls=$(grep 'failing calls' "$folder/asan.log")
if [ "$status" -gt 1 ] || [ -z "$calls" ] || grep -qE '_ffi|[ /]_?rw_|ERROR: AddressSanitizer' "$folder/asan.log"; then
    tail -n 100 "$folder/asan.log"
    echo "not ok python: failing calls under AddressSanitizer"
    failed=1
else
    echo "ok python: under AddressSanitizer, $calls"
fi
exit $failed
