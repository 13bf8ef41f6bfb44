# Features on one side only: one warning, however many pieces and documents.
small_model
first=$("$RANKWOOD" info model.txt --json | grep -m 1 -o '"feature": [0-9]*' | grep -o '[0-9]*')
sed "s/ $first:[^ ]*//" train.txt >without.txt
sed 's/ #.*//; s/$/ 2000:1 3000:2/' train.txt >with.txt
"$RANKWOOD" predict model.txt without.txt -o a
"$RANKWOOD" predict model.txt with.txt -o b
"$RANKWOOD" predict model.txt train.txt -o c
say unknown cmp b c
"$RANKWOOD" predict model.txt with.txt train.txt -o b
"$RANKWOOD" eval without.txt --model model.txt --ties mean >eval
