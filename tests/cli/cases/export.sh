# room: convert
# Models for other programs: written, verified, refused.
cat >train.txt <<'END'
2 qid:1 1:0.5 2:3 3:1
1 qid:1 1:0.25 2:-1 3:0
0 qid:1 1:0.125 2:2
0 qid:1 2:-3 3:1
2 qid:2 1:0.75 3:1
1 qid:2 1:0.5 2:5
0 qid:2 1:0.25 2:-2 3:2
0 qid:2 2:1
END
# A Rankwood model: node 1 sends missing values right, but 0 left.
cat >body <<'END'
rankwood model 1
absent zero
best-round 0

params 0

features 3
1-3

names 1
2 age of page

metrics 0 rounds 0

trees 2

tree 1 leaves 3
node 0 feature 1 <= 0.5 left leaf 0 right node 1 missing left gain 2.5
node 1 feature 2 <= 2 left leaf 1 right leaf 2 missing MISSING gain 1 # age of page
leaf 0 -0.5
leaf 1 0.25
leaf 2 1

tree 2 leaves 1
leaf 0 0.25

END
model() { # MISSING FILE
    sed "s/MISSING/$1/" body >"$2"
    sum=$(gzip -c "$2" | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')
    echo "checksum $sum" >>"$2"
}
model left plain.model
model right odd.model
for format in ranklib quickrank xgboost xgboost-ubj xgboost-dump eslr-raw vespa solr catboost; do
    try export plain.model --to $format --verify train.txt -o plain.$format
done
cat plain.ranklib
try export plain.model --to lightgbm -o plain.lightgbm
sed 's/qid:/qid:more-/' train.txt >more.txt
try export plain.model --to lightgbm --lossy --verify train.txt,more.txt -o plain.lightgbm
say none test ! -e odd.ranklib
try export odd.model --to ranklib -o odd.ranklib
say none test ! -e odd.ranklib
sed 's/ 2:-2/ 2:nan/; s/ 1:0.5 2:5/ 1:0.75 2:nan/' train.txt >missing.txt
try export odd.model --to ranklib --lossy --verify missing.txt -o odd.ranklib
try export odd.model --to xgboost --verify missing.txt -o odd.xgboost
try export odd.model --to catboost --verify missing.txt -o odd.catboost
"$RANKWOOD" export plain.model --to ranklib -o - | cmp - plain.ranklib
try export plain.model --to quickrank --feature-base 0 -o -
try export plain.model --to xgboost --feature-base 1 --verify train.txt -o shifted.xgboost

# Solr adds 1e-6 to every threshold, and no float plus 1e-6 gives -1.
sed 's/feature 2 <= 2/feature 2 <= -1/' body >body.cut && mv body.cut body
model right cut.model
try export cut.model --to solr --verify train.txt -o cut.solr
say none test ! -e cut.solr
try export cut.model --to solr --lossy --verify train.txt -o cut.solr
try import cut.solr --from solr -o back.model
"$RANKWOOD" show back.model --tree 1

echo "== wrong"
try export plain.model
try export plain.model --to ranklib
try export plain.model --to ranklab -o x
try export plain.model --to pmml4 -o x
try export plain.model --to ranklib --feature-base 2 -o x
try export plain.model --to ranklib --verify train.txt -o -
try export plain.model --to ranklib -o plain.model
cp train.txt data.txt
try export plain.model --to ranklib --verify more.txt,data.txt -o data.txt
say untouched cmp -s train.txt data.txt
try export plain.model --to ranklib -o nowhere/x
try export plain.model --to ranklib --verify nothing.txt -o x
try export train.txt --to ranklib -o x
say none test ! -e x
