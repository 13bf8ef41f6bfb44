# room: io
# long
# Caches of several labels a document: the same models as of the text.
small_data
gzip -dk valid.txt.gz
awk '{ print (NR * 7919 % 13) % 4, (NR * 31 % 7 > 4) }' train.txt >two
awk '{ print NR % 3, NR % 2 }' valid.txt >valid.two
train() {
    "$RANKWOOD" train "$@" --leaves 7 --min-docs 3 --quiet 2>said || cat said
}
bin() {
    "$RANKWOOD" bin "$@" --quiet
}
bin train.txt -o plain.rwb
bin train.txt --labels two -o train.rwb
bin valid.txt --labels valid.two -o valid.rwb
bin train.rwb -o again.rwb
say 'the same bytes of itself' cmp train.rwb again.rwb
bin plain.rwb --labels two -o again.rwb
say 'of a cache and labels' cmp train.rwb again.rwb
tac two >other
bin train.txt --labels other -o again.rwb
bin again.rwb --labels two -o again2.rwb
say 'labels given take the place of those in the cache' cmp train.rwb again2.rwb
weights='--label-weights 1,0.5,2'
for how in '' '--objective yetirank --split newton' '--bins 31'; do
    echo "labels $how"
    train train.txt --labels two $weights $how --valid valid.txt --rounds 6 -o text --log log
    grep '"record":"metrics"' log >text.metrics
    same_model train.rwb $weights $how --valid valid.rwb
    say '  as of the text' cmp text whole && cmp text.metrics whole.metrics
done
train train.txt --labels two $weights --rounds 3 -o first --checkpoint ck
train train.rwb $weights --rounds 6 --resume ck -o cached
train train.txt --labels two $weights --rounds 6 -o text
say 'a checkpoint of the text is resumed by the cache' cmp text cached
train again.rwb --labels two $weights --rounds 6 -o cached
say 'labels given beside the cache count' cmp text cached
"$RANKWOOD" cv train.txt --labels two $weights --folds 3 --rounds 3 --quiet -o folds >by.text 2>said
"$RANKWOOD" cv train.rwb $weights --folds 3 --rounds 3 --quiet -o folds >by.cache 2>said
say cross-validated cmp by.text by.cache
# Tables: names, weights and categories in addition to the labels.
awk 'BEGIN { print "click,qid,buy,f1,town,w,long" }
     NR == FNR { label[NR] = $0; next }
     { split(label[FNR], l, " "); split($3, a, ":"); split($4, b, ":"); split($2, q, ":")
       print $1 "," q[2] "," l[1] "," a[2] ",t" int(b[2] * 9) "," 1 + FNR % 3 "," l[2] }' two train.txt >three.csv
head -n 200 three.csv >begin.csv
(head -n 1 three.csv && tail -n +201 three.csv) >end.csv
columns='--label-columns click,buy,long --weight-column w'
for given in '--categorical town' '--ignore town'; do
    echo "table $given"
    train three.csv $columns $given $weights --rounds 6 -o text
    for part in begin end three; do
        bin $part.csv $columns $given -o $part.rwb
    done
    same_model three.rwb $weights
    say '  as of the table' cmp text whole
    case $given in --ignore*) given= ;; esac # excluded columns are not in the cache
    train begin.rwb end.rwb $given $weights --rounds 6 -o cached
    say '  two caches' cmp text cached
    train begin.rwb end.rwb $given $weights --rounds 6 --ranks 3 -o cached
    say '  two caches, three ranks' cmp text cached
done
train begin.rwb end.csv $columns --ignore town $weights --rounds 6 -o cached
say 'a cache and a table' cmp text cached
# Errors.
rm -f no
try train train.rwb --label-weights 1,0.5 --quiet -o no
try train plain.rwb $weights --quiet -o no
try train train.rwb --rounds 1 --quiet -o unused
try train --strict train.rwb --label-columns 1,2 --label-weights 1,1 --quiet -o no
cut -d ' ' -f 1 valid.two >one
bin valid.txt --labels one -o one.rwb
try train train.rwb one.rwb $weights --quiet -o no
try train train.rwb valid.txt $weights --quiet -o no
try train one.rwb plain.rwb $weights --quiet --ranks 2 -o no
try train end.csv one.rwb $columns --ignore town $weights --quiet --ranks 2 -o no
for bad in '' '1' '1 2 3' 'x 1' '1 -1'; do
    sed "7s/.*/$bad/" two >labels
    try bin train.txt --labels labels --quiet -o no
done
sed 7d two >labels
try bin train.txt --labels labels --quiet -o no
try bin train.txt --labels missing --quiet -o no
try bin --strict train.txt --label-columns 1,2 --quiet -o no
try bin three.csv --label-columns click,nothing --quiet -o no
try bin three.csv --label-columns click,click --quiet -o no
try bin three.csv --label-columns click,buy --label-column long --quiet -o no
try bin three.csv --label-columns click,buy --labels two --quiet -o no
sed '9s/^\([^,]*,[^,]*\),[^,]*/\1,-1/' three.csv >bad.csv
try bin bad.csv --label-columns click,buy --ignore town --quiet -o no
n=$(wc -c <train.rwb)
(head -c $((n - 8)) train.rwb && printf 'x' && tail -c 7 train.rwb) >broken.rwb
try train broken.rwb $weights --quiet -o no
head -c $((n - 100)) train.rwb >broken.rwb
try train broken.rwb $weights --quiet -o no
say none test ! -e no
