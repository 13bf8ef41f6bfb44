#!/bin/sh
# Compares README.md and the pages of docs with the tree and the program. README fits on a page, links lead to files,
# and every command of a ```console block prints the lines below it. The blocks of a page are one session, which begins
# with the files that README's commands made. '...' replaces omitted lines, and times may differ. examples/quickstart.sh
# runs only commands that a page shows. Other blocks with commands need a row in tests/docs_not_run.tsv that names the
# test that runs them, or the reason why they are not run. Options of rankwood that a page names must be options of that
# command.
#
#   sh tests/docs.sh RANKWOOD      the program of a build: C programs are linked with that build's library
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
rankwood=$(realpath "$1") || exit 2
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
mkdir "$dir/session" "$dir/bin" && ln -s "$rankwood" "$dir/bin/rankwood" || exit 2
cd "$root" || exit 2
export LC_ALL=C CUDA_VISIBLE_DEVICES=
PATH=$dir/bin:$PATH
# Commands find the files of the tree and an installed Rankwood.
build=$(cd "$(dirname "$rankwood")/../.." && pwd)
export PKG_CONFIG_PATH="$build/meson-uninstalled" LD_LIBRARY_PATH="$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
# With a library under AddressSanitizer programs have its runtime, too.
if nm -D --undefined-only "$build/src/librankwood.so" 2>/dev/null | grep -q __asan_init; then
    printf '#!/bin/sh\nexec %s -fsanitize=address,undefined "$@"\n' "$(command -v cc)" >"$dir/bin/cc" && chmod +x "$dir/bin/cc"
fi
ln -s "$root/tests" "$root/examples" "$dir/session/" && (cd "$dir/session" && . "$root/tests/docs_files.sh") || exit 2
pages=$(find docs -name "*.md" | sort)
found=$dir/found
: >"$found"

python3 docs/make_commands.py "$rankwood" | cmp - docs/reference/commands.md >>"$found" 2>&1 ||
    echo "docs/reference/commands.md is out of date: python3 docs/make_commands.py PROGRAM > docs/reference/commands.md" >>"$found"
lines=$(wc -l <README.md)
[ "$lines" -le 120 ] || echo "README.md: $lines lines; expected at most 120" >>"$found"

# Every file names the same version. CHANGELOG.md may begin with an unreleased one.
version=$(sed -n "s/^ *version: '\(.*\)', license.*/\1/p" meson.build)
while read -r file pattern; do
    sed -n "s/$pattern/\1/p" "$file" | head -n 1 | grep -qxF "$version" || echo "$file: another version than meson.build's $version"
done >>"$found" <<'END'
src/rankwood_score.h ^#define RW_VERSION "\(.*\)"$
CITATION.cff ^version: \(.*\)$
CHANGELOG.md ^## \([0-9][0-9.]*\).*
debian/changelog ^rankwood (\([^)]*\)).*
END

for page in README.md CONTRIBUTING.md $pages; do
    grep -no '](\([^)]*\))' "$page" | sed 's/](\(.*\))$/\1/' | while IFS=: read -r line target; do
        case $target in
        http:* | https:* | '#'*) ;;
        *) [ -e "$(dirname "$page")/${target%%#*}" ] || echo "$page:$line: no file '$target'" ;;
        esac
    done
done >>"$found"

# N.command, N.expected and N.at (PAGE:LINE) of each command, numbered from 1 in the order of the pages.
awk -v dir="$dir" '
/^```/ { in_block = !in_block && $0 == "```console"; next }
!in_block { next }
sub(/^\$ /, "") {
    n++
    print > (dir "/" n ".command")
    print FILENAME ":" FNR > (dir "/" n ".at")
    printf "" > (dir "/" n ".expected")
    next
}
{ print > (dir "/" n ".expected") }' README.md $pages
sed -n 's/^run //p' examples/quickstart.sh | while read -r command; do
    grep -qxF "\$ $command" README.md $pages -h ||
        echo "examples/quickstart.sh: no page shows '$command'"
done >>"$found"

