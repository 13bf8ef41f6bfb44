# room: train
# A training that makes no trees says why, fails, and leaves an older model as it was.
"$RANKWOOD" synth --shape letor --queries 2 --seed 1 -o data.txt
echo 'yesterday' >model.txt
try train data.txt --rounds 10 --min-docs 1000 -o model.txt
try train data.txt --rounds 10 --sample-queries 0.3 --min-docs 1000 --quiet -o model.txt
cat model.txt
ls
# 30 documents and a sample in which no tree could be split: ten empty trees were a model once, which
# no command could read.
awk 'BEGIN { for (q = 1; q <= 3; q++) for (d = 0; d < 10; d++) printf "%d qid:%d 1:%d 2:%d\n", d % 3, q, d, (d * 7 + q) % 10 }' \
    >data.txt
try train data.txt --rounds 10 --sample-queries 0.3 --min-docs 12 --seed 3 --quiet -o model.txt
cat model.txt
# What chance left without a split at the end is not written.
"$RANKWOOD" train data.txt --rounds 12 --sample-queries 0.3 --min-docs 12 --seed 4 --quiet -o model.txt
sed -n '/^empty-rounds/p; /^trees/p' model.txt
say 'the last tree has a split' test "$(sed -n 's/^tree .* leaves //p' model.txt | tail -n 1)" -gt 1
"$RANKWOOD" predict model.txt data.txt | wc -l | grep -cx 30
# A validation set in which no query counts stops nothing: an error.
sed 's/^[0-9]/0/' data.txt >flat.txt
try train data.txt --valid flat.txt --min-docs 1 --quiet -o model.txt
try train data.txt --valid flat.txt --early-stop 0 --rounds 1 --min-docs 1 --quiet -o model.txt
