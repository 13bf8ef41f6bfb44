# room: check
# Everything that can be wrong at once; then nothing; then two sets that share queries.
awk 'BEGIN {
    for (q = 1; q <= 40; q++)
        for (i = 0; i < 3; i++)
            printf "%d qid:%d 1:%d 2:%g 3:%g 4:1 5:%d\n", 2 - i, q, q * 3 + i, (q * 7 + i * 13) % 29 / 3, \
                (q * 7 + i * 13) % 29 / 3, (q * 37) % 41
    print "0 qid:7 2:5"
    print "0 qid:41 2:5 3:1\n1 qid:41 2:5 3:1\n40 qid:42 2:1"
}' >bad.txt
"$RANKWOOD" check bad.txt
small_data
"$RANKWOOD" check train.txt
"$RANKWOOD" check train.txt --against train.txt,valid.txt.gz | tail -n 6
"$RANKWOOD" check train.txt --threads 1 >one
"$RANKWOOD" check train.txt --threads 3 | cmp - one
"$RANKWOOD" check bad.txt --json | sed -n '2,7p'
"$RANKWOOD" check bad.txt --json | grep -c '"identifies"'
"$RANKWOOD" check - <train.txt | sed -n 1p
try check
try check nothing.txt
try check train.txt --against ''
try check - --against -
try check train.txt --bins 3
