# room: comm
# Workers that are threads: an identical model, and each message once.
small_data
gzip -dk valid.txt.gz
train="train train.txt --valid valid.txt --rounds 12 --leaves 7 --threads 2"
"$RANKWOOD" $train -o one.txt --log one.log 2>one.err
for n in 2 5; do
    "$RANKWOOD" $train --ranks $n -o many.txt --log many.log 2>many.err
    say "$n ranks: the model" cmp one.txt many.txt
    for log in one many; do
        grep '"record":"metrics"' $log.log >$log.metrics
        grep -v 'round\|trees in\|tied\|^workers' $log.err >$log.said
    done
    grep '^workers' many.err
    grep -o '"workers":[0-9]*' one.log many.log
    say "$n ranks: the log" cmp one.metrics many.metrics
    say "$n ranks: what is said" cmp one.said many.said
done
"$RANKWOOD" $train --ranks 2 --verbose -o many.txt 2>&1 | grep -c 'MB sent to other workers'

# An error in one shard ends every worker.
awk 'NR == 500 { $1 = "x" } 1' train.txt >bad.txt
try train bad.txt --ranks 3 --quiet -o bad.model
awk 'NR == 500 { $1 = 40 } 1' train.txt >bad.txt
"$RANKWOOD" bin bad.txt --quiet -o bad.rwb
try train bad.rwb --ranks 3 --quiet -o bad.model
try train bad.rwb bad.rwb --ranks 3 --quiet -o bad.model
middle=$(awk 'NR > 300 && $2 == last { print NR; exit } { last = $2 }' train.txt)
head -n $((middle - 1)) train.txt | gzip >first.txt.gz
tail -n +$middle train.txt | gzip >second.txt.gz
try train first.txt.gz second.txt.gz --ranks 2 --quiet -o bad.model
try train train.txt --ranks 2 --quiet -o missing/bad.model
try train - --ranks 2 --quiet -o bad.model <train.txt
try train train.txt --ranks 0 -o bad.model
try train train.txt --ranks 2 --plan
say 'nothing is left' test -z "$(ls | grep 'bad.model\|tmp-')"
