# room: train
# The log: a JSON object a line.
command -v python3 >/dev/null || { echo "no python3 to read JSON" >&2; exit 77; }
small_data
"$RANKWOOD" train train.txt --valid valid.txt.gz --rounds 3 --leaves 4 --train-metric on --ties mean --quiet -o m --log l
"$RANKWOOD" train train.txt --valid valid.txt.gz --rounds 3 --leaves 4 --train-metric on --ties mean --quiet -o m --log l1 \
    --threads 1 --device ref --rate 0.1 --split mart --sample-features 0.5 --early-stop-rule paired --batch 1 --depth 0
python3 - <<'END'
import json
rows = [json.loads(line) for line in open("l")]
first, = [row for row in rows if row["record"] == "params"]
print(first["train"], first["valid"], first["queries"])
used, given = first["params"], first["given"]
print(used.keys() == given.keys())
for name in sorted(used):
    if used[name] != given[name]:
        print(name, given[name], used[name] if name != "threads" else type(used[name]))
for name in "leaves", "rounds", "rate", "truncation", "seed", "norm", "train-metric", "empty", "ties":
    print(name, used[name], type(used[name]).__name__)
for row in rows:
    if row["record"] == "metrics":
        print(row["round"], sorted(row["values"]), all(0 < v < 1 for v in row["values"].values()))
print([row["round"] for row in rows if row["record"] == "timing" and "round" in row])
print(any("stage" in row for row in rows))
END
grep '"record":"params"' l1 | grep -o '"[a-z-]*":"auto"' # given: resolved values, not 'auto'
grep '"record":"metrics"' l >a
grep '"record":"metrics"' l1 | cmp - a
# A failed training leaves no log.
TMPDIR=/nowhere "$RANKWOOD" train train.txt --rounds 1 --quiet -o /dev/full --log l2
say none test ! -e l2
