#!/usr/bin/env python3
"""A search of parameters on data that is binned once: the Python package, XGBoost and LightGBM.

  python3 tests/peers/search.py [--device cuda] [--queries 31531] [--valid-queries 2000]
      [--trials 100] [--trees 300] [--jobs 1,2,3] [--peers xgboost,lightgbm] [--peer-trials 3]

Each trial takes its leaves, rate, l2 and documents per leaf from fixed lists, and uses all features and trees. NDCG@10
of the validation set is measured after every tree. The time of a search includes all trials and the binning, but not
making the data. --jobs: number of parallel trials, in threads of one process. Peers also reuse their binned data. They
run a few trials with the same leaves; the table shows and labels their time scaled to the search. LightGBM's wheel
trains on the CPU. Models of two trials are trained alone again and compared: they must be equal.

Needs the packages rankwood and numpy, and the peers.
"""
import argparse
import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import rankwood

LEAVES = (31, 63, 127, 255)
RATES = (0.05, 0.1, 0.15)
L2 = (0.0, 5.0, 20.0)
MIN_DOCS = (20, 50, 100)
MUST, AIM = 150.0, 90.0  # seconds for 100 trials of 300 trees on 31,531 queries of the shape mslr30k


def trial(i):
    return {"leaves": LEAVES[i % 4], "rate": RATES[i // 4 % 3], "l2": L2[i // 12 % 3],
            "min_docs": MIN_DOCS[i // 36 % 3]}


def ours(args, data, valid, jobs):
    """(seconds, seconds of the first trial, models of the first and the last trial, NDCG)."""
    start = time.perf_counter()
    train_set = rankwood.Dataset(data[0], data[1], qid=data[2])
    valid_set = rankwood.Dataset(valid[0], valid[1], qid=valid[2])
    best, texts = 0.0, {}

    def run(i):
        params = {**trial(i), "rounds": args.trees, "device": args.device, "early_stop": 0,
                  "metric": "ndcg@10"}
        model = rankwood.train(params, train_set, valid=valid_set)
        if i in (0, args.trials - 1):
            texts[i] = model.to_bytes()
        return max(model.evals_result["valid"]["ndcg@10"])

    best = run(0)
    first = time.perf_counter() - start
    with ThreadPoolExecutor(jobs) as pool:
        best = max(best, *pool.map(run, range(1, args.trials)))
    seconds = time.perf_counter() - start
    for i, text in texts.items():
        fresh = rankwood.Dataset(data[0], data[1], qid=data[2])
        params = {**trial(i), "rounds": args.trees, "device": args.device, "early_stop": 0,
                  "metric": "ndcg@10"}
        if rankwood.train(params, fresh, valid=valid_set).to_bytes() != text:
            sys.exit(f"search.py: trial {i} trained alone gives another model")
    return seconds, first, best


def xgboost_trials(args, data, valid, trials):
    import xgboost

    def made(set_, ref=None):
        return xgboost.QuantileDMatrix(set_[0], set_[1], qid=set_[2], max_bin=256, ref=ref)

    start = time.perf_counter()
    train_set = made(data)
    valid_set = made(valid, train_set)
    binned = time.perf_counter()
    for i in trials:
        params = {"objective": "rank:ndcg", "tree_method": "hist", "device": args.device,
                  "grow_policy": "lossguide", "max_leaves": trial(i)["leaves"], "max_depth": 0,
                  "eta": trial(i)["rate"], "max_bin": 256, "verbosity": 0, "eval_metric": "ndcg@10"}
        xgboost.train(params, train_set, args.peer_trees, evals=[(valid_set, "valid")],
                      verbose_eval=False)
    return xgboost.__version__, binned - start, time.perf_counter() - binned


def lightgbm_trials(args, data, valid, trials):
    import lightgbm

    def sizes(qid):
        return np.bincount(qid)

    start = time.perf_counter()
    train_set = lightgbm.Dataset(data[0], data[1], group=sizes(data[2]),
                                 params={"max_bin": 255, "feature_pre_filter": False,
                                         "verbosity": -1}).construct()
    valid_set = train_set.create_valid(valid[0], valid[1], group=sizes(valid[2])).construct()
    binned = time.perf_counter()
    for i in trials:
        params = {"objective": "lambdarank", "num_leaves": trial(i)["leaves"],
                  "learning_rate": trial(i)["rate"], "min_data_in_leaf": trial(i)["min_docs"],
                  "max_bin": 255, "feature_pre_filter": False, "verbosity": -1, "metric": "ndcg",
                  "eval_at": [10]}
        lightgbm.train(params, train_set, args.peer_trees, valid_sets=[valid_set])
    return lightgbm.__version__, binned - start, time.perf_counter() - binned


PEERS = {"xgboost": ("XGBoost", xgboost_trials), "lightgbm": ("LightGBM, CPU", lightgbm_trials)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--queries", type=int, default=31531)
    parser.add_argument("--valid-queries", type=int, default=2000)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--jobs", default="1")
    parser.add_argument("--peers", default="")
    parser.add_argument("--peer-trials", type=int, default=3)
    parser.add_argument("--peer-trees", type=int, help="[--trees]")
    parser.add_argument("--json", help="append a record a line to this file")
    args = parser.parse_args()
    args.peer_trees = args.peer_trees or args.trees

    def show(record):
        print(record.pop("text"), flush=True)
        if args.json:
            with open(args.json, "a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")

    data = rankwood.synth("mslr30k", args.queries, seed=1)
    valid = rankwood.synth("mslr30k", args.valid_queries, seed=2)
    what = (f"{args.trials} trials of {args.trees} trees of {LEAVES[0]} to {LEAVES[-1]} leaves, "
            f"{len(data[1])} documents, {data[0].shape[1]} features, {os.cpu_count()} threads")
    print(what, flush=True)
    best = None
    for jobs in (int(n) for n in args.jobs.split(",") if n):
        seconds, first, ndcg = ours(args, data, valid, jobs)
        best = min(best or seconds, seconds)
        own = (args.trials, args.trees, args.queries) == (100, 300, 31531) and args.device != "cpu"
        bar = f"; bar {MUST:.0f} s, aim {AIM:.0f} s" if own else ""
        show({"text": f"rankwood {rankwood.__version__}, {jobs} at a time: {seconds:.1f} s, "
                      f"{seconds / args.trials / args.trees * 1e3:.2f} ms a tree; first trial "
                      f"{first:.2f} s; best NDCG@10 {ndcg:.4f}{bar}",
              "who": "rankwood", "jobs": jobs, "seconds": seconds, "first_s": first, "ndcg": ndcg})
    for name in (name for name in args.peers.split(",") if name):
        trials = [(0, 1, 3)[i % 3] for i in range(args.peer_trials)]  # 116 leaves on average, of 119
        try:
            version, binning, seconds = PEERS[name][1](args, data, valid, trials)
        except Exception as failure:
            show({"text": f"{PEERS[name][0]}: not measured: {failure}", "who": name})
            continue
        scale = args.trials * args.trees / (len(trials) * args.peer_trees)
        whole = binning + seconds * scale
        ratio = f", {whole / best:.1f} times as long" if best else ""
        show({"text": f"{PEERS[name][0]} {version}: {whole:.0f} s, scaled from {len(trials)} trials of "
                      f"{args.peer_trees} trees that took {seconds:.1f} s{ratio}",
              "who": name, "seconds": whole, "measured_s": seconds, "binning_s": binning,
              "trials": len(trials), "trees": args.peer_trees})


if __name__ == "__main__":
    main()
