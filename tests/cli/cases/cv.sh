# room: evaluate
small_data
"$RANKWOOD" cv train.txt --folds 4 --rounds 15 --leaves 5 --early-stop 5 --metric ndcg@5 --metric map --quiet -o out
ls out
wc -l <out/scores.txt
awk '{ n[$2]++ } END { for (f = 1; f <= 4; f++) print f, n[f] }' out/folds.tsv
tail -n 17 out/results.json
# What folds trained with: numbers.
cat >used.py <<'END'
import json, sys
cv = json.load(open(sys.argv[1]))
print([cv["params"].get(name) for name in ("rounds", "leaves", "rate", "norm")],
      [cv["given"][name] for name in ("rounds", "leaves", "rate", "norm")], cv["given"].keys() <= cv["params"].keys())
END
python3 used.py out/results.json
# 46 queries of 350 documents: 13 leaves and newton are for all of them, whatever a fold is trained on.
awk 'BEGIN { for (q = 1; q <= 46; q++) for (d = 0; d < 350; d++) print (d * q) % 3, "qid:" q, "1:" (d * 7 + q) % 11 }' >uneven.txt
"$RANKWOOD" cv uneven.txt --folds 3 --rounds 1 --early-stop 0 --ties mean -o uneven >/dev/null 2>talk
python3 used.py uneven/results.json
grep -h chosen talk
for f in 1 2 3; do "$RANKWOOD" info uneven/fold-$f.txt | grep '(auto'; done
# The pooled figures are those of the scores; a fold's are those of its model on its queries.
"$RANKWOOD" eval train.txt --scores out/scores.txt --metric ndcg@5,map | sed -n '2,3p'
awk '$2 == 2 { print "qid:" $1 }' out/folds.tsv >second
grep -wFf second train.txt >test.txt
"$RANKWOOD" eval test.txt --model out/fold-2.txt --metric ndcg@5,map | sed -n '2,3p'
"$RANKWOOD" cv train.txt --folds 4 --rounds 15 --leaves 5 --early-stop 5 --metric ndcg@5,map --threads 3 --quiet \
    -o again >/dev/null
say 'the same again' diff -r out again
"$RANKWOOD" compare train.txt --a out/scores.txt --b again/scores.txt --groups out/folds.tsv | sed -n '5,9p'
"$RANKWOOD" cv train.txt --folds 2 --early-stop 0 --rounds 3 -o two --quiet | sed -n '1,3p'
try cv train.txt --folds 2 -o two
try cv train.txt --folds 41 -o two --quiet
try cv train.txt --folds 1 -o two
try cv train.txt --folds 3
try cv train.txt -o two
try cv train.txt --folds 3 -o train.txt
try cv train.txt --folds 3 -o no/folder
# A folder made for nothing goes again.
try cv train.txt --folds 41 -o made --quiet
say made test -e made
# As many folds as queries; then fewer, in the same folder, which keeps nothing of the earlier ones.
"$RANKWOOD" cv train.txt --folds 40 --rounds 1 --early-stop 0 --ties mean --quiet -o many | tail -n 4 | head -n 1
ls many | grep -c fold-
"$RANKWOOD" cv train.txt --folds 3 --rounds 1 --early-stop 0 --ties mean --quiet -o many >/dev/null
ls many
# One that fails leaves the earlier one whole.
try cv train.txt --folds 41 -o many --quiet
ls many
# Shared boundaries: with 4 bins, all folds together have at most 3 thresholds of a feature.
"$RANKWOOD" cv train.txt --folds 3 --rounds 10 --leaves 9 --bins 4 --ties mean --shared-bins --quiet -o shared | tail -n 2
"$RANKWOOD" cv train.txt --folds 3 --rounds 10 --leaves 9 --bins 4 --ties mean --quiet -o own >/dev/null
for how in shared own; do
    cat $how/fold-?.txt | awk '$1 == "node" && !seen[$4, $6]++ { n[$4]++ }
                               END { for (f in n) most = n[f] > most ? n[f] : most; print (most > 3 ? "more than 3" : most) }'
    grep shared_bins $how/results.json
done
"$RANKWOOD" cv train.txt --folds 3 --rounds 10 --leaves 9 --bins 4 --ties mean --shared-bins --device sim --threads 1 --quiet -o sim >/dev/null
say 'the same on another device' diff -r -x results.json shared sim
try cv uneven.txt --folds 3 --shared-bins --categorical 1 --rounds 3 --early-stop 0 --quiet -o two
