#!/usr/bin/env python3
"""What NDCG means: the same labels and scores measured by Rankwood, LightGBM, XGBoost and CatBoost.

Makes a small set with queries in which nothing is relevant, queries of one document and many tied
scores, gives every program the same scores, and prints a table of NDCG@10. Exits with 1 if a
program no longer prints what Rankwood's dialect for it says.

  python3 tests/peers/dialects.py [--program build/src/cli/rankwood]

The peers run in the virtual environment of quality.py (made if it is missing).
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

from common import ROOT, make_venv

PEERS = r"""
import json, sys
import numpy as np
work = json.load(sys.stdin)
y, s, sizes = np.array(work["labels"]), np.array(work["scores"]), work["sizes"]
x = np.zeros((len(y), 1))
out = {}
import lightgbm as lgb
seen = {}
data = lgb.Dataset(x, y, group=sizes, init_score=s, params={"verbose": -1, "min_data_in_bin": 1})
lgb.train({"objective": "lambdarank", "metric": "ndcg", "eval_at": [10], "verbose": -1,
           "learning_rate": 1e-12}, data, 1, valid_sets=[data], valid_names=["set"],
          callbacks=[lgb.record_evaluation(seen)])
out["LightGBM " + lgb.__version__ + ", `ndcg@10`"] = seen["set"]["ndcg@10"][-1]
import xgboost as xgb
d = xgb.DMatrix(x, y, base_margin=s)
d.set_group(sizes)
for name in ("ndcg@10", "ndcg@10-"):
    booster = xgb.train({"objective": "rank:ndcg", "eval_metric": name}, d, 0)
    out["XGBoost " + xgb.__version__ + ", `" + name + "`"] = float(booster.eval(d).split(":")[-1])
import catboost
from catboost.utils import eval_metric
groups = np.repeat(np.arange(len(sizes)), sizes)
for name, kind in (("NDCG:top=10", "default"), ("NDCG:top=10;type=Exp", "type=Exp")):
    out["CatBoost " + catboost.__version__ + ", `" + name + "`"] = eval_metric(
        y, s, name, group_id=groups)[0]
json.dump(out, sys.stdout)
"""


def make():
    """Queries as (labels, scores)."""
    rng = random.Random(20)
    queries = []
    for q in range(200):
        n = 1 if q % 10 == 9 else rng.randrange(2, 30)
        labels = [0 if q % 5 == 4 else rng.choice((0, 0, 0, 1, 2, 3)) for _ in range(n)]
        queries.append((labels, [round((l + rng.gauss(0, 2)) * 2) / 2 for l in labels]))
    return queries


def rankwood(program, folder, *options):
    command = [program, "eval", os.path.join(folder, "set.txt"), "--scores",
               os.path.join(folder, "scores.txt"), "--metric", "ndcg@10", "--json", *options]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--program", default=os.path.join(ROOT, "build/src/cli/rankwood"))
    parser.add_argument("--venv", default=os.path.join(ROOT, "build-peers"))
    args = parser.parse_args()
    make_venv(args.venv)
    queries = make()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "set.txt"), "w") as f:
            for q, (labels, _) in enumerate(queries):
                f.writelines(f"{label} qid:{q} 1:0\n" for label in labels)
        with open(os.path.join(folder, "scores.txt"), "w") as f:
            f.writelines(f"{s!r}\n" for _, scores in queries for s in scores)
        rows = [("Rankwood, " + (" ".join(f"`{o}`" for o in options) or "as it comes"),
                 rankwood(args.program, folder, *sum((o.split() for o in options), []))["metrics"][0]["mean"])
                for options in ([], ["--empty 0"], ["--empty 1"], ["--empty 1", "--ties mean"],
                                ["--empty 1", "--label-gain linear"])]
    work = {"labels": [l for labels, _ in queries for l in labels],
            "scores": [s for _, scores in queries for s in scores],
            "sizes": [len(labels) for labels, _ in queries]}
    done = subprocess.run([os.path.join(args.venv, "bin", "python"), "-c", PEERS], check=True,
                          input=json.dumps(work), capture_output=True, text=True)
    rows += json.loads(done.stdout.splitlines()[-1]).items()
    print("| program | NDCG@10 |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value:.6f} |")
    by_name = dict(rows)
    pairs = [("Rankwood, `--empty 1`", "LightGBM"), ("Rankwood, `--empty 1`", "`ndcg@10`"),
             ("Rankwood, `--empty 0`", "`ndcg@10-`")]
    failed = 0
    for ours, theirs in pairs:
        for name, value in rows:
            if theirs in name and abs(value - by_name[ours]) > 2e-6:
                print(f"{name} is not {ours}: {value} and {by_name[ours]}", file=sys.stderr)
                failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