# --- blocks that are not run: the page and the first command; for Python "python: " and the first line
awk '
/^```/ {
    if (in_block) { in_block = 0; next }
    in_block = 1
    language = substr($0, 4)
    seen = language != "" && language != "sh" && language != "python"
    next
}
!in_block || seen { next }
language == "python" || language == "sh" || /^(\$ )?(rankwood|sh|python3?|pip|cc|gcc|g\+\+|cmake|meson|ninja|curl|mpirun|srun|for|build\/[^ ]*) / {
    print FILENAME "\t" (language == "python" ? "python: " : "") $0
    seen = 1
}' README.md $pages >"$dir/blocks"
awk -F '\t' '
FILENAME == ARGV[1] {
    if ($0 ~ /^(#|$)/) next
    if (NF != 3 || $3 == "") { print FILENAME ":" FNR ": expected page, beginning and reason"; next }
    page[++n] = $1; start[n] = $2
    next
}
{
    for (i = 1; i <= n; i++)
        if ((page[i] == $1 || page[i] == "*") && index($2, start[i]) == 1) { used[i] = 1; next }
    print $1 ": no test runs the block that begins \"" $2 "\"; make it a console block, or say why in tests/docs_not_run.tsv"
}
END {
    for (i = 1; i <= n; i++)
        if (!(i in used)) print "tests/docs_not_run.tsv: no such block: " page[i] ": " start[i]
}' tests/docs_not_run.tsv "$dir/blocks" >>"$found"
# --- options that pages name
grep -no 'rankwood [a-z][a-z]* [^`|&;)]*' README.md $pages | grep -e ' --' |
    sed 's/^\([^:]*:[0-9]*\):rankwood \([a-z]*\) /\1 \2 /' | while read -r at command rest; do
    [ -f "$dir/$command.help" ] || "$rankwood" "$command" --help >"$dir/$command.help" 2>/dev/null || continue
    for option in $(printf '%s\n' "$rest" | grep -o -e '--[a-z][a-z0-9-]*'); do
        grep -q -e "$option\([^a-z0-9-]\|$\)" "$dir/$command.help" || echo "$at: 'rankwood $command' has no $option"
    done
done >>"$found"

n=1 session=$dir/session
while [ -f "$dir/$n.command" ]; do
    page=$(sed 's/:[0-9]*$//' "$dir/$n.at")
    if [ "$page" != README.md ]; then
        session=$dir/sessions/$page
        [ -d "$session" ] || { mkdir -p "${session%/*}" && cp -R "$dir/session" "$session"; }
    fi
    (cd "$session" && sh "$dir/$n.command") >"$dir/$n.out" 2>&1 </dev/null ||
        echo "$(cat "$dir/$n.at"): exit $? of '$(cat "$dir/$n.command")': $(head -n 3 "$dir/$n.out")" >>"$found"
    awk -v at="$(cat "$dir/$n.at")" '
    { gsub(/[0-9.]+ s[ :]/, "T s "); sub(/[0-9.]+ s$/, "T s"); sub(/[ \t]+$/, "") }
    /: note: device / { next } # of a program with CUDA
    FILENAME == ARGV[1] { expected[++n] = $0; next }
    { printed[++m] = $0 }
    END {
        while (n && expected[n] == "") n--
        while (m && printed[m] == "") m--
        for (i = j = 1; i <= n; i++) {
            if (expected[i] == "...") { gap = 1; continue }
            while (gap && j < m && printed[j] != expected[i]) j++
            if (printed[j] != expected[i]) {
                print at ": expected \"" expected[i] "\", " (gap ? "printed nowhere" : "found \"" printed[j] "\"")
                exit
            }
            gap = 0
            j++
        }
        if (!gap && j <= m) print at ": prints more: \"" printed[j] "\""
    }' "$dir/$n.expected" "$dir/$n.out" >>"$found"
    n=$((n + 1))
done
[ "$n" -gt 1 ] || echo "no page has a console block" >>"$found"

if [ -s "$found" ]; then
    cat "$found"
    echo "docs: $(wc -l <"$found") offenders"
    exit 1
fi
echo "docs: README of $lines lines, $((n - 1)) commands print what the pages show"
