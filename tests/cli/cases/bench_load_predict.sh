# room: bench
# long
# Times are not looked at; the rest is the same everywhere.
export CUDA_VISIBLE_DEVICES=-1
mkdir scratch
TMPDIR=$PWD/scratch
export TMPDIR

# Rows of a JSON document: the fields named, a row a line.
fields() { # TABLE NAME...
    table=$1 && shift
    grep "^{\"table\":\"$table\"" out | while IFS= read -r row; do
        line=
        for name; do
            line="$line $(printf '%s\n' "$row" | sed -n "s/.*\"$name\":\(\"[^\"]*\"\|[^,}]*\).*/\1/p")"
        done
        printf '%s\n' "${line# }"
    done
}

# Are least, median and most of all rows numbers above 0, and in order?
in_order() { # TABLE UNIT
    rows=$(fields "$1" "least_$2" "median_$2" "most_$2")
    printf '%s\n' "$rows" | awk '!($1 > 0 && $1 <= $2 && $2 <= $3) { bad = 1 } END { exit bad || !NR }'
}

echo "load"
"$RANKWOOD" bench load --quick --quiet --threads 2 --json >out
head -n 1 out | sed 's/"version":"[^"]*"/"version":V/; s/"instructions":"[a-z0-9]*"/"instructions":I/'
fields data shape queries documents features bins text_bytes
fields load method threads runs
sed -n 's/^{"table":"load"//; t show; b; :show; s/:\("[^"]*"\|[^,}]*\)//g; s/,$//; p' out | sort -u
say "times in order" in_order load ms
say "rates of text are its bytes over the time" sh -c '
    grep "\"table\":\"load\"" out | sed "s/.*\"median_ms\":\([^,]*\),.*\"text_mb_s\":\([^,]*\),.*/\1 \2/" |
    awk "{ x = 5065755 / (\$1 * 1000 * \$2); if (x < 0.999 || x > 1.001) bad = 1 } END { exit bad || NR != 8 }"'
say "caches are smaller than text" sh -c '
    grep "\"method\":\"cache" out | sed "s/.*\"file_bytes\":\([0-9]*\).*/\1/" |
    awk "!(\$1 > 0 && \$1 < 5065755) { bad = 1 } END { exit bad || NR != 4 }"'
ls scratch

echo "other data, as a table"
"$RANKWOOD" bench load --quick --quiet --threads 1 --shape letor --queries 30 --bins 15 >out
sed 's/  */ /g; s/instructions.*/instructions I/; s/ 3 [0-9.]*\.[0-9] .*/ 3/; s/ median_ms .*//; s/ [0-9]* 3$/ 3/; s/ [0-9]*$/ N/' out

echo "a folder that is not there, and nobody who reads on, leave nothing behind"
TMPDIR=$PWD/nowhere "$RANKWOOD" bench load --quick --quiet 2>&1 | sed 's/bench-[0-9a-f]*/bench-X/; s,/.*/,,'
"$RANKWOOD" bench load --quick --quiet --queries 200 2>err | head -n 1 | cut -c 1-12
cat err
ls scratch

echo "nor does an interrupt"
(exec "$RANKWOOD" bench load --quiet --queries 100 >out 2>&1) &
i=0
until [ -n "$(ls scratch)" ] || [ $((i += 1)) -gt 200 ]; do sleep 0.02; done
say "there was a file" test -n "$(ls scratch)"
kill -TERM $!
wait $! 2>/dev/null
say "ended by the signal" test $? -eq 143
ls scratch

echo "predict"
for isa in plain avx2; do
    RANKWOOD_ISA=$isa "$RANKWOOD" bench predict --quick --quiet --threads 2 --json >out
    head -n 1 out | sed 's/"version":"[^"]*"/"version":V/; s/"instructions":"\(plain\|avx2\)"/"instructions":I/'
    fields data shape queries documents features trained_on_documents
    fields "document and tree" model mean_leaves method threads runs equal
    fields "one at a time" model method runs equal
    say "times in order" in_order "document and tree" ns
    say "of one, too" in_order "one at a time" us
done
RANKWOOD_ISA=plain "$RANKWOOD" bench predict --quick --quiet --threads 2 --json | grep -c '"instructions":"plain"'

echo "other data"
"$RANKWOOD" bench predict --quick --quiet --threads 1 --shape yahoo --queries 5 --json >out
fields data shape queries documents features
fields "document and tree" method threads equal
