# room: report
# A model and its ranking on one page: figures as eval and explain print them; identical each time.
small_data
"$RANKWOOD" train train.txt --valid train.txt --valid valid.txt.gz --metric ndcg@10,map --rounds 8 --leaves 7 --gain-noise 0 \
    --early-stop 0 --quiet -o model.txt 2>talk
report() {
    "$RANKWOOD" report model.txt --valid valid.txt.gz "$@"
}
report -o one.html --threads 1 2>talk
say 'ties are told of' grep -q 'ndcg@10 would change by' talk
report -o three.html --threads 3 2>talk
say 'same for any threads' cmp -s one.html three.html
report -o - >out.html 2>talk
say 'same on standard output' cmp -s one.html out.html
has() { # what, text
    say "$1" grep -q -F -e "$2" one.html
}
mean() {
    "$RANKWOOD" eval "$@" 2>talk | awk '$1 == "ndcg@10" { print $2 }'
}
has 'the mean of eval' ">$(mean valid.txt.gz --model model.txt)<"
has 'the conventions of eval' "$("$RANKWOOD" eval valid.txt.gz --model model.txt 2>talk | tail -n 1)"
has 'the checksum of the file' "$(sed -n 's/^checksum //p' model.txt)"
has 'the version' "$("$RANKWOOD" --version | head -n 1)"
has 'a curve of each set' '>valid2 map<'
losses() {
    "$RANKWOOD" explain model.txt valid.txt.gz --repeats 1 --top 5 | awk '/^features/ { on = 1; next } on && NF > 5 && $1 + 0 > 0 { print $4 }'
}
found=0
for loss in $(losses); do
    grep -q -F -e "<td>$loss</td>" one.html && found=$((found + 1))
done
say 'the losses of explain' test "$found" -eq 5
# The worst query's value is that of eval --per-query.
"$RANKWOOD" eval valid.txt.gz --model model.txt --per-query values >talk 2>&1
worst=$(sed -e 1d -e '/nan/d' values | sort -k 2,2g | head -n 1)
worst_row() {
    grep -A 6 -F 'The 10 worst' one.html | tr -d '\n' | grep -q "<bdi>${worst%%	*}</bdi></th>.*<td>$(printf %.6f "${worst#*	}")</td>"
}
say 'the worst query' worst_row
# Queries of one size, alone: two groups, as there are two sizes.
for q in 1 2 3 4; do
    printf "1 qid:$q 1:%s 2:1\n0 qid:$q 1:2 2:%s\n" $q $q
done >small
printf '1 qid:5 1:1\n2 qid:5 2:2\n0 qid:5 1:4\n' >large
"$RANKWOOD" report model.txt --valid small,large -o sizes.html --repeats 0 --quiet 2>talk
for part in small large; do
    say "the mean of $part queries" grep -q -F -e "<td>$(mean $part --model model.txt)</td>" sizes.html
done
# Nothing of it is read as HTML.
printf '1 qid:<script>alert(1)</script> 1:1 # </script>\n0 qid:<script>alert(1)</script> 1:2\n' >evil
report --title '</title><script>' -o evil.html --trees 0 2>talk
"$RANKWOOD" report model.txt --valid evil -o evil2.html 2>talk
say 'names are escaped' grep -q '<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi>' evil2.html
say 'no script' test "$(cat ./*.html | grep -c '<script\|</script')" -eq 0
# A model of another program, and other measures.
"$RANKWOOD" export model.txt --to xgboost -o xgboost.json 2>talk
"$RANKWOOD" import xgboost.json --from xgboost -o imported 2>talk
"$RANKWOOD" report imported --valid valid.txt.gz -o imported.html 2>talk
say 'no curves, and says so' grep -q 'has no metrics by round' imported.html
report --like lightgbm --metric ndcg@5 --repeats 0 -o like.html 2>talk
say 'as LightGBM' grep -q LightGBM like.html
say 'its figure' grep -q ">$("$RANKWOOD" eval valid.txt.gz --model model.txt --like lightgbm --metric ndcg@5 2>talk | awk '$1 == "ndcg@5" { print $2 }')<" like.html
# Refused; a page that was there stays.
cp one.html kept.html
try report model.txt -o x.html
try report model.txt --valid valid.txt.gz
try report --valid valid.txt.gz -o x.html
try report model.txt --valid valid.txt.gz -o model.txt
try report model.txt --valid valid.txt.gz -o valid.txt.gz
try report model.txt --valid nothing -o kept.html
try report train.txt --valid valid.txt.gz -o kept.html
try report model.txt --valid model.txt -o kept.html
try report model.txt --valid valid.txt.gz, -o kept.html
try report model.txt --valid -,- -o kept.html
try report model.txt --valid valid.txt.gz -o nowhere/page.html
try report model.txt --valid valid.txt.gz -o x.html --trees 101
try report model.txt --valid valid.txt.gz -o x.html --repeats x
try report --strict model.txt --valid valid.txt.gz -o x.html --repeats 0 --seed 2
try report model.txt --valid valid.txt.gz -o x.html --like lightgbm --ties mean
try report model.txt --valid valid.txt.gz -o x.html --like nobody
try report model.txt --valid valid.txt.gz -o x.html --metric nothing
# Found only while the page is made.
printf '40 qid:1 1:1\n0 qid:1 1:2\n' >high
"$RANKWOOD" report model.txt --valid high -o kept.html 2>talk
say 'exit 1' test $? -eq 1
sed -n 's/.*error: //p' talk
say 'what was there stays' cmp -s one.html kept.html
say 'nothing else is written' test ! -e x.html
