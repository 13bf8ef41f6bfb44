# room: io
# The hint about missing values: 'nan' is missing; an omitted value is 0, unless '--absent missing'.
i=0
while [ $i -lt 60 ]; do
    printf '%d qid:%d 1:%d 2:%d\n' $((i % 3)) $((i / 6)) $((i * 7 % 11 - 5)) $((i * 5 % 13))
    i=$((i + 1))
done >base
sed 's/ 1:0 / /; s/ 1:-[23] / /' base >left_out
sed 's/ 1:-[23] / 1:0 /' base >zero
sed 's/ 1:0 / 1:nan /; s/ 1:-[23] / 1:nan /' base >missing
for absent in zero missing; do
    for data in left_out zero missing; do
        "$RANKWOOD" train $data --absent $absent --rounds 5 --min-docs 2 --split-l2 0 --quiet -o $data.$absent
    done
    say "--absent $absent: left out as 0" cmp -s left_out.$absent zero.$absent
    say "--absent $absent: left out as nan" cmp -s left_out.$absent missing.$absent
done
say "nan as 0" cmp -s missing.zero zero.zero
say "nan by --absent" sh -c 'grep -v "^absent\|sum\|param" missing.zero >a; grep -v "^absent\|sum\|param" missing.missing | cmp -s a -'
# Said where it is meant.
printf '1 qid:1 1:NULL\n' >null
try check null
