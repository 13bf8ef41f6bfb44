#!/bin/sh
# Which trainings have other bytes than those of an earlier release: every configuration of tests/configurations.sh is
# trained by both programs, on data of this one's, and the model files are compared. What differs stands first in
# CHANGELOG.md. Exit 1 if a training fails; a difference is no failure here.
#
#   sh tests/same_bytes_releases.sh PROGRAM OLDER_PROGRAM
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
[ $# = 2 ] && [ -x "$1" ] && [ -x "$2" ] || {
    echo "same_bytes_releases: expected two programs, PROGRAM and OLDER_PROGRAM; found: $*" >&2
    exit 2
}
program=$(realpath "$1") older=$(realpath "$2")
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
export LC_ALL=C
scale=1 NAMES=${NAMES:-} n=0 n_differ=0 failed=0
. "$root/tests/configurations.sh"
while IFS='|' read -r name data valid rest; do
    name=${name%% *} n=$((n + 1))
    rm -f new.model old.model
    "$program" train "$data" --valid "$valid" $rest --quiet --device cpu -o new.model 2>err &&
        "$older" train "$data" --valid "$valid" $rest --quiet --device cpu -o old.model 2>err || {
        echo "not ok same_bytes_releases: $name: $(head -n 1 err)"
        failed=1
        continue
    }
    cmp -s new.model old.model || {
        n_differ=$((n_differ + 1))
        echo "differs: $name: $rest"
    }
done <configurations
echo "$n trainings by $("$program" --version | head -n 1) and $("$older" --version | head -n 1): $n_differ have other bytes"
exit $failed
