#!/bin/sh
# Compiles every header of src and lab alone, as C17 and as C++17, with all warnings as errors. The public ones
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

# Headers of gpu/ and lab/ may need CUDA's.
cuda=
for folder in /usr/local/cuda/include /opt/cuda/include; do
    [ -f "$folder/cuda_runtime_api.h" ] && cuda="-isystem $folder"
done
have_cuda=1
echo '#include <cuda_runtime_api.h>' | "$cc" -x c -fsyntax-only $cuda - 2>/dev/null || have_cuda=0
without_cuda=

# A template (*_tmpl.h) is text that is included for each of its types, not a header by itself.
for header in $(cd "$src" && find . -name '*.h' ! -name '*_tmpl.h' | sed 's|^\./||' | sort) $(cd "$src/.." && find lab -name '*.h' | sort); do
    # C's own <math.h> and similar headers: libstdc++'s versions include half of that library and double the time of a
    # header.
    define=-D_GNU_SOURCE cxx_define=-nostdinc++
    case $header in
    rankwood.h | rankwood_score.h) define= cxx_define= ;;
    gpu/* | lab/*)
        if [ "$have_cuda" = 0 ]; then
            without_cuda="$without_cuda $header"
            continue
        fi
        define="$define $cuda" cxx_define=
        ;;
    esac
    # Twice: the guard works.
    text="#include \"$header\"
#include \"$header\"
int rw_not_an_empty_file;"
    printf '%s\n' "$text" | "$cc" -x c -std=c17 $warnings $define -I "$src" -I "$src/.." - || {
        echo "$header: does not compile alone as C17"
        failed=1
    }
    [ "$have_cxx" = 0 ] ||
        printf '%s\n' "$text" | "$cxx" -x c++ -std=c++17 $warnings $define $cxx_define -I "$src" -I "$src/.." - || {
        echo "$header: does not compile alone as C++17"
        failed=1
    }
    checked=$((checked + 1))
done
[ "$have_cxx" = 1 ] || echo "no C++ compiler here: as C only"
[ -z "$without_cuda" ] || echo "no CUDA headers here: not compiled:$without_cuda"
[ "$checked" -gt 0 ] || failed=1
echo "$checked headers compiled alone"
exit "$failed"
