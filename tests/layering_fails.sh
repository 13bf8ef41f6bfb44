#!/bin/sh
# Shows that tests/layering.sh can fail: breaks a copy of the tree in every way, and expects a report of each.
#
#   sh tests/layering_fails.sh [ROOT]
set -u
root=$(cd "${1:-$(dirname "$0")/..}" && pwd) || exit 2
copy=$(mktemp -d) && trap 'rm -rf "$copy" "$copy.expected"' EXIT
cd "$copy" || exit 2
n=0

(cd "$root" && cp -R src lab examples docs tests meson.build "$copy") || exit 2
if ! message=$(sh "$root/tests/layering.sh" "$copy"); then
    echo "the unbroken tree is refused: $message"
    exit 1
fi

must_tell() { # a pattern of a line
    printf '%s\n' "$1" >>"$copy.expected"
    n=$((n + 1))
}

# adds an include that FILE may not have, and expects the message
may_not() { # file, its include, the message
    printf '#  include "%s"\n' "$2" >>"$1"
    must_tell "^$1:[0-9]*: $3"
}
may_not src/base/ctx.c dataset/dataset.h "'base' may not include \"dataset/dataset.h\""
may_not src/base/ctx.c ../dataset/dataset.h "'base' may not include \"../dataset/dataset.h\""
may_not src/binning/bins.c metric/metric.h "'binning' may not include"
may_not src/metric/metric.c model/model.h "'metric' may not include"
may_not src/io/letor.c metric/metric.h "'io' may not include"
may_not src/tree/grower.c params/params.h "'tree' may not include"
may_not src/train/booster.c gpu/device/device.h "'train' may not include"
may_not src/params/params.c tree/engine.h "'params' may not include"
may_not src/bench/bench.c lab/lab.h "'bench' may not include \"lab/lab.h\""
may_not src/cli/main.c base/ctx.h "'cli' may not include"
may_not examples/quickstart.c base/ctx.h "'examples' may not include"
may_not tests/check/check_run.c lab/lab.h "nobody may include lab"
echo '#include "base/ctx.h"' >>src/rankwood.h
must_tell '^src/rankwood\.h:[0-9]*:#include "base/ctx\.h"'
echo '#include "rankwood.h"' >>src/rankwood_score.h
must_tell '^src/rankwood_score\.h:[0-9]*:#include "rankwood\.h"'
must_tell 'the public headers may not include others'
cp src/base/mem.c src/metric/mem.c
must_tell "not unique: 'mem\.c' in .*src/metric/mem\.c"
awk 'BEGIN { for (i = 0; i < 1001; i++) print "/* */" }' >src/base/long.c
must_tell '^src/base/long\.c: 1001 lines; more than 1,000'
echo "/* see /$(printf wor)k/somewhere */" >>src/base/ctx.c
must_tell '^path of one machine: src/base/ctx\.c:'

echo 1 >left.csv
must_tell '^data file at the root: left\.csv'

if message=$(sh "$root/tests/layering.sh" "$copy"); then
    echo "the broken tree is taken"
    exit 1
fi
failed=0
while IFS= read -r pattern; do
    printf '%s\n' "$message" | grep -q "$pattern" || {
        echo "not told of: $pattern"
        failed=1
    }
done <"$copy.expected"
[ "$failed" = 1 ] && printf '%s\n' "$message" || echo "layering.sh tells of all $n"
exit "$failed"
