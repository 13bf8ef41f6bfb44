#!/usr/bin/env python3
"""LGBMRanker of rankwood.compat.lightgbm next to LightGBM's: the same script with another import line.

Real sets (quality_sets.py): NDCG@10 of both on the measure parts, with 100 rounds and with early stopping on the stop
parts, and the difference with its standard error over queries. `rankwood.evaluate` measures both.

Speed: seconds of fit + predict on made documents, alternating, the median of --repeat runs, and NDCG@10 on held-out
queries. The data set is an array of float32, as scripts have it.

    python tests/peers/compat_lightgbm.py --data ../shared/data   # the interpreter has both packages and scikit-learn
    python tests/peers/compat_lightgbm.py --sets '' --docs 300000 --features 100 --threads 2
"""
import argparse
import math
import os
import statistics
import tempfile
import time
import types
import warnings

import lightgbm
import numpy as np
from common import ROOT
from quality_sets import REAL, Sets
from sklearn.datasets import load_svmlight_files

import rankwood
import rankwood.compat.lightgbm

TRAINERS = {"LightGBM": lightgbm, "rankwood.compat": rankwood.compat.lightgbm}


def ndcg_by_query(data, scores):
    return rankwood.evaluate(data, scores, "ndcg@10", empty="0").metrics["ndcg@10"].per_query


def parts_of(task):
    """[(features, labels, sizes)] of the train, stop and measure part."""
    loaded = load_svmlight_files([path for files in task for path in files], query_id=True)
    width, parts = loaded[0].shape[1], []
    for files in task:
        own = [loaded.pop(0) for _ in range(3 * len(files))]
        x = np.vstack([one.toarray() for one in own[0::3]]).astype(np.float32)
        sizes = [np.diff(np.flatnonzero(np.r_[True, q[1:] != q[:-1], True])) for q in own[2::3]]
        parts.append((x, np.concatenate(own[1::3]), np.concatenate(sizes)))
        assert x.shape[1] == width
    return parts


def scores_of(module, parts, threads, stops):
    (x, y, sizes), (x_stop, y_stop, stop_sizes), (x_measure, _, _) = parts
    ranker = module.LGBMRanker(n_jobs=threads, verbose=-1, n_estimators=1000 if stops else 100)
    more = {}
    if stops:
        stop = module.early_stopping(50, verbose=False)
        more = {"eval_set": [(x_stop, y_stop)], "eval_group": [stop_sizes], "eval_at": [10], "callbacks": [stop]}
    return ranker.fit(x, y, group=sizes, **more).predict(x_measure)


def measure_sets(args):
    print(f"{'set':12} {'rounds':10} {'LightGBM':>9} {'compat':>9} {'difference':>11} {'s.e.':>7}")
    with tempfile.TemporaryDirectory() as folder:
        sets = Sets(types.SimpleNamespace(data=args.data, folds=()), folder)
        for name in filter(None, args.sets.split(",")):
            if lacking := sets.lacking(name):
                print(f"{name:12} not measured: {lacking[0]}")
                continue
            tasks = [parts_of(task) for task in sets.tasks(name)]
            for stops in (False, True):
                found = {trainer: [] for trainer in TRAINERS}
                for parts in tasks:
                    held = rankwood.Dataset(parts[2][0], parts[2][1], group=parts[2][2])
                    for trainer, module in TRAINERS.items():
                        found[trainer].append(ndcg_by_query(held, scores_of(module, parts, args.threads, stops)))
                theirs, ours = (np.concatenate(values) for values in found.values())
                error = (ours - theirs).std(ddof=1) / math.sqrt(len(ours))
                how = "by stop" if stops else "100"
                row = f"{theirs.mean():9.4f} {ours.mean():9.4f} {(ours - theirs).mean():+11.4f} {error:7.4f}"
                print(f"{name:12} {how:10} {row}", flush=True)


def made(n_docs, n_features, seed):
    """Documents of queries of 100, whose labels depend on ten of the features."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_docs, n_features), np.float32)
    signal = x[:, :10] @ np.linspace(1, 0.2, 10) + x[:, 0] * x[:, 1] + rng.normal(0, 2, n_docs)
    return x, np.digitize(signal, np.quantile(signal, [0.6, 0.8, 0.92, 0.98])), np.full(n_docs // 100, 100)


def measure_speed(args):
    x, y, sizes = made(args.docs // 100 * 100, args.features, 1)
    x_held, y_held, held_sizes = made(20000, args.features, 2)
    held = rankwood.Dataset(x_held, y_held, group=held_sizes)
    seconds, ndcg = {trainer: [] for trainer in TRAINERS}, {}
    for _ in range(args.repeat):
        for trainer, module in TRAINERS.items():
            start = time.perf_counter()
            ranker = module.LGBMRanker(n_jobs=args.threads, verbose=-1).fit(x, y, group=sizes)
            ranker.predict(x)
            seconds[trainer].append(time.perf_counter() - start)
            ndcg[trainer] = ndcg_by_query(held, ranker.predict(x_held)).mean()
    print(f"\nfit + predict, {len(x):,} x {args.features}, {args.threads} threads, median of {args.repeat}")
    for trainer, times in seconds.items():
        print(f"{trainer:16} {statistics.median(times):7.2f} s   NDCG@10 {ndcg[trainer]:.4f}")
    theirs, ours = (statistics.median(times) for times in seconds.values())
    print(f"LightGBM takes {theirs / ours:.2f} times as long")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    data = os.environ.get("RANKWOOD_DATA", os.path.join(ROOT, "..", "shared", "data"))
    parser.add_argument("--data", default=data, help="folder of the real sets")
    parser.add_argument("--sets", default=",".join(REAL), help="real sets; '' for none")
    parser.add_argument("--docs", type=int, default=300000, help="made documents; 0 for no measurement of speed")
    parser.add_argument("--features", type=int, default=100)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    args = parser.parse_args()
    warnings.filterwarnings("ignore", module="lightgbm|sklearn")  # LightGBM's of eval_set and feature names
    measure_sets(args)
    if args.docs:
        measure_speed(args)


if __name__ == "__main__":
    main()
