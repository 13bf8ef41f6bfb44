#!/bin/sh
# Tests the recipes: adds an example member of each table to a copy of the tree by the steps in the table's header, and
# no others. The changed files are compiled and linked with the objects of BUILDS/release (link.py), and the tests of
# every member also run on the new one. Prints the files that each recipe touched.
#
#   sh tests/recipes/recipes.sh BUILDS          builds in BUILDS/recipes; BUILDS/release is run.sh's
#
# A recipe is a folder with its new files, in their places in the tree, and `rows`: a file name, a tab, and the sed
# command that adds a row. The histogram method is compiled if nvcc exists; a GPU is needed to check its results:
# `check_hist --method made`, built from BUILDS/recipes/tree.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && builds=$(cd "$1" && pwd) && build=$builds/recipes || exit 2
tree=$build/tree failed=0
release=$tree/build-tests/release cuda=$tree/build-tests/cuda
if [ ! -x "$builds/release/src/cli/rankwood" ]; then
    echo "not ok recipes: there is no release build"
    exit 1
fi
compiler=gcc
! command -v ccache >/dev/null 2>&1 || compiler="ccache gcc"
rm -rf "$tree"
mkdir -p "$tree" && : >"$build/touched" && (cd "$root" && cp -R src lab docs examples packaging tests meson.build meson_options.txt LICENSE "$tree") || exit 2

for recipe in objective metric engine format reader method; do
    (cd "$here/$recipe" && find src -type f) | while IFS= read -r file; do
        mkdir -p "$tree/$(dirname "$file")" && cp "$here/$recipe/$file" "$tree/$file"
        [ "$recipe" = method ] || echo "$file" >>"$build/touched"
    done
    while IFS="$(printf '\t')" read -r file row; do
        cp "$tree/$file" "$build/before"
        sed -i "$row" "$tree/$file"
        cmp -s "$build/before" "$tree/$file" && {
            echo "not ok recipes: $recipe: no place for its row in $file"
            failed=1
        }
        [ "$recipe" = method ] || echo "$file" >>"$build/touched"
    done <"$here/$recipe/rows"
    echo "recipe $recipe: new: $(cd "$here/$recipe" && find src -type f | tr '\n' ' ')rows in: $(cut -f 1 "$here/$recipe/rows" | sort -u | tr '\n' ' ')"
done

configure() { # folder options
    folder=$1
    shift
    CC=$compiler meson setup "$folder" "$tree" --buildtype=release -Dlab=disabled "$@" >"$build/log" 2>&1
}
tests='objective/objective metric/metric train/eval_sets metric/judgments params/params convert/exchange convert/verify io/reader'
programs="src/cli/rankwood tests/check/check $(printf 'tests/unit/test_%s\n' $tests | sed 's,/[a-z_]*$,,' | sort -u)"
has_cuda=disabled
[ ! -e "$builds/release/src/gpu/hist_common.o" ] || has_cuda=enabled
if ! configure "$release" -Dgpu_arch=sm_90 -Dcuda=$has_cuda ||
    ! python3 "$here/link.py" "$release" "$builds/release" "$build/touched" $programs >>"$build/log" 2>&1; then
    tail -n 30 "$build/log"
    echo "not ok recipes: the tree with all of them does not build"
    exit 1
fi
tail -n 1 "$build/log"

does() { # what command...
    what=$1
    shift
    if "$@" >"$build/log" 2>&1; then
        echo "ok recipes: $what"
    else
        tail -n 20 "$build/log"
        echo "not ok recipes: $what"
        failed=1
    fi
}
unit() { # room/file
    "$release/tests/unit/test_${1%/*}" --filter "${1#*/}/*" >"$build/unit" 2>&1
    cat "$build/unit"
    grep -q 'Tested: [1-9].* Failing: 0 | Crashing: 0' "$build/unit"
}
for test in $tests; do
    does "unit $test" unit "$test"
done
does 'engine: made as ref' "$release/tests/check/check" --engine made

cd "$build" || exit 2
PATH=$release/src/cli:$PATH
rankwood synth --shape letor --queries 60 --seed 1 -o train.txt && rankwood synth --shape letor --queries 40 --seed 2 -o valid.txt || exit 2
for device in cpu ref; do
    does "objective and metric: training on $device" rankwood train train.txt --valid valid.txt --objective made \
        --metric hit@3,ndcg@5 --rounds 8 --device $device --quiet -o $device.model
done
does 'objective and metric: one model' cmp cpu.model ref.model
does 'metric: in the model' grep -q '^metric valid1 hit@3' cpu.model
does 'metric: from the command line' rankwood eval valid.txt --model cpu.model --metric hit@1
does 'format: written, and verified by scoring again' rankwood export cpu.model --to plain --verify valid.txt -o cpu.plain
does 'format: read' rankwood import cpu.plain --from plain -o back.model
rankwood predict cpu.model valid.txt -o one && rankwood predict back.model valid.txt -o two
does 'format: the same scores' cmp one two

# The reader's table, of the same documents.
awk 'BEGIN { print "made table" }
{
    sub(/ *#.*/, "")
    line = $1 "\t" substr($2, 5)
    for (i = 3; i <= NF; i++)
        line = line "\t" substr($i, index($i, ":") + 1)
    print line
}' train.txt >train.table
rankwood train train.txt --rounds 5 --quiet -o one && rankwood train train.table --rounds 5 --quiet -o two
does 'reader: the same model as from LETOR text' cmp one two

if command -v nvcc >/dev/null 2>&1; then
    if configure "$cuda" -Dcuda=enabled; then
        does 'method: the build follows its row' ninja -C "$cuda" src/gpu/hist_made.o
    else
        tail -n 30 "$build/log"
        echo 'not ok recipes: a build with CUDA cannot be configured'
        failed=1
    fi
else
    echo 'skip recipes: method: no nvcc here'
fi
exit $failed
