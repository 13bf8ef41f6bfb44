# room: model
# long
# Input of many chunks, whose lines are scored by the threads that read them, gets the same scores as files of one chunk
# each.
"$RANKWOOD" synth --shape letor --queries 700 --seed 5 -o text
"$RANKWOOD" train text --rounds 60 --leaves 31 --quiet -o model
"$RANKWOOD" calibrate model text -o mapped >/dev/null
split -n l/25 text part.
printf '%s' "$(tail -n 1 text)" >>text # a last line without its newline
tail -n 1 text >part.last
gzip -k text
"$RANKWOOD" bin text -o cache
same() {
    name=$1
    shift
    for part in part.*; do
        "$RANKWOOD" predict "$@" "$part" --threads 1
    done >expected
    for threads in 1 2 7; do
        for data in text text.gz cache; do
            "$RANKWOOD" predict "$@" "$data" --threads "$threads" -o got
            say "$name, $data, $threads threads" cmp got expected
        done
    done
    "$RANKWOOD" predict "$@" - --threads 2 <text >got
    say "$name, from standard input to standard output" cmp got expected
}
same scores model
same 'scores by 3 trees' --trees 3 model
same probabilities --probability mapped
same leaves --leaf-ids model
for isa in plain avx2; do
    RANKWOOD_ISA=$isa "$RANKWOOD" predict model text --threads 2 -o got
    "$RANKWOOD" predict model part.* --threads 2 -o expected
    say "scores by $isa" cmp got expected
done
"$RANKWOOD" predict model text --trec run --threads 2
"$RANKWOOD" predict model cache --trec again --threads 1
say 'a run' cmp run again
"$RANKWOOD" predict model text --leaf-ids --trec beside -o got
say 'a run beside leaves' cmp run beside
# Nothing is left of what fails after some pieces.
printf '\n1 qid:1 1:x\n' >>text
echo before >scores
try predict model text -o scores
cat scores
ls scores*
