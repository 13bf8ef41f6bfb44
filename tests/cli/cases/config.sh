# --config holds the same names; the command line wins over it.
small_data
cat >c <<'END'
# as measured in May
leaves = 7   # few
rounds=5
metric = ndcg@5
metric = map
early-stop = 0
END
"$RANKWOOD" train train.txt --valid valid.txt.gz --config c --rounds 3 --ties mean --quiet -o a
"$RANKWOOD" train train.txt --valid valid.txt.gz --leaves 7 --rounds 3 --metric ndcg@5,map \
    --early-stop 0 --quiet --ties mean -o b
say same cmp a b
"$RANKWOOD" info a --json | grep -e '"leaves": "' -e rounds -e '"metric"'
echo 'num_leaves = 3' >c1
printf 'leaves = 3\nrate = 0.1\nleaves = 3\n' >c2
echo 'leaves' >c3
printf '\n\nleaves = 1\n' >c4
for c in c1 c2 c3 c4 nothing .; do
    try train train.txt --config $c -o m
done
try eval train.txt --config c --model a
try train train.txt --config c -o m
try train train.txt --config c --config c -o m
