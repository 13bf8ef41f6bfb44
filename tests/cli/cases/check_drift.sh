# room: check
# Drift between two days: of labels, query lengths, scores and features; limits; input that cannot be compared.
day() { # seed lowest-price shops columns
    awk -v seed="$1" -v least="$2" -v shops="$3" -v columns="$4" 'BEGIN {
        m = split(shops, shop, " "); n = split(columns, name, " "); printf "label,qid"
        for (k = 1; k <= n; k++) printf ",%s", name[k]
        print ""
        for (q = 0; q < 200; q++)
            for (i = 0; i < 5 + q % 2; i++) {
                at = seed + q * 7 + i * 3
                value["price"] = least + at % 97; value["shop"] = shop[at % m + 1]; value["stock"] = at % 10 ? at % 5 : ""
                value["age"] = at * at % 31; value["size"] = at * 5 % 23
                printf "%d,q%d-%d", at * at % 7 % 3, seed, q
                for (k = 1; k <= n; k++) printf ",%s", value[name[k]]
                print ""
            }
    }'
}
day 1 0 'a b c' 'price shop stock age' >reference.csv
day 2 0 'a b c' 'age stock shop price' >same.csv
day 3 60 'a b d' 'size price shop stock' >day.csv
"$RANKWOOD" train reference.csv --categorical shop --rounds 5 --quiet -o model.txt
words='--categorical shop'
check="$RANKWOOD check --against reference.csv $words"
$check same.csv --model model.txt --fail-above psi=.1 --fail-above ks=0.1
$check day.csv | sed -n '/^warning/p; /^drift/,$p'
"$RANKWOOD" check same.csv --against day.csv --model model.txt | sed -n '/^warning/p; /^drift/,$p'
for threads in 1 2 7; do
    $check day.csv --threads $threads --json >json.$threads
done
say 'any number of threads' cmp json.1 json.2 && cmp json.1 json.7
for set in same day; do
    echo "the day: $set"
    $check $set.csv --fail-above psi=0.25 2>&1 >/dev/null || echo "[$?]"
done
$check day.csv --fail-above ks=0.4 2>&1 >/dev/null || echo "[$?]"
echo 'limits of some rows'
sed '2,$s/^[^,]*/0/' same.csv >unclicked.csv
awk -F, -v OFS=, 'NR > 1 { $6 = 200 } { print }' same.csv >moved.csv
awk -F, -v OFS=, 'NR > 1 { $2 = "q" } { print }' same.csv >long.csv
for rows in features labels query-lengths scores; do
    for set in unclicked moved long; do
        echo "$set: $rows"
        $check $set.csv --model model.txt --fail-above $rows:psi=0.1 2>&1 >/dev/null || echo "[$?]"
    done
done
$check day.csv --fail-above features:psi=20 --fail-above labels:ks=0 2>&1 >/dev/null || echo "[$?]"
echo 'few queries'
head -n 40 same.csv >few.csv
$check few.csv >few
$check few.csv --fail-above psi=0.1 2>&1 >/dev/null || echo "[$?]"
say 'a warning' grep -q '^warning.*drift' few
echo 'input that cannot be compared'
echo 'label,qid,price,shop,stock,age' >empty.csv
cut -d, -f2- reference.csv >unlabelled.csv
for set in empty unlabelled; do
    try check same.csv --against $set.csv $words
    try check $set.csv --against same.csv $words
done
cut -d, -f1-3,5- reference.csv >lacking.csv
try check same.csv --against lacking.csv $words
try check same.csv --against reference.csv --ignore shop,nosuch
try check day.csv --against reference.csv --model model.txt
try check same.csv --model model.txt
try check same.csv --fail-above psi=1
for limit in psi 0.2 psi= psi=x psi=-1 ks=nan age=1 feature:psi=1 :psi=1 scores:psi=1; do
    try check same.csv --against reference.csv --fail-above $limit
done
try check same.csv --against reference.csv --fail-above psi=1 --fail-above psi=2
try check same.csv --against reference.csv --fail-above ks=1 --fail-above ks=nan
awk -F, -v OFS=, 'NR > 1 { $4 = NR } { print }' reference.csv >numbers.csv
"$RANKWOOD" bin numbers.csv --quiet -o numbers.rwb
"$RANKWOOD" bin reference.csv --categorical shop --quiet -o words.rwb
"$RANKWOOD" check words.rwb --against numbers.rwb --fail-above ks=1 2>&1 >/dev/null || echo "[$?]"
"$RANKWOOD" check words.rwb --against numbers.rwb --fail-above labels:ks=1 >/dev/null
