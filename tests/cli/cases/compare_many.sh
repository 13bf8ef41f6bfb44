# room: evaluate
# Several systems and one baseline: Holm's step-down, the formats, the gate.
small_data
"$RANKWOOD" train train.txt --rounds 20 --leaves 7 --quiet -o model.txt
"$RANKWOOD" train train.txt --rounds 2 --leaves 3 --quiet -o weak.txt
"$RANKWOOD" predict model.txt valid.txt.gz -o scores --quiet
"$RANKWOOD" predict model.txt valid.txt.gz --trec run --quiet
c() {
    "$RANKWOOD" compare valid.txt.gz --quiet --metric ndcg@10,map "$@"
}
c --baseline weak.txt model.txt scores run --threads 1 >one
c --threads 3 --baseline weak.txt model.txt scores run >three
say 'same for any threads' cmp -s one three
for kind in model.txt scores run; do
    awk -v kind="$kind" '$2 == kind { $2 = ""; print }' one >"of.$kind"
done
say 'a model, its scores and its run are one' test "$(sort -u of.model.txt of.scores of.run | wc -l)" -eq 2
# Four systems by hand: figures of each are those that it has alone with --a and --b.
printf '0 qid:%s 1:1\n1 qid:%s 1:1\n' 1 1 2 2 3 3 x x 5 5 6 6 7 7 8 8 >data
yes 1 2>/dev/null | head -16 | awk 'NR % 2 { print 2; next } { print 1 }' >a
awk 'NR % 2 { print 1; next } { print 2 }' a >b
awk 'NR > 2 { print NR % 2 ? 1 : 2; next } { print }' a >'c,"d"'
head -4 b >e_f && tail -12 a >>e_f
"$RANKWOOD" compare data --metric mrr,rmse --baseline a b 'c,"d"' e_f
"$RANKWOOD" compare data --metric mrr --baseline a b 'c,"d"' e_f --correct none
"$RANKWOOD" compare data --metric mrr,rmse --format csv --baseline a b 'c,"d"' e_f
"$RANKWOOD" compare data --metric mrr,rmse --format latex --baseline a b 'c,"d"' e_f
"$RANKWOOD" compare data --metric mrr --json --baseline a b e_f
for b in b e_f; do
    "$RANKWOOD" compare data --metric mrr --a a --b $b | sed -n 5p
done
# The gate: the interval's worse end, of an improvement: of a loss, its upper one.
try compare data --metric mrr --format csv --baseline b b --fail-below 0
try compare data --metric mrr --format csv --baseline b e_f --fail-below -0.01
try compare data --metric rmse --format csv --baseline b b --fail-below -0.002
try compare data --metric rmse --format csv --baseline b a --fail-below -0.002
try compare data --metric rmse --format csv --baseline a b --fail-below 0
"$RANKWOOD" compare data --metric mrr,map --a b --b a --fail-below -0.6 >/dev/null
echo "[$?]"
"$RANKWOOD" compare data --metric mrr,map --a b --b a --fail-below -0.4 --quiet >/dev/null
echo "[$?]"
head -2 data >query
head -2 a >one_a
try compare query --metric mrr --format csv --baseline one_a one_a --fail-below -1
try compare data --baseline a
try compare --baseline a b
try compare data --baseline a b --baseline a
try compare data --baseline a b --a a
try compare data --baseline a b --groups a
try compare data --baseline a b --correct bonferroni
try compare data --baseline a b --format html
try compare data --baseline a b --format csv --json
try compare data --baseline a b --fail-below low
try compare data --a a --b b --fail-below
try compare data --a a --b b --correct holm
"$RANKWOOD" compare data --metric mrr,rmse --a a --b b --format csv
"$RANKWOOD" compare data --metric mrr --a a --b b --format latex
try compare data --baseline a nothing
