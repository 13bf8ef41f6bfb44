# room: io
# CSV and TSV with named columns: the same trees as LETOR text with the same names, whatever the order of
# the columns.
small_data
gzip -dc valid.txt.gz >valid.txt
# letor FILE: ids from 0. table FILE SEPARATOR: the same numbers, with columns of text. backwards FILE:
# with tabs, and the features from the last to the first.
letor() {
    awk '{ sub(/ *#.*/, ""); line = $1 " " $2
        for (i = 3; i <= NF; i++) line = line " " $i - 1 substr($i, index($i, ":"))
        print line }' "$1"
}
table() {
    letor "$1" | awk -v s="$2" 'BEGIN {
        line = "query" s "title"
        for (f = 0; f < 46; f++) line = line s "f" f
        print line s "rel" s "w" }
    { line = substr($2, 5) s "\"red, \"\"big\"\"\nshoes\""
        for (i = 3; i <= NF; i++) line = line s substr($i, index($i, ":") + 1)
        print line s $1 s NR % 4 }'
}
backwards() {
    letor "$1" | awk -v OFS='\t' 'BEGIN {
        line = "w"
        for (f = 45; f >= 0; f--) line = line OFS "f" f
        print line, "other", "rel", "query" }
    { line = NR % 4
        for (i = NF; i >= 3; i--) line = line OFS substr($i, index($i, ":") + 1)
        print line, "6\" pipe", $1, substr($2, 5) }'
}
letor train.txt >train0.txt
letor valid.txt >valid0.txt
seq 0 45 | sed 's/.*/& f&/' >names
awk '{ print NR % 4 }' train0.txt >weights
awk '{ print NR % 4 }' valid0.txt >valid.weights
table train.txt , >train.csv
backwards valid.txt >valid.tsv
gzip -k train.csv
# Of columns in one model and ids in the other.
same_trees() {
    for one in "$1" "$2"; do grep -v -e '^columns ' -e '^checksum ' "$one" >"$one.trees"; done
    cmp "$1.trees" "$2.trees"
}
columns='--label-column rel --qid-column query'
fit='--rounds 12 --leaves 7 --early-stop 0 --quiet'
"$RANKWOOD" train train0.txt --valid valid0.txt --names names $fit -o letor.model
say 'CSV' "$RANKWOOD" train train.csv --valid valid.tsv $columns --ignore title,w $fit -o csv.model
say 'the same trees' same_trees letor.model csv.model
"$RANKWOOD" train train.csv.gz --valid valid.tsv $columns --ignore 2,50 $fit -o gz.model
say 'gzip, columns by number' same_trees letor.model gz.model
"$RANKWOOD" train - --valid valid.tsv $columns --ignore title,w $fit -o pipe.model <train.csv
say 'standard input' same_trees letor.model pipe.model
"$RANKWOOD" train - --valid valid.tsv $columns --ignore title,w $fit -o pipe.model <train.csv.gz
say 'packed standard input' same_trees letor.model pipe.model
tail -n +2 train.csv >no_header.csv
"$RANKWOOD" train no_header.csv --valid valid0.txt --label-column 49 --qid-column 1 --ignore 2,50 $fit -o numbers.model

"$RANKWOOD" train train0.txt --valid valid0.txt $fit -o unnamed.model
say 'without a header' same_trees unnamed.model numbers.model
"$RANKWOOD" bin train.csv $columns --ignore title --weight-column w -o train.rwb
"$RANKWOOD" train train0.txt --valid valid0.txt --names names --weights weights --valid-weights valid.weights $fit -o weighted.model
"$RANKWOOD" train train.csv --valid valid.tsv $columns --ignore title --weight-column w $fit -o csv.weighted
say 'a column of weights' same_trees weighted.model csv.weighted
"$RANKWOOD" train train.rwb --valid valid.tsv $columns --weight-column w $fit -o cache.weighted
say 'a cache with names and weights' same_trees weighted.model cache.weighted
"$RANKWOOD" train train.csv --valid valid.tsv $columns --ignore title,w $fit --init letor.model -o more.csv
"$RANKWOOD" train train0.txt --valid valid0.txt --names names $fit --init letor.model -o more.letor
say 'from a model' cmp more.csv more.letor
"$RANKWOOD" cv train.csv $columns --ignore title,w --folds 3 $fit -o folds.csv >cv.csv
"$RANKWOOD" cv train0.txt --names names --folds 3 $fit -o folds.letor >cv.letor
say 'cv' cmp cv.csv cv.letor
say 'its models' same_trees folds.csv/fold-2.txt folds.letor/fold-2.txt

