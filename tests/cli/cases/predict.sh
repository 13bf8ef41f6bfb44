# room: model
# Scores, leaves, TREC runs.
small_model
cat >data.txt <<'END'
2 qid:10 1:0.5 # docid = GX-1
0 qid:10 2:0.5
1 qid:x-1 3:1 # docid: second
0 qid:x-1 3:1
0 qid:x-1 4:1
END
"$RANKWOOD" predict model.txt data.txt 2>/dev/null | wc -l
"$RANKWOOD" predict model.txt data.txt --leaf-ids 2>/dev/null | awk '{ print NF }' | sort | uniq -c
"$RANKWOOD" predict model.txt data.txt --trees 2 --leaf-ids 2>/dev/null | awk '{ print NF }' | sort | uniq -c
"$RANKWOOD" predict model.txt data.txt --trees 2 -o two 2>/dev/null
"$RANKWOOD" predict model.txt data.txt -o five 2>/dev/null
say differ cmp -s two five
"$RANKWOOD" predict model.txt data.txt --trec run -o again 2>/dev/null
say scores cmp five again
cut -d ' ' -f 1-2,4,6 run
cut -d ' ' -f 3 run | sort
cut -d ' ' -f 5 run | sort >a
sort five | cmp - a
awk '$1 == q && $5 > s { print "not in order:", $0 } { q = $1; s = $5 }' run
try predict model.txt data.txt --trees 6 -o six
try predict model.txt data.txt -o model.txt
try predict train.txt data.txt
say none test ! -e six
