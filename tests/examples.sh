#!/bin/sh
# Runs the programs of examples/*.c on made data and checks their output.
#
#   sh examples.sh RANKWOOD QUICKSTART CUSTOM_OBJECTIVE
set -u
# Meson gives paths from the build folder.
rankwood=$(realpath "$1") quickstart=$(realpath "$2") custom=$(realpath "$3") || exit 2
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 2
fail() {
    echo "examples: $*" >&2
    exit 1
}
for set in 'train 80 1' 'valid 30 2' 'test 30 3'; do
    set -- $set
    "$rankwood" synth --shape letor --queries "$2" --seed "$3" -o "$1.txt" || fail "synth failed"
done

"$quickstart" train.txt valid.txt test.txt model.txt >out || fail "quickstart: exit $?"
# The program and the library say the same of the same model.
value=$(sed -n 's/.*ndcg@10 of the test set: //p' out)
[ -n "$value" ] || fail "quickstart printed: $(cat out)"
"$rankwood" eval test.txt --model model.txt --metric ndcg@10 >eval.out 2>eval.err || fail "eval failed"
grep -q "$value" eval.out || fail "quickstart says $value, eval says: $(cat eval.out)"
"$quickstart" train.txt valid.txt missing.txt other.txt 2>err && fail "a missing file is accepted"
grep -q "missing.txt" err || fail "the message does not name the file: $(cat err)"
[ ! -e other.txt ] || fail "a model was written all the same"

"$custom" train.txt valid.txt custom.txt >out || fail "custom_objective: exit $?"
grep -q "trees written to 'custom.txt'" out || fail "custom_objective printed: $(cat out)"
"$rankwood" eval test.txt --model custom.txt --metric ndcg@10 >eval.out 2>eval.err ||
    fail "eval does not take the custom model: $(cat eval.err)"
cmp -s model.txt custom.txt && fail "the callbacks changed nothing"
echo "examples: quickstart and custom_objective run"
