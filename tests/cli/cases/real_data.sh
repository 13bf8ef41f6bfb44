# Real data, where it is at hand: training and measuring end to end.
[ -d "$RANKWOOD_DATA/mq2008" ] || { echo "no real data ($RANKWOOD_DATA)" >&2; exit 77; }
cd "$RANKWOOD_DATA/mq2008" || exit
"$RANKWOOD" train S1.txt.gz S2.txt.gz S3.txt.gz --valid S4.txt.gz --rounds 10 --ties mean --quiet -o "$OLDPWD/m" || exit
"$RANKWOOD" eval S5.txt.gz --ties mean --model "$OLDPWD/m" | awk 'NR == 2 { print $1, ($2 > 0.4) }'
