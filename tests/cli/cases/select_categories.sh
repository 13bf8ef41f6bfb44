# room: evaluate
# Features with categories are selected like others; the label is that of column a, and one higher for red.
awk 'BEGIN { split("red blue green", word, " "); print "label,qid,color,a,b"
    for (i = 0; i < 1080; i++) { c = i * 7 % 3 + 1; a = i * 37 % 101 / 101
        printf "%d,%d,%s,%.3f,%.3f\n", int(2 * a + (c == 1)), int(i / 12), word[c], a, i * 53 % 89 / 89 } }' >all.csv
head -n 721 all.csv >train.csv
(head -n 1 all.csv && tail -n 360 all.csv) >valid.csv
set -- select train.csv --valid valid.csv --rounds 20 --quiet
"$RANKWOOD" "$@" --categorical color --json | grep '"list"'
try "$@"
