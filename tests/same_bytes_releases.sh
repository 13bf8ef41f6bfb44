#!/bin/sh
# Lists the trainings whose trees differ from those of an earlier release. Both programs train every configuration of
# tests/configurations.sh, on data made by the older one, and the model files are compared. CHANGELOG.md lists
# differences first. Exit 1 if a training fails; a difference is not a failure.
#
# `as_older` removes the additions of a newer format before the comparison, so that equal trees compare equal: the
# covers of leaves, the kind of columns, the version and the checksum. The script prints the largest ratio of the files'
# sizes.
#
#   sh tests/same_bytes_releases.sh PROGRAM OLDER_PROGRAM
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 2 ] && [ -x "$1" ] && [ -x "$2" ] || {
    echo "same_bytes_releases: expected two programs, PROGRAM and OLDER_PROGRAM; found: $*" >&2
    exit 2
}
newer=$(realpath "$1") older=$(realpath "$2")
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
export LC_ALL=C
scale=1 NAMES=${NAMES:-} n=0 n_differ=0 failed=0 most=0
as_older() { # FILE: without the lines and fields that a newer format has, and without version and checksum
    sed -e '1d' -e '/^checksum /d' -e '/^columns /d' -e '/^leaf /s/ docs .*//' "$1"
}
program=$older # its data and its model for --init are read by both
. "$root/tests/configurations.sh"
program=$newer
while IFS='|' read -r name data valid rest; do
    name=${name%% *} n=$((n + 1))
    rm -f new.model old.model
    "$program" train "$data" --valid "$valid" $rest --quiet --device cpu -o new.model 2>err &&
        "$older" train "$data" --valid "$valid" $rest --quiet --device cpu -o old.model 2>err || {
        echo "not ok same_bytes_releases: $name: $(head -n 1 err)"
        failed=1
        continue
    }
    as_older new.model >new.trees
    as_older old.model >old.trees
    cmp -s new.trees old.trees || {
        n_differ=$((n_differ + 1))
        echo "differs: $name: $rest"
    }
    ratio=$(($(wc -c <new.model) * 1000 / $(wc -c <old.model)))
    [ $ratio -le $most ] || most=$ratio largest=$name
done <configurations
echo "$n trainings by $("$program" --version | head -n 1) and $("$older" --version | head -n 1): $n_differ have other trees"
echo "the largest model, $largest, has $most thousandths of its older file's size"
exit $failed
