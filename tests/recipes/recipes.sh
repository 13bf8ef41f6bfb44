#!/bin/sh
# The recipes are true: a made objective, metric and engine are added to a copy of the tree by the steps
# that objective.h, metric.h and engine.h state, and no others; the copy is built, and what judges every
# member of those tables judges the made ones, too. Prints the files that each recipe touched.
#
#   sh tests/recipes/recipes.sh BUILDS          builds in BUILDS/recipes
#
# A recipe is a folder: its new files, where they go in the tree, and `rows`: a file and, behind a tab,
# the sed command that gives it a row.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
mkdir -p "$1" && build=$(cd "$1" && pwd)/recipes || exit 2
tree=$build/tree failed=0
rm -rf "$tree"
mkdir -p "$tree" && (cd "$root" && cp -R src docs examples tests meson.build meson_options.txt LICENSE "$tree") || exit 2

for recipe in objective metric engine; do
    rows=0
    (cd "$here/$recipe" && find src -type f) | while IFS= read -r file; do
        mkdir -p "$tree/$(dirname "$file")" && cp "$here/$recipe/$file" "$tree/$file"
    done
    while IFS="$(printf '\t')" read -r file row; do
        cp "$tree/$file" "$build/before"
        sed -i "$row" "$tree/$file"
        cmp -s "$build/before" "$tree/$file" && {
            echo "not ok recipes: $recipe: no place for its row in $file"
            failed=1
        }
        rows=$((rows + 1))
    done <"$here/$recipe/rows"
    echo "recipe $recipe: new: $(cd "$here/$recipe" && find src -type f | tr '\n' ' ')rows in: $(cut -f 1 "$here/$recipe/rows" | sort -u | tr '\n' ' ')"
done

again=
[ -f "$build/build/build.ninja" ] && again=--reconfigure
meson setup $again "$build/build" "$tree" --buildtype=release -Doptimization=1 -Dcuda=disabled >"$build/log" 2>&1 &&
    ninja -C "$build/build" src/cli/rankwood tests/check/check tests/unit/test_objective tests/unit/test_metric \
        tests/unit/test_eval_sets tests/unit/test_judgments tests/unit/test_params >>"$build/log" 2>&1 || {
    tail -n 30 "$build/log"
    echo "not ok recipes: the tree with all of them does not build"
    exit 1
}

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
for test in objective metric eval_sets judgments params; do
    does "test_$test" "$build/build/tests/unit/test_$test"
done
does "engine made as ref" "$build/build/tests/check/check" --engine made
cd "$build" || exit 2
PATH=$build/build/src/cli:$PATH
rankwood synth --shape letor --queries 60 --seed 1 -o train.txt && rankwood synth --shape letor --queries 40 --seed 2 -o valid.txt
for device in cpu ref; do
    does "trains by the made objective and metric on $device" rankwood train train.txt --valid valid.txt --objective made \
        --metric hit@3,ndcg@5 --rounds 8 --device $device --quiet -o $device.model
done
does 'one model' cmp cpu.model ref.model
does 'its metric is in the model' grep -q '^metric valid1 hit@3' cpu.model
does 'the metric from the command line' rankwood eval valid.txt --model cpu.model --metric hit@1
exit $failed
