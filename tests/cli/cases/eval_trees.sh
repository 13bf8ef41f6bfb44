# room: model
# eval --trees uses the same first trees as predict --trees.
small_model
measure() { # without the warning about tied documents
    "$RANKWOOD" eval valid.txt.gz "$@" --metric ndcg@10,map 2>/dev/null
}
for n in 1 2 5; do
    "$RANKWOOD" predict model.txt valid.txt.gz --trees $n -o scores
    measure --scores scores >of_scores
    measure --model model.txt --trees $n >of_trees
    say "$n trees" cmp of_scores of_trees
    sed -n 2p of_trees
done
measure --model model.txt >of_all
say 'all 5' cmp of_trees of_all
measure --model model.txt --trees 2 --audit | sed -n '1,2p'
measure --model model.txt --trees 2 --like lightgbm | sed -n 2p
try eval valid.txt.gz --model model.txt --trees 6
try eval valid.txt.gz --model model.txt --trees 0
try eval valid.txt.gz --model model.txt --trees two
try eval valid.txt.gz --scores scores --trees 2
# The model's number of trees is looked at before the data.
try eval nowhere.txt --model model.txt --trees 6
sed 's/^trees .*/trees 0/; /^tree 1/,$d' model.txt >body
sum=$(gzip -c body | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')
{ cat body; echo "checksum $sum"; } >none.txt
try eval valid.txt.gz --model none.txt --trees 1
try predict none.txt valid.txt.gz --trees 1
