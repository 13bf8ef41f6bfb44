# On a narrow terminal the bar gives way to the time that is left.
command -v script >/dev/null || { echo "no script(1) here" >&2; exit 77; }
small_data
for columns in 80 60 40; do
    script -qec "stty cols $columns; '$RANKWOOD' train train.txt --rounds 1000000 --leaves 4 -o /dev/null & sleep 3; kill %1; wait" /dev/null </dev/null |
        tr '\r' '\n' | sed 's/\x1b\[K//' | grep 'docs/s\|left' >seen
    grep -q '^\[#*\.*\] [0-9]*/1000000 *at most [0-9:]* left' seen && bar=shown || bar=none
    grep -v 'at most [0-9:]* left' seen
    awk -v columns=$columns 'length >= columns { print columns ": " $0 }' seen
    say "$columns columns, bar $bar" test -s seen
done
