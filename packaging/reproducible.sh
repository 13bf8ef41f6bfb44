#!/bin/sh
# Two builds give the same bytes: the commit that is checked out is unpacked in two folders, of names of other lengths,
# and built there apart, without a cache of compiled files, by other numbers of processes. Libraries, program, man page
# and wheel are compared. Prints a line a test: ok, not ok or skip. Needs pip and its index.
#
#   sh packaging/reproducible.sh FOLDER
set -u
source=$(cd "$(dirname "$0")/.." && pwd) || exit 2
mkdir -p "$1" && folder=$(cd "$1" && pwd) || exit 2
SOURCE_DATE_EPOCH=$(git -C "$source" log -1 --format=%ct) || exit 2
export LC_ALL=C SOURCE_DATE_EPOCH CCACHE_DISABLE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
rm -rf "$folder/venv" "$folder/one" "$folder/the-other-one"
if ! python3 -m venv "$folder/venv" || ! "$folder/venv/bin/pip" install -q build; then
    echo "skip reproducible: pip cannot fetch packages here"
    exit 0
fi
build() { # name jobs
    mkdir "$folder/$1" && git -C "$source" archive --prefix=tree/ HEAD | tar -x -C "$folder/$1" || return 1
    (cd "$folder/$1/tree" && "$folder/venv/bin/python" -m build --wheel -o ../wheel "-Cbuild-dir=$folder/$1/build" \
        -Csetup-args=-Dcuda=disabled -Csetup-args=-Dmpi=disabled "-Ccompile-args=-j$2") >"$folder/$1.log" 2>&1 && return
    tail -n 40 "$folder/$1.log" | sed 's/^/    /'
    echo "not ok reproducible: does not build"
    exit 1
}
build one 2
build the-other-one 1
failed=0
version=$(sed -n 's/^#define RW_VERSION "\(.*\)"$/\1/p' "$source/src/rankwood_score.h")
for file in "build/src/librankwood.so.$version" "build/src/librankwood-score.so.$version" build/src/librankwood.a build/src/librankwood-score.a \
    build/src/cli/rankwood build/docs/rankwood.1 "wheel/$(basename "$folder"/one/wheel/*.whl)"; do
    if cmp "$folder/one/$file" "$folder/the-other-one/$file"; then
        echo "ok reproducible: $(basename "$file") $(sha256sum "$folder/one/$file" | cut -c 1-16)"
    else
        echo "not ok reproducible: $(basename "$file") differs"
        failed=1
    fi
done
exit $failed
