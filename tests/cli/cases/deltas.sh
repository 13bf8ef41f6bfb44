# room: objective
# long
# lambdarank's deltas and pairs: the same model on every engine, any number of threads and of workers. Only the first
# queries have the best label, which err's chances to stop depend on.
"$RANKWOOD" synth --shape letor --queries 60 --seed 1 -o made.txt
awk '$2 != q { q = $2; n++ } $1 == 2 && n < 8 { $1 = 4 } { print }' made.txt >a.txt
train() {
    "$RANKWOOD" train a.txt --min-docs 5 --quiet "$@"
}
one() { # model options...
    model=$1
    shift
    train --rounds 6 -o "$model" "$@"
}
for of in '--delta err' '--delta map --relevant 2' '--delta mrr --pairs all --norm off' '--delta p@3 --pairs mean:5' \
    '--delta dcg --split newton' '--delta none --pairs mean:1' '--pairs mean:2' '--pairs all'; do
    echo "$of"
    same_model $of
    "$RANKWOOD" predict whole a.txt -o whole.scores # models differ by their parameters alone
    for option in --seed=2 --sigma=2 --label-gain=linear; do
        one other --device cpu $of $option
        "$RANKWOOD" predict other a.txt -o other.scores
        say "  the same scores with $option" cmp -s whole.scores other.scores
    done
    grep -c -e '^delta = ' -e '^pairs = ' whole
done
# All pairs by NDCG are no truncation.
one none --truncation none
"$RANKWOOD" predict none a.txt -o none.scores
say "as --truncation none" cmp -s whole.scores none.scores
# Given pairs: any order in the file, any worker's queries.
awk '{ sub("qid:", "", $2) } $2 != q { q = $2; n = 0 } { n++; label[n] = $1 }
    n > 2 && label[n] != label[n - 2] { b = label[n] > label[n - 2] ? n : n - 2; print q, b, 2 * n - 2 - b, n % 3 + 0.5 }' a.txt |
    sort -k 2n >pairs.txt
for of in '--delta none' '--delta map' '--split newton --norm off'; do
    echo "given pairs $of"
    same_model --pairs-file pairs.txt $of
    grep -e '^delta = ' -e '^pairs' whole
done
# All of a query's pairs by hand are all pairs.
awk '{ sub("qid:", "", $2) } $2 != q { q = $2; n = 0 }
    { label[++n] = $1; for (i = 1; i < n; i++) if (label[i] != label[n]) print q, (label[i] > label[n] ? i " " n : n " " i) }' a.txt >all.txt
one first --delta none --pairs all --rounding nearest
one other --delta none --pairs-file all.txt --rounding nearest
"$RANKWOOD" predict first a.txt -o first.scores
"$RANKWOOD" predict other a.txt -o other.scores
say "all pairs, given" cmp -s first.scores other.scores
# Parts of the data have their own pairs, and a checkpoint knows them.
"$RANKWOOD" cv a.txt --pairs-file all.txt --delta none --rounds 3 --rounding nearest --folds 3 --quiet -o folds >given 2>&1
rm -r folds
"$RANKWOOD" cv a.txt --pairs all --delta none --rounds 3 --rounding nearest --folds 3 --quiet -o folds >all 2>&1
rm -r folds
say "all pairs of each fold, given" cmp given all
one other --pairs-file pairs.txt --checkpoint saved
sed '1s/[0-9.]*$/7/' pairs.txt >others.txt
try train a.txt --rounds 6 --min-docs 5 --quiet --pairs-file others.txt --checkpoint saved --resume saved -o nothing
rm saved others.txt given all
try train a.txt --pairs given -o nothing
try train --strict a.txt --pairs-file pairs.txt --pairs all -o nothing
try train --strict a.txt --pairs all --pairs-file pairs.txt -o nothing
try train --strict a.txt --pairs-file pairs.txt --objective xendcg -o nothing
try train --strict a.txt --pairs-file pairs.txt --truncation 5 -o nothing
echo '1 1 2' >>pairs.txt
try train a.txt --pairs-file pairs.txt --quiet -o nothing --ranks 2
ls
# The best gain that there is: dcg's deltas reach 2^31.
awk '{ $1 = $1 * 15.5; print }' made.txt >a.txt
one first --delta dcg --norm off --sigma 100 --pairs all
one other --delta dcg --norm off --sigma 100 --pairs all --ranks 2
say "gains of 2^31: the same" cmp first other
"$RANKWOOD" predict first a.txt | awk '/[a-z][a-z]/ { n++ } END { print n + 0 " scores are no numbers" }'
