# The configurations whose models other scripts compare. This file is sourced: it makes data and the table
# `configurations` in the current folder. $program makes the data; $scale multiplies their queries. NAMES, an extended
# regular expression, selects configurations; COVER=1 selects a subset that covers all of the table
# ($root/tests/cover.py).
synth() { # shape queries seed name
    "$program" synth --shape "$1" --queries $(($2 * scale)) --seed "$3" -o "$4" || exit 2
}
synth mslr30k 16 1 m.rwb
synth mslr30k 6 2 mv.rwb
synth yahoo 20 3 y.rwb
synth yahoo 8 4 yv.rwb
synth letor 60 5 l.txt
synth letor 25 6 lv.txt
awk '{ if ($2 != q) { q = $2; print n % 3 + 0.5 * (n % 2); n++ } }' l.txt >l.weights
awk '{ if ($2 != q) { q = $2; print n % 4 + 0.25 * (n % 2); n++ } }' lv.txt >lv.weights
awk '{ print (NR * 7919 % 1000) / 500 - 1 }' l.txt >l.start
awk '{ if ($2 != q) { q = $2; n = 0 } print (++n < 12 ? n : 12) }' l.txt >l.shown
awk '{ print (NR * 7919 % 1000) / 500 - 1 }' lv.txt >lv.start
awk '{ print (NR * 7919 % 13) % 4, (NR * 31 % 7 > 4) }' l.txt >l.labels
# Queries of every kind of size, 1 and 2,049 documents and more among them.
sizes() { # first: the first query
    awk -v first="$1" 'BEGIN {
        n = split("3000 1 700 2 2049 40 33 300 32 2048 64", size)
        for (k = 1; k <= n; k++)
            for (i = 1; i <= size[k]; i++) {
                q = first + k - 1; x = (i * 7919 + q * 104729) % 1009; y = (i * 31 + q * 17) % 97
                print int((x + 3 * y + i * 13 % 101) / 400) " qid:" q " 1:" x " 2:" y " 3:" x * y % 53 " 4:" i % 11
            }
    }'
}
sizes 1 >b.txt
sizes 12 >bv.txt

