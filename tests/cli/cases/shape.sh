# room: tree
# long
# --interactions, --feature-penalty, --sample-features-node and --sample-docs.
small_data
train() {
    "$RANKWOOD" train train.txt --leaves 15 --min-docs 3 --quiet "$@"
}
same() { # name options
    echo "$1"
    shift
    same_model "$@"
    train "$@" --rounds 6 --batch 1 -o other
    say '  a node at a time' cmp whole other
    train "$@" --rounds 3 --init first -o other
    say '  goes on from a model' cmp whole other
    say '  another model' sh -c '! cmp -s whole free'
}
train --rounds 6 -o free
say 'not in other models' sh -c '! grep -E "^(interactions|feature-penalty|sample-docs|sample-features-node)" free'
same groups --interactions '1-25;20-46'
grep '^interactions' whole
cp whole groups
same penalty --feature-penalty 1-20:0.5,40:2
grep '^feature-penalty' whole
same node --sample-features-node 0.3
grep '^sample-features-node' whole
same docs --sample-docs 0.6
grep '^sample-docs' whole
same all --interactions '1-25;20-46' --feature-penalty 1-46:0.1 --sample-features-node 0.5 --sample-docs 0.8 --monotone 25:+ --grow levels --depth 3 2>said
sort -u said

# The features of each way from the root lie in one group; one that is in none is alone.
train --interactions '1-25;20-40' --rounds 6 -o groups
for model in groups free; do
    for t in 1 2 3 4 5 6; do "$RANKWOOD" show $model --tree $t; done | awk '
        / feature [0-9]/ {
            match($0, /^ */)
            depth = RLENGTH / 2
            for (i = 1; $(i - 1) != "feature"; i++) {}
            way[depth] = $i + 0
            first = second = 1
            for (d = 0; d <= depth; d++) {
                first = first && way[d] >= 1 && way[d] <= 25
                second = second && way[d] >= 20 && way[d] <= 40
                alone = d == 0 || (alone && way[d] == way[0])
            }
            broken += !(first || second || alone)
            n++
        }
        END { print (n > 20 ? "ways:" : "few ways:"), (broken ? "some of no group" : "each of one group") }'
done

# A penalty that no gain reaches, and a penalty of 0.
train --feature-penalty 1-24:1e30,26-46:1e30 --rounds 2 -o one
"$RANKWOOD" info one | grep '^features  '
train --feature-penalty 1-46:0 --rounds 6 -o none
say 'penalties of 0 change nothing' sh -c 'grep ^leaf free >a; grep ^leaf none >b; cmp a b'
try train train.txt --min-docs 3 --feature-penalty 1-46:1e30 --quiet -o no
# Names and ranges are ids in the model.
printf '25 bm25\n40 length:raw\n' >names
train --names names --interactions 'bm25,1-3;length:raw,30-32,33' --feature-penalty length:raw:2,bm25:0.50 --rounds 2 -o named
grep -E '^(interactions|feature-penalty)' named
printf 'interactions = 1-25;20-46\nfeature-penalty = 1:1\n' >config
train --config config --rounds 2 -o other
grep -E '^(interactions|feature-penalty)' other
# A model that keeps to no groups, or others; a refit; cross-validation.
try train train.txt --interactions '1-25;20-40' --init free --quiet -o no
try train train.txt --interactions '1-25;20-46' --rounds 6 --leaves 15 --min-docs 3 --resume ck --quiet -o no
try train --strict train.txt --refit free --interactions '1-25' --quiet -o no
try train --strict train.txt --refit free --feature-penalty 1:1 --quiet -o no
try train --strict train.txt --refit free --sample-docs 0.5 --quiet -o no
try train --strict train.txt --refit free --sample-features-node 0.5 --quiet -o no
"$RANKWOOD" train train.txt --refit groups --quiet -o refit
grep '^interactions' refit
"$RANKWOOD" cv train.txt --folds 3 --rounds 3 --min-docs 3 --interactions '1-25' --sample-docs 0.5 --ties mean --quiet -o folds >cv.txt
grep -hE '^(interactions|sample-docs)' folds/fold-*.txt
for list in ';' '1;' '1;;2' '1,;2' ',1' '1,1' '1-3,2' '1;x' '1:2' '99999' '999' '1;900-999' 'nobody'; do
    try train train.txt --interactions "$list" --quiet -o no
done
for list in 1 1: :1 1:x 1:-1 1:nan 1:inf 1:1e31 1:1, ,1:1 1:1,1:2 1-3:1,2:2 1:1:1 99999:1 999:1 x:1 '1:1;2:1'; do
    try train train.txt --feature-penalty "$list" --quiet -o no
done
try train train.txt --interactions 1-5 --ignore 1-5 --quiet -o no
for value in 0 1.5 x -1 nan; do
    try train train.txt --sample-docs=$value --quiet -o no
    try train train.txt --sample-features-node=$value --quiet -o no
done
try train train.txt --interaction_constraints 1 --quiet -o no
try train train.txt --feature_contri 1 --quiet -o no
say none test ! -e no
# Of lists, what --features leaves out is forgotten; trees are those of lists without it.
train --rounds 4 --features 1-20 --interactions '1-8,30;5-20;31-46' --feature-penalty 2:0.1,40:3 --monotone 1:+,30:- -o whole
grep -E '^(ignore|interactions|feature-penalty|monotone) = ' whole
train --rounds 4 --ignore 21-46 --interactions '1-8;5-20' --feature-penalty 2:0.1 --monotone 1:+ -o other
say "the same by --ignore" cmp whole other
train --rounds 2 --features 1-20 --feature-penalty 40:3 --monotone 30:- -o whole
say "lists of none" sh -c '! grep -E "^(feature-penalty|monotone) = " whole'
try train train.txt --features 1-20 --interactions '31-40;41-46' --quiet -o no
say none test ! -e no
