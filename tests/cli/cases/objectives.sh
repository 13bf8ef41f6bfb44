# room: objective
# long
# Objectives whose gradients the host computes give the same model on every engine and any number of threads. Each
# parameter of an objective changes the model, and parameters of other objectives are refused.
"$RANKWOOD" synth --shape letor --queries 120 --seed 1 -o a.txt
awk '{ if ($2 != q) { q = $2; print n++ % 3 } }' a.txt >weights
one() { # objective model options...
    objective=$1 model=$2
    shift 2
    "$RANKWOOD" train a.txt --objective "$objective" --rounds 12 --split newton --quiet -o "$model" "$@"
}
for objective in queryrmse listnet xendcg logistic; do
    one $objective first --device cpu --threads 1
    for way in 'cpu 3' 'ref 1' 'sim 2'; do
        set -- $way
        one $objective other --device "$1" --threads "$2"
        say "$objective: $1, $2 threads: the same" cmp first other
    done
    "$RANKWOOD" predict first a.txt -o first.scores # models differ by their parameters alone
    for option in --seed=1 --rounding=nearest --query-weights=weights; do
        one $objective other $option
        "$RANKWOOD" predict other a.txt -o other.scores
        say "$objective: $option: the same scores" cmp -s first.scores other.scores
    done
    "$RANKWOOD" info first --json | grep '^  "objective"' | grep -o '"objective": *"[a-z]*"'
    for option in --relevant=2 --label-gain=linear --truncation=5; do
        say "$objective: $option: taken" one $objective other --rounding nearest --sample-features 1 $option 2>&1
    done
done
# A seed matters where numbers are drawn.
for objective in listnet xendcg; do
    say "$objective: --seed 2: taken" one $objective second --rounding nearest --sample-features 1 --gain-noise 0 --seed 2 2>&1
done
one logistic first && one logistic other --relevant 2
"$RANKWOOD" predict first a.txt -o first.scores && "$RANKWOOD" predict other a.txt -o other.scores
say 'logistic: --relevant 2: the same scores' cmp -s first.scores other.scores
