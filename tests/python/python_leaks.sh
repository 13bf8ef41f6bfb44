#!/bin/sh
# Tests that failing calls of the Python package leak no memory. leaks.py runs on the package that python.sh installed,
# and on the same package with a library built with AddressSanitizer, which detects leaks and invalid accesses. Prints a
# line per test: ok, not ok or skip.
#
#   sh tests/python/python_leaks.sh FOLDER LIBRARY [COMPILER]
#
# FOLDER: python.sh's; LIBRARY: librankwood.a of a build with -Db_sanitize=address,undefined; COMPILER: of that build,
# whose runtime is taken: gcc, by default, or clang.
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
mkdir -p "$1/leaks" && folder=$(cd "$1/leaks" && pwd) || exit 2
library=$2 compiler=${3:-gcc}
PATH=$folder/../venv/bin:$PATH
PYTHONPYCACHEPREFIX=$folder/../pycache
export PATH PYTHONPYCACHEPREFIX
failed=0

case $compiler in
*clang*)
    asan=$(clang -print-file-name="libclang_rt.asan-$(uname -m).so" 2>/dev/null)
    compiler="clang -shared-libasan"
    ;;
*) asan=$(gcc -print-file-name=libasan.so 2>/dev/null) ;;
esac
# under the loader's name for it: a link script or nothing is no library
has_asan() {
    [ -e "$asan" ] && LD_PRELOAD=$asan ASAN_OPTIONS=detect_leaks=0 python -c '' 2>/dev/null
}
# The installed package without its module.
make_package() {
    installed=$(python -c 'import os, rankwood; print(os.path.dirname(rankwood.__file__))') || return 1
    rm -rf "$folder/asan" && mkdir "$folder/asan" && cp -R "$installed" "$folder/asan" || return 1
    python "$root/python/make_ffi.py" "$root/src/rankwood_score.h" "$root/src/rankwood.h" "$folder/_ffi.c" || return 1
    # The module also has the program, which these calls do not run.
    echo 'int rw_program(int n, char **words) { return n + !words; }' >"$folder/program.c" || return 1
    $compiler -shared -fPIC -O1 -g -fsanitize=address,undefined -DPy_LIMITED_API=0x030b0000 -I "$root/src" \
        -I "$(python -c 'import sysconfig; print(sysconfig.get_path("include"))')" "$folder/_ffi.c" \
        "$folder/program.c" -o "$folder/asan/rankwood/"_ffi.*so "$library" -lz -ljansson -lexpat -lm -ldl -pthread
}

python "$root/tests/python/leaks.py" >"$folder/leaks.log" 2>&1 &
plain=$!
if ! has_asan; then
    echo "skip python: AddressSanitizer does not start here"
elif ! make_package >"$folder/asan.log" 2>&1; then
    tail -n 30 "$folder/asan.log"
    echo "not ok python: does not build under AddressSanitizer"
    failed=1
else
    # Python's own allocator hides its memory from the sanitizer. The interpreter and other packages leak some objects
    # once; these are ignored.
    LD_PRELOAD=$asan PYTHONMALLOC=malloc PYTHONPATH=$folder/asan \
        ASAN_OPTIONS=detect_leaks=1:leak_check_at_exit=0:malloc_context_size=12 \
        python "$root/tests/python/leaks.py" --sanitizer >"$folder/asan.log" 2>&1
    status=$?
    calls=$(grep 'failing calls' "$folder/asan.log")
    if [ "$status" -gt 1 ] || [ -z "$calls" ] ||
        grep -qE '_ffi|[ /]_?rw_|ERROR: AddressSanitizer|runtime error' "$folder/asan.log"; then
        tail -n 100 "$folder/asan.log"
        echo "not ok python: failing calls under AddressSanitizer"
        failed=1
    else
        echo "ok python: under AddressSanitizer, $calls"
    fi
fi
if wait "$plain"; then
    echo "ok python: $(tail -n 1 "$folder/leaks.log")"
else
    cat "$folder/leaks.log"
    echo "not ok python: failing calls leak"
    failed=1
fi
exit $failed
