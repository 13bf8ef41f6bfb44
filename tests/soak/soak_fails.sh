#!/bin/sh
# soak.py must see what soak_server does wrong on purpose.
#
#   sh tests/soak/soak_fails.sh PROGRAM SERVER
set -u
program=$1 server=$2
here=$(cd "$(dirname "$0")" && pwd)
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
failed=0

# fault, expected message
sees() {
    python3 "$here/soak.py" --program "$program" --server "$server" --seconds 3 --day 1 --queries 60 --rate 2000 --swap 20 \
        --every 200 --fault "$1" "$dir/$1" >"$dir/log" 2>&1
    status=$?
    if [ "$status" = 1 ] && grep "^not ok soak: .*$2" "$dir/log"; then
        return
    fi
    echo "soak.py does not see '$1': it exits with $status"
    cat "$dir/log"
    failed=1
}
sees answer 'answers that are wrong: '
sees free 'the server ends with -'
sees leak 'heap_kib grows by\|rss_kib grows by'
sees descriptor 'descriptors of the server grow'
exit "$failed"
