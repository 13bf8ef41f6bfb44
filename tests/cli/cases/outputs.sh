# An output that cannot be written is reported before the work, and no files are left.
small_model
mkdir folder
for to in folder nowhere/m train.txt/m; do
    try synth --shape letor --queries 1000000 -o $to
    try bin train.txt -o $to
    try train train.txt -o $to
    try train train.txt --log $to -o m
    try predict model.txt train.txt -o $to
    try predict model.txt train.txt --trec $to
    try eval train.txt --model model.txt --per-query $to
done
find . | sort
