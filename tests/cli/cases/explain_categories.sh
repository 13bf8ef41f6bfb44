# room: evaluate
# A feature that is split by several sets of its categories is one feature, which is permuted as a whole.
awk 'function unit() { s = (s * 16807) % 2147483647; return s / 2147483647 }
    BEGIN { s = 7; for (q = 1; q <= 60; q++) for (d = 0; d < 12; d++) {
        shop = int(12 * unit()); x = unit()
        score = (shop * 5 % 12) / 4 + x
        print (score < 1.2 ? 0 : score < 2.2 ? 1 : 2) " qid:" q " 1:" shop sprintf(" 2:%.3f", x) } }' >data
"$RANKWOOD" train data --categorical 1 --rounds 6 --leaves 6 --min-docs 3 --early-stop 0 --quiet -o model
say 'several sets' test "$(grep -o 'feature 1 in [0-9,-]*' model | sort -u | wc -l)" -gt 3
for format in text json csv latex; do
    "$RANKWOOD" explain model data --repeats 2 --format $format >out
    case $format in
    json) tr -d ' \n' <out | grep -o '{"feature":[^}]*}' ;;
    *) grep -v sums out ;;
    esac
done
"$RANKWOOD" report model --valid data --repeats 2 -o page.html --quiet
grep -A 100 '>permuted<\|permutation' page.html | grep -o '^<tr><th scope="row">[12]</th>.*</td><td>0.[0-9]*</td><td>0.[0-9]*</td>' | sed 's/<[^>]*>/ /g'
