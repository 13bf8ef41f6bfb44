# room: params
# Values out of their range, or of another kind.
echo '1 qid:1 1:1' >a.txt
for option in --objective=pairwise --rounds=0 --rounds=1.5 --rate=-1 --rate=0 --rate=1e-7 --rate=2 --leaves=1 --leaves=70000 \
    --depth=65 --depth=-1 --grow=depthwise --split=xgb --l2=-1 --l2=x --split-l2=-0.5 --min-docs=0 \
    --min-hessian=-1 --min-gain=-1 --bins=1 --bins=1025 --bits=3 --bits=17 --rounding=up --truncation=0 \
    --truncation=all --sigma=0 --sigma=inf --norm=yes --permutations=0 --decay=0 --decay=1.5 --delta= --delta=p --delta=p@0 --delta=ndcg@5 --pairs=mean:0 --pairs=mean --pairs=mean:1001 --absent=nan --sample-queries=1.1 \
    --sample-features=-1 --sample-features=0 --batch=0 --leaves=0 --metric=auc --metric=ndcg@0 --metric=ndcg@x --metric=p --metric=rbp:1.5 \
    --early-stop=-1 --empty=2 --ties=random --relevant=-1 --seed=x --seed=18446744073709551616 \
    --threads=-1 --threads=0 --threads=5000 --device=gpu --device=cuda:x --train-metric=yes; do
    try train a.txt -o m $option
done
ls
# Options that readers of tables expect.
for option in label target qid group-id; do
    try train a.csv --$option y -o m
    try eval a.csv --$option y --model m
done
