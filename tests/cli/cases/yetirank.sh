# room: objective
# long
# YetiRank: the same model on every engine and any number of threads; its parameters matter.
"$RANKWOOD" synth --shape letor --queries 120 --seed 1 -o a.txt
one() { # model options...
    model=$1
    shift
    "$RANKWOOD" train a.txt --objective yetirank --rounds 12 --quiet -o "$model" "$@"
}
one first --device cpu --threads 1
for way in 'cpu 3' 'ref 1' 'sim 2'; do
    set -- $way
    one other --device "$1" --threads "$2"
    say "$1, $2 threads: the same" cmp first other
done
"$RANKWOOD" predict first a.txt -o first.scores # models differ by their parameters alone
for option in --delta=ndcg --delta=dcg --delta=map --delta=mrr --delta=err --delta=p@5 --delta=none --seed=1 --seed=2 --permutations=9 --decay=0.8 --sigma=2 --truncation=5 --label-gain=linear; do
    one other --device cpu $option
    "$RANKWOOD" predict other a.txt -o other.scores
    say "$option: the same scores" cmp -s first.scores other.scores
done
for delta in dcg map err p@5; do # each on every engine, and its name in the model
    one by --device cpu --delta "$delta"
    for way in 'cpu 3' 'ref 1' 'sim 2'; do
        set -- $way
        one other --device "$1" --threads "$2" --delta "$delta"
        say "$delta, $1: the same" cmp by other
    done
    "$RANKWOOD" info by --json | grep -o '"delta": *"[a-z@0-9]*"'
done
# gains that dcg's lambdas are too large for
sed 's/^2/24/' a.txt >large.txt
try train large.txt --objective yetirank --delta dcg --rounds 1 -o m
"$RANKWOOD" info first --json | grep '^  "objective"' | grep -o '"objective": *"[a-z]*"'
