# room: io
# Judgments and runs: figures computed by hand, ideal rankings with documents that no run has, invalid files.
printf '1 0 A 3\n1 0 B 2\n1 0 C 1\n2 0 A 1\n3\t0\tA\t0\n2 0 B -1\n' >qrels
printf '1 Q0 X 1 3 t\n1 Q0 B 2 2 t\n1 Q0 A 3 2 t\n2 Q0 A 1 1 t\n9 Q0 A 1 1 t\n' >one
printf '2 Q0 B 1 1 t\n1 Q0 A 1 0.5 t\n2 Q0 A 1 1e1 t\n3 Q0 A 1 1 t\n' >two
"$RANKWOOD" eval --qrels qrels --run one two --metric ndcg@2,map,p@5 --per-query q.tsv
cat q.tsv
"$RANKWOOD" eval --qrels qrels --run one --metric map --quiet --run two >same
"$RANKWOOD" eval --qrels qrels --run one two --metric map --quiet | cmp -s - same
say 'runs behind the option, or each behind its own' test $? = 0
gzip -k two
"$RANKWOOD" eval --qrels - --run one two.gz --metric map --quiet <qrels | sed 's/\.gz//g' | tr -d ' -' >packed
say 'packed, and from standard input' test "$(tr -d ' -' <same)" = "$(cat packed)"
"$RANKWOOD" eval --qrels qrels --run one --like rankwood --metric ndcg@2,err@3 --empty 1
"$RANKWOOD" eval --qrels qrels --run two --like gdeval --metric err@3 --json
"$RANKWOOD" compare --qrels qrels --a one --b two --metric mrr | sed -n '1,5p'
"$RANKWOOD" compare --qrels qrels --run one two --metric mrr
# Options without effect, and missing ones.
try eval --qrels qrels
try eval --run one
try eval one --qrels qrels --run one
try eval --qrels qrels --run one --model m
try eval --qrels qrels --run one --audit
try eval --qrels qrels --run one --empty skip
try eval --qrels qrels --run one --like trec --relevant 2
try eval --qrels qrels --run one --query-weights qrels
try eval --qrels qrels --run one --like trac
try eval --qrels qrels --run one --metric err@5 --quiet
try eval --qrels qrels --run one --metric rmse --like rankwood --quiet
try compare --run one two
try compare data --a one --b two --like trec
# An invalid file gives a one-line error and no output.
try eval --qrels one --run qrels --per-query none.tsv
try eval --qrels qrels --run qrels --per-query none.tsv
printf '1 0 A 1\n1 0 B 1\n1 0 A 2\n' >bad
try eval --qrels bad --run one --per-query none.tsv
printf '1 0 A high\n' >bad
try eval --qrels bad --run one --per-query none.tsv
printf '1 Q0 A 1 1 t\n1 Q0 A 2 0 t\n' >bad
try eval --qrels qrels --run one bad --per-query none.tsv
printf '1 Q0 A 1 1,5 t\n' >bad
try eval --qrels qrels --run bad --per-query none.tsv
printf '7 Q0 A 1 1 t\n' >bad
try compare --qrels qrels --baseline one bad
try eval --qrels qrels --run nothing --per-query none.tsv
printf '1 0 A 0.5\n' >half
try eval --qrels half --run two --quiet --per-query none.tsv
say 'a file is written' test -e none.tsv
