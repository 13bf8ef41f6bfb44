#!/bin/sh
# The binary interface of librankwood.so against that of the last release, tests/abi/librankwood.so.0.abi.gz: functions may
# be added, but what is there must stay, or programs that were built for it break (docs/compatibility.md). Needs a build
# with debugging information, and abidw and abidiff (apt: abigail-tools). Exit 77: skipped.
#
#   sh tests/abi.sh BUILD [--write]      --write: at a release, keeps the build's as the one to compare with
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
library=$(ls "$1"/src/librankwood.so.*.*.* 2>/dev/null | grep -v '\.p$' | head -n 1)
kept=$root/tests/abi/librankwood.so.0.abi.gz
for tool in abidw abidiff; do
    command -v $tool >/dev/null 2>&1 || {
        echo "abi: no $tool here (apt: abigail-tools)"
        exit 77
    }
done
[ -n "$library" ] || {
    echo "abi: no library in $1" >&2
    exit 1
}
readelf -S "$library" | grep -q '\.debug_info' || {
    echo "abi: the build has no debugging information (-Dbuildtype=debugoptimized)"
    exit 77
}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
mkdir "$dir/headers" && cp "$root/src/rankwood.h" "$root/src/rankwood_score.h" "$dir/headers" || exit 1
# What only the library's own headers define may change.
abidw --headers-dir "$dir/headers" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
    --no-elf-needed --exported-interfaces-only --drop-undefined-syms \
    --no-write-default-sizes --no-parameter-names "$library" >"$dir/new.abi" || exit 1
if [ "${2:-}" = --write ]; then
    gzip -9nc "$dir/new.abi" >"$kept"
    exit
fi
gzip -dc "$kept" >"$dir/kept.abi" || exit 1
abidiff --no-added-syms "$dir/kept.abi" "$dir/new.abi" >"$dir/report"
status=$?
if [ $status != 0 ]; then
    cat "$dir/report"
    echo "abi: programs that were built for the last release may break (exit $status of abidiff); src/meson.build has the number in the library's name" >&2
    exit 1
fi
echo "abi: $(grep -c '<elf-symbol ' "$dir/kept.abi") symbols of the last release are as they were"