# name | training data | validation data | the rest. By its size SCALE could change what --split auto means.
cat >configurations <<'END'
mslr-255      |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 255 --min-docs 5 --split mart
mslr-255-255  |m.rwb|mv.rwb|--rounds 2 --leaves 255 --bins 255 --min-docs 1 --split mart
mslr-7        |m.rwb|mv.rwb|--rounds 8 --leaves 7 --bins 255 --min-docs 5 --split mart
mslr-15       |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 15 --min-docs 5 --split mart
mslr-16       |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 16 --min-docs 5 --split mart
mslr-16-miss  |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 16 --min-docs 5 --absent missing --split mart
mslr-63       |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 63 --min-docs 5 --split mart
mslr-256      |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 256 --min-docs 5 --split mart
mslr-256-miss |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bins 256 --min-docs 5 --absent missing --split mart
mslr-1023     |m.rwb|mv.rwb|--rounds 3 --leaves 31 --bins 1023 --min-docs 3 --split mart
mslr-1024-miss|m.rwb|mv.rwb|--rounds 3 --leaves 31 --bins 1024 --min-docs 3 --absent missing --split mart
mslr-newton   |m.rwb|mv.rwb|--rounds 4 --leaves 31 --split newton --min-docs 3
mslr-newton-16|m.rwb|mv.rwb|--rounds 3 --leaves 31 --split newton --bits 16 --min-hessian 0.5 --split-l2 3
mslr-bits-6   |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bits 6 --min-docs 3 --split mart
mslr-bits-12  |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bits 12 --rounding nearest --min-docs 3 --split mart
mslr-bits-16  |m.rwb|mv.rwb|--rounds 3 --leaves 255 --bits 16 --min-docs 1 --split mart
mslr-levels   |m.rwb|mv.rwb|--rounds 4 --grow levels --depth 6 --min-docs 2 --split mart
mslr-levels-n |m.rwb|mv.rwb|--rounds 3 --grow levels --depth 6 --min-docs 2 --split newton --bins 63
mslr-symm     |m.rwb|mv.rwb|--rounds 4 --grow symmetric --min-docs 2 --split mart
mslr-symm-n   |m.rwb|mv.rwb|--rounds 3 --grow symmetric --depth 8 --min-docs 2 --split newton --bins 63 --bits 12 --min-hessian 0.01
yahoo-symm    |y.rwb|yv.rwb|--rounds 3 --grow symmetric --depth 5 --min-docs 1 --absent missing --split mart --sample-features 0.5
letor-symm    |l.txt|lv.txt|--rounds 6 --grow symmetric --depth 4 --min-docs 3 --split newton --sample-features-node 0.3 --gain-noise 3 --monotone 1-15:-,16:+ --interactions 1-10;11-30;5,15,25 --feature-penalty 1-46:0.01
mslr-sampled  |m.rwb|mv.rwb|--rounds 6 --leaves 31 --sample-queries 0.5 --sample-features 0.4 --min-docs 2 --split mart
mslr-few      |m.rwb|mv.rwb|--rounds 6 --leaves 7 --sample-queries 0.01 --sample-features 0.001 --min-docs 1 --split mart
mslr-residual |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective regression --metric rmse --min-docs 3 --split mart
mslr-residual-n|m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective regression --split newton --metric ndcg@5,rmse --sample-queries 0.7
mslr-yeti     |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective yetirank --min-docs 3 --split mart
mslr-yeti-n   |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective yetirank --split newton --min-docs 3 --truncation none --sample-queries 0.6
mslr-yeti-map |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective yetirank --delta map --relevant 2 --min-docs 3 --split newton --metric map
mslr-yeti-err |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective yetirank --delta err --truncation none --permutations 7 --min-docs 3 --split mart --sample-queries 0.7 --metric err
mslr-yeti-dcg |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective yetirank --delta dcg --sigma 2 --min-docs 3 --split newton --sample-docs 0.6 --metric dcg
big-yeti      |b.txt|bv.txt|--rounds 4 --leaves 15 --objective yetirank --truncation none --min-docs 3 --split mart
big-yeti-none |b.txt|bv.txt|--rounds 4 --leaves 15 --objective yetirank --delta none --truncation none --permutations 2 --min-docs 3 --split newton
big-yeti-err  |b.txt|bv.txt|--rounds 4 --leaves 15 --objective yetirank --delta err --truncation none --permutations 5 --min-docs 3 --split newton
big-yeti-map  |b.txt|bv.txt|--rounds 4 --leaves 15 --objective yetirank --delta map --truncation 100 --permutations 1 --min-docs 3 --split mart --sample-queries 0.8
mslr-queryrmse|m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective queryrmse --min-docs 3 --split mart
mslr-listnet-n|m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective listnet --min-docs 3 --split newton --sample-queries 0.7
mslr-xendcg-n |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective xendcg --min-docs 3 --split newton
mslr-logistic |m.rwb|mv.rwb|--rounds 4 --leaves 31 --objective logistic --min-docs 3 --split newton --relevant 2 --metric logloss,ndcg@5
big-xendcg    |b.txt|bv.txt|--rounds 4 --leaves 15 --objective xendcg --min-docs 3 --split newton
big-queryrmse |b.txt|bv.txt|--rounds 4 --leaves 15 --objective queryrmse --min-docs 3 --split mart --sample-queries 0.8
big-map       |b.txt|bv.txt|--rounds 3 --leaves 15 --delta map --relevant 2 --truncation 100 --min-docs 3 --split newton --metric map
big-mean      |b.txt|bv.txt|--rounds 3 --leaves 15 --pairs mean:1 --min-docs 3 --split mart --sample-docs 0.7
mslr-err-mean |m.rwb|mv.rwb|--rounds 4 --leaves 31 --delta err --pairs mean:3 --min-docs 3 --split newton --sample-queries 0.7 --metric err,ndcg@5
yahoo         |y.rwb|yv.rwb|--rounds 3 --leaves 31 --min-docs 2 --split mart
yahoo-miss    |y.rwb|yv.rwb|--rounds 3 --leaves 31 --min-docs 2 --absent missing --bins 63 --split mart
yahoo-newton  |y.rwb|yv.rwb|--rounds 3 --leaves 31 --min-docs 2 --split newton --bits 12
yahoo-255     |y.rwb|yv.rwb|--rounds 2 --leaves 255 --min-docs 1 --bins 15 --split mart
letor         |l.txt|lv.txt|--rounds 10 --leaves 31 --min-docs 3 --split mart
letor-weights |l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --query-weights l.weights --split mart
letor-weights-n|l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --query-weights l.weights --split newton
letor-yeti    |l.txt|lv.txt|--rounds 8 --objective yetirank --permutations 3 --decay 0.5 --min-docs 3 --query-weights l.weights --split mart
letor-yeti-mrr|l.txt|lv.txt|--rounds 8 --objective yetirank --delta mrr --permutations 5 --min-docs 3 --query-weights l.weights --split newton --metric mrr
letor-yeti-p  |l.txt|lv.txt|--rounds 8 --objective yetirank --delta p@5 --truncation 5 --sample-docs 0.7 --min-docs 3 --split mart --metric p@5
letor-yeti-lab|l.txt|lv.txt|--rounds 6 --objective yetirank --delta err --min-docs 3 --labels l.labels --label-weights 1,0.5,2 --query-weights l.weights --split newton
letor-queryrmse|l.txt|lv.txt|--rounds 8 --objective queryrmse --min-docs 3 --query-weights l.weights --split newton
letor-listnet |l.txt|lv.txt|--rounds 8 --objective listnet --label-gain linear --min-docs 3 --query-weights l.weights --split mart
letor-xendcg  |l.txt|lv.txt|--rounds 8 --objective xendcg --seed 7 --min-docs 3 --query-weights l.weights --split mart
letor-logistic|l.txt|lv.txt|--rounds 8 --objective logistic --min-docs 3 --query-weights l.weights --split mart
letor-mrr     |l.txt|lv.txt|--rounds 6 --delta mrr --min-docs 3 --sample-queries 0.6 --norm off --split newton --metric mrr
letor-p-all   |l.txt|lv.txt|--rounds 6 --delta p@5 --pairs all --relevant 2 --min-docs 3 --sample-docs 0.7 --split mart --metric p@5
letor-map     |l.txt|lv.txt|--rounds 8 --delta map --relevant 2 --min-docs 3 --query-weights l.weights --split mart --metric map
letor-stop    |l.txt|lv.txt|--rounds 60 --leaves 31 --min-docs 1 --early-stop 3 --rate 0.5 --metric ndcg@5 --metric map
letor-best    |l.txt|lv.txt|--rounds 60 --leaves 31 --min-docs 1 --early-stop 3 --early-stop-rule best --rate 0.5 --metric ndcg@5 --metric map
letor-smooth  |l.txt|lv.txt|--rounds 60 --leaves 31 --min-docs 1 --early-stop 12 --early-stop-rule smooth --rate 0.5 --metric ndcg@5,rmse
letor-delta   |l.txt|lv.txt|--rounds 60 --leaves 31 --min-docs 1 --early-stop 3 --early-stop-delta 0.003 --rate 0.5:0.1:8 --metric ndcg@5 --metric rmse
letor-start   |l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --start-scores l.start --valid-start-scores lv.start --split mart
letor-start-n |l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --start-scores l.start --valid-start-scores lv.start --split newton --rate 0.3:0.05:5
letor-start-r |l.txt|lv.txt|--rounds 6 --leaves 31 --min-docs 3 --start-scores l.start --valid-start-scores lv.start --objective regression --metric rmse --train-metric on
letor-start-y |l.txt|lv.txt|--rounds 6 --objective yetirank --min-docs 3 --start-scores l.start --valid-start-scores lv.start --query-weights l.weights --split mart
letor-additive|l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --positions l.shown --debias additive --position-l2 0.01 --query-weights l.weights --split mart
letor-ipw     |l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --positions l.shown --debias ipw --query-weights l.weights --split newton
letor-labels  |l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --labels l.labels --label-weights 1,0.5,2 --query-weights l.weights --split newton
letor-labels-m|l.txt|lv.txt|--rounds 6 --leaves 31 --min-docs 3 --labels l.labels --label-weights 0.3,0,1 --delta map --split mart --metric map
letor-labels-l|l.txt|lv.txt|--rounds 6 --leaves 31 --min-docs 3 --labels l.labels --label-weights 65536,60000,50000 --query-weights l.weights --split mart
letor-valid-w |l.txt|lv.txt|--rounds 60 --leaves 31 --min-docs 1 --early-stop 4 --rate 0.4 --valid-query-weights lv.weights --metric ndcg@5,rmse,err
letor-all     |l.txt|lv.txt|--rounds 6 --leaves 31 --truncation none --norm off --sigma 2 --train-metric on --split mart
letor-linear  |l.txt|lv.txt|--rounds 6 --leaves 7 --truncation 1 --label-gain linear --depth 2 --min-gain 0.001 --split mart
mslr-monotone |m.rwb|mv.rwb|--rounds 3 --leaves 63 --min-docs 3 --split newton --absent missing --monotone 1-40:+,41-100:-
letor-monotone|l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --split mart --monotone 1-15:-,16:+,20-30:+ --sample-features 0.7
mslr-groups   |m.rwb|mv.rwb|--rounds 4 --leaves 63 --min-docs 3 --split newton --interactions 1-60;50-100;101,110,120
letor-groups  |l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --split mart --interactions 1-10;11-20;5,15,25 --monotone 1-15:-,16:+
mslr-penalty  |m.rwb|mv.rwb|--rounds 4 --leaves 31 --min-docs 3 --split mart --feature-penalty 1-40:0.5,41-90:0.02,130:1e9
mslr-penalty-n|m.rwb|mv.rwb|--rounds 4 --leaves 31 --min-docs 3 --split newton --feature-penalty 1-70:0.1,100-136:0.01 --monotone 1-40:+ --absent missing
mslr-node     |m.rwb|mv.rwb|--rounds 4 --leaves 63 --min-docs 3 --split newton --sample-features-node 0.3
mslr-noise    |m.rwb|mv.rwb|--rounds 4 --leaves 63 --min-docs 3 --split newton --gain-noise 3
letor-noise   |l.txt|lv.txt|--rounds 8 --leaves 31 --min-docs 3 --split mart --gain-noise 0.5 --monotone 1-20:+ --feature-penalty 1-46:0.01
letor-node-1  |l.txt|lv.txt|--rounds 6 --grow levels --depth 4 --min-docs 3 --split mart --sample-features-node 0.001 --sample-features 0.8
mslr-docs     |m.rwb|mv.rwb|--rounds 5 --leaves 31 --min-docs 2 --split newton --sample-docs 0.4
mslr-bags     |m.rwb|mv.rwb|--rounds 4 --leaves 31 --bags 2 --min-docs 3 --split newton
letor-bags    |l.txt|lv.txt|--rounds 60 --leaves 15 --bags 3 --min-docs 3 --split mart --sample-queries 0.7 --sample-features 0.6 --rate 0.3 --early-stop 4 --query-weights l.weights
letor-bags-q  |l.txt|lv.txt|--rounds 6 --leaves 15 --bags 3 --bag-queries 0.5 --sample-queries 0.7 --min-docs 2 --split mart
letor-bags-x  |l.txt|lv.txt|--rounds 5 --leaves 7 --bags 4 --objective xendcg --min-docs 3 --split newton --sample-docs 0.7 --start-scores l.start --valid-start-scores lv.start
letor-docs-q  |l.txt|lv.txt|--rounds 6 --leaves 31 --min-docs 2 --split mart --sample-docs 0.7 --sample-queries 0.6 --query-weights l.weights
letor-docs-r  |l.txt|lv.txt|--rounds 6 --leaves 31 --min-docs 2 --objective regression --metric rmse --sample-docs 0.5
letor-docs-1  |l.txt|lv.txt|--rounds 60 --leaves 7 --min-docs 1 --objective listnet --sample-docs 0.002 --early-stop 0
mslr-shape    |m.rwb|mv.rwb|--rounds 5 --leaves 31 --min-docs 3 --split newton --interactions 1-80;60-136 --feature-penalty 1-136:0.01 --sample-features-node 0.5 --sample-docs 0.8 --sample-queries 0.9 --monotone 1-20:+ --absent missing
letor-features|l.txt|lv.txt|--rounds 6 --leaves 31 --min-docs 3 --features 2-9,14,20-46 --ignore 5 --monotone 1-15:- --sample-features 0.7
letor-ignore  |l.txt|lv.txt|--rounds 4 --leaves 255 --min-docs 1 --ignore 1-20 --l2 0 --split mart
END
# Features by categories: six more columns; two have more than 255 of them, one of these missing values, too.
for set in l lv; do
    awk '{ sub(/ *#.*/, ""); c = NR * 7919 % 1000; l = int($1) + 0
           print $0 " 101:" c " 102:" (NR % 7 ? 3 * l + NR % 5 : "nan") (NR % 3 ? "" : " 103:" 2147483000 + NR % 11) \
               " 104:" int(c / 100) " 105:" NR % 2 " 106:" (NR % 11 ? (NR * NR + 41 * l) % 700 : "nan") }' "$set.txt" >"${set}c.txt"
