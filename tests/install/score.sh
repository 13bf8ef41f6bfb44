#!/bin/sh
# Tests librankwood-score as a new user gets it, installed into an empty folder. It needs libc and libm only, is small,
# and exports exactly the functions of its header. swaps.cpp, built by one line with pkg-config and with the static
# library, must print the same doubles as `rankwood predict`. CMake builds examples/serve_cpp, and the server must answer
# requests with the same doubles; tests/python/test_examples.py sends it more.
#
#   sh score.sh SOURCE BUILD
set -u
source=$1 build=$2
most_bytes=1000000
root=$(mktemp -d) && trap 'rm -rf "$root"' EXIT
fail() {
    echo "score: $*" >&2
    exit 1
}

meson install -C "$build" --no-rebuild --quiet --destdir "$root" >"$root/log" 2>&1 ||
    fail "meson install failed: $(cat "$root/log")"
cd "$root" || exit 2
shared=$(find "$root" -name librankwood-score.so) static=$(find "$root" -name librankwood-score.a)
pc=$(find "$root" -name rankwood-score.pc)
[ -e "$shared" ] && [ -e "$static" ] && [ -e "$pc" ] || fail "not installed: $(find . -type f)"

# The libraries it needs. The loader belongs to libc: it finds thread-local variables.
needed=$(objdump -p "$shared" | awk '/NEEDED/ { print $2 }')
[ -n "$needed" ] || fail "nothing is needed, which cannot be"
for name in $needed; do
    case $name in
    libc.so* | libm.so* | ld-linux*.so*) ;;
    *) fail "needs '$name'" ;;
    esac
done
nm "$static" | awk '$1 == "U" && $2 ~ /^(inflate|deflate|crc32|json_|XML_|GOMP|_Z)/' | grep . &&
    fail "the static library asks for other libraries"
for library in "$shared" "$static"; do
    strip -o stripped "$library" || fail "'$library' cannot be stripped"
    bytes=$(wc -c <stripped)
    [ "$bytes" -le "$most_bytes" ] || fail "'$library' has $bytes bytes stripped; expected at most $most_bytes"
    echo "score: $(basename "$library") has $bytes bytes stripped"
done

nm -D --defined-only "$shared" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort >exported
header=$(find "$root" -name rankwood_score.h)
tr '\n' ' ' <"$header" | grep -o 'RW_API [^;]*;' | grep -v '__attribute__' |
    sed 's/(.*//; s/.*[ *]//' | sort >declared
[ -s declared ] || fail "no RW_API function found in rankwood_score.h"
diff declared exported >difference || fail "declared (<) and exported (>) differ: $(cat difference)"

if ! command -v g++ >/dev/null 2>&1; then
    echo "score: no g++ here: C++ is not tried"
    exit 77
fi
program=$(find "$root" -name rankwood -type f)
libdir=$(dirname "$shared")
export PKG_CONFIG_PATH="$(dirname "$pc")" PKG_CONFIG_SYSROOT_DIR="$root" LD_LIBRARY_PATH="$libdir"
seq 1 46 | sed 's/.*/& f&/' >names.txt
for seed in 1 2; do
    "$program" synth --shape letor --queries 60 --seed "$seed" -o "$seed.txt" &&
        "$program" train "$seed.txt" --names names.txt --rounds 40 --min-docs 3 --leaves 31 --quiet -o "model$seed.txt" ||
        fail "there is no model"
