# room: params
# The help lists every parameter, with its default if there is one, and the range of numbers.
small_data
"$RANKWOOD" train --help | tr -s ' \n' ' ' >help
"$RANKWOOD" train train.txt --rounds 1 --quiet -o m --log log
grep '"record":"params"' log | sed 's/.*"params":{\([^}]*\)}.*/\1/' | tr , '\n' | sed -n 's/^"\([^"]*\)":.*/\1/p' >names
say many test "$(wc -l <names)" -ge 30
while read -r name; do
    grep -q -e " --$name=" help || echo "$name is missing"
    grep -q "\"$name\":\"\"" log || grep -q -e " --$name=[^ ]* [^[]*\[[^]]*default[^]]*\]" help || echo "no default of $name"
done <names
grep -o -e '--leaves=N|auto [^[]*\[2 to 65536; default: auto\]' help | wc -l
grep -o -e '--bins=N [^[]*\[2 to 1024; default: [0-9]*\]' help | wc -l
