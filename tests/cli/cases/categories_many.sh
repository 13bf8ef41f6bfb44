# room: dataset
# long
# More than 255 categories: --bins says how many have a code of their own, up to 1,023.
awk 'function unit() { s = (s * 16807) % 2147483647; return s / 2147483647 }
    BEGIN { s = 13; for (q = 1; q <= 250; q++) for (d = 0; d < 12; d++) {
        shop = int(700 * unit()); x = unit()
        score = (shop * 389 % 700) / 200 + x
        print (score < 1.6 ? 0 : score < 2.6 ? 1 : score < 3.4 ? 2 : 3) " qid:" q " 1:" (unit() < 0.05 ? "nan" : shop) \
            sprintf(" 2:%.3f 3:%d", x, int(1500 * unit())) } }' >all.txt
awk '{ print > (substr($2, 5) + 0 <= 170 ? "train.txt" : "test.txt") }' all.txt
train() {
    "$RANKWOOD" train --leaves 31 --min-docs 2 --rounds 8 --early-stop 0 "$@" 2>said || echo "not trained: $(cat said)"
}
# One message reports which categories share a code.
for bins in 255 700 1023; do
    train train.txt --categorical 1,3 --bins $bins -o whole.$bins >/dev/null
    grep 'share one' said
    sed -n '1p; /^feature [13] words/p' whole.$bins
done
train train.txt --categorical 1 --bins 1023 -o one >/dev/null
say 'none shares a code' sh -c '! grep share said'
train train.txt --categorical 1,3 --bins 1023 --ranks 2 -o two >/dev/null
say 'two ranks say it once' test "$(grep -c 'share one' said)" = 1
ndcg() {
    "$RANKWOOD" eval test.txt --model "$1" --ties mean 2>/dev/null | awk '/^ndcg/ { print $2 }'
}
ndcg whole.255 >few
ndcg one >many
say 'NDCG is .02 above that of 255 codes' awk 'NR == FNR { a = $1 } NR != FNR { exit !($1 > a + 0.02) }' few many
# Everywhere the same model, with both features.
train() {
    "$RANKWOOD" train --leaves 31 --min-docs 2 --early-stop 0 --quiet --categorical 1,3 --bins 1023 "$@"
}
same_model train.txt --valid test.txt --ties mean
same_model train.txt --valid test.txt --ties mean --split newton --category-penalty 0.1 --absent missing
# Cache, table of words.
"$RANKWOOD" bin train.txt --categorical 1,3 --quiet -o train.rwb
train train.txt --rounds 4 -o whole
"$RANKWOOD" train train.rwb --bins 1023 --leaves 31 --min-docs 2 --early-stop 0 --quiet --rounds 4 -o other
say 'of a cache' sh -c 'grep "^node\|^leaf\|^category" whole >a; grep "^node\|^leaf\|^category" other >b; cmp a b'
# Scored by each instruction set; what training did not see is one category.
"$RANKWOOD" predict whole test.txt --quiet -o scores
for isa in plain avx2; do
    RANKWOOD_ISA=$isa "$RANKWOOD" predict whole test.txt --quiet --threads 1 -o other.scores
    say "scores by $isa" cmp scores other.scores
done
printf '1 qid:1 1:999 2:0.5 3:7\n0 qid:1 1:2147483647 2:0.5 3:7\n' >unseen.txt
"$RANKWOOD" predict whole unseen.txt --quiet -o scores
say 'unseen ones are alike' sh -c 'test $(sort -u scores | wc -l) = 1'
# A continued model; a refit.
train train.txt --rounds 3 -o first
train test.txt --rounds 2 --init first -o longer
"$RANKWOOD" predict first test.txt --quiet -o a
"$RANKWOOD" predict longer test.txt --trees 3 --quiet -o b
say 'the same first trees' cmp a b
"$RANKWOOD" train test.txt --init whole.255 --bins 700 --rounds 1 --quiet -o longer
say 'words are added to those of 255' sh -c 'test "$(sed -n "s/^feature 1 words //p" longer)" -gt 450'
"$RANKWOOD" train train.txt --refit whole --refit-decay 1 --quiet -o other
say 'refitted' sh -c 'grep "^node\|^leaf" whole >a; grep "^node\|^leaf" other >b; cmp a b'
# Explained and shown.
"$RANKWOOD" explain whole test.txt --quiet >explained 2>/dev/null
say explained test -s explained
say shown sh -c '"$RANKWOOD" show whole --tree 1 | grep -q "in {[^}]*, 6[0-9][0-9]"'
# Other programs' formats, and back.
"$RANKWOOD" train train.txt --categorical 1 --bins 1023 --leaves 15 --min-docs 3 --rounds 6 --early-stop 0 --quiet -o numbers
for format in lightgbm xgboost xgboost-ubj onnx onnx5 pmml c; do
    say "$format" verified numbers $format test.txt
done
come_back numbers test.txt lightgbm xgboost xgboost-ubj onnx onnx5
