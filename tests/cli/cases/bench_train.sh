# room: bench
# long
# Measures trainings on any device. Times are not compared; everything else is the same on all machines.
export CUDA_VISIBLE_DEVICES=-1

# Prints the named fields of each row of a JSON document, a line per row. The document has each row on a separate line.
fields() { # TABLE NAME...
    table=$1 && shift
    grep "^{\"table\":\"$table\"" out | while IFS= read -r row; do
        line=
        for name; do
            value=$(printf '%s\n' "$row" | sed -n "s/.*\"$name\":\(\"[^\"]*\"\|[^,}]*\).*/\1/p")
            line="$line${line:+ }$value"
        done
        printf '%s\n' "$line"
    done
}

bench() {
    "$RANKWOOD" bench train --quick --quiet --device cpu "$@" >out || echo "exit $?"
}

echo "trees"
bench --json
head -n 1 out | sed 's/"threads":[0-9]*/"threads":N/; s/"version":"[^"]*"/"version":V/'
fields trees row device queries documents features leaves mean_leaves first_tree last_tree
fields memory row columns total_bins padded_codes held_bytes
fields bars what
fields parameters name value | grep 'leaves\|bins\|split"\|rate\|rounds\|min-docs\|"l2"\|split-l2"'
sed -n 's/^{"table":"\(trees\|memory\)"//; t show; b; :show; s/:\("[^"]*"\|[^,}]*\)//g; p' out | sort -u

echo "what is given replaces the suite's own, and rows that are the same are one"
bench --json --leaves 7 --bins 15 --split newton --queries 12 --rounds 12
fields trees row documents leaves mean_leaves first_tree last_tree
bench --json --shape letor --queries 60 --grow levels --depth 3
fields trees row documents leaves mean_leaves

echo "as a table, without the times, and without the bytes of the plan, which go with threads"
"$RANKWOOD" bench train --quick --quiet --device cpu --shape letor --leaves 7 --bins 63 >out
sed 's/  */ /g; s/threads [0-9]*/threads N/; s/ [0-9.]*\.[0-9][0-9][0-9] .*//; s/ median_ms .*//; s/ - [0-9]* - -$/ - N - -/' out |
    sed -n '1p; /^trees/,$p'

echo "grow"
bench --json --suite grow --queries 8 --bins 31
fields grow axis documents features bins leaves mean_leaves size_ratio
fields bars what

echo "text"
mkdir scratch
TMPDIR=$PWD/scratch bench --json --suite text
fields text shape documents features text_bytes trees mean_leaves
ls scratch

echo "workers, which are also called by their former name"
bench --json --suite ranks --ranks 3
fields ranks ranks device documents features mean_leaves
"$RANKWOOD" bench train --quick --quiet --workers 3 2>&1 | head -n 1
"$RANKWOOD" bench train --quick --quiet --suite workers --workers none 2>&1 | head -n 1

echo "a folder that is not there, and a model that cannot be trained, leave nothing behind"
TMPDIR=$PWD/nowhere "$RANKWOOD" bench train --quick --quiet --suite text 2>&1 | sed 's/bench-[0-9a-f]*/bench-X/; s,/.*/,,'
TMPDIR=$PWD/scratch "$RANKWOOD" bench train --quick --quiet --suite text --label-gain none.txt >out 2>&1 && echo "none.txt was read"
ls scratch

echo "nor does an interrupt"
(
    TMPDIR=$PWD/scratch
    export TMPDIR
    exec "$RANKWOOD" bench train --quiet --device cpu --suite text --queries 40 >out 2>&1
) &
i=0
until [ -n "$(ls scratch)" ] || [ $((i += 1)) -gt 200 ]; do sleep 0.02; done
say "there was a file" test -n "$(ls scratch)"
kill -TERM $!
wait $! 2>/dev/null
say "ended by the signal" test $? -eq 143
ls scratch

echo "no GPU"
"$RANKWOOD" bench train --device cuda >out 2>err # said before any data is made
echo "exit $?, $(grep -c 'no GPU can be used\|built without CUDA' err), $(wc -l <out) rows"

echo "nobody reads on"
"$RANKWOOD" bench train --quick --quiet --device cpu --shape letor 2>err | head -n 1 | sed 's/threads [0-9]*/threads N/'
cat err
