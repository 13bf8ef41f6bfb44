# room: io
# LETOR text that lacks features: one warning, of those that matter, for data of 1,000 documents or more that was read
# to its end, however many pieces and commands; features that only the data has are no matter.
seq 1 46 | sed "s/.*/& name&/" >names
"$RANKWOOD" synth --shape letor --queries 120 --seed 5 -o train.txt
"$RANKWOOD" train train.txt --rounds 5 --leaves 7 --names names --quiet -o model.txt
"$RANKWOOD" train train.txt --rounds 5 --leaves 7 --quiet -o plain.txt
test "$(wc -l <train.txt)" -ge 1000 || echo 'too few documents'
top=$("$RANKWOOD" info model.txt --json | grep -o '"feature": [0-9]*' | grep -m 2 -o '[0-9]*' | tr '\n' ' ')
first=${top%% *}
sed "s/ $first:[^ ]*//" train.txt >without.txt
sed 's/ #.*//; s/$/ 2000:1 3000:2/' train.txt >with.txt
head -n 900 without.txt >few.txt
warns() {
    echo "\$ rankwood $*"
    "$RANKWOOD" "$@" 2>&1 >out | sed "s/$first/TOP/; s/[0-9]* %/N %/"
}
warns predict model.txt without.txt
warns predict plain.txt without.txt
warns predict model.txt without.txt --leaf-ids
warns eval without.txt --model model.txt --ties mean
warns train without.txt --init model.txt --rounds 1 --leaves 7 --names names --quiet -o on.txt
warns train without.txt --refit model.txt --quiet -o refit.txt
echo '== none of these'
warns predict model.txt few.txt
warns predict model.txt without.txt train.txt
warns predict model.txt with.txt
warns eval with.txt --model model.txt --ties mean
"$RANKWOOD" predict model.txt with.txt -o b
"$RANKWOOD" predict model.txt train.txt -o c
say unknown cmp b c
