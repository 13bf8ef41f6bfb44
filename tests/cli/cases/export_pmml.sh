# room: convert
# PMML: written, verified, refused; and only written.
cat >body <<'MODEL'
rankwood model 1
absent zero
best-round 0

params 0

features 3
1-3

names 2
1 score
2 <age> & "rank"

metrics 0 rounds 0

trees 2

tree 1 leaves 3
node 0 feature 1 <= 0.1 left leaf 0 right node 1 missing left gain 2.5 # score
node 1 feature 2 <= 2 left leaf 1 right leaf 2 missing right gain 1 # <age> & "rank"
leaf 0 -0.5
leaf 1 0.25
leaf 2 1

tree 2 leaves 1
leaf 0 0.25

MODEL
sum=$(gzip -c body | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')
{ cat body; echo "checksum $sum"; } >model.txt
printf '1 qid:1 1:0.1 2:2\n0 qid:1 1:nan 2:3\n0 qid:1 1:0.11 2:nan\n2 qid:1 1:0.5 2:2\n' >missing.txt
try export model.txt --to pmml --verify missing.txt -o model.pmml
cat model.pmml
# An absent value is missing in PMML, and 0 in this model; node 1 sends the two to different sides.
printf '1 qid:1 1:0.1 2:2\n0 qid:1 1:0.5\n' >absent.txt
try export model.txt --to pmml --verify absent.txt -o model.pmml
try import model.pmml --from pmml -o x
small_model
"$RANKWOOD" export model.txt --to pmml --verify valid.txt.gz -o model.pmml
sed 's/^trees .*/trees 0/; /^tree 1/,$d' model.txt >body
sum=$(gzip -c body | tail -c 8 | od -An -N4 -tx4 | tr -d ' ')
{ cat body; echo "checksum $sum"; } >none.txt
try export none.txt --to pmml -o x
say none test ! -e x