# By the model's names: the order of columns does not matter, text needs no --ignore, labels none.
"$RANKWOOD" predict letor.model valid0.txt -o scores
"$RANKWOOD" predict letor.model valid.tsv -o scores.tsv
say 'predict' cmp scores scores.tsv
say 'eval' test "$("$RANKWOOD" eval valid.tsv $columns --model letor.model)" = "$("$RANKWOOD" eval valid0.txt --model letor.model)"
say 'explain' test "$("$RANKWOOD" explain letor.model valid.tsv $columns --json)" = "$("$RANKWOOD" explain letor.model valid0.txt --json)"
say 'compare' test "$("$RANKWOOD" compare valid.tsv $columns --a letor.model --b more.csv)" = "$("$RANKWOOD" compare valid0.txt --a letor.model --b more.csv)"
say 'report' "$RANKWOOD" report letor.model --valid valid.tsv $columns --quiet -o r.html
say 'export' test "$("$RANKWOOD" export letor.model --to lightgbm --verify valid.tsv $columns -o x)" = "$("$RANKWOOD" export letor.model --to lightgbm --verify valid0.txt -o x)"
# Columns that no feature has the name of: a note, once for each data set, unless they are named.
try predict letor.model valid.tsv valid.tsv $columns -o x
try predict letor.model valid.tsv $columns --ignore w,other -o x
"$RANKWOOD" check train.csv $columns --ignore title,w,other --against valid.tsv | sed 's/  *\([a-z,0-9]\)/ \1/g; s/f\([0-9]\)/\1/g' >found
"$RANKWOOD" check train0.txt --against valid0.txt | sed 's/  *\([a-z,0-9]\)/ \1/g; s/f\([0-9]\)/\1/g' >expected
diff found expected
"$RANKWOOD" predict letor.model valid.tsv $columns --trec run -o x && say 'trec' test -s run

try train train.csv $columns -o m
try train train.csv --label-column relevance --qid-column query -o m
try train train.csv --ignore title,w -o m
try train train0.txt --label-column rel --rounds 1 --quiet -o warned
try eval valid0.txt --model letor.model --ignore title
cut -d , -f 1,3-9 no_header.csv | sed -n '2~2p' | sed '1i query,f0,f1,f2' >few.csv
try predict letor.model few.csv
try train train.csv $columns --weight-column w --weights weights -o m
try predict letor.model train.csv --qid-column title --trec run
say none test ! -e m
# A column 'qid' is never a feature.
awk -F, 'NR == 1 { print "qid," $0 } NR > 1 { print NR "," $0 }' train.csv >second.csv
try train second.csv $columns --ignore title,w $fit -o no
say 'left out' "$RANKWOOD" train second.csv $columns --ignore title,w,qid --rounds 2 --quiet -o left.out
say 'not read by name' "$RANKWOOD" predict left.out second.csv -o scores
# Names that are one name in a model, when they are read; columns that are no features may have any.
printf 'label,qid,a b,a_b\n1,1,0.5,1\n0,1,1,0.25\n1,2,3,1\n0,2,2,1\n' >equal.csv
try train equal.csv --quiet -o m
try check equal.csv
"$RANKWOOD" train equal.csv --ignore 'a b' --rounds 1 --leaves 2 --min-docs 1 --split mart --quiet -o equal.model
grep a_b equal.model | head -n 1
# Columns without names count from 0, features of LETOR text from 1: using one for the other is an error, also from a
# cache.
"$RANKWOOD" bin no_header.csv --label-column 49 --qid-column 1 --ignore 2,50 -o numbers.rwb
"$RANKWOOD" train train.txt --rounds 2 --leaves 3 --quiet -o ids.model
try train numbers.rwb --valid valid.txt --rounds 2 --quiet -o m
try train train.txt --valid numbers.rwb --rounds 2 --quiet -o m
try predict ids.model numbers.rwb
try predict numbers.model valid.txt
try train train.txt --init numbers.model --quiet -o m
