# room: model
# Models of every version score as they did when they were written: tests/golden/versions.
cp "$CLI_TESTS"/../golden/versions/* .
# The error about a later version names the last supported one.
sed '1s/.*/rankwood model 99/' 1.model >later.model
"$RANKWOOD" predict later.model documents.txt 2>said
last=$(sed -n 's/.*a model of version 99; expected version 1 to \([0-9]*\)$/\1/p' said)
for version in $(seq "${last:-0}"); do
    data=documents.txt
    [ -e "$version.csv" ] && data=$version.csv
    head -n 1 "$version.model"
    for threads in 1 2; do
        "$RANKWOOD" predict "$version.model" "$data" --threads $threads -o scores
        say '  the same scores' cmp "$version.scores" scores
    done
    if [ -e "$version.probabilities" ]; then
        "$RANKWOOD" predict "$version.model" "$data" --probability -o scores
        say '  the same probabilities' cmp "$version.probabilities" scores
    fi
    # Trained on, its trees are kept; as another program's model it scores the same.
    "$RANKWOOD" train "$data" --init "$version.model" --rounds 1 --min-docs 1 --quiet -o on 2>/dev/null
    "$RANKWOOD" predict on "$data" --trees "$(sed -n 's/^trees //p' "$version.model")" -o scores
    say '  the same scores when training goes on' cmp "$version.scores" scores
done
# Caches and checkpoints of another version.
head -n 200 documents.txt >train.txt
"$RANKWOOD" bin train.txt -o cache.rwb 2>/dev/null
printf '\001' | dd of=cache.rwb bs=1 seek=8 conv=notrunc 2>/dev/null
try check cache.rwb
