# room: params
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
"$RANKWOOD" info a --json | grep -e '^  "leaves": ' -e '^  "rounds' -e '^  "metric"'
echo 'num_leaves = 3' >c1
printf 'leaves = 3\nrate = 0.1\nleaves = 3\n' >c2
echo 'leaves' >c3
printf '\n\nleaves = 1\n' >c4
for c in c1 c2 c3 c4 nothing .; do
    try train train.txt --config $c -o m
done
# One file serves tune, train and eval: a parameter in the file may have no effect, an option may not.
cat >one <<'END'
leaves = 7
rounds = 3
early-stop = 2
metric = map
ties = mean
relevant = 2
hist = lanes
sigma = 2
END
say search "$RANKWOOD" train train.txt --valid valid.txt.gz --config one --quiet -o m
say fit "$RANKWOOD" train train.txt --config one --quiet -o m
"$RANKWOOD" info m --json | grep -e '^  "leaves": ' -e '^  "rounds'
"$RANKWOOD" train train.txt --leaves 7 --rounds 3 --sigma 2 --quiet -o plain
"$RANKWOOD" show m --tree 3 >m.tree
say trees sh -c '"$RANKWOOD" show plain --tree 3 | cmp m.tree -'
say regression "$RANKWOOD" train train.txt --config one --objective regression --quiet -o m
"$RANKWOOD" eval train.txt --model plain --metric map --ties mean --relevant 2 >a.eval
"$RANKWOOD" eval train.txt --model plain --config one >b.eval
say eval cmp a.eval b.eval
say like "$RANKWOOD" eval train.txt --model plain --config one --metric ndcg@10 --like lightgbm >like 2>like.err
try train train.txt --config one --early-stop 2 -o n
try train --strict train.txt --config one --objective regression --sigma 2 -o n
try train train.txt --config c --config c -o m
say "no model" test ! -e n