done
# Features with several hundred categories: 107 has a few frequent ones and missing values, 108 has neither. 109 has
# more categories than codes, and missing values.
for set in l lv; do
    awk '{ sub(/ *#.*/, ""); l = int($1) + 0; c = NR * 7919 % 1009; d = NR * NR % 641
           print $0 " 107:" (NR % 13 ? (NR % 3 ? c : c % 40) + 3 * l : "nan") " 108:" (d * 31 + 2 * l) % 700 \
               " 109:" (NR % 53 ? NR * 6007 % 1283 : "nan") }' "${set}c.txt" >"${set}w.txt"
done
# A model without thresholds: a GPU cannot continue from one whose thresholds are not bin boundaries.
"$program" train lvc.txt --rounds 4 --leaves 15 --min-docs 3 --categorical 101-104 --features 101-104 --quiet -o c.model || exit 2
cat >>configurations <<'END'
categories    |lc.txt|lvc.txt|--rounds 8 --leaves 31 --min-docs 3 --split mart --categorical 101-105
categories-n  |lc.txt|lvc.txt|--rounds 8 --leaves 31 --min-docs 2 --split newton --categorical 101,103-104 --absent missing --sample-features 0.7
categories-few|lc.txt|lvc.txt|--rounds 6 --leaves 63 --min-docs 1 --split mart --categorical 101-104 --bins 15 --category-smoothing 0 --category-penalty 0 --sample-queries 0.8
categories-dear|lc.txt|lvc.txt|--rounds 6 --leaves 31 --min-docs 1 --split newton --categorical 101-104 --category-penalty 3.5 --sample-docs 0.7
categories-255|lc.txt|lvc.txt|--rounds 5 --leaves 63 --min-docs 1 --split mart --categorical 101-106 --ignore 1-40
categories-257|lc.txt|lvc.txt|--rounds 5 --leaves 31 --min-docs 3 --split newton --categorical 106 --category-smoothing 2 --split-l2 1
categories-all|lc.txt|lvc.txt|--rounds 4 --leaves 31 --min-docs 2 --split newton --categorical 101-106 --features 101-106 --category-smoothing 0
categories-sym|lc.txt|lvc.txt|--rounds 5 --grow symmetric --depth 5 --min-docs 2 --split newton --categorical 101-106
categories-63 |lc.txt|lvc.txt|--rounds 5 --grow levels --depth 6 --min-docs 2 --split newton --categorical 101-106 --bins 63 --min-hessian 0.01
categories-16 |lc.txt|lvc.txt|--rounds 4 --leaves 255 --min-docs 1 --split mart --categorical 101,102,106 --bits 16 --bins 16
categories-big|lc.txt|lvc.txt|--rounds 4 --leaves 31 --min-docs 2 --split newton --categorical 101-106 --bins 1023 --bits 12 --rounding nearest
categories-1023|lw.txt|lvw.txt|--rounds 5 --leaves 63 --min-docs 1 --split mart --categorical 107-108 --bins 1023
categories-1024|lw.txt|lvw.txt|--rounds 4 --leaves 31 --min-docs 2 --split newton --categorical 101-109 --bins 1024 --category-penalty 0.2 --category-smoothing 1 --absent missing
categories-400|lw.txt|lvw.txt|--rounds 4 --leaves 63 --min-docs 1 --split newton --categorical 106-107,109 --features 101-109 --bins 400 --category-penalty 0 --sample-docs 0.8
categories-docs|lc.txt|lvc.txt|--rounds 6 --leaves 31 --min-docs 2 --split mart --categorical 101-106 --sample-docs 0.6 --sample-queries 0.8 --query-weights l.weights
categories-shape|lc.txt|lvc.txt|--rounds 6 --leaves 31 --min-docs 3 --split newton --categorical 101-106 --interactions 1-30,101;102-106;5,104 --feature-penalty 1-20:0.01,101-103:0.005 --sample-features-node 0.7 --gain-noise 2 --monotone 1-15:+
categories-cost|lc.txt|lvc.txt|--rounds 6 --leaves 31 --min-docs 3 --split mart --categorical 101-106 --feature-penalty 101:0.02,106:0.01 --min-gain 0.001
categories-r  |lc.txt|lvc.txt|--rounds 6 --leaves 31 --min-docs 2 --objective regression --metric rmse --categorical 102-106 --absent missing
categories-yeti|lc.txt|lvc.txt|--rounds 6 --objective yetirank --min-docs 3 --split mart --categorical 101-106 --start-scores l.start --valid-start-scores lv.start
categories-stop|lc.txt|lvc.txt|--rounds 60 --leaves 31 --min-docs 1 --early-stop 3 --rate 0.5 --metric ndcg@5 --metric map --categorical 102-106
categories-on |lc.txt|lvc.txt|--rounds 5 --leaves 31 --min-docs 2 --split newton --init c.model --categorical 105
categories-re |lc.txt|lvc.txt|--refit c.model --refit-decay 0.3 --metric ndcg@5
END
if [ -n "${COVER:-}" ]; then
    mv configurations all
    python3 "$root/tests/cover.py" <all >configurations || exit 2
fi
if [ -n "${NAMES:-}" ]; then
    mv configurations all
    grep -E "$NAMES" all >configurations
fi
# By default, small data has gain noise, with which some ways to search for splits are never used. So only rows that set
# it have it.
mv configurations all
sed -E '/--gain-noise|--refit/!s/$/ --gain-noise 0/' all >configurations
