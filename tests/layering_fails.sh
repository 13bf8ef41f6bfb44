#!/bin/sh
# Shows that tests/layering.sh can fail: breaks a copy of the tree in each way once.
#
#   sh tests/layering_fails.sh [ROOT]
set -u
root=$(cd "${1:-$(dirname "$0")/..}" && pwd) || exit 2
copy=$(mktemp -d) && trap 'rm -rf "$copy"' EXIT
failed=0

fresh() {
    rm -rf "$copy/tree"
    mkdir "$copy/tree"
    (cd "$root" && cp -R src lab examples docs tests meson.build "$copy/tree") || exit 2
}

must_fail() { # what, pattern of the message
    if message=$(sh "$root/tests/layering.sh" "$copy/tree"); then
        echo "not noticed: $1"
        failed=1
    elif ! printf '%s\n' "$message" | grep -q "$2"; then
        echo "noticed, but with other words: $1: $message"
        failed=1
    fi
    fresh
}

fresh
if ! message=$(sh "$root/tests/layering.sh" "$copy/tree"); then
    echo "the unbroken tree is refused: $message"
    exit 1
fi
broken() { # file, line
    printf '%s\n' "$2" >>"$copy/tree/$1"
}

broken src/base/ctx.c '#include "dataset/dataset.h"'
must_fail 'base includes data' "'base' may not include"
broken src/binning/bins.c '#include "metric/metric.h"'
must_fail 'binning includes metric' "'binning' may not include"
broken src/metric/dcg.c '#  include "model/tree.h"'
must_fail 'metric includes model' "'metric' may not include"
broken src/io/letor.c '#include "metric/dcg.h"'
must_fail 'io includes metric' "'io' may not include"
broken src/tree/grower.c '#include "boost/params.h"'
must_fail 'tree includes boost' "'tree' may not include"
broken src/boost/booster.c '#include "gpu/device/device.h"'
must_fail 'somebody includes gpu' "'boost' may not include"
broken src/base/ctx.c '#include "../dataset/dataset.h"'
must_fail 'a way around by ..' "'base' may not include"
broken src/cli/main.c '#include "base/ctx.h"'
must_fail 'cli looks inside' "'cli' may not include"
broken examples/quickstart.c '#include "base/ctx.h"'
must_fail 'an example looks inside' "'examples' may not include"
broken src/rankwood.h '#include "base/ctx.h"'
must_fail 'the public header looks inside' 'public header'
broken src/rankwood_score.h '#include "rankwood.h"'
must_fail 'the header of scoring needs the rest' 'public header'
broken src/bench/bench.c '#include "lab/lab.h"'
must_fail 'the library looks into the laboratory' "'bench' may not include \"lab/lab.h\""
broken tests/check/check_run.c '#include "lab/lab.h"'
must_fail 'a test looks into the laboratory' 'nobody may include lab'
cp "$copy/tree/src/base/mem.c" "$copy/tree/src/metric/mem.c"
must_fail 'a file name twice' "not unique: 'mem.c'"
awk 'BEGIN { for (i = 0; i < 601; i++) print "/* */" }' >"$copy/tree/src/base/long.c"
must_fail 'a long file' 'more than 600'
broken src/base/ctx.c "/* see /$(printf wor)k/somewhere */"
must_fail 'a path of one machine' 'path of one machine'

[ "$failed" = 0 ] && echo "layering.sh notices all 16 ways of breaking it"
exit "$failed"