done
# The first documents as dense rows: "LABEL qid:ID FEATURE:VALUE... # comment".
head -n 333 1.txt >some.txt
awk 'NR == 1 { for (f = 1; f <= 46; f++) printf "f%d ", f; print "" }
{
    for (f = 1; f <= 46; f++) value[f] = 0
    for (i = 3; i <= NF && $i !~ /^#/; i++) { split($i, part, ":"); value[part[1]] = part[2] }
    for (f = 1; f <= 46; f++) printf "%s ", value[f]
    print ""
}' some.txt >rows.txt
"$program" predict model1.txt some.txt -o predicted.txt || fail "predict fails"

try() { # name: a program of that path; its scores are those of `rankwood predict`
    "./$2" rows.txt model1.txt model2.txt >"$1.out" 2>"$1.err" || fail "$1: $(cat "$1.err")"
    [ "$(wc -l <"$1.out")" = 333 ] || fail "$1: $(wc -l <"$1.out") scores; expected 333"
    paste predicted.txt "$1.out" | awk '$1 + 0 != $2 + 0 { exit 1 }' || fail "$1: other scores than 'rankwood predict' has"
    grep -q '25 swaps, 0 mistakes' "$1.err" || fail "$1: $(cat "$1.err")"
    "./$2" rows.txt rows.txt 2>&1 | grep -q "swaps: rows.txt:1:1: expected 'rankwood model" ||
        fail "$1: a file that is no model is not refused"
}
warnings="-Wall -Wextra -Wpedantic -Wshadow -Werror"
swaps=$source/tests/install/swaps.cpp
g++ -std=c++17 $warnings -O2 "$swaps" $(pkg-config --cflags --libs rankwood-score) -pthread -o by_line ||
    fail "one line: does not build"
ldd by_line | grep -q librankwood-score || fail "one line: not linked with the library"
try "one line" by_line
g++ -std=c++17 $warnings -O2 "$swaps" $(pkg-config --cflags rankwood-score) \
    $(pkg-config --static --libs rankwood-score | sed 's/-lrankwood-score/-l:librankwood-score.a/') -pthread -o by_archive ||
    fail "static: does not build"
ldd by_archive | grep -q librankwood && fail "static: needs the shared library"
try static by_archive
tried="one line, static"

# The server, as a user builds it.
example=$source/examples/serve_cpp
for needed in cmake curl; do
    command -v "$needed" >/dev/null 2>&1 || without="${without:-} $needed"
done
unset PKG_CONFIG_SYSROOT_DIR # of the installed Rankwood only
for package in cpp-httplib nlohmann_json; do
    pkg-config --exists "$package" || without="${without:-} $package"
done
if [ -n "${without:-}" ]; then
    echo "score: the server is not tried without$without"
else
    prefix=$(pkg-config --variable=prefix rankwood-score)
    PKG_CONFIG_PATH=$root/pc && mkdir pc && sed "s,^prefix=.*,prefix=$root$prefix," "$pc" >pc/rankwood-score.pc
    cmake -S "$example" -B cmake -DCMAKE_CXX_FLAGS="$warnings" >cmake.log 2>&1 &&
        cmake --build cmake >>cmake.log 2>&1 || fail "CMake: $(cat cmake.log)"
    cmake/serve rows.txt 0 2>&1 | grep -q "serve: rows.txt:1:1: expected 'rankwood model" ||
        fail "server: a file that is no model is not refused"
    cmake/serve model1.txt 0 2>server.err &
    server=$!
    for _ in $(seq 1 100); do
        url=$(sed -n 's/.* at \(http.*\)/\1/p' server.err 2>/dev/null)
        [ -z "$url" ] || break
        sleep 0.1
    done
    awk 'NR == 1 { n = split($0, name, " "); printf "{\"documents\":[" ; next }
    {
        printf "%s{\"id\":\"%d\",\"features\":{", (NR > 2 ? "," : ""), NR - 1
        for (i = 1; i <= n; i++) printf "%s\"%s\":%s", (i > 1 ? "," : ""), name[i], $i
        printf "}}"
    }
    END { print "]}" }' rows.txt >request.json
    curl -s -H 'Content-Type: application/json' -d @request.json "$url/rank" >answer.json || fail "server: $(cat server.err)"
    kill "$server" && wait "$server" || fail "server: exit $? after SIGTERM"
    tr '{' '\n' <answer.json | sed -n 's/.*"id":"\([0-9]*\)","score":\([-+.e0-9]*\).*/\1 \2/p' | sort -n | cut -d' ' -f2 >answered
    paste predicted.txt answered | awk '$1 + 0 != $2 + 0 { exit 1 } END { exit NR != 333 }' ||
        fail "server: other scores than 'rankwood predict' has: $(head -c 300 answer.json)"
    tried="$tried; examples/serve_cpp by CMake"
fi
echo "score: $(wc -l <exported) functions exported; $tried"
