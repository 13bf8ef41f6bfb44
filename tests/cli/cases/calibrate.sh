# room: evaluate
# A calibration: fitted, kept, printed, refused.
small_model
gzip -dc valid.txt.gz >valid.txt
cp model.txt before.txt
"$RANKWOOD" calibrate model.txt valid.txt -o isotonic
"$RANKWOOD" calibrate model.txt valid.txt --method logistic --relevant 2 -o logistic | head -n 1
say 'the model stays' cmp model.txt before.txt
for n in 1 3 8; do
    "$RANKWOOD" calibrate model.txt valid.txt.gz --threads $n --quiet -o other >/dev/null
    say "with $n threads" cmp isotonic other
    "$RANKWOOD" calibrate model.txt valid.txt --method logistic --relevant 2 --threads $n --quiet -o other >/dev/null
    say "logistic with $n threads" cmp logistic other
done
# The trees are the model's, and so are the scores.
sed '/^checksum/d; /^calibration/,$d; 1s/3/2/' isotonic >a
sed '/^checksum/d' model.txt >b
say 'the same model otherwise' cmp a b
"$RANKWOOD" predict model.txt valid.txt -o scores
"$RANKWOOD" predict isotonic valid.txt -o other
say 'the same scores' cmp scores other
"$RANKWOOD" predict isotonic valid.txt --probability -o p
"$RANKWOOD" predict isotonic valid.txt --probability --trec run -o again
say 'beside a run of scores' cmp p again
cut -d ' ' -f 5 run | sort -g >a
sort -g scores | cmp - a
paste scores p | sort -g | awk '$2 < last { print "falls:", $0 } $2 < 0 || $2 > 1 { print "no probability" } { last = $2 }'
# A probability is the share of relevant documents among those that have it: within blocks of equal
# probability, by the definition.
"$RANKWOOD" show isotonic --calibration --format csv | sed 1d | cut -d , -f 2 | sort -u >values
cut -d ' ' -f 1 valid.txt | paste - p | awk '
    { n[$2]++; r[$2] += $1 >= 1 }
    END { for (v in n) { d = r[v] / n[v] - v; if (d > 1e-12 || d < -1e-12) print "block", v, r[v] / n[v] } print length(n), "values" }'
say 'as many as knots have' test "$(wc -l <values)" = "$(sort -u p | wc -l)"
# The logistic one by its formula.
set -- $(sed -n 's/^calibration .* slope \(.*\) intercept \(.*\)/\1 \2/p' logistic)
"$RANKWOOD" predict logistic valid.txt --probability | paste scores - | awk -v a="$1" -v b="$2" '
    { d = 1 / (1 + exp(-(a * $1 + b))) - $2; if (d > 1e-12 || d < -1e-12) print "not its formula:", $0 }'
# Weights, and a second map in place of the first.
awk '{ print NR % 3 }' valid.txt >weights
awk 'NR % 3 == 1; NR % 3 == 2; NR % 3 == 2' valid.txt | awk '{ sub(/qid:[^ ]*/, "qid:1"); print }' >twice.txt
"$RANKWOOD" calibrate model.txt valid.txt --weights weights --quiet -o weighed >/dev/null
"$RANKWOOD" calibrate model.txt twice.txt --quiet -o other >/dev/null
say 'a weight of 2 is a document twice' cmp weighed other
"$RANKWOOD" calibrate logistic valid.txt -o other 2>&1 >/dev/null
say 'replaced' cmp isotonic other
"$RANKWOOD" calibrate model.txt valid.txt --json -o other | sed -n '1,4p; /"before"/,/}/s/:.*/:/p; /"folds"/,$p'
# What prints it, and what leaves it out.
"$RANKWOOD" info isotonic | grep calibration
"$RANKWOOD" info logistic --json | sed -n '/"calibration"/,/}/s/\(slope\|intercept\).*/\1/p'
"$RANKWOOD" info model.txt --json | grep calibration
"$RANKWOOD" show isotonic --calibration | head -n 1
"$RANKWOOD" show isotonic --tree 1 | head -n 1
"$RANKWOOD" train train.txt --init isotonic --rounds 2 --leaves 7 --quiet -o other
"$RANKWOOD" train train.txt --init model.txt --rounds 2 --leaves 7 --quiet -o went_on
say 'training leaves it out' cmp went_on other
"$RANKWOOD" train train.txt --init isotonic --rounds 2 --leaves 7 -o other 2>&1 | grep "model.s calibration"
for from in model.txt isotonic; do
    "$RANKWOOD" train train.txt --refit $from -o refit.$from 2>&1 | grep "model.s calibration"
    "$RANKWOOD" prune $from valid.txt -o prune.$from 2>&1 | grep "model.s calibration"
done
say 'refit leaves it out' cmp refit.model.txt refit.isotonic
say 'prune leaves it out' cmp prune.model.txt prune.isotonic
try export isotonic --to xgboost -o exported
"$RANKWOOD" export model.txt --to xgboost -o other
say 'the scores are exported' cmp exported other
# Bad ones.
try predict model.txt valid.txt --probability -o no
try predict isotonic valid.txt --probability --trees 2 -o no
try predict isotonic valid.txt --probability --leaf-ids -o no
try predict isotonic valid.txt --probability --trec no
try show model.txt --calibration
try show isotonic
try show isotonic --calibration --tree 1
try calibrate model.txt valid.txt --relevant 9 -o no
try calibrate model.txt valid.txt --relevant 0 -o no
try calibrate model.txt valid.txt --relevant nan -o no
try calibrate model.txt valid.txt --method platt -o no
try calibrate model.txt valid.txt
try calibrate model.txt -o no
try calibrate model.txt valid.txt -o -
try calibrate model.txt valid.txt -o model.txt
say none test ! -e no
