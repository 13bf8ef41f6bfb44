#!/bin/sh
# A first session with Rankwood: builds it, makes three data sets, trains with early stopping on the
# second, measures on the third, predicts, and shows the model. Installs missing packages with apt. It can be
# run again: all its output is in build-quickstart/. It builds only the program, without the GPU
# engine, whose compilation takes minutes.
#
#   sh examples/quickstart.sh
set -eu
cd "$(dirname "$0")/.."
sh tests/install_deps.sh build
build=build-quickstart
[ -f $build/build.ninja ] || meson setup $build -Dtests=disabled -Dcuda=disabled
ninja -C $build src/cli/rankwood

mkdir -p $build/quickstart
cd $build/quickstart
run() {
    printf '\n$ %s\n' "$*"
    ../src/cli/"$@"
}
run rankwood synth --shape letor --queries 600 --seed 1 -o train.txt.gz
run rankwood synth --shape letor --queries 200 --seed 2 -o valid.txt.gz
run rankwood synth --shape letor --queries 200 --seed 3 -o test.txt.gz
run rankwood train train.txt.gz --valid valid.txt.gz --early-stop 20 -o model.txt
run rankwood eval test.txt.gz --model model.txt --metric ndcg@10 --metric map
run rankwood predict model.txt test.txt.gz -o scores.txt
printf '\n$ head -n 3 scores.txt\n'
head -n 3 scores.txt
run rankwood info model.txt
run rankwood show model.txt --tree 1
printf '\nThe program is %s.\nTrain on a CSV file with a header: %s\n' "$build/src/cli/rankwood" \
    "$build/src/cli/rankwood train FILE.csv --label-column LABEL --qid-column QUERY -o model.txt"
