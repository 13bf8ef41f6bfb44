# A manifest describes a training, and `verify` repeats it.
small_data
R="$RANKWOOD"
"$R" train train.txt --valid valid.txt.gz --early-stop 5 --leaves 7 --quiet -o model.txt --manifest model.json
sed 's/\("build\|"version\)": ".*"/\1": "..."/' model.json
[ "checksum $(sed -n 's/.*"checksum": "\(.*\)".*/\1/p' model.json)" = "$(tail -n 1 model.txt)" ] || echo "another checksum"
try verify model.json --quiet --threads 1
try verify model.json --quiet --json
# The same manifest on other devices and with other threads and workers.
for on in "--threads 1" "--device sim" "--device ref" "--workers 3 --hist auto"; do
    "$R" train train.txt --valid valid.txt.gz --early-stop 5 --leaves 7 --quiet -o other.txt --manifest other.json $on \
        2>/dev/null
    cmp model.json other.json || echo "another manifest with $on"
done
# Every input of a training, and a resumed one.
column() { awk "{ print ($1) }" train.txt; }
column '$1 > 1 ? 2 : 1' >weights.txt && column 'NR % 7' >positions.txt && column 'NR % 5 / 10' >scores.txt
"$R" predict model.txt valid.txt.gz >valid.scores
printf '0\n1\n3\n' >gain.txt && printf 'rounds = 4\nleaves = 5\n' >four.conf
"$R" bin train.txt --quiet -o train.rwb
printf 'y,query,title,a\n' >t.csv && awk 'NR <= 100 { print $1 "," int(NR / 10) ",t" NR "," NR * 7 % 13 }' train.txt >>t.csv
"$R" train train.txt --rounds 3 --checkpoint ck --quiet -o first.txt
verified() {
    rm -f one.json
    "$R" train "$@" --quiet -o one.txt --manifest one.json || return
    before=$(cat ./*.txt one.json | cksum)
    "$R" verify one.json --quiet | sed "s/checksum .*/checksum ... ($*)/"
    [ "$before" = "$(cat ./*.txt one.json | cksum)" ] || echo "$*: verify wrote something"
}
verified train.txt --rounds 20 --early-stop-rule folds
verified train.rwb --rounds 5 --weights weights.txt --start-scores scores.txt --label-gain gain.txt
verified train.txt --valid valid.txt.gz --valid valid.txt.gz --valid-start-scores none --valid-start-scores valid.scores --rounds 4 --metric map --metric ndcg@5
verified train.txt --rounds 5 --debias ipw --positions positions.txt
verified train.txt --rounds 3 --init model.txt
verified train.txt --bags 2 --config four.conf --ignore 3-7 --monotone 8:+
verified t.csv --rounds 3 --label-column y --qid-column query --ignore title --min-docs 5
awk 'NR > 1 { print "," int((NR - 1) / 20) } NR == 1 { print ",time" }' t.csv | paste -d '\0' t.csv - >time.csv
verified time.csv --rounds 4 --label-column y --qid-column query --ignore title --min-docs 5 --split-time time
verified time.csv --rounds 9 --label-column y --qid-column query --ignore title --min-docs 5 --early-stop-rule folds --fold-by time
verified train.txt --rounds 9 --early-stop 3 --effort fast
verified train.txt --rounds 6 --resume ck
"$R" train train.txt --rounds 6 --quiet -o whole.txt --manifest whole.json && cmp one.json whole.json
# Differences: the data ends the training at once; another version does not matter if the model is the same.
sed '1s/^[0-9]*/4/' train.txt >changed.txt
try verify model.json --quiet --data changed.txt | sed 's/"[0-9a-f]*"/.../g'
try verify model.json --quiet --data changed.txt --json | sed 's/\\"[0-9a-f]*\\"/.../g'
try verify model.json --quiet --valid train.txt | sed 's/"[0-9a-f]*"/.../g'
sed 's/"version": ".*"/"version": "0.0.1"/' model.json >version.json
try verify version.json --quiet
sed 's/\("checksum": "\).*"/\100000000"/' version.json >both.json
try verify both.json --quiet | sed 's/found .*/found .../'
sed '/"parameters"/,$s/"leaves": "7"/"leaves": "9"/; s/\("checksum": "\).*"/\100000000"/' model.json >leaves.json
try verify leaves.json --quiet
# Files are searched in the manifest's folder, too; standard input has no name.
mkdir there && cp model.json train.txt valid.txt.gz there && mv train.txt moved.txt
try verify there/model.json --quiet
try verify model.json --quiet
try verify model.json --quiet --data moved.txt
"$R" verify - --quiet --data moved.txt <model.json
"$R" train - --rounds 2 --quiet -o one.txt --manifest pipe.json <moved.txt
try verify pipe.json --quiet
try verify pipe.json --quiet --data moved.txt
# Errors.
try verify model.json --data moved.txt --valid valid.txt.gz --valid valid.txt.gz
try verify model.txt
try verify missing.json
for text in '{}' '[]' '{"manifest": 2}' '{"manifest": 1}' '{"manifest": 1, "manifest": 1}' '{"manifest": 1, "functions": {}}'; do
    echo "$text" >wrong.json
    echo "$text"
    try verify wrong.json
done
sed '/"given"/,/}/s/"leaves"/"leafs"/' model.json >wrong.json
try verify wrong.json --data moved.txt
sed '/"given"/,/}/s/"7"/7/' model.json >wrong.json
try verify wrong.json --data moved.txt
# Nothing in a manifest may write a file.
echo kept >kept.txt
for option in log output checkpoint; do
    sed '/"given"/,/}/s/"leaves": "7"/"'$option'": "kept.txt"/' model.json >wrong.json
    try verify wrong.json --data moved.txt
done
sed 's/"train.txt"/"--log=kept.txt"/' model.json >wrong.json
try verify wrong.json
cat kept.txt
try train moved.txt -o model.txt --manifest model.txt
try train moved.txt -o model.txt --manifest moved.txt
try train moved.txt -o new.txt --manifest missing/model.json
try train moved.txt --refit model.txt -o new.txt --manifest new.json
[ ! -e new.txt ] && [ ! -e new.json ] || echo "something was written"
