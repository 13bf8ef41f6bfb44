# room: io
# long
# The largest number of features, leaves, documents per query and trees, each on data that is small otherwise. Errors
# about larger numbers name the limit. tests/unit/test_arrow.c tests the refusal of 2,147,483,648 documents, without
# storing them.
command -v awk >/dev/null || exit 77
size() { # lines of info that say how large a model is
    "$RANKWOOD" info "$1" | grep -E '^(trees|leaves) '
}

echo '65,535 features and feature 0'
awk 'BEGIN { for (i = 0; i < 40; i++) { printf "%d qid:%d", i % 3, i / 10
    for (f = 0; f < 65536; f += i < 3 ? 1 : 7) printf " %d:%d", f, (i * (f + 1)) % 11
    print "" } }' >features.txt
"$RANKWOOD" train features.txt --rounds 2 --leaves 4 --min-docs 2 --quiet -o features.model
size features.model
printf '1 qid:1 65536:1\n' >over.txt
"$RANKWOOD" train over.txt -o no.model 2>&1 || true

echo '65,536 leaves'
awk 'BEGIN { for (i = 0; i < 200000; i++)
    printf "%d qid:%d 1:%d 2:%d 3:%d\n", (i * 40503) % 65521 % 5, i / 100, (i * 7919) % 200003, (i * 10007) % 65537, i * 31 % 9973 }' >leaves.txt
"$RANKWOOD" train leaves.txt --rounds 1 --leaves 65536 --min-docs 1 --bins 1024 --quiet -o leaves.model
size leaves.model
"$RANKWOOD" train leaves.txt --leaves 65537 -o no.model 2>&1 || true

echo 'a query of a million documents'
awk 'BEGIN { for (i = 0; i < 1000000; i++) printf "%d qid:1 1:%d 2:%d\n", i % 5, (i * 7919) % 100003, i % 997 }' >query.txt
"$RANKWOOD" train query.txt --rounds 1 --leaves 4 --quiet -o query.model
size query.model

echo '10,000 trees'
head -n 200 leaves.txt >few.txt
"$RANKWOOD" train few.txt --rounds 10000 --leaves 2 --min-docs 2 --early-stop 0 --quiet -o trees.model
size trees.model
"$RANKWOOD" predict trees.model few.txt | wc -l | tr -d ' '
"$RANKWOOD" train few.txt --rounds 1000001 -o no.model 2>&1 || true
