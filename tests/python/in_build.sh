#!/bin/sh
# Runs tests of the package over the module of a build, which is not installed: those with a line '# room: ROOM', or,
# for the room `python`, those without such a line.
#
#   sh tests/python/in_build.sh PYTHON MODULE PROGRAM ROOM
set -u
root=$(cd "$(dirname "$0")/../.." && pwd) || exit 2
python=$1 module=$(realpath "$2") room=$4
RANKWOOD_PROGRAM=$(realpath "$3")
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
mkdir "$folder/rankwood" && ln -s "$root"/python/rankwood/*.py "$root/python/rankwood/compat" "$module" "$folder/rankwood" || exit 2
PYTHONPATH=$folder PYTHONDONTWRITEBYTECODE=1
export RANKWOOD_PROGRAM PYTHONPATH PYTHONDONTWRITEBYTECODE
cd "$root/tests/python" || exit 2
case $room in
python) set -- $(grep -L '^# room: ' test_*.py) ;;
*) set -- $(grep -lx "# room: $room" test_*.py) ;;
esac
"$python" -m pytest -q -p no:cacheprovider --rootdir "$root" --tb=short "$@"
