# room: check
# Categories are compared by word, whatever numbers their words have.
table() { # queries first shops...: documents take the shops in turn
    awk -v n="$1" -v first="$2" -v shops="$3" 'BEGIN { m = split(shops, shop, " ")
        print "label,qid,shop,x,town,id"
        for (i = 0; i < 4 * n; i++)
            print i * 7 % 5 % 3 "," first + int(i / 4) "," shop[i % m + 1] "," i % 6 / 2 "," (i % 10 ? "t" i % 3 : "") ",k" first "-" i }'
}
table 60 1 'a b c d' >a.csv
table 60 101 'd c b a' >b.csv
table 60 201 'c c a d' >c.csv
for set in a b c; do
    "$RANKWOOD" bin $set.csv --categorical shop,town,id --quiet -o $set.rwb
done
words='--categorical shop,town,id'
echo 'the same shares'
"$RANKWOOD" check a.csv --against b.csv $words | sed -n '/^warning/p; /^drift/,$p'
"$RANKWOOD" check a.rwb --against b.rwb >ab
"$RANKWOOD" check a.csv --against b.csv $words | cmp - ab
echo 'other shares'
"$RANKWOOD" check a.rwb --against c.rwb >ac
sed -n '/^warning/p; /^drift/,$p' ac
"$RANKWOOD" check a.csv --against c.csv $words | cmp - ac
"$RANKWOOD" check a.csv --against c.rwb $words | cmp - ac
"$RANKWOOD" check a.rwb --against c.rwb --threads 1 | cmp - ac
"$RANKWOOD" check c.rwb --against a.rwb | grep -o "large drift.*"
"$RANKWOOD" check a.rwb --against c.rwb --json | tr -d '\n ' | grep -o '"category":"[^}]*}'
echo 'the same documents'
(head -n 1 a.csv && tail -n +2 a.csv | sort -s -r -n -t, -k2,2 | sed 's/^\([^,]*\),/\1,9/') >again.csv
"$RANKWOOD" check a.csv --against again.csv $words | grep -o '[0-9]* of [0-9]* documents have the same values.*'
echo '0,9999,aa,1,t0,k' >>again.csv # a word that moves the numbers of others
sed 's/,[a-d],/,e,/' again.csv >others.csv
for set in again others; do
    "$RANKWOOD" bin $set.csv --categorical shop,town,id --quiet -o $set.rwb
done
"$RANKWOOD" check a.rwb --against again.rwb | grep -o '[0-9]* of [0-9]* documents have the same values.*'
"$RANKWOOD" check a.rwb --against others.rwb >other
say 'no document is in both' sh -c '! grep "documents have the same values" other'
echo 'words and numbers'
awk -F, -v OFS=, 'NR > 1 { $3 = NR % 4; $5 = 1; $6 = NR } { print }' b.csv >numbers.csv
"$RANKWOOD" bin numbers.csv --quiet -o numbers.rwb
"$RANKWOOD" check a.rwb --against numbers.rwb | grep 'words in one'
try check a.csv --categorical shops
