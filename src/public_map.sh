#!/bin/sh
# Prints the map with the names of the functions that the headers declare in place of rw_*, for libraries whose other
# symbols are visible, too.
#
#   sh public_map.sh MAP HEADER...
map=$1
shift
names=$(cat "$@" | tr '\n' ' ' | grep -o 'RW_API [^;]*;' | grep -v __attribute__ | sed 's/(.*/;/; s/.*[ *]//' |
    grep -vxFe "$(grep -o 'rw_[a-z0-9_]*;' "$map")" | tr '\n' ' ')
sed "s/rw_\\*;/$names/" "$map"
