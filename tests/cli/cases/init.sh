# room: train
# long
# Continuing a model gives the model of one training, on every engine; also for an imported model.
small_data
train() { "$RANKWOOD" train train.txt --leaves 7 --quiet "$@"; }
resume() {
    kind=$1
    shift
    train "$@" --rounds 6 -o first.txt
    train "$@" --rounds 11 -o whole.txt
    for device in cpu ref sim; do
        train "$@" --rounds 5 --init first.txt --device $device -o on.txt
        say "$kind, $device: as in one run" cmp -s on.txt whole.txt
    done
}
resume plain
resume 'metrics of each round' --valid valid.txt.gz --early-stop 0 --ties mean --train-metric on
resume 'samples, newton' --sample-queries 0.6 --sample-features 0.5 --split newton
resume yetirank --objective yetirank --rounding nearest
# Over itself; names stay.
echo '3 three' >names
train --rounds 2 --names names -o model.txt
train --rounds 2 --init model.txt -o model.txt
grep -e '^rounds = ' -e '^trees ' -e '^3 three' model.txt
# Thresholds that differ from the data's boundaries. Early stopping never drops the initial trees, whichever round is
# best.
"$RANKWOOD" import "$CLI_TESTS/../golden/convert/lgb_rank.lightgbm" --from lightgbm --feature-base 1 -o theirs.txt 2>/dev/null
absent=$(sed -n 's/^absent //p' theirs.txt)
n=$(sed -n 's/^trees //p' theirs.txt)
train --absent "$absent" --init theirs.txt --rounds 3 --valid valid.txt.gz --ties mean --early-stop 2 -o on.txt
"$RANKWOOD" predict theirs.txt train.txt >theirs.scores 2>/dev/null
"$RANKWOOD" predict on.txt train.txt --trees "$n" >first.scores 2>/dev/null
say 'its trees come first' cmp -s theirs.scores first.scores
say 'and stay' test "$(sed -n 's/^trees //p' on.txt)" -ge "$n"
train --absent "$absent" --init theirs.txt --rounds 3 --device ref -o ref.txt
train --absent "$absent" --init theirs.txt --rounds 3 --device cpu --threads 3 -o cpu.txt
say 'one model' cmp -s ref.txt cpu.txt
"$RANKWOOD" train train.txt --init first.txt --rounds 1 --leaves 4 --rate 0.2 --objective regression -o on.txt 2>&1 | sed -n 's/.*note: the/the/p'
try train train.txt --init theirs.txt --absent missing --quiet -o x
try train train.txt --init nothing -o x
try train train.txt --init first.txt --plan
# What most documents do not state is missing: sparse columns.
"$RANKWOOD" synth --shape yahoo --queries 30 --seed 3 -o train.txt
resume 'sparse, absent is missing' --absent missing --min-docs 3
