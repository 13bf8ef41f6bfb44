# A full disk.
[ -c /dev/full ] || { echo "no /dev/full" >&2; exit 77; }
small_model
export TMPDIR=/nowhere # else a model for which there is no room goes there
try train train.txt --rounds 1 --quiet -o /dev/full
try train train.txt --rounds 1 --quiet -o m --log /dev/full
try predict model.txt train.txt -o /dev/full
try predict model.txt train.txt --trec /dev/full
try eval train.txt --model model.txt --ties mean --per-query /dev/full
# An exported model is written by one call, larger than a stream's buffer.
try train train.txt --rounds 20 --leaves 31 --quiet -o large.txt
try export large.txt --to pmml -o /dev/full
rm large.txt
for command in 'predict model.txt train.txt' 'eval train.txt --model model.txt --ties mean' 'info model.txt' \
    'info --json model.txt' 'show model.txt --tree 1' 'train --help' --version; do
    "$RANKWOOD" $command >/dev/full
    echo "$command: $?"
done
# A device that takes everything is written to, not replaced.
try predict model.txt train.txt -o /dev/null
say device test -c /dev/null
# A limit on the size of files is an error like a full disk.
limited() {
    (ulimit -f 1 && try "$@") | cat # the limit holds for the shell, too
}
limited synth --shape letor --queries 40 --seed 5 -o made.txt
limited predict model.txt train.txt -o scores
limited predict model.txt train.txt --trec run
limited export model.txt --to pmml -o model.pmml
limited bin train.txt -o train.bin
limited train train.txt --rounds 20 --leaves 31 --quiet -o limited.txt
limited train train.txt --rounds 200 --leaves 2 --quiet -o limited.txt --log log.jsonl
(ulimit -f 1 && "$RANKWOOD" predict model.txt train.txt 2>&1 >printed; echo "[$?]") | cat
rm printed
ls
# A growing model reaches the limit: the complete trees that fit are saved, and the previous file stays.
echo yesterday >grown.txt
(ulimit -f 256 && "$RANKWOOD" train train.txt --rounds 100000 --leaves 31 --quiet -o grown.txt 2>&1; echo "[$?]") | cat
cat grown.txt
"$RANKWOOD" info grown.txt.interrupted | grep '^finished'
n=$("$RANKWOOD" info grown.txt.interrupted | sed -n 's/^trees *//p')
say 'some trees' test "$n" -ge 5
"$RANKWOOD" train train.txt --rounds "$n" --leaves 31 --quiet -o whole.txt
sed '1,/^trees/d; /^checksum/d' grown.txt.interrupted >a
sed '1,/^trees/d; /^checksum/d' whole.txt | cmp - a
# A model for which there is no room goes where there is some, and the log stays.
mkdir tmp
TMPDIR=$PWD/tmp
try train train.txt --rounds 5 --leaves 7 --quiet -o /dev/full --log log.jsonl | sed 's/full-[A-Za-z0-9]*/full-XXXXXX/; s,/[^ ]*/tmp/,TMP/,'
say whole cmp -s tmp/full-* model.txt
say 'with its log' test -s log.jsonl
