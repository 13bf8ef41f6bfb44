# room: io
# Names that are Latin-1 (Windows-1252) in a CSV file become UTF-8, so both encodings of a file are the same data.
small_data
awk 'BEGIN { print "label,qid,gr\366\337e,caf\351,preis \200,ascii" }
{ split($2, q, ":"); out = $1 "," q[2]; for (i = 3; i < 7; i++) { split($i, v, ":"); out = out "," v[2] } print out }' \
    train.txt | LC_ALL=C sed 's/,,/,0,/g' >latin1.csv
iconv -f WINDOWS-1252 -t UTF-8 latin1.csv >utf8.csv
train() {
    "$RANKWOOD" train "$@" --rounds 3 --leaves 5 --min-docs 3 --quiet
}
train latin1.csv -o a --monotone 'größe:+'
train utf8.csv -o b --monotone 'größe:+'
say 'the same model' cmp a b
sed -n '/^names/,/ascii/p' a
"$RANKWOOD" info a --json | grep -c café
for model in a b; do
    for data in latin1.csv utf8.csv; do
        "$RANKWOOD" predict $model $data -o $model.$data
    done
done 2>/dev/null
say 'the same scores' sh -c 'cmp a.latin1.csv a.utf8.csv && cmp b.latin1.csv b.utf8.csv'
# names that a terminal with Latin-1 passes
latin1=$(printf 'gr\366\337e')
train latin1.csv -o other --monotone "$latin1:+"
say 'a list in Latin-1' sh -c 'grep -v "^monotone\|^checksum" a >x; grep -v "^monotone\|^checksum" other >y; cmp x y'
train latin1.csv -o other --ignore "$latin1"
train utf8.csv -o expected --ignore größe
say 'a column in Latin-1' sh -c 'grep -v "^ignore\|^checksum" expected >x; grep -v "^ignore\|^checksum" other >y; cmp x y'
printf '0 gr\366\337e\n1 caf\351\n' >names
train train.txt --names names -o named 2>/dev/null
sed -n '/^names/,/^1 /p' named
"$RANKWOOD" train latin1.csv --rounds 1 -o other 2>&1 | grep 'Latin-1'
