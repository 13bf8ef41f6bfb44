#!/bin/sh
# The tables of MSLR-WEB30K, Yahoo's LTRC set 1 and Istella LETOR from a copy that you have: all four trainers
# at their defaults, every fold, three seeds, NDCG@10 with 95 % intervals, as Markdown. Missing data are printed as "not
# measured". README.md describes where files must be, and the time and memory.
#
#   sh tests/peers/reproduce.sh --data DIR [OPTION of quality.py]...
#
# --data      the folder that holds MSLR-WEB30K, ltrc_yahoo and istella-letor
# --peers ''  Rankwood alone: no environment with the peers is made
#
# RANKWOOD_BUILD  the build; default build in the tree
set -u
here=$(cd "$(dirname "$0")" && pwd) || exit 2
root=$(cd "$here/../.." && pwd) || exit 2
case " $*" in
*" --data"*) ;;
*) sed -n '6,9s/^#  *//p' "$0" >&2 && exit 2 ;;
esac
. "$here/built.sh"
exec python3 "$here/quality.py" --rankwood "$program" --library "$library" --sets public --settings defaults \
    --markdown --seeds 1-3 --threads "$(nproc)" --peers "$@"
