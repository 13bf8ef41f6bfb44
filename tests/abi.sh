#!/bin/sh
# Compares the binary interfaces of librankwood and librankwood-score with those of earlier releases that have the same
# number in the library's name, tests/abi/LIBRARY.so.NUMBER/VERSION.abi.gz. Functions may be added. Existing ones must
# not change, or programs built for them break (docs/reference/compatibility.md). New functions have the version of a
# later release in src/librankwood.map. Needs a build with debugging information, abidw and abidiff (apt:
# abigail-tools). Exit 77: skipped.
#
#   sh tests/abi.sh BUILD [--write]      --write: once a release is made, stores the build's interface as that version's
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^#define RW_VERSION "\(.*\)"$/\1/p' "$root/src/rankwood_score.h")
for tool in abidw abidiff; do
    command -v $tool >/dev/null 2>&1 || {
        echo "abi: no $tool here (apt: abigail-tools)"
        exit 77
    }
done
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
mkdir "$dir/headers" && cp "$root/src/rankwood.h" "$root/src/rankwood_score.h" "$dir/headers" || exit 1
failed=0
interface_of() { # library
    # What only the library's own headers define may change.
    abidw --headers-dir "$dir/headers" --drop-private-types --no-corpus-path --no-comp-dir-path --no-show-locs \
        --no-elf-needed --exported-interfaces-only --drop-undefined-syms \
        --no-write-default-sizes --no-parameter-names "$1"
}
compare() { # an earlier release's file, library
    release=$(basename "$1" .abi.gz)
    gzip -dc "$1" >"$dir/kept.abi" || exit 1
    if ! abidiff --no-added-syms "$dir/kept.abi" "$dir/new.abi" >"$dir/report"; then
        cat "$dir/report"
        echo "abi: programs that were built for $release may break; src/meson.build has the number in $2's name" >&2
        failed=1
    fi
    sed -n "s/.*<elf-symbol name='\([^']*\)'.*/\1/p" "$dir/kept.abi" >"$dir/kept"
    awk -v release="$release" '
    function number(text, part) { split(text, part, "."); return part[1] * 1000 + part[2] }
    FILENAME == ARGV[1] { kept[$1] = 1; next }
    ($1 in kept) != (number($2) <= number(release)) {
        print "abi: " $1 " has version " $2 ", and " release (($1 in kept) ? " had it" : " did not have it")
        wrong = 1
    }
    END { exit wrong }' "$dir/kept" "$dir/new" >&2 || failed=1
    echo "abi: $2: $(wc -l <"$dir/kept") symbols of $release, $(wc -l <"$dir/new") now"
}
for name in librankwood librankwood-score; do
    library=$(ls "$1/src/$name".so.*.*.* 2>/dev/null | grep -v '\.p$' | head -n 1)
    [ -n "$library" ] || {
        echo "abi: no $name in $1" >&2
        exit 1
    }
    readelf -S "$library" | grep -q '\.debug_info' || {
        echo "abi: the build has no debugging information (-Dbuildtype=debugoptimized)"
        exit 77
    }
    soname=$(readelf -d "$library" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
    interface_of "$library" >"$dir/new.abi" || exit 1
    if [ "${2:-}" = --write ]; then
        mkdir -p "$root/tests/abi/$soname" && gzip -9nc "$dir/new.abi" >"$root/tests/abi/$soname/$version.abi.gz"
        continue
    fi
    nm -D --defined-only "$library" | awk '$2 != "A" { sub(/@@*RANKWOOD_/, " ", $3); print $3 }' | sort >"$dir/new"
    for kept in "$root/tests/abi/$soname"/*.abi.gz; do
        [ ! -e "$kept" ] || compare "$kept" "$soname"
    done
done
exit $failed
