# room: model
# Which features matter, and why a document is above another; the figures do not depend on the threads.
small_model
"$RANKWOOD" explain model.txt valid.txt.gz --top 3 --threads 1 >one
"$RANKWOOD" explain model.txt valid.txt.gz --top 3 --threads 3 >three
say 'same for any threads' cmp -s one three
grep -v '^sums' one
"$RANKWOOD" explain model.txt valid.txt.gz --documents --threads 1 >one
"$RANKWOOD" explain model.txt valid.txt.gz --documents --threads 3 -o three
say 'same for any threads' cmp -s one three
"$RANKWOOD" predict model.txt valid.txt.gz >scores
# Base and values add up to the score, in every line.
sums() {
    awk -F '\t' 'NR == FNR { score[NR] = $1; next }
        FNR == 1 { base = $0; sub(/.*base /, "", base); sub(/;.*/, "", base); next }
        FNR == 2 { next }
        { sum = base; for (i = 4; i <= NF; i++) sum += $i
          off = sum - score[FNR - 2]; if (off < 0) off = -off
          if (off > 1e-13 || $3 != score[FNR - 2]) bad++; n++ }
        END { exit !(n > 300 && n == length(score) && !bad) }' scores one
}
say 'values add up to scores' sums
"$RANKWOOD" explain model.txt valid.txt.gz --documents --json >json
say 'a row a document' test "$(grep -c '"shap"' json)" -eq "$(wc -l <scores)"
"$RANKWOOD" explain model.txt valid.txt.gz --documents --top 1 | sed -n 2,3p | cut -c 1-58
"$RANKWOOD" explain model.txt valid.txt.gz --json --repeats 2 | grep -c -e '"loss"' -e '"metric"'
"$RANKWOOD" explain model.txt valid.txt.gz --repeats 0 --trees 1 --top 2 | grep -v '^sums'
# By hand: one split on each of two features; half of the documents on either side of each.
printf '1 qid:a 1:1 2:5 # docid = first\n0 qid:a 1:1 2:6\n0 qid:a 1:2 2:5\n0 qid:a 1:2 2:6\n' >data
cp "$CLI_TESTS/explain.model" by-hand
"$RANKWOOD" explain by-hand data --documents
"$RANKWOOD" explain by-hand data --query a --doc first --doc 4
"$RANKWOOD" explain by-hand data --query a --doc a-3 --top 1
"$RANKWOOD" explain by-hand data --query a --doc first --doc 4 --json | tr -d '\n '
echo
try explain by-hand data --query b --doc 1
try explain by-hand data --query a --doc 5
try explain by-hand data --query a
try explain by-hand data --query a --doc 1 --doc 2 --doc 3
try explain by-hand data --query a --doc 1 --documents
try explain --strict by-hand data --query a --doc 1 --metric map
try explain by-hand data --documents --repeats 3
try explain --strict by-hand data --repeats 0 --seed 4
try explain by-hand data --metric map,mrr
try explain by-hand data --trees 2
try explain by-hand data --json --top 3
try explain by-hand data -o data
try explain by-hand
try explain data data
