#!/usr/bin/env python3
"""Compares parameters on splits inside the training parts of the real sets, for choosing Rankwood's defaults.

For every task of quality_sets.py, each query of the training part goes to one of three parts by a checksum of its id:
60 % train, 20 % stop, 20 % measure. The stop and measure parts of the task are not read. Printed for each of the
--params: the difference of NDCG@10 (queries without a relevant document left out) from the first --params, averaged
over the tasks of a set and the seeds, then over the sets; its standard error over the seeds; and the sets' own
differences.

    python3 tests/peers/quality_inner.py --rankwood PROGRAM --seeds 4-9 --params '' --params 'sample-features=1'

Standard library only. Real data: environment variable RANKWOOD_DATA, or --data.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import statistics
import subprocess
import tempfile

from common import ROOT
from quality_sets import MORE, REAL, Sets, open_text

PARTS = ("train", "stop", "measure")


def split(name, paths, folder):
    """Writes the three parts of a task's training part. Returns their paths."""
    out = [os.path.join(folder, f"{name}.{part}.txt") for part in PARTS]
    files = [open(path, "wb") for path in out]
    for path in paths:
        with open_text(path) as file:
            for line in file:
                share = int(hashlib.md5(name.encode() + line.split(None, 2)[1]).hexdigest(), 16) % 100
                files[0 if share < 60 else 1 if share < 80 else 2].write(line)
    for file in files:
        file.close()
    return out


def measure(program, files, params, seed, model):
    options = [f"--{p.replace('_', '-')}" for p in params.split()]
    train = [program, "train", files[0], "--valid", files[1], "--seed", str(seed), "--threads", "1", "--device", "cpu"]
    subprocess.run([*train, "--quiet", "-o", model, *options], check=True)
    evaluate = [program, "eval", "--model", model, files[2], "--metric", "ndcg@10", "--json", "--quiet"]
    out = subprocess.run(evaluate, check=True, capture_output=True, text=True).stdout
    os.remove(model)
    return json.loads(out)["metrics"][0]["mean"]


def seeds_of(text):
    first, _, last = text.partition("-")
    return range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankwood", required=True, help="the program")
    parser.add_argument("--data", default=os.environ.get("RANKWOOD_DATA", os.path.join(ROOT, "../shared/data")))
    parser.add_argument("--sets", default=",".join(REAL))
    parser.add_argument("--seeds", default="1-3", help="FIRST-LAST, two seeds or more")
    parser.add_argument("--params", action="append", help="'name=value ...'; repeatable; the first is compared with")
    args = parser.parse_args()
    args.folds, args.like = [], None
    seeds, names = seeds_of(args.seeds), args.sets.split(",")
    if len(seeds) < 2 or not args.params:
        parser.error("--seeds must have two seeds or more, and there must be --params")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        sets = Sets(args, folder)
        value = {}
        for name in names:
            if lacking := sets.lacking(name):
                raise SystemExit(f"quality_inner.py: {name}: {lacking[0]}")
            for k, task in enumerate(sets.tasks(name), 0 if name in MORE else 1):
                files = split(f"{name}.{k}", task[0], folder)
                jobs = [(p, s) for p in range(len(args.params)) for s in seeds]
                models = [os.path.join(folder, f"{p}.{s}.model") for p, s in jobs]
                runs = [pool.submit(measure, args.rankwood, files, args.params[p], s, model)
                        for (p, s), model in zip(jobs, models, strict=True)]
                for (p, s), run in zip(jobs, runs, strict=True):
                    value.setdefault((p, name, s), []).append(run.result())
    mean = {key: statistics.fmean(values) for key, values in value.items()}
    first = statistics.fmean(mean[0, name, s] for name in names for s in seeds)
    print(f"NDCG@10 of {args.params[0] or 'defaults'}: {first:.4f}")
    for p, params in enumerate(args.params[1:], 1):
        of_set = {n: statistics.fmean(mean[p, n, s] - mean[0, n, s] for s in seeds) for n in names}
        of_seed = [statistics.fmean(mean[p, n, s] - mean[0, n, s] for n in names) for s in seeds]
        error = statistics.stdev(of_seed) / len(of_seed) ** 0.5
        print(f"{params or 'defaults'}: {statistics.fmean(of_seed):+.4f} ({error:.4f})  "
              + "  ".join(f"{n} {d:+.4f}" for n, d in of_set.items()))


if __name__ == "__main__":
    main()
