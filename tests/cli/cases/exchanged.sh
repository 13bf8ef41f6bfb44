# MODEL and DATA in each other's place, and other programs' models: the right call is printed, and it works.
bad=$CLI_TESTS/../golden/bad
small_model
cp model.txt other.txt
try predict train.txt model.txt -o scores
try predict valid.txt.gz model.txt --trees 2
try explain train.txt model.txt
try prune train.txt model.txt -o less.txt
try calibrate train.txt model.txt -o less.txt
try eval model.txt train.txt
try eval model.txt --model train.txt
try eval train.txt --model model.txt --scores model.txt
try compare train.txt model.txt other.txt
try report model.txt train.txt -o page.html
try report train.txt model.txt -o page.html
try report train.txt --valid=model.txt -o page.html
try export model.txt train.txt --to lightgbm -o out
try train model.txt train.txt -o more.txt
try train train.txt --init valid.txt.gz -o more.txt
try info train.txt
try check model.txt
# Pipes are not looked at beforehand.
"$RANKWOOD" predict model.txt - <train.txt | wc -l | tr -d ' '
for name in lightgbm.txt xgboost.json xgboost.ubj catboost.json catboost.cbm lightgbm.pkl; do
    cp "$bad/$name" .
    try predict $name train.txt
    try import $name --from ranklib -o out
done
cp "$bad/csv.gz" .
try predict lightgbm.txt train.txt
try predict train.txt lightgbm.txt
try predict csv.gz train.txt
try import model.txt --from lightgbm -o out
try import train.txt --from lightgbm -o out
"$RANKWOOD" export model.txt --to xgboost-ubj -o made.ubj 2>/dev/null
try import made.ubj --from xgboost -o out
hint=$("$RANKWOOD" predict made.ubj train.txt 2>&1 | sed -n "s/^rankwood: hint: rankwood \(.*\) -o MODEL$/\1/p")
eval "\"\$RANKWOOD\" $hint -o back.txt" 2>/dev/null
"$RANKWOOD" predict model.txt train.txt >a && "$RANKWOOD" predict back.txt train.txt >b
say 'the same scores' cmp a b
# DATA in two places: a second file of --valid is not one more of DATA.
cp train.txt more.txt
try train train.txt --valid valid.txt.gz more.txt -o m
try train train.txt --valid=valid.txt.gz --rounds 2 more.txt -o m
try eval train.txt --model model.txt more.txt
try explain model.txt train.txt --top 3 more.txt
try select train.txt --valid valid.txt.gz more.txt
say 'options first' "$RANKWOOD" train --rounds 2 --valid valid.txt.gz train.txt --quiet -o m
"$RANKWOOD" predict m --trees 1 train.txt | wc -l | tr -d ' '
sed 's/qid:/qid:9/' train.txt >three.txt
"$RANKWOOD" train train.txt three.txt --valid valid.txt.gz --rounds 1 -o m 2>&1 | head -n 2
