# Makes small input files, in the current folder, for commands of docs that read files which no earlier command made.
# Sourced by tests/docs.sh.

# docs/reference/data.md, docs/how-to/categories.md, docs/reference/objectives.md: tables
table() { # header: rows of `queries` queries of 12 documents, values from their numbers
    echo "$1"
    awk -v header="$1" -v queries="$2" -v seed="$3" 'BEGIN {
        n = split(header, column, ",")
        for (q = 1; q <= queries; q++)
            for (d = 1; d <= 12; d++) {
                line = ""
                for (i = 1; i <= n; i++) {
                    x = (q * 7919 + d * 104729 + seed * 31 + i * 271) % 1009
                    shop = (q * 31 + d * 17 + seed) % 7
                    value = x / 10
                    if (column[i] == "query" || column[i] == "qid") value = 10032 + q
                    if (column[i] == "title") value = "shoes no " d
                    if (column[i] == "shop") value = "shop " shop
                    if (column[i] ~ /^(label|relevance)$/) value = shop % 3
                    if (column[i] ~ /^(click|cart|sale)$/) value = (x > 400 + 100 * i) + 0
                    line = line (i > 1 ? "," : "") value
                }
                print line
            }
    }'
}
{
    printf 'query,title,bm25,clicks,relevance\n10032,"shoes, red",7.31,12,2\n10032,boots,,3,0\n'
    table query,title,bm25,clicks,relevance 30 1 | tail -n +2
} >shop.csv
table label,qid,shop,price 60 1 >train.csv
table label,qid,shop,price 20 2 >valid.csv
table qid,bm25,price,click,cart,sale 60 1 >sales.csv
table qid,bm25,price,click 20 2 >sales_valid.csv
letor='NR > 1 { print $4, "qid:" $1, "1:" $2, "2:" $3 }'
awk -F , "$letor" sales.csv >sales.txt
awk -F , "$letor" sales_valid.csv >sales_valid.txt
awk -F , 'NR > 1 { print $5, $6 }' sales.csv >more.txt

# docs/how-to/clicks.md: clicks of users who look at position k one time in k
awk -F , 'NR > 1 { k = $1 == last ? k + 1 : 1; last = $1; print ($4 && (NR * 7) % k == 0) ? 1 : 0, "qid:" $1, "1:" $2, "2:" $3 }' sales.csv >clicks.txt
awk '{ k = $2 == last ? k + 1 : 1; last = $2; print k }' clicks.txt >shown.txt
awk '{ sub("qid:", "", $2) } !seen[$2]++ { print $2, "text", n++ % 20 }' clicks.txt >texts.txt
awk '{ sub("qid:", "", $2) } !seen[$2]++ { printf "%s 2024-02-%02d\n", $2, 1 + int(n++ % 29) }' clicks.txt >times.txt
awk 'BEGIN { for (k = 1; k <= 12; k++) print k, 1 / k }' >known.txt

# docs/how-to/serve.md: a value in two is missing
awk -F , 'NR > 1 { print $4, "qid:" $1, "1:" $2, NR % 2 ? "2:nan" : "2:" $3 }' sales.csv >missing.txt

# docs/how-to/serve-opensearch.md, serve-elasticsearch.md, serve-solr.md, serve-vespa.md: the features of the page, and logged values whose labels follow the BM25 scores
awk '/^```json/ { n++; next } /^```/ { if (n) exit; next } n' "$root/docs/how-to/serve-opensearch.md" >shop.json
awk '/^```json/ { n++; next } /^```/ { if (n) exit; next } n' "$root/docs/how-to/serve-elasticsearch.md" >queries.json
awk '/^```json/ { n++; next } /^```/ { if (n) exit; next } n' "$root/docs/how-to/serve-solr.md" >features.json
logged() { # queries, seed
    awk -v queries="$1" -v seed="$2" 'BEGIN {
        OFS = ","
        print "label,qid,title_bm25,body_bm25,age"
        for (q = 1; q <= queries; q++)
            for (d = 1; d <= 12; d++) {
                x = (q * 7919 + d * 104729 + seed * 31) % 1009 / 100
                y = (q * 6007 + d * 50021 + seed * 17) % 1013 / 200
                noise = (q * 311 + d * 977 + seed * 7) % 101 / 25
                print int((x + y + noise) / 7), "words " q, x, y, (q + d * seed) % 50 / 10
            }
    }'
}
logged 200 1 >shop_train.csv
logged 100 2 >shop_valid.csv
logged 100 3 >shop_test.csv
