# room: evaluate
# A click log to labels and propensities; columns in another order; malformed logs, which leave no file.
i=0
while [ $i -lt 40 ]; do # the order of two documents alternates
    a=$((i % 2 + 1)) b=$((2 - i % 2))
    printf 's%d\tq1\tA\t%d\t%d\n' $i $a $((i % 5 < 4 / a))
    printf 's%d\tq1\tB\t%d\t%d\n' $i $b $((i % 10 < 4 / b))
    i=$((i + 1))
done >log.tsv
printf 's1x\tq2\tC\t1\t1\n' >>log.tsv
"$RANKWOOD" judge log.tsv --propensities p.txt -o labels.tsv
cat labels.tsv p.txt
"$RANKWOOD" judge log.tsv --model dbn --thresholds .1,.5 -o labels.tsv | tail -n 7
{ echo 'click,other,"document",query,session,position'
  awk -F '\t' '{ printf "%s,,\"%s\",%s,%s,%s\r\n", $5, $3, $2, $1, $4 }' log.tsv; } | gzip >log.csv.gz
"$RANKWOOD" judge log.csv.gz -o same.tsv >/dev/null
"$RANKWOOD" judge log.tsv -o labels.tsv >/dev/null
say 'CSV with a header and more columns' cmp -s same.tsv labels.tsv
cut -f 2- log.tsv | "$RANKWOOD" judge - -o same.tsv >/dev/null
say 'without sessions' cmp -s same.tsv labels.tsv
cut -f 2- log.tsv | sed 's/^q1/q,1/' | "$RANKWOOD" judge - -o same.tsv >/dev/null
say 'a comma in the first column' cmp -s same.tsv - <<END
$(sed 's/^q1/q,1/' labels.tsv)
END
"$RANKWOOD" judge log.tsv --columns 1,2,3,4,5 --threads 3 -o same.tsv >/dev/null
say 'columns by number' cmp -s same.tsv labels.tsv
{ printf '\357\273\277'; cat log.tsv; } | "$RANKWOOD" judge - --model dbn -o same.tsv >/dev/null
"$RANKWOOD" judge log.tsv --model dbn -o labels.tsv >/dev/null
say 'a byte order mark' cmp -s same.tsv labels.tsv
cut -f 2- log.tsv | "$RANKWOOD" judge - -o same.tsv | head -n 1
sed 's/q1/"""q"" 1"/; s/$/\t"title\tof\ntwo lines"/' log.tsv | "$RANKWOOD" judge - --columns 1,2,3,4,5 -o same.tsv >/dev/null
cut -f 1,2 same.tsv # a text that begins with a quote is quoted
awk '$1 != "s0" || $4 > 1' log.tsv | "$RANKWOOD" judge - --model dbn -o same.tsv 2>&1 >/dev/null
rm -f same.tsv p.txt
wrong() { # wrong LINE [OPTION...]: the log with a wrong line
    printf "$1\n" | cat log.tsv - >bad.tsv
    shift
    try judge bad.tsv --propensities p.txt -o none.tsv "$@"
}
wrong 's\tq1\tA\t0\t0'
wrong 's\tq1\tA\t0\t1'
wrong 's\tq1\tA\t\t1'
wrong 's\tq1\tA\t2\t2'
wrong 's\tq1\tA\t70000\t0'
wrong 's\tq1\tA\t2'
wrong 's\tq1\t\t2\t0'
wrong 's\tq1\t"A\t2\t0'
wrong 's\tq1\t"A"B\t2\t0'
wrong 's\tq1\t"A\nB"\t2\t0'
wrong 's\tq1\tA\0\t2\t0'
wrong '\ns\tq1\tA\t2\t0'
wrong 's0\tq1\tC\t2\t0'
wrong 's0\tq1\tA\t9\t0'
wrong 's0\tq2\tC\t3\t0'
wrong 's\tq1\tC\t3\t1'
wrong 's\tq1\tA\t3\t0'
grep -v '	0$' log.tsv >bad.tsv
try judge bad.tsv -o none.tsv
grep -v '	1$' log.tsv >bad.tsv
try judge bad.tsv -o none.tsv
: >bad.tsv
try judge log.tsv bad.tsv -o none.tsv
cut -f 2,3,5 log.tsv | sed 's/\t[01]$/\t1&/' >bad.tsv
try judge bad.tsv -o none.tsv
cut -f 2- log.tsv >bad.tsv
try judge bad.tsv --model dbn -o none.tsv
try judge log.tsv --columns a,b,c,d,e -o none.tsv
try judge log.tsv --columns 1,2,3,4,7 -o none.tsv
try judge log.tsv --columns a,b,c -o none.tsv
echo session,q,document,position,click >bad.tsv
try judge bad.tsv -o none.tsv
echo session,query,document,position,click,query >bad.tsv
try judge bad.tsv -o none.tsv
try judge log.tsv log.tsv -o none.tsv
try judge . -o none.tsv
try judge log.tsv --thresholds .5,.1 -o none.tsv
try judge log.tsv --min-impressions 100 -o none.tsv
try judge log.tsv --satisfaction -o none.tsv
try judge log.tsv --model ctr --propensities p.txt -o none.tsv
say 'nothing is written' test ! -e none.tsv -a ! -e p.txt
