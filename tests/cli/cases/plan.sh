# room: train
# The memory and time that a training would need.
small_data
"$RANKWOOD" train train.txt --valid valid.txt.gz --device cpu --threads 1 --rounds 5 --leaves 7 --plan |
    sed 's/[0-9][0-9.e+]*  ms/TIME/; s/ *[1-9][0-9]*  bytes/ N bytes/' | tr -s ' '
# The parts add up to the total.
"$RANKWOOD" train train.txt --rounds 5 --leaves 7 --plan --quiet --device cpu |
    awk '$1 == "total" { all = $2; next } $1 != "available" && $3 == "bytes" { sum += $2 } END { print (sum == all && sum > 0 ? "adds up" : "does not add up") }'
# (Available memory changes from moment to moment.) A plan writes no files, whichever are named.
"$RANKWOOD" train train.txt --rounds 5 --leaves 7 --plan --quiet --device cpu -o model.txt | grep -v '^available' | tr -s ' ' >plan.txt
say model test -e model.txt
# A cache has the same plan.
"$RANKWOOD" bin train.txt -o train.rwb
"$RANKWOOD" train train.rwb --rounds 5 --leaves 7 --plan --quiet --device cpu | grep -v '^available' | tr -s ' ' | cmp - plan.txt
# More leaves are more histograms, where there are documents for them.
"$RANKWOOD" synth --shape letor --queries 400 -o made.rwb 2>made.txt
bytes() {
    "$RANKWOOD" train made.rwb --rounds 5 --plan --quiet --device cpu "$@" | awk '$1 == "histograms" { print $2 }'
}
say more test "$(bytes --leaves 2)" -lt "$(bytes --leaves 4)"
try train train.txt --plan --rounds 1 --leaves 7 --quiet --device sim
try train train.txt --plan --log l --quiet
try train --plan
# Small data is the processor's, without a word.
"$RANKWOOD" train train.txt --rounds 5 --leaves 7 --plan | head -n 1
