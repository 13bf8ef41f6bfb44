#!/bin/sh
# Compiles every header of src alone, as C17 and as C++17, with all warnings as errors. The public one
# must not need _GNU_SOURCE either.
#
#   sh headers.sh SRC [CC]
set -u
src=$1
cc=${2:-cc}
case $cc in
*clang*) cxx=clang++ ;;
*) cxx=g++ ;;
esac
command -v "$cxx" >/dev/null 2>&1 || cxx=c++
warnings="-Wall -Wextra -Wpedantic -Werror -fsyntax-only"
failed=0 checked=0
have_cxx=1
command -v "$cxx" >/dev/null 2>&1 || have_cxx=0

for header in $(cd "$src" && find . -name '*.h' | sed 's|^\./||' | sort); do
    define=-D_GNU_SOURCE
    [ "$header" = rankwood.h ] && define=
    # Twice: the guard works.
    text="#include \"$header\"
#include \"$header\"
int rw_not_an_empty_file;"
    printf '%s\n' "$text" | "$cc" -x c -std=c17 $warnings $define -I "$src" - || {
        echo "$header: does not compile alone as C17"
        failed=1
    }
    [ "$have_cxx" = 0 ] ||
        printf '%s\n' "$text" | "$cxx" -x c++ -std=c++17 $warnings $define -I "$src" - || {
        echo "$header: does not compile alone as C++17"
        failed=1
    }
    checked=$((checked + 1))
done
[ "$have_cxx" = 1 ] || echo "no C++ compiler here: as C only"
[ "$checked" -gt 0 ] || failed=1
echo "$checked headers compiled alone"
exit "$failed"
