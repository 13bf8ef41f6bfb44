# room: convert
# Models of other programs: taken in, scored, refused.
cp "$CLI_TESTS"/../golden/convert/*.* .
cp "$CLI_TESTS"/../golden/convert/refused/*.lightgbm .
for model in lgb_*.* xgb_*.* *_small.* onnx*.* cat_*.*; do
    format=${model##*.} name=${model%.*}
    case $format in docs | scores) continue ;; esac
    "$RANKWOOD" import "$model" --from "$format" -o model 2>/dev/null || echo "$model is refused"
    "$RANKWOOD" predict model $name.docs -o scores 2>/dev/null
    paste scores $name.scores | awk -v name="$name.$format" '
        { d = $1 - $2; if (d < 0) d = -d; if (d > most) most = d }
        END { print name ":", NR, "documents", (most < 1e-5 ? "agree" : "differ by " most) }'
done
try import lgb_rank.lightgbm --from lightgbm -o lgb.model
try info lgb.model | sed -n '1,4p'
# In, and out again in another program's terms: the same scores.
"$RANKWOOD" import xgb_rank.xgboost --from xgboost -o xgb.model 2>/dev/null
try export xgb.model --to lightgbm --verify xgb_rank.docs -o xgb.lightgbm
"$RANKWOOD" import xgb.lightgbm --from lightgbm -o again.model 2>/dev/null
try import ranklib_small.ranklib --from ranklib --feature-base 0 -o zero.model
"$RANKWOOD" show zero.model --tree 1 | sed -n 's/.*\(feature [0-9]*\).*/\1/p' | sort -u

echo "== refused"
for name in binary classes forest linear poisson sqrt zero_as_missing; do
    try import $name.lightgbm --from lightgbm -o x
done
say none test ! -e x
head -c 900 lgb_rank.lightgbm >cut.lightgbm
try import cut.lightgbm --from lightgbm -o x
head -c 900 xgb_rank.xgboost-ubj >cut.ubj
try import cut.ubj --from xgboost-ubj -o x
try import cut.ubj --from xgboost -o x
try import cut.ubj --from ranklib -o x
try import ranklib_small.ranklib --from lightgbm -o x
try import nothing --from lightgbm -o x

echo "== wrong"
try import cut.ubj
try import cut.ubj --from xgboost
try import cut.ubj --from xgboots -o x
try import cut.ubj --from eslr-raw -o x
try import cut.ubj --from xgboost -o cut.ubj
try import cut.ubj --from xgboost --lossy -o x
say none test ! -e x
# A training that stopped early: XGBRanker's predict ends with the best iteration, Booster's does not.
early() { # FORMAT'S FILE ATTRIBUTES
    sed "s/\"attributes\":{}/\"attributes\":{$2}/" "$1" >early.json
    try import early.json --from xgboost -o early
    "$RANKWOOD" info early | grep '^trees'
}
best='"best_iteration":"1"' estimator='"scikit_learn":"{}"'
for file in xgb_rank.xgboost "$CLI_TESTS/../golden/convert/xgb_forest.xgboost"; do
    early "$file" "$best,$estimator"
    early "$file" "$best"
done
early xgb_rank.xgboost "\"best_iteration\":\"7\",$estimator"
early xgb_rank.xgboost "\"best_iteration\":\"99\",$estimator"
