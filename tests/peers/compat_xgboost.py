#!/usr/bin/env python3
"""Compares rankwood.compat.xgboost with XGBoost: one script, two imports, on real sets.

    python tests/peers/compat_xgboost.py [--data FOLDER] [--sets mq2008,f1] [--params '{"n_estimators": 50}']

It needs rankwood, xgboost and scikit-learn. For each set it prints NDCG@10 of XGBRanker's defaults on test parts, the
mean difference with its standard error over the parts, and the seconds of all trainings. Queries without a relevant
document are left out.
"""

import argparse
import gzip
import io
import json
import os
import time
from pathlib import Path

import numpy as np
import xgboost
from common import standard_error
from sklearn.datasets import load_svmlight_file

import rankwood
import rankwood.compat.xgboost as compat

ROOT = Path(__file__).resolve().parents[2]
SETS = "mq2008,ohsumed,mslr-sample,f1,cranfield"
PARTS = 5


def load(paths):
    """X, y and qid of LETOR files."""
    content = b"".join(gzip.decompress(path.read_bytes()) for path in paths)
    x, y, qid = load_svmlight_file(io.BytesIO(content), query_id=True)
    order = np.argsort(qid, kind="stable")  # XGBoost's qid rises
    return x.toarray().astype(np.float32)[order], y[order], qid[order]


def tasks(folder, name):
    """Yields pairs of a training part and a test part."""
    if name == "mslr-sample":
        yield load([folder / name / "train.txt.gz"]), load([folder / name / "test.txt.gz"])
    elif name in ("mq2008", "ohsumed"):
        files = [folder / name / f"S{i}.txt.gz" for i in range(1, PARTS + 1)]
        for k in range(PARTS):
            yield load([files[(k + i) % PARTS] for i in range(3)]), load([files[(k + 4) % PARTS]])
    else:
        x, y, qid = load([folder / "more" / f"{name}.txt.gz"])
        queries = np.unique(qid)
        for k in range(PARTS):
            test = np.isin(qid, queries[k::PARTS])
            yield (x[~test], y[~test], qid[~test]), (x[test], y[test], qid[test])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("RANKWOOD_DATA", ROOT.parent / "shared" / "data"))
    parser.add_argument("--sets", default=SETS)
    parser.add_argument("--params", type=json.loads, default={})
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    print(f"xgboost {xgboost.__version__}, rankwood {rankwood.__version__}, {args.params or 'defaults'}")
    print("set            compat  xgboost  difference  error  seconds")
    for name in args.sets.split(","):
        values, seconds = ([], []), [0.0, 0.0]
        for train, (x, y, qid) in tasks(args.data, name):
            test = rankwood.Dataset(x, y, qid=qid)
            for i, module in enumerate((compat, xgboost)):
                begin = time.perf_counter()
                ranker = module.XGBRanker(n_jobs=args.threads, **args.params).fit(train[0], train[1], qid=train[2])
                scores = ranker.predict(x)
                seconds[i] += time.perf_counter() - begin
                values[i].append(rankwood.evaluate(test, scores, "ndcg@10")["ndcg@10"])
        ours, theirs = np.array(values)
        error = f"{standard_error(list(ours - theirs)):.4f}" if len(ours) > 1 else "     -"
        print(f"{name:14} {ours.mean():.4f}   {theirs.mean():.4f}     {np.mean(ours - theirs):+.4f} {error}  "
              f"{seconds[0]:.1f}, {seconds[1]:.1f}", flush=True)


if __name__ == "__main__":
    main()
